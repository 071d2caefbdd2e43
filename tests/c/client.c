/* The life of a client: creation, identity, threads, the end; and small helpers. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>

#include "test.h"

static void client_names_are_unique_and_contain_the_type(void) {
        rd_kafka_conf_t *conf = test_conf();
        rd_kafka_t *a, *b;

        test_set(conf, "client.id", "tester");
        a = test_client(RD_KAFKA_PRODUCER, conf);
        b = test_client(RD_KAFKA_CONSUMER, test_conf());
        CHECK_INT(rd_kafka_type(a), RD_KAFKA_PRODUCER);
        CHECK_INT(rd_kafka_type(b), RD_KAFKA_CONSUMER);
        CHECK(!strncmp(rd_kafka_name(a), "tester#producer-", 16));
        CHECK(strstr(rd_kafka_name(b), "#consumer-") != NULL);
        CHECK(strcmp(rd_kafka_name(a), rd_kafka_name(b)) != 0);
        rd_kafka_destroy(a);
        rd_kafka_destroy(b);
}

static void a_client_needs_no_configuration(void) {
        char errstr[128];
        rd_kafka_t *rk = rd_kafka_new(RD_KAFKA_PRODUCER, NULL, errstr, sizeof(errstr));
        REQUIRE(rk != NULL);
        CHECK(rd_kafka_opaque(rk) == NULL);
        CHECK_INT(rd_kafka_outq_len(rk), 0);
        rd_kafka_destroy(rk);
}

static void threads_end_with_their_client(void) {
        rd_kafka_t *rk = test_client(RD_KAFKA_PRODUCER, test_conf());
        CHECK(rd_kafka_thread_cnt() >= 1);
        rd_kafka_destroy(rk);
        CHECK_INT(rd_kafka_wait_destroyed(5000), 0);
        CHECK_INT(rd_kafka_thread_cnt(), 0);
}

static void many_clients_come_and_go(void) {
        int i;
        for (i = 0; i < 50; i++) {
                rd_kafka_conf_t *conf = test_conf();
                test_set(conf, "bootstrap.servers", "127.0.0.1:1");
                rd_kafka_destroy(test_client(i % 2 ? RD_KAFKA_PRODUCER : RD_KAFKA_CONSUMER, conf));
        }
        CHECK_INT(rd_kafka_wait_destroyed(5000), 0);
}

static void poll_returns_after_its_timeout(void) {
        rd_kafka_conf_t *conf = test_conf();
        rd_kafka_t *rk;
        int64_t start;

        test_set(conf, "bootstrap.servers", "");
        rk = test_client(RD_KAFKA_PRODUCER, conf);
        start = test_now_ms();
        CHECK_INT(rd_kafka_poll(rk, 0), 0);
        CHECK(test_now_ms() - start < 1000);
        start = test_now_ms();
        CHECK_INT(rd_kafka_poll(rk, 200), 0);
        CHECK(test_now_ms() - start >= 180);
        CHECK(test_now_ms() - start < 10000);
        CHECK_OK(rd_kafka_flush(rk, 0));
        rd_kafka_destroy(rk);
}

static rd_kafka_t *shared;

static void *produce_many(void *arg) {
        int32_t partition = (int32_t)(intptr_t)arg;
        int i;
        for (i = 0; i < 10000; i++)
                while (rd_kafka_producev(shared, RD_KAFKA_V_TOPIC("threads"),
                                         RD_KAFKA_V_PARTITION(partition),
                                         RD_KAFKA_V_VALUE(&i, sizeof(i)),
                                         RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
                                         RD_KAFKA_V_END) == RD_KAFKA_RESP_ERR__QUEUE_FULL)
                        rd_kafka_poll(shared, 10);
        return NULL;
}

static int delivered, out_of_order;
static int64_t last_offset[4] = {-1, -1, -1, -1};

static void on_delivery(rd_kafka_t *rk, const rd_kafka_message_t *m, void *opaque) {
        static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
        (void)rk;
        (void)opaque;
        pthread_mutex_lock(&lock); /* several threads poll */
        delivered += !m->err;
        out_of_order += m->offset < 0;
        if (m->offset > last_offset[m->partition])
                last_offset[m->partition] = m->offset;
        pthread_mutex_unlock(&lock);
}

static void threads_may_share_a_producer(void) {
        rd_kafka_conf_t *conf = test_conf();
        pthread_t threads[4];
        char servers[256];
        intptr_t i;

        rd_kafka_conf_set_dr_msg_cb(conf, on_delivery);
        shared = test_cluster(conf, servers, sizeof(servers));
        for (i = 0; i < 4; i++)
                REQUIRE(pthread_create(&threads[i], NULL, produce_many, (void *)i) == 0);
        for (i = 0; i < 4; i++)
                pthread_join(threads[i], NULL);
        CHECK_OK(rd_kafka_flush(shared, 20000));
        CHECK_INT(delivered, 40000);
        CHECK_INT(out_of_order, 0);
        for (i = 0; i < 4; i++)
                CHECK_INT(last_offset[i], 9999);
        rd_kafka_destroy(shared);
}

static void memory_helpers(void) {
        unsigned char *p = rd_kafka_mem_calloc(NULL, 10, 10);
        int i, sum = 0;
        REQUIRE(p != NULL);
        for (i = 0; i < 100; i++)
                sum += p[i];
        CHECK_INT(sum, 0);
        rd_kafka_mem_free(NULL, p);
        p = rd_kafka_mem_malloc(NULL, 10);
        CHECK(p != NULL);
        rd_kafka_mem_free(NULL, p);
}

static void topic_ids(void) {
        rd_kafka_Uuid_t *id = rd_kafka_Uuid_new(0x0123456789abcdef, -9000), *copy;
        CHECK_INT(rd_kafka_Uuid_most_significant_bits(id), 0x0123456789abcdef);
        CHECK_INT(rd_kafka_Uuid_least_significant_bits(id), -9000);
        rd_kafka_Uuid_destroy(id);
        id = rd_kafka_Uuid_new(0x0123456789abcdef, 0x0011223344556677);
        CHECK_STR(rd_kafka_Uuid_base64str(id), "ASNFZ4mrze8AESIzRFVmdw");
        copy = rd_kafka_Uuid_copy(id);
        rd_kafka_Uuid_destroy(id);
        CHECK_INT(rd_kafka_Uuid_most_significant_bits(copy), 0x0123456789abcdef);
        rd_kafka_Uuid_destroy(copy);
}

static void unittest_function_succeeds(void) {
        CHECK_INT(rd_kafka_unittest(), 0);
        CHECK_INT(rd_kafka_wait_destroyed(5000), 0);
}

int main(void) {
        RUN(client_names_are_unique_and_contain_the_type);
        RUN(a_client_needs_no_configuration);
        RUN(threads_end_with_their_client);
        RUN(many_clients_come_and_go);
        RUN(poll_returns_after_its_timeout);
        RUN(threads_may_share_a_producer);
        RUN(memory_helpers);
        RUN(topic_ids);
        RUN(unittest_function_succeeds);
        return test_end();
}
