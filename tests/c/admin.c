/* Administration: objects, options, and the calls with their results. */
#define _POSIX_C_SOURCE 200809L
#include "admin.h"

static char errstr[256];
#define ERRSTR errstr, sizeof(errstr)
#define ONE(object) &(object), 1

/* The result of a call that must succeed. */
static rd_kafka_event_t *good_result_of(rd_kafka_event_type_t type, const char *name) {
        return result_of(type, name, RD_KAFKA_RESP_ERR_NO_ERROR,
                         rd_kafka_err2str(RD_KAFKA_RESP_ERR_NO_ERROR));
}

static void check_topic(const rd_kafka_topic_result_t *topic, const char *name, rd_kafka_resp_err_t err) {
        CHECK_STR(rd_kafka_topic_result_name(topic), name);
        CHECK_ERR(rd_kafka_topic_result_error(topic), err);
        CHECK(!rd_kafka_topic_result_error_string(topic) == !err);
}

/* ---- objects ------------------------------------------------------------- */

static void options_are_checked(void) {
        rd_kafka_AdminOptions_t *any, *delete, *describe;

        CHECK(rd_kafka_AdminOptions_new(cluster, RD_KAFKA_ADMIN_OP__CNT) == NULL);
        any      = rd_kafka_AdminOptions_new(cluster, RD_KAFKA_ADMIN_OP_ANY);
        delete   = rd_kafka_AdminOptions_new(cluster, RD_KAFKA_ADMIN_OP_DELETETOPICS);
        describe = rd_kafka_AdminOptions_new(cluster, RD_KAFKA_ADMIN_OP_DESCRIBECONFIGS);
        REQUIRE(any && delete && describe);
        CHECK_OK(rd_kafka_AdminOptions_set_request_timeout(any, 0, ERRSTR));
        CHECK_OK(rd_kafka_AdminOptions_set_request_timeout(describe, 3600000, ERRSTR));
        CHECK_OK(rd_kafka_AdminOptions_set_operation_timeout(any, -1, ERRSTR));
        CHECK_OK(rd_kafka_AdminOptions_set_operation_timeout(delete, 3600000, ERRSTR));
        CHECK_OK(rd_kafka_AdminOptions_set_validate_only(any, 1, ERRSTR));
        CHECK_OK(rd_kafka_AdminOptions_set_broker(any, 2147483647, ERRSTR));
        errstr[0] = '\0';
        CHECK_ERR(rd_kafka_AdminOptions_set_request_timeout(any, 3600001, ERRSTR),
                  RD_KAFKA_RESP_ERR__INVALID_ARG);
        CHECK(strstr(errstr, "request_timeout") != NULL);
        CHECK_ERR(rd_kafka_AdminOptions_set_operation_timeout(any, -2, ERRSTR),
                  RD_KAFKA_RESP_ERR__INVALID_ARG);
        CHECK(strstr(errstr, "operation_timeout") != NULL);
        CHECK_ERR(rd_kafka_AdminOptions_set_validate_only(any, 2, ERRSTR),
                  RD_KAFKA_RESP_ERR__INVALID_ARG);
        CHECK_ERR(rd_kafka_AdminOptions_set_broker(any, -1, ERRSTR), RD_KAFKA_RESP_ERR__INVALID_ARG);
        /* Options that these requests do not have. */
        CHECK_ERR(rd_kafka_AdminOptions_set_validate_only(delete, 1, ERRSTR),
                  RD_KAFKA_RESP_ERR__INVALID_ARG);
        CHECK_ERR(rd_kafka_AdminOptions_set_operation_timeout(describe, 1, ERRSTR),
                  RD_KAFKA_RESP_ERR__INVALID_ARG);
        rd_kafka_AdminOptions_destroy(any);
        rd_kafka_AdminOptions_destroy(delete);
        rd_kafka_AdminOptions_destroy(describe);
}

static void objects_are_checked(void) {
        int32_t brokers[] = {1, 2};
        rd_kafka_NewTopic_t *topics[2];
        rd_kafka_NewPartitions_t *more;

        CHECK(rd_kafka_NewTopic_new("t", -2, 1, ERRSTR) == NULL);
        CHECK(strstr(errstr, "num_partitions") != NULL);
        CHECK(rd_kafka_NewTopic_new("t", 100001, 1, ERRSTR) == NULL);
        CHECK(rd_kafka_NewTopic_new("t", 1, 10001, ERRSTR) == NULL);
        CHECK(strstr(errstr, "replication_factor") != NULL);
        topics[0] = rd_kafka_NewTopic_new("t", 2, 1, ERRSTR);
        topics[1] = rd_kafka_NewTopic_new("u", 2, -1, ERRSTR);
        REQUIRE(topics[0] && topics[1]);
        CHECK_ERR(rd_kafka_NewTopic_set_replica_assignment(topics[0], 0, brokers, 2, ERRSTR),
                  RD_KAFKA_RESP_ERR__INVALID_ARG);
        CHECK_ERR(rd_kafka_NewTopic_set_replica_assignment(topics[1], 1, brokers, 2, ERRSTR),
                  RD_KAFKA_RESP_ERR__INVALID_ARG);
        CHECK_OK(rd_kafka_NewTopic_set_replica_assignment(topics[1], 0, brokers, 2, ERRSTR));
        CHECK_ERR(rd_kafka_NewTopic_set_config(topics[0], NULL, "1"), RD_KAFKA_RESP_ERR__INVALID_ARG);
        CHECK_ERR(rd_kafka_NewTopic_set_config(topics[0], "retention.ms", NULL),
                  RD_KAFKA_RESP_ERR__INVALID_ARG);
        rd_kafka_NewTopic_destroy_array(topics, 2);

        CHECK(rd_kafka_NewPartitions_new("t", 0, ERRSTR) == NULL);
        CHECK(rd_kafka_NewPartitions_new("t", 100001, ERRSTR) == NULL);
        more = rd_kafka_NewPartitions_new("t", 3, ERRSTR);
        REQUIRE(more != NULL);
        CHECK_ERR(rd_kafka_NewPartitions_set_replica_assignment(more, 1, brokers, 2, ERRSTR),
                  RD_KAFKA_RESP_ERR__INVALID_ARG);
        CHECK_OK(rd_kafka_NewPartitions_set_replica_assignment(more, 0, brokers, 2, ERRSTR));
        CHECK_OK(rd_kafka_NewPartitions_set_replica_assignment(more, 1, brokers, 1, ERRSTR));
        rd_kafka_NewPartitions_destroy(more);
}

static void config_resource_stores_entries(void) {
        rd_kafka_ConfigResource_t *r = rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_GROUP, "g");
        const rd_kafka_ConfigEntry_t **entries;
        rd_kafka_error_t *error;
        size_t cnt = 1;

        REQUIRE(r != NULL);
        CHECK(rd_kafka_ConfigResource_new((rd_kafka_ResourceType_t)-1, "t") == NULL);
        CHECK(rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, NULL) == NULL);
        CHECK_INT(rd_kafka_ConfigResource_type(r), RD_KAFKA_RESOURCE_GROUP);
        CHECK_STR(rd_kafka_ConfigResource_name(r), "g");
        CHECK_OK(rd_kafka_ConfigResource_error(r));
        CHECK(rd_kafka_ConfigResource_error_string(r) == NULL);
        rd_kafka_ConfigResource_configs(r, &cnt);
        CHECK_INT(cnt, 0);
        CHECK_OK(rd_kafka_ConfigResource_set_config(r, "one", "1"));
        CHECK_OK(rd_kafka_ConfigResource_set_config(r, "two", "2"));
        CHECK_ERR(rd_kafka_ConfigResource_set_config(r, "", "2"), RD_KAFKA_RESP_ERR__INVALID_ARG);
        CHECK_ERR(rd_kafka_ConfigResource_set_config(r, "two", NULL), RD_KAFKA_RESP_ERR__INVALID_ARG);
        entries = rd_kafka_ConfigResource_configs(r, &cnt);
        REQUIRE(cnt == 2);
        CHECK_STR(rd_kafka_ConfigEntry_name(entries[0]), "one");
        CHECK_STR(rd_kafka_ConfigEntry_value(entries[0]), "1");
        CHECK_STR(rd_kafka_ConfigEntry_name(entries[1]), "two");
        CHECK_INT(rd_kafka_ConfigEntry_is_synonym(entries[1]), 0);
        rd_kafka_ConfigEntry_synonyms(entries[1], &cnt);
        CHECK_INT(cnt, 0);

        error = rd_kafka_ConfigResource_add_incremental_config(r, "three", RD_KAFKA_ALTER_CONFIG_OP_TYPE_SET, NULL);
        CHECK_ERR(rd_kafka_error_code(error), RD_KAFKA_RESP_ERR__INVALID_ARG);
        rd_kafka_error_destroy(error);
        error = rd_kafka_ConfigResource_add_incremental_config(r, "three", RD_KAFKA_ALTER_CONFIG_OP_TYPE__CNT, "3");
        CHECK_ERR(rd_kafka_error_code(error), RD_KAFKA_RESP_ERR__INVALID_ARG);
        rd_kafka_error_destroy(error);
        error = rd_kafka_ConfigResource_add_incremental_config(r, "three", RD_KAFKA_ALTER_CONFIG_OP_TYPE_DELETE, NULL);
        CHECK(error == NULL);
        rd_kafka_ConfigResource_destroy(r);
}

static void numbers_have_names(void) {
        CHECK_STR(rd_kafka_ResourceType_name(RD_KAFKA_RESOURCE_UNKNOWN), "UNKNOWN");
        CHECK_STR(rd_kafka_ResourceType_name(RD_KAFKA_RESOURCE_ANY), "ANY");
        CHECK_STR(rd_kafka_ResourceType_name(RD_KAFKA_RESOURCE_TOPIC), "TOPIC");
        CHECK_STR(rd_kafka_ResourceType_name(RD_KAFKA_RESOURCE_GROUP), "GROUP");
        CHECK_STR(rd_kafka_ResourceType_name(RD_KAFKA_RESOURCE_BROKER), "BROKER");
        CHECK_STR(rd_kafka_ResourceType_name(RD_KAFKA_RESOURCE_TRANSACTIONAL_ID), "TRANSACTIONAL_ID");
        CHECK_STR(rd_kafka_ResourceType_name(RD_KAFKA_RESOURCE__CNT), "UNSUPPORTED");
        CHECK_STR(rd_kafka_ConfigSource_name(RD_KAFKA_CONFIG_SOURCE_UNKNOWN_CONFIG), "UNKNOWN_CONFIG");
        CHECK_STR(rd_kafka_ConfigSource_name(RD_KAFKA_CONFIG_SOURCE_DYNAMIC_TOPIC_CONFIG),
                  "DYNAMIC_TOPIC_CONFIG");
        CHECK_STR(rd_kafka_ConfigSource_name(RD_KAFKA_CONFIG_SOURCE_DEFAULT_CONFIG), "DEFAULT_CONFIG");
        CHECK_STR(rd_kafka_ConfigSource_name(RD_KAFKA_CONFIG_SOURCE_GROUP_CONFIG), "GROUP_CONFIG");
        CHECK_STR(rd_kafka_ConfigSource_name(RD_KAFKA_CONFIG_SOURCE__CNT), "UNSUPPORTED");
}

/* ---- calls --------------------------------------------------------------- */

static void create_topics(void) {
        rd_kafka_AdminOptions_t *options = rd_kafka_AdminOptions_new(cluster, RD_KAFKA_ADMIN_OP_CREATETOPICS);
        int32_t replicas[2][2]           = {{2, 3}, {3, 1}};
        rd_kafka_NewTopic_t *topics[3];
        const rd_kafka_topic_result_t **results;
        rd_kafka_event_t *event;
        size_t cnt = 0;
        int i;

        topics[0] = rd_kafka_NewTopic_new("plain", 2, 1, ERRSTR);
        topics[1] = rd_kafka_NewTopic_new("bad name", 2, 1, ERRSTR);
        topics[2] = rd_kafka_NewTopic_new("assigned", 2, -1, ERRSTR);
        for (i = 0; i < 2; i++)
                CHECK_OK(rd_kafka_NewTopic_set_replica_assignment(topics[2], i, replicas[i], 2, ERRSTR));
        CHECK_OK(rd_kafka_NewTopic_set_config(topics[2], "retention.ms", "1"));
        CHECK_OK(rd_kafka_NewTopic_set_config(topics[2], "retention.ms", "1234"));
        CHECK_OK(rd_kafka_AdminOptions_set_request_timeout(options, 30000, ERRSTR));
        rd_kafka_AdminOptions_set_opaque(options, &cnt);
        rd_kafka_CreateTopics(cluster, topics, 3, options, queue);
        /* The call has copied its arguments. */
        rd_kafka_NewTopic_destroy_array(topics, 3);
        rd_kafka_AdminOptions_destroy(options);

        event = good_result_of(RD_KAFKA_EVENT_CREATETOPICS_RESULT, "CreateTopicsResult");
        CHECK(rd_kafka_event_opaque(event) == &cnt);
        CHECK(rd_kafka_event_DeleteTopics_result(event) == NULL);
        results = rd_kafka_CreateTopics_result_topics(rd_kafka_event_CreateTopics_result(event), &cnt);
        REQUIRE(cnt == 3);
        check_topic(results[0], "plain", RD_KAFKA_RESP_ERR_NO_ERROR);
        check_topic(results[1], "bad name", RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION);
        CHECK(strstr(rd_kafka_topic_result_error_string(results[1]), "bad name") != NULL);
        check_topic(results[2], "assigned", RD_KAFKA_RESP_ERR_NO_ERROR);
        rd_kafka_event_destroy(event);
}

static void describe_configs(void) {
        rd_kafka_ConfigResource_t *resources[3];
        const rd_kafka_ConfigResource_t **results;
        const rd_kafka_ConfigEntry_t **entries, **synonyms;
        rd_kafka_event_t *event;
        size_t cnt = 0, synonym_cnt = 0;

        resources[0] = rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, "assigned");
        resources[1] = rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, "nowhere");
        resources[2] = rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_BROKER, "2");
        CHECK_OK(rd_kafka_ConfigResource_set_config(resources[0], "retention.ms", ""));
        rd_kafka_DescribeConfigs(cluster, resources, 3, NULL, queue);
        rd_kafka_ConfigResource_destroy_array(resources, 3);

        event   = good_result_of(RD_KAFKA_EVENT_DESCRIBECONFIGS_RESULT, "DescribeConfigsResult");
        results = rd_kafka_DescribeConfigs_result_resources(rd_kafka_event_DescribeConfigs_result(event), &cnt);
        REQUIRE(cnt == 3);
        CHECK_INT(rd_kafka_ConfigResource_type(results[0]), RD_KAFKA_RESOURCE_TOPIC);
        CHECK_STR(rd_kafka_ConfigResource_name(results[0]), "assigned");
        CHECK_OK(rd_kafka_ConfigResource_error(results[0]));
        CHECK(rd_kafka_ConfigResource_error_string(results[0]) == NULL);
        entries = rd_kafka_ConfigResource_configs(results[0], &cnt);
        REQUIRE(cnt == 1);
        CHECK_STR(rd_kafka_ConfigEntry_name(entries[0]), "retention.ms");
        CHECK_STR(rd_kafka_ConfigEntry_value(entries[0]), "1234");
        CHECK_INT(rd_kafka_ConfigEntry_source(entries[0]), RD_KAFKA_CONFIG_SOURCE_DYNAMIC_TOPIC_CONFIG);
        CHECK_INT(rd_kafka_ConfigEntry_is_read_only(entries[0]), 0);
        CHECK_INT(rd_kafka_ConfigEntry_is_default(entries[0]), 0);
        CHECK_INT(rd_kafka_ConfigEntry_is_sensitive(entries[0]), 0);
        CHECK_INT(rd_kafka_ConfigEntry_is_synonym(entries[0]), 0);
        synonyms = rd_kafka_ConfigEntry_synonyms(entries[0], &synonym_cnt);
        REQUIRE(synonym_cnt > 0);
        CHECK_STR(rd_kafka_ConfigEntry_value(synonyms[0]), "1234");
        CHECK_INT(rd_kafka_ConfigEntry_is_synonym(synonyms[0]), 1);

        CHECK_STR(rd_kafka_ConfigResource_name(results[1]), "nowhere");
        CHECK_ERR(rd_kafka_ConfigResource_error(results[1]), RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART);
        CHECK(rd_kafka_ConfigResource_error_string(results[1]) != NULL);
        CHECK_INT(rd_kafka_ConfigResource_type(results[2]), RD_KAFKA_RESOURCE_BROKER);
        rd_kafka_ConfigResource_configs(results[2], &cnt);
        CHECK(cnt > 5);
        rd_kafka_event_destroy(event);
}

/* The value of a setting of "assigned", as a copy. */
static void check_setting(const char *name, const char *value) {
        rd_kafka_ConfigResource_t *r = rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, "assigned");
        const rd_kafka_ConfigResource_t **results;
        const rd_kafka_ConfigEntry_t **entries;
        rd_kafka_event_t *event;
        size_t cnt = 0;

        CHECK_OK(rd_kafka_ConfigResource_set_config(r, name, ""));
        rd_kafka_DescribeConfigs(cluster, ONE(r), NULL, queue);
        rd_kafka_ConfigResource_destroy(r);
        event   = good_result_of(RD_KAFKA_EVENT_DESCRIBECONFIGS_RESULT, "DescribeConfigsResult");
        results = rd_kafka_DescribeConfigs_result_resources(rd_kafka_event_DescribeConfigs_result(event), &cnt);
        REQUIRE(cnt == 1);
        entries = rd_kafka_ConfigResource_configs(results[0], &cnt);
        REQUIRE(cnt == 1);
        CHECK_STR(rd_kafka_ConfigEntry_value(entries[0]), value);
        rd_kafka_event_destroy(event);
}

static void alter_configs(void) {
        rd_kafka_ConfigResource_t *r = rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, "assigned");
        const rd_kafka_ConfigResource_t **results;
        rd_kafka_event_t *event;
        size_t cnt = 0;

        CHECK_OK(rd_kafka_ConfigResource_set_config(r, "max.message.bytes", "2000"));
        rd_kafka_AlterConfigs(cluster, ONE(r), NULL, queue);
        rd_kafka_ConfigResource_destroy(r);
        event   = good_result_of(RD_KAFKA_EVENT_ALTERCONFIGS_RESULT, "AlterConfigsResult");
        results = rd_kafka_AlterConfigs_result_resources(rd_kafka_event_AlterConfigs_result(event), &cnt);
        REQUIRE(cnt == 1);
        CHECK_STR(rd_kafka_ConfigResource_name(results[0]), "assigned");
        CHECK_OK(rd_kafka_ConfigResource_error(results[0]));
        rd_kafka_event_destroy(event);
        check_setting("max.message.bytes", "2000");
        /* The other settings have their defaults again. */
        check_setting("retention.ms", "604800000");
}

static void incremental_alter_configs(void) {
        rd_kafka_ConfigResource_t *r = rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, "assigned");
        const rd_kafka_ConfigResource_t **results;
        rd_kafka_event_t *event;
        size_t cnt = 0;

        CHECK(!rd_kafka_ConfigResource_add_incremental_config(r, "retention.ms",
                                                              RD_KAFKA_ALTER_CONFIG_OP_TYPE_SET, "99"));
        CHECK(!rd_kafka_ConfigResource_add_incremental_config(r, "cleanup.policy",
                                                              RD_KAFKA_ALTER_CONFIG_OP_TYPE_APPEND, "compact"));
        /* This way all would be replaced. */
        rd_kafka_AlterConfigs(cluster, ONE(r), NULL, queue);
        event = result_of(RD_KAFKA_EVENT_ALTERCONFIGS_RESULT, "AlterConfigsResult",
                          RD_KAFKA_RESP_ERR__INVALID_ARG, NULL);
        rd_kafka_event_destroy(event);

        rd_kafka_IncrementalAlterConfigs(cluster, ONE(r), NULL, queue);
        rd_kafka_ConfigResource_destroy(r);
        event   = good_result_of(RD_KAFKA_EVENT_INCREMENTALALTERCONFIGS_RESULT, "IncrementalAlterConfigsResult");
        results = rd_kafka_IncrementalAlterConfigs_result_resources(
            rd_kafka_event_IncrementalAlterConfigs_result(event), &cnt);
        REQUIRE(cnt == 1);
        CHECK_OK(rd_kafka_ConfigResource_error(results[0]));
        rd_kafka_event_destroy(event);
        check_setting("retention.ms", "99");
        check_setting("cleanup.policy", "delete,compact");
        check_setting("max.message.bytes", "2000");
}

static void create_partitions(void) {
        rd_kafka_AdminOptions_t *options = rd_kafka_AdminOptions_new(cluster, RD_KAFKA_ADMIN_OP_CREATEPARTITIONS);
        rd_kafka_NewPartitions_t *more   = rd_kafka_NewPartitions_new("plain", 4, ERRSTR);
        const struct rd_kafka_metadata *metadata;
        const rd_kafka_topic_result_t **results;
        rd_kafka_topic_t *topic = rd_kafka_topic_new(cluster, "plain", NULL);
        rd_kafka_event_t *event;
        size_t cnt;
        int step;

        CHECK_OK(rd_kafka_AdminOptions_set_validate_only(options, 1, ERRSTR));
        /* Checked first, then done. */
        for (step = 0; step < 2; step++) {
                rd_kafka_CreatePartitions(cluster, ONE(more), step ? NULL : options, queue);
                event   = good_result_of(RD_KAFKA_EVENT_CREATEPARTITIONS_RESULT, "CreatePartitionsResult");
                results = rd_kafka_CreatePartitions_result_topics(rd_kafka_event_CreatePartitions_result(event), &cnt);
                REQUIRE(cnt == 1);
                check_topic(results[0], "plain", RD_KAFKA_RESP_ERR_NO_ERROR);
                rd_kafka_event_destroy(event);
                CHECK_OK(rd_kafka_metadata(cluster, 0, topic, &metadata, 30000));
                CHECK_INT(metadata->topics[0].partition_cnt, step ? 4 : 2);
                rd_kafka_metadata_destroy(metadata);
        }
        rd_kafka_topic_destroy(topic);
        rd_kafka_NewPartitions_destroy(more);
        rd_kafka_AdminOptions_destroy(options);
}

static void delete_topics(void) {
        rd_kafka_DeleteTopic_t *topics[2];
        const rd_kafka_topic_result_t **results;
        rd_kafka_event_t *event;
        size_t cnt = 0;

        topics[0] = rd_kafka_DeleteTopic_new("nowhere");
        topics[1] = rd_kafka_DeleteTopic_new("plain");
        rd_kafka_DeleteTopics(cluster, topics, 2, NULL, queue);
        rd_kafka_DeleteTopic_destroy_array(topics, 2);
        event = good_result_of(RD_KAFKA_EVENT_DELETETOPICS_RESULT, "DeleteTopicsResult");
        /* The accessor of another call returns nothing. */
        CHECK(rd_kafka_CreateTopics_result_topics(event, &cnt) == NULL);
        CHECK_INT(cnt, 0);
        CHECK(rd_kafka_DescribeConfigs_result_resources(event, &cnt) == NULL);
        results = rd_kafka_DeleteTopics_result_topics(rd_kafka_event_DeleteTopics_result(event), &cnt);
        REQUIRE(cnt == 2);
        check_topic(results[0], "nowhere", RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART);
        check_topic(results[1], "plain", RD_KAFKA_RESP_ERR_NO_ERROR);
        rd_kafka_event_destroy(event);
}

static void call_errors(void) {
        rd_kafka_AdminOptions_t *options = rd_kafka_AdminOptions_new(cluster, RD_KAFKA_ADMIN_OP_ANY);
        rd_kafka_DeleteTopic_t *topics[2];
        rd_kafka_ConfigResource_t *brokers[2];
        rd_kafka_event_t *event;
        size_t cnt = 1;

        topics[0] = rd_kafka_DeleteTopic_new("assigned");
        topics[1] = NULL;
        /* Nothing, and something that is NULL. */
        rd_kafka_DeleteTopics(cluster, topics, 0, options, queue);
        rd_kafka_DeleteTopics(cluster, topics, 2, options, queue);
        for (; cnt < 3; cnt++) {
                event = result_of(RD_KAFKA_EVENT_DELETETOPICS_RESULT, "DeleteTopicsResult",
                                  RD_KAFKA_RESP_ERR__INVALID_ARG, NULL);
                rd_kafka_event_destroy(event);
        }
        /* A broker that does not exist, until the time is over. */
        CHECK_OK(rd_kafka_AdminOptions_set_broker(options, 77, ERRSTR));
        CHECK_OK(rd_kafka_AdminOptions_set_request_timeout(options, 200, ERRSTR));
        rd_kafka_DeleteTopics(cluster, topics, 1, options, queue);
        event = result_of(RD_KAFKA_EVENT_DELETETOPICS_RESULT, "DeleteTopicsResult",
                          RD_KAFKA_RESP_ERR__TIMED_OUT, NULL);
        CHECK(strstr(rd_kafka_event_error_string(event), "77") != NULL);
        CHECK(rd_kafka_DeleteTopics_result_topics(rd_kafka_event_DeleteTopics_result(event), &cnt) == NULL);
        CHECK_INT(cnt, 0);
        rd_kafka_event_destroy(event);
        rd_kafka_DeleteTopic_destroy(topics[0]);
        rd_kafka_AdminOptions_destroy(options);

        brokers[0] = rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_BROKER, "1");
        brokers[1] = rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_BROKER, "2");
        rd_kafka_DescribeConfigs(cluster, brokers, 2, NULL, queue);
        event = result_of(RD_KAFKA_EVENT_DESCRIBECONFIGS_RESULT, "DescribeConfigsResult",
                          RD_KAFKA_RESP_ERR__CONFLICT, NULL);
        rd_kafka_event_destroy(event);
        rd_kafka_ConfigResource_destroy_array(brokers, 2);
}

/* Destroying the client completes the calls with an error, and frees the results that were not read. */
static void destroy_fails_pending_calls(void) {
        rd_kafka_conf_t *conf = test_conf();
        rd_kafka_DeleteTopic_t *topic = rd_kafka_DeleteTopic_new("assigned");
        rd_kafka_queue_t *main_queue;
        rd_kafka_event_t *event;
        rd_kafka_t *rk;

        test_set(conf, "bootstrap.servers", "127.0.0.1:1");
        rk         = test_client(RD_KAFKA_CONSUMER, conf);
        main_queue = rd_kafka_queue_get_main(rk);
        rd_kafka_DeleteTopics(rk, ONE(topic), NULL, queue);
        rd_kafka_DeleteTopics(rk, ONE(topic), NULL, main_queue);
        rd_kafka_DeleteTopic_destroy(topic);
        rd_kafka_queue_destroy(main_queue);
        rd_kafka_destroy(rk);
        event = result_of(RD_KAFKA_EVENT_DELETETOPICS_RESULT, "DeleteTopicsResult",
                          RD_KAFKA_RESP_ERR__DESTROY, NULL);
        rd_kafka_event_destroy(event);
}

int main(void) {
        rd_kafka_conf_t *conf = test_conf();
        test_set(conf, "test.mock.num.brokers", "3");
        cluster = test_client(RD_KAFKA_PRODUCER, conf);
        queue   = rd_kafka_queue_new(cluster);
        RUN(options_are_checked);
        RUN(objects_are_checked);
        RUN(config_resource_stores_entries);
        RUN(numbers_have_names);
        RUN(create_topics);
        RUN(describe_configs);
        RUN(alter_configs);
        RUN(incremental_alter_configs);
        RUN(create_partitions);
        RUN(delete_topics);
        RUN(call_errors);
        RUN(destroy_fails_pending_calls);
        rd_kafka_queue_destroy(queue);
        rd_kafka_destroy(cluster);
        return test_end();
}
