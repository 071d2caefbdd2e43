/* TopicPartition. */

#include "partition.h"

#include <memory>

#include "error.h"

namespace ottla {

namespace {

class TopicPartitionImpl : public RdKafka::TopicPartition {
       public:
        TopicPartitionImpl(const std::string &topic, int partition, int64_t offset)
            : topic_(topic), partition_(partition), offset_(offset) {
        }

        explicit TopicPartitionImpl(const rd_kafka_topic_partition_t &from)
            : topic_(from.topic), partition_(from.partition) {
                update(from);
        }

        /** Everything but topic and partition. */
        void update(const rd_kafka_topic_partition_t &from) {
                const unsigned char *metadata = static_cast<const unsigned char *>(from.metadata);
                offset_ = from.offset;
                err_ = code_of(from.err);
                leader_epoch_ = rd_kafka_topic_partition_get_leader_epoch(&from);
                if (metadata)
                        metadata_.assign(metadata, metadata + from.metadata_size);
                else
                        metadata_.clear();
        }

        const std::string &topic() const override {
                return topic_;
        }

        int partition() const override {
                return partition_;
        }

        int64_t offset() const override {
                return offset_;
        }

        void set_offset(int64_t offset) override {
                offset_ = offset;
        }

        ErrorCode err() const override {
                return err_;
        }

        int32_t get_leader_epoch() override {
                return leader_epoch_;
        }

        void set_leader_epoch(int32_t leader_epoch) override {
                leader_epoch_ = leader_epoch;
        }

        std::vector<unsigned char> get_metadata() override {
                return metadata_;
        }

        void set_metadata(std::vector<unsigned char> &metadata) override {
                metadata_ = metadata;
        }

       private:
        const std::string topic_;
        const int partition_;
        int64_t offset_ = RD_KAFKA_OFFSET_INVALID;
        ErrorCode err_ = RdKafka::ERR_NO_ERROR;
        int32_t leader_epoch_ = -1;
        std::vector<unsigned char> metadata_;
};

void add(rd_kafka_topic_partition_list_t *list, RdKafka::TopicPartition &partition) {
        rd_kafka_topic_partition_t *to = rd_kafka_topic_partition_list_add(
            list, partition.topic().c_str(), partition.partition());
        to->offset = partition.offset();
        if (partition.get_leader_epoch() != -1)
                rd_kafka_topic_partition_set_leader_epoch(to, partition.get_leader_epoch());
        const std::vector<unsigned char> metadata = partition.get_metadata();
        if (!metadata.empty()) {
                /* The list frees it. */
                to->metadata = rd_kafka_mem_malloc(nullptr, metadata.size());
                to->metadata_size = metadata.size();
                memcpy(to->metadata, metadata.data(), metadata.size());
        }
}

bool same(const rd_kafka_topic_partition_t &one, const RdKafka::TopicPartition &other) {
        return one.partition == other.partition() && other.topic() == one.topic;
}

}  // namespace

Partitions partitions_of(const rd_kafka_topic_partition_list_t *list) {
        Partitions partitions;
        if (!list)
                return partitions;
        partitions.reserve(static_cast<size_t>(list->cnt));
        for (int i = 0; i < list->cnt; i++)
                partitions.push_back(new TopicPartitionImpl(list->elems[i]));
        return partitions;
}

PartitionList::PartitionList(const Partitions &partitions)
    : list_(rd_kafka_topic_partition_list_new(static_cast<int>(partitions.size()))) {
        for (RdKafka::TopicPartition *partition : partitions)
                if (partition)
                        add(list_, *partition);
}

PartitionList::~PartitionList() {
        if (list_)
                rd_kafka_topic_partition_list_destroy(list_);
}

void PartitionList::write_back(const Partitions &partitions) const {
        int place = 0;
        for (RdKafka::TopicPartition *partition : partitions) {
                TopicPartitionImpl *to = dynamic_cast<TopicPartitionImpl *>(partition);
                const rd_kafka_topic_partition_t *from = at(place++);
                if (!to)
                        continue;
                /* The list is in the order of the vector, unless the C library has sorted it. */
                if (!from || !same(*from, *to))
                        from = rd_kafka_topic_partition_list_find(list_, to->topic().c_str(),
                                                                  to->partition());
                if (from)
                        to->update(*from);
        }
}

}  // namespace ottla

namespace RdKafka {

TopicPartition::~TopicPartition() {
}

TopicPartition *TopicPartition::create(const std::string &topic, int partition) {
        return create(topic, partition, RD_KAFKA_OFFSET_INVALID);
}

TopicPartition *TopicPartition::create(const std::string &topic, int partition, int64_t offset) {
        return new ottla::TopicPartitionImpl(topic, partition, offset);
}

void TopicPartition::destroy(std::vector<TopicPartition *> &partitions) {
        for (TopicPartition *partition : partitions)
                delete partition;
        partitions.clear();
}

}  // namespace RdKafka
