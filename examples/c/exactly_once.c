/*
 * exactly_once: reads a topic, makes another message of each, and writes these to
 * a second topic, so that each message read has its effect there exactly once.
 *
 *     exactly_once BROKERS APPLICATION INSTANCE INPUT OUTPUT [PROPERTY=VALUE]...
 *
 * The output is the message with a '+' appended, in the partition of the same
 * number. Run as many as there are partitions, each with an INSTANCE of its own,
 * which stays the same when it is started again. It runs until Ctrl-C; when the
 * producer cannot go on (another one with its INSTANCE has begun) it exits with 1,
 * to be started again. PROPERTY is one of both clients.
 *
 * Shows: how far the input was read is committed in the same transaction as the
 * output. The rules, each of which is needed:
 *
 *  - Nothing is committed but by the transaction: enable.auto.commit is off.
 *  - Before partitions are given up, what was made of their messages is committed.
 *    When they are lost, it is aborted: the next owner processes it again.
 *  - After an abort the consumer goes back to what the group has committed. It asks
 *    for that: a commit whose answer was lost may have happened.
 *  - An error says by itself what may be done: call again, abort, or end.
 *
 * Readers of OUTPUT leave isolation.level at read_committed.
 */

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rdkafka.h>

enum { COMMIT_INTERVAL_MS = 100, CALL_TIMEOUT_MS = 10 * 1000 };

/* The result of a step. A transaction that has ended, in either way, is followed by another. */
enum outcome { DONE, ABORT };

static volatile sig_atomic_t running = 1;

static rd_kafka_t *consumer, *producer;
static const char *output;
/* How far the messages of the open transaction go: the next offset of each partition ... */
static rd_kafka_topic_partition_list_t *progress;
/* ... and where they began. */
static rd_kafka_topic_partition_list_t *beginnings;

static void on_signal(int sig) {
        (void)sig;
        running = 0;
}

static void die(const char *what, const char *why) {
        fprintf(stderr, "%s: %s\n", what, why);
        exit(1);
}

static long now_ms(void) {
        struct timespec ts;
        clock_gettime(CLOCK_MONOTONIC, &ts);
        return ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* ---- transactions ---------------------------------------------------------- */

/* Returns the result for an error, which this function destroys. `again` is set when the call must be repeated. */
static enum outcome outcome_of(const char *call, rd_kafka_error_t *error, int *again) {
        enum outcome outcome = DONE;

        *again = 0;
        if (!error)
                return DONE;
        if (rd_kafka_error_is_retriable(error)) {
                *again = 1;
        } else if (rd_kafka_error_txn_requires_abort(error)) {
                fprintf(stderr, "%s: %s: aborting\n", call, rd_kafka_error_string(error));
                outcome = ABORT;
        } else {
                die(call, rd_kafka_error_string(error));
        }
        rd_kafka_error_destroy(error);
        return outcome;
}

static void forget_work(void) {
        rd_kafka_topic_partition_list_destroy(progress);
        rd_kafka_topic_partition_list_destroy(beginnings);
        progress = rd_kafka_topic_partition_list_new(8);
        beginnings = rd_kafka_topic_partition_list_new(8);
}

static void begin(void) {
        rd_kafka_error_t *error = rd_kafka_begin_transaction(producer);
        if (error)
                die("begin", rd_kafka_error_string(error));
}

/* Ends the transaction without a trace of it in the output. */
static void abort_transaction(void) {
        int again;
        do
                outcome_of("abort", rd_kafka_abort_transaction(producer, CALL_TIMEOUT_MS), &again);
        while (again);
        begin();
}

/* Goes back to what is committed, in the partitions that the transaction was about and that are still ours. */
static void rewind_input(void) {
        rd_kafka_resp_err_t err;
        rd_kafka_error_t *error;
        int i;

        while ((err = rd_kafka_committed(consumer, beginnings, CALL_TIMEOUT_MS)))
                fprintf(stderr, "committed: %s: asking again\n", rd_kafka_err2str(err));
        for (i = 0; i < beginnings->cnt; i++) {
                rd_kafka_topic_partition_t *row = &beginnings->elems[i];
                /* Nothing was ever committed: where the transaction began, which is kept as the opaque. */
                if (row->offset < 0)
                        row->offset = (int64_t)(intptr_t)row->opaque;
        }
        error = rd_kafka_seek_partitions(consumer, beginnings, CALL_TIMEOUT_MS);
        if (error)
                die("seek", rd_kafka_error_string(error));
}

/* Commits the transaction with how far the input was read. */
static enum outcome commit(void) {
        rd_kafka_consumer_group_metadata_t *group = rd_kafka_consumer_group_metadata(consumer);
        enum outcome outcome;
        int again;

        /* A member that its group has put out has no name, and offsets without one would be taken beside
         * those of the partitions' new owners. */
        if (rd_kafka_assignment_lost(consumer)) {
                rd_kafka_consumer_group_metadata_destroy(group);
                return ABORT;
        }
        do
                outcome = outcome_of("send offsets",
                                     rd_kafka_send_offsets_to_transaction(producer, progress, group,
                                                                          CALL_TIMEOUT_MS),
                                     &again);
        while (again);
        rd_kafka_consumer_group_metadata_destroy(group);
        if (outcome != DONE)
                return outcome;
        do
                outcome = outcome_of("commit", rd_kafka_commit_transaction(producer, CALL_TIMEOUT_MS),
                                     &again);
        while (again);
        if (outcome == DONE)
                begin();
        return outcome;
}

/* Commits what was done since the last time, or undoes it. */
static void end_transaction(int may_commit) {
        if (progress->cnt == 0)
                return;
        if (!may_commit || commit() != DONE) {
                abort_transaction();
                rewind_input();
        }
        forget_work();
}

/* ---- input ------------------------------------------------------------------ */

static void rebalance(rd_kafka_t *rk, rd_kafka_resp_err_t err,
                      rd_kafka_topic_partition_list_t *partitions, void *opaque) {
        int cooperative = !strcmp(rd_kafka_rebalance_protocol(rk), "COOPERATIVE");
        rd_kafka_error_t *error = NULL;
        (void)opaque;

        if (err == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS) {
                if (cooperative)
                        error = rd_kafka_incremental_assign(rk, partitions);
                else
                        rd_kafka_assign(rk, partitions);
        } else {
                end_transaction(!rd_kafka_assignment_lost(rk));
                if (cooperative)
                        error = rd_kafka_incremental_unassign(rk, partitions);
                else
                        rd_kafka_assign(rk, NULL);
        }
        if (error) {
                fprintf(stderr, "rebalance: %s\n", rd_kafka_error_string(error));
                rd_kafka_error_destroy(error);
        }
}

static void note(const rd_kafka_message_t *m) {
        const char *topic = rd_kafka_topic_name(m->rkt);
        rd_kafka_topic_partition_t *row =
            rd_kafka_topic_partition_list_find(progress, topic, m->partition);

        if (!row) {
                row = rd_kafka_topic_partition_list_add(beginnings, topic, m->partition);
                row->opaque = (void *)(intptr_t)m->offset;
                row = rd_kafka_topic_partition_list_add(progress, topic, m->partition);
        }
        row->offset = m->offset + 1;
        rd_kafka_topic_partition_set_leader_epoch(row, rd_kafka_message_leader_epoch(m));
}

/* Makes a message of another one. */
static enum outcome process(const rd_kafka_message_t *m) {
        char *made = malloc(m->len + 1);
        rd_kafka_resp_err_t err;

        if (!made)
                die("process", "no memory");
        if (m->len)
                memcpy(made, m->payload, m->len);
        made[m->len] = '+';
        while ((err = rd_kafka_producev(
                    producer, RD_KAFKA_V_TOPIC(output), RD_KAFKA_V_PARTITION(m->partition),
                    RD_KAFKA_V_KEY(m->key, m->key_len), RD_KAFKA_V_VALUE(made, m->len + 1),
                    RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
                    RD_KAFKA_V_END)) == RD_KAFKA_RESP_ERR__QUEUE_FULL)
                rd_kafka_poll(producer, 100);
        free(made);
        note(m);
        if (!err)
                return DONE;
        /* Why it could not be taken is the transaction's to say; it has failed, or will be found to have. */
        fprintf(stderr, "produce: %s: aborting\n", rd_kafka_err2str(err));
        return ABORT;
}

/* ---- the loop ---------------------------------------------------------------- */

static rd_kafka_t *create(rd_kafka_type_t type, const char *settings[][2], char **more, int cnt) {
        rd_kafka_conf_t *conf = rd_kafka_conf_new();
        char errstr[512], name[256];
        rd_kafka_t *rk;
        int i;

        for (i = 0; settings[i][0]; i++)
                if (rd_kafka_conf_set(conf, settings[i][0], settings[i][1], errstr, sizeof(errstr)))
                        die(settings[i][0], errstr);
        for (i = 0; i < cnt; i++) {
                const char *value = strchr(more[i], '=');
                if (!value)
                        die(more[i], "PROPERTY=VALUE is wanted");
                snprintf(name, sizeof(name), "%.*s", (int)(value - more[i]), more[i]);
                if (rd_kafka_conf_set(conf, name, value + 1, errstr, sizeof(errstr)))
                        die(name, errstr);
        }
        if (type == RD_KAFKA_CONSUMER)
                rd_kafka_conf_set_rebalance_cb(conf, rebalance);
        rk = rd_kafka_new(type, conf, errstr, sizeof(errstr));
        if (!rk)
                die("new", errstr);
        return rk;
}

static void subscribe(const char *topic) {
        rd_kafka_topic_partition_list_t *topics = rd_kafka_topic_partition_list_new(1);
        rd_kafka_resp_err_t err;

        rd_kafka_topic_partition_list_add(topics, topic, RD_KAFKA_PARTITION_UA);
        err = rd_kafka_subscribe(consumer, topics);
        rd_kafka_topic_partition_list_destroy(topics);
        if (err)
                die("subscribe", rd_kafka_err2str(err));
}

int main(int argc, char **argv) {
        char transactional_id[256];
        long commit_at = 0;
        int again;

        if (argc < 6) {
                fprintf(stderr, "usage: %s BROKERS APPLICATION INSTANCE INPUT OUTPUT [PROPERTY=VALUE]...\n",
                        argv[0]);
                return 1;
        }
        signal(SIGINT, on_signal);
        signal(SIGTERM, on_signal);
        snprintf(transactional_id, sizeof(transactional_id), "%s-%s", argv[2], argv[3]);
        output = argv[5];
        progress = rd_kafka_topic_partition_list_new(8);
        beginnings = rd_kafka_topic_partition_list_new(8);
        {
                const char *of_consumer[][2] = {{"bootstrap.servers", argv[1]},
                                                {"group.id", argv[2]},
                                                {"auto.offset.reset", "earliest"},
                                                {"enable.auto.commit", "false"},
                                                {NULL, NULL}};
                /* A transaction that died with its process keeps readers waiting for so long. */
                const char *of_producer[][2] = {{"bootstrap.servers", argv[1]},
                                                {"transactional.id", transactional_id},
                                                {"transaction.timeout.ms", "10000"},
                                                {NULL, NULL}};
                consumer = create(RD_KAFKA_CONSUMER, of_consumer, argv + 6, argc - 6);
                producer = create(RD_KAFKA_PRODUCER, of_producer, argv + 6, argc - 6);
        }
        rd_kafka_poll_set_consumer(consumer);

        /* Ends what an earlier producer of this instance has left open. */
        do
                outcome_of("init", rd_kafka_init_transactions(producer, CALL_TIMEOUT_MS), &again);
        while (again && running);
        if (again)
                return 1;
        begin();
        subscribe(argv[4]);

        while (running) {
                rd_kafka_message_t *m = rd_kafka_consumer_poll(consumer, COMMIT_INTERVAL_MS / 2);

                rd_kafka_poll(producer, 0);
                if (m && m->err)
                        fprintf(stderr, "%s\n", rd_kafka_message_errstr(m)); /* and go on */
                if (m && !m->err) {
                        if (progress->cnt == 0)
                                commit_at = now_ms() + COMMIT_INTERVAL_MS;
                        if (process(m) != DONE)
                                end_transaction(0);
                }
                if (m)
                        rd_kafka_message_destroy(m);
                if (progress->cnt > 0 && now_ms() >= commit_at)
                        end_transaction(1);
        }

        end_transaction(1);
        rd_kafka_consumer_close(consumer);
        rd_kafka_destroy(consumer);
        rd_kafka_destroy(producer);
        rd_kafka_topic_partition_list_destroy(progress);
        rd_kafka_topic_partition_list_destroy(beginnings);
        return 0;
}
