/* Creating clients; callbacks. */

#include "client.h"

#include <cerrno>
#include <cstdio>

#include "error.h"
#include "event.h"
#include "message.h"
#include "exception_guard.h"

namespace ottla {

namespace {

Client *client_of_opaque(void *opaque) {
        return static_cast<Client *>(opaque);
}

void on_delivery(rd_kafka_t *rk, const rd_kafka_message_t *m, void *opaque) {
        guarded(rk, "dr_cb", 0, [&] {
                MessageImpl message(const_cast<rd_kafka_message_t *>(m),
                                    MessageImpl::DELIVERED_LENT);
                client_of_opaque(opaque)->callbacks.dr->dr_cb(message);
                return 0;
        });
}

void on_consume(rd_kafka_message_t *m, void *opaque) {
        Client *client = client_of_opaque(opaque);
        guarded(client->handle->c_ptr(), "consume_cb", 0, [&] {
                MessageImpl message(m, MessageImpl::CONSUMED_LENT);
                client->callbacks.consume->consume_cb(message, client->handle);
                return 0;
        });
}

void on_rebalance(rd_kafka_t *rk,
                  rd_kafka_resp_err_t err,
                  rd_kafka_topic_partition_list_t *list,
                  void *opaque) {
        Client *client = client_of_opaque(opaque);
        guarded(rk, "rebalance_cb", 0, [&] {
                LentPartitions partitions(list);
                client->callbacks.rebalance->rebalance_cb(client->consumer, code_of(err),
                                                          partitions.lent);
                return 0;
        });
}

void on_offset_commit(rd_kafka_t *rk,
                      rd_kafka_resp_err_t err,
                      rd_kafka_topic_partition_list_t *offsets,
                      void *opaque) {
        offset_commit_to(rk, err, offsets, client_of_opaque(opaque)->callbacks.offset_commit);
}

/** Hands an event to the application. */
void tell(rd_kafka_t *rk, void *opaque, EventImpl &event) {
        guarded(rk, "event_cb", 0, [&] {
                client_of_opaque(opaque)->callbacks.event->event_cb(event);
                return 0;
        });
}

void on_error(rd_kafka_t *rk, int err, const char *reason, void *opaque) {
        EventImpl event(RdKafka::Event::EVENT_ERROR, reason);
        event.code = static_cast<ErrorCode>(err);
        if (err == RD_KAFKA_RESP_ERR__FATAL) {
                /* The cause of the fatal error. */
                char text[512] = "";
                event.is_fatal = true;
                event.code = code_of(rd_kafka_fatal_error(rk, text, sizeof(text)));
                event.text = text;
        }
        tell(rk, opaque, event);
}

void on_throttle(rd_kafka_t *rk,
                 const char *broker_name,
                 int32_t broker_id,
                 int throttle_time_ms,
                 void *opaque) {
        EventImpl event(RdKafka::Event::EVENT_THROTTLE, "");
        event.broker = broker_name;
        event.id = broker_id;
        event.delay_ms = throttle_time_ms;
        tell(rk, opaque, event);
}

int on_stats(rd_kafka_t *rk, char *json, size_t json_len, void *opaque) {
        EventImpl event(RdKafka::Event::EVENT_STATS, std::string(json, json_len));
        tell(rk, opaque, event);
        return 0;
}

void on_log(const rd_kafka_t *rk, int level, const char *fac, const char *buf) {
        Client *client = rk ? client_of(rk) : nullptr;
        if (!client) {
                rd_kafka_log_print(rk, level, fac, buf);
                return;
        }
        guarded(const_cast<rd_kafka_t *>(rk), "event_cb", 0, [&] {
                EventImpl event(RdKafka::Event::EVENT_LOG, buf);
                event.level = static_cast<RdKafka::Event::Severity>(level);
                event.facility = fac;
                client->callbacks.event->event_cb(event);
                return 0;
        }, Exceptions::OF_NONE);
}

int on_socket(int domain, int type, int protocol, void *opaque) {
        RdKafka::SocketCb *callback = client_of_opaque(opaque)->callbacks.socket;
        errno = ECANCELED;
        return guarded(nullptr, "socket_cb", -1, [&] {
                return callback->socket_cb(domain, type, protocol);
        }, Exceptions::OF_NONE);
}

int on_open(const char *path, int flags, mode_t mode, void *opaque) {
        RdKafka::OpenCb *callback = client_of_opaque(opaque)->callbacks.open;
        errno = ECANCELED;
        return guarded(nullptr, "open_cb", -1, [&] {
                return callback->open_cb(path, flags, static_cast<int>(mode));
        }, Exceptions::OF_NONE);
}

void on_token_refresh(rd_kafka_t *rk, const char *oauthbearer_config, void *opaque) {
        Client *client = client_of_opaque(opaque);
        guarded(rk, "oauthbearer_token_refresh_cb", 0, [&] {
                client->callbacks.token_refresh->oauthbearer_token_refresh_cb(
                    client->handle, oauthbearer_config ? oauthbearer_config : "");
                return 0;
        });
}

int on_ssl_cert_verify(rd_kafka_t *rk,
                       const char *broker_name,
                       int32_t broker_id,
                       int *x509_error,
                       int depth,
                       const char *buf,
                       size_t size,
                       char *errstr,
                       size_t errstr_size,
                       void *opaque) {
        const Callbacks &callbacks = client_of_opaque(opaque)->callbacks;
        std::string reason = "The callback threw an exception";
        bool accepted = guarded(rk, "ssl_cert_verify_cb", false, [&] {
                std::string given;
                bool answer = callbacks.ssl_cert_verify->ssl_cert_verify_cb(
                    broker_name, broker_id, x509_error, depth, buf, size, given);
                reason = given;
                return answer;
        }, Exceptions::OF_NONE);
        if (!accepted)
                snprintf(errstr, errstr_size, "%s", reason.c_str());
        return accepted;
}

void install(rd_kafka_conf_t *conf, const Callbacks &callbacks) {
        if (callbacks.dr)
                rd_kafka_conf_set_dr_msg_cb(conf, on_delivery);
        if (callbacks.event) {
                rd_kafka_conf_set_error_cb(conf, on_error);
                rd_kafka_conf_set_throttle_cb(conf, on_throttle);
                rd_kafka_conf_set_stats_cb(conf, on_stats);
                rd_kafka_conf_set_log_cb(conf, on_log);
        }
        if (callbacks.socket)
                rd_kafka_conf_set_socket_cb(conf, on_socket);
        if (callbacks.open)
                rd_kafka_conf_set_open_cb(conf, on_open);
        if (callbacks.rebalance)
                rd_kafka_conf_set_rebalance_cb(conf, on_rebalance);
        if (callbacks.offset_commit)
                rd_kafka_conf_set_offset_commit_cb(conf, on_offset_commit);
        if (callbacks.consume)
                rd_kafka_conf_set_consume_cb(conf, on_consume);
        if (callbacks.token_refresh)
                rd_kafka_conf_set_oauthbearer_token_refresh_cb(conf, on_token_refresh);
        if (callbacks.ssl_cert_verify)
                rd_kafka_conf_set_ssl_cert_verify_cb(conf, on_ssl_cert_verify);
}

}  // namespace

void offset_commit_to(rd_kafka_t *rk,
                      rd_kafka_resp_err_t err,
                      rd_kafka_topic_partition_list_t *offsets,
                      void *offset_commit_cb) {
        guarded(rk, "offset_commit_cb", 0, [&] {
                LentPartitions partitions(offsets);
                static_cast<RdKafka::OffsetCommitCb *>(offset_commit_cb)
                    ->offset_commit_cb(code_of(err), partitions.lent);
                return 0;
        });
}

rd_kafka_t *Client::open(rd_kafka_type_t type, const RdKafka::Conf *conf, std::string &errstr) {
        const ConfImpl *own = dynamic_cast<const ConfImpl *>(conf);
        if (conf && (!own || !own->conf())) {
                errstr = "A client needs a configuration of the type CONF_GLOBAL";
                return nullptr;
        }
        rd_kafka_conf_t *copy = own ? rd_kafka_conf_dup(own->conf()) : rd_kafka_conf_new();
        if (own) {
                callbacks = own->callbacks();
                topics.others.partitioners = own->partitioners();
        }
        install(copy, callbacks);
        rd_kafka_conf_set_opaque(copy, this);
        if (rd_kafka_topic_conf_t *topic_conf = rd_kafka_conf_get_default_topic_conf(copy)) {
                topics.others.partitioners.install(topic_conf);
                rd_kafka_topic_conf_set_opaque(topic_conf, &topics.others);
        }
        char text[512] = "";
        rd_kafka_t *rk = rd_kafka_new(type, copy, text, sizeof(text));
        if (!rk) {
                errstr = text;
                rd_kafka_conf_destroy(copy);
        }
        return rk;
}

}  // namespace ottla
