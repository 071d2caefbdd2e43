/*
 * Consumes COUNT records as a share group, and prints the rate.
 *
 *     share_consumer -b BROKERS -t TOPIC -g GROUP [-n MEMBERS] [-e] [-c COUNT] [-w COUNT] [-j MS]
 *                    [-X name=value]...
 *
 *   -n   members of the group, each a share consumer in a thread of its own
 *   -e   explicit acknowledgement: rd_kafka_share_acknowledge() for each record
 *   -w   records before those that are measured; measuring also waits until each member has received records
 *   -j   milliseconds between subscribing and consuming, in which all members join and get partitions
 *
 * Each poll commits the acknowledgements of the records of the poll before. The CPU time is that of the process from the
 * first measured record to the last. The last line is that of rdkafka_performance. Runs on any librdkafka.so.1.
 */

#define BENCH_NAME "share_consumer"
#include "bench.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

enum { MEMBERS_MAX = 64, PROPERTIES_MAX = 32, POLL_MS = 100, IDLE_S = 60 };

static const char *brokers, *topic, *group;
static char *properties[PROPERTIES_MAX];
static int property_count, members = 1, is_explicit;
static long count = 500000, warm_up = 100000, join_ms;

/* Records of all members, and members that have received some. */
static atomic_long received, bytes_received;
static atomic_int active;
/* Records received at the begin of the measuring, -1 before it; and whether it has ended. */
static atomic_long measured_from = -1;
static atomic_int ended;
static atomic_long polls;

static double begin_us, begin_cpu_us, end_us, end_cpu_us;
static long begin_bytes, end_bytes, begin_polls, end_polls, measured;

static rd_kafka_share_t *consumer(void) {
        rd_kafka_conf_t *conf = rd_kafka_conf_new();
        char why[512];

        set(conf, "bootstrap.servers", brokers);
        set(conf, "group.id", group);
        set(conf, "log_level", "3");
        set(conf, "share.acknowledgement.mode", is_explicit ? "explicit" : "implicit");
        for (int i = 0; i < property_count; i++)
                set_pair(conf, properties[i]);
        rd_kafka_share_t *share = rd_kafka_share_consumer_new(conf, why, sizeof(why));
        if (!share)
                die("rd_kafka_share_consumer_new", why);
        rd_kafka_topic_partition_list_t *topics = rd_kafka_topic_partition_list_new(1);
        rd_kafka_topic_partition_list_add(topics, topic, RD_KAFKA_PARTITION_UA);
        rd_kafka_resp_err_t err = rd_kafka_share_subscribe(share, topics);
        if (err)
                die("subscribe", rd_kafka_err2str(err));
        rd_kafka_topic_partition_list_destroy(topics);
        return share;
}

static void check(const char *what, rd_kafka_error_t *error) {
        if (error)
                die(what, rd_kafka_error_string(error));
}

/* Takes the records of one poll; returns their number. */
static long take(rd_kafka_share_t *share, rd_kafka_messages_t *messages) {
        long n = (long)rd_kafka_messages_count(messages), bytes = 0;

        for (long i = 0; i < n; i++) {
                rd_kafka_message_t *message = rd_kafka_messages_get(messages, (size_t)i);
                if (message->err)
                        die("record", rd_kafka_message_errstr(message));
                bytes += (long)message->len;
                if (is_explicit) {
                        rd_kafka_resp_err_t err = rd_kafka_share_acknowledge(share, message);
                        if (err)
                                die("acknowledge", rd_kafka_err2str(err));
                }
        }
        rd_kafka_messages_destroy(messages);
        atomic_fetch_add(&bytes_received, bytes);
        return n;
}

/* Begins or ends the measuring after `total` records. */
static void measure(long total) {
        static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

        pthread_mutex_lock(&lock);
        long from = atomic_load(&measured_from);
        if (from < 0 && total >= warm_up && atomic_load(&active) == members) {
                begin_bytes = atomic_load(&bytes_received);
                begin_polls = atomic_load(&polls);
                begin_us = now_us();
                begin_cpu_us = cpu_us();
                atomic_store(&measured_from, atomic_load(&received));
        } else if (from >= 0 && total - from >= count && !atomic_load(&ended)) {
                end_us = now_us();
                end_cpu_us = cpu_us();
                end_bytes = atomic_load(&bytes_received);
                end_polls = atomic_load(&polls);
                measured = atomic_load(&received) - from;
                atomic_store(&ended, 1);
        }
        pthread_mutex_unlock(&lock);
}

static void *run(void *unused) {
        rd_kafka_share_t *share = consumer();
        rd_kafka_messages_t *none = NULL;
        int is_active = 0;

        (void)unused;
        /* A member without partitions receives nothing. */
        check("poll", rd_kafka_share_poll(share, 0, &none));
        if (none)
                die("poll", "records before the group has assigned partitions");
        usleep((useconds_t)join_ms * 1000);
        double last = now_us();
        while (!atomic_load(&ended)) {
                rd_kafka_messages_t *messages = NULL;
                check("poll", rd_kafka_share_poll(share, POLL_MS, &messages));
                if (!messages) {
                        if (now_us() - last > IDLE_S * 1e6)
                                die("poll", "no records");
                        continue;
                }
                long n = take(share, messages);
                atomic_fetch_add(&polls, 1);
                last = now_us();
                if (!is_active) {
                        is_active = 1;
                        atomic_fetch_add(&active, 1);
                }
                measure(atomic_fetch_add(&received, n) + n);
        }
        check("close", rd_kafka_share_consumer_close(share));
        check("destroy", rd_kafka_share_destroy(share));
        return NULL;
}

static void report(void) {
        double us = end_us - begin_us, bytes = (double)(end_bytes - begin_bytes);

        printf("%% polls %ld\n", end_polls - begin_polls);
        printf("%% cpu us %.0f\n", end_cpu_us - begin_cpu_us);
        printf("%% %ld messages and %.0f bytes consumed in %.0fms: %.0f msgs/s and %.2f MB/s, 0 failed\n", measured, bytes,
               us / 1000, (double)measured / us * 1e6, bytes / us);
}

int main(int argc, char **argv) {
        pthread_t threads[MEMBERS_MAX];
        int option;

        while ((option = getopt(argc, argv, "b:t:g:n:ec:w:j:X:")) != -1) {
                switch (option) {
                case 'b': brokers = optarg; break;
                case 't': topic = optarg; break;
                case 'g': group = optarg; break;
                case 'n': members = atoi(optarg); break;
                case 'e': is_explicit = 1; break;
                case 'c': count = atol(optarg); break;
                case 'w': warm_up = atol(optarg); break;
                case 'j': join_ms = atol(optarg); break;
                case 'X':
                        if (!strchr(optarg, '=') || property_count == PROPERTIES_MAX)
                                die(optarg, "name=value is wanted, 32 times at most");
                        properties[property_count++] = optarg;
                        break;
                default: return 2;
                }
        }
        if (!brokers || !topic || !group || members < 1 || members > MEMBERS_MAX || count < 1)
                die("usage", "-b BROKERS -t TOPIC -g GROUP [-n MEMBERS] [-e] [-c COUNT] [-w COUNT] [-j MS] [-X name=value]...");
        for (int i = 0; i < members; i++)
                pthread_create(&threads[i], NULL, run, NULL);
        for (int i = 0; i < members; i++)
                pthread_join(threads[i], NULL);
        report();
        return 0;
}
