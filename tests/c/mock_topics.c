/* Mock clusters: topics, leaders, followers, records that are deleted. */
#define _POSIX_C_SOURCE 200809L
#include "mock_test.h"

static void topics_are_created_with_their_counts(void) {
        struct mock m  = mock_start(3);
        rd_kafka_t *rk = mock_producer(&m, NULL);
        const struct {
                const char *name;
                int partitions, replicas, seen_partitions, seen_replicas;
        } topics[] = {{"one", 1, 1, 1, 1},
                      {"more", 7, 2, 7, 2},
                      {"default", -1, -1, 4, 3},
                      {"capped", 2, 99, 2, 3}};
        const struct {
                const char *name;
                int partitions, replicas;
                rd_kafka_resp_err_t err;
        } refused[] = {{"one", 1, 1, RD_KAFKA_RESP_ERR_TOPIC_ALREADY_EXISTS},
                       {"x", 0, 1, RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION},
                       {"x", -2, 1, RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION},
                       {"x", 100001, 1, RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION},
                       {"x", 1, 0, RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION},
                       {"x", 1, -70000, RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION},
                       {"", 1, 1, RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION},
                       {"a/b", 1, 1, RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION}};
        size_t i;

        for (i = 0; i < sizeof(topics) / sizeof(*topics); i++) {
                const struct rd_kafka_metadata *md;
                CHECK_OK(rd_kafka_mock_topic_create(m.cluster, topics[i].name,
                                                    topics[i].partitions, topics[i].replicas));
                md = mock_metadata(rk, topics[i].name);
                CHECK_INT(md->topics[0].partition_cnt, topics[i].seen_partitions);
                CHECK_INT(md->topics[0].partitions[0].replica_cnt, topics[i].seen_replicas);
                rd_kafka_metadata_destroy(md);
        }
        for (i = 0; i < sizeof(refused) / sizeof(*refused); i++)
                CHECK_ERR(rd_kafka_mock_topic_create(m.cluster, refused[i].name,
                                                     refused[i].partitions, refused[i].replicas),
                          refused[i].err);
        rd_kafka_destroy(rk);
        mock_end(m);
}

static int partition_count(rd_kafka_t *rk, const char *topic) {
        const struct rd_kafka_metadata *md = mock_metadata(rk, topic);
        int count                          = md->topics[0].partition_cnt;
        rd_kafka_metadata_destroy(md);
        return count;
}

static void functions_create_topics_up_to_their_partition(void) {
        struct mock m  = mock_start(1);
        rd_kafka_t *rk = mock_producer(&m, NULL);

        CHECK_OK(rd_kafka_mock_partition_set_leader(m.cluster, "a", 0, 1));
        CHECK_INT(partition_count(rk, "a"), 1);
        CHECK_OK(rd_kafka_mock_partition_set_follower(m.cluster, "b", 5, 1));
        CHECK_INT(partition_count(rk, "b"), 6);
        CHECK_OK(rd_kafka_mock_partition_set_follower_wmarks(m.cluster, "c", 1, 0, 0));
        CHECK_INT(partition_count(rk, "c"), 2);
        CHECK_OK(rd_kafka_mock_partition_push_leader_response(m.cluster, "d", 2, 1, 0));
        CHECK_INT(partition_count(rk, "d"), 3);
        CHECK_OK(rd_kafka_mock_partition_push_request_errors(m.cluster, "e", 3, PRODUCE, 0));
        CHECK_INT(partition_count(rk, "e"), 4);
        CHECK_ERR(rd_kafka_mock_partition_set_leader(m.cluster, "f", -1, 1),
                  RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART);
        CHECK_ERR(rd_kafka_mock_topic_delete(m.cluster, "f"),
                  RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART);
        CHECK_ERR(rd_kafka_mock_partition_set_leader(m.cluster, "f", INT32_MAX, 1),
                  RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION);
        rd_kafka_destroy(rk);
        mock_end(m);
}

static void deleted_topic_has_no_records_when_it_is_new(void) {
        struct mock m  = mock_start(1);
        rd_kafka_t *rk = mock_producer(&m, NULL);

        CHECK_ERR(rd_kafka_mock_topic_delete(m.cluster, "t"),
                  RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART);
        CHECK_OK(rd_kafka_mock_topic_create(m.cluster, "t", 1, 1));
        CHECK_OK(mock_produce(rk, "t", 0, NULL));
        CHECK_INT(mock_end_offset(rk, "t", 0), 1);
        CHECK_OK(rd_kafka_mock_topic_delete(m.cluster, "t"));
        CHECK_OK(rd_kafka_mock_topic_create(m.cluster, "t", 2, 1));
        CHECK_INT(mock_end_offset(rk, "t", 0), 0);
        rd_kafka_destroy(rk);
        mock_end(m);
}

static void records_before_an_offset_are_deleted(void) {
        struct mock m  = mock_start(1);
        rd_kafka_t *rk = mock_producer(&m, NULL);
        int64_t lo = -1, hi = -1;
        int i;

        CHECK_OK(rd_kafka_mock_topic_create(m.cluster, "t", 1, 1));
        for (i = 0; i < 5; i++)
                CHECK_OK(mock_produce(rk, "t", 0, NULL));
        CHECK_OK(rd_kafka_mock_partition_delete_records(m.cluster, "t", 0, 3));
        CHECK_OK(rd_kafka_query_watermark_offsets(rk, "t", 0, &lo, &hi, MOCK_WAIT_MS));
        CHECK_INT(lo, 3);
        CHECK_INT(hi, 5);
        CHECK_ERR(rd_kafka_mock_partition_delete_records(m.cluster, "t", 0, 6),
                  RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE);
        CHECK_ERR(rd_kafka_mock_partition_delete_records(m.cluster, "t", 0, -2),
                  RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE);
        CHECK_OK(rd_kafka_mock_partition_delete_records(m.cluster, "t", 0, -1));
        CHECK_OK(rd_kafka_query_watermark_offsets(rk, "t", 0, &lo, &hi, MOCK_WAIT_MS));
        CHECK_INT(lo, 5);
        CHECK_ERR(rd_kafka_mock_partition_delete_records(m.cluster, "t", 1, 0),
                  RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART);
        CHECK_ERR(rd_kafka_mock_partition_delete_records(m.cluster, "none", 0, 0),
                  RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART);
        rd_kafka_destroy(rk);
        mock_end(m);
}

static void topic_error_is_in_metadata_until_it_ends(void) {
        struct mock m  = mock_start(1);
        rd_kafka_t *rk = mock_producer(&m, NULL);
        const struct rd_kafka_metadata *md;

        rd_kafka_mock_topic_set_error(m.cluster, "t", RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED);
        md = mock_metadata(rk, "t");
        CHECK_ERR(md->topics[0].err, RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED);
        rd_kafka_metadata_destroy(md);
        rd_kafka_mock_topic_set_error(m.cluster, "t", RD_KAFKA_RESP_ERR_NO_ERROR);
        md = mock_metadata(rk, "t");
        CHECK_OK(md->topics[0].err);
        CHECK_INT(md->topics[0].partition_cnt, 4);
        rd_kafka_metadata_destroy(md);
        rd_kafka_mock_topic_set_error(m.cluster, "a/b", RD_KAFKA_RESP_ERR_UNKNOWN);
        CHECK_ERR(rd_kafka_last_error(), RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION);
        rd_kafka_destroy(rk);
        mock_end(m);
}

/* The error of a topic reaches the producer when the topic is added to a transaction. */
static void topic_error_is_in_transactions(void) {
        struct mock m         = mock_start(1);
        rd_kafka_conf_t *conf = mock_conf(&m);
        rd_kafka_error_t *error;
        struct report report;
        rd_kafka_t *rk;

        CHECK_OK(rd_kafka_mock_topic_create(m.cluster, "t", 1, 1));
        /* Without features in ApiVersions a producer adds partitions with AddPartitionsToTxn. */
        CHECK_OK(rd_kafka_mock_set_apiversion(m.cluster, API_VERSIONS, 0, 2));
        test_set(conf, "transactional.id", "id");
        rk = mock_producer(&m, conf);
        CHECK(!rd_kafka_init_transactions(rk, MOCK_WAIT_MS));
        CHECK(!rd_kafka_begin_transaction(rk));
        CHECK_OK(mock_produce(rk, "t", 0, NULL));
        CHECK(!rd_kafka_abort_transaction(rk, MOCK_WAIT_MS));
        CHECK(!rd_kafka_begin_transaction(rk));
        rd_kafka_mock_topic_set_error(m.cluster, "t", RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED);
        mock_send(rk, "t", 0, &report);
        error = rd_kafka_commit_transaction(rk, MOCK_WAIT_MS);
        REQUIRE(error != NULL);
        CHECK(rd_kafka_error_txn_requires_abort(error));
        CHECK_ERR(rd_kafka_error_code(error), RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED);
        rd_kafka_error_destroy(error);
        CHECK(!rd_kafka_abort_transaction(rk, MOCK_WAIT_MS));
        rd_kafka_destroy(rk);
        mock_end(m);
}

static void producer_follows_the_leader(void) {
        struct mock m  = mock_start(3);
        rd_kafka_t *rk = mock_producer(&m, NULL);
        int32_t broker;

        /* The topic comes into being. */
        CHECK_OK(rd_kafka_mock_partition_set_leader(m.cluster, "t", 0, 1));
        CHECK_INT(mock_leader(rk, "t", 0), 1);
        for (broker = 1; broker <= 3; broker++) {
                CHECK_OK(rd_kafka_mock_partition_set_leader(m.cluster, "t", 0, broker));
                rd_kafka_mock_start_request_tracking(m.cluster);
                CHECK_OK(mock_produce(rk, "t", 0, NULL));
                CHECK(mock_requests(&m, PRODUCE, broker) >= 1);
        }
        CHECK_INT(mock_end_offset(rk, "t", 0), 3);
        CHECK_ERR(rd_kafka_mock_partition_set_leader(m.cluster, "t", 0, 4),
                  RD_KAFKA_RESP_ERR_BROKER_NOT_AVAILABLE);
        CHECK_ERR(rd_kafka_mock_partition_set_leader(m.cluster, "t", 1, 1),
                  RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART);
        rd_kafka_destroy(rk);
        mock_end(m);
}

static void producer_waits_for_a_leader(void) {
        struct mock m  = mock_start(1);
        rd_kafka_t *rk = mock_producer(&m, NULL);
        struct report report;

        CHECK_OK(mock_produce(rk, "t", 0, NULL));
        CHECK_OK(rd_kafka_mock_partition_set_leader(m.cluster, "t", 0, -1));
        CHECK_INT(mock_leader(rk, "t", 0), -1);
        mock_send(rk, "t", 0, &report);
        test_sleep_ms(300);
        rd_kafka_poll(rk, 0);
        CHECK_INT(report.reported, 0);
        CHECK_OK(rd_kafka_mock_partition_set_leader(m.cluster, "t", 0, 1));
        CHECK_OK(mock_wait(rk, &report));
        rd_kafka_destroy(rk);
        mock_end(m);
}

/* A consumer's settings, without a wait for records and for the next attempt. */
static rd_kafka_t *follower_consumer(const struct mock *m) {
        rd_kafka_conf_t *conf = mock_conf(m);
        test_set(conf, "client.rack", "here");
        test_set(conf, "fetch.wait.max.ms", "50");
        test_set(conf, "fetch.error.backoff.ms", "10");
        return mock_consumer(m, "g", conf);
}

static void consumer_fetches_from_the_follower(void) {
        struct mock m        = mock_start(3);
        rd_kafka_t *rk       = mock_producer(&m, NULL);
        rd_kafka_t *consumer = follower_consumer(&m);
        int i;

        CHECK_OK(rd_kafka_mock_topic_create(m.cluster, "t", 1, 1));
        CHECK_OK(rd_kafka_mock_partition_set_leader(m.cluster, "t", 0, 1));
        for (i = 0; i < 10; i++)
                CHECK_OK(mock_produce(rk, "t", 0, NULL));
        /* Broker 3 is no replica. */
        CHECK_OK(rd_kafka_mock_partition_set_follower(m.cluster, "t", 0, 3));
        rd_kafka_mock_start_request_tracking(m.cluster);
        CHECK_INT(mock_consume(consumer, "t", 0, 0, 10, MOCK_WAIT_MS), 10);
        CHECK(mock_requests(&m, FETCH, 3) >= 1);
        CHECK_INT(mock_requests(&m, FETCH, 2), 0);
        /* Without a follower the consumer stays with the leader. */
        CHECK_OK(rd_kafka_mock_partition_set_follower(m.cluster, "t", 0, -1));
        rd_kafka_destroy(consumer);
        consumer = follower_consumer(&m);
        /* Meanwhile the cluster reads the last request of the other consumer. */
        for (i = 0; i < 2; i++)
                CHECK_INT(mock_leader(rk, "t", 0), 1);
        rd_kafka_mock_clear_requests(m.cluster);
        CHECK_INT(mock_consume(consumer, "t", 0, 0, 10, MOCK_WAIT_MS), 10);
        CHECK_INT(mock_requests(&m, FETCH, 3), 0);
        rd_kafka_destroy(consumer);
        rd_kafka_destroy(rk);
        mock_end(m);
}

static void consumer_survives_a_follower_that_does_not_exist(void) {
        struct mock m        = mock_start(2);
        rd_kafka_t *rk       = mock_producer(&m, NULL);
        rd_kafka_t *consumer = follower_consumer(&m);

        CHECK_OK(rd_kafka_mock_topic_create(m.cluster, "t", 1, 1));
        CHECK_OK(mock_produce(rk, "t", 0, NULL));
        CHECK_OK(rd_kafka_mock_partition_set_follower(m.cluster, "t", 0, 19));
        rd_kafka_mock_start_request_tracking(m.cluster);
        CHECK_INT(mock_consume(consumer, "t", 0, 0, 1, 1000), 0);
        CHECK(mock_wait_requests(&m, consumer, FETCH, -1, 1));
        CHECK_OK(rd_kafka_mock_partition_set_follower(m.cluster, "t", 0, -1));
        CHECK_INT(mock_consume(consumer, "t", 0, 0, 1, MOCK_WAIT_MS), 1);
        rd_kafka_destroy(consumer);
        rd_kafka_destroy(rk);
        mock_end(m);
}

static void follower_serves_up_to_its_watermark(void) {
        struct mock m        = mock_start(2);
        rd_kafka_t *rk       = mock_producer(&m, NULL);
        rd_kafka_t *consumer = follower_consumer(&m);
        int i;

        CHECK_OK(rd_kafka_mock_topic_create(m.cluster, "t", 1, 1));
        CHECK_OK(rd_kafka_mock_partition_set_leader(m.cluster, "t", 0, 1));
        for (i = 0; i < 10; i++)
                CHECK_OK(mock_produce(rk, "t", 0, NULL));
        CHECK_OK(rd_kafka_mock_partition_set_follower(m.cluster, "t", 0, 2));
        CHECK_OK(rd_kafka_mock_partition_set_follower_wmarks(m.cluster, "t", 0, -1, 4));
        CHECK_INT(mock_consume(consumer, "t", 0, 0, 4, MOCK_WAIT_MS), 4);
        CHECK_INT(mock_consume(consumer, "t", 0, 4, 1, 1000), 0);
        /* The follower catches up with the leader. */
        CHECK_OK(rd_kafka_mock_partition_set_follower_wmarks(m.cluster, "t", 0, -1, -1));
        CHECK_INT(mock_consume(consumer, "t", 0, 4, 6, MOCK_WAIT_MS), 6);
        CHECK_ERR(rd_kafka_mock_partition_set_follower_wmarks(m.cluster, "t", 0, -2, 0),
                  RD_KAFKA_RESP_ERR__INVALID_ARG);
        CHECK_ERR(rd_kafka_mock_partition_set_follower_wmarks(m.cluster, "t", 1, 0, 0),
                  RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART);
        CHECK_ERR(rd_kafka_mock_partition_set_follower(m.cluster, "t", 1, 1),
                  RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART);
        rd_kafka_destroy(consumer);
        rd_kafka_destroy(rk);
        mock_end(m);
}

/* A producer that asks for metadata only for a call or a new topic. */
static rd_kafka_t *quiet_producer(const struct mock *m) {
        rd_kafka_conf_t *conf = mock_conf(m);
        test_set(conf, "topic.metadata.refresh.interval.ms", "-1");
        return mock_producer(m, conf);
}

static void metadata_has_the_pushed_leaders_in_order(void) {
        struct mock m  = mock_start(3);
        rd_kafka_t *rk = quiet_producer(&m);

        CHECK_OK(rd_kafka_mock_topic_create(m.cluster, "t", 1, 3));
        CHECK_OK(rd_kafka_mock_partition_set_leader(m.cluster, "t", 0, 1));
        CHECK_OK(mock_produce(rk, "t", 0, NULL));
        CHECK_INT(mock_leader(rk, "t", 0), 1);
        CHECK_OK(rd_kafka_mock_partition_push_leader_response(m.cluster, "t", 0, 2, 5));
        CHECK_OK(rd_kafka_mock_partition_push_leader_response(m.cluster, "t", 0, 3, 6));
        CHECK_OK(rd_kafka_mock_partition_push_leader_response(m.cluster, "t", 0, -1, 7));
        CHECK_INT(mock_leader(rk, "t", 0), 2);
        CHECK_INT(mock_leader(rk, "t", 0), 3);
        CHECK_INT(mock_leader(rk, "t", 0), -1);
        CHECK_INT(mock_leader(rk, "t", 0), 1);
        CHECK_ERR(rd_kafka_mock_partition_push_leader_response(m.cluster, "t", 1, 1, 1),
                  RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART);
        rd_kafka_destroy(rk);
        mock_end(m);
}

/* A producer does not follow metadata of an older leader epoch. */
static void stale_leader_is_not_used(void) {
        struct mock m  = mock_start(2);
        rd_kafka_t *rk = quiet_producer(&m);
        int i;

        CHECK_OK(rd_kafka_mock_topic_create(m.cluster, "t", 1, 2));
        for (i = 0; i < 3; i++)
                CHECK_OK(rd_kafka_mock_partition_set_leader(m.cluster, "t", 0, 2));
        CHECK_OK(mock_produce(rk, "t", 0, NULL));
        CHECK_OK(rd_kafka_mock_partition_push_leader_response(m.cluster, "t", 0, 1, 0));
        CHECK_INT(mock_leader(rk, "t", 0), 1);
        rd_kafka_mock_start_request_tracking(m.cluster);
        CHECK_OK(mock_produce(rk, "t", 0, NULL));
        CHECK_INT(mock_requests(&m, PRODUCE, 2), 1);
        CHECK_INT(mock_requests(&m, PRODUCE, 1), 0);
        rd_kafka_destroy(rk);
        mock_end(m);
}

int main(void) {
        RUN(topics_are_created_with_their_counts);
        RUN(functions_create_topics_up_to_their_partition);
        RUN(deleted_topic_has_no_records_when_it_is_new);
        RUN(records_before_an_offset_are_deleted);
        RUN(topic_error_is_in_metadata_until_it_ends);
        RUN(topic_error_is_in_transactions);
        RUN(producer_follows_the_leader);
        RUN(producer_waits_for_a_leader);
        RUN(consumer_fetches_from_the_follower);
        RUN(consumer_survives_a_follower_that_does_not_exist);
        RUN(follower_serves_up_to_its_watermark);
        RUN(metadata_has_the_pushed_leaders_in_order);
        RUN(stale_leader_is_not_used);
        return test_end();
}
