/* Metadata. */

#include "metadata.h"

#include <memory>

#include "error.h"

namespace ottla {

namespace {

class BrokerMetadataImpl : public RdKafka::BrokerMetadata {
       public:
        explicit BrokerMetadataImpl(const rd_kafka_metadata_broker_t &broker) : broker_(broker) {
        }

        int32_t id() const override {
                return broker_.id;
        }

        std::string host() const override {
                return broker_.host;
        }

        int port() const override {
                return broker_.port;
        }

       private:
        const rd_kafka_metadata_broker_t &broker_;
};

class PartitionMetadataImpl : public RdKafka::PartitionMetadata {
       public:
        explicit PartitionMetadataImpl(const rd_kafka_metadata_partition_t &partition)
            : partition_(partition),
              replicas_(partition.replicas, partition.replicas + partition.replica_cnt),
              isrs_(partition.isrs, partition.isrs + partition.isr_cnt) {
        }

        int32_t id() const override {
                return partition_.id;
        }

        ErrorCode err() const override {
                return code_of(partition_.err);
        }

        int32_t leader() const override {
                return partition_.leader;
        }

        const std::vector<int32_t> *replicas() const override {
                return &replicas_;
        }

        const std::vector<int32_t> *isrs() const override {
                return &isrs_;
        }

       private:
        const rd_kafka_metadata_partition_t &partition_;
        const ReplicasVector replicas_;
        const ISRSVector isrs_;
};

/** Objects of one class, and the pointers to them that the interface shows. */
template <class Part, class Interface>
class Parts {
       public:
        template <class Row>
        Parts(const Row *rows, int cnt) {
                for (int i = 0; i < cnt; i++) {
                        owned_.push_back(std::unique_ptr<Part>(new Part(rows[i])));
                        shown_.push_back(owned_.back().get());
                }
        }

        const std::vector<const Interface *> *shown() const {
                return &shown_;
        }

       private:
        std::vector<std::unique_ptr<Part>> owned_;
        std::vector<const Interface *> shown_;
};

class TopicMetadataImpl : public RdKafka::TopicMetadata {
       public:
        explicit TopicMetadataImpl(const rd_kafka_metadata_topic_t &topic)
            : topic_(topic), partitions_(topic.partitions, topic.partition_cnt) {
        }

        std::string topic() const override {
                return topic_.topic;
        }

        const PartitionMetadataVector *partitions() const override {
                return partitions_.shown();
        }

        ErrorCode err() const override {
                return code_of(topic_.err);
        }

       private:
        const rd_kafka_metadata_topic_t &topic_;
        const Parts<PartitionMetadataImpl, RdKafka::PartitionMetadata> partitions_;
};

struct Free {
        void operator()(const struct rd_kafka_metadata *answer) const {
                rd_kafka_metadata_destroy(answer);
        }
};

typedef std::unique_ptr<const struct rd_kafka_metadata, Free> Answer;

class MetadataImpl : public RdKafka::Metadata {
       public:
        explicit MetadataImpl(Answer answer)
            : answer_(std::move(answer)), brokers_(answer_->brokers, answer_->broker_cnt),
              topics_(answer_->topics, answer_->topic_cnt) {
        }

        const BrokerMetadataVector *brokers() const override {
                return brokers_.shown();
        }

        const TopicMetadataVector *topics() const override {
                return topics_.shown();
        }

        int32_t orig_broker_id() const override {
                return answer_->orig_broker_id;
        }

        std::string orig_broker_name() const override {
                return answer_->orig_broker_name ? answer_->orig_broker_name : "";
        }

       private:
        const Answer answer_;
        const Parts<BrokerMetadataImpl, RdKafka::BrokerMetadata> brokers_;
        const Parts<TopicMetadataImpl, RdKafka::TopicMetadata> topics_;
};

}  // namespace

RdKafka::Metadata *metadata_of(const struct rd_kafka_metadata *answer) {
        return new MetadataImpl(Answer(answer));
}

}  // namespace ottla

namespace RdKafka {

BrokerMetadata::~BrokerMetadata() {
}

PartitionMetadata::~PartitionMetadata() {
}

TopicMetadata::~TopicMetadata() {
}

Metadata::~Metadata() {
}

}  // namespace RdKafka
