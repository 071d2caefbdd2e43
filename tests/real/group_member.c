/* A member of a consumer group that prints its actions, which groups.py checks.
 *
 *   group_member BROKERS GROUP TOPIC [PROPERTY=VALUE]...
 *
 * Processes messages by printing them, and commits processed offsets about ten times a second and
 * before it releases partitions. Standard output, times in milliseconds of the monotonic clock:
 *
 *   assigned TIME PARTITION...
 *   revoked TIME PARTITION...        released, after a commit
 *   lost TIME PARTITION...           already assigned to another member
 *   message TIME PARTITION OFFSET AGE      processed; AGE: milliseconds since its timestamp
 *   committed TIME PARTITION OFFSET  acknowledged by the group's coordinator
 *   error TIME NAME
 *
 * A line is written before its records are committed. Standard input brings new credentials
 * (credentials.h). On SIGTERM the member leaves the group and ends.
 */
#include "client.h"
#include "credentials.h"

#include <inttypes.h>
#include <signal.h>

#define PARTITIONS_MAX 4096
#define COMMIT_EVERY_S 0.1

static volatile sig_atomic_t stopped;
static const char *topic_name;
/* Offset after the last processed message, and the offset of the last commit request; -1: none. */
static int64_t processed[PARTITIONS_MAX], requested[PARTITIONS_MAX];

static void on_signal(int number) {
    (void)number;
    stopped = 1;
}

static long long now_ms(void) {
    return (long long)(now_s() * 1000);
}

static void print_list(const char *what, const rd_kafka_topic_partition_list_t *list) {
    printf("%s %lld", what, now_ms());
    for (int i = 0; i < list->cnt; i++)
        printf(" %" PRId32, list->elems[i].partition);
    printf("\n");
    fflush(stdout);
}

static void print_error(const char *name) {
    printf("error %lld %s\n", now_ms(), name);
    fflush(stdout);
}

static void print_committed(const rd_kafka_topic_partition_list_t *list) {
    for (int i = 0; i < list->cnt; i++)
        if (list->elems[i].err == RD_KAFKA_RESP_ERR_NO_ERROR && list->elems[i].offset >= 0)
            printf("committed %lld %" PRId32 " %" PRId64 "\n", now_ms(), list->elems[i].partition, list->elems[i].offset);
    fflush(stdout);
}

static void on_commit(rd_kafka_t *rk, rd_kafka_resp_err_t err, rd_kafka_topic_partition_list_t *list, void *opaque) {
    (void)rk;
    (void)opaque;
    if (err)
        print_error(rd_kafka_err2name(err));
    else
        print_committed(list);
}

/* Commits offsets processed since the last request; with `only`, all processed offsets of these partitions, and waits. */
static void commit(rd_kafka_t *rk, const rd_kafka_topic_partition_list_t *only) {
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(16);

    fflush(stdout);
    for (int p = 0; p < PARTITIONS_MAX; p++) {
        if (processed[p] < 0 || (processed[p] == requested[p] && !only))
            continue;
        if (only && !rd_kafka_topic_partition_list_find((rd_kafka_topic_partition_list_t *)only, topic_name, p))
            continue;
        rd_kafka_topic_partition_list_add(list, topic_name, p)->offset = processed[p];
        requested[p] = processed[p];
    }
    if (list->cnt > 0) {
        rd_kafka_resp_err_t err = rd_kafka_commit(rk, list, only == NULL);
        if (err)
            print_error(rd_kafka_err2name(err));
        else if (only)
            print_committed(list);
    }
    rd_kafka_topic_partition_list_destroy(list);
}

static void forget(const rd_kafka_topic_partition_list_t *list) {
    for (int i = 0; i < list->cnt; i++)
        processed[list->elems[i].partition] = requested[list->elems[i].partition] = -1;
}

static void on_rebalance(rd_kafka_t *rk, rd_kafka_resp_err_t err, rd_kafka_topic_partition_list_t *list, void *opaque) {
    int incremental = !strcmp(rd_kafka_rebalance_protocol(rk), "COOPERATIVE");
    rd_kafka_error_t *error = NULL;
    rd_kafka_resp_err_t failed = RD_KAFKA_RESP_ERR_NO_ERROR;

    (void)opaque;
    if (err == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS) {
        forget(list);
        print_list("assigned", list);
        if (incremental)
            error = rd_kafka_incremental_assign(rk, list);
        else
            failed = rd_kafka_assign(rk, list);
    } else if (err == RD_KAFKA_RESP_ERR__REVOKE_PARTITIONS) {
        int lost = rd_kafka_assignment_lost(rk);
        if (!lost)
            commit(rk, list);
        forget(list);
        print_list(lost ? "lost" : "revoked", list);
        if (incremental)
            error = rd_kafka_incremental_unassign(rk, list);
        else
            failed = rd_kafka_assign(rk, NULL);
    } else {
        failed = err;
    }
    if (error) {
        print_error(rd_kafka_error_name(error));
        rd_kafka_error_destroy(error);
    }
    if (failed)
        print_error(rd_kafka_err2name(failed));
}

static void process(const rd_kafka_message_t *message) {
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    long long age = (long long)now.tv_sec * 1000 + now.tv_nsec / 1000000 - rd_kafka_message_timestamp(message, NULL);
    printf("message %lld %" PRId32 " %" PRId64 " %lld\n", now_ms(), message->partition, message->offset, age);
    processed[message->partition] = message->offset + 1;
}

int main(int argc, char **argv) {
    if (argc < 4) {
        fprintf(stderr, "usage: %s BROKERS GROUP TOPIC [PROPERTY=VALUE]...\n", argv[0]);
        return 2;
    }
    topic_name = argv[3];
    memset(processed, 0xff, sizeof(processed));
    memset(requested, 0xff, sizeof(requested));
    rd_kafka_conf_t *conf = conf_or_exit(argv[1], argc - 4, argv + 4);
    set_or_exit(conf, "group.id", argv[2]);
    set_or_exit(conf, "enable.auto.commit", "false");
    set_or_exit(conf, "auto.offset.reset", "earliest");
    rd_kafka_conf_set_rebalance_cb(conf, on_rebalance);
    rd_kafka_conf_set_offset_commit_cb(conf, on_commit);
    signal(SIGTERM, on_signal);
    rd_kafka_t *rk = client_or_exit(RD_KAFKA_CONSUMER, conf);
    rd_kafka_poll_set_consumer(rk);
    rd_kafka_topic_partition_list_t *topics = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(topics, topic_name, RD_KAFKA_PARTITION_UA);
    rd_kafka_resp_err_t err = rd_kafka_subscribe(rk, topics);
    if (err) {
        fprintf(stderr, "subscribe: %s\n", rd_kafka_err2str(err));
        return 2;
    }
    rd_kafka_topic_partition_list_destroy(topics);
    for (double commit_at = now_s() + COMMIT_EVERY_S; !stopped;) {
        rd_kafka_message_t *message = rd_kafka_consumer_poll(rk, 50);
        take_credentials(rk);
        if (message && message->err)
            print_error(rd_kafka_err2name(message->err));
        else if (message)
            process(message);
        if (message)
            rd_kafka_message_destroy(message);
        if (now_s() >= commit_at) {
            commit(rk, NULL);
            commit_at = now_s() + COMMIT_EVERY_S;
        }
    }
    rd_kafka_consumer_close(rk);
    rd_kafka_destroy(rk);
    fflush(stdout);
    return 0;
}
