/* The idempotent producer as a program sees it. */

#include "test.h"

static struct {
        int cnt, failed, in_order;
        rd_kafka_resp_err_t err;
        rd_kafka_msg_status_t status;
        long last;
} dr;
static int fatal_seen;

static void on_delivery(rd_kafka_t *rk, const rd_kafka_message_t *m, void *opaque) {
        (void)rk;
        (void)opaque;
        dr.cnt++;
        dr.failed += m->err != RD_KAFKA_RESP_ERR_NO_ERROR;
        dr.err = m->err;
        dr.status = rd_kafka_message_status(m);
        if ((long)(intptr_t)m->_private <= dr.last)
                dr.in_order = 0;
        dr.last = (long)(intptr_t)m->_private;
}

static void on_error(rd_kafka_t *rk, int err, const char *reason, void *opaque) {
        (void)rk;
        (void)reason;
        (void)opaque;
        fatal_seen += err == RD_KAFKA_RESP_ERR__FATAL;
}

static rd_kafka_t *make(const char *servers, const char *name, const char *value) {
        rd_kafka_conf_t *conf = test_conf();

        memset(&dr, 0, sizeof(dr));
        dr.in_order = 1;
        fatal_seen = 0;
        rd_kafka_conf_set_dr_msg_cb(conf, on_delivery);
        rd_kafka_conf_set_error_cb(conf, on_error);
        test_set(conf, "enable.idempotence", "true");
        if (name)
                test_set(conf, name, value);
        if (servers) {
                test_set(conf, "bootstrap.servers", servers);
                return test_client(RD_KAFKA_PRODUCER, conf);
        }
        char own[256];
        return test_cluster(conf, own, sizeof(own));
}

static void produce(rd_kafka_t *rk, int32_t partition, long number) {
        CHECK_OK(rd_kafka_producev(rk, RD_KAFKA_V_TOPIC("once"), RD_KAFKA_V_PARTITION(partition),
                                   RD_KAFKA_V_VALUE("value", 5), RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
                                   RD_KAFKA_V_OPAQUE((void *)(intptr_t)number), RD_KAFKA_V_END));
}

static void messages_are_delivered_in_order(void) {
        rd_kafka_t *rk = make(NULL, "batch.num.messages", "100");
        int64_t low = -1, high = -1;
        long i;

        for (i = 1; i <= 10000; i++)
                produce(rk, 1, i);
        CHECK_OK(rd_kafka_flush(rk, 30000));
        CHECK_INT(dr.cnt, 10000);
        CHECK_INT(dr.failed, 0);
        CHECK(dr.in_order);
        CHECK_INT(dr.status, RD_KAFKA_MSG_STATUS_PERSISTED);
        CHECK_OK(rd_kafka_query_watermark_offsets(rk, "once", 1, &low, &high, 10000));
        CHECK_INT(high, 10000);
        CHECK_OK(rd_kafka_fatal_error(rk, NULL, 0));
        rd_kafka_destroy(rk);
}

static void idempotence_sets_required_properties(void) {
        rd_kafka_t *rk = make("127.0.0.1:1", NULL, NULL);
        const rd_kafka_conf_t *conf = rd_kafka_conf(rk);
        char value[64];
        size_t size = sizeof(value);

        CHECK_INT(rd_kafka_conf_get(conf, "max.in.flight.requests.per.connection", value, &size), RD_KAFKA_CONF_OK);
        CHECK_STR(value, "5");
        size = sizeof(value);
        CHECK_INT(rd_kafka_conf_get(conf, "message.send.max.retries", value, &size), RD_KAFKA_CONF_OK);
        CHECK_STR(value, "2147483647");
        rd_kafka_destroy(rk);
}

static void a_topic_with_other_acks_is_refused(void) {
        rd_kafka_t *rk = make("127.0.0.1:1", NULL, NULL);
        rd_kafka_topic_conf_t *tconf = rd_kafka_topic_conf_new();
        char errstr[128];

        CHECK_INT(rd_kafka_topic_conf_set(tconf, "acks", "1", errstr, sizeof(errstr)), RD_KAFKA_CONF_OK);
        CHECK(rd_kafka_topic_new(rk, "acks", tconf) == NULL);
        CHECK_INT(rd_kafka_last_error(), RD_KAFKA_RESP_ERR__INVALID_ARG);
        rd_kafka_destroy(rk);
}

/* After a fatal error no message is accepted, and unsent messages are dropped. */
static void produce_fails_after_fatal_error(void) {
        rd_kafka_t *rk = make("127.0.0.1:1", NULL, NULL);
        char errstr[256] = "";
        rd_kafka_resp_err_t err;

        produce(rk, 0, 1);
        CHECK_OK(rd_kafka_test_fatal_error(rk, RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER, "for the test"));
        CHECK_OK(rd_kafka_flush(rk, 10000));
        CHECK_INT(dr.cnt, 1);
        CHECK_INT(dr.err, RD_KAFKA_RESP_ERR__PURGE_QUEUE);
        CHECK_INT(dr.status, RD_KAFKA_MSG_STATUS_NOT_PERSISTED);
        CHECK_INT(fatal_seen, 1);
        CHECK_ERR(rd_kafka_fatal_error(rk, errstr, sizeof(errstr)), RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER);
        CHECK(strstr(errstr, "for the test") != NULL);
        err = rd_kafka_producev(rk, RD_KAFKA_V_TOPIC("once"), RD_KAFKA_V_VALUE("value", 5),
                                RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_END);
        CHECK_ERR(err, RD_KAFKA_RESP_ERR__FATAL);
        rd_kafka_destroy(rk);
}

int main(void) {
        RUN(messages_are_delivered_in_order);
        RUN(idempotence_sets_required_properties);
        RUN(a_topic_with_other_acks_is_refused);
        RUN(produce_fails_after_fatal_error);
        return test_end();
}
