/* A consumer of many partitions that is not polled, then pauses them all, then resumes and reads everything.
 *
 *   paused_consumer BROKERS TOPIC PARTITIONS COUNT [PROPERTY=VALUE]...
 *
 * Prints one JSON object: resident memory in KiB with a full queue, while paused, and at most;
 * messages that came while all was paused; messages in all. Exit status 0 when there were COUNT.
 */
#include "client.h"

#define STAGE_S 3.0

static long status_kib(const char *name) {
    char line[256];
    long kib = -1;
    FILE *status = fopen("/proc/self/status", "r");

    while (status && fgets(line, sizeof(line), status))
        if (!strncmp(line, name, strlen(name)))
            kib = atol(line + strlen(name));
    if (status)
        fclose(status);
    return kib;
}

/* Polls for a while, or until there were `most`; counts messages. */
static long poll_for(rd_kafka_t *rk, double seconds, long most) {
    long n = 0;

    for (double end = now_s() + seconds; n < most && now_s() < end;) {
        rd_kafka_message_t *message = rd_kafka_consumer_poll(rk, 50);
        if (message && !message->err)
            n++;
        if (message)
            rd_kafka_message_destroy(message);
    }
    return n;
}

int main(int argc, char **argv) {
    if (argc < 5) {
        fprintf(stderr, "usage: %s BROKERS TOPIC PARTITIONS COUNT [PROPERTY=VALUE]...\n", argv[0]);
        return 2;
    }
    int partitions = atoi(argv[3]);
    long count = atol(argv[4]);
    rd_kafka_conf_t *conf = conf_or_exit(argv[1], argc - 5, argv + 5);
    set_or_exit(conf, "group.id", "paused-consumer");
    set_or_exit(conf, "enable.auto.commit", "false");
    rd_kafka_t *rk = client_or_exit(RD_KAFKA_CONSUMER, conf);
    rd_kafka_poll_set_consumer(rk);
    rd_kafka_topic_partition_list_t *all = rd_kafka_topic_partition_list_new(partitions);
    for (int p = 0; p < partitions; p++)
        rd_kafka_topic_partition_list_add(all, argv[2], p)->offset = RD_KAFKA_OFFSET_BEGINNING;
    rd_kafka_resp_err_t err = rd_kafka_assign(rk, all);
    long before = err ? 0 : poll_for(rk, 60, 1);
    for (double end = now_s() + STAGE_S; now_s() < end;) {
        struct timespec nap = {0, 50 * 1000 * 1000};
        nanosleep(&nap, NULL);
    }
    long full_kib = status_kib("VmRSS:");
    if (!err)
        err = rd_kafka_pause_partitions(rk, all);
    long while_paused = poll_for(rk, STAGE_S, count);
    long paused_kib = status_kib("VmRSS:");
    if (!err)
        err = rd_kafka_resume_partitions(rk, all);
    long after = poll_for(rk, 60, count - before - while_paused);
    printf("{\"full_kib\": %ld, \"paused_kib\": %ld, \"peak_kib\": %ld, \"while_paused\": %ld, \"messages\": %ld}\n", full_kib,
           paused_kib, status_kib("VmHWM:"), while_paused, before + while_paused + after);
    if (err)
        fprintf(stderr, "%s\n", rd_kafka_err2str(err));
    rd_kafka_topic_partition_list_destroy(all);
    rd_kafka_consumer_close(rk);
    rd_kafka_destroy(rk);
    return err || before + while_paused + after != count;
}
