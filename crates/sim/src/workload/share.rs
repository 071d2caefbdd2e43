//! Applications that are members of share groups: they poll, process and acknowledge records, commit, stall, leave, crash
//! and return.
//!
//! They use [`Application`](share::Application), as the handle of share consumers does. A call that waits takes several turns.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use ottla_core::client::Command;
use ottla_core::error::{Error, ErrorCode};
use ottla_core::event::{Event, ShareBatch};
use ottla_core::reply::Reply;
use ottla_core::share::{self, AcknowledgeType, CommitCall, CommitResults};
use ottla_core::sys::Instant;

use crate::canary::Canary;
use crate::check::SeenRecord;
use crate::client::SimClient;
use crate::event::WorldEvent;
use crate::message;
use crate::plan::{ShareMemberPlan, SharePace};
use crate::trace::trace;
use crate::transport::crash_client;
use crate::world::{Application, Phase, World};

/// The reply to a call without a result.
type Done = Arc<Reply<Result<(), Error>>>;

/// Calls that wait for no broker are completed within this time.
const CALL_US: u64 = 1_000_000;
/// Deadlines of calls are this precise.
const SLACK_US: u64 = 1_000_000;
/// The number of polls in a row of an impatient application.
const IMPATIENT_POLLS: u32 = 10;
/// Polls of a member after the faults.
const CALM_POLL_US: u64 = 500_000;

/// The state of a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Life {
    /// Not subscribed.
    Idle,
    Subscribed,
    /// Being closed.
    Closing,
    /// Ended.
    Gone,
}

/// A call that is not completed.
#[derive(Debug)]
enum PendingCall {
    Subscribe(Done),
    Unsubscribe(Done),
    /// A synchronous commit, with its number and deadline.
    Commit(Arc<Reply<Result<CommitResults, Error>>>, u64, u64),
    /// A poll that waits until then.
    Poll(u64),
}

/// A record to be processed.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Work {
    topic: String,
    partition: i32,
    offset: i64,
}

/// A member of a share group.
#[derive(Debug)]
pub(crate) struct ShareWorkload {
    slot: usize,
    plan: ShareMemberPlan,
    app: share::Application,
    life: Life,
    pending: Option<(PendingCall, u64)>,
    closing: Option<(Done, u64)>,
    /// It has subscribed for the first time, and to all topics after the faults.
    has_subscribed: bool,
    is_refreshed: bool,
    /// Records of the last batch that are not processed.
    work: VecDeque<Work>,
    /// Records whose lock was renewed.
    renewed: Vec<Work>,
    /// The next record is processed then.
    busy_until_us: u64,
    /// A batch was processed, and neither polled nor committed since.
    has_batch: bool,
    polls_in_a_row: u32,
    calls: u64,
    next_action_us: u64,
    stalled_until_us: u64,
    /// An error ended the membership.
    must_resubscribe: bool,
    /// A batch that is kept for a canary.
    kept: Option<Box<ShareBatch>>,
}

impl ShareWorkload {
    pub(crate) fn new(client: &SimClient, slot: usize, plan: ShareMemberPlan, now_us: u64) -> Option<Self> {
        let shared = client.shared.share.clone()?;
        shared.set_acknowledgement_events(true);
        Some(ShareWorkload {
            slot,
            app: share::Application::new(shared, &client.shared.conf),
            next_action_us: now_us + plan.action_every_us,
            plan,
            life: Life::Idle,
            pending: None,
            closing: None,
            has_subscribed: false,
            is_refreshed: false,
            work: VecDeque::new(),
            renewed: Vec::new(),
            busy_until_us: 0,
            has_batch: false,
            polls_in_a_row: 0,
            calls: 0,
            stalled_until_us: 0,
            must_resubscribe: false,
            kept: None,
        })
    }

    fn is_calm(world: &World) -> bool {
        world.phase != Phase::Hostile
    }

    fn now(world: &World) -> Instant {
        Instant::from_micros(world.now_us())
    }

    fn send(&mut self, world: &mut World, client: usize, command: share::Command) {
        trace!(world.trace, "c{client} app calls {command:?}");
        world.shared(client).send(Command::Share(command));
    }

    fn call(&mut self, world: &mut World, client: usize, pending: PendingCall, command: share::Command) {
        self.send(world, client, command);
        self.pending = Some((pending, world.now_us()));
    }

    /// Records acknowledgements that are passed to the client.
    fn submit(
        &self,
        world: &mut World,
        client: usize,
        acknowledgements: &[share::PartitionAcknowledgements],
        call: Option<u64>,
    ) {
        let now_us = world.now_us();
        let member = (client, self.plan.group.as_str());
        let result = world
            .check
            .share
            .on_acknowledged(member, acknowledgements, call, now_us);
        world.check.expect(result);
    }

    // ---------------------------------------------------------------- events

    /// Takes the events of the client, and the results of acknowledgements.
    fn take_events(&mut self, world: &mut World, client: usize) {
        let shared = world.shared(client);
        while let Some(event) = shared.main_queue.pop(Some(Duration::ZERO)) {
            match event {
                // Partitions of share groups have no counters.
                Event::Stats(_) => world.coverage.count("statistics of share consumers", 1),
                other => trace!(world.trace, "c{client} app receives {other:?}"),
            }
        }
        let results = shared
            .consumer_queue
            .extract(|event| matches!(event, Event::Acknowledged(_)));
        for event in results {
            self.on_event(world, client, event);
        }
    }

    fn on_event(&mut self, world: &mut World, client: usize, event: Event) {
        trace!(world.trace, "c{client} app receives {event:?}");
        let Event::Acknowledged(mut result) = event else {
            return;
        };
        if world.canary.strike(Canary::LostAcknowledgement) {
            return;
        }
        if world.canary.is(Canary::FalseAcknowledgement) && !result.error.is_ok() {
            result.error = ErrorCode::NO_ERROR;
        }
        let cluster = &world.cluster;
        let log_start = |(_, id, partition): &(String, ottla_protocol::Uuid, i32)| {
            let topic = cluster.topic_names().find(|name| cluster.topic_id(name) == Some(*id))?;
            cluster
                .watermarks(topic, *partition)
                .map(|marks| marks.log_start_offset)
        };
        let reported = (&result.tp, result.offsets.as_slice(), result.error);
        let checked = world.check.share.on_result(client, reported, log_start);
        world.check.expect(checked);
    }

    // ---------------------------------------------------------------- polls

    fn begin_poll(&mut self, world: &mut World, client: usize) {
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
    fn deliver_kept(&mut self, world: &mut World, client: usize) {
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
    fn process(&mut self, world: &mut World, client: usize) -> bool {
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
    fn commit(&mut self, world: &mut World, client: usize) -> bool {
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
    fn take_answer(&mut self, world: &mut World, client: usize) -> bool {
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

    fn subscribe(&mut self, world: &mut World, client: usize) {
        let mut topics = self.plan.topics.clone();
        if !Self::is_calm(world) && world.app_rng.hit(0.3) {
            let kept = world.app_rng.below(topics.len());
            topics = vec![topics.swap_remove(kept)];
        }
        world.coverage.count("share subscriptions", 1);
        self.disturb(world, client);
        self.must_resubscribe = false;
        self.life = Life::Subscribed;
        self.app.set_subscribed(true);
        let reply = Reply::new();
        let command = share::Command::Subscribe {
            topics,
            reply: reply.clone(),
        };
        self.call(world, client, PendingCall::Subscribe(reply), command);
    }

    fn unsubscribe(&mut self, world: &mut World, client: usize) {
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

    fn close(&mut self, world: &mut World, client: usize) {
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
    fn check_close(&mut self, world: &mut World, client: usize) {
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
    fn gone(&mut self, world: &mut World, client: usize) {
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

    // ---------------------------------------------------------------- actions

    /// Starts an action other than polling. Returns false when there is none.
    fn decide(&mut self, world: &mut World, client: usize) -> bool {
        match (world.phase, self.life) {
            (_, Life::Closing | Life::Gone) => false,
            (Phase::Closing | Phase::Over, _) => {
                self.close(world, client);
                true
            }
            (Phase::Hostile, Life::Idle) if self.next_action_us > world.now_us() && self.has_subscribed => true,
            (_, Life::Idle) => {
                self.has_subscribed = true;
                self.subscribe(world, client);
                true
            }
            (Phase::Settling, Life::Subscribed) if !self.is_refreshed => {
                self.is_refreshed = true;
                self.subscribe(world, client);
                true
            }
            (_, Life::Subscribed) if self.must_resubscribe => {
                self.subscribe(world, client);
                true
            }
            (Phase::Hostile, _) if self.next_action_us <= world.now_us() => {
                let mean = self.plan.action_every_us;
                self.next_action_us = world.now_us() + world.app_rng.between(mean / 10, mean * 2);
                self.random_action(world, client)
            }
            _ => false,
        }
    }

    fn random_action(&mut self, world: &mut World, client: usize) -> bool {
        match world.app_rng.below(8) {
            0 | 1 => self.subscribe(world, client),
            2 => self.unsubscribe(world, client),
            3 => self.close(world, client),
            4 => {
                world.coverage.count("share members crashed", 1);
                let silently = world.app_rng.hit(0.3);
                crash_client(world, client, silently);
                self.gone(world, client);
            }
            5 => {
                trace!(world.trace, "c{client} app drops the client");
                world.coverage.count("share members dropped", 1);
                world.shared(client).send(Command::Terminate);
                self.gone(world, client);
            }
            _ => match self.plan.pace {
                SharePace::Stalls { for_us } => {
                    let stall = world.app_rng.between(for_us / 4, for_us);
                    trace!(world.trace, "c{client} app stalls for {stall} us");
                    world.coverage.count("share members stalled", 1);
                    self.stalled_until_us = world.now_us() + stall;
                }
                _ => return false,
            },
        }
        true
    }
}

impl Application for ShareWorkload {
    fn turn(&mut self, world: &mut World, client: usize) -> Option<u64> {
        if world.is_finished(client) || self.life == Life::Gone {
            return None;
        }
        let pause = match world.phase {
            Phase::Quiet => 1_000_000,
            _ if self.life == Life::Closing => world.app_rng.between(1, 40_000),
            _ => world.app_rng.between(1, self.plan.pace_us * 2),
        };
        if self.stalled_until_us > world.now_us() && !Self::is_calm(world) {
            return Some(self.stalled_until_us - world.now_us());
        }
        if world.phase == Phase::Quiet {
            // It polls once in a second.
            world.check.share.on_disturbed(client, u64::MAX);
        }
        self.deliver_kept(world, client);
        self.check_close(world, client);
        if self.life == Life::Gone || self.life == Life::Closing {
            return (self.life != Life::Gone).then_some(pause);
        }
        if !self.take_answer(world, client) {
            return Some(pause);
        }
        if !self.process(world, client) {
            return Some(self.busy_until_us.saturating_sub(world.now_us()).max(1));
        }
        self.take_events(world, client);
        if self.commit(world, client) || self.decide(world, client) {
            return Some(pause);
        }
        if self.life == Life::Subscribed {
            self.begin_poll(world, client);
        }
        Some(pause)
    }

    fn waits_for(&mut self, world: &mut World, client: usize) -> Option<String> {
        if world.is_finished(client) || self.life == Life::Gone {
            return None;
        }
        if let Some((pending, _)) = self
            .pending
            .as_ref()
            .filter(|(call, _)| !matches!(call, PendingCall::Poll(_)))
        {
            return Some(format!("client {client} waits for {pending:?}"));
        }
        if self.life != Life::Subscribed || !self.work.is_empty() || !self.renewed.is_empty() {
            return Some(format!(
                "client {client} is {:?}, {} records are not processed",
                self.life,
                self.work.len() + self.renewed.len()
            ));
        }
        let waiting = world.check.share.waiting_for(client);
        waiting.map(|what| format!("client {client} waits for the result of {what}"))
    }

    fn ends_its_clients(&self) -> bool {
        true
    }
}
