/* Share consumers: refused and adjusted configurations, arguments of the constructor. */
#define _POSIX_C_SOURCE 200809L
#include "share_test.h"

/* Creates a share consumer that is to be refused; the configuration stays the caller's. */
static void refused(rd_kafka_conf_t *conf, const char *what) {
        char errstr[512] = "";
        rd_kafka_share_t *rkshare = rd_kafka_share_consumer_new(conf, errstr, sizeof(errstr));

        if (!CHECK(rkshare == NULL)) {
                printf("# accepted: %s\n", what);
                share_end(rkshare);
                return;
        }
        CHECK_ERR(rd_kafka_last_error(), RD_KAFKA_RESP_ERR__INVALID_ARG);
        CHECK(errstr[0] != '\0');
        if (what && !strstr(errstr, what))
                printf("# %s: %s\n", what, errstr);
        rd_kafka_conf_destroy(conf);
}

static rd_kafka_conf_t *conf_of_group(void) {
        rd_kafka_conf_t *conf = test_conf();
        test_set(conf, "group.id", "g");
        return conf;
}

static void properties_are_refused(void) {
        static const char *const rows[][2] = {
            {"enable.auto.commit", "true"},
            {"enable.auto.commit", "false"},
            {"group.protocol", "consumer"},
            {"group.protocol", "classic"},
            {"group.protocol.type", "x"},
            {"socket.max.fails", "1"},
            {"partition.assignment.strategy", "range"},
            {"group.instance.id", "i"},
            {"group.remote.assignor", "uniform"},
            {"isolation.level", "read_committed"},
            {"queued.min.messages", "1"},
            {"queued.max.messages.kbytes", "1000"},
            {"fetch.queue.backoff.ms", "1"},
            {"fetch.error.backoff.ms", "1"},
            {"enable.partition.eof", "true"},
            {"message.copy.max.bytes", "1"},
            {"topic.blacklist", "a"},
            {"allow.auto.create.topics", "true"},
            {"auto.offset.reset", "earliest"},
            {"consume.callback.max.messages", "1"},
            {"session.timeout.ms", "10000"},
            {"heartbeat.interval.ms", "1000"},
        };
        size_t i;
        for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
                rd_kafka_conf_t *conf = conf_of_group();
                test_set(conf, rows[i][0], rows[i][1]);
                refused(conf, rows[i][0]);
        }
}

static void on_rebalance(rd_kafka_t *rk,
                         rd_kafka_resp_err_t err,
                         rd_kafka_topic_partition_list_t *partitions,
                         void *opaque) {
        (void)rk, (void)err, (void)partitions, (void)opaque;
}

static void on_message(rd_kafka_message_t *rkmessage, void *opaque) {
        (void)rkmessage, (void)opaque;
}

static void callbacks_and_events_are_refused(void) {
        rd_kafka_conf_t *conf = conf_of_group();
        rd_kafka_conf_set_rebalance_cb(conf, on_rebalance);
        refused(conf, "rebalance_cb");
        conf = conf_of_group();
        rd_kafka_conf_set_offset_commit_cb(conf, on_rebalance);
        refused(conf, "offset_commit_cb");
        conf = conf_of_group();
        rd_kafka_conf_set_consume_cb(conf, on_message);
        refused(conf, "consume_cb");
        conf = conf_of_group();
        rd_kafka_conf_set_events(conf, RD_KAFKA_EVENT_REBALANCE | RD_KAFKA_EVENT_ERROR);
        refused(conf, "enabled_events");
}

static rd_kafka_resp_err_t added = RD_KAFKA_RESP_ERR_NO_ERROR;

static rd_kafka_resp_err_t on_consume(rd_kafka_t *rk, rd_kafka_message_t *rkmessage, void *opaque) {
        (void)rk, (void)rkmessage, (void)opaque;
        return RD_KAFKA_RESP_ERR_NO_ERROR;
}

static rd_kafka_resp_err_t on_new(rd_kafka_t *rk,
                                  const rd_kafka_conf_t *conf,
                                  void *opaque,
                                  char *errstr,
                                  size_t errstr_size) {
        (void)conf, (void)opaque, (void)errstr, (void)errstr_size;
        added = rd_kafka_interceptor_add_on_consume(rk, "test", on_consume, NULL);
        return RD_KAFKA_RESP_ERR_NO_ERROR;
}

static void interceptors_cannot_add_methods(void) {
        rd_kafka_conf_t *conf = conf_of_group();
        rd_kafka_share_t *rkshare;

        CHECK_OK(rd_kafka_conf_interceptor_add_on_new(conf, "test", on_new, NULL));
        rkshare = rd_kafka_share_consumer_new(conf, NULL, 0);
        CHECK_ERR(added, RD_KAFKA_RESP_ERR__NOT_IMPLEMENTED);
        REQUIRE(rkshare != NULL);
        share_end(rkshare);
}

static void a_configuration_is_required(void) {
        char errstr[512] = "";
        CHECK(rd_kafka_share_consumer_new(NULL, errstr, sizeof(errstr)) == NULL);
        CHECK(strstr(errstr, "NULL") != NULL);
        CHECK(rd_kafka_share_consumer_new(NULL, NULL, 0) == NULL);
}

/* ---- adjusted settings -------------------------------------------------------------------------- */

static char read_back[8][64];
static int read_cnt;

static const char *const adjusted[][2] = {
    {"connections.max.idle.ms", "540000"},     {"reconnect.backoff.ms", "50"},
    {"reconnect.backoff.max.ms", "1000"},      {"receive.message.max.bytes", "2147483647"},
    {"enable.auto.commit", "false"},           {"group.protocol", "consumer"},
    {"socket.max.fails", "1"},
};

static int on_stats(rd_kafka_t *rk, char *json, size_t len, void *opaque) {
        size_t i;
        (void)json, (void)len, (void)opaque;
        CHECK_INT(rd_kafka_type(rk), RD_KAFKA_CONSUMER);
        CHECK(strstr(rd_kafka_name(rk), "#consumer-") != NULL);
        for (i = 0; i < sizeof(adjusted) / sizeof(adjusted[0]); i++) {
                size_t size = sizeof(read_back[i]);
                CHECK_INT(rd_kafka_conf_get(rd_kafka_conf(rk), adjusted[i][0], read_back[i], &size),
                          RD_KAFKA_CONF_OK);
        }
        read_cnt++;
        return 0;
}

static void defaults_differ_from_other_consumers(void) {
        rd_kafka_conf_t *conf = conf_of_group();
        rd_kafka_share_t *rkshare;
        int64_t end = test_now_ms() + SHARE_WAIT_MS;
        size_t i;

        rd_kafka_conf_set_stats_cb(conf, on_stats);
        test_set(conf, "statistics.interval.ms", "20");
        rkshare = share_consumer(conf, "t");
        while (!read_cnt && test_now_ms() < end) {
                rd_kafka_messages_t *messages;
                CHECK_OK(share_code(rd_kafka_share_poll(rkshare, 100, &messages)));
                CHECK(messages == NULL);
        }
        REQUIRE(read_cnt > 0);
        for (i = 0; i < sizeof(adjusted) / sizeof(adjusted[0]); i++) {
                if (!CHECK_STR(read_back[i], adjusted[i][1]))
                        printf("# %s\n", adjusted[i][0]);
        }
        share_end(rkshare);
}

static void services_of_a_client_without_sasl(void) {
        char errstr[512] = "";
        rd_kafka_share_t *rkshare = share_consumer(conf_of_group(), NULL);

        CHECK(rd_kafka_share_queue_get_sasl(rkshare) == NULL);
        CHECK_ERR(share_code(rd_kafka_share_set_log_queue(rkshare, NULL)),
                  RD_KAFKA_RESP_ERR__NOT_CONFIGURED);
        CHECK_ERR(share_code(rd_kafka_share_sasl_background_callbacks_enable(rkshare)),
                  RD_KAFKA_RESP_ERR__NOT_CONFIGURED);
        CHECK_ERR(share_code(rd_kafka_share_sasl_set_credentials(rkshare, NULL, "x")),
                  RD_KAFKA_RESP_ERR__INVALID_ARG);
        CHECK_OK(share_code(rd_kafka_share_sasl_set_credentials(rkshare, "u", "p")));
        CHECK_ERR(rd_kafka_share_oauthbearer_set_token(rkshare, "t", 1, "p", NULL, 0, errstr,
                                                       sizeof(errstr)),
                  RD_KAFKA_RESP_ERR__STATE);
        CHECK(errstr[0] != '\0');
        CHECK_ERR(rd_kafka_share_oauthbearer_set_token_failure(rkshare, "x"),
                  RD_KAFKA_RESP_ERR__STATE);
        share_end(rkshare);
}

int main(void) {
        RUN(properties_are_refused);
        RUN(callbacks_and_events_are_refused);
        RUN(interceptors_cannot_add_methods);
        RUN(a_configuration_is_required);
        RUN(defaults_differ_from_other_consumers);
        RUN(services_of_a_client_without_sasl);
        return test_end();
}
