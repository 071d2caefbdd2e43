/* Creates a client, sends a message to each partition, flushes, and destroys the client. Prints the client's number of
 * threads while all brokers are connected, its lifetime, and the number of threads that remain.
 *
 *     lifecycle BROKERS TOPIC PARTITIONS [PROPERTY=VALUE ...]
 */
#include "client.h"

#include <dirent.h>

static int failed;

static void on_delivery(rd_kafka_t *rk, const rd_kafka_message_t *m, void *opaque) {
    (void)rk;
    (void)opaque;
    failed += m->err != RD_KAFKA_RESP_ERR_NO_ERROR;
}

/* Returns the number of threads of this process. */
static int threads(void) {
    struct dirent *entry;
    DIR *tasks = opendir("/proc/self/task");
    int count = 0;
    if (tasks == NULL)
        exit(2);
    while ((entry = readdir(tasks)) != NULL)
        count += entry->d_name[0] != '.';
    closedir(tasks);
    return count;
}

int main(int argc, char **argv) {
    if (argc < 4) {
        fprintf(stderr, "usage: %s BROKERS TOPIC PARTITIONS [PROPERTY=VALUE ...]\n", argv[0]);
        return 2;
    }
    int partitions = atoi(argv[3]), before = threads();
    double start = now_s();
    rd_kafka_conf_t *conf = conf_or_exit(argv[1], argc - 4, argv + 4);
    rd_kafka_conf_set_dr_msg_cb(conf, on_delivery);
    rd_kafka_t *rk = client_or_exit(RD_KAFKA_PRODUCER, conf);
    for (int i = 0; i < partitions; i++)
        if (rd_kafka_producev(rk, RD_KAFKA_V_TOPIC(argv[2]), RD_KAFKA_V_PARTITION(i), RD_KAFKA_V_VALUE("x", 1),
                              RD_KAFKA_V_END))
            return 1;
    if (rd_kafka_flush(rk, 30000) || failed)
        return 1;
    double counting = now_s();
    int own = threads() - before;
    counting = now_s() - counting;
    rd_kafka_destroy(rk);
    double lived = now_s() - start - counting;
    printf("%d threads, %.3f ms, %d left\n", own, lived * 1e3, threads() - before);
    return 0;
}
