/* Administration of the cluster: log directories, quotas, reassignments, features, the metadata quorum. */
#define _POSIX_C_SOURCE 200809L
#include "test.h"

#include <ottla_admin.h>

static rd_kafka_t *cluster;
static rd_kafka_queue_t *queue;

static rd_kafka_event_t *
result_of(rd_kafka_event_type_t type, const char *name, rd_kafka_resp_err_t err, const char *text) {
        rd_kafka_event_t *event = rd_kafka_queue_poll(queue, 30000);
        CHECK_INT(rd_kafka_event_type(event), type);
        CHECK_STR(rd_kafka_event_name(event), name);
        CHECK_ERR(rd_kafka_event_error(event), err);
        if (text)
                CHECK_STR(rd_kafka_event_error_string(event), text);
        return event;
}

static void refused(rd_kafka_event_type_t type, const char *name, const char *text) {
        rd_kafka_event_destroy(result_of(type, name, RD_KAFKA_RESP_ERR__INVALID_ARG, text));
}

static rd_kafka_event_t *good(rd_kafka_event_type_t type, const char *name) {
        return result_of(type, name, RD_KAFKA_RESP_ERR_NO_ERROR, NULL);
}

/* An error code, 0 for no error. */
static rd_kafka_resp_err_t code_of(const rd_kafka_error_t *error) {
        return error ? rd_kafka_error_code(error) : RD_KAFKA_RESP_ERR_NO_ERROR;
}

/* Options of an operation that send requests to broker 1. */
static rd_kafka_AdminOptions_t *at_broker_1(rd_kafka_admin_op_t op) {
        rd_kafka_AdminOptions_t *options = rd_kafka_AdminOptions_new(cluster, op);
        CHECK_OK(rd_kafka_AdminOptions_set_broker(options, 1, NULL, 0));
        return options;
}

/* ---- log directories ----------------------------------------------------- */

#define LOG_DIRS RD_KAFKA_EVENT_DESCRIBELOGDIRS_RESULT, "DescribeLogDirsResult"
#define MOVES    RD_KAFKA_EVENT_ALTERREPLICALOGDIRS_RESULT, "AlterReplicaLogDirsResult"

/* Describes the directories of broker 1. Returns the event, and the number of replicas of "t" [0] in each. */
static rd_kafka_event_t *
log_dirs_of_1(const rd_kafka_LogDir_t ***dirs, size_t replica_cnt[2], int is_future[2]) {
        rd_kafka_topic_partition_list_t *l = rd_kafka_topic_partition_list_new(1);
        const rd_kafka_BrokerLogDirs_t **brokers;
        const rd_kafka_LogDirReplica_t **replicas;
        rd_kafka_event_t *event;
        int32_t id = 1;
        size_t cnt = 0, i;

        rd_kafka_topic_partition_list_add(l, "t", 0);
        rd_kafka_DescribeLogDirs(cluster, &id, 1, l, NULL, queue);
        rd_kafka_topic_partition_list_destroy(l);
        event   = good(LOG_DIRS);
        brokers = rd_kafka_DescribeLogDirs_result_brokers(rd_kafka_event_DescribeLogDirs_result(event), &cnt);
        *dirs   = NULL;
        if (!CHECK(brokers != NULL && cnt == 1))
                return event;
        CHECK_INT(rd_kafka_BrokerLogDirs_broker_id(brokers[0]), 1);
        CHECK(rd_kafka_BrokerLogDirs_error(brokers[0]) == NULL);
        *dirs = rd_kafka_BrokerLogDirs_log_dirs(brokers[0], &cnt);
        if (!CHECK(*dirs != NULL && cnt == 2))
                return event;
        for (i = 0; i < 2; i++) {
                replicas     = rd_kafka_LogDir_replicas((*dirs)[i], &replica_cnt[i]);
                is_future[i] = replica_cnt[i] && rd_kafka_LogDirReplica_is_future(replicas[0]);
        }
        return event;
}

static void describe_log_dirs(void) {
        const rd_kafka_BrokerLogDirs_t **brokers;
        const rd_kafka_LogDirReplica_t **replicas;
        const rd_kafka_LogDir_t **dirs;
        rd_kafka_event_t *event;
        int32_t ids[] = {3, 77, 1};
        size_t cnt = 0, i, j, found = 0;

        rd_kafka_DescribeLogDirs(cluster, NULL, 0, NULL, NULL, queue);
        event = good(LOG_DIRS);
        CHECK(rd_kafka_event_DescribeCluster_result(event) == NULL);
        brokers = rd_kafka_DescribeLogDirs_result_brokers(rd_kafka_event_DescribeLogDirs_result(event), &cnt);
        REQUIRE(brokers != NULL && cnt == 3);
        for (i = 0; i < 3; i++) {
                CHECK_INT(rd_kafka_BrokerLogDirs_broker_id(brokers[i]), i + 1);
                dirs = rd_kafka_BrokerLogDirs_log_dirs(brokers[i], &cnt);
                REQUIRE(dirs != NULL && cnt == 2);
                CHECK(rd_kafka_LogDir_path(dirs[0])[0] == '/');
                CHECK_OK(rd_kafka_LogDir_error(dirs[0]));
                CHECK(rd_kafka_LogDir_total_bytes(dirs[0]) > 0);
                CHECK(rd_kafka_LogDir_usable_bytes(dirs[0]) > 0);
                CHECK_INT(rd_kafka_LogDir_is_cordoned(dirs[0]), 0);
                replicas = rd_kafka_LogDir_replicas(dirs[0], &cnt);
                for (j = 0; j < cnt; j++) {
                        if (strcmp(rd_kafka_LogDirReplica_topic(replicas[j]), "t") ||
                            rd_kafka_LogDirReplica_partition(replicas[j]) != 0)
                                continue;
                        found++;
                        CHECK(rd_kafka_LogDirReplica_size(replicas[j]) > 1000);
                        CHECK_INT(rd_kafka_LogDirReplica_offset_lag(replicas[j]), 0);
                        CHECK_INT(rd_kafka_LogDirReplica_is_future(replicas[j]), 0);
                }
        }
        CHECK_INT(found, 3);
        rd_kafka_event_destroy(event);

        /* A broker that does not exist has its own error. */
        rd_kafka_AdminOptions_t *options = rd_kafka_AdminOptions_new(cluster, RD_KAFKA_ADMIN_OP_DESCRIBELOGDIRS);
        CHECK_OK(rd_kafka_AdminOptions_set_request_timeout(options, 4000, NULL, 0));
        rd_kafka_DescribeLogDirs(cluster, ids, 3, NULL, options, queue);
        rd_kafka_AdminOptions_destroy(options);
        event   = good(LOG_DIRS);
        brokers = rd_kafka_DescribeLogDirs_result_brokers(rd_kafka_event_DescribeLogDirs_result(event), &cnt);
        REQUIRE(brokers != NULL && cnt == 3);
        CHECK_INT(rd_kafka_BrokerLogDirs_broker_id(brokers[1]), 77);
        CHECK_ERR(code_of(rd_kafka_BrokerLogDirs_error(brokers[1])), RD_KAFKA_RESP_ERR__TIMED_OUT);
        CHECK(rd_kafka_BrokerLogDirs_log_dirs(brokers[1], &cnt) == NULL);
        CHECK_INT(cnt, 0);
        CHECK(rd_kafka_BrokerLogDirs_error(brokers[2]) == NULL);
        rd_kafka_event_destroy(event);

        ids[0] = ids[1] = 1;
        rd_kafka_DescribeLogDirs(cluster, ids, 2, NULL, NULL, queue);
        refused(LOG_DIRS, "Duplicate brokers not allowed");
        ids[0] = -1;
        rd_kafka_DescribeLogDirs(cluster, ids, 1, NULL, NULL, queue);
        refused(LOG_DIRS, "The broker id -1 is negative");
}

static void alter_replica_log_dirs(void) {
        const rd_kafka_ReplicaMoveResult_t **results;
        const rd_kafka_LogDir_t **dirs;
        rd_kafka_ReplicaMove_t *moves[3];
        rd_kafka_event_t *event;
        size_t cnt = 0, replicas[2] = {0, 0};
        int is_future[2], to, tries, was_future = 0;
        char path[2][256];

        /* A copy takes time; on a slow machine the first look may come too late. */
        for (tries = 0; tries < 5 && !was_future; tries++) {
                event = log_dirs_of_1(&dirs, replicas, is_future);
                REQUIRE(dirs != NULL);
                snprintf(path[0], sizeof(path[0]), "%s", rd_kafka_LogDir_path(dirs[0]));
                snprintf(path[1], sizeof(path[1]), "%s", rd_kafka_LogDir_path(dirs[1]));
                rd_kafka_event_destroy(event);
                to       = replicas[0] ? 1 : 0;
                moves[0] = rd_kafka_ReplicaMove_new(1, "t", 0, path[to]);
                moves[1] = rd_kafka_ReplicaMove_new(2, "t", 0, "/nowhere");
                moves[2] = rd_kafka_ReplicaMove_new(1, "nowhere", 0, path[to]);
                rd_kafka_AlterReplicaLogDirs(cluster, moves, 3, NULL, queue);
                rd_kafka_ReplicaMove_destroy_array(moves, 3);
                event   = good(MOVES);
                results = rd_kafka_AlterReplicaLogDirs_result_replicas(
                    rd_kafka_event_AlterReplicaLogDirs_result(event), &cnt);
                REQUIRE(results != NULL && cnt == 3);
                CHECK_INT(rd_kafka_ReplicaMoveResult_broker_id(results[0]), 1);
                CHECK_STR(rd_kafka_ReplicaMoveResult_topic(results[0]), "t");
                CHECK_INT(rd_kafka_ReplicaMoveResult_partition(results[0]), 0);
                CHECK(rd_kafka_ReplicaMoveResult_error(results[0]) == NULL);
                CHECK_ERR(code_of(rd_kafka_ReplicaMoveResult_error(results[1])),
                          RD_KAFKA_RESP_ERR_LOG_DIR_NOT_FOUND);
                CHECK_ERR(code_of(rd_kafka_ReplicaMoveResult_error(results[2])),
                          RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART);
                CHECK(rd_kafka_DescribeLogDirs_result_brokers(event, &cnt) == NULL);
                CHECK_INT(cnt, 0);
                rd_kafka_event_destroy(event);
                event      = log_dirs_of_1(&dirs, replicas, is_future);
                was_future = dirs != NULL && is_future[to] && replicas[1 - to] == 1;
                rd_kafka_event_destroy(event);
                for (cnt = 0; cnt < 100; cnt++) {
                        event = log_dirs_of_1(&dirs, replicas, is_future);
                        rd_kafka_event_destroy(event);
                        if (replicas[to] == 1 && !is_future[to])
                                break;
                        test_sleep_ms(50);
                }
                CHECK_INT(replicas[to], 1);
                CHECK_INT(replicas[1 - to], 0);
        }
        CHECK(was_future);

        CHECK(rd_kafka_ReplicaMove_new(-1, "t", 0, "/a") == NULL);
        CHECK(rd_kafka_ReplicaMove_new(1, "t", -1, "/a") == NULL);
        CHECK(rd_kafka_ReplicaMove_new(1, NULL, 0, "/a") == NULL);
        CHECK(rd_kafka_ReplicaMove_new(1, "t", 0, "") == NULL);
        rd_kafka_AlterReplicaLogDirs(cluster, NULL, 0, NULL, queue);
        refused(MOVES, "AlterReplicaLogDirs names nothing");
        moves[0] = NULL;
        rd_kafka_AlterReplicaLogDirs(cluster, moves, 1, NULL, queue);
        refused(MOVES, "Element 0 of the array is NULL or no such object");
        moves[0] = moves[1] = rd_kafka_ReplicaMove_new(1, "t", 0, "/a");
        rd_kafka_AlterReplicaLogDirs(cluster, moves, 2, NULL, queue);
        refused(MOVES, "Duplicate replicas not allowed");
        rd_kafka_ReplicaMove_destroy(moves[0]);
}

/* ---- quotas -------------------------------------------------------------- */

#define QUOTAS      RD_KAFKA_EVENT_DESCRIBECLIENTQUOTAS_RESULT, "DescribeClientQuotasResult"
#define ALTERATIONS RD_KAFKA_EVENT_ALTERCLIENTQUOTAS_RESULT, "AlterClientQuotasResult"

static rd_kafka_ClientQuotaAlteration_t *
alteration(const char *type, const char *name, const char *quota, double value) {
        rd_kafka_ClientQuotaAlteration_t *a = rd_kafka_ClientQuotaAlteration_new();
        CHECK_OK(rd_kafka_ClientQuotaAlteration_add_entity(a, type, name));
        CHECK_OK(rd_kafka_ClientQuotaAlteration_set(a, quota, value));
        return a;
}

/* The number of entities that match. */
static size_t matching(const rd_kafka_ClientQuotaFilter_t *filter) {
        rd_kafka_event_t *event;
        size_t cnt = 0;

        rd_kafka_DescribeClientQuotas(cluster, filter, NULL, queue);
        event = good(QUOTAS);
        rd_kafka_DescribeClientQuotas_result_entries(rd_kafka_event_DescribeClientQuotas_result(event), &cnt);
        rd_kafka_event_destroy(event);
        return cnt;
}

static void client_quotas(void) {
        rd_kafka_AdminOptions_t *options = rd_kafka_AdminOptions_new(cluster, RD_KAFKA_ADMIN_OP_ALTERCLIENTQUOTAS);
        rd_kafka_ClientQuotaFilter_t *filter = rd_kafka_ClientQuotaFilter_new();
        rd_kafka_ClientQuotaAlteration_t *a[3];
        const rd_kafka_ClientQuotaResult_t **results;
        const rd_kafka_ClientQuotaEntry_t **entries;
        const rd_kafka_ClientQuotaEntity_t *entity;
        rd_kafka_event_t *event;
        size_t cnt = 0;

        a[0] = alteration("user", "alice", "producer_byte_rate", 1024);
        CHECK_OK(rd_kafka_ClientQuotaAlteration_set(a[0], "request_percentage", 12.5));
        a[1] = alteration("user", NULL, "no_such_quota", 1);
        a[2] = alteration("client-id", "c", "consumer_byte_rate", 2048);
        CHECK_OK(rd_kafka_ClientQuotaAlteration_add_entity(a[2], "user", NULL));

        /* Validation changes nothing. */
        CHECK_OK(rd_kafka_AdminOptions_set_validate_only(options, 1, NULL, 0));
        rd_kafka_AlterClientQuotas(cluster, a, 1, options, queue);
        rd_kafka_AdminOptions_destroy(options);
        rd_kafka_event_destroy(good(ALTERATIONS));
        CHECK_INT(matching(NULL), 0);

        rd_kafka_AlterClientQuotas(cluster, a, 3, NULL, queue);
        event   = good(ALTERATIONS);
        results = rd_kafka_AlterClientQuotas_result_entities(rd_kafka_event_AlterClientQuotas_result(event), &cnt);
        REQUIRE(results != NULL && cnt == 3);
        CHECK(rd_kafka_ClientQuotaResult_error(results[0]) == NULL);
        CHECK_ERR(code_of(rd_kafka_ClientQuotaResult_error(results[1])), RD_KAFKA_RESP_ERR_INVALID_REQUEST);
        CHECK_STR(rd_kafka_error_string(rd_kafka_ClientQuotaResult_error(results[1])),
                  "Invalid configuration key no_such_quota");
        CHECK(rd_kafka_ClientQuotaResult_error(results[2]) == NULL);
        entity = rd_kafka_ClientQuotaResult_entity(results[2]);
        CHECK_INT(rd_kafka_ClientQuotaEntity_cnt(entity), 2);
        CHECK_STR(rd_kafka_ClientQuotaEntity_type(entity, 0), "client-id");
        CHECK_STR(rd_kafka_ClientQuotaEntity_name(entity, 0), "c");
        CHECK_STR(rd_kafka_ClientQuotaEntity_type(entity, 1), "user");
        CHECK(rd_kafka_ClientQuotaEntity_name(entity, 1) == NULL);
        CHECK(rd_kafka_ClientQuotaEntity_type(entity, 2) == NULL);
        rd_kafka_event_destroy(event);

        CHECK_INT(matching(NULL), 2);
        CHECK_OK(rd_kafka_ClientQuotaFilter_match_name(filter, "user", "alice"));
        CHECK_OK(rd_kafka_ClientQuotaFilter_set_strict(filter, 1));
        rd_kafka_DescribeClientQuotas(cluster, filter, NULL, queue);
        event   = good(QUOTAS);
        entries = rd_kafka_DescribeClientQuotas_result_entries(rd_kafka_event_DescribeClientQuotas_result(event), &cnt);
        REQUIRE(entries != NULL && cnt == 1);
        entity = rd_kafka_ClientQuotaEntry_entity(entries[0]);
        CHECK_STR(rd_kafka_ClientQuotaEntity_name(entity, 0), "alice");
        CHECK_INT(rd_kafka_ClientQuotaEntry_quota_cnt(entries[0]), 2);
        CHECK_STR(rd_kafka_ClientQuotaEntry_quota_name(entries[0], 0), "producer_byte_rate");
        CHECK(rd_kafka_ClientQuotaEntry_quota_value(entries[0], 0) == 1024);
        CHECK_STR(rd_kafka_ClientQuotaEntry_quota_name(entries[0], 1), "request_percentage");
        CHECK(rd_kafka_ClientQuotaEntry_quota_value(entries[0], 1) == 12.5);
        CHECK(rd_kafka_ClientQuotaEntry_quota_name(entries[0], 2) == NULL);
        CHECK(rd_kafka_ClientQuotaEntry_quota_value(entries[0], 2) == 0);
        CHECK(rd_kafka_AlterClientQuotas_result_entities(event, &cnt) == NULL);
        CHECK_INT(cnt, 0);
        rd_kafka_event_destroy(event);
        rd_kafka_ClientQuotaFilter_destroy(filter);
        filter = rd_kafka_ClientQuotaFilter_new();
        CHECK_OK(rd_kafka_ClientQuotaFilter_match_default(filter, "user"));
        CHECK_INT(matching(filter), 1);
        CHECK_OK(rd_kafka_ClientQuotaFilter_match_any(filter, "client-id"));
        CHECK_INT(matching(filter), 1);
        rd_kafka_ClientQuotaFilter_destroy(filter);

        CHECK_OK(rd_kafka_ClientQuotaAlteration_remove(a[0], "producer_byte_rate"));
        CHECK_OK(rd_kafka_ClientQuotaAlteration_remove(a[0], "request_percentage"));
        rd_kafka_AlterClientQuotas(cluster, a, 1, NULL, queue);
        rd_kafka_event_destroy(good(ALTERATIONS));
        CHECK_INT(matching(NULL), 1);
        rd_kafka_ClientQuotaAlteration_destroy_array(a, 3);
}

static void bad_quotas_are_refused(void) {
        rd_kafka_ClientQuotaFilter_t *filter = rd_kafka_ClientQuotaFilter_new();
        rd_kafka_ClientQuotaAlteration_t *a[2];
        rd_kafka_event_t *event;

        CHECK_ERR(rd_kafka_ClientQuotaFilter_match_name(filter, "user", NULL), RD_KAFKA_RESP_ERR__INVALID_ARG);
        CHECK_ERR(rd_kafka_ClientQuotaFilter_match_any(filter, ""), RD_KAFKA_RESP_ERR__INVALID_ARG);
        CHECK_ERR(rd_kafka_ClientQuotaFilter_set_strict(filter, 2), RD_KAFKA_RESP_ERR__INVALID_ARG);
        CHECK_OK(rd_kafka_ClientQuotaFilter_match_any(filter, "tenant"));
        CHECK_ERR(rd_kafka_ClientQuotaFilter_match_default(filter, "tenant"), RD_KAFKA_RESP_ERR__INVALID_ARG);
        rd_kafka_DescribeClientQuotas(cluster, filter, NULL, queue);
        event = result_of(QUOTAS, RD_KAFKA_RESP_ERR_UNSUPPORTED_VERSION, "Custom entity type tenant not supported");
        rd_kafka_event_destroy(event);
        rd_kafka_ClientQuotaFilter_destroy(filter);

        a[0] = rd_kafka_ClientQuotaAlteration_new();
        rd_kafka_AlterClientQuotas(cluster, a, 1, NULL, queue);
        refused(ALTERATIONS, "An alteration has no entity");
        CHECK_OK(rd_kafka_ClientQuotaAlteration_add_entity(a[0], "user", NULL));
        CHECK_ERR(rd_kafka_ClientQuotaAlteration_add_entity(a[0], "user", "x"), RD_KAFKA_RESP_ERR__INVALID_ARG);
        CHECK_ERR(rd_kafka_ClientQuotaAlteration_add_entity(a[0], NULL, "x"), RD_KAFKA_RESP_ERR__INVALID_ARG);
        rd_kafka_AlterClientQuotas(cluster, a, 1, NULL, queue);
        refused(ALTERATIONS, "An alteration changes no quota");
        CHECK_ERR(rd_kafka_ClientQuotaAlteration_set(a[0], "", 1), RD_KAFKA_RESP_ERR__INVALID_ARG);
        CHECK_ERR(rd_kafka_ClientQuotaAlteration_set(a[0], "q", 1e308 * 10), RD_KAFKA_RESP_ERR__INVALID_ARG);
        CHECK_ERR(rd_kafka_ClientQuotaAlteration_remove(a[0], NULL), RD_KAFKA_RESP_ERR__INVALID_ARG);
        CHECK_OK(rd_kafka_ClientQuotaAlteration_remove(a[0], "q"));
        a[1] = a[0];
        rd_kafka_AlterClientQuotas(cluster, a, 2, NULL, queue);
        refused(ALTERATIONS, "Duplicate entities not allowed");
        rd_kafka_AlterClientQuotas(cluster, NULL, 0, NULL, queue);
        refused(ALTERATIONS, "AlterClientQuotas names nothing");
        rd_kafka_ClientQuotaAlteration_destroy(a[0]);
}

/* ---- reassignments ------------------------------------------------------- */

#define REASSIGNED RD_KAFKA_EVENT_ALTERPARTITIONREASSIGNMENTS_RESULT, "AlterPartitionReassignmentsResult"
#define ONGOING    RD_KAFKA_EVENT_LISTPARTITIONREASSIGNMENTS_RESULT, "ListPartitionReassignmentsResult"

/* Reassigns "one" [0], whose replica is on `from`, to `to`. Returns 1 if the reassignment was listed. */
static int reassign(int32_t from, int32_t to) {
        const rd_kafka_topic_partition_result_t **results;
        const rd_kafka_OngoingReassignment_t **rows;
        rd_kafka_topic_partition_list_t *l = rd_kafka_topic_partition_list_new(1);
        rd_kafka_PartitionReassignment_t *r[2];
        rd_kafka_event_t *event;
        const int32_t *ids;
        size_t cnt = 0, row_cnt;
        int listed = 0, tries;

        r[0] = rd_kafka_PartitionReassignment_new("one", 0, &to, 1, NULL, 0);
        r[1] = rd_kafka_PartitionReassignment_new("t", 1, NULL, 0, NULL, 0);
        rd_kafka_AlterPartitionReassignments(cluster, r, 2, NULL, queue);
        rd_kafka_PartitionReassignment_destroy_array(r, 2);
        event   = good(REASSIGNED);
        results = rd_kafka_AlterPartitionReassignments_result_partitions(
            rd_kafka_event_AlterPartitionReassignments_result(event), &cnt);
        if (CHECK(results != NULL && cnt == 2)) {
                CHECK_STR(rd_kafka_topic_partition_result_partition(results[0])->topic, "one");
                CHECK_OK(code_of(rd_kafka_topic_partition_result_error(results[0])));
                CHECK_ERR(code_of(rd_kafka_topic_partition_result_error(results[1])),
                          RD_KAFKA_RESP_ERR_NO_REASSIGNMENT_IN_PROGRESS);
        }
        rd_kafka_event_destroy(event);

        rd_kafka_topic_partition_list_add(l, "one", 0);
        for (tries = 0; tries < 100; tries++) {
                rd_kafka_ListPartitionReassignments(cluster, tries % 2 ? l : NULL, NULL, queue);
                event = good(ONGOING);
                rows  = rd_kafka_ListPartitionReassignments_result_reassignments(
                    rd_kafka_event_ListPartitionReassignments_result(event), &row_cnt);
                if (row_cnt == 1) {
                        listed = 1;
                        CHECK_STR(rd_kafka_OngoingReassignment_topic(rows[0]), "one");
                        CHECK_INT(rd_kafka_OngoingReassignment_partition(rows[0]), 0);
                        ids = rd_kafka_OngoingReassignment_replicas(rows[0], &cnt);
                        CHECK(cnt == 2 && ids[0] == to && ids[1] == from);
                        ids = rd_kafka_OngoingReassignment_adding_replicas(rows[0], &cnt);
                        CHECK(cnt == 1 && ids[0] == to);
                        ids = rd_kafka_OngoingReassignment_removing_replicas(rows[0], &cnt);
                        CHECK(cnt == 1 && ids[0] == from);
                }
                rd_kafka_event_destroy(event);
                if (row_cnt == 0)
                        break;
                test_sleep_ms(50);
        }
        CHECK(tries < 100);
        rd_kafka_topic_partition_list_destroy(l);
        return listed;
}

/* The broker of the only replica of "one" [0]. */
static int32_t replica_of_one(void) {
        const struct rd_kafka_metadata *md = NULL;
        rd_kafka_topic_t *topic            = rd_kafka_topic_new(cluster, "one", NULL);
        int32_t id                         = -1;

        CHECK_OK(rd_kafka_metadata(cluster, 0, topic, &md, 10000));
        if (md && CHECK(md->topic_cnt == 1 && md->topics[0].partition_cnt == 1) &&
            CHECK(md->topics[0].partitions[0].replica_cnt == 1)) {
                id = md->topics[0].partitions[0].replicas[0];
                CHECK_INT(md->topics[0].partitions[0].leader, id);
        }
        rd_kafka_metadata_destroy(md);
        rd_kafka_topic_destroy(topic);
        return id;
}

static void reassignments(void) {
        rd_kafka_AdminOptions_t *options =
            rd_kafka_AdminOptions_new(cluster, RD_KAFKA_ADMIN_OP_ALTERPARTITIONREASSIGNMENTS);
        const rd_kafka_topic_partition_result_t **results;
        rd_kafka_PartitionReassignment_t *r;
        rd_kafka_event_t *event;
        int32_t two[] = {1, 2}, from, to;
        int tries, listed = 0;
        size_t cnt = 0;

        /* A copy takes time; on a slow machine the first look may come too late. */
        for (tries = 0; tries < 5 && !listed; tries++) {
                from   = replica_of_one();
                to     = from % 3 + 1;
                listed = reassign(from, to);
                CHECK_INT(replica_of_one(), to);
        }
        CHECK(listed);

        /* Another number of replicas is refused on demand. */
        CHECK(!rd_kafka_AdminOptions_set_allow_replication_factor_change(options, 0));
        CHECK_OK(rd_kafka_AdminOptions_set_operation_timeout(options, 20000, NULL, 0));
        r = rd_kafka_PartitionReassignment_new("one", 0, two, 2, NULL, 0);
        rd_kafka_AlterPartitionReassignments(cluster, &r, 1, options, queue);
        event   = good(REASSIGNED);
        results = rd_kafka_AlterPartitionReassignments_result_partitions(
            rd_kafka_event_AlterPartitionReassignments_result(event), &cnt);
        REQUIRE(results != NULL && cnt == 1);
        CHECK_ERR(code_of(rd_kafka_topic_partition_result_error(results[0])),
                  RD_KAFKA_RESP_ERR_INVALID_REPLICATION_FACTOR);
        CHECK(rd_kafka_ListPartitionReassignments_result_reassignments(event, &cnt) == NULL);
        CHECK_INT(cnt, 0);
        rd_kafka_event_destroy(event);
        rd_kafka_PartitionReassignment_destroy(r);
        rd_kafka_AdminOptions_destroy(options);
}

static void bad_reassignments_are_refused(void) {
        rd_kafka_AdminOptions_t *options =
            rd_kafka_AdminOptions_new(cluster, RD_KAFKA_ADMIN_OP_LISTPARTITIONREASSIGNMENTS);
        rd_kafka_topic_partition_list_t *l = rd_kafka_topic_partition_list_new(2);
        rd_kafka_PartitionReassignment_t *r[2];
        rd_kafka_error_t *error;
        char errstr[128] = "";
        int32_t ids[]    = {1, -2};

        CHECK(rd_kafka_PartitionReassignment_new("t", 0, ids, 0, errstr, sizeof(errstr)) == NULL);
        CHECK_STR(errstr, "No brokers are named");
        CHECK(rd_kafka_PartitionReassignment_new("t", 0, ids, 2, errstr, sizeof(errstr)) == NULL);
        CHECK_STR(errstr, "The broker id -2 is negative");
        CHECK(rd_kafka_PartitionReassignment_new("t", 0, ids, 10001, NULL, 0) == NULL);
        CHECK(rd_kafka_PartitionReassignment_new("t", -1, ids, 1, NULL, 0) == NULL);
        CHECK(rd_kafka_PartitionReassignment_new(NULL, 0, ids, 1, NULL, 0) == NULL);
        rd_kafka_AlterPartitionReassignments(cluster, NULL, 0, NULL, queue);
        refused(REASSIGNED, "AlterPartitionReassignments names nothing");
        r[0] = r[1] = rd_kafka_PartitionReassignment_new("t", 0, ids, 1, NULL, 0);
        rd_kafka_AlterPartitionReassignments(cluster, r, 2, NULL, queue);
        refused(REASSIGNED, "Duplicate partitions not allowed");
        rd_kafka_PartitionReassignment_destroy(r[0]);
        error = rd_kafka_AdminOptions_set_allow_replication_factor_change(options, 0);
        CHECK_ERR(rd_kafka_error_code(error), RD_KAFKA_RESP_ERR__INVALID_ARG);
        rd_kafka_error_destroy(error);
        rd_kafka_topic_partition_list_add(l, "t", 0);
        rd_kafka_topic_partition_list_add(l, "t", 0);
        rd_kafka_ListPartitionReassignments(cluster, l, options, queue);
        refused(ONGOING, "Duplicate partitions not allowed");
        rd_kafka_topic_partition_list_destroy(l);
        rd_kafka_AdminOptions_destroy(options);
}

/* ---- resources with settings --------------------------------------------- */

#define RESOURCES RD_KAFKA_EVENT_LISTCONFIGRESOURCES_RESULT, "ListConfigResourcesResult"

static void config_resources(void) {
        rd_kafka_ConfigResourceType_t types[] = {RD_KAFKA_CONFIG_RESOURCE_BROKER, RD_KAFKA_CONFIG_RESOURCE_TOPIC};
        const rd_kafka_ConfigResourceListing_t **rows;
        rd_kafka_event_t *event;
        size_t cnt = 0;

        rd_kafka_ListConfigResources(cluster, types, 2, NULL, queue);
        event = good(RESOURCES);
        rows  = rd_kafka_ListConfigResources_result_resources(rd_kafka_event_ListConfigResources_result(event), &cnt);
        REQUIRE(rows != NULL && cnt == 5);
        CHECK_INT(rd_kafka_ConfigResourceListing_type(rows[0]), RD_KAFKA_CONFIG_RESOURCE_TOPIC);
        CHECK_STR(rd_kafka_ConfigResourceListing_name(rows[0]), "one");
        CHECK_STR(rd_kafka_ConfigResourceListing_name(rows[1]), "t");
        CHECK_INT(rd_kafka_ConfigResourceListing_type(rows[4]), RD_KAFKA_CONFIG_RESOURCE_BROKER);
        CHECK_STR(rd_kafka_ConfigResourceListing_name(rows[4]), "3");
        CHECK(rd_kafka_event_UpdateFeatures_result(event) == NULL);
        rd_kafka_event_destroy(event);
        rd_kafka_ListConfigResources(cluster, NULL, 0, NULL, queue);
        event = good(RESOURCES);
        rd_kafka_ListConfigResources_result_resources(event, &cnt);
        CHECK(cnt >= 8);
        rd_kafka_event_destroy(event);
        types[0] = (rd_kafka_ConfigResourceType_t)0;
        rd_kafka_ListConfigResources(cluster, types, 2, NULL, queue);
        refused(RESOURCES, "0 is no type of resources with settings");
        types[0] = (rd_kafka_ConfigResourceType_t)99;
        rd_kafka_ListConfigResources(cluster, types, 1, NULL, queue);
        event = result_of(RESOURCES, RD_KAFKA_RESP_ERR_UNSUPPORTED_VERSION, NULL);
        CHECK(rd_kafka_ListConfigResources_result_resources(event, &cnt) == NULL);
        CHECK_INT(cnt, 0);
        rd_kafka_event_destroy(event);
}

/* ---- features ------------------------------------------------------------ */

#define FEATURES RD_KAFKA_EVENT_DESCRIBEFEATURES_RESULT, "DescribeFeaturesResult"
#define UPDATES  RD_KAFKA_EVENT_UPDATEFEATURES_RESULT, "UpdateFeaturesResult"

/* The finalized level of a feature, 0 for one that is not used; and the epoch. */
static int level_of(const char *name, int64_t *epoch) {
        const rd_kafka_FeatureRange_t **rows;
        rd_kafka_event_t *event;
        size_t cnt = 0, i;
        int level  = 0;

        rd_kafka_DescribeFeatures(cluster, NULL, queue);
        event  = good(FEATURES);
        *epoch = rd_kafka_DescribeFeatures_result_finalized_epoch(event);
        rows   = rd_kafka_DescribeFeatures_result_finalized(rd_kafka_event_DescribeFeatures_result(event), &cnt);
        for (i = 0; i < cnt; i++)
                if (!strcmp(rd_kafka_FeatureRange_name(rows[i]), name))
                        level = rd_kafka_FeatureRange_max_level(rows[i]);
        rows = rd_kafka_DescribeFeatures_result_supported(event, &cnt);
        CHECK(rows != NULL && cnt > 3);
        for (i = 0; i < cnt; i++)
                CHECK(rd_kafka_FeatureRange_min_level(rows[i]) >= 0 &&
                      rd_kafka_FeatureRange_max_level(rows[i]) >= rd_kafka_FeatureRange_min_level(rows[i]));
        CHECK(rd_kafka_DescribeMetadataQuorum_result_voters(event, &cnt) == NULL);
        CHECK_INT(cnt, 0);
        rd_kafka_event_destroy(event);
        return level;
}

static void features(void) {
        rd_kafka_AdminOptions_t *options = rd_kafka_AdminOptions_new(cluster, RD_KAFKA_ADMIN_OP_UPDATEFEATURES);
        rd_kafka_FeatureUpdate_t *updates[2];
        const rd_kafka_FeatureResult_t **results;
        rd_kafka_event_t *event;
        int64_t epoch = 0, before = 0;
        size_t cnt    = 0;

        CHECK_INT(level_of("group.version", &before), 1);
        updates[0] = rd_kafka_FeatureUpdate_new("group.version", 0, RD_KAFKA_FEATURE_SAFE_DOWNGRADE);
        updates[1] = rd_kafka_FeatureUpdate_new("no.such.feature", 1, RD_KAFKA_FEATURE_UPGRADE);
        CHECK_OK(rd_kafka_AdminOptions_set_validate_only(options, 1, NULL, 0));
        rd_kafka_UpdateFeatures(cluster, updates, 1, options, queue);
        rd_kafka_AdminOptions_destroy(options);
        rd_kafka_event_destroy(good(UPDATES));
        rd_kafka_UpdateFeatures(cluster, updates, 2, NULL, queue);
        event   = good(UPDATES);
        results = rd_kafka_UpdateFeatures_result_features(rd_kafka_event_UpdateFeatures_result(event), &cnt);
        REQUIRE(results != NULL && cnt == 2);
        CHECK_STR(rd_kafka_FeatureResult_name(results[0]), "group.version");
        CHECK_ERR(code_of(rd_kafka_FeatureResult_error(results[0])), RD_KAFKA_RESP_ERR_INVALID_UPDATE_VERSION);
        CHECK(strstr(rd_kafka_error_string(rd_kafka_FeatureResult_error(results[1])), "no.such.feature") != NULL);
        rd_kafka_event_destroy(event);
        CHECK_INT(level_of("group.version", &epoch), 1);
        CHECK_INT(epoch, before);

        rd_kafka_UpdateFeatures(cluster, updates, 1, NULL, queue);
        event   = good(UPDATES);
        results = rd_kafka_UpdateFeatures_result_features(event, &cnt);
        REQUIRE(results != NULL && cnt == 1);
        CHECK(rd_kafka_FeatureResult_error(results[0]) == NULL);
        rd_kafka_event_destroy(event);
        CHECK_INT(level_of("group.version", &epoch), 0);
        CHECK_INT(epoch, before + 1);

        rd_kafka_UpdateFeatures(cluster, NULL, 0, NULL, queue);
        refused(UPDATES, "UpdateFeatures names nothing");
        rd_kafka_FeatureUpdate_destroy(updates[1]);
        updates[1] = updates[0];
        rd_kafka_UpdateFeatures(cluster, updates, 2, NULL, queue);
        refused(UPDATES, "Duplicate features not allowed");
        rd_kafka_FeatureUpdate_destroy(updates[0]);
        updates[0] = rd_kafka_FeatureUpdate_new("f", 1, (rd_kafka_FeatureUpgradeType_t)4);
        updates[1] = rd_kafka_FeatureUpdate_new("f", 40000, RD_KAFKA_FEATURE_UPGRADE);
        rd_kafka_UpdateFeatures(cluster, updates, 1, NULL, queue);
        refused(UPDATES, "4 is no upgrade type");
        rd_kafka_UpdateFeatures(cluster, updates + 1, 1, NULL, queue);
        refused(UPDATES, "The level 40000 is out of range");
        rd_kafka_FeatureUpdate_destroy_array(updates, 2);
        CHECK(rd_kafka_FeatureUpdate_new(NULL, 1, RD_KAFKA_FEATURE_UPGRADE) == NULL);
}

/* ---- the metadata quorum ------------------------------------------------- */

#define QUORUM  RD_KAFKA_EVENT_DESCRIBEMETADATAQUORUM_RESULT, "DescribeMetadataQuorumResult"
#define ADDED   RD_KAFKA_EVENT_ADDRAFTVOTER_RESULT, "AddRaftVoterResult"
#define REMOVED RD_KAFKA_EVENT_REMOVERAFTVOTER_RESULT, "RemoveRaftVoterResult"

static void quorum_sizes(size_t *voter_cnt, size_t *observer_cnt) {
        rd_kafka_event_t *event;

        rd_kafka_DescribeMetadataQuorum(cluster, NULL, queue);
        event = good(QUORUM);
        rd_kafka_DescribeMetadataQuorum_result_voters(event, voter_cnt);
        rd_kafka_DescribeMetadataQuorum_result_observers(event, observer_cnt);
        rd_kafka_event_destroy(event);
}

static void metadata_quorum(void) {
        const rd_kafka_RaftVoterEndpoint_t **endpoints;
        const rd_kafka_QuorumReplica_t **voters;
        const rd_kafka_QuorumNode_t **nodes;
        rd_kafka_RaftVoterEndpoint_t *endpoint;
        rd_kafka_Uuid_t *id;
        rd_kafka_event_t *event;
        size_t cnt = 0, observers = 0;

        rd_kafka_DescribeMetadataQuorum(cluster, NULL, queue);
        event = good(QUORUM);
        CHECK(rd_kafka_event_DescribeMetadataQuorum_result(event) != NULL);
        CHECK_INT(rd_kafka_DescribeMetadataQuorum_result_leader_id(event), 1);
        CHECK_INT(rd_kafka_DescribeMetadataQuorum_result_leader_epoch(event), 1);
        CHECK(rd_kafka_DescribeMetadataQuorum_result_high_watermark(event) > 0);
        voters = rd_kafka_DescribeMetadataQuorum_result_voters(event, &cnt);
        REQUIRE(voters != NULL && cnt == 3);
        CHECK_INT(rd_kafka_QuorumReplica_id(voters[2]), 3);
        CHECK(rd_kafka_QuorumReplica_log_end_offset(voters[2]) > 0);
        CHECK(rd_kafka_QuorumReplica_last_fetch_timestamp(voters[2]) > 0);
        CHECK(rd_kafka_QuorumReplica_last_caught_up_timestamp(voters[2]) > 0);
        id = rd_kafka_Uuid_copy(rd_kafka_QuorumReplica_directory_id(voters[2]));
        REQUIRE(id != NULL);
        nodes = rd_kafka_DescribeMetadataQuorum_result_nodes(event, &cnt);
        REQUIRE(nodes != NULL && cnt == 3);
        CHECK_INT(rd_kafka_QuorumNode_id(nodes[0]), 1);
        endpoints = rd_kafka_QuorumNode_endpoints(nodes[0], &cnt);
        REQUIRE(endpoints != NULL && cnt == 1);
        CHECK_STR(rd_kafka_RaftVoterEndpoint_listener(endpoints[0]), "CONTROLLER");
        CHECK_STR(rd_kafka_RaftVoterEndpoint_host(endpoints[0]), "127.0.0.1");
        CHECK(rd_kafka_RaftVoterEndpoint_port(endpoints[0]) > 0);
        rd_kafka_event_destroy(event);

        rd_kafka_RemoveRaftVoter(cluster, 3, id, "another cluster", NULL, queue);
        event = result_of(REMOVED, (rd_kafka_resp_err_t)104, NULL);
        rd_kafka_event_destroy(event);
        rd_kafka_RemoveRaftVoter(cluster, 3, id, NULL, NULL, queue);
        event = good(REMOVED);
        CHECK(rd_kafka_event_RemoveRaftVoter_result(event) != NULL);
        CHECK(rd_kafka_event_AddRaftVoter_result(event) == NULL);
        rd_kafka_event_destroy(event);
        quorum_sizes(&cnt, &observers);
        CHECK(cnt == 2 && observers == 1);
        rd_kafka_RemoveRaftVoter(cluster, 3, id, NULL, NULL, queue);
        rd_kafka_event_destroy(result_of(REMOVED, RD_KAFKA_RESP_ERR_VOTER_NOT_FOUND, NULL));

        endpoint = rd_kafka_RaftVoterEndpoint_new("CONTROLLER", "localhost", 9093);
        REQUIRE(endpoint != NULL);
        rd_kafka_AddRaftVoter(cluster, 3, id, &endpoint, 1, NULL, NULL, queue);
        event = good(ADDED);
        CHECK(rd_kafka_event_AddRaftVoter_result(event) != NULL);
        rd_kafka_event_destroy(event);
        quorum_sizes(&cnt, &observers);
        CHECK(cnt == 3 && observers == 0);
        rd_kafka_AddRaftVoter(cluster, 3, id, &endpoint, 1, NULL, NULL, queue);
        rd_kafka_event_destroy(result_of(ADDED, RD_KAFKA_RESP_ERR_DUPLICATE_VOTER, NULL));

        rd_kafka_AddRaftVoter(cluster, 3, id, NULL, 0, NULL, NULL, queue);
        refused(ADDED, "The voter has no listener");
        rd_kafka_AddRaftVoter(cluster, -3, id, &endpoint, 1, NULL, NULL, queue);
        refused(ADDED, "The voter id -3 is negative");
        rd_kafka_AddRaftVoter(cluster, 3, NULL, &endpoint, 1, NULL, NULL, queue);
        refused(ADDED, "The id of the voter's directory is NULL");
        rd_kafka_RemoveRaftVoter(cluster, 3, NULL, NULL, NULL, queue);
        refused(REMOVED, "The id of the voter's directory is NULL");
        CHECK(rd_kafka_RaftVoterEndpoint_new("", "h", 1) == NULL);
        CHECK(rd_kafka_RaftVoterEndpoint_new("L", NULL, 1) == NULL);
        CHECK(rd_kafka_RaftVoterEndpoint_new("L", "h", 0) == NULL);
        rd_kafka_RaftVoterEndpoint_destroy_array(&endpoint, 1);
        rd_kafka_Uuid_destroy(id);
}

/* ---- brokers ------------------------------------------------------------- */

#define UNREGISTERED RD_KAFKA_EVENT_UNREGISTERBROKER_RESULT, "UnregisterBrokerResult"

/* The last case: broker 3 is gone. */
static void unregister_broker(void) {
        rd_kafka_AdminOptions_t *options = at_broker_1(RD_KAFKA_ADMIN_OP_UNREGISTERBROKER);
        rd_kafka_event_t *event;
        size_t cnt = 0;

        rd_kafka_UnregisterBroker(cluster, 77, options, queue);
        event = result_of(UNREGISTERED, (rd_kafka_resp_err_t)102, "Broker ID 77 is not currently registered");
        CHECK(rd_kafka_event_UnregisterBroker_result(event) != NULL);
        rd_kafka_event_destroy(event);
        rd_kafka_UnregisterBroker(cluster, 3, options, queue);
        rd_kafka_event_destroy(good(UNREGISTERED));
        rd_kafka_AdminOptions_destroy(options);
        options = at_broker_1(RD_KAFKA_ADMIN_OP_DESCRIBECLUSTER);
        rd_kafka_DescribeCluster(cluster, options, queue);
        rd_kafka_AdminOptions_destroy(options);
        event = good(RD_KAFKA_EVENT_DESCRIBECLUSTER_RESULT, "DescribeClusterResult");
        CHECK(rd_kafka_DescribeCluster_result_nodes(event, &cnt) != NULL);
        CHECK_INT(cnt, 2);
        CHECK(rd_kafka_event_UnregisterBroker_result(event) == NULL);
        rd_kafka_event_destroy(event);
        rd_kafka_UnregisterBroker(cluster, -1, NULL, queue);
        refused(UNREGISTERED, "The broker id -1 is negative");
}

/* ---- NULL ---------------------------------------------------------------- */

static void null_handles(void) {
        size_t cnt = 1;

        rd_kafka_DescribeLogDirs(NULL, NULL, 0, NULL, NULL, queue);
        CHECK_ERR(rd_kafka_last_error(), RD_KAFKA_RESP_ERR__INVALID_ARG);
        rd_kafka_AlterReplicaLogDirs(NULL, NULL, 0, NULL, queue);
        rd_kafka_DescribeClientQuotas(NULL, NULL, NULL, queue);
        rd_kafka_AlterClientQuotas(NULL, NULL, 0, NULL, queue);
        rd_kafka_AlterPartitionReassignments(NULL, NULL, 0, NULL, queue);
        rd_kafka_ListPartitionReassignments(NULL, NULL, NULL, queue);
        rd_kafka_ListConfigResources(NULL, NULL, 0, NULL, queue);
        rd_kafka_DescribeMetadataQuorum(NULL, NULL, queue);
        rd_kafka_DescribeFeatures(NULL, NULL, queue);
        rd_kafka_UpdateFeatures(NULL, NULL, 0, NULL, queue);
        rd_kafka_AddRaftVoter(NULL, 1, NULL, NULL, 0, NULL, NULL, queue);
        rd_kafka_RemoveRaftVoter(NULL, 1, NULL, NULL, NULL, queue);
        rd_kafka_UnregisterBroker(NULL, 1, NULL, queue);
        rd_kafka_UnregisterBroker(cluster, 1, NULL, NULL);
        CHECK(rd_kafka_queue_poll(queue, 0) == NULL);

        CHECK(rd_kafka_event_DescribeLogDirs_result(NULL) == NULL);
        CHECK(rd_kafka_event_AlterReplicaLogDirs_result(NULL) == NULL);
        CHECK(rd_kafka_event_DescribeClientQuotas_result(NULL) == NULL);
        CHECK(rd_kafka_event_AlterClientQuotas_result(NULL) == NULL);
        CHECK(rd_kafka_event_AlterPartitionReassignments_result(NULL) == NULL);
        CHECK(rd_kafka_event_ListPartitionReassignments_result(NULL) == NULL);
        CHECK(rd_kafka_event_ListConfigResources_result(NULL) == NULL);
        CHECK(rd_kafka_event_DescribeMetadataQuorum_result(NULL) == NULL);
        CHECK(rd_kafka_event_DescribeFeatures_result(NULL) == NULL);
        CHECK(rd_kafka_event_UpdateFeatures_result(NULL) == NULL);
        CHECK(rd_kafka_event_AddRaftVoter_result(NULL) == NULL);
        CHECK(rd_kafka_event_RemoveRaftVoter_result(NULL) == NULL);
        CHECK(rd_kafka_event_UnregisterBroker_result(NULL) == NULL);

#define EMPTY(call)                                                                                \
        do {                                                                                       \
                cnt = 1;                                                                           \
                CHECK(call == NULL);                                                               \
                CHECK_INT(cnt, 0);                                                                 \
        } while (0)
        EMPTY(rd_kafka_DescribeLogDirs_result_brokers(NULL, &cnt));
        EMPTY(rd_kafka_BrokerLogDirs_log_dirs(NULL, &cnt));
        EMPTY(rd_kafka_LogDir_replicas(NULL, &cnt));
        EMPTY(rd_kafka_AlterReplicaLogDirs_result_replicas(NULL, &cnt));
        EMPTY(rd_kafka_DescribeClientQuotas_result_entries(NULL, &cnt));
        EMPTY(rd_kafka_AlterClientQuotas_result_entities(NULL, &cnt));
        EMPTY(rd_kafka_AlterPartitionReassignments_result_partitions(NULL, &cnt));
        EMPTY(rd_kafka_ListPartitionReassignments_result_reassignments(NULL, &cnt));
        EMPTY(rd_kafka_OngoingReassignment_replicas(NULL, &cnt));
        EMPTY(rd_kafka_OngoingReassignment_adding_replicas(NULL, &cnt));
        EMPTY(rd_kafka_OngoingReassignment_removing_replicas(NULL, &cnt));
        EMPTY(rd_kafka_ListConfigResources_result_resources(NULL, &cnt));
        EMPTY(rd_kafka_DescribeMetadataQuorum_result_voters(NULL, &cnt));
        EMPTY(rd_kafka_DescribeMetadataQuorum_result_observers(NULL, &cnt));
        EMPTY(rd_kafka_DescribeMetadataQuorum_result_nodes(NULL, &cnt));
        EMPTY(rd_kafka_QuorumNode_endpoints(NULL, &cnt));
        EMPTY(rd_kafka_DescribeFeatures_result_finalized(NULL, &cnt));
        EMPTY(rd_kafka_DescribeFeatures_result_supported(NULL, &cnt));
        EMPTY(rd_kafka_UpdateFeatures_result_features(NULL, &cnt));

        CHECK_INT(rd_kafka_BrokerLogDirs_broker_id(NULL), -1);
        CHECK(rd_kafka_BrokerLogDirs_error(NULL) == NULL && rd_kafka_LogDir_path(NULL) == NULL);
        CHECK_ERR(rd_kafka_LogDir_error(NULL), RD_KAFKA_RESP_ERR__INVALID_ARG);
        CHECK(rd_kafka_LogDir_total_bytes(NULL) == -1 && rd_kafka_LogDir_usable_bytes(NULL) == -1);
        CHECK(rd_kafka_LogDir_is_cordoned(NULL) == 0 && rd_kafka_LogDirReplica_topic(NULL) == NULL);
        CHECK(rd_kafka_LogDirReplica_partition(NULL) == -1 && rd_kafka_LogDirReplica_size(NULL) == -1);
        CHECK(rd_kafka_LogDirReplica_offset_lag(NULL) == -1 && rd_kafka_LogDirReplica_is_future(NULL) == 0);
        CHECK(rd_kafka_ReplicaMoveResult_broker_id(NULL) == -1 && rd_kafka_ReplicaMoveResult_topic(NULL) == NULL);
        CHECK(rd_kafka_ReplicaMoveResult_partition(NULL) == -1 && rd_kafka_ReplicaMoveResult_error(NULL) == NULL);
        CHECK_ERR(rd_kafka_ClientQuotaFilter_match_any(NULL, "user"), RD_KAFKA_RESP_ERR__INVALID_ARG);
        CHECK_ERR(rd_kafka_ClientQuotaFilter_match_default(NULL, "user"), RD_KAFKA_RESP_ERR__INVALID_ARG);
        CHECK_ERR(rd_kafka_ClientQuotaFilter_set_strict(NULL, 1), RD_KAFKA_RESP_ERR__INVALID_ARG);
        CHECK(rd_kafka_ClientQuotaEntry_entity(NULL) == NULL && rd_kafka_ClientQuotaEntry_quota_cnt(NULL) == 0);
        CHECK(rd_kafka_ClientQuotaEntry_quota_name(NULL, 0) == NULL);
        CHECK(rd_kafka_ClientQuotaEntry_quota_value(NULL, 0) == 0);
        CHECK(rd_kafka_ClientQuotaEntity_cnt(NULL) == 0 && rd_kafka_ClientQuotaEntity_type(NULL, 0) == NULL);
        CHECK(rd_kafka_ClientQuotaEntity_name(NULL, 0) == NULL);
        CHECK_ERR(rd_kafka_ClientQuotaAlteration_set(NULL, "q", 1), RD_KAFKA_RESP_ERR__INVALID_ARG);
        CHECK(rd_kafka_ClientQuotaResult_entity(NULL) == NULL && rd_kafka_ClientQuotaResult_error(NULL) == NULL);
        CHECK(rd_kafka_OngoingReassignment_topic(NULL) == NULL && rd_kafka_OngoingReassignment_partition(NULL) == -1);
        CHECK(rd_kafka_ConfigResourceListing_type(NULL) == 0 && rd_kafka_ConfigResourceListing_name(NULL) == NULL);
        CHECK_INT(rd_kafka_DescribeMetadataQuorum_result_leader_id(NULL), -1);
        CHECK_INT(rd_kafka_DescribeMetadataQuorum_result_leader_epoch(NULL), -1);
        CHECK_INT(rd_kafka_DescribeMetadataQuorum_result_high_watermark(NULL), -1);
        CHECK(rd_kafka_QuorumReplica_id(NULL) == -1 && rd_kafka_QuorumReplica_directory_id(NULL) == NULL);
        CHECK(rd_kafka_QuorumReplica_log_end_offset(NULL) == -1);
        CHECK(rd_kafka_QuorumReplica_last_fetch_timestamp(NULL) == -1);
        CHECK(rd_kafka_QuorumReplica_last_caught_up_timestamp(NULL) == -1 && rd_kafka_QuorumNode_id(NULL) == -1);
        CHECK(rd_kafka_RaftVoterEndpoint_listener(NULL) == NULL && rd_kafka_RaftVoterEndpoint_host(NULL) == NULL);
        CHECK_INT(rd_kafka_RaftVoterEndpoint_port(NULL), 0);
        CHECK_INT(rd_kafka_DescribeFeatures_result_finalized_epoch(NULL), -1);
        CHECK(rd_kafka_FeatureRange_name(NULL) == NULL && rd_kafka_FeatureRange_min_level(NULL) == -1);
        CHECK(rd_kafka_FeatureRange_max_level(NULL) == -1 && rd_kafka_FeatureResult_name(NULL) == NULL);
        CHECK(rd_kafka_FeatureResult_error(NULL) == NULL);

        rd_kafka_ReplicaMove_destroy(NULL);
        rd_kafka_ReplicaMove_destroy_array(NULL, 0);
        rd_kafka_ClientQuotaFilter_destroy(NULL);
        rd_kafka_ClientQuotaAlteration_destroy(NULL);
        rd_kafka_ClientQuotaAlteration_destroy_array(NULL, 0);
        rd_kafka_PartitionReassignment_destroy(NULL);
        rd_kafka_PartitionReassignment_destroy_array(NULL, 0);
        rd_kafka_FeatureUpdate_destroy(NULL);
        rd_kafka_FeatureUpdate_destroy_array(NULL, 0);
        rd_kafka_RaftVoterEndpoint_destroy(NULL);
        rd_kafka_RaftVoterEndpoint_destroy_array(NULL, 0);
}

static void create_topics(void) {
        rd_kafka_NewTopic_t *topics[2];
        char value[1000] = "";
        int i;

        topics[0] = rd_kafka_NewTopic_new("t", 2, 3, NULL, 0);
        topics[1] = rd_kafka_NewTopic_new("one", 1, 1, NULL, 0);
        rd_kafka_CreateTopics(cluster, topics, 2, NULL, queue);
        rd_kafka_NewTopic_destroy_array(topics, 2);
        rd_kafka_event_destroy(good(RD_KAFKA_EVENT_CREATETOPICS_RESULT, "CreateTopicsResult"));
        for (i = 0; i < 10; i++)
                CHECK_OK(rd_kafka_producev(cluster, RD_KAFKA_V_TOPIC("t"), RD_KAFKA_V_PARTITION(0),
                                           RD_KAFKA_V_VALUE(value, sizeof(value)), RD_KAFKA_V_END));
        CHECK_OK(rd_kafka_flush(cluster, 30000));
}

int main(void) {
        char servers[512];

        cluster = test_cluster(NULL, servers, sizeof(servers));
        queue   = rd_kafka_queue_new(cluster);
        RUN(create_topics);
        RUN(describe_log_dirs);
        RUN(alter_replica_log_dirs);
        RUN(client_quotas);
        RUN(bad_quotas_are_refused);
        RUN(reassignments);
        RUN(bad_reassignments_are_refused);
        RUN(config_resources);
        RUN(features);
        RUN(metadata_quorum);
        RUN(null_handles);
        RUN(unregister_broker);
        rd_kafka_queue_destroy(queue);
        rd_kafka_destroy(cluster);
        return test_end();
}
