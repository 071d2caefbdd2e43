/* Queue. */

#ifndef OTTLA_CPP_QUEUE_H
#define OTTLA_CPP_QUEUE_H

#include <rdkafka.h>
#include <rdkafkacpp.h>

namespace ottla {

/** Wraps a queue in an object that releases it; returns NULL for NULL. */
RdKafka::Queue *queue_of(rd_kafka_queue_t *queue);

/** The C library's queue of an object; NULL for NULL. */
rd_kafka_queue_t *c_queue(RdKafka::Queue *queue);

}  // namespace ottla

#endif /* OTTLA_CPP_QUEUE_H */
