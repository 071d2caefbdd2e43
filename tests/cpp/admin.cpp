/* Admin operations of ottla_adminpp.h: each one with its results by key. */

#include "test.hpp"

#include <ottla_adminpp.h>

#include <set>

using ottla::admin::AclBinding;
using ottla::admin::AclFilter;
using ottla::admin::Admin;
using ottla::admin::ConfigChange;
using ottla::admin::ConfigChanges;
using ottla::admin::ConfigEntry;
using ottla::admin::ConfigQuery;
using ottla::admin::ConfigResource;
using ottla::admin::ConsumerGroupFilter;
using ottla::admin::NewPartitions;
using ottla::admin::NewTopic;
using ottla::admin::OffsetAndMetadata;
using ottla::admin::Options;
using ottla::admin::Result;
using ottla::admin::Results;
using ottla::admin::ScramAlteration;
using ottla::admin::TopicPartition;

static ProducerPtr producer;

static Admin admin() {
        return Admin(producer.get());
}

static Options options() {
        Options options;
        options.request_timeout_ms = 20000;
        return options;
}

static TopicPartition tp(int32_t partition) {
        return TopicPartition("t", partition);
}

/** Returns the value of a call that must succeed. */
template <class T>
T must(Result<T> result) {
        CHECK_TEXT(result.error().text, "");
        CHECK_FINE(result.error().code);
        return result.value();
}

/** Checks the key and the error of a row. */
template <class K, class V>
void check_row(const Results<K, V> &results, size_t index, const K &key, RdKafka::ErrorCode code) {
        REQUIRE(index < results.size());
        CHECK(results[index].first == key);
        CHECK_CODE(results[index].second.error().code, code);
        CHECK(results[index].second.error().text.empty() == results[index].second.ok());
}

/* ---- topics -------------------------------------------------------------- */

static void topics() {
        NewTopic a("a", 2, 1), b("b", -1, -1);
        a.configs.push_back({"retention.ms", "1000"});
        b.assignments = {{1, 2}, {2, 3}};
        b.partitions  = 2;
        auto created  = must(admin().create_topics({a, b}, options()).wait());
        REQUIRE(created.size() == 2);
        check_row<std::string>(created, 0, "a", RdKafka::ERR_NO_ERROR);
        check_row<std::string>(created, 1, "b", RdKafka::ERR_NO_ERROR);
        CHECK(!created.first_error());
        created = must(admin().create_topics({NewTopic("c", 1, 1), a}).wait());
        check_row<std::string>(created, 0, "c", RdKafka::ERR_NO_ERROR);
        check_row<std::string>(created, 1, "a", RdKafka::ERR_TOPIC_ALREADY_EXISTS);
        CHECK_CODE(created.first_error().code, RdKafka::ERR_TOPIC_ALREADY_EXISTS);

        auto grown = must(admin().create_partitions({NewPartitions("a", 5), NewPartitions("b", 1)}).wait());
        check_row<std::string>(grown, 0, "a", RdKafka::ERR_NO_ERROR);
        check_row<std::string>(grown, 1, "b", RdKafka::ERR_INVALID_PARTITIONS);

        Options authorized                       = options();
        authorized.include_authorized_operations = true;
        auto described = must(admin().describe_topics({"b", "nowhere"}, authorized).wait());
        check_row<std::string>(described, 0, "b", RdKafka::ERR_NO_ERROR);
        check_row<std::string>(described, 1, "nowhere", RdKafka::ERR_UNKNOWN_TOPIC_OR_PART);
        const ottla::admin::TopicDescription &topic = described[0].second.value();
        CHECK_TEXT(topic.name, "b");
        CHECK(!topic.topic_id.empty() && !topic.is_internal);
        CHECK(!topic.authorized_operations.empty());
        REQUIRE(topic.partitions.size() == 2);
        CHECK_INT(topic.partitions[1].partition, 1);
        CHECK_INT(topic.partitions[1].leader.id, 2);
        CHECK(topic.partitions[1].leader.port > 0);
        REQUIRE(topic.partitions[1].replicas.size() == 2 && !topic.partitions[1].isr.empty());
        CHECK_INT(topic.partitions[1].replicas[1].id, 3);

        auto deleted = must(admin().delete_topics({"nowhere", "a", "b", "c"}).wait());
        check_row<std::string>(deleted, 0, "nowhere", RdKafka::ERR_UNKNOWN_TOPIC_OR_PART);
        check_row<std::string>(deleted, 3, "c", RdKafka::ERR_NO_ERROR);
        CHECK(deleted.find("b") != NULL && deleted.find("b")->ok());
        CHECK(deleted.find("d") == NULL);
}

static void validation_creates_nothing() {
        Options validate       = options();
        validate.validate_only = true;
        must(admin().create_topics({NewTopic("unborn", 1, 1)}, validate).wait());
        auto described = must(admin().describe_topics({"unborn"}).wait());
        check_row<std::string>(described, 0, "unborn", RdKafka::ERR_UNKNOWN_TOPIC_OR_PART);
}

static void cluster_and_elections() {
        auto cluster = must(admin().describe_cluster().wait());
        CHECK(!cluster.cluster_id.empty());
        CHECK_INT(cluster.nodes.size(), 3);
        CHECK(cluster.controller.id >= 1);
        CHECK(cluster.authorized_operations.empty());

        std::vector<TopicPartition> partitions{tp(1), TopicPartition("nowhere", 0)};
        auto elected = must(admin().elect_leaders(RD_KAFKA_ELECTION_TYPE_PREFERRED, &partitions).wait());
        check_row(elected, 0, tp(1), RdKafka::ERR_ELECTION_NOT_NEEDED);
        check_row(elected, 1, TopicPartition("nowhere", 0), RdKafka::ERR_UNKNOWN_TOPIC_OR_PART);
        CHECK(must(admin().elect_leaders(RD_KAFKA_ELECTION_TYPE_UNCLEAN, NULL).wait()).empty());
}

static void offsets_and_records() {
        send_numbers(producer, "t", 0, 0, 5);
        auto listed = must(admin()
                               .list_offsets({{tp(0), RD_KAFKA_OFFSET_SPEC_LATEST},
                                              {tp(1), RD_KAFKA_OFFSET_SPEC_EARLIEST},
                                              {tp(99), RD_KAFKA_OFFSET_SPEC_LATEST}})
                               .wait());
        check_row(listed, 0, tp(0), RdKafka::ERR_NO_ERROR);
        CHECK_INT(listed[0].second->offset, 5);
        CHECK_INT(listed[0].second->timestamp, -1);
        CHECK_INT(listed[1].second->offset, 0);
        check_row(listed, 2, tp(99), RdKafka::ERR__UNKNOWN_PARTITION);

        auto deleted = must(admin().delete_records({{tp(0), 3}, {tp(1), 1}}).wait());
        check_row(deleted, 0, tp(0), RdKafka::ERR_NO_ERROR);
        CHECK_INT(deleted[0].second.value(), 3);
        check_row(deleted, 1, tp(1), RdKafka::ERR_OFFSET_OUT_OF_RANGE);
        Options committed        = options();
        committed.read_committed = true;
        listed = must(admin().list_offsets({{tp(0), RD_KAFKA_OFFSET_SPEC_EARLIEST}}, committed).wait());
        CHECK_INT(listed[0].second->offset, 3);
}

/* ---- settings ------------------------------------------------------------ */

static ConfigEntry retention(const ConfigResource &resource) {
        ConfigQuery query(resource);
        query.names    = {"retention.ms"};
        auto described = must(admin().describe_configs({query}).wait());
        if (described.size() != 1 || described[0].second->size() != 1)
                bail("not the setting that was requested");
        return described[0].second.value()[0];
}

static void settings() {
        const ConfigResource topic(RD_KAFKA_RESOURCE_TOPIC, "t"), missing(RD_KAFKA_RESOURCE_TOPIC, "nowhere");
        CHECK(retention(topic).is_default);
        ConfigChanges change(topic), of_missing(missing);
        change.changes.push_back(ConfigChange("retention.ms", "7000"));
        of_missing.changes.push_back(ConfigChange("retention.ms", "7000"));
        auto altered = must(admin().incremental_alter_configs({change, of_missing}).wait());
        check_row(altered, 0, topic, RdKafka::ERR_NO_ERROR);
        check_row(altered, 1, missing, RdKafka::ERR_UNKNOWN_TOPIC_OR_PART);
        ConfigEntry entry = retention(topic);
        CHECK_TEXT(entry.name, "retention.ms");
        CHECK_TEXT(entry.value, "7000");
        CHECK(entry.has_value && !entry.is_default && !entry.is_sensitive && !entry.is_read_only);
        CHECK_INT(entry.source, RD_KAFKA_CONFIG_SOURCE_DYNAMIC_TOPIC_CONFIG);
        CHECK(!entry.synonyms.empty());

        change.changes = {ConfigChange("retention.ms", "", RD_KAFKA_ALTER_CONFIG_OP_TYPE_DELETE)};
        must(admin().incremental_alter_configs({change}).wait());
        CHECK(retention(topic).is_default);
        CHECK_CODE(admin().alter_configs({change}).wait().error().code, RdKafka::ERR__INVALID_ARG);
        change.changes = {ConfigChange("retention.ms", "8000")};
        must(admin().alter_configs({change}).wait());
        CHECK_TEXT(retention(topic).value, "8000");

        auto whole = must(admin().describe_configs({topic, missing}).wait());
        CHECK(whole[0].second->size() > 1);
        check_row(whole, 1, missing, RdKafka::ERR_UNKNOWN_TOPIC_OR_PART);
        const ConfigResource one(RD_KAFKA_RESOURCE_BROKER, "1"), two(RD_KAFKA_RESOURCE_BROKER, "2");
        CHECK_CODE(admin().describe_configs({one, two}).wait().error().code, RdKafka::ERR__CONFLICT);
}

/* ---- groups -------------------------------------------------------------- */

static void committed_offsets() {
        OffsetAndMetadata noted(4);
        noted.leader_epoch = 0;
        noted.metadata     = std::string("a\0b", 3);
        auto altered = must(admin().alter_consumer_group_offsets("g", {{tp(0), noted}, {tp(99), 1}}).wait());
        check_row(altered, 0, tp(0), RdKafka::ERR_NO_ERROR);
        check_row(altered, 1, tp(99), RdKafka::ERR_UNKNOWN_TOPIC_OR_PART);

        Options stable        = options();
        stable.require_stable = true;
        auto listed =
            must(admin().list_consumer_group_offsets({{"g", {tp(1), tp(0)}}, {"other", {}}}, stable).wait());
        check_row<std::string>(listed, 0, "g", RdKafka::ERR_NO_ERROR);
        check_row<std::string>(listed, 1, "other", RdKafka::ERR_NO_ERROR);
        const auto &of_group = listed[0].second.value();
        check_row(of_group, 0, tp(1), RdKafka::ERR_NO_ERROR);
        CHECK_INT(of_group[0].second->offset, RD_KAFKA_OFFSET_INVALID);
        CHECK_INT(of_group[1].second->offset, 4);
        CHECK_INT(of_group[1].second->leader_epoch, 0);
        CHECK(of_group[1].second->metadata == noted.metadata);
        CHECK(listed[1].second->empty());

        auto deleted = must(admin().delete_consumer_group_offsets("g", {tp(0)}).wait());
        check_row(deleted, 0, tp(0), RdKafka::ERR_NO_ERROR);
        CHECK_CODE(admin().delete_consumer_group_offsets("none", {tp(0)}).wait().error().code,
                   RdKafka::ERR_GROUP_ID_NOT_FOUND);
}

static void groups() {
        must(admin().alter_consumer_group_offsets("empty", {{tp(0), 1}}).wait());
        ConsumerPtr consumer = new_consumer(consumer_conf(servers_of(producer), "live"));
        CHECK_FINE(consumer->subscribe({"t"}));
        CHECK(next_message(consumer) != NULL);

        auto all = must(admin().list_consumer_groups().wait());
        std::set<std::string> ids;
        for (const auto &group : all.groups)
                ids.insert(group.group_id);
        CHECK(all.errors.empty() && ids.count("live") && ids.count("empty"));
        ConsumerGroupFilter stable;
        stable.states = {RD_KAFKA_CONSUMER_GROUP_STATE_STABLE};
        all           = must(admin().list_consumer_groups(stable, options()).wait());
        REQUIRE(all.groups.size() == 1);
        CHECK_TEXT(all.groups[0].group_id, "live");
        CHECK(!all.groups[0].is_simple);
        CHECK_INT(all.groups[0].type, RD_KAFKA_CONSUMER_GROUP_TYPE_CLASSIC);
        ConsumerGroupFilter unknown;
        unknown.states = {RD_KAFKA_CONSUMER_GROUP_STATE_UNKNOWN};
        CHECK_CODE(admin().list_consumer_groups(unknown).wait().error().code, RdKafka::ERR__INVALID_ARG);

        auto described = must(admin().describe_consumer_groups({"none", "live"}).wait());
        check_row<std::string>(described, 0, "none", RdKafka::ERR_NO_ERROR);
        CHECK_INT(described[0].second->state, RD_KAFKA_CONSUMER_GROUP_STATE_DEAD);
        const ottla::admin::ConsumerGroupDescription &live = described[1].second.value();
        CHECK_TEXT(live.group_id, "live");
        CHECK_INT(live.state, RD_KAFKA_CONSUMER_GROUP_STATE_STABLE);
        CHECK(live.coordinator.id >= 1 && !live.partition_assignor.empty());
        REQUIRE(live.members.size() == 1);
        CHECK(!live.members[0].member_id.empty() && !live.members[0].client_id.empty());
        CHECK(!live.members[0].assignment.empty() && live.members[0].target_assignment.empty());

        auto deleted = must(admin().delete_consumer_groups({"live", "empty", "none"}).wait());
        check_row<std::string>(deleted, 0, "live", RdKafka::ERR_NON_EMPTY_GROUP);
        check_row<std::string>(deleted, 1, "empty", RdKafka::ERR_NO_ERROR);
        check_row<std::string>(deleted, 2, "none", RdKafka::ERR_GROUP_ID_NOT_FOUND);
        CHECK_FINE(consumer->close());
}

/* ---- security ------------------------------------------------------------ */

static void access_control() {
        AclBinding read;
        read.resource_type   = RD_KAFKA_RESOURCE_TOPIC;
        read.name            = "t";
        read.pattern_type    = RD_KAFKA_RESOURCE_PATTERN_LITERAL;
        read.principal       = "User:alice";
        read.host            = "*";
        read.operation       = RD_KAFKA_ACL_OPERATION_READ;
        read.permission_type = RD_KAFKA_ACL_PERMISSION_TYPE_ALLOW;
        AclBinding write     = read;
        write.operation      = RD_KAFKA_ACL_OPERATION_WRITE;
        auto created         = must(admin().create_acls({read, write}).wait());
        check_row(created, 0, read, RdKafka::ERR_NO_ERROR);
        check_row(created, 1, write, RdKafka::ERR_NO_ERROR);
        CHECK_CODE(admin().create_acls({AclBinding()}).wait().error().code, RdKafka::ERR__INVALID_ARG);

        CHECK_INT(must(admin().describe_acls(AclFilter()).wait()).size(), 2);
        AclFilter of_write;
        of_write.operation = RD_KAFKA_ACL_OPERATION_WRITE;
        auto found         = must(admin().describe_acls(of_write).wait());
        REQUIRE(found.size() == 1);
        CHECK(found[0] == write);

        AclFilter nothing = of_write;
        nothing.name      = "other";
        auto deleted      = must(admin().delete_acls({nothing, of_write}).wait());
        check_row(deleted, 0, nothing, RdKafka::ERR_NO_ERROR);
        CHECK(deleted[0].second->empty());
        check_row(deleted[1].second.value(), 0, write, RdKafka::ERR_NO_ERROR);
        CHECK_INT(must(admin().describe_acls(AclFilter()).wait()).size(), 1);
}

static void credentials() {
        ScramAlteration set("alice", RD_KAFKA_SCRAM_MECHANISM_SHA_256);
        ScramAlteration removed("bob", RD_KAFKA_SCRAM_MECHANISM_SHA_512);
        set.iterations = 4096;
        set.password   = "secret";
        auto altered   = must(admin().alter_user_scram_credentials({set, removed}).wait());
        check_row<std::string>(altered, 0, "alice", RdKafka::ERR_NO_ERROR);
        check_row<std::string>(altered, 1, "bob", RdKafka::ERR_RESOURCE_NOT_FOUND);
        auto described = must(admin().describe_user_scram_credentials({"bob", "alice"}).wait());
        check_row<std::string>(described, 0, "bob", RdKafka::ERR_RESOURCE_NOT_FOUND);
        check_row<std::string>(described, 1, "alice", RdKafka::ERR_NO_ERROR);
        REQUIRE(described[1].second->size() == 1);
        CHECK_INT(described[1].second.value()[0].mechanism, RD_KAFKA_SCRAM_MECHANISM_SHA_256);
        CHECK_INT(described[1].second.value()[0].iterations, 4096);
        CHECK_INT(must(admin().describe_user_scram_credentials({}).wait()).size(), 1);
        set.password = "";
        CHECK_CODE(admin().alter_user_scram_credentials({set}).wait().error().code,
                   RdKafka::ERR__INVALID_ARG);
}

/* ---- calls --------------------------------------------------------------- */

static void bad_arguments_are_errors_of_the_call() {
        auto refused = [](const ottla::admin::Error &error) {
                CHECK_CODE(error.code, RdKafka::ERR__INVALID_ARG);
                CHECK(!error.text.empty());
        };
        refused(admin().create_topics({}).wait().error());
        refused(admin().create_topics({NewTopic("", 1, 1)}).wait().error());
        refused(admin().create_partitions({NewPartitions("t", 0)}).wait().error());
        refused(admin().delete_topics({}).wait().error());
        refused(admin().delete_topics({"\xff"}).wait().error());
        refused(admin().describe_topics({"\xff"}).wait().error());
        refused(admin().delete_records({}).wait().error());
        refused(admin().list_offsets({{tp(0), 1}, {tp(0), 2}}).wait().error());
        refused(admin().describe_consumer_groups({"a", "a"}).wait().error());
        refused(admin().list_consumer_group_offsets({}).wait().error());
        refused(admin().alter_consumer_group_offsets("g", {}).wait().error());
        ConfigQuery nameless(ConfigResource(RD_KAFKA_RESOURCE_TOPIC, "t"));
        nameless.names = {""};
        refused(admin().describe_configs({nameless}).wait().error());
        Options wrong;
        wrong.request_timeout_ms = -2;
        refused(admin().describe_cluster(wrong).wait().error());
        wrong.request_timeout_ms = -1;
        wrong.broker             = -7;
        refused(admin().describe_cluster(wrong).wait().error());
}

static void calls_overlap_and_may_be_dropped() {
        std::vector<ottla::admin::Call<Admin::NameResults>> calls;
        for (int i = 0; i < 20; i++)
                calls.push_back(admin().create_topics({NewTopic("many" + std::to_string(i), 1, 1)}));
        admin().create_topics({NewTopic("dropped", 1, 1)});
        for (auto &call : calls)
                CHECK(!must(call.wait()).first_error());
        CHECK(calls[0].is_done());
        CHECK_CODE(calls[0].wait().error().code, RdKafka::ERR__STATE);
        int64_t end = test_now_ms() + 20000;
        while (!must(admin().describe_topics({"dropped"}).wait())[0].second.ok() && test_now_ms() < end)
                ;
        CHECK(must(admin().describe_topics({"dropped"}).wait())[0].second.ok());
}

static void a_call_without_a_broker_ends_at_its_timeout() {
        ConfPtr conf = new_conf();
        set(conf, "bootstrap.servers", "127.0.0.1:1");
        ProducerPtr lonely = new_producer(conf);
        Options soon;
        soon.request_timeout_ms = 200;
        int64_t begun           = test_now_ms();
        auto call               = Admin(lonely->c_ptr()).describe_cluster(soon);
        CHECK(!call.is_done());
        CHECK_CODE(call.wait().error().code, RdKafka::ERR__TIMED_OUT);
        CHECK(test_now_ms() - begun >= 200 && test_now_ms() - begun < 10000);
}

int main() {
        producer = new_cluster();
        must(admin().create_topics({NewTopic("t", 4, 3)}).wait());
        RUN(topics);
        RUN(validation_creates_nothing);
        RUN(cluster_and_elections);
        RUN(offsets_and_records);
        RUN(settings);
        RUN(committed_offsets);
        RUN(groups);
        RUN(access_control);
        RUN(credentials);
        RUN(bad_arguments_are_errors_of_the_call);
        RUN(calls_overlap_and_may_be_dropped);
        RUN(a_call_without_a_broker_ends_at_its_timeout);
        producer.reset();
        return test_end();
}
