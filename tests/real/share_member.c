/* A member of a share group that prints its actions, which share_groups.py checks.
 *
 *   share_member BROKERS GROUP TOPIC [PROPERTY=VALUE]...
 *
 * Acknowledges each record explicitly: releases every 16th at its first delivery, and accepts the others. Standard output, times
 * in milliseconds of the monotonic clock:
 *
 *   accept|release TIME PARTITION OFFSET COUNT AGE   before its acknowledgement; COUNT: deliveries, AGE: milliseconds since
 *                                                    the record's timestamp
 *   committed TIME PARTITION ERROR OFFSET...         the result of acknowledgements
 *   error TIME NAME
 *
 * On SIGTERM the member closes its consumer and ends.
 */
#include "client.h"

#include <inttypes.h>
#include <signal.h>

#define RELEASE_EVERY 16
#define POLL_MS 100

static volatile sig_atomic_t stopped;

static void on_signal(int number) {
    (void)number;
    stopped = 1;
}

static long long now_ms(void) {
    return (long long)(now_s() * 1000);
}

static void print_error(const char *name) {
    printf("error %lld %s\n", now_ms(), name);
    fflush(stdout);
}

static void on_commit(rd_kafka_share_t *share, rd_kafka_share_partition_offsets_list_t *list, rd_kafka_resp_err_t err,
                      void *opaque) {
    (void)share;
    (void)opaque;
    for (size_t i = 0; i < rd_kafka_share_partition_offsets_list_count(list); i++) {
        const rd_kafka_share_partition_offsets_t *row = rd_kafka_share_partition_offsets_list_get(list, i);
        const int64_t *offsets = rd_kafka_share_partition_offsets_offsets(row);
        printf("committed %lld %" PRId32 " %s", now_ms(), rd_kafka_share_partition_offsets_partition(row)->partition,
               err ? rd_kafka_err2name(err) : "NO_ERROR");
        for (size_t n = 0; n < rd_kafka_share_partition_offsets_offsets_cnt(row); n++)
            printf(" %" PRId64, offsets[n]);
        printf("\n");
    }
    fflush(stdout);
}

static void process(rd_kafka_share_t *share, rd_kafka_message_t *message) {
    struct timespec now;
    int count = rd_kafka_message_delivery_count(message);
    int released = message->offset % RELEASE_EVERY == 0 && count == 1;

    clock_gettime(CLOCK_REALTIME, &now);
    long long age = (long long)now.tv_sec * 1000 + now.tv_nsec / 1000000 - rd_kafka_message_timestamp(message, NULL);
    printf("%s %lld %" PRId32 " %" PRId64 " %d %lld\n", released ? "release" : "accept", now_ms(), message->partition,
           message->offset, count, age);
    rd_kafka_resp_err_t err = rd_kafka_share_acknowledge_type(
        share, message, released ? RD_KAFKA_SHARE_ACKNOWLEDGE_TYPE_RELEASE : RD_KAFKA_SHARE_ACKNOWLEDGE_TYPE_ACCEPT);
    if (err)
        print_error(rd_kafka_err2name(err));
}

static void report(rd_kafka_error_t *error) {
    if (error == NULL)
        return;
    print_error(rd_kafka_error_name(error));
    if (rd_kafka_error_is_fatal(error))
        exit(1);
    rd_kafka_error_destroy(error);
}

int main(int argc, char **argv) {
    char reason[512];

    if (argc < 4) {
        fprintf(stderr, "usage: %s BROKERS GROUP TOPIC [PROPERTY=VALUE]...\n", argv[0]);
        return 2;
    }
    rd_kafka_conf_t *conf = conf_or_exit(argv[1], argc - 4, argv + 4);
    set_or_exit(conf, "group.id", argv[2]);
    set_or_exit(conf, "share.acknowledgement.mode", "explicit");
    signal(SIGTERM, on_signal);
    rd_kafka_share_t *share = rd_kafka_share_consumer_new(conf, reason, sizeof(reason));
    if (share == NULL) {
        fprintf(stderr, "%s\n", reason);
        return 2;
    }
    report(rd_kafka_share_set_acknowledgement_commit_cb(share, on_commit, NULL));
    rd_kafka_topic_partition_list_t *topics = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(topics, argv[3], RD_KAFKA_PARTITION_UA);
    rd_kafka_resp_err_t err = rd_kafka_share_subscribe(share, topics);
    if (err) {
        fprintf(stderr, "subscribe: %s\n", rd_kafka_err2str(err));
        return 2;
    }
    rd_kafka_topic_partition_list_destroy(topics);
    while (!stopped) {
        rd_kafka_messages_t *batch = NULL;
        report(rd_kafka_share_poll(share, POLL_MS, &batch));
        for (size_t i = 0; batch && i < rd_kafka_messages_count(batch); i++) {
            rd_kafka_message_t *message = rd_kafka_messages_get(batch, i);
            if (message->err)
                print_error(rd_kafka_err2name(message->err));
            else
                process(share, message);
        }
        /* Processed records are known before their acknowledgements are sent. */
        fflush(stdout);
        if (batch)
            rd_kafka_messages_destroy(batch);
    }
    report(rd_kafka_share_consumer_close(share));
    report(rd_kafka_share_destroy(share));
    fflush(stdout);
    return 0;
}
