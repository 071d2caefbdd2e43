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

/** @name DescribeLogDirs: log directories of brokers and the replicas in them (KIP-113)
 *  @{ */

/** The operation, for rd_kafka_AdminOptions_new(). */
#define RD_KAFKA_ADMIN_OP_DESCRIBELOGDIRS ((rd_kafka_admin_op_t)1000)
/** The type of its event. */
#define RD_KAFKA_EVENT_DESCRIBELOGDIRS_RESULT 1000

/** The log directories of a broker, owned by the event. */
typedef struct rd_kafka_BrokerLogDirs_s rd_kafka_BrokerLogDirs_t;
/** A log directory, owned by the event. */
typedef struct rd_kafka_LogDir_s rd_kafka_LogDir_t;
/** A replica in a log directory, owned by the event. */
typedef struct rd_kafka_LogDirReplica_s rd_kafka_LogDirReplica_t;

/**
 * Describes the log directories of brokers. Requires Kafka 1.0.
 *
 * @param broker_ids     The brokers, each once. NULL or no broker describes all brokers of the cluster.
 * @param broker_id_cnt  The number of brokers.
 * @param partitions     The partitions whose replicas are returned, each once; NULL for all. Log
 *                       directories are returned also without such replicas.
 * @param options        NULL or options of RD_KAFKA_ADMIN_OP_DESCRIBELOGDIRS.
 *                       rd_kafka_AdminOptions_set_broker() has an effect only without `broker_ids`.
 *
 * The call does not fail as a whole when brokers fail: each broker has its own error. It does when all
 * brokers are to be described and none is known.
 */
RD_EXPORT void rd_kafka_DescribeLogDirs(rd_kafka_t *rk,
                                        const int32_t *broker_ids,
                                        size_t broker_id_cnt,
                                        const rd_kafka_topic_partition_list_t *partitions,
                                        const rd_kafka_AdminOptions_t *options,
                                        rd_kafka_queue_t *rkqu);

/** The result of DescribeLogDirs. */
typedef rd_kafka_event_t rd_kafka_DescribeLogDirs_result_t;

/** Returns the event as the result of DescribeLogDirs; NULL for other events. */
RD_EXPORT const rd_kafka_DescribeLogDirs_result_t *
rd_kafka_event_DescribeLogDirs_result(rd_kafka_event_t *rkev);

/** Returns the brokers, in the order of the call or by id. */
RD_EXPORT const rd_kafka_BrokerLogDirs_t **
rd_kafka_DescribeLogDirs_result_brokers(const rd_kafka_DescribeLogDirs_result_t *result,
                                        size_t *cntp);

/** Returns the broker's id; -1 for NULL. */
RD_EXPORT int32_t rd_kafka_BrokerLogDirs_broker_id(const rd_kafka_BrokerLogDirs_t *broker);

/**
 * Returns the broker's error, such as RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED, and
 * RD_KAFKA_RESP_ERR__TIMED_OUT for a broker that did not respond in time; NULL for success.
 */
RD_EXPORT const rd_kafka_error_t *
rd_kafka_BrokerLogDirs_error(const rd_kafka_BrokerLogDirs_t *broker);

/** Returns the broker's log directories. */
RD_EXPORT const rd_kafka_LogDir_t **
rd_kafka_BrokerLogDirs_log_dirs(const rd_kafka_BrokerLogDirs_t *broker, size_t *cntp);

/** Returns the absolute path of the directory; NULL for NULL. */
RD_EXPORT const char *rd_kafka_LogDir_path(const rd_kafka_LogDir_t *log_dir);

/** Returns the error of the directory: RD_KAFKA_RESP_ERR_KAFKA_STORAGE_ERROR if it is offline. */
RD_EXPORT rd_kafka_resp_err_t rd_kafka_LogDir_error(const rd_kafka_LogDir_t *log_dir);

/** Returns the size of the directory's volume in bytes; -1 if it is unknown, and from brokers before Kafka 3.3 (KIP-827). */
RD_EXPORT int64_t rd_kafka_LogDir_total_bytes(const rd_kafka_LogDir_t *log_dir);

/** Returns the usable bytes of the directory's volume; -1 if they are unknown, and from brokers before Kafka 3.3. */
RD_EXPORT int64_t rd_kafka_LogDir_usable_bytes(const rd_kafka_LogDir_t *log_dir);

/** Returns 1 if the directory receives no new replicas (KIP-1066, Kafka 4.3), otherwise 0. */
RD_EXPORT int rd_kafka_LogDir_is_cordoned(const rd_kafka_LogDir_t *log_dir);

/** Returns the replicas in the directory, all or those of the requested partitions. */
RD_EXPORT const rd_kafka_LogDirReplica_t **
rd_kafka_LogDir_replicas(const rd_kafka_LogDir_t *log_dir, size_t *cntp);

/** Returns the topic of the replica; NULL for NULL. */
RD_EXPORT const char *rd_kafka_LogDirReplica_topic(const rd_kafka_LogDirReplica_t *replica);

/** Returns the partition of the replica; -1 for NULL. */
RD_EXPORT int32_t rd_kafka_LogDirReplica_partition(const rd_kafka_LogDirReplica_t *replica);

/** Returns the size of the replica's log segments in bytes; -1 for NULL. */
RD_EXPORT int64_t rd_kafka_LogDirReplica_size(const rd_kafka_LogDirReplica_t *replica);

/**
 * Returns the number of offsets that the replica lacks: up to the high watermark or, for a replica
 * that is being moved to this directory, up to the end of the current replica. -1 for NULL.
 */
RD_EXPORT int64_t rd_kafka_LogDirReplica_offset_lag(const rd_kafka_LogDirReplica_t *replica);

/** Returns 1 if the replica is being moved to this directory, otherwise 0. */
RD_EXPORT int rd_kafka_LogDirReplica_is_future(const rd_kafka_LogDirReplica_t *replica);

/** @} */

/** @name AlterReplicaLogDirs: moves of replicas between the log directories of a broker (KIP-113)
 *  @{ */

/** The operation, for rd_kafka_AdminOptions_new(). */
#define RD_KAFKA_ADMIN_OP_ALTERREPLICALOGDIRS ((rd_kafka_admin_op_t)1001)
/** The type of its event. */
#define RD_KAFKA_EVENT_ALTERREPLICALOGDIRS_RESULT 1001

/** A replica and the log directory that it is moved to. */
typedef struct rd_kafka_ReplicaMove_s rd_kafka_ReplicaMove_t;
/** The outcome for one replica, owned by the event. */
typedef struct rd_kafka_ReplicaMoveResult_s rd_kafka_ReplicaMoveResult_t;

/**
 * Returns a replica to move to the log directory with this absolute path. Free it with
 * rd_kafka_ReplicaMove_destroy().
 *
 * @returns NULL for a negative broker or partition, and for a topic or path that is NULL, empty or not UTF-8.
 */
RD_EXPORT rd_kafka_ReplicaMove_t *rd_kafka_ReplicaMove_new(int32_t broker_id,
                                                           const char *topic,
                                                           int32_t partition,
                                                           const char *log_dir);

/** Frees a replica to move; NULL has no effect. */
RD_EXPORT void rd_kafka_ReplicaMove_destroy(rd_kafka_ReplicaMove_t *replica);

/** Frees each replica of an array, and not the array. */
RD_EXPORT void rd_kafka_ReplicaMove_destroy_array(rd_kafka_ReplicaMove_t **replicas,
                                                  size_t replica_cnt);

/**
 * Begins moves of replicas, which continue after the call: rd_kafka_DescribeLogDirs() returns replicas
 * that are being moved. A broker without the replica creates it in the directory later, and its result is
 * RD_KAFKA_RESP_ERR_REPLICA_NOT_AVAILABLE. Requires Kafka 1.0.
 *
 * @param replicas     The replicas, each once.
 * @param replica_cnt  The number of replicas, at least 1.
 * @param options      NULL or options of RD_KAFKA_ADMIN_OP_ALTERREPLICALOGDIRS. Requests always go to the
 *                     brokers of the replicas.
 *
 * The call does not fail as a whole when brokers fail: each replica has its own error.
 */
RD_EXPORT void rd_kafka_AlterReplicaLogDirs(rd_kafka_t *rk,
                                            rd_kafka_ReplicaMove_t **replicas,
                                            size_t replica_cnt,
                                            const rd_kafka_AdminOptions_t *options,
                                            rd_kafka_queue_t *rkqu);

/** The result of AlterReplicaLogDirs. */
typedef rd_kafka_event_t rd_kafka_AlterReplicaLogDirs_result_t;

/** Returns the event as the result of AlterReplicaLogDirs; NULL for other events. */
RD_EXPORT const rd_kafka_AlterReplicaLogDirs_result_t *
rd_kafka_event_AlterReplicaLogDirs_result(rd_kafka_event_t *rkev);

/** Returns the outcomes in the order of the call. */
RD_EXPORT const rd_kafka_ReplicaMoveResult_t **rd_kafka_AlterReplicaLogDirs_result_replicas(
    const rd_kafka_AlterReplicaLogDirs_result_t *result,
    size_t *cntp);

/** Returns the broker of the replica; -1 for NULL. */
RD_EXPORT int32_t rd_kafka_ReplicaMoveResult_broker_id(const rd_kafka_ReplicaMoveResult_t *result);

/** Returns the topic of the replica; NULL for NULL. */
RD_EXPORT const char *rd_kafka_ReplicaMoveResult_topic(const rd_kafka_ReplicaMoveResult_t *result);

/** Returns the partition of the replica; -1 for NULL. */
RD_EXPORT int32_t rd_kafka_ReplicaMoveResult_partition(const rd_kafka_ReplicaMoveResult_t *result);

/** Returns the error, such as RD_KAFKA_RESP_ERR_LOG_DIR_NOT_FOUND; NULL if the move has begun. */
RD_EXPORT const rd_kafka_error_t *
rd_kafka_ReplicaMoveResult_error(const rd_kafka_ReplicaMoveResult_t *result);

/** @} */

/** @name DescribeClientQuotas: the quotas of users, client ids and addresses (KIP-546)
 *
 * An entity has one or more types, each with a name. Kafka's types are `user`, `client-id`, both together,
 * and `ip`. The default entity of a type has no name, and applies to all without an entity of their own.
 *
 *  @{ */

/** The operation, for rd_kafka_AdminOptions_new(). */
#define RD_KAFKA_ADMIN_OP_DESCRIBECLIENTQUOTAS ((rd_kafka_admin_op_t)1002)
/** The type of its event. */
#define RD_KAFKA_EVENT_DESCRIBECLIENTQUOTAS_RESULT 1002

/** A filter of entities. */
typedef struct rd_kafka_ClientQuotaFilter_s rd_kafka_ClientQuotaFilter_t;
/** An entity, owned by the event. */
typedef struct rd_kafka_ClientQuotaEntity_s rd_kafka_ClientQuotaEntity_t;
/** An entity with its quotas, owned by the event. */
typedef struct rd_kafka_ClientQuotaEntry_s rd_kafka_ClientQuotaEntry_t;

/**
 * Returns a filter that matches all entities. The functions rd_kafka_ClientQuotaFilter_match_…() add types
 * that an entity must have. Free it with rd_kafka_ClientQuotaFilter_destroy().
 */
RD_EXPORT rd_kafka_ClientQuotaFilter_t *rd_kafka_ClientQuotaFilter_new(void);

/** Frees a filter; NULL has no effect. */
RD_EXPORT void rd_kafka_ClientQuotaFilter_destroy(rd_kafka_ClientQuotaFilter_t *filter);

/**
 * Requires a type with this name.
 *
 * @returns RD_KAFKA_RESP_ERR__INVALID_ARG for NULL, for an empty type, and for a type that the filter has already.
 */
RD_EXPORT rd_kafka_resp_err_t
rd_kafka_ClientQuotaFilter_match_name(rd_kafka_ClientQuotaFilter_t *filter,
                                      const char *entity_type,
                                      const char *name);

/** Requires the default entity of a type. Returns errors like rd_kafka_ClientQuotaFilter_match_name(). */
RD_EXPORT rd_kafka_resp_err_t
rd_kafka_ClientQuotaFilter_match_default(rd_kafka_ClientQuotaFilter_t *filter,
                                         const char *entity_type);

/**
 * Requires a type with any name, or its default entity. Returns errors like
 * rd_kafka_ClientQuotaFilter_match_name().
 */
RD_EXPORT rd_kafka_resp_err_t
rd_kafka_ClientQuotaFilter_match_any(rd_kafka_ClientQuotaFilter_t *filter, const char *entity_type);

/**
 * Sets whether entities with types that the filter does not have are excluded: 1, or 0 (default).
 *
 * @returns RD_KAFKA_RESP_ERR__INVALID_ARG for other values and for NULL.
 */
RD_EXPORT rd_kafka_resp_err_t
rd_kafka_ClientQuotaFilter_set_strict(rd_kafka_ClientQuotaFilter_t *filter, int strict);

/**
 * Describes the quotas of entities. Requires Kafka 2.6.
 *
 * @param filter   The filter of entities; NULL for all.
 * @param options  NULL or options of RD_KAFKA_ADMIN_OP_DESCRIBECLIENTQUOTAS.
 */
RD_EXPORT void rd_kafka_DescribeClientQuotas(rd_kafka_t *rk,
                                             const rd_kafka_ClientQuotaFilter_t *filter,
                                             const rd_kafka_AdminOptions_t *options,
                                             rd_kafka_queue_t *rkqu);

/** The result of DescribeClientQuotas. */
typedef rd_kafka_event_t rd_kafka_DescribeClientQuotas_result_t;

/** Returns the event as the result of DescribeClientQuotas; NULL for other events. */
RD_EXPORT const rd_kafka_DescribeClientQuotas_result_t *
rd_kafka_event_DescribeClientQuotas_result(rd_kafka_event_t *rkev);

/** Returns the entities that match, sorted by type and name. */
RD_EXPORT const rd_kafka_ClientQuotaEntry_t **rd_kafka_DescribeClientQuotas_result_entries(
    const rd_kafka_DescribeClientQuotas_result_t *result,
    size_t *cntp);

/** Returns the entity; NULL for NULL. */
RD_EXPORT const rd_kafka_ClientQuotaEntity_t *
rd_kafka_ClientQuotaEntry_entity(const rd_kafka_ClientQuotaEntry_t *entry);

/** Returns the number of the entity's quotas; 0 for NULL. */
RD_EXPORT size_t rd_kafka_ClientQuotaEntry_quota_cnt(const rd_kafka_ClientQuotaEntry_t *entry);

/** Returns the name of a quota, such as `producer_byte_rate`; NULL for an index out of range. Names are sorted. */
RD_EXPORT const char *
rd_kafka_ClientQuotaEntry_quota_name(const rd_kafka_ClientQuotaEntry_t *entry, size_t index);

/** Returns the value of a quota; 0 for an index out of range. */
RD_EXPORT double
rd_kafka_ClientQuotaEntry_quota_value(const rd_kafka_ClientQuotaEntry_t *entry, size_t index);

/** Returns the number of types of an entity; 0 for NULL. */
RD_EXPORT size_t rd_kafka_ClientQuotaEntity_cnt(const rd_kafka_ClientQuotaEntity_t *entity);

/** Returns a type of an entity; NULL for an index out of range. Types are sorted. */
RD_EXPORT const char *rd_kafka_ClientQuotaEntity_type(const rd_kafka_ClientQuotaEntity_t *entity,
                                                      size_t index);

/** Returns the name that belongs to a type; NULL for the default entity, and for an index out of range. */
RD_EXPORT const char *rd_kafka_ClientQuotaEntity_name(const rd_kafka_ClientQuotaEntity_t *entity,
                                                      size_t index);

/** @} */

/** @name AlterClientQuotas: changes of the quotas of users, client ids and addresses (KIP-546)
 *  @{ */

/** The operation, for rd_kafka_AdminOptions_new(). */
#define RD_KAFKA_ADMIN_OP_ALTERCLIENTQUOTAS ((rd_kafka_admin_op_t)1003)
/** The type of its event. */
#define RD_KAFKA_EVENT_ALTERCLIENTQUOTAS_RESULT 1003

/** Changes of an entity's quotas. */
typedef struct rd_kafka_ClientQuotaAlteration_s rd_kafka_ClientQuotaAlteration_t;
/** The outcome for one entity, owned by the event. */
typedef struct rd_kafka_ClientQuotaResult_s rd_kafka_ClientQuotaResult_t;

/**
 * Returns changes, to which the following functions add the entity and its quotas. Free them with
 * rd_kafka_ClientQuotaAlteration_destroy().
 */
RD_EXPORT rd_kafka_ClientQuotaAlteration_t *rd_kafka_ClientQuotaAlteration_new(void);

/** Frees changes; NULL has no effect. */
RD_EXPORT void
rd_kafka_ClientQuotaAlteration_destroy(rd_kafka_ClientQuotaAlteration_t *alteration);

/** Frees the changes of an array, and not the array. */
RD_EXPORT void
rd_kafka_ClientQuotaAlteration_destroy_array(rd_kafka_ClientQuotaAlteration_t **alterations,
                                             size_t alteration_cnt);

/**
 * Adds a type with its name to the entity.
 *
 * @param name  The name; NULL for the default entity of the type.
 *
 * @returns RD_KAFKA_RESP_ERR__INVALID_ARG for a type that is NULL or empty, or that the entity has already.
 */
RD_EXPORT rd_kafka_resp_err_t
rd_kafka_ClientQuotaAlteration_add_entity(rd_kafka_ClientQuotaAlteration_t *alteration,
                                          const char *entity_type,
                                          const char *name);

/**
 * Sets a quota. A second change of the same quota replaces the first one.
 *
 * @param quota  The name: `producer_byte_rate`, `consumer_byte_rate`, `request_percentage`,
 *               `controller_mutation_rate`, or for addresses `connection_creation_rate`.
 *
 * @returns RD_KAFKA_RESP_ERR__INVALID_ARG for NULL, an empty name, and a value that is not finite.
 */
RD_EXPORT rd_kafka_resp_err_t
rd_kafka_ClientQuotaAlteration_set(rd_kafka_ClientQuotaAlteration_t *alteration,
                                   const char *quota,
                                   double value);

/** Removes a quota. Returns errors like rd_kafka_ClientQuotaAlteration_set(). */
RD_EXPORT rd_kafka_resp_err_t
rd_kafka_ClientQuotaAlteration_remove(rd_kafka_ClientQuotaAlteration_t *alteration,
                                      const char *quota);

/**
 * Changes the quotas of entities, of each entity all or none. Requires Kafka 2.6.
 *
 * @param alterations     The changes, for each entity once.
 * @param alteration_cnt  The number of entities, at least 1.
 * @param options         NULL or options of RD_KAFKA_ADMIN_OP_ALTERCLIENTQUOTAS, which has also
 *                        rd_kafka_AdminOptions_set_validate_only().
 */
RD_EXPORT void rd_kafka_AlterClientQuotas(rd_kafka_t *rk,
                                          rd_kafka_ClientQuotaAlteration_t **alterations,
                                          size_t alteration_cnt,
                                          const rd_kafka_AdminOptions_t *options,
                                          rd_kafka_queue_t *rkqu);

/** The result of AlterClientQuotas. */
typedef rd_kafka_event_t rd_kafka_AlterClientQuotas_result_t;

/** Returns the event as the result of AlterClientQuotas; NULL for other events. */
RD_EXPORT const rd_kafka_AlterClientQuotas_result_t *
rd_kafka_event_AlterClientQuotas_result(rd_kafka_event_t *rkev);

/** Returns the outcomes in the order of the call. */
RD_EXPORT const rd_kafka_ClientQuotaResult_t **
rd_kafka_AlterClientQuotas_result_entities(const rd_kafka_AlterClientQuotas_result_t *result,
                                           size_t *cntp);

/** Returns the entity; NULL for NULL. */
RD_EXPORT const rd_kafka_ClientQuotaEntity_t *
rd_kafka_ClientQuotaResult_entity(const rd_kafka_ClientQuotaResult_t *result);

/** Returns the error, such as RD_KAFKA_RESP_ERR_INVALID_REQUEST; NULL for success. */
RD_EXPORT const rd_kafka_error_t *
rd_kafka_ClientQuotaResult_error(const rd_kafka_ClientQuotaResult_t *result);

/** @} */

/** @name AlterPartitionReassignments: moves of partitions to other brokers (KIP-455)
 *  @{ */

/** The operation, for rd_kafka_AdminOptions_new(). */
#define RD_KAFKA_ADMIN_OP_ALTERPARTITIONREASSIGNMENTS ((rd_kafka_admin_op_t)1004)
/** The type of its event. */
#define RD_KAFKA_EVENT_ALTERPARTITIONREASSIGNMENTS_RESULT 1004

/** The replicas that a partition is to have. */
typedef struct rd_kafka_PartitionReassignment_s rd_kafka_PartitionReassignment_t;

/**
 * Returns a reassignment of a partition. Free it with rd_kafka_PartitionReassignment_destroy().
 *
 * @param broker_ids     The brokers of the replicas, the preferred leader first; NULL cancels the
 *                       reassignment under way.
 * @param broker_id_cnt  The number of brokers, 1 to 10,000; ignored with NULL.
 * @param errstr         NULL or a buffer for the reason of a refusal.
 * @param errstr_size    The size of the buffer.
 *
 * @returns NULL for an invalid topic, a negative partition or broker, and no or too many brokers.
 */
RD_EXPORT rd_kafka_PartitionReassignment_t *
rd_kafka_PartitionReassignment_new(const char *topic,
                                   int32_t partition,
                                   const int32_t *broker_ids,
                                   size_t broker_id_cnt,
                                   char *errstr,
                                   size_t errstr_size);

/** Frees a reassignment; NULL has no effect. */
RD_EXPORT void
rd_kafka_PartitionReassignment_destroy(rd_kafka_PartitionReassignment_t *reassignment);

/** Frees the reassignments of an array, and not the array. */
RD_EXPORT void
rd_kafka_PartitionReassignment_destroy_array(rd_kafka_PartitionReassignment_t **reassignments,
                                             size_t reassignment_cnt);

/**
 * Sets whether a reassignment may change the number of a partition's replicas: 1 (default), or 0, which
 * requires Kafka 4.1 (KIP-860). Then such a partition fails with
 * RD_KAFKA_RESP_ERR_INVALID_REPLICATION_FACTOR.
 *
 * @returns an error for other values and for options of another operation, to be freed with
 *          rd_kafka_error_destroy(); NULL for success.
 */
RD_EXPORT rd_kafka_error_t *rd_kafka_AdminOptions_set_allow_replication_factor_change(
    rd_kafka_AdminOptions_t *options,
    int true_or_false);

/**
 * Begins and cancels reassignments. They continue after the call: rd_kafka_ListPartitionReassignments()
 * returns those under way. Requires Kafka 2.4.
 *
 * @param reassignments     The reassignments, one for each partition. One under way is replaced.
 * @param reassignment_cnt  The number of reassignments, at least 1.
 * @param options           NULL or options of RD_KAFKA_ADMIN_OP_ALTERPARTITIONREASSIGNMENTS, which has
 *                          also rd_kafka_AdminOptions_set_operation_timeout() and
 *                          rd_kafka_AdminOptions_set_allow_replication_factor_change().
 *
 * A request with cancellations whose response is lost is not repeated.
 */
RD_EXPORT void
rd_kafka_AlterPartitionReassignments(rd_kafka_t *rk,
                                     rd_kafka_PartitionReassignment_t **reassignments,
                                     size_t reassignment_cnt,
                                     const rd_kafka_AdminOptions_t *options,
                                     rd_kafka_queue_t *rkqu);

/** The result of AlterPartitionReassignments. */
typedef rd_kafka_event_t rd_kafka_AlterPartitionReassignments_result_t;

/** Returns the event as the result of AlterPartitionReassignments; NULL for other events. */
RD_EXPORT const rd_kafka_AlterPartitionReassignments_result_t *
rd_kafka_event_AlterPartitionReassignments_result(rd_kafka_event_t *rkev);

/**
 * Returns the outcomes in the order of the call. Errors are RD_KAFKA_RESP_ERR_INVALID_REPLICA_ASSIGNMENT,
 * RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART, and others; for a cancellation
 * RD_KAFKA_RESP_ERR_NO_REASSIGNMENT_IN_PROGRESS.
 */
RD_EXPORT const rd_kafka_topic_partition_result_t **
rd_kafka_AlterPartitionReassignments_result_partitions(
    const rd_kafka_AlterPartitionReassignments_result_t *result,
    size_t *cntp);

/** @} */

/** @name ListPartitionReassignments: the reassignments under way (KIP-455)
 *  @{ */

/** The operation, for rd_kafka_AdminOptions_new(). */
#define RD_KAFKA_ADMIN_OP_LISTPARTITIONREASSIGNMENTS ((rd_kafka_admin_op_t)1005)
/** The type of its event. */
#define RD_KAFKA_EVENT_LISTPARTITIONREASSIGNMENTS_RESULT 1005

/** A reassignment under way, owned by the event. */
typedef struct rd_kafka_OngoingReassignment_s rd_kafka_OngoingReassignment_t;

/**
 * Lists the reassignments under way. Requires Kafka 2.4.
 *
 * @param partitions  The partitions, each once, of which those with a reassignment are listed; NULL for all.
 * @param options     NULL or options of RD_KAFKA_ADMIN_OP_LISTPARTITIONREASSIGNMENTS, which has also
 *                    rd_kafka_AdminOptions_set_operation_timeout().
 */
RD_EXPORT void
rd_kafka_ListPartitionReassignments(rd_kafka_t *rk,
                                    const rd_kafka_topic_partition_list_t *partitions,
                                    const rd_kafka_AdminOptions_t *options,
                                    rd_kafka_queue_t *rkqu);

/** The result of ListPartitionReassignments. */
typedef rd_kafka_event_t rd_kafka_ListPartitionReassignments_result_t;

/** Returns the event as the result of ListPartitionReassignments; NULL for other events. */
RD_EXPORT const rd_kafka_ListPartitionReassignments_result_t *
rd_kafka_event_ListPartitionReassignments_result(rd_kafka_event_t *rkev);

/** Returns the reassignments, sorted by topic and partition. */
RD_EXPORT const rd_kafka_OngoingReassignment_t **
rd_kafka_ListPartitionReassignments_result_reassignments(
    const rd_kafka_ListPartitionReassignments_result_t *result,
    size_t *cntp);

/** Returns the topic; NULL for NULL. */
RD_EXPORT const char *
rd_kafka_OngoingReassignment_topic(const rd_kafka_OngoingReassignment_t *reassignment);

/** Returns the partition; -1 for NULL. */
RD_EXPORT int32_t
rd_kafka_OngoingReassignment_partition(const rd_kafka_OngoingReassignment_t *reassignment);

/** Returns the brokers of the present replicas, those that are added and removed included. */
RD_EXPORT const int32_t *
rd_kafka_OngoingReassignment_replicas(const rd_kafka_OngoingReassignment_t *reassignment,
                                      size_t *cntp);

/** Returns the brokers of the replicas that are added and are not in sync yet. */
RD_EXPORT const int32_t *
rd_kafka_OngoingReassignment_adding_replicas(const rd_kafka_OngoingReassignment_t *reassignment,
                                             size_t *cntp);

/** Returns the brokers of the replicas that are removed at the end. */
RD_EXPORT const int32_t *
rd_kafka_OngoingReassignment_removing_replicas(const rd_kafka_OngoingReassignment_t *reassignment,
                                               size_t *cntp);

/** @} */

/** @name ListConfigResources: the resources that have settings (KIP-1142)
 *  @{ */

/** The operation, for rd_kafka_AdminOptions_new(). */
#define RD_KAFKA_ADMIN_OP_LISTCONFIGRESOURCES ((rd_kafka_admin_op_t)1006)
/** The type of its event. */
#define RD_KAFKA_EVENT_LISTCONFIGRESOURCES_RESULT 1006

/**
 * The types of resources with settings, with the protocol's numbers. They differ from
 * rd_kafka_ResourceType_t, whose number of groups is another one. Results may have further numbers.
 */
typedef enum rd_kafka_ConfigResourceType_t {
        RD_KAFKA_CONFIG_RESOURCE_TOPIC          = 2,  /**< A topic. */
        RD_KAFKA_CONFIG_RESOURCE_BROKER         = 4,  /**< A broker. */
        RD_KAFKA_CONFIG_RESOURCE_BROKER_LOGGER  = 8,  /**< The log levels of a broker. */
        RD_KAFKA_CONFIG_RESOURCE_CLIENT_METRICS = 16, /**< A subscription to client metrics. */
        RD_KAFKA_CONFIG_RESOURCE_GROUP          = 32  /**< A group. */
} rd_kafka_ConfigResourceType_t;

/** A resource, owned by the event. */
typedef struct rd_kafka_ConfigResourceListing_s rd_kafka_ConfigResourceListing_t;

/**
 * Lists resources that have settings. Requires Kafka 4.1; with RD_KAFKA_CONFIG_RESOURCE_CLIENT_METRICS as
 * the only type Kafka 3.7.
 *
 * @param types     The types of the resources; NULL or no type for all that the broker can list.
 * @param type_cnt  The number of types.
 * @param options   NULL or options of RD_KAFKA_ADMIN_OP_LISTCONFIGRESOURCES.
 *
 * A type that the broker cannot list fails the call with RD_KAFKA_RESP_ERR_UNSUPPORTED_VERSION.
 */
RD_EXPORT void rd_kafka_ListConfigResources(rd_kafka_t *rk,
                                            const rd_kafka_ConfigResourceType_t *types,
                                            size_t type_cnt,
                                            const rd_kafka_AdminOptions_t *options,
                                            rd_kafka_queue_t *rkqu);

/** The result of ListConfigResources. */
typedef rd_kafka_event_t rd_kafka_ListConfigResources_result_t;

/** Returns the event as the result of ListConfigResources; NULL for other events. */
RD_EXPORT const rd_kafka_ListConfigResources_result_t *
rd_kafka_event_ListConfigResources_result(rd_kafka_event_t *rkev);

/** Returns the resources, sorted by type and name. */
RD_EXPORT const rd_kafka_ConfigResourceListing_t **
rd_kafka_ListConfigResources_result_resources(const rd_kafka_ListConfigResources_result_t *result,
                                              size_t *cntp);

/** Returns the type of the resource; 0 for NULL. */
RD_EXPORT rd_kafka_ConfigResourceType_t
rd_kafka_ConfigResourceListing_type(const rd_kafka_ConfigResourceListing_t *resource);

/** Returns the name of the resource, for a broker its id in decimal; NULL for NULL. */
RD_EXPORT const char *
rd_kafka_ConfigResourceListing_name(const rd_kafka_ConfigResourceListing_t *resource);

/** @} */

/** @name DescribeMetadataQuorum: the voters and observers of the metadata log (KIP-836)
 *  @{ */

/** The operation, for rd_kafka_AdminOptions_new(). */
#define RD_KAFKA_ADMIN_OP_DESCRIBEMETADATAQUORUM ((rd_kafka_admin_op_t)1007)
/** The type of its event. */
#define RD_KAFKA_EVENT_DESCRIBEMETADATAQUORUM_RESULT 1007

/** A replica of the metadata log, owned by the event. */
typedef struct rd_kafka_QuorumReplica_s rd_kafka_QuorumReplica_t;
/** A voter with its addresses, owned by the event. */
typedef struct rd_kafka_QuorumNode_s rd_kafka_QuorumNode_t;
/** An address of a voter. */
typedef struct rd_kafka_RaftVoterEndpoint_s rd_kafka_RaftVoterEndpoint_t;

/**
 * Describes the metadata quorum of a KRaft cluster. Requires Kafka 3.3.
 *
 * @param options  NULL or options of RD_KAFKA_ADMIN_OP_DESCRIBEMETADATAQUORUM.
 */
RD_EXPORT void rd_kafka_DescribeMetadataQuorum(rd_kafka_t *rk,
                                               const rd_kafka_AdminOptions_t *options,
                                               rd_kafka_queue_t *rkqu);

/** The result of DescribeMetadataQuorum. */
typedef rd_kafka_event_t rd_kafka_DescribeMetadataQuorum_result_t;

/** Returns the event as the result of DescribeMetadataQuorum; NULL for other events. */
RD_EXPORT const rd_kafka_DescribeMetadataQuorum_result_t *
rd_kafka_event_DescribeMetadataQuorum_result(rd_kafka_event_t *rkev);

/** Returns the node id of the leader, the active controller; -1 for another event or a failed call. */
RD_EXPORT int32_t rd_kafka_DescribeMetadataQuorum_result_leader_id(
    const rd_kafka_DescribeMetadataQuorum_result_t *result);

/** Returns the epoch of the leader; -1 for another event or a failed call. */
RD_EXPORT int32_t rd_kafka_DescribeMetadataQuorum_result_leader_epoch(
    const rd_kafka_DescribeMetadataQuorum_result_t *result);

/** Returns the high watermark of the metadata log; -1 for another event or a failed call. */
RD_EXPORT int64_t rd_kafka_DescribeMetadataQuorum_result_high_watermark(
    const rd_kafka_DescribeMetadataQuorum_result_t *result);

/** Returns the voters. */
RD_EXPORT const rd_kafka_QuorumReplica_t **rd_kafka_DescribeMetadataQuorum_result_voters(
    const rd_kafka_DescribeMetadataQuorum_result_t *result,
    size_t *cntp);

/** Returns the observers: brokers and controllers that are no voters. */
RD_EXPORT const rd_kafka_QuorumReplica_t **rd_kafka_DescribeMetadataQuorum_result_observers(
    const rd_kafka_DescribeMetadataQuorum_result_t *result,
    size_t *cntp);

/** Returns the voters with their addresses; none from brokers before Kafka 3.9 (KIP-853). */
RD_EXPORT const rd_kafka_QuorumNode_t **rd_kafka_DescribeMetadataQuorum_result_nodes(
    const rd_kafka_DescribeMetadataQuorum_result_t *result,
    size_t *cntp);

/** Returns the node id of the replica; -1 for NULL. */
RD_EXPORT int32_t rd_kafka_QuorumReplica_id(const rd_kafka_QuorumReplica_t *replica);

/** Returns the id of the replica's metadata directory; NULL if it is unknown, and from brokers before Kafka 3.9. */
RD_EXPORT const rd_kafka_Uuid_t *
rd_kafka_QuorumReplica_directory_id(const rd_kafka_QuorumReplica_t *replica);

/** Returns the end of the replica's log; -1 if it is unknown. */
RD_EXPORT int64_t rd_kafka_QuorumReplica_log_end_offset(const rd_kafka_QuorumReplica_t *replica);

/** Returns the time of the replica's last fetch in milliseconds since 1970; -1 if it is unknown. */
RD_EXPORT int64_t
rd_kafka_QuorumReplica_last_fetch_timestamp(const rd_kafka_QuorumReplica_t *replica);

/** Returns the time when the replica last had all records in milliseconds since 1970; -1 if it is unknown. */
RD_EXPORT int64_t
rd_kafka_QuorumReplica_last_caught_up_timestamp(const rd_kafka_QuorumReplica_t *replica);

/** Returns the node id of the voter; -1 for NULL. */
RD_EXPORT int32_t rd_kafka_QuorumNode_id(const rd_kafka_QuorumNode_t *node);

/** Returns the addresses of the voter. The application must not free them. */
RD_EXPORT const rd_kafka_RaftVoterEndpoint_t **
rd_kafka_QuorumNode_endpoints(const rd_kafka_QuorumNode_t *node, size_t *cntp);

/** Returns the name of the listener; NULL for NULL. */
RD_EXPORT const char *
rd_kafka_RaftVoterEndpoint_listener(const rd_kafka_RaftVoterEndpoint_t *endpoint);

/** Returns the host; NULL for NULL. */
RD_EXPORT const char *
rd_kafka_RaftVoterEndpoint_host(const rd_kafka_RaftVoterEndpoint_t *endpoint);

/** Returns the port; 0 for NULL. */
RD_EXPORT uint16_t
rd_kafka_RaftVoterEndpoint_port(const rd_kafka_RaftVoterEndpoint_t *endpoint);

/** @} */

/** @name DescribeFeatures: the features of brokers and of the cluster (KIP-584)
 *  @{ */

/** The operation, for rd_kafka_AdminOptions_new(). */
#define RD_KAFKA_ADMIN_OP_DESCRIBEFEATURES ((rd_kafka_admin_op_t)1008)
/** The type of its event. */
#define RD_KAFKA_EVENT_DESCRIBEFEATURES_RESULT 1008

/** A feature and a range of its levels, owned by the event. */
typedef struct rd_kafka_FeatureRange_s rd_kafka_FeatureRange_t;

/**
 * Describes the features that a broker supports, and those that the cluster uses. Requires Kafka 2.7.
 *
 * @param options  NULL or options of RD_KAFKA_ADMIN_OP_DESCRIBEFEATURES.
 */
RD_EXPORT void rd_kafka_DescribeFeatures(rd_kafka_t *rk,
                                         const rd_kafka_AdminOptions_t *options,
                                         rd_kafka_queue_t *rkqu);

/** The result of DescribeFeatures. */
typedef rd_kafka_event_t rd_kafka_DescribeFeatures_result_t;

/** Returns the event as the result of DescribeFeatures; NULL for other events. */
RD_EXPORT const rd_kafka_DescribeFeatures_result_t *
rd_kafka_event_DescribeFeatures_result(rd_kafka_event_t *rkev);

/** Returns the finalized features: those that the cluster uses with their levels, sorted by name. */
RD_EXPORT const rd_kafka_FeatureRange_t **
rd_kafka_DescribeFeatures_result_finalized(const rd_kafka_DescribeFeatures_result_t *result,
                                           size_t *cntp);

/** Returns the epoch of the finalized features, which rises with each change; -1 if it is unknown. */
RD_EXPORT int64_t
rd_kafka_DescribeFeatures_result_finalized_epoch(const rd_kafka_DescribeFeatures_result_t *result);

/** Returns the features that the broker supports with their levels, sorted by name. */
RD_EXPORT const rd_kafka_FeatureRange_t **
rd_kafka_DescribeFeatures_result_supported(const rd_kafka_DescribeFeatures_result_t *result,
                                           size_t *cntp);

/** Returns the feature's name, such as `metadata.version`; NULL for NULL. */
RD_EXPORT const char *rd_kafka_FeatureRange_name(const rd_kafka_FeatureRange_t *feature);

/** Returns the lowest level; -1 for NULL. */
RD_EXPORT int rd_kafka_FeatureRange_min_level(const rd_kafka_FeatureRange_t *feature);

/** Returns the highest level; -1 for NULL. */
RD_EXPORT int rd_kafka_FeatureRange_max_level(const rd_kafka_FeatureRange_t *feature);

/** @} */

/** @name UpdateFeatures: changes of the levels of the cluster's features (KIP-584, KIP-778)
 *  @{ */

/** The operation, for rd_kafka_AdminOptions_new(). */
#define RD_KAFKA_ADMIN_OP_UPDATEFEATURES ((rd_kafka_admin_op_t)1009)
/** The type of its event. */
#define RD_KAFKA_EVENT_UPDATEFEATURES_RESULT 1009

/** The kinds of changes, with the protocol's numbers. */
typedef enum rd_kafka_FeatureUpgradeType_t {
        RD_KAFKA_FEATURE_UPGRADE        = 1, /**< Raises the level. */
        RD_KAFKA_FEATURE_SAFE_DOWNGRADE = 2, /**< Lowers the level if no metadata is lost. */
        /** Lowers the level even if metadata is lost. Requires Kafka 3.3. */
        RD_KAFKA_FEATURE_UNSAFE_DOWNGRADE = 3
} rd_kafka_FeatureUpgradeType_t;

/** A change of a feature's level. */
typedef struct rd_kafka_FeatureUpdate_s rd_kafka_FeatureUpdate_t;
/** The outcome for one feature, owned by the event. */
typedef struct rd_kafka_FeatureResult_s rd_kafka_FeatureResult_t;

/**
 * Returns a change of a feature's level. Free it with rd_kafka_FeatureUpdate_destroy().
 *
 * @param level  The new level, 0 to 32767; 0 stops the use of the feature, and is a downgrade.
 *
 * @returns NULL for a feature that is NULL or not UTF-8. rd_kafka_UpdateFeatures() checks the other arguments.
 */
RD_EXPORT rd_kafka_FeatureUpdate_t *
rd_kafka_FeatureUpdate_new(const char *feature,
                           int level,
                           rd_kafka_FeatureUpgradeType_t upgrade_type);

/** Frees a change; NULL has no effect. */
RD_EXPORT void rd_kafka_FeatureUpdate_destroy(rd_kafka_FeatureUpdate_t *update);

/** Frees the changes of an array, and not the array. */
RD_EXPORT void rd_kafka_FeatureUpdate_destroy_array(rd_kafka_FeatureUpdate_t **updates,
                                                    size_t update_cnt);

/**
 * Changes the levels of features, since Kafka 4.0 all or none. Requires Kafka 2.7.
 *
 * @param updates     The changes, for each feature once.
 * @param update_cnt  The number of features, at least 1.
 * @param options     NULL or options of RD_KAFKA_ADMIN_OP_UPDATEFEATURES, which has also
 *                    rd_kafka_AdminOptions_set_operation_timeout() and, for Kafka 3.3 and later,
 *                    rd_kafka_AdminOptions_set_validate_only().
 *
 * A request whose response is lost is not repeated, unless it only validates.
 */
RD_EXPORT void rd_kafka_UpdateFeatures(rd_kafka_t *rk,
                                       rd_kafka_FeatureUpdate_t **updates,
                                       size_t update_cnt,
                                       const rd_kafka_AdminOptions_t *options,
                                       rd_kafka_queue_t *rkqu);

/** The result of UpdateFeatures. */
typedef rd_kafka_event_t rd_kafka_UpdateFeatures_result_t;

/** Returns the event as the result of UpdateFeatures; NULL for other events. */
RD_EXPORT const rd_kafka_UpdateFeatures_result_t *
rd_kafka_event_UpdateFeatures_result(rd_kafka_event_t *rkev);

/** Returns the outcomes in the order of the call. An error of the whole request is that of each feature. */
RD_EXPORT const rd_kafka_FeatureResult_t **
rd_kafka_UpdateFeatures_result_features(const rd_kafka_UpdateFeatures_result_t *result,
                                        size_t *cntp);

/** Returns the feature's name; NULL for NULL. */
RD_EXPORT const char *rd_kafka_FeatureResult_name(const rd_kafka_FeatureResult_t *result);

/** Returns the error, such as RD_KAFKA_RESP_ERR_INVALID_UPDATE_VERSION; NULL for success. */
RD_EXPORT const rd_kafka_error_t *
rd_kafka_FeatureResult_error(const rd_kafka_FeatureResult_t *result);

/** @} */

/** @name AddRaftVoter and RemoveRaftVoter: changes of the metadata quorum's voters (KIP-853)
 *
 * Both require Kafka 3.9 with the feature `kraft.version` at level 1. The event has the error of the call, and
 * nothing else. A request whose response is lost is not repeated.
 *
 *  @{ */

/** The operations, for rd_kafka_AdminOptions_new(). */
#define RD_KAFKA_ADMIN_OP_ADDRAFTVOTER    ((rd_kafka_admin_op_t)1010)
#define RD_KAFKA_ADMIN_OP_REMOVERAFTVOTER ((rd_kafka_admin_op_t)1011)
/** The types of their events. */
#define RD_KAFKA_EVENT_ADDRAFTVOTER_RESULT    1010
#define RD_KAFKA_EVENT_REMOVERAFTVOTER_RESULT 1011

/**
 * Returns an address of a voter. Free it with rd_kafka_RaftVoterEndpoint_destroy().
 *
 * @returns NULL for a listener or host that is NULL, empty or not UTF-8, and for port 0.
 */
RD_EXPORT rd_kafka_RaftVoterEndpoint_t *
rd_kafka_RaftVoterEndpoint_new(const char *listener, const char *host, uint16_t port);

/** Frees an address; NULL has no effect. */
RD_EXPORT void rd_kafka_RaftVoterEndpoint_destroy(rd_kafka_RaftVoterEndpoint_t *endpoint);

/** Frees the addresses of an array, and not the array. */
RD_EXPORT void
rd_kafka_RaftVoterEndpoint_destroy_array(rd_kafka_RaftVoterEndpoint_t **endpoints,
                                         size_t endpoint_cnt);

/**
 * Makes a controller a voter. It must have caught up as an observer.
 *
 * @param voter_id      The node id of the controller.
 * @param directory_id  The id of its metadata directory.
 * @param endpoints     Its listeners for controllers, one for each name.
 * @param endpoint_cnt  The number of listeners, at least 1.
 * @param cluster_id    The id of the cluster, with which the controller compares its own; NULL for no comparison.
 * @param options       NULL or options of RD_KAFKA_ADMIN_OP_ADDRAFTVOTER, which has also
 *                      rd_kafka_AdminOptions_set_operation_timeout().
 *
 * Errors of the call: RD_KAFKA_RESP_ERR_DUPLICATE_VOTER, 104 (INCONSISTENT_CLUSTER_ID) for another
 * cluster, RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT for a controller that does not catch up, and others.
 */
RD_EXPORT void rd_kafka_AddRaftVoter(rd_kafka_t *rk,
                                     int32_t voter_id,
                                     const rd_kafka_Uuid_t *directory_id,
                                     rd_kafka_RaftVoterEndpoint_t **endpoints,
                                     size_t endpoint_cnt,
                                     const char *cluster_id,
                                     const rd_kafka_AdminOptions_t *options,
                                     rd_kafka_queue_t *rkqu);

/** The result of AddRaftVoter. */
typedef rd_kafka_event_t rd_kafka_AddRaftVoter_result_t;

/** Returns the event as the result of AddRaftVoter; NULL for other events. */
RD_EXPORT const rd_kafka_AddRaftVoter_result_t *
rd_kafka_event_AddRaftVoter_result(rd_kafka_event_t *rkev);

/**
 * Removes a voter, which remains an observer if it runs. The parameters are those of rd_kafka_AddRaftVoter();
 * `options` are NULL or options of RD_KAFKA_ADMIN_OP_REMOVERAFTVOTER.
 *
 * Errors of the call: RD_KAFKA_RESP_ERR_VOTER_NOT_FOUND, 104 (INCONSISTENT_CLUSTER_ID), and others.
 */
RD_EXPORT void rd_kafka_RemoveRaftVoter(rd_kafka_t *rk,
                                        int32_t voter_id,
                                        const rd_kafka_Uuid_t *directory_id,
                                        const char *cluster_id,
                                        const rd_kafka_AdminOptions_t *options,
                                        rd_kafka_queue_t *rkqu);

/** The result of RemoveRaftVoter. */
typedef rd_kafka_event_t rd_kafka_RemoveRaftVoter_result_t;

/** Returns the event as the result of RemoveRaftVoter; NULL for other events. */
RD_EXPORT const rd_kafka_RemoveRaftVoter_result_t *
rd_kafka_event_RemoveRaftVoter_result(rd_kafka_event_t *rkev);

/** @} */

/** @name UnregisterBroker: the removal of a broker that will not return (KIP-500)
 *  @{ */

/** The operation, for rd_kafka_AdminOptions_new(). */
#define RD_KAFKA_ADMIN_OP_UNREGISTERBROKER ((rd_kafka_admin_op_t)1012)
/** The type of its event. */
#define RD_KAFKA_EVENT_UNREGISTERBROKER_RESULT 1012

/**
 * Removes the registration of a broker from a KRaft cluster. Requires Kafka 3.0.
 *
 * @param broker_id  The broker, which should be shut down.
 * @param options    NULL or options of RD_KAFKA_ADMIN_OP_UNREGISTERBROKER.
 *
 * The event has the error of the call, such as 102 (BROKER_ID_NOT_REGISTERED), and nothing else. A
 * request whose response is lost is not repeated.
 */
RD_EXPORT void rd_kafka_UnregisterBroker(rd_kafka_t *rk,
                                         int32_t broker_id,
                                         const rd_kafka_AdminOptions_t *options,
                                         rd_kafka_queue_t *rkqu);

/** The result of UnregisterBroker. */
typedef rd_kafka_event_t rd_kafka_UnregisterBroker_result_t;

/** Returns the event as the result of UnregisterBroker; NULL for other events. */
RD_EXPORT const rd_kafka_UnregisterBroker_result_t *
rd_kafka_event_UnregisterBroker_result(rd_kafka_event_t *rkev);

/** @} */

/* ---- transactions and tokens ----------------------------------------------------------------- */

/** Numbers of the operations on transactions, for rd_kafka_AdminOptions_new(). */
#define RD_KAFKA_ADMIN_OP_LISTTRANSACTIONS ((rd_kafka_admin_op_t)1020)
#define RD_KAFKA_ADMIN_OP_DESCRIBETRANSACTIONS ((rd_kafka_admin_op_t)1021)
#define RD_KAFKA_ADMIN_OP_ABORTTRANSACTION ((rd_kafka_admin_op_t)1022)
#define RD_KAFKA_ADMIN_OP_FENCEPRODUCERS ((rd_kafka_admin_op_t)1023)
#define RD_KAFKA_ADMIN_OP_DESCRIBEPRODUCERS ((rd_kafka_admin_op_t)1024)
#define RD_KAFKA_ADMIN_OP_FORCETERMINATETRANSACTION ((rd_kafka_admin_op_t)1025)

/** Types of their results. */
#define RD_KAFKA_EVENT_LISTTRANSACTIONS_RESULT 1020
#define RD_KAFKA_EVENT_DESCRIBETRANSACTIONS_RESULT 1021
#define RD_KAFKA_EVENT_ABORTTRANSACTION_RESULT 1022
#define RD_KAFKA_EVENT_FENCEPRODUCERS_RESULT 1023
#define RD_KAFKA_EVENT_DESCRIBEPRODUCERS_RESULT 1024
#define RD_KAFKA_EVENT_FORCETERMINATETRANSACTION_RESULT 1025

/** Error for a transactional id without a producer. rdkafka.h has no name for it. */
#define RD_KAFKA_RESP_ERR_TRANSACTIONAL_ID_NOT_FOUND ((rd_kafka_resp_err_t)105)

/** State of a transaction, as its coordinator names it. */
typedef enum rd_kafka_transaction_state_t {
        /** A state that this library does not know. */
        RD_KAFKA_TRANSACTION_STATE_UNKNOWN = 0,
        /** The producer has not begun a transaction. */
        RD_KAFKA_TRANSACTION_STATE_EMPTY = 1,
        /** The transaction is open. */
        RD_KAFKA_TRANSACTION_STATE_ONGOING = 2,
        /** The transaction will be committed; markers are being written. */
        RD_KAFKA_TRANSACTION_STATE_PREPARE_COMMIT = 3,
        /** The transaction will be aborted; markers are being written. */
        RD_KAFKA_TRANSACTION_STATE_PREPARE_ABORT = 4,
        /** The last transaction is committed. */
        RD_KAFKA_TRANSACTION_STATE_COMPLETE_COMMIT = 5,
        /** The last transaction is aborted. */
        RD_KAFKA_TRANSACTION_STATE_COMPLETE_ABORT = 6,
        /** The coordinator fences the producer, and will abort the transaction. */
        RD_KAFKA_TRANSACTION_STATE_PREPARE_EPOCH_FENCE = 7
} rd_kafka_transaction_state_t;

/** Returns the name of a state, such as "PrepareCommit"; NULL for a number that is no state. */
RD_EXPORT const char *rd_kafka_transaction_state_name(rd_kafka_transaction_state_t state);

/* ListTransactions */

/** Selects the transactional ids to list. */
typedef struct rd_kafka_TransactionFilter_s rd_kafka_TransactionFilter_t;

/** Transactional id in a listing. */
typedef struct rd_kafka_TransactionListing_s rd_kafka_TransactionListing_t;

/** Result of rd_kafka_ListTransactions(): an event, under its own type name. */
typedef rd_kafka_event_t rd_kafka_ListTransactions_result_t;

/**
 * Creates a filter that lists all transactional ids. Each function below restricts it further.
 *
 * @return The caller frees it with rd_kafka_TransactionFilter_destroy().
 */
RD_EXPORT rd_kafka_TransactionFilter_t *rd_kafka_TransactionFilter_new(void);

/**
 * Adds a state. A transactional id is listed if its last transaction is in one of the states that
 * were added.
 *
 * @return RD_KAFKA_RESP_ERR_NO_ERROR, or RD_KAFKA_RESP_ERR__INVALID_ARG for
 *         RD_KAFKA_TRANSACTION_STATE_UNKNOWN and for numbers that are no state.
 */
RD_EXPORT rd_kafka_resp_err_t rd_kafka_TransactionFilter_add_state(rd_kafka_TransactionFilter_t *filter,
                                                                   rd_kafka_transaction_state_t state);

/**
 * Adds a producer. A transactional id is listed if its producer's id is one of those that were
 * added.
 *
 * @return RD_KAFKA_RESP_ERR_NO_ERROR, or RD_KAFKA_RESP_ERR__INVALID_ARG for a negative id.
 */
RD_EXPORT rd_kafka_resp_err_t
rd_kafka_TransactionFilter_add_producer_id(rd_kafka_TransactionFilter_t *filter, int64_t producer_id);

/**
 * Lists only transactional ids whose last transaction began longer ago, and ids that have begun
 * none (KIP-994, Kafka 3.8).
 *
 * @param longer_than_ms  Milliseconds, from 0 on.
 *
 * @return RD_KAFKA_RESP_ERR_NO_ERROR, or RD_KAFKA_RESP_ERR__INVALID_ARG for a negative number.
 */
RD_EXPORT rd_kafka_resp_err_t
rd_kafka_TransactionFilter_set_duration(rd_kafka_TransactionFilter_t *filter, int64_t longer_than_ms);

/**
 * Lists only transactional ids that match a regular expression as a whole (KIP-1152, Kafka 4.1).
 *
 * @param pattern  A regular expression of RE2, which brokers evaluate; empty for all. Brokers that
 *                 reject it answer RD_KAFKA_RESP_ERR_INVALID_REGULAR_EXPRESSION.
 *
 * @return RD_KAFKA_RESP_ERR_NO_ERROR, or RD_KAFKA_RESP_ERR__INVALID_ARG for NULL and for text that
 *         is not UTF-8.
 */
RD_EXPORT rd_kafka_resp_err_t
rd_kafka_TransactionFilter_set_transactional_id_pattern(rd_kafka_TransactionFilter_t *filter,
                                                        const char *pattern);

/** Frees a filter; NULL is allowed. */
RD_EXPORT void rd_kafka_TransactionFilter_destroy(rd_kafka_TransactionFilter_t *filter);

/**
 * Lists the transactional ids of all brokers with the states of their last transactions (KIP-664,
 * Kafka 3.0).
 *
 * @param filter   The ids to list; NULL for all.
 * @param options  May be NULL. With a broker only its transactional ids are listed.
 * @param rkqu     Receives the result, RD_KAFKA_EVENT_LISTTRANSACTIONS_RESULT.
 *
 * The call succeeds also if brokers fail or do not answer in time: see
 * rd_kafka_ListTransactions_result_errors(). A filter that a broker is too old for is its error
 * RD_KAFKA_RESP_ERR__UNSUPPORTED_FEATURE.
 */
RD_EXPORT void rd_kafka_ListTransactions(rd_kafka_t *rk,
                                         const rd_kafka_TransactionFilter_t *filter,
                                         const rd_kafka_AdminOptions_t *options,
                                         rd_kafka_queue_t *rkqu);

/** Returns the event as the result of ListTransactions; NULL for other events. */
RD_EXPORT const rd_kafka_ListTransactions_result_t *
rd_kafka_event_ListTransactions_result(rd_kafka_event_t *rkev);

/**
 * Returns the transactional ids, sorted, each once.
 *
 * @param cntp  Receives their number.
 *
 * @return An array that belongs to the result; NULL if it is empty.
 */
RD_EXPORT const rd_kafka_TransactionListing_t **
rd_kafka_ListTransactions_result_transactions(const rd_kafka_ListTransactions_result_t *result,
                                              size_t *cntp);

/**
 * Returns the errors of brokers whose transactional ids are missing from the result, by broker. The
 * texts name the brokers.
 *
 * @param cntp  Receives their number.
 *
 * @return An array that belongs to the result; NULL if there is no error.
 */
RD_EXPORT const rd_kafka_error_t **
rd_kafka_ListTransactions_result_errors(const rd_kafka_ListTransactions_result_t *result, size_t *cntp);

/** Returns the transactional id; NULL for NULL. */
RD_EXPORT const char *
rd_kafka_TransactionListing_transactional_id(const rd_kafka_TransactionListing_t *listing);

/** Returns the id of its producer; -1 for NULL. */
RD_EXPORT int64_t
rd_kafka_TransactionListing_producer_id(const rd_kafka_TransactionListing_t *listing);

/** Returns the state of its last transaction. */
RD_EXPORT rd_kafka_transaction_state_t
rd_kafka_TransactionListing_state(const rd_kafka_TransactionListing_t *listing);

/** Returns the id of the broker that coordinates it; -1 for NULL. */
RD_EXPORT int32_t
rd_kafka_TransactionListing_coordinator(const rd_kafka_TransactionListing_t *listing);

/* DescribeTransactions */

/** Transactional id with its last transaction. */
typedef struct rd_kafka_TransactionDescription_s rd_kafka_TransactionDescription_t;

/** Result of rd_kafka_DescribeTransactions(): an event, under its own type name. */
typedef rd_kafka_event_t rd_kafka_DescribeTransactions_result_t;

/**
 * Describes transactional ids at their coordinators (KIP-664, Kafka 3.0).
 *
 * @param transactional_ids     The ids, each once.
 * @param transactional_id_cnt  Their number, at least 1.
 * @param options               May be NULL.
 * @param rkqu                  Receives the result, RD_KAFKA_EVENT_DESCRIBETRANSACTIONS_RESULT.
 *
 * The call fails as a whole with RD_KAFKA_RESP_ERR__INVALID_ARG without ids, and for ids that are
 * NULL, empty or named twice. All other errors are those of single ids, also
 * RD_KAFKA_RESP_ERR__TIMED_OUT.
 */
RD_EXPORT void rd_kafka_DescribeTransactions(rd_kafka_t *rk,
                                             const char **transactional_ids,
                                             size_t transactional_id_cnt,
                                             const rd_kafka_AdminOptions_t *options,
                                             rd_kafka_queue_t *rkqu);

/** Returns the event as the result of DescribeTransactions; NULL for other events. */
RD_EXPORT const rd_kafka_DescribeTransactions_result_t *
rd_kafka_event_DescribeTransactions_result(rd_kafka_event_t *rkev);

/**
 * Returns the descriptions in the order of the call.
 *
 * @param cntp  Receives their number.
 *
 * @return An array that belongs to the result; NULL if the call failed.
 */
RD_EXPORT const rd_kafka_TransactionDescription_t **
rd_kafka_DescribeTransactions_result_transactions(const rd_kafka_DescribeTransactions_result_t *result,
                                                  size_t *cntp);

/** Returns the transactional id; NULL for NULL. */
RD_EXPORT const char *rd_kafka_TransactionDescription_transactional_id(
    const rd_kafka_TransactionDescription_t *transaction);

/**
 * Returns the error, which belongs to the description; NULL for none. After an error the other
 * functions return -1, NULL or RD_KAFKA_TRANSACTION_STATE_UNKNOWN.
 * RD_KAFKA_RESP_ERR_TRANSACTIONAL_ID_NOT_FOUND: the id has no producer, or expired.
 */
RD_EXPORT const rd_kafka_error_t *
rd_kafka_TransactionDescription_error(const rd_kafka_TransactionDescription_t *transaction);

/** Returns the id of the broker that coordinates the transactional id. */
RD_EXPORT int32_t
rd_kafka_TransactionDescription_coordinator(const rd_kafka_TransactionDescription_t *transaction);

/** Returns the state of the last transaction. */
RD_EXPORT rd_kafka_transaction_state_t
rd_kafka_TransactionDescription_state(const rd_kafka_TransactionDescription_t *transaction);

/** Returns the producer's id. */
RD_EXPORT int64_t
rd_kafka_TransactionDescription_producer_id(const rd_kafka_TransactionDescription_t *transaction);

/** Returns the producer's epoch. */
RD_EXPORT int32_t
rd_kafka_TransactionDescription_producer_epoch(const rd_kafka_TransactionDescription_t *transaction);

/** Returns the producer's `transaction.timeout.ms`. */
RD_EXPORT int32_t
rd_kafka_TransactionDescription_timeout_ms(const rd_kafka_TransactionDescription_t *transaction);

/** Returns when the last transaction began, in milliseconds since 1970; -1 if there was none. */
RD_EXPORT int64_t
rd_kafka_TransactionDescription_start_timestamp(const rd_kafka_TransactionDescription_t *transaction);

/**
 * Returns the partitions in the transaction, sorted; while it ends, those without a marker. The
 * list belongs to the description. It is empty without an open transaction.
 */
RD_EXPORT const rd_kafka_topic_partition_list_t *
rd_kafka_TransactionDescription_partitions(const rd_kafka_TransactionDescription_t *transaction);

/* DescribeProducers */

/** Producers of one partition. */
typedef struct rd_kafka_PartitionProducers_s rd_kafka_PartitionProducers_t;

/** State of a producer in a partition. */
typedef struct rd_kafka_ProducerState_s rd_kafka_ProducerState_t;

/** Result of rd_kafka_DescribeProducers(): an event, under its own type name. */
typedef rd_kafka_event_t rd_kafka_DescribeProducers_result_t;

/**
 * Describes the idempotent and transactional producers that have written to partitions, until
 * `producer.id.expiration.ms` of the broker after their last record (KIP-664, Kafka 2.8).
 *
 * @param partitions  The partitions, each once. Offsets and other fields are ignored.
 * @param options     May be NULL. Each partition's leader is asked; with a broker in the options
 *                    that broker, which must have a replica:
 *                    RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION otherwise.
 * @param rkqu        Receives the result, RD_KAFKA_EVENT_DESCRIBEPRODUCERS_RESULT.
 *
 * The call fails as a whole with RD_KAFKA_RESP_ERR__INVALID_ARG without partitions and for one that
 * is named twice. All other errors are those of single partitions, also
 * RD_KAFKA_RESP_ERR__TIMED_OUT.
 */
RD_EXPORT void rd_kafka_DescribeProducers(rd_kafka_t *rk,
                                          const rd_kafka_topic_partition_list_t *partitions,
                                          const rd_kafka_AdminOptions_t *options,
                                          rd_kafka_queue_t *rkqu);

/** Returns the event as the result of DescribeProducers; NULL for other events. */
RD_EXPORT const rd_kafka_DescribeProducers_result_t *
rd_kafka_event_DescribeProducers_result(rd_kafka_event_t *rkev);

/**
 * Returns the partitions in the order of the call.
 *
 * @param cntp  Receives their number.
 *
 * @return An array that belongs to the result; NULL if the call failed.
 */
RD_EXPORT const rd_kafka_PartitionProducers_t **
rd_kafka_DescribeProducers_result_partitions(const rd_kafka_DescribeProducers_result_t *result,
                                             size_t *cntp);

/** Returns the partition, with its error in `err`; it belongs to the result. NULL for NULL. */
RD_EXPORT const rd_kafka_topic_partition_t *
rd_kafka_PartitionProducers_partition(const rd_kafka_PartitionProducers_t *partition);

/** Returns the partition's error, which belongs to the result; NULL for none. */
RD_EXPORT const rd_kafka_error_t *
rd_kafka_PartitionProducers_error(const rd_kafka_PartitionProducers_t *partition);

/**
 * Returns the partition's producers, sorted by id.
 *
 * @param cntp  Receives their number.
 *
 * @return An array that belongs to the result; NULL if it is empty.
 */
RD_EXPORT const rd_kafka_ProducerState_t **
rd_kafka_PartitionProducers_producers(const rd_kafka_PartitionProducers_t *partition, size_t *cntp);

/** Returns the producer's id; -1 for NULL. */
RD_EXPORT int64_t rd_kafka_ProducerState_producer_id(const rd_kafka_ProducerState_t *producer);

/** Returns the producer's epoch; -1 for NULL. */
RD_EXPORT int32_t rd_kafka_ProducerState_producer_epoch(const rd_kafka_ProducerState_t *producer);

/** Returns the sequence number of the producer's last record in this epoch; -1 without one. */
RD_EXPORT int32_t rd_kafka_ProducerState_last_sequence(const rd_kafka_ProducerState_t *producer);

/**
 * Returns the timestamp of the producer's last batch or marker, in milliseconds since 1970; -1
 * without one.
 */
RD_EXPORT int64_t rd_kafka_ProducerState_last_timestamp(const rd_kafka_ProducerState_t *producer);

/**
 * Returns the epoch of the coordinator that wrote the last marker of the producer's transactions;
 * -1 without one.
 */
RD_EXPORT int32_t rd_kafka_ProducerState_coordinator_epoch(const rd_kafka_ProducerState_t *producer);

/** Returns the first offset of the producer's open transaction; -1 without one. */
RD_EXPORT int64_t
rd_kafka_ProducerState_transaction_start_offset(const rd_kafka_ProducerState_t *producer);

/* AbortTransaction */

/** Transaction to abort in one partition. */
typedef struct rd_kafka_AbortTransactionSpec_s rd_kafka_AbortTransactionSpec_t;

/** Result of rd_kafka_AbortTransaction(): an event, under its own type name. */
typedef rd_kafka_event_t rd_kafka_AbortTransaction_result_t;

/**
 * Creates a transaction to abort. rd_kafka_DescribeProducers() returns the numbers of a transaction
 * that is open.
 *
 * @param topic              The topic, copied.
 * @param partition          The partition.
 * @param producer_id        The id of the producer whose transaction is open.
 * @param producer_epoch     The epoch of the producer, 0 to 32767.
 * @param coordinator_epoch  The epoch of the coordinator in the producer's last marker; 0 without
 *                           one.
 *
 * @return The caller frees it with rd_kafka_AbortTransactionSpec_destroy(). NULL: the topic is NULL
 *         or not UTF-8. Other arguments are checked by the call.
 */
RD_EXPORT rd_kafka_AbortTransactionSpec_t *rd_kafka_AbortTransactionSpec_new(const char *topic,
                                                                             int32_t partition,
                                                                             int64_t producer_id,
                                                                             int32_t producer_epoch,
                                                                             int32_t coordinator_epoch);

/** Frees a transaction to abort; NULL is allowed. */
RD_EXPORT void rd_kafka_AbortTransactionSpec_destroy(rd_kafka_AbortTransactionSpec_t *spec);

/**
 * Aborts a transaction in one partition, at its leader (KIP-664, Kafka 2.8). It is meant for a
 * *hanging* transaction, which its coordinator does not know of and never ends, so that
 * read-committed consumers do not read beyond it. A transaction that a coordinator knows of is ended
 * by rd_kafka_ForceTerminateTransaction(): aborted in one partition only, it is no longer atomic.
 *
 * @param spec     The transaction.
 * @param options  May be NULL.
 * @param rkqu     Receives the result, RD_KAFKA_EVENT_ABORTTRANSACTION_RESULT.
 *
 * The error of the event is the result:
 *  - RD_KAFKA_RESP_ERR_NO_ERROR: the transaction marker is written, also if no transaction was
 *    open;
 *  - RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH: the producer has a later epoch;
 *  - RD_KAFKA_RESP_ERR_TRANSACTION_COORDINATOR_FENCED: a coordinator of a later epoch has written a
 *    marker;
 *  - RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED: the client lacks the permission to alter the
 *    cluster;
 *  - RD_KAFKA_RESP_ERR__INVALID_ARG: `spec` is NULL, or one of its numbers is negative or out of
 *    range;
 *  - others of the partition and of connections. A request whose response was lost is not repeated:
 *    a second marker could abort the producer's next transaction.
 */
RD_EXPORT void rd_kafka_AbortTransaction(rd_kafka_t *rk,
                                         const rd_kafka_AbortTransactionSpec_t *spec,
                                         const rd_kafka_AdminOptions_t *options,
                                         rd_kafka_queue_t *rkqu);

/** Returns the event as the result of AbortTransaction; NULL for other events. */
RD_EXPORT const rd_kafka_AbortTransaction_result_t *
rd_kafka_event_AbortTransaction_result(rd_kafka_event_t *rkev);

/* FenceProducers */

/** Transactional id after its producer was fenced. */
typedef struct rd_kafka_FencedProducer_s rd_kafka_FencedProducer_t;

/** Result of rd_kafka_FenceProducers(): an event, under its own type name. */
typedef rd_kafka_event_t rd_kafka_FenceProducers_result_t;

/**
 * Fences the producers of transactional ids, at their coordinators (KIP-618; Kafka 0.11): their
 * later requests fail, and their open transactions are aborted. The call waits for the aborts. A
 * transactional id that does not exist is created.
 *
 * @param transactional_ids     The ids, each once.
 * @param transactional_id_cnt  Their number, at least 1.
 * @param options               May be NULL. The call's timeout, at most a minute, is the
 *                              transaction timeout of the requests.
 * @param rkqu                  Receives the result, RD_KAFKA_EVENT_FENCEPRODUCERS_RESULT.
 *
 * The call fails as a whole with RD_KAFKA_RESP_ERR__INVALID_ARG without ids, and for ids that are
 * NULL, empty or named twice. All other errors are those of single ids, also
 * RD_KAFKA_RESP_ERR__TIMED_OUT.
 */
RD_EXPORT void rd_kafka_FenceProducers(rd_kafka_t *rk,
                                       const char **transactional_ids,
                                       size_t transactional_id_cnt,
                                       const rd_kafka_AdminOptions_t *options,
                                       rd_kafka_queue_t *rkqu);

/** Returns the event as the result of FenceProducers; NULL for other events. */
RD_EXPORT const rd_kafka_FenceProducers_result_t *
rd_kafka_event_FenceProducers_result(rd_kafka_event_t *rkev);

/**
 * Returns the transactional ids in the order of the call.
 *
 * @param cntp  Receives their number.
 *
 * @return An array that belongs to the result; NULL if the call failed.
 */
RD_EXPORT const rd_kafka_FencedProducer_t **
rd_kafka_FenceProducers_result_producers(const rd_kafka_FenceProducers_result_t *result, size_t *cntp);

/** Returns the transactional id; NULL for NULL. */
RD_EXPORT const char *
rd_kafka_FencedProducer_transactional_id(const rd_kafka_FencedProducer_t *producer);

/** Returns the error, which belongs to the result; NULL for none. */
RD_EXPORT const rd_kafka_error_t *
rd_kafka_FencedProducer_error(const rd_kafka_FencedProducer_t *producer);

/** Returns the producer id that the coordinator has assigned; -1 after an error. */
RD_EXPORT int64_t rd_kafka_FencedProducer_producer_id(const rd_kafka_FencedProducer_t *producer);

/** Returns the epoch that the coordinator has assigned; -1 after an error. */
RD_EXPORT int32_t rd_kafka_FencedProducer_producer_epoch(const rd_kafka_FencedProducer_t *producer);

/* ForceTerminateTransaction */

/** Result of rd_kafka_ForceTerminateTransaction(): an event, under its own type name. */
typedef rd_kafka_event_t rd_kafka_ForceTerminateTransaction_result_t;

/**
 * Aborts the open transaction of a transactional id and fences its producer, at its coordinator. It
 * also ends a transaction of two-phase commit, which has no timeout (KIP-939). It does the same as
 * rd_kafka_FenceProducers() for one id.
 *
 * @param transactional_id  The id.
 * @param options           May be NULL.
 * @param rkqu              Receives the result, RD_KAFKA_EVENT_FORCETERMINATETRANSACTION_RESULT.
 *
 * The error of the event is the result. RD_KAFKA_RESP_ERR_NO_ERROR: the transaction has ended, or
 * there was none. RD_KAFKA_RESP_ERR__INVALID_ARG: the id is NULL or empty.
 */
RD_EXPORT void rd_kafka_ForceTerminateTransaction(rd_kafka_t *rk,
                                                  const char *transactional_id,
                                                  const rd_kafka_AdminOptions_t *options,
                                                  rd_kafka_queue_t *rkqu);

/** Returns the event as the result of ForceTerminateTransaction; NULL for other events. */
RD_EXPORT const rd_kafka_ForceTerminateTransaction_result_t *
rd_kafka_event_ForceTerminateTransaction_result(rd_kafka_event_t *rkev);

/* Delegation tokens (KIP-48, Kafka 1.1) */

/** Numbers of the operations on delegation tokens, for rd_kafka_AdminOptions_new(). */
#define RD_KAFKA_ADMIN_OP_CREATEDELEGATIONTOKEN ((rd_kafka_admin_op_t)1030)
#define RD_KAFKA_ADMIN_OP_RENEWDELEGATIONTOKEN ((rd_kafka_admin_op_t)1031)
#define RD_KAFKA_ADMIN_OP_EXPIREDELEGATIONTOKEN ((rd_kafka_admin_op_t)1032)
#define RD_KAFKA_ADMIN_OP_DESCRIBEDELEGATIONTOKEN ((rd_kafka_admin_op_t)1033)

/** Types of their results. */
#define RD_KAFKA_EVENT_CREATEDELEGATIONTOKEN_RESULT 1030
#define RD_KAFKA_EVENT_RENEWDELEGATIONTOKEN_RESULT 1031
#define RD_KAFKA_EVENT_EXPIREDELEGATIONTOKEN_RESULT 1032
#define RD_KAFKA_EVENT_DESCRIBEDELEGATIONTOKEN_RESULT 1033

/** Principal: the owner or a renewer of delegation tokens. */
typedef struct rd_kafka_Principal_s rd_kafka_Principal_t;

/** Delegation token in a result. */
typedef struct rd_kafka_DelegationToken_s rd_kafka_DelegationToken_t;

/** Delegation token to create. */
typedef struct rd_kafka_NewDelegationToken_s rd_kafka_NewDelegationToken_t;

/** Result of rd_kafka_CreateDelegationToken(): an event, under its own type name. */
typedef rd_kafka_event_t rd_kafka_CreateDelegationToken_result_t;

/** Result of rd_kafka_RenewDelegationToken(): an event, under its own type name. */
typedef rd_kafka_event_t rd_kafka_RenewDelegationToken_result_t;

/** Result of rd_kafka_ExpireDelegationToken(): an event, under its own type name. */
typedef rd_kafka_event_t rd_kafka_ExpireDelegationToken_result_t;

/** Result of rd_kafka_DescribeDelegationToken(): an event, under its own type name. */
typedef rd_kafka_event_t rd_kafka_DescribeDelegationToken_result_t;

/**
 * Creates a principal.
 *
 * @param type  The type, copied: "User".
 * @param name  The name, copied.
 *
 * @return The caller frees it with rd_kafka_Principal_destroy(). NULL: type or name is NULL or not
 *         UTF-8.
 */
RD_EXPORT rd_kafka_Principal_t *rd_kafka_Principal_new(const char *type, const char *name);

/** Frees a principal that rd_kafka_Principal_new() has created; NULL is allowed. */
RD_EXPORT void rd_kafka_Principal_destroy(rd_kafka_Principal_t *principal);

/** Frees each element of an array, not the array. */
RD_EXPORT void rd_kafka_Principal_destroy_array(rd_kafka_Principal_t **principals, size_t principal_cnt);

/** Returns the type, which belongs to the principal; NULL for NULL. */
RD_EXPORT const char *rd_kafka_Principal_type(const rd_kafka_Principal_t *principal);

/** Returns the name, which belongs to the principal; NULL for NULL. */
RD_EXPORT const char *rd_kafka_Principal_name(const rd_kafka_Principal_t *principal);

/**
 * Returns the token's id, the user name of clients that authenticate with the token; NULL for NULL.
 */
RD_EXPORT const char *rd_kafka_DelegationToken_token_id(const rd_kafka_DelegationToken_t *token);

/** Returns the principal for which clients with the token act; it belongs to the token. */
RD_EXPORT const rd_kafka_Principal_t *
rd_kafka_DelegationToken_owner(const rd_kafka_DelegationToken_t *token);

/**
 * Returns the principal that has created the token; it belongs to the token. NULL from brokers
 * before Kafka 3.3.
 */
RD_EXPORT const rd_kafka_Principal_t *
rd_kafka_DelegationToken_requester(const rd_kafka_DelegationToken_t *token);

/**
 * Returns the principals besides the owner that may renew and expire the token.
 *
 * @param cntp  Receives their number.
 *
 * @return An array that belongs to the token; NULL if it is empty.
 */
RD_EXPORT const rd_kafka_Principal_t **
rd_kafka_DelegationToken_renewers(const rd_kafka_DelegationToken_t *token, size_t *cntp);

/** Returns when the token was created, in milliseconds since 1970; -1 for NULL. */
RD_EXPORT int64_t rd_kafka_DelegationToken_issue_timestamp(const rd_kafka_DelegationToken_t *token);

/** Returns when the token ends unless it is renewed, in milliseconds since 1970; -1 for NULL. */
RD_EXPORT int64_t rd_kafka_DelegationToken_expiry_timestamp(const rd_kafka_DelegationToken_t *token);

/** Returns when the token ends in any case, in milliseconds since 1970; -1 for NULL. */
RD_EXPORT int64_t rd_kafka_DelegationToken_max_timestamp(const rd_kafka_DelegationToken_t *token);

/**
 * Returns the token's secret: the HMAC with which it is renewed and expired. Its Base64 text is the
 * password of clients that authenticate with the token, by SCRAM with the extension `tokenauth`
 * (KIP-48), which Java's client sends and this one does not. It is never logged, and is overwritten
 * when the event is destroyed.
 *
 * @param sizep  Receives its size.
 *
 * @return Bytes that belong to the token; NULL for NULL.
 */
RD_EXPORT const void *rd_kafka_DelegationToken_hmac(const rd_kafka_DelegationToken_t *token,
                                                    size_t *sizep);

/**
 * Creates a token to create.
 *
 * @param owner            The owner, copied; NULL for the client's own principal. Another owner
 *                         requires Kafka 3.3 (KIP-373).
 * @param renewers         The principals besides the owner that may renew and expire the token,
 *                         copied. Brokers accept those of type "User".
 * @param renewer_cnt      Their number.
 * @param max_lifetime_ms  The time after which the token cannot be renewed, at most the broker's
 *                         `delegation.token.max.lifetime.ms`; -1 for that.
 *
 * @return The caller frees it with rd_kafka_NewDelegationToken_destroy(). NULL: a renewer is NULL
 *         or no principal.
 */
RD_EXPORT rd_kafka_NewDelegationToken_t *rd_kafka_NewDelegationToken_new(const rd_kafka_Principal_t *owner,
                                                                         rd_kafka_Principal_t **renewers,
                                                                         size_t renewer_cnt,
                                                                         int64_t max_lifetime_ms);

/** Frees a token to create; NULL is allowed. */
RD_EXPORT void rd_kafka_NewDelegationToken_destroy(rd_kafka_NewDelegationToken_t *token);

/**
 * Creates a delegation token, at any broker. As the other operations on tokens it requires a client
 * that is authenticated by SASL or by a TLS certificate, and not by a token:
 * RD_KAFKA_RESP_ERR_DELEGATION_TOKEN_REQUEST_NOT_ALLOWED otherwise.
 * RD_KAFKA_RESP_ERR_DELEGATION_TOKEN_AUTH_DISABLED: the brokers have no
 * `delegation.token.secret.key`.
 *
 * @param token    The token.
 * @param options  May be NULL.
 * @param rkqu     Receives the result, RD_KAFKA_EVENT_CREATEDELEGATIONTOKEN_RESULT.
 *
 * The call fails with RD_KAFKA_RESP_ERR__INVALID_ARG if `token` is NULL, and for principals without
 * type or name. Further errors: RD_KAFKA_RESP_ERR_INVALID_PRINCIPAL_TYPE for a renewer that is no
 * user, RD_KAFKA_RESP_ERR_DELEGATION_TOKEN_AUTHORIZATION_FAILED for an owner for whom the client
 * may not create tokens. A request whose response was lost is not repeated.
 *
 * Brokers learn of a new or changed token after a moment. Until then they do not describe it, and its
 * renewal fails with RD_KAFKA_RESP_ERR_DELEGATION_TOKEN_NOT_FOUND.
 */
RD_EXPORT void rd_kafka_CreateDelegationToken(rd_kafka_t *rk,
                                              const rd_kafka_NewDelegationToken_t *token,
                                              const rd_kafka_AdminOptions_t *options,
                                              rd_kafka_queue_t *rkqu);

/** Returns the event as the result of CreateDelegationToken; NULL for other events. */
RD_EXPORT const rd_kafka_CreateDelegationToken_result_t *
rd_kafka_event_CreateDelegationToken_result(rd_kafka_event_t *rkev);

/** Returns the token, which belongs to the result; NULL if the call failed. */
RD_EXPORT const rd_kafka_DelegationToken_t *
rd_kafka_CreateDelegationToken_result_token(const rd_kafka_CreateDelegationToken_result_t *result);

/**
 * Moves the end of a delegation token, as its owner or a renewer, at any broker.
 *
 * @param hmac             The token's secret, copied.
 * @param hmac_size        Its size.
 * @param renew_period_ms  The time from now to the new end, at most the broker's
 *                         `delegation.token.expiry.time.ms`; -1 for that. The token's longest
 *                         lifetime is a limit as well.
 * @param options          May be NULL.
 * @param rkqu             Receives the result, RD_KAFKA_EVENT_RENEWDELEGATIONTOKEN_RESULT.
 *
 * The call fails with RD_KAFKA_RESP_ERR__INVALID_ARG if the secret is NULL or empty. Further errors
 * besides those of rd_kafka_CreateDelegationToken(): RD_KAFKA_RESP_ERR_DELEGATION_TOKEN_NOT_FOUND,
 * RD_KAFKA_RESP_ERR_DELEGATION_TOKEN_OWNER_MISMATCH, RD_KAFKA_RESP_ERR_DELEGATION_TOKEN_EXPIRED.
 */
RD_EXPORT void rd_kafka_RenewDelegationToken(rd_kafka_t *rk,
                                             const void *hmac,
                                             size_t hmac_size,
                                             int64_t renew_period_ms,
                                             const rd_kafka_AdminOptions_t *options,
                                             rd_kafka_queue_t *rkqu);

/** Returns the event as the result of RenewDelegationToken; NULL for other events. */
RD_EXPORT const rd_kafka_RenewDelegationToken_result_t *
rd_kafka_event_RenewDelegationToken_result(rd_kafka_event_t *rkev);

/** Returns the new end of the token, in milliseconds since 1970; -1 if the call failed. */
RD_EXPORT int64_t rd_kafka_RenewDelegationToken_result_expiry_timestamp(
    const rd_kafka_RenewDelegationToken_result_t *result);

/**
 * Ends a delegation token, as its owner or a renewer, at any broker.
 *
 * @param hmac              The token's secret, copied.
 * @param hmac_size         Its size.
 * @param expiry_period_ms  The time from now to the new end; negative removes the token at once.
 * @param options           May be NULL.
 * @param rkqu              Receives the result, RD_KAFKA_EVENT_EXPIREDELEGATIONTOKEN_RESULT.
 *
 * Errors are those of rd_kafka_RenewDelegationToken(). A request that removes the token and whose
 * response was lost is not repeated.
 */
RD_EXPORT void rd_kafka_ExpireDelegationToken(rd_kafka_t *rk,
                                              const void *hmac,
                                              size_t hmac_size,
                                              int64_t expiry_period_ms,
                                              const rd_kafka_AdminOptions_t *options,
                                              rd_kafka_queue_t *rkqu);

/** Returns the event as the result of ExpireDelegationToken; NULL for other events. */
RD_EXPORT const rd_kafka_ExpireDelegationToken_result_t *
rd_kafka_event_ExpireDelegationToken_result(rd_kafka_event_t *rkev);

/** Returns the new end of the token, in milliseconds since 1970; -1 if the call failed. */
RD_EXPORT int64_t rd_kafka_ExpireDelegationToken_result_expiry_timestamp(
    const rd_kafka_ExpireDelegationToken_result_t *result);

/**
 * Describes delegation tokens with their secrets, at any broker: those that the client's principal
 * owns, has created or may renew, and others that it has the permission to describe.
 *
 * @param owners     Principals: only tokens that one of them owns, has created or may renew are
 *                   described; NULL for all.
 * @param owner_cnt  Their number; 0 without NULL describes no token.
 * @param options    May be NULL.
 * @param rkqu       Receives the result, RD_KAFKA_EVENT_DESCRIBEDELEGATIONTOKEN_RESULT.
 *
 * The call fails with RD_KAFKA_RESP_ERR__INVALID_ARG for a principal that is NULL or has no type or
 * name.
 */
RD_EXPORT void rd_kafka_DescribeDelegationToken(rd_kafka_t *rk,
                                                rd_kafka_Principal_t **owners,
                                                size_t owner_cnt,
                                                const rd_kafka_AdminOptions_t *options,
                                                rd_kafka_queue_t *rkqu);

/** Returns the event as the result of DescribeDelegationToken; NULL for other events. */
RD_EXPORT const rd_kafka_DescribeDelegationToken_result_t *
rd_kafka_event_DescribeDelegationToken_result(rd_kafka_event_t *rkev);

/**
 * Returns the tokens, sorted by id.
 *
 * @param cntp  Receives their number.
 *
 * @return An array that belongs to the result; NULL if it is empty or the call failed.
 */
RD_EXPORT const rd_kafka_DelegationToken_t **
rd_kafka_DescribeDelegationToken_result_tokens(const rd_kafka_DescribeDelegationToken_result_t *result,
                                               size_t *cntp);

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
 * Each group has its error: RD_KAFKA_RESP_ERR__TIMED_OUT, RD_KAFKA_RESP_ERR__UNSUPPORTED_FEATURE
 * before Kafka 4.1, or another error of the broker. Kafka 4.3 gives no error for a group that does
 * not exist or has another type: such a group has no start offsets. Each
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
 * Each group has its error: RD_KAFKA_RESP_ERR_NON_EMPTY_GROUP while it has members,
 * RD_KAFKA_RESP_ERR_GROUP_ID_NOT_FOUND for a group that does not exist or has another type, and those
 * of rd_kafka_ListShareGroupOffsets(). Each topic has its own: RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART if
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
