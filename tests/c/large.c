/* Messages of many megabytes: nothing but message.max.bytes and the queue limits them. */
#include "test.h"

#define SIZE 50000000

static rd_kafka_t *rk;
static rd_kafka_topic_t *topic;
static char servers[512];

static struct {
        int cnt;
        rd_kafka_resp_err_t err;
        rd_kafka_msg_status_t status;
        void *payload;
        size_t len;
        int32_t partition;
        int64_t offset;
} dr;

static void on_delivery(rd_kafka_t *client, const rd_kafka_message_t *m, void *opaque) {
        (void)client;
        (void)opaque;
        dr.cnt++;
        dr.err = m->err;
        dr.status = rd_kafka_message_status(m);
        dr.payload = m->payload;
        dr.len = m->len;
        dr.partition = m->partition;
        dr.offset = m->offset;
}

/* Different in every place, and in every message. */
static char at(int message, size_t i) {
        return (char)((i * 2654435761u + (size_t)message * 40503u) >> 11);
}

static char *make(int message) {
        char *value = malloc(SIZE);
        size_t i;
        for (i = 0; i < SIZE; i++)
                value[i] = at(message, i);
        return value;
}

static void produce(int flags, int message) {
        char *value = make(message);

        memset(&dr, 0, sizeof(dr));
        CHECK_INT(rd_kafka_produce(topic, 0, flags, value, SIZE, "key", 3, NULL), 0);
        if (flags == RD_KAFKA_MSG_F_COPY)
                memset(value, 0, SIZE);
        CHECK_OK(rd_kafka_flush(rk, 40000));
        CHECK_INT(dr.cnt, 1);
        CHECK_OK(dr.err);
        CHECK_INT(dr.status, RD_KAFKA_MSG_STATUS_PERSISTED);
        CHECK_INT(dr.len, SIZE);
        CHECK_INT(dr.offset, message);
        /* Borrowed memory is released, whether it was sent directly or compressed. */
        CHECK((dr.payload == value) == (flags == 0) || flags == RD_KAFKA_MSG_F_FREE);
        if (flags != RD_KAFKA_MSG_F_FREE)
                free(value);
}

static void start(const char *codec) {
        rd_kafka_conf_t *conf = test_conf();

        test_set(conf, "message.max.bytes", "100000000");
        test_set(conf, "compression.codec", codec);
        rd_kafka_conf_set_dr_msg_cb(conf, on_delivery);
        rk = test_cluster(conf, servers, sizeof(servers));
        topic = rd_kafka_topic_new(rk, "large", NULL);
}

static void end(void) {
        rd_kafka_topic_destroy(topic);
        rd_kafka_destroy(rk);
}

static void read_back(int messages) {
        rd_kafka_conf_t *conf = test_conf();
        rd_kafka_topic_partition_list_t *l = rd_kafka_topic_partition_list_new(1);
        rd_kafka_t *c;
        int message;

        test_set(conf, "bootstrap.servers", servers);
        test_set(conf, "group.id", "large");
        test_set(conf, "fetch.message.max.bytes", "60000000");
        test_set(conf, "fetch.max.bytes", "60000000");
        test_set(conf, "receive.message.max.bytes", "100000000");
        c = test_client(RD_KAFKA_CONSUMER, conf);
        rd_kafka_poll_set_consumer(c);
        rd_kafka_topic_partition_list_add(l, "large", 0)->offset = 0;
        CHECK_OK(rd_kafka_assign(c, l));
        rd_kafka_topic_partition_list_destroy(l);
        for (message = 0; message < messages; message++) {
                rd_kafka_message_t *m = rd_kafka_consumer_poll(c, 30000);
                size_t i, wrong = 0;

                REQUIRE(m != NULL);
                CHECK_OK(m->err);
                CHECK_INT(m->offset, message);
                CHECK_INT(m->len, SIZE);
                for (i = 0; i < m->len && i < SIZE; i++)
                        wrong += ((char *)m->payload)[i] != at(message, i);
                CHECK_INT(wrong, 0);
                rd_kafka_message_destroy(m);
        }
        rd_kafka_consumer_close(c);
        rd_kafka_destroy(c);
}

static void fifty_megabytes_each_way(void) {
        start("none");
        produce(RD_KAFKA_MSG_F_COPY, 0);
        produce(0, 1);
        produce(RD_KAFKA_MSG_F_FREE, 2);
        read_back(3);
        end();
}

static void fifty_megabytes_each_way_compressed(void) {
        start("lz4");
        produce(0, 0);
        produce(RD_KAFKA_MSG_F_FREE, 1);
        read_back(2);
        end();
}

/* Owned memory is freed even when the message is never sent. */
static void owned_memory_of_purged_messages_is_freed(void) {
        rd_kafka_conf_t *conf = test_conf();
        int i;

        test_set(conf, "message.max.bytes", "100000000");
        test_set(conf, "queue.buffering.max.kbytes", "120000");
        test_set(conf, "bootstrap.servers", "127.0.0.1:1");
        rk = test_client(RD_KAFKA_PRODUCER, conf);
        topic = rd_kafka_topic_new(rk, "large", NULL);
        for (i = 0; i < 3; i++) {
                char *value = malloc(SIZE);
                int result = rd_kafka_produce(topic, 0, RD_KAFKA_MSG_F_FREE, value, SIZE, NULL, 0, NULL);
                CHECK_INT(result, i < 2 ? 0 : -1);
                if (result) {
                        CHECK_ERR(rd_kafka_last_error(), RD_KAFKA_RESP_ERR__QUEUE_FULL);
                        free(value);
                }
        }
        CHECK_OK(rd_kafka_purge(rk, RD_KAFKA_PURGE_F_QUEUE));
        CHECK_OK(rd_kafka_flush(rk, 10000));
        CHECK_INT(rd_kafka_outq_len(rk), 0);
        end();
}

/* Resident memory in MB. */
static long resident(void) {
        long pages = 0, all;
        FILE *f = fopen("/proc/self/statm", "r");
        if (f) {
                if (fscanf(f, "%ld %ld", &all, &pages) != 2)
                        pages = 0;
                fclose(f);
        }
        return pages * (sysconf(_SC_PAGESIZE) / 1024) / 1024;
}

/* One piece of memory, lent twenty times: 1 GB of messages, and none of it copied. */
static void borrowed_memory_is_not_copied(void) {
        rd_kafka_conf_t *conf = test_conf();
        char *value = make(0);
        long before;
        int i;

        test_set(conf, "message.max.bytes", "100000000");
        test_set(conf, "queue.buffering.max.kbytes", "2000000");
        test_set(conf, "bootstrap.servers", "127.0.0.1:1");
        rk = test_client(RD_KAFKA_PRODUCER, conf);
        topic = rd_kafka_topic_new(rk, "large", NULL);
        before = resident();
        for (i = 0; i < 20; i++)
                CHECK_INT(rd_kafka_produce(topic, i % 4, 0, value, SIZE, NULL, 0, NULL), 0);
        CHECK(before > 0 && resident() - before < 40);
        CHECK_OK(rd_kafka_purge(rk, RD_KAFKA_PURGE_F_QUEUE));
        CHECK_OK(rd_kafka_flush(rk, 10000));
        free(value);
        end();
}

int main(void) {
        RUN(fifty_megabytes_each_way);
        RUN(fifty_megabytes_each_way_compressed);
        RUN(borrowed_memory_is_not_copied);
        RUN(owned_memory_of_purged_messages_is_freed);
        return test_end();
}
