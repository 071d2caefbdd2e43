/*
 * rdkafka_performance: how fast messages get into, and out of, a Kafka cluster.
 *
 *     rdkafka_performance -P -t TOPIC ...          produce
 *     rdkafka_performance -C -t TOPIC -p 0 ...     consume partitions, without a group
 *     rdkafka_performance -G GROUP -t TOPIC ...    consume as a member of a group
 *
 * Run it without arguments for all options. It uses nothing but rdkafka.h, so that the same binary
 * can measure any library of that interface.
 *
 * Exit status: 0 if nothing failed, 1 if something did.
 */

#define _POSIX_C_SOURCE 200809L

#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <rdkafka.h>

/* Every so many messages the producer serves callbacks and looks at the clock. */
#define POLL_EVERY 100
/* More failures than these are counted but not printed. */
#define MAX_PRINTED_FAILURES 10
/* Room for a sequence number and ": ". */
#define SEQ_SIZE 23
/* Room for "LATENCY:", a time and a zero. */
#define LATENCY_SIZE 32

/* ---- options ------------------------------------------------------------ */

static struct {
        char mode; /* P, C or G */
        rd_kafka_topic_partition_list_t *topics;
        int32_t *partitions;
        size_t partition_cnt;
        int msg_size;
        const char *key;
        rd_kafka_headers_t *headers;
        bool read_headers;
        int64_t msg_cnt; /* -1: until stopped */
        const char *pattern;
        bool with_seq;
        uint64_t first_seq;
        const char *compression;
        int64_t offset;
        int batch_size;
        bool dump_conf;
        bool give_payload; /* -D */
        int display_ms;
        double rate; /* messages per second; 0: no limit */
        bool latency;
        bool no_reports;
        bool report_offsets;
        bool exit_at_end;
        int verbosity;
} opt = {.mode = 'C', .msg_size = -1, .msg_cnt = -1, .pattern = "performance test message ",
         .compression = "no", .offset = RD_KAFKA_OFFSET_BEGINNING, .display_ms = 1000,
         .verbosity = 1};

/* ---- counters ----------------------------------------------------------- */

static struct {
        uint64_t msgs, bytes;   /* handed to the library, or received from it */
        uint64_t delivered, delivered_bytes;
        uint64_t failed;        /* delivery reports or messages with an error */
        uint64_t refused;       /* produce calls that found the queue full */
        int64_t started_us, ended_us, shown_us;
        uint64_t latency_cnt;
        int64_t latency_sum, latency_last, latency_lo, latency_hi;
        uint64_t seq_disorder, seq_twice;
        uint64_t headers;
        size_t at_end;          /* partitions whose end was reached */
} cnt;

static volatile sig_atomic_t run = 1;
static volatile sig_atomic_t give_up;
static volatile sig_atomic_t want_dump;

/* The first signal ends the run in order, the second one does not wait for deliveries. */
static void on_sigint(int sig) {
        (void)sig;
        if (!run)
                give_up = 1;
        run = 0;
}

static void on_sigusr1(int sig) {
        (void)sig;
        want_dump = 1;
}

static int64_t clock_us(clockid_t id) {
        struct timespec ts;
        clock_gettime(id, &ts);
        return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

static int64_t mono_us(void) {
        return clock_us(CLOCK_MONOTONIC);
}

static void die(const char *fmt, ...) {
        va_list ap;
        va_start(ap, fmt);
        fputs("% ", stderr);
        vfprintf(stderr, fmt, ap);
        fputc('\n', stderr);
        va_end(ap);
        exit(1);
}

static void *must(void *allocated) {
        if (!allocated)
                die("Out of memory");
        return allocated;
}

/* ---- output ------------------------------------------------------------- */

static void print_latency(void) {
        if (cnt.latency_cnt)
                printf(", latency curr/avg/lo/hi %.2f/%.2f/%.2f/%.2f ms",
                       (double)cnt.latency_last / 1000.0,
                       (double)cnt.latency_sum / (double)cnt.latency_cnt / 1000.0,
                       (double)cnt.latency_lo / 1000.0, (double)cnt.latency_hi / 1000.0);
}

static int64_t elapsed_us(void) {
        int64_t end = cnt.ended_us ? cnt.ended_us : mono_us();
        return cnt.started_us && end > cnt.started_us ? end - cnt.started_us : 1;
}

/* The line that people know, and that programs look for. */
static void print_summary(void) {
        int64_t us = elapsed_us();
        bool producer = opt.mode == 'P';
        uint64_t msgs = producer && !opt.no_reports ? cnt.delivered : cnt.msgs;
        uint64_t bytes = producer && !opt.no_reports ? cnt.delivered_bytes : cnt.bytes;

        printf("%% %" PRIu64 " messages and %" PRIu64 " bytes %s in %" PRId64 " ms: %" PRIu64
               " msgs/s and %.2f MB/s, %" PRIu64 " failed",
               cnt.msgs, cnt.bytes, producer ? "produced" : "consumed", us / 1000,
               (uint64_t)((double)msgs * 1e6 / (double)us), (double)bytes / (double)us, cnt.failed);
        if (producer)
                printf(", %s compression", opt.compression);
        print_latency();
        putchar('\n');
}

/* One line every display interval. */
static void print_progress(rd_kafka_t *rk) {
        int64_t now = mono_us(), us;

        if (want_dump) {
                want_dump = 0;
                rd_kafka_dump(stdout, rk);
        }
        if (opt.verbosity < 1 || now - cnt.shown_us < (int64_t)opt.display_ms * 1000)
                return;
        cnt.shown_us = now;
        us = elapsed_us();
        if (opt.mode == 'P')
                printf("%% %" PRIu64 " messages produced (%" PRIu64 " bytes), %" PRIu64
                       " delivered (%" PRIu64 " failed) in %" PRId64 "ms: %" PRIu64
                       " msgs/s and %.2f MB/s, %" PRIu64 " produce failures, %d in queue, %s "
                       "compression",
                       cnt.msgs, cnt.bytes, cnt.delivered, cnt.failed, us / 1000,
                       (uint64_t)((double)cnt.delivered * 1e6 / (double)us),
                       (double)cnt.delivered_bytes / (double)us, cnt.refused, rd_kafka_outq_len(rk),
                       opt.compression);
        else
                printf("%% %" PRIu64 " messages (%" PRIu64 " bytes) consumed in %" PRId64
                       "ms: %" PRIu64 " msgs/s (%.2f MB/s)",
                       cnt.msgs, cnt.bytes, us / 1000,
                       (uint64_t)((double)cnt.msgs * 1e6 / (double)us),
                       (double)cnt.bytes / (double)us);
        print_latency();
        putchar('\n');
        fflush(stdout);
}

static void count_latency(int64_t us) {
        if (us < 0)
                return;
        if (!cnt.latency_cnt++ || us < cnt.latency_lo)
                cnt.latency_lo = us;
        if (us > cnt.latency_hi)
                cnt.latency_hi = us;
        cnt.latency_sum += us;
        cnt.latency_last = us;
}

/* ---- callbacks ---------------------------------------------------------- */

static void error_cb(rd_kafka_t *rk, int err, const char *reason, void *opaque) {
        char fatal[512];
        (void)opaque;
        if (err == RD_KAFKA_RESP_ERR__FATAL) {
                err = rd_kafka_fatal_error(rk, fatal, sizeof(fatal));
                fprintf(stderr, "%% FATAL: %s: %s\n", rd_kafka_err2name((rd_kafka_resp_err_t)err),
                        fatal);
                run = 0;
                give_up = 1;
                return;
        }
        fprintf(stderr, "%% ERROR: %s: %s: %s\n", rd_kafka_name(rk),
                rd_kafka_err2str((rd_kafka_resp_err_t)err), reason);
}

static void
throttle_cb(rd_kafka_t *rk, const char *broker, int32_t id, int throttle_ms, void *opaque) {
        (void)rk;
        (void)opaque;
        if (opt.verbosity > 0)
                printf("%% Throttled by %s (%" PRId32 ") for %d ms\n", broker, id, throttle_ms);
}

static int stats_cb(rd_kafka_t *rk, char *json, size_t len, void *opaque) {
        (void)rk;
        (void)opaque;
        fwrite(json, 1, len, stdout);
        putchar('\n');
        return 0;
}

/* Highest offset that was acknowledged, for each partition. */
static int64_t *acked_offsets;
static int32_t acked_cnt;

static void note_offset(int32_t partition, int64_t offset) {
        if (partition < 0)
                return;
        if (partition >= acked_cnt) {
                acked_offsets =
                    must(realloc(acked_offsets, sizeof(*acked_offsets) * ((size_t)partition + 1)));
                while (acked_cnt <= partition)
                        acked_offsets[acked_cnt++] = -1;
        }
        if (offset > acked_offsets[partition])
                acked_offsets[partition] = offset;
}

static void dr_msg_cb(rd_kafka_t *rk, const rd_kafka_message_t *m, void *opaque) {
        (void)rk;
        (void)opaque;
        if (m->err) {
                const char *words = rd_kafka_message_produce_errstr(m);
                if (++cnt.failed <= MAX_PRINTED_FAILURES)
                        fprintf(stderr, "%% Message delivery failed: %s: %s [%" PRId32 "]: %s\n",
                                rd_kafka_err2name(m->err), rd_kafka_topic_name(m->rkt),
                                m->partition, words ? words : rd_kafka_err2str(m->err));
        } else {
                cnt.delivered++;
                cnt.delivered_bytes += m->len;
                if (opt.latency)
                        count_latency(rd_kafka_message_latency(m));
                if (opt.report_offsets)
                        note_offset(m->partition, m->offset);
        }
        if (opt.verbosity > 2)
                printf("%% %s [%" PRId32 "] offset %" PRId64 ": %s\n", rd_kafka_topic_name(m->rkt),
                       m->partition, m->offset, rd_kafka_err2name(m->err));
        if (opt.msg_cnt != -1 && cnt.delivered + cnt.failed == (uint64_t)opt.msg_cnt)
                cnt.ended_us = mono_us();
}

/* ---- producing ---------------------------------------------------------- */

static char *make_payload(void) {
        size_t size, pattern_len = strlen(opt.pattern), i;
        char *buf;

        if (opt.msg_size < 0)
                opt.msg_size = (int)pattern_len;
        if (opt.with_seq && opt.msg_size < SEQ_SIZE)
                opt.msg_size = SEQ_SIZE;
        if (opt.latency && opt.msg_size < LATENCY_SIZE)
                opt.msg_size = LATENCY_SIZE;
        size = (size_t)opt.msg_size;
        buf = must(malloc(size ? size : 1));
        for (i = 0; i < size; i++)
                buf[i] = pattern_len ? opt.pattern[i % pattern_len] : ' ';
        return buf;
}

/* Writes what differs from message to message to the start of the payload. */
static void stamp_payload(char *buf, uint64_t seq) {
        char stamp[LATENCY_SIZE];
        int len = opt.latency ? snprintf(stamp, sizeof(stamp), "LATENCY:%" PRId64,
                                         clock_us(CLOCK_REALTIME))
                              : snprintf(stamp, sizeof(stamp), "%" PRIu64 ": ", seq);
        /* A latency stamp ends with its zero, so that digits of the pattern do not lengthen it. */
        memcpy(buf, stamp, (size_t)len + (opt.latency ? 1 : 0));
}

static rd_kafka_resp_err_t
produce_one(rd_kafka_t *rk, rd_kafka_topic_t *rkt, int32_t partition, char *buf, int flags) {
        size_t key_len = opt.key ? strlen(opt.key) : 0;
        char *payload = buf;
        rd_kafka_resp_err_t err = RD_KAFKA_RESP_ERR_NO_ERROR;

        if (flags & RD_KAFKA_MSG_F_FREE) {
                payload = must(malloc((size_t)opt.msg_size + 1));
                memcpy(payload, buf, (size_t)opt.msg_size);
        }
        if (opt.headers) {
                rd_kafka_headers_t *headers = rd_kafka_headers_copy(opt.headers);
                err = rd_kafka_producev(rk, RD_KAFKA_V_RKT(rkt), RD_KAFKA_V_PARTITION(partition),
                                        RD_KAFKA_V_MSGFLAGS(flags),
                                        RD_KAFKA_V_VALUE(payload, (size_t)opt.msg_size),
                                        RD_KAFKA_V_KEY(opt.key, key_len),
                                        RD_KAFKA_V_HEADERS(headers), RD_KAFKA_V_END);
                if (err)
                        rd_kafka_headers_destroy(headers);
        } else if (rd_kafka_produce(rkt, partition, flags, payload, (size_t)opt.msg_size, opt.key,
                                    key_len, NULL) == -1)
                err = rd_kafka_last_error();
        if (err && payload != buf)
                free(payload);
        return err;
}

/* Serves callbacks until the rate allows another message. */
static void keep_rate(rd_kafka_t *rk) {
        while (run && opt.rate > 0) {
                double due_us = (double)cnt.msgs * 1e6 / opt.rate;
                double early_us = due_us - (double)(mono_us() - cnt.started_us);
                if (early_us <= 0)
                        break;
                if (early_us >= 1000)
                        rd_kafka_poll(rk, (int)(early_us / 1000));
                else {
                        struct timespec ts = {0, (long)(early_us * 1000)};
                        nanosleep(&ts, NULL);
                }
                print_progress(rk);
        }
}

static void wait_for_deliveries(rd_kafka_t *rk) {
        if (opt.verbosity > 1)
                printf("%% All messages produced, now waiting for %d deliveries\n",
                       rd_kafka_outq_len(rk));
        while (!give_up && rd_kafka_flush(rk, 100) == RD_KAFKA_RESP_ERR__TIMED_OUT)
                print_progress(rk);
        if (!cnt.ended_us)
                cnt.ended_us = mono_us();
}

static void run_producer(rd_kafka_t *rk) {
        rd_kafka_topic_t *rkt = rd_kafka_topic_new(rk, opt.topics->elems[0].topic, NULL);
        int32_t partition = opt.partition_cnt ? opt.partitions[0] : RD_KAFKA_PARTITION_UA;
        bool stamped = opt.with_seq || opt.latency;
        /* A payload that never changes is lent to the library and not copied. */
        int flags = opt.give_payload ? RD_KAFKA_MSG_F_FREE : stamped ? RD_KAFKA_MSG_F_COPY : 0;
        uint64_t seq = opt.first_seq;
        char *buf = make_payload();
        int outq;

        if (!rkt)
                die("Failed to create topic handle: %s", rd_kafka_err2str(rd_kafka_last_error()));
        if (opt.verbosity > 0) {
                if (opt.msg_cnt == -1)
                        printf("%% Sending messages of size %d bytes\n", opt.msg_size);
                else
                        printf("%% Sending %" PRId64 " messages of size %d bytes\n", opt.msg_cnt,
                               opt.msg_size);
        }

        cnt.started_us = mono_us();
        while (run && (opt.msg_cnt == -1 || cnt.msgs < (uint64_t)opt.msg_cnt)) {
                rd_kafka_resp_err_t err;

                if (stamped)
                        stamp_payload(buf, seq);
                err = produce_one(rk, rkt, partition, buf, flags);
                if (err == RD_KAFKA_RESP_ERR__QUEUE_FULL) {
                        cnt.refused++;
                        rd_kafka_poll(rk, 10); /* delivery reports make room */
                        print_progress(rk);
                        continue;
                }
                if (err) {
                        fprintf(stderr, "%% Produce failed: %s\n", rd_kafka_err2str(err));
                        cnt.failed++;
                        break;
                }
                seq++;
                cnt.bytes += (uint64_t)opt.msg_size;
                if (++cnt.msgs % POLL_EVERY == 0) {
                        rd_kafka_poll(rk, 0);
                        print_progress(rk);
                }
                keep_rate(rk);
        }
        wait_for_deliveries(rk);

        outq = rd_kafka_outq_len(rk);
        if (outq > 0) {
                fprintf(stderr, "%% %d messages were not delivered\n", outq);
                rd_kafka_purge(rk, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
                rd_kafka_flush(rk, 5000);
        }
        if (opt.report_offsets) {
                int32_t p;
                for (p = 0; p < acked_cnt; p++)
                        if (acked_offsets[p] >= 0)
                                printf("%% Last offset of partition %" PRId32 ": %" PRId64 "\n", p,
                                       acked_offsets[p]);
        }
        rd_kafka_topic_destroy(rkt);
        free(buf);
}

/* ---- consuming ---------------------------------------------------------- */

/* With -S: every number at most once, and rising within a partition. */
static uint64_t *last_seq; /* number + 1, for each partition */
static int32_t last_seq_cnt;
static unsigned char *seen; /* with -c: one bit for each number */

static void check_seq(const rd_kafka_message_t *m) {
        char text[SEQ_SIZE], *end;
        size_t len = m->len < sizeof(text) - 1 ? m->len : sizeof(text) - 1;
        uint64_t seq, index;

        if (m->payload)
                memcpy(text, m->payload, len);
        text[m->payload ? len : 0] = '\0';
        seq = strtoull(text, &end, 10);
        if (end == text || *end != ':') {
                cnt.failed++;
                return;
        }
        if (m->partition >= last_seq_cnt) {
                last_seq = must(realloc(last_seq, sizeof(*last_seq) * ((size_t)m->partition + 1)));
                while (last_seq_cnt <= m->partition)
                        last_seq[last_seq_cnt++] = 0;
        }
        if (seq + 1 <= last_seq[m->partition])
                cnt.seq_disorder++;
        last_seq[m->partition] = seq + 1;
        index = seq - opt.first_seq;
        if (seen && seq >= opt.first_seq && index < (uint64_t)opt.msg_cnt) {
                if (seen[index / 8] & 1u << index % 8)
                        cnt.seq_twice++;
                seen[index / 8] |= (unsigned char)(1u << index % 8);
        }
}

static void report_seq(void) {
        uint64_t missing = 0;
        int64_t i;

        for (i = 0; seen && i < opt.msg_cnt; i++)
                missing += !(seen[i / 8] & 1u << i % 8);
        printf("%% Sequence: %" PRIu64 " out of order, %" PRIu64 " twice, %" PRIu64 " missing\n",
               cnt.seq_disorder, cnt.seq_twice, missing);
        cnt.failed += cnt.seq_disorder + cnt.seq_twice + missing;
}

static void read_latency(const rd_kafka_message_t *m) {
        char text[LATENCY_SIZE];
        int64_t sent;
        size_t len = m->len < sizeof(text) - 1 ? m->len : sizeof(text) - 1;

        if (!m->payload)
                return;
        memcpy(text, m->payload, len);
        text[len] = '\0';
        if (sscanf(text, "LATENCY:%" SCNd64, &sent) == 1)
                count_latency(clock_us(CLOCK_REALTIME) - sent);
}

static void read_headers(const rd_kafka_message_t *m) {
        rd_kafka_headers_t *headers;
        const char *name;
        const void *value;
        size_t size, i = 0;

        if (rd_kafka_message_headers(m, &headers))
                return;
        while (!rd_kafka_header_get_all(headers, i++, &name, &value, &size))
                cnt.headers++;
}

static void consume_error(const rd_kafka_message_t *m) {
        if (m->err == RD_KAFKA_RESP_ERR__PARTITION_EOF) {
                cnt.at_end++;
                if (opt.verbosity > 1)
                        printf("%% Reached end of %s [%" PRId32 "] at offset %" PRId64 "\n",
                               rd_kafka_topic_name(m->rkt), m->partition, m->offset);
                return;
        }
        if (++cnt.failed <= MAX_PRINTED_FAILURES)
                fprintf(stderr, "%% Consume error: %s: %s\n", rd_kafka_err2name(m->err),
                        rd_kafka_message_errstr(m));
        if (m->err == RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION ||
            m->err == RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC)
                run = 0;
}

static void consume_one(rd_kafka_message_t *m, void *opaque) {
        rd_kafka_t *rk = opaque;

        if (m->err) {
                consume_error(m);
                return;
        }
        if (opt.msg_cnt != -1 && cnt.msgs >= (uint64_t)opt.msg_cnt)
                return; /* what a batch holds beyond the number asked for */
        if (!cnt.started_us)
                cnt.started_us = mono_us();
        cnt.msgs++;
        cnt.bytes += m->len;
        if (opt.with_seq)
                check_seq(m);
        if (opt.latency)
                read_latency(m);
        if (opt.read_headers)
                read_headers(m);
        if (opt.verbosity > 2)
                printf("@%" PRId64 ": %.*s\n", m->offset, (int)m->len, (const char *)m->payload);
        if (opt.msg_cnt != -1 && cnt.msgs == (uint64_t)opt.msg_cnt) {
                cnt.ended_us = mono_us();
                run = 0;
                rd_kafka_yield(rk); /* a callback run ends here */
        }
}

/* Consumes from a queue (one of several partitions, or of a group) or a single partition. */
static void consume_some(rd_kafka_t *rk, rd_kafka_queue_t *queue, rd_kafka_topic_t *rkt, int32_t p) {
        ssize_t n, i;
        rd_kafka_message_t **batch;

        if (opt.batch_size <= 0) {
                int r = queue ? rd_kafka_consume_callback_queue(queue, 100, consume_one, rk)
                              : rd_kafka_consume_callback(rkt, p, 100, consume_one, rk);
                if (r == -1 && rd_kafka_last_error() != RD_KAFKA_RESP_ERR__TIMED_OUT)
                        die("Consume failed: %s", rd_kafka_err2str(rd_kafka_last_error()));
                return;
        }
        batch = must(malloc(sizeof(*batch) * (size_t)opt.batch_size));
        n = queue ? rd_kafka_consume_batch_queue(queue, 100, batch, (size_t)opt.batch_size)
                  : rd_kafka_consume_batch(rkt, p, 100, batch, (size_t)opt.batch_size);
        if (n == -1)
                die("Consume failed: %s", rd_kafka_err2str(rd_kafka_last_error()));
        for (i = 0; i < n; i++) {
                consume_one(batch[i], rk);
                rd_kafka_message_destroy(batch[i]);
        }
        free(batch);
}

static void all_partitions(rd_kafka_t *rk, rd_kafka_topic_t *rkt) {
        const struct rd_kafka_metadata *md;
        rd_kafka_resp_err_t err = rd_kafka_metadata(rk, 0, rkt, &md, 10000);
        int i;

        if (!err && md->topic_cnt == 1)
                err = md->topics[0].err;
        if (err)
                die("Failed to find the partitions of %s: %s", rd_kafka_topic_name(rkt),
                    rd_kafka_err2str(err));
        opt.partition_cnt = (size_t)md->topics[0].partition_cnt;
        opt.partitions = must(malloc(sizeof(*opt.partitions) * (opt.partition_cnt + 1)));
        for (i = 0; i < md->topics[0].partition_cnt; i++)
                opt.partitions[i] = md->topics[0].partitions[i].id;
        rd_kafka_metadata_destroy(md);
}

static void run_simple_consumer(rd_kafka_t *rk) {
        rd_kafka_topic_t *rkt = rd_kafka_topic_new(rk, opt.topics->elems[0].topic, NULL);
        rd_kafka_queue_t *queue = NULL;
        size_t i;

        if (!rkt)
                die("Failed to create topic handle: %s", rd_kafka_err2str(rd_kafka_last_error()));
        if (!opt.partition_cnt)
                all_partitions(rk, rkt);
        if (opt.partition_cnt != 1)
                queue = rd_kafka_queue_new(rk);
        for (i = 0; i < opt.partition_cnt; i++) {
                int r = queue ? rd_kafka_consume_start_queue(rkt, opt.partitions[i], opt.offset,
                                                             queue)
                              : rd_kafka_consume_start(rkt, opt.partitions[i], opt.offset);
                if (r == -1)
                        die("Failed to start partition %" PRId32 ": %s", opt.partitions[i],
                            rd_kafka_err2str(rd_kafka_last_error()));
        }
        while (run && !(opt.exit_at_end && cnt.at_end >= opt.partition_cnt)) {
                consume_some(rk, queue, rkt, opt.partitions[0]);
                rd_kafka_poll(rk, 0);
                print_progress(rk);
        }
        if (!cnt.ended_us)
                cnt.ended_us = mono_us();
        for (i = 0; i < opt.partition_cnt; i++)
                rd_kafka_consume_stop(rkt, opt.partitions[i]);
        if (queue)
                rd_kafka_queue_destroy(queue);
        rd_kafka_topic_destroy(rkt);
}

static bool at_end_of_assignment(rd_kafka_t *rk) {
        rd_kafka_topic_partition_list_t *assigned;
        bool end = false;

        if (opt.exit_at_end && cnt.at_end && !rd_kafka_assignment(rk, &assigned)) {
                end = assigned->cnt > 0 && cnt.at_end >= (size_t)assigned->cnt;
                rd_kafka_topic_partition_list_destroy(assigned);
        }
        return end;
}

static void run_group_consumer(rd_kafka_t *rk) {
        rd_kafka_resp_err_t err;
        rd_kafka_queue_t *queue;

        rd_kafka_poll_set_consumer(rk);
        err = rd_kafka_subscribe(rk, opt.topics);
        if (err)
                die("Subscribe failed: %s", rd_kafka_err2str(err));
        queue = rd_kafka_queue_get_consumer(rk);
        while (run && !at_end_of_assignment(rk)) {
                if (opt.batch_size > 0)
                        consume_some(rk, queue, NULL, 0);
                else {
                        rd_kafka_message_t *m = rd_kafka_consumer_poll(rk, 100);
                        if (m) {
                                consume_one(m, rk);
                                rd_kafka_message_destroy(m);
                                if (cnt.msgs % POLL_EVERY)
                                        continue; /* look at the clock now and then only */
                        }
                }
                print_progress(rk);
        }
        if (!cnt.ended_us)
                cnt.ended_us = mono_us();
        rd_kafka_queue_destroy(queue);
        err = rd_kafka_consumer_close(rk);
        if (err)
                fprintf(stderr, "%% Close failed: %s\n", rd_kafka_err2str(err));
}

/* ---- command line ------------------------------------------------------- */

static void usage(const char *program) {
        fprintf(stderr,
                "Usage: %s -P|-C|-G <group> -t <topic> [options]\n"
                "\n"
                "Library version %s (0x%08x)\n"
                "\n"
                " What to do:\n"
                "  -P              Produce\n"
                "  -C              Consume partitions, without a group\n"
                "  -G <group>      Consume as a member of a group\n"
                "  -t <topic>      Topic; with -G more than one may be given\n"
                "  -p <num>        Partition: -P one (default: the partitioner chooses), -C one or\n"
                "                  more (default: all)\n"
                "  -b <brokers>    host[:port],... (default: localhost:9092)\n"
                "  -c <cnt>        Stop after this many messages\n"
                "  -e              Stop at the end of all partitions (consumer)\n"
                " Messages:\n"
                "  -s <size>       Size in bytes (default: that of the pattern)\n"
                "  -m <pattern>    Text to fill messages with\n"
                "  -k <key>        Key\n"
                "  -H <name[=val]> Header; may be given more than once\n"
                "  -H parse        Look at the headers (consumer)\n"
                "  -S <first>      Start messages with a number, from this one on; with -C and -G\n"
                "                  check the numbers\n"
                " Producer:\n"
                "  -a <acks>       Acknowledgements: 0, 1, -1 (all; so is >1)\n"
                "  -z <codec>      Compression: none, gzip, snappy, lz4, zstd\n"
                "  -r <rate>       At most this many messages per second\n"
                "  -D              Give the library a copy of the payload instead of lending it\n"
                "  -O              Print the last offset of each partition\n"
                "  -N              No delivery reports\n"
                " Consumer:\n"
                "  -o <offset>     beginning, end, stored, a number, or -number from the end\n"
                "  -B <size>       Consume batches of this many messages; otherwise one by one, by\n"
                "                  callback with -C\n"
                " Output:\n"
                "  -i <ms>         Interval of progress lines (default: 1000)\n"
                "  -l              Latency: producing, until the acknowledgement; consuming, since a\n"
                "                  producer with -l sent the message (clocks must agree)\n"
                "  -T <ms>         Print the library's statistics at this interval\n"
                "  -q, -v          Less, or more, output; may be given more than once\n"
                " Library:\n"
                "  -X <prop=val>   Set a configuration property\n"
                "  -X list         Print all properties\n"
                "  -X dump         Print the configuration\n"
                "  -d <contexts>   Debug: %s\n",
                program, rd_kafka_version_str(), (unsigned)rd_kafka_version(),
                rd_kafka_get_debug_contexts());
        exit(1);
}

static void set(rd_kafka_conf_t *conf, const char *name, const char *value) {
        char errstr[512];
        if (rd_kafka_conf_set(conf, name, value, errstr, sizeof(errstr)) != RD_KAFKA_CONF_OK)
                die("%s", errstr);
}

static int64_t number(const char *text, int64_t min, int64_t max, const char *what) {
        char *end;
        long long n = strtoll(text, &end, 10);
        if (end == text || *end || n < min || n > max)
                die("Expected %s from %" PRId64 " to %" PRId64 ", not %s", what, min, max, text);
        return n;
}

static int64_t parse_offset(rd_kafka_conf_t *conf, const char *text) {
        int64_t n;
        if (!strcmp(text, "stored"))
                return RD_KAFKA_OFFSET_STORED;
        if (!strcmp(text, "beginning") || !strcmp(text, "end")) {
                bool end = *text == 'e';
                /* A group starts here only if it has no committed offset. */
                set(conf, "auto.offset.reset", end ? "latest" : "earliest");
                return end ? RD_KAFKA_OFFSET_END : RD_KAFKA_OFFSET_BEGINNING;
        }
        n = number(text, INT64_MIN / 2, INT64_MAX, "an offset");
        return n < 0 ? RD_KAFKA_OFFSET_TAIL(-n) : n;
}

static void add_header(const char *text) {
        const char *eq = strchr(text, '=');
        rd_kafka_resp_err_t err;

        if (!strcmp(text, "parse")) {
                opt.read_headers = true;
                return;
        }
        if (!opt.headers)
                opt.headers = rd_kafka_headers_new(8);
        err = rd_kafka_header_add(opt.headers, text, eq ? eq - text : -1, eq ? eq + 1 : NULL, -1);
        if (err)
                die("Failed to add header %s: %s", text, rd_kafka_err2str(err));
}

static void set_property(rd_kafka_conf_t *conf, char *text) {
        char *eq = strchr(text, '=');

        if (!strcmp(text, "list") || !strcmp(text, "help")) {
                rd_kafka_conf_properties_show(stdout);
                exit(0);
        }
        if (!strcmp(text, "dump")) {
                opt.dump_conf = true;
                return;
        }
        if (!eq)
                die("Expected -X property=value, not %s", text);
        *eq = '\0';
        set(conf, text, eq + 1);
}

static void add_partition(const char *text) {
        opt.partitions =
            must(realloc(opt.partitions, sizeof(*opt.partitions) * (opt.partition_cnt + 1)));
        opt.partitions[opt.partition_cnt++] = (int32_t)number(text, 0, INT32_MAX, "a partition");
}

static void parse_option(rd_kafka_conf_t *conf, int c, const char *program) {
        switch (c) {
        case 'G':
                set(conf, "group.id", optarg);
                opt.mode = 'G';
                break;
        case 'P':
        case 'C':
                opt.mode = (char)c;
                break;
        case 't':
                rd_kafka_topic_partition_list_add(opt.topics, optarg, RD_KAFKA_PARTITION_UA);
                break;
        case 'p': add_partition(optarg); break;
        case 'b': set(conf, "bootstrap.servers", optarg); break;
        case 's': opt.msg_size = (int)number(optarg, 0, INT32_MAX, "a size"); break;
        case 'k': opt.key = optarg; break;
        case 'H': add_header(optarg); break;
        case 'c': opt.msg_cnt = number(optarg, 0, INT64_MAX, "a number of messages"); break;
        case 'm': opt.pattern = optarg; break;
        case 'S':
                opt.first_seq = (uint64_t)number(optarg, 0, INT64_MAX, "a sequence number");
                opt.with_seq = true;
                break;
        /* "2 or more copies" is of Kafka's first days: a broker since 0.9
         * refuses it, and what gives at least as much is all of them. */
        case 'a': set(conf, "acks", atoi(optarg) > 1 ? "all" : optarg); break;
        case 'z':
                set(conf, "compression.codec", optarg);
                opt.compression = strcmp(optarg, "none") ? optarg : "no";
                break;
        case 'o': opt.offset = parse_offset(conf, optarg); break;
        case 'B': opt.batch_size = (int)number(optarg, 1, 10000000, "a batch size"); break;
        case 'X': set_property(conf, optarg); break;
        case 'd': set(conf, "debug", optarg); break;
        case 'T':
                set(conf, "statistics.interval.ms", optarg);
                rd_kafka_conf_set_stats_cb(conf, stats_cb);
                break;
        case 'D': opt.give_payload = true; break;
        case 'i': opt.display_ms = (int)number(optarg, 1, 86400000, "milliseconds"); break;
        case 'r':
                opt.rate = strtod(optarg, NULL);
                if (!(opt.rate > 0))
                        die("Expected a rate above 0, not %s", optarg);
                break;
        case 'l': opt.latency = true; break;
        case 'N': opt.no_reports = true; break;
        case 'O': opt.report_offsets = true; break;
        case 'e': opt.exit_at_end = true; break;
        case 'q': opt.verbosity--; break;
        case 'v': opt.verbosity++; break;
        default: usage(program);
        }
}

static void dump_conf(rd_kafka_conf_t *conf) {
        rd_kafka_topic_conf_t *topic_conf = rd_kafka_conf_get_default_topic_conf(conf);
        const char **arr;
        size_t n, i;

        printf("# Global configuration\n");
        arr = rd_kafka_conf_dump(conf, &n);
        for (i = 0; i + 1 < n; i += 2)
                printf("%s = %s\n", arr[i], arr[i + 1]);
        rd_kafka_conf_dump_free(arr, n);
        if (!topic_conf)
                return;
        printf("# Topic configuration\n");
        arr = rd_kafka_topic_conf_dump(topic_conf, &n);
        for (i = 0; i + 1 < n; i += 2)
                printf("%s = %s\n", arr[i], arr[i + 1]);
        rd_kafka_conf_dump_free(arr, n);
}

#define OPTIONS "PCG:t:p:b:s:k:H:c:m:S:a:z:o:B:X:d:T:Di:r:lNOeqv"

/* Our own defaults come first, so that the options can override them; which they are depends on
 * the mode, so that is looked for before all else. */
static void set_defaults(rd_kafka_conf_t *conf, int argc, char **argv) {
        int c;

        opterr = 0;
        while ((c = getopt(argc, argv, OPTIONS)) != -1)
                if (c == 'P' || c == 'C' || c == 'G')
                        opt.mode = (char)c;
        optind = 1;
        opterr = 1;
        set(conf, "bootstrap.servers", "localhost:9092");
        if (opt.mode == 'P')
                return;
        set(conf, "auto.offset.reset", "earliest");
        set(conf, "enable.partition.eof", "true");
        /* Prefetch generously: the local queue, not the way to the broker, shall be the limit. */
        set(conf, "queued.min.messages", "1000000");
}

static rd_kafka_conf_t *configure(int argc, char **argv) {
        rd_kafka_conf_t *conf = rd_kafka_conf_new();
        int c;

        rd_kafka_conf_set_error_cb(conf, error_cb);
        rd_kafka_conf_set_throttle_cb(conf, throttle_cb);
        set_defaults(conf, argc, argv);
        opt.topics = rd_kafka_topic_partition_list_new(1);
        while ((c = getopt(argc, argv, OPTIONS)) != -1)
                parse_option(conf, c, argv[0]);
        if (opt.dump_conf) {
                dump_conf(conf);
                exit(0);
        }
        if (optind != argc || !opt.topics->cnt || (opt.mode != 'G' && opt.topics->cnt != 1) ||
            (opt.mode == 'P' && opt.partition_cnt > 1))
                usage(argv[0]);
        if (opt.mode == 'P' && !opt.no_reports)
                rd_kafka_conf_set_dr_msg_cb(conf, dr_msg_cb);
        if (opt.mode == 'P' && opt.with_seq && opt.latency)
                die("-S and -l cannot both be at the start of a message");
        if (opt.with_seq && opt.mode != 'P' && opt.msg_cnt > 0)
                seen = must(calloc((size_t)opt.msg_cnt / 8 + 1, 1));
        return conf;
}

int main(int argc, char **argv) {
        struct sigaction sa;
        char errstr[512];
        rd_kafka_conf_t *conf = configure(argc, argv);
        rd_kafka_t *rk;

        cnt.shown_us = mono_us();
        memset(&sa, 0, sizeof(sa));
        sa.sa_handler = on_sigint;
        sigaction(SIGINT, &sa, NULL);
        sigaction(SIGTERM, &sa, NULL);
        sa.sa_handler = on_sigusr1;
        sigaction(SIGUSR1, &sa, NULL);

        rk = rd_kafka_new(opt.mode == 'P' ? RD_KAFKA_PRODUCER : RD_KAFKA_CONSUMER, conf, errstr,
                          sizeof(errstr));
        if (!rk)
                die("Failed to create the client: %s", errstr);
        if (opt.mode == 'P')
                run_producer(rk);
        else if (opt.mode == 'G')
                run_group_consumer(rk);
        else
                run_simple_consumer(rk);
        if (opt.with_seq && opt.mode != 'P')
                report_seq();
        if (opt.read_headers)
                printf("%% %" PRIu64 " headers\n", cnt.headers);
        print_summary();

        rd_kafka_destroy(rk);
        rd_kafka_topic_partition_list_destroy(opt.topics);
        if (opt.headers)
                rd_kafka_headers_destroy(opt.headers);
        free(opt.partitions);
        free(acked_offsets);
        free(last_seq);
        free(seen);
        return cnt.failed ? 1 : 0;
}
