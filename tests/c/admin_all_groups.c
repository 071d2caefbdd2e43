/* Administration of groups of all types: listing, descriptions, members, offsets of share groups (ottla_admin.h). */
#define _POSIX_C_SOURCE 200809L
#include "admin.h"
#include <ottla_admin.h>

static char servers[512];

static const char *none[] = {"none"};

/* A list of partitions of "t" from 0 on, with these offsets. */
static rd_kafka_topic_partition_list_t *offsets(int cnt, const int64_t *values) {
        rd_kafka_topic_partition_list_t *l = rd_kafka_topic_partition_list_new(cnt);
        int i;
        for (i = 0; i < cnt; i++)
                rd_kafka_topic_partition_list_add(l, "t", i)->offset = values[i];
        return l;
}

static rd_kafka_AdminOptions_t *options_of(rd_kafka_admin_op_t op) {
        return rd_kafka_AdminOptions_new(cluster, op);
}

/* The next result, which must succeed. */
static rd_kafka_event_t *good(rd_kafka_event_type_t type, const char *name) {
        return result_of(type, name, RD_KAFKA_RESP_ERR_NO_ERROR, NULL);
}

/* ---- arguments ----------------------------------------------------------- */

static void states_and_types_have_names(void) {
        int i;
        for (i = 0; i < RD_KAFKA_GROUP_STATE__CNT; i++) {
                const char *name = rd_kafka_group_state_name((rd_kafka_group_state_t)i);
                CHECK_INT(rd_kafka_group_state_code(name), i);
        }
        for (i = 0; i < RD_KAFKA_GROUP_TYPE__CNT; i++) {
                const char *name = rd_kafka_group_type_name((rd_kafka_group_type_t)i);
                CHECK_INT(rd_kafka_group_type_code(name), i);
        }
        CHECK_STR(rd_kafka_group_state_name(RD_KAFKA_GROUP_STATE_NOT_READY), "NotReady");
        CHECK_STR(rd_kafka_group_type_name(RD_KAFKA_GROUP_TYPE_STREAMS), "Streams");
        CHECK(rd_kafka_group_state_name(RD_KAFKA_GROUP_STATE__CNT) == NULL);
        CHECK(rd_kafka_group_type_name((rd_kafka_group_type_t)-1) == NULL);
        CHECK_INT(rd_kafka_group_state_code("nonsense"), 0);
        CHECK_INT(rd_kafka_group_type_code("sHARE"), RD_KAFKA_GROUP_TYPE_SHARE);
        CHECK_INT(rd_kafka_group_state_code(NULL), 0);
        CHECK_INT(rd_kafka_group_type_code(NULL), 0);
}

static void options_are_checked(void) {
        rd_kafka_AdminOptions_t *list     = options_of(RD_KAFKA_ADMIN_OP_LISTGROUPS);
        rd_kafka_AdminOptions_t *describe = options_of(RD_KAFKA_ADMIN_OP_DESCRIBECLASSICGROUPS);
        rd_kafka_AdminOptions_t *consumer = options_of(RD_KAFKA_ADMIN_OP_LISTCONSUMERGROUPS);
        rd_kafka_group_state_t states[]   = {RD_KAFKA_GROUP_STATE_EMPTY, RD_KAFKA_GROUP_STATE_EMPTY};
        rd_kafka_group_type_t types[]     = {RD_KAFKA_GROUP_TYPE_UNKNOWN};
        const char *protocols[]           = {"consumer", NULL};

        REQUIRE(list && describe && consumer);
        CHECK(!rd_kafka_AdminOptions_set_match_group_states(list, states, 1));
        CHECK(!rd_kafka_AdminOptions_set_match_group_states(consumer, states, 1));
        free_error(rd_kafka_AdminOptions_set_match_group_states(list, states, 2),
                   RD_KAFKA_RESP_ERR__INVALID_ARG);
        free_error(rd_kafka_AdminOptions_set_match_group_states(describe, states, 1),
                   RD_KAFKA_RESP_ERR__INVALID_ARG);
        free_error(rd_kafka_AdminOptions_set_match_group_states(NULL, states, 1),
                   RD_KAFKA_RESP_ERR__INVALID_ARG);
        free_error(rd_kafka_AdminOptions_set_match_group_types(list, types, 1),
                   RD_KAFKA_RESP_ERR__INVALID_ARG);
        types[0] = RD_KAFKA_GROUP_TYPE_SHARE;
        CHECK(!rd_kafka_AdminOptions_set_match_group_types(list, types, 1));
        free_error(rd_kafka_AdminOptions_set_match_group_types(describe, types, 1),
                   RD_KAFKA_RESP_ERR__INVALID_ARG);
        CHECK(!rd_kafka_AdminOptions_set_match_protocol_types(list, protocols, 1));
        free_error(rd_kafka_AdminOptions_set_match_protocol_types(list, protocols, 2),
                   RD_KAFKA_RESP_ERR__INVALID_ARG);
        free_error(rd_kafka_AdminOptions_set_match_protocol_types(consumer, protocols, 1),
                   RD_KAFKA_RESP_ERR__INVALID_ARG);
        CHECK(!rd_kafka_AdminOptions_set_include_authorized_operations(describe, 1));
        free_error(rd_kafka_AdminOptions_set_include_authorized_operations(list, 1),
                   RD_KAFKA_RESP_ERR__INVALID_ARG);
        rd_kafka_AdminOptions_destroy(list);
        rd_kafka_AdminOptions_destroy(describe);
        rd_kafka_AdminOptions_destroy(consumer);
}

static void objects_are_checked(void) {
        int64_t values[]                   = {1};
        rd_kafka_topic_partition_list_t *l = offsets(1, values);
        const char *topics[]               = {"t", NULL};
        rd_kafka_RemoveMembersFromConsumerGroup_t *removal;

        CHECK(rd_kafka_RemoveMembersFromConsumerGroup_new(NULL) == NULL);
        CHECK(rd_kafka_ListShareGroupOffsets_new(NULL, l) == NULL);
        CHECK(rd_kafka_AlterShareGroupOffsets_new(NULL, l) == NULL);
        CHECK(rd_kafka_AlterShareGroupOffsets_new("g", NULL) == NULL);
        CHECK(rd_kafka_DeleteShareGroupOffsets_new(NULL, topics, 1) == NULL);
        CHECK(rd_kafka_DeleteShareGroupOffsets_new("g", topics, 2) == NULL);
        rd_kafka_RemoveMembersFromConsumerGroup_destroy(NULL);
        rd_kafka_ListShareGroupOffsets_destroy(NULL);
        rd_kafka_AlterShareGroupOffsets_destroy(NULL);
        rd_kafka_DeleteShareGroupOffsets_destroy(NULL);
        rd_kafka_ListShareGroupOffsets_destroy_array(NULL, 1);
        rd_kafka_AlterShareGroupOffsets_destroy_array(NULL, 1);
        rd_kafka_DeleteShareGroupOffsets_destroy_array(NULL, 1);
        rd_kafka_topic_partition_list_destroy(l);

        removal = rd_kafka_RemoveMembersFromConsumerGroup_new("g");
        CHECK_ERR(rd_kafka_RemoveMembersFromConsumerGroup_add_member(NULL, "m"),
                  RD_KAFKA_RESP_ERR__INVALID_ARG);
        CHECK_ERR(rd_kafka_RemoveMembersFromConsumerGroup_add_member(removal, NULL),
                  RD_KAFKA_RESP_ERR__INVALID_ARG);
        CHECK_ERR(rd_kafka_RemoveMembersFromConsumerGroup_add_member(removal, ""),
                  RD_KAFKA_RESP_ERR__INVALID_ARG);
        CHECK_ERR(rd_kafka_RemoveMembersFromConsumerGroup_add_static_member(removal, NULL),
                  RD_KAFKA_RESP_ERR__INVALID_ARG);
        CHECK_ERR(rd_kafka_RemoveMembersFromConsumerGroup_add_static_member(removal, ""),
                  RD_KAFKA_RESP_ERR__INVALID_ARG);
        CHECK_ERR(rd_kafka_RemoveMembersFromConsumerGroup_set_reason(NULL, "r"),
                  RD_KAFKA_RESP_ERR__INVALID_ARG);
        CHECK_OK(rd_kafka_RemoveMembersFromConsumerGroup_set_reason(removal, NULL));
        CHECK_ERR(rd_kafka_RemoveMembersFromConsumerGroup_set_all_members(NULL),
                  RD_KAFKA_RESP_ERR__INVALID_ARG);
        CHECK_OK(rd_kafka_RemoveMembersFromConsumerGroup_set_all_members(removal));
        CHECK_ERR(rd_kafka_RemoveMembersFromConsumerGroup_add_member(removal, "m"),
                  RD_KAFKA_RESP_ERR__CONFLICT);
        CHECK_ERR(rd_kafka_RemoveMembersFromConsumerGroup_add_static_member(removal, "i"),
                  RD_KAFKA_RESP_ERR__CONFLICT);
        rd_kafka_RemoveMembersFromConsumerGroup_destroy(removal);
        removal = rd_kafka_RemoveMembersFromConsumerGroup_new("g");
        CHECK_OK(rd_kafka_RemoveMembersFromConsumerGroup_add_member(removal, "m"));
        CHECK_ERR(rd_kafka_RemoveMembersFromConsumerGroup_set_all_members(removal),
                  RD_KAFKA_RESP_ERR__CONFLICT);
        rd_kafka_RemoveMembersFromConsumerGroup_destroy(removal);
}

static void bad_removals_are_refused(void) {
        rd_kafka_event_type_t type = RD_KAFKA_EVENT_REMOVEMEMBERSFROMCONSUMERGROUP_RESULT;
        const char *name           = "RemoveMembersFromConsumerGroupResult";
        rd_kafka_RemoveMembersFromConsumerGroup_t *removal =
            rd_kafka_RemoveMembersFromConsumerGroup_new("g");

        rd_kafka_RemoveMembersFromConsumerGroup(cluster, NULL, NULL, queue);
        refused(type, name, "The removal is NULL");
        rd_kafka_RemoveMembersFromConsumerGroup(cluster, removal, NULL, queue);
        refused(type, name, "No members to remove");
        CHECK_OK(rd_kafka_RemoveMembersFromConsumerGroup_add_static_member(removal, "i"));
        CHECK_OK(rd_kafka_RemoveMembersFromConsumerGroup_add_static_member(removal, "i"));
        rd_kafka_RemoveMembersFromConsumerGroup(cluster, removal, NULL, queue);
        refused(type, name, "Duplicate members not allowed");
        rd_kafka_RemoveMembersFromConsumerGroup_destroy(removal);
}

typedef void describe_fn(rd_kafka_t *rk,
                         const char **groups,
                         size_t cnt,
                         const rd_kafka_AdminOptions_t *options,
                         rd_kafka_queue_t *rkqu);

static void bad_descriptions_are_refused(void) {
        struct {
                describe_fn *describe;
                rd_kafka_event_type_t type;
                const char *name;
        } ops[] = {
            {rd_kafka_DescribeClassicGroups, RD_KAFKA_EVENT_DESCRIBECLASSICGROUPS_RESULT,
             "DescribeClassicGroupsResult"},
            {rd_kafka_DescribeShareGroups, RD_KAFKA_EVENT_DESCRIBESHAREGROUPS_RESULT,
             "DescribeShareGroupsResult"},
            {rd_kafka_DescribeStreamsGroups, RD_KAFKA_EVENT_DESCRIBESTREAMSGROUPS_RESULT,
             "DescribeStreamsGroupsResult"},
        };
        const char *names[] = {"a", "a"};
        size_t i;

        for (i = 0; i < sizeof(ops) / sizeof(*ops); i++) {
                names[1] = "a";
                ops[i].describe(cluster, NULL, 0, NULL, queue);
                refused(ops[i].type, ops[i].name, "No groups to describe");
                ops[i].describe(cluster, names, 2, NULL, queue);
                refused(ops[i].type, ops[i].name, "Duplicate groups not allowed");
                names[1] = NULL;
                ops[i].describe(cluster, names, 2, NULL, queue);
                refused(ops[i].type, ops[i].name, "Group 1 is NULL or not UTF-8");
        }
}

static void bad_offset_calls_are_refused(void) {
        int64_t values[]                       = {1, -1};
        rd_kafka_topic_partition_list_t *l     = offsets(2, values), *twice = offsets(1, values),
                                        *empty = rd_kafka_topic_partition_list_new(1);
        const char *topics[]                   = {"t", "t"};
        rd_kafka_ListShareGroupOffsets_t *list[2];
        rd_kafka_AlterShareGroupOffsets_t *alter[2];
        rd_kafka_DeleteShareGroupOffsets_t *del[2];

        rd_kafka_topic_partition_list_add(twice, "t", 0)->offset = 2;
        rd_kafka_ListShareGroupOffsets(cluster, NULL, 0, NULL, queue);
        refused(RD_KAFKA_EVENT_LISTSHAREGROUPOFFSETS_RESULT, "ListShareGroupOffsetsResult",
                "No groups are named");
        list[0] = rd_kafka_ListShareGroupOffsets_new("g", twice);
        list[1] = NULL;
        rd_kafka_ListShareGroupOffsets(cluster, list, 1, NULL, queue);
        refused(RD_KAFKA_EVENT_LISTSHAREGROUPOFFSETS_RESULT, "ListShareGroupOffsetsResult",
                "Duplicate partitions not allowed");
        rd_kafka_ListShareGroupOffsets(cluster, list, 2, NULL, queue);
        refused(RD_KAFKA_EVENT_LISTSHAREGROUPOFFSETS_RESULT, "ListShareGroupOffsetsResult", NULL);
        rd_kafka_ListShareGroupOffsets_destroy_array(list, 2);
        list[0] = rd_kafka_ListShareGroupOffsets_new("g", empty);
        rd_kafka_ListShareGroupOffsets(cluster, list, 1, NULL, queue);
        refused(RD_KAFKA_EVENT_LISTSHAREGROUPOFFSETS_RESULT, "ListShareGroupOffsetsResult",
                "No partitions are named");
        rd_kafka_ListShareGroupOffsets_destroy(list[0]);

        rd_kafka_AlterShareGroupOffsets(cluster, NULL, 0, NULL, queue);
        refused(RD_KAFKA_EVENT_ALTERSHAREGROUPOFFSETS_RESULT, "AlterShareGroupOffsetsResult",
                "No groups are named");
        alter[0] = rd_kafka_AlterShareGroupOffsets_new("g", l);
        rd_kafka_AlterShareGroupOffsets(cluster, alter, 1, NULL, queue);
        refused(RD_KAFKA_EVENT_ALTERSHAREGROUPOFFSETS_RESULT, "AlterShareGroupOffsetsResult",
                "All topic-partition offsets must be >= 0");
        rd_kafka_AlterShareGroupOffsets_destroy(alter[0]);
        alter[0] = rd_kafka_AlterShareGroupOffsets_new("g", twice);
        rd_kafka_AlterShareGroupOffsets(cluster, alter, 1, NULL, queue);
        refused(RD_KAFKA_EVENT_ALTERSHAREGROUPOFFSETS_RESULT, "AlterShareGroupOffsetsResult",
                "Duplicate partitions not allowed");
        alter[1] = rd_kafka_AlterShareGroupOffsets_new("g", empty);
        rd_kafka_AlterShareGroupOffsets(cluster, alter, 2, NULL, queue);
        refused(RD_KAFKA_EVENT_ALTERSHAREGROUPOFFSETS_RESULT, "AlterShareGroupOffsetsResult",
                "Duplicate groups not allowed");
        rd_kafka_AlterShareGroupOffsets_destroy_array(alter, 2);

        rd_kafka_DeleteShareGroupOffsets(cluster, NULL, 0, NULL, queue);
        refused(RD_KAFKA_EVENT_DELETESHAREGROUPOFFSETS_RESULT, "DeleteShareGroupOffsetsResult",
                "No groups are named");
        del[0] = rd_kafka_DeleteShareGroupOffsets_new("g", topics, 2);
        del[1] = rd_kafka_DeleteShareGroupOffsets_new("h", NULL, 0);
        rd_kafka_DeleteShareGroupOffsets(cluster, del, 1, NULL, queue);
        refused(RD_KAFKA_EVENT_DELETESHAREGROUPOFFSETS_RESULT, "DeleteShareGroupOffsetsResult",
                "Duplicate topics not allowed");
        rd_kafka_DeleteShareGroupOffsets(cluster, &del[1], 1, NULL, queue);
        refused(RD_KAFKA_EVENT_DELETESHAREGROUPOFFSETS_RESULT, "DeleteShareGroupOffsetsResult",
                "No topics are named");
        rd_kafka_DeleteShareGroupOffsets_destroy_array(del, 2);
        rd_kafka_topic_partition_list_destroy(l);
        rd_kafka_topic_partition_list_destroy(twice);
        rd_kafka_topic_partition_list_destroy(empty);
}

/* ---- share groups -------------------------------------------------------- */

static void alter_share_offsets(void) {
        int64_t values[]                   = {1, 7};
        rd_kafka_topic_partition_list_t *l = offsets(2, values);
        rd_kafka_AlterShareGroupOffsets_t *alter[2];
        const rd_kafka_group_result_t **groups;
        const rd_kafka_topic_partition_list_t *rows;
        rd_kafka_event_t *event;
        size_t cnt = 0;

        alter[0] = rd_kafka_AlterShareGroupOffsets_new("share", l);
        rd_kafka_topic_partition_list_add(l, "nowhere", 0)->offset = 3;
        alter[1] = rd_kafka_AlterShareGroupOffsets_new("other", l);
        rd_kafka_AlterShareGroupOffsets(cluster, alter, 2, NULL, queue);
        rd_kafka_AlterShareGroupOffsets_destroy_array(alter, 2);
        event = good(RD_KAFKA_EVENT_ALTERSHAREGROUPOFFSETS_RESULT, "AlterShareGroupOffsetsResult");
        CHECK(rd_kafka_event_ListShareGroupOffsets_result(event) == NULL);
        groups = rd_kafka_AlterShareGroupOffsets_result_groups(
            rd_kafka_event_AlterShareGroupOffsets_result(event), &cnt);
        REQUIRE(groups != NULL && cnt == 2);
        CHECK_STR(rd_kafka_group_result_name(groups[0]), "share");
        CHECK(rd_kafka_group_result_error(groups[0]) == NULL);
        rows = rd_kafka_group_result_partitions(groups[0]);
        REQUIRE(rows != NULL && rows->cnt == 2);
        CHECK_INT(rows->elems[1].offset, 7);
        CHECK_OK(rows->elems[1].err);
        rows = rd_kafka_group_result_partitions(groups[1]);
        REQUIRE(rows != NULL && rows->cnt == 3);
        CHECK_STR(rows->elems[2].topic, "nowhere");
        CHECK_ERR(rows->elems[2].err, RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART);
        rd_kafka_event_destroy(event);
        rd_kafka_topic_partition_list_destroy(l);
}

static void list_share_offsets(void) {
        int64_t values[]                   = {0};
        rd_kafka_topic_partition_list_t *l = offsets(1, values);
        rd_kafka_ListShareGroupOffsets_t *list[3];
        const rd_kafka_ShareGroupOffsets_t **groups;
        const rd_kafka_ShareOffset_t **rows;
        const rd_kafka_topic_partition_t *row;
        rd_kafka_event_t *event;
        size_t cnt = 0;

        rd_kafka_topic_partition_list_add(l, "nowhere", 0);
        rd_kafka_topic_partition_list_add(l, "t", 2);
        list[0] = rd_kafka_ListShareGroupOffsets_new("none", NULL);
        list[1] = rd_kafka_ListShareGroupOffsets_new("share", NULL);
        list[2] = rd_kafka_ListShareGroupOffsets_new("other", l);
        rd_kafka_ListShareGroupOffsets(cluster, list, 3, NULL, queue);
        rd_kafka_ListShareGroupOffsets_destroy_array(list, 3);
        event = good(RD_KAFKA_EVENT_LISTSHAREGROUPOFFSETS_RESULT, "ListShareGroupOffsetsResult");
        CHECK(rd_kafka_event_AlterShareGroupOffsets_result(event) == NULL);
        groups = rd_kafka_ListShareGroupOffsets_result_groups(
            rd_kafka_event_ListShareGroupOffsets_result(event), &cnt);
        REQUIRE(groups != NULL && cnt == 3);
        CHECK_STR(rd_kafka_ShareGroupOffsets_group_id(groups[0]), "none");
        CHECK_ERR(rd_kafka_error_code(rd_kafka_ShareGroupOffsets_error(groups[0])),
                  RD_KAFKA_RESP_ERR_GROUP_ID_NOT_FOUND);
        CHECK(rd_kafka_ShareGroupOffsets_partitions(groups[0], &cnt) == NULL);
        CHECK_INT(cnt, 0);

        CHECK(rd_kafka_ShareGroupOffsets_error(groups[1]) == NULL);
        rows = rd_kafka_ShareGroupOffsets_partitions(groups[1], &cnt);
        REQUIRE(rows != NULL && cnt == 2);
        row = rd_kafka_ShareOffset_partition(rows[0]);
        REQUIRE(row != NULL);
        CHECK_STR(row->topic, "t");
        CHECK_INT(row->partition, 0);
        CHECK_INT(row->offset, 1);
        CHECK_INT(rd_kafka_topic_partition_get_leader_epoch(row), 0);
        /* Of the four messages one is before the start. */
        CHECK_INT(rd_kafka_ShareOffset_lag(rows[0]), 3);
        CHECK(rd_kafka_ShareOffset_error(rows[0]) == NULL);

        rows = rd_kafka_ShareGroupOffsets_partitions(groups[2], &cnt);
        REQUIRE(rows != NULL && cnt == 3);
        CHECK_INT(rd_kafka_ShareOffset_partition(rows[0])->offset, 1);
        CHECK_ERR(rd_kafka_ShareOffset_partition(rows[1])->err, RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART);
        CHECK_STR(rd_kafka_error_string(rd_kafka_ShareOffset_error(rows[1])), "The partition does not exist.");
        CHECK_INT(rd_kafka_ShareOffset_lag(rows[1]), -1);
        CHECK_INT(rd_kafka_ShareOffset_partition(rows[2])->offset, RD_KAFKA_OFFSET_INVALID);
        CHECK_OK(rd_kafka_ShareOffset_partition(rows[2])->err);
        rd_kafka_event_destroy(event);
        rd_kafka_topic_partition_list_destroy(l);
}

static void describe_share_groups(void) {
        const char *names[]              = {"share", "none"};
        rd_kafka_AdminOptions_t *options = options_of(RD_KAFKA_ADMIN_OP_DESCRIBESHAREGROUPS);
        const rd_kafka_ShareGroupDescription_t **groups;
        rd_kafka_event_t *event;
        size_t cnt = 0;

        CHECK(!rd_kafka_AdminOptions_set_include_authorized_operations(options, 1));
        rd_kafka_DescribeShareGroups(cluster, names, 2, options, queue);
        rd_kafka_AdminOptions_destroy(options);
        event = good(RD_KAFKA_EVENT_DESCRIBESHAREGROUPS_RESULT, "DescribeShareGroupsResult");
        CHECK(rd_kafka_event_DescribeStreamsGroups_result(event) == NULL);
        groups = rd_kafka_DescribeShareGroups_result_groups(
            rd_kafka_event_DescribeShareGroups_result(event), &cnt);
        REQUIRE(groups != NULL && cnt == 2);
        CHECK_STR(rd_kafka_ShareGroupDescription_group_id(groups[0]), "share");
        CHECK(rd_kafka_ShareGroupDescription_error(groups[0]) == NULL);
        CHECK_INT(rd_kafka_ShareGroupDescription_state(groups[0]), RD_KAFKA_GROUP_STATE_EMPTY);
        CHECK_INT(rd_kafka_ShareGroupDescription_group_epoch(groups[0]), 1);
        /* No member has ever had an assignment. */
        CHECK_INT(rd_kafka_ShareGroupDescription_assignment_epoch(groups[0]), 0);
        CHECK_STR(rd_kafka_ShareGroupDescription_assignor(groups[0]), "simple");
        CHECK(rd_kafka_Node_id(rd_kafka_ShareGroupDescription_coordinator(groups[0])) > 0);
        CHECK(rd_kafka_ShareGroupDescription_authorized_operations(groups[0], &cnt) != NULL);
        CHECK(cnt > 0);
        CHECK_INT(rd_kafka_ShareGroupDescription_member_count(groups[0]), 0);
        CHECK(rd_kafka_ShareGroupDescription_member(groups[0], 0) == NULL);

        CHECK_ERR(rd_kafka_error_code(rd_kafka_ShareGroupDescription_error(groups[1])),
                  RD_KAFKA_RESP_ERR_GROUP_ID_NOT_FOUND);
        CHECK_INT(rd_kafka_ShareGroupDescription_state(groups[1]), RD_KAFKA_GROUP_STATE_UNKNOWN);
        CHECK_INT(rd_kafka_ShareGroupDescription_group_epoch(groups[1]), -1);
        CHECK_INT(rd_kafka_ShareGroupDescription_assignment_epoch(groups[1]), -1);
        CHECK(rd_kafka_ShareGroupDescription_coordinator(groups[1]) == NULL);
        CHECK(rd_kafka_ShareGroupDescription_authorized_operations(groups[1], &cnt) == NULL);
        CHECK_INT(cnt, 0);
        rd_kafka_event_destroy(event);
}

static void delete_share_offsets(void) {
        const char *topics[] = {"nowhere", "t"};
        rd_kafka_DeleteShareGroupOffsets_t *del[2];
        const rd_kafka_DeletedShareGroupOffsets_t **groups;
        const rd_kafka_topic_result_t **rows;
        rd_kafka_event_t *event;
        size_t cnt = 0;

        del[0] = rd_kafka_DeleteShareGroupOffsets_new("none", topics, 2);
        del[1] = rd_kafka_DeleteShareGroupOffsets_new("share", topics, 2);
        rd_kafka_DeleteShareGroupOffsets(cluster, del, 2, NULL, queue);
        event = good(RD_KAFKA_EVENT_DELETESHAREGROUPOFFSETS_RESULT, "DeleteShareGroupOffsetsResult");
        CHECK(rd_kafka_event_ListGroups_result(event) == NULL);
        groups = rd_kafka_DeleteShareGroupOffsets_result_groups(
            rd_kafka_event_DeleteShareGroupOffsets_result(event), &cnt);
        REQUIRE(groups != NULL && cnt == 2);
        CHECK_STR(rd_kafka_DeletedShareGroupOffsets_group_id(groups[0]), "none");
        CHECK_ERR(rd_kafka_error_code(rd_kafka_DeletedShareGroupOffsets_error(groups[0])),
                  RD_KAFKA_RESP_ERR_GROUP_ID_NOT_FOUND);
        CHECK(rd_kafka_DeletedShareGroupOffsets_topics(groups[0], &cnt) == NULL);
        CHECK_INT(cnt, 0);
        CHECK(rd_kafka_DeletedShareGroupOffsets_error(groups[1]) == NULL);
        rows = rd_kafka_DeletedShareGroupOffsets_topics(groups[1], &cnt);
        REQUIRE(rows != NULL && cnt == 2);
        CHECK_STR(rd_kafka_topic_result_name(rows[0]), "nowhere");
        CHECK_ERR(rd_kafka_topic_result_error(rows[0]), RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART);
        CHECK_OK(rd_kafka_topic_result_error(rows[1]));
        rd_kafka_event_destroy(event);

        /* The second time there is nothing. */
        rd_kafka_DeleteShareGroupOffsets(cluster, &del[1], 1, NULL, queue);
        rd_kafka_DeleteShareGroupOffsets_destroy_array(del, 2);
        event  = good(RD_KAFKA_EVENT_DELETESHAREGROUPOFFSETS_RESULT, "DeleteShareGroupOffsetsResult");
        groups = rd_kafka_DeleteShareGroupOffsets_result_groups(
            rd_kafka_event_DeleteShareGroupOffsets_result(event), &cnt);
        REQUIRE(groups != NULL && cnt == 1);
        rows = rd_kafka_DeletedShareGroupOffsets_topics(groups[0], &cnt);
        REQUIRE(rows != NULL && cnt == 2);
        CHECK_ERR(rd_kafka_topic_result_error(rows[1]), RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART);
        rd_kafka_event_destroy(event);
}

static void delete_share_groups(void) {
        rd_kafka_DeleteGroup_t *groups[2];
        const rd_kafka_group_result_t **results;
        rd_kafka_event_t *event;
        size_t cnt = 0;

        groups[0] = rd_kafka_DeleteGroup_new("share");
        groups[1] = rd_kafka_DeleteGroup_new("other");
        rd_kafka_DeleteGroups(cluster, groups, 2, NULL, queue);
        rd_kafka_DeleteGroup_destroy_array(groups, 2);
        event   = good(RD_KAFKA_EVENT_DELETEGROUPS_RESULT, "DeleteGroupsResult");
        results = rd_kafka_DeleteGroups_result_groups(rd_kafka_event_DeleteGroups_result(event), &cnt);
        REQUIRE(results != NULL && cnt == 2);
        CHECK(rd_kafka_group_result_error(results[0]) == NULL);
        CHECK(rd_kafka_group_result_error(results[1]) == NULL);
        rd_kafka_event_destroy(event);
}

/* ---- groups with members ------------------------------------------------- */

/* Lists groups and checks that these are their ids, separated by spaces. */
static void check_listing(const rd_kafka_AdminOptions_t *options, const char *expected) {
        const rd_kafka_GroupListing_t **groups;
        const rd_kafka_ListGroups_result_t *result;
        rd_kafka_event_t *event;
        char ids[256] = "";
        size_t cnt = 0, i, used = 0;

        rd_kafka_ListGroups(cluster, options, queue);
        event  = good(RD_KAFKA_EVENT_LISTGROUPS_RESULT, "ListGroupsResult");
        result = rd_kafka_event_ListGroups_result(event);
        CHECK(rd_kafka_ListGroups_result_errors(result, &cnt) == NULL);
        CHECK_INT(cnt, 0);
        groups = rd_kafka_ListGroups_result_groups(result, &cnt);
        for (i = 0; i < cnt && used < sizeof(ids); i++)
                used += (size_t)snprintf(ids + used, sizeof(ids) - used, "%s%s", i ? " " : "",
                                         rd_kafka_GroupListing_group_id(groups[i]));
        CHECK_STR(ids, expected);
        rd_kafka_event_destroy(event);
}

static void list_groups(void) {
        rd_kafka_AdminOptions_t *options = options_of(RD_KAFKA_ADMIN_OP_LISTGROUPS);
        rd_kafka_group_state_t empty[]   = {RD_KAFKA_GROUP_STATE_EMPTY};
        rd_kafka_group_type_t types[]    = {RD_KAFKA_GROUP_TYPE_SHARE, RD_KAFKA_GROUP_TYPE_CONSUMER};
        const char *protocols[]          = {"consumer"};
        const rd_kafka_GroupListing_t **groups;
        rd_kafka_event_t *event;
        size_t cnt = 0;

        check_listing(NULL, "classic consumer other share");
        CHECK(!rd_kafka_AdminOptions_set_match_group_states(options, empty, 1));
        check_listing(options, "other share");
        CHECK(!rd_kafka_AdminOptions_set_match_group_states(options, NULL, 0));
        CHECK(!rd_kafka_AdminOptions_set_match_group_types(options, types, 2));
        check_listing(options, "consumer other share");
        CHECK(!rd_kafka_AdminOptions_set_match_protocol_types(options, protocols, 1));
        check_listing(options, "consumer");
        rd_kafka_AdminOptions_destroy(options);

        rd_kafka_ListGroups(cluster, NULL, queue);
        event  = good(RD_KAFKA_EVENT_LISTGROUPS_RESULT, "ListGroupsResult");
        groups = rd_kafka_ListGroups_result_groups(rd_kafka_event_ListGroups_result(event), &cnt);
        REQUIRE(groups != NULL && cnt == 4);
        CHECK_STR(rd_kafka_GroupListing_protocol_type(groups[0]), "consumer");
        CHECK_INT(rd_kafka_GroupListing_type(groups[0]), RD_KAFKA_GROUP_TYPE_CLASSIC);
        CHECK_INT(rd_kafka_GroupListing_state(groups[0]), RD_KAFKA_GROUP_STATE_STABLE);
        CHECK_INT(rd_kafka_GroupListing_is_simple_consumer_group(groups[0]), 0);
        CHECK_INT(rd_kafka_GroupListing_type(groups[1]), RD_KAFKA_GROUP_TYPE_CONSUMER);
        CHECK_STR(rd_kafka_GroupListing_protocol_type(groups[3]), "share");
        CHECK_INT(rd_kafka_GroupListing_type(groups[3]), RD_KAFKA_GROUP_TYPE_SHARE);
        CHECK_INT(rd_kafka_GroupListing_state(groups[3]), RD_KAFKA_GROUP_STATE_EMPTY);
        rd_kafka_event_destroy(event);
}

static void describe_classic_groups(void) {
        const char *names[]              = {"none", "classic", "consumer"};
        rd_kafka_AdminOptions_t *options = options_of(RD_KAFKA_ADMIN_OP_DESCRIBECLASSICGROUPS);
        const rd_kafka_ClassicGroupDescription_t **groups;
        const rd_kafka_topic_partition_list_t *partitions;
        const rd_kafka_MemberDescription_t *m;
        rd_kafka_event_t *event;
        size_t cnt = 0;

        CHECK(!rd_kafka_AdminOptions_set_include_authorized_operations(options, 1));
        rd_kafka_DescribeClassicGroups(cluster, names, 3, options, queue);
        rd_kafka_AdminOptions_destroy(options);
        event = good(RD_KAFKA_EVENT_DESCRIBECLASSICGROUPS_RESULT, "DescribeClassicGroupsResult");
        CHECK(rd_kafka_event_DescribeShareGroups_result(event) == NULL);
        groups = rd_kafka_DescribeClassicGroups_result_groups(
            rd_kafka_event_DescribeClassicGroups_result(event), &cnt);
        REQUIRE(groups != NULL && cnt == 3);
        CHECK_STR(rd_kafka_ClassicGroupDescription_group_id(groups[0]), "none");
        CHECK_ERR(rd_kafka_error_code(rd_kafka_ClassicGroupDescription_error(groups[0])),
                  RD_KAFKA_RESP_ERR_GROUP_ID_NOT_FOUND);
        CHECK(rd_kafka_ClassicGroupDescription_coordinator(groups[0]) == NULL);
        CHECK_STR(rd_kafka_ClassicGroupDescription_protocol_type(groups[0]), "");
        CHECK_INT(rd_kafka_ClassicGroupDescription_is_simple_consumer_group(groups[0]), 0);
        CHECK_INT(rd_kafka_ClassicGroupDescription_member_count(groups[0]), 0);
        /* A group of another type. */
        CHECK_ERR(rd_kafka_error_code(rd_kafka_ClassicGroupDescription_error(groups[2])),
                  RD_KAFKA_RESP_ERR_GROUP_ID_NOT_FOUND);

        CHECK(rd_kafka_ClassicGroupDescription_error(groups[1]) == NULL);
        CHECK_STR(rd_kafka_ClassicGroupDescription_protocol_type(groups[1]), "consumer");
        CHECK_STR(rd_kafka_ClassicGroupDescription_protocol_data(groups[1]), "range");
        CHECK_INT(rd_kafka_ClassicGroupDescription_state(groups[1]), RD_KAFKA_GROUP_STATE_STABLE);
        CHECK_INT(rd_kafka_ClassicGroupDescription_is_simple_consumer_group(groups[1]), 0);
        CHECK(rd_kafka_Node_id(rd_kafka_ClassicGroupDescription_coordinator(groups[1])) > 0);
        CHECK(rd_kafka_ClassicGroupDescription_authorized_operations(groups[1], &cnt) != NULL);
        CHECK(cnt > 0);
        CHECK_INT(rd_kafka_ClassicGroupDescription_member_count(groups[1]), 1);
        CHECK(rd_kafka_ClassicGroupDescription_member(groups[1], 1) == NULL);
        m = rd_kafka_ClassicGroupDescription_member(groups[1], 0);
        REQUIRE(m != NULL);
        CHECK_STR(rd_kafka_MemberDescription_group_instance_id(m), "static");
        partitions = rd_kafka_MemberAssignment_partitions(rd_kafka_MemberDescription_assignment(m));
        REQUIRE(partitions != NULL);
        CHECK_INT(partitions->cnt, 4);
        CHECK(rd_kafka_MemberDescription_target_assignment(m) == NULL);
        rd_kafka_event_destroy(event);
}

/* Removes members, which must be one in the result with this error, and returns the result. */
static rd_kafka_event_t *remove_one(rd_kafka_RemoveMembersFromConsumerGroup_t *removal,
                                    rd_kafka_resp_err_t err,
                                    const rd_kafka_RemovedMember_t **member) {
        const rd_kafka_RemovedMember_t **members;
        rd_kafka_event_t *event;
        size_t cnt = 0;

        rd_kafka_RemoveMembersFromConsumerGroup(cluster, removal, NULL, queue);
        rd_kafka_RemoveMembersFromConsumerGroup_destroy(removal);
        event   = good(RD_KAFKA_EVENT_REMOVEMEMBERSFROMCONSUMERGROUP_RESULT,
                       "RemoveMembersFromConsumerGroupResult");
        members = rd_kafka_RemoveMembersFromConsumerGroup_result_members(
            rd_kafka_event_RemoveMembersFromConsumerGroup_result(event), &cnt);
        *member = CHECK(members != NULL && cnt == 1) ? members[0] : NULL;
        CHECK_ERR(rd_kafka_error_code(rd_kafka_RemovedMember_error(*member)), err);
        return event;
}

static void remove_members(void) {
        rd_kafka_RemoveMembersFromConsumerGroup_t *removal =
            rd_kafka_RemoveMembersFromConsumerGroup_new("classic");
        const rd_kafka_RemovedMember_t *member;
        rd_kafka_event_t *event;
        size_t cnt = 1;

        CHECK_OK(rd_kafka_RemoveMembersFromConsumerGroup_add_member(removal, "nobody"));
        event = remove_one(removal, RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID, &member);
        CHECK_STR(rd_kafka_RemovedMember_member_id(member), "nobody");
        CHECK(rd_kafka_RemovedMember_group_instance_id(member) == NULL);
        rd_kafka_event_destroy(event);

        removal = rd_kafka_RemoveMembersFromConsumerGroup_new("classic");
        CHECK_OK(rd_kafka_RemoveMembersFromConsumerGroup_add_static_member(removal, "static"));
        CHECK_OK(rd_kafka_RemoveMembersFromConsumerGroup_set_reason(removal, "maintenance"));
        event = remove_one(removal, RD_KAFKA_RESP_ERR_NO_ERROR, &member);
        CHECK(rd_kafka_RemovedMember_error(member) == NULL);
        CHECK(rd_kafka_RemovedMember_member_id(member) == NULL);
        CHECK_STR(rd_kafka_RemovedMember_group_instance_id(member), "static");
        CHECK(rd_kafka_event_ListGroups_result(event) == NULL);
        rd_kafka_event_destroy(event);

        /* All members of a group that does not exist. */
        removal = rd_kafka_RemoveMembersFromConsumerGroup_new("none");
        CHECK_OK(rd_kafka_RemoveMembersFromConsumerGroup_set_all_members(removal));
        rd_kafka_RemoveMembersFromConsumerGroup(cluster, removal, NULL, queue);
        rd_kafka_RemoveMembersFromConsumerGroup_destroy(removal);
        event = result_of(RD_KAFKA_EVENT_REMOVEMEMBERSFROMCONSUMERGROUP_RESULT,
                          "RemoveMembersFromConsumerGroupResult", RD_KAFKA_RESP_ERR_GROUP_ID_NOT_FOUND, NULL);
        CHECK(rd_kafka_RemoveMembersFromConsumerGroup_result_members(
                  rd_kafka_event_RemoveMembersFromConsumerGroup_result(event), &cnt) == NULL);
        CHECK_INT(cnt, 0);
        rd_kafka_event_destroy(event);
}

static void remove_all_members(void) {
        rd_kafka_RemoveMembersFromConsumerGroup_t *removal =
            rd_kafka_RemoveMembersFromConsumerGroup_new("dynamic");
        rd_kafka_t *c = admin_member(servers, "dynamic", NULL, "classic");
        char *id      = rd_kafka_memberid(c);
        const rd_kafka_RemovedMember_t *member;
        rd_kafka_event_t *event;

        CHECK_OK(rd_kafka_RemoveMembersFromConsumerGroup_set_all_members(removal));
        event = remove_one(removal, RD_KAFKA_RESP_ERR_NO_ERROR, &member);
        CHECK_STR(rd_kafka_RemovedMember_member_id(member), id);
        rd_kafka_event_destroy(event);
        rd_kafka_mem_free(c, id);
        rd_kafka_consumer_close(c);
        rd_kafka_destroy(c);
}

static void groups_with_members(void) {
        rd_kafka_t *classic  = admin_member(servers, "classic", "static", "classic");
        rd_kafka_t *consumer = admin_member(servers, "consumer", NULL, "consumer");

        list_groups();
        describe_classic_groups();
        remove_members();
        rd_kafka_consumer_close(classic);
        rd_kafka_consumer_close(consumer);
        rd_kafka_destroy(classic);
        rd_kafka_destroy(consumer);
}

/* ---- streams groups ------------------------------------------------------ */

/* The embedded cluster has none. */
static void describe_streams_groups(void) {
        const rd_kafka_StreamsGroupDescription_t **groups;
        rd_kafka_event_t *event;
        size_t cnt = 0;

        rd_kafka_DescribeStreamsGroups(cluster, none, 1, NULL, queue);
        event = good(RD_KAFKA_EVENT_DESCRIBESTREAMSGROUPS_RESULT, "DescribeStreamsGroupsResult");
        CHECK(rd_kafka_event_DescribeClassicGroups_result(event) == NULL);
        groups = rd_kafka_DescribeStreamsGroups_result_groups(
            rd_kafka_event_DescribeStreamsGroups_result(event), &cnt);
        REQUIRE(groups != NULL && cnt == 1);
        CHECK_STR(rd_kafka_StreamsGroupDescription_group_id(groups[0]), "none");
        CHECK_ERR(rd_kafka_error_code(rd_kafka_StreamsGroupDescription_error(groups[0])),
                  RD_KAFKA_RESP_ERR_GROUP_ID_NOT_FOUND);
        CHECK_INT(rd_kafka_StreamsGroupDescription_state(groups[0]), RD_KAFKA_GROUP_STATE_UNKNOWN);
        CHECK_INT(rd_kafka_StreamsGroupDescription_group_epoch(groups[0]), -1);
        CHECK_INT(rd_kafka_StreamsGroupDescription_assignment_epoch(groups[0]), -1);
        CHECK_INT(rd_kafka_StreamsGroupDescription_topology_epoch(groups[0]), -1);
        CHECK_INT(rd_kafka_StreamsGroupDescription_has_topology(groups[0]), 0);
        CHECK_INT(rd_kafka_StreamsGroupDescription_subtopology_count(groups[0]), 0);
        CHECK(rd_kafka_StreamsGroupDescription_subtopology(groups[0], 0) == NULL);
        CHECK(rd_kafka_StreamsGroupDescription_coordinator(groups[0]) == NULL);
        CHECK(rd_kafka_StreamsGroupDescription_authorized_operations(groups[0], &cnt) == NULL);
        CHECK_INT(cnt, 0);
        CHECK_INT(rd_kafka_StreamsGroupDescription_member_count(groups[0]), 0);
        CHECK(rd_kafka_StreamsGroupDescription_member(groups[0], 0) == NULL);
        rd_kafka_event_destroy(event);
}

/* ---- NULL, and results of other events ----------------------------------- */

static void handles_may_be_null(void) {
        size_t cnt = 1;

        CHECK(rd_kafka_RemovedMember_member_id(NULL) == NULL);
        CHECK(rd_kafka_RemovedMember_group_instance_id(NULL) == NULL);
        CHECK(rd_kafka_RemovedMember_error(NULL) == NULL);
        CHECK(rd_kafka_GroupListing_group_id(NULL) == NULL);
        CHECK(rd_kafka_GroupListing_protocol_type(NULL) == NULL);
        CHECK_INT(rd_kafka_GroupListing_is_simple_consumer_group(NULL), 0);
        CHECK_INT(rd_kafka_GroupListing_state(NULL), 0);
        CHECK_INT(rd_kafka_GroupListing_type(NULL), 0);
        CHECK(rd_kafka_ClassicGroupDescription_group_id(NULL) == NULL);
        CHECK(rd_kafka_ClassicGroupDescription_error(NULL) == NULL);
        CHECK(rd_kafka_ClassicGroupDescription_protocol_type(NULL) == NULL);
        CHECK(rd_kafka_ClassicGroupDescription_protocol_data(NULL) == NULL);
        CHECK_INT(rd_kafka_ClassicGroupDescription_is_simple_consumer_group(NULL), 0);
        CHECK_INT(rd_kafka_ClassicGroupDescription_state(NULL), 0);
        CHECK(rd_kafka_ClassicGroupDescription_coordinator(NULL) == NULL);
        CHECK(rd_kafka_ClassicGroupDescription_authorized_operations(NULL, NULL) == NULL);
        CHECK_INT(rd_kafka_ClassicGroupDescription_member_count(NULL), 0);
        CHECK(rd_kafka_ClassicGroupDescription_member(NULL, 0) == NULL);
        CHECK(rd_kafka_ShareGroupDescription_group_id(NULL) == NULL);
        CHECK(rd_kafka_ShareGroupDescription_error(NULL) == NULL);
        CHECK_INT(rd_kafka_ShareGroupDescription_state(NULL), 0);
        CHECK_INT(rd_kafka_ShareGroupDescription_group_epoch(NULL), -1);
        CHECK_INT(rd_kafka_ShareGroupDescription_assignment_epoch(NULL), -1);
        CHECK(rd_kafka_ShareGroupDescription_assignor(NULL) == NULL);
        CHECK(rd_kafka_ShareGroupDescription_coordinator(NULL) == NULL);
        CHECK(rd_kafka_ShareGroupDescription_authorized_operations(NULL, NULL) == NULL);
        CHECK_INT(rd_kafka_ShareGroupDescription_member_count(NULL), 0);
        CHECK(rd_kafka_ShareGroupDescription_member(NULL, 0) == NULL);
        CHECK(rd_kafka_ShareMemberDescription_member_id(NULL) == NULL);
        CHECK_INT(rd_kafka_ShareMemberDescription_member_epoch(NULL), -1);
        CHECK(rd_kafka_ShareMemberDescription_rack_id(NULL) == NULL);
        CHECK(rd_kafka_ShareMemberDescription_client_id(NULL) == NULL);
        CHECK(rd_kafka_ShareMemberDescription_host(NULL) == NULL);
        CHECK_INT(rd_kafka_ShareMemberDescription_subscribed_topic_count(NULL), 0);
        CHECK(rd_kafka_ShareMemberDescription_subscribed_topic(NULL, 0) == NULL);
        CHECK(rd_kafka_ShareMemberDescription_assignment(NULL) == NULL);
        CHECK(rd_kafka_ShareGroupOffsets_group_id(NULL) == NULL);
        CHECK(rd_kafka_ShareGroupOffsets_error(NULL) == NULL);
        CHECK(rd_kafka_ShareGroupOffsets_partitions(NULL, &cnt) == NULL);
        CHECK_INT(cnt, 0);
        CHECK(rd_kafka_ShareOffset_partition(NULL) == NULL);
        CHECK_INT(rd_kafka_ShareOffset_lag(NULL), -1);
        CHECK(rd_kafka_ShareOffset_error(NULL) == NULL);
        cnt = 1;
        CHECK(rd_kafka_DeletedShareGroupOffsets_group_id(NULL) == NULL);
        CHECK(rd_kafka_DeletedShareGroupOffsets_error(NULL) == NULL);
        CHECK(rd_kafka_DeletedShareGroupOffsets_topics(NULL, &cnt) == NULL);
        CHECK_INT(cnt, 0);
}

static void handles_of_streams_groups_may_be_null(void) {
        size_t cnt = 1;

        CHECK(rd_kafka_StreamsGroupDescription_group_id(NULL) == NULL);
        CHECK(rd_kafka_StreamsGroupDescription_error(NULL) == NULL);
        CHECK_INT(rd_kafka_StreamsGroupDescription_state(NULL), 0);
        CHECK_INT(rd_kafka_StreamsGroupDescription_group_epoch(NULL), -1);
        CHECK_INT(rd_kafka_StreamsGroupDescription_assignment_epoch(NULL), -1);
        CHECK_INT(rd_kafka_StreamsGroupDescription_topology_epoch(NULL), -1);
        CHECK_INT(rd_kafka_StreamsGroupDescription_has_topology(NULL), 0);
        CHECK_INT(rd_kafka_StreamsGroupDescription_subtopology_count(NULL), 0);
        CHECK(rd_kafka_StreamsGroupDescription_subtopology(NULL, 0) == NULL);
        CHECK(rd_kafka_StreamsGroupDescription_coordinator(NULL) == NULL);
        CHECK(rd_kafka_StreamsGroupDescription_authorized_operations(NULL, NULL) == NULL);
        CHECK_INT(rd_kafka_StreamsGroupDescription_member_count(NULL), 0);
        CHECK(rd_kafka_StreamsGroupDescription_member(NULL, 0) == NULL);
        CHECK(rd_kafka_StreamsSubtopology_id(NULL) == NULL);
        CHECK_INT(rd_kafka_StreamsSubtopology_source_topic_count(NULL), 0);
        CHECK(rd_kafka_StreamsSubtopology_source_topic(NULL, 0) == NULL);
        CHECK_INT(rd_kafka_StreamsSubtopology_repartition_sink_topic_count(NULL), 0);
        CHECK(rd_kafka_StreamsSubtopology_repartition_sink_topic(NULL, 0) == NULL);
        CHECK_INT(rd_kafka_StreamsSubtopology_state_changelog_topic_count(NULL), 0);
        CHECK(rd_kafka_StreamsSubtopology_state_changelog_topic(NULL, 0) == NULL);
        CHECK_INT(rd_kafka_StreamsSubtopology_repartition_source_topic_count(NULL), 0);
        CHECK(rd_kafka_StreamsSubtopology_repartition_source_topic(NULL, 0) == NULL);
        CHECK(rd_kafka_StreamsTopic_name(NULL) == NULL);
        CHECK_INT(rd_kafka_StreamsTopic_partition_count(NULL), 0);
        CHECK_INT(rd_kafka_StreamsTopic_replication_factor(NULL), 0);
        CHECK_INT(rd_kafka_StreamsTopic_config_count(NULL), 0);
        CHECK(rd_kafka_StreamsTopic_config_name(NULL, 0) == NULL);
        CHECK(rd_kafka_StreamsTopic_config_value(NULL, 0) == NULL);
        CHECK(rd_kafka_StreamsMember_member_id(NULL) == NULL);
        CHECK_INT(rd_kafka_StreamsMember_member_epoch(NULL), -1);
        CHECK(rd_kafka_StreamsMember_group_instance_id(NULL) == NULL);
        CHECK(rd_kafka_StreamsMember_rack_id(NULL) == NULL);
        CHECK(rd_kafka_StreamsMember_client_id(NULL) == NULL);
        CHECK(rd_kafka_StreamsMember_host(NULL) == NULL);
        CHECK_INT(rd_kafka_StreamsMember_topology_epoch(NULL), -1);
        CHECK(rd_kafka_StreamsMember_process_id(NULL) == NULL);
        CHECK(rd_kafka_StreamsMember_endpoint_host(NULL) == NULL);
        CHECK_INT(rd_kafka_StreamsMember_endpoint_port(NULL), 0);
        CHECK_INT(rd_kafka_StreamsMember_client_tag_count(NULL), 0);
        CHECK(rd_kafka_StreamsMember_client_tag_name(NULL, 0) == NULL);
        CHECK(rd_kafka_StreamsMember_client_tag_value(NULL, 0) == NULL);
        CHECK_INT(rd_kafka_StreamsMember_task_offset_count(NULL), 0);
        CHECK(rd_kafka_StreamsMember_task_offset(NULL, 0) == NULL);
        CHECK_INT(rd_kafka_StreamsMember_task_end_offset_count(NULL), 0);
        CHECK(rd_kafka_StreamsMember_task_end_offset(NULL, 0) == NULL);
        CHECK(rd_kafka_StreamsMember_assignment(NULL) == NULL);
        CHECK(rd_kafka_StreamsMember_target_assignment(NULL) == NULL);
        CHECK_INT(rd_kafka_StreamsMember_is_classic(NULL), 0);
        CHECK(rd_kafka_StreamsTaskOffset_subtopology_id(NULL) == NULL);
        CHECK_INT(rd_kafka_StreamsTaskOffset_partition(NULL), -1);
        CHECK_INT(rd_kafka_StreamsTaskOffset_offset(NULL), -1);
        CHECK_INT(rd_kafka_StreamsAssignment_active_count(NULL), 0);
        CHECK(rd_kafka_StreamsAssignment_active(NULL, 0) == NULL);
        CHECK_INT(rd_kafka_StreamsAssignment_standby_count(NULL), 0);
        CHECK(rd_kafka_StreamsAssignment_standby(NULL, 0) == NULL);
        CHECK_INT(rd_kafka_StreamsAssignment_warmup_count(NULL), 0);
        CHECK(rd_kafka_StreamsAssignment_warmup(NULL, 0) == NULL);
        CHECK(rd_kafka_StreamsTasks_subtopology_id(NULL) == NULL);
        CHECK(rd_kafka_StreamsTasks_partitions(NULL, &cnt) == NULL);
        CHECK_INT(cnt, 0);
}

#define CHECK_NOTHING(result_function, result)                                                     \
        do {                                                                                       \
                size_t nothing = 1;                                                                \
                CHECK(result_function(result, &nothing) == NULL);                                  \
                CHECK_INT(nothing, 0);                                                             \
        } while (0)

/* Every function of a result gets NULL, and the result of another call. */
static void results_of_other_calls_are_empty(void) {
        rd_kafka_event_t *other;
        int i;

        rd_kafka_DescribeCluster(cluster, NULL, queue);
        other = good(RD_KAFKA_EVENT_DESCRIBECLUSTER_RESULT, "DescribeClusterResult");
        for (i = 0; i < 2; i++) {
                rd_kafka_event_t *event = i ? other : NULL;
                CHECK(rd_kafka_event_RemoveMembersFromConsumerGroup_result(event) == NULL);
                CHECK(rd_kafka_event_ListGroups_result(event) == NULL);
                CHECK(rd_kafka_event_DescribeClassicGroups_result(event) == NULL);
                CHECK(rd_kafka_event_DescribeShareGroups_result(event) == NULL);
                CHECK(rd_kafka_event_ListShareGroupOffsets_result(event) == NULL);
                CHECK(rd_kafka_event_AlterShareGroupOffsets_result(event) == NULL);
                CHECK(rd_kafka_event_DeleteShareGroupOffsets_result(event) == NULL);
                CHECK(rd_kafka_event_DescribeStreamsGroups_result(event) == NULL);
                CHECK_NOTHING(rd_kafka_RemoveMembersFromConsumerGroup_result_members, event);
                CHECK_NOTHING(rd_kafka_ListGroups_result_groups, event);
                CHECK_NOTHING(rd_kafka_ListGroups_result_errors, event);
                CHECK_NOTHING(rd_kafka_DescribeClassicGroups_result_groups, event);
                CHECK_NOTHING(rd_kafka_DescribeShareGroups_result_groups, event);
                CHECK_NOTHING(rd_kafka_ListShareGroupOffsets_result_groups, event);
                CHECK_NOTHING(rd_kafka_AlterShareGroupOffsets_result_groups, event);
                CHECK_NOTHING(rd_kafka_DeleteShareGroupOffsets_result_groups, event);
                CHECK_NOTHING(rd_kafka_DescribeStreamsGroups_result_groups, event);
        }
        rd_kafka_event_destroy(other);
}

/* A client or a queue that is NULL. */
static void calls_without_a_client_or_a_queue_do_nothing(void) {
        int i;
        for (i = 0; i < 2; i++) {
                rd_kafka_t *rk         = i ? cluster : NULL;
                rd_kafka_queue_t *rkqu = i ? NULL : queue;
                rd_kafka_RemoveMembersFromConsumerGroup(rk, NULL, NULL, rkqu);
                rd_kafka_ListGroups(rk, NULL, rkqu);
                rd_kafka_DescribeClassicGroups(rk, none, 1, NULL, rkqu);
                rd_kafka_DescribeShareGroups(rk, none, 1, NULL, rkqu);
                rd_kafka_ListShareGroupOffsets(rk, NULL, 0, NULL, rkqu);
                rd_kafka_AlterShareGroupOffsets(rk, NULL, 0, NULL, rkqu);
                rd_kafka_DeleteShareGroupOffsets(rk, NULL, 0, NULL, rkqu);
                rd_kafka_DescribeStreamsGroups(rk, none, 1, NULL, rkqu);
                CHECK_ERR(rd_kafka_last_error(), RD_KAFKA_RESP_ERR__INVALID_ARG);
        }
        CHECK(rd_kafka_queue_poll(queue, 0) == NULL);
}

/* Without a broker each group has the error, and a listing one error. */
static void calls_without_a_broker_time_out(void) {
        rd_kafka_conf_t *conf = test_conf();
        const rd_kafka_StreamsGroupDescription_t **groups;
        const rd_kafka_error_t **errors;
        rd_kafka_AdminOptions_t *options;
        rd_kafka_event_t *event;
        rd_kafka_t *rk;
        size_t cnt = 0;

        test_set(conf, "bootstrap.servers", "127.0.0.1:1");
        rk      = test_client(RD_KAFKA_PRODUCER, conf);
        options = rd_kafka_AdminOptions_new(rk, RD_KAFKA_ADMIN_OP_ANY);
        CHECK_OK(rd_kafka_AdminOptions_set_request_timeout(options, 300, NULL, 0));
        rd_kafka_DescribeStreamsGroups(rk, none, 1, options, queue);
        event  = good(RD_KAFKA_EVENT_DESCRIBESTREAMSGROUPS_RESULT, "DescribeStreamsGroupsResult");
        groups = rd_kafka_DescribeStreamsGroups_result_groups(
            rd_kafka_event_DescribeStreamsGroups_result(event), &cnt);
        REQUIRE(groups != NULL && cnt == 1);
        CHECK_ERR(rd_kafka_error_code(rd_kafka_StreamsGroupDescription_error(groups[0])),
                  RD_KAFKA_RESP_ERR__TIMED_OUT);
        rd_kafka_event_destroy(event);

        rd_kafka_ListGroups(rk, options, queue);
        event = good(RD_KAFKA_EVENT_LISTGROUPS_RESULT, "ListGroupsResult");
        CHECK_NOTHING(rd_kafka_ListGroups_result_groups, rd_kafka_event_ListGroups_result(event));
        errors = rd_kafka_ListGroups_result_errors(rd_kafka_event_ListGroups_result(event), &cnt);
        REQUIRE(errors != NULL && cnt == 1);
        CHECK_ERR(rd_kafka_error_code(errors[0]), RD_KAFKA_RESP_ERR__TIMED_OUT);
        rd_kafka_event_destroy(event);
        rd_kafka_AdminOptions_destroy(options);
        rd_kafka_destroy(rk);
}

int main(void) {
        cluster = test_cluster(NULL, servers, sizeof(servers));
        queue   = rd_kafka_queue_new(cluster);
        CHECK_INT(test_produce(cluster, "t", 0, 0, 4), 0);
        RUN(states_and_types_have_names);
        RUN(options_are_checked);
        RUN(objects_are_checked);
        RUN(bad_removals_are_refused);
        RUN(bad_descriptions_are_refused);
        RUN(bad_offset_calls_are_refused);
        RUN(alter_share_offsets);
        RUN(list_share_offsets);
        RUN(describe_share_groups);
        RUN(groups_with_members);
        RUN(remove_all_members);
        RUN(delete_share_offsets);
        RUN(delete_share_groups);
        RUN(describe_streams_groups);
        RUN(handles_may_be_null);
        RUN(handles_of_streams_groups_may_be_null);
        RUN(results_of_other_calls_are_empty);
        RUN(calls_without_a_client_or_a_queue_do_nothing);
        RUN(calls_without_a_broker_time_out);
        rd_kafka_queue_destroy(queue);
        rd_kafka_destroy(cluster);
        return test_end();
}
