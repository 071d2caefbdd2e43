//! The coordinator's side of the consumer group protocol (KIP-848).
//!
//! Three epochs drive it. The group epoch rises when another assignment is needed: members join, leave or change their
//! subscription; topics are created, extended or deleted. The assignment epoch follows when a server-side assignor has
//! computed the target assignment. Each member epoch follows when the member has revoked the partitions that are not in
//! its target; it receives partitions of other members after those have released them (`reconcile.rs`).
//!
//! A group may contain members of the classic protocol while it changes from one protocol to the other. The coordinator
//! assigns their partitions as well. JoinGroup carries the subscription and the owned partitions and is answered at
//! once, with the member epoch as the generation. SyncGroup returns the assignment. Heartbeat returns
//! REBALANCE_IN_PROGRESS when the group epoch is ahead, when the member has to revoke partitions, or when the
//! partitions that it waits for are free.

mod assignors;
mod member;
mod partitions;
mod reconcile;
mod subscriptions;

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use ottla_protocol::api::consumer_group_heartbeat::{
    Assignment, ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse, TopicPartitions,
};
use ottla_protocol::api::join_group::{JoinGroupRequest, JoinGroupResponse};
use ottla_protocol::api::sync_group::{SyncGroupRequest, SyncGroupResponse};
use ottla_protocol::consumer_protocol::{ConsumerProtocolAssignment, ConsumerProtocolSubscription, TopicPartition};
use ottla_protocol::{ErrorCode, Uuid};

pub(crate) use assignors::assignor_names;
use assignors::{ASSIGNORS, Candidate};
use member::STATIC_LEAVE_EPOCH;
pub(crate) use member::{ClassicMember, ConsumerMember, MemberState};
pub(crate) use partitions::{Partitions, by_topic};
use reconcile::Reconciliation;
use subscriptions::Expressions;

use super::classic::{Protocol, rebalance_timeout_ms};
use super::responses::failed_join;
use crate::request::Context;
use crate::state::ClusterState;
use crate::timers::MemberTimer;
use crate::topics::Topics;

/// The protocol type of consumers in both protocols.
pub(crate) const PROTOCOL_TYPE: &str = "consumer";

#[derive(Debug)]
pub(crate) struct ConsumerGroup {
    id: String,
    epoch: i32,
    /// The group epoch of the target assignment.
    assignment_epoch: i32,
    members: BTreeMap<String, ConsumerMember>,
    /// The holders of instance ids (`group.instance.id`).
    static_members: BTreeMap<String, String>,
    /// Ids and partition counts of the subscribed topics at the last rise of the epoch.
    topics: BTreeMap<String, (Uuid, usize)>,
    /// The version of the target assignment that was set from outside, at the last rise of the epoch.
    set_target_version: u64,
    expressions: Expressions,
}

/// The outcome of a JoinGroup request to a consumer group.
pub(crate) struct Joined {
    pub(crate) response: JoinGroupResponse,
    /// The member has replaced a static member.
    pub(crate) replaces: bool,
    pub(crate) subscription_changed: bool,
}

impl ConsumerGroup {
    pub(crate) fn new(id: &str) -> Self {
        Self {
            id: id.to_owned(),
            epoch: 0,
            assignment_epoch: 0,
            members: BTreeMap::new(),
            static_members: BTreeMap::new(),
            topics: BTreeMap::new(),
            set_target_version: 0,
            expressions: Expressions::default(),
        }
    }

    /// Creates a group whose members have their target assignment of this epoch. The topics are unknown, so that the
    /// next heartbeat computes a new assignment: the last leader may have left without one.
    pub(super) fn with_members(id: &str, epoch: i32, members: Vec<ConsumerMember>) -> Self {
        let instances = members
            .iter()
            .filter_map(|m| Some((m.instance_id.clone()?, m.id.clone())));
        Self {
            epoch,
            assignment_epoch: epoch,
            static_members: instances.collect(),
            members: members.into_iter().map(|m| (m.id.clone(), m)).collect(),
            ..Self::new(id)
        }
    }

    pub(crate) fn epoch(&self) -> i32 {
        self.epoch
    }

    pub(crate) fn assignment_epoch(&self) -> i32 {
        self.assignment_epoch
    }

    /// Returns the members by ascending id.
    pub(crate) fn members(&self) -> impl Iterator<Item = &ConsumerMember> {
        self.members.values()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Returns the state under the name in ListGroups and ConsumerGroupDescribe.
    pub(crate) fn state_name(&self) -> &'static str {
        let reconciled = |m: &ConsumerMember| m.is_reconciled_to(self.assignment_epoch);
        match () {
            () if self.members.is_empty() => "Empty",
            () if self.epoch > self.assignment_epoch => "Assigning",
            () if !self.members.values().all(reconciled) => "Reconciling",
            () => "Stable",
        }
    }

    /// Returns true when all members speak the classic protocol.
    pub(super) fn is_all_classic(&self) -> bool {
        !self.members.is_empty() && self.members.values().all(|m| m.classic.is_some())
    }

    /// Returns the partitions that other members hold or have not acknowledged to revoke.
    fn held_by_others(&self, member: &str) -> Partitions {
        let others = self.members.values().filter(|m| m.id != member);
        others.flat_map(ConsumerMember::held).copied().collect()
    }

    /// Checks a commit outside of transactions.
    pub(crate) fn check_commit(&self, member: &str, epoch: i32, version: i16) -> Result<(), ErrorCode> {
        if epoch < 0 && self.members.is_empty() {
            return Ok(());
        }
        let found = self.members.get(member).ok_or(ErrorCode::UNKNOWN_MEMBER_ID)?;
        if found.classic.is_none() && version < 9 {
            return Err(ErrorCode::UNSUPPORTED_VERSION);
        }
        found.check_epoch_of_offsets(epoch)
    }

    /// Checks a commit as part of a transaction. A commit without member id, instance id and epoch is always valid
    /// (KIP-447).
    pub(crate) fn check_transactional_commit(
        &self,
        member: &str,
        instance: Option<&str>,
        epoch: i32,
    ) -> Result<(), ErrorCode> {
        let says_nothing = epoch < 0 && member.is_empty() && instance.is_none();
        if says_nothing || epoch < 0 && self.members.is_empty() {
            return Ok(());
        }
        let found = self.members.get(member).ok_or(ErrorCode::UNKNOWN_MEMBER_ID)?;
        // STALE_MEMBER_EPOCH is unknown to TxnOffsetCommit.
        found
            .check_epoch_of_offsets(epoch)
            .map_err(|_| ErrorCode::ILLEGAL_GENERATION)
    }

    /// Checks an offset fetch. A request without member and epoch is always valid.
    pub(crate) fn check_fetch(&self, member: Option<&str>, epoch: i32) -> Result<(), ErrorCode> {
        match member {
            None if epoch < 0 => Ok(()),
            None => Err(ErrorCode::UNKNOWN_MEMBER_ID),
            Some(member) => {
                let found = self.members.get(member).ok_or(ErrorCode::UNKNOWN_MEMBER_ID)?;
                found.check_epoch_of_offsets(epoch)
            }
        }
    }

    // ---------------------------------------------------------------- heartbeats

    /// Handles a heartbeat of a member that joins (epoch 0) or stays.
    ///
    /// # Errors
    /// GROUP_MAX_SIZE_REACHED, INVALID_REGULAR_EXPRESSION, UNKNOWN_MEMBER_ID, FENCED_MEMBER_EPOCH, FENCED_INSTANCE_ID,
    /// UNRELEASED_INSTANCE_ID. The group is unchanged then.
    pub(crate) fn heartbeat(
        &mut self,
        state: &mut ClusterState,
        context: &Context,
        request: &ConsumerGroupHeartbeatRequest,
    ) -> Result<ConsumerGroupHeartbeatResponse, ErrorCode> {
        self.check_size(state.config.group_consumer_max_size, &request.member_id)?;
        self.expressions.check(request.subscribed_topic_regex.as_deref())?;
        let owned = request.topic_partitions.as_deref().map(from_wire);
        let mut member = self.take_member(state, request, owned.as_ref())?;
        let before = member.clone();
        member.take_request(context, request);
        member.cancel_timer(state, MemberTimer::Join);
        member.cancel_timer(state, MemberTimer::Sync);
        let expression_changed = member.regex != before.regex;
        let topics_changed = member.topics != before.topics;
        let counts = topics_changed || expression_changed && self.expressions.takes_effect_at_once(&member.regex);
        let id = self.insert(member);
        if request.member_epoch == 0 {
            state.record_join(context, &self.id, &id);
        }
        self.drop_expressions();
        self.prepare_target(state, counts);
        self.reconcile(state, &id, owned.as_ref(), topics_changed || expression_changed);
        let session_timeout_ms = state.config.group_consumer_session_timeout_ms;
        self.set_timer(state, &id, MemberTimer::Session, session_timeout_ms);

        let after = self.members.get(&id).ok_or(ErrorCode::UNKNOWN_MEMBER_ID)?;
        let names = request.subscribed_topic_names.is_some() || request.subscribed_topic_regex.is_some();
        // A complete request, as after an error, is answered with the assignment.
        let is_full = request.rebalance_timeout_ms != -1 && names && owned.is_some();
        let is_told = request.member_epoch == 0 || is_full || after.assigned != before.assigned;
        let response = ConsumerGroupHeartbeatResponse {
            throttle_time_ms: context.throttle_time_ms,
            member_id: Some(id),
            member_epoch: after.epoch,
            heartbeat_interval_ms: state.config.group_consumer_heartbeat_interval_ms,
            assignment: is_told.then(|| to_wire(&after.assigned)),
            ..Default::default()
        };
        self.refresh_expressions(state);
        Ok(response)
    }

    /// Checks that one more member may join. Existing members may always.
    fn check_size(&self, most: usize, member: &str) -> Result<(), ErrorCode> {
        match self.members.len() < most || self.members.contains_key(member) {
            true => Ok(()),
            false => Err(ErrorCode::GROUP_MAX_SIZE_REACHED),
        }
    }

    /// Removes the member of a heartbeat from the group, to be inserted again. Creates a member that joins, or renames
    /// the static member that it replaces.
    fn take_member(
        &mut self,
        state: &mut ClusterState,
        request: &ConsumerGroupHeartbeatRequest,
        owned: Option<&Partitions>,
    ) -> Result<ConsumerMember, ErrorCode> {
        let joins = request.member_epoch == 0;
        let mut id = request.member_id.clone();
        if id.is_empty() {
            id = state.rng.uuid().to_string();
        }
        let holder = match &request.instance_id {
            None => Some(&id),
            Some(instance) => self.static_members.get(instance),
        };
        let found = holder.and_then(|holder| self.members.get(holder));
        match found {
            None if !joins => return Err(ErrorCode::UNKNOWN_MEMBER_ID),
            None => return Ok(ConsumerMember::new(id)),
            // A static member of the consumer protocol is replaced only after it left temporarily.
            Some(old) if joins && request.instance_id.is_some() => {
                if old.classic.is_none() && old.epoch != STATIC_LEAVE_EPOCH {
                    return Err(ErrorCode::UNRELEASED_INSTANCE_ID);
                }
                let old = old.id.clone();
                return self.take_over(state, &old, id);
            }
            Some(found) if found.id != id => return Err(ErrorCode::FENCED_INSTANCE_ID),
            Some(found) => found.check_epoch(request.member_epoch, owned)?,
        }
        self.members.remove(&id).ok_or(ErrorCode::UNKNOWN_MEMBER_ID)
    }

    /// Removes a static member from the group, to be inserted under the id with which it returns.
    fn take_over(&mut self, state: &mut ClusterState, old: &str, id: String) -> Result<ConsumerMember, ErrorCode> {
        let mut member = self.members.remove(old).ok_or(ErrorCode::UNKNOWN_MEMBER_ID)?;
        member.cancel_timers(state);
        Ok(member.with_id(id))
    }

    fn insert(&mut self, member: ConsumerMember) -> String {
        let id = member.id.clone();
        if let Some(instance) = &member.instance_id {
            self.static_members.insert(instance.clone(), id.clone());
        }
        self.members.insert(id.clone(), member);
        id
    }

    /// Computes the target assignment for the group's epoch, which a change of subscription raises.
    fn prepare_target(&mut self, state: &ClusterState, subscription_changed: bool) {
        self.raise_epoch(state, subscription_changed || self.epoch == 0);
        if self.epoch > self.assignment_epoch {
            self.assign(state);
        }
    }

    /// Advances a member towards the target assignment as far as possible.
    fn reconcile(
        &mut self,
        state: &mut ClusterState,
        id: &str,
        owned: Option<&Partitions>,
        subscription_changed: bool,
    ) {
        let target_epoch = self.assignment_epoch;
        let Some(mut member) = self.members.remove(id) else {
            return;
        };
        if subscription_changed || !member.is_reconciled_to(target_epoch) {
            let step = Reconciliation {
                target_epoch,
                subscribed: &self.subscribed(state, &member),
                subscription_changed,
                owned,
                held_by_others: &self.held_by_others(id),
            };
            let changed = step.advance(&mut member);
            if changed && member.classic.is_none() {
                match member.state {
                    MemberState::UnrevokedPartitions => {
                        let timeout_ms = member.rebalance_timeout_ms;
                        member.set_timer(state, &self.id, MemberTimer::Revocation, timeout_ms);
                    }
                    _ => member.cancel_timer(state, MemberTimer::Revocation),
                }
            }
        }
        self.members.insert(id.to_owned(), member);
    }

    /// Handles a heartbeat of a member that leaves, for good or, as a static member, temporarily. Returns true when it
    /// was removed.
    ///
    /// # Errors
    /// UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID.
    pub(crate) fn leave(
        &mut self,
        state: &mut ClusterState,
        request: &ConsumerGroupHeartbeatRequest,
    ) -> Result<bool, ErrorCode> {
        let id = self.checked_id(&request.member_id, request.instance_id.as_deref())?;
        if request.instance_id.is_some() && request.member_epoch == STATIC_LEAVE_EPOCH {
            if let Some(member) = self.members.get_mut(&id) {
                // The member keeps its assignment until its session ends.
                member.epoch = STATIC_LEAVE_EPOCH;
                member.pending_revocation.clear();
                member.cancel_timer(state, MemberTimer::Revocation);
            }
            return Ok(false);
        }
        self.remove(state, &id);
        Ok(true)
    }

    /// Checks a member id and its instance id, and returns the member id.
    fn checked_id(&self, member: &str, instance: Option<&str>) -> Result<String, ErrorCode> {
        let Some(instance) = instance else {
            let found = self.members.get(member).ok_or(ErrorCode::UNKNOWN_MEMBER_ID)?;
            return Ok(found.id.clone());
        };
        match self.static_members.get(instance) {
            None => Err(ErrorCode::UNKNOWN_MEMBER_ID),
            Some(holder) if holder != member => Err(ErrorCode::FENCED_INSTANCE_ID),
            Some(holder) => Ok(holder.clone()),
        }
    }

    // ---------------------------------------------------------------- members of the classic protocol

    /// Handles JoinGroup.
    ///
    /// # Errors
    /// GROUP_MAX_SIZE_REACHED, INCONSISTENT_GROUP_PROTOCOL, UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID.
    pub(crate) fn join_classic(
        &mut self,
        state: &mut ClusterState,
        context: &Context,
        request: &JoinGroupRequest,
    ) -> Result<Joined, ErrorCode> {
        self.check_size(state.config.group_consumer_max_size, &request.member_id)?;
        let protocols = Protocol::list(request);
        if !self.supports(&request.protocol_type, &protocols) {
            return Err(ErrorCode::INCONSISTENT_GROUP_PROTOCOL);
        }
        let metadata = protocols.first().map(|p| p.metadata.clone()).unwrap_or_default();
        let subscription =
            ConsumerProtocolSubscription::from_bytes(metadata).map_err(|_| ErrorCode::INCONSISTENT_GROUP_PROTOCOL)?;
        let mut id = request.member_id.clone();
        if id.is_empty() {
            id = state.rng.uuid().to_string();
            if context.version >= 4 && request.group_instance_id.is_none() {
                return Ok(Joined {
                    response: failed_join(context, &id, ErrorCode::MEMBER_ID_REQUIRED),
                    replaces: false,
                    subscription_changed: false,
                });
            }
        }
        let (mut member, replaces) = self.take_classic(state, request, id)?;
        let topics = subscription.topics.iter().cloned().collect();
        let subscription_changed = member.topics != topics || !member.regex.is_empty();
        member.topics = topics;
        member.regex.clear();
        member.instance_id.clone_from(&request.group_instance_id);
        if subscription.rack_id.is_some() {
            member.rack_id = subscription.rack_id;
        }
        member.rebalance_timeout_ms = rebalance_timeout_ms(request);
        member.client_id.clone_from(&context.client_id);
        let name = protocols.first().map(|p| p.name.clone());
        member.classic = Some(ClassicMember {
            session_timeout_ms: request.session_timeout_ms,
            protocols,
        });
        member.cancel_timers(state);
        let rebalance_timeout_ms = member.rebalance_timeout_ms;
        let id = self.insert(member);
        state.record_join(context, &self.id, &id);
        self.drop_expressions();
        self.prepare_target(state, subscription_changed);
        let owned = by_topic_id(state, &subscription.owned_partitions);
        self.reconcile(state, &id, Some(&owned), subscription_changed);
        self.set_timer(state, &id, MemberTimer::Session, request.session_timeout_ms);
        self.set_timer(state, &id, MemberTimer::Sync, rebalance_timeout_ms);
        let response = JoinGroupResponse {
            throttle_time_ms: context.throttle_time_ms,
            generation_id: self.members.get(&id).map_or(-1, |m| m.epoch),
            protocol_type: Some(PROTOCOL_TYPE.to_owned()),
            protocol_name: name,
            member_id: id,
            ..Default::default()
        };
        Ok(Joined {
            response,
            replaces,
            subscription_changed,
        })
    }

    /// Returns true when all members of the classic protocol and a new one support a common protocol.
    fn supports(&self, protocol_type: &str, protocols: &[Protocol]) -> bool {
        let mut classic = self.members.values().filter_map(|m| m.classic.as_ref());
        let everyone = |name: &str| classic.all(|c| c.protocols.iter().any(|p| p.name == name));
        protocol_type == PROTOCOL_TYPE && protocols.iter().map(|p| p.name.as_str()).any(everyone)
    }

    /// Removes the joining member from the group, to be inserted again. Returns true with it when it replaces a static
    /// member.
    fn take_classic(
        &mut self,
        state: &mut ClusterState,
        request: &JoinGroupRequest,
        id: String,
    ) -> Result<(ConsumerMember, bool), ErrorCode> {
        let Some(instance) = &request.group_instance_id else {
            let known = self.members.remove(&id);
            return Ok((known.unwrap_or_else(|| ConsumerMember::new(id)), false));
        };
        match self.static_members.get(instance).cloned() {
            Some(old) if request.member_id.is_empty() => Ok((self.take_over(state, &old, id)?, true)),
            None if request.member_id.is_empty() => Ok((ConsumerMember::new(id), false)),
            None => Err(ErrorCode::UNKNOWN_MEMBER_ID),
            Some(holder) if holder != id => Err(ErrorCode::FENCED_INSTANCE_ID),
            Some(holder) => {
                let known = self.members.remove(&holder).ok_or(ErrorCode::UNKNOWN_MEMBER_ID)?;
                Ok((known, false))
            }
        }
    }

    /// Handles SyncGroup.
    ///
    /// # Errors
    /// UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID, ILLEGAL_GENERATION, INCONSISTENT_GROUP_PROTOCOL, REBALANCE_IN_PROGRESS.
    pub(crate) fn sync_classic(
        &mut self,
        state: &mut ClusterState,
        context: &Context,
        request: &SyncGroupRequest,
    ) -> Result<SyncGroupResponse, ErrorCode> {
        let instance = request.group_instance_id.as_deref();
        let group_epoch = self.epoch;
        let member = self.classic_member(&request.member_id, instance, request.generation_id)?;
        let name = member.classic.as_ref().and_then(ClassicMember::protocol_name);
        let differs =
            |requested: &Option<String>, own: Option<&str>| requested.is_some() && requested.as_deref() != own;
        if differs(&request.protocol_type, Some(PROTOCOL_TYPE)) || differs(&request.protocol_name, name) {
            return Err(ErrorCode::INCONSISTENT_GROUP_PROTOCOL);
        }
        // A member that has to revoke partitions has rejoined already, and this response has its remaining partitions.
        if group_epoch > member.epoch && member.state != MemberState::UnrevokedPartitions {
            self.expect_join(state, &request.member_id);
            return Err(ErrorCode::REBALANCE_IN_PROGRESS);
        }
        let version = member.classic.as_ref().map_or(0, ClassicMember::version);
        let response = SyncGroupResponse {
            throttle_time_ms: context.throttle_time_ms,
            protocol_type: request.protocol_type.clone(),
            protocol_name: request.protocol_name.clone(),
            assignment: encode_assignment(&state.topics, &member.assigned, version),
            ..Default::default()
        };
        if let Some(member) = self.members.get_mut(&request.member_id) {
            member.cancel_timer(state, MemberTimer::Sync);
        }
        self.extend_session(state, &request.member_id);
        Ok(response)
    }

    /// Handles Heartbeat.
    ///
    /// # Errors
    /// UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID, ILLEGAL_GENERATION, REBALANCE_IN_PROGRESS.
    pub(crate) fn heartbeat_classic(
        &mut self,
        state: &mut ClusterState,
        id: &str,
        instance: Option<&str>,
        generation: i32,
    ) -> Result<(), ErrorCode> {
        let group_epoch = self.epoch;
        let member = self.classic_member(id, instance, generation)?;
        let rejoins = match member.state {
            _ if member.epoch < group_epoch => true,
            MemberState::Stable => false,
            MemberState::UnrevokedPartitions => true,
            MemberState::UnreleasedPartitions => {
                (&member.target - &member.assigned).is_disjoint(&self.held_by_others(id))
            }
        };
        self.extend_session(state, id);
        if rejoins {
            self.expect_join(state, id);
            return Err(ErrorCode::REBALANCE_IN_PROGRESS);
        }
        Ok(())
    }

    /// Handles LeaveGroup for a member of either protocol, by its member id or by its instance id alone.
    ///
    /// # Errors
    /// UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID.
    pub(crate) fn leave_classic(
        &mut self,
        state: &mut ClusterState,
        member: &str,
        instance: Option<&str>,
    ) -> Result<(), ErrorCode> {
        let holder = instance.and_then(|i| self.static_members.get(i)).cloned();
        let id = match holder {
            Some(holder) if member.is_empty() => holder,
            _ => self.checked_id(member, instance)?,
        };
        self.remove(state, &id);
        Ok(())
    }

    fn classic_member(&self, id: &str, instance: Option<&str>, generation: i32) -> Result<&ConsumerMember, ErrorCode> {
        let id = self.checked_id(id, instance)?;
        let found = self.members.get(&id).filter(|m| m.classic.is_some());
        let member = found.ok_or(ErrorCode::UNKNOWN_MEMBER_ID)?;
        match member.epoch == generation {
            true => Ok(member),
            false => Err(ErrorCode::ILLEGAL_GENERATION),
        }
    }

    /// Starts the rejoin timer of a member unless it is running.
    fn expect_join(&mut self, state: &mut ClusterState, id: &str) {
        if let Some(member) = self.members.get_mut(id).filter(|m| !m.is_timed(MemberTimer::Join)) {
            let timeout_ms = member.rebalance_timeout_ms;
            member.set_timer(state, &self.id, MemberTimer::Join, timeout_ms);
        }
    }

    fn extend_session(&mut self, state: &mut ClusterState, id: &str) {
        let classic = self.members.get(id).and_then(|m| m.classic.as_ref());
        if let Some(timeout_ms) = classic.map(|c| c.session_timeout_ms) {
            self.set_timer(state, id, MemberTimer::Session, timeout_ms);
        }
    }

    // ---------------------------------------------------------------- sessions

    fn set_timer(&mut self, state: &mut ClusterState, id: &str, timer: MemberTimer, timeout_ms: i32) {
        if let Some(member) = self.members.get_mut(id) {
            member.set_timer(state, &self.id, timer, timeout_ms);
        }
    }

    /// Removes a member at its timeout. Returns true when it was in the group.
    pub(crate) fn timer_due(&mut self, state: &mut ClusterState, id: &str, timer: MemberTimer) -> bool {
        if let Some(member) = self.members.get_mut(id) {
            member.timer_fired(timer);
        }
        self.remove(state, id)
    }

    /// Removes a member and frees its partitions. Returns true when it was in the group.
    fn remove(&mut self, state: &mut ClusterState, id: &str) -> bool {
        let Some(mut member) = self.members.remove(id) else {
            return false;
        };
        member.cancel_timers(state);
        if let Some(instance) = &member.instance_id {
            self.static_members.remove(instance);
        }
        self.drop_expressions();
        true
    }

    /// Raises the epoch after members have left, so that the others receive their partitions.
    pub(crate) fn members_gone(&mut self, state: &ClusterState) {
        self.raise_epoch(state, true);
    }

    /// Starts the sessions of members from a classic group.
    pub(super) fn begin_sessions(&mut self, state: &mut ClusterState) {
        for member in self.members.values_mut() {
            if let Some(timeout_ms) = member.classic.as_ref().map(|c| c.session_timeout_ms) {
                member.set_timer(state, &self.id, MemberTimer::Session, timeout_ms);
            }
        }
    }

    /// Restarts all timers of the members, under another coordinator.
    pub(crate) fn restart_timers(&mut self, state: &mut ClusterState) {
        let session_timeout_ms = state.config.group_consumer_session_timeout_ms;
        for member in self.members.values_mut() {
            for timer in member.running() {
                let timeout_ms = match (timer, &member.classic) {
                    (MemberTimer::Session, None) => session_timeout_ms,
                    (MemberTimer::Session, Some(classic)) => classic.session_timeout_ms,
                    _ => member.rebalance_timeout_ms,
                };
                member.set_timer(state, &self.id, timer, timeout_ms);
            }
        }
    }

    /// Cancels the timers of a group that is removed.
    pub(crate) fn discard(&mut self, state: &mut ClusterState) {
        for member in self.members.values_mut() {
            member.cancel_timers(state);
        }
    }

    // ---------------------------------------------------------------- subscriptions

    /// Removes the regular expressions that no member uses.
    fn drop_expressions(&mut self) {
        let used = self.members.values().map(|m| &m.regex).collect();
        self.expressions.retain(&used);
    }

    /// Refreshes the regular expressions. The group's epoch rises when they match other topics than before.
    fn refresh_expressions(&mut self, state: &ClusterState) {
        let used = self.members.values().map(|m| m.regex.clone()).collect();
        if let Some(changed) = self.expressions.refresh(state, used) {
            self.raise_epoch(state, changed);
        }
    }

    /// Returns the names of the topics in a member's subscription, existing or not.
    fn subscribed_names<'a>(&'a self, member: &'a ConsumerMember) -> impl Iterator<Item = &'a String> {
        member.topics.iter().chain(self.expressions.matched(&member.regex))
    }

    /// Returns the ids of the existing topics in a member's subscription.
    fn subscribed(&self, state: &ClusterState, member: &ConsumerMember) -> BTreeSet<Uuid> {
        let topics = self
            .subscribed_names(member)
            .filter_map(|name| state.topics.by_name(name));
        topics.filter(|t| state.is_visible(t)).map(|t| t.id).collect()
    }

    /// Returns the existing topics in all subscriptions, with their ids and partition counts.
    fn subscribed_topics(&self, state: &ClusterState) -> BTreeMap<String, (Uuid, usize)> {
        let subscribed_names = self.members.values().flat_map(|m| self.subscribed_names(m));
        let existing = subscribed_names.filter_map(|name| state.topics.by_name(name));
        let visible = existing.filter(|t| state.is_visible(t));
        visible.map(|t| (t.name.clone(), (t.id, t.partitions.len()))).collect()
    }

    /// Raises the group epoch when `force` is set, the subscribed topics have changed, or a target assignment was set from
    /// outside.
    fn raise_epoch(&mut self, state: &ClusterState, force: bool) {
        let topics = self.subscribed_topics(state);
        let set_target_version = state.target_assignments.version(&self.id);
        if force || topics != self.topics || set_target_version != self.set_target_version {
            self.epoch += 1;
            self.topics = topics;
            self.set_target_version = set_target_version;
        }
    }

    /// Returns the assignor that most members request, or the default.
    pub(crate) fn assignor_name(&self) -> &'static str {
        let votes = |name: &str| {
            self.members
                .values()
                .filter(|m| m.assignor.as_deref() == Some(name))
                .count()
        };
        let names = ASSIGNORS.iter().rev().map(|(name, _)| *name);
        names.max_by_key(|name| votes(name)).unwrap_or_default()
    }

    /// Computes the target assignment for the group's epoch, or takes over the one that was set from outside.
    fn assign(&mut self, state: &ClusterState) {
        if let Some(set) = state.target_assignments.target(&self.id) {
            for (id, member) in &mut self.members {
                let partitions = set.get(id).into_iter().flatten();
                let existing = partitions.filter_map(|(topic, index)| {
                    let topic = state.topics.by_name(topic)?;
                    topic.partition(*index).map(|_| (topic.id, *index))
                });
                member.target = existing.collect();
            }
            self.assignment_epoch = self.epoch;
            return;
        }
        let counts = self
            .topics
            .values()
            .map(|(id, count)| (*id, i32::try_from(*count).unwrap_or(i32::MAX)));
        let counts: BTreeMap<Uuid, i32> = counts.collect();
        let candidates = self.members.values().map(|member| {
            let subscribed = self.subscribed(state, member);
            Candidate {
                topics: subscribed.into_iter().filter(|id| counts.contains_key(id)).collect(),
                current: &member.target,
            }
        });
        let candidates: Vec<_> = candidates.collect();
        let name = self.assignor_name();
        let Some((_, assign)) = ASSIGNORS.iter().find(|(n, _)| *n == name) else {
            return;
        };
        let assignments = assign(&candidates, &counts);
        for (member, assignment) in self.members.values_mut().zip(assignments) {
            member.target = assignment;
        }
        self.assignment_epoch = self.epoch;
    }
}

/// Encodes an assignment for a member of the classic protocol. Topics that do not exist any more are left out.
pub(crate) fn encode_assignment(topics: &Topics, partitions: &Partitions, version: i16) -> Bytes {
    let assigned = by_topic(partitions).into_iter().filter_map(|(topic, partitions)| {
        Some(TopicPartition {
            topic: topics.by_id(topic)?.name.clone(),
            partitions,
            ..Default::default()
        })
    });
    let assignment = ConsumerProtocolAssignment {
        assigned_partitions: assigned.collect(),
        ..Default::default()
    };
    let version = version.clamp(0, ConsumerProtocolAssignment::MAX_VERSION);
    assignment.to_bytes(version).unwrap_or_default()
}

/// Resolves topic names to ids. Topics that do not exist are left out.
pub(crate) fn by_topic_id(state: &ClusterState, partitions: &[TopicPartition]) -> Partitions {
    let known = partitions
        .iter()
        .filter_map(|t| Some((state.topics.id_of(&t.topic)?, &t.partitions)));
    known.flat_map(|(id, all)| all.iter().map(move |p| (id, *p))).collect()
}

/// The partitions of a heartbeat.
fn from_wire(topics: &[TopicPartitions]) -> Partitions {
    let all = topics
        .iter()
        .flat_map(|t| t.partitions.iter().map(|p| (t.topic_id, *p)));
    all.collect()
}

fn to_wire(partitions: &Partitions) -> Assignment {
    let topics = by_topic(partitions)
        .into_iter()
        .map(|(topic_id, partitions)| TopicPartitions {
            topic_id,
            partitions,
            ..Default::default()
        });
    Assignment {
        topic_partitions: topics.collect(),
        ..Default::default()
    }
}
