//! [`Conf`] and [`TopicConf`]: the application's settings, by name.

use std::fmt;

use zeroize::Zeroize;

use super::property::Property;
use super::tables::{GLOBAL, NOT_PROPERTIES, Prop, TOPIC, TopicProp};
use super::value::{Choice, Parsed, Value};

/// The kind of a [`ConfError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConfErrorKind {
    /// There is no property of this name (`RD_KAFKA_CONF_UNKNOWN`), or its value cannot be read.
    Unknown,
    /// The property does not accept this value (`RD_KAFKA_CONF_INVALID`).
    Invalid,
}

/// The reason why a property could not be set or read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfError {
    /// The kind of error.
    pub kind: ConfErrorKind,
    /// A human-readable description of the error and of the allowed values.
    pub message: String,
}

impl ConfError {
    fn unknown(name: &str) -> Self {
        Self {
            kind: ConfErrorKind::Unknown,
            message: format!("No such configuration property: \"{name}\""),
        }
    }

    fn unset(name: &str) -> Self {
        Self {
            kind: ConfErrorKind::Unknown,
            message: format!("Configuration property \"{name}\" is not set"),
        }
    }

    fn invalid(message: String) -> Self {
        Self {
            kind: ConfErrorKind::Invalid,
            message,
        }
    }
}

impl fmt::Display for ConfError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ConfError {}

/// The values of one of the tables.
#[derive(Clone, PartialEq)]
struct Settings {
    table: &'static [Property],
    values: Vec<Value>,
    /// True for values that the application has set.
    explicit: Vec<bool>,
}

impl Settings {
    fn new(table: &'static [Property]) -> Self {
        Self {
            table,
            values: table.iter().map(|p| Value::default_of(&p.kind)).collect(),
            explicit: vec![false; table.len()],
        }
    }

    fn find(&self, name: &str) -> Option<usize> {
        let named = |p: &Property| p.name == name || p.aliases.contains(&name);
        self.table.iter().position(named)
    }

    fn put(&mut self, index: usize, value: Value, explicit: bool) {
        self.erase(index);
        if let Some(slot) = self.values.get_mut(index) {
            *slot = value;
        }
        if let Some(flag) = self.explicit.get_mut(index) {
            *flag = explicit;
        }
    }

    /// Overwrites the text of a sensitive property before it is dropped.
    fn erase(&mut self, index: usize) {
        let is_sensitive = self.table.get(index).is_some_and(|p| p.sensitive);
        if let (true, Some(Value::Text(Some(text)))) = (is_sensitive, self.values.get_mut(index)) {
            text.zeroize();
        }
    }

    fn value(&self, index: usize) -> Option<&Value> {
        self.values.get(index)
    }

    fn is_explicit(&self, index: usize) -> bool {
        self.explicit.get(index).copied().unwrap_or(false)
    }

    fn set(&mut self, name: &str, text: Option<&str>) -> Result<(), ConfError> {
        let Some(index) = self.find(name) else {
            return Err(match NOT_PROPERTIES.iter().find(|(known, _)| *known == name) {
                Some((_, instead)) => ConfError::invalid(format!("{name}: {instead}")),
                None => ConfError::unknown(name),
            });
        };
        let (Some(property), Some(current)) = (self.table.get(index), self.values.get(index)) else {
            return Err(ConfError::unknown(name));
        };
        let refuse = |why: &str| ConfError::invalid(format!("Configuration property \"{name}\" {why}"));
        if property.windows_only && !cfg!(windows) {
            return Err(refuse("can only be set on Windows"));
        }
        match Value::parse(property, current, text) {
            Ok(Parsed::Set(value)) => self.put(index, value, true),
            Ok(Parsed::Reset) => self.put(index, Value::default_of(&property.kind), false),
            Err(why) => {
                let verb = match why.starts_with(|c: char| c.is_ascii_lowercase()) {
                    true => "",
                    false => "value ",
                };
                return Err(refuse(&format!("{verb}{why}")));
            }
        }
        Ok(())
    }

    fn set_pointer(&mut self, name: &str, address: usize) -> Result<(), ConfError> {
        let index = self.find(name).ok_or_else(|| ConfError::unknown(name))?;
        match self.value(index) {
            Some(Value::Pointer(_)) => {
                self.put(index, Value::Pointer(address), address != 0);
                Ok(())
            }
            _ => Err(ConfError::invalid(format!(
                "Configuration property \"{name}\" is not a pointer"
            ))),
        }
    }

    fn get(&self, name: &str) -> Result<String, ConfError> {
        let index = self.find(name).ok_or_else(|| ConfError::unknown(name))?;
        let property = self.table.get(index);
        let text = property.and_then(|p| self.value(index)?.print(&p.kind));
        text.ok_or_else(|| ConfError::unset(name))
    }

    fn dump(&self) -> Vec<(String, String)> {
        let rows = self.table.iter().zip(&self.values);
        rows.filter_map(|(p, value)| Some((p.name.to_owned(), value.print(&p.kind)?)))
            .collect()
    }

    /// Returns a copy with the values that the application has set, except properties whose names begin with one of
    /// `prefixes`.
    fn filtered(&self, prefixes: &[&str]) -> Self {
        let mut copy = Self::new(self.table);
        for (index, property) in self.table.iter().enumerate() {
            let left_out = prefixes.iter().any(|prefix| property.name.starts_with(prefix));
            if let (true, false, Some(value)) = (self.is_explicit(index), left_out, self.value(index)) {
                copy.put(index, value.clone(), true);
            }
        }
        copy
    }

    fn shown(&self) -> Vec<String> {
        let rows = self.table.iter().zip(&self.values).zip(&self.explicit);
        let shown = rows.filter(|(_, explicit)| **explicit).filter_map(|((p, value), _)| {
            let text = value.print(&p.kind)?;
            Some(format!("{}={}", p.name, if p.sensitive { "[redacted]" } else { &text }))
        });
        shown.collect()
    }

    fn explicit_names(&self) -> impl Iterator<Item = &'static Property> {
        let rows = self.table.iter().zip(&self.explicit);
        rows.filter(|(_, explicit)| **explicit).map(|(p, _)| p)
    }
}

impl Drop for Settings {
    fn drop(&mut self) {
        for index in 0..self.values.len() {
            self.erase(index);
        }
    }
}

/// Prints the values of sensitive properties as `[redacted]`.
impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Settings").field(&self.shown()).finish()
    }
}

/// Typed access to one value, by row. The tables' tests verify that rows have the requested types.
macro_rules! typed_access {
    ($prop:ident) => {
        pub(super) fn int(&self, p: $prop) -> i64 {
            match self.settings.value(p as usize) {
                Some(Value::Int(n)) => i64::from(*n),
                Some(Value::Flags(bits)) => i64::from(*bits),
                _ => 0,
            }
        }

        pub(super) fn choice(&self, p: $prop) -> Choice {
            match self.settings.value(p as usize) {
                Some(Value::Choice(choice)) => *choice,
                _ => Choice::default(),
            }
        }

        /// Returns whether the application has set the property.
        pub(super) fn is_set(&self, p: $prop) -> bool {
            self.settings.is_explicit(p as usize)
        }

        /// Sets a number that a rule has computed, limited to the row's range. A property that the application has set
        /// remains marked as set.
        pub(super) fn adjust_int(&mut self, p: $prop, number: i64) {
            let (min, max) = match self.settings.table.get(p as usize).map(|row| row.kind) {
                Some(super::property::Kind::Int { min, max, .. }) => (i64::from(min), i64::from(max)),
                _ => (0, 0),
            };
            if let Ok(number) = i32::try_from(number.clamp(min, max)) {
                self.adjust(p, Value::Int(number));
            }
        }

        /// Sets a value that a rule has computed. A property that the application has set remains marked as set.
        pub(super) fn adjust(&mut self, p: $prop, value: Value) {
            let explicit = self.is_set(p);
            self.settings.put(p as usize, value, explicit);
        }

        /// Sets the value that a rule returns as text. Ignores a text that the row does not accept.
        pub(super) fn adjust_text(&mut self, p: $prop, text: &str) {
            let row = self.settings.table.get(p as usize);
            let current = self.settings.value(p as usize);
            if let (Some(row), Some(current)) = (row, current)
                && let Ok(Parsed::Set(value)) = Value::parse(row, current, Some(text))
            {
                self.adjust(p, value);
            }
        }

        /// Returns the properties that the application has set.
        pub(super) fn explicit(&self) -> impl Iterator<Item = &'static Property> {
            self.settings.explicit_names()
        }

        pub(super) fn values(&self) -> &[Value] {
            &self.settings.values
        }
    };
}

/// Settings of a topic, by name. Not shared between threads while it is changed; a clone is independent.
#[derive(Debug, Clone, PartialEq)]
pub struct TopicConf {
    settings: Settings,
}

impl Default for TopicConf {
    fn default() -> Self {
        Self::new()
    }
}

impl TopicConf {
    /// Returns all properties at their defaults.
    pub fn new() -> Self {
        Self {
            settings: Settings::new(TOPIC),
        }
    }

    /// Sets a property by its name, an alias, or either with `topic.` before it. No text and an empty one restore the
    /// default of a text.
    ///
    /// # Errors
    /// The name is unknown, or the property does not accept the value. The setting is then unchanged.
    pub fn set(&mut self, name: &str, value: impl IntoText) -> Result<(), ConfError> {
        let short = name.strip_prefix("topic.").unwrap_or(name);
        let outcome = self.settings.set(short, value.text());
        outcome.map_err(|e| match e.kind {
            ConfErrorKind::Unknown => ConfError::unknown(name),
            ConfErrorKind::Invalid => e,
        })
    }

    /// Sets a property without a textual form (a callback, the opaque) to an address; zero unsets it.
    ///
    /// # Errors
    /// The name is unknown, or the property has a textual form.
    pub fn set_pointer(&mut self, name: &str, address: usize) -> Result<(), ConfError> {
        self.settings.set_pointer(name, address)
    }

    /// Returns the value of a property as text: numbers in decimal, floats as `%g`, `true` or `false`, names of
    /// choices, lists of flags.
    ///
    /// # Errors
    /// The name is unknown or the property is not set.
    pub fn get(&self, name: &str) -> Result<String, ConfError> {
        self.settings.get(name)
    }

    /// Returns names and values of all properties that have one, in the order of the table.
    pub fn dump(&self) -> Vec<(String, String)> {
        self.settings.dump()
    }

    /// Returns whether the application has set the property. False for unknown names.
    pub fn is_modified(&self, name: &str) -> bool {
        let index = self.settings.find(name);
        index.is_some_and(|index| self.settings.is_explicit(index))
    }

    typed_access!(TopicProp);
}

/// Settings of a client, by name, with default settings for its topics. Not shared between threads while it is changed;
/// a clone is independent.
#[derive(Debug, Clone, PartialEq)]
pub struct Conf {
    settings: Settings,
    topic: Option<TopicConf>,
}

impl Default for Conf {
    fn default() -> Self {
        Self::new()
    }
}

impl Conf {
    /// Returns all properties at their defaults.
    pub fn new() -> Self {
        Self {
            settings: Settings::new(GLOBAL),
            topic: None,
        }
    }

    /// Sets a property by its name or an alias. A name that only topics have, or one with `topic.` before it, sets the
    /// default for topics. No text and an empty one restore the default of a text; other properties refuse them.
    ///
    /// Whole numbers may be decimal, hexadecimal (`0x`) or octal (`0`). Names of choices and flags may have letters of
    /// any case. Flags are a comma-separated list that adds to what is set; `-name` removes one.
    ///
    /// # Errors
    /// The name is unknown, or the property does not accept the value. The setting is then unchanged.
    pub fn set(&mut self, name: &str, value: impl IntoText) -> Result<(), ConfError> {
        self.set_text(name, value.text())
    }

    fn set_text(&mut self, name: &str, value: Option<&str>) -> Result<(), ConfError> {
        // `topic.metadata.refresh.sparse`, `topic.blacklist` and the like are properties of clients.
        match self.settings.set(name, value) {
            Err(e) if e.kind == ConfErrorKind::Unknown => {
                let mut topic = self.topic.clone().unwrap_or_default();
                topic.set(name, value)?;
                self.topic = Some(topic);
                Ok(())
            }
            other => other,
        }
    }

    /// Sets a property without a textual form (a callback, the opaque) to an address; zero unsets it.
    ///
    /// # Errors
    /// The name is unknown, or the property has a textual form.
    pub fn set_pointer(&mut self, name: &str, address: usize) -> Result<(), ConfError> {
        self.settings.set_pointer(name, address)
    }

    /// Returns the value of a property as text: numbers in decimal, floats as `%g`, `true` or `false`, names of
    /// choices, lists of flags. A name that only topics have returns the default for topics, if there are default
    /// settings for topics.
    ///
    /// # Errors
    /// The name is unknown or the property is not set.
    pub fn get(&self, name: &str) -> Result<String, ConfError> {
        match (&self.topic, self.settings.find(name)) {
            (Some(topic), None) => topic.get(name),
            _ => self.settings.get(name),
        }
    }

    /// Returns names and values of all properties of clients that have one, in the order of the table.
    pub fn dump(&self) -> Vec<(String, String)> {
        self.settings.dump()
    }

    /// Returns the settings of the application, those for topics included, as `name=value` for logs, without secrets.
    pub fn shown(&self) -> Vec<String> {
        let own = self.settings.shown();
        let of_topics = self.topic.iter().flat_map(|topic| topic.settings.shown());
        own.into_iter().chain(of_topics).collect()
    }

    /// Returns whether the application has set the property. False for unknown names.
    pub fn is_modified(&self, name: &str) -> bool {
        match self.settings.find(name) {
            Some(index) => self.settings.is_explicit(index),
            None => self.topic.as_ref().is_some_and(|topic| topic.is_modified(name)),
        }
    }

    /// Returns a copy with the properties that the application has set, except those whose names begin with one of
    /// `prefixes`. All others are at their defaults.
    #[must_use]
    pub fn dup_filter(&self, prefixes: &[&str]) -> Self {
        let topic = self.topic.as_ref().map(|topic| TopicConf {
            settings: topic.settings.filtered(prefixes),
        });
        Self {
            settings: self.settings.filtered(prefixes),
            topic,
        }
    }

    /// Returns the default settings for topics, where there are such.
    pub fn topic_defaults(&self) -> Option<&TopicConf> {
        self.topic.as_ref()
    }

    /// Returns the default settings for topics for changes; creates them if there are none.
    pub fn topic_defaults_mut(&mut self) -> &mut TopicConf {
        self.topic.get_or_insert_default()
    }

    /// Replaces the default settings for topics.
    pub fn set_topic_defaults(&mut self, topic: Option<TopicConf>) {
        self.topic = topic;
    }

    /// Returns the clients that a property is for, of clients or of topics; `None` when there is none of this name.
    pub fn applies(name: &str) -> Option<super::Applies> {
        let short = name.strip_prefix("topic.").unwrap_or(name);
        let of = |name: &str, table: &'static [Property]| {
            let named = |p: &&Property| p.name == name || p.aliases.contains(&name);
            table.iter().find(named).map(|p| p.applies)
        };
        of(name, GLOBAL).or_else(|| of(short, TOPIC))
    }

    /// Returns whether clients have a property of this name.
    pub(super) fn knows(&self, name: &str) -> bool {
        self.settings.find(name).is_some()
    }

    pub(super) fn float(&self, p: Prop) -> f64 {
        match self.settings.value(p as usize) {
            Some(Value::Float(n)) => *n,
            _ => 0.0,
        }
    }

    pub(super) fn bool(&self, p: Prop) -> bool {
        matches!(self.settings.value(p as usize), Some(Value::Bool(true)))
    }

    pub(super) fn text(&self, p: Prop) -> &str {
        match self.settings.value(p as usize) {
            Some(Value::Text(Some(text))) => text,
            _ => "",
        }
    }

    pub(super) fn is_pointer_set(&self, p: Prop) -> bool {
        !matches!(self.settings.value(p as usize), Some(Value::Pointer(0)))
    }

    typed_access!(Prop);
}

/// A value as text, or none: the argument of [`Conf::set`].
pub trait IntoText {
    /// Returns the text.
    fn text(&self) -> Option<&str>;
}

impl IntoText for &str {
    fn text(&self) -> Option<&str> {
        Some(self)
    }
}

impl IntoText for &String {
    fn text(&self) -> Option<&str> {
        Some(self)
    }
}

impl IntoText for Option<&str> {
    fn text(&self) -> Option<&str> {
        *self
    }
}
