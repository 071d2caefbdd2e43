//! AlterClientQuotas (key 49).

use crate::schema::schema;

schema! {
    api ALTER_CLIENT_QUOTAS, versions 0-1, flexible 1+;

    /// The request.
    request AlterClientQuotasRequest -> AlterClientQuotasResponse {
        entries: Vec<EntryData> [0+],
        validate_only: bool [0+],
    }

    /// Part of the request.
    struct EntryData {
        entity: Vec<EntityData> [0+],
        ops: Vec<OpData> [0+],
    }

    /// Part of the request.
    struct EntityData {
        entity_type: String [0+],
        entity_name: Option<String> [0+],
    }

    /// Part of the request.
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

    /// Part of the response.
    struct ResponseEntryData {
        error_code: i16 [0+],
        error_message: Option<String> [0+],
        entity: Vec<EntityData> [0+],
    }
}
