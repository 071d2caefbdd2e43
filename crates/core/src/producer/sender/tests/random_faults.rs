//! The producer under random faults: every record is reported once, and the report matches the brokers' logs.

use std::collections::HashMap;

use ottla_mock::{ApiKey, BrokerId, ErrorCode as BrokerError, FaultAction};

use crate::error::ErrorCode;
use crate::producer::{Command, HeadersIn, Payload, Record};
use crate::reply::Reply;
use crate::sys::Rng;
use crate::test_kit::World;
use crate::types::{PARTITION_UA, PersistStatus};
use crate::work::{Work, WorkRules};

const TOPICS: [(&str, usize); 2] = [("t", 3), ("u", 1)];

struct RandomFaults {
    w: World,
    rng: Rng,
    /// Values of accepted records, with the sequence in which they must stay in order.
    produced: Vec<String>,
    /// The number of them produced before the faults ended.
    healed_at: usize,
    reported: HashMap<String, (ErrorCode, PersistStatus, i32, i64)>,
    /// Jobs in progress, where the producer compresses batches by jobs.
    jobs: Vec<Work>,
    jobs_ended: usize,
    /// Jobs are handed out, sometimes.
    changes_rules: bool,
}

impl RandomFaults {
    fn new(seed: u64, settings: &[(&str, &str)]) -> Self {
        let mut w = World::producer(settings, &[("message.timeout.ms", "20000")]);
        let newest = if seed.is_multiple_of(2) { 13 } else { 9 };
        w.brokers().set_api_versions(ApiKey::PRODUCE, Some((3, newest)));
        for (name, partitions) in TOPICS {
            w.add_topic(name, &vec![1 + (seed % 3) as i32; partitions]);
        }
        RandomFaults {
            w,
            rng: Rng::from_seed(seed),
            produced: Vec::new(),
            healed_at: 0,
            reported: HashMap::new(),
            jobs: Vec::new(),
            jobs_ended: 0,
            changes_rules: false,
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
        match self.w.accumulator().produce(&topic, asked, record) {
            Ok(()) => self.produced.push(value),
            Err(e) => assert_eq!(e.code, ErrorCode::L_QUEUE_FULL),
        }
    }

    /// Makes a broker handle one request: it appends the records or not, and responds or not.
    fn act(&mut self) {
        let conns = self.w.conns_of_sent();
        if conns.is_empty() {
            return;
        }
        let conn = conns[self.rng.below(conns.len())];
        // A connection's requests are handled in order.
        let at = conns.iter().position(|c| *c == conn).unwrap();
        let sent = self.w.take_sent_at(at);
        let action = match self.rng.below(24) {
            0 => FaultAction::Error(BrokerError::NOT_LEADER_OR_FOLLOWER),
            1 => FaultAction::Error(BrokerError::NOT_ENOUGH_REPLICAS),
            2 => FaultAction::ErrorAfter(BrokerError::NOT_ENOUGH_REPLICAS_AFTER_APPEND),
            3 => FaultAction::Error(BrokerError::MESSAGE_TOO_LARGE),
            4 => FaultAction::Error(BrokerError::REQUEST_TIMED_OUT),
            5 if self.rng.below(3) == 0 => FaultAction::Error(BrokerError::POLICY_VIOLATION),
            6 => FaultAction::DisconnectAfter,
            7 => FaultAction::DisconnectBefore,
            _ => return self.w.append_sent(&sent),
        };
        self.w.treat(&sent, action);
    }

    fn disturb(&mut self) {
        match self.rng.below(120) {
            0 => {
                let (name, partitions) = TOPICS[self.rng.below(TOPICS.len())];
                let (partition, leader) = (self.rng.below(partitions), 1 + self.rng.below(3) as i32);
                self.w.move_leader(name, partition as i32, leader);
            }
            1 => {
                let node = 1 + self.rng.below(3) as i32;
                self.w.disconnect(node);
            }
            2 => {
                self.w.bring_up();
                let node = 1 + self.rng.below(3) as i32;
                self.w.brokers().set_reachable(BrokerId(node), false);
            }
            3 | 7 | 8 => self.w.bring_up(),
            4 => {
                let (queue, in_flight) = (self.chance(50), self.chance(50));
                self.w.command(Command::Purge {
                    queue,
                    in_flight,
                    done: Reply::new(),
                });
            }
            5 => {
                self.w.accumulator().flush_begin();
                self.w.drive();
                self.w.accumulator().flush_end();
            }
            6 => {
                let ms = self.rng.below(12_000) as u64;
                self.w.run_ms(ms);
            }
            _ => {}
        }
    }

    /// Ends so many jobs, in any order.
    fn work(&mut self, jobs: usize) {
        self.jobs.extend(std::iter::from_fn(|| self.w.core.next_work()));
        for _ in 0..jobs.min(self.jobs.len()) {
            let work = self.jobs.swap_remove(self.rng.below(self.jobs.len()));
            self.w.core.on_work(work.run());
            self.w.drive();
            self.jobs_ended += 1;
        }
    }

    fn disturb_jobs(&mut self) {
        if self.chance(5) {
            self.change_rules();
        }
        let jobs = self.rng.below(4);
        self.work(jobs);
    }

    /// Hands out jobs, or does not any more.
    fn change_rules(&mut self) {
        let jobs_max = [0, 1, 3, 8][self.rng.below(4)];
        let bytes_min = [0, 200][self.rng.below(2)];
        self.w.core.set_work_rules(WorkRules { jobs_max, bytes_min });
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
            if self.changes_rules {
                self.disturb_jobs();
            }
            if self.chance(50) {
                self.collect();
            }
        }
        // The faults end: every record must be reported, and later records be delivered.
        self.w.bring_up();
        self.healed_at = self.produced.len();
        for _ in 0..50 {
            self.produce();
        }
        for _ in 0..400 {
            self.work(usize::MAX);
            self.w.run_ms(100);
            self.w.acknowledge_all();
            self.collect();
        }
    }

    /// Returns the values in each partition's log.
    fn logs(&self) -> Vec<Vec<String>> {
        let of_topic = |(name, count): (&'static str, usize)| (0..count).map(move |p| self.w.log_of(name, p as i32));
        TOPICS.into_iter().flat_map(of_topic).collect()
    }

    fn check(&self) {
        assert_eq!(self.w.accumulator().outstanding(), 0, "everything is settled");
        let mut written: HashMap<String, usize> = HashMap::new();
        for value in self.logs().into_iter().flatten() {
            *written.entry(value).or_default() += 1;
        }
        for value in &self.produced {
            let Some((code, status, _, _)) = self.reported.get(value) else {
                panic!("{value} was never reported");
            };
            let copies = written.get(value).copied().unwrap_or(0);
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
        for log in self.logs() {
            let mut seen = std::collections::HashSet::new();
            // Records with an explicit partition: the others are drawn when the partition count is known.
            let first = log.iter().filter(|v| seen.insert(v.as_str()));
            let places: Vec<usize> = first.map(|v| place[v.as_str()]).collect();
            assert!(places.is_sorted(), "{log:?}");
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

#[test]
fn jobs_that_end_late_and_in_any_order_keep_order_and_reports_under_faults() {
    let mut jobs_ended = 0;
    for seed in 200..260 {
        println!("seed {seed}");
        let order: &[(&str, &str)] = match seed % 3 {
            0 => &[("enable.idempotence", "true")],
            1 => &[("max.in.flight", "1")],
            _ => &[("retries", "4")],
        };
        let batches = [
            ("compression.codec", "lz4"),
            ("batch.num.messages", "7"),
            ("linger.ms", "3"),
        ];
        let mut chaos = RandomFaults::new(seed, &[&batches, order].concat());
        chaos.changes_rules = true;
        chaos.run();
        chaos.check();
        if seed % 3 == 1 {
            chaos.check_order();
        }
        jobs_ended += chaos.jobs_ended;
    }
    assert!(jobs_ended > 3000, "{jobs_ended} jobs");
}
