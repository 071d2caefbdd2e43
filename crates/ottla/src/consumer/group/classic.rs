//! Being a member of a classic group: join, synchronise, keep alive, leave.
//!
//! With an eager strategy the member gives up all its partitions before it joins anew: [`GroupAction::Revoke`] goes out, and
//! only [`ClassicMember::on_revoked`] lets it join. With a cooperative one (KIP-429) it keeps them and says which they are;
//! what it is not given again it gives up then, and joins once more, so that the next division hands it to others.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ottla_protocol::api::heartbeat::HeartbeatResponse;
use ottla_protocol::api::join_group::JoinGroupResponse;
use ottla_protocol::api::sync_group::SyncGroupResponse;

use super::actions::{GroupAction, RebalanceProtocol};
use super::assignor::{Assignment, Member, Shape, Strategy};
use super::member_messages::{read_assignment, read_member};
use super::poll_watch;
use super::subscription::Subscription;
use super::topic_errors::TopicErrors;
use crate::cluster::{Cluster, is_coordinator_error};
use crate::config::ClientConfig;
use crate::context::Ctx;
use crate::error::{Error, ErrorCode};
use crate::log::{DebugContexts, level};
use crate::sys::{Instant, earliest};
use crate::types::TopicPartition;

/// A heartbeat goes out by so much of its interval sooner if the client is awake then: an idle one need not wake for it.
/// The next one counts from when it was due, so that the interval stays what it is set to.
const LEEWAY: u64 = 6;

/// How long a leader waits for metadata of topics that only other members subscribed to.
const METADATA_WAIT_MS: u64 = 3000;

/// Where a member stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// No subscription.
    Inactive,
    /// To join as soon as the coordinator can be asked.
    PreparingJoin,
    /// Partitions are being given up.
    Revoking,
    /// JoinGroup is under way.
    Joining(u64),
    /// This member leads and waits for metadata of all topics.
    AwaitingMetadata { until: Instant },
    /// SyncGroup is to be sent, or under way.
    Syncing(Option<u64>),
    /// In the group.
    Stable,
    /// To send LeaveGroup, or under way.
    Leaving(Option<u64>),
}

/// A member of a classic group.
#[derive(Debug)]
pub(super) struct ClassicMember {
    pub(super) state: State,
    pub(super) subscription: Subscription,
    /// The topics that the subscription means.
    pub(super) topics: Vec<Arc<str>>,
    /// The listing of all topics that was looked at last for patterns.
    pub(super) seen_listing: u64,
    /// When the application last subscribed: patterns need a listing that was asked for since.
    pub(super) listing_since: Instant,
    pub(super) strategies: Vec<Strategy>,
    pub(super) instance_id: Option<String>,
    pub(super) member_id: String,
    pub(super) generation: i32,
    pub(super) strategy: Option<Strategy>,
    /// As leader: everybody, and what was divided.
    pub(super) members: Vec<Member>,
    pub(super) divided: BTreeMap<String, Shape>,
    /// As leader that came back to an assignment which an earlier one made (KIP-814): its assignment, until it is known
    /// whether the partitions are still those that were divided.
    pub(super) inherited: Option<Assignment>,
    pub(super) watched: BTreeSet<Arc<str>>,
    /// How the group hands partitions over, once it is known.
    pub(super) protocol: RebalanceProtocol,
    /// Eager: partitions were handed out and not given up since.
    pub(super) assigned: bool,
    /// What the group gave last. Cooperative: without what the member was told to give up since. Eager: a memory for
    /// `sticky`.
    pub(super) owned: BTreeSet<TopicPartition>,
    /// The generation in which the group gave it.
    pub(super) owned_generation: i32,
    /// Cooperative: what the group gave besides, to be told of when other partitions were given up.
    pub(super) pending: Option<Vec<TopicPartition>>,
    /// Leave the group after giving up the partitions, rather than join anew.
    pub(super) leaving: bool,
    /// The heartbeat under way, and when it was sent.
    pub(super) heartbeat: Option<(u64, Instant)>,
    pub(super) heartbeat_due: Instant,
    /// By how much sooner one goes out if the client is awake.
    leeway_ms: u64,
    /// When the coordinator last knew this member: an answer counts from when it was asked for, as it may have been on
    /// its way for long. SyncGroup's, which others hold up, counts from its arrival; the next heartbeat corrects it.
    last_known: Instant,
    pub(super) retry_at: Instant,
    tries: u32,
    /// The application polls too rarely: the member is out of its group until it polls again.
    max_poll_exceeded: bool,
    /// The connection to the coordinator is held up and needed for what is more urgent.
    force_close: bool,
    /// LeaveGroup is to be sent for this member id, whatever the state.
    pub(super) pending_leave: Option<String>,
    pub(super) actions: Vec<GroupAction>,
    pub(super) topic_errors: TopicErrors,
}

impl ClassicMember {
    pub(super) fn new(conf: &ClientConfig) -> Self {
        let named = conf
            .partition_assignment_strategy
            .split(',')
            .filter_map(|s| Strategy::from_name(s.trim()));
        ClassicMember {
            state: State::Inactive,
            subscription: Subscription::default(),
            topics: Vec::new(),
            seen_listing: 0,
            listing_since: Instant::ORIGIN,
            strategies: named.collect(),
            instance_id: Some(conf.group_instance_id.clone()).filter(|i| !i.is_empty()),
            member_id: String::new(),
            generation: -1,
            strategy: None,
            members: Vec::new(),
            divided: BTreeMap::new(),
            inherited: None,
            watched: BTreeSet::new(),
            protocol: RebalanceProtocol::None,
            assigned: false,
            owned: BTreeSet::new(),
            owned_generation: -1,
            pending: None,
            leaving: false,
            heartbeat: None,
            heartbeat_due: Instant::ORIGIN,
            leeway_ms: super::millis(conf.heartbeat_interval_ms) / LEEWAY,
            last_known: Instant::ORIGIN,
            retry_at: Instant::ORIGIN,
            tries: 0,
            max_poll_exceeded: false,
            force_close: false,
            pending_leave: None,
            actions: Vec::new(),
            topic_errors: TopicErrors::default(),
        }
    }

    pub(super) fn take_actions(&mut self) -> Vec<GroupAction> {
        std::mem::take(&mut self.actions)
    }

    /// The topics that are subscribed to.
    pub(super) fn topics(&self) -> Vec<String> {
        self.topics.iter().map(|t| t.to_string()).collect()
    }

    /// Neither in a group nor on the way into or out of one.
    pub(super) fn is_inactive(&self) -> bool {
        self.state == State::Inactive
    }

    // ---------------------------------------------------------------- what the application wants

    pub(super) fn subscribe(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster, subscription: Subscription) {
        self.list_all(ctx.now, cluster, subscription.has_patterns());
        self.subscription = subscription;
        self.watch_only(ctx.now, cluster, self.subscription.topics(cluster));
        self.topics = self.watched.iter().cloned().collect();
        self.topic_errors.clear();
        self.listing_since = ctx.now;
        self.leaving = false;
        self.max_poll_exceeded = false;
        self.rebalance(ctx, false);
    }

    /// Gives up the partitions, then leaves.
    pub(super) fn unsubscribe(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster) {
        self.list_all(ctx.now, cluster, false);
        self.subscription = Subscription::default();
        self.topics.clear();
        self.watch_only(ctx.now, cluster, BTreeSet::new());
        if self.state == State::Inactive {
            return;
        }
        self.abort_rebalance();
        self.leaving = true;
        self.rebalance(ctx, false);
    }

    pub(super) fn watch_only(&mut self, now: Instant, cluster: &mut Cluster, names: BTreeSet<Arc<str>>) {
        for name in names.difference(&self.watched) {
            cluster.watch(name, now);
        }
        for name in self.watched.difference(&names) {
            cluster.unwatch(name);
        }
        self.watched = names;
    }

    /// Joins or leaves, with nothing more to be given up first.
    pub(super) fn proceed(&mut self, ctx: &Ctx<'_>) {
        self.state = match self.leaving {
            // A static member stays in the group until its session ends, and has its partitions when it comes back.
            true if self.member_id.is_empty() || self.instance_id.is_some() => State::Inactive,
            true => State::Leaving(None),
            false => State::PreparingJoin,
        };
        if self.state == State::Inactive {
            self.forget_group();
        }
        self.retry_at = ctx.now.min(self.retry_at);
    }

    /// Ends membership without waiting for anybody.
    pub(super) fn abandon(&mut self) {
        self.state = State::Inactive;
        self.assigned = false;
        self.pending = None;
        self.pending_leave = None;
        self.forget_group();
    }

    /// The application has not polled for `max.poll.interval.ms` (KIP-62): leaves the group at once, without waiting
    /// for the application to give up the partitions, and stays out until [`rejoin_on_poll`](Self::unpark).
    pub(super) fn leave_on_max_poll(&mut self, ctx: &Ctx<'_>, over_ms: u64) {
        if self.max_poll_exceeded || self.leaving || matches!(self.state, State::Inactive | State::Leaving(_)) {
            return;
        }
        self.max_poll_exceeded = true;
        self.actions
            .push(GroupAction::ReportError(poll_watch::exceeded(ctx, over_ms)));
        // KIP-345: the partitions of a static member wait for it until its session ends.
        if self.instance_id.is_none() && !self.member_id.is_empty() {
            self.pending_leave = Some(std::mem::take(&mut self.member_id));
        }
        self.abort_rebalance();
        self.generation = -1;
        self.heartbeat = None;
        self.rebalance(ctx, true);
    }

    /// Leaving, and the commits that come first, do not wait until the whole group has joined.
    fn abort_rebalance(&mut self) {
        self.force_close |= self.awaits_rebalance();
    }

    /// Whether the coordinator owes an answer that it gives when all members have joined or are told their assignments. It
    /// takes no other request on that connection before.
    pub(super) fn awaits_rebalance(&self) -> bool {
        matches!(self.state, State::Joining(_) | State::Syncing(Some(_)))
    }

    /// Whether the connection to the coordinator is to be closed.
    pub(super) fn take_force_close(&mut self) -> bool {
        std::mem::take(&mut self.force_close)
    }

    /// The application polls.
    pub(super) fn rejoin_on_poll(&mut self, ctx: &Ctx<'_>) {
        if self.max_poll_exceeded {
            self.max_poll_exceeded = false;
            self.retry_at = ctx.now;
        }
    }

    fn forget_group(&mut self) {
        self.forget_member();
        self.protocol = RebalanceProtocol::None;
        self.owned.clear();
        self.owned_generation = -1;
    }

    fn forget_member(&mut self) {
        self.member_id.clear();
        self.generation = -1;
        self.members.clear();
        self.heartbeat = None;
    }

    // ---------------------------------------------------------------- driver

    /// Whether a request is due.
    pub(super) fn has_work(&self, now: Instant) -> bool {
        if self.pending_leave.is_some() {
            return true;
        }
        match self.state {
            State::PreparingJoin => self.join_is_due(now),
            State::Leaving(None) => self.retry_at <= now,
            State::Syncing(None) | State::AwaitingMetadata { .. } => true,
            State::Stable | State::Revoking => self.heartbeat_is_due(now),
            State::Inactive | State::Joining(_) | State::Syncing(Some(_)) | State::Leaving(Some(_)) => false,
        }
    }

    /// Whether the member is in a generation and knows what that gave it.
    pub(super) fn has_assignment(&self) -> bool {
        let joins = matches!(
            self.state,
            State::Joining(_) | State::AwaitingMetadata { .. } | State::Syncing(_)
        );
        self.generation >= 0 && !joins
    }

    pub(super) fn join_is_due(&self, now: Instant) -> bool {
        // What the application is to be told, and what follows from it, comes before a JoinGroup that takes its time.
        self.state == State::PreparingJoin && self.retry_at <= now && !self.max_poll_exceeded && self.actions.is_empty()
    }

    pub(super) fn heartbeat_is_due(&self, now: Instant) -> bool {
        self.generation >= 0 && self.heartbeat.is_none() && self.heartbeat_due <= now.plus_ms(self.leeway_ms)
    }

    pub(super) fn wake(&self, conf: &ClientConfig) -> Option<Instant> {
        match self.state {
            State::PreparingJoin if self.max_poll_exceeded => None,
            State::PreparingJoin | State::Leaving(None) => {
                let end = self.watches_session().then(|| self.session_end(conf));
                earliest(Some(self.retry_at), end)
            }
            State::AwaitingMetadata { until } => Some(until),
            State::Stable | State::Revoking if self.generation >= 0 => {
                let due = self.heartbeat.is_none().then_some(self.heartbeat_due);
                earliest(due, Some(self.session_end(conf)))
            }
            _ => None,
        }
    }

    fn session_end(&self, conf: &ClientConfig) -> Instant {
        self.last_known.plus_ms(super::millis(conf.session_timeout_ms))
    }

    /// Whether silence of the coordinator means that the member is thrown out. While it owes an answer to JoinGroup or
    /// SyncGroup it waits for others, and does not end sessions.
    fn watches_session(&self) -> bool {
        let state = match self.state {
            State::Stable | State::Revoking => true,
            State::PreparingJoin => self.holds_partitions(),
            _ => false,
        };
        state && self.generation >= 0
    }

    /// The coordinator was silent for a whole session: it has given the partitions to others.
    pub(super) fn check_session(&mut self, ctx: &Ctx<'_>) {
        if !self.watches_session() || ctx.now < self.session_end(ctx.conf) {
            return;
        }
        ctx.log.log(level::WARNING, "SESSTMOUT", || {
            format!(
                "no answer from the group's coordinator for {} ms: rejoining",
                ctx.conf.session_timeout_ms
            )
        });
        self.generation = -1;
        self.heartbeat = None;
        self.rebalance(ctx, true);
    }

    pub(super) fn back_off(&mut self, ctx: &mut Ctx<'_>) {
        self.retry_at = ctx.now + ctx.retry_delay(self.tries);
        self.tries = self.tries.saturating_add(1);
        self.state = State::PreparingJoin;
    }

    // ---------------------------------------------------------------- answers

    pub(super) fn is_join(&self, id: u64) -> bool {
        self.state == State::Joining(id)
    }

    pub(super) fn is_sync(&self, id: u64) -> bool {
        self.state == State::Syncing(Some(id))
    }

    pub(super) fn is_heartbeat(&self, id: u64) -> bool {
        self.heartbeat.is_some_and(|(sent, _)| sent == id)
    }

    pub(super) fn is_leave(&self, id: u64) -> bool {
        self.state == State::Leaving(Some(id))
    }

    /// JoinGroup was answered; true when the coordinator has to be looked for again.
    pub(super) fn on_joined(
        &mut self,
        ctx: &mut Ctx<'_>,
        cluster: &mut Cluster,
        result: Result<JoinGroupResponse, Error>,
    ) -> bool {
        let response = match result {
            Ok(response) => response,
            Err(_) => {
                self.back_off(ctx);
                return true;
            }
        };
        let code: ErrorCode = response.error_code.into();
        match code {
            ErrorCode::NO_ERROR => {}
            // KIP-394: the coordinator gave an id; come back with it at once.
            ErrorCode::MEMBER_ID_REQUIRED => {
                self.member_id = response.member_id;
                self.state = State::PreparingJoin;
                self.retry_at = ctx.now;
                return false;
            }
            code => return self.on_refused(ctx, code, "JoinGroup"),
        }
        self.tries = 0;
        self.generation = response.generation_id;
        self.member_id = response.member_id.clone();
        self.heartbeat = None;
        self.heartbeat_due = ctx.now.plus_ms(super::millis(ctx.conf.heartbeat_interval_ms));
        self.strategy = response.protocol_name.as_deref().and_then(Strategy::from_name);
        self.protocol = self.strategy.map_or(RebalanceProtocol::Eager, Strategy::protocol);
        let leads = response.leader == response.member_id && !response.members.is_empty();
        ctx.log.debug(DebugContexts::CGRP, "JOINGROUP", || {
            format!(
                "joined generation {} as {} ({} of {} members)",
                self.generation,
                self.member_id,
                if leads { "leader" } else { "follower" },
                response.members.len(),
            )
        });
        self.members.clear();
        self.divided.clear();
        self.inherited = None;
        if !leads {
            self.state = State::Syncing(None);
            return false;
        }
        let strategy = self.strategy.unwrap_or(Strategy::Range);
        let mut watched: BTreeSet<Arc<str>> = self.topics.iter().cloned().collect();
        for m in response.members {
            let (member, error) = read_member(strategy, (m.member_id, m.group_instance_id), m.metadata);
            if let Some(e) = error {
                ctx.log.log(level::WARNING, "ASSIGN", || {
                    format!("the subscription of {} cannot be read: {e}", member.id)
                });
            }
            watched.extend(member.topics.iter().map(|t| Arc::from(t.as_str())));
            self.members.push(member);
        }
        self.watch_only(ctx.now, cluster, watched);
        self.state = match response.skip_assignment {
            true => State::Syncing(None),
            false => State::AwaitingMetadata {
                until: ctx.now.plus_ms(METADATA_WAIT_MS),
            },
        };
        self.inherited = response.skip_assignment.then(Assignment::new);
        false
    }

    /// SyncGroup was answered; true when the coordinator has to be looked for again.
    pub(super) fn on_synced(
        &mut self,
        ctx: &mut Ctx<'_>,
        cluster: &Cluster,
        result: Result<SyncGroupResponse, Error>,
    ) -> bool {
        let response = match result {
            Ok(response) => response,
            Err(_) => {
                self.back_off(ctx);
                return true;
            }
        };
        let code: ErrorCode = response.error_code.into();
        if matches!(code, ErrorCode::NO_ERROR | ErrorCode::REBALANCE_IN_PROGRESS) {
            self.last_known = ctx.now;
        }
        if !code.is_ok() {
            return self.on_refused(ctx, code, "SyncGroup");
        }
        let assignment: Assignment = match read_assignment(response.assignment) {
            Ok(assignment) => assignment,
            Err(e) => {
                let text = format!("the assignment by the group's leader cannot be read: {e}");
                self.actions
                    .push(GroupAction::ReportError(Error::new(ErrorCode::L_BAD_MSG, text)));
                Assignment::new()
            }
        };
        if self.inherited.is_some() {
            self.inherited = Some(assignment.clone());
        }
        let mut tps = BTreeSet::new();
        for (topic, partitions) in assignment {
            let topic: Arc<str> = topic.into();
            tps.extend(partitions.into_iter().map(|p| TopicPartition::new(topic.clone(), p)));
        }
        ctx.log.debug(DebugContexts::CGRP, "SYNCGROUP", || {
            let n = tps.len();
            format!("the assignment of generation {} is {n} partition(s)", self.generation)
        });
        self.take_assignment(tps);
        self.check_inheritance(ctx, cluster);
        self.check_division(ctx, cluster);
        false
    }

    /// A heartbeat was answered; true when the coordinator has to be looked for again.
    pub(super) fn on_heartbeat(&mut self, ctx: &mut Ctx<'_>, result: Result<HeartbeatResponse, Error>) -> bool {
        let asked = self.heartbeat.take().map_or(ctx.now, |(_, sent)| sent);
        let Ok(response) = result else { return true };
        let code: ErrorCode = response.error_code.into();
        match code {
            ErrorCode::NO_ERROR => self.last_known = asked,
            ErrorCode::REBALANCE_IN_PROGRESS => {
                self.last_known = asked;
                if self.state == State::Stable {
                    ctx.log
                        .debug(DebugContexts::CGRP, "REBALANCE", || "the group rebalances".into());
                    self.rebalance(ctx, false);
                }
            }
            code if is_coordinator_error(code) => return true,
            ErrorCode::COORDINATOR_LOAD_IN_PROGRESS => {}
            code => return self.on_refused(ctx, code, "Heartbeat"),
        }
        false
    }

    /// LeaveGroup was answered, or not: there is nothing more to be done.
    pub(super) fn on_left(&mut self, ctx: &Ctx<'_>) {
        ctx.log
            .debug(DebugContexts::CGRP, "LEAVEGROUP", || "left the group".into());
        self.forget_group();
        self.state = State::Inactive;
        if !self.subscription.is_empty() {
            // Subscribed again in the meantime.
            self.leaving = false;
            self.state = State::PreparingJoin;
            self.retry_at = ctx.now;
        }
    }

    /// There is something about the group that the coordinator tells in its answer to a heartbeat.
    pub(super) fn heartbeat_now(&mut self, ctx: &Ctx<'_>) {
        if matches!(self.state, State::Stable | State::Revoking) {
            self.heartbeat_due = ctx.now;
        }
    }

    fn on_refused(&mut self, ctx: &mut Ctx<'_>, code: ErrorCode, what: &str) -> bool {
        ctx.log.debug(DebugContexts::CGRP, "REFUSED", || {
            format!("{what} was refused: {}", code.description())
        });
        match code {
            ErrorCode::UNKNOWN_MEMBER_ID | ErrorCode::ILLEGAL_GENERATION => {
                if code == ErrorCode::UNKNOWN_MEMBER_ID {
                    self.member_id.clear();
                }
                self.generation = -1;
                self.rebalance(ctx, true);
            }
            ErrorCode::REBALANCE_IN_PROGRESS => self.rebalance(ctx, false),
            ErrorCode::FENCED_INSTANCE_ID => {
                let text = "another member joined with the same group.instance.id";
                self.actions
                    .push(GroupAction::ReportError(Error::new(code, text).into_fatal()));
                // Out for good, unless the application subscribes again. Then, too, it gives up first what it had: until
                // it knows of the loss, its commits speak of partitions that are the other's.
                self.leaving = true;
                self.pending_leave = None;
                self.forget_member();
                self.rebalance(ctx, true);
            }
            code if is_coordinator_error(code) => {
                self.back_off(ctx);
                return true;
            }
            code => {
                if !code.action().is_retriable() {
                    let text = format!("{what} failed: {}", code.description());
                    self.actions.push(GroupAction::ReportError(Error::new(code, text)));
                    self.tries = self.tries.max(4);
                }
                // An error of a heartbeat; in JoinGroup and SyncGroup a member that keeps its partitions just asks again.
                // What is being given up is waited for in any case.
                if self.state == State::Revoking || self.state == State::Stable && self.holds_partitions() {
                    self.rebalance(ctx, true);
                } else {
                    self.back_off(ctx);
                }
            }
        }
        false
    }
}
