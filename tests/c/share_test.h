/*
 * share_test.h: share consumers on a mock cluster, for the tests of share groups.
 */

#ifndef OTTLA_SHARE_TEST_H
#define OTTLA_SHARE_TEST_H

#include "mock_test.h"

#define SHARE_WAIT_MS 20000
#define SHARE_RECORDS_MAX 4096

/* Starts a cluster whose share groups begin at the start of the log and rebalance quickly. */
static RD_UNUSED struct mock share_start(int broker_cnt) {
        struct mock m = mock_start(broker_cnt);
        rd_kafka_mock_sharegroup_set_auto_offset_reset(m.cluster, 1);
        rd_kafka_mock_sharegroup_set_heartbeat_interval(m.cluster, 100);
        return m;
}

/* Creates a topic with `cnt` records "0", "1", ... in each partition. */
static RD_UNUSED void share_topic(const struct mock *m, const char *topic, int partitions, int cnt) {
        rd_kafka_t *rk = mock_producer(m, NULL);
        int p;

        CHECK_OK(rd_kafka_mock_topic_create(m->cluster, topic, partitions, 1));
        for (p = 0; p < partitions; p++)
                CHECK_INT(test_produce(rk, topic, p, 0, cnt), 0);
        rd_kafka_destroy(rk);
}

/* Settings of a share consumer. `mode` may be NULL. */
static RD_UNUSED rd_kafka_conf_t *
share_conf(const struct mock *m, const char *group, const char *mode) {
        rd_kafka_conf_t *conf = mock_conf(m);
        test_set(conf, "group.id", group);
        if (mode)
                test_set(conf, "share.acknowledgement.mode", mode);
        return conf;
}

/* Creates a share consumer of a topic, or ends the program. */
static RD_UNUSED rd_kafka_share_t *share_consumer(rd_kafka_conf_t *conf, const char *topic) {
        char errstr[512];
        rd_kafka_topic_partition_list_t *topics;
        rd_kafka_share_t *rkshare = rd_kafka_share_consumer_new(conf, errstr, sizeof(errstr));

        if (!rkshare) {
                printf("Bail out! %s\n", errstr);
                exit(1);
        }
        if (!topic)
                return rkshare;
        topics = rd_kafka_topic_partition_list_new(1);
        rd_kafka_topic_partition_list_add(topics, topic, RD_KAFKA_PARTITION_UA);
        CHECK_OK(rd_kafka_share_subscribe(rkshare, topics));
        rd_kafka_topic_partition_list_destroy(topics);
        return rkshare;
}

/* Returns the code of an error object and frees it. */
static RD_UNUSED rd_kafka_resp_err_t share_code(rd_kafka_error_t *error) {
        rd_kafka_resp_err_t code = rd_kafka_error_code(error);
        rd_kafka_error_destroy(error);
        return code;
}

/* Polls until there are messages, at most `timeout_ms`. Errors are failed checks. Returns NULL without messages. */
static RD_UNUSED rd_kafka_messages_t *share_poll(rd_kafka_share_t *rkshare, int timeout_ms) {
        int64_t end = test_now_ms() + timeout_ms;
        for (;;) {
                rd_kafka_messages_t *messages = NULL;
                int64_t left                  = end - test_now_ms();
                rd_kafka_resp_err_t code =
                    share_code(rd_kafka_share_poll(rkshare, left > 200 ? 200 : 0, &messages));
                CHECK_OK(code);
                if (messages || code || left <= 0)
                        return messages;
        }
}

/* A record as a test sees it. */
struct seen {
        int32_t partition;
        int64_t offset;
        int delivery_count;
};

/* Appends the records of a batch to `seen`; returns their new number. Checks the contents. */
static RD_UNUSED int share_note(const rd_kafka_messages_t *messages, struct seen *seen, int cnt) {
        size_t i;
        for (i = 0; i < rd_kafka_messages_count(messages) && cnt < SHARE_RECORDS_MAX; i++) {
                const rd_kafka_message_t *msg = rd_kafka_messages_get(messages, i);
                char text[32];
                CHECK_OK(msg->err);
                snprintf(text, sizeof(text), "%" PRId64, msg->offset);
                CHECK(msg->len == strlen(text) && !memcmp(msg->payload, text, msg->len));
                seen[cnt].partition      = msg->partition;
                seen[cnt].offset         = msg->offset;
                seen[cnt].delivery_count = rd_kafka_message_delivery_count(msg);
                cnt++;
        }
        return cnt;
}

/* Acknowledges all records of a batch. */
static RD_UNUSED void share_acknowledge_all(rd_kafka_share_t *rkshare,
                                            const rd_kafka_messages_t *messages,
                                            rd_kafka_share_AcknowledgeType_t type) {
        size_t i;
        for (i = 0; i < rd_kafka_messages_count(messages); i++)
                CHECK_OK(rd_kafka_share_acknowledge_type(rkshare, rd_kafka_messages_get(messages, i),
                                                         type));
}

/* Destroys a share consumer, which must succeed. */
static RD_UNUSED void share_end(rd_kafka_share_t *rkshare) {
        CHECK_OK(share_code(rd_kafka_share_destroy(rkshare)));
}

#endif
