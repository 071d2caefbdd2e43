//! Waiting until the transaction before has ended everywhere.
//!
//! A coordinator answers EndTxn once the end is decided, and has the markers written afterwards, which takes a few
//! milliseconds mostly. Until then it begins no other transaction. In the second generation of the protocol it is a
//! partition's leader that finds this out, with the first batch: it keeps the batch, and all that comes behind it on the
//! connection, for `add.partitions.to.txn.retry.backoff.ms` (20 ms) before it asks again. So the producer asks the
//! coordinator itself (DescribeTransactions, KIP-664) and sends nothing before the markers are written, or the leader
//! would have asked again. Where the coordinator is far away, they are written before a batch arrives, and nobody asks.

use std::time::Duration;

use ottla_protocol::api::describe_transactions::DescribeTransactionsRequest;

use super::{Phase, Transactions};
use crate::connection::{BrokerKey, Outcome};
use crate::context::Ctx;
use crate::error::ErrorCode;
use crate::sys::Instant;

/// How long nothing gets to partition leaders at most: as long as they would wait.
const WAIT_MAX: Duration = Duration::from_millis(20);
/// A coordinator that takes longer for any answer is far away.
const NEAR_RTT_MAX: Duration = Duration::from_millis(5);
/// How long after an answer the coordinator is asked again.
const POLL_INTERVAL: Duration = Duration::from_millis(2);

/// The markers of the transaction before.
#[derive(Debug, Default)]
pub(super) struct Markers {
    /// They may not be written yet. From then on that does not matter.
    until: Option<Instant>,
    /// The coordinator does not say.
    disabled: bool,
    /// Its quickest answer.
    min_rtt: Option<Duration>,
}

impl Markers {
    /// The coordinator took so long for an answer.
    pub(super) fn observe_rtt(&mut self, took: Duration) {
        self.min_rtt = Some(self.min_rtt.map_or(took, |q| q.min(took)));
    }

    /// A transaction was ended.
    pub(super) fn begin(&mut self, now: Instant) {
        let near = self.min_rtt.filter(|took| *took <= NEAR_RTT_MAX && !self.disabled);
        self.until = near.map(|took| now + WAIT_MAX.saturating_sub(took));
    }

    /// They are written, or are waited for no longer.
    pub(super) fn end(&mut self) {
        self.until = None;
    }

    /// The coordinator cannot or will not tell, whenever it is asked.
    pub(super) fn disable(&mut self) {
        self.disabled = true;
        self.until = None;
    }

    /// Takes in the time that has passed.
    pub(super) fn expire(&mut self, now: Instant) {
        self.until = self.until.filter(|until| *until > now);
    }

    pub(super) fn wake(&self) -> Option<Instant> {
        self.until
    }
}

impl Transactions {
    /// Whether what belongs to the transaction waits for the markers of the one before.
    pub(super) fn awaits_markers(&self) -> bool {
        let goes_on = matches!(self.phase, Phase::Open | Phase::Committing) && self.failed.is_none();
        goes_on && self.v2 && self.markers.until.is_some()
    }

    /// DescribeTransactions was answered, or not.
    pub(super) fn on_described(&mut self, ctx: &mut Ctx<'_>, key: BrokerKey, outcome: &Outcome) {
        let Outcome::Reply(reply) = outcome else {
            return self.markers.end();
        };
        self.markers.observe_rtt(reply.rtt);
        let response = match reply.decode::<DescribeTransactionsRequest>() {
            Ok(response) => response,
            Err(e) => {
                ctx.connections.fail_unreadable(key, "DescribeTransactions", e, ctx.now);
                return self.markers.end();
            }
        };
        let mut states = response.transaction_states.iter();
        let state = states.find(|s| s.transactional_id == self.name);
        match state.map(|s| (ErrorCode::from(s.error_code), s.transaction_state.as_str())) {
            Some((ErrorCode::NO_ERROR, "PrepareCommit" | "PrepareAbort")) => self.retry_at = ctx.now + POLL_INTERVAL,
            Some((ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED, _)) => self.markers.disable(),
            _ => self.markers.end(),
        }
    }
}
