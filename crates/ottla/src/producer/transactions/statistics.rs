//! What a transactional producer has to say of itself.

use super::call::{CallKind, CurrentCall, Stage};
use super::table::RequestKind;
use super::{Phase, Transactions};
use crate::stats::Eos;

impl Transactions {
    /// Where the producer id and the transaction stand, by the names that programs know.
    pub(in crate::producer) fn public_states(&self) -> (&'static str, &'static str) {
        (self.id_state(), self.transaction_state())
    }

    fn id_state(&self) -> &'static str {
        let asks = self.request.as_ref().is_some_and(|r| r.kind == RequestKind::Init);
        match (self.fatal.is_some(), self.producer) {
            (true, _) => "FatalError",
            (false, Some(_)) => "Assigned",
            (false, None) if asks => "WaitPID",
            (false, None) if self.phase == Phase::Initialising => "RequestPID",
            (false, None) => "Init",
        }
    }

    fn transaction_state(&self) -> &'static str {
        if self.fatal.is_some() {
            return "FatalError";
        }
        match self.phase {
            Phase::New => "Init",
            Phase::Initialising => "WaitPID",
            Phase::Ready => match &self.call {
                Some(CurrentCall {
                    kind,
                    stage: Stage::Done(_),
                }) => match kind {
                    CallKind::Commit => "CommitNotAcked",
                    CallKind::Abort => "AbortedNotAcked",
                    CallKind::Init | CallKind::Begin | CallKind::SendOffsets => "ReadyNotAcked",
                },
                _ => "Ready",
            },
            Phase::Open if self.failed.is_some() => "AbortableError",
            Phase::Open => "InTransaction",
            Phase::Committing if self.ending => "CommittingTransaction",
            Phase::Committing => "BeginCommit",
            Phase::Aborting if self.ending => "AbortingTransaction",
            Phase::Aborting => "BeginAbort",
        }
    }

    /// Writes what is known of the producer's id.
    pub(in crate::producer) fn write_stats(&self, to: &mut Eos) {
        to.txn_may_enq = self.takes_records();
        to.epoch_cnt = self.assigned_count;
        if let Some((id, epoch)) = self.producer {
            to.producer_id = id;
            to.producer_epoch = epoch.into();
        }
    }
}
