/* TopicPartition, and the C library's lists of partitions. */

#ifndef OTTLA_CPP_PARTITION_H
#define OTTLA_CPP_PARTITION_H

#include <rdkafka.h>
#include <rdkafkacpp.h>

namespace ottla {

typedef std::vector<RdKafka::TopicPartition *> Partitions;

/** New objects for the partitions of a list (NULL: none), which the caller deletes. */
Partitions partitions_of(const rd_kafka_topic_partition_list_t *list);

/** A list of the C library. */
class PartitionList {
       public:
        /** A list of the same partitions. */
        explicit PartitionList(const Partitions &partitions);

        /** Takes a list over; NULL is fine. */
        explicit PartitionList(rd_kafka_topic_partition_list_t *list) : list_(list) {
        }

        ~PartitionList();
        PartitionList(const PartitionList &) = delete;
        PartitionList &operator=(const PartitionList &) = delete;

        rd_kafka_topic_partition_list_t *get() const {
                return list_;
        }

        /** The partition at a place; NULL if there is none. */
        const rd_kafka_topic_partition_t *at(int place) const {
                return list_ && place < list_->cnt ? &list_->elems[place] : nullptr;
        }

        /** Writes what the C library has made of the list into the partitions it was made from. */
        void write_back(const Partitions &partitions) const;

       private:
        rd_kafka_topic_partition_list_t *const list_;
};

/** Partitions that a callback is handed: deleted afterwards, whatever it does with the vector. */
class LentPartitions {
       public:
        explicit LentPartitions(const rd_kafka_topic_partition_list_t *list)
            : owned_(partitions_of(list)), lent(owned_) {
        }

        ~LentPartitions() {
                RdKafka::TopicPartition::destroy(owned_);
        }

        LentPartitions(const LentPartitions &) = delete;
        LentPartitions &operator=(const LentPartitions &) = delete;

       private:
        Partitions owned_;

       public:
        Partitions lent;
};

}  // namespace ottla

#endif /* OTTLA_CPP_PARTITION_H */
