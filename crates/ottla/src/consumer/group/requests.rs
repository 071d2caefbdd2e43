//! The requests of a member to its coordinator.

use std::collections::BTreeMap;
use std::time::Duration;

use ottla_protocol::EncodeError;
use ottla_protocol::api::heartbeat::HeartbeatRequest;
use ottla_protocol::api::join_group::{JoinGroupRequest, JoinGroupRequestProtocol};
use ottla_protocol::api::leave_group::{LeaveGroupRequest, MemberIdentity};
use ottla_protocol::api::sync_group::{SyncGroupRequest, SyncGroupRequestAssignment};

use super::actions::GroupAction;
use super::assignor::{self, Strategy};
use super::classic::{ClassicMember, State};
use super::member_messages::{MemberSubscription, write_assignment, write_subscription};
use crate::cluster::Cluster;
use crate::config::ClientConfig;
use crate::connection::{BrokerKey, BrokerVersions, Owner, Tag};
use crate::context::Ctx;
use crate::error::{Error, ErrorCode};
use crate::log::DebugContexts;

/// SyncGroup names the group's protocol from this version on.
const FIRST_WITH_PROTOCOL_TYPE_IN_SYNC: i16 = 5;
/// LeaveGroup names several members from this version on.
const FIRST_LEAVE_OF_MANY: i16 = 3;
/// JoinGroup has a rebalance timeout of its own from this version on; before, the session timeout is meant.
const FIRST_WITH_REBALANCE_TIMEOUT: i16 = 1;
/// How much longer than the broker may hold an answer back one waits for it.
pub(super) const GRACE_MS: u64 = 5000;

/// The settings of a request to the coordinator.
pub(super) struct CoordinatorConnection<'a> {
    pub(super) key: BrokerKey,
    pub(super) versions: &'a BrokerVersions,
    pub(super) group_id: &'a str,
    /// Commits wait that the coordinator must have before the member joins anew or leaves.
    pub(super) commits_first: bool,
}

impl ClassicMember {
    /// Sends what is due.
    pub(super) fn send(
        &mut self,
        ctx: &mut Ctx<'_>,
        cluster: &mut Cluster,
        to: &CoordinatorConnection<'_>,
        next_id: &mut u64,
    ) {
        if let Some(member_id) = self.pending_leave.take() {
            // Nothing depends on the answer.
            let _ = send_leave(ctx, to, member_id, next_id);
        }
        match self.state {
            State::PreparingJoin | State::Leaving(None) if to.commits_first => {}
            State::PreparingJoin if self.join_is_due(ctx.now) => self.send_join(ctx, cluster, to, next_id),
            State::AwaitingMetadata { .. } => self.divide(ctx, cluster, to, next_id),
            State::Syncing(None) => self.send_sync(ctx, to, next_id),
            State::Stable | State::Revoking if self.heartbeat_is_due(ctx.now) => self.send_heartbeat(ctx, to, next_id),
            State::Leaving(None) if self.retry_at <= ctx.now => {
                match send_leave(ctx, to, self.member_id.clone(), next_id) {
                    Some(id) => self.state = State::Leaving(Some(id)),
                    None => self.abandon(),
                }
            }
            _ => {}
        }
    }

    fn send_join(&mut self, ctx: &mut Ctx<'_>, cluster: &Cluster, to: &CoordinatorConnection<'_>, next_id: &mut u64) {
        // Joining before anything is known of the topics would only mean joining again.
        let unknown = self.topics.iter().all(|t| cluster.topic(t).is_none()) && !self.topics.is_empty();
        if unknown || self.awaits_listing(cluster) {
            self.retry_at = ctx.now.plus_ms(100);
            return;
        }
        let Some(version) = to.versions.pick::<JoinGroupRequest>() else {
            return self.unsupported(ctx, "JoinGroup");
        };
        let protocols = match self.protocols(ctx.conf) {
            Ok(protocols) => protocols,
            Err(e) => return self.cannot_write(ctx, &e),
        };
        let session = super::millis(ctx.conf.session_timeout_ms);
        let rebalance = super::millis(ctx.conf.max_poll_interval_ms);
        let request = JoinGroupRequest {
            group_id: to.group_id.to_owned(),
            session_timeout_ms: super::int32(session),
            rebalance_timeout_ms: super::int32(rebalance),
            member_id: self.member_id.clone(),
            group_instance_id: self.instance_id.clone().filter(|_| version >= 5),
            protocol_type: ctx.conf.group_protocol_type.clone(),
            protocols,
            ..Default::default()
        };
        let held = if version >= FIRST_WITH_REBALANCE_TIMEOUT {
            rebalance
        } else {
            session
        };
        let id = new_id(next_id);
        let timeout = Duration::from_millis(held.saturating_add(GRACE_MS));
        match ctx
            .connections
            .send(to.key, ctx.now, tag(id), &request, version, timeout)
        {
            Ok(()) => self.state = State::Joining(id),
            Err(_) => self.back_off(ctx),
        }
    }

    /// What the member wants and has, once for each of its strategies.
    fn protocols(&self, conf: &ClientConfig) -> Result<Vec<JoinGroupRequestProtocol>, EncodeError> {
        let (owned, generation) = self.claim();
        let subscription = MemberSubscription {
            topics: self.topics(),
            owned,
            generation,
            rack: Some(conf.client_rack.clone()).filter(|rack| !rack.is_empty()),
        };
        let protocol = |strategy: &Strategy| {
            Ok(JoinGroupRequestProtocol {
                name: strategy.name().to_owned(),
                metadata: write_subscription(*strategy, &subscription)?,
                ..Default::default()
            })
        };
        self.strategies.iter().map(protocol).collect()
    }

    fn cannot_write(&mut self, ctx: &mut Ctx<'_>, error: &EncodeError) {
        let text = format!("what the group is to be told cannot be written: {error}");
        self.actions
            .push(GroupAction::ReportError(Error::new(ErrorCode::L_INVALID_ARG, text)));
        self.back_off(ctx);
    }

    fn unsupported(&mut self, ctx: &mut Ctx<'_>, what: &str) {
        let text = format!("the broker speaks no common version of {what}");
        self.actions.push(GroupAction::ReportError(Error::new(
            ErrorCode::L_UNSUPPORTED_FEATURE,
            text,
        )));
        self.state = State::PreparingJoin;
        self.retry_at = ctx.now.plus_ms(super::millis(ctx.conf.session_timeout_ms));
    }

    /// As leader: divides the partitions once those of all topics are known.
    fn divide(&mut self, ctx: &mut Ctx<'_>, cluster: &Cluster, to: &CoordinatorConnection<'_>, next_id: &mut u64) {
        let State::AwaitingMetadata { until } = self.state else {
            return;
        };
        if ctx.now < until && self.watched.iter().any(|t| cluster.topic(t).is_none()) {
            return;
        }
        self.divided = self.shapes(cluster);
        ctx.log.debug(DebugContexts::ASSIGNOR, "ASSIGN", || {
            let (members, topics) = (self.members.len(), self.divided.len());
            let partitions: i32 = self.divided.values().map(|shape| shape.count).sum();
            format!("dividing {partitions} partition(s) of {topics} topic(s) among {members} member(s)")
        });
        self.state = State::Syncing(None);
        self.send_sync(ctx, to, next_id);
    }

    fn send_sync(&mut self, ctx: &mut Ctx<'_>, to: &CoordinatorConnection<'_>, next_id: &mut u64) {
        let Some(version) = to.versions.pick::<SyncGroupRequest>() else {
            return self.unsupported(ctx, "SyncGroup");
        };
        let strategy = self.strategy.unwrap_or(Strategy::Range);
        let assignments = match self.members.is_empty() || self.inherited.is_some() {
            true => BTreeMap::new(),
            false => assignor::divide(strategy, &self.members, &self.divided),
        };
        for (member, assignment) in &assignments {
            ctx.log.debug(DebugContexts::ASSIGNOR, "ASSIGN", || {
                let topics: Vec<String> = assignment.iter().map(|(topic, p)| format!("{topic} {p:?}")).collect();
                format!("{}: {member} gets {}", strategy.name(), topics.join(", "))
            });
        }
        let assignments = assignments.iter().map(|(member, assignment)| {
            Ok(SyncGroupRequestAssignment {
                member_id: member.clone(),
                assignment: write_assignment(assignment)?,
                ..Default::default()
            })
        });
        let assignments = match assignments.collect::<Result<Vec<_>, EncodeError>>() {
            Ok(assignments) => assignments,
            Err(e) => return self.cannot_write(ctx, &e),
        };
        let named = version >= FIRST_WITH_PROTOCOL_TYPE_IN_SYNC;
        let request = SyncGroupRequest {
            group_id: to.group_id.to_owned(),
            generation_id: self.generation,
            member_id: self.member_id.clone(),
            group_instance_id: self.instance_id.clone().filter(|_| version >= 3),
            protocol_type: named.then(|| ctx.conf.group_protocol_type.clone()),
            protocol_name: named.then(|| strategy.name().to_owned()),
            assignments,
            ..Default::default()
        };
        let id = new_id(next_id);
        let held = super::millis(ctx.conf.max_poll_interval_ms).saturating_add(GRACE_MS);
        match ctx
            .connections
            .send(to.key, ctx.now, tag(id), &request, version, Duration::from_millis(held))
        {
            Ok(()) => self.state = State::Syncing(Some(id)),
            Err(_) => self.back_off(ctx),
        }
    }

    fn send_heartbeat(&mut self, ctx: &mut Ctx<'_>, to: &CoordinatorConnection<'_>, next_id: &mut u64) {
        let Some(version) = to.versions.pick::<HeartbeatRequest>() else {
            return;
        };
        let request = HeartbeatRequest {
            group_id: to.group_id.to_owned(),
            generation_id: self.generation,
            member_id: self.member_id.clone(),
            group_instance_id: self.instance_id.clone().filter(|_| version >= 3),
            ..Default::default()
        };
        let id = new_id(next_id);
        let timeout = Duration::from_millis(super::millis(ctx.conf.session_timeout_ms));
        // One that went out sooner leaves the interval as it is.
        let due = self.heartbeat_due.max(ctx.now);
        self.heartbeat_due = due.plus_ms(super::millis(ctx.conf.heartbeat_interval_ms));
        if ctx
            .connections
            .send(to.key, ctx.now, tag(id), &request, version, timeout)
            .is_ok()
        {
            self.heartbeat = Some((id, ctx.now));
        }
    }
}

/// Takes a member out of the group; `None` when nothing can be sent.
fn send_leave(ctx: &mut Ctx<'_>, to: &CoordinatorConnection<'_>, member_id: String, next_id: &mut u64) -> Option<u64> {
    let version = to.versions.pick::<LeaveGroupRequest>()?;
    let group_id = to.group_id.to_owned();
    let request = if version >= FIRST_LEAVE_OF_MANY {
        LeaveGroupRequest {
            group_id,
            members: vec![MemberIdentity {
                member_id,
                ..Default::default()
            }],
            ..Default::default()
        }
    } else {
        LeaveGroupRequest {
            group_id,
            member_id,
            ..Default::default()
        }
    };
    let id = new_id(next_id);
    let timeout = Duration::from_millis(GRACE_MS);
    let sent = ctx
        .connections
        .send(to.key, ctx.now, tag(id), &request, version, timeout);
    sent.ok().map(|()| id)
}

pub(super) fn new_id(next_id: &mut u64) -> u64 {
    *next_id += 1;
    *next_id
}

pub(super) fn tag(id: u64) -> Tag {
    Tag {
        owner: Owner::Group,
        id,
    }
}
