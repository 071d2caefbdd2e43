//! A work queue: workers process the records of a topic as members of a share group.
//!
//! ```text
//! share_workers BROKERS GROUP TOPIC [WORKERS [DELIVERIES [IDLE_S]]]
//! ```
//!
//! Each of WORKERS (4) threads is a member of GROUP; they may outnumber the topic's partitions. A job that fails is released,
//! which delivers it again to any worker, and is rejected when it was delivered DELIVERIES (3) times. The group's
//! `share.delivery.count.limit`, 5 by default, must not be lower. The program ends when no job has arrived for IDLE_S (30)
//! seconds. A new group begins at the end of the topic, unless its `share.auto.offset.reset` is `earliest`.
//!
//! Jobs are texts. Those that begin with `flaky` fail when they are delivered for the first time, those that begin with `fail`
//! always. Exit status: 0, 1 for an error of the brokers, 2 for wrong arguments.

use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use ottla::config::Conf;
use ottla::error::{Error, ErrorCode};
use ottla::share::{Acknowledge, AcknowledgementResult, ShareConsumer, ShareRecord};

/// The arguments of the program.
#[derive(Clone)]
struct Arguments {
    brokers: String,
    group: String,
    topic: String,
    workers: u32,
    deliveries: i16,
    idle: Duration,
}

fn parse(arguments: &[String]) -> Option<Arguments> {
    let [brokers, group, topic, numbers @ ..] = arguments else {
        return None;
    };
    let mut numbers = numbers.iter().map(|number| number.parse::<u16>().ok());
    let mut number = |default| numbers.next().unwrap_or(Some(default));
    let parsed = Arguments {
        brokers: brokers.clone(),
        group: group.clone(),
        topic: topic.clone(),
        workers: number(4)?.into(),
        deliveries: i16::try_from(number(3)?).ok()?,
        idle: Duration::from_secs(number(30)?.into()),
    };
    numbers.next().is_none().then_some(parsed)
}

/// Processes a job. A real worker would call a service, or write to a database.
fn work(job: &str, delivery_count: i16) -> Result<(), String> {
    match job {
        _ if job.starts_with("flaky") && delivery_count == 1 => Err("not this time".into()),
        _ if job.starts_with("fail") => Err("never".into()),
        _ => Ok(()),
    }
}

fn create(arguments: &Arguments) -> Result<ShareConsumer, Error> {
    let settings = [
        ("bootstrap.servers", &*arguments.brokers),
        ("group.id", &*arguments.group),
        ("share.acknowledgement.mode", "explicit"),
        // Few jobs at a time, so that those of a slow worker do not wait for it while others are idle.
        ("max.poll.records", "10"),
    ];
    let mut conf = Conf::new();
    for (name, value) in settings {
        conf.set(name, value)
            .map_err(|error| Error::invalid_arg(error.to_string()))?;
    }
    ShareConsumer::new(&conf)
}

fn process(worker: u32, record: &ShareRecord<'_>, deliveries: i16) -> Acknowledge {
    let job = String::from_utf8_lossy(record.value().unwrap_or_default());
    let count = record.delivery_count();
    let (acknowledge, what) = match work(&job, count) {
        Ok(()) => (Acknowledge::Accept, "accepted"),
        Err(_) if count < deliveries => (Acknowledge::Release, "released"),
        Err(_) => (Acknowledge::Reject, "rejected"),
    };
    println!("worker {worker}: {what} {job} (delivery {count})");
    acknowledge
}

/// Reports acknowledgements that have failed: their jobs are processed again, by any worker.
fn report(worker: u32, result: &AcknowledgementResult) {
    if result.error != ErrorCode::NO_ERROR {
        let records: usize = result.offsets.iter().map(|range| range.len()).sum();
        eprintln!(
            "worker {worker}: {}: {records} jobs are delivered again: {}",
            result.tp,
            result.error.description()
        );
    }
}

fn run(worker: u32, arguments: &Arguments) -> Result<(), Error> {
    let mut consumer = create(arguments)?;
    consumer.on_acknowledged(move |result| report(worker, &result));
    consumer.subscribe([&*arguments.topic])?;
    let mut last_job = Instant::now();
    while last_job.elapsed() < arguments.idle {
        // Sends the acknowledgements of the jobs before.
        let records = match consumer.poll(Duration::from_millis(500)) {
            Ok(records) => records,
            Err(error) if error.fatal => return Err(error),
            Err(error) => {
                eprintln!("worker {worker}: {error}");
                continue;
            }
        };
        for unreadable in records.errors() {
            eprintln!("worker {worker}: {}", unreadable.error);
        }
        for record in &records {
            let acknowledge = process(worker, &record, arguments.deliveries);
            consumer.acknowledge(&record, acknowledge)?;
            last_job = Instant::now();
        }
    }
    consumer.close()
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some(arguments) = parse(&arguments) else {
        eprintln!("usage: share_workers BROKERS GROUP TOPIC [WORKERS [DELIVERIES [IDLE_S]]]");
        return ExitCode::from(2);
    };
    let start = |worker| {
        let arguments = arguments.clone();
        thread::spawn(move || run(worker, &arguments).inspect_err(|error| eprintln!("worker {worker}: {error}")))
    };
    let workers: Vec<_> = (1..=arguments.workers).map(start).collect();
    let results: Vec<_> = workers.into_iter().map(thread::JoinHandle::join).collect();
    match results.iter().all(|result| matches!(result, Ok(Ok(())))) {
        true => ExitCode::SUCCESS,
        false => ExitCode::from(1),
    }
}
