/* Producer. */

#include <memory>

#include "error.h"
#include "group_metadata.h"
#include "handle.h"
#include "headers.h"
#include "exception_guard.h"

namespace ottla {

namespace {

/** Bytes that are there, though there may be none of them: not NULL, which would mean no value. */
const void *bytes_of(const std::vector<char> *vector) {
        if (!vector)
                return nullptr;
        return vector->empty() ? "" : vector->data();
}

size_t size_of(const std::vector<char> *vector) {
        return vector ? vector->size() : 0;
}

class ProducerImpl : public RdKafka::Producer, public HandleImpl {
       public:
        ~ProducerImpl() override {
                end(0);
        }

        static RdKafka::Producer *create(const RdKafka::Conf *conf, std::string &errstr) {
                std::unique_ptr<ProducerImpl> producer(new ProducerImpl);
                bool opened = producer->open(RD_KAFKA_PRODUCER, conf, errstr);
                return opened ? producer.release() : nullptr;
        }

        ErrorCode produce(RdKafka::Topic *topic,
                          int32_t partition,
                          int msgflags,
                          void *payload,
                          size_t len,
                          const std::string *key,
                          void *msg_opaque) override {
                return produce(topic, partition, msgflags, payload, len,
                               key ? key->data() : nullptr, key ? key->size() : 0, msg_opaque);
        }

        ErrorCode produce(RdKafka::Topic *topic,
                          int32_t partition,
                          int msgflags,
                          void *payload,
                          size_t len,
                          const void *key,
                          size_t key_len,
                          void *msg_opaque) override {
                return exception_guard([&] {
                        if (rd_kafka_produce(topic->c_ptr(), partition, msgflags, payload, len, key,
                                             key_len, msg_opaque) == -1)
                                return code_of(rd_kafka_last_error());
                        return RdKafka::ERR_NO_ERROR;
                }, Exceptions::OF_PARTITIONERS);
        }

        ErrorCode produce(const std::string topic_name,
                          int32_t partition,
                          int msgflags,
                          void *payload,
                          size_t len,
                          const void *key,
                          size_t key_len,
                          int64_t timestamp,
                          void *msg_opaque) override {
                return produce(topic_name, partition, msgflags, payload, len, key, key_len,
                               timestamp, nullptr, msg_opaque);
        }

        ErrorCode produce(const std::string topic_name,
                          int32_t partition,
                          int msgflags,
                          void *payload,
                          size_t len,
                          const void *key,
                          size_t key_len,
                          int64_t timestamp,
                          RdKafka::Headers *headers,
                          void *msg_opaque) override;

        ErrorCode produce(RdKafka::Topic *topic,
                          int32_t partition,
                          const std::vector<char> *payload,
                          const std::vector<char> *key,
                          void *msg_opaque) override {
                return produce(topic, partition, RK_MSG_COPY, const_cast<void *>(bytes_of(payload)),
                               size_of(payload), bytes_of(key), size_of(key), msg_opaque);
        }

        ErrorCode flush(int timeout_ms) override {
                return exception_guard([&] { return code_of(rd_kafka_flush(rk_, timeout_ms)); });
        }

        ErrorCode purge(int purge_flags) override {
                return code_of(rd_kafka_purge(rk_, purge_flags));
        }

        RdKafka::Error *init_transactions(int timeout_ms) override {
                return outcome([&] { return rd_kafka_init_transactions(rk_, timeout_ms); });
        }

        RdKafka::Error *begin_transaction() override {
                return outcome([&] { return rd_kafka_begin_transaction(rk_); });
        }

        RdKafka::Error *
        send_offsets_to_transaction(const Partitions &offsets,
                                    const RdKafka::ConsumerGroupMetadata *group_metadata,
                                    int timeout_ms) override {
                PartitionList list(offsets);
                const GroupMetadataImpl *group =
                    dynamic_cast<const GroupMetadataImpl *>(group_metadata);
                return outcome([&] {
                        return rd_kafka_send_offsets_to_transaction(
                            rk_, list.get(), group ? group->c_ptr() : nullptr, timeout_ms);
                });
        }

        RdKafka::Error *commit_transaction(int timeout_ms) override {
                return outcome([&] { return rd_kafka_commit_transaction(rk_, timeout_ms); });
        }

        RdKafka::Error *abort_transaction(int timeout_ms) override {
                return outcome([&] { return rd_kafka_abort_transaction(rk_, timeout_ms); });
        }

       private:
        /** Whether a transaction is committed must come out, whatever a delivery report throws:
         *  who does not know it writes twice, or nothing. */
        template <class Call>
        static RdKafka::Error *outcome(Call call) {
                Serving scope(Exceptions::OF_NONE);
                return error_of(call());
        }
};

ErrorCode ProducerImpl::produce(const std::string topic_name,
                                int32_t partition,
                                int msgflags,
                                void *payload,
                                size_t len,
                                const void *key,
                                size_t key_len,
                                int64_t timestamp,
                                RdKafka::Headers *headers,
                                void *msg_opaque) {
        HeadersImpl *own = dynamic_cast<HeadersImpl *>(headers);
        bool lent = own && own->owner() == HeadersImpl::MESSAGE;
        rd_kafka_headers_t *list = own ? own->list() : nullptr;
        if (lent)
                list = rd_kafka_headers_copy(list);
        Serving scope(Exceptions::OF_PARTITIONERS);
        ErrorCode err = code_of(rd_kafka_producev(
            rk_, RD_KAFKA_V_TOPIC(topic_name.c_str()), RD_KAFKA_V_PARTITION(partition),
            RD_KAFKA_V_MSGFLAGS(msgflags), RD_KAFKA_V_VALUE(payload, len),
            RD_KAFKA_V_KEY(key, key_len), RD_KAFKA_V_TIMESTAMP(timestamp),
            RD_KAFKA_V_OPAQUE(msg_opaque), RD_KAFKA_V_HEADERS(list), RD_KAFKA_V_END));
        bool accepted = err == RdKafka::ERR_NO_ERROR;
        if (lent && !accepted)
                rd_kafka_headers_destroy(list);
        if (own && !lent && accepted) {
                own->taken();
                delete own;
        }
        scope.rethrow();
        return err;
}

}  // namespace

}  // namespace ottla

namespace RdKafka {

Producer::~Producer() {
}

Producer *Producer::create(const Conf *conf, std::string &errstr) {
        return ottla::ProducerImpl::create(conf, errstr);
}

}  // namespace RdKafka
