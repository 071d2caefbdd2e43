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
mod table;
mod transaction;
mod view;

pub(crate) use coordinator::{TransactionCoordinator, TransactionSupport, TransactionalWrite};
pub(crate) use table::Transactions;
pub(crate) use transaction::{Participant, STATE_NAMES, TransactionVersion};
pub use view::TransactionView;
