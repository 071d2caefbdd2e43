//! The quotas of clients (KIP-546). They limit nothing.

use std::collections::BTreeMap;
use std::net::IpAddr;

use ottla_protocol::ErrorCode;

use crate::api_error::ApiError;

/// The name of each type of an entity; `None` for the default entity of the type.
pub(crate) type Entity = BTreeMap<String, Option<String>>;

const USER: &str = "user";
const CLIENT_ID: &str = "client-id";
const IP: &str = "ip";

/// The quotas of users and client ids, and whether their values are integers.
const CLIENT_QUOTAS: &[(&str, bool)] = &[
    ("consumer_byte_rate", true),
    ("controller_mutation_rate", false),
    ("producer_byte_rate", true),
    ("request_percentage", false),
];
/// The quotas of addresses.
const IP_QUOTAS: &[(&str, bool)] = &[("connection_creation_rate", true)];

/// A filter for one type of entities.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Match {
    /// The entity with this name; `None` for the default entity.
    Exact(Option<String>),
    Any,
}

/// The quotas by entity.
#[derive(Debug, Default)]
pub(crate) struct ClientQuotas(BTreeMap<Entity, BTreeMap<String, f64>>);

fn invalid(message: impl Into<String>) -> ApiError {
    ApiError::new(ErrorCode::INVALID_REQUEST, message)
}

/// Returns the quotas that the entity may have.
fn quotas_of(entity: &Entity) -> Result<&'static [(&'static str, bool)], ApiError> {
    if entity.is_empty() {
        return Err(invalid("Invalid empty client quota entity"));
    }
    for (kind, name) in entity {
        if ![USER, CLIENT_ID, IP].contains(&kind.as_str()) {
            return Err(invalid(format!("Unhandled client quota entity type: {kind}")));
        }
        if name.as_deref() == Some("") {
            return Err(invalid(format!("Empty {kind} not supported")));
        }
    }
    match entity.get(IP) {
        None => Ok(CLIENT_QUOTAS),
        Some(_) if entity.len() > 1 => Err(invalid("Invalid quota entity combination")),
        Some(Some(address)) if address.parse::<IpAddr>().is_err() => {
            Err(invalid(format!("{address} is not a valid IP or resolvable host.")))
        }
        Some(_) => Ok(IP_QUOTAS),
    }
}

impl ClientQuotas {
    /// Sets the quotas of an entity, and removes those without value; all or none.
    ///
    /// # Errors
    /// INVALID_REQUEST for an invalid entity, an unknown quota and a value outside of its range.
    pub(crate) fn alter(
        &mut self,
        entity: &Entity,
        changes: &[(String, Option<f64>)],
        validate_only: bool,
    ) -> Result<(), ApiError> {
        let known = quotas_of(entity)?;
        for (name, value) in changes {
            let quota = known.iter().find(|(known, _)| known == name);
            let (_, is_integer) = quota.ok_or_else(|| invalid(format!("Invalid configuration key {name}")))?;
            match value {
                Some(value) if *value <= 0.0 || !value.is_finite() => {
                    return Err(invalid(format!("Quota {name} must be greater than 0")));
                }
                Some(value) if *is_integer && value.fract() != 0.0 => {
                    return Err(invalid(format!("Configuration {name} must be a Long value")));
                }
                _ => {}
            }
        }
        if validate_only {
            return Ok(());
        }
        let quotas = self.0.entry(entity.clone()).or_default();
        for (name, value) in changes {
            match value {
                Some(value) => quotas.insert(name.clone(), *value),
                None => quotas.remove(name),
            };
        }
        if quotas.is_empty() {
            self.0.remove(entity);
        }
        Ok(())
    }

    /// Returns the entities that match all components, with their quotas; if `strict`, only those without further types.
    ///
    /// # Errors
    /// UNSUPPORTED_VERSION for an unknown type, INVALID_REQUEST for addresses together with another type.
    pub(crate) fn describe(
        &self,
        components: &BTreeMap<String, Match>,
        strict: bool,
    ) -> Result<Vec<(&Entity, &BTreeMap<String, f64>)>, ApiError> {
        for kind in components.keys() {
            if kind.is_empty() {
                return Err(invalid("Unexpected empty filter component entity type"));
            }
            if ![USER, CLIENT_ID, IP].contains(&kind.as_str()) {
                let message = format!("Custom entity type {kind} not supported");
                return Err(ApiError::new(ErrorCode::UNSUPPORTED_VERSION, message));
            }
        }
        if components.contains_key(IP) && components.len() > 1 {
            return Err(invalid("Invalid entity filter component combination"));
        }
        let matches = |entity: &Entity| {
            let fits = |(kind, expected): (&String, &Match)| match (entity.get(kind), expected) {
                (None, _) => false,
                (Some(_), Match::Any) => true,
                (Some(name), Match::Exact(expected)) => name == expected,
            };
            components.iter().all(fits) && (!strict || entity.len() == components.len())
        };
        Ok(self.0.iter().filter(|(entity, _)| matches(entity)).collect())
    }
}
