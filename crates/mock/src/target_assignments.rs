//! Target assignments of consumer groups that are set from outside, in place of those of the assignors.

use std::collections::BTreeMap;

/// The partitions of a group's members, by member id. Members without an entry get no partition.
pub type TargetAssignment = BTreeMap<String, Vec<(String, i32)>>;

/// The assignments that were set, by group.
#[derive(Debug, Default)]
pub(crate) struct TargetAssignments {
    by_group: BTreeMap<String, SetAssignment>,
}

#[derive(Debug, Default)]
struct SetAssignment {
    /// Rises with each change, so that groups notice it.
    version: u64,
    /// `None` when the assignors are in charge again.
    target: Option<TargetAssignment>,
}

impl TargetAssignments {
    pub(crate) fn set(&mut self, group: &str, target: Option<TargetAssignment>) {
        let set = self.by_group.entry(group.to_owned()).or_default();
        set.version += 1;
        set.target = target;
    }

    /// Returns the number of changes for a group so far.
    pub(crate) fn version(&self, group: &str) -> u64 {
        self.by_group.get(group).map_or(0, |set| set.version)
    }

    /// Returns the assignment that was set for a group, `None` when the assignors are in charge.
    pub(crate) fn target(&self, group: &str) -> Option<&TargetAssignment> {
        self.by_group.get(group)?.target.as_ref()
    }
}
