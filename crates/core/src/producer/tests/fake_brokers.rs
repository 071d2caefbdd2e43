//! Simulated parts of the tests: clock, waker, the brokers' topics, received requests, reports.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use ottla_protocol::Uuid;
use ottla_protocol::api::produce::ProduceRequest;
use ottla_protocol::record::BatchIter;

use crate::connection::ConnId;
use crate::error::ErrorCode;
use crate::sys::{Clock, Instant, Waker};
use crate::types::PersistStatus;

/// A clock that the test sets, and a counter of wake-ups.
#[derive(Debug, Default)]
pub(in crate::producer) struct FakeClock {
    now_us: AtomicU64,
    pub(in crate::producer) wakes: AtomicUsize,
}

impl FakeClock {
    pub(in crate::producer) fn set(&self, now: Instant) {
        self.now_us.store(now.as_micros(), Ordering::Relaxed);
    }
}

/// The wall clock at the monotonic clock's origin.
pub(in crate::producer) const EPOCH_MS: i64 = 1_700_000_000_000;

impl Clock for FakeClock {
    fn now(&self) -> Instant {
        Instant::from_micros(self.now_us.load(Ordering::Relaxed))
    }
    fn wall_ms(&self) -> i64 {
        EPOCH_MS + (self.now_us.load(Ordering::Relaxed) / 1000) as i64
    }
}

impl Waker for FakeClock {
    fn wake(&self) {
        self.wakes.fetch_add(1, Ordering::Relaxed);
    }
}

/// A topic on the brokers.
#[derive(Clone, Debug)]
pub(in crate::producer) struct Model {
    pub(in crate::producer) id: Uuid,
    pub(in crate::producer) error: i16,
    /// Leader and its epoch by partition.
    pub(in crate::producer) leaders: Vec<(i32, i32)>,
}

/// A Produce request that a broker has received and not answered.
#[derive(Clone, Debug)]
pub(in crate::producer) struct Sent {
    pub(in crate::producer) conn: ConnId,
    pub(in crate::producer) node: i32,
    pub(in crate::producer) correlation: i32,
    pub(in crate::producer) version: i16,
    pub(in crate::producer) request: ProduceRequest,
}

impl Sent {
    /// `topic/partition` with the values of its records, in the request's order.
    pub(in crate::producer) fn values(&self, names: &HashMap<Uuid, String>) -> Vec<(String, Vec<String>)> {
        let mut out = Vec::new();
        for topic in &self.request.topic_data {
            let name = if self.version >= 13 {
                &names[&topic.topic_id]
            } else {
                &topic.name
            };
            for part in &topic.partition_data {
                let data = part.records.clone().unwrap().into_bytes();
                let mut values = Vec::new();
                for batch in BatchIter::new(data) {
                    let batch = batch.unwrap();
                    batch.verify_crc().unwrap();
                    for record in batch.records(1 << 30).unwrap() {
                        let value = record.unwrap().value.unwrap();
                        values.push(String::from_utf8_lossy(&value).into_owned());
                    }
                }
                out.push((format!("{name}/{}", part.index), values));
            }
        }
        out
    }
}

/// The delivery report of one record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::producer) struct Report {
    pub(in crate::producer) value: String,
    pub(in crate::producer) partition: i32,
    pub(in crate::producer) error: ErrorCode,
    pub(in crate::producer) status: PersistStatus,
    pub(in crate::producer) offset: i64,
}
