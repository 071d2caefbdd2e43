/*
 * Ottla: an Apache Kafka client.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * ottla.h: functions in addition to those of rdkafka.h. librdkafka does not have them, so a
 * program that calls them cannot be linked with librdkafka.
 */

#ifndef _OTTLA_H_
#define _OTTLA_H_

#include "rdkafka.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Replaces certificates of a running client with certificates from memory.
 *
 * Certificates in files need no call: the client renews them, see
 * `ssl.certificate.refresh.interval.ms`.
 *
 * `conf` holds the new certificates, set with rd_kafka_conf_set_ssl_cert(): the client's
 * certificate and private key (always both), certificates of authorities, or all of these. Its
 * other properties are ignored. The caller keeps ownership of `conf`.
 *
 * New connections use the new certificates. Open connections keep the old ones. With
 * `ssl.certificate.refresh.reconnect.ms`, open connections are replaced within that time, each when
 * no request is in flight on it. Files that the client's properties name for the same purpose are
 * no longer read.
 *
 * @return NULL on success, otherwise an error that the caller must free with
 *         rd_kafka_error_destroy():
 *         RD_KAFKA_RESP_ERR__INVALID_ARG: `conf` holds no certificate, or a certificate without its
 *         key, or a key without its certificate, or a key that does not belong to the certificate.
 *         The client's certificates stay as they are.
 *         RD_KAFKA_RESP_ERR__NOT_CONFIGURED: the client does not use TLS.
 *
 * Thread-safe.
 */
RD_EXPORT rd_kafka_error_t *rd_kafka_ssl_certs_replace(rd_kafka_t *rk, const rd_kafka_conf_t *conf);

#ifdef __cplusplus
}
#endif

#endif /* _OTTLA_H_ */
