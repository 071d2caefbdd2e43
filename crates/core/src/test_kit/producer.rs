//! Records, Produce requests and delivery reports of a producer.

use ottla_mock::FaultAction;
use ottla_protocol::api::produce::{PartitionProduceResponse, ProduceRequest, ProduceResponse, TopicProduceResponse};
use ottla_protocol::record::BatchIter;
use ottla_protocol::{ApiKey, ErrorCode as BrokerError, Records};

use super::network::Arrival;
use super::world::{World, WorldBuilder};
use crate::connection::ConnId;
use crate::core;
use crate::error::{Error, ErrorCode};
use crate::event::{Delivery, Event};
use crate::producer::{Accumulator, Command, Record};
use crate::records::Payload;
use crate::reply::Reply;
use crate::types::{ClientKind, PersistStatus};

/// A Produce request that the test holds.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    arrival: Arrival,
    pub(crate) conn: ConnId,
    pub(crate) node: i32,
    pub(crate) version: i16,
    pub(crate) request: ProduceRequest,
    /// `topic/partition` with the values of its records, in the request's order.
    pub(crate) values: Vec<(String, Vec<String>)>,
}

/// The delivery report of one record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Report {
    pub(crate) value: String,
    pub(crate) partition: i32,
    pub(crate) error: ErrorCode,
    pub(crate) status: PersistStatus,
    pub(crate) offset: i64,
}

/// Returns the report of a record of partition 0.
pub(crate) fn report(value: &str, error: ErrorCode, status: PersistStatus, offset: i64) -> Report {
    Report {
        value: value.into(),
        partition: 0,
        error,
        status,
        offset,
    }
}

pub(crate) fn strings(values: &[&str]) -> Vec<String> {
    values.iter().map(|v| (*v).to_owned()).collect()
}

/// Returns the values of the records in these batches, whose checksums must be correct.
fn values_of(records: &Records) -> Vec<String> {
    let mut values = Vec::new();
    for batch in BatchIter::new(records.clone().into_bytes()) {
        let batch = batch.unwrap();
        batch.verify_crc().unwrap();
        if batch.header().is_control() {
            continue;
        }
        for record in batch.records(1 << 30).unwrap() {
            let value = record.unwrap().value.unwrap();
            values.push(String::from_utf8_lossy(&value).into_owned());
        }
    }
    values
}

impl World {
    /// Creates a producer with these settings of the client and of topics. Produce requests are held.
    pub(crate) fn producer(settings: &[(&str, &str)], topic: &[(&str, &str)]) -> Self {
        World::producer_with(settings, topic, |_| {})
    }

    /// As [`producer`](Self::producer), on a cluster with other settings.
    pub(crate) fn producer_with(
        settings: &[(&str, &str)],
        topic: &[(&str, &str)],
        change: impl FnOnce(&mut ottla_mock::ClusterConfig),
    ) -> Self {
        let mut builder = WorldBuilder::new(ClientKind::Producer);
        change(&mut builder.cluster);
        let mut w = builder.build(settings, topic);
        w.hold(ApiKey::PRODUCE);
        w
    }

    /// Creates a producer with topic `t` of one partition on broker 1, which it knows.
    pub(crate) fn one_partition(settings: &[(&str, &str)], topic: &[(&str, &str)]) -> Self {
        let mut w = World::producer(settings, topic);
        w.add_topic("t", &[1]);
        w.announce("t");
        w
    }

    /// Makes a topic and its metadata known to the producer.
    pub(crate) fn announce(&mut self, topic: &str) {
        let topic = self.topic(topic);
        self.accumulator().announce(&topic);
        self.drive();
    }

    pub(crate) fn accumulator(&self) -> &Accumulator {
        self.shared.producer.as_ref().unwrap()
    }

    pub(crate) fn produce(&mut self, topic: &str, partition: i32, value: &str) -> Result<(), Error> {
        let topic = self.topic(topic);
        let record = Record {
            value: Payload::Copy(value.as_bytes()),
            ..Default::default()
        };
        self.accumulator().produce(&topic, partition, record)
    }

    pub(crate) fn command(&mut self, command: Command) {
        self.send(core::Command::Producer(command));
    }

    pub(crate) fn purge(&mut self, queue: bool, in_flight: bool) {
        let done = Reply::new();
        self.command(Command::Purge {
            queue,
            in_flight,
            done: done.clone(),
        });
        assert_eq!(done.try_take(), Some(()));
    }

    /// Returns the code of the fatal error.
    pub(crate) fn fatal(&self) -> Option<ErrorCode> {
        self.shared.fatal_error().map(|e| e.code)
    }

    // ---------------------------------------------------------------- Produce requests

    fn to_sent(&self, arrival: &Arrival) -> Sent {
        let request: ProduceRequest = arrival.decode();
        let topics = &self.net.cluster;
        let mut values = Vec::new();
        for topic in &request.topic_data {
            let by_id = |name: &&str| topics.topic_id(name) == Some(topic.topic_id);
            let name = match arrival.version {
                ..13 => topic.name.as_str(),
                _ => topics.topic_names().find(by_id).unwrap_or_default(),
            };
            for part in &topic.partition_data {
                let records = part.records.as_ref().unwrap();
                values.push((format!("{name}/{}", part.index), values_of(records)));
            }
        }
        Sent {
            conn: arrival.conn,
            node: arrival.node,
            version: arrival.version,
            request,
            values,
            arrival: arrival.clone(),
        }
    }

    /// Returns the held Produce requests, oldest first.
    pub(crate) fn sent(&self) -> Vec<Sent> {
        let held = self.net.unseen().iter().filter(|a| a.key == ApiKey::PRODUCE);
        held.map(|a| self.to_sent(a)).collect()
    }

    /// Returns the connections of the held requests, in the order of [`sent`](Self::sent).
    pub(crate) fn conns_of_sent(&self) -> Vec<ConnId> {
        let held = self.net.unseen().iter().filter(|a| a.key == ApiKey::PRODUCE);
        held.map(|a| a.conn).collect()
    }

    /// Returns the values of every partition of the held requests, in order.
    pub(crate) fn sent_values(&self) -> Vec<(String, Vec<String>)> {
        self.sent().into_iter().flat_map(|s| s.values).collect()
    }

    /// Takes the oldest held request, to be passed on or answered.
    pub(crate) fn take_sent(&mut self) -> Sent {
        let (arrival, _) = self.expect::<ProduceRequest>();
        self.to_sent(&arrival)
    }

    /// Takes the oldest held request to a broker.
    pub(crate) fn take_sent_to(&mut self, node: i32) -> Option<Sent> {
        let index = self.sent().iter().position(|s| s.node == node)?;
        Some(self.take_sent_at(index))
    }

    /// Takes the held request at an index of [`sent`](Self::sent).
    pub(crate) fn take_sent_at(&mut self, index: usize) -> Sent {
        let arrival = self.net.take_unseen(ApiKey::PRODUCE, index);
        self.to_sent(&arrival)
    }

    /// Passes a request on to its broker.
    pub(crate) fn append_sent(&mut self, sent: &Sent) {
        self.serve(&sent.arrival);
    }

    /// Passes the oldest held request on to its broker.
    pub(crate) fn acknowledge(&mut self) {
        let sent = self.take_sent();
        self.append_sent(&sent);
    }

    /// Passes every held request on, and those that follow at once.
    pub(crate) fn acknowledge_all(&mut self) {
        while self.has(ApiKey::PRODUCE) {
            self.acknowledge();
        }
    }

    /// Makes the broker refuse every partition of the oldest held request.
    pub(crate) fn refuse(&mut self, code: ErrorCode) {
        self.treat_sent(FaultAction::Error(broker_error(code)));
    }

    /// Applies a fault to the oldest held request.
    pub(crate) fn treat_sent(&mut self, action: FaultAction) {
        let sent = self.take_sent();
        self.fail(&sent.arrival, action);
    }

    /// Applies a fault to a request.
    pub(crate) fn treat(&mut self, sent: &Sent, action: FaultAction) {
        self.fail(&sent.arrival, action);
    }

    /// Answers a request in place of its broker; `part` fills in the response of each partition.
    pub(crate) fn answer_produce(&mut self, sent: &Sent, part: impl Fn(&mut PartitionProduceResponse)) {
        self.answer_produce_with(sent, ProduceResponse::default(), part);
    }

    pub(crate) fn answer_produce_with(
        &mut self,
        sent: &Sent,
        base: ProduceResponse,
        part: impl Fn(&mut PartitionProduceResponse),
    ) {
        let responses = sent.request.topic_data.iter().map(|t| TopicProduceResponse {
            name: t.name.clone(),
            topic_id: t.topic_id,
            partition_responses: t
                .partition_data
                .iter()
                .map(|p| {
                    let mut answer = PartitionProduceResponse {
                        index: p.index,
                        ..Default::default()
                    };
                    part(&mut answer);
                    answer
                })
                .collect(),
            ..Default::default()
        });
        let response = ProduceResponse {
            responses: responses.collect(),
            ..base
        };
        self.answer(&sent.arrival, &response);
    }

    /// Answers a request with a body that cannot be decoded.
    pub(crate) fn answer_produce_malformed(&mut self, sent: &Sent) {
        self.answer_malformed(&sent.arrival);
    }

    // ---------------------------------------------------------------- the application's view

    /// Returns the deliveries since the last call.
    pub(crate) fn deliveries(&mut self) -> Vec<Delivery> {
        let deliveries = self.shared.main_queue.extract(|e| matches!(e, Event::Delivery(_)));
        let delivery = |event| match event {
            Event::Delivery(delivery) => delivery,
            _ => unreachable!("only deliveries were extracted"),
        };
        deliveries.into_iter().map(delivery).collect()
    }

    /// Returns the codes of the fatal errors that were reported since the last call.
    pub(crate) fn fatal_reports(&mut self) -> Vec<ErrorCode> {
        let events = self
            .shared
            .main_queue
            .extract(|e| matches!(e, Event::Error(error) if error.fatal));
        let first = self.fatal();
        events.iter().filter_map(|_| first).collect()
    }

    /// Returns the throttle times that were reported since the last call.
    pub(crate) fn throttle_times(&mut self) -> Vec<i32> {
        let events = self.shared.main_queue.extract(|e| matches!(e, Event::Throttle(_)));
        let time = |event| match event {
            Event::Throttle(throttle) => throttle.throttle_ms,
            _ => unreachable!("only throttling events were extracted"),
        };
        events.into_iter().map(time).collect()
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

pub(crate) fn broker_error(code: ErrorCode) -> BrokerError {
    BrokerError(i16::try_from(code.0).unwrap())
}
