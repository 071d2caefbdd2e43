//! Being a member of a group of the consumer protocol (KIP-848): the coordinator divides, and tells each member in the
//! answers to its heartbeats what it is to have.
//!
//! [`ConsumerMember`] goes from what the member has to the newest *target*, one step at a time: first it gives up what the
//! target lacks ([`GroupAction::IncrementalRevoke`]), and tells the coordinator so once that is done and what was to be committed
//! before is answered; then it takes up what is new ([`GroupAction::IncrementalAssign`]). A target that comes in the middle counts when
//! that is done. Nothing of what it keeps is interrupted. A revocation is always followed by an assignment, of nothing if
//! nothing is new: applications wait for it to know that the rebalance has ended.
//!
//! - `subscription`: topic names and patterns;
//! - `partitions`: sets of partitions by topic id;
//! - `heartbeats`: the requests;
//! - `answers`: what becomes of the member by their answers;
//! - `lookup`: topic ids to names.

mod answers;
mod heartbeats;
mod lookup;
mod partitions;
mod subscription;

use std::collections::BTreeMap;
use std::sync::Arc;

use ottla_protocol::Uuid;

use super::actions::GroupAction;
use super::commit_identity::CommitIdentity;
use super::poll_watch;
use super::topic_errors::TopicErrors;
use crate::cluster::{Cluster, TopicMeta};
use crate::config::ClientConfig;
use crate::context::Ctx;
use crate::error::{Error, ErrorCode};
use crate::sys::{Instant, Rng, earliest};
use crate::types::TopicPartition;

use heartbeats::Heartbeat;
use lookup::Lookup;
use partitions::Partitions;
use subscription::HeartbeatSubscription;

/// How often heartbeats are sent before the coordinator has said how often it wants them, in milliseconds.
const FIRST_INTERVAL_MS: u64 = 5000;

/// Where the member stands.
///
/// ```text
///  Out ── subscribe ──▶ Joining ── answered ──▶ Member ── unsubscribe ──▶ Leaving ──▶ Out
///                          ▲                      │                          │
///                          └─────────────────── Lost ◀── fenced, parked ─────┘
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Not subscribed, or shut out for good.
    Inactive,
    /// Heartbeats with epoch 0, until one is answered. It has no partitions.
    Joining,
    /// In the group, with an epoch of its own.
    Member,
    /// The member gives up what it has and then sends the heartbeat that leaves, whose id this is.
    Leaving(Option<u64>),
    /// Not in the group any more: what it has may be others'. When the application has given that up, the member joins
    /// anew, or is out if nothing is subscribed to.
    Lost,
}

/// What is being waited for before the member's partitions change further.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    /// Nothing: what it has is what it should have, as far as that is known.
    Idle,
    /// The application was asked to give these up.
    Revoking(Partitions),
    /// It has done so; the commits up to this one are waited for, so that none of them comes after those of the next
    /// owner.
    AwaitingCommits(Partitions, u64),
}

/// A member of a group of the consumer protocol. Order of calls: what the application and the coordinator say, in any
/// order, then `take_actions`, and `send` when `has_work`. An order to revoke is confirmed with
/// [`on_revoked`](Self::on_revoked); there is never more than one unconfirmed.
#[derive(Debug)]
pub(super) struct ConsumerMember {
    phase: Phase,
    step: Step,
    subscription: HeartbeatSubscription,
    instance_id: Option<String>,
    /// Made by this client, for as long as it lives (KIP-1082); empty while a coordinator that makes ids itself has made
    /// none.
    member_id: String,
    /// The member epoch, -1 outside of the group.
    epoch: i32,
    /// How many times the member has joined: what it wanted to commit in an earlier life is not committed in a later one.
    incarnation: u32,
    /// What the member has, or is about to take up, or has not given up for good yet.
    owned: Partitions,
    /// What the coordinator last said it should have.
    target: Partitions,
    /// Names of topics in `owned` and `target`.
    names: BTreeMap<Uuid, Arc<str>>,
    lookup: Lookup,
    heartbeat: Heartbeat,
    /// The coordinator may know this member.
    may_be_member: bool,
    /// Leave is to be sent, whatever the phase.
    pending_leave: bool,
    /// The application polls too rarely: the member is out of its group until it polls again.
    max_poll_exceeded: bool,
    /// Nothing helps but another subscription.
    shut_out: bool,
    /// Partitions were revoked, and no assignment was announced since.
    assignment_due: bool,
    topic_errors: TopicErrors,
    actions: Vec<GroupAction>,
}

impl ConsumerMember {
    pub(super) fn new(conf: &ClientConfig) -> Self {
        ConsumerMember {
            phase: Phase::Inactive,
            step: Step::Idle,
            subscription: HeartbeatSubscription::default(),
            instance_id: Some(conf.group_instance_id.clone()).filter(|i| !i.is_empty()),
            member_id: String::new(),
            epoch: -1,
            incarnation: 0,
            owned: Partitions::default(),
            target: Partitions::default(),
            names: BTreeMap::new(),
            lookup: Lookup::default(),
            heartbeat: Heartbeat::new(),
            may_be_member: false,
            pending_leave: false,
            max_poll_exceeded: false,
            shut_out: false,
            assignment_due: false,
            topic_errors: TopicErrors::default(),
            actions: Vec::new(),
        }
    }

    // ---------------------------------------------------------------- what others may know

    pub(super) fn take_actions(&mut self) -> Vec<GroupAction> {
        std::mem::take(&mut self.actions)
    }

    /// Neither in a group nor on the way into or out of one.
    pub(super) fn is_inactive(&self) -> bool {
        self.phase == Phase::Inactive
    }

    /// Whether the coordinator counts the member in.
    pub(super) fn is_in(&self) -> bool {
        self.epoch > 0
    }

    /// Where the membership stands, by the name that programs know.
    pub(super) fn public_state(&self) -> &'static str {
        match (self.phase, &self.step) {
            (_, Step::Revoking(_) | Step::AwaitingCommits(..)) => "wait-unassign-to-complete",
            (Phase::Joining, Step::Idle) => "wait-join",
            (Phase::Member, Step::Idle) => "steady",
            (Phase::Inactive | Phase::Leaving(_) | Phase::Lost, Step::Idle) => "init",
        }
    }

    /// The member id and the member epoch.
    pub(super) fn who(&self) -> (&str, i32) {
        match self.is_inactive() {
            true => ("", -1),
            false => (&self.member_id, self.epoch),
        }
    }

    /// As whom offsets are committed and read.
    pub(super) fn identity(&self) -> CommitIdentity {
        let (member_id, generation) = self.who();
        CommitIdentity {
            member_id: member_id.to_owned(),
            generation,
            incarnation: self.is_in().then_some(self.incarnation),
        }
    }

    /// The subscription.
    pub(super) fn topics(&self) -> Vec<String> {
        self.subscription.topics()
    }

    // ---------------------------------------------------------------- what the application wants

    pub(super) fn subscribe(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster, topics: &[String]) {
        self.set_subscription(ctx.now, cluster, HeartbeatSubscription::new(topics));
        if self.member_id.is_empty() {
            self.member_id = new_member_id(ctx.rng);
        }
        self.shut_out = false;
        self.max_poll_exceeded = false;
        self.topic_errors.clear();
        self.heartbeat.clear_backoff(ctx.now);
        self.phase = match self.phase {
            Phase::Inactive => Phase::Joining,
            Phase::Leaving(None) if self.is_in() => Phase::Member,
            Phase::Leaving(None) if self.owned.is_empty() => Phase::Joining,
            phase => phase,
        };
        self.proceed();
    }

    /// Gives up the partitions, then leaves.
    pub(super) fn unsubscribe(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster) {
        self.set_subscription(ctx.now, cluster, HeartbeatSubscription::default());
        self.phase = match self.phase {
            Phase::Joining | Phase::Member if self.may_be_member => Phase::Leaving(None),
            Phase::Joining | Phase::Member => Phase::Lost,
            phase => phase,
        };
        self.proceed();
    }

    fn set_subscription(&mut self, now: Instant, cluster: &mut Cluster, new: HeartbeatSubscription) {
        for name in new.names.difference(&self.subscription.names) {
            cluster.watch(name, now);
        }
        for name in self.subscription.names.difference(&new.names) {
            cluster.unwatch(name);
        }
        self.subscription = new;
    }

    /// What was to be revoked was given up; what was to be committed before stands in the queue up to `commit`.
    pub(super) fn on_revoked(&mut self, commit: u64) {
        self.step = match std::mem::replace(&mut self.step, Step::Idle) {
            Step::Revoking(given_up) if self.phase == Phase::Lost => {
                self.owned = self.owned.minus(&given_up);
                Step::Idle
            }
            Step::Revoking(given_up) => Step::AwaitingCommits(given_up, commit),
            step => step,
        };
        self.proceed();
    }

    /// The commit that is waited for before the coordinator is told of what was given up.
    pub(super) fn awaited_commit(&self) -> Option<u64> {
        match self.step {
            Step::AwaitingCommits(_, commit) => Some(commit),
            _ => None,
        }
    }

    /// The commits that were waited for are answered.
    pub(super) fn on_commits_answered(&mut self) {
        if let Step::AwaitingCommits(given_up, _) = &self.step {
            self.owned = self.owned.minus(given_up);
            self.step = Step::Idle;
            self.proceed();
        }
    }

    /// The application has not polled for `max.poll.interval.ms` (KIP-62): leaves the group at once, without waiting for
    /// the application to give up the partitions, and stays out until [`rejoin_on_poll`](Self::unpark).
    pub(super) fn leave_on_max_poll(&mut self, ctx: &Ctx<'_>, over_ms: u64) {
        if self.max_poll_exceeded || matches!(self.phase, Phase::Inactive | Phase::Leaving(_)) {
            return;
        }
        self.max_poll_exceeded = true;
        self.actions
            .push(GroupAction::ReportError(poll_watch::exceeded(ctx, over_ms)));
        self.pending_leave = self.may_be_member;
        self.on_lost();
    }

    /// The application polls.
    pub(super) fn rejoin_on_poll(&mut self, now: Instant) {
        if std::mem::take(&mut self.max_poll_exceeded) {
            self.heartbeat.clear_backoff(now);
        }
    }

    /// Ends membership without waiting for anybody.
    pub(super) fn abandon(&mut self) {
        self.forget_group();
        self.phase = Phase::Inactive;
        self.step = Step::Idle;
        self.owned = Partitions::default();
        self.pending_leave = false;
    }

    // ---------------------------------------------------------------- from what it has to what it should have

    /// The partitions may be others' by now, and the epoch is worth nothing.
    fn on_lost(&mut self) {
        self.forget_group();
        self.phase = Phase::Lost;
        if let Step::AwaitingCommits(given_up, _) = &self.step {
            self.owned = self.owned.minus(given_up);
            self.step = Step::Idle;
        }
        if self.step != Step::Idle {
            self.actions.push(GroupAction::MarkLost);
        }
        self.proceed();
    }

    fn forget_group(&mut self) {
        self.assignment_due = false;
        self.epoch = -1;
        self.may_be_member = false;
        self.target = Partitions::default();
        self.heartbeat.forget();
        self.lookup = Lookup::default();
    }

    /// Takes the next step, when none is under way.
    fn proceed(&mut self) {
        if self.step != Step::Idle {
            return;
        }
        let surplus = match self.phase {
            Phase::Member => self.owned.minus(&self.target),
            _ => self.owned.clone(),
        };
        if !surplus.is_empty() {
            self.actions.push(GroupAction::IncrementalRevoke {
                partitions: self.named(&surplus),
                lost: self.phase == Phase::Lost,
            });
            self.step = Step::Revoking(surplus);
            self.assignment_due = self.phase == Phase::Member;
            return;
        }
        match self.phase {
            Phase::Member => self.add(),
            Phase::Lost if self.subscription.is_empty() || self.shut_out => self.phase = Phase::Inactive,
            Phase::Lost => self.phase = Phase::Joining,
            Phase::Inactive | Phase::Joining | Phase::Leaving(_) => {}
        }
    }

    /// Takes up what is new and has a name.
    fn add(&mut self) {
        let mut new = self.target.minus(&self.owned);
        let is_settled = new.is_empty();
        new.retain_topics(|id| self.names.contains_key(&id));
        if !new.is_empty() || self.assignment_due && is_settled {
            self.assignment_due = false;
            self.actions.push(GroupAction::IncrementalAssign(self.named(&new)));
            self.owned.extend(&new);
        }
    }

    fn named(&self, partitions: &Partitions) -> Vec<TopicPartition> {
        let rows = partitions
            .iter()
            .filter_map(|(id, p)| Some(TopicPartition::new(self.names.get(&id)?.clone(), p)));
        let mut rows: Vec<TopicPartition> = rows.collect();
        rows.sort();
        rows
    }

    /// Metadata of a topic changed: an id may have got its name.
    pub(super) fn on_topic_changed(&mut self, cluster: &Cluster, name: &Arc<str>) {
        // The coordinator waits for topics that do not exist yet; a name that brokers refuse never will.
        let refused = |topic: &TopicMeta| topic.error == ErrorCode::TOPIC_EXCEPTION;
        let error = match self.subscription.names.contains(name) && cluster.topic(name).is_some_and(refused) {
            true => ErrorCode::TOPIC_EXCEPTION,
            false => ErrorCode::NO_ERROR,
        };
        self.actions.extend(self.topic_errors.note(name, error));
        if self.resolve_names(cluster) {
            self.proceed();
        }
    }

    // ---------------------------------------------------------------- driver

    /// When to be called again, if nothing else happens.
    pub(super) fn wake(&self) -> Option<Instant> {
        earliest(self.next_heartbeat(), self.next_lookup())
    }

    /// Whether a request is due.
    pub(super) fn has_work(&self, now: Instant) -> bool {
        self.pending_leave || self.wake().is_some_and(|at| at <= now)
    }

    fn report_once(&mut self, error: Error) {
        if self.heartbeat.reported != Some(error.code) {
            self.heartbeat.reported = Some(error.code);
            self.actions.push(GroupAction::ReportError(error));
        }
    }

    fn report_fatal(&mut self, code: ErrorCode, text: String) {
        self.actions
            .push(GroupAction::ReportError(Error::new(code, text).into_fatal()));
        self.shut_out = true;
        self.on_lost();
    }
}

/// A random UUID (RFC 4122, version 4) in Kafka's form, which does not begin with `-`: tools would take it for an option.
fn new_member_id(rng: &mut Rng) -> String {
    loop {
        let (high, low) = (rng.next_u64(), rng.next_u64());
        let bits = (u128::from(high) << 64) | u128::from(low);
        let version = bits & !(0xf << 76) | 0x4 << 76;
        let variant = version & !(0x3 << 62) | 0x2 << 62;
        let id = Uuid(variant.to_be_bytes()).to_string();
        if !id.starts_with('-') {
            return id;
        }
    }
}
