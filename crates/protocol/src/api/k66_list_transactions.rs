//! ListTransactions (key 66): the transactions that a broker coordinates (KIP-664); goes to every broker.
//!
//! - 1: filter by duration (KIP-994)
//! - 2: filter by a pattern of the transactional id (KIP-1152)

use crate::schema::schema;

schema! {
    api LIST_TRANSACTIONS, versions 0-2, flexible 0+;

    /// The request.
    request ListTransactionsRequest -> ListTransactionsResponse {
        state_filters: Vec<String> [0+],
        producer_id_filters: Vec<i64> [0+],
        /// Only transactions open for longer, in milliseconds; negative for all.
        duration_filter: i64 [1+, strict] = -1,
        /// A regular expression of RE2; null for all.
        transactional_id_pattern: Option<String> [2+, strict] = None,
    }

    /// The response.
    response ListTransactionsResponse {
        throttle_time_ms: i32 [0+],
        error_code: i16 [0+],
        unknown_state_filters: Vec<String> [0+],
        transaction_states: Vec<TransactionState> [0+],
    }

    /// A transaction.
    struct TransactionState {
        transactional_id: String [0+],
        producer_id: i64 [0+],
        transaction_state: String [0+],
    }
}

impl ListTransactionsRequest {
    /// The first version that filters transactions by duration (KIP-994, Kafka 3.8).
    pub const DURATION_FILTER_SINCE: i16 = 1;

    /// The first version that filters transactional ids by a regular expression (KIP-1152, Kafka 4.1).
    pub const PATTERN_SINCE: i16 = 2;
}
