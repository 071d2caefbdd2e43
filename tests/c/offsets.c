/* Watermarks and offsets by time. */
#define _POSIX_C_SOURCE 200809L
#include "test.h"

static rd_kafka_t *cluster;
static char servers[512];

static void query_watermark_offsets(void) {
        int64_t low = -5, high = -5;

        CHECK_INT(test_produce(cluster, "marks", 1, 0, 10), 0);
        CHECK_OK(rd_kafka_query_watermark_offsets(cluster, "marks", 1, &low, &high, 10000));
        CHECK_INT(low, 0);
        CHECK_INT(high, 10);
        CHECK_OK(rd_kafka_query_watermark_offsets(cluster, "marks", 2, &low, &high, 10000));
        CHECK_INT(low, 0);
        CHECK_INT(high, 0);
}

static void unknown_partitions_are_errors(void) {
        int64_t low, high;
        rd_kafka_resp_err_t err =
            rd_kafka_query_watermark_offsets(cluster, "marks", 99, &low, &high, 20000);
        CHECK(err == RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION ||
              err == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART);
        /* No watermarks are cached for this partition. */
        low = high = 5;
        if (!rd_kafka_get_watermark_offsets(cluster, "never", 3, &low, &high)) {
                CHECK_INT(low, RD_KAFKA_OFFSET_INVALID);
                CHECK_INT(high, RD_KAFKA_OFFSET_INVALID);
        }
}

static void get_watermark_offsets_returns_cached_values(void) {
        rd_kafka_topic_partition_list_t *l = rd_kafka_topic_partition_list_new(1);
        rd_kafka_t *c = test_consumer(servers, "marks");
        int64_t low = -5, high = -5, until = test_now_ms() + 10000;
        int eof = 0;

        rd_kafka_topic_partition_list_add(l, "marks", 1)->offset = RD_KAFKA_OFFSET_END;
        CHECK_OK(rd_kafka_assign(c, l));
        rd_kafka_topic_partition_list_destroy(l);
        while (!eof && test_now_ms() < until) {
                rd_kafka_message_t *m = rd_kafka_consumer_poll(c, 200);
                if (!m)
                        continue;
                CHECK_ERR(m->err, RD_KAFKA_RESP_ERR__PARTITION_EOF);
                CHECK_INT(m->offset, 10);
                rd_kafka_message_destroy(m);
                eof = 1;
        }
        CHECK(eof);
        CHECK_OK(rd_kafka_get_watermark_offsets(c, "marks", 1, &low, &high));
        CHECK_INT(high, 10);
        rd_kafka_consumer_close(c);
        rd_kafka_destroy(c);
}

/* test_produce() sets the timestamp of message n to (n + 1) * 1000. */
static void offsets_for_times(void) {
        rd_kafka_topic_partition_list_t *l = rd_kafka_topic_partition_list_new(1);
        rd_kafka_topic_partition_list_add(l, "marks", 1)->offset = 1000000;
        CHECK_OK(rd_kafka_offsets_for_times(cluster, l, 10000));
        CHECK_OK(l->elems[0].err);
        CHECK_INT(l->elems[0].offset, RD_KAFKA_OFFSET_END);
        rd_kafka_topic_partition_list_destroy(l);
}

static void invalid_offset_queries_fail(void) {
        rd_kafka_topic_partition_list_t *l = rd_kafka_topic_partition_list_new(1);
        CHECK_ERR(rd_kafka_offsets_for_times(cluster, l, 1000), RD_KAFKA_RESP_ERR__INVALID_ARG);
        rd_kafka_topic_partition_list_destroy(l);
}

static void offset_queries_obey_their_timeout(void) {
        rd_kafka_conf_t *conf = test_conf();
        int64_t low, high, start;
        rd_kafka_resp_err_t err;
        rd_kafka_t *rk;

        test_set(conf, "bootstrap.servers", "127.0.0.1:1");
        rk = test_client(RD_KAFKA_CONSUMER, conf);
        start = test_now_ms();
        err = rd_kafka_query_watermark_offsets(rk, "marks", 0, &low, &high, 300);
        CHECK(err == RD_KAFKA_RESP_ERR__TIMED_OUT || err == RD_KAFKA_RESP_ERR__TRANSPORT ||
              err == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN);
        CHECK(test_now_ms() - start < 10000);
        rd_kafka_destroy(rk);
}

int main(void) {
        cluster = test_cluster(NULL, servers, sizeof(servers));
        RUN(query_watermark_offsets);
        RUN(unknown_partitions_are_errors);
        RUN(get_watermark_offsets_returns_cached_values);
        RUN(offsets_for_times);
        RUN(invalid_offset_queries_fail);
        RUN(offset_queries_obey_their_timeout);
        rd_kafka_destroy(cluster);
        return test_end();
}
