//! The coordinator's side of the consumer group protocol (KIP-848).
//!
//! Three epochs drive it. The group's is raised by whatever calls for another assignment: members and their
//! subscriptions that come, change and go, topics that appear, grow and are deleted. The assignment's follows when a
//! server-side assignor has made the target assignment for it. Each member's follows when the member has given up what
//! the target takes from it; what others still hold is handed to it once they have let go (`reconcile.rs`).
//!
//! Members of the classic protocol may live in the same group while it moves from one protocol to the other
//! (`classic_members.rs`).

mod assignors;
mod classic_members;
mod heartbeat;
mod member;
mod reconcile;
mod sessions;
mod subscriptions;

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use ottla_protocol::consumer_protocol::{ConsumerProtocolAssignment, TopicPartition};
use ottla_protocol::{ErrorCode, Uuid};

pub(crate) use assignors::assignor_names;
pub(crate) use member::{ClassicMember, ConsumerMember, MemberState, MemberTimer};
use subscriptions::Expressions;

use crate::cluster::Cluster;
use crate::topics::Topics;

/// Partitions of topics, by topic id.
pub(crate) type Partitions = BTreeSet<(Uuid, i32)>;

/// The protocol type of consumers, whichever protocol they speak.
pub(crate) const PROTOCOL_TYPE: &str = "consumer";

#[derive(Debug)]
pub(crate) struct ConsumerGroup {
    id: String,
    epoch: i32,
    /// The group's epoch when the target assignment was made.
    assignment_epoch: i32,
    members: BTreeMap<String, ConsumerMember>,
    /// The holders of instance ids (`group.instance.id`).
    static_members: BTreeMap<String, String>,
    /// Ids and partition counts of the subscribed topics, as they were when the epoch was last raised.
    topics: BTreeMap<String, (Uuid, usize)>,
    expressions: Expressions,
}

impl ConsumerGroup {
    pub(crate) fn new(id: &str) -> Self {
        Self {
            id: id.to_owned(),
            epoch: 0,
            assignment_epoch: 0,
            members: BTreeMap::new(),
            static_members: BTreeMap::new(),
            topics: BTreeMap::new(),
            expressions: Expressions::default(),
        }
    }

    /// A group of these members, all of which have what the target assignment of this epoch gives them. Of their topics
    /// nothing is known yet, so that the next heartbeat divides them anew: a leader that went away may never have done so.
    pub(super) fn with_members(id: &str, epoch: i32, members: Vec<ConsumerMember>) -> Self {
        let instances = members
            .iter()
            .filter_map(|m| Some((m.instance_id.clone()?, m.id.clone())));
        Self {
            epoch,
            assignment_epoch: epoch,
            static_members: instances.collect(),
            members: members.into_iter().map(|m| (m.id.clone(), m)).collect(),
            ..Self::new(id)
        }
    }

    pub(crate) fn epoch(&self) -> i32 {
        self.epoch
    }

    pub(crate) fn assignment_epoch(&self) -> i32 {
        self.assignment_epoch
    }

    /// By member id.
    pub(crate) fn members(&self) -> impl Iterator<Item = &ConsumerMember> {
        self.members.values()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// The state under the name that ListGroups and ConsumerGroupDescribe give.
    pub(crate) fn state_name(&self) -> &'static str {
        let reconciled = |m: &ConsumerMember| m.is_reconciled_to(self.assignment_epoch);
        match () {
            () if self.members.is_empty() => "Empty",
            () if self.epoch > self.assignment_epoch => "Assigning",
            () if !self.members.values().all(reconciled) => "Reconciling",
            () => "Stable",
        }
    }

    /// Whether only members of the classic protocol are left.
    pub(super) fn is_all_classic(&self) -> bool {
        !self.members.is_empty() && self.members.values().all(|m| m.classic.is_some())
    }

    /// What members other than this one hold or have not yet been seen to give up.
    fn held_by_others(&self, member: &str) -> Partitions {
        let others = self.members.values().filter(|m| m.id != member);
        others.flat_map(ConsumerMember::held).copied().collect()
    }

    /// Whether a commit from outside of transactions may be taken.
    pub(crate) fn check_commit(&self, member: &str, epoch: i32, version: i16) -> Result<(), ErrorCode> {
        if epoch < 0 && self.members.is_empty() {
            return Ok(());
        }
        let found = self.members.get(member).ok_or(ErrorCode::UNKNOWN_MEMBER_ID)?;
        if found.classic.is_none() && version < 9 {
            return Err(ErrorCode::UNSUPPORTED_VERSION);
        }
        found.check_epoch_of_offsets(epoch)
    }

    /// Whether a commit as part of a transaction may be taken. A producer that does not say whose offsets it commits may
    /// always (KIP-447).
    pub(crate) fn check_transactional_commit(
        &self,
        member: &str,
        instance: Option<&str>,
        epoch: i32,
    ) -> Result<(), ErrorCode> {
        let says_nothing = epoch < 0 && member.is_empty() && instance.is_none();
        if says_nothing || epoch < 0 && self.members.is_empty() {
            return Ok(());
        }
        let found = self.members.get(member).ok_or(ErrorCode::UNKNOWN_MEMBER_ID)?;
        // STALE_MEMBER_EPOCH is unknown to TxnOffsetCommit.
        found
            .check_epoch_of_offsets(epoch)
            .map_err(|_| ErrorCode::ILLEGAL_GENERATION)
    }

    /// Whether committed offsets may be told; who gives neither member nor epoch may always know them.
    pub(crate) fn check_fetch(&self, member: Option<&str>, epoch: i32) -> Result<(), ErrorCode> {
        match member {
            None if epoch < 0 => Ok(()),
            None => Err(ErrorCode::UNKNOWN_MEMBER_ID),
            Some(member) => {
                let found = self.members.get(member).ok_or(ErrorCode::UNKNOWN_MEMBER_ID)?;
                found.check_epoch_of_offsets(epoch)
            }
        }
    }
}

/// The partitions of each topic.
pub(crate) fn by_topic(partitions: &Partitions) -> BTreeMap<Uuid, Vec<i32>> {
    let mut topics: BTreeMap<Uuid, Vec<i32>> = BTreeMap::new();
    for (topic, partition) in partitions {
        topics.entry(*topic).or_default().push(*partition);
    }
    topics
}

/// Partitions as consumers tell each other of them, for what a member of the classic protocol gets. Topics that do not
/// exist any more are left out.
pub(crate) fn encode_assignment(topics: &Topics, partitions: &Partitions, version: i16) -> Bytes {
    let assigned = by_topic(partitions).into_iter().filter_map(|(topic, partitions)| {
        Some(TopicPartition {
            topic: topics.by_id(topic)?.name.clone(),
            partitions,
            ..Default::default()
        })
    });
    let assignment = ConsumerProtocolAssignment {
        assigned_partitions: assigned.collect(),
        ..Default::default()
    };
    let version = version.clamp(0, ConsumerProtocolAssignment::MAX_VERSION);
    assignment.to_bytes(version).unwrap_or_default()
}

/// The other way round; topics that do not exist are left out.
pub(crate) fn by_topic_id(cluster: &Cluster, partitions: &[TopicPartition]) -> Partitions {
    let known = partitions
        .iter()
        .filter_map(|t| Some((cluster.topics.id_of(&t.topic)?, &t.partitions)));
    known.flat_map(|(id, all)| all.iter().map(move |p| (id, *p))).collect()
}
