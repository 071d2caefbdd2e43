/* Topic. */

#include "topic.h"

#include "client.h"
#include "conf.h"
#include "error.h"
#include "exception_guard.h"

namespace ottla {

namespace {

class TopicImpl : public RdKafka::Topic {
       public:
        /** The application's: gives the handle back, and its place in the context, in the end. */
        TopicImpl(rd_kafka_topic_t *rkt, TopicContext *context) : rkt_(rkt), context_(context) {
                RdKafka::Topic *none = nullptr;
                context_->object.compare_exchange_strong(none, this);
        }

        /** Lent to a partitioner where the application has no object. */
        explicit TopicImpl(const rd_kafka_topic_t *rkt)
            : rkt_(const_cast<rd_kafka_topic_t *>(rkt)), context_(nullptr) {
        }

        ~TopicImpl() override {
                if (!context_)
                        return;
                RdKafka::Topic *me = this;
                context_->object.compare_exchange_strong(me, nullptr);
                rd_kafka_topic_destroy(rkt_);
        }

        TopicImpl(const TopicImpl &) = delete;
        TopicImpl &operator=(const TopicImpl &) = delete;

        std::string name() const override {
                return rd_kafka_topic_name(rkt_);
        }

        bool partition_available(int32_t partition) const override {
                return rd_kafka_topic_partition_available(rkt_, partition) != 0;
        }

        ErrorCode offset_store(int32_t partition, int64_t offset) override {
                return code_of(rd_kafka_offset_store(rkt_, partition, offset));
        }

        struct rd_kafka_topic_s *c_ptr() override {
                return rkt_;
        }

       private:
        rd_kafka_topic_t *const rkt_;
        TopicContext *const context_;
};

int32_t choose_partition(const rd_kafka_topic_t *rkt,
                         const void *key,
                         size_t key_len,
                         int32_t partition_cnt,
                         void *rkt_opaque,
                         void *msg_opaque) {
        TopicContext *context = static_cast<TopicContext *>(rkt_opaque);
        return guarded(nullptr, "partitioner_cb", RD_KAFKA_PARTITION_UA, [&]() -> int32_t {
                TopicImpl lent(rkt);
                const RdKafka::Topic *object = context->object.load();
                const RdKafka::Topic *topic = object ? object : &lent;
                const Partitioners &call = context->partitioners;
                if (!call.plain)
                        return call.key_pointer->partitioner_cb(topic, key, key_len, partition_cnt,
                                                                msg_opaque);
                if (!key)
                        return call.plain->partitioner_cb(topic, nullptr, partition_cnt,
                                                          msg_opaque);
                const std::string text(static_cast<const char *>(key), key_len);
                return call.plain->partitioner_cb(topic, &text, partition_cnt, msg_opaque);
        }, Exceptions::OF_PARTITIONERS);
}

}  // namespace

void Partitioners::install(rd_kafka_topic_conf_t *conf) const {
        if (plain || key_pointer)
                rd_kafka_topic_conf_set_partitioner_cb(conf, choose_partition);
}

RdKafka::Topic *Topics::create(rd_kafka_t *rk,
                               const std::string &name,
                               const RdKafka::Conf *conf,
                               std::string &errstr) {
        const ConfImpl *own = dynamic_cast<const ConfImpl *>(conf);
        if (conf && (!own || !own->topic_conf())) {
                errstr = "A topic needs a configuration of the type CONF_TOPIC";
                return nullptr;
        }
        /* The lock is held until the C library has the topic: what a first call found not valid
         * must not decide over a second one. */
        std::lock_guard<std::mutex> hold(lock_);
        std::unique_ptr<TopicContext> fresh;
        auto known = contexts_.find(name);
        if (known == contexts_.end()) {
                fresh.reset(new TopicContext);
                fresh->partitioners = own ? own->partitioners() : others.partitioners;
        }
        TopicContext *context = fresh ? fresh.get() : known->second.get();
        rd_kafka_topic_conf_t *topic_conf =
            own ? rd_kafka_topic_conf_dup(own->topic_conf()) : rd_kafka_default_topic_conf_dup(rk);
        rd_kafka_topic_conf_set_opaque(topic_conf, context);
        context->partitioners.install(topic_conf);
        rd_kafka_topic_t *rkt = rd_kafka_topic_new(rk, name.c_str(), topic_conf);
        if (!rkt) {
                errstr = rd_kafka_err2str(rd_kafka_last_error());
                return nullptr;
        }
        if (fresh)
                contexts_[name] = std::move(fresh);
        return new TopicImpl(rkt, context);
}

RdKafka::Topic *topic_object(const rd_kafka_topic_t *rkt) {
        TopicContext *context = static_cast<TopicContext *>(rd_kafka_topic_opaque(rkt));
        return context ? context->object.load() : nullptr;
}

}  // namespace ottla

namespace RdKafka {

const int32_t Topic::PARTITION_UA = RD_KAFKA_PARTITION_UA;
const int64_t Topic::OFFSET_BEGINNING = RD_KAFKA_OFFSET_BEGINNING;
const int64_t Topic::OFFSET_END = RD_KAFKA_OFFSET_END;
const int64_t Topic::OFFSET_STORED = RD_KAFKA_OFFSET_STORED;
const int64_t Topic::OFFSET_INVALID = RD_KAFKA_OFFSET_INVALID;

Topic::~Topic() {
}

Topic *
Topic::create(Handle *base, const std::string &topic_str, const Conf *conf, std::string &errstr) {
        if (!base) {
                errstr = "A topic needs a client";
                return nullptr;
        }
        rd_kafka_t *rk = base->c_ptr();
        return ottla::client_of(rk)->topics.create(rk, topic_str, conf, errstr);
}

}  // namespace RdKafka
