/* Admin operations of ottla_adminpp_groups.h: groups of all types, their members, offsets of share groups. */

#include "admin.hpp"

using ottla::admin::GroupFilter;
using ottla::admin::GroupListings;
using ottla::admin::MembersToRemove;

static std::vector<std::string> listed(const GroupFilter &filter) {
        const GroupListings found = must(admin().list_groups(filter).wait());
        CHECK(found.errors.empty());
        std::vector<std::string> ids;
        for (const auto &group : found.groups)
                ids.push_back(group.group_id);
        return ids;
}

typedef std::vector<std::string> Ids;

static void classic_groups_are_listed_described_and_emptied() {
        ConsumerPtr consumer = new_consumer(consumer_conf(servers_of(producer), "g"));
        CHECK_FINE(consumer->subscribe({"t"}));
        CHECK(next_message(consumer) != NULL);
        const GroupListings all = must(admin().list_groups().wait());
        REQUIRE(all.groups.size() == 1 && all.errors.empty());
        CHECK_TEXT(all.groups[0].group_id, "g");
        CHECK_TEXT(all.groups[0].protocol_type, "consumer");
        CHECK_INT(all.groups[0].state, RD_KAFKA_GROUP_STATE_STABLE);
        CHECK_INT(all.groups[0].type, RD_KAFKA_GROUP_TYPE_CLASSIC);
        CHECK(!all.groups[0].is_simple);

        Options options;
        options.include_authorized_operations = true;
        auto groups = must(admin().describe_classic_groups({"none", "g"}, options).wait());
        REQUIRE(groups.size() == 2);
        CHECK(groups[0].first == "none" && groups[1].first == "g");
        CHECK_INT(groups[0].second.error().code, RD_KAFKA_RESP_ERR_GROUP_ID_NOT_FOUND);
        const auto &group = groups[1].second.value();
        CHECK_TEXT(group.protocol_type, "consumer");
        CHECK_TEXT(group.protocol, "range");
        CHECK_INT(group.state, RD_KAFKA_GROUP_STATE_STABLE);
        CHECK(!group.is_simple && group.coordinator.id >= 1 && !group.authorized_operations.empty());
        REQUIRE(group.members.size() == 1);
        CHECK(!group.members[0].member_id.empty());
        CHECK_INT(group.members[0].assignment.size(), 3);
        CHECK_CODE(admin().describe_classic_groups({}).wait().error().code, RdKafka::ERR__INVALID_ARG);

        MembersToRemove unknown;
        unknown.member_ids = {"other"};
        unknown.reason     = "test";
        auto removed       = must(admin().remove_members_from_consumer_group("g", unknown).wait());
        REQUIRE(removed.size() == 1);
        CHECK_TEXT(removed[0].first, "other");
        CHECK_CODE(removed[0].second.error().code, RdKafka::ERR_UNKNOWN_MEMBER_ID);
        unknown.member_ids = {""};
        CHECK_CODE(admin().remove_members_from_consumer_group("g", unknown).wait().error().code,
                   RdKafka::ERR__INVALID_ARG);
        removed = must(admin().remove_members_from_consumer_group("g").wait());
        REQUIRE(removed.size() == 1);
        CHECK(removed[0].second.ok() && !removed[0].first.empty());
        CHECK_FINE(consumer->close());
}

static void offsets_of_share_groups_are_set_and_listed() {
        auto altered = must(admin()
                                .alter_share_group_offsets({{"share", {{tp(0), 1}, {tp(1), 0}}},
                                                            {"other", {{tp(0), 2}, {TopicPartition("none", 0), 3}}}})
                                .wait());
        REQUIRE(altered.size() == 2);
        CHECK(altered[0].first == "share" && altered[0].second.ok());
        REQUIRE(altered[0].second->size() == 2);
        CHECK(!altered[0].second->first_error());
        REQUIRE(altered[1].second.ok() && altered[1].second->size() == 2);
        CHECK(altered[1].second->find(tp(0))->ok());
        CHECK_CODE(altered[1].second->find(TopicPartition("none", 0))->error().code,
                   RdKafka::ERR_UNKNOWN_TOPIC_OR_PART);
        CHECK_CODE(admin().alter_share_group_offsets({{"share", {{tp(0), -1}}}}).wait().error().code,
                   RdKafka::ERR__INVALID_ARG);

        auto listed = must(
            admin()
                .list_share_group_offsets({{"none", {}}, {"share", {}}, {"other", {TopicPartition("none", 0), tp(2)}}})
                .wait());
        REQUIRE(listed.size() == 3);
        CHECK_INT(listed[0].second.error().code, RD_KAFKA_RESP_ERR_GROUP_ID_NOT_FOUND);
        REQUIRE(listed[1].second.ok() && listed[1].second->size() == 2);
        const auto &offset = listed[1].second.value()[0];
        CHECK(offset.first == tp(0));
        CHECK_INT(offset.second->offset, 1);
        CHECK_INT(offset.second->leader_epoch, 0);
        /* Of the five messages one is before the start. */
        CHECK_INT(offset.second->lag, 4);
        REQUIRE(listed[2].second.ok() && listed[2].second->size() == 2);
        CHECK_CODE(listed[2].second.value()[0].second.error().code, RdKafka::ERR_UNKNOWN_TOPIC_OR_PART);
        CHECK_INT(listed[2].second.value()[1].second->offset, RD_KAFKA_OFFSET_INVALID);
        CHECK(listed[2].second.value()[1].second.ok());
}

static void share_groups_are_described() {
        Options options;
        options.include_authorized_operations = true;
        auto groups = must(admin().describe_share_groups({"share", "g"}, options).wait());
        REQUIRE(groups.size() == 2);
        const auto &group = groups[0].second.value();
        CHECK(groups[0].first == "share" && groups[0].second.ok());
        CHECK_INT(group.state, RD_KAFKA_GROUP_STATE_EMPTY);
        CHECK_INT(group.group_epoch, 1);
        CHECK(group.assignment_epoch >= 0 && group.assignment_epoch <= group.group_epoch);
        CHECK_TEXT(group.assignor, "simple");
        CHECK(group.coordinator.id >= 1 && group.members.empty() && !group.authorized_operations.empty());
        CHECK_INT(groups[1].second.error().code, RD_KAFKA_RESP_ERR_GROUP_ID_NOT_FOUND);
}

static void groups_are_listed_by_every_filter() {
        GroupFilter by_state, by_type, by_protocol;
        CHECK(listed(GroupFilter()) == Ids({"g", "other", "share"}));
        by_state.states = {RD_KAFKA_GROUP_STATE_EMPTY};
        CHECK(listed(by_state) == Ids({"g", "other", "share"}));
        by_state.states = {RD_KAFKA_GROUP_STATE_STABLE};
        CHECK(listed(by_state).empty());
        by_type.types = {RD_KAFKA_GROUP_TYPE_SHARE};
        CHECK(listed(by_type) == Ids({"other", "share"}));
        by_protocol.protocol_types = {"consumer", "connect"};
        CHECK(listed(by_protocol) == Ids({"g"}));
        by_protocol.types = {RD_KAFKA_GROUP_TYPE_SHARE};
        CHECK(listed(by_protocol).empty());
        by_state.states = {RD_KAFKA_GROUP_STATE_UNKNOWN};
        CHECK_CODE(admin().list_groups(by_state).wait().error().code, RdKafka::ERR__INVALID_ARG);
        by_type.types = {RD_KAFKA_GROUP_TYPE_SHARE, RD_KAFKA_GROUP_TYPE_SHARE};
        CHECK_CODE(admin().list_groups(by_type).wait().error().code, RdKafka::ERR__INVALID_ARG);
        by_protocol.protocol_types = {"\xff"};
        CHECK_CODE(admin().list_groups(by_protocol).wait().error().code, RdKafka::ERR__INVALID_ARG);
}

static void offsets_of_share_groups_are_deleted() {
        auto deleted =
            must(admin().delete_share_group_offsets({{"none", {"t"}}, {"share", {"nowhere", "t"}}}).wait());
        REQUIRE(deleted.size() == 2);
        CHECK(deleted[0].first == "none" && deleted[1].first == "share");
        CHECK_INT(deleted[0].second.error().code, RD_KAFKA_RESP_ERR_GROUP_ID_NOT_FOUND);
        REQUIRE(deleted[1].second.ok() && deleted[1].second->size() == 2);
        CHECK_CODE(deleted[1].second->find("nowhere")->error().code, RdKafka::ERR_UNKNOWN_TOPIC_OR_PART);
        CHECK(deleted[1].second->find("t")->ok());
        auto listed = must(admin().list_share_group_offsets({{"share", {}}}).wait());
        REQUIRE(listed.size() == 1 && listed[0].second.ok());
        CHECK(listed[0].second->empty());
        CHECK_CODE(admin().delete_share_group_offsets({{"share", {}}}).wait().error().code,
                   RdKafka::ERR__INVALID_ARG);
}

/* The embedded cluster has no streams groups. */
static void a_streams_group_that_does_not_exist_has_an_error() {
        auto groups = must(admin().describe_streams_groups({"none", "g"}).wait());
        REQUIRE(groups.size() == 2);
        CHECK(groups[0].first == "none" && groups[1].first == "g");
        CHECK_INT(groups[0].second.error().code, RD_KAFKA_RESP_ERR_GROUP_ID_NOT_FOUND);
        CHECK_INT(groups[0].second->state, RD_KAFKA_GROUP_STATE_UNKNOWN);
        CHECK(groups[0].second->members.empty() && !groups[0].second->has_topology);
        CHECK(!groups[1].second.ok());
        CHECK_CODE(admin().describe_streams_groups({"a", "a"}).wait().error().code, RdKafka::ERR__INVALID_ARG);
}

int main() {
        producer = new_cluster();
        must(admin().create_topics({NewTopic("t", 3, 2)}).wait());
        send_numbers(producer, "t", 0, 0, 5);
        RUN(classic_groups_are_listed_described_and_emptied);
        RUN(offsets_of_share_groups_are_set_and_listed);
        RUN(share_groups_are_described);
        RUN(groups_are_listed_by_every_filter);
        RUN(offsets_of_share_groups_are_deleted);
        RUN(a_streams_group_that_does_not_exist_has_an_error);
        producer.reset();
        return test_end();
}
