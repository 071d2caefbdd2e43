//! Calls of the application that request metadata, such as `rd_kafka_metadata()`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use ottla_protocol::api::metadata::MetadataResponse;

use crate::error::{Error, ErrorCode};
use crate::reply::Reply;
use crate::request::Attempts;
use crate::sys::{Instant, earliest};

/// Backoff after a request that could not be sent.
const SEND_RETRY: Duration = Duration::from_millis(100);

/// The topics of a metadata call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MetadataScope {
    /// Every topic of the cluster.
    AllTopics,
    /// The topics that the application has created handles for.
    KnownTopics,
    /// These topics.
    Topics(Vec<String>),
}

/// The result of a metadata call.
#[derive(Clone, Debug)]
pub struct MetadataReply {
    /// The decoded response.
    pub response: MetadataResponse,
    /// The broker that responded.
    pub orig_node: i32,
    /// The name of that broker, `host:port/id`.
    pub orig_name: String,
}

/// The reply of a metadata call.
pub(super) type CallReply = Arc<Reply<Result<MetadataReply, Error>>>;

/// A metadata call in progress.
#[derive(Debug)]
pub(super) struct Call {
    scope: MetadataScope,
    deadline: Instant,
    reply: CallReply,
    last_error: Option<Error>,
    /// The schedule of requests. Suspended while a request is in flight, until that request is late.
    attempts: Attempts,
}

/// The result of a metadata call, not yet delivered to the caller.
#[derive(Debug)]
pub struct Answer {
    reply: CallReply,
    /// Boxed because this type is a variant of `Change`, whose other variants are small.
    answer: Box<MetadataReply>,
}

impl Answer {
    /// Delivers the result to the caller.
    pub fn deliver(self) {
        self.reply.fill(Ok(*self.answer));
    }
}

impl Call {
    /// Fails the call.
    pub(super) fn fail(self, error: Error) {
        self.reply.fill(Err(error));
    }

    /// Returns the error of a call whose deadline has passed:
    /// - the error of its last failed request, if a request has failed;
    /// - a transport error if no request was sent; its text has `last_failure`, the last failure of a connection;
    /// - otherwise a timeout: the broker did not answer.
    pub(super) fn timeout_error(&self, was_sent: bool, last_failure: Option<&Error>) -> Error {
        match (&self.last_error, last_failure) {
            (Some(error), _) => error.clone(),
            (None, Some(failure)) if !was_sent => {
                let text = format!(
                    "no broker could be reached in time; the last failure: {}",
                    failure.message
                );
                Error::new(ErrorCode::L_TRANSPORT, text)
            }
            (None, None) if !was_sent => Error::new(ErrorCode::L_TRANSPORT, "no broker could be reached in time"),
            _ => Error::new(
                ErrorCode::L_TIMED_OUT,
                "the broker did not answer a metadata request in time",
            ),
        }
    }
}

/// The metadata calls in progress.
#[derive(Debug, Default)]
pub(super) struct Calls {
    calls: BTreeMap<u64, Call>,
    last_id: u64,
}

impl Calls {
    /// Begins a call.
    pub(super) fn add(&mut self, now: Instant, scope: MetadataScope, deadline: Instant, reply: CallReply) {
        self.last_id += 1;
        let call = Call {
            scope,
            deadline,
            reply,
            last_error: None,
            attempts: Attempts::starting_at(now),
        };
        self.calls.insert(self.last_id, call);
    }

    /// Removes and returns the calls whose deadline has passed.
    pub(super) fn take_expired(&mut self, now: Instant) -> impl Iterator<Item = (u64, Call)> + use<> {
        let expired = self.calls.extract_if(.., |_, call| call.deadline <= now);
        expired.collect::<Vec<_>>().into_iter()
    }

    /// Returns the calls whose next attempt is due.
    pub(super) fn due(&self, now: Instant) -> Vec<u64> {
        let due = self.calls.iter().filter(|(_, call)| call.attempts.is_due(now));
        due.map(|(id, _)| *id).collect()
    }

    /// Returns the topics of a call.
    pub(super) fn scope(&self, id: u64) -> Option<&MetadataScope> {
        self.calls.get(&id).map(|call| &call.scope)
    }

    /// Records the result of an attempt to send a request.
    pub(super) fn on_sent(&mut self, now: Instant, id: u64, result: Result<(), Error>) {
        let Some(call) = self.calls.get_mut(&id) else { return };
        match result {
            Ok(()) => call.attempts.suspend(),
            Err(error) => {
                call.attempts.back_off_for(now, SEND_RETRY);
                call.last_error = Some(error);
            }
        }
    }

    /// Makes another request due at once, because the one in flight is late.
    pub(super) fn on_late(&mut self, now: Instant, id: u64) {
        if let Some(call) = self.calls.get_mut(&id) {
            call.attempts.hasten(now);
        }
    }

    /// Records a failed request. `pause` is the time until the next one; `None` while another request of the call is in
    /// flight.
    pub(super) fn on_failed(&mut self, now: Instant, id: u64, error: Error, pause: Option<Duration>) {
        if let Some(call) = self.calls.get_mut(&id) {
            call.last_error = Some(error);
            if let Some(pause) = pause {
                call.attempts.back_off_for(now, pause);
            }
        }
    }

    /// Ends a call with a response. Returns the result, which the caller must deliver; `None` if the call has ended before.
    pub(super) fn on_answered(&mut self, id: u64, answer: MetadataReply) -> Option<Answer> {
        let call = self.calls.remove(&id)?;
        Some(Answer {
            reply: call.reply,
            answer: Box::new(answer),
        })
    }

    /// Returns the time of the next deadline or attempt after `now`, whichever is earlier.
    pub(super) fn next_wake(&self, now: Instant) -> Option<Instant> {
        let deadline = self.calls.values().map(|call| call.deadline).min();
        let attempt = self.calls.values().map(|call| call.attempts.next_at()).min();
        earliest(deadline.filter(|at| *at > now), attempt.filter(|at| *at > now))
    }

    /// Removes and returns every call.
    pub(super) fn take_all(&mut self) -> impl Iterator<Item = Call> + use<> {
        std::mem::take(&mut self.calls).into_values()
    }
}
