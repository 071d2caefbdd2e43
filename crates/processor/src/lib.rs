//! The read-process-write loop: consumes records, processes them, produces the results, and commits the input offsets.
//!
//! With `processing.guarantee=exactly_once` the output and the input offsets are committed in one transaction, so that each
//! input record has its effect in the committed output exactly once, despite failures of processes, brokers and the
//! application's code, and despite rebalances. With `at_least_once` an input record may have its effect more than once after
//! a failure, but is never skipped.
//!
//! ```text
//!             ┌──────────────── until commit.interval.ms has passed ───────────────┐
//!   assigned ─► take a record ─► [`Process::process`] ─► produce its output ──────┘
//!                     ▲                                   │
//!                     │        exactly once: offsets into the transaction, then commit it
//!                     │        at least once: wait for all reports, then commit the offsets
//!                     ├───────────────────────────────────┤
//!                     │                                   ▼ on a failure, or lost partitions
//!                     └── seek to committed offsets ◄───── abort
//! ```
//!
//! The loop avoids the usual errors of such applications:
//!
//! - Partitions are revoked only after the commit of their processed records. If the assignment is lost, the transaction is
//!   aborted: its output must not be committed beside that of the next owner.
//! - Offsets are committed under the member's id and generation (KIP-447): a member that was replaced cannot commit.
//! - After an abort the loop seeks to the offsets that the coordinator returns as committed, not to those that the client
//!   remembers: a commit whose response was lost may have succeeded.
//! - A producer that was fenced by a transaction timeout, or by its own delayed InitProducerId request, is replaced; nothing
//!   is sent again under an old epoch.
//! - New owners wait for the end of former owners' transactions before they fetch the committed offset.
//!
//! [`Worker`] is the loop without threads: the owner of its clients calls [`Worker::turn`]. [`Processor`] owns two clients
//! and a worker, which it runs on the caller's thread.

mod calls;
mod output;
mod process;
mod runner;
mod settings;
mod uncommitted;
mod worker;

pub use output::Output;
pub use process::{Input, Process, ProcessError};
pub use runner::{Processor, Stopper};
pub use settings::{Guarantee, LoopSettings, ProcessorConf};
pub use worker::{Turn, Worker};

/// Compiles the example of the document.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/EXACTLY_ONCE.md")]
struct ExactlyOnceDocument;
