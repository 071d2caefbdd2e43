/* Topic partition lists. */
#define _POSIX_C_SOURCE 200809L
#include "test.h"

static rd_kafka_topic_partition_list_t *sample(void) {
        rd_kafka_topic_partition_list_t *l = rd_kafka_topic_partition_list_new(1);
        rd_kafka_topic_partition_list_add(l, "b", 2);
        rd_kafka_topic_partition_list_add(l, "a", 9);
        rd_kafka_topic_partition_list_add(l, "b", 1);
        rd_kafka_topic_partition_list_add(l, "a", 0);
        return l;
}

static int is(const rd_kafka_topic_partition_t *e, const char *topic, int32_t partition) {
        return e && !strcmp(e->topic, topic) && e->partition == partition;
}

static void adding_grows_the_list(void) {
        rd_kafka_topic_partition_list_t *l = rd_kafka_topic_partition_list_new(0);
        rd_kafka_topic_partition_t *e;
        char name[16];
        int i;

        CHECK_INT(l->cnt, 0);
        for (i = 0; i < 1000; i++) {
                snprintf(name, sizeof(name), "topic%d", i);
                e = rd_kafka_topic_partition_list_add(l, name, i);
                REQUIRE(e != NULL);
                CHECK_INT(e->offset, RD_KAFKA_OFFSET_INVALID);
                CHECK_OK(e->err);
                CHECK(e->metadata == NULL && e->metadata_size == 0 && e->opaque == NULL);
        }
        CHECK_INT(l->cnt, 1000);
        CHECK(l->size >= l->cnt);
        CHECK(is(&l->elems[777], "topic777", 777));
        rd_kafka_topic_partition_list_destroy(l);
}

static void ranges_include_both_ends(void) {
        rd_kafka_topic_partition_list_t *l = rd_kafka_topic_partition_list_new(2);
        rd_kafka_topic_partition_list_add_range(l, "t", 3, 6);
        CHECK_INT(l->cnt, 4);
        CHECK(is(&l->elems[0], "t", 3));
        CHECK(is(&l->elems[3], "t", 6));
        rd_kafka_topic_partition_list_destroy(l);
}

static void find_and_set_offset(void) {
        rd_kafka_topic_partition_list_t *l = sample();
        CHECK(is(rd_kafka_topic_partition_list_find(l, "a", 9), "a", 9));
        CHECK(rd_kafka_topic_partition_list_find(l, "a", 1) == NULL);
        CHECK(rd_kafka_topic_partition_list_find(l, "c", 1) == NULL);
        CHECK_OK(rd_kafka_topic_partition_list_set_offset(l, "b", 1, 1234));
        CHECK_INT(rd_kafka_topic_partition_list_find(l, "b", 1)->offset, 1234);
        CHECK_ERR(rd_kafka_topic_partition_list_set_offset(l, "b", 7, 1),
                  RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION);
        rd_kafka_topic_partition_list_destroy(l);
}

static void deleting_keeps_the_order(void) {
        rd_kafka_topic_partition_list_t *l = sample();
        CHECK_INT(rd_kafka_topic_partition_list_del(l, "a", 9), 1);
        CHECK_INT(rd_kafka_topic_partition_list_del(l, "a", 9), 0);
        CHECK_INT(l->cnt, 3);
        CHECK(is(&l->elems[0], "b", 2) && is(&l->elems[1], "b", 1) && is(&l->elems[2], "a", 0));
        CHECK_INT(rd_kafka_topic_partition_list_del_by_idx(l, 3), 0);
        CHECK_INT(rd_kafka_topic_partition_list_del_by_idx(l, -1), 0);
        CHECK_INT(rd_kafka_topic_partition_list_del_by_idx(l, 0), 1);
        CHECK_INT(l->cnt, 2);
        CHECK(is(&l->elems[0], "b", 1) && is(&l->elems[1], "a", 0));
        rd_kafka_topic_partition_list_destroy(l);
}

static int by_partition_down(const void *a, const void *b, void *opaque) {
        const rd_kafka_topic_partition_t *x = a, *y = b;
        ++*(int *)opaque;
        return (x->partition < y->partition) - (x->partition > y->partition);
}

static void sorting(void) {
        rd_kafka_topic_partition_list_t *l = sample();
        int calls = 0;
        rd_kafka_topic_partition_list_sort(l, NULL, NULL);
        CHECK(is(&l->elems[0], "a", 0) && is(&l->elems[1], "a", 9) && is(&l->elems[2], "b", 1) &&
              is(&l->elems[3], "b", 2));
        rd_kafka_topic_partition_list_sort(l, by_partition_down, &calls);
        CHECK(is(&l->elems[0], "a", 9) && is(&l->elems[1], "b", 2) && is(&l->elems[2], "b", 1) &&
              is(&l->elems[3], "a", 0));
        CHECK(calls >= 3);
        rd_kafka_topic_partition_list_destroy(l);
}

static void copies_hold_everything(void) {
        rd_kafka_topic_partition_list_t *l = sample(), *copy;
        rd_kafka_topic_partition_t *e = &l->elems[1];
        int mine;

        e->offset = 42;
        e->err = RD_KAFKA_RESP_ERR__STATE;
        e->opaque = &mine;
        e->metadata_size = 5;
        e->metadata = rd_kafka_mem_malloc(NULL, 5);
        memcpy(e->metadata, "hello", 5);
        rd_kafka_topic_partition_set_leader_epoch(e, 17);

        copy = rd_kafka_topic_partition_list_copy(l);
        rd_kafka_topic_partition_list_destroy(l);
        REQUIRE(copy != NULL);
        CHECK_INT(copy->cnt, 4);
        e = &copy->elems[1];
        CHECK(is(e, "a", 9));
        CHECK_INT(e->offset, 42);
        CHECK_ERR(e->err, RD_KAFKA_RESP_ERR__STATE);
        CHECK(e->opaque == &mine);
        CHECK(e->metadata_size == 5 && !memcmp(e->metadata, "hello", 5));
        CHECK_INT(rd_kafka_topic_partition_get_leader_epoch(e), 17);
        CHECK_INT(rd_kafka_topic_partition_get_leader_epoch(&copy->elems[0]), -1);
        rd_kafka_topic_partition_list_destroy(copy);
}

static void destroying_nothing_is_allowed(void) {
        rd_kafka_topic_partition_list_destroy(rd_kafka_topic_partition_list_new(10));
}

static void tail_offsets_count_from_the_end(void) {
        CHECK_INT(RD_KAFKA_OFFSET_TAIL(5), -2005);
        CHECK_INT(RD_KAFKA_OFFSET_TAIL(2 + 3), -2005);
}

int main(void) {
        RUN(adding_grows_the_list);
        RUN(ranges_include_both_ends);
        RUN(find_and_set_offset);
        RUN(deleting_keeps_the_order);
        RUN(sorting);
        RUN(copies_hold_everything);
        RUN(destroying_nothing_is_allowed);
        RUN(tail_offsets_count_from_the_end);
        return test_end();
}
