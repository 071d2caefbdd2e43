//! The partitions of a classic member, and what a rebalance revokes of them.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::actions::GroupAction;
use crate::consumer::rebalance_protocol::RebalanceProtocol;
use crate::types::TopicPartition;

/// The start of a rebalance.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Rebalance {
    /// Nothing has to be revoked: the member joins or leaves.
    Proceed,
    /// The member waits until partitions are revoked; the action is `None` if it was issued before.
    Revoke(Option<GroupAction>),
}

/// The partitions of a classic member.
#[derive(Debug)]
pub(super) struct OwnedPartitions {
    /// The group's protocol, once it is known.
    protocol: RebalanceProtocol,
    /// Eager: partitions were assigned and have not been revoked since.
    assigned: bool,
    /// The last assignment. Cooperative: without what was revoked since. Eager: the memory of `sticky`.
    owned: BTreeSet<TopicPartition>,
    /// The generation of the last assignment.
    generation: i32,
    /// Cooperative: partitions that are assigned once others have been revoked.
    pending: Option<Vec<TopicPartition>>,
}

impl OwnedPartitions {
    pub(super) fn new() -> Self {
        OwnedPartitions {
            protocol: RebalanceProtocol::None,
            assigned: false,
            owned: BTreeSet::new(),
            generation: -1,
            pending: None,
        }
    }

    pub(super) fn protocol(&self) -> RebalanceProtocol {
        self.protocol
    }

    pub(super) fn set_protocol(&mut self, protocol: RebalanceProtocol) {
        self.protocol = protocol;
    }

    /// Forgets the group.
    pub(super) fn forget(&mut self) {
        self.protocol = RebalanceProtocol::None;
        self.owned.clear();
        self.generation = -1;
    }

    /// Forgets the group and revocations that were not executed yet.
    pub(super) fn abandon(&mut self) {
        self.forget();
        self.assigned = false;
        self.pending = None;
    }

    /// Returns true if the member has partitions that other members get after the session timeout.
    pub(super) fn holds_any(&self) -> bool {
        match self.protocol {
            RebalanceProtocol::Cooperative => !self.owned.is_empty(),
            _ => self.assigned,
        }
    }

    /// Returns the owned partitions and their generation for JoinGroup.
    pub(super) fn for_join(&self) -> (Vec<TopicPartition>, i32) {
        match self.owned.is_empty() {
            true => (Vec::new(), -1),
            false => (self.owned.iter().cloned().collect(), self.generation),
        }
    }

    /// Starts a rebalance. `lost`: other members may have the partitions. `leaving`: the member leaves. `revoking`: an
    /// earlier revocation is not executed yet. `topics` are those of the subscription.
    pub(super) fn begin_rebalance(
        &mut self,
        lost: bool,
        leaving: bool,
        revoking: bool,
        topics: &[Arc<str>],
    ) -> Rebalance {
        let partitions: Vec<TopicPartition> = match self.protocol {
            RebalanceProtocol::Cooperative if lost || leaving => {
                self.pending = None;
                std::mem::take(&mut self.owned).into_iter().collect()
            }
            RebalanceProtocol::Cooperative => self.take_unsubscribed(topics),
            RebalanceProtocol::None | RebalanceProtocol::Eager => {
                return match (self.assigned, revoking) {
                    (false, _) => Rebalance::Proceed,
                    (true, false) => Rebalance::Revoke(Some(GroupAction::Revoke { lost })),
                    (true, true) => Rebalance::Revoke(lost.then_some(GroupAction::MarkLost)),
                };
            }
        };
        match (partitions.is_empty(), revoking) {
            (false, _) => Rebalance::Revoke(Some(GroupAction::IncrementalRevoke { partitions, lost })),
            (true, false) => Rebalance::Proceed,
            (true, true) => Rebalance::Revoke(lost.then_some(GroupAction::MarkLost)),
        }
    }

    /// Removes and returns partitions of topics that are not subscribed to any more. The member joins with the others
    /// (KIP-429).
    fn take_unsubscribed(&mut self, topics: &[Arc<str>]) -> Vec<TopicPartition> {
        let (kept, gone) = std::mem::take(&mut self.owned)
            .into_iter()
            .partition::<BTreeSet<_>, _>(|tp| topics.contains(&tp.topic));
        self.owned = kept;
        if let Some(pending) = &mut self.pending {
            pending.retain(|tp| topics.contains(&tp.topic));
        }
        gone.into_iter().collect()
    }

    /// Handles an assignment. Returns the action that follows, and true if that revokes partitions.
    pub(super) fn on_assigned(&mut self, generation: i32, assignment: BTreeSet<TopicPartition>) -> (GroupAction, bool) {
        self.generation = generation;
        if self.protocol != RebalanceProtocol::Cooperative {
            self.assigned = true;
            let action = GroupAction::Assign(assignment.iter().cloned().collect());
            self.owned = assignment;
            return (action, false);
        }
        let new = assignment.difference(&self.owned).cloned().collect();
        let gone: Vec<_> = self.owned.difference(&assignment).cloned().collect();
        if gone.is_empty() {
            self.owned = assignment;
            return (GroupAction::IncrementalAssign(new), false);
        }
        self.owned.retain(|tp| assignment.contains(tp));
        self.pending = Some(new);
        let action = GroupAction::IncrementalRevoke {
            partitions: gone,
            lost: false,
        };
        (action, true)
    }

    /// Handles the end of all revocations so far.
    pub(super) fn on_revoked(&mut self) {
        self.assigned = false;
    }

    /// Returns the assignment that was waiting for the revocation.
    pub(super) fn take_pending(&mut self) -> Option<GroupAction> {
        let pending = self.pending.take()?;
        self.owned.extend(pending.iter().cloned());
        Some(GroupAction::IncrementalAssign(pending))
    }
}
