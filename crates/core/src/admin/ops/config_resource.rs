//! Resources with settings, and changes of settings.

use std::collections::BTreeMap;

use crate::admin::operation::row_of;
use crate::error::{Error, ErrorCode};
use crate::request::Target;
use crate::types::NodeId;

/// The types of resources with settings, by the protocol's numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ResourceType(pub i8);

impl ResourceType {
    /// A topic.
    pub const TOPIC: Self = Self(2);
    /// A broker, named by its id; without a name, the default of all brokers (KIP-226).
    pub const BROKER: Self = Self(4);
    /// The log levels of a broker (KIP-412).
    pub const BROKER_LOGGER: Self = Self(8);
    /// A subscription to client metrics (KIP-714).
    pub const CLIENT_METRICS: Self = Self(16);
    /// A group (KIP-848).
    pub const GROUP: Self = Self(32);
}

/// The outcome for one resource.
#[derive(Debug, Clone)]
pub struct ResourceResult {
    /// The type of the resource.
    pub kind: ResourceType,
    /// Its name: a topic's or group's name, a broker's id in decimal.
    pub name: String,
    /// The settings; only in results of DescribeConfigs.
    pub configs: Vec<ConfigEntry>,
    /// The error with the broker's message; `None` on success.
    pub error: Option<Error>,
}

/// The source of a setting's value, by the protocol's numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ConfigSource(pub i8);

impl ConfigSource {
    /// Not reported by the broker.
    pub const UNKNOWN: Self = Self(0);
    /// Set for the topic.
    pub const TOPIC: Self = Self(1);
    /// Set for this broker while it ran.
    pub const DYNAMIC_BROKER: Self = Self(2);
    /// Set for all brokers while they ran.
    pub const DYNAMIC_DEFAULT_BROKER: Self = Self(3);
    /// Set in the broker's configuration file.
    pub const STATIC_BROKER: Self = Self(4);
    /// Kafka's default.
    pub const DEFAULT: Self = Self(5);
    /// Set for the broker's log levels.
    pub const BROKER_LOGGER: Self = Self(6);
    /// Set for the subscription to client metrics.
    pub const CLIENT_METRICS: Self = Self(7);
    /// Set for the group.
    pub const GROUP: Self = Self(8);
}

/// A setting as a broker describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigEntry {
    /// The setting's name.
    pub name: String,
    /// Its value; `None` for one that is sensitive, or not set.
    pub value: Option<String>,
    /// The source of the value.
    pub source: ConfigSource,
    /// It cannot be changed while the broker runs.
    pub is_read_only: bool,
    /// It was not set.
    pub is_default: bool,
    /// Its value is kept secret.
    pub is_sensitive: bool,
    /// The settings that determine the value, in order of precedence.
    pub synonyms: Vec<ConfigSynonym>,
}

/// A setting from which another one may take its value (KIP-226).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigSynonym {
    /// The setting's name.
    pub name: String,
    /// Its value.
    pub value: Option<String>,
    /// The source of the value.
    pub source: ConfigSource,
}

/// Settings of a resource to change.
#[derive(Debug, Clone)]
pub struct ConfigChanges {
    /// The type of the resource.
    pub kind: ResourceType,
    /// The resource's name.
    pub name: String,
    /// The changes.
    pub changes: Vec<ConfigChange>,
}

/// A change of one setting.
#[derive(Debug, Clone)]
pub struct ConfigChange {
    /// The setting's name.
    pub name: String,
    /// The kind of change; [`AlterConfigs`](super::AlterConfigs) supports only [`Set`](AlterOp::Set).
    pub op: AlterOp,
    /// The value; `None` only for [`Delete`](AlterOp::Delete).
    pub value: Option<String>,
}

impl ConfigChange {
    /// Returns a change that sets a value.
    pub fn set(name: impl Into<String>, value: impl Into<String>) -> Self {
        ConfigChange {
            name: name.into(),
            op: AlterOp::Set,
            value: Some(value.into()),
        }
    }

    /// Returns a change that resets a setting to its default.
    pub fn delete(name: impl Into<String>) -> Self {
        ConfigChange {
            name: name.into(),
            op: AlterOp::Delete,
            value: None,
        }
    }
}

/// A kind of change of a setting, with the protocol's number (KIP-339).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(i8)]
pub enum AlterOp {
    /// Sets the value.
    Set = 0,
    /// Resets the setting to its default.
    Delete = 1,
    /// Appends the value to the list.
    Append = 2,
    /// Removes the value from the list.
    Subtract = 3,
}

/// A resource's type and name.
pub(super) type ResourceKey = (ResourceType, String);

impl ConfigChanges {
    pub(super) fn key(&self) -> ResourceKey {
        (self.kind, self.name.clone())
    }
}

/// Returns the broker that a call about these resources is for: the one whose own settings are among them. Only that broker
/// has them, so a call can contain one broker's settings only.
///
/// # Errors
/// `_INVALID_ARG` for a broker that is not named by its id, `_CONFLICT` for two brokers.
pub(super) fn target<'a>(resources: impl Iterator<Item = (ResourceType, &'a str)>) -> Result<Target, Error> {
    let is_brokers = |kind| matches!(kind, ResourceType::BROKER | ResourceType::BROKER_LOGGER);
    let mut owner = None;
    for (_, name) in resources.filter(|(kind, name)| is_brokers(*kind) && !name.is_empty()) {
        let id = name.parse().ok().filter(|id| *id >= 0).map(NodeId);
        let id = id.ok_or_else(|| Error::invalid_arg(format!("\"{name}\" is not a broker's id")))?;
        if owner.is_some_and(|owner| owner != id) {
            let text = "the settings of only one broker can be in one request";
            return Err(Error::new(ErrorCode::L_CONFLICT, text));
        }
        owner = Some(id);
    }
    Ok(owner.map_or(Target::Any, Target::Broker))
}

/// Returns the outcomes in the order of the call; `configs` are the settings of a row.
pub(super) fn in_order<R: Clone>(
    keys: impl Iterator<Item = ResourceKey>,
    rows: &BTreeMap<ResourceKey, Result<R, Error>>,
    configs: impl Fn(R) -> Vec<ConfigEntry>,
) -> Vec<ResourceResult> {
    let result = |key: ResourceKey| {
        let (configs, error) = match row_of(rows, &key) {
            Ok(row) => (configs(row), None),
            Err(error) => (Vec::new(), Some(error)),
        };
        let (kind, name) = key;
        ResourceResult {
            kind,
            name,
            configs,
            error,
        }
    };
    keys.map(result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target_of(resources: &[(ResourceType, &str)]) -> Result<Target, ErrorCode> {
        target(resources.iter().copied()).map_err(|e| e.code)
    }

    #[test]
    fn configs_of_a_broker_are_requested_from_that_broker() {
        let (topic, broker) = (ResourceType::TOPIC, ResourceType::BROKER);
        assert_eq!(target_of(&[(topic, "t")]), Ok(Target::Any));
        let both = [(topic, "t"), (broker, "2"), (ResourceType::BROKER_LOGGER, "2")];
        assert_eq!(target_of(&both), Ok(Target::Broker(NodeId(2))));
        assert_eq!(target_of(&[(broker, "")]), Ok(Target::Any));
        assert_eq!(target_of(&[(broker, "2"), (broker, "1")]), Err(ErrorCode::L_CONFLICT));
        for name in ["x", "-1", "2 ", "99999999999"] {
            assert_eq!(target_of(&[(broker, name)]), Err(ErrorCode::L_INVALID_ARG), "{name}");
        }
    }
}
