//! Entities that quotas apply to (KIP-546).

use std::collections::BTreeMap;

use ottla_protocol::api::{alter_client_quotas, describe_client_quotas};

/// An entity: the name of each of its types, such as `user`, `client-id` and `ip`; without a name the default entity of the
/// type.
pub type ClientQuotaEntity = BTreeMap<String, Option<String>>;

/// Returns the entity of a response to DescribeClientQuotas.
pub(super) fn described(parts: Vec<describe_client_quotas::EntityData>) -> ClientQuotaEntity {
    parts
        .into_iter()
        .map(|part| (part.entity_type, part.entity_name))
        .collect()
}

/// Returns the entity of a response to AlterClientQuotas.
pub(super) fn altered(parts: Vec<alter_client_quotas::EntityData>) -> ClientQuotaEntity {
    parts
        .into_iter()
        .map(|part| (part.entity_type, part.entity_name))
        .collect()
}
