/* Storing, seeking and committing: the results of each call for consumed and for other partitions. */
#define _POSIX_C_SOURCE 200809L
#include "test.h"

static rd_kafka_t *cluster;
static char servers[512];

static rd_kafka_t *consumer(const char *group, const char *auto_store) {
        rd_kafka_conf_t *conf = test_conf();
        rd_kafka_t *c;
        test_set(conf, "bootstrap.servers", servers);
        test_set(conf, "auto.offset.reset", "earliest");
        test_set(conf, "enable.auto.commit", "false");
        test_set(conf, "enable.auto.offset.store", auto_store);
        if (group)
                test_set(conf, "group.id", group);
        c = test_client(RD_KAFKA_CONSUMER, conf);
        if (group)
                rd_kafka_poll_set_consumer(c);
        return c;
}

static rd_kafka_topic_partition_list_t *row(int32_t partition, int64_t offset) {
        rd_kafka_topic_partition_list_t *l = rd_kafka_topic_partition_list_new(1);
        rd_kafka_topic_partition_list_add(l, "t", partition)->offset = offset;
        return l;
}

static void assign(rd_kafka_t *c, int32_t partition, int64_t offset) {
        rd_kafka_topic_partition_list_t *l = row(partition, offset);
        CHECK_OK(rd_kafka_assign(c, l));
        rd_kafka_topic_partition_list_destroy(l);
}

/* The next message proper, within 20 seconds. */
static rd_kafka_message_t *next(rd_kafka_t *c) {
        int64_t until = test_now_ms() + 20000;
        while (test_now_ms() < until) {
                rd_kafka_message_t *m = rd_kafka_consumer_poll(c, 200);
                if (m && !m->err)
                        return m;
                if (m)
                        rd_kafka_message_destroy(m);
        }
        return NULL;
}

/* Stores one row; is the call's result, with the row's in `row_err`. */
static rd_kafka_resp_err_t
store(rd_kafka_t *c, int32_t partition, int64_t offset, rd_kafka_resp_err_t *row_err) {
        rd_kafka_topic_partition_list_t *l = row(partition, offset);
        rd_kafka_resp_err_t err            = rd_kafka_offsets_store(c, l);
        *row_err                           = l->elems[0].err;
        rd_kafka_topic_partition_list_destroy(l);
        return err;
}

static rd_kafka_resp_err_t store_message(rd_kafka_message_t *m) {
        rd_kafka_error_t *error = rd_kafka_offset_store_message(m);
        rd_kafka_resp_err_t err = rd_kafka_error_code(error);
        rd_kafka_error_destroy(error);
        return err;
}

/* Seeks one row; is the row's result, or the call's when it has one. */
static rd_kafka_resp_err_t seek(rd_kafka_t *c, int32_t partition, int64_t offset, int timeout_ms) {
        rd_kafka_topic_partition_list_t *l = row(partition, offset);
        rd_kafka_error_t *error            = rd_kafka_seek_partitions(c, l, timeout_ms);
        rd_kafka_resp_err_t err = error ? rd_kafka_error_code(error) : l->elems[0].err;
        rd_kafka_error_destroy(error);
        rd_kafka_topic_partition_list_destroy(l);
        return err;
}

static int64_t committed(rd_kafka_t *c, int32_t partition) {
        rd_kafka_topic_partition_list_t *l = row(partition, 0);
        int64_t offset;
        CHECK_OK(rd_kafka_committed(c, l, 20000));
        CHECK_OK(l->elems[0].err);
        offset = l->elems[0].offset;
        rd_kafka_topic_partition_list_destroy(l);
        return offset;
}

static void offsets_of_assigned_partitions_only_are_stored(void) {
        rd_kafka_t *c             = consumer("store", "false");
        rd_kafka_topic_t *rkt     = rd_kafka_topic_new(c, "t", NULL);
        rd_kafka_resp_err_t row_err;
        rd_kafka_topic_partition_list_t *l;
        rd_kafka_message_t *m;

        CHECK_ERR(store(c, 0, 5, &row_err), RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION);
        CHECK_ERR(rd_kafka_offset_store(rkt, 0, 4), RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION);
        assign(c, 0, 0);
        CHECK_OK(store(c, 0, 5, &row_err));
        CHECK_OK(row_err);
        CHECK_OK(rd_kafka_commit(c, NULL, 0));
        CHECK_INT(committed(c, 0), 5);
        /* Here the offset is that of the last message. */
        CHECK_OK(rd_kafka_offset_store(rkt, 0, 6));
        CHECK_OK(rd_kafka_commit(c, NULL, 0));
        CHECK_INT(committed(c, 0), 7);
        m = next(c);
        REQUIRE(m != NULL);
        CHECK_INT(m->offset, 0);
        CHECK_OK(store_message(m));
        /* Stored offsets are committed only forwards; an offset that is named may go back. */
        CHECK_ERR(rd_kafka_commit(c, NULL, 0), RD_KAFKA_RESP_ERR__NO_OFFSET);
        CHECK_INT(committed(c, 0), 7);
        CHECK_OK(rd_kafka_commit_message(c, m, 0));
        CHECK_INT(committed(c, 0), 1);
        CHECK_OK(store(c, 0, 2, &row_err));
        CHECK_OK(rd_kafka_commit(c, NULL, 0));
        CHECK_INT(committed(c, 0), 2);

        /* One of two rows is enough for the call. */
        l = row(0, 9);
        rd_kafka_topic_partition_list_add(l, "t", 3)->offset = 9;
        CHECK_OK(rd_kafka_offsets_store(c, l));
        CHECK_OK(l->elems[0].err);
        CHECK_ERR(l->elems[1].err, RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION);
        rd_kafka_topic_partition_list_destroy(l);

        CHECK_OK(rd_kafka_assign(c, NULL));
        CHECK_ERR(store(c, 0, 11, &row_err), RD_KAFKA_RESP_ERR__STATE);
        CHECK_ERR(row_err, RD_KAFKA_RESP_ERR__STATE);
        CHECK_ERR(rd_kafka_offset_store(rkt, 0, 11), RD_KAFKA_RESP_ERR__STATE);
        CHECK_ERR(store_message(m), RD_KAFKA_RESP_ERR__STATE);
        CHECK_ERR(rd_kafka_commit(c, NULL, 0), RD_KAFKA_RESP_ERR__NO_OFFSET);
        /* An earlier stored offset is not restored with the partition. */
        assign(c, 0, 0);
        CHECK_ERR(rd_kafka_commit(c, NULL, 0), RD_KAFKA_RESP_ERR__NO_OFFSET);
        CHECK_INT(committed(c, 0), 2);
        rd_kafka_message_destroy(m);
        rd_kafka_topic_destroy(rkt);
        CHECK_OK(rd_kafka_consumer_close(c));
        rd_kafka_destroy(c);
}

static void offsets_store_with_auto_offset_store(void) {
        rd_kafka_t *c         = consumer("auto-store", "true");
        rd_kafka_topic_t *rkt = rd_kafka_topic_new(c, "t", NULL);
        rd_kafka_resp_err_t row_err;
        rd_kafka_message_t *m;

        assign(c, 0, 3);
        CHECK_ERR(store(c, 0, 5, &row_err), RD_KAFKA_RESP_ERR__INVALID_ARG);
        CHECK_OK(rd_kafka_offset_store(rkt, 0, 4));
        CHECK_OK(rd_kafka_commit(c, NULL, 0));
        CHECK_INT(committed(c, 0), 5);
        m = next(c);
        REQUIRE(m != NULL);
        CHECK_INT(m->offset, 3);
        /* The message has undone it, and what is stored now lies behind what is committed. */
        CHECK_ERR(rd_kafka_commit(c, NULL, 0), RD_KAFKA_RESP_ERR__NO_OFFSET);
        CHECK_OK(store_message(m));
        rd_kafka_message_destroy(m);
        rd_kafka_topic_destroy(rkt);
        CHECK_OK(rd_kafka_consumer_close(c));
        rd_kafka_destroy(c);
}

static void seek_requires_consumed_partition(void) {
        static const int timeouts[] = {10000, 0, -1};
        rd_kafka_t *c               = consumer("seek", "true");
        rd_kafka_topic_t *rkt       = rd_kafka_topic_new(c, "t", NULL);
        rd_kafka_topic_partition_list_t *none = rd_kafka_topic_partition_list_new(0);
        rd_kafka_error_t *error               = rd_kafka_seek_partitions(c, none, 1000);
        size_t i;

        CHECK_ERR(rd_kafka_error_code(error), RD_KAFKA_RESP_ERR__INVALID_ARG);
        rd_kafka_error_destroy(error);
        rd_kafka_topic_partition_list_destroy(none);
        CHECK_ERR(seek(c, 0, 5, 1000), RD_KAFKA_RESP_ERR__STATE);
        CHECK_ERR(rd_kafka_seek(rkt, 0, 5, 1000), RD_KAFKA_RESP_ERR__STATE);
        assign(c, 0, 0);
        for (i = 0; i < sizeof(timeouts) / sizeof(*timeouts); i++) {
                rd_kafka_message_t *m;
                CHECK_OK(seek(c, 0, 5 + (int64_t)i, timeouts[i]));
                m = next(c);
                REQUIRE(m != NULL);
                CHECK_INT(m->offset, 5 + i);
                rd_kafka_message_destroy(m);
                CHECK_OK(rd_kafka_seek(rkt, 0, RD_KAFKA_OFFSET_TAIL(2), timeouts[i]));
                m = next(c);
                REQUIRE(m != NULL);
                CHECK_INT(m->offset, 18);
                rd_kafka_message_destroy(m);
        }
        CHECK_ERR(rd_kafka_seek(rkt, -1, 5, 1000), RD_KAFKA_RESP_ERR__INVALID_ARG);
        CHECK_ERR(rd_kafka_seek(rkt, 1, 5, 1000), RD_KAFKA_RESP_ERR__STATE);
        CHECK_ERR(rd_kafka_seek(rkt, 99, 5, 1000), RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION);
        CHECK_OK(rd_kafka_assign(c, NULL));
        CHECK_ERR(seek(c, 0, 5, 0), RD_KAFKA_RESP_ERR__STATE);
        rd_kafka_topic_destroy(rkt);
        CHECK_OK(rd_kafka_consumer_close(c));
        rd_kafka_destroy(c);
}

static void metadata_is_committed_and_read(void) {
        rd_kafka_t *c                      = consumer("with-metadata", "false");
        rd_kafka_topic_partition_list_t *l = row(1, 4);

        l->elems[0].metadata      = strdup("where: here");
        l->elems[0].metadata_size = strlen("where: here");
        rd_kafka_topic_partition_set_leader_epoch(&l->elems[0], 0);
        CHECK_OK(rd_kafka_commit(c, l, 0));
        rd_kafka_topic_partition_list_destroy(l);
        l = row(1, 0);
        CHECK_OK(rd_kafka_committed(c, l, 20000));
        CHECK_INT(l->elems[0].offset, 4);
        CHECK_INT(l->elems[0].metadata_size, strlen("where: here"));
        CHECK(l->elems[0].metadata_size == 11 &&
              !memcmp(l->elems[0].metadata, "where: here", 11));
        CHECK_INT(rd_kafka_topic_partition_get_leader_epoch(&l->elems[0]), 0);
        rd_kafka_topic_partition_list_destroy(l);
        rd_kafka_destroy(c);
}

static void without_a_group_nothing_is_committed(void) {
        rd_kafka_t *c                      = consumer(NULL, "true");
        rd_kafka_topic_partition_list_t *l = row(0, 1);

        CHECK_ERR(rd_kafka_commit(c, l, 0), RD_KAFKA_RESP_ERR__UNKNOWN_GROUP);
        CHECK_ERR(rd_kafka_commit(c, NULL, 1), RD_KAFKA_RESP_ERR__UNKNOWN_GROUP);
        CHECK_ERR(rd_kafka_committed(c, l, 1000), RD_KAFKA_RESP_ERR__UNKNOWN_GROUP);
        CHECK_ERR(rd_kafka_commit_queue(c, l, NULL, NULL, NULL),
                  RD_KAFKA_RESP_ERR__UNKNOWN_GROUP);
        CHECK(rd_kafka_memberid(c) == NULL);
        CHECK(rd_kafka_memberid(cluster) == NULL);
        rd_kafka_topic_partition_list_destroy(l);
        rd_kafka_destroy(c);
}

static void commit_without_offsets_returns_no_offset(void) {
        rd_kafka_t *c                         = consumer("nothing", "true");
        rd_kafka_topic_partition_list_t *none = rd_kafka_topic_partition_list_new(0);
        rd_kafka_topic_partition_list_t *l    = row(0, RD_KAFKA_OFFSET_INVALID);
        char *id                              = rd_kafka_memberid(c);

        CHECK_STR(id, "");
        rd_kafka_mem_free(c, id);
        CHECK_ERR(rd_kafka_commit(c, NULL, 0), RD_KAFKA_RESP_ERR__NO_OFFSET);
        CHECK_ERR(rd_kafka_commit(c, none, 0), RD_KAFKA_RESP_ERR__NO_OFFSET);
        CHECK_ERR(rd_kafka_commit(c, l, 0), RD_KAFKA_RESP_ERR__NO_OFFSET);
        CHECK_OK(rd_kafka_commit(c, NULL, 1));
        CHECK_ERR(rd_kafka_commit_queue(c, NULL, NULL, NULL, NULL), RD_KAFKA_RESP_ERR__NO_OFFSET);
        CHECK_OK(rd_kafka_committed(c, none, 1000));
        CHECK_OK(rd_kafka_position(c, none));
        CHECK_INT(committed(c, 2), RD_KAFKA_OFFSET_INVALID);
        rd_kafka_topic_partition_list_destroy(none);
        rd_kafka_topic_partition_list_destroy(l);
        rd_kafka_destroy(c);
}

static void calls_after_close_return_at_once(void) {
        rd_kafka_t *c                      = consumer("closed", "true");
        rd_kafka_topic_partition_list_t *l = row(0, 1);

        CHECK_OK(rd_kafka_consumer_close(c));
        CHECK_ERR(rd_kafka_commit_queue(c, l, NULL, NULL, NULL), RD_KAFKA_RESP_ERR__STATE);
        CHECK_ERR(rd_kafka_commit_queue(c, NULL, NULL, NULL, NULL), RD_KAFKA_RESP_ERR__STATE);
        CHECK_ERR(rd_kafka_commit(c, l, 0), RD_KAFKA_RESP_ERR__STATE);
        CHECK_ERR(rd_kafka_committed(c, l, 1000), RD_KAFKA_RESP_ERR__STATE);
        CHECK_ERR(rd_kafka_assign(c, l), RD_KAFKA_RESP_ERR__STATE);
        CHECK_ERR(rd_kafka_subscribe(c, l), RD_KAFKA_RESP_ERR__STATE);
        rd_kafka_topic_partition_list_destroy(l);
        rd_kafka_destroy(c);
}

int main(void) {
        cluster = test_cluster(NULL, servers, sizeof(servers));
        CHECK_INT(test_produce(cluster, "t", 0, 0, 20), 0);
        RUN(offsets_of_assigned_partitions_only_are_stored);
        RUN(offsets_store_with_auto_offset_store);
        RUN(seek_requires_consumed_partition);
        RUN(metadata_is_committed_and_read);
        RUN(without_a_group_nothing_is_committed);
        RUN(commit_without_offsets_returns_no_offset);
        RUN(calls_after_close_return_at_once);
        rd_kafka_destroy(cluster);
        return test_end();
}
