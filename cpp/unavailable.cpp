/* The errors of methods whose C functions do not exist yet: see unavailable.h. */

#include "unavailable.h"

namespace ottla {

RdKafka::ErrorCode unavailable(const char *service, std::string &errstr) {
        errstr = std::string("This version of the library has no ") + service;
        return RdKafka::ERR__NOT_IMPLEMENTED;
}

RdKafka::Error *unavailable(const char *service) {
        std::string errstr;
        RdKafka::ErrorCode code = unavailable(service, errstr);
        return RdKafka::Error::create(code, &errstr);
}

}  // namespace ottla
