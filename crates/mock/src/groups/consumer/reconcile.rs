//! The steps of a member from its assignment to the target assignment.
//!
//! ```text
//!              nothing to revoke, all new ones are free
//!            ┌───────────────────────────────────────────────▶ Stable
//!   behind ──┤ partitions to revoke              the member acknowledges
//!   its      ├──────────────────────▶ UnrevokedPartitions ───▶ (as from the left)
//!   target   │ others hold some of the new ones       they release
//!            └──────────────────────▶ UnreleasedPartitions ──▶ Stable
//! ```
//!
//! The member epoch stays behind while the member has partitions to revoke. Then it becomes the target's epoch, even
//! while others still hold new partitions of the member.

use std::collections::BTreeSet;

use ottla_protocol::Uuid;

use super::member::{ConsumerMember, MemberState};
use super::partitions::Partitions;

/// The input of a member's next step.
pub(super) struct Reconciliation<'a> {
    pub(super) target_epoch: i32,
    /// The topics that it is subscribed to, of those that exist.
    pub(super) subscribed: &'a BTreeSet<Uuid>,
    pub(super) subscription_changed: bool,
    /// The owned partitions in the request; `None` when the request has none.
    pub(super) owned: Option<&'a Partitions>,
    pub(super) held_by_others: &'a Partitions,
}

impl Reconciliation<'_> {
    /// Takes the member as far as it can go. True when anything changed.
    pub(super) fn advance(&self, member: &mut ConsumerMember) -> bool {
        match member.state {
            MemberState::Stable if member.epoch != self.target_epoch => self.next_assignment(member),
            MemberState::Stable => self.subscription_changed && self.revoke_unsubscribed(member),
            MemberState::UnrevokedPartitions if self.still_owns(&member.pending_revocation) => {
                self.subscription_changed && self.revoke_unsubscribed(member)
            }
            MemberState::UnrevokedPartitions | MemberState::UnreleasedPartitions => self.next_assignment(member),
        }
    }

    /// Returns true when the member may still own one of the partitions. Without a list of owned partitions it may own any.
    fn still_owns(&self, partitions: &Partitions) -> bool {
        self.owned.is_none_or(|owned| !owned.is_disjoint(partitions))
    }

    fn next_assignment(&self, member: &mut ConsumerMember) -> bool {
        let target = member
            .target
            .iter()
            .filter(|(topic, _)| self.subscribed.contains(topic));
        let target: Partitions = target.copied().collect();
        let mut assigned = &member.assigned & &target;
        let taken = &member.assigned - &assigned;
        let mut pending_revocation = Partitions::new();
        let (state, epoch) = if !taken.is_empty() && self.still_owns(&taken) {
            pending_revocation = taken;
            (MemberState::UnrevokedPartitions, member.epoch)
        } else {
            let given = &target - &assigned;
            let free = &given - self.held_by_others;
            let state = match free.len() == given.len() {
                true => MemberState::Stable,
                false => MemberState::UnreleasedPartitions,
            };
            assigned.extend(free);
            (state, self.target_epoch)
        };
        let same = (member.state, member.epoch) == (state, epoch)
            && member.assigned == assigned
            && member.pending_revocation == pending_revocation;
        member.previous_epoch = member.epoch;
        member.state = state;
        member.epoch = epoch;
        member.assigned = assigned;
        member.pending_revocation = pending_revocation;
        !same
    }

    /// Removes the partitions of topics outside of the subscription at once.
    fn revoke_unsubscribed(&self, member: &mut ConsumerMember) -> bool {
        let left = member
            .assigned
            .iter()
            .filter(|(topic, _)| !self.subscribed.contains(topic));
        let left: Partitions = left.copied().collect();
        if left.is_empty() {
            return false;
        }
        member.assigned = &member.assigned - &left;
        member.previous_epoch = member.epoch;
        let pending = &member.pending_revocation | &left;
        if self.still_owns(&pending) {
            member.state = MemberState::UnrevokedPartitions;
            member.pending_revocation = pending;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOPIC: Uuid = Uuid([1; 16]);

    fn partitions(numbers: &[i32]) -> Partitions {
        numbers.iter().map(|n| (TOPIC, *n)).collect()
    }

    fn member(assigned: &[i32], target: &[i32]) -> ConsumerMember {
        ConsumerMember {
            epoch: 1,
            previous_epoch: 1,
            assigned: partitions(assigned),
            target: partitions(target),
            ..ConsumerMember::new("m".into())
        }
    }

    /// Advances a member to epoch 2, with its owned partitions and those that others hold.
    fn step(member: &mut ConsumerMember, owned: Option<&[i32]>, held: &[i32]) -> (MemberState, i32) {
        let owned = owned.map(partitions);
        let step = Reconciliation {
            target_epoch: 2,
            subscribed: &BTreeSet::from([TOPIC]),
            subscription_changed: false,
            owned: owned.as_ref(),
            held_by_others: &partitions(held),
        };
        step.advance(member);
        (member.state, member.epoch)
    }

    #[test]
    fn revocation_precedes_the_epoch() {
        let mut m = member(&[0, 1], &[1, 2]);
        assert_eq!(step(&mut m, Some(&[0, 1]), &[]), (MemberState::UnrevokedPartitions, 1));
        assert_eq!(
            (&m.assigned, &m.pending_revocation),
            (&partitions(&[1]), &partitions(&[0]))
        );
        // Neither silence nor a partial list counts as an acknowledgement.
        assert_eq!(step(&mut m, None, &[]), (MemberState::UnrevokedPartitions, 1));
        assert_eq!(step(&mut m, Some(&[0]), &[]), (MemberState::UnrevokedPartitions, 1));
        assert_eq!(m.held().count(), 2);
        assert_eq!(step(&mut m, Some(&[1]), &[]), (MemberState::Stable, 2));
        assert_eq!((&m.assigned, m.previous_epoch), (&partitions(&[1, 2]), 1));
        assert!(m.pending_revocation.is_empty());
    }

    #[test]
    fn unreleased_partitions_are_awaited() {
        let mut m = member(&[0], &[0, 1, 2]);
        assert_eq!(step(&mut m, None, &[1]), (MemberState::UnreleasedPartitions, 2));
        assert_eq!(m.assigned, partitions(&[0, 2]));
        assert_eq!(step(&mut m, None, &[1]), (MemberState::UnreleasedPartitions, 2));
        assert_eq!(step(&mut m, None, &[]), (MemberState::Stable, 2));
        assert_eq!(m.assigned, partitions(&[0, 1, 2]));
    }

    #[test]
    fn unsubscribed_topic_is_revoked_at_once() {
        let mut m = member(&[0], &[0]);
        m.epoch = 2;
        let leave = |owned: Option<&Partitions>, m: &mut ConsumerMember| {
            let step = Reconciliation {
                target_epoch: 2,
                subscribed: &BTreeSet::new(),
                subscription_changed: true,
                owned,
                held_by_others: &Partitions::new(),
            };
            step.advance(m)
        };
        assert!(leave(None, &mut m));
        assert_eq!((m.state, m.epoch), (MemberState::UnrevokedPartitions, 2));
        assert_eq!((m.assigned.len(), m.pending_revocation.len()), (0, 1));
        assert!(leave(Some(&Partitions::new()), &mut m));
        assert_eq!((m.state, m.held().count()), (MemberState::Stable, 0));
    }
}
