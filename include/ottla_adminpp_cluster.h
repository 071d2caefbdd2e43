/*
 * Ottla: an Apache Kafka client.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * ottla_adminpp_cluster.h: the part of ottla_adminpp_extended.h, which includes this header, on the cluster:
 * log directories, reassignments, quotas, resources with settings, features, the metadata quorum.
 */

#ifndef _OTTLA_ADMINPP_CLUSTER_H_
#define _OTTLA_ADMINPP_CLUSTER_H_

#include <map>
#include <memory>
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
        bool is_cordoned;     /**< It receives no new replicas (KIP-1066, Kafka 4.3). */
        std::vector<LogDirReplica> replicas;
};

/** The replica of a partition on a broker. */
struct BrokerReplica {
        int32_t broker;
        TopicPartition partition;

        BrokerReplica(int32_t broker, const TopicPartition &partition) : broker(broker), partition(partition) {
        }

        bool operator==(const BrokerReplica &other) const {
                return broker == other.broker && partition == other.partition;
        }
};

/** A replica to move to another log directory of its broker. */
struct ReplicaMove {
        BrokerReplica replica;
        std::string log_dir; /**< The absolute path of the directory. */

        ReplicaMove(const BrokerReplica &replica, const std::string &log_dir)
            : replica(replica), log_dir(log_dir) {
        }
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

/** The entities whose quotas are described: all by default. Each match adds a type that entities must have. */
class QuotaFilter {
       public:
        QuotaFilter() : strict(false) {
        }

        /** Requires a type with this name. */
        QuotaFilter &match_name(const std::string &type, const std::string &name) {
                return add(type, NAME, name);
        }

        /** Requires the default entity of a type. */
        QuotaFilter &match_default(const std::string &type) {
                return add(type, DEFAULT, "");
        }

        /** Requires a type with any name, or its default entity. */
        QuotaFilter &match_any(const std::string &type) {
                return add(type, ANY, "");
        }

        /** Excludes entities with types that the filter does not have. */
        bool strict;

        /** Not for applications: copies the filter to the C interface. */
        rd_kafka_resp_err_t copy_to(rd_kafka_ClientQuotaFilter_t *to) const {
                for (const Component &c : components_) {
                        const char *type = c.type.c_str();
                        const rd_kafka_resp_err_t code =
                            c.match == NAME
                                ? rd_kafka_ClientQuotaFilter_match_name(to, type, c.name.c_str())
                            : c.match == DEFAULT ? rd_kafka_ClientQuotaFilter_match_default(to, type)
                                                 : rd_kafka_ClientQuotaFilter_match_any(to, type);
                        if (code)
                                return code;
                }
                return rd_kafka_ClientQuotaFilter_set_strict(to, strict ? 1 : 0);
        }

       private:
        enum Match { NAME, DEFAULT, ANY };

        struct Component {
                std::string type;
                Match match;
                std::string name;
        };

        QuotaFilter &add(const std::string &type, Match match, const std::string &name) {
                components_.push_back({type, match, name});
                return *this;
        }

        std::vector<Component> components_;
};

/** A resource that has settings. */
struct ConfigResourceListing {
        rd_kafka_ConfigResourceType_t type;
        std::string name; /**< For a broker its id in decimal. */
};

/** The levels of a feature, from the lowest to the highest one. */
struct FeatureRange {
        int min_level;
        int max_level;
};

/** The features of the cluster by name. */
struct Features {
        std::map<std::string, FeatureRange> finalized; /**< Those that the cluster uses. */
        int64_t finalized_epoch;                       /**< Rises with each change; -1 if it is unknown. */
        std::map<std::string, FeatureRange> supported; /**< Those that the broker supports. */

        Features() : finalized_epoch(-1) {
        }
};

/** A change of a feature's level. */
struct FeatureUpdate {
        std::string feature;
        int level; /**< 0 stops the use of the feature, and is a downgrade. */
        rd_kafka_FeatureUpgradeType_t upgrade_type;

        FeatureUpdate(const std::string &feature,
                      int level,
                      rd_kafka_FeatureUpgradeType_t upgrade_type = RD_KAFKA_FEATURE_UPGRADE)
            : feature(feature), level(level), upgrade_type(upgrade_type) {
        }
};

/** An id of 128 bits, such as that of a metadata directory; 0 for none. */
struct Uuid {
        int64_t most_significant_bits;
        int64_t least_significant_bits;

        Uuid(int64_t most = 0, int64_t least = 0)
            : most_significant_bits(most), least_significant_bits(least) {
        }

        bool operator==(const Uuid &other) const {
                return most_significant_bits == other.most_significant_bits &&
                       least_significant_bits == other.least_significant_bits;
        }
};

/** A replica of the metadata log. */
struct QuorumReplica {
        int32_t id;                      /**< Of its node. */
        Uuid directory_id;               /**< 0 if it is unknown, and from brokers before Kafka 3.9. */
        int64_t log_end_offset;          /**< -1 if it is unknown. */
        int64_t last_fetch_timestamp;    /**< Milliseconds since 1970; -1 if it is unknown. */
        int64_t last_caught_up_timestamp; /**< When it last had all records; -1 if it is unknown. */
};

/** An address of a voter. */
struct RaftVoterEndpoint {
        std::string listener;
        std::string host;
        uint16_t port;
};

/** The voters and observers of the metadata log. */
struct MetadataQuorum {
        int32_t leader_id; /**< Of the active controller. */
        int32_t leader_epoch;
        int64_t high_watermark;
        std::vector<QuorumReplica> voters;
        std::vector<QuorumReplica> observers;
        /** The addresses of voters by node id; empty from brokers before Kafka 3.9 (KIP-853). */
        std::map<int32_t, std::vector<RaftVoterEndpoint>> nodes;

        MetadataQuorum() : leader_id(-1), leader_epoch(-1), high_watermark(-1) {
        }
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
                dir.is_cordoned  = rd_kafka_LogDir_is_cordoned(dirs[i]) == 1;
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

inline std::map<std::string, FeatureRange> features(const rd_kafka_FeatureRange_t **from, size_t cnt) {
        std::map<std::string, FeatureRange> found;
        for (size_t i = 0; i < cnt; i++)
                found[text(rd_kafka_FeatureRange_name(from[i]))] = {rd_kafka_FeatureRange_min_level(from[i]),
                                                                    rd_kafka_FeatureRange_max_level(from[i])};
        return found;
}

inline Uuid uuid(const rd_kafka_Uuid_t *from) {
        return from ? Uuid(rd_kafka_Uuid_most_significant_bits(from),
                           rd_kafka_Uuid_least_significant_bits(from))
                    : Uuid();
}

typedef std::unique_ptr<rd_kafka_Uuid_t, void (*)(rd_kafka_Uuid_t *)> UuidPtr;

inline UuidPtr uuid(const Uuid &from) {
        return UuidPtr(rd_kafka_Uuid_new(from.most_significant_bits, from.least_significant_bits),
                       rd_kafka_Uuid_destroy);
}

inline std::vector<QuorumReplica> quorum_replicas(const rd_kafka_QuorumReplica_t **from, size_t cnt) {
        std::vector<QuorumReplica> found;
        for (size_t i = 0; i < cnt; i++)
                found.push_back({rd_kafka_QuorumReplica_id(from[i]),
                                 uuid(rd_kafka_QuorumReplica_directory_id(from[i])),
                                 rd_kafka_QuorumReplica_log_end_offset(from[i]),
                                 rd_kafka_QuorumReplica_last_fetch_timestamp(from[i]),
                                 rd_kafka_QuorumReplica_last_caught_up_timestamp(from[i])});
        return found;
}

inline MetadataQuorum quorum(const rd_kafka_DescribeMetadataQuorum_result_t *from) {
        MetadataQuorum quorum;
        size_t cnt, endpoint_cnt;
        quorum.leader_id      = rd_kafka_DescribeMetadataQuorum_result_leader_id(from);
        quorum.leader_epoch   = rd_kafka_DescribeMetadataQuorum_result_leader_epoch(from);
        quorum.high_watermark = rd_kafka_DescribeMetadataQuorum_result_high_watermark(from);
        auto replicas         = rd_kafka_DescribeMetadataQuorum_result_voters(from, &cnt);
        quorum.voters         = quorum_replicas(replicas, cnt);
        replicas              = rd_kafka_DescribeMetadataQuorum_result_observers(from, &cnt);
        quorum.observers      = quorum_replicas(replicas, cnt);
        auto nodes            = rd_kafka_DescribeMetadataQuorum_result_nodes(from, &cnt);
        for (size_t i = 0; i < cnt; i++) {
                std::vector<RaftVoterEndpoint> &of = quorum.nodes[rd_kafka_QuorumNode_id(nodes[i])];
                auto endpoints = rd_kafka_QuorumNode_endpoints(nodes[i], &endpoint_cnt);
                for (size_t j = 0; j < endpoint_cnt; j++)
                        of.push_back({text(rd_kafka_RaftVoterEndpoint_listener(endpoints[j])),
                                      text(rd_kafka_RaftVoterEndpoint_host(endpoints[j])),
                                      rd_kafka_RaftVoterEndpoint_port(endpoints[j])});
        }
        return quorum;
}

}  // namespace detail

/* ==========================================================================
 *  CALLS
 * ========================================================================== */

/** The calls of ExtendedAdmin on the cluster. */
class ClusterCalls : public Admin {
       public:
        using Admin::Admin;

        /* -- The cluster -- */

        /**
         * Describes the log directories of brokers, of all without `brokers`, with the replicas in them: of
         * these partitions, or with an empty list of all. At each broker. Requires Kafka 1.0 (KIP-113).
         *
         * Errors of a broker: ERR_CLUSTER_AUTHORIZATION_FAILED, ERR__TIMED_OUT.
         */
        Call<Results<int32_t, std::vector<LogDir>>>
        describe_log_dirs(const std::vector<int32_t> &brokers = std::vector<int32_t>(),
                          const Options &options              = Options()) const {
                return describe_log_dirs(brokers, TopicPartitions(), options);
        }

        Call<Results<int32_t, std::vector<LogDir>>>
        describe_log_dirs(const std::vector<int32_t> &brokers,
                          const TopicPartitions &partitions,
                          const Options &options = Options()) const {
                typedef Results<int32_t, std::vector<LogDir>> Described;
                detail::List list = detail::list(partitions);
                return begin<Described>(
                    options,
                    [&](const rd_kafka_AdminOptions_t *o, rd_kafka_queue_t *q) {
                            rd_kafka_DescribeLogDirs(rk_, brokers.data(), brokers.size(),
                                                     partitions.empty() ? NULL : list.get(), o, q);
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
         * Begins moves of replicas to other log directories of their brokers. Moves continue after the
         * call: describe_log_dirs() returns replicas that are being moved. At each broker. Requires Kafka
         * 1.0 (KIP-113).
         *
         * Errors of a replica: ERR_LOG_DIR_NOT_FOUND, ERR_UNKNOWN_TOPIC_OR_PART, ERR__TIMED_OUT;
         * ERR_REPLICA_NOT_AVAILABLE for a replica that the broker will create in the directory.
         */
        Call<Results<BrokerReplica, None>> alter_replica_log_dirs(const std::vector<ReplicaMove> &moves,
                                                                  const Options &options = Options()) const {
                typedef Results<BrokerReplica, None> Moved;
                detail::Objects<rd_kafka_ReplicaMove_t> objects(rd_kafka_ReplicaMove_destroy);
                for (const ReplicaMove &move : moves)
                        if (!objects.add(rd_kafka_ReplicaMove_new(
                                move.replica.broker, move.replica.partition.topic.c_str(),
                                move.replica.partition.partition, move.log_dir.c_str())))
                                return detail::invalid("a negative number, or an empty topic or path");
                return begin<Moved>(
                    options,
                    [&](const rd_kafka_AdminOptions_t *o, rd_kafka_queue_t *q) {
                            rd_kafka_AlterReplicaLogDirs(rk_, objects.data(), objects.size(), o, q);
                    },
                    [](rd_kafka_event_t *event) {
                            size_t cnt;
                            Moved results;
                            auto rows = rd_kafka_AlterReplicaLogDirs_result_replicas(
                                rd_kafka_event_AlterReplicaLogDirs_result(event), &cnt);
                            for (size_t i = 0; i < cnt; i++)
                                    results.add(
                                        BrokerReplica(
                                            rd_kafka_ReplicaMoveResult_broker_id(rows[i]),
                                            TopicPartition(
                                                detail::text(rd_kafka_ReplicaMoveResult_topic(rows[i])),
                                                rd_kafka_ReplicaMoveResult_partition(rows[i]))),
                                        detail::unless(
                                            detail::error(rd_kafka_ReplicaMoveResult_error(rows[i])),
                                            None()));
                            return results;
                    });
        }

        /**
         * Begins and cancels reassignments, which continue after the call. Not repeated if one is
         * cancelled. At the controller. Requires Kafka 2.4 (KIP-455).
         *
         * @param allow_replication_factor_change  Whether the number of a partition's replicas may change;
         *                                         false requires Kafka 4.1 (KIP-860).
         *
         * Errors of a partition: ERR_NO_REASSIGNMENT_IN_PROGRESS, ERR_INVALID_REPLICA_ASSIGNMENT,
         * ERR_UNKNOWN_TOPIC_OR_PART, ERR_INVALID_REPLICATION_FACTOR.
         */
        Call<PartitionResults>
        alter_partition_reassignments(const std::vector<PartitionReassignment> &reassignments,
                                      const Options &options               = Options(),
                                      bool allow_replication_factor_change = true) const {
                const auto limit = [&](rd_kafka_AdminOptions_t *o) {
                        return detail::owned_error(rd_kafka_AdminOptions_set_allow_replication_factor_change(
                            o, allow_replication_factor_change ? 1 : 0));
                };
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
                    },
                    limit);
        }

        /**
         * Lists the reassignments under way: of these partitions, or with an empty list of all. At the
         * controller. Requires Kafka 2.4 (KIP-455).
         */
        Call<std::vector<OngoingReassignment>>
        list_partition_reassignments(const Options &options = Options()) const {
                return list_partition_reassignments(TopicPartitions(), options);
        }

        Call<std::vector<OngoingReassignment>>
        list_partition_reassignments(const TopicPartitions &partitions,
                                     const Options &options = Options()) const {
                detail::List list = detail::list(partitions);
                return begin<std::vector<OngoingReassignment>>(
                    options,
                    [&](const rd_kafka_AdminOptions_t *o, rd_kafka_queue_t *q) {
                            rd_kafka_ListPartitionReassignments(
                                rk_, partitions.empty() ? NULL : list.get(), o, q);
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
         * Describes the quotas of the entities that match a filter. At any broker. Requires Kafka 2.6
         * (KIP-546).
         *
         * Errors of the call: ERR_INVALID_REQUEST, ERR_CLUSTER_AUTHORIZATION_FAILED.
         */
        Call<std::vector<QuotaEntry>> describe_client_quotas(const QuotaFilter &filter = QuotaFilter(),
                                                             const Options &options = Options()) const {
                detail::Objects<rd_kafka_ClientQuotaFilter_t> objects(rd_kafka_ClientQuotaFilter_destroy);
                rd_kafka_ClientQuotaFilter_t *to = objects.add(rd_kafka_ClientQuotaFilter_new());
                if (filter.copy_to(to))
                        return detail::invalid("an empty type, or one that is named twice");
                return begin<std::vector<QuotaEntry>>(
                    options,
                    [&](const rd_kafka_AdminOptions_t *o, rd_kafka_queue_t *q) {
                            rd_kafka_DescribeClientQuotas(rk_, to, o, q);
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

        /**
         * Lists the resources of these types that have settings, of all types without types. At any broker.
         * Requires Kafka 4.1 (KIP-1142), for subscriptions to client metrics only 3.7.
         *
         * Errors of the call: ERR_UNSUPPORTED_VERSION for a type that the broker cannot list.
         */
        Call<std::vector<ConfigResourceListing>>
        list_config_resources(const std::vector<rd_kafka_ConfigResourceType_t> &types =
                                  std::vector<rd_kafka_ConfigResourceType_t>(),
                              const Options &options = Options()) const {
                return begin<std::vector<ConfigResourceListing>>(
                    options,
                    [&](const rd_kafka_AdminOptions_t *o, rd_kafka_queue_t *q) {
                            rd_kafka_ListConfigResources(rk_, types.data(), types.size(), o, q);
                    },
                    [](rd_kafka_event_t *event) {
                            size_t cnt;
                            std::vector<ConfigResourceListing> found;
                            auto rows = rd_kafka_ListConfigResources_result_resources(
                                rd_kafka_event_ListConfigResources_result(event), &cnt);
                            for (size_t i = 0; i < cnt; i++)
                                    found.push_back(
                                        {rd_kafka_ConfigResourceListing_type(rows[i]),
                                         detail::text(rd_kafka_ConfigResourceListing_name(rows[i]))});
                            return found;
                    });
        }

        /**
         * Describes the features that a broker supports, and those that the cluster uses. At any broker.
         * Requires Kafka 2.7 (KIP-584).
         */
        Call<Features> describe_features(const Options &options = Options()) const {
                return begin<Features>(
                    options,
                    [&](const rd_kafka_AdminOptions_t *o, rd_kafka_queue_t *q) {
                            rd_kafka_DescribeFeatures(rk_, o, q);
                    },
                    [](rd_kafka_event_t *event) {
                            auto result = rd_kafka_event_DescribeFeatures_result(event);
                            Features found;
                            size_t cnt;
                            auto rows             = rd_kafka_DescribeFeatures_result_finalized(result, &cnt);
                            found.finalized       = detail::features(rows, cnt);
                            found.finalized_epoch = rd_kafka_DescribeFeatures_result_finalized_epoch(result);
                            rows                  = rd_kafka_DescribeFeatures_result_supported(result, &cnt);
                            found.supported       = detail::features(rows, cnt);
                            return found;
                    });
        }

        /**
         * Changes the levels of features, since Kafka 4.0 all or none. Not repeated, except with
         * validate_only (Kafka 3.3). At the controller. Requires Kafka 2.7 (KIP-584).
         *
         * Errors of a feature: ERR_INVALID_UPDATE_VERSION, ERR_FEATURE_UPDATE_FAILED,
         * ERR_CLUSTER_AUTHORIZATION_FAILED.
         */
        Call<NameResults> update_features(const std::vector<FeatureUpdate> &updates,
                                          const Options &options = Options()) const {
                detail::Objects<rd_kafka_FeatureUpdate_t> objects(rd_kafka_FeatureUpdate_destroy);
                for (const FeatureUpdate &update : updates)
                        if (!objects.add(rd_kafka_FeatureUpdate_new(update.feature.c_str(), update.level,
                                                                    update.upgrade_type)))
                                return detail::invalid("a feature's name is not UTF-8");
                return begin<NameResults>(
                    options,
                    [&](const rd_kafka_AdminOptions_t *o, rd_kafka_queue_t *q) {
                            rd_kafka_UpdateFeatures(rk_, objects.data(), objects.size(), o, q);
                    },
                    [](rd_kafka_event_t *event) {
                            size_t cnt;
                            NameResults results;
                            auto rows = rd_kafka_UpdateFeatures_result_features(
                                rd_kafka_event_UpdateFeatures_result(event), &cnt);
                            for (size_t i = 0; i < cnt; i++)
                                    results.add(
                                        detail::text(rd_kafka_FeatureResult_name(rows[i])),
                                        detail::unless(detail::error(rd_kafka_FeatureResult_error(rows[i])),
                                                       None()));
                            return results;
                    });
        }

        /**
         * Describes the metadata quorum of a KRaft cluster. At any broker. Requires Kafka 3.3 (KIP-836).
         */
        Call<MetadataQuorum> describe_metadata_quorum(const Options &options = Options()) const {
                return begin<MetadataQuorum>(
                    options,
                    [&](const rd_kafka_AdminOptions_t *o, rd_kafka_queue_t *q) {
                            rd_kafka_DescribeMetadataQuorum(rk_, o, q);
                    },
                    [](rd_kafka_event_t *event) {
                            return detail::quorum(rd_kafka_event_DescribeMetadataQuorum_result(event));
                    });
        }

        /**
         * Makes a controller a voter of the metadata quorum. It must have caught up as an observer. Not
         * repeated. At any broker. Requires Kafka 3.9 with `kraft.version` 1 (KIP-853).
         *
         * @param voter_id      The node id of the controller.
         * @param directory_id  The id of its metadata directory, which describe_metadata_quorum() returns.
         * @param endpoints     Its listeners for controllers, at least one.
         * @param cluster_id    The id with which the controller compares its own; empty for no comparison.
         *
         * Errors of the call: RD_KAFKA_RESP_ERR_DUPLICATE_VOTER of rdkafka.h, 104
         * (INCONSISTENT_CLUSTER_ID), ERR_REQUEST_TIMED_OUT for a controller that does not catch up.
         */
        Call<None> add_raft_voter(int32_t voter_id,
                                  const Uuid &directory_id,
                                  const std::vector<RaftVoterEndpoint> &endpoints,
                                  const std::string &cluster_id = "",
                                  const Options &options        = Options()) const {
                detail::Objects<rd_kafka_RaftVoterEndpoint_t> objects(rd_kafka_RaftVoterEndpoint_destroy);
                for (const RaftVoterEndpoint &e : endpoints)
                        if (!objects.add(rd_kafka_RaftVoterEndpoint_new(e.listener.c_str(), e.host.c_str(),
                                                                        e.port)))
                                return detail::invalid("an empty listener or host, or port 0");
                detail::UuidPtr id = detail::uuid(directory_id);
                return begin<None>(
                    options,
                    [&](const rd_kafka_AdminOptions_t *o, rd_kafka_queue_t *q) {
                            rd_kafka_AddRaftVoter(rk_, voter_id, id.get(), objects.data(), objects.size(),
                                                  cluster_id.empty() ? NULL : cluster_id.c_str(), o, q);
                    },
                    [](rd_kafka_event_t *) { return None(); });
        }

        /**
         * Removes a voter of the metadata quorum, which remains an observer if it runs. Not repeated. At any
         * broker. Requires Kafka 3.9 with `kraft.version` 1 (KIP-853).
         *
         * Errors of the call: RD_KAFKA_RESP_ERR_VOTER_NOT_FOUND of rdkafka.h, 104
         * (INCONSISTENT_CLUSTER_ID).
         */
        Call<None> remove_raft_voter(int32_t voter_id,
                                     const Uuid &directory_id,
                                     const std::string &cluster_id = "",
                                     const Options &options        = Options()) const {
                detail::UuidPtr id = detail::uuid(directory_id);
                return begin<None>(
                    options,
                    [&](const rd_kafka_AdminOptions_t *o, rd_kafka_queue_t *q) {
                            rd_kafka_RemoveRaftVoter(rk_, voter_id, id.get(),
                                                     cluster_id.empty() ? NULL : cluster_id.c_str(), o, q);
                    },
                    [](rd_kafka_event_t *) { return None(); });
        }

        /**
         * Removes the registration of a broker from a KRaft cluster. The broker should be shut down. Not
         * repeated. At any broker. Requires Kafka 3.0 (KIP-500).
         *
         * Errors of the call: 102 (BROKER_ID_NOT_REGISTERED), ERR_CLUSTER_AUTHORIZATION_FAILED.
         */
        Call<None> unregister_broker(int32_t broker, const Options &options = Options()) const {
                return begin<None>(
                    options,
                    [&](const rd_kafka_AdminOptions_t *o, rd_kafka_queue_t *q) {
                            rd_kafka_UnregisterBroker(rk_, broker, o, q);
                    },
                    [](rd_kafka_event_t *) { return None(); });
        }
};

}  // namespace admin
}  // namespace ottla

#endif /* _OTTLA_ADMINPP_CLUSTER_H_ */
