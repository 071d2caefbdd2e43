/* Log lines, and what a client dumps of itself. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>

#include "test.h"

static rd_kafka_t *cluster;
static char servers[512];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
        int lines, debug_lines, no_text, nameless, conf_warnings;
        char name[64];
} logged;

/* Runs on any thread. */
static void on_log(const rd_kafka_t *rk, int level, const char *fac, const char *buf) {
        pthread_mutex_lock(&lock);
        logged.lines++;
        logged.debug_lines += level == 7;
        logged.no_text += !fac || !fac[0] || !buf || !buf[0];
        logged.nameless += !rk || !rd_kafka_name(rk)[0];
        logged.conf_warnings += !strcmp(fac, "CONFWARN") &&
                                (strstr(buf, "group.id") || strstr(buf, "auto.offset.reset"));
        if (rk)
                snprintf(logged.name, sizeof(logged.name), "%s", rd_kafka_name(rk));
        pthread_mutex_unlock(&lock);
}

static int lines(void) {
        int n;
        pthread_mutex_lock(&lock);
        n = logged.lines;
        pthread_mutex_unlock(&lock);
        return n;
}

static void log_callback(void) {
        rd_kafka_conf_t *conf = rd_kafka_conf_new();
        int64_t until = test_now_ms() + 10000;
        char name[64];
        rd_kafka_t *rk;

        test_set(conf, "bootstrap.servers", "127.0.0.1:1");
        test_set(conf, "debug", "all");
        rd_kafka_conf_set_log_cb(conf, on_log);
        rk = test_client(RD_KAFKA_PRODUCER, conf);
        snprintf(name, sizeof(name), "%s", rd_kafka_name(rk));
        while (!lines() && test_now_ms() < until)
                test_sleep_ms(20);
        rd_kafka_destroy(rk);
        CHECK(logged.lines > 0);
        CHECK(logged.debug_lines > 0);
        CHECK_INT(logged.no_text, 0);
        CHECK_INT(logged.nameless, 0);
        CHECK_STR(logged.name, name);
}

static void settings_of_the_other_kind_of_client_are_logged(void) {
        rd_kafka_conf_t *conf = rd_kafka_conf_new();
        rd_kafka_topic_conf_t *topic_conf = rd_kafka_topic_conf_new();
        char errstr[128];
        rd_kafka_t *rk;

        memset(&logged, 0, sizeof(logged));
        test_set(conf, "bootstrap.servers", "127.0.0.1:1");
        test_set(conf, "group.id", "of no use to a producer");
        rd_kafka_conf_set_log_cb(conf, on_log);
        rk = test_client(RD_KAFKA_PRODUCER, conf);
        CHECK_INT(logged.conf_warnings, 1);
        CHECK_INT(rd_kafka_topic_conf_set(topic_conf, "auto.offset.reset", "earliest", errstr,
                                          sizeof(errstr)),
                  RD_KAFKA_CONF_OK);
        rd_kafka_topic_destroy(rd_kafka_topic_new(rk, "warned", topic_conf));
        CHECK_INT(logged.conf_warnings, 2);
        rd_kafka_destroy(rk);
        CHECK_INT(logged.nameless, 0);
}

static void the_log_level_limits(void) {
        rd_kafka_conf_t *conf = rd_kafka_conf_new();
        rd_kafka_t *rk;

        memset(&logged, 0, sizeof(logged));
        test_set(conf, "bootstrap.servers", "127.0.0.1:1");
        test_set(conf, "log_level", "0");
        rd_kafka_conf_set_log_cb(conf, on_log);
        rk = test_client(RD_KAFKA_PRODUCER, conf);
        test_sleep_ms(300);
        rd_kafka_destroy(rk);
        CHECK_INT(logged.lines, 0);
}

static void debug_contexts_are_listed(void) {
        const char *contexts = rd_kafka_get_debug_contexts();
        REQUIRE(contexts != NULL);
        CHECK(strstr(contexts, "all") && strstr(contexts, "broker") && strstr(contexts, "cgrp"));
        CHECK_STR(contexts, RD_KAFKA_DEBUG_CONTEXTS);
}

static void state_can_be_dumped(void) {
        FILE *fp = tmpfile();
        REQUIRE(fp != NULL);
        rd_kafka_dump(fp, cluster);
        CHECK(ftell(fp) > 0);
        fclose(fp);
}

int main(void) {
        cluster = test_cluster(NULL, servers, sizeof(servers));
        RUN(log_callback);
        RUN(settings_of_the_other_kind_of_client_are_logged);
        RUN(the_log_level_limits);
        RUN(debug_contexts_are_listed);
        RUN(state_can_be_dumped);
        rd_kafka_destroy(cluster);
        return test_end();
}
