/*
 * Idle consumers of one process: threads, resident memory and CPU time.
 *
 *     many_clients -b BROKERS -t TOPIC -p PARTITIONS [-n CLIENTS] [-s SECONDS] [-g] [-X name=value]...
 *
 * Creates the clients, assigns each one partition of the topic, in turns, and waits until every client has reached its
 * end. With -g each client is the only member of a group that subscribes to the topic instead. After SETTLE_S more
 * seconds it measures SECONDS, in which the application does nothing. Prints one JSON object. Runs on any librdkafka.so.1.
 */
#define BENCH_NAME "many_clients"
#include "bench.h"

#include <string.h>
#include <unistd.h>

enum { CLIENTS_MAX = 10000, PROPERTIES_MAX = 32, WAIT_S = 240, SETTLE_S = 5 };

static const char *brokers, *topic;
static int partitions = 1, clients = 1000, in_groups, property_count;
static long seconds = 30;
static char *properties[PROPERTIES_MAX];
static rd_kafka_t *consumers[CLIENTS_MAX];
static char at_end[CLIENTS_MAX];

static double now_s(void) {
        return now_us() / 1e6;
}

/* The context switches of the whole process. */
static long switches(void) {
        struct rusage u;
        getrusage(RUSAGE_SELF, &u);
        return u.ru_nvcsw + u.ru_nivcsw;
}

/* A number of /proc/self/status. */
static long status(const char *name) {
        FILE *file = fopen("/proc/self/status", "r");
        char line[256];
        long value = -1;

        while (file && fgets(line, sizeof(line), file))
                if (!strncmp(line, name, strlen(name)))
                        value = atol(line + strlen(name));
        if (file)
                fclose(file);
        return value;
}

static rd_kafka_t *consumer(int number) {
        rd_kafka_conf_t *conf = rd_kafka_conf_new();
        rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
        rd_kafka_resp_err_t err;
        char group[64], why[512];
        rd_kafka_t *rk;
        int i;

        snprintf(group, sizeof(group), "idle-%d-%d", (int)getpid(), number);
        set(conf, "bootstrap.servers", brokers);
        set(conf, "group.id", group);
        set(conf, "enable.partition.eof", "true");
        set(conf, "auto.offset.reset", "earliest");
        for (i = 0; i < property_count; i++)
                set_pair(conf, properties[i]);
        rk = rd_kafka_new(RD_KAFKA_CONSUMER, conf, why, sizeof(why));
        if (!rk)
                die("rd_kafka_new", why);
        rd_kafka_poll_set_consumer(rk);
        if (in_groups) {
                rd_kafka_topic_partition_list_add(list, topic, RD_KAFKA_PARTITION_UA);
                err = rd_kafka_subscribe(rk, list);
        } else {
                rd_kafka_topic_partition_list_add(list, topic, number % partitions)->offset = RD_KAFKA_OFFSET_BEGINNING;
                err = rd_kafka_assign(rk, list);
        }
        if (err)
                die("assign", rd_kafka_err2str(err));
        rd_kafka_topic_partition_list_destroy(list);
        return rk;
}

/* Polls until every client has seen the end of a partition. */
static void wait_for_ends(double until) {
        int left = clients, i;

        while (left > 0) {
                if (now_s() > until)
                        die("not all clients have reached the end of their partition", "timeout");
                for (i = 0; i < clients; i++) {
                        rd_kafka_message_t *m = at_end[i] ? NULL : rd_kafka_consumer_poll(consumers[i], 0);
                        if (!m)
                                continue;
                        if (m->err == RD_KAFKA_RESP_ERR__PARTITION_EOF) {
                                at_end[i] = 1;
                                left--;
                        } else if (m->err && m->err != RD_KAFKA_RESP_ERR__TRANSPORT) {
                                fprintf(stderr, "many_clients: %s\n", rd_kafka_message_errstr(m));
                        }
                        rd_kafka_message_destroy(m);
                }
                usleep(10000);
        }
}

int main(int argc, char **argv) {
        struct rlimit files;
        double begin, ready, cpu;
        long rss, threads, changes;
        int i, opt;

        while ((opt = getopt(argc, argv, "b:t:p:n:s:gX:")) != -1) {
                if (opt == 'b')
                        brokers = optarg;
                else if (opt == 't')
                        topic = optarg;
                else if (opt == 'p')
                        partitions = atoi(optarg);
                else if (opt == 'n')
                        clients = atoi(optarg);
                else if (opt == 's')
                        seconds = atol(optarg);
                else if (opt == 'g')
                        in_groups = 1;
                else if (opt == 'X' && property_count < PROPERTIES_MAX)
                        properties[property_count++] = optarg;
                else
                        die("usage", "-b BROKERS -t TOPIC -p PARTITIONS [-n CLIENTS] [-s SECONDS] [-g] [-X name=value]");
        }
        if (!brokers || !topic || partitions < 1 || clients < 1 || clients > CLIENTS_MAX)
                die("usage", "-b, -t and -p are necessary, -n is 1 to 10000");
        if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
                files.rlim_cur = files.rlim_max;
                setrlimit(RLIMIT_NOFILE, &files);
        }
        rss = status("VmRSS:");
        begin = now_s();
        for (i = 0; i < clients; i++)
                consumers[i] = consumer(i);
        wait_for_ends(begin + WAIT_S);
        ready = now_s();
        sleep(SETTLE_S);
        threads = status("Threads:");
        changes = -switches();
        cpu = -cpu_us();
        sleep((unsigned)seconds);
        cpu += cpu_us();
        changes += switches();
        printf("{\"version\": \"%s\", \"clients\": %d, \"ready_s\": %.2f, \"threads\": %ld, \"rss_kib\": %ld, "
               "\"rss_before_kib\": %ld, \"cpu_ms_per_s\": %.2f, \"switches_per_s\": %.0f, ",
               rd_kafka_version_str(), clients, ready - begin, threads, status("VmRSS:"), rss, cpu / 1e3 / (double)seconds,
               (double)changes / (double)seconds);
        begin = now_s();
        for (i = 0; i < clients; i++)
                rd_kafka_destroy(consumers[i]);
        printf("\"destroy_s\": %.2f}\n", now_s() - begin);
        return 0;
}
