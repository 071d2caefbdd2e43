//! [`ErrorCode`]: number, name, description, fault and action of an error.

use std::borrow::Cow;
use std::ffi::CStr;
use std::fmt;

use super::table::{LISTED, UNLISTED};

/// The number of an error: negative for errors detected by this client, zero for no error, positive for the protocol's error
/// codes, which brokers return. Unknown values are preserved.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct ErrorCode(pub i32);

/// The party that must act to resolve an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fault {
    /// None: a notification rather than an error, such as the end of a partition.
    NoOne,
    /// The application: its arguments, configuration, permissions, or order of calls.
    Caller,
    /// The broker, or the state of the cluster.
    Peer,
    /// The network: connections, name resolution, timeouts.
    Network,
    /// This library or its machine.
    Ourselves,
}

/// The possible reactions to an error: a set of bits.
///
/// It depends on the code alone. A manager that has the request and its own state may decide otherwise: an expired epoch,
/// for instance, is fatal for a fenced producer and harmless for one that is about to bump its epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Action(u8);

impl Action {
    /// None: report the error.
    pub const NONE: Self = Self(0);
    /// The same request may succeed later.
    pub const RETRY: Self = Self(1);
    /// The cached metadata is stale: refresh it first.
    pub const REFRESH: Self = Self(2);
    /// The transaction cannot be committed any more, only aborted (KIP-360, KIP-890, KIP-1050).
    pub const ABORT: Self = Self(4);
    /// The client instance cannot continue.
    pub const FATAL: Self = Self(8);

    /// Returns the union of both sets.
    pub const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    const fn has(self, bits: Self) -> bool {
        self.0 & bits.0 == bits.0
    }

    /// Returns true if the same request may succeed later.
    pub const fn is_retriable(self) -> bool {
        self.has(Self::RETRY)
    }

    /// Returns true if the metadata must be refreshed first.
    pub const fn refreshes_metadata(self) -> bool {
        self.has(Self::REFRESH)
    }

    /// Returns true if the current transaction must be aborted.
    pub const fn requires_abort(self) -> bool {
        self.has(Self::ABORT)
    }

    /// Returns true if the client instance cannot continue.
    pub const fn is_fatal(self) -> bool {
        self.has(Self::FATAL)
    }
}

/// One row of the table. Texts end in a NUL byte, so that the C interface can return them without a copy.
pub(super) struct Row {
    pub(super) code: i32,
    pub(super) constant: &'static str,
    pub(super) description: &'static str,
    pub(super) fault: Fault,
    pub(super) action: Action,
}

/// Generates the constants of [`ErrorCode`] and the two tables, each ascending by code, from rows.
macro_rules! codes {
    (@row $code:literal $name:ident $fault:ident $action:ident $description:literal) => {
        Row {
            code: $code,
            constant: concat!(stringify!($name), "\0"),
            description: concat!($description, "\0"),
            fault: super::Fault::$fault,
            action: super::Action::$action,
        }
    };
    (
        $($code:literal $name:ident $fault:ident $action:ident $description:literal,)+
        unlisted: $($u_code:literal $u_name:ident $u_fault:ident $u_action:ident $u_description:literal,)+
    ) => {
        impl super::ErrorCode {
            $(#[doc = $description] pub const $name: Self = Self($code);)+
            $(#[doc = $u_description] pub const $u_name: Self = Self($u_code);)+
        }

        /// The codes with a name in `rdkafka.h`.
        pub(super) static LISTED: &[Row] = &[
            $(codes!(@row $code $name $fault $action $description),)+
        ];

        /// The codes with a name only in the protocol.
        pub(super) static UNLISTED: &[Row] = &[
            $(codes!(@row $u_code $u_name $u_fault $u_action $u_description),)+
        ];
    };
}
pub(super) use codes;

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
