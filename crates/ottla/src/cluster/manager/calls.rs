//! Metadata calls of the application.

use std::sync::Arc;
use std::time::Duration;

use ottla_protocol::api::metadata::MetadataResponse;

use super::in_flight::{About, MAX_UNDER_WAY};
use super::{Change, Cluster, MetadataReply, MetadataScope};
use crate::connection::BrokerKey;
use crate::context::Ctx;
use crate::error::{Error, ErrorCode};
use crate::reply::Reply;
use crate::sys::Instant;

/// A metadata call of the application.
#[derive(Debug)]
pub(super) struct Call {
    scope: MetadataScope,
    pub(super) deadline: Instant,
    reply: Arc<Reply<Result<MetadataReply, Error>>>,
    last_error: Option<Error>,
    /// When to ask a broker, [`Instant::NEVER`] while one has been asked and is not late.
    pub(super) ask_at: Instant,
}

impl Call {
    pub(super) fn new(
        scope: MetadataScope,
        deadline: Instant,
        reply: Arc<Reply<Result<MetadataReply, Error>>>,
        now: Instant,
    ) -> Self {
        Call {
            scope,
            deadline,
            reply,
            last_error: None,
            ask_at: now,
        }
    }

    /// Answers a call that will not be carried out.
    pub(super) fn refuse(self, error: Error) {
        self.reply.fill(Err(error));
    }
}

/// The answer to a metadata call.
#[derive(Debug)]
pub struct Answer {
    reply: Arc<Reply<Result<MetadataReply, Error>>>,
    /// Boxed: other changes are small.
    answer: Box<MetadataReply>,
}

impl Answer {
    /// Returns the answer to the caller.
    pub fn deliver(self) {
        self.reply.fill(Ok(*self.answer));
    }
}

impl Cluster {
    pub(super) fn expire_calls(&mut self, now: Instant) {
        let late: Vec<u64> = self
            .calls
            .iter()
            .filter(|(_, c)| c.deadline <= now)
            .map(|(id, _)| *id)
            .collect();
        for id in late {
            if let Some(call) = self.calls.remove(&id) {
                let error = self.why_late(&call, self.requests_of(id) > 0);
                call.refuse(error);
            }
        }
    }

    /// Why a call got no answer: it was never sent for want of a broker, its requests failed, or the broker is slow.
    fn why_late(&self, call: &Call, sent: bool) -> Error {
        match (&call.last_error, &self.last_failure) {
            (Some(error), _) => error.clone(),
            (None, Some(failure)) if !sent => {
                let text = format!(
                    "no broker could be reached in time; the last failure: {}",
                    failure.message
                );
                Error::new(ErrorCode::L_TRANSPORT, text)
            }
            (None, None) if !sent => Error::new(ErrorCode::L_TRANSPORT, "no broker could be reached in time"),
            _ => Error::new(
                ErrorCode::L_TIMED_OUT,
                "the broker did not answer a metadata request in time",
            ),
        }
    }

    fn requests_of(&self, call: u64) -> usize {
        self.asked.values().filter(|a| a.about == About::Call(call)).count()
    }

    pub(super) fn send_calls(&mut self, ctx: &mut Ctx<'_>) {
        let now = ctx.now;
        let waiting: Vec<u64> = self
            .calls
            .iter()
            .filter(|(_, c)| c.ask_at <= now)
            .map(|(id, _)| *id)
            .collect();
        for id in waiting {
            let connection = match self.requests_of(id) {
                0 => self.any_connection(ctx),
                // All that were asked are late: another one.
                1..MAX_UNDER_WAY => self.prompt_connection(ctx, &Default::default()),
                _ => None,
            };
            let (Some(broker), Some(call)) = (connection, self.calls.get(&id)) else {
                continue;
            };
            let topics = match &call.scope {
                MetadataScope::AllTopics => None,
                MetadataScope::Topics(names) => Some(names.clone()),
                MetadataScope::KnownTopics => Some(self.watches.keys().map(|n| n.to_string()).collect()),
            };
            // The connection's own limit, whatever the call's is: an impatient caller is no reason to close a connection
            // that others use, and a lost answer must be noticed however long the application would wait.
            let timeout = ctx.socket_timeout();
            let sent = self.send_request(ctx, &broker, topics, timeout, About::Call(id));
            if let Some(call) = self.calls.get_mut(&id) {
                match sent {
                    Ok(_) => call.ask_at = Instant::NEVER,
                    Err(error) => {
                        call.ask_at = now.plus_ms(100);
                        call.last_error = Some(error);
                    }
                }
            }
        }
    }

    /// A call's request was answered.
    pub(super) fn on_call_answered(&mut self, ctx: &Ctx<'_>, key: BrokerKey, id: u64, response: MetadataResponse) {
        let name = self.node_name(ctx, key);
        if let Some(call) = self.calls.remove(&id) {
            let answer = MetadataReply {
                response,
                orig_node: key.node.0,
                orig_name: name,
            };
            self.changes.push_back(Change::Answer(Answer {
                reply: call.reply,
                answer: Box::new(answer),
            }));
        }
    }

    /// A call's request failed.
    pub(super) fn on_call_failed(&mut self, ctx: &Ctx<'_>, id: u64, error: Error) {
        let others = self.requests_of(id) > 0;
        if let Some(call) = self.calls.get_mut(&id) {
            call.last_error = Some(error);
            if !others {
                call.ask_at = ctx.now + Duration::from_millis(ctx.conf.retry_backoff_ms.into());
            }
        }
    }
}
