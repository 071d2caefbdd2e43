//! The transactional producer's calls (KIP-98).
//!
//! ```text
//! init_transactions()                                       once
//!   begin_transaction()                                     then again and again
//!     produce() ..., send_offsets_to_transaction() ...
//!   commit_transaction() or abort_transaction()
//! ```
//!
//! Every call tells by its error what may be done next:
//! - `retriable`: nothing was decided. Make the same call again; after [`L_TIMED_OUT`](ErrorCode::L_TIMED_OUT) the operation
//!   goes on meanwhile, and the call made again waits for its end. Until then other calls of this kind are refused with
//!   [`L_CONFLICT`](ErrorCode::L_CONFLICT), the same one from another thread with
//!   [`L_PREV_IN_PROGRESS`](ErrorCode::L_PREV_IN_PROGRESS).
//! - `txn_requires_abort`: nothing of the transaction will be committed. Abort it; the producer is as good as new then.
//! - `fatal`: the producer cannot go on, as when a newer one has its `transactional.id` ([`L_FENCED`](ErrorCode::L_FENCED)).
//!   What was in the open transaction is aborted by its coordinator.
//! - none of them: the call has no place here, [`L_STATE`](ErrorCode::L_STATE), or cannot be made like this.
//!
//! Delivery reports go to the main queue as always; nobody needs to take them for a commit to end.

use std::time::Duration;

use super::handle::Client;
use crate::error::{Error, ErrorCode};
use crate::producer::{TransactionCall, TransactionReply};
use crate::types::{GroupMetadata, PartitionOffset};

impl Client {
    /// Begins a call without waiting for its end; the answer comes in the reply. `None` as timeout is
    /// `transaction.timeout.ms`, twice that for [`TransactionCall::Init`].
    ///
    /// # Errors
    /// [`L_INVALID_ARG`](ErrorCode::L_INVALID_ARG) for a consumer, [`L_NOT_CONFIGURED`](ErrorCode::L_NOT_CONFIGURED) without
    /// `transactional.id`, the fatal error after one; nothing was begun then.
    pub fn begin_transaction_call(
        &self,
        call: TransactionCall,
        timeout: Option<Duration>,
    ) -> Result<TransactionReply, Error> {
        self.check_transactional()?;
        Ok(self.shared().transact(call, timeout))
    }

    /// The result of a call that was begun with [`begin_transaction_call`](Self::begin_transaction_call), with the fatal error in place of what
    /// only says that there is one.
    pub fn transaction_result(&self, result: Result<(), Error>) -> Result<(), Error> {
        result.map_err(|error| match self.fatal_error() {
            Some(fatal) if error.fatal => fatal.into_fatal(),
            _ => error,
        })
    }

    fn check_transactional(&self) -> Result<(), Error> {
        self.accumulator()?;
        if self.conf().transactional_id.is_empty() {
            let text = "the producer is not transactional: transactional.id is not set";
            return Err(Error::new(ErrorCode::L_NOT_CONFIGURED, text));
        }
        match self.fatal_error() {
            Some(fatal) => Err(fatal.into_fatal()),
            None => Ok(()),
        }
    }

    fn transact(&self, call: TransactionCall, timeout: Option<Duration>) -> Result<(), Error> {
        let reply = self.begin_transaction_call(call, timeout)?;
        // The core keeps the deadline.
        let result = reply
            .wait(None)
            .unwrap_or_else(|| Err(Error::new(ErrorCode::L_FAIL, "the call was not answered")));
        self.transaction_result(result)
    }

    /// Gets the producer's id and epoch from the coordinator of its `transactional.id`. Older producers with that id are
    /// fenced, and what they have left open is aborted or, where they had said so, committed.
    ///
    /// `None` waits for twice `transaction.timeout.ms`. See the module for errors.
    pub fn init_transactions(&self, timeout: Option<Duration>) -> Result<(), Error> {
        self.transact(TransactionCall::Init, timeout)
    }

    /// Begins a transaction. Does not wait for any broker.
    pub fn begin_transaction(&self) -> Result<(), Error> {
        self.transact(TransactionCall::Begin, None)
    }

    /// Adds consumed offsets to the transaction: the group's committed offsets change when and only when the transaction is
    /// committed. `offsets` are those to go on with, the last processed plus one; rows with logical offsets are left out,
    /// and without any other nothing happens.
    ///
    /// `group` is the consumer's [`group_metadata`](Self::group_metadata) of the time at which the records were read: when
    /// the group has given the partitions to somebody else since, the transaction must be aborted (KIP-447).
    ///
    /// `None` waits for `transaction.timeout.ms`. After a timeout the offsets may be given again, or others in their place.
    pub fn send_offsets_to_transaction(
        &self,
        offsets: Vec<PartitionOffset>,
        group: &GroupMetadata,
        timeout: Option<Duration>,
    ) -> Result<(), Error> {
        if group.group_id.is_empty() {
            return Err(Error::invalid_arg("the group metadata names no group"));
        }
        let group = group.clone();
        self.transact(TransactionCall::SendOffsets { offsets, group }, timeout)
    }

    /// Waits until everything produced in the transaction was written, then commits it.
    ///
    /// `None` waits for `transaction.timeout.ms`: less makes timeouts, not answers.
    pub fn commit_transaction(&self, timeout: Option<Duration>) -> Result<(), Error> {
        self.transact(TransactionCall::Commit, timeout)
    }

    /// Gives up what was not sent ([`L_PURGE_QUEUE`](ErrorCode::L_PURGE_QUEUE)), waits for what is in flight, and aborts the
    /// transaction.
    ///
    /// `None` waits for `transaction.timeout.ms`.
    pub fn abort_transaction(&self, timeout: Option<Duration>) -> Result<(), Error> {
        self.transact(TransactionCall::Abort, timeout)
    }

    /// A consumer's place in its group, for [`send_offsets_to_transaction`](Self::send_offsets_to_transaction).
    pub fn group_metadata(&self) -> Result<GroupMetadata, Error> {
        let group = self.group()?;
        Ok(GroupMetadata {
            group_id: group.group_id,
            generation: group.generation,
            member_id: group.member_id,
            group_instance_id: group.group_instance_id,
        })
    }
}
