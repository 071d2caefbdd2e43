//! Seeded worlds that prove the client.
//!
//! A seed gives a world: brokers (the production mock cluster), clients (the production core), a virtual network between
//! them, applications, and faults. Everything runs on one thread and virtual time, so that a seed gives the same world
//! again. First faults happen; then they stop, and everything must settle, work and end. `check` holds what must be
//! true whatever happened.

mod canary;
mod check;
mod client;
mod clock;
mod coverage;
mod faults;
mod group_members;
mod message;
mod net;
mod phases;
mod plan;
mod produce_acks;
mod rebalance_check;
mod regressions;
mod rng;
mod statistics;
mod trace;
mod txn_workers;
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
use world::World;

/// How worlds are run.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options {
    /// A deliberate bug.
    pub canary: Option<Canary>,
}

/// How a world went.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// What it went through.
    pub coverage: Coverage,
    /// What must not be and was; `None` when all is well.
    pub violation: Option<String>,
}

/// Runs the world of a seed. With `trace`, everything that happens is told, line by line: the same lines for the same
/// seed. A panic within is a violation like any other.
pub fn run_world(seed: u64, options: Options, trace: Option<TraceSink>) -> Outcome {
    // Nothing of a world outlives it, so that nobody can see what a panic left half done.
    let run = std::panic::AssertUnwindSafe(|| run(seed, options, trace));
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

fn run(seed: u64, options: Options, trace: Option<TraceSink>) -> Outcome {
    let mut world = World::new(seed, Plan::draw(seed), options, Trace::new(trace));
    world.run();
    Outcome {
        coverage: std::mem::take(&mut world.coverage),
        violation: world.check.violation().map(str::to_owned),
    }
}
