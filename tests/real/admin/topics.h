/* Operations on topics, partitions, records and the cluster. */

#ifndef OTTLA_TESTS_REAL_ADMIN_TOPICS_H
#define OTTLA_TESTS_REAL_ADMIN_TOPICS_H

#include "results.h"

/* Fills `ids` with the numbers of "1.2.3"; returns how many there are. */
static size_t broker_ids(char *text, int32_t *ids, size_t max) {
    size_t cnt = 0;
    for (char *id; (id = strsep(&text, ".")) != NULL && cnt < max;)
        ids[cnt++] = (int32_t)number(id);
    return cnt;
}

/* Makes a topic of NAME|PARTITIONS|REPLICATION[|SETTING=VALUE]...; REPLICATION is a number, or "a" and the replicas of each
 * partition as 1.2/2.3. */
static void *new_topic(char *argument) {
    char reason[256], *name = part(&argument);
    int cnt = (int)number(part(&argument)), is_assigned;
    char *replication = part(&argument);
    is_assigned       = *replication == 'a';
    rd_kafka_NewTopic_t *topic =
        rd_kafka_NewTopic_new(name, cnt, is_assigned ? -1 : (int)number(replication), reason, sizeof(reason));
    if (topic == NULL)
        wrong(name, reason);
    for (int32_t p = 0; is_assigned && p < cnt; p++) {
        int32_t ids[8];
        if (p == 0)
            replication++;
        size_t id_cnt = broker_ids(strsep(&replication, "/"), ids, 8);
        need_ok(name, rd_kafka_NewTopic_set_replica_assignment(topic, p, ids, id_cnt, reason, sizeof(reason)), reason);
    }
    for (char *setting; (setting = strsep(&argument, "|")) != NULL;) {
        char *value = value_of(setting);
        need_ok(name, rd_kafka_NewTopic_set_config(topic, setting, value), setting);
    }
    return topic;
}

static void create_topics(Call *call) {
    CALL_WITH(call, rd_kafka_NewTopic, new_topic, rd_kafka_CreateTopics);
}

static void print_create_topics(rd_kafka_event_t *event) {
    size_t cnt = 0;
    const rd_kafka_topic_result_t **topics =
        rd_kafka_CreateTopics_result_topics(rd_kafka_event_CreateTopics_result(event), &cnt);
    print_topic_results(topics, cnt);
}

static void *delete_topic(char *argument) {
    return rd_kafka_DeleteTopic_new(argument);
}

static void delete_topics(Call *call) {
    CALL_WITH(call, rd_kafka_DeleteTopic, delete_topic, rd_kafka_DeleteTopics);
}

static void print_delete_topics(rd_kafka_event_t *event) {
    size_t cnt = 0;
    const rd_kafka_topic_result_t **topics =
        rd_kafka_DeleteTopics_result_topics(rd_kafka_event_DeleteTopics_result(event), &cnt);
    print_topic_results(topics, cnt);
}

/* Makes new partitions of NAME|TOTAL. */
static void *new_partitions(char *argument) {
    char reason[256], *name = part(&argument);
    return rd_kafka_NewPartitions_new(name, (size_t)number(part(&argument)), reason, sizeof(reason));
}

static void create_partitions(Call *call) {
    CALL_WITH(call, rd_kafka_NewPartitions, new_partitions, rd_kafka_CreatePartitions);
}

static void print_create_partitions(rd_kafka_event_t *event) {
    size_t cnt = 0;
    const rd_kafka_topic_result_t **topics =
        rd_kafka_CreatePartitions_result_topics(rd_kafka_event_CreatePartitions_result(event), &cnt);
    print_topic_results(topics, cnt);
}

/* ---- records and offsets ------------------------------------------------- */

static void delete_records(Call *call) {
    rd_kafka_topic_partition_list_t *list = partitions(call->argv, call->argc);
    rd_kafka_DeleteRecords_t *records     = rd_kafka_DeleteRecords_new(list);
    begin(call);
    rd_kafka_DeleteRecords(call->rk, &records, 1, call->options, call->queue);
    rd_kafka_DeleteRecords_destroy(records);
    rd_kafka_topic_partition_list_destroy(list);
}

static void print_delete_records(rd_kafka_event_t *event) {
    const rd_kafka_topic_partition_list_t *list =
        rd_kafka_DeleteRecords_result_offsets(rd_kafka_event_DeleteRecords_result(event));
    for (int i = 0; list != NULL && i < list->cnt; i++) {
        json_open(NULL, '{');
        json_str("topic", list->elems[i].topic);
        json_int("partition", list->elems[i].partition);
        json_int("low", list->elems[i].offset);
        print_code(list->elems[i].err);
        json_close('}');
    }
}

static void list_offsets(Call *call) {
    rd_kafka_topic_partition_list_t *list = partitions(call->argv, call->argc);
    begin(call);
    rd_kafka_ListOffsets(call->rk, list, call->options, call->queue);
    rd_kafka_topic_partition_list_destroy(list);
}

static void print_list_offsets(rd_kafka_event_t *event) {
    size_t cnt = 0;
    const rd_kafka_ListOffsetsResultInfo_t **infos =
        rd_kafka_ListOffsets_result_infos(rd_kafka_event_ListOffsets_result(event), &cnt);
    for (size_t i = 0; i < cnt; i++) {
        const rd_kafka_topic_partition_t *p = rd_kafka_ListOffsetsResultInfo_topic_partition(infos[i]);
        json_open(NULL, '{');
        json_str("topic", p->topic);
        json_int("partition", p->partition);
        json_int("offset", p->offset);
        json_int("timestamp", rd_kafka_ListOffsetsResultInfo_timestamp(infos[i]));
        json_int("epoch", rd_kafka_topic_partition_get_leader_epoch(p));
        print_code(p->err);
        json_close('}');
    }
}

/* ---- descriptions -------------------------------------------------------- */

static void describe_topics(Call *call) {
    rd_kafka_TopicCollection_t *topics =
        rd_kafka_TopicCollection_of_topic_names((const char **)call->argv, call->argc);
    begin(call);
    rd_kafka_DescribeTopics(call->rk, topics, call->options, call->queue);
    rd_kafka_TopicCollection_destroy(topics);
}

static void print_node_ids(const char *key, const rd_kafka_Node_t **nodes, size_t cnt) {
    json_open(key, '[');
    for (size_t i = 0; i < cnt; i++)
        json_int(NULL, rd_kafka_Node_id(nodes[i]));
    json_close(']');
}

static void print_partitions(const rd_kafka_TopicDescription_t *topic) {
    size_t cnt = 0, node_cnt = 0;
    const rd_kafka_TopicPartitionInfo_t **found = rd_kafka_TopicDescription_partitions(topic, &cnt);
    json_open("partitions", '[');
    for (size_t i = 0; i < cnt; i++) {
        const rd_kafka_Node_t *leader = rd_kafka_TopicPartitionInfo_leader(found[i]);
        json_open(NULL, '{');
        json_int("partition", rd_kafka_TopicPartitionInfo_partition(found[i]));
        json_int("leader", leader ? rd_kafka_Node_id(leader) : -1);
        const rd_kafka_Node_t **nodes = rd_kafka_TopicPartitionInfo_replicas(found[i], &node_cnt);
        print_node_ids("replicas", nodes, node_cnt);
        nodes = rd_kafka_TopicPartitionInfo_isr(found[i], &node_cnt);
        print_node_ids("isr", nodes, node_cnt);
        json_close('}');
    }
    json_close(']');
}

/* Writes an id as Kafka does, by the alphabet of base64 that is safe in URLs. */
static void print_id(const char *key, const rd_kafka_Uuid_t *id) {
    char text[64];
    snprintf(text, sizeof(text), "%s", rd_kafka_Uuid_base64str(id));
    for (char *c = text; *c; c++)
        *c = *c == '+' ? '-' : *c == '/' ? '_' : *c;
    json_str(key, text);
}

static void print_describe_topics(rd_kafka_event_t *event) {
    size_t cnt = 0, operation_cnt = 0;
    const rd_kafka_TopicDescription_t **topics =
        rd_kafka_DescribeTopics_result_topics(rd_kafka_event_DescribeTopics_result(event), &cnt);
    for (size_t i = 0; i < cnt; i++) {
        const rd_kafka_error_t *error = rd_kafka_TopicDescription_error(topics[i]);
        json_open(NULL, '{');
        json_str("topic", rd_kafka_TopicDescription_name(topics[i]));
        print_error(error);
        if (rd_kafka_error_code(error) == RD_KAFKA_RESP_ERR_NO_ERROR) {
            print_id("id", rd_kafka_TopicDescription_topic_id(topics[i]));
            json_int("internal", rd_kafka_TopicDescription_is_internal(topics[i]));
            print_partitions(topics[i]);
            const rd_kafka_AclOperation_t *operations =
                rd_kafka_TopicDescription_authorized_operations(topics[i], &operation_cnt);
            print_operations(operations, operation_cnt);
        }
        json_close('}');
    }
}

static void describe_cluster(Call *call) {
    begin(call);
    rd_kafka_DescribeCluster(call->rk, call->options, call->queue);
}

static void print_describe_cluster(rd_kafka_event_t *event) {
    size_t cnt = 0, operation_cnt = 0;
    const rd_kafka_DescribeCluster_result_t *result = rd_kafka_event_DescribeCluster_result(event);
    const rd_kafka_Node_t **nodes                   = rd_kafka_DescribeCluster_result_nodes(result, &cnt);
    const rd_kafka_Node_t *controller               = rd_kafka_DescribeCluster_result_controller(result);
    const rd_kafka_AclOperation_t *operations =
        rd_kafka_DescribeCluster_result_authorized_operations(result, &operation_cnt);
    json_open(NULL, '{');
    json_str("cluster", rd_kafka_DescribeCluster_result_cluster_id(result));
    json_int("controller", controller ? rd_kafka_Node_id(controller) : -1);
    json_open("nodes", '[');
    for (size_t i = 0; i < cnt; i++) {
        json_open(NULL, '{');
        json_int("id", rd_kafka_Node_id(nodes[i]));
        json_str("host", rd_kafka_Node_host(nodes[i]));
        json_int("port", rd_kafka_Node_port(nodes[i]));
        json_str("rack", rd_kafka_Node_rack(nodes[i]));
        json_close('}');
    }
    json_close(']');
    print_operations(operations, operation_cnt);
    json_close('}');
}

/* ---- elections ----------------------------------------------------------- */

/* Arguments: preferred or unclean, then TOPIC|PARTITION...; without partitions, all of the cluster. */
static void elect_leaders(Call *call) {
    if (call->argc == 0)
        wrong("ElectLeaders", "no type");
    int is_unclean                        = !strcmp(call->argv[0], "unclean");
    rd_kafka_topic_partition_list_t *list = call->argc > 1 ? partitions(call->argv + 1, call->argc - 1) : NULL;
    rd_kafka_ElectLeaders_t *election =
        rd_kafka_ElectLeaders_new(is_unclean ? RD_KAFKA_ELECTION_TYPE_UNCLEAN : RD_KAFKA_ELECTION_TYPE_PREFERRED, list);
    begin(call);
    rd_kafka_ElectLeaders(call->rk, election, call->options, call->queue);
    rd_kafka_ElectLeaders_destroy(election);
    if (list != NULL)
        rd_kafka_topic_partition_list_destroy(list);
}

static void print_elect_leaders(rd_kafka_event_t *event) {
    size_t cnt = 0;
    const rd_kafka_topic_partition_result_t **rows =
        rd_kafka_ElectLeaders_result_partitions(rd_kafka_event_ElectLeaders_result(event), &cnt);
    for (size_t i = 0; i < cnt; i++) {
        const rd_kafka_topic_partition_t *p = rd_kafka_topic_partition_result_partition(rows[i]);
        json_open(NULL, '{');
        json_str("topic", p->topic);
        json_int("partition", p->partition);
        print_error(rd_kafka_topic_partition_result_error(rows[i]));
        json_close('}');
    }
}

#endif
