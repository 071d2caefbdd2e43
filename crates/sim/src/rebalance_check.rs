//! What members of the classic protocol claim when they join, and what changes hands when one leaves.

use std::collections::{BTreeMap, BTreeSet};

use ottla_protocol::api::join_group::JoinGroupRequest;
use ottla_protocol::consumer_protocol::ConsumerProtocolSubscription;

use crate::check::Tp;
use crate::trace::trace;
use crate::workload::GroupProtocol;
use crate::world::World;

/// Members of a group that minds what they have, before another one leaves in peace.
#[derive(Debug)]
pub(crate) struct RemainingMembers {
    group: String,
    /// By client: its member id and its partitions.
    assignments: BTreeMap<usize, (String, BTreeSet<Tp>)>,
    /// The numbers of the topics' partitions.
    counts: Vec<Option<usize>>,
}

impl World {
    /// A client of the classic protocol is about to join.
    pub(crate) fn on_joining(&mut self, client: usize, join: &JoinGroupRequest) {
        let Some(workload) = self.member_workload(client) else {
            return;
        };
        let (plan, owner) = (workload.plan().clone(), workload.owner(&join.member_id));
        let has_lost = self
            .shared(client)
            .consumer
            .as_ref()
            .is_some_and(|r| r.is_assignment_lost());
        let stays = |s: &mut RemainingMembers| s.assignments.contains_key(&client);
        if has_lost && self.group_members.remaining.take_if(stays).is_some() {
            trace!(self.trace, "c{client} has lost what it had: others may have it");
        }
        let subscription = join.protocols.first();
        let subscription = subscription.and_then(|p| ConsumerProtocolSubscription::from_bytes(p.metadata.clone()).ok());
        let Some(subscription) = subscription.filter(|_| plan.is_cooperative) else {
            return;
        };
        let keeps_books = plan.by_event && plan.group_protocol == GroupProtocol::Classic;
        let owned = subscription.owned_partitions.iter();
        let owned = owned.flat_map(|t| t.partitions.iter().map(|p| (t.topic.clone(), *p)));
        let owned: Vec<Tp> = owned.collect();
        if !owned.is_empty() {
            self.coverage.count("members that join with partitions", 1);
        }
        self.on_reported_owned(client, &owned);
        if keeps_books {
            let reader = u32::try_from(client).unwrap_or(u32::MAX);
            let claims = (owned.as_slice(), subscription.generation_id);
            let result = self.check.groups.on_joining(reader, &owner, claims);
            self.check.expect(result);
        }
    }

    /// Passes the joins that coordinators have accepted to the checker.
    pub(crate) fn check_joins(&mut self) {
        for join in self.cluster.take_joins() {
            let conn = self.net.conns.get(&join.connection.0);
            let abandoned = conn.is_none_or(|c| !c.client_open);
            self.coverage.count("joins that came late", u64::from(abandoned));
            self.check.groups.on_join(&join.group, &join.member, abandoned);
        }
    }

    /// Those of a group's members who keep all that they have when one of them leaves: where all want the same, each
    /// assignment may only grow, and nothing but what the leaver had has to move. Replicas nearby are another reason to move.
    pub(crate) fn remaining(&self, group: &str, live: &[usize], leaver: usize) -> Option<RemainingMembers> {
        let mut workloads = live.iter().filter_map(|c| self.member_workload(*c));
        let first = &workloads.next()?.subscription;
        let alike = workloads.all(|workload| workload.subscription == *first) && self.plan.cluster.racks.is_empty();
        if !alike || !self.is_sticky(group) || !self.subscriptions_match(group, first) {
            return None;
        }
        let stay = live.iter().filter(|c| **c != leaver);
        Some(RemainingMembers {
            group: group.to_owned(),
            assignments: stay.map(|c| (*c, self.assignment_of(*c))).collect(),
            counts: self.topic_sizes(),
        })
    }

    /// Somebody has left, and the others have taken over.
    pub(crate) fn check_moves(&mut self) {
        let Some(before) = self.group_members.remaining.take() else {
            return;
        };
        if before.counts != self.topic_sizes() || !self.is_sticky(&before.group) {
            return;
        }
        let now = before.assignments.keys().map(|c| (*c, self.assignment_of(*c)));
        let now: BTreeMap<usize, (String, BTreeSet<Tp>)> = now.collect();
        if before
            .assignments
            .iter()
            .any(|(c, (member, _))| now.get(c).is_none_or(|(id, _)| id != member))
        {
            return;
        }
        self.coverage.count("takeovers in which others keep what they have", 1);
        for (client, (_, assignment)) in &before.assignments {
            let has = now.get(client).map(|(_, has)| has.clone()).unwrap_or_default();
            if let Some(tp) = assignment.difference(&has).next() {
                return self.check.violate(format!(
                    "client {client} had {tp:?} and has not, though only another member of {} left: {has:?}",
                    before.group
                ));
            }
        }
    }

    /// Whether the coordinator has it from every member that it wants these topics. Who wants them by a pattern may not have
    /// heard of some yet, and takes its assignment of them when it does.
    fn subscriptions_match(&self, group: &str, topics: &BTreeSet<String>) -> bool {
        let members = self.cluster.group_view(group).into_iter().flat_map(|v| v.members);
        let mut reported = members.map(|m| ConsumerProtocolSubscription::from_bytes(m.metadata));
        reported.all(|reported| {
            reported.is_ok_and(|reported| reported.topics.into_iter().collect::<BTreeSet<_>>() == *topics)
        })
    }

    fn assignment_of(&self, client: usize) -> (String, BTreeSet<Tp>) {
        let shared = self.shared(client);
        let member = shared.consumer.as_ref().map(|r| r.group().member_id);
        let reader = u32::try_from(client).unwrap_or(u32::MAX);
        (member.unwrap_or_default(), self.check.groups.owned(reader))
    }

    fn topic_sizes(&self) -> Vec<Option<usize>> {
        let names = self.plan.topics.iter();
        names.map(|t| self.cluster.partition_count(&t.name)).collect()
    }

    fn is_sticky(&self, group: &str) -> bool {
        let view = self.cluster.group_view(group);
        view.is_some_and(|v| !v.is_consumer && matches!(v.assignor.as_str(), "sticky" | "cooperative-sticky"))
    }
}
