//! The calls of the transactional API, and what is kept of the one that is under way.

use std::sync::Arc;

use crate::error::{Error, ErrorCode};
use crate::reply::Reply;
use crate::sys::Instant;
use crate::types::{GroupMetadata, PartitionOffset};

/// The answer to a call: `fatal`, `retriable` and `txn_requires_abort` of the error tell what may be done.
pub type TransactionReply = Arc<Reply<Result<(), Error>>>;

/// A call of the transactional API.
#[derive(Clone, PartialEq, Debug)]
pub enum TransactionCall {
    /// Gets the producer's id and epoch, which fences older producers with the same `transactional.id` and ends what they
    /// have left open. Once, before everything else.
    Init,
    /// Begins a transaction.
    Begin,
    /// Adds consumed offsets to the transaction: they are committed with it, or not at all.
    SendOffsets {
        /// What the group will go on with: the last processed offset of each partition, plus one. Rows without an absolute
        /// offset are left out.
        offsets: Vec<PartitionOffset>,
        /// The consumer that has read them.
        group: GroupMetadata,
    },
    /// Waits for what was produced to be written, then commits.
    Commit,
    /// Gives up what was not sent, waits for what is in flight, then aborts.
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

/// Where a call stands.
#[derive(Debug)]
pub(super) enum Stage {
    /// Somebody waits for it.
    Waiting { reply: TransactionReply, deadline: Instant },
    /// Its time was up, and it goes on: the same call, made again, waits for it.
    TimedOut,
    /// It ended after its time was up; the same call, made again, hears of it.
    Done(Result<(), Error>),
}

/// The call under way. There is one at most.
#[derive(Debug)]
pub(super) struct CurrentCall {
    pub(super) kind: CallKind,
    pub(super) stage: Stage,
}

/// What is to be done with a call that was just made.
pub(super) enum Admission {
    /// Carry it out.
    New(TransactionReply),
    /// It was told what it has to know, or waits for a call before it.
    Handled,
}

/// Whether a call may begin beside, or in the place of, the one that is under way.
pub(super) fn admit(
    slot: &mut Option<CurrentCall>,
    kind: CallKind,
    deadline: Instant,
    reply: TransactionReply,
) -> Admission {
    let Some(call) = slot else {
        return Admission::New(reply);
    };
    // A commit that has come to nothing need not be asked about before the abort.
    let overtaken = matches!(&call.stage, Stage::Done(Err(e)) if e.txn_requires_abort) && kind == CallKind::Abort;
    if overtaken {
        *slot = None;
        return Admission::New(reply);
    }
    if call.kind != kind {
        let text = format!(
            "{} is still under way: call it again to hear of its end",
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
