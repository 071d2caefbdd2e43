//! The calls of a member of a share group: polls with the processing of their records, commits, subscriptions and the close.

use std::time::Duration;

use ottla_core::client::Command;
use ottla_core::error::Error;
use ottla_core::event::{Event, ShareBatch};
use ottla_core::reply::Reply;
use ottla_core::share::{self, AcknowledgeType, CommitCall};
use ottla_core::sys::Instant;

use super::{Life, PendingCall, ShareWorkload, Work};
use crate::canary::Canary;
use crate::check::SeenRecord;
use crate::event::WorldEvent;
use crate::message;
use crate::plan::SharePace;
use crate::trace::trace;
use crate::world::World;

/// The number of polls in a row of an impatient application.
const IMPATIENT_POLLS: u32 = 10;
/// Polls of a member after the faults.
const CALM_POLL_US: u64 = 500_000;
/// Calls that wait for no broker are completed within this time.
const CALL_US: u64 = 1_000_000;
/// Deadlines of calls are this precise.
const SLACK_US: u64 = 1_000_000;

impl ShareWorkload {
    // ---------------------------------------------------------------- polls

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
    fn next_batch(&mut self, world: &mut World, client: usize) -> Option<Result<Box<ShareBatch>, Error>> {
        let queue = world.shared(client).consumer_queue.clone();
        loop {
            match queue.pop(Some(Duration::ZERO))? {
                Event::Acquired(batch) => return Some(Ok(batch)),
                Event::Partition(notice) => return Some(Err(notice.error)),
                other => self.on_event(world, client, other),
            }
        }
    }

    fn deliver(&mut self, world: &mut World, client: usize, batch: Result<Box<ShareBatch>, Error>) {
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

    /// Commits after a batch, or not. Returns true when it has.
    pub(super) fn commit(&mut self, world: &mut World, client: usize) -> bool {
        if !self.has_batch {
            return false;
        }
        self.has_batch = false;
        let drawn = world.app_rng.f64();
        if drawn < self.plan.commit_sync {
            let acknowledgements = self.app.take_acknowledgements();
            if acknowledgements.is_empty() {
                return false;
            }
            self.calls += 1;
            world.coverage.count("synchronous commits of share groups", 1);
            // Batches that were fetched ahead wait meanwhile.
            world.check.share.on_disturbed(client, u64::MAX);
            self.submit(world, client, &acknowledgements, Some(self.calls));
            let timeout_us = world.app_rng.spread(10_000, 60_000_000);
            let reply = Reply::new();
            let by_us = world.now_us() + timeout_us;
            let command = share::Command::Commit {
                acknowledgements,
                call: Some(CommitCall {
                    deadline: Instant::from_micros(world.now_us() + timeout_us),
                    reply: reply.clone(),
                }),
            };
            self.call(world, client, PendingCall::Commit(reply, self.calls, by_us), command);
            return true;
        }
        if drawn < self.plan.commit_sync + self.plan.commit_async {
            world.coverage.count("asynchronous commits of share groups", 1);
            self.commit_in_background(world, client);
        }
        false
    }

    fn commit_in_background(&mut self, world: &mut World, client: usize) {
        let acknowledgements = self.app.take_acknowledgements();
        if !acknowledgements.is_empty() {
            self.submit(world, client, &acknowledgements, None);
            let command = share::Command::Commit {
                acknowledgements,
                call: None,
            };
            self.send(world, client, command);
        }
    }

    // ---------------------------------------------------------------- calls

    /// Takes the answer to the pending call. Returns false when the application still waits.
    pub(super) fn take_answer(&mut self, world: &mut World, client: usize) -> bool {
        let Some((pending, since_us)) = self.pending.take() else {
            return true;
        };
        let now_us = world.now_us();
        let waits = match &pending {
            PendingCall::Subscribe(reply) | PendingCall::Unsubscribe(reply) => match reply.try_take() {
                Some(Ok(())) => None,
                Some(Err(error)) => {
                    world
                        .check
                        .violate(format!("client {client}: {pending:?} fails: {error}"));
                    None
                }
                None => Some(since_us + CALL_US),
            },
            PendingCall::Commit(reply, call, by_us) => match reply.try_take() {
                Some(Ok(results)) => {
                    self.disturb(world, client);
                    trace!(world.trace, "c{client} app receives {results:?} of commit {call}");
                    self.take_events(world, client);
                    if world.canary.active() != Some(Canary::LostAcknowledgement) {
                        let is_late = now_us >= *by_us;
                        let result = world.check.share.on_commit_results(client, *call, &results, is_late);
                        world.check.expect(result);
                    }
                    None
                }
                Some(Err(error)) => {
                    world.check.violate(format!("client {client}: a commit fails: {error}"));
                    None
                }
                None => Some(by_us + SLACK_US),
            },
            PendingCall::Poll(until_us) => match self.next_batch(world, client) {
                Some(batch) => {
                    self.deliver(world, client, batch);
                    None
                }
                None if *until_us <= now_us => None,
                None => Some(u64::MAX),
            },
        };
        match waits {
            None => true,
            Some(by_us) if by_us < now_us => {
                world
                    .check
                    .violate(format!("client {client}: {pending:?} of {since_us} is not completed"));
                true
            }
            Some(_) => {
                self.pending = Some((pending, since_us));
                false
            }
        }
    }

    pub(super) fn subscribe(&mut self, world: &mut World, client: usize) {
        let mut topics = self.plan.topics.clone();
        if !Self::is_calm(world) && world.app_rng.hit(0.3) {
            let kept = world.app_rng.below(topics.len());
            topics = vec![topics.swap_remove(kept)];
        }
        world.coverage.count("share subscriptions", 1);
        self.disturb(world, client);
        self.must_resubscribe = false;
        self.is_refreshed |= Self::is_calm(world);
        self.life = Life::Subscribed;
        self.app.set_subscribed(true);
        let reply = Reply::new();
        let command = share::Command::Subscribe {
            topics,
            reply: reply.clone(),
        };
        self.call(world, client, PendingCall::Subscribe(reply), command);
    }

    pub(super) fn unsubscribe(&mut self, world: &mut World, client: usize) {
        world.coverage.count("share unsubscriptions", 1);
        self.disturb(world, client);
        self.life = Life::Idle;
        self.app.set_subscribed(false);
        let reply = Reply::new();
        let command = share::Command::Unsubscribe { reply: reply.clone() };
        self.call(world, client, PendingCall::Unsubscribe(reply), command);
    }

    fn disturb(&self, world: &mut World, client: usize) {
        let now_us = world.now_us();
        world.check.share.on_disturbed(client, now_us);
    }

    pub(super) fn close(&mut self, world: &mut World, client: usize) {
        world.coverage.count("share members closed", 1);
        world.check.share.on_disturbed(client, u64::MAX);
        self.life = Life::Closing;
        self.work.clear();
        self.renewed.clear();
        let acknowledgements = self.app.take_last_acknowledgements();
        self.submit(world, client, &acknowledgements, None);
        let reply = Reply::new();
        self.closing = Some((reply.clone(), world.now_us()));
        let command = share::Command::Close {
            acknowledgements,
            reply,
        };
        self.send(world, client, command);
    }

    /// Ends the client when it is closed.
    pub(super) fn check_close(&mut self, world: &mut World, client: usize) {
        let Some((reply, since_us)) = self.closing.take() else {
            return;
        };
        let socket_us = u64::from(world.shared(client).conf.socket_timeout_ms) * 1000;
        match reply.try_take() {
            Some(result) => {
                trace!(world.trace, "c{client} app has closed: {result:?}");
                world
                    .coverage
                    .count("closings of share members that time out", u64::from(result.is_err()));
                self.take_events(world, client);
                if let Some(what) = world.check.share.waiting_for(client) {
                    let what = format!("client {client} is closed, and no result is reported for {what}");
                    world.check.violate(what);
                }
                world.shared(client).send(Command::Terminate);
                self.gone(world, client);
            }
            None if world.now_us() > since_us + socket_us + SLACK_US => {
                world
                    .check
                    .violate(format!("client {client}: the close of {since_us} is not completed"));
            }
            None => self.closing = Some((reply, since_us)),
        }
    }

    /// Records the end of the client: another one follows.
    pub(super) fn gone(&mut self, world: &mut World, client: usize) {
        self.life = Life::Gone;
        self.pending = None;
        self.closing = None;
        self.work.clear();
        self.renewed.clear();
        self.kept = None;
        let now_us = world.now_us();
        world.check.share.on_gone(client, now_us);
        let pause_us = world.share_members.on_gone(self.slot);
        world.after_us(pause_us, WorldEvent::ShareMember(self.slot));
    }
}
