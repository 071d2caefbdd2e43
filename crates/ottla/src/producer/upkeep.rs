//! What happens to waiting records without a broker's answer: timeouts, topics that come and go, purges.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use super::PartitionId;
use super::batch::Batch;
use super::partition_sender::InFlightBatch;
use super::sender::Sender;
use super::timers::{TimerKind, fired};
use super::topic_queue::{TopicQueue, UnassignedRecords};
use crate::cluster::{Cluster, TopicMeta};
use crate::context::Ctx;
use crate::error::{Error, ErrorCode};
use crate::records::payload_len;
use crate::sys::{Instant, earliest};
use crate::types::{PARTITION_UA, PersistStatus};

impl Sender {
    pub(super) fn on_timer(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster, kind: TimerKind, id: PartitionId) {
        match (kind, id.is_topic()) {
            (TimerKind::Linger | TimerKind::Backoff, _) => self.on_send_timer(ctx, cluster, kind, id),
            (TimerKind::Expiry, false) => {
                self.expire(ctx, id);
                self.enqueue(ctx, cluster, id);
            }
            (TimerKind::Expiry, true) => {
                if let Some(topic) = self.topic_mut(id.topic) {
                    fired(&mut topic.armed, kind);
                }
                self.expire_unassigned(ctx.now, id.topic);
            }
            (TimerKind::Missing, _) => {
                if let Some(topic) = self.topic_mut(id.topic) {
                    fired(&mut topic.armed, kind);
                }
                self.refresh_topic(ctx, cluster, id.topic);
            }
        }
    }

    // ---------------------------------------------------------------- timeouts

    /// Gives up the records of a partition that are older than `message.timeout.ms`, wherever they stand.
    fn expire(&mut self, ctx: &mut Ctx<'_>, id: PartitionId) {
        let now = ctx.now;
        let accumulator = self.accumulator.clone();
        let Some(topic) = self.topics.get_mut(id.topic as usize).and_then(Option::as_mut) else {
            return;
        };
        let timeout = topic.settings.message_timeout;
        let Some(partition_sender) = topic.partition_sender(id.partition) else {
            return;
        };
        fired(&mut partition_sender.armed, TimerKind::Expiry);
        let Some(timeout) = timeout else { return };
        let limit = limit_of(now, timeout);
        let mut expired = Vec::new();
        let mut oldest = None;
        for InFlightBatch { request, .. } in partition_sender.in_flight.clone() {
            let slot = self.requests.slot(request, id);
            let Some(batch) = slot.and_then(|s| s.batch.as_mut()) else {
                continue;
            };
            let n = limit.map_or(0, |limit| batch.count_expired(limit));
            let mut remaining = batch.oldest();
            if n > 0 {
                let mut front = batch.split_front(n);
                front.maybe_persisted = true;
                // The records that stay were numbered from the old front in the request that is under way.
                batch.left_in_flight += n;
                remaining = batch.oldest();
                self.requests.withdraw(ctx, request, &front);
                expired.push(front);
            }
            oldest = earliest(oldest, remaining);
        }
        if let Some(queue) = accumulator.topic(id.topic).and_then(|t| t.partition(id.partition)) {
            let opened = queue.collect(&mut partition_sender.pending, false);
            if opened.is_some_and(|at| limit.is_some_and(|limit| at <= limit)) {
                let _ = queue.collect(&mut partition_sender.pending, true);
                partition_sender.open_due = false;
            } else {
                oldest = earliest(oldest, opened);
            }
        }
        while let Some(batch) = partition_sender.pending.front_mut() {
            let n = limit.map_or(0, |limit| batch.count_expired(limit));
            let whole = n == batch.records.len();
            if n > 0 {
                expired.push(batch.split_front(n));
            }
            if !whole {
                oldest = earliest(oldest, batch.oldest());
                break;
            }
            partition_sender.pending.pop_front();
        }
        if let Some(at) = oldest {
            self.timers
                .arm(&mut partition_sender.armed, TimerKind::Expiry, id, at + timeout);
        }
        for batch in expired {
            let (status, error) = (batch.status(), timed_out(&attempts_of(&batch)));
            self.deliver(id, batch, Some(error), status, now);
        }
    }

    /// Gives up the records of a batch that came back whose time is over; returns the others.
    pub(super) fn without_expired(&mut self, now: Instant, id: PartitionId, mut batch: Batch) -> Batch {
        let timeout = self.topic_mut(id.topic).and_then(|t| t.settings.message_timeout);
        let limit = timeout.and_then(|timeout| limit_of(now, timeout));
        let n = limit.map_or(0, |limit| batch.count_expired(limit));
        if n > 0 {
            let front = batch.split_front(n);
            let (status, error) = (front.status(), timed_out(&attempts_of(&front)));
            self.deliver(id, front, Some(error), status, now);
        }
        batch
    }

    fn expire_unassigned(&mut self, now: Instant, index: u32) {
        let accumulator = self.accumulator.clone();
        let Some(queue) = accumulator.topic(index) else {
            return;
        };
        let Some(timeout) = self.topic_mut(index).and_then(|t| t.settings.message_timeout) else {
            return;
        };
        let mut keep = Vec::new();
        let mut expired = Vec::new();
        for mut waiting in queue.take_unassigned() {
            let all = waiting.records.len();
            let fresh = |i: &usize| waiting.records.produced_at(*i).is_some_and(|at| at + timeout > now);
            let n = (0..all).find(fresh).unwrap_or(all);
            if n > 0 {
                let records = waiting.records.split_front(n);
                let partitions = waiting.partitions.drain(..n.min(waiting.partitions.len())).collect();
                expired.push(UnassignedRecords {
                    records,
                    partitions,
                    is_batch: false,
                });
            }
            if n < all {
                keep.push(waiting);
            }
        }
        queue.put_back_unassigned(keep);
        for waiting in expired {
            let error = timed_out("the topic's partitions were never known");
            self.fail_unassigned(now, index, waiting, &error);
        }
        self.arm_unassigned(index, queue);
    }

    fn arm_unassigned(&mut self, index: u32, queue: &TopicQueue) {
        let Some(topic) = self.topics.get_mut(index as usize).and_then(Option::as_mut) else {
            return;
        };
        if let (Some(timeout), Some(at)) = (topic.settings.message_timeout, queue.oldest_unassigned()) {
            let id = PartitionId::topic_itself(index);
            self.timers.arm(&mut topic.armed, TimerKind::Expiry, id, at + timeout);
        }
    }

    // ---------------------------------------------------------------- topics

    /// Metadata of a watched topic changed, or was confirmed missing.
    pub fn on_topic_changed(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster, name: &Arc<str>) {
        if let Some(index) = self.by_name.get(name).copied() {
            self.refresh_topic(ctx, cluster, index);
        }
    }

    /// Acts on what is known of a topic now.
    pub(super) fn refresh_topic(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster, index: u32) {
        let accumulator = self.accumulator.clone();
        let Some(queue) = accumulator.topic(index) else {
            return;
        };
        self.remove_moved_partitions(cluster, index);
        let Some(topic) = self.topics.get_mut(index as usize).and_then(Option::as_mut) else {
            return;
        };
        let name = topic.name.clone();
        match cluster.topic(&name) {
            Some(meta) if meta.is_usable() => {
                set_availability(queue, meta);
                topic.on_id(meta.id);
                let (count, asked_at) = (meta.partition_count(), meta.asked_at());
                let waits = queue.oldest_unassigned().filter(|since| *since > asked_at);
                if waits.is_some() && topic.count == count {
                    // Records for partitions beyond the count, which may have grown since.
                    cluster.confirm(&name, ctx.now);
                    self.arm_unassigned(index, queue);
                } else {
                    self.open_topic(ctx.now, index, queue, count, asked_at);
                }
                let partitions = self.topic_mut(index).map_or(0, |t| t.partitions.len());
                for partition in (0..count).take(partitions) {
                    self.enqueue(
                        ctx,
                        cluster,
                        PartitionId {
                            topic: index,
                            partition,
                        },
                    );
                }
            }
            Some(meta) if meta.missing_since.is_some() => {
                let wait_ms = u64::from(ctx.conf.topic_metadata_propagation_max_ms);
                let deadline = meta.missing_since.unwrap_or(ctx.now).plus_ms(wait_ms);
                if deadline <= ctx.now {
                    let text = format!("topic \"{name}\" does not exist");
                    let [unknown, local] = [ErrorCode::UNKNOWN_TOPIC_OR_PART, ErrorCode::L_UNKNOWN_TOPIC]
                        .map(|code| Error::new(code, text.clone()));
                    self.fail_topic(ctx.now, index, queue, (&unknown, local));
                } else {
                    let id = PartitionId::topic_itself(index);
                    self.timers.arm(&mut topic.armed, TimerKind::Missing, id, deadline);
                    self.arm_unassigned(index, queue);
                }
            }
            Some(meta) if !meta.error.is_ok() && !meta.has_passing_error() => {
                let text = format!("topic \"{name}\": {}", meta.error);
                let error = Error::new(meta.error, text);
                self.fail_topic(ctx.now, index, queue, (&error, error.clone()));
            }
            _ => self.arm_unassigned(index, queue),
        }
    }

    /// The partition count is known: records that waited for it get their partitions, and those of partitions that are
    /// no more are given up.
    fn open_topic(&mut self, now: Instant, index: u32, queue: &TopicQueue, count: i32, asked_at: Instant) {
        queue.set_failure(None);
        loop {
            // Producers may add records meanwhile, but only as many as their limits allow.
            let late = queue.set_count(count, asked_at);
            if late.is_empty() {
                break;
            }
            for waiting in late {
                if waiting.is_batch {
                    self.accumulator.append_batch(queue, count, waiting.records, now);
                } else {
                    self.assign(now, index, queue, count, &waiting);
                }
            }
        }
        let Some(topic) = self.topic_mut(index) else {
            return;
        };
        let before = std::mem::replace(&mut topic.count, count);
        for partition in count..before {
            self.fail_partition(
                now,
                PartitionId {
                    topic: index,
                    partition,
                },
                &no_partition(count, partition),
            );
        }
    }

    fn assign(&mut self, now: Instant, index: u32, queue: &TopicQueue, count: i32, waiting: &UnassignedRecords) {
        let accumulator = self.accumulator.clone();
        // Why records are refused, and for each of them, which of the reasons.
        let mut reasons: Vec<(i32, Error)> = Vec::new();
        let mut known = HashMap::new();
        let mut refused = HashMap::new();
        for (i, record) in waiting.records.iter().enumerate() {
            let asked = waiting.partitions.get(i).copied().unwrap_or(PARTITION_UA);
            let draw = || accumulator.draw();
            let placed = queue
                .choose(asked, record.key, record.opaque, count, now, &draw)
                .and_then(|partition| {
                    let new = record.to_new();
                    let size = payload_len(new.key, &new.value, &new.headers);
                    accumulator.append(queue, partition, &new, size)
                });
            if let Err(error) = placed {
                let reason = *known.entry((asked, error.message.clone())).or_insert(reasons.len());
                if reason == reasons.len() {
                    reasons.push((asked, error));
                }
                refused.insert(i, reason);
            }
        }
        if refused.is_empty() {
            return;
        }
        for (reason, records) in waiting.records.grouped(|i| refused.get(&i).copied()) {
            let Some((partition, error)) = reasons.get(reason).cloned() else {
                continue;
            };
            let id = PartitionId {
                topic: index,
                partition,
            };
            self.deliver(
                id,
                Batch::new(records, 0),
                Some(error),
                PersistStatus::NotPersisted,
                now,
            );
        }
    }

    /// The topic cannot be produced to: gives up everything that waits and has `produce()` refuse more.
    /// Fails a topic: the first error is that of the records that wait, the second that of later calls to produce.
    fn fail_topic(&mut self, now: Instant, index: u32, queue: &TopicQueue, (error, later): (&Error, Error)) {
        queue.set_failure(Some(later));
        if let Some(topic) = self.topic_mut(index) {
            topic.count = 0;
        }
        self.fail_topic_records(now, index, queue, error);
    }

    /// A partition has records although its topic has failed, or although it is no more.
    pub(super) fn fail_without_partition(&mut self, ctx: &Ctx<'_>, id: PartitionId) {
        let accumulator = self.accumulator.clone();
        let Some(queue) = accumulator.topic(id.topic) else {
            return;
        };
        let error = queue
            .failure()
            .unwrap_or_else(|| no_partition(queue.count(), id.partition));
        self.fail_partition(ctx.now, id, &error);
    }

    // ---------------------------------------------------------------- giving up

    fn fail_partition(&mut self, now: Instant, id: PartitionId, error: &Error) {
        let accumulator = self.accumulator.clone();
        let mut batches = VecDeque::new();
        if let Some(partition_sender) = self.partition_sender(id) {
            batches.append(&mut partition_sender.pending);
            partition_sender.open_due = false;
            partition_sender.blocked_until = None;
        }
        if let Some(queue) = accumulator.topic(id.topic).and_then(|t| t.partition(id.partition)) {
            let _ = queue.collect(&mut batches, true);
        }
        for batch in batches {
            let status = batch.status();
            self.deliver(id, batch, Some(error.clone()), status, now);
        }
    }

    fn fail_topic_records(&mut self, now: Instant, index: u32, queue: &TopicQueue, error: &Error) {
        for waiting in queue.take_unassigned() {
            self.fail_unassigned(now, index, waiting, error);
        }
        for (partition, _) in queue.used_partitions() {
            self.fail_partition(
                now,
                PartitionId {
                    topic: index,
                    partition,
                },
                error,
            );
        }
    }

    /// Gives up records without a partition; those that asked for one are reported with it.
    fn fail_unassigned(&mut self, now: Instant, index: u32, waiting: UnassignedRecords, error: &Error) {
        let UnassignedRecords {
            records, partitions, ..
        } = waiting;
        // Partitions in the order in which they were first asked for.
        let mut first_of = HashMap::new();
        for (i, partition) in partitions.iter().enumerate() {
            first_of.entry(*partition).or_insert(i);
        }
        let groups = if first_of.len() <= 1 {
            BTreeMap::from([(0, records)])
        } else {
            records.grouped(|i| partitions.get(i).and_then(|p| first_of.get(p).copied()))
        };
        for (first, records) in groups {
            let partition = partitions.get(first).copied().unwrap_or(PARTITION_UA);
            let id = PartitionId {
                topic: index,
                partition,
            };
            self.deliver(
                id,
                Batch::new(records, 0),
                Some(error.clone()),
                PersistStatus::NotPersisted,
                now,
            );
        }
    }

    /// Gives up everything that is not under way.
    pub(super) fn fail_queued(&mut self, now: Instant, error: &Error) {
        let accumulator = self.accumulator.clone();
        for (index, queue) in accumulator.topics() {
            self.fail_topic_records(now, index, queue, error);
        }
    }

    /// Gives up everything that is under way; late responses find nothing.
    pub(super) fn fail_in_flight(&mut self, ctx: &mut Ctx<'_>, error: &Error) {
        for request in self.requests.ids() {
            let batches: Vec<(PartitionId, Batch)> = self
                .requests
                .slots_mut(request)
                .filter_map(|s| Some((s.id, s.batch.take()?)))
                .collect();
            for (id, batch) in batches {
                self.requests.withdraw(ctx, request, &batch);
                self.deliver(
                    id,
                    batch,
                    Some(error.clone()),
                    PersistStatus::PossiblyPersisted,
                    ctx.now,
                );
            }
        }
    }

    /// The client ends: nothing is taken any more, and what is left is given up.
    pub fn close(&mut self, ctx: &mut Ctx<'_>, _cluster: &mut Cluster) {
        let accumulator = self.accumulator.clone();
        accumulator.close();
        if let Some(transactions) = &mut self.transactions {
            let text = "the client was closed while the call was under way";
            transactions.close(&Error::new(ErrorCode::L_DESTROY, text));
        }
        let error = Error::new(
            ErrorCode::L_DESTROY,
            "the client was closed before the record was delivered",
        );
        self.fail_queued(ctx.now, &error);
        self.fail_in_flight(ctx, &error);
    }
}

/// Returns the time at or before which a record was produced that has timed out by now.
fn limit_of(now: Instant, timeout: Duration) -> Option<Instant> {
    let micros = u64::try_from(timeout.as_micros()).unwrap_or(u64::MAX);
    now.as_micros().checked_sub(micros).map(Instant::from_micros)
}

fn timed_out(why: &str) -> Error {
    let text = format!("the record was not delivered within message.timeout.ms: {why}");
    Error::new(ErrorCode::L_MSG_TIMED_OUT, text)
}

/// What became of a batch that ran out of time.
fn attempts_of(batch: &Batch) -> String {
    match batch.last_error.filter(|code| *code != ErrorCode::L_TIMED_OUT) {
        Some(code) => format!("the last attempt failed with {} ({code})", code.name()),
        None if batch.broker_id < 0 => "it was never sent".to_owned(),
        None => format!("broker {} has not answered", batch.broker_id),
    }
}

fn no_partition(count: i32, partition: i32) -> Error {
    Error::new(
        ErrorCode::L_UNKNOWN_PARTITION,
        format!("the topic has {count} partitions, there is no partition {partition}"),
    )
}

fn set_availability(queue: &TopicQueue, meta: &TopicMeta) {
    for (i, partition) in meta.partitions.iter().enumerate() {
        if let Some(p) = i32::try_from(i).ok().and_then(|i| queue.partition(i)) {
            p.set_available(partition.leader.is_some());
        }
    }
}
