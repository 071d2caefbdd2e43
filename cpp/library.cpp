/* Functions of the library as a whole. */

#include <rdkafka.h>
#include <rdkafkacpp.h>

namespace RdKafka {

int version() {
        return rd_kafka_version();
}

std::string version_str() {
        return rd_kafka_version_str();
}

std::string get_debug_contexts() {
        return rd_kafka_get_debug_contexts();
}

int wait_destroyed(int timeout_ms) {
        return rd_kafka_wait_destroyed(timeout_ms);
}

void *mem_malloc(size_t size) {
        return rd_kafka_mem_malloc(nullptr, size);
}

void mem_free(void *ptr) {
        rd_kafka_mem_free(nullptr, ptr);
}

std::string err2str(ErrorCode err) {
        return rd_kafka_err2str(static_cast<rd_kafka_resp_err_t>(err));
}

}  // namespace RdKafka
