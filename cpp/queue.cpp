/* Queue. */

#include "queue.h"

#include "error.h"
#include "message.h"
#include "exception_guard.h"

namespace ottla {

namespace {

class QueueImpl : public RdKafka::Queue {
       public:
        explicit QueueImpl(rd_kafka_queue_t *queue) : queue_(queue) {
        }

        ~QueueImpl() override {
                rd_kafka_queue_destroy(queue_);
        }

        QueueImpl(const QueueImpl &) = delete;
        QueueImpl &operator=(const QueueImpl &) = delete;

        ErrorCode forward(Queue *dst) override {
                rd_kafka_queue_forward(queue_, c_queue(dst));
                return RdKafka::ERR_NO_ERROR;
        }

        RdKafka::Message *consume(int timeout_ms) override {
                return exception_guard([&] {
                               return consumed(rd_kafka_consume_queue(queue_, timeout_ms),
                                               RdKafka::ERR__TIMED_OUT);
                       })
                    .release();
        }

        int poll(int timeout_ms) override {
                return exception_guard([&] { return rd_kafka_queue_poll_callback(queue_, timeout_ms); });
        }

        void io_event_enable(int fd, const void *payload, size_t size) override {
                rd_kafka_queue_io_event_enable(queue_, fd, payload, size);
        }

        rd_kafka_queue_t *c_ptr() const {
                return queue_;
        }

       private:
        rd_kafka_queue_t *const queue_;
};

}  // namespace

RdKafka::Queue *queue_of(rd_kafka_queue_t *queue) {
        return queue ? new QueueImpl(queue) : nullptr;
}

rd_kafka_queue_t *c_queue(RdKafka::Queue *queue) {
        QueueImpl *own = dynamic_cast<QueueImpl *>(queue);
        return own ? own->c_ptr() : nullptr;
}

}  // namespace ottla

namespace RdKafka {

Queue::~Queue() {
}

Queue *Queue::create(Handle *handle) {
        return handle ? ottla::queue_of(rd_kafka_queue_new(handle->c_ptr())) : nullptr;
}

}  // namespace RdKafka
