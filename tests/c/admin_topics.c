/* Administration of partitions and the cluster: deleted records, offsets, descriptions. */
#define _POSIX_C_SOURCE 200809L
#include "admin.h"

static char servers[512];

/* ---- DeleteRecords ------------------------------------------------------- */

static void delete_records(void) {
        rd_kafka_topic_partition_list_t *l = rd_kafka_topic_partition_list_new(3);
        const rd_kafka_topic_partition_list_t *rows;
        rd_kafka_DeleteRecords_t *del;
        rd_kafka_event_t *event;
        int64_t low, high;

        rd_kafka_topic_partition_list_add(l, "t", 1)->offset       = RD_KAFKA_OFFSET_END;
        rd_kafka_topic_partition_list_add(l, "nowhere", 0)->offset = 1;
        rd_kafka_topic_partition_list_add(l, "t", 0)->offset       = 2;
        rd_kafka_topic_partition_list_add(l, "t", 99)->offset      = 2;
        del = rd_kafka_DeleteRecords_new(l);
        rd_kafka_DeleteRecords(cluster, &del, 1, NULL, queue);
        rd_kafka_DeleteRecords_destroy(del);
        event = result_of(RD_KAFKA_EVENT_DELETERECORDS_RESULT, "DeleteRecordsResult",
                          RD_KAFKA_RESP_ERR_NO_ERROR, NULL);
        CHECK(rd_kafka_event_ListOffsets_result(event) == NULL);
        rows = rd_kafka_DeleteRecords_result_offsets(rd_kafka_event_DeleteRecords_result(event));
        REQUIRE(rows != NULL && rows->cnt == 4);
        CHECK_INT(rows->elems[0].partition, 1);
        CHECK_INT(rows->elems[0].offset, 5);
        CHECK_OK(rows->elems[0].err);
        CHECK_STR(rows->elems[1].topic, "nowhere");
        CHECK_ERR(rows->elems[1].err, RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART);
        CHECK_INT(rows->elems[2].offset, 2);
        CHECK_ERR(rows->elems[3].err, RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION);
        rd_kafka_event_destroy(event);
        CHECK_OK(rd_kafka_query_watermark_offsets(cluster, "t", 0, &low, &high, 10000));
        CHECK_INT(low, 2);
        CHECK_INT(high, 5);
        rd_kafka_topic_partition_list_destroy(l);
}

static void bad_deletions_are_refused(void) {
        rd_kafka_topic_partition_list_t *l = rd_kafka_topic_partition_list_new(2);
        rd_kafka_DeleteRecords_t *del[2];

        CHECK(rd_kafka_DeleteRecords_new(NULL) == NULL);
        rd_kafka_DeleteRecords_destroy(NULL);
        del[0] = rd_kafka_DeleteRecords_new(l);
        rd_kafka_topic_partition_list_add(l, "t", 0)->offset = 1;
        rd_kafka_topic_partition_list_add(l, "t", 0)->offset = 2;
        del[1] = rd_kafka_DeleteRecords_new(l);
        rd_kafka_DeleteRecords(cluster, del, 1, NULL, queue);
        refused(RD_KAFKA_EVENT_DELETERECORDS_RESULT, "DeleteRecordsResult", "No records to delete");
        rd_kafka_DeleteRecords(cluster, del + 1, 1, NULL, queue);
        refused(RD_KAFKA_EVENT_DELETERECORDS_RESULT, "DeleteRecordsResult",
                "Duplicate partitions not allowed");
        rd_kafka_DeleteRecords(cluster, del, 2, NULL, queue);
        refused(RD_KAFKA_EVENT_DELETERECORDS_RESULT, "DeleteRecordsResult",
                "Exactly one DeleteRecords must be passed");
        rd_kafka_DeleteRecords(cluster, NULL, 0, NULL, queue);
        refused(RD_KAFKA_EVENT_DELETERECORDS_RESULT, "DeleteRecordsResult",
                "Exactly one DeleteRecords must be passed");
        rd_kafka_DeleteRecords_destroy_array(del, 2);
        rd_kafka_topic_partition_list_destroy(l);
}

/* ---- ListOffsets --------------------------------------------------------- */

static void list_offsets(void) {
        rd_kafka_AdminOptions_t *options = rd_kafka_AdminOptions_new(cluster, RD_KAFKA_ADMIN_OP_LISTOFFSETS);
        rd_kafka_topic_partition_list_t *l = rd_kafka_topic_partition_list_new(3);
        const rd_kafka_ListOffsetsResultInfo_t **infos;
        const rd_kafka_topic_partition_t *row;
        rd_kafka_event_t *event;
        rd_kafka_error_t *error;
        size_t cnt = 0;

        CHECK(!rd_kafka_AdminOptions_set_isolation_level(options, RD_KAFKA_ISOLATION_LEVEL_READ_COMMITTED));
        error = rd_kafka_AdminOptions_set_isolation_level(options, (rd_kafka_IsolationLevel_t)2);
        CHECK_ERR(rd_kafka_error_code(error), RD_KAFKA_RESP_ERR__INVALID_ARG);
        rd_kafka_error_destroy(error);
        rd_kafka_topic_partition_list_add(l, "t", 2)->offset = RD_KAFKA_OFFSET_SPEC_LATEST;
        rd_kafka_topic_partition_list_add(l, "t", 0)->offset = RD_KAFKA_OFFSET_SPEC_EARLIEST;
        rd_kafka_topic_partition_list_add(l, "t", 1)->offset = 3500;
        rd_kafka_ListOffsets(cluster, l, options, queue);
        event = result_of(RD_KAFKA_EVENT_LISTOFFSETS_RESULT, "ListOffsetsResult",
                          RD_KAFKA_RESP_ERR_NO_ERROR, NULL);
        infos = rd_kafka_ListOffsets_result_infos(rd_kafka_event_ListOffsets_result(event), &cnt);
        REQUIRE(infos != NULL && cnt == 3);
        row = rd_kafka_ListOffsetsResultInfo_topic_partition(infos[0]);
        REQUIRE(row != NULL);
        CHECK_STR(row->topic, "t");
        CHECK_INT(row->partition, 2);
        CHECK_INT(row->offset, 0);
        CHECK_OK(row->err);
        CHECK_INT(rd_kafka_ListOffsetsResultInfo_timestamp(infos[0]), -1);
        row = rd_kafka_ListOffsetsResultInfo_topic_partition(infos[1]);
        CHECK_INT(row->partition, 0);
        CHECK_INT(row->offset, 0);
        row = rd_kafka_ListOffsetsResultInfo_topic_partition(infos[2]);
        CHECK_INT(row->offset, 3);
        CHECK_INT(rd_kafka_ListOffsetsResultInfo_timestamp(infos[2]), 4000);
        rd_kafka_event_destroy(event);

        l->elems[1].offset = -4;
        rd_kafka_ListOffsets(cluster, l, NULL, queue);
        refused(RD_KAFKA_EVENT_LISTOFFSETS_RESULT, "ListOffsetsResult",
                "Partition 1 has an invalid offset -4");
        l->elems[1].offset    = -1;
        l->elems[1].partition = 2;
        rd_kafka_ListOffsets(cluster, l, NULL, queue);
        refused(RD_KAFKA_EVENT_LISTOFFSETS_RESULT, "ListOffsetsResult",
                "Partitions must not contain duplicates");
        rd_kafka_topic_partition_list_destroy(l);
        l = rd_kafka_topic_partition_list_new(1);
        rd_kafka_ListOffsets(cluster, l, NULL, queue);
        event = result_of(RD_KAFKA_EVENT_LISTOFFSETS_RESULT, "ListOffsetsResult",
                          RD_KAFKA_RESP_ERR_NO_ERROR, NULL);
        rd_kafka_ListOffsets_result_infos(rd_kafka_event_ListOffsets_result(event), &cnt);
        CHECK_INT(cnt, 0);
        rd_kafka_event_destroy(event);
        rd_kafka_topic_partition_list_destroy(l);
        rd_kafka_AdminOptions_destroy(options);
}

/* ---- descriptions -------------------------------------------------------- */

static void describe_topics(void) {
        const char *names[]                 = {"t", "nowhere"};
        rd_kafka_TopicCollection_t *topics  = rd_kafka_TopicCollection_of_topic_names(names, 2);
        const rd_kafka_TopicPartitionInfo_t **partitions;
        const rd_kafka_TopicDescription_t **found;
        const rd_kafka_AclOperation_t *operations;
        rd_kafka_AdminOptions_t *options;
        const rd_kafka_Node_t **nodes;
        rd_kafka_event_t *event;
        size_t cnt = 0, node_cnt = 0, i;

        /* With the operations that the client may perform. */
        options = rd_kafka_AdminOptions_new(cluster, RD_KAFKA_ADMIN_OP_DESCRIBETOPICS);
        CHECK(!rd_kafka_AdminOptions_set_include_authorized_operations(options, 1));
        rd_kafka_DescribeTopics(cluster, topics, options, queue);
        rd_kafka_AdminOptions_destroy(options);
        event = result_of(RD_KAFKA_EVENT_DESCRIBETOPICS_RESULT, "DescribeTopicsResult",
                          RD_KAFKA_RESP_ERR_NO_ERROR, NULL);
        found = rd_kafka_DescribeTopics_result_topics(rd_kafka_event_DescribeTopics_result(event), &cnt);
        REQUIRE(found != NULL && cnt == 2);
        operations = rd_kafka_TopicDescription_authorized_operations(found[0], &cnt);
        REQUIRE(operations != NULL && cnt == 8);
        CHECK_INT(operations[0], RD_KAFKA_ACL_OPERATION_READ);
        CHECK_INT(operations[7], RD_KAFKA_ACL_OPERATION_ALTER_CONFIGS);
        rd_kafka_event_destroy(event);

        rd_kafka_DescribeTopics(cluster, topics, NULL, queue);
        rd_kafka_TopicCollection_destroy(topics);
        event = result_of(RD_KAFKA_EVENT_DESCRIBETOPICS_RESULT, "DescribeTopicsResult",
                          RD_KAFKA_RESP_ERR_NO_ERROR, NULL);
        found = rd_kafka_DescribeTopics_result_topics(rd_kafka_event_DescribeTopics_result(event), &cnt);
        REQUIRE(found != NULL && cnt == 2);
        CHECK_STR(rd_kafka_TopicDescription_name(found[0]), "t");
        CHECK(rd_kafka_TopicDescription_error(found[0]) == NULL);
        CHECK_INT(rd_kafka_TopicDescription_is_internal(found[0]), 0);
        CHECK(rd_kafka_Uuid_most_significant_bits(rd_kafka_TopicDescription_topic_id(found[0])) != 0);
        CHECK_INT(strlen(rd_kafka_Uuid_base64str(rd_kafka_TopicDescription_topic_id(found[0]))), 22);
        CHECK(rd_kafka_TopicDescription_authorized_operations(found[0], &cnt) == NULL);
        partitions = rd_kafka_TopicDescription_partitions(found[0], &cnt);
        REQUIRE(partitions != NULL && cnt >= 3);
        for (i = 0; i < cnt; i++) {
                CHECK_INT(rd_kafka_TopicPartitionInfo_partition(partitions[i]), i);
                CHECK(rd_kafka_Node_port(rd_kafka_TopicPartitionInfo_leader(partitions[i])) > 0);
                nodes = rd_kafka_TopicPartitionInfo_isr(partitions[i], &node_cnt);
                CHECK(node_cnt > 0 && nodes != NULL);
                nodes = rd_kafka_TopicPartitionInfo_replicas(partitions[i], &node_cnt);
                CHECK(node_cnt > 0 && rd_kafka_Node_id(nodes[0]) > 0);
                CHECK(rd_kafka_Node_rack(nodes[0]) == NULL);
        }
        CHECK_STR(rd_kafka_TopicDescription_name(found[1]), "nowhere");
        CHECK_ERR(rd_kafka_error_code(rd_kafka_TopicDescription_error(found[1])),
                  RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART);
        CHECK(rd_kafka_TopicDescription_partitions(found[1], &cnt) == NULL);
        CHECK_INT(cnt, 0);
        rd_kafka_event_destroy(event);
}

static void bad_descriptions_are_refused(void) {
        const char *twice[] = {"t", "t"}, *empty[] = {"t", ""}, *null[] = {"t", NULL};
        rd_kafka_TopicCollection_t *topics;
        rd_kafka_event_t *event;
        size_t cnt = 1;

        CHECK(rd_kafka_TopicCollection_of_topic_names(null, 2) == NULL);
        rd_kafka_TopicCollection_destroy(NULL);
        rd_kafka_DescribeTopics(cluster, NULL, NULL, queue);
        refused(RD_KAFKA_EVENT_DESCRIBETOPICS_RESULT, "DescribeTopicsResult", NULL);
        rd_kafka_ListOffsets(cluster, NULL, NULL, queue);
        refused(RD_KAFKA_EVENT_LISTOFFSETS_RESULT, "ListOffsetsResult", NULL);
        topics = rd_kafka_TopicCollection_of_topic_names(twice, 2);
        rd_kafka_DescribeTopics(cluster, topics, NULL, queue);
        refused(RD_KAFKA_EVENT_DESCRIBETOPICS_RESULT, "DescribeTopicsResult",
                "Duplicate topics not allowed");
        rd_kafka_TopicCollection_destroy(topics);
        topics = rd_kafka_TopicCollection_of_topic_names(empty, 2);
        rd_kafka_DescribeTopics(cluster, topics, NULL, queue);
        refused(RD_KAFKA_EVENT_DESCRIBETOPICS_RESULT, "DescribeTopicsResult",
                "Empty topic name at index 1 isn't allowed");
        rd_kafka_TopicCollection_destroy(topics);
        topics = rd_kafka_TopicCollection_of_topic_names(NULL, 0);
        rd_kafka_DescribeTopics(cluster, topics, NULL, queue);
        rd_kafka_TopicCollection_destroy(topics);
        event = result_of(RD_KAFKA_EVENT_DESCRIBETOPICS_RESULT, "DescribeTopicsResult",
                          RD_KAFKA_RESP_ERR_NO_ERROR, NULL);
        rd_kafka_DescribeTopics_result_topics(rd_kafka_event_DescribeTopics_result(event), &cnt);
        CHECK_INT(cnt, 0);
        rd_kafka_event_destroy(event);
}

static void describe_cluster(void) {
        const rd_kafka_DescribeCluster_result_t *result;
        const rd_kafka_Node_t **nodes;
        rd_kafka_event_t *event;
        char *id   = rd_kafka_clusterid(cluster, 10000);
        size_t cnt = 0, i;

        rd_kafka_DescribeCluster(cluster, NULL, queue);
        event  = result_of(RD_KAFKA_EVENT_DESCRIBECLUSTER_RESULT, "DescribeClusterResult",
                           RD_KAFKA_RESP_ERR_NO_ERROR, NULL);
        result = rd_kafka_event_DescribeCluster_result(event);
        nodes  = rd_kafka_DescribeCluster_result_nodes(result, &cnt);
        REQUIRE(nodes != NULL && cnt == 3);
        for (i = 0; i < cnt; i++)
                CHECK_INT(rd_kafka_Node_id(nodes[i]), i + 1);
        CHECK(rd_kafka_DescribeCluster_result_controller(result) != NULL);
        CHECK_STR(rd_kafka_DescribeCluster_result_cluster_id(result), id);
        CHECK(rd_kafka_DescribeCluster_result_authorized_operations(result, &cnt) == NULL);
        rd_kafka_event_destroy(event);
        rd_kafka_mem_free(cluster, id);
}

/* Accessors of a failed call, and the text of its error. */
static void calls_without_a_broker_time_out(void) {
        const char *pinned    = "Failed while waiting for controller: Local: Timed out";
        rd_kafka_conf_t *conf = test_conf();
        const rd_kafka_DescribeCluster_result_t *result;
        rd_kafka_AdminOptions_t *options;
        rd_kafka_event_t *event;
        rd_kafka_t *rk;
        size_t cnt = 1;

        test_set(conf, "bootstrap.servers", "127.0.0.1:1");
        rk      = test_client(RD_KAFKA_PRODUCER, conf);
        options = rd_kafka_AdminOptions_new(rk, RD_KAFKA_ADMIN_OP_DESCRIBECLUSTER);
        CHECK_OK(rd_kafka_AdminOptions_set_request_timeout(options, 200, NULL, 0));
        rd_kafka_AdminOptions_set_opaque(options, &cnt);
        rd_kafka_DescribeCluster(rk, options, queue);
        event = result_of(RD_KAFKA_EVENT_DESCRIBECLUSTER_RESULT, "DescribeClusterResult",
                          RD_KAFKA_RESP_ERR__TIMED_OUT, pinned);
        CHECK(rd_kafka_event_opaque(event) == &cnt);
        result = rd_kafka_event_DescribeCluster_result(event);
        CHECK(rd_kafka_DescribeCluster_result_nodes(result, &cnt) == NULL);
        CHECK_INT(cnt, 0);
        CHECK(rd_kafka_DescribeCluster_result_controller(result) == NULL);
        CHECK(rd_kafka_DescribeCluster_result_cluster_id(result) == NULL);
        CHECK(rd_kafka_DescribeCluster_result_authorized_operations(result, &cnt) == NULL);
        rd_kafka_event_destroy(event);
        rd_kafka_AdminOptions_destroy(options);
        rd_kafka_destroy(rk);
}

int main(void) {
        cluster = test_cluster(NULL, servers, sizeof(servers));
        queue   = rd_kafka_queue_new(cluster);
        CHECK_INT(test_produce(cluster, "t", 0, 0, 5), 0);
        CHECK_INT(test_produce(cluster, "t", 1, 0, 5), 0);
        RUN(list_offsets);
        RUN(delete_records);
        RUN(bad_deletions_are_refused);
        RUN(describe_topics);
        RUN(bad_descriptions_are_refused);
        RUN(describe_cluster);
        RUN(calls_without_a_broker_time_out);
        rd_kafka_queue_destroy(queue);
        rd_kafka_destroy(cluster);
        return test_end();
}
