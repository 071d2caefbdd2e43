//! The interface of an operation to the engine.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::time::Duration;

use ottla_protocol::{ApiKey, DecodeError, Request};

use super::node::Node;
use crate::connection::{Reply, Tag};
use crate::context::Ctx;
use crate::error::{Error, ErrorCode};
use crate::request::{ReadyBroker, Target};
use crate::types::NodeId;

/// Options of a call.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The timeout of the call, from the search for brokers to the last response; `None` is `socket.timeout.ms`.
    pub request_timeout: Option<Duration>,
    /// The broker's timeout for what it has begun: for topics or partitions to appear or to disappear, for leaders to be
    /// elected. Zero does not wait for that. `None` is `socket.timeout.ms`.
    pub operation_timeout: Option<Duration>,
    /// Validates the request without executing it.
    pub validate_only: bool,
    /// The broker that requests go to instead of the controller, a leader, a coordinator or any broker. A broker's own
    /// settings are always requested from that broker.
    pub broker: Option<NodeId>,
}

/// The parts of a call that brokers answer separately.
#[derive(Debug)]
pub enum Keys<K> {
    /// These, each once or more often.
    Known(Vec<K>),
    /// One for each broker of the cluster.
    EachBroker(fn(NodeId) -> K),
}

/// The result of one key in a response.
#[derive(Debug)]
pub enum Verdict<K, R> {
    /// The key has its result.
    Done(R),
    /// The broker's error. The engine asks again after errors that pass, see `retry`.
    Failed(Error),
    /// An error that is the key's result, whichever code it has.
    Refused(Error),
    /// An error after which the key is asked again, whichever code it has.
    Retry(Error),
    /// Other keys replace this one: another request follows for each of them.
    Become(Vec<K>),
}

impl<K, R> Verdict<K, R> {
    /// Returns the verdict of an error code with the broker's message, if it has one: `row` for success.
    pub fn of(code: i16, message: Option<String>, row: R) -> Self {
        match error_of(code, message) {
            None => Verdict::Done(row),
            Some(error) => Verdict::Failed(error),
        }
    }
}

/// Returns the error with the broker's message, or the client's own text where it has none; `None` for success.
pub(super) fn error_of(code: i16, message: Option<String>) -> Option<Error> {
    let code = ErrorCode::from(code);
    (!code.is_ok()).then(|| Error::classified(code, message.unwrap_or_default()))
}

/// The verdicts of a response. Keys that were not asked for are ignored; keys that are absent fail.
pub(super) type Verdicts<O> = Vec<(
    <O as Operation>::Key,
    Verdict<<O as Operation>::Key, <O as Operation>::Row>,
)>;

/// The results of all keys.
pub(super) type Rows<O> = BTreeMap<<O as Operation>::Key, Result<<O as Operation>::Row, Error>>;

/// Returns the result of a key; an error for one that the call does not have.
pub(super) fn row_of<K: Ord + Debug, R: Clone>(rows: &BTreeMap<K, Result<R, Error>>, key: &K) -> Result<R, Error> {
    let absent = || Err(Error::new(ErrorCode::L_FAIL, format!("{key:?} was not requested")));
    rows.get(key).cloned().unwrap_or_else(absent)
}

/// An admin operation: its parts, their brokers, its requests and its responses.
///
/// The engine ([`Call`](super::call::Call)) does the rest: it groups keys by broker, sends requests, repeats what is
/// open, and keeps the deadline.
pub trait Operation: Debug + Send + Sized + 'static {
    /// The operation's name in librdkafka's style.
    const NAME: &'static str;
    /// True if the call succeeds even if none of its keys was answered: the keys have the errors.
    const KEYS_FAIL_ALONE: bool = false;
    /// A part of the call that a broker answers separately: a topic, a partition, a group; `()` for the whole call.
    type Key: Clone + Ord + Debug + Send;
    /// The result of a key.
    type Row: Clone + Debug + Send;
    /// The result of the call.
    type Output: Debug + Send + Sync + 'static;

    /// Checks what needs no broker.
    ///
    /// # Errors
    /// Usually `_INVALID_ARG`; the call fails with it.
    fn check(&self, _options: &Options) -> Result<(), Error> {
        Ok(())
    }

    /// Returns the keys.
    fn keys(&self) -> Keys<Self::Key>;

    /// Returns the broker that a key's requests go to.
    fn target(&self, key: &Self::Key) -> Target;

    /// Returns whether requests can be repeated that a broker may have executed: they change nothing, or have the same
    /// effect once more.
    fn is_repeatable(&self, options: &Options) -> bool;

    /// Returns the kind of request that a key is for. A request contains keys of one kind.
    fn kind(&self, _key: &Self::Key) -> u8 {
        0
    }

    /// Returns the maximum number of keys in one request to this broker.
    fn batch_max(&self, _broker: &ReadyBroker) -> usize {
        usize::MAX
    }

    /// Sends the request for these keys, which are in order and not empty.
    ///
    /// # Errors
    /// `_UNSUPPORTED_FEATURE` for what the broker's versions cannot express; the keys fail with it.
    fn send(&self, keys: &[Self::Key], to: &mut To<'_, '_>) -> Result<(), Error>;

    /// Decodes the response to a request for these keys.
    ///
    /// # Errors
    /// A malformed response, which ends the connection.
    fn read(&self, keys: &[Self::Key], answer: &Answer<'_>) -> Result<Verdicts<Self>, DecodeError>;

    /// Returns the result of the call from those of its keys.
    ///
    /// # Errors
    /// The error of the call as a whole.
    fn finish(&self, rows: Rows<Self>) -> Result<Self::Output, Error>;
}

/// The connection of a request, with the settings of the call.
pub struct To<'a, 'c> {
    pub(super) ctx: &'a mut Ctx<'c>,
    pub(super) broker: &'a ReadyBroker,
    pub(super) tag: Tag,
    /// The response timeout.
    pub(super) timeout: Duration,
    pub(super) options: &'a Options,
    pub(super) operation_timeout: Duration,
}

impl To<'_, '_> {
    /// Returns the options of the call.
    pub fn options(&self) -> &Options {
        self.options
    }

    /// Returns the name and the version of the client's software, as connections send them.
    pub fn software(&self) -> (String, String) {
        let (name, version) = self.ctx.connections.software();
        (name.to_owned(), version.to_owned())
    }

    /// Returns the broker's timeout for the operation in milliseconds.
    pub fn operation_timeout_ms(&self) -> i32 {
        i32::try_from(self.operation_timeout.as_millis()).unwrap_or(i32::MAX)
    }

    /// Returns the highest version of `R` that both sides support.
    ///
    /// # Errors
    /// `_UNSUPPORTED_FEATURE` when there is none.
    pub fn version<R: Request>(&self) -> Result<i16, Error> {
        self.broker.version::<R>()
    }

    /// Sends a request in the highest version that both sides support.
    ///
    /// # Errors
    /// `_UNSUPPORTED_FEATURE` when there is none.
    pub fn send<R: Request>(&mut self, request: &R) -> Result<(), Error> {
        self.send_up_to(request, i16::MAX)
    }

    /// Sends a request in the highest version that both sides support, at most `highest`: later ones have another meaning.
    ///
    /// # Errors
    /// `_UNSUPPORTED_FEATURE` when there is none.
    pub fn send_up_to<R: Request>(&mut self, request: &R, highest: i16) -> Result<(), Error> {
        let version = self.broker.version_within::<R>(i16::MIN, highest)?;
        self.broker.send(self.ctx, self.tag, request, version, self.timeout)
    }
}

/// A response.
pub struct Answer<'a> {
    pub(super) reply: &'a Reply,
    pub(super) broker: Node,
    pub(super) is_async: bool,
}

impl Answer<'_> {
    /// Decodes the response to an `R`.
    ///
    /// # Errors
    /// [`DecodeError`] when it is malformed.
    pub fn decode<R: Request>(&self) -> Result<R::Response, DecodeError> {
        self.reply.decode::<R>()
    }

    /// Returns the version of request and response.
    pub fn version(&self) -> i16 {
        self.reply.version
    }

    /// Returns the API of the request.
    pub fn api(&self) -> ApiKey {
        self.reply.api
    }

    /// Returns the broker that has responded.
    pub fn broker(&self) -> &Node {
        &self.broker
    }

    /// Returns the verdict of a controller's error code. If the broker was to respond before the operation completes,
    /// REQUEST_TIMED_OUT means that it has started.
    pub fn begun<K>(&self, code: i16, message: Option<String>) -> Verdict<K, ()> {
        match self.is_async && ErrorCode::from(code) == ErrorCode::REQUEST_TIMED_OUT {
            true => Verdict::Done(()),
            false => Verdict::of(code, message, ()),
        }
    }
}
