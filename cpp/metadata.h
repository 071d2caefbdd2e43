/* Metadata. */

#ifndef OTTLA_CPP_METADATA_H
#define OTTLA_CPP_METADATA_H

#include <rdkafka.h>
#include <rdkafkacpp.h>

namespace ottla {

/** An answer of the C library as an object. Takes `answer` over. */
RdKafka::Metadata *metadata_of(const struct rd_kafka_metadata *answer);

}  // namespace ottla

#endif /* OTTLA_CPP_METADATA_H */
