//! What the transaction means for the sender: when it sends, what it gives up, and what has failed.

use std::sync::Arc;

use super::table::{Consequence, RequestKind, consequence};
use super::{Phase, TransactionCall, TransactionReply, Transactions};
use crate::cluster::Cluster;
use crate::connection::{BrokerKey, Outcome};
use crate::context::Ctx;
use crate::error::{Error, ErrorCode};
use crate::producer::PartitionId;
use crate::producer::producer_id::ProducerId;
use crate::producer::sender::Sender;
use crate::sys::Instant;

/// What the sender was last told of the transaction.
#[derive(Debug, Default)]
pub(super) struct AnnouncedState {
    sends: bool,
    aborts: bool,
    flushes: bool,
    fatal: bool,
}

impl Transactions {
    /// Whether records may be sent now.
    fn may_send(&self) -> bool {
        matches!(self.phase, Phase::Open | Phase::Committing)
            && !self.ending
            && !self.bump_before_next
            && !self.awaits_markers()
            && self.failed.is_none()
            && self.fatal.is_none()
    }

    /// Whether a partition is part of the transaction; otherwise it is added, and the sender hears of that.
    pub(in crate::producer) fn require_partition(&mut self, id: PartitionId, name: &Arc<str>) -> bool {
        if self.v2 || self.added.contains(&id) {
            return true;
        }
        self.to_add.insert(id, name.clone());
        false
    }

    /// A request with records of this transaction is under way.
    pub(in crate::producer) fn on_sent(&mut self) {
        self.started = true;
    }

    /// The transactional id that requests carry.
    pub(in crate::producer) fn name(&self) -> &str {
        &self.name
    }

    /// Whether the transaction is one of the second generation (KIP-890).
    pub(in crate::producer) fn is_v2(&self) -> bool {
        self.v2
    }

    /// Whether whatever comes back from brokers is given up.
    pub(in crate::producer) fn is_aborting(&self) -> bool {
        self.phase == Phase::Aborting
    }

    /// Records of the transaction were not delivered. `numbered`: brokers may have them, or miss them.
    fn on_undelivered(&mut self, count: usize, numbered: bool, error: &Error) {
        self.bump_on_abort |= numbered;
        if self.ending || !matches!(self.phase, Phase::Open | Phase::Committing) {
            return;
        }
        match consequence(RequestKind::Produce, error.code) {
            Consequence::Fatal | Consequence::Fenced | Consequence::Forgotten => {
                self.give_up(RequestKind::Produce, error);
            }
            _ => {
                let text = format!("{count} record(s) of the transaction were not delivered: {error}");
                // Delivery reports tell what the client itself gave up.
                let code = match error.code.is_from_broker() {
                    true => error.code,
                    false => ErrorCode::L_INCONSISTENT,
                };
                self.fail(Error::new(code, text));
            }
        }
    }
}

impl Sender {
    /// Carries out a call of the transactional API.
    pub(in crate::producer) fn on_transaction_call(
        &mut self,
        ctx: &mut Ctx<'_>,
        cluster: &mut Cluster,
        call: TransactionCall,
        deadline: Instant,
        reply: TransactionReply,
    ) {
        let Some(transactions) = &mut self.transactions else {
            let text = "the producer has no transactional.id";
            return reply.fill(Err(Error::new(ErrorCode::L_NOT_CONFIGURED, text)));
        };
        transactions.on_call(ctx.now, call, deadline, reply);
        self.follow_transaction(ctx, cluster);
    }

    /// Whether `id` is a request of the transaction manager; then its outcome was taken in.
    pub(in crate::producer) fn on_transaction_outcome(
        &mut self,
        ctx: &mut Ctx<'_>,
        cluster: &mut Cluster,
        key: BrokerKey,
        id: u64,
        outcome: &Outcome,
    ) -> bool {
        let Some(transactions) = &mut self.transactions else {
            return false;
        };
        let own = transactions.on_outcome(ctx, key, id, outcome);
        if own {
            self.follow_transaction(ctx, cluster);
        }
        own
    }

    /// Brings the transaction forward; gives when to be called again at the latest.
    pub(in crate::producer) fn drive_transaction(
        &mut self,
        ctx: &mut Ctx<'_>,
        cluster: &mut Cluster,
    ) -> Option<Instant> {
        let phase = self.transactions.as_ref()?.phase;
        let ends = matches!(phase, Phase::Committing | Phase::Aborting);
        if phase == Phase::Aborting && self.requests.is_empty() {
            // What came back from its way, and what was produced while the transaction ended.
            self.fail_queued(ctx.now, &Error::from(ErrorCode::L_PURGE_QUEUE));
        }
        let settled = ends && self.is_settled();
        let transactions = self.transactions.as_mut()?;
        if self.accumulator.is_fatal() {
            transactions.raise(Error::from(ErrorCode::L_FATAL));
        }
        let wake = transactions.poll(ctx, cluster, self.requests.counter(), settled);
        self.follow_transaction(ctx, cluster);
        wake
    }

    /// Acts on where the transaction stands now.
    fn follow_transaction(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster) {
        let Some(transactions) = &mut self.transactions else {
            return;
        };
        let sends = transactions.may_send();
        let flushes = transactions.phase == Phase::Committing && !transactions.ending;
        let aborts = transactions.phase == Phase::Aborting;
        let before = std::mem::replace(
            &mut transactions.announced,
            AnnouncedState {
                sends,
                aborts,
                flushes,
                fatal: transactions.fatal.is_some(),
            },
        );
        let newly_added = std::mem::take(&mut transactions.newly_added);
        let fatal = transactions.fatal.clone().filter(|_| !before.fatal);
        let numbered = transactions
            .producer
            .filter(|_| sends)
            .map(|(id, epoch)| ProducerId::Transactional { id, epoch });
        if let Some(producer_id) = &mut self.producer_id {
            producer_id.set(numbered);
        }
        if flushes != before.flushes {
            self.accumulator.cut_linger(flushes);
        }
        if sends && !before.sends {
            self.resume_all_brokers();
        }
        for id in newly_added {
            self.enqueue(ctx, cluster, id);
        }
        if aborts && !before.aborts {
            self.fail_queued(ctx.now, &Error::from(ErrorCode::L_PURGE_QUEUE));
        }
        if let Some(error) = fatal {
            match self.fatal {
                true => self.on_fatal_recorded(),
                false => self.raise_fatal(error),
            }
        }
    }

    /// Whether no record is waiting or in flight.
    fn is_settled(&mut self) -> bool {
        let partitions = self.topics.iter().flatten().flat_map(|t| &t.partitions);
        self.requests.is_empty()
            && partitions
                .into_iter()
                .all(|partition_sender| partition_sender.pending.is_empty() && partition_sender.in_flight.is_empty())
            && self.accumulator.topics().all(|(_, topic)| topic.is_empty())
    }

    /// Records were not delivered, and `numbered` ones may be missing, or not, where others are.
    pub(in crate::producer) fn on_undelivered(&mut self, count: usize, numbered: bool, error: &Error) {
        if let Some(transactions) = &mut self.transactions {
            transactions.on_undelivered(count, numbered, error);
        }
    }

    /// The client has taken note of a fatal error: whoever waits hears of it.
    pub fn on_fatal_recorded(&mut self) {
        if let Some(transactions) = &mut self.transactions {
            transactions.fail_call_with_fatal();
        }
    }
}
