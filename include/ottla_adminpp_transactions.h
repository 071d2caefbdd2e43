/*
 * Ottla: an Apache Kafka client.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * ottla_adminpp_transactions.h: the part of ottla_adminpp_extended.h, which includes this header, on
 * transactions, the producers of partitions and delegation tokens.
 */

#ifndef _OTTLA_ADMINPP_TRANSACTIONS_H_
#define _OTTLA_ADMINPP_TRANSACTIONS_H_

#include <string>
#include <utility>
#include <vector>

#include "ottla_adminpp_cluster.h"

namespace ottla {
namespace admin {

/* ==========================================================================
 *  ARGUMENTS AND RESULTS
 * ========================================================================== */

/** The transactional ids to list; all by default. */
struct TransactionFilter {
        std::vector<rd_kafka_transaction_state_t> states;
        std::vector<int64_t> producer_ids;
        /** Only transactions that began longer ago, in milliseconds; -1: all (KIP-994, Kafka 3.8). */
        int64_t longer_than_ms;
        /** A regular expression of RE2 that matches ids as a whole; empty: all (KIP-1152, Kafka 4.1). */
        std::string transactional_id_pattern;

        TransactionFilter() : longer_than_ms(-1) {
        }
};

/** A transactional id with the state of its last transaction. */
struct TransactionListing {
        std::string transactional_id;
        int64_t producer_id;
        rd_kafka_transaction_state_t state;
        int32_t coordinator;
};

/** The transactional ids of all brokers that answered. */
struct TransactionListings {
        std::vector<TransactionListing> transactions;
        std::vector<Error> errors; /**< Of brokers that did not answer. */
};

/** A transactional id with its last transaction. */
struct TransactionDescription {
        int32_t coordinator;
        rd_kafka_transaction_state_t state;
        int64_t producer_id;
        int32_t producer_epoch;
        int32_t timeout_ms;
        int64_t start_timestamp; /**< Milliseconds since 1970; -1 before the first transaction. */
        std::vector<TopicPartition> partitions;

        TransactionDescription()
            : coordinator(-1), state(RD_KAFKA_TRANSACTION_STATE_UNKNOWN), producer_id(-1),
              producer_epoch(-1), timeout_ms(-1), start_timestamp(-1) {
        }
};

/** A producer with state in a partition. */
struct ProducerState {
        int64_t producer_id;
        int32_t producer_epoch;
        int32_t last_sequence;            /**< -1 for none. */
        int64_t last_timestamp;           /**< Milliseconds since 1970; -1 for none. */
        int32_t coordinator_epoch;        /**< Of the last marker; -1 for none. */
        int64_t transaction_start_offset; /**< -1 without an open transaction. */
};

/** The producer id and epoch that a coordinator has assigned to fence a producer. */
struct FencedProducer {
        int64_t producer_id;
        int32_t producer_epoch;

        FencedProducer() : producer_id(-1), producer_epoch(-1) {
        }
};

/** A transaction to abort in one partition; describe_producers() returns its numbers. */
struct AbortTransaction {
        TopicPartition partition;
        int64_t producer_id;
        int32_t producer_epoch;    /**< 0 to 32767. */
        int32_t coordinator_epoch; /**< Of the producer's last marker; 0 without one. */

        /** Creates the abort of the open transaction of a producer that describe_producers() returned. */
        AbortTransaction(const TopicPartition &partition, const ProducerState &producer)
            : partition(partition), producer_id(producer.producer_id),
              producer_epoch(producer.producer_epoch),
              coordinator_epoch(producer.coordinator_epoch < 0 ? 0 : producer.coordinator_epoch) {
        }

        AbortTransaction(const TopicPartition &partition,
                         int64_t producer_id,
                         int32_t producer_epoch,
                         int32_t coordinator_epoch)
            : partition(partition), producer_id(producer_id), producer_epoch(producer_epoch),
              coordinator_epoch(coordinator_epoch) {
        }
};

/** The owner or a renewer of delegation tokens. */
struct Principal {
        std::string type;
        std::string name; /**< Empty for none. */

        explicit Principal(const std::string &name = "", const std::string &type = "User")
            : type(type), name(name) {
        }

        bool operator==(const Principal &other) const {
                return type == other.type && name == other.name;
        }
};

/** A delegation token to create. */
struct NewDelegationToken {
        /** Without a name the client's own principal. Another owner requires Kafka 3.3 (KIP-373). */
        Principal owner;
        std::vector<Principal> renewers; /**< Those besides the owner that may renew and expire the token. */
        /** The time in milliseconds after which the token cannot be renewed; -1: the broker's limit. */
        int64_t max_lifetime_ms;

        NewDelegationToken() : max_lifetime_ms(-1) {
        }
};

/** A delegation token. Times are milliseconds since 1970. */
struct DelegationToken {
        std::string token_id; /**< The user name of clients that authenticate with the token. */
        /** The secret with which the token is renewed and expired. Its Base64 text is the password of clients
         *  that authenticate with the token. Copies of it are not overwritten when they are destroyed. */
        std::string hmac;
        Principal owner;
        Principal requester; /**< Without a name from brokers before Kafka 3.3. */
        std::vector<Principal> renewers;
        int64_t issue_timestamp;
        int64_t expiry_timestamp; /**< The end unless the token is renewed. */
        int64_t max_timestamp;    /**< The end in any case. */

        DelegationToken() : issue_timestamp(-1), expiry_timestamp(-1), max_timestamp(-1) {
        }
};

namespace detail {

inline TransactionDescription transaction(const rd_kafka_TransactionDescription_t *from) {
        TransactionDescription found;
        found.coordinator     = rd_kafka_TransactionDescription_coordinator(from);
        found.state           = rd_kafka_TransactionDescription_state(from);
        found.producer_id     = rd_kafka_TransactionDescription_producer_id(from);
        found.producer_epoch  = rd_kafka_TransactionDescription_producer_epoch(from);
        found.timeout_ms      = rd_kafka_TransactionDescription_timeout_ms(from);
        found.start_timestamp = rd_kafka_TransactionDescription_start_timestamp(from);
        const rd_kafka_topic_partition_list_t *list = rd_kafka_TransactionDescription_partitions(from);
        for (int i = 0; list && i < list->cnt; i++)
                found.partitions.push_back(partition(list->elems[i]));
        return found;
}

inline Principal principal(const rd_kafka_Principal_t *from) {
        return from ? Principal(text(rd_kafka_Principal_name(from)), text(rd_kafka_Principal_type(from)))
                    : Principal();
}

inline DelegationToken token(const rd_kafka_DelegationToken_t *from) {
        DelegationToken token;
        size_t cnt;
        token.token_id         = text(rd_kafka_DelegationToken_token_id(from));
        const void *hmac       = rd_kafka_DelegationToken_hmac(from, &cnt);
        token.hmac             = hmac ? std::string(static_cast<const char *>(hmac), cnt) : std::string();
        token.owner            = principal(rd_kafka_DelegationToken_owner(from));
        token.requester        = principal(rd_kafka_DelegationToken_requester(from));
        token.issue_timestamp  = rd_kafka_DelegationToken_issue_timestamp(from);
        token.expiry_timestamp = rd_kafka_DelegationToken_expiry_timestamp(from);
        token.max_timestamp    = rd_kafka_DelegationToken_max_timestamp(from);
        auto renewers          = rd_kafka_DelegationToken_renewers(from, &cnt);
        for (size_t i = 0; i < cnt; i++)
                token.renewers.push_back(principal(renewers[i]));
        return token;
}

/** Adds C principals to `to`. Returns whether all of them are UTF-8. */
inline bool add_principals(const std::vector<Principal> &from, Objects<rd_kafka_Principal_t> &to) {
        for (const Principal &p : from)
                if (!to.add(rd_kafka_Principal_new(p.type.c_str(), p.name.c_str())))
                        return false;
        return true;
}

}  // namespace detail

/* ==========================================================================
 *  CALLS
 * ========================================================================== */

/** The calls of ExtendedAdmin on transactions and delegation tokens. */
class TransactionCalls : public ClusterCalls {
       public:
        using ClusterCalls::ClusterCalls;

        /* -- Transactions -- */

        /**
         * Lists transactional ids, of all brokers that answer. Requires Kafka 3.0 (KIP-664).
         *
         * Errors of a broker: RD_KAFKA_RESP_ERR_INVALID_REGULAR_EXPRESSION of rdkafka.h,
         * ERR__UNSUPPORTED_FEATURE for a filter that the broker does not have, ERR__TIMED_OUT.
         */
        Call<TransactionListings> list_transactions(const TransactionFilter &filter = TransactionFilter(),
                                                    const Options &options          = Options()) const {
                detail::Objects<rd_kafka_TransactionFilter_t> objects(rd_kafka_TransactionFilter_destroy);
                rd_kafka_TransactionFilter_t *to = objects.add(rd_kafka_TransactionFilter_new());
                bool is_refused                  = false;
                for (rd_kafka_transaction_state_t state : filter.states)
                        is_refused |= rd_kafka_TransactionFilter_add_state(to, state) != 0;
                for (int64_t id : filter.producer_ids)
                        is_refused |= rd_kafka_TransactionFilter_add_producer_id(to, id) != 0;
                if (filter.longer_than_ms != -1)
                        is_refused |= rd_kafka_TransactionFilter_set_duration(to, filter.longer_than_ms) != 0;
                is_refused |= rd_kafka_TransactionFilter_set_transactional_id_pattern(
                                  to, filter.transactional_id_pattern.c_str()) != 0;
                if (is_refused)
                        return detail::invalid("a state, producer id, duration or pattern that is invalid");
                return begin<TransactionListings>(
                    options,
                    [&](const rd_kafka_AdminOptions_t *o, rd_kafka_queue_t *q) {
                            rd_kafka_ListTransactions(rk_, to, o, q);
                    },
                    [](rd_kafka_event_t *event) {
                            auto result = rd_kafka_event_ListTransactions_result(event);
                            TransactionListings all;
                            size_t cnt;
                            auto rows = rd_kafka_ListTransactions_result_transactions(result, &cnt);
                            for (size_t i = 0; i < cnt; i++)
                                    all.transactions.push_back(
                                        {detail::text(rd_kafka_TransactionListing_transactional_id(rows[i])),
                                         rd_kafka_TransactionListing_producer_id(rows[i]),
                                         rd_kafka_TransactionListing_state(rows[i]),
                                         rd_kafka_TransactionListing_coordinator(rows[i])});
                            auto errors = rd_kafka_ListTransactions_result_errors(result, &cnt);
                            all.errors  = detail::errors(errors, cnt);
                            return all;
                    });
        }

        /**
         * Describes transactional ids with their last transactions. At each id's coordinator. Requires
         * Kafka 3.0 (KIP-664).
         *
         * Errors of an id: RD_KAFKA_RESP_ERR_TRANSACTIONAL_ID_NOT_FOUND of ottla_admin.h,
         * ERR_TRANSACTIONAL_ID_AUTHORIZATION_FAILED, ERR__TIMED_OUT.
         */
        Call<Results<std::string, TransactionDescription>>
        describe_transactions(const std::vector<std::string> &transactional_ids,
                              const Options &options = Options()) const {
                typedef Results<std::string, TransactionDescription> Described;
                std::vector<const char *> ids = detail::pointers(transactional_ids);
                return begin<Described>(
                    options,
                    [&](const rd_kafka_AdminOptions_t *o, rd_kafka_queue_t *q) {
                            rd_kafka_DescribeTransactions(rk_, ids.data(), ids.size(), o, q);
                    },
                    [](rd_kafka_event_t *event) {
                            size_t cnt;
                            Described results;
                            auto rows = rd_kafka_DescribeTransactions_result_transactions(
                                rd_kafka_event_DescribeTransactions_result(event), &cnt);
                            for (size_t i = 0; i < cnt; i++)
                                    results.add(
                                        detail::text(
                                            rd_kafka_TransactionDescription_transactional_id(rows[i])),
                                        detail::unless(
                                            detail::error(rd_kafka_TransactionDescription_error(rows[i])),
                                            detail::transaction(rows[i])));
                            return results;
                    });
        }

        /**
         * Describes the producers with state in partitions. At each partition's leader. Requires Kafka 2.8
         * (KIP-664).
         *
         * Errors of a partition: ERR_UNKNOWN_TOPIC_OR_PART, ERR__UNKNOWN_PARTITION,
         * ERR_TOPIC_AUTHORIZATION_FAILED, ERR__TIMED_OUT.
         */
        Call<Results<TopicPartition, std::vector<ProducerState>>>
        describe_producers(const TopicPartitions &partitions, const Options &options = Options()) const {
                typedef Results<TopicPartition, std::vector<ProducerState>> Described;
                detail::List list = detail::list(partitions);
                return begin<Described>(
                    options,
                    [&](const rd_kafka_AdminOptions_t *o, rd_kafka_queue_t *q) {
                            rd_kafka_DescribeProducers(rk_, list.get(), o, q);
                    },
                    [](rd_kafka_event_t *event) {
                            size_t cnt, producer_cnt;
                            Described results;
                            auto rows = rd_kafka_DescribeProducers_result_partitions(
                                rd_kafka_event_DescribeProducers_result(event), &cnt);
                            for (size_t i = 0; i < cnt; i++) {
                                    std::vector<ProducerState> states;
                                    auto found =
                                        rd_kafka_PartitionProducers_producers(rows[i], &producer_cnt);
                                    for (size_t j = 0; j < producer_cnt; j++)
                                            states.push_back(
                                                {rd_kafka_ProducerState_producer_id(found[j]),
                                                 rd_kafka_ProducerState_producer_epoch(found[j]),
                                                 rd_kafka_ProducerState_last_sequence(found[j]),
                                                 rd_kafka_ProducerState_last_timestamp(found[j]),
                                                 rd_kafka_ProducerState_coordinator_epoch(found[j]),
                                                 rd_kafka_ProducerState_transaction_start_offset(found[j])});
                                    results.add(
                                        detail::partition(*rd_kafka_PartitionProducers_partition(rows[i])),
                                        detail::unless(
                                            detail::error(rd_kafka_PartitionProducers_error(rows[i])),
                                            std::move(states)));
                            }
                            return results;
                    });
        }

        /**
         * Aborts a transaction in one partition: a hanging one, which its coordinator does not know of and
         * never ends. Others are ended by force_terminate_transaction(): aborted in one partition only, they
         * are no longer atomic. Succeeds also if no transaction was open. Not repeated. At the partition's
         * leader. Requires Kafka 2.8 (KIP-664).
         *
         * Errors of the call: ERR_INVALID_PRODUCER_EPOCH, ERR_TRANSACTION_COORDINATOR_FENCED,
         * ERR_CLUSTER_AUTHORIZATION_FAILED, ERR_UNKNOWN_TOPIC_OR_PART.
         */
        Call<None> abort_transaction(const AbortTransaction &transaction,
                                     const Options &options = Options()) const {
                detail::Objects<rd_kafka_AbortTransactionSpec_t> objects(rd_kafka_AbortTransactionSpec_destroy);
                rd_kafka_AbortTransactionSpec_t *spec = objects.add(rd_kafka_AbortTransactionSpec_new(
                    transaction.partition.topic.c_str(), transaction.partition.partition,
                    transaction.producer_id, transaction.producer_epoch, transaction.coordinator_epoch));
                if (!spec)
                        return detail::invalid("a topic's name is not UTF-8");
                return begin<None>(
                    options,
                    [&](const rd_kafka_AdminOptions_t *o, rd_kafka_queue_t *q) {
                            rd_kafka_AbortTransaction(rk_, spec, o, q);
                    },
                    [](rd_kafka_event_t *) { return None(); });
        }

        /**
         * Fences the producers of transactional ids: their requests fail, and their open transactions are
         * aborted. At each id's coordinator. Requires Kafka 0.11.
         *
         * Errors of an id: ERR_TRANSACTIONAL_ID_AUTHORIZATION_FAILED, ERR__TIMED_OUT.
         */
        Call<Results<std::string, FencedProducer>>
        fence_producers(const std::vector<std::string> &transactional_ids,
                        const Options &options = Options()) const {
                typedef Results<std::string, FencedProducer> Fenced;
                std::vector<const char *> ids = detail::pointers(transactional_ids);
                return begin<Fenced>(
                    options,
                    [&](const rd_kafka_AdminOptions_t *o, rd_kafka_queue_t *q) {
                            rd_kafka_FenceProducers(rk_, ids.data(), ids.size(), o, q);
                    },
                    [](rd_kafka_event_t *event) {
                            size_t cnt;
                            Fenced results;
                            auto rows = rd_kafka_FenceProducers_result_producers(
                                rd_kafka_event_FenceProducers_result(event), &cnt);
                            for (size_t i = 0; i < cnt; i++) {
                                    FencedProducer fenced;
                                    fenced.producer_id    = rd_kafka_FencedProducer_producer_id(rows[i]);
                                    fenced.producer_epoch = rd_kafka_FencedProducer_producer_epoch(rows[i]);
                                    results.add(
                                        detail::text(rd_kafka_FencedProducer_transactional_id(rows[i])),
                                        detail::unless(detail::error(rd_kafka_FencedProducer_error(rows[i])),
                                                       fenced));
                            }
                            return results;
                    });
        }

        /**
         * Aborts the open transaction of a transactional id and fences its producer. Succeeds when the
         * transaction has ended. At the id's coordinator. Requires Kafka 0.11.
         *
         * Errors of the call: ERR_TRANSACTIONAL_ID_AUTHORIZATION_FAILED, ERR__TIMED_OUT.
         */
        Call<None> force_terminate_transaction(const std::string &transactional_id,
                                               const Options &options = Options()) const {
                return begin<None>(
                    options,
                    [&](const rd_kafka_AdminOptions_t *o, rd_kafka_queue_t *q) {
                            rd_kafka_ForceTerminateTransaction(rk_, transactional_id.c_str(), o, q);
                    },
                    [](rd_kafka_event_t *) { return None(); });
        }

        /* -- Delegation tokens -- */

        /**
         * Creates a delegation token. As all operations on tokens it requires a client that is authenticated,
         * and not by a token. Brokers learn of a token after a moment: until then they do not describe it.
         * Not repeated. At any broker. Requires Kafka 1.1 (KIP-48).
         *
         * Errors of the call: ERR_DELEGATION_TOKEN_REQUEST_NOT_ALLOWED, ERR_DELEGATION_TOKEN_AUTH_DISABLED,
         * ERR_DELEGATION_TOKEN_AUTHORIZATION_FAILED, ERR_INVALID_PRINCIPAL_TYPE.
         */
        Call<DelegationToken> create_delegation_token(const NewDelegationToken &token = NewDelegationToken(),
                                                      const Options &options = Options()) const {
                detail::Objects<rd_kafka_Principal_t> owners(rd_kafka_Principal_destroy);
                detail::Objects<rd_kafka_Principal_t> renewers(rd_kafka_Principal_destroy);
                detail::Objects<rd_kafka_NewDelegationToken_t> objects(rd_kafka_NewDelegationToken_destroy);
                const bool has_owner = !token.owner.name.empty();
                if ((has_owner && !detail::add_principals({token.owner}, owners)) ||
                    !detail::add_principals(token.renewers, renewers))
                        return detail::invalid("a principal is not UTF-8");
                rd_kafka_NewDelegationToken_t *made = objects.add(
                    rd_kafka_NewDelegationToken_new(has_owner ? owners.data()[0] : NULL, renewers.data(),
                                                    renewers.size(), token.max_lifetime_ms));
                if (!made)
                        return detail::invalid("the token is invalid");
                return begin<DelegationToken>(
                    options,
                    [&](const rd_kafka_AdminOptions_t *o, rd_kafka_queue_t *q) {
                            rd_kafka_CreateDelegationToken(rk_, made, o, q);
                    },
                    [](rd_kafka_event_t *event) {
                            return detail::token(rd_kafka_CreateDelegationToken_result_token(
                                rd_kafka_event_CreateDelegationToken_result(event)));
                    });
        }

        /**
         * Moves the end of a delegation token, as its owner or a renewer. The value is the new end in
         * milliseconds since 1970. At any broker. Requires Kafka 1.1 (KIP-48).
         *
         * @param hmac       The token's secret.
         * @param period_ms  The time from now to the new end; -1: the broker's limit.
         *
         * Errors of the call besides those of create_delegation_token(): ERR_DELEGATION_TOKEN_NOT_FOUND,
         * ERR_DELEGATION_TOKEN_OWNER_MISMATCH, ERR_DELEGATION_TOKEN_EXPIRED.
         */
        Call<int64_t> renew_delegation_token(const std::string &hmac,
                                             int64_t period_ms      = -1,
                                             const Options &options = Options()) const {
                return begin<int64_t>(
                    options,
                    [&](const rd_kafka_AdminOptions_t *o, rd_kafka_queue_t *q) {
                            rd_kafka_RenewDelegationToken(rk_, hmac.data(), hmac.size(), period_ms, o, q);
                    },
                    [](rd_kafka_event_t *event) {
                            return rd_kafka_RenewDelegationToken_result_expiry_timestamp(
                                rd_kafka_event_RenewDelegationToken_result(event));
                    });
        }

        /**
         * Ends a delegation token, as its owner or a renewer. The value is the new end in milliseconds since
         * 1970. Not repeated if the token is removed. At any broker. Requires Kafka 1.1 (KIP-48).
         *
         * @param hmac       The token's secret.
         * @param period_ms  The time from now to the new end; negative removes the token at once.
         *
         * Errors of the call: as renew_delegation_token().
         */
        Call<int64_t> expire_delegation_token(const std::string &hmac,
                                              int64_t period_ms      = -1,
                                              const Options &options = Options()) const {
                return begin<int64_t>(
                    options,
                    [&](const rd_kafka_AdminOptions_t *o, rd_kafka_queue_t *q) {
                            rd_kafka_ExpireDelegationToken(rk_, hmac.data(), hmac.size(), period_ms, o, q);
                    },
                    [](rd_kafka_event_t *event) {
                            return rd_kafka_ExpireDelegationToken_result_expiry_timestamp(
                                rd_kafka_event_ExpireDelegationToken_result(event));
                    });
        }

        /**
         * Describes delegation tokens with their secrets: those that one of the principals owns, has created
         * or may renew; without principals all that the client may describe. At any broker. Requires Kafka
         * 1.1 (KIP-48).
         *
         * Errors of the call: as create_delegation_token().
         */
        Call<std::vector<DelegationToken>>
        describe_delegation_token(const std::vector<Principal> &principals = std::vector<Principal>(),
                                  const Options &options                   = Options()) const {
                detail::Objects<rd_kafka_Principal_t> objects(rd_kafka_Principal_destroy);
                if (!detail::add_principals(principals, objects))
                        return detail::invalid("a principal is not UTF-8");
                return begin<std::vector<DelegationToken>>(
                    options,
                    [&](const rd_kafka_AdminOptions_t *o, rd_kafka_queue_t *q) {
                            rd_kafka_DescribeDelegationToken(rk_, principals.empty() ? NULL : objects.data(),
                                                             objects.size(), o, q);
                    },
                    [](rd_kafka_event_t *event) {
                            size_t cnt;
                            std::vector<DelegationToken> found;
                            auto rows = rd_kafka_DescribeDelegationToken_result_tokens(
                                rd_kafka_event_DescribeDelegationToken_result(event), &cnt);
                            for (size_t i = 0; i < cnt; i++)
                                    found.push_back(detail::token(rows[i]));
                            return found;
                    });
        }
};

}  // namespace admin
}  // namespace ottla

#endif /* _OTTLA_ADMINPP_TRANSACTIONS_H_ */
