//! Topics that come late, go, come back as others, and grow.

use ottla_mock::BrokerId;
use ottla_protocol::ErrorCode;

use super::FaultEvent;
use crate::check::{LogView, Logs};
use crate::message::read_records;
use crate::trace::trace;
use crate::world::{World, WorldEvent};

impl World {
    pub(super) fn any_topic(&mut self) -> String {
        let at = self.faults.rng.below(self.plan.topics.len());
        self.plan.topics[at].name.clone()
    }

    /// Makes a topic of the plan unless it is there.
    pub(super) fn make_topic(&mut self, name: &str) {
        if self.cluster.topic_id(name).is_some() {
            return;
        }
        let Some(plan) = self.plan.topics.iter().find(|t| t.name == name).cloned() else {
            return;
        };
        let alive = self
            .cluster
            .broker_ids()
            .filter(|b| self.cluster.is_accepting(*b))
            .count();
        let replicas = plan.replicas.min(i16::try_from(alive).unwrap_or(1));
        self.cluster.advance_clock(ottla_mock::Time(self.now_us));
        match self.cluster.create_topic(name, plan.partitions, Some(replicas)) {
            Ok(id) => trace!(self.trace, "FAULT topic {name} is made as {id}"),
            // All brokers may be down; it is made when faults end.
            Err(refusal) => trace!(self.trace, "FAULT topic {name} is not made: {}", refusal.message),
        }
    }

    pub(super) fn delete_topic(&mut self) -> bool {
        let name = self.any_topic();
        if self.cluster.topic_id(&name).is_none() {
            return false;
        }
        let logs = self.read_logs();
        let lags = self.plan.faults.stale_metadata;
        self.check.on_topic_deleted(&name, &logs, self.now_us, lags);
        trace!(self.trace, "FAULT topic {name} is deleted");
        if self.cluster.delete_topic(&name).is_err() {
            return false;
        }
        let again = if self.faults.rng.hit(0.3) { 0 } else { self.outage_us() };
        self.after_us(again, WorldEvent::Fault(FaultEvent::MakeTopic(name)));
        true
    }

    pub(super) fn grow_topic(&mut self) -> bool {
        let name = self.any_topic();
        let Some(count) = self.cluster.partition_count(&name).filter(|c| *c < 30) else {
            return false;
        };
        let total = i32::try_from(count).unwrap_or(0) + self.faults.rng.between(1, 4) as i32;
        trace!(self.trace, "FAULT topic {name} grows to {total} partitions");
        self.check.produced.on_partitions(&name, total);
        self.cluster.create_partitions(&name, total, Vec::new()).is_ok()
    }

    pub(super) fn break_topic(&mut self) -> bool {
        let name = self.any_topic();
        let mut errors = vec![ErrorCode::LEADER_NOT_AVAILABLE, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION];
        if self.plan.faults.fatal_errors {
            errors.push(ErrorCode::TOPIC_AUTHORIZATION_FAILED);
        }
        let error = self.faults.rng.pick(&errors);
        if self.cluster.set_topic_error(&name, Some(error)).is_err() {
            return false;
        }
        trace!(self.trace, "FAULT metadata of {name} says {error:?}");
        let outage = self.outage_us();
        self.after_us(outage, WorldEvent::Fault(FaultEvent::EndTopicError(name)));
        true
    }

    pub(super) fn heal_topics(&mut self) {
        let names: Vec<String> = self.plan.topics.iter().map(|t| t.name.clone()).collect();
        for name in names {
            self.make_topic(&name);
            // It exists now.
            let _ = self.cluster.set_topic_error(&name, None);
            self.add_replicas(&name);
        }
    }

    /// Every partition gets as many replicas as may be needed for `min.insync.replicas`.
    fn add_replicas(&mut self, name: &str) {
        let ids: Vec<BrokerId> = self.cluster.broker_ids().collect();
        let count = self.cluster.partition_count(name).unwrap_or(0);
        for partition in 0..i32::try_from(count).unwrap_or(0) {
            let leader = self.cluster.partition_leader(name, partition);
            for broker in ids.iter().copied().filter(|b| Some(*b) != leader) {
                // Leading once makes a broker an in-sync replica.
                let _ = self.cluster.set_leader(name, partition, Some(broker));
            }
            let _ = self.cluster.set_leader(name, partition, leader);
        }
    }

    /// Everything that lies in the logs.
    pub(crate) fn read_logs(&mut self) -> Logs {
        let mut logs = Logs::new();
        let names: Vec<String> = self.cluster.topic_names().map(str::to_owned).collect();
        for name in names {
            let count = self.cluster.partition_count(&name).unwrap_or(0);
            for partition in 0..i32::try_from(count).unwrap_or(0) {
                match self.read_log(&name, partition) {
                    Ok(view) => _ = logs.insert((name.clone(), partition), view),
                    Err(what) => self
                        .check
                        .violate(format!("the log of {name} [{partition}] cannot be read: {what}")),
                }
            }
        }
        logs
    }

    /// The logs without what is in them.
    pub(crate) fn read_watermarks(&self) -> Logs {
        let mut logs = Logs::new();
        for name in self.cluster.topic_names() {
            let count = self.cluster.partition_count(name).unwrap_or(0);
            for partition in 0..i32::try_from(count).unwrap_or(0) {
                if let Some(marks) = self.cluster.watermarks(name, partition) {
                    let view = LogView {
                        start: marks.log_start_offset,
                        high_watermark: marks.high_watermark,
                        records: Vec::new(),
                    };
                    logs.insert((name.to_owned(), partition), view);
                }
            }
        }
        logs
    }

    fn read_log(&self, name: &str, partition: i32) -> Result<LogView, String> {
        let marks = self.cluster.watermarks(name, partition).ok_or("it is not there")?;
        let mut view = LogView {
            start: marks.log_start_offset,
            high_watermark: marks.high_watermark,
            records: Vec::new(),
        };
        for batch in self.cluster.partition_batches(name, partition).unwrap_or_default() {
            view.records.extend(read_records(batch.into_bytes())?);
        }
        Ok(view)
    }
}
