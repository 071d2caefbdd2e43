/* Message. */

#include "message.h"

#include "error.h"
#include "topic.h"

namespace ottla {

using RdKafka::MessageTimestamp;

MessageImpl::MessageImpl(rd_kafka_message_t *message, Kind kind)
    : message_(message), kind_(kind), topic_of_error_(nullptr), no_message_() {
}

MessageImpl::MessageImpl(ErrorCode err, RdKafka::Topic *topic)
    : message_(&no_message_), kind_(CONSUMED_LENT), topic_of_error_(topic), no_message_() {
        no_message_.err = static_cast<rd_kafka_resp_err_t>(err);
        no_message_.partition = RD_KAFKA_PARTITION_UA;
        no_message_.offset = RD_KAFKA_OFFSET_INVALID;
}

MessageImpl::~MessageImpl() {
        if (kind_ == CONSUMED)
                rd_kafka_message_destroy(message_);
}

std::string MessageImpl::errstr() const {
        const char *text = nullptr;
        if (kind_ == DELIVERED_LENT)
                text = rd_kafka_message_produce_errstr(message_);
        else if (is_real())
                text = rd_kafka_message_errstr(message_);
        if (text)
                return text;
        /* A delivery report without an error says so, a consumed message nothing. */
        bool silent = kind_ != DELIVERED_LENT && message_->err == RD_KAFKA_RESP_ERR_NO_ERROR;
        return silent ? "" : rd_kafka_err2str(message_->err);
}

ErrorCode MessageImpl::err() const {
        return code_of(message_->err);
}

RdKafka::Topic *MessageImpl::topic() const {
        return message_->rkt ? topic_object(message_->rkt) : topic_of_error_;
}

std::string MessageImpl::topic_name() const {
        if (message_->rkt)
                return rd_kafka_topic_name(message_->rkt);
        return topic_of_error_ ? topic_of_error_->name() : "";
}

int32_t MessageImpl::partition() const {
        return message_->partition;
}

void *MessageImpl::payload() const {
        return message_->payload;
}

size_t MessageImpl::len() const {
        return message_->len;
}

const std::string *MessageImpl::key() const {
        if (!key_ && message_->key)
                key_.reset(
                    new std::string(static_cast<const char *>(message_->key), message_->key_len));
        return key_.get();
}

const void *MessageImpl::key_pointer() const {
        return message_->key;
}

size_t MessageImpl::key_len() const {
        return message_->key_len;
}

int64_t MessageImpl::offset() const {
        return message_->offset;
}

MessageTimestamp MessageImpl::timestamp() const {
        rd_kafka_timestamp_type_t type = RD_KAFKA_TIMESTAMP_NOT_AVAILABLE;
        MessageTimestamp ts;
        ts.timestamp = is_real() ? rd_kafka_message_timestamp(message_, &type) : -1;
        ts.type = static_cast<MessageTimestamp::MessageTimestampType>(type);
        return ts;
}

void *MessageImpl::msg_opaque() const {
        /* In a consumed message it is the C library's. */
        return kind_ == DELIVERED_LENT ? message_->_private : nullptr;
}

int64_t MessageImpl::latency() const {
        return is_real() ? rd_kafka_message_latency(message_) : -1;
}

struct rd_kafka_message_s *MessageImpl::c_ptr() {
        return message_;
}

RdKafka::Message::Status MessageImpl::status() const {
        return is_real() ? static_cast<Status>(rd_kafka_message_status(message_))
                         : MSG_STATUS_NOT_PERSISTED;
}

RdKafka::Headers *MessageImpl::headers() {
        ErrorCode err;
        return headers(&err);
}

RdKafka::Headers *MessageImpl::headers(ErrorCode *err) {
        *err = RdKafka::ERR_NO_ERROR;
        if (headers_)
                return headers_.get();
        rd_kafka_headers_t *list = nullptr;
        *err = is_real() ? code_of(rd_kafka_message_detach_headers(message_, &list))
                         : RdKafka::ERR__NOENT;
        if (*err == RdKafka::ERR_NO_ERROR)
                headers_.reset(new HeadersImpl(list, HeadersImpl::MESSAGE));
        return headers_.get();
}

int32_t MessageImpl::broker_id() const {
        return is_real() ? rd_kafka_message_broker_id(message_) : -1;
}

int32_t MessageImpl::leader_epoch() const {
        return is_real() ? rd_kafka_message_leader_epoch(message_) : -1;
}

RdKafka::Error *MessageImpl::offset_store() {
        if (is_real())
                return error_of(rd_kafka_offset_store_message(message_));
        return error_of(rd_kafka_error_new(RD_KAFKA_RESP_ERR__INVALID_ARG, "Not a message: %s",
                                           rd_kafka_err2str(message_->err)));
}

std::unique_ptr<RdKafka::Message>
consumed(rd_kafka_message_t *message, ErrorCode without, RdKafka::Topic *topic) {
        return std::unique_ptr<RdKafka::Message>(
            message ? new MessageImpl(message, MessageImpl::CONSUMED)
                    : new MessageImpl(without, topic));
}

}  // namespace ottla

RdKafka::Message::~Message() {
}
