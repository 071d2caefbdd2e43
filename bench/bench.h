/*
 * bench.h: what the programs of benchmarks share. Runs on any librdkafka.so.1.
 *
 * The program defines BENCH_NAME, its name in messages, before the header.
 */

#ifndef OTTLA_BENCH_H
#define OTTLA_BENCH_H

#include <rdkafka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

static double now_us(void) {
        struct timespec t;
        clock_gettime(CLOCK_MONOTONIC, &t);
        return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* Returns user and system time of the whole process. */
static double cpu_us(void) {
        struct rusage u;
        getrusage(RUSAGE_SELF, &u);
        return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e6 + (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

static void die(const char *what, const char *why) {
        fprintf(stderr, BENCH_NAME ": %s: %s\n", what, why);
        exit(1);
}

static void set(rd_kafka_conf_t *conf, const char *name, const char *value) {
        char why[512];

        if (rd_kafka_conf_set(conf, name, value, why, sizeof(why)) != RD_KAFKA_CONF_OK)
                die(name, why);
}

/* Sets a property that is given as "name=value". Leaves the text as it is: several threads may use it. */
static void set_pair(rd_kafka_conf_t *conf, const char *pair) {
        const char *value = strchr(pair, '=');
        char name[128];

        if (!value || value - pair >= (long)sizeof(name))
                die(pair, "name=value is wanted");
        snprintf(name, sizeof(name), "%.*s", (int)(value - pair), pair);
        set(conf, name, value + 1);
}

#endif
