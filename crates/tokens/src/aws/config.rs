//! `sasl.oauthbearer.config` for AWS: pairs `key=value`, separated by white space, without quotes.

use crate::extensions;
use crate::text::shown;
use crate::token::SettingsError;

pub(super) const PROPERTY: &str = "sasl.oauthbearer.config";
/// Maximum length, in bytes.
const LEN_MAX: usize = 64 << 10;
/// Maximum number of tags that STS accepts.
const TAGS_MAX: usize = 50;
/// The keys besides `extension_NAME` and `tag_NAME`.
const KEYS: &[&str] = &[
    "region",
    "profile",
    "audience",
    "duration_seconds",
    "signing_algorithm",
    "sts_endpoint",
    "principal_name",
];

/// The parsed settings.
#[derive(Default)]
pub(crate) struct Config {
    values: Vec<(&'static str, String)>,
    pub(super) extensions: Vec<(String, String)>,
    pub(super) tags: Vec<(String, String)>,
}

impl Config {
    /// Parses the property's value.
    pub(crate) fn parse(text: &str) -> Result<Self, SettingsError> {
        if text.len() > LEN_MAX {
            return Err(invalid(format!("it has more than {LEN_MAX} bytes")));
        }
        let mut config = Config::default();
        for pair in text.split_ascii_whitespace() {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            if value.is_empty() && !key.starts_with("extension_") {
                return Err(invalid(format!("empty '{}='", shown(key))));
            }
            config.add(key, value)?;
        }
        Ok(config)
    }

    fn add(&mut self, key: &str, value: &str) -> Result<(), SettingsError> {
        let multiple = || Err(invalid(format!("multiple '{}='", shown(key))));
        if let Some(name) = key.strip_prefix("extension_") {
            extensions::check(PROPERTY, name, value)?;
            if self.extensions.iter().any(|(other, _)| other == name) {
                return multiple();
            }
            self.extensions.push((name.to_owned(), value.to_owned()));
            return Ok(());
        }
        if let Some(name) = key.strip_prefix("tag_") {
            if self.tags.iter().any(|(other, _)| other == name) {
                return multiple();
            }
            if name.is_empty() || self.tags.len() == TAGS_MAX {
                return Err(invalid(format!("tags need a name, and {TAGS_MAX} are the most")));
            }
            self.tags.push((name.to_owned(), value.to_owned()));
            return Ok(());
        }
        let Some(known) = KEYS.iter().find(|known| **known == key) else {
            return Err(invalid(format!("unknown key {}", shown(key))));
        };
        if self.has(known) {
            return multiple();
        }
        self.values.push((known, value.to_owned()));
        Ok(())
    }

    /// Returns a value.
    pub(super) fn get(&self, key: &str) -> Option<&str> {
        let found = self.values.iter().find(|(known, _)| *known == key);
        found.map(|(_, value)| value.as_str())
    }

    /// Returns whether a key is set.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.get(key).is_some()
    }
}

pub(super) fn invalid(text: String) -> SettingsError {
    SettingsError::invalid(PROPERTY, text)
}

/// Returns whether a name can be part of AWS's host names.
pub(super) fn is_region(name: &str) -> bool {
    let is_valid = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    (1..=63).contains(&name.len()) && name.bytes().all(is_valid)
}
