//! The statistics document: a walk over the managers at the interval.

use std::time::Duration;

use super::core::Core;
use super::shared::Shared;
use crate::cluster::Survey;
use crate::connection::{Owner, Tag};
use crate::event::Event;
use crate::stats::{Fatal, Group, Statistics};
use crate::sys::Instant;
use crate::types::ClientKind;

/// Documents that may wait for the application. While so many do, none is made: an application that does not poll must
/// not fill the memory.
const WAITING_MAX: usize = 10;

/// A state and since when it is.
#[derive(Debug)]
struct StateAge {
    state: &'static str,
    since: Instant,
}

impl StateAge {
    fn new() -> Self {
        StateAge {
            state: "",
            since: Instant::ORIGIN,
        }
    }

    fn note(&mut self, state: &'static str, now: Instant) {
        if self.state != state {
            *self = StateAge { state, since: now };
        }
    }

    fn age_ms(&self, now: Instant) -> u64 {
        u64::try_from(now.since(self.since).as_millis()).unwrap_or(u64::MAX)
    }
}

/// When documents are made, and what has to be watched for them in between. There is one only while the application
/// wants documents.
#[derive(Debug)]
pub(super) struct StatsEmitter {
    interval: Duration,
    due: Instant,
    created: Instant,
    coordinator: StateAge,
    membership: StateAge,
    id: StateAge,
    transaction: StateAge,
}

impl StatsEmitter {
    pub(super) fn new(shared: &Shared) -> Option<Box<Self>> {
        let interval = Duration::from_millis(shared.conf.statistics_interval_ms.into());
        let now = shared.clock.now();
        (!interval.is_zero()).then(|| {
            Box::new(StatsEmitter {
                interval,
                due: now + interval,
                created: now,
                coordinator: StateAge::new(),
                membership: StateAge::new(),
                id: StateAge::new(),
                transaction: StateAge::new(),
            })
        })
    }
}

impl Core {
    /// Makes a document when it is time to; gives when the next one is due.
    pub(super) fn report(&mut self, now: Instant, wall_ms: i64) -> Option<Instant> {
        let mut stats_emitter = self.stats_emitter.take()?;
        if let Some((state, join_state)) = self.consumer.as_ref().and_then(|c| c.group_states(&self.connections)) {
            stats_emitter.coordinator.note(state, now);
            stats_emitter.membership.note(join_state, now);
        }
        if let Some((id, transaction)) = self.producer.as_ref().and_then(|p| p.eos_states()) {
            stats_emitter.id.note(id, now);
            stats_emitter.transaction.note(transaction, now);
        }
        if stats_emitter.due <= now {
            let queue = self.shared.main_queue.clone();
            if queue.len_where(|event| matches!(event, Event::Stats(_))) < WAITING_MAX {
                let document = self.survey(&stats_emitter, now, wall_ms);
                queue.push(Event::Stats(Box::new(document)));
            }
            let next = stats_emitter.due + stats_emitter.interval;
            // Not one for each interval that was missed.
            stats_emitter.due = if next > now { next } else { now + stats_emitter.interval };
        }
        let due = stats_emitter.due;
        self.stats_emitter = Some(stats_emitter);
        Some(due)
    }

    fn survey(&mut self, stats_emitter: &StatsEmitter, now: Instant, wall_ms: i64) -> Statistics {
        let kind = self.shared.kind;
        let mut survey = Survey::default();
        let producer = self.producer.as_ref();
        let messages = |tag: Tag| match (tag.owner, producer) {
            (Owner::Producer, Some(p)) => p.messages_of(tag.id),
            _ => 0,
        };
        survey.brokers = self.connections.statistics(now, kind, messages);
        self.cluster
            .survey(self.shared.topic_names().into_iter(), now, &mut survey);
        let mut document = self.client_statistics(now, wall_ms);
        document.age_us = u64::try_from(now.since(stats_emitter.created).as_micros()).unwrap_or(u64::MAX);
        if let Some(producer) = &mut self.producer {
            producer.statistics(&self.cluster, &mut survey);
            let sent = producer.sent();
            (document.txmsgs, document.txmsg_bytes) = (sent.messages, sent.bytes);
            document.eos = producer.eos();
        }
        if let Some(eos) = &mut document.eos {
            eos.idemp_stateage_ms = stats_emitter.id.age_ms(now);
            eos.txn_stateage_ms = stats_emitter.transaction.age_ms(now);
        }
        if let Some(consumer) = &self.consumer {
            consumer.statistics(&self.cluster, &mut survey);
            let received = consumer.received();
            (document.rxmsgs, document.rxmsg_bytes) = (received.messages, received.bytes);
            document.simple_cnt = consumer.simple_count() as u64;
            document.cgrp = consumer.group_statistics(now, &self.connections).map(|group| Group {
                stateage_ms: stats_emitter.coordinator.age_ms(now),
                ..group
            });
        }
        let brokers = survey.brokers.into_values();
        document.brokers = brokers.map(|broker| (broker.name.clone(), broker)).collect();
        document.topics = survey.topics;
        document
    }

    /// What is told of the client as a whole.
    fn client_statistics(&self, now: Instant, wall_ms: i64) -> Statistics {
        let (shared, totals) = (&self.shared, self.connections.totals());
        let mut document = Statistics {
            name: shared.name.clone(),
            client_id: shared.conf.client_id.clone(),
            kind: match shared.kind {
                ClientKind::Producer => "producer",
                ClientKind::Consumer => "consumer",
            },
            ts_us: now.as_micros(),
            time_s: wall_ms.div_euclid(1000),
            replyq: shared.main_queue.len() as u64,
            metadata_cache_cnt: self.cluster.topic_count() as u64,
            tx: totals.requests,
            tx_bytes: totals.request_bytes,
            rx: totals.responses,
            rx_bytes: totals.response_bytes,
            ..Default::default()
        };
        if let Some(accumulator) = &shared.producer {
            let buffer_memory = accumulator.buffer_memory();
            (document.msg_cnt, document.msg_size) = (buffer_memory.messages(), buffer_memory.bytes());
            document.msg_max = shared.conf.queue_buffering_max_messages.into();
            document.msg_size_max = u64::from(shared.conf.queue_buffering_max_kbytes) * 1024;
        }
        document.fatal = shared.fatal_error().map(|error| Fatal {
            error: error.code.name().into_owned(),
            reason: error.message,
            cnt: shared.fatal_count(),
        });
        document
    }
}
