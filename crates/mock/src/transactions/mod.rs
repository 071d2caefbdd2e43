//! The transaction coordinator (KIP-98): the producers of transactional ids, their epochs, and the states of their
//! transactions.
//!
//! ```text
//!           partition added          EndTxn, or the timeout               all markers are written
//!   Empty ─────────────────▶ Ongoing ─────────────────────────▶ Prepare… ─────────────────────────▶ Complete…
//!     ▲                         ▲                                                                     │    │
//!     │                         └───────────────────────── partition added ──────────────────────────┘    │
//!     └──────────────────────────────────────────────────── InitProducerId ────────────────────────────────┘
//! ```
//!
//! With transaction version 2 (KIP-890) the epoch rises at every step to `Prepare…`, so that a request of one
//! transaction cannot be mistaken for one of the next. Decisions survive moves and crashes of the coordinator.
//!
//! A transactional id that is unused for `transactional.id.expiration.ms` is removed together with its producer.
//! Requests of that producer fail with INVALID_PRODUCER_ID_MAPPING until it sends InitProducerId. Kafka removes such
//! ids once an hour; here a request for the id removes it.

mod coordinator;
mod transaction;
mod view;

use std::collections::BTreeMap;

pub(crate) use coordinator::{TransactionCoordinator, TransactionSupport, TransactionalWrite};
pub(crate) use transaction::{Participant, Transaction, TransactionVersion};
pub use view::TransactionView;

/// All transactional ids.
#[derive(Debug, Default)]
pub(crate) struct Transactions {
    by_id: BTreeMap<String, Transaction>,
}

impl Transactions {
    pub(crate) fn get(&self, id: &str) -> Option<&Transaction> {
        self.by_id.get(id)
    }

    /// Returns the transactional ids in ascending order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&String, &Transaction)> {
        self.by_id.iter()
    }
}
