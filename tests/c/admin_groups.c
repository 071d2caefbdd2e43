/* Administration of groups: deletion, description, committed offsets. */
#define _POSIX_C_SOURCE 200809L
#include "admin.h"

static char servers[512];

/* A list of partitions of "t" from 0 on, with these offsets. */
static rd_kafka_topic_partition_list_t *offsets(int cnt, const int64_t *values) {
        rd_kafka_topic_partition_list_t *l = rd_kafka_topic_partition_list_new(cnt);
        int i;
        for (i = 0; i < cnt; i++)
                rd_kafka_topic_partition_list_add(l, "t", i)->offset = values[i];
        return l;
}

/* ---- arguments ----------------------------------------------------------- */

static void options_are_checked(void) {
        rd_kafka_AdminOptions_t *list =
            rd_kafka_AdminOptions_new(cluster, RD_KAFKA_ADMIN_OP_LISTCONSUMERGROUPOFFSETS);
        rd_kafka_AdminOptions_t *describe =
            rd_kafka_AdminOptions_new(cluster, RD_KAFKA_ADMIN_OP_DESCRIBECONSUMERGROUPS);

        CHECK(!rd_kafka_AdminOptions_set_require_stable_offsets(list, 1));
        free_error(rd_kafka_AdminOptions_set_require_stable_offsets(list, 2),
                   RD_KAFKA_RESP_ERR__INVALID_ARG);
        free_error(rd_kafka_AdminOptions_set_require_stable_offsets(describe, 1),
                   RD_KAFKA_RESP_ERR__INVALID_ARG);
        free_error(rd_kafka_AdminOptions_set_require_stable_offsets(NULL, 1),
                   RD_KAFKA_RESP_ERR__INVALID_ARG);
        CHECK(!rd_kafka_AdminOptions_set_include_authorized_operations(describe, 1));
        free_error(rd_kafka_AdminOptions_set_include_authorized_operations(list, 1),
                   RD_KAFKA_RESP_ERR__INVALID_ARG);
        rd_kafka_AdminOptions_destroy(list);
        rd_kafka_AdminOptions_destroy(describe);
}

static void objects_are_checked(void) {
        int64_t values[]                   = {1};
        rd_kafka_topic_partition_list_t *l = offsets(1, values);

        CHECK(rd_kafka_DeleteGroup_new(NULL) == NULL);
        CHECK(rd_kafka_ListConsumerGroupOffsets_new(NULL, l) == NULL);
        CHECK(rd_kafka_AlterConsumerGroupOffsets_new("g", NULL) == NULL);
        CHECK(rd_kafka_AlterConsumerGroupOffsets_new(NULL, l) == NULL);
        CHECK(rd_kafka_DeleteConsumerGroupOffsets_new("g", NULL) == NULL);
        rd_kafka_DeleteGroup_destroy(NULL);
        rd_kafka_ListConsumerGroupOffsets_destroy(NULL);
        rd_kafka_AlterConsumerGroupOffsets_destroy(NULL);
        rd_kafka_DeleteConsumerGroupOffsets_destroy(NULL);
        rd_kafka_DeleteGroup_destroy_array(NULL, 2);
        rd_kafka_topic_partition_list_destroy(l);
}

static void bad_calls_are_refused(void) {
        int64_t values[]                   = {1, -1};
        rd_kafka_topic_partition_list_t *l = offsets(2, values), *twice = offsets(1, values),
                                        *none = rd_kafka_topic_partition_list_new(1);
        rd_kafka_DeleteGroup_t *groups[2];
        rd_kafka_ListConsumerGroupOffsets_t *list;
        rd_kafka_AlterConsumerGroupOffsets_t *alter;
        const char *names[] = {"a", "a"};

        rd_kafka_topic_partition_list_add(twice, "t", 0)->offset = 2;
        groups[0] = rd_kafka_DeleteGroup_new("a");
        groups[1] = rd_kafka_DeleteGroup_new("a");
        rd_kafka_DeleteGroups(cluster, groups, 0, NULL, queue);
        refused(RD_KAFKA_EVENT_DELETEGROUPS_RESULT, "DeleteGroupsResult", "No groups to delete");
        rd_kafka_DeleteGroups(cluster, groups, 2, NULL, queue);
        refused(RD_KAFKA_EVENT_DELETEGROUPS_RESULT, "DeleteGroupsResult",
                "Duplicate groups not allowed");
        rd_kafka_DeleteGroup_destroy(groups[1]);
        groups[1] = NULL;
        rd_kafka_DeleteGroups(cluster, groups, 2, NULL, queue);
        refused(RD_KAFKA_EVENT_DELETEGROUPS_RESULT, "DeleteGroupsResult", NULL);
        rd_kafka_DeleteGroup_destroy_array(groups, 2);

        rd_kafka_DescribeConsumerGroups(cluster, names, 0, NULL, queue);
        refused(RD_KAFKA_EVENT_DESCRIBECONSUMERGROUPS_RESULT, "DescribeConsumerGroupsResult",
                "No groups to describe");
        rd_kafka_DescribeConsumerGroups(cluster, names, 2, NULL, queue);
        refused(RD_KAFKA_EVENT_DESCRIBECONSUMERGROUPS_RESULT, "DescribeConsumerGroupsResult",
                "Duplicate groups not allowed");
        names[1] = NULL;
        rd_kafka_DescribeConsumerGroups(cluster, names, 2, NULL, queue);
        refused(RD_KAFKA_EVENT_DESCRIBECONSUMERGROUPS_RESULT, "DescribeConsumerGroupsResult", NULL);

        rd_kafka_ListConsumerGroupOffsets(cluster, NULL, 0, NULL, queue);
        refused(RD_KAFKA_EVENT_LISTCONSUMERGROUPOFFSETS_RESULT, "ListConsumerGroupOffsetsResult",
                "Exactly one ListConsumerGroupOffsets must be passed");
        list = rd_kafka_ListConsumerGroupOffsets_new("a", none);
        rd_kafka_ListConsumerGroupOffsets(cluster, &list, 1, NULL, queue);
        refused(RD_KAFKA_EVENT_LISTCONSUMERGROUPOFFSETS_RESULT, "ListConsumerGroupOffsetsResult",
                "NULL or non-empty topic partition list must be passed");
        rd_kafka_ListConsumerGroupOffsets_destroy(list);
        list = rd_kafka_ListConsumerGroupOffsets_new("a", twice);
        rd_kafka_ListConsumerGroupOffsets(cluster, &list, 1, NULL, queue);
        refused(RD_KAFKA_EVENT_LISTCONSUMERGROUPOFFSETS_RESULT, "ListConsumerGroupOffsetsResult",
                "Duplicate partitions not allowed");
        rd_kafka_ListConsumerGroupOffsets_destroy(list);

        alter = rd_kafka_AlterConsumerGroupOffsets_new("a", none);
        rd_kafka_AlterConsumerGroupOffsets(cluster, &alter, 1, NULL, queue);
        refused(RD_KAFKA_EVENT_ALTERCONSUMERGROUPOFFSETS_RESULT, "AlterConsumerGroupOffsetsResult",
                "Non-empty topic partition list must be present");
        rd_kafka_AlterConsumerGroupOffsets_destroy(alter);
        alter = rd_kafka_AlterConsumerGroupOffsets_new("a", l);
        rd_kafka_AlterConsumerGroupOffsets(cluster, &alter, 1, NULL, queue);
        refused(RD_KAFKA_EVENT_ALTERCONSUMERGROUPOFFSETS_RESULT, "AlterConsumerGroupOffsetsResult",
                "All topic-partition offsets must be >= 0");
        rd_kafka_AlterConsumerGroupOffsets_destroy(alter);
        alter = rd_kafka_AlterConsumerGroupOffsets_new("a", twice);
        rd_kafka_AlterConsumerGroupOffsets(cluster, &alter, 1, NULL, queue);
        refused(RD_KAFKA_EVENT_ALTERCONSUMERGROUPOFFSETS_RESULT, "AlterConsumerGroupOffsetsResult",
                "Duplicate partitions not allowed");
        rd_kafka_AlterConsumerGroupOffsets_destroy(alter);

        rd_kafka_DeleteConsumerGroupOffsets(cluster, NULL, 0, NULL, queue);
        refused(RD_KAFKA_EVENT_DELETECONSUMERGROUPOFFSETS_RESULT, "DeleteConsumerGroupOffsetsResult",
                "Exactly one DeleteConsumerGroupOffsets must be passed");
        rd_kafka_topic_partition_list_destroy(l);
        rd_kafka_topic_partition_list_destroy(twice);
        rd_kafka_topic_partition_list_destroy(none);
}

/* ---- calls --------------------------------------------------------------- */

static void alter_and_list_offsets(void) {
        int64_t values[]                   = {7, 9};
        rd_kafka_topic_partition_list_t *l = offsets(2, values);
        rd_kafka_AlterConsumerGroupOffsets_t *alter[2];
        rd_kafka_ListConsumerGroupOffsets_t *list[2];
        const rd_kafka_group_result_t **groups;
        const rd_kafka_topic_partition_list_t *rows;
        rd_kafka_event_t *event;
        size_t cnt = 0;
        int i;

        rd_kafka_topic_partition_set_leader_epoch(&l->elems[1], 3);
        l->elems[1].metadata      = strdup("note");
        l->elems[1].metadata_size = 4;
        alter[0]                  = rd_kafka_AlterConsumerGroupOffsets_new("b", l);
        alter[1]                  = rd_kafka_AlterConsumerGroupOffsets_new("a", l);
        rd_kafka_AlterConsumerGroupOffsets(cluster, alter, 2, NULL, queue);
        rd_kafka_AlterConsumerGroupOffsets_destroy_array(alter, 2);
        event = result_of(RD_KAFKA_EVENT_ALTERCONSUMERGROUPOFFSETS_RESULT,
                          "AlterConsumerGroupOffsetsResult", RD_KAFKA_RESP_ERR_NO_ERROR, NULL);
        CHECK(rd_kafka_event_DeleteGroups_result(event) == NULL);
        groups = rd_kafka_AlterConsumerGroupOffsets_result_groups(
            rd_kafka_event_AlterConsumerGroupOffsets_result(event), &cnt);
        REQUIRE(groups != NULL && cnt == 2);
        CHECK_STR(rd_kafka_group_result_name(groups[0]), "b");
        CHECK_STR(rd_kafka_group_result_name(groups[1]), "a");
        CHECK(rd_kafka_group_result_error(groups[0]) == NULL);
        rows = rd_kafka_group_result_partitions(groups[1]);
        REQUIRE(rows != NULL && rows->cnt == 2);
        CHECK_OK(rows->elems[0].err);
        CHECK_INT(rows->elems[1].offset, 9);
        rd_kafka_event_destroy(event);

        list[0] = rd_kafka_ListConsumerGroupOffsets_new("a", NULL);
        list[1] = rd_kafka_ListConsumerGroupOffsets_new("none", l);
        rd_kafka_ListConsumerGroupOffsets(cluster, list, 2, NULL, queue);
        rd_kafka_ListConsumerGroupOffsets_destroy_array(list, 2);
        event = result_of(RD_KAFKA_EVENT_LISTCONSUMERGROUPOFFSETS_RESULT,
                          "ListConsumerGroupOffsetsResult", RD_KAFKA_RESP_ERR_NO_ERROR, NULL);
        groups = rd_kafka_ListConsumerGroupOffsets_result_groups(
            rd_kafka_event_ListConsumerGroupOffsets_result(event), &cnt);
        REQUIRE(groups != NULL && cnt == 2);
        rows = rd_kafka_group_result_partitions(groups[0]);
        REQUIRE(rows != NULL && rows->cnt == 2);
        for (i = 0; i < 2; i++) {
                CHECK_INT(rows->elems[i].partition, i);
                CHECK_INT(rows->elems[i].offset, values[i]);
        }
        CHECK_INT(rd_kafka_topic_partition_get_leader_epoch(&rows->elems[1]), 3);
        CHECK(rows->elems[1].metadata_size == 4 && !memcmp(rows->elems[1].metadata, "note", 4));
        rows = rd_kafka_group_result_partitions(groups[1]);
        REQUIRE(rows != NULL && rows->cnt == 2);
        CHECK_INT(rows->elems[0].offset, RD_KAFKA_OFFSET_INVALID);
        CHECK_OK(rows->elems[0].err);
        rd_kafka_event_destroy(event);
        rd_kafka_topic_partition_list_destroy(l);
}

static void delete_offsets(void) {
        int64_t values[]                   = {0, 0};
        rd_kafka_topic_partition_list_t *l = offsets(2, values);
        rd_kafka_DeleteConsumerGroupOffsets_t *del = rd_kafka_DeleteConsumerGroupOffsets_new("b", l);
        const rd_kafka_group_result_t **groups;
        const rd_kafka_topic_partition_list_t *rows;
        rd_kafka_event_t *event;
        size_t cnt = 0;

        rd_kafka_DeleteConsumerGroupOffsets(cluster, &del, 1, NULL, queue);
        rd_kafka_DeleteConsumerGroupOffsets_destroy(del);
        event = result_of(RD_KAFKA_EVENT_DELETECONSUMERGROUPOFFSETS_RESULT,
                          "DeleteConsumerGroupOffsetsResult", RD_KAFKA_RESP_ERR_NO_ERROR, NULL);
        groups = rd_kafka_DeleteConsumerGroupOffsets_result_groups(
            rd_kafka_event_DeleteConsumerGroupOffsets_result(event), &cnt);
        REQUIRE(groups != NULL && cnt == 1);
        rows = rd_kafka_group_result_partitions(groups[0]);
        REQUIRE(rows != NULL && rows->cnt == 2);
        CHECK_OK(rows->elems[0].err);
        rd_kafka_event_destroy(event);

        /* The error of the only group is that of the call. */
        del = rd_kafka_DeleteConsumerGroupOffsets_new("none", l);
        rd_kafka_DeleteConsumerGroupOffsets(cluster, &del, 1, NULL, queue);
        rd_kafka_DeleteConsumerGroupOffsets_destroy(del);
        event = result_of(RD_KAFKA_EVENT_DELETECONSUMERGROUPOFFSETS_RESULT,
                          "DeleteConsumerGroupOffsetsResult", RD_KAFKA_RESP_ERR_GROUP_ID_NOT_FOUND, NULL);
        CHECK(rd_kafka_DeleteConsumerGroupOffsets_result_groups(
                  rd_kafka_event_DeleteConsumerGroupOffsets_result(event), &cnt) == NULL);
        CHECK_INT(cnt, 0);
        rd_kafka_event_destroy(event);
        rd_kafka_topic_partition_list_destroy(l);
}

static void check_member(const rd_kafka_ConsumerGroupDescription_t *group, int is_classic) {
        const rd_kafka_topic_partition_list_t *partitions;
        const rd_kafka_MemberDescription_t *m;
        const rd_kafka_Node_t *node = rd_kafka_ConsumerGroupDescription_coordinator(group);
        size_t cnt                  = 1;

        CHECK(rd_kafka_ConsumerGroupDescription_error(group) == NULL);
        CHECK_INT(rd_kafka_ConsumerGroupDescription_state(group), RD_KAFKA_CONSUMER_GROUP_STATE_STABLE);
        CHECK_INT(rd_kafka_ConsumerGroupDescription_type(group),
                  is_classic ? RD_KAFKA_CONSUMER_GROUP_TYPE_CLASSIC : RD_KAFKA_CONSUMER_GROUP_TYPE_CONSUMER);
        CHECK_INT(rd_kafka_ConsumerGroupDescription_is_simple_consumer_group(group), 0);
        CHECK(strlen(rd_kafka_ConsumerGroupDescription_partition_assignor(group)) > 0);
        CHECK(rd_kafka_ConsumerGroupDescription_authorized_operations(group, &cnt) == NULL);
        CHECK_INT(cnt, 0);
        REQUIRE(node != NULL);
        CHECK(rd_kafka_Node_id(node) >= 1 && rd_kafka_Node_port(node) > 0);
        CHECK(rd_kafka_Node_host(node) != NULL && strlen(rd_kafka_Node_host(node)) > 0);
        REQUIRE(rd_kafka_ConsumerGroupDescription_member_count(group) == 1);
        CHECK(rd_kafka_ConsumerGroupDescription_member(group, 1) == NULL);
        m = rd_kafka_ConsumerGroupDescription_member(group, 0);
        CHECK_STR(rd_kafka_MemberDescription_client_id(m), "me");
        CHECK_STR(rd_kafka_MemberDescription_group_instance_id(m), "static");
        CHECK(strlen(rd_kafka_MemberDescription_consumer_id(m)) > 0);
        CHECK(strlen(rd_kafka_MemberDescription_host(m)) > 0);
        partitions = rd_kafka_MemberAssignment_partitions(rd_kafka_MemberDescription_assignment(m));
        REQUIRE(partitions != NULL && partitions->cnt > 0);
        CHECK_STR(partitions->elems[0].topic, "t");
        CHECK((rd_kafka_MemberDescription_target_assignment(m) == NULL) == is_classic);
}

static void describe_groups_with_members(void) {
        const char *names[] = {"consumer", "unknown", "classic"};
        rd_kafka_t *classic = admin_member(servers, "classic", "static", "classic"),
                   *consumer = admin_member(servers, "consumer", "static", "consumer");
        const rd_kafka_ConsumerGroupDescription_t **groups;
        rd_kafka_DeleteGroup_t *del = rd_kafka_DeleteGroup_new("classic");
        const rd_kafka_group_result_t **deleted;
        rd_kafka_event_t *event;
        size_t cnt = 0;

        rd_kafka_DescribeConsumerGroups(cluster, names, 3, NULL, queue);
        event  = result_of(RD_KAFKA_EVENT_DESCRIBECONSUMERGROUPS_RESULT, "DescribeConsumerGroupsResult",
                           RD_KAFKA_RESP_ERR_NO_ERROR, NULL);
        groups = rd_kafka_DescribeConsumerGroups_result_groups(
            rd_kafka_event_DescribeConsumerGroups_result(event), &cnt);
        REQUIRE(groups != NULL && cnt == 3);
        for (cnt = 0; cnt < 3; cnt++)
                CHECK_STR(rd_kafka_ConsumerGroupDescription_group_id(groups[cnt]), names[cnt]);
        check_member(groups[0], 0);
        CHECK_INT(rd_kafka_ConsumerGroupDescription_state(groups[1]), RD_KAFKA_CONSUMER_GROUP_STATE_DEAD);
        CHECK(rd_kafka_ConsumerGroupDescription_error(groups[1]) == NULL);
        CHECK_INT(rd_kafka_ConsumerGroupDescription_member_count(groups[1]), 0);
        check_member(groups[2], 1);
        rd_kafka_event_destroy(event);

        /* A group with members is not deleted. */
        rd_kafka_DeleteGroups(cluster, &del, 1, NULL, queue);
        rd_kafka_DeleteGroup_destroy(del);
        event   = result_of(RD_KAFKA_EVENT_DELETEGROUPS_RESULT, "DeleteGroupsResult",
                            RD_KAFKA_RESP_ERR_NO_ERROR, NULL);
        deleted = rd_kafka_DeleteGroups_result_groups(rd_kafka_event_DeleteGroups_result(event), &cnt);
        REQUIRE(deleted != NULL && cnt == 1);
        CHECK_ERR(rd_kafka_error_code(rd_kafka_group_result_error(deleted[0])),
                  RD_KAFKA_RESP_ERR_NON_EMPTY_GROUP);
        rd_kafka_event_destroy(event);
        rd_kafka_consumer_close(classic);
        rd_kafka_consumer_close(consumer);
        rd_kafka_destroy(classic);
        rd_kafka_destroy(consumer);
}

static void delete_groups(void) {
        rd_kafka_DeleteGroup_t *groups[3];
        const rd_kafka_group_result_t **results;
        rd_kafka_event_t *event;
        size_t cnt = 0;

        groups[0] = rd_kafka_DeleteGroup_new("a");
        groups[1] = rd_kafka_DeleteGroup_new("none");
        groups[2] = rd_kafka_DeleteGroup_new("b");
        rd_kafka_DeleteGroups(cluster, groups, 3, NULL, queue);
        rd_kafka_DeleteGroup_destroy_array(groups, 3);
        event   = result_of(RD_KAFKA_EVENT_DELETEGROUPS_RESULT, "DeleteGroupsResult",
                            RD_KAFKA_RESP_ERR_NO_ERROR, NULL);
        results = rd_kafka_DeleteGroups_result_groups(rd_kafka_event_DeleteGroups_result(event), &cnt);
        REQUIRE(results != NULL && cnt == 3);
        CHECK_STR(rd_kafka_group_result_name(results[0]), "a");
        CHECK(rd_kafka_group_result_error(results[0]) == NULL);
        CHECK(rd_kafka_group_result_partitions(results[0]) == NULL);
        CHECK_STR(rd_kafka_group_result_name(results[1]), "none");
        CHECK_ERR(rd_kafka_error_code(rd_kafka_group_result_error(results[1])),
                  RD_KAFKA_RESP_ERR_GROUP_ID_NOT_FOUND);
        rd_kafka_event_destroy(event);
}

/* Without a broker each group has the error; the call of committed offsets fails. */
static void calls_without_a_broker_time_out(void) {
        const char *pinned    = "Failed while waiting for response from broker: Local: Timed out";
        rd_kafka_conf_t *conf = test_conf();
        const char *names[]   = {"a"};
        const rd_kafka_ConsumerGroupDescription_t **groups;
        rd_kafka_ListConsumerGroupOffsets_t *list = rd_kafka_ListConsumerGroupOffsets_new("a", NULL);
        rd_kafka_AdminOptions_t *options;
        rd_kafka_event_t *event;
        rd_kafka_t *rk;
        size_t cnt = 0;
        int64_t begin;

        test_set(conf, "bootstrap.servers", "127.0.0.1:1");
        rk      = test_client(RD_KAFKA_CONSUMER, conf);
        options = rd_kafka_AdminOptions_new(rk, RD_KAFKA_ADMIN_OP_ANY);
        CHECK_OK(rd_kafka_AdminOptions_set_request_timeout(options, 300, NULL, 0));
        begin = test_now_ms();
        rd_kafka_DescribeConsumerGroups(rk, names, 1, options, queue);
        event  = result_of(RD_KAFKA_EVENT_DESCRIBECONSUMERGROUPS_RESULT, "DescribeConsumerGroupsResult",
                           RD_KAFKA_RESP_ERR_NO_ERROR, NULL);
        groups = rd_kafka_DescribeConsumerGroups_result_groups(
            rd_kafka_event_DescribeConsumerGroups_result(event), &cnt);
        REQUIRE(groups != NULL && cnt == 1);
        CHECK_ERR(rd_kafka_error_code(rd_kafka_ConsumerGroupDescription_error(groups[0])),
                  RD_KAFKA_RESP_ERR__TIMED_OUT);
        CHECK_STR(rd_kafka_error_string(rd_kafka_ConsumerGroupDescription_error(groups[0])), pinned);
        CHECK(rd_kafka_ConsumerGroupDescription_coordinator(groups[0]) == NULL);
        rd_kafka_event_destroy(event);
        CHECK(test_now_ms() - begin < 10000);

        rd_kafka_ListConsumerGroupOffsets(rk, &list, 1, options, queue);
        event = result_of(RD_KAFKA_EVENT_LISTCONSUMERGROUPOFFSETS_RESULT,
                          "ListConsumerGroupOffsetsResult", RD_KAFKA_RESP_ERR__TIMED_OUT, pinned);
        rd_kafka_event_destroy(event);

        /* Destroying the client completes the call. */
        rd_kafka_ListConsumerGroupOffsets(rk, &list, 1, NULL, queue);
        rd_kafka_ListConsumerGroupOffsets_destroy(list);
        rd_kafka_AdminOptions_destroy(options);
        rd_kafka_destroy(rk);
        event = result_of(RD_KAFKA_EVENT_LISTCONSUMERGROUPOFFSETS_RESULT,
                          "ListConsumerGroupOffsetsResult", RD_KAFKA_RESP_ERR__DESTROY, NULL);
        rd_kafka_event_destroy(event);
}

int main(void) {
        cluster = test_cluster(NULL, servers, sizeof(servers));
        queue   = rd_kafka_queue_new(cluster);
        CHECK_INT(test_produce(cluster, "t", 0, 0, 1), 0);
        RUN(options_are_checked);
        RUN(objects_are_checked);
        RUN(bad_calls_are_refused);
        RUN(alter_and_list_offsets);
        RUN(delete_offsets);
        RUN(describe_groups_with_members);
        RUN(delete_groups);
        RUN(calls_without_a_broker_time_out);
        rd_kafka_queue_destroy(queue);
        rd_kafka_destroy(cluster);
        return test_end();
}
