/* Admin operations of ottla_adminpp_transactions.h: transactions, producers of partitions, delegation tokens. */

#include "admin.hpp"

using ottla::admin::AbortTransaction;
using ottla::admin::DelegationToken;
using ottla::admin::NewDelegationToken;
using ottla::admin::Principal;
using ottla::admin::ProducerState;
using ottla::admin::TransactionFilter;

/** Returns a producer with an open transaction in a partition of "t". */
static ProducerPtr transaction(const std::string &id, int32_t partition) {
        ConfPtr conf = new_conf();
        set(conf, "bootstrap.servers", servers_of(producer));
        set(conf, "transactional.id", id);
        ProducerPtr writer = new_producer(conf);
        std::unique_ptr<RdKafka::Error> error(writer->init_transactions(20000));
        CHECK(!error);
        error.reset(writer->begin_transaction());
        CHECK(!error);
        CHECK_FINE(send(writer, "t", partition, "open"));
        CHECK_FINE(writer->flush(20000));
        return writer;
}

/** Returns the ids that are listed. */
static std::vector<std::string> listed(const TransactionFilter &filter) {
        auto found = must(admin().list_transactions(filter).wait());
        CHECK(found.errors.empty());
        std::vector<std::string> ids;
        for (const auto &row : found.transactions)
                ids.push_back(row.transactional_id);
        return ids;
}

typedef std::vector<std::string> Ids;

static void transactions_are_listed_by_every_filter() {
        ProducerPtr a = transaction("list-a", 0), b = transaction("list-b", 0);
        std::unique_ptr<RdKafka::Error> error(b->commit_transaction(20000));
        CHECK(!error);
        auto all = must(admin().list_transactions().wait());
        REQUIRE(all.transactions.size() == 2 && all.errors.empty());
        CHECK_INT(all.transactions[0].state, RD_KAFKA_TRANSACTION_STATE_ONGOING);
        CHECK(all.transactions[0].coordinator >= 1);

        TransactionFilter by_state, by_producer, by_duration, by_pattern;
        by_state.states          = {RD_KAFKA_TRANSACTION_STATE_ONGOING};
        by_producer.producer_ids = {all.transactions[1].producer_id};
        CHECK(listed(by_state) == Ids({"list-a"}));
        CHECK(listed(by_producer) == Ids({"list-b"}));
        by_duration.longer_than_ms = 3600000;
        CHECK(listed(by_duration).empty());
        /* Both began at least a millisecond ago, which is longer than 0. */
        test_sleep_ms(5);
        by_duration.longer_than_ms = 0;
        CHECK(listed(by_duration) == Ids({"list-a", "list-b"}));
        by_pattern.transactional_id_pattern = "list-[b-z]";
        CHECK(listed(by_pattern) == Ids({"list-b"}));
        by_pattern.states = {RD_KAFKA_TRANSACTION_STATE_ONGOING};
        CHECK(listed(by_pattern).empty());

        /* Each broker rejects the pattern. */
        by_pattern.transactional_id_pattern = "(";
        auto refused                        = must(admin().list_transactions(by_pattern).wait());
        REQUIRE(refused.errors.size() == 3);
        CHECK_INT(refused.errors[0].code, RD_KAFKA_RESP_ERR_INVALID_REGULAR_EXPRESSION);
        by_duration.longer_than_ms = -5;
        CHECK_CODE(admin().list_transactions(by_duration).wait().error().code, RdKafka::ERR__INVALID_ARG);
        by_pattern.transactional_id_pattern = "\xff";
        CHECK_CODE(admin().list_transactions(by_pattern).wait().error().code, RdKafka::ERR__INVALID_ARG);
        error.reset(a->abort_transaction(20000));
        CHECK(!error);
}

static void transactions_are_described_terminated_and_fenced() {
        ProducerPtr writer = transaction("tx", 2);
        auto described     = must(admin().describe_transactions({"none", "tx"}).wait());
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
        std::unique_ptr<RdKafka::Error> error(writer->commit_transaction(20000));
        CHECK(error != NULL);
        auto fenced = must(admin().fence_producers({"tx"}).wait());
        REQUIRE(fenced.size() == 1 && fenced[0].second.ok());
        CHECK(fenced[0].second->producer_id >= 0 && fenced[0].second->producer_epoch >= 0);
        CHECK_CODE(admin().fence_producers({}).wait().error().code, RdKafka::ERR__INVALID_ARG);
}

/** Returns the producer whose transaction is open in partition 1; its id is -1 if none is. */
static ProducerState open_producer() {
        auto partitions = must(admin().describe_producers({tp(1)}).wait());
        for (const ProducerState &state : partitions[0].second.value())
                if (state.transaction_start_offset >= 0)
                        return state;
        return {-1, -1, -1, -1, -1, -1};
}

static void a_transaction_is_aborted_in_one_partition() {
        ProducerPtr writer        = transaction("hanging", 1);
        const ProducerState state = open_producer();
        REQUIRE(state.producer_id >= 0);
        CHECK_CODE(admin()
                       .abort_transaction(AbortTransaction(TopicPartition("none", 0), state))
                       .wait()
                       .error()
                       .code,
                   RdKafka::ERR_UNKNOWN_TOPIC_OR_PART);
        CHECK_CODE(admin().abort_transaction(AbortTransaction(tp(1), -1, 0, 0)).wait().error().code,
                   RdKafka::ERR__INVALID_ARG);
        must(admin().abort_transaction(AbortTransaction(tp(1), state)).wait());
        CHECK_INT(open_producer().producer_id, -1);
        must(admin().force_terminate_transaction("hanging").wait());
}

/* ---- delegation tokens --------------------------------------------------- */

static void a_client_without_authentication_has_no_tokens() {
        const RdKafka::ErrorCode code = RdKafka::ERR_DELEGATION_TOKEN_REQUEST_NOT_ALLOWED;
        CHECK_CODE(admin().create_delegation_token().wait().error().code, code);
        CHECK_CODE(admin().renew_delegation_token("x").wait().error().code, code);
        CHECK_CODE(admin().expire_delegation_token("x").wait().error().code, code);
        CHECK_CODE(admin().describe_delegation_token().wait().error().code, code);
        CHECK_CODE(admin().renew_delegation_token("").wait().error().code, RdKafka::ERR__INVALID_ARG);
}

/** Returns a client with its own cluster, which authenticates the user alice. */
static ProducerPtr authenticated() {
        ConfPtr conf = new_conf();
        set(conf, "test.mock.sasl.mechanisms", "PLAIN");
        set(conf, "test.mock.sasl.users", "alice:secret");
        set(conf, "security.protocol", "sasl_plaintext");
        set(conf, "sasl.mechanisms", "PLAIN");
        set(conf, "sasl.username", "alice");
        set(conf, "sasl.password", "secret");
        return new_cluster(conf);
}

static void tokens_are_created_renewed_described_and_expired() {
        ProducerPtr client = authenticated();
        ExtendedAdmin admin(client.get());
        NewDelegationToken own, carols;
        own.renewers               = {Principal("bob")};
        own.max_lifetime_ms        = 600000;
        carols.owner               = Principal("carol");
        const DelegationToken made = must(admin.create_delegation_token(own).wait());
        CHECK(!made.token_id.empty());
        CHECK_INT(made.hmac.size(), 64);
        CHECK(made.owner == Principal("alice") && made.requester == Principal("alice"));
        CHECK(made.renewers == own.renewers);
        CHECK_INT(made.max_timestamp, made.issue_timestamp + 600000);
        CHECK_INT(made.expiry_timestamp, made.issue_timestamp + 600000);
        const DelegationToken other = must(admin.create_delegation_token(carols).wait());
        CHECK(other.owner == Principal("carol") && other.requester == Principal("alice"));
        CHECK(other.renewers.empty() && other.hmac != made.hmac);
        own.renewers = {Principal("staff", "Group")};
        CHECK_CODE(admin.create_delegation_token(own).wait().error().code,
                   RdKafka::ERR_INVALID_PRINCIPAL_TYPE);

        int64_t end = must(admin.renew_delegation_token(made.hmac, 60000).wait());
        CHECK(end >= made.issue_timestamp + 60000 && end < made.issue_timestamp + 120000);
        end = must(admin.expire_delegation_token(made.hmac, 30000).wait());
        CHECK(end >= made.issue_timestamp + 30000 && end < made.issue_timestamp + 60000);
        CHECK_INT(must(admin.describe_delegation_token().wait()).size(), 2);
        CHECK(must(admin.describe_delegation_token({Principal("dave")}).wait()).empty());
        auto found = must(admin.describe_delegation_token({Principal("bob")}).wait());
        REQUIRE(found.size() == 1);
        CHECK_TEXT(found[0].token_id, made.token_id);
        CHECK(found[0].hmac == made.hmac);
        CHECK_INT(found[0].expiry_timestamp, end);

        must(admin.expire_delegation_token(made.hmac).wait());
        CHECK_CODE(admin.renew_delegation_token(made.hmac).wait().error().code,
                   RdKafka::ERR_DELEGATION_TOKEN_NOT_FOUND);
        CHECK_INT(must(admin.describe_delegation_token().wait()).size(), 1);
        CHECK_CODE(admin.describe_delegation_token({Principal("")}).wait().error().code,
                   RdKafka::ERR__INVALID_ARG);
}

int main() {
        producer = new_cluster();
        must(admin().create_topics({NewTopic("t", 3, 2)}).wait());
        RUN(transactions_are_listed_by_every_filter);
        RUN(transactions_are_described_terminated_and_fenced);
        RUN(a_transaction_is_aborted_in_one_partition);
        RUN(a_client_without_authentication_has_no_tokens);
        RUN(tokens_are_created_renewed_described_and_expired);
        producer.reset();
        return test_end();
}
