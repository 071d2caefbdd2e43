/* Produces numbered messages at a steady rate and prints the outcome of each.
 *
 *   steady_producer BROKERS TOPIC COUNT MESSAGES_PER_SECOND [PROPERTY=VALUE]...
 *
 * Payloads are the numbers from 0. One line a message goes to standard output when
 * its delivery report arrives:
 *
 *   acked NUMBER PARTITION OFFSET
 *   failed NUMBER ERROR_NAME
 *
 * and at the end `produced NUMBER_OF_MESSAGES`. SIGINT ends the producing early;
 * what was produced is flushed and reported as ever.
 *
 * Standard input brings new credentials (credentials.h). Errors of the client go to standard
 * error. Exit status: 0 when every message was acknowledged, 1 when one failed or was not
 * reported, 2 when it could not start.
 */
#include "client.h"
#include "credentials.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static long acked, failed;
static volatile sig_atomic_t stopped;

static void on_signal(int number) {
    (void)number;
    stopped = 1;
}

static void on_delivery(rd_kafka_t *rk, const rd_kafka_message_t *message, void *opaque) {
    (void)rk;
    (void)opaque;
    if (message->err) {
        failed++;
        printf("failed %.*s %s\n", (int)message->len, (const char *)message->payload,
               rd_kafka_err2name(message->err));
    } else {
        acked++;
        printf("acked %.*s %" PRId32 " %" PRId64 "\n", (int)message->len,
               (const char *)message->payload, message->partition, message->offset);
    }
    /* The test acts on these lines while we run. */
    fflush(stdout);
}

static void on_error(rd_kafka_t *rk, int err, const char *reason, void *opaque) {
    (void)rk;
    (void)opaque;
    fprintf(stderr, "error %s: %s\n", rd_kafka_err2name((rd_kafka_resp_err_t)err), reason);
}

static rd_kafka_t *start(const char *brokers, int properties, char **property) {
    rd_kafka_conf_t *conf = conf_or_exit(brokers, properties, property);
    rd_kafka_conf_set_dr_msg_cb(conf, on_delivery);
    rd_kafka_conf_set_error_cb(conf, on_error);
    return client_or_exit(RD_KAFKA_PRODUCER, conf);
}

int main(int argc, char **argv) {
    if (argc < 5) {
        fprintf(stderr, "usage: %s BROKERS TOPIC COUNT MESSAGES_PER_SECOND [PROPERTY=VALUE]...\n", argv[0]);
        return 2;
    }
    long count = atol(argv[3]);
    double interval_s = 1.0 / atof(argv[4]);
    rd_kafka_t *rk = start(argv[1], argc - 5, argv + 5);
    rd_kafka_topic_t *topic = rd_kafka_topic_new(rk, argv[2], NULL);
    if (topic == NULL) {
        fprintf(stderr, "topic %s: %s\n", argv[2], rd_kafka_err2str(rd_kafka_last_error()));
        return 2;
    }
    signal(SIGINT, on_signal);
    double start_s = now_s();
    long number;
    for (number = 0; number < count && !stopped; number++) {
        char payload[24];
        int length = snprintf(payload, sizeof(payload), "%ld", number);
        while (rd_kafka_produce(topic, RD_KAFKA_PARTITION_UA, RD_KAFKA_MSG_F_COPY, payload, (size_t)length,
                                payload, (size_t)length, NULL) != 0) {
            if (rd_kafka_last_error() != RD_KAFKA_RESP_ERR__QUEUE_FULL) {
                fprintf(stderr, "produce: %s\n", rd_kafka_err2str(rd_kafka_last_error()));
                return 1;
            }
            rd_kafka_poll(rk, 100);
        }
        double due_s = start_s + (double)(number + 1) * interval_s, ahead_s;
        take_credentials(rk);
        /* Polling ends early when it has served something. */
        do {
            ahead_s = due_s - now_s();
            rd_kafka_poll(rk, ahead_s > 0 ? (int)(ahead_s * 1000) : 0);
        } while (ahead_s >= 0.001 && !stopped);
    }
    for (double end_s = now_s() + 120; rd_kafka_flush(rk, 200) != RD_KAFKA_RESP_ERR_NO_ERROR && now_s() < end_s;)
        take_credentials(rk);
    long left = rd_kafka_outq_len(rk);
    printf("produced %ld\n", number);
    fprintf(stderr, "%ld acked, %ld failed, %ld left\n", acked, failed, left);
    rd_kafka_topic_destroy(topic);
    rd_kafka_destroy(rk);
    return acked == number && failed == 0 ? 0 : 1;
}
