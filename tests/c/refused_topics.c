/* Topics whose names brokers reject: one error of the topic, and no effect on other topics. */
#define _POSIX_C_SOURCE 200809L
#include "test.h"

static rd_kafka_t *cluster;
static char servers[512];
static char long_name[251];

struct seen {
        int refused, others, messages;
};

static rd_kafka_t *member(const char *group, const char *protocol) {
        rd_kafka_conf_t *conf = test_conf();
        rd_kafka_t *c;
        test_set(conf, "bootstrap.servers", servers);
        test_set(conf, "group.id", group);
        test_set(conf, "group.protocol", protocol);
        test_set(conf, "auto.offset.reset", "earliest");
        c = test_client(RD_KAFKA_CONSUMER, conf);
        rd_kafka_poll_set_consumer(c);
        return c;
}

static void take(rd_kafka_message_t *m, const char *name, struct seen *seen) {
        if (!m)
                return;
        if (!m->err) {
                seen->messages++;
        } else if (m->err == RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION) {
                seen->refused++;
                CHECK_STR(m->rkt ? rd_kafka_topic_name(m->rkt) : NULL, name);
        } else {
                seen->others++;
                printf("# %s\n", rd_kafka_message_errstr(m));
        }
        rd_kafka_message_destroy(m);
}

static rd_kafka_resp_err_t subscribe(rd_kafka_t *c, const char *name, const char *second) {
        rd_kafka_topic_partition_list_t *l = rd_kafka_topic_partition_list_new(2);
        rd_kafka_resp_err_t err;
        rd_kafka_topic_partition_list_add(l, name, RD_KAFKA_PARTITION_UA);
        if (second)
                rd_kafka_topic_partition_list_add(l, second, RD_KAFKA_PARTITION_UA);
        err = rd_kafka_subscribe(c, l);
        rd_kafka_topic_partition_list_destroy(l);
        return err;
}

static void subscription_with_invalid_topic(void) {
        const char *protocols[] = {"classic", "consumer"};
        const char *names[]     = {"#!$", long_name};
        int i, j;
        for (i = 0; i < 2; i++) {
                for (j = 0; j < 2; j++) {
                        struct seen seen = {0};
                        char group[32];
                        rd_kafka_t *c;
                        int64_t until = test_now_ms() + 20000;
                        snprintf(group, sizeof(group), "refused-%d-%d", i, j);
                        c = member(group, protocols[i]);
                        CHECK_OK(subscribe(c, names[j], "good"));
                        while ((seen.messages < 3 || !seen.refused) && test_now_ms() < until)
                                take(rd_kafka_consumer_poll(c, 100), names[j], &seen);
                        /* The error is reported once. */
                        until = test_now_ms() + 1000;
                        while (test_now_ms() < until)
                                take(rd_kafka_consumer_poll(c, 100), names[j], &seen);
                        CHECK_INT(seen.refused, 1);
                        CHECK_INT(seen.messages, 3);
                        CHECK_INT(seen.others, 0);
                        CHECK_OK(rd_kafka_consumer_close(c));
                        rd_kafka_destroy(c);
                }
        }
}

static void assignment_and_simple_consumer_with_invalid_topic(void) {
        rd_kafka_t *c                      = member("assigns", "classic");
        rd_kafka_topic_partition_list_t *l = rd_kafka_topic_partition_list_new(2);
        rd_kafka_topic_t *rkt;
        struct seen seen = {0}, simple = {0};
        int64_t until = test_now_ms() + 20000;

        rd_kafka_topic_partition_list_add(l, "#!$", 0)->offset  = 0;
        rd_kafka_topic_partition_list_add(l, "good", 0)->offset = 0;
        CHECK_OK(rd_kafka_assign(c, l));
        rd_kafka_topic_partition_list_destroy(l);
        while ((seen.messages < 3 || !seen.refused) && test_now_ms() < until)
                take(rd_kafka_consumer_poll(c, 100), "#!$", &seen);
        CHECK_INT(seen.refused, 1);
        CHECK_INT(seen.messages, 3);
        CHECK_OK(rd_kafka_assign(c, NULL));
        rkt = rd_kafka_topic_new(c, "no good", NULL);
        REQUIRE(rkt != NULL);
        CHECK_INT(rd_kafka_consume_start(rkt, 0, 0), 0);
        while (!simple.refused && test_now_ms() < until)
                take(rd_kafka_consume(rkt, 0, 100), "no good", &simple);
        CHECK_INT(simple.refused, 1);
        CHECK_INT(rd_kafka_consume_stop(rkt, 0), 0);
        rd_kafka_topic_destroy(rkt);
        CHECK_OK(rd_kafka_consumer_close(c));
        rd_kafka_destroy(c);
}

static void oversized_topic_names_fail_at_once(void) {
        rd_kafka_t *c = member("unsendable", "classic");
        char *huge    = malloc(32769);

        REQUIRE(huge != NULL);
        memset(huge, 'a', 32768);
        huge[32768] = '\0';
        CHECK_ERR(subscribe(c, huge, NULL), RD_KAFKA_RESP_ERR__INVALID_ARG);
        CHECK_ERR(subscribe(c, "", NULL), RD_KAFKA_RESP_ERR__INVALID_ARG);
        CHECK_ERR(subscribe(c, "good", huge), RD_KAFKA_RESP_ERR__INVALID_ARG);
        free(huge);
        CHECK_OK(rd_kafka_consumer_close(c));
        rd_kafka_destroy(c);
}

int main(void) {
        memset(long_name, 'a', sizeof(long_name) - 1);
        cluster = test_cluster(NULL, servers, sizeof(servers));
        CHECK_INT(test_produce(cluster, "good", 0, 0, 3), 0);
        RUN(subscription_with_invalid_topic);
        RUN(assignment_and_simple_consumer_with_invalid_topic);
        RUN(oversized_topic_names_fail_at_once);
        rd_kafka_destroy(cluster);
        return test_end();
}
