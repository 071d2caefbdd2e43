//! The leader of a classic group: computes the assignment, and detects changes of topics that invalidate it. The leader
//! then joins again; the coordinator would not start a rebalance if another member joined again instead.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::assignor::{self, Assignment, Member, Shape, Strategy};
use crate::cluster::{Cluster, TopicMeta};
use crate::config::ClientConfig;
use crate::types::NodeId;

/// The state of a leader; empty for other members.
#[derive(Debug, Default)]
pub(super) struct LeaderAssignment {
    members: Vec<Member>,
    /// The topics of the last assignment.
    topics: BTreeMap<String, Shape>,
    /// The own assignment of a leader that returned to an assignment of an earlier leader (KIP-814), until it is known
    /// whether the topics have changed since.
    inherited: Option<Assignment>,
}

impl LeaderAssignment {
    pub(super) fn clear(&mut self) {
        *self = LeaderAssignment::default();
    }

    /// Begins to lead. `inherits`: the coordinator has an assignment, which remains in effect.
    pub(super) fn begin(&mut self, members: Vec<Member>, inherits: bool) {
        self.members = members;
        self.inherited = inherits.then(Assignment::new);
    }

    /// Returns true if this member leads.
    pub(super) fn leads(&self) -> bool {
        !self.members.is_empty()
    }

    pub(super) fn is_inherited(&self) -> bool {
        self.inherited.is_some()
    }

    pub(super) fn member_count(&self) -> usize {
        self.members.len()
    }

    /// The topics of all members.
    pub(super) fn member_topics(&self) -> impl Iterator<Item = &String> {
        self.members.iter().flat_map(|m| &m.topics)
    }

    /// Takes the topics to assign from metadata; returns the numbers of topics and of partitions.
    pub(super) fn set_topics(&mut self, cluster: &Cluster, watched: &BTreeSet<Arc<str>>) -> (usize, i32) {
        self.topics = self.shapes(cluster, watched);
        (self.topics.len(), self.topics.values().map(|shape| shape.count).sum())
    }

    /// Computes the assignments of all members, by member id; empty if this member does not assign.
    pub(super) fn assignments(&self, strategy: Strategy) -> BTreeMap<String, Assignment> {
        match self.members.is_empty() || self.inherited.is_some() {
            true => BTreeMap::new(),
            false => assignor::divide(strategy, &self.members, &self.topics),
        }
    }

    /// Stores the own part of an inherited assignment.
    pub(super) fn on_assigned(&mut self, assignment: &Assignment) {
        if self.inherited.is_some() {
            self.inherited = Some(assignment.clone());
        }
    }

    /// Returns true if the inherited assignment is not the one that this leader would compute for itself: topics may have
    /// grown while the group had no leader. Differences in other members' parts remain unnoticed until the next change.
    pub(super) fn is_inherited_outdated(
        &mut self,
        cluster: &Cluster,
        watched: &BTreeSet<Arc<str>>,
        strategy: Option<Strategy>,
        member_id: &str,
    ) -> bool {
        let usable = |t: &Arc<str>| cluster.topic(t).is_some_and(|m| m.is_usable());
        if !watched.iter().all(usable) {
            return false;
        }
        let Some(assignment) = self.inherited.take() else {
            return false;
        };
        self.topics = self.shapes(cluster, watched);
        let Some(strategy) = strategy else { return false };
        let computed = assignor::divide(strategy, &self.members, &self.topics);
        computed.get(member_id) != Some(&assignment)
    }

    /// Returns a topic that has changed since the leader computed the assignment: metadata that arrived before SyncGroup was
    /// answered is not reported again.
    pub(super) fn changed_topic(
        &self,
        conf: &ClientConfig,
        cluster: &Cluster,
        watched: &BTreeSet<Arc<str>>,
    ) -> Option<String> {
        if self.members.is_empty() || self.inherited.is_some() {
            return None;
        }
        let mut now = self.shapes(cluster, watched).into_iter();
        now.find(|(topic, shape)| self.differs(conf, topic, shape))
            .map(|(topic, _)| topic)
    }

    /// Returns true if this member leads and the topic has changed since the assignment.
    pub(super) fn has_changed(&self, conf: &ClientConfig, cluster: &Cluster, topic: &str, meta: &TopicMeta) -> bool {
        self.leads() && meta.is_usable() && self.differs(conf, topic, &self.shape(cluster, topic, meta))
    }

    /// Compares a topic with the last assignment. Racks only matter to a leader with a rack (KIP-881).
    fn differs(&self, conf: &ClientConfig, topic: &str, now: &Shape) -> bool {
        let Some(before) = self.topics.get(topic) else {
            return true;
        };
        before.count != now.count || !conf.client_rack.is_empty() && before.racks != now.racks
    }

    /// Returns the watched topics that exist according to metadata.
    fn shapes(&self, cluster: &Cluster, watched: &BTreeSet<Arc<str>>) -> BTreeMap<String, Shape> {
        let shapes = watched.iter().filter_map(|t| {
            let meta = cluster.topic(t).filter(|m| m.is_usable())?;
            Some((t.to_string(), self.shape(cluster, t, meta)))
        });
        shapes.collect()
    }

    fn shape(&self, cluster: &Cluster, topic: &str, meta: &TopicMeta) -> Shape {
        let count = meta.partition_count();
        let mut racks = Vec::new();
        if self.members.iter().any(|m| m.rack.is_some()) {
            let known = self.topics.get(topic);
            for partition in 0..count {
                let replicas = meta.partition(partition).map_or(&[][..], |p| &p.replicas);
                let nodes: Option<Vec<_>> = replicas.iter().map(|id| cluster.node(NodeId(*id))).collect();
                let at = usize::try_from(partition).unwrap_or(usize::MAX);
                let before = known.and_then(|shape| shape.racks.get(at));
                racks.push(match (nodes, before) {
                    // Metadata omits brokers that are down; they have not moved.
                    (None, Some(before)) => before.clone(),
                    (nodes, _) => nodes.into_iter().flatten().filter_map(|n| n.rack.clone()).collect(),
                });
            }
        }
        Shape { count, racks }
    }
}
