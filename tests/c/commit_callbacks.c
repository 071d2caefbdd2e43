/* The receivers of a commit's result: the caller, offset_commit_cb, the callback of the commit, or a queue. */
#define _POSIX_C_SOURCE 200809L
#include "test.h"

static rd_kafka_t *cluster;
static char servers[512];

struct seen {
        int calls;
        rd_kafka_resp_err_t err;
        int64_t offset;
};

static void on_commit(rd_kafka_t *rk, rd_kafka_resp_err_t err,
                      rd_kafka_topic_partition_list_t *offsets, void *opaque) {
        struct seen *seen = opaque;
        (void)rk;
        seen->calls++;
        seen->err    = err;
        seen->offset = offsets && offsets->cnt == 1 ? offsets->elems[0].offset : -1;
}

/* A consumer, with offset_commit_cb if `seen` is set. */
static rd_kafka_t *consumer(const char *group, struct seen *seen) {
        rd_kafka_conf_t *conf = test_conf();
        rd_kafka_t *c;
        test_set(conf, "bootstrap.servers", servers);
        test_set(conf, "group.id", group);
        test_set(conf, "enable.auto.commit", "false");
        if (seen) {
                rd_kafka_conf_set_offset_commit_cb(conf, on_commit);
                rd_kafka_conf_set_opaque(conf, seen);
        }
        c = test_client(RD_KAFKA_CONSUMER, conf);
        rd_kafka_poll_set_consumer(c);
        return c;
}

/* Polls until the callback was called so often, for 10 seconds at most, and a little longer. */
static void poll_for(rd_kafka_t *c, const struct seen *seen, int calls) {
        int64_t until = test_now_ms() + 10000;
        int after     = 2;
        while (after && test_now_ms() < until) {
                rd_kafka_message_t *m = rd_kafka_consumer_poll(c, 100);
                CHECK(m == NULL);
                if (m)
                        rd_kafka_message_destroy(m);
                after -= seen->calls >= calls;
        }
        CHECK_INT(seen->calls, calls);
}

static rd_kafka_topic_partition_list_t *row(int64_t offset) {
        rd_kafka_topic_partition_list_t *l = rd_kafka_topic_partition_list_new(1);
        rd_kafka_topic_partition_list_add(l, "t", 0)->offset = offset;
        return l;
}

static void end(rd_kafka_t *c, rd_kafka_topic_partition_list_t *l) {
        rd_kafka_topic_partition_list_destroy(l);
        CHECK_OK(rd_kafka_consumer_close(c));
        rd_kafka_destroy(c);
}

static void offset_commit_cb_is_called_for_every_commit(void) {
        struct seen seen                   = {0};
        rd_kafka_t *c                      = consumer("every", &seen);
        rd_kafka_topic_partition_list_t *l = row(3);
        int async;

        for (async = 0; async < 2; async++) {
                seen.calls = 0;
                CHECK_OK(rd_kafka_commit(c, l, async));
                poll_for(c, &seen, 1);
                CHECK_OK(seen.err);
                CHECK_INT(seen.offset, 3);
        }
        end(c, l);
}

static void offset_commit_cb_is_called_without_offsets(void) {
        struct seen seen                   = {0};
        rd_kafka_t *c                      = consumer("nothing", &seen);
        rd_kafka_topic_partition_list_t *l = row(3);

        CHECK_ERR(rd_kafka_commit(c, NULL, 0), RD_KAFKA_RESP_ERR__NO_OFFSET);
        poll_for(c, &seen, 1);
        CHECK_ERR(seen.err, RD_KAFKA_RESP_ERR__NO_OFFSET);
        CHECK_OK(rd_kafka_commit(c, NULL, 1));
        poll_for(c, &seen, 2);
        CHECK_ERR(seen.err, RD_KAFKA_RESP_ERR__NO_OFFSET);
        end(c, l);
}

static void commit_queue_callback_replaces_offset_commit_cb(void) {
        struct seen seen = {0}, own = {0};
        rd_kafka_t *c                      = consumer("own", &seen);
        rd_kafka_topic_partition_list_t *l = row(4);
        rd_kafka_queue_t *q                = rd_kafka_queue_new(c);

        CHECK_OK(rd_kafka_commit_queue(c, l, NULL, on_commit, &own));
        CHECK_INT(own.calls, 1);
        CHECK_OK(rd_kafka_commit_queue(c, l, q, on_commit, &own));
        CHECK_INT(rd_kafka_queue_poll_callback(q, 10000), 1);
        CHECK_INT(own.calls, 2);
        CHECK_INT(own.offset, 4);
        poll_for(c, &seen, 0);
        rd_kafka_queue_destroy(q);
        end(c, l);
}

static void commit_queue_without_callback_calls_offset_commit_cb(void) {
        struct seen seen                   = {0};
        rd_kafka_t *c                      = consumer("queue", &seen);
        rd_kafka_topic_partition_list_t *l = row(5);
        rd_kafka_queue_t *q                = rd_kafka_queue_new(c);
        rd_kafka_event_t *event;

        CHECK_OK(rd_kafka_commit_queue(c, l, NULL, NULL, NULL));
        poll_for(c, &seen, 1);
        CHECK_OK(rd_kafka_commit_queue(c, l, q, NULL, &seen));
        poll_for(c, &seen, 2);
        CHECK_INT(seen.offset, 5);
        event = rd_kafka_queue_poll(q, 10000);
        REQUIRE(event != NULL);
        CHECK_INT(rd_kafka_event_type(event), RD_KAFKA_EVENT_OFFSET_COMMIT);
        CHECK(rd_kafka_event_opaque(event) == &seen);
        rd_kafka_event_destroy(event);
        rd_kafka_queue_destroy(q);
        end(c, l);
}

static void sync_commit_without_callback_makes_no_event(void) {
        rd_kafka_conf_t *conf = test_conf();
        rd_kafka_topic_partition_list_t *l = row(6);
        rd_kafka_queue_t *q;
        rd_kafka_t *c;
        test_set(conf, "bootstrap.servers", servers);
        test_set(conf, "group.id", "events");
        rd_kafka_conf_set_events(conf, RD_KAFKA_EVENT_OFFSET_COMMIT);
        c = test_client(RD_KAFKA_CONSUMER, conf);
        rd_kafka_poll_set_consumer(c);
        q = rd_kafka_queue_get_consumer(c);
        CHECK_OK(rd_kafka_commit(c, l, 0));
        CHECK(rd_kafka_queue_poll(q, 300) == NULL);
        rd_kafka_queue_destroy(q);
        end(c, l);
}

int main(void) {
        cluster = test_cluster(NULL, servers, sizeof(servers));
        CHECK_INT(test_produce(cluster, "t", 0, 0, 10), 0);
        RUN(offset_commit_cb_is_called_for_every_commit);
        RUN(offset_commit_cb_is_called_without_offsets);
        RUN(commit_queue_callback_replaces_offset_commit_cb);
        RUN(commit_queue_without_callback_calls_offset_commit_cb);
        RUN(sync_commit_without_callback_makes_no_event);
        rd_kafka_destroy(cluster);
        return test_end();
}
