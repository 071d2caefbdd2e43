//! UnregisterBroker (key 64): forgets a broker that is gone for good; KRaft clusters only (KIP-631).

use crate::schema::schema;

schema! {
    api UNREGISTER_BROKER, versions 0-0, flexible 0+;

    /// The request.
    request UnregisterBrokerRequest -> UnregisterBrokerResponse {
        broker_id: i32 [0+],
    }

    /// The response.
    response UnregisterBrokerResponse {
        throttle_time_ms: i32 [0+],
        error_code: i16 [0+],
        error_message: Option<String> [0+],
    }
}
