/* Messages by callback: consume_cb, rd_kafka_consume_callback_queue(); and the errors of partitions. */
#define _POSIX_C_SOURCE 200809L
#include "test.h"

static rd_kafka_t *cluster;
static char servers[512];

/* The callbacks' calls. */
static struct {
        int cnt;
        int64_t next[4]; /* the offset that each partition is to bring next */
        int yield_at;    /* rd_kafka_yield() after this many */
        void *opaque;
} seen;

static void forget(void) { memset(&seen, 0, sizeof(seen)); }

static void on_message(rd_kafka_message_t *m, void *opaque) {
        if (m->err)
                return;
        seen.opaque = opaque;
        seen.cnt++;
        CHECK_INT(m->offset, seen.next[m->partition]);
        seen.next[m->partition] = m->offset + 1;
        CHECK(rd_kafka_message_leader_epoch(m) >= 0);
        if (seen.cnt == seen.yield_at)
                rd_kafka_yield(NULL);
}

static rd_kafka_conf_t *consumer_conf(const char *group) {
        rd_kafka_conf_t *conf = test_conf();
        test_set(conf, "bootstrap.servers", servers);
        test_set(conf, "auto.offset.reset", "earliest");
        if (group)
                test_set(conf, "group.id", group);
        return conf;
}

static void assign_all(rd_kafka_t *c, int64_t offset) {
        rd_kafka_topic_partition_list_t *l = rd_kafka_topic_partition_list_new(4);
        int p;
        for (p = 0; p < 4; p++)
                rd_kafka_topic_partition_list_add(l, "t", p)->offset = offset;
        CHECK_OK(rd_kafka_assign(c, l));
        rd_kafka_topic_partition_list_destroy(l);
}

static void poll_calls_consume_cb(void) {
        rd_kafka_conf_t *conf = consumer_conf("callbacks");
        int64_t until         = test_now_ms() + 20000;
        rd_kafka_queue_t *q;
        rd_kafka_t *c;

        forget();
        rd_kafka_conf_set_consume_cb(conf, on_message);
        rd_kafka_conf_set_opaque(conf, &seen);
        c = test_client(RD_KAFKA_CONSUMER, conf);
        q = rd_kafka_queue_get_consumer(c);
        assign_all(c, RD_KAFKA_OFFSET_BEGINNING);
        while (seen.cnt < 40 && test_now_ms() < until)
                rd_kafka_queue_poll_callback(q, 100);
        CHECK_INT(seen.cnt, 40);
        CHECK(seen.opaque == &seen);
        rd_kafka_queue_destroy(q);
        CHECK_OK(rd_kafka_consumer_close(c));
        rd_kafka_destroy(c);
}

static void consume_callback_queue_calls_callback(void) {
        rd_kafka_t *c         = test_client(RD_KAFKA_CONSUMER, consumer_conf(NULL));
        rd_kafka_topic_t *rkt = rd_kafka_topic_new(c, "t", NULL);
        rd_kafka_queue_t *q   = rd_kafka_queue_new(c);
        int64_t until         = test_now_ms() + 20000;
        int told = 0, p;

        forget();
        CHECK_INT(rd_kafka_consume_callback_queue(q, 10, NULL, NULL), -1);
        CHECK_INT(rd_kafka_consume_callback_queue(q, 10, on_message, NULL), 0);
        for (p = 0; p < 4; p++)
                CHECK_INT(rd_kafka_consume_start_queue(rkt, p, RD_KAFKA_OFFSET_BEGINNING, q), 0);
        while (seen.cnt < 40 && test_now_ms() < until) {
                int before    = seen.cnt, n;
                seen.yield_at = seen.cnt + 3;
                n             = rd_kafka_consume_callback_queue(q, 100, on_message, &told);
                CHECK_INT(n, seen.cnt - before);
                CHECK(n <= 3);
        }
        CHECK_INT(seen.cnt, 40);
        CHECK(seen.opaque == &told);
        for (p = 0; p < 4; p++)
                CHECK_INT(rd_kafka_consume_stop(rkt, p), 0);
        rd_kafka_queue_destroy(q);
        rd_kafka_topic_destroy(rkt);
        rd_kafka_destroy(c);
}

static void partition_errors_name_the_partition(void) {
        rd_kafka_conf_t *conf              = consumer_conf("errors");
        rd_kafka_topic_partition_list_t *l = rd_kafka_topic_partition_list_new(1);
        int64_t until                      = test_now_ms() + 20000;
        int found                          = 0;
        rd_kafka_queue_t *q;
        rd_kafka_t *c;

        rd_kafka_conf_set_events(conf, RD_KAFKA_EVENT_ERROR | RD_KAFKA_EVENT_FETCH);
        test_set(conf, "auto.offset.reset", "error");
        c = test_client(RD_KAFKA_CONSUMER, conf);
        q = rd_kafka_queue_get_consumer(c);
        rd_kafka_topic_partition_list_add(l, "t", 2)->offset = 5000;
        CHECK_OK(rd_kafka_assign(c, l));
        rd_kafka_topic_partition_list_destroy(l);
        while (!found && test_now_ms() < until) {
                rd_kafka_event_t *event = rd_kafka_queue_poll(q, 100);
                rd_kafka_topic_partition_t *row;
                if (!event)
                        continue;
                row = rd_kafka_event_topic_partition(event);
                if (rd_kafka_event_error(event) == RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET) {
                        found = 1;
                        if (CHECK(row != NULL)) {
                                CHECK_STR(row->topic, "t");
                                CHECK_INT(row->partition, 2);
                        }
                        CHECK(rd_kafka_event_error_string(event)[0]);
                }
                if (row)
                        rd_kafka_topic_partition_destroy(row);
                rd_kafka_event_destroy(event);
        }
        CHECK(found);
        rd_kafka_queue_destroy(q);
        CHECK_OK(rd_kafka_consumer_close(c));
        rd_kafka_destroy(c);
}

/* A queue that was split off before the partition was assigned stays so. */
static void partition_queue_before_assign(void) {
        rd_kafka_t *c       = test_client(RD_KAFKA_CONSUMER, consumer_conf("split"));
        rd_kafka_queue_t *q = rd_kafka_queue_get_partition(c, "t", 1);
        int64_t until       = test_now_ms() + 20000;
        int own = 0, others = 0;

        REQUIRE(q != NULL);
        rd_kafka_queue_forward(q, NULL);
        assign_all(c, 0);
        while ((own < 10 || others < 30) && test_now_ms() < until) {
                rd_kafka_message_t *m = rd_kafka_consume_queue(q, 20);
                if (m) {
                        CHECK_INT(m->partition, 1);
                        own++;
                        rd_kafka_message_destroy(m);
                }
                if ((m = rd_kafka_consumer_poll(c, 20))) {
                        CHECK(m->partition != 1);
                        others++;
                        rd_kafka_message_destroy(m);
                }
        }
        CHECK_INT(own, 10);
        CHECK_INT(others, 30);
        CHECK(rd_kafka_queue_get_partition(c, "t", -1) == NULL);
        CHECK(rd_kafka_queue_get_partition(c, "", 0) == NULL);
        CHECK(rd_kafka_queue_get_partition(cluster, "t", 0) == NULL);
        rd_kafka_queue_destroy(q);
        CHECK_OK(rd_kafka_consumer_close(c));
        rd_kafka_destroy(c);
}

int main(void) {
        int p;
        cluster = test_cluster(NULL, servers, sizeof(servers));
        for (p = 0; p < 4; p++)
                CHECK_INT(test_produce(cluster, "t", p, 0, 10), 0);
        RUN(poll_calls_consume_cb);
        RUN(consume_callback_queue_calls_callback);
        RUN(partition_errors_name_the_partition);
        RUN(partition_queue_before_assign);
        rd_kafka_destroy(cluster);
        return test_end();
}
