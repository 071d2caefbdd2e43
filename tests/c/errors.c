/* Version, error codes and error objects. */
#define _POSIX_C_SOURCE 200809L
#include "test.h"

static void version_is_that_of_the_header(void) {
        CHECK_INT(rd_kafka_version(), RD_KAFKA_VERSION);
        CHECK(!strncmp(rd_kafka_version_str(), "2.16.0", 6));
}

static void codes_have_names_and_texts(void) {
        CHECK_STR(rd_kafka_err2name(RD_KAFKA_RESP_ERR_NO_ERROR), "NO_ERROR");
        CHECK_STR(rd_kafka_err2name(RD_KAFKA_RESP_ERR__QUEUE_FULL), "_QUEUE_FULL");
        CHECK_STR(rd_kafka_err2name(RD_KAFKA_RESP_ERR_NOT_LEADER_OR_FOLLOWER),
                  "NOT_LEADER_FOR_PARTITION");
        CHECK_STR(rd_kafka_err2name(RD_KAFKA_RESP_ERR_UNKNOWN), "UNKNOWN");
        CHECK(strlen(rd_kafka_err2str(RD_KAFKA_RESP_ERR__TIMED_OUT)) > 0);
        CHECK(strcmp(rd_kafka_err2str(RD_KAFKA_RESP_ERR__TIMED_OUT),
                     rd_kafka_err2str(RD_KAFKA_RESP_ERR__TRANSPORT)) != 0);
}

static void unknown_codes_are_named_by_number(void) {
        CHECK_STR(rd_kafka_err2name((rd_kafka_resp_err_t)12345), "ERR_12345?");
        CHECK_STR(rd_kafka_err2name((rd_kafka_resp_err_t)-999), "ERR_-999?");
        CHECK(strstr(rd_kafka_err2str((rd_kafka_resp_err_t)12345), "12345") != NULL);
}

static void table_lists_every_code(void) {
        const struct rd_kafka_err_desc *descs;
        size_t cnt, i, named = 0;
        int queue_full = 0;

        rd_kafka_get_err_descs(&descs, &cnt);
        CHECK_INT(cnt, RD_KAFKA_RESP_ERR_END_ALL - RD_KAFKA_RESP_ERR__BEGIN);
        for (i = 0; i < cnt; i++) {
                if (!descs[i].name)
                        continue;
                named++;
                if (descs[i].code == RD_KAFKA_RESP_ERR__QUEUE_FULL) {
                        queue_full++;
                        CHECK_STR(descs[i].name, "_QUEUE_FULL");
                }
                if (descs[i].desc) {
                        CHECK_STR(rd_kafka_err2name(descs[i].code), descs[i].name);
                        CHECK_STR(rd_kafka_err2str(descs[i].code), descs[i].desc);
                }
        }
        CHECK_INT(queue_full, 1);
        CHECK(named > 180);
}

static void error_objects_carry_code_and_text(void) {
        rd_kafka_error_t *error =
            rd_kafka_error_new(RD_KAFKA_RESP_ERR__STATE, "%s number %d", "attempt", 7);
        REQUIRE(error != NULL);
        CHECK_ERR(rd_kafka_error_code(error), RD_KAFKA_RESP_ERR__STATE);
        CHECK_STR(rd_kafka_error_name(error), "_STATE");
        CHECK_STR(rd_kafka_error_string(error), "attempt number 7");
        CHECK_INT(rd_kafka_error_is_fatal(error), 0);
        CHECK_INT(rd_kafka_error_is_retriable(error), 0);
        CHECK_INT(rd_kafka_error_txn_requires_abort(error), 0);
        rd_kafka_error_destroy(error);
}

static void error_objects_without_text_use_the_code(void) {
        rd_kafka_error_t *error = rd_kafka_error_new(RD_KAFKA_RESP_ERR__TIMED_OUT, NULL);
        REQUIRE(error != NULL);
        CHECK_STR(rd_kafka_error_string(error), rd_kafka_err2str(RD_KAFKA_RESP_ERR__TIMED_OUT));
        rd_kafka_error_destroy(error);
}

static void no_error_object_is_success(void) {
        CHECK_ERR(rd_kafka_error_code(NULL), RD_KAFKA_RESP_ERR_NO_ERROR);
        CHECK_STR(rd_kafka_error_name(NULL), "");
        CHECK_STR(rd_kafka_error_string(NULL), "");
        CHECK_INT(rd_kafka_error_is_fatal(NULL), 0);
        CHECK_INT(rd_kafka_error_is_retriable(NULL), 0);
        CHECK_INT(rd_kafka_error_txn_requires_abort(NULL), 0);
        rd_kafka_error_destroy(NULL);
}

static void long_error_texts_are_kept(void) {
        char text[2000];
        rd_kafka_error_t *error;
        memset(text, 'x', sizeof(text) - 1);
        text[sizeof(text) - 1] = '\0';
        error = rd_kafka_error_new(RD_KAFKA_RESP_ERR__FAIL, "%s", text);
        REQUIRE(error != NULL);
        CHECK_STR(rd_kafka_error_string(error), text);
        rd_kafka_error_destroy(error);
}

static int fatal_seen;

static void on_error(rd_kafka_t *rk, int err, const char *reason, void *opaque) {
        (void)rk;
        (void)reason;
        (void)opaque;
        fatal_seen += err == RD_KAFKA_RESP_ERR__FATAL;
}

static void consumer_calls_fail_after_fatal_error(void) {
        rd_kafka_conf_t *conf = test_conf();
        rd_kafka_topic_partition_list_t *topics = rd_kafka_topic_partition_list_new(1);
        rd_kafka_t *rk;

        test_set(conf, "group.id", "g");
        rk = test_client(RD_KAFKA_CONSUMER, conf);
        rd_kafka_topic_partition_list_add(topics, "t", 0);
        CHECK_OK(rd_kafka_test_fatal_error(rk, RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID, "for the test"));
        CHECK_ERR(rd_kafka_subscribe(rk, topics), RD_KAFKA_RESP_ERR__FATAL);
        CHECK_ERR(rd_kafka_assign(rk, topics), RD_KAFKA_RESP_ERR__FATAL);
        CHECK_OK(rd_kafka_assign(rk, NULL));
        rd_kafka_topic_partition_list_destroy(topics);
        rd_kafka_destroy(rk);
}

static void first_fatal_error_is_kept(void) {
        rd_kafka_conf_t *conf = test_conf();
        char errstr[128] = "";
        rd_kafka_t *rk;

        rd_kafka_conf_set_error_cb(conf, on_error);
        rk = test_client(RD_KAFKA_PRODUCER, conf);
        CHECK_OK(rd_kafka_fatal_error(rk, errstr, sizeof(errstr)));
        CHECK_OK(rd_kafka_test_fatal_error(rk, RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER,
                                           "for the test"));
        CHECK_ERR(rd_kafka_fatal_error(rk, errstr, sizeof(errstr)),
                  RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER);
        CHECK(strstr(errstr, "for the test") != NULL);
        CHECK_ERR(rd_kafka_test_fatal_error(rk, RD_KAFKA_RESP_ERR__FENCED, "another"),
                  RD_KAFKA_RESP_ERR__PREV_IN_PROGRESS);
        CHECK_ERR(rd_kafka_fatal_error(rk, NULL, 0),
                  RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER);
        rd_kafka_poll(rk, 1000);
        CHECK_INT(fatal_seen, 1);
        CHECK_ERR(rd_kafka_producev(rk, RD_KAFKA_V_TOPIC("t"), RD_KAFKA_V_VALUE("x", 1),
                                    RD_KAFKA_V_END),
                  RD_KAFKA_RESP_ERR__FATAL);
        rd_kafka_destroy(rk);
}

int main(void) {
        RUN(version_is_that_of_the_header);
        RUN(codes_have_names_and_texts);
        RUN(unknown_codes_are_named_by_number);
        RUN(table_lists_every_code);
        RUN(error_objects_carry_code_and_text);
        RUN(error_objects_without_text_use_the_code);
        RUN(no_error_object_is_success);
        RUN(long_error_texts_are_kept);
        RUN(consumer_calls_fail_after_fatal_error);
        RUN(first_fatal_error_is_kept);
        return test_end();
}
