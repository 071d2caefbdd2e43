/* Operations of ottla_admin.h on transactions and their producers, on members of groups, and lists of all groups. */

#ifndef OTTLA_TESTS_REAL_ADMIN_TRANSACTIONS_H
#define OTTLA_TESTS_REAL_ADMIN_TRANSACTIONS_H

#include "call.h"
#include "ottla_admin.h"

/* ---- transactions -------------------------------------------------------- */

static void list_transactions(Call *call) {
    begin(call);
    rd_kafka_ListTransactions(call->rk, NULL, call->options, call->queue);
}

static void print_list_transactions(rd_kafka_event_t *event) {
    size_t cnt = 0;
    const rd_kafka_ListTransactions_result_t *result = rd_kafka_event_ListTransactions_result(event);
    const rd_kafka_TransactionListing_t **rows       = rd_kafka_ListTransactions_result_transactions(result, &cnt);
    for (size_t i = 0; i < cnt; i++) {
        json_open(NULL, '{');
        json_str("transaction", rd_kafka_TransactionListing_transactional_id(rows[i]));
        json_int("producer", rd_kafka_TransactionListing_producer_id(rows[i]));
        json_str("state", rd_kafka_transaction_state_name(rd_kafka_TransactionListing_state(rows[i])));
        json_close('}');
    }
    const rd_kafka_error_t **errors = rd_kafka_ListTransactions_result_errors(result, &cnt);
    for (size_t i = 0; i < cnt; i++) {
        json_open(NULL, '{');
        print_error(errors[i]);
        json_close('}');
    }
}

static void describe_transactions(Call *call) {
    begin(call);
    rd_kafka_DescribeTransactions(call->rk, (const char **)call->argv, call->argc, call->options, call->queue);
}

static void print_describe_transactions(rd_kafka_event_t *event) {
    size_t cnt = 0;
    const rd_kafka_TransactionDescription_t **rows =
        rd_kafka_DescribeTransactions_result_transactions(rd_kafka_event_DescribeTransactions_result(event), &cnt);
    for (size_t i = 0; i < cnt; i++) {
        const rd_kafka_error_t *error = rd_kafka_TransactionDescription_error(rows[i]);
        json_open(NULL, '{');
        json_str("transaction", rd_kafka_TransactionDescription_transactional_id(rows[i]));
        print_error(error);
        if (rd_kafka_error_code(error) == RD_KAFKA_RESP_ERR_NO_ERROR) {
            const rd_kafka_topic_partition_list_t *list = rd_kafka_TransactionDescription_partitions(rows[i]);
            json_int("coordinator", rd_kafka_TransactionDescription_coordinator(rows[i]));
            json_str("state", rd_kafka_transaction_state_name(rd_kafka_TransactionDescription_state(rows[i])));
            json_int("producer", rd_kafka_TransactionDescription_producer_id(rows[i]));
            json_int("epoch", rd_kafka_TransactionDescription_producer_epoch(rows[i]));
            json_int("timeout", rd_kafka_TransactionDescription_timeout_ms(rows[i]));
            json_int("start", rd_kafka_TransactionDescription_start_timestamp(rows[i]));
            json_open("partitions", '[');
            for (int p = 0; list != NULL && p < list->cnt; p++) {
                json_open(NULL, '[');
                json_str(NULL, list->elems[p].topic);
                json_int(NULL, list->elems[p].partition);
                json_close(']');
            }
            json_close(']');
        }
        json_close('}');
    }
}

static void describe_producers(Call *call) {
    rd_kafka_topic_partition_list_t *list = partitions(call->argv, call->argc);
    begin(call);
    rd_kafka_DescribeProducers(call->rk, list, call->options, call->queue);
    rd_kafka_topic_partition_list_destroy(list);
}

static void print_describe_producers(rd_kafka_event_t *event) {
    size_t cnt = 0, producer_cnt = 0;
    const rd_kafka_PartitionProducers_t **rows =
        rd_kafka_DescribeProducers_result_partitions(rd_kafka_event_DescribeProducers_result(event), &cnt);
    for (size_t i = 0; i < cnt; i++) {
        const rd_kafka_ProducerState_t **states = rd_kafka_PartitionProducers_producers(rows[i], &producer_cnt);
        json_open(NULL, '{');
        json_str("topic", rd_kafka_PartitionProducers_partition(rows[i])->topic);
        json_int("partition", rd_kafka_PartitionProducers_partition(rows[i])->partition);
        print_error(rd_kafka_PartitionProducers_error(rows[i]));
        json_open("producers", '[');
        for (size_t s = 0; s < producer_cnt; s++) {
            json_open(NULL, '{');
            json_int("producer", rd_kafka_ProducerState_producer_id(states[s]));
            json_int("epoch", rd_kafka_ProducerState_producer_epoch(states[s]));
            json_int("sequence", rd_kafka_ProducerState_last_sequence(states[s]));
            json_int("timestamp", rd_kafka_ProducerState_last_timestamp(states[s]));
            json_int("coordinator_epoch", rd_kafka_ProducerState_coordinator_epoch(states[s]));
            json_int("start", rd_kafka_ProducerState_transaction_start_offset(states[s]));
            json_close('}');
        }
        json_close(']');
        json_close('}');
    }
}

/* Argument: TOPIC|PARTITION|PRODUCER|EPOCH|COORDINATOR EPOCH. */
static void abort_transaction(Call *call) {
    char *argument = call->argc ? call->argv[0] : "", *topic = part(&argument);
    int32_t partition   = (int32_t)number(part(&argument));
    int64_t producer    = number(part(&argument));
    int32_t epoch       = (int32_t)number(part(&argument));
    int32_t coordinator = (int32_t)number(part(&argument));
    rd_kafka_AbortTransactionSpec_t *spec =
        rd_kafka_AbortTransactionSpec_new(topic, partition, producer, epoch, coordinator);
    if (spec == NULL)
        wrong(topic, "refused");
    begin(call);
    rd_kafka_AbortTransaction(call->rk, spec, call->options, call->queue);
    rd_kafka_AbortTransactionSpec_destroy(spec);
}

static void fence_producers(Call *call) {
    begin(call);
    rd_kafka_FenceProducers(call->rk, (const char **)call->argv, call->argc, call->options, call->queue);
}

static void print_fence_producers(rd_kafka_event_t *event) {
    size_t cnt = 0;
    const rd_kafka_FencedProducer_t **rows =
        rd_kafka_FenceProducers_result_producers(rd_kafka_event_FenceProducers_result(event), &cnt);
    for (size_t i = 0; i < cnt; i++) {
        json_open(NULL, '{');
        json_str("transaction", rd_kafka_FencedProducer_transactional_id(rows[i]));
        print_error(rd_kafka_FencedProducer_error(rows[i]));
        json_int("producer", rd_kafka_FencedProducer_producer_id(rows[i]));
        json_int("epoch", rd_kafka_FencedProducer_producer_epoch(rows[i]));
        json_close('}');
    }
}

static void force_terminate(Call *call) {
    begin(call);
    rd_kafka_ForceTerminateTransaction(call->rk, call->argv[0], call->options, call->queue);
}

/* ---- groups -------------------------------------------------------------- */

/* Arguments: GROUP, then the ids of members; none are all. */
static void remove_members(Call *call) {
    rd_kafka_RemoveMembersFromConsumerGroup_t *removal = rd_kafka_RemoveMembersFromConsumerGroup_new(call->argv[0]);
    if (call->argc == 1)
        rd_kafka_RemoveMembersFromConsumerGroup_set_all_members(removal);
    for (size_t i = 1; i < call->argc; i++)
        rd_kafka_RemoveMembersFromConsumerGroup_add_member(removal, call->argv[i]);
    begin(call);
    rd_kafka_RemoveMembersFromConsumerGroup(call->rk, removal, call->options, call->queue);
    rd_kafka_RemoveMembersFromConsumerGroup_destroy(removal);
}

static void print_remove_members(rd_kafka_event_t *event) {
    size_t cnt = 0;
    const rd_kafka_RemovedMember_t **rows = rd_kafka_RemoveMembersFromConsumerGroup_result_members(
        rd_kafka_event_RemoveMembersFromConsumerGroup_result(event), &cnt);
    for (size_t i = 0; i < cnt; i++) {
        json_open(NULL, '{');
        json_str("member", rd_kafka_RemovedMember_member_id(rows[i]));
        print_error(rd_kafka_RemovedMember_error(rows[i]));
        json_close('}');
    }
}

static void list_all_groups(Call *call) {
    begin(call);
    rd_kafka_ListGroups(call->rk, call->options, call->queue);
}

static void print_list_all_groups(rd_kafka_event_t *event) {
    size_t cnt = 0;
    const rd_kafka_ListGroups_result_t *result = rd_kafka_event_ListGroups_result(event);
    const rd_kafka_GroupListing_t **rows       = rd_kafka_ListGroups_result_groups(result, &cnt);
    for (size_t i = 0; i < cnt; i++) {
        json_open(NULL, '{');
        json_str("group", rd_kafka_GroupListing_group_id(rows[i]));
        json_str("protocol", rd_kafka_GroupListing_protocol_type(rows[i]));
        json_int("simple", rd_kafka_GroupListing_is_simple_consumer_group(rows[i]));
        json_str("state", rd_kafka_group_state_name(rd_kafka_GroupListing_state(rows[i])));
        json_str("type", rd_kafka_group_type_name(rd_kafka_GroupListing_type(rows[i])));
        json_close('}');
    }
    const rd_kafka_error_t **errors = rd_kafka_ListGroups_result_errors(result, &cnt);
    for (size_t i = 0; i < cnt; i++) {
        json_open(NULL, '{');
        print_error(errors[i]);
        json_close('}');
    }
}

#endif
