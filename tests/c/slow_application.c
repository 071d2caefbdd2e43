/* A slow application with a full queue: what is not a record is served before the records that wait, by every call that
 * serves a queue. */
#include "test.h"

#define RECORDS 400

static rd_kafka_t *cluster;
static char servers[512];

/* Calls of the application's callbacks. */
static struct {
        int commits, revocations, assignments, messages;
} seen;

static void
on_commit(rd_kafka_t *rk, rd_kafka_resp_err_t err, rd_kafka_topic_partition_list_t *l, void *opaque) {
        (void)rk, (void)err, (void)l, (void)opaque;
        seen.commits++;
}

static void on_rebalance(rd_kafka_t *rk,
                         rd_kafka_resp_err_t err,
                         rd_kafka_topic_partition_list_t *partitions,
                         void *opaque) {
        (void)opaque;
        if (err == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS) {
                seen.assignments++;
                rd_kafka_assign(rk, partitions);
        } else {
                seen.revocations++;
                rd_kafka_assign(rk, NULL);
        }
}

static void on_message(rd_kafka_message_t *m, void *opaque) {
        (void)m, (void)opaque;
        seen.messages++;
}

/* The calls that serve a consumer's queue, each for one message at most. Is the number of messages. */
static int by_consumer_poll(rd_kafka_t *c, rd_kafka_queue_t *q, int timeout_ms) {
        rd_kafka_message_t *m = rd_kafka_consumer_poll(c, timeout_ms);
        (void)q;
        if (!m)
                return 0;
        rd_kafka_message_destroy(m);
        return 1;
}

static int by_batch(rd_kafka_t *c, rd_kafka_queue_t *q, int timeout_ms) {
        rd_kafka_message_t *m[1];
        ssize_t n = rd_kafka_consume_batch_queue(q, timeout_ms, m, 1);
        (void)c;
        if (n == 1)
                rd_kafka_message_destroy(m[0]);
        return (int)n;
}

static int by_consume_queue(rd_kafka_t *c, rd_kafka_queue_t *q, int timeout_ms) {
        rd_kafka_message_t *m = rd_kafka_consume_queue(q, timeout_ms);
        (void)c;
        if (!m)
                return 0;
        rd_kafka_message_destroy(m);
        return 1;
}

static int by_event(rd_kafka_t *c, rd_kafka_queue_t *q, int timeout_ms) {
        rd_kafka_event_t *event = rd_kafka_queue_poll(q, timeout_ms);
        int messages            = 0;
        if (!event)
                return 0;
        switch (rd_kafka_event_type(event)) {
        case RD_KAFKA_EVENT_FETCH:
                messages = 1;
                break;
        case RD_KAFKA_EVENT_OFFSET_COMMIT:
                seen.commits++;
                break;
        case RD_KAFKA_EVENT_REBALANCE:
                if (rd_kafka_event_error(event) == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS)
                        on_rebalance(c, RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS,
                                     rd_kafka_event_topic_partition_list(event), NULL);
                else
                        on_rebalance(c, RD_KAFKA_RESP_ERR__REVOKE_PARTITIONS, NULL, NULL);
                break;
        default:
                break;
        }
        rd_kafka_event_destroy(event);
        return messages;
}

static int by_poll(rd_kafka_t *c, rd_kafka_queue_t *q, int timeout_ms) {
        int before = seen.messages;
        (void)c;
        rd_kafka_queue_poll_callback(q, timeout_ms);
        return seen.messages - before;
}

typedef int serve_fn(rd_kafka_t *c, rd_kafka_queue_t *q, int timeout_ms);

static rd_kafka_t *member(const char *group, int by_events, int by_messages) {
        rd_kafka_conf_t *conf              = test_conf();
        rd_kafka_topic_partition_list_t *l = rd_kafka_topic_partition_list_new(1);
        rd_kafka_t *c;

        test_set(conf, "bootstrap.servers", servers);
        test_set(conf, "group.id", group);
        test_set(conf, "auto.offset.reset", "earliest");
        test_set(conf, "enable.auto.commit", "false");
        test_set(conf, "heartbeat.interval.ms", "100");
        if (by_events) {
                rd_kafka_conf_set_events(conf, RD_KAFKA_EVENT_FETCH | RD_KAFKA_EVENT_OFFSET_COMMIT |
                                                       RD_KAFKA_EVENT_REBALANCE);
        } else {
                rd_kafka_conf_set_offset_commit_cb(conf, on_commit);
                rd_kafka_conf_set_rebalance_cb(conf, on_rebalance);
        }
        if (by_messages)
                rd_kafka_conf_set_consume_cb(conf, on_message);
        c = test_client(RD_KAFKA_CONSUMER, conf);
        rd_kafka_poll_set_consumer(c);
        rd_kafka_topic_partition_list_add(l, "slow", RD_KAFKA_PARTITION_UA);
        CHECK_OK(rd_kafka_subscribe(c, l));
        rd_kafka_topic_partition_list_destroy(l);
        return c;
}

/* Serves until everything was fetched and a message was delivered. */
static void fill_queue(rd_kafka_t *c, rd_kafka_queue_t *q, serve_fn *serve) {
        int64_t until = test_now_ms() + 20000;
        int taken     = 0;
        while (taken == 0 && test_now_ms() < until)
                taken = serve(c, q, 50);
        CHECK(taken > 0);
        while (rd_kafka_queue_length(q) < RECORDS - 1 && test_now_ms() < until)
                test_sleep_ms(10);
        CHECK_INT(rd_kafka_queue_length(q), RECORDS - 1);
}

/* The application consumes a message every 50 ms. */
static void rebalances_precede_records(const char *group, serve_fn *serve, int by_events) {
        rd_kafka_t *c, *other;
        rd_kafka_queue_t *q;
        int64_t until;
        int taken = 0;

        memset(&seen, 0, sizeof(seen));
        c = member(group, by_events, 0);
        q = rd_kafka_queue_get_consumer(c);
        fill_queue(c, q, serve);
        CHECK_INT(seen.assignments, 1);
        other = member(group, 0, 0);
        until = test_now_ms() + 25000;
        while (seen.revocations == 0 && test_now_ms() < until) {
                taken += serve(c, q, 0);
                test_sleep_ms(50);
        }
        CHECK_INT(seen.revocations, 1);
        CHECK(taken < RECORDS / 2);
        rd_kafka_queue_destroy(q);
        rd_kafka_destroy_flags(other, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);
        rd_kafka_destroy_flags(c, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);
}

static void commit_precedes_records(const char *group, serve_fn *serve, int by_events) {
        int64_t until;
        rd_kafka_t *c;
        rd_kafka_queue_t *q;

        memset(&seen, 0, sizeof(seen));
        c = member(group, by_events, 0);
        q = rd_kafka_queue_get_consumer(c);
        fill_queue(c, q, serve);
        CHECK_OK(rd_kafka_commit(c, NULL, 1));
        /* The result waits behind the records. */
        until = test_now_ms() + 20000;
        while (rd_kafka_queue_length(q) < RECORDS && test_now_ms() < until)
                test_sleep_ms(10);
        CHECK_INT(seen.commits, 0);
        serve(c, q, 0);
        CHECK_INT(seen.commits, 1);
        rd_kafka_queue_destroy(q);
        rd_kafka_destroy_flags(c, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);
}

static void consumer_poll_serves_events_first(void) {
        commit_precedes_records("poll", by_consumer_poll, 0);
        rebalances_precede_records("poll-2", by_consumer_poll, 0);
}

static void batches_serve_events_first(void) {
        commit_precedes_records("batch", by_batch, 0);
        rebalances_precede_records("batch-2", by_batch, 0);
}

static void consuming_a_queue_serves_events_first(void) {
        commit_precedes_records("queue", by_consume_queue, 0);
        rebalances_precede_records("queue-2", by_consume_queue, 0);
}

static void event_queues_bring_events_first(void) {
        commit_precedes_records("events", by_event, 1);
        rebalances_precede_records("events-2", by_event, 1);
}

/* With consume_cb one call serves all that waits: an event that arrives meanwhile does not wait for its end. */
static rd_kafka_t *committer;
static int commits_at_message;

static void on_slow_message(rd_kafka_message_t *m, void *opaque) {
        (void)m, (void)opaque;
        seen.messages++;
        if (seen.messages == 10)
                CHECK_OK(rd_kafka_commit(committer, NULL, 1));
        /* The commit needs a coordinator, which may take a while on a busy machine. */
        if (seen.messages > 10 && seen.messages < RECORDS / 2 && seen.commits == 0)
                test_sleep_ms(50);
        if (seen.messages == RECORDS / 2)
                commits_at_message = seen.commits;
}

static void consume_callbacks_serve_events(void) {
        rd_kafka_conf_t *conf = test_conf();
        rd_kafka_topic_partition_list_t *l = rd_kafka_topic_partition_list_new(1);
        rd_kafka_queue_t *q;
        int64_t until = test_now_ms() + 20000;

        memset(&seen, 0, sizeof(seen));
        test_set(conf, "bootstrap.servers", servers);
        test_set(conf, "group.id", "callbacks");
        test_set(conf, "enable.auto.commit", "false");
        rd_kafka_conf_set_offset_commit_cb(conf, on_commit);
        rd_kafka_conf_set_consume_cb(conf, on_slow_message);
        committer = test_client(RD_KAFKA_CONSUMER, conf);
        q         = rd_kafka_queue_get_consumer(committer);
        rd_kafka_topic_partition_list_add(l, "slow", 0)->offset = 0;
        CHECK_OK(rd_kafka_assign(committer, l));
        rd_kafka_topic_partition_list_destroy(l);
        while (rd_kafka_queue_length(q) < RECORDS / 2 && test_now_ms() < until)
                test_sleep_ms(10);
        CHECK(by_poll(committer, q, 0) >= RECORDS / 2);
        CHECK_INT(commits_at_message, 1);
        rd_kafka_queue_destroy(q);
        rd_kafka_destroy_flags(committer, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);
}

int main(void) {
        cluster = test_cluster(NULL, servers, sizeof(servers));
        CHECK_INT(test_produce(cluster, "slow", 0, 0, RECORDS), 0);
        RUN(consumer_poll_serves_events_first);
        RUN(batches_serve_events_first);
        RUN(consuming_a_queue_serves_events_first);
        RUN(event_queues_bring_events_first);
        RUN(consume_callbacks_serve_events);
        rd_kafka_destroy(cluster);
        return test_end();
}
