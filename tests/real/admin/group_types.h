/* Operations of ottla_admin.h on classic, share and streams groups. */

#ifndef OTTLA_TESTS_REAL_ADMIN_GROUP_TYPES_H
#define OTTLA_TESTS_REAL_ADMIN_GROUP_TYPES_H

#include "ottla_admin.h"
#include "results.h"

static void print_state(rd_kafka_group_state_t state, const rd_kafka_Node_t *coordinator) {
    json_str("state", rd_kafka_group_state_name(state));
    json_int("coordinator", coordinator ? rd_kafka_Node_id(coordinator) : -1);
}

/* ---- classic groups ------------------------------------------------------ */

static void describe_classic(Call *call) {
    begin(call);
    rd_kafka_DescribeClassicGroups(call->rk, (const char **)call->argv, call->argc, call->options, call->queue);
}

static void print_classic_group(const rd_kafka_ClassicGroupDescription_t *group) {
    size_t cnt = 0;
    const rd_kafka_AclOperation_t *operations = rd_kafka_ClassicGroupDescription_authorized_operations(group, &cnt);
    json_str("protocol", rd_kafka_ClassicGroupDescription_protocol_type(group));
    json_str("data", rd_kafka_ClassicGroupDescription_protocol_data(group));
    json_int("simple", rd_kafka_ClassicGroupDescription_is_simple_consumer_group(group));
    print_state(rd_kafka_ClassicGroupDescription_state(group), rd_kafka_ClassicGroupDescription_coordinator(group));
    json_open("members", '[');
    for (size_t i = 0; i < rd_kafka_ClassicGroupDescription_member_count(group); i++)
        print_member(rd_kafka_ClassicGroupDescription_member(group, i));
    json_close(']');
    print_operations(operations, cnt);
}

static void print_describe_classic(rd_kafka_event_t *event) {
    size_t cnt = 0;
    const rd_kafka_ClassicGroupDescription_t **groups =
        rd_kafka_DescribeClassicGroups_result_groups(rd_kafka_event_DescribeClassicGroups_result(event), &cnt);
    for (size_t i = 0; i < cnt; i++) {
        const rd_kafka_error_t *error = rd_kafka_ClassicGroupDescription_error(groups[i]);
        json_open(NULL, '{');
        json_str("group", rd_kafka_ClassicGroupDescription_group_id(groups[i]));
        print_error(error);
        if (error == NULL)
            print_classic_group(groups[i]);
        json_close('}');
    }
}

/* ---- share groups -------------------------------------------------------- */

static void describe_share(Call *call) {
    begin(call);
    rd_kafka_DescribeShareGroups(call->rk, (const char **)call->argv, call->argc, call->options, call->queue);
}

/* Writes a member, with the topics, which Kafka's own client does not have. */
static void print_share_member(const rd_kafka_ShareMemberDescription_t *member) {
    json_open(NULL, '{');
    json_str("id", rd_kafka_ShareMemberDescription_member_id(member));
    json_int("epoch", rd_kafka_ShareMemberDescription_member_epoch(member));
    json_str("rack", rd_kafka_ShareMemberDescription_rack_id(member));
    json_str("client", rd_kafka_ShareMemberDescription_client_id(member));
    json_str("host", rd_kafka_ShareMemberDescription_host(member));
    json_open("topics", '[');
    for (size_t i = 0; i < rd_kafka_ShareMemberDescription_subscribed_topic_count(member); i++)
        json_str(NULL, rd_kafka_ShareMemberDescription_subscribed_topic(member, i));
    json_close(']');
    print_assignment("assignment", rd_kafka_ShareMemberDescription_assignment(member));
    json_close('}');
}

/* Writes a group, with the assignor, which Kafka's own client does not have. */
static void print_share_group(const rd_kafka_ShareGroupDescription_t *group) {
    size_t cnt = 0;
    const rd_kafka_AclOperation_t *operations = rd_kafka_ShareGroupDescription_authorized_operations(group, &cnt);
    print_state(rd_kafka_ShareGroupDescription_state(group), rd_kafka_ShareGroupDescription_coordinator(group));
    json_int("epoch", rd_kafka_ShareGroupDescription_group_epoch(group));
    json_int("target", rd_kafka_ShareGroupDescription_assignment_epoch(group));
    json_str("assignor", rd_kafka_ShareGroupDescription_assignor(group));
    json_open("members", '[');
    for (size_t i = 0; i < rd_kafka_ShareGroupDescription_member_count(group); i++)
        print_share_member(rd_kafka_ShareGroupDescription_member(group, i));
    json_close(']');
    print_operations(operations, cnt);
}

static void print_describe_share(rd_kafka_event_t *event) {
    size_t cnt = 0;
    const rd_kafka_ShareGroupDescription_t **groups =
        rd_kafka_DescribeShareGroups_result_groups(rd_kafka_event_DescribeShareGroups_result(event), &cnt);
    for (size_t i = 0; i < cnt; i++) {
        const rd_kafka_error_t *error = rd_kafka_ShareGroupDescription_error(groups[i]);
        json_open(NULL, '{');
        json_str("group", rd_kafka_ShareGroupDescription_group_id(groups[i]));
        print_error(error);
        if (error == NULL)
            print_share_group(groups[i]);
        json_close('}');
    }
}

/* Makes a group of GROUP[|TOPIC:PARTITION]... */
static void *share_offsets(char *argument) {
    char *group                           = part(&argument);
    rd_kafka_topic_partition_list_t *list = group_partitions(argument);
    void *made                            = rd_kafka_ListShareGroupOffsets_new(group, list);
    if (list != NULL)
        rd_kafka_topic_partition_list_destroy(list);
    return made;
}

static void list_share_offsets(Call *call) {
    CALL_WITH(call, rd_kafka_ListShareGroupOffsets, share_offsets, rd_kafka_ListShareGroupOffsets);
}

static void print_list_share_offsets(rd_kafka_event_t *event) {
    size_t cnt = 0, row_cnt = 0;
    const rd_kafka_ShareGroupOffsets_t **groups =
        rd_kafka_ListShareGroupOffsets_result_groups(rd_kafka_event_ListShareGroupOffsets_result(event), &cnt);
    for (size_t i = 0; i < cnt; i++) {
        const rd_kafka_error_t *error = rd_kafka_ShareGroupOffsets_error(groups[i]);
        json_open(NULL, '{');
        json_str("group", rd_kafka_ShareGroupOffsets_group_id(groups[i]));
        print_error(error);
        const rd_kafka_ShareOffset_t **rows = rd_kafka_ShareGroupOffsets_partitions(groups[i], &row_cnt);
        if (error == NULL)
            json_open("partitions", '[');
        for (size_t r = 0; r < row_cnt; r++) {
            const rd_kafka_topic_partition_t *row = rd_kafka_ShareOffset_partition(rows[r]);
            json_open(NULL, '{');
            json_str("topic", row->topic);
            json_int("partition", row->partition);
            json_int("offset", row->offset);
            json_int("epoch", rd_kafka_topic_partition_get_leader_epoch(row));
            json_int("lag", rd_kafka_ShareOffset_lag(rows[r]));
            json_int("code", rd_kafka_error_code(rd_kafka_ShareOffset_error(rows[r])));
            json_close('}');
        }
        if (error == NULL)
            json_close(']');
        json_close('}');
    }
}

/* Makes a group of GROUP|TOPIC:PARTITION:OFFSET... */
static void *new_share_offsets(char *argument) {
    char *group                           = part(&argument);
    rd_kafka_topic_partition_list_t *list = group_partitions(argument);
    void *made                            = rd_kafka_AlterShareGroupOffsets_new(group, list);
    rd_kafka_topic_partition_list_destroy(list);
    return made;
}

static void alter_share_offsets(Call *call) {
    CALL_WITH(call, rd_kafka_AlterShareGroupOffsets, new_share_offsets, rd_kafka_AlterShareGroupOffsets);
}

static void print_alter_share_offsets(rd_kafka_event_t *event) {
    size_t cnt = 0;
    const rd_kafka_group_result_t **groups =
        rd_kafka_AlterShareGroupOffsets_result_groups(rd_kafka_event_AlterShareGroupOffsets_result(event), &cnt);
    print_group_results(groups, cnt);
}

/* Makes a group of GROUP|TOPIC... */
static void *share_topics(char *argument) {
    const char *topics[16];
    size_t cnt  = 0;
    char *group = part(&argument);
    for (char *topic; (topic = strsep(&argument, "|")) != NULL && cnt < 16;)
        topics[cnt++] = topic;
    return rd_kafka_DeleteShareGroupOffsets_new(group, topics, cnt);
}

static void delete_share_offsets(Call *call) {
    CALL_WITH(call, rd_kafka_DeleteShareGroupOffsets, share_topics, rd_kafka_DeleteShareGroupOffsets);
}

static void print_delete_share_offsets(rd_kafka_event_t *event) {
    size_t cnt = 0, topic_cnt = 0;
    const rd_kafka_DeletedShareGroupOffsets_t **groups =
        rd_kafka_DeleteShareGroupOffsets_result_groups(rd_kafka_event_DeleteShareGroupOffsets_result(event), &cnt);
    for (size_t i = 0; i < cnt; i++) {
        const rd_kafka_topic_result_t **topics = rd_kafka_DeletedShareGroupOffsets_topics(groups[i], &topic_cnt);
        json_open(NULL, '{');
        json_str("group", rd_kafka_DeletedShareGroupOffsets_group_id(groups[i]));
        print_error(rd_kafka_DeletedShareGroupOffsets_error(groups[i]));
        json_open("topics", '[');
        print_topic_results(topics, topic_cnt);
        json_close(']');
        json_close('}');
    }
}

/* ---- streams groups ------------------------------------------------------ */

static void describe_streams(Call *call) {
    begin(call);
    rd_kafka_DescribeStreamsGroups(call->rk, (const char **)call->argv, call->argc, call->options, call->queue);
}

static void print_names(const char *key, const rd_kafka_StreamsSubtopology_t *topology,
                        size_t (*count)(const rd_kafka_StreamsSubtopology_t *),
                        const char *(*name)(const rd_kafka_StreamsSubtopology_t *, size_t)) {
    json_open(key, '[');
    for (size_t i = 0; i < count(topology); i++)
        json_str(NULL, name(topology, i));
    json_close(']');
}

static void print_topics(const char *key, const rd_kafka_StreamsSubtopology_t *topology,
                         size_t (*count)(const rd_kafka_StreamsSubtopology_t *),
                         const rd_kafka_StreamsTopic_t *(*topic)(const rd_kafka_StreamsSubtopology_t *, size_t)) {
    json_open(key, '[');
    for (size_t i = 0; i < count(topology); i++)
        json_str(NULL, rd_kafka_StreamsTopic_name(topic(topology, i)));
    json_close(']');
}

static void print_tasks(const char *key, const rd_kafka_StreamsAssignment_t *assignment) {
    json_open(key, '[');
    for (size_t i = 0; i < rd_kafka_StreamsAssignment_active_count(assignment); i++) {
        size_t cnt                           = 0;
        const rd_kafka_StreamsTasks_t *tasks = rd_kafka_StreamsAssignment_active(assignment, i);
        const int32_t *ids                   = rd_kafka_StreamsTasks_partitions(tasks, &cnt);
        json_open(NULL, '{');
        json_str("part", rd_kafka_StreamsTasks_subtopology_id(tasks));
        json_open("partitions", '[');
        for (size_t p = 0; p < cnt; p++)
            json_int(NULL, ids[p]);
        json_close(']');
        json_close('}');
    }
    json_close(']');
}

static void print_streams_member(const rd_kafka_StreamsMember_t *member) {
    json_open(NULL, '{');
    json_str("id", rd_kafka_StreamsMember_member_id(member));
    json_int("epoch", rd_kafka_StreamsMember_member_epoch(member));
    json_str("client", rd_kafka_StreamsMember_client_id(member));
    json_str("host", rd_kafka_StreamsMember_host(member));
    json_int("topology", rd_kafka_StreamsMember_topology_epoch(member));
    json_str("process", rd_kafka_StreamsMember_process_id(member));
    json_open("tags", '{');
    for (size_t i = 0; i < rd_kafka_StreamsMember_client_tag_count(member); i++)
        json_str(rd_kafka_StreamsMember_client_tag_name(member, i), rd_kafka_StreamsMember_client_tag_value(member, i));
    json_close('}');
    print_tasks("active", rd_kafka_StreamsMember_assignment(member));
    print_tasks("target", rd_kafka_StreamsMember_target_assignment(member));
    json_close('}');
}

static void print_streams_group(const rd_kafka_StreamsGroupDescription_t *group) {
    print_state(rd_kafka_StreamsGroupDescription_state(group), rd_kafka_StreamsGroupDescription_coordinator(group));
    json_int("epoch", rd_kafka_StreamsGroupDescription_group_epoch(group));
    json_int("target", rd_kafka_StreamsGroupDescription_assignment_epoch(group));
    json_int("topology", rd_kafka_StreamsGroupDescription_topology_epoch(group));
    json_open("parts", '[');
    for (size_t i = 0; i < rd_kafka_StreamsGroupDescription_subtopology_count(group); i++) {
        const rd_kafka_StreamsSubtopology_t *found = rd_kafka_StreamsGroupDescription_subtopology(group, i);
        json_open(NULL, '{');
        json_str("id", rd_kafka_StreamsSubtopology_id(found));
        print_names("sources", found, rd_kafka_StreamsSubtopology_source_topic_count,
                    rd_kafka_StreamsSubtopology_source_topic);
        print_names("sinks", found, rd_kafka_StreamsSubtopology_repartition_sink_topic_count,
                    rd_kafka_StreamsSubtopology_repartition_sink_topic);
        print_topics("changelogs", found, rd_kafka_StreamsSubtopology_state_changelog_topic_count,
                     rd_kafka_StreamsSubtopology_state_changelog_topic);
        print_topics("repartitions", found, rd_kafka_StreamsSubtopology_repartition_source_topic_count,
                     rd_kafka_StreamsSubtopology_repartition_source_topic);
        json_close('}');
    }
    json_close(']');
    json_open("members", '[');
    for (size_t i = 0; i < rd_kafka_StreamsGroupDescription_member_count(group); i++)
        print_streams_member(rd_kafka_StreamsGroupDescription_member(group, i));
    json_close(']');
}

static void print_describe_streams(rd_kafka_event_t *event) {
    size_t cnt = 0;
    const rd_kafka_StreamsGroupDescription_t **groups =
        rd_kafka_DescribeStreamsGroups_result_groups(rd_kafka_event_DescribeStreamsGroups_result(event), &cnt);
    for (size_t i = 0; i < cnt; i++) {
        const rd_kafka_error_t *error = rd_kafka_StreamsGroupDescription_error(groups[i]);
        json_open(NULL, '{');
        json_str("group", rd_kafka_StreamsGroupDescription_group_id(groups[i]));
        print_error(error);
        if (error == NULL)
            print_streams_group(groups[i]);
        json_close('}');
    }
}

#endif
