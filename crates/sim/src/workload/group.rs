//! Applications that are members of groups: they join, process and commit records, rebalance, stall, leave, crash and
//! return.
//!
//! Groups speak the classic protocol or the consumer protocol (KIP-848), or migrate between them
//! ([`GroupProtocol`](crate::plan::GroupProtocol)).

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use ottla_core::client::Command;
use ottla_core::consumer::{self, CommitTarget, OffsetsResult};
use ottla_core::error::{Error, ErrorCode};
use ottla_core::event::{Event, PartitionNotice, Rebalance};
use ottla_core::reply::Reply;
use ottla_core::sys::Instant;
use ottla_core::types::{PartitionOffset, TopicPartition, offset};

use crate::check::Tp;
use crate::group_protocol::{begin_ownership, marks, member_gone, restart_ownership};
use crate::group_stability::static_leader_may_be_stale;
use crate::plan::{CommitMode, GroupProtocol, MemberPlan, SOCKET_TIMEOUT_MAX_MS};
use crate::trace::trace;
use crate::transport::crash_client;
use crate::workload::consumer::{Taken, take};
use crate::workload::queues::{next_item, on_statistics};
use crate::world::{Application, Member, Phase, World};

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

/// A step of a rebalance that is to be done before more records are polled.
#[derive(Debug)]
enum Step {
    Assign(Vec<PartitionOffset>),
    /// In addition to its partitions.
    AssignMore(Vec<PartitionOffset>),
    Commit,
    Unassign,
    /// Keeps the other partitions.
    UnassignSome(Vec<PartitionOffset>),
    /// Seeks to the beginning of a partition without an offset.
    Seek(Tp),
}

/// The next offset.
#[derive(Debug, Clone, Copy)]
struct Next {
    offset: i64,
    /// The leader epoch of the record before it, by which a truncation is detected (KIP-320).
    leader_epoch: i32,
}

impl Next {
    fn row(self, tp: &Tp) -> PartitionOffset {
        PartitionOffset {
            leader_epoch: self.leader_epoch,
            ..PartitionOffset::new(TopicPartition::new(tp.0.as_str(), tp.1), self.offset)
        }
    }
}

/// A member of a group.
#[derive(Debug)]
pub(crate) struct MemberWorkload {
    client: u32,
    slot: usize,
    plan: MemberPlan,
    life: Life,
    subscription: BTreeSet<String>,
    pending: Option<(PendingCall, u64)>,
    closing: Option<(Done, u64)>,
    /// Its positions at the start of closing.
    positions_at_close: Vec<(Tp, i64)>,
    /// Partitions whose last commit failed.
    refused: BTreeSet<Tp>,
    /// It does not poll while it is being closed.
    never_polls: bool,
    steps: VecDeque<Step>,
    /// Received and not processed: offsets and leader epochs.
    taken: Vec<(Tp, i64, i32)>,
    /// Processed and not committed.
    to_commit: BTreeMap<Tp, Next>,
    uncommitted: u64,
    next_action_us: u64,
    /// Another client replaces it.
    replaced: bool,
    /// It has joined again after the faults.
    refreshed: bool,
    /// The end of a stall.
    stalled_until_us: u64,
}

impl MemberWorkload {
    pub(crate) fn new(client: u32, slot: usize, plan: MemberPlan, now_us: u64) -> Self {
        MemberWorkload {
            client,
            slot,
            next_action_us: now_us + plan.action_every_us,
            plan,
            life: Life::Idle,
            subscription: BTreeSet::new(),
            pending: None,
            closing: None,
            positions_at_close: Vec::new(),
            refused: BTreeSet::new(),
            never_polls: false,
            steps: VecDeque::new(),
            taken: Vec::new(),
            to_commit: BTreeMap::new(),
            uncommitted: 0,
            replaced: false,
            refreshed: false,
            stalled_until_us: 0,
        }
    }

    /// Returns true when the application processes one record in a turn.
    fn is_slow(&self, world: &World) -> bool {
        self.plan.record_us.is_some() && world.phase == Phase::Hostile
    }

    /// Starts an action other than polling. Returns false when there is none.
    fn decide(&mut self, world: &mut World, client: usize) -> bool {
        match (world.phase, self.life) {
            (_, Life::Closing | Life::Gone) => false,
            (Phase::Closing, _) => {
                self.close(world, client);
                true
            }
            (Phase::Hostile | Phase::Settling, Life::Idle)
                if self.next_action_us <= world.now_us() || self.is_new() =>
            {
                self.subscribe(world, client);
                true
            }
            (Phase::Settling, Life::Idle) => {
                self.subscribe(world, client);
                true
            }
            (Phase::Settling, Life::Subscribed)
                if self.plan.is_static && !self.refreshed && static_leader_may_be_stale(world) =>
            {
                self.refreshed = true;
                self.subscribe(world, client);
                true
            }
            (Phase::Hostile, _) if self.next_action_us <= world.now_us() => {
                let mean = self.plan.action_every_us;
                self.next_action_us = world.now_us() + world.app_rng.between(mean / 10, mean * 2);
                self.random_action(world, client)
            }
            (Phase::Probing, Life::Subscribed) if world.group_members.is_leaver(client) => {
                trace!(world.trace, "c{client} app leaves in peace");
                self.close(world, client);
                true
            }
            _ => false,
        }
    }

    fn is_new(&self) -> bool {
        self.subscription.is_empty()
    }

    fn random_action(&mut self, world: &mut World, client: usize) -> bool {
        let which = world.app_rng.below(12);
        match which {
            0 | 1 => self.subscribe(world, client),
            2 => self.unsubscribe(world, client),
            3 => {
                self.never_polls = world.app_rng.hit(0.1);
                self.close(world, client);
            }
            4 | 5 => {
                let silently = world.app_rng.hit(0.3);
                world.coverage.count("members crashed", 1);
                crash_client(world, client, silently);
                self.gone(world);
            }
            6 | 7 => {
                let long = self.plan.max_poll_ms * 1000;
                let stall = world.app_rng.between(long / 4, long * 2);
                trace!(world.trace, "c{client} app stalls for {stall} us");
                world.coverage.count("members stalled", 1);
                self.stalled_until_us = world.now_us() + stall;
            }
            // A member of the consumer protocol cannot be replaced while it runs.
            8 if self.plan.is_static && !self.plan.is_consumer && !self.replaced => {
                trace!(world.trace, "c{client} app is replaced by another");
                world.coverage.count("members replaced", 1);
                self.replaced = true;
                member_gone(world, self.slot, true);
            }
            9 => self.ask_committed(world, client),
            _ => return false,
        }
        true
    }

    /// Records the end of the client: another one may follow.
    fn gone(&mut self, world: &mut World) {
        self.life = Life::Gone;
        self.pending = None;
        self.closing = None;
        self.steps.clear();
        self.taken.clear();
        self.to_commit.clear();
        world.check.groups.on_unassigned(self.client);
        if !self.replaced {
            member_gone(world, self.slot, false);
        }
    }

    /// Ends the client without leaving the group.
    fn end(&mut self, world: &mut World, client: usize, why: &str) {
        trace!(world.trace, "c{client} app {why}");
        world.shared(client).send(Command::Terminate);
        self.gone(world);
    }

    fn send(&mut self, world: &mut World, client: usize, pending: PendingCall, command: consumer::Command) {
        trace!(world.trace, "c{client} app calls {command:?}");
        world.shared(client).send(Command::Consumer(command));
        self.pending = Some((pending, world.now_us()));
    }

    // ---------------------------------------------------------------- records

    /// Processes the records received before.
    fn process(&mut self, world: &mut World, client: usize) {
        for (tp, offset, leader_epoch) in std::mem::take(&mut self.taken) {
            world.check.groups.on_processed(self.client, &tp, offset);
            self.uncommitted += 1;
            let next = Next {
                offset: offset + 1,
                leader_epoch,
            };
            if self.plan.commit == CommitMode::AutoStored {
                store(world, client, next.row(&tp));
            } else {
                self.to_commit.insert(tp, next);
            }
        }
    }

    fn commit_now_and_then(&mut self, world: &mut World, client: usize) {
        if !self.plan.processes_later {
            self.process(world, client);
        }
        // After the faults everything is committed, so that closing has nothing to commit.
        let due = self.uncommitted >= self.plan.commit_every || world.phase > Phase::Probing;
        if due && self.pending.is_none() && self.life == Life::Subscribed && self.steps.is_empty() {
            self.commit(world, client, false);
        }
    }

    /// Runs the next step of a rebalance. Returns false when there is none.
    fn next_step(&mut self, world: &mut World, client: usize) -> bool {
        let Some(step) = self.steps.pop_front() else {
            return false;
        };
        match step {
            Step::Assign(partitions) => self.assign(world, client, partitions),
            Step::AssignMore(partitions) => self.assign_more(world, client, partitions),
            Step::Unassign => self.unassign(world, client),
            Step::UnassignSome(partitions) => self.unassign_some(world, client, partitions),
            Step::Seek(tp) => self.seek(world, client, tp),
            Step::Commit => {
                self.process(world, client);
                self.commit(world, client, true);
            }
        }
        true
    }
}

impl Member for MemberWorkload {
    fn plan(&self) -> &MemberPlan {
        &self.plan
    }

    fn is_member(&self) -> bool {
        self.life == Life::Subscribed && !self.replaced
    }

    fn owner(&self, member: &str) -> String {
        match self.plan.is_static {
            true => format!("the static member of slot {}", self.slot),
            false => member.to_owned(),
        }
    }

    fn subscription(&self) -> &BTreeSet<String> {
        &self.subscription
    }
}

impl Application for MemberWorkload {
    fn turn(&mut self, world: &mut World, client: usize) -> Option<u64> {
        if world.is_finished(client) || self.life == Life::Gone {
            return None;
        }
        let pause = match world.phase {
            Phase::Quiet => 1_000_000,
            _ if self.life == Life::Closing => world.app_rng.between(1, 40_000),
            _ => match self.plan.record_us.filter(|_| world.phase == Phase::Hostile) {
                Some(mean) => world.app_rng.between(mean / 2, mean * 3 / 2),
                None => world.app_rng.between(1, self.plan.pace_us * 2),
            },
        };
        if self.stalled_until_us > world.now_us() && world.phase == Phase::Hostile {
            return Some(self.stalled_until_us - world.now_us());
        }
        if self.replaced && world.phase != Phase::Hostile {
            // Two clients with one static id would fence each other forever.
            self.end(world, client, "ends a client that was replaced");
            return None;
        }
        self.poll_errors(world, client);
        self.check_close(world, client);
        if self.life == Life::Gone || !self.take_answer(world, client) || self.never_polls {
            return Some(pause);
        }
        if !self.next_step(world, client) {
            self.process(world, client);
            if !self.decide(world, client) {
                self.poll(world, client);
                self.commit_now_and_then(world, client);
            }
        }
        Some(pause)
    }

    fn waits_for(&mut self, world: &mut World, client: usize) -> Option<String> {
        if world.is_finished(client) || self.life == Life::Gone {
            return None;
        }
        if let Some((pending, _)) = &self.pending {
            return Some(format!("client {client} waits for {pending:?}"));
        }
        if self.life != Life::Subscribed || self.replaced || !self.steps.is_empty() {
            return Some(format!(
                "client {client} is not a member: {:?}, {:?}",
                self.life, self.steps
            ));
        }
        None
    }

    fn ends_its_clients(&self) -> bool {
        true
    }

    fn as_member(&self) -> Option<&dyn Member> {
        Some(self)
    }
}

/// Stores an offset for the next automatic commit.
fn store(world: &mut World, client: usize, row: PartitionOffset) {
    let shared = world.shared(client);
    let Some(registry) = &shared.consumer else { return };
    let mut rows = [row];
    if let Err(error) = registry.store_offsets(&mut rows) {
        world
            .check
            .violate(format!("client {client}: an offset could not be stored: {error}"));
    }
}

/// A call that is not completed.
#[derive(Debug)]
enum PendingCall {
    Subscribe(Done),
    Unsubscribe(Done),
    Assign(Done),
    Unassign(Done),
    /// An incremental assign or unassign.
    Change(Done),
    Seek(Arc<Reply<OffsetsResult>>),
    /// With the offsets to be committed.
    Commit(Arc<Reply<OffsetsResult>>, Vec<(Tp, Next)>),
    Committed(Arc<Reply<OffsetsResult>>, u64),
}

/// Calls that wait for no broker are completed within this time.
const CALL_US: u64 = 1_000_000;
/// Requests sent during faults are completed within this time.
const CALM_US: u64 = SOCKET_TIMEOUT_MAX_MS * 1000;
/// Closing gives up after 10 s; timers are not more precise.
const CLOSE_US: u64 = 10_500_000;

fn pairs(rows: Vec<PartitionOffset>) -> Vec<(Tp, i64, ErrorCode)> {
    let rows = rows.into_iter();
    rows.map(|r| ((r.tp.topic.to_string(), r.tp.partition), r.offset, r.error))
        .collect()
}

fn tps_of(rows: &[PartitionOffset]) -> Vec<Tp> {
    let tps = rows.iter().map(|r| (r.tp.topic.to_string(), r.tp.partition));
    tps.collect()
}

impl MemberWorkload {
    // ---------------------------------------------------------------- questions

    fn subscribe(&mut self, world: &mut World, client: usize) {
        let mut chosen: Vec<String> = Vec::new();
        let probability = world.app_rng.pick(&[1.0, 1.0, 0.5]);
        for topic in &self.plan.topics {
            if world.app_rng.hit(probability) {
                chosen.push(topic.clone());
            }
        }
        if chosen.is_empty() {
            let at = world.app_rng.below(self.plan.topics.len());
            chosen.push(self.plan.topics[at].clone());
        }
        world.coverage.count("subscriptions", 1);
        self.subscription = chosen.iter().cloned().collect();
        self.life = Life::Subscribed;
        let reply = Reply::new();
        let topics = match self.plan.by_pattern {
            true => vec![format!("^(?:{})$", chosen.join("|"))],
            false => chosen,
        };
        let pending = PendingCall::Subscribe(reply.clone());
        self.send(world, client, pending, consumer::Command::Subscribe { topics, reply });
    }

    fn unsubscribe(&mut self, world: &mut World, client: usize) {
        world.coverage.count("unsubscriptions", 1);
        self.life = Life::Idle;
        let reply = Reply::new();
        let pending = PendingCall::Unsubscribe(reply.clone());
        self.send(world, client, pending, consumer::Command::Unsubscribe { reply });
    }

    fn close(&mut self, world: &mut World, client: usize) {
        trace!(world.trace, "c{client} app closes the consumer");
        world.coverage.count("members closed", 1);
        self.life = Life::Closing;
        self.positions_at_close = world.check.groups.positions(self.client);
        let reply = Reply::new();
        self.closing = Some((reply.clone(), world.now_us()));
        world
            .shared(client)
            .send(Command::Consumer(consumer::Command::Close { reply }));
    }

    fn assign(&mut self, world: &mut World, client: usize, partitions: Vec<PartitionOffset>) {
        let tps = tps_of(&partitions);
        begin_ownership(world, client, self.client, &tps, false);
        let reply = Reply::new();
        let pending = PendingCall::Assign(reply.clone());
        self.send(world, client, pending, consumer::Command::Assign { partitions, reply });
    }

    fn assign_more(&mut self, world: &mut World, client: usize, partitions: Vec<PartitionOffset>) {
        begin_ownership(world, client, self.client, &tps_of(&partitions), true);
        let reply = Reply::new();
        let pending = PendingCall::Change(reply.clone());
        self.send(
            world,
            client,
            pending,
            consumer::Command::IncrementalAssign { partitions, reply },
        );
    }

    fn unassign_some(&mut self, world: &mut World, client: usize, partitions: Vec<PartitionOffset>) {
        let tps = tps_of(&partitions);
        self.taken.retain(|(tp, _, _)| !tps.contains(tp));
        self.to_commit.retain(|tp, _| !tps.contains(tp));
        // Other members may be assigned the partitions from now on.
        world.check.groups.on_given_up(self.client, &tps);
        let partitions = partitions.into_iter().map(|row| row.tp).collect();
        let reply = Reply::new();
        let pending = PendingCall::Change(reply.clone());
        self.send(
            world,
            client,
            pending,
            consumer::Command::IncrementalUnassign { partitions, reply },
        );
    }

    fn unassign(&mut self, world: &mut World, client: usize) {
        self.taken.clear();
        self.to_commit.clear();
        let reply = Reply::new();
        let pending = PendingCall::Unassign(reply.clone());
        self.send(world, client, pending, consumer::Command::Unassign { reply });
    }

    fn seek(&mut self, world: &mut World, client: usize, tp: Tp) {
        let reply = Reply::new();
        let tp = TopicPartition::new(tp.0.as_str(), tp.1);
        let partitions = vec![PartitionOffset::new(tp, offset::BEGINNING)];
        let pending = PendingCall::Seek(reply.clone());
        self.send(world, client, pending, consumer::Command::Seek { partitions, reply });
    }

    fn ask_committed(&mut self, world: &mut World, client: usize) {
        let owned: Vec<Tp> = world.check.groups.owned(self.client).into_iter().collect();
        if owned.is_empty() {
            return;
        }
        let tp = &owned[world.app_rng.below(owned.len())];
        let partitions = vec![TopicPartition::new(tp.0.as_str(), tp.1)];
        let wait_us = world.app_rng.spread(1000, 20_000_000);
        let deadline = Instant::from_micros(world.now_us() + wait_us);
        let reply = Reply::new();
        let pending = PendingCall::Committed(reply.clone(), wait_us);
        self.send(
            world,
            client,
            pending,
            consumer::Command::Committed {
                partitions,
                deadline,
                reply,
            },
        );
    }

    /// Commits the processed records, in the member's commit mode. `waits`: waits for the result in any mode.
    fn commit(&mut self, world: &mut World, client: usize, waits: bool) {
        self.uncommitted = 0;
        let waits = match self.plan.commit {
            CommitMode::Auto | CommitMode::AutoStored | CommitMode::Never => return,
            CommitMode::Sync => true,
            CommitMode::Async => waits,
        };
        let what: Vec<(Tp, Next)> = std::mem::take(&mut self.to_commit).into_iter().collect();
        let rows: Vec<_> = what.iter().map(|(tp, next)| next.row(tp)).collect();
        if rows.is_empty() {
            return;
        }
        world.coverage.count("commits asked for", 1);
        let offsets = Some(rows);
        if waits {
            let reply = Reply::new();
            let pending = PendingCall::Commit(reply.clone(), what);
            let target = CommitTarget::Reply(reply);
            return self.send(world, client, pending, consumer::Command::Commit { offsets, target });
        }
        let target = CommitTarget::Event;
        let command = consumer::Command::Commit { offsets, target };
        trace!(world.trace, "c{client} app calls {command:?}");
        world.shared(client).send(Command::Consumer(command));
    }

    // ---------------------------------------------------------------- answers

    /// Takes the result of the pending call. Returns false while it is pending.
    fn take_answer(&mut self, world: &mut World, client: usize) -> bool {
        let Some((pending, since)) = self.pending.take() else {
            return true;
        };
        let answer = match &pending {
            PendingCall::Subscribe(reply)
            | PendingCall::Unsubscribe(reply)
            | PendingCall::Assign(reply)
            | PendingCall::Unassign(reply)
            | PendingCall::Change(reply) => reply.try_take().map(|r| r.map(|()| Vec::new())),
            PendingCall::Seek(reply) | PendingCall::Commit(reply, _) | PendingCall::Committed(reply, _) => {
                reply.try_take()
            }
        };
        let Some(answer) = answer else {
            let shared = world.shared(client);
            let limit = match &pending {
                PendingCall::Commit(..) => u64::from(shared.conf.socket_timeout_ms) * 1000,
                PendingCall::Committed(_, wait_us) => *wait_us,
                _ => 0,
            };
            if world.now_us() - since > limit + CALL_US + world.plan.net.thread_delay_us {
                world
                    .check
                    .violate(format!("client {client}: no answer to {pending:?}"));
            }
            self.pending = Some((pending, since));
            return false;
        };
        trace!(world.trace, "c{client} app receives {answer:?} for {pending:?}");
        self.on_answer(world, client, (pending, since), answer);
        true
    }

    fn on_answer(
        &mut self,
        world: &mut World,
        client: usize,
        (pending, since): (PendingCall, u64),
        answer: OffsetsResult,
    ) {
        match pending {
            PendingCall::Commit(_, what) => match answer {
                Ok(rows) => self.on_commit_rows(world, &pairs(rows)),
                // A member that keeps its partitions during a rebalance commits them later. Without rebalance events it
                // could not know whether they are still its own.
                Err(error) if error.code == ErrorCode::REBALANCE_IN_PROGRESS && self.plan.by_event => {
                    self.uncommitted += 1;
                    for (tp, next) in what {
                        self.to_commit.entry(tp).or_insert(next);
                    }
                }
                Err(_) => self.refused.extend(what.into_iter().map(|(tp, _)| tp)),
            },
            PendingCall::Committed(..) => {
                for (tp, at, error) in answer.map(pairs).unwrap_or_default() {
                    if error == ErrorCode::NO_ERROR {
                        let at = (at >= 0).then_some(at);
                        let result = world.check.groups.on_committed_offset(self.client, &tp, at, since);
                        world.check.expect(result);
                    }
                }
            }
            PendingCall::Unassign(_) => {
                world.check.groups.on_unassigned(self.client);
                self.expect_success(world, client, "unassign", answer.map(|_| ()));
            }
            PendingCall::Assign(_) => self.expect_success(world, client, "assign", answer.map(|_| ())),
            PendingCall::Change(_) => self.expect_success(world, client, "an incremental change", answer.map(|_| ())),
            PendingCall::Subscribe(_) => self.expect_success(world, client, "subscribe", answer.map(|_| ())),
            PendingCall::Unsubscribe(_) => {
                if !self.plan.by_event && self.plan.is_incremental() {
                    restart_ownership(world, self.client);
                }
                self.expect_success(world, client, "unsubscribe", answer.map(|_| ()));
            }
            PendingCall::Seek(_) => {
                for (tp, _, error) in answer.map(pairs).unwrap_or_default() {
                    // The partition may have been revoked.
                    if error == ErrorCode::NO_ERROR {
                        world.check.groups.on_sought(self.client, &tp);
                    }
                }
            }
        }
    }

    fn expect_success(&self, world: &mut World, client: usize, what: &str, answer: Result<(), Error>) {
        if let Err(error) = answer {
            world.check.violate(format!("client {client}: {what} failed: {error}"));
        }
    }

    /// Checks the results of a commit.
    fn on_commit_rows(&mut self, world: &mut World, rows: &[(Tp, i64, ErrorCode)]) {
        for (tp, at, error) in rows {
            if *error == ErrorCode::NO_ERROR {
                world.coverage.count("offsets committed", 1);
                let result = world.check.groups.on_commit_result(self.client, tp, *at);
                world.check.expect(result);
                self.refused.remove(tp);
            } else {
                world.coverage.count("offsets not committed", 1);
                self.refused.insert(tp.clone());
                // A member has its current epoch, or can fetch it: only a rebalance of the classic protocol makes a
                // commit fail so.
                let is_calm = world.now_us() > world.healed_at_us.saturating_add(CALM_US);
                if *error == ErrorCode::STALE_MEMBER_EPOCH && self.plan.is_consumer && is_calm {
                    world.check.violate(format!(
                        "client {}: after the faults {tp:?} @ {at} is not committed: {error:?}",
                        self.client
                    ));
                }
            }
        }
    }

    /// Ends the client when it is closed.
    fn check_close(&mut self, world: &mut World, client: usize) {
        let Some((reply, since)) = self.closing.take() else {
            return;
        };
        let took = world.now_us() - since;
        if took > CLOSE_US + world.plan.net.thread_delay_us + 100_000 {
            return world
                .check
                .violate(format!("client {client}: closing takes more than {took} us"));
        }
        let Some(answer) = reply.try_take() else {
            self.closing = Some((reply, since));
            return;
        };
        trace!(world.trace, "c{client} app receives {answer:?} for closing");
        if world.phase != Phase::Hostile && !self.never_polls {
            self.check_closed(world, client, since, answer);
        }
        self.end(world, client, "ends the client");
    }

    /// Checks that a member that was closed after the faults has left its group, and has committed its records.
    fn check_closed(&mut self, world: &mut World, client: usize, since: u64, answer: Result<(), Error>) {
        // Closing may have begun, and requests may have been lost, during the faults.
        if since < world.healed_at_us.saturating_add(CLOSE_US) {
            return;
        }
        if let Err(error) = answer {
            // Requests on a dead connection are not answered in time.
            if error.code == ErrorCode::L_TIMED_OUT && world.net.has_dead_connection(client) {
                return;
            }
            return world
                .check
                .violate(format!("client {client} could not be closed after the faults: {error}"));
        }
        let view = world.cluster.group_view(&self.plan.group);
        let has_abandoned_join = |member: &str| world.check.groups.has_abandoned_join(&self.plan.group, member);
        let stays = view
            .iter()
            .flat_map(|v| &v.members)
            .find(|m| m.client_id == self.client_id() && !has_abandoned_join(&m.id));
        if let Some(member) = stays.filter(|_| !self.plan.is_static) {
            return world.check.violate(format!(
                "client {client} was closed, and {} is still in the group",
                member.id
            ));
        }
        let last_word = self.plan.by_event && self.plan.commit_on_revoke;
        // In a consumer group with classic members, each member that leaves increments the epoch at once, and a commit
        // in the old epoch that is in flight fails.
        let commits = self.plan.group_protocol != GroupProtocol::Migrating
            && match self.plan.commit {
                CommitMode::Auto => true,
                CommitMode::AutoStored => last_word || !self.plan.processes_later,
                CommitMode::Sync | CommitMode::Async => last_word,
                CommitMode::Never => false,
            };
        for (tp, at) in std::mem::take(&mut self.positions_at_close) {
            let committed = world.cluster.committed_offset(&self.plan.group, &tp.0, tp.1);
            let lost_commit = world.check.groups.lost_commit(&self.plan.group, &tp);
            let reported = self.refused.contains(&tp);
            if commits && !reported && committed.max(lost_commit).is_none_or(|c| c < at) {
                world.check.violate(format!(
                    "client {client} was closed at {at} of {tp:?}, and {committed:?} is committed"
                ));
            }
        }
    }

    fn client_id(&self) -> String {
        format!("member-{}", self.slot)
    }
}

impl MemberWorkload {
    /// Polls events and records, up to a rebalance.
    fn poll(&mut self, world: &mut World, client: usize) {
        let most = match self.is_slow(world) {
            true => 1,
            false => world.app_rng.between(1, self.plan.most * 2),
        };
        for _ in 0..most {
            match next_item(world, client, take) {
                None => return,
                Some(Ok(taken)) => self.on_record(world, client, taken),
                Some(Err(event)) => self.on_event(world, client, event),
            }
            if !self.steps.is_empty() || self.life == Life::Gone {
                return;
            }
        }
    }

    fn on_record(&mut self, world: &mut World, client: usize, taken: Taken) {
        let Taken {
            topic,
            partition,
            offset,
            position,
            leader_epoch,
            found,
        } = taken;
        trace!(
            world.trace,
            "c{client} app takes {topic} [{partition}] @ {offset} {found:?}"
        );
        world.coverage.count("records consumed by groups", 1);
        world.counters(client).taken += 1;
        let tp = (topic, partition);
        let Some(found) = found.filter(|_| position == offset + 1) else {
            return world.check.violate(format!(
                "client {client}: position {position} after {tp:?} @ {offset}, {found:?}"
            ));
        };
        let marks = marks(world, &tp);
        let result = world
            .check
            .groups
            .on_record(self.client, &tp, (offset, leader_epoch), found, marks);
        world.check.expect(result);
        if self.plan.commit == CommitMode::Auto {
            world.check.groups.on_processed(self.client, &tp, offset);
        } else {
            self.taken.push((tp, offset, leader_epoch));
        }
    }

    fn on_event(&mut self, world: &mut World, client: usize, event: Event) {
        match event {
            Event::Rebalance(rebalance) => self.on_rebalance(world, client, rebalance),
            Event::Partition(notice) => self.on_notice(world, client, notice),
            Event::Commit(result) => {
                trace!(world.trace, "c{client} app receives {result:?}");
                let rows = result.offsets.into_iter();
                let rows: Vec<(Tp, i64, ErrorCode)> = rows
                    .map(|r| ((r.tp.topic.to_string(), r.tp.partition), r.offset, r.error))
                    .collect();
                self.on_commit_rows(world, &rows);
            }
            other => trace!(world.trace, "c{client} app receives {other:?}"),
        }
    }

    fn on_rebalance(&mut self, world: &mut World, client: usize, rebalance: Rebalance) {
        trace!(world.trace, "c{client} app receives {rebalance:?}");
        let shared = world.shared(client);
        let lost = shared.consumer.as_ref().is_some_and(|r| r.is_assignment_lost());
        let incremental = self.plan.is_incremental();
        match rebalance.code {
            ErrorCode::L_ASSIGN_PARTITIONS => {
                world.coverage.count("assignment events", 1);
                self.steps.push_back(match incremental {
                    true => Step::AssignMore(rebalance.partitions),
                    false => Step::Assign(rebalance.partitions),
                });
            }
            ErrorCode::L_REVOKE_PARTITIONS => {
                world.coverage.count("revocation events", 1);
                if lost {
                    world.coverage.count("assignments lost", 1);
                }
                if self.plan.commit_on_revoke && (!lost || self.plan.commits_when_lost) {
                    self.steps.push_back(Step::Commit);
                }
                self.steps.push_back(match incremental {
                    true => Step::UnassignSome(rebalance.partitions),
                    false => Step::Unassign,
                });
            }
            code => world
                .check
                .violate(format!("client {client}: an unknown rebalance event: {code:?}")),
        }
    }

    fn on_notice(&mut self, world: &mut World, client: usize, notice: PartitionNotice) {
        let tp = notice
            .partition
            .as_ref()
            .map(|p| (p.topic().name().to_owned(), p.partition()));
        let error = &notice.error;
        trace!(
            world.trace,
            "c{client} app receives error for {tp:?}: {error} at {}", notice.offset
        );
        match (error.code, tp) {
            (ErrorCode::L_PARTITION_EOF, Some(tp)) => {
                world.coverage.count("ends of partitions", 1);
                let marks = marks(world, &tp);
                let result = world.check.groups.on_end(self.client, &tp, notice.offset, marks);
                world.check.expect(result);
            }
            (ErrorCode::L_AUTO_OFFSET_RESET, Some(tp)) => {
                let result = world.check.groups.on_no_offset(self.client, &tp);
                world.check.expect(result);
                self.steps.push_back(Step::Seek(tp));
            }
            (ErrorCode::L_LOG_TRUNCATION, Some(tp)) => {
                world.coverage.count("truncation errors", 1);
                self.steps.push_back(Step::Seek(tp));
            }
            (ErrorCode::L_MAX_POLL_EXCEEDED, _) => world.coverage.count("max.poll.interval errors", 1),
            _ => world.coverage.count("other errors of members", 1),
        }
        if error.fatal {
            self.on_fatal(world, client, notice.error);
        }
    }

    /// Polls errors of the client.
    fn poll_errors(&mut self, world: &mut World, client: usize) {
        let shared = world.shared(client);
        while let Some(event) = shared.main_queue.pop(Some(Duration::ZERO)) {
            if let Event::Stats(document) = event {
                on_statistics(world, client, *document);
                continue;
            }
            trace!(world.trace, "c{client} app receives {event:?}");
            if let Event::Error(error) = event
                && error.fatal
            {
                self.on_fatal(world, client, error);
            }
        }
    }

    /// Handles a fatal error: only another client can continue.
    fn on_fatal(&mut self, world: &mut World, client: usize, error: Error) {
        world.coverage.count("members fenced", 1);
        if self.life != Life::Gone {
            self.end(world, client, &format!("ends the client: {error}"));
        }
    }
}
