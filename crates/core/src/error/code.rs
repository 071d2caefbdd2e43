//! [`ErrorCode`]: number, name, description, fault and action of an error.

use std::borrow::Cow;
use std::ffi::CStr;
use std::fmt;

use super::kinds::{Action, ErrorCode, Fault};
use super::table::{LISTED, Row, UNLISTED};

fn find(rows: &'static [Row], code: i32) -> Option<&'static Row> {
    rows.get(rows.binary_search_by_key(&code, |row| row.code).ok()?)
}

/// Returns the public name of a row: a local code's constant is `L_NAME`, its name `_NAME`.
fn public_name(row: &Row) -> &'static str {
    match row.constant.strip_prefix("L_") {
        Some(_) if row.code < -1 => row.constant.get(1..).unwrap_or(row.constant),
        _ => row.constant,
    }
}

fn without_nul(text: &'static str) -> &'static str {
    text.strip_suffix('\0').unwrap_or(text)
}

impl ErrorCode {
    /// The lower bound of the local codes; not an error itself.
    pub const FIRST: i32 = -200;
    /// One past the last code in `rdkafka.h`; not an error itself.
    pub const END: i32 = 134;

    fn row(self) -> Option<&'static Row> {
        find(LISTED, self.0).or_else(|| find(UNLISTED, self.0))
    }

    /// Returns the name of the code in `rdkafka.h` without the prefix, such as `_QUEUE_FULL` and
    /// `UNKNOWN_TOPIC_OR_PART`; `ERR_<code>?` for a code without one.
    pub fn name(self) -> Cow<'static, str> {
        match find(LISTED, self.0) {
            Some(row) => Cow::Borrowed(without_nul(public_name(row))),
            None => Cow::Owned(format!("ERR_{}?", self.0)),
        }
    }

    /// Returns a short description that begins with the origin of the error (`Local:` or `Broker:`); `Err-<code>?` for an
    /// unknown code.
    pub fn description(self) -> Cow<'static, str> {
        match self.row() {
            Some(row) => Cow::Borrowed(without_nul(row.description)),
            None => Cow::Owned(format!("Err-{}?", self.0)),
        }
    }

    /// Returns [`Self::name`] as a static C string; `None` for a code without a name.
    pub fn c_name(self) -> Option<&'static CStr> {
        let row = find(LISTED, self.0)?;
        CStr::from_bytes_with_nul(public_name(row).as_bytes()).ok()
    }

    /// Returns [`Self::description`] as a static C string; `None` for an unknown code.
    pub fn c_description(self) -> Option<&'static CStr> {
        CStr::from_bytes_with_nul(self.row()?.description.as_bytes()).ok()
    }

    /// Returns every code with a name in `rdkafka.h`, ascending.
    pub fn listed() -> impl Iterator<Item = Self> {
        LISTED.iter().map(|row| Self(row.code))
    }

    /// Returns true for [`Self::NO_ERROR`].
    pub const fn is_ok(self) -> bool {
        self.0 == 0
    }

    /// Returns `Ok` for [`Self::NO_ERROR`], and this code as the error otherwise.
    ///
    /// # Errors
    /// The code itself.
    pub const fn ok(self) -> Result<(), Self> {
        match self.is_ok() {
            true => Ok(()),
            false => Err(self),
        }
    }

    /// Returns true for codes that brokers return, including `UNKNOWN` (-1).
    pub const fn is_from_broker(self) -> bool {
        self.0 > 0 || self.0 == -1
    }

    /// Returns the protocol's code; `None` for a local code.
    pub fn to_protocol(self) -> Option<ottla_protocol::ErrorCode> {
        let code = self.is_from_broker().then(|| i16::try_from(self.0).ok())?;
        code.map(ottla_protocol::ErrorCode)
    }

    /// Returns the party that must act. An unknown code is the broker's or, if local, this library's.
    pub fn fault(self) -> Fault {
        match self.row() {
            Some(row) => row.fault,
            None if self.is_from_broker() => Fault::Peer,
            None => Fault::Ourselves,
        }
    }

    /// Returns the possible reactions; [`Action::NONE`] for an unknown code.
    pub fn action(self) -> Action {
        let mut action = self.row().map_or(Action::NONE, |row| row.action);
        if let Some(code) = self.to_protocol() {
            if code.is_retriable() {
                action = action.or(Action::RETRY);
            }
            if code.refreshes_metadata() {
                action = action.or(Action::REFRESH);
            }
        }
        action
    }
}

impl From<ottla_protocol::ErrorCode> for ErrorCode {
    fn from(code: ottla_protocol::ErrorCode) -> Self {
        Self(i32::from(code.0))
    }
}

impl From<i16> for ErrorCode {
    fn from(code: i16) -> Self {
        Self(i32::from(code))
    }
}

impl fmt::Display for ErrorCode {
    /// Writes the description.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.description())
    }
}

impl fmt::Debug for ErrorCode {
    /// Writes the name.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name())
    }
}

impl std::error::Error for ErrorCode {}
