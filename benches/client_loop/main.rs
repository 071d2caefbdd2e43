//! Benchmark of a client's event loop without sockets: `make bench-loop`.
//!
//! One core is driven as its I/O thread drives it, on virtual time and by one thread. Actions for the network are carried
//! out here, and answers are passed to the core as events, so that no system call, no kernel and no broker is in the
//! figures. The thread's CPU clock divides the time into the core's, the application's, and that of this program. Records
//! are those of 5 ms at a rate, spread over all partitions; all of them must be acknowledged, or consumed, before the
//! next round.

// A failure of the benchmarked code ends the benchmark.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod brokers;
mod case;
mod consuming;
mod cpu_clock;
mod driven_client;
mod fetch_session;
mod produce_request;
mod producing;

use std::process::ExitCode;

use case::{Case, Options, Role, USAGE};
use consuming::Consuming;
use driven_client::{Cost, DrivenClient};
use producing::Producing;

/// Rounds before the first measurement: connections, metadata, memory.
const WARM_UP_ROUNDS: usize = 3;

fn main() -> ExitCode {
    // Cargo passes this argument for a benchmark, and not for a test.
    let is_benchmark = std::env::args().any(|arg| arg == "--bench");
    let options = match is_benchmark {
        true => case::parse(std::env::args().skip(1)),
        false => Ok(case::test_options()),
    };
    let options = match options {
        Ok(options) => options,
        Err(text) => {
            eprintln!("{text}\n{USAGE}");
            return ExitCode::FAILURE;
        }
    };
    print_header();
    for case in &options.cases {
        print_row(case, &measure(*case, &options));
    }
    if !is_benchmark {
        // As scripts/run_tests.py counts tests. A check that fails ends the program before.
        println!("test result: ok. {} passed; 0 failed", options.cases.len());
    }
    ExitCode::SUCCESS
}

/// A client with its work.
enum Load {
    Producing(Producing),
    Consuming(Consuming),
}

impl Load {
    fn new(case: Case) -> Self {
        match case.role {
            Role::Producer => Load::Producing(Producing::new(case)),
            Role::Consumer => Load::Consuming(Consuming::new(case)),
        }
    }

    fn round(&mut self) {
        match self {
            Load::Producing(load) => load.round(),
            Load::Consuming(load) => load.round(),
        }
    }

    fn check(&self) {
        match self {
            Load::Producing(load) => load.check(),
            Load::Consuming(load) => load.check(),
        }
    }

    /// Returns the number of records that were acknowledged or consumed.
    fn records(&self) -> u64 {
        match self {
            Load::Producing(load) => load.records(),
            Load::Consuming(load) => load.records(),
        }
    }

    fn client(&mut self) -> &mut DrivenClient {
        match self {
            Load::Producing(load) => &mut load.client,
            Load::Consuming(load) => &mut load.client,
        }
    }
}

/// The work and the cost of some rounds.
#[derive(Debug, Clone, Copy)]
struct Block {
    records: u64,
    requests: u64,
    batches: u64,
    cost: Cost,
}

impl Block {
    fn core_ns_per_record(&self) -> f64 {
        self.cost.core_ns as f64 / self.records as f64
    }
}

/// The result of a case.
struct Measured {
    /// The block with the median cost of a record.
    block: Block,
    idle_step_ns: u64,
    clock_read_ns: u64,
}

fn measure(case: Case, options: &Options) -> Measured {
    let mut load = Load::new(case);
    for _ in 0..WARM_UP_ROUNDS {
        load.round();
    }
    let mut blocks: Vec<Block> = (0..options.blocks)
        .map(|_| measure_block(&mut load, options.rounds))
        .collect();
    load.check();
    blocks.sort_by(|a, b| a.core_ns_per_record().total_cmp(&b.core_ns_per_record()));
    Measured {
        block: blocks[blocks.len() / 2],
        idle_step_ns: load.client().idle_step_ns(),
        clock_read_ns: load.client().clock_read_ns(),
    }
}

fn measure_block(load: &mut Load, rounds: usize) -> Block {
    let records = load.records();
    let served = load.client().brokers.served;
    load.client().cost = Cost::default();
    for _ in 0..rounds {
        load.round();
    }
    let now = load.client().brokers.served;
    Block {
        records: load.records() - records,
        requests: now.requests - served.requests,
        batches: now.batches - served.batches,
        cost: load.client().cost,
    }
}

fn print_header() {
    println!(
        "{:<9}{:>8}{:>11}{:>7}{:>10}{:>9}{:>9}{:>10}{:>9}{:>10}{:>10}{:>9}{:>9}{:>11}{:>8}",
        "client",
        "brokers",
        "partitions",
        "bytes",
        "records/",
        "batches/",
        "steps/",
        "core",
        "",
        "",
        "",
        "idle",
        "Gb/s",
        "application",
        "driver"
    );
    println!(
        "{:<9}{:>8}{:>11}{:>7}{:>10}{:>9}{:>9}{:>10}{:>9}{:>10}{:>10}{:>9}{:>9}{:>11}{:>8}",
        "",
        "",
        "",
        "",
        "batch",
        "request",
        "request",
        "ns/record",
        "ns/batch",
        "ns/request",
        "ns/step",
        "ns/step",
        "of core",
        "ns/record",
        "clock"
    );
}

fn print_row(case: &Case, measured: &Measured) {
    let Measured {
        block,
        idle_step_ns,
        clock_read_ns,
    } = measured;
    let cost = &block.cost;
    let core_ns = cost.core_ns as f64;
    let (records, requests, batches) = (block.records as f64, block.requests as f64, block.batches as f64);
    let bits = records * case.record_bytes as f64 * 8.0;
    let role = match case.role {
        Role::Producer => "producer",
        Role::Consumer => "consumer",
    };
    println!(
        "{role:<9}{:>8}{:>11}{:>7}{:>10.1}{:>9.1}{:>9.2}{:>10.2}{:>9.0}{:>10.0}{:>10.0}{idle_step_ns:>9}{:>9.1}{:>11.1}{clock_read_ns:>8}",
        case.brokers,
        case.partitions,
        case.record_bytes,
        records / batches,
        batches / requests,
        cost.steps as f64 / requests,
        core_ns / records,
        core_ns / batches,
        core_ns / requests,
        core_ns / cost.steps as f64,
        bits / core_ns,
        cost.application_ns as f64 / records,
    );
}
