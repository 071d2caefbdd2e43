/* The simple consumer: start, consume, stop. */
#define _POSIX_C_SOURCE 200809L
#include "test.h"

static rd_kafka_t *cluster, *consumer;
static rd_kafka_topic_t *topic;
static char servers[512];

/* The next message or error of a partition within ten seconds. */
static rd_kafka_message_t *next(int32_t partition) {
        int64_t until = test_now_ms() + 10000;
        rd_kafka_message_t *m = NULL;
        while (!m && test_now_ms() < until) {
                m = rd_kafka_consume(topic, partition, 200);
                rd_kafka_poll(consumer, 0);
        }
        return m;
}

static int next_is(int32_t partition, int number) {
        rd_kafka_message_t *m = next(partition);
        int ok = m && CHECK_OK(m->err) && CHECK_INT(m->offset, number) &&
                 CHECK_INT(test_number(m), number) && CHECK_INT(m->partition, partition) &&
                 CHECK(m->rkt == topic) && CHECK(m->key_len == m->len);
        if (m)
                rd_kafka_message_destroy(m);
        return CHECK(ok);
}

static int next_is_end(int32_t partition, int64_t offset) {
        rd_kafka_message_t *m = next(partition);
        int ok = m && CHECK_ERR(m->err, RD_KAFKA_RESP_ERR__PARTITION_EOF) &&
                 CHECK_INT(m->offset, offset) && CHECK(rd_kafka_message_errstr(m) != NULL);
        if (m)
                rd_kafka_message_destroy(m);
        return CHECK(ok);
}

static void every_kind_of_start(void) {
        CHECK_INT(rd_kafka_consume_start(topic, 0, RD_KAFKA_OFFSET_BEGINNING), 0);
        next_is(0, 0);
        next_is(0, 1);
        CHECK_INT(rd_kafka_consume_stop(topic, 0), 0);

        CHECK_INT(rd_kafka_consume_start(topic, 0, 42), 0);
        next_is(0, 42);
        CHECK_INT(rd_kafka_consume_stop(topic, 0), 0);

        CHECK_INT(rd_kafka_consume_start(topic, 0, RD_KAFKA_OFFSET_TAIL(3)), 0);
        next_is(0, 97);
        next_is(0, 98);
        next_is(0, 99);
        next_is_end(0, 100);
        CHECK_INT(rd_kafka_consume_stop(topic, 0), 0);

        CHECK_INT(rd_kafka_consume_start(topic, 0, RD_KAFKA_OFFSET_TAIL(1000)), 0);
        next_is(0, 0);
        CHECK_INT(rd_kafka_consume_stop(topic, 0), 0);

        CHECK_INT(rd_kafka_consume_start(topic, 0, RD_KAFKA_OFFSET_END), 0);
        next_is_end(0, 100);
        CHECK_INT(test_produce(cluster, "simple", 0, 100, 1), 0);
        next_is(0, 100);
        CHECK_INT(rd_kafka_consume_stop(topic, 0), 0);
}

static void offsets_out_of_range_are_reset(void) {
        /* auto.offset.reset is earliest here. */
        CHECK_INT(rd_kafka_consume_start(topic, 0, 5000), 0);
        next_is(0, 0);
        CHECK_INT(rd_kafka_consume_stop(topic, 0), 0);
}

static void timestamps_and_lengths(void) {
        rd_kafka_timestamp_type_t type = RD_KAFKA_TIMESTAMP_NOT_AVAILABLE;
        rd_kafka_message_t *m;

        CHECK_INT(rd_kafka_consume_start(topic, 0, 10), 0);
        m = next(0);
        REQUIRE(m != NULL);
        CHECK_INT(rd_kafka_message_timestamp(m, &type), 11000);
        CHECK_INT(type, RD_KAFKA_TIMESTAMP_CREATE_TIME);
        CHECK(m->len == 2 && !memcmp(m->payload, "10", 2));
        CHECK(m->key_len == 2 && !memcmp(m->key, "10", 2));
        CHECK_INT(rd_kafka_message_status(m), RD_KAFKA_MSG_STATUS_PERSISTED);
        CHECK(rd_kafka_message_errstr(m) == NULL);
        rd_kafka_message_destroy(m);
        CHECK_INT(rd_kafka_consume_stop(topic, 0), 0);
}

static void batches(void) {
        rd_kafka_message_t *m[64];
        ssize_t n, i, got = 0;
        int64_t until = test_now_ms() + 10000;

        CHECK_INT(rd_kafka_consume_start(topic, 0, 0), 0);
        while (got < 101 && test_now_ms() < until) {
                n = rd_kafka_consume_batch(topic, 0, 200, m, 64);
                CHECK(n >= 0 && n <= 64);
                for (i = 0; i < n; i++) {
                        if (!m[i]->err)
                                CHECK_INT(m[i]->offset, got++);
                        rd_kafka_message_destroy(m[i]);
                }
        }
        CHECK_INT(got, 101);
        CHECK_INT(rd_kafka_consume_stop(topic, 0), 0);
}

static int called;

static void on_message(rd_kafka_message_t *m, void *opaque) {
        CHECK(opaque == &called);
        if (m->err)
                return;
        CHECK_INT(m->offset, called);
        called++;
        if (called == 50)
                rd_kafka_yield(consumer);
}

static void callbacks_and_yield(void) {
        int64_t until = test_now_ms() + 10000;

        called = 0;
        CHECK_INT(rd_kafka_consume_start(topic, 0, 0), 0);
        while (called < 50 && test_now_ms() < until)
                CHECK(rd_kafka_consume_callback(topic, 0, 200, on_message, &called) >= 0);
        CHECK_INT(called, 50);
        while (called < 101 && test_now_ms() < until)
                rd_kafka_consume_callback(topic, 0, 200, on_message, &called);
        CHECK_INT(called, 101);
        CHECK_INT(rd_kafka_consume_stop(topic, 0), 0);
}

static void several_partitions_in_one_queue(void) {
        rd_kafka_queue_t *q = rd_kafka_queue_new(consumer);
        int64_t next_offset[4] = {0, 0, 0, 0}, until = test_now_ms() + 10000;
        int p, got = 0;

        for (p = 1; p < 4; p++) {
                CHECK_INT(test_produce(cluster, "simple", p, 0, 20), 0);
                CHECK_INT(rd_kafka_consume_start_queue(topic, p, 0, q), 0);
        }
        while (got < 60 && test_now_ms() < until) {
                rd_kafka_message_t *m = rd_kafka_consume_queue(q, 200);
                if (!m)
                        continue;
                if (!m->err) {
                        CHECK_INT(m->offset, next_offset[m->partition]++);
                        got++;
                }
                rd_kafka_message_destroy(m);
        }
        CHECK_INT(got, 60);
        for (p = 1; p < 4; p++)
                CHECK_INT(rd_kafka_consume_stop(topic, p), 0);
        rd_kafka_queue_destroy(q);
}

static void batches_from_a_queue(void) {
        rd_kafka_queue_t *q = rd_kafka_queue_new(consumer);
        rd_kafka_message_t *m[16];
        int64_t until = test_now_ms() + 10000;
        int got = 0;

        CHECK_INT(rd_kafka_consume_start_queue(topic, 1, 5, q), 0);
        CHECK_INT(rd_kafka_consume_start_queue(topic, 2, 5, q), 0);
        while (got < 30 && test_now_ms() < until) {
                ssize_t i, n = rd_kafka_consume_batch_queue(q, 200, m, 16);
                CHECK(n >= 0);
                for (i = 0; i < n; i++) {
                        got += !m[i]->err;
                        rd_kafka_message_destroy(m[i]);
                }
        }
        CHECK_INT(got, 30);
        CHECK_INT(rd_kafka_consume_stop(topic, 1), 0);
        CHECK_INT(rd_kafka_consume_stop(topic, 2), 0);
        rd_kafka_queue_destroy(q);
}

static void seeking(void) {
        CHECK_INT(rd_kafka_consume_start(topic, 0, 0), 0);
        next_is(0, 0);
        next_is(0, 1);
        CHECK_OK(rd_kafka_seek(topic, 0, 77, 5000));
        next_is(0, 77);
        CHECK_OK(rd_kafka_seek(topic, 0, 3, 5000));
        next_is(0, 3);
        next_is(0, 4);
        CHECK_OK(rd_kafka_seek(topic, 0, RD_KAFKA_OFFSET_TAIL(1), 5000));
        next_is(0, 100);
        CHECK_INT(rd_kafka_consume_stop(topic, 0), 0);
}

static void wrong_use_is_refused(void) {
        rd_kafka_message_t *m;
        int64_t start;

        CHECK_INT(rd_kafka_consume_start(topic, 0, -5), -1);
        CHECK_ERR(rd_kafka_last_error(), RD_KAFKA_RESP_ERR__INVALID_ARG);
        CHECK_INT(rd_kafka_consume_start(topic, -1, 0), -1);
        CHECK_ERR(rd_kafka_last_error(), RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION);
        CHECK_INT(rd_kafka_consume_start(topic, 0, RD_KAFKA_OFFSET_STORED), -1); /* no group.id */
        CHECK_ERR(rd_kafka_last_error(), RD_KAFKA_RESP_ERR__INVALID_ARG);
        CHECK_INT(rd_kafka_consume_stop(topic, 33), -1);
        CHECK_ERR(rd_kafka_last_error(), RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION);
        CHECK(rd_kafka_consume(topic, 33, 10) == NULL);
        CHECK_ERR(rd_kafka_last_error(), RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION);
        CHECK_ERR(rd_kafka_seek(topic, 34, 0, 100), RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION);

        CHECK_INT(rd_kafka_consume_start(topic, 3, RD_KAFKA_OFFSET_END), 0);
        m = next(3); /* the end */
        if (m)
                rd_kafka_message_destroy(m);
        start = test_now_ms();
        CHECK(rd_kafka_consume(topic, 3, 200) == NULL);
        CHECK_ERR(rd_kafka_last_error(), RD_KAFKA_RESP_ERR__TIMED_OUT);
        CHECK(test_now_ms() - start >= 180 && test_now_ms() - start < 10000);
        CHECK_INT(rd_kafka_consume_stop(topic, 3), 0);
}

static rd_kafka_resp_err_t reported;

static void on_report(rd_kafka_message_t *m, void *opaque) {
        (void)opaque;
        reported = m->err;
        CHECK(rd_kafka_message_errstr(m) != NULL);
}

static void missing_partitions_are_reported(void) {
        rd_kafka_conf_t *conf = test_conf();
        int64_t until = test_now_ms() + 10000;
        rd_kafka_topic_t *rkt;
        rd_kafka_t *rk;

        test_set(conf, "bootstrap.servers", servers);
        rk = test_client(RD_KAFKA_CONSUMER, conf);
        rkt = rd_kafka_topic_new(rk, "simple", NULL);
        CHECK_INT(rd_kafka_consume_start(rkt, 50, 0), 0);
        while (!reported && test_now_ms() < until)
                CHECK(rd_kafka_consume_callback(rkt, 50, 200, on_report, NULL) >= 0);
        CHECK_ERR(reported, RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION);
        CHECK_INT(rd_kafka_consume_stop(rkt, 50), 0);
        rd_kafka_topic_destroy(rkt);
        rd_kafka_destroy(rk);
}

static void unfinished_partitions_do_not_block_the_end(void) {
        rd_kafka_conf_t *conf = test_conf();
        rd_kafka_topic_t *rkt;
        int64_t start;
        rd_kafka_t *rk;

        test_set(conf, "bootstrap.servers", servers);
        rk = test_client(RD_KAFKA_CONSUMER, conf);
        rkt = rd_kafka_topic_new(rk, "simple", NULL);
        CHECK_INT(rd_kafka_consume_start(rkt, 0, 0), 0);
        test_sleep_ms(300);
        CHECK_INT(rd_kafka_consume_stop(rkt, 0), 0);
        rd_kafka_topic_destroy(rkt);
        start = test_now_ms();
        rd_kafka_destroy(rk);
        CHECK(test_now_ms() - start < 5000);
}

int main(void) {
        rd_kafka_conf_t *conf = test_conf();

        cluster = test_cluster(NULL, servers, sizeof(servers));
        CHECK_INT(test_produce(cluster, "simple", 0, 0, 100), 0);
        test_set(conf, "bootstrap.servers", servers);
        test_set(conf, "enable.partition.eof", "true");
        test_set(conf, "auto.offset.reset", "earliest");
        consumer = test_client(RD_KAFKA_CONSUMER, conf);
        topic = rd_kafka_topic_new(consumer, "simple", NULL);

        RUN(every_kind_of_start);
        RUN(offsets_out_of_range_are_reset);
        RUN(timestamps_and_lengths);
        RUN(batches);
        RUN(callbacks_and_yield);
        RUN(several_partitions_in_one_queue);
        RUN(batches_from_a_queue);
        RUN(seeking);
        RUN(wrong_use_is_refused);
        RUN(missing_partitions_are_reported);
        RUN(unfinished_partitions_do_not_block_the_end);

        rd_kafka_topic_destroy(topic);
        rd_kafka_destroy(consumer);
        rd_kafka_destroy(cluster);
        return test_end();
}
