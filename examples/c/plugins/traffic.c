/*
 * traffic.so: a plugin that counts what a client sends and receives, and says so when the client
 * ends. No program has to be changed for it:
 *
 *     plugin.library.paths=/path/to/traffic.so
 *     traffic.file=/tmp/traffic.txt             (optional: a file to append to, instead of stderr)
 *
 *     cc -std=c99 -O2 -shared -fPIC -I include examples/c/plugins/traffic.c -o traffic.so
 *
 * A plugin exports conf_init(), which adds interceptors to the configuration that names it. The
 * library's functions need not be linked in: they are those of the program that loads the plugin.
 */

#define _POSIX_C_SOURCE 200809L
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rdkafka.h>

#define NAME "traffic"

/* The counters of one client. Interceptors are called on several threads. */
struct counts {
        pthread_mutex_t lock;
        char *file;
        uint64_t sent, sent_bytes, delivered, failed, consumed, consumed_bytes;
        uint64_t commits, requests, request_bytes, responses, response_bytes, rtt_us, connections;
};

/* One for each configuration: the file that its client is to write to. */
struct settings {
        char *file;
};

static rd_kafka_resp_err_t on_send(rd_kafka_t *rk, rd_kafka_message_t *m, void *opaque) {
        struct counts *c = opaque;
        (void)rk;
        pthread_mutex_lock(&c->lock);
        c->sent++;
        c->sent_bytes += m->len + m->key_len;
        pthread_mutex_unlock(&c->lock);
        return RD_KAFKA_RESP_ERR_NO_ERROR;
}

static rd_kafka_resp_err_t on_acknowledgement(rd_kafka_t *rk, rd_kafka_message_t *m, void *opaque) {
        struct counts *c = opaque;
        (void)rk;
        pthread_mutex_lock(&c->lock);
        if (m->err)
                c->failed++;
        else
                c->delivered++;
        pthread_mutex_unlock(&c->lock);
        return RD_KAFKA_RESP_ERR_NO_ERROR;
}

static rd_kafka_resp_err_t on_consume(rd_kafka_t *rk, rd_kafka_message_t *m, void *opaque) {
        struct counts *c = opaque;
        (void)rk;
        pthread_mutex_lock(&c->lock);
        c->consumed++;
        c->consumed_bytes += m->len + m->key_len;
        pthread_mutex_unlock(&c->lock);
        return RD_KAFKA_RESP_ERR_NO_ERROR;
}

static rd_kafka_resp_err_t on_commit(rd_kafka_t *rk,
                                     const rd_kafka_topic_partition_list_t *offsets,
                                     rd_kafka_resp_err_t err,
                                     void *opaque) {
        struct counts *c = opaque;
        (void)rk;
        (void)offsets;
        (void)err;
        pthread_mutex_lock(&c->lock);
        c->commits++;
        pthread_mutex_unlock(&c->lock);
        return RD_KAFKA_RESP_ERR_NO_ERROR;
}

static rd_kafka_resp_err_t on_request_sent(rd_kafka_t *rk,
                                           int sockfd,
                                           const char *brokername,
                                           int32_t brokerid,
                                           int16_t ApiKey,
                                           int16_t ApiVersion,
                                           int32_t CorrId,
                                           size_t size,
                                           void *opaque) {
        struct counts *c = opaque;
        (void)rk, (void)sockfd, (void)brokername, (void)brokerid;
        (void)ApiKey, (void)ApiVersion, (void)CorrId;
        pthread_mutex_lock(&c->lock);
        c->requests++;
        c->request_bytes += size;
        pthread_mutex_unlock(&c->lock);
        return RD_KAFKA_RESP_ERR_NO_ERROR;
}

static rd_kafka_resp_err_t on_response_received(rd_kafka_t *rk,
                                                int sockfd,
                                                const char *brokername,
                                                int32_t brokerid,
                                                int16_t ApiKey,
                                                int16_t ApiVersion,
                                                int32_t CorrId,
                                                size_t size,
                                                int64_t rtt,
                                                rd_kafka_resp_err_t err,
                                                void *opaque) {
        struct counts *c = opaque;
        (void)rk, (void)sockfd, (void)brokername, (void)brokerid;
        (void)ApiKey, (void)ApiVersion, (void)CorrId, (void)err;
        pthread_mutex_lock(&c->lock);
        c->responses++;
        c->response_bytes += size;
        c->rtt_us += rtt > 0 ? (uint64_t)rtt : 0;
        pthread_mutex_unlock(&c->lock);
        return RD_KAFKA_RESP_ERR_NO_ERROR;
}

static rd_kafka_resp_err_t on_broker_state_change(rd_kafka_t *rk,
                                                  int32_t broker_id,
                                                  const char *secproto,
                                                  const char *name,
                                                  int port,
                                                  const char *state,
                                                  void *opaque) {
        struct counts *c = opaque;
        (void)rk, (void)broker_id, (void)secproto, (void)name, (void)port;
        pthread_mutex_lock(&c->lock);
        c->connections += !strcmp(state, "APIVERSION_QUERY");
        pthread_mutex_unlock(&c->lock);
        return RD_KAFKA_RESP_ERR_NO_ERROR;
}

/* The client's threads have ended: no other thread counts. */
static rd_kafka_resp_err_t on_destroy(rd_kafka_t *rk, void *opaque) {
        struct counts *c = opaque;
        FILE *to = c->file ? fopen(c->file, "a") : stderr;
        (void)rk;
        if (to) {
                fprintf(to,
                        "traffic: %" PRIu64 " messages sent (%" PRIu64 " bytes), %" PRIu64
                        " delivered, %" PRIu64 " failed; %" PRIu64 " consumed (%" PRIu64
                        " bytes), %" PRIu64 " commits; %" PRIu64 " connections, %" PRIu64
                        " requests (%" PRIu64 " bytes), %" PRIu64 " responses (%" PRIu64
                        " bytes), %.3f ms round trip\n",
                        c->sent, c->sent_bytes, c->delivered, c->failed, c->consumed,
                        c->consumed_bytes, c->commits, c->connections, c->requests, c->request_bytes,
                        c->responses, c->response_bytes,
                        c->responses ? (double)c->rtt_us / (double)c->responses / 1000 : 0.0);
                if (to != stderr)
                        fclose(to);
        }
        pthread_mutex_destroy(&c->lock);
        free(c->file);
        free(c);
        return RD_KAFKA_RESP_ERR_NO_ERROR;
}

static rd_kafka_resp_err_t on_new(rd_kafka_t *rk,
                                  const rd_kafka_conf_t *conf,
                                  void *opaque,
                                  char *errstr,
                                  size_t errstr_size) {
        const struct settings *settings = opaque;
        struct counts *c = calloc(1, sizeof(*c));
        rd_kafka_resp_err_t err;
        (void)conf;
        if (!c) {
                snprintf(errstr, errstr_size, "out of memory");
                return RD_KAFKA_RESP_ERR__CRIT_SYS_RESOURCE;
        }
        pthread_mutex_init(&c->lock, NULL);
        c->file = settings->file ? strdup(settings->file) : NULL;
        if (!(err = rd_kafka_interceptor_add_on_destroy(rk, NAME, on_destroy, c)) &&
            !(err = rd_kafka_interceptor_add_on_send(rk, NAME, on_send, c)) &&
            !(err = rd_kafka_interceptor_add_on_acknowledgement(rk, NAME, on_acknowledgement, c)) &&
            !(err = rd_kafka_interceptor_add_on_consume(rk, NAME, on_consume, c)) &&
            !(err = rd_kafka_interceptor_add_on_commit(rk, NAME, on_commit, c)) &&
            !(err = rd_kafka_interceptor_add_on_request_sent(rk, NAME, on_request_sent, c)) &&
            !(err = rd_kafka_interceptor_add_on_response_received(rk, NAME, on_response_received,
                                                                  c)))
                err = rd_kafka_interceptor_add_on_broker_state_change(rk, NAME,
                                                                      on_broker_state_change, c);
        return err;
}

static rd_kafka_conf_res_t on_conf_set(rd_kafka_conf_t *conf,
                                       const char *name,
                                       const char *val,
                                       char *errstr,
                                       size_t errstr_size,
                                       void *opaque) {
        struct settings *settings = opaque;
        (void)conf;
        if (strcmp(name, "traffic.file"))
                return strncmp(name, "traffic.", 8) ? RD_KAFKA_CONF_UNKNOWN : RD_KAFKA_CONF_INVALID;
        if (!val || !val[0]) {
                if (errstr)
                        snprintf(errstr, errstr_size, "traffic.file is the name of a file");
                return RD_KAFKA_CONF_INVALID;
        }
        free(settings->file);
        settings->file = strdup(val);
        return RD_KAFKA_CONF_OK;
}

static rd_kafka_resp_err_t on_conf_destroy(void *opaque) {
        struct settings *settings = opaque;
        free(settings->file);
        free(settings);
        return RD_KAFKA_RESP_ERR_NO_ERROR;
}

/*
 * Called once for every configuration that names the plugin, copies included: plugins are loaded
 * again for a copy, so no on_conf_dup() is needed. If traffic.file was set on the old one, it is set
 * on the copy as well, through on_conf_set().
 */
RD_EXPORT rd_kafka_resp_err_t
conf_init(rd_kafka_conf_t *conf, void **plug_opaquep, char *errstr, size_t errstr_size) {
        struct settings *settings = calloc(1, sizeof(*settings));
        rd_kafka_resp_err_t err;
        (void)plug_opaquep;
        if (!settings) {
                snprintf(errstr, errstr_size, "out of memory");
                return RD_KAFKA_RESP_ERR__CRIT_SYS_RESOURCE;
        }
        err = rd_kafka_conf_interceptor_add_on_conf_set(conf, NAME, on_conf_set, settings);
        if (err) {
                /* The plugin is there already: this configuration names it twice. */
                free(settings);
                return RD_KAFKA_RESP_ERR_NO_ERROR;
        }
        rd_kafka_conf_interceptor_add_on_conf_destroy(conf, NAME, on_conf_destroy, settings);
        return rd_kafka_conf_interceptor_add_on_new(conf, NAME, on_new, settings);
}
