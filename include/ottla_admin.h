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
 * read-committed consumers do not get beyond it. A transaction that a coordinator knows of is ended
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
 * password of clients that authenticate with the token. It is never logged, and is overwritten when
 * the event is destroyed.
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
 * owns or may renew, and others that it has the permission to describe.
 *
 * @param owners     Owners whose tokens are described; NULL for all.
 * @param owner_cnt  Their number; 0 without NULL describes no token.
 * @param options    May be NULL.
 * @param rkqu       Receives the result, RD_KAFKA_EVENT_DESCRIBEDELEGATIONTOKEN_RESULT.
 *
 * The call fails with RD_KAFKA_RESP_ERR__INVALID_ARG for an owner that is NULL or has no type or
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

#ifdef __cplusplus
}
#endif

#endif /* _OTTLA_ADMIN_H_ */
