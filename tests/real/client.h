/* Shared parts of the test clients in C. */

#ifndef OTTLA_TESTS_REAL_CLIENT_H
#define OTTLA_TESTS_REAL_CLIENT_H

#include "rdkafka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now_s(void) {
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void set_or_exit(rd_kafka_conf_t *conf, const char *name, const char *value) {
    char reason[512];
    if (rd_kafka_conf_set(conf, name, value, reason, sizeof(reason)) != RD_KAFKA_CONF_OK) {
        fprintf(stderr, "%s\n", reason);
        exit(2);
    }
}

/* Returns a configuration with these PROPERTY=VALUE strings, which are modified. Exits with 2 on an error. */
static rd_kafka_conf_t *conf_or_exit(const char *brokers, int properties, char **property) {
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    set_or_exit(conf, "bootstrap.servers", brokers);
    for (int i = 0; i < properties; i++) {
        char *value = strchr(property[i], '=');
        if (value == NULL) {
            fprintf(stderr, "%s: not PROPERTY=VALUE\n", property[i]);
            exit(2);
        }
        *value++ = '\0';
        set_or_exit(conf, property[i], value);
    }
    return conf;
}

static rd_kafka_t *client_or_exit(rd_kafka_type_t type, rd_kafka_conf_t *conf) {
    char reason[512];
    rd_kafka_t *rk = rd_kafka_new(type, conf, reason, sizeof(reason));
    if (rk == NULL) {
        fprintf(stderr, "%s\n", reason);
        exit(2);
    }
    return rk;
}

#endif
