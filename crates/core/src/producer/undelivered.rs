//! The records between `produce()` and their delivery reports: their batches, timers and requests, and every way in which
//! they are reported.

mod produce_response;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use super::PartitionId;
use super::accumulator::Accumulator;
use super::batch::Batch;
use super::counters::BatchWindows;
use super::in_flight::{InFlight, Requests};
use super::partition_sender::{InFlightBatch, PartitionSender, TopicSender};
use super::timers::{TimerKind, Timers, fired};
use super::topic_queue::{TopicQueue, UnassignedRecords};
use super::transactions::Transactions;
use crate::cluster::{Cluster, Router, TopicMeta};
use crate::config::ClientConfig;
use crate::connection::Owner;
use crate::context::Ctx;
use crate::error::{Error, ErrorCode};
use crate::event::{Delivery, DeliveryMode, Event, Queue, Reservation};
use crate::interceptor::Interceptor;
use crate::records::payload_len;
use crate::sys::{Instant, earliest};
use crate::types::{NameMap, PARTITION_UA, PersistStatus, offset};

/// The records that are not reported yet.
///
/// Each record leaves by one way only: a delivery report, after its failure was noted in its partition's sequence numbers
/// and in the transaction.
#[derive(Debug)]
pub(super) struct UndeliveredRecords {
    accumulator: Arc<Accumulator>,
    main_queue: Arc<Queue>,
    /// Notified of every delivery report.
    interceptor: Option<Arc<dyn Interceptor>>,
    /// By the topic's index in the client's table.
    topics: Vec<Option<TopicSender>>,
    by_name: NameMap<u32>,
    requests: Requests,
    router: Router,
    timers: Timers,
    /// With a `transactional.id`.
    transactions: Option<Box<Transactions>>,
    /// `enable.gapless.guarantee`; a transaction with a gap is aborted anyway.
    gapless: bool,
    /// The producer has raised a fatal error: nothing is sent any more.
    fatal: bool,
    /// The fatal error, until the client takes it.
    raised: Option<Error>,
    /// Delivery reports in their order, until [`send_reports`](Self::send_reports).
    reports: VecDeque<Delivery>,
}

impl UndeliveredRecords {
    /// Creates the table for the records of `accumulator`; delivery reports go to `main_queue`.
    pub(super) fn new(accumulator: Arc<Accumulator>, conf: &ClientConfig, main_queue: Arc<Queue>) -> Self {
        let is_transactional = !conf.transactional_id.is_empty();
        let transactions = is_transactional.then(|| Box::new(Transactions::new(conf, accumulator.clone())));
        UndeliveredRecords {
            accumulator,
            main_queue,
            interceptor: None,
            topics: Vec::new(),
            by_name: NameMap::default(),
            requests: Requests::default(),
            router: Router::new(Owner::Producer),
            timers: Timers::default(),
            transactions,
            gapless: conf.enable_gapless_guarantee && !is_transactional,
            fatal: false,
            raised: None,
            reports: VecDeque::new(),
        }
    }

    /// Notifies `interceptor` of every delivery report, whether or not the application wants it.
    pub(super) fn set_interceptor(&mut self, interceptor: Option<Arc<dyn Interceptor>>) {
        self.interceptor = interceptor;
    }

    // ---------------------------------------------------------------- parts

    /// Returns the application's side of the producer.
    pub(super) fn accumulator(&self) -> &Arc<Accumulator> {
        &self.accumulator
    }

    /// Returns the produce requests in flight.
    pub(super) fn requests(&self) -> &Requests {
        &self.requests
    }

    /// Returns the produce requests in flight.
    pub(super) fn requests_mut(&mut self) -> &mut Requests {
        &mut self.requests
    }

    /// Returns the numbers of the producer's requests, and the coordinators of its transactions.
    pub(super) fn router_mut(&mut self) -> &mut Router {
        &mut self.router
    }

    /// Returns the transaction manager of a transactional producer.
    pub(super) fn transactions(&self) -> Option<&Transactions> {
        self.transactions.as_deref()
    }

    /// Returns the transaction manager of a transactional producer, and the way to its coordinators.
    pub(super) fn transactions_mut(&mut self) -> Option<(&mut Transactions, &mut Router)> {
        Some((self.transactions.as_deref_mut()?, &mut self.router))
    }

    /// Returns all timers.
    pub(super) fn timers_mut(&mut self) -> &mut Timers {
        &mut self.timers
    }

    /// Returns a registered topic.
    pub(super) fn topic(&self, index: u32) -> Option<&TopicSender> {
        self.topics.get(index as usize)?.as_ref()
    }

    /// Returns a registered topic.
    pub(super) fn topic_mut(&mut self, index: u32) -> Option<&mut TopicSender> {
        self.topics.get_mut(index as usize)?.as_mut()
    }

    /// Returns the partitions of all registered topics.
    pub(super) fn partitions(&self) -> impl Iterator<Item = &PartitionSender> {
        self.topics.iter().flatten().flat_map(|t| &t.partitions)
    }

    /// Returns the index of a registered topic.
    pub(super) fn index_of(&self, name: &str) -> Option<u32> {
        self.by_name.get(name).copied()
    }

    /// Returns a partition of a registered topic, created on first use.
    pub(super) fn partition(&mut self, id: PartitionId) -> Option<&mut PartitionSender> {
        self.topic_mut(id.topic)?.partition_sender(id.partition)
    }

    /// Returns `topic [partition]`, for logs.
    pub(super) fn tp_name(&self, id: PartitionId) -> String {
        let topic = self.topic(id.topic);
        format!("{} [{}]", topic.map_or("?", |t| &t.name), id.partition)
    }

    /// Registers a topic that the accumulator has. Returns its name if it was not registered before. `max_request` is the
    /// upper bound of the statistics of batch sizes, `None` when statistics are off.
    pub(super) fn register_topic(
        &mut self,
        conf: &ClientConfig,
        index: u32,
        max_request: Option<usize>,
    ) -> Option<Arc<str>> {
        if self.topic(index).is_some() {
            return None;
        }
        let mut topic = TopicSender::new(self.accumulator.topic(index)?.topic(), conf);
        if let Some(max_request) = max_request {
            topic.windows = BatchWindows::new(max_request, self.accumulator.limits().records);
        }
        let name = topic.name.clone();
        self.by_name.insert(name.clone(), index);
        let at = index as usize;
        if at >= self.topics.len() {
            self.topics.resize_with(at + 1, || None);
        }
        if let Some(slot) = self.topics.get_mut(at) {
            *slot = Some(topic);
        }
        Some(name)
    }

    /// Takes the closed batches of a registered partition from the accumulator and arms the linger and expiry timers.
    pub(super) fn collect(&mut self, now: Instant, id: PartitionId) {
        let accumulator = self.accumulator.clone();
        let (linger, flushing) = (accumulator.limits().linger, accumulator.is_flushing());
        let Some(queue) = accumulator.topic(id.topic).and_then(|t| t.partition(id.partition)) else {
            return;
        };
        let Some(topic) = self.topics.get_mut(id.topic as usize).and_then(Option::as_mut) else {
            return;
        };
        let timeout = topic.settings.message_timeout;
        let Some(partition_sender) = topic.partition_sender(id.partition) else {
            return;
        };
        let opened = queue.collect(&mut partition_sender.pending, false);
        partition_sender.open_due = opened.is_some_and(|at| flushing || at + linger <= now);
        if let Some(at) = opened.filter(|_| !partition_sender.open_due) {
            self.timers
                .arm(&mut partition_sender.armed, TimerKind::Linger, id, at + linger);
        }
        let oldest = partition_sender.pending.front().and_then(Batch::oldest).or(opened);
        if let (Some(timeout), Some(at)) = (timeout, oldest) {
            self.timers
                .arm(&mut partition_sender.armed, TimerKind::Expiry, id, at + timeout);
        }
    }

    /// Removes a request from those in flight, and its batches from those in flight of their partitions.
    pub(super) fn remove_request(&mut self, id: u64) -> Option<InFlight> {
        let request = self.requests.remove(id)?;
        for slot in &request.slots {
            if let Some(partition_sender) = self.partition(slot.id) {
                partition_sender.in_flight.retain(|b| b.request != id);
            }
        }
        Some(request)
    }

    /// Returns whether no record is waiting or in flight.
    pub(super) fn is_settled(&self) -> bool {
        self.requests.is_empty()
            && self
                .partitions()
                .all(|partition| partition.pending.is_empty() && partition.in_flight.is_empty())
            && self.accumulator.topics().all(|(_, topic)| topic.is_empty())
    }

    // ---------------------------------------------------------------- retries

    /// Puts a batch back in the order of its records and arms its expiry timer.
    pub(super) fn put_back(&mut self, id: PartitionId, batch: Batch) {
        let oldest = batch.oldest();
        let Some(topic) = self.topics.get_mut(id.topic as usize).and_then(Option::as_mut) else {
            return;
        };
        let timeout = topic.settings.message_timeout;
        let Some(partition_sender) = topic.partition_sender(id.partition) else {
            return;
        };
        partition_sender.put_back(batch);
        if let (Some(at), Some(timeout)) = (oldest, timeout) {
            self.timers
                .arm(&mut partition_sender.armed, TimerKind::Expiry, id, at + timeout);
        }
    }

    /// Sends nothing of a partition before `until`, or before a later time that was set already.
    fn block(&mut self, id: PartitionId, until: Instant) {
        let before = self.partition(id).and_then(|p| p.blocked_until);
        self.block_until(id, before.map_or(until, |before| before.max(until)));
    }

    /// Sends nothing of a partition before `until`.
    pub(super) fn block_until(&mut self, id: PartitionId, until: Instant) {
        let Some(topic) = self.topics.get_mut(id.topic as usize).and_then(Option::as_mut) else {
            return;
        };
        let Some(partition_sender) = topic.partition_sender(id.partition) else {
            return;
        };
        partition_sender.blocked_until = Some(until);
        self.timers
            .arm(&mut partition_sender.armed, TimerKind::Backoff, id, until);
    }

    /// Handles the backoff timer of a partition. Returns whether the partition may send again.
    pub(super) fn on_backoff_timer(&mut self, now: Instant, id: PartitionId) -> bool {
        let Some(partition_sender) = self.partition(id) else {
            return false;
        };
        fired(&mut partition_sender.armed, TimerKind::Backoff);
        match partition_sender.blocked_until {
            Some(until) if until > now => {
                self.block_until(id, until);
                false
            }
            _ => {
                partition_sender.blocked_until = None;
                true
            }
        }
    }

    /// Handles the linger timer of a partition. Returns false if the partition is not registered.
    pub(super) fn on_linger_timer(&mut self, id: PartitionId) -> bool {
        let partition_sender = self.partition(id);
        partition_sender
            .map(|p| fired(&mut p.armed, TimerKind::Linger))
            .is_some()
    }

    /// Handles a timer of a topic as a whole.
    pub(super) fn on_topic_timer(&mut self, index: u32, kind: TimerKind) {
        if let Some(topic) = self.topic_mut(index) {
            fired(&mut topic.armed, kind);
        }
    }

    // ---------------------------------------------------------------- reports

    /// Reports the records of a batch that leaves without an acknowledgement; `error` is why.
    pub(super) fn deliver(
        &mut self,
        id: PartitionId,
        batch: Batch,
        error: Option<Error>,
        status: PersistStatus,
        now: Instant,
    ) {
        if let Some(error) = &error {
            if let Some(stamp) = batch.stamp {
                if let Some(partition_sender) = self.partition(id) {
                    partition_sender.sequences.on_abandoned(stamp, batch.records.len());
                }
                self.on_sequenced_failure(id, error);
            }
            if let Some(transactions) = &mut self.transactions {
                transactions.on_undelivered(batch.records.len(), batch.stamp.is_some(), error);
            }
        }
        self.report(id, batch, error, status, offset::INVALID, None, now);
    }

    /// Raises a fatal error for lost numbered records if `enable.gapless.guarantee` is set and the client did not drop
    /// them itself.
    fn on_sequenced_failure(&mut self, id: PartitionId, error: &Error) {
        let by_choice = matches!(
            error.code,
            ErrorCode::L_MSG_TIMED_OUT
                | ErrorCode::L_PURGE_QUEUE
                | ErrorCode::L_PURGE_INFLIGHT
                | ErrorCode::L_DESTROY
                | ErrorCode::L_FATAL
        );
        if self.gapless && !by_choice {
            self.raise_fatal(Error::new(
                ErrorCode::L_GAPLESS_GUARANTEE,
                format!(
                    "a record of partition {} was not delivered ({error}): writing those behind it would leave a gap",
                    id.partition
                ),
            ));
        }
    }

    /// Sends the delivery report. A report that the application does not want is dropped, which releases its buffer
    /// memory.
    #[allow(clippy::too_many_arguments)] // the fields of a report
    fn report(
        &mut self,
        id: PartitionId,
        batch: Batch,
        error: Option<Error>,
        status: PersistStatus,
        base_offset: i64,
        log_append_time: Option<i64>,
        now: Instant,
    ) {
        let Some(queue) = self.accumulator.topic(id.topic) else {
            return;
        };
        if batch.records.is_empty() {
            return;
        }
        if let Some(partition) = queue.partition(id.partition) {
            partition.on_settled(&batch.records);
        }
        let wanted = match self.accumulator.mode() {
            DeliveryMode::All => true,
            DeliveryMode::ErrorsOnly => error.is_some(),
            DeliveryMode::None => false,
        };
        let delivery = Delivery {
            topic: queue.topic().clone(),
            partition: id.partition,
            broker_id: batch.broker_id,
            error,
            status,
            base_offset,
            log_append_time,
            done_at: now,
            records: batch.records,
            buffer_memory: self.accumulator.buffer_memory().clone(),
            released: Reservation::default(),
        };
        if wanted {
            self.reports.push_back(delivery);
        } else if let Some(interceptor) = &self.interceptor {
            interceptor.on_settled(&delivery);
        }
    }

    /// Sends the delivery reports. The application may free lent values once it has their report, so that a report of such
    /// values, and those behind it, wait while the network may be reading them: `releasing`.
    pub(super) fn send_reports(&mut self, releasing: bool) {
        while let Some(delivery) = self.reports.pop_front_if(|next| !releasing || !next.records.borrows()) {
            if let Some(interceptor) = &self.interceptor {
                interceptor.on_settled(&delivery);
            }
            self.main_queue.push(Event::Delivery(delivery));
        }
    }

    /// Raises a fatal error: nothing is sent any more. The first error counts.
    pub(super) fn raise_fatal(&mut self, error: Error) {
        if !std::mem::replace(&mut self.fatal, true) {
            self.raised = Some(error);
        }
    }

    /// Returns whether the producer raised a fatal error.
    pub(super) fn has_raised_fatal(&self) -> bool {
        self.fatal
    }

    /// Returns whether a fatal error was raised, by the producer or by another part of the client: nothing more is sent.
    pub(super) fn is_fatal(&self) -> bool {
        self.fatal || self.accumulator.is_fatal()
    }

    /// Returns the fatal error that was raised since the last call.
    pub(super) fn take_fatal(&mut self) -> Option<Error> {
        self.raised.take()
    }

    // ---------------------------------------------------------------- timeouts

    /// Fails the records of a partition that are older than `message.timeout.ms`, whether open, closed or in flight.
    pub(super) fn expire(&mut self, ctx: &mut Ctx<'_>, id: PartitionId) {
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
                // The request in flight counts the offsets of the remaining records from the old front.
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

    /// Fails the expired records of a batch that came back. Returns the others.
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

    pub(super) fn expire_unassigned(&mut self, now: Instant, index: u32) {
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

    /// Acts on the metadata of a registered topic. Returns the number of partitions that may be able to send now.
    pub(super) fn refresh_topic(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster, index: u32) -> i32 {
        let accumulator = self.accumulator.clone();
        let Some(queue) = accumulator.topic(index) else {
            return 0;
        };
        let Some(topic) = self.topics.get_mut(index as usize).and_then(Option::as_mut) else {
            return 0;
        };
        let name = topic.name.clone();
        match cluster.topic(&name) {
            Some(meta) if meta.is_usable() => {
                set_availability(queue, meta);
                topic.on_id(meta.id);
                let (count, asked_at) = (meta.partition_count(), meta.asked_at());
                let waits = queue.oldest_unassigned().filter(|since| *since > asked_at);
                if waits.is_some() && topic.count == count {
                    // Records for partitions beyond the count, which may have grown since the metadata request.
                    cluster.confirm(&name, ctx.now);
                    self.arm_unassigned(index, queue);
                } else {
                    self.open_topic(ctx.now, index, queue, count, asked_at);
                }
                let used = self.topic(index).map_or(0, |t| t.partitions.len());
                return count.min(i32::try_from(used).unwrap_or(i32::MAX));
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
        0
    }

    /// Acts on a known partition count: records that waited for it get their partitions, and the records of partitions
    /// that no longer exist fail.
    fn open_topic(&mut self, now: Instant, index: u32, queue: &TopicQueue, count: i32, asked_at: Instant) {
        queue.set_failure(None);
        loop {
            // Threads may add records meanwhile, but only as many as the limits allow.
            let unassigned = queue.set_count(count, asked_at);
            if unassigned.is_empty() {
                break;
            }
            for waiting in unassigned {
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
        // The errors of refused records, and for each record the index of its error.
        let mut reasons: Vec<(i32, Error)> = Vec::new();
        let mut known = HashMap::new();
        let mut refused = HashMap::new();
        for (i, record) in waiting.records.iter().enumerate() {
            let requested = waiting.partitions.get(i).copied().unwrap_or(PARTITION_UA);
            let draw = || accumulator.draw();
            let placed = queue
                .choose(requested, record.key, record.opaque, count, now, &draw)
                .and_then(|partition| {
                    let new = record.to_new();
                    let size = payload_len(new.key, &new.value, &new.headers);
                    accumulator.append(queue, partition, &new, size)
                });
            if let Err(error) = placed {
                let reason = *known.entry((requested, error.message.clone())).or_insert(reasons.len());
                if reason == reasons.len() {
                    reasons.push((requested, error));
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

    /// Fails a topic and all its waiting records. The first error is that of the waiting records, the second that of
    /// later calls of `produce()`.
    fn fail_topic(&mut self, now: Instant, index: u32, queue: &TopicQueue, (error, later): (&Error, Error)) {
        queue.set_failure(Some(later));
        if let Some(topic) = self.topic_mut(index) {
            topic.count = 0;
        }
        self.fail_topic_records(now, index, queue, error);
    }

    /// Fails the waiting records of a partition that does not exist, or whose topic has failed.
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

    // ---------------------------------------------------------------- purge

    fn fail_partition(&mut self, now: Instant, id: PartitionId, error: &Error) {
        let accumulator = self.accumulator.clone();
        let mut batches = VecDeque::new();
        if let Some(partition_sender) = self.partition(id) {
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

    /// Fails records without a partition; records produced to a certain partition are reported with it.
    fn fail_unassigned(&mut self, now: Instant, index: u32, waiting: UnassignedRecords, error: &Error) {
        let UnassignedRecords {
            records, partitions, ..
        } = waiting;
        // The index of the first record of each partition: groups are reported in this order.
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

    /// Fails all records that are not in flight.
    pub(super) fn fail_queued(&mut self, now: Instant, error: &Error) {
        let accumulator = self.accumulator.clone();
        for (index, queue) in accumulator.topics() {
            self.fail_topic_records(now, index, queue, error);
        }
    }

    /// Fails all records in flight; late responses find nothing.
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

    /// Ends the producer: refuses later records and calls, and fails all records that are left.
    pub(super) fn close(&mut self, ctx: &mut Ctx<'_>) {
        let accumulator = self.accumulator.clone();
        accumulator.close();
        if let Some(transactions) = &mut self.transactions {
            let text = "the client was closed while the call was in progress";
            transactions.close(&Error::new(ErrorCode::L_DESTROY, text));
        }
        let error = Error::new(
            ErrorCode::L_DESTROY,
            "the client was closed before the record was delivered",
        );
        self.fail_queued(ctx.now, &error);
        self.fail_in_flight(ctx, &error);
        // The end of the client waits for the network.
        self.send_reports(false);
    }
}

/// Returns the latest time of production of a record that has timed out by now.
fn limit_of(now: Instant, timeout: Duration) -> Option<Instant> {
    let micros = u64::try_from(timeout.as_micros()).unwrap_or(u64::MAX);
    now.as_micros().checked_sub(micros).map(Instant::from_micros)
}

fn timed_out(why: &str) -> Error {
    let text = format!("the record was not delivered within message.timeout.ms: {why}");
    Error::new(ErrorCode::L_MSG_TIMED_OUT, text)
}

/// Returns the reason for which a batch was not delivered in time.
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

#[cfg(test)]
mod tests;
