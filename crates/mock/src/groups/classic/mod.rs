//! The coordinator's side of the classic group protocol: who is a member, in which generation, with which assignment.
//!
//! ```text
//!            first member joins             all have joined, or the time is up
//!   Empty ─────────────────────▶ Preparing ────────────────────────────▶ Completing
//!     ▲                         rebalance ◀──────────┐                    rebalance
//!     │ nobody is left               ▲               └─ somebody joins or    │
//!     └──────────────────────────────┤                  leaves               │ the leader
//!                                    └── somebody joins, leaves ── Stable ◀──┘ brings the assignment
//!                                        or is not heard of
//! ```

mod member;

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use ottla_protocol::ErrorCode;
use ottla_protocol::api::join_group::{JoinGroupRequest, JoinGroupResponse, JoinGroupResponseMember};
use ottla_protocol::api::sync_group::{SyncGroupRequest, SyncGroupResponse};

pub(super) use member::{Member, Protocol, rebalance_timeout_ms};

use super::responses::{complete_join, complete_sync, failed_join, failed_sync};
use crate::purgatory::DelayedOperation;
use crate::request::Context;
use crate::state::ClusterState;
use crate::timers::{Timer, TimerId};

/// A new member that has not been told its first generation is kept this long, whatever its session timeout.
const NEW_MEMBER_TIMEOUT_MS: i32 = 300_000;

/// A group's state, under Kafka's names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GroupState {
    Empty,
    PreparingRebalance,
    CompletingRebalance,
    Stable,
}

impl GroupState {
    /// The name that DescribeGroups and ListGroups give.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Empty => "Empty",
            Self::PreparingRebalance => "PreparingRebalance",
            Self::CompletingRebalance => "CompletingRebalance",
            Self::Stable => "Stable",
        }
    }
}

/// What became of a JoinGroup request.
pub(crate) enum JoinOutcome {
    Respond(JoinGroupResponse),
    Delayed,
}

/// What became of a SyncGroup request.
pub(crate) enum SyncOutcome {
    Respond(SyncGroupResponse),
    Delayed,
}

#[derive(Debug)]
pub(crate) struct ClassicGroup {
    id: String,
    state: GroupState,
    generation: i32,
    protocol_type: Option<String>,
    protocol_name: Option<String>,
    leader: Option<String>,
    members: BTreeMap<String, Member>,
    /// Members with a `group.instance.id` (KIP-345).
    static_members: BTreeMap<String, String>,
    /// Ids that were handed out and not yet used to join (KIP-394).
    pending: BTreeMap<String, TimerId>,
    /// Members that have not asked for their assignment in this generation.
    pending_sync: BTreeSet<String>,
    join_timer: Option<TimerId>,
    sync_timer: Option<TimerId>,
    /// The first rebalance of an empty group waits for more members: milliseconds that it may still be put off.
    initial_delay_left_ms: Option<i32>,
    new_member_joined: bool,
}

impl ClassicGroup {
    pub(crate) fn new(id: &str) -> Self {
        Self {
            id: id.to_owned(),
            state: GroupState::Empty,
            generation: 0,
            protocol_type: None,
            protocol_name: None,
            leader: None,
            members: BTreeMap::new(),
            static_members: BTreeMap::new(),
            pending: BTreeMap::new(),
            pending_sync: BTreeSet::new(),
            join_timer: None,
            sync_timer: None,
            initial_delay_left_ms: None,
            new_member_joined: false,
        }
    }

    /// A group of these members, stable in a generation.
    pub(super) fn with_members(id: &str, generation: i32, protocol_type: &str, members: Vec<Member>) -> Self {
        let instances = members
            .iter()
            .filter_map(|m| Some((m.instance_id.clone()?, m.id.clone())));
        let mut group = Self {
            state: GroupState::Stable,
            generation,
            protocol_type: Some(protocol_type.to_owned()),
            leader: members.first().map(|m| m.id.clone()),
            static_members: instances.collect(),
            members: members.into_iter().map(|m| (m.id.clone(), m)).collect(),
            ..Self::new(id)
        };
        group.protocol_name = group.choose_protocol();
        group
    }

    pub(crate) fn state(&self) -> GroupState {
        self.state
    }

    pub(crate) fn generation(&self) -> i32 {
        self.generation
    }

    pub(crate) fn protocol_type(&self) -> &str {
        self.protocol_type.as_deref().unwrap_or_default()
    }

    /// The assignor in force; empty while there is none.
    pub(crate) fn protocol_name(&self) -> &str {
        self.protocol_name.as_deref().unwrap_or_default()
    }

    /// By member id.
    pub(crate) fn members(&self) -> impl Iterator<Item = &Member> {
        self.members.values()
    }

    /// Checks that a member is one, and the one that holds its instance id.
    fn check_member(&self, member: &str, instance: Option<&str>) -> Result<(), ErrorCode> {
        if let Some(instance) = instance {
            match self.static_members.get(instance) {
                None => return Err(ErrorCode::UNKNOWN_MEMBER_ID),
                Some(holder) if holder != member => return Err(ErrorCode::FENCED_INSTANCE_ID),
                Some(_) => {}
            }
        }
        match self.members.contains_key(member) {
            true => Ok(()),
            false => Err(ErrorCode::UNKNOWN_MEMBER_ID),
        }
    }

    fn check_generation(&self, generation: i32) -> Result<(), ErrorCode> {
        match generation == self.generation {
            true => Ok(()),
            false => Err(ErrorCode::ILLEGAL_GENERATION),
        }
    }

    // ---------------------------------------------------------------- join phase

    pub(crate) fn join(
        &mut self,
        state: &mut ClusterState,
        context: &Context,
        request: JoinGroupRequest,
    ) -> JoinOutcome {
        match self.try_join(state, context, &request) {
            Ok(JoinOutcome::Respond(response)) => {
                if response.error_code == ErrorCode::NONE.0 {
                    state.record_join(context, &self.id, &response.member_id);
                }
                JoinOutcome::Respond(response)
            }
            Ok(JoinOutcome::Delayed) => JoinOutcome::Delayed,
            Err(error) => JoinOutcome::Respond(failed_join(context, &request.member_id, error)),
        }
    }

    fn try_join(
        &mut self,
        state: &mut ClusterState,
        context: &Context,
        request: &JoinGroupRequest,
    ) -> Result<JoinOutcome, ErrorCode> {
        let protocols = Protocol::list(request);
        if !self.supports(&request.protocol_type, &protocols) {
            return Err(ErrorCode::INCONSISTENT_GROUP_PROTOCOL);
        }
        if request.member_id.is_empty() {
            return self.join_unknown(state, context, request, protocols);
        }
        let id = &request.member_id;
        let instance = request.group_instance_id.as_deref();
        if let Some(timer) = self.pending.get(id).copied() {
            self.admit(state)?;
            state.timers.cancel(timer);
            self.pending.remove(id);
            self.add_member(state, context, id.clone(), request, protocols);
            return Ok(JoinOutcome::Delayed);
        }
        self.check_member(id, instance)?;
        let Some(member) = self.members.get(id) else {
            return Err(ErrorCode::UNKNOWN_MEMBER_ID);
        };
        let same = member.protocols == protocols;
        match self.state {
            GroupState::Empty => Err(ErrorCode::UNKNOWN_MEMBER_ID),
            // It has not seen the answer to its last request, which still holds.
            GroupState::CompletingRebalance if same => Ok(JoinOutcome::Respond(self.join_response(context, id))),
            GroupState::Stable if same && self.leader.as_ref() != Some(id) => {
                Ok(JoinOutcome::Respond(self.join_response(context, id)))
            }
            _ => {
                self.update_member(state, context, id, request, protocols);
                Ok(JoinOutcome::Delayed)
            }
        }
    }

    /// Whether the members could still agree on a protocol with one that supports these.
    fn supports(&self, protocol_type: &str, protocols: &[Protocol]) -> bool {
        if protocol_type.is_empty() || protocols.is_empty() {
            return false;
        }
        if self.members.is_empty() {
            return true;
        }
        let everyone = |name: &str| self.members.values().all(|m| m.supports(name));
        self.protocol_type.as_deref() == Some(protocol_type) && protocols.iter().any(|p| everyone(&p.name))
    }

    fn admit(&self, state: &ClusterState) -> Result<(), ErrorCode> {
        match self.members.len() < state.config.group_max_size {
            true => Ok(()),
            false => Err(ErrorCode::GROUP_MAX_SIZE_REACHED),
        }
    }

    /// A member that has no id yet.
    fn join_unknown(
        &mut self,
        state: &mut ClusterState,
        context: &Context,
        request: &JoinGroupRequest,
        protocols: Vec<Protocol>,
    ) -> Result<JoinOutcome, ErrorCode> {
        let instance = request.group_instance_id.as_deref();
        let prefix = instance.unwrap_or(&context.client_id);
        let id = format!("{prefix}-{}", state.rng.uuid_text());
        if let Some(instance) = instance
            && let Some(old) = self.static_members.get(instance).cloned()
        {
            return Ok(self.replace_static(state, context, &old, id, request, protocols));
        }
        self.admit(state)?;
        if instance.is_none() && context.version >= 4 {
            let at = state.now.plus_ms(request.session_timeout_ms);
            let timer = Timer::MemberSession {
                group: self.id.clone(),
                member: id.clone(),
            };
            self.pending.insert(id.clone(), state.timers.set(at, timer));
            let error = ErrorCode::MEMBER_ID_REQUIRED;
            return Ok(JoinOutcome::Respond(failed_join(context, &id, error)));
        }
        self.add_member(state, context, id, request, protocols);
        Ok(JoinOutcome::Delayed)
    }

    /// A static member came back under a new id: it takes the place of the old one, which is fenced.
    fn replace_static(
        &mut self,
        state: &mut ClusterState,
        context: &Context,
        old: &str,
        id: String,
        request: &JoinGroupRequest,
        protocols: Vec<Protocol>,
    ) -> JoinOutcome {
        let old_leader = self.leader.clone().unwrap_or_default();
        let Some(mut member) = self.members.remove(old) else {
            return JoinOutcome::Respond(failed_join(context, &id, ErrorCode::UNKNOWN_MEMBER_ID));
        };
        self.fail_pending(state, &mut member, ErrorCode::FENCED_INSTANCE_ID);
        self.pending_sync.remove(old);
        let same = member.protocols == protocols;
        member.id.clone_from(&id);
        member.take_request(request, protocols);
        if let Some(instance) = &member.instance_id {
            self.static_members.insert(instance.clone(), id.clone());
        }
        if self.leader.as_deref() == Some(old) {
            self.leader = Some(id.clone());
        }
        self.members.insert(id.clone(), member);
        if self.state == GroupState::Stable && same {
            self.schedule_session(state, &id);
            let mut response = self.join_response(context, &id);
            let is_leader = self.leader.as_ref() == Some(&id);
            // The assignment is kept. From version 9 on a leader is told so, before that it is told that another leads.
            match context.version {
                9.. => response.skip_assignment = is_leader,
                _ => {
                    response.leader = old_leader;
                    response.members.clear();
                }
            }
            return JoinOutcome::Respond(response);
        }
        self.await_join(state, context, &id);
        self.rebalance(state);
        JoinOutcome::Delayed
    }

    fn add_member(
        &mut self,
        state: &mut ClusterState,
        context: &Context,
        id: String,
        request: &JoinGroupRequest,
        protocols: Vec<Protocol>,
    ) {
        let member = Member::new(id.clone(), context, request, protocols);
        if let Some(instance) = &member.instance_id {
            self.static_members.insert(instance.clone(), id.clone());
        }
        self.protocol_type = Some(request.protocol_type.clone());
        self.members.insert(id.clone(), member);
        self.leader.get_or_insert_with(|| id.clone());
        self.new_member_joined = true;
        self.await_join(state, context, &id);
        self.set_session_timer(state, &id, NEW_MEMBER_TIMEOUT_MS);
        self.rebalance(state);
    }

    fn update_member(
        &mut self,
        state: &mut ClusterState,
        context: &Context,
        id: &str,
        request: &JoinGroupRequest,
        protocols: Vec<Protocol>,
    ) {
        if let Some(member) = self.members.get_mut(id) {
            member.take_request(request, protocols);
        }
        self.await_join(state, context, id);
        self.rebalance(state);
    }

    /// Accepts a member's join and parks the request. A request of it that waited before is sent away.
    fn await_join(&mut self, state: &mut ClusterState, context: &Context, id: &str) {
        state.record_join(context, &self.id, id);
        let token = state.delay(context, DelayedOperation::JoinGroup, None);
        let earlier = self.members.get_mut(id).and_then(|m| m.awaiting_join.replace(token));
        if let Some(earlier) = earlier {
            complete_join(state, earlier, |c| failed_join(c, id, ErrorCode::REBALANCE_IN_PROGRESS));
        }
    }

    /// Starts a rebalance, or goes on with the one under way.
    pub(super) fn rebalance(&mut self, state: &mut ClusterState) {
        let before = self.state;
        if before == GroupState::PreparingRebalance {
            self.maybe_complete_join(state);
            return;
        }
        self.end_sync_phase(state, ErrorCode::REBALANCE_IN_PROGRESS);
        self.state = GroupState::PreparingRebalance;
        let delay_ms = match before {
            GroupState::Empty => {
                let delay_ms = state.config.group_initial_rebalance_delay_ms.max(0);
                self.initial_delay_left_ms = Some((self.rebalance_timeout_ms() - delay_ms).max(0));
                self.new_member_joined = false;
                delay_ms
            }
            _ => self.rebalance_timeout_ms(),
        };
        if before == GroupState::Empty && delay_ms == 0 {
            self.complete_join_phase(state);
        } else {
            self.set_join_timer(state, delay_ms);
            self.maybe_complete_join(state);
        }
    }

    fn rebalance_timeout_ms(&self) -> i32 {
        self.members.values().map(|m| m.rebalance_timeout_ms).max().unwrap_or(0)
    }

    fn set_join_timer(&mut self, state: &mut ClusterState, delay_ms: i32) {
        self.cancel_join_timer(state);
        let at = state.now.plus_ms(delay_ms);
        self.join_timer = Some(state.timers.set(at, Timer::JoinPhase { group: self.id.clone() }));
    }

    fn cancel_join_timer(&mut self, state: &mut ClusterState) {
        if let Some(timer) = self.join_timer.take() {
            state.timers.cancel(timer);
        }
    }

    fn maybe_complete_join(&mut self, state: &mut ClusterState) {
        let all_joined = self.members.values().all(|m| m.awaiting_join.is_some());
        if self.initial_delay_left_ms.is_none() && all_joined && self.pending.is_empty() {
            self.complete_join_phase(state);
        }
    }

    pub(crate) fn join_phase_due(&mut self, state: &mut ClusterState) {
        self.join_timer = None;
        match self.initial_delay_left_ms {
            Some(left) if left > 0 && self.new_member_joined => {
                self.new_member_joined = false;
                let delay = state.config.group_initial_rebalance_delay_ms.min(left);
                self.initial_delay_left_ms = Some(left - delay);
                self.set_join_timer(state, delay);
            }
            _ => self.complete_join_phase(state),
        }
    }

    /// The next generation begins with those who joined; dynamic members that did not are out.
    fn complete_join_phase(&mut self, state: &mut ClusterState) {
        self.cancel_join_timer(state);
        self.initial_delay_left_ms = None;
        let absent = |m: &&Member| m.awaiting_join.is_none() && m.instance_id.is_none();
        let absent: Vec<_> = self.members.values().filter(absent).map(|m| m.id.clone()).collect();
        for id in absent {
            self.remove_member(state, &id);
        }
        let joined = |m: &&Member| m.awaiting_join.is_some();
        let first = self.members.values().find(joined).map(|m| m.id.clone());
        if first.is_none() && !self.members.is_empty() {
            // Only static members, none of which is back: give them their time again.
            let timeout_ms = self.rebalance_timeout_ms();
            self.set_join_timer(state, timeout_ms);
            return;
        }
        let leader = self.leader.as_ref().and_then(|id| self.members.get(id));
        if leader.is_none_or(|m| m.awaiting_join.is_none()) {
            self.leader = first;
        }
        self.generation += 1;
        if self.members.is_empty() {
            self.state = GroupState::Empty;
            self.protocol_name = None;
            return;
        }
        self.protocol_name = self.choose_protocol();
        self.state = GroupState::CompletingRebalance;
        self.pending_sync = self.members.keys().cloned().collect();
        let at = state.now.plus_ms(self.rebalance_timeout_ms());
        self.sync_timer = Some(state.timers.set(at, Timer::SyncPhase { group: self.id.clone() }));
        let ids: Vec<_> = self.members.keys().cloned().collect();
        for id in ids {
            let waiting = self.members.get_mut(&id).and_then(|m| m.awaiting_join.take());
            if let Some(token) = waiting {
                complete_join(state, token, |context| self.join_response(context, &id));
            }
            self.schedule_session(state, &id);
        }
    }

    /// Each member votes for the first of its protocols that all support.
    fn choose_protocol(&self) -> Option<String> {
        let everyone = |name: &str| self.members.values().all(|m| m.supports(name));
        let mut votes: BTreeMap<&str, usize> = BTreeMap::new();
        for member in self.members.values() {
            if let Some(protocol) = member.protocols.iter().find(|p| everyone(&p.name)) {
                *votes.entry(&protocol.name).or_default() += 1;
            }
        }
        votes
            .into_iter()
            .max_by_key(|(_, count)| *count)
            .map(|(name, _)| name.to_owned())
    }

    /// The generation as a member is told it; the leader also gets all members' metadata.
    fn join_response(&self, context: &Context, id: &str) -> JoinGroupResponse {
        let protocol = self.protocol_name();
        let members = self.members.values().map(|m| JoinGroupResponseMember {
            member_id: m.id.clone(),
            group_instance_id: m.instance_id.clone().filter(|_| context.version >= 5),
            metadata: m.metadata(protocol),
            ..Default::default()
        });
        let is_leader = self.leader.as_deref() == Some(id);
        JoinGroupResponse {
            throttle_time_ms: context.throttle_time_ms,
            generation_id: self.generation,
            protocol_type: self.protocol_type.clone(),
            protocol_name: Some(protocol.to_owned()),
            leader: self.leader.clone().unwrap_or_default(),
            member_id: id.to_owned(),
            members: if is_leader { members.collect() } else { Vec::new() },
            ..Default::default()
        }
    }

    // ---------------------------------------------------------------- sync phase

    pub(crate) fn sync(
        &mut self,
        state: &mut ClusterState,
        context: &Context,
        request: SyncGroupRequest,
    ) -> SyncOutcome {
        match self.try_sync(state, context, request) {
            Ok(outcome) => outcome,
            Err(error) => SyncOutcome::Respond(failed_sync(context, error)),
        }
    }

    fn try_sync(
        &mut self,
        state: &mut ClusterState,
        context: &Context,
        request: SyncGroupRequest,
    ) -> Result<SyncOutcome, ErrorCode> {
        let id = request.member_id;
        self.check_member(&id, request.group_instance_id.as_deref())?;
        self.check_generation(request.generation_id)?;
        let differs = |told: &Option<String>, own: &Option<String>| told.is_some() && told != own;
        if context.version >= 5
            && (differs(&request.protocol_type, &self.protocol_type)
                || differs(&request.protocol_name, &self.protocol_name))
        {
            return Err(ErrorCode::INCONSISTENT_GROUP_PROTOCOL);
        }
        match self.state {
            GroupState::Empty => return Err(ErrorCode::UNKNOWN_MEMBER_ID),
            GroupState::PreparingRebalance => return Err(ErrorCode::REBALANCE_IN_PROGRESS),
            GroupState::CompletingRebalance => {}
            GroupState::Stable => {
                self.synced(state, &id);
                self.schedule_session(state, &id);
                return Ok(SyncOutcome::Respond(self.sync_response(context, &id)));
            }
        }
        let token = state.delay(context, DelayedOperation::SyncGroup, None);
        let earlier = self.members.get_mut(&id).and_then(|m| m.awaiting_sync.replace(token));
        if let Some(earlier) = earlier {
            complete_sync(state, earlier, |c| failed_sync(c, ErrorCode::REBALANCE_IN_PROGRESS));
        }
        self.synced(state, &id);
        if self.leader.as_ref() == Some(&id) {
            let mut assignments: BTreeMap<_, _> = request
                .assignments
                .into_iter()
                .map(|a| (a.member_id, a.assignment))
                .collect();
            for member in self.members.values_mut() {
                member.assignment = assignments.remove(&member.id).unwrap_or_default();
            }
            self.state = GroupState::Stable;
            self.answer_syncs(state);
        }
        Ok(SyncOutcome::Delayed)
    }

    /// A member has asked for its assignment in this generation.
    fn synced(&mut self, state: &mut ClusterState, id: &str) {
        self.pending_sync.remove(id);
        if self.pending_sync.is_empty()
            && let Some(timer) = self.sync_timer.take()
        {
            state.timers.cancel(timer);
        }
    }

    fn answer_syncs(&mut self, state: &mut ClusterState) {
        let ids: Vec<_> = self.members.keys().cloned().collect();
        for id in ids {
            let waiting = self.members.get_mut(&id).and_then(|m| m.awaiting_sync.take());
            if let Some(token) = waiting {
                complete_sync(state, token, |context| self.sync_response(context, &id));
                self.schedule_session(state, &id);
            }
        }
    }

    fn sync_response(&self, context: &Context, id: &str) -> SyncGroupResponse {
        SyncGroupResponse {
            throttle_time_ms: context.throttle_time_ms,
            protocol_type: self.protocol_type.clone(),
            protocol_name: self.protocol_name.clone(),
            assignment: self.members.get(id).map_or_else(Bytes::new, |m| m.assignment.clone()),
            ..Default::default()
        }
    }

    /// Those who never asked for their assignment are out.
    pub(crate) fn sync_phase_due(&mut self, state: &mut ClusterState) {
        self.sync_timer = None;
        let missing = std::mem::take(&mut self.pending_sync);
        for id in &missing {
            self.remove_member(state, id);
        }
        if !missing.is_empty() {
            self.rebalance(state);
        }
    }

    /// Assignments of this generation are void; who waits for one is sent away.
    fn end_sync_phase(&mut self, state: &mut ClusterState, error: ErrorCode) {
        if let Some(timer) = self.sync_timer.take() {
            state.timers.cancel(timer);
        }
        self.pending_sync.clear();
        if self.state != GroupState::CompletingRebalance {
            return;
        }
        let ids: Vec<_> = self.members.keys().cloned().collect();
        for id in ids {
            let Some(member) = self.members.get_mut(&id) else {
                continue;
            };
            member.assignment = Bytes::new();
            if let Some(token) = member.awaiting_sync.take() {
                complete_sync(state, token, |context| failed_sync(context, error));
                self.schedule_session(state, &id);
            }
        }
    }

    // ---------------------------------------------------------------- members

    pub(crate) fn heartbeat(
        &mut self,
        state: &mut ClusterState,
        member: &str,
        instance: Option<&str>,
        generation: i32,
    ) -> Result<(), ErrorCode> {
        self.check_member(member, instance)?;
        self.check_generation(generation)?;
        match self.state {
            GroupState::Empty => Err(ErrorCode::UNKNOWN_MEMBER_ID),
            GroupState::PreparingRebalance => {
                self.schedule_session(state, member);
                Err(ErrorCode::REBALANCE_IN_PROGRESS)
            }
            GroupState::CompletingRebalance | GroupState::Stable => {
                self.schedule_session(state, member);
                Ok(())
            }
        }
    }

    /// Takes a member out: a dynamic one by its id, a static one by its instance id, with or without its id.
    pub(crate) fn leave(
        &mut self,
        state: &mut ClusterState,
        member: &str,
        instance: Option<&str>,
    ) -> Result<(), ErrorCode> {
        if let Some(timer) = self.pending.remove(member) {
            state.timers.cancel(timer);
            if self.state == GroupState::PreparingRebalance {
                self.maybe_complete_join(state);
            }
            return Ok(());
        }
        let id = match instance.and_then(|i| self.static_members.get(i)) {
            Some(holder) if member.is_empty() => holder.clone(),
            _ => member.to_owned(),
        };
        self.check_member(&id, instance)?;
        self.remove_member(state, &id);
        self.rebalance(state);
        Ok(())
    }

    /// Whether a commit from outside of transactions may be taken.
    pub(crate) fn check_commit(
        &mut self,
        state: &mut ClusterState,
        member: &str,
        instance: Option<&str>,
        generation: i32,
    ) -> Result<(), ErrorCode> {
        // A consumer that assigns itself has neither member id nor generation.
        if generation < 0 && self.state == GroupState::Empty {
            return Ok(());
        }
        self.check_member(member, instance)?;
        self.check_generation(generation)?;
        if self.state == GroupState::CompletingRebalance {
            return Err(ErrorCode::REBALANCE_IN_PROGRESS);
        }
        self.schedule_session(state, member);
        Ok(())
    }

    /// Whether a commit as part of a transaction may be taken. A producer that does not say whose offsets it commits may
    /// always (KIP-447).
    pub(crate) fn check_transactional_commit(
        &mut self,
        state: &mut ClusterState,
        member: &str,
        instance: Option<&str>,
        generation: i32,
    ) -> Result<(), ErrorCode> {
        let says_nothing = generation < 0 && member.is_empty() && instance.is_none();
        if says_nothing || generation < 0 && self.state == GroupState::Empty {
            return Ok(());
        }
        self.check_member(member, instance)?;
        self.check_generation(generation)?;
        self.schedule_session(state, member);
        Ok(())
    }

    /// A member's session has ended, or that of an id which was never used.
    pub(crate) fn session_due(&mut self, state: &mut ClusterState, id: &str) {
        if self.pending.remove(id).is_some() {
            if self.state == GroupState::PreparingRebalance {
                self.maybe_complete_join(state);
            }
            return;
        }
        let Some(member) = self.members.get_mut(id) else {
            return;
        };
        member.session_timer = None;
        // Who waits for the coordinator is not late.
        if !member.is_waiting() {
            self.remove_member(state, id);
            self.rebalance(state);
        }
    }

    fn schedule_session(&mut self, state: &mut ClusterState, id: &str) {
        if let Some(timeout_ms) = self.members.get(id).map(|m| m.session_timeout_ms) {
            self.set_session_timer(state, id, timeout_ms);
        }
    }

    fn set_session_timer(&mut self, state: &mut ClusterState, id: &str, timeout_ms: i32) {
        let Some(member) = self.members.get_mut(id) else {
            return;
        };
        if let Some(timer) = member.session_timer.take() {
            state.timers.cancel(timer);
        }
        let at = state.now.plus_ms(timeout_ms);
        let timer = Timer::MemberSession {
            group: self.id.clone(),
            member: id.to_owned(),
        };
        member.session_timer = Some(state.timers.set(at, timer));
    }

    fn remove_member(&mut self, state: &mut ClusterState, id: &str) {
        let Some(mut member) = self.members.remove(id) else {
            return;
        };
        self.fail_pending(state, &mut member, ErrorCode::UNKNOWN_MEMBER_ID);
        self.pending_sync.remove(id);
        if let Some(instance) = &member.instance_id {
            self.static_members.remove(instance);
        }
        if self.leader.as_deref() == Some(id) {
            self.leader = self.members.keys().next().cloned();
        }
    }

    /// Ends a member's timer and answers what it waits for with `error`.
    fn fail_pending(&self, state: &mut ClusterState, member: &mut Member, error: ErrorCode) {
        if let Some(timer) = member.session_timer.take() {
            state.timers.cancel(timer);
        }
        let id = &member.id;
        if let Some(token) = member.awaiting_join.take() {
            complete_join(state, token, |context| failed_join(context, id, error));
        }
        if let Some(token) = member.awaiting_sync.take() {
            complete_sync(state, token, |context| failed_sync(context, error));
        }
    }

    /// The group has another coordinator: whoever waits at the old one has to find it. Members stay, as they are in
    /// the group's log, with a new session each.
    pub(crate) fn coordinator_moved(&mut self, state: &mut ClusterState) {
        self.fail_all_pending(state, ErrorCode::NOT_COORDINATOR);
        self.restart_sessions(state);
    }

    /// Ends all members' timers and answers what they wait for with `error`.
    pub(super) fn fail_all_pending(&mut self, state: &mut ClusterState, error: ErrorCode) {
        let mut members = std::mem::take(&mut self.members);
        for member in members.values_mut() {
            self.fail_pending(state, member, error);
        }
        self.members = members;
    }

    /// Every member's session begins now.
    pub(crate) fn restart_sessions(&mut self, state: &mut ClusterState) {
        let ids: Vec<_> = self.members.keys().cloned().collect();
        for id in ids {
            self.schedule_session(state, &id);
        }
    }

    /// Calls off all that is arranged for a group that is removed.
    pub(crate) fn discard(&mut self, state: &mut ClusterState) {
        self.cancel_join_timer(state);
        if let Some(timer) = self.sync_timer.take() {
            state.timers.cancel(timer);
        }
        for timer in std::mem::take(&mut self.pending).into_values() {
            state.timers.cancel(timer);
        }
    }
}
