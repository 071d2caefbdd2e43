/* Global and topic-level configuration. */
#define _POSIX_C_SOURCE 200809L
#include "test.h"

static rd_kafka_conf_res_t try_set(rd_kafka_conf_t *conf, const char *name, const char *value,
                                   char *errstr, size_t size) {
        memset(errstr, 0, size);
        return rd_kafka_conf_set(conf, name, value, errstr, size);
}

/* The value of a property in a buffer that the next call uses again, or NULL. */
static const char *get(const rd_kafka_conf_t *conf, const char *name) {
        static char value[2048];
        size_t size = sizeof(value);
        return rd_kafka_conf_get(conf, name, value, &size) == RD_KAFKA_CONF_OK ? value : NULL;
}

static void defaults_are_there(void) {
        rd_kafka_conf_t *conf = rd_kafka_conf_new();
        CHECK_STR(get(conf, "client.id"), "rdkafka");
        CHECK_STR(get(conf, "message.max.bytes"), "1000000");
        CHECK_STR(get(conf, "socket.nagle.disable"), "true");
        CHECK_STR(get(conf, "compression.codec"), "none");
        CHECK_STR(get(conf, "isolation.level"), "read_committed");
        CHECK_STR(get(conf, "partition.assignment.strategy"), "range,roundrobin");
        rd_kafka_conf_destroy(conf);
}

static void values_come_back(void) {
        rd_kafka_conf_t *conf = rd_kafka_conf_new();
        test_set(conf, "client.id", "me");
        test_set(conf, "message.max.bytes", "0x1000");
        test_set(conf, "socket.keepalive.enable", "T");
        test_set(conf, "compression.codec", "SNAPPY");
        test_set(conf, "debug", "broker,topic");
        CHECK_STR(get(conf, "client.id"), "me");
        CHECK_STR(get(conf, "message.max.bytes"), "4096");
        CHECK_STR(get(conf, "socket.keepalive.enable"), "true");
        CHECK_STR(get(conf, "compression.codec"), "snappy");
        CHECK_STR(get(conf, "debug"), "broker,topic");
        test_set(conf, "client.id", "");
        CHECK_STR(get(conf, "client.id"), "rdkafka");
        rd_kafka_conf_destroy(conf);
}

static void aliases_are_the_same_property(void) {
        rd_kafka_conf_t *conf = rd_kafka_conf_new();
        test_set(conf, "bootstrap.servers", "a:1,b:2");
        test_set(conf, "retries", "7");
        test_set(conf, "max.in.flight", "3");
        CHECK_STR(get(conf, "metadata.broker.list"), "a:1,b:2");
        CHECK_STR(get(conf, "message.send.max.retries"), "7");
        CHECK_STR(get(conf, "max.in.flight.requests.per.connection"), "3");
        rd_kafka_conf_destroy(conf);
}

static void topic_properties_set_default_topic_conf(void) {
        rd_kafka_conf_t *conf = rd_kafka_conf_new();
        rd_kafka_topic_conf_t *tconf;
        char value[64];
        size_t size = sizeof(value);

        CHECK(rd_kafka_conf_get_default_topic_conf(conf) == NULL);
        test_set(conf, "acks", "1");
        test_set(conf, "auto.offset.reset", "earliest");
        CHECK_STR(get(conf, "request.required.acks"), "1");
        tconf = rd_kafka_conf_get_default_topic_conf(conf);
        REQUIRE(tconf != NULL);
        CHECK_INT(rd_kafka_topic_conf_get(tconf, "acks", value, &size), RD_KAFKA_CONF_OK);
        CHECK_STR(value, "1");
        rd_kafka_conf_destroy(conf);
}

static void wrong_names_are_unknown(void) {
        rd_kafka_conf_t *conf = rd_kafka_conf_new();
        char errstr[256], value[8];
        size_t size = sizeof(value);

        CHECK_INT(try_set(conf, "no.such.thing", "1", errstr, sizeof(errstr)),
                  RD_KAFKA_CONF_UNKNOWN);
        CHECK(strstr(errstr, "no.such.thing") != NULL);
        CHECK_INT(rd_kafka_conf_get(conf, "no.such.thing", value, &size), RD_KAFKA_CONF_UNKNOWN);
        rd_kafka_conf_destroy(conf);
}

static void wrong_values_are_refused(void) {
        static const char *const bad[][2] = {
            {"message.max.bytes", "999"},       {"message.max.bytes", "1000000001"},
            {"message.max.bytes", "many"},      {"message.max.bytes", ""},
            {"socket.keepalive.enable", "yes"}, {"compression.codec", "rar"},
            {"security.protocol", "telnet"},    {"acks", "1001"},
            {"acks", "-2"},                     {"debug", "nonsense"},
            {"broker.address.family", "v5"},
        };
        rd_kafka_conf_t *conf = rd_kafka_conf_new();
        size_t i;

        test_set(conf, "acks", "1");
        for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
                char before[512], errstr[512];
                const char *now = get(conf, bad[i][0]);
                snprintf(before, sizeof(before), "%s", now ? now : "(none)");
                if (!CHECK_INT(try_set(conf, bad[i][0], bad[i][1], errstr, sizeof(errstr)),
                               RD_KAFKA_CONF_INVALID))
                        printf("# at %s = %s\n", bad[i][0], bad[i][1]);
                if (!CHECK(errstr[0] != '\0'))
                        printf("# at %s = %s\n", bad[i][0], bad[i][1]);
                now = get(conf, bad[i][0]);
                CHECK_STR(now ? now : "(none)", before);
        }
        rd_kafka_conf_destroy(conf);
}

static void short_buffers_are_cut_and_sized(void) {
        rd_kafka_conf_t *conf = rd_kafka_conf_new();
        char value[4], errstr[8];
        size_t size = 0;

        test_set(conf, "client.id", "a long name");
        CHECK_INT(rd_kafka_conf_get(conf, "client.id", NULL, &size), RD_KAFKA_CONF_OK);
        CHECK_INT(size, strlen("a long name") + 1);
        size = sizeof(value);
        memset(value, 'z', sizeof(value));
        rd_kafka_conf_get(conf, "client.id", value, &size);
        CHECK_INT(size, strlen("a long name") + 1);
        CHECK(memchr(value, '\0', sizeof(value)) != NULL);
        memset(errstr, 'z', sizeof(errstr));
        CHECK_INT(rd_kafka_conf_set(conf, "no.such.thing", "1", errstr, sizeof(errstr)),
                  RD_KAFKA_CONF_UNKNOWN);
        CHECK(memchr(errstr, '\0', sizeof(errstr)) != NULL);
        CHECK_INT(rd_kafka_conf_set(conf, "no.such.thing", "1", NULL, 0), RD_KAFKA_CONF_UNKNOWN);
        rd_kafka_conf_destroy(conf);
}

static void copies_are_independent(void) {
        rd_kafka_conf_t *a = rd_kafka_conf_new(), *b;
        test_set(a, "client.id", "original");
        test_set(a, "acks", "1");
        b = rd_kafka_conf_dup(a);
        test_set(a, "client.id", "changed");
        test_set(a, "acks", "0");
        CHECK_STR(get(b, "client.id"), "original");
        CHECK_STR(get(b, "acks"), "1");
        rd_kafka_conf_destroy(a);
        CHECK_STR(get(b, "client.id"), "original");
        rd_kafka_conf_destroy(b);
}

static void filtered_copies_leave_out_prefixes(void) {
        const char *filter[] = {"client", "socket.keepalive"};
        rd_kafka_conf_t *a = rd_kafka_conf_new(), *b;
        test_set(a, "client.id", "me");
        test_set(a, "socket.keepalive.enable", "true");
        test_set(a, "socket.timeout.ms", "1234");
        b = rd_kafka_conf_dup_filter(a, 2, filter);
        CHECK_STR(get(b, "client.id"), "rdkafka");
        CHECK_STR(get(b, "socket.keepalive.enable"), "false");
        CHECK_STR(get(b, "socket.timeout.ms"), "1234");
        rd_kafka_conf_destroy(a);
        rd_kafka_conf_destroy(b);
}

/* The value in a dump, or NULL. */
static const char *in_dump(const char **arr, size_t cnt, const char *name) {
        size_t i;
        for (i = 0; i + 1 < cnt; i += 2)
                if (!strcmp(arr[i], name))
                        return arr[i + 1];
        return NULL;
}

static void dumps_hold_names_and_values(void) {
        rd_kafka_conf_t *conf = rd_kafka_conf_new();
        rd_kafka_topic_conf_t *tconf = rd_kafka_topic_conf_new();
        const char **arr;
        char errstr[128];
        size_t cnt = 1;

        test_set(conf, "client.id", "dumped");
        arr = rd_kafka_conf_dump(conf, &cnt);
        REQUIRE(arr != NULL);
        CHECK(cnt > 100 && cnt % 2 == 0);
        CHECK_STR(in_dump(arr, cnt, "client.id"), "dumped");
        CHECK_STR(in_dump(arr, cnt, "message.max.bytes"), "1000000");
        rd_kafka_conf_dump_free(arr, cnt);

        CHECK_INT(rd_kafka_topic_conf_set(tconf, "acks", "0", errstr, sizeof(errstr)),
                  RD_KAFKA_CONF_OK);
        arr = rd_kafka_topic_conf_dump(tconf, &cnt);
        REQUIRE(arr != NULL);
        CHECK_STR(in_dump(arr, cnt, "request.required.acks"), "0");
        rd_kafka_conf_dump_free(arr, cnt);
        rd_kafka_topic_conf_destroy(tconf);
        rd_kafka_conf_destroy(conf);
}

static void topic_conf_sets_copies_refuses(void) {
        rd_kafka_topic_conf_t *a = rd_kafka_topic_conf_new(), *b;
        char errstr[256], value[64];
        size_t size;

        CHECK_INT(rd_kafka_topic_conf_set(a, "message.timeout.ms", "1500", errstr, sizeof(errstr)),
                  RD_KAFKA_CONF_OK);
        CHECK_INT(rd_kafka_topic_conf_set(a, "partitioner", "murmur2", errstr, sizeof(errstr)),
                  RD_KAFKA_CONF_OK);
        CHECK_INT(rd_kafka_topic_conf_set(a, "partitioner", "magic", errstr, sizeof(errstr)),
                  RD_KAFKA_CONF_INVALID);
        CHECK_INT(rd_kafka_topic_conf_set(a, "client.id", "x", errstr, sizeof(errstr)),
                  RD_KAFKA_CONF_UNKNOWN);
        b = rd_kafka_topic_conf_dup(a);
        rd_kafka_topic_conf_destroy(a);
        size = sizeof(value);
        CHECK_INT(rd_kafka_topic_conf_get(b, "delivery.timeout.ms", value, &size),
                  RD_KAFKA_CONF_OK);
        CHECK_STR(value, "1500");
        size = sizeof(value);
        CHECK_INT(rd_kafka_topic_conf_get(b, "partitioner", value, &size), RD_KAFKA_CONF_OK);
        CHECK_STR(value, "murmur2");
        rd_kafka_topic_conf_destroy(b);
}

static void rd_kafka_conf_returns_the_configuration(void) {
        rd_kafka_conf_t *conf = test_conf();
        rd_kafka_topic_conf_t *tconf;
        char value[64];
        size_t size = sizeof(value);
        int mine = 5;
        rd_kafka_t *rk;

        test_set(conf, "client.id", "shown");
        test_set(conf, "message.timeout.ms", "4321");
        rd_kafka_conf_set_opaque(conf, &mine);
        rk = test_client(RD_KAFKA_PRODUCER, conf);
        CHECK_STR(get(rd_kafka_conf(rk), "client.id"), "shown");
        CHECK(rd_kafka_opaque(rk) == &mine);
        tconf = rd_kafka_default_topic_conf_dup(rk);
        REQUIRE(tconf != NULL);
        CHECK_INT(rd_kafka_topic_conf_get(tconf, "message.timeout.ms", value, &size),
                  RD_KAFKA_CONF_OK);
        CHECK_STR(value, "4321");
        rd_kafka_topic_conf_destroy(tconf);
        rd_kafka_destroy(rk);
}

static void new_rejects_conflicting_properties(void) {
        static const struct {
                rd_kafka_type_t type;
                const char *set[3][2];
        } bad[] = {
            {RD_KAFKA_PRODUCER, {{"enable.idempotence", "true"}, {"max.in.flight", "6"}}},
            {RD_KAFKA_PRODUCER, {{"enable.idempotence", "true"}, {"acks", "1"}}},
            {RD_KAFKA_PRODUCER, {{"message.timeout.ms", "3"}, {"linger.ms", "5"}}},
            {RD_KAFKA_CONSUMER, {{"fetch.max.bytes", "1000"}, {"message.max.bytes", "2000"}}},
            {RD_KAFKA_CONSUMER, {{"max.poll.interval.ms", "10"}, {"group.id", "g"}}},
        };
        size_t i, j;

        for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
                rd_kafka_conf_t *conf = test_conf();
                char errstr[256] = "";
                rd_kafka_t *rk;
                for (j = 0; j < 3 && bad[i].set[j][0]; j++)
                        test_set(conf, bad[i].set[j][0], bad[i].set[j][1]);
                rk = rd_kafka_new(bad[i].type, conf, errstr, sizeof(errstr));
                if (rk) {
                        printf("# accepted: %s = %s, %s = %s\n", bad[i].set[0][0],
                               bad[i].set[0][1], bad[i].set[1][0], bad[i].set[1][1]);
                        CHECK(!"a contradiction was accepted");
                        rd_kafka_destroy(rk);
                        continue;
                }
                CHECK_ERR(rd_kafka_last_error(), RD_KAFKA_RESP_ERR__INVALID_ARG);
                CHECK(errstr[0] != '\0');
                /* The configuration is still ours. */
                test_set(conf, "client.id", "again");
                rd_kafka_conf_destroy(conf);
        }
}

static void properties_are_shown(void) {
        char line[4096];
        int found = 0;
        FILE *fp = tmpfile();
        REQUIRE(fp != NULL);
        rd_kafka_conf_properties_show(fp);
        rewind(fp);
        while (fgets(line, sizeof(line), fp)) {
                found |= strstr(line, "bootstrap.servers") ? 1 : 0;
                found |= strstr(line, "request.required.acks") ? 2 : 0;
        }
        fclose(fp);
        CHECK_INT(found, 3);
}

int main(void) {
        RUN(defaults_are_there);
        RUN(values_come_back);
        RUN(aliases_are_the_same_property);
        RUN(topic_properties_set_default_topic_conf);
        RUN(wrong_names_are_unknown);
        RUN(wrong_values_are_refused);
        RUN(short_buffers_are_cut_and_sized);
        RUN(copies_are_independent);
        RUN(filtered_copies_leave_out_prefixes);
        RUN(dumps_hold_names_and_values);
        RUN(topic_conf_sets_copies_refuses);
        RUN(rd_kafka_conf_returns_the_configuration);
        RUN(new_rejects_conflicting_properties);
        RUN(properties_are_shown);
        return test_end();
}
