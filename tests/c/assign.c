/* rd_kafka_assign() and rd_kafka_consumer_poll(): offsets, positions, seek, pause, end of partition. */
#define _POSIX_C_SOURCE 200809L
#include "test.h"

static rd_kafka_t *cluster;
static char servers[512];

static rd_kafka_resp_err_t assign(rd_kafka_t *c, const char *topic, int32_t partition,
                                  int64_t offset) {
        rd_kafka_topic_partition_list_t *l = rd_kafka_topic_partition_list_new(1);
        rd_kafka_resp_err_t err;
        rd_kafka_topic_partition_list_add(l, topic, partition)->offset = offset;
        err = rd_kafka_assign(c, l);
        rd_kafka_topic_partition_list_destroy(l);
        return err;
}

/* The next message or error within ten seconds. */
static rd_kafka_message_t *next(rd_kafka_t *c) {
        int64_t until = test_now_ms() + 10000;
        rd_kafka_message_t *m = NULL;
        while (!m && test_now_ms() < until)
                m = rd_kafka_consumer_poll(c, 200);
        return m;
}

/* The next thing is this message (err 0) or news about this offset. */
static int next_is(rd_kafka_t *c, rd_kafka_resp_err_t err, int64_t offset) {
        rd_kafka_message_t *m = next(c);
        int ok = m && CHECK_ERR(m->err, err) && CHECK_INT(m->offset, offset);
        if (ok && !err)
                ok = CHECK_INT(test_number(m), offset);
        if (m)
                rd_kafka_message_destroy(m);
        return CHECK(ok);
}

static void end(rd_kafka_t *c) {
        CHECK_OK(rd_kafka_consumer_close(c));
        rd_kafka_destroy(c);
}

static void every_kind_of_offset(void) {
        rd_kafka_t *c = test_consumer(servers, "assign1");
        CHECK_OK(assign(c, "assigned", 0, RD_KAFKA_OFFSET_BEGINNING));
        next_is(c, 0, 0);
        CHECK_OK(assign(c, "assigned", 0, 55));
        next_is(c, 0, 55);
        next_is(c, 0, 56);
        CHECK_OK(assign(c, "assigned", 0, RD_KAFKA_OFFSET_TAIL(2)));
        next_is(c, 0, 98);
        next_is(c, 0, 99);
        next_is(c, RD_KAFKA_RESP_ERR__PARTITION_EOF, 100);
        CHECK_OK(assign(c, "assigned", 0, RD_KAFKA_OFFSET_END));
        next_is(c, RD_KAFKA_RESP_ERR__PARTITION_EOF, 100);
        CHECK_OK(assign(c, "assigned", 0, RD_KAFKA_OFFSET_INVALID)); /* no commit: earliest */
        next_is(c, 0, 0);
        CHECK_OK(assign(c, "assigned", 0, 100000)); /* out of range: earliest */
        next_is(c, 0, 0);
        end(c);
}

static void no_messages_without_assignment(void) {
        rd_kafka_t *c = test_consumer(servers, "assign2");
        rd_kafka_topic_partition_list_t *l;

        CHECK(rd_kafka_consumer_poll(c, 50) == NULL);
        CHECK_OK(assign(c, "assigned", 0, 0));
        next_is(c, 0, 0);
        CHECK_OK(rd_kafka_assignment(c, &l));
        CHECK(l->cnt == 1 && !strcmp(l->elems[0].topic, "assigned"));
        rd_kafka_topic_partition_list_destroy(l);
        CHECK_OK(rd_kafka_assign(c, NULL));
        CHECK(rd_kafka_consumer_poll(c, 300) == NULL);
        CHECK_OK(rd_kafka_assignment(c, &l));
        CHECK_INT(l->cnt, 0);
        rd_kafka_topic_partition_list_destroy(l);
        end(c);
}

static void position_follows_delivered_messages(void) {
        rd_kafka_t *c = test_consumer(servers, "assign3");
        rd_kafka_topic_partition_list_t *l = rd_kafka_topic_partition_list_new(1);

        rd_kafka_topic_partition_list_add(l, "assigned", 0);
        CHECK_OK(assign(c, "assigned", 0, 10));
        CHECK_OK(rd_kafka_position(c, l));
        CHECK_INT(l->elems[0].offset, RD_KAFKA_OFFSET_INVALID);
        next_is(c, 0, 10);
        next_is(c, 0, 11);
        CHECK_OK(rd_kafka_position(c, l));
        CHECK_INT(l->elems[0].offset, 12);
        rd_kafka_topic_partition_list_destroy(l);
        end(c);
}

/* A position has no leader epoch before the first message was consumed, even if the assignment had one, and
 * none after the partition was revoked. */
static void no_position_has_no_leader_epoch(void) {
        rd_kafka_t *c = test_consumer(servers, "assign-epoch");
        rd_kafka_topic_partition_list_t *l = rd_kafka_topic_partition_list_new(1);
        rd_kafka_topic_partition_t *row    = rd_kafka_topic_partition_list_add(l, "assigned", 0);

        row->offset = 10;
        rd_kafka_topic_partition_set_leader_epoch(row, 0);
        CHECK_OK(rd_kafka_assign(c, l));
        test_sleep_ms(300);
        CHECK_OK(rd_kafka_position(c, l));
        CHECK_INT(row->offset, RD_KAFKA_OFFSET_INVALID);
        CHECK_INT(rd_kafka_topic_partition_get_leader_epoch(row), -1);
        next_is(c, 0, 10);
        CHECK_OK(rd_kafka_position(c, l));
        CHECK_INT(row->offset, 11);
        CHECK_INT(rd_kafka_topic_partition_get_leader_epoch(row), 0);
        CHECK_OK(rd_kafka_assign(c, NULL));
        row->offset = 10;
        CHECK_OK(rd_kafka_assign(c, l));
        CHECK_OK(rd_kafka_position(c, l));
        CHECK_INT(row->offset, RD_KAFKA_OFFSET_INVALID);
        CHECK_INT(rd_kafka_topic_partition_get_leader_epoch(row), -1);
        rd_kafka_topic_partition_list_destroy(l);
        end(c);
}

static void seeking(void) {
        rd_kafka_t *c = test_consumer(servers, "assign4");
        rd_kafka_topic_partition_list_t *l = rd_kafka_topic_partition_list_new(1);
        rd_kafka_error_t *error;

        CHECK_OK(assign(c, "assigned", 0, 0));
        next_is(c, 0, 0);
        rd_kafka_topic_partition_list_add(l, "assigned", 0)->offset = 70;
        error = rd_kafka_seek_partitions(c, l, 5000);
        CHECK(error == NULL);
        CHECK_OK(l->elems[0].err);
        next_is(c, 0, 70);
        l->elems[0].offset = 2;
        error = rd_kafka_seek_partitions(c, l, 5000);
        CHECK(error == NULL);
        next_is(c, 0, 2);
        next_is(c, 0, 3);
        rd_kafka_topic_partition_list_destroy(l);
        end(c);
}

static void paused_partition_delivers_nothing(void) {
        rd_kafka_t *c = test_consumer(servers, "assign5");
        rd_kafka_topic_partition_list_t *l = rd_kafka_topic_partition_list_new(1);

        rd_kafka_topic_partition_list_add(l, "assigned", 0);
        CHECK_OK(assign(c, "assigned", 0, 20));
        next_is(c, 0, 20);
        CHECK_OK(rd_kafka_pause_partitions(c, l));
        CHECK_OK(l->elems[0].err);
        CHECK(rd_kafka_consumer_poll(c, 500) == NULL);
        CHECK_OK(rd_kafka_resume_partitions(c, l));
        next_is(c, 0, 21);
        rd_kafka_topic_partition_list_destroy(l);
        end(c);
}

static void many_partitions_each_in_order(void) {
        rd_kafka_t *c = test_consumer(servers, "assign6");
        rd_kafka_topic_partition_list_t *l = rd_kafka_topic_partition_list_new(4);
        int64_t want[4] = {0, 0, 0, 0};
        int p, got = 0, ends = 0;

        for (p = 0; p < 4; p++)
                CHECK_INT(test_produce(cluster, "many", p, 0, 500), 0);
        rd_kafka_topic_partition_list_add_range(l, "many", 0, 3);
        for (p = 0; p < 4; p++)
                l->elems[p].offset = RD_KAFKA_OFFSET_BEGINNING;
        CHECK_OK(rd_kafka_assign(c, l));
        rd_kafka_topic_partition_list_destroy(l);
        while (ends < 4) {
                rd_kafka_message_t *m = next(c);
                REQUIRE(m != NULL);
                if (m->err == RD_KAFKA_RESP_ERR__PARTITION_EOF) {
                        CHECK_INT(m->offset, 500);
                        ends++;
                } else if (CHECK_OK(m->err)) {
                        CHECK_INT(m->offset, want[m->partition]);
                        CHECK_INT(test_number(m), want[m->partition]);
                        want[m->partition]++;
                        got++;
                }
                rd_kafka_message_destroy(m);
        }
        CHECK_INT(got, 2000);
        end(c);
}

static void incremental_changes(void) {
        rd_kafka_t *c = test_consumer(servers, "assign7");
        rd_kafka_topic_partition_list_t *a = rd_kafka_topic_partition_list_new(1);
        rd_kafka_topic_partition_list_t *b = rd_kafka_topic_partition_list_new(1), *now;
        rd_kafka_error_t *error;

        rd_kafka_topic_partition_list_add(a, "many", 0)->offset = 0;
        rd_kafka_topic_partition_list_add(b, "many", 1)->offset = 490;
        CHECK((error = rd_kafka_incremental_assign(c, a)) == NULL);
        CHECK((error = rd_kafka_incremental_assign(c, b)) == NULL);
        error = rd_kafka_incremental_assign(c, b);
        CHECK_ERR(rd_kafka_error_code(error), RD_KAFKA_RESP_ERR__CONFLICT);
        rd_kafka_error_destroy(error);
        CHECK_OK(rd_kafka_assignment(c, &now));
        CHECK_INT(now->cnt, 2);
        rd_kafka_topic_partition_list_destroy(now);
        CHECK((error = rd_kafka_incremental_unassign(c, a)) == NULL);
        error = rd_kafka_incremental_unassign(c, a);
        CHECK_ERR(rd_kafka_error_code(error), RD_KAFKA_RESP_ERR__INVALID_ARG);
        rd_kafka_error_destroy(error);
        CHECK_OK(rd_kafka_assignment(c, &now));
        CHECK(now->cnt == 1 && now->elems[0].partition == 1);
        rd_kafka_topic_partition_list_destroy(now);
        rd_kafka_topic_partition_list_destroy(a);
        rd_kafka_topic_partition_list_destroy(b);
        end(c);
}

static void partition_queue_without_forwarding(void) {
        rd_kafka_t *c = test_consumer(servers, "assign8");
        rd_kafka_queue_t *q;
        rd_kafka_message_t *m = NULL;
        int64_t until = test_now_ms() + 10000;

        /* Before anything is fetched: what is in the consumer's queue stays there. */
        q = rd_kafka_queue_get_partition(c, "assigned", 0);
        REQUIRE(q != NULL);
        rd_kafka_queue_forward(q, NULL);
        CHECK_OK(assign(c, "assigned", 0, 30));
        while (!m && test_now_ms() < until)
                m = rd_kafka_consume_queue(q, 200);
        REQUIRE(m != NULL);
        CHECK_OK(m->err);
        CHECK_STR(rd_kafka_topic_name(m->rkt), "assigned");
        rd_kafka_message_destroy(m);
        rd_kafka_queue_destroy(q);
        end(c);
}

static void committed_offset_is_start_position(void) {
        rd_kafka_t *c = test_consumer(servers, "assign9");
        rd_kafka_topic_partition_list_t *l = rd_kafka_topic_partition_list_new(1);

        rd_kafka_topic_partition_list_add(l, "assigned", 0);
        CHECK_OK(rd_kafka_committed(c, l, 10000));
        CHECK_INT(l->elems[0].offset, RD_KAFKA_OFFSET_INVALID);
        l->elems[0].offset = 33;
        CHECK_OK(rd_kafka_commit(c, l, 0));
        l->elems[0].offset = 0;
        CHECK_OK(rd_kafka_committed(c, l, 10000));
        CHECK_INT(l->elems[0].offset, 33);
        CHECK_OK(assign(c, "assigned", 0, RD_KAFKA_OFFSET_STORED));
        next_is(c, 0, 33);
        rd_kafka_topic_partition_list_destroy(l);
        end(c);
}

static void duplicates_are_refused(void) {
        rd_kafka_t *c = test_consumer(servers, "assign10");
        rd_kafka_topic_partition_list_t *l = rd_kafka_topic_partition_list_new(2);
        rd_kafka_topic_partition_list_add(l, "assigned", 0);
        rd_kafka_topic_partition_list_add(l, "assigned", 0);
        CHECK_ERR(rd_kafka_assign(c, l), RD_KAFKA_RESP_ERR__INVALID_ARG);
        rd_kafka_topic_partition_list_destroy(l);
        end(c);
}

static void assign_requires_group_id(void) {
        rd_kafka_conf_t *conf = test_conf();
        rd_kafka_topic_partition_list_t *l;
        rd_kafka_t *c;

        test_set(conf, "bootstrap.servers", servers);
        c = test_client(RD_KAFKA_CONSUMER, conf);
        CHECK_ERR(rd_kafka_poll_set_consumer(c), RD_KAFKA_RESP_ERR__UNKNOWN_GROUP);
        CHECK_ERR(assign(c, "assigned", 0, 0), RD_KAFKA_RESP_ERR__UNKNOWN_GROUP);
        CHECK_ERR(rd_kafka_assignment(c, &l), RD_KAFKA_RESP_ERR__UNKNOWN_GROUP);
        CHECK_ERR(rd_kafka_consumer_close(c), RD_KAFKA_RESP_ERR__UNKNOWN_GROUP);
        CHECK(rd_kafka_queue_get_consumer(c) == NULL);
        CHECK(rd_kafka_memberid(c) == NULL);
        rd_kafka_destroy(c);
}

static void calls_after_close(void) {
        rd_kafka_t *c = test_consumer(servers, "assign11");
        CHECK_OK(assign(c, "assigned", 0, 0));
        next_is(c, 0, 0);
        CHECK_INT(rd_kafka_consumer_closed(c), 0);
        CHECK_OK(rd_kafka_consumer_close(c));
        CHECK_INT(rd_kafka_consumer_closed(c), 1);
        rd_kafka_destroy(c);
}

int main(void) {
        cluster = test_cluster(NULL, servers, sizeof(servers));
        CHECK_INT(test_produce(cluster, "assigned", 0, 0, 100), 0);
        RUN(every_kind_of_offset);
        RUN(no_messages_without_assignment);
        RUN(position_follows_delivered_messages);
        RUN(no_position_has_no_leader_epoch);
        RUN(seeking);
        RUN(paused_partition_delivers_nothing);
        RUN(many_partitions_each_in_order);
        RUN(incremental_changes);
        RUN(partition_queue_without_forwarding);
        RUN(committed_offset_is_start_position);
        RUN(duplicates_are_refused);
        RUN(assign_requires_group_id);
        RUN(calls_after_close);
        rd_kafka_destroy(cluster);
        return test_end();
}
