/*
 * Descriptions of streams groups in C++. The embedded cluster has no streams groups, so the test defines the C
 * functions of the description itself: they take the place of the library's. Each returns another text or number.
 */

#include "admin.hpp"

using ottla::admin::StreamsGroupDescription;

/** Defines a function that returns a value. */
#define VALUE(type, name, object, value)                                                           \
        type rd_kafka_##name(const rd_kafka_##object##_t *of) {                                    \
                (void)of;                                                                          \
                return value;                                                                      \
        }

/** Defines a function that returns a value by index. */
#define BY_INDEX(type, name, object, value)                                                        \
        type rd_kafka_##name(const rd_kafka_##object##_t *, size_t index) {                        \
                return index == 0 ? value : NULL;                                                  \
        }

/** Defines a list with one text. */
#define TEXT_LIST(name, object, value)                                                             \
        VALUE(size_t, name##_count, object, 1)                                                     \
        BY_INDEX(const char *, name, object, value)

/** An address that the functions of an object ignore; `number` distinguishes lists of the same type. */
template <class T>
const T *object(int number = 0) {
        static char bytes[8];
        return reinterpret_cast<const T *>(bytes + number);
}

/** Defines a list with one object. */
#define LIST(name, object_type, item_type, number)                                                 \
        VALUE(size_t, name##_count, object_type, 1)                                                \
        BY_INDEX(const rd_kafka_##item_type##_t *, name, object_type, object<rd_kafka_##item_type##_t>(number))

/** Returns the number of an object. */
template <class T>
int number_of(const T *of) {
        return static_cast<int>(reinterpret_cast<const char *>(of) -
                                reinterpret_cast<const char *>(object<T>()));
}

extern "C" {

VALUE(rd_kafka_group_state_t, StreamsGroupDescription_state, StreamsGroupDescription, RD_KAFKA_GROUP_STATE_NOT_READY)
VALUE(int32_t, StreamsGroupDescription_group_epoch, StreamsGroupDescription, 11)
VALUE(int32_t, StreamsGroupDescription_assignment_epoch, StreamsGroupDescription, 12)
VALUE(int32_t, StreamsGroupDescription_topology_epoch, StreamsGroupDescription, 13)
VALUE(int, StreamsGroupDescription_has_topology, StreamsGroupDescription, 1)
VALUE(const rd_kafka_Node_t *, StreamsGroupDescription_coordinator, StreamsGroupDescription, NULL)
LIST(StreamsGroupDescription_subtopology, StreamsGroupDescription, StreamsSubtopology, 0)
LIST(StreamsGroupDescription_member, StreamsGroupDescription, StreamsMember, 0)

const rd_kafka_AclOperation_t *
rd_kafka_StreamsGroupDescription_authorized_operations(const rd_kafka_StreamsGroupDescription_t *, size_t *cntp) {
        static const rd_kafka_AclOperation_t operations[] = {RD_KAFKA_ACL_OPERATION_READ};
        *cntp = 1;
        return operations;
}

VALUE(const char *, StreamsSubtopology_id, StreamsSubtopology, "subtopology")
TEXT_LIST(StreamsSubtopology_source_topic, StreamsSubtopology, "source")
TEXT_LIST(StreamsSubtopology_repartition_sink_topic, StreamsSubtopology, "sink")
LIST(StreamsSubtopology_state_changelog_topic, StreamsSubtopology, StreamsTopic, 0)
LIST(StreamsSubtopology_repartition_source_topic, StreamsSubtopology, StreamsTopic, 1)

VALUE(const char *, StreamsTopic_name, StreamsTopic, number_of(of) ? "repartition" : "changelog")
VALUE(int32_t, StreamsTopic_partition_count, StreamsTopic, 21)
VALUE(int, StreamsTopic_replication_factor, StreamsTopic, 3)
BY_INDEX(const char *, StreamsTopic_config_name, StreamsTopic, "cleanup.policy")
VALUE(size_t, StreamsTopic_config_count, StreamsTopic, 1)
BY_INDEX(const char *, StreamsTopic_config_value, StreamsTopic, "compact")

VALUE(const char *, StreamsMember_member_id, StreamsMember, "member")
VALUE(int32_t, StreamsMember_member_epoch, StreamsMember, 31)
VALUE(const char *, StreamsMember_group_instance_id, StreamsMember, "instance")
VALUE(const char *, StreamsMember_rack_id, StreamsMember, NULL)
VALUE(const char *, StreamsMember_client_id, StreamsMember, "client")
VALUE(const char *, StreamsMember_host, StreamsMember, "/127.0.0.1")
VALUE(int32_t, StreamsMember_topology_epoch, StreamsMember, 32)
VALUE(const char *, StreamsMember_process_id, StreamsMember, "process")
VALUE(const char *, StreamsMember_endpoint_host, StreamsMember, "localhost")
VALUE(uint16_t, StreamsMember_endpoint_port, StreamsMember, 7070)
VALUE(size_t, StreamsMember_client_tag_count, StreamsMember, 1)
BY_INDEX(const char *, StreamsMember_client_tag_name, StreamsMember, "zone")
BY_INDEX(const char *, StreamsMember_client_tag_value, StreamsMember, "a")
LIST(StreamsMember_task_offset, StreamsMember, StreamsTaskOffset, 0)
LIST(StreamsMember_task_end_offset, StreamsMember, StreamsTaskOffset, 1)
VALUE(const rd_kafka_StreamsAssignment_t *,
      StreamsMember_assignment,
      StreamsMember,
      object<rd_kafka_StreamsAssignment_t>(0))
VALUE(const rd_kafka_StreamsAssignment_t *,
      StreamsMember_target_assignment,
      StreamsMember,
      object<rd_kafka_StreamsAssignment_t>(1))
VALUE(int, StreamsMember_is_classic, StreamsMember, 1)

VALUE(const char *, StreamsTaskOffset_subtopology_id, StreamsTaskOffset, "subtopology")
VALUE(int32_t, StreamsTaskOffset_partition, StreamsTaskOffset, 2)
VALUE(int64_t, StreamsTaskOffset_offset, StreamsTaskOffset, number_of(of) ? 500 : 400)

/* The target assignment has no copies of state stores. */
VALUE(size_t, StreamsAssignment_active_count, StreamsAssignment, 1)
VALUE(size_t, StreamsAssignment_standby_count, StreamsAssignment, number_of(of) ? 0 : 1)
VALUE(size_t, StreamsAssignment_warmup_count, StreamsAssignment, 1)
BY_INDEX(const rd_kafka_StreamsTasks_t *, StreamsAssignment_active, StreamsAssignment, object<rd_kafka_StreamsTasks_t>(1))
BY_INDEX(const rd_kafka_StreamsTasks_t *, StreamsAssignment_standby, StreamsAssignment, object<rd_kafka_StreamsTasks_t>(2))
BY_INDEX(const rd_kafka_StreamsTasks_t *, StreamsAssignment_warmup, StreamsAssignment, object<rd_kafka_StreamsTasks_t>(3))
VALUE(const char *, StreamsTasks_subtopology_id, StreamsTasks, "subtopology")

const int32_t *rd_kafka_StreamsTasks_partitions(const rd_kafka_StreamsTasks_t *tasks, size_t *cntp) {
        static const int32_t numbers[] = {0, 1, 2, 3};
        *cntp = 2;
        return numbers + number_of(tasks) - 1;
}

} /* extern "C" */

static void the_group_and_its_topology_are_copied() {
        const StreamsGroupDescription group =
            ottla::admin::detail::streams_group(object<rd_kafka_StreamsGroupDescription_t>());
        CHECK_INT(group.state, RD_KAFKA_GROUP_STATE_NOT_READY);
        CHECK_INT(group.group_epoch, 11);
        CHECK_INT(group.assignment_epoch, 12);
        CHECK_INT(group.topology_epoch, 13);
        CHECK(group.has_topology);
        CHECK_INT(group.coordinator.id, -1);
        REQUIRE(group.authorized_operations.size() == 1 && group.subtopologies.size() == 1);
        const auto &part = group.subtopologies[0];
        CHECK_TEXT(part.id, "subtopology");
        CHECK(part.source_topics == std::vector<std::string>({"source"}));
        CHECK(part.repartition_sink_topics == std::vector<std::string>({"sink"}));
        REQUIRE(part.state_changelog_topics.size() == 1 && part.repartition_source_topics.size() == 1);
        CHECK_TEXT(part.state_changelog_topics[0].name, "changelog");
        const auto &topic = part.repartition_source_topics[0];
        CHECK_TEXT(topic.name, "repartition");
        CHECK_INT(topic.partitions, 21);
        CHECK_INT(topic.replication_factor, 3);
        REQUIRE(topic.configs.count("cleanup.policy") == 1);
        CHECK_TEXT(topic.configs.at("cleanup.policy"), "compact");
}

static void the_members_are_copied() {
        const StreamsGroupDescription group =
            ottla::admin::detail::streams_group(object<rd_kafka_StreamsGroupDescription_t>());
        REQUIRE(group.members.size() == 1);
        const auto &member = group.members[0];
        CHECK_TEXT(member.member_id, "member");
        CHECK_INT(member.member_epoch, 31);
        CHECK_TEXT(member.group_instance_id, "instance");
        CHECK_TEXT(member.rack_id, "");
        CHECK_TEXT(member.client_id, "client");
        CHECK_TEXT(member.host, "/127.0.0.1");
        CHECK_INT(member.topology_epoch, 32);
        CHECK_TEXT(member.process_id, "process");
        CHECK_TEXT(member.endpoint_host, "localhost");
        CHECK_INT(member.endpoint_port, 7070);
        REQUIRE(member.client_tags.count("zone") == 1);
        CHECK_TEXT(member.client_tags.at("zone"), "a");
        REQUIRE(member.task_offsets.size() == 1 && member.task_end_offsets.size() == 1);
        CHECK_TEXT(member.task_offsets[0].subtopology_id, "subtopology");
        CHECK_INT(member.task_offsets[0].partition, 2);
        CHECK_INT(member.task_offsets[0].offset, 400);
        CHECK_INT(member.task_end_offsets[0].offset, 500);
        CHECK(member.is_classic);
        const auto &tasks = member.assignment;
        REQUIRE(tasks.active.size() == 1 && tasks.standby.size() == 1 && tasks.warmup.size() == 1);
        CHECK_TEXT(tasks.active[0].subtopology_id, "subtopology");
        CHECK(tasks.active[0].partitions == std::vector<int32_t>({0, 1}));
        CHECK(tasks.standby[0].partitions == std::vector<int32_t>({1, 2}));
        CHECK(tasks.warmup[0].partitions == std::vector<int32_t>({2, 3}));
        CHECK(member.target_assignment.standby.empty() && member.target_assignment.active.size() == 1);
}

int main() {
        RUN(the_group_and_its_topology_are_copied);
        RUN(the_members_are_copied);
        return test_end();
}
