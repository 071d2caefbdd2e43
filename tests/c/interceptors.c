/* Interceptors: of a configuration and its copies, of a producer, of a consumer. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>

#include "test.h"

static rd_kafka_t *cluster;
static char servers[512];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* The calls of one interceptor. */
struct seen {
        int conf_set, conf_dup, conf_destroy, filter_cnt, news, destroys;
        int sent, acknowledged, failed, consumed, commits, committed_rows;
        int requests, responses, bad_exchanges, produce_requests, up, down;
        int thread_starts[2], thread_exits[2], wrong_threads;
        int after_destroy;
        pthread_t app;
        rd_kafka_t *rk;
        int64_t offset;
        char header[64];
};

static struct seen seen;
static char order[64];
static int log_lines;

static struct seen look(void) {
        struct seen s;
        pthread_mutex_lock(&lock);
        s = seen;
        pthread_mutex_unlock(&lock);
        return s;
}

static void forget(void) {
        memset(&seen, 0, sizeof(seen));
        seen.app = pthread_self();
        order[0] = '\0';
        log_lines = 0;
}

#define NOTE(opaque, what)                                                                         \
        do {                                                                                       \
                pthread_mutex_lock(&lock);                                                         \
                ((struct seen *)(opaque))->after_destroy += ((struct seen *)(opaque))->destroys > 0; \
                what;                                                                              \
                pthread_mutex_unlock(&lock);                                                       \
        } while (0)

static rd_kafka_resp_err_t on_send(rd_kafka_t *rk, rd_kafka_message_t *m, void *opaque) {
        rd_kafka_headers_t *headers = NULL;
        if (rd_kafka_message_headers(m, &headers)) {
                headers = rd_kafka_headers_new(1);
                rd_kafka_message_set_headers(m, headers);
        }
        rd_kafka_header_add(headers, "trace", -1, "on", 2);
        NOTE(opaque, {
                seen.sent++;
                seen.wrong_threads += !pthread_equal(seen.app, pthread_self());
                strcat(order, "a");
        });
        return rd_kafka_type(rk) == RD_KAFKA_PRODUCER ? RD_KAFKA_RESP_ERR_NO_ERROR
                                                      : RD_KAFKA_RESP_ERR__FAIL;
}

static rd_kafka_resp_err_t on_send_second(rd_kafka_t *rk, rd_kafka_message_t *m, void *opaque) {
        (void)rk;
        (void)m;
        NOTE(opaque, strcat(order, "b"));
        /* Logged, and nothing else. */
        return RD_KAFKA_RESP_ERR__INVALID_TYPE;
}

static rd_kafka_resp_err_t on_acknowledgement(rd_kafka_t *rk, rd_kafka_message_t *m, void *opaque) {
        rd_kafka_headers_t *headers;
        const void *value = "";
        size_t size = 0;
        (void)rk;
        if (!rd_kafka_message_headers(m, &headers))
                rd_kafka_header_get_last(headers, "trace", &value, &size);
        NOTE(opaque, {
                seen.acknowledged++;
                seen.failed += m->err != 0;
                seen.offset = m->offset;
                snprintf(seen.header, sizeof(seen.header), "%s", (const char *)value);
        });
        return RD_KAFKA_RESP_ERR_NO_ERROR;
}

static rd_kafka_resp_err_t on_consume(rd_kafka_t *rk, rd_kafka_message_t *m, void *opaque) {
        (void)rk;
        NOTE(opaque, {
                seen.consumed++;
                seen.failed += m->err != 0 || !rd_kafka_topic_name(m->rkt);
        });
        return RD_KAFKA_RESP_ERR_NO_ERROR;
}

static rd_kafka_resp_err_t on_commit(rd_kafka_t *rk,
                                     const rd_kafka_topic_partition_list_t *offsets,
                                     rd_kafka_resp_err_t err,
                                     void *opaque) {
        (void)rk;
        NOTE(opaque, {
                seen.commits++;
                seen.failed += err != 0;
                seen.committed_rows += offsets->cnt;
                seen.offset = offsets->elems[0].offset;
        });
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
        (void)rk;
        NOTE(opaque, {
                seen.requests++;
                seen.produce_requests += ApiKey == 0;
                seen.bad_exchanges += sockfd < 3 || !strchr(brokername, ':') || brokerid < -1 ||
                                      ApiVersion < 0 || CorrId < 1 || size < 12;
        });
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
        (void)rk;
        NOTE(opaque, {
                seen.responses++;
                seen.bad_exchanges += sockfd < 3 || !strchr(brokername, '/') || brokerid < -1 ||
                                      ApiKey < 0 || ApiVersion < 0 || CorrId < 1 || size < 8 ||
                                      rtt < 0 || rtt > 60000000 || err;
        });
        return RD_KAFKA_RESP_ERR_NO_ERROR;
}

static rd_kafka_resp_err_t
on_thread_start(rd_kafka_t *rk, rd_kafka_thread_type_t type, const char *name, void *opaque) {
        (void)rk;
        NOTE(opaque, {
                seen.thread_starts[type]++;
                seen.wrong_threads += pthread_equal(seen.app, pthread_self());
                seen.wrong_threads +=
                        strcmp(name, type == RD_KAFKA_THREAD_MAIN ? "main" : "background") != 0;
        });
        return RD_KAFKA_RESP_ERR_NO_ERROR;
}

static rd_kafka_resp_err_t
on_thread_exit(rd_kafka_t *rk, rd_kafka_thread_type_t type, const char *name, void *opaque) {
        (void)rk;
        (void)name;
        NOTE(opaque, {
                seen.thread_exits[type]++;
                seen.wrong_threads += pthread_equal(seen.app, pthread_self());
        });
        return RD_KAFKA_RESP_ERR_NO_ERROR;
}

static rd_kafka_resp_err_t on_broker_state_change(rd_kafka_t *rk,
                                                  int32_t broker_id,
                                                  const char *secproto,
                                                  const char *name,
                                                  int port,
                                                  const char *state,
                                                  void *opaque) {
        (void)rk;
        NOTE(opaque, {
                seen.up += !strcmp(state, "UP");
                seen.down += !strcmp(state, "DOWN");
                seen.bad_exchanges +=
                        broker_id < -1 || strcmp(secproto, "plaintext") || !name[0] || port < 1;
        });
        return RD_KAFKA_RESP_ERR_NO_ERROR;
}

static rd_kafka_resp_err_t on_destroy(rd_kafka_t *rk, void *opaque) {
        NOTE(opaque, {
                seen.failed += rk != seen.rk;
                seen.destroys++;
        });
        return RD_KAFKA_RESP_ERR_NO_ERROR;
}

/* Adds everything, each twice. */
static rd_kafka_resp_err_t on_new(rd_kafka_t *rk,
                                  const rd_kafka_conf_t *conf,
                                  void *opaque,
                                  char *errstr,
                                  size_t errstr_size) {
        int round;
        (void)conf;
        seen.news++;
        seen.rk = rk;
        for (round = 0; round < 2; round++) {
                rd_kafka_resp_err_t want =
                        round ? RD_KAFKA_RESP_ERR__CONFLICT : RD_KAFKA_RESP_ERR_NO_ERROR;
#define ADD(what)                                                                                  \
        CHECK_ERR(rd_kafka_interceptor_add_##what(rk, "test", what, opaque), want)
                ADD(on_destroy);
                ADD(on_send);
                ADD(on_acknowledgement);
                ADD(on_consume);
                ADD(on_commit);
                ADD(on_request_sent);
                ADD(on_response_received);
                ADD(on_thread_start);
                ADD(on_thread_exit);
                ADD(on_broker_state_change);
#undef ADD
        }
        CHECK_OK(rd_kafka_interceptor_add_on_send(rk, "test", on_send_second, opaque));
        /* The same function under another name is another interceptor's. */
        CHECK_OK(rd_kafka_interceptor_add_on_send(rk, "other", on_send_second, opaque));
        CHECK_ERR(rd_kafka_interceptor_add_on_send(rk, NULL, on_send, opaque),
                  RD_KAFKA_RESP_ERR__INVALID_ARG);
        CHECK_ERR(rd_kafka_interceptor_add_on_send(rk, "test", NULL, opaque),
                  RD_KAFKA_RESP_ERR__INVALID_ARG);
        snprintf(errstr, errstr_size, "not today");
        return RD_KAFKA_RESP_ERR__CONFLICT;
}

static rd_kafka_conf_res_t on_conf_set(rd_kafka_conf_t *conf,
                                       const char *name,
                                       const char *val,
                                       char *errstr,
                                       size_t errstr_size,
                                       void *opaque) {
        ((struct seen *)opaque)->conf_set++;
        if (!strcmp(name, "test.answer")) {
                if (val && !strcmp(val, "42"))
                        return RD_KAFKA_CONF_OK;
                snprintf(errstr, errstr_size, "the answer is 42");
                return RD_KAFKA_CONF_INVALID;
        }
        /* An interceptor's property that sets one of the library's. */
        if (!strcmp(name, "test.speed"))
                return rd_kafka_conf_set(conf, "linger.ms", "7", errstr, errstr_size);
        return RD_KAFKA_CONF_UNKNOWN;
}

static rd_kafka_resp_err_t on_conf_destroy(void *opaque) {
        ((struct seen *)opaque)->conf_destroy++;
        return RD_KAFKA_RESP_ERR_NO_ERROR;
}

static rd_kafka_resp_err_t on_conf_dup(rd_kafka_conf_t *new_conf,
                                       const rd_kafka_conf_t *old_conf,
                                       size_t filter_cnt,
                                       const char **filter,
                                       void *opaque);

static void intercept(rd_kafka_conf_t *conf, struct seen *s) {
        CHECK_OK(rd_kafka_conf_interceptor_add_on_conf_set(conf, "test", on_conf_set, s));
        CHECK_OK(rd_kafka_conf_interceptor_add_on_conf_dup(conf, "test", on_conf_dup, s));
        CHECK_OK(rd_kafka_conf_interceptor_add_on_conf_destroy(conf, "test", on_conf_destroy, s));
        CHECK_OK(rd_kafka_conf_interceptor_add_on_new(conf, "test", on_new, s));
}

static struct seen copies;

static rd_kafka_resp_err_t on_conf_dup(rd_kafka_conf_t *new_conf,
                                       const rd_kafka_conf_t *old_conf,
                                       size_t filter_cnt,
                                       const char **filter,
                                       void *opaque) {
        struct seen *s = opaque;
        char value[64];
        size_t size = sizeof(value);
        s->conf_dup++;
        s->filter_cnt = (int)filter_cnt;
        s->failed += filter_cnt && strcmp(filter[filter_cnt - 1], "batch.num");
        /* The old one is whole, the new one is empty. */
        s->failed += rd_kafka_conf_get(old_conf, "client.id", value, &size) || strcmp(value, "old");
        size = sizeof(value);
        s->failed += rd_kafka_conf_get(new_conf, "client.id", value, &size) || !strcmp(value, "old");
        test_set(new_conf, "client.rack", "set while copying");
        intercept(new_conf, &copies);
        return RD_KAFKA_RESP_ERR__FAIL;
}

static void check_value(rd_kafka_conf_t *conf, const char *name, const char *want) {
        char value[64] = "";
        size_t size = sizeof(value);
        CHECK_INT(rd_kafka_conf_get(conf, name, value, &size), RD_KAFKA_CONF_OK);
        CHECK_STR(value, want);
}

static void properties_are_offered_to_interceptors_first(void) {
        rd_kafka_conf_t *conf = rd_kafka_conf_new();
        char errstr[128] = "";

        forget();
        intercept(conf, &seen);
        CHECK_ERR(rd_kafka_conf_interceptor_add_on_conf_set(conf, "test", on_conf_set, &copies),
                  RD_KAFKA_RESP_ERR__CONFLICT);
        CHECK_ERR(rd_kafka_conf_interceptor_add_on_conf_dup(conf, "test", on_conf_dup, &copies),
                  RD_KAFKA_RESP_ERR__CONFLICT);
        CHECK_ERR(rd_kafka_conf_interceptor_add_on_new(conf, "test", on_new, &copies),
                  RD_KAFKA_RESP_ERR__CONFLICT);
        CHECK_OK(rd_kafka_conf_interceptor_add_on_conf_destroy(conf, "test", on_conf_destroy, &seen));
        CHECK_INT(rd_kafka_conf_set(conf, "test.answer", "42", NULL, 0), RD_KAFKA_CONF_OK);
        CHECK_INT(rd_kafka_conf_set(conf, "test.answer", "43", errstr, sizeof(errstr)),
                  RD_KAFKA_CONF_INVALID);
        CHECK_STR(errstr, "the answer is 42");
        CHECK_INT(rd_kafka_conf_set(conf, "test.answer", NULL, NULL, 0), RD_KAFKA_CONF_INVALID);
        CHECK_INT(seen.conf_set, 3);
        CHECK_INT(rd_kafka_conf_set(conf, "test.question", "?", NULL, 0), RD_KAFKA_CONF_UNKNOWN);
        test_set(conf, "test.speed", "high");
        check_value(conf, "linger.ms", "7");
        test_set(conf, "linger.ms", "8");
        check_value(conf, "linger.ms", "8");
        CHECK_INT(seen.conf_destroy, 0);
        rd_kafka_conf_destroy(conf);
        CHECK_INT(seen.conf_destroy, 2);
        CHECK_INT(seen.news, 0);
}

static void on_conf_dup_interceptors_on_copies(void) {
        rd_kafka_conf_t *conf = rd_kafka_conf_new(), *whole, *filtered, *second;
        const char *filter[] = {"test.", "batch.num"};

        forget();
        memset(&copies, 0, sizeof(copies));
        intercept(conf, &seen);
        test_set(conf, "client.id", "old");
        test_set(conf, "batch.num.messages", "9");
        test_set(conf, "test.answer", "42");
        CHECK_INT(seen.conf_set, 3);
        whole = rd_kafka_conf_dup(conf);
        CHECK_INT(seen.conf_dup, 1);
        CHECK_INT(seen.filter_cnt, 0);
        check_value(whole, "client.id", "old");
        check_value(whole, "batch.num.messages", "9");
        check_value(whole, "client.rack", "set while copying");
        /* The copy's interceptors are offered all that was set after the old one's were added. */
        CHECK_INT(copies.conf_set, 3);
        filtered = rd_kafka_conf_dup_filter(conf, 2, filter);
        CHECK_INT(seen.conf_dup, 2);
        CHECK_INT(seen.filter_cnt, 2);
        check_value(filtered, "client.id", "old");
        check_value(filtered, "batch.num.messages", "10000");
        CHECK_INT(copies.conf_set, 4);
        second = rd_kafka_conf_dup(whole);
        CHECK_INT(copies.conf_dup, 1);
        CHECK_INT(seen.failed + copies.failed, 0);
        rd_kafka_conf_destroy(conf);
        CHECK_INT(seen.conf_destroy, 1);
        rd_kafka_conf_destroy(whole);
        rd_kafka_conf_destroy(filtered);
        rd_kafka_conf_destroy(second);
        CHECK_INT(copies.conf_destroy, 3);
}

static void on_log(const rd_kafka_t *rk, int level, const char *fac, const char *buf) {
        (void)rk;
        if (level == 4 && !strcmp(fac, "ICFAIL")) {
                pthread_mutex_lock(&lock);
                log_lines += strstr(buf, "test") || strstr(buf, "other");
                log_lines += strstr(buf, "not today") != NULL;
                pthread_mutex_unlock(&lock);
        }
}

static void on_event(rd_kafka_t *rk, rd_kafka_event_t *event, void *opaque) {
        (void)rk;
        (void)opaque;
        rd_kafka_event_destroy(event);
}

static void producer_interceptors_are_called(void) {
        rd_kafka_conf_t *conf = rd_kafka_conf_new();
        rd_kafka_headers_t *headers = rd_kafka_headers_new(1);
        rd_kafka_resp_err_t err;
        rd_kafka_t *rk;
        char errstr[128];
        int i, refused = 0, *given;

        forget();
        intercept(conf, &seen);
        test_set(conf, "bootstrap.servers", servers);
        test_set(conf, "queue.buffering.max.messages", "20");
        test_set(conf, "linger.ms", "20000");
        rd_kafka_conf_set_log_cb(conf, on_log);
        rd_kafka_conf_set_background_event_cb(conf, on_event);
        rk = test_client(RD_KAFKA_PRODUCER, conf);
        CHECK_INT(seen.news, 1);
        CHECK_INT(log_lines, 2);
        CHECK_ERR(rd_kafka_interceptor_add_on_send(rk, "late", on_send, &seen),
                  RD_KAFKA_RESP_ERR__STATE);

        CHECK_OK(rd_kafka_producev(rk, RD_KAFKA_V_TOPIC("seen"), RD_KAFKA_V_PARTITION(0),
                                   RD_KAFKA_V_VALUE("x", 1), RD_KAFKA_V_END));
        CHECK_STR(order, "abb");
        CHECK_INT(log_lines, 4);
        rd_kafka_header_add(headers, "own", -1, "value", -1);
        CHECK_OK(rd_kafka_producev(rk, RD_KAFKA_V_TOPIC("seen"), RD_KAFKA_V_PARTITION(0),
                                   RD_KAFKA_V_HEADERS(headers), RD_KAFKA_V_END));
        /* A large value whose ownership passes to the library. */
        given = calloc(1, 100000);
        CHECK_OK(rd_kafka_producev(rk, RD_KAFKA_V_TOPIC("seen"), RD_KAFKA_V_PARTITION(0),
                                   RD_KAFKA_V_VALUE(given, 100000),
                                   RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_FREE), RD_KAFKA_V_END));
        for (i = 3; i < 25; i++) {
                order[0] = '\0';
                err = rd_kafka_producev(rk, RD_KAFKA_V_TOPIC("seen"), RD_KAFKA_V_PARTITION(0),
                                        RD_KAFKA_V_VALUE("y", 1), RD_KAFKA_V_END);
                refused += err == RD_KAFKA_RESP_ERR__QUEUE_FULL;
        }
        CHECK_INT(refused, 5);
        CHECK_INT(look().sent, 25);
        CHECK_INT(look().acknowledged, 5);
        CHECK_INT(look().failed, 5);
        CHECK_STR(seen.header, "on");
        CHECK_OK(rd_kafka_flush(rk, 20000));
        CHECK_INT(look().acknowledged, 25);
        CHECK_INT(look().failed, 5);
        CHECK_INT(look().offset, 19);
        CHECK_STR(seen.header, "on");

        CHECK_INT(seen.thread_starts[RD_KAFKA_THREAD_MAIN], 1);
        /* The background thread had nothing to do so far. */
        for (i = 0; !look().thread_starts[RD_KAFKA_THREAD_BACKGROUND] && i < 2000; i++)
                test_sleep_ms(5);
        CHECK_INT(look().thread_starts[RD_KAFKA_THREAD_BACKGROUND], 1);
        CHECK_INT(look().thread_exits[RD_KAFKA_THREAD_MAIN], 0);
        CHECK(look().up >= 2);
        CHECK(look().produce_requests >= 1);
        CHECK(look().responses >= 3);
        CHECK(look().requests >= look().responses);
        CHECK_INT(seen.conf_destroy, 0);
        rd_kafka_destroy(rk);
        CHECK_INT(seen.thread_exits[RD_KAFKA_THREAD_MAIN], 1);
        CHECK_INT(seen.thread_exits[RD_KAFKA_THREAD_BACKGROUND], 1);
        CHECK_INT(seen.destroys, 1);
        CHECK_INT(seen.conf_destroy, 1);
        CHECK_INT(seen.bad_exchanges, 0);
        CHECK_INT(seen.wrong_threads, 0);
        CHECK_INT(seen.after_destroy, 0);
        CHECK_INT(seen.failed, 5);

        /* A client that cannot be made: its interceptors end, the configuration stays the caller's. */
        forget();
        conf = test_conf();
        intercept(conf, &seen);
        test_set(conf, "security.protocol", "sasl_plaintext");
        test_set(conf, "sasl.mechanisms", "PLAIN");
        CHECK(rd_kafka_new(RD_KAFKA_PRODUCER, conf, errstr, sizeof(errstr)) == NULL);
        CHECK_INT(seen.news, seen.destroys);
        CHECK_INT(seen.conf_destroy, 0);
        rd_kafka_conf_destroy(conf);
        CHECK_INT(seen.conf_destroy, 1);
}

static void consumer_interceptors_are_called(void) {
        rd_kafka_conf_t *conf = test_conf();
        rd_kafka_topic_partition_list_t *parts = rd_kafka_topic_partition_list_new(1);
        rd_kafka_message_t *m, *batch[8];
        rd_kafka_headers_t *headers;
        rd_kafka_queue_t *queue;
        rd_kafka_t *rk;
        ssize_t i, n;
        int got = 0, eof = 0;

        CHECK_INT(test_produce(cluster, "read", 0, 0, 20), 0);
        forget();
        intercept(conf, &seen);
        test_set(conf, "bootstrap.servers", servers);
        test_set(conf, "group.id", "watched");
        test_set(conf, "enable.partition.eof", "true");
        test_set(conf, "enable.auto.commit", "false");
        rk = test_client(RD_KAFKA_CONSUMER, conf);
        rd_kafka_poll_set_consumer(rk);
        rd_kafka_topic_partition_list_add(parts, "read", 0)->offset = 5;
        CHECK_OK(rd_kafka_assign(rk, parts));
        while (got < 3 && (m = rd_kafka_consumer_poll(rk, 10000))) {
                got += !m->err;
                CHECK_INT(look().consumed, got);
                rd_kafka_message_destroy(m);
        }
        queue = rd_kafka_queue_get_consumer(rk);
        while (got < 15 && (n = rd_kafka_consume_batch_queue(queue, 10000, batch, 8)) > 0)
                for (i = 0; i < n; i++) {
                        got += !batch[i]->err;
                        eof += batch[i]->err == RD_KAFKA_RESP_ERR__PARTITION_EOF;
                        rd_kafka_message_destroy(batch[i]);
                }
        CHECK_INT(got, 15);
        /* The end of the partition is no message. */
        CHECK_INT(look().consumed, 15);
        rd_kafka_queue_destroy(queue);
        parts->elems[0].offset = 11;
        CHECK_OK(rd_kafka_commit(rk, parts, 0));
        CHECK_INT(look().commits, 1);
        CHECK_INT(look().committed_rows, 1);
        CHECK_INT(look().offset, 11);
        rd_kafka_consumer_close(rk);
        rd_kafka_destroy(rk);
        CHECK_INT(seen.failed, 0);
        CHECK_INT(seen.destroys, 1);
        CHECK_INT(seen.after_destroy, 0);
        rd_kafka_topic_partition_list_destroy(parts);

        /* The header that the producer's interceptor added is in the log. */
        rk = test_consumer(servers, "reader");
        parts = rd_kafka_topic_partition_list_new(1);
        rd_kafka_topic_partition_list_add(parts, "seen", 0)->offset = 1;
        CHECK_OK(rd_kafka_assign(rk, parts));
        m = rd_kafka_consumer_poll(rk, 10000);
        REQUIRE(m && !m->err);
        CHECK_OK(rd_kafka_message_headers(m, &headers));
        CHECK_INT(rd_kafka_header_cnt(headers), 2);
        rd_kafka_message_destroy(m);
        rd_kafka_topic_partition_list_destroy(parts);
        rd_kafka_destroy(rk);
}

int main(void) {
        cluster = test_cluster(NULL, servers, sizeof(servers));
        RUN(properties_are_offered_to_interceptors_first);
        RUN(on_conf_dup_interceptors_on_copies);
        RUN(producer_interceptors_are_called);
        RUN(consumer_interceptors_are_called);
        rd_kafka_destroy(cluster);
        return test_end();
}
