//! ListTransactions (key 66).

use crate::schema::schema;

schema! {
    api LIST_TRANSACTIONS, versions 0-2, flexible 0+;

    /// The request.
    request ListTransactionsRequest -> ListTransactionsResponse {
        state_filters: Vec<String> [0+],
        producer_id_filters: Vec<i64> [0+],
        duration_filter: i64 [1+, strict] = -1,
        transactional_id_pattern: Option<String> [2+, strict] = None,
    }

    /// The response.
    response ListTransactionsResponse {
        throttle_time_ms: i32 [0+],
        error_code: i16 [0+],
        unknown_state_filters: Vec<String> [0+],
        transaction_states: Vec<TransactionState> [0+],
    }

    /// Part of the response.
    struct TransactionState {
        transactional_id: String [0+],
        producer_id: i64 [0+],
        transaction_state: String [0+],
    }
}
