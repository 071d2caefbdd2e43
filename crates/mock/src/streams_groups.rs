//! Streams groups (KIP-1071) as a test sets them: state, topology and members.
//!
//! Their committed offsets are in [`Groups`](crate::groups::Groups) under the same id, as those of a group without members.
//! Omitted: StreamsGroupHeartbeat, so that no member joins, and no state changes.

use std::collections::BTreeMap;

use ottla_protocol::ErrorCode;
use ottla_protocol::api::streams_group_describe::DescribedGroup;

/// The protocol type and the type of streams groups in ListGroups.
pub(crate) const STREAMS: &str = "streams";

/// All streams groups, by id.
#[derive(Debug, Default)]
pub(crate) struct StreamsGroups {
    by_id: BTreeMap<String, DescribedGroup>,
}

impl StreamsGroups {
    pub(crate) fn get(&self, id: &str) -> Option<&DescribedGroup> {
        self.by_id.get(id)
    }

    /// Returns the groups by ascending id.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&String, &DescribedGroup)> {
        self.by_id.iter()
    }

    /// Adds or replaces a group.
    pub(crate) fn set(&mut self, group: DescribedGroup) {
        self.by_id.insert(group.group_id.clone(), group);
    }

    /// Removes a group.
    ///
    /// # Errors
    /// GROUP_ID_NOT_FOUND, or NON_EMPTY_GROUP when it has members.
    pub(crate) fn delete(&mut self, id: &str) -> Result<(), ErrorCode> {
        match self.get(id).ok_or(ErrorCode::GROUP_ID_NOT_FOUND)?.members.is_empty() {
            false => Err(ErrorCode::NON_EMPTY_GROUP),
            true => {
                self.by_id.remove(id);
                Ok(())
            }
        }
    }
}
