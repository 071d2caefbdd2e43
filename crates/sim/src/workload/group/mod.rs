//! Applications that are members of groups: they join, take records, process them, commit, hand partitions over,
//! stall, leave, crash and come back.
//!
//! Groups speak the classic protocol or the consumer protocol (KIP-848), or move from one to the other while they work
//! ([`Manner`]). Members with transactions would be further kinds of [`MemberPlan`] here and further books in
//! `check/groups.rs`.

mod calls;
mod events;
mod plan;

pub(crate) use plan::{GroupProtocol, GroupsPlan, MemberPlan};

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use ottla::client::Command;
use ottla::consumer;
use ottla::error::Error;
use ottla::reply::Reply;
use ottla::types::{PartitionOffset, TopicPartition};

use crate::check::Tp;
use crate::trace::trace;
use crate::world::{Phase, World};

use calls::PendingCall;
use plan::CommitMode;

/// The answer to a call that has nothing to say but how it went.
type Done = Arc<Reply<Result<(), Error>>>;

/// How far a member's life is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Life {
    /// Not subscribed.
    Idle,
    Subscribed,
    /// Being closed.
    Closing,
    /// Over.
    Gone,
}

/// What is still to be done for a rebalance before records are taken again.
#[derive(Debug)]
enum Step {
    Assign(Vec<PartitionOffset>),
    /// Besides what it has.
    AssignMore(Vec<PartitionOffset>),
    Commit,
    Unassign,
    /// Keep the others.
    UnassignSome(Vec<PartitionOffset>),
    /// There is no offset for a partition: go to its beginning.
    Seek(Tp),
}

/// The offset to go on at.
#[derive(Debug, Clone, Copy)]
struct Next {
    offset: i64,
    /// The leader epoch of the record before it: who begins there finds out by it whether the log still has that (KIP-320).
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

/// A member at work.
#[derive(Debug)]
pub(crate) struct MemberWorkload {
    client: u32,
    pub(crate) slot: usize,
    plan: MemberPlan,
    life: Life,
    pub(crate) subscription: BTreeSet<String>,
    pending: Option<(PendingCall, u64)>,
    closing: Option<(Done, u64)>,
    /// Where it stood when it began to close.
    positions_at_close: Vec<(Tp, i64)>,
    /// Of which it was told last that its offset is not committed.
    refused: BTreeSet<Tp>,
    /// It does not listen while it is being closed.
    never_polls: bool,
    steps: VecDeque<Step>,
    /// Taken and not processed: offsets and leader epochs.
    taken: Vec<(Tp, i64, i32)>,
    /// Processed and not committed.
    to_commit: BTreeMap<Tp, Next>,
    uncommitted: u64,
    next_action_us: u64,
    /// Somebody else has taken its place, or is about to.
    replaced: bool,
    /// It has joined anew in peace.
    refreshed: bool,
    /// It does nothing until then.
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

    /// Does something; gives the time to the next turn.
    pub(in crate::workload) fn turn(&mut self, world: &mut World, client: usize) -> Option<u64> {
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
        if self.stalled_until_us > world.now_us && world.phase == Phase::Hostile {
            return Some(self.stalled_until_us - world.now_us);
        }
        if self.replaced && world.phase != Phase::Hostile {
            // Two with one name would throw each other out for ever.
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

    /// Whether the application takes one record in a turn.
    fn is_slow(&self, world: &World) -> bool {
        self.plan.record_us.is_some() && world.phase == Phase::Hostile
    }

    /// Does something other than to take records; false when there is nothing to be done.
    fn decide(&mut self, world: &mut World, client: usize) -> bool {
        match (world.phase, self.life) {
            (_, Life::Closing | Life::Gone) => false,
            (Phase::Closing, _) => {
                self.close(world, client);
                true
            }
            (Phase::Hostile | Phase::Settling, Life::Idle) if self.next_action_us <= world.now_us || self.is_new() => {
                self.subscribe(world, client);
                true
            }
            (Phase::Settling, Life::Idle) => {
                self.subscribe(world, client);
                true
            }
            (Phase::Settling, Life::Subscribed)
                if self.plan.is_static && !self.refreshed && world.static_leader_may_be_stale() =>
            {
                self.refreshed = true;
                self.subscribe(world, client);
                true
            }
            (Phase::Hostile, _) if self.next_action_us <= world.now_us => {
                let mean = self.plan.action_every_us;
                self.next_action_us = world.now_us + world.app_rng.between(mean / 10, mean * 2);
                self.random_action(world, client)
            }
            (Phase::Probing, Life::Subscribed) if world.group_members.leaver == Some(client) => {
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
                world.crash_client(client, silently);
                self.gone(world);
            }
            6 | 7 => {
                let long = self.plan.max_poll_ms * 1000;
                let stall = world.app_rng.between(long / 4, long * 2);
                trace!(world.trace, "c{client} app stalls for {stall} us");
                world.coverage.count("members stalled", 1);
                self.stalled_until_us = world.now_us + stall;
            }
            // A member of the consumer protocol does not give its place away while it lives.
            8 if self.plan.is_static && !self.plan.is_consumer && !self.replaced => {
                trace!(world.trace, "c{client} app is replaced by another");
                world.coverage.count("members replaced", 1);
                self.replaced = true;
                world.member_gone(self.slot, true);
            }
            9 => self.ask_committed(world, client),
            _ => return false,
        }
        true
    }

    /// The client is over: another one may follow.
    fn gone(&mut self, world: &mut World) {
        self.life = Life::Gone;
        self.pending = None;
        self.closing = None;
        self.steps.clear();
        self.taken.clear();
        self.to_commit.clear();
        world.check.groups.on_unassigned(self.client);
        if !self.replaced {
            world.member_gone(self.slot, false);
        }
    }

    /// Ends the client without leaving the group.
    fn end(&mut self, world: &mut World, client: usize, why: &str) {
        trace!(world.trace, "c{client} app {why}");
        world.shared(client).send(Command::Terminate);
        self.gone(world);
    }

    fn send(&mut self, world: &mut World, client: usize, pending: PendingCall, command: consumer::Command) {
        trace!(world.trace, "c{client} app asks {command:?}");
        world.shared(client).send(Command::Consumer(command));
        self.pending = Some((pending, world.now_us));
    }

    // ---------------------------------------------------------------- records

    /// Processes what was taken before.
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
        // In peace everything is committed, so that closing has nothing to find.
        let due = self.uncommitted >= self.plan.commit_every || world.phase > Phase::Probing;
        if due && self.pending.is_none() && self.life == Life::Subscribed && self.steps.is_empty() {
            self.commit(world, client, false);
        }
    }

    /// Carries out what a rebalance asks for; false when nothing is left to be done.
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

    // ---------------------------------------------------------------- for the world

    /// Whether it is, or wants to be, a member.
    pub(crate) fn is_member(&self) -> bool {
        self.life == Life::Subscribed && !self.replaced
    }

    pub(crate) fn plan(&self) -> &MemberPlan {
        &self.plan
    }

    /// Who owns what this client has. A static member that comes back has another member id and the same partitions in
    /// the same generation.
    pub(crate) fn owner(&self, member: &str) -> String {
        match self.plan.is_static {
            true => format!("the static member of slot {}", self.slot),
            false => member.to_owned(),
        }
    }

    /// Why this is not done; `None` when it is.
    pub(in crate::workload) fn waits_for(&mut self, world: &mut World, client: usize) -> Option<String> {
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
