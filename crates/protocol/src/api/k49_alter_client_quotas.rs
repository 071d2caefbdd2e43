//! AlterClientQuotas (key 49): sets and removes quotas of users, client ids and addresses (KIP-546).
//!
//! - 1: flexible (KIP-482)

use crate::schema::schema;

schema! {
    api ALTER_CLIENT_QUOTAS, versions 0-1, flexible 1+;

    /// The request.
    request AlterClientQuotasRequest -> AlterClientQuotasResponse {
        entries: Vec<EntryData> [0+],
        /// Only validates the request.
        validate_only: bool [0+],
    }

    /// An entity with changes of its quotas.
    struct EntryData {
        entity: Vec<EntityData> [0+],
        ops: Vec<OpData> [0+],
    }

    /// One part of an entity.
    struct EntityData {
        /// `user`, `client-id` or `ip`.
        entity_type: String [0+],
        /// Null for the default entity.
        entity_name: Option<String> [0+],
    }

    /// A change of one quota.
    struct OpData {
        key: String [0+],
        value: f64 [0+],
        remove: bool [0+],
    }

    /// The response.
    response AlterClientQuotasResponse {
        throttle_time_ms: i32 [0+],
        entries: Vec<ResponseEntryData> [0+],
    }

    /// The outcome for one entity.
    struct ResponseEntryData {
        error_code: i16 [0+],
        error_message: Option<String> [0+],
        entity: Vec<EntityData> [0+],
    }
}
