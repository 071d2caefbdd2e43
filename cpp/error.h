/* Error: a code with a text, from the C library or of the application's own. */

#ifndef OTTLA_CPP_ERROR_H
#define OTTLA_CPP_ERROR_H

#include <rdkafka.h>
#include <rdkafkacpp.h>

namespace ottla {

using RdKafka::ErrorCode;

inline ErrorCode code_of(rd_kafka_resp_err_t err) {
        return static_cast<ErrorCode>(err);
}

/** An error of the C library as an object; NULL for NULL. Takes `error` over. */
RdKafka::Error *error_of(rd_kafka_error_t *error);

/** Its code alone. Takes `error` over. */
ErrorCode code_of(rd_kafka_error_t *error);

}  // namespace ottla

#endif /* OTTLA_CPP_ERROR_H */
