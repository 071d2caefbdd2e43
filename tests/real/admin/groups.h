/* Operations on consumer groups and their committed offsets. */

#ifndef OTTLA_TESTS_REAL_ADMIN_GROUPS_H
#define OTTLA_TESTS_REAL_ADMIN_GROUPS_H

#include "results.h"

static void *delete_group(char *argument) {
    return rd_kafka_DeleteGroup_new(argument);
}

static void delete_groups(Call *call) {
    CALL_WITH(call, rd_kafka_DeleteGroup, delete_group, rd_kafka_DeleteGroups);
}

static void print_delete_groups(rd_kafka_event_t *event) {
    size_t cnt = 0;
    const rd_kafka_group_result_t **groups =
        rd_kafka_DeleteGroups_result_groups(rd_kafka_event_DeleteGroups_result(event), &cnt);
    print_group_results(groups, cnt);
}

/* ---- committed offsets --------------------------------------------------- */

static void *list_group(char *argument) {
    char *group                           = part(&argument);
    rd_kafka_topic_partition_list_t *list = group_partitions(argument);
    void *made                            = rd_kafka_ListConsumerGroupOffsets_new(group, list);
    if (list != NULL)
        rd_kafka_topic_partition_list_destroy(list);
    return made;
}

static void *alter_group(char *argument) {
    char *group                           = part(&argument);
    rd_kafka_topic_partition_list_t *list = group_partitions(argument);
    void *made                            = rd_kafka_AlterConsumerGroupOffsets_new(group, list);
    rd_kafka_topic_partition_list_destroy(list);
    return made;
}

static void *clear_group(char *argument) {
    char *group                           = part(&argument);
    rd_kafka_topic_partition_list_t *list = group_partitions(argument);
    void *made                            = rd_kafka_DeleteConsumerGroupOffsets_new(group, list);
    rd_kafka_topic_partition_list_destroy(list);
    return made;
}

static void list_group_offsets(Call *call) {
    CALL_WITH(call, rd_kafka_ListConsumerGroupOffsets, list_group, rd_kafka_ListConsumerGroupOffsets);
}

static void alter_group_offsets(Call *call) {
    CALL_WITH(call, rd_kafka_AlterConsumerGroupOffsets, alter_group, rd_kafka_AlterConsumerGroupOffsets);
}

static void delete_group_offsets(Call *call) {
    CALL_WITH(call, rd_kafka_DeleteConsumerGroupOffsets, clear_group, rd_kafka_DeleteConsumerGroupOffsets);
}

static void print_list_group_offsets(rd_kafka_event_t *event) {
    size_t cnt = 0;
    const rd_kafka_group_result_t **groups =
        rd_kafka_ListConsumerGroupOffsets_result_groups(rd_kafka_event_ListConsumerGroupOffsets_result(event), &cnt);
    print_group_results(groups, cnt);
}

static void print_alter_group_offsets(rd_kafka_event_t *event) {
    size_t cnt = 0;
    const rd_kafka_group_result_t **groups =
        rd_kafka_AlterConsumerGroupOffsets_result_groups(rd_kafka_event_AlterConsumerGroupOffsets_result(event), &cnt);
    print_group_results(groups, cnt);
}

static void print_delete_group_offsets(rd_kafka_event_t *event) {
    size_t cnt = 0;
    const rd_kafka_group_result_t **groups =
        rd_kafka_DeleteConsumerGroupOffsets_result_groups(rd_kafka_event_DeleteConsumerGroupOffsets_result(event), &cnt);
    print_group_results(groups, cnt);
}

/* ---- lists and descriptions ---------------------------------------------- */

static void list_groups(Call *call) {
    begin(call);
    rd_kafka_ListConsumerGroups(call->rk, call->options, call->queue);
}

static void print_list_groups(rd_kafka_event_t *event) {
    size_t cnt = 0;
    const rd_kafka_ListConsumerGroups_result_t *result = rd_kafka_event_ListConsumerGroups_result(event);
    const rd_kafka_ConsumerGroupListing_t **groups     = rd_kafka_ListConsumerGroups_result_valid(result, &cnt);
    for (size_t i = 0; i < cnt; i++) {
        json_open(NULL, '{');
        json_str("group", rd_kafka_ConsumerGroupListing_group_id(groups[i]));
        json_int("simple", rd_kafka_ConsumerGroupListing_is_simple_consumer_group(groups[i]));
        json_str("state", rd_kafka_consumer_group_state_name(rd_kafka_ConsumerGroupListing_state(groups[i])));
        json_str("type", rd_kafka_consumer_group_type_name(rd_kafka_ConsumerGroupListing_type(groups[i])));
        json_close('}');
    }
    const rd_kafka_error_t **errors = rd_kafka_ListConsumerGroups_result_errors(result, &cnt);
    for (size_t i = 0; i < cnt; i++) {
        json_open(NULL, '{');
        print_error(errors[i]);
        json_close('}');
    }
}

static void describe_groups(Call *call) {
    begin(call);
    rd_kafka_DescribeConsumerGroups(call->rk, (const char **)call->argv, call->argc, call->options, call->queue);
}

static void print_members(const rd_kafka_ConsumerGroupDescription_t *group) {
    json_open("members", '[');
    for (size_t i = 0; i < rd_kafka_ConsumerGroupDescription_member_count(group); i++)
        print_member(rd_kafka_ConsumerGroupDescription_member(group, i));
    json_close(']');
}

static void print_describe_groups(rd_kafka_event_t *event) {
    size_t cnt = 0, operation_cnt = 0;
    const rd_kafka_ConsumerGroupDescription_t **groups =
        rd_kafka_DescribeConsumerGroups_result_groups(rd_kafka_event_DescribeConsumerGroups_result(event), &cnt);
    for (size_t i = 0; i < cnt; i++) {
        const rd_kafka_error_t *error = rd_kafka_ConsumerGroupDescription_error(groups[i]);
        json_open(NULL, '{');
        json_str("group", rd_kafka_ConsumerGroupDescription_group_id(groups[i]));
        print_error(error);
        if (rd_kafka_error_code(error) == RD_KAFKA_RESP_ERR_NO_ERROR) {
            const rd_kafka_Node_t *coordinator = rd_kafka_ConsumerGroupDescription_coordinator(groups[i]);
            const rd_kafka_AclOperation_t *operations =
                rd_kafka_ConsumerGroupDescription_authorized_operations(groups[i], &operation_cnt);
            json_int("simple", rd_kafka_ConsumerGroupDescription_is_simple_consumer_group(groups[i]));
            json_str("assignor", rd_kafka_ConsumerGroupDescription_partition_assignor(groups[i]));
            json_str("state", rd_kafka_consumer_group_state_name(rd_kafka_ConsumerGroupDescription_state(groups[i])));
            json_str("type", rd_kafka_consumer_group_type_name(rd_kafka_ConsumerGroupDescription_type(groups[i])));
            json_int("coordinator", coordinator ? rd_kafka_Node_id(coordinator) : -1);
            print_members(groups[i]);
            print_operations(operations, operation_cnt);
        }
        json_close('}');
    }
}

#endif
