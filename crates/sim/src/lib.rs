//! Deterministic simulation that tests the client.
//!
//! A seed (64 bits) determines a world: brokers (the production mock cluster), clients (the production core), a virtual
//! network between them, applications, and faults. No sockets are used: the network replaces the core's `transport` and
//! `runtime`. Everything runs on one thread and in virtual time, so a seed always produces the same world, and its trace is
//! the same byte for byte. Therefore no decision may depend on the iteration order of a `HashMap`.
//!
//! A world starts with faults (safety). Then the faults stop; pending work must complete, new work must succeed, and the
//! clients must terminate (liveness). The module `check` has the invariants. Checkers use only the events that applications
//! receive, the requests and the brokers' logs.
//!
//! # Kinds of worlds
//!
//! - In most worlds, producers write, and consumers read partitions that they assign themselves.
//! - Seeds that are 2 modulo 4 have consumer groups instead: eager or cooperative classic groups, groups of the
//!   consumer protocol (KIP-848), or groups that migrate between the protocols. Members join, stall, crash, commit
//!   and are replaced (`workload::group`). `check::groups` compares the owners of partitions, the consumed records and the
//!   commits with the state of the coordinators, which `group_members` and `group_protocol` collect. `rebalance_check`
//!   checks the joins of members and the partitions that move.
//! - Seeds that are 9 modulo 16 have transactions instead, in both versions of the protocol. Sources commit and abort
//!   transactions. A chain of two or three processing stages follows: a stage reads a topic, counts, writes the next topic,
//!   and commits the consumed offsets in the same transaction (`workload::transactions`, `txn_workers`). Processes crash at
//!   any step, stall for longer than the transaction timeout, and continue to run after they were replaced (zombies).
//!   Coordinators move and load, and markers are late. `check::transactions` requires that each transaction is in the logs
//!   as a whole or not at all, that each input has its effect in the committed output once and in order, and that readers
//!   receive the records of their isolation level. `check::fencing` requires that a producer with a fencing error has lost
//!   its transactional id.
//! - Seeds that are 9 or 57 modulo 64, half of the worlds with transactions, run the processor loop of production
//!   (`ottla_processor`) in groups of both protocols (`workload::processor_loop`); processes are also frozen. In a quarter
//!   of these worlds the guarantee is at-least-once: an input may have its effect repeatedly and in any order.
//!
//! Other properties depend on the block of a seed: 64 consecutive seeds are a block, and blocks are numbered modulo eight
//! (`plan::seeds`). Each block has worlds of every kind. In two of the eight blocks, groups read logs that lose committed
//! records at the end in unclean elections. A consumer that has read beyond the truncation must return to it, and must not
//! skip a record that was written since (`check::groups::truncation`). In one of these two blocks, clients emit statistics
//! and push metrics (`check::statistics`). In another block, the applications of groups are slow.
//!
//! In four of 25 blocks, clients use TLS (`plan::tls`, `tls`). Handshakes take time; in the phase of faults, some fail,
//! lose their connection or never complete. Certificate files change. Clients check the files before they connect. With
//! `ssl.certificate.refresh.reconnect.ms`, clients also check them periodically, and replace open connections after a
//! change. The network checks that a client sends nothing before the handshake is complete, and no request on a
//! connection whose replacement was due earlier.
//!
//! In six of 43 blocks, clients authenticate (`plan::sasl`, `sasl`): each has a user or tokens of its own. Sessions end, and
//! clients renew them (KIP-368). In the phase of faults, authentications are refused, slow or cut off, passwords change at
//! brokers and clients at different times, tokens are late, expire or are revoked. `sasl_check` checks that a client sends no
//! other request before it is authenticated or after its session's end, and that none is refused once its credentials are
//! right again.
//!
//! In eight of 53 blocks, clients make admin calls (`plan::admin`, `workload::admin`): clients of their own, and some of the
//! others beside their work, up to the clients' ends. `check::admin` compares each result with the state of the cluster: a
//! call has one result, until its deadline; what is reported as done is done, what is reported as failed is not, and values
//! are some of the call's time. No request is executed twice that is not repeatable. A new operation is a row in
//! `workload::admin::ops`.
//!
//! In six of 59 blocks, worlds with neither groups nor transactions have share groups (KIP-932; `plan::share`,
//! `workload::share`): members process records at once or slowly, stall, accept, release, reject and renew, commit, leave,
//! crash and return. The world itself writes transactions and compacted batches for them (`share_writer`).
//! `check::share` compares what leaders report about records, what clients send and receive, and what applications see and
//! are reported.
//!
//! # Worlds of applications
//!
//! The module [`scenario`] runs an application's own logic in worlds with these faults, and checks its own invariants.
//!
//! # Running
//!
//! - `cargo run --profile sim -p ottla-sim -- --seeds N --start S` runs worlds. It prints the first seed that fails, with
//!   the command that repeats it, and the events that occurred. The profile `sim` keeps assertions and overflow checks.
//! - `--seed S --trace` runs one world and prints its events; `--canary NAME` enables a deliberate bug ([`Canary`]), which
//!   must be detected; `--canaries` runs all of them; `--regressions` runs the seeds that once failed ([`REGRESSIONS`]).
//! - `make soak` runs worlds until it is stopped. The suite `sim` of `make test` runs fixed seeds, the regressions and the
//!   canaries.

mod admin_codes;
mod admin_wire;
mod application;
mod canary;
mod chain;
mod check;
mod client;
mod clock;
mod coverage;
mod error_codes;
mod event;
mod faults;
mod group_members;
mod group_protocol;
mod group_stability;
mod jobs;
mod log_records;
mod logs;
mod message;
mod net;
mod outcome;
mod phases;
mod plan;
mod processes;
mod produce_acks;
mod rebalance_check;
mod regressions;
mod rng;
mod run;
mod sasl;
mod sasl_check;
pub mod scenario;
mod schedule;
mod share_members;
mod share_wire;
mod share_writer;
mod start;
mod tls;
mod trace;
mod transport;
mod txn_check;
mod txn_workers;
mod wire;
mod wire_mutation;
mod wire_observer;
mod workload;
mod world;

/// Runs the programs in Rust of the document.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/TESTING.md")]
struct TestingDocument;

pub use canary::Canary;
pub use coverage::Coverage;
pub use outcome::Outcome;
pub use regressions::REGRESSIONS;
pub use trace::TraceSink;

use plan::Plan;
use trace::Trace;

/// Options of a run.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options {
    /// A deliberate bug, which a checker must detect.
    pub canary: Option<Canary>,
}

/// Runs the world of a seed. With `trace`, writes every event as a line; the same seed produces the same lines. Reports a
/// panic as a violation.
pub fn run_world(seed: u64, options: Options, trace: Option<TraceSink>) -> Outcome {
    run::run(seed, Plan::draw(seed), options.canary, None, Trace::new(trace))
}
