/* Error. */

#include "error.h"

namespace ottla {

namespace {

class ErrorImpl : public RdKafka::Error {
       public:
        explicit ErrorImpl(rd_kafka_error_t *error) : error_(error) {
        }

        ~ErrorImpl() override {
                rd_kafka_error_destroy(error_);
        }

        ErrorImpl(const ErrorImpl &) = delete;
        ErrorImpl &operator=(const ErrorImpl &) = delete;

        ErrorCode code() const override {
                return code_of(rd_kafka_error_code(error_));
        }

        std::string name() const override {
                return rd_kafka_error_name(error_);
        }

        std::string str() const override {
                return rd_kafka_error_string(error_);
        }

        bool is_fatal() const override {
                return rd_kafka_error_is_fatal(error_) != 0;
        }

        bool is_retriable() const override {
                return rd_kafka_error_is_retriable(error_) != 0;
        }

        bool txn_requires_abort() const override {
                return rd_kafka_error_txn_requires_abort(error_) != 0;
        }

       private:
        rd_kafka_error_t *const error_;
};

}  // namespace

RdKafka::Error *error_of(rd_kafka_error_t *error) {
        return error ? new ErrorImpl(error) : nullptr;
}

ErrorCode code_of(rd_kafka_error_t *error) {
        ErrorCode code = code_of(rd_kafka_error_code(error));
        rd_kafka_error_destroy(error);
        return code;
}

}  // namespace ottla

namespace RdKafka {

Error *Error::create(ErrorCode code, const std::string *errstr) {
        rd_kafka_resp_err_t err = static_cast<rd_kafka_resp_err_t>(code);
        return ottla::error_of(errstr ? rd_kafka_error_new(err, "%s", errstr->c_str())
                                      : rd_kafka_error_new(err, nullptr));
}

}  // namespace RdKafka
