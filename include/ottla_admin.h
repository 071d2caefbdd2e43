/*
 * Ottla: an Apache Kafka client.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * ottla_admin.h: admin operations of Kafka that rdkafka.h does not have. librdkafka does not have
 * them, so a program that calls them cannot be linked with librdkafka.
 *
 * The functions follow the conventions of the admin API in rdkafka.h:
 *
 * - A call returns at once. Its result, also an error of its arguments, is one event in the queue
 *   of the call. rd_kafka_event_error() is the error of the call as a whole. Results of single
 *   parts (topics, brokers, transactional ids) have their own errors.
 * - The call copies its arguments. The caller frees the objects that it has created with `_new()`.
 * - `options` is NULL or options of the same operation, from rd_kafka_AdminOptions_new(). All
 *   operations accept rd_kafka_AdminOptions_set_request_timeout(), rd_kafka_AdminOptions_set_broker()
 *   and rd_kafka_AdminOptions_set_opaque(). The operation's comment names further options.
 * - Requests that fail with an error that passes are repeated until the timeout of the call, only
 *   for the parts that have no result.
 * - Objects and texts that functions of a result return are owned by the event, and are valid until
 *   rd_kafka_event_destroy(). Arrays are in the order of the call where the call has an array, and
 *   sorted otherwise.
 * - A function of a result that gets another event, or the event of a failed call, returns NULL or
 *   0, and writes 0 to `*cntp`.
 * - Every function is thread-safe, except those that change an object that two threads share.
 *
 * rd_kafka_event_type() of a result is the number of its operation.
 */

#ifndef _OTTLA_ADMIN_H_
#define _OTTLA_ADMIN_H_

#include "rdkafka.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- the cluster ----------------------------------------------------------------------------- */

/* ---- transactions and tokens ----------------------------------------------------------------- */

/* ---- groups ---------------------------------------------------------------------------------- */

/*
 * Groups of all types. rdkafka.h has the operations on groups of consumers: to list, describe and
 * delete them, and to list, alter and delete their committed offsets.
 *
 * Share groups and streams groups are deleted with rd_kafka_DeleteGroups(), like groups of consumers.
 * The committed offsets of streams groups are those of consumer groups:
 * rd_kafka_ListConsumerGroupOffsets(), rd_kafka_AlterConsumerGroupOffsets() and
 * rd_kafka_DeleteConsumerGroupOffsets(), which take the group's id. Share groups have start offsets
 * instead, which the operations below list, alter and delete.
 *
 * Requests about a group go to its coordinator. Errors of a coordinator that loads or has moved are
 * followed by another request.
 */

/** State of a group of any type. The numbers of rd_kafka_consumer_group_state_t are the same. */
typedef enum {
        RD_KAFKA_GROUP_STATE_UNKNOWN              = 0, /**< Not known. */
        RD_KAFKA_GROUP_STATE_PREPARING_REBALANCE  = 1, /**< Classic: members are joining. */
        RD_KAFKA_GROUP_STATE_COMPLETING_REBALANCE = 2, /**< Classic: waiting for the assignment. */
        RD_KAFKA_GROUP_STATE_STABLE               = 3, /**< Settled. */
        RD_KAFKA_GROUP_STATE_DEAD                 = 4, /**< Without members, to be forgotten. */
        RD_KAFKA_GROUP_STATE_EMPTY                = 5, /**< Without members, but with offsets. */
        /** Consumer, streams: the coordinator computes the assignment. */
        RD_KAFKA_GROUP_STATE_ASSIGNING            = 6,
        /** Consumer, streams: members change to the new assignment. */
        RD_KAFKA_GROUP_STATE_RECONCILING          = 7,
        /** Streams: the topics of the topology are missing, or have the wrong partitions. */
        RD_KAFKA_GROUP_STATE_NOT_READY            = 8,
        RD_KAFKA_GROUP_STATE__CNT                 = 9  /**< Number of values. */
} rd_kafka_group_state_t;

/** Type of a group. The numbers of rd_kafka_consumer_group_type_t are the same. */
typedef enum {
        RD_KAFKA_GROUP_TYPE_UNKNOWN  = 0, /**< Not known; also from brokers before Kafka 3.8. */
        RD_KAFKA_GROUP_TYPE_CONSUMER = 1, /**< Consumers, of which the broker assigns partitions (KIP-848). */
        RD_KAFKA_GROUP_TYPE_CLASSIC  = 2, /**< Any clients, of which a member assigns. */
        RD_KAFKA_GROUP_TYPE_SHARE    = 3, /**< Share consumers (KIP-932). */
        RD_KAFKA_GROUP_TYPE_STREAMS  = 4, /**< Members of a Kafka Streams application (KIP-1071). */
        RD_KAFKA_GROUP_TYPE__CNT     = 5  /**< Number of values. */
} rd_kafka_group_type_t;

/**
 * Returns the name of a group's state, as brokers write it: "Stable", "NotReady" and so on.
 *
 * @return Constant; NULL for other numbers.
 */
RD_EXPORT const char *rd_kafka_group_state_name(rd_kafka_group_state_t state);

/** Returns the state of a name, in upper or lower case; 0 (UNKNOWN) for other names. */
RD_EXPORT rd_kafka_group_state_t rd_kafka_group_state_code(const char *name);

/**
 * Returns the name of a type of groups: "Unknown", "Consumer", "Classic", "Share" or "Streams".
 *
 * @return Constant; NULL for other numbers.
 */
RD_EXPORT const char *rd_kafka_group_type_name(rd_kafka_group_type_t type);

/** Returns the type of groups of a name, in upper or lower case; 0 (UNKNOWN) for other names. */
RD_EXPORT rd_kafka_group_type_t rd_kafka_group_type_code(const char *name);

/* -- Removing members -- */

/** Operation and event type of rd_kafka_RemoveMembersFromConsumerGroup(). */
#define RD_KAFKA_ADMIN_OP_REMOVEMEMBERSFROMCONSUMERGROUP     ((rd_kafka_admin_op_t)1040)
#define RD_KAFKA_EVENT_REMOVEMEMBERSFROMCONSUMERGROUP_RESULT 1040

/** Members to remove from a group. */
typedef struct rd_kafka_RemoveMembersFromConsumerGroup_s rd_kafka_RemoveMembersFromConsumerGroup_t;

/** A member in the result, with its error. */
typedef struct rd_kafka_RemovedMember_s rd_kafka_RemovedMember_t;

/** Result of rd_kafka_RemoveMembersFromConsumerGroup(): an event, under its own type name. */
typedef rd_kafka_event_t rd_kafka_RemoveMembersFromConsumerGroup_result_t;

/**
 * Creates a removal, without members.
 *
 * @param group_id  The group.
 *
 * @return The caller frees it with rd_kafka_RemoveMembersFromConsumerGroup_destroy(). NULL: the id is
 *         NULL or not UTF-8.
 */
RD_EXPORT rd_kafka_RemoveMembersFromConsumerGroup_t *
rd_kafka_RemoveMembersFromConsumerGroup_new(const char *group_id);

/** Frees one. */
RD_EXPORT void rd_kafka_RemoveMembersFromConsumerGroup_destroy(
    rd_kafka_RemoveMembersFromConsumerGroup_t *removal);

/**
 * Adds a member by its member id, as rd_kafka_MemberDescription_consumer_id() returns it.
 *
 * @return RD_KAFKA_RESP_ERR_NO_ERROR; RD_KAFKA_RESP_ERR__INVALID_ARG for NULL and for an empty id;
 *         RD_KAFKA_RESP_ERR__CONFLICT after rd_kafka_RemoveMembersFromConsumerGroup_set_all_members().
 */
RD_EXPORT rd_kafka_resp_err_t rd_kafka_RemoveMembersFromConsumerGroup_add_member(
    rd_kafka_RemoveMembersFromConsumerGroup_t *removal,
    const char *member_id);

/**
 * Adds a static member by its `group.instance.id`.
 *
 * @return As rd_kafka_RemoveMembersFromConsumerGroup_add_member().
 */
RD_EXPORT rd_kafka_resp_err_t rd_kafka_RemoveMembersFromConsumerGroup_add_static_member(
    rd_kafka_RemoveMembersFromConsumerGroup_t *removal,
    const char *group_instance_id);

/**
 * Selects all members that the group has at the time of the call. The call describes the group first.
 *
 * @return RD_KAFKA_RESP_ERR_NO_ERROR; RD_KAFKA_RESP_ERR__INVALID_ARG for NULL;
 *         RD_KAFKA_RESP_ERR__CONFLICT after members were added.
 */
RD_EXPORT rd_kafka_resp_err_t rd_kafka_RemoveMembersFromConsumerGroup_set_all_members(
    rd_kafka_RemoveMembersFromConsumerGroup_t *removal);

/**
 * Sets the reason, which the coordinator writes to its log (KIP-800, Kafka 3.2).
 *
 * @param reason  Its first 255 characters are sent. NULL or empty: "member was removed by an admin
 *                client", the default.
 *
 * @return RD_KAFKA_RESP_ERR_NO_ERROR; RD_KAFKA_RESP_ERR__INVALID_ARG for NULL as the removal, and for a
 *         reason that is not UTF-8.
 */
RD_EXPORT rd_kafka_resp_err_t rd_kafka_RemoveMembersFromConsumerGroup_set_reason(
    rd_kafka_RemoveMembersFromConsumerGroup_t *removal,
    const char *reason);

/**
 * Removes members from a group of consumers (KIP-345, Kafka 2.4). The group rebalances at once. A
 * member that still runs joins again; a static member whose process has ended leaves a free place.
 *
 * @param removal  The group with its members.
 * @param options  May be NULL. No further options.
 * @param rkqu     Gets the result, RD_KAFKA_EVENT_REMOVEMEMBERSFROMCONSUMERGROUP_RESULT.
 *
 * Each member has its error: RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID for one that the group does not have.
 * The call fails as a whole with RD_KAFKA_RESP_ERR__INVALID_ARG without members and for a member that
 * is named twice; with RD_KAFKA_RESP_ERR_GROUP_ID_NOT_FOUND if all members are selected and the group
 * does not exist; with the broker's error for the group; and with
 * RD_KAFKA_RESP_ERR__UNSUPPORTED_FEATURE before Kafka 2.4. A request whose response is lost is not
 * repeated, because the coordinator may have executed it.
 */
RD_EXPORT void rd_kafka_RemoveMembersFromConsumerGroup(
    rd_kafka_t *rk,
    const rd_kafka_RemoveMembersFromConsumerGroup_t *removal,
    const rd_kafka_AdminOptions_t *options,
    rd_kafka_queue_t *rkqu);

/** Returns the event as the result of RemoveMembersFromConsumerGroup; NULL for other events. */
RD_EXPORT const rd_kafka_RemoveMembersFromConsumerGroup_result_t *
rd_kafka_event_RemoveMembersFromConsumerGroup_result(rd_kafka_event_t *rkev);

/**
 * Returns the members in the order of the call; sorted if all were selected.
 *
 * @param cntp  Receives their number.
 *
 * @return An array that belongs to the result; NULL if the call failed, or the group has no members.
 */
RD_EXPORT const rd_kafka_RemovedMember_t **rd_kafka_RemoveMembersFromConsumerGroup_result_members(
    const rd_kafka_RemoveMembersFromConsumerGroup_result_t *result,
    size_t *cntp);

/** Returns the member id; NULL for a member that was removed by its `group.instance.id`. */
RD_EXPORT const char *rd_kafka_RemovedMember_member_id(const rd_kafka_RemovedMember_t *member);

/** Returns the `group.instance.id`; NULL for a member that was removed by its member id. */
RD_EXPORT const char *
rd_kafka_RemovedMember_group_instance_id(const rd_kafka_RemovedMember_t *member);

/** Returns the member's error; NULL for none. */
RD_EXPORT const rd_kafka_error_t *
rd_kafka_RemovedMember_error(const rd_kafka_RemovedMember_t *member);

/* -- Listing groups of all types -- */

/** Operation and event type of rd_kafka_ListGroups(). */
#define RD_KAFKA_ADMIN_OP_LISTGROUPS     ((rd_kafka_admin_op_t)1041)
#define RD_KAFKA_EVENT_LISTGROUPS_RESULT 1041

/** A group in the listing. */
typedef struct rd_kafka_GroupListing_s rd_kafka_GroupListing_t;

/** Result of rd_kafka_ListGroups(): an event, under its own type name. */
typedef rd_kafka_event_t rd_kafka_ListGroups_result_t;

/**
 * Sets the states of the groups to list (KIP-518, Kafka 2.6). ListGroups and ListConsumerGroups;
 * replaces states of rd_kafka_AdminOptions_set_match_consumer_group_states().
 *
 * @param states  The states, copied; each once. RD_KAFKA_GROUP_STATE_UNKNOWN is none.
 * @param cnt     Their number; 0 is all states, the default.
 *
 * @return NULL, or RD_KAFKA_RESP_ERR__INVALID_ARG, which the caller frees with
 *         rd_kafka_error_destroy().
 */
RD_EXPORT rd_kafka_error_t *
rd_kafka_AdminOptions_set_match_group_states(rd_kafka_AdminOptions_t *options,
                                             const rd_kafka_group_state_t *states,
                                             size_t cnt);

/**
 * Sets the types of the groups to list (KIP-848, Kafka 3.8). ListGroups and ListConsumerGroups;
 * replaces types of rd_kafka_AdminOptions_set_match_consumer_group_types(). Earlier brokers have
 * classic groups only: they accept a filter that includes RD_KAFKA_GROUP_TYPE_CLASSIC, alone or with
 * RD_KAFKA_GROUP_TYPE_CONSUMER.
 *
 * @param types  The types, copied; each once. RD_KAFKA_GROUP_TYPE_UNKNOWN is none.
 * @param cnt    Their number; 0 is all types, the default.
 *
 * @return As rd_kafka_AdminOptions_set_match_group_states().
 */
RD_EXPORT rd_kafka_error_t *
rd_kafka_AdminOptions_set_match_group_types(rd_kafka_AdminOptions_t *options,
                                            const rd_kafka_group_type_t *types,
                                            size_t cnt);

/**
 * Sets the types of the protocols of the groups to list, such as "consumer", "connect" or "share". The
 * client selects them, so that every broker has this filter. ListGroups.
 *
 * @param types  The types, copied. An empty text is that of groups with committed offsets only.
 * @param cnt    Their number; 0 is all types, the default.
 *
 * @return As rd_kafka_AdminOptions_set_match_group_states().
 */
RD_EXPORT rd_kafka_error_t *
rd_kafka_AdminOptions_set_match_protocol_types(rd_kafka_AdminOptions_t *options,
                                               const char **types,
                                               size_t cnt);

/**
 * Lists the groups of every broker, of all types (KIP-1043).
 *
 * @param options  May be NULL. Further options: match_group_states, match_group_types,
 *                 match_protocol_types. With broker only that one is asked.
 * @param rkqu     Gets the result, RD_KAFKA_EVENT_LISTGROUPS_RESULT.
 *
 * The result has the groups of the brokers that answered, each group once and ordered by id, and an
 * error for each other broker. If the brokers could not be learned in time, there is one error,
 * RD_KAFKA_RESP_ERR__TIMED_OUT. A broker that does not have a filter has the error
 * RD_KAFKA_RESP_ERR__UNSUPPORTED_FEATURE.
 */
RD_EXPORT void rd_kafka_ListGroups(rd_kafka_t *rk,
                                   const rd_kafka_AdminOptions_t *options,
                                   rd_kafka_queue_t *rkqu);

/** Returns the event as the result of ListGroups; NULL for other events. */
RD_EXPORT const rd_kafka_ListGroups_result_t *
rd_kafka_event_ListGroups_result(rd_kafka_event_t *rkev);

/**
 * Returns the groups.
 *
 * @param cntp  Receives their number.
 *
 * @return An array that belongs to the result; NULL if it is empty.
 */
RD_EXPORT const rd_kafka_GroupListing_t **
rd_kafka_ListGroups_result_groups(const rd_kafka_ListGroups_result_t *result, size_t *cntp);

/**
 * Returns the reasons why groups may be missing: the error of each broker that did not answer.
 *
 * @param cntp  Receives their number.
 *
 * @return An array that belongs to the result, its errors too; NULL if it is empty.
 */
RD_EXPORT const rd_kafka_error_t **
rd_kafka_ListGroups_result_errors(const rd_kafka_ListGroups_result_t *result, size_t *cntp);

/** Returns the group's id. */
RD_EXPORT const char *rd_kafka_GroupListing_group_id(const rd_kafka_GroupListing_t *group);

/**
 * Returns the type of the group's protocol, such as "consumer", "connect", "share" or "streams"; empty
 * for a group that has committed offsets only.
 */
RD_EXPORT const char *rd_kafka_GroupListing_protocol_type(const rd_kafka_GroupListing_t *group);

/** Returns 1 if the group has no protocol: offsets were committed to it, and it has no members; else 0. */
RD_EXPORT int rd_kafka_GroupListing_is_simple_consumer_group(const rd_kafka_GroupListing_t *group);

/** Returns the group's state; RD_KAFKA_GROUP_STATE_UNKNOWN from brokers before Kafka 2.6. */
RD_EXPORT rd_kafka_group_state_t rd_kafka_GroupListing_state(const rd_kafka_GroupListing_t *group);

/** Returns the group's type; RD_KAFKA_GROUP_TYPE_UNKNOWN from brokers before Kafka 3.8. */
RD_EXPORT rd_kafka_group_type_t rd_kafka_GroupListing_type(const rd_kafka_GroupListing_t *group);

/* -- Describing classic groups -- */

/** Operation and event type of rd_kafka_DescribeClassicGroups(). */
#define RD_KAFKA_ADMIN_OP_DESCRIBECLASSICGROUPS     ((rd_kafka_admin_op_t)1042)
#define RD_KAFKA_EVENT_DESCRIBECLASSICGROUPS_RESULT 1042

/** Description of a group of the classic protocol. */
typedef struct rd_kafka_ClassicGroupDescription_s rd_kafka_ClassicGroupDescription_t;

/** Result of rd_kafka_DescribeClassicGroups(): an event, under its own type name. */
typedef rd_kafka_event_t rd_kafka_DescribeClassicGroups_result_t;

/**
 * Describes groups of the classic protocol: of consumers, of Kafka Connect, and of others (KIP-1043).
 *
 * @param groups   The ids of groups, each once.
 * @param options  May be NULL. Further options: include_authorized_operations (Kafka 2.3).
 * @param rkqu     Gets the result, RD_KAFKA_EVENT_DESCRIBECLASSICGROUPS_RESULT.
 *
 * Each group has its error: RD_KAFKA_RESP_ERR_GROUP_ID_NOT_FOUND for a group that does not exist or has
 * another type, RD_KAFKA_RESP_ERR__TIMED_OUT, or another error of the broker. The call fails as a whole
 * with RD_KAFKA_RESP_ERR__INVALID_ARG for no groups, for a group that is named twice, and for an id that
 * is NULL or not UTF-8.
 */
RD_EXPORT void rd_kafka_DescribeClassicGroups(rd_kafka_t *rk,
                                              const char **groups,
                                              size_t groups_cnt,
                                              const rd_kafka_AdminOptions_t *options,
                                              rd_kafka_queue_t *rkqu);

/** Returns the event as the result of DescribeClassicGroups; NULL for other events. */
RD_EXPORT const rd_kafka_DescribeClassicGroups_result_t *
rd_kafka_event_DescribeClassicGroups_result(rd_kafka_event_t *rkev);

/**
 * Returns the groups in the order of the call.
 *
 * @param cntp  Receives their number.
 *
 * @return An array that belongs to the result; NULL if the call failed.
 */
RD_EXPORT const rd_kafka_ClassicGroupDescription_t **rd_kafka_DescribeClassicGroups_result_groups(
    const rd_kafka_DescribeClassicGroups_result_t *result,
    size_t *cntp);

/** Returns the group's id. */
RD_EXPORT const char *
rd_kafka_ClassicGroupDescription_group_id(const rd_kafka_ClassicGroupDescription_t *group);

/** Returns the group's error; NULL for none. A group with an error has no other parts. */
RD_EXPORT const rd_kafka_error_t *
rd_kafka_ClassicGroupDescription_error(const rd_kafka_ClassicGroupDescription_t *group);

/**
 * Returns the type of the group's protocol, such as "consumer" or "connect"; empty for a group that has
 * committed offsets only, and for a group with an error.
 */
RD_EXPORT const char *
rd_kafka_ClassicGroupDescription_protocol_type(const rd_kafka_ClassicGroupDescription_t *group);

/** Returns the protocol that the members have chosen, for consumers the assignor; empty for none. */
RD_EXPORT const char *
rd_kafka_ClassicGroupDescription_protocol_data(const rd_kafka_ClassicGroupDescription_t *group);

/** Returns 1 if the group has no protocol: offsets were committed to it, and it has no members; else 0. */
RD_EXPORT int rd_kafka_ClassicGroupDescription_is_simple_consumer_group(
    const rd_kafka_ClassicGroupDescription_t *group);

/** Returns the group's state. */
RD_EXPORT rd_kafka_group_state_t
rd_kafka_ClassicGroupDescription_state(const rd_kafka_ClassicGroupDescription_t *group);

/** Returns the coordinator; NULL for a group with an error. */
RD_EXPORT const rd_kafka_Node_t *
rd_kafka_ClassicGroupDescription_coordinator(const rd_kafka_ClassicGroupDescription_t *group);

/**
 * Returns the operations that the client may perform on the group.
 *
 * @param cntp  Receives their number.
 *
 * @return An array that belongs to the result; NULL if they were not requested.
 */
RD_EXPORT const rd_kafka_AclOperation_t *rd_kafka_ClassicGroupDescription_authorized_operations(
    const rd_kafka_ClassicGroupDescription_t *group,
    size_t *cntp);

/** Returns the number of members. */
RD_EXPORT size_t
rd_kafka_ClassicGroupDescription_member_count(const rd_kafka_ClassicGroupDescription_t *group);

/**
 * Returns a member; NULL for an index beyond the last. Its assignment is empty if the protocol is not
 * that of consumers; rd_kafka_MemberDescription_target_assignment() returns NULL.
 */
RD_EXPORT const rd_kafka_MemberDescription_t *
rd_kafka_ClassicGroupDescription_member(const rd_kafka_ClassicGroupDescription_t *group, size_t idx);

/* -- Describing share groups -- */

/** Operation and event type of rd_kafka_DescribeShareGroups(). */
#define RD_KAFKA_ADMIN_OP_DESCRIBESHAREGROUPS     ((rd_kafka_admin_op_t)1043)
#define RD_KAFKA_EVENT_DESCRIBESHAREGROUPS_RESULT 1043

/** Description of a share group. */
typedef struct rd_kafka_ShareGroupDescription_s rd_kafka_ShareGroupDescription_t;

/** A member of a share group. */
typedef struct rd_kafka_ShareMemberDescription_s rd_kafka_ShareMemberDescription_t;

/** Result of rd_kafka_DescribeShareGroups(): an event, under its own type name. */
typedef rd_kafka_event_t rd_kafka_DescribeShareGroups_result_t;

/**
 * Describes share groups (KIP-932, Kafka 4.0).
 *
 * @param groups   The ids of groups, each once.
 * @param options  May be NULL. Further options: include_authorized_operations.
 * @param rkqu     Gets the result, RD_KAFKA_EVENT_DESCRIBESHAREGROUPS_RESULT.
 *
 * Errors as with rd_kafka_DescribeClassicGroups(). Groups on an earlier broker have the error
 * RD_KAFKA_RESP_ERR__UNSUPPORTED_FEATURE.
 */
RD_EXPORT void rd_kafka_DescribeShareGroups(rd_kafka_t *rk,
                                            const char **groups,
                                            size_t groups_cnt,
                                            const rd_kafka_AdminOptions_t *options,
                                            rd_kafka_queue_t *rkqu);

/** Returns the event as the result of DescribeShareGroups; NULL for other events. */
RD_EXPORT const rd_kafka_DescribeShareGroups_result_t *
rd_kafka_event_DescribeShareGroups_result(rd_kafka_event_t *rkev);

/**
 * Returns the groups in the order of the call.
 *
 * @param cntp  Receives their number.
 *
 * @return An array that belongs to the result; NULL if the call failed.
 */
RD_EXPORT const rd_kafka_ShareGroupDescription_t **rd_kafka_DescribeShareGroups_result_groups(
    const rd_kafka_DescribeShareGroups_result_t *result,
    size_t *cntp);

/** Returns the group's id. */
RD_EXPORT const char *
rd_kafka_ShareGroupDescription_group_id(const rd_kafka_ShareGroupDescription_t *group);

/** Returns the group's error; NULL for none. A group with an error has no other parts. */
RD_EXPORT const rd_kafka_error_t *
rd_kafka_ShareGroupDescription_error(const rd_kafka_ShareGroupDescription_t *group);

/** Returns the group's state. */
RD_EXPORT rd_kafka_group_state_t
rd_kafka_ShareGroupDescription_state(const rd_kafka_ShareGroupDescription_t *group);

/** Returns the group's epoch, which rises with every change of members or topics; -1 for an error. */
RD_EXPORT int32_t
rd_kafka_ShareGroupDescription_group_epoch(const rd_kafka_ShareGroupDescription_t *group);

/** Returns the epoch of the target assignment; -1 for a group with an error. */
RD_EXPORT int32_t
rd_kafka_ShareGroupDescription_assignment_epoch(const rd_kafka_ShareGroupDescription_t *group);

/** Returns the name of the assignor. */
RD_EXPORT const char *
rd_kafka_ShareGroupDescription_assignor(const rd_kafka_ShareGroupDescription_t *group);

/** Returns the coordinator; NULL for a group with an error. */
RD_EXPORT const rd_kafka_Node_t *
rd_kafka_ShareGroupDescription_coordinator(const rd_kafka_ShareGroupDescription_t *group);

/**
 * Returns the operations that the client may perform on the group.
 *
 * @param cntp  Receives their number.
 *
 * @return An array that belongs to the result; NULL if they were not requested.
 */
RD_EXPORT const rd_kafka_AclOperation_t *rd_kafka_ShareGroupDescription_authorized_operations(
    const rd_kafka_ShareGroupDescription_t *group,
    size_t *cntp);

/** Returns the number of members. */
RD_EXPORT size_t
rd_kafka_ShareGroupDescription_member_count(const rd_kafka_ShareGroupDescription_t *group);

/** Returns a member; NULL for an index beyond the last. */
RD_EXPORT const rd_kafka_ShareMemberDescription_t *
rd_kafka_ShareGroupDescription_member(const rd_kafka_ShareGroupDescription_t *group, size_t idx);

/** Returns the member's id. */
RD_EXPORT const char *
rd_kafka_ShareMemberDescription_member_id(const rd_kafka_ShareMemberDescription_t *member);

/** Returns the member's epoch. */
RD_EXPORT int32_t
rd_kafka_ShareMemberDescription_member_epoch(const rd_kafka_ShareMemberDescription_t *member);

/** Returns the member's rack; NULL for none. */
RD_EXPORT const char *
rd_kafka_ShareMemberDescription_rack_id(const rd_kafka_ShareMemberDescription_t *member);

/** Returns the `client.id` of the member. */
RD_EXPORT const char *
rd_kafka_ShareMemberDescription_client_id(const rd_kafka_ShareMemberDescription_t *member);

/** Returns the member's host. */
RD_EXPORT const char *
rd_kafka_ShareMemberDescription_host(const rd_kafka_ShareMemberDescription_t *member);

/** Returns the number of topics that the member subscribes to. */
RD_EXPORT size_t rd_kafka_ShareMemberDescription_subscribed_topic_count(
    const rd_kafka_ShareMemberDescription_t *member);

/** Returns the name of a topic that the member subscribes to; NULL for an index beyond the last. */
RD_EXPORT const char *rd_kafka_ShareMemberDescription_subscribed_topic(
    const rd_kafka_ShareMemberDescription_t *member,
    size_t idx);

/** Returns the partitions that the member has. Several members may have the same one. */
RD_EXPORT const rd_kafka_MemberAssignment_t *
rd_kafka_ShareMemberDescription_assignment(const rd_kafka_ShareMemberDescription_t *member);

/* -- Offsets of share groups -- */

/** Operation and event type of rd_kafka_ListShareGroupOffsets(). */
#define RD_KAFKA_ADMIN_OP_LISTSHAREGROUPOFFSETS     ((rd_kafka_admin_op_t)1044)
#define RD_KAFKA_EVENT_LISTSHAREGROUPOFFSETS_RESULT 1044

/** A share group whose start offsets are listed. */
typedef struct rd_kafka_ListShareGroupOffsets_s rd_kafka_ListShareGroupOffsets_t;

/** The start offsets of a share group. */
typedef struct rd_kafka_ShareGroupOffsets_s rd_kafka_ShareGroupOffsets_t;

/** The start offset of a share group in one partition. */
typedef struct rd_kafka_ShareOffset_s rd_kafka_ShareOffset_t;

/** Result of rd_kafka_ListShareGroupOffsets(): an event, under its own type name. */
typedef rd_kafka_event_t rd_kafka_ListShareGroupOffsets_result_t;

/**
 * Creates a share group whose start offsets are listed.
 *
 * @param group_id    The group.
 * @param partitions  The partitions, copied, each once; NULL for all that have a start offset.
 *
 * @return The caller frees it with rd_kafka_ListShareGroupOffsets_destroy(). NULL: the id is NULL or not
 *         UTF-8, or a topic is.
 */
RD_EXPORT rd_kafka_ListShareGroupOffsets_t *
rd_kafka_ListShareGroupOffsets_new(const char *group_id,
                                   const rd_kafka_topic_partition_list_t *partitions);

/** Frees one. */
RD_EXPORT void rd_kafka_ListShareGroupOffsets_destroy(rd_kafka_ListShareGroupOffsets_t *group);

/** Frees each element of an array, not the array. */
RD_EXPORT void rd_kafka_ListShareGroupOffsets_destroy_array(rd_kafka_ListShareGroupOffsets_t **groups,
                                                            size_t cnt);

/**
 * Lists the start offsets of share groups: the first records that the groups may still receive
 * (KIP-932, Kafka 4.1).
 *
 * @param groups   The groups, each once.
 * @param options  May be NULL. No further options.
 * @param rkqu     Gets the result, RD_KAFKA_EVENT_LISTSHAREGROUPOFFSETS_RESULT.
 *
 * Each group has its error: RD_KAFKA_RESP_ERR_GROUP_ID_NOT_FOUND, RD_KAFKA_RESP_ERR__TIMED_OUT,
 * RD_KAFKA_RESP_ERR__UNSUPPORTED_FEATURE before Kafka 4.1, or another error of the broker. Each
 * partition has its own. The call fails as a whole with RD_KAFKA_RESP_ERR__INVALID_ARG for no groups,
 * for a list without partitions, and for a group or partition that is named twice.
 */
RD_EXPORT void rd_kafka_ListShareGroupOffsets(rd_kafka_t *rk,
                                              rd_kafka_ListShareGroupOffsets_t **groups,
                                              size_t groups_cnt,
                                              const rd_kafka_AdminOptions_t *options,
                                              rd_kafka_queue_t *rkqu);

/** Returns the event as the result of ListShareGroupOffsets; NULL for other events. */
RD_EXPORT const rd_kafka_ListShareGroupOffsets_result_t *
rd_kafka_event_ListShareGroupOffsets_result(rd_kafka_event_t *rkev);

/**
 * Returns the groups in the order of the call.
 *
 * @param cntp  Receives their number.
 *
 * @return An array that belongs to the result; NULL if the call failed.
 */
RD_EXPORT const rd_kafka_ShareGroupOffsets_t **
rd_kafka_ListShareGroupOffsets_result_groups(const rd_kafka_ListShareGroupOffsets_result_t *result,
                                             size_t *cntp);

/** Returns the group's id. */
RD_EXPORT const char *rd_kafka_ShareGroupOffsets_group_id(const rd_kafka_ShareGroupOffsets_t *group);

/** Returns the group's error; NULL for none. A group with an error has no partitions. */
RD_EXPORT const rd_kafka_error_t *
rd_kafka_ShareGroupOffsets_error(const rd_kafka_ShareGroupOffsets_t *group);

/**
 * Returns the partitions: in the order of the call if it names them, and sorted otherwise.
 *
 * @param cntp  Receives their number.
 *
 * @return An array that belongs to the result; NULL if it is empty.
 */
RD_EXPORT const rd_kafka_ShareOffset_t **
rd_kafka_ShareGroupOffsets_partitions(const rd_kafka_ShareGroupOffsets_t *group, size_t *cntp);

/**
 * Returns the partition. Its `offset` is the start offset, RD_KAFKA_OFFSET_INVALID if the group has none
 * in this partition; its `err` is the code of rd_kafka_ShareOffset_error();
 * rd_kafka_topic_partition_get_leader_epoch() returns the leader epoch, -1 if it is unknown.
 */
RD_EXPORT const rd_kafka_topic_partition_t *
rd_kafka_ShareOffset_partition(const rd_kafka_ShareOffset_t *offset);

/** Returns the number of records that the group has not processed (KIP-1226); -1 if it is unknown. */
RD_EXPORT int64_t rd_kafka_ShareOffset_lag(const rd_kafka_ShareOffset_t *offset);

/** Returns the partition's error with the broker's message; NULL for none. */
RD_EXPORT const rd_kafka_error_t *rd_kafka_ShareOffset_error(const rd_kafka_ShareOffset_t *offset);

/** Operation and event type of rd_kafka_AlterShareGroupOffsets(). */
#define RD_KAFKA_ADMIN_OP_ALTERSHAREGROUPOFFSETS     ((rd_kafka_admin_op_t)1045)
#define RD_KAFKA_EVENT_ALTERSHAREGROUPOFFSETS_RESULT 1045

/** A share group with the start offsets to set. */
typedef struct rd_kafka_AlterShareGroupOffsets_s rd_kafka_AlterShareGroupOffsets_t;

/** Result of rd_kafka_AlterShareGroupOffsets(): an event, under its own type name. */
typedef rd_kafka_event_t rd_kafka_AlterShareGroupOffsets_result_t;

/**
 * Creates a share group with the start offsets to set.
 *
 * @param group_id    The group.
 * @param partitions  The partitions with their offsets, copied; each once.
 *
 * @return The caller frees it with rd_kafka_AlterShareGroupOffsets_destroy(). NULL: an argument is NULL,
 *         or the id or a topic is not UTF-8.
 */
RD_EXPORT rd_kafka_AlterShareGroupOffsets_t *
rd_kafka_AlterShareGroupOffsets_new(const char *group_id,
                                    const rd_kafka_topic_partition_list_t *partitions);

/** Frees one. */
RD_EXPORT void rd_kafka_AlterShareGroupOffsets_destroy(rd_kafka_AlterShareGroupOffsets_t *group);

/** Frees each element of an array, not the array. */
RD_EXPORT void
rd_kafka_AlterShareGroupOffsets_destroy_array(rd_kafka_AlterShareGroupOffsets_t **groups, size_t cnt);

/**
 * Sets the start offsets of share groups without members (KIP-932, Kafka 4.1). A group that does not
 * exist is created.
 *
 * @param groups   The groups, each once.
 * @param options  May be NULL. No further options.
 * @param rkqu     Gets the result, RD_KAFKA_EVENT_ALTERSHAREGROUPOFFSETS_RESULT.
 *
 * Each group has its error: RD_KAFKA_RESP_ERR_NON_EMPTY_GROUP while it has members,
 * RD_KAFKA_RESP_ERR_GROUP_ID_NOT_FOUND for a group of another type, and those of
 * rd_kafka_ListShareGroupOffsets(). Each partition has its own. The call fails as a whole with
 * RD_KAFKA_RESP_ERR__INVALID_ARG for no groups, for a list without partitions, for a group or partition
 * that is named twice, and for a negative offset.
 */
RD_EXPORT void rd_kafka_AlterShareGroupOffsets(rd_kafka_t *rk,
                                               rd_kafka_AlterShareGroupOffsets_t **groups,
                                               size_t groups_cnt,
                                               const rd_kafka_AdminOptions_t *options,
                                               rd_kafka_queue_t *rkqu);

/** Returns the event as the result of AlterShareGroupOffsets; NULL for other events. */
RD_EXPORT const rd_kafka_AlterShareGroupOffsets_result_t *
rd_kafka_event_AlterShareGroupOffsets_result(rd_kafka_event_t *rkev);

/**
 * Returns the groups in the order of the call. rd_kafka_group_result_partitions() returns the partitions
 * of the call with their offsets and errors.
 *
 * @param cntp  Receives their number.
 *
 * @return An array that belongs to the result; NULL if the call failed.
 */
RD_EXPORT const rd_kafka_group_result_t **
rd_kafka_AlterShareGroupOffsets_result_groups(const rd_kafka_AlterShareGroupOffsets_result_t *result,
                                              size_t *cntp);

/** Operation and event type of rd_kafka_DeleteShareGroupOffsets(). */
#define RD_KAFKA_ADMIN_OP_DELETESHAREGROUPOFFSETS     ((rd_kafka_admin_op_t)1046)
#define RD_KAFKA_EVENT_DELETESHAREGROUPOFFSETS_RESULT 1046

/** A share group with the topics whose offsets are deleted. */
typedef struct rd_kafka_DeleteShareGroupOffsets_s rd_kafka_DeleteShareGroupOffsets_t;

/** A share group in the result, with its topics. */
typedef struct rd_kafka_DeletedShareGroupOffsets_s rd_kafka_DeletedShareGroupOffsets_t;

/** Result of rd_kafka_DeleteShareGroupOffsets(): an event, under its own type name. */
typedef rd_kafka_event_t rd_kafka_DeleteShareGroupOffsets_result_t;

/**
 * Creates a share group with the topics whose offsets are deleted.
 *
 * @param group_id  The group.
 * @param topics    The names of topics, copied; each once.
 *
 * @return The caller frees it with rd_kafka_DeleteShareGroupOffsets_destroy(). NULL: the id or a topic is
 *         NULL or not UTF-8.
 */
RD_EXPORT rd_kafka_DeleteShareGroupOffsets_t *
rd_kafka_DeleteShareGroupOffsets_new(const char *group_id, const char **topics, size_t topic_cnt);

/** Frees one. */
RD_EXPORT void rd_kafka_DeleteShareGroupOffsets_destroy(rd_kafka_DeleteShareGroupOffsets_t *group);

/** Frees each element of an array, not the array. */
RD_EXPORT void
rd_kafka_DeleteShareGroupOffsets_destroy_array(rd_kafka_DeleteShareGroupOffsets_t **groups, size_t cnt);

/**
 * Deletes the start offsets of share groups without members for whole topics (KIP-932, Kafka 4.1).
 *
 * @param groups   The groups, each once.
 * @param options  May be NULL. No further options.
 * @param rkqu     Gets the result, RD_KAFKA_EVENT_DELETESHAREGROUPOFFSETS_RESULT.
 *
 * Each group has its error: RD_KAFKA_RESP_ERR_NON_EMPTY_GROUP while it has members, and those of
 * rd_kafka_ListShareGroupOffsets(). Each topic has its own: RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART if
 * the group has no offsets of it. The call fails as a whole with RD_KAFKA_RESP_ERR__INVALID_ARG for no
 * groups, for no topics, and for a group or topic that is named twice. A request whose response is lost
 * is not repeated, because the coordinator may have executed it.
 */
RD_EXPORT void rd_kafka_DeleteShareGroupOffsets(rd_kafka_t *rk,
                                                rd_kafka_DeleteShareGroupOffsets_t **groups,
                                                size_t groups_cnt,
                                                const rd_kafka_AdminOptions_t *options,
                                                rd_kafka_queue_t *rkqu);

/** Returns the event as the result of DeleteShareGroupOffsets; NULL for other events. */
RD_EXPORT const rd_kafka_DeleteShareGroupOffsets_result_t *
rd_kafka_event_DeleteShareGroupOffsets_result(rd_kafka_event_t *rkev);

/**
 * Returns the groups in the order of the call.
 *
 * @param cntp  Receives their number.
 *
 * @return An array that belongs to the result; NULL if the call failed.
 */
RD_EXPORT const rd_kafka_DeletedShareGroupOffsets_t **rd_kafka_DeleteShareGroupOffsets_result_groups(
    const rd_kafka_DeleteShareGroupOffsets_result_t *result,
    size_t *cntp);

/** Returns the group's id. */
RD_EXPORT const char *
rd_kafka_DeletedShareGroupOffsets_group_id(const rd_kafka_DeletedShareGroupOffsets_t *group);

/** Returns the group's error; NULL for none. A group with an error has no topics. */
RD_EXPORT const rd_kafka_error_t *
rd_kafka_DeletedShareGroupOffsets_error(const rd_kafka_DeletedShareGroupOffsets_t *group);

/**
 * Returns the topics in the order of the call, each with its error.
 *
 * @param cntp  Receives their number.
 *
 * @return An array that belongs to the result; NULL if it is empty.
 */
RD_EXPORT const rd_kafka_topic_result_t **
rd_kafka_DeletedShareGroupOffsets_topics(const rd_kafka_DeletedShareGroupOffsets_t *group,
                                         size_t *cntp);

/* -- Describing streams groups -- */

/** Operation and event type of rd_kafka_DescribeStreamsGroups(). */
#define RD_KAFKA_ADMIN_OP_DESCRIBESTREAMSGROUPS     ((rd_kafka_admin_op_t)1047)
#define RD_KAFKA_EVENT_DESCRIBESTREAMSGROUPS_RESULT 1047

/** Description of a streams group. */
typedef struct rd_kafka_StreamsGroupDescription_s rd_kafka_StreamsGroupDescription_t;

/** A part of a topology, whose tasks are assigned independently of the other parts. */
typedef struct rd_kafka_StreamsSubtopology_s rd_kafka_StreamsSubtopology_t;

/** A topic that a Kafka Streams application creates. */
typedef struct rd_kafka_StreamsTopic_s rd_kafka_StreamsTopic_t;

/** A member of a streams group. */
typedef struct rd_kafka_StreamsMember_s rd_kafka_StreamsMember_t;

/** The sum of the offsets of a task. */
typedef struct rd_kafka_StreamsTaskOffset_s rd_kafka_StreamsTaskOffset_t;

/** The tasks of a member. */
typedef struct rd_kafka_StreamsAssignment_s rd_kafka_StreamsAssignment_t;

/** Tasks of one subtopology. */
typedef struct rd_kafka_StreamsTasks_s rd_kafka_StreamsTasks_t;

/** Result of rd_kafka_DescribeStreamsGroups(): an event, under its own type name. */
typedef rd_kafka_event_t rd_kafka_DescribeStreamsGroups_result_t;

/**
 * Describes streams groups (KIP-1071, Kafka 4.1): groups of Kafka Streams applications whose tasks the
 * broker assigns.
 *
 * @param groups   The ids of groups, each once.
 * @param options  May be NULL. Further options: include_authorized_operations.
 * @param rkqu     Gets the result, RD_KAFKA_EVENT_DESCRIBESTREAMSGROUPS_RESULT.
 *
 * Errors as with rd_kafka_DescribeClassicGroups(). Groups on an earlier broker have the error
 * RD_KAFKA_RESP_ERR__UNSUPPORTED_FEATURE.
 */
RD_EXPORT void rd_kafka_DescribeStreamsGroups(rd_kafka_t *rk,
                                              const char **groups,
                                              size_t groups_cnt,
                                              const rd_kafka_AdminOptions_t *options,
                                              rd_kafka_queue_t *rkqu);

/** Returns the event as the result of DescribeStreamsGroups; NULL for other events. */
RD_EXPORT const rd_kafka_DescribeStreamsGroups_result_t *
rd_kafka_event_DescribeStreamsGroups_result(rd_kafka_event_t *rkev);

/**
 * Returns the groups in the order of the call.
 *
 * @param cntp  Receives their number.
 *
 * @return An array that belongs to the result; NULL if the call failed.
 */
RD_EXPORT const rd_kafka_StreamsGroupDescription_t **rd_kafka_DescribeStreamsGroups_result_groups(
    const rd_kafka_DescribeStreamsGroups_result_t *result,
    size_t *cntp);

/** Returns the group's id. */
RD_EXPORT const char *
rd_kafka_StreamsGroupDescription_group_id(const rd_kafka_StreamsGroupDescription_t *group);

/** Returns the group's error; NULL for none. A group with an error has no other parts. */
RD_EXPORT const rd_kafka_error_t *
rd_kafka_StreamsGroupDescription_error(const rd_kafka_StreamsGroupDescription_t *group);

/** Returns the group's state. */
RD_EXPORT rd_kafka_group_state_t
rd_kafka_StreamsGroupDescription_state(const rd_kafka_StreamsGroupDescription_t *group);

/** Returns the group's epoch; -1 for a group with an error. */
RD_EXPORT int32_t
rd_kafka_StreamsGroupDescription_group_epoch(const rd_kafka_StreamsGroupDescription_t *group);

/** Returns the epoch of the target assignment; -1 for a group with an error. */
RD_EXPORT int32_t
rd_kafka_StreamsGroupDescription_assignment_epoch(const rd_kafka_StreamsGroupDescription_t *group);

/** Returns the epoch of the topology; -1 until a member has sent one, and for a group with an error. */
RD_EXPORT int32_t
rd_kafka_StreamsGroupDescription_topology_epoch(const rd_kafka_StreamsGroupDescription_t *group);

/** Returns 1 if the coordinator has the topology of the application, else 0. */
RD_EXPORT int
rd_kafka_StreamsGroupDescription_has_topology(const rd_kafka_StreamsGroupDescription_t *group);

/** Returns the number of subtopologies; 0 without a topology. */
RD_EXPORT size_t
rd_kafka_StreamsGroupDescription_subtopology_count(const rd_kafka_StreamsGroupDescription_t *group);

/** Returns a subtopology; NULL for an index beyond the last. */
RD_EXPORT const rd_kafka_StreamsSubtopology_t *
rd_kafka_StreamsGroupDescription_subtopology(const rd_kafka_StreamsGroupDescription_t *group,
                                             size_t idx);

/** Returns the coordinator; NULL for a group with an error. */
RD_EXPORT const rd_kafka_Node_t *
rd_kafka_StreamsGroupDescription_coordinator(const rd_kafka_StreamsGroupDescription_t *group);

/**
 * Returns the operations that the client may perform on the group.
 *
 * @param cntp  Receives their number.
 *
 * @return An array that belongs to the result; NULL if they were not requested.
 */
RD_EXPORT const rd_kafka_AclOperation_t *rd_kafka_StreamsGroupDescription_authorized_operations(
    const rd_kafka_StreamsGroupDescription_t *group,
    size_t *cntp);

/** Returns the number of members. */
RD_EXPORT size_t
rd_kafka_StreamsGroupDescription_member_count(const rd_kafka_StreamsGroupDescription_t *group);

/** Returns a member; NULL for an index beyond the last. */
RD_EXPORT const rd_kafka_StreamsMember_t *
rd_kafka_StreamsGroupDescription_member(const rd_kafka_StreamsGroupDescription_t *group, size_t idx);

/** Returns the id of the subtopology. */
RD_EXPORT const char *rd_kafka_StreamsSubtopology_id(const rd_kafka_StreamsSubtopology_t *part);

/** Returns the number of topics that the subtopology reads. */
RD_EXPORT size_t
rd_kafka_StreamsSubtopology_source_topic_count(const rd_kafka_StreamsSubtopology_t *part);

/** Returns the name of a topic that the subtopology reads; NULL for an index beyond the last. */
RD_EXPORT const char *
rd_kafka_StreamsSubtopology_source_topic(const rd_kafka_StreamsSubtopology_t *part, size_t idx);

/** Returns the number of repartition topics that the subtopology writes to. */
RD_EXPORT size_t
rd_kafka_StreamsSubtopology_repartition_sink_topic_count(const rd_kafka_StreamsSubtopology_t *part);

/** Returns the name of a repartition topic that it writes to; NULL for an index beyond the last. */
RD_EXPORT const char *
rd_kafka_StreamsSubtopology_repartition_sink_topic(const rd_kafka_StreamsSubtopology_t *part,
                                                   size_t idx);

/** Returns the number of changelogs of the subtopology's state stores. */
RD_EXPORT size_t
rd_kafka_StreamsSubtopology_state_changelog_topic_count(const rd_kafka_StreamsSubtopology_t *part);

/** Returns a changelog of a state store; NULL for an index beyond the last. */
RD_EXPORT const rd_kafka_StreamsTopic_t *
rd_kafka_StreamsSubtopology_state_changelog_topic(const rd_kafka_StreamsSubtopology_t *part,
                                                  size_t idx);

/** Returns the number of repartition topics that the subtopology reads. */
RD_EXPORT size_t
rd_kafka_StreamsSubtopology_repartition_source_topic_count(const rd_kafka_StreamsSubtopology_t *part);

/** Returns a repartition topic that the subtopology reads; NULL for an index beyond the last. */
RD_EXPORT const rd_kafka_StreamsTopic_t *
rd_kafka_StreamsSubtopology_repartition_source_topic(const rd_kafka_StreamsSubtopology_t *part,
                                                     size_t idx);

/** Returns the topic's name. */
RD_EXPORT const char *rd_kafka_StreamsTopic_name(const rd_kafka_StreamsTopic_t *topic);

/** Returns the number of partitions; 0 if it is not given, and for changelogs. */
RD_EXPORT int32_t rd_kafka_StreamsTopic_partition_count(const rd_kafka_StreamsTopic_t *topic);

/** Returns the replication factor; 0 for the broker's default. */
RD_EXPORT int rd_kafka_StreamsTopic_replication_factor(const rd_kafka_StreamsTopic_t *topic);

/** Returns the number of settings with which the topic is created. */
RD_EXPORT size_t rd_kafka_StreamsTopic_config_count(const rd_kafka_StreamsTopic_t *topic);

/** Returns the name of a setting; NULL for an index beyond the last. */
RD_EXPORT const char *rd_kafka_StreamsTopic_config_name(const rd_kafka_StreamsTopic_t *topic,
                                                        size_t idx);

/** Returns the value of a setting; NULL for an index beyond the last. */
RD_EXPORT const char *rd_kafka_StreamsTopic_config_value(const rd_kafka_StreamsTopic_t *topic,
                                                         size_t idx);

/** Returns the member's id. */
RD_EXPORT const char *rd_kafka_StreamsMember_member_id(const rd_kafka_StreamsMember_t *member);

/** Returns the member's epoch. */
RD_EXPORT int32_t rd_kafka_StreamsMember_member_epoch(const rd_kafka_StreamsMember_t *member);

/** Returns the `group.instance.id` of the member; NULL for none. */
RD_EXPORT const char *
rd_kafka_StreamsMember_group_instance_id(const rd_kafka_StreamsMember_t *member);

/** Returns the member's rack; NULL for none. */
RD_EXPORT const char *rd_kafka_StreamsMember_rack_id(const rd_kafka_StreamsMember_t *member);

/** Returns the `client.id` of the member. */
RD_EXPORT const char *rd_kafka_StreamsMember_client_id(const rd_kafka_StreamsMember_t *member);

/** Returns the member's host. */
RD_EXPORT const char *rd_kafka_StreamsMember_host(const rd_kafka_StreamsMember_t *member);

/** Returns the epoch of the topology that the member runs. */
RD_EXPORT int32_t rd_kafka_StreamsMember_topology_epoch(const rd_kafka_StreamsMember_t *member);

/** Returns the id of the member's process, which may have several members. */
RD_EXPORT const char *rd_kafka_StreamsMember_process_id(const rd_kafka_StreamsMember_t *member);

/** Returns the host at which the application answers queries (`application.server`); NULL for none. */
RD_EXPORT const char *rd_kafka_StreamsMember_endpoint_host(const rd_kafka_StreamsMember_t *member);

/** Returns the port at which the application answers queries; 0 for none. */
RD_EXPORT uint16_t rd_kafka_StreamsMember_endpoint_port(const rd_kafka_StreamsMember_t *member);

/** Returns the number of the client's tags, which assignments by rack use. */
RD_EXPORT size_t rd_kafka_StreamsMember_client_tag_count(const rd_kafka_StreamsMember_t *member);

/** Returns the name of a tag; NULL for an index beyond the last. */
RD_EXPORT const char *rd_kafka_StreamsMember_client_tag_name(const rd_kafka_StreamsMember_t *member,
                                                             size_t idx);

/** Returns the value of a tag; NULL for an index beyond the last. */
RD_EXPORT const char *rd_kafka_StreamsMember_client_tag_value(const rd_kafka_StreamsMember_t *member,
                                                              size_t idx);

/** Returns the number of tasks whose offsets the member has sent. */
RD_EXPORT size_t rd_kafka_StreamsMember_task_offset_count(const rd_kafka_StreamsMember_t *member);

/** Returns the sum of a task's offsets; NULL for an index beyond the last. */
RD_EXPORT const rd_kafka_StreamsTaskOffset_t *
rd_kafka_StreamsMember_task_offset(const rd_kafka_StreamsMember_t *member, size_t idx);

/** Returns the number of tasks whose end offsets the member has sent. */
RD_EXPORT size_t rd_kafka_StreamsMember_task_end_offset_count(const rd_kafka_StreamsMember_t *member);

/** Returns the sum of a task's end offsets; NULL for an index beyond the last. */
RD_EXPORT const rd_kafka_StreamsTaskOffset_t *
rd_kafka_StreamsMember_task_end_offset(const rd_kafka_StreamsMember_t *member, size_t idx);

/** Returns the tasks that the member has. */
RD_EXPORT const rd_kafka_StreamsAssignment_t *
rd_kafka_StreamsMember_assignment(const rd_kafka_StreamsMember_t *member);

/** Returns the tasks that the member is to have. */
RD_EXPORT const rd_kafka_StreamsAssignment_t *
rd_kafka_StreamsMember_target_assignment(const rd_kafka_StreamsMember_t *member);

/** Returns 1 if the member speaks the classic protocol, else 0. */
RD_EXPORT int rd_kafka_StreamsMember_is_classic(const rd_kafka_StreamsMember_t *member);

/** Returns the id of the task's subtopology. */
RD_EXPORT const char *
rd_kafka_StreamsTaskOffset_subtopology_id(const rd_kafka_StreamsTaskOffset_t *row);

/** Returns the task's partition. */
RD_EXPORT int32_t rd_kafka_StreamsTaskOffset_partition(const rd_kafka_StreamsTaskOffset_t *row);

/** Returns the sum of the task's offsets. */
RD_EXPORT int64_t rd_kafka_StreamsTaskOffset_offset(const rd_kafka_StreamsTaskOffset_t *row);

/** Returns the number of subtopologies of which the member processes records. */
RD_EXPORT size_t
rd_kafka_StreamsAssignment_active_count(const rd_kafka_StreamsAssignment_t *assignment);

/** Returns tasks that process records; NULL for an index beyond the last. */
RD_EXPORT const rd_kafka_StreamsTasks_t *
rd_kafka_StreamsAssignment_active(const rd_kafka_StreamsAssignment_t *assignment, size_t idx);

/** Returns the number of subtopologies of which the member keeps copies of state stores. */
RD_EXPORT size_t
rd_kafka_StreamsAssignment_standby_count(const rd_kafka_StreamsAssignment_t *assignment);

/** Returns tasks that keep copies of state stores; NULL for an index beyond the last. */
RD_EXPORT const rd_kafka_StreamsTasks_t *
rd_kafka_StreamsAssignment_standby(const rd_kafka_StreamsAssignment_t *assignment, size_t idx);

/** Returns the number of subtopologies of which the member prepares state stores to become active. */
RD_EXPORT size_t
rd_kafka_StreamsAssignment_warmup_count(const rd_kafka_StreamsAssignment_t *assignment);

/** Returns tasks that prepare state stores to become active; NULL for an index beyond the last. */
RD_EXPORT const rd_kafka_StreamsTasks_t *
rd_kafka_StreamsAssignment_warmup(const rd_kafka_StreamsAssignment_t *assignment, size_t idx);

/** Returns the id of the tasks' subtopology. */
RD_EXPORT const char *rd_kafka_StreamsTasks_subtopology_id(const rd_kafka_StreamsTasks_t *tasks);

/**
 * Returns the partitions of the tasks.
 *
 * @param cntp  Receives their number.
 *
 * @return An array that belongs to the result; NULL if it is empty.
 */
RD_EXPORT const int32_t *rd_kafka_StreamsTasks_partitions(const rd_kafka_StreamsTasks_t *tasks,
                                                          size_t *cntp);

#ifdef __cplusplus
}
#endif

#endif /* _OTTLA_ADMIN_H_ */
