/* Produces numbered messages for a long time and keeps what was reported of each.
 *
 *   soak_producer BROKERS TOPIC COUNT MESSAGES_PER_SECOND REPORTS [PROPERTY=VALUE]...
 *
 * Message n has the payload "n filler", its filler n * 7919 % 90 letters long. Every other
 * message has a key, "k" and n % 1000; the others are without.
 *
 * REPORTS becomes a file of one `struct report` a message, in the order of their numbers.
 * Standard output:
 *
 *   progress PRODUCED REPORTED       about five times a second
 *   error NAME TIMES REASON          once a kind of error of the client, at the end
 *   fatal NAME REASON                a fatal error
 *   retries NUMBER                   requests sent again, when statistics.interval.ms is set
 *   produced NUMBER LEFT             at the end, with what was not reported at all
 *
 * Standard input brings new credentials (credentials.h). Log lines go to standard error. When the queue is full, or after a fault, the producer falls
 * behind and then catches up as fast as it can. SIGINT ends the producing early. Exit status: 0
 * when all was reported, 1 when not, 2 when it could not start.
 */
#include "client.h"
#include "credentials.h"

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define KEYS 1000
#define FILLER_MAX 90
#define FLUSH_MS (300 * 1000)
#define KINDS_MAX 64

/* soak.py reads it: 24 bytes without gaps. */
struct report {
    int64_t offset;
    int64_t latency_us;
    int32_t partition;
    int16_t error;
    uint8_t status; /* rd_kafka_msg_status_t */
    uint8_t times;  /* delivery reports for this message */
};

struct kind {
    rd_kafka_resp_err_t code;
    long times;
    char first[256];
};

static struct report *reports;
static long count, reported, strange;
static struct kind kinds[KINDS_MAX];
static long long retries = -1;
static volatile sig_atomic_t stopped;

static void on_signal(int number) {
    (void)number;
    stopped = 1;
}

static void on_delivery(rd_kafka_t *rk, const rd_kafka_message_t *message, void *opaque) {
    (void)rk;
    (void)opaque;
    long number = (long)(intptr_t)message->_private - 1;
    if (number < 0 || number >= count) {
        strange++;
        return;
    }
    struct report *report = &reports[number];
    report->offset = message->offset;
    report->latency_us = rd_kafka_message_latency(message);
    report->partition = message->partition;
    report->error = (int16_t)message->err;
    report->status = (uint8_t)rd_kafka_message_status(message);
    report->times++;
    reported++;
}

static void on_error(rd_kafka_t *rk, int err, const char *reason, void *opaque) {
    (void)opaque;
    if (err == RD_KAFKA_RESP_ERR__FATAL) {
        char text[512];
        rd_kafka_resp_err_t code = rd_kafka_fatal_error(rk, text, sizeof(text));
        printf("fatal %s %s\n", rd_kafka_err2name(code), text);
        return;
    }
    for (int i = 0; i < KINDS_MAX; i++) {
        struct kind *kind = &kinds[i];
        if (kind->times == 0) {
            kind->code = (rd_kafka_resp_err_t)err;
            snprintf(kind->first, sizeof(kind->first), "%s", reason);
        }
        if (kind->code == (rd_kafka_resp_err_t)err) {
            kind->times++;
            return;
        }
    }
}

/* Adds up "txretries" of all brokers. */
static int on_stats(rd_kafka_t *rk, char *json, size_t size, void *opaque) {
    (void)rk;
    (void)size;
    (void)opaque;
    retries = 0;
    for (const char *at = json; (at = strstr(at, "\"txretries\":")) != NULL; at++) {
        retries += atoll(at + strlen("\"txretries\":"));
    }
    return 0;
}

static rd_kafka_t *start(const char *brokers, int properties, char **property) {
    rd_kafka_conf_t *conf = conf_or_exit(brokers, properties, property);
    rd_kafka_conf_set_dr_msg_cb(conf, on_delivery);
    rd_kafka_conf_set_error_cb(conf, on_error);
    rd_kafka_conf_set_stats_cb(conf, on_stats);
    return client_or_exit(RD_KAFKA_PRODUCER, conf);
}

static struct report *mapped_or_exit(const char *path) {
    size_t size = (size_t)count * sizeof(struct report);
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);
    if (fd < 0 || ftruncate(fd, (off_t)size) != 0) {
        perror(path);
        exit(2);
    }
    void *mapped = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (mapped == MAP_FAILED) {
        perror(path);
        exit(2);
    }
    close(fd);
    return mapped;
}

static void tell_progress(rd_kafka_t *rk, long produced) {
    static double next_s;
    if (now_s() >= next_s) {
        take_credentials(rk);
        printf("progress %ld %ld\n", produced, reported);
        fflush(stdout);
        next_s = now_s() + 0.2;
    }
}

/* Produces one message; false when the library refuses it for good. */
static int produce(rd_kafka_t *rk, rd_kafka_topic_t *topic, long number) {
    char payload[32 + FILLER_MAX], key[16];
    int length = snprintf(payload, sizeof(payload), "%ld ", number);
    int filler = (int)(number * 7919 % FILLER_MAX);
    memset(payload + length, 'a' + (int)(number % 26), (size_t)filler);
    length += filler;
    size_t key_length = 0;
    if (number % 2 == 0) {
        key_length = (size_t)snprintf(key, sizeof(key), "k%ld", number % KEYS);
    }
    while (rd_kafka_produce(topic, RD_KAFKA_PARTITION_UA, RD_KAFKA_MSG_F_COPY, payload, (size_t)length,
                            key_length ? key : NULL, key_length, (void *)(intptr_t)(number + 1)) != 0) {
        if (rd_kafka_last_error() != RD_KAFKA_RESP_ERR__QUEUE_FULL) {
            fprintf(stderr, "produce: %s\n", rd_kafka_err2str(rd_kafka_last_error()));
            return 0;
        }
        rd_kafka_poll(rk, 50);
        tell_progress(rk, number);
    }
    return 1;
}

int main(int argc, char **argv) {
    if (argc < 6) {
        fprintf(stderr, "usage: %s BROKERS TOPIC COUNT MESSAGES_PER_SECOND REPORTS [PROPERTY=VALUE]...\n", argv[0]);
        return 2;
    }
    count = atol(argv[3]);
    double per_s = atof(argv[4]);
    reports = mapped_or_exit(argv[5]);
    rd_kafka_t *rk = start(argv[1], argc - 6, argv + 6);
    rd_kafka_topic_t *topic = rd_kafka_topic_new(rk, argv[2], NULL);
    if (topic == NULL) {
        fprintf(stderr, "topic %s: %s\n", argv[2], rd_kafka_err2str(rd_kafka_last_error()));
        return 2;
    }
    signal(SIGINT, on_signal);
    double start_s = now_s();
    long number = 0;
    while (number < count && !stopped) {
        /* A millisecond's worth at a time. */
        long due = (long)((now_s() - start_s) * per_s) + 1;
        for (; number < count && number < due && !stopped; number++) {
            if (!produce(rk, topic, number)) {
                stopped = 1;
                break;
            }
            if (number % 256 == 0) {
                rd_kafka_poll(rk, 0);
            }
        }
        rd_kafka_poll(rk, 1);
        tell_progress(rk, number);
    }
    double end_s = now_s() + FLUSH_MS / 1000.0;
    while (reported < number && now_s() < end_s) {
        rd_kafka_flush(rk, 200);
        tell_progress(rk, number);
    }
    rd_kafka_poll(rk, 0);
    for (int i = 0; i < KINDS_MAX && kinds[i].times > 0; i++) {
        printf("error %s %ld %s\n", rd_kafka_err2name(kinds[i].code), kinds[i].times, kinds[i].first);
    }
    if (retries >= 0) {
        printf("retries %lld\n", retries);
    }
    if (strange > 0) {
        printf("error STRANGE %ld reports of messages that were never produced\n", strange);
    }
    printf("produced %ld %ld\n", number, number - reported);
    fflush(stdout);
    rd_kafka_topic_destroy(topic);
    rd_kafka_destroy(rk);
    return reported == number ? 0 : 1;
}
