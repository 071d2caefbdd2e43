/*
 * admin.h: the client, the queue and the results that the tests of administration share.
 *
 * A test sets `cluster` and `queue` in main(). Its calls use that queue, so that results arrive there
 * in the order in which calls end.
 */

#ifndef OTTLA_TEST_ADMIN_H
#define OTTLA_TEST_ADMIN_H

#include "test.h"

static rd_kafka_t *cluster;
static rd_kafka_queue_t *queue;

/* Returns the next result, which must be an event of this type with this error and text (NULL: any). */
static RD_UNUSED rd_kafka_event_t *
result_of(rd_kafka_event_type_t type, const char *name, rd_kafka_resp_err_t err, const char *text) {
        rd_kafka_event_t *event = rd_kafka_queue_poll(queue, 30000);
        CHECK_INT(rd_kafka_event_type(event), type);
        CHECK_STR(rd_kafka_event_name(event), name);
        CHECK_ERR(rd_kafka_event_error(event), err);
        if (text)
                CHECK_STR(rd_kafka_event_error_string(event), text);
        return event;
}

/* Checks that the next result is the refusal of a call's arguments, with this text (NULL: any). */
static RD_UNUSED void refused(rd_kafka_event_type_t type, const char *name, const char *text) {
        rd_kafka_event_destroy(result_of(type, name, RD_KAFKA_RESP_ERR__INVALID_ARG, text));
}

/* Checks the code of an error that the caller owns, and frees it. */
static RD_UNUSED void free_error(rd_kafka_error_t *error, rd_kafka_resp_err_t err) {
        CHECK_ERR(rd_kafka_error_code(error), err);
        rd_kafka_error_destroy(error);
}

/* Returns a consumer of the cluster at `servers` that has an assignment of topic "t". It is a static member of its group if
 * `instance` is not NULL. */
static RD_UNUSED rd_kafka_t *
admin_member(const char *servers, const char *group, const char *instance, const char *protocol) {
        rd_kafka_conf_t *conf              = test_conf();
        rd_kafka_topic_partition_list_t *l = rd_kafka_topic_partition_list_new(1);
        int64_t until                      = test_now_ms() + 30000;
        int cnt                            = 0;
        rd_kafka_t *c;

        test_set(conf, "bootstrap.servers", servers);
        test_set(conf, "group.id", group);
        test_set(conf, "client.id", "me");
        if (instance)
                test_set(conf, "group.instance.id", instance);
        test_set(conf, "group.protocol", protocol);
        c = test_client(RD_KAFKA_CONSUMER, conf);
        rd_kafka_poll_set_consumer(c);
        rd_kafka_topic_partition_list_add(l, "t", RD_KAFKA_PARTITION_UA);
        CHECK_OK(rd_kafka_subscribe(c, l));
        rd_kafka_topic_partition_list_destroy(l);
        while (!cnt && test_now_ms() < until) {
                rd_kafka_message_t *m = rd_kafka_consumer_poll(c, 50);
                if (m)
                        rd_kafka_message_destroy(m);
                if (!rd_kafka_assignment(c, &l)) {
                        cnt = l->cnt;
                        rd_kafka_topic_partition_list_destroy(l);
                }
        }
        CHECK(cnt > 0);
        return c;
}

#endif /* OTTLA_TEST_ADMIN_H */
