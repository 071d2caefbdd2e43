/* Conf. */

#ifndef OTTLA_CPP_CONF_H
#define OTTLA_CPP_CONF_H

#include <rdkafka.h>
#include <rdkafkacpp.h>

#include "topic.h"

namespace ottla {

/** The callback objects of a global configuration. */
struct Callbacks {
        RdKafka::DeliveryReportCb *dr = nullptr;
        RdKafka::OAuthBearerTokenRefreshCb *token_refresh = nullptr;
        RdKafka::EventCb *event = nullptr;
        RdKafka::SocketCb *socket = nullptr;
        RdKafka::OpenCb *open = nullptr;
        RdKafka::RebalanceCb *rebalance = nullptr;
        RdKafka::OffsetCommitCb *offset_commit = nullptr;
        RdKafka::SslCertificateVerifyCb *ssl_cert_verify = nullptr;
        RdKafka::ConsumeCb *consume = nullptr;
};

/** Exactly one of conf_ and topic_conf_ is not NULL. */
class ConfImpl : public RdKafka::Conf {
       public:
        explicit ConfImpl(ConfType type);
        ~ConfImpl() override;
        ConfImpl(const ConfImpl &) = delete;
        ConfImpl &operator=(const ConfImpl &) = delete;

        ConfResult
        set(const std::string &name, const std::string &value, std::string &errstr) override;
        ConfResult
        set(const std::string &name, RdKafka::DeliveryReportCb *cb, std::string &errstr) override;
        ConfResult set(const std::string &name,
                       RdKafka::OAuthBearerTokenRefreshCb *cb,
                       std::string &errstr) override;
        ConfResult
        set(const std::string &name, RdKafka::EventCb *cb, std::string &errstr) override;
        ConfResult
        set(const std::string &name, const Conf *topic_conf, std::string &errstr) override;
        ConfResult
        set(const std::string &name, RdKafka::PartitionerCb *cb, std::string &errstr) override;
        ConfResult set(const std::string &name,
                       RdKafka::PartitionerKeyPointerCb *cb,
                       std::string &errstr) override;
        ConfResult
        set(const std::string &name, RdKafka::SocketCb *cb, std::string &errstr) override;
        ConfResult set(const std::string &name, RdKafka::OpenCb *cb, std::string &errstr) override;
        ConfResult
        set(const std::string &name, RdKafka::RebalanceCb *cb, std::string &errstr) override;
        ConfResult
        set(const std::string &name, RdKafka::OffsetCommitCb *cb, std::string &errstr) override;
        ConfResult set(const std::string &name,
                       RdKafka::SslCertificateVerifyCb *cb,
                       std::string &errstr) override;
        ConfResult set_ssl_cert(RdKafka::CertificateType type,
                                RdKafka::CertificateEncoding encoding,
                                const void *buffer,
                                size_t size,
                                std::string &errstr) override;
        ConfResult get(const std::string &name, std::string &value) const override;
        ConfResult get(RdKafka::DeliveryReportCb *&cb) const override;
        ConfResult get(RdKafka::OAuthBearerTokenRefreshCb *&cb) const override;
        ConfResult get(RdKafka::EventCb *&cb) const override;
        ConfResult get(RdKafka::PartitionerCb *&cb) const override;
        ConfResult get(RdKafka::PartitionerKeyPointerCb *&cb) const override;
        ConfResult get(RdKafka::SocketCb *&cb) const override;
        ConfResult get(RdKafka::OpenCb *&cb) const override;
        ConfResult get(RdKafka::RebalanceCb *&cb) const override;
        ConfResult get(RdKafka::OffsetCommitCb *&cb) const override;
        ConfResult get(RdKafka::SslCertificateVerifyCb *&cb) const override;
        std::list<std::string> *dump() override;
        ConfResult
        set(const std::string &name, RdKafka::ConsumeCb *cb, std::string &errstr) override;
        struct rd_kafka_conf_s *c_ptr_global() override;
        struct rd_kafka_topic_conf_s *c_ptr_topic() override;
        ConfResult set_engine_callback_data(void *value, std::string &errstr) override;
        ConfResult enable_sasl_queue(bool enable, std::string &errstr) override;

        /** NULL for a topic configuration. */
        const rd_kafka_conf_t *conf() const {
                return conf_;
        }

        /** NULL for a global configuration. */
        const rd_kafka_topic_conf_t *topic_conf() const {
                return topic_conf_;
        }

        const Callbacks &callbacks() const {
                return callbacks_;
        }

        /** Of a topic configuration, or of the default topic configuration of a global one. */
        const Partitioners &partitioners() const {
                return partitioners_;
        }

       private:
        bool is_global(const char *wanted, std::string &errstr) const;
        template <class Object>
        ConfResult set_global(const char *wanted,
                              const std::string &name,
                              Object *Callbacks::*member,
                              Object *object,
                              std::string &errstr);
        template <class Object>
        ConfResult set_topic(const char *wanted,
                             const std::string &name,
                             Object *Partitioners::*member,
                             Object *object,
                             std::string &errstr);
        template <class Object>
        ConfResult get_global(Object *const Callbacks::*member, Object *&object) const;

        rd_kafka_conf_t *const conf_;
        rd_kafka_topic_conf_t *const topic_conf_;
        Callbacks callbacks_;
        Partitioners partitioners_;
};

}  // namespace ottla

#endif /* OTTLA_CPP_CONF_H */
