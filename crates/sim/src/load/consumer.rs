//! An application that reads partitions it chose itself.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use ottla::client::Command;
use ottla::consumer;
use ottla::error::{Error, ErrorCode};
use ottla::event::{Chunk, Event, Reply};
use ottla::types::{PartitionOffset, TopicPartition, offset};

use super::producer::draw_client_settings;
use crate::canary::Canary;
use crate::chance::Chance;
use crate::check::Expect;
use crate::client::lookup;
use crate::message::{self, Found};
use crate::plan::TopicPlan;
use crate::trace::trace;
use crate::world::{Phase, World};

/// What a consumer does, and how it is set.
#[derive(Debug, Clone)]
pub(crate) struct ConsumerPlan {
    pub(crate) settings: Vec<(String, String)>,
    pub(crate) topics: Vec<String>,
    partitions: Vec<i32>,
    /// Mean time between two turns.
    pace_us: u64,
    /// Records in a turn.
    most: u64,
    /// How likely a turn seeks, pauses or resumes.
    seek: f64,
    pause: f64,
}

impl ConsumerPlan {
    pub(crate) fn draw(c: &mut Chance, topics: &[TopicPlan]) -> Self {
        ConsumerPlan {
            settings: draw_settings(c),
            topics: topics.iter().map(|t| t.name.clone()).collect(),
            partitions: topics.iter().map(|t| t.partitions).collect(),
            pace_us: c.spread(1000, 3_000_000),
            most: c.spread(1, 1000),
            seek: c.pick(&[0.0, 0.0, 0.02, 0.2]),
            pause: c.pick(&[0.0, 0.0, 0.02, 0.2]),
        }
    }
}

fn draw_settings(c: &mut Chance) -> Vec<(String, String)> {
    let mut out: Vec<(String, String)> = Vec::new();
    let mut set = |name: &str, value: String| out.push((name.into(), value));
    set("auto.offset.reset", "earliest".into());
    set("group.id", "readers".into());
    set("enable.auto.commit", c.hit(0.5).to_string());
    set("enable.partition.eof", c.hit(0.5).to_string());
    set("check.crcs", c.hit(0.5).to_string());
    set(
        "isolation.level",
        c.pick(&["read_committed", "read_uncommitted"]).into(),
    );
    set("fetch.wait.max.ms", c.spread(50, 1000).to_string());
    if c.hit(0.3) {
        set("queued.min.messages", c.spread(1, 1000).to_string());
    }
    if c.hit(0.3) {
        set("queued.max.messages.kbytes", c.spread(1, 1000).to_string());
    }
    let mut partition_max = 100_000;
    if c.hit(0.3) {
        partition_max = c.spread(1, 100_000);
        set("fetch.message.max.bytes", partition_max.to_string());
    }
    if c.hit(0.2) {
        // An answer that may not have as much as it is to wait for comes after fetch.wait.max.ms, with one batch.
        set("fetch.min.bytes", c.spread(1, 10_000).min(partition_max).to_string());
    }
    if c.hit(0.3) {
        set("fetch.error.backoff.ms", c.spread(50, 1000).to_string());
    }
    draw_client_settings(c, &mut out);
    out
}

type Key = (String, i32);

/// Something asked of the consumer that is not answered yet.
#[derive(Debug)]
enum Asked {
    Assign(Arc<Reply<Result<(), Error>>>),
    Seek(Key, i64, Arc<Reply<consumer::OffsetsResult>>),
    Pause(Key, Arc<Reply<consumer::OffsetsResult>>),
    Resume(Arc<Reply<consumer::OffsetsResult>>),
}

/// A consumer at work.
#[derive(Debug)]
pub(crate) struct ConsumerLoad {
    client: u32,
    plan: ConsumerPlan,
    assigned: bool,
    asked: Option<(Asked, u64)>,
    /// Where paused partitions go on.
    paused: BTreeMap<Key, Expect>,
}

/// Every call is answered within this time: none of them waits for a broker.
const CALL_US: u64 = 1_000_000;

/// A record as the application takes it.
pub(super) struct Taken {
    pub(super) topic: String,
    pub(super) partition: i32,
    pub(super) offset: i64,
    pub(super) position: i64,
    pub(super) found: Option<Found>,
}

/// Takes a chunk's next record.
pub(super) fn take(chunk: &mut Chunk) -> Option<Taken> {
    let state = chunk.partition().clone();
    let (offset, found) = {
        let record = chunk.next()?;
        let headers = record.headers.iter().flatten();
        let header = headers
            .filter(|h| h.key == message::HEADER)
            .find_map(|h| h.value.map(<[u8]>::to_vec));
        (
            record.offset,
            message::read(record.key, record.value, header.as_deref()),
        )
    };
    Some(Taken {
        topic: state.topic().name().to_owned(),
        partition: state.partition(),
        offset,
        position: state.position().0,
        found,
    })
}

impl ConsumerLoad {
    pub(crate) fn new(client: u32, plan: ConsumerPlan) -> Self {
        ConsumerLoad {
            client,
            plan,
            assigned: false,
            asked: None,
            paused: BTreeMap::new(),
        }
    }

    /// Does something; gives the time to the next turn.
    pub(super) fn turn(&mut self, world: &mut World, client: usize) -> Option<u64> {
        if world.is_finished(client) {
            return None;
        }
        self.take_answer(world, client);
        self.listen(world, client);
        self.check_budget(world, client);
        if self.asked.is_none() {
            match world.phase {
                _ if !self.assigned => self.assign(world, client),
                Phase::Hostile => self.meddle(world, client),
                _ => {
                    let paused = self.paused.keys().next().cloned();
                    if let Some(key) = paused {
                        self.resume(world, client, &key);
                    }
                }
            }
        }
        Some(world.app_chance.between(1, self.plan.pace_us * 2))
    }

    fn send(&mut self, world: &mut World, client: usize, asked: Asked, command: consumer::Command) {
        trace!(world.trace, "c{client} app asks {command:?}");
        world.shared(client).send(Command::Consumer(command));
        self.asked = Some((asked, world.now_us));
    }

    fn assign(&mut self, world: &mut World, client: usize) {
        let mut partitions = Vec::new();
        for (topic, count) in self.plan.topics.iter().zip(&self.plan.partitions) {
            for partition in 0..*count {
                let tp = TopicPartition::new(topic.as_str(), partition);
                partitions.push(PartitionOffset::new(tp, offset::BEGINNING));
                world
                    .check
                    .consumed
                    .set_expectation(self.client, topic, partition, Expect::At(0));
            }
        }
        if world.plan.cluster.max_log_bytes.is_some() {
            world.check.consumed.allow_skips();
        }
        let reply = Reply::new();
        let asked = Asked::Assign(reply.clone());
        self.send(world, client, asked, consumer::Command::Assign { partitions, reply });
    }

    /// Seeks, pauses or resumes something.
    fn meddle(&mut self, world: &mut World, client: usize) {
        let topic = world.app_chance.below(self.plan.topics.len());
        let partition = world.app_chance.below(self.plan.partitions[topic].max(1) as usize) as i32;
        let key = (self.plan.topics[topic].clone(), partition);
        let expect = world.check.consumed.expectation(self.client, &key.0, partition);
        let tp = TopicPartition::new(key.0.as_str(), partition);
        if self.paused.contains_key(&key) {
            if world.app_chance.hit(self.plan.pause * 2.0) {
                self.resume(world, client, &key);
            }
        } else if world.app_chance.hit(self.plan.pause) {
            world.coverage.count("pauses", 1);
            let reply = Reply::new();
            let asked = Asked::Pause(key, reply.clone());
            let partitions = vec![tp];
            self.send(world, client, asked, consumer::Command::Pause { partitions, reply });
        } else if world.app_chance.hit(self.plan.seek)
            && let Some(Expect::At(at)) = expect
        {
            world.coverage.count("seeks", 1);
            let to = world.app_chance.between(0, at.unsigned_abs()) as i64;
            world
                .check
                .consumed
                .set_expectation(self.client, &key.0, partition, Expect::Either(at, to));
            let reply = Reply::new();
            let asked = Asked::Seek(key, to, reply.clone());
            let partitions = vec![PartitionOffset::new(tp, to)];
            self.send(world, client, asked, consumer::Command::Seek { partitions, reply });
        }
    }

    fn resume(&mut self, world: &mut World, client: usize, key: &Key) {
        if let Some(expect) = self.paused.remove(key) {
            world.check.consumed.set_expectation(self.client, &key.0, key.1, expect);
        }
        let reply = Reply::new();
        let partitions = vec![TopicPartition::new(key.0.as_str(), key.1)];
        let asked = Asked::Resume(reply.clone());
        self.send(world, client, asked, consumer::Command::Resume { partitions, reply });
    }

    fn take_answer(&mut self, world: &mut World, client: usize) {
        let Some((asked, since)) = self.asked.take() else {
            return;
        };
        let rows = |rows: consumer::OffsetsResult| -> Result<(), Error> {
            let bad = rows?.into_iter().find(|r| r.error != ErrorCode::NO_ERROR);
            bad.map_or(Ok(()), |r| Err(Error::from(r.error)))
        };
        let answer = match &asked {
            Asked::Assign(reply) => reply.try_take(),
            Asked::Seek(_, _, reply) | Asked::Pause(_, reply) | Asked::Resume(reply) => reply.try_take().map(rows),
        };
        let Some(answer) = answer else {
            // The client's thread may be slow; the application looks again.
            if world.now_us - since > CALL_US + world.plan.net.thread_delay_us {
                return world.check.violate(format!("client {client}: no answer to {asked:?}"));
            }
            self.asked = Some((asked, since));
            return;
        };
        if let Err(error) = answer {
            return world
                .check
                .violate(format!("client {client}: {asked:?} failed: {error}"));
        }
        let consumed = &mut world.check.consumed;
        match asked {
            Asked::Assign(_) => self.assigned = true,
            Asked::Seek((topic, partition), to, _) => {
                consumed.set_expectation(self.client, &topic, partition, Expect::At(to));
            }
            Asked::Pause(key, _) => {
                if let Some(expect) = consumed.expectation(self.client, &key.0, key.1) {
                    consumed.set_expectation(self.client, &key.0, key.1, Expect::Nothing);
                    self.paused.insert(key, expect);
                }
            }
            Asked::Resume(_) => {}
        }
    }

    fn listen(&mut self, world: &mut World, client: usize) {
        let shared = world.shared(client);
        while let Some(event) = shared.main_queue.pop(Some(Duration::ZERO)) {
            trace!(world.trace, "c{client} app hears {event:?}");
        }
        let most = world.app_chance.between(1, self.plan.most * 2);
        for _ in 0..most {
            let item = shared.consumer_queue.pop_one(Some(Duration::ZERO), take);
            match item {
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
            found,
        } = taken;
        trace!(
            world.trace,
            "c{client} app takes {topic} [{partition}] @ {offset} {found:?}"
        );
        world.coverage.count("records consumed", 1);
        if position != offset + 1 {
            world.check.violate(format!(
                "client {client}: position {position} after {topic} [{partition}] @ {offset}"
            ));
        }
        let Some(found) = found else {
            return world.check.violate(format!(
                "client {client}: {topic} [{partition}] @ {offset} was made by nobody"
            ));
        };
        let damage = world.damage_left > 0;
        if world.options.canary == Some(Canary::SkippedOffset) && damage {
            world.damage_left -= 1;
            return;
        }
        let times = if world.options.canary == Some(Canary::RepeatedOffset) && damage {
            2
        } else {
            1
        };
        for _ in 0..times {
            let result = world
                .check
                .consumed
                .on_record(self.client, &topic, partition, offset, found);
            world.check.expect(result);
        }
    }

    fn on_event(&mut self, world: &mut World, client: usize, event: Event) {
        match event {
            Event::Partition(notice) => {
                let code = notice.error.code;
                trace!(
                    world.trace,
                    "c{client} app hears of {:?}: {} at {}", notice.tp, notice.error, notice.offset
                );
                match code {
                    ErrorCode::L_PARTITION_EOF => world.coverage.count("ends of partitions", 1),
                    _ => world.coverage.count("consumer errors", 1),
                }
            }
            other => trace!(world.trace, "c{client} app hears {other:?}"),
        }
    }

    fn check_budget(&mut self, world: &mut World, client: usize) {
        let shared = world.shared(client);
        let Some(registry) = &shared.consumer else { return };
        let bytes = registry.budget().bytes();
        let conf = &shared.conf;
        // Each fetch under way may bring this much beyond what is kept; compressed data may grow a lot.
        let limit = u64::from(conf.queued_max_messages_kbytes) * 1024 + u64::from(conf.fetch_max_bytes) * 3;
        if bytes > limit {
            let told = lookup(&self.plan.settings, "queued.max.messages.kbytes").unwrap_or("default");
            world.check.violate(format!(
                "client {client} holds {bytes} bytes, queued.max.messages.kbytes is {told}"
            ));
        }
    }

    /// Why this is not done; `None` when it is.
    pub(super) fn waits_for(&mut self, world: &mut World, client: usize) -> Option<String> {
        if world.is_finished(client) {
            return None;
        }
        if let Some((asked, _)) = &self.asked {
            return Some(format!("client {client} waits for {asked:?}"));
        }
        if !self.assigned || !self.paused.is_empty() {
            return Some(format!(
                "client {client} has no assignment yet or has paused partitions"
            ));
        }
        let logs = world.read_watermarks();
        let behind = world.check.consumed.behind(self.client, &logs);
        (!behind.is_empty()).then(|| format!("client {client} is behind: {}", behind.join(", ")))
    }
}
