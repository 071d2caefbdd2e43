//! Which partitions are consumed: the assignment, the simple API, and what is asked of single partitions.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::facade::Consumer;
use super::offset_files;
use super::positions::Origin;
use crate::cluster::Cluster;
use crate::context::Ctx;
use crate::error::{Error, ErrorCode};
use crate::event::{Event, PartitionState, Queue};
use crate::log::DebugContexts;
use crate::types::{PartitionOffset, Topic, TopicPartition, offset};

impl Consumer {
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
            .find(|(s, ..)| self.fetcher.positions.get(s.id()).is_some())
        {
            let text = format!("{} is part of the assignment already", state.tp());
            return Err(Error::new(ErrorCode::L_CONFLICT, text));
        }
        self.start_partitions(ctx, cluster, &states);
        Ok(())
    }

    /// Takes from the assignment.
    pub(super) fn incremental_unassign(
        &mut self,
        ctx: &mut Ctx<'_>,
        cluster: &mut Cluster,
        tps: &[TopicPartition],
    ) -> Result<(), Error> {
        let mut ids = Vec::with_capacity(tps.len());
        for tp in tps {
            match self.fetcher.positions.find(&tp.topic, tp.partition) {
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

    /// Empties the assignment; stored offsets are committed first when that is asked for.
    pub(super) fn unassign(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster) {
        let assigned = self.fetcher.positions.iter().filter(|p| p.origin == Origin::Assigned);
        let ids: Vec<u32> = assigned.map(|p| p.state.id()).collect();
        self.stop_partitions(ctx, cluster, &ids);
    }

    /// The rows of the assignment.
    pub(super) fn assignment(&self) -> Vec<PartitionOffset> {
        let assigned = self.fetcher.positions.iter().filter(|p| p.origin == Origin::Assigned);
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
            let topic = (self.setup.topics)(&row.tp.topic)?;
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
            if self.fetcher.positions.get(state.id()).is_some() {
                self.forget(cluster, state.id());
            }
            state
                .queue()
                .forward_by_default(Some(self.shared.consumer_queue().clone()));
            // Without a word the group's offset is meant.
            let start = if *start == offset::INVALID {
                offset::STORED
            } else {
                *start
            };
            self.fetcher.add(ctx, cluster, state, Origin::Assigned, (start, *epoch));
            self.group.adopt(ctx.now, state, Origin::Assigned);
        }
    }

    pub(super) fn stop_partitions(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster, ids: &[u32]) {
        let states: Vec<_> = ids
            .iter()
            .filter_map(|id| self.fetcher.positions.get(*id).map(|p| p.state.clone()))
            .collect();
        // First nothing is handed out any more: what is taken behind the commit's back is read again by the next owner.
        for state in &states {
            state.advance_fetch_generation();
        }
        sweep(&states);
        self.group.commit_before_loss(
            ctx,
            self.fetcher.positions.iter().filter(|p| ids.contains(&p.state.id())),
        );
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
        let in_file = offset_files::wanted(&state);
        if at == offset::STORED && !in_file && !self.group.is_configured() {
            let text = "the stored offset can only be read with group.id set";
            return Err(Error::new(ErrorCode::L_INVALID_ARG, text));
        }
        if self.fetcher.positions.get(state.id()).is_some() {
            self.forget(cluster, state.id());
            sweep(std::slice::from_ref(&state));
        }
        state.queue().forward_to(queue);
        self.fetcher.add(ctx, cluster, &state, Origin::Started, (at, -1));
        match in_file {
            true => self.files.add(ctx.now, &state),
            false => self.group.adopt(ctx.now, &state, Origin::Started),
        }
        Ok(())
    }

    /// Gives the partition's id.
    pub(super) fn stop(
        &mut self,
        ctx: &mut Ctx<'_>,
        cluster: &mut Cluster,
        topic: &Arc<Topic>,
        partition: i32,
    ) -> Result<u32, Error> {
        let Some(id) = self.fetcher.positions.find(topic.name(), partition) else {
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
            let Some(id) = self.fetcher.positions.find(&row.tp.topic, row.tp.partition) else {
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
                    states.extend(self.fetcher.positions.get(id).map(|p| p.state.clone()));
                    row.error = ErrorCode::NO_ERROR;
                }
                _ => row.error = ErrorCode::L_INVALID_ARG,
            }
        }
        sweep(&states);
        rows
    }

    pub(super) fn pause(&mut self, cluster: &mut Cluster, tps: Vec<TopicPartition>) -> Vec<PartitionOffset> {
        let mut states = Vec::new();
        let rows = self.each(tps, |c, id| {
            c.offsets.cancel(cluster, id);
            c.fetcher.pause(id);
            states.extend(c.fetcher.positions.get(id).map(|p| p.state.clone()));
        });
        sweep(&states);
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
            let id = self.fetcher.positions.find(&tp.topic, tp.partition);
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

/// Takes the offsets that mean something: absolute ones, BEGINNING, END, STORED, TAIL, and INVALID for "not said".
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

/// Drops what became stale, so that it holds no room while nobody looks at the queue. A thread that is taking a record from
/// one of the queues just now is waited for: afterwards positions and stored offsets are behind all that was handed out.
pub(super) fn sweep(states: &[Arc<PartitionState>]) {
    for queue in targets(states) {
        drop(queue.extract(Event::is_stale));
    }
}

/// The queues in which what is fetched of these partitions waits, each once.
pub(super) fn targets(states: &[Arc<PartitionState>]) -> Vec<Arc<Queue>> {
    let mut queues: Vec<Arc<Queue>> = Vec::new();
    for state in states {
        let target = state.queue().target();
        if !queues.iter().any(|q| Arc::ptr_eq(q, &target)) {
            queues.push(target);
        }
    }
    queues
}
