/* Message. */

#ifndef OTTLA_CPP_MESSAGE_H
#define OTTLA_CPP_MESSAGE_H

#include <memory>

#include <rdkafka.h>
#include <rdkafkacpp.h>

#include "headers.h"

namespace ottla {

class MessageImpl : public RdKafka::Message {
       public:
        /** The kind of message, and the owner of the C library's message. */
        enum Kind {
                /** Consumed; this object frees it. */
                CONSUMED,
                /** Consumed, lent to a callback. */
                CONSUMED_LENT,
                /** A delivery report, lent to a callback. */
                DELIVERED_LENT
        };

        MessageImpl(rd_kafka_message_t *message, Kind kind);

        /** No message, but an error of the call that should have returned one. */
        explicit MessageImpl(RdKafka::ErrorCode err, RdKafka::Topic *topic = nullptr);

        ~MessageImpl() override;
        MessageImpl(const MessageImpl &) = delete;
        MessageImpl &operator=(const MessageImpl &) = delete;

        std::string errstr() const override;
        RdKafka::ErrorCode err() const override;
        RdKafka::Topic *topic() const override;
        std::string topic_name() const override;
        int32_t partition() const override;
        void *payload() const override;
        size_t len() const override;
        const std::string *key() const override;
        const void *key_pointer() const override;
        size_t key_len() const override;
        int64_t offset() const override;
        RdKafka::MessageTimestamp timestamp() const override;
        void *msg_opaque() const override;
        int64_t latency() const override;
        struct rd_kafka_message_s *c_ptr() override;
        Status status() const override;
        RdKafka::Headers *headers() override;
        RdKafka::Headers *headers(RdKafka::ErrorCode *err) override;
        int32_t broker_id() const override;
        int32_t leader_epoch() const override;
        RdKafka::Error *offset_store() override;

       private:
        /** Returns whether the C library made the message, whose functions then return more about it. */
        bool is_real() const {
                return message_ != &no_message_;
        }

        rd_kafka_message_t *message_;
        const Kind kind_;
        RdKafka::Topic *const topic_of_error_;
        rd_kafka_message_t no_message_;
        std::unique_ptr<HeadersImpl> headers_;
        mutable std::unique_ptr<std::string> key_;
};

/** Wraps the result of a consume function; without a message, the error. */
std::unique_ptr<RdKafka::Message> consumed(rd_kafka_message_t *message,
                                           RdKafka::ErrorCode without,
                                           RdKafka::Topic *topic = nullptr);

}  // namespace ottla

#endif /* OTTLA_CPP_MESSAGE_H */
