/* Headers. */

#include "headers.h"

#include <memory>

#include "error.h"

namespace ottla {

HeadersImpl::~HeadersImpl() {
        if (list_)
                rd_kafka_headers_destroy(list_);
}

ErrorCode HeadersImpl::add(const std::string &key, const void *value, size_t value_size) {
        return code_of(rd_kafka_header_add(list_, key.data(), static_cast<ssize_t>(key.size()),
                                           value, static_cast<ssize_t>(value_size)));
}

ErrorCode HeadersImpl::add(const std::string &key, const std::string &value) {
        return add(key, value.data(), value.size());
}

ErrorCode HeadersImpl::add(const Header &header) {
        return add(header.key(), header.value(), header.value_size());
}

ErrorCode HeadersImpl::remove(const std::string &key) {
        return code_of(rd_kafka_header_remove(list_, key.c_str()));
}

std::vector<RdKafka::Headers::Header> HeadersImpl::get(const std::string &key) const {
        std::vector<Header> found;
        const void *value;
        size_t size;
        for (size_t i = 0; !rd_kafka_header_get(list_, i, key.c_str(), &value, &size); i++)
                found.push_back(Header(key, value, size));
        return found;
}

RdKafka::Headers::Header HeadersImpl::get_last(const std::string &key) const {
        const void *value = nullptr;
        size_t size = 0;
        ErrorCode err = code_of(rd_kafka_header_get_last(list_, key.c_str(), &value, &size));
        return Header(key, value, size, err);
}

std::vector<RdKafka::Headers::Header> HeadersImpl::get_all() const {
        std::vector<Header> all;
        const char *name;
        const void *value;
        size_t size;
        for (size_t i = 0; !rd_kafka_header_get_all(list_, i, &name, &value, &size); i++)
                all.push_back(Header(name, value, size));
        return all;
}

size_t HeadersImpl::size() const {
        return rd_kafka_header_cnt(list_);
}

}  // namespace ottla

namespace RdKafka {

Headers::~Headers() {
}

Headers *Headers::create() {
        return new ottla::HeadersImpl(rd_kafka_headers_new(8), ottla::HeadersImpl::APPLICATION);
}

Headers *Headers::create(const std::vector<Header> &headers) {
        std::unique_ptr<Headers> list(create());
        for (const Header &header : headers)
                list->add(header);
        return list.release();
}

}  // namespace RdKafka
