//! DescribeClientQuotas (key 48).

use crate::schema::schema;

schema! {
    api DESCRIBE_CLIENT_QUOTAS, versions 0-1, flexible 1+;

    /// The request.
    request DescribeClientQuotasRequest -> DescribeClientQuotasResponse {
        components: Vec<ComponentData> [0+],
        strict: bool [0+],
    }

    /// Part of the request.
    struct ComponentData {
        entity_type: String [0+],
        match_type: i8 [0+],
        r#match: Option<String> [0+] = None,
    }

    /// The response.
    response DescribeClientQuotasResponse {
        throttle_time_ms: i32 [0+],
        error_code: i16 [0+],
        error_message: Option<String> [0+],
        entries: Option<Vec<EntryData>> [0+],
    }

    /// Part of the response.
    struct EntryData {
        entity: Vec<EntityData> [0+],
        values: Vec<ValueData> [0+],
    }

    /// Part of the response.
    struct EntityData {
        entity_type: String [0+],
        entity_name: Option<String> [0+],
    }

    /// Part of the response.
    struct ValueData {
        key: String [0+],
        value: f64 [0+],
    }
}
