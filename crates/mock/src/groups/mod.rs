//! Groups: members, generations and committed offsets.
//!
//! A group speaks the classic protocol ([`ClassicGroup`]) or the consumer protocol of KIP-848
//! ([`ConsumerGroup`](consumer::ConsumerGroup)) on top of the same offsets, and may change from one to the other while it
//! has members.

mod classic;
mod consumer;
mod group;
mod offsets;
mod responses;
mod share;
mod views;

use std::collections::BTreeMap;

use ottla_protocol::ErrorCode;
use ottla_protocol::api::share_group_heartbeat::{ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse};

use crate::coordinators::CoordinatorKind;
use crate::request::Context;
use crate::share_leader;
use crate::state::ClusterState;

pub(crate) use classic::{ClassicGroup, GroupState, JoinOutcome, SyncOutcome};
pub(crate) use consumer::{ConsumerMember, Partitions, assignor_names, by_topic};
pub(crate) use group::{Group, Membership};
pub(crate) use offsets::{CommittedOffset, Committer};
pub(crate) use responses::{failed_join, failed_sync, nullable_names};
pub(crate) use share::{ShareGroup, ShareMember};
pub use views::{GroupMemberView, GroupView};

/// All groups, by id.
#[derive(Debug, Default)]
pub(crate) struct Groups {
    by_id: BTreeMap<String, Group>,
}

impl Groups {
    pub(crate) fn get(&self, id: &str) -> Option<&Group> {
        self.by_id.get(id)
    }

    pub(crate) fn get_mut(&mut self, id: &str) -> Option<&mut Group> {
        self.by_id.get_mut(id)
    }

    /// Returns a group. Creates an empty classic one if there is none.
    pub(crate) fn get_or_create(&mut self, state: &ClusterState, id: &str) -> &mut Group {
        self.by_id
            .entry(id.to_owned())
            .or_insert_with(|| Group::new(id, state.coordinator(CoordinatorKind::Group, id)))
    }

    /// Returns a share group.
    pub(crate) fn share(&self, id: &str) -> Option<&ShareGroup> {
        match self.by_id.get(id)?.membership() {
            Membership::Share(group) => Some(group),
            Membership::Classic(_) | Membership::Consumer(_) => None,
        }
    }

    /// Returns a share group. Creates an empty one if there is no group of this id; `None` for a group of another type.
    pub(crate) fn share_or_create(&mut self, state: &ClusterState, id: &str) -> Option<&mut ShareGroup> {
        let coordinator = state.coordinator(CoordinatorKind::Group, id);
        let group = self.by_id.entry(id.to_owned());
        group.or_insert_with(|| Group::new_share(id, coordinator)).share_mut()
    }

    /// Handles a heartbeat of a member that joins or stays in a share group. A joining member creates the group.
    ///
    /// # Errors
    /// GROUP_ID_NOT_FOUND when there is no such group or it is of another type, and those of
    /// [`Group::share_heartbeat`].
    pub(crate) fn share_heartbeat(
        &mut self,
        state: &mut ClusterState,
        context: &Context,
        request: &ShareGroupHeartbeatRequest,
    ) -> Result<ShareGroupHeartbeatResponse, ErrorCode> {
        let id = request.group_id.as_str();
        if let Some(group) = self.by_id.get_mut(id) {
            return group.share_heartbeat(state, context, request);
        }
        if request.member_epoch != 0 {
            return Err(ErrorCode::GROUP_ID_NOT_FOUND);
        }
        let mut group = Group::new_share(id, state.coordinator(CoordinatorKind::Group, id));
        let joined = group.share_heartbeat(state, context, request)?;
        self.by_id.insert(id.to_owned(), group);
        Ok(joined)
    }

    /// Returns the groups by ascending id.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&String, &Group)> {
        self.by_id.iter()
    }

    /// Removes a group with its offsets.
    ///
    /// # Errors
    /// GROUP_ID_NOT_FOUND, or NON_EMPTY_GROUP when it has members.
    pub(crate) fn delete(&mut self, state: &mut ClusterState, id: &str) -> Result<(), ErrorCode> {
        let group = self.by_id.get(id).ok_or(ErrorCode::GROUP_ID_NOT_FOUND)?;
        if !group.is_empty() {
            return Err(ErrorCode::NON_EMPTY_GROUP);
        }
        if let Some(mut group) = self.by_id.remove(id) {
            group.discard(state);
            if matches!(group.membership(), Membership::Share(_)) {
                share_leader::group_deleted(state, id);
            }
        }
        Ok(())
    }

    /// Removes the offsets of a deleted topic.
    pub(crate) fn topic_deleted(&mut self, topic: &str) {
        for group in self.by_id.values_mut() {
            group.offsets.topic_deleted(topic);
        }
    }

    /// Answers the delayed requests of groups whose coordinator has changed with NOT_COORDINATOR.
    pub(crate) fn coordinators_moved(&mut self, state: &mut ClusterState) {
        for (id, group) in &mut self.by_id {
            let coordinator = state.coordinator(CoordinatorKind::Group, id);
            group.set_coordinator(state, coordinator);
        }
    }
}
