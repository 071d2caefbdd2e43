//! Going back to what is committed.

use super::process::Process;
use super::worker::{Ask, CALL_TIMEOUT_MS, Turn, Undoing, Worker};
use crate::error::{Error, ErrorCode};
use crate::producer::TransactionCall;
use crate::sys::Instant;
use crate::types::PartitionOffset;

impl<P: Process> Worker<P> {
    /// What was done since the last commit is not to have happened.
    pub(super) fn undo(&mut self, why: &Error) -> Turn {
        self.process.on_error(why);
        self.undoing = Undoing::Output;
        Turn::Busy
    }

    pub(super) fn undo_output(&mut self) -> Turn {
        self.output.forget();
        if !self.is_exactly_once() {
            self.calls.hurry(false);
            let answer = self.calls.purge();
            return self.ask(Ask::Purge, answer);
        }
        if self.in_transaction {
            return self.transact(Ask::Abort, TransactionCall::Abort);
        }
        self.on_output_undone();
        Turn::Busy
    }

    pub(super) fn on_output_undone(&mut self) {
        self.in_transaction = false;
        self.offsets_sent = false;
        self.undoing = Undoing::Input;
        self.process.on_rolled_back();
    }

    pub(super) fn lose_producer(&mut self) {
        let producer = self.calls.producer.producer.as_ref();
        self.unanswered_inits += producer.map_or(0, |a| a.unanswered_inits());
        if self.is_fenced()
            && !self.take_doubtful_init()
            && let Some(instance) = &self.settings.instance
        {
            let text = format!("another process has taken the instance.id \"{instance}\"");
            self.fail(Error::new(ErrorCode::L_FENCED, text).into());
        }
        self.needs_producer = true;
        self.is_initialised = false;
        self.pending = None;
        self.output.forget();
        self.on_output_undone();
        self.pause();
    }

    /// Whether the producer's transactional id was taken from it. A coordinator fences a producer also when its transaction
    /// was open for too long, but none before that.
    fn is_fenced(&self) -> bool {
        let fatal = self.calls.producer.fatal_error();
        let begun_at = self.work.begun_at();
        let may_have_timed_out = begun_at.is_some_and(|at| at + self.settings.transaction_timeout <= self.calls.now());
        fatal.is_some_and(|error| error.code == ErrorCode::L_FENCED) && !may_have_timed_out
    }

    /// Whether the transactional id may have been taken for one of this loop's own producers: a request for the id of which
    /// nobody told what became of it may be served beside the one that was answered. Each does so once, so that of two
    /// processes with one name one ends all the same.
    fn take_doubtful_init(&mut self) -> bool {
        let any = self.unanswered_inits > 0;
        self.unanswered_inits = self.unanswered_inits.saturating_sub(1);
        any
    }

    /// Reading goes back to what the coordinator says is committed: what is remembered here may be older, where the answer
    /// to a commit was lost. A partition of which nothing was ever committed goes back to where the work began.
    pub(super) fn rewind(&mut self, now: Instant) -> Turn {
        // The group goes on meanwhile: what it wants comes first.
        self.hear_group();
        if self.pending.is_some() || self.revocation.is_some() {
            return Turn::Busy;
        }
        let partitions: Vec<_> = self.work.beginnings().into_keys().collect();
        if partitions.is_empty() {
            self.on_rewound();
            return Turn::Busy;
        }
        let answer = self.calls.committed(partitions, now.plus_ms(CALL_TIMEOUT_MS));
        self.ask(Ask::Committed, answer)
    }

    pub(super) fn on_beginnings(&mut self, rows: Vec<PartitionOffset>) {
        if rows.iter().any(|row| row.error != ErrorCode::NO_ERROR) {
            return self.pause();
        }
        let mut beginnings = self.work.beginnings();
        let rows = rows.into_iter().map(|mut row| {
            if let Some(first) = beginnings.remove(&row.tp).filter(|_| row.offset < 0) {
                row.offset = first;
            }
            row.metadata = None;
            row
        });
        let answer = self.calls.seek(rows.collect());
        self.ask(Ask::Seek, answer);
    }

    pub(super) fn on_rewound(&mut self) {
        self.chunks.retain(|chunk| !chunk.is_stale());
        self.work.clear();
        self.undoing = Undoing::Nothing;
    }
}
