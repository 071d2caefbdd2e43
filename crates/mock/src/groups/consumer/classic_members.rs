//! Members of the classic protocol in a group of the consumer protocol, as it is while the group moves from one to the
//! other.
//!
//! Such a member follows a leader that is not there: the coordinator assigns. JoinGroup brings its subscription and what
//! it owns and is answered at once, with its epoch for a generation; SyncGroup fetches its assignment; Heartbeat tells it to
//! join again when the group's epoch is ahead, when it has to give up partitions, or when what it waits for is free.

use ottla_protocol::ErrorCode;
use ottla_protocol::api::join_group::{JoinGroupRequest, JoinGroupResponse};
use ottla_protocol::api::sync_group::{SyncGroupRequest, SyncGroupResponse};
use ottla_protocol::consumer_protocol::ConsumerProtocolSubscription;

use super::{
    ClassicMember, ConsumerGroup, ConsumerMember, MemberState, MemberTimer, PROTOCOL_TYPE, by_topic_id,
    encode_assignment,
};
use crate::cluster::Cluster;
use crate::dispatch::Context;
use crate::groups::classic::{Protocol, rebalance_timeout_ms};
use crate::handlers::k11_join_group::failed_join;

/// What became of a JoinGroup request to a consumer group.
pub(crate) struct Joined {
    pub(crate) response: JoinGroupResponse,
    /// The member took the place of a static one.
    pub(crate) replaces: bool,
    pub(crate) subscription_changed: bool,
}

impl ConsumerGroup {
    /// # Errors
    /// GROUP_MAX_SIZE_REACHED, INCONSISTENT_GROUP_PROTOCOL, UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID.
    pub(crate) fn join_classic(
        &mut self,
        cluster: &mut Cluster,
        context: &Context,
        request: &JoinGroupRequest,
    ) -> Result<Joined, ErrorCode> {
        self.check_size(cluster.config.group_consumer_max_size, &request.member_id)?;
        let protocols = Protocol::list(request);
        if !self.supports(&request.protocol_type, &protocols) {
            return Err(ErrorCode::INCONSISTENT_GROUP_PROTOCOL);
        }
        let metadata = protocols.first().map(|p| p.metadata.clone()).unwrap_or_default();
        let subscription =
            ConsumerProtocolSubscription::from_bytes(metadata).map_err(|_| ErrorCode::INCONSISTENT_GROUP_PROTOCOL)?;
        let mut id = request.member_id.clone();
        if id.is_empty() {
            id = cluster.rng.uuid().to_string();
            if context.version >= 4 && request.group_instance_id.is_none() {
                return Ok(Joined {
                    response: failed_join(context, &id, ErrorCode::MEMBER_ID_REQUIRED),
                    replaces: false,
                    subscription_changed: false,
                });
            }
        }
        let (mut member, replaces) = self.take_classic(cluster, request, id)?;
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
        member.cancel_timers(cluster);
        let rebalance_timeout_ms = member.rebalance_timeout_ms;
        let id = self.insert(member);
        cluster.note_join(context, &self.id, &id);
        self.drop_expressions();
        self.prepare_target(cluster, subscription_changed);
        let owned = by_topic_id(cluster, &subscription.owned_partitions);
        self.reconcile(cluster, &id, Some(&owned), subscription_changed);
        self.set_timer(cluster, &id, MemberTimer::Session, request.session_timeout_ms);
        self.set_timer(cluster, &id, MemberTimer::Sync, rebalance_timeout_ms);
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
        cluster: &mut Cluster,
        request: &JoinGroupRequest,
        id: String,
    ) -> Result<(ConsumerMember, bool), ErrorCode> {
        let Some(instance) = &request.group_instance_id else {
            let known = self.members.remove(&id);
            return Ok((known.unwrap_or_else(|| ConsumerMember::new(id)), false));
        };
        match self.static_members.get(instance).cloned() {
            Some(old) if request.member_id.is_empty() => Ok((self.take_over(cluster, &old, id)?, true)),
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
        cluster: &mut Cluster,
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
            self.expect_join(cluster, &request.member_id);
            return Err(ErrorCode::REBALANCE_IN_PROGRESS);
        }
        let version = member.classic.as_ref().map_or(0, ClassicMember::version);
        let response = SyncGroupResponse {
            throttle_time_ms: context.throttle_time_ms,
            protocol_type: request.protocol_type.clone(),
            protocol_name: request.protocol_name.clone(),
            assignment: encode_assignment(&cluster.topics, &member.assigned, version),
            ..Default::default()
        };
        if let Some(member) = self.members.get_mut(&request.member_id) {
            member.cancel_timer(cluster, MemberTimer::Sync);
        }
        self.extend_session(cluster, &request.member_id);
        Ok(response)
    }

    /// # Errors
    /// UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID, ILLEGAL_GENERATION, REBALANCE_IN_PROGRESS.
    pub(crate) fn heartbeat_classic(
        &mut self,
        cluster: &mut Cluster,
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
        self.extend_session(cluster, id);
        if rejoins {
            self.expect_join(cluster, id);
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
        cluster: &mut Cluster,
        member: &str,
        instance: Option<&str>,
    ) -> Result<(), ErrorCode> {
        let holder = instance.and_then(|i| self.static_members.get(i)).cloned();
        let id = match holder {
            Some(holder) if member.is_empty() => holder,
            _ => self.checked_id(member, instance)?,
        };
        self.remove(cluster, &id);
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
    fn expect_join(&mut self, cluster: &mut Cluster, id: &str) {
        if let Some(member) = self.members.get_mut(id).filter(|m| !m.is_timed(MemberTimer::Join)) {
            let timeout_ms = member.rebalance_timeout_ms;
            member.set_timer(cluster, &self.id, MemberTimer::Join, timeout_ms);
        }
    }

    fn extend_session(&mut self, cluster: &mut Cluster, id: &str) {
        let classic = self.members.get(id).and_then(|m| m.classic.as_ref());
        if let Some(timeout_ms) = classic.map(|c| c.session_timeout_ms) {
            self.set_timer(cluster, id, MemberTimer::Session, timeout_ms);
        }
    }
}
