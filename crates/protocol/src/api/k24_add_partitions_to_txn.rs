//! AddPartitionsToTxn (key 24).

use crate::schema::schema;

schema! {
    api ADD_PARTITIONS_TO_TXN, versions 0-5, flexible 3+;

    /// The request.
    request AddPartitionsToTxnRequest -> AddPartitionsToTxnResponse {
        transactions: Vec<AddPartitionsToTxnTransaction> [4+, strict],
        v3_and_below_transactional_id: String [0-3, strict],
        v3_and_below_producer_id: i64 [0-3, strict],
        v3_and_below_producer_epoch: i16 [0-3, strict],
        v3_and_below_topics: Vec<AddPartitionsToTxnTopic> [0-3, strict],
    }

    /// Part of the request.
    struct AddPartitionsToTxnTransaction {
        transactional_id: String [4+],
        producer_id: i64 [4+],
        producer_epoch: i16 [4+],
        verify_only: bool [4+],
        topics: Vec<AddPartitionsToTxnTopic> [4+],
    }

    /// Part of the request.
    struct AddPartitionsToTxnTopic {
        name: String [0+],
        partitions: Vec<i32> [0+],
    }

    /// The response.
    response AddPartitionsToTxnResponse {
        throttle_time_ms: i32 [0+],
        error_code: i16 [4+],
        results_by_transaction: Vec<AddPartitionsToTxnResult> [4+, strict],
        results_by_topic_v3_and_below: Vec<AddPartitionsToTxnTopicResult> [0-3, strict],
    }

    /// Part of the response.
    struct AddPartitionsToTxnResult {
        transactional_id: String [4+],
        topic_results: Vec<AddPartitionsToTxnTopicResult> [4+],
    }

    /// Part of the response.
    struct AddPartitionsToTxnTopicResult {
        name: String [0+],
        results_by_partition: Vec<AddPartitionsToTxnPartitionResult> [0+],
    }

    /// Part of the response.
    struct AddPartitionsToTxnPartitionResult {
        partition_index: i32 [0+],
        partition_error_code: i16 [0+],
    }
}
