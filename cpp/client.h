/* The state that a client keeps besides the C library's handle; callbacks find their objects there. */

#ifndef OTTLA_CPP_CLIENT_H
#define OTTLA_CPP_CLIENT_H

#include <memory>

#include <rdkafka.h>
#include <rdkafkacpp.h>

#include "conf.h"
#include "partition.h"
#include "topic.h"

namespace ottla {

/** A client's opaque in the C library. */
struct Client {
        Callbacks callbacks;
        Topics topics;
        /** The object that the application has; set before the C library can call back. */
        RdKafka::Handle *handle = nullptr;
        /** The same, if it is a KafkaConsumer. */
        RdKafka::KafkaConsumer *consumer = nullptr;

        /** Creates the C library's client, whose callbacks then come here; NULL with `errstr`. */
        rd_kafka_t *open(rd_kafka_type_t type, const RdKafka::Conf *conf, std::string &errstr);
};

/** The client of a handle of the C library. */
inline Client *client_of(const rd_kafka_t *rk) {
        return static_cast<Client *>(rd_kafka_opaque(rk));
}

/** Calls an OffsetCommitCb; a callback of the C library. */
void offset_commit_to(rd_kafka_t *rk,
                      rd_kafka_resp_err_t err,
                      rd_kafka_topic_partition_list_t *offsets,
                      void *offset_commit_cb);

}  // namespace ottla

#endif /* OTTLA_CPP_CLIENT_H */
