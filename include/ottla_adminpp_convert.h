/*
 * Ottla: an Apache Kafka client.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * ottla_adminpp_convert.h: conversions between the values of ottla_adminpp_types.h and the objects of
 * rdkafka.h, for ottla_adminpp.h. It is no interface for applications and may change.
 */

#ifndef _OTTLA_ADMINPP_CONVERT_H_
#define _OTTLA_ADMINPP_CONVERT_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ottla_adminpp_types.h"

namespace ottla {
namespace admin {
namespace detail {

inline std::string text(const char *text) {
        return text ? text : "";
}

inline Error error(rd_kafka_resp_err_t code, const char *words) {
        return code ? Error(static_cast<RdKafka::ErrorCode>(code), words ? words : rd_kafka_err2str(code))
                    : Error();
}

/** Copies an error that belongs to a result; NULL is none. */
inline Error error(const rd_kafka_error_t *from) {
        if (!from)
                return Error();
        Error copy      = error(rd_kafka_error_code(from), rd_kafka_error_string(from));
        copy.is_retriable = rd_kafka_error_is_retriable(from) != 0;
        copy.is_fatal     = rd_kafka_error_is_fatal(from) != 0;
        return copy;
}

/** Copies an error that the caller owns, and frees it. */
inline Error owned_error(rd_kafka_error_t *from) {
        Error copy = error(from);
        if (from)
                rd_kafka_error_destroy(from);
        return copy;
}

inline std::vector<Error> errors(const rd_kafka_error_t **from, size_t cnt) {
        std::vector<Error> errors;
        for (size_t i = 0; i < cnt; i++)
                errors.push_back(error(from[i]));
        return errors;
}

inline Error invalid(const std::string &text) {
        return Error(RdKafka::ERR__INVALID_ARG, text);
}

/** Returns the value unless there is an error. */
template <class T>
Result<T> unless(Error error, T value) {
        return error ? Result<T>(std::move(error)) : Result<T>(std::move(value));
}

struct Destroy {
        void operator()(rd_kafka_event_t *event) const {
                rd_kafka_event_destroy(event);
        }
        void operator()(rd_kafka_queue_t *queue) const {
                rd_kafka_queue_destroy(queue);
        }
        void operator()(rd_kafka_AdminOptions_t *options) const {
                rd_kafka_AdminOptions_destroy(options);
        }
        void operator()(rd_kafka_topic_partition_list_t *list) const {
                rd_kafka_topic_partition_list_destroy(list);
        }
        void operator()(rd_kafka_TopicCollection_t *topics) const {
                rd_kafka_TopicCollection_destroy(topics);
        }
        void operator()(rd_kafka_ElectLeaders_t *election) const {
                rd_kafka_ElectLeaders_destroy(election);
        }
};

typedef std::unique_ptr<rd_kafka_event_t, Destroy> Event;
typedef std::unique_ptr<rd_kafka_queue_t, Destroy> Queue;
typedef std::unique_ptr<rd_kafka_topic_partition_list_t, Destroy> List;

/** Arguments of a call, which are destroyed with it. */
template <class T>
class Objects {
       public:
        explicit Objects(void (*destroy)(T *)) : destroy_(destroy) {
        }

        Objects(const Objects &)            = delete;
        Objects &operator=(const Objects &) = delete;

        ~Objects() {
                for (T *object : objects_)
                        destroy_(object);
        }

        /** Adds an object; NULL for one that could not be created. */
        T *add(T *object) {
                if (object)
                        objects_.push_back(object);
                return object;
        }

        T **data() {
                return objects_.data();
        }

        size_t size() const {
                return objects_.size();
        }

       private:
        void (*destroy_)(T *);
        std::vector<T *> objects_;
};

inline std::vector<const char *> pointers(const std::vector<std::string> &texts) {
        std::vector<const char *> pointers;
        for (const std::string &text : texts)
                pointers.push_back(text.c_str());
        return pointers;
}

inline List list(const std::vector<TopicPartition> &partitions) {
        List list(rd_kafka_topic_partition_list_new(static_cast<int>(partitions.size())));
        for (const TopicPartition &tp : partitions)
                rd_kafka_topic_partition_list_add(list.get(), tp.topic.c_str(), tp.partition);
        return list;
}

inline List list(const std::vector<std::pair<TopicPartition, int64_t>> &offsets) {
        List list(rd_kafka_topic_partition_list_new(static_cast<int>(offsets.size())));
        for (const auto &row : offsets)
                rd_kafka_topic_partition_list_add(list.get(), row.first.topic.c_str(), row.first.partition)
                    ->offset = row.second;
        return list;
}

inline TopicPartition partition(const rd_kafka_topic_partition_t &row) {
        return TopicPartition(text(row.topic), row.partition);
}

inline std::vector<TopicPartition> partitions(const rd_kafka_MemberAssignment_t *assignment) {
        std::vector<TopicPartition> found;
        const rd_kafka_topic_partition_list_t *list =
            assignment ? rd_kafka_MemberAssignment_partitions(assignment) : NULL;
        for (int i = 0; list && i < list->cnt; i++)
                found.push_back(partition(list->elems[i]));
        return found;
}

inline Node node(const rd_kafka_Node_t *from) {
        Node node;
        if (from) {
                node.id   = rd_kafka_Node_id(from);
                node.host = text(rd_kafka_Node_host(from));
                node.port = rd_kafka_Node_port(from);
                node.rack = text(rd_kafka_Node_rack(from));
        }
        return node;
}

inline std::vector<Node> nodes(const rd_kafka_Node_t **from, size_t cnt) {
        std::vector<Node> nodes;
        for (size_t i = 0; i < cnt; i++)
                nodes.push_back(node(from[i]));
        return nodes;
}

inline Operations operations(const rd_kafka_AclOperation_t *from, size_t cnt) {
        return from ? Operations(from, from + cnt) : Operations();
}

inline Results<std::string, None> topics(const rd_kafka_topic_result_t **from, size_t cnt) {
        Results<std::string, None> results;
        for (size_t i = 0; i < cnt; i++)
                results.add(text(rd_kafka_topic_result_name(from[i])),
                            unless(error(rd_kafka_topic_result_error(from[i]),
                                         rd_kafka_topic_result_error_string(from[i])),
                                   None()));
        return results;
}

inline ConfigEntry entry(const rd_kafka_ConfigEntry_t *from) {
        const char *value = rd_kafka_ConfigEntry_value(from);
        ConfigEntry entry;
        size_t cnt;
        const rd_kafka_ConfigEntry_t **synonyms = rd_kafka_ConfigEntry_synonyms(from, &cnt);
        entry.name                              = text(rd_kafka_ConfigEntry_name(from));
        entry.value                             = text(value);
        entry.has_value                         = value != NULL;
        entry.source                            = rd_kafka_ConfigEntry_source(from);
        entry.is_read_only                      = rd_kafka_ConfigEntry_is_read_only(from) == 1;
        entry.is_default                        = rd_kafka_ConfigEntry_is_default(from) == 1;
        entry.is_sensitive                      = rd_kafka_ConfigEntry_is_sensitive(from) == 1;
        for (size_t i = 0; i < cnt; i++)
                entry.synonyms.push_back(detail::entry(synonyms[i]));
        return entry;
}

typedef std::vector<ConfigEntry> Entries;

inline Results<ConfigResource, Entries> resources(const rd_kafka_ConfigResource_t **from, size_t cnt) {
        Results<ConfigResource, Entries> results;
        for (size_t i = 0; i < cnt; i++) {
                size_t entry_cnt;
                const rd_kafka_ConfigEntry_t **configs =
                    rd_kafka_ConfigResource_configs(from[i], &entry_cnt);
                Entries entries;
                for (size_t j = 0; j < entry_cnt; j++)
                        entries.push_back(entry(configs[j]));
                results.add(ConfigResource(rd_kafka_ConfigResource_type(from[i]),
                                           text(rd_kafka_ConfigResource_name(from[i]))),
                            unless(error(rd_kafka_ConfigResource_error(from[i]),
                                         rd_kafka_ConfigResource_error_string(from[i])),
                                   std::move(entries)));
        }
        return results;
}

/** Returns the results of resources without their settings. */
inline Results<ConfigResource, None> altered(const rd_kafka_ConfigResource_t **from, size_t cnt) {
        Results<ConfigResource, None> results;
        for (const auto &row : resources(from, cnt))
                results.add(row.first, unless(row.second.error(), None()));
        return results;
}

typedef Results<TopicPartition, OffsetAndMetadata> PartitionOffsets;

inline PartitionOffsets offsets(const rd_kafka_topic_partition_list_t *list) {
        PartitionOffsets results;
        for (int i = 0; list && i < list->cnt; i++) {
                const rd_kafka_topic_partition_t &row = list->elems[i];
                OffsetAndMetadata committed(row.offset);
                committed.leader_epoch = rd_kafka_topic_partition_get_leader_epoch(&row);
                if (row.metadata)
                        committed.metadata.assign(static_cast<const char *>(row.metadata),
                                                  row.metadata_size);
                results.add(partition(row), unless(error(row.err, NULL), std::move(committed)));
        }
        return results;
}

typedef Results<std::string, PartitionOffsets> GroupOffsets;

inline GroupOffsets groups(const rd_kafka_group_result_t **from, size_t cnt) {
        GroupOffsets results;
        for (size_t i = 0; i < cnt; i++)
                results.add(text(rd_kafka_group_result_name(from[i])),
                            unless(error(rd_kafka_group_result_error(from[i])),
                                   offsets(rd_kafka_group_result_partitions(from[i]))));
        return results;
}

/** Returns the results of the partitions of the only group, or the group's error. */
inline Result<Results<TopicPartition, None>> only_group(const rd_kafka_group_result_t **from, size_t cnt) {
        const GroupOffsets all = groups(from, cnt);
        if (all.empty())
                return Error(RdKafka::ERR__FAIL, "there is no result for the group");
        if (!all[0].second.ok())
                return all[0].second.error();
        Results<TopicPartition, None> results;
        for (const auto &row : all[0].second.value())
                results.add(row.first, unless(row.second.error(), None()));
        return results;
}

inline MemberDescription member(const rd_kafka_MemberDescription_t *from) {
        MemberDescription member;
        member.client_id         = text(rd_kafka_MemberDescription_client_id(from));
        member.group_instance_id = text(rd_kafka_MemberDescription_group_instance_id(from));
        member.member_id         = text(rd_kafka_MemberDescription_consumer_id(from));
        member.host              = text(rd_kafka_MemberDescription_host(from));
        member.assignment        = partitions(rd_kafka_MemberDescription_assignment(from));
        member.target_assignment = partitions(rd_kafka_MemberDescription_target_assignment(from));
        return member;
}

inline ConsumerGroupDescription group(const rd_kafka_ConsumerGroupDescription_t *from) {
        ConsumerGroupDescription group;
        size_t cnt;
        group.group_id  = text(rd_kafka_ConsumerGroupDescription_group_id(from));
        group.is_simple = rd_kafka_ConsumerGroupDescription_is_simple_consumer_group(from) != 0;
        group.partition_assignor = text(rd_kafka_ConsumerGroupDescription_partition_assignor(from));
        group.state              = rd_kafka_ConsumerGroupDescription_state(from);
        group.type               = rd_kafka_ConsumerGroupDescription_type(from);
        group.coordinator        = node(rd_kafka_ConsumerGroupDescription_coordinator(from));
        const rd_kafka_AclOperation_t *allowed =
            rd_kafka_ConsumerGroupDescription_authorized_operations(from, &cnt);
        group.authorized_operations = operations(allowed, cnt);
        for (size_t i = 0; i < rd_kafka_ConsumerGroupDescription_member_count(from); i++)
                group.members.push_back(member(rd_kafka_ConsumerGroupDescription_member(from, i)));
        return group;
}

inline TopicDescription topic(const rd_kafka_TopicDescription_t *from) {
        TopicDescription topic;
        size_t cnt;
        topic.name                  = text(rd_kafka_TopicDescription_name(from));
        const rd_kafka_Uuid_t *uuid = rd_kafka_TopicDescription_topic_id(from);
        topic.topic_id              = uuid ? text(rd_kafka_Uuid_base64str(uuid)) : "";
        topic.is_internal           = rd_kafka_TopicDescription_is_internal(from) != 0;
        const rd_kafka_AclOperation_t *allowed =
            rd_kafka_TopicDescription_authorized_operations(from, &cnt);
        topic.authorized_operations                   = operations(allowed, cnt);
        const rd_kafka_TopicPartitionInfo_t **details = rd_kafka_TopicDescription_partitions(from, &cnt);
        for (size_t i = 0; i < cnt; i++) {
                PartitionDescription partition;
                size_t node_cnt;
                partition.partition        = rd_kafka_TopicPartitionInfo_partition(details[i]);
                partition.leader           = node(rd_kafka_TopicPartitionInfo_leader(details[i]));
                const rd_kafka_Node_t **of = rd_kafka_TopicPartitionInfo_isr(details[i], &node_cnt);
                partition.isr              = nodes(of, node_cnt);
                of                 = rd_kafka_TopicPartitionInfo_replicas(details[i], &node_cnt);
                partition.replicas = nodes(of, node_cnt);
                topic.partitions.push_back(std::move(partition));
        }
        return topic;
}

inline AclBinding acl(const rd_kafka_AclBinding_t *from) {
        AclBinding acl;
        acl.resource_type   = rd_kafka_AclBinding_restype(from);
        acl.name            = text(rd_kafka_AclBinding_name(from));
        acl.pattern_type    = rd_kafka_AclBinding_resource_pattern_type(from);
        acl.principal       = text(rd_kafka_AclBinding_principal(from));
        acl.host            = text(rd_kafka_AclBinding_host(from));
        acl.operation       = rd_kafka_AclBinding_operation(from);
        acl.permission_type = rd_kafka_AclBinding_permission_type(from);
        return acl;
}

/** Creates a C filter; NULL with `error` for numbers that no filter has. */
inline rd_kafka_AclBindingFilter_t *acl_filter(const AclFilter &filter, Error *error) {
        const auto any = [](const std::string &text) { return text.empty() ? NULL : text.c_str(); };
        char errstr[256];
        rd_kafka_AclBindingFilter_t *made = rd_kafka_AclBindingFilter_new(
            filter.resource_type, any(filter.name), filter.pattern_type, any(filter.principal),
            any(filter.host), filter.operation, filter.permission_type, errstr, sizeof(errstr));
        if (!made)
                *error = invalid(errstr);
        return made;
}

}  // namespace detail

}  // namespace admin
}  // namespace ottla

#endif /* _OTTLA_ADMINPP_CONVERT_H_ */
