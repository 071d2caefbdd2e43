//! The calls of the transactional API and the state of the call in progress.

use std::sync::Arc;

use crate::error::{Error, ErrorCode};
use crate::reply::Reply;
use crate::sys::Instant;
use crate::types::{GroupMetadata, PartitionOffset};

/// The result of a call. `fatal`, `retriable` and `txn_requires_abort` of the error classify it.
pub type TransactionReply = Arc<Reply<Result<(), Error>>>;

/// A call of the transactional API.
#[derive(Clone, PartialEq, Debug)]
pub enum TransactionCall {
    /// Acquires the producer's id and epoch, which fences older producers with the same `transactional.id` and ends
    /// their open transactions. To be called once, before all other calls.
    Init,
    /// Begins a transaction.
    Begin,
    /// Adds consumed offsets to the transaction: they are committed with it.
    SendOffsets {
        /// The group's next offsets: the last processed offset of each partition, plus one. Rows without an absolute
        /// offset are ignored.
        offsets: Vec<PartitionOffset>,
        /// The group member that consumed them.
        group: GroupMetadata,
    },
    /// Waits until all records are written, then commits.
    Commit,
    /// Fails the records that were not sent, waits for those in flight, then aborts.
    Abort,
}

/// A call without its arguments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum CallKind {
    Init,
    Begin,
    SendOffsets,
    Commit,
    Abort,
}

impl CallKind {
    pub(super) fn name(self) -> &'static str {
        match self {
            CallKind::Init => "init_transactions()",
            CallKind::Begin => "begin_transaction()",
            CallKind::SendOffsets => "send_offsets_to_transaction()",
            CallKind::Commit => "commit_transaction()",
            CallKind::Abort => "abort_transaction()",
        }
    }
}

impl TransactionCall {
    pub(super) fn kind(&self) -> CallKind {
        match self {
            TransactionCall::Init => CallKind::Init,
            TransactionCall::Begin => CallKind::Begin,
            TransactionCall::SendOffsets { .. } => CallKind::SendOffsets,
            TransactionCall::Commit => CallKind::Commit,
            TransactionCall::Abort => CallKind::Abort,
        }
    }
}

/// The state of a call.
#[derive(Debug)]
pub(super) enum Stage {
    /// A thread waits for the result.
    Waiting { reply: TransactionReply, deadline: Instant },
    /// It timed out and continues: the same call, repeated, waits for it.
    TimedOut,
    /// It ended after it timed out; the same call, repeated, returns the result.
    Done(Result<(), Error>),
}

/// The call in progress. There is one at most.
#[derive(Debug)]
pub(super) struct CurrentCall {
    pub(super) kind: CallKind,
    pub(super) stage: Stage,
}

/// The decision on a new call.
pub(super) enum Admission {
    /// It is to be carried out.
    New(TransactionReply),
    /// It was answered, or waits for the call in progress.
    Handled,
}

/// Decides on a new call while another one may be in progress.
pub(super) fn admit(
    slot: &mut Option<CurrentCall>,
    kind: CallKind,
    deadline: Instant,
    reply: TransactionReply,
) -> Admission {
    let Some(call) = slot else {
        return Admission::New(reply);
    };
    // An abort may follow a failed commit whose result was not read.
    let overtaken = matches!(&call.stage, Stage::Done(Err(e)) if e.txn_requires_abort) && kind == CallKind::Abort;
    if overtaken {
        *slot = None;
        return Admission::New(reply);
    }
    if call.kind != kind {
        let text = format!(
            "{} is still in progress: call it again for its result",
            call.kind.name()
        );
        reply.fill(Err(Error::new(ErrorCode::L_CONFLICT, text).into_retriable()));
        return Admission::Handled;
    }
    match std::mem::replace(&mut call.stage, Stage::TimedOut) {
        Stage::Waiting { reply: first, deadline } => {
            call.stage = Stage::Waiting { reply: first, deadline };
            let text = format!("another thread waits for {}", kind.name());
            reply.fill(Err(Error::new(ErrorCode::L_PREV_IN_PROGRESS, text).into_retriable()));
        }
        Stage::TimedOut => call.stage = Stage::Waiting { reply, deadline },
        Stage::Done(result) => {
            *slot = None;
            reply.fill(result);
        }
    }
    Admission::Handled
}
