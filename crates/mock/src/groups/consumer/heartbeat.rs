//! Heartbeats: members that join, stay and leave.

use ottla_protocol::ErrorCode;
use ottla_protocol::api::consumer_group_heartbeat::{
    Assignment, ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse, TopicPartitions,
};

use super::member::STATIC_LEAVE_EPOCH;
use super::reconcile::Reconciliation;
use super::{ConsumerGroup, ConsumerMember, MemberState, MemberTimer, Partitions, by_topic};
use crate::cluster::Cluster;
use crate::dispatch::Context;

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

impl ConsumerGroup {
    /// A heartbeat of a member that joins (epoch 0) or stays.
    ///
    /// # Errors
    /// GROUP_MAX_SIZE_REACHED, INVALID_REGULAR_EXPRESSION, UNKNOWN_MEMBER_ID, FENCED_MEMBER_EPOCH, FENCED_INSTANCE_ID,
    /// UNRELEASED_INSTANCE_ID. The group has not changed then.
    pub(crate) fn heartbeat(
        &mut self,
        cluster: &mut Cluster,
        context: &Context,
        request: &ConsumerGroupHeartbeatRequest,
    ) -> Result<ConsumerGroupHeartbeatResponse, ErrorCode> {
        self.check_size(cluster.config.group_consumer_max_size, &request.member_id)?;
        self.check_expression(request.subscribed_topic_regex.as_deref())?;
        let owned = request.topic_partitions.as_deref().map(from_wire);
        let mut member = self.take_member(cluster, request, owned.as_ref())?;
        let before = member.clone();
        member.take_request(context, request);
        member.cancel_timer(cluster, MemberTimer::Join);
        member.cancel_timer(cluster, MemberTimer::Sync);
        let expression_changed = member.regex != before.regex;
        let topics_changed = member.topics != before.topics;
        let counts = topics_changed || expression_changed && self.takes_effect_at_once(&member.regex);
        let id = self.insert(member);
        if request.member_epoch == 0 {
            cluster.note_join(context, &self.id, &id);
        }
        self.drop_expressions();
        self.prepare_target(cluster, counts);
        self.reconcile(cluster, &id, owned.as_ref(), topics_changed || expression_changed);
        let session_timeout_ms = cluster.config.group_consumer_session_timeout_ms;
        self.set_timer(cluster, &id, MemberTimer::Session, session_timeout_ms);

        let after = self.members.get(&id).ok_or(ErrorCode::UNKNOWN_MEMBER_ID)?;
        let names = request.subscribed_topic_names.is_some() || request.subscribed_topic_regex.is_some();
        // Whoever tells everything, as after an error, is told everything.
        let is_full = request.rebalance_timeout_ms != -1 && names && owned.is_some();
        let is_told = request.member_epoch == 0 || is_full || after.assigned != before.assigned;
        let response = ConsumerGroupHeartbeatResponse {
            throttle_time_ms: context.throttle_time_ms,
            member_id: Some(id),
            member_epoch: after.epoch,
            heartbeat_interval_ms: cluster.config.group_consumer_heartbeat_interval_ms,
            assignment: is_told.then(|| to_wire(&after.assigned)),
            ..Default::default()
        };
        self.refresh_expressions(cluster);
        Ok(response)
    }

    /// Whether one more member may come; those who are in may stay.
    pub(super) fn check_size(&self, most: usize, member: &str) -> Result<(), ErrorCode> {
        match self.members.len() < most || self.members.contains_key(member) {
            true => Ok(()),
            false => Err(ErrorCode::GROUP_MAX_SIZE_REACHED),
        }
    }

    /// Takes the member that a heartbeat is of out of the group, to be put back; a new one, or one in place of a static
    /// member that came back, when it joins.
    fn take_member(
        &mut self,
        cluster: &mut Cluster,
        request: &ConsumerGroupHeartbeatRequest,
        owned: Option<&Partitions>,
    ) -> Result<ConsumerMember, ErrorCode> {
        let joins = request.member_epoch == 0;
        let mut id = request.member_id.clone();
        if id.is_empty() {
            id = cluster.rng.uuid().to_string();
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
                return self.take_over(cluster, &old, id);
            }
            Some(found) if found.id != id => return Err(ErrorCode::FENCED_INSTANCE_ID),
            Some(found) => found.check_epoch(request.member_epoch, owned)?,
        }
        self.members.remove(&id).ok_or(ErrorCode::UNKNOWN_MEMBER_ID)
    }

    /// Takes a static member out of the group, to be put back under the id under which it came back.
    pub(super) fn take_over(
        &mut self,
        cluster: &mut Cluster,
        old: &str,
        id: String,
    ) -> Result<ConsumerMember, ErrorCode> {
        let mut member = self.members.remove(old).ok_or(ErrorCode::UNKNOWN_MEMBER_ID)?;
        member.cancel_timers(cluster);
        Ok(member.with_id(id))
    }

    pub(super) fn insert(&mut self, member: ConsumerMember) -> String {
        let id = member.id.clone();
        if let Some(instance) = &member.instance_id {
            self.static_members.insert(instance.clone(), id.clone());
        }
        self.members.insert(id.clone(), member);
        id
    }

    /// Brings the target assignment up to the group's epoch, which a change of subscription raises.
    pub(super) fn prepare_target(&mut self, cluster: &Cluster, subscription_changed: bool) {
        self.raise_epoch(cluster, subscription_changed || self.epoch == 0);
        if self.epoch > self.assignment_epoch {
            self.assign(cluster);
        }
    }

    /// Takes a member as far towards the target assignment as it can go.
    pub(super) fn reconcile(
        &mut self,
        cluster: &mut Cluster,
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
                subscribed: &self.subscribed(cluster, &member),
                subscription_changed,
                owned,
                held_by_others: &self.held_by_others(id),
            };
            let changed = step.advance(&mut member);
            if changed && member.classic.is_none() {
                match member.state {
                    MemberState::UnrevokedPartitions => {
                        let timeout_ms = member.rebalance_timeout_ms;
                        member.set_timer(cluster, &self.id, MemberTimer::Revocation, timeout_ms);
                    }
                    _ => member.cancel_timer(cluster, MemberTimer::Revocation),
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
        cluster: &mut Cluster,
        request: &ConsumerGroupHeartbeatRequest,
    ) -> Result<bool, ErrorCode> {
        let id = self.checked_id(&request.member_id, request.instance_id.as_deref())?;
        if request.instance_id.is_some() && request.member_epoch == STATIC_LEAVE_EPOCH {
            if let Some(member) = self.members.get_mut(&id) {
                // It keeps its assignment, for as long as its session lasts.
                member.epoch = STATIC_LEAVE_EPOCH;
                member.pending_revocation.clear();
                member.cancel_timer(cluster, MemberTimer::Revocation);
            }
            return Ok(false);
        }
        self.remove(cluster, &id);
        Ok(true)
    }

    /// The id of a member that is one and holds its instance id.
    pub(super) fn checked_id(&self, member: &str, instance: Option<&str>) -> Result<String, ErrorCode> {
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
}
