/* Mock clusters: stacks of errors by API, broker and partition. */
#define _POSIX_C_SOURCE 200809L
#include "mock_test.h"

/* A cluster with one topic of two partitions, both led by broker 1, and a producer. */
static struct mock begin(int broker_cnt, rd_kafka_t **rkp) {
        struct mock m = mock_start(broker_cnt);
        CHECK_OK(rd_kafka_mock_topic_create(m.cluster, "t", 2, 1));
        CHECK_OK(rd_kafka_mock_partition_set_leader(m.cluster, "t", 0, 1));
        CHECK_OK(rd_kafka_mock_partition_set_leader(m.cluster, "t", 1, 1));
        *rkp = mock_producer(&m, NULL);
        /* Connections and producer state are there. */
        CHECK_OK(mock_produce(*rkp, "t", 0, NULL));
        rd_kafka_mock_start_request_tracking(m.cluster);
        return m;
}

static void end(struct mock m, rd_kafka_t *rk) {
        rd_kafka_destroy(rk);
        mock_end(m);
}

static int left(const struct mock *m, int32_t broker, int16_t api) {
        size_t cnt = 12345;
        CHECK_OK(rd_kafka_mock_broker_error_stack_cnt(m->cluster, broker, api, &cnt));
        return (int)cnt;
}

static void permanent_error_is_in_the_delivery_report(void) {
        rd_kafka_t *rk;
        struct mock m = begin(1, &rk);

        rd_kafka_mock_push_request_errors(m.cluster, PRODUCE, 3,
                                          RD_KAFKA_RESP_ERR_INVALID_REQUIRED_ACKS,
                                          RD_KAFKA_RESP_ERR_NO_ERROR,
                                          RD_KAFKA_RESP_ERR_UNSUPPORTED_FOR_MESSAGE_FORMAT);
        CHECK_ERR(mock_produce(rk, "t", 0, NULL), RD_KAFKA_RESP_ERR_INVALID_REQUIRED_ACKS);
        CHECK_OK(mock_produce(rk, "t", 0, NULL));
        CHECK_ERR(mock_produce(rk, "t", 1, NULL), RD_KAFKA_RESP_ERR_UNSUPPORTED_FOR_MESSAGE_FORMAT);
        CHECK_OK(mock_produce(rk, "t", 1, NULL));
        CHECK_INT(mock_requests(&m, PRODUCE, -1), 4);
        /* What took an error was not written. */
        CHECK_INT(mock_end_offset(rk, "t", 0), 2);
        CHECK_INT(mock_end_offset(rk, "t", 1), 1);
        end(m, rk);
}

static void retriable_errors_are_retried_until_the_stack_is_empty(void) {
        rd_kafka_resp_err_t errors[] = {RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS,
                                        RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT,
                                        RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS};
        rd_kafka_t *rk;
        struct mock m = begin(1, &rk);

        rd_kafka_mock_push_request_errors_array(m.cluster, PRODUCE, 3, errors);
        CHECK_OK(mock_produce(rk, "t", 0, NULL));
        CHECK_INT(mock_requests(&m, PRODUCE, -1), 4);
        CHECK_INT(mock_end_offset(rk, "t", 0), 2);
        end(m, rk);
}

static void transport_error_closes_the_connection(void) {
        rd_kafka_t *rk;
        struct mock m = begin(1, &rk);

        rd_kafka_mock_push_request_errors(m.cluster, PRODUCE, 2, RD_KAFKA_RESP_ERR__TRANSPORT,
                                          RD_KAFKA_RESP_ERR__TRANSPORT);
        CHECK_OK(mock_produce(rk, "t", 0, NULL));
        CHECK_INT(mock_requests(&m, PRODUCE, -1), 3);
        /* Two new connections asked for the versions. */
        CHECK(mock_requests(&m, API_VERSIONS, -1) >= 2);
        CHECK_INT(mock_end_offset(rk, "t", 0), 2);
        end(m, rk);
}

static void error_after_append_leaves_the_records(void) {
        rd_kafka_t *rk;
        struct mock m = begin(1, &rk);

        rd_kafka_mock_push_request_errors(m.cluster, PRODUCE, 1,
                                          RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS_AFTER_APPEND);
        CHECK_OK(mock_produce(rk, "t", 0, NULL));
        /* Not an idempotent producer: the repeated record is there twice. */
        CHECK_INT(mock_end_offset(rk, "t", 0), 3);
        end(m, rk);
}

static void brokers_errors_have_delays_and_are_counted(void) {
        rd_kafka_t *rk;
        struct mock m = begin(1, &rk);
        int elapsed_ms;

        CHECK_INT(left(&m, 1, PRODUCE), 0);
        CHECK_OK(rd_kafka_mock_broker_push_request_error_rtts(
            m.cluster, 1, PRODUCE, 3, RD_KAFKA_RESP_ERR_NO_ERROR, 1500,
            RD_KAFKA_RESP_ERR_INVALID_REQUIRED_ACKS, 1200, RD_KAFKA_RESP_ERR_NO_ERROR, 0));
        CHECK_INT(left(&m, 1, PRODUCE), 3);
        CHECK_INT(left(&m, 1, FETCH), 0);
        CHECK_OK(mock_produce(rk, "t", 0, &elapsed_ms));
        CHECK(elapsed_ms >= 1500 && elapsed_ms < 6000);
        CHECK_INT(left(&m, 1, PRODUCE), 2);
        CHECK_ERR(mock_produce(rk, "t", 0, &elapsed_ms), RD_KAFKA_RESP_ERR_INVALID_REQUIRED_ACKS);
        CHECK(elapsed_ms >= 1200 && elapsed_ms < 6000);
        CHECK_OK(mock_produce(rk, "t", 0, &elapsed_ms));
        CHECK(elapsed_ms < 1200);
        CHECK_INT(left(&m, 1, PRODUCE), 0);
        end(m, rk);
}

static void brokers_errors_precede_the_clusters(void) {
        rd_kafka_t *rk;
        struct mock m = begin(2, &rk);

        rd_kafka_mock_push_request_errors(m.cluster, PRODUCE, 1,
                                          RD_KAFKA_RESP_ERR_UNSUPPORTED_FOR_MESSAGE_FORMAT);
        CHECK_OK(rd_kafka_mock_broker_push_request_error_rtts(
            m.cluster, 1, PRODUCE, 1, RD_KAFKA_RESP_ERR_INVALID_REQUIRED_ACKS, 0));
        CHECK_OK(rd_kafka_mock_broker_push_request_error_rtts(
            m.cluster, 2, PRODUCE, 1, RD_KAFKA_RESP_ERR_INVALID_REQUIRED_ACKS, 0));
        CHECK_ERR(mock_produce(rk, "t", 0, NULL), RD_KAFKA_RESP_ERR_INVALID_REQUIRED_ACKS);
        CHECK_ERR(mock_produce(rk, "t", 0, NULL), RD_KAFKA_RESP_ERR_UNSUPPORTED_FOR_MESSAGE_FORMAT);
        CHECK_OK(mock_produce(rk, "t", 0, NULL));
        CHECK_INT(left(&m, 2, PRODUCE), 1);
        end(m, rk);
}

static void clearing_removes_the_clusters_errors_of_one_api(void) {
        rd_kafka_t *rk;
        struct mock m = begin(1, &rk);

        rd_kafka_mock_push_request_errors(m.cluster, PRODUCE, 1,
                                          RD_KAFKA_RESP_ERR_INVALID_REQUIRED_ACKS);
        rd_kafka_mock_clear_request_errors(m.cluster, FETCH);
        CHECK_ERR(mock_produce(rk, "t", 0, NULL), RD_KAFKA_RESP_ERR_INVALID_REQUIRED_ACKS);
        rd_kafka_mock_push_request_errors(m.cluster, PRODUCE, 2,
                                          RD_KAFKA_RESP_ERR_INVALID_REQUIRED_ACKS,
                                          RD_KAFKA_RESP_ERR_INVALID_REQUIRED_ACKS);
        CHECK_OK(rd_kafka_mock_broker_push_request_error_rtts(
            m.cluster, 1, PRODUCE, 1, RD_KAFKA_RESP_ERR_UNSUPPORTED_FOR_MESSAGE_FORMAT, 0));
        rd_kafka_mock_clear_request_errors(m.cluster, PRODUCE);
        CHECK_INT(left(&m, 1, PRODUCE), 1);
        CHECK_ERR(mock_produce(rk, "t", 0, NULL), RD_KAFKA_RESP_ERR_UNSUPPORTED_FOR_MESSAGE_FORMAT);
        CHECK_OK(mock_produce(rk, "t", 0, NULL));
        end(m, rk);
}

static void partitions_errors_leave_other_partitions_alone(void) {
        rd_kafka_t *rk;
        struct mock m = begin(1, &rk);
        struct report reports[2];

        CHECK_OK(rd_kafka_mock_partition_push_request_errors(
            m.cluster, "t", 1, PRODUCE, 2, RD_KAFKA_RESP_ERR_INVALID_REQUIRED_ACKS,
            RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS));
        mock_send(rk, "t", 0, &reports[0]);
        mock_send(rk, "t", 1, &reports[1]);
        CHECK_OK(mock_wait(rk, &reports[0]));
        CHECK_ERR(mock_wait(rk, &reports[1]), RD_KAFKA_RESP_ERR_INVALID_REQUIRED_ACKS);
        rd_kafka_mock_clear_requests(m.cluster);
        CHECK_OK(mock_produce(rk, "t", 1, NULL));
        CHECK_INT(mock_requests(&m, PRODUCE, -1), 2);
        CHECK_INT(mock_end_offset(rk, "t", 1), 1);
        end(m, rk);
}

static void partitions_errors_reach_consumers(void) {
        rd_kafka_t *rk;
        struct mock m     = begin(1, &rk);
        rd_kafka_t *other = mock_consumer(&m, "g", NULL);
        rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);

        CHECK_OK(rd_kafka_mock_partition_push_request_errors(
            m.cluster, "t", 0, FETCH, 1, RD_KAFKA_RESP_ERR_KAFKA_STORAGE_ERROR));
        CHECK_OK(rd_kafka_mock_partition_push_request_errors(
            m.cluster, "t", 0, LIST_OFFSETS, 1, RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE));
        CHECK_INT(mock_consume(other, "t", 0, RD_KAFKA_OFFSET_BEGINNING, 1, MOCK_WAIT_MS), 1);
        CHECK(mock_requests(&m, LIST_OFFSETS, -1) >= 2);
        CHECK(mock_requests(&m, FETCH, -1) >= 2);
        rd_kafka_topic_partition_list_add(list, "t", 0)->offset = 1;
        CHECK_OK(rd_kafka_mock_partition_push_request_errors(
            m.cluster, "t", 0, OFFSET_COMMIT, 1, RD_KAFKA_RESP_ERR_OFFSET_METADATA_TOO_LARGE));
        CHECK_ERR(rd_kafka_commit(other, list, 0), RD_KAFKA_RESP_ERR_OFFSET_METADATA_TOO_LARGE);
        CHECK_OK(rd_kafka_commit(other, list, 0));
        rd_kafka_topic_partition_list_destroy(list);
        rd_kafka_destroy(other);
        end(m, rk);
}

#define TEN a, b, a, b, a, b, a, b, a, b
#define TEN_WITH_RTT a, 0, b, 0, a, 0, b, 0, a, 0, b, 0, a, 0, b, 0, a, 0, b, 0

static void many_errors_in_one_call_keep_their_order(void) {
        rd_kafka_resp_err_t errors[1000];
        rd_kafka_resp_err_t a = RD_KAFKA_RESP_ERR_INVALID_REQUIRED_ACKS;
        rd_kafka_resp_err_t b = RD_KAFKA_RESP_ERR_UNSUPPORTED_FOR_MESSAGE_FORMAT;
        rd_kafka_t *rk;
        struct mock m = begin(1, &rk);
        int i;

        /* More than the functions with variable arguments keep on the stack. */
        rd_kafka_mock_push_request_errors(m.cluster, PRODUCE, 40, TEN, TEN, TEN, TEN);
        for (i = 0; i < 40; i++)
                CHECK_ERR(mock_produce(rk, "t", 0, NULL), i % 2 ? b : a);
        CHECK_OK(rd_kafka_mock_partition_push_request_errors(
            m.cluster, "t", 0, PRODUCE, 40, TEN, TEN, TEN, TEN));
        for (i = 0; i < 40; i++)
                CHECK_ERR(mock_produce(rk, "t", 0, NULL), i % 2 ? b : a);
        CHECK_OK(rd_kafka_mock_broker_push_request_error_rtts(
            m.cluster, 1, PRODUCE, 40, TEN_WITH_RTT, TEN_WITH_RTT, TEN_WITH_RTT, TEN_WITH_RTT));
        CHECK_INT(left(&m, 1, PRODUCE), 40);
        for (i = 0; i < 40; i++)
                CHECK_ERR(mock_produce(rk, "t", 0, NULL), i % 2 ? b : a);
        for (i = 0; i < 1000; i++)
                errors[i] = i < 999 ? RD_KAFKA_RESP_ERR_NO_ERROR : a;
        rd_kafka_mock_push_request_errors_array(m.cluster, PRODUCE, 1000, errors);
        for (i = 0; i < 999; i++)
                CHECK_OK(mock_produce(rk, "t", 0, NULL));
        CHECK_ERR(mock_produce(rk, "t", 0, NULL), a);
        end(m, rk);
}

static void wrong_arguments_are_refused(void) {
        rd_kafka_t *rk;
        struct mock m = begin(1, &rk);
        size_t cnt    = 7;

        CHECK_ERR(rd_kafka_mock_broker_push_request_error_rtts(m.cluster, 9, PRODUCE, 1,
                                                               RD_KAFKA_RESP_ERR_UNKNOWN, 0),
                  RD_KAFKA_RESP_ERR__UNKNOWN_BROKER);
        CHECK_ERR(rd_kafka_mock_broker_error_stack_cnt(m.cluster, 9, PRODUCE, &cnt),
                  RD_KAFKA_RESP_ERR__UNKNOWN_BROKER);
        CHECK_INT(cnt, 7);
        CHECK_ERR(rd_kafka_mock_partition_push_request_errors(m.cluster, "t", 2, PRODUCE, 1,
                                                              RD_KAFKA_RESP_ERR_UNKNOWN),
                  RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART);
        CHECK_ERR(rd_kafka_mock_partition_push_request_errors(m.cluster, "not/a/topic", 0, PRODUCE,
                                                              1, RD_KAFKA_RESP_ERR_UNKNOWN),
                  RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION);
        CHECK_ERR(rd_kafka_mock_partition_push_request_errors(m.cluster, "t", 0, JOIN_GROUP, 1,
                                                              RD_KAFKA_RESP_ERR_UNKNOWN),
                  RD_KAFKA_RESP_ERR__NOT_IMPLEMENTED);
        CHECK_ERR(rd_kafka_mock_partition_push_request_errors(m.cluster, "t", 0, PRODUCE, 1,
                                                              RD_KAFKA_RESP_ERR__TRANSPORT),
                  RD_KAFKA_RESP_ERR__INVALID_ARG);
        /* The topic is created with this partition. */
        CHECK_OK(rd_kafka_mock_partition_push_request_errors(m.cluster, "new", 3, PRODUCE, 1,
                                                             RD_KAFKA_RESP_ERR_INVALID_REQUIRED_ACKS));
        CHECK_ERR(mock_produce(rk, "new", 3, NULL), RD_KAFKA_RESP_ERR_INVALID_REQUIRED_ACKS);
        CHECK_ERR(rd_kafka_mock_broker_push_request_error_rtts(m.cluster, 1, PRODUCE, SIZE_MAX),
                  RD_KAFKA_RESP_ERR__INVALID_ARG);
        CHECK_ERR(rd_kafka_mock_partition_push_request_errors(m.cluster, "t", 0, PRODUCE, SIZE_MAX),
                  RD_KAFKA_RESP_ERR__INVALID_ARG);
        rd_kafka_mock_push_request_errors(m.cluster, PRODUCE, SIZE_MAX);
        CHECK_ERR(rd_kafka_last_error(), RD_KAFKA_RESP_ERR__INVALID_ARG);
        CHECK_OK(mock_produce(rk, "t", 0, NULL));
        end(m, rk);
}

int main(void) {
        RUN(permanent_error_is_in_the_delivery_report);
        RUN(retriable_errors_are_retried_until_the_stack_is_empty);
        RUN(transport_error_closes_the_connection);
        RUN(error_after_append_leaves_the_records);
        RUN(brokers_errors_have_delays_and_are_counted);
        RUN(brokers_errors_precede_the_clusters);
        RUN(clearing_removes_the_clusters_errors_of_one_api);
        RUN(partitions_errors_leave_other_partitions_alone);
        RUN(partitions_errors_reach_consumers);
        RUN(many_errors_in_one_call_keep_their_order);
        RUN(wrong_arguments_are_refused);
        return test_end();
}
