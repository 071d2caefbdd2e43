//! [`Value`]: the value of a property, parsed from text and printed.

use regex::RegexSet;

use super::number::{parse_float, parse_int, print_float};
use super::property::{Kind, Named, Property, TextCheck};
use super::secret::Secret;

/// The value of a property.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Int(i32),
    Float(f64),
    Bool(bool),
    /// `None` when unset.
    Text(Option<String>),
    Patterns(PatternList),
    Choice(Choice),
    Flags(u32),
    /// Zero when unset.
    Pointer(usize),
}

/// One of the names that a property of choices accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Choice {
    name: &'static str,
    number: i32,
}

impl Choice {
    fn find(values: &'static [Named], matches: impl Fn(&Named) -> bool) -> Option<Self> {
        let (_, number) = values.iter().find(|named| matches(named))?;
        let (name, _) = values.iter().find(|(_, n)| n == number)?;
        Some(Self { name, number: *number })
    }

    /// Returns the name; of several names for the same number, the first in the table.
    pub const fn as_str(self) -> &'static str {
        self.name
    }

    /// Returns the number that the table assigns to the name.
    pub const fn number(self) -> i32 {
        self.number
    }
}

impl PartialEq<str> for Choice {
    fn eq(&self, other: &str) -> bool {
        self.name == other
    }
}

impl PartialEq<&str> for Choice {
    fn eq(&self, other: &&str) -> bool {
        self.name == *other
    }
}

impl std::fmt::Display for Choice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// A comma-separated list of regular expressions for names. A comma inside an expression is written `\,`.
#[derive(Debug, Clone, Default)]
pub struct PatternList {
    text: String,
    set: RegexSet,
}

impl PatternList {
    /// Parses a list.
    ///
    /// # Errors
    /// The invalid expression and the reason, as human-readable text.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut items = vec![String::new()];
        let mut chars = text.chars().peekable();
        while let Some(c) = chars.next() {
            let escaped_comma = c == '\\' && chars.peek() == Some(&',');
            match items.last_mut() {
                Some(item) if c != ',' => {
                    item.push(if escaped_comma { ',' } else { c });
                    if escaped_comma {
                        chars.next();
                    }
                }
                _ => items.push(String::new()),
            }
        }
        items.retain(|item| !item.is_empty());
        for item in &items {
            if let Err(e) = regex::Regex::new(item) {
                let reason = e.to_string();
                let reason = reason.lines().last().unwrap_or_default().trim();
                return Err(format!(
                    "{item:?} is not a regular expression: {}",
                    reason.strip_prefix("error: ").unwrap_or(reason)
                ));
            }
        }
        let set = RegexSet::new(&items).map_err(|e| e.to_string())?;
        Ok(Self {
            text: text.to_owned(),
            set,
        })
    }

    /// Returns whether any expression matches somewhere in the name.
    pub fn is_match(&self, name: &str) -> bool {
        self.set.is_match(name)
    }

    /// Returns whether there is no expression.
    pub fn is_empty(&self) -> bool {
        self.set.is_empty()
    }

    /// Returns the list as it was set.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl PartialEq for PatternList {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

/// The result of parsing a text.
pub(super) enum Parsed {
    /// The property's new value.
    Set(Value),
    /// The property is reset to its default.
    Reset,
}

impl Value {
    /// Returns the default of a kind.
    pub(super) fn default_of(kind: &Kind) -> Self {
        match *kind {
            Kind::Int { default, .. } => Self::Int(default),
            Kind::Float { default, .. } => Self::Float(default),
            Kind::Bool { default } => Self::Bool(default),
            Kind::Text { default, .. } => Self::Text(default.map(str::to_owned)),
            Kind::Patterns => Self::Patterns(PatternList::default()),
            Kind::Choice { values, default } => {
                Self::Choice(Choice::find(values, |(_, n)| *n == default).unwrap_or_default())
            }
            Kind::Flags { default, .. } => Self::Flags(default),
            Kind::Pointer { .. } => Self::Pointer(0),
        }
    }

    /// Parses `text` for `property`. Flags are added to and removed from `current`.
    ///
    /// # Errors
    /// The reason and the allowed values, without the name of the property.
    pub(super) fn parse(property: &Property, current: &Self, text: Option<&str>) -> Result<Parsed, String> {
        let text = text.unwrap_or("");
        let value = match property.kind {
            Kind::Text {
                keeps_spaces, check, ..
            } => {
                let text = if keeps_spaces { text } else { text.trim_start() };
                check_text(check, text)?;
                match text.is_empty() {
                    true => return Ok(Parsed::Reset),
                    false => Self::Text(Some(text.to_owned())),
                }
            }
            Kind::Patterns => match text.is_empty() {
                true => return Ok(Parsed::Reset),
                false => Self::Patterns(PatternList::parse(text)?),
            },
            Kind::Pointer { set_by: "" } => return Err("cannot be set by text".to_owned()),
            Kind::Pointer { set_by } => {
                return Err(format!("cannot be set by text: call {set_by}()"));
            }
            _ if text.is_empty() => {
                return Err(format!("is empty, allowed is {}", allowed(property)));
            }
            Kind::Int { min, max, names, .. } => Self::Int(read_int(text, min, max, names)?),
            Kind::Float { min, max, .. } => Self::Float(read_float(text, min, max)?),
            Kind::Bool { .. } => Self::Bool(read_bool(text)?),
            Kind::Choice { values, .. } => {
                let name = text.trim();
                let found = Choice::find(values, |(known, _)| known.eq_ignore_ascii_case(name));
                Self::Choice(found.ok_or_else(|| not_one_of(name, values))?)
            }
            Kind::Flags { values, .. } => {
                let so_far = match current {
                    Self::Flags(bits) => *bits,
                    _ => 0,
                };
                Self::Flags(read_flags(text, values, so_far)?)
            }
        };
        Ok(Parsed::Set(value))
    }

    /// Returns the value as text; `None` when it is unset.
    pub(super) fn print(&self, kind: &Kind) -> Option<String> {
        Some(match self {
            Self::Int(n) => n.to_string(),
            Self::Float(n) => print_float(*n),
            Self::Bool(b) => b.to_string(),
            Self::Text(text) => return text.clone(),
            Self::Patterns(list) if list.as_str().is_empty() => return None,
            Self::Patterns(list) => list.as_str().to_owned(),
            Self::Choice(choice) => choice.as_str().to_owned(),
            Self::Flags(bits) => match kind {
                Kind::Flags { values, .. } => {
                    let names: Vec<&str> = values
                        .iter()
                        .filter(|(_, flag)| contains(*bits, *flag))
                        .map(|(name, _)| *name)
                        .collect();
                    names.join(",")
                }
                _ => bits.to_string(),
            },
            Self::Pointer(0) => return None,
            Self::Pointer(address) => format!("{address:#x}"),
        })
    }
}

fn contains(bits: u32, flag: i32) -> bool {
    let flag = flag.cast_unsigned();
    bits & flag == flag
}

/// Returns the allowed values of a property, as text.
fn allowed(property: &Property) -> String {
    match property.kind {
        Kind::Int { min, max, .. } => format!("a whole number from {min} to {max}"),
        Kind::Float { min, max, .. } => format!("a number from {min} to {max}"),
        Kind::Bool { .. } => "true or false".to_owned(),
        Kind::Flags { .. } => format!("a comma-separated list of {}", property.range()),
        _ => format!("one of {}", property.range()),
    }
}

fn not_one_of(name: &str, values: &[Named]) -> String {
    let names: Vec<&str> = values.iter().map(|(known, _)| *known).collect();
    format!("{name:?} is not allowed, only one of {}", names.join(", "))
}

fn check_text(check: TextCheck, text: &str) -> Result<(), String> {
    match check {
        TextCheck::SingleItem if text.contains([',', ' ']) => Err(format!(
            "{text:?} is not allowed, only one name without commas and spaces"
        )),
        TextCheck::BrokerVersion if text.starts_with("0.6.") || text.starts_with("0.7.") => {
            Err(format!("{text:?} is not allowed, only release 0.8.0 or later"))
        }
        TextCheck::OneOf(values) if !values.contains(&text) => {
            Err(format!("{text:?} is not allowed, only one of {}", values.join(", ")))
        }
        _ => Ok(()),
    }
}

fn read_int(text: &str, min: i32, max: i32, names: &[Named]) -> Result<i32, String> {
    if let Some((_, number)) = names.iter().find(|(name, _)| name.eq_ignore_ascii_case(text)) {
        return Ok(*number);
    }
    let Some(number) = parse_int(text) else {
        let mut allowed = format!("a whole number from {min} to {max}");
        for (name, _) in names {
            allowed.push_str(&format!(" or {name}"));
        }
        return Err(format!("{text:?} is not a number, allowed is {allowed}"));
    };
    match i32::try_from(number) {
        Ok(number) if (min..=max).contains(&number) => Ok(number),
        _ => Err(format!("{text:?} is outside the allowed range {min}..{max}")),
    }
}

fn read_float(text: &str, min: f64, max: f64) -> Result<f64, String> {
    let Some(number) = parse_float(text) else {
        return Err(format!(
            "{text:?} is not a number, allowed is a number from {min} to {max}"
        ));
    };
    match (min..=max).contains(&number) {
        true => Ok(number),
        false => Err(format!("{text:?} is outside the allowed range {min}..{max}")),
    }
}

fn read_bool(text: &str) -> Result<bool, String> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "t" | "1" => Ok(true),
        "false" | "f" | "0" => Ok(false),
        _ => Err(format!("{text:?} is not allowed, only true or false")),
    }
}

/// Adds and removes flags: `a,+b,-c`.
fn read_flags(text: &str, values: &[Named], mut bits: u32) -> Result<u32, String> {
    for item in text.split(',').map(str::trim).filter(|item| !item.is_empty()) {
        let (remove, name) = match item.strip_prefix('-') {
            Some(name) => (true, name),
            None => (false, item.strip_prefix('+').unwrap_or(item)),
        };
        let found = values.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        let (_, flag) = found.ok_or_else(|| not_one_of(name, values))?;
        match remove {
            true => bits &= !flag.cast_unsigned(),
            false => bits |= flag.cast_unsigned(),
        }
    }
    Ok(bits)
}

/// A field of the typed settings, taken from a value. A value of another kind yields the type's default; the tables'
/// tests verify that this does not occur.
pub(super) trait Field: Default {
    fn take(value: &Value) -> Option<Self>;

    /// Returns the field as text.
    fn text(&self) -> String;
}

macro_rules! integer_fields {
    ($($ty:ty),+) => {
        $(impl Field for $ty {
            fn take(value: &Value) -> Option<Self> {
                match value {
                    Value::Int(n) => <$ty>::try_from(*n).ok(),
                    Value::Flags(bits) => <$ty>::try_from(*bits).ok(),
                    _ => None,
                }
            }

            fn text(&self) -> String {
                self.to_string()
            }
        })+
    };
}
integer_fields!(i16, i32, u32);

macro_rules! fields {
    ($($ty:ty: $variant:ident($bound:ident) => $out:expr, $field:ident => $text:expr;)+) => {
        $(impl Field for $ty {
            fn take(value: &Value) -> Option<Self> {
                match value {
                    Value::$variant($bound) => Some($out),
                    _ => None,
                }
            }

            fn text(&self) -> String {
                let $field = self;
                $text
            }
        })+
    };
}
fields! {
    f64: Float(n) => *n, field => field.to_string();
    bool: Bool(b) => *b, field => field.to_string();
    String: Text(text) => text.clone().unwrap_or_default(), field => field.clone();
    Secret: Text(text) => Secret::new(text.as_deref().unwrap_or_default()), field => field.to_string();
    PatternList: Patterns(list) => list.clone(), field => field.text.clone();
    Choice: Choice(choice) => *choice, field => field.as_str().to_owned();
    usize: Pointer(address) => *address, field => field.to_string();
}
