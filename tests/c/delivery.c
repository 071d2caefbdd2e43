/* Delivery reports in every form, flush, purge, and what counts as outstanding. */
#define _GNU_SOURCE
#include <pthread.h>
#include "test.h"

#include <rdkafka_mock.h>

static rd_kafka_t *cluster;
static char servers[512];

#define MOST 64

static struct {
        int cnt;
        int by_plain_callback;
        struct {
                rd_kafka_resp_err_t err;
                rd_kafka_msg_status_t status;
                int32_t partition, broker, leader_epoch;
                int64_t offset, latency, timestamp;
                rd_kafka_timestamp_type_t timestamp_type;
                intptr_t number;
                char text[128], topic[64];
        } of[MOST];
} dr;

static void on_message(rd_kafka_t *rk, const rd_kafka_message_t *m, void *opaque) {
        const char *text = rd_kafka_message_produce_errstr(m);
        int i = dr.cnt++;

        (void)opaque;
        if (i >= MOST)
                return;
        CHECK(rd_kafka_outq_len(rk) > 0); /* a message counts until its report was served */
        CHECK((rd_kafka_message_errstr(m) != NULL) == (m->err != 0));
        dr.of[i].err = m->err;
        dr.of[i].status = rd_kafka_message_status(m);
        dr.of[i].partition = m->partition;
        dr.of[i].broker = rd_kafka_message_broker_id(m);
        dr.of[i].leader_epoch = rd_kafka_message_leader_epoch(m);
        dr.of[i].offset = m->offset;
        dr.of[i].latency = rd_kafka_message_latency(m);
        dr.of[i].timestamp = rd_kafka_message_timestamp(m, &dr.of[i].timestamp_type);
        dr.of[i].number = (intptr_t)m->_private;
        snprintf(dr.of[i].text, sizeof(dr.of[i].text), "%s", text ? text : "");
        snprintf(dr.of[i].topic, sizeof(dr.of[i].topic), "%s", rd_kafka_topic_name(m->rkt));
}

static void on_plain(rd_kafka_t *rk, void *payload, size_t len, rd_kafka_resp_err_t err, void *opaque,
                     void *msg_opaque) {
        (void)rk, (void)payload, (void)len, (void)err, (void)opaque, (void)msg_opaque;
        dr.by_plain_callback++;
}

/* A producer with one property and the message callback. */
static rd_kafka_t *make_from(rd_kafka_conf_t *conf, const char *name, const char *value) {
        memset(&dr, 0, sizeof(dr));
        if (name)
                test_set(conf, name, value);
        rd_kafka_conf_set_dr_msg_cb(conf, on_message);
        return test_client(RD_KAFKA_PRODUCER, conf);
}

/* Of the cluster, or of nothing. */
static rd_kafka_t *make(const char *bootstrap, const char *name, const char *value) {
        rd_kafka_conf_t *conf = test_conf();

        test_set(conf, "bootstrap.servers", bootstrap);
        return make_from(conf, name, value);
}

/* A client with a cluster whose broker responds after this many milliseconds. */
static rd_kafka_t *make_slow(const char *rtt_ms, const char *name, const char *value) {
        rd_kafka_conf_t *conf = test_conf();

        test_set(conf, "test.mock.num.brokers", "1");
        test_set(conf, "test.mock.broker.rtt", rtt_ms);
        return make_from(conf, name, value);
}

static void produce(rd_kafka_t *rk, const char *topic, int32_t partition, intptr_t number) {
        CHECK_OK(rd_kafka_producev(rk, RD_KAFKA_V_TOPIC(topic), RD_KAFKA_V_PARTITION(partition),
                                   RD_KAFKA_V_VALUE("value", 5), RD_KAFKA_V_OPAQUE((void *)number),
                                   RD_KAFKA_V_TIMESTAMP(1600000000000 + number),
                                   RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_END));
}

static const char NOWHERE[] = "127.0.0.1:1";

static void delivery_report_fields(void) {
        rd_kafka_t *rk = make(servers, NULL, NULL);
        int i;

        for (i = 0; i < 3; i++)
                produce(rk, "told", 1, i);
        CHECK_OK(rd_kafka_flush(rk, 10000));
        REQUIRE(dr.cnt == 3);
        for (i = 0; i < 3; i++) {
                CHECK_OK(dr.of[i].err);
                CHECK_INT(dr.of[i].status, RD_KAFKA_MSG_STATUS_PERSISTED);
                CHECK_INT(dr.of[i].partition, 1);
                CHECK_INT(dr.of[i].offset, i);
                CHECK_INT(dr.of[i].number, i);
                CHECK(dr.of[i].broker > 0);
                CHECK(dr.of[i].latency > 0 && dr.of[i].latency < 10000000);
                CHECK(dr.of[i].timestamp_type != RD_KAFKA_TIMESTAMP_NOT_AVAILABLE);
                CHECK_INT(dr.of[i].leader_epoch, -1);
                CHECK_STR(dr.of[i].text, "");
                CHECK_STR(dr.of[i].topic, "told");
        }
        rd_kafka_destroy(rk);
}

/* With acks=0 the report has no offset and no proof that the message was stored. */
static void acks_0_report(void) {
        rd_kafka_t *rk = make(servers, "acks", "0");

        produce(rk, "told", 0, 7);
        CHECK_OK(rd_kafka_flush(rk, 10000));
        REQUIRE(dr.cnt == 1);
        CHECK_OK(dr.of[0].err);
        CHECK_INT(dr.of[0].status, RD_KAFKA_MSG_STATUS_POSSIBLY_PERSISTED);
        CHECK_INT(dr.of[0].offset, RD_KAFKA_OFFSET_INVALID);
        rd_kafka_destroy(rk);
}

/* Messages that fail before their topic's metadata is known keep the requested partition. */
static void purge_before_topic_metadata(void) {
        static const int32_t partitions[] = {2, RD_KAFKA_PARTITION_UA, 1};
        int purged, i;

        for (purged = 0; purged < 2; purged++) {
                rd_kafka_t *rk = make(NOWHERE, "message.timeout.ms", purged ? "60000" : "200");
                for (i = 0; i < 3; i++)
                        produce(rk, "waits", partitions[i], i);
                if (purged)
                        CHECK_OK(rd_kafka_purge(rk, RD_KAFKA_PURGE_F_QUEUE));
                CHECK_OK(rd_kafka_flush(rk, 10000));
                REQUIRE(dr.cnt == 3);
                for (i = 0; i < 3; i++) {
                        CHECK_ERR(dr.of[i].err, purged ? RD_KAFKA_RESP_ERR__PURGE_QUEUE
                                                       : RD_KAFKA_RESP_ERR__MSG_TIMED_OUT);
                        CHECK_INT(dr.of[i].status, RD_KAFKA_MSG_STATUS_NOT_PERSISTED);
                        CHECK_INT(dr.of[i].offset, RD_KAFKA_OFFSET_INVALID);
                        CHECK_INT(dr.of[i].broker, -1);
                        CHECK_INT(dr.of[i].partition, partitions[dr.of[i].number]);
                        /* The core may have read its clock just before the message was produced. */
                        CHECK(dr.of[i].latency >= 0);
                }
                rd_kafka_destroy(rk);
        }
}

static void purge_flags(void) {
        rd_kafka_t *rk = make(NOWHERE, NULL, NULL);
        rd_kafka_t *consumer = test_client(RD_KAFKA_CONSUMER, test_conf());
        int flags;

        for (flags = 0; flags < 8; flags++)
                CHECK_OK(rd_kafka_purge(rk, flags));
        /* A non-blocking purge may still be in progress; a blocking one follows it. */
        CHECK_OK(rd_kafka_purge(rk, RD_KAFKA_PURGE_F_QUEUE));
        CHECK_ERR(rd_kafka_purge(rk, 8), RD_KAFKA_RESP_ERR__INVALID_ARG);
        CHECK_ERR(rd_kafka_purge(rk, -1), RD_KAFKA_RESP_ERR__INVALID_ARG);
        CHECK_ERR(rd_kafka_purge(consumer, RD_KAFKA_PURGE_F_QUEUE), RD_KAFKA_RESP_ERR__NOT_IMPLEMENTED);
        CHECK_ERR(rd_kafka_purge(consumer, 8), RD_KAFKA_RESP_ERR__NOT_IMPLEMENTED);
        CHECK_ERR(rd_kafka_flush(consumer, 0), RD_KAFKA_RESP_ERR__NOT_IMPLEMENTED);
        rd_kafka_destroy(consumer);

        produce(rk, "purged", 0, 1);
        CHECK_OK(rd_kafka_purge(rk, RD_KAFKA_PURGE_F_INFLIGHT));
        CHECK_ERR(rd_kafka_flush(rk, 100), RD_KAFKA_RESP_ERR__TIMED_OUT);
        CHECK_INT(dr.cnt, 0);
        CHECK_OK(rd_kafka_purge(rk, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_NON_BLOCKING));
        CHECK_OK(rd_kafka_flush(rk, 10000));
        CHECK_INT(dr.cnt, 1);
        CHECK_ERR(dr.of[0].err, RD_KAFKA_RESP_ERR__PURGE_QUEUE);
        rd_kafka_destroy(rk);
}

/* Waits until a Produce request has arrived since request tracking started. Returns 1 if one has. */
static int wait_for_produce_request(rd_kafka_mock_cluster_t *brokers) {
        int64_t until = test_now_ms() + 20000;
        int found     = 0;

        while (!found && test_now_ms() < until) {
                size_t cnt = 0, i;
                rd_kafka_mock_request_t **requests = rd_kafka_mock_get_requests(brokers, &cnt);
                for (i = 0; i < cnt; i++)
                        found |= rd_kafka_mock_request_api_key(requests[i]) == 0;
                rd_kafka_mock_request_destroy_array(requests, cnt);
                if (!found)
                        test_sleep_ms(5);
        }
        return found;
}

/* The broker responds so late that what was sent stays in flight. */
static void purging_in_flight_is_not_purging_the_queue(void) {
        rd_kafka_t *rk = make_slow("0", "linger.ms", "0");
        rd_kafka_mock_cluster_t *brokers = rd_kafka_handle_mock_cluster(rk);
        const struct rd_kafka_metadata *md;
        rd_kafka_topic_t *rkt;

        rkt = rd_kafka_topic_new(rk, "slow", NULL);
        produce(rk, "slow", 0, 1);
        CHECK_OK(rd_kafka_flush(rk, 20000));
        CHECK_OK(rd_kafka_metadata(rk, 0, rkt, &md, 10000));
        rd_kafka_metadata_destroy(md);
        CHECK_OK(rd_kafka_mock_broker_set_rtt(brokers, 1, 30000));
        rd_kafka_mock_start_request_tracking(brokers);
        produce(rk, "slow", 0, 2);
        CHECK(wait_for_produce_request(brokers));
        CHECK_OK(rd_kafka_purge(rk, RD_KAFKA_PURGE_F_QUEUE));
        rd_kafka_poll(rk, 0);
        CHECK_INT(dr.cnt, 1);
        CHECK_OK(rd_kafka_purge(rk, RD_KAFKA_PURGE_F_INFLIGHT));
        CHECK_OK(rd_kafka_flush(rk, 10000)); /* before the response arrives */
        REQUIRE(dr.cnt == 2);
        CHECK_ERR(dr.of[1].err, RD_KAFKA_RESP_ERR__PURGE_INFLIGHT);
        CHECK_INT(dr.of[1].status, RD_KAFKA_MSG_STATUS_POSSIBLY_PERSISTED);
        CHECK_INT(dr.of[1].number, 2);
        rd_kafka_topic_destroy(rkt);
        rd_kafka_destroy(rk);
}

static void flush_does_not_wait_for_linger(void) {
        rd_kafka_t *rk = make(servers, "linger.ms", "60000");
        int64_t start;

        produce(rk, "lingers", 0, 1);
        test_sleep_ms(200);
        CHECK_INT(rd_kafka_poll(rk, 0), 0);
        start = test_now_ms();
        CHECK_OK(rd_kafka_flush(rk, 20000));
        CHECK(test_now_ms() - start < 10000);
        CHECK_INT(dr.cnt, 1);
        CHECK_OK(rd_kafka_flush(rk, 0));
        CHECK_OK(rd_kafka_flush(rk, -1)); /* nothing is outstanding: no wait without end */
        rd_kafka_destroy(rk);
}

static int64_t round_trip_us(rd_kafka_t *rk, int i) {
        int64_t before = test_now_us();

        produce(rk, "trips", 0, i);
        CHECK_OK(rd_kafka_flush(rk, 20000));
        return test_now_us() - before;
}

/* A thread that waits for its answer may wait for the sockets itself. They are never left alone while it does not. */
static void report_after_idle_time(void) {
        rd_kafka_t *rk = make(servers, NULL, NULL);
        int i, round, late = 20;

        for (i = 0; i < 50; i++)
                round_trip_us(rk, i);
        /* A busy machine makes some late, and most of them while other processes take all processors. */
        for (round = 0; round < 10 && late >= 20; round++) {
                for (i = 0, late = 0; i < 40; i++) {
                        test_sleep_ms(10);
                        late += round_trip_us(rk, i) > 4500;
                        late += round_trip_us(rk, i) > 4500;
                }
        }
        CHECK(late < 20);
        rd_kafka_destroy(rk);
}

/* Nor when something else is answered meanwhile. */
static void report_during_metadata_refreshes(void) {
        rd_kafka_t *rk = make_slow("2", "topic.metadata.refresh.interval.ms", "4");
        int i, round, late = 20;

        for (i = 0; i < 20; i++)
                round_trip_us(rk, i);
        /* The same is true here. */
        for (round = 0; round < 15 && late >= 20; round++) {
                for (i = 0, late = 0; i < 100; i++) {
                        test_sleep_ms(7);
                        late += round_trip_us(rk, i) > 3800;
                }
        }
        CHECK(late < 20);
        rd_kafka_destroy(rk);
}

/* The best of many: a busy machine makes some of them late. */
static void linger_is_no_longer_than_asked_for(void) {
        rd_kafka_t *rk = make(servers, "linger.ms", "2");
        int64_t best_us = INT64_MAX;
        int i, round;

        for (round = 0; round < 20 && best_us >= 2800; round++) {
                dr.cnt = 0;
                for (i = 0; i < 60; i++) {
                        produce(rk, "lingers", 1, i);
                        while (dr.cnt == i)
                                rd_kafka_poll(rk, 1000);
                        if (i > 0 && dr.of[i].latency < best_us)
                                best_us = dr.of[i].latency;
                }
        }
        CHECK(best_us >= 2000);
        if (!CHECK(best_us < 2800))
                printf("# the best took %" PRId64 " us\n", best_us);
        rd_kafka_destroy(rk);
}

/* Without a report callback messages are freed after delivery. */
static void no_report_callback(void) {
        rd_kafka_conf_t *conf = test_conf();
        rd_kafka_t *rk;
        int i;

        test_set(conf, "bootstrap.servers", servers);
        test_set(conf, "linger.ms", "60000");
        rk = test_client(RD_KAFKA_PRODUCER, conf);
        for (i = 0; i < 10; i++)
                produce(rk, "unheard", 0, i);
        CHECK(rd_kafka_outq_len(rk) > 0);
        CHECK_OK(rd_kafka_flush(rk, 10000));
        CHECK_INT(rd_kafka_outq_len(rk), 0);
        rd_kafka_destroy(rk);
}

static void dr_msg_cb_takes_precedence_over_dr_cb(void) {
        rd_kafka_conf_t *conf = test_conf();
        rd_kafka_t *rk;

        memset(&dr, 0, sizeof(dr));
        test_set(conf, "bootstrap.servers", servers);
        rd_kafka_conf_set_dr_msg_cb(conf, on_message);
        rd_kafka_conf_set_dr_cb(conf, on_plain);
        rk = test_client(RD_KAFKA_PRODUCER, conf);
        produce(rk, "both", 0, 1);
        CHECK_OK(rd_kafka_flush(rk, 10000));
        CHECK_INT(dr.cnt, 1);
        CHECK_INT(dr.by_plain_callback, 0);
        rd_kafka_destroy(rk);
}

static void delivery_report_only_error(void) {
        rd_kafka_t *rk = make(servers, "delivery.report.only.error", "true");

        produce(rk, "mixed", 0, 1);
        produce(rk, "mixed", 99, 2);
        produce(rk, "mixed", 1, 3);
        CHECK_OK(rd_kafka_flush(rk, 10000));
        CHECK_INT(dr.cnt, 1);
        CHECK_ERR(dr.of[0].err, RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION);
        CHECK_INT(dr.of[0].partition, 99);
        CHECK_INT(dr.of[0].number, 2);
        rd_kafka_destroy(rk);
}

static int served, refused_again, outstanding[10];

static void produce_in_callback(rd_kafka_t *rk, const rd_kafka_message_t *m, void *opaque) {
        int block = (int)(intptr_t)opaque;

        (void)m;
        if (served < 10)
                outstanding[served] = rd_kafka_outq_len(rk);
        if (++served == 1 || served > 5) /* the first message still holds its room in its own callback */
                return;
        refused_again += rd_kafka_producev(rk, RD_KAFKA_V_TOPIC("told"), RD_KAFKA_V_PARTITION(0),
                                           RD_KAFKA_V_MSGFLAGS(block ? RD_KAFKA_MSG_F_BLOCK : 0),
                                           RD_KAFKA_V_END) != RD_KAFKA_RESP_ERR_NO_ERROR;
}

/* A message's room is free when its report was served, although others of its batch wait for theirs:
 * there is room for as many in the callback, which could wait for it in vain otherwise. */
static void queue_full_ends_with_each_report(void) {
        int block, i;

        for (block = 0; block < 2; block++) {
                rd_kafka_conf_t *conf = test_conf();
                rd_kafka_t *rk;

                served = refused_again = 0;
                test_set(conf, "bootstrap.servers", servers);
                test_set(conf, "linger.ms", "100");
                test_set(conf, "queue.buffering.max.messages", "5");
                rd_kafka_conf_set_dr_msg_cb(conf, produce_in_callback);
                rd_kafka_conf_set_opaque(conf, (void *)(intptr_t)block);
                rk = test_client(RD_KAFKA_PRODUCER, conf);
                for (i = 0; i < 5; i++)
                        produce(rk, "told", 0, i);
                CHECK_OK(rd_kafka_flush(rk, 10000));
                CHECK_INT(served, 9);
                CHECK_INT(refused_again, 0);
                CHECK_INT(outstanding[0], 5);
                CHECK_INT(outstanding[1], 4);
                CHECK_INT(outstanding[2], 4);
                rd_kafka_destroy(rk);
        }
}

static void yield_in_callback(rd_kafka_t *rk, const rd_kafka_message_t *m, void *opaque) {
        (void)m;
        (void)opaque;
        served++;
        rd_kafka_yield(rk);
}

static void poll_continues_after_yield(void) {
        rd_kafka_conf_t *conf = test_conf();
        rd_kafka_t *rk;
        int i;

        served = 0;
        test_set(conf, "bootstrap.servers", servers);
        test_set(conf, "linger.ms", "100");
        rd_kafka_conf_set_dr_msg_cb(conf, yield_in_callback);
        rk = test_client(RD_KAFKA_PRODUCER, conf);
        for (i = 0; i < 6; i++)
                produce(rk, "told", 0, i);
        for (i = 1; i <= 3; i++) {
                while (served < i)
                        rd_kafka_poll(rk, 1000);
                CHECK_INT(served, i);
        }
        CHECK(rd_kafka_outq_len(rk) >= 3 && rd_kafka_outq_len(rk) < 6);
        while (served < 6)
                CHECK_INT(rd_kafka_poll(rk, 1000), 1);
        CHECK_INT(rd_kafka_outq_len(rk), 0);
        rd_kafka_destroy(rk);
}

static rd_kafka_t *with_events(rd_kafka_conf_t *conf, rd_kafka_queue_t **q) {
        rd_kafka_t *rk;

        test_set(conf, "bootstrap.servers", servers);
        test_set(conf, "linger.ms", "1000");
        rd_kafka_conf_set_events(conf, RD_KAFKA_EVENT_DR);
        rk = test_client(RD_KAFKA_PRODUCER, conf);
        *q = rd_kafka_queue_get_main(rk);
        return rk;
}

static void outq_len_counts_undestroyed_events(void) {
        const rd_kafka_message_t *some[8];
        rd_kafka_queue_t *q;
        rd_kafka_event_t *ev;
        rd_kafka_t *rk;
        int i;
        rd_kafka_conf_t *conf = test_conf();

        rd_kafka_conf_set_opaque(conf, &dr);
        rk = with_events(conf, &q);
        for (i = 0; i < 5; i++)
                produce(rk, "told", 2, i);
        CHECK_ERR(rd_kafka_flush(rk, 700), RD_KAFKA_RESP_ERR__TIMED_OUT); /* no thread reads events */
        ev = rd_kafka_queue_poll(q, 10000);
        REQUIRE(ev != NULL && rd_kafka_event_type(ev) == RD_KAFKA_EVENT_DR);
        CHECK_OK(rd_kafka_event_error(ev));
        CHECK_STR(rd_kafka_event_error_string(ev), "Success");
        CHECK(rd_kafka_event_opaque(ev) == NULL);
        CHECK_INT(rd_kafka_event_message_count(ev), 5);
        some[0] = rd_kafka_event_message_next(ev);
        REQUIRE(some[0] != NULL);
        CHECK(some[0]->_private == (void *)0);
        CHECK_INT(rd_kafka_event_message_count(ev), 4);
        CHECK_INT(rd_kafka_event_message_array(ev, some, 2), 2);
        CHECK_INT(rd_kafka_event_message_count(ev), 2);
        CHECK(some[1]->_private == (void *)2);
        CHECK_INT(rd_kafka_event_message_array(ev, some, 8), 2);
        CHECK_INT(rd_kafka_event_message_count(ev), 0);
        CHECK(rd_kafka_event_message_next(ev) == NULL);
        CHECK(some[1]->_private == (void *)4 && some[1]->offset == 4);
        CHECK_INT(rd_kafka_outq_len(rk), 5);
        CHECK_ERR(rd_kafka_flush(rk, 50), RD_KAFKA_RESP_ERR__TIMED_OUT);
        rd_kafka_event_destroy(ev);
        CHECK_INT(rd_kafka_outq_len(rk), 0);
        CHECK_OK(rd_kafka_flush(rk, 50));
        produce(rk, "nobody.knows", 99, 9);
        ev = rd_kafka_queue_poll(q, 10000);
        REQUIRE(ev != NULL);
        CHECK_ERR(rd_kafka_event_error(ev), RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION);
        CHECK(strlen(rd_kafka_event_error_string(ev)) > 0);
        rd_kafka_event_destroy(ev);
        rd_kafka_queue_destroy(q);
        rd_kafka_destroy(rk);
}

static volatile int stop_taking;

static void *take_events(void *arg) {
        int taken = 0;
        while (!stop_taking) {
                rd_kafka_event_t *ev = rd_kafka_queue_poll(arg, 50);
                if (ev)
                        taken += (int)rd_kafka_event_message_count(ev);
                rd_kafka_event_destroy(ev);
        }
        return (void *)(intptr_t)taken;
}

static void flush_waits_for_another_event_thread(void) {
        rd_kafka_queue_t *q;
        rd_kafka_t *rk = with_events(test_conf(), &q);
        pthread_t thread;
        void *taken;
        int i;

        stop_taking = 0;
        REQUIRE(pthread_create(&thread, NULL, take_events, q) == 0);
        for (i = 0; i < 1000; i++)
                produce(rk, "told", i % 4, i);
        CHECK_OK(rd_kafka_flush(rk, 20000));
        CHECK_INT(rd_kafka_outq_len(rk), 0);
        stop_taking = 1;
        pthread_join(thread, &taken);
        CHECK_INT((intptr_t)taken, 1000);
        rd_kafka_queue_destroy(q);
        rd_kafka_destroy(rk);
}

/* With both, flush calls the callback: no other thread is needed. */
static void flush_with_events_and_a_callback(void) {
        rd_kafka_conf_t *conf = test_conf();
        rd_kafka_queue_t *q;
        rd_kafka_t *rk;

        memset(&dr, 0, sizeof(dr));
        rd_kafka_conf_set_dr_msg_cb(conf, on_message);
        rk = with_events(conf, &q);
        produce(rk, "told", 0, 1);
        CHECK_OK(rd_kafka_flush(rk, 10000));
        CHECK_INT(dr.cnt, 1);
        rd_kafka_queue_destroy(q);
        rd_kafka_destroy(rk);
}

static void delivery_report_events_only_error(void) {
        rd_kafka_conf_t *conf = test_conf();
        rd_kafka_queue_t *q;
        rd_kafka_event_t *ev;
        rd_kafka_t *rk;

        test_set(conf, "delivery.report.only.error", "true");
        rk = with_events(conf, &q);
        produce(rk, "told", 0, 1);
        CHECK_OK(rd_kafka_flush(rk, 10000));
        produce(rk, "others", 99, 2);
        ev = rd_kafka_queue_poll(q, 10000);
        REQUIRE(ev != NULL);
        CHECK_ERR(rd_kafka_event_error(ev), RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION);
        CHECK_INT(rd_kafka_event_message_count(ev), 1);
        rd_kafka_event_destroy(ev);
        rd_kafka_queue_destroy(q);
        rd_kafka_destroy(rk);
}

static void detach_headers_of_a_report(void) {
        const rd_kafka_message_t *m;
        rd_kafka_headers_t *headers = NULL, *none = NULL;
        rd_kafka_queue_t *q;
        rd_kafka_event_t *ev;
        rd_kafka_t *rk = with_events(test_conf(), &q);

        CHECK_OK(rd_kafka_producev(rk, RD_KAFKA_V_TOPIC("told"), RD_KAFKA_V_HEADER("a", "1", -1),
                                   RD_KAFKA_V_HEADER("a", NULL, 0), RD_KAFKA_V_END));
        ev = rd_kafka_queue_poll(q, 10000);
        REQUIRE(ev != NULL);
        m = rd_kafka_event_message_next(ev);
        REQUIRE(m != NULL);
        CHECK_OK(rd_kafka_message_headers(m, &headers));
        CHECK_INT(rd_kafka_header_cnt(headers), 2);
        CHECK_OK(rd_kafka_message_detach_headers((rd_kafka_message_t *)m, &headers));
        CHECK_ERR(rd_kafka_message_headers(m, &none), RD_KAFKA_RESP_ERR__NOENT);
        rd_kafka_event_destroy(ev);
        CHECK_INT(rd_kafka_header_cnt(headers), 2);
        rd_kafka_headers_destroy(headers);
        rd_kafka_queue_destroy(q);
        rd_kafka_destroy(rk);
}

int main(void) {
        cluster = test_cluster(NULL, servers, sizeof(servers));
        RUN(delivery_report_fields);
        RUN(acks_0_report);
        RUN(purge_before_topic_metadata);
        RUN(purge_flags);
        RUN(purging_in_flight_is_not_purging_the_queue);
        RUN(flush_does_not_wait_for_linger);
        RUN(report_after_idle_time);
        RUN(report_during_metadata_refreshes);
        RUN(linger_is_no_longer_than_asked_for);
        RUN(no_report_callback);
        RUN(dr_msg_cb_takes_precedence_over_dr_cb);
        RUN(delivery_report_only_error);
        RUN(queue_full_ends_with_each_report);
        RUN(poll_continues_after_yield);
        RUN(outq_len_counts_undestroyed_events);
        RUN(flush_waits_for_another_event_thread);
        RUN(flush_with_events_and_a_callback);
        RUN(delivery_report_events_only_error);
        RUN(detach_headers_of_a_report);
        rd_kafka_destroy(cluster);
        return test_end();
}
