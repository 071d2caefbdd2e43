/* Statistics: by callback, whose return value decides the ownership of the text, and as events. */
#include "test.h"

static rd_kafka_t *cluster;
static char servers[512];

/* The callback's calls. */
struct seen {
        int calls, torn, keep;
        char *kept;
        rd_kafka_t *rk;
};

/* Skips a JSON string or object or array or word; NULL where the text is none of these. */
static const char *skip_value(const char *at);

static const char *skip_string(const char *at) {
        if (*at++ != '"')
                return NULL;
        while (*at && *at != '"') {
                if ((unsigned char)*at < 0x20 || (*at == '\\' && !*++at))
                        return NULL;
                at++;
        }
        return *at == '"' ? at + 1 : NULL;
}

static const char *skip_object(const char *at) {
        at++;
        if (*at == '}')
                return at + 1;
        for (;;) {
                at = skip_string(at);
                if (!at || *at++ != ':')
                        return NULL;
                at = skip_value(at);
                if (!at || (*at != ',' && *at != '}'))
                        return NULL;
                if (*at++ == '}')
                        return at;
        }
}

static const char *skip_value(const char *at) {
        size_t n;
        if (*at == '"')
                return skip_string(at);
        if (*at == '{')
                return skip_object(at);
        n = strspn(at, "-0123456789truefals");
        return n ? at + n : NULL;
}

static int is_json(const char *text) {
        const char *end = *text == '{' ? skip_object(text) : NULL;
        return end && !*end;
}

/* The number behind the first occurrence of a key: of the first partition that has one. */
static int64_t first_number(const char *json, const char *key) {
        char quoted[64];
        const char *at;
        snprintf(quoted, sizeof(quoted), "\"%s\":", key);
        at = strstr(json, quoted);
        return at ? strtoll(at + strlen(quoted), NULL, 10) : INT64_MIN;
}

/* The number behind the last occurrence: that of the whole client, where it has one. */
static int64_t last_number(const char *json, const char *key) {
        char quoted[64];
        const char *at, *next;
        snprintf(quoted, sizeof(quoted), "\"%s\":", key);
        for (at = strstr(json, quoted); at && (next = strstr(at + 1, quoted)); at = next)
                ;
        return at ? strtoll(at + strlen(quoted), NULL, 10) : INT64_MIN;
}

static int on_stats(rd_kafka_t *rk, char *json, size_t len, void *opaque) {
        struct seen *seen = opaque;
        seen->calls++;
        seen->torn += json[len] != '\0' || strlen(json) != len || !is_json(json);
        seen->rk = rk;
        if (!seen->keep)
                return 0;
        if (seen->kept)
                rd_kafka_mem_free(rk, seen->kept);
        seen->kept = json;
        return 1;
}

static rd_kafka_conf_t *conf_with(const char *interval, struct seen *seen) {
        rd_kafka_conf_t *conf = test_conf();
        test_set(conf, "bootstrap.servers", servers);
        test_set(conf, "statistics.interval.ms", interval);
        if (seen) {
                rd_kafka_conf_set_stats_cb(conf, on_stats);
                rd_kafka_conf_set_opaque(conf, seen);
        }
        return conf;
}

static void the_callback_gets_whole_documents(void) {
        struct seen seen = {0};
        rd_kafka_conf_t *conf = conf_with("20", &seen);
        int64_t until = test_now_ms() + 10000;
        rd_kafka_t *rk;

        test_set(conf, "client.id", "a \"quoted\" \\ name\n");
        rk = test_client(RD_KAFKA_PRODUCER, conf);
        CHECK_INT(test_produce(rk, "stats", 0, 0, 10), 0);
        while (seen.calls < 3 && test_now_ms() < until)
                rd_kafka_poll(rk, 100);
        CHECK(seen.calls >= 3);
        CHECK_INT(seen.torn, 0);
        CHECK(seen.rk == rk);
        rd_kafka_destroy(rk);
}

static void stats_cb_result_1_keeps_the_text(void) {
        struct seen seen = {.keep = 1};
        rd_kafka_t *rk = test_client(RD_KAFKA_PRODUCER, conf_with("20", &seen));
        int64_t until = test_now_ms() + 10000;

        CHECK_INT(test_produce(rk, "stats", 0, 10, 10), 0);
        while ((!seen.kept || last_number(seen.kept, "txmsgs") != 10) && test_now_ms() < until)
                rd_kafka_poll(rk, 100);
        rd_kafka_destroy(rk);
        REQUIRE(seen.kept != NULL);
        CHECK_INT(seen.torn, 0);
        CHECK(strstr(seen.kept, "\"type\":\"producer\"") != NULL);
        CHECK_INT(last_number(seen.kept, "txmsgs"), 10);
        rd_kafka_mem_free(NULL, seen.kept);
}

static void statistics_are_events(void) {
        rd_kafka_conf_t *conf = conf_with("20", NULL);
        rd_kafka_queue_t *q;
        rd_kafka_event_t *ev;
        const char *json;
        rd_kafka_t *rk;

        rd_kafka_conf_set_events(conf, RD_KAFKA_EVENT_STATS);
        rk = test_client(RD_KAFKA_PRODUCER, conf);
        q = rd_kafka_queue_get_main(rk);
        ev = rd_kafka_queue_poll(q, 10000);
        CHECK_INT(rd_kafka_event_type(ev), RD_KAFKA_EVENT_STATS);
        CHECK_STR(rd_kafka_event_name(ev), "Stats");
        json = rd_kafka_event_stats(ev);
        CHECK(json != NULL && is_json(json));
        CHECK(json != NULL && strstr(json, rd_kafka_name(rk)) != NULL);
        CHECK(rd_kafka_event_stats(NULL) == NULL);
        rd_kafka_event_destroy(ev);
        rd_kafka_queue_destroy(q);
        rd_kafka_destroy(rk);
}

static void consumer_poll_serves_statistics(void) {
        struct seen seen = {.keep = 1};
        rd_kafka_conf_t *conf = conf_with("20", &seen);
        rd_kafka_topic_partition_list_t *topics = rd_kafka_topic_partition_list_new(1);
        int64_t until = test_now_ms() + 20000;
        int messages = 0;
        rd_kafka_t *rk;

        CHECK_INT(test_produce(cluster, "lag", 0, 0, 10), 0);
        test_set(conf, "group.id", "statistics");
        test_set(conf, "auto.offset.reset", "earliest");
        rk = test_client(RD_KAFKA_CONSUMER, conf);
        rd_kafka_poll_set_consumer(rk);
        rd_kafka_topic_partition_list_add(topics, "lag", RD_KAFKA_PARTITION_UA);
        CHECK_OK(rd_kafka_subscribe(rk, topics));
        rd_kafka_topic_partition_list_destroy(topics);
        while ((messages < 10 || !seen.kept || first_number(seen.kept, "app_offset") != 10) &&
               test_now_ms() < until) {
                rd_kafka_message_t *m = rd_kafka_consumer_poll(rk, 100);
                if (m) {
                        messages += !m->err;
                        rd_kafka_message_destroy(m);
                }
        }
        CHECK_INT(messages, 10);
        REQUIRE(seen.kept != NULL);
        CHECK_INT(seen.torn, 0);
        CHECK_INT(last_number(seen.kept, "rxmsgs"), 10);
        CHECK_INT(first_number(seen.kept, "hi_offset"), 10);
        CHECK_INT(first_number(seen.kept, "consumer_lag_stored"), 0);
        CHECK(strstr(seen.kept, "\"join_state\":\"steady\"") != NULL);
        rd_kafka_mem_free(rk, seen.kept);
        seen.kept = NULL;
        seen.keep = 0;
        rd_kafka_consumer_close(rk);
        rd_kafka_destroy(rk);
}

/* Programs may always set the callback, and the interval only to enable statistics. */
static void stats_cb_without_interval_is_not_called(void) {
        struct seen seen = {0};
        rd_kafka_t *rk = test_client(RD_KAFKA_PRODUCER, conf_with("0", &seen));
        CHECK_INT(test_produce(rk, "stats", 0, 20, 10), 0);
        rd_kafka_poll(rk, 200);
        CHECK_INT(seen.calls, 0);
        rd_kafka_destroy(rk);
}

int main(void) {
        cluster = test_cluster(NULL, servers, sizeof(servers));
        RUN(the_callback_gets_whole_documents);
        RUN(stats_cb_result_1_keeps_the_text);
        RUN(statistics_are_events);
        RUN(consumer_poll_serves_statistics);
        RUN(stats_cb_without_interval_is_not_called);
        rd_kafka_destroy(cluster);
        return test_end();
}
