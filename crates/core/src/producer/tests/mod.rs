//! Tests of the producer with the real connection table and cluster manager, and simulated brokers.

pub(in crate::producer) mod coordinator;
mod error_codes;
mod failures;
pub(in crate::producer) mod fake_brokers;
pub(in crate::producer) mod harness;
mod idempotent;
mod limits;
mod random_faults;
mod record_errors;
mod retries;
mod sending;
mod transactions;

use ottla_protocol::api::produce::{BatchIndexAndErrorMessage, LeaderIdAndEpoch, NodeEndpoint, ProduceResponse};
use ottla_protocol::record::BatchIter;

use self::fake_brokers::{EPOCH_MS, Report};
use self::harness::World;
use super::Command;
use crate::error::ErrorCode;
use crate::reply::Reply;
use crate::sys::Instant;
use crate::types::PersistStatus::{NotPersisted, Persisted, PossiblyPersisted};
use crate::types::{PARTITION_UA, PersistStatus};

fn strings(values: &[&str]) -> Vec<String> {
    values.iter().map(|v| (*v).to_owned()).collect()
}

fn report(value: &str, error: ErrorCode, status: PersistStatus, offset: i64) -> Report {
    Report {
        value: value.into(),
        partition: 0,
        error,
        status,
        offset,
    }
}

const INVALID: i64 = crate::types::offset::INVALID;

/// One topic with one partition on broker 1, already known.
fn one_partition(settings: &[(&str, &str)], topic: &[(&str, &str)]) -> World {
    let mut w = World::with_topic(settings, topic);
    w.add_topic("t", &[1]);
    let t = w.topic("t");
    w.accumulator.announce(&t);
    w.drive();
    w
}

fn purge(w: &mut World, queue: bool, in_flight: bool) {
    let done = Reply::new();
    w.command(Command::Purge {
        queue,
        in_flight,
        done: done.clone(),
    });
    assert_eq!(done.try_take(), Some(()));
}
