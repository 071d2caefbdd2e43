/*
 * Ottla: an Apache Kafka client.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * ottla_adminpp.h: admin operations in C++11, which rdkafkacpp.h does not have. The header is a layer
 * over the functions of rdkafka.h and needs no library of its own: programs that use it link with
 * librdkafka++ and librdkafka.
 *
 *      std::unique_ptr<RdKafka::Producer> producer(RdKafka::Producer::create(conf.get(), errstr));
 *      ottla::admin::Admin admin(producer.get());
 *      std::vector<ottla::admin::NewTopic> topics{{"orders", 3, 2}, {"refunds", 1, 2}};
 *      auto created = admin.create_topics(topics).wait();
 *      if (!created.ok())
 *              std::cerr << created.error().text << "\n";
 *      for (const auto &row : created.value())
 *              std::cout << row.first << ": " << row.second.error().text << "\n";
 *
 * Rules that hold for every method:
 *
 *  - CLIENTS. Producers and consumers make admin calls. The client must outlive Admin and its calls.
 *  - CALLS. A method begins a call and returns at once. Call::wait() returns its result. Calls that
 *    are begun before the first wait() run at the same time. A Call that is destroyed is executed
 *    all the same, and its result is lost.
 *  - DEADLINES. A call ends at its timeout (Options::request_timeout_ms), also while no broker can
 *    be reached. wait() needs no timeout of its own.
 *  - ERRORS. wait() returns the error of the call as a whole: wrong arguments, no response, a broker
 *    that is too old. Each topic, partition, group and so on has its own error in Results: some may
 *    fail beside others that succeed. No method throws, except for a lack of memory.
 *  - REPETITION. Requests that brokers refuse because they are not responsible or not ready are
 *    repeated within the timeout. A request whose response was lost is repeated if a second
 *    execution changes nothing; the comments say "not repeated" of the others. Their error says that
 *    the broker may have executed them.
 *  - THREADS. Admin is thread-safe. One thread at a time uses a Call.
 *
 * ottla_adminpp_extended.h has operations that librdkafka does not have.
 */

#ifndef _OTTLA_ADMINPP_H_
#define _OTTLA_ADMINPP_H_

#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "ottla_adminpp_convert.h"
#include "ottla_adminpp_types.h"

namespace ottla {
namespace admin {

/* ==========================================================================
 *  CALLS
 * ========================================================================== */

/** A call that has begun. */
template <class T>
class Call {
       public:
        typedef std::function<Result<T>(rd_kafka_event_t *)> Convert;

        /** Not for applications. */
        Call(detail::Queue queue, Convert convert) : queue_(std::move(queue)), convert_(std::move(convert)) {
        }

        /** Not for applications: a call with an error of its arguments. */
        Call(Error error) : error_(std::move(error)) {
        }

        /** Returns whether wait() returns at once. */
        bool is_done() const {
                return !queue_ || rd_kafka_queue_length(queue_.get()) > 0;
        }

        /** Waits for the result, which is returned once: a second wait() returns ERR__STATE. */
        Result<T> wait() {
                if (!queue_)
                        return error_ ? error_ : Error(RdKafka::ERR__STATE, "the result was returned before");
                detail::Event event;
                while (!event)
                        event.reset(rd_kafka_queue_poll(queue_.get(), -1));
                queue_.reset();
                if (rd_kafka_event_error(event.get()))
                        return detail::error(rd_kafka_event_error(event.get()),
                                             rd_kafka_event_error_string(event.get()));
                return convert_(event.get());
        }

       private:
        detail::Queue queue_;
        Convert convert_;
        Error error_;
};

/* ==========================================================================
 *  ADMIN
 * ========================================================================== */

/** Administers a cluster: one method for each operation, named like those of Java's Admin. */
class Admin {
       public:
        typedef Results<std::string, None> NameResults;
        typedef Results<TopicPartition, None> PartitionResults;
        typedef std::vector<TopicPartition> TopicPartitions;
        typedef std::vector<std::pair<TopicPartition, int64_t>> Offsets;

        /** Makes admin calls with a producer or consumer, which must live longer. */
        explicit Admin(RdKafka::Handle *client) : rk_(client->c_ptr()) {
        }

        /** Makes admin calls with a client of the C interface. */
        explicit Admin(rd_kafka_t *client) : rk_(client) {
        }

        /* -- Topics -- */

        /**
         * Creates topics and waits until they exist. Not repeated, except with validate_only. At the
         * controller. Requires Kafka 0.10.1.
         *
         * Errors of a topic: ERR_TOPIC_ALREADY_EXISTS, ERR_TOPIC_EXCEPTION, ERR_INVALID_PARTITIONS,
         * ERR_INVALID_REPLICATION_FACTOR, ERR_INVALID_CONFIG, ERR_POLICY_VIOLATION,
         * ERR_TOPIC_AUTHORIZATION_FAILED, ERR_REQUEST_TIMED_OUT.
         */
        Call<NameResults> create_topics(const std::vector<NewTopic> &topics,
                                        const Options &options = Options()) const {
                detail::Objects<rd_kafka_NewTopic_t> objects(rd_kafka_NewTopic_destroy);
                char errstr[256];
                for (const NewTopic &topic : topics) {
                        rd_kafka_NewTopic_t *made =
                            objects.add(rd_kafka_NewTopic_new(topic.name.c_str(), topic.partitions,
                                                              topic.replication_factor, errstr,
                                                              sizeof(errstr)));
                        if (!made)
                                return detail::invalid(errstr);
                        for (size_t i = 0; i < topic.assignments.size(); i++) {
                                std::vector<int32_t> brokers = topic.assignments[i];
                                if (rd_kafka_NewTopic_set_replica_assignment(
                                        made, static_cast<int32_t>(i), brokers.data(), brokers.size(),
                                        errstr, sizeof(errstr)))
                                        return detail::invalid(errstr);
                        }
                        for (const auto &config : topic.configs)
                                if (rd_kafka_NewTopic_set_config(made, config.first.c_str(),
                                                                 config.second.c_str()))
                                        return detail::invalid("topic " + topic.name +
                                                               ": a setting has no name");
                }
                return begin<NameResults>(
                    options,
                    [&](const rd_kafka_AdminOptions_t *o, rd_kafka_queue_t *q) {
                            rd_kafka_CreateTopics(rk_, objects.data(), objects.size(), o, q);
                    },
                    [](rd_kafka_event_t *event) {
                            size_t cnt;
                            auto rows = rd_kafka_CreateTopics_result_topics(
                                rd_kafka_event_CreateTopics_result(event), &cnt);
                            return detail::topics(rows, cnt);
                    });
        }

        /**
         * Deletes topics with their records and waits until they are deleted. Not repeated. At the
         * controller. Requires Kafka 0.10.1.
         *
         * Errors of a topic: ERR_UNKNOWN_TOPIC_OR_PART, ERR_TOPIC_AUTHORIZATION_FAILED,
         * ERR_REQUEST_TIMED_OUT.
         */
        Call<NameResults> delete_topics(const std::vector<std::string> &names,
                                        const Options &options = Options()) const {
                detail::Objects<rd_kafka_DeleteTopic_t> objects(rd_kafka_DeleteTopic_destroy);
                for (const std::string &name : names)
                        if (!objects.add(rd_kafka_DeleteTopic_new(name.c_str())))
                                return detail::invalid("a topic's name is not UTF-8");
                return begin<NameResults>(
                    options,
                    [&](const rd_kafka_AdminOptions_t *o, rd_kafka_queue_t *q) {
                            rd_kafka_DeleteTopics(rk_, objects.data(), objects.size(), o, q);
                    },
                    [](rd_kafka_event_t *event) {
                            size_t cnt;
                            auto rows = rd_kafka_DeleteTopics_result_topics(
                                rd_kafka_event_DeleteTopics_result(event), &cnt);
                            return detail::topics(rows, cnt);
                    });
        }

        /**
         * Adds partitions to topics and waits until they exist. Not repeated, except with
         * validate_only. At the controller. Requires Kafka 1.0 (KIP-195).
         *
         * Errors of a topic: ERR_UNKNOWN_TOPIC_OR_PART, ERR_INVALID_PARTITIONS for a total that is not
         * higher, ERR_INVALID_REPLICA_ASSIGNMENT, ERR_TOPIC_AUTHORIZATION_FAILED.
         */
        Call<NameResults> create_partitions(const std::vector<NewPartitions> &partitions,
                                            const Options &options = Options()) const {
                detail::Objects<rd_kafka_NewPartitions_t> objects(rd_kafka_NewPartitions_destroy);
                char errstr[256];
                for (const NewPartitions &topic : partitions) {
                        rd_kafka_NewPartitions_t *made = objects.add(rd_kafka_NewPartitions_new(
                            topic.topic.c_str(), topic.total, errstr, sizeof(errstr)));
                        if (!made)
                                return detail::invalid(errstr);
                        for (size_t i = 0; i < topic.assignments.size(); i++) {
                                std::vector<int32_t> brokers = topic.assignments[i];
                                if (rd_kafka_NewPartitions_set_replica_assignment(
                                        made, static_cast<int32_t>(i), brokers.data(), brokers.size(),
                                        errstr, sizeof(errstr)))
                                        return detail::invalid(errstr);
                        }
                }
                return begin<NameResults>(
                    options,
                    [&](const rd_kafka_AdminOptions_t *o, rd_kafka_queue_t *q) {
                            rd_kafka_CreatePartitions(rk_, objects.data(), objects.size(), o, q);
                    },
                    [](rd_kafka_event_t *event) {
                            size_t cnt;
                            auto rows = rd_kafka_CreatePartitions_result_topics(
                                rd_kafka_event_CreatePartitions_result(event), &cnt);
                            return detail::topics(rows, cnt);
                    });
        }

        /**
         * Describes topics with their partitions, leaders and replicas. At any broker.
         *
         * Errors of a topic: ERR_UNKNOWN_TOPIC_OR_PART, ERR_TOPIC_EXCEPTION,
         * ERR_TOPIC_AUTHORIZATION_FAILED.
         */
        Call<Results<std::string, TopicDescription>>
        describe_topics(const std::vector<std::string> &names, const Options &options = Options()) const {
                typedef Results<std::string, TopicDescription> Described;
                std::vector<const char *> texts = detail::pointers(names);
                std::unique_ptr<rd_kafka_TopicCollection_t, detail::Destroy> topics(
                    rd_kafka_TopicCollection_of_topic_names(texts.data(), texts.size()));
                if (!topics)
                        return detail::invalid("a topic's name is not UTF-8");
                return begin<Described>(
                    options,
                    [&](const rd_kafka_AdminOptions_t *o, rd_kafka_queue_t *q) {
                            rd_kafka_DescribeTopics(rk_, topics.get(), o, q);
                    },
                    [](rd_kafka_event_t *event) {
                            size_t cnt;
                            Described results;
                            auto rows = rd_kafka_DescribeTopics_result_topics(
                                rd_kafka_event_DescribeTopics_result(event), &cnt);
                            for (size_t i = 0; i < cnt; i++) {
                                    Error error = detail::error(rd_kafka_TopicDescription_error(rows[i]));
                                    results.add(detail::text(rd_kafka_TopicDescription_name(rows[i])),
                                                detail::unless(error, detail::topic(rows[i])));
                            }
                            return results;
                    });
        }

        /**
         * Deletes the records before an offset in each partition, all of them with
         * RD_KAFKA_OFFSET_END. The values are the new first offsets. At each partition's leader. Not
         * repeated with RD_KAFKA_OFFSET_END. Requires Kafka 0.11 (KIP-107).
         *
         * Errors of a partition: ERR_OFFSET_OUT_OF_RANGE, ERR_UNKNOWN_TOPIC_OR_PART,
         * ERR__UNKNOWN_PARTITION, ERR_POLICY_VIOLATION, ERR_TOPIC_AUTHORIZATION_FAILED,
         * ERR__TIMED_OUT.
         */
        Call<Results<TopicPartition, int64_t>> delete_records(const Offsets &before,
                                                              const Options &options = Options()) const {
                typedef Results<TopicPartition, int64_t> Deleted;
                detail::List list = detail::list(before);
                detail::Objects<rd_kafka_DeleteRecords_t> objects(rd_kafka_DeleteRecords_destroy);
                if (!objects.add(rd_kafka_DeleteRecords_new(list.get())))
                        return detail::invalid("a topic's name is not UTF-8");
                return begin<Deleted>(
                    options,
                    [&](const rd_kafka_AdminOptions_t *o, rd_kafka_queue_t *q) {
                            rd_kafka_DeleteRecords(rk_, objects.data(), objects.size(), o, q);
                    },
                    [](rd_kafka_event_t *event) {
                            Deleted results;
                            for (const auto &row : detail::offsets(rd_kafka_DeleteRecords_result_offsets(
                                     rd_kafka_event_DeleteRecords_result(event))))
                                    results.add(row.first, detail::unless(row.second.error(),
                                                                          row.second.value().offset));
                            return results;
                    });
        }

        /**
         * Looks up offsets: with RD_KAFKA_OFFSET_SPEC_EARLIEST, _LATEST or _MAX_TIMESTAMP, or the first
         * one at a timestamp in milliseconds or later. At each partition's leader. Requires Kafka
         * 0.10.1, _MAX_TIMESTAMP 3.0 (KIP-734).
         *
         * Errors of a partition: ERR_UNKNOWN_TOPIC_OR_PART, ERR_TOPIC_AUTHORIZATION_FAILED,
         * ERR__UNSUPPORTED_FEATURE, ERR__TIMED_OUT.
         */
        Call<Results<TopicPartition, ListedOffset>> list_offsets(const Offsets &partitions,
                                                                 const Options &options = Options()) const {
                typedef Results<TopicPartition, ListedOffset> Listed;
                detail::List list = detail::list(partitions);
                return begin<Listed>(
                    options,
                    [&](const rd_kafka_AdminOptions_t *o, rd_kafka_queue_t *q) {
                            rd_kafka_ListOffsets(rk_, list.get(), o, q);
                    },
                    [](rd_kafka_event_t *event) {
                            size_t cnt;
                            Listed results;
                            auto rows = rd_kafka_ListOffsets_result_infos(
                                rd_kafka_event_ListOffsets_result(event), &cnt);
                            for (size_t i = 0; i < cnt; i++) {
                                    const rd_kafka_topic_partition_t *tp =
                                        rd_kafka_ListOffsetsResultInfo_topic_partition(rows[i]);
                                    ListedOffset listed;
                                    listed.offset       = tp->offset;
                                    listed.timestamp    = rd_kafka_ListOffsetsResultInfo_timestamp(rows[i]);
                                    listed.leader_epoch = rd_kafka_topic_partition_get_leader_epoch(tp);
                                    results.add(detail::partition(*tp),
                                                detail::unless(detail::error(tp->err, NULL), listed));
                            }
                            return results;
                    });
        }

        /**
         * Elects leaders of partitions and waits until brokers know of them. Not repeated. At the
         * controller. Requires Kafka 2.2 (KIP-183), unclean elections 2.4 (KIP-460).
         *
         * @param partitions  NULL for all of the cluster. Then the results have those only whose leader
         *                    changed or could not be elected.
         *
         * Errors of a partition: ERR_ELECTION_NOT_NEEDED, ERR_PREFERRED_LEADER_NOT_AVAILABLE,
         * ERR_ELIGIBLE_LEADERS_NOT_AVAILABLE, ERR_UNKNOWN_TOPIC_OR_PART.
         */
        Call<PartitionResults> elect_leaders(rd_kafka_ElectionType_t type,
                                             const TopicPartitions *partitions,
                                             const Options &options = Options()) const {
                detail::List list = partitions ? detail::list(*partitions) : detail::List();
                std::unique_ptr<rd_kafka_ElectLeaders_t, detail::Destroy> election(
                    rd_kafka_ElectLeaders_new(type, list.get()));
                if (!election)
                        return detail::invalid("a topic's name is not UTF-8");
                return begin<PartitionResults>(
                    options,
                    [&](const rd_kafka_AdminOptions_t *o, rd_kafka_queue_t *q) {
                            rd_kafka_ElectLeaders(rk_, election.get(), o, q);
                    },
                    [](rd_kafka_event_t *event) {
                            size_t cnt;
                            PartitionResults results;
                            auto rows = rd_kafka_ElectLeaders_result_partitions(
                                rd_kafka_event_ElectLeaders_result(event), &cnt);
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
         * Describes the cluster: its id, its brokers and the controller. At any broker.
         */
        Call<ClusterDescription> describe_cluster(const Options &options = Options()) const {
                return begin<ClusterDescription>(
                    options,
                    [&](const rd_kafka_AdminOptions_t *o, rd_kafka_queue_t *q) {
                            rd_kafka_DescribeCluster(rk_, o, q);
                    },
                    [](rd_kafka_event_t *event) {
                            const rd_kafka_DescribeCluster_result_t *result =
                                rd_kafka_event_DescribeCluster_result(event);
                            ClusterDescription cluster;
                            size_t cnt;
                            cluster.cluster_id =
                                detail::text(rd_kafka_DescribeCluster_result_cluster_id(result));
                            cluster.controller =
                                detail::node(rd_kafka_DescribeCluster_result_controller(result));
                            auto nodes    = rd_kafka_DescribeCluster_result_nodes(result, &cnt);
                            cluster.nodes = detail::nodes(nodes, cnt);
                            auto allowed =
                                rd_kafka_DescribeCluster_result_authorized_operations(result, &cnt);
                            cluster.authorized_operations = detail::operations(allowed, cnt);
                            return cluster;
                    });
        }

        /* -- Settings -- */

        /**
         * Describes settings. At the broker whose settings are described, and any for the rest; one
         * call can contain only one broker (ERR__CONFLICT). Requires Kafka 0.11 (KIP-133).
         *
         * Errors of a resource: ERR_UNKNOWN_TOPIC_OR_PART, ERR_TOPIC_AUTHORIZATION_FAILED,
         * ERR_CLUSTER_AUTHORIZATION_FAILED.
         */
        Call<Results<ConfigResource, std::vector<ConfigEntry>>>
        describe_configs(const std::vector<ConfigQuery> &queries, const Options &options = Options()) const {
                detail::Objects<rd_kafka_ConfigResource_t> objects(rd_kafka_ConfigResource_destroy);
                for (const ConfigQuery &query : queries) {
                        rd_kafka_ConfigResource_t *made = objects.add(rd_kafka_ConfigResource_new(
                            query.resource.type, query.resource.name.c_str()));
                        if (!made)
                                return detail::invalid(query.resource.name + ": no such type of resources");
                        for (const std::string &name : query.names)
                                if (rd_kafka_ConfigResource_set_config(made, name.c_str(), ""))
                                        return detail::invalid(query.resource.name +
                                                               ": a setting has no name");
                }
                return begin<Results<ConfigResource, std::vector<ConfigEntry>>>(
                    options,
                    [&](const rd_kafka_AdminOptions_t *o, rd_kafka_queue_t *q) {
                            rd_kafka_DescribeConfigs(rk_, objects.data(), objects.size(), o, q);
                    },
                    [](rd_kafka_event_t *event) {
                            size_t cnt;
                            auto rows = rd_kafka_DescribeConfigs_result_resources(
                                rd_kafka_event_DescribeConfigs_result(event), &cnt);
                            return detail::resources(rows, cnt);
                    });
        }

        /**
         * Changes single settings of resources, and leaves the others as they are. Not repeated,
         * except with validate_only. At brokers as describe_configs(). Requires Kafka 2.3 (KIP-339).
         *
         * Errors of a resource: ERR_INVALID_CONFIG, ERR_INVALID_REQUEST, ERR_UNKNOWN_TOPIC_OR_PART,
         * ERR_TOPIC_AUTHORIZATION_FAILED, ERR_CLUSTER_AUTHORIZATION_FAILED, ERR_POLICY_VIOLATION.
         */
        Call<Results<ConfigResource, None>>
        incremental_alter_configs(const std::vector<ConfigChanges> &changes,
                                  const Options &options = Options()) const {
                detail::Objects<rd_kafka_ConfigResource_t> objects(rd_kafka_ConfigResource_destroy);
                Error error = add_changes(changes, true, objects);
                if (error)
                        return error;
                return begin<Results<ConfigResource, None>>(
                    options,
                    [&](const rd_kafka_AdminOptions_t *o, rd_kafka_queue_t *q) {
                            rd_kafka_IncrementalAlterConfigs(rk_, objects.data(), objects.size(), o, q);
                    },
                    [](rd_kafka_event_t *event) {
                            size_t cnt;
                            auto rows = rd_kafka_IncrementalAlterConfigs_result_resources(
                                rd_kafka_event_IncrementalAlterConfigs_result(event), &cnt);
                            return detail::altered(rows, cnt);
                    });
        }

        /**
         * Replaces the settings of resources: settings that are not listed are reset. Since Kafka 2.3
         * incremental_alter_configs() replaces it, whose errors it has. Not repeated, except with
         * validate_only. Requires Kafka 0.11 (KIP-133).
         */
        Call<Results<ConfigResource, None>> alter_configs(const std::vector<ConfigChanges> &changes,
                                                          const Options &options = Options()) const {
                detail::Objects<rd_kafka_ConfigResource_t> objects(rd_kafka_ConfigResource_destroy);
                Error error = add_changes(changes, false, objects);
                if (error)
                        return error;
                return begin<Results<ConfigResource, None>>(
                    options,
                    [&](const rd_kafka_AdminOptions_t *o, rd_kafka_queue_t *q) {
                            rd_kafka_AlterConfigs(rk_, objects.data(), objects.size(), o, q);
                    },
                    [](rd_kafka_event_t *event) {
                            size_t cnt;
                            auto rows = rd_kafka_AlterConfigs_result_resources(
                                rd_kafka_event_AlterConfigs_result(event), &cnt);
                            return detail::altered(rows, cnt);
                    });
        }

        /* -- Groups -- */

        /**
         * Lists the groups that consumers have created, of all brokers that answer. Requires Kafka 2.6 to
         * filter by state and 3.8 by type.
         */
        Call<ConsumerGroups> list_consumer_groups(const ConsumerGroupFilter &filter = ConsumerGroupFilter(),
                                                  const Options &options = Options()) const {
                const auto limit = [&](rd_kafka_AdminOptions_t *o) {
                        Error error =
                            detail::owned_error(rd_kafka_AdminOptions_set_match_consumer_group_states(
                                o, filter.states.data(), filter.states.size()));
                        return error ? error
                                     : detail::owned_error(
                                           rd_kafka_AdminOptions_set_match_consumer_group_types(
                                               o, filter.types.data(), filter.types.size()));
                };
                return begin<ConsumerGroups>(
                    options,
                    [&](const rd_kafka_AdminOptions_t *o, rd_kafka_queue_t *q) {
                            rd_kafka_ListConsumerGroups(rk_, o, q);
                    },
                    [](rd_kafka_event_t *event) {
                            const rd_kafka_ListConsumerGroups_result_t *result =
                                rd_kafka_event_ListConsumerGroups_result(event);
                            ConsumerGroups all;
                            size_t cnt;
                            auto rows = rd_kafka_ListConsumerGroups_result_valid(result, &cnt);
                            for (size_t i = 0; i < cnt; i++) {
                                    ConsumerGroupListing group;
                                    group.group_id =
                                        detail::text(rd_kafka_ConsumerGroupListing_group_id(rows[i]));
                                    group.is_simple =
                                        rd_kafka_ConsumerGroupListing_is_simple_consumer_group(rows[i]) != 0;
                                    group.state = rd_kafka_ConsumerGroupListing_state(rows[i]);
                                    group.type  = rd_kafka_ConsumerGroupListing_type(rows[i]);
                                    all.groups.push_back(group);
                            }
                            auto errors = rd_kafka_ListConsumerGroups_result_errors(result, &cnt);
                            all.errors  = detail::errors(errors, cnt);
                            return all;
                    },
                    limit);
        }

        /**
         * Describes groups of either protocol with their members. A group that does not exist has the
         * state RD_KAFKA_CONSUMER_GROUP_STATE_DEAD. At each group's coordinator.
         *
         * Errors of a group: ERR_GROUP_AUTHORIZATION_FAILED, ERR__INVALID_ARG for a group of another
         * kind, ERR__TIMED_OUT.
         */
        Call<Results<std::string, ConsumerGroupDescription>>
        describe_consumer_groups(const std::vector<std::string> &groups,
                                 const Options &options = Options()) const {
                typedef Results<std::string, ConsumerGroupDescription> Described;
                std::vector<const char *> texts = detail::pointers(groups);
                return begin<Described>(
                    options,
                    [&](const rd_kafka_AdminOptions_t *o, rd_kafka_queue_t *q) {
                            rd_kafka_DescribeConsumerGroups(rk_, texts.data(), texts.size(), o, q);
                    },
                    [](rd_kafka_event_t *event) {
                            size_t cnt;
                            Described results;
                            auto rows = rd_kafka_DescribeConsumerGroups_result_groups(
                                rd_kafka_event_DescribeConsumerGroups_result(event), &cnt);
                            for (size_t i = 0; i < cnt; i++) {
                                    ConsumerGroupDescription group = detail::group(rows[i]);
                                    Error error =
                                        detail::error(rd_kafka_ConsumerGroupDescription_error(rows[i]));
                                    std::string id = group.group_id;
                                    results.add(id, detail::unless(error, std::move(group)));
                            }
                            return results;
                    });
        }

        /**
         * Deletes groups without members, with their committed offsets. Not repeated. At each group's
         * coordinator. Requires Kafka 1.1 (KIP-229).
         *
         * Errors of a group: ERR_NON_EMPTY_GROUP, ERR_GROUP_ID_NOT_FOUND,
         * ERR_GROUP_AUTHORIZATION_FAILED, ERR__TIMED_OUT.
         */
        Call<NameResults> delete_consumer_groups(const std::vector<std::string> &groups,
                                                 const Options &options = Options()) const {
                detail::Objects<rd_kafka_DeleteGroup_t> objects(rd_kafka_DeleteGroup_destroy);
                for (const std::string &group : groups)
                        if (!objects.add(rd_kafka_DeleteGroup_new(group.c_str())))
                                return detail::invalid("a group's id is not UTF-8");
                return begin<NameResults>(
                    options,
                    [&](const rd_kafka_AdminOptions_t *o, rd_kafka_queue_t *q) {
                            rd_kafka_DeleteGroups(rk_, objects.data(), objects.size(), o, q);
                    },
                    [](rd_kafka_event_t *event) {
                            size_t cnt;
                            NameResults results;
                            auto rows = rd_kafka_DeleteGroups_result_groups(
                                rd_kafka_event_DeleteGroups_result(event), &cnt);
                            for (const auto &row : detail::groups(rows, cnt))
                                    results.add(row.first, detail::unless(row.second.error(), None()));
                            return results;
                    });
        }

        /** The committed offsets of groups. Without a commit the offset is RD_KAFKA_OFFSET_INVALID. */
        typedef Results<std::string, Results<TopicPartition, OffsetAndMetadata>> GroupOffsets;

        /**
         * Lists committed offsets of groups: of these partitions, or with an empty list of all that have
         * one. At each group's coordinator.
         *
         * Errors of a group: ERR_GROUP_AUTHORIZATION_FAILED, ERR__TIMED_OUT. Of a partition:
         * ERR_TOPIC_AUTHORIZATION_FAILED.
         */
        Call<GroupOffsets>
        list_consumer_group_offsets(const std::vector<std::pair<std::string, TopicPartitions>> &groups,
                                    const Options &options = Options()) const {
                detail::Objects<rd_kafka_ListConsumerGroupOffsets_t> objects(
                    rd_kafka_ListConsumerGroupOffsets_destroy);
                for (const auto &group : groups) {
                        detail::List list = detail::list(group.second);
                        if (!objects.add(rd_kafka_ListConsumerGroupOffsets_new(
                                group.first.c_str(), group.second.empty() ? NULL : list.get())))
                                return detail::invalid("a name is not UTF-8");
                }
                return begin<GroupOffsets>(
                    options,
                    [&](const rd_kafka_AdminOptions_t *o, rd_kafka_queue_t *q) {
                            rd_kafka_ListConsumerGroupOffsets(rk_, objects.data(), objects.size(), o, q);
                    },
                    [](rd_kafka_event_t *event) {
                            size_t cnt;
                            auto rows = rd_kafka_ListConsumerGroupOffsets_result_groups(
                                rd_kafka_event_ListConsumerGroupOffsets_result(event), &cnt);
                            return detail::groups(rows, cnt);
                    });
        }

        /**
         * Commits offsets for a group that has no members. At the group's coordinator.
         *
         * Errors of a partition: ERR_UNKNOWN_MEMBER_ID while the group has members,
         * ERR_UNKNOWN_TOPIC_OR_PART. Of the call: ERR_GROUP_AUTHORIZATION_FAILED, ERR__TIMED_OUT.
         */
        Call<PartitionResults> alter_consumer_group_offsets(
            const std::string &group,
            const std::vector<std::pair<TopicPartition, OffsetAndMetadata>> &offsets,
            const Options &options = Options()) const {
                detail::List list(rd_kafka_topic_partition_list_new(static_cast<int>(offsets.size())));
                for (const auto &row : offsets) {
                        rd_kafka_topic_partition_t *to = rd_kafka_topic_partition_list_add(
                            list.get(), row.first.topic.c_str(), row.first.partition);
                        const std::string &metadata = row.second.metadata;
                        to->offset                  = row.second.offset;
                        rd_kafka_topic_partition_set_leader_epoch(to, row.second.leader_epoch);
                        if (metadata.empty())
                                continue;
                        to->metadata = rd_kafka_mem_malloc(NULL, metadata.size());
                        if (!to->metadata)
                                throw std::bad_alloc();
                        to->metadata_size = metadata.size();
                        memcpy(to->metadata, metadata.data(), metadata.size());
                }
                detail::Objects<rd_kafka_AlterConsumerGroupOffsets_t> objects(
                    rd_kafka_AlterConsumerGroupOffsets_destroy);
                if (!objects.add(rd_kafka_AlterConsumerGroupOffsets_new(group.c_str(), list.get())))
                        return detail::invalid("a name is not UTF-8");
                return begin<PartitionResults>(
                    options,
                    [&](const rd_kafka_AdminOptions_t *o, rd_kafka_queue_t *q) {
                            rd_kafka_AlterConsumerGroupOffsets(rk_, objects.data(), objects.size(), o, q);
                    },
                    [](rd_kafka_event_t *event) {
                            size_t cnt;
                            auto rows = rd_kafka_AlterConsumerGroupOffsets_result_groups(
                                rd_kafka_event_AlterConsumerGroupOffsets_result(event), &cnt);
                            return detail::only_group(rows, cnt);
                    });
        }

        /**
         * Deletes committed offsets of a group, whose members may not consume the topics. Not repeated.
         * At the group's coordinator. Requires Kafka 2.4 (KIP-496).
         *
         * Errors of a partition: ERR_GROUP_SUBSCRIBED_TO_TOPIC, ERR_UNKNOWN_TOPIC_OR_PART. Of the call:
         * ERR_GROUP_ID_NOT_FOUND, ERR_GROUP_AUTHORIZATION_FAILED, ERR__TIMED_OUT.
         */
        Call<PartitionResults> delete_consumer_group_offsets(const std::string &group,
                                                             const TopicPartitions &partitions,
                                                             const Options &options = Options()) const {
                detail::List list = detail::list(partitions);
                detail::Objects<rd_kafka_DeleteConsumerGroupOffsets_t> objects(
                    rd_kafka_DeleteConsumerGroupOffsets_destroy);
                if (!objects.add(rd_kafka_DeleteConsumerGroupOffsets_new(group.c_str(), list.get())))
                        return detail::invalid("a name is not UTF-8");
                return begin<PartitionResults>(
                    options,
                    [&](const rd_kafka_AdminOptions_t *o, rd_kafka_queue_t *q) {
                            rd_kafka_DeleteConsumerGroupOffsets(rk_, objects.data(), objects.size(), o, q);
                    },
                    [](rd_kafka_event_t *event) {
                            size_t cnt;
                            auto rows = rd_kafka_DeleteConsumerGroupOffsets_result_groups(
                                rd_kafka_event_DeleteConsumerGroupOffsets_result(event), &cnt);
                            return detail::only_group(rows, cnt);
                    });
        }

        /* -- Security -- */

        /**
         * Creates access control entries. One that exists is created without an error. At any broker.
         * Requires Kafka 0.11 (KIP-140).
         *
         * Errors of an entry: ERR_INVALID_REQUEST, ERR_CLUSTER_AUTHORIZATION_FAILED,
         * ERR_SECURITY_DISABLED without an authorizer.
         */
        Call<Results<AclBinding, None>> create_acls(const std::vector<AclBinding> &bindings,
                                                    const Options &options = Options()) const {
                typedef Results<AclBinding, None> Created;
                detail::Objects<rd_kafka_AclBinding_t> objects(rd_kafka_AclBinding_destroy);
                char errstr[256];
                for (const AclBinding &acl : bindings)
                        if (!objects.add(rd_kafka_AclBinding_new(
                                acl.resource_type, acl.name.c_str(), acl.pattern_type,
                                acl.principal.c_str(), acl.host.c_str(), acl.operation,
                                acl.permission_type, errstr, sizeof(errstr))))
                                return detail::invalid(errstr);
                return begin<Created>(
                    options,
                    [&](const rd_kafka_AdminOptions_t *o, rd_kafka_queue_t *q) {
                            rd_kafka_CreateAcls(rk_, objects.data(), objects.size(), o, q);
                    },
                    [bindings](rd_kafka_event_t *event) {
                            size_t cnt;
                            Created results;
                            auto rows =
                                rd_kafka_CreateAcls_result_acls(rd_kafka_event_CreateAcls_result(event), &cnt);
                            for (size_t i = 0; i < cnt && i < bindings.size(); i++)
                                    results.add(bindings[i],
                                                detail::unless(
                                                    detail::error(rd_kafka_acl_result_error(rows[i])), None()));
                            return results;
                    });
        }

        /**
         * Describes the access control entries that match a filter. At any broker. Requires Kafka 0.11
         * (KIP-140).
         *
         * Errors of the call: ERR_CLUSTER_AUTHORIZATION_FAILED, ERR_SECURITY_DISABLED.
         */
        Call<std::vector<AclBinding>> describe_acls(const AclFilter &filter,
                                                    const Options &options = Options()) const {
                detail::Objects<rd_kafka_AclBindingFilter_t> objects(rd_kafka_AclBinding_destroy);
                Error error;
                rd_kafka_AclBindingFilter_t *made = objects.add(detail::acl_filter(filter, &error));
                if (!made)
                        return error;
                return begin<std::vector<AclBinding>>(
                    options,
                    [&](const rd_kafka_AdminOptions_t *o, rd_kafka_queue_t *q) {
                            rd_kafka_DescribeAcls(rk_, made, o, q);
                    },
                    [](rd_kafka_event_t *event) {
                            size_t cnt;
                            std::vector<AclBinding> found;
                            auto rows = rd_kafka_DescribeAcls_result_acls(
                                rd_kafka_event_DescribeAcls_result(event), &cnt);
                            for (size_t i = 0; i < cnt; i++)
                                    found.push_back(detail::acl(rows[i]));
                            return found;
                    });
        }

        /**
         * Deletes the access control entries that match filters. The value of a filter has the entries
         * that it matched, each with its error. Not repeated. At any broker. Requires Kafka 0.11
         * (KIP-140).
         *
         * Errors of a filter: as create_acls().
         */
        Call<Results<AclFilter, Results<AclBinding, None>>>
        delete_acls(const std::vector<AclFilter> &filters, const Options &options = Options()) const {
                typedef Results<AclFilter, Results<AclBinding, None>> Deleted;
                detail::Objects<rd_kafka_AclBindingFilter_t> objects(rd_kafka_AclBinding_destroy);
                Error error;
                for (const AclFilter &filter : filters)
                        if (!objects.add(detail::acl_filter(filter, &error)))
                                return error;
                return begin<Deleted>(
                    options,
                    [&](const rd_kafka_AdminOptions_t *o, rd_kafka_queue_t *q) {
                            rd_kafka_DeleteAcls(rk_, objects.data(), objects.size(), o, q);
                    },
                    [filters](rd_kafka_event_t *event) {
                            size_t cnt, matching_cnt;
                            Deleted results;
                            auto rows = rd_kafka_DeleteAcls_result_responses(
                                rd_kafka_event_DeleteAcls_result(event), &cnt);
                            for (size_t i = 0; i < cnt && i < filters.size(); i++) {
                                    Results<AclBinding, None> matched;
                                    auto acls = rd_kafka_DeleteAcls_result_response_matching_acls(
                                        rows[i], &matching_cnt);
                                    for (size_t j = 0; j < matching_cnt; j++)
                                            matched.add(
                                                detail::acl(acls[j]),
                                                detail::unless(
                                                    detail::error(rd_kafka_AclBinding_error(acls[j])),
                                                    None()));
                                    results.add(filters[i],
                                                detail::unless(
                                                    detail::error(
                                                        rd_kafka_DeleteAcls_result_response_error(rows[i])),
                                                    std::move(matched)));
                            }
                            return results;
                    });
        }

        /**
         * Describes the SCRAM credentials of users, of all that have one without users. At any broker.
         * Requires Kafka 2.7 (KIP-554).
         *
         * Errors of a user: ERR_RESOURCE_NOT_FOUND. Of the call: ERR_CLUSTER_AUTHORIZATION_FAILED.
         */
        Call<Results<std::string, std::vector<ScramCredentialInfo>>>
        describe_user_scram_credentials(const std::vector<std::string> &users,
                                        const Options &options = Options()) const {
                typedef std::vector<ScramCredentialInfo> Infos;
                std::vector<const char *> texts = detail::pointers(users);
                return begin<Results<std::string, Infos>>(
                    options,
                    [&](const rd_kafka_AdminOptions_t *o, rd_kafka_queue_t *q) {
                            rd_kafka_DescribeUserScramCredentials(rk_, texts.data(), texts.size(), o, q);
                    },
                    [](rd_kafka_event_t *event) {
                            size_t cnt;
                            Results<std::string, Infos> results;
                            auto rows = rd_kafka_DescribeUserScramCredentials_result_descriptions(
                                rd_kafka_event_DescribeUserScramCredentials_result(event), &cnt);
                            for (size_t i = 0; i < cnt; i++) {
                                    Infos infos;
                                    const size_t info_cnt =
                                        rd_kafka_UserScramCredentialsDescription_scramcredentialinfo_count(
                                            rows[i]);
                                    for (size_t j = 0; j < info_cnt; j++) {
                                            auto info =
                                                rd_kafka_UserScramCredentialsDescription_scramcredentialinfo(
                                                    rows[i], j);
                                            infos.push_back(
                                                {rd_kafka_ScramCredentialInfo_mechanism(info),
                                                 rd_kafka_ScramCredentialInfo_iterations(info)});
                                    }
                                    results.add(
                                        detail::text(rd_kafka_UserScramCredentialsDescription_user(rows[i])),
                                        detail::unless(
                                            detail::error(
                                                rd_kafka_UserScramCredentialsDescription_error(rows[i])),
                                            std::move(infos)));
                            }
                            return results;
                    });
        }

        /**
         * Sets and removes SCRAM credentials of users. Not repeated if one is removed. At the controller.
         * Requires Kafka 2.7 (KIP-554).
         *
         * Errors of a user: ERR_RESOURCE_NOT_FOUND, ERR_DUPLICATE_RESOURCE, ERR_UNACCEPTABLE_CREDENTIAL,
         * ERR_CLUSTER_AUTHORIZATION_FAILED. Of the call: ERR__INVALID_ARG for an empty user or password.
         */
        Call<NameResults> alter_user_scram_credentials(const std::vector<ScramAlteration> &alterations,
                                                       const Options &options = Options()) const {
                detail::Objects<rd_kafka_UserScramCredentialAlteration_t> objects(
                    rd_kafka_UserScramCredentialAlteration_destroy);
                const auto bytes = [](const std::string &text) {
                        return reinterpret_cast<const unsigned char *>(text.data());
                };
                for (const ScramAlteration &a : alterations)
                        if (!objects.add(a.iterations == 0
                                             ? rd_kafka_UserScramCredentialDeletion_new(a.user.c_str(),
                                                                                        a.mechanism)
                                             : rd_kafka_UserScramCredentialUpsertion_new(
                                                   a.user.c_str(), a.mechanism, a.iterations,
                                                   bytes(a.password), a.password.size(), bytes(a.salt),
                                                   a.salt.size())))
                                return detail::invalid("a user's name is not UTF-8");
                return begin<NameResults>(
                    options,
                    [&](const rd_kafka_AdminOptions_t *o, rd_kafka_queue_t *q) {
                            rd_kafka_AlterUserScramCredentials(rk_, objects.data(), objects.size(), o, q);
                    },
                    [](rd_kafka_event_t *event) {
                            size_t cnt;
                            NameResults results;
                            auto rows = rd_kafka_AlterUserScramCredentials_result_responses(
                                rd_kafka_event_AlterUserScramCredentials_result(event), &cnt);
                            for (size_t i = 0; i < cnt; i++)
                                    results.add(
                                        detail::text(
                                            rd_kafka_AlterUserScramCredentials_result_response_user(rows[i])),
                                        detail::unless(
                                            detail::error(
                                                rd_kafka_AlterUserScramCredentials_result_response_error(
                                                    rows[i])),
                                            None()));
                            return results;
                    });
        }

       protected:
        static Error no_more_options(rd_kafka_AdminOptions_t *) {
                return Error();
        }

        /** Begins a call. `send` makes the C call, `limit` sets further options. */
        template <class T>
        Call<T> begin(const Options &options,
                      const std::function<void(const rd_kafka_AdminOptions_t *, rd_kafka_queue_t *)> &send,
                      typename Call<T>::Convert convert,
                      const std::function<Error(rd_kafka_AdminOptions_t *)> &limit = no_more_options) const {
                std::unique_ptr<rd_kafka_AdminOptions_t, detail::Destroy> to(
                    rd_kafka_AdminOptions_new(rk_, RD_KAFKA_ADMIN_OP_ANY));
                detail::Queue queue(rd_kafka_queue_new(rk_));
                if (!to || !queue)
                        return Error(RdKafka::ERR__STATE, "the client cannot make admin calls any more");
                Error error = set(to.get(), options);
                if (!error)
                        error = limit(to.get());
                if (error)
                        return error;
                send(to.get(), queue.get());
                return Call<T>(std::move(queue), std::move(convert));
        }

        rd_kafka_t *rk_;

       private:
        /** Creates the resources of changes of settings. */
        static Error add_changes(const std::vector<ConfigChanges> &changes,
                                 bool is_incremental,
                                 detail::Objects<rd_kafka_ConfigResource_t> &objects) {
                for (const ConfigChanges &of : changes) {
                        const std::string &name = of.resource.name;
                        rd_kafka_ConfigResource_t *made =
                            objects.add(rd_kafka_ConfigResource_new(of.resource.type, name.c_str()));
                        if (!made)
                                return detail::invalid(name + ": no such type of resources");
                        for (const ConfigChange &change : of.changes) {
                                const bool is_set = change.type == RD_KAFKA_ALTER_CONFIG_OP_TYPE_SET;
                                const char *value = change.type == RD_KAFKA_ALTER_CONFIG_OP_TYPE_DELETE
                                                        ? NULL
                                                        : change.value.c_str();
                                if (!is_incremental && !is_set)
                                        return detail::invalid(
                                            change.name + ": incremental_alter_configs() has this change");
                                Error error =
                                    is_incremental
                                        ? detail::owned_error(rd_kafka_ConfigResource_add_incremental_config(
                                              made, change.name.c_str(), change.type, value))
                                        : detail::error(rd_kafka_ConfigResource_set_config(
                                                            made, change.name.c_str(), value),
                                                        NULL);
                                if (error)
                                        return error;
                        }
                }
                return Error();
        }

        /** Sets the options of a call. */
        static Error set(rd_kafka_AdminOptions_t *to, const Options &from) {
                char errstr[256];
                const size_t size = sizeof(errstr);
                if (from.request_timeout_ms != -1 &&
                    rd_kafka_AdminOptions_set_request_timeout(to, from.request_timeout_ms, errstr, size))
                        return detail::invalid(errstr);
                if (from.operation_timeout_ms != -1 &&
                    rd_kafka_AdminOptions_set_operation_timeout(to, from.operation_timeout_ms, errstr, size))
                        return detail::invalid(errstr);
                if (from.broker != -1 && rd_kafka_AdminOptions_set_broker(to, from.broker, errstr, size))
                        return detail::invalid(errstr);
                if (rd_kafka_AdminOptions_set_validate_only(to, from.validate_only, errstr, size))
                        return detail::invalid(errstr);
                Error error = detail::owned_error(rd_kafka_AdminOptions_set_include_authorized_operations(
                    to, from.include_authorized_operations));
                if (!error)
                        error = detail::owned_error(
                            rd_kafka_AdminOptions_set_require_stable_offsets(to, from.require_stable));
                if (!error)
                        error = detail::owned_error(rd_kafka_AdminOptions_set_isolation_level(
                            to, from.read_committed ? RD_KAFKA_ISOLATION_LEVEL_READ_COMMITTED
                                                    : RD_KAFKA_ISOLATION_LEVEL_READ_UNCOMMITTED));
                return error;
        }

};

}  // namespace admin
}  // namespace ottla

#endif /* _OTTLA_ADMINPP_H_ */
