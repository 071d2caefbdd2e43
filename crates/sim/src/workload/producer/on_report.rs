//! What an application hears of its messages.

use std::time::Duration;

use ottla::error::ErrorCode;
use ottla::event::{Delivery, Event};
use ottla::types::PersistStatus;

use super::ProducerWorkload;
use crate::canary::Canary;
use crate::check::{Outcome, Report};
use crate::message::{self, MessageId};
use crate::trace::trace;
use crate::world::World;

impl ProducerWorkload {
    pub(super) fn poll(&mut self, world: &mut World, client: usize, most: usize) {
        let shared = world.shared(client);
        for _ in 0..most {
            let Some(event) = shared.main_queue.pop(Some(Duration::ZERO)) else {
                return;
            };
            match event {
                Event::Delivery(delivery) => self.on_delivery(world, client, delivery),
                Event::Error(error) => {
                    trace!(world.trace, "c{client} app hears {error}");
                    if error.fatal {
                        world.coverage.count("fatal errors", 1);
                    }
                }
                Event::Stats(document) => world.on_statistics(client, *document),
                Event::Throttle(t) => {
                    world.coverage.count("throttles told", 1);
                    trace!(world.trace, "c{client} app hears throttle {}", t.throttle_ms);
                }
                other => world
                    .check
                    .violate(format!("client {client}: unexpected event {other:?}")),
            }
        }
    }

    fn on_delivery(&mut self, world: &mut World, client: usize, delivery: Delivery) {
        let canary = world.options.canary;
        let damage = world.damage_left > 0;
        if canary == Some(Canary::LostRetry) && damage {
            world.damage_left -= 1;
            return;
        }
        let mut outcome = delivery
            .error
            .as_ref()
            .map_or(Outcome::Delivered, |e| Outcome::Failed(e.code));
        let (mut status, mut offset_of) = (delivery.status, None);
        if canary == Some(Canary::FalseAck) && outcome != Outcome::Delivered {
            (outcome, status, offset_of) = (Outcome::Delivered, PersistStatus::Persisted, Some(0));
        }
        if canary == Some(Canary::FalseCode) && outcome == Outcome::Failed(ErrorCode::L_MSG_TIMED_OUT) {
            outcome = Outcome::Failed(ErrorCode::INVALID_TIMESTAMP);
        }
        if canary == Some(Canary::FalseDoubt) && status == PersistStatus::NotPersisted {
            status = PersistStatus::PossiblyPersisted;
        }
        for record in delivery.records() {
            let number = record.opaque as u32;
            let id = MessageId {
                client: self.client,
                number,
            };
            let report = Report {
                outcome,
                status,
                partition: delivery.partition,
                offset: offset_of.unwrap_or(record.offset),
                done_us: delivery.done_at.as_micros(),
            };
            trace!(world.trace, "c{client} app hears of {number}: {report:?}");
            let headers = record.headers.iter().flat_map(|headers| headers.iter().flatten());
            let Some(found) = message::read(record.key, record.value, headers).filter(|f| f.id == id) else {
                world
                    .check
                    .violate(format!("{id:?}: the delivery report carries something else"));
                continue;
            };
            let lent = self.loans.get(&number).and_then(|loan| loan.address);
            if record.lent_address != lent {
                world
                    .check
                    .violate(format!("{id:?}: another address comes back than was lent"));
            }
            let known = (found, record.timestamp_ms);
            let result = world.check.produced.on_report(id, report, delivery.topic.name(), known);
            world.check.expect(result);
            count_report(world, &report);
            world.counters(client).delivered += u64::from(report.outcome == Outcome::Delivered);
        }
        self.take_back(world, delivery);
    }

    /// The application has done with a report: the client may have no hold any more on what it was given.
    fn take_back(&mut self, world: &mut World, delivery: Delivery) {
        let opaques: Vec<usize> = delivery.records().map(|r| r.opaque).collect();
        if world.options.canary == Some(Canary::LeakedBuffer) && world.damage_left > 0 {
            world.damage_left -= 1;
            world.leaked.push(Event::Delivery(delivery));
        } else {
            drop(delivery);
        }
        for opaque in opaques {
            let number = opaque as u32;
            let loan = self.loans.remove(&number);
            if loan.is_some_and(|loan| loan.held.strong_count() > 0) {
                let client = self.client;
                world.check.violate(format!(
                    "message {number} of client {client} was reported, and what was given with it is still held"
                ));
            }
        }
    }
}

fn count_report(world: &mut World, report: &Report) {
    use ErrorCode as E;
    let kind = match report.outcome {
        Outcome::Delivered => return world.coverage.count("messages delivered", 1),
        Outcome::Failed(E::L_MSG_TIMED_OUT) => "messages timed out",
        Outcome::Failed(E::L_PURGE_QUEUE | E::L_PURGE_INFLIGHT) => "messages purged",
        Outcome::Failed(E::L_DESTROY) => "messages closed away",
        Outcome::Failed(E::MSG_SIZE_TOO_LARGE) => "messages too large for brokers",
        Outcome::Failed(E::INVALID_RECORD) => "messages found invalid",
        Outcome::Failed(E::L_INVALID_DIFFERENT_RECORD) => "messages refused for another",
        Outcome::Failed(E::L_UNKNOWN_PARTITION) => "messages without a partition",
        Outcome::Failed(_) => "messages refused by brokers",
    };
    world.coverage.count(kind, 1);
    world.coverage.count("messages failed", 1);
    let doubtful = report.status == PersistStatus::PossiblyPersisted;
    world.coverage.count("messages failed in doubt", u64::from(doubtful));
}
