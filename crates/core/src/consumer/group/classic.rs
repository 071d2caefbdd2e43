//! A member of a classic group: JoinGroup, SyncGroup, Heartbeat, LeaveGroup.
//!
//! With an eager strategy the member revokes all its partitions before it joins again: it issues
//! [`GroupAction::Revoke`] and joins after [`ClassicMember::on_revoked`]. With a cooperative strategy (KIP-429) it
//! keeps its partitions and sends them in JoinGroup. It then revokes those that it is not assigned again, and joins
//! once more, so that the next assignment contains them for other members.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use ottla_protocol::EncodeError;
use ottla_protocol::api::heartbeat::{HeartbeatRequest, HeartbeatResponse};
use ottla_protocol::api::join_group::{JoinGroupRequest, JoinGroupResponse};
use ottla_protocol::api::leave_group::LeaveGroupRequest;
use ottla_protocol::api::sync_group::{SyncGroupRequest, SyncGroupResponse};

use super::actions::GroupAction;
use super::assignor::{Assignment, Strategy};
use super::leader_assignment::LeaderAssignment;
use super::member_messages::{MemberSubscription, read_assignment, read_member};
use super::requests;
use super::revocation::{OwnedPartitions, Rebalance};
use super::subscription::{SubscribedTopics, Subscription};
use crate::cluster::{Cluster, is_coordinator_error};
use crate::config::ClientConfig;
use crate::config::units::millis;
use crate::connection::Owner;
use crate::consumer::offsets::CommitIdentity;
use crate::consumer::rebalance_protocol::RebalanceProtocol;
use crate::context::Ctx;
use crate::error::{Error, ErrorCode};
use crate::log::{DebugContexts, level};
use crate::membership::{CoordinatorConnection, GRACE_MS, TopicErrors, max_poll_exceeded};
use crate::request::{Attempts, RequestIds};
use crate::sys::{Instant, earliest};
use crate::types::TopicPartition;

/// The part of `heartbeat.interval.ms` by which a heartbeat is sent early if the client is awake, so that an idle client
/// need not wake up for it. The next interval starts at the regular time.
const LEEWAY: u64 = 6;

/// The time for which a leader waits for metadata of topics that only other members subscribe to, in milliseconds.
const METADATA_WAIT_MS: u64 = 3000;

/// The delay before topics without metadata are checked again before joining, in milliseconds.
const UNKNOWN_TOPICS_DELAY_MS: u64 = 100;

/// The minimum number of failures after an error that retries do not resolve: the next pause is long.
const PERMANENT_ERROR_FAILURES: u32 = 4;

/// The state of the membership. The states contain the request in flight, because each has another kind of request and
/// leaving it makes the response irrelevant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Not subscribed, or fenced.
    Inactive,
    /// JoinGroup is to be sent.
    PreparingJoin,
    /// Partitions are being revoked.
    Revoking,
    /// JoinGroup is in flight, with this number.
    Joining(u64),
    /// The member leads and waits for metadata of all topics.
    AwaitingMetadata { until: Instant },
    /// SyncGroup is to be sent, or in flight.
    Syncing(Option<u64>),
    /// In the group.
    Stable,
    /// LeaveGroup is to be sent, or in flight.
    Leaving(Option<u64>),
}

/// A member of a classic group.
#[derive(Debug)]
pub(super) struct ClassicMember {
    state: State,
    topics: SubscribedTopics,
    strategies: Vec<Strategy>,
    instance_id: Option<String>,
    member_id: String,
    generation: i32,
    /// The strategy that the group has chosen.
    strategy: Option<Strategy>,
    leader: LeaderAssignment,
    partitions: OwnedPartitions,
    /// The member leaves the group after the revocation, rather than join again.
    leaving: bool,
    /// The heartbeat in flight, and the time when it was sent. Heartbeats are sent at intervals, not repeated.
    heartbeat: Option<(u64, Instant)>,
    heartbeat_due: Instant,
    /// The time by which a heartbeat is sent early if the client is awake, in milliseconds.
    leeway_ms: u64,
    /// The last time at which the coordinator certainly had this member: the time of the request, as its response may have
    /// been delayed. For SyncGroup, which the coordinator delays, the time of the response; the next heartbeat corrects it.
    last_known: Instant,
    /// The schedule of JoinGroup and LeaveGroup.
    attempts: Attempts,
    /// `max.poll.interval.ms` was exceeded: the member is out of its group until the application polls again.
    max_poll_exceeded: bool,
    /// The connection to the coordinator waits for a delayed response and is needed for a more urgent request.
    force_close: bool,
    /// LeaveGroup is to be sent for this member id, in any state.
    pending_leave: Option<String>,
    actions: Vec<GroupAction>,
    topic_errors: TopicErrors,
}

impl ClassicMember {
    pub(super) fn new(conf: &ClientConfig) -> Self {
        let named = conf
            .partition_assignment_strategy
            .split(',')
            .filter_map(|s| Strategy::from_name(s.trim()));
        ClassicMember {
            state: State::Inactive,
            topics: SubscribedTopics::new(),
            strategies: named.collect(),
            instance_id: Some(conf.group_instance_id.clone()).filter(|i| !i.is_empty()),
            member_id: String::new(),
            generation: -1,
            strategy: None,
            leader: LeaderAssignment::default(),
            partitions: OwnedPartitions::new(),
            leaving: false,
            heartbeat: None,
            heartbeat_due: Instant::ORIGIN,
            leeway_ms: millis(conf.heartbeat_interval_ms) / LEEWAY,
            last_known: Instant::ORIGIN,
            attempts: Attempts::default(),
            max_poll_exceeded: false,
            force_close: false,
            pending_leave: None,
            actions: Vec::new(),
            topic_errors: TopicErrors::default(),
        }
    }

    // ---------------------------------------------------------------- queries

    pub(super) fn take_actions(&mut self) -> Vec<GroupAction> {
        std::mem::take(&mut self.actions)
    }

    /// Returns true if the member is neither in a group nor joining or leaving one.
    pub(super) fn is_inactive(&self) -> bool {
        self.state == State::Inactive
    }

    /// Returns true if the member is in a generation and has received its assignment.
    pub(super) fn has_assignment(&self) -> bool {
        let joins = matches!(
            self.state,
            State::Joining(_) | State::AwaitingMetadata { .. } | State::Syncing(_)
        );
        self.generation >= 0 && !joins
    }

    /// Returns the state by its public name.
    pub(super) fn public_state(&self) -> &'static str {
        match self.state {
            State::Inactive | State::PreparingJoin | State::Leaving(_) => "init",
            State::Revoking => "wait-unassign-to-complete",
            State::Joining(_) => "wait-join",
            State::AwaitingMetadata { .. } => "wait-metadata",
            State::Syncing(_) => "wait-sync",
            State::Stable => "steady",
        }
    }

    pub(super) fn member_id_and_generation(&self) -> (&str, i32) {
        (&self.member_id, self.generation)
    }

    pub(super) fn commit_identity(&self) -> CommitIdentity {
        CommitIdentity {
            member_id: self.member_id.clone(),
            generation: self.generation,
            incarnation: None,
        }
    }

    pub(super) fn rebalance_protocol(&self) -> RebalanceProtocol {
        self.partitions.protocol()
    }

    /// The subscription as the application passed it.
    pub(super) fn subscription(&self) -> &[String] {
        self.topics.requested()
    }

    /// Returns true if the coordinator delays a response until all members have joined or the leader has sent the
    /// assignment. It serves no other request on that connection before.
    pub(super) fn awaits_rebalance(&self) -> bool {
        matches!(self.state, State::Joining(_) | State::Syncing(Some(_)))
    }

    /// Returns true, once, if the connection to the coordinator is to be closed.
    pub(super) fn take_force_close(&mut self) -> bool {
        std::mem::take(&mut self.force_close)
    }

    // ---------------------------------------------------------------- the application's calls

    pub(super) fn subscribe(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster, subscription: Subscription) {
        self.topics.subscribe(ctx.now, cluster, subscription);
        self.topic_errors.clear();
        self.leaving = false;
        self.max_poll_exceeded = false;
        self.rebalance(ctx, false);
    }

    /// Revokes the partitions, then leaves.
    pub(super) fn unsubscribe(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster) {
        self.topics.unsubscribe(ctx.now, cluster);
        if self.state == State::Inactive {
            return;
        }
        self.abort_rebalance();
        self.leaving = true;
        self.rebalance(ctx, false);
    }

    /// Handles the end of all revocations so far.
    pub(super) fn on_revoked(&mut self, ctx: &Ctx<'_>) {
        self.partitions.on_revoked();
        if self.state != State::Revoking {
            return;
        }
        self.actions.extend(self.partitions.take_pending());
        // The member joins again after a cooperative revocation, too: only then can others get the partitions.
        self.proceed(ctx);
    }

    /// Handles an application that has not polled for `max.poll.interval.ms` (KIP-62): leaves the group at once, without
    /// waiting for the revocation, until [`rejoin_on_poll`](Self::rejoin_on_poll).
    pub(super) fn leave_on_max_poll(&mut self, ctx: &Ctx<'_>, over_ms: u64) {
        if self.max_poll_exceeded || self.leaving || matches!(self.state, State::Inactive | State::Leaving(_)) {
            return;
        }
        self.max_poll_exceeded = true;
        self.report(max_poll_exceeded(ctx, over_ms));
        // KIP-345: a static member keeps its partitions until its session ends.
        if self.instance_id.is_none() && !self.member_id.is_empty() {
            self.pending_leave = Some(std::mem::take(&mut self.member_id));
        }
        self.abort_rebalance();
        self.generation = -1;
        self.heartbeat = None;
        self.rebalance(ctx, true);
    }

    /// Handles an application that polls again.
    pub(super) fn rejoin_on_poll(&mut self, ctx: &Ctx<'_>) {
        if self.max_poll_exceeded {
            self.max_poll_exceeded = false;
            self.attempts.schedule(ctx.now);
        }
    }

    /// Ends membership at once.
    pub(super) fn abandon(&mut self) {
        self.state = State::Inactive;
        self.pending_leave = None;
        self.forget_group();
        self.partitions.abandon();
    }

    // ---------------------------------------------------------------- transitions

    /// Starts a rebalance: revokes partitions as the protocol requires, then joins or leaves. `lost`: other members may have
    /// the partitions.
    fn rebalance(&mut self, ctx: &Ctx<'_>, lost: bool) {
        let revoking = self.state == State::Revoking;
        let topics = self.topics.matched();
        match self.partitions.begin_rebalance(lost, self.leaving, revoking, topics) {
            Rebalance::Proceed => self.proceed(ctx),
            Rebalance::Revoke(action) => {
                self.actions.extend(action);
                self.state = State::Revoking;
            }
        }
    }

    /// Joins or leaves, with nothing left to revoke.
    fn proceed(&mut self, ctx: &Ctx<'_>) {
        self.state = match self.leaving {
            // A static member stays in the group until its session ends, and gets its partitions when it returns.
            true if self.member_id.is_empty() || self.instance_id.is_some() => State::Inactive,
            true => State::Leaving(None),
            false => State::PreparingJoin,
        };
        if self.state == State::Inactive {
            self.forget_group();
        }
        self.attempts.hasten(ctx.now);
    }

    /// Closes the connection while the coordinator delays a response: LeaveGroup and the commits before it must not wait
    /// until the whole group has joined.
    fn abort_rebalance(&mut self) {
        self.force_close |= self.awaits_rebalance();
    }

    fn forget_group(&mut self) {
        self.forget_member();
        self.partitions.forget();
    }

    fn forget_member(&mut self) {
        self.member_id.clear();
        self.generation = -1;
        self.leader.clear();
        self.heartbeat = None;
    }

    fn back_off(&mut self, ctx: &mut Ctx<'_>) {
        self.attempts.back_off(ctx);
        self.state = State::PreparingJoin;
    }

    fn report(&mut self, error: Error) {
        self.actions.push(GroupAction::ReportError(error));
    }

    // ---------------------------------------------------------------- timers

    /// Returns true if a request is due.
    pub(super) fn has_work(&self, now: Instant) -> bool {
        if self.pending_leave.is_some() {
            return true;
        }
        match self.state {
            State::PreparingJoin => self.join_is_due(now),
            State::Leaving(None) => self.attempts.is_due(now),
            State::Syncing(None) | State::AwaitingMetadata { .. } => true,
            State::Stable | State::Revoking => self.heartbeat_is_due(now),
            State::Inactive | State::Joining(_) | State::Syncing(Some(_)) | State::Leaving(Some(_)) => false,
        }
    }

    fn join_is_due(&self, now: Instant) -> bool {
        // Actions precede JoinGroup, which may take long.
        let may_join = self.state == State::PreparingJoin && !self.max_poll_exceeded;
        may_join && self.attempts.is_due(now) && self.actions.is_empty()
    }

    fn heartbeat_is_due(&self, now: Instant) -> bool {
        self.generation >= 0 && self.heartbeat.is_none() && self.heartbeat_due <= now.plus_ms(self.leeway_ms)
    }

    /// When to call the member again if nothing else happens.
    pub(super) fn wake(&self, conf: &ClientConfig) -> Option<Instant> {
        match self.state {
            State::PreparingJoin if self.max_poll_exceeded => None,
            State::PreparingJoin | State::Leaving(None) => {
                let end = self.session_can_expire().then(|| self.session_end(conf));
                earliest(Some(self.attempts.next_at()), end)
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
        self.last_known.plus_ms(millis(conf.session_timeout_ms))
    }

    /// Returns true if the coordinator removes the member after the session timeout. It does not while it delays a
    /// response to JoinGroup or SyncGroup.
    fn session_can_expire(&self) -> bool {
        let state = match self.state {
            State::Stable | State::Revoking => true,
            State::PreparingJoin => self.partitions.holds_any(),
            _ => false,
        };
        state && self.generation >= 0
    }

    /// Handles the end of the session: the coordinator has not responded for `session.timeout.ms`, and has assigned the
    /// partitions to other members.
    pub(super) fn check_session(&mut self, ctx: &Ctx<'_>) {
        if !self.session_can_expire() || ctx.now < self.session_end(ctx.conf) {
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

    /// Sends the next heartbeat at once: its response contains what the coordinator has changed.
    pub(super) fn heartbeat_now(&mut self, ctx: &Ctx<'_>) {
        if matches!(self.state, State::Stable | State::Revoking) {
            self.heartbeat_due = ctx.now;
        }
    }

    // ---------------------------------------------------------------- metadata

    /// Matches the subscription's patterns with a new listing of topics.
    pub(super) fn check_listing(&mut self, ctx: &Ctx<'_>, cluster: &mut Cluster) {
        if self.topics.take_new_listing(cluster) {
            self.retry_join(ctx);
            self.match_patterns(ctx, cluster);
        }
    }

    fn match_patterns(&mut self, ctx: &Ctx<'_>, cluster: &mut Cluster) {
        let changed = self.topics.match_patterns(ctx, cluster, self.leader.member_topics());
        if changed && !self.is_inactive() && !self.leaving {
            self.rebalance(ctx, false);
        }
    }

    fn retry_join(&mut self, ctx: &Ctx<'_>) {
        if self.state == State::PreparingJoin {
            self.attempts.hasten(ctx.now);
        }
    }

    /// Handles changed metadata of a topic.
    pub(super) fn on_topic_changed(&mut self, ctx: &Ctx<'_>, cluster: &mut Cluster, name: &Arc<str>) {
        if !self.topics.watched().contains(name) {
            return;
        }
        if self.topics.may_unmatch(cluster, name) {
            self.match_patterns(ctx, cluster);
        }
        let Some(meta) = cluster.topic(name) else { return };
        let error = match self.topics.names(name) && meta.error != ErrorCode::LEADER_NOT_AVAILABLE {
            true => meta.error,
            false => ErrorCode::NO_ERROR,
        };
        if let Some(error) = self.topic_errors.note(name, error) {
            self.actions.push(GroupAction::ReportTopicError(name.clone(), error));
        }
        self.retry_join(ctx);
        if self.leader.is_inherited() {
            return self.check_inherited(ctx, cluster);
        }
        if self.state == State::Stable && self.leader.has_changed(ctx.conf, cluster, name, meta) {
            ctx.log.debug(DebugContexts::CGRP, "REJOIN", || {
                format!("{name} has another number of partitions, or replicas in other racks")
            });
            self.rebalance(ctx, false);
        }
    }

    /// Rejoins if topics have changed since an earlier leader computed the assignment.
    fn check_inherited(&mut self, ctx: &Ctx<'_>, cluster: &Cluster) {
        if self.state != State::Stable {
            return;
        }
        let watched = self.topics.watched();
        let outdated = self
            .leader
            .is_inherited_outdated(cluster, watched, self.strategy, &self.member_id);
        if outdated {
            ctx.log.debug(DebugContexts::CGRP, "REJOIN", || {
                "the assignment of the previous leader is out of date".into()
            });
            self.rebalance(ctx, false);
        }
    }

    /// Rejoins if topics have changed since this leader computed the assignment.
    fn check_assignment(&mut self, ctx: &Ctx<'_>, cluster: &Cluster) {
        if self.state != State::Stable {
            return;
        }
        if let Some(topic) = self.leader.changed_topic(ctx.conf, cluster, self.topics.watched()) {
            ctx.log.debug(DebugContexts::CGRP, "REJOIN", || {
                format!("{topic} has changed during the rebalance")
            });
            self.rebalance(ctx, false);
        }
    }

    // ---------------------------------------------------------------- requests

    fn sender<'a>(&'a self, to: &CoordinatorConnection<'a>) -> requests::Sender<'a> {
        requests::Sender {
            group_id: to.group_id,
            member_id: &self.member_id,
            instance_id: self.instance_id.as_deref(),
            generation: self.generation,
        }
    }

    /// Sends the requests that are due.
    pub(super) fn send(
        &mut self,
        ctx: &mut Ctx<'_>,
        cluster: &mut Cluster,
        to: &CoordinatorConnection<'_>,
        ids: &mut RequestIds,
    ) {
        if let Some(member_id) = self.pending_leave.take() {
            // The response is not needed.
            let _ = send_leave(ctx, to, member_id, ids);
        }
        match self.state {
            State::PreparingJoin | State::Leaving(None) if to.commits_first => {}
            State::PreparingJoin if self.join_is_due(ctx.now) => self.send_join(ctx, cluster, to, ids),
            State::AwaitingMetadata { until } => self.assign(ctx, cluster, until, to, ids),
            State::Syncing(None) => self.send_sync(ctx, to, ids),
            State::Stable | State::Revoking if self.heartbeat_is_due(ctx.now) => self.send_heartbeat(ctx, to, ids),
            State::Leaving(None) if self.attempts.is_due(ctx.now) => {
                match send_leave(ctx, to, self.member_id.clone(), ids) {
                    Some(id) => self.state = State::Leaving(Some(id)),
                    None => self.abandon(),
                }
            }
            _ => {}
        }
    }

    fn send_join(
        &mut self,
        ctx: &mut Ctx<'_>,
        cluster: &Cluster,
        to: &CoordinatorConnection<'_>,
        ids: &mut RequestIds,
    ) {
        // Joining before metadata is known would cause a second rebalance.
        if self.topics.awaits_metadata(cluster) {
            self.attempts.schedule(ctx.now.plus_ms(UNKNOWN_TOPICS_DELAY_MS));
            return;
        }
        let version = match to.broker.version::<JoinGroupRequest>() {
            Ok(version) => version,
            Err(error) => return self.on_unsupported(ctx, error),
        };
        let (owned, generation) = self.partitions.for_join();
        let subscription = MemberSubscription {
            topics: self.topics.matched().iter().map(|t| t.to_string()).collect(),
            owned,
            generation,
            rack: Some(ctx.conf.client_rack.clone()).filter(|rack| !rack.is_empty()),
        };
        let request = match requests::join(ctx.conf, &self.sender(to), &self.strategies, &subscription, version) {
            Ok(request) => request,
            Err(e) => return self.on_encode_error(ctx, &e),
        };
        let tag = ids.next_tag(Owner::Group);
        let delay_ms = requests::join_delay_ms(ctx.conf, version);
        let timeout = Duration::from_millis(delay_ms.saturating_add(GRACE_MS));
        match to.broker.send(ctx, tag, &request, version, timeout) {
            Ok(()) => self.state = State::Joining(tag.id),
            Err(_) => self.back_off(ctx),
        }
    }

    fn on_encode_error(&mut self, ctx: &mut Ctx<'_>, error: &EncodeError) {
        let text = format!("a request to the group's coordinator cannot be encoded: {error}");
        self.report(Error::new(ErrorCode::L_INVALID_ARG, text));
        self.back_off(ctx);
    }

    fn on_unsupported(&mut self, ctx: &mut Ctx<'_>, error: Error) {
        self.report(error);
        self.state = State::PreparingJoin;
        self.attempts
            .schedule(ctx.now.plus_ms(millis(ctx.conf.session_timeout_ms)));
    }

    /// As leader: computes the assignment once metadata of all topics is known, or after `until`.
    fn assign(
        &mut self,
        ctx: &mut Ctx<'_>,
        cluster: &Cluster,
        until: Instant,
        to: &CoordinatorConnection<'_>,
        ids: &mut RequestIds,
    ) {
        let watched = self.topics.watched();
        if ctx.now < until && watched.iter().any(|t| cluster.topic(t).is_none()) {
            return;
        }
        let (topics, partitions) = self.leader.set_topics(cluster, watched);
        ctx.log.debug(DebugContexts::ASSIGNOR, "ASSIGN", || {
            let members = self.leader.member_count();
            format!("assigning {partitions} partition(s) of {topics} topic(s) to {members} member(s)")
        });
        self.state = State::Syncing(None);
        self.send_sync(ctx, to, ids);
    }

    fn send_sync(&mut self, ctx: &mut Ctx<'_>, to: &CoordinatorConnection<'_>, ids: &mut RequestIds) {
        let version = match to.broker.version::<SyncGroupRequest>() {
            Ok(version) => version,
            Err(error) => return self.on_unsupported(ctx, error),
        };
        let strategy = self.strategy.unwrap_or(Strategy::Range);
        let assignments = self.leader.assignments(strategy);
        for (member, assignment) in &assignments {
            ctx.log.debug(DebugContexts::ASSIGNOR, "ASSIGN", || {
                let topics: Vec<String> = assignment.iter().map(|(topic, p)| format!("{topic} {p:?}")).collect();
                format!("{}: {member} gets {}", strategy.name(), topics.join(", "))
            });
        }
        let request = match requests::sync(ctx.conf, &self.sender(to), strategy, &assignments, version) {
            Ok(request) => request,
            Err(e) => return self.on_encode_error(ctx, &e),
        };
        let tag = ids.next_tag(Owner::Group);
        let delay_ms = millis(ctx.conf.max_poll_interval_ms);
        let timeout = Duration::from_millis(delay_ms.saturating_add(GRACE_MS));
        match to.broker.send(ctx, tag, &request, version, timeout) {
            Ok(()) => self.state = State::Syncing(Some(tag.id)),
            Err(_) => self.back_off(ctx),
        }
    }

    fn send_heartbeat(&mut self, ctx: &mut Ctx<'_>, to: &CoordinatorConnection<'_>, ids: &mut RequestIds) {
        let Ok(version) = to.broker.version::<HeartbeatRequest>() else {
            return;
        };
        let request = requests::heartbeat(&self.sender(to), version);
        let tag = ids.next_tag(Owner::Group);
        let timeout = Duration::from_millis(millis(ctx.conf.session_timeout_ms));
        // A heartbeat that is sent early does not shift the interval.
        let due = self.heartbeat_due.max(ctx.now);
        self.heartbeat_due = due.plus_ms(millis(ctx.conf.heartbeat_interval_ms));
        if to.broker.send(ctx, tag, &request, version, timeout).is_ok() {
            self.heartbeat = Some((tag.id, ctx.now));
        }
    }

    // ---------------------------------------------------------------- responses

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

    /// Handles JoinGroup's result; returns true if the coordinator has to be looked up again.
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
            // KIP-394: the coordinator assigned a member id, with which the member joins at once.
            ErrorCode::MEMBER_ID_REQUIRED => {
                self.member_id = response.member_id;
                self.state = State::PreparingJoin;
                self.attempts.schedule(ctx.now);
                return false;
            }
            code => return self.on_refused(ctx, code, "JoinGroup"),
        }
        self.attempts.reset();
        self.generation = response.generation_id;
        self.member_id = response.member_id.clone();
        self.heartbeat = None;
        self.heartbeat_due = ctx.now.plus_ms(millis(ctx.conf.heartbeat_interval_ms));
        self.strategy = response.protocol_name.as_deref().and_then(Strategy::from_name);
        let protocol = self.strategy.map_or(RebalanceProtocol::Eager, Strategy::protocol);
        self.partitions.set_protocol(protocol);
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
        self.leader.clear();
        if leads {
            self.begin_to_lead(ctx, cluster, response);
        } else {
            self.state = State::Syncing(None);
        }
        false
    }

    fn begin_to_lead(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster, response: JoinGroupResponse) {
        let strategy = self.strategy.unwrap_or(Strategy::Range);
        let mut watched: BTreeSet<Arc<str>> = self.topics.matched().iter().cloned().collect();
        let mut members = Vec::with_capacity(response.members.len());
        for m in response.members {
            let (member, error) = read_member(strategy, (m.member_id, m.group_instance_id), m.metadata);
            if let Some(e) = error {
                ctx.log.log(level::WARNING, "ASSIGN", || {
                    format!("the subscription of {} cannot be read: {e}", member.id)
                });
            }
            watched.extend(member.topics.iter().map(|t| Arc::from(t.as_str())));
            members.push(member);
        }
        self.topics.watch_only(ctx.now, cluster, watched);
        self.state = match response.skip_assignment {
            true => State::Syncing(None),
            false => State::AwaitingMetadata {
                until: ctx.now.plus_ms(METADATA_WAIT_MS),
            },
        };
        self.leader.begin(members, response.skip_assignment);
    }

    /// Handles SyncGroup's result; returns true if the coordinator has to be looked up again.
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
                self.report(Error::new(ErrorCode::L_BAD_MSG, text));
                Assignment::new()
            }
        };
        self.leader.on_assigned(&assignment);
        let mut tps = BTreeSet::new();
        for (topic, partitions) in assignment {
            let topic: Arc<str> = topic.into();
            tps.extend(partitions.into_iter().map(|p| TopicPartition::new(topic.clone(), p)));
        }
        ctx.log.debug(DebugContexts::CGRP, "SYNCGROUP", || {
            let n = tps.len();
            format!("the assignment of generation {} is {n} partition(s)", self.generation)
        });
        let (action, revokes) = self.partitions.on_assigned(self.generation, tps);
        self.actions.push(action);
        self.state = if revokes { State::Revoking } else { State::Stable };
        self.check_inherited(ctx, cluster);
        self.check_assignment(ctx, cluster);
        false
    }

    /// Handles a heartbeat's result; returns true if the coordinator has to be looked up again.
    pub(super) fn on_heartbeat(&mut self, ctx: &mut Ctx<'_>, result: Result<HeartbeatResponse, Error>) -> bool {
        let sent_at = self.heartbeat.take().map_or(ctx.now, |(_, sent_at)| sent_at);
        let Ok(response) = result else { return true };
        let code: ErrorCode = response.error_code.into();
        match code {
            ErrorCode::NO_ERROR => self.last_known = sent_at,
            ErrorCode::REBALANCE_IN_PROGRESS => {
                self.last_known = sent_at;
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

    /// Handles LeaveGroup's result, whatever it is.
    pub(super) fn on_left(&mut self, ctx: &Ctx<'_>) {
        ctx.log
            .debug(DebugContexts::CGRP, "LEAVEGROUP", || "left the group".into());
        self.forget_group();
        self.state = State::Inactive;
        if !self.topics.is_empty() {
            // Subscribed again in the meantime.
            self.leaving = false;
            self.state = State::PreparingJoin;
            self.attempts.schedule(ctx.now);
        }
    }

    fn on_refused(&mut self, ctx: &mut Ctx<'_>, code: ErrorCode, api: &str) -> bool {
        ctx.log.debug(DebugContexts::CGRP, "REFUSED", || {
            format!("{api} was refused: {}", code.description())
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
                self.report(Error::new(code, text).into_fatal());
                // Ends membership until the application subscribes again. The partitions are revoked first even then: until
                // the application is informed of the loss, it may commit offsets of partitions that the other member owns.
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
                    let text = format!("{api} failed: {}", code.description());
                    self.report(Error::new(code, text));
                    self.attempts.lengthen(PERMANENT_ERROR_FAILURES);
                }
                // After an error of a heartbeat the partitions are lost; in JoinGroup and SyncGroup a member that keeps its
                // partitions only retries. A revocation is awaited in any case.
                if self.state == State::Revoking || self.state == State::Stable && self.partitions.holds_any() {
                    self.rebalance(ctx, true);
                } else {
                    self.back_off(ctx);
                }
            }
        }
        false
    }
}

/// Sends LeaveGroup for a member; returns `None` if it cannot be sent.
fn send_leave(
    ctx: &mut Ctx<'_>,
    to: &CoordinatorConnection<'_>,
    member_id: String,
    ids: &mut RequestIds,
) -> Option<u64> {
    let version = to.broker.version::<LeaveGroupRequest>().ok()?;
    let request = requests::leave(to.group_id, member_id, version);
    let tag = ids.next_tag(Owner::Group);
    let sent = to
        .broker
        .send(ctx, tag, &request, version, Duration::from_millis(GRACE_MS));
    sent.ok().map(|()| tag.id)
}

#[cfg(test)]
mod tests;
