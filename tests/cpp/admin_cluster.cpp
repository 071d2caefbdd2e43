/* Admin operations of ottla_adminpp_cluster.h: log directories, reassignments, quotas, features, the metadata quorum. */

#include "admin.hpp"

using ottla::admin::BrokerReplica;
using ottla::admin::FeatureUpdate;
using ottla::admin::Features;
using ottla::admin::MetadataQuorum;
using ottla::admin::PartitionReassignment;
using ottla::admin::QuotaAlteration;
using ottla::admin::QuotaFilter;
using ottla::admin::ReplicaMove;
using ottla::admin::Uuid;

static void log_directories_are_described() {
        send_numbers(producer, "t", 0, 0, 5);
        auto brokers = must(admin().describe_log_dirs().wait());
        CHECK_INT(brokers.size(), 3);
        int64_t size = 0;
        int replicas = 0;
        for (const auto &broker : brokers) {
                CHECK_FINE(broker.second.error().code);
                for (const auto &dir : broker.second.value()) {
                        CHECK(!dir.path.empty() && !dir.error && !dir.is_cordoned);
                        CHECK(dir.total_bytes > 0 && dir.usable_bytes > 0);
                        for (const auto &replica : dir.replicas) {
                                CHECK_TEXT(replica.partition.topic, "t");
                                CHECK(!replica.is_future);
                                size += replica.size;
                                replicas++;
                        }
                }
        }
        CHECK(size > 0);
        CHECK_INT(replicas, 6);
        /* A broker that does not exist is awaited. */
        ottla::admin::Options soon;
        soon.request_timeout_ms = 4000;
        auto some               = must(admin().describe_log_dirs({2, 99}, soon).wait());
        REQUIRE(some.size() == 2);
        CHECK(some[0].first == 2 && some[0].second.ok());
        CHECK(some[1].first == 99 && !some[1].second.ok());
}

/** Returns the broker that has the first replica of a partition. */
static int32_t broker_of(int32_t partition) {
        auto topic = must(admin().describe_topics({"t"}).wait());
        return topic[0].second->partitions[partition].replicas[0].id;
}

/** Returns the paths of a broker's two directories, first the one with the replica of a partition. */
static std::vector<std::string> paths_of(const TopicPartition &partition, int32_t broker) {
        std::vector<std::string> paths;
        auto found = must(admin().describe_log_dirs({broker}, {partition}).wait());
        for (const auto &dir : found[0].second.value()) {
                for (const auto &replica : dir.replicas)
                        CHECK(replica.partition == partition);
                const bool has_replica = !dir.replicas.empty() && !dir.replicas[0].is_future;
                paths.insert(has_replica ? paths.begin() : paths.end(), dir.path);
        }
        return paths;
}

static void replicas_are_moved_to_other_log_directories() {
        const int32_t broker = broker_of(0);
        auto before          = paths_of(tp(0), broker);
        REQUIRE(before.size() == 2);
        const BrokerReplica replica(broker, tp(0)), other(broker, TopicPartition("nowhere", 0));
        const std::vector<ReplicaMove> moves = {{replica, before[1]}, {other, before[1]}};
        auto moved                           = must(admin().alter_replica_log_dirs(moves).wait());
        REQUIRE(moved.size() == 2);
        CHECK(moved[0].first == replica && moved[0].second.ok());
        CHECK(moved[1].first == other);
        CHECK_CODE(moved[1].second.error().code, RdKafka::ERR_UNKNOWN_TOPIC_OR_PART);
        const int64_t end = test_now_ms() + 20000;
        auto after        = paths_of(tp(0), broker);
        while (after[0] != before[1] && test_now_ms() < end) {
                test_sleep_ms(50);
                after = paths_of(tp(0), broker);
        }
        CHECK_TEXT(after[0], before[1]);
        CHECK_CODE(admin().alter_replica_log_dirs({{BrokerReplica(-1, tp(0)), "/a"}}).wait().error().code,
                   RdKafka::ERR__INVALID_ARG);
        CHECK_CODE(admin().alter_replica_log_dirs({}).wait().error().code, RdKafka::ERR__INVALID_ARG);
}

static void partitions_are_reassigned() {
        PartitionReassignment cancel;
        cancel.partition = tp(0);
        auto altered     = must(admin().alter_partition_reassignments({cancel}).wait());
        REQUIRE(altered.size() == 1);
        CHECK_CODE(altered[0].second.error().code, RdKafka::ERR_NO_REASSIGNMENT_IN_PROGRESS);
        PartitionReassignment move;
        move.partition = tp(1);
        move.replicas  = {1, 2, 3};
        altered        = must(admin().alter_partition_reassignments({move}, Options(), false).wait());
        REQUIRE(altered.size() == 1);
        CHECK_CODE(altered[0].second.error().code, RdKafka::ERR_INVALID_REPLICATION_FACTOR);
        move.replicas = {3, 2};
        altered       = must(admin().alter_partition_reassignments({move}).wait());
        CHECK(altered[0].first == tp(1) && altered[0].second.ok());
        int64_t end = test_now_ms() + 20000;
        while (!must(admin().list_partition_reassignments({tp(1)}).wait()).empty() && test_now_ms() < end)
                ;
        CHECK(must(admin().list_partition_reassignments().wait()).empty());
        auto topic = must(admin().describe_topics({"t"}).wait());
        auto moved = topic[0].second->partitions[1].replicas;
        REQUIRE(moved.size() == 2);
        CHECK(moved[0].id == 3 && moved[1].id == 2);
        move.replicas = {-1};
        CHECK_CODE(admin().alter_partition_reassignments({move}).wait().error().code,
                   RdKafka::ERR__INVALID_ARG);
        CHECK_CODE(admin().list_partition_reassignments({tp(1), tp(1)}).wait().error().code,
                   RdKafka::ERR__INVALID_ARG);
}

static size_t matching(const QuotaFilter &filter) {
        return must(admin().describe_client_quotas(filter).wait()).size();
}

static void quotas_are_altered_and_described_by_filters() {
        QuotaAlteration alice, all_clients, both;
        alice.entity       = {{"user", "alice"}};
        alice.set          = {{"producer_byte_rate", 1000}, {"consumer_byte_rate", 2000}};
        all_clients.entity = {{"client-id", ""}};
        all_clients.set    = {{"request_percentage", 50}};
        both.entity        = {{"user", "alice"}, {"client-id", "c"}};
        both.set           = {{"request_percentage", 25.5}};
        auto altered       = must(admin().alter_client_quotas({alice, all_clients, both}).wait());
        REQUIRE(altered.size() == 3);
        CHECK(altered[0].first == alice.entity && !altered.first_error());
        CHECK(altered[1].first == all_clients.entity);

        CHECK_INT(matching(QuotaFilter()), 3);
        CHECK_INT(matching(QuotaFilter().match_any("user")), 2);
        CHECK_INT(matching(QuotaFilter().match_name("user", "bob")), 0);
        CHECK_INT(matching(QuotaFilter().match_name("user", "alice").match_any("client-id")), 1);
        CHECK_INT(matching(QuotaFilter().match_default("user")), 0);
        CHECK_INT(matching(QuotaFilter().match_default("client-id")), 1);
        QuotaFilter strict = QuotaFilter().match_name("user", "alice");
        CHECK_INT(matching(strict), 2);
        strict.strict = true;
        auto found    = must(admin().describe_client_quotas(strict).wait());
        REQUIRE(found.size() == 1);
        CHECK(found[0].entity == alice.entity && found[0].quotas == alice.set);
        CHECK_CODE(admin().describe_client_quotas(strict.match_any("user")).wait().error().code,
                   RdKafka::ERR__INVALID_ARG);

        alice.set     = {};
        alice.removed = {"producer_byte_rate", "consumer_byte_rate"};
        both.set      = {};
        both.removed  = {"request_percentage"};
        must(admin().alter_client_quotas({alice, both}).wait());
        found = must(admin().describe_client_quotas().wait());
        REQUIRE(found.size() == 1);
        CHECK(found[0].entity == all_clients.entity);
        alice.removed = {""};
        CHECK_CODE(admin().alter_client_quotas({alice}).wait().error().code, RdKafka::ERR__INVALID_ARG);
}

static void resources_with_settings_are_listed_by_type() {
        auto some = must(
            admin().list_config_resources({RD_KAFKA_CONFIG_RESOURCE_BROKER, RD_KAFKA_CONFIG_RESOURCE_TOPIC}).wait());
        REQUIRE(some.size() == 4);
        CHECK_INT(some[0].type, RD_KAFKA_CONFIG_RESOURCE_TOPIC);
        CHECK_TEXT(some[0].name, "t");
        CHECK_INT(some[3].type, RD_KAFKA_CONFIG_RESOURCE_BROKER);
        CHECK_TEXT(some[3].name, "3");
        CHECK(must(admin().list_config_resources().wait()).size() > some.size());
        const auto unknown = static_cast<rd_kafka_ConfigResourceType_t>(99);
        CHECK_CODE(admin().list_config_resources({unknown}).wait().error().code,
                   RdKafka::ERR_UNSUPPORTED_VERSION);
}

static void features_are_described_and_updated() {
        const Features before = must(admin().describe_features().wait());
        REQUIRE(before.finalized.count("group.version") == 1);
        CHECK_INT(before.finalized.at("group.version").max_level, 1);
        CHECK(before.finalized_epoch >= 0);
        CHECK(before.supported.size() >= before.finalized.size());
        CHECK_INT(before.supported.at("group.version").max_level, 1);

        FeatureUpdate stop("group.version", 0, RD_KAFKA_FEATURE_SAFE_DOWNGRADE);
        Options validate;
        validate.validate_only = true;
        CHECK(!must(admin().update_features({stop}, validate).wait()).first_error());
        auto refused = must(admin().update_features({stop, FeatureUpdate("no.such.feature", 1)}).wait());
        REQUIRE(refused.size() == 2);
        CHECK_TEXT(refused[1].first, "no.such.feature");
        CHECK_CODE(refused[1].second.error().code, RdKafka::ERR_INVALID_UPDATE_VERSION);
        CHECK_INT(must(admin().describe_features().wait()).finalized_epoch, before.finalized_epoch);

        auto updated = must(admin().update_features({stop}).wait());
        REQUIRE(updated.size() == 1);
        CHECK(updated[0].first == "group.version" && updated[0].second.ok());
        const Features after = must(admin().describe_features().wait());
        CHECK_INT(after.finalized_epoch, before.finalized_epoch + 1);
        CHECK_INT(after.finalized.count("group.version"), 0);
        CHECK_CODE(admin().update_features({stop, stop}).wait().error().code, RdKafka::ERR__INVALID_ARG);
}

static void voters_are_described_removed_and_added() {
        const int inconsistent_cluster_id = 104;
        const MetadataQuorum before       = must(admin().describe_metadata_quorum().wait());
        CHECK_INT(before.leader_id, 1);
        CHECK_INT(before.leader_epoch, 1);
        CHECK(before.high_watermark > 0);
        REQUIRE(before.voters.size() == 3 && before.observers.empty());
        CHECK_INT(before.voters[2].id, 3);
        CHECK(before.voters[2].log_end_offset > 0 && before.voters[2].last_fetch_timestamp > 0);
        CHECK(before.voters[2].last_caught_up_timestamp > 0);
        REQUIRE(before.nodes.size() == 3 && before.nodes.at(3).size() == 1);
        CHECK_TEXT(before.nodes.at(3)[0].listener, "CONTROLLER");
        CHECK_TEXT(before.nodes.at(3)[0].host, "127.0.0.1");
        CHECK(before.nodes.at(3)[0].port > 0);

        const Uuid id = before.voters[2].directory_id;
        CHECK(!(id == Uuid()) && !(id == before.voters[1].directory_id));
        CHECK_INT(admin().remove_raft_voter(3, id, "another cluster").wait().error().code,
                  inconsistent_cluster_id);
        must(admin().remove_raft_voter(3, id).wait());
        const MetadataQuorum smaller = must(admin().describe_metadata_quorum().wait());
        REQUIRE(smaller.voters.size() == 2 && smaller.observers.size() == 1);
        CHECK(smaller.observers[0].directory_id == id);
        CHECK_INT(admin().remove_raft_voter(3, id).wait().error().code, RD_KAFKA_RESP_ERR_VOTER_NOT_FOUND);

        must(admin().add_raft_voter(3, id, before.nodes.at(3)).wait());
        CHECK_INT(must(admin().describe_metadata_quorum().wait()).voters.size(), 3);
        CHECK_INT(admin().add_raft_voter(3, id, before.nodes.at(3)).wait().error().code,
                  RD_KAFKA_RESP_ERR_DUPLICATE_VOTER);
        CHECK_INT(admin().add_raft_voter(3, id, before.nodes.at(3), "another cluster").wait().error().code,
                  inconsistent_cluster_id);
        CHECK_CODE(admin().add_raft_voter(3, id, {}).wait().error().code, RdKafka::ERR__INVALID_ARG);
        CHECK_CODE(admin().add_raft_voter(3, id, {{"L", "h", 0}}).wait().error().code,
                   RdKafka::ERR__INVALID_ARG);
}

/* The last case: broker 3 is gone. */
static void a_broker_is_unregistered() {
        const int not_registered = 102;
        Options at_1;
        at_1.broker = 1;
        CHECK_INT(admin().unregister_broker(77, at_1).wait().error().code, not_registered);
        must(admin().unregister_broker(3, at_1).wait());
        CHECK_INT(must(admin().describe_cluster(at_1).wait()).nodes.size(), 2);
        CHECK_CODE(admin().unregister_broker(-1).wait().error().code, RdKafka::ERR__INVALID_ARG);
}

int main() {
        producer = new_cluster();
        must(admin().create_topics({NewTopic("t", 3, 2)}).wait());
        RUN(log_directories_are_described);
        RUN(replicas_are_moved_to_other_log_directories);
        RUN(partitions_are_reassigned);
        RUN(quotas_are_altered_and_described_by_filters);
        RUN(resources_with_settings_are_listed_by_type);
        RUN(features_are_described_and_updated);
        RUN(voters_are_described_removed_and_added);
        RUN(a_broker_is_unregistered);
        producer.reset();
        return test_end();
}
