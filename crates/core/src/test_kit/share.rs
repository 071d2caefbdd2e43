//! Commands and events of a share consumer.

use std::time::Duration;

use ottla_mock::NewRecord;

use super::world::{World, WorldBuilder};
use crate::core;
use crate::error::ErrorCode;
use crate::event::{AcknowledgementResult, Event, ShareBatch};
use crate::reply::Reply;
use crate::share::{AcknowledgeType, Command, CommitCall, CommitResults, Delivered};
use crate::types::ClientKind;

/// The application of a share consumer.
#[derive(Debug, Default)]
pub(crate) struct ShareApplication {
    pub(crate) delivered: Delivered,
    /// The processing time that the next polls report.
    pub(crate) busy_us: Option<u64>,
}

/// A record as (partition, offset, value, delivery count).
pub(crate) type Acquired = (i32, i64, String, i16);

impl ShareApplication {
    /// Accepts the records of the last poll, and waits for more, for that time at most.
    pub(crate) fn poll(&mut self, w: &mut World, longest_ms: u64) -> Vec<Acquired> {
        let acknowledgements = self.delivered.take(Some(AcknowledgeType::Accept));
        let batch = take_batch(w);
        let wait_until = batch.is_none().then(|| w.now.plus_ms(longest_ms));
        w.send(core::Command::Share(Command::Poll {
            acknowledgements,
            wait_until,
            busy_us: self.busy_us,
        }));
        let mut batch = batch.or_else(|| take_batch(w));
        w.run_until(longest_ms, |w| {
            batch = batch.take().or_else(|| take_batch(w));
            batch.is_some()
        });
        let Some(mut batch) = batch else { return Vec::new() };
        batch.on_taken();
        self.delivered.add(&batch);
        acquired(&batch)
    }

    /// Acknowledges a record of topic `t`.
    pub(crate) fn acknowledge(&mut self, partition: i32, offset: i64, ty: AcknowledgeType) {
        self.delivered.acknowledge("t", partition, offset, ty).unwrap();
    }

    /// Commits the acknowledged records and waits for the results, for that time at most.
    pub(crate) fn commit(&mut self, w: &mut World, timeout_ms: u64) -> CommitResults {
        let reply = Reply::new();
        let call = CommitCall {
            deadline: w.now.plus_ms(timeout_ms),
            reply: reply.clone(),
        };
        w.send(core::Command::Share(Command::Commit {
            acknowledgements: self.delivered.take(None),
            call: Some(call),
        }));
        w.run_until(timeout_ms, |_| reply.is_filled());
        reply.try_take().unwrap().unwrap()
    }

    /// Closes the consumer. Returns the error.
    pub(crate) fn close(&mut self, w: &mut World) -> ErrorCode {
        let reply = Reply::new();
        w.send(core::Command::Share(Command::Close {
            acknowledgements: self.delivered.take(None),
            reply: reply.clone(),
        }));
        w.run_until(70_000, |_| reply.is_filled());
        reply
            .try_take()
            .unwrap()
            .map_or_else(|e| e.code, |()| ErrorCode::NO_ERROR)
    }
}

fn take_batch(w: &mut World) -> Option<Box<ShareBatch>> {
    let is_batch = |event: &Event| matches!(event, Event::Acquired(_));
    let mut waiting = w.shared.consumer_queue.extract(is_batch).into_iter();
    let first = waiting.next();
    for later in waiting {
        w.shared.consumer_queue.push(later);
    }
    match first {
        Some(Event::Acquired(batch)) => Some(batch),
        _ => None,
    }
}

fn acquired(batch: &ShareBatch) -> Vec<Acquired> {
    let records = batch.partitions().iter().flat_map(|p| {
        p.records().map(|(record, count)| {
            let value = String::from_utf8_lossy(record.value.unwrap_or_default()).into_owned();
            (p.partition(), record.offset, value, count)
        })
    });
    records.collect()
}

impl World {
    /// Creates a share consumer of group `g`, whose coordinator is broker 1. Records are read from the beginning of logs, and
    /// members receive their assignment with the first heartbeat after they have joined.
    pub(crate) fn share_consumer(settings: &[(&str, &str)]) -> Self {
        let mut all = vec![("group.id", "g")];
        all.extend_from_slice(settings);
        let mut w = WorldBuilder::new(ClientKind::ShareConsumer).build(&all, &[]);
        w.brokers().configure_share_groups(|groups| {
            groups.offset_reset = ottla_mock::ShareOffsetReset::Earliest;
            groups.state_initialization_us = None;
        });
        w
    }

    /// Subscribes the share consumer to topic `t`.
    pub(crate) fn share_subscribe(&mut self) {
        let reply = Reply::new();
        self.send(core::Command::Share(Command::Subscribe {
            topics: vec!["t".into()],
            reply: reply.clone(),
        }));
        reply.try_take().unwrap().unwrap();
    }

    /// Polls without waiting and without taking a batch.
    pub(crate) fn share_poll_once(&mut self) {
        self.send(core::Command::Share(Command::Poll {
            acknowledgements: Vec::new(),
            wait_until: Some(self.now),
            busy_us: None,
        }));
    }

    /// Polls without acknowledgements, for that time at most. Returns true when a batch waits in the queue.
    pub(crate) fn share_wait(&mut self, longest_ms: u64) -> bool {
        self.send(core::Command::Share(Command::Poll {
            acknowledgements: Vec::new(),
            wait_until: Some(self.now.plus_ms(longest_ms)),
            busy_us: None,
        }));
        let waits = self.run_until(longest_ms, |w| !w.shared.consumer_queue.is_empty());
        waits.is_some()
    }

    /// Appends records, one batch each.
    pub(crate) fn append_values(&mut self, topic: &str, partition: i32, values: &[&str]) {
        for value in values {
            let record = NewRecord::value((*value).to_owned());
            self.brokers().append(topic, partition, &[record]).unwrap();
        }
    }

    /// Returns the results of acknowledgements that are ready for the application.
    pub(crate) fn take_acknowledged(&mut self) -> Vec<AcknowledgementResult> {
        let mut results = Vec::new();
        while let Some(event) = self.shared.consumer_queue.pop(Some(Duration::ZERO)) {
            match event {
                Event::Acknowledged(result) => results.push(result),
                event => panic!("{event:?}"),
            }
        }
        results
    }
}
