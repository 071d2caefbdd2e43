//! The consumed partitions across parts: the assignment, the simple API, and operations on single partitions.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::fetch::{Fetcher, Origin};
use super::group::Group;
use super::offsets::{FoundOffset, ListOffsets, OffsetFiles, is_kept_in_file};
use super::queues::drop_stale;
use super::shared_state::SharedState;
use crate::cluster::Cluster;
use crate::config::ClientConfig;
use crate::config::units::millis;
use crate::context::Ctx;
use crate::error::{Error, ErrorCode};
use crate::event::{PartitionState, Queue};
use crate::interceptor::Interceptor;
use crate::log::DebugContexts;
use crate::sys::Instant;
use crate::types::{PartitionOffset, Topic, TopicPartition, TopicSource, offset};

/// The automatic commits of a consumer.
#[derive(Debug)]
struct AutoCommit {
    /// The interval in milliseconds for assigned partitions; `None` without `enable.auto.commit`.
    interval_ms: Option<u64>,
    /// False if partitions of the simple API are not committed (`offset.store.method=none`).
    of_simple_api: bool,
}

/// The parts that work on consumed partitions, and the operations that involve several parts.
pub(super) struct Consumption {
    shared: Arc<SharedState>,
    topics: TopicSource,
    auto_commit: AutoCommit,
    pub(super) fetcher: Fetcher,
    pub(super) offsets: ListOffsets,
    pub(super) files: OffsetFiles,
    pub(super) group: Group,
}

impl std::fmt::Debug for Consumption {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Consumption")
            .field("auto_commit", &self.auto_commit)
            .field("fetcher", &self.fetcher)
            .field("offsets", &self.offsets)
            .field("files", &self.files)
            .field("group", &self.group)
            .finish_non_exhaustive()
    }
}

impl Consumption {
    /// Without partitions. `events` is the queue for results of commits without a waiting call.
    pub(super) fn new(
        shared: Arc<SharedState>,
        conf: &ClientConfig,
        topics: TopicSource,
        events: Option<Arc<Queue>>,
        interceptor: Option<Arc<dyn Interceptor>>,
    ) -> Self {
        Consumption {
            fetcher: Fetcher::new(conf, shared.budget().clone()),
            offsets: ListOffsets::new(conf),
            files: OffsetFiles::new(&conf.group_id),
            group: Group::new(conf, shared.clone(), events, interceptor),
            auto_commit: AutoCommit {
                interval_ms: conf.enable_auto_commit.then(|| millis(conf.auto_commit_interval_ms)),
                of_simple_api: conf.offset_store_method != "none",
            },
            shared,
            topics,
        }
    }

    /// Returns a topic by its name, and creates it if it is unknown.
    pub(super) fn topic(&self, name: &str) -> Result<Arc<Topic>, Error> {
        (self.topics)(name)
    }

    /// Returns an error if `group.id` is not set.
    ///
    /// # Errors
    /// `L_UNKNOWN_GROUP`.
    pub(super) fn require_group(&self) -> Result<(), Error> {
        match self.group.is_configured() {
            true => Ok(()),
            false => Err(Error::new(ErrorCode::L_UNKNOWN_GROUP, "group.id is not set")),
        }
    }

    /// Starts the automatic commits of a partition.
    fn track_commits(&mut self, now: Instant, state: &Arc<PartitionState>, origin: Origin) {
        let topic = state.topic().conf();
        let interval = match origin {
            Origin::Assigned => self.auto_commit.interval_ms,
            Origin::Started => (topic.auto_commit_enable && self.auto_commit.of_simple_api)
                .then(|| millis(topic.auto_commit_interval_ms)),
        };
        self.group.track(now, state, interval.filter(|ms| *ms > 0));
    }

    // ---------------------------------------------------------------- offset look-ups

    /// Starts the fetcher's look-ups of offsets at the parts that serve them.
    pub(super) fn route_lookups(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster) {
        for lookup in self.fetcher.take_lookups() {
            let (id, tp) = (lookup.state.id(), lookup.state.tp());
            let lookup_id = lookup.lookup_id;
            if lookup.offset != offset::STORED {
                self.offsets.look_up(ctx, cluster, (id, lookup_id), tp, lookup.offset);
            } else if self.files.keeps(id) {
                self.files.read(id, lookup_id);
            } else if self.group.is_configured() {
                self.group.look_up_committed(ctx.now, (id, lookup_id), tp);
            } else {
                let error = Error::new(ErrorCode::L_UNKNOWN_GROUP, "there is no stored offset without group.id");
                let result = Err(error);
                self.fetcher
                    .on_resolved(ctx, cluster, FoundOffset { id, lookup_id, result });
            }
        }
    }

    /// Passes the results of look-ups to the fetcher; returns false if there were none.
    pub(super) fn route_resolved(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster) -> bool {
        let mut found = self.offsets.take_found();
        found.extend(self.group.take_found());
        found.extend(self.files.take_found());
        let any = !found.is_empty();
        for found in found {
            self.fetcher.on_resolved(ctx, cluster, found);
        }
        any
    }

    // ---------------------------------------------------------------- the assignment

    /// Replaces the assignment.
    pub(super) fn assign(
        &mut self,
        ctx: &mut Ctx<'_>,
        cluster: &mut Cluster,
        rows: &[PartitionOffset],
    ) -> Result<(), Error> {
        let states = self.states_of(rows)?;
        self.unassign(ctx, cluster);
        self.start_partitions(ctx, cluster, &states);
        Ok(())
    }

    /// Adds to the assignment.
    pub(super) fn incremental_assign(
        &mut self,
        ctx: &mut Ctx<'_>,
        cluster: &mut Cluster,
        rows: &[PartitionOffset],
    ) -> Result<(), Error> {
        let states = self.states_of(rows)?;
        if let Some((state, ..)) = states
            .iter()
            .find(|(s, ..)| self.fetcher.positions().get(s.id()).is_some())
        {
            let text = format!("{} is part of the assignment already", state.tp());
            return Err(Error::new(ErrorCode::L_CONFLICT, text));
        }
        self.start_partitions(ctx, cluster, &states);
        Ok(())
    }

    /// Removes from the assignment.
    pub(super) fn incremental_unassign(
        &mut self,
        ctx: &mut Ctx<'_>,
        cluster: &mut Cluster,
        tps: &[TopicPartition],
    ) -> Result<(), Error> {
        let mut ids = Vec::with_capacity(tps.len());
        for tp in tps {
            match self.fetcher.positions().find(&tp.topic, tp.partition) {
                Some(id) => ids.push(id),
                None => {
                    let text = format!("{tp} is not part of the assignment");
                    return Err(Error::new(ErrorCode::L_INVALID_ARG, text));
                }
            }
        }
        self.stop_partitions(ctx, cluster, &ids);
        Ok(())
    }

    /// Empties the assignment, after an automatic commit of stored offsets.
    pub(super) fn unassign(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster) {
        let assigned = self.fetcher.positions().iter().filter(|p| p.origin == Origin::Assigned);
        let ids: Vec<u32> = assigned.map(|p| p.state.id()).collect();
        self.stop_partitions(ctx, cluster, &ids);
    }

    /// Returns the assignment with the offsets as they were assigned.
    pub(super) fn assignment(&self) -> Vec<PartitionOffset> {
        let assigned = self.fetcher.positions().iter().filter(|p| p.origin == Origin::Assigned);
        let mut rows: Vec<_> = assigned
            .map(|p| PartitionOffset::new(p.state.tp(), p.assigned_offset))
            .collect();
        rows.sort_by(|a, b| a.tp.cmp(&b.tp));
        rows
    }

    fn states_of(&self, rows: &[PartitionOffset]) -> Result<Vec<(Arc<PartitionState>, i64, i32)>, Error> {
        let mut seen = BTreeSet::new();
        let mut states = Vec::with_capacity(rows.len());
        for row in rows {
            if row.tp.partition < 0 {
                let text = format!("{}: not a partition", row.tp);
                return Err(Error::new(ErrorCode::L_INVALID_ARG, text));
            }
            let topic = (self.topics)(&row.tp.topic)?;
            let state = self.shared.partition(&topic, row.tp.partition);
            if !seen.insert(state.id()) {
                let text = format!("{} is assigned twice", row.tp);
                return Err(Error::new(ErrorCode::L_INVALID_ARG, text));
            }
            states.push((state, check_offset(row.offset)?, row.leader_epoch));
        }
        Ok(states)
    }

    fn start_partitions(
        &mut self,
        ctx: &mut Ctx<'_>,
        cluster: &mut Cluster,
        states: &[(Arc<PartitionState>, i64, i32)],
    ) {
        for (state, start, epoch) in states {
            // A partition of the simple API becomes one of the assignment.
            if self.fetcher.positions().get(state.id()).is_some() {
                self.forget(cluster, state.id());
            }
            state
                .queue()
                .forward_by_default(Some(self.shared.consumer_queue().clone()));
            // Without an offset the group's committed one applies.
            let start = if *start == offset::INVALID {
                offset::STORED
            } else {
                *start
            };
            self.fetcher.add(ctx, cluster, state, Origin::Assigned, (start, *epoch));
            self.track_commits(ctx.now, state, Origin::Assigned);
        }
    }

    /// Returns true if the partition is consumed, by an assignment or by the simple API.
    pub(super) fn is_consumed(&self, tp: &TopicPartition) -> bool {
        self.fetcher.positions().find(&tp.topic, tp.partition).is_some()
    }

    /// Ends the consumption of partitions, after an automatic commit of their stored offsets.
    pub(super) fn stop_partitions(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster, ids: &[u32]) {
        let states: Vec<_> = ids
            .iter()
            .filter_map(|id| self.fetcher.positions().get(*id).map(|p| p.state.clone()))
            .collect();
        // Delivery ends first: the next owner would read records again that are delivered after the commit.
        for state in &states {
            state.advance_fetch_generation();
        }
        drop_stale(&states);
        let consumed = self.fetcher.positions().iter().map(|p| p.state.id());
        self.group
            .commit_before_revocation(ctx, consumed.filter(|id| ids.contains(id)));
        for id in ids {
            self.forget(cluster, *id);
        }
    }

    fn forget(&mut self, cluster: &mut Cluster, id: u32) -> Option<Arc<PartitionState>> {
        self.offsets.cancel(cluster, id);
        self.files.remove(id);
        let position = self.fetcher.remove(cluster, id)?;
        self.group.forget_partition(&position.state);
        Some(position.state)
    }

    // ---------------------------------------------------------------- the simple API

    /// Consumes one partition apart from the assignment (the simple API).
    pub(super) fn start(
        &mut self,
        ctx: &mut Ctx<'_>,
        cluster: &mut Cluster,
        (topic, partition): (&Arc<Topic>, i32),
        at: i64,
        queue: Option<Arc<Queue>>,
    ) -> Result<(), Error> {
        if partition < 0 {
            let text = format!("{} [{partition}]: not a partition", topic.name());
            return Err(Error::new(ErrorCode::L_UNKNOWN_PARTITION, text));
        }
        let at = check_offset(at)?;
        let state = self.shared.partition(topic, partition);
        let in_file = is_kept_in_file(&state);
        if at == offset::STORED && !in_file && !self.group.is_configured() {
            let text = "the stored offset can only be read with group.id set";
            return Err(Error::new(ErrorCode::L_INVALID_ARG, text));
        }
        if self.fetcher.positions().get(state.id()).is_some() {
            self.forget(cluster, state.id());
            drop_stale(std::slice::from_ref(&state));
        }
        state.queue().forward_to(queue);
        self.fetcher.add(ctx, cluster, &state, Origin::Started, (at, -1));
        match in_file {
            true => self.files.add(ctx.now, &state),
            false => self.track_commits(ctx.now, &state, Origin::Started),
        }
        Ok(())
    }

    /// Ends [`start`](Self::start). Returns the partition's id.
    pub(super) fn stop(
        &mut self,
        ctx: &mut Ctx<'_>,
        cluster: &mut Cluster,
        topic: &Arc<Topic>,
        partition: i32,
    ) -> Result<u32, Error> {
        let Some(id) = self.fetcher.positions().find(topic.name(), partition) else {
            let text = format!("{} [{partition}] is not being consumed", topic.name());
            return Err(Error::new(ErrorCode::L_UNKNOWN_PARTITION, text));
        };
        self.stop_partitions(ctx, cluster, &[id]);
        Ok(id)
    }

    // ---------------------------------------------------------------- single partitions

    pub(super) fn seek(
        &mut self,
        ctx: &mut Ctx<'_>,
        cluster: &mut Cluster,
        mut rows: Vec<PartitionOffset>,
    ) -> Vec<PartitionOffset> {
        let mut states = Vec::new();
        for row in &mut rows {
            let Some(id) = self.fetcher.positions().find(&row.tp.topic, row.tp.partition) else {
                let topic = cluster.topic(&row.tp.topic).filter(|t| t.is_usable());
                row.error = match row.tp.partition {
                    ..0 => ErrorCode::L_INVALID_ARG,
                    p if topic.is_some_and(|t| p >= t.partition_count()) => ErrorCode::L_UNKNOWN_PARTITION,
                    _ => ErrorCode::L_STATE,
                };
                continue;
            };
            match check_offset(row.offset) {
                Ok(to) if to != offset::INVALID => {
                    ctx.log
                        .debug(DebugContexts::CONSUMER, "SEEK", || format!("{} to offset {to}", row.tp));
                    self.offsets.cancel(cluster, id);
                    self.fetcher.seek(ctx, cluster, id, (to, row.leader_epoch));
                    states.extend(self.fetcher.positions().get(id).map(|p| p.state.clone()));
                    row.error = ErrorCode::NO_ERROR;
                }
                _ => row.error = ErrorCode::L_INVALID_ARG,
            }
        }
        drop_stale(&states);
        rows
    }

    pub(super) fn pause(&mut self, cluster: &mut Cluster, tps: Vec<TopicPartition>) -> Vec<PartitionOffset> {
        let mut states = Vec::new();
        let rows = self.each(tps, |c, id| {
            c.offsets.cancel(cluster, id);
            c.fetcher.pause(id);
            states.extend(c.fetcher.positions().get(id).map(|p| p.state.clone()));
        });
        drop_stale(&states);
        rows
    }

    pub(super) fn resume(
        &mut self,
        ctx: &mut Ctx<'_>,
        cluster: &mut Cluster,
        tps: Vec<TopicPartition>,
    ) -> Vec<PartitionOffset> {
        self.each(tps, |c, id| c.fetcher.resume(ctx, cluster, id))
    }

    fn each(&mut self, tps: Vec<TopicPartition>, mut f: impl FnMut(&mut Self, u32)) -> Vec<PartitionOffset> {
        let mut rows = Vec::with_capacity(tps.len());
        for tp in tps {
            let id = self.fetcher.positions().find(&tp.topic, tp.partition);
            let mut row = PartitionOffset::new(tp, offset::INVALID);
            match id {
                Some(id) => f(self, id),
                None => row.error = ErrorCode::L_UNKNOWN_PARTITION,
            }
            rows.push(row);
        }
        rows
    }
}

/// Returns the offset if it is valid: absolute, BEGINNING, END, STORED, TAIL, or INVALID for none.
///
/// # Errors
/// `L_INVALID_ARG` for other negative numbers.
fn check_offset(at: i64) -> Result<i64, Error> {
    match at {
        0.. | offset::BEGINNING | offset::END | offset::STORED | offset::INVALID => Ok(at),
        _ if offset::tail(at).is_some() => Ok(at),
        _ => Err(Error::new(
            ErrorCode::L_INVALID_ARG,
            format!("{at} is neither an offset nor a logical one"),
        )),
    }
}
