/*
 * share_workers: a work queue: workers process the records of a topic as members of a share group.
 *
 *     share_workers BROKERS GROUP TOPIC [WORKERS [DELIVERIES [IDLE_S]]]
 *
 * Each of WORKERS (4) threads is a member of GROUP; they may outnumber the topic's partitions. A job that
 * fails is released, which delivers it again to any worker, and is rejected when it was delivered
 * DELIVERIES (3) times. The group's share.delivery.count.limit, 5 by default, must not be lower. The
 * program ends when no job has arrived for IDLE_S (30) seconds. A new group begins at the end of the
 * topic, unless its share.auto.offset.reset is `earliest`.
 *
 * Jobs are texts. Those that begin with "flaky" fail when they are delivered for the first time, those
 * that begin with "fail" always. Exit status: 0, 1 for an error of the brokers, 2 for wrong arguments.
 *
 * Shows: explicit acknowledgement, retries by delivery count, failed acknowledgements.
 */

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rdkafka.h>

static const char *brokers, *group, *topic;
static long deliveries = 3, idle_s = 30;

struct worker {
        pthread_t thread;
        long number;
        int failed;
};

/* Returns whether a text begins with another one. */
static int begins_with(const rd_kafka_message_t *m, const char *with) {
        return m->len >= strlen(with) && !memcmp(m->payload, with, strlen(with));
}

/* Processes a job. A real worker would call a service, or write to a database. */
static int work(const rd_kafka_message_t *m) {
        if (begins_with(m, "flaky") && rd_kafka_message_delivery_count(m) == 1)
                return 0;
        return !begins_with(m, "fail");
}

static rd_kafka_share_AcknowledgeType_t process(const struct worker *worker, const rd_kafka_message_t *m) {
        rd_kafka_share_AcknowledgeType_t type = RD_KAFKA_SHARE_ACKNOWLEDGE_TYPE_ACCEPT;
        const char *what                      = "accepted";
        int count                             = rd_kafka_message_delivery_count(m);

        if (!work(m)) {
                type = count < deliveries ? RD_KAFKA_SHARE_ACKNOWLEDGE_TYPE_RELEASE
                                          : RD_KAFKA_SHARE_ACKNOWLEDGE_TYPE_REJECT;
                what = count < deliveries ? "released" : "rejected";
        }
        printf("worker %ld: %s %.*s (delivery %d)\n", worker->number, what, (int)m->len,
               m->payload ? (const char *)m->payload : "", count);
        return type;
}

/* Reports acknowledgements that have failed: their jobs are processed again, by any worker. */
static void on_acknowledged(rd_kafka_share_t *consumer,
                            rd_kafka_share_partition_offsets_list_t *partitions,
                            rd_kafka_resp_err_t err,
                            void *opaque) {
        const struct worker *worker = opaque;
        size_t i;

        (void)consumer;
        for (i = 0; err && i < rd_kafka_share_partition_offsets_list_count(partitions); i++) {
                const rd_kafka_share_partition_offsets_t *entry =
                    rd_kafka_share_partition_offsets_list_get(partitions, i);
                const rd_kafka_topic_partition_t *partition =
                    rd_kafka_share_partition_offsets_partition(entry);
                fprintf(stderr, "worker %ld: %s [%d]: %zu jobs are delivered again: %s\n",
                        worker->number, partition->topic, (int)partition->partition,
                        rd_kafka_share_partition_offsets_offsets_cnt(entry), rd_kafka_err2str(err));
        }
}

/* Reports an error and frees it; NULL is none. Returns whether there was one that ends the worker. */
static int is_fatal(const struct worker *worker, rd_kafka_error_t *error) {
        int fatal = error && rd_kafka_error_is_fatal(error);

        if (error) {
                fprintf(stderr, "worker %ld: %s\n", worker->number, rd_kafka_error_string(error));
                rd_kafka_error_destroy(error);
        }
        return fatal;
}

static rd_kafka_share_t *create(void) {
        const char *settings[][2] = {
            {"bootstrap.servers", brokers},
            {"group.id", group},
            {"share.acknowledgement.mode", "explicit"},
            /* Few jobs at a time, so that those of a slow worker do not wait for it while others are idle. */
            {"max.poll.records", "10"},
        };
        char errstr[512];
        rd_kafka_conf_t *conf      = rd_kafka_conf_new();
        rd_kafka_share_t *consumer = NULL;
        size_t i;

        for (i = 0; i < sizeof(settings) / sizeof(settings[0]); i++)
                if (rd_kafka_conf_set(conf, settings[i][0], settings[i][1], errstr, sizeof(errstr)) !=
                    RD_KAFKA_CONF_OK)
                        break;
        if (i == sizeof(settings) / sizeof(settings[0]))
                consumer = rd_kafka_share_consumer_new(conf, errstr, sizeof(errstr));
        if (!consumer) {
                fprintf(stderr, "%s\n", errstr);
                rd_kafka_conf_destroy(conf);
        }
        return consumer;
}

/* Processes and acknowledges the jobs of a poll. Returns whether there was one. */
static int process_all(const struct worker *worker,
                       rd_kafka_share_t *consumer,
                       const rd_kafka_messages_t *jobs) {
        int processed = 0;
        size_t i;

        for (i = 0; i < rd_kafka_messages_count(jobs); i++) {
                const rd_kafka_message_t *m = rd_kafka_messages_get(jobs, i);
                rd_kafka_resp_err_t err;
                if (m->err) { /* a record that cannot be read: the library has acknowledged it */
                        fprintf(stderr, "worker %ld: %s\n", worker->number, rd_kafka_message_errstr(m));
                        continue;
                }
                err = rd_kafka_share_acknowledge_type(consumer, m, process(worker, m));
                if (err)
                        fprintf(stderr, "worker %ld: %s\n", worker->number, rd_kafka_err2str(err));
                processed = 1;
        }
        return processed;
}

static rd_kafka_resp_err_t subscribe(rd_kafka_share_t *consumer) {
        rd_kafka_topic_partition_list_t *topics = rd_kafka_topic_partition_list_new(1);
        rd_kafka_resp_err_t err;

        rd_kafka_topic_partition_list_add(topics, topic, RD_KAFKA_PARTITION_UA);
        err = rd_kafka_share_subscribe(consumer, topics);
        rd_kafka_topic_partition_list_destroy(topics);
        return err;
}

static void *run(void *argument) {
        struct worker *worker      = argument;
        rd_kafka_share_t *consumer = create();
        rd_kafka_error_t *error;
        rd_kafka_resp_err_t err;
        time_t last_job = time(NULL);

        if (!consumer) {
                worker->failed = 1;
                return NULL;
        }
        worker->failed =
            is_fatal(worker, rd_kafka_share_set_acknowledgement_commit_cb(consumer, on_acknowledged, worker));
        err = subscribe(consumer);
        if (err) {
                fprintf(stderr, "subscribe: %s\n", rd_kafka_err2str(err));
                worker->failed = 1;
        }
        while (!worker->failed && time(NULL) - last_job < idle_s) {
                rd_kafka_messages_t *jobs = NULL;
                /* Sends the acknowledgements of the jobs before. */
                worker->failed = is_fatal(worker, rd_kafka_share_poll(consumer, 500, &jobs));
                if (process_all(worker, consumer, jobs))
                        last_job = time(NULL);
                rd_kafka_messages_destroy(jobs);
        }
        error = rd_kafka_share_consumer_close(consumer);
        if (error) {
                is_fatal(worker, error);
                worker->failed = 1;
        }
        error = rd_kafka_share_destroy(consumer);
        if (error)
                is_fatal(worker, error);
        return NULL;
}

/* Returns a number from 1 to 32767, -1 for another text. */
static long number(const char *text) {
        char *end;
        long value = strtol(text, &end, 10);

        return *text && !*end && value >= 1 && value <= 32767 ? value : -1;
}

int main(int argc, char **argv) {
        long workers_cnt = argc > 4 ? number(argv[4]) : 4;
        struct worker *workers;
        long i;
        int failed = 0;

        deliveries = argc > 5 ? number(argv[5]) : deliveries;
        idle_s     = argc > 6 ? number(argv[6]) : idle_s;
        if (argc < 4 || argc > 7 || workers_cnt < 0 || deliveries < 0 || idle_s < 0) {
                fprintf(stderr, "usage: share_workers BROKERS GROUP TOPIC [WORKERS [DELIVERIES [IDLE_S]]]\n");
                return 2;
        }
        brokers = argv[1];
        group   = argv[2];
        topic   = argv[3];
        workers = calloc(workers_cnt, sizeof(*workers));
        for (i = 0; workers && i < workers_cnt; i++) {
                workers[i].number = i + 1;
                if (pthread_create(&workers[i].thread, NULL, run, &workers[i])) {
                        fprintf(stderr, "no thread for worker %ld\n", i + 1);
                        return 1;
                }
        }
        for (i = 0; workers && i < workers_cnt; i++) {
                pthread_join(workers[i].thread, NULL);
                failed |= workers[i].failed;
        }
        free(workers);
        return failed;
}
