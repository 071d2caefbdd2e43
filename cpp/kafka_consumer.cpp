/*
 * RdKafka::KafkaConsumer.
 *
 * C functions that may call callbacks of the application run inside exception_guard().
 */

#include <memory>

#include "error.h"
#include "group_metadata.h"
#include "handle.h"
#include "message.h"
#include "queue.h"
#include "exception_guard.h"

namespace ottla {

namespace {

class KafkaConsumerImpl : public RdKafka::KafkaConsumer, public HandleImpl {
       public:
        ~KafkaConsumerImpl() override {
                end(RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);
        }

        static RdKafka::KafkaConsumer *create(const RdKafka::Conf *conf, std::string &errstr);

        ErrorCode assignment(Partitions &partitions) override;
        ErrorCode subscription(std::vector<std::string> &topics) override;
        ErrorCode subscribe(const std::vector<std::string> &topics) override;

        ErrorCode unsubscribe() override {
                return code_of(rd_kafka_unsubscribe(rk_));
        }

        ErrorCode assign(const Partitions &partitions) override {
                return code_of(rd_kafka_assign(rk_, PartitionList(partitions).get()));
        }

        ErrorCode unassign() override {
                return code_of(rd_kafka_assign(rk_, nullptr));
        }

        RdKafka::Message *consume(int timeout_ms) override {
                return exception_guard([&] {
                               return consumed(rd_kafka_consumer_poll(rk_, timeout_ms),
                                               RdKafka::ERR__TIMED_OUT);
                       })
                    .release();
        }

        ErrorCode commitSync() override {
                return exception_guard([&] { return code_of(rd_kafka_commit(rk_, nullptr, 0)); });
        }

        ErrorCode commitAsync() override {
                return code_of(rd_kafka_commit(rk_, nullptr, 1));
        }

        ErrorCode commitSync(RdKafka::Message *message) override {
                return exception_guard(
                    [&] { return code_of(rd_kafka_commit_message(rk_, message->c_ptr(), 0)); });
        }

        ErrorCode commitAsync(RdKafka::Message *message) override {
                return code_of(rd_kafka_commit_message(rk_, message->c_ptr(), 1));
        }

        ErrorCode commitSync(Partitions &offsets) override {
                PartitionList list(offsets);
                return exception_guard([&] {
                        ErrorCode err = code_of(rd_kafka_commit(rk_, list.get(), 0));
                        list.write_back(offsets);
                        return err;
                });
        }

        ErrorCode commitAsync(const Partitions &offsets) override {
                return code_of(rd_kafka_commit(rk_, PartitionList(offsets).get(), 1));
        }

        ErrorCode commitSync(RdKafka::OffsetCommitCb *offset_commit_cb) override {
                return commit_and_call(nullptr, offset_commit_cb);
        }

        ErrorCode
        commitSync(Partitions &offsets, RdKafka::OffsetCommitCb *offset_commit_cb) override {
                return commit_and_call(PartitionList(offsets).get(), offset_commit_cb);
        }

        ErrorCode committed(Partitions &partitions, int timeout_ms) override {
                PartitionList list(partitions);
                ErrorCode err = code_of(rd_kafka_committed(rk_, list.get(), timeout_ms));
                list.write_back(partitions);
                return err;
        }

        ErrorCode position(Partitions &partitions) override {
                PartitionList list(partitions);
                ErrorCode err = code_of(rd_kafka_position(rk_, list.get()));
                list.write_back(partitions);
                return err;
        }

        ErrorCode close() override {
                return exception_guard([&] { return code_of(rd_kafka_consumer_close(rk_)); });
        }

        ErrorCode seek(const RdKafka::TopicPartition &partition, int timeout_ms) override;

        ErrorCode offsets_store(Partitions &offsets) override {
                PartitionList list(offsets);
                ErrorCode err = code_of(rd_kafka_offsets_store(rk_, list.get()));
                list.write_back(offsets);
                return err;
        }

        RdKafka::ConsumerGroupMetadata *groupMetadata() override {
                rd_kafka_consumer_group_metadata_t *group = rd_kafka_consumer_group_metadata(rk_);
                return group ? new GroupMetadataImpl(group) : nullptr;
        }

        bool assignment_lost() override {
                return rd_kafka_assignment_lost(rk_) != 0;
        }

        std::string rebalance_protocol() override {
                const char *protocol = rd_kafka_rebalance_protocol(rk_);
                return protocol ? protocol : "";
        }

        RdKafka::Error *incremental_assign(const Partitions &partitions) override {
                return error_of(rd_kafka_incremental_assign(rk_, PartitionList(partitions).get()));
        }

        RdKafka::Error *incremental_unassign(const Partitions &partitions) override {
                return error_of(
                    rd_kafka_incremental_unassign(rk_, PartitionList(partitions).get()));
        }

        RdKafka::Error *close(RdKafka::Queue *queue) override {
                return error_of(rd_kafka_consumer_close_queue(rk_, c_queue(queue)));
        }

        bool closed() override {
                return rd_kafka_consumer_closed(rk_) != 0;
        }

       private:
        ErrorCode commit_and_call(const rd_kafka_topic_partition_list_t *offsets,
                                  RdKafka::OffsetCommitCb *callback) {
                auto c_callback = callback ? offset_commit_to : nullptr;
                return exception_guard([&] {
                        return code_of(
                            rd_kafka_commit_queue(rk_, offsets, nullptr, c_callback, callback));
                });
        }
};

RdKafka::KafkaConsumer *KafkaConsumerImpl::create(const RdKafka::Conf *conf, std::string &errstr) {
        std::string group;
        if (!conf || conf->get("group.id", group) != RdKafka::Conf::CONF_OK || group.empty()) {
                errstr = "A KafkaConsumer needs a global configuration with the property group.id";
                return nullptr;
        }
        std::unique_ptr<KafkaConsumerImpl> consumer(new KafkaConsumerImpl);
        consumer->client_.consumer = consumer.get();
        if (!consumer->open(RD_KAFKA_CONSUMER, conf, errstr))
                return nullptr;
        /* Forwards the main queue to the consumer's, so that consume() serves all callbacks, too. */
        rd_kafka_resp_err_t err = rd_kafka_poll_set_consumer(consumer->rk_);
        if (err) {
                errstr = rd_kafka_err2str(err);
                return nullptr;
        }
        return consumer.release();
}

ErrorCode KafkaConsumerImpl::assignment(Partitions &partitions) {
        rd_kafka_topic_partition_list_t *assigned = nullptr;
        ErrorCode err = code_of(rd_kafka_assignment(rk_, &assigned));
        PartitionList list(assigned);
        if (err == RdKafka::ERR_NO_ERROR)
                partitions = partitions_of(list.get());
        return err;
}

ErrorCode KafkaConsumerImpl::subscription(std::vector<std::string> &topics) {
        rd_kafka_topic_partition_list_t *subscribed = nullptr;
        ErrorCode err = code_of(rd_kafka_subscription(rk_, &subscribed));
        PartitionList list(subscribed);
        if (err != RdKafka::ERR_NO_ERROR)
                return err;
        topics.clear();
        for (int i = 0; list.at(i); i++)
                topics.push_back(list.at(i)->topic);
        return err;
}

ErrorCode KafkaConsumerImpl::subscribe(const std::vector<std::string> &topics) {
        PartitionList list(rd_kafka_topic_partition_list_new(static_cast<int>(topics.size())));
        for (const std::string &topic : topics)
                rd_kafka_topic_partition_list_add(list.get(), topic.c_str(), RD_KAFKA_PARTITION_UA);
        return code_of(rd_kafka_subscribe(rk_, list.get()));
}

ErrorCode KafkaConsumerImpl::seek(const RdKafka::TopicPartition &partition, int timeout_ms) {
        PartitionList list(Partitions(1, const_cast<RdKafka::TopicPartition *>(&partition)));
        rd_kafka_error_t *error = rd_kafka_seek_partitions(rk_, list.get(), timeout_ms);
        return error ? code_of(error) : code_of(list.at(0)->err);
}

}  // namespace

}  // namespace ottla

namespace RdKafka {

ConsumerGroupMetadata::~ConsumerGroupMetadata() {
}

KafkaConsumer::~KafkaConsumer() {
}

KafkaConsumer *KafkaConsumer::create(const Conf *conf, std::string &errstr) {
        return ottla::KafkaConsumerImpl::create(conf, errstr);
}

}  // namespace RdKafka
