//! DescribeClientQuotas (key 48): quotas of users, client ids and addresses (KIP-546).
//!
//! - 1: flexible (KIP-482)

use crate::schema::schema;

schema! {
    api DESCRIBE_CLIENT_QUOTAS, versions 0-1, flexible 1+;

    /// The request.
    request DescribeClientQuotasRequest -> DescribeClientQuotasResponse {
        components: Vec<ComponentData> [0+],
        /// Matches only entities without further components.
        strict: bool [0+],
    }

    /// A filter for one component of an entity.
    struct ComponentData {
        /// `user`, `client-id` or `ip`.
        entity_type: String [0+],
        /// 0 exact name, 1 default entity, 2 any name.
        match_type: i8 [0+],
        /// The name for type 0, else null.
        r#match: Option<String> [0+] = None,
    }

    /// The response.
    response DescribeClientQuotasResponse {
        throttle_time_ms: i32 [0+],
        error_code: i16 [0+],
        error_message: Option<String> [0+],
        /// Null on errors.
        entries: Option<Vec<EntryData>> [0+],
    }

    /// An entity with its quotas.
    struct EntryData {
        entity: Vec<EntityData> [0+],
        values: Vec<ValueData> [0+],
    }

    /// One part of an entity.
    struct EntityData {
        /// `user`, `client-id` or `ip`.
        entity_type: String [0+],
        /// Null for the default entity.
        entity_name: Option<String> [0+],
    }

    /// A quota.
    struct ValueData {
        key: String [0+],
        value: f64 [0+],
    }
}
