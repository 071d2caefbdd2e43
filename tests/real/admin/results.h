/* Parts of results that several operations have. */

#ifndef OTTLA_TESTS_REAL_ADMIN_RESULTS_H
#define OTTLA_TESTS_REAL_ADMIN_RESULTS_H

#include "call.h"

static void print_code(rd_kafka_resp_err_t err) {
    json_int("code", err);
    json_str("text", err ? rd_kafka_err2str(err) : NULL);
}

/* Writes the authorized operations in ascending order; null where they were not requested. */
static void print_operations(const rd_kafka_AclOperation_t *operations, size_t cnt) {
    if (operations == NULL) {
        json_null("operations");
        return;
    }
    json_open("operations", '[');
    for (int number = 0; number < 64; number++)
        for (size_t i = 0; i < cnt; i++)
            if ((int)operations[i] == number)
                json_int(NULL, number);
    json_close(']');
}

static void print_topic_results(const rd_kafka_topic_result_t **topics, size_t cnt) {
    for (size_t i = 0; i < cnt; i++) {
        json_open(NULL, '{');
        json_str("topic", rd_kafka_topic_result_name(topics[i]));
        json_int("code", rd_kafka_topic_result_error(topics[i]));
        json_str("text", rd_kafka_topic_result_error_string(topics[i]));
        json_close('}');
    }
}

static void print_group_results(const rd_kafka_group_result_t **groups, size_t cnt) {
    for (size_t i = 0; i < cnt; i++) {
        const rd_kafka_topic_partition_list_t *list = rd_kafka_group_result_partitions(groups[i]);
        json_open(NULL, '{');
        json_str("group", rd_kafka_group_result_name(groups[i]));
        print_error(rd_kafka_group_result_error(groups[i]));
        json_open("partitions", '[');
        for (int p = 0; list != NULL && p < list->cnt; p++) {
            const rd_kafka_topic_partition_t *row = &list->elems[p];
            json_open(NULL, '{');
            json_str("topic", row->topic);
            json_int("partition", row->partition);
            json_int("offset", row->offset);
            json_int("epoch", rd_kafka_topic_partition_get_leader_epoch(row));
            print_code(row->err);
            json_close('}');
        }
        json_close(']');
        json_close('}');
    }
}

static void print_assignment(const char *key, const rd_kafka_MemberAssignment_t *assignment) {
    if (assignment == NULL) {
        json_null(key);
        return;
    }
    const rd_kafka_topic_partition_list_t *list = rd_kafka_MemberAssignment_partitions(assignment);
    json_open(key, '[');
    for (int i = 0; list != NULL && i < list->cnt; i++) {
        json_open(NULL, '[');
        json_str(NULL, list->elems[i].topic);
        json_int(NULL, list->elems[i].partition);
        json_close(']');
    }
    json_close(']');
}

static void print_member(const rd_kafka_MemberDescription_t *member) {
    json_open(NULL, '{');
    json_str("id", rd_kafka_MemberDescription_consumer_id(member));
    json_str("client", rd_kafka_MemberDescription_client_id(member));
    json_str("instance", rd_kafka_MemberDescription_group_instance_id(member));
    json_str("host", rd_kafka_MemberDescription_host(member));
    print_assignment("assignment", rd_kafka_MemberDescription_assignment(member));
    print_assignment("target", rd_kafka_MemberDescription_target_assignment(member));
    json_close('}');
}

#endif
