/* A group with one member: subscribe, rebalance, commit, start again where it stopped. */
#define _POSIX_C_SOURCE 200809L
#include "test.h"

static rd_kafka_t *cluster;
static char servers[512];

static rd_kafka_t *member(const char *group, rd_kafka_conf_t *conf) {
        rd_kafka_t *c;
        test_set(conf, "bootstrap.servers", servers);
        test_set(conf, "group.id", group);
        test_set(conf, "auto.offset.reset", "earliest");
        c = test_client(RD_KAFKA_CONSUMER, conf);
        CHECK_OK(rd_kafka_poll_set_consumer(c));
        return c;
}

static void subscribe(rd_kafka_t *c, const char *topic) {
        rd_kafka_topic_partition_list_t *l = rd_kafka_topic_partition_list_new(1);
        rd_kafka_topic_partition_list_add(l, topic, RD_KAFKA_PARTITION_UA);
        CHECK_OK(rd_kafka_subscribe(c, l));
        rd_kafka_topic_partition_list_destroy(l);
}

/* Consumes up to `cnt` messages within 30 seconds; is their number. */
static int consume(rd_kafka_t *c, int cnt, int64_t *first_offset) {
        int64_t until = test_now_ms() + 30000;
        int got = 0;
        while (got < cnt && test_now_ms() < until) {
                rd_kafka_message_t *m = rd_kafka_consumer_poll(c, 200);
                if (!m)
                        continue;
                if (CHECK_OK(m->err)) {
                        if (!got && first_offset)
                                *first_offset = m->offset;
                        got++;
                }
                rd_kafka_message_destroy(m);
        }
        return got;
}

static void a_member_gets_all_partitions(void) {
        rd_kafka_t *c = member("group1", test_conf());
        rd_kafka_topic_partition_list_t *l;
        char *id;
        int p;

        for (p = 0; p < 4; p++)
                CHECK_INT(test_produce(cluster, "shared", p, 0, 10), 0);
        subscribe(c, "shared");
        CHECK_OK(rd_kafka_subscription(c, &l));
        CHECK(l->cnt == 1 && !strcmp(l->elems[0].topic, "shared"));
        rd_kafka_topic_partition_list_destroy(l);
        CHECK_INT(consume(c, 40, NULL), 40);
        CHECK_OK(rd_kafka_assignment(c, &l));
        CHECK_INT(l->cnt, 4);
        rd_kafka_topic_partition_list_destroy(l);
        id = rd_kafka_memberid(c);
        CHECK(id && id[0]);
        rd_kafka_mem_free(c, id);
        CHECK_STR(rd_kafka_rebalance_protocol(c), "EAGER");
        CHECK_INT(rd_kafka_assignment_lost(c), 0);
        CHECK_OK(rd_kafka_unsubscribe(c));
        CHECK_OK(rd_kafka_subscription(c, &l));
        CHECK_INT(l->cnt, 0);
        rd_kafka_topic_partition_list_destroy(l);
        CHECK_OK(rd_kafka_consumer_close(c));
        rd_kafka_destroy(c);
}

static void closing_commits_what_was_consumed(void) {
        rd_kafka_topic_partition_list_t *l = rd_kafka_topic_partition_list_new(1);
        rd_kafka_t *c = member("group2", test_conf());
        int64_t first = -1;

        CHECK_INT(test_produce(cluster, "resumed", 0, 0, 20), 0);
        subscribe(c, "resumed");
        CHECK_INT(consume(c, 7, &first), 7);
        CHECK_INT(first, 0);
        CHECK_OK(rd_kafka_consumer_close(c));
        rd_kafka_destroy(c);

        c = member("group2", test_conf());
        rd_kafka_topic_partition_list_add(l, "resumed", 0)->offset = RD_KAFKA_OFFSET_STORED;
        CHECK_OK(rd_kafka_assign(c, l));
        rd_kafka_topic_partition_list_destroy(l);
        CHECK_INT(consume(c, 13, &first), 13);
        CHECK_INT(first, 7);
        CHECK_OK(rd_kafka_consumer_close(c));
        rd_kafka_destroy(c);
}

static struct {
        int assigned, revoked, commits;
} seen;

static void on_rebalance(rd_kafka_t *rk, rd_kafka_resp_err_t err,
                         rd_kafka_topic_partition_list_t *partitions, void *opaque) {
        CHECK(opaque == &seen);
        if (err == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS) {
                seen.assigned += partitions->cnt;
                CHECK_OK(rd_kafka_assign(rk, partitions));
        } else {
                CHECK_ERR(err, RD_KAFKA_RESP_ERR__REVOKE_PARTITIONS);
                seen.revoked += partitions->cnt;
                CHECK_OK(rd_kafka_assign(rk, NULL));
        }
}

static void on_commit(rd_kafka_t *rk, rd_kafka_resp_err_t err,
                      rd_kafka_topic_partition_list_t *offsets, void *opaque) {
        (void)rk;
        CHECK(opaque == &seen);
        if (err == RD_KAFKA_RESP_ERR__NO_OFFSET)
                return;
        CHECK_OK(err);
        CHECK(offsets && offsets->cnt > 0);
        seen.commits++;
}

static void callbacks_run_while_polling(void) {
        rd_kafka_conf_t *conf = test_conf();
        rd_kafka_message_t *m;
        rd_kafka_t *c;
        int64_t until;

        test_set(conf, "enable.auto.commit", "false");
        rd_kafka_conf_set_rebalance_cb(conf, on_rebalance);
        rd_kafka_conf_set_offset_commit_cb(conf, on_commit);
        rd_kafka_conf_set_opaque(conf, &seen);
        c = member("group3", conf);
        subscribe(c, "shared");
        CHECK_INT(consume(c, 39, NULL), 39);
        CHECK_INT(seen.assigned, 4);
        m = NULL;
        until = test_now_ms() + 10000;
        while (!m && test_now_ms() < until)
                m = rd_kafka_consumer_poll(c, 200);
        REQUIRE(m != NULL);
        CHECK_OK(rd_kafka_commit_message(c, m, 1));
        rd_kafka_message_destroy(m);
        while (!seen.commits && test_now_ms() < until)
                rd_kafka_consumer_poll(c, 100);
        CHECK_INT(seen.commits, 1);
        CHECK_OK(rd_kafka_consumer_close(c));
        CHECK_INT(seen.revoked, 4);
        rd_kafka_destroy(c);
}

static void stored_offsets_are_committed(void) {
        rd_kafka_conf_t *conf = test_conf();
        rd_kafka_topic_partition_list_t *l = rd_kafka_topic_partition_list_new(1);
        rd_kafka_message_t *m = NULL;
        rd_kafka_error_t *error;
        int64_t until = test_now_ms() + 30000;
        rd_kafka_t *c;

        test_set(conf, "enable.auto.commit", "false");
        test_set(conf, "enable.auto.offset.store", "false");
        c = member("group4", conf);
        subscribe(c, "resumed");
        while (!m && test_now_ms() < until)
                m = rd_kafka_consumer_poll(c, 200);
        REQUIRE(m != NULL);
        CHECK_ERR(rd_kafka_commit(c, NULL, 0), RD_KAFKA_RESP_ERR__NO_OFFSET);
        error = rd_kafka_offset_store_message(m);
        CHECK(error == NULL);
        CHECK_OK(rd_kafka_commit(c, NULL, 0));
        rd_kafka_topic_partition_list_add(l, "resumed", m->partition);
        CHECK_OK(rd_kafka_committed(c, l, 10000));
        CHECK_INT(l->elems[0].offset, m->offset + 1);
        rd_kafka_message_destroy(m);
        rd_kafka_topic_partition_list_destroy(l);
        CHECK_OK(rd_kafka_consumer_close(c));
        rd_kafka_destroy(c);
}

/* Polls until the error arrives, for up to 30 seconds. Returns 1 if it arrived. */
static int await_error(rd_kafka_t *c, rd_kafka_resp_err_t err) {
        int64_t until = test_now_ms() + 30000;
        while (test_now_ms() < until) {
                rd_kafka_message_t *m = rd_kafka_consumer_poll(c, 200);
                int found = m && m->err == err;
                if (m)
                        rd_kafka_message_destroy(m);
                if (found)
                        return 1;
        }
        return 0;
}

static void max_poll_interval_removes_member(void) {
        rd_kafka_conf_t *conf = test_conf();
        rd_kafka_t *c;

        memset(&seen, 0, sizeof(seen));
        test_set(conf, "session.timeout.ms", "6000");
        test_set(conf, "max.poll.interval.ms", "6000");
        test_set(conf, "heartbeat.interval.ms", "1000");
        test_set(conf, "enable.auto.commit", "false");
        rd_kafka_conf_set_rebalance_cb(conf, on_rebalance);
        rd_kafka_conf_set_opaque(conf, &seen);
        c = member("group6", conf);
        CHECK_INT(test_produce(cluster, "slow", 0, 0, 2), 0);
        subscribe(c, "slow");
        CHECK_INT(consume(c, 2, NULL), 2);
        test_sleep_ms(7500);
        CHECK_INT(seen.revoked, 0);
        CHECK_INT(await_error(c, RD_KAFKA_RESP_ERR__MAX_POLL_EXCEEDED), 1);
        /* When it polls again, it rejoins, and reads the uncommitted messages again. */
        CHECK_INT(consume(c, 2, NULL), 2);
        CHECK_INT(seen.revoked, 4);
        CHECK_INT(seen.assigned, 8);
        CHECK_OK(rd_kafka_consumer_close(c));
        rd_kafka_destroy(c);
}

static void empty_subscriptions_are_refused(void) {
        rd_kafka_t *c = member("group5", test_conf());
        rd_kafka_topic_partition_list_t *l = rd_kafka_topic_partition_list_new(1);
        CHECK_ERR(rd_kafka_subscribe(c, l), RD_KAFKA_RESP_ERR__INVALID_ARG);
        rd_kafka_topic_partition_list_add(l, "", 0);
        CHECK_ERR(rd_kafka_subscribe(c, l), RD_KAFKA_RESP_ERR__INVALID_ARG);
        rd_kafka_topic_partition_list_destroy(l);
        CHECK_OK(rd_kafka_consumer_close(c));
        rd_kafka_destroy(c);
}

int main(void) {
        cluster = test_cluster(NULL, servers, sizeof(servers));
        RUN(a_member_gets_all_partitions);
        RUN(closing_commits_what_was_consumed);
        RUN(callbacks_run_while_polling);
        RUN(stored_offsets_are_committed);
        RUN(max_poll_interval_removes_member);
        RUN(empty_subscriptions_are_refused);
        rd_kafka_destroy(cluster);
        return test_end();
}
