//! The producer under random faults: every record is reported once, and the report matches the brokers' logs.

use std::collections::HashMap;

use super::fake_brokers::Sent;
use super::harness::World;
use crate::error::ErrorCode;
use crate::producer::{Command, HeadersIn, Payload, Record};
use crate::reply::Reply;
use crate::sys::Rng;
use crate::types::{PARTITION_UA, PersistStatus};

const TOPICS: [(&str, usize); 2] = [("t", 3), ("u", 1)];

/// The brokers' logs: values by partition, in order.
#[derive(Default)]
struct Logs(HashMap<String, Vec<String>>);

impl Logs {
    /// Appends a request's records; returns the base offset of each partition.
    fn append(&mut self, w: &World, sent: &Sent) -> HashMap<i32, i64> {
        let mut bases = HashMap::new();
        for (partition, values) in sent.values(&w.names()) {
            let number = partition.rsplit('/').next().unwrap().parse().unwrap();
            let log = self.0.entry(partition).or_default();
            bases.insert(number, log.len() as i64);
            log.extend(values);
        }
        bases
    }
}

struct RandomFaults {
    w: World,
    rng: Rng,
    logs: Logs,
    /// Values of accepted records, with the sequence in which they must stay in order.
    produced: Vec<String>,
    /// The number of them produced before the faults ended.
    healed_at: usize,
    reported: HashMap<String, (ErrorCode, PersistStatus, i32, i64)>,
}

impl RandomFaults {
    fn new(seed: u64, settings: &[(&str, &str)]) -> Self {
        let mut w = World::with_topic(settings, &[("message.timeout.ms", "20000")]);
        w.produce_versions = (3, if seed.is_multiple_of(2) { 13 } else { 9 });
        for (name, partitions) in TOPICS {
            w.add_topic(name, &vec![1 + (seed % 3) as i32; partitions]);
        }
        RandomFaults {
            w,
            rng: Rng::from_seed(seed),
            logs: Logs::default(),
            produced: Vec::new(),
            healed_at: 0,
            reported: HashMap::new(),
        }
    }

    fn chance(&mut self, percent: usize) -> bool {
        self.rng.below(100) < percent
    }

    fn produce(&mut self) {
        let (name, partitions) = TOPICS[self.rng.below(TOPICS.len())];
        let asked = match self.rng.below(4) {
            0 => PARTITION_UA,
            _ => self.rng.below(partitions) as i32,
        };
        let value = format!("{name}-{asked}-{}", self.produced.len());
        let value = match self.rng.below(10) {
            0 => format!("{value}-{}", "x".repeat(300)),
            _ => value,
        };
        let headers = [(&b"h"[..], Some(&b"v"[..])), (&b"h"[..], None)];
        let record = Record {
            key: Some(value.as_bytes()),
            value: Payload::Copy(value.as_bytes()),
            headers: HeadersIn::List(&headers),
            ..Default::default()
        };
        let topic = self.w.topic(name);
        match self.w.accumulator.produce(&topic, asked, record) {
            Ok(()) => self.produced.push(value),
            Err(e) => assert_eq!(e.code, ErrorCode::L_QUEUE_FULL),
        }
    }

    /// Handles one request of a broker: appends it or not, responds or not.
    fn act(&mut self) {
        if self.w.sent.is_empty() {
            return;
        }
        let at = self.rng.below(self.w.sent.len());
        // A connection's requests are handled in order.
        let conn = self.w.sent[at].conn;
        let at = self.w.sent.iter().position(|s| s.conn == conn).unwrap();
        let sent = self.w.sent.remove(at);
        match self.rng.below(24) {
            0 => self.refuse(&sent, ErrorCode::NOT_LEADER_FOR_PARTITION),
            1 => self.refuse(&sent, ErrorCode::NOT_ENOUGH_REPLICAS),
            2 => {
                self.logs.append(&self.w, &sent);
                self.refuse(&sent, ErrorCode::NOT_ENOUGH_REPLICAS_AFTER_APPEND);
            }
            3 => self.refuse(&sent, ErrorCode::MSG_SIZE_TOO_LARGE),
            4 => self.refuse(&sent, ErrorCode::REQUEST_TIMED_OUT),
            5 if self.rng.below(3) == 0 => self.refuse(&sent, ErrorCode::POLICY_VIOLATION),
            6 => {
                self.logs.append(&self.w, &sent);
                self.w.disconnect(sent.node);
            }
            7 => self.w.disconnect(sent.node),
            _ => {
                let bases = self.logs.append(&self.w, &sent);
                let topics = sent.request.topic_data.len();
                let whole = self.bases(&sent, bases, topics);
                self.w.answer(&sent, move |name, p| {
                    p.base_offset = whole[&(name.to_owned(), p.index)];
                });
            }
        }
    }

    /// The base offsets by topic (its name is empty where the request has ids) and partition.
    fn bases(&self, sent: &Sent, last: HashMap<i32, i64>, topics: usize) -> HashMap<(String, i32), i64> {
        let names = self.w.names();
        let mut out = HashMap::new();
        for (partition, values) in sent.values(&names) {
            let (name, number) = partition.split_once('/').unwrap();
            let number: i32 = number.parse().unwrap();
            let end = self.logs.0[&partition].len() as i64;
            let base = end - values.len() as i64;
            assert!(topics > 1 || last[&number] == base);
            let key = if sent.version >= 13 {
                String::new()
            } else {
                name.to_owned()
            };
            // With topic ids the closure cannot distinguish topics: such requests get one topic's offsets.
            out.entry((key, number)).or_insert(base);
        }
        out
    }

    fn refuse(&mut self, sent: &Sent, code: ErrorCode) {
        self.w.answer(sent, |_, p| {
            p.error_code = code.0 as i16;
            p.base_offset = -1;
        });
    }

    fn disturb(&mut self) {
        match self.rng.below(120) {
            0 => {
                let (name, partitions) = TOPICS[self.rng.below(TOPICS.len())];
                let (partition, leader) = (self.rng.below(partitions), 1 + self.rng.below(3) as i32);
                self.w.move_leader(name, partition, leader);
            }
            1 => {
                let node = 1 + self.rng.below(3) as i32;
                self.w.disconnect(node);
            }
            2 => self.w.down = vec![1 + self.rng.below(3) as i32],
            3 | 7 | 8 => self.w.down.clear(),
            4 => {
                let (queue, in_flight) = (self.chance(50), self.chance(50));
                self.w.command(Command::Purge {
                    queue,
                    in_flight,
                    done: Reply::new(),
                });
            }
            5 => {
                self.w.accumulator.flush_begin();
                self.w.drive();
                self.w.accumulator.flush_end();
            }
            6 => {
                let ms = self.rng.below(12_000) as u64;
                self.w.run_ms(ms);
            }
            _ => {}
        }
    }

    fn collect(&mut self) {
        for d in self.w.deliveries() {
            let code = d.error.as_ref().map_or(ErrorCode::NO_ERROR, |e| e.code);
            assert_ne!(code, ErrorCode::L_BAD_MSG, "{:?}", d.error);
            for r in d.records() {
                let value = String::from_utf8(r.value.unwrap().to_vec()).unwrap();
                assert_eq!(r.key, r.value);
                let headers: Vec<_> = r.headers.as_ref().unwrap().iter().map(Result::unwrap).collect();
                assert_eq!(headers.len(), 2);
                assert_eq!((headers[0].value, headers[1].value), (Some(&b"v"[..]), None));
                let what = (code, d.status, d.partition, r.offset);
                let before = self.reported.insert(value.clone(), what);
                assert_eq!(before, None, "{value} was reported twice");
            }
        }
    }

    fn run(&mut self) {
        for _ in 0..600 {
            for _ in 0..self.rng.below(6) {
                self.produce();
            }
            if self.chance(60) {
                let ms = self.rng.below(8) as u64;
                self.w.run_ms(ms);
            }
            for _ in 0..self.rng.below(8) {
                self.act();
            }
            self.disturb();
            if self.chance(50) {
                self.collect();
            }
        }
        // The faults end: every record must be reported, and later records be delivered.
        self.w.down.clear();
        self.healed_at = self.produced.len();
        for _ in 0..50 {
            self.produce();
        }
        for _ in 0..400 {
            self.w.run_ms(100);
            while !self.w.sent.is_empty() {
                let sent = self.w.sent.remove(0);
                let bases = self.logs.append(&self.w, &sent);
                let whole = self.bases(&sent, bases, sent.request.topic_data.len());
                self.w.answer(&sent, move |name, p| {
                    p.base_offset = whole[&(name.to_owned(), p.index)];
                });
            }
            self.collect();
        }
    }

    fn check(&self) {
        assert_eq!(self.w.accumulator.outstanding(), 0, "everything is settled");
        let mut written: HashMap<&str, usize> = HashMap::new();
        for value in self.logs.0.values().flatten() {
            *written.entry(value).or_default() += 1;
        }
        for value in &self.produced {
            let Some((code, status, _, _)) = self.reported.get(value) else {
                panic!("{value} was never reported");
            };
            let copies = written.get(value.as_str()).copied().unwrap_or(0);
            match status {
                PersistStatus::Persisted => {
                    assert!(copies >= 1, "{value} is not in the log");
                    assert_eq!(*code, ErrorCode::NO_ERROR);
                }
                PersistStatus::NotPersisted => {
                    assert_eq!(copies, 0, "{value} is in the log after all ({code:?})");
                }
                PersistStatus::PossiblyPersisted => {}
            }
        }
        assert_eq!(self.reported.len(), self.produced.len());
        for value in &self.produced[self.healed_at..] {
            let (code, ..) = self.reported[value];
            assert_eq!(code, ErrorCode::NO_ERROR, "{value} came when all was well");
        }
    }

    /// Checks that the first copies are in the order of production.
    fn check_order(&self) {
        let place: HashMap<&str, usize> = self.produced.iter().enumerate().map(|(i, v)| (v.as_str(), i)).collect();
        for (partition, log) in &self.logs.0 {
            let mut seen = std::collections::HashSet::new();
            // Records with an explicit partition: the others are drawn when the partition count is known.
            let first = log.iter().filter(|v| seen.insert(v.as_str()));
            let places: Vec<usize> = first.map(|v| place[v.as_str()]).collect();
            assert!(places.is_sorted(), "{partition}: {log:?}");
        }
    }
}

#[test]
fn every_record_is_reported_once_with_its_status() {
    for seed in 0..60 {
        println!("seed {seed}");
        let mut chaos = RandomFaults::new(
            seed,
            &[("batch.num.messages", "7"), ("batch.size", "1500"), ("retries", "4")],
        );
        chaos.run();
        chaos.check();
    }
}

#[test]
fn one_request_in_flight_keeps_the_order_under_faults() {
    for seed in 100..140 {
        println!("seed {seed}");
        let mut chaos = RandomFaults::new(
            seed,
            &[
                ("max.in.flight", "1"),
                ("linger.ms", "3"),
                ("queue.buffering.max.messages", "300"),
            ],
        );
        chaos.run();
        chaos.check();
        chaos.check_order();
    }
}
