/* Conf. */

#include "conf.h"

#include <memory>

namespace ottla {

using RdKafka::Conf;

namespace {

/** Room for an error text of the C library. */
const size_t TEXT_SIZE = 512;

Conf::ConfResult result_of(rd_kafka_conf_res_t result) {
        return static_cast<Conf::ConfResult>(result);
}

bool is_name(const std::string &name, const char *wanted, std::string &errstr) {
        if (name == wanted)
                return true;
        errstr = "Property \"" + name + "\" does not take an object of this class: \"" + wanted +
                 "\" does";
        return false;
}

}  // namespace

ConfImpl::ConfImpl(ConfType type)
    : conf_(type == CONF_TOPIC ? nullptr : rd_kafka_conf_new()),
      topic_conf_(type == CONF_TOPIC ? rd_kafka_topic_conf_new() : nullptr) {
}

ConfImpl::~ConfImpl() {
        if (conf_)
                rd_kafka_conf_destroy(conf_);
        if (topic_conf_)
                rd_kafka_topic_conf_destroy(topic_conf_);
}

bool ConfImpl::is_global(const char *wanted, std::string &errstr) const {
        if (!conf_)
                errstr = std::string(wanted) + " needs a configuration of the type CONF_GLOBAL";
        return conf_ != nullptr;
}

template <class Object>
Conf::ConfResult ConfImpl::set_global(const char *wanted,
                                      const std::string &name,
                                      Object *Callbacks::*member,
                                      Object *object,
                                      std::string &errstr) {
        if (!is_name(name, wanted, errstr) || !is_global(wanted, errstr))
                return CONF_INVALID;
        callbacks_.*member = object;
        return CONF_OK;
}

template <class Object>
Conf::ConfResult ConfImpl::set_topic(const char *wanted,
                                     const std::string &name,
                                     Object *Partitioners::*member,
                                     Object *object,
                                     std::string &errstr) {
        if (!is_name(name, wanted, errstr))
                return CONF_INVALID;
        if (!topic_conf_) {
                errstr = std::string(wanted) + " needs a configuration of the type CONF_TOPIC";
                return CONF_INVALID;
        }
        partitioners_.*member = object;
        return CONF_OK;
}

Conf::ConfResult
ConfImpl::set(const std::string &name, const std::string &value, std::string &errstr) {
        char text[TEXT_SIZE] = "";
        rd_kafka_conf_res_t result =
            conf_ ? rd_kafka_conf_set(conf_, name.c_str(), value.c_str(), text, sizeof(text))
                  : rd_kafka_topic_conf_set(topic_conf_, name.c_str(), value.c_str(), text,
                                            sizeof(text));
        if (result != RD_KAFKA_CONF_OK)
                errstr = text;
        return result_of(result);
}

Conf::ConfResult
ConfImpl::set(const std::string &name, RdKafka::DeliveryReportCb *cb, std::string &errstr) {
        return set_global("dr_cb", name, &Callbacks::dr, cb, errstr);
}

Conf::ConfResult ConfImpl::set(const std::string &name,
                               RdKafka::OAuthBearerTokenRefreshCb *cb,
                               std::string &errstr) {
        return set_global("oauthbearer_token_refresh_cb", name, &Callbacks::token_refresh, cb,
                          errstr);
}

Conf::ConfResult
ConfImpl::set(const std::string &name, RdKafka::EventCb *cb, std::string &errstr) {
        return set_global("event_cb", name, &Callbacks::event, cb, errstr);
}

Conf::ConfResult
ConfImpl::set(const std::string &name, const Conf *topic_conf, std::string &errstr) {
        const ConfImpl *own = dynamic_cast<const ConfImpl *>(topic_conf);
        if (!is_name(name, "default_topic_conf", errstr) || !is_global(name.c_str(), errstr))
                return CONF_INVALID;
        if (!own || !own->topic_conf_) {
                errstr = "default_topic_conf takes a configuration of the type CONF_TOPIC";
                return CONF_INVALID;
        }
        rd_kafka_conf_set_default_topic_conf(conf_, rd_kafka_topic_conf_dup(own->topic_conf_));
        partitioners_ = own->partitioners_;
        return CONF_OK;
}

Conf::ConfResult
ConfImpl::set(const std::string &name, RdKafka::PartitionerCb *cb, std::string &errstr) {
        return set_topic("partitioner_cb", name, &Partitioners::plain, cb, errstr);
}

Conf::ConfResult
ConfImpl::set(const std::string &name, RdKafka::PartitionerKeyPointerCb *cb, std::string &errstr) {
        return set_topic("partitioner_key_pointer_cb", name, &Partitioners::key_pointer, cb,
                         errstr);
}

Conf::ConfResult
ConfImpl::set(const std::string &name, RdKafka::SocketCb *cb, std::string &errstr) {
        return set_global("socket_cb", name, &Callbacks::socket, cb, errstr);
}

Conf::ConfResult
ConfImpl::set(const std::string &name, RdKafka::OpenCb *cb, std::string &errstr) {
        return set_global("open_cb", name, &Callbacks::open, cb, errstr);
}

Conf::ConfResult
ConfImpl::set(const std::string &name, RdKafka::RebalanceCb *cb, std::string &errstr) {
        return set_global("rebalance_cb", name, &Callbacks::rebalance, cb, errstr);
}

Conf::ConfResult
ConfImpl::set(const std::string &name, RdKafka::OffsetCommitCb *cb, std::string &errstr) {
        return set_global("offset_commit_cb", name, &Callbacks::offset_commit, cb, errstr);
}

Conf::ConfResult
ConfImpl::set(const std::string &name, RdKafka::SslCertificateVerifyCb *cb, std::string &errstr) {
        return set_global("ssl_cert_verify_cb", name, &Callbacks::ssl_cert_verify, cb, errstr);
}

Conf::ConfResult
ConfImpl::set(const std::string &name, RdKafka::ConsumeCb *cb, std::string &errstr) {
        return set_global("consume_cb", name, &Callbacks::consume, cb, errstr);
}

Conf::ConfResult ConfImpl::set_ssl_cert(RdKafka::CertificateType type,
                                        RdKafka::CertificateEncoding encoding,
                                        const void *buffer,
                                        size_t size,
                                        std::string &errstr) {
        if (!is_global("set_ssl_cert()", errstr))
                return CONF_INVALID;
        char text[TEXT_SIZE] = "";
        rd_kafka_conf_res_t result = rd_kafka_conf_set_ssl_cert(
            conf_, static_cast<rd_kafka_cert_type_t>(type),
            static_cast<rd_kafka_cert_enc_t>(encoding), buffer, size, text, sizeof(text));
        if (result != RD_KAFKA_CONF_OK)
                errstr = text;
        return result_of(result);
}

Conf::ConfResult ConfImpl::set_engine_callback_data(void *value, std::string &errstr) {
        if (!is_global("set_engine_callback_data()", errstr))
                return CONF_INVALID;
        rd_kafka_conf_set_engine_callback_data(conf_, value);
        return CONF_OK;
}

Conf::ConfResult ConfImpl::enable_sasl_queue(bool enable, std::string &errstr) {
        if (!is_global("enable_sasl_queue()", errstr))
                return CONF_INVALID;
        rd_kafka_conf_enable_sasl_queue(conf_, enable);
        return CONF_OK;
}

Conf::ConfResult ConfImpl::get(const std::string &name, std::string &value) const {
        auto read = [&](char *to, size_t *size) {
                return conf_ ? rd_kafka_conf_get(conf_, name.c_str(), to, size)
                             : rd_kafka_topic_conf_get(topic_conf_, name.c_str(), to, size);
        };
        size_t size = 0;
        rd_kafka_conf_res_t result = read(nullptr, &size);
        if (result != RD_KAFKA_CONF_OK)
                return result_of(result);
        std::vector<char> text(size + 1);
        size = text.size();
        result = read(text.data(), &size);
        if (result == RD_KAFKA_CONF_OK)
                value = text.data();
        return result_of(result);
}

template <class Object>
Conf::ConfResult ConfImpl::get_global(Object *const Callbacks::*member, Object *&object) const {
        if (!conf_)
                return CONF_INVALID;
        object = callbacks_.*member;
        return CONF_OK;
}

Conf::ConfResult ConfImpl::get(RdKafka::DeliveryReportCb *&cb) const {
        return get_global(&Callbacks::dr, cb);
}

Conf::ConfResult ConfImpl::get(RdKafka::OAuthBearerTokenRefreshCb *&cb) const {
        return get_global(&Callbacks::token_refresh, cb);
}

Conf::ConfResult ConfImpl::get(RdKafka::EventCb *&cb) const {
        return get_global(&Callbacks::event, cb);
}

Conf::ConfResult ConfImpl::get(RdKafka::PartitionerCb *&cb) const {
        if (!topic_conf_)
                return CONF_INVALID;
        cb = partitioners_.plain;
        return CONF_OK;
}

Conf::ConfResult ConfImpl::get(RdKafka::PartitionerKeyPointerCb *&cb) const {
        if (!topic_conf_)
                return CONF_INVALID;
        cb = partitioners_.key_pointer;
        return CONF_OK;
}

Conf::ConfResult ConfImpl::get(RdKafka::SocketCb *&cb) const {
        return get_global(&Callbacks::socket, cb);
}

Conf::ConfResult ConfImpl::get(RdKafka::OpenCb *&cb) const {
        return get_global(&Callbacks::open, cb);
}

Conf::ConfResult ConfImpl::get(RdKafka::RebalanceCb *&cb) const {
        return get_global(&Callbacks::rebalance, cb);
}

Conf::ConfResult ConfImpl::get(RdKafka::OffsetCommitCb *&cb) const {
        return get_global(&Callbacks::offset_commit, cb);
}

Conf::ConfResult ConfImpl::get(RdKafka::SslCertificateVerifyCb *&cb) const {
        return get_global(&Callbacks::ssl_cert_verify, cb);
}

std::list<std::string> *ConfImpl::dump() {
        std::unique_ptr<std::list<std::string>> list(new std::list<std::string>);
        size_t cnt = 0;
        const char **texts = conf_ ? rd_kafka_conf_dump(conf_, &cnt)
                                   : rd_kafka_topic_conf_dump(topic_conf_, &cnt);
        for (size_t i = 0; i < cnt; i++)
                list->push_back(texts[i]);
        rd_kafka_conf_dump_free(texts, cnt);
        return list.release();
}

struct rd_kafka_conf_s *ConfImpl::c_ptr_global() {
        return conf_;
}

struct rd_kafka_topic_conf_s *ConfImpl::c_ptr_topic() {
        return topic_conf_;
}

}  // namespace ottla

RdKafka::Conf *RdKafka::Conf::create(ConfType type) {
        return new ottla::ConfImpl(type);
}
