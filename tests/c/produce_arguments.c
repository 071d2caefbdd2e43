/* The arguments of the produce functions: errors, and the ownership of memory afterwards. */
#include "test.h"

#define LARGE 2000000 /* more than message.max.bytes */

static rd_kafka_t *producer;   /* with a cluster */
static rd_kafka_topic_t *topic; /* of four partitions, which are known */
static char servers[512];
static char large[LARGE];

static struct {
        int cnt, failed;
        rd_kafka_message_t last;
        rd_kafka_resp_err_t err;
        int header_cnt;
        char payload[16];
} dr;

static void on_delivery(rd_kafka_t *rk, const rd_kafka_message_t *m, void *opaque) {
        rd_kafka_headers_t *headers = NULL;
        (void)rk;
        (void)opaque;
        dr.cnt++;
        dr.failed += m->err != RD_KAFKA_RESP_ERR_NO_ERROR;
        dr.err = m->err;
        dr.last = *m;
        dr.header_cnt = rd_kafka_message_headers(m, &headers) ? 0 : (int)rd_kafka_header_cnt(headers);
        memset(dr.payload, 0, sizeof(dr.payload));
        if (m->payload && m->len < sizeof(dr.payload))
                memcpy(dr.payload, m->payload, m->len);
}

static void reset(void) {
        memset(&dr, 0, sizeof(dr));
}

static int produce(int32_t partition, int flags, void *value, size_t len) {
        errno = 0;
        return rd_kafka_produce(topic, partition, flags, value, len, NULL, 0, NULL);
}

/* Lets the client refresh its metadata now: a partition is refused at once only while metadata that lacks it is
 * less than a second old. Older metadata is refreshed for a message of such a partition. */
static void refresh(void) {
        int64_t until = test_now_ms() + 20000;
        while (produce(99, RD_KAFKA_MSG_F_COPY, "x", 1) && test_now_ms() < until)
                test_sleep_ms(20);
        CHECK_OK(rd_kafka_flush(producer, 10000));
        reset();
}

/* The call failed so: its result, rd_kafka_last_error() and errno. */
static void refused(int result, rd_kafka_resp_err_t err, int number) {
        CHECK_INT(result, -1);
        CHECK_ERR(rd_kafka_last_error(), err);
        CHECK_INT(errno, number);
}

static void produce_error_codes(void) {
        int32_t absent[] = {4, 99, -2};
        size_t i;

        refresh();
        for (i = 0; i < sizeof(absent) / sizeof(absent[0]); i++)
                refused(produce(absent[i], RD_KAFKA_MSG_F_COPY, "x", 1),
                        RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION, ESRCH);
        refused(produce(0, RD_KAFKA_MSG_F_COPY, large, LARGE), RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE, EMSGSIZE);
        CHECK_INT(produce(0, RD_KAFKA_MSG_F_COPY, "x", 1), 0);
        CHECK_OK(rd_kafka_last_error());
        CHECK_OK(rd_kafka_flush(producer, 10000));
        CHECK_INT(dr.cnt, 1); /* a message that was refused gets no report */
        CHECK_INT(dr.failed, 0);
}

/* 36 bytes of message.max.bytes are for what surrounds key, value and headers. */
static void the_largest_message(void) {
        reset();
        CHECK_INT(produce(0, RD_KAFKA_MSG_F_COPY, large, 1000000 - 36), 0);
        refused(produce(0, RD_KAFKA_MSG_F_COPY, large, 1000000 - 35), RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE,
                EMSGSIZE);
        CHECK_ERR(rd_kafka_producev(producer, RD_KAFKA_V_RKT(topic), RD_KAFKA_V_VALUE(large, 1000000 - 36),
                                    RD_KAFKA_V_KEY("k", 1), RD_KAFKA_V_END),
                  RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE);
        CHECK_OK(rd_kafka_flush(producer, 10000));
        CHECK_INT(dr.cnt, 1);
        CHECK_OK(dr.err);
}

/* Under valgrind this also shows that memory is freed once. */
static void rejected_payload_stays_the_callers(void) {
        char *value = strdup("mine");
        rd_kafka_message_t messages[2];
        int i;

        refresh();
        CHECK_INT(produce(99, RD_KAFKA_MSG_F_FREE, value, 4), -1);
        CHECK_ERR(rd_kafka_producev(producer, RD_KAFKA_V_RKT(topic), RD_KAFKA_V_PARTITION(99),
                                    RD_KAFKA_V_VALUE(value, 4), RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_FREE),
                                    RD_KAFKA_V_END),
                  RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION);
        memset(messages, 0, sizeof(messages));
        for (i = 0; i < 2; i++) {
                messages[i].payload = i ? strdup("ours") : value;
                messages[i].len = 4;
                messages[i].partition = i ? 1 : 99;
        }
        CHECK_INT(rd_kafka_produce_batch(topic, 0, RD_KAFKA_MSG_F_FREE | RD_KAFKA_MSG_F_PARTITION, messages, 2), 1);
        CHECK_ERR(messages[0].err, RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION);
        CHECK_OK(messages[1].err);
        CHECK_STR(value, "mine");
        free(value);
        CHECK_INT(produce(0, RD_KAFKA_MSG_F_FREE, strdup("given"), 5), 0);
        rd_kafka_flush(producer, 10000);
        CHECK_INT(dr.cnt, 2);
        CHECK_INT(dr.failed, 0);
}

static void unowned_payload_is_returned_in_the_report(void) {
        char small[] = "lent";

        reset();
        CHECK_INT(produce(0, 0, small, 4), 0);
        rd_kafka_flush(producer, 10000);
        CHECK(dr.last.payload == small);
        CHECK_INT(produce(0, 0, large, 500000), 0);
        rd_kafka_flush(producer, 10000);
        CHECK(dr.last.payload == large);
        CHECK_INT(produce(0, RD_KAFKA_MSG_F_COPY, small, 4), 0);
        memcpy(small, "gone", 4);
        rd_kafka_flush(producer, 10000);
        CHECK_STR(dr.payload, "lent");
}

static void last_argument_of_a_kind_wins(void) {
        reset();
        CHECK_OK(rd_kafka_producev(producer, RD_KAFKA_V_RKT(topic), RD_KAFKA_V_TOPIC("other"),
                                   RD_KAFKA_V_PARTITION(1), RD_KAFKA_V_PARTITION(0), RD_KAFKA_V_VALUE("a", 1),
                                   RD_KAFKA_V_VALUE("bcd", 3), RD_KAFKA_V_END));
        rd_kafka_flush(producer, 10000);
        CHECK_STR(rd_kafka_topic_name(dr.last.rkt), "other");
        CHECK_INT(dr.last.partition, 0);
        CHECK_STR(dr.payload, "bcd");
        CHECK_OK(rd_kafka_producev(producer, RD_KAFKA_V_TOPIC("other"), RD_KAFKA_V_RKT(topic), RD_KAFKA_V_END));
        rd_kafka_flush(producer, 10000);
        CHECK_STR(rd_kafka_topic_name(dr.last.rkt), "arguments");
        CHECK(dr.last.payload == NULL && dr.last.key == NULL);
}

static void headers_are_owned_only_after_success(void) {
        rd_kafka_headers_t *headers = rd_kafka_headers_new(2);

        refresh();
        CHECK_OK(rd_kafka_header_add(headers, "a", -1, "1", -1));
        CHECK_OK(rd_kafka_header_add(headers, "b", -1, NULL, 0));
        CHECK_ERR(rd_kafka_producev(producer, RD_KAFKA_V_RKT(topic), RD_KAFKA_V_HEADER("c", "x", 1),
                                    RD_KAFKA_V_HEADERS(headers), RD_KAFKA_V_END),
                  RD_KAFKA_RESP_ERR__CONFLICT);
        CHECK_ERR(rd_kafka_producev(producer, RD_KAFKA_V_RKT(topic), RD_KAFKA_V_HEADERS(headers),
                                    RD_KAFKA_V_HEADER("c", "x", 1), RD_KAFKA_V_END),
                  RD_KAFKA_RESP_ERR__CONFLICT);
        CHECK_ERR(rd_kafka_producev(producer, RD_KAFKA_V_RKT(topic), RD_KAFKA_V_HEADERS(headers),
                                    RD_KAFKA_V_PARTITION(99), RD_KAFKA_V_END),
                  RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION);
        CHECK_ERR(rd_kafka_producev(producer, RD_KAFKA_V_RKT(topic), RD_KAFKA_V_HEADERS(headers),
                                    RD_KAFKA_V_VALUE(large, LARGE), RD_KAFKA_V_END),
                  RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE);
        CHECK_INT(rd_kafka_header_cnt(headers), 2);
        CHECK_OK(rd_kafka_producev(producer, RD_KAFKA_V_RKT(topic), RD_KAFKA_V_HEADERS(headers), RD_KAFKA_V_END));
        rd_kafka_flush(producer, 10000);
        CHECK_INT(dr.header_cnt, 2);
        CHECK_OK(rd_kafka_producev(producer, RD_KAFKA_V_RKT(topic), RD_KAFKA_V_HEADERS(NULL),
                                   RD_KAFKA_V_HEADER("", NULL, -1), RD_KAFKA_V_END));
        rd_kafka_flush(producer, 10000);
        CHECK_INT(dr.header_cnt, 1);
        CHECK_INT(dr.failed, 0);
}

static rd_kafka_resp_err_t by_array(const rd_kafka_vu_t *vus, size_t cnt, int *fatal) {
        rd_kafka_error_t *error = rd_kafka_produceva(producer, vus, cnt);
        rd_kafka_resp_err_t err = rd_kafka_error_code(error);

        if (error)
                CHECK(strlen(rd_kafka_error_string(error)) > 0);
        if (fatal)
                *fatal = rd_kafka_error_is_fatal(error);
        rd_kafka_error_destroy(error);
        return err;
}

static void arrays_are_checked_like_argument_lists(void) {
        rd_kafka_vu_t vus[3];
        int fatal = 1;

        refresh();
        memset(vus, 0, sizeof(vus));
        CHECK_ERR(by_array(vus, 0, NULL), RD_KAFKA_RESP_ERR__INVALID_ARG);
        CHECK_ERR(by_array(NULL, 0, NULL), RD_KAFKA_RESP_ERR__INVALID_ARG);
        vus[0].vtype = RD_KAFKA_VTYPE_TOPIC; /* with the name NULL */
        CHECK_ERR(by_array(vus, 1, NULL), RD_KAFKA_RESP_ERR__INVALID_ARG);
        vus[0].vtype = RD_KAFKA_VTYPE_RKT;
        vus[0].u.rkt = topic;
        vus[1].vtype = RD_KAFKA_VTYPE_PARTITION;
        vus[1].u.i32 = 99;
        CHECK_ERR(by_array(vus, 2, &fatal), RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION);
        CHECK_INT(fatal, 0);
        vus[1].u.i32 = 2;
        vus[2].vtype = RD_KAFKA_VTYPE_VALUE;
        vus[2].u.mem.ptr = large;
        vus[2].u.mem.size = LARGE;
        CHECK_ERR(by_array(vus, 3, NULL), RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE);
        vus[2].u.mem.size = 3;
        CHECK_OK(by_array(vus, 3, NULL));
        rd_kafka_flush(producer, 10000);
        CHECK_INT(dr.cnt, 1);
        CHECK_INT(dr.last.partition, 2);
        CHECK_INT(dr.last.len, 3);
}

/* A later message must not overtake one that found the queue full, even if it is smaller or the queue has
 * room again. */
static void a_full_queue_ends_a_batch(void) {
        rd_kafka_conf_t *conf = test_conf();
        rd_kafka_message_t messages[4];
        rd_kafka_topic_t *rkt;
        rd_kafka_t *rk;
        int i;

        test_set(conf, "bootstrap.servers", "127.0.0.1:1");
        test_set(conf, "queue.buffering.max.kbytes", "1");
        rk = test_client(RD_KAFKA_PRODUCER, conf);
        rkt = rd_kafka_topic_new(rk, "t", NULL);
        memset(messages, 0, sizeof(messages));
        for (i = 0; i < 4; i++) {
                messages[i].payload = large;
                messages[i].len = i == 1 ? 800 : 300;
                messages[i].err = RD_KAFKA_RESP_ERR__FAIL;
        }
        CHECK_INT(rd_kafka_produce_batch(rkt, 0, RD_KAFKA_MSG_F_COPY, messages, 4), 1);
        CHECK_OK(messages[0].err);
        for (i = 1; i < 4; i++)
                CHECK_ERR(messages[i].err, RD_KAFKA_RESP_ERR__QUEUE_FULL);
        rd_kafka_topic_destroy(rkt);
        rd_kafka_destroy(rk);
}

/* rd_kafka_producev() returns _FATAL, rd_kafka_produceva() also the cause. */
static void after_a_fatal_error(void) {
        rd_kafka_conf_t *conf = test_conf();
        rd_kafka_error_t *error;
        rd_kafka_vu_t vu;
        rd_kafka_t *rk;

        test_set(conf, "bootstrap.servers", "127.0.0.1:1");
        test_set(conf, "enable.idempotence", "true");
        rk = test_client(RD_KAFKA_PRODUCER, conf);
        CHECK_OK(rd_kafka_test_fatal_error(rk, RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER, "for the test"));
        CHECK_ERR(rd_kafka_producev(rk, RD_KAFKA_V_TOPIC("t"), RD_KAFKA_V_END), RD_KAFKA_RESP_ERR__FATAL);
        memset(&vu, 0, sizeof(vu));
        vu.vtype = RD_KAFKA_VTYPE_TOPIC;
        vu.u.cstr = "t";
        error = rd_kafka_produceva(rk, &vu, 1);
        CHECK_ERR(rd_kafka_error_code(error), RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER);
        CHECK(rd_kafka_error_is_fatal(error));
        rd_kafka_error_destroy(error);
        rd_kafka_destroy(rk);
}

int main(void) {
        rd_kafka_conf_t *conf = test_conf();
        const struct rd_kafka_metadata *md;

        rd_kafka_conf_set_dr_msg_cb(conf, on_delivery);
        producer = test_cluster(conf, servers, sizeof(servers));
        topic = rd_kafka_topic_new(producer, "arguments", NULL);
        if (!topic || rd_kafka_produce(topic, 0, 0, NULL, 0, NULL, 0, NULL) || rd_kafka_flush(producer, 10000) ||
            rd_kafka_metadata(producer, 0, topic, &md, 10000)) {
                printf("Bail out! no topic\n");
                return 1;
        }
        rd_kafka_metadata_destroy(md);
        RUN(produce_error_codes);
        RUN(the_largest_message);
        RUN(rejected_payload_stays_the_callers);
        RUN(unowned_payload_is_returned_in_the_report);
        RUN(last_argument_of_a_kind_wins);
        RUN(headers_are_owned_only_after_success);
        RUN(arrays_are_checked_like_argument_lists);
        RUN(a_full_queue_ends_a_batch);
        RUN(after_a_fatal_error);
        rd_kafka_topic_destroy(topic);
        rd_kafka_destroy(producer);
        return test_end();
}
