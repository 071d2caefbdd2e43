//! The transaction coordinator (KIP-98): which producer holds a transactional id, in which epoch, and how its transaction
//! stands.
//!
//! ```text
//!           partition added          EndTxn, or the time is up            all markers are written
//!   Empty ─────────────────▶ Ongoing ─────────────────────────▶ Prepare… ─────────────────────────▶ Complete…
//!     ▲                         ▲                                                                     │    │
//!     │                         └───────────────────────── partition added ──────────────────────────┘    │
//!     └──────────────────────────────────────────────────── InitProducerId ────────────────────────────────┘
//! ```
//!
//! With transaction version 2 (KIP-890) the epoch rises at every step to `Prepare…`, so that no request of one
//! transaction can be taken for one of the next. What was decided outlives moves of the coordinator and its crashes.
//!
//! A transactional id that nobody has used for long enough is forgotten, and with it its producer: what that one asks then is
//! answered with INVALID_PRODUCER_ID_MAPPING, until it asks for another id (InitProducerId). Kafka looks for such ids once an
//! hour; here it is done when one is asked for.

mod coordinator;
mod markers;
mod transaction;
mod view;

use std::collections::BTreeMap;

use ottla_protocol::ErrorCode;

use crate::cluster::{BrokerId, Cluster};
use crate::coordinators::CoordinatorKind;

pub(crate) use coordinator::{TransactionSupport, TransactionalWrite};
pub(crate) use transaction::{Participant, Transaction, TransactionState, TransactionVersion};
pub use view::{TransactionRecord, TransactionStep, TransactionView};

/// All transactional ids.
#[derive(Debug, Default)]
pub(crate) struct Transactions {
    by_id: BTreeMap<String, Transaction>,
    /// Every step since the last look, when somebody looks.
    log: Option<Vec<TransactionRecord>>,
}

impl Transactions {
    pub(crate) fn get(&self, id: &str) -> Option<&Transaction> {
        self.by_id.get(id)
    }

    /// By ascending id.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&String, &Transaction)> {
        self.by_id.iter()
    }
}

impl Cluster {
    /// Whether `broker` may serve requests of a transactional id.
    pub(crate) fn check_transaction_coordinator(&self, broker: BrokerId, id: &str) -> Result<(), ErrorCode> {
        match id.is_empty() {
            true => Err(ErrorCode::INVALID_REQUEST),
            false => self.check_coordinator(CoordinatorKind::Transaction, broker, id),
        }
    }

    /// Forgets a transactional id whose time is over (`transactional.id.expiration.ms`).
    fn expire_transactional_id(&mut self, id: &str) {
        let longest_us = self.config.transactional_id_expiration_ms.saturating_mul(1000);
        let is_over = |t: &Transaction| t.may_expire() && t.used.plus_us(longest_us) <= self.now;
        if self.transactions.get(id).is_some_and(is_over)
            && let Some(transaction) = self.transactions.by_id.remove(id)
        {
            self.note_step(id, &transaction, TransactionStep::Expired);
        }
    }

    /// Works on a transaction that exists, with the rest of the cluster at hand.
    pub(crate) fn with_transaction<T>(
        &mut self,
        id: &str,
        f: impl FnOnce(&mut Self, &mut Transaction) -> T,
    ) -> Option<T> {
        let (id, mut transaction) = self.transactions.by_id.remove_entry(id)?;
        let before = transaction.producer_and_state();
        let result = f(self, &mut transaction);
        if transaction.producer_and_state() != before {
            transaction.used = self.now;
        }
        self.transactions.by_id.insert(id, transaction);
        Some(result)
    }
}
