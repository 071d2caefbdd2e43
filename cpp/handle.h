/* Handle: what producers and consumers share. */

#ifndef OTTLA_CPP_HANDLE_H
#define OTTLA_CPP_HANDLE_H

#include <rdkafka.h>
#include <rdkafkacpp.h>

#include "client.h"

namespace ottla {

/**
 * A client's class derives from its interface and from this one, which implements the Handle that
 * both have in common. The class opens the client when it is whole and closes it in its own
 * destructor: callbacks receive the object that the application created.
 */
class HandleImpl : public virtual RdKafka::Handle {
       public:
        HandleImpl() = default;
        HandleImpl(const HandleImpl &) = delete;
        HandleImpl &operator=(const HandleImpl &) = delete;

        std::string name() const override;
        std::string memberid() const override;
        int poll(int timeout_ms) override;
        int outq_len() override;
        RdKafka::ErrorCode metadata(bool all_topics,
                                    const RdKafka::Topic *only_rkt,
                                    RdKafka::Metadata **metadatap,
                                    int timeout_ms) override;
        RdKafka::ErrorCode pause(Partitions &partitions) override;
        RdKafka::ErrorCode resume(Partitions &partitions) override;
        RdKafka::ErrorCode query_watermark_offsets(const std::string &topic,
                                                   int32_t partition,
                                                   int64_t *low,
                                                   int64_t *high,
                                                   int timeout_ms) override;
        RdKafka::ErrorCode get_watermark_offsets(const std::string &topic,
                                                 int32_t partition,
                                                 int64_t *low,
                                                 int64_t *high) override;
        RdKafka::ErrorCode offsetsForTimes(Partitions &offsets, int timeout_ms) override;
        RdKafka::Queue *get_partition_queue(const RdKafka::TopicPartition *partition) override;
        RdKafka::ErrorCode set_log_queue(RdKafka::Queue *queue) override;
        void yield() override;
        std::string clusterid(int timeout_ms) override;
        struct rd_kafka_s *c_ptr() override;
        int32_t controllerid(int timeout_ms) override;
        RdKafka::ErrorCode fatal_error(std::string &errstr) const override;
        RdKafka::ErrorCode oauthbearer_set_token(const std::string &token_value,
                                                 int64_t md_lifetime_ms,
                                                 const std::string &md_principal_name,
                                                 const std::list<std::string> &extensions,
                                                 std::string &errstr) override;
        RdKafka::ErrorCode oauthbearer_set_token_failure(const std::string &errstr) override;
        RdKafka::Error *sasl_background_callbacks_enable() override;
        RdKafka::Queue *get_sasl_queue() override;
        RdKafka::Queue *get_background_queue() override;
        void *mem_malloc(size_t size) override;
        void mem_free(void *ptr) override;
        RdKafka::Error *sasl_set_credentials(const std::string &username,
                                             const std::string &password) override;

       protected:
        /** Creates the C library's client; false with `errstr`. */
        bool open(rd_kafka_type_t type, const RdKafka::Conf *conf, std::string &errstr);

        /** Destroys it. */
        void end(int flags);

        Client client_;
        rd_kafka_t *rk_ = nullptr;
};

}  // namespace ottla

#endif /* OTTLA_CPP_HANDLE_H */
