/* Metadata and cluster information. */
#define _POSIX_C_SOURCE 200809L
#include "test.h"

static rd_kafka_t *cluster;
static char servers[512];

static void one_topic(void) {
        rd_kafka_topic_t *rkt = rd_kafka_topic_new(cluster, "one", NULL);
        const struct rd_kafka_metadata *md;
        int i;

        CHECK_INT(test_produce(cluster, "one", 0, 0, 1), 0);
        REQUIRE(CHECK_OK(rd_kafka_metadata(cluster, 0, rkt, &md, 10000)));
        CHECK_INT(md->broker_cnt, 3);
        for (i = 0; i < md->broker_cnt; i++) {
                CHECK(md->brokers[i].id > 0);
                CHECK(strlen(md->brokers[i].host) > 0);
                CHECK(md->brokers[i].port > 0 && md->brokers[i].port < 65536);
        }
        REQUIRE(CHECK_INT(md->topic_cnt, 1));
        CHECK_STR(md->topics[0].topic, "one");
        CHECK_OK(md->topics[0].err);
        CHECK_INT(md->topics[0].partition_cnt, 4);
        for (i = 0; i < md->topics[0].partition_cnt; i++) {
                const struct rd_kafka_metadata_partition *p = &md->topics[0].partitions[i];
                CHECK_OK(p->err);
                CHECK_INT(p->id, i);
                CHECK(p->leader > 0);
                CHECK(p->replica_cnt > 0 && p->replicas[0] > 0);
                CHECK(p->isr_cnt > 0 && p->isrs[0] > 0);
        }
        CHECK(md->orig_broker_id >= -1);
        CHECK(md->orig_broker_name != NULL);
        rd_kafka_metadata_destroy(md);
        rd_kafka_topic_destroy(rkt);
}

static void all_topics(void) {
        const struct rd_kafka_metadata *md;
        int i, found = 0;

        CHECK_INT(test_produce(cluster, "first", 0, 0, 1), 0);
        CHECK_INT(test_produce(cluster, "second", 0, 0, 1), 0);
        REQUIRE(CHECK_OK(rd_kafka_metadata(cluster, 1, NULL, &md, 10000)));
        for (i = 0; i < md->topic_cnt; i++) {
                found |= !strcmp(md->topics[i].topic, "first") ? 1 : 0;
                found |= !strcmp(md->topics[i].topic, "second") ? 2 : 0;
        }
        CHECK_INT(found, 3);
        rd_kafka_metadata_destroy(md);
}

static void another_client_sees_the_same(void) {
        rd_kafka_conf_t *conf = test_conf();
        const struct rd_kafka_metadata *md;
        rd_kafka_t *rk;

        test_set(conf, "bootstrap.servers", servers);
        rk = test_client(RD_KAFKA_CONSUMER, conf);
        REQUIRE(CHECK_OK(rd_kafka_metadata(rk, 1, NULL, &md, 10000)));
        CHECK_INT(md->broker_cnt, 3);
        CHECK(md->topic_cnt >= 2);
        rd_kafka_metadata_destroy(md);
        rd_kafka_destroy(rk);
}

static void ids(void) {
        char *id = rd_kafka_clusterid(cluster, 10000);
        size_t cnt = 0;
        int32_t controller = rd_kafka_controllerid(cluster, 10000);
        int32_t *brokers = rd_kafka_brokers_learned_ids(cluster, &cnt);

        CHECK(id && strlen(id) > 0);
        rd_kafka_mem_free(cluster, id);
        /* Cached metadata is returned at once. */
        id = rd_kafka_clusterid(cluster, 0);
        CHECK(id && strlen(id) > 0);
        rd_kafka_mem_free(cluster, id);
        CHECK_INT(rd_kafka_controllerid(cluster, 0), controller);
        CHECK(controller >= 0);
        CHECK_INT(cnt, 3);
        CHECK(brokers != NULL);
        rd_kafka_mem_free(cluster, brokers);
}

static void ids_are_known_when_a_metadata_call_has_returned(void) {
        int i;
        for (i = 0; i < 20; i++) {
                rd_kafka_conf_t *conf = test_conf();
                const struct rd_kafka_metadata *md;
                rd_kafka_t *rk;
                char *id;
                /* Without a broker nothing can be known yet, however long the thread is paused here. */
                rk = test_client(RD_KAFKA_PRODUCER, conf);
                CHECK(rd_kafka_clusterid(rk, 0) == NULL);
                CHECK_INT(rd_kafka_brokers_add(rk, servers), 3);
                REQUIRE(CHECK_OK(rd_kafka_metadata(rk, 0, NULL, &md, 10000)));
                id = rd_kafka_clusterid(rk, 0);
                CHECK(id != NULL);
                CHECK(rd_kafka_controllerid(rk, 0) >= 0);
                rd_kafka_mem_free(rk, id);
                rd_kafka_metadata_destroy(md);
                rd_kafka_destroy(rk);
        }
}

static void metadata_times_out_without_broker(void) {
        rd_kafka_conf_t *conf = test_conf();
        const struct rd_kafka_metadata *md = NULL;
        rd_kafka_resp_err_t err;
        int64_t start, took;
        rd_kafka_t *rk;

        test_set(conf, "bootstrap.servers", "127.0.0.1:1");
        rk = test_client(RD_KAFKA_PRODUCER, conf);
        start = test_now_ms();
        err = rd_kafka_metadata(rk, 1, NULL, &md, 500);
        took = test_now_ms() - start;
        CHECK(err == RD_KAFKA_RESP_ERR__TRANSPORT || err == RD_KAFKA_RESP_ERR__TIMED_OUT);
        CHECK(took < 10000);
        start = test_now_ms();
        CHECK(rd_kafka_clusterid(rk, 200) == NULL);
        CHECK_INT(rd_kafka_controllerid(rk, 200), -1);
        CHECK(test_now_ms() - start < 10000);
        rd_kafka_destroy(rk);
}

int main(void) {
        cluster = test_cluster(NULL, servers, sizeof(servers));
        RUN(one_topic);
        RUN(all_topics);
        RUN(another_client_sees_the_same);
        RUN(ids);
        RUN(ids_are_known_when_a_metadata_call_has_returned);
        RUN(metadata_times_out_without_broker);
        rd_kafka_destroy(cluster);
        return test_end();
}
