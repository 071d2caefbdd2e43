//! Brokers that die, freeze, move and change their roles.

use std::collections::BTreeMap;

use ottla_mock::BrokerId;

use super::FaultEvent;
use crate::net::Downlink;
use crate::trace::trace;
use crate::world::{World, WorldEvent};

impl World {
    fn any_broker(&mut self) -> BrokerId {
        let ids: Vec<BrokerId> = self.cluster.broker_ids().collect();
        self.faults.rng.pick(&ids)
    }

    fn accepting_broker(&mut self) -> Option<BrokerId> {
        let ids: Vec<BrokerId> = self
            .cluster
            .broker_ids()
            .filter(|b| self.cluster.is_accepting(*b))
            .collect();
        (!ids.is_empty()).then(|| self.faults.rng.pick(&ids))
    }

    pub(super) fn take_broker_down(&mut self, crash: bool, silently: bool) -> bool {
        let Some(broker) = self.accepting_broker() else {
            return false;
        };
        trace!(
            self.trace,
            "FAULT broker {broker} goes down, crash {crash}, silently {silently}"
        );
        if silently {
            for number in self.net.of_broker(broker) {
                self.kill_silently(number);
            }
        }
        let before = self.read_ends();
        match crash {
            true => self.cluster.crash_broker(broker),
            false => self.cluster.stop_broker(broker),
        }
        let after = self.read_ends();
        for ((topic, partition), end) in before {
            let kept = after.get(&(topic.clone(), partition)).copied().unwrap_or(0);
            if kept < end {
                trace!(self.trace, "FAULT {topic} [{partition}] loses {kept} to {}", end - 1);
                self.coverage.count("tails lost", 1);
                self.check.produced.on_lost(&topic, partition, kept, false, self.now_us);
            }
        }
        self.drop_connections(broker);
        let outage = self.outage_us();
        self.after_us(outage, WorldEvent::Fault(FaultEvent::StartBroker(broker)));
        true
    }

    /// Where each log ends.
    fn read_ends(&self) -> BTreeMap<(String, i32), i64> {
        let partitions = self.partitions().into_iter();
        let ends = partitions.map(|(topic, partition)| {
            let marks = self.cluster.watermarks(&topic, partition);
            let end = marks.map_or(0, |m| m.log_end_offset);
            ((topic, partition), end)
        });
        ends.collect()
    }

    /// A broker's process is gone: what it had not read is lost with it.
    fn drop_connections(&mut self, broker: BrokerId) {
        self.frozen.remove(&broker);
        for number in self.net.of_broker(broker) {
            self.send_down(number, Downlink::Reset("Connection reset by peer"), true);
            self.up_closed(number);
        }
    }

    pub(super) fn start_broker(&mut self, broker: BrokerId) {
        trace!(self.trace, "FAULT broker {broker} starts");
        self.cluster.advance_clock(ottla_mock::Time(self.now_us));
        self.cluster.start_broker(broker);
    }

    pub(super) fn freeze_broker(&mut self) -> bool {
        let Some(broker) = self.accepting_broker() else {
            return false;
        };
        if !self.frozen.insert(broker) {
            return false;
        }
        trace!(self.trace, "FAULT broker {broker} freezes");
        let outage = self.outage_us();
        self.after_us(outage, WorldEvent::Fault(FaultEvent::Thaw(broker)));
        // The controller notices a long silence, and others take over.
        if self.faults.rng.hit(0.5) {
            self.move_leaders_from(broker);
        }
        true
    }

    fn move_leaders_from(&mut self, broker: BrokerId) {
        let others: Vec<BrokerId> = self
            .cluster
            .broker_ids()
            .filter(|b| *b != broker && self.cluster.is_accepting(*b))
            .collect();
        if others.is_empty() {
            return;
        }
        for (topic, partition) in self.partitions() {
            if self.cluster.partition_leader(&topic, partition) == Some(broker) {
                let to = self.faults.rng.pick(&others);
                self.set_leader(&topic, partition, Some(to));
            }
        }
    }

    pub(super) fn cut_broker_off(&mut self) -> bool {
        let broker = self.any_broker();
        trace!(self.trace, "FAULT broker {broker} cannot be reached");
        self.cluster.set_reachable(broker, false);
        self.drop_connections(broker);
        let outage = self.outage_us();
        self.after_us(outage, WorldEvent::Fault(FaultEvent::Reach(broker)));
        true
    }

    pub(super) fn close_connections_of_one(&mut self) -> bool {
        let broker = self.any_broker();
        trace!(self.trace, "FAULT broker {broker} closes all connections");
        for number in self.net.of_broker(broker) {
            self.send_down(number, Downlink::Close, true);
            self.up_closed(number);
        }
        true
    }

    pub(super) fn half_close(&mut self) -> bool {
        let broker = self.any_broker();
        trace!(self.trace, "FAULT broker {broker} sends no more on its connections");
        for number in self.net.of_broker(broker) {
            self.send_down(number, Downlink::Close, false);
        }
        true
    }

    pub(super) fn move_broker(&mut self) -> bool {
        let broker = self.any_broker();
        trace!(self.trace, "FAULT broker {broker} gets another address");
        self.net.names.move_broker(broker);
        self.drop_connections(broker);
        true
    }

    pub(super) fn readvertise_broker(&mut self) -> bool {
        let broker = self.any_broker();
        let port = self.faults.rng.between(10_000, 60_000) as u16;
        trace!(self.trace, "FAULT broker {broker} is advertised on port {port}");
        self.net.names.move_port(broker, port);
        self.cluster.set_address(broker, &format!("broker-{broker}"), port);
        self.drop_connections(broker);
        true
    }

    fn partitions(&self) -> Vec<(String, i32)> {
        let names: Vec<String> = self.cluster.topic_names().map(str::to_owned).collect();
        let rows = names.into_iter().flat_map(|name| {
            let count = self.cluster.partition_count(&name).unwrap_or(0);
            (0..i32::try_from(count).unwrap_or(0)).map(move |p| (name.clone(), p))
        });
        rows.collect()
    }

    fn set_leader(&mut self, topic: &str, partition: i32, leader: Option<BrokerId>) {
        trace!(self.trace, "FAULT {topic} [{partition}] gets leader {leader:?}");
        // A broker that is down cannot lead, and the partition stays as it was.
        let _ = self.cluster.set_leader(topic, partition, leader);
    }

    pub(super) fn move_leader(&mut self) -> bool {
        let partitions = self.partitions();
        let Some(to) = self.accepting_broker().filter(|_| !partitions.is_empty()) else {
            return false;
        };
        let (topic, partition) = &partitions[self.faults.rng.below(partitions.len())];
        self.set_leader(topic, *partition, Some(to));
        true
    }

    pub(super) fn depose_leader(&mut self) -> bool {
        let partitions = self.partitions();
        if partitions.is_empty() {
            return false;
        }
        let (topic, partition) = partitions[self.faults.rng.below(partitions.len())].clone();
        self.set_leader(&topic, partition, None);
        let outage = self.outage_us();
        self.after_us(outage, WorldEvent::Fault(FaultEvent::Elect(topic, partition)));
        true
    }

    /// A replica that lags behind becomes leader: what it lacks is lost, though consumers may have read it.
    pub(super) fn elect_uncleanly(&mut self) -> bool {
        let partitions = self.partitions();
        if !self.plan.may_lose_committed() || partitions.is_empty() {
            return false;
        }
        let (topic, partition) = partitions[self.faults.rng.below(partitions.len())].clone();
        let most = self.faults.rng.spread(1, 1000) as i64;
        let Some(to) = self.accepting_broker() else {
            return false;
        };
        let leads = self.cluster.partition_leader(&topic, partition);
        let Some(marks) = self
            .cluster
            .watermarks(&topic, partition)
            .filter(|_| leads.is_some_and(|b| b != to))
        else {
            return false;
        };
        let from = (marks.high_watermark - most).max(marks.log_start_offset);
        let Ok((kept, epoch)) = self.cluster.elect_unclean_leader(&topic, partition, to, from) else {
            return false;
        };
        if kept >= marks.log_end_offset {
            return false;
        }
        trace!(
            self.trace,
            "FAULT {topic} [{partition}] loses {kept} to {} to leader {to} of epoch {epoch}",
            marks.log_end_offset - 1
        );
        self.check.produced.on_lost(&topic, partition, kept, true, self.now_us);
        self.check.consumed.on_lost(&topic, partition, (kept, epoch));
        if self.group_members.exists() {
            self.coverage.count("ends of logs lost to groups", 1);
            let lost = (kept, marks.high_watermark);
            self.check.groups.on_lost(&(topic, partition), lost, epoch, self.now_us);
        }
        true
    }

    /// Gives a partition without a leader one.
    pub(super) fn elect(&mut self, topic: &str, partition: i32) {
        if self.cluster.partition_leader(topic, partition).is_none()
            && let Some(broker) = self.accepting_broker()
        {
            self.set_leader(topic, partition, Some(broker));
        }
    }

    pub(super) fn move_controller(&mut self) -> bool {
        let broker = self.any_broker();
        self.cluster.set_controller(broker);
        true
    }

    pub(super) fn freeze_metadata(&mut self) -> bool {
        let broker = self.any_broker();
        trace!(self.trace, "FAULT metadata of broker {broker} lags");
        self.cluster.hold_metadata(broker, true);
        let outage = self.outage_us();
        self.after_us(outage, WorldEvent::Fault(FaultEvent::EndLag(broker)));
        true
    }

    pub(super) fn set_a_brokers_clock(&mut self) -> bool {
        let broker = self.any_broker();
        // Two clocks are less than a day apart: a broker forgets producers that seem idle for longer, as Kafka's would.
        let most = self.faults.rng.spread(100, 40_000_000);
        let skew_ms = self.faults.rng.between(0, 2 * most) as i64 - most as i64;
        trace!(self.trace, "FAULT the clock of broker {broker} is {skew_ms} ms fast");
        self.cluster.set_clock_skew_ms(broker, skew_ms);
        true
    }

    pub(super) fn change_replication_delay(&mut self) -> bool {
        let micros = if self.faults.rng.hit(0.3) {
            0
        } else {
            self.faults.rng.spread(100, 3_000_000)
        };
        trace!(self.trace, "FAULT replication takes {micros} us");
        self.cluster.set_replication_delay_us(micros);
        true
    }

    pub(super) fn heal_brokers(&mut self) {
        let ids: Vec<BrokerId> = self.cluster.broker_ids().collect();
        for broker in ids {
            self.cluster.set_reachable(broker, true);
            self.cluster.start_broker(broker);
            self.cluster.hold_metadata(broker, false);
            self.cluster.set_clock_skew_ms(broker, 0);
            self.thaw(broker);
        }
        for (topic, partition) in self.partitions() {
            self.elect(&topic, partition);
        }
        self.cluster
            .set_replication_delay_us(self.plan.cluster.replication_delay_us);
    }
}
