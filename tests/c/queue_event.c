/* Queues and events. */
#define _POSIX_C_SOURCE 200809L
#include <poll.h>

#include "test.h"

static rd_kafka_t *cluster;
static char servers[512];

/* The next event of a type within ten seconds; others are dropped. */
static rd_kafka_event_t *await(rd_kafka_queue_t *q, int type) {
        int64_t until = test_now_ms() + 10000;
        while (test_now_ms() < until) {
                rd_kafka_event_t *ev = rd_kafka_queue_poll(q, 200);
                if (ev && rd_kafka_event_type(ev) == type)
                        return ev;
                rd_kafka_event_destroy(ev);
        }
        return NULL;
}

static rd_kafka_t *event_producer(int events) {
        rd_kafka_conf_t *conf = test_conf();
        test_set(conf, "bootstrap.servers", servers);
        rd_kafka_conf_set_events(conf, events);
        return test_client(RD_KAFKA_PRODUCER, conf);
}

static void null_event_accessors(void) {
        rd_kafka_queue_t *q = rd_kafka_queue_new(cluster);
        CHECK_INT(rd_kafka_event_type(NULL), RD_KAFKA_EVENT_NONE);
        rd_kafka_event_destroy(NULL);
        CHECK(rd_kafka_queue_poll(q, 0) == NULL);
        CHECK_INT(rd_kafka_queue_length(q), 0);
        CHECK_INT(rd_kafka_queue_poll_callback(q, 0), 0);
        rd_kafka_queue_destroy(q);
}

static void empty_poll_returns_after_its_timeout(void) {
        rd_kafka_queue_t *q = rd_kafka_queue_new(cluster);
        int64_t start = test_now_ms(), took;
        CHECK(rd_kafka_queue_poll(q, 200) == NULL);
        took = test_now_ms() - start;
        if (!CHECK(took >= 180 && took < 10000))
                printf("# %" PRId64 " ms\n", took);
        rd_kafka_queue_destroy(q);
}

static void delivery_reports_are_events(void) {
        rd_kafka_t *rk = event_producer(RD_KAFKA_EVENT_DR);
        rd_kafka_queue_t *q = rd_kafka_queue_get_main(rk);
        int i, reports = 0;
        int64_t until = test_now_ms() + 10000;

        for (i = 0; i < 100; i++)
                CHECK_OK(rd_kafka_producev(rk, RD_KAFKA_V_TOPIC("events"), RD_KAFKA_V_PARTITION(0),
                                           RD_KAFKA_V_VALUE("x", 1),
                                           RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
                                           RD_KAFKA_V_OPAQUE(rk), RD_KAFKA_V_END));
        while (reports < 100 && test_now_ms() < until) {
                rd_kafka_event_t *ev = rd_kafka_queue_poll(q, 200);
                const rd_kafka_message_t *m;
                size_t before;
                if (!ev)
                        continue;
                CHECK_INT(rd_kafka_event_type(ev), RD_KAFKA_EVENT_DR);
                CHECK_STR(rd_kafka_event_name(ev), "DeliveryReport");
                CHECK(rd_kafka_event_message_count(ev) > 0);
                CHECK(rd_kafka_event_topic_partition_list(ev) == NULL);
                before = (size_t)reports;
                while ((m = rd_kafka_event_message_next(ev))) {
                        CHECK_OK(m->err);
                        CHECK_INT(m->offset, reports);
                        CHECK(m->_private == rk);
                        reports++;
                }
                CHECK((size_t)reports > before);
                rd_kafka_event_destroy(ev);
        }
        CHECK_INT(reports, 100);
        rd_kafka_queue_destroy(q);
        rd_kafka_destroy(rk);
}

static void message_array_of_an_event(void) {
        rd_kafka_t *rk = event_producer(RD_KAFKA_EVENT_DR);
        rd_kafka_queue_t *q = rd_kafka_queue_get_main(rk);
        const rd_kafka_message_t *some[7];
        int i, reports = 0;

        for (i = 0; i < 20; i++)
                CHECK_OK(rd_kafka_producev(rk, RD_KAFKA_V_TOPIC("arrays"), RD_KAFKA_V_PARTITION(0),
                                           RD_KAFKA_V_VALUE("x", 1), RD_KAFKA_V_END));
        while (reports < 20) {
                rd_kafka_event_t *ev = await(q, RD_KAFKA_EVENT_DR);
                size_t n;
                REQUIRE(ev != NULL);
                while ((n = rd_kafka_event_message_array(ev, some, 7)) > 0) {
                        CHECK(n <= 7);
                        reports += (int)n;
                }
                rd_kafka_event_destroy(ev);
        }
        CHECK_INT(reports, 20);
        rd_kafka_queue_destroy(q);
        rd_kafka_destroy(rk);
}

static void errors_are_events(void) {
        rd_kafka_conf_t *conf = test_conf();
        rd_kafka_queue_t *q;
        rd_kafka_event_t *ev;
        rd_kafka_t *rk;

        test_set(conf, "bootstrap.servers", "127.0.0.1:1");
        rd_kafka_conf_set_events(conf, RD_KAFKA_EVENT_ERROR);
        rk = test_client(RD_KAFKA_PRODUCER, conf);
        q = rd_kafka_queue_get_main(rk);
        ev = await(q, RD_KAFKA_EVENT_ERROR);
        REQUIRE(ev != NULL);
        CHECK_STR(rd_kafka_event_name(ev), "Error");
        CHECK(rd_kafka_event_error(ev) == RD_KAFKA_RESP_ERR__TRANSPORT ||
              rd_kafka_event_error(ev) == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN);
        CHECK(strlen(rd_kafka_event_error_string(ev)) > 0);
        CHECK_INT(rd_kafka_event_error_is_fatal(ev), 0);
        CHECK(rd_kafka_event_message_next(ev) == NULL);
        rd_kafka_event_destroy(ev);
        rd_kafka_queue_destroy(q);
        rd_kafka_destroy(rk);
}

/* Callbacks receive _FATAL; an event has a flag for that, and the code of the cause. */
static void fatal_errors_are_events_with_their_cause(void) {
        rd_kafka_t *rk      = event_producer(RD_KAFKA_EVENT_ERROR);
        rd_kafka_queue_t *q = rd_kafka_queue_get_main(rk);
        rd_kafka_event_t *ev;
        char text[256];

        CHECK_OK(rd_kafka_test_fatal_error(rk, RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER, "a gap"));
        ev = await(q, RD_KAFKA_EVENT_ERROR);
        REQUIRE(ev != NULL);
        CHECK_INT(rd_kafka_event_error_is_fatal(ev), 1);
        CHECK_ERR(rd_kafka_event_error(ev), RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER);
        CHECK_ERR(rd_kafka_fatal_error(rk, text, sizeof(text)),
                  RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER);
        CHECK_STR(rd_kafka_event_error_string(ev), text);
        rd_kafka_event_destroy(ev);
        rd_kafka_queue_destroy(q);
        rd_kafka_destroy(rk);
}

static void logs_are_events_in_a_queue(void) {
        rd_kafka_conf_t *conf = rd_kafka_conf_new();
        rd_kafka_queue_t *q;
        rd_kafka_event_t *ev;
        const char *fac = NULL, *line = NULL;
        char contexts[64];
        int level = -1;
        rd_kafka_t *rk;

        test_set(conf, "bootstrap.servers", servers);
        test_set(conf, "log.queue", "true");
        test_set(conf, "debug", "broker");
        rd_kafka_conf_set_events(conf, RD_KAFKA_EVENT_LOG);
        rk = test_client(RD_KAFKA_PRODUCER, conf);
        q = rd_kafka_queue_new(rk);
        CHECK_OK(rd_kafka_set_log_queue(rk, q));
        ev = await(q, RD_KAFKA_EVENT_LOG);
        REQUIRE(ev != NULL);
        CHECK_INT(rd_kafka_event_log(ev, &fac, &line, &level), 0);
        CHECK(fac && fac[0] && line && line[0]);
        CHECK(level >= 0 && level <= 7);
        CHECK_INT(rd_kafka_event_debug_contexts(ev, contexts, sizeof(contexts)), 0);
        CHECK_STR(contexts, "broker");
        rd_kafka_event_destroy(ev);
        CHECK_OK(rd_kafka_set_log_queue(rk, NULL));
        rd_kafka_queue_destroy(q);
        rd_kafka_destroy(rk);
}

static void set_log_queue_requires_log_queue(void) {
        CHECK_ERR(rd_kafka_set_log_queue(cluster, NULL), RD_KAFKA_RESP_ERR__NOT_CONFIGURED);
}

static void file_descriptors_wake(void) {
        rd_kafka_t *rk = event_producer(RD_KAFKA_EVENT_DR);
        rd_kafka_queue_t *q = rd_kafka_queue_get_main(rk);
        struct pollfd pfd;
        char got[3];
        int fds[2];

        REQUIRE(pipe(fds) == 0);
        rd_kafka_queue_io_event_enable(q, fds[1], "abc", 3);
        CHECK_OK(rd_kafka_producev(rk, RD_KAFKA_V_TOPIC("fd"), RD_KAFKA_V_VALUE("x", 1),
                                   RD_KAFKA_V_END));
        pfd.fd = fds[0];
        pfd.events = POLLIN;
        CHECK_INT(poll(&pfd, 1, 10000), 1);
        CHECK_INT(read(fds[0], got, 3), 3);
        CHECK(!memcmp(got, "abc", 3));
        CHECK_INT(rd_kafka_queue_length(q), 1);
        rd_kafka_event_destroy(rd_kafka_queue_poll(q, 1000));
        rd_kafka_queue_io_event_enable(q, -1, NULL, 0);
        rd_kafka_queue_destroy(q);
        rd_kafka_destroy(rk);
        close(fds[0]);
        close(fds[1]);
}

static int wake_fd = -1;

static void on_wake(rd_kafka_t *rk, void *opaque) {
        (void)rk;
        CHECK(opaque == &wake_fd);
        CHECK_INT(write(wake_fd, "!", 1), 1);
}

static void callbacks_wake(void) {
        rd_kafka_t *rk = event_producer(RD_KAFKA_EVENT_DR);
        rd_kafka_queue_t *q = rd_kafka_queue_get_main(rk);
        struct pollfd pfd;
        int fds[2];

        REQUIRE(pipe(fds) == 0);
        wake_fd = fds[1];
        rd_kafka_queue_cb_event_enable(q, on_wake, &wake_fd);
        CHECK_OK(rd_kafka_producev(rk, RD_KAFKA_V_TOPIC("cb"), RD_KAFKA_V_VALUE("x", 1),
                                   RD_KAFKA_V_END));
        pfd.fd = fds[0];
        pfd.events = POLLIN;
        CHECK_INT(poll(&pfd, 1, 10000), 1);
        rd_kafka_queue_cb_event_enable(q, NULL, NULL);
        rd_kafka_event_destroy(rd_kafka_queue_poll(q, 1000));
        rd_kafka_queue_destroy(q);
        rd_kafka_destroy(rk);
        close(fds[0]);
        close(fds[1]);
}

static void forwarding(void) {
        rd_kafka_t *rk = event_producer(RD_KAFKA_EVENT_DR);
        rd_kafka_queue_t *q = rd_kafka_queue_get_main(rk), *mine = rd_kafka_queue_new(rk);
        rd_kafka_event_t *ev;

        rd_kafka_queue_forward(q, mine);
        CHECK_OK(rd_kafka_producev(rk, RD_KAFKA_V_TOPIC("fwd"), RD_KAFKA_V_VALUE("x", 1),
                                   RD_KAFKA_V_END));
        ev = await(mine, RD_KAFKA_EVENT_DR);
        CHECK(ev != NULL);
        rd_kafka_event_destroy(ev);
        rd_kafka_queue_forward(q, NULL);
        CHECK_OK(rd_kafka_producev(rk, RD_KAFKA_V_TOPIC("fwd"), RD_KAFKA_V_VALUE("x", 1),
                                   RD_KAFKA_V_END));
        ev = await(q, RD_KAFKA_EVENT_DR);
        CHECK(ev != NULL);
        rd_kafka_event_destroy(ev);
        CHECK(rd_kafka_queue_poll(mine, 0) == NULL);
        rd_kafka_queue_destroy(mine);
        rd_kafka_queue_destroy(q);
        rd_kafka_destroy(rk);
}

static void yield_ends_a_poll(void) {
        rd_kafka_queue_t *q = rd_kafka_queue_new(cluster);
        int64_t start = test_now_ms();
        rd_kafka_queue_yield(q);
        CHECK(rd_kafka_queue_poll(q, 10000) == NULL);
        CHECK(test_now_ms() - start < 5000);
        rd_kafka_queue_destroy(q);
}

static void fetched_messages_are_events(void) {
        rd_kafka_topic_partition_list_t *l = rd_kafka_topic_partition_list_new(1);
        rd_kafka_queue_t *q;
        rd_kafka_t *c;
        int i;

        CHECK_INT(test_produce(cluster, "fetched", 0, 0, 5), 0);
        c = test_consumer(servers, "events");
        rd_kafka_topic_partition_list_add(l, "fetched", 0)->offset = 2;
        CHECK_OK(rd_kafka_assign(c, l));
        rd_kafka_topic_partition_list_destroy(l);
        q = rd_kafka_queue_get_consumer(c);
        REQUIRE(q != NULL);
        for (i = 2; i < 5; i++) {
                rd_kafka_event_t *ev = await(q, RD_KAFKA_EVENT_FETCH);
                const rd_kafka_message_t *m;
                REQUIRE(ev != NULL);
                CHECK_INT(rd_kafka_event_message_count(ev), 1);
                m = rd_kafka_event_message_next(ev);
                REQUIRE(m != NULL);
                CHECK_INT(m->offset, i);
                CHECK_INT(test_number(m), i);
                CHECK(rd_kafka_event_message_next(ev) == NULL);
                rd_kafka_event_destroy(ev);
        }
        rd_kafka_queue_destroy(q);
        rd_kafka_consumer_close(c);
        rd_kafka_destroy(c);
}

int main(void) {
        cluster = test_cluster(NULL, servers, sizeof(servers));
        RUN(null_event_accessors);
        RUN(empty_poll_returns_after_its_timeout);
        RUN(delivery_reports_are_events);
        RUN(message_array_of_an_event);
        RUN(errors_are_events);
        RUN(fatal_errors_are_events_with_their_cause);
        RUN(logs_are_events_in_a_queue);
        RUN(set_log_queue_requires_log_queue);
        RUN(file_descriptors_wake);
        RUN(callbacks_wake);
        RUN(forwarding);
        RUN(yield_ends_a_poll);
        RUN(fetched_messages_are_events);
        rd_kafka_destroy(cluster);
        return test_end();
}
