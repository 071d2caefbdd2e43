//! Commands and events of a consumer.

use std::sync::Arc;
use std::time::Duration;

use ottla_protocol::api::fetch::{FetchRequest, FetchResponse, FetchableTopicResponse, PartitionData};

use super::network::Arrival;
use super::world::{World, WorldBuilder};
use crate::consumer::{Command, SharedState};
use crate::core;
use crate::error::{Error, ErrorCode};
use crate::event::{Event, Queue};
use crate::reply::Reply;
use crate::types::{ClientKind, PartitionOffset, TopicPartition};

/// A Fetch request with its partitions and offsets.
pub(crate) type Fetch = (Arrival, FetchRequest, Vec<(i32, i64)>);

/// An event of the application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Got {
    Record(i32, i64, String),
    Error(ErrorCode, i64),
    Rebalance(ErrorCode, Vec<i32>),
    Commit(ErrorCode),
}

pub(crate) fn record(partition: i32, offset: i64, value: &str) -> Got {
    Got::Record(partition, offset, value.into())
}

impl World {
    /// Creates a consumer of group `g`, whose coordinator is broker 1.
    pub(crate) fn consumer(settings: &[(&str, &str)], topic: &[(&str, &str)]) -> Self {
        let mut all = vec![("group.id", "g")];
        all.extend_from_slice(settings);
        WorldBuilder::new(ClientKind::Consumer).build(&all, topic)
    }

    /// Creates a consumer as [`consumer`](Self::consumer) does. Brokers have no fetch sessions, so that every Fetch request
    /// names all of its partitions.
    pub(crate) fn consumer_without_sessions(settings: &[(&str, &str)], topic: &[(&str, &str)]) -> Self {
        let mut all = vec![("group.id", "g")];
        all.extend_from_slice(settings);
        let mut builder = WorldBuilder::new(ClientKind::Consumer);
        builder.cluster.fetch_session_slots = 0;
        builder.build(&all, topic)
    }

    /// Returns the consumer's partitions and membership.
    pub(crate) fn state(&self) -> &Arc<SharedState> {
        self.shared.consumer.as_ref().unwrap()
    }

    pub(crate) fn call<T>(&mut self, make: impl FnOnce(Arc<Reply<T>>) -> Command) -> Arc<Reply<T>> {
        let reply = Reply::new();
        self.send(core::Command::Consumer(make(reply.clone())));
        reply
    }

    pub(crate) fn assign(&mut self, rows: &[(&str, i32, i64)]) -> Result<(), Error> {
        let partitions: Vec<PartitionOffset> = rows
            .iter()
            .map(|(t, p, o)| PartitionOffset::new(TopicPartition::new(*t, *p), *o))
            .collect();
        self.call(|reply| Command::Assign { partitions, reply })
            .try_take()
            .unwrap()
    }

    pub(crate) fn subscribe(&mut self, topics: &[&str]) -> Result<(), Error> {
        let topics = topics.iter().map(|t| (*t).to_owned()).collect();
        self.call(|reply| Command::Subscribe { topics, reply })
            .try_take()
            .unwrap()
    }

    pub(crate) fn seek(&mut self, topic: &str, partition: i32, offset: i64) -> ErrorCode {
        let partitions = vec![PartitionOffset::new(TopicPartition::new(topic, partition), offset)];
        let rows = self
            .call(|reply| Command::Seek { partitions, reply })
            .try_take()
            .unwrap()
            .unwrap();
        rows[0].error
    }

    pub(crate) fn pause(&mut self, topic: &str, partition: i32, on: bool) -> ErrorCode {
        let partitions = vec![TopicPartition::new(topic, partition)];
        let reply = match on {
            true => self.call(|reply| Command::Pause { partitions, reply }),
            false => self.call(|reply| Command::Resume { partitions, reply }),
        };
        reply.try_take().unwrap().unwrap()[0].error
    }

    /// Returns the partitions of the assignment, sorted.
    pub(crate) fn assignment(&mut self) -> Vec<i32> {
        let rows = self.call(|reply| Command::Assignment { reply }).try_take().unwrap();
        let mut partitions: Vec<i32> = rows.unwrap().iter().map(|row| row.tp.partition).collect();
        partitions.sort_unstable();
        partitions
    }

    /// Returns every event that is ready for the application.
    pub(crate) fn take(&mut self) -> Vec<Got> {
        take_from(&self.shared.consumer_queue)
    }

    pub(crate) fn take_one(&mut self) -> Option<Got> {
        take_one_from(&self.shared.consumer_queue)
    }

    /// Returns the next Fetch request with its partitions and offsets.
    pub(crate) fn next_fetch(&mut self) -> Option<Fetch> {
        let (arrival, request) = self.next::<FetchRequest>()?;
        let parts = request.topics.iter().flat_map(|t| &t.partitions);
        let mut parts: Vec<(i32, i64)> = parts.map(|p| (p.partition, p.fetch_offset)).collect();
        parts.sort_unstable();
        Some((arrival, request, parts))
    }

    /// Answers a held Fetch request for topic `t` in place of the cluster, under the topic id in the request.
    pub(crate) fn answer_fetch(&mut self, arrival: &Arrival, partitions: Vec<PartitionData>) {
        let named = arrival.version < 13;
        let topic_id = arrival.decode::<FetchRequest>().topics[0].topic_id;
        let response = FetchResponse {
            responses: vec![FetchableTopicResponse {
                topic: if named { "t".into() } else { String::new() },
                topic_id,
                partitions,
                ..Default::default()
            }],
            ..Default::default()
        };
        self.answer(arrival, &response);
    }
}

pub(crate) fn take_one_from(queue: &Arc<Queue>) -> Option<Got> {
    let taken = queue.pop_one(Some(Duration::ZERO), |chunk| {
        let partition = chunk.partition().partition();
        let record = chunk.next()?;
        let value = String::from_utf8_lossy(record.value.unwrap_or_default()).into_owned();
        Some(Got::Record(partition, record.offset, value))
    })?;
    Some(match taken {
        Ok(record) => record,
        Err(Event::Partition(n)) => Got::Error(n.error.code, n.offset),
        Err(Event::Rebalance(r)) => Got::Rebalance(r.code, r.partitions.iter().map(|p| p.tp.partition).collect()),
        Err(Event::Commit(c)) => Got::Commit(c.error),
        Err(other) => panic!("{other:?}"),
    })
}

pub(crate) fn take_from(queue: &Arc<Queue>) -> Vec<Got> {
    std::iter::from_fn(|| take_one_from(queue)).collect()
}
