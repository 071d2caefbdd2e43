/* Mock clusters: brokers that are down, slow, elsewhere, added and removed. */
#define _POSIX_C_SOURCE 200809L
#include "mock_test.h"

static void broker_that_is_down_is_not_in_metadata_and_keeps_its_partitions(void) {
        struct mock m  = mock_start(3);
        rd_kafka_t *rk = mock_producer(&m, NULL);
        struct report report;

        CHECK_OK(rd_kafka_mock_partition_set_leader(m.cluster, "t", 0, 2));
        CHECK_OK(mock_produce(rk, "t", 0, NULL));
        CHECK_OK(rd_kafka_mock_broker_set_down(m.cluster, 2));
        CHECK_STR(mock_brokers(rk), "1 3");
        CHECK_INT(mock_leader(rk, "t", 0), 2);
        mock_send(rk, "t", 0, &report);
        test_sleep_ms(300);
        rd_kafka_poll(rk, 0);
        CHECK_INT(report.reported, 0);
        CHECK_OK(rd_kafka_mock_broker_set_up(m.cluster, 2));
        CHECK_OK(mock_wait(rk, &report));
        CHECK_STR(mock_brokers(rk), "1 2 3");
        CHECK_STR(rd_kafka_mock_cluster_bootstraps(m.cluster), m.servers);
        CHECK_ERR(rd_kafka_mock_broker_set_down(m.cluster, 4),
                  RD_KAFKA_RESP_ERR_BROKER_NOT_AVAILABLE);
        CHECK_ERR(rd_kafka_mock_broker_set_up(m.cluster, 0),
                  RD_KAFKA_RESP_ERR_BROKER_NOT_AVAILABLE);
        rd_kafka_destroy(rk);
        mock_end(m);
}

static void all_brokers_go_down_and_up(void) {
        struct mock m  = mock_start(3);
        rd_kafka_t *rk = mock_producer(&m, NULL);
        const struct rd_kafka_metadata *md;

        CHECK_OK(mock_produce(rk, "t", 0, NULL));
        CHECK_OK(rd_kafka_mock_broker_set_down(m.cluster, -1));
        CHECK(rd_kafka_metadata(rk, 1, NULL, &md, 300) != RD_KAFKA_RESP_ERR_NO_ERROR);
        CHECK_OK(rd_kafka_mock_broker_set_up(m.cluster, -1));
        CHECK_OK(mock_produce(rk, "t", 0, NULL));
        rd_kafka_destroy(rk);
        mock_end(m);
}

static void round_trip_time_delays_every_response(void) {
        struct mock m         = mock_start(2);
        rd_kafka_conf_t *conf = mock_conf(&m);
        rd_kafka_t *rk;
        int elapsed_ms, i;

        /* The response of a refresh would delay those behind it. */
        test_set(conf, "topic.metadata.refresh.interval.ms", "-1");
        rk = mock_producer(&m, conf);

        CHECK_OK(rd_kafka_mock_topic_create(m.cluster, "t", 2, 1));
        CHECK_OK(rd_kafka_mock_partition_set_leader(m.cluster, "t", 0, 1));
        CHECK_OK(rd_kafka_mock_partition_set_leader(m.cluster, "t", 1, 2));
        CHECK_OK(mock_produce(rk, "t", 0, NULL));
        CHECK_OK(mock_produce(rk, "t", 1, NULL));
        CHECK_OK(rd_kafka_mock_broker_set_rtt(m.cluster, 1, 1500));
        for (i = 0; i < 2; i++) {
                CHECK_OK(mock_produce(rk, "t", 0, &elapsed_ms));
                CHECK(elapsed_ms >= 1500 && elapsed_ms < 6000);
                CHECK_OK(mock_produce(rk, "t", 1, &elapsed_ms));
                CHECK(elapsed_ms < 1500);
        }
        CHECK_OK(rd_kafka_mock_broker_set_rtt(m.cluster, -1, 0));
        CHECK_OK(mock_produce(rk, "t", 0, &elapsed_ms));
        CHECK(elapsed_ms < 1500);
        CHECK_OK(rd_kafka_mock_broker_set_rtt(m.cluster, -1, 200));
        CHECK_OK(mock_produce(rk, "t", 1, &elapsed_ms));
        CHECK(elapsed_ms >= 200);
        CHECK_ERR(rd_kafka_mock_broker_set_rtt(m.cluster, 1, -1), RD_KAFKA_RESP_ERR__INVALID_ARG);
        CHECK_ERR(rd_kafka_mock_broker_set_rtt(m.cluster, 9, 1),
                  RD_KAFKA_RESP_ERR_BROKER_NOT_AVAILABLE);
        rd_kafka_destroy(rk);
        mock_end(m);
}

/* The rack of a broker in DescribeCluster; "" without one. */
static const char *rack(rd_kafka_t *rk, int32_t broker) {
        static char text[64];
        rd_kafka_queue_t *queue = rd_kafka_queue_new(rk);
        const rd_kafka_Node_t **nodes;
        rd_kafka_event_t *event;
        size_t cnt = 0, i;

        snprintf(text, sizeof(text), "no such broker");
        rd_kafka_DescribeCluster(rk, NULL, queue);
        event = rd_kafka_queue_poll(queue, MOCK_WAIT_MS);
        nodes = rd_kafka_DescribeCluster_result_nodes(
            rd_kafka_event_DescribeCluster_result(event), &cnt);
        for (i = 0; i < cnt; i++)
                if (rd_kafka_Node_id(nodes[i]) == broker)
                        snprintf(text, sizeof(text), "%s",
                                 rd_kafka_Node_rack(nodes[i]) ? rd_kafka_Node_rack(nodes[i]) : "");
        rd_kafka_event_destroy(event);
        rd_kafka_queue_destroy(queue);
        return text;
}

static void racks_are_as_set(void) {
        struct mock m  = mock_start(2);
        rd_kafka_t *rk = mock_producer(&m, NULL);

        CHECK_STR(rack(rk, 1), "");
        CHECK_OK(rd_kafka_mock_broker_set_rack(m.cluster, 1, "north"));
        CHECK_STR(rack(rk, 1), "north");
        CHECK_STR(rack(rk, 2), "");
        CHECK_OK(rd_kafka_mock_broker_set_rack(m.cluster, -1, "south"));
        CHECK_STR(rack(rk, 1), "south");
        CHECK_STR(rack(rk, 2), "south");
        CHECK_OK(rd_kafka_mock_broker_set_rack(m.cluster, 1, NULL));
        CHECK_STR(rack(rk, 1), "");
        CHECK_ERR(rd_kafka_mock_broker_set_rack(m.cluster, 3, "x"),
                  RD_KAFKA_RESP_ERR_BROKER_NOT_AVAILABLE);
        rd_kafka_destroy(rk);
        mock_end(m);
}

static void advertised_address_is_as_set(void) {
        struct mock m  = mock_start(1);
        rd_kafka_t *rk = mock_producer(&m, NULL);
        const struct rd_kafka_metadata *md;

        rd_kafka_mock_broker_set_host_port(m.cluster, 1, "elsewhere.invalid", 1234);
        CHECK_OK(rd_kafka_last_error());
        md = mock_metadata(rk, NULL);
        CHECK_INT(md->broker_cnt, 1);
        CHECK_STR(md->brokers[0].host, "elsewhere.invalid");
        CHECK_INT(md->brokers[0].port, 1234);
        rd_kafka_metadata_destroy(md);
        rd_kafka_mock_broker_set_host_port(m.cluster, 1, "x", 65536);
        CHECK_ERR(rd_kafka_last_error(), RD_KAFKA_RESP_ERR__INVALID_ARG);
        rd_kafka_mock_broker_set_host_port(m.cluster, 2, "x", 1);
        CHECK_ERR(rd_kafka_last_error(), RD_KAFKA_RESP_ERR_BROKER_NOT_AVAILABLE);
        rd_kafka_destroy(rk);
        mock_end(m);
}

static void brokers_are_added_and_removed(void) {
        struct mock m        = mock_start(2);
        rd_kafka_t *rk       = mock_producer(&m, NULL);
        rd_kafka_t *consumer = mock_consumer(&m, "g", NULL);
        int i;

        CHECK_OK(rd_kafka_mock_topic_create(m.cluster, "t", 3, 2));
        for (i = 0; i < 3; i++)
                CHECK_OK(mock_produce(rk, "t", i, NULL));
        CHECK_OK(rd_kafka_mock_broker_add(m.cluster, 5));
        CHECK_STR(mock_brokers(rk), "1 2 5");
        /* The new broker leads one of three partitions. */
        CHECK_INT(mock_leader(rk, "t", 2), 5);
        for (i = 0; i < 3; i++)
                CHECK_OK(mock_produce(rk, "t", i, NULL));
        CHECK_OK(rd_kafka_mock_broker_decommission(m.cluster, 1));
        CHECK_STR(mock_brokers(rk), "2 5");
        for (i = 0; i < 3; i++)
                CHECK_OK(mock_produce(rk, "t", i, NULL));
        /* The records are where the partitions are now. */
        for (i = 0; i < 3; i++)
                CHECK_INT(mock_consume(consumer, "t", i, 0, 3, MOCK_WAIT_MS), 3);
        CHECK_OK(rd_kafka_mock_broker_add(m.cluster, 1));
        CHECK_STR(mock_brokers(rk), "1 2 5");
        CHECK_ERR(rd_kafka_mock_broker_add(m.cluster, 5), RD_KAFKA_RESP_ERR__INVALID_ARG);
        CHECK_ERR(rd_kafka_mock_broker_add(m.cluster, -1), RD_KAFKA_RESP_ERR__INVALID_ARG);
        CHECK_ERR(rd_kafka_mock_broker_add(m.cluster, 1 << 24), RD_KAFKA_RESP_ERR__INVALID_ARG);
        CHECK_ERR(rd_kafka_mock_broker_decommission(m.cluster, 9),
                  RD_KAFKA_RESP_ERR_BROKER_NOT_AVAILABLE);
        rd_kafka_destroy(consumer);
        rd_kafka_destroy(rk);
        mock_end(m);
}

static void broker_that_is_removed_from_metadata_serves_its_connections(void) {
        struct mock m  = mock_start(2);
        rd_kafka_t *rk = mock_producer(&m, NULL);

        CHECK_OK(rd_kafka_mock_partition_set_leader(m.cluster, "t", 0, 1));
        CHECK_OK(mock_produce(rk, "t", 0, NULL));
        CHECK_OK(rd_kafka_mock_broker_remove_from_metadata(m.cluster, 2));
        CHECK_STR(mock_brokers(rk), "1");
        CHECK_OK(mock_produce(rk, "t", 0, NULL));
        CHECK_ERR(rd_kafka_mock_broker_remove_from_metadata(m.cluster, 3),
                  RD_KAFKA_RESP_ERR_BROKER_NOT_AVAILABLE);
        rd_kafka_destroy(rk);
        mock_end(m);
}

static void controller_is_as_set(void) {
        struct mock m  = mock_start(3);
        rd_kafka_t *rk = mock_producer(&m, NULL);
        rd_kafka_t *rk2;

        CHECK_INT(rd_kafka_controllerid(rk, MOCK_WAIT_MS), 1);
        rd_kafka_mock_set_controller_id(m.cluster, 3);
        rk2 = mock_producer(&m, NULL);
        CHECK_INT(rd_kafka_controllerid(rk2, MOCK_WAIT_MS), 3);
        rd_kafka_destroy(rk2);
        rd_kafka_destroy(rk);
        mock_end(m);
}

int main(void) {
        RUN(broker_that_is_down_is_not_in_metadata_and_keeps_its_partitions);
        RUN(all_brokers_go_down_and_up);
        RUN(round_trip_time_delays_every_response);
        RUN(racks_are_as_set);
        RUN(advertised_address_is_as_set);
        RUN(brokers_are_added_and_removed);
        RUN(broker_that_is_removed_from_metadata_serves_its_connections);
        RUN(controller_is_as_set);
        return test_end();
}
