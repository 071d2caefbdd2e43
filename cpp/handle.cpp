/* Handle. */

#include "handle.h"

#include "error.h"
#include "metadata.h"
#include "queue.h"
#include "exception_guard.h"

namespace ottla {

namespace {

/** A text that the C library has handed over; empty for NULL. */
std::string text_of(rd_kafka_t *rk, char *text) {
        std::string copy = text ? text : "";
        rd_kafka_mem_free(rk, text);
        return copy;
}

}  // namespace

bool HandleImpl::open(rd_kafka_type_t type, const RdKafka::Conf *conf, std::string &errstr) {
        client_.handle = this;
        rk_ = client_.open(type, conf, errstr);
        return rk_ != nullptr;
}

void HandleImpl::end(int flags) {
        /* A destructor must not throw. */
        Serving scope(Exceptions::OF_NONE);
        if (rk_)
                rd_kafka_destroy_flags(rk_, flags);
}

std::string HandleImpl::name() const {
        return rd_kafka_name(rk_);
}

std::string HandleImpl::memberid() const {
        return text_of(rk_, rd_kafka_memberid(rk_));
}

int HandleImpl::poll(int timeout_ms) {
        return exception_guard([&] { return rd_kafka_poll(rk_, timeout_ms); });
}

int HandleImpl::outq_len() {
        return rd_kafka_outq_len(rk_);
}

ErrorCode HandleImpl::metadata(bool all_topics,
                               const RdKafka::Topic *only_rkt,
                               RdKafka::Metadata **metadatap,
                               int timeout_ms) {
        const struct rd_kafka_metadata *answer = nullptr;
        rd_kafka_topic_t *topic =
            only_rkt ? const_cast<RdKafka::Topic *>(only_rkt)->c_ptr() : nullptr;
        ErrorCode err = code_of(rd_kafka_metadata(rk_, all_topics, topic, &answer, timeout_ms));
        *metadatap = err == RdKafka::ERR_NO_ERROR ? metadata_of(answer) : nullptr;
        return err;
}

ErrorCode HandleImpl::pause(Partitions &partitions) {
        PartitionList list(partitions);
        ErrorCode err = code_of(rd_kafka_pause_partitions(rk_, list.get()));
        list.write_back(partitions);
        return err;
}

ErrorCode HandleImpl::resume(Partitions &partitions) {
        PartitionList list(partitions);
        ErrorCode err = code_of(rd_kafka_resume_partitions(rk_, list.get()));
        list.write_back(partitions);
        return err;
}

ErrorCode HandleImpl::query_watermark_offsets(const std::string &topic,
                                              int32_t partition,
                                              int64_t *low,
                                              int64_t *high,
                                              int timeout_ms) {
        return code_of(rd_kafka_query_watermark_offsets(rk_, topic.c_str(), partition, low, high,
                                                        timeout_ms));
}

ErrorCode HandleImpl::get_watermark_offsets(const std::string &topic,
                                            int32_t partition,
                                            int64_t *low,
                                            int64_t *high) {
        return code_of(rd_kafka_get_watermark_offsets(rk_, topic.c_str(), partition, low, high));
}

ErrorCode HandleImpl::offsetsForTimes(Partitions &offsets, int timeout_ms) {
        PartitionList list(offsets);
        ErrorCode err = code_of(rd_kafka_offsets_for_times(rk_, list.get(), timeout_ms));
        list.write_back(offsets);
        return err;
}

RdKafka::Queue *HandleImpl::get_partition_queue(const RdKafka::TopicPartition *partition) {
        return queue_of(rd_kafka_queue_get_partition(rk_, partition->topic().c_str(),
                                                     partition->partition()));
}

ErrorCode HandleImpl::set_log_queue(RdKafka::Queue *queue) {
        return code_of(rd_kafka_set_log_queue(rk_, c_queue(queue)));
}

void HandleImpl::yield() {
        rd_kafka_yield(rk_);
}

std::string HandleImpl::clusterid(int timeout_ms) {
        return text_of(rk_, rd_kafka_clusterid(rk_, timeout_ms));
}

struct rd_kafka_s *HandleImpl::c_ptr() {
        return rk_;
}

int32_t HandleImpl::controllerid(int timeout_ms) {
        return rd_kafka_controllerid(rk_, timeout_ms);
}

ErrorCode HandleImpl::fatal_error(std::string &errstr) const {
        char text[512] = "";
        ErrorCode err = code_of(rd_kafka_fatal_error(rk_, text, sizeof(text)));
        if (err != RdKafka::ERR_NO_ERROR)
                errstr = text;
        return err;
}

ErrorCode HandleImpl::oauthbearer_set_token(const std::string &token_value,
                                            int64_t md_lifetime_ms,
                                            const std::string &md_principal_name,
                                            const std::list<std::string> &extensions,
                                            std::string &errstr) {
        std::vector<const char *> names_and_values;
        for (const std::string &text : extensions)
                names_and_values.push_back(text.c_str());
        char text[512] = "";
        ErrorCode err = code_of(rd_kafka_oauthbearer_set_token(
            rk_, token_value.c_str(), md_lifetime_ms, md_principal_name.c_str(),
            names_and_values.data(), names_and_values.size(), text, sizeof(text)));
        if (err != RdKafka::ERR_NO_ERROR)
                errstr = text;
        return err;
}

ErrorCode HandleImpl::oauthbearer_set_token_failure(const std::string &errstr) {
        return code_of(rd_kafka_oauthbearer_set_token_failure(rk_, errstr.c_str()));
}

RdKafka::Error *HandleImpl::sasl_background_callbacks_enable() {
        return error_of(rd_kafka_sasl_background_callbacks_enable(rk_));
}

RdKafka::Queue *HandleImpl::get_sasl_queue() {
        return queue_of(rd_kafka_queue_get_sasl(rk_));
}

RdKafka::Queue *HandleImpl::get_background_queue() {
        return queue_of(rd_kafka_queue_get_background(rk_));
}

void *HandleImpl::mem_malloc(size_t size) {
        return rd_kafka_mem_malloc(rk_, size);
}

void HandleImpl::mem_free(void *ptr) {
        rd_kafka_mem_free(rk_, ptr);
}

RdKafka::Error *HandleImpl::sasl_set_credentials(const std::string &username,
                                                 const std::string &password) {
        return error_of(
            rd_kafka_sasl_set_credentials(rk_, username.c_str(), password.c_str()));
}

}  // namespace ottla
