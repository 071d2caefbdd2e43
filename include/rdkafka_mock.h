/*
 * Ottla: an Apache Kafka client.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * rdkafka_mock.h: the embedded cluster, brokers that run inside a client for demos and tests.
 *
 * No function is needed to start one. Set the property `test.mock.num.brokers` to the number of
 * brokers and create a client: it starts them, on ports of the loopback address that the system
 * chooses, and takes them as its `bootstrap.servers`. They end with the client.
 *
 *      rd_kafka_conf_set(conf, "test.mock.num.brokers", "3", errstr, sizeof(errstr));
 *      rk = rd_kafka_new(RD_KAFKA_PRODUCER, conf, errstr, sizeof(errstr));
 *
 * Other clients, of this or another process, connect to the addresses that rd_kafka_metadata()
 * gives. Topics come into being when they are first used.
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

/** An embedded cluster. */
typedef struct rd_kafka_mock_cluster_s rd_kafka_mock_cluster_t;

/** A request that an embedded cluster received. */
typedef struct rd_kafka_mock_request_s rd_kafka_mock_request_t;

/** Which partitions the members of a group (KIP-848) are to get. */
typedef struct rd_kafka_mock_cgrp_consumer_target_assignment_s
    rd_kafka_mock_cgrp_consumer_target_assignment_t;

#ifdef __cplusplus
}
#endif

#endif /* _RDKAFKA_MOCK_H_ */
