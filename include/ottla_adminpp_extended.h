/*
 * Ottla: an Apache Kafka client.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * ottla_adminpp_extended.h: admin operations in C++11 that librdkafka does not have, over the functions
 * of ottla_admin.h. Programs that use this header do not link with librdkafka. The rules of
 * ottla_adminpp.h hold here too. Further operations are in ottla_admin.h only.
 */

#ifndef _OTTLA_ADMINPP_EXTENDED_H_
#define _OTTLA_ADMINPP_EXTENDED_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "ottla_admin.h"
#include "ottla_adminpp.h"

namespace ottla {
namespace admin {

/* ==========================================================================
 *  ARGUMENTS AND RESULTS
 * ========================================================================== */

/** A replica in a log directory. */
struct LogDirReplica {
        TopicPartition partition;
        int64_t size;       /**< Of its log segments, in bytes. */
        int64_t offset_lag; /**< The number of offsets that it lacks. */
        bool is_future;     /**< It is being moved to this directory. */
};

/** A log directory of a broker. */
struct LogDir {
        std::string path;
        Error error;          /**< ERR_KAFKA_STORAGE_ERROR if it is offline. */
        int64_t total_bytes;  /**< Of its volume; -1 if it is unknown. */
        int64_t usable_bytes; /**< Of its volume; -1 if it is unknown. */
        std::vector<LogDirReplica> replicas;
};

/** The brokers that a partition is to have; no brokers cancel the reassignment under way. */
struct PartitionReassignment {
        TopicPartition partition;
        std::vector<int32_t> replicas; /**< The preferred leader first. */
};

/** A reassignment under way. */
struct OngoingReassignment {
        TopicPartition partition;
        std::vector<int32_t> replicas;          /**< The present ones. */
        std::vector<int32_t> adding_replicas;   /**< Not in sync yet. */
        std::vector<int32_t> removing_replicas; /**< Removed at the end. */
};

/** An entity with quotas: the name of each of its types, such as "user" and "client-id"; an empty name
 *  is the default entity of the type. */
typedef std::map<std::string, std::string> QuotaEntity;

/** An entity with its quotas. */
struct QuotaEntry {
        QuotaEntity entity;
        std::map<std::string, double> quotas;
};

/** Changes of an entity's quotas. */
struct QuotaAlteration {
        QuotaEntity entity;
        std::map<std::string, double> set;
        std::vector<std::string> removed;
};

/** The transactional ids to list; all by default. */
struct TransactionFilter {
        std::vector<rd_kafka_transaction_state_t> states;
        std::vector<int64_t> producer_ids;
        /** Only transactions that began longer ago, in milliseconds; -1: all (KIP-994, Kafka 3.8). */
        int64_t longer_than_ms;

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

/** A group of any type. */
struct GroupListing {
        std::string group_id;
        std::string protocol_type; /**< Such as "consumer", "connect" and "share". */
        rd_kafka_group_state_t state;
        rd_kafka_group_type_t type;
};

/** The groups of all brokers that answered. */
struct GroupListings {
        std::vector<GroupListing> groups;
        std::vector<Error> errors; /**< Of brokers that did not answer. */
};

/** The members to remove from a group; all without any. */
struct MembersToRemove {
        std::vector<std::string> member_ids;
        std::vector<std::string> group_instance_ids; /**< Of static members (KIP-345). */
        std::string reason;                          /**< For the broker's log (KIP-800). */
};

namespace detail {

inline QuotaEntity quota_entity(const rd_kafka_ClientQuotaEntity_t *from) {
        QuotaEntity entity;
        for (size_t i = 0; i < rd_kafka_ClientQuotaEntity_cnt(from); i++)
                entity[text(rd_kafka_ClientQuotaEntity_type(from, i))] =
                    text(rd_kafka_ClientQuotaEntity_name(from, i));
        return entity;
}

inline std::vector<int32_t> ids(const int32_t *from, size_t cnt) {
        return from ? std::vector<int32_t>(from, from + cnt) : std::vector<int32_t>();
}

inline std::vector<Error> errors(const rd_kafka_error_t **from, size_t cnt) {
        std::vector<Error> errors;
        for (size_t i = 0; i < cnt; i++)
                errors.push_back(error(from[i]));
        return errors;
}

inline std::vector<LogDir> log_dirs(const rd_kafka_BrokerLogDirs_t *broker) {
        std::vector<LogDir> found;
        size_t cnt, replica_cnt;
        const rd_kafka_LogDir_t **dirs = rd_kafka_BrokerLogDirs_log_dirs(broker, &cnt);
        for (size_t i = 0; i < cnt; i++) {
                LogDir dir;
                dir.path         = text(rd_kafka_LogDir_path(dirs[i]));
                dir.error        = error(rd_kafka_LogDir_error(dirs[i]), NULL);
                dir.total_bytes  = rd_kafka_LogDir_total_bytes(dirs[i]);
                dir.usable_bytes = rd_kafka_LogDir_usable_bytes(dirs[i]);
                const rd_kafka_LogDirReplica_t **replicas = rd_kafka_LogDir_replicas(dirs[i], &replica_cnt);
                for (size_t j = 0; j < replica_cnt; j++) {
                        const rd_kafka_LogDirReplica_t *r = replicas[j];
                        dir.replicas.push_back({TopicPartition(text(rd_kafka_LogDirReplica_topic(r)),
                                                               rd_kafka_LogDirReplica_partition(r)),
                                                rd_kafka_LogDirReplica_size(r),
                                                rd_kafka_LogDirReplica_offset_lag(r),
                                                rd_kafka_LogDirReplica_is_future(r) == 1});
                }
                found.push_back(std::move(dir));
        }
        return found;
}

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

}  // namespace detail

/* ==========================================================================
 *  EXTENDEDADMIN
 * ========================================================================== */

/** Admin with operations that librdkafka does not have. */
class ExtendedAdmin : public Admin {
       public:
        explicit ExtendedAdmin(RdKafka::Handle *client) : Admin(client) {
        }

        explicit ExtendedAdmin(rd_kafka_t *client) : Admin(client) {
        }

        /* -- The cluster -- */

        /**
         * Describes the log directories of brokers, of all without `brokers`, with the replicas in them.
         * At each broker. Requires Kafka 1.0 (KIP-113).
         *
         * Errors of a broker: ERR_CLUSTER_AUTHORIZATION_FAILED, ERR__TIMED_OUT.
         */
        Call<Results<int32_t, std::vector<LogDir>>>
        describe_log_dirs(const std::vector<int32_t> &brokers = std::vector<int32_t>(),
                          const Options &options              = Options()) const {
                typedef Results<int32_t, std::vector<LogDir>> Described;
                return begin<Described>(
                    options,
                    [&](const rd_kafka_AdminOptions_t *o, rd_kafka_queue_t *q) {
                            rd_kafka_DescribeLogDirs(rk_, brokers.data(), brokers.size(), NULL, o, q);
                    },
                    [](rd_kafka_event_t *event) {
                            size_t cnt;
                            Described results;
                            auto rows = rd_kafka_DescribeLogDirs_result_brokers(
                                rd_kafka_event_DescribeLogDirs_result(event), &cnt);
                            for (size_t i = 0; i < cnt; i++)
                                    results.add(
                                        rd_kafka_BrokerLogDirs_broker_id(rows[i]),
                                        detail::unless(detail::error(rd_kafka_BrokerLogDirs_error(rows[i])),
                                                       detail::log_dirs(rows[i])));
                            return results;
                    });
        }

        /**
         * Begins and cancels reassignments, which continue after the call. Not repeated if one is
         * cancelled. At the controller. Requires Kafka 2.4 (KIP-455).
         *
         * Errors of a partition: ERR_NO_REASSIGNMENT_IN_PROGRESS, ERR_INVALID_REPLICA_ASSIGNMENT,
         * ERR_UNKNOWN_TOPIC_OR_PART.
         */
        Call<PartitionResults>
        alter_partition_reassignments(const std::vector<PartitionReassignment> &reassignments,
                                      const Options &options = Options()) const {
                detail::Objects<rd_kafka_PartitionReassignment_t> objects(
                    rd_kafka_PartitionReassignment_destroy);
                char errstr[256];
                for (const PartitionReassignment &r : reassignments)
                        if (!objects.add(rd_kafka_PartitionReassignment_new(
                                r.partition.topic.c_str(), r.partition.partition,
                                r.replicas.empty() ? NULL : r.replicas.data(), r.replicas.size(), errstr,
                                sizeof(errstr))))
                                return detail::invalid(errstr);
                return begin<PartitionResults>(
                    options,
                    [&](const rd_kafka_AdminOptions_t *o, rd_kafka_queue_t *q) {
                            rd_kafka_AlterPartitionReassignments(rk_, objects.data(), objects.size(), o, q);
                    },
                    [](rd_kafka_event_t *event) {
                            size_t cnt;
                            PartitionResults results;
                            auto rows = rd_kafka_AlterPartitionReassignments_result_partitions(
                                rd_kafka_event_AlterPartitionReassignments_result(event), &cnt);
                            for (size_t i = 0; i < cnt; i++)
                                    results.add(
                                        detail::partition(*rd_kafka_topic_partition_result_partition(rows[i])),
                                        detail::unless(
                                            detail::error(rd_kafka_topic_partition_result_error(rows[i])),
                                            None()));
                            return results;
                    });
        }

        /**
         * Lists the reassignments under way. At the controller. Requires Kafka 2.4 (KIP-455).
         */
        Call<std::vector<OngoingReassignment>>
        list_partition_reassignments(const Options &options = Options()) const {
                return begin<std::vector<OngoingReassignment>>(
                    options,
                    [&](const rd_kafka_AdminOptions_t *o, rd_kafka_queue_t *q) {
                            rd_kafka_ListPartitionReassignments(rk_, NULL, o, q);
                    },
                    [](rd_kafka_event_t *event) {
                            size_t cnt, ids;
                            std::vector<OngoingReassignment> found;
                            auto rows = rd_kafka_ListPartitionReassignments_result_reassignments(
                                rd_kafka_event_ListPartitionReassignments_result(event), &cnt);
                            for (size_t i = 0; i < cnt; i++) {
                                    OngoingReassignment r;
                                    r.partition = TopicPartition(
                                        detail::text(rd_kafka_OngoingReassignment_topic(rows[i])),
                                        rd_kafka_OngoingReassignment_partition(rows[i]));
                                    auto of    = rd_kafka_OngoingReassignment_replicas(rows[i], &ids);
                                    r.replicas = detail::ids(of, ids);
                                    of = rd_kafka_OngoingReassignment_adding_replicas(rows[i], &ids);
                                    r.adding_replicas = detail::ids(of, ids);
                                    of = rd_kafka_OngoingReassignment_removing_replicas(rows[i], &ids);
                                    r.removing_replicas = detail::ids(of, ids);
                                    found.push_back(std::move(r));
                            }
                            return found;
                    });
        }

        /**
         * Describes the quotas of the entities that have these types, with any name; of all entities
         * without types. At any broker. Requires Kafka 2.6 (KIP-546).
         */
        Call<std::vector<QuotaEntry>>
        describe_client_quotas(const std::vector<std::string> &types = std::vector<std::string>(),
                               const Options &options                = Options()) const {
                detail::Objects<rd_kafka_ClientQuotaFilter_t> objects(rd_kafka_ClientQuotaFilter_destroy);
                rd_kafka_ClientQuotaFilter_t *filter = objects.add(rd_kafka_ClientQuotaFilter_new());
                for (const std::string &type : types)
                        if (rd_kafka_ClientQuotaFilter_match_any(filter, type.c_str()))
                                return detail::invalid("an empty type, or one that is named twice");
                return begin<std::vector<QuotaEntry>>(
                    options,
                    [&](const rd_kafka_AdminOptions_t *o, rd_kafka_queue_t *q) {
                            rd_kafka_DescribeClientQuotas(rk_, filter, o, q);
                    },
                    [](rd_kafka_event_t *event) {
                            size_t cnt;
                            std::vector<QuotaEntry> found;
                            auto rows = rd_kafka_DescribeClientQuotas_result_entries(
                                rd_kafka_event_DescribeClientQuotas_result(event), &cnt);
                            for (size_t i = 0; i < cnt; i++) {
                                    QuotaEntry entry;
                                    entry.entity =
                                        detail::quota_entity(rd_kafka_ClientQuotaEntry_entity(rows[i]));
                                    for (size_t j = 0; j < rd_kafka_ClientQuotaEntry_quota_cnt(rows[i]); j++)
                                            entry.quotas[detail::text(
                                                rd_kafka_ClientQuotaEntry_quota_name(rows[i], j))] =
                                                rd_kafka_ClientQuotaEntry_quota_value(rows[i], j);
                                    found.push_back(std::move(entry));
                            }
                            return found;
                    });
        }

        /**
         * Sets and removes quotas, of each entity all or none. At any broker. Requires Kafka 2.6
         * (KIP-546).
         *
         * Errors of an entity: ERR_INVALID_REQUEST, ERR_CLUSTER_AUTHORIZATION_FAILED.
         */
        Call<Results<QuotaEntity, None>> alter_client_quotas(const std::vector<QuotaAlteration> &alterations,
                                                             const Options &options = Options()) const {
                typedef Results<QuotaEntity, None> Altered;
                detail::Objects<rd_kafka_ClientQuotaAlteration_t> objects(
                    rd_kafka_ClientQuotaAlteration_destroy);
                for (const QuotaAlteration &a : alterations) {
                        rd_kafka_ClientQuotaAlteration_t *made =
                            objects.add(rd_kafka_ClientQuotaAlteration_new());
                        bool is_refused = false;
                        for (const auto &part : a.entity)
                                is_refused |= rd_kafka_ClientQuotaAlteration_add_entity(
                                                  made, part.first.c_str(),
                                                  part.second.empty() ? NULL : part.second.c_str()) != 0;
                        for (const auto &quota : a.set)
                                is_refused |= rd_kafka_ClientQuotaAlteration_set(made, quota.first.c_str(),
                                                                                 quota.second) != 0;
                        for (const std::string &quota : a.removed)
                                is_refused |= rd_kafka_ClientQuotaAlteration_remove(made, quota.c_str()) != 0;
                        if (is_refused)
                                return detail::invalid("an empty name, or a quota that is not finite");
                }
                return begin<Altered>(
                    options,
                    [&](const rd_kafka_AdminOptions_t *o, rd_kafka_queue_t *q) {
                            rd_kafka_AlterClientQuotas(rk_, objects.data(), objects.size(), o, q);
                    },
                    [](rd_kafka_event_t *event) {
                            size_t cnt;
                            Altered results;
                            auto rows = rd_kafka_AlterClientQuotas_result_entities(
                                rd_kafka_event_AlterClientQuotas_result(event), &cnt);
                            for (size_t i = 0; i < cnt; i++)
                                    results.add(
                                        detail::quota_entity(rd_kafka_ClientQuotaResult_entity(rows[i])),
                                        detail::unless(
                                            detail::error(rd_kafka_ClientQuotaResult_error(rows[i])), None()));
                            return results;
                    });
        }

        /* -- Transactions -- */

        /**
         * Lists transactional ids, of all brokers that answer. Requires Kafka 3.0 (KIP-664).
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
                if (is_refused)
                        return detail::invalid("a state, producer id or duration that does not exist");
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

        /* -- Groups -- */

        /**
         * Lists the groups of all types, of all brokers that answer.
         */
        Call<GroupListings> list_groups(const Options &options = Options()) const {
                return begin<GroupListings>(
                    options,
                    [&](const rd_kafka_AdminOptions_t *o, rd_kafka_queue_t *q) {
                            rd_kafka_ListGroups(rk_, o, q);
                    },
                    [](rd_kafka_event_t *event) {
                            auto result = rd_kafka_event_ListGroups_result(event);
                            GroupListings all;
                            size_t cnt;
                            auto rows = rd_kafka_ListGroups_result_groups(result, &cnt);
                            for (size_t i = 0; i < cnt; i++)
                                    all.groups.push_back(
                                        {detail::text(rd_kafka_GroupListing_group_id(rows[i])),
                                         detail::text(rd_kafka_GroupListing_protocol_type(rows[i])),
                                         rd_kafka_GroupListing_state(rows[i]),
                                         rd_kafka_GroupListing_type(rows[i])});
                            auto errors = rd_kafka_ListGroups_result_errors(result, &cnt);
                            all.errors  = detail::errors(errors, cnt);
                            return all;
                    });
        }

        /**
         * Removes members from a group. The keys of the results are member ids, and group instance ids of
         * static members. Not repeated. At the group's coordinator. Requires Kafka 2.4 (KIP-345).
         *
         * Errors of a member: ERR_UNKNOWN_MEMBER_ID, ERR_FENCED_INSTANCE_ID. Of the call:
         * ERR_GROUP_ID_NOT_FOUND, ERR_GROUP_AUTHORIZATION_FAILED.
         */
        Call<NameResults> remove_members_from_consumer_group(const std::string &group,
                                                             const MembersToRemove &members = MembersToRemove(),
                                                             const Options &options = Options()) const {
                detail::Objects<rd_kafka_RemoveMembersFromConsumerGroup_t> objects(
                    rd_kafka_RemoveMembersFromConsumerGroup_destroy);
                rd_kafka_RemoveMembersFromConsumerGroup_t *removal =
                    objects.add(rd_kafka_RemoveMembersFromConsumerGroup_new(group.c_str()));
                if (!removal)
                        return detail::invalid("the group's id is not UTF-8");
                bool is_refused = false;
                for (const std::string &id : members.member_ids)
                        is_refused |=
                            rd_kafka_RemoveMembersFromConsumerGroup_add_member(removal, id.c_str()) != 0;
                for (const std::string &id : members.group_instance_ids)
                        is_refused |=
                            rd_kafka_RemoveMembersFromConsumerGroup_add_static_member(removal, id.c_str()) !=
                            0;
                if (members.member_ids.empty() && members.group_instance_ids.empty())
                        is_refused |= rd_kafka_RemoveMembersFromConsumerGroup_set_all_members(removal) != 0;
                if (!members.reason.empty())
                        is_refused |= rd_kafka_RemoveMembersFromConsumerGroup_set_reason(
                                          removal, members.reason.c_str()) != 0;
                if (is_refused)
                        return detail::invalid("an empty id of a member, or a text that is not UTF-8");
                return begin<NameResults>(
                    options,
                    [&](const rd_kafka_AdminOptions_t *o, rd_kafka_queue_t *q) {
                            rd_kafka_RemoveMembersFromConsumerGroup(rk_, removal, o, q);
                    },
                    [](rd_kafka_event_t *event) {
                            size_t cnt;
                            NameResults results;
                            auto rows = rd_kafka_RemoveMembersFromConsumerGroup_result_members(
                                rd_kafka_event_RemoveMembersFromConsumerGroup_result(event), &cnt);
                            for (size_t i = 0; i < cnt; i++) {
                                    const char *id = rd_kafka_RemovedMember_group_instance_id(rows[i]);
                                    if (!id)
                                            id = rd_kafka_RemovedMember_member_id(rows[i]);
                                    results.add(detail::text(id),
                                                detail::unless(
                                                    detail::error(rd_kafka_RemovedMember_error(rows[i])),
                                                    None()));
                            }
                            return results;
                    });
        }
};

}  // namespace admin
}  // namespace ottla

#endif /* _OTTLA_ADMINPP_EXTENDED_H_ */
