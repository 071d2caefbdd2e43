/*
 * Tests an application against faults, without a Kafka cluster.
 *
 *     mock_faults
 *
 * The application is a producer that must deliver every message once. Its brokers are a mock cluster,
 * on which each case injects one fault. Writes the outcome of the cases, and exits with 1 when a case
 * has lost or repeated a message.
 */

#define _POSIX_C_SOURCE 200809L
#include <rdkafka.h>
#include <rdkafka_mock.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define PRODUCE 0
#define MESSAGES 20

static char errstr[512];

/* ---- the application ---- */

static rd_kafka_t *producer(const char *servers) {
        rd_kafka_conf_t *conf = rd_kafka_conf_new();
        rd_kafka_t *rk;

        rd_kafka_conf_set(conf, "bootstrap.servers", servers, errstr, sizeof(errstr));
        rd_kafka_conf_set(conf, "enable.idempotence", "true", errstr, sizeof(errstr));
        rd_kafka_conf_set(conf, "linger.ms", "0", errstr, sizeof(errstr));
        rd_kafka_conf_set(conf, "log_level", "0", errstr, sizeof(errstr));
        rk = rd_kafka_new(RD_KAFKA_PRODUCER, conf, errstr, sizeof(errstr));
        if (!rk) {
                fprintf(stderr, "mock_faults: %s\n", errstr);
                exit(1);
        }
        return rk;
}

static void produce(rd_kafka_t *rk) {
        struct timespec pause = {0, 10000000};
        int i;
        for (i = 0; i < MESSAGES; i++) {
                rd_kafka_producev(rk, RD_KAFKA_V_TOPIC("orders"), RD_KAFKA_V_PARTITION(0),
                                  RD_KAFKA_V_VALUE("an order", 8),
                                  RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_END);
                rd_kafka_poll(rk, 0);
                nanosleep(&pause, NULL);
        }
        rd_kafka_flush(rk, 10000);
}

/* ---- the faults ---- */

static void none(rd_kafka_mock_cluster_t *cluster) {
        (void)cluster;
}

/* The followers are too slow, then the leader has moved. */
static void errors(rd_kafka_mock_cluster_t *cluster) {
        rd_kafka_mock_push_request_errors(cluster, PRODUCE, 3, RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS,
                                          RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT,
                                          RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION);
}

/* Two messages pass, then connections break. */
static void lost_connections(rd_kafka_mock_cluster_t *cluster) {
        rd_kafka_mock_push_request_errors(cluster, PRODUCE, 4, RD_KAFKA_RESP_ERR_NO_ERROR,
                                          RD_KAFKA_RESP_ERR_NO_ERROR, RD_KAFKA_RESP_ERR__TRANSPORT,
                                          RD_KAFKA_RESP_ERR__TRANSPORT);
}

static void slow_leader(rd_kafka_mock_cluster_t *cluster) {
        rd_kafka_mock_broker_push_request_error_rtts(cluster, 1, PRODUCE, 2,
                                                     RD_KAFKA_RESP_ERR_NO_ERROR, 300,
                                                     RD_KAFKA_RESP_ERR_NO_ERROR, 300);
}

static void moved_leader(rd_kafka_mock_cluster_t *cluster) {
        rd_kafka_mock_partition_set_leader(cluster, "orders", 0, 2);
        rd_kafka_mock_broker_set_down(cluster, 1);
}

static void stale_metadata(rd_kafka_mock_cluster_t *cluster) {
        rd_kafka_mock_partition_set_leader(cluster, "orders", 0, 3);
        rd_kafka_mock_partition_push_leader_response(cluster, "orders", 0, 1, 0);
}

/* ---- the cases ---- */

/* Is 1 if the partition has every message once. */
static int run(const char *name, void (*fault)(rd_kafka_mock_cluster_t *cluster)) {
        rd_kafka_conf_t *conf = rd_kafka_conf_new();
        rd_kafka_t *owner     = rd_kafka_new(RD_KAFKA_PRODUCER, conf, errstr, sizeof(errstr));
        rd_kafka_mock_cluster_t *cluster = rd_kafka_mock_cluster_new(owner, 3);
        rd_kafka_mock_request_t **requests;
        size_t cnt = 0, i;
        int64_t low = 0, high = 0;
        int sent = 0;
        rd_kafka_t *rk;

        if (!cluster) {
                fprintf(stderr, "mock_faults: no cluster: %s\n",
                        rd_kafka_err2str(rd_kafka_last_error()));
                exit(1);
        }
        rd_kafka_mock_partition_set_leader(cluster, "orders", 0, 1);
        rk = producer(rd_kafka_mock_cluster_bootstraps(cluster));
        rd_kafka_mock_start_request_tracking(cluster);
        fault(cluster);
        produce(rk);

        requests = rd_kafka_mock_get_requests(cluster, &cnt);
        for (i = 0; i < cnt; i++)
                sent += rd_kafka_mock_request_api_key(requests[i]) == PRODUCE;
        rd_kafka_mock_request_destroy_array(requests, cnt);
        rd_kafka_query_watermark_offsets(rk, "orders", 0, &low, &high, 10000);
        printf("%-20s %2d of %d messages, %2d Produce requests%s\n", name, (int)high, MESSAGES, sent,
               high == MESSAGES ? "" : ": FAILED");
        rd_kafka_destroy(rk);
        rd_kafka_mock_cluster_destroy(cluster);
        rd_kafka_destroy(owner);
        return high == MESSAGES;
}

int main(void) {
        int ok = 1;
        ok &= run("no fault", none);
        ok &= run("errors", errors);
        ok &= run("lost connections", lost_connections);
        ok &= run("slow leader", slow_leader);
        ok &= run("moved leader", moved_leader);
        ok &= run("stale metadata", stale_metadata);
        return !ok;
}
