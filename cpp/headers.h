/* Headers. */

#ifndef OTTLA_CPP_HEADERS_H
#define OTTLA_CPP_HEADERS_H

#include <rdkafka.h>
#include <rdkafkacpp.h>

namespace ottla {

class HeadersImpl : public RdKafka::Headers {
       public:
        /** Whose it is: the application's, until a producer has taken it, or a message's. */
        enum Owner { APPLICATION, MESSAGE };

        /** Takes the list over. */
        HeadersImpl(rd_kafka_headers_t *list, Owner owner) : list_(list), owner_(owner) {
        }

        ~HeadersImpl() override;
        HeadersImpl(const HeadersImpl &) = delete;
        HeadersImpl &operator=(const HeadersImpl &) = delete;

        RdKafka::ErrorCode
        add(const std::string &key, const void *value, size_t value_size) override;
        RdKafka::ErrorCode add(const std::string &key, const std::string &value) override;
        RdKafka::ErrorCode add(const Header &header) override;
        RdKafka::ErrorCode remove(const std::string &key) override;
        std::vector<Header> get(const std::string &key) const override;
        Header get_last(const std::string &key) const override;
        std::vector<Header> get_all() const override;
        size_t size() const override;

        rd_kafka_headers_t *list() const {
                return list_;
        }

        Owner owner() const {
                return owner_;
        }

        /** A producer has taken the list. */
        void taken() {
                list_ = nullptr;
        }

       private:
        rd_kafka_headers_t *list_;
        const Owner owner_;
};

}  // namespace ottla

#endif /* OTTLA_CPP_HEADERS_H */
