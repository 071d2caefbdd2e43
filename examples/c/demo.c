/*
 * demo: a whole Kafka in one process.
 *
 * Starts the embedded three-broker cluster, produces messages with delivery reports, consumes them
 * back, and checks that every one came exactly once and in order within its partition.
 *
 *     demo [messages]          default: 1000000
 *
 * Exit status: 0 if all is well, 1 if not.
 */

#define _POSIX_C_SOURCE 200809L

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <rdkafka.h>

#define TOPIC "demo"
#define BROKERS "3"
#define PAYLOAD_SIZE 100
#define MAX_PARTITIONS 128

/* No progress for this long means that something is broken. */
#define STALL_S 30.0

/* ---- small helpers ------------------------------------------------------ */

static double now_s(void) {
        struct timespec ts;
        clock_gettime(CLOCK_MONOTONIC, &ts);
        return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void fail(const char *fmt, ...) {
        va_list ap;
        va_start(ap, fmt);
        fputs("\ndemo: FAILED: ", stderr);
        vfprintf(stderr, fmt, ap);
        fputc('\n', stderr);
        va_end(ap);
        exit(1);
}

static void *must_alloc(size_t count, size_t size) {
        void *p = calloc(count ? count : 1, size);
        if (!p)
                fail("out of memory");
        return p;
}

static void set(rd_kafka_conf_t *conf, const char *name, const char *value) {
        char errstr[512];
        if (rd_kafka_conf_set(conf, name, value, errstr, sizeof(errstr)) != RD_KAFKA_CONF_OK)
                fail("%s", errstr);
}

/* ---- progress ----------------------------------------------------------- */

/* One phase of the run. On a terminal its line is redrawn five times a second, elsewhere a plain
 * line is printed every second. */
struct progress {
        const char *verb;
        uint64_t total;
        double started, last_shown, last_moved;
        uint64_t last_done;
        bool terminal;
};

static void progress_start(struct progress *p, const char *verb, uint64_t total) {
        memset(p, 0, sizeof(*p));
        p->verb = verb;
        p->total = total;
        p->started = p->last_shown = p->last_moved = now_s();
        p->terminal = isatty(STDOUT_FILENO);
}

static void progress_draw(struct progress *p, uint64_t done, double now) {
        double share = p->total ? (double)done / (double)p->total : 1.0;
        double elapsed = now - p->started;
        double rate = elapsed > 0 ? (double)done / elapsed : 0;

        if (p->terminal) {
                char bar[31];
                int full = (int)(share * 30);
                memset(bar, '.', 30);
                memset(bar, '#', (size_t)(full > 30 ? 30 : full));
                bar[30] = '\0';
                printf("\r%-9s [%s] %3.0f%%  %" PRIu64 "/%" PRIu64 "  %.0f msgs/s   ", p->verb, bar,
                       share * 100, done, p->total, rate);
        } else
                printf("%s %" PRIu64 " of %" PRIu64 " messages (%.0f%%), %.0f msgs/s\n", p->verb, done,
                       p->total, share * 100, rate);
        fflush(stdout);
        p->last_shown = now;
}

static void progress_update(struct progress *p, uint64_t done) {
        double now = now_s();
        if (done != p->last_done) {
                p->last_done = done;
                p->last_moved = now;
        } else if (now - p->last_moved > STALL_S)
                fail("%s stands still at %" PRIu64 " of %" PRIu64 " messages", p->verb, done,
                     p->total);
        if (now - p->last_shown >= (p->terminal ? 0.2 : 1.0))
                progress_draw(p, done, now);
}

/* Returns the seconds that the phase took. */
static double progress_end(struct progress *p, uint64_t done) {
        double now = now_s();
        progress_draw(p, done, now);
        if (p->terminal)
                putchar('\n');
        return now - p->started;
}

/* ---- payloads ----------------------------------------------------------- */

/* A payload is its sequence number, a checksum over number and filling, and the filling, which
 * depends on the number: a mixed-up or damaged one cannot go unnoticed. */

static uint32_t checksum(const unsigned char *data, size_t size) {
        uint32_t hash = 2166136261u; /* FNV-1a */
        size_t i;
        for (i = 0; i < size; i++)
                hash = (hash ^ data[i]) * 16777619u;
        return hash;
}

static void payload_write(unsigned char *payload, uint64_t seq) {
        uint32_t sum;
        memcpy(payload, &seq, 8);
        memset(payload + 12, (int)('a' + seq % 26), PAYLOAD_SIZE - 12);
        memset(payload + 8, 0, 4);
        sum = checksum(payload, PAYLOAD_SIZE);
        memcpy(payload + 8, &sum, 4);
}

static uint64_t payload_check(const rd_kafka_message_t *m) {
        unsigned char copy[PAYLOAD_SIZE];
        uint64_t seq;
        uint32_t sum;

        if (m->len != PAYLOAD_SIZE)
                fail("partition %" PRId32 " offset %" PRId64 ": %zu bytes instead of %d",
                     m->partition, m->offset, m->len, PAYLOAD_SIZE);
        memcpy(copy, m->payload, PAYLOAD_SIZE);
        memcpy(&seq, copy, 8);
        memcpy(&sum, copy + 8, 4);
        memset(copy + 8, 0, 4);
        if (checksum(copy, PAYLOAD_SIZE) != sum)
                fail("partition %" PRId32 " offset %" PRId64 ": damaged payload", m->partition,
                     m->offset);
        return seq;
}

/* ---- producing ---------------------------------------------------------- */

struct deliveries {
        uint64_t ok, failed;
        uint64_t per_partition[MAX_PARTITIONS];
        char error[256]; /* the first failure */
};

static void on_delivery(rd_kafka_t *rk, const rd_kafka_message_t *m, void *opaque) {
        struct deliveries *d = opaque;
        (void)rk;
        if (m->err) {
                const char *words = rd_kafka_message_produce_errstr(m); /* NULL: not the broker's */
                if (!d->failed++)
                        snprintf(d->error, sizeof(d->error), "%s",
                                 words ? words : rd_kafka_err2str(m->err));
                return;
        }
        if (m->partition < 0 || m->partition >= MAX_PARTITIONS)
                fail("delivery report for partition %" PRId32, m->partition);
        d->ok++;
        d->per_partition[m->partition]++;
}

static rd_kafka_t *producer_new(struct deliveries *d) {
        char errstr[512];
        rd_kafka_conf_t *conf = rd_kafka_conf_new();
        rd_kafka_t *rk;

        set(conf, "client.id", "demo-producer");
        set(conf, "test.mock.num.brokers", BROKERS); /* the embedded cluster */
        set(conf, "linger.ms", "5");
        rd_kafka_conf_set_dr_msg_cb(conf, on_delivery);
        rd_kafka_conf_set_opaque(conf, d);
        rk = rd_kafka_new(RD_KAFKA_PRODUCER, conf, errstr, sizeof(errstr));
        if (!rk)
                fail("cannot create the producer: %s", errstr);
        return rk;
}

static double produce(rd_kafka_t *rk, struct deliveries *d, uint64_t total) {
        struct progress p;
        unsigned char payload[PAYLOAD_SIZE];
        rd_kafka_topic_t *topic = rd_kafka_topic_new(rk, TOPIC, NULL);
        uint64_t seq;

        if (!topic)
                fail("cannot use topic " TOPIC ": %s", rd_kafka_err2str(rd_kafka_last_error()));
        progress_start(&p, "produced", total);
        for (seq = 0; seq < total; seq++) {
                payload_write(payload, seq);
                while (rd_kafka_produce(topic, RD_KAFKA_PARTITION_UA, RD_KAFKA_MSG_F_COPY, payload,
                                        sizeof(payload), NULL, 0, NULL) == -1) {
                        rd_kafka_resp_err_t err = rd_kafka_last_error();
                        if (err != RD_KAFKA_RESP_ERR__QUEUE_FULL)
                                fail("produce: %s", rd_kafka_err2str(err));
                        /* The queue is full: serve delivery reports, which make room. */
                        rd_kafka_poll(rk, 100);
                        progress_update(&p, d->ok);
                }
                if (seq % 256 == 0) {
                        rd_kafka_poll(rk, 0);
                        progress_update(&p, d->ok);
                }
        }
        while (d->ok + d->failed < total) {
                rd_kafka_flush(rk, 100);
                progress_update(&p, d->ok);
                if (d->failed)
                        break;
        }
        rd_kafka_topic_destroy(topic);
        if (d->failed)
                fail("%" PRIu64 " messages were not delivered: %s", d->failed, d->error);
        return progress_end(&p, d->ok);
}

/* ---- where the cluster is ----------------------------------------------- */

/* Writes the brokers' addresses as "host:port,host:port,..." and returns the number of partitions
 * of the topic: all that another client needs. */
static int cluster_describe(rd_kafka_t *rk, char *servers, size_t size) {
        const struct rd_kafka_metadata *md;
        rd_kafka_topic_t *topic = rd_kafka_topic_new(rk, TOPIC, NULL);
        rd_kafka_resp_err_t err = rd_kafka_metadata(rk, 0, topic, &md, 10000);
        size_t used = 0;
        int i, partitions;

        if (err)
                fail("metadata: %s", rd_kafka_err2str(err));
        if (md->topic_cnt != 1 || md->topics[0].err)
                fail("no metadata for topic " TOPIC);
        for (i = 0; i < md->broker_cnt && used < size; i++)
                used += (size_t)snprintf(servers + used, size - used, "%s%s:%d", i ? "," : "",
                                         md->brokers[i].host, md->brokers[i].port);
        partitions = md->topics[0].partition_cnt;
        if (used >= size || partitions < 1 || partitions > MAX_PARTITIONS)
                fail("%d brokers, %d partitions", md->broker_cnt, partitions);
        rd_kafka_metadata_destroy(md);
        rd_kafka_topic_destroy(topic);
        return partitions;
}

/* ---- consuming ---------------------------------------------------------- */

struct arrivals {
        uint64_t total;                         /* messages expected */
        uint64_t count;                         /* messages that came */
        unsigned char *seen;                    /* one bit for each sequence number */
        uint64_t per_partition[MAX_PARTITIONS]; /* messages that came */
        int64_t next_offset[MAX_PARTITIONS];    /* offset after the last one */
        uint64_t next_seq[MAX_PARTITIONS];      /* least sequence number that keeps the order */
};

static void check_arrival(struct arrivals *a, const rd_kafka_message_t *m) {
        uint64_t seq = payload_check(m);
        int32_t p = m->partition;

        if (seq >= a->total)
                fail("message %" PRIu64 " was never produced", seq);
        if (a->seen[seq / 8] & (1u << seq % 8))
                fail("message %" PRIu64 " came twice", seq);
        if (m->offset < a->next_offset[p] || seq < a->next_seq[p])
                fail("message %" PRIu64 " of partition %" PRId32 " is out of order", seq, p);
        a->seen[seq / 8] |= (unsigned char)(1u << seq % 8);
        a->next_offset[p] = m->offset + 1;
        a->next_seq[p] = seq + 1;
        a->per_partition[p]++;
        a->count++;
}

static rd_kafka_t *consumer_new(const char *servers, int partitions) {
        char errstr[512];
        rd_kafka_conf_t *conf = rd_kafka_conf_new();
        rd_kafka_topic_partition_list_t *all = rd_kafka_topic_partition_list_new(partitions);
        rd_kafka_resp_err_t err;
        rd_kafka_t *rk;
        int i;

        set(conf, "client.id", "demo-consumer");
        set(conf, "bootstrap.servers", servers);
        set(conf, "group.id", "demo");
        set(conf, "enable.auto.commit", "false");
        set(conf, "check.crcs", "true");
        rk = rd_kafka_new(RD_KAFKA_CONSUMER, conf, errstr, sizeof(errstr));
        if (!rk)
                fail("cannot create the consumer: %s", errstr);
        rd_kafka_poll_set_consumer(rk);
        for (i = 0; i < partitions; i++)
                rd_kafka_topic_partition_list_add(all, TOPIC, i)->offset =
                    RD_KAFKA_OFFSET_BEGINNING;
        err = rd_kafka_assign(rk, all);
        if (err)
                fail("assign: %s", rd_kafka_err2str(err));
        rd_kafka_topic_partition_list_destroy(all);
        return rk;
}

static double consume(rd_kafka_t *rk, struct arrivals *a) {
        struct progress p;

        progress_start(&p, "consumed", a->total);
        while (a->count < a->total) {
                rd_kafka_message_t *m = rd_kafka_consumer_poll(rk, 200);
                if (m) {
                        if (m->err)
                                fail("consume: %s", rd_kafka_message_errstr(m));
                        check_arrival(a, m);
                        rd_kafka_message_destroy(m);
                }
                if (!m || a->count % 256 == 0)
                        progress_update(&p, a->count);
        }
        return progress_end(&p, a->count);
}

/* After the last message nothing more may come: a duplicate would be at the end of its partition. */
static void expect_silence(rd_kafka_t *rk) {
        double until = now_s() + 0.5;
        while (now_s() < until) {
                rd_kafka_message_t *m = rd_kafka_consumer_poll(rk, 100);
                if (m)
                        fail("one more message came: partition %" PRId32 " offset %" PRId64,
                             m->partition, m->offset);
        }
}

/* ---- main --------------------------------------------------------------- */

static uint64_t parse_count(int argc, char **argv) {
        char *end;
        unsigned long long n;

        if (argc < 2)
                return 1000000;
        errno = 0;
        n = strtoull(argv[1], &end, 10);
        if (argc > 2 || errno || *end || end == argv[1] || argv[1][0] == '-' || n == 0) {
                fprintf(stderr, "usage: %s [messages]\n", argv[0]);
                exit(1);
        }
        return n;
}

int main(int argc, char **argv) {
        static struct deliveries deliveries;
        static struct arrivals arrivals;
        char servers[1024];
        double produce_s, consume_s;
        rd_kafka_t *producer, *consumer;
        int partitions, i;

        arrivals.total = parse_count(argc, argv);
        arrivals.seen = must_alloc(arrivals.total / 8 + 1, 1);

        producer = producer_new(&deliveries);
        produce_s = produce(producer, &deliveries, arrivals.total);
        partitions = cluster_describe(producer, servers, sizeof(servers));
        printf("cluster   %s, topic %s with %d partitions\n", servers, TOPIC, partitions);

        consumer = consumer_new(servers, partitions);
        consume_s = consume(consumer, &arrivals);
        expect_silence(consumer);

        for (i = 0; i < partitions; i++)
                if (arrivals.per_partition[i] != deliveries.per_partition[i])
                        fail("partition %d: %" PRIu64 " delivered, %" PRIu64 " consumed", i,
                             deliveries.per_partition[i], arrivals.per_partition[i]);

        rd_kafka_consumer_close(consumer);
        rd_kafka_destroy(consumer);
        rd_kafka_destroy(producer); /* the cluster ends with its client */
        free(arrivals.seen);

        printf("OK: %" PRIu64 " messages of %d bytes came exactly once and in order in %d "
               "partitions: produced in %.2f s (%.0f msgs/s, %.1f MB/s), consumed in %.2f s "
               "(%.0f msgs/s, %.1f MB/s)\n",
               arrivals.total, PAYLOAD_SIZE, partitions, produce_s,
               (double)arrivals.total / produce_s,
               (double)arrivals.total * PAYLOAD_SIZE / 1e6 / produce_s, consume_s,
               (double)arrivals.total / consume_s,
               (double)arrivals.total * PAYLOAD_SIZE / 1e6 / consume_s);
        return 0;
}
