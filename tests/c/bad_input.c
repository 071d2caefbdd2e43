/* Errors of programs and networks: each must return an error in time and lose no message. */
#define _POSIX_C_SOURCE 200809L
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "test.h"

static rd_kafka_t *cluster;
static char servers[512];

static struct {
        int cnt, failed;
        rd_kafka_resp_err_t err;
} dr;

static void on_delivery(rd_kafka_t *rk, const rd_kafka_message_t *m, void *opaque) {
        (void)rk;
        (void)opaque;
        dr.cnt++;
        dr.failed += m->err != RD_KAFKA_RESP_ERR_NO_ERROR;
        dr.err = m->err;
}

static struct {
        int cnt;
        int codes[32];
        char reasons[32][256];
} errors;

static void on_error(rd_kafka_t *rk, int err, const char *reason, void *opaque) {
        (void)rk;
        (void)opaque;
        if (errors.cnt < 32) {
                errors.codes[errors.cnt] = err;
                snprintf(errors.reasons[errors.cnt], sizeof(errors.reasons[0]), "%s", reason);
        }
        errors.cnt++;
}

static int error_seen(int code) {
        int i;
        for (i = 0; i < errors.cnt && i < 32; i++)
                if (errors.codes[i] == code)
                        return 1;
        return 0;
}

static rd_kafka_t *producer(const char *brokers, const char *timeout_ms) {
        rd_kafka_conf_t *conf = test_conf();
        memset(&dr, 0, sizeof(dr));
        memset(&errors, 0, sizeof(errors));
        test_set(conf, "bootstrap.servers", brokers);
        test_set(conf, "message.timeout.ms", timeout_ms);
        rd_kafka_conf_set_dr_msg_cb(conf, on_delivery);
        rd_kafka_conf_set_error_cb(conf, on_error);
        return test_client(RD_KAFKA_PRODUCER, conf);
}

static rd_kafka_resp_err_t produce(rd_kafka_t *rk, const char *topic, size_t size) {
        char *payload = calloc(1, size + 1);
        rd_kafka_resp_err_t err =
            rd_kafka_producev(rk, RD_KAFKA_V_TOPIC(topic), RD_KAFKA_V_VALUE(payload, size),
                              RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_END);
        free(payload);
        return err;
}

static void messages_that_are_too_large(void) {
        rd_kafka_t *rk = producer(servers, "10000");
        CHECK_ERR(produce(rk, "sizes", 2000000), RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE);
        CHECK_ERR(produce(rk, "sizes", 1000001), RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE);
        CHECK_OK(produce(rk, "sizes", 900000));
        CHECK_OK(rd_kafka_flush(rk, 10000));
        CHECK_INT(dr.cnt, 1);
        CHECK_INT(dr.failed, 0);
        rd_kafka_destroy(rk);
}

static void partitions_that_do_not_exist(void) {
        rd_kafka_t *rk = producer(servers, "5000");
        rd_kafka_resp_err_t err;

        CHECK_INT(test_produce(cluster, "parts", 0, 0, 1), 0);
        err = rd_kafka_producev(rk, RD_KAFKA_V_TOPIC("parts"), RD_KAFKA_V_PARTITION(77),
                                RD_KAFKA_V_VALUE("x", 1), RD_KAFKA_V_END);
        if (!err) { /* not known yet: the delivery report has the error */
                CHECK_OK(rd_kafka_flush(rk, 10000));
                CHECK_INT(dr.cnt, 1);
                err = dr.err;
        }
        CHECK_ERR(err, RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION);
        rd_kafka_destroy(rk);
}

static void topic_names_that_brokers_refuse(void) {
        static char long_name[601];
        const char *names[] = {"#!$", "..", long_name};
        rd_kafka_t *rk = producer(servers, "10000");
        rd_kafka_topic_t *topic;
        int i;

        memset(long_name, 'n', sizeof(long_name) - 1);
        for (i = 0; i < 3; i++) {
                CHECK_OK(produce(rk, names[i], 1));
                CHECK_OK(rd_kafka_flush(rk, 5000));
                CHECK_INT(dr.cnt, i + 1);
                CHECK_ERR(dr.err, RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION);
        }
        topic = rd_kafka_topic_new(rk, "a name", NULL);
        CHECK(topic != NULL);
        rd_kafka_topic_destroy(topic);
        CHECK_INT(rd_kafka_outq_len(rk), 0);
        rd_kafka_destroy(rk);
}

static void topic_names_too_long_or_empty(void) {
        static char name[32769];
        memset(name, 'n', 32768); /* a request carries 32,767 bytes */
        CHECK(rd_kafka_topic_new(cluster, name, NULL) == NULL);
        CHECK_ERR(rd_kafka_last_error(), RD_KAFKA_RESP_ERR__INVALID_ARG);
        CHECK(rd_kafka_topic_new(cluster, "", NULL) == NULL);
        CHECK_ERR(rd_kafka_last_error(), RD_KAFKA_RESP_ERR__INVALID_ARG);
        CHECK(rd_kafka_topic_new(cluster, NULL, NULL) == NULL);
        CHECK_ERR(rd_kafka_last_error(), RD_KAFKA_RESP_ERR__INVALID_ARG);
}

static void a_closed_port(void) {
        rd_kafka_t *rk = producer("127.0.0.1:1", "1500");
        int64_t until = test_now_ms() + 20000;
        CHECK_OK(produce(rk, "t", 1));
        CHECK_OK(rd_kafka_flush(rk, 10000));
        CHECK_INT(dr.cnt, 1);
        CHECK_ERR(dr.err, RD_KAFKA_RESP_ERR__MSG_TIMED_OUT);
        /* On a busy machine the message may time out before the first attempt to connect. */
        while (!error_seen(RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN) && test_now_ms() < until)
                rd_kafka_poll(rk, 100);
        CHECK(error_seen(RD_KAFKA_RESP_ERR__TRANSPORT));
        CHECK(error_seen(RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN));
        CHECK(strstr(errors.reasons[0], "127.0.0.1:1") != NULL);
        rd_kafka_destroy(rk);
}

static void unresolvable_broker_name(void) {
        rd_kafka_t *rk = producer("no-such-host.invalid:9092", "1500");
        int64_t until = test_now_ms() + 20000;
        CHECK_OK(produce(rk, "t", 1));
        while ((!dr.cnt || !error_seen(RD_KAFKA_RESP_ERR__RESOLVE)) && test_now_ms() < until)
                rd_kafka_poll(rk, 100);
        CHECK_INT(dr.cnt, 1);
        CHECK_ERR(dr.err, RD_KAFKA_RESP_ERR__MSG_TIMED_OUT);
        CHECK(error_seen(RD_KAFKA_RESP_ERR__RESOLVE));
        rd_kafka_destroy(rk);
}

static void brokers_that_are_no_addresses(void) {
        CHECK_INT(rd_kafka_brokers_add(cluster, ""), 0);
        CHECK_INT(rd_kafka_brokers_add(cluster, "SSL://somewhere:1"), 0);
}

/* ---- a server that is not Kafka ----------------------------------------- */

struct server {
        int fd, port;
        const void *reply;
        size_t size;
        volatile int stop;
        pthread_t thread;
};

static void *serve(void *arg) {
        struct server *s = arg;
        while (!s->stop) {
                char buf[4096];
                int c = accept(s->fd, NULL, NULL);
                if (c == -1)
                        continue;
                if (recv(c, buf, sizeof(buf), 0) > 0 && s->size)
                        (void)!send(c, s->reply, s->size, MSG_NOSIGNAL);
                close(c);
        }
        return NULL;
}

static int server_start(struct server *s, const void *reply, size_t size) {
        struct sockaddr_in sin;
        struct timeval tv = {0, 100000};
        socklen_t len = sizeof(sin);

        memset(s, 0, sizeof(*s));
        memset(&sin, 0, sizeof(sin));
        sin.sin_family = AF_INET;
        sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        s->reply = reply;
        s->size = size;
        s->fd = socket(AF_INET, SOCK_STREAM, 0);
        if (s->fd == -1 || bind(s->fd, (struct sockaddr *)&sin, sizeof(sin)) ||
            listen(s->fd, 16) || getsockname(s->fd, (struct sockaddr *)&sin, &len))
                return 0;
        setsockopt(s->fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
        s->port = ntohs(sin.sin_port);
        return pthread_create(&s->thread, NULL, serve, s) == 0;
}

static void server_stop(struct server *s) {
        s->stop = 1;
        pthread_join(s->thread, NULL);
        close(s->fd);
}

/* The message must fail at its timeout, an error must be reported, and nothing may hang. */
static void expect_failure(const void *reply, size_t size) {
        struct server s;
        char brokers[64];
        int64_t start, until = test_now_ms() + 30000;
        rd_kafka_t *rk;

        REQUIRE(server_start(&s, reply, size));
        snprintf(brokers, sizeof(brokers), "127.0.0.1:%d", s.port);
        rk = producer(brokers, "1500");
        CHECK_OK(produce(rk, "t", 1));
        CHECK_OK(rd_kafka_flush(rk, 20000));
        CHECK_INT(dr.cnt, 1);
        CHECK_ERR(dr.err, RD_KAFKA_RESP_ERR__MSG_TIMED_OUT);
        while (!errors.cnt && test_now_ms() < until)
                rd_kafka_poll(rk, 100);
        CHECK(errors.cnt > 0);
        start = test_now_ms();
        rd_kafka_destroy(rk);
        CHECK(test_now_ms() - start < 5000);
        server_stop(&s);
}

static void a_web_server(void) {
        static const char reply[] = "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n";
        expect_failure(reply, sizeof(reply) - 1);
}

static void a_tls_server(void) {
        static const unsigned char alert[] = {0x15, 0x03, 0x03, 0x00, 0x02, 0x02, 0x46};
        expect_failure(alert, sizeof(alert));
}

static void server_that_closes_connections(void) {
        expect_failure("", 0);
}

static void a_response_of_two_gigabytes(void) {
        static const unsigned char frame[] = {0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 1};
        expect_failure(frame, sizeof(frame));
}

static void a_response_of_negative_size(void) {
        static const unsigned char frame[] = {0xff, 0xff, 0xff, 0xff, 0, 0, 0, 1};
        expect_failure(frame, sizeof(frame));
}

static void a_response_to_another_request(void) {
        static const unsigned char frame[] = {0, 0, 0, 10, 0x12, 0x34, 0x56, 0x78,
                                              0, 0, 0, 0,  0,    0};
        expect_failure(frame, sizeof(frame));
}

static void a_response_that_is_cut_short(void) {
        static const unsigned char frame[] = {0, 0, 0, 100, 0, 0, 0, 1, 0, 0};
        expect_failure(frame, sizeof(frame));
}

static void garbage(void) {
        unsigned char bytes[2000];
        uint32_t x = 12345;
        size_t i;
        for (i = 0; i < sizeof(bytes); i++) {
                x = x * 1664525u + 1013904223u;
                bytes[i] = (unsigned char)(x >> 24);
        }
        expect_failure(bytes, sizeof(bytes));
}

int main(void) {
        cluster = test_cluster(NULL, servers, sizeof(servers));
        RUN(messages_that_are_too_large);
        RUN(partitions_that_do_not_exist);
        RUN(topic_names_that_brokers_refuse);
        RUN(topic_names_too_long_or_empty);
        RUN(a_closed_port);
        RUN(unresolvable_broker_name);
        RUN(brokers_that_are_no_addresses);
        RUN(a_web_server);
        RUN(a_tls_server);
        RUN(server_that_closes_connections);
        RUN(a_response_of_two_gigabytes);
        RUN(a_response_of_negative_size);
        RUN(a_response_to_another_request);
        RUN(a_response_that_is_cut_short);
        RUN(garbage);
        rd_kafka_destroy(cluster);
        return test_end();
}
