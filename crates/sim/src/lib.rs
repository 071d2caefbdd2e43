//! Seeded worlds that prove the client.
//!
//! A seed determines a world: brokers (the production mock cluster), clients (the production core), a virtual network
//! between them, applications, and faults. Everything runs on one thread and in virtual time, so a seed always gives
//! the same world. A world starts with faults; then they stop, and everything must settle, work and end. `check` has
//! the invariants.

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
