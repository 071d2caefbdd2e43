/* RdKafka::Event: the arguments of a callback of the C library. */

#ifndef OTTLA_CPP_EVENT_H
#define OTTLA_CPP_EVENT_H

#include <string>

#include <rdkafkacpp.h>

namespace ottla {

class EventImpl : public RdKafka::Event {
       public:
        EventImpl(Type type, const std::string &text) : text(text), type_(type) {
        }

        Type type() const override {
                return type_;
        }

        RdKafka::ErrorCode err() const override {
                return code;
        }

        Severity severity() const override {
                return level;
        }

        std::string fac() const override {
                return facility;
        }

        std::string str() const override {
                return text;
        }

        int throttle_time() const override {
                return delay_ms;
        }

        std::string broker_name() const override {
                return broker;
        }

        int broker_id() const override {
                return id;
        }

        bool fatal() const override {
                return is_fatal;
        }

        RdKafka::ErrorCode code = RdKafka::ERR_NO_ERROR;
        Severity level = EVENT_SEVERITY_INFO;
        std::string facility;
        std::string text;
        int delay_ms = 0;
        std::string broker;
        int id = -1;
        bool is_fatal = false;

       private:
        const Type type_;
};

}  // namespace ottla

#endif /* OTTLA_CPP_EVENT_H */
