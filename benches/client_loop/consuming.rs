//! A consumer of all partitions, which its application assigns.

use std::time::Duration;

use ottla_core::client::Command;
use ottla_core::consumer;
use ottla_core::event::Event;
use ottla_core::reply::Reply;
use ottla_core::types::{ClientKind, PartitionOffset, TopicPartition};

use crate::brokers::{Brokers, TOPIC};
use crate::case::{Case, ROUND_MS};
use crate::driven_client::DrivenClient;
use crate::fetch_session::Logs;

const SETTINGS: [(&str, &str); 2] = [("group.id", "benchmark"), ("enable.auto.commit", "false")];
/// The size of the largest batches, as producers write them.
const BATCH_BYTES_MAX: usize = 1_000_000;

pub(crate) struct Consuming {
    pub(crate) client: DrivenClient,
    partitions: usize,
    records_per_batch: usize,
    batches_per_round: usize,
    /// The batches that were appended to logs.
    appended: u64,
    /// By partition: the offset of the next record.
    positions: Vec<i64>,
    consumed: u64,
}

impl Consuming {
    /// Creates a consumer for the same batches as those of a producer at this rate.
    pub(crate) fn new(case: Case) -> Self {
        let partitions = case.partitions as usize;
        let value = vec![b'x'; case.record_bytes];
        let records_max = BATCH_BYTES_MAX / case.record_bytes;
        let records_per_batch = (case.records_per_round / partitions).clamp(1, records_max);
        let logs = Logs::new(partitions, records_per_batch, &value);
        let brokers = Brokers::new(case.brokers, case.partitions, logs);
        let mut client = DrivenClient::new(ClientKind::Consumer, &SETTINGS, brokers, case.answers_max);
        assign_all(&mut client, case.partitions);
        Consuming {
            client,
            partitions,
            records_per_batch,
            batches_per_round: case.records_per_round.div_ceil(records_per_batch),
            appended: 0,
            positions: vec![0; partitions],
            consumed: 0,
        }
    }

    /// Appends the batches of a round, and drives the client until all are consumed.
    pub(crate) fn round(&mut self) {
        for _ in 0..self.batches_per_round {
            let partition = (self.appended % self.partitions as u64) as usize;
            self.client.brokers.logs.append(partition);
            self.appended += 1;
        }
        self.client.pass(Duration::from_millis(ROUND_MS));
        self.client.brokers.answer_waiting(self.client.now());
        let all = self.appended * self.records_per_batch as u64;
        let (consumed, positions) = (&mut self.consumed, &mut self.positions);
        self.client.run(|client| {
            consume(client, consumed, positions);
            *consumed == all
        });
    }

    /// Checks that each record was consumed once.
    pub(crate) fn check(&self) {
        let total: i64 = self.positions.iter().sum();
        assert_eq!(
            self.consumed,
            self.appended * self.records_per_batch as u64,
            "consumed records"
        );
        assert_eq!(self.consumed, total as u64, "the sum of positions");
    }

    pub(crate) fn records(&self) -> u64 {
        self.consumed
    }
}

fn assign_all(client: &mut DrivenClient, partitions: i32) {
    let partitions = (0..partitions).map(|p| PartitionOffset::new(TopicPartition::new(TOPIC, p), 0));
    let reply = Reply::new();
    client.shared.send(Command::Consumer(consumer::Command::Assign {
        partitions: partitions.collect(),
        reply: reply.clone(),
    }));
    client.run(|_| true);
    reply.try_take().expect("an assignment is carried out at once").unwrap();
}

/// Reads the records that are there.
fn consume(client: &DrivenClient, consumed: &mut u64, positions: &mut [i64]) {
    while let Some(event) = client.shared.consumer_queue.pop(Some(Duration::ZERO)) {
        let Event::Records(mut chunk) = event else {
            panic!("an event other than records: {event:?}");
        };
        let position = &mut positions[chunk.partition().partition() as usize];
        while let Some(record) = chunk.next() {
            assert_eq!(record.offset, *position, "the offset of a record");
            *position += 1;
            *consumed += 1;
        }
    }
}
