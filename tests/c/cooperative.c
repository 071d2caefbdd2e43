/* A group that rebalances cooperatively: members receive the added and the revoked partitions, and keep the
 * others. */
#define _POSIX_C_SOURCE 200809L
#include "test.h"

static rd_kafka_t *cluster;
static char servers[512];

struct seen {
        int assigned, revoked, calls, lost, closing;
        /* Revocations without an assignment since. */
        int open;
        char *protocol;
};

static void expect_error(rd_kafka_error_t *error, rd_kafka_resp_err_t code) {
        if (!CHECK(error != NULL))
                return;
        CHECK_ERR(rd_kafka_error_code(error), code);
        rd_kafka_error_destroy(error);
}

static void on_rebalance(rd_kafka_t *rk, rd_kafka_resp_err_t err,
                         rd_kafka_topic_partition_list_t *partitions, void *opaque) {
        struct seen *seen = opaque;
        seen->calls++;
        CHECK_STR(rd_kafka_rebalance_protocol(rk), "COOPERATIVE");
        if (err == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS) {
                seen->assigned += partitions->cnt;
                seen->open = 0;
                /* During close an assignment is revoked at once; both assign functions are valid then. */
                if (!seen->closing)
                        CHECK_ERR(rd_kafka_assign(rk, partitions), RD_KAFKA_RESP_ERR__STATE);
                CHECK(rd_kafka_incremental_assign(rk, partitions) == NULL);
                if (partitions->cnt && !seen->closing)
                        expect_error(rd_kafka_incremental_assign(rk, partitions),
                                     RD_KAFKA_RESP_ERR__CONFLICT);
        } else {
                CHECK_ERR(err, RD_KAFKA_RESP_ERR__REVOKE_PARTITIONS);
                seen->revoked += partitions->cnt;
                seen->open = 1;
                seen->lost += rd_kafka_assignment_lost(rk);
                CHECK(rd_kafka_incremental_unassign(rk, partitions) == NULL);
                /* A second revocation during close is no error. */
                if (!seen->closing)
                        expect_error(rd_kafka_incremental_unassign(rk, partitions),
                                     RD_KAFKA_RESP_ERR__INVALID_ARG);
        }
}

/* A member with this strategy, or without one of the consumer protocol. */
static rd_kafka_t *member(const char *group, const char *strategy, struct seen *seen) {
        rd_kafka_conf_t *conf = test_conf();
        rd_kafka_t *c;
        test_set(conf, "bootstrap.servers", servers);
        test_set(conf, "group.id", group);
        test_set(conf, "auto.offset.reset", "earliest");
        test_set(conf, "topic.metadata.refresh.interval.ms", "500");
        if (strategy) {
                test_set(conf, "heartbeat.interval.ms", "300");
                test_set(conf, "partition.assignment.strategy", strategy);
        } else {
                test_set(conf, "group.protocol", "consumer");
        }
        if (seen) {
                rd_kafka_conf_set_rebalance_cb(conf, on_rebalance);
                rd_kafka_conf_set_opaque(conf, seen);
        }
        c = test_client(RD_KAFKA_CONSUMER, conf);
        CHECK_OK(rd_kafka_poll_set_consumer(c));
        return c;
}

static rd_kafka_resp_err_t subscribe(rd_kafka_t *c, const char *topic) {
        rd_kafka_topic_partition_list_t *l = rd_kafka_topic_partition_list_new(1);
        rd_kafka_resp_err_t err;
        rd_kafka_topic_partition_list_add(l, topic, RD_KAFKA_PARTITION_UA);
        err = rd_kafka_subscribe(c, l);
        rd_kafka_topic_partition_list_destroy(l);
        return err;
}

static int assignment(rd_kafka_t *c) {
        rd_kafka_topic_partition_list_t *l;
        int cnt;
        CHECK_OK(rd_kafka_assignment(c, &l));
        cnt = l->cnt;
        rd_kafka_topic_partition_list_destroy(l);
        return cnt;
}

/* Polls both until they have so many partitions, for 30 seconds at most. */
static void settle(rd_kafka_t *a, int of_a, rd_kafka_t *b, int of_b) {
        int64_t until = test_now_ms() + 30000;
        rd_kafka_t *both[2];
        int i;
        both[0] = a;
        both[1] = b;
        while (test_now_ms() < until) {
                for (i = 0; i < 2; i++) {
                        rd_kafka_message_t *m = both[i] ? rd_kafka_consumer_poll(both[i], 50) : NULL;
                        if (m)
                                rd_kafka_message_destroy(m);
                }
                if (assignment(a) == of_a && (!b || assignment(b) == of_b))
                        return;
        }
        CHECK_INT(assignment(a), of_a);
        if (b)
                CHECK_INT(assignment(b), of_b);
}

static void members_keep_their_partitions(void) {
        struct seen of_a = {0}, of_b = {0};
        rd_kafka_t *a = member("together", "cooperative-sticky", &of_a);
        rd_kafka_t *b;

        CHECK_INT(test_produce(cluster, "shared", 0, 0, 10), 0);
        CHECK_STR(rd_kafka_rebalance_protocol(a), "NONE");
        CHECK_OK(subscribe(a, "shared"));
        settle(a, 4, NULL, 0);
        b = member("together", "cooperative-sticky", &of_b);
        CHECK_OK(subscribe(b, "shared"));
        settle(a, 2, b, 2);
        /* Only the moved partition was revoked, and the other member received it. */
        CHECK_INT(of_a.assigned, 4);
        CHECK_INT(of_a.revoked, 2);
        CHECK_INT(of_b.assigned, 2);
        CHECK_INT(of_b.revoked, 0);
        of_b.closing = 1;
        CHECK_OK(rd_kafka_consumer_close(b));
        CHECK_INT(of_b.revoked, 2);
        CHECK_STR(rd_kafka_rebalance_protocol(b), "NONE");
        rd_kafka_destroy(b);
        settle(a, 4, NULL, 0);
        CHECK_INT(of_a.assigned, 6);
        CHECK_INT(of_a.revoked, 2);
        CHECK_INT(of_a.lost, 0);
        of_a.closing = 1;
        CHECK_OK(rd_kafka_consumer_close(a));
        CHECK_INT(of_a.revoked, 6);
        rd_kafka_destroy(a);
}

static void revocation_requires_incremental_unassign(void) {
        const char *strategies[2] = {"cooperative-sticky", NULL};
        int i;
        for (i = 0; i < 2; i++) {
                struct seen of_a = {0}, of_b = {0};
                const char *group = strategies[i] ? "classic" : "consumer";
                rd_kafka_t *a     = member(group, strategies[i], &of_a);
                rd_kafka_t *b     = member(group, strategies[i], &of_b);
                int64_t until;

                CHECK_OK(subscribe(a, "shared"));
                settle(a, 4, NULL, 0);
                CHECK_OK(subscribe(b, "shared"));
                settle(a, 2, b, 2);
                until = test_now_ms() + 15000;
                while (of_a.open && test_now_ms() < until)
                        settle(a, 2, b, 2);
                CHECK_INT(of_a.open, 0);
                CHECK_INT(of_a.assigned, 4);
                of_a.closing = of_b.closing = 1;
                CHECK_OK(rd_kafka_consumer_close(a));
                CHECK_OK(rd_kafka_consumer_close(b));
                rd_kafka_destroy(a);
                rd_kafka_destroy(b);
        }
}

static void rebalance_without_callback(void) {
        rd_kafka_t *a = member("alone", "cooperative-sticky", NULL);
        rd_kafka_t *b = member("alone", "cooperative-sticky", NULL);
        CHECK_OK(subscribe(a, "shared"));
        settle(a, 4, NULL, 0);
        CHECK_OK(subscribe(b, "shared"));
        settle(a, 2, b, 2);
        CHECK_OK(rd_kafka_consumer_close(a));
        rd_kafka_destroy(a);
        settle(b, 4, NULL, 0);
        CHECK_OK(rd_kafka_consumer_close(b));
        rd_kafka_destroy(b);
}

static void eager_group_rejects_incremental_assign(void) {
        rd_kafka_t *a = member("eager", "sticky", NULL);
        rd_kafka_topic_partition_list_t *l;
        CHECK_OK(subscribe(a, "shared"));
        settle(a, 4, NULL, 0);
        CHECK_STR(rd_kafka_rebalance_protocol(a), "EAGER");
        CHECK_OK(rd_kafka_assignment(a, &l));
        expect_error(rd_kafka_incremental_unassign(a, l), RD_KAFKA_RESP_ERR__STATE);
        expect_error(rd_kafka_incremental_assign(a, l), RD_KAFKA_RESP_ERR__STATE);
        rd_kafka_topic_partition_list_destroy(l);
        CHECK_INT(assignment(a), 4);
        CHECK_OK(rd_kafka_consumer_close(a));
        rd_kafka_destroy(a);
}

static void assign_and_incremental_assign_without_group(void) {
        rd_kafka_t *a = member("none", "cooperative-sticky", NULL);
        rd_kafka_topic_partition_list_t *l = rd_kafka_topic_partition_list_new(1);
        rd_kafka_topic_partition_list_add(l, "shared", 0);
        CHECK_OK(rd_kafka_assign(a, l));
        l->elems[0].partition = 1;
        CHECK(rd_kafka_incremental_assign(a, l) == NULL);
        CHECK_INT(assignment(a), 2);
        CHECK(rd_kafka_incremental_unassign(a, l) == NULL);
        CHECK_INT(assignment(a), 1);
        rd_kafka_topic_partition_list_destroy(l);
        CHECK_OK(rd_kafka_consumer_close(a));
        rd_kafka_destroy(a);
}

static void eager_and_cooperative_strategies_conflict(void) {
        char errstr[512] = "";
        rd_kafka_conf_t *conf = test_conf();
        test_set(conf, "group.id", "mixed");
        test_set(conf, "partition.assignment.strategy", "range,cooperative-sticky");
        CHECK(rd_kafka_new(RD_KAFKA_CONSUMER, conf, errstr, sizeof(errstr)) == NULL);
        CHECK(strstr(errstr, "partition.assignment.strategy") != NULL);
        rd_kafka_conf_destroy(conf);
}

static void regex_subscription_follows_new_topics(void) {
        rd_kafka_t *a = member("patterns", "cooperative-sticky", NULL);
        rd_kafka_topic_partition_list_t *l;

        CHECK_ERR(subscribe(a, "^bad("), RD_KAFKA_RESP_ERR__INVALID_ARG);
        CHECK_INT(test_produce(cluster, "kind-one", 0, 0, 1), 0);
        CHECK_INT(test_produce(cluster, "another-kind", 0, 0, 1), 0);
        CHECK_OK(subscribe(a, "^kind-"));
        CHECK_OK(rd_kafka_subscription(a, &l));
        CHECK(l->cnt == 1 && !strcmp(l->elems[0].topic, "^kind-"));
        rd_kafka_topic_partition_list_destroy(l);
        settle(a, 4, NULL, 0);
        /* New topics are found at the next refresh of metadata. */
        CHECK_INT(test_produce(cluster, "kind-two", 0, 0, 1), 0);
        settle(a, 8, NULL, 0);
        CHECK_OK(rd_kafka_consumer_close(a));
        rd_kafka_destroy(a);
}

int main(void) {
        cluster = test_cluster(NULL, servers, sizeof(servers));
        RUN(members_keep_their_partitions);
        RUN(revocation_requires_incremental_unassign);
        RUN(rebalance_without_callback);
        RUN(eager_group_rejects_incremental_assign);
        RUN(assign_and_incremental_assign_without_group);
        RUN(eager_and_cooperative_strategies_conflict);
        RUN(regex_subscription_follows_new_topics);
        rd_kafka_destroy(cluster);
        return test_end();
}
