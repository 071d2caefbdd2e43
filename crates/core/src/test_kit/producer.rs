//! Records and delivery reports of a producer.

use std::time::Duration;

use ottla_protocol::Records;
use ottla_protocol::record::BatchIter;

use super::world::{World, WorldBuilder};
use crate::error::{Error, ErrorCode};
use crate::event::{Delivery, Event};
use crate::producer::Record;
use crate::records::Payload;
use crate::types::{ClientKind, PersistStatus};

/// The delivery report of one record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Report {
    pub(crate) value: String,
    pub(crate) partition: i32,
    pub(crate) error: ErrorCode,
    pub(crate) status: PersistStatus,
    pub(crate) offset: i64,
}

/// Returns the values of the records in these batches, whose checksums must be correct.
pub(crate) fn values_of(records: &Records) -> Vec<String> {
    let mut values = Vec::new();
    for batch in BatchIter::new(records.clone().into_bytes()) {
        let batch = batch.unwrap();
        batch.verify_crc().unwrap();
        for record in batch.records(1 << 30).unwrap() {
            let value = record.unwrap().value.unwrap();
            values.push(String::from_utf8_lossy(&value).into_owned());
        }
    }
    values
}

impl World {
    /// Creates a producer with these settings of the client and of topics.
    pub(crate) fn producer(settings: &[(&str, &str)], topic: &[(&str, &str)]) -> Self {
        WorldBuilder::new(ClientKind::Producer).build(settings, topic)
    }

    pub(crate) fn produce(&mut self, topic: &str, partition: i32, value: &str) -> Result<(), Error> {
        let topic = self.topic(topic);
        let record = Record {
            value: Payload::Copy(value.as_bytes()),
            ..Default::default()
        };
        self.shared
            .producer
            .as_ref()
            .unwrap()
            .produce(&topic, partition, record)
    }

    /// Returns the deliveries since the last call.
    pub(crate) fn deliveries(&mut self) -> Vec<Delivery> {
        let mut out = Vec::new();
        while let Some(event) = self.shared.main_queue.pop(Some(Duration::ZERO)) {
            if let Event::Delivery(delivery) = event {
                out.push(delivery);
            }
        }
        out
    }

    /// Returns the reports since the last call, record by record.
    pub(crate) fn reports(&mut self) -> Vec<Report> {
        let mut out = Vec::new();
        for d in self.deliveries() {
            assert_eq!(d.records().count(), d.len());
            for r in d.records() {
                out.push(Report {
                    value: String::from_utf8_lossy(r.value.unwrap_or_default()).into_owned(),
                    partition: d.partition,
                    error: d.error.as_ref().map_or(ErrorCode::NO_ERROR, |e| e.code),
                    status: d.status,
                    offset: r.offset,
                });
            }
        }
        out
    }

    /// Returns the values in a partition's log.
    pub(crate) fn log_of(&self, topic: &str, partition: i32) -> Vec<String> {
        let batches = self.net.cluster.partition_batches(topic, partition).unwrap();
        batches.iter().flat_map(values_of).collect()
    }
}
