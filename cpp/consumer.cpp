/* Consumer: the simple consumer. */

#include <memory>

#include "error.h"
#include "handle.h"
#include "message.h"
#include "queue.h"
#include "exception_guard.h"

namespace ottla {

namespace {

/** What consume_callback() hands through the C library. */
struct Run {
        rd_kafka_t *rk;
        RdKafka::ConsumeCb *callback;
        void *opaque;
};

void on_message(rd_kafka_message_t *m, void *opaque) {
        Run *run = static_cast<Run *>(opaque);
        guarded(run->rk, "consume_cb", 0, [&] {
                MessageImpl message(m, MessageImpl::CONSUMED_LENT);
                run->callback->consume_cb(message, run->opaque);
                return 0;
        });
}

/** The outcome of a function that returns -1 after an error. */
ErrorCode outcome(int result) {
        return result == -1 ? code_of(rd_kafka_last_error()) : RdKafka::ERR_NO_ERROR;
}

class ConsumerImpl : public RdKafka::Consumer, public HandleImpl {
       public:
        ~ConsumerImpl() override {
                end(0);
        }

        static RdKafka::Consumer *create(const RdKafka::Conf *conf, std::string &errstr) {
                std::unique_ptr<ConsumerImpl> consumer(new ConsumerImpl);
                bool opened = consumer->open(RD_KAFKA_CONSUMER, conf, errstr);
                return opened ? consumer.release() : nullptr;
        }

        ErrorCode start(RdKafka::Topic *topic, int32_t partition, int64_t offset) override {
                return outcome(rd_kafka_consume_start(topic->c_ptr(), partition, offset));
        }

        ErrorCode start(RdKafka::Topic *topic,
                        int32_t partition,
                        int64_t offset,
                        RdKafka::Queue *queue) override {
                return outcome(rd_kafka_consume_start_queue(topic->c_ptr(), partition, offset,
                                                            c_queue(queue)));
        }

        ErrorCode stop(RdKafka::Topic *topic, int32_t partition) override {
                return outcome(rd_kafka_consume_stop(topic->c_ptr(), partition));
        }

        ErrorCode
        seek(RdKafka::Topic *topic, int32_t partition, int64_t offset, int timeout_ms) override {
                return code_of(rd_kafka_seek(topic->c_ptr(), partition, offset, timeout_ms));
        }

        RdKafka::Message *
        consume(RdKafka::Topic *topic, int32_t partition, int timeout_ms) override {
                return exception_guard([&] {
                               rd_kafka_message_t *message =
                                   rd_kafka_consume(topic->c_ptr(), partition, timeout_ms);
                               return consumed(message, code_of(rd_kafka_last_error()), topic);
                       })
                    .release();
        }

        RdKafka::Message *consume(RdKafka::Queue *queue, int timeout_ms) override {
                return queue->consume(timeout_ms);
        }

        int consume_callback(RdKafka::Topic *topic,
                             int32_t partition,
                             int timeout_ms,
                             RdKafka::ConsumeCb *consume_cb,
                             void *opaque) override {
                Run run = {rk_, consume_cb, opaque};
                return exception_guard([&] {
                        return rd_kafka_consume_callback(topic->c_ptr(), partition, timeout_ms,
                                                         on_message, &run);
                });
        }

        int consume_callback(RdKafka::Queue *queue,
                             int timeout_ms,
                             RdKafka::ConsumeCb *consume_cb,
                             void *opaque) override {
                Run run = {rk_, consume_cb, opaque};
                return exception_guard([&] {
                        return rd_kafka_consume_callback_queue(c_queue(queue), timeout_ms,
                                                               on_message, &run);
                });
        }
};

}  // namespace

}  // namespace ottla

namespace RdKafka {

Consumer::~Consumer() {
}

Consumer *Consumer::create(const Conf *conf, std::string &errstr) {
        return ottla::ConsumerImpl::create(conf, errstr);
}

int64_t Consumer::OffsetTail(int64_t offset) {
        return RD_KAFKA_OFFSET_TAIL(offset);
}

}  // namespace RdKafka
