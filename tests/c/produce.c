/* Producing: every way in, every delivery report, queue limits, flush and purge. */
#define _POSIX_C_SOURCE 200809L
#include "test.h"

static rd_kafka_t *producer; /* with a cluster; delivery reports by callback */
static char servers[512];

static struct {
        int cnt, failed;
        rd_kafka_resp_err_t err;
        int32_t partition;
        int64_t offset, latency;
        void *opaque;
        size_t len, key_len;
        char payload[64];
        rd_kafka_msg_status_t status;
        int32_t broker;
        int offsets_in_order;
} dr;

static void on_delivery(rd_kafka_t *rk, const rd_kafka_message_t *m, void *opaque) {
        (void)rk;
        (void)opaque;
        if (dr.cnt && m->offset != dr.offset + 1)
                dr.offsets_in_order = 0;
        dr.cnt++;
        dr.failed += m->err != RD_KAFKA_RESP_ERR_NO_ERROR;
        dr.err = m->err;
        dr.partition = m->partition;
        dr.offset = m->offset;
        dr.opaque = m->_private;
        dr.len = m->len;
        dr.key_len = m->key_len;
        if (m->payload && m->len < sizeof(dr.payload)) {
                memcpy(dr.payload, m->payload, m->len);
                dr.payload[m->len] = '\0';
        }
        dr.latency = rd_kafka_message_latency(m);
        dr.status = rd_kafka_message_status(m);
        dr.broker = rd_kafka_message_broker_id(m);
}

static void reset(void) {
        memset(&dr, 0, sizeof(dr));
        dr.offsets_in_order = 1;
}

static void produce_to_a_topic_handle(void) {
        rd_kafka_topic_t *rkt = rd_kafka_topic_new(producer, "handle", NULL);
        int mine;

        reset();
        REQUIRE(rkt != NULL);
        CHECK_STR(rd_kafka_topic_name(rkt), "handle");
        CHECK_INT(rd_kafka_produce(rkt, 2, RD_KAFKA_MSG_F_COPY, (void *)"value", 5, "key", 3,
                                   &mine),
                  0);
        CHECK_OK(rd_kafka_flush(producer, 10000));
        CHECK_INT(dr.cnt, 1);
        CHECK_OK(dr.err);
        CHECK_INT(dr.partition, 2);
        CHECK_INT(dr.offset, 0);
        CHECK_INT(dr.key_len, 3);
        CHECK_STR(dr.payload, "value");
        CHECK(dr.opaque == &mine);
        CHECK_INT(dr.status, RD_KAFKA_MSG_STATUS_PERSISTED);
        CHECK(dr.latency > 0 && dr.latency < 10000000);
        CHECK(dr.broker > 0);
        CHECK_INT(rd_kafka_outq_len(producer), 0);
        rd_kafka_topic_destroy(rkt);
}

static void msg_f_free_and_unowned_payload(void) {
        rd_kafka_topic_t *rkt = rd_kafka_topic_new(producer, "memory", NULL);
        char *given = malloc(100000), *lent = malloc(100000);

        reset();
        memset(given, 'g', 100000);
        memset(lent, 'l', 100000);
        CHECK_INT(rd_kafka_produce(rkt, 0, RD_KAFKA_MSG_F_FREE, given, 100000, NULL, 0, NULL), 0);
        CHECK_INT(rd_kafka_produce(rkt, 0, 0, lent, 100000, NULL, 0, NULL), 0);
        CHECK_OK(rd_kafka_flush(producer, 10000));
        CHECK_INT(dr.cnt, 2);
        CHECK_INT(dr.failed, 0);
        free(lent);
        rd_kafka_topic_destroy(rkt);
}

static void a_message_may_be_empty(void) {
        rd_kafka_topic_t *rkt = rd_kafka_topic_new(producer, "empty", NULL);
        reset();
        CHECK_INT(rd_kafka_produce(rkt, 0, 0, NULL, 0, NULL, 0, NULL), 0);
        CHECK_INT(rd_kafka_produce(rkt, 0, RD_KAFKA_MSG_F_COPY, (void *)"", 0, "", 0, NULL), 0);
        CHECK_OK(rd_kafka_flush(producer, 10000));
        CHECK_INT(dr.cnt, 2);
        CHECK_INT(dr.failed, 0);
        rd_kafka_topic_destroy(rkt);
}

static void order_is_kept_within_a_partition(void) {
        reset();
        CHECK_INT(test_produce(producer, "order", 1, 0, 5000), 0);
        CHECK_INT(dr.cnt, 5000);
        CHECK_INT(dr.failed, 0);
        CHECK_INT(dr.offset, 4999);
        CHECK(dr.offsets_in_order);
}

static void array_arguments(void) {
        rd_kafka_vu_t vus[5];
        rd_kafka_error_t *error;

        reset();
        memset(vus, 0, sizeof(vus));
        vus[0].vtype = RD_KAFKA_VTYPE_TOPIC;
        vus[0].u.cstr = "array";
        vus[1].vtype = RD_KAFKA_VTYPE_VALUE;
        vus[1].u.mem.ptr = (void *)"abc";
        vus[1].u.mem.size = 3;
        vus[2].vtype = RD_KAFKA_VTYPE_PARTITION;
        vus[2].u.i32 = 3;
        vus[3].vtype = RD_KAFKA_VTYPE_TIMESTAMP;
        vus[3].u.i64 = 1234567;
        vus[4].vtype = RD_KAFKA_VTYPE_HEADER;
        vus[4].u.header.name = "n";
        vus[4].u.header.val = "v";
        vus[4].u.header.size = -1;
        error = rd_kafka_produceva(producer, vus, 5);
        CHECK(error == NULL);
        CHECK_OK(rd_kafka_flush(producer, 10000));
        CHECK_INT(dr.cnt, 1);
        CHECK_INT(dr.partition, 3);

        vus[2].vtype = (rd_kafka_vtype_t)99;
        error = rd_kafka_produceva(producer, vus, 5);
        CHECK_ERR(rd_kafka_error_code(error), RD_KAFKA_RESP_ERR__INVALID_ARG);
        rd_kafka_error_destroy(error);
        error = rd_kafka_produceva(producer, vus + 1, 1); /* no topic */
        CHECK_ERR(rd_kafka_error_code(error), RD_KAFKA_RESP_ERR__INVALID_ARG);
        rd_kafka_error_destroy(error);
}

static void batches_report_each_message(void) {
        rd_kafka_topic_t *rkt = rd_kafka_topic_new(producer, "batch", NULL);
        rd_kafka_message_t messages[10];
        char *large = calloc(1, 2000000);
        int i;

        reset();
        memset(messages, 0, sizeof(messages));
        for (i = 0; i < 10; i++) {
                messages[i].payload = i == 7 ? large : (void *)"0123456789";
                messages[i].len = i == 7 ? 2000000 : (size_t)i + 1;
                messages[i].partition = i % 4;
                messages[i]._private = &messages[i];
        }
        CHECK_INT(rd_kafka_produce_batch(rkt, RD_KAFKA_PARTITION_UA,
                                         RD_KAFKA_MSG_F_COPY | RD_KAFKA_MSG_F_PARTITION, messages,
                                         10),
                  9);
        for (i = 0; i < 10; i++)
                CHECK_ERR(messages[i].err, i == 7 ? RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE
                                                  : RD_KAFKA_RESP_ERR_NO_ERROR);
        CHECK_OK(rd_kafka_flush(producer, 10000));
        CHECK_INT(dr.cnt, 9);
        CHECK_INT(dr.failed, 0);
        free(large);
        rd_kafka_topic_destroy(rkt);
}

static void queue_full_error(void) {
        rd_kafka_conf_t *conf = test_conf();
        rd_kafka_t *rk;
        int i, accepted = 0;
        rd_kafka_resp_err_t err = RD_KAFKA_RESP_ERR_NO_ERROR;

        reset();
        test_set(conf, "queue.buffering.max.messages", "10");
        test_set(conf, "bootstrap.servers", "127.0.0.1:1");
        rd_kafka_conf_set_dr_msg_cb(conf, on_delivery);
        rk = test_client(RD_KAFKA_PRODUCER, conf);
        for (i = 0; i < 20 && !err; i++) {
                err = rd_kafka_producev(rk, RD_KAFKA_V_TOPIC("t"), RD_KAFKA_V_VALUE("x", 1),
                                        RD_KAFKA_V_END);
                accepted += !err;
        }
        CHECK_ERR(err, RD_KAFKA_RESP_ERR__QUEUE_FULL);
        CHECK_INT(accepted, 10);
        CHECK(rd_kafka_outq_len(rk) >= 10);
        CHECK_ERR(rd_kafka_flush(rk, 50), RD_KAFKA_RESP_ERR__TIMED_OUT);

        CHECK_OK(rd_kafka_purge(rk, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT));
        CHECK_OK(rd_kafka_flush(rk, 10000));
        CHECK_INT(dr.cnt, 10);
        CHECK_INT(dr.failed, 10);
        CHECK_ERR(dr.err, RD_KAFKA_RESP_ERR__PURGE_QUEUE);
        CHECK_INT(dr.status, RD_KAFKA_MSG_STATUS_NOT_PERSISTED);
        CHECK_OK(rd_kafka_producev(rk, RD_KAFKA_V_TOPIC("t"), RD_KAFKA_V_VALUE("x", 1),
                                   RD_KAFKA_V_END));
        CHECK_ERR(rd_kafka_purge(rk, 0x1000), RD_KAFKA_RESP_ERR__INVALID_ARG);
        rd_kafka_destroy(rk); /* with a message in the queue: does not wait for it */
}

static void messages_time_out(void) {
        rd_kafka_conf_t *conf = test_conf();
        rd_kafka_t *rk;
        int64_t start = test_now_ms();

        reset();
        test_set(conf, "message.timeout.ms", "300");
        test_set(conf, "bootstrap.servers", "127.0.0.1:1");
        rd_kafka_conf_set_dr_msg_cb(conf, on_delivery);
        rk = test_client(RD_KAFKA_PRODUCER, conf);
        CHECK_OK(rd_kafka_producev(rk, RD_KAFKA_V_TOPIC("t"), RD_KAFKA_V_VALUE("x", 1),
                                   RD_KAFKA_V_END));
        while (!dr.cnt && test_now_ms() - start < 10000)
                rd_kafka_poll(rk, 100);
        CHECK_INT(dr.cnt, 1);
        CHECK_ERR(dr.err, RD_KAFKA_RESP_ERR__MSG_TIMED_OUT);
        CHECK_INT(dr.status, RD_KAFKA_MSG_STATUS_NOT_PERSISTED);
        CHECK(test_now_ms() - start >= 290);
        rd_kafka_destroy(rk);
}

static void acks_and_codecs(void) {
        static const char *const settings[][3] = {
            {"0", "none", "acks0"}, {"1", "gzip", "gzip"}, {"-1", "snappy", "snappy"},
            {"all", "lz4", "lz4"},  {"1", "zstd", "zstd"},
        };
        size_t i;
        for (i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
                rd_kafka_conf_t *conf = test_conf();
                rd_kafka_t *rk;
                reset();
                test_set(conf, "bootstrap.servers", servers);
                test_set(conf, "acks", strcmp(settings[i][0], "all") ? settings[i][0] : "-1");
                test_set(conf, "compression.codec", settings[i][1]);
                rd_kafka_conf_set_dr_msg_cb(conf, on_delivery);
                rk = test_client(RD_KAFKA_PRODUCER, conf);
                if (!CHECK_INT(test_produce(rk, settings[i][2], 0, 0, 1000), 0) ||
                    !CHECK_INT(dr.cnt, 1000) || !CHECK_INT(dr.failed, 0))
                        printf("# with acks=%s, compression.codec=%s\n", settings[i][0],
                               settings[i][1]);
                rd_kafka_destroy(rk);
        }
}

static int plain_reports, plain_failed;

static void on_plain_delivery(rd_kafka_t *rk, void *payload, size_t len, rd_kafka_resp_err_t err,
                              void *opaque, void *msg_opaque) {
        (void)rk;
        plain_reports++;
        plain_failed += err != RD_KAFKA_RESP_ERR_NO_ERROR;
        CHECK(len == 3 && !memcmp(payload, "abc", 3));
        CHECK(opaque == &plain_reports && msg_opaque == &plain_failed);
}

static void older_delivery_callback(void) {
        rd_kafka_conf_t *conf = test_conf();
        rd_kafka_t *rk;

        test_set(conf, "bootstrap.servers", servers);
        rd_kafka_conf_set_dr_cb(conf, on_plain_delivery);
        rd_kafka_conf_set_opaque(conf, &plain_reports);
        rk = test_client(RD_KAFKA_PRODUCER, conf);
        CHECK_OK(rd_kafka_producev(rk, RD_KAFKA_V_TOPIC("plain"), RD_KAFKA_V_VALUE("abc", 3),
                                   RD_KAFKA_V_OPAQUE(&plain_failed), RD_KAFKA_V_END));
        CHECK_OK(rd_kafka_flush(rk, 10000));
        CHECK_INT(plain_reports, 1);
        CHECK_INT(plain_failed, 0);
        rd_kafka_destroy(rk);
}

static void delivery_report_only_error(void) {
        rd_kafka_conf_t *conf = test_conf();
        rd_kafka_t *rk;

        reset();
        test_set(conf, "bootstrap.servers", servers);
        test_set(conf, "delivery.report.only.error", "true");
        rd_kafka_conf_set_dr_msg_cb(conf, on_delivery);
        rk = test_client(RD_KAFKA_PRODUCER, conf);
        CHECK_INT(test_produce(rk, "quiet", 0, 0, 10), 0);
        CHECK_INT(dr.cnt, 0);
        rd_kafka_destroy(rk);
}

static int32_t chosen[4];

static int32_t choose(const rd_kafka_topic_t *rkt, const void *key, size_t keylen, int32_t cnt,
                      void *rkt_opaque, void *msg_opaque) {
        int32_t p = keylen ? *(const char *)key - '0' : 0;
        CHECK(rkt != NULL && cnt == 4 && rkt_opaque == chosen && msg_opaque == &dr);
        CHECK(rd_kafka_topic_partition_available(rkt, p) >= 0);
        chosen[p]++;
        return p;
}

static void partitioner_callback(void) {
        rd_kafka_topic_conf_t *tconf = rd_kafka_topic_conf_new();
        rd_kafka_topic_t *rkt;
        int i;

        reset();
        rd_kafka_topic_conf_set_opaque(tconf, chosen);
        rd_kafka_topic_conf_set_partitioner_cb(tconf, choose);
        rkt = rd_kafka_topic_new(producer, "chosen", tconf);
        REQUIRE(rkt != NULL);
        CHECK(rd_kafka_topic_opaque(rkt) == chosen);
        for (i = 0; i < 8; i++) {
                char key = (char)('0' + i % 4);
                CHECK_INT(rd_kafka_produce(rkt, RD_KAFKA_PARTITION_UA, RD_KAFKA_MSG_F_COPY,
                                           (void *)"x", 1, &key, 1, &dr),
                          0);
        }
        CHECK_OK(rd_kafka_flush(producer, 10000));
        CHECK_INT(dr.cnt, 8);
        for (i = 0; i < 4; i++)
                CHECK_INT(chosen[i], 2);
        rd_kafka_topic_destroy(rkt);
}

static void partitioners_agree_with_their_names(void) {
        rd_kafka_topic_t *rkt = rd_kafka_topic_new(producer, "partitioners", NULL);
        int i;

        REQUIRE(rkt != NULL);
        /* The partitions that Kafka's Java producer, Sarama and CRC-32 compute for these keys and 1000 partitions. */
        CHECK_INT(rd_kafka_msg_partitioner_murmur2(rkt, "kafka", 5, 1000, NULL, NULL), 580);
        CHECK_INT(rd_kafka_msg_partitioner_murmur2_random(rkt, "kafka", 5, 1000, NULL, NULL), 580);
        CHECK_INT(rd_kafka_msg_partitioner_fnv1a(rkt, "kafka", 5, 1000, NULL, NULL), 545);
        CHECK_INT(rd_kafka_msg_partitioner_fnv1a_random(rkt, "kafka", 5, 1000, NULL, NULL), 545);
        CHECK_INT(rd_kafka_msg_partitioner_consistent(rkt, "kafka", 5, 1000, NULL, NULL), 399);
        CHECK_INT(rd_kafka_msg_partitioner_consistent_random(rkt, "kafka", 5, 1000, NULL, NULL),
                  399);
        for (i = 0; i < 100; i++) {
                int32_t p = rd_kafka_msg_partitioner_random(rkt, NULL, 0, 7, NULL, NULL);
                CHECK(p >= 0 && p < 7);
        }
        rd_kafka_topic_destroy(rkt);
}

static void a_paused_partition_waits(void) {
        rd_kafka_topic_t *rkt = rd_kafka_topic_new(producer, "paused", NULL);
        rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(3);
        int64_t until = test_now_ms() + 20000;

        reset();
        CHECK_INT(test_produce(producer, "paused", 0, 0, 1), 0);
        rd_kafka_topic_partition_list_add(list, "paused", 0);
        rd_kafka_topic_partition_list_add(list, "paused", 1000);
        rd_kafka_topic_partition_list_add(list, "never-heard-of", 0);
        CHECK_INT(rd_kafka_pause_partitions(producer, list), 0);
        CHECK_INT(list->elems[0].err, 0);
        CHECK_INT(list->elems[1].err, RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION);
        CHECK_INT(list->elems[2].err, RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION);
        CHECK_INT(rd_kafka_produce(rkt, 0, RD_KAFKA_MSG_F_COPY, "a", 1, NULL, 0, NULL), 0);
        CHECK_INT(rd_kafka_produce(rkt, 1, RD_KAFKA_MSG_F_COPY, "b", 1, NULL, 0, NULL), 0);
        while (dr.cnt < 2 && test_now_ms() < until)
                rd_kafka_poll(producer, 100);
        CHECK_INT(rd_kafka_flush(producer, 300), RD_KAFKA_RESP_ERR__TIMED_OUT);
        CHECK_INT(dr.cnt, 2);
        CHECK_INT(rd_kafka_resume_partitions(producer, list), 0);
        CHECK_INT(rd_kafka_flush(producer, 10000), 0);
        CHECK_INT(dr.cnt, 3);
        rd_kafka_topic_partition_list_destroy(list);
        rd_kafka_topic_destroy(rkt);
}

static void the_same_topic_is_the_same_handle(void) {
        rd_kafka_topic_t *a = rd_kafka_topic_new(producer, "same", NULL);
        rd_kafka_topic_t *b = rd_kafka_topic_new(producer, "same", rd_kafka_topic_conf_new());
        CHECK(a != NULL && a == b);
        rd_kafka_topic_destroy(a);
        CHECK_STR(rd_kafka_topic_name(b), "same");
        rd_kafka_topic_destroy(b);
}

/* A client with metadata of fewer partitions refreshes it before the partition fails as unknown. */
static void a_partition_that_was_just_added(void) {
        rd_kafka_topic_t *rkt = rd_kafka_topic_new(producer, "grows", NULL);
        rd_kafka_NewPartitions_t *more = rd_kafka_NewPartitions_new("grows", 5, NULL, 0);
        rd_kafka_queue_t *queue = rd_kafka_queue_new(producer);
        rd_kafka_event_t *event;

        reset();
        CHECK_INT(rd_kafka_produce(rkt, 0, RD_KAFKA_MSG_F_COPY, (void *)"x", 1, NULL, 0, NULL), 0);
        CHECK_OK(rd_kafka_flush(producer, 10000));
        rd_kafka_CreatePartitions(producer, &more, 1, NULL, queue);
        event = rd_kafka_queue_poll(queue, 10000);
        CHECK_OK(rd_kafka_event_error(event));
        rd_kafka_event_destroy(event);
        test_sleep_ms(1100);
        CHECK_INT(rd_kafka_produce(rkt, 4, RD_KAFKA_MSG_F_COPY, (void *)"y", 1, NULL, 0, NULL), 0);
        CHECK_OK(rd_kafka_flush(producer, 10000));
        CHECK_INT(dr.cnt, 2);
        CHECK_OK(dr.err);
        CHECK_INT(dr.partition, 4);
        /* One that does not exist is found out by the report, and then at once. */
        test_sleep_ms(1100);
        CHECK_INT(rd_kafka_produce(rkt, 5, RD_KAFKA_MSG_F_COPY, (void *)"z", 1, NULL, 0, NULL), 0);
        CHECK_OK(rd_kafka_flush(producer, 10000));
        CHECK_INT(dr.cnt, 3);
        CHECK_ERR(dr.err, RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION);
        CHECK_INT(rd_kafka_produce(rkt, 5, RD_KAFKA_MSG_F_COPY, (void *)"z", 1, NULL, 0, NULL), -1);
        CHECK_ERR(rd_kafka_last_error(), RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION);
        rd_kafka_NewPartitions_destroy(more);
        rd_kafka_queue_destroy(queue);
        rd_kafka_topic_destroy(rkt);
}

int main(void) {
        rd_kafka_conf_t *conf = test_conf();
        rd_kafka_conf_set_dr_msg_cb(conf, on_delivery);
        producer = test_cluster(conf, servers, sizeof(servers));
        RUN(produce_to_a_topic_handle);
        RUN(msg_f_free_and_unowned_payload);
        RUN(a_message_may_be_empty);
        RUN(order_is_kept_within_a_partition);
        RUN(array_arguments);
        RUN(batches_report_each_message);
        RUN(queue_full_error);
        RUN(messages_time_out);
        RUN(acks_and_codecs);
        RUN(older_delivery_callback);
        RUN(delivery_report_only_error);
        RUN(partitioner_callback);
        RUN(partitioners_agree_with_their_names);
        RUN(a_partition_that_was_just_added);
        RUN(a_paused_partition_waits);
        RUN(the_same_topic_is_the_same_handle);
        rd_kafka_destroy(producer);
        return test_end();
}
