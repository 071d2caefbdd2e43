/* Which partition a message goes to: the partitioners by property, by callback and by function, and
 * settings that belong to one topic. */
#include "test.h"

#define PARTITIONS 4

static rd_kafka_t *cluster;
static char servers[512];

static struct {
        int cnt, failed;
        int of[PARTITIONS];
        int status[3];
        rd_kafka_resp_err_t err;
} dr;

static void on_delivery(rd_kafka_t *rk, const rd_kafka_message_t *m, void *opaque) {
        (void)rk;
        (void)opaque;
        dr.cnt++;
        dr.status[rd_kafka_message_status(m)]++;
        if (m->err) {
                dr.failed++;
                dr.err = m->err;
        } else if (m->partition >= 0 && m->partition < PARTITIONS)
                dr.of[m->partition]++;
}

static rd_kafka_t *make(rd_kafka_conf_t *conf) {
        memset(&dr, 0, sizeof(dr));
        test_set(conf, "bootstrap.servers", servers);
        rd_kafka_conf_set_dr_msg_cb(conf, on_delivery);
        return test_client(RD_KAFKA_PRODUCER, conf);
}

static int produce(rd_kafka_topic_t *rkt, int32_t partition) {
        return rd_kafka_produce(rkt, partition, RD_KAFKA_MSG_F_COPY, (void *)"x", 1, "key", 3, NULL);
}

/* A handle of a topic whose partitions and leaders are known and in use. */
static rd_kafka_topic_t *known_topic(rd_kafka_t *rk, const char *name, rd_kafka_topic_conf_t *tconf) {
        rd_kafka_topic_t *rkt = rd_kafka_topic_new(rk, name, tconf);
        int32_t p;

        for (p = 0; p < PARTITIONS; p++)
                CHECK_INT(produce(rkt, p), 0);
        CHECK_OK(rd_kafka_flush(rk, 10000));
        memset(&dr, 0, sizeof(dr));
        return rkt;
}

/* The number of partitions that received any of `cnt` messages with that key. */
static int spread(rd_kafka_topic_t *rkt, rd_kafka_t *rk, const char *key, size_t key_len, int cnt) {
        int i, used = 0;

        memset(&dr, 0, sizeof(dr));
        for (i = 0; i < cnt; i++)
                CHECK_INT(rd_kafka_produce(rkt, RD_KAFKA_PARTITION_UA, RD_KAFKA_MSG_F_COPY, (void *)"x", 1, key,
                                           key_len, NULL), 0);
        CHECK_OK(rd_kafka_flush(rk, 20000));
        CHECK_INT(dr.cnt, cnt);
        CHECK_INT(dr.failed, 0);
        for (i = 0; i < PARTITIONS; i++)
                used += dr.of[i] > 0;
        return used;
}

/* With no sticking, 200 messages without a key reach all of four partitions or keep to one. */
static void missing_and_empty_keys(void) {
        static const struct {
                const char *name;
                int null_partitions, empty_partitions;
        } of[] = {
            {"random", PARTITIONS, PARTITIONS},
            {"consistent", 1, 1},
            {"consistent_random", PARTITIONS, PARTITIONS},
            {"murmur2", 1, 1},
            {"murmur2_random", PARTITIONS, 1},
            {"fnv1a", 1, 1},
            {"fnv1a_random", PARTITIONS, 1},
        };
        size_t i;

        for (i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
                rd_kafka_conf_t *conf = test_conf();
                rd_kafka_topic_t *rkt;
                rd_kafka_t *rk;

                test_set(conf, "partitioner", of[i].name);
                test_set(conf, "sticky.partitioning.linger.ms", "0");
                rk = make(conf);
                rkt = rd_kafka_topic_new(rk, "keys", NULL);
                if (!CHECK_INT(spread(rkt, rk, NULL, 0, 200), of[i].null_partitions) ||
                    !CHECK_INT(spread(rkt, rk, "", 0, 200), of[i].empty_partitions))
                        printf("# with %s\n", of[i].name);
                if (!strcmp(of[i].name, "consistent"))
                        CHECK_INT(dr.of[0], 200); /* the CRC-32 of nothing is 0 */
                rd_kafka_topic_destroy(rkt);
                rd_kafka_destroy(rk);
        }
}

/* A key maps to one partition, the one that the function of the same name returns. */
static void key_partition_matches_the_partitioner_function(void) {
        static const struct {
                const char *name;
                int32_t (*function)(const rd_kafka_topic_t *, const void *, size_t, int32_t, void *, void *);
        } of[] = {
            {"consistent", rd_kafka_msg_partitioner_consistent},
            {"consistent_random", rd_kafka_msg_partitioner_consistent_random},
            {"murmur2", rd_kafka_msg_partitioner_murmur2},
            {"murmur2_random", rd_kafka_msg_partitioner_murmur2_random},
            {"fnv1a", rd_kafka_msg_partitioner_fnv1a},
            {"fnv1a_random", rd_kafka_msg_partitioner_fnv1a_random},
        };
        size_t i;

        for (i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
                rd_kafka_conf_t *conf = test_conf();
                rd_kafka_topic_t *rkt;
                rd_kafka_t *rk;
                int number;

                test_set(conf, "partitioner", of[i].name);
                rk = make(conf);
                rkt = rd_kafka_topic_new(rk, "keys", NULL);
                for (number = 0; number < 20; number++) {
                        char key[16];
                        size_t len = (size_t)snprintf(key, sizeof(key), "key-%d", number);
                        int32_t p = of[i].function(rkt, key, len, PARTITIONS, NULL, NULL);
                        CHECK(p >= 0 && p < PARTITIONS);
                        CHECK_INT(spread(rkt, rk, key, len, 3), 1);
                        CHECK_INT(dr.of[p], 3);
                }
                rd_kafka_topic_destroy(rkt);
                rd_kafka_destroy(rk);
        }
}

static void messages_without_a_key_stick_to_a_partition(void) {
        rd_kafka_conf_t *conf = test_conf();
        rd_kafka_topic_t *rkt;
        rd_kafka_t *rk;
        int before, i;

        test_set(conf, "sticky.partitioning.linger.ms", "60000");
        test_set(conf, "partitioner", "murmur2_random");
        rk = make(conf);
        rkt = known_topic(rk, "sticky", NULL);
        CHECK_INT(spread(rkt, rk, NULL, 0, 200), 1);
        for (before = 0; !dr.of[before]; before++)
                ;
        CHECK_INT(spread(rkt, rk, NULL, 0, 200), 1);
        CHECK_INT(dr.of[before], 200);
        CHECK_INT(spread(rkt, rk, "key", 3, 10), 1); /* by its hash */
        rd_kafka_topic_destroy(rkt);
        rd_kafka_destroy(rk);

        /* For a short time only: then another partition is drawn. */
        conf = test_conf();
        test_set(conf, "sticky.partitioning.linger.ms", "5");
        test_set(conf, "linger.ms", "0");
        rk = make(conf);
        rkt = known_topic(rk, "sticky", NULL);
        for (i = 0; i < 60; i++) {
                CHECK_INT(rd_kafka_produce(rkt, RD_KAFKA_PARTITION_UA, RD_KAFKA_MSG_F_COPY, (void *)"x", 1, NULL, 0,
                                           NULL), 0);
                test_sleep_ms(8);
        }
        CHECK_OK(rd_kafka_flush(rk, 10000));
        for (i = 0; i < PARTITIONS; i++)
                CHECK(dr.of[i] > 0);
        rd_kafka_topic_destroy(rkt);
        rd_kafka_destroy(rk);
}

/* ---- the application's own --------------------------------------------------- */

static int32_t answer;
static int calls;
static void *seen_opaque;

static int32_t own(const rd_kafka_topic_t *rkt, const void *key, size_t key_len, int32_t cnt, void *rkt_opaque,
                   void *msg_opaque) {
        (void)key;
        (void)key_len;
        (void)msg_opaque;
        calls++;
        seen_opaque = rkt_opaque;
        CHECK_INT(cnt, PARTITIONS);
        CHECK_INT(rd_kafka_topic_partition_available(rkt, 0), 1);
        CHECK_INT(rd_kafka_topic_partition_available(rkt, PARTITIONS), 0);
        CHECK_INT(rd_kafka_topic_partition_available(rkt, RD_KAFKA_PARTITION_UA), 0);
        return answer;
}

static rd_kafka_topic_conf_t *own_conf(void *opaque) {
        rd_kafka_topic_conf_t *tconf = rd_kafka_topic_conf_new();
        rd_kafka_topic_conf_set_partitioner_cb(tconf, own);
        rd_kafka_topic_conf_set_opaque(tconf, opaque);
        return tconf;
}

static void partitioner_cb_result(void) {
        static const int32_t bad[] = {PARTITIONS, -7, INT32_MAX};
        rd_kafka_topic_t *rkt;
        rd_kafka_t *rk;
        size_t i;

        calls = 0;
        answer = 3;
        rk = make(test_conf());
        rkt = known_topic(rk, "own", own_conf(&answer));
        CHECK_INT(produce(rkt, RD_KAFKA_PARTITION_UA), 0);
        CHECK_OK(rd_kafka_flush(rk, 10000));
        CHECK_INT(calls, 1);
        CHECK(seen_opaque == &answer);
        CHECK_INT(dr.of[3], 1);
        CHECK_INT(produce(rkt, 2), 0); /* an explicit partition: no partitioner is called */
        for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
                answer = bad[i];
                CHECK_INT(produce(rkt, RD_KAFKA_PARTITION_UA), -1);
                CHECK_ERR(rd_kafka_last_error(), RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION);
        }
        CHECK_INT(calls, 1 + (int)i);
        CHECK_OK(rd_kafka_flush(rk, 10000));
        CHECK_INT(dr.cnt, 2);
        CHECK_INT(dr.of[2], 1);
        rd_kafka_topic_destroy(rkt);
        rd_kafka_destroy(rk);
}

/* A callback that finds no partition fails the message (librdkafka holds it back until it times out). */
static void partitioner_cb_returns_unassigned(void) {
        rd_kafka_topic_t *rkt;
        rd_kafka_t *rk = make(test_conf());

        answer = RD_KAFKA_PARTITION_UA;
        rkt = known_topic(rk, "none", own_conf(NULL));
        CHECK_INT(produce(rkt, RD_KAFKA_PARTITION_UA), -1);
        CHECK_ERR(rd_kafka_last_error(), RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION);
        CHECK_INT(rd_kafka_outq_len(rk), 0);
        rd_kafka_topic_destroy(rkt);
        rd_kafka_destroy(rk);
}

/* Given to the client as its default for topics. */
static void a_callback_for_every_topic(void) {
        rd_kafka_conf_t *conf = test_conf();
        rd_kafka_topic_conf_t *tconf;
        rd_kafka_topic_t *rkt;
        rd_kafka_t *rk;
        char value[32];
        size_t size = sizeof(value);

        calls = 0;
        answer = 1;
        test_set(conf, "acks", "1"); /* replaced as a whole by the next default */
        rd_kafka_conf_set_default_topic_conf(conf, own_conf(&calls));
        test_set(conf, "message.timeout.ms", "7000");
        CHECK_INT(rd_kafka_conf_get(conf, "acks", value, &size), RD_KAFKA_CONF_OK);
        CHECK_STR(value, "-1");
        rk = make(conf);
        rd_kafka_topic_destroy(known_topic(rk, "default.a", NULL));
        CHECK_OK(rd_kafka_producev(rk, RD_KAFKA_V_TOPIC("default.a"), RD_KAFKA_V_KEY("key", 3), RD_KAFKA_V_END));
        CHECK_OK(rd_kafka_flush(rk, 10000));
        CHECK_INT(dr.of[1], 1);
        CHECK_INT(calls, 1);
        tconf = rd_kafka_default_topic_conf_dup(rk);
        size = sizeof(value);
        CHECK_INT(rd_kafka_topic_conf_get(tconf, "message.timeout.ms", value, &size), RD_KAFKA_CONF_OK);
        CHECK_STR(value, "7000");
        rkt = known_topic(rk, "default.b", tconf);
        CHECK(rd_kafka_topic_opaque(rkt) == &calls);
        CHECK_INT(produce(rkt, RD_KAFKA_PARTITION_UA), 0);
        CHECK_OK(rd_kafka_flush(rk, 10000));
        CHECK_INT(dr.of[1], 1);
        CHECK_INT(calls, 2);
        rd_kafka_topic_destroy(rkt);
        calls = 0;
        rkt = rd_kafka_topic_new(rk, "default.c", rd_kafka_topic_conf_new()); /* without the defaults */
        CHECK(rd_kafka_topic_opaque(rkt) == NULL);
        CHECK_INT(produce(rkt, RD_KAFKA_PARTITION_UA), 0);
        CHECK_OK(rd_kafka_flush(rk, 10000));
        CHECK_INT(calls, 0);
        rd_kafka_topic_destroy(rkt);
        rd_kafka_destroy(rk);
}

/* Settings of one topic do not touch another; the first handle's stay. */
static void settings_of_a_topic(void) {
        rd_kafka_topic_t *quiet, *again, *plain;
        rd_kafka_topic_conf_t *tconf = own_conf(&dr);
        char errstr[128];
        rd_kafka_t *rk = make(test_conf());

        answer = 0;
        CHECK_INT(rd_kafka_topic_conf_set(tconf, "acks", "0", errstr, sizeof(errstr)), RD_KAFKA_CONF_OK);
        quiet = rd_kafka_topic_new(rk, "settings.quiet", tconf);
        again = rd_kafka_topic_new(rk, "settings.quiet", own_conf(&answer));
        plain = rd_kafka_topic_new(rk, "settings.plain", NULL);
        CHECK(quiet == again && rd_kafka_topic_opaque(again) == &dr);
        CHECK_INT(produce(again, 0), 0);
        CHECK_OK(rd_kafka_flush(rk, 10000));
        CHECK_INT(dr.status[RD_KAFKA_MSG_STATUS_POSSIBLY_PERSISTED], 1);
        CHECK_INT(produce(plain, 0), 0);
        CHECK_OK(rd_kafka_flush(rk, 10000));
        CHECK_INT(dr.status[RD_KAFKA_MSG_STATUS_PERSISTED], 1);
        rd_kafka_topic_destroy(quiet);
        rd_kafka_topic_destroy(again);
        rd_kafka_topic_destroy(plain);
        rd_kafka_destroy(rk);
}

int main(void) {
        cluster = test_cluster(NULL, servers, sizeof(servers));
        RUN(missing_and_empty_keys);
        RUN(key_partition_matches_the_partitioner_function);
        RUN(messages_without_a_key_stick_to_a_partition);
        RUN(partitioner_cb_result);
        RUN(partitioner_cb_returns_unassigned);
        RUN(a_callback_for_every_topic);
        RUN(settings_of_a_topic);
        rd_kafka_destroy(cluster);
        return test_end();
}
