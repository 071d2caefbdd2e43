//! Carrying out what the group orders: by asking the application, when it wants to do it itself, or at once.

use std::fmt;

use super::facade::Consumer;
use super::group::{GroupAction, RebalanceProtocol, rows};
use super::positions::Origin;
use crate::cluster::Cluster;
use crate::context::Ctx;
use crate::error::{Error, ErrorCode};
use crate::event::{Event, Rebalance};
use crate::log::DebugContexts;
use crate::types::{PartitionOffset, TopicPartition};

/// A change of the assignment by the application.
#[derive(Debug)]
pub(super) enum Change {
    /// These and no others.
    Assign(Vec<PartitionOffset>),
    /// None.
    Unassign,
    /// These as well.
    Add(Vec<PartitionOffset>),
    /// All but these.
    Remove(Vec<TopicPartition>),
}

impl Change {
    fn is_incremental(&self) -> bool {
        matches!(self, Change::Add(_) | Change::Remove(_))
    }
}

/// Partitions, for the log.
fn names<'a>(partitions: impl IntoIterator<Item = &'a TopicPartition>) -> String {
    let names: Vec<String> = partitions.into_iter().map(ToString::to_string).collect();
    format!("{} partition(s): {}", names.len(), names.join(", "))
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tps = |rows: &[PartitionOffset]| names(rows.iter().map(|row| &row.tp));
        match self {
            Change::Assign(rows) => write!(f, "assigning {}", tps(rows)),
            Change::Unassign => f.write_str("giving up the assignment"),
            Change::Add(rows) => write!(f, "adding {}", tps(rows)),
            Change::Remove(assigned) => write!(f, "giving up {}", names(assigned)),
        }
    }
}

/// What the application is asked to do with its assignment. It is asked one thing after the other: what it does next
/// must not be taken for the answer to what it has not heard of yet.
#[derive(Debug)]
pub(super) struct RebalanceCallback {
    /// Give up, or take up.
    pub(super) revokes: bool,
    partitions: Vec<TopicPartition>,
    /// Besides what it has, rather than in place of that.
    incremental: bool,
}

impl Consumer {
    /// Changes the assignment as the application asks, perhaps because the group wanted it to.
    ///
    /// # Errors
    /// `L_STATE` for a change as a whole in a cooperative group, and for one in part in an eager group.
    pub(super) fn change(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster, change: Change) -> Result<(), Error> {
        ctx.log.debug(DebugContexts::CONSUMER, "ASSIGN", || change.to_string());
        self.check_protocol(&change)?;
        let result = match change {
            // What begins now would only be given up again.
            Change::Assign(_) if self.is_closing() => {
                self.unassign(ctx, cluster);
                Ok(())
            }
            Change::Add(_) if self.is_closing() => Ok(()),
            Change::Remove(mut tps) if self.is_closing() => {
                tps.retain(|tp| self.fetcher.positions.find(&tp.topic, tp.partition).is_some());
                self.incremental_unassign(ctx, cluster, &tps)
            }
            Change::Assign(rows) => self.require_group().and_then(|()| self.assign(ctx, cluster, &rows)),
            Change::Unassign => {
                self.unassign(ctx, cluster);
                Ok(())
            }
            Change::Add(rows) => self
                .require_group()
                .and_then(|()| self.incremental_assign(ctx, cluster, &rows)),
            Change::Remove(tps) => self.incremental_unassign(ctx, cluster, &tps),
        };
        self.after_change(ctx);
        result
    }

    /// Whoever mixes the two manners loses track of what it owns.
    fn check_protocol(&self, change: &Change) -> Result<(), Error> {
        let text = match (self.group.rebalance_protocol(), change.is_incremental()) {
            (RebalanceProtocol::Cooperative, false) if !self.is_closing() => {
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

    fn after_change(&mut self, ctx: &mut Ctx<'_>) {
        let positions = &self.fetcher.positions;
        let is_empty = || !positions.iter().any(|p| p.origin == Origin::Assigned);
        let Some(callback) = self.callbacks.front() else {
            if self.group.rebalance_protocol() != RebalanceProtocol::Cooperative && is_empty() {
                self.group.on_revoked(ctx);
            }
            return;
        };
        let holds = |tp: &TopicPartition| positions.find(&tp.topic, tp.partition).is_some();
        let answered = match (callback.revokes, callback.incremental) {
            // Whatever it does answers what the group gave, be it nothing.
            (false, _) => true,
            (true, false) => is_empty(),
            (true, true) => !callback.partitions.iter().any(holds),
        };
        if !answered {
            return;
        }
        let revoked = self.callbacks.pop_front().is_some_and(|callback| callback.revokes);
        if revoked && !self.callbacks.iter().any(|callback| callback.revokes) {
            self.group.on_revoked(ctx);
        }
        self.push_rebalance_event();
    }

    // ---------------------------------------------------------------- the group's orders

    pub(super) fn execute(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster, action: GroupAction) {
        self.rebalances.on_action(ctx.now, &action);
        match action {
            GroupAction::ReportError(error) => self.report_error(error),
            GroupAction::ReportTopicError(topic, error) => {
                self.report_error_of(Some(TopicPartition::new(topic, -1)), error)
            }
            GroupAction::MarkLost => self.mark_assignment_lost(),
            GroupAction::Assign(partitions) => {
                self.assigned = partitions.iter().cloned().collect();
                self.apply_rebalance(ctx, cluster, partitions, (false, false));
            }
            GroupAction::IncrementalAssign(partitions) => {
                self.assigned.extend(partitions.iter().cloned());
                self.apply_rebalance(ctx, cluster, partitions, (false, true));
            }
            GroupAction::Revoke { lost } => {
                self.shared.set_assignment_lost(false);
                if lost {
                    self.mark_assignment_lost();
                }
                let partitions = self.assigned.iter().cloned().collect();
                self.apply_rebalance(ctx, cluster, partitions, (true, false));
            }
            GroupAction::IncrementalRevoke { partitions, lost } => {
                self.shared.set_assignment_lost(false);
                if lost {
                    self.mark_assignment_lost();
                }
                for tp in &partitions {
                    self.assigned.remove(tp);
                }
                self.apply_rebalance(ctx, cluster, partitions, (true, true));
            }
        }
    }

    fn apply_rebalance(
        &mut self,
        ctx: &mut Ctx<'_>,
        cluster: &mut Cluster,
        partitions: Vec<TopicPartition>,
        (revokes, incremental): (bool, bool),
    ) {
        if !revokes {
            self.shared.set_assignment_lost(false);
        }
        ctx.log
            .debug(DebugContexts::CONSUMER.with(DebugContexts::CGRP), "REBALANCE", || {
                let what = if revokes { "revokes" } else { "assigns" };
                let all = if incremental { "" } else { "all of " };
                let who = if self.setup.rebalance_event {
                    ", the application is asked"
                } else {
                    ""
                };
                format!("the group {what} {all}{}{who}", names(&partitions))
            });
        if self.setup.rebalance_event {
            self.callbacks.push_back(RebalanceCallback {
                revokes,
                partitions,
                incremental,
            });
            if self.callbacks.len() == 1 {
                self.push_rebalance_event();
            }
            return;
        }
        let result = match (revokes, incremental) {
            (false, false) => self.assign(ctx, cluster, &rows(&partitions)),
            (false, true) => {
                // What the application has begun to consume on its own goes on as it is.
                let positions = &self.fetcher.positions;
                let is_new = |tp: &&TopicPartition| positions.find(&tp.topic, tp.partition).is_none();
                let rows = rows(partitions.iter().filter(is_new));
                self.incremental_assign(ctx, cluster, &rows)
            }
            (true, false) => {
                self.unassign(ctx, cluster);
                self.group.on_revoked(ctx);
                Ok(())
            }
            (true, true) => {
                let positions = &self.fetcher.positions;
                let ids = partitions
                    .iter()
                    .filter_map(|tp| positions.find(&tp.topic, tp.partition));
                let ids: Vec<u32> = ids.collect();
                self.stop_partitions(ctx, cluster, &ids);
                self.group.on_revoked(ctx);
                Ok(())
            }
        };
        if let Err(error) = result {
            self.report_error(error);
        }
    }

    /// Others may own the partitions: their offsets must not be overwritten.
    fn mark_assignment_lost(&mut self) {
        self.shared.set_assignment_lost(true);
        self.group.forget_stored_of(self.fetcher.positions.iter());
    }

    /// Asks for what is first in turn.
    fn push_rebalance_event(&self) {
        let Some(callback) = self.callbacks.front() else { return };
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
