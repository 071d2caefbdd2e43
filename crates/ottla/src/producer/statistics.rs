//! What the producer has to say of itself.

use std::collections::HashMap;

use super::PartitionId;
use super::sender::Sender;
use super::wire::Part;
use crate::cluster::{Cluster, Survey};
use crate::connection::Purpose;
use crate::records::ProducedRecords;
use crate::stats::{DurationSum, Eos, Histogram, LATENCY_MAX_US};
use crate::sys::Instant;
use crate::types::{NodeId, PARTITION_UA};

/// What was put into requests.
#[derive(Debug, Default, Clone, Copy)]
pub struct Sent {
    /// Messages; each attempt counts.
    pub messages: u64,
    /// Bytes of their record batches as sent.
    pub bytes: u64,
}

impl Sent {
    fn add(&mut self, messages: u64, bytes: u64) {
        self.messages += messages;
        self.bytes += bytes;
    }
}

/// Batches of a topic in the present interval.
#[derive(Debug)]
pub(super) struct BatchWindows {
    bytes: Box<Histogram>,
    messages: Box<Histogram>,
}

impl BatchWindows {
    pub(super) fn new(bytes_max: usize, messages_max: usize) -> Option<Self> {
        Some(BatchWindows {
            bytes: Histogram::new(bytes_max as u64)?,
            messages: Histogram::new(messages_max as u64)?,
        })
    }
}

/// Messages and payload bytes of batches.
pub(super) fn sum<'a>(batches: impl Iterator<Item = &'a ProducedRecords>) -> (u64, u64) {
    batches.fold((0, 0), |(messages, bytes), records| {
        (messages + records.len() as u64, bytes + records.payload_bytes())
    })
}

impl Sender {
    /// Counts the batches of a request that was handed to the connection.
    pub(super) fn count_sent(&mut self, now: Instant, node: NodeId, parts: &mut [Part]) {
        let mut again = false;
        for part in parts {
            let Some(batch) = &mut part.slot.batch else { continue };
            let first = !std::mem::replace(&mut batch.sent, true);
            again |= !first;
            let (messages, bytes) = (batch.records.len() as u64, part.data.len() as u64);
            self.sent.add(messages, bytes);
            let id = part.slot.id;
            let Some(topic) = self.topics.get_mut(id.topic as usize).and_then(Option::as_mut) else {
                continue;
            };
            if let Some(windows) = &mut topic.windows {
                windows.bytes.record(bytes);
                windows.messages.record(messages);
            }
            if let Some(partition_sender) = topic.partition_sender(id.partition) {
                partition_sender.sent.add(messages, bytes);
            }
            if first && let Some(times) = &mut self.queue_times {
                let produced = (0..batch.records.len()).filter_map(|i| batch.records.produced_at(i));
                produced.for_each(|at| times.record(now.since(at)));
            }
            if self.measures && first {
                let broker_queue = self.broker_queues.entry(node).or_default();
                if broker_queue.int_latency.is_none() {
                    broker_queue.int_latency = Histogram::new(LATENCY_MAX_US);
                }
                if let Some(window) = &mut broker_queue.int_latency {
                    window.record_all(batch.records.ages_us(now));
                }
            }
        }
        if again {
            self.broker_queues.entry(node).or_default().retries += 1;
        }
    }

    /// Measures how long records wait before they are sent, or does so no more.
    pub fn measure_queue_times(&mut self, wanted: bool) {
        if wanted != self.queue_times.is_some() {
            self.queue_times = wanted.then(DurationSum::default);
        }
    }

    /// How long records have waited since the last call.
    pub fn take_queue_times(&mut self) -> DurationSum {
        self.queue_times.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Messages in a request under way.
    pub fn messages_of(&self, request: u64) -> u64 {
        self.requests.messages_of(request)
    }

    /// What was put into requests so far.
    pub fn sent(&self) -> Sent {
        self.sent
    }

    /// Writes what the producer knows of brokers and topics; what was measured, since the last call.
    pub fn statistics(&mut self, cluster: &Cluster, survey: &mut Survey) {
        for (key, broker) in &mut survey.brokers {
            if key.purpose != Purpose::General {
                continue;
            }
            if let Some(broker_queue) = self.broker_queues.get_mut(&key.node) {
                broker.txretries = broker_queue.retries;
                if let Some(window) = &mut broker_queue.int_latency {
                    broker.int_latency = window.take();
                }
            }
        }
        let in_flight = self.requests.messages_by_partition();
        let accumulator = self.accumulator.clone();
        for (index, queue) in accumulator.topics() {
            let name = queue.topic().shared_name();
            let (messages, bytes) = queue.unassigned();
            if let Some(to) = survey.partition(&name, PARTITION_UA) {
                (to.msgq_cnt, to.msgq_bytes, to.msgs) = (messages, bytes, messages);
            }
            for (partition, own) in queue.used_partitions() {
                let held = own.holds();
                if let Some(to) = survey.partition(&name, partition) {
                    (to.msgq_cnt, to.msgq_bytes, to.msgs) = (held.messages, held.bytes, held.ever);
                }
                if let Some(node) = cluster.leader(&name, partition) {
                    survey.delegate(&name, partition, node);
                }
            }
            self.topic_statistics(index, &name, &in_flight, survey);
        }
    }

    fn topic_statistics(&mut self, index: u32, name: &str, in_flight: &HashMap<PartitionId, u64>, survey: &mut Survey) {
        let idempotent = self.producer_id.is_some();
        let Some(topic) = self.topic_mut(index) else { return };
        if let (Some(windows), Some(to)) = (&mut topic.windows, survey.topics.get_mut(name)) {
            to.batchsize = windows.bytes.take();
            to.batchcnt = windows.messages.take();
        }
        for (partition, partition_sender) in (0..).zip(&topic.partitions) {
            let Some(to) = survey.partition(name, partition) else {
                return;
            };
            (to.xmit_msgq_cnt, to.xmit_msgq_bytes) = sum(partition_sender.pending.iter().map(|b| &b.records));
            (to.txmsgs, to.txbytes) = (partition_sender.sent.messages, partition_sender.sent.bytes);
            let id = PartitionId {
                topic: index,
                partition,
            };
            to.msgs_inflight = in_flight.get(&id).copied().unwrap_or(0);
            if idempotent {
                partition_sender.sequences.write_stats(to);
            }
        }
    }

    /// What there is to say of an idempotent producer; since when its states are as they are is not known here.
    pub fn eos(&self) -> Option<Eos> {
        let producer_id = self.producer_id.as_ref()?;
        let (idemp_state, txn_state) = self.eos_states()?;
        let mut eos = Eos {
            idemp_state,
            txn_state,
            producer_id: -1,
            producer_epoch: -1,
            ..Default::default()
        };
        if let Some(transactions) = &self.transactions {
            transactions.write_stats(&mut eos);
        } else {
            let partitions = self.topics.iter().flatten().flat_map(|t| &t.partitions);
            producer_id.write_stats(
                partitions
                    .filter_map(|partition_sender| partition_sender.sequences.epoch())
                    .max(),
                &mut eos,
            );
        }
        Some(eos)
    }

    /// Where an idempotent producer's id and its transaction stand.
    pub fn eos_states(&self) -> Option<(&'static str, &'static str)> {
        let producer_id = self.producer_id.as_ref()?;
        let states = match &self.transactions {
            Some(transactions) => transactions.public_states(),
            None => (producer_id.public_state(), "Init"),
        };
        match self.fatal {
            true => Some(("FatalError", states.1)),
            false => Some(states),
        }
    }
}
