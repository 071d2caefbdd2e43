/*
 * Ottla: an Apache Kafka client.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * ottla_adminpp_types.h: arguments and results of the admin calls in ottla_adminpp.h, which includes
 * this header. They are values: they can be copied, and belong to no client.
 *
 * Enumerations are those of rdkafka.h.
 */

#ifndef _OTTLA_ADMINPP_TYPES_H_
#define _OTTLA_ADMINPP_TYPES_H_

#include <stdint.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "rdkafka.h"
#include "rdkafkacpp.h"

namespace ottla {
namespace admin {

/* ==========================================================================
 *  RESULTS
 * ========================================================================== */

/** An error of a call or of one of its keys; true if there is one. */
struct Error {
        RdKafka::ErrorCode code; /**< ERR_NO_ERROR for none. */
        std::string text;        /**< For people; empty for none. */
        bool is_retriable;       /**< The same call may succeed when it is made again. */
        bool is_fatal;           /**< The client cannot continue (ottla_sharepp.h). */

        Error() : code(RdKafka::ERR_NO_ERROR), is_retriable(false), is_fatal(false) {
        }

        Error(RdKafka::ErrorCode code, const std::string &text)
            : code(code), text(text), is_retriable(false), is_fatal(false) {
        }

        explicit operator bool() const {
                return code != RdKafka::ERR_NO_ERROR;
        }
};

/** A value, or the error because of which there is none. */
template <class T>
class Result {
       public:
        Result(T value) : value_(std::move(value)) {
        }

        Result(Error error) : error_(std::move(error)), value_() {
        }

        /** Returns whether there is a value. */
        bool ok() const {
                return !error_;
        }

        /** Returns the error; ERR_NO_ERROR if there is a value. */
        const Error &error() const {
                return error_;
        }

        /** Returns the value; an empty one if there is an error. */
        const T &value() const {
                return value_;
        }

        T &value() {
                return value_;
        }

        const T *operator->() const {
                return &value_;
        }

       private:
        Error error_;
        T value_;
};

/** The value of a result that is either success or an error. */
struct None {};

/**
 * The results of a call by key (topic, partition, group, user ...), in the order of the call. Every
 * key of the call has one.
 */
template <class K, class V>
class Results {
       public:
        typedef std::pair<K, Result<V>> Row;
        typedef typename std::vector<Row>::const_iterator const_iterator;

        const_iterator begin() const {
                return rows_.begin();
        }

        const_iterator end() const {
                return rows_.end();
        }

        size_t size() const {
                return rows_.size();
        }

        bool empty() const {
                return rows_.empty();
        }

        /** Returns a result by its position in the call, which must be less than size(). */
        const Row &operator[](size_t index) const {
                return rows_[index];
        }

        /** Returns the result of a key; NULL for a key that the call did not have. */
        const Result<V> *find(const K &key) const {
                const_iterator it = std::find_if(rows_.begin(), rows_.end(),
                                                 [&](const Row &row) { return row.first == key; });
                return it == rows_.end() ? NULL : &it->second;
        }

        /** Returns the first error of a key; no error if all keys have a value. */
        Error first_error() const {
                for (const Row &row : rows_)
                        if (!row.second.ok())
                                return row.second.error();
                return Error();
        }

        void add(K key, Result<V> result) {
                rows_.push_back(Row(std::move(key), std::move(result)));
        }

       private:
        std::vector<Row> rows_;
};

/* ==========================================================================
 *  OPTIONS
 * ========================================================================== */

/** Options of a call. A call ignores those that it does not have. */
struct Options {
        /** The timeout of the call in milliseconds, 0 to 3600000, from the search for brokers to the
         *  last response; -1: `socket.timeout.ms`. */
        int request_timeout_ms;
        /** The time in milliseconds for which brokers wait until what they have begun is completed;
         *  0 does not wait, -1: `socket.timeout.ms`. */
        int operation_timeout_ms;
        /** Validates the request without executing it. */
        bool validate_only;
        /** The broker to ask in place of the controller, leaders, coordinators or any; -1: none. */
        int32_t broker;
        /** Requests the operations that the client may perform (KIP-430, Kafka 2.3). */
        bool include_authorized_operations;
        /** list_offsets(): the latest offset is the last stable one (KIP-98). */
        bool read_committed;
        /** list_consumer_group_offsets(): waits for open transactions (KIP-447, Kafka 2.5). */
        bool require_stable;

        Options()
            : request_timeout_ms(-1), operation_timeout_ms(-1), validate_only(false), broker(-1),
              include_authorized_operations(false), read_committed(false), require_stable(false) {
        }
};

/* ==========================================================================
 *  TOPICS AND THE CLUSTER
 * ========================================================================== */

/** A partition of a topic. */
struct TopicPartition {
        std::string topic;
        int32_t partition;

        TopicPartition(const std::string &topic = "", int32_t partition = -1)
            : topic(topic), partition(partition) {
        }

        bool operator==(const TopicPartition &other) const {
                return partition == other.partition && topic == other.topic;
        }

        bool operator<(const TopicPartition &other) const {
                return std::tie(topic, partition) < std::tie(other.topic, other.partition);
        }
};

/** A topic to create. */
struct NewTopic {
        std::string name;
        int partitions;         /**< -1: the broker's default (KIP-464, Kafka 2.4). */
        int replication_factor; /**< -1: the broker's default, or with assignments. */
        /** The brokers of each partition's replicas, the preferred leader first; empty for the
         *  controller's choice. */
        std::vector<std::vector<int32_t>> assignments;
        std::vector<std::pair<std::string, std::string>> configs; /**< Settings with values. */

        NewTopic(const std::string &name, int partitions = -1, int replication_factor = -1)
            : name(name), partitions(partitions), replication_factor(replication_factor) {
        }
};

/** Partitions to add to a topic. */
struct NewPartitions {
        std::string topic;
        size_t total; /**< The new total number of partitions. */
        /** The brokers of each new partition's replicas; empty for the controller's choice. */
        std::vector<std::vector<int32_t>> assignments;

        NewPartitions(const std::string &topic, size_t total) : topic(topic), total(total) {
        }
};

/** A broker. */
struct Node {
        int32_t id; /**< -1 for none. */
        std::string host;
        uint16_t port;
        std::string rack; /**< Empty for none. */

        Node() : id(-1), port(0) {
        }
};

typedef std::vector<rd_kafka_AclOperation_t> Operations;

/** A partition in the description of a topic. */
struct PartitionDescription {
        int32_t partition;
        Node leader; /**< Its id is -1 without a leader. */
        std::vector<Node> isr;
        std::vector<Node> replicas;
};

/** A topic. */
struct TopicDescription {
        std::string name;
        std::string topic_id; /**< In base 64 (KIP-516). */
        bool is_internal;
        std::vector<PartitionDescription> partitions; /**< By number. */
        Operations authorized_operations;             /**< Empty if not requested. */

        TopicDescription() : is_internal(false) {
        }
};

/** The cluster. */
struct ClusterDescription {
        std::string cluster_id;
        Node controller; /**< Its id is -1 if there is none. */
        std::vector<Node> nodes;
        Operations authorized_operations; /**< Empty if not requested. */
};

/** The offset of a partition. */
struct ListedOffset {
        int64_t offset;    /**< -1: no record at the timestamp or later. */
        int64_t timestamp; /**< Of the record, in milliseconds; -1 for the ends of the log. */
        int32_t leader_epoch; /**< -1 if it is not known. */

        ListedOffset() : offset(-1), timestamp(-1), leader_epoch(-1) {
        }
};

/* ==========================================================================
 *  SETTINGS
 * ========================================================================== */

/** A resource with settings. */
struct ConfigResource {
        rd_kafka_ResourceType_t type;
        std::string name; /**< A topic, a group, or a broker's id in decimal. */

        ConfigResource(rd_kafka_ResourceType_t type, const std::string &name) : type(type), name(name) {
        }

        bool operator==(const ConfigResource &other) const {
                return type == other.type && name == other.name;
        }
};

/** Settings of a resource to describe; all without names. */
struct ConfigQuery {
        ConfigResource resource;
        std::vector<std::string> names;

        ConfigQuery(const ConfigResource &resource) : resource(resource) {
        }
};

/** A change of one setting. */
struct ConfigChange {
        std::string name;
        std::string value; /**< Not used by RD_KAFKA_ALTER_CONFIG_OP_TYPE_DELETE. */
        rd_kafka_AlterConfigOpType_t type;

        ConfigChange(const std::string &name,
                     const std::string &value,
                     rd_kafka_AlterConfigOpType_t type = RD_KAFKA_ALTER_CONFIG_OP_TYPE_SET)
            : name(name), value(value), type(type) {
        }
};

/** Changes of a resource's settings. */
struct ConfigChanges {
        ConfigResource resource;
        std::vector<ConfigChange> changes;

        ConfigChanges(const ConfigResource &resource) : resource(resource) {
        }
};

/** A setting. */
struct ConfigEntry {
        std::string name;
        std::string value;
        bool has_value; /**< false for one that is sensitive or not set. */
        rd_kafka_ConfigSource_t source;
        bool is_read_only;
        bool is_default;
        bool is_sensitive;
        std::vector<ConfigEntry> synonyms; /**< In order of precedence, for describe_configs(). */
};

/* ==========================================================================
 *  GROUPS
 * ========================================================================== */

/** A group that consumers have created. */
struct ConsumerGroupListing {
        std::string group_id;
        bool is_simple; /**< It has committed offsets only. */
        rd_kafka_consumer_group_state_t state;
        rd_kafka_consumer_group_type_t type;
};

/** The groups of all brokers that answered. */
struct ConsumerGroups {
        std::vector<ConsumerGroupListing> groups; /**< By id. */
        std::vector<Error> errors;                /**< Of brokers whose groups are missing. */
};

/** The states and types of groups to list; empty for all. */
struct ConsumerGroupFilter {
        std::vector<rd_kafka_consumer_group_state_t> states; /**< KIP-518, Kafka 2.6. */
        std::vector<rd_kafka_consumer_group_type_t> types;   /**< KIP-848, Kafka 3.8. */
};

/** A member of a group. */
struct MemberDescription {
        std::string client_id;
        std::string group_instance_id; /**< Empty unless the member is static (KIP-345). */
        std::string member_id;
        std::string host;
        std::vector<TopicPartition> assignment;
        /** The partitions that the member is to have; empty in groups of the classic protocol. */
        std::vector<TopicPartition> target_assignment;
};

/** A group. */
struct ConsumerGroupDescription {
        std::string group_id;
        bool is_simple;
        std::string partition_assignor;
        rd_kafka_consumer_group_state_t state;
        rd_kafka_consumer_group_type_t type;
        Node coordinator;
        std::vector<MemberDescription> members;
        Operations authorized_operations; /**< Empty if not requested. */

        ConsumerGroupDescription()
            : is_simple(false), state(RD_KAFKA_CONSUMER_GROUP_STATE_UNKNOWN),
              type(RD_KAFKA_CONSUMER_GROUP_TYPE_UNKNOWN) {
        }
};

/** A committed offset. */
struct OffsetAndMetadata {
        int64_t offset;       /**< RD_KAFKA_OFFSET_INVALID: none is committed. */
        int32_t leader_epoch; /**< -1 if it is not known. */
        std::string metadata; /**< The text that was committed with it. */

        OffsetAndMetadata(int64_t offset = RD_KAFKA_OFFSET_INVALID) : offset(offset), leader_epoch(-1) {
        }
};

/* ==========================================================================
 *  SECURITY
 * ========================================================================== */

/** An access control entry. As a filter: empty texts and the ANY of each type match any. */
struct AclBinding {
        rd_kafka_ResourceType_t resource_type; /**< RD_KAFKA_RESOURCE_BROKER is the cluster. */
        std::string name;
        rd_kafka_ResourcePatternType_t pattern_type;
        std::string principal; /**< Such as "User:alice". */
        std::string host;      /**< "*" for any in an entry. */
        rd_kafka_AclOperation_t operation;
        rd_kafka_AclPermissionType_t permission_type;

        /** Creates the filter that matches every entry. */
        AclBinding()
            : resource_type(RD_KAFKA_RESOURCE_ANY), pattern_type(RD_KAFKA_RESOURCE_PATTERN_ANY),
              operation(RD_KAFKA_ACL_OPERATION_ANY), permission_type(RD_KAFKA_ACL_PERMISSION_TYPE_ANY) {
        }

        bool operator==(const AclBinding &other) const {
                return std::tie(resource_type, name, pattern_type, principal, host, operation,
                                permission_type) ==
                       std::tie(other.resource_type, other.name, other.pattern_type, other.principal,
                                other.host, other.operation, other.permission_type);
        }
};

typedef AclBinding AclFilter;

/** A SCRAM credential to set, or to remove with 0 iterations. */
struct ScramAlteration {
        std::string user;
        rd_kafka_ScramMechanism_t mechanism;
        int32_t iterations; /**< 4096 to 16384; 0 removes the credential. */
        std::string password;
        std::string salt; /**< Empty for a random one. */

        ScramAlteration(const std::string &user, rd_kafka_ScramMechanism_t mechanism)
            : user(user), mechanism(mechanism), iterations(0) {
        }
};

/** A SCRAM credential, without its secret. */
struct ScramCredentialInfo {
        rd_kafka_ScramMechanism_t mechanism;
        int32_t iterations;
};

}  // namespace admin
}  // namespace ottla

#endif /* _OTTLA_ADMINPP_TYPES_H_ */
