//! Share groups (KIP-932): the state of their partitions, which a share coordinator keeps beyond the life of members.
//!
//! A share partition is a partition in one share group. Its start offset is the first record that the group may still
//! receive. Its state epoch rises when the state is initialized again, so that a writer of the earlier state is fenced;
//! the leader epoch is that of the last writer.
//!
//! A group exists once one of its offsets is set, and until it is deleted. Omitted: members.

use std::collections::BTreeMap;

use ottla_protocol::{ErrorCode, Uuid};

/// The protocol type and the type of share groups in ListGroups.
pub(crate) const SHARE: &str = "share";

/// The state of a share partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SharePartitionState {
    /// The group's epoch at the initialization.
    pub(crate) state_epoch: i32,
    /// The leader epoch of the last writer, 0 before the first.
    pub(crate) leader_epoch: i32,
    pub(crate) start_offset: i64,
}

/// One share group.
#[derive(Debug, Default)]
pub(crate) struct ShareGroup {
    epoch: i32,
    topics: BTreeMap<Uuid, BTreeMap<i32, SharePartitionState>>,
}

impl ShareGroup {
    /// Returns the group's epoch.
    pub(crate) fn epoch(&self) -> i32 {
        self.epoch
    }

    /// Returns true when the group has no members.
    pub(crate) fn is_empty(&self) -> bool {
        true
    }

    /// Returns the state under Kafka's name.
    pub(crate) fn state_name(&self) -> &'static str {
        "Empty"
    }

    /// Returns the state of a share partition.
    pub(crate) fn partition(&self, topic: Uuid, partition: i32) -> Option<&SharePartitionState> {
        self.topics.get(&topic)?.get(&partition)
    }

    /// Returns the topics with a state, and the partitions of each.
    pub(crate) fn topics(&self) -> impl Iterator<Item = (Uuid, Vec<i32>)> {
        self.topics
            .iter()
            .map(|(topic, partitions)| (*topic, partitions.keys().copied().collect()))
    }

    /// Raises the group's epoch, which becomes the state epoch of the next initializations.
    pub(crate) fn bump_epoch(&mut self) {
        self.epoch += 1;
    }

    /// Initializes the state of a share partition.
    pub(crate) fn initialize(&mut self, topic: Uuid, partition: i32, start_offset: i64) {
        let state = SharePartitionState {
            state_epoch: self.epoch,
            leader_epoch: 0,
            start_offset,
        };
        self.topics.entry(topic).or_default().insert(partition, state);
    }

    /// Removes the state of a topic's partitions. Returns false if there is none.
    pub(crate) fn forget_topic(&mut self, topic: Uuid) -> bool {
        self.topics.remove(&topic).is_some()
    }
}

/// All share groups, by id.
#[derive(Debug, Default)]
pub(crate) struct ShareGroups {
    by_id: BTreeMap<String, ShareGroup>,
}

impl ShareGroups {
    pub(crate) fn get(&self, id: &str) -> Option<&ShareGroup> {
        self.by_id.get(id)
    }

    pub(crate) fn get_mut(&mut self, id: &str) -> Option<&mut ShareGroup> {
        self.by_id.get_mut(id)
    }

    /// Returns a group. Creates an empty one if there is none.
    pub(crate) fn get_or_create(&mut self, id: &str) -> &mut ShareGroup {
        self.by_id.entry(id.to_owned()).or_default()
    }

    /// Returns the groups by ascending id.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&String, &ShareGroup)> {
        self.by_id.iter()
    }

    /// Removes a group with the state of its partitions.
    ///
    /// # Errors
    /// GROUP_ID_NOT_FOUND, or NON_EMPTY_GROUP when it has members.
    pub(crate) fn delete(&mut self, id: &str) -> Result<(), ErrorCode> {
        match self.by_id.get(id).ok_or(ErrorCode::GROUP_ID_NOT_FOUND)?.is_empty() {
            false => Err(ErrorCode::NON_EMPTY_GROUP),
            true => {
                self.by_id.remove(id);
                Ok(())
            }
        }
    }

    /// Removes the state of a deleted topic's partitions.
    pub(crate) fn topic_deleted(&mut self, topic: Uuid) {
        for group in self.by_id.values_mut() {
            group.forget_topic(topic);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOPIC: Uuid = Uuid([7; 16]);

    #[test]
    fn an_offset_that_is_set_again_has_a_later_state_epoch() {
        let mut groups = ShareGroups::default();
        let group = groups.get_or_create("g");
        for start_offset in [5, 3] {
            group.bump_epoch();
            group.initialize(TOPIC, 1, start_offset);
        }
        let state = SharePartitionState {
            state_epoch: 2,
            leader_epoch: 0,
            start_offset: 3,
        };
        assert_eq!(group.partition(TOPIC, 1), Some(&state));
        assert_eq!(group.partition(TOPIC, 0), None);
        assert_eq!(group.topics().collect::<Vec<_>>(), [(TOPIC, vec![1])]);
    }

    #[test]
    fn offsets_end_with_their_topic_and_the_group_stays() {
        let mut groups = ShareGroups::default();
        groups.get_or_create("g").initialize(TOPIC, 0, 1);
        groups.topic_deleted(TOPIC);
        assert!(groups.get("g").is_some_and(|group| group.partition(TOPIC, 0).is_none()));
        assert_eq!(groups.delete("g"), Ok(()));
        assert_eq!(groups.delete("g"), Err(ErrorCode::GROUP_ID_NOT_FOUND));
    }
}
