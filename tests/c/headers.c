/* Message headers: the list itself, and on its way through a cluster. */
#define _POSIX_C_SOURCE 200809L
#include "test.h"

static int value_is(const void *value, size_t size, const char *want) {
        return value && size == strlen(want) && !memcmp(value, want, size);
}

static rd_kafka_headers_t *sample(void) {
        rd_kafka_headers_t *h = rd_kafka_headers_new(0);
        rd_kafka_header_add(h, "colour", -1, "red", -1);
        rd_kafka_header_add(h, "sizeXX", 4, "largeYY", 5);
        rd_kafka_header_add(h, "colour", -1, "blue", -1);
        rd_kafka_header_add(h, "nothing", -1, NULL, 0);
        rd_kafka_header_add(h, "empty", -1, "", 0);
        return h;
}

static void check_sample(const rd_kafka_headers_t *h) {
        const void *value;
        const char *name;
        size_t size;

        CHECK_INT(rd_kafka_header_cnt(h), 5);
        CHECK_OK(rd_kafka_header_get_last(h, "colour", &value, &size));
        CHECK(value_is(value, size, "blue"));
        CHECK_OK(rd_kafka_header_get(h, 0, "colour", &value, &size));
        CHECK(value_is(value, size, "red"));
        CHECK_STR(value, "red"); /* a zero follows every value */
        CHECK_OK(rd_kafka_header_get(h, 1, "colour", &value, &size));
        CHECK(value_is(value, size, "blue"));
        CHECK_ERR(rd_kafka_header_get(h, 2, "colour", &value, &size), RD_KAFKA_RESP_ERR__NOENT);
        CHECK_ERR(rd_kafka_header_get_last(h, "weight", &value, &size), RD_KAFKA_RESP_ERR__NOENT);
        CHECK_OK(rd_kafka_header_get_all(h, 1, &name, &value, &size));
        CHECK_STR(name, "size");
        CHECK(value_is(value, size, "large"));
        CHECK_OK(rd_kafka_header_get_all(h, 3, &name, &value, &size));
        CHECK_STR(name, "nothing");
        CHECK(value == NULL && size == 0);
        CHECK_OK(rd_kafka_header_get_all(h, 4, &name, &value, &size));
        CHECK_STR(name, "empty");
        CHECK(value != NULL && size == 0);
        CHECK_ERR(rd_kafka_header_get_all(h, 5, &name, &value, &size), RD_KAFKA_RESP_ERR__NOENT);
}

static void lists_keep_order_and_duplicates(void) {
        rd_kafka_headers_t *h = sample(), *copy;
        check_sample(h);
        copy = rd_kafka_headers_copy(h);
        rd_kafka_headers_destroy(h);
        check_sample(copy);
        rd_kafka_headers_destroy(copy);
}

static void remove_removes_all_headers_of_a_name(void) {
        rd_kafka_headers_t *h = sample();
        const void *value;
        size_t size;
        CHECK_OK(rd_kafka_header_remove(h, "colour"));
        CHECK_INT(rd_kafka_header_cnt(h), 3);
        CHECK_ERR(rd_kafka_header_get_last(h, "colour", &value, &size), RD_KAFKA_RESP_ERR__NOENT);
        CHECK_ERR(rd_kafka_header_remove(h, "colour"), RD_KAFKA_RESP_ERR__NOENT);
        CHECK_OK(rd_kafka_header_get(h, 0, "size", &value, &size));
        CHECK(value_is(value, size, "large"));
        rd_kafka_headers_destroy(h);
}

/* ---- through a cluster -------------------------------------------------- */

static rd_kafka_t *producer;
static char servers[512];
static int reports;

static void on_delivery(rd_kafka_t *rk, const rd_kafka_message_t *m, void *opaque) {
        rd_kafka_headers_t *h;
        (void)rk;
        (void)opaque;
        reports++;
        CHECK_OK(m->err);
        if (m->_private) { /* was sent with headers */
                if (CHECK_OK(rd_kafka_message_headers(m, &h)))
                        CHECK(rd_kafka_header_cnt(h) > 0);
        } else
                CHECK_ERR(rd_kafka_message_headers(m, &h), RD_KAFKA_RESP_ERR__NOENT);
}

/* The next message proper of an assignment of partition 0. */
static rd_kafka_message_t *next_message(rd_kafka_t *c) {
        int64_t until = test_now_ms() + 10000;
        while (test_now_ms() < until) {
                rd_kafka_message_t *m = rd_kafka_consumer_poll(c, 200);
                if (m && !m->err)
                        return m;
                if (m)
                        rd_kafka_message_destroy(m);
        }
        return NULL;
}

static void headers_are_produced_and_consumed(void) {
        rd_kafka_headers_t *h = sample(), *again;
        rd_kafka_topic_partition_list_t *l = rd_kafka_topic_partition_list_new(1);
        rd_kafka_message_t *m;
        rd_kafka_t *c;

        CHECK_OK(rd_kafka_producev(producer, RD_KAFKA_V_TOPIC("headers"), RD_KAFKA_V_PARTITION(0),
                                   RD_KAFKA_V_VALUE("1", 1), RD_KAFKA_V_HEADERS(h),
                                   RD_KAFKA_V_OPAQUE(&reports), RD_KAFKA_V_END));
        CHECK_OK(rd_kafka_producev(producer, RD_KAFKA_V_TOPIC("headers"), RD_KAFKA_V_PARTITION(0),
                                   RD_KAFKA_V_VALUE("2", 1), RD_KAFKA_V_HEADER("a", "x", 1),
                                   RD_KAFKA_V_HEADER("b", "yz", -1), RD_KAFKA_V_OPAQUE(&reports),
                                   RD_KAFKA_V_END));
        CHECK_OK(rd_kafka_producev(producer, RD_KAFKA_V_TOPIC("headers"), RD_KAFKA_V_PARTITION(0),
                                   RD_KAFKA_V_VALUE("3", 1), RD_KAFKA_V_END));
        CHECK_OK(rd_kafka_flush(producer, 10000));
        CHECK_INT(reports, 3);

        c = test_consumer(servers, "headers");
        rd_kafka_topic_partition_list_add(l, "headers", 0)->offset = RD_KAFKA_OFFSET_BEGINNING;
        CHECK_OK(rd_kafka_assign(c, l));
        rd_kafka_topic_partition_list_destroy(l);

        m = next_message(c);
        REQUIRE(m != NULL);
        CHECK_OK(rd_kafka_message_headers(m, &h));
        check_sample(h);
        CHECK_OK(rd_kafka_message_detach_headers(m, &h)); /* ours from here on */
        /* The message still has its headers, in another list. */
        again = NULL;
        CHECK_OK(rd_kafka_message_headers(m, &again));
        REQUIRE(again != NULL && again != h);
        check_sample(again);
        CHECK_OK(rd_kafka_header_remove(h, "size"));
        check_sample(again);
        rd_kafka_headers_destroy(h);
        CHECK_OK(rd_kafka_message_detach_headers(m, &h));
        rd_kafka_message_destroy(m);
        check_sample(h);

        m = next_message(c);
        REQUIRE(m != NULL);
        rd_kafka_message_set_headers(m, h); /* the message's again */
        CHECK_OK(rd_kafka_message_headers(m, &h));
        check_sample(h);
        rd_kafka_message_destroy(m);

        m = next_message(c);
        REQUIRE(m != NULL);
        CHECK_ERR(rd_kafka_message_headers(m, &h), RD_KAFKA_RESP_ERR__NOENT);
        rd_kafka_message_destroy(m);
        rd_kafka_consumer_close(c);
        rd_kafka_destroy(c);
}

static void single_headers_and_a_list_conflict(void) {
        rd_kafka_headers_t *h = sample();
        CHECK_ERR(rd_kafka_producev(producer, RD_KAFKA_V_TOPIC("headers"),
                                    RD_KAFKA_V_VALUE("x", 1), RD_KAFKA_V_HEADER("a", "b", -1),
                                    RD_KAFKA_V_HEADERS(h), RD_KAFKA_V_END),
                  RD_KAFKA_RESP_ERR__CONFLICT);
        check_sample(h); /* still ours */
        rd_kafka_headers_destroy(h);
}

int main(void) {
        rd_kafka_conf_t *conf = test_conf();
        rd_kafka_conf_set_dr_msg_cb(conf, on_delivery);
        producer = test_cluster(conf, servers, sizeof(servers));
        RUN(lists_keep_order_and_duplicates);
        RUN(remove_removes_all_headers_of_a_name);
        RUN(headers_are_produced_and_consumed);
        RUN(single_headers_and_a_list_conflict);
        rd_kafka_destroy(producer);
        return test_end();
}
