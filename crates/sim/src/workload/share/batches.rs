//! Polls of a member of a share group, and the processing of the records that they return.

use std::time::Duration;

use ottla_core::error::Error;
use ottla_core::event::{Event, ShareBatch};
use ottla_core::share::AcknowledgeType;
use ottla_core::sys::Instant;

use super::{PendingCall, ShareWorkload, Work};
use crate::canary::Canary;
use crate::check::SeenRecord;
use crate::message;
use crate::plan::SharePace;
use crate::trace::trace;
use crate::world::World;

/// The number of polls in a row of an impatient application.
const IMPATIENT_POLLS: u32 = 10;
/// Polls of a member after the faults.
const CALM_POLL_US: u64 = 500_000;

impl ShareWorkload {
    pub(super) fn begin_poll(&mut self, world: &mut World, client: usize) {
        let poll = match self.app.begin_poll(Self::now(world)) {
            Ok(poll) => poll,
            Err(error) => {
                return world
                    .check
                    .violate(format!("client {client}: a poll is refused: {error}"));
            }
        };
        self.has_batch = false;
        self.submit(world, client, poll.acknowledgements(), None);
        let timeout_us = match self.plan.pace {
            _ if Self::is_calm(world) => CALM_POLL_US,
            SharePace::Impatient if self.polls_in_a_row < IMPATIENT_POLLS => 0,
            _ => world.app_rng.between(0, self.plan.poll_max_us),
        };
        self.polls_in_a_row = (self.polls_in_a_row + 1) % (IMPATIENT_POLLS + 1);
        world.coverage.count("share polls", 1);
        world
            .coverage
            .count("share polls that do not wait", u64::from(timeout_us == 0));
        if let Some(ready) = self.next_batch(world, client) {
            self.send(world, client, poll.without_waiting());
            return self.deliver(world, client, ready);
        }
        if self.app.must_send(&poll, timeout_us > 0) {
            let deadline = Instant::from_micros(world.now_us() + timeout_us);
            self.send(world, client, poll.until(deadline));
        }
        if timeout_us > 0 {
            self.pending = Some((PendingCall::Poll(world.now_us() + timeout_us), world.now_us()));
        }
    }

    /// Takes the events up to the next batch, or an error.
    pub(super) fn next_batch(&mut self, world: &mut World, client: usize) -> Option<Result<Box<ShareBatch>, Error>> {
        let queue = world.shared(client).consumer_queue.clone();
        loop {
            match queue.pop(Some(Duration::ZERO))? {
                Event::Acquired(batch) => return Some(Ok(batch)),
                Event::Partition(notice) => return Some(Err(notice.error)),
                other => self.on_event(world, client, other),
            }
        }
    }

    pub(super) fn deliver(&mut self, world: &mut World, client: usize, batch: Result<Box<ShareBatch>, Error>) {
        let mut batch = match batch {
            Ok(batch) => batch,
            Err(error) => {
                trace!(world.trace, "c{client} app receives {error}");
                world.coverage.count("errors of share polls", 1);
                self.must_resubscribe = true;
                return;
            }
        };
        if self.keeps_for_canary(world, &mut batch) {
            self.kept = Some(batch);
            return;
        }
        if self.app.on_batch(&mut batch, Self::now(world)) {
            world.wake(client);
        }
        self.has_batch = true;
        self.on_batch(world, client, &batch);
    }

    /// Returns true when a canary keeps the batch: until its session is lost, or until it is late.
    fn keeps_for_canary(&mut self, world: &mut World, batch: &mut ShareBatch) -> bool {
        let keeps = world.canary.is(Canary::StaleBatch) || world.canary.is(Canary::LateBatch);
        if keeps && self.kept.is_none() && !Self::is_calm(world) {
            batch.on_taken();
            return true;
        }
        false
    }

    /// Delivers the batch that a canary has kept.
    pub(super) fn deliver_kept(&mut self, world: &mut World, client: usize) {
        let Some(batch) = &self.kept else { return };
        let received_us = batch.received_at().as_micros();
        let lost_us = world.check.share.lost_us(client, batch.session().node.0);
        let is_late = match world.canary.is(Canary::LateBatch) {
            true => {
                world.now_us() > received_us + batch.lock_until().since(batch.received_at()).as_micros() as u64 * 2 / 3
            }
            false => lost_us > received_us && world.now_us() > lost_us + 100_000,
        };
        if world.canary.is(Canary::LateBatch) && lost_us >= received_us {
            self.kept = None;
        }
        if let Some(batch) = self.kept.take_if(|_| is_late) {
            self.on_batch(world, client, &batch);
        }
    }

    fn on_batch(&mut self, world: &mut World, client: usize, batch: &ShareBatch) {
        world.coverage.count("share batches", 1);
        for partition in batch.partitions() {
            for unreadable in partition.unreadable() {
                world.check.violate(format!(
                    "client {client}: {} cannot be read: {unreadable:?}",
                    partition.tp()
                ));
            }
            for (record, delivery_count) in partition.records() {
                let found = message::read(record.key, record.value, record.headers.iter().flatten());
                let Some(found) = found else {
                    let what = format!(
                        "client {client}: {} @ {} is not of this world",
                        partition.tp(),
                        record.offset
                    );
                    return world.check.violate(what);
                };
                let seen = SeenRecord {
                    partition: (self.plan.group.clone(), partition.topic_id(), partition.partition()),
                    offset: record.offset,
                    delivery_count: i32::from(delivery_count)
                        + i32::from(world.canary.strike(Canary::FalseDeliveryCount)),
                    broker: partition.broker_id(),
                    received_us: batch.received_at().as_micros(),
                    id: found.id,
                };
                trace!(world.trace, "c{client} app sees {seen:?}");
                world.coverage.count("records of share groups", 1);
                world.counters(client).taken += 1;
                if !world.canary.strike(Canary::UnseenRecord) {
                    let now_us = world.now_us();
                    let result = world.check.share.on_seen(client, &seen, now_us);
                    world.check.expect(result);
                }
                let work = Work {
                    topic: partition.topic().name().to_owned(),
                    partition: partition.partition(),
                    offset: record.offset,
                };
                // It was delivered again after its lock had run out.
                self.renewed.retain(|renewed| *renewed != work);
                self.work.push_back(work);
            }
        }
        self.busy_until_us = world.now_us() + self.record_us(world);
    }

    /// Draws the time that the next record takes.
    fn record_us(&self, world: &mut World) -> u64 {
        match self.plan.pace {
            SharePace::Slow { record_us } if !Self::is_calm(world) => {
                world.app_rng.between(record_us / 2, record_us * 3 / 2)
            }
            _ => 0,
        }
    }

    // ---------------------------------------------------------------- processing

    /// Processes records. Returns false when the application is still busy.
    pub(super) fn process(&mut self, world: &mut World, client: usize) -> bool {
        while !self.work.is_empty() {
            if self.busy_until_us > world.now_us() && !Self::is_calm(world) {
                return false;
            }
            if let Some(work) = self.work.pop_front() {
                self.acknowledge(world, client, work);
            }
            self.busy_until_us = self.busy_until_us.max(world.now_us()) + self.record_us(world);
        }
        for work in std::mem::take(&mut self.renewed) {
            // Renewed records are acknowledged with a later batch.
            match Self::is_calm(world) || world.app_rng.hit(0.5) {
                true => self.acknowledge(world, client, work),
                false => self.renewed.push(work),
            }
        }
        true
    }

    fn acknowledge(&mut self, world: &mut World, client: usize, work: Work) {
        if !self.plan.is_explicit {
            return;
        }
        let drawn = world.app_rng.f64();
        let (release, reject) = (self.plan.release, self.plan.release + self.plan.reject);
        let ty = match () {
            () if Self::is_calm(world) => AcknowledgeType::Accept,
            () if drawn < release => AcknowledgeType::Release,
            () if drawn < reject => AcknowledgeType::Reject,
            () if drawn < reject + self.plan.renew => AcknowledgeType::Renew,
            () => AcknowledgeType::Accept,
        };
        // The last of several types counts.
        if world.app_rng.hit(0.1) {
            let other = self
                .app
                .acknowledge(&work.topic, work.partition, work.offset, AcknowledgeType::Release);
            self.expect_acknowledged(world, client, &work, other);
        }
        let acknowledged = self.app.acknowledge(&work.topic, work.partition, work.offset, ty);
        self.expect_acknowledged(world, client, &work, acknowledged);
        if ty == AcknowledgeType::Renew {
            self.renewed.push(work);
        }
    }

    fn expect_acknowledged(&self, world: &mut World, client: usize, work: &Work, result: Result<(), Error>) {
        if let Err(error) = result.as_ref()
            && world.canary.active().is_none()
        {
            world
                .check
                .violate(format!("client {client}: {work:?} cannot be acknowledged: {error}"));
        }
    }
}
