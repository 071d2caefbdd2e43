/* ConsumerGroupMetadata: from a consumer to a producer. */

#ifndef OTTLA_CPP_GROUP_METADATA_H
#define OTTLA_CPP_GROUP_METADATA_H

#include <rdkafka.h>
#include <rdkafkacpp.h>

namespace ottla {

class GroupMetadataImpl : public RdKafka::ConsumerGroupMetadata {
       public:
        /** Takes `metadata` over. */
        explicit GroupMetadataImpl(rd_kafka_consumer_group_metadata_t *metadata)
            : metadata_(metadata) {
        }

        ~GroupMetadataImpl() override {
                rd_kafka_consumer_group_metadata_destroy(metadata_);
        }

        GroupMetadataImpl(const GroupMetadataImpl &) = delete;
        GroupMetadataImpl &operator=(const GroupMetadataImpl &) = delete;

        const rd_kafka_consumer_group_metadata_t *c_ptr() const {
                return metadata_;
        }

       private:
        rd_kafka_consumer_group_metadata_t *const metadata_;
};

}  // namespace ottla

#endif /* OTTLA_CPP_GROUP_METADATA_H */
