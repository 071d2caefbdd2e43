//! What a rebalance does to the partitions of a member of a classic group.

use std::collections::BTreeSet;

use super::actions::{GroupAction, RebalanceProtocol};
use super::classic::{ClassicMember, State};
use crate::context::Ctx;
use crate::types::TopicPartition;

impl ClassicMember {
    /// Starts over: gives up what has to be given up, then joins or leaves. `lost`: others may have the partitions.
    pub(super) fn rebalance(&mut self, ctx: &Ctx<'_>, lost: bool) {
        match self.protocol {
            RebalanceProtocol::Cooperative if lost || self.leaving => self.give_all_up(ctx, lost),
            RebalanceProtocol::Cooperative => self.give_up_unsubscribed(ctx),
            RebalanceProtocol::None | RebalanceProtocol::Eager => self.start_over(ctx, lost),
        }
    }

    fn start_over(&mut self, ctx: &Ctx<'_>, lost: bool) {
        if !self.assigned {
            return self.proceed(ctx);
        }
        if self.state != State::Revoking {
            self.actions.push(GroupAction::Revoke { lost });
        } else if lost {
            self.actions.push(GroupAction::MarkLost);
        }
        self.state = State::Revoking;
    }

    fn give_all_up(&mut self, ctx: &Ctx<'_>, lost: bool) {
        self.pending = None;
        let partitions: Vec<_> = std::mem::take(&mut self.owned).into_iter().collect();
        if !partitions.is_empty() {
            self.actions.push(GroupAction::IncrementalRevoke { partitions, lost });
            self.state = State::Revoking;
        } else if self.state != State::Revoking {
            self.proceed(ctx);
        } else if lost {
            self.actions.push(GroupAction::MarkLost);
        }
    }

    /// KIP-429: the member joins with what it has, except for topics that it has unsubscribed from.
    fn give_up_unsubscribed(&mut self, ctx: &Ctx<'_>) {
        let topics = &self.topics;
        let (kept, gone) = std::mem::take(&mut self.owned)
            .into_iter()
            .partition::<BTreeSet<_>, _>(|tp| topics.contains(&tp.topic));
        self.owned = kept;
        if let Some(pending) = &mut self.pending {
            pending.retain(|tp| topics.contains(&tp.topic));
        }
        if !gone.is_empty() {
            let partitions = gone.into_iter().collect();
            self.actions.push(GroupAction::IncrementalRevoke {
                partitions,
                lost: false,
            });
            self.state = State::Revoking;
        } else if self.state != State::Revoking {
            self.proceed(ctx);
        }
    }

    /// The group gave these partitions.
    pub(super) fn take_assignment(&mut self, assignment: BTreeSet<TopicPartition>) {
        self.owned_generation = self.generation;
        self.state = State::Stable;
        if self.protocol != RebalanceProtocol::Cooperative {
            self.assigned = true;
            self.actions
                .push(GroupAction::Assign(assignment.iter().cloned().collect()));
            self.owned = assignment;
            return;
        }
        let pending = assignment.difference(&self.owned).cloned().collect();
        let gone: Vec<_> = self.owned.difference(&assignment).cloned().collect();
        if gone.is_empty() {
            self.owned = assignment;
            return self.actions.push(GroupAction::IncrementalAssign(pending));
        }
        self.owned.retain(|tp| assignment.contains(tp));
        self.pending = Some(pending);
        self.actions.push(GroupAction::IncrementalRevoke {
            partitions: gone,
            lost: false,
        });
        self.state = State::Revoking;
    }

    /// The partitions of all revocations so far were given up.
    pub(super) fn on_revoked(&mut self, ctx: &Ctx<'_>) {
        self.assigned = false;
        if self.state != State::Revoking {
            return;
        }
        if let Some(pending) = self.pending.take() {
            self.owned.extend(pending.iter().cloned());
            self.actions.push(GroupAction::IncrementalAssign(pending));
        }
        // After a cooperative revocation, too, the member joins anew: only then can others have the partitions.
        self.proceed(ctx);
    }

    /// Whether the member has partitions that others may get when it is not heard of for too long.
    pub(super) fn holds_partitions(&self) -> bool {
        match self.protocol {
            RebalanceProtocol::Cooperative => !self.owned.is_empty(),
            _ => self.assigned,
        }
    }

    /// What the member says that it has, or had, when it joins, and in which generation it got that.
    pub(super) fn claim(&self) -> (Vec<TopicPartition>, i32) {
        match self.owned.is_empty() {
            true => (Vec::new(), -1),
            false => (self.owned.iter().cloned().collect(), self.owned_generation),
        }
    }
}
