//! Produce requests that wait for the followers (`acks=all`).

use ottla_protocol::api::produce::ProduceResponse;
use ottla_protocol::{ErrorCode, Uuid};

use crate::cluster::Cluster;
use crate::handlers::k00_produce::{failure, name_leaders};
use crate::purgatory::{DelayedId, DelayedOperation, DelayedProduce};
use crate::timers::Timer;

impl Cluster {
    /// Settles what can be settled of a parked produce request, and answers it when nothing is left to wait for.
    pub(crate) fn advance_produce(&mut self, token: DelayedId) {
        let Some(parked) = self.purgatory.get_mut(&token) else {
            return;
        };
        let DelayedOperation::Produce(produce) = &mut parked.waiting else {
            return;
        };
        let broker = parked.context.broker;
        let DelayedProduce { response, until } = produce;
        let mut settled = Vec::new();
        let topics = &self.topics;
        until.retain(|wait| {
            let partition = topics.by_id(wait.topic).and_then(|t| t.partition(wait.partition));
            let error = match partition {
                None => ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
                Some(p) if p.leader != Some(broker) || p.leader_epoch != wait.leader_epoch => {
                    ErrorCode::NOT_LEADER_OR_FOLLOWER
                }
                Some(p) if p.log.high_watermark() >= wait.end_offset => ErrorCode::NONE,
                Some(_) => return true,
            };
            if error != ErrorCode::NONE {
                set_error(response, wait.position, error);
            }
            settled.push((wait.topic, wait.partition));
            false
        });
        let done = until.is_empty();
        self.stop_waiting(token, settled);
        if done {
            self.finish_produce(token);
        }
    }

    /// The followers were too slow.
    pub(crate) fn expire_produce(&mut self, token: DelayedId) {
        if let Some(parked) = self.purgatory.get_mut(&token)
            && let DelayedOperation::Produce(produce) = &mut parked.waiting
        {
            let mut waits = Vec::new();
            for wait in produce.until.drain(..) {
                set_error(&mut produce.response, wait.position, ErrorCode::REQUEST_TIMED_OUT);
                waits.push((wait.topic, wait.partition));
            }
            self.stop_waiting(token, waits);
            self.finish_produce(token);
        }
    }

    fn finish_produce(&mut self, token: DelayedId) {
        if let Some(parked) = self.unpark(token)
            && let DelayedOperation::Produce(mut produce) = parked.waiting
        {
            if let Some(error) = parked.context.error_after {
                fail_all(&mut produce.response, error);
            }
            name_leaders(self, &parked.context, &mut produce.response);
            self.respond(&parked.context, &produce.response);
        }
    }

    pub(crate) fn stop_waiting_for_replication(&mut self, token: DelayedId, produce: &DelayedProduce) {
        let waits: Vec<_> = produce.until.iter().map(|p| (p.topic, p.partition)).collect();
        self.stop_waiting(token, waits);
    }

    /// Followers have copied a partition up to `offset`, if its leader is still of this epoch: another one began with
    /// what the followers had, and what lies at the offset now may be something else.
    pub(crate) fn replicated(&mut self, topic: Uuid, partition: i32, leader_epoch: i32, offset: i64) {
        let state = self.topics.by_id(topic).and_then(|t| t.partition(partition));
        if state.is_some_and(|p| p.leader_epoch == leader_epoch) {
            self.advance_high_watermark(topic, partition, offset);
        }
    }

    /// Lets followers copy what the leader appended up to `end_offset`, at once or in time.
    pub(crate) fn replicate(&mut self, topic: Uuid, partition: i32, end_offset: i64) {
        let state = self.topics.by_id(topic).and_then(|t| t.partition(partition));
        let Some(state) = state else {
            return;
        };
        if self.config.replication_delay_us == 0 || state.isr.len() < 2 {
            self.advance_high_watermark(topic, partition, end_offset);
            return;
        }
        let at = self.now.plus_us(self.config.replication_delay_us);
        let timer = Timer::Replicated {
            topic,
            partition,
            leader_epoch: state.leader_epoch,
            offset: end_offset,
        };
        self.timers.set(at, timer);
    }
}

/// Has every partition that went well answer an error.
fn fail_all(response: &mut ProduceResponse, error: ErrorCode) {
    let partitions = response.responses.iter_mut().flat_map(|t| &mut t.partition_responses);
    for partition in partitions.filter(|p| p.error_code == 0) {
        *partition = failure(partition.index, error.into());
    }
}

/// A partition was appended to and goes wrong afterwards: the answer keeps the offset, as that of real brokers does.
fn set_error(response: &mut ProduceResponse, position: (usize, usize), error: ErrorCode) {
    let topic = response.responses.get_mut(position.0);
    if let Some(partition) = topic.and_then(|t| t.partition_responses.get_mut(position.1)) {
        partition.error_code = error.0;
    }
}
