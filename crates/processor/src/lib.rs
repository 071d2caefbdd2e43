//! The read-process-write loop: consume records, make others of them, produce these, and commit how far it came.
//!
//! With `processing.guarantee=exactly_once` what was produced and how far the input was read are committed in one
//! transaction, so that each input record has its effect in the committed output exactly once, whatever fails: processes,
//! brokers, rebalances, or the application's own code. With `at_least_once` an input record may have its effect more than
//! once after a failure, but is never passed over.
//!
//! ```text
//!             ┌──────────────── until commit.interval.ms has passed ───────────────┐
//!   assigned ─► take a record ─► [`Process::process`] ─► produce what it gave ──────┘
//!                     ▲                                   │
//!                     │        exactly once: offsets into the transaction, then commit it
//!                     │        at least once: wait for all reports, then commit the offsets
//!                     ├───────────────────────────────────┤
//!                     │                                   ▼ anything fails, or partitions were lost
//!                     └── go back to what is committed ◄── abort
//! ```
//!
//! What applications get wrong when they put this together by themselves is what the loop takes care of:
//!
//! - Partitions are given up only after what was done with their records is committed. When they are lost without a
//!   word, the transaction is aborted: its output must not stand beside that of the next owner.
//! - Offsets are committed under the member's own id and generation (KIP-447): a member that was replaced cannot commit.
//! - After an abort every partition goes back to what the coordinator says is committed, not to what the client remembers:
//!   a commit whose answer was lost may have happened.
//! - A producer that was fenced by a broker's timeout, or by its own request for the transactional id that was served late, is
//!   replaced; nothing is sent again under an old epoch.
//! - New owners wait until the transactions of former ones have ended before they read the offset to begin with.
//!
//! [`Worker`] is the loop without threads: whoever owns its clients calls [`Worker::turn`]. [`Processor`] owns two clients
//! and a worker, and runs it on the caller's thread.

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
