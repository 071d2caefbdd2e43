//! A producer with an explicit partition for each record.

use std::sync::Arc;
use std::time::Duration;

use ottla_core::event::Event;
use ottla_core::producer::{Payload, Record};
use ottla_core::types::{ClientKind, Topic, TopicHooks};

use crate::brokers::{Brokers, TOPIC};
use crate::case::{Case, ROUND_MS};
use crate::driven_client::DrivenClient;
use crate::fetch_session::Logs;

/// A round's records are in memory at once.
const SETTINGS: [(&str, &str); 3] = [
    ("linger.ms", "5"),
    ("queue.buffering.max.messages", "10000000"),
    ("queue.buffering.max.kbytes", "1048576"),
];

pub(crate) struct Producing {
    pub(crate) client: DrivenClient,
    topic: Arc<Topic>,
    case: Case,
    value: Vec<u8>,
    produced: u64,
    /// By partition: the offset of the next record to be acknowledged.
    acknowledged: Vec<i64>,
    reported: u64,
}

impl Producing {
    pub(crate) fn new(case: Case) -> Self {
        let logs = Logs::new(0, 1, &[]);
        let brokers = Brokers::new(case.brokers, case.partitions, logs);
        let client = DrivenClient::new(ClientKind::Producer, &SETTINGS, brokers, case.answers_max);
        let topic = client.shared.topic(TOPIC, None, TopicHooks::default()).unwrap();
        if let Some(accumulator) = &client.shared.producer {
            accumulator.announce(&topic);
        }
        Producing {
            client,
            topic,
            case,
            value: vec![b'x'; case.record_bytes],
            produced: 0,
            acknowledged: vec![0; case.partitions as usize],
            reported: 0,
        }
    }

    /// Produces the records of a round, and drives the client until all are acknowledged.
    pub(crate) fn round(&mut self) {
        self.produce();
        self.client.pass(Duration::from_millis(ROUND_MS));
        let (produced, reported, acknowledged) = (self.produced, &mut self.reported, &mut self.acknowledged);
        self.client.run(|client| {
            serve_reports(client, reported, acknowledged);
            *reported == produced
        });
    }

    fn produce(&mut self) {
        let accumulator = self.client.shared.producer.clone().unwrap();
        self.client.end_driver_lap();
        for _ in 0..self.case.records_per_round {
            let partition = self.produced % self.case.partitions.unsigned_abs() as u64;
            let record = Record {
                value: Payload::Copy(&self.value),
                ..Record::default()
            };
            accumulator.produce(&self.topic, partition as i32, record).unwrap();
            self.produced += 1;
        }
        self.client.end_application_lap();
    }

    /// Checks that brokers and application have seen each record once, and in its partition.
    pub(crate) fn check(&self) {
        let partitions = self.case.partitions as u64;
        assert_eq!(self.reported, self.produced, "acknowledged records");
        assert_eq!(self.client.brokers.served.records, self.produced, "records in requests");
        for (partition, acknowledged) in self.acknowledged.iter().enumerate() {
            let share = (self.produced + partitions - 1 - partition as u64) / partitions;
            assert_eq!(
                *acknowledged, share as i64,
                "records acknowledged in partition {partition}"
            );
            assert_eq!(
                self.client.brokers.end(partition),
                share as i64,
                "records in partition {partition}"
            );
        }
    }

    pub(crate) fn records(&self) -> u64 {
        self.reported
    }
}

/// Takes the delivery reports that are there.
fn serve_reports(client: &DrivenClient, reported: &mut u64, acknowledged: &mut [i64]) {
    while let Some(event) = client.shared.main_queue.pop(Some(Duration::ZERO)) {
        let Event::Delivery(delivery) = event else {
            panic!("an event other than a delivery report: {event:?}");
        };
        assert_eq!(delivery.error, None, "the outcome of records");
        let end = &mut acknowledged[delivery.partition as usize];
        assert_eq!(delivery.base_offset, *end, "the offset of records");
        *end += delivery.len() as i64;
        *reported += delivery.len() as u64;
    }
}
