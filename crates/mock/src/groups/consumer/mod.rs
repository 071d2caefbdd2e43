//! The coordinator's side of the consumer group protocol (KIP-848).
//!
//! Three epochs drive it. The group's is raised by whatever calls for another assignment: members and their
//! subscriptions that come, change and go, topics that appear, grow and are deleted. The assignment's follows when a
//! server-side assignor has made the target assignment for it. Each member's follows when the member has given up what
//! the target takes from it; what others still hold is handed to it once they have let go (`reconcile.rs`).
//!
//! Members of the classic protocol may live in the same group while it moves from one protocol to the other
//! (`classic_members.rs`).

mod assignors;
mod member;
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
use reconcile::Reconciliation;
use subscriptions::Expressions;

use super::classic::{Protocol, rebalance_timeout_ms};
use super::responses::failed_join;
use crate::request::Context;
use crate::state::ClusterState;
use crate::timers::MemberTimer;
use crate::topics::Topics;

/// Partitions of topics, by topic id.
pub(crate) type Partitions = BTreeSet<(Uuid, i32)>;

/// The protocol type of consumers, whichever protocol they speak.
pub(crate) const PROTOCOL_TYPE: &str = "consumer";

#[derive(Debug)]
pub(crate) struct ConsumerGroup {
    id: String,
    epoch: i32,
    /// The group's epoch when the target assignment was made.
    assignment_epoch: i32,
    members: BTreeMap<String, ConsumerMember>,
    /// The holders of instance ids (`group.instance.id`).
    static_members: BTreeMap<String, String>,
    /// Ids and partition counts of the subscribed topics, as they were when the epoch was last raised.
    topics: BTreeMap<String, (Uuid, usize)>,
    expressions: Expressions,
}

/// What became of a JoinGroup request to a consumer group.
pub(crate) struct Joined {
    pub(crate) response: JoinGroupResponse,
    /// The member took the place of a static one.
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
            expressions: Expressions::default(),
        }
    }

    /// A group of these members, all of which have what the target assignment of this epoch gives them. Of their topics
    /// nothing is known yet, so that the next heartbeat divides them anew: a leader that went away may never have done so.
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

    /// By member id.
    pub(crate) fn members(&self) -> impl Iterator<Item = &ConsumerMember> {
        self.members.values()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// The state under the name that ListGroups and ConsumerGroupDescribe give.
    pub(crate) fn state_name(&self) -> &'static str {
        let reconciled = |m: &ConsumerMember| m.is_reconciled_to(self.assignment_epoch);
        match () {
            () if self.members.is_empty() => "Empty",
            () if self.epoch > self.assignment_epoch => "Assigning",
            () if !self.members.values().all(reconciled) => "Reconciling",
            () => "Stable",
        }
    }

    /// Whether only members of the classic protocol are left.
    pub(super) fn is_all_classic(&self) -> bool {
        !self.members.is_empty() && self.members.values().all(|m| m.classic.is_some())
    }

    /// What members other than this one hold or have not yet been seen to give up.
    fn held_by_others(&self, member: &str) -> Partitions {
        let others = self.members.values().filter(|m| m.id != member);
        others.flat_map(ConsumerMember::held).copied().collect()
    }

    /// Whether a commit from outside of transactions may be taken.
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

    /// Whether a commit as part of a transaction may be taken. A producer that does not say whose offsets it commits may
    /// always (KIP-447).
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

    /// Whether committed offsets may be told; who gives neither member nor epoch may always know them.
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

    /// A heartbeat of a member that joins (epoch 0) or stays.
    ///
    /// # Errors
    /// GROUP_MAX_SIZE_REACHED, INVALID_REGULAR_EXPRESSION, UNKNOWN_MEMBER_ID, FENCED_MEMBER_EPOCH, FENCED_INSTANCE_ID,
    /// UNRELEASED_INSTANCE_ID. The group has not changed then.
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
        // Whoever tells everything, as after an error, is told everything.
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

    /// Whether one more member may come; those who are in may stay.
    fn check_size(&self, most: usize, member: &str) -> Result<(), ErrorCode> {
        match self.members.len() < most || self.members.contains_key(member) {
            true => Ok(()),
            false => Err(ErrorCode::GROUP_MAX_SIZE_REACHED),
        }
    }

    /// Takes the member that a heartbeat is of out of the group, to be put back; a new one, or one in place of a static
    /// member that came back, when it joins.
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
            // Two of the consumer protocol do not take a place from each other unless it was given up.
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

    /// Takes a static member out of the group, to be put back under the id under which it came back.
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

    /// Brings the target assignment up to the group's epoch, which a change of subscription raises.
    fn prepare_target(&mut self, state: &ClusterState, subscription_changed: bool) {
        self.raise_epoch(state, subscription_changed || self.epoch == 0);
        if self.epoch > self.assignment_epoch {
            self.assign(state);
        }
    }

    /// Takes a member as far towards the target assignment as it can go.
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

    /// A heartbeat of a member that leaves, for good or, a static one, for a while. True when it is gone.
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
                // It keeps its assignment, for as long as its session lasts.
                member.epoch = STATIC_LEAVE_EPOCH;
                member.pending_revocation.clear();
                member.cancel_timer(state, MemberTimer::Revocation);
            }
            return Ok(false);
        }
        self.remove(state, &id);
        Ok(true)
    }

    /// The id of a member that is one and holds its instance id.
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

    /// Whether all members of the classic protocol could agree with one that supports these.
    fn supports(&self, protocol_type: &str, protocols: &[Protocol]) -> bool {
        let mut classic = self.members.values().filter_map(|m| m.classic.as_ref());
        let everyone = |name: &str| classic.all(|c| c.protocols.iter().any(|p| p.name == name));
        protocol_type == PROTOCOL_TYPE && protocols.iter().map(|p| p.name.as_str()).any(everyone)
    }

    /// Takes the member that joins out of the group, to be put back, and tells whether it replaces another.
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
        let differs = |told: &Option<String>, own: Option<&str>| told.is_some() && told.as_deref() != own;
        if differs(&request.protocol_type, Some(PROTOCOL_TYPE)) || differs(&request.protocol_name, name) {
            return Err(ErrorCode::INCONSISTENT_GROUP_PROTOCOL);
        }
        // Who has yet to give up partitions has joined again already, and learns here which they are.
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

    /// A member of either protocol leaves, or is removed by its instance id alone.
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

    /// Waits for a member to join again, if it is not waited for already.
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

    /// A member was waited for long enough: it is out. True when it was in.
    pub(crate) fn timer_due(&mut self, state: &mut ClusterState, id: &str, timer: MemberTimer) -> bool {
        if let Some(member) = self.members.get_mut(id) {
            member.timer_fired(timer);
        }
        self.remove(state, id)
    }

    /// Takes a member out; what it held is free at once. True when it was in.
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

    /// Members have gone: the others shall have what was theirs.
    pub(crate) fn members_gone(&mut self, state: &ClusterState) {
        self.raise_epoch(state, true);
    }

    /// Begins to wait for the heartbeats of members that came from a classic group.
    pub(super) fn begin_sessions(&mut self, state: &mut ClusterState) {
        for member in self.members.values_mut() {
            if let Some(timeout_ms) = member.classic.as_ref().map(|c| c.session_timeout_ms) {
                member.set_timer(state, &self.id, MemberTimer::Session, timeout_ms);
            }
        }
    }

    /// Whatever members are waited for begins now: another coordinator counts anew.
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

    /// Calls off all that is arranged for a group that is removed.
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

    /// Names of the topics that a member wants, whether they exist or not.
    fn wanted<'a>(&'a self, member: &'a ConsumerMember) -> impl Iterator<Item = &'a String> {
        member.topics.iter().chain(self.expressions.matched(&member.regex))
    }

    /// Ids of the topics that a member wants and that exist.
    fn subscribed(&self, state: &ClusterState, member: &ConsumerMember) -> BTreeSet<Uuid> {
        let topics = self.wanted(member).filter_map(|name| state.topics.by_name(name));
        topics.filter(|t| state.is_visible(t)).map(|t| t.id).collect()
    }

    /// The topics that members want and that exist, with their ids and partition counts.
    fn wanted_topics(&self, state: &ClusterState) -> BTreeMap<String, (Uuid, usize)> {
        let wanted = self.members.values().flat_map(|m| self.wanted(m));
        let existing = wanted.filter_map(|name| state.topics.by_name(name));
        let visible = existing.filter(|t| state.is_visible(t));
        visible.map(|t| (t.name.clone(), (t.id, t.partitions.len()))).collect()
    }

    /// Raises the group's epoch when that is asked for, or when the subscribed topics are not what they were.
    fn raise_epoch(&mut self, state: &ClusterState, asked: bool) {
        let topics = self.wanted_topics(state);
        if asked || topics != self.topics {
            self.epoch += 1;
            self.topics = topics;
        }
    }

    /// The assignor that most members ask for, or the default.
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

    /// Makes the target assignment for the group's epoch.
    fn assign(&mut self, state: &ClusterState) {
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

/// The partitions of each topic.
pub(crate) fn by_topic(partitions: &Partitions) -> BTreeMap<Uuid, Vec<i32>> {
    let mut topics: BTreeMap<Uuid, Vec<i32>> = BTreeMap::new();
    for (topic, partition) in partitions {
        topics.entry(*topic).or_default().push(*partition);
    }
    topics
}

/// Partitions as consumers tell each other of them, for what a member of the classic protocol gets. Topics that do not
/// exist any more are left out.
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

/// The other way round; topics that do not exist are left out.
pub(crate) fn by_topic_id(state: &ClusterState, partitions: &[TopicPartition]) -> Partitions {
    let known = partitions
        .iter()
        .filter_map(|t| Some((state.topics.id_of(&t.topic)?, &t.partitions)));
    known.flat_map(|(id, all)| all.iter().map(move |p| (id, *p))).collect()
}

/// Partitions as heartbeats carry them.
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
