//! An application with manual assignment.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use ottla_core::admin;
use ottla_core::client::Command;
use ottla_core::consumer;
use ottla_core::error::{Error, ErrorCode};
use ottla_core::event::{Chunk, Event};
use ottla_core::reply::Reply;
use ottla_core::sys::Instant;
use ottla_core::types::{PartitionOffset, TopicPartition, offset};

use crate::canary::Canary;
use crate::check::Expect;
use crate::clock::WALL_START_MS;
use crate::logs::read_watermarks;
use crate::message::{self, DecodedMessage};
use crate::plan::{ConsumerPlan, lookup};
use crate::trace::trace;
use crate::workload::queues::{next_item, on_statistics};
use crate::world::{Application, Phase, World};

type Key = (String, i32);

/// A call that is not completed.
#[derive(Debug)]
enum PendingCall {
    Assign(Arc<Reply<Result<(), Error>>>),
    Seek(Key, i64, Arc<Reply<consumer::OffsetsResult>>),
    Pause(Key, Arc<Reply<consumer::OffsetsResult>>),
    Resume(Arc<Reply<consumer::OffsetsResult>>),
    /// A query to brokers, and its deadline.
    Query(Query, u64),
}

/// A query to brokers.
#[derive(Debug)]
enum Query {
    Watermarks(Key, Arc<Reply<Result<(i64, i64), Error>>>),
    /// Committed offsets, or offsets by timestamp.
    Offsets(Arc<Reply<consumer::OffsetsResult>>),
    /// The groups of the cluster.
    Groups(Arc<Reply<Result<admin::DescribedGroups, Error>>>),
}

/// A consumer with manual assignment.
#[derive(Debug)]
pub(crate) struct ConsumerWorkload {
    client: u32,
    plan: ConsumerPlan,
    assigned: bool,
    pending: Option<(PendingCall, u64)>,
    /// The positions of paused partitions.
    paused: BTreeMap<Key, Expect>,
    /// Partitions that the client gave up: their offset was out of range, and the application chooses another.
    lost: Vec<Key>,
}

/// Calls that wait for no broker are completed within this time.
const CALL_US: u64 = 1_000_000;

/// A record that the application received.
pub(super) struct Taken {
    pub(super) topic: String,
    pub(super) partition: i32,
    pub(super) offset: i64,
    pub(super) position: i64,
    pub(super) leader_epoch: i32,
    pub(super) found: Option<DecodedMessage>,
}

/// Takes the next record of a chunk.
pub(super) fn take(chunk: &mut Chunk) -> Option<Taken> {
    let state = chunk.partition().clone();
    let (offset, leader_epoch, found) = {
        let record = chunk.next()?;
        let headers = record.headers.iter().flatten();
        let found = message::read(record.key, record.value, headers);
        (record.offset, record.leader_epoch, found)
    };
    Some(Taken {
        topic: state.topic().name().to_owned(),
        partition: state.partition(),
        offset,
        position: state.position().0,
        leader_epoch,
        found,
    })
}

impl ConsumerWorkload {
    pub(crate) fn new(client: u32, plan: ConsumerPlan) -> Self {
        ConsumerWorkload {
            client,
            plan,
            assigned: false,
            pending: None,
            paused: BTreeMap::new(),
            lost: Vec::new(),
        }
    }

    fn send(&mut self, world: &mut World, client: usize, pending: PendingCall, command: consumer::Command) {
        trace!(world.trace, "c{client} app calls {command:?}");
        world.shared(client).send(Command::Consumer(command));
        self.pending = Some((pending, world.now_us()));
    }

    fn assign(&mut self, world: &mut World, client: usize) {
        let mut partitions = Vec::new();
        for (topic, count) in self.plan.topics.iter().zip(&self.plan.partitions) {
            for partition in 0..*count {
                let tp = TopicPartition::new(topic.as_str(), partition);
                partitions.push(PartitionOffset::new(tp, self.plan.start));
                let expect = match self.plan.start {
                    offset::BEGINNING => Expect::At(0),
                    _ => Expect::Anywhere,
                };
                world
                    .check
                    .consumed
                    .set_expectation(self.client, topic, partition, expect);
            }
        }
        if world.plan.cluster.max_log_bytes.is_some() {
            world.check.consumed.allow_skips();
        }
        if lookup(&self.plan.settings, "auto.offset.reset") == Some("latest") {
            world.check.consumed.resets_to_the_end(self.client);
        }
        let reply = Reply::new();
        let pending = PendingCall::Assign(reply.clone());
        self.send(world, client, pending, consumer::Command::Assign { partitions, reply });
    }

    /// Seeks, pauses or resumes a random partition.
    fn seek_or_pause(&mut self, world: &mut World, client: usize) {
        let topic = world.app_rng.below(self.plan.topics.len());
        let partition = world.app_rng.below(self.plan.partitions[topic].max(1) as usize) as i32;
        let key = (self.plan.topics[topic].clone(), partition);
        let expect = world.check.consumed.expectation(self.client, &key.0, partition);
        let tp = TopicPartition::new(key.0.as_str(), partition);
        if self.paused.contains_key(&key) {
            if world.app_rng.hit(self.plan.pause * 2.0) {
                self.resume(world, client, &key);
            }
        } else if world.app_rng.hit(self.plan.pause) {
            world.coverage.count("pauses", 1);
            let reply = Reply::new();
            let pending = PendingCall::Pause(key, reply.clone());
            let partitions = vec![tp];
            self.send(world, client, pending, consumer::Command::Pause { partitions, reply });
        } else if world.app_rng.hit(self.plan.seek)
            && let Some(Expect::At(at)) = expect
        {
            world.coverage.count("seeks", 1);
            let to = world.app_rng.between(0, at.unsigned_abs()) as i64;
            self.seek(world, client, key, to);
        }
    }

    /// Seeks to an offset, or to the beginning of the log.
    fn seek(&mut self, world: &mut World, client: usize, key: Key, to: i64) {
        let consumed = &mut world.check.consumed;
        if let Some(Expect::At(at)) = consumed.expectation(self.client, &key.0, key.1) {
            consumed.set_expectation(self.client, &key.0, key.1, Expect::Either(at, to.max(0)));
        }
        let reply = Reply::new();
        let tp = TopicPartition::new(key.0.as_str(), key.1);
        let partitions = vec![PartitionOffset::new(tp, to)];
        let pending = PendingCall::Seek(key, to.max(0), reply.clone());
        self.send(world, client, pending, consumer::Command::Seek { partitions, reply });
    }

    /// Queries brokers for offsets, with a timeout.
    fn query(&mut self, world: &mut World, client: usize) {
        let topic = world.app_rng.below(self.plan.topics.len());
        let partition = world.app_rng.below(self.plan.partitions[topic].max(1) as usize) as i32;
        let tp = TopicPartition::new(self.plan.topics[topic].as_str(), partition);
        let until_us = world.now_us() + world.app_rng.spread(1000, 10_000_000);
        let deadline = Instant::from_micros(until_us);
        if until_us.is_multiple_of(4) {
            return self.list_groups(world, client, until_us);
        }
        world.coverage.count("offset queries", 1);
        let which = world.app_rng.below(3);
        if which == 0 {
            let reply = Reply::new();
            let query = Query::Watermarks((self.plan.topics[topic].clone(), partition), reply.clone());
            let command = consumer::Command::QueryWatermarks { tp, deadline, reply };
            return self.send(world, client, PendingCall::Query(query, until_us), command);
        }
        let reply = Reply::new();
        let query = Query::Offsets(reply.clone());
        let command = match which {
            1 => {
                let time_ms = WALL_START_MS + world.app_rng.between(0, 100_000) as i64;
                consumer::Command::OffsetsForTimes {
                    partitions: vec![PartitionOffset::new(tp, time_ms)],
                    deadline,
                    reply,
                }
            }
            _ => consumer::Command::Committed {
                partitions: vec![tp],
                deadline,
                reply,
            },
        };
        self.send(world, client, PendingCall::Query(query, until_us), command);
    }

    fn list_groups(&mut self, world: &mut World, client: usize, until_us: u64) {
        let reply = Reply::new();
        let command = admin::Command::new(
            admin::ListAndDescribeGroups::default(),
            admin::Options::default(),
            Instant::from_micros(until_us),
            admin::Destination::Reply(reply.clone()),
        );
        trace!(world.trace, "c{client} app calls {command:?}");
        world.coverage.count("listings of groups", 1);
        world.shared(client).send(Command::Admin(command));
        self.pending = Some((PendingCall::Query(Query::Groups(reply), until_us), world.now_us()));
    }

    fn resume(&mut self, world: &mut World, client: usize, key: &Key) {
        if let Some(expect) = self.paused.remove(key) {
            world.check.consumed.set_expectation(self.client, &key.0, key.1, expect);
        }
        let reply = Reply::new();
        let partitions = vec![TopicPartition::new(key.0.as_str(), key.1)];
        let pending = PendingCall::Resume(reply.clone());
        self.send(world, client, pending, consumer::Command::Resume { partitions, reply });
    }

    fn take_answer(&mut self, world: &mut World, client: usize) {
        let Some((pending, since)) = self.pending.take() else {
            return;
        };
        let rows = |rows: consumer::OffsetsResult| -> Result<(), Error> {
            let bad = rows?.into_iter().find(|r| r.error != ErrorCode::NO_ERROR);
            bad.map_or(Ok(()), |r| Err(Error::from(r.error)))
        };
        let (answer, due_us) = match &pending {
            PendingCall::Assign(reply) => (reply.try_take(), since),
            PendingCall::Seek(_, _, reply) | PendingCall::Pause(_, reply) | PendingCall::Resume(reply) => {
                (reply.try_take().map(rows), since)
            }
            PendingCall::Query(Query::Watermarks(key, reply), due_us) => {
                let reported = reply.try_take();
                if let Some(Ok(reported)) = reported {
                    self.check_watermarks(world, key, reported);
                }
                (reported.map(|_| Ok(())), *due_us)
            }
            // Errors of brokers are allowed.
            PendingCall::Query(Query::Offsets(reply), due_us) => (reply.try_take().map(|_| Ok(())), *due_us),
            PendingCall::Query(Query::Groups(reply), due_us) => (reply.try_take().map(|_| Ok(())), *due_us),
        };
        let Some(answer) = answer else {
            // The client's thread may be slow; the application checks again.
            if world.now_us() > due_us + CALL_US + world.plan.net.thread_delay_us {
                return world
                    .check
                    .violate(format!("client {client}: no answer to {pending:?}"));
            }
            self.pending = Some((pending, since));
            return;
        };
        if let Err(error) = answer {
            // The client was ended before it carried out the call.
            let ends = world.phase == Phase::Closing && error.code == ErrorCode::L_DESTROY;
            if !ends {
                let what = format!("client {client}: {pending:?} failed: {error}");
                world.check.violate(what);
            }
            return;
        }
        let consumed = &mut world.check.consumed;
        match pending {
            PendingCall::Assign(_) => self.assigned = true,
            PendingCall::Seek(key, to, _) => {
                if let Some(paused) = self.paused.get_mut(&key) {
                    *paused = Expect::At(to);
                } else {
                    consumed.set_expectation(self.client, &key.0, key.1, Expect::At(to));
                }
            }
            PendingCall::Pause(key, _) => {
                if let Some(expect) = consumed.expectation(self.client, &key.0, key.1) {
                    consumed.set_expectation(self.client, &key.0, key.1, Expect::Nothing);
                    self.paused.insert(key, expect);
                }
            }
            PendingCall::Resume(_) | PendingCall::Query(..) => {}
        }
    }

    fn check_watermarks(&self, world: &mut World, key: &Key, reported: (i64, i64)) {
        let now = world.cluster.watermarks(&key.0, key.1);
        let now = now.map(|m| (m.log_start_offset, m.high_watermark));
        let consumed = &world.check.consumed;
        let result = consumed.on_watermarks(self.client, &key.0, key.1, reported, now);
        world.check.expect(result);
    }

    fn poll(&mut self, world: &mut World, client: usize) {
        let shared = world.shared(client);
        while let Some(event) = shared.main_queue.pop(Some(Duration::ZERO)) {
            match event {
                Event::Stats(document) => on_statistics(world, client, *document),
                other => trace!(world.trace, "c{client} app receives {other:?}"),
            }
        }
        let most = world.app_rng.between(1, self.plan.most * 2);
        for _ in 0..most {
            match next_item(world, client, take) {
                None => return,
                Some(Ok(taken)) => self.on_record(world, client, taken),
                Some(Err(event)) => self.on_event(world, client, event),
            }
        }
    }

    fn on_record(&mut self, world: &mut World, client: usize, taken: Taken) {
        let Taken {
            topic,
            partition,
            offset,
            position,
            leader_epoch,
            found,
        } = taken;
        trace!(
            world.trace,
            "c{client} app takes {topic} [{partition}] @ {offset} {found:?}"
        );
        world.coverage.count("records consumed", 1);
        world.counters(client).taken += 1;
        if position != offset + 1 {
            world.check.violate(format!(
                "client {client}: position {position} after {topic} [{partition}] @ {offset}"
            ));
        }
        let Some(found) = found else {
            return world.check.violate(format!(
                "client {client}: {topic} [{partition}] @ {offset} was produced by no client of the world"
            ));
        };
        if world.canary.strike(Canary::SkippedOffset) {
            return;
        }
        let times = 1 + u32::from(world.canary.may_strike(Canary::RepeatedOffset));
        for _ in 0..times {
            let result =
                world
                    .check
                    .consumed
                    .on_record(self.client, (&topic, partition), (offset, leader_epoch), found);
            world.check.expect(result);
        }
    }

    fn on_event(&mut self, world: &mut World, client: usize, event: Event) {
        match event {
            Event::Partition(notice) => {
                let code = notice.error.code;
                trace!(
                    world.trace,
                    "c{client} app receives error for {:?}: {} at {}", notice.tp, notice.error, notice.offset
                );
                match code {
                    ErrorCode::L_AUTO_OFFSET_RESET | ErrorCode::L_LOG_TRUNCATION => {
                        let truncated = u64::from(code == ErrorCode::L_LOG_TRUNCATION);
                        world.coverage.count("truncation errors", truncated);
                        if let Some(state) = &notice.partition {
                            self.lost.push((state.topic().name().to_owned(), state.partition()));
                        }
                    }
                    ErrorCode::L_PARTITION_EOF => world.coverage.count("ends of partitions", 1),
                    _ => world.coverage.count("consumer errors", 1),
                }
            }
            other => trace!(world.trace, "c{client} app receives {other:?}"),
        }
    }

    fn check_budget(&mut self, world: &mut World, client: usize) {
        let shared = world.shared(client);
        let Some(registry) = &shared.consumer else { return };
        let bytes = registry.budget().bytes();
        let budget = u64::from(shared.conf.queued_max_messages_kbytes) * 1024;
        let limit = world.check.consumed.held_max(budget);
        if bytes > limit {
            let reported = lookup(&self.plan.settings, "queued.max.messages.kbytes").unwrap_or("default");
            world.check.violate(format!(
                "client {client} holds {bytes} bytes, queued.max.messages.kbytes is {reported}"
            ));
        }
    }
}

impl Application for ConsumerWorkload {
    fn turn(&mut self, world: &mut World, client: usize) -> Option<u64> {
        if world.is_finished(client) {
            return None;
        }
        self.take_answer(world, client);
        let polls = world.phase != Phase::Hostile || world.app_rng.hit(self.plan.poll);
        if polls && !self.plan.never_polls {
            self.poll(world, client);
        }
        self.check_budget(world, client);
        if self.pending.is_none() {
            match world.phase {
                _ if !self.assigned => self.assign(world, client),
                _ if !self.lost.is_empty() => {
                    if let Some(key) = self.lost.pop() {
                        world.coverage.count("seeks after a lost position", 1);
                        self.seek(world, client, key, offset::BEGINNING);
                    }
                }
                Phase::Hostile if world.app_rng.hit(self.plan.query) => self.query(world, client),
                Phase::Hostile => self.seek_or_pause(world, client),
                _ => {
                    let paused = self.paused.keys().next().cloned();
                    if let Some(key) = paused {
                        self.resume(world, client, &key);
                    }
                }
            }
        }
        Some(world.app_rng.between(1, self.plan.pace_us * 2))
    }

    fn waits_for(&mut self, world: &mut World, client: usize) -> Option<String> {
        if world.is_finished(client) {
            return None;
        }
        if let Some((pending, _)) = &self.pending {
            return Some(format!("client {client} waits for {pending:?}"));
        }
        if !self.assigned || !self.paused.is_empty() || !self.lost.is_empty() {
            return Some(format!(
                "client {client} has no assignment yet or has paused partitions"
            ));
        }
        if self.plan.never_polls {
            return None;
        }
        let logs = read_watermarks(&world.cluster);
        let behind = world.check.consumed.behind(self.client, &logs);
        (!behind.is_empty()).then(|| format!("client {client} is behind: {}", behind.join(", ")))
    }

    fn never_polls(&self) -> bool {
        self.plan.never_polls
    }
}
