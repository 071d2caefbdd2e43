//! A turn of a process: the calls of its logic.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use ottla_core::client::{Command, Shared};
use ottla_core::consumer::{self, CommitTarget, RebalanceProtocol};
use ottla_core::error::{Error, ErrorCode};
use ottla_core::event::{Chunk, Delivery, Event, Rebalance};
use ottla_core::producer::{self, Payload};
use ottla_core::reply::Reply;
use ottla_core::types::{PARTITION_UA, PartitionOffset, Topic, TopicHooks, TopicPartition};

use crate::trace::trace;
use crate::world::{START_US, World};

/// A record that a process received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// The topic.
    pub topic: String,
    /// The partition.
    pub partition: i32,
    /// The offset.
    pub offset: i64,
    /// The key, `None` for null.
    pub key: Option<Vec<u8>>,
    /// The value, `None` for null.
    pub value: Option<Vec<u8>>,
}

/// An item that a consumer receives.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Input {
    /// A record.
    Record(Record),
    /// Partitions were assigned to the consumer.
    Assigned(Vec<(String, i32)>),
    /// Partitions are revoked, when the process calls [`Turn::poll`] again or its turn ends. Until then it can commit their
    /// offsets.
    Revoked {
        /// The partitions.
        partitions: Vec<(String, i32)>,
        /// Other members may own the partitions already: commits of their offsets are refused.
        is_lost: bool,
    },
    /// The result of a commit.
    Committed(Result<(), Error>),
    /// An error of the consumer, such as a topic that it may not read.
    Error(Error),
}

/// The delivery report of a record.
#[derive(Debug, Clone)]
pub struct Report {
    /// The number that [`Turn::produce`] returned.
    pub number: u64,
    /// The error; `None` when the record is in the log.
    pub error: Option<Error>,
    /// The partition.
    pub partition: i32,
    /// The offset, negative if it is unknown.
    pub offset: i64,
}

/// The clients of a running process, and what was received and not passed to its logic.
#[derive(Debug, Default)]
pub(super) struct Ports {
    pub(super) consumer: Option<usize>,
    pub(super) producer: Option<usize>,
    topics: BTreeMap<String, Arc<Topic>>,
    reports: VecDeque<Report>,
    /// The revocation that the logic knows, and that is not executed.
    revoking: Option<Vec<PartitionOffset>>,
    produced: u64,
}

impl Ports {
    pub(super) fn new(consumer: Option<usize>, producer: Option<usize>) -> Self {
        Ports {
            consumer,
            producer,
            ..Ports::default()
        }
    }

    /// Returns the numbers of the clients in the world.
    pub(super) fn clients(&self) -> impl Iterator<Item = usize> + '_ {
        self.consumer.iter().chain(&self.producer).copied()
    }

    /// Releases the topics of the producer.
    pub(super) fn forget(&mut self) {
        *self = Ports::new(self.consumer, self.producer);
    }

    /// Executes the revocation that the logic knows.
    pub(super) fn finish_revocation(&mut self, world: &World) {
        let (Some(partitions), Some(client)) = (self.revoking.take(), self.consumer) else {
            return;
        };
        let shared = world.shared(client);
        let reply = Reply::new();
        let command = match is_incremental(&shared) {
            true => consumer::Command::IncrementalUnassign {
                partitions: partitions.into_iter().map(|row| row.tp).collect(),
                reply,
            },
            false => consumer::Command::Unassign { reply },
        };
        shared.send(Command::Consumer(command));
    }

    /// Takes the next input of the consumer, after the previous revocation is executed.
    pub(super) fn poll(&mut self, world: &mut World) -> Option<Input> {
        self.finish_revocation(world);
        let client = self.consumer?;
        let queue = world.shared(client).consumer_queue.clone();
        loop {
            let input = match queue.pop_one(Some(Duration::ZERO), take)? {
                Ok(record) => {
                    world.counters(client).taken += 1;
                    world.coverage.count("records that processes took", 1);
                    Some(Input::Record(record))
                }
                Err(event) => self.on_event(world, client, event),
            };
            if let Some(input) = input {
                trace!(world.trace, "c{client} app takes {input:?}");
                return Some(input);
            }
        }
    }

    fn on_event(&mut self, world: &World, client: usize, event: Event) -> Option<Input> {
        match event {
            Event::Rebalance(rebalance) => Some(self.on_rebalance(world, client, rebalance)),
            Event::Commit(result) => {
                let row = result.offsets.iter().map(|row| row.error).find(|code| !code.is_ok());
                let code = if result.error.is_ok() { row } else { Some(result.error) };
                Some(Input::Committed(code.map_or(Ok(()), |code| Err(code.into()))))
            }
            Event::Partition(notice) if notice.error.code != ErrorCode::L_PARTITION_EOF => {
                Some(Input::Error(notice.error))
            }
            Event::Error(error) => Some(Input::Error(error)),
            _ => None,
        }
    }

    fn on_rebalance(&mut self, world: &World, client: usize, rebalance: Rebalance) -> Input {
        let shared = world.shared(client);
        let partitions = rebalance
            .partitions
            .iter()
            .map(|row| (row.tp.topic.to_string(), row.tp.partition));
        let partitions = partitions.collect();
        if rebalance.code == ErrorCode::L_REVOKE_PARTITIONS {
            self.revoking = Some(rebalance.partitions);
            let is_lost = shared.consumer.as_ref().is_some_and(|state| state.is_assignment_lost());
            return Input::Revoked { partitions, is_lost };
        }
        let (partitions_to_assign, reply) = (rebalance.partitions, Reply::new());
        let command = match is_incremental(&shared) {
            true => consumer::Command::IncrementalAssign {
                partitions: partitions_to_assign,
                reply,
            },
            false => consumer::Command::Assign {
                partitions: partitions_to_assign,
                reply,
            },
        };
        shared.send(Command::Consumer(command));
        Input::Assigned(partitions)
    }

    /// Reads the queues of events that belong to no call.
    pub(super) fn read_main_queues(&mut self, world: &mut World) {
        for client in self.consumer.into_iter().chain(self.producer) {
            let queue = world.shared(client).main_queue.clone();
            while let Some(event) = queue.pop(Some(Duration::ZERO)) {
                match event {
                    Event::Delivery(delivery) => {
                        world.coverage.count("reports to processes", delivery.len() as u64);
                        self.reports.extend(reports(&delivery));
                    }
                    other => trace!(world.trace, "c{client} app receives {other:?}"),
                }
            }
        }
    }

    fn topic(&mut self, shared: &Shared, name: &str) -> Result<Arc<Topic>, Error> {
        if let Some(topic) = self.topics.get(name) {
            return Ok(topic.clone());
        }
        let topic = shared.topic(name, None, TopicHooks::default())?;
        self.topics.insert(name.to_owned(), topic.clone());
        Ok(topic)
    }
}

fn is_incremental(shared: &Shared) -> bool {
    let protocol = shared.consumer.as_ref().map(|state| state.group().protocol);
    protocol == Some(RebalanceProtocol::Cooperative)
}

fn take(chunk: &mut Chunk) -> Option<Record> {
    let partition = chunk.partition().clone();
    let record = chunk.next()?;
    Some(Record {
        topic: partition.topic().name().to_owned(),
        partition: partition.partition(),
        offset: record.offset,
        key: record.key.map(<[u8]>::to_vec),
        value: record.value.map(<[u8]>::to_vec),
    })
}

fn reports(delivery: &Delivery) -> impl Iterator<Item = Report> + '_ {
    delivery.records().map(|record| Report {
        number: record.opaque as u64,
        error: delivery.error.clone(),
        partition: delivery.partition,
        offset: record.offset,
    })
}

/// A turn of a process. Its calls return at once; results arrive as [`Input`]s and [`Report`]s, in this turn or a later one.
pub struct Turn<'a> {
    pub(super) world: &'a mut World,
    pub(super) ports: &'a mut Ports,
    pub(super) pause: Option<Duration>,
    pub(super) crashes: bool,
    pub(super) name: &'a str,
}

impl std::fmt::Debug for Turn<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Turn")
            .field("process", &self.name)
            .field("now", &self.now())
            .finish_non_exhaustive()
    }
}

impl Turn<'_> {
    /// Returns the virtual time since the start of the world.
    pub fn now(&self) -> Duration {
        Duration::from_micros(self.world.now_us() - START_US)
    }

    /// Returns a random number below `limit`, from the world's seed; 0 for the limit 0.
    pub fn random(&mut self, limit: u64) -> u64 {
        match limit {
            0 => 0,
            _ => self.world.app_rng.between(0, limit - 1),
        }
    }

    /// Takes the next input of the consumer: a record, a change of its assignment, or the result of a commit. Returns `None`
    /// if there is none now, or the process has no consumer.
    pub fn poll(&mut self) -> Option<Input> {
        self.ports.poll(self.world)
    }

    /// Commits the offset after each of these records, with the result as [`Input::Committed`].
    ///
    /// # Errors
    /// `_STATE` if the process has no consumer.
    pub fn commit(&mut self, records: &[Record]) -> Result<(), Error> {
        let client = self.ports.consumer.ok_or_else(|| absent("consumer"))?;
        let mut next: BTreeMap<(&str, i32), i64> = BTreeMap::new();
        for record in records {
            let offset = next.entry((&record.topic, record.partition)).or_default();
            *offset = (*offset).max(record.offset + 1);
        }
        let rows = next
            .into_iter()
            .map(|((topic, partition), offset)| PartitionOffset::new(TopicPartition::new(topic, partition), offset));
        let offsets: Vec<PartitionOffset> = rows.collect();
        trace!(self.world.trace, "c{client} app commits {offsets:?}");
        let command = consumer::Command::Commit {
            offsets: Some(offsets),
            target: CommitTarget::Event,
        };
        self.world.shared(client).send(Command::Consumer(command));
        Ok(())
    }

    /// Produces a record, whose partition follows from the key; an empty key is null. Returns its number, by which its
    /// [`Report`] is recognized.
    ///
    /// # Errors
    /// `_QUEUE_FULL`, and other errors of the client's `produce()`; `_STATE` if the process has no producer.
    pub fn produce(&mut self, topic: &str, key: &[u8], value: &[u8]) -> Result<u64, Error> {
        let client = self.ports.producer.ok_or_else(|| absent("producer"))?;
        let shared = self.world.shared(client);
        let accumulator = shared.producer.as_ref().ok_or_else(|| absent("producer"))?;
        let number = self.ports.produced + 1;
        let record = producer::Record {
            key: (!key.is_empty()).then_some(key),
            value: Payload::Copy(value),
            opaque: usize::try_from(number).unwrap_or(usize::MAX),
            ..producer::Record::default()
        };
        let topic = self.ports.topic(&shared, topic)?;
        let produced = accumulator.produce(&topic, PARTITION_UA, record);
        trace!(
            self.world.trace,
            "c{client} app produces {number} to {}: {produced:?}",
            topic.name()
        );
        produced?;
        self.ports.produced = number;
        self.world.counters(client).accepted += 1;
        self.world.coverage.count("records of processes", 1);
        Ok(number)
    }

    /// Returns the next delivery report; `None` if there is none now.
    pub fn report(&mut self) -> Option<Report> {
        self.ports.reports.pop_front()
    }

    /// Returns the number of produced records without a report.
    pub fn in_flight(&self) -> usize {
        let producer = self.ports.producer.map(|client| self.world.shared(client));
        let outstanding = producer.and_then(|shared| Some(shared.producer.as_ref()?.outstanding()));
        outstanding.unwrap_or(0) + self.ports.reports.len()
    }

    /// Pauses: the next turn begins after this time at the earliest.
    pub fn pause(&mut self, time: Duration) {
        self.pause = Some(time);
    }

    /// Ends the process as a crash does, when the turn ends: nothing is sent or committed, and the process is started again.
    pub fn crash(&mut self) {
        self.crashes = true;
    }

    /// Fails the world: an invariant of the process does not hold.
    pub fn fail(&mut self, why: &str) {
        let name = self.name;
        self.world.check.violate(format!("{name}: {why}"));
    }

    /// Writes a line to the trace.
    pub fn note(&mut self, line: &str) {
        trace!(self.world.trace, "{}: {line}", self.name);
    }
}

fn absent(what: &str) -> Error {
    Error::new(ErrorCode::L_STATE, format!("the process has no {what}"))
}
