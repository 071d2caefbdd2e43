//! [`ErrorCode`]: the number, its name, its description, and what may be done about it.

use std::borrow::Cow;
use std::ffi::CStr;
use std::fmt;

use super::table::{LISTED, UNLISTED};

/// What went wrong, as a number: negative for what this client found out itself, zero for no error, positive for what a
/// broker said (the protocol's error codes). Values that no table knows survive.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct ErrorCode(pub i32);

/// Who has to act for the error to go away.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fault {
    /// Nobody: not an error but news, as the end of a partition is.
    NoOne,
    /// The application: its arguments, its configuration, its rights, or the order of its calls.
    Caller,
    /// The broker, or the state of the cluster.
    Peer,
    /// The way to the broker: connections, names, time.
    Network,
    /// This library, or the machine it runs on.
    Ourselves,
}

/// What may be done about an error: a set of bits.
///
/// This is the reading of the code alone. A manager that knows the request and its own state may know better: an
/// expired epoch, for instance, is fatal for a fenced producer and harmless for one that is about to bump its epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Action(u8);

impl Action {
    /// Nothing: report it.
    pub const NONE: Self = Self(0);
    /// The same request may succeed later.
    pub const RETRY: Self = Self(1);
    /// The cached metadata is stale: fetch it again first.
    pub const REFRESH: Self = Self(2);
    /// A transaction that met this cannot be committed any more, only aborted (KIP-360, KIP-890, KIP-1050).
    pub const ABORT: Self = Self(4);
    /// The client instance cannot go on.
    pub const FATAL: Self = Self(8);

    /// Both sets together.
    pub const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    const fn has(self, bits: Self) -> bool {
        self.0 & bits.0 == bits.0
    }

    /// Whether the same request may succeed later.
    pub const fn is_retriable(self) -> bool {
        self.has(Self::RETRY)
    }

    /// Whether the metadata must be fetched again first.
    pub const fn refreshes_metadata(self) -> bool {
        self.has(Self::REFRESH)
    }

    /// Whether the transaction at hand must be aborted.
    pub const fn requires_abort(self) -> bool {
        self.has(Self::ABORT)
    }

    /// Whether the client instance cannot go on.
    pub const fn is_fatal(self) -> bool {
        self.has(Self::FATAL)
    }
}

/// One row of the table. Texts end in a NUL byte so that the C face can hand them out as they are.
pub(super) struct Row {
    pub(super) code: i32,
    pub(super) constant: &'static str,
    pub(super) description: &'static str,
    pub(super) fault: Fault,
    pub(super) action: Action,
}

/// Turns rows into the constants of [`ErrorCode`] and the two tables, each ascending by code.
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

        /// The codes that `rdkafka.h` names.
        pub(super) static LISTED: &[Row] = &[
            $(codes!(@row $code $name $fault $action $description),)+
        ];

        /// The codes that only the protocol names.
        pub(super) static UNLISTED: &[Row] = &[
            $(codes!(@row $u_code $u_name $u_fault $u_action $u_description),)+
        ];
    };
}
pub(super) use codes;

fn find(rows: &'static [Row], code: i32) -> Option<&'static Row> {
    rows.get(rows.binary_search_by_key(&code, |row| row.code).ok()?)
}

/// A local code's constant is `L_NAME`; its name is `_NAME`.
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
    /// The first number of the local codes; no error has it.
    pub const FIRST: i32 = -200;
    /// One past the last code that `rdkafka.h` names; no error has it.
    pub const END: i32 = 134;

    fn row(self) -> Option<&'static Row> {
        find(LISTED, self.0).or_else(|| find(UNLISTED, self.0))
    }

    /// The name that `rdkafka.h` gives the code, without the prefix, as in `_QUEUE_FULL` and
    /// `UNKNOWN_TOPIC_OR_PART`; `ERR_<code>?` for a code without one.
    pub fn name(self) -> Cow<'static, str> {
        match find(LISTED, self.0) {
            Some(row) => Cow::Borrowed(without_nul(public_name(row))),
            None => Cow::Owned(format!("ERR_{}?", self.0)),
        }
    }

    /// What the code means, in a few words that begin with who found out (`Local:` or `Broker:`); `Err-<code>?` for a
    /// code that is not known.
    pub fn description(self) -> Cow<'static, str> {
        match self.row() {
            Some(row) => Cow::Borrowed(without_nul(row.description)),
            None => Cow::Owned(format!("Err-{}?", self.0)),
        }
    }

    /// [`Self::name`] for C, which lives as long as the process; `None` for a code without a name.
    pub fn c_name(self) -> Option<&'static CStr> {
        let row = find(LISTED, self.0)?;
        CStr::from_bytes_with_nul(public_name(row).as_bytes()).ok()
    }

    /// [`Self::description`] for C, which lives as long as the process; `None` for a code that is not known.
    pub fn c_description(self) -> Option<&'static CStr> {
        CStr::from_bytes_with_nul(self.row()?.description.as_bytes()).ok()
    }

    /// Every code that `rdkafka.h` names, ascending.
    pub fn listed() -> impl Iterator<Item = Self> {
        LISTED.iter().map(|row| Self(row.code))
    }

    /// Whether this is [`Self::NO_ERROR`].
    pub const fn is_ok(self) -> bool {
        self.0 == 0
    }

    /// `Ok` for [`Self::NO_ERROR`], else this code as the error.
    ///
    /// # Errors
    /// The code itself.
    pub const fn ok(self) -> Result<(), Self> {
        match self.is_ok() {
            true => Ok(()),
            false => Err(self),
        }
    }

    /// Whether a broker said it (`UNKNOWN`, -1, included).
    pub const fn is_from_broker(self) -> bool {
        self.0 > 0 || self.0 == -1
    }

    /// The protocol's code, when a broker said it.
    pub fn to_protocol(self) -> Option<ottla_protocol::ErrorCode> {
        let code = self.is_from_broker().then(|| i16::try_from(self.0).ok())?;
        code.map(ottla_protocol::ErrorCode)
    }

    /// Who has to act for it to go away. A broker's unknown code is the broker's, a local one ours.
    pub fn fault(self) -> Fault {
        match self.row() {
            Some(row) => row.fault,
            None if self.is_from_broker() => Fault::Peer,
            None => Fault::Ourselves,
        }
    }

    /// What may be done about it; nothing for a code that is not known.
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
    /// The description.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.description())
    }
}

impl fmt::Debug for ErrorCode {
    /// The name.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name())
    }
}

impl std::error::Error for ErrorCode {}
