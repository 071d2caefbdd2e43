//! Joining: who gets in, when a rebalance starts, and when the next generation begins.

use std::collections::BTreeMap;

use ottla_protocol::ErrorCode;
use ottla_protocol::api::join_group::{JoinGroupRequest, JoinGroupResponse, JoinGroupResponseMember};

use super::{ClassicGroup, GroupState, JoinOutcome, Member, Protocol};
use crate::cluster::Cluster;
use crate::dispatch::Context;
use crate::handlers::k11_join_group::{complete_join, failed_join};
use crate::purgatory::DelayedOperation;
use crate::timers::Timer;

/// A new member that has not been told its first generation is kept this long, whatever its session timeout.
const NEW_MEMBER_TIMEOUT_MS: i32 = 300_000;

impl ClassicGroup {
    pub(crate) fn join(&mut self, cluster: &mut Cluster, context: &Context, request: JoinGroupRequest) -> JoinOutcome {
        match self.try_join(cluster, context, &request) {
            Ok(JoinOutcome::Respond(response)) => {
                if response.error_code == ErrorCode::NONE.0 {
                    cluster.note_join(context, &self.id, &response.member_id);
                }
                JoinOutcome::Respond(response)
            }
            Ok(JoinOutcome::Delayed) => JoinOutcome::Delayed,
            Err(error) => JoinOutcome::Respond(failed_join(context, &request.member_id, error)),
        }
    }

    pub(super) fn try_join(
        &mut self,
        cluster: &mut Cluster,
        context: &Context,
        request: &JoinGroupRequest,
    ) -> Result<JoinOutcome, ErrorCode> {
        let protocols = Protocol::list(request);
        if !self.supports(&request.protocol_type, &protocols) {
            return Err(ErrorCode::INCONSISTENT_GROUP_PROTOCOL);
        }
        if request.member_id.is_empty() {
            return self.join_unknown(cluster, context, request, protocols);
        }
        let id = &request.member_id;
        let instance = request.group_instance_id.as_deref();
        if let Some(timer) = self.pending.get(id).copied() {
            self.admit(cluster)?;
            cluster.timers.cancel(timer);
            self.pending.remove(id);
            self.add_member(cluster, context, id.clone(), request, protocols);
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
                self.update_member(cluster, context, id, request, protocols);
                Ok(JoinOutcome::Delayed)
            }
        }
    }

    /// Whether the members could still agree on a protocol with one that supports these.
    pub(super) fn supports(&self, protocol_type: &str, protocols: &[Protocol]) -> bool {
        if protocol_type.is_empty() || protocols.is_empty() {
            return false;
        }
        if self.members.is_empty() {
            return true;
        }
        let everyone = |name: &str| self.members.values().all(|m| m.supports(name));
        self.protocol_type.as_deref() == Some(protocol_type) && protocols.iter().any(|p| everyone(&p.name))
    }

    pub(super) fn admit(&self, cluster: &Cluster) -> Result<(), ErrorCode> {
        match self.members.len() < cluster.config.group_max_size {
            true => Ok(()),
            false => Err(ErrorCode::GROUP_MAX_SIZE_REACHED),
        }
    }

    /// A member that has no id yet.
    pub(super) fn join_unknown(
        &mut self,
        cluster: &mut Cluster,
        context: &Context,
        request: &JoinGroupRequest,
        protocols: Vec<Protocol>,
    ) -> Result<JoinOutcome, ErrorCode> {
        let instance = request.group_instance_id.as_deref();
        let prefix = instance.unwrap_or(&context.client_id);
        let id = format!("{prefix}-{}", cluster.rng.uuid_text());
        if let Some(instance) = instance
            && let Some(old) = self.static_members.get(instance).cloned()
        {
            return Ok(self.replace_static(cluster, context, &old, id, request, protocols));
        }
        self.admit(cluster)?;
        if instance.is_none() && context.version >= 4 {
            let at = cluster.now.plus_ms(request.session_timeout_ms);
            let timer = Timer::MemberSession {
                group: self.id.clone(),
                member: id.clone(),
            };
            self.pending.insert(id.clone(), cluster.timers.set(at, timer));
            let error = ErrorCode::MEMBER_ID_REQUIRED;
            return Ok(JoinOutcome::Respond(failed_join(context, &id, error)));
        }
        self.add_member(cluster, context, id, request, protocols);
        Ok(JoinOutcome::Delayed)
    }

    /// A static member came back under a new id: it takes the place of the old one, which is fenced.
    pub(super) fn replace_static(
        &mut self,
        cluster: &mut Cluster,
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
        self.fail_pending(cluster, &mut member, ErrorCode::FENCED_INSTANCE_ID);
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
            self.schedule_session(cluster, &id);
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
        self.await_join(cluster, context, &id);
        self.rebalance(cluster);
        JoinOutcome::Delayed
    }

    pub(super) fn add_member(
        &mut self,
        cluster: &mut Cluster,
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
        self.await_join(cluster, context, &id);
        self.set_session_timer(cluster, &id, NEW_MEMBER_TIMEOUT_MS);
        self.rebalance(cluster);
    }

    pub(super) fn update_member(
        &mut self,
        cluster: &mut Cluster,
        context: &Context,
        id: &str,
        request: &JoinGroupRequest,
        protocols: Vec<Protocol>,
    ) {
        if let Some(member) = self.members.get_mut(id) {
            member.take_request(request, protocols);
        }
        self.await_join(cluster, context, id);
        self.rebalance(cluster);
    }

    /// Accepts a member's join and parks the request. A request of it that waited before is sent away.
    pub(super) fn await_join(&mut self, cluster: &mut Cluster, context: &Context, id: &str) {
        cluster.note_join(context, &self.id, id);
        let token = cluster.park(context, DelayedOperation::JoinGroup, None);
        let earlier = self.members.get_mut(id).and_then(|m| m.awaiting_join.replace(token));
        if let Some(earlier) = earlier {
            complete_join(cluster, earlier, |c| {
                failed_join(c, id, ErrorCode::REBALANCE_IN_PROGRESS)
            });
        }
    }

    /// Starts a rebalance, or goes on with the one under way.
    pub(in crate::groups) fn rebalance(&mut self, cluster: &mut Cluster) {
        let before = self.state;
        if before == GroupState::PreparingRebalance {
            self.maybe_complete_join(cluster);
            return;
        }
        self.end_sync_phase(cluster, ErrorCode::REBALANCE_IN_PROGRESS);
        self.state = GroupState::PreparingRebalance;
        let delay_ms = match before {
            GroupState::Empty => {
                let delay_ms = cluster.config.group_initial_rebalance_delay_ms.max(0);
                self.initial_delay_left_ms = Some((self.rebalance_timeout_ms() - delay_ms).max(0));
                self.new_member_joined = false;
                delay_ms
            }
            _ => self.rebalance_timeout_ms(),
        };
        if before == GroupState::Empty && delay_ms == 0 {
            self.complete_join_phase(cluster);
        } else {
            self.set_join_timer(cluster, delay_ms);
            self.maybe_complete_join(cluster);
        }
    }

    pub(super) fn rebalance_timeout_ms(&self) -> i32 {
        self.members.values().map(|m| m.rebalance_timeout_ms).max().unwrap_or(0)
    }

    pub(super) fn set_join_timer(&mut self, cluster: &mut Cluster, delay_ms: i32) {
        self.cancel_join_timer(cluster);
        let at = cluster.now.plus_ms(delay_ms);
        self.join_timer = Some(cluster.timers.set(at, Timer::JoinPhase { group: self.id.clone() }));
    }

    pub(super) fn cancel_join_timer(&mut self, cluster: &mut Cluster) {
        if let Some(timer) = self.join_timer.take() {
            cluster.timers.cancel(timer);
        }
    }

    pub(super) fn maybe_complete_join(&mut self, cluster: &mut Cluster) {
        let all_joined = self.members.values().all(|m| m.awaiting_join.is_some());
        if self.initial_delay_left_ms.is_none() && all_joined && self.pending.is_empty() {
            self.complete_join_phase(cluster);
        }
    }

    pub(crate) fn join_phase_due(&mut self, cluster: &mut Cluster) {
        self.join_timer = None;
        match self.initial_delay_left_ms {
            Some(left) if left > 0 && self.new_member_joined => {
                self.new_member_joined = false;
                let delay = cluster.config.group_initial_rebalance_delay_ms.min(left);
                self.initial_delay_left_ms = Some(left - delay);
                self.set_join_timer(cluster, delay);
            }
            _ => self.complete_join_phase(cluster),
        }
    }

    /// The next generation begins with those who joined; dynamic members that did not are out.
    pub(super) fn complete_join_phase(&mut self, cluster: &mut Cluster) {
        self.cancel_join_timer(cluster);
        self.initial_delay_left_ms = None;
        let absent = |m: &&Member| m.awaiting_join.is_none() && m.instance_id.is_none();
        let absent: Vec<_> = self.members.values().filter(absent).map(|m| m.id.clone()).collect();
        for id in absent {
            self.remove_member(cluster, &id);
        }
        let joined = |m: &&Member| m.awaiting_join.is_some();
        let first = self.members.values().find(joined).map(|m| m.id.clone());
        if first.is_none() && !self.members.is_empty() {
            // Only static members, none of which is back: give them their time again.
            let timeout_ms = self.rebalance_timeout_ms();
            self.set_join_timer(cluster, timeout_ms);
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
        let at = cluster.now.plus_ms(self.rebalance_timeout_ms());
        self.sync_timer = Some(cluster.timers.set(at, Timer::SyncPhase { group: self.id.clone() }));
        let ids: Vec<_> = self.members.keys().cloned().collect();
        for id in ids {
            let waiting = self.members.get_mut(&id).and_then(|m| m.awaiting_join.take());
            if let Some(token) = waiting {
                complete_join(cluster, token, |context| self.join_response(context, &id));
            }
            self.schedule_session(cluster, &id);
        }
    }

    /// Each member votes for the first of its protocols that all support.
    pub(super) fn choose_protocol(&self) -> Option<String> {
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
    pub(super) fn join_response(&self, context: &Context, id: &str) -> JoinGroupResponse {
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
}
