//! Groups that change their protocol while their members work.
//!
//! A classic group of consumers becomes one of the consumer protocol when the first member of that protocol joins, and
//! turns back when the last of them is gone. Members keep what they have; the generation goes on as the epoch.

use ottla_protocol::ErrorCode;
use ottla_protocol::consumer_protocol::{ConsumerProtocolAssignment, ConsumerProtocolSubscription};

use super::classic::Member;
use super::consumer::{ClassicMember, PROTOCOL_TYPE, by_topic_id, encode_assignment};
use super::{ClassicGroup, ConsumerGroup, ConsumerMember, Group, Membership};
use crate::cluster::Cluster;

/// Which way groups may go (`group.consumer.migration.policy`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MigrationPolicy {
    /// From the classic to the consumer protocol and back.
    #[default]
    Bidirectional,
    /// To the consumer protocol only.
    Upgrade,
    /// Back to the classic protocol only.
    Downgrade,
    /// Neither way.
    Disabled,
}

impl MigrationPolicy {
    /// The value under Kafka's name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Bidirectional => "bidirectional",
            Self::Upgrade => "upgrade",
            Self::Downgrade => "downgrade",
            Self::Disabled => "disabled",
        }
    }
}

impl Group {
    /// Makes a classic group that has members one of the consumer protocol.
    ///
    /// # Errors
    /// GROUP_ID_NOT_FOUND when that is not allowed, or not possible: members that are no consumers, or whose assignor
    /// tells them more than their partitions.
    pub(super) fn upgrade(&mut self, cluster: &mut Cluster) -> Result<(), ErrorCode> {
        let Membership::Classic(classic) = &mut self.membership else {
            return Ok(());
        };
        let refused = ErrorCode::GROUP_ID_NOT_FOUND;
        let policy = cluster.config.migration_policy;
        let allowed = matches!(policy, MigrationPolicy::Bidirectional | MigrationPolicy::Upgrade)
            && classic.protocol_type() == PROTOCOL_TYPE
            && classic.members().count() <= cluster.config.group_consumer_max_size;
        if !allowed {
            return Err(refused);
        }
        let generation = classic.generation();
        let upgraded = classic.members().map(|m| upgraded(cluster, m, generation));
        let members = upgraded.collect::<Option<Vec<_>>>().ok_or(refused)?;
        classic.fail_all_pending(cluster, ErrorCode::REBALANCE_IN_PROGRESS);
        classic.discard(cluster);
        let mut group = ConsumerGroup::with_members(&self.id, generation, members);
        group.begin_sessions(cluster);
        self.membership = Membership::Consumer(group);
        Ok(())
    }

    /// Members of a consumer group have gone: when only those of the classic protocol are left, it turns back.
    pub(super) fn consumer_members_gone(&mut self, cluster: &mut Cluster) {
        match self.downgraded(cluster) {
            Some(mut classic) => {
                classic.restart_sessions(cluster);
                classic.rebalance(cluster);
                self.membership = Membership::Classic(classic);
            }
            None => {
                if let Membership::Consumer(group) = &mut self.membership {
                    group.members_gone(cluster);
                }
            }
        }
    }

    /// A static member of the consumer protocol may have come back with the classic one.
    pub(super) fn static_member_replaced(&mut self, cluster: &mut Cluster, subscription_changed: bool) {
        // A member whose target waits for revocations by others has not received its assignment yet. Kafka's coordinator
        // assumes that it has, and would never send it.
        let waits = match &self.membership {
            Membership::Consumer(group) => group.members().any(|m| m.assigned != m.target),
            Membership::Classic(_) => false,
        };
        let Some(mut classic) = self.downgraded(cluster) else {
            return;
        };
        classic.restart_sessions(cluster);
        if subscription_changed || waits {
            classic.rebalance(cluster);
        }
        self.membership = Membership::Classic(classic);
    }

    /// The group as one of the classic protocol, when it may turn back now; it is done with then.
    fn downgraded(&mut self, cluster: &mut Cluster) -> Option<ClassicGroup> {
        let Membership::Consumer(group) = &mut self.membership else {
            return None;
        };
        let policy = cluster.config.migration_policy;
        let allowed = matches!(policy, MigrationPolicy::Bidirectional | MigrationPolicy::Downgrade)
            && group.is_all_classic()
            && group.members().count() <= cluster.config.group_max_size;
        if !allowed {
            return None;
        }
        group.discard(cluster);
        let epoch = group.epoch();
        let members = group.members().filter_map(|m| downgraded(cluster, m));
        let members = members.collect();
        Some(ClassicGroup::with_members(&self.id, epoch, PROTOCOL_TYPE, members))
    }
}

/// A member of a classic group as one of a consumer group; `None` when that is not possible.
fn upgraded(cluster: &Cluster, member: &Member, generation: i32) -> Option<ConsumerMember> {
    let first = member.protocols.first()?;
    let subscription = ConsumerProtocolSubscription::from_bytes(first.metadata.clone()).ok()?;
    // Nobody has told it anything yet, when that is empty.
    let assignment = match member.assignment.is_empty() {
        true => ConsumerProtocolAssignment::default(),
        false => ConsumerProtocolAssignment::from_bytes(member.assignment.clone()).ok()?,
    };
    if assignment.user_data.is_some_and(|data| !data.is_empty()) {
        return None;
    }
    let assigned = by_topic_id(cluster, &assignment.assigned_partitions);
    Some(ConsumerMember {
        instance_id: member.instance_id.clone(),
        rack_id: subscription.rack_id,
        client_id: member.client_id.clone(),
        rebalance_timeout_ms: member.rebalance_timeout_ms,
        epoch: generation,
        previous_epoch: generation,
        topics: subscription.topics.into_iter().collect(),
        target: assigned.clone(),
        assigned,
        classic: Some(ClassicMember {
            session_timeout_ms: member.session_timeout_ms,
            protocols: member.protocols.clone(),
        }),
        ..ConsumerMember::new(member.id.clone())
    })
}

/// A member of the classic protocol as one of a classic group.
fn downgraded(cluster: &Cluster, member: &ConsumerMember) -> Option<Member> {
    let classic = member.classic.as_ref()?;
    Some(Member {
        id: member.id.clone(),
        instance_id: member.instance_id.clone(),
        client_id: member.client_id.clone(),
        session_timeout_ms: classic.session_timeout_ms,
        rebalance_timeout_ms: member.rebalance_timeout_ms,
        protocols: classic.protocols.clone(),
        assignment: encode_assignment(&cluster.topics, &member.target, classic.version()),
        awaiting_join: None,
        awaiting_sync: None,
        session_timer: None,
    })
}
