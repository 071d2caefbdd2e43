//! Applications that are members of share groups: they poll, process and acknowledge records, commit, stall, leave, crash
//! and return.
//!
//! They use [`Application`](share::Application), as the handle of share consumers does. A call that waits takes several turns.

mod calls;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use ottla_core::client::Command;
use ottla_core::error::{Error, ErrorCode};
use ottla_core::event::{Event, ShareBatch};
use ottla_core::reply::Reply;
use ottla_core::share::{self, CommitResults};
use ottla_core::sys::Instant;

use crate::canary::Canary;
use crate::client::SimClient;
use crate::plan::{ShareMemberPlan, SharePace};
use crate::trace::trace;
use crate::transport::crash_client;
use crate::workload::queues::on_statistics;
use crate::world::{Application, Phase, World};

/// The reply to a call without a result.
type Done = Arc<Reply<Result<(), Error>>>;

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
                Event::Stats(document) => on_statistics(world, client, *document),
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
            (Phase::Settling | Phase::Probing, Life::Subscribed) if !self.is_refreshed => {
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
        // Without it the group would not read the records of the next phase.
        if !self.is_refreshed {
            return Some(format!("client {client} is not subscribed to all topics"));
        }
        let waiting = world.check.share.waiting_for(client);
        waiting.map(|what| format!("client {client} waits for the result of {what}"))
    }

    fn ends_its_clients(&self) -> bool {
        true
    }
}
