//! One group: the protocol that its members speak, its committed offsets, and the change from one protocol to the other.
//!
//! A classic group of consumers becomes one of the consumer protocol when the first member of that protocol joins, and
//! turns back when the last of them is gone. Members keep their assignments; the generation continues as the epoch.

use ottla_protocol::api::consumer_group_heartbeat::{ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse};
use ottla_protocol::api::join_group::JoinGroupRequest;
use ottla_protocol::api::offset_commit::OffsetCommitRequest;
use ottla_protocol::api::share_group_heartbeat::{ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse};
use ottla_protocol::api::sync_group::SyncGroupRequest;
use ottla_protocol::api::txn_offset_commit::TxnOffsetCommitRequest;
use ottla_protocol::consumer_protocol::{ConsumerProtocolAssignment, ConsumerProtocolSubscription};
use ottla_protocol::{ErrorCode, Uuid};

use super::classic::{ClassicGroup, GroupState, JoinOutcome, Member, SyncOutcome};
use super::consumer::{ClassicMember, ConsumerGroup, ConsumerMember, PROTOCOL_TYPE, by_topic_id, encode_assignment};
use super::offsets::CommittedOffsets;
use super::responses::{failed_join, failed_sync};
use super::share::{self, ShareGroup};
use crate::config::MigrationPolicy;
use crate::history::CommitRecord;
use crate::ids::BrokerId;
use crate::request::Context;
use crate::state::ClusterState;
use crate::timers::MemberTimer;

/// The protocol of a group, with its members.
#[derive(Debug)]
pub(crate) enum Membership {
    Classic(ClassicGroup),
    Consumer(ConsumerGroup),
    Share(ShareGroup),
}

/// One group.
#[derive(Debug)]
pub(crate) struct Group {
    id: String,
    membership: Membership,
    pub(crate) offsets: CommittedOffsets,
    /// The last coordinator.
    coordinator: Option<BrokerId>,
}

impl Group {
    /// Creates an empty classic group.
    pub(super) fn new(id: &str, coordinator: Option<BrokerId>) -> Self {
        Self {
            id: id.to_owned(),
            membership: Membership::Classic(ClassicGroup::new(id)),
            offsets: CommittedOffsets::default(),
            coordinator,
        }
    }

    /// Creates an empty share group.
    pub(super) fn new_share(id: &str, coordinator: Option<BrokerId>) -> Self {
        Self {
            membership: Membership::Share(ShareGroup::new(id)),
            ..Self::new(id, coordinator)
        }
    }

    pub(crate) fn membership(&self) -> &Membership {
        &self.membership
    }

    pub(crate) fn is_empty(&self) -> bool {
        match &self.membership {
            Membership::Classic(group) => group.state() == GroupState::Empty,
            Membership::Consumer(group) => group.is_empty(),
            Membership::Share(group) => group.is_empty(),
        }
    }

    /// Returns the state under Kafka's name.
    pub(crate) fn state_name(&self) -> &'static str {
        match &self.membership {
            Membership::Classic(group) => group.state().name(),
            Membership::Consumer(group) => group.state_name(),
            Membership::Share(group) => group.state_name(),
        }
    }

    /// Returns the group's type as in ListGroups.
    pub(crate) fn type_name(&self) -> &'static str {
        match &self.membership {
            Membership::Classic(_) => "classic",
            Membership::Consumer(_) => "consumer",
            Membership::Share(_) => "share",
        }
    }

    pub(crate) fn protocol_type(&self) -> &str {
        match &self.membership {
            Membership::Classic(group) => group.protocol_type(),
            Membership::Consumer(_) => PROTOCOL_TYPE,
            Membership::Share(_) => share::PROTOCOL_TYPE,
        }
    }

    /// Returns true if a member subscribes to the topic by its name.
    pub(crate) fn is_subscribed_to(&self, topic: &str) -> bool {
        match &self.membership {
            Membership::Classic(group) => group.members().any(|member| {
                let subscriptions = member.protocols.iter().map(|protocol| protocol.metadata.clone());
                let mut subscriptions = subscriptions.filter_map(|m| ConsumerProtocolSubscription::from_bytes(m).ok());
                subscriptions.any(|subscription| subscription.topics.iter().any(|name| name == topic))
            }),
            Membership::Consumer(group) => group
                .members()
                .any(|member| member.topics.iter().any(|name| name == topic)),
            Membership::Share(group) => group.is_subscribed_to(topic),
        }
    }

    /// Returns the generation, in the consumer protocol the group's epoch.
    pub(crate) fn generation(&self) -> i32 {
        match &self.membership {
            Membership::Classic(group) => group.generation(),
            Membership::Consumer(group) => group.epoch(),
            Membership::Share(group) => group.epoch(),
        }
    }

    // ---------------------------------------------------------------- classic protocol

    pub(crate) fn join(
        &mut self,
        state: &mut ClusterState,
        context: &Context,
        request: JoinGroupRequest,
    ) -> JoinOutcome {
        // An empty group accepts either protocol.
        if matches!(&self.membership, Membership::Consumer(group) if group.is_empty()) {
            self.discard(state);
            self.membership = Membership::Classic(ClassicGroup::new(&self.id));
        }
        let joined = match &mut self.membership {
            Membership::Classic(group) => return group.join(state, context, request),
            Membership::Consumer(group) => group.join_classic(state, context, &request),
            Membership::Share(_) => {
                let refused = ErrorCode::INCONSISTENT_GROUP_PROTOCOL;
                return JoinOutcome::Respond(failed_join(context, "", refused));
            }
        };
        JoinOutcome::Respond(match joined {
            Ok(joined) => {
                if joined.replaces {
                    self.static_member_replaced(state, joined.subscription_changed);
                }
                joined.response
            }
            Err(error) => failed_join(context, &request.member_id, error),
        })
    }

    pub(crate) fn sync(
        &mut self,
        state: &mut ClusterState,
        context: &Context,
        request: SyncGroupRequest,
    ) -> SyncOutcome {
        match &mut self.membership {
            Membership::Classic(group) => group.sync(state, context, request),
            Membership::Consumer(group) => {
                let mark_synced = group.sync_classic(state, context, &request);
                SyncOutcome::Respond(mark_synced.unwrap_or_else(|error| failed_sync(context, error)))
            }
            Membership::Share(_) => SyncOutcome::Respond(failed_sync(context, ErrorCode::UNKNOWN_MEMBER_ID)),
        }
    }

    pub(crate) fn heartbeat(
        &mut self,
        state: &mut ClusterState,
        member: &str,
        instance: Option<&str>,
        generation: i32,
    ) -> Result<(), ErrorCode> {
        match &mut self.membership {
            Membership::Classic(group) => group.heartbeat(state, member, instance, generation),
            Membership::Consumer(group) => group.heartbeat_classic(state, member, instance, generation),
            Membership::Share(_) => Err(ErrorCode::UNKNOWN_MEMBER_ID),
        }
    }

    pub(crate) fn leave(
        &mut self,
        state: &mut ClusterState,
        member: &str,
        instance: Option<&str>,
    ) -> Result<(), ErrorCode> {
        match &mut self.membership {
            Membership::Classic(group) => group.leave(state, member, instance),
            Membership::Consumer(group) => {
                group.leave_classic(state, member, instance)?;
                self.consumer_members_gone(state);
                Ok(())
            }
            Membership::Share(_) => Err(ErrorCode::UNKNOWN_MEMBER_ID),
        }
    }

    // ---------------------------------------------------------------- consumer protocol

    /// Handles a heartbeat of the consumer protocol that joins or stays. A joining member converts a classic group
    /// where that is possible.
    pub(crate) fn consumer_heartbeat(
        &mut self,
        state: &mut ClusterState,
        context: &Context,
        request: &ConsumerGroupHeartbeatRequest,
    ) -> Result<ConsumerGroupHeartbeatResponse, ErrorCode> {
        if matches!(self.membership, Membership::Classic(_)) {
            match (request.member_epoch, self.is_empty()) {
                (0, true) => {
                    self.discard(state);
                    self.membership = Membership::Consumer(ConsumerGroup::new(&self.id));
                }
                (0, false) => self.upgrade(state)?,
                _ => return Err(ErrorCode::GROUP_ID_NOT_FOUND),
            }
        }
        match &mut self.membership {
            Membership::Consumer(group) => group.heartbeat(state, context, request),
            Membership::Classic(_) | Membership::Share(_) => Err(ErrorCode::GROUP_ID_NOT_FOUND),
        }
    }

    /// Handles a heartbeat of the consumer protocol that leaves.
    pub(crate) fn consumer_leave(
        &mut self,
        state: &mut ClusterState,
        request: &ConsumerGroupHeartbeatRequest,
    ) -> Result<(), ErrorCode> {
        let Membership::Consumer(group) = &mut self.membership else {
            return Err(ErrorCode::GROUP_ID_NOT_FOUND);
        };
        if group.leave(state, request)? {
            self.consumer_members_gone(state);
        }
        Ok(())
    }

    // ---------------------------------------------------------------- share groups

    /// Handles a heartbeat of a member of a share group that joins or stays.
    ///
    /// # Errors
    /// GROUP_ID_NOT_FOUND for a group of another type, and those of [`ShareGroup::heartbeat`].
    pub(super) fn share_heartbeat(
        &mut self,
        state: &mut ClusterState,
        context: &Context,
        request: &ShareGroupHeartbeatRequest,
    ) -> Result<ShareGroupHeartbeatResponse, ErrorCode> {
        match &mut self.membership {
            Membership::Share(group) => group.heartbeat(state, context, request),
            Membership::Classic(_) | Membership::Consumer(_) => Err(ErrorCode::GROUP_ID_NOT_FOUND),
        }
    }

    /// Handles a heartbeat of a member of a share group that leaves.
    ///
    /// # Errors
    /// GROUP_ID_NOT_FOUND for a group of another type, UNKNOWN_MEMBER_ID.
    pub(crate) fn share_leave(&mut self, state: &mut ClusterState, member: &str) -> Result<(), ErrorCode> {
        match &mut self.membership {
            Membership::Share(group) => group.leave(state, member),
            Membership::Classic(_) | Membership::Consumer(_) => Err(ErrorCode::GROUP_ID_NOT_FOUND),
        }
    }

    /// Returns the share group, `None` for another type.
    pub(super) fn share_mut(&mut self) -> Option<&mut ShareGroup> {
        match &mut self.membership {
            Membership::Share(group) => Some(group),
            Membership::Classic(_) | Membership::Consumer(_) => None,
        }
    }

    /// Removes a member of a share group whose session has timed out.
    pub(crate) fn share_session_due(&mut self, state: &mut ClusterState, member: &str) {
        if let Membership::Share(group) = &mut self.membership {
            group.session_due(state, member);
        }
    }

    /// Marks the state of share partitions as initialized.
    pub(crate) fn share_state_initialized(&mut self, partitions: &[(Uuid, i32)]) {
        if let Membership::Share(group) = &mut self.membership {
            group.initialized(partitions);
        }
    }

    // ---------------------------------------------------------------- offsets

    /// Checks a commit outside of transactions.
    pub(crate) fn check_commit(
        &mut self,
        state: &mut ClusterState,
        version: i16,
        request: &OffsetCommitRequest,
    ) -> Result<(), ErrorCode> {
        let (member, generation) = (&request.member_id, request.generation_id_or_member_epoch);
        let instance = request.group_instance_id.as_deref();
        match &mut self.membership {
            Membership::Classic(group) => group.check_commit(state, member, instance, generation),
            Membership::Consumer(group) => group.check_commit(member, generation, version),
            Membership::Share(_) => Err(ErrorCode::GROUP_ID_NOT_FOUND),
        }
    }

    /// Checks a commit as part of a transaction.
    pub(crate) fn check_transactional_commit(
        &mut self,
        state: &mut ClusterState,
        request: &TxnOffsetCommitRequest,
    ) -> Result<(), ErrorCode> {
        let (member, generation) = (&request.member_id, request.generation_id);
        let instance = request.group_instance_id.as_deref();
        match &mut self.membership {
            Membership::Classic(group) => group.check_transactional_commit(state, member, instance, generation),
            Membership::Consumer(group) => group.check_transactional_commit(member, instance, generation),
            Membership::Share(_) => Err(ErrorCode::GROUP_ID_NOT_FOUND),
        }
    }

    /// Commits or discards the offsets of a producer's transaction.
    pub(crate) fn end_transaction(&mut self, state: &mut ClusterState, producer_id: i64, epoch: i16, commits: bool) {
        let ended = self.offsets.end_transaction(producer_id, epoch, commits);
        for (topic, partition, pending, before) in ended {
            state.history.commits.push(|| CommitRecord {
                group: self.id.clone(),
                member: pending.committer.member,
                generation: pending.committer.generation,
                topic,
                partition,
                offset: pending.committed.offset,
                before,
                broker: pending.committer.broker,
                connection: pending.committer.connection,
                producer_id: Some(producer_id),
            });
        }
    }

    /// Checks an offset fetch; the classic protocol has no conditions.
    pub(crate) fn check_fetch(&self, member: Option<&str>, epoch: i32) -> Result<(), ErrorCode> {
        match &self.membership {
            Membership::Classic(_) => Ok(()),
            Membership::Consumer(group) => group.check_fetch(member, epoch),
            Membership::Share(_) => Err(ErrorCode::GROUP_ID_NOT_FOUND),
        }
    }

    // ---------------------------------------------------------------- time and coordinators

    /// Changes the coordinator.
    pub(super) fn set_coordinator(&mut self, state: &mut ClusterState, coordinator: Option<BrokerId>) {
        if self.coordinator == coordinator {
            return;
        }
        self.coordinator = coordinator;
        match &mut self.membership {
            Membership::Classic(group) => group.coordinator_moved(state),
            Membership::Consumer(group) => group.restart_timers(state),
            Membership::Share(group) => group.restart_timers(state),
        }
    }

    /// Restarts every member's session.
    pub(crate) fn restart_sessions(&mut self, state: &mut ClusterState) {
        match &mut self.membership {
            Membership::Classic(group) => group.restart_sessions(state),
            Membership::Consumer(group) => group.restart_timers(state),
            Membership::Share(group) => group.restart_timers(state),
        }
    }

    /// Cancels the timers of a group that is removed.
    pub(crate) fn discard(&mut self, state: &mut ClusterState) {
        match &mut self.membership {
            Membership::Classic(group) => group.discard(state),
            Membership::Consumer(group) => group.discard(state),
            Membership::Share(group) => group.discard(state),
        }
    }

    // ---------------------------------------------------------------- timers

    /// Fires a timer of a classic group; a group that has changed its protocol ignores it.
    pub(crate) fn classic_timer_fired(
        &mut self,
        state: &mut ClusterState,
        fire: impl FnOnce(&mut ClassicGroup, &mut ClusterState),
    ) {
        if let Membership::Classic(group) = &mut self.membership {
            fire(group, state);
        }
    }

    /// Fires a timer of a member of the consumer protocol; a group that has changed its protocol ignores it.
    pub(crate) fn consumer_timer_fired(&mut self, state: &mut ClusterState, member: &str, timer: MemberTimer) {
        if let Membership::Consumer(consumer) = &mut self.membership
            && consumer.timer_due(state, member, timer)
        {
            self.consumer_members_gone(state);
        }
    }

    // ---------------------------------------------------------------- change of protocol

    /// Converts a classic group with members to the consumer protocol.
    ///
    /// # Errors
    /// GROUP_ID_NOT_FOUND when the policy forbids it, or when it is not possible: members that are no consumers, or
    /// whose assignor adds user data to the assignments.
    pub(super) fn upgrade(&mut self, state: &mut ClusterState) -> Result<(), ErrorCode> {
        let Membership::Classic(classic) = &mut self.membership else {
            return Ok(());
        };
        let refused = ErrorCode::GROUP_ID_NOT_FOUND;
        let policy = state.config.migration_policy;
        let allowed = matches!(policy, MigrationPolicy::Bidirectional | MigrationPolicy::Upgrade)
            && classic.protocol_type() == PROTOCOL_TYPE
            && classic.members().count() <= state.config.group_consumer_max_size;
        if !allowed {
            return Err(refused);
        }
        let generation = classic.generation();
        let upgraded = classic.members().map(|m| upgraded(state, m, generation));
        let members = upgraded.collect::<Option<Vec<_>>>().ok_or(refused)?;
        classic.fail_all_pending(state, ErrorCode::REBALANCE_IN_PROGRESS);
        classic.discard(state);
        let mut group = ConsumerGroup::with_members(&self.id, generation, members);
        group.begin_sessions(state);
        self.membership = Membership::Consumer(group);
        Ok(())
    }

    /// Converts the group to the classic protocol after members have left, when only members of that protocol remain.
    pub(super) fn consumer_members_gone(&mut self, state: &mut ClusterState) {
        match self.downgraded(state) {
            Some(mut classic) => {
                classic.restart_sessions(state);
                classic.rebalance(state);
                self.membership = Membership::Classic(classic);
            }
            None => {
                if let Membership::Consumer(group) = &mut self.membership {
                    group.members_gone(state);
                }
            }
        }
    }

    /// Converts the group to the classic protocol where possible, after a static member may have returned with that
    /// protocol.
    pub(super) fn static_member_replaced(&mut self, state: &mut ClusterState, subscription_changed: bool) {
        // A member whose target waits for revocations by other members has not received its assignment yet. Kafka's
        // coordinator assumes that it has, and would never send it.
        let waits = match &self.membership {
            Membership::Consumer(group) => group.members().any(|m| m.assigned != m.target),
            Membership::Classic(_) | Membership::Share(_) => false,
        };
        let Some(mut classic) = self.downgraded(state) else {
            return;
        };
        classic.restart_sessions(state);
        if subscription_changed || waits {
            classic.rebalance(state);
        }
        self.membership = Membership::Classic(classic);
    }

    /// Returns the group in the classic protocol if it may be converted now; this group is discarded then.
    fn downgraded(&mut self, state: &mut ClusterState) -> Option<ClassicGroup> {
        let Membership::Consumer(group) = &mut self.membership else {
            return None;
        };
        let policy = state.config.migration_policy;
        let allowed = matches!(policy, MigrationPolicy::Bidirectional | MigrationPolicy::Downgrade)
            && group.is_all_classic()
            && group.members().count() <= state.config.group_max_size;
        if !allowed {
            return None;
        }
        group.discard(state);
        let epoch = group.epoch();
        let members = group.members().filter_map(|m| downgraded(state, m));
        let members = members.collect();
        Some(ClassicGroup::with_members(&self.id, epoch, PROTOCOL_TYPE, members))
    }
}

/// Converts a member of a classic group to the consumer protocol. Returns `None` when that is not possible.
fn upgraded(state: &ClusterState, member: &Member, generation: i32) -> Option<ConsumerMember> {
    let first = member.protocols.first()?;
    let subscription = ConsumerProtocolSubscription::from_bytes(first.metadata.clone()).ok()?;
    // An empty assignment means that the member has not received one yet.
    let assignment = match member.assignment.is_empty() {
        true => ConsumerProtocolAssignment::default(),
        false => ConsumerProtocolAssignment::from_bytes(member.assignment.clone()).ok()?,
    };
    if assignment.user_data.is_some_and(|data| !data.is_empty()) {
        return None;
    }
    let assigned = by_topic_id(state, &assignment.assigned_partitions);
    Some(ConsumerMember {
        instance_id: member.instance_id.clone(),
        rack_id: subscription.rack_id,
        client_id: member.client_id.clone(),
        rebalance_timeout_ms: member.rebalance_timeout_ms,
        epoch: generation,
        previous_epoch: generation,
        topics: subscription.topics.into_iter().collect(),
        target: assigned.clone(),
        assigned,
        classic: Some(ClassicMember {
            session_timeout_ms: member.session_timeout_ms,
            protocols: member.protocols.clone(),
        }),
        ..ConsumerMember::new(member.id.clone())
    })
}

/// Converts a member that speaks the classic protocol to one of a classic group.
fn downgraded(state: &ClusterState, member: &ConsumerMember) -> Option<Member> {
    let classic = member.classic.as_ref()?;
    Some(Member {
        id: member.id.clone(),
        instance_id: member.instance_id.clone(),
        client_id: member.client_id.clone(),
        session_timeout_ms: classic.session_timeout_ms,
        rebalance_timeout_ms: member.rebalance_timeout_ms,
        protocols: classic.protocols.clone(),
        assignment: encode_assignment(&state.topics, &member.target, classic.version()),
        awaiting_join: None,
        awaiting_sync: None,
        session_timer: None,
    })
}
