/* Topic, and what the C library carries for each topic of a client. */

#ifndef OTTLA_CPP_TOPIC_H
#define OTTLA_CPP_TOPIC_H

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include <rdkafka.h>
#include <rdkafkacpp.h>

namespace ottla {

/** The partitioners of a topic configuration. */
struct Partitioners {
        RdKafka::PartitionerCb *plain = nullptr;
        RdKafka::PartitionerKeyPointerCb *key_pointer = nullptr;

        /** Has the topics of a C configuration call them; their opaque must be a TopicContext. */
        void install(rd_kafka_topic_conf_t *conf) const;
};

/** A topic's opaque in the C library. Lives as long as the client. */
struct TopicContext {
        /** The application's object, while there is one. */
        std::atomic<RdKafka::Topic *> object{nullptr};
        Partitioners partitioners;
};

/** The topics of a client. */
class Topics {
       public:
        /** For topics that the application has made no object for. */
        TopicContext others;

        /** See RdKafka::Topic::create(). */
        RdKafka::Topic *create(rd_kafka_t *rk,
                               const std::string &name,
                               const RdKafka::Conf *conf,
                               std::string &errstr);

       private:
        std::mutex lock_;
        std::map<std::string, std::unique_ptr<TopicContext>> contexts_;
};

/** The application's object for a topic; NULL if there is none. */
RdKafka::Topic *topic_object(const rd_kafka_topic_t *rkt);

}  // namespace ottla

#endif /* OTTLA_CPP_TOPIC_H */
