/*
 * Consumes in one of the ways that applications do, and prints the rate.
 *
 *     bench_consumer -b BROKERS -t TOPIC -m MODE [-c COUNT] [-a] [-X name=value]...
 *
 *   poll    COUNT messages by rd_kafka_consumer_poll(), one a call
 *   batch   COUNT messages by rd_kafka_consume_batch_queue(), up to 10,000 a call
 *   first   COUNT times a new client, a new group's only member: how long it takes
 *           from the call of rd_kafka_subscribe() to its first message
 *   leave   a group of 10 members, each with a client of its own, while every
 *           partition is written to; COUNT times one of them leaves, after different
 *           times since the group was made, and another one comes: how long it takes
 *           from the call of rd_kafka_consumer_close() until every partition flows
 *   join    COUNT times a member joins beside a slow one of another process, which has
 *           QUEUED messages queued and takes 20 ms for each: how long it takes from
 *           the call of rd_kafka_subscribe() to the joining member's first message
 *   idle    nothing is there to consume: what COUNT seconds cost
 *   hold    takes one message, then none for COUNT seconds: the queue fills
 *
 *   -a      "poll" and "batch" assign the topic's partitions themselves, without a
 *           group coordinator, and commit nothing
 *
 * All are members of a new group that begins with the oldest messages. "poll" and
 * "batch" say the CPU time of the process from the first message to the last. The
 * last line is that of rdkafka_performance. Runs on any librdkafka.so.1.
 */

#define BENCH_NAME "bench_consumer"
#include "bench.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BATCH = 10000, MEMBERS = 10, PARTITIONS_MAX = 256, PROPERTIES_MAX = 32, WAIT_S = 60, QUEUED = 10000, HEARTBEAT_MS = 300 };

static const char *brokers, *topic;
static char *properties[PROPERTIES_MAX];
static int property_count, groups_made, assigns;
static long count = 500000;

static void report(long messages, double bytes, double cpu, double us) {
        double rate = (double)messages / us * 1e6;

        printf("%% cpu us %.0f\n", cpu);
        printf("%% %ld messages and %.0f bytes consumed in %.0fms: %.0f msgs/s and %.2f MB/s, 0 failed\n", messages, bytes,
               us / 1000, rate, bytes / us);
}

static int by_size(const void *a, const void *b) {
        double x = *(const double *)a, y = *(const double *)b;
        return (x > y) - (x < y);
}

static void report_times(double *took) {
        qsort(took, (size_t)count, sizeof(*took), by_size);
        printf("%% latency us p50 %.0f p99 %.0f max %.0f\n", took[count / 2], took[count * 99 / 100], took[count - 1]);
}

/* A name that no other group has. */
static void new_group(char *name, size_t size) {
        snprintf(name, size, "bench-%ld-%d-%d", (long)time(NULL), (int)getpid(), ++groups_made);
}

static rd_kafka_t *consumer(const char *group) {
        rd_kafka_conf_t *conf = rd_kafka_conf_new();
        char why[512];

        set(conf, "bootstrap.servers", brokers);
        set(conf, "group.id", group);
        set(conf, "auto.offset.reset", "earliest");
        if (assigns)
                set(conf, "enable.auto.commit", "false");
        for (int i = 0; i < property_count; i++)
                set_pair(conf, properties[i]);
        rd_kafka_t *rk = rd_kafka_new(RD_KAFKA_CONSUMER, conf, why, sizeof(why));
        if (!rk)
                die("rd_kafka_new", why);
        rd_kafka_poll_set_consumer(rk);
        return rk;
}

static void subscribe(rd_kafka_t *rk) {
        rd_kafka_topic_partition_list_t *topics = rd_kafka_topic_partition_list_new(1);

        rd_kafka_topic_partition_list_add(topics, topic, RD_KAFKA_PARTITION_UA);
        rd_kafka_resp_err_t err = rd_kafka_subscribe(rk, topics);
        if (err)
                die("subscribe", rd_kafka_err2str(err));
        rd_kafka_topic_partition_list_destroy(topics);
}

static int partitions_of_topic(rd_kafka_t *rk) {
        const struct rd_kafka_metadata *metadata = NULL;
        rd_kafka_topic_t *rkt = rd_kafka_topic_new(rk, topic, NULL);

        rd_kafka_resp_err_t err = rd_kafka_metadata(rk, 0, rkt, &metadata, 10000);
        if (err)
                die("metadata", rd_kafka_err2str(err));
        int n = metadata->topics[0].partition_cnt;
        rd_kafka_metadata_destroy(metadata);
        rd_kafka_topic_destroy(rkt);
        return n;
}

static void assign_all(rd_kafka_t *rk) {
        int n = partitions_of_topic(rk);
        rd_kafka_topic_partition_list_t *all = rd_kafka_topic_partition_list_new(n);

        for (int p = 0; p < n; p++)
                rd_kafka_topic_partition_list_add(all, topic, p)->offset = RD_KAFKA_OFFSET_BEGINNING;
        rd_kafka_resp_err_t err = rd_kafka_assign(rk, all);
        if (err)
                die("assign", rd_kafka_err2str(err));
        rd_kafka_topic_partition_list_destroy(all);
}

/* The next message that is none of the errors that pass. */
static rd_kafka_message_t *next_message(rd_kafka_t *rk) {
        double end = now_us() + WAIT_S * 1e6;

        while (now_us() < end) {
                rd_kafka_message_t *message = rd_kafka_consumer_poll(rk, 1000);
                if (message && !message->err)
                        return message;
                if (message) {
                        fprintf(stderr, "bench_consumer: %s\n", rd_kafka_message_errstr(message));
                        rd_kafka_message_destroy(message);
                }
        }
        die("consume", "no message came");
        return NULL;
}

static void end(rd_kafka_t *rk) {
        rd_kafka_consumer_close(rk);
        rd_kafka_destroy(rk);
}

/* ---- reading ---------------------------------------------------------------- */

/* Measures from the first message on: the start has separate rows. */
static rd_kafka_t *begun(double *bytes) {
        char group[64];

        new_group(group, sizeof(group));
        rd_kafka_t *rk = consumer(group);
        if (assigns)
                assign_all(rk);
        else
                subscribe(rk);
        rd_kafka_message_t *message = next_message(rk);
        *bytes = (double)message->len;
        rd_kafka_message_destroy(message);
        return rk;
}

static void read_by_poll(void) {
        double bytes;
        rd_kafka_t *rk = begun(&bytes);
        double begin = now_us(), cpu_begin = cpu_us();

        for (long n = 1; n < count;) {
                rd_kafka_message_t *message = rd_kafka_consumer_poll(rk, 1000);
                if (!message)
                        continue;
                if (!message->err) {
                        bytes += (double)message->len;
                        n++;
                }
                rd_kafka_message_destroy(message);
        }
        report(count, bytes, cpu_us() - cpu_begin, now_us() - begin);
        end(rk);
}

static void read_in_batches(void) {
        static rd_kafka_message_t *messages[BATCH];
        double bytes;
        rd_kafka_t *rk = begun(&bytes);
        rd_kafka_queue_t *queue = rd_kafka_queue_get_consumer(rk);
        double begin = now_us(), cpu_begin = cpu_us();

        for (long n = 1; n < count;) {
                ssize_t some = rd_kafka_consume_batch_queue(queue, 1000, messages, BATCH);
                for (ssize_t i = 0; i < some; i++) {
                        if (!messages[i]->err) {
                                bytes += (double)messages[i]->len;
                                n++;
                        }
                        rd_kafka_message_destroy(messages[i]);
                }
        }
        report(count, bytes, cpu_us() - cpu_begin, now_us() - begin);
        rd_kafka_queue_destroy(queue);
        end(rk);
}

static void time_first_messages(void) {
        double *took = calloc((size_t)count, sizeof(*took)), begin = now_us(), cpu_begin = cpu_us();

        for (long i = 0; i < count; i++) {
                char group[64];
                new_group(group, sizeof(group));
                rd_kafka_t *rk = consumer(group);
                double subscribed = now_us();
                subscribe(rk);
                rd_kafka_message_t *message = next_message(rk);
                took[i] = now_us() - subscribed;
                rd_kafka_message_destroy(message);
                end(rk);
        }
        report_times(took);
        report(count, 0, cpu_us() - cpu_begin, now_us() - begin);
        free(took);
}

static void do_nothing(void) {
        char group[64];

        new_group(group, sizeof(group));
        rd_kafka_t *rk = consumer(group);
        subscribe(rk);
        rd_kafka_topic_partition_list_t *assigned = NULL;
        for (double until = now_us() + 5e6; now_us() < until;)
                if (rd_kafka_consumer_poll(rk, 100))
                        die("idle", "there is something to consume");
        if (rd_kafka_assignment(rk, &assigned) || assigned->cnt == 0)
                die("idle", "nothing is assigned");
        rd_kafka_topic_partition_list_destroy(assigned);
        double begin = now_us(), cpu_begin = cpu_us();
        for (double until = begin + (double)count * 1e6; now_us() < until;)
                if (rd_kafka_consumer_poll(rk, 1000))
                        die("idle", "there is something to consume");
        report(count, 0, cpu_us() - cpu_begin, now_us() - begin);
        end(rk);
}

static void let_queue_fill(void) {
        double bytes;
        rd_kafka_t *rk = begun(&bytes);
        double begin = now_us(), cpu_begin = cpu_us();

        sleep((unsigned)count);
        report(1, bytes, cpu_us() - cpu_begin, now_us() - begin);
        end(rk);
}

/* ---- a group that one joins --------------------------------------------------- */

/* The slow member: writes a byte when its queue is full, then takes a message every 20 ms until it is killed. */
static void be_slow(const char *group, int ready) {
        rd_kafka_t *rk = consumer(group);
        rd_kafka_queue_t *queue = rd_kafka_queue_get_consumer(rk);
        double limit = now_us() + WAIT_S * 1e6;

        subscribe(rk);
        rd_kafka_message_destroy(next_message(rk));
        while (rd_kafka_queue_length(queue) < QUEUED) {
                if (now_us() > limit)
                        die("join", "the slow member's queue does not fill");
                usleep(5000);
        }
        if (write(ready, "", 1) != 1)
                die("join", "the other process is gone");
        for (;;) {
                rd_kafka_message_t *message = rd_kafka_consumer_poll(rk, 1000);
                usleep(20000);
                if (message)
                        rd_kafka_message_destroy(message);
        }
}

static void time_joining(void) {
        /* The members learn of the rebalance by heartbeats: short ones, so that their phase hides nothing. */
        static char heartbeat[] = "heartbeat.interval.ms=300";
        double *took = calloc((size_t)count, sizeof(*took)), begin = now_us(), cpu_begin = cpu_us();

        if (property_count == PROPERTIES_MAX)
                die("join", "too many properties");
        properties[property_count++] = heartbeat;
        for (long i = 0; i < count; i++) {
                char group[64], full;
                int ready[2];
                new_group(group, sizeof(group));
                if (pipe(ready))
                        die("join", "no pipe");
                pid_t slow = fork();
                if (slow == 0) {
                        close(ready[0]);
                        be_slow(group, ready[1]);
                }
                close(ready[1]);
                if (slow < 0 || read(ready[0], &full, 1) != 1)
                        die("join", "the slow member has ended");
                /* Members join at different moments between two heartbeats of the slow one. */
                usleep((useconds_t)(HEARTBEAT_MS * 1e3 * ((double)i + 0.5) / (double)count));
                rd_kafka_t *rk = consumer(group);
                double subscribed = now_us();
                subscribe(rk);
                rd_kafka_message_t *message = next_message(rk);
                took[i] = now_us() - subscribed;
                rd_kafka_message_destroy(message);
                end(rk);
                kill(slow, SIGKILL);
                waitpid(slow, NULL, 0);
                close(ready[0]);
        }
        report_times(took);
        report(count, 0, cpu_us() - cpu_begin, now_us() - begin);
        free(took);
}

/* ---- a group that one leaves ------------------------------------------------ */

/* Gaps between a partition's messages that are longer were an interruption. */
#define GAP_US 250e3

static struct flow {
        double last, resumed;
        int owner;
} flows[PARTITIONS_MAX];

static struct member {
        pthread_t thread;
        rd_kafka_t *rk;
        int number;
        atomic_int owned, leave;
} members[MEMBERS];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int partitions;
static char leaving_group[64];
static atomic_int stop_writing;
/* When the last member left, and which partitions were its own. */
static double left_at;
static int orphans[PARTITIONS_MAX];

static int owned_by(rd_kafka_t *rk, int *marks) {
        rd_kafka_topic_partition_list_t *list = NULL;

        if (rd_kafka_assignment(rk, &list))
                return 0;
        int n = list->cnt;
        for (int i = 0; marks && i < n; i++)
                marks[list->elems[i].partition] = 1;
        rd_kafka_topic_partition_list_destroy(list);
        return n;
}

static void note(const rd_kafka_message_t *message, int member) {
        struct flow *flow = &flows[message->partition];
        double now = now_us();

        pthread_mutex_lock(&lock);
        if (now - flow->last > GAP_US || flow->owner != member)
                flow->resumed = now;
        flow->last = now;
        flow->owner = member;
        pthread_mutex_unlock(&lock);
}

static void *be_member(void *own) {
        struct member *me = own;

        while (!atomic_load(&me->leave)) {
                rd_kafka_message_t *message = rd_kafka_consumer_poll(me->rk, 20);
                if (message && !message->err)
                        note(message, me->number);
                if (message)
                        rd_kafka_message_destroy(message);
                atomic_store(&me->owned, owned_by(me->rk, NULL));
        }
        if (atomic_load(&me->leave) == 1) {
                pthread_mutex_lock(&lock);
                memset(orphans, 0, sizeof(orphans));
                owned_by(me->rk, orphans);
                left_at = now_us();
                pthread_mutex_unlock(&lock);
        }
        end(me->rk);
        return NULL;
}

static void begin_member(struct member *m) {
        m->rk = consumer(leaving_group);
        atomic_store(&m->owned, 0);
        atomic_store(&m->leave, 0);
        subscribe(m->rk);
        pthread_create(&m->thread, NULL, be_member, m);
}

static void *write_all(void *unused) {
        rd_kafka_conf_t *conf = rd_kafka_conf_new();
        char why[512];

        (void)unused;
        set(conf, "bootstrap.servers", brokers);
        set(conf, "linger.ms", "0");
        rd_kafka_t *rk = rd_kafka_new(RD_KAFKA_PRODUCER, conf, why, sizeof(why));
        if (!rk)
                die("rd_kafka_new", why);
        rd_kafka_topic_t *rkt = rd_kafka_topic_new(rk, topic, NULL);
        while (!atomic_load(&stop_writing)) {
                for (int p = 0; p < partitions; p++)
                        rd_kafka_produce(rkt, p, RD_KAFKA_MSG_F_COPY, "flow", 4, NULL, 0, NULL);
                rd_kafka_poll(rk, 0);
                usleep(20000);
        }
        rd_kafka_flush(rk, 10000);
        rd_kafka_topic_destroy(rkt);
        rd_kafka_destroy(rk);
        return NULL;
}

/* When all partitions flow, the time at which the last of them began to, otherwise 0. `since`: the orphans must have
 * begun later. */
static double flowing_since(double since) {
        double latest = 0, now;

        pthread_mutex_lock(&lock);
        now = now_us();
        for (int p = 0; p < partitions; p++) {
                const struct flow *flow = &flows[p];
                if (flow->last < now - GAP_US || (since > 0 && orphans[p] && flow->resumed < since)) {
                        pthread_mutex_unlock(&lock);
                        return 0;
                }
                if (flow->resumed > latest)
                        latest = flow->resumed;
        }
        pthread_mutex_unlock(&lock);
        return latest;
}

static void wait_until_settled(void) {
        double limit = now_us() + WAIT_S * 1e6;

        for (;;) {
                int even = flowing_since(0) > 0;
                for (int i = 0; i < MEMBERS; i++)
                        even &= atomic_load(&members[i].owned) == partitions / MEMBERS;
                if (even)
                        return;
                if (now_us() > limit)
                        die("leave", "the group does not settle");
                usleep(5000);
        }
}

static void time_leaving(void) {
        double *took = calloc((size_t)count, sizeof(*took)), begin = now_us(), cpu_begin = cpu_us();
        pthread_t writer;

        new_group(leaving_group, sizeof(leaving_group));
        rd_kafka_t *rk = consumer(leaving_group);
        partitions = partitions_of_topic(rk);
        end(rk);
        if (partitions < MEMBERS || partitions > PARTITIONS_MAX || partitions % MEMBERS)
                die("leave", "the topic must have a multiple of 10 partitions, 250 at most");
        pthread_create(&writer, NULL, write_all, NULL);
        for (int i = 0; i < MEMBERS; i++) {
                members[i].number = i;
                begin_member(&members[i]);
        }
        for (long i = 0; i < count; i++) {
                struct member *leaver = &members[i * 7 % MEMBERS];
                double since, limit;
                wait_until_settled();
                /* Heartbeats are three seconds apart: members leave at different moments between two of them. */
                usleep((useconds_t)(3e6 * ((double)i + 0.5) / (double)count));
                left_at = 0;
                atomic_store(&leaver->leave, 1);
                pthread_join(leaver->thread, NULL);
                limit = now_us() + WAIT_S * 1e6;
                /* It must persist: members that have not yet detected the rebalance still consume. */
                for (double calm = 0, then = 0; now_us() - calm < 1e6 || then == 0;) {
                        since = flowing_since(left_at);
                        if (since != then || since == 0)
                                calm = now_us();
                        then = since;
                        if (now_us() > limit)
                                die("leave", "some partition does not flow again");
                        usleep(5000);
                }
                took[i] = since - left_at;
                begin_member(leaver);
        }
        for (int i = 0; i < MEMBERS; i++)
                atomic_store(&members[i].leave, 2);
        for (int i = 0; i < MEMBERS; i++)
                pthread_join(members[i].thread, NULL);
        atomic_store(&stop_writing, 1);
        pthread_join(writer, NULL);
        report_times(took);
        report(count, 0, cpu_us() - cpu_begin, now_us() - begin);
        free(took);
}

int main(int argc, char **argv) {
        static const struct {
                const char *name;
                void (*run)(void);
        } modes[] = {{"poll", read_by_poll},   {"batch", read_in_batches}, {"first", time_first_messages},
                     {"leave", time_leaving},  {"join", time_joining},     {"idle", do_nothing},
                     {"hold", let_queue_fill}};
        const char *mode = "";
        int option;

        while ((option = getopt(argc, argv, "b:t:m:c:aX:")) != -1) {
                switch (option) {
                case 'b': brokers = optarg; break;
                case 't': topic = optarg; break;
                case 'm': mode = optarg; break;
                case 'c': count = atol(optarg); break;
                case 'a': assigns = 1; break;
                case 'X':
                        if (!strchr(optarg, '=') || property_count == PROPERTIES_MAX)
                                die(optarg, "name=value is wanted, 32 times at most");
                        properties[property_count++] = optarg;
                        break;
                default: return 2;
                }
        }
        for (size_t i = 0; brokers && topic && count > 0 && i < sizeof(modes) / sizeof(*modes); i++)
                if (!strcmp(modes[i].name, mode)) {
                        modes[i].run();
                        return 0;
                }
        die("usage", "-b BROKERS -t TOPIC -m poll|batch|first|leave|join|idle|hold [-c COUNT] [-a] [-X name=value]...");
        return 2;
}
