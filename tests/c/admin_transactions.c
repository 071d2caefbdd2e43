/* Administration of transactions and delegation tokens (ottla_admin.h). */
#define _POSIX_C_SOURCE 200809L
#include "test.h"
#include <ottla_admin.h>

static rd_kafka_t *cluster;
static rd_kafka_queue_t *queue;
static char servers[512];

/* The result of a call, which must be an event of this type with this error and text (NULL: any). */
static rd_kafka_event_t *
result_of(rd_kafka_event_type_t type, const char *name, rd_kafka_resp_err_t err, const char *text) {
        rd_kafka_event_t *event = rd_kafka_queue_poll(queue, 30000);
        CHECK_INT(rd_kafka_event_type(event), type);
        CHECK_STR(rd_kafka_event_name(event), name);
        CHECK_ERR(rd_kafka_event_error(event), err);
        if (text)
                CHECK_STR(rd_kafka_event_error_string(event), text);
        return event;
}

static void refused(rd_kafka_event_type_t type, const char *name, const char *text) {
        rd_kafka_event_destroy(result_of(type, name, RD_KAFKA_RESP_ERR__INVALID_ARG, text));
}

/* ---- calls and their results, by name ------------------------------------ */

#define OK RD_KAFKA_RESP_ERR_NO_ERROR

static rd_kafka_event_t *listed(const rd_kafka_TransactionFilter_t *filter) {
        rd_kafka_ListTransactions(cluster, filter, NULL, queue);
        return result_of(RD_KAFKA_EVENT_LISTTRANSACTIONS_RESULT, "ListTransactionsResult", OK, NULL);
}

static rd_kafka_event_t *described(const char **ids, size_t cnt) {
        rd_kafka_DescribeTransactions(cluster, ids, cnt, NULL, queue);
        return result_of(RD_KAFKA_EVENT_DESCRIBETRANSACTIONS_RESULT, "DescribeTransactionsResult", OK, NULL);
}

/* The producers of a partition of "t", of which there must be a number. The event is destroyed by the caller. */
static const rd_kafka_ProducerState_t **
producers_of(int32_t partition, size_t expected, rd_kafka_event_t **event) {
        rd_kafka_topic_partition_list_t *l = rd_kafka_topic_partition_list_new(1);
        const rd_kafka_PartitionProducers_t **partitions;
        const rd_kafka_ProducerState_t **producers;
        size_t cnt = 0;

        rd_kafka_topic_partition_list_add(l, "t", partition);
        rd_kafka_DescribeProducers(cluster, l, NULL, queue);
        rd_kafka_topic_partition_list_destroy(l);
        *event = result_of(RD_KAFKA_EVENT_DESCRIBEPRODUCERS_RESULT, "DescribeProducersResult", OK, NULL);
        partitions = rd_kafka_DescribeProducers_result_partitions(
            rd_kafka_event_DescribeProducers_result(*event), &cnt);
        if (!CHECK(partitions != NULL && cnt == 1))
                return NULL;
        CHECK(rd_kafka_PartitionProducers_error(partitions[0]) == NULL);
        producers = rd_kafka_PartitionProducers_producers(partitions[0], &cnt);
        CHECK_INT(cnt, expected);
        return cnt == expected ? producers : NULL;
}

/* A transactional producer whose transaction is open, with a message in partitions 0 and 1 of "t". */
static rd_kafka_t *transaction(const char *id) {
        rd_kafka_conf_t *conf = test_conf();
        rd_kafka_error_t *error;
        rd_kafka_t *rk;

        test_set(conf, "bootstrap.servers", servers);
        test_set(conf, "transactional.id", id);
        test_set(conf, "transaction.timeout.ms", "50000");
        rk    = test_client(RD_KAFKA_PRODUCER, conf);
        error = rd_kafka_init_transactions(rk, 20000);
        CHECK_ERR(rd_kafka_error_code(error), OK);
        error = rd_kafka_begin_transaction(rk);
        CHECK_ERR(rd_kafka_error_code(error), OK);
        CHECK_INT(test_produce(rk, "t", 0, 0, 1), 0);
        CHECK_INT(test_produce(rk, "t", 1, 0, 1), 0);
        return rk;
}

/* ---- arguments ----------------------------------------------------------- */

static void each_operation_has_options(void) {
        const rd_kafka_admin_op_t ops[] = {
            RD_KAFKA_ADMIN_OP_LISTTRANSACTIONS,         RD_KAFKA_ADMIN_OP_DESCRIBETRANSACTIONS,
            RD_KAFKA_ADMIN_OP_ABORTTRANSACTION,         RD_KAFKA_ADMIN_OP_FENCEPRODUCERS,
            RD_KAFKA_ADMIN_OP_DESCRIBEPRODUCERS,        RD_KAFKA_ADMIN_OP_FORCETERMINATETRANSACTION,
            RD_KAFKA_ADMIN_OP_CREATEDELEGATIONTOKEN,    RD_KAFKA_ADMIN_OP_RENEWDELEGATIONTOKEN,
            RD_KAFKA_ADMIN_OP_EXPIREDELEGATIONTOKEN,    RD_KAFKA_ADMIN_OP_DESCRIBEDELEGATIONTOKEN,
        };
        size_t i;

        for (i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
                rd_kafka_AdminOptions_t *options = rd_kafka_AdminOptions_new(cluster, ops[i]);
                CHECK(options != NULL);
                CHECK_OK(rd_kafka_AdminOptions_set_request_timeout(options, 1000, NULL, 0));
                CHECK_OK(rd_kafka_AdminOptions_set_broker(options, 1, NULL, 0));
                CHECK_ERR(rd_kafka_AdminOptions_set_operation_timeout(options, 1000, NULL, 0),
                          RD_KAFKA_RESP_ERR__INVALID_ARG);
                CHECK_ERR(rd_kafka_AdminOptions_set_validate_only(options, 1, NULL, 0),
                          RD_KAFKA_RESP_ERR__INVALID_ARG);
                rd_kafka_AdminOptions_destroy(options);
        }
        CHECK(rd_kafka_AdminOptions_new(cluster, (rd_kafka_admin_op_t)1026) == NULL);
}

static void objects_are_checked(void) {
        rd_kafka_TransactionFilter_t *filter = rd_kafka_TransactionFilter_new();
        rd_kafka_Principal_t *none           = NULL;
        const rd_kafka_resp_err_t bad        = RD_KAFKA_RESP_ERR__INVALID_ARG;

        CHECK_ERR(rd_kafka_TransactionFilter_add_state(filter, RD_KAFKA_TRANSACTION_STATE_UNKNOWN), bad);
        CHECK_ERR(rd_kafka_TransactionFilter_add_state(filter, (rd_kafka_transaction_state_t)8), bad);
        CHECK_ERR(rd_kafka_TransactionFilter_add_state(filter, (rd_kafka_transaction_state_t)-1), bad);
        CHECK_ERR(rd_kafka_TransactionFilter_add_producer_id(filter, -1), bad);
        CHECK_ERR(rd_kafka_TransactionFilter_set_duration(filter, -1), bad);
        CHECK_ERR(rd_kafka_TransactionFilter_set_transactional_id_pattern(filter, NULL), bad);
        CHECK_ERR(rd_kafka_TransactionFilter_set_transactional_id_pattern(filter, "\xff"), bad);
        rd_kafka_TransactionFilter_destroy(filter);
        CHECK_STR(rd_kafka_transaction_state_name(RD_KAFKA_TRANSACTION_STATE_PREPARE_EPOCH_FENCE),
                  "PrepareEpochFence");
        CHECK_STR(rd_kafka_transaction_state_name(RD_KAFKA_TRANSACTION_STATE_UNKNOWN), "Unknown");
        CHECK(rd_kafka_transaction_state_name((rd_kafka_transaction_state_t)8) == NULL);

        CHECK(rd_kafka_AbortTransactionSpec_new(NULL, 0, 1, 0, 0) == NULL);
        CHECK(rd_kafka_Principal_new(NULL, "a") == NULL);
        CHECK(rd_kafka_Principal_new("User", NULL) == NULL);
        CHECK(rd_kafka_NewDelegationToken_new(NULL, &none, 1, -1) == NULL);
}

/* Abort specs with a number out of range. */
static void bad_specs_are_refused(void) {
        const struct {
                int64_t producer_id;
                int32_t producer_epoch, coordinator_epoch;
                const char *text;
        } specs[] = {
            {-1, 0, 0, "The producer id is negative"},
            {1, -1, 0, "The producer epoch is negative"},
            {1, 32768, 0, "The producer epoch is out of range"},
            {1, 0, -1, "The coordinator epoch is negative"},
        };
        size_t i;

        for (i = 0; i < sizeof(specs) / sizeof(specs[0]); i++) {
                rd_kafka_AbortTransactionSpec_t *spec = rd_kafka_AbortTransactionSpec_new(
                    "t", 0, specs[i].producer_id, specs[i].producer_epoch, specs[i].coordinator_epoch);
                rd_kafka_AbortTransaction(cluster, spec, NULL, queue);
                rd_kafka_AbortTransactionSpec_destroy(spec);
                refused(RD_KAFKA_EVENT_ABORTTRANSACTION_RESULT, "AbortTransactionResult", specs[i].text);
        }
        rd_kafka_AbortTransaction(cluster, NULL, NULL, queue);
        refused(RD_KAFKA_EVENT_ABORTTRANSACTION_RESULT, "AbortTransactionResult", "The transaction is NULL");
}

static void bad_ids_and_partitions_are_refused(void) {
        const rd_kafka_event_type_t describe  = RD_KAFKA_EVENT_DESCRIBETRANSACTIONS_RESULT;
        const rd_kafka_event_type_t fence     = RD_KAFKA_EVENT_FENCEPRODUCERS_RESULT;
        const rd_kafka_event_type_t terminate = RD_KAFKA_EVENT_FORCETERMINATETRANSACTION_RESULT;
        const rd_kafka_event_type_t producers = RD_KAFKA_EVENT_DESCRIBEPRODUCERS_RESULT;
        rd_kafka_topic_partition_list_t *l    = rd_kafka_topic_partition_list_new(2);
        const char *ids[]                     = {"a", "a"};

        rd_kafka_DescribeTransactions(cluster, ids, 0, NULL, queue);
        refused(describe, "DescribeTransactionsResult", "No transactional ids to describe");
        rd_kafka_DescribeTransactions(cluster, NULL, 3, NULL, queue);
        refused(describe, "DescribeTransactionsResult", "No transactional ids to describe");
        rd_kafka_DescribeTransactions(cluster, ids, 2, NULL, queue);
        refused(describe, "DescribeTransactionsResult", "Duplicate transactional ids not allowed");
        rd_kafka_FenceProducers(cluster, ids, 0, NULL, queue);
        refused(fence, "FenceProducersResult", "No transactional ids to fence");
        rd_kafka_FenceProducers(cluster, ids, 2, NULL, queue);
        refused(fence, "FenceProducersResult", "Duplicate transactional ids not allowed");
        ids[1] = "";
        rd_kafka_DescribeTransactions(cluster, ids, 2, NULL, queue);
        refused(describe, "DescribeTransactionsResult", "Empty transactional ids not allowed");
        ids[1] = NULL;
        rd_kafka_DescribeTransactions(cluster, ids, 2, NULL, queue);
        refused(describe, "DescribeTransactionsResult", "Transactional id 1 is NULL or not UTF-8");
        rd_kafka_FenceProducers(cluster, ids, 2, NULL, queue);
        refused(fence, "FenceProducersResult", "Transactional id 1 is NULL or not UTF-8");

        rd_kafka_ForceTerminateTransaction(cluster, NULL, NULL, queue);
        refused(terminate, "ForceTerminateTransactionResult", "The transactional id is NULL");
        rd_kafka_ForceTerminateTransaction(cluster, "", NULL, queue);
        refused(terminate, "ForceTerminateTransactionResult", "Empty transactional ids not allowed");

        rd_kafka_DescribeProducers(cluster, NULL, NULL, queue);
        refused(producers, "DescribeProducersResult", "No partitions to describe");
        rd_kafka_topic_partition_list_add(l, "t", 0);
        rd_kafka_topic_partition_list_add(l, "t", 0);
        rd_kafka_DescribeProducers(cluster, l, NULL, queue);
        refused(producers, "DescribeProducersResult", "Duplicate partitions not allowed");
        rd_kafka_topic_partition_list_destroy(l);
}

static void bad_tokens_are_refused(void) {
        const rd_kafka_event_type_t create   = RD_KAFKA_EVENT_CREATEDELEGATIONTOKEN_RESULT;
        const rd_kafka_event_type_t renew    = RD_KAFKA_EVENT_RENEWDELEGATIONTOKEN_RESULT;
        const rd_kafka_event_type_t expire   = RD_KAFKA_EVENT_EXPIREDELEGATIONTOKEN_RESULT;
        const rd_kafka_event_type_t describe = RD_KAFKA_EVENT_DESCRIBEDELEGATIONTOKEN_RESULT;
        rd_kafka_Principal_t *nameless       = rd_kafka_Principal_new("User", "");
        rd_kafka_NewDelegationToken_t *token = rd_kafka_NewDelegationToken_new(NULL, &nameless, 1, -1);
        rd_kafka_Principal_t *owners[2];

        rd_kafka_CreateDelegationToken(cluster, NULL, NULL, queue);
        refused(create, "CreateDelegationTokenResult", "The token is NULL");
        rd_kafka_CreateDelegationToken(cluster, token, NULL, queue);
        refused(create, "CreateDelegationTokenResult", "A principal has no type or no name");
        rd_kafka_RenewDelegationToken(cluster, NULL, 3, -1, NULL, queue);
        refused(renew, "RenewDelegationTokenResult", "The HMAC of the token is NULL");
        rd_kafka_RenewDelegationToken(cluster, "x", 0, -1, NULL, queue);
        refused(renew, "RenewDelegationTokenResult", "The HMAC of the token is empty");
        rd_kafka_ExpireDelegationToken(cluster, NULL, 3, -1, NULL, queue);
        refused(expire, "ExpireDelegationTokenResult", "The HMAC of the token is NULL");
        rd_kafka_ExpireDelegationToken(cluster, "x", 0, -1, NULL, queue);
        refused(expire, "ExpireDelegationTokenResult", "The HMAC of the token is empty");
        owners[0] = nameless;
        owners[1] = NULL;
        rd_kafka_DescribeDelegationToken(cluster, owners, 1, NULL, queue);
        refused(describe, "DescribeDelegationTokenResult", "A principal has no type or no name");
        rd_kafka_DescribeDelegationToken(cluster, owners, 2, NULL, queue);
        refused(describe, "DescribeDelegationTokenResult",
                "Element 1 of the array is NULL or no such object");
        rd_kafka_NewDelegationToken_destroy(token);
        rd_kafka_Principal_destroy(nameless);
}

/* Functions of a result return nothing for the event of another operation. */
static void results_of_other_operations_are_nothing(void) {
        rd_kafka_event_t *list = listed(NULL), *other;
        const char *ids[]      = {"a"};
        size_t cnt             = 1;

        other = described(ids, 1);
        CHECK(rd_kafka_event_ListTransactions_result(list) != NULL);
        CHECK(rd_kafka_event_ListTransactions_result(other) == NULL);
        CHECK(rd_kafka_event_DescribeTransactions_result(list) == NULL);
        CHECK(rd_kafka_event_AbortTransaction_result(list) == NULL);
        CHECK(rd_kafka_event_FenceProducers_result(list) == NULL);
        CHECK(rd_kafka_event_DescribeProducers_result(list) == NULL);
        CHECK(rd_kafka_event_ForceTerminateTransaction_result(list) == NULL);
        CHECK(rd_kafka_event_CreateDelegationToken_result(list) == NULL);
        CHECK(rd_kafka_event_RenewDelegationToken_result(list) == NULL);
        CHECK(rd_kafka_event_ExpireDelegationToken_result(list) == NULL);
        CHECK(rd_kafka_event_DescribeDelegationToken_result(list) == NULL);
        CHECK(rd_kafka_event_DeleteGroups_result(list) == NULL);
        CHECK(rd_kafka_event_ListTransactions_result(NULL) == NULL);
#define NOTHING(call)                                                                              \
        do {                                                                                       \
                cnt = 1;                                                                           \
                CHECK((call) == NULL);                                                             \
                CHECK_INT(cnt, 0);                                                                 \
        } while (0)
        NOTHING(rd_kafka_ListTransactions_result_transactions(other, &cnt));
        NOTHING(rd_kafka_ListTransactions_result_errors(other, &cnt));
        NOTHING(rd_kafka_ListTransactions_result_transactions(NULL, &cnt));
        NOTHING(rd_kafka_ListTransactions_result_errors(NULL, &cnt));
        NOTHING(rd_kafka_DescribeTransactions_result_transactions(list, &cnt));
        NOTHING(rd_kafka_DescribeTransactions_result_transactions(NULL, &cnt));
        NOTHING(rd_kafka_DescribeProducers_result_partitions(list, &cnt));
        NOTHING(rd_kafka_DescribeProducers_result_partitions(NULL, &cnt));
        NOTHING(rd_kafka_FenceProducers_result_producers(list, &cnt));
        NOTHING(rd_kafka_FenceProducers_result_producers(NULL, &cnt));
        NOTHING(rd_kafka_DescribeDelegationToken_result_tokens(list, &cnt));
        NOTHING(rd_kafka_DescribeDelegationToken_result_tokens(NULL, &cnt));
        CHECK(rd_kafka_CreateDelegationToken_result_token(list) == NULL);
        CHECK(rd_kafka_CreateDelegationToken_result_token(NULL) == NULL);
        CHECK_INT(rd_kafka_RenewDelegationToken_result_expiry_timestamp(list), -1);
        CHECK_INT(rd_kafka_RenewDelegationToken_result_expiry_timestamp(NULL), -1);
        CHECK_INT(rd_kafka_ExpireDelegationToken_result_expiry_timestamp(list), -1);
        CHECK_INT(rd_kafka_ExpireDelegationToken_result_expiry_timestamp(NULL), -1);
        rd_kafka_event_destroy(list);
        rd_kafka_event_destroy(other);
}

/* ---- transactions -------------------------------------------------------- */

static void transactions_are_listed_by_filters(void) {
        rd_kafka_t *a = transaction("list-a"), *b = transaction("list-b");
        rd_kafka_TransactionFilter_t *filter = rd_kafka_TransactionFilter_new();
        const rd_kafka_TransactionListing_t **rows;
        rd_kafka_event_t *event;
        int64_t producer_id;
        size_t cnt = 0;

        rd_kafka_error_destroy(rd_kafka_commit_transaction(b, 20000));
        CHECK_OK(rd_kafka_TransactionFilter_set_transactional_id_pattern(filter, "list-[a-z]"));
        event = listed(filter);
        rows  = rd_kafka_ListTransactions_result_transactions(rd_kafka_event_ListTransactions_result(event),
                                                              &cnt);
        REQUIRE(rows != NULL && cnt == 2);
        CHECK_STR(rd_kafka_TransactionListing_transactional_id(rows[0]), "list-a");
        CHECK_STR(rd_kafka_TransactionListing_transactional_id(rows[1]), "list-b");
        CHECK_INT(rd_kafka_TransactionListing_state(rows[0]), RD_KAFKA_TRANSACTION_STATE_ONGOING);
        producer_id = rd_kafka_TransactionListing_producer_id(rows[0]);
        CHECK(producer_id >= 0);
        CHECK(producer_id != rd_kafka_TransactionListing_producer_id(rows[1]));
        CHECK(rd_kafka_TransactionListing_coordinator(rows[0]) >= 1);
        CHECK(rd_kafka_ListTransactions_result_errors(event, &cnt) == NULL);
        CHECK_INT(cnt, 0);
        rd_kafka_event_destroy(event);

        CHECK_OK(rd_kafka_TransactionFilter_add_state(filter, RD_KAFKA_TRANSACTION_STATE_ONGOING));
        CHECK_OK(rd_kafka_TransactionFilter_add_producer_id(filter, producer_id));
        event = listed(filter);
        CHECK(rd_kafka_ListTransactions_result_transactions(event, &cnt) != NULL);
        CHECK_INT(cnt, 1);
        rd_kafka_event_destroy(event);
        CHECK_OK(rd_kafka_TransactionFilter_set_duration(filter, 3600000));
        event = listed(filter);
        CHECK(rd_kafka_ListTransactions_result_transactions(event, &cnt) == NULL);
        CHECK_INT(cnt, 0);
        rd_kafka_event_destroy(event);

        /* Each broker rejects the pattern. */
        CHECK_OK(rd_kafka_TransactionFilter_set_transactional_id_pattern(filter, "("));
        event = listed(filter);
        CHECK(rd_kafka_ListTransactions_result_errors(event, &cnt) != NULL);
        CHECK_INT(cnt, 3);
        CHECK_ERR(rd_kafka_error_code(rd_kafka_ListTransactions_result_errors(event, NULL)[0]),
                  RD_KAFKA_RESP_ERR_INVALID_REGULAR_EXPRESSION);
        rd_kafka_event_destroy(event);
        rd_kafka_TransactionFilter_destroy(filter);
        rd_kafka_error_destroy(rd_kafka_abort_transaction(a, 20000));
        rd_kafka_destroy(a);
        rd_kafka_destroy(b);
}

static void transactions_are_described(void) {
        const char *ids[] = {"none", "describe"};
        int64_t begin_ms  = (int64_t)time(NULL) * 1000;
        rd_kafka_t *rk    = transaction("describe");
        const rd_kafka_TransactionDescription_t **rows;
        const rd_kafka_topic_partition_list_t *partitions;
        rd_kafka_event_t *event = described(ids, 2);
        int64_t started_ms;
        size_t cnt = 0;

        rows = rd_kafka_DescribeTransactions_result_transactions(
            rd_kafka_event_DescribeTransactions_result(event), &cnt);
        REQUIRE(rows != NULL && cnt == 2);
        CHECK_STR(rd_kafka_TransactionDescription_transactional_id(rows[0]), "none");
        CHECK_ERR(rd_kafka_error_code(rd_kafka_TransactionDescription_error(rows[0])),
                  RD_KAFKA_RESP_ERR_TRANSACTIONAL_ID_NOT_FOUND);
        CHECK_INT(rd_kafka_TransactionDescription_producer_id(rows[0]), -1);
        CHECK(rd_kafka_TransactionDescription_partitions(rows[0]) == NULL);
        CHECK_STR(rd_kafka_TransactionDescription_transactional_id(rows[1]), "describe");
        CHECK(rd_kafka_TransactionDescription_error(rows[1]) == NULL);
        CHECK(rd_kafka_TransactionDescription_coordinator(rows[1]) >= 1);
        CHECK_INT(rd_kafka_TransactionDescription_state(rows[1]), RD_KAFKA_TRANSACTION_STATE_ONGOING);
        CHECK(rd_kafka_TransactionDescription_producer_id(rows[1]) >= 0);
        CHECK_INT(rd_kafka_TransactionDescription_producer_epoch(rows[1]), 0);
        CHECK_INT(rd_kafka_TransactionDescription_timeout_ms(rows[1]), 50000);
        started_ms = rd_kafka_TransactionDescription_start_timestamp(rows[1]);
        CHECK(started_ms >= begin_ms - 2000 && started_ms <= begin_ms + 60000);
        partitions = rd_kafka_TransactionDescription_partitions(rows[1]);
        REQUIRE(partitions != NULL && partitions->cnt == 2);
        CHECK_STR(partitions->elems[0].topic, "t");
        CHECK_INT(partitions->elems[0].partition, 0);
        CHECK_INT(partitions->elems[1].partition, 1);
        rd_kafka_event_destroy(event);
        rd_kafka_error_destroy(rd_kafka_abort_transaction(rk, 20000));
        rd_kafka_destroy(rk);
}

/* Aborts a producer's transaction in a partition of "t". */
static void abort_in(int32_t partition, int64_t id, int32_t epoch, int32_t coordinator, rd_kafka_resp_err_t err) {
        rd_kafka_AbortTransactionSpec_t *spec =
            rd_kafka_AbortTransactionSpec_new("t", partition, id, epoch, coordinator);
        rd_kafka_event_t *event;

        rd_kafka_AbortTransaction(cluster, spec, NULL, queue);
        rd_kafka_AbortTransactionSpec_destroy(spec);
        event = result_of(RD_KAFKA_EVENT_ABORTTRANSACTION_RESULT, "AbortTransactionResult", err, NULL);
        CHECK(rd_kafka_event_AbortTransaction_result(event) != NULL);
        rd_kafka_event_destroy(event);
}

/* The producer of the transaction that is open in a partition, among those that have written to it. */
static const rd_kafka_ProducerState_t *open_in(const rd_kafka_PartitionProducers_t *partition) {
        const rd_kafka_ProducerState_t **producers, *found = NULL;
        size_t cnt = 0, i;

        producers = rd_kafka_PartitionProducers_producers(partition, &cnt);
        for (i = 0; i < cnt; i++) {
                if (rd_kafka_ProducerState_transaction_start_offset(producers[i]) >= 0)
                        found = producers[i];
        }
        return found;
}

static void a_transaction_is_aborted_in_one_partition(void) {
        rd_kafka_t *rk                     = transaction("hanging");
        rd_kafka_topic_partition_list_t *l = rd_kafka_topic_partition_list_new(3);
        const rd_kafka_PartitionProducers_t **partitions;
        const rd_kafka_ProducerState_t *producer;
        rd_kafka_event_t *event;
        int64_t id;
        int32_t epoch;
        size_t cnt = 0;

        rd_kafka_topic_partition_list_add(l, "t", 1);
        rd_kafka_topic_partition_list_add(l, "none", 0);
        rd_kafka_topic_partition_list_add(l, "t", 0);
        rd_kafka_DescribeProducers(cluster, l, NULL, queue);
        event = result_of(RD_KAFKA_EVENT_DESCRIBEPRODUCERS_RESULT, "DescribeProducersResult", OK, NULL);
        partitions = rd_kafka_DescribeProducers_result_partitions(
            rd_kafka_event_DescribeProducers_result(event), &cnt);
        REQUIRE(partitions != NULL && cnt == 3);
        CHECK_INT(rd_kafka_PartitionProducers_partition(partitions[0])->partition, 1);
        CHECK_STR(rd_kafka_PartitionProducers_partition(partitions[1])->topic, "none");
        CHECK_ERR(rd_kafka_PartitionProducers_partition(partitions[1])->err,
                  RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART);
        CHECK_ERR(rd_kafka_error_code(rd_kafka_PartitionProducers_error(partitions[1])),
                  RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART);
        CHECK(rd_kafka_PartitionProducers_producers(partitions[1], &cnt) == NULL);
        producer = open_in(partitions[0]);
        REQUIRE(producer != NULL);
        id    = rd_kafka_ProducerState_producer_id(producer);
        epoch = rd_kafka_ProducerState_producer_epoch(producer);
        CHECK(id >= 0 && epoch >= 0);
        CHECK_INT(rd_kafka_ProducerState_last_sequence(producer), 0);
        CHECK_INT(rd_kafka_ProducerState_last_timestamp(producer), 1000);
        CHECK_INT(rd_kafka_ProducerState_coordinator_epoch(producer), -1);
        producer = open_in(partitions[2]);
        REQUIRE(producer != NULL);
        CHECK_INT(rd_kafka_ProducerState_producer_id(producer), id);
        rd_kafka_event_destroy(event);

        abort_in(1, id, epoch, 3, OK);
        abort_in(1, id, epoch, 2, RD_KAFKA_RESP_ERR_TRANSACTION_COORDINATOR_FENCED);
        abort_in(99, id, epoch, 3, RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION);
        rd_kafka_DescribeProducers(cluster, l, NULL, queue);
        event = result_of(RD_KAFKA_EVENT_DESCRIBEPRODUCERS_RESULT, "DescribeProducersResult", OK, NULL);
        partitions = rd_kafka_DescribeProducers_result_partitions(event, &cnt);
        REQUIRE(partitions != NULL && cnt == 3);
        CHECK(open_in(partitions[0]) == NULL);
        CHECK(open_in(partitions[2]) != NULL);
        rd_kafka_event_destroy(event);
        rd_kafka_topic_partition_list_destroy(l);
        rd_kafka_destroy(rk);
}

/* A broker without a replica answers for itself. */
static void producers_are_described_by_the_broker_of_the_options(void) {
        rd_kafka_AdminOptions_t *options =
            rd_kafka_AdminOptions_new(cluster, RD_KAFKA_ADMIN_OP_DESCRIBEPRODUCERS);
        rd_kafka_topic_partition_list_t *l = rd_kafka_topic_partition_list_new(1);
        rd_kafka_NewTopic_t *topic         = rd_kafka_NewTopic_new("one", 1, -1, NULL, 0);
        int32_t broker                     = 2;
        const rd_kafka_PartitionProducers_t **partitions;
        rd_kafka_event_t *event;
        size_t cnt = 0;

        CHECK_OK(rd_kafka_NewTopic_set_replica_assignment(topic, 0, &broker, 1, NULL, 0));
        rd_kafka_CreateTopics(cluster, &topic, 1, NULL, queue);
        rd_kafka_NewTopic_destroy(topic);
        rd_kafka_event_destroy(result_of(RD_KAFKA_EVENT_CREATETOPICS_RESULT, "CreateTopicsResult", OK, NULL));
        rd_kafka_topic_partition_list_add(l, "one", 0);
        for (broker = 2; broker <= 3; broker++) {
                const rd_kafka_error_t *error;
                CHECK_OK(rd_kafka_AdminOptions_set_broker(options, broker, NULL, 0));
                rd_kafka_DescribeProducers(cluster, l, options, queue);
                event = result_of(RD_KAFKA_EVENT_DESCRIBEPRODUCERS_RESULT, "DescribeProducersResult", OK, NULL);
                partitions = rd_kafka_DescribeProducers_result_partitions(event, &cnt);
                REQUIRE(partitions != NULL && cnt == 1);
                error = rd_kafka_PartitionProducers_error(partitions[0]);
                CHECK_ERR(rd_kafka_error_code(error),
                          broker == 2 ? OK : RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION);
                rd_kafka_event_destroy(event);
        }
        rd_kafka_topic_partition_list_destroy(l);
        rd_kafka_AdminOptions_destroy(options);
}

/* The producer's commit fails; the transactional id has no transaction. */
static void check_fenced(rd_kafka_t *rk, const char *id) {
        rd_kafka_error_t *error = rd_kafka_commit_transaction(rk, 20000);
        rd_kafka_event_t *event = described(&id, 1);
        const rd_kafka_TransactionDescription_t **rows;

        CHECK(error != NULL);
        CHECK(rd_kafka_error_is_fatal(error));
        rd_kafka_error_destroy(error);
        rows = rd_kafka_DescribeTransactions_result_transactions(event, NULL);
        REQUIRE(rows != NULL);
        CHECK_INT(rd_kafka_TransactionDescription_state(rows[0]), RD_KAFKA_TRANSACTION_STATE_EMPTY);
        CHECK_INT(rd_kafka_TransactionDescription_partitions(rows[0])->cnt, 0);
        rd_kafka_event_destroy(event);
        rd_kafka_destroy(rk);
}

static void producers_are_fenced(void) {
        rd_kafka_t *rk    = transaction("fenced");
        const char *ids[] = {"created", "fenced"};
        const rd_kafka_FencedProducer_t **rows;
        rd_kafka_event_t *event;
        size_t cnt = 0;

        rd_kafka_FenceProducers(cluster, ids, 2, NULL, queue);
        event = result_of(RD_KAFKA_EVENT_FENCEPRODUCERS_RESULT, "FenceProducersResult", OK, NULL);
        rows  = rd_kafka_FenceProducers_result_producers(rd_kafka_event_FenceProducers_result(event), &cnt);
        REQUIRE(rows != NULL && cnt == 2);
        CHECK_STR(rd_kafka_FencedProducer_transactional_id(rows[0]), "created");
        CHECK_STR(rd_kafka_FencedProducer_transactional_id(rows[1]), "fenced");
        CHECK(rd_kafka_FencedProducer_error(rows[0]) == NULL);
        CHECK_INT(rd_kafka_FencedProducer_producer_epoch(rows[0]), 0);
        CHECK(rd_kafka_FencedProducer_error(rows[1]) == NULL);
        CHECK(rd_kafka_FencedProducer_producer_id(rows[1]) >= 0);
        /* One for the abort, one for the assignment. */
        CHECK_INT(rd_kafka_FencedProducer_producer_epoch(rows[1]), 2);
        rd_kafka_event_destroy(event);
        check_fenced(rk, "fenced");
}

static void a_transaction_is_terminated(void) {
        rd_kafka_t *rk = transaction("terminated");
        rd_kafka_event_t *event;

        rd_kafka_ForceTerminateTransaction(cluster, "terminated", NULL, queue);
        event = result_of(RD_KAFKA_EVENT_FORCETERMINATETRANSACTION_RESULT, "ForceTerminateTransactionResult",
                          OK, NULL);
        CHECK(rd_kafka_event_ForceTerminateTransaction_result(event) != NULL);
        rd_kafka_event_destroy(event);
        check_fenced(rk, "terminated");
}

/* Without a broker each part has its error, and calls without parts fail. */
static void calls_without_a_broker_time_out(void) {
        rd_kafka_conf_t *conf              = test_conf();
        rd_kafka_topic_partition_list_t *l = rd_kafka_topic_partition_list_new(1);
        const char *ids[]                  = {"a"};
        const rd_kafka_resp_err_t late     = RD_KAFKA_RESP_ERR__TIMED_OUT;
        const rd_kafka_TransactionDescription_t **described_rows;
        const rd_kafka_FencedProducer_t **fenced_rows;
        const rd_kafka_PartitionProducers_t **partitions;
        rd_kafka_AdminOptions_t *options;
        const rd_kafka_error_t **errors;
        rd_kafka_event_t *event;
        size_t cnt = 0;
        rd_kafka_t *rk;

        test_set(conf, "bootstrap.servers", "127.0.0.1:1");
        rk      = test_client(RD_KAFKA_PRODUCER, conf);
        options = rd_kafka_AdminOptions_new(rk, RD_KAFKA_ADMIN_OP_ANY);
        CHECK_OK(rd_kafka_AdminOptions_set_request_timeout(options, 300, NULL, 0));
        rd_kafka_topic_partition_list_add(l, "t", 0);
        rd_kafka_ListTransactions(rk, NULL, options, queue);
        event  = result_of(RD_KAFKA_EVENT_LISTTRANSACTIONS_RESULT, "ListTransactionsResult", OK, NULL);
        errors = rd_kafka_ListTransactions_result_errors(event, &cnt);
        REQUIRE(errors != NULL && cnt == 1);
        CHECK_ERR(rd_kafka_error_code(errors[0]), late);
        rd_kafka_event_destroy(event);
        rd_kafka_DescribeTransactions(rk, ids, 1, options, queue);
        event = result_of(RD_KAFKA_EVENT_DESCRIBETRANSACTIONS_RESULT, "DescribeTransactionsResult", OK, NULL);
        described_rows = rd_kafka_DescribeTransactions_result_transactions(event, &cnt);
        REQUIRE(described_rows != NULL && cnt == 1);
        CHECK_ERR(rd_kafka_error_code(rd_kafka_TransactionDescription_error(described_rows[0])), late);
        rd_kafka_event_destroy(event);
        rd_kafka_FenceProducers(rk, ids, 1, options, queue);
        event       = result_of(RD_KAFKA_EVENT_FENCEPRODUCERS_RESULT, "FenceProducersResult", OK, NULL);
        fenced_rows = rd_kafka_FenceProducers_result_producers(event, &cnt);
        REQUIRE(fenced_rows != NULL && cnt == 1);
        CHECK_ERR(rd_kafka_error_code(rd_kafka_FencedProducer_error(fenced_rows[0])), late);
        CHECK_INT(rd_kafka_FencedProducer_producer_id(fenced_rows[0]), -1);
        rd_kafka_event_destroy(event);
        rd_kafka_DescribeProducers(rk, l, options, queue);
        event = result_of(RD_KAFKA_EVENT_DESCRIBEPRODUCERS_RESULT, "DescribeProducersResult", OK, NULL);
        partitions = rd_kafka_DescribeProducers_result_partitions(event, &cnt);
        REQUIRE(partitions != NULL && cnt == 1);
        CHECK_ERR(rd_kafka_error_code(rd_kafka_PartitionProducers_error(partitions[0])), late);
        rd_kafka_event_destroy(event);
        rd_kafka_ForceTerminateTransaction(rk, "a", options, queue);
        rd_kafka_event_destroy(result_of(RD_KAFKA_EVENT_FORCETERMINATETRANSACTION_RESULT,
                                         "ForceTerminateTransactionResult", late, NULL));
        rd_kafka_DescribeDelegationToken(rk, NULL, 0, options, queue);
        event = result_of(RD_KAFKA_EVENT_DESCRIBEDELEGATIONTOKEN_RESULT, "DescribeDelegationTokenResult",
                          late, NULL);
        CHECK(rd_kafka_DescribeDelegationToken_result_tokens(event, &cnt) == NULL);
        CHECK_INT(cnt, 0);
        rd_kafka_event_destroy(event);
        rd_kafka_topic_partition_list_destroy(l);
        rd_kafka_AdminOptions_destroy(options);
        rd_kafka_destroy(rk);
}

/* ---- delegation tokens --------------------------------------------------- */

static void clients_without_authentication_have_no_tokens(void) {
        const rd_kafka_resp_err_t err        = RD_KAFKA_RESP_ERR_DELEGATION_TOKEN_REQUEST_NOT_ALLOWED;
        rd_kafka_NewDelegationToken_t *token = rd_kafka_NewDelegationToken_new(NULL, NULL, 0, -1);
        rd_kafka_event_t *event;

        rd_kafka_CreateDelegationToken(cluster, token, NULL, queue);
        rd_kafka_NewDelegationToken_destroy(token);
        event = result_of(RD_KAFKA_EVENT_CREATEDELEGATIONTOKEN_RESULT, "CreateDelegationTokenResult", err, NULL);
        CHECK(rd_kafka_event_CreateDelegationToken_result(event) != NULL);
        CHECK(rd_kafka_CreateDelegationToken_result_token(event) == NULL);
        rd_kafka_event_destroy(event);
        rd_kafka_RenewDelegationToken(cluster, "x", 1, -1, NULL, queue);
        event = result_of(RD_KAFKA_EVENT_RENEWDELEGATIONTOKEN_RESULT, "RenewDelegationTokenResult", err, NULL);
        CHECK_INT(rd_kafka_RenewDelegationToken_result_expiry_timestamp(event), -1);
        rd_kafka_event_destroy(event);
        rd_kafka_ExpireDelegationToken(cluster, "x", 1, -1, NULL, queue);
        event = result_of(RD_KAFKA_EVENT_EXPIREDELEGATIONTOKEN_RESULT, "ExpireDelegationTokenResult", err, NULL);
        CHECK_INT(rd_kafka_ExpireDelegationToken_result_expiry_timestamp(event), -1);
        rd_kafka_event_destroy(event);
        rd_kafka_DescribeDelegationToken(cluster, NULL, 0, NULL, queue);
        event = result_of(RD_KAFKA_EVENT_DESCRIBEDELEGATIONTOKEN_RESULT, "DescribeDelegationTokenResult", err,
                          NULL);
        rd_kafka_event_destroy(event);
}

/* A client with an embedded cluster that authenticates the user alice. */
static rd_kafka_t *authenticated(void) {
        rd_kafka_conf_t *conf = test_conf();

        test_set(conf, "test.mock.num.brokers", "1");
        test_set(conf, "test.mock.sasl.mechanisms", "PLAIN");
        test_set(conf, "test.mock.sasl.users", "alice:secret");
        test_set(conf, "security.protocol", "sasl_plaintext");
        test_set(conf, "sasl.mechanisms", "PLAIN");
        test_set(conf, "sasl.username", "alice");
        test_set(conf, "sasl.password", "secret");
        return test_client(RD_KAFKA_PRODUCER, conf);
}

static void check_principal(const rd_kafka_Principal_t *principal, const char *name) {
        CHECK_STR(rd_kafka_Principal_type(principal), "User");
        CHECK_STR(rd_kafka_Principal_name(principal), name);
}

/* The tokens of principals, all with NULL. The caller destroys the event. */
static const rd_kafka_DelegationToken_t **
tokens_of(rd_kafka_t *rk, rd_kafka_Principal_t **owners, size_t owner_cnt, size_t *cnt, rd_kafka_event_t **event) {
        rd_kafka_DescribeDelegationToken(rk, owners, owner_cnt, NULL, queue);
        *event = result_of(RD_KAFKA_EVENT_DESCRIBEDELEGATIONTOKEN_RESULT, "DescribeDelegationTokenResult", OK,
                           NULL);
        return rd_kafka_DescribeDelegationToken_result_tokens(
            rd_kafka_event_DescribeDelegationToken_result(*event), cnt);
}

static rd_kafka_event_t *create(rd_kafka_t *rk, const char *owner, const char *renewer, rd_kafka_resp_err_t err) {
        rd_kafka_Principal_t *of      = owner ? rd_kafka_Principal_new("User", owner) : NULL;
        rd_kafka_Principal_t *others[] = {rd_kafka_Principal_new(renewer[0] == '/' ? "Group" : "User", renewer)};
        rd_kafka_NewDelegationToken_t *token = rd_kafka_NewDelegationToken_new(of, others, 1, 600000);

        rd_kafka_CreateDelegationToken(rk, token, NULL, queue);
        rd_kafka_NewDelegationToken_destroy(token);
        rd_kafka_Principal_destroy(of);
        rd_kafka_Principal_destroy_array(others, 1);
        return result_of(RD_KAFKA_EVENT_CREATEDELEGATIONTOKEN_RESULT, "CreateDelegationTokenResult", err, NULL);
}

static void tokens_are_created_renewed_described_and_expired(void) {
        rd_kafka_t *rk          = authenticated();
        rd_kafka_event_t *event = create(rk, NULL, "bob", OK), *other;
        const rd_kafka_DelegationToken_t *token, **tokens;
        const rd_kafka_Principal_t **renewers;
        rd_kafka_Principal_t *owner     = rd_kafka_Principal_new("User", "alice");
        rd_kafka_Principal_t *principals[] = {rd_kafka_Principal_new("User", "carol"),
                                              rd_kafka_Principal_new("User", "dave")};
        int64_t issue_ms, end_ms;
        const void *hmac;
        size_t cnt = 0, size = 0;
        int at;

        token = rd_kafka_CreateDelegationToken_result_token(rd_kafka_event_CreateDelegationToken_result(event));
        REQUIRE(token != NULL);
        CHECK(strlen(rd_kafka_DelegationToken_token_id(token)) > 0);
        check_principal(rd_kafka_DelegationToken_owner(token), "alice");
        check_principal(rd_kafka_DelegationToken_requester(token), "alice");
        renewers = rd_kafka_DelegationToken_renewers(token, &cnt);
        REQUIRE(renewers != NULL && cnt == 1);
        check_principal(renewers[0], "bob");
        issue_ms = rd_kafka_DelegationToken_issue_timestamp(token);
        CHECK_INT(rd_kafka_DelegationToken_max_timestamp(token), issue_ms + 600000);
        CHECK_INT(rd_kafka_DelegationToken_expiry_timestamp(token), issue_ms + 600000);
        hmac = rd_kafka_DelegationToken_hmac(token, &size);
        CHECK(hmac != NULL && size == 64);
        rd_kafka_event_destroy(create(rk, "carol", "bob", OK));
        rd_kafka_event_destroy(create(rk, NULL, "/group", RD_KAFKA_RESP_ERR_INVALID_PRINCIPAL_TYPE));

        rd_kafka_RenewDelegationToken(rk, hmac, size, 60000, NULL, queue);
        other  = result_of(RD_KAFKA_EVENT_RENEWDELEGATIONTOKEN_RESULT, "RenewDelegationTokenResult", OK, NULL);
        end_ms = rd_kafka_RenewDelegationToken_result_expiry_timestamp(
            rd_kafka_event_RenewDelegationToken_result(other));
        CHECK(end_ms >= issue_ms + 60000 && end_ms < issue_ms + 120000);
        rd_kafka_event_destroy(other);
        rd_kafka_ExpireDelegationToken(rk, hmac, size, 30000, NULL, queue);
        other  = result_of(RD_KAFKA_EVENT_EXPIREDELEGATIONTOKEN_RESULT, "ExpireDelegationTokenResult", OK, NULL);
        end_ms = rd_kafka_ExpireDelegationToken_result_expiry_timestamp(
            rd_kafka_event_ExpireDelegationToken_result(other));
        CHECK(end_ms >= issue_ms + 30000 && end_ms < issue_ms + 60000);
        rd_kafka_event_destroy(other);

        tokens = tokens_of(rk, NULL, 0, &cnt, &other);
        REQUIRE(tokens != NULL && cnt == 2);
        CHECK(strcmp(rd_kafka_DelegationToken_token_id(tokens[0]),
                     rd_kafka_DelegationToken_token_id(tokens[1])) < 0);
        rd_kafka_event_destroy(other);
        CHECK(tokens_of(rk, principals, 0, &cnt, &other) == NULL);
        CHECK_INT(cnt, 0);
        rd_kafka_event_destroy(other);
        tokens = tokens_of(rk, principals, 2, &cnt, &other);
        REQUIRE(tokens != NULL && cnt == 1);
        check_principal(rd_kafka_DelegationToken_owner(tokens[0]), "carol");
        check_principal(rd_kafka_DelegationToken_requester(tokens[0]), "alice");
        rd_kafka_event_destroy(other);
        /* The requester of both. */
        tokens = tokens_of(rk, &owner, 1, &cnt, &other);
        REQUIRE(tokens != NULL && cnt == 2);
        at = !strcmp(rd_kafka_DelegationToken_token_id(tokens[1]), rd_kafka_DelegationToken_token_id(token));
        CHECK_STR(rd_kafka_DelegationToken_token_id(tokens[at]), rd_kafka_DelegationToken_token_id(token));
        CHECK_INT(rd_kafka_DelegationToken_expiry_timestamp(tokens[at]), end_ms);
        CHECK(!memcmp(rd_kafka_DelegationToken_hmac(tokens[at], NULL), hmac, size));
        rd_kafka_event_destroy(other);

        rd_kafka_ExpireDelegationToken(rk, hmac, size, -1, NULL, queue);
        rd_kafka_event_destroy(
            result_of(RD_KAFKA_EVENT_EXPIREDELEGATIONTOKEN_RESULT, "ExpireDelegationTokenResult", OK, NULL));
        rd_kafka_RenewDelegationToken(rk, hmac, size, -1, NULL, queue);
        rd_kafka_event_destroy(result_of(RD_KAFKA_EVENT_RENEWDELEGATIONTOKEN_RESULT,
                                         "RenewDelegationTokenResult",
                                         RD_KAFKA_RESP_ERR_DELEGATION_TOKEN_NOT_FOUND, NULL));
        CHECK(tokens_of(rk, &owner, 1, &cnt, &other) != NULL);
        CHECK_INT(cnt, 1);
        rd_kafka_event_destroy(other);
        rd_kafka_event_destroy(event);
        rd_kafka_Principal_destroy(owner);
        rd_kafka_Principal_destroy_array(principals, 2);
        rd_kafka_destroy(rk);
}

/* An idempotent producer has no transaction. */
static void idempotent_producers_are_described(void) {
        rd_kafka_conf_t *conf = test_conf();
        const rd_kafka_ProducerState_t **producers;
        rd_kafka_event_t *event;
        rd_kafka_t *rk;

        producers = producers_of(2, 0, &event);
        CHECK(producers == NULL);
        rd_kafka_event_destroy(event);
        test_set(conf, "bootstrap.servers", servers);
        test_set(conf, "enable.idempotence", "true");
        rk = test_client(RD_KAFKA_PRODUCER, conf);
        CHECK_INT(test_produce(rk, "t", 2, 0, 3), 0);
        producers = producers_of(2, 1, &event);
        REQUIRE(producers != NULL);
        CHECK_INT(rd_kafka_ProducerState_last_sequence(producers[0]), 2);
        CHECK_INT(rd_kafka_ProducerState_last_timestamp(producers[0]), 3000);
        CHECK_INT(rd_kafka_ProducerState_transaction_start_offset(producers[0]), -1);
        rd_kafka_event_destroy(event);
        rd_kafka_destroy(rk);
}

int main(void) {
        cluster = test_cluster(NULL, servers, sizeof(servers));
        queue   = rd_kafka_queue_new(cluster);
        CHECK_INT(test_produce(cluster, "t", 0, 0, 1), 0);
        RUN(each_operation_has_options);
        RUN(objects_are_checked);
        RUN(bad_specs_are_refused);
        RUN(bad_ids_and_partitions_are_refused);
        RUN(bad_tokens_are_refused);
        RUN(results_of_other_operations_are_nothing);
        RUN(transactions_are_listed_by_filters);
        RUN(transactions_are_described);
        RUN(a_transaction_is_aborted_in_one_partition);
        RUN(producers_are_described_by_the_broker_of_the_options);
        RUN(producers_are_fenced);
        RUN(a_transaction_is_terminated);
        RUN(idempotent_producers_are_described);
        RUN(calls_without_a_broker_time_out);
        RUN(clients_without_authentication_have_no_tokens);
        RUN(tokens_are_created_renewed_described_and_expired);
        rd_kafka_queue_destroy(queue);
        rd_kafka_destroy(cluster);
        return test_end();
}
