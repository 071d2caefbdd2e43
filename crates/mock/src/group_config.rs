//! Group configuration: Kafka's names, types and ranges of the settings of share groups (KIP-932, KIP-1240).

use std::collections::BTreeMap;

use ottla_protocol::ErrorCode;

use crate::api_error::ApiError;
use crate::share_config::{ShareGroupConfig, ShareOffsetReset};
use crate::topic_config::{ConfigResource, ConfigType};

/// One setting of a group.
pub(crate) struct GroupSetting {
    pub(crate) name: &'static str,
    pub(crate) kind: ConfigType,
    /// The values that brokers allow by default, for numbers.
    range: Option<(i32, i32)>,
}

const fn number(name: &'static str, min: i32, max: i32) -> GroupSetting {
    GroupSetting {
        name,
        kind: ConfigType::Int,
        range: Some((min, max)),
    }
}

const fn text(name: &'static str, kind: ConfigType) -> GroupSetting {
    GroupSetting {
        name,
        kind,
        range: None,
    }
}

const SESSION_TIMEOUT: &str = "share.session.timeout.ms";
const HEARTBEAT_INTERVAL: &str = "share.heartbeat.interval.ms";
const RECORD_LOCK_DURATION: &str = "share.record.lock.duration.ms";
const DELIVERY_COUNT_LIMIT: &str = "share.delivery.count.limit";
const MAX_RECORD_LOCKS: &str = "share.partition.max.record.locks";
const OFFSET_RESET: &str = "share.auto.offset.reset";
const ISOLATION_LEVEL: &str = "share.isolation.level";
const RENEW: &str = "share.renew.acknowledge.enable";

/// The settings of groups, by name.
pub(crate) const SETTINGS: &[GroupSetting] = &[
    text(OFFSET_RESET, ConfigType::String),
    number(DELIVERY_COUNT_LIMIT, 2, 10),
    number(HEARTBEAT_INTERVAL, 5000, 15_000),
    text(ISOLATION_LEVEL, ConfigType::String),
    number(MAX_RECORD_LOCKS, 100, 4000),
    number(RECORD_LOCK_DURATION, 15_000, 60_000),
    text(RENEW, ConfigType::Boolean),
    number(SESSION_TIMEOUT, 45_000, 60_000),
];

/// The settings that were changed, by group. A group need not exist.
#[derive(Debug, Default)]
pub(crate) struct GroupConfigs {
    by_group: BTreeMap<String, BTreeMap<String, String>>,
}

impl GroupConfigs {
    /// Returns the group's own settings.
    pub(crate) fn overrides(&self, group: &str) -> BTreeMap<String, String> {
        self.by_group.get(group).cloned().unwrap_or_default()
    }

    /// Returns the settings of a share group: its own, or else those of the brokers.
    pub(crate) fn share_settings(&self, brokers: &ShareGroupConfig, group: &str) -> ShareGroupConfig {
        let mut settings = brokers.clone();
        let Some(overrides) = self.by_group.get(group) else {
            return settings;
        };
        let int = |name: &str, to: &mut i32| {
            if let Some(value) = overrides.get(name).and_then(|v| v.parse().ok()) {
                *to = value;
            }
        };
        int(SESSION_TIMEOUT, &mut settings.session_timeout_ms);
        int(HEARTBEAT_INTERVAL, &mut settings.heartbeat_interval_ms);
        int(RECORD_LOCK_DURATION, &mut settings.record_lock_duration_ms);
        int(DELIVERY_COUNT_LIMIT, &mut settings.delivery_count_limit);
        int(MAX_RECORD_LOCKS, &mut settings.partition_max_record_locks);
        if let Some(reset) = overrides.get(OFFSET_RESET).and_then(|v| offset_reset(v)) {
            settings.offset_reset = reset;
        }
        if let Some(level) = overrides.get(ISOLATION_LEVEL) {
            settings.read_committed = level == "read_committed";
        }
        if let Some(enabled) = overrides.get(RENEW) {
            settings.renew_acknowledge = enabled.eq_ignore_ascii_case("true");
        }
        settings
    }

    /// Replaces the settings of a group by the result of `change`. With `validate_only` only checks it.
    ///
    /// # Errors
    /// INVALID_REQUEST for an empty name, INVALID_CONFIG, and those of `change`.
    pub(crate) fn reconfigure(
        &mut self,
        brokers: &ShareGroupConfig,
        resource: &ConfigResource,
        validate_only: bool,
        change: impl FnOnce(BTreeMap<String, String>) -> Result<BTreeMap<String, String>, ApiError>,
    ) -> Result<(), ApiError> {
        if resource.name.is_empty() {
            let message = "Default group resources are not allowed.";
            return Err(ApiError::new(ErrorCode::INVALID_REQUEST, message));
        }
        let overrides = change(self.overrides(&resource.name))?;
        check(brokers, &overrides).map_err(|message| ApiError::new(ErrorCode::INVALID_CONFIG, message))?;
        if validate_only {
            return Ok(());
        }
        match overrides.is_empty() {
            true => self.by_group.remove(&resource.name),
            false => self.by_group.insert(resource.name.clone(), overrides),
        };
        Ok(())
    }
}

/// Returns the effective value of a setting of [`SETTINGS`], as text.
pub(crate) fn value(settings: &ShareGroupConfig, setting: &GroupSetting) -> String {
    match setting.name {
        SESSION_TIMEOUT => settings.session_timeout_ms.to_string(),
        HEARTBEAT_INTERVAL => settings.heartbeat_interval_ms.to_string(),
        RECORD_LOCK_DURATION => settings.record_lock_duration_ms.to_string(),
        DELIVERY_COUNT_LIMIT => settings.delivery_count_limit.to_string(),
        MAX_RECORD_LOCKS => settings.partition_max_record_locks.to_string(),
        RENEW => settings.renew_acknowledge.to_string(),
        ISOLATION_LEVEL => match settings.read_committed {
            true => "read_committed".to_owned(),
            false => "read_uncommitted".to_owned(),
        },
        _ => match settings.offset_reset {
            ShareOffsetReset::Latest => "latest".to_owned(),
            ShareOffsetReset::Earliest => "earliest".to_owned(),
            ShareOffsetReset::ByDuration(millis) => {
                format!("by_duration:PT{}.{:03}S", millis / 1000, millis % 1000)
            }
        },
    }
}

fn check(brokers: &ShareGroupConfig, overrides: &BTreeMap<String, String>) -> Result<(), String> {
    for (name, value) in overrides {
        let Some(setting) = SETTINGS.iter().find(|s| s.name == name) else {
            return Err(format!("Unknown group config name: {name}"));
        };
        let valid = match (setting.range, setting.name) {
            (Some((min, max)), _) => value.parse::<i32>().is_ok_and(|v| (min..=max).contains(&v)),
            (None, OFFSET_RESET) => offset_reset(value).is_some(),
            (None, ISOLATION_LEVEL) => matches!(value.as_str(), "read_committed" | "read_uncommitted"),
            (None, _) => matches!(value.to_ascii_lowercase().as_str(), "true" | "false"),
        };
        if !valid {
            return Err(format!("Invalid value {value} for configuration {name}"));
        }
    }
    let int = |name: &str, default: i32| overrides.get(name).and_then(|v| v.parse().ok()).unwrap_or(default);
    let session_timeout_ms = int(SESSION_TIMEOUT, brokers.session_timeout_ms);
    if session_timeout_ms <= int(HEARTBEAT_INTERVAL, brokers.heartbeat_interval_ms) {
        return Err(format!("{SESSION_TIMEOUT} must be greater than {HEARTBEAT_INTERVAL}"));
    }
    Ok(())
}

/// Parses a value of `share.auto.offset.reset`.
fn offset_reset(value: &str) -> Option<ShareOffsetReset> {
    let value = value.to_ascii_lowercase();
    match value.as_str() {
        "latest" => Some(ShareOffsetReset::Latest),
        "earliest" => Some(ShareOffsetReset::Earliest),
        _ => value
            .strip_prefix("by_duration:")
            .and_then(duration_ms)
            .map(ShareOffsetReset::ByDuration),
    }
}

/// Parses a duration in the form of ISO 8601, with days, hours, minutes and seconds, such as `P1DT2H30M5.5S`. Returns
/// milliseconds; `None` for another form or a negative duration.
fn duration_ms(text: &str) -> Option<i64> {
    let (days, time) = match text.strip_prefix('p')?.split_once('t') {
        Some((days, time)) if !time.is_empty() => (days, time),
        Some(_) => return None,
        None => (text.strip_prefix('p')?, ""),
    };
    if days.is_empty() && time.is_empty() {
        return None;
    }
    let mut sum_ms: i64 = 0;
    let mut add = |part: &str, unit_ms: i64| -> Option<()> {
        let (whole, fraction) = part.split_once('.').unwrap_or((part, ""));
        let is_number = |digits: &str| digits.bytes().all(|b| b.is_ascii_digit());
        if whole.is_empty() || !is_number(whole) || !is_number(fraction) || (unit_ms != 1000 && part.contains('.')) {
            return None;
        }
        let millis: String = fraction.chars().chain("000".chars()).take(3).collect();
        let part_ms = whole.parse::<i64>().ok()?.checked_mul(unit_ms)?;
        sum_ms = sum_ms.checked_add(part_ms)?.checked_add(millis.parse().ok()?)?;
        Some(())
    };
    if !days.is_empty() {
        add(days.strip_suffix('d')?, 86_400_000)?;
    }
    let mut rest = time;
    for (unit, unit_ms) in [('h', 3_600_000), ('m', 60_000), ('s', 1000)] {
        if let Some((part, after)) = rest.split_once(unit) {
            add(part, unit_ms)?;
            rest = after;
        }
    }
    rest.is_empty().then_some(sum_ms)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_parsed() {
        for (text, expected) in [
            ("pt5s", Some(5000)),
            ("pt1.25s", Some(1250)),
            ("p1dt2h30m", Some(95_400_000)),
            ("p2d", Some(172_800_000)),
            ("p", None),
            ("pt", None),
            ("p1dt", None),
            ("pt-5s", None),
            ("pt1.5m", None),
            ("5s", None),
            ("pt5", None),
            ("pt99999999999999999999s", None),
        ] {
            assert_eq!(duration_ms(text), expected, "{text}");
        }
        assert_eq!(
            offset_reset("by_duration:PT1H"),
            Some(ShareOffsetReset::ByDuration(3_600_000))
        );
        assert_eq!(offset_reset("none"), None);
    }

    #[test]
    fn values_are_checked_and_take_precedence() {
        let brokers = ShareGroupConfig::default();
        let mut configs = GroupConfigs::default();
        let group = ConfigResource::new(ConfigResource::GROUP, "g");
        let mut set = |name: &str, value: &str| {
            configs.reconfigure(&brokers, &group, false, |mut overrides| {
                overrides.insert(name.to_owned(), value.to_owned());
                Ok(overrides)
            })
        };
        set(DELIVERY_COUNT_LIMIT, "3").unwrap();
        set(OFFSET_RESET, "by_duration:PT1.5S").unwrap();
        set(RENEW, "false").unwrap();
        for (name, value) in [
            (DELIVERY_COUNT_LIMIT, "1"),
            (DELIVERY_COUNT_LIMIT, "11"),
            (SESSION_TIMEOUT, "many"),
            (ISOLATION_LEVEL, "none"),
            ("share.unknown", "1"),
        ] {
            assert_eq!(
                set(name, value).unwrap_err().error,
                ErrorCode::INVALID_CONFIG,
                "{name}={value}"
            );
        }
        let settings = configs.share_settings(&brokers, "g");
        let expected = ShareGroupConfig {
            delivery_count_limit: 3,
            offset_reset: ShareOffsetReset::ByDuration(1500),
            renew_acknowledge: false,
            ..brokers.clone()
        };
        assert_eq!(settings, expected);
        assert_eq!(configs.share_settings(&brokers, "h"), brokers);
        let reset = SETTINGS.iter().find(|s| s.name == OFFSET_RESET).unwrap();
        assert_eq!(value(&settings, reset), "by_duration:PT1.500S");
    }
}
