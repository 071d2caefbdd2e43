//! Emits the statistics document at `statistics.interval.ms`, from the numbers of all managers.

use std::time::Duration;

use super::shared::Shared;
use crate::cluster::{Cluster, Survey};
use crate::connection::{ConnectionTable, Owner, Tag};
use crate::consumer::Consumer;
use crate::event::Event;
use crate::producer::Sender;
use crate::share::ShareConsumer;
use crate::stats::{Fatal, Group, Statistics};
use crate::sys::Instant;
use crate::types::ClientKind;

/// Maximum number of documents that wait for the application. No further document is created then, to bound the memory of
/// an application that does not poll.
const WAITING_MAX: usize = 10;

/// A state and the time at which it was entered.
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

/// The managers whose numbers the document shows.
pub(super) struct Sources<'a> {
    pub(super) shared: &'a Shared,
    pub(super) connections: &'a mut ConnectionTable,
    pub(super) cluster: &'a Cluster,
    pub(super) producer: Option<&'a mut Sender>,
    pub(super) consumer: Option<&'a Consumer>,
    pub(super) share: Option<&'a ShareConsumer>,
}

/// The timer of documents, and the states whose ages they contain. It exists only if the application receives documents.
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

    /// Queues a document when one is due; returns when the next one is.
    pub(super) fn poll(&mut self, mut sources: Sources<'_>, now: Instant, wall_ms: i64) -> Instant {
        let (producer, consumer) = (sources.producer.as_deref(), sources.consumer);
        if let Some((state, join_state)) = consumer.and_then(|c| c.group_states(sources.connections)) {
            self.coordinator.note(state, now);
            self.membership.note(join_state, now);
        }
        if let Some((id, transaction)) = producer.and_then(|p| p.eos_states()) {
            self.id.note(id, now);
            self.transaction.note(transaction, now);
        }
        if self.due <= now {
            let queue = &sources.shared.main_queue;
            if queue.len_where(|event| matches!(event, Event::Stats(_))) < WAITING_MAX {
                let document = self.document(&mut sources, now, wall_ms);
                sources.shared.main_queue.push(Event::Stats(Box::new(document)));
            }
            let next = self.due + self.interval;
            // Intervals that were missed get no documents of their own.
            self.due = if next > now { next } else { now + self.interval };
        }
        self.due
    }

    fn document(&self, sources: &mut Sources<'_>, now: Instant, wall_ms: i64) -> Statistics {
        let kind = sources.shared.kind;
        let mut survey = Survey::default();
        let producer = sources.producer.as_deref();
        let messages = |tag: Tag| match (tag.owner, producer) {
            (Owner::Producer, Some(p)) => p.messages_of(tag.id),
            _ => 0,
        };
        survey.brokers = sources.connections.statistics(now, kind, messages);
        let topics = sources.shared.topic_names();
        sources.cluster.survey(topics.into_iter(), now, &mut survey);
        let mut document = client_statistics(sources, now, wall_ms);
        document.age_us = u64::try_from(now.since(self.created).as_micros()).unwrap_or(u64::MAX);
        if let Some(producer) = &mut sources.producer {
            producer.statistics(sources.cluster, &mut survey);
            let sent = producer.sent();
            (document.txmsgs, document.txmsg_bytes) = (sent.messages, sent.bytes);
            document.eos = producer.eos();
        }
        if let Some(share) = sources.share {
            share.statistics(&mut survey);
            let received = share.received();
            (document.rxmsgs, document.rxmsg_bytes) = (received.messages, received.bytes);
            let (state, join_state, assigned) = share.group_state(sources.connections);
            document.cgrp = Some(Group {
                state,
                join_state,
                assignment_size: assigned as u64,
                ..Group::default()
            });
        }
        if let Some(eos) = &mut document.eos {
            eos.idemp_stateage_ms = self.id.age_ms(now);
            eos.txn_stateage_ms = self.transaction.age_ms(now);
        }
        if let Some(consumer) = sources.consumer {
            consumer.statistics(sources.cluster, &mut survey);
            let received = consumer.received();
            (document.rxmsgs, document.rxmsg_bytes) = (received.messages, received.bytes);
            document.simple_cnt = consumer.simple_count() as u64;
            document.cgrp = consumer.group_statistics(now, sources.connections).map(|group| Group {
                stateage_ms: self.coordinator.age_ms(now),
                ..group
            });
        }
        let brokers = survey.brokers.into_values();
        document.brokers = brokers.map(|broker| (broker.name.clone(), broker)).collect();
        document.topics = survey.topics;
        document
    }
}

/// The fields of the client as a whole.
fn client_statistics(sources: &Sources<'_>, now: Instant, wall_ms: i64) -> Statistics {
    let (shared, totals) = (sources.shared, sources.connections.totals());
    let mut document = Statistics {
        name: shared.name.clone(),
        client_id: shared.conf.client_id.clone(),
        kind: match shared.kind {
            ClientKind::Producer => "producer",
            ClientKind::Consumer | ClientKind::ShareConsumer => "consumer",
        },
        ts_us: now.as_micros(),
        time_s: wall_ms.div_euclid(1000),
        replyq: shared.main_queue.len() as u64,
        metadata_cache_cnt: sources.cluster.topic_count() as u64,
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
