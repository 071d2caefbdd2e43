//! Groups: members, generations and committed offsets.
//!
//! A group speaks the classic protocol here ([`ClassicGroup`]); one that speaks the consumer protocol of KIP-848 would
//! stand beside it in [`Group`], on top of the same offsets.

mod classic;
mod member;
mod offsets;
mod view;

use std::collections::BTreeMap;

use ottla_protocol::ErrorCode;

use crate::cluster::{BrokerId, Cluster};
use crate::coordinators::CoordinatorKind;

pub(crate) use classic::{ClassicGroup, GroupState, JoinOutcome, SyncOutcome};
pub(crate) use offsets::{CommittedOffset, CommittedOffsets};
pub use view::{CommitRecord, GroupMemberView, GroupView};

/// One group.
#[derive(Debug)]
pub(crate) struct Group {
    pub(crate) classic: ClassicGroup,
    pub(crate) offsets: CommittedOffsets,
    /// The broker that coordinated it last.
    coordinator: Option<BrokerId>,
}

/// All groups, by id.
#[derive(Debug, Default)]
pub(crate) struct Groups {
    groups: BTreeMap<String, Group>,
    /// Every commit since the last look, when somebody looks.
    pub(crate) commit_log: Option<Vec<CommitRecord>>,
}

impl Groups {
    pub(crate) fn get(&self, id: &str) -> Option<&Group> {
        self.groups.get(id)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&String, &Group)> {
        self.groups.iter()
    }

    /// Offsets of a topic end with it.
    pub(crate) fn topic_deleted(&mut self, topic: &str) {
        for group in self.groups.values_mut() {
            group.offsets.topic_deleted(topic);
        }
    }
}

impl Cluster {
    /// Works on a group that exists, with the rest of the cluster at hand.
    pub(crate) fn with_group<T>(&mut self, id: &str, f: impl FnOnce(&mut Self, &mut Group) -> T) -> Option<T> {
        let (id, mut group) = self.groups.groups.remove_entry(id)?;
        let result = f(self, &mut group);
        self.groups.groups.insert(id, group);
        Some(result)
    }

    /// Works on a group, making it if there is none.
    pub(crate) fn with_new_group<T>(&mut self, id: &str, f: impl FnOnce(&mut Self, &mut Group) -> T) -> T {
        let mut group = self.groups.groups.remove(id).unwrap_or_else(|| Group {
            classic: ClassicGroup::new(id),
            offsets: CommittedOffsets::default(),
            coordinator: self.coordinator(CoordinatorKind::Group, id),
        });
        let result = f(self, &mut group);
        self.groups.groups.insert(id.to_owned(), group);
        result
    }

    /// Removes a group with its offsets.
    ///
    /// # Errors
    /// GROUP_ID_NOT_FOUND, or NON_EMPTY_GROUP when it has members.
    pub fn delete_group(&mut self, id: &str) -> Result<(), ErrorCode> {
        let group = self.groups.groups.get(id).ok_or(ErrorCode::GROUP_ID_NOT_FOUND)?;
        if group.classic.state() != GroupState::Empty {
            return Err(ErrorCode::NON_EMPTY_GROUP);
        }
        if let Some(mut group) = self.groups.groups.remove(id) {
            group.classic.discard(self);
        }
        Ok(())
    }

    /// The offset that a group has committed for a partition, for checkers.
    pub fn committed_offset(&self, group: &str, topic: &str, partition: i32) -> Option<i64> {
        Some(self.groups.get(group)?.offsets.get(topic, partition)?.offset)
    }

    /// The ids of a group's members, sorted, for checkers.
    pub fn group_members(&self, group: &str) -> Vec<String> {
        let members = self.groups.get(group).map(|g| g.classic.members());
        members.into_iter().flatten().map(|m| m.id.clone()).collect()
    }

    /// A broker came or went: requests that wait at a group's former coordinator are sent away.
    pub(crate) fn coordinators_moved(&mut self) {
        let ids: Vec<_> = self.groups.groups.keys().cloned().collect();
        for id in ids {
            let coordinator = self.coordinator(CoordinatorKind::Group, &id);
            self.with_group(&id, |cluster, group| {
                if group.coordinator != coordinator {
                    group.coordinator = coordinator;
                    group.classic.coordinator_moved(cluster);
                }
            });
        }
    }

    pub(crate) fn member_session_due(&mut self, group: &str, member: &str) {
        self.with_group(group, |cluster, group| group.classic.session_due(cluster, member));
    }

    pub(crate) fn join_phase_due(&mut self, group: &str) {
        self.with_group(group, |cluster, group| group.classic.join_phase_due(cluster));
    }

    pub(crate) fn sync_phase_due(&mut self, group: &str) {
        self.with_group(group, |cluster, group| group.classic.sync_phase_due(cluster));
    }
}
