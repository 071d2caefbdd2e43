//! Groups: members, generations and committed offsets.
//!
//! A group speaks the classic protocol ([`ClassicGroup`]) or the consumer protocol of KIP-848 ([`ConsumerGroup`]), on
//! top of the same offsets, and may change from one to the other while its members work (`migration.rs`).

mod classic;
mod consumer;
mod migration;
mod offsets;
mod protocols;
mod view;

use std::collections::BTreeMap;

use ottla_protocol::ErrorCode;

use crate::cluster::{BrokerId, Cluster};
use crate::coordinators::CoordinatorKind;

pub(crate) use classic::{ClassicGroup, GroupState, JoinOutcome, SyncOutcome};
pub(crate) use consumer::{ConsumerGroup, ConsumerMember, MemberTimer, Partitions, assignor_names, by_topic};
pub use migration::MigrationPolicy;
pub(crate) use offsets::{CommittedOffset, CommittedOffsets, Committer};
pub use view::{CommitRecord, GroupMemberView, GroupView, JoinRecord};

/// What a group's members speak.
#[derive(Debug)]
pub(crate) enum Membership {
    Classic(ClassicGroup),
    Consumer(ConsumerGroup),
}

/// One group.
#[derive(Debug)]
pub(crate) struct Group {
    id: String,
    pub(crate) membership: Membership,
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
    /// Every accepted join since the last look, when joins are recorded.
    join_log: Option<Vec<JoinRecord>>,
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
            id: id.to_owned(),
            membership: Membership::Classic(ClassicGroup::new(id)),
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
        if !group.is_empty() {
            return Err(ErrorCode::NON_EMPTY_GROUP);
        }
        if let Some(mut group) = self.groups.groups.remove(id) {
            group.discard(self);
        }
        Ok(())
    }

    /// The offset that a group has committed for a partition, for checkers.
    pub fn committed_offset(&self, group: &str, topic: &str, partition: i32) -> Option<i64> {
        Some(self.groups.get(group)?.offsets.get(topic, partition)?.offset)
    }

    /// The ids of a group's members, sorted, for checkers.
    pub fn group_members(&self, group: &str) -> Vec<String> {
        match self.groups.get(group).map(|g| &g.membership) {
            Some(Membership::Classic(classic)) => classic.members().map(|m| m.id.clone()).collect(),
            Some(Membership::Consumer(consumer)) => consumer.members().map(|m| m.id.clone()).collect(),
            None => Vec::new(),
        }
    }

    /// The coordinators of groups may have moved: requests that wait at a group's former one are sent away.
    pub(crate) fn group_coordinators_moved(&mut self) {
        let ids: Vec<_> = self.groups.groups.keys().cloned().collect();
        for id in ids {
            let coordinator = self.coordinator(CoordinatorKind::Group, &id);
            self.with_group(&id, |cluster, group| {
                if group.coordinator != coordinator {
                    group.coordinator = coordinator;
                    group.coordinator_moved(cluster);
                }
            });
        }
    }
}
