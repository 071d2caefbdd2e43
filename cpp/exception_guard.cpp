/* Exceptions of callbacks: see exception_guard.h. */

#include "exception_guard.h"

#include <string>

namespace ottla {

namespace {

thread_local Serving *innermost = nullptr;

void report(rd_kafka_t *rk, const char *callback) {
        std::string line = std::string("An exception left the callback ") + callback;
        try {
                throw;
        } catch (const std::exception &e) {
                line += std::string(": ") + e.what();
        } catch (...) {
        }
        rd_kafka_log_print(rk, 3, "CALLBACK", line.c_str());
}

}  // namespace

Serving::Serving(Exceptions exceptions) : exceptions_(exceptions), outer_(innermost) {
        innermost = this;
}

Serving::~Serving() {
        innermost = outer_;
}

void Serving::rethrow() {
        if (kept_)
                std::rethrow_exception(std::move(kept_));
}

bool Serving::keep(std::exception_ptr exception, Exceptions exceptions) {
        Serving *call = innermost;
        if (exceptions == Exceptions::OF_NONE || !call || call->exceptions_ != exceptions ||
            call->kept_)
                return false;
        call->kept_ = std::move(exception);
        return true;
}

void caught(rd_kafka_t *rk, const char *callback, Exceptions exceptions) {
        if (!Serving::keep(std::current_exception(), exceptions)) {
                report(rk, callback);
                return;
        }
        /* The call that serves ends after this callback: what it would take from the queue now, a
         * message even, could not be returned. */
        if (exceptions == Exceptions::OF_SERVED)
                rd_kafka_yield(rk);
}

}  // namespace ottla
