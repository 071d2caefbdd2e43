/* Admin operations of ottla_adminpp_extended.h, which librdkafka does not have. */

#include "test.hpp"

#include <ottla_adminpp_extended.h>

using ottla::admin::ExtendedAdmin;
using ottla::admin::MembersToRemove;
using ottla::admin::NewTopic;
using ottla::admin::PartitionReassignment;
using ottla::admin::QuotaAlteration;
using ottla::admin::QuotaEntity;
using ottla::admin::Result;
using ottla::admin::TopicPartition;
using ottla::admin::TransactionFilter;

static ProducerPtr producer;

static ExtendedAdmin admin() {
        return ExtendedAdmin(producer.get());
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

static void log_directories() {
        send_numbers(producer, "t", 0, 0, 5);
        auto brokers = must(admin().describe_log_dirs().wait());
        CHECK_INT(brokers.size(), 3);
        int64_t size = 0;
        int replicas = 0;
        for (const auto &broker : brokers) {
                CHECK_FINE(broker.second.error().code);
                for (const auto &dir : broker.second.value()) {
                        CHECK(!dir.path.empty() && !dir.error);
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
        soon.request_timeout_ms = 1000;
        auto some               = must(admin().describe_log_dirs({2, 99}, soon).wait());
        REQUIRE(some.size() == 2);
        CHECK(some[0].first == 2 && some[0].second.ok());
        CHECK(some[1].first == 99 && !some[1].second.ok());
}

static void reassignments() {
        PartitionReassignment cancel;
        cancel.partition = tp(0);
        auto altered     = must(admin().alter_partition_reassignments({cancel}).wait());
        REQUIRE(altered.size() == 1);
        CHECK_CODE(altered[0].second.error().code, RdKafka::ERR_NO_REASSIGNMENT_IN_PROGRESS);
        PartitionReassignment move;
        move.partition = tp(1);
        move.replicas  = {3, 2};
        altered        = must(admin().alter_partition_reassignments({move}).wait());
        CHECK(altered[0].first == tp(1) && altered[0].second.ok());
        int64_t end = test_now_ms() + 20000;
        while (!must(admin().list_partition_reassignments().wait()).empty() && test_now_ms() < end)
                ;
        auto topic = must(admin().describe_topics({"t"}).wait());
        auto moved = topic[0].second->partitions[1].replicas;
        REQUIRE(moved.size() == 2);
        CHECK(moved[0].id == 3 && moved[1].id == 2);
        move.replicas = {-1};
        CHECK_CODE(admin().alter_partition_reassignments({move}).wait().error().code,
                   RdKafka::ERR__INVALID_ARG);
}

static void quotas() {
        QuotaAlteration alice, all_clients;
        alice.entity       = {{"user", "alice"}};
        alice.set          = {{"producer_byte_rate", 1000}, {"consumer_byte_rate", 2000}};
        all_clients.entity = {{"client-id", ""}};
        all_clients.set    = {{"request_percentage", 50}};
        auto altered       = must(admin().alter_client_quotas({alice, all_clients}).wait());
        REQUIRE(altered.size() == 2);
        CHECK(altered[0].first == alice.entity && !altered.first_error());
        CHECK(altered[1].first == all_clients.entity);
        auto found = must(admin().describe_client_quotas({"user"}).wait());
        REQUIRE(found.size() == 1);
        CHECK(found[0].entity == alice.entity && found[0].quotas == alice.set);
        alice.set     = {};
        alice.removed = {"producer_byte_rate", "consumer_byte_rate"};
        must(admin().alter_client_quotas({alice}).wait());
        found = must(admin().describe_client_quotas().wait());
        REQUIRE(found.size() == 1);
        CHECK(found[0].entity == all_clients.entity);
        alice.removed = {""};
        CHECK_CODE(admin().alter_client_quotas({alice}).wait().error().code, RdKafka::ERR__INVALID_ARG);
        CHECK_CODE(admin().describe_client_quotas({"user", "user"}).wait().error().code,
                   RdKafka::ERR__INVALID_ARG);
}

static void transactions() {
        ConfPtr conf = new_conf();
        set(conf, "bootstrap.servers", servers_of(producer));
        set(conf, "transactional.id", "tx");
        ProducerPtr writer = new_producer(conf);
        std::unique_ptr<RdKafka::Error> error(writer->init_transactions(20000));
        CHECK(!error);
        error.reset(writer->begin_transaction());
        CHECK(!error);
        CHECK_FINE(send(writer, "t", 2, "open"));
        CHECK_FINE(writer->flush(20000));

        TransactionFilter ongoing;
        ongoing.states = {RD_KAFKA_TRANSACTION_STATE_ONGOING};
        auto listed    = must(admin().list_transactions(ongoing).wait());
        CHECK(listed.errors.empty());
        REQUIRE(listed.transactions.size() == 1);
        CHECK_TEXT(listed.transactions[0].transactional_id, "tx");
        CHECK(listed.transactions[0].coordinator >= 1);
        ongoing.longer_than_ms = -5;
        CHECK_CODE(admin().list_transactions(ongoing).wait().error().code, RdKafka::ERR__INVALID_ARG);

        auto described = must(admin().describe_transactions({"none", "tx"}).wait());
        REQUIRE(described.size() == 2);
        CHECK_INT(described[0].second.error().code, RD_KAFKA_RESP_ERR_TRANSACTIONAL_ID_NOT_FOUND);
        CHECK_INT(described[1].second->state, RD_KAFKA_TRANSACTION_STATE_ONGOING);
        CHECK(described[1].second->start_timestamp > 0 && described[1].second->timeout_ms > 0);
        REQUIRE(described[1].second->partitions.size() == 1);
        CHECK(described[1].second->partitions[0] == tp(2));

        auto producers = must(admin().describe_producers({tp(2), tp(99)}).wait());
        REQUIRE(producers.size() == 2 && producers[0].second->size() == 1);
        CHECK_INT(producers[0].second.value()[0].producer_id, described[1].second->producer_id);
        CHECK_INT(producers[0].second.value()[0].transaction_start_offset, 0);
        CHECK_CODE(producers[1].second.error().code, RdKafka::ERR__UNKNOWN_PARTITION);

        must(admin().force_terminate_transaction("tx").wait());
        error.reset(writer->commit_transaction(20000));
        CHECK(error != NULL);
        auto fenced = must(admin().fence_producers({"tx"}).wait());
        REQUIRE(fenced.size() == 1 && fenced[0].second.ok());
        CHECK(fenced[0].second->producer_id >= 0 && fenced[0].second->producer_epoch >= 0);
        CHECK_CODE(admin().fence_producers({}).wait().error().code, RdKafka::ERR__INVALID_ARG);
}

static void members() {
        ConsumerPtr consumer = new_consumer(consumer_conf(servers_of(producer), "g"));
        CHECK_FINE(consumer->subscribe({"t"}));
        CHECK(next_message(consumer) != NULL);
        auto all = must(admin().list_groups().wait());
        REQUIRE(all.groups.size() == 1 && all.errors.empty());
        CHECK_TEXT(all.groups[0].group_id, "g");
        CHECK_TEXT(all.groups[0].protocol_type, "consumer");
        CHECK_INT(all.groups[0].state, RD_KAFKA_GROUP_STATE_STABLE);
        CHECK_INT(all.groups[0].type, RD_KAFKA_GROUP_TYPE_CLASSIC);

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

int main() {
        producer = new_cluster();
        must(admin().create_topics({NewTopic("t", 3, 2)}).wait());
        RUN(log_directories);
        RUN(reassignments);
        RUN(quotas);
        RUN(transactions);
        RUN(members);
        producer.reset();
        return test_end();
}
