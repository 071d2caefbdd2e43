/* Requests metadata until its time is over, and prints what the client reports meanwhile.
 *
 *   connection_errors BROKERS SECONDS [--stay] [PROPERTY=VALUE]...
 *
 * Standard output:
 *
 *   error NAME REASON            an error of the client, as its callback receives it
 *   log LEVEL FACILITY TEXT      a line of its log
 *   metadata NUMBER_OF_BROKERS   the first response; the client then ends early, or with --stay is idle until its time is over
 *
 * Exit status: 0, with or without a response; 2 when the client could not be created.
 */
#include "client.h"

static void on_error(rd_kafka_t *rk, int err, const char *reason, void *opaque) {
    (void)rk;
    (void)opaque;
    printf("error %s %s\n", rd_kafka_err2name((rd_kafka_resp_err_t)err), reason);
}

static void on_log(const rd_kafka_t *rk, int level, const char *facility, const char *text) {
    (void)rk;
    printf("log %d %s %s\n", level, facility, text);
}

int main(int argc, char **argv) {
    if (argc < 3) {
        fprintf(stderr, "usage: %s BROKERS SECONDS [--stay] [PROPERTY=VALUE]...\n", argv[0]);
        return 2;
    }
    int stays = argc > 3 && !strcmp(argv[3], "--stay"), first = 3 + stays;
    double end_s = now_s() + atof(argv[2]), left_s;
    rd_kafka_conf_t *conf = conf_or_exit(argv[1], argc - first, argv + first);
    rd_kafka_conf_set_error_cb(conf, on_error);
    rd_kafka_conf_set_log_cb(conf, on_log);
    rd_kafka_t *rk = client_or_exit(RD_KAFKA_PRODUCER, conf);
    while ((left_s = end_s - now_s()) > 0) {
        const struct rd_kafka_metadata *metadata;
        if (rd_kafka_metadata(rk, 0, NULL, &metadata, (int)(left_s * 1000) + 1) == RD_KAFKA_RESP_ERR_NO_ERROR) {
            printf("metadata %d\n", metadata->broker_cnt);
            rd_kafka_metadata_destroy(metadata);
            break;
        }
        rd_kafka_poll(rk, 10);
    }
    while (stays && now_s() < end_s)
        rd_kafka_poll(rk, 100);
    rd_kafka_poll(rk, 0);
    rd_kafka_destroy(rk);
    return 0;
}
