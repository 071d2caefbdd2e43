/* Operations of ottla_admin.h on log directories, quotas, reassignments, settings, features and nodes. */

#ifndef OTTLA_TESTS_REAL_ADMIN_CLUSTER_H
#define OTTLA_TESTS_REAL_ADMIN_CLUSTER_H

#include "call.h"
#include "ottla_admin.h"

#define IDS_MAX 64

/* Fills `ids` with the numbers that `separator` separates; returns how many there are. */
static size_t numbers(char *text, const char *separator, int32_t *ids) {
    size_t cnt = 0;
    for (char *id; (id = strsep(&text, separator)) != NULL && cnt < IDS_MAX;)
        if (*id)
            ids[cnt++] = (int32_t)number(id);
    return cnt;
}

static void print_ids(const char *key, const int32_t *ids, size_t cnt) {
    json_open(key, '[');
    for (size_t i = 0; i < cnt; i++)
        json_int(NULL, ids[i]);
    json_close(']');
}

/* ---- log directories ----------------------------------------------------- */

/* Arguments: ids of brokers. */
static void describe_log_dirs(Call *call) {
    int32_t ids[IDS_MAX];
    size_t cnt = 0;
    for (; cnt < call->argc && cnt < IDS_MAX; cnt++)
        ids[cnt] = (int32_t)number(call->argv[cnt]);
    begin(call);
    rd_kafka_DescribeLogDirs(call->rk, ids, cnt, NULL, call->options, call->queue);
}

static void print_log_dir(const rd_kafka_LogDir_t *dir) {
    size_t cnt = 0;
    const rd_kafka_LogDirReplica_t **replicas = rd_kafka_LogDir_replicas(dir, &cnt);
    json_open(NULL, '{');
    json_str("path", rd_kafka_LogDir_path(dir));
    json_int("code", rd_kafka_LogDir_error(dir));
    json_int("total", rd_kafka_LogDir_total_bytes(dir));
    json_open("replicas", '[');
    for (size_t i = 0; i < cnt; i++) {
        json_open(NULL, '{');
        json_str("topic", rd_kafka_LogDirReplica_topic(replicas[i]));
        json_int("partition", rd_kafka_LogDirReplica_partition(replicas[i]));
        json_int("size", rd_kafka_LogDirReplica_size(replicas[i]));
        json_int("lag", rd_kafka_LogDirReplica_offset_lag(replicas[i]));
        json_int("future", rd_kafka_LogDirReplica_is_future(replicas[i]));
        json_close('}');
    }
    json_close(']');
    json_close('}');
}

static void print_describe_log_dirs(rd_kafka_event_t *event) {
    size_t cnt = 0, dir_cnt = 0;
    const rd_kafka_BrokerLogDirs_t **brokers =
        rd_kafka_DescribeLogDirs_result_brokers(rd_kafka_event_DescribeLogDirs_result(event), &cnt);
    for (size_t i = 0; i < cnt; i++) {
        json_open(NULL, '{');
        json_int("broker", rd_kafka_BrokerLogDirs_broker_id(brokers[i]));
        print_error(rd_kafka_BrokerLogDirs_error(brokers[i]));
        const rd_kafka_LogDir_t **dirs = rd_kafka_BrokerLogDirs_log_dirs(brokers[i], &dir_cnt);
        json_open("dirs", '[');
        for (size_t d = 0; d < dir_cnt; d++)
            print_log_dir(dirs[d]);
        json_close(']');
        json_close('}');
    }
}

/* Makes a move of BROKER|TOPIC|PARTITION|PATH. */
static void *replica_move(char *argument) {
    int32_t broker = (int32_t)number(part(&argument));
    char *topic    = part(&argument);
    int32_t index  = (int32_t)number(part(&argument));
    return rd_kafka_ReplicaMove_new(broker, topic, index, part(&argument));
}

static void alter_replica_log_dirs(Call *call) {
    CALL_WITH(call, rd_kafka_ReplicaMove, replica_move, rd_kafka_AlterReplicaLogDirs);
}

static void print_alter_replica_log_dirs(rd_kafka_event_t *event) {
    size_t cnt = 0;
    const rd_kafka_ReplicaMoveResult_t **rows =
        rd_kafka_AlterReplicaLogDirs_result_replicas(rd_kafka_event_AlterReplicaLogDirs_result(event), &cnt);
    for (size_t i = 0; i < cnt; i++) {
        json_open(NULL, '{');
        json_int("broker", rd_kafka_ReplicaMoveResult_broker_id(rows[i]));
        json_str("topic", rd_kafka_ReplicaMoveResult_topic(rows[i]));
        json_int("partition", rd_kafka_ReplicaMoveResult_partition(rows[i]));
        print_error(rd_kafka_ReplicaMoveResult_error(rows[i]));
        json_close('}');
    }
}

/* ---- quotas -------------------------------------------------------------- */

/* Arguments: TYPE=NAME, TYPE= (the default), TYPE (any). */
static void describe_quotas(Call *call) {
    rd_kafka_ClientQuotaFilter_t *wanted = rd_kafka_ClientQuotaFilter_new();
    for (size_t i = 0; i < call->argc; i++) {
        char *name = call->argv[i], *type = strsep(&name, "=");
        rd_kafka_resp_err_t err = name == NULL ? rd_kafka_ClientQuotaFilter_match_any(wanted, type)
                                  : *name      ? rd_kafka_ClientQuotaFilter_match_name(wanted, type, name)
                                               : rd_kafka_ClientQuotaFilter_match_default(wanted, type);
        need_ok("quota filter", err, "refused");
    }
    begin(call);
    rd_kafka_DescribeClientQuotas(call->rk, wanted, call->options, call->queue);
    rd_kafka_ClientQuotaFilter_destroy(wanted);
}

static void print_entity(const rd_kafka_ClientQuotaEntity_t *entity) {
    json_open("entity", '[');
    for (size_t i = 0; i < rd_kafka_ClientQuotaEntity_cnt(entity); i++) {
        json_open(NULL, '[');
        json_str(NULL, rd_kafka_ClientQuotaEntity_type(entity, i));
        json_str(NULL, rd_kafka_ClientQuotaEntity_name(entity, i));
        json_close(']');
    }
    json_close(']');
}

static void print_describe_quotas(rd_kafka_event_t *event) {
    size_t cnt = 0;
    const rd_kafka_ClientQuotaEntry_t **entries =
        rd_kafka_DescribeClientQuotas_result_entries(rd_kafka_event_DescribeClientQuotas_result(event), &cnt);
    for (size_t i = 0; i < cnt; i++) {
        json_open(NULL, '{');
        print_entity(rd_kafka_ClientQuotaEntry_entity(entries[i]));
        json_open("quotas", '{');
        for (size_t q = 0; q < rd_kafka_ClientQuotaEntry_quota_cnt(entries[i]); q++) {
            json_key(rd_kafka_ClientQuotaEntry_quota_name(entries[i], q));
            printf("%.17g", rd_kafka_ClientQuotaEntry_quota_value(entries[i], q));
        }
        json_close('}');
        json_close('}');
    }
}

/* Makes an alteration of TYPE=NAME[,TYPE=NAME]...|QUOTA=VALUE...; an empty name is the default, an empty value removes. */
static void *quota_alteration(char *argument) {
    rd_kafka_ClientQuotaAlteration_t *made = rd_kafka_ClientQuotaAlteration_new();
    char *entity                           = part(&argument);
    for (char *pair; (pair = strsep(&entity, ",")) != NULL;) {
        char *name = value_of(pair);
        need_ok(pair, rd_kafka_ClientQuotaAlteration_add_entity(made, pair, *name ? name : NULL), "refused");
    }
    for (char *pair; (pair = strsep(&argument, "|")) != NULL;) {
        char *value = value_of(pair);
        need_ok(pair, *value ? rd_kafka_ClientQuotaAlteration_set(made, pair, atof(value))
                             : rd_kafka_ClientQuotaAlteration_remove(made, pair), "refused");
    }
    return made;
}

static void alter_quotas(Call *call) {
    CALL_WITH(call, rd_kafka_ClientQuotaAlteration, quota_alteration, rd_kafka_AlterClientQuotas);
}

static void print_alter_quotas(rd_kafka_event_t *event) {
    size_t cnt = 0;
    const rd_kafka_ClientQuotaResult_t **rows =
        rd_kafka_AlterClientQuotas_result_entities(rd_kafka_event_AlterClientQuotas_result(event), &cnt);
    for (size_t i = 0; i < cnt; i++) {
        json_open(NULL, '{');
        print_entity(rd_kafka_ClientQuotaResult_entity(rows[i]));
        print_error(rd_kafka_ClientQuotaResult_error(rows[i]));
        json_close('}');
    }
}

/* ---- reassignments ------------------------------------------------------- */

/* Makes a reassignment of TOPIC|PARTITION|1.2; without replicas, the cancellation of one. */
static void *reassignment(char *argument) {
    char reason[256], *topic = part(&argument);
    int32_t ids[IDS_MAX], partition = (int32_t)number(part(&argument));
    size_t cnt = numbers(part(&argument), ".", ids);
    void *made = rd_kafka_PartitionReassignment_new(topic, partition, cnt ? ids : NULL, cnt, reason, sizeof(reason));
    if (made == NULL)
        wrong(topic, reason);
    return made;
}

static void alter_reassignments(Call *call) {
    CALL_WITH(call, rd_kafka_PartitionReassignment, reassignment, rd_kafka_AlterPartitionReassignments);
}

static void print_alter_reassignments(rd_kafka_event_t *event) {
    size_t cnt = 0;
    const rd_kafka_topic_partition_result_t **rows = rd_kafka_AlterPartitionReassignments_result_partitions(
        rd_kafka_event_AlterPartitionReassignments_result(event), &cnt);
    for (size_t i = 0; i < cnt; i++) {
        json_open(NULL, '{');
        json_str("topic", rd_kafka_topic_partition_result_partition(rows[i])->topic);
        json_int("partition", rd_kafka_topic_partition_result_partition(rows[i])->partition);
        print_error(rd_kafka_topic_partition_result_error(rows[i]));
        json_close('}');
    }
}

static void list_reassignments(Call *call) {
    rd_kafka_topic_partition_list_t *list = call->argc ? partitions(call->argv, call->argc) : NULL;
    begin(call);
    rd_kafka_ListPartitionReassignments(call->rk, list, call->options, call->queue);
    if (list != NULL)
        rd_kafka_topic_partition_list_destroy(list);
}

static void print_list_reassignments(rd_kafka_event_t *event) {
    size_t cnt = 0, id_cnt = 0;
    const rd_kafka_OngoingReassignment_t **rows = rd_kafka_ListPartitionReassignments_result_reassignments(
        rd_kafka_event_ListPartitionReassignments_result(event), &cnt);
    for (size_t i = 0; i < cnt; i++) {
        json_open(NULL, '{');
        json_str("topic", rd_kafka_OngoingReassignment_topic(rows[i]));
        json_int("partition", rd_kafka_OngoingReassignment_partition(rows[i]));
        const int32_t *ids = rd_kafka_OngoingReassignment_replicas(rows[i], &id_cnt);
        print_ids("replicas", ids, id_cnt);
        ids = rd_kafka_OngoingReassignment_adding_replicas(rows[i], &id_cnt);
        print_ids("adding", ids, id_cnt);
        ids = rd_kafka_OngoingReassignment_removing_replicas(rows[i], &id_cnt);
        print_ids("removing", ids, id_cnt);
        json_close('}');
    }
}

/* ---- settings, the quorum, features -------------------------------------- */

/* Arguments: Kafka's numbers of types; none are all. */
static void list_config_resources(Call *call) {
    rd_kafka_ConfigResourceType_t types[8];
    size_t cnt = 0;
    for (; cnt < call->argc && cnt < 8; cnt++)
        types[cnt] = (rd_kafka_ConfigResourceType_t)number(call->argv[cnt]);
    begin(call);
    rd_kafka_ListConfigResources(call->rk, cnt ? types : NULL, cnt, call->options, call->queue);
}

static void print_list_config_resources(rd_kafka_event_t *event) {
    size_t cnt = 0;
    const rd_kafka_ConfigResourceListing_t **rows =
        rd_kafka_ListConfigResources_result_resources(rd_kafka_event_ListConfigResources_result(event), &cnt);
    for (size_t i = 0; i < cnt; i++) {
        json_open(NULL, '{');
        json_int("type", rd_kafka_ConfigResourceListing_type(rows[i]));
        json_str("name", rd_kafka_ConfigResourceListing_name(rows[i]));
        json_close('}');
    }
}

static void describe_quorum(Call *call) {
    begin(call);
    rd_kafka_DescribeMetadataQuorum(call->rk, call->options, call->queue);
}

static void print_replica_ids(const char *key, const rd_kafka_QuorumReplica_t **replicas, size_t cnt) {
    json_open(key, '[');
    for (size_t i = 0; i < cnt; i++)
        json_int(NULL, rd_kafka_QuorumReplica_id(replicas[i]));
    json_close(']');
}

static void print_describe_quorum(rd_kafka_event_t *event) {
    size_t cnt = 0, endpoint_cnt = 0;
    const rd_kafka_DescribeMetadataQuorum_result_t *quorum = rd_kafka_event_DescribeMetadataQuorum_result(event);
    json_open(NULL, '{');
    json_int("leader", rd_kafka_DescribeMetadataQuorum_result_leader_id(quorum));
    json_int("epoch", rd_kafka_DescribeMetadataQuorum_result_leader_epoch(quorum));
    json_int("high_watermark", rd_kafka_DescribeMetadataQuorum_result_high_watermark(quorum));
    const rd_kafka_QuorumReplica_t **replicas = rd_kafka_DescribeMetadataQuorum_result_voters(quorum, &cnt);
    print_replica_ids("voters", replicas, cnt);
    replicas = rd_kafka_DescribeMetadataQuorum_result_observers(quorum, &cnt);
    print_replica_ids("observers", replicas, cnt);
    const rd_kafka_QuorumNode_t **nodes = rd_kafka_DescribeMetadataQuorum_result_nodes(quorum, &cnt);
    json_open("endpoints", '[');
    for (size_t i = 0; i < cnt; i++) {
        const rd_kafka_RaftVoterEndpoint_t **endpoints = rd_kafka_QuorumNode_endpoints(nodes[i], &endpoint_cnt);
        for (size_t e = 0; e < endpoint_cnt; e++) {
            json_open(NULL, '[');
            json_int(NULL, rd_kafka_QuorumNode_id(nodes[i]));
            json_str(NULL, rd_kafka_RaftVoterEndpoint_listener(endpoints[e]));
            json_str(NULL, rd_kafka_RaftVoterEndpoint_host(endpoints[e]));
            json_int(NULL, rd_kafka_RaftVoterEndpoint_port(endpoints[e]));
            json_close(']');
        }
    }
    json_close(']');
    json_close('}');
}

static void describe_features(Call *call) {
    begin(call);
    rd_kafka_DescribeFeatures(call->rk, call->options, call->queue);
}

static void print_features(const char *key, const rd_kafka_FeatureRange_t **features, size_t cnt) {
    json_open(key, '[');
    for (size_t i = 0; i < cnt; i++) {
        json_open(NULL, '[');
        json_str(NULL, rd_kafka_FeatureRange_name(features[i]));
        json_int(NULL, rd_kafka_FeatureRange_min_level(features[i]));
        json_int(NULL, rd_kafka_FeatureRange_max_level(features[i]));
        json_close(']');
    }
    json_close(']');
}

static void print_describe_features(rd_kafka_event_t *event) {
    size_t cnt = 0;
    const rd_kafka_DescribeFeatures_result_t *result = rd_kafka_event_DescribeFeatures_result(event);
    json_open(NULL, '{');
    const rd_kafka_FeatureRange_t **features = rd_kafka_DescribeFeatures_result_finalized(result, &cnt);
    print_features("finalized", features, cnt);
    features = rd_kafka_DescribeFeatures_result_supported(result, &cnt);
    print_features("supported", features, cnt);
    json_close('}');
}

/* Makes an update of FEATURE|LEVEL|TYPE; TYPE is 1 (upgrade), 2 or 3 (downgrades). */
static void *feature_update(char *argument) {
    char *feature = part(&argument);
    int level     = (int)number(part(&argument));
    return rd_kafka_FeatureUpdate_new(feature, level, (rd_kafka_FeatureUpgradeType_t)number(part(&argument)));
}

static void update_features(Call *call) {
    CALL_WITH(call, rd_kafka_FeatureUpdate, feature_update, rd_kafka_UpdateFeatures);
}

static void print_update_features(rd_kafka_event_t *event) {
    size_t cnt = 0;
    const rd_kafka_FeatureResult_t **rows =
        rd_kafka_UpdateFeatures_result_features(rd_kafka_event_UpdateFeatures_result(event), &cnt);
    for (size_t i = 0; i < cnt; i++) {
        json_open(NULL, '{');
        json_str("feature", rd_kafka_FeatureResult_name(rows[i]));
        print_error(rd_kafka_FeatureResult_error(rows[i]));
        json_close('}');
    }
}

/* ---- nodes --------------------------------------------------------------- */

static void print_nothing(rd_kafka_event_t *event) {
    (void)event;
}

/* Returns the id of a directory by the next two parts of an argument, its halves. */
static rd_kafka_Uuid_t *directory_id(char **argument) {
    int64_t most = number(part(argument));
    return rd_kafka_Uuid_new(most, number(part(argument)));
}

/* Argument: ID|MOST|LEAST|LISTENER|HOST|PORT. */
static void add_voter(Call *call) {
    char *argument                         = call->argv[0];
    int32_t id                             = (int32_t)number(part(&argument));
    rd_kafka_Uuid_t *directory             = directory_id(&argument);
    char *listener                         = part(&argument), *host = part(&argument);
    rd_kafka_RaftVoterEndpoint_t *endpoint = rd_kafka_RaftVoterEndpoint_new(listener, host, (uint16_t)number(part(&argument)));
    begin(call);
    rd_kafka_AddRaftVoter(call->rk, id, directory, &endpoint, 1, NULL, call->options, call->queue);
    rd_kafka_RaftVoterEndpoint_destroy(endpoint);
    rd_kafka_Uuid_destroy(directory);
}

/* Argument: ID|MOST|LEAST. */
static void remove_voter(Call *call) {
    char *argument             = call->argv[0];
    int32_t id                 = (int32_t)number(part(&argument));
    rd_kafka_Uuid_t *directory = directory_id(&argument);
    begin(call);
    rd_kafka_RemoveRaftVoter(call->rk, id, directory, NULL, call->options, call->queue);
    rd_kafka_Uuid_destroy(directory);
}

/* Argument: the id of a broker. */
static void unregister_broker(Call *call) {
    int32_t id = (int32_t)number(call->argv[0]);
    begin(call);
    rd_kafka_UnregisterBroker(call->rk, id, call->options, call->queue);
}

#endif
