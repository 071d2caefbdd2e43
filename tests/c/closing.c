/* The end of a consumer: close, close by a queue, destroy without close, and the results of later calls. */
#define _POSIX_C_SOURCE 200809L
#include "test.h"
#include "rdkafka_mock.h"

static rd_kafka_t *cluster;
static char servers[512];
static int revocations, commits;
static int after_revocation_ms;
static rd_kafka_resp_err_t commit_err;
static int64_t committed_offset;

static void on_rebalance(rd_kafka_t *rk,
                         rd_kafka_resp_err_t err,
                         rd_kafka_topic_partition_list_t *l,
                         void *opaque) {
        (void)opaque;
        if (err == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS) {
                CHECK_OK(rd_kafka_assign(rk, l));
        } else {
                revocations++;
                CHECK_INT(rd_kafka_assignment_lost(rk), 0);
                CHECK_OK(rd_kafka_assign(rk, NULL));
                test_sleep_ms(after_revocation_ms);
        }
}

static void on_commit(rd_kafka_t *rk,
                      rd_kafka_resp_err_t err,
                      rd_kafka_topic_partition_list_t *l,
                      void *opaque) {
        (void)rk;
        (void)opaque;
        commits++;
        commit_err       = err;
        committed_offset = l && l->cnt ? l->elems[0].offset : -1;
}

/* A member of the group that has consumed `cnt` messages of topic "t". */
static rd_kafka_t *member(const char *group, const char *instance, int cnt) {
        rd_kafka_topic_partition_list_t *l = rd_kafka_topic_partition_list_new(1);
        rd_kafka_conf_t *conf              = test_conf();
        int64_t until                      = test_now_ms() + 30000;
        rd_kafka_t *c;

        revocations = commits = 0;
        committed_offset      = -1;
        test_set(conf, "bootstrap.servers", servers);
        test_set(conf, "group.id", group);
        test_set(conf, "auto.offset.reset", "earliest");
        test_set(conf, "auto.commit.interval.ms", "3600000");
        test_set(conf, "session.timeout.ms", "30000");
        if (instance)
                test_set(conf, "group.instance.id", instance);
        rd_kafka_conf_set_rebalance_cb(conf, on_rebalance);
        rd_kafka_conf_set_offset_commit_cb(conf, on_commit);
        c = test_client(RD_KAFKA_CONSUMER, conf);
        rd_kafka_poll_set_consumer(c);
        rd_kafka_topic_partition_list_add(l, "t", RD_KAFKA_PARTITION_UA);
        CHECK_OK(rd_kafka_subscribe(c, l));
        rd_kafka_topic_partition_list_destroy(l);
        while (cnt > 0 && test_now_ms() < until) {
                rd_kafka_message_t *m = rd_kafka_consumer_poll(c, 100);
                if (m && !m->err)
                        cnt--;
                if (m)
                        rd_kafka_message_destroy(m);
        }
        CHECK_INT(cnt, 0);
        return c;
}

static int64_t committed(const char *group) {
        rd_kafka_topic_partition_list_t *l = rd_kafka_topic_partition_list_new(1);
        rd_kafka_conf_t *conf              = test_conf();
        int64_t offset;
        rd_kafka_t *c;

        test_set(conf, "bootstrap.servers", servers);
        test_set(conf, "group.id", group);
        c = test_client(RD_KAFKA_CONSUMER, conf);
        rd_kafka_topic_partition_list_add(l, "t", 0);
        CHECK_OK(rd_kafka_committed(c, l, 20000));
        offset = l->elems[0].offset;
        rd_kafka_topic_partition_list_destroy(l);
        rd_kafka_destroy(c);
        return offset;
}

static void closing_revokes_and_commits(void) {
        rd_kafka_t *c = member("close", NULL, 3);

        CHECK_INT(rd_kafka_consumer_closed(c), 0);
        CHECK_OK(rd_kafka_consumer_close(c));
        CHECK_INT(rd_kafka_consumer_closed(c), 1);
        CHECK_INT(revocations, 1);
        CHECK_INT(commits, 1);
        CHECK_OK(commit_err);
        CHECK_INT(committed_offset, 3);
        CHECK_ERR(rd_kafka_consumer_close(c), RD_KAFKA_RESP_ERR__DESTROY);
        CHECK(rd_kafka_consumer_poll(c, 50) == NULL);
        rd_kafka_destroy(c);
        CHECK_INT(committed("close"), 3);
}

/* Serves a queue until the consumer is closed. */
static void serve_until_closed(rd_kafka_t *c, rd_kafka_queue_t *q) {
        int64_t until = test_now_ms() + 20000;

        while (!rd_kafka_consumer_closed(c) && test_now_ms() < until)
                rd_kafka_queue_poll_callback(q, 50);
        CHECK_INT(rd_kafka_consumer_closed(c), 1);
}

/* The commit and the close are done when the revocation's callback returns. */
static void the_commit_of_a_close_is_reported_after_a_long_callback(void) {
        for (int by_queue = 0; by_queue <= 1; by_queue++) {
                rd_kafka_t *c       = member(by_queue ? "close-queue-late" : "close-late", NULL, 3);
                rd_kafka_queue_t *q = rd_kafka_queue_new(c);

                after_revocation_ms = 2000;
                if (by_queue) {
                        CHECK(rd_kafka_consumer_close_queue(c, q) == NULL);
                        serve_until_closed(c, q);
                } else {
                        CHECK_OK(rd_kafka_consumer_close(c));
                }
                after_revocation_ms = 0;
                CHECK_INT(revocations, 1);
                CHECK_INT(commits, 1);
                CHECK_OK(commit_err);
                CHECK_INT(committed_offset, 3);
                rd_kafka_queue_destroy(q);
                rd_kafka_destroy(c);
        }
}

static void close_queue_does_not_block(void) {
        rd_kafka_t *c         = member("close-queue", NULL, 4);
        rd_kafka_queue_t *q   = rd_kafka_queue_new(c);
        rd_kafka_error_t *error;

        CHECK(rd_kafka_consumer_close_queue(c, q) == NULL);
        /* The revocation is not served yet. */
        test_sleep_ms(50);
        CHECK_INT(rd_kafka_consumer_closed(c), 0);
        CHECK_INT(revocations, 0);
        serve_until_closed(c, q);
        CHECK_INT(revocations, 1);
        error = rd_kafka_consumer_close_queue(c, q);
        CHECK_ERR(rd_kafka_error_code(error), RD_KAFKA_RESP_ERR__DESTROY);
        rd_kafka_error_destroy(error);
        rd_kafka_queue_destroy(q);
        rd_kafka_destroy(c);
        CHECK_INT(committed("close-queue"), 4);
}

static void set_rtt(int rtt_ms) {
        rd_kafka_mock_cluster_t *brokers = rd_kafka_handle_mock_cluster(cluster);

        for (int id = 1; id <= 3; id++)
                CHECK_OK(rd_kafka_mock_broker_set_rtt(brokers, id, rtt_ms));
}

/* The response to LeaveGroup arrives while the application waits for further events: the end of the close ends its poll. */
static void the_end_of_a_close_ends_a_poll(void) {
        rd_kafka_t *c       = member("close-poll", NULL, 1);
        rd_kafka_queue_t *q = rd_kafka_queue_new(c);
        int64_t begin       = test_now_ms();

        /* Nothing is left to commit, so that no event follows the revocation. */
        CHECK_OK(rd_kafka_commit(c, NULL, 0));
        set_rtt(300);
        CHECK(rd_kafka_consumer_close_queue(c, q) == NULL);
        while (!rd_kafka_consumer_closed(c) && test_now_ms() - begin < 60000)
                rd_kafka_queue_poll_callback(q, 30000);
        set_rtt(0);
        CHECK_INT(rd_kafka_consumer_closed(c), 1);
        CHECK(test_now_ms() - begin < 15000);
        rd_kafka_queue_destroy(q);
        rd_kafka_destroy(c);
}

static void destroy_closes_the_consumer(void) {
        rd_kafka_t *c = member("destroy", NULL, 5);
        rd_kafka_destroy(c);
        CHECK_INT(revocations, 1);
        CHECK_INT(committed("destroy"), 5);
}

static void destroy_flag_no_consumer_close(void) {
        rd_kafka_t *c = member("no-close", NULL, 5);
        int64_t start = test_now_ms();

        rd_kafka_destroy_flags(c, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);
        CHECK(test_now_ms() - start < 10000);
        CHECK_INT(revocations, 0);
        CHECK_INT(committed("no-close"), RD_KAFKA_OFFSET_INVALID);
}

/* The end of a close is noticed at once, in most cases even on a busy machine: no client waits for 50 ms. */
static void idle_consumers_are_destroyed_at_once(void) {
        enum { CLIENTS = 100 };
        rd_kafka_t *consumers[CLIENTS];
        int i, late = 0;

        for (i = 0; i < CLIENTS; i++) {
                rd_kafka_conf_t *conf = test_conf();
                test_set(conf, "bootstrap.servers", servers);
                test_set(conf, "group.id", "idle");
                test_set(conf, "io.threads.shared", i % 2 ? "2" : "0");
                consumers[i] = test_client(RD_KAFKA_CONSUMER, conf);
        }
        for (i = 0; i < CLIENTS; i++) {
                int64_t start = test_now_ms();
                rd_kafka_destroy(consumers[i]);
                late += test_now_ms() - start >= 50;
        }
        CHECK(late < CLIENTS / 5);
}

/* KIP-345: the member's place is kept for it. */
static void static_member_does_not_leave_group(void) {
        const struct rd_kafka_group_list *l = NULL;
        rd_kafka_t *c                       = member("static", "one", 2);

        CHECK_OK(rd_kafka_consumer_close(c));
        rd_kafka_destroy(c);
        CHECK_OK(rd_kafka_list_groups(cluster, "static", &l, 10000));
        REQUIRE(l && l->group_cnt == 1);
        CHECK_INT(l->groups[0].member_cnt, 1);
        rd_kafka_group_list_destroy(l);
}

static void close_of_a_producer_fails(void) {
        rd_kafka_t *c         = test_client(RD_KAFKA_CONSUMER, test_conf());
        rd_kafka_queue_t *q   = rd_kafka_queue_new(c);
        rd_kafka_error_t *error;

        CHECK_ERR(rd_kafka_consumer_close(c), RD_KAFKA_RESP_ERR__UNKNOWN_GROUP);
        CHECK_ERR(rd_kafka_consumer_close(cluster), RD_KAFKA_RESP_ERR__UNKNOWN_GROUP);
        error = rd_kafka_consumer_close_queue(c, q);
        CHECK_ERR(rd_kafka_error_code(error), RD_KAFKA_RESP_ERR__UNKNOWN_GROUP);
        rd_kafka_error_destroy(error);
        CHECK_INT(rd_kafka_consumer_closed(c), 0);
        CHECK_INT(rd_kafka_consumer_closed(cluster), 0);
        rd_kafka_queue_destroy(q);
        rd_kafka_destroy(c);
}

int main(void) {
        cluster = test_cluster(NULL, servers, sizeof(servers));
        CHECK_INT(test_produce(cluster, "t", 0, 0, 30), 0);
        RUN(closing_revokes_and_commits);
        RUN(the_commit_of_a_close_is_reported_after_a_long_callback);
        RUN(close_queue_does_not_block);
        RUN(the_end_of_a_close_ends_a_poll);
        RUN(destroy_closes_the_consumer);
        RUN(destroy_flag_no_consumer_close);
        RUN(idle_consumers_are_destroyed_at_once);
        RUN(static_member_does_not_leave_group);
        RUN(close_of_a_producer_fails);
        rd_kafka_destroy(cluster);
        return test_end();
}
