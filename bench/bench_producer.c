/*
 * Produces messages in one of the ways that applications do, and prints the rate.
 *
 *     bench_producer -b BROKERS -t TOPIC [-c COUNT] [-s SIZE] [-f copy|lend|give]
 *                    [-n THREADS] [-k] [-w NS] [-0] [-1 | -N] [-T MS] [-X name=value]...
 *
 *   -f   ownership of the payload's memory: copied by the library (F_COPY), lent until
 *        the delivery report, or given away (F_FREE)
 *   -k   messages have keys, which choose their partitions
 *   -w   the application works so many nanoseconds for each message, in a loop that is
 *        calibrated first
 *   -0   does all but produce: the limit that the application itself sets
 *   -1   one message at a time: the next is produced when this one was delivered;
 *        prints how long that took
 *   -N   each message by a new client; prints how long it takes from the call of
 *        rd_kafka_new() to its delivery report
 *   -T   in transactions of so many milliseconds; transactional.id must be set
 *
 * Says the CPU time of the process from the first message to the last report.
 * Payloads are words of a fixed text and differ from message to message. The last
 * line is that of rdkafka_performance. Runs on any librdkafka.so.1.
 */

#define BENCH_NAME "bench_producer"
#include "bench.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

enum { TEXT_BYTES = 1 << 20, THREADS_MAX = 64 };

static rd_kafka_t *rk;
static rd_kafka_topic_t *rkt;
static char *text;
static size_t size = 100;
static long count = 1000000;
static int threads = 1, keyed, flags = RD_KAFKA_MSG_F_COPY, one_at_a_time, new_clients, transaction_ms, dry;
static long work_turns;
static atomic_long delivered, failed;

/* Words in an order that does not repeat soon, so that codecs have work and success. */
static void write_text(void) {
        static const char *words[] = {"offset", "partition", "leader", "epoch", "broker", "record", "batch", "segment",
                                      "follower", "quota", "header", "replica", "commit", "window", "stream", "table"};
        unsigned long long state = 88172645463325252ULL;
        size_t at = 0;

        text = malloc(TEXT_BYTES + 64);
        if (!text)
                die("memory", "none left");
        while (at < TEXT_BYTES) {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                at += (size_t)sprintf(text + at, "%s=%llu ", words[state & 15], (state >> 8) % 10000);
        }
}

static void on_delivery(rd_kafka_t *handle, const rd_kafka_message_t *message, void *opaque) {
        (void)handle;
        (void)opaque;
        if (message->err)
                atomic_fetch_add_explicit(&failed, 1, memory_order_relaxed);
        atomic_fetch_add_explicit(&delivered, 1, memory_order_relaxed);
}

/* A key of at most KEY_MAX bytes, and its length. Written by hand: with snprintf() the program itself would be a tenth of
 * what is measured. */
enum { KEY_MAX = 32 };

static size_t make_key(char *key, unsigned long number) {
        static const char prefix[] = "key-";
        char digits[KEY_MAX];
        size_t length = sizeof(prefix) - 1, n = 0;

        number = number * 2654435761UL % 100003;
        do
                digits[n++] = (char)('0' + number % 10);
        while ((number /= 10) > 0);
        memcpy(key, prefix, length);
        while (n > 0)
                key[length++] = digits[--n];
        return length;
}

/* The application's own work on a message. Its result is used, so that the compiler keeps it. */
static unsigned long long work(long turns) {
        unsigned long long state = 88172645463325252ULL;

        for (long i = 0; i < turns; i++) {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
        }
        return state;
}

/* Returns the number of turns that take so many nanoseconds: by the fastest of some runs, as others may be preempted. */
static long turns_of(double ns) {
        enum { TURNS = 100000, RUNS = 200 };
        double best = 1e9;

        for (int i = 0; i < RUNS; i++) {
                double begin = now_us();
                unsigned long long result = work(TURNS);
                double took = now_us() - begin;
                if (result != 0 && took < best)
                        best = took;
        }
        return (long)(ns / (best * 1e3) * TURNS);
}

static void produce(unsigned long number) {
        /* Steps of a prime leave neighbours unlike each other. */
        char *payload = text + number * 7919 % (TEXT_BYTES - size);
        char key[KEY_MAX];
        size_t key_len = keyed ? make_key(key, number) : 0;

        if (work_turns && work(work_turns) == 0)
                die("work", "a xorshift generator never returns 0");
        if (dry) {
                static _Thread_local volatile char sum;
                sum += *payload;
                return;
        }
        if (flags == RD_KAFKA_MSG_F_FREE) {
                char *own = malloc(size);
                if (!own)
                        die("memory", "none left");
                memcpy(own, payload, size);
                payload = own;
        }
        while (rd_kafka_produce(rkt, RD_KAFKA_PARTITION_UA, flags, payload, size, keyed ? key : NULL, key_len, NULL)) {
                rd_kafka_resp_err_t err = rd_kafka_last_error();
                if (err != RD_KAFKA_RESP_ERR__QUEUE_FULL)
                        die("produce", rd_kafka_err2str(err));
                rd_kafka_poll(rk, 1);
        }
}

/* The largest number of messages that the client held, which determines its memory. */
static atomic_int held_max;

static void look_at_queue(void) {
        int held = rd_kafka_outq_len(rk);

        if (held > atomic_load(&held_max))
                atomic_store(&held_max, held);
}

static void *produce_share(void *share) {
        long first = (long)share, n = 0;

        for (long i = first; i < count; i += threads) {
                produce((unsigned long)i);
                if (++n % 1000 == 0) {
                        look_at_queue();
                        rd_kafka_poll(rk, 0);
                }
        }
        return NULL;
}

/* Ends the program when a transaction's call fails: nothing disturbs it here. */
static void expect(const char *call, rd_kafka_error_t *error) {
        if (error)
                die(call, rd_kafka_error_string(error));
}

static void produce_in_transactions(void) {
        double commit_at = now_us() + transaction_ms * 1e3;

        expect("begin", rd_kafka_begin_transaction(rk));
        for (long i = 0; i < count; i++) {
                produce((unsigned long)i);
                if (i % 100 != 0)
                        continue;
                rd_kafka_poll(rk, 0);
                if (now_us() >= commit_at) {
                        look_at_queue();
                        expect("commit", rd_kafka_commit_transaction(rk, -1));
                        expect("begin", rd_kafka_begin_transaction(rk));
                        commit_at = now_us() + transaction_ms * 1e3;
                }
        }
        expect("commit", rd_kafka_commit_transaction(rk, -1));
}

static int by_size(const void *a, const void *b) {
        double x = *(const double *)a, y = *(const double *)b;
        return (x > y) - (x < y);
}

static double *times(void) {
        double *took = calloc((size_t)count, sizeof(*took));

        if (!took)
                die("memory", "none left");
        return took;
}

/* Prints and frees the times. */
static void report_times(double *took) {
        qsort(took, (size_t)count, sizeof(*took), by_size);
        printf("%% latency us p50 %.0f p99 %.0f max %.0f\n", took[count / 2], took[count * 99 / 100], took[count - 1]);
        free(took);
}

/* Produces the message of this number and waits for its delivery. */
static void produce_and_wait(long number) {
        produce((unsigned long)number);
        while (atomic_load(&delivered) <= number)
                rd_kafka_poll(rk, 1000);
}

static void produce_one_at_a_time(void) {
        double *took = times();

        for (long i = 0; i < count; i++) {
                double begin = now_us();
                produce_and_wait(i);
                took[i] = now_us() - begin;
        }
        report_times(took);
}

/* Statistics are emitted only with a callback: -X statistics.interval.ms=1000 measures their cost. */
static int on_stats(rd_kafka_t *handle, char *json, size_t len, void *opaque) {
        (void)handle;
        (void)json;
        (void)len;
        (void)opaque;
        return 0;
}

static void begin_client(rd_kafka_conf_t *conf, const char *topic) {
        char why[512];

        rk = rd_kafka_new(RD_KAFKA_PRODUCER, conf, why, sizeof(why));
        if (!rk)
                die("rd_kafka_new", why);
        rkt = rd_kafka_topic_new(rk, topic, NULL);
        if (!rkt)
                die("rd_kafka_topic_new", rd_kafka_err2str(rd_kafka_last_error()));
}

static void end_client(void) {
        rd_kafka_topic_destroy(rkt);
        rd_kafka_destroy(rk);
}

/* Ends each client but the last one. */
static void produce_with_new_clients(const rd_kafka_conf_t *conf, const char *topic) {
        double *took = times();

        for (long i = 0; i < count; i++) {
                rd_kafka_conf_t *own = rd_kafka_conf_dup(conf);
                if (i > 0)
                        end_client();
                double begin = now_us();
                begin_client(own, topic);
                produce_and_wait(i);
                took[i] = now_us() - begin;
        }
        report_times(took);
}

int main(int argc, char **argv) {
        rd_kafka_conf_t *conf = rd_kafka_conf_new();
        const char *topic = NULL;
        int option;

        while ((option = getopt(argc, argv, "b:t:c:s:f:n:kw:01NT:X:")) != -1) {
                switch (option) {
                case 'b': set(conf, "bootstrap.servers", optarg); break;
                case 't': topic = optarg; break;
                case 'c': count = atol(optarg); break;
                case 's': size = (size_t)atol(optarg); break;
                case 'n': threads = atoi(optarg); break;
                case 'k': keyed = 1; break;
                case 'w': work_turns = turns_of(atof(optarg)); break;
                case '0': dry = 1; break;
                case '1': one_at_a_time = 1; break;
                case 'N': new_clients = 1; break;
                case 'T': transaction_ms = atoi(optarg); break;
                case 'f':
                        flags = *optarg == 'l' ? 0 : *optarg == 'g' ? RD_KAFKA_MSG_F_FREE : RD_KAFKA_MSG_F_COPY;
                        break;
                case 'X': set_pair(conf, optarg); break;
                default: return 2;
                }
        }
        if (!topic || count < 1 || size < 1 || size > TEXT_BYTES / 2 || threads < 1 || threads > THREADS_MAX)
                die("usage", "-b BROKERS -t TOPIC [-c COUNT] [-s SIZE] [-f copy|lend|give] [-n THREADS] [-k] [-w NS] [-0] [-1 | -N] "
                             "[-T MS]");
        write_text();
        rd_kafka_conf_set_dr_msg_cb(conf, on_delivery);
        rd_kafka_conf_set_stats_cb(conf, on_stats);
        if (!new_clients)
                begin_client(conf, topic);
        if (transaction_ms)
                expect("init", rd_kafka_init_transactions(rk, -1));

        /* The cost of the start does not depend on the number of messages. */
        double begin = now_us(), cpu_begin = cpu_us();
        if (new_clients) {
                produce_with_new_clients(conf, topic);
                rd_kafka_conf_destroy(conf);
        } else if (one_at_a_time) {
                produce_one_at_a_time();
        } else if (transaction_ms) {
                produce_in_transactions();
        } else if (threads == 1) {
                produce_share((void *)0);
        } else {
                pthread_t all[THREADS_MAX];
                for (long i = 0; i < threads; i++)
                        pthread_create(&all[i], NULL, produce_share, (void *)i);
                for (int i = 0; i < threads; i++)
                        pthread_join(all[i], NULL);
        }
        while (!dry && atomic_load(&delivered) < count)
                rd_kafka_poll(rk, 100);
        double cpu = cpu_us() - cpu_begin, ms = (now_us() - begin) / 1000, rate = (double)count / ms * 1000;
        printf("%% cpu us %.0f\n", cpu);
        if (!one_at_a_time && !new_clients)
                printf("%% held at most %d messages\n", atomic_load(&held_max));
        printf("%% %ld messages and %zu bytes produced in %.0fms: %.0f msgs/s and %.2f MB/s, %ld failed\n", count,
               (size_t)count * size, ms, rate, rate * (double)size / 1e6, atomic_load(&failed));
        end_client();
        free(text);
        return atomic_load(&failed) != 0;
}
