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

    /// By ascending id.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&String, &Transaction)> {
        self.by_id.iter()
    }
}
