/* Share consumers: subscription, polling, acknowledgements, commits, redelivery, the end. */
#define _POSIX_C_SOURCE 200809L
#include "share_test.h"

static struct mock m;
static struct seen seen[SHARE_RECORDS_MAX];

/* ---- subscription ----------------------------------------------------------------------------- */

static void subscriptions(void) {
        rd_kafka_share_t *rkshare = share_consumer(share_conf(&m, "subscriptions", NULL), NULL);
        rd_kafka_topic_partition_list_t *list, *got = NULL;
        rd_kafka_messages_t *messages = (rd_kafka_messages_t *)&m;

        CHECK_OK(rd_kafka_share_subscription(rkshare, &got));
        REQUIRE(got != NULL);
        CHECK_INT(got->cnt, 0);
        rd_kafka_topic_partition_list_destroy(got);
        CHECK_OK(rd_kafka_share_unsubscribe(rkshare));
        CHECK_ERR(share_code(rd_kafka_share_poll(rkshare, 0, &messages)), RD_KAFKA_RESP_ERR__STATE);
        CHECK(messages == NULL);

        list = rd_kafka_topic_partition_list_new(2);
        CHECK_OK(rd_kafka_share_subscribe(rkshare, list));
        rd_kafka_topic_partition_list_add(list, "^a.*", RD_KAFKA_PARTITION_UA);
        CHECK_OK(rd_kafka_share_subscribe(rkshare, list));
        rd_kafka_topic_partition_list_add(list, "b", RD_KAFKA_PARTITION_UA);
        CHECK_OK(rd_kafka_share_subscribe(rkshare, list));
        CHECK_OK(rd_kafka_share_subscription(rkshare, &got));
        CHECK_INT(got->cnt, 2);
        CHECK(rd_kafka_topic_partition_list_find(got, "^a.*", RD_KAFKA_PARTITION_UA) != NULL);
        CHECK(rd_kafka_topic_partition_list_find(got, "b", RD_KAFKA_PARTITION_UA) != NULL);
        rd_kafka_topic_partition_list_destroy(got);
        rd_kafka_topic_partition_list_add(list, "b", RD_KAFKA_PARTITION_UA);
        CHECK_ERR(rd_kafka_share_subscribe(rkshare, list), RD_KAFKA_RESP_ERR__INVALID_ARG);
        rd_kafka_topic_partition_list_destroy(list);
        list = rd_kafka_topic_partition_list_new(1);
        rd_kafka_topic_partition_list_add(list, "", RD_KAFKA_PARTITION_UA);
        CHECK_ERR(rd_kafka_share_subscribe(rkshare, list), RD_KAFKA_RESP_ERR__INVALID_ARG);
        rd_kafka_topic_partition_list_destroy(list);
        CHECK_OK(rd_kafka_share_unsubscribe(rkshare));
        CHECK_OK(rd_kafka_share_subscription(rkshare, &got));
        CHECK_INT(got->cnt, 0);
        rd_kafka_topic_partition_list_destroy(got);
        share_end(rkshare);
}

/* ---- implicit mode ---------------------------------------------------------------------------- */

static void implicit_mode_accepts_with_the_next_poll(void) {
        enum { CNT = 30 };
        rd_kafka_share_t *rkshare;
        rd_kafka_messages_t *messages;
        rd_kafka_topic_partition_list_t *results = NULL;
        int cnt = 0, i, partitions[3] = {0};

        share_topic(&m, "implicit", 3, CNT);
        rkshare = share_consumer(share_conf(&m, "implicit", NULL), "implicit");
        while (cnt < 3 * CNT && (messages = share_poll(rkshare, SHARE_WAIT_MS))) {
                rd_kafka_message_t *first = rd_kafka_messages_get(messages, 0);
                CHECK_STR(rd_kafka_topic_name(first->rkt), "implicit");
                CHECK(rd_kafka_message_broker_id(first) > 0);
                CHECK_INT(rd_kafka_message_status(first), RD_KAFKA_MSG_STATUS_PERSISTED);
                CHECK_INT(rd_kafka_message_timestamp(first, NULL), (first->offset + 1) * 1000);
                CHECK_ERR(rd_kafka_share_acknowledge(rkshare, first), RD_KAFKA_RESP_ERR__STATE);
                CHECK_ERR(rd_kafka_share_acknowledge_offset(
                              rkshare, "implicit", first->partition, first->offset,
                              RD_KAFKA_SHARE_ACKNOWLEDGE_TYPE_ACCEPT),
                          RD_KAFKA_RESP_ERR__STATE);
                cnt = share_note(messages, seen, cnt);
                rd_kafka_messages_destroy(messages);
        }
        REQUIRE(cnt == 3 * CNT);
        for (i = 0; i < cnt; i++) {
                CHECK_INT(seen[i].delivery_count, 1);
                CHECK_INT(seen[i].offset, partitions[seen[i].partition]++);
        }
        /* The poll that finds nothing has accepted the last batch. */
        messages = share_poll(rkshare, 300);
        CHECK(messages == NULL);
        CHECK_OK(share_code(rd_kafka_share_commit_sync(rkshare, 5000, &results)));
        CHECK(results == NULL);
        share_end(rkshare);

        rkshare = share_consumer(share_conf(&m, "implicit", NULL), "implicit");
        CHECK((messages = share_poll(rkshare, 1500)) == NULL);
        rd_kafka_messages_destroy(messages);
        share_end(rkshare);
}

static void implicit_mode_accepts_with_a_commit_and_not_with_a_close(void) {
        rd_kafka_share_t *rkshare;
        rd_kafka_messages_t *messages;
        rd_kafka_topic_partition_list_t *results = NULL;
        int cnt;

        share_topic(&m, "commit", 1, 10);
        rkshare  = share_consumer(share_conf(&m, "commit", NULL), "commit");
        messages = share_poll(rkshare, SHARE_WAIT_MS);
        cnt      = share_note(messages, seen, 0);
        CHECK_INT(cnt, 10);
        rd_kafka_messages_destroy(messages);
        /* Not accepted: another delivery follows. */
        CHECK_OK(share_code(rd_kafka_share_consumer_close(rkshare)));
        share_end(rkshare);

        rkshare  = share_consumer(share_conf(&m, "commit", NULL), "commit");
        messages = share_poll(rkshare, SHARE_WAIT_MS);
        cnt      = share_note(messages, seen, 0);
        CHECK_INT(cnt, 10);
        CHECK_INT(seen[0].delivery_count, 2);
        CHECK_OK(share_code(rd_kafka_share_commit_sync(rkshare, 10000, &results)));
        REQUIRE(results != NULL);
        CHECK_INT(results->cnt, 1);
        CHECK_STR(results->elems[0].topic, "commit");
        CHECK_INT(results->elems[0].partition, 0);
        CHECK_OK(results->elems[0].err);
        rd_kafka_topic_partition_list_destroy(results);
        /* Nothing is left to commit. */
        CHECK_OK(share_code(rd_kafka_share_commit_sync(rkshare, -5, &results)));
        CHECK(results == NULL);
        CHECK_OK(share_code(rd_kafka_share_commit_async(rkshare)));
        rd_kafka_messages_destroy(messages);
        share_end(rkshare);

        rkshare = share_consumer(share_conf(&m, "commit", NULL), "commit");
        CHECK((messages = share_poll(rkshare, 1500)) == NULL);
        rd_kafka_messages_destroy(messages);
        share_end(rkshare);
}

/* ---- explicit mode ---------------------------------------------------------------------------- */

static void explicit_mode_wants_an_acknowledgement_of_each_record(void) {
        rd_kafka_share_t *rkshare;
        rd_kafka_messages_t *messages, *next = NULL;
        rd_kafka_error_t *error;
        const rd_kafka_message_t *msg;
        int cnt, i;

        share_topic(&m, "explicit", 1, 10);
        rkshare  = share_consumer(share_conf(&m, "explicit", "explicit"), "explicit");
        messages = share_poll(rkshare, SHARE_WAIT_MS);
        REQUIRE(rd_kafka_messages_count(messages) == 10);
        error = rd_kafka_share_poll(rkshare, 1000, &next);
        CHECK_ERR(rd_kafka_error_code(error), RD_KAFKA_RESP_ERR__STATE);
        CHECK(strstr(rd_kafka_error_string(error), "10 records") != NULL);
        CHECK(next == NULL);
        rd_kafka_error_destroy(error);

        /* 0 to 5 are accepted, 6 and 7 released, 8 and 9 rejected; types can change. */
        for (i = 0; i < 6; i++)
                CHECK_OK(rd_kafka_share_acknowledge(rkshare, rd_kafka_messages_get(messages, (size_t)i)));
        CHECK_OK(rd_kafka_share_acknowledge_offset(rkshare, "explicit", 0, 6,
                                                   RD_KAFKA_SHARE_ACKNOWLEDGE_TYPE_RELEASE));
        CHECK_OK(rd_kafka_share_acknowledge_type(rkshare, rd_kafka_messages_get(messages, 7),
                                                 RD_KAFKA_SHARE_ACKNOWLEDGE_TYPE_REJECT));
        CHECK_OK(rd_kafka_share_acknowledge_type(rkshare, rd_kafka_messages_get(messages, 7),
                                                 RD_KAFKA_SHARE_ACKNOWLEDGE_TYPE_RELEASE));
        CHECK_OK(rd_kafka_share_acknowledge_offset(rkshare, "explicit", 0, 8,
                                                   RD_KAFKA_SHARE_ACKNOWLEDGE_TYPE_REJECT));
        CHECK_ERR(share_code(rd_kafka_share_poll(rkshare, 0, &next)), RD_KAFKA_RESP_ERR__STATE);
        CHECK_OK(rd_kafka_share_acknowledge_offset(rkshare, "explicit", 0, 9,
                                                   RD_KAFKA_SHARE_ACKNOWLEDGE_TYPE_REJECT));

        /* Refused acknowledgements. */
        msg = rd_kafka_messages_get(messages, 0);
        CHECK_ERR(rd_kafka_share_acknowledge_offset(rkshare, "explicit", 0, 10,
                                                    RD_KAFKA_SHARE_ACKNOWLEDGE_TYPE_ACCEPT),
                  RD_KAFKA_RESP_ERR__STATE);
        CHECK_ERR(rd_kafka_share_acknowledge_offset(rkshare, "explicit", 1, 0,
                                                    RD_KAFKA_SHARE_ACKNOWLEDGE_TYPE_ACCEPT),
                  RD_KAFKA_RESP_ERR__STATE);
        CHECK_ERR(rd_kafka_share_acknowledge_offset(rkshare, "other", 0, 0,
                                                    RD_KAFKA_SHARE_ACKNOWLEDGE_TYPE_ACCEPT),
                  RD_KAFKA_RESP_ERR__STATE);
        CHECK_ERR(rd_kafka_share_acknowledge_offset(rkshare, "explicit", -1, 0,
                                                    RD_KAFKA_SHARE_ACKNOWLEDGE_TYPE_ACCEPT),
                  RD_KAFKA_RESP_ERR__INVALID_ARG);
        CHECK_ERR(rd_kafka_share_acknowledge_offset(rkshare, "explicit", 0, -1,
                                                    RD_KAFKA_SHARE_ACKNOWLEDGE_TYPE_ACCEPT),
                  RD_KAFKA_RESP_ERR__INVALID_ARG);
        CHECK_ERR(rd_kafka_share_acknowledge_offset(rkshare, NULL, 0, 0,
                                                    RD_KAFKA_SHARE_ACKNOWLEDGE_TYPE_ACCEPT),
                  RD_KAFKA_RESP_ERR__INVALID_ARG);
        CHECK_ERR(rd_kafka_share_acknowledge(rkshare, NULL), RD_KAFKA_RESP_ERR__INVALID_ARG);
        for (i = 0; i < 6; i++) {
                static const int types[] = {0, 4, 5, -1, 256, 1000000};
                CHECK_ERR(rd_kafka_share_acknowledge_type(
                              rkshare, msg, (rd_kafka_share_AcknowledgeType_t)types[i]),
                          RD_KAFKA_RESP_ERR__INVALID_ARG);
        }

        /* The released records come again, the others do not. */
        next = share_poll(rkshare, SHARE_WAIT_MS);
        cnt  = share_note(next, seen, 0);
        CHECK_INT(cnt, 2);
        CHECK_INT(seen[0].offset, 6);
        CHECK_INT(seen[1].offset, 7);
        CHECK_INT(seen[0].delivery_count, 2);
        /* The first batch is still readable, and committed. */
        CHECK_INT(msg->offset, 0);
        CHECK_ERR(rd_kafka_share_acknowledge(rkshare, msg), RD_KAFKA_RESP_ERR__STATE);
        rd_kafka_messages_destroy(messages);
        share_acknowledge_all(rkshare, next, RD_KAFKA_SHARE_ACKNOWLEDGE_TYPE_ACCEPT);
        rd_kafka_messages_destroy(next);
        CHECK((next = share_poll(rkshare, 500)) == NULL);
        rd_kafka_messages_destroy(next);
        share_end(rkshare);
}

static void expired_locks(void) {
        rd_kafka_share_t *rkshare;
        rd_kafka_messages_t *messages;
        rd_kafka_topic_partition_list_t *results = NULL;

        share_topic(&m, "locks", 1, 5);
        rd_kafka_mock_sharegroup_set_record_lock_duration(m.cluster, 500);
        rkshare  = share_consumer(share_conf(&m, "locks", "explicit"), "locks");
        messages = share_poll(rkshare, SHARE_WAIT_MS);
        REQUIRE(share_note(messages, seen, 0) == 5);
        test_sleep_ms(1500);
        share_acknowledge_all(rkshare, messages, RD_KAFKA_SHARE_ACKNOWLEDGE_TYPE_ACCEPT);
        CHECK_OK(share_code(rd_kafka_share_commit_sync(rkshare, 10000, &results)));
        REQUIRE(results != NULL);
        CHECK_ERR(results->elems[0].err, RD_KAFKA_RESP_ERR_INVALID_RECORD_STATE);
        rd_kafka_topic_partition_list_destroy(results);
        rd_kafka_messages_destroy(messages);
        rd_kafka_mock_sharegroup_set_record_lock_duration(m.cluster, 30000);

        messages = share_poll(rkshare, SHARE_WAIT_MS);
        REQUIRE(share_note(messages, seen, 0) == 5);
        CHECK_INT(seen[4].delivery_count, 2);
        rd_kafka_messages_destroy(messages);
        share_end(rkshare);
}

static void the_delivery_limit(void) {
        rd_kafka_share_t *rkshare;
        rd_kafka_messages_t *messages;
        int delivery;

        share_topic(&m, "limit", 1, 1);
        rd_kafka_mock_sharegroup_set_max_delivery_attempts(m.cluster, 3);
        rkshare = share_consumer(share_conf(&m, "limit", "explicit"), "limit");
        for (delivery = 1; delivery <= 3; delivery++) {
                messages = share_poll(rkshare, SHARE_WAIT_MS);
                REQUIRE(share_note(messages, seen, 0) == 1);
                CHECK_INT(seen[0].delivery_count, delivery);
                share_acknowledge_all(rkshare, messages, RD_KAFKA_SHARE_ACKNOWLEDGE_TYPE_RELEASE);
                rd_kafka_messages_destroy(messages);
        }
        CHECK((messages = share_poll(rkshare, 500)) == NULL);
        rd_kafka_messages_destroy(messages);
        rd_kafka_mock_sharegroup_set_max_delivery_attempts(m.cluster, 5);
        share_end(rkshare);
}

/* ---- the callback ----------------------------------------------------------------------------- */

struct results {
        rd_kafka_share_t *rkshare;
        int calls, accepted, refused;
        rd_kafka_resp_err_t last;
};

static void on_commit(rd_kafka_share_t *rkshare,
                      rd_kafka_share_partition_offsets_list_t *partitions,
                      rd_kafka_resp_err_t err,
                      void *opaque) {
        struct results *results = opaque;
        const rd_kafka_share_partition_offsets_t *entry;
        const int64_t *offsets;
        size_t i, cnt;

        results->calls++;
        results->last = err;
        CHECK(rkshare == results->rkshare);
        CHECK_INT(rd_kafka_share_partition_offsets_list_count(partitions), 1);
        entry = rd_kafka_share_partition_offsets_list_get(partitions, 0);
        REQUIRE(entry != NULL);
        CHECK_STR(rd_kafka_share_partition_offsets_partition(entry)->topic, "callback");
        CHECK_INT(rd_kafka_share_partition_offsets_partition(entry)->partition, 0);
        cnt     = rd_kafka_share_partition_offsets_offsets_cnt(entry);
        offsets = rd_kafka_share_partition_offsets_offsets(entry);
        for (i = 1; i < cnt; i++)
                CHECK(offsets[i - 1] < offsets[i]);
        if (err)
                results->refused += (int)cnt;
        else
                results->accepted += (int)cnt;
}

static void results_are_reported_to_the_callback(void) {
        struct results results = {0};
        rd_kafka_messages_t *messages;
        rd_kafka_topic_partition_list_t *list;
        int64_t end;
        size_t i;

        share_topic(&m, "callback", 1, 10);
        results.rkshare = share_consumer(share_conf(&m, "callback", "explicit"), "callback");
        CHECK_OK(share_code(rd_kafka_share_set_acknowledgement_commit_cb(results.rkshare, on_commit,
                                                                         &results)));
        messages = share_poll(results.rkshare, SHARE_WAIT_MS);
        REQUIRE(rd_kafka_messages_count(messages) == 10);
        CHECK_INT(results.calls, 0);

        /* A commit that is waited for has called back when it returns. */
        CHECK_OK(rd_kafka_share_acknowledge(results.rkshare, rd_kafka_messages_get(messages, 0)));
        CHECK_OK(rd_kafka_share_acknowledge(results.rkshare, rd_kafka_messages_get(messages, 2)));
        CHECK_OK(share_code(rd_kafka_share_commit_sync(results.rkshare, 10000, &list)));
        REQUIRE(list != NULL);
        rd_kafka_topic_partition_list_destroy(list);
        CHECK_INT(results.calls, 1);
        CHECK_INT(results.accepted, 2);

        /* Others are reported by a later call, also by a poll that is refused. */
        CHECK_OK(rd_kafka_share_acknowledge(results.rkshare, rd_kafka_messages_get(messages, 1)));
        CHECK_OK(share_code(rd_kafka_share_commit_async(results.rkshare)));
        for (end = test_now_ms() + SHARE_WAIT_MS; results.calls < 2 && test_now_ms() < end;) {
                rd_kafka_messages_t *none = NULL;
                CHECK_ERR(share_code(rd_kafka_share_poll(results.rkshare, 50, &none)),
                          RD_KAFKA_RESP_ERR__STATE);
                test_sleep_ms(5);
        }
        CHECK_INT(results.calls, 2);
        CHECK_INT(results.accepted, 3);

        /* The rest is sent by the close. */
        for (i = 3; i < 10; i++)
                CHECK_OK(rd_kafka_share_acknowledge(results.rkshare, rd_kafka_messages_get(messages, i)));
        rd_kafka_messages_destroy(messages);
        CHECK_OK(share_code(rd_kafka_share_consumer_close(results.rkshare)));
        CHECK_INT(results.accepted, 10);
        CHECK_INT(results.refused, 0);
        share_end(results.rkshare);
}

static void a_callback_that_is_removed_is_not_called(void) {
        struct results results = {0};
        rd_kafka_messages_t *messages;
        rd_kafka_topic_partition_list_t *list;

        results.rkshare = share_consumer(share_conf(&m, "removed", "explicit"), "callback");
        CHECK_OK(share_code(rd_kafka_share_set_acknowledgement_commit_cb(results.rkshare, on_commit,
                                                                         &results)));
        CHECK_OK(share_code(
            rd_kafka_share_set_acknowledgement_commit_cb(results.rkshare, NULL, NULL)));
        messages = share_poll(results.rkshare, SHARE_WAIT_MS);
        share_acknowledge_all(results.rkshare, messages, RD_KAFKA_SHARE_ACKNOWLEDGE_TYPE_ACCEPT);
        rd_kafka_messages_destroy(messages);
        CHECK_OK(share_code(rd_kafka_share_commit_sync(results.rkshare, 10000, &list)));
        REQUIRE(list != NULL);
        rd_kafka_topic_partition_list_destroy(list);
        share_end(results.rkshare);
        CHECK_INT(results.calls, 0);
}

/* ---- messages --------------------------------------------------------------------------------- */

static void batches_outlive_their_consumer(void) {
        rd_kafka_conf_t *conf = mock_conf(&m);
        rd_kafka_share_t *rkshare;
        rd_kafka_messages_t *messages;
        rd_kafka_message_t *msg;
        rd_kafka_headers_t *headers = NULL;
        const void *value;
        size_t size;
        rd_kafka_t *rk = mock_producer(&m, conf);

        CHECK_OK(rd_kafka_mock_topic_create(m.cluster, "headers", 1, 1));
        CHECK_OK(rd_kafka_producev(rk, RD_KAFKA_V_TOPIC("headers"), RD_KAFKA_V_HEADER("name", "value", 5),
                                   RD_KAFKA_V_KEY("key", 3), RD_KAFKA_V_VALUE("0", 1),
                                   RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_END));
        CHECK_OK(rd_kafka_flush(rk, SHARE_WAIT_MS));
        rd_kafka_destroy(rk);

        rkshare  = share_consumer(share_conf(&m, "headers", NULL), "headers");
        messages = share_poll(rkshare, SHARE_WAIT_MS);
        REQUIRE(rd_kafka_messages_count(messages) == 1);
        share_end(rkshare);

        msg = rd_kafka_messages_get(messages, 0);
        /* The message belongs to its batch. */
        rd_kafka_message_destroy(msg);
        CHECK_OK(rd_kafka_message_headers(msg, &headers));
        CHECK_OK(rd_kafka_header_get_last(headers, "name", &value, &size));
        CHECK(size == 5 && !memcmp(value, "value", 5));
        CHECK(msg->key_len == 3 && !memcmp(msg->key, "key", 3));
        CHECK_STR(rd_kafka_topic_name(msg->rkt), "headers");
        CHECK(rd_kafka_message_errstr(msg) == NULL);
        CHECK_INT(rd_kafka_message_delivery_count(msg), 1);
        rd_kafka_messages_destroy(messages);
        CHECK_INT(rd_kafka_messages_count(NULL), 0);
        rd_kafka_messages_destroy(NULL);
        CHECK_INT(rd_kafka_message_delivery_count(NULL), 0);
}

static void other_consumers_have_no_delivery_counts(void) {
        rd_kafka_t *rk = mock_consumer(&m, "plain", NULL);
        rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
        rd_kafka_message_t *msg;

        rd_kafka_topic_partition_list_add(list, "callback", 0)->offset = 0;
        CHECK_OK(rd_kafka_assign(rk, list));
        rd_kafka_topic_partition_list_destroy(list);
        msg = rd_kafka_consumer_poll(rk, SHARE_WAIT_MS);
        REQUIRE(msg != NULL);
        CHECK_OK(msg->err);
        CHECK_INT(rd_kafka_message_delivery_count(msg), 0);
        rd_kafka_message_destroy(msg);
        rd_kafka_destroy(rk);
}

/* ---- the end ---------------------------------------------------------------------------------- */

static void calls_after_a_close_are_refused(void) {
        rd_kafka_share_t *rkshare = share_consumer(share_conf(&m, "closed", "explicit"), "callback");
        rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1), *got = NULL;
        rd_kafka_messages_t *messages = share_poll(rkshare, SHARE_WAIT_MS), *none = NULL;

        CHECK_INT(rd_kafka_share_consumer_closed(rkshare), 0);
        CHECK_OK(share_code(rd_kafka_share_consumer_close(rkshare)));
        CHECK_INT(rd_kafka_share_consumer_closed(rkshare), 1);
        CHECK_ERR(share_code(rd_kafka_share_consumer_close(rkshare)), RD_KAFKA_RESP_ERR__STATE);
        rd_kafka_topic_partition_list_add(list, "t", RD_KAFKA_PARTITION_UA);
        CHECK_ERR(rd_kafka_share_subscribe(rkshare, list), RD_KAFKA_RESP_ERR__STATE);
        CHECK_ERR(rd_kafka_share_unsubscribe(rkshare), RD_KAFKA_RESP_ERR__STATE);
        CHECK_ERR(rd_kafka_share_subscription(rkshare, &got), RD_KAFKA_RESP_ERR__STATE);
        CHECK_ERR(share_code(rd_kafka_share_poll(rkshare, 0, &none)), RD_KAFKA_RESP_ERR__STATE);
        CHECK_ERR(rd_kafka_share_acknowledge(rkshare, rd_kafka_messages_get(messages, 0)),
                  RD_KAFKA_RESP_ERR__STATE);
        CHECK_ERR(share_code(rd_kafka_share_commit_async(rkshare)), RD_KAFKA_RESP_ERR__STATE);
        CHECK_ERR(share_code(rd_kafka_share_commit_sync(rkshare, 0, &got)), RD_KAFKA_RESP_ERR__STATE);
        rd_kafka_messages_destroy(messages);
        share_end(rkshare);
        rd_kafka_topic_partition_list_destroy(list);
}

static void a_destroyed_consumer_leaves_the_group(void) {
        rd_kafka_share_t *rkshare = share_consumer(share_conf(&m, "leaves", NULL), "callback");
        rd_kafka_messages_t *messages = share_poll(rkshare, SHARE_WAIT_MS);
        char **members = NULL;
        size_t cnt = 0;

        rd_kafka_messages_destroy(messages);
        CHECK_OK(rd_kafka_mock_sharegroup_get_member_ids(m.cluster, "leaves", &members, &cnt));
        CHECK_INT(cnt, 1);
        while (cnt > 0)
                free(members[--cnt]);
        free(members);
        share_end(rkshare);
        rd_kafka_mock_sharegroup_get_member_ids(m.cluster, "leaves", &members, &cnt);
        CHECK_INT(cnt, 0);
}

int main(void) {
        m = share_start(3);
        RUN(subscriptions);
        RUN(implicit_mode_accepts_with_the_next_poll);
        RUN(implicit_mode_accepts_with_a_commit_and_not_with_a_close);
        RUN(explicit_mode_wants_an_acknowledgement_of_each_record);
        RUN(expired_locks);
        RUN(the_delivery_limit);
        RUN(results_are_reported_to_the_callback);
        RUN(a_callback_that_is_removed_is_not_called);
        RUN(batches_outlive_their_consumer);
        RUN(other_consumers_have_no_delivery_counts);
        RUN(calls_after_a_close_are_refused);
        RUN(a_destroyed_consumer_leaves_the_group);
        mock_end(m);
        return test_end();
}
