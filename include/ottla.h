/*
 * Ottla: an Apache Kafka client.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * ottla.h: functions that librdkafka does not have. A program that uses them does not link with
 * librdkafka.
 */

#ifndef _OTTLA_H_
#define _OTTLA_H_

#include "rdkafka.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Replaces certificates of a running client, for programs that hold them in memory. (Certificates
 * in files are renewed without a call, see `ssl.certificate.refresh.interval.ms`.)
 *
 * `conf` holds the new ones, from rd_kafka_conf_set_ssl_cert(): the client's certificate and
 * private key, which are replaced together, or certificates of authorities, or both. It remains
 * the caller's; nothing else in it matters.
 *
 * Connections that are opened from now on use them. Open connections stay as they are; with
 * `ssl.certificate.refresh.reconnect.ms` they are replaced within that time, each when no request
 * is in flight on it. Files that the client's properties name for the same purpose are not read
 * any more.
 *
 * @return NULL, or an error, which the caller frees with rd_kafka_error_destroy():
 *         RD_KAFKA_RESP_ERR__INVALID_ARG: `conf` holds no certificate, only one of certificate
 *         and key, or a key that does not belong to the certificate: the client's certificates
 *         stay as they are;
 *         RD_KAFKA_RESP_ERR__NOT_CONFIGURED: the client does not use TLS.
 *
 * Thread-safe.
 */
RD_EXPORT rd_kafka_error_t *rd_kafka_ssl_certs_replace(rd_kafka_t *rk, const rd_kafka_conf_t *conf);

#ifdef __cplusplus
}
#endif

#endif /* _OTTLA_H_ */
