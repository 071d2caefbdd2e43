/* Records that a share consumer cannot read: a batch that another client has produced with damaged contents. */
#define _POSIX_C_SOURCE 200809L
#include "share_test.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#define TOPIC   "unreadable"
#define GARBAGE "this is not gzip"
#define DAMAGED 3

static struct mock m;

/* A request or a batch that is being written. */
struct bytes {
        unsigned char data[512];
        size_t len;
};

static void put(struct bytes *b, const void *data, size_t len) {
        REQUIRE(b->len + len <= sizeof(b->data));
        memcpy(b->data + b->len, data, len);
        b->len += len;
}

/* Appends the last `size` bytes of an integer in network byte order. */
static void put_int(struct bytes *b, int64_t value, int size) {
        while (size-- > 0) {
                unsigned char byte = (unsigned char)((uint64_t)value >> (8 * size));
                put(b, &byte, 1);
        }
}

static void put_string(struct bytes *b, const char *text) {
        put_int(b, (int64_t)strlen(text), 2);
        put(b, text, strlen(text));
}

static uint32_t crc32c(const unsigned char *data, size_t len) {
        uint32_t crc = 0xffffffff;
        while (len--) {
                int i;
                crc ^= *data++;
                for (i = 0; i < 8; i++)
                        crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78 : 0);
        }
        return ~crc;
}

/* Returns a record batch of DAMAGED records with a correct checksum, which are said to be compressed with gzip. */
static struct bytes damaged_batch(void) {
        struct bytes batch = {{0}, 0}, body = {{0}, 0};
        put_int(&body, 1, 2);                       /* attributes: gzip */
        put_int(&body, DAMAGED - 1, 4);             /* last offset delta */
        put_int(&body, (int64_t)time(NULL) * 1000, 8);
        put_int(&body, (int64_t)time(NULL) * 1000, 8);
        put_int(&body, -1, 8);                      /* producer id, epoch, first sequence number */
        put_int(&body, -1, 2);
        put_int(&body, -1, 4);
        put_int(&body, DAMAGED, 4);
        put(&body, GARBAGE, strlen(GARBAGE));
        put_int(&batch, 0, 8);                      /* base offset */
        put_int(&batch, (int64_t)body.len + 9, 4);  /* length */
        put_int(&batch, -1, 4);                     /* leader epoch */
        put_int(&batch, 2, 1);                      /* magic */
        put_int(&batch, crc32c(body.data, body.len), 4);
        put(&batch, body.data, body.len);
        return batch;
}

/* Sends a Produce request of version 3 over a connection of its own, which must succeed. */
static void produce_raw(const struct bytes *batch) {
        struct bytes request = {{0}, 0}, frame = {{0}, 0};
        unsigned char response[512];
        struct sockaddr_in sin;
        size_t got = 0, error_at = 4 + 4 + 4 + 2 + strlen(TOPIC) + 4 + 4;
        int fd = socket(AF_INET, SOCK_STREAM, 0);

        put_int(&request, 0, 2); /* Produce */
        put_int(&request, 3, 2);
        put_int(&request, 1, 4);
        put_string(&request, "raw");
        put_int(&request, -1, 2); /* transactional.id */
        put_int(&request, -1, 2); /* acks */
        put_int(&request, 10000, 4);
        put_int(&request, 1, 4);
        put_string(&request, TOPIC);
        put_int(&request, 1, 4);
        put_int(&request, 0, 4);
        put_int(&request, (int64_t)batch->len, 4);
        put(&request, batch->data, batch->len);
        put_int(&frame, (int64_t)request.len, 4);
        put(&frame, request.data, request.len);

        memset(&sin, 0, sizeof(sin));
        sin.sin_family      = AF_INET;
        sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        sin.sin_port        = htons((uint16_t)atoi(strrchr(m.servers, ':') + 1));
        REQUIRE(fd != -1 && !connect(fd, (struct sockaddr *)&sin, sizeof(sin)));
        REQUIRE(send(fd, frame.data, frame.len, 0) == (ssize_t)frame.len);
        while (got < error_at + 2) {
                ssize_t n = recv(fd, response + got, sizeof(response) - got, 0);
                REQUIRE(n > 0);
                got += (size_t)n;
        }
        close(fd);
        CHECK_INT(response[error_at] << 8 | response[error_at + 1], 0);
}

/* The records before and after are delivered, the damaged ones are one error. */
static void damaged_records_are_an_error(void) {
        struct bytes batch = damaged_batch();
        rd_kafka_t *rk     = mock_producer(&m, NULL);
        rd_kafka_share_t *rkshare;
        int64_t end = test_now_ms() + SHARE_WAIT_MS;
        int records = 0, errors = 0;

        CHECK_OK(rd_kafka_mock_topic_create(m.cluster, TOPIC, 1, 1));
        CHECK_INT(test_produce(rk, TOPIC, 0, 0, 1), 0);
        produce_raw(&batch);
        CHECK_INT(test_produce(rk, TOPIC, 0, 1 + DAMAGED, 1), 0);
        rd_kafka_destroy(rk);

        rkshare = share_consumer(share_conf(&m, "unreadable", "explicit"), TOPIC);
        while ((records < 2 || !errors) && test_now_ms() < end) {
                rd_kafka_messages_t *messages = share_poll(rkshare, 1000);
                size_t i;
                for (i = 0; i < rd_kafka_messages_count(messages); i++) {
                        rd_kafka_message_t *msg = rd_kafka_messages_get(messages, i);
                        if (!msg->err) {
                                records++;
                                CHECK(msg->offset == 0 || msg->offset == 1 + DAMAGED);
                                CHECK_OK(rd_kafka_share_acknowledge(rkshare, msg));
                                continue;
                        }
                        errors++;
                        CHECK_ERR(msg->err, RD_KAFKA_RESP_ERR__BAD_COMPRESSION);
                        CHECK_INT(msg->offset, 1);
                        CHECK_INT(msg->partition, 0);
                        CHECK_STR(rd_kafka_topic_name(msg->rkt), TOPIC);
                        CHECK_INT(rd_kafka_message_delivery_count(msg), 0);
                        CHECK(!strncmp(rd_kafka_message_errstr(msg), "offsets 1 to 3 cannot be read: ", 31));
                        CHECK(!strstr(rd_kafka_message_errstr(msg) + 20, "cannot be read: "));
                        /* The library has acknowledged them. */
                        CHECK_ERR(rd_kafka_share_acknowledge(rkshare, msg), RD_KAFKA_RESP_ERR__STATE);
                }
                rd_kafka_messages_destroy(messages);
        }
        CHECK_INT(records, 2);
        CHECK(errors > 0);
        share_end(rkshare);
}

int main(void) {
        m = share_start(1);
        RUN(damaged_records_are_an_error);
        mock_end(m);
        return test_end();
}
