/*
 * Ottla: an Apache Kafka client.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * rdkafka_mock.h: mock clusters, brokers inside the process for demos and tests.
 *
 * docs/TESTING.md has a complete test. There are two ways to get one:
 *
 * - The property `test.mock.num.brokers` of a client: the client starts that number of brokers and
 *   takes them as its `bootstrap.servers`. They end with the client.
 *   rd_kafka_handle_mock_cluster() returns the cluster.
 *
 *      rd_kafka_conf_set(conf, "test.mock.num.brokers", "3", errstr, sizeof(errstr));
 *      rk = rd_kafka_new(RD_KAFKA_PRODUCER, conf, errstr, sizeof(errstr));
 *
 * - rd_kafka_mock_cluster_new(), for a cluster that is created and destroyed by the program, beside
 *   the clients that use it. The `bootstrap.servers` of those clients is
 *   rd_kafka_mock_cluster_bootstraps().
 *
 * The brokers listen on ports of 127.0.0.1 that the system chooses. Any Kafka client of this
 * machine can use them. They serve producers with idempotence and transactions, consumers and groups
 * of both protocols, and admin requests, and answer with the errors of Kafka 4. Topics come into
 * being when they are first used, with 4 partitions and up to 3 replicas. Records are in memory.
 * Unlike those of Kafka, the group coordinators of `test.mock.num.brokers` do not delay the first
 * rebalance of a group.
 *
 * Conventions of all functions:
 *
 * - Thread-safety: every function may be called from any thread at any time, except for the
 *   destruction of an object that another thread uses, and the functions of one request or target
 *   assignment. A change applies to requests that arrive after the function has returned. With
 *   `debug=mock`, `log_cb` is called while a cluster serves a request, and must not call them.
 * - Errors: NULL and wrong handles are refused with RD_KAFKA_RESP_ERR__INVALID_ARG. A function that
 *   returns no error code sets rd_kafka_last_error(). RD_KAFKA_RESP_ERR__DESTROY: the client of
 *   `test.mock.num.brokers` was destroyed by another thread meanwhile. In a forked child the clusters
 *   of the parent are refused with RD_KAFKA_RESP_ERR__STATE. The comments of the functions name
 *   further errors.
 * - Ownership: arguments are copied.
 * - An unknown broker is RD_KAFKA_RESP_ERR_BROKER_NOT_AVAILABLE unless the comment names another
 *   error. Broker ids begin with 1. Where the comment says so, -1 means all brokers.
 * - ApiKey is the number of a request in Kafka's protocol: 0 for Produce, 1 for Fetch.
 */

#ifndef _RDKAFKA_MOCK_H_
#define _RDKAFKA_MOCK_H_

#include "rdkafka.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ==========================================================================
 *  TYPES
 * ========================================================================== */

/** A mock cluster. */
typedef struct rd_kafka_mock_cluster_s rd_kafka_mock_cluster_t;

/** A request that a mock cluster received. */
typedef struct rd_kafka_mock_request_s rd_kafka_mock_request_t;

/** The partitions of the members of a group of the consumer protocol (KIP-848). */
typedef struct rd_kafka_mock_cgrp_consumer_target_assignment_s
    rd_kafka_mock_cgrp_consumer_target_assignment_t;

/* ==========================================================================
 *  CLUSTERS
 * ========================================================================== */

/**
 * Starts a cluster, with one thread for all its brokers.
 *
 * Groups have librdkafka's settings: an initial rebalance delay of 3000 ms, and in the consumer
 * protocol a session timeout of 30000 ms and a heartbeat interval of 3000 ms.
 *
 * @param rk          A client, which logs the requests with `debug=mock`. It does not use the
 *                    cluster, and may be destroyed before it.
 * @param broker_cnt  The number of brokers, 1 to 10000. Their ids are 1 to broker_cnt.
 *
 * @return A cluster, which the caller destroys. NULL with rd_kafka_last_error():
 *         RD_KAFKA_RESP_ERR__INVALID_ARG, or _CRIT_SYS_RESOURCE if the system has no port, descriptor
 *         or thread.
 */
RD_EXPORT rd_kafka_mock_cluster_t *rd_kafka_mock_cluster_new(rd_kafka_t *rk, int broker_cnt);

/**
 * Destroys a cluster. Its connections, ports and thread are gone when the function returns. NULL has
 * no effect.
 *
 * The cluster of `test.mock.num.brokers` ends with its client: rd_kafka_last_error() is
 * RD_KAFKA_RESP_ERR__INVALID_ARG, and the cluster continues.
 */
RD_EXPORT void rd_kafka_mock_cluster_destroy(rd_kafka_mock_cluster_t *mcluster);

/**
 * Returns the client that was given to rd_kafka_mock_cluster_new(), or that has the property
 * `test.mock.num.brokers`.
 */
RD_EXPORT rd_kafka_t *rd_kafka_mock_cluster_handle(const rd_kafka_mock_cluster_t *mcluster);

/**
 * Returns the cluster of a client's property `test.mock.num.brokers`, NULL without it. The client
 * owns it.
 */
RD_EXPORT rd_kafka_mock_cluster_t *rd_kafka_handle_mock_cluster(const rd_kafka_t *rk);

/**
 * Returns the addresses of all brokers, up or down: `host:port`, separated by commas. The text is
 * valid until the cluster is destroyed. Brokers that are added or removed later change the result of
 * later calls only.
 */
RD_EXPORT const char *rd_kafka_mock_cluster_bootstraps(const rd_kafka_mock_cluster_t *mcluster);

/* ==========================================================================
 *  ERRORS OF REQUESTS
 *
 *  Errors are in stacks that are first in, first out: one for each API of each broker, of the
 *  cluster, and of each partition. A request takes one error: of its broker's stack, if that is
 *  empty, of the cluster's. A request that passes both takes an error of each of its partitions.
 *
 *  RD_KAFKA_RESP_ERR_NO_ERROR lets a request or a partition pass. RD_KAFKA_RESP_ERR__TRANSPORT closes the connection
 *  without an answer. A request that takes another error is not served, and all its topics and
 *  partitions, or the response as a whole, have the error. The exception is
 *  RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS_AFTER_APPEND for Produce: the records are written, as by
 *  Kafka. Other local errors (below -1) become RD_KAFKA_RESP_ERR_UNKNOWN.
 *
 *  One call takes up to 1048576 errors; more are refused with RD_KAFKA_RESP_ERR__INVALID_ARG.
 * ========================================================================== */

/** Removes the errors of an API from the cluster's stack. */
RD_EXPORT void rd_kafka_mock_clear_request_errors(rd_kafka_mock_cluster_t *mcluster,
                                                  int16_t ApiKey);

/**
 * Pushes errors of an API on the cluster's stack.
 *
 * @param cnt  The number of the arguments that follow, of type rd_kafka_resp_err_t.
 */
RD_EXPORT void rd_kafka_mock_push_request_errors(rd_kafka_mock_cluster_t *mcluster,
                                                 int16_t ApiKey,
                                                 size_t cnt,
                                                 ...);

/** As rd_kafka_mock_push_request_errors(), with an array. */
RD_EXPORT void rd_kafka_mock_push_request_errors_array(rd_kafka_mock_cluster_t *mcluster,
                                                       int16_t ApiKey,
                                                       size_t cnt,
                                                       const rd_kafka_resp_err_t *errors);

/**
 * Pushes errors of an API with delays on the stack of a broker.
 *
 * @param cnt  The number of pairs of arguments that follow: rd_kafka_resp_err_t, and an int with the
 *             milliseconds by which the response, or the end of the connection, is delayed in
 *             addition to rd_kafka_mock_broker_set_rtt().
 *
 * @return RD_KAFKA_RESP_ERR_NO_ERROR, RD_KAFKA_RESP_ERR__UNKNOWN_BROKER, _INVALID_ARG, or
 *         _CRIT_SYS_RESOURCE without memory.
 */
RD_EXPORT rd_kafka_resp_err_t
rd_kafka_mock_broker_push_request_error_rtts(rd_kafka_mock_cluster_t *mcluster,
                                             int32_t broker_id,
                                             int16_t ApiKey,
                                             size_t cnt,
                                             ...);

/**
 * Counts the errors that are left on the stack of a broker.
 *
 * @param cntp  Receives the number.
 *
 * @return RD_KAFKA_RESP_ERR_NO_ERROR, RD_KAFKA_RESP_ERR__UNKNOWN_BROKER, or _INVALID_ARG.
 */
RD_EXPORT rd_kafka_resp_err_t
rd_kafka_mock_broker_error_stack_cnt(rd_kafka_mock_cluster_t *mcluster,
                                     int32_t broker_id,
                                     int16_t ApiKey,
                                     size_t *cntp);

/**
 * Pushes errors of an API on the stack of a partition. The topic is created with the partitions up to
 * this one unless it exists. The other partitions of a request are served.
 *
 * The API is Produce, Fetch, ListOffsets, Metadata, OffsetCommit, OffsetFetch or TxnOffsetCommit.
 *
 * @param cnt  The number of the arguments that follow, of type rd_kafka_resp_err_t, without
 *             RD_KAFKA_RESP_ERR__TRANSPORT.
 *
 * @return RD_KAFKA_RESP_ERR_NO_ERROR, RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART, _TOPIC_EXCEPTION for an
 *         invalid topic name, RD_KAFKA_RESP_ERR__NOT_IMPLEMENTED for another API, _INVALID_ARG, or
 *         _CRIT_SYS_RESOURCE without memory.
 */
RD_EXPORT rd_kafka_resp_err_t
rd_kafka_mock_partition_push_request_errors(rd_kafka_mock_cluster_t *mcluster,
                                            const char *topic,
                                            int32_t partition,
                                            int16_t ApiKey,
                                            size_t cnt,
                                            ...);

/* ==========================================================================
 *  TOPICS AND PARTITIONS
 *
 *  Functions with a partition, except for rd_kafka_mock_partition_delete_records(), create its topic
 *  unless it exists, with the partitions up to this one. Their errors are
 *  RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART for a partition that the topic does not have, and
 *  RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION for an invalid topic name.
 * ========================================================================== */

/**
 * Sets the error of a topic in Metadata and AddPartitionsToTxn responses. The topic is created with
 * 4 partitions unless it exists. RD_KAFKA_RESP_ERR_NO_ERROR ends the error.
 */
RD_EXPORT void rd_kafka_mock_topic_set_error(rd_kafka_mock_cluster_t *mcluster,
                                             const char *topic,
                                             rd_kafka_resp_err_t err);

/**
 * Creates a topic.
 *
 * @param partition_cnt       The number of partitions, 1 to 100000, or -1 for the default, 4.
 * @param replication_factor  The number of replicas, at least 1, or -1 for the default, 3. A number
 *                            above that of brokers counts as that of brokers.
 *
 * @return RD_KAFKA_RESP_ERR_NO_ERROR, RD_KAFKA_RESP_ERR_TOPIC_ALREADY_EXISTS, or _TOPIC_EXCEPTION for an
 *         invalid name or number.
 */
RD_EXPORT rd_kafka_resp_err_t rd_kafka_mock_topic_create(rd_kafka_mock_cluster_t *mcluster,
                                                         const char *topic,
                                                         int partition_cnt,
                                                         int replication_factor);

/**
 * Deletes a topic with its records and the offsets that groups have committed for it. A new topic of
 * the same name has another id.
 *
 * @return RD_KAFKA_RESP_ERR_NO_ERROR, or RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART.
 */
RD_EXPORT rd_kafka_resp_err_t rd_kafka_mock_topic_delete(rd_kafka_mock_cluster_t *mcluster,
                                                         const char *topic);

/**
 * Deletes the records of a partition before an offset, which becomes the log start offset.
 *
 * @param before_offset  The offset, -1 for the high watermark.
 *
 * @return RD_KAFKA_RESP_ERR_NO_ERROR, RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART, or
 *         RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE for an offset beyond the high watermark.
 */
RD_EXPORT rd_kafka_resp_err_t
rd_kafka_mock_partition_delete_records(rd_kafka_mock_cluster_t *mcluster,
                                       const char *topic,
                                       int32_t partition,
                                       int64_t before_offset);

/**
 * Moves the leadership of a partition to a broker, and raises the leader epoch by 1. The broker
 * becomes a replica if it was none. With -1 the partition has no leader.
 */
RD_EXPORT rd_kafka_resp_err_t rd_kafka_mock_partition_set_leader(rd_kafka_mock_cluster_t *mcluster,
                                                                 const char *topic,
                                                                 int32_t partition,
                                                                 int32_t broker_id);

/**
 * Sets the follower to which the leader sends consumers (preferred read replica, KIP-392), whatever
 * `client.rack` is. The broker need not exist. -1 ends that.
 */
RD_EXPORT rd_kafka_resp_err_t
rd_kafka_mock_partition_set_follower(rd_kafka_mock_cluster_t *mcluster,
                                     const char *topic,
                                     int32_t partition,
                                     int32_t broker_id);

/**
 * Sets the log start offset and the high watermark of the followers of a partition: a consumer that
 * fetches from them gets the records between the two, and RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE
 * outside.
 *
 * @param lo  The log start offset, -1 for the leader's.
 * @param hi  The high watermark, -1 for the leader's.
 *
 * @return Also RD_KAFKA_RESP_ERR__INVALID_ARG for an offset below -1.
 */
RD_EXPORT rd_kafka_resp_err_t
rd_kafka_mock_partition_set_follower_wmarks(rd_kafka_mock_cluster_t *mcluster,
                                            const char *topic,
                                            int32_t partition,
                                            int64_t lo,
                                            int64_t hi);

/**
 * Sets the leader of a partition in the next Metadata response with that partition, as a broker with
 * stale metadata does. Several calls set those of as many responses, in order. The leader itself does
 * not change.
 *
 * @param leader_id     A broker id, which need not exist; -1 for no leader.
 * @param leader_epoch  The leader epoch.
 */
RD_EXPORT rd_kafka_resp_err_t
rd_kafka_mock_partition_push_leader_response(rd_kafka_mock_cluster_t *mcluster,
                                             const char *topic,
                                             int partition,
                                             int32_t leader_id,
                                             int32_t leader_epoch);

/* ==========================================================================
 *  BROKERS
 * ========================================================================== */

/**
 * Takes a broker down: its connections are closed and new ones are refused when the function returns,
 * and Metadata omits it. It stays the leader of its partitions and the coordinator of its groups. Its port
 * stays bound, so that no other program receives it.
 *
 * @param broker_id  -1 for all brokers.
 */
RD_EXPORT rd_kafka_resp_err_t rd_kafka_mock_broker_set_down(rd_kafka_mock_cluster_t *mcluster,
                                                            int32_t broker_id);

/**
 * Brings a broker up again, on the same port, unless another program has bound just that port meanwhile.
 *
 * @param broker_id  -1 for all brokers.
 */
RD_EXPORT rd_kafka_resp_err_t rd_kafka_mock_broker_set_up(rd_kafka_mock_cluster_t *mcluster,
                                                          int32_t broker_id);

/**
 * Sets the address of a broker in Metadata and FindCoordinator responses. The broker listens where it
 * did before.
 *
 * @param broker_id  -1 for all brokers.
 * @param port       0 to 65535, else RD_KAFKA_RESP_ERR__INVALID_ARG in rd_kafka_last_error().
 */
RD_EXPORT void rd_kafka_mock_broker_set_host_port(rd_kafka_mock_cluster_t *mcluster,
                                                  int32_t broker_id,
                                                  const char *host,
                                                  int port);

/**
 * Delays the responses of a broker.
 *
 * @param broker_id  -1 for all brokers.
 * @param rtt_ms     Milliseconds, 0 for none. RD_KAFKA_RESP_ERR__INVALID_ARG below 0.
 */
RD_EXPORT rd_kafka_resp_err_t rd_kafka_mock_broker_set_rtt(rd_kafka_mock_cluster_t *mcluster,
                                                           int32_t broker_id,
                                                           int rtt_ms);

/**
 * Sets the rack of a broker in Metadata.
 *
 * @param broker_id  -1 for all brokers.
 * @param rack       NULL for none.
 */
RD_EXPORT rd_kafka_resp_err_t rd_kafka_mock_broker_set_rack(rd_kafka_mock_cluster_t *mcluster,
                                                            int32_t broker_id,
                                                            const char *rack);

/**
 * Removes a broker from the cluster for good. Its connections and its port are closed when the
 * function returns. The replicas of all partitions are spread over the brokers that are left; records
 * stay.
 */
RD_EXPORT rd_kafka_resp_err_t rd_kafka_mock_broker_decommission(rd_kafka_mock_cluster_t *cluster,
                                                                int32_t broker_id);

/**
 * Omits a broker from Metadata for good, as one that the controller has fenced. It serves its
 * connections as before.
 */
RD_EXPORT rd_kafka_resp_err_t
rd_kafka_mock_broker_remove_from_metadata(rd_kafka_mock_cluster_t *mcluster, int32_t broker_id);

/**
 * Adds a broker, which is up and listens when the function returns. The replicas of all partitions
 * are spread over all brokers.
 *
 * @param broker_id  0 to 16777214. The id of a broker that was decommissioned may be used again.
 *
 * @return RD_KAFKA_RESP_ERR_NO_ERROR, RD_KAFKA_RESP_ERR__INVALID_ARG for an id that is taken or outside
 *         of the range, or _CRIT_SYS_RESOURCE if the system has no port.
 */
RD_EXPORT rd_kafka_resp_err_t rd_kafka_mock_broker_add(rd_kafka_mock_cluster_t *mcluster,
                                                       int32_t broker_id);

/**
 * Sets the controller. It is broker 1 at first. An id without a broker leaves the cluster without a
 * controller: Metadata has that id, and requests for the controller fail.
 */
RD_EXPORT void rd_kafka_mock_set_controller_id(rd_kafka_mock_cluster_t *mcluster,
                                               int32_t controller_id);

/* ==========================================================================
 *  COORDINATORS, VERSIONS, TIMEOUTS
 * ========================================================================== */

/**
 * Sets the coordinator of a group or a transactional id. Without it the coordinators are spread over
 * the brokers by a hash of the key.
 *
 * @param key_type   "group" or "transaction", else RD_KAFKA_RESP_ERR__INVALID_ARG.
 * @param key        The `group.id` or `transactional.id`.
 * @param broker_id  The broker. With the id of none FindCoordinator fails with
 *                   RD_KAFKA_RESP_ERR_COORDINATOR_NOT_AVAILABLE.
 */
RD_EXPORT rd_kafka_resp_err_t rd_kafka_mock_coordinator_set(rd_kafka_mock_cluster_t *mcluster,
                                                            const char *key_type,
                                                            const char *key,
                                                            int32_t broker_id);

/**
 * Sets the versions of an API that the brokers serve and advertise to later connections, as far as
 * they have them.
 *
 * @param MinVersion  The oldest version; -1 together with MaxVersion for an API that brokers do not
 *                    have.
 * @param MaxVersion  The latest version.
 *
 * @return RD_KAFKA_RESP_ERR_NO_ERROR, or RD_KAFKA_RESP_ERR__INVALID_ARG for a range that is none and for
 *         an ApiKey that no client sends.
 */
RD_EXPORT rd_kafka_resp_err_t rd_kafka_mock_set_apiversion(rd_kafka_mock_cluster_t *mcluster,
                                                           int16_t ApiKey,
                                                           int16_t MinVersion,
                                                           int16_t MaxVersion);

/**
 * Sets how long coordinators wait for members before the first rebalance of a classic group
 * (`group.initial.rebalance.delay.ms`).
 *
 * @param delay_ms  Milliseconds, at least 0.
 */
RD_EXPORT void rd_kafka_mock_group_initial_rebalance_delay_ms(rd_kafka_mock_cluster_t *mcluster,
                                                              int32_t delay_ms);

/* ==========================================================================
 *  THE LOG OF REQUESTS
 *
 *  The log has up to a million entries.
 * ========================================================================== */

/** Empties the log of requests, and starts it. */
RD_EXPORT void rd_kafka_mock_start_request_tracking(rd_kafka_mock_cluster_t *mcluster);

/** Stops the log of requests. The requests that it has stay. */
RD_EXPORT void rd_kafka_mock_stop_request_tracking(rd_kafka_mock_cluster_t *mcluster);

/** Frees a request. NULL has no effect. */
RD_EXPORT void rd_kafka_mock_request_destroy(rd_kafka_mock_request_t *mreq);

/** Frees an array of rd_kafka_mock_get_requests() and its requests. NULL has no effect. */
RD_EXPORT void rd_kafka_mock_request_destroy_array(rd_kafka_mock_request_t **mreqs,
                                                   size_t mreq_cnt);

/** Returns the broker that received a request. */
RD_EXPORT int32_t rd_kafka_mock_request_id(rd_kafka_mock_request_t *mreq);

/** Returns the API of a request. */
RD_EXPORT int16_t rd_kafka_mock_request_api_key(rd_kafka_mock_request_t *mreq);

/** Returns when a request arrived: microseconds of the system's monotonic clock. */
RD_EXPORT int64_t rd_kafka_mock_request_timestamp(rd_kafka_mock_request_t *mreq);

/**
 * Returns copies of the requests in the log, in the order of their arrival. Requests that took an
 * error are among them.
 *
 * @param cntp  Receives their number.
 *
 * @return An array, which the caller frees with rd_kafka_mock_request_destroy_array(), or with free()
 *         after rd_kafka_mock_request_destroy() for each request. NULL if there is no request.
 */
RD_EXPORT rd_kafka_mock_request_t **
rd_kafka_mock_get_requests(rd_kafka_mock_cluster_t *mcluster, size_t *cntp);

/** Removes the requests from the log, which continues if it was started. */
RD_EXPORT void rd_kafka_mock_clear_requests(rd_kafka_mock_cluster_t *mcluster);

/* ==========================================================================
 *  CLIENT METRICS (KIP-714)
 *
 *  The brokers offer the telemetry APIs after the first call of one of these functions, to
 *  connections that are opened later.
 * ========================================================================== */

/**
 * Sets the metrics that the brokers request from clients.
 *
 * @param metrics      Prefixes of names; an empty string for all metrics. NULL for none.
 * @param metrics_cnt  Their number.
 */
RD_EXPORT rd_kafka_resp_err_t
rd_kafka_mock_telemetry_set_requested_metrics(rd_kafka_mock_cluster_t *mcluster,
                                              char **metrics,
                                              size_t metrics_cnt);

/**
 * Sets the interval between two pushes of a client. The default is 300000.
 *
 * @param push_interval_ms  Milliseconds, 1 to 2147483647, else RD_KAFKA_RESP_ERR__INVALID_ARG.
 */
RD_EXPORT rd_kafka_resp_err_t
rd_kafka_mock_telemetry_set_push_interval(rd_kafka_mock_cluster_t *mcluster,
                                          int64_t push_interval_ms);

/* ==========================================================================
 *  GROUPS OF THE CONSUMER PROTOCOL (KIP-848)
 * ========================================================================== */

/**
 * Returns a target assignment.
 *
 * @param member_ids  The members, see rd_kafka_memberid().
 * @param member_cnt  Their number.
 * @param assignment  The partitions of each member. Offsets are not used.
 *
 * @return An object that the caller destroys; NULL if an argument is invalid.
 */
RD_EXPORT rd_kafka_mock_cgrp_consumer_target_assignment_t *
rd_kafka_mock_cgrp_consumer_target_assignment_new(char **member_ids,
                                                  int member_cnt,
                                                  rd_kafka_topic_partition_list_t **assignment);

/** Frees a target assignment. NULL has no effect. */
RD_EXPORT void rd_kafka_mock_cgrp_consumer_target_assignment_destroy(
    rd_kafka_mock_cgrp_consumer_target_assignment_t *target_assignment);

/**
 * Sets the target assignment of a group in place of its assignor's, from the next heartbeat of a
 * member on. A member without an entry gets no partition. Partitions that do not exist or to which
 * the member is not subscribed are left out. A member gets a partition of another member after that
 * one has revoked it.
 *
 * @param target_assignment  Copied. NULL returns to the assignor.
 */
RD_EXPORT void rd_kafka_mock_cgrp_consumer_target_assignment(
    rd_kafka_mock_cluster_t *mcluster,
    const char *group_id,
    rd_kafka_mock_cgrp_consumer_target_assignment_t *target_assignment);

/**
 * Sets the session timeout of members (`group.consumer.session.timeout.ms`), for each from its next
 * heartbeat on.
 *
 * @param group_consumer_session_timeout_ms  Milliseconds, at least 1.
 */
RD_EXPORT void
rd_kafka_mock_set_group_consumer_session_timeout_ms(rd_kafka_mock_cluster_t *mcluster,
                                                    int group_consumer_session_timeout_ms);

/**
 * Sets the heartbeat interval of members (`group.consumer.heartbeat.interval.ms`), which they receive
 * with their next heartbeat.
 *
 * @param group_consumer_heartbeat_interval_ms  Milliseconds, at least 1.
 */
RD_EXPORT void
rd_kafka_mock_set_group_consumer_heartbeat_interval_ms(rd_kafka_mock_cluster_t *mcluster,
                                                       int group_consumer_heartbeat_interval_ms);

/* ==========================================================================
 *  SHARE GROUPS (KIP-932)
 *
 *  The brokers serve share groups as those of Kafka 4.3 do. Settings apply to all groups, from the next
 *  request on; record locks and sessions that have begun keep their ends. The settings of one group,
 *  which IncrementalAlterConfigs changes, take precedence.
 *
 *  Numbers are at least 1, unless the comment says otherwise; other values are refused with
 *  RD_KAFKA_RESP_ERR__INVALID_ARG in rd_kafka_last_error(). Defaults are those of Kafka's brokers.
 * ========================================================================== */

/** Sets the session timeout of members in milliseconds. The default is 45000. */
RD_EXPORT void
rd_kafka_mock_sharegroup_set_session_timeout(rd_kafka_mock_cluster_t *mcluster,
                                             int session_timeout_ms);

/** Sets the heartbeat interval of members in milliseconds. The default is 5000. */
RD_EXPORT void
rd_kafka_mock_sharegroup_set_heartbeat_interval(rd_kafka_mock_cluster_t *mcluster,
                                                int heartbeat_interval_ms);

/** Sets how often a record is delivered before it is archived. The default is 5. */
RD_EXPORT void
rd_kafka_mock_sharegroup_set_max_delivery_attempts(rd_kafka_mock_cluster_t *mcluster,
                                                   int max_attempts);

/**
 * Sets the time in milliseconds after which a record that was not acknowledged is available again.
 * The default is 30000.
 */
RD_EXPORT void
rd_kafka_mock_sharegroup_set_record_lock_duration(rd_kafka_mock_cluster_t *mcluster,
                                                  int lock_duration_ms);

/** Sets the isolation level: 0 read uncommitted, the default, 1 read committed. */
RD_EXPORT void rd_kafka_mock_sharegroup_set_isolation_level(rd_kafka_mock_cluster_t *mcluster,
                                                            int level);

/** Sets the maximum number of members of a group. The default is 200. */
RD_EXPORT void rd_kafka_mock_sharegroup_set_max_size(rd_kafka_mock_cluster_t *mcluster,
                                                     int max_size);

/** Sets the maximum number of share sessions of a broker. The default is 2000. */
RD_EXPORT void
rd_kafka_mock_sharegroup_set_max_fetch_sessions(rd_kafka_mock_cluster_t *mcluster,
                                                int max_fetch_sessions);

/** Sets the maximum number of records of a partition that are acquired. The default is 2000. */
RD_EXPORT void
rd_kafka_mock_sharegroup_set_max_record_locks(rd_kafka_mock_cluster_t *mcluster,
                                              int max_record_locks);

/** Sets where a new group begins: 0 at the end of the log, the default, 1 at its start. */
RD_EXPORT void
rd_kafka_mock_sharegroup_set_auto_offset_reset(rd_kafka_mock_cluster_t *mcluster,
                                               int auto_offset_reset);

/**
 * Sets the target assignment of a share group in place of its assignor's. Members that are not named
 * get no partition. Topics and partitions that do not exist are left out. Applies with the next
 * heartbeat of each member, also to a group that is created later.
 *
 * @param member_ids   The ids of the members.
 * @param assignments  The partitions of each member, in the same order. Offsets are ignored.
 * @param member_cnt   The number of members; with 0 the group returns to its assignor.
 *
 * rd_kafka_last_error(): RD_KAFKA_RESP_ERR__INVALID_ARG for an array, id or list that is NULL.
 */
RD_EXPORT void
rd_kafka_mock_sharegroup_target_assignment(rd_kafka_mock_cluster_t *mcluster,
                                           const char *group_id,
                                           const char **member_ids,
                                           rd_kafka_topic_partition_list_t **assignments,
                                           size_t member_cnt);

/**
 * Returns the members of a share group, by ascending id.
 *
 * @param member_ids_out  Receives an array of texts. The caller frees each text and the array with
 *                        free(). NULL for a group without members and for errors.
 * @param member_cnt_out  Receives the number of members.
 *
 * @return RD_KAFKA_RESP_ERR_GROUP_ID_NOT_FOUND if there is no share group with this id,
 *         RD_KAFKA_RESP_ERR__INVALID_ARG for NULL, RD_KAFKA_RESP_ERR__CRIT_SYS_RESOURCE without memory.
 */
RD_EXPORT rd_kafka_resp_err_t
rd_kafka_mock_sharegroup_get_member_ids(rd_kafka_mock_cluster_t *mcluster,
                                        const char *group_id,
                                        char ***member_ids_out,
                                        size_t *member_cnt_out);

#ifdef __cplusplus
}
#endif

#endif /* _RDKAFKA_MOCK_H_ */
