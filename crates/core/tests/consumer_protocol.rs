//! Groups of the consumer protocol (KIP-848) on the embedded cluster, over real sockets.

#![allow(clippy::unwrap_used, clippy::panic)] // clippy takes only the test functions themselves for tests

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use ottla_core::client::{Client, ClientHooks};
use ottla_core::config::{Conf, TopicConf};
use ottla_core::consumer::RebalanceProtocol;
use ottla_core::event::Event;
use ottla_core::producer::{Payload, Record};
use ottla_core::types::{ClientKind, TopicHooks, TopicPartition};

const DEADLINE: Duration = Duration::from_secs(60);
const PARTITIONS: i32 = 4;

/// A cluster with topics of four partitions, which lives as long as its producer, and the members that read from it.
struct World {
    producer: Client,
    servers: String,
    produced: usize,
    members: Vec<(&'static str, Client)>,
    /// The number of times that each record was consumed.
    taken: BTreeMap<String, usize>,
}

impl World {
    fn new() -> Self {
        let mut conf = Conf::new();
        conf.set("test.mock.num.brokers", "3").unwrap();
        conf.set("linger.ms", "1").unwrap();
        let producer = client(ClientKind::Producer, conf);
        let servers = producer.with_embedded(|e| e.bootstrap_servers()).unwrap();
        World {
            producer,
            servers,
            produced: 0,
            members: Vec::new(),
            taken: BTreeMap::new(),
        }
    }

    fn produce(&mut self, topic: &str, n: usize) {
        let topic = self.producer.topic(topic, None, TopicHooks::default()).unwrap();
        for _ in 0..n {
            let value = format!("value-{}", self.produced);
            let partition = i32::try_from(self.produced % PARTITIONS as usize).unwrap();
            let record = Record {
                value: Payload::Copy(value.as_bytes()),
                ..Record::default()
            };
            self.producer.produce(&topic, partition, record, true).unwrap();
            self.produced += 1;
        }
        // The first record creates the topic; members that request its metadata before get an error.
        let end = Instant::now() + DEADLINE;
        while self.producer.outq_len() > 0 {
            assert!(
                Instant::now() < end,
                "{} records are not delivered",
                self.producer.outq_len()
            );
            self.producer.main_queue().pop(Some(Duration::from_millis(10)));
        }
    }

    fn join(&mut self, name: &'static str, topics: &[&str], settings: &[(&str, &str)]) {
        let mut conf = Conf::new();
        let common = [("bootstrap.servers", self.servers.as_str()), ("group.id", "g")];
        for (property, value) in common.iter().chain(settings) {
            conf.set(property, *value).unwrap();
        }
        let member = client(ClientKind::Consumer, conf);
        member
            .subscribe(topics.iter().map(|t| t.to_string()).collect())
            .unwrap();
        self.members.push((name, member));
    }

    /// Closes a member while the others continue to read.
    fn leave(&mut self, name: &str) {
        let index = self.members.iter().position(|m| m.0 == name).unwrap();
        let (_, member) = self.members.remove(index);
        let closed = member.close_consumer().unwrap();
        let end = Instant::now() + DEADLINE;
        loop {
            if let Some(result) = closed.try_take() {
                break result.unwrap();
            }
            assert!(Instant::now() < end, "{name} is not closed");
            self.read();
        }
    }

    /// Consumes the available records.
    fn read(&mut self) {
        for (name, member) in &self.members {
            let mut wait = Some(Duration::from_millis(2));
            while let Some(taken) = member.consumer_queue().pop_one(wait, |chunk| {
                let record = chunk.next()?;
                Some(String::from_utf8_lossy(record.value.unwrap()).into_owned())
            }) {
                match taken {
                    Ok(value) => *self.taken.entry(value).or_default() += 1,
                    Err(Event::Partition(n)) => panic!("{name}: {}", n.error),
                    Err(other) => panic!("{name}: {other:?}"),
                }
                wait = Some(Duration::ZERO);
            }
        }
    }

    /// Reads until the members have this number of partitions each, without overlap.
    fn settle(&mut self, counts: &[(&str, usize)]) {
        let end = Instant::now() + DEADLINE;
        loop {
            self.read();
            let assignments: Vec<(&str, Vec<TopicPartition>)> = self
                .members
                .iter()
                .map(|(name, m)| (*name, m.assignment().unwrap().into_iter().map(|r| r.tp).collect()))
                .collect();
            let found: Vec<(&str, usize)> = assignments
                .iter()
                .map(|(name, assignment)| (*name, assignment.len()))
                .collect();
            let different: BTreeSet<&TopicPartition> = assignments.iter().flat_map(|s| &s.1).collect();
            if found == counts && different.len() == counts.iter().map(|c| c.1).sum::<usize>() {
                return;
            }
            assert!(Instant::now() < end, "expected {counts:?}, found {assignments:?}");
        }
    }

    /// Reads until every record was consumed.
    fn read_all(&mut self) {
        let end = Instant::now() + DEADLINE;
        while self.taken.len() < self.produced {
            assert!(Instant::now() < end, "{} of {}", self.taken.len(), self.produced);
            self.read();
        }
    }
}

fn client(kind: ClientKind, mut conf: Conf) -> Client {
    let mut defaults = TopicConf::new();
    if kind == ClientKind::Consumer {
        defaults.set("auto.offset.reset", "earliest").unwrap();
    }
    conf.set_topic_defaults(Some(defaults));
    let (client, topic) = conf.finalize(kind).unwrap();
    Client::new(kind, client, topic, ClientHooks::default()).unwrap()
}

const CONSUMER: &[(&str, &str)] = &[("group.protocol", "consumer")];

#[test]
fn joining_and_leaving_members_read_every_record_once() {
    let mut w = World::new();
    w.produce("t", 1000);
    w.join("a", &["t"], CONSUMER);
    w.settle(&[("a", 4)]);
    assert_eq!(w.members[0].1.rebalance_protocol(), Ok(RebalanceProtocol::Cooperative));
    assert_eq!(w.members[0].1.member_id().unwrap().len(), 22);
    w.join("b", &["t"], CONSUMER);
    w.settle(&[("a", 2), ("b", 2)]);
    w.produce("t", 1000);
    w.join("c", &["t"], CONSUMER);
    w.join("d", &["t"], CONSUMER);
    w.settle(&[("a", 1), ("b", 1), ("c", 1), ("d", 1)]);
    w.produce("t", 1000);
    w.leave("a");
    w.leave("c");
    w.settle(&[("b", 2), ("d", 2)]);
    w.produce("t", 1000);
    w.read_all();
    // Each member commits before revocation, so no record is consumed twice.
    let twice = w.taken.values().filter(|n| **n > 1).count();
    assert_eq!(twice, 0);
}

#[test]
fn pattern_subscription_reads_new_topics() {
    let mut w = World::new();
    w.produce("metrics.cpu", 100);
    w.produce("other", 4);
    w.produced -= 4;
    w.join("a", &["^metrics\\..*"], CONSUMER);
    w.settle(&[("a", 4)]);
    w.read_all();
    w.produce("metrics.disk", 100);
    w.settle(&[("a", 8)]);
}

#[test]
fn group_migrates_from_the_classic_protocol_and_back() {
    let mut w = World::new();
    w.produce("t", 400);
    let classic = &[("partition.assignment.strategy", "range")];
    w.join("a", &["t"], classic);
    w.join("b", &["t"], classic);
    w.settle(&[("a", 2), ("b", 2)]);
    w.produce("t", 400);
    w.join("c", &["t"], CONSUMER);
    w.leave("a");
    w.settle(&[("b", 2), ("c", 2)]);
    w.produce("t", 400);
    w.join("d", &["t"], CONSUMER);
    w.leave("b");
    w.settle(&[("c", 2), ("d", 2)]);
    w.produce("t", 400);
    w.join("e", &["t"], classic);
    w.leave("c");
    w.leave("d");
    w.settle(&[("e", 4)]);
    w.produce("t", 400);
    w.read_all();
}
