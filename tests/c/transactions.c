/* The transactional producer: committed and aborted messages, and the action that each error requires. */
#define _POSIX_C_SOURCE 200809L
#include "test.h"

static rd_kafka_t *cluster;
static char servers[512];
static int delivered, failed;
static rd_kafka_resp_err_t last_err;

static void on_delivery(rd_kafka_t *rk, const rd_kafka_message_t *m, void *opaque) {
        (void)rk;
        (void)opaque;
        delivered += m->err == RD_KAFKA_RESP_ERR_NO_ERROR;
        failed += m->err != RD_KAFKA_RESP_ERR_NO_ERROR;
        last_err = m->err;
}

static rd_kafka_t *make(const char *id, const char *linger) {
        rd_kafka_conf_t *conf = test_conf();

        delivered = failed = 0;
        rd_kafka_conf_set_dr_msg_cb(conf, on_delivery);
        test_set(conf, "bootstrap.servers", servers);
        test_set(conf, "transactional.id", id);
        test_set(conf, "linger.ms", linger);
        return test_client(RD_KAFKA_PRODUCER, conf);
}

/* Success, or what went wrong is printed. */
static int ok(rd_kafka_error_t *error) {
        if (!error)
                return 1;
        printf("# %s: %s\n", rd_kafka_error_name(error), rd_kafka_error_string(error));
        rd_kafka_error_destroy(error);
        return 0;
}

/* The code and the kind of an error: 'f'atal, 'a'bort, 'r'etry, '-' none of them. */
static void check_error(rd_kafka_error_t *error, rd_kafka_resp_err_t code, char kind) {
        CHECK_ERR(rd_kafka_error_code(error), code);
        CHECK_INT(rd_kafka_error_is_fatal(error), kind == 'f');
        CHECK_INT(rd_kafka_error_txn_requires_abort(error), kind == 'a');
        CHECK_INT(rd_kafka_error_is_retriable(error), kind == 'r');
        rd_kafka_error_destroy(error);
}

static rd_kafka_resp_err_t
put(rd_kafka_t *rk, const char *topic, int32_t partition, const char *value) {
        return rd_kafka_producev(rk, RD_KAFKA_V_TOPIC(topic), RD_KAFKA_V_PARTITION(partition),
                                 RD_KAFKA_V_VALUE((void *)value, strlen(value)),
                                 RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_END);
}

/* The values of a partition up to its end, with blanks between them. */
static void read_all(const char *topic, int32_t partition, const char *isolation, char *to, size_t size) {
        rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
        rd_kafka_conf_t *conf = test_conf();
        rd_kafka_t *rk;
        size_t used = 0;

        test_set(conf, "bootstrap.servers", servers);
        test_set(conf, "group.id", "reader");
        test_set(conf, "enable.partition.eof", "true");
        test_set(conf, "enable.auto.commit", "false");
        test_set(conf, "isolation.level", isolation);
        rk = test_client(RD_KAFKA_CONSUMER, conf);
        rd_kafka_topic_partition_list_add(list, topic, partition)->offset = RD_KAFKA_OFFSET_BEGINNING;
        CHECK_OK(rd_kafka_assign(rk, list));
        rd_kafka_topic_partition_list_destroy(list);
        to[0] = '\0';
        for (;;) {
                rd_kafka_message_t *m = rd_kafka_consumer_poll(rk, 20000);
                rd_kafka_resp_err_t err = m ? m->err : RD_KAFKA_RESP_ERR__TIMED_OUT;
                if (!err)
                        used += (size_t)snprintf(to + used, size - used, "%.*s ", (int)m->len,
                                                 (const char *)m->payload);
                if (m)
                        rd_kafka_message_destroy(m);
                if (err) {
                        CHECK_ERR(err, RD_KAFKA_RESP_ERR__PARTITION_EOF);
                        break;
                }
        }
        rd_kafka_consumer_close(rk);
        rd_kafka_destroy(rk);
}

/* Reads a partition until its final content: markers reach partitions soon after the call that ends the
 * transaction. */
static void check_read(const char *topic, int32_t partition, const char *isolation, const char *expected) {
        int64_t until = test_now_ms() + 20000;
        char got[256];

        do
                read_all(topic, partition, isolation, got, sizeof(got));
        while (strcmp(got, expected) && test_now_ms() < until);
        CHECK_STR(got, expected);
}

static void read_committed_hides_aborted_messages(void) {
        rd_kafka_t *rk = make("reading", "5");

        REQUIRE(ok(rd_kafka_init_transactions(rk, -1)));
        REQUIRE(ok(rd_kafka_begin_transaction(rk)));
        CHECK_OK(put(rk, "read", 0, "a"));
        CHECK_OK(put(rk, "read", 1, "b"));
        CHECK(ok(rd_kafka_commit_transaction(rk, -1)));
        CHECK_INT(delivered, 2);
        REQUIRE(ok(rd_kafka_begin_transaction(rk)));
        CHECK_OK(put(rk, "read", 0, "c"));
        CHECK_OK(rd_kafka_flush(rk, 20000));
        CHECK(ok(rd_kafka_abort_transaction(rk, -1)));
        CHECK_INT(delivered, 3);
        REQUIRE(ok(rd_kafka_begin_transaction(rk)));
        CHECK_OK(put(rk, "read", 0, "d"));
        CHECK(ok(rd_kafka_commit_transaction(rk, -1)));
        check_read("read", 0, "read_committed", "a d ");
        check_read("read", 0, "read_uncommitted", "a c d ");
        check_read("read", 1, "read_committed", "b ");
        CHECK_INT(failed, 0);
        rd_kafka_destroy(rk);
}

static void abort_purges_queued_messages(void) {
        rd_kafka_t *rk = make("purging", "1000");

        REQUIRE(ok(rd_kafka_init_transactions(rk, -1)));
        REQUIRE(ok(rd_kafka_begin_transaction(rk)));
        CHECK_OK(put(rk, "purged", 0, "a"));
        CHECK(ok(rd_kafka_abort_transaction(rk, -1)));
        CHECK_INT(delivered, 0);
        CHECK_INT(failed, 1);
        CHECK_ERR(last_err, RD_KAFKA_RESP_ERR__PURGE_QUEUE);
        rd_kafka_destroy(rk);
}

static void offsets_are_committed_with_the_transaction(void) {
        rd_kafka_t *rk = make("offsets", "5"), *consumer = test_consumer(servers, "offsets-group");
        rd_kafka_consumer_group_metadata_t *group = rd_kafka_consumer_group_metadata(consumer);
        rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(2);
        int round;

        rd_kafka_topic_partition_list_add(list, "read", 0)->offset = RD_KAFKA_OFFSET_INVALID;
        REQUIRE(ok(rd_kafka_init_transactions(rk, -1)));
        REQUIRE(ok(rd_kafka_begin_transaction(rk)));
        CHECK(ok(rd_kafka_send_offsets_to_transaction(rk, list, group, -1)));
        CHECK(ok(rd_kafka_commit_transaction(rk, -1)));
        for (round = 0; round < 2; round++) {
                list->elems[0].offset = 10 + round;
                REQUIRE(ok(rd_kafka_begin_transaction(rk)));
                CHECK_OK(put(rk, "offsets-out", 0, "a"));
                CHECK(ok(rd_kafka_send_offsets_to_transaction(rk, list, group, -1)));
                CHECK(ok(round == 0 ? rd_kafka_commit_transaction(rk, -1)
                                    : rd_kafka_abort_transaction(rk, -1)));
                CHECK_OK(rd_kafka_committed(consumer, list, 10000));
                CHECK_INT(list->elems[0].offset, 10);
        }
        rd_kafka_topic_partition_list_destroy(list);
        rd_kafka_consumer_group_metadata_destroy(group);
        rd_kafka_destroy(consumer);
        rd_kafka_destroy(rk);
}

static void a_newer_producer_fences_the_older_one(void) {
        rd_kafka_t *older = make("fenced", "5"), *newer;
        char errstr[256];

        REQUIRE(ok(rd_kafka_init_transactions(older, -1)));
        REQUIRE(ok(rd_kafka_begin_transaction(older)));
        CHECK_OK(put(older, "fenced", 0, "old"));
        CHECK_OK(rd_kafka_flush(older, 20000));
        newer = make("fenced", "5");
        REQUIRE(ok(rd_kafka_init_transactions(newer, -1)));
        REQUIRE(ok(rd_kafka_begin_transaction(newer)));
        CHECK_OK(put(newer, "fenced", 0, "new"));
        CHECK(ok(rd_kafka_commit_transaction(newer, -1)));
        check_error(rd_kafka_commit_transaction(older, -1), RD_KAFKA_RESP_ERR__FENCED, 'f');
        CHECK_ERR(rd_kafka_fatal_error(older, errstr, sizeof(errstr)), RD_KAFKA_RESP_ERR__FENCED);
        check_error(rd_kafka_abort_transaction(older, -1), RD_KAFKA_RESP_ERR__FENCED, 'f');
        CHECK_ERR(put(older, "fenced", 0, "more"), RD_KAFKA_RESP_ERR__FATAL);
        rd_kafka_destroy(older);
        check_read("fenced", 0, "read_committed", "new ");
        rd_kafka_destroy(newer);
}

static void failed_message_requires_abort(void) {
        rd_kafka_t *rk = make("failing", "1000");

        REQUIRE(ok(rd_kafka_init_transactions(rk, -1)));
        REQUIRE(ok(rd_kafka_begin_transaction(rk)));
        CHECK_OK(put(rk, "failing", 0, "a"));
        CHECK_OK(rd_kafka_purge(rk, RD_KAFKA_PURGE_F_QUEUE));
        CHECK_ERR(put(rk, "failing", 0, "b"), RD_KAFKA_RESP_ERR__STATE);
        check_error(rd_kafka_commit_transaction(rk, -1), RD_KAFKA_RESP_ERR__INCONSISTENT, 'a');
        CHECK(ok(rd_kafka_abort_transaction(rk, -1)));
        REQUIRE(ok(rd_kafka_begin_transaction(rk)));
        CHECK_OK(put(rk, "failing", 0, "c"));
        CHECK(ok(rd_kafka_commit_transaction(rk, -1)));
        CHECK_INT(delivered, 1);
        rd_kafka_destroy(rk);
}

static void calls_in_wrong_state_fail(void) {
        rd_kafka_t *rk = make("misused", "5"), *plain = cluster, *consumer;
        rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
        rd_kafka_consumer_group_metadata_t *group = rd_kafka_consumer_group_metadata_new("g");

        check_error(rd_kafka_begin_transaction(rk), RD_KAFKA_RESP_ERR__STATE, '-');
        CHECK_ERR(put(rk, "misused", 0, "a"), RD_KAFKA_RESP_ERR__STATE);
        REQUIRE(ok(rd_kafka_init_transactions(rk, -1)));
        check_error(rd_kafka_init_transactions(rk, -1), RD_KAFKA_RESP_ERR__STATE, '-');
        check_error(rd_kafka_commit_transaction(rk, -1), RD_KAFKA_RESP_ERR__STATE, '-');
        check_error(rd_kafka_abort_transaction(rk, -1), RD_KAFKA_RESP_ERR__STATE, '-');
        check_error(rd_kafka_send_offsets_to_transaction(rk, list, group, -1),
                    RD_KAFKA_RESP_ERR__STATE, '-');
        check_error(rd_kafka_send_offsets_to_transaction(rk, NULL, group, -1),
                    RD_KAFKA_RESP_ERR__INVALID_ARG, '-');
        CHECK_ERR(put(rk, "misused", 0, "a"), RD_KAFKA_RESP_ERR__STATE);
        check_error(rd_kafka_init_transactions(plain, -1), RD_KAFKA_RESP_ERR__NOT_CONFIGURED, '-');
        check_error(rd_kafka_init_transactions(NULL, -1), RD_KAFKA_RESP_ERR__INVALID_ARG, '-');
        consumer = test_consumer(servers, "g");
        check_error(rd_kafka_begin_transaction(consumer), RD_KAFKA_RESP_ERR__INVALID_ARG, '-');
        rd_kafka_destroy(consumer);
        rd_kafka_topic_partition_list_destroy(list);
        rd_kafka_consumer_group_metadata_destroy(group);
        rd_kafka_destroy(rk);
}

static void unreachable_coordinator_times_out(void) {
        rd_kafka_conf_t *conf = test_conf();
        rd_kafka_t *rk;

        test_set(conf, "bootstrap.servers", "127.0.0.1:1");
        test_set(conf, "transactional.id", "far");
        rk = test_client(RD_KAFKA_PRODUCER, conf);
        check_error(rd_kafka_init_transactions(rk, 300), RD_KAFKA_RESP_ERR__TIMED_OUT, 'r');
        check_error(rd_kafka_begin_transaction(rk), RD_KAFKA_RESP_ERR__CONFLICT, 'r');
        check_error(rd_kafka_init_transactions(rk, 0), RD_KAFKA_RESP_ERR__TIMED_OUT, 'r');
        rd_kafka_destroy(rk);
}

int main(void) {
        cluster = test_cluster(NULL, servers, sizeof(servers));
        RUN(read_committed_hides_aborted_messages);
        RUN(abort_purges_queued_messages);
        RUN(offsets_are_committed_with_the_transaction);
        RUN(a_newer_producer_fences_the_older_one);
        RUN(failed_message_requires_abort);
        RUN(calls_in_wrong_state_fail);
        RUN(unreachable_coordinator_times_out);
        rd_kafka_destroy(cluster);
        return test_end();
}
