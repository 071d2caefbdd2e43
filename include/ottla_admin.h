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

#ifdef __cplusplus
}
#endif

#endif /* _OTTLA_ADMIN_H_ */
