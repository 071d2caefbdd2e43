/* Events on a thread of the library: the background queue and its callback. */
#define _POSIX_C_SOURCE 200809L
#include "test.h"

#include <pthread.h>

static rd_kafka_t *cluster;
static char servers[512];

/* The callbacks' calls. */
static struct {
        pthread_mutex_t lock;
        int reports, messages, rebalances, commits, logs;
        int own_thread; /* a callback ran on the thread that runs the tests */
        int last;       /* the callback of the message with this number blocks for a while */
        int after_revocation_ms; /* the callback of a revocation blocks for this time afterwards */
        void *opaque;
} seen = {.lock = PTHREAD_MUTEX_INITIALIZER};
static pthread_t tests_thread;

static void forget(void) {
        pthread_mutex_lock(&seen.lock);
        seen.reports = seen.messages = seen.rebalances = seen.commits = seen.logs = 0;
        seen.own_thread = seen.last = seen.after_revocation_ms = 0;
        pthread_mutex_unlock(&seen.lock);
}

/* Waits up to 20 seconds for a counter. */
static int wait_for(const int *counter, int want) {
        int64_t until = test_now_ms() + 20000;
        int have      = 0;
        do {
                pthread_mutex_lock(&seen.lock);
                have = *counter;
                pthread_mutex_unlock(&seen.lock);
                if (have >= want)
                        break;
                test_sleep_ms(5);
        } while (test_now_ms() < until);
        return have;
}

static void on_event(rd_kafka_t *rk, rd_kafka_event_t *event, void *opaque) {
        rd_kafka_topic_partition_list_t *l;
        int dawdle_ms = 0;

        pthread_mutex_lock(&seen.lock);
        seen.opaque = opaque;
        seen.own_thread |= pthread_equal(pthread_self(), tests_thread) != 0;
        switch (rd_kafka_event_type(event)) {
        case RD_KAFKA_EVENT_DR:
                seen.reports += (int)rd_kafka_event_message_count(event);
                break;
        case RD_KAFKA_EVENT_LOG:
                seen.logs++;
                break;
        case RD_KAFKA_EVENT_FETCH:
                seen.messages++;
                break;
        case RD_KAFKA_EVENT_REBALANCE:
                seen.rebalances++;
                l = rd_kafka_event_topic_partition_list(event);
                if (rd_kafka_event_error(event) == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS)
                        rd_kafka_assign(rk, l);
                else
                        rd_kafka_assign(rk, NULL);
                break;
        case RD_KAFKA_EVENT_OFFSET_COMMIT:
                seen.commits++;
                break;
        }
        if (rd_kafka_event_type(event) == RD_KAFKA_EVENT_FETCH && seen.messages == seen.last)
                dawdle_ms = 100;
        if (rd_kafka_event_error(event) == RD_KAFKA_RESP_ERR__REVOKE_PARTITIONS)
                dawdle_ms = seen.after_revocation_ms;
        pthread_mutex_unlock(&seen.lock);
        if (dawdle_ms > 0)
                test_sleep_ms(dawdle_ms);
        rd_kafka_event_destroy(event);
}

static void on_report(rd_kafka_t *rk, const rd_kafka_message_t *m, void *opaque) {
        (void)rk;
        (void)m;
        pthread_mutex_lock(&seen.lock);
        seen.opaque = opaque;
        seen.reports++;
        seen.own_thread |= pthread_equal(pthread_self(), tests_thread) != 0;
        pthread_mutex_unlock(&seen.lock);
}

static void produce(rd_kafka_t *p, int cnt) {
        int i;
        for (i = 0; i < cnt; i++)
                CHECK_OK(rd_kafka_producev(p, RD_KAFKA_V_TOPIC("t"), RD_KAFKA_V_PARTITION(0),
                                           RD_KAFKA_V_VALUE("x", 1), RD_KAFKA_V_END));
}

static void forward_main_to_background(rd_kafka_t *rk) {
        rd_kafka_queue_t *main = rd_kafka_queue_get_main(rk);
        rd_kafka_queue_t *background = rd_kafka_queue_get_background(rk);
        REQUIRE(main && background);
        rd_kafka_queue_forward(main, background);
        rd_kafka_queue_destroy(main);
        rd_kafka_queue_destroy(background);
}

static void background_event_cb_runs_on_another_thread(void) {
        rd_kafka_conf_t *conf = test_conf();
        int threads           = rd_kafka_thread_cnt();
        int token;
        rd_kafka_t *p;

        forget();
        test_set(conf, "bootstrap.servers", servers);
        rd_kafka_conf_set_background_event_cb(conf, on_event);
        rd_kafka_conf_set_events(conf, RD_KAFKA_EVENT_DR);
        rd_kafka_conf_set_opaque(conf, &token);
        p = test_client(RD_KAFKA_PRODUCER, conf);
        CHECK(rd_kafka_thread_cnt() >= threads + 2);
        forward_main_to_background(p);
        produce(p, 20);
        CHECK_INT(wait_for(&seen.reports, 20), 20);
        CHECK(seen.opaque == &token);
        CHECK(!seen.own_thread);
        rd_kafka_destroy(p);
}

/* A member of a group whose consumer queue is forwarded to the background, and has received 30 messages there. */
static rd_kafka_t *background_consumer(const char *group) {
        rd_kafka_topic_partition_list_t *l = rd_kafka_topic_partition_list_new(1);
        rd_kafka_conf_t *conf              = test_conf();
        rd_kafka_queue_t *background, *queue;
        rd_kafka_t *c;

        forget();
        seen.last = 30;
        test_set(conf, "bootstrap.servers", servers);
        test_set(conf, "group.id", group);
        test_set(conf, "auto.offset.reset", "earliest");
        test_set(conf, "auto.commit.interval.ms", "3600000");
        rd_kafka_conf_set_background_event_cb(conf, on_event);
        rd_kafka_conf_set_events(conf, RD_KAFKA_EVENT_REBALANCE | RD_KAFKA_EVENT_FETCH |
                                           RD_KAFKA_EVENT_OFFSET_COMMIT);
        c          = test_client(RD_KAFKA_CONSUMER, conf);
        background = rd_kafka_queue_get_background(c);
        queue      = rd_kafka_queue_get_consumer(c);
        rd_kafka_queue_forward(queue, background);
        rd_kafka_topic_partition_list_add(l, "bg", RD_KAFKA_PARTITION_UA);
        CHECK_OK(rd_kafka_subscribe(c, l));
        CHECK_INT(wait_for(&seen.messages, 30), 30);
        CHECK_INT(wait_for(&seen.rebalances, 1), 1);
        rd_kafka_topic_partition_list_destroy(l);
        rd_kafka_queue_destroy(queue);
        rd_kafka_queue_destroy(background);
        return c;
}

static void consumer_queue_forwarded_to_background(void) {
        rd_kafka_t *c = background_consumer("background");

        /* The revocation on close is called in the background, too, although its thread is busy and the
         * closing thread waits. */
        CHECK_OK(rd_kafka_consumer_close(c));
        CHECK_INT(wait_for(&seen.rebalances, 2), 2);
        rd_kafka_destroy(c);
}

/* The close is done while the callback of its revocation runs. */
static void commit_of_a_close_in_the_background(void) {
        rd_kafka_t *c = background_consumer("background-late");

        forward_main_to_background(c);
        pthread_mutex_lock(&seen.lock);
        seen.after_revocation_ms = 1000;
        pthread_mutex_unlock(&seen.lock);
        rd_kafka_destroy(c);
        CHECK_INT(seen.rebalances, 2);
        CHECK_INT(seen.commits, 1);
}

static void background_queue_without_event_cb_calls_other_callbacks(void) {
        rd_kafka_conf_t *conf = test_conf();
        int threads           = rd_kafka_thread_cnt();
        int token;
        rd_kafka_t *p;

        forget();
        test_set(conf, "bootstrap.servers", servers);
        rd_kafka_conf_set_dr_msg_cb(conf, on_report);
        rd_kafka_conf_set_opaque(conf, &token);
        p = test_client(RD_KAFKA_PRODUCER, conf);
        CHECK(rd_kafka_thread_cnt() <= threads + 2);
        forward_main_to_background(p);
        produce(p, 20);
        CHECK_INT(wait_for(&seen.reports, 20), 20);
        CHECK(seen.opaque == &token);
        CHECK(!seen.own_thread);
        rd_kafka_destroy(p);
}

static void log_queue_forwarded_to_background(void) {
        rd_kafka_conf_t *conf = rd_kafka_conf_new();
        rd_kafka_queue_t *q;
        rd_kafka_t *rk;

        forget();
        test_set(conf, "bootstrap.servers", servers);
        test_set(conf, "log.queue", "true");
        test_set(conf, "debug", "broker");
        rd_kafka_conf_set_background_event_cb(conf, on_event);
        rk = test_client(RD_KAFKA_PRODUCER, conf);
        q  = rd_kafka_queue_get_background(rk);
        CHECK_OK(rd_kafka_set_log_queue(rk, q));
        CHECK(wait_for(&seen.logs, 3) >= 3);
        CHECK(!seen.own_thread);
        rd_kafka_queue_destroy(q);
        rd_kafka_destroy(rk);
}

static void background_thread_ends_on_destroy(void) {
        int i;
        for (i = 0; i < 20; i++) {
                rd_kafka_conf_t *conf = test_conf();
                rd_kafka_queue_t *q;
                rd_kafka_t *rk;
                if (i % 2)
                        rd_kafka_conf_set_background_event_cb(conf, on_event);
                rk = test_client(i % 3 ? RD_KAFKA_PRODUCER : RD_KAFKA_CONSUMER, conf);
                q  = rd_kafka_queue_get_background(rk);
                CHECK(q != NULL);
                CHECK_INT(rd_kafka_queue_length(q), 0);
                rd_kafka_queue_destroy(q);
                rd_kafka_destroy(rk);
        }
        CHECK(rd_kafka_thread_cnt() < 10);
}

int main(void) {
        tests_thread = pthread_self();
        cluster      = test_cluster(NULL, servers, sizeof(servers));
        CHECK_INT(test_produce(cluster, "bg", 0, 0, 30), 0);
        RUN(background_event_cb_runs_on_another_thread);
        RUN(consumer_queue_forwarded_to_background);
        RUN(commit_of_a_close_in_the_background);
        RUN(background_queue_without_event_cb_calls_other_callbacks);
        RUN(log_queue_forwarded_to_background);
        RUN(background_thread_ends_on_destroy);
        rd_kafka_destroy(cluster);
        return test_end();
}
