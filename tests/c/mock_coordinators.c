/* Mock clusters: coordinators, versions of APIs, rebalance delays, groups of the consumer protocol. */
#define _POSIX_C_SOURCE 200809L
#include "mock_test.h"

static void subscribe(rd_kafka_t *rk, const char *topic) {
        rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
        rd_kafka_topic_partition_list_add(list, topic, RD_KAFKA_PARTITION_UA);
        CHECK_OK(rd_kafka_subscribe(rk, list));
        rd_kafka_topic_partition_list_destroy(list);
}

static void poll_once(rd_kafka_t *rk) {
        rd_kafka_message_t *msg = rd_kafka_consumer_poll(rk, 20);
        if (msg)
                rd_kafka_message_destroy(msg);
}

/* The partitions of the assignment as a text, in ascending order: "0 2". */
static const char *assignment(rd_kafka_t *rk) {
        static char text[64];
        rd_kafka_topic_partition_list_t *list;
        size_t used = 0;
        int i;
        text[0] = '\0';
        if (rd_kafka_assignment(rk, &list))
                return "(error)";
        rd_kafka_topic_partition_list_sort(list, NULL, NULL);
        for (i = 0; i < list->cnt; i++)
                used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%d", i ? " " : "",
                                         (int)list->elems[i].partition);
        rd_kafka_topic_partition_list_destroy(list);
        return text;
}

/* Polls up to two consumers until their assignments are as expected. Is the time that it took in ms. */
static int wait_assigned(rd_kafka_t *a, const char *of_a, rd_kafka_t *b, const char *of_b) {
        int64_t begin = test_now_ms();
        for (;;) {
                poll_once(a);
                if (b)
                        poll_once(b);
                if (!strcmp(assignment(a), of_a) && (!b || !strcmp(assignment(b), of_b)))
                        return (int)(test_now_ms() - begin);
                if (test_now_ms() - begin > MOCK_WAIT_MS) {
                        CHECK_STR(assignment(a), of_a);
                        if (b)
                                CHECK_STR(assignment(b), of_b);
                        return MOCK_WAIT_MS;
                }
        }
}

/* Polls two consumers until each has half of four partitions. */
static void wait_halves(rd_kafka_t *a, rd_kafka_t *b) {
        int64_t end = test_now_ms() + MOCK_WAIT_MS;
        while (strlen(assignment(a)) != 3 || strlen(assignment(b)) != 3) {
                poll_once(a);
                poll_once(b);
                if (!CHECK(test_now_ms() < end))
                        return;
        }
}

static void group_goes_to_its_coordinator(void) {
        struct mock m = mock_start(3);
        int32_t broker;

        CHECK_OK(rd_kafka_mock_topic_create(m.cluster, "t", 2, 1));
        rd_kafka_mock_group_initial_rebalance_delay_ms(m.cluster, 0);
        CHECK_OK(rd_kafka_last_error());
        for (broker = 1; broker <= 3; broker++) {
                rd_kafka_t *rk = mock_consumer(&m, "g", NULL);
                CHECK_OK(rd_kafka_mock_coordinator_set(m.cluster, "group", "g", broker));
                rd_kafka_mock_start_request_tracking(m.cluster);
                subscribe(rk, "t");
                wait_assigned(rk, "0 1", NULL, NULL);
                CHECK(mock_requests(&m, JOIN_GROUP, broker) >= 1);
                CHECK_INT(mock_requests(&m, JOIN_GROUP, -1), mock_requests(&m, JOIN_GROUP, broker));
                rd_kafka_destroy(rk);
        }
        mock_end(m);
}

/* A group moves with its coordinator while it has a member. */
static void member_follows_the_coordinator(void) {
        struct mock m         = mock_start(2);
        rd_kafka_conf_t *conf = mock_conf(&m);
        rd_kafka_t *rk;

        CHECK_OK(rd_kafka_mock_topic_create(m.cluster, "t", 1, 1));
        rd_kafka_mock_group_initial_rebalance_delay_ms(m.cluster, 0);
        CHECK_OK(rd_kafka_mock_coordinator_set(m.cluster, "group", "g", 1));
        test_set(conf, "heartbeat.interval.ms", "100");
        rk = mock_consumer(&m, "g", conf);
        subscribe(rk, "t");
        wait_assigned(rk, "0", NULL, NULL);
        rd_kafka_mock_start_request_tracking(m.cluster);
        CHECK_OK(rd_kafka_mock_coordinator_set(m.cluster, "group", "g", 2));
        CHECK(mock_wait_requests(&m, rk, 12 /* Heartbeat */, 2, 1));
        rd_kafka_destroy(rk);
        mock_end(m);
}

static void transactional_producer_goes_to_its_coordinator(void) {
        struct mock m = mock_start(3);
        int32_t broker;

        for (broker = 1; broker <= 3; broker++) {
                rd_kafka_conf_t *conf = mock_conf(&m);
                rd_kafka_t *rk;
                CHECK_OK(rd_kafka_mock_coordinator_set(m.cluster, "transaction", "id", broker));
                rd_kafka_mock_start_request_tracking(m.cluster);
                test_set(conf, "transactional.id", "id");
                rk = mock_producer(&m, conf);
                CHECK(!rd_kafka_init_transactions(rk, MOCK_WAIT_MS));
                CHECK_INT(mock_requests(&m, INIT_PRODUCER_ID, broker), 1);
                CHECK_INT(mock_requests(&m, INIT_PRODUCER_ID, -1), 1);
                rd_kafka_destroy(rk);
        }
        mock_end(m);
}

static void unknown_coordinator_is_not_available(void) {
        struct mock m         = mock_start(1);
        rd_kafka_conf_t *conf = mock_conf(&m);
        rd_kafka_error_t *error;
        rd_kafka_t *rk;

        CHECK_OK(rd_kafka_mock_coordinator_set(m.cluster, "transaction", "id", 9));
        test_set(conf, "transactional.id", "id");
        rk    = mock_producer(&m, conf);
        error = rd_kafka_init_transactions(rk, 500);
        REQUIRE(error != NULL);
        CHECK(rd_kafka_error_is_retriable(error));
        rd_kafka_error_destroy(error);
        CHECK_OK(rd_kafka_mock_coordinator_set(m.cluster, "transaction", "id", 1));
        CHECK(!rd_kafka_init_transactions(rk, MOCK_WAIT_MS));
        CHECK_ERR(rd_kafka_mock_coordinator_set(m.cluster, "share", "id", 1),
                  RD_KAFKA_RESP_ERR__INVALID_ARG);
        rd_kafka_destroy(rk);
        mock_end(m);
}

static void versions_of_apis_are_limited_and_hidden(void) {
        struct mock m = mock_start(1);
        rd_kafka_t *rk;
        char *id;

        /* The cluster's id is in Metadata from version 2 on. */
        rk = mock_producer(&m, NULL);
        id = rd_kafka_clusterid(rk, MOCK_WAIT_MS);
        CHECK(id != NULL);
        rd_kafka_mem_free(rk, id);
        rd_kafka_destroy(rk);
        CHECK_OK(rd_kafka_mock_set_apiversion(m.cluster, METADATA, 0, 1));
        rk = mock_producer(&m, NULL);
        CHECK_STR(mock_brokers(rk), "1");
        CHECK(rd_kafka_clusterid(rk, 300) == NULL);
        rd_kafka_destroy(rk);
        CHECK_OK(rd_kafka_mock_set_apiversion(m.cluster, METADATA, 0, 12));

        /* Without InitProducerId there is no idempotent producer. */
        CHECK_OK(rd_kafka_mock_set_apiversion(m.cluster, INIT_PRODUCER_ID, -1, -1));
        {
                rd_kafka_conf_t *conf = mock_conf(&m);
                struct report report;
                rd_kafka_resp_err_t err;
                char text[128];
                test_set(conf, "enable.idempotence", "true");
                test_set(conf, "message.timeout.ms", "3000");
                rk = mock_producer(&m, conf);
                mock_send(rk, "t", 0, &report);
                err = mock_wait(rk, &report);
                if (err == RD_KAFKA_RESP_ERR__FATAL)
                        err = rd_kafka_fatal_error(rk, text, sizeof(text));
                CHECK(err != RD_KAFKA_RESP_ERR_NO_ERROR);
                rd_kafka_destroy(rk);
        }
        CHECK_OK(rd_kafka_mock_set_apiversion(m.cluster, INIT_PRODUCER_ID, 0, 4));
        {
                rd_kafka_conf_t *conf = mock_conf(&m);
                test_set(conf, "enable.idempotence", "true");
                rk = mock_producer(&m, conf);
                CHECK_OK(mock_produce(rk, "t", 0, NULL));
                rd_kafka_destroy(rk);
        }
        CHECK_ERR(rd_kafka_mock_set_apiversion(m.cluster, -1, 0, 1), RD_KAFKA_RESP_ERR__INVALID_ARG);
        CHECK_ERR(rd_kafka_mock_set_apiversion(m.cluster, 999, 0, 1),
                  RD_KAFKA_RESP_ERR__INVALID_ARG);
        /* ShareFetch. */
        CHECK_OK(rd_kafka_mock_set_apiversion(m.cluster, 78, 1, 1));
        CHECK_ERR(rd_kafka_mock_set_apiversion(m.cluster, 0, 3, 1), RD_KAFKA_RESP_ERR__INVALID_ARG);
        CHECK_ERR(rd_kafka_mock_set_apiversion(m.cluster, 0, -1, 1), RD_KAFKA_RESP_ERR__INVALID_ARG);
        CHECK_ERR(rd_kafka_mock_set_apiversion(m.cluster, 0, -2, -2),
                  RD_KAFKA_RESP_ERR__INVALID_ARG);
        mock_end(m);
}

static void first_rebalance_is_delayed(void) {
        const int delays_ms[] = {0, 700};
        size_t i;

        for (i = 0; i < 2; i++) {
                struct mock m  = mock_start(1);
                rd_kafka_t *rk = mock_consumer(&m, "g", NULL);
                int64_t begin;
                int waited_ms;
                CHECK_OK(rd_kafka_mock_topic_create(m.cluster, "t", 1, 1));
                rd_kafka_mock_group_initial_rebalance_delay_ms(m.cluster, delays_ms[i]);
                begin = test_now_ms();
                subscribe(rk, "t");
                wait_assigned(rk, "0", NULL, NULL);
                waited_ms = (int)(test_now_ms() - begin);
                /* The default is 3000 ms. */
                CHECK(waited_ms >= delays_ms[i] && waited_ms < 3000);
                rd_kafka_mock_group_initial_rebalance_delay_ms(m.cluster, -1);
                CHECK_ERR(rd_kafka_last_error(), RD_KAFKA_RESP_ERR__INVALID_ARG);
                rd_kafka_destroy(rk);
                mock_end(m);
        }
}

static rd_kafka_t *consumer_of_protocol_848(const struct mock *m) {
        rd_kafka_conf_t *conf = mock_conf(m);
        test_set(conf, "group.protocol", "consumer");
        return mock_consumer(m, "g", conf);
}

/* Partitions of topic "t": the numbers up to -1. */
static rd_kafka_topic_partition_list_t *partitions(const int *numbers) {
        rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(4);
        for (; *numbers >= 0; numbers++)
                rd_kafka_topic_partition_list_add(list, "t", *numbers);
        return list;
}

/* Sets the target assignment of two consumers. */
static void set_target(const struct mock *m,
                       rd_kafka_t *a,
                       const int *of_a,
                       rd_kafka_t *b,
                       const int *of_b) {
        char *ids[]                                = {rd_kafka_memberid(a), rd_kafka_memberid(b)};
        rd_kafka_topic_partition_list_t *lists[] = {partitions(of_a), partitions(of_b)};
        rd_kafka_mock_cgrp_consumer_target_assignment_t *target =
            rd_kafka_mock_cgrp_consumer_target_assignment_new(ids, 2, lists);

        CHECK(target != NULL);
        rd_kafka_mock_cgrp_consumer_target_assignment(m->cluster, "g", target);
        CHECK_OK(rd_kafka_last_error());
        rd_kafka_mock_cgrp_consumer_target_assignment_destroy(target);
        rd_kafka_topic_partition_list_destroy(lists[0]);
        rd_kafka_topic_partition_list_destroy(lists[1]);
        rd_kafka_mem_free(a, ids[0]);
        rd_kafka_mem_free(b, ids[1]);
}

static void members_get_the_target_assignment(void) {
        struct mock m = mock_start(1);
        rd_kafka_t *a, *b;

        CHECK_OK(rd_kafka_mock_topic_create(m.cluster, "t", 4, 1));
        rd_kafka_mock_set_group_consumer_heartbeat_interval_ms(m.cluster, 50);
        CHECK_OK(rd_kafka_last_error());
        a = consumer_of_protocol_848(&m);
        b = consumer_of_protocol_848(&m);
        subscribe(a, "t");
        wait_assigned(a, "0 1 2 3", NULL, NULL);
        subscribe(b, "t");
        wait_halves(a, b);
        set_target(&m, a, (const int[]){3, -1}, b, (const int[]){0, 1, -1});
        wait_assigned(a, "3", b, "0 1");
        set_target(&m, a, (const int[]){-1}, b, (const int[]){0, 1, 2, 3, -1});
        wait_assigned(a, "", b, "0 1 2 3");
        rd_kafka_mock_cgrp_consumer_target_assignment(m.cluster, "g", NULL);
        wait_halves(a, b);
        rd_kafka_destroy(a);
        rd_kafka_destroy(b);
        mock_end(m);
}

static void heartbeat_interval_and_session_timeout_are_as_set(void) {
        struct mock m = mock_start(1);
        rd_kafka_t *a, *b;
        int64_t begin, end;
        int beats = 0;

        CHECK_OK(rd_kafka_mock_topic_create(m.cluster, "t", 4, 1));
        rd_kafka_mock_set_group_consumer_heartbeat_interval_ms(m.cluster, 100);
        rd_kafka_mock_set_group_consumer_session_timeout_ms(m.cluster, 3000);
        CHECK_OK(rd_kafka_last_error());
        a = consumer_of_protocol_848(&m);
        b = consumer_of_protocol_848(&m);
        subscribe(a, "t");
        subscribe(b, "t");
        wait_halves(a, b);
        /* Two members need a second for 20 heartbeats and a few that acknowledge an assignment. */
        begin = test_now_ms();
        end   = begin + MOCK_WAIT_MS;
        rd_kafka_mock_start_request_tracking(m.cluster);
        while (beats < 24 && test_now_ms() < end) {
                poll_once(a);
                poll_once(b);
                beats = mock_requests(&m, CONSUMER_GROUP_HEARTBEAT, -1);
        }
        CHECK(beats >= 24);
        CHECK(test_now_ms() - begin >= 700);
        /* A member that does not leave loses its partitions when its session ends. */
        begin = test_now_ms();
        rd_kafka_destroy_flags(b, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);
        wait_assigned(a, "0 1 2 3", NULL, NULL);
        CHECK(test_now_ms() - begin >= 1500 && test_now_ms() - begin < 15000);
        rd_kafka_mock_set_group_consumer_heartbeat_interval_ms(m.cluster, 0);
        CHECK_ERR(rd_kafka_last_error(), RD_KAFKA_RESP_ERR__INVALID_ARG);
        rd_kafka_mock_set_group_consumer_session_timeout_ms(m.cluster, 0);
        CHECK_ERR(rd_kafka_last_error(), RD_KAFKA_RESP_ERR__INVALID_ARG);
        rd_kafka_destroy(a);
        mock_end(m);
}

int main(void) {
        RUN(group_goes_to_its_coordinator);
        RUN(member_follows_the_coordinator);
        RUN(transactional_producer_goes_to_its_coordinator);
        RUN(unknown_coordinator_is_not_available);
        RUN(versions_of_apis_are_limited_and_hidden);
        RUN(first_rebalance_is_delayed);
        RUN(members_get_the_target_assignment);
        RUN(heartbeat_interval_and_session_timeout_are_as_set);
        return test_end();
}
