/*
 * Functions that the C library does not have yet.
 *
 * The C++ interface has methods for services whose C functions librdkafka.so.1 lacks. This file
 * declares these functions as weak references: the address of such a function is NULL, and its
 * method returns unavailable(), until the C library exports it. A function that rdkafka.h declares
 * must not be declared here; `cargo xtask header` checks that.
 */

#ifndef OTTLA_CPP_UNAVAILABLE_H
#define OTTLA_CPP_UNAVAILABLE_H

#include <string>

#include <rdkafka.h>
#include <rdkafkacpp.h>

#define OTTLA_WEAK __attribute__((__weak__))

extern "C" {

OTTLA_WEAK void rd_kafka_conf_enable_sasl_queue(rd_kafka_conf_t *conf, int enable);
OTTLA_WEAK rd_kafka_queue_t *rd_kafka_queue_get_sasl(rd_kafka_t *rk);
OTTLA_WEAK rd_kafka_error_t *rd_kafka_sasl_background_callbacks_enable(rd_kafka_t *rk);
OTTLA_WEAK rd_kafka_error_t *
rd_kafka_sasl_set_credentials(rd_kafka_t *rk, const char *username, const char *password);
}

namespace ottla {

/** Returns ERR__NOT_IMPLEMENTED with a text that names the service. The caller owns the error. */
RdKafka::Error *unavailable(const char *service);

/** Returns ERR__NOT_IMPLEMENTED, and writes a text that names the service to `errstr`. */
RdKafka::ErrorCode unavailable(const char *service, std::string &errstr);

}  // namespace ottla

#endif /* OTTLA_CPP_UNAVAILABLE_H */
