/* Mock clusters: the log of requests, client metrics, share groups. */
#define _POSIX_C_SOURCE 200809L
#include "mock_test.h"

static void requests_have_broker_api_and_time(void) {
        struct mock m  = mock_start(2);
        rd_kafka_t *rk = mock_producer(&m, NULL);
        rd_kafka_mock_request_t **requests;
        int64_t begin, end, before;
        size_t cnt = 99, i;
        int produced = 0;

        CHECK(rd_kafka_mock_get_requests(m.cluster, &cnt) == NULL);
        CHECK_INT(cnt, 0);
        CHECK_OK(rd_kafka_mock_partition_set_leader(m.cluster, "t", 0, 2));
        CHECK_OK(mock_produce(rk, "t", 0, NULL));
        rd_kafka_mock_start_request_tracking(m.cluster);
        CHECK_OK(rd_kafka_last_error());
        begin = test_now_us();
        CHECK_OK(mock_produce(rk, "t", 0, NULL));
        test_sleep_ms(30);
        CHECK_OK(mock_produce(rk, "t", 0, NULL));
        end      = test_now_us();
        requests = rd_kafka_mock_get_requests(m.cluster, &cnt);
        REQUIRE(requests != NULL);
        before = begin;
        for (i = 0; i < cnt; i++) {
                int64_t at = rd_kafka_mock_request_timestamp(requests[i]);
                CHECK(at >= before && at <= end);
                before = at;
                if (rd_kafka_mock_request_api_key(requests[i]) == PRODUCE) {
                        produced++;
                        CHECK_INT(rd_kafka_mock_request_id(requests[i]), 2);
                }
        }
        CHECK_INT(produced, 2);
        CHECK(rd_kafka_mock_request_timestamp(requests[cnt - 1]) - begin >= 30000);
        /* One by one, and the array with free(). */
        for (i = 0; i < cnt; i++)
                rd_kafka_mock_request_destroy(requests[i]);
        free(requests);
        rd_kafka_destroy(rk);
        mock_end(m);
}

static void log_stops_continues_and_is_emptied(void) {
        struct mock m  = mock_start(1);
        rd_kafka_t *rk = mock_producer(&m, NULL);

        CHECK_OK(mock_produce(rk, "t", 0, NULL));
        rd_kafka_mock_start_request_tracking(m.cluster);
        CHECK_OK(mock_produce(rk, "t", 0, NULL));
        rd_kafka_mock_stop_request_tracking(m.cluster);
        CHECK_OK(mock_produce(rk, "t", 0, NULL));
        CHECK_INT(mock_requests(&m, PRODUCE, -1), 1);
        rd_kafka_mock_start_request_tracking(m.cluster);
        CHECK_INT(mock_requests(&m, PRODUCE, -1), 0);
        CHECK_OK(mock_produce(rk, "t", 0, NULL));
        CHECK_INT(mock_requests(&m, PRODUCE, -1), 1);
        rd_kafka_mock_clear_requests(m.cluster);
        CHECK_INT(mock_requests(&m, PRODUCE, -1), 0);
        CHECK_OK(mock_produce(rk, "t", 0, NULL));
        CHECK_INT(mock_requests(&m, PRODUCE, -1), 1);
        rd_kafka_destroy(rk);
        mock_end(m);
}

static void refused_requests_are_logged(void) {
        struct mock m  = mock_start(1);
        rd_kafka_t *rk = mock_producer(&m, NULL);

        CHECK_OK(mock_produce(rk, "t", 0, NULL));
        rd_kafka_mock_start_request_tracking(m.cluster);
        rd_kafka_mock_push_request_errors(m.cluster, PRODUCE, 2, RD_KAFKA_RESP_ERR__TRANSPORT,
                                          RD_KAFKA_RESP_ERR_INVALID_REQUIRED_ACKS);
        CHECK_ERR(mock_produce(rk, "t", 0, NULL), RD_KAFKA_RESP_ERR_INVALID_REQUIRED_ACKS);
        CHECK_INT(mock_requests(&m, PRODUCE, 1), 2);
        rd_kafka_destroy(rk);
        mock_end(m);
}

static void client_pushes_the_requested_metrics(void) {
        char *all[]    = {"", "ignored"};
        struct mock m  = mock_start(1);
        rd_kafka_t *rk;

        CHECK_OK(rd_kafka_mock_telemetry_set_requested_metrics(m.cluster, all, 1));
        CHECK_OK(rd_kafka_mock_telemetry_set_push_interval(m.cluster, 200));
        rd_kafka_mock_start_request_tracking(m.cluster);
        rk = mock_producer(&m, NULL);
        CHECK_OK(mock_produce(rk, "t", 0, NULL));
        CHECK(mock_wait_requests(&m, rk, GET_TELEMETRY_SUBSCRIPTIONS, -1, 1));
        CHECK(mock_wait_requests(&m, rk, PUSH_TELEMETRY, -1, 3));
        rd_kafka_destroy(rk);

        /* Without a requested metric there is no push. */
        CHECK_OK(rd_kafka_mock_telemetry_set_requested_metrics(m.cluster, NULL, 0));
        rk = mock_producer(&m, NULL);
        /* Meanwhile the cluster reads what the other client has sent at its end. */
        CHECK_OK(mock_produce(rk, "t", 0, NULL));
        rd_kafka_mock_clear_requests(m.cluster);
        CHECK(mock_wait_requests(&m, rk, GET_TELEMETRY_SUBSCRIPTIONS, -1, 2));
        CHECK_INT(mock_requests(&m, PUSH_TELEMETRY, -1), 0);
        rd_kafka_destroy(rk);

        CHECK_ERR(rd_kafka_mock_telemetry_set_push_interval(m.cluster, 0),
                  RD_KAFKA_RESP_ERR__INVALID_ARG);
        CHECK_ERR(rd_kafka_mock_telemetry_set_push_interval(m.cluster, (int64_t)1 << 31),
                  RD_KAFKA_RESP_ERR__INVALID_ARG);
        mock_end(m);
}

static void settings_of_share_groups_are_checked(void) {
        struct mock m = mock_start(1);
        void (*const settings[])(rd_kafka_mock_cluster_t *, int) = {
            rd_kafka_mock_sharegroup_set_session_timeout,
            rd_kafka_mock_sharegroup_set_heartbeat_interval,
            rd_kafka_mock_sharegroup_set_max_delivery_attempts,
            rd_kafka_mock_sharegroup_set_record_lock_duration,
            rd_kafka_mock_sharegroup_set_max_size,
            rd_kafka_mock_sharegroup_set_max_fetch_sessions,
            rd_kafka_mock_sharegroup_set_max_record_locks,
            rd_kafka_mock_sharegroup_set_isolation_level,
            rd_kafka_mock_sharegroup_set_auto_offset_reset,
        };
        size_t i;

        for (i = 0; i < sizeof(settings) / sizeof(*settings); i++) {
                settings[i](m.cluster, 1);
                CHECK_OK(rd_kafka_last_error());
                settings[i](m.cluster, -1);
                CHECK_ERR(rd_kafka_last_error(), RD_KAFKA_RESP_ERR__INVALID_ARG);
                settings[i](NULL, 1);
                CHECK_ERR(rd_kafka_last_error(), RD_KAFKA_RESP_ERR__INVALID_ARG);
        }
        rd_kafka_mock_sharegroup_set_isolation_level(m.cluster, 2);
        CHECK_ERR(rd_kafka_last_error(), RD_KAFKA_RESP_ERR__INVALID_ARG);
        rd_kafka_mock_sharegroup_set_auto_offset_reset(m.cluster, 0);
        CHECK_OK(rd_kafka_last_error());
        mock_end(m);
}

static void target_assignments_of_share_groups_are_checked(void) {
        struct mock m                          = mock_start(1);
        const char *ids[]                      = {"a", NULL};
        rd_kafka_topic_partition_list_t *lists[] = {rd_kafka_topic_partition_list_new(1), NULL};

        rd_kafka_topic_partition_list_add(lists[0], "t", 0);
        rd_kafka_mock_sharegroup_target_assignment(m.cluster, "g", ids, lists, 1);
        CHECK_OK(rd_kafka_last_error());
        rd_kafka_mock_sharegroup_target_assignment(m.cluster, "g", NULL, NULL, 0);
        CHECK_OK(rd_kafka_last_error());

        rd_kafka_mock_sharegroup_target_assignment(m.cluster, "g", ids, lists, 2);
        CHECK_ERR(rd_kafka_last_error(), RD_KAFKA_RESP_ERR__INVALID_ARG);
        rd_kafka_mock_sharegroup_target_assignment(m.cluster, "g", NULL, lists, 1);
        CHECK_ERR(rd_kafka_last_error(), RD_KAFKA_RESP_ERR__INVALID_ARG);
        rd_kafka_mock_sharegroup_target_assignment(m.cluster, "g", ids, NULL, 1);
        CHECK_ERR(rd_kafka_last_error(), RD_KAFKA_RESP_ERR__INVALID_ARG);
        rd_kafka_mock_sharegroup_target_assignment(m.cluster, NULL, ids, lists, 1);
        CHECK_ERR(rd_kafka_last_error(), RD_KAFKA_RESP_ERR__INVALID_ARG);
        rd_kafka_mock_sharegroup_target_assignment(NULL, "g", ids, lists, 1);
        CHECK_ERR(rd_kafka_last_error(), RD_KAFKA_RESP_ERR__INVALID_ARG);
        rd_kafka_topic_partition_list_destroy(lists[0]);
        mock_end(m);
}

static void members_of_an_unknown_share_group_are_not_found(void) {
        struct mock m = mock_start(1);
        char **ids    = (char **)&m;
        size_t cnt    = 5;

        CHECK_ERR(rd_kafka_mock_sharegroup_get_member_ids(m.cluster, "g", &ids, &cnt),
                  RD_KAFKA_RESP_ERR_GROUP_ID_NOT_FOUND);
        CHECK(ids == NULL);
        CHECK_INT(cnt, 0);
        CHECK_ERR(rd_kafka_mock_sharegroup_get_member_ids(NULL, "g", &ids, &cnt),
                  RD_KAFKA_RESP_ERR__INVALID_ARG);
        CHECK_ERR(rd_kafka_mock_sharegroup_get_member_ids(m.cluster, NULL, &ids, &cnt),
                  RD_KAFKA_RESP_ERR__INVALID_ARG);
        CHECK_ERR(rd_kafka_mock_sharegroup_get_member_ids(m.cluster, "g", NULL, NULL),
                  RD_KAFKA_RESP_ERR__INVALID_ARG);
        mock_end(m);
}

int main(void) {
        RUN(requests_have_broker_api_and_time);
        RUN(log_stops_continues_and_is_emptied);
        RUN(refused_requests_are_logged);
        RUN(client_pushes_the_requested_metrics);
        RUN(settings_of_share_groups_are_checked);
        RUN(target_assignments_of_share_groups_are_checked);
        RUN(members_of_an_unknown_share_group_are_not_found);
        return test_end();
}
