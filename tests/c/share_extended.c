/* Functions of ottla_share.h, which librdkafka does not have: renewals, wake-ups, limits of a poll. */
#define _POSIX_C_SOURCE 200809L
#include "share_test.h"

#include <ottla_share.h>
#include <pthread.h>

static struct mock m;
static struct seen seen[SHARE_RECORDS_MAX];

static void renewed_locks(void) {
        rd_kafka_share_t *rkshare;
        rd_kafka_messages_t *messages, *next = NULL;
        rd_kafka_topic_partition_list_t *results = NULL;
        int i;

        share_topic(&m, "renew", 1, 3);
        rd_kafka_mock_sharegroup_set_record_lock_duration(m.cluster, 3000);
        rkshare = share_consumer(share_conf(&m, "renew", "explicit"), "renew");
        CHECK_INT(rd_kafka_share_lock_timeout_ms(rkshare), -1);
        messages = share_poll(rkshare, SHARE_WAIT_MS);
        REQUIRE(share_note(messages, seen, 0) == 3);
        CHECK_INT(rd_kafka_share_lock_timeout_ms(rkshare), 3000);
        CHECK_ERR(rd_kafka_share_renew(rkshare, NULL), RD_KAFKA_RESP_ERR__INVALID_ARG);
        CHECK_ERR(rd_kafka_share_renew_offset(rkshare, "renew", 0, 3), RD_KAFKA_RESP_ERR__STATE);
        CHECK_ERR(rd_kafka_share_renew_offset(rkshare, NULL, 0, 0), RD_KAFKA_RESP_ERR__INVALID_ARG);
        /* Offset 0 is renewed for longer than a lock lasts, 1 and 2 are released by their time. */
        for (i = 0; i < 6; i++) {
                test_sleep_ms(750);
                if (i % 2)
                        CHECK_OK(rd_kafka_share_renew(rkshare, rd_kafka_messages_get(messages, 0)));
                else
                        CHECK_OK(rd_kafka_share_renew_offset(rkshare, "renew", 0, 0));
                CHECK_OK(share_code(rd_kafka_share_commit_sync(rkshare, 10000, &results)));
                REQUIRE(results != NULL);
                CHECK_OK(results->elems[0].err);
                rd_kafka_topic_partition_list_destroy(results);
        }
        CHECK_OK(rd_kafka_share_acknowledge(rkshare, rd_kafka_messages_get(messages, 0)));
        CHECK_OK(share_code(rd_kafka_share_commit_sync(rkshare, 10000, &results)));
        REQUIRE(results != NULL);
        CHECK_OK(results->elems[0].err);
        rd_kafka_topic_partition_list_destroy(results);
        CHECK_ERR(rd_kafka_share_renew(rkshare, rd_kafka_messages_get(messages, 0)),
                  RD_KAFKA_RESP_ERR__STATE);
        CHECK_OK(rd_kafka_share_acknowledge_offset(rkshare, "renew", 0, 1,
                                                   RD_KAFKA_SHARE_ACKNOWLEDGE_TYPE_ACCEPT));
        CHECK_OK(rd_kafka_share_acknowledge_offset(rkshare, "renew", 0, 2,
                                                   RD_KAFKA_SHARE_ACKNOWLEDGE_TYPE_ACCEPT));
        rd_kafka_messages_destroy(messages);
        rd_kafka_mock_sharegroup_set_record_lock_duration(m.cluster, 30000);
        /* Their locks had ended. */
        next = share_poll(rkshare, SHARE_WAIT_MS);
        REQUIRE(share_note(next, seen, 0) == 2);
        CHECK_INT(seen[0].offset, 1);
        CHECK_INT(seen[0].delivery_count, 2);
        rd_kafka_messages_destroy(next);
        share_end(rkshare);
}

static void no_renewal_in_implicit_mode(void) {
        rd_kafka_share_t *rkshare = share_consumer(share_conf(&m, "implicit", NULL), "renew");
        rd_kafka_messages_t *messages = share_poll(rkshare, SHARE_WAIT_MS);
        CHECK_ERR(rd_kafka_share_renew(rkshare, rd_kafka_messages_get(messages, 0)),
                  RD_KAFKA_RESP_ERR__STATE);
        rd_kafka_messages_destroy(messages);
        share_end(rkshare);
}

static void *wake_later(void *rkshare) {
        test_sleep_ms(300);
        CHECK_OK(rd_kafka_share_wakeup(rkshare));
        return NULL;
}

static void wake_ups(void) {
        rd_kafka_share_t *rkshare = share_consumer(share_conf(&m, "wake", NULL), "empty");
        rd_kafka_messages_t *messages;
        pthread_t thread;
        int64_t start = test_now_ms(), took;

        CHECK_INT(pthread_create(&thread, NULL, wake_later, rkshare), 0);
        CHECK_OK(share_code(rd_kafka_share_poll(rkshare, 20000, &messages)));
        CHECK(messages == NULL);
        took = test_now_ms() - start;
        CHECK(took >= 250 && took < 10000);
        pthread_join(thread, NULL);

        /* One before a poll ends that poll and no other. */
        CHECK_OK(rd_kafka_share_wakeup(rkshare));
        CHECK_OK(rd_kafka_share_wakeup(rkshare));
        start = test_now_ms();
        CHECK_OK(share_code(rd_kafka_share_poll(rkshare, 20000, &messages)));
        CHECK(messages == NULL);
        CHECK(test_now_ms() - start < 10000);
        start = test_now_ms();
        CHECK_OK(share_code(rd_kafka_share_poll(rkshare, 400, &messages)));
        CHECK(messages == NULL);
        CHECK(test_now_ms() - start >= 390);
        CHECK_ERR(rd_kafka_share_wakeup(NULL), RD_KAFKA_RESP_ERR__STATE);
        CHECK_INT(rd_kafka_share_lock_timeout_ms(NULL), -1);
        share_end(rkshare);
}

/* Returns the largest and the total number of records of polls with max.poll.records=3. */
static int poll_all(const char *group, const char *mode, int *cnt) {
        rd_kafka_conf_t *conf = share_conf(&m, group, NULL);
        rd_kafka_share_t *rkshare;
        rd_kafka_messages_t *messages;
        int largest = 0;

        test_set(conf, "max.poll.records", "3");
        if (mode)
                test_set(conf, "share.acquire.mode", mode);
        rkshare = share_consumer(conf, "batch");
        *cnt    = 0;
        while (*cnt < 20 && (messages = share_poll(rkshare, SHARE_WAIT_MS))) {
                int n = (int)rd_kafka_messages_count(messages);
                if (n > largest)
                        largest = n;
                *cnt = share_note(messages, seen, *cnt);
                rd_kafka_messages_destroy(messages);
        }
        share_end(rkshare);
        return largest;
}

static void acquire_modes(void) {
        rd_kafka_conf_t *conf = mock_conf(&m);
        char errstr[256];
        rd_kafka_t *rk;
        int i, cnt;

        CHECK_INT(rd_kafka_conf_set(conf, "share.acquire.mode", "x", errstr, sizeof(errstr)),
                  RD_KAFKA_CONF_INVALID);
        CHECK_INT(rd_kafka_conf_set(conf, "share.acknowledgement.mode", "x", errstr, sizeof(errstr)),
                  RD_KAFKA_CONF_INVALID);
        test_set(conf, "linger.ms", "500");
        rk = test_client(RD_KAFKA_PRODUCER, conf);
        CHECK_OK(rd_kafka_mock_topic_create(m.cluster, "batch", 1, 1));
        for (i = 0; i < 20; i++) {
                char text[32];
                size_t len = (size_t)snprintf(text, sizeof(text), "%d", i);
                CHECK_OK(rd_kafka_producev(rk, RD_KAFKA_V_TOPIC("batch"), RD_KAFKA_V_PARTITION(0),
                                           RD_KAFKA_V_VALUE(text, len),
                                           RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_END));
        }
        CHECK_OK(rd_kafka_flush(rk, SHARE_WAIT_MS));
        rd_kafka_destroy(rk);
        CHECK_INT(poll_all("record-limit", "record_limit", &cnt), 3);
        CHECK_INT(cnt, 20);
        /* Whole record batches. */
        CHECK(poll_all("batch-optimized", "batch_optimized", &cnt) > 3);
        CHECK_INT(cnt, 20);
}

int main(void) {
        m = share_start(1);
        CHECK_OK(rd_kafka_mock_topic_create(m.cluster, "empty", 1, 1));
        RUN(renewed_locks);
        RUN(no_renewal_in_implicit_mode);
        RUN(wake_ups);
        RUN(acquire_modes);
        mock_end(m);
        return test_end();
}
