/* NULL as a handle: an error where the function can return one, and never a crash. */
#define _POSIX_C_SOURCE 200809L
#include "test.h"
#include <ottla_admin.h>

static void clients(void) {
        char errstr[64] = "";
        int64_t low = 0, high = 0;
        rd_kafka_topic_partition_list_t *l = rd_kafka_topic_partition_list_new(1);
        const struct rd_kafka_metadata *md;

        rd_kafka_topic_partition_list_add(l, "t", 0);
        CHECK(rd_kafka_name(NULL) == NULL);
        CHECK(rd_kafka_opaque(NULL) == NULL);
        CHECK_INT(rd_kafka_poll(NULL, 0), 0);
        CHECK_ERR(rd_kafka_flush(NULL, 0), RD_KAFKA_RESP_ERR__INVALID_ARG);
        CHECK_ERR(rd_kafka_purge(NULL, 1), RD_KAFKA_RESP_ERR__INVALID_ARG);
        CHECK_ERR(rd_kafka_fatal_error(NULL, errstr, sizeof(errstr)),
                  RD_KAFKA_RESP_ERR__INVALID_ARG);
        CHECK_ERR(rd_kafka_producev(NULL, RD_KAFKA_V_TOPIC("t"), RD_KAFKA_V_END),
                  RD_KAFKA_RESP_ERR__INVALID_ARG);
        CHECK(rd_kafka_topic_new(NULL, "t", NULL) == NULL);
        CHECK_ERR(rd_kafka_assign(NULL, l), RD_KAFKA_RESP_ERR__INVALID_ARG);
        CHECK_ERR(rd_kafka_subscribe(NULL, l), RD_KAFKA_RESP_ERR__INVALID_ARG);
        CHECK_ERR(rd_kafka_consumer_close(NULL), RD_KAFKA_RESP_ERR__INVALID_ARG);
        CHECK(rd_kafka_consumer_poll(NULL, 0) == NULL);
        CHECK_ERR(rd_kafka_commit(NULL, l, 0), RD_KAFKA_RESP_ERR__INVALID_ARG);
        CHECK_ERR(rd_kafka_metadata(NULL, 1, NULL, &md, 0), RD_KAFKA_RESP_ERR__INVALID_ARG);
        CHECK_ERR(rd_kafka_query_watermark_offsets(NULL, "t", 0, &low, &high, 0),
                  RD_KAFKA_RESP_ERR__INVALID_ARG);
        CHECK_ERR(rd_kafka_offsets_for_times(NULL, l, 0), RD_KAFKA_RESP_ERR__INVALID_ARG);
        CHECK(rd_kafka_queue_new(NULL) == NULL);
        CHECK(rd_kafka_queue_get_main(NULL) == NULL);
        CHECK(rd_kafka_conf(NULL) == NULL);
        CHECK(rd_kafka_consumer_group_metadata(NULL) == NULL);
        CHECK_ERR(rd_kafka_list_groups(NULL, NULL, NULL, 0), RD_KAFKA_RESP_ERR__INVALID_ARG);
        CHECK(rd_kafka_memberid(NULL) == NULL);
        CHECK(rd_kafka_queue_get_background(NULL) == NULL);
        CHECK(rd_kafka_queue_get_partition(NULL, "t", 0) == NULL);
        rd_kafka_destroy(NULL);
        rd_kafka_topic_partition_list_destroy(l);
}

static void administration(void) {
        char errstr[64] = "";
        size_t cnt      = 1;

        CHECK(rd_kafka_AdminOptions_new(NULL, RD_KAFKA_ADMIN_OP_ANY) == NULL);
        CHECK_ERR(rd_kafka_AdminOptions_set_broker(NULL, 1, errstr, sizeof(errstr)),
                  RD_KAFKA_RESP_ERR__INVALID_ARG);
        CHECK(rd_kafka_NewTopic_new(NULL, 1, 1, errstr, sizeof(errstr)) == NULL);
        CHECK_ERR(rd_kafka_NewTopic_set_config(NULL, "a", "b"), RD_KAFKA_RESP_ERR__INVALID_ARG);
        CHECK(rd_kafka_DeleteTopic_new(NULL) == NULL);
        CHECK(rd_kafka_NewPartitions_new(NULL, 1, errstr, sizeof(errstr)) == NULL);
        CHECK_ERR(rd_kafka_ConfigResource_set_config(NULL, "a", "b"), RD_KAFKA_RESP_ERR__INVALID_ARG);
        CHECK(rd_kafka_ConfigResource_name(NULL) == NULL);
        CHECK(rd_kafka_ConfigEntry_name(NULL) == NULL);
        CHECK(rd_kafka_topic_result_name(NULL) == NULL);
        rd_kafka_CreateTopics(NULL, NULL, 0, NULL, NULL);
        CHECK_ERR(rd_kafka_last_error(), RD_KAFKA_RESP_ERR__INVALID_ARG);
        CHECK(rd_kafka_event_CreateTopics_result(NULL) == NULL);
        CHECK(rd_kafka_CreateTopics_result_topics(NULL, &cnt) == NULL);
        CHECK_INT(cnt, 0);
        rd_kafka_AdminOptions_destroy(NULL);
        rd_kafka_NewTopic_destroy(NULL);
        rd_kafka_DeleteTopic_destroy(NULL);
        rd_kafka_NewPartitions_destroy(NULL);
        rd_kafka_ConfigResource_destroy(NULL);
        rd_kafka_NewTopic_destroy_array(NULL, 0);
}

static void administration_of_transactions(void) {
        const rd_kafka_resp_err_t bad = RD_KAFKA_RESP_ERR__INVALID_ARG;
        size_t cnt                    = 1;

        CHECK_ERR(rd_kafka_TransactionFilter_add_state(NULL, RD_KAFKA_TRANSACTION_STATE_ONGOING), bad);
        CHECK_ERR(rd_kafka_TransactionFilter_add_producer_id(NULL, 1), bad);
        CHECK_ERR(rd_kafka_TransactionFilter_set_duration(NULL, 1), bad);
        CHECK_ERR(rd_kafka_TransactionFilter_set_transactional_id_pattern(NULL, "a"), bad);
        CHECK(rd_kafka_TransactionListing_transactional_id(NULL) == NULL);
        CHECK_INT(rd_kafka_TransactionListing_producer_id(NULL), -1);
        CHECK_INT(rd_kafka_TransactionListing_state(NULL), RD_KAFKA_TRANSACTION_STATE_UNKNOWN);
        CHECK_INT(rd_kafka_TransactionListing_coordinator(NULL), -1);
        CHECK(rd_kafka_TransactionDescription_transactional_id(NULL) == NULL);
        CHECK(rd_kafka_TransactionDescription_error(NULL) == NULL);
        CHECK_INT(rd_kafka_TransactionDescription_coordinator(NULL), -1);
        CHECK_INT(rd_kafka_TransactionDescription_state(NULL), RD_KAFKA_TRANSACTION_STATE_UNKNOWN);
        CHECK_INT(rd_kafka_TransactionDescription_producer_id(NULL), -1);
        CHECK_INT(rd_kafka_TransactionDescription_producer_epoch(NULL), -1);
        CHECK_INT(rd_kafka_TransactionDescription_timeout_ms(NULL), -1);
        CHECK_INT(rd_kafka_TransactionDescription_start_timestamp(NULL), -1);
        CHECK(rd_kafka_TransactionDescription_partitions(NULL) == NULL);
        CHECK(rd_kafka_PartitionProducers_partition(NULL) == NULL);
        CHECK(rd_kafka_PartitionProducers_error(NULL) == NULL);
        CHECK(rd_kafka_PartitionProducers_producers(NULL, &cnt) == NULL);
        CHECK_INT(cnt, 0);
        CHECK_INT(rd_kafka_ProducerState_producer_id(NULL), -1);
        CHECK_INT(rd_kafka_ProducerState_producer_epoch(NULL), -1);
        CHECK_INT(rd_kafka_ProducerState_last_sequence(NULL), -1);
        CHECK_INT(rd_kafka_ProducerState_last_timestamp(NULL), -1);
        CHECK_INT(rd_kafka_ProducerState_coordinator_epoch(NULL), -1);
        CHECK_INT(rd_kafka_ProducerState_transaction_start_offset(NULL), -1);
        CHECK(rd_kafka_FencedProducer_transactional_id(NULL) == NULL);
        CHECK(rd_kafka_FencedProducer_error(NULL) == NULL);
        CHECK_INT(rd_kafka_FencedProducer_producer_id(NULL), -1);
        CHECK_INT(rd_kafka_FencedProducer_producer_epoch(NULL), -1);
        CHECK(rd_kafka_Principal_type(NULL) == NULL);
        CHECK(rd_kafka_Principal_name(NULL) == NULL);
        CHECK(rd_kafka_DelegationToken_token_id(NULL) == NULL);
        CHECK(rd_kafka_DelegationToken_owner(NULL) == NULL);
        CHECK(rd_kafka_DelegationToken_requester(NULL) == NULL);
        cnt = 1;
        CHECK(rd_kafka_DelegationToken_renewers(NULL, &cnt) == NULL);
        CHECK_INT(cnt, 0);
        cnt = 1;
        CHECK(rd_kafka_DelegationToken_hmac(NULL, &cnt) == NULL);
        CHECK_INT(cnt, 0);
        CHECK_INT(rd_kafka_DelegationToken_issue_timestamp(NULL), -1);
        CHECK_INT(rd_kafka_DelegationToken_expiry_timestamp(NULL), -1);
        CHECK_INT(rd_kafka_DelegationToken_max_timestamp(NULL), -1);
        rd_kafka_TransactionFilter_destroy(NULL);
        rd_kafka_AbortTransactionSpec_destroy(NULL);
        rd_kafka_Principal_destroy(NULL);
        rd_kafka_Principal_destroy_array(NULL, 2);
        rd_kafka_NewDelegationToken_destroy(NULL);
        rd_kafka_ListTransactions(NULL, NULL, NULL, NULL);
        CHECK_ERR(rd_kafka_last_error(), bad);
        CHECK(rd_kafka_event_ListTransactions_result(NULL) == NULL);
}

static void configurations(void) {
        char errstr[64] = "", value[8];
        size_t size = sizeof(value), cnt = 1;

        CHECK_INT(rd_kafka_conf_set(NULL, "client.id", "x", errstr, sizeof(errstr)),
                  RD_KAFKA_CONF_INVALID);
        CHECK_INT(rd_kafka_conf_get(NULL, "client.id", value, &size), RD_KAFKA_CONF_INVALID);
        CHECK(rd_kafka_conf_dup(NULL) == NULL);
        CHECK(rd_kafka_conf_dump(NULL, &cnt) == NULL);
        rd_kafka_conf_destroy(NULL);
        rd_kafka_topic_conf_destroy(NULL);
        rd_kafka_conf_dump_free(NULL, 0);
}

static void configuration_names_and_values(void) {
        rd_kafka_conf_t *conf = rd_kafka_conf_new();
        char errstr[64] = "", value[8];
        size_t size = sizeof(value);
        CHECK(rd_kafka_conf_set(conf, NULL, "x", errstr, sizeof(errstr)) != RD_KAFKA_CONF_OK);
        CHECK(rd_kafka_conf_get(conf, NULL, value, &size) != RD_KAFKA_CONF_OK);
        rd_kafka_conf_destroy(conf);
}

static void topics_and_queues(void) {
        CHECK(rd_kafka_topic_name(NULL) == NULL);
        CHECK_INT(rd_kafka_produce(NULL, 0, 0, NULL, 0, NULL, 0, NULL), -1);
        CHECK_ERR(rd_kafka_last_error(), RD_KAFKA_RESP_ERR__INVALID_ARG);
        CHECK_INT(rd_kafka_consume_start(NULL, 0, 0), -1);
        CHECK_ERR(rd_kafka_last_error(), RD_KAFKA_RESP_ERR__INVALID_ARG);
        CHECK_INT(rd_kafka_consume_stop(NULL, 0), -1);
        CHECK(rd_kafka_consume(NULL, 0, 0) == NULL);
        CHECK_INT(rd_kafka_consume_batch(NULL, 0, 0, NULL, 0), -1);
        CHECK_ERR(rd_kafka_seek(NULL, 0, 0, 0), RD_KAFKA_RESP_ERR__INVALID_ARG);
        CHECK(rd_kafka_queue_poll(NULL, 0) == NULL);
        CHECK_INT(rd_kafka_queue_length(NULL), 0);
        rd_kafka_queue_yield(NULL);
        rd_kafka_queue_destroy(NULL);
        rd_kafka_topic_destroy(NULL);
}

static void plain_data(void) {
        rd_kafka_error_t *error = rd_kafka_consumer_group_metadata_write(NULL, NULL, NULL);
        CHECK_ERR(rd_kafka_error_code(error), RD_KAFKA_RESP_ERR__INVALID_ARG);
        rd_kafka_error_destroy(error);
        error = rd_kafka_consumer_group_metadata_read(NULL, NULL, 0);
        CHECK_ERR(rd_kafka_error_code(error), RD_KAFKA_RESP_ERR__INVALID_ARG);
        rd_kafka_error_destroy(error);
        CHECK(rd_kafka_consumer_group_metadata_new(NULL) == NULL);
        CHECK(rd_kafka_consumer_group_metadata_member_id(NULL) == NULL);
        rd_kafka_consumer_group_metadata_destroy(NULL);
        rd_kafka_group_list_destroy(NULL);
        rd_kafka_topic_partition_list_destroy(NULL);
        rd_kafka_headers_destroy(NULL);
        rd_kafka_message_destroy(NULL);
        rd_kafka_event_destroy(NULL);
        rd_kafka_error_destroy(NULL);
        rd_kafka_Uuid_destroy(NULL);
        rd_kafka_metadata_destroy(NULL);
        rd_kafka_mem_free(NULL, NULL);
}

/* Wrong kinds of client. */
static void producers_do_not_consume(void) {
        rd_kafka_t *p = test_client(RD_KAFKA_PRODUCER, test_conf());
        rd_kafka_t *c = test_client(RD_KAFKA_CONSUMER, test_conf());
        rd_kafka_topic_t *pt = rd_kafka_topic_new(p, "t", NULL);
        rd_kafka_topic_t *ct = rd_kafka_topic_new(c, "t", NULL);

        CHECK_INT(rd_kafka_consume_start(pt, 0, 0), -1);
        CHECK_ERR(rd_kafka_last_error(), RD_KAFKA_RESP_ERR__INVALID_ARG);
        CHECK_INT(rd_kafka_produce(ct, 0, RD_KAFKA_MSG_F_COPY, (void *)"x", 1, NULL, 0, NULL), -1);
        CHECK_ERR(rd_kafka_flush(c, 0), RD_KAFKA_RESP_ERR__NOT_IMPLEMENTED);
        CHECK_ERR(rd_kafka_subscribe(p, NULL), RD_KAFKA_RESP_ERR__UNKNOWN_GROUP);
        rd_kafka_topic_destroy(pt);
        rd_kafka_topic_destroy(ct);
        rd_kafka_destroy(p);
        rd_kafka_destroy(c);
}

int main(void) {
        RUN(clients);
        RUN(administration);
        RUN(administration_of_transactions);
        RUN(configurations);
        RUN(configuration_names_and_values);
        RUN(topics_and_queues);
        RUN(plain_data);
        RUN(producers_do_not_consume);
        return test_end();
}
