/* Mock clusters: beginning and end, addresses, the client's own cluster, refused arguments. */
#define _POSIX_C_SOURCE 200809L
#include "mock_test.h"

#include <dirent.h>

/* The number of entries of a directory of /proc/self; -1 where the system has none. */
static int count(const char *path) {
        DIR *dir = opendir(path);
        int found = 0;
        if (!dir)
                return -1;
        while (readdir(dir))
                found++;
        closedir(dir);
        return found;
}

/* Counts the threads of this process until there are as many: one that was joined leaves /proc a moment later. */
static int count_threads(int expected) {
        int64_t until = test_now_ms() + MOCK_WAIT_MS;
        int found;
        while ((found = count("/proc/self/task")) != expected && test_now_ms() < until)
                test_sleep_ms(1);
        return found;
}

static void cluster_serves_clients_at_its_addresses(void) {
        struct mock m   = mock_start(3);
        rd_kafka_t *rk  = mock_producer(&m, NULL);
        rd_kafka_t *rk2 = mock_consumer(&m, "g", NULL);
        int i, commas   = 0;

        for (i = 0; m.servers[i]; i++)
                commas += m.servers[i] == ',';
        CHECK_INT(commas, 2);
        CHECK(!strncmp(m.servers, "127.0.0.1:", 10));
        CHECK_STR(mock_brokers(rk), "1 2 3");
        for (i = 0; i < 10; i++)
                CHECK_OK(mock_produce(rk, "t", 0, NULL));
        CHECK_INT(mock_consume(rk2, "t", 0, 0, 10, MOCK_WAIT_MS), 10);
        rd_kafka_destroy(rk2);
        rd_kafka_destroy(rk);
        mock_end(m);
}

static void defaults_are_four_partitions_and_three_replicas(void) {
        struct mock m  = mock_start(5);
        rd_kafka_t *rk = mock_producer(&m, NULL);
        const struct rd_kafka_metadata *md;

        CHECK_OK(mock_produce(rk, "auto", RD_KAFKA_PARTITION_UA, NULL));
        md = mock_metadata(rk, "auto");
        CHECK_INT(md->topics[0].partition_cnt, 4);
        CHECK_INT(md->topics[0].partitions[0].replica_cnt, 3);
        rd_kafka_metadata_destroy(md);
        CHECK_INT(rd_kafka_controllerid(rk, MOCK_WAIT_MS), 1);
        rd_kafka_destroy(rk);
        mock_end(m);
}

static void threads_and_descriptors_are_gone_after_destroy(void) {
        rd_kafka_t *owner = test_client(RD_KAFKA_PRODUCER, test_conf());
        int threads, descriptors, round;

        threads     = count("/proc/self/task");
        descriptors = 0;
        for (round = 0; round < 20; round++) {
                struct mock m;
                rd_kafka_t *rk;
                m.owner   = owner;
                m.cluster = rd_kafka_mock_cluster_new(owner, 4);
                REQUIRE(m.cluster != NULL);
                m.servers = rd_kafka_mock_cluster_bootstraps(m.cluster);
                CHECK_INT(count_threads(threads + (threads > 0)), threads + (threads > 0));
                CHECK_OK(rd_kafka_mock_broker_add(m.cluster, 7));
                CHECK_OK(rd_kafka_mock_broker_set_down(m.cluster, 2));
                CHECK_OK(rd_kafka_mock_partition_set_leader(m.cluster, "t", 0, 7));
                rk = mock_producer(&m, NULL);
                CHECK_OK(mock_produce(rk, "t", 0, NULL));
                /* Half of the clusters end before their client. */
                if (round % 2)
                        rd_kafka_destroy(rk);
                rd_kafka_mock_cluster_destroy(m.cluster);
                if (round % 2 == 0)
                        rd_kafka_destroy(rk);
                /* The latest clients that were destroyed keep a few descriptors each. */
                if (round == 9)
                        descriptors = count("/proc/self/fd");
        }
        CHECK_INT(count_threads(threads), threads);
        CHECK_INT(count("/proc/self/fd"), descriptors);
        rd_kafka_destroy(owner);
}

static void clusters_are_apart(void) {
        struct mock a = mock_start(1), b = mock_start(2);
        rd_kafka_t *pa = mock_producer(&a, NULL), *pb = mock_producer(&b, NULL);

        CHECK(strcmp(a.servers, b.servers) != 0);
        CHECK_OK(rd_kafka_mock_topic_create(a.cluster, "only_a", 1, 1));
        CHECK_OK(rd_kafka_mock_topic_create(b.cluster, "only_a", 2, 1));
        CHECK_STR(mock_brokers(pa), "1");
        CHECK_STR(mock_brokers(pb), "1 2");
        rd_kafka_destroy(pa);
        rd_kafka_destroy(pb);
        mock_end(a);
        mock_end(b);
}

static void cluster_outlives_its_client(void) {
        struct mock m = mock_start(1);
        rd_kafka_t *rk;

        CHECK(rd_kafka_mock_cluster_handle(m.cluster) == m.owner);
        rd_kafka_destroy(m.owner);
        rk = mock_producer(&m, NULL);
        CHECK_OK(mock_produce(rk, "t", 0, NULL));
        rd_kafka_destroy(rk);
        rd_kafka_mock_cluster_destroy(m.cluster);
}

static void cluster_of_a_client_is_the_clients(void) {
        rd_kafka_conf_t *conf = test_conf();
        rd_kafka_mock_cluster_t *cluster;
        struct mock m;
        rd_kafka_t *rk, *other;

        test_set(conf, "test.mock.num.brokers", "2");
        rk      = test_client(RD_KAFKA_PRODUCER, conf);
        cluster = rd_kafka_handle_mock_cluster(rk);
        REQUIRE(cluster != NULL);
        CHECK(rd_kafka_handle_mock_cluster(rk) == cluster);
        CHECK(rd_kafka_mock_cluster_handle(cluster) == rk);
        /* It ends with the client. */
        rd_kafka_mock_cluster_destroy(cluster);
        CHECK_ERR(rd_kafka_last_error(), RD_KAFKA_RESP_ERR__INVALID_ARG);
        CHECK_OK(rd_kafka_mock_topic_create(cluster, "t", 3, 2));
        m.owner   = rk;
        m.cluster = cluster;
        m.servers = rd_kafka_mock_cluster_bootstraps(cluster);
        other     = mock_producer(&m, NULL);
        CHECK_STR(mock_brokers(other), "1 2");
        CHECK_OK(mock_produce(other, "t", 2, NULL));
        rd_kafka_destroy(other);
        rd_kafka_destroy(rk);
        /* The handle is refused, as that of its client. */
        CHECK_ERR(rd_kafka_mock_topic_create(cluster, "u", 3, 2), RD_KAFKA_RESP_ERR__INVALID_ARG);

        rk = test_client(RD_KAFKA_PRODUCER, test_conf());
        CHECK(rd_kafka_handle_mock_cluster(rk) == NULL);
        rd_kafka_destroy(rk);
}

static void bootstraps_follow_added_and_removed_brokers(void) {
        struct mock m = mock_start(2);
        char before[256];
        const char *after;

        snprintf(before, sizeof(before), "%s", m.servers);
        CHECK_OK(rd_kafka_mock_broker_add(m.cluster, 3));
        after = rd_kafka_mock_cluster_bootstraps(m.cluster);
        CHECK(!strncmp(after, before, strlen(before)) && strlen(after) > strlen(before));
        CHECK_OK(rd_kafka_mock_broker_decommission(m.cluster, 3));
        CHECK_STR(rd_kafka_mock_cluster_bootstraps(m.cluster), before);
        /* Earlier texts stay. */
        CHECK_STR(m.servers, before);
        CHECK(strlen(after) > strlen(before));
        mock_end(m);
}

static void requests_are_logged_with_debug_mock(void) {
        rd_kafka_conf_t *conf = test_conf();
        struct mock m;
        rd_kafka_t *rk;
        rd_kafka_event_t *event;
        int64_t end = test_now_ms() + MOCK_WAIT_MS;
        int seen    = 0;

        test_set(conf, "log_level", "7");
        test_set(conf, "debug", "mock");
        test_set(conf, "log.queue", "true");
        m.owner = test_client(RD_KAFKA_PRODUCER, conf);
        CHECK_OK(rd_kafka_set_log_queue(m.owner, NULL));
        m.cluster = rd_kafka_mock_cluster_new(m.owner, 1);
        m.servers = rd_kafka_mock_cluster_bootstraps(m.cluster);
        rk        = mock_producer(&m, NULL);
        CHECK_OK(mock_produce(rk, "t", 0, NULL));
        while (!seen && test_now_ms() < end) {
                const char *facility, *text;
                int level;
                rd_kafka_queue_t *queue = rd_kafka_queue_get_main(m.owner);
                event = rd_kafka_queue_poll(queue, 100);
                rd_kafka_queue_destroy(queue);
                if (event && !rd_kafka_event_log(event, &facility, &text, &level))
                        seen = !strcmp(facility, "MOCK") && strstr(text, "ProduceRequest") != NULL;
                rd_kafka_event_destroy(event);
        }
        CHECK(seen);
        rd_kafka_destroy(rk);
        mock_end(m);
}

/* A forked child has no thread of the cluster. */
static void forked_child_is_refused_and_may_destroy_its_copy(void) {
        struct mock m = mock_start(1);
        int status    = -1;
        pid_t child   = fork();

        if (child == 0) {
                int failed = 0;
                size_t cnt = 0;
                alarm(20);
                failed |= (rd_kafka_mock_topic_create(m.cluster, "t", 1, 1) !=
                           RD_KAFKA_RESP_ERR__STATE);
                failed |= (rd_kafka_mock_broker_set_down(m.cluster, -1) !=
                           RD_KAFKA_RESP_ERR__STATE)
                          << 1;
                failed |= (rd_kafka_mock_get_requests(m.cluster, &cnt) != NULL) << 2;
                failed |= (rd_kafka_last_error() != RD_KAFKA_RESP_ERR__STATE) << 3;
                failed |= (rd_kafka_mock_cluster_new(m.owner, 1) != NULL) << 4;
                rd_kafka_mock_cluster_destroy(m.cluster);
                _exit(failed);
        }
        CHECK(child > 0);
        CHECK_INT(waitpid(child, &status, 0), child);
        CHECK(WIFEXITED(status));
        CHECK_INT(WEXITSTATUS(status), 0);
        CHECK_OK(rd_kafka_mock_topic_create(m.cluster, "t", 1, 1));
        mock_end(m);
}

static void wrong_arguments_are_refused(void) {
        rd_kafka_t *rk = test_client(RD_KAFKA_PRODUCER, test_conf());
        int counts[]   = {0, -1, 10001}, i;

        for (i = 0; i < 3; i++) {
                CHECK(rd_kafka_mock_cluster_new(rk, counts[i]) == NULL);
                CHECK_ERR(rd_kafka_last_error(), RD_KAFKA_RESP_ERR__INVALID_ARG);
        }
        CHECK(rd_kafka_mock_cluster_new(NULL, 1) == NULL);
        CHECK_ERR(rd_kafka_last_error(), RD_KAFKA_RESP_ERR__INVALID_ARG);
        rd_kafka_mock_cluster_destroy(NULL);
        CHECK(rd_kafka_mock_cluster_handle(NULL) == NULL);
        CHECK(rd_kafka_handle_mock_cluster(NULL) == NULL);
        CHECK(rd_kafka_mock_cluster_bootstraps(NULL) == NULL);
        rd_kafka_destroy(rk);
}

/* Every other function with NULL, and with the handle of something else. */
static void functions_refuse_handles_that_are_no_cluster(void) {
        rd_kafka_conf_t *conf            = rd_kafka_conf_new();
        rd_kafka_mock_cluster_t *wrong[] = {NULL, (rd_kafka_mock_cluster_t *)(void *)conf};
        rd_kafka_resp_err_t bad          = RD_KAFKA_RESP_ERR__INVALID_ARG;
        rd_kafka_resp_err_t one[]        = {RD_KAFKA_RESP_ERR_UNKNOWN};
        char *names[]                    = {"x"};
        size_t cnt                       = 0;
        int i;

        for (i = 0; i < 2; i++) {
                rd_kafka_mock_cluster_t *c = wrong[i];
                rd_kafka_mock_clear_request_errors(c, 0);
                CHECK_ERR(rd_kafka_last_error(), bad);
                rd_kafka_mock_push_request_errors(c, 0, 1, RD_KAFKA_RESP_ERR_UNKNOWN);
                CHECK_ERR(rd_kafka_last_error(), bad);
                rd_kafka_mock_push_request_errors_array(c, 0, 1, one);
                CHECK_ERR(rd_kafka_last_error(), bad);
                CHECK_ERR(rd_kafka_mock_broker_push_request_error_rtts(
                              c, 1, 0, 1, RD_KAFKA_RESP_ERR_UNKNOWN, 1),
                          bad);
                CHECK_ERR(rd_kafka_mock_broker_error_stack_cnt(c, 1, 0, &cnt), bad);
                CHECK_ERR(rd_kafka_mock_partition_push_request_errors(c, "t", 0, 0, 1,
                                                                      RD_KAFKA_RESP_ERR_UNKNOWN),
                          bad);
                rd_kafka_mock_topic_set_error(c, "t", RD_KAFKA_RESP_ERR_UNKNOWN);
                CHECK_ERR(rd_kafka_mock_topic_create(c, "t", 1, 1), bad);
                CHECK_ERR(rd_kafka_mock_topic_delete(c, "t"), bad);
                CHECK_ERR(rd_kafka_mock_partition_delete_records(c, "t", 0, 0), bad);
                CHECK_ERR(rd_kafka_mock_partition_set_leader(c, "t", 0, 1), bad);
                CHECK_ERR(rd_kafka_mock_partition_set_follower(c, "t", 0, 1), bad);
                CHECK_ERR(rd_kafka_mock_partition_set_follower_wmarks(c, "t", 0, 1, 1), bad);
                CHECK_ERR(rd_kafka_mock_partition_push_leader_response(c, "t", 0, 1, 1), bad);
                CHECK_ERR(rd_kafka_mock_broker_set_down(c, 1), bad);
                CHECK_ERR(rd_kafka_mock_broker_set_up(c, 1), bad);
                rd_kafka_mock_broker_set_host_port(c, 1, "h", 1);
                CHECK_ERR(rd_kafka_mock_broker_set_rtt(c, 1, 1), bad);
                CHECK_ERR(rd_kafka_mock_broker_set_rack(c, 1, "r"), bad);
                CHECK_ERR(rd_kafka_mock_broker_decommission(c, 1), bad);
                CHECK_ERR(rd_kafka_mock_broker_remove_from_metadata(c, 1), bad);
                CHECK_ERR(rd_kafka_mock_broker_add(c, 1), bad);
                rd_kafka_mock_set_controller_id(c, 1);
                CHECK_ERR(rd_kafka_mock_coordinator_set(c, "group", "g", 1), bad);
                CHECK_ERR(rd_kafka_mock_set_apiversion(c, 0, 0, 1), bad);
                rd_kafka_mock_group_initial_rebalance_delay_ms(c, 1);
                rd_kafka_mock_start_request_tracking(c);
                rd_kafka_mock_stop_request_tracking(c);
                CHECK(rd_kafka_mock_get_requests(c, &cnt) == NULL);
                rd_kafka_mock_clear_requests(c);
                CHECK_ERR(rd_kafka_mock_telemetry_set_requested_metrics(c, names, 1), bad);
                CHECK_ERR(rd_kafka_mock_telemetry_set_push_interval(c, 1), bad);
                rd_kafka_mock_cgrp_consumer_target_assignment(c, "g", NULL);
                rd_kafka_mock_set_group_consumer_session_timeout_ms(c, 1);
                rd_kafka_mock_set_group_consumer_heartbeat_interval_ms(c, 1);
                CHECK_ERR(rd_kafka_last_error(), bad);
        }
        rd_kafka_conf_destroy(conf);
}

/* Strings and arrays that are NULL. */
static void functions_refuse_null_arguments(void) {
        struct mock m                   = mock_start(1);
        rd_kafka_mock_cluster_t *c      = m.cluster;
        rd_kafka_resp_err_t bad         = RD_KAFKA_RESP_ERR__INVALID_ARG;
        char *null_names[]              = {NULL};

        rd_kafka_mock_push_request_errors_array(c, 0, 1, NULL);
        CHECK_ERR(rd_kafka_last_error(), bad);
        rd_kafka_mock_push_request_errors_array(c, 0, 0, NULL);
        CHECK_OK(rd_kafka_last_error());
        CHECK_ERR(rd_kafka_mock_broker_error_stack_cnt(c, 1, 0, NULL), bad);
        CHECK_ERR(rd_kafka_mock_partition_push_request_errors(c, NULL, 0, 0, 0), bad);
        rd_kafka_mock_topic_set_error(c, NULL, RD_KAFKA_RESP_ERR_UNKNOWN);
        CHECK_ERR(rd_kafka_last_error(), bad);
        CHECK_ERR(rd_kafka_mock_topic_create(c, NULL, 1, 1), bad);
        CHECK_ERR(rd_kafka_mock_topic_create(c, "\xff\xfe", 1, 1), bad);
        CHECK_ERR(rd_kafka_mock_topic_delete(c, NULL), bad);
        CHECK_ERR(rd_kafka_mock_partition_set_leader(c, NULL, 0, 1), bad);
        rd_kafka_mock_broker_set_host_port(c, 1, NULL, 1);
        CHECK_ERR(rd_kafka_last_error(), bad);
        CHECK_ERR(rd_kafka_mock_coordinator_set(c, NULL, "g", 1), bad);
        CHECK_ERR(rd_kafka_mock_coordinator_set(c, "group", NULL, 1), bad);
        CHECK(rd_kafka_mock_get_requests(c, NULL) == NULL);
        CHECK_ERR(rd_kafka_last_error(), bad);
        CHECK_ERR(rd_kafka_mock_telemetry_set_requested_metrics(c, null_names, 1), bad);
        CHECK(rd_kafka_mock_cgrp_consumer_target_assignment_new(NULL, 1, NULL) == NULL);
        CHECK(rd_kafka_mock_cgrp_consumer_target_assignment_new(null_names, -1, NULL) == NULL);
        rd_kafka_mock_cgrp_consumer_target_assignment_destroy(NULL);
        rd_kafka_mock_request_destroy(NULL);
        rd_kafka_mock_request_destroy_array(NULL, 3);
        CHECK_INT(rd_kafka_mock_request_id(NULL), -1);
        CHECK_INT(rd_kafka_mock_request_api_key(NULL), -1);
        CHECK_INT(rd_kafka_mock_request_timestamp(NULL), -1);
        mock_end(m);
}

int main(void) {
        RUN(cluster_serves_clients_at_its_addresses);
        RUN(defaults_are_four_partitions_and_three_replicas);
        RUN(threads_and_descriptors_are_gone_after_destroy);
        RUN(clusters_are_apart);
        RUN(cluster_outlives_its_client);
        RUN(cluster_of_a_client_is_the_clients);
        RUN(bootstraps_follow_added_and_removed_brokers);
        RUN(requests_are_logged_with_debug_mock);
        RUN(forked_child_is_refused_and_may_destroy_its_copy);
        RUN(wrong_arguments_are_refused);
        RUN(functions_refuse_handles_that_are_no_cluster);
        RUN(functions_refuse_null_arguments);
        return test_end();
}
