//! Seeded worlds that prove the client.
//!
//! A seed (64 bits) determines a world: brokers (the production mock cluster), clients (the production core), a virtual
//! network between them, applications, and faults. No sockets are used: the network replaces the core's `transport` and
//! `runtime`. Everything runs on one thread and in virtual time, so a seed always gives the same world, and its trace is
//! the same byte for byte. For that, no decision may depend on the iteration order of a `HashMap`. A world starts with
//! faults; then they stop, and everything must settle, work and end. `check` has the invariants. The checkers use only
//! the events of the applications, the requests and the logs.
//!
//! # Kinds of worlds
//!
//! - In most worlds producers write, and consumers read partitions that they choose themselves.
//! - Seeds that are 2 modulo 4 have consumer groups in their place: eager or cooperative classic groups, groups of the
//!   consumer protocol (KIP-848), or groups that migrate between the protocols. Members join, stall, crash, commit
//!   and are replaced (`workload::group`). `check::groups` compares the owners of partitions, the records read and the
//!   commits with the state of the coordinators; `group_members` and `group_protocol` collect it. `rebalance_check` checks
//!   the joins of members and the partitions that move.
//! - Seeds that are 9 modulo 16 have transactions instead, in both versions of the protocol: sources commit and abort;
//!   processors of two or three stages read, count, write the next topic and commit the offsets that they have read in
//!   the same transaction (`workload::transactions`, `txn_workers`). They crash at any step, stall for longer than the
//!   transaction timeout, and leave replaced processes behind that still run. Coordinators move and load, and markers are
//!   late. `check::transactions` requires that each transaction is in the logs as a whole or not at all, that each input
//!   has its effect in the committed output once and in order, and that readers get the records of their isolation
//!   level. `check::fencing` requires that a producer with a fencing error has lost its transactional id.
//! - Seeds that are 9 or 57 modulo 64, half of the worlds of transactions, run the production loop (`ottla_processor`) in
//!   groups of both protocols (`workload::processor_loop`); processes are also frozen. In a quarter of these worlds they
//!   process at least once: an input may have its effect repeatedly and in any order.
//!
//! Other properties depend on the block of 64 seeds, of which eight alternate (`plan::seeds`), so that worlds of every
//! kind have them. In two of the eight blocks groups read logs that lose committed ends in unclean elections: a consumer
//! that has read beyond the truncation returns to it, and skips no record written since (`check::groups::truncation`).
//! In one of these two, clients emit statistics and push metrics (`check::statistics`). In another block the applications
//! of groups are slow.
//!
//! In four of 25 blocks, clients use TLS (`plan::tls`, `tls`). Handshakes take time, and in the phase of faults some fail,
//! break or are never completed. Certificate files change, and clients look at them before they connect and, with
//! `ssl.certificate.refresh.reconnect.ms`, in intervals; they replace open connections then. The network checks that a
//! client sends nothing before a handshake is complete, and no request on a connection that was to be replaced before.
//!
//! # Running
//!
//! - `cargo run --profile sim -p ottla-sim -- --seeds N --start S` runs worlds. It prints the first seed that fails, with
//!   the command that repeats it, and the events that were covered. The profile `sim` keeps assertions and overflow checks.
//! - `--seed S --trace` runs one world and prints its events; `--canary NAME` enables a deliberate bug ([`Canary`]), which
//!   must be detected; `--canaries` runs all of them; `--regressions` runs the seeds that once failed ([`REGRESSIONS`]).
//! - `make soak` runs worlds until it is stopped. The suite `sim` of `make test` runs fixed seeds, the regressions and the
//!   canaries.

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
mod logs;
mod message;
mod net;
mod phases;
mod plan;
mod produce_acks;
mod rebalance_check;
mod regressions;
mod rng;
mod run;
mod schedule;
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

pub use canary::Canary;
pub use coverage::Coverage;
pub use regressions::REGRESSIONS;
pub use trace::TraceSink;

use plan::Plan;
use trace::Trace;

/// Options of a run.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options {
    /// A deliberate bug.
    pub canary: Option<Canary>,
}

/// The result of a world.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// Counters of its events.
    pub coverage: Coverage,
    /// The first violation of an invariant; `None` for a world without one.
    pub violation: Option<String>,
}

/// Runs the world of a seed. With `trace`, writes every event as a line: the same lines for the same seed. A panic is a
/// violation, too.
pub fn run_world(seed: u64, options: Options, trace: Option<TraceSink>) -> Outcome {
    // The world is dropped with the panic, so its inconsistent state is not observable.
    let run = std::panic::AssertUnwindSafe(|| run_plan(seed, options, trace));
    std::panic::catch_unwind(run).unwrap_or_else(|payload| {
        let text = payload.downcast_ref::<&str>().copied();
        let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
        let mut coverage = Coverage::default();
        coverage.worlds = 1;
        Outcome {
            coverage,
            violation: Some(format!("a panic: {}", text.unwrap_or("of unknown kind"))),
        }
    })
}

fn run_plan(seed: u64, options: Options, trace: Option<TraceSink>) -> Outcome {
    let mut world = run::run(seed, Plan::draw(seed), options.canary, Trace::new(trace));
    Outcome {
        coverage: std::mem::take(&mut world.coverage),
        violation: world.check.violation().map(str::to_owned),
    }
}
