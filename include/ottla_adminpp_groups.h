/*
 * Ottla: an Apache Kafka client.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * ottla_adminpp_groups.h: the part of ottla_adminpp_extended.h, which includes this header, on groups of all
 * types: listing, members, descriptions, start offsets of share groups.
 */

#ifndef _OTTLA_ADMINPP_GROUPS_H_
#define _OTTLA_ADMINPP_GROUPS_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "ottla_adminpp_transactions.h"

namespace ottla {
namespace admin {

/* ==========================================================================
 *  ARGUMENTS AND RESULTS
 * ========================================================================== */

/** A group of any type. */
struct GroupListing {
        std::string group_id;
        std::string protocol_type; /**< Such as "consumer", "connect" and "share". */
        rd_kafka_group_state_t state;
        rd_kafka_group_type_t type;
        bool is_simple; /**< It has committed offsets only. */
};

/** The groups to list; empty for all. */
struct GroupFilter {
        std::vector<rd_kafka_group_state_t> states; /**< KIP-518, Kafka 2.6. */
        std::vector<rd_kafka_group_type_t> types;   /**< KIP-848, Kafka 3.8. */
        /** Such as "consumer", "connect" and "share"; an empty text for groups with committed offsets only. */
        std::vector<std::string> protocol_types;
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

/** A group of the classic protocol: of consumers, of Kafka Connect, and of others. */
struct ClassicGroupDescription {
        std::string protocol_type; /**< Such as "consumer" and "connect"; empty if it has offsets only. */
        std::string protocol;      /**< The one that the members have chosen, for consumers the assignor. */
        bool is_simple;            /**< It has committed offsets only. */
        rd_kafka_group_state_t state;
        Node coordinator;
        std::vector<MemberDescription> members; /**< With assignments if they are consumers. */
        Operations authorized_operations;       /**< Empty if not requested. */

        ClassicGroupDescription() : is_simple(false), state(RD_KAFKA_GROUP_STATE_UNKNOWN) {
        }
};

/** A member of a share group. */
struct ShareMemberDescription {
        std::string member_id;
        int32_t member_epoch;
        std::string rack_id; /**< Empty for none. */
        std::string client_id;
        std::string host;
        std::vector<std::string> subscribed_topics;
        std::vector<TopicPartition> assignment; /**< Several members may have the same partition. */
};

/** A share group. */
struct ShareGroupDescription {
        rd_kafka_group_state_t state;
        int32_t group_epoch;      /**< Rises with every change of members and topics. */
        int32_t assignment_epoch; /**< Of the target assignment. */
        std::string assignor;
        Node coordinator;
        std::vector<ShareMemberDescription> members;
        Operations authorized_operations; /**< Empty if not requested. */

        ShareGroupDescription()
            : state(RD_KAFKA_GROUP_STATE_UNKNOWN), group_epoch(-1), assignment_epoch(-1) {
        }
};

/** The start offset of a share group in a partition. */
struct ShareOffset {
        int64_t offset;       /**< RD_KAFKA_OFFSET_INVALID: the group has none. */
        int32_t leader_epoch; /**< -1 if it is not known. */
        int64_t lag;          /**< The number of records not processed (KIP-1226); -1 if it is unknown. */

        ShareOffset() : offset(RD_KAFKA_OFFSET_INVALID), leader_epoch(-1), lag(-1) {
        }
};

/** A topic that a Kafka Streams application creates. */
struct StreamsTopic {
        std::string name;
        int32_t partitions;     /**< 0 if it is not given, and for changelogs. */
        int replication_factor; /**< 0 for the broker's default. */
        std::map<std::string, std::string> configs;
};

/** A part of a topology, whose tasks are assigned independently of the other parts. */
struct StreamsSubtopology {
        std::string id;
        std::vector<std::string> source_topics;
        std::vector<std::string> repartition_sink_topics; /**< Those that it writes to. */
        std::vector<StreamsTopic> state_changelog_topics;
        std::vector<StreamsTopic> repartition_source_topics; /**< Those that it reads. */
};

/** The sum of the offsets of a task. */
struct StreamsTaskOffset {
        std::string subtopology_id;
        int32_t partition;
        int64_t offset;
};

/** Tasks of one subtopology. */
struct StreamsTasks {
        std::string subtopology_id;
        std::vector<int32_t> partitions;
};

/** The tasks of a member. */
struct StreamsAssignment {
        std::vector<StreamsTasks> active;  /**< They process records. */
        std::vector<StreamsTasks> standby; /**< They keep copies of state stores. */
        std::vector<StreamsTasks> warmup;  /**< They prepare state stores to become active. */
};

/** A member of a streams group. */
struct StreamsMember {
        std::string member_id;
        int32_t member_epoch;
        std::string group_instance_id; /**< Empty for none. */
        std::string rack_id;           /**< Empty for none. */
        std::string client_id;
        std::string host;
        int32_t topology_epoch;
        std::string process_id;    /**< Of its process, which may have several members. */
        std::string endpoint_host; /**< For queries (`application.server`); empty for none. */
        uint16_t endpoint_port;    /**< For queries; 0 for none. */
        std::map<std::string, std::string> client_tags; /**< For assignments by rack. */
        std::vector<StreamsTaskOffset> task_offsets;
        std::vector<StreamsTaskOffset> task_end_offsets;
        StreamsAssignment assignment;
        StreamsAssignment target_assignment; /**< The tasks that the member is to have. */
        bool is_classic;                     /**< It speaks the classic protocol. */
};

/** A streams group. */
struct StreamsGroupDescription {
        rd_kafka_group_state_t state;
        int32_t group_epoch;
        int32_t assignment_epoch; /**< Of the target assignment. */
        int32_t topology_epoch;   /**< -1 until a member has sent a topology. */
        bool has_topology;
        std::vector<StreamsSubtopology> subtopologies;
        Node coordinator;
        std::vector<StreamsMember> members;
        Operations authorized_operations; /**< Empty if not requested. */

        StreamsGroupDescription()
            : state(RD_KAFKA_GROUP_STATE_UNKNOWN), group_epoch(-1), assignment_epoch(-1), topology_epoch(-1),
              has_topology(false) {
        }
};

namespace detail {

/** Returns the elements that a function of the C interface returns by index. */
template <class From, class Count, class Item, class Convert>
auto elements(const From *from, Count count, Item item, Convert convert)
    -> std::vector<decltype(convert(item(from, 0)))> {
        std::vector<decltype(convert(item(from, 0)))> found;
        for (size_t i = 0; i < count(from); i++)
                found.push_back(convert(item(from, i)));
        return found;
}

/** Returns pairs of texts that functions of the C interface return by index. */
template <class From, class Count, class Text>
std::map<std::string, std::string> pairs(const From *from, Count count, Text name, Text value) {
        std::map<std::string, std::string> found;
        for (size_t i = 0; i < count(from); i++)
                found[text(name(from, i))] = text(value(from, i));
        return found;
}

inline ClassicGroupDescription classic_group(const rd_kafka_ClassicGroupDescription_t *from) {
        ClassicGroupDescription group;
        size_t cnt;
        group.protocol_type = text(rd_kafka_ClassicGroupDescription_protocol_type(from));
        group.protocol      = text(rd_kafka_ClassicGroupDescription_protocol_data(from));
        group.is_simple     = rd_kafka_ClassicGroupDescription_is_simple_consumer_group(from) != 0;
        group.state         = rd_kafka_ClassicGroupDescription_state(from);
        group.coordinator   = node(rd_kafka_ClassicGroupDescription_coordinator(from));
        group.members       = elements(from, rd_kafka_ClassicGroupDescription_member_count,
                                       rd_kafka_ClassicGroupDescription_member, member);
        auto allowed        = rd_kafka_ClassicGroupDescription_authorized_operations(from, &cnt);
        group.authorized_operations = operations(allowed, cnt);
        return group;
}

inline ShareMemberDescription share_member(const rd_kafka_ShareMemberDescription_t *from) {
        ShareMemberDescription member;
        member.member_id         = text(rd_kafka_ShareMemberDescription_member_id(from));
        member.member_epoch      = rd_kafka_ShareMemberDescription_member_epoch(from);
        member.rack_id           = text(rd_kafka_ShareMemberDescription_rack_id(from));
        member.client_id         = text(rd_kafka_ShareMemberDescription_client_id(from));
        member.host              = text(rd_kafka_ShareMemberDescription_host(from));
        member.subscribed_topics = elements(from, rd_kafka_ShareMemberDescription_subscribed_topic_count,
                                            rd_kafka_ShareMemberDescription_subscribed_topic, text);
        member.assignment        = partitions(rd_kafka_ShareMemberDescription_assignment(from));
        return member;
}

inline ShareGroupDescription share_group(const rd_kafka_ShareGroupDescription_t *from) {
        ShareGroupDescription group;
        size_t cnt;
        group.state            = rd_kafka_ShareGroupDescription_state(from);
        group.group_epoch      = rd_kafka_ShareGroupDescription_group_epoch(from);
        group.assignment_epoch = rd_kafka_ShareGroupDescription_assignment_epoch(from);
        group.assignor         = text(rd_kafka_ShareGroupDescription_assignor(from));
        group.coordinator      = node(rd_kafka_ShareGroupDescription_coordinator(from));
        group.members          = elements(from, rd_kafka_ShareGroupDescription_member_count,
                                          rd_kafka_ShareGroupDescription_member, share_member);
        auto allowed           = rd_kafka_ShareGroupDescription_authorized_operations(from, &cnt);
        group.authorized_operations = operations(allowed, cnt);
        return group;
}

inline Results<TopicPartition, ShareOffset> share_offsets(const rd_kafka_ShareGroupOffsets_t *group) {
        Results<TopicPartition, ShareOffset> results;
        size_t cnt;
        auto rows = rd_kafka_ShareGroupOffsets_partitions(group, &cnt);
        for (size_t i = 0; i < cnt; i++) {
                const rd_kafka_topic_partition_t *tp = rd_kafka_ShareOffset_partition(rows[i]);
                ShareOffset offset;
                offset.offset       = tp->offset;
                offset.leader_epoch = rd_kafka_topic_partition_get_leader_epoch(tp);
                offset.lag          = rd_kafka_ShareOffset_lag(rows[i]);
                results.add(partition(*tp), unless(error(rd_kafka_ShareOffset_error(rows[i])), offset));
        }
        return results;
}

inline StreamsTopic streams_topic(const rd_kafka_StreamsTopic_t *from) {
        return {text(rd_kafka_StreamsTopic_name(from)), rd_kafka_StreamsTopic_partition_count(from),
                rd_kafka_StreamsTopic_replication_factor(from),
                pairs(from, rd_kafka_StreamsTopic_config_count, rd_kafka_StreamsTopic_config_name,
                      rd_kafka_StreamsTopic_config_value)};
}

inline StreamsSubtopology streams_subtopology(const rd_kafka_StreamsSubtopology_t *from) {
        return {text(rd_kafka_StreamsSubtopology_id(from)),
                elements(from, rd_kafka_StreamsSubtopology_source_topic_count,
                         rd_kafka_StreamsSubtopology_source_topic, text),
                elements(from, rd_kafka_StreamsSubtopology_repartition_sink_topic_count,
                         rd_kafka_StreamsSubtopology_repartition_sink_topic, text),
                elements(from, rd_kafka_StreamsSubtopology_state_changelog_topic_count,
                         rd_kafka_StreamsSubtopology_state_changelog_topic, streams_topic),
                elements(from, rd_kafka_StreamsSubtopology_repartition_source_topic_count,
                         rd_kafka_StreamsSubtopology_repartition_source_topic, streams_topic)};
}

inline StreamsTaskOffset streams_task_offset(const rd_kafka_StreamsTaskOffset_t *from) {
        return {text(rd_kafka_StreamsTaskOffset_subtopology_id(from)),
                rd_kafka_StreamsTaskOffset_partition(from), rd_kafka_StreamsTaskOffset_offset(from)};
}

inline StreamsTasks streams_tasks(const rd_kafka_StreamsTasks_t *from) {
        size_t cnt;
        const int32_t *partitions = rd_kafka_StreamsTasks_partitions(from, &cnt);
        return {text(rd_kafka_StreamsTasks_subtopology_id(from)),
                partitions ? std::vector<int32_t>(partitions, partitions + cnt) : std::vector<int32_t>()};
}

inline StreamsAssignment streams_assignment(const rd_kafka_StreamsAssignment_t *from) {
        return {elements(from, rd_kafka_StreamsAssignment_active_count, rd_kafka_StreamsAssignment_active,
                         streams_tasks),
                elements(from, rd_kafka_StreamsAssignment_standby_count, rd_kafka_StreamsAssignment_standby,
                         streams_tasks),
                elements(from, rd_kafka_StreamsAssignment_warmup_count, rd_kafka_StreamsAssignment_warmup,
                         streams_tasks)};
}

inline StreamsMember streams_member(const rd_kafka_StreamsMember_t *from) {
        StreamsMember member;
        member.member_id         = text(rd_kafka_StreamsMember_member_id(from));
        member.member_epoch      = rd_kafka_StreamsMember_member_epoch(from);
        member.group_instance_id = text(rd_kafka_StreamsMember_group_instance_id(from));
        member.rack_id           = text(rd_kafka_StreamsMember_rack_id(from));
        member.client_id         = text(rd_kafka_StreamsMember_client_id(from));
        member.host              = text(rd_kafka_StreamsMember_host(from));
        member.topology_epoch    = rd_kafka_StreamsMember_topology_epoch(from);
        member.process_id        = text(rd_kafka_StreamsMember_process_id(from));
        member.endpoint_host     = text(rd_kafka_StreamsMember_endpoint_host(from));
        member.endpoint_port     = rd_kafka_StreamsMember_endpoint_port(from);
        member.client_tags       = pairs(from, rd_kafka_StreamsMember_client_tag_count,
                                         rd_kafka_StreamsMember_client_tag_name,
                                         rd_kafka_StreamsMember_client_tag_value);
        member.task_offsets      = elements(from, rd_kafka_StreamsMember_task_offset_count,
                                            rd_kafka_StreamsMember_task_offset, streams_task_offset);
        member.task_end_offsets  = elements(from, rd_kafka_StreamsMember_task_end_offset_count,
                                            rd_kafka_StreamsMember_task_end_offset, streams_task_offset);
        member.assignment        = streams_assignment(rd_kafka_StreamsMember_assignment(from));
        member.target_assignment = streams_assignment(rd_kafka_StreamsMember_target_assignment(from));
        member.is_classic        = rd_kafka_StreamsMember_is_classic(from) == 1;
        return member;
}

inline StreamsGroupDescription streams_group(const rd_kafka_StreamsGroupDescription_t *from) {
        StreamsGroupDescription group;
        size_t cnt;
        group.state            = rd_kafka_StreamsGroupDescription_state(from);
        group.group_epoch      = rd_kafka_StreamsGroupDescription_group_epoch(from);
        group.assignment_epoch = rd_kafka_StreamsGroupDescription_assignment_epoch(from);
        group.topology_epoch   = rd_kafka_StreamsGroupDescription_topology_epoch(from);
        group.has_topology     = rd_kafka_StreamsGroupDescription_has_topology(from) == 1;
        group.subtopologies    = elements(from, rd_kafka_StreamsGroupDescription_subtopology_count,
                                          rd_kafka_StreamsGroupDescription_subtopology, streams_subtopology);
        group.coordinator      = node(rd_kafka_StreamsGroupDescription_coordinator(from));
        group.members          = elements(from, rd_kafka_StreamsGroupDescription_member_count,
                                          rd_kafka_StreamsGroupDescription_member, streams_member);
        auto allowed           = rd_kafka_StreamsGroupDescription_authorized_operations(from, &cnt);
        group.authorized_operations = operations(allowed, cnt);
        return group;
}

}  // namespace detail

/* ==========================================================================
 *  CALLS
 * ========================================================================== */

/** The calls of ExtendedAdmin on groups. */
class GroupCalls : public TransactionCalls {
       public:
        using TransactionCalls::TransactionCalls;

        /* -- Groups -- */

        /**
         * Lists the groups of all types, of all brokers that answer. Requires Kafka 2.6 to filter by state and
         * 3.8 by type; earlier brokers have classic groups only.
         */
        Call<GroupListings> list_groups(const GroupFilter &filter = GroupFilter(),
                                        const Options &options    = Options()) const {
                std::vector<const char *> protocols = detail::pointers(filter.protocol_types);
                const auto limit                    = [&](rd_kafka_AdminOptions_t *o) {
                        Error error = detail::owned_error(rd_kafka_AdminOptions_set_match_group_states(
                            o, filter.states.data(), filter.states.size()));
                        if (!error)
                                error = detail::owned_error(rd_kafka_AdminOptions_set_match_group_types(
                                    o, filter.types.data(), filter.types.size()));
                        if (!error)
                                error = detail::owned_error(rd_kafka_AdminOptions_set_match_protocol_types(
                                    o, protocols.data(), protocols.size()));
                        return error;
                };
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
                                         rd_kafka_GroupListing_type(rows[i]),
                                         rd_kafka_GroupListing_is_simple_consumer_group(rows[i]) == 1});
                            auto errors = rd_kafka_ListGroups_result_errors(result, &cnt);
                            all.errors  = detail::errors(errors, cnt);
                            return all;
                    },
                    limit);
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

        /**
         * Describes groups of the classic protocol: of consumers, of Kafka Connect, and of others. At each
         * group's coordinator.
         *
         * Errors of a group: ERR_GROUP_ID_NOT_FOUND for one that does not exist or has another type,
         * ERR_GROUP_AUTHORIZATION_FAILED, ERR__TIMED_OUT.
         */
        Call<Results<std::string, ClassicGroupDescription>>
        describe_classic_groups(const std::vector<std::string> &groups,
                                const Options &options = Options()) const {
                typedef Results<std::string, ClassicGroupDescription> Described;
                std::vector<const char *> texts = detail::pointers(groups);
                return begin<Described>(
                    options,
                    [&](const rd_kafka_AdminOptions_t *o, rd_kafka_queue_t *q) {
                            rd_kafka_DescribeClassicGroups(rk_, texts.data(), texts.size(), o, q);
                    },
                    [](rd_kafka_event_t *event) {
                            size_t cnt;
                            Described results;
                            auto rows = rd_kafka_DescribeClassicGroups_result_groups(
                                rd_kafka_event_DescribeClassicGroups_result(event), &cnt);
                            for (size_t i = 0; i < cnt; i++)
                                    results.add(
                                        detail::text(rd_kafka_ClassicGroupDescription_group_id(rows[i])),
                                        detail::unless(
                                            detail::error(rd_kafka_ClassicGroupDescription_error(rows[i])),
                                            detail::classic_group(rows[i])));
                            return results;
                    });
        }

        /**
         * Describes share groups. At each group's coordinator. Requires Kafka 4.0 (KIP-932).
         *
         * Errors of a group: those of describe_classic_groups(), and ERR__UNSUPPORTED_FEATURE.
         */
        Call<Results<std::string, ShareGroupDescription>>
        describe_share_groups(const std::vector<std::string> &groups,
                              const Options &options = Options()) const {
                typedef Results<std::string, ShareGroupDescription> Described;
                std::vector<const char *> texts = detail::pointers(groups);
                return begin<Described>(
                    options,
                    [&](const rd_kafka_AdminOptions_t *o, rd_kafka_queue_t *q) {
                            rd_kafka_DescribeShareGroups(rk_, texts.data(), texts.size(), o, q);
                    },
                    [](rd_kafka_event_t *event) {
                            size_t cnt;
                            Described results;
                            auto rows = rd_kafka_DescribeShareGroups_result_groups(
                                rd_kafka_event_DescribeShareGroups_result(event), &cnt);
                            for (size_t i = 0; i < cnt; i++)
                                    results.add(
                                        detail::text(rd_kafka_ShareGroupDescription_group_id(rows[i])),
                                        detail::unless(
                                            detail::error(rd_kafka_ShareGroupDescription_error(rows[i])),
                                            detail::share_group(rows[i])));
                            return results;
                    });
        }

        /**
         * Describes streams groups: groups of Kafka Streams applications whose tasks the broker assigns. At
         * each group's coordinator. Requires Kafka 4.1 (KIP-1071).
         *
         * Errors of a group: those of describe_share_groups().
         */
        Call<Results<std::string, StreamsGroupDescription>>
        describe_streams_groups(const std::vector<std::string> &groups,
                                const Options &options = Options()) const {
                typedef Results<std::string, StreamsGroupDescription> Described;
                std::vector<const char *> texts = detail::pointers(groups);
                return begin<Described>(
                    options,
                    [&](const rd_kafka_AdminOptions_t *o, rd_kafka_queue_t *q) {
                            rd_kafka_DescribeStreamsGroups(rk_, texts.data(), texts.size(), o, q);
                    },
                    [](rd_kafka_event_t *event) {
                            size_t cnt;
                            Described results;
                            auto rows = rd_kafka_DescribeStreamsGroups_result_groups(
                                rd_kafka_event_DescribeStreamsGroups_result(event), &cnt);
                            for (size_t i = 0; i < cnt; i++)
                                    results.add(
                                        detail::text(rd_kafka_StreamsGroupDescription_group_id(rows[i])),
                                        detail::unless(
                                            detail::error(rd_kafka_StreamsGroupDescription_error(rows[i])),
                                            detail::streams_group(rows[i])));
                            return results;
                    });
        }

        /**
         * Lists the start offsets of share groups, the first records that the groups may still receive: of
         * these partitions, or with an empty list of all that have one. At each group's coordinator. Requires
         * Kafka 4.1 (KIP-932).
         *
         * Errors of a group: ERR_GROUP_ID_NOT_FOUND, ERR__TIMED_OUT, ERR__UNSUPPORTED_FEATURE. Of a
         * partition: ERR_UNKNOWN_TOPIC_OR_PART.
         */
        Call<Results<std::string, Results<TopicPartition, ShareOffset>>>
        list_share_group_offsets(const std::vector<std::pair<std::string, TopicPartitions>> &groups,
                                 const Options &options = Options()) const {
                typedef Results<std::string, Results<TopicPartition, ShareOffset>> Listed;
                detail::Objects<rd_kafka_ListShareGroupOffsets_t> objects(
                    rd_kafka_ListShareGroupOffsets_destroy);
                for (const auto &group : groups) {
                        detail::List list = detail::list(group.second);
                        if (!objects.add(rd_kafka_ListShareGroupOffsets_new(
                                group.first.c_str(), group.second.empty() ? NULL : list.get())))
                                return detail::invalid("a name is not UTF-8");
                }
                return begin<Listed>(
                    options,
                    [&](const rd_kafka_AdminOptions_t *o, rd_kafka_queue_t *q) {
                            rd_kafka_ListShareGroupOffsets(rk_, objects.data(), objects.size(), o, q);
                    },
                    [](rd_kafka_event_t *event) {
                            size_t cnt;
                            Listed results;
                            auto rows = rd_kafka_ListShareGroupOffsets_result_groups(
                                rd_kafka_event_ListShareGroupOffsets_result(event), &cnt);
                            for (size_t i = 0; i < cnt; i++)
                                    results.add(
                                        detail::text(rd_kafka_ShareGroupOffsets_group_id(rows[i])),
                                        detail::unless(
                                            detail::error(rd_kafka_ShareGroupOffsets_error(rows[i])),
                                            detail::share_offsets(rows[i])));
                            return results;
                    });
        }

        /**
         * Sets the start offsets of share groups without members. A group that does not exist is created. At
         * each group's coordinator. Requires Kafka 4.1 (KIP-932).
         *
         * Errors of a group: ERR_NON_EMPTY_GROUP, and those of list_share_group_offsets(). Of a partition:
         * ERR_UNKNOWN_TOPIC_OR_PART.
         */
        Call<Results<std::string, PartitionResults>>
        alter_share_group_offsets(const std::vector<std::pair<std::string, Offsets>> &groups,
                                  const Options &options = Options()) const {
                typedef Results<std::string, PartitionResults> Altered;
                detail::Objects<rd_kafka_AlterShareGroupOffsets_t> objects(
                    rd_kafka_AlterShareGroupOffsets_destroy);
                for (const auto &group : groups) {
                        detail::List list = detail::list(group.second);
                        if (!objects.add(
                                rd_kafka_AlterShareGroupOffsets_new(group.first.c_str(), list.get())))
                                return detail::invalid("a name is not UTF-8");
                }
                return begin<Altered>(
                    options,
                    [&](const rd_kafka_AdminOptions_t *o, rd_kafka_queue_t *q) {
                            rd_kafka_AlterShareGroupOffsets(rk_, objects.data(), objects.size(), o, q);
                    },
                    [](rd_kafka_event_t *event) {
                            size_t cnt;
                            Altered results;
                            auto rows = rd_kafka_AlterShareGroupOffsets_result_groups(
                                rd_kafka_event_AlterShareGroupOffsets_result(event), &cnt);
                            for (const auto &group : detail::groups(rows, cnt)) {
                                    PartitionResults partitions;
                                    for (const auto &row : group.second.value())
                                            partitions.add(row.first,
                                                           detail::unless(row.second.error(), None()));
                                    results.add(group.first, detail::unless(group.second.error(),
                                                                            std::move(partitions)));
                            }
                            return results;
                    });
        }

        /**
         * Deletes the start offsets of share groups without members for whole topics. Not repeated. At each
         * group's coordinator. Requires Kafka 4.1 (KIP-932).
         *
         * Errors of a group: those of alter_share_group_offsets(). Of a topic: ERR_UNKNOWN_TOPIC_OR_PART if
         * the group has no offsets of it.
         */
        Call<Results<std::string, NameResults>> delete_share_group_offsets(
            const std::vector<std::pair<std::string, std::vector<std::string>>> &groups,
            const Options &options = Options()) const {
                typedef Results<std::string, NameResults> Deleted;
                detail::Objects<rd_kafka_DeleteShareGroupOffsets_t> objects(
                    rd_kafka_DeleteShareGroupOffsets_destroy);
                for (const auto &group : groups) {
                        std::vector<const char *> texts = detail::pointers(group.second);
                        if (!objects.add(rd_kafka_DeleteShareGroupOffsets_new(group.first.c_str(),
                                                                              texts.data(), texts.size())))
                                return detail::invalid("a name is not UTF-8");
                }
                return begin<Deleted>(
                    options,
                    [&](const rd_kafka_AdminOptions_t *o, rd_kafka_queue_t *q) {
                            rd_kafka_DeleteShareGroupOffsets(rk_, objects.data(), objects.size(), o, q);
                    },
                    [](rd_kafka_event_t *event) {
                            size_t cnt, topic_cnt;
                            Deleted results;
                            auto rows = rd_kafka_DeleteShareGroupOffsets_result_groups(
                                rd_kafka_event_DeleteShareGroupOffsets_result(event), &cnt);
                            for (size_t i = 0; i < cnt; i++) {
                                    auto topics =
                                        rd_kafka_DeletedShareGroupOffsets_topics(rows[i], &topic_cnt);
                                    results.add(
                                        detail::text(rd_kafka_DeletedShareGroupOffsets_group_id(rows[i])),
                                        detail::unless(
                                            detail::error(rd_kafka_DeletedShareGroupOffsets_error(rows[i])),
                                            detail::topics(topics, topic_cnt)));
                            }
                            return results;
                    });
        }
};

}  // namespace admin
}  // namespace ottla

#endif /* _OTTLA_ADMINPP_GROUPS_H_ */
