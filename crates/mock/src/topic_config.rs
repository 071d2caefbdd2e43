//! Topic configuration: Kafka's names, defaults and types, and the settings that change what the brokers do.

use std::collections::BTreeMap;

use ottla_protocol::ErrorCode;

use crate::api_error::ApiError;
use crate::config::ClusterConfig;

/// A resource with settings, by DescribeConfigs' numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ConfigResource {
    pub(crate) kind: i8,
    pub(crate) name: String,
}

impl ConfigResource {
    pub(crate) const TOPIC: i8 = 2;
    pub(crate) const BROKER: i8 = 4;
    pub(crate) const GROUP: i8 = 32;

    pub(crate) fn new(kind: i8, name: &str) -> Self {
        let name = name.to_owned();
        Self { kind, name }
    }

    /// Checks that a request names the resource once.
    ///
    /// # Errors
    /// INVALID_REQUEST.
    pub(crate) fn check_named_once(&self, named: &[Self]) -> Result<(), ApiError> {
        match named.iter().filter(|other| *other == self).count() {
            ..=1 => Ok(()),
            _ => {
                let message = "Each resource must appear at most once.";
                Err(ApiError::new(ErrorCode::INVALID_REQUEST, message))
            }
        }
    }

    /// Returns the error for a resource type that the request does not support.
    pub(crate) fn unsupported(&self) -> ApiError {
        let message = format!("Unsupported resource type: {}", self.kind);
        ApiError::new(ErrorCode::INVALID_REQUEST, message)
    }

    /// Returns the error for a topic that does not exist.
    pub(crate) fn missing_topic(&self) -> ApiError {
        let message = format!("Topic {} does not exist.", self.name);
        ApiError::new(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, message)
    }
}

/// Returns the error for a setting without a value.
pub(crate) fn no_value(name: &str) -> ApiError {
    let message = format!("Null value not supported for : {name}");
    ApiError::new(ErrorCode::INVALID_REQUEST, message)
}

/// The type of a setting's values; the numbers are those of DescribeConfigs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i8)]
pub(crate) enum ConfigType {
    Boolean = 1,
    String = 2,
    Int = 3,
    Long = 5,
    Double = 6,
    List = 7,
}

/// One setting of a topic.
pub(crate) struct TopicSetting {
    pub(crate) name: &'static str,
    pub(crate) default: &'static str,
    pub(crate) kind: ConfigType,
}

const fn row(name: &'static str, default: &'static str, kind: ConfigType) -> TopicSetting {
    TopicSetting { name, default, kind }
}

/// The settings of topics. The mock implements those that [`TopicConfig`] has fields for, and stores the others for
/// DescribeConfigs.
pub(crate) const SETTINGS: &[TopicSetting] = &[
    row("cleanup.policy", "delete", ConfigType::List),
    row("compression.type", "producer", ConfigType::String),
    row("delete.retention.ms", "86400000", ConfigType::Long),
    row("file.delete.delay.ms", "60000", ConfigType::Long),
    row("flush.messages", "9223372036854775807", ConfigType::Long),
    row("flush.ms", "9223372036854775807", ConfigType::Long),
    row("follower.replication.throttled.replicas", "", ConfigType::List),
    row("index.interval.bytes", "4096", ConfigType::Int),
    row("leader.replication.throttled.replicas", "", ConfigType::List),
    row("local.retention.bytes", "-2", ConfigType::Long),
    row("local.retention.ms", "-2", ConfigType::Long),
    row("max.compaction.lag.ms", "9223372036854775807", ConfigType::Long),
    row("max.message.bytes", "1048588", ConfigType::Int),
    row("message.timestamp.after.max.ms", "3600000", ConfigType::Long),
    row(
        "message.timestamp.before.max.ms",
        "9223372036854775807",
        ConfigType::Long,
    ),
    row("message.timestamp.type", "CreateTime", ConfigType::String),
    row("min.cleanable.dirty.ratio", "0.5", ConfigType::Double),
    row("min.compaction.lag.ms", "0", ConfigType::Long),
    row("min.insync.replicas", "1", ConfigType::Int),
    row("preallocate", "false", ConfigType::Boolean),
    row("remote.storage.enable", "false", ConfigType::Boolean),
    row("retention.bytes", "-1", ConfigType::Long),
    row("retention.ms", "604800000", ConfigType::Long),
    row("segment.bytes", "1073741824", ConfigType::Int),
    row("segment.index.bytes", "10485760", ConfigType::Int),
    row("segment.jitter.ms", "0", ConfigType::Long),
    row("segment.ms", "604800000", ConfigType::Long),
    row("unclean.leader.election.enable", "false", ConfigType::Boolean),
];

/// A topic's settings as the brokers use them.
#[derive(Debug, Clone)]
pub(crate) struct TopicConfig {
    /// The settings of this topic, by name.
    pub(crate) overrides: BTreeMap<String, String>,
    pub(crate) max_message_bytes: i32,
    pub(crate) log_append_time: bool,
    pub(crate) timestamp_after_max_ms: i64,
    pub(crate) timestamp_before_max_ms: i64,
    pub(crate) min_insync_replicas: i32,
    pub(crate) retention_bytes: Option<u64>,
}

impl TopicConfig {
    /// Creates the settings of a topic from its `overrides`.
    ///
    /// # Errors
    /// The message for the client, when a name is unknown or a value is not of its type.
    pub(crate) fn new(cluster: &ClusterConfig, overrides: BTreeMap<String, String>) -> Result<Self, String> {
        for (name, value) in &overrides {
            check(name, value)?;
        }
        let number = |name: &str| overrides.get(name).and_then(|v| v.parse::<i64>().ok());
        let int = |name: &str, default: i32| number(name).and_then(|v| i32::try_from(v).ok()).unwrap_or(default);
        Ok(Self {
            max_message_bytes: int("max.message.bytes", cluster.message_max_bytes),
            log_append_time: overrides
                .get("message.timestamp.type")
                .is_some_and(|v| v == "LogAppendTime"),
            timestamp_after_max_ms: number("message.timestamp.after.max.ms")
                .unwrap_or(cluster.message_timestamp_after_max_ms),
            timestamp_before_max_ms: number("message.timestamp.before.max.ms").unwrap_or(i64::MAX),
            min_insync_replicas: int("min.insync.replicas", cluster.min_insync_replicas),
            retention_bytes: match number("retention.bytes") {
                Some(bytes) => u64::try_from(bytes).ok(),
                None => cluster.max_log_bytes,
            },
            overrides,
        })
    }

    /// Returns the effective value of a setting of [`SETTINGS`], as text.
    pub(crate) fn value(&self, setting: &TopicSetting) -> String {
        if let Some(value) = self.overrides.get(setting.name) {
            return value.clone();
        }
        match setting.name {
            "max.message.bytes" => self.max_message_bytes.to_string(),
            "message.timestamp.after.max.ms" => self.timestamp_after_max_ms.to_string(),
            "min.insync.replicas" => self.min_insync_replicas.to_string(),
            "retention.bytes" => match self.retention_bytes {
                Some(bytes) => bytes.to_string(),
                None => setting.default.to_owned(),
            },
            _ => setting.default.to_owned(),
        }
    }
}

fn check(name: &str, value: &str) -> Result<(), String> {
    let Some(setting) = SETTINGS.iter().find(|s| s.name == name) else {
        return Err(format!("Unknown topic config name: {name}"));
    };
    let valid = match setting.kind {
        ConfigType::Boolean => matches!(value.to_ascii_lowercase().as_str(), "true" | "false"),
        ConfigType::Int => value.parse::<i32>().is_ok(),
        ConfigType::Long => value.parse::<i64>().is_ok(),
        ConfigType::Double => value.parse::<f64>().is_ok(),
        ConfigType::List => true,
        ConfigType::String => match name {
            "message.timestamp.type" => matches!(value, "CreateTime" | "LogAppendTime"),
            "compression.type" => {
                matches!(value, "producer" | "uncompressed" | "gzip" | "snappy" | "lz4" | "zstd")
            }
            _ => true,
        },
    };
    match valid {
        true => Ok(()),
        false => Err(format!("Invalid value {value} for configuration {name}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(pairs: &[(&str, &str)]) -> Result<TopicConfig, String> {
        let overrides = pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
        TopicConfig::new(&ClusterConfig::default(), overrides.collect())
    }

    #[test]
    fn overrides_take_effect_and_invalid_ones_fail() {
        let set = config(&[
            ("message.timestamp.type", "LogAppendTime"),
            ("max.message.bytes", "500"),
        ]);
        let set = set.unwrap();
        assert!(set.log_append_time);
        assert_eq!(set.max_message_bytes, 500);
        assert!(config(&[("no.such", "1")]).unwrap_err().contains("no.such"));
        assert!(config(&[("max.message.bytes", "many")]).is_err());
        assert!(config(&[("message.timestamp.type", "Never")]).is_err());
        assert!(config(&[("retention.bytes", "-1")]).unwrap().retention_bytes.is_none());
    }
}
