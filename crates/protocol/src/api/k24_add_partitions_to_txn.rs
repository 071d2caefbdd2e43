//! AddPartitionsToTxn (key 24): adds partitions to a producer's transaction before it writes to them (KIP-98); goes to
//! the transaction's coordinator.
//!
//! - 1: a throttled response comes at once, and the client waits (KIP-219)
//! - 2: the broker may answer PRODUCER_FENCED
//! - 3: flexible (KIP-482)
//! - 4: several transactions, and verification only; sent by brokers (KIP-890)
//! - 5: TRANSACTION_ABORTABLE (KIP-890)

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

    /// A transaction to add partitions to.
    struct AddPartitionsToTxnTransaction {
        transactional_id: String [4+],
        producer_id: i64 [4+],
        producer_epoch: i16 [4+],
        /// Only verifies that the partitions are in the transaction.
        verify_only: bool [4+],
        topics: Vec<AddPartitionsToTxnTopic> [4+],
    }

    /// Partitions of one topic to add.
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

    /// The outcome for one transaction.
    struct AddPartitionsToTxnResult {
        transactional_id: String [4+],
        topic_results: Vec<AddPartitionsToTxnTopicResult> [4+],
    }

    /// The outcome for one topic.
    struct AddPartitionsToTxnTopicResult {
        name: String [0+],
        results_by_partition: Vec<AddPartitionsToTxnPartitionResult> [0+],
    }

    /// The outcome for one partition.
    struct AddPartitionsToTxnPartitionResult {
        partition_index: i32 [0+],
        partition_error_code: i16 [0+],
    }
}

impl AddPartitionsToTxnRequest {
    /// The last version for clients: later ones are for brokers (KIP-890).
    pub const CLIENTS_UNTIL: i16 = 3;
}
