//! A member of a share group (KIP-932): the coordinator assigns partitions, and sends each member its part in responses to
//! heartbeats (ShareGroupHeartbeat).
//!
//! Members share partitions, so an assignment replaces the earlier one at once: nothing is revoked before. The member
//! generates its id for its lifetime.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use ottla_protocol::Uuid;
use ottla_protocol::api::metadata::{MetadataRequest, MetadataResponse};
use ottla_protocol::api::share_group_heartbeat::{ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse};

use crate::cluster::{Cluster, TopicMeta};
use crate::config::ClientConfig;
use crate::connection::{BrokerKey, Outcome, Owner};
use crate::context::Ctx;
use crate::error::{Error, ErrorCode};
use crate::log::DebugContexts;
use crate::membership::{
    CoordinatorConnection, GRACE_MS, Heartbeat, HeartbeatError, Partitions, TopicErrors, TopicNames, max_poll_exceeded,
    new_member_id,
};
use crate::request::{RequestIds, response_of};
use crate::sys::{Instant, earliest};

/// The epoch of a member that joins.
const JOIN: i32 = 0;
/// The epoch of a member that leaves.
const LEAVE: i32 = -1;
/// The first version of ShareGroupHeartbeat that is supported: version 0 was an early-access protocol of Kafka 4.0.
const FIRST_VERSION: i16 = 1;
/// The time after which a member without partitions sends its first early heartbeat, in milliseconds; doubled for each
/// further one. Kafka answers the first heartbeat of a group's first member without partitions, because it initializes
/// their state only then, and they are assigned with the next heartbeat: 5 seconds later with the usual interval.
const EARLY_HEARTBEAT_MS: u64 = 100;
/// The maximum number of early heartbeats after a join or a new subscription.
const EARLY_HEARTBEATS_MAX: u32 = 5;

/// A partition of an assignment.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct AssignedPartition {
    pub(super) topic_id: Uuid,
    pub(super) topic: Arc<str>,
    pub(super) partition: i32,
}

/// A change of the assignment, or an error for the application.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum MemberAction {
    /// Replace the assignment.
    Assigned(Vec<AssignedPartition>),
    /// Report an error to the application.
    ReportError(Error),
    /// Report an error of this topic to the application.
    ReportTopicError(Arc<str>, Error),
}

/// The phase of the membership.
///
/// ```text
///  Inactive ── subscribe ──▶ Joining ── joined ──▶ Member ── unsubscribe ──▶ Leaving ──▶ Inactive
///     ▲                         ▲                    │ │
///     │                         └── fenced, expelled ┘ │
///     └───────────────────────────── fatal error ──────┘
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Not subscribed, or shut out by a fatal error until the next subscription.
    Inactive,
    /// Heartbeats with epoch 0 are sent, until one succeeds.
    Joining,
    /// In the group, with a member epoch.
    Member,
    /// The heartbeat that leaves is to be sent, or is in flight with this number.
    Leaving(Option<u64>),
}

/// A member of a share group. Order of calls: calls of the application and responses in any order, then
/// [`send`](Self::send) if [`has_work`](Self::has_work), and [`take_actions`](Self::take_actions).
#[derive(Debug)]
pub(super) struct ShareMember {
    phase: Phase,
    /// Names of topics, also of topics that do not exist.
    subscription: BTreeSet<Arc<str>>,
    /// Generated with the first subscription.
    member_id: String,
    /// The member epoch, -1 outside of the group.
    epoch: i32,
    /// The newest assignment of the coordinator.
    target: Partitions,
    /// Names of topics in `target`.
    names: TopicNames,
    /// The assignment that was reported last: the part of `target` with known names.
    assigned: Vec<AssignedPartition>,
    /// A heartbeat sends the subscription; `None` if the coordinator may have another one.
    heartbeat: Heartbeat<Option<BTreeSet<Arc<str>>>>,
    /// The coordinator has refused the subscription of a member, which keeps its earlier one.
    subscription_refused: bool,
    /// The number of early heartbeats since the join or the last change of the subscription.
    early_heartbeats: u32,
    /// The coordinator may have registered this member.
    may_be_member: bool,
    /// A heartbeat that leaves is to be sent, in any phase.
    pending_leave: bool,
    /// `max.poll.interval.ms` was exceeded: the member is out of its group until the application polls again.
    max_poll_exceeded: bool,
    topic_errors: TopicErrors,
    actions: Vec<MemberAction>,
}

impl ShareMember {
    /// Without a subscription.
    pub(super) fn new(_: &ClientConfig) -> Self {
        ShareMember {
            phase: Phase::Inactive,
            subscription: BTreeSet::new(),
            member_id: String::new(),
            epoch: -1,
            target: Partitions::default(),
            names: TopicNames::new(Owner::ShareGroup),
            assigned: Vec::new(),
            heartbeat: Heartbeat::new(),
            subscription_refused: false,
            early_heartbeats: 0,
            may_be_member: false,
            pending_leave: false,
            max_poll_exceeded: false,
            topic_errors: TopicErrors::default(),
            actions: Vec::new(),
        }
    }

    // ---------------------------------------------------------------- queries

    /// Removes and returns the actions since the last call, in order.
    pub(super) fn take_actions(&mut self) -> Vec<MemberAction> {
        std::mem::take(&mut self.actions)
    }

    /// Returns true if the member is neither in a group nor joining or leaving one.
    pub(super) fn is_inactive(&self) -> bool {
        self.phase == Phase::Inactive
    }

    fn is_in(&self) -> bool {
        self.epoch > 0
    }

    /// Returns the state by its public name.
    pub(super) fn public_state(&self) -> &'static str {
        match self.phase {
            Phase::Joining => "wait-join",
            Phase::Member => "steady",
            Phase::Inactive | Phase::Leaving(_) => "init",
        }
    }

    /// Returns the member id, also outside of the group, because share sessions outlive the membership; empty before the
    /// first subscription.
    pub(super) fn member_id(&self) -> &str {
        &self.member_id
    }

    /// Returns the names of the subscription, in order.
    pub(super) fn subscription(&self) -> Vec<String> {
        self.subscription.iter().map(|t| t.to_string()).collect()
    }

    // ---------------------------------------------------------------- the application's calls

    /// Joins the group for these topics, or replaces the topics.
    pub(super) fn subscribe(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster, topics: BTreeSet<Arc<str>>) {
        self.set_subscription(ctx.now, cluster, topics);
        if self.member_id.is_empty() {
            self.member_id = new_member_id(ctx.rng);
        }
        self.max_poll_exceeded = false;
        self.subscription_refused = false;
        self.early_heartbeats = 0;
        self.topic_errors.clear();
        self.heartbeat.clear_backoff(ctx.now);
        match self.phase {
            Phase::Inactive => self.phase = Phase::Joining,
            Phase::Leaving(None) => self.stay(),
            Phase::Joining | Phase::Member | Phase::Leaving(Some(_)) => {}
        }
    }

    /// Leaves the group. The assignment ends at once.
    pub(super) fn unsubscribe(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster) {
        self.set_subscription(ctx.now, cluster, BTreeSet::new());
        self.max_poll_exceeded = false;
        self.topic_errors.clear();
        self.heartbeat.clear_backoff(ctx.now);
        if matches!(self.phase, Phase::Joining | Phase::Member) {
            let may_be_member = std::mem::take(&mut self.pending_leave) || self.may_be_member;
            self.phase = match may_be_member {
                true => Phase::Leaving(None),
                false => Phase::Inactive,
            };
            self.report_assignment();
        }
    }

    fn set_subscription(&mut self, now: Instant, cluster: &mut Cluster, new: BTreeSet<Arc<str>>) {
        for name in new.difference(&self.subscription) {
            cluster.watch(name, now);
        }
        for name in self.subscription.difference(&new) {
            cluster.unwatch(name);
        }
        self.subscription = new;
    }

    /// Ends leaving before the heartbeat that leaves was sent.
    fn stay(&mut self) {
        self.phase = match self.is_in() {
            true => Phase::Member,
            false => Phase::Joining,
        };
        self.report_assignment();
    }

    /// Handles an application that has not polled for `max.poll.interval.ms` (KIP-62): leaves the group at once, until
    /// [`rejoin_on_poll`](Self::rejoin_on_poll).
    pub(super) fn leave_on_max_poll(&mut self, ctx: &Ctx<'_>, over_ms: u64) {
        if self.max_poll_exceeded || matches!(self.phase, Phase::Inactive | Phase::Leaving(_)) {
            return;
        }
        self.max_poll_exceeded = true;
        let error = max_poll_exceeded(ctx, over_ms);
        self.actions.push(MemberAction::ReportError(error));
        self.pending_leave |= self.may_be_member;
        self.forget_group();
        self.phase = Phase::Joining;
        self.report_assignment();
    }

    /// Handles an application that polls again.
    pub(super) fn rejoin_on_poll(&mut self, ctx: &Ctx<'_>) {
        if std::mem::take(&mut self.max_poll_exceeded) {
            self.heartbeat.clear_backoff(ctx.now);
        }
    }

    /// Ends membership at once.
    pub(super) fn abandon(&mut self) {
        self.forget_group();
        self.phase = Phase::Inactive;
        self.pending_leave = false;
        self.report_assignment();
    }

    fn forget_group(&mut self) {
        self.epoch = -1;
        self.may_be_member = false;
        self.subscription_refused = false;
        self.early_heartbeats = 0;
        self.target = Partitions::default();
        self.heartbeat.forget();
        self.names.reset_lookup();
    }

    // ---------------------------------------------------------------- assignment

    /// Reports the assignment if it differs from the last one. Partitions of topics without a known name are left out.
    fn report_assignment(&mut self) {
        let named = |(topic_id, partition)| {
            Some(AssignedPartition {
                topic_id,
                topic: self.names.get(topic_id)?.clone(),
                partition,
            })
        };
        let assigned: Vec<AssignedPartition> = match self.phase {
            Phase::Member => self.target.iter().filter_map(named).collect(),
            Phase::Inactive | Phase::Joining | Phase::Leaving(_) => Vec::new(),
        };
        if assigned != self.assigned {
            self.assigned.clone_from(&assigned);
            self.actions.push(MemberAction::Assigned(assigned));
        }
    }

    /// Handles changed metadata of a topic, which may contain the name of a topic id.
    pub(super) fn on_topic_changed(&mut self, cluster: &Cluster, name: &Arc<str>) {
        // A topic that does not exist yet is no error here: the coordinator assigns it once it exists. An invalid name never
        // will.
        let refused = |topic: &TopicMeta| topic.error == ErrorCode::TOPIC_EXCEPTION;
        let error = match self.subscription.contains(name) && cluster.topic(name).is_some_and(refused) {
            true => ErrorCode::TOPIC_EXCEPTION,
            false => ErrorCode::NO_ERROR,
        };
        if let Some(error) = self.topic_errors.note(name, error) {
            self.actions.push(MemberAction::ReportTopicError(name.clone(), error));
        }
        if self.names.resolve(cluster, &self.target) {
            self.report_assignment();
        }
    }

    // ---------------------------------------------------------------- requests

    /// Returns when to call the member again if nothing else happens.
    pub(super) fn wake(&self) -> Option<Instant> {
        earliest(self.next_heartbeat(), self.next_lookup())
    }

    /// Returns true if a request is due.
    pub(super) fn has_work(&self, now: Instant) -> bool {
        self.pending_leave || self.wake().is_some_and(|at| at <= now)
    }

    /// Sends the next heartbeat at once, because the assignment may have changed or the coordinator may have removed this
    /// member.
    pub(super) fn heartbeat_now(&mut self, now: Instant) {
        self.heartbeat.hasten(now);
    }

    /// Returns when the next heartbeat is sent; `None` while none is needed or one is in flight.
    fn next_heartbeat(&self) -> Option<Instant> {
        match self.phase {
            Phase::Inactive | Phase::Leaving(Some(_)) => None,
            Phase::Joining if self.max_poll_exceeded => None,
            Phase::Joining | Phase::Leaving(None) => self.heartbeat.next_at(true),
            Phase::Member => self.heartbeat.next_at(self.has_changes()),
        }
    }

    fn has_changes(&self) -> bool {
        match self.heartbeat.acknowledged() {
            None => true,
            Some(names) => !self.subscription_refused && names.as_ref() != Some(&self.subscription),
        }
    }

    fn next_lookup(&self) -> Option<Instant> {
        match self.phase {
            Phase::Member => self.names.next_lookup(&self.target),
            Phase::Inactive | Phase::Joining | Phase::Leaving(_) => None,
        }
    }

    /// Sends the requests that are due.
    pub(super) fn send(&mut self, ctx: &mut Ctx<'_>, to: &CoordinatorConnection<'_>, ids: &mut RequestIds) {
        let supported = to
            .broker
            .version_within::<ShareGroupHeartbeatRequest>(FIRST_VERSION, i16::MAX);
        let Ok(version) = supported else {
            self.pending_leave = false;
            return self.on_unsupported();
        };
        if std::mem::take(&mut self.pending_leave) {
            // The response is not needed.
            let _ = self.send_leave(ctx, to, version, ids);
        }
        if self.next_heartbeat().is_some_and(|at| at <= ctx.now) {
            match self.phase {
                Phase::Leaving(_) => match self.send_leave(ctx, to, version, ids) {
                    Some(id) => self.phase = Phase::Leaving(Some(id)),
                    None => self.on_left(),
                },
                _ => self.send_heartbeat(ctx, to, version, ids),
            }
        }
        if self.next_lookup().is_some_and(|at| at <= ctx.now) {
            self.names.send_lookup(ctx, to, &self.target, ids);
        }
    }

    fn send_leave(
        &self,
        ctx: &mut Ctx<'_>,
        to: &CoordinatorConnection<'_>,
        version: i16,
        ids: &mut RequestIds,
    ) -> Option<u64> {
        let request = ShareGroupHeartbeatRequest {
            group_id: to.group_id.to_owned(),
            member_id: self.member_id.clone(),
            member_epoch: LEAVE,
            ..Default::default()
        };
        let tag = ids.next_tag(Owner::ShareGroup);
        let timeout = Duration::from_millis(GRACE_MS);
        let sent = to.broker.send(ctx, tag, &request, version, timeout);
        sent.ok().map(|()| tag.id)
    }

    fn send_heartbeat(
        &mut self,
        ctx: &mut Ctx<'_>,
        to: &CoordinatorConnection<'_>,
        version: i16,
        ids: &mut RequestIds,
    ) {
        let joins = self.phase == Phase::Joining;
        let before = self.heartbeat.acknowledged().filter(|_| !joins);
        let is_new = before.is_none_or(|names| names.as_ref() != Some(&self.subscription));
        let has_names = is_new && !self.subscription_refused;
        let rack = Some(&ctx.conf.client_rack).filter(|rack| before.is_none() && !rack.is_empty());
        let request = ShareGroupHeartbeatRequest {
            group_id: to.group_id.to_owned(),
            member_id: self.member_id.clone(),
            member_epoch: if joins { JOIN } else { self.epoch },
            rack_id: rack.cloned(),
            subscribed_topic_names: has_names.then(|| self.subscription()),
            ..Default::default()
        };
        let state = match has_names {
            true => Some(self.subscription.clone()),
            false => before.cloned().flatten(),
        };
        let tag = ids.next_tag(Owner::ShareGroup);
        let timeout = self.heartbeat.timeout(ctx.conf);
        match to.broker.send(ctx, tag, &request, version, timeout) {
            Ok(()) => {
                self.may_be_member = true;
                self.heartbeat.on_sent(tag.id, state);
            }
            Err(_) => self.heartbeat.on_failed(ctx),
        }
    }

    // ---------------------------------------------------------------- responses

    /// Handles a request's outcome; returns true if the coordinator has to be looked up again. Ignores requests that are not
    /// this member's, or whose outcome has no meaning any more.
    pub(super) fn on_outcome(
        &mut self,
        ctx: &mut Ctx<'_>,
        cluster: &Cluster,
        key: BrokerKey,
        id: u64,
        outcome: Outcome,
    ) -> bool {
        if self.heartbeat.is_in_flight(id) {
            let result = response_of::<ShareGroupHeartbeatRequest>(ctx, key, outcome);
            return self.on_heartbeat(ctx, cluster, result);
        }
        if self.phase == Phase::Leaving(Some(id)) {
            let result = response_of::<ShareGroupHeartbeatRequest>(ctx, key, outcome);
            return self.on_leave_answered(ctx, result);
        }
        if self.names.is_lookup(id) {
            let result = response_of::<MetadataRequest>(ctx, key, outcome);
            self.on_looked_up(ctx, result);
        }
        false
    }

    fn on_heartbeat(
        &mut self,
        ctx: &mut Ctx<'_>,
        cluster: &Cluster,
        result: Result<ShareGroupHeartbeatResponse, Error>,
    ) -> bool {
        let response = match result {
            Ok(response) => response,
            Err(error) => {
                self.heartbeat.on_failed(ctx);
                return error.code != ErrorCode::L_BAD_MSG;
            }
        };
        let code: ErrorCode = response.error_code.into();
        if !code.is_ok() {
            let text = match response.error_message.filter(|m| !m.is_empty()) {
                Some(message) => message,
                None => code.description().into_owned(),
            };
            return self.on_refused(ctx, code, &text);
        }
        self.heartbeat.on_accepted(ctx.now, response.heartbeat_interval_ms);
        self.epoch = response.member_epoch;
        if self.phase == Phase::Joining {
            self.phase = Phase::Member;
            ctx.log.debug(DebugContexts::CGRP, "JOINGROUP", || {
                format!("joined as {} with epoch {}", self.member_id, self.epoch)
            });
        }
        if let Some(assignment) = response.assignment {
            self.target = assignment.into();
            self.names.reset_lookup();
            self.names.prune(&[&self.target]);
            self.names.resolve(cluster, &self.target);
        }
        if self.target.is_empty() && self.early_heartbeats < EARLY_HEARTBEATS_MAX {
            self.heartbeat
                .hasten(ctx.now.plus_ms(EARLY_HEARTBEAT_MS << self.early_heartbeats));
            self.early_heartbeats += 1;
        }
        self.report_assignment();
        false
    }

    /// Handles the error of a heartbeat; returns true if the coordinator has to be looked up again.
    fn on_refused(&mut self, ctx: &mut Ctx<'_>, code: ErrorCode, text: &str) -> bool {
        ctx.log.debug(DebugContexts::CGRP, "REFUSED", || {
            format!("ShareGroupHeartbeat with epoch {} was refused: {text}", self.epoch)
        });
        let kind = HeartbeatError::of(code);
        match (code, kind) {
            _ if matches!(self.phase, Phase::Leaving(_)) => self.on_refused_before_leaving(ctx, code, kind),
            (ErrorCode::TOPIC_AUTHORIZATION_FAILED, _) if self.is_in() => {
                // The member stays in the group with its previous subscription.
                self.subscription_refused = true;
                let topics = self.subscription().join(", ");
                self.report_later_again(ctx, code, format!("the subscription to {topics} was refused: {text}"));
            }
            (ErrorCode::GROUP_ID_NOT_FOUND, _) => {
                let cause = "the group was deleted, or is no share group";
                self.report_fatal(code, format!("ShareGroupHeartbeat failed: {text} ({cause})"));
            }
            (ErrorCode::GROUP_AUTHORIZATION_FAILED | ErrorCode::GROUP_MAX_SIZE_REACHED, _)
            | (_, HeartbeatError::Invalid) => {
                self.report_fatal(code, format!("ShareGroupHeartbeat failed: {text}"));
            }
            (_, HeartbeatError::Unsupported) => self.on_unsupported(),
            (_, HeartbeatError::Removed) => self.on_removed(ctx, code),
            (_, HeartbeatError::CoordinatorMoved | HeartbeatError::Transient) => self.heartbeat.on_failed(ctx),
            (_, HeartbeatError::Lasting) => {
                self.report_later_again(ctx, code, format!("ShareGroupHeartbeat failed: {text}"));
            }
        }
        kind == HeartbeatError::CoordinatorMoved
    }

    /// Handles the error of a heartbeat that was in flight when the application unsubscribed.
    fn on_refused_before_leaving(&mut self, ctx: &mut Ctx<'_>, code: ErrorCode, kind: HeartbeatError) {
        match code {
            ErrorCode::UNKNOWN_MEMBER_ID | ErrorCode::GROUP_ID_NOT_FOUND => self.on_left(),
            _ if kind == HeartbeatError::CoordinatorMoved => self.heartbeat.on_failed(ctx),
            _ => self.heartbeat.forget(),
        }
    }

    /// Handles the loss of membership: joins again.
    fn on_removed(&mut self, ctx: &mut Ctx<'_>, code: ErrorCode) {
        // The coordinator refuses epoch 0 for a member that it has with another epoch, until the member's session ends.
        // Leaving ends the session at once.
        self.pending_leave |= code == ErrorCode::FENCED_MEMBER_EPOCH;
        match self.is_in() {
            true => {
                self.forget_group();
                self.heartbeat.retry_at_once(ctx.now);
                self.phase = Phase::Joining;
                self.report_assignment();
            }
            // The member joins already: immediate repetition could spin.
            false => self.heartbeat.on_failed(ctx),
        }
    }

    /// Handles an error that needs an administrator: retries at the usual interval.
    fn report_later_again(&mut self, ctx: &mut Ctx<'_>, code: ErrorCode, text: String) {
        self.heartbeat.on_failed(ctx);
        self.heartbeat.retry_at_interval(ctx.now);
        let new = self.heartbeat.report_once(Error::new(code, text));
        self.actions.extend(new.map(MemberAction::ReportError));
    }

    fn report_fatal(&mut self, code: ErrorCode, text: String) {
        self.actions
            .push(MemberAction::ReportError(Error::new(code, text).into_fatal()));
        self.forget_group();
        self.phase = Phase::Inactive;
        self.report_assignment();
    }

    /// Handles brokers that do not support share groups, or have them disabled.
    fn on_unsupported(&mut self) {
        match self.phase {
            Phase::Inactive => {}
            Phase::Leaving(_) => self.on_left(),
            Phase::Joining | Phase::Member => {
                let text = "the brokers do not support share groups, which need Apache Kafka 4.1 or later and the feature \
                            share.version=1";
                self.report_fatal(ErrorCode::UNSUPPORTED_VERSION, text.to_owned());
            }
        }
    }

    /// Handles the result of the heartbeat that leaves; returns true if the coordinator has to be looked up again, to which
    /// it is then repeated. Other failures are not repeated: the coordinator removes the member when its session ends.
    fn on_leave_answered(&mut self, ctx: &mut Ctx<'_>, result: Result<ShareGroupHeartbeatResponse, Error>) -> bool {
        let code = result.map(|response| ErrorCode::from(response.error_code));
        let moved = code.is_ok_and(|code| HeartbeatError::of(code) == HeartbeatError::CoordinatorMoved);
        if !moved {
            self.on_left();
            return false;
        }
        self.heartbeat.on_failed(ctx);
        self.phase = Phase::Leaving(None);
        if !self.subscription.is_empty() {
            self.stay();
        }
        true
    }

    /// Handles the end of membership; joins again if the application has subscribed in the meantime.
    fn on_left(&mut self) {
        self.forget_group();
        self.phase = match self.subscription.is_empty() {
            true => Phase::Inactive,
            false => Phase::Joining,
        };
        self.report_assignment();
    }

    /// Handles the result of a look-up of topic names.
    fn on_looked_up(&mut self, ctx: &mut Ctx<'_>, result: Result<MetadataResponse, Error>) {
        self.names.on_response(ctx, &self.target, result);
        self.report_assignment();
    }
}

#[cfg(test)]
mod tests;
