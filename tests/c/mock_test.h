/*
 * mock_test.h: a mock cluster with clients, for the tests of rdkafka_mock.h.
 */

#ifndef OTTLA_MOCK_TEST_H
#define OTTLA_MOCK_TEST_H

#include "test.h"

#include <rdkafka_mock.h>

/* Numbers of APIs. */
#define PRODUCE 0
#define FETCH 1
#define LIST_OFFSETS 2
#define METADATA 3
#define OFFSET_COMMIT 8
#define FIND_COORDINATOR 10
#define JOIN_GROUP 11
#define SYNC_GROUP 14
#define API_VERSIONS 18
#define INIT_PRODUCER_ID 22
#define CONSUMER_GROUP_HEARTBEAT 68
#define GET_TELEMETRY_SUBSCRIPTIONS 71
#define PUSH_TELEMETRY 72

#define MOCK_WAIT_MS 20000

/* A cluster, the client that it was created with, and its addresses. */
struct mock {
        rd_kafka_t *owner;
        rd_kafka_mock_cluster_t *cluster;
        const char *servers;
};

/* Starts a cluster, or ends the program. */
static RD_UNUSED struct mock mock_start(int broker_cnt) {
        struct mock m;
        m.owner   = test_client(RD_KAFKA_PRODUCER, test_conf());
        m.cluster = rd_kafka_mock_cluster_new(m.owner, broker_cnt);
        if (!m.cluster) {
                printf("Bail out! %s\n", rd_kafka_err2name(rd_kafka_last_error()));
                exit(1);
        }
        m.servers = rd_kafka_mock_cluster_bootstraps(m.cluster);
        return m;
}

static RD_UNUSED void mock_end(struct mock m) {
        rd_kafka_mock_cluster_destroy(m.cluster);
        rd_kafka_destroy(m.owner);
}

/* The outcome of a message: the opaque pointer of its delivery report. */
struct report {
        int reported;
        rd_kafka_resp_err_t err;
        int64_t at_us;
};

static void mock_reported(rd_kafka_t *rk, const rd_kafka_message_t *msg, void *opaque) {
        struct report *report = msg->_private;
        (void)rk;
        (void)opaque;
        if (!report)
                return;
        report->reported++;
        report->err   = msg->err;
        report->at_us = test_now_us();
}

/* Settings of a client of the cluster. */
static RD_UNUSED rd_kafka_conf_t *mock_conf(const struct mock *m) {
        rd_kafka_conf_t *conf = test_conf();
        test_set(conf, "bootstrap.servers", m->servers);
        test_set(conf, "reconnect.backoff.ms", "10");
        test_set(conf, "reconnect.backoff.max.ms", "50");
        test_set(conf, "retry.backoff.ms", "10");
        test_set(conf, "topic.metadata.refresh.interval.ms", "500");
        return conf;
}

static RD_UNUSED rd_kafka_t *mock_producer(const struct mock *m, rd_kafka_conf_t *conf) {
        if (!conf)
                conf = mock_conf(m);
        test_set(conf, "linger.ms", "0");
        rd_kafka_conf_set_dr_msg_cb(conf, mock_reported);
        return test_client(RD_KAFKA_PRODUCER, conf);
}

static RD_UNUSED rd_kafka_t *
mock_consumer(const struct mock *m, const char *group, rd_kafka_conf_t *conf) {
        rd_kafka_t *rk;
        if (!conf)
                conf = mock_conf(m);
        test_set(conf, "group.id", group);
        test_set(conf, "auto.offset.reset", "earliest");
        test_set(conf, "enable.auto.commit", "false");
        rk = test_client(RD_KAFKA_CONSUMER, conf);
        rd_kafka_poll_set_consumer(rk);
        return rk;
}

/* Produces one message. `report` lives until it is reported. */
static RD_UNUSED void
mock_send(rd_kafka_t *rk, const char *topic, int32_t partition, struct report *report) {
        memset(report, 0, sizeof(*report));
        CHECK_OK(rd_kafka_producev(rk, RD_KAFKA_V_TOPIC(topic), RD_KAFKA_V_PARTITION(partition),
                                   RD_KAFKA_V_VALUE("0", 1), RD_KAFKA_V_OPAQUE(report),
                                   RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_END));
}

/* Waits for the report. Is the message's error. */
static RD_UNUSED rd_kafka_resp_err_t mock_wait(rd_kafka_t *rk, struct report *report) {
        int64_t end = test_now_ms() + MOCK_WAIT_MS;
        while (!report->reported && test_now_ms() < end)
                rd_kafka_poll(rk, 100);
        return report->reported ? report->err : RD_KAFKA_RESP_ERR__TIMED_OUT;
}

/* Produces one message. Is its error; `elapsed_ms`, unless NULL, receives the time that it took. */
static RD_UNUSED rd_kafka_resp_err_t
mock_produce(rd_kafka_t *rk, const char *topic, int32_t partition, int *elapsed_ms) {
        struct report report;
        int64_t begin = test_now_us();
        rd_kafka_resp_err_t err;
        mock_send(rk, topic, partition, &report);
        err = mock_wait(rk, &report);
        if (elapsed_ms)
                *elapsed_ms = (int)((report.at_us - begin) / 1000);
        if (!report.reported) {
                printf("Bail out! a message of %s is not reported\n", topic);
                exit(1);
        }
        return err;
}

/* Consumes one partition from an offset without a group's assignment, until `cnt` messages or the time is
 * over. Is the number of messages. */
static RD_UNUSED int mock_consume(
    rd_kafka_t *rk, const char *topic, int32_t partition, int64_t offset, int cnt, int wait_ms) {
        rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
        int64_t end                           = test_now_ms() + wait_ms;
        int got                               = 0;
        rd_kafka_topic_partition_list_add(list, topic, partition)->offset = offset;
        CHECK_OK(rd_kafka_assign(rk, list));
        rd_kafka_topic_partition_list_destroy(list);
        while (got < cnt && test_now_ms() < end) {
                rd_kafka_message_t *msg = rd_kafka_consumer_poll(rk, 50);
                if (!msg)
                        continue;
                got += msg->err == RD_KAFKA_RESP_ERR_NO_ERROR;
                rd_kafka_message_destroy(msg);
        }
        return got;
}

/* Counts the logged requests of an API, to a broker or with -1 to any. */
static RD_UNUSED int mock_requests(const struct mock *m, int16_t api, int32_t broker) {
        size_t cnt = 0, i;
        int found  = 0;
        rd_kafka_mock_request_t **requests = rd_kafka_mock_get_requests(m->cluster, &cnt);
        for (i = 0; i < cnt; i++)
                found += rd_kafka_mock_request_api_key(requests[i]) == api &&
                         (broker == -1 || rd_kafka_mock_request_id(requests[i]) == broker);
        rd_kafka_mock_request_destroy_array(requests, cnt);
        return found;
}

/* Waits until as many requests of an API are logged. Is 1 if they are. */
static RD_UNUSED int
mock_wait_requests(const struct mock *m, rd_kafka_t *rk, int16_t api, int32_t broker, int cnt) {
        int64_t end = test_now_ms() + MOCK_WAIT_MS;
        while (mock_requests(m, api, broker) < cnt) {
                rd_kafka_message_t *msg;
                if (test_now_ms() > end)
                        return 0;
                if (rd_kafka_type(rk) == RD_KAFKA_PRODUCER)
                        rd_kafka_poll(rk, 20);
                else if ((msg = rd_kafka_consumer_poll(rk, 20)))
                        rd_kafka_message_destroy(msg);
        }
        return 1;
}

/* Metadata of one topic or, with NULL, of all; or the end of the program. */
static RD_UNUSED const struct rd_kafka_metadata *mock_metadata(rd_kafka_t *rk, const char *topic) {
        const struct rd_kafka_metadata *md;
        rd_kafka_topic_t *rkt = topic ? rd_kafka_topic_new(rk, topic, NULL) : NULL;
        rd_kafka_resp_err_t err = rd_kafka_metadata(rk, !topic, rkt, &md, MOCK_WAIT_MS);
        if (rkt)
                rd_kafka_topic_destroy(rkt);
        if (err) {
                printf("Bail out! metadata: %s\n", rd_kafka_err2name(err));
                exit(1);
        }
        return md;
}

/* The ids of the brokers in Metadata, sorted, as a text. */
static RD_UNUSED const char *mock_brokers(rd_kafka_t *rk) {
        static char text[128];
        const struct rd_kafka_metadata *md = mock_metadata(rk, NULL);
        size_t used = 0;
        int32_t id;
        int i;
        text[0] = '\0';
        for (id = 0; id < 100; id++)
                for (i = 0; i < md->broker_cnt; i++)
                        if (md->brokers[i].id == id)
                                used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%d",
                                                         used ? " " : "", (int)id);
        rd_kafka_metadata_destroy(md);
        return text;
}

/* The leader of a partition in Metadata. -1 without one, -2 without the partition. */
static RD_UNUSED int32_t mock_leader(rd_kafka_t *rk, const char *topic, int32_t partition) {
        const struct rd_kafka_metadata *md = mock_metadata(rk, topic);
        int32_t leader = -2;
        int i;
        for (i = 0; i < md->topics[0].partition_cnt; i++)
                if (md->topics[0].partitions[i].id == partition)
                        leader = md->topics[0].partitions[i].leader;
        rd_kafka_metadata_destroy(md);
        return leader;
}

/* The offset after the last record. */
static RD_UNUSED int64_t mock_end_offset(rd_kafka_t *rk, const char *topic, int32_t partition) {
        int64_t lo = -1, hi = -1;
        CHECK_OK(rd_kafka_query_watermark_offsets(rk, topic, partition, &lo, &hi, MOCK_WAIT_MS));
        return hi;
}

#endif /* OTTLA_MOCK_TEST_H */
