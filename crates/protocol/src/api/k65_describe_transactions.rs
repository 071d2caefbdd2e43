//! DescribeTransactions (key 65): state of transactions (KIP-664); goes to the transactions' coordinator.

use crate::schema::schema;

schema! {
    api DESCRIBE_TRANSACTIONS, versions 0-0, flexible 0+;

    /// The request.
    request DescribeTransactionsRequest -> DescribeTransactionsResponse {
        transactional_ids: Vec<String> [0+],
    }

    /// The response.
    response DescribeTransactionsResponse {
        throttle_time_ms: i32 [0+],
        transaction_states: Vec<TransactionState> [0+],
    }

    /// A transaction.
    struct TransactionState {
        error_code: i16 [0+],
        transactional_id: String [0+],
        transaction_state: String [0+],
        transaction_timeout_ms: i32 [0+],
        transaction_start_time_ms: i64 [0+],
        producer_id: i64 [0+],
        producer_epoch: i16 [0+],
        topics: Vec<TopicData> [0+],
    }

    /// Partitions of one topic in the transaction.
    struct TopicData {
        topic: String [0+],
        partitions: Vec<i32> [0+],
    }
}
