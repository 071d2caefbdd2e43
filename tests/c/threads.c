/* Several threads with one producer, and several producers in one process: every accepted message is reported
 * exactly once, with concurrent calls of other functions. */
#define _GNU_SOURCE
#include <pthread.h>
#include "test.h"

#define THREADS 4

static rd_kafka_t *cluster;
static char servers[512];

/* ---- a producer and what it reports ------------------------------------- */

struct crowd {
        rd_kafka_t *rk;
        rd_kafka_topic_t *rkt;
        int each;                 /* messages of a thread */
        unsigned char *reports;   /* of each message */
        unsigned char *taken;     /* of each message */
        int failed, wrong_topic, out_of_order;
        int last[THREADS];        /* the newest message of each thread that was delivered */
        int flags;                /* for producing */
        int done;                 /* the threads that produce have ended */
        int serves;               /* the threads that produce call rd_kafka_poll() when the queue is full */
};

struct worker {
        struct crowd *crowd;
        int index;
        int (*produce)(struct worker *, int number, void *opaque);
};

static void on_delivery(rd_kafka_t *rk, const rd_kafka_message_t *m, void *opaque) {
        struct crowd *crowd = opaque;
        int number = (int)(intptr_t)m->_private;
        int thread = number / crowd->each;

        (void)rk;
        __atomic_add_fetch(&crowd->reports[number], 1, __ATOMIC_RELAXED);
        if (m->err)
                __atomic_add_fetch(&crowd->failed, 1, __ATOMIC_RELAXED);
        if (strncmp(rd_kafka_topic_name(m->rkt), "crowd", 5))
                __atomic_add_fetch(&crowd->wrong_topic, 1, __ATOMIC_RELAXED);
        if (!m->err) {
                if (number < crowd->last[thread])
                        __atomic_add_fetch(&crowd->out_of_order, 1, __ATOMIC_RELAXED);
                crowd->last[thread] = number;
        }
}

static void begin(struct crowd *crowd, int each, const char *limit) {
        rd_kafka_conf_t *conf = test_conf();

        memset(crowd, 0, sizeof(*crowd));
        crowd->each = each;
        crowd->reports = calloc((size_t)(each * THREADS), 1);
        crowd->taken = calloc((size_t)(each * THREADS), 1);
        crowd->flags = RD_KAFKA_MSG_F_COPY;
        crowd->serves = 1;
        test_set(conf, "bootstrap.servers", servers);
        test_set(conf, "linger.ms", "1");
        test_set(conf, "queue.buffering.max.messages", limit);
        rd_kafka_conf_set_dr_msg_cb(conf, on_delivery);
        rd_kafka_conf_set_opaque(conf, crowd);
        crowd->rk = test_client(RD_KAFKA_PRODUCER, conf);
        crowd->rkt = rd_kafka_topic_new(crowd->rk, "crowd", NULL);
}

/* Waits for the remaining reports, and compares them with the accepted messages. */
static void end(struct crowd *crowd) {
        int i, wrong = 0;

        CHECK_OK(rd_kafka_flush(crowd->rk, 30000));
        CHECK_INT(rd_kafka_outq_len(crowd->rk), 0);
        for (i = 0; i < crowd->each * THREADS; i++)
                wrong += crowd->reports[i] != crowd->taken[i];
        CHECK_INT(wrong, 0);
        CHECK_INT(crowd->wrong_topic, 0);
        if (crowd->rkt)
                rd_kafka_topic_destroy(crowd->rkt);
        rd_kafka_destroy(crowd->rk);
        free(crowd->reports);
        free(crowd->taken);
}

/* ---- ways to produce ------------------------------------------------------ */

static int to_the_handle(struct worker *w, int number, void *opaque) {
        return rd_kafka_produce(w->crowd->rkt, w->index, w->crowd->flags, &number, sizeof(number), NULL, 0,
                                opaque);
}

/* Makes its handle, produces to it and lets it go with the message outstanding. */
static int to_a_handle_of_its_own(struct worker *w, int number, void *opaque) {
        char name[16];
        rd_kafka_topic_t *rkt;
        int result;

        snprintf(name, sizeof(name), "crowd%d", number % 7);
        rkt = rd_kafka_topic_new(w->crowd->rk, name, NULL);
        result = rd_kafka_produce(rkt, w->index, w->crowd->flags, &number, sizeof(number), NULL, 0, opaque);
        rd_kafka_topic_destroy(rkt);
        return result;
}

static int with_headers_and_a_given_value(struct worker *w, int number, void *opaque) {
        size_t size = number % 50 ? 40 : 100000; /* copied into the batch, or sent from where it lies */
        char *value = calloc(1, size);
        rd_kafka_headers_t *headers = rd_kafka_headers_new(1);
        rd_kafka_resp_err_t err;

        rd_kafka_header_add(headers, "name", -1, "value", -1);
        err = rd_kafka_producev(w->crowd->rk, RD_KAFKA_V_TOPIC("crowd"), RD_KAFKA_V_PARTITION(w->index),
                                RD_KAFKA_V_VALUE(value, size), RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_FREE),
                                RD_KAFKA_V_HEADERS(headers), RD_KAFKA_V_OPAQUE(opaque), RD_KAFKA_V_END);
        if (err) {
                free(value);
                rd_kafka_headers_destroy(headers);
        }
        return err ? -1 : 0;
}

static void *work(void *arg) {
        struct worker *w = arg;
        struct crowd *crowd = w->crowd;
        int i;

        for (i = w->index * crowd->each; i < (w->index + 1) * crowd->each; i++) {
                crowd->taken[i] = 1;
                while (w->produce(w, i, (void *)(intptr_t)i)) {
                        if (crowd->flags & RD_KAFKA_MSG_F_BLOCK) {
                                crowd->taken[i] = 0;
                                break;
                        }
                        if (crowd->serves)
                                rd_kafka_poll(crowd->rk, 1);
                        else
                                test_sleep_ms(1);
                }
        }
        return NULL;
}

/* Four threads produce, and `meanwhile` runs in another until they have ended. */
static void run(struct crowd *crowd, int (*produce)(struct worker *, int, void *), void *(*meanwhile)(void *)) {
        struct worker workers[THREADS];
        pthread_t threads[THREADS], other;
        int i;

        if (meanwhile)
                REQUIRE(pthread_create(&other, NULL, meanwhile, crowd) == 0);
        for (i = 0; i < THREADS; i++) {
                workers[i].crowd = crowd;
                workers[i].index = i;
                workers[i].produce = produce;
                REQUIRE(pthread_create(&threads[i], NULL, work, &workers[i]) == 0);
        }
        for (i = 0; i < THREADS; i++)
                pthread_join(threads[i], NULL);
        __atomic_store_n(&crowd->done, 1, __ATOMIC_RELEASE);
        if (meanwhile)
                pthread_join(other, NULL);
}

static int goes_on(struct crowd *crowd) {
        return !__atomic_load_n(&crowd->done, __ATOMIC_ACQUIRE);
}

/* ---- concurrent calls ------------------------------------------------------- */

static void *poll_meanwhile(void *arg) {
        struct crowd *crowd = arg;
        while (goes_on(crowd))
                rd_kafka_poll(crowd->rk, 10);
        return NULL;
}

static void *flush_meanwhile(void *arg) {
        struct crowd *crowd = arg;
        int i;
        for (i = 0; goes_on(crowd); i++)
                rd_kafka_flush(crowd->rk, i % 3 ? 5 : 0);
        return NULL;
}

static void *purge_meanwhile(void *arg) {
        struct crowd *crowd = arg;
        int i;
        for (i = 0; goes_on(crowd); i++) {
                rd_kafka_purge(crowd->rk, i % 8);
                rd_kafka_poll(crowd->rk, 2);
        }
        return NULL;
}

/* ---- the cases --------------------------------------------------------------- */

static void threads_share_a_topic_handle(void) {
        struct crowd crowd;
        begin(&crowd, 20000, "1000");
        crowd.serves = 0;
        run(&crowd, to_the_handle, poll_meanwhile);
        end(&crowd);
        CHECK_INT(crowd.failed, 0);
        CHECK_INT(crowd.out_of_order, 0);
}

static void produce_during_flush(void) {
        struct crowd crowd;
        begin(&crowd, 10000, "1000");
        run(&crowd, to_the_handle, flush_meanwhile);
        end(&crowd);
        CHECK_INT(crowd.failed, 0);
}

static void produce_during_purge(void) {
        struct crowd crowd;
        begin(&crowd, 10000, "500");
        run(&crowd, to_the_handle, purge_meanwhile);
        end(&crowd);
}

static void produce_with_short_lived_topic_handles(void) {
        struct crowd crowd;
        begin(&crowd, 3000, "100000");
        run(&crowd, to_a_handle_of_its_own, flush_meanwhile);
        end(&crowd);
        CHECK_INT(crowd.failed, 0);
}

static void purge_frees_owned_memory(void) {
        struct crowd crowd;
        begin(&crowd, 2000, "500");
        run(&crowd, with_headers_and_a_given_value, purge_meanwhile);
        end(&crowd);
}

/* Blocked producers lose nothing and keep their order. */
static void a_full_queue_blocks_until_reports_are_served(void) {
        struct crowd crowd;
        begin(&crowd, 3000, "10");
        crowd.flags |= RD_KAFKA_MSG_F_BLOCK;
        run(&crowd, to_the_handle, poll_meanwhile);
        end(&crowd);
        CHECK_INT(crowd.failed, 0);
        CHECK_INT(crowd.out_of_order, 0);
        CHECK_INT(crowd.last[THREADS - 1], THREADS * 3000 - 1);
}

static void topic_handle_destroyed_before_its_messages(void) {
        struct crowd crowd;
        int i;

        begin(&crowd, 1000, "100000");
        for (i = 0; i < THREADS * 1000; i++) {
                crowd.taken[i] = 1;
                CHECK_INT(rd_kafka_produce(crowd.rkt, i % 4, RD_KAFKA_MSG_F_COPY, "x", 1, NULL, 0,
                                           (void *)(intptr_t)i), 0);
        }
        rd_kafka_topic_destroy(crowd.rkt);
        crowd.rkt = NULL;
        end(&crowd);
        CHECK_INT(crowd.failed, 0);
}

static void clients_do_not_disturb_each_other(void) {
        struct crowd crowds[3];
        struct worker workers[3];
        pthread_t threads[3];
        int i;

        for (i = 0; i < 3; i++) {
                begin(&crowds[i], 5000, i == 1 ? "50" : "100000");
                workers[i].crowd = &crowds[i];
                workers[i].index = i;
                workers[i].produce = to_the_handle;
                REQUIRE(pthread_create(&threads[i], NULL, work, &workers[i]) == 0);
        }
        for (i = 0; i < 3; i++) {
                pthread_join(threads[i], NULL);
                end(&crowds[i]);
                CHECK_INT(crowds[i].failed, 0);
                CHECK_INT(crowds[i].out_of_order, 0);
        }
}

static int produced_again;

static void produce_again(rd_kafka_t *rk, const rd_kafka_message_t *m, void *opaque) {
        (void)opaque;
        CHECK_OK(m->err);
        if (++produced_again < 100)
                CHECK_INT(rd_kafka_produce(m->rkt, 0, RD_KAFKA_MSG_F_COPY, "again", 5, NULL, 0, NULL), 0);
        rd_kafka_poll(rk, 0); /* polling in a callback is unusual but allowed */
}

static void produce_from_delivery_report(void) {
        rd_kafka_conf_t *conf = test_conf();
        int64_t until = test_now_ms() + 30000;
        rd_kafka_t *rk;

        produced_again = 0;
        test_set(conf, "bootstrap.servers", servers);
        test_set(conf, "linger.ms", "0");
        rd_kafka_conf_set_dr_msg_cb(conf, produce_again);
        rk = test_client(RD_KAFKA_PRODUCER, conf);
        CHECK_OK(rd_kafka_producev(rk, RD_KAFKA_V_TOPIC("again"), RD_KAFKA_V_VALUE("x", 1), RD_KAFKA_V_END));
        CHECK_OK(rd_kafka_flush(rk, 30000)); /* what callbacks produce meanwhile is waited for as well */
        CHECK_INT(produced_again, 100);
        CHECK(test_now_ms() < until);
        rd_kafka_destroy(rk);
}

int main(void) {
        cluster = test_cluster(NULL, servers, sizeof(servers));
        RUN(threads_share_a_topic_handle);
        RUN(produce_during_flush);
        RUN(produce_during_purge);
        RUN(produce_with_short_lived_topic_handles);
        RUN(purge_frees_owned_memory);
        RUN(a_full_queue_blocks_until_reports_are_served);
        RUN(topic_handle_destroyed_before_its_messages);
        RUN(clients_do_not_disturb_each_other);
        RUN(produce_from_delivery_report);
        rd_kafka_destroy(cluster);
        return test_end();
}
