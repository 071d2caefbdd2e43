/* Threads of the application that are cancelled while they are in the library. */
#define _POSIX_C_SOURCE 200809L
#include <fcntl.h>
#include <pthread.h>

#include "test.h"

static rd_kafka_t *cluster;
static char servers[512];
static int nowhere;

/* A callback with a system call at which threads are cancelled. */
static void on_delivery(rd_kafka_t *rk, const rd_kafka_message_t *m, void *opaque) {
        (void)rk;
        (void)m;
        (void)opaque;
        if (write(nowhere, "x", 1) != 1)
                abort();
}

static void on_log(const rd_kafka_t *rk, int level, const char *fac, const char *buf) {
        (void)rk, (void)level, (void)fac;
        if (write(nowhere, buf, strlen(buf)) < 0)
                abort();
}

static void *produces(void *rk) {
        for (;;) {
                rd_kafka_producev(rk, RD_KAFKA_V_TOPIC("cancelled"), RD_KAFKA_V_VALUE("x", 1),
                                  RD_KAFKA_V_END);
                rd_kafka_flush(rk, 1000);
                pthread_testcancel();
        }
        return NULL;
}

static void *polls(void *rk) {
        for (;;) {
                rd_kafka_message_t *m = rd_kafka_consumer_poll(rk, 50);
                if (m)
                        rd_kafka_message_destroy(m);
                pthread_testcancel();
        }
        return NULL;
}

static void *comes_and_goes(void *unused) {
        (void)unused;
        for (;;) {
                rd_kafka_conf_t *conf = rd_kafka_conf_new();
                rd_kafka_t *rk;
                test_set(conf, "bootstrap.servers", servers);
                /* A warning, which is logged. */
                test_set(conf, "group.id", "of no use to a producer");
                rd_kafka_conf_set_log_cb(conf, on_log);
                rk = test_client(RD_KAFKA_PRODUCER, conf);
                rd_kafka_destroy(rk);
                pthread_testcancel();
        }
        return NULL;
}

/* Cancels threads that are anywhere in what they do. */
static void cancel(void *(*what)(void *), void *arg) {
        int i;
        for (i = 0; i < 30; i++) {
                pthread_t thread;
                void *result = NULL;
                CHECK_INT(pthread_create(&thread, NULL, what, arg), 0);
                test_sleep_ms(1 + i % 7);
                CHECK_INT(pthread_cancel(thread), 0);
                CHECK_INT(pthread_join(thread, &result), 0);
                CHECK(result == PTHREAD_CANCELED);
        }
}

static void producers(void) {
        rd_kafka_conf_t *conf = test_conf();
        rd_kafka_t *rk;

        test_set(conf, "bootstrap.servers", servers);
        test_set(conf, "linger.ms", "0");
        rd_kafka_conf_set_dr_msg_cb(conf, on_delivery);
        rk = test_client(RD_KAFKA_PRODUCER, conf);
        cancel(produces, rk);
        CHECK_INT(test_produce(rk, "cancelled", 0, 0, 10), 0);
        rd_kafka_destroy(rk);
}

static void consumers(void) {
        rd_kafka_t *rk = test_consumer(servers, "cancelled");
        rd_kafka_topic_partition_list_t *parts = rd_kafka_topic_partition_list_new(1);
        rd_kafka_message_t *m;
        int i;

        rd_kafka_topic_partition_list_add(parts, "read", 0)->offset = RD_KAFKA_OFFSET_BEGINNING;
        CHECK_INT(test_produce(cluster, "read", 0, 0, 2000), 0);
        CHECK_OK(rd_kafka_assign(rk, parts));
        cancel(polls, rk);
        /* From the beginning: messages that a cancelled thread had are lost to the application. */
        CHECK_OK(rd_kafka_assign(rk, parts));
        for (i = 0; i < 2000 && (m = rd_kafka_consumer_poll(rk, 10000)); i++) {
                CHECK_OK(m->err);
                rd_kafka_message_destroy(m);
        }
        CHECK_INT(i, 2000);
        rd_kafka_topic_partition_list_destroy(parts);
        CHECK_OK(rd_kafka_consumer_close(rk));
        rd_kafka_destroy(rk);
}

static void whole_clients(void) {
        cancel(comes_and_goes, NULL);
        CHECK_INT(test_produce(cluster, "after", 0, 0, 10), 0);
}

int main(void) {
        nowhere = open("/dev/null", O_WRONLY);
        cluster = test_cluster(NULL, servers, sizeof(servers));
        RUN(producers);
        RUN(consumers);
        RUN(whole_clients);
        rd_kafka_destroy(cluster);
        close(nowhere);
        return test_end();
}
