//! Changes of the assignment that the group requires, executed at once or by the application's callback.

use std::collections::{BTreeSet, VecDeque};
use std::fmt;
use std::sync::Arc;

use super::consumption::Consumption;
use super::fetch::Origin;
use super::group::{GroupAction, rows};
use super::rebalance_protocol::RebalanceProtocol;
use super::shared_state::SharedState;
use crate::cluster::Cluster;
use crate::context::Ctx;
use crate::error::{Error, ErrorCode};
use crate::event::{Event, Rebalance};
use crate::log::DebugContexts;
use crate::sys::Instant;
use crate::types::{PartitionOffset, TopicPartition};

/// A change of the assignment by the application.
#[derive(Debug)]
pub(super) enum Change {
    /// Replaces the assignment.
    Assign(Vec<PartitionOffset>),
    /// Empties the assignment.
    Unassign,
    /// Adds to the assignment.
    Add(Vec<PartitionOffset>),
    /// Removes from the assignment.
    Remove(Vec<TopicPartition>),
}

impl Change {
    fn is_incremental(&self) -> bool {
        matches!(self, Change::Add(_) | Change::Remove(_))
    }
}

/// Formats partitions for the log.
fn names<'a>(partitions: impl IntoIterator<Item = &'a TopicPartition>) -> String {
    let names: Vec<String> = partitions.into_iter().map(ToString::to_string).collect();
    format!("{} partition(s): {}", names.len(), names.join(", "))
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tps = |rows: &[PartitionOffset]| names(rows.iter().map(|row| &row.tp));
        match self {
            Change::Assign(rows) => write!(f, "assigning {}", tps(rows)),
            Change::Unassign => f.write_str("revoking the assignment"),
            Change::Add(rows) => write!(f, "adding {}", tps(rows)),
            Change::Remove(removed) => write!(f, "revoking {}", names(removed)),
        }
    }
}

/// A change of the assignment that the application is requested to execute. Requests are sent one after the other: the next
/// call of the application must not be mistaken for the response to a request that it has not received.
#[derive(Debug)]
struct RebalanceCallback {
    /// Revokes partitions, rather than assigns them.
    revokes: bool,
    partitions: Vec<TopicPartition>,
    /// Changes a part of the assignment, rather than the whole.
    incremental: bool,
}

/// An error for the application, of this topic or of the consumer as a whole.
pub(super) type ReportedError = (Option<TopicPartition>, Error);

/// The rebalances of a consumer.
#[derive(Debug)]
pub(super) struct Rebalancing {
    shared: Arc<SharedState>,
    /// The application executes changes, on [`Event::Rebalance`].
    by_application: bool,
    /// The partitions that the group has assigned.
    assigned: BTreeSet<TopicPartition>,
    /// The first one was sent to the application; the others follow in turn.
    callbacks: VecDeque<RebalanceCallback>,
    count: u64,
    last: Instant,
    reason: &'static str,
}

impl Rebalancing {
    pub(super) fn new(shared: Arc<SharedState>, by_application: bool) -> Self {
        Rebalancing {
            shared,
            by_application,
            assigned: BTreeSet::new(),
            callbacks: VecDeque::new(),
            count: 0,
            last: Instant::default(),
            reason: "",
        }
    }

    /// Returns true if the group has assigned the partition to this member.
    pub(super) fn is_assigned(&self, tp: &TopicPartition) -> bool {
        self.assigned.contains(tp)
    }

    /// Returns the state of a rebalance that waits for the application, by its public name.
    pub(super) fn public_state(&self) -> Option<&'static str> {
        let callback = self.callbacks.front()?;
        Some(match callback.revokes {
            true => "wait-unassign-call",
            false => "wait-assign-call",
        })
    }

    /// The number of rebalances.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// The time of the last rebalance.
    pub(super) fn last(&self) -> Instant {
        self.last
    }

    /// The reason of the last rebalance.
    pub(super) fn reason(&self) -> &'static str {
        self.reason
    }

    // ---------------------------------------------------------------- the application's calls

    /// Changes the assignment for the application, in answer to a rebalance or without one.
    ///
    /// # Errors
    /// `L_STATE` for a change as a whole in a cooperative group, and for a change in part in an eager group.
    pub(super) fn change(
        &mut self,
        ctx: &mut Ctx<'_>,
        cluster: &mut Cluster,
        parts: &mut Consumption,
        change: Change,
        closing: bool,
    ) -> Result<(), Error> {
        ctx.log.debug(DebugContexts::CONSUMER, "ASSIGN", || change.to_string());
        check_protocol(parts.group.rebalance_protocol(), &change, closing)?;
        let result = match change {
            // While closing, new partitions would only be revoked again.
            Change::Assign(_) if closing => {
                parts.unassign(ctx, cluster);
                Ok(())
            }
            Change::Add(_) if closing => Ok(()),
            Change::Remove(mut tps) if closing => {
                tps.retain(|tp| parts.is_consumed(tp));
                parts.incremental_unassign(ctx, cluster, &tps)
            }
            Change::Assign(rows) => parts.require_group().and_then(|()| parts.assign(ctx, cluster, &rows)),
            Change::Unassign => {
                parts.unassign(ctx, cluster);
                Ok(())
            }
            Change::Add(rows) => parts
                .require_group()
                .and_then(|()| parts.incremental_assign(ctx, cluster, &rows)),
            Change::Remove(tps) => parts.incremental_unassign(ctx, cluster, &tps),
        };
        self.after_change(ctx, parts);
        result
    }

    /// Confirms a revocation to the group, and sends the next callback, if the change has executed the current one.
    fn after_change(&mut self, ctx: &mut Ctx<'_>, parts: &mut Consumption) {
        let is_empty = || !parts.fetcher.positions().iter().any(|p| p.origin == Origin::Assigned);
        let Some(callback) = self.callbacks.front() else {
            if parts.group.rebalance_protocol() != RebalanceProtocol::Cooperative && is_empty() {
                parts.group.on_revoked(ctx);
            }
            return;
        };
        let answered = match (callback.revokes, callback.incremental) {
            // Any change answers an assignment, even if it assigns nothing.
            (false, _) => true,
            (true, false) => is_empty(),
            (true, true) => !callback.partitions.iter().any(|tp| parts.is_consumed(tp)),
        };
        if !answered {
            return;
        }
        let revoked = self.callbacks.pop_front().is_some_and(|callback| callback.revokes);
        if revoked && !self.callbacks.iter().any(|callback| callback.revokes) {
            parts.group.on_revoked(ctx);
        }
        self.push_rebalance_event();
    }

    // ---------------------------------------------------------------- the group's actions

    /// Executes an action of the group; returns the error to report.
    pub(super) fn execute(
        &mut self,
        ctx: &mut Ctx<'_>,
        cluster: &mut Cluster,
        parts: &mut Consumption,
        action: GroupAction,
    ) -> Option<ReportedError> {
        self.count_action(ctx.now, &action);
        match action {
            GroupAction::ReportError(error) => Some((None, error)),
            GroupAction::ReportTopicError(topic, error) => Some((Some(TopicPartition::new(topic, -1)), error)),
            GroupAction::MarkLost => {
                self.mark_assignment_lost(parts);
                None
            }
            GroupAction::Assign(partitions) => {
                self.assigned = partitions.iter().cloned().collect();
                self.apply(ctx, cluster, parts, partitions, (false, false))
            }
            GroupAction::IncrementalAssign(partitions) => {
                self.assigned.extend(partitions.iter().cloned());
                self.apply(ctx, cluster, parts, partitions, (false, true))
            }
            GroupAction::Revoke { lost } => {
                self.begin_revocation(parts, lost);
                let partitions = self.assigned.iter().cloned().collect();
                self.apply(ctx, cluster, parts, partitions, (true, false))
            }
            GroupAction::IncrementalRevoke { partitions, lost } => {
                self.begin_revocation(parts, lost);
                for tp in &partitions {
                    self.assigned.remove(tp);
                }
                self.apply(ctx, cluster, parts, partitions, (true, true))
            }
        }
    }

    fn count_action(&mut self, now: Instant, action: &GroupAction) {
        self.reason = match action {
            GroupAction::ReportError(_) | GroupAction::ReportTopicError(..) | GroupAction::MarkLost => return,
            GroupAction::Assign(_) => "the group has assigned its partitions",
            GroupAction::IncrementalAssign(partitions) if partitions.is_empty() => {
                "the group has assigned its partitions: none are new"
            }
            GroupAction::IncrementalAssign(_) => "the group assigns more partitions",
            GroupAction::Revoke { lost: true } | GroupAction::IncrementalRevoke { lost: true, .. } => {
                "the member was removed from the group, or left it because the application did not poll"
            }
            GroupAction::Revoke { lost: false } => "the group assigns its partitions again, or the member leaves it",
            GroupAction::IncrementalRevoke { lost: false, .. } => {
                "the group assigns partitions to other members, or the member leaves it"
            }
        };
        self.count += 1;
        self.last = now;
    }

    fn begin_revocation(&mut self, parts: &mut Consumption, lost: bool) {
        self.shared.set_assignment_lost(false);
        if lost {
            self.mark_assignment_lost(parts);
        }
    }

    /// Ends commits of the assigned partitions: other members may own them, whose commits must not be overwritten.
    fn mark_assignment_lost(&self, parts: &mut Consumption) {
        self.shared.set_assignment_lost(true);
        let positions = parts.fetcher.positions().iter();
        let assigned = positions.filter(|p| p.origin == Origin::Assigned);
        parts.group.untrack(assigned.map(|p| p.state.id()));
    }

    /// Executes a change, or requests it from the application; returns the error to report.
    fn apply(
        &mut self,
        ctx: &mut Ctx<'_>,
        cluster: &mut Cluster,
        parts: &mut Consumption,
        partitions: Vec<TopicPartition>,
        (revokes, incremental): (bool, bool),
    ) -> Option<ReportedError> {
        if !revokes {
            self.shared.set_assignment_lost(false);
        }
        ctx.log
            .debug(DebugContexts::CONSUMER.with(DebugContexts::CGRP), "REBALANCE", || {
                let verb = if revokes { "revokes" } else { "assigns" };
                let all = if incremental { "" } else { "all of " };
                let by = if self.by_application {
                    ", by the application's callback"
                } else {
                    ""
                };
                format!("the group {verb} {all}{}{by}", names(&partitions))
            });
        if self.by_application {
            self.callbacks.push_back(RebalanceCallback {
                revokes,
                partitions,
                incremental,
            });
            if self.callbacks.len() == 1 {
                self.push_rebalance_event();
            }
            return None;
        }
        let result = match (revokes, incremental) {
            (false, false) => parts.assign(ctx, cluster, &rows(&partitions)),
            (false, true) => {
                // Partitions that the application consumes already continue unchanged.
                let rows = rows(partitions.iter().filter(|tp| !parts.is_consumed(tp)));
                parts.incremental_assign(ctx, cluster, &rows)
            }
            (true, false) => {
                parts.unassign(ctx, cluster);
                parts.group.on_revoked(ctx);
                Ok(())
            }
            (true, true) => {
                let positions = parts.fetcher.positions();
                let ids = partitions
                    .iter()
                    .filter_map(|tp| positions.find(&tp.topic, tp.partition));
                let ids: Vec<u32> = ids.collect();
                parts.stop_partitions(ctx, cluster, &ids);
                parts.group.on_revoked(ctx);
                Ok(())
            }
        };
        result.err().map(|error| (None, error))
    }

    /// Requests the first change from the application.
    fn push_rebalance_event(&self) {
        let Some(callback) = self.callbacks.front() else {
            return;
        };
        let code = match callback.revokes {
            true => ErrorCode::L_REVOKE_PARTITIONS,
            false => ErrorCode::L_ASSIGN_PARTITIONS,
        };
        self.shared.consumer_queue().push(Event::Rebalance(Rebalance {
            code,
            partitions: rows(&callback.partitions),
        }));
    }
}

/// Checks that a change suits the group's protocol. An application that mixes both kinds loses track of its assignment.
fn check_protocol(protocol: RebalanceProtocol, change: &Change, closing: bool) -> Result<(), Error> {
    let text = match (protocol, change.is_incremental()) {
        (RebalanceProtocol::Cooperative, false) if !closing => {
            "the group rebalances cooperatively: partitions are added and removed by incremental assign and \
             unassign only"
        }
        (RebalanceProtocol::Eager, true) => {
            "the group rebalances eagerly: the assignment is replaced as a whole, never in part"
        }
        _ => return Ok(()),
    };
    Err(Error::new(ErrorCode::L_STATE, text))
}

#[cfg(test)]
mod tests;
