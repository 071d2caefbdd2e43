//! The coordinator's side of share groups (KIP-932): members, epochs and assignments.
//!
//! Epochs rise as in the consumer protocol, but a member receives its target assignment at once: several members may have
//! the same partition, so that nothing has to be revoked first. Only partitions whose share-partition state is
//! initialized are assigned. The coordinator initializes the state after the heartbeat that first subscribes to the
//! topic, and the next heartbeat of any member raises the epoch for another assignment.

mod assignor;

use std::collections::{BTreeMap, BTreeSet};

use ottla_protocol::api::share_group_heartbeat::{
    Assignment, ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse, TopicPartitions,
};
use ottla_protocol::{ErrorCode, Uuid};

use super::consumer::{Partitions, by_topic};
use crate::request::Context;
use crate::state::ClusterState;
use crate::timers::{Timer, TimerId};
use assignor::Candidate;

/// The protocol type of share groups.
pub(crate) const PROTOCOL_TYPE: &str = "share";

/// A member of a share group.
#[derive(Debug)]
pub(crate) struct ShareMember {
    pub(crate) id: String,
    pub(crate) rack_id: Option<String>,
    pub(crate) client_id: String,
    pub(crate) epoch: i32,
    /// The previous epoch. A heartbeat with it is valid, because the response with the new epoch may have been lost.
    previous_epoch: i32,
    pub(crate) topics: BTreeSet<String>,
    pub(crate) assigned: Partitions,
    target: Partitions,
    session: Option<TimerId>,
}

#[derive(Debug)]
pub(crate) struct ShareGroup {
    id: String,
    epoch: i32,
    /// The group epoch of the target assignment.
    assignment_epoch: i32,
    members: BTreeMap<String, ShareMember>,
    /// Ids and partition counts of the subscribed topics at the last rise of the epoch.
    topics: BTreeMap<String, (Uuid, usize)>,
    /// The partitions whose share-partition state is initialized.
    initialized: Partitions,
    /// The partitions whose state is being initialized.
    initializing: Partitions,
    /// The version of the target assignment that was set from outside, at the last rise of the epoch.
    set_target_version: u64,
}

impl ShareMember {
    fn new(id: &str) -> Self {
        Self {
            id: id.to_owned(),
            rack_id: None,
            client_id: String::new(),
            epoch: 0,
            previous_epoch: 0,
            topics: BTreeSet::new(),
            assigned: Partitions::new(),
            target: Partitions::new(),
            session: None,
        }
    }

    /// Checks the epoch of a heartbeat. As in Kafka, a member that is still in the group cannot join again with epoch 0,
    /// unless it has just joined.
    fn check_epoch(&self, epoch: i32) -> Result<(), ErrorCode> {
        match epoch == self.epoch || epoch < self.epoch && epoch == self.previous_epoch {
            true => Ok(()),
            false => Err(ErrorCode::FENCED_MEMBER_EPOCH),
        }
    }

    fn start_session(&mut self, state: &mut ClusterState, group: &str) {
        self.end_session(state);
        let at = state.now.plus_ms(state.share_settings(group).session_timeout_ms);
        let timer = Timer::ShareMemberSession {
            group: group.to_owned(),
            member: self.id.clone(),
        };
        self.session = Some(state.timers.set(at, timer));
    }

    fn end_session(&mut self, state: &mut ClusterState) {
        if let Some(timer) = self.session.take() {
            state.timers.cancel(timer);
        }
    }
}

impl ShareGroup {
    pub(crate) fn new(id: &str) -> Self {
        Self {
            id: id.to_owned(),
            epoch: 0,
            assignment_epoch: 0,
            members: BTreeMap::new(),
            topics: BTreeMap::new(),
            initialized: Partitions::new(),
            initializing: Partitions::new(),
            set_target_version: 0,
        }
    }

    pub(crate) fn epoch(&self) -> i32 {
        self.epoch
    }

    pub(crate) fn assignment_epoch(&self) -> i32 {
        self.assignment_epoch
    }

    /// Returns the members by ascending id.
    pub(crate) fn members(&self) -> impl Iterator<Item = &ShareMember> {
        self.members.values()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Returns the state under the name in ListGroups and ShareGroupDescribe.
    pub(crate) fn state_name(&self) -> &'static str {
        match self.members.is_empty() {
            true => "Empty",
            false => "Stable",
        }
    }

    /// Returns the assignor's name.
    pub(crate) fn assignor_name(&self) -> &'static str {
        assignor::NAME
    }

    // ---------------------------------------------------------------- heartbeats

    /// Handles a heartbeat of a member that joins (epoch 0) or stays.
    ///
    /// # Errors
    /// GROUP_MAX_SIZE_REACHED, UNKNOWN_MEMBER_ID, FENCED_MEMBER_EPOCH. The group is unchanged then.
    pub(crate) fn heartbeat(
        &mut self,
        state: &mut ClusterState,
        context: &Context,
        request: &ShareGroupHeartbeatRequest,
    ) -> Result<ShareGroupHeartbeatResponse, ErrorCode> {
        let id = request.member_id.as_str();
        let settings = state.share_settings(&self.id);
        if self.members.len() >= settings.max_size && !self.members.contains_key(id) {
            return Err(ErrorCode::GROUP_MAX_SIZE_REACHED);
        }
        let joins = request.member_epoch == 0;
        let mut member = match self.members.get(id) {
            Some(known) => {
                known.check_epoch(request.member_epoch)?;
                self.members.remove(id).unwrap_or_else(|| ShareMember::new(id))
            }
            None if joins => ShareMember::new(id),
            None => return Err(ErrorCode::UNKNOWN_MEMBER_ID),
        };
        let subscription_changed = member.take_request(context, request);
        member.start_session(state, &self.id);
        self.members.insert(id.to_owned(), member);
        if joins {
            state.record_join(context, &self.id, id);
        }
        if settings.state_initialization_us.is_none() {
            let uninitialized = self.uninitialized(state);
            self.initialized.extend(uninitialized);
        }
        let pending = self.is_assignment_pending(state);
        self.raise_epoch(state, subscription_changed || pending);
        if self.epoch > self.assignment_epoch {
            self.assign(state);
        }
        let changed = self.reconcile(state, id, subscription_changed || pending);
        self.begin_initialization(state, settings.state_initialization_us);
        let after = self.members.get(id).ok_or(ErrorCode::UNKNOWN_MEMBER_ID)?;
        // A complete request, as after an error, is answered with the assignment.
        let is_told = joins || changed || request.subscribed_topic_names.is_some();
        Ok(ShareGroupHeartbeatResponse {
            throttle_time_ms: context.throttle_time_ms,
            member_id: Some(id.to_owned()),
            member_epoch: after.epoch,
            heartbeat_interval_ms: settings.heartbeat_interval_ms,
            assignment: is_told.then(|| to_wire(&after.assigned)),
            ..Default::default()
        })
    }

    /// Handles a heartbeat of a member that leaves.
    ///
    /// # Errors
    /// UNKNOWN_MEMBER_ID.
    pub(crate) fn leave(&mut self, state: &mut ClusterState, member: &str) -> Result<(), ErrorCode> {
        match self.remove(state, member) {
            true => Ok(()),
            false => Err(ErrorCode::UNKNOWN_MEMBER_ID),
        }
    }

    /// Removes a member whose session has timed out.
    pub(crate) fn session_due(&mut self, state: &mut ClusterState, member: &str) {
        if let Some(member) = self.members.get_mut(member) {
            member.session = None;
        }
        self.remove(state, member);
    }

    /// Removes a member, and raises the epoch so that the others receive its partitions. Returns true when it was in the
    /// group.
    fn remove(&mut self, state: &mut ClusterState, id: &str) -> bool {
        let Some(mut member) = self.members.remove(id) else {
            return false;
        };
        member.end_session(state);
        self.raise_epoch(state, true);
        true
    }

    /// Moves a member to its target assignment. Returns true when its assignment has changed.
    fn reconcile(&mut self, state: &ClusterState, id: &str, subscription_changed: bool) -> bool {
        let epoch = self.assignment_epoch;
        let Some(member) = self.members.get_mut(id) else {
            return false;
        };
        let is_current = member.epoch == epoch;
        if is_current && !subscription_changed {
            return false;
        }
        let wanted = match is_current {
            true => &member.assigned,
            false => &member.target,
        };
        let subscribed = subscribed(state, &member.topics);
        let assigned: Partitions = wanted
            .iter()
            .filter(|(topic, _)| subscribed.contains(topic))
            .copied()
            .collect();
        if !is_current {
            member.previous_epoch = member.epoch;
            member.epoch = epoch;
        }
        let changed = assigned != member.assigned;
        member.assigned = assigned;
        changed
    }

    /// Restarts the members' sessions, under another coordinator.
    pub(crate) fn restart_timers(&mut self, state: &mut ClusterState) {
        for member in self.members.values_mut() {
            member.start_session(state, &self.id);
        }
    }

    /// Cancels the timers of a group that is removed.
    pub(crate) fn discard(&mut self, state: &mut ClusterState) {
        for member in self.members.values_mut() {
            member.end_session(state);
        }
    }

    // ---------------------------------------------------------------- subscriptions

    /// Returns the existing topics in all subscriptions, with their ids and partition counts.
    fn subscribed_topics(&self, state: &ClusterState) -> BTreeMap<String, (Uuid, usize)> {
        let names = self.members.values().flat_map(|m| &m.topics);
        let existing = names.filter_map(|name| state.topics.by_name(name));
        let visible = existing.filter(|t| state.is_visible(t));
        visible.map(|t| (t.name.clone(), (t.id, t.partitions.len()))).collect()
    }

    /// Raises the group epoch when `force` is set, the subscribed topics have changed, or a target assignment was set from
    /// outside.
    fn raise_epoch(&mut self, state: &ClusterState, force: bool) {
        let topics = self.subscribed_topics(state);
        let version = state.target_assignments.version(&self.id);
        if force || topics != self.topics || version != self.set_target_version {
            self.epoch += 1;
            self.topics = topics;
            self.set_target_version = version;
        }
    }

    /// Returns the subscribed partitions.
    fn subscribed_partitions(&self, state: &ClusterState) -> Partitions {
        let topics = self.subscribed_topics(state);
        let partitions = topics
            .values()
            .flat_map(|(id, count)| (0..i32::try_from(*count).unwrap_or(i32::MAX)).map(|p| (*id, p)));
        partitions.collect()
    }

    /// Computes the target assignment for the group's epoch, or takes over the one that was set from outside.
    fn assign(&mut self, state: &ClusterState) {
        self.assignment_epoch = self.epoch;
        if let Some(set) = state.target_assignments.target(&self.id) {
            for (id, member) in &mut self.members {
                let partitions = set.get(id).into_iter().flatten();
                let existing = partitions.filter_map(|(topic, index)| {
                    let topic = state.topics.by_name(topic)?;
                    topic.partition(*index).map(|_| (topic.id, *index))
                });
                member.target = existing.collect();
            }
            return;
        }
        let assignable = &self.subscribed_partitions(state) & &self.initialized;
        let candidates = self.members.values().map(|member| Candidate {
            topics: subscribed(state, &member.topics),
            current: &member.target,
        });
        let candidates: Vec<_> = candidates.collect();
        let assignments = assignor::assign(&candidates, &assignable);
        for (member, assignment) in self.members.values_mut().zip(assignments) {
            member.target = assignment;
        }
    }

    // ---------------------------------------------------------------- initialization

    /// Returns the subscribed partitions whose state is not initialized.
    fn uninitialized(&self, state: &ClusterState) -> Partitions {
        &self.subscribed_partitions(state) - &self.initialized
    }

    /// Returns true when the target assignment lacks initialized partitions of subscribed topics.
    fn is_assignment_pending(&self, state: &ClusterState) -> bool {
        if state.target_assignments.target(&self.id).is_some() {
            return false;
        }
        let assigned: Partitions = self.members.values().flat_map(|m| m.target.iter().copied()).collect();
        let assignable = &self.subscribed_partitions(state) & &self.initialized;
        !assignable.is_subset(&assigned)
    }

    /// Initializes the state of subscribed partitions after a delay, unless that is under way.
    fn begin_initialization(&mut self, state: &mut ClusterState, delay_us: Option<u64>) {
        let new = &self.uninitialized(state) - &self.initializing;
        let Some(delay_us) = delay_us.filter(|_| !new.is_empty()) else {
            return;
        };
        let timer = Timer::ShareStateInitialized {
            group: self.id.clone(),
            partitions: new.iter().copied().collect(),
        };
        self.initializing.extend(new);
        let at = state.now.plus_us(delay_us);
        state.timers.set(at, timer);
    }

    /// Marks the state of partitions as initialized.
    pub(crate) fn initialized(&mut self, partitions: &[(Uuid, i32)]) {
        for partition in partitions {
            self.initializing.remove(partition);
            self.initialized.insert(*partition);
        }
    }

    /// Raises the group's epoch on behalf of an operator who sets offsets.
    pub(crate) fn bump_epoch(&mut self) {
        self.epoch += 1;
    }

    /// Returns the partitions whose state is initialized.
    pub(crate) fn initialized_partitions(&self) -> &Partitions {
        &self.initialized
    }

    /// Forgets the initialized state of a topic's partitions. Returns false if there is none.
    pub(crate) fn forget_topic(&mut self, topic: Uuid) -> bool {
        let before = self.initialized.len();
        self.initialized.retain(|(t, _)| *t != topic);
        self.initialized.len() < before
    }

    /// Returns true when a member subscribes to the topic.
    pub(crate) fn is_subscribed_to(&self, topic: &str) -> bool {
        self.members.values().any(|member| member.topics.contains(topic))
    }
}

impl ShareMember {
    /// Stores the fields of a heartbeat. Absent fields have not changed. Returns true when the subscription has.
    fn take_request(&mut self, context: &Context, request: &ShareGroupHeartbeatRequest) -> bool {
        self.client_id.clone_from(&context.client_id);
        if request.rack_id.is_some() {
            self.rack_id.clone_from(&request.rack_id);
        }
        let Some(names) = &request.subscribed_topic_names else {
            return false;
        };
        let topics: BTreeSet<String> = names.iter().cloned().collect();
        let changed = topics != self.topics;
        self.topics = topics;
        changed
    }
}

/// Returns the ids of the existing topics of a subscription.
fn subscribed(state: &ClusterState, names: &BTreeSet<String>) -> BTreeSet<Uuid> {
    let topics = names.iter().filter_map(|name| state.topics.by_name(name));
    topics.filter(|t| state.is_visible(t)).map(|t| t.id).collect()
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
