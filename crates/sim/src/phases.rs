//! How a world goes on: faults, then peace in which everything must settle, work and end.

use crate::clock::WALL_START_MS;
use crate::trace::trace;
use crate::workload::Workload;
use crate::world::{Phase, World, WorldEvent};

/// How often it is looked whether a phase is over.
const LOOK_US: u64 = 50_000;
/// How long clients are left alone.
const QUIET_US: u64 = 5_000_000;
/// Turns that a client that has nothing to do may take meanwhile, for each broker.
const QUIET_DRIVES: u64 = 600;
/// Turns that a fetch takes: to send it, to hear that it was sent, to read the answer in pieces.
const DRIVES_A_FETCH: u64 = 10;
/// How long closing may take, besides the longest delay in the network: a connection that went dead is noticed after half
/// of this.
const CLOSE_US: u64 = 70_000_000;

impl World {
    /// Looks whether the phase is over.
    pub(crate) fn next_phase(&mut self) {
        let waited = self.now_us - self.phase_began_us;
        match self.phase {
            Phase::Hostile => {
                self.heal();
                let skew = self.healed_skew_ms();
                for client in &self.clients {
                    client.clock.set_skew_ms(skew);
                }
                self.healed_at_us = self.now_us;
                for client in 0..self.clients.len() {
                    self.thaw_client(client);
                }
                self.enter(Phase::Settling);
                self.start_all_members();
            }
            Phase::Settling => self.wait_for_apps(waited, Phase::Probing),
            Phase::Probing => self.wait_for_apps(waited, Phase::Quiet),
            Phase::Quiet => {
                if waited >= QUIET_US {
                    self.check_quiet();
                    self.end_clients();
                    self.enter(Phase::Closing);
                }
            }
            Phase::Closing => {
                let open = (0..self.clients.len()).find(|c| !self.is_finished(*c));
                if open.is_none() && self.net.conns.is_empty() {
                    return self.finish();
                }
                if waited > CLOSE_US + self.plan.net.late_us {
                    let conns = self.net.conns.len();
                    self.check.violate(format!(
                        "not closed: client {open:?} is not finished, {conns} connections are left"
                    ));
                }
            }
            Phase::Over => {}
        }
        self.after_us(LOOK_US, WorldEvent::Phase);
    }

    fn enter(&mut self, phase: Phase) {
        trace!(self.trace, "PHASE {phase:?}");
        self.phase = phase;
        self.phase_began_us = self.now_us;
        self.phase_limit_us = self.plan.settle_us + self.work_left() * self.plan.step_us();
        for client in &mut self.clients {
            client.drives = 0;
            client.taken_before = client.counters.taken;
        }
        if phase == Phase::Settling || phase == Phase::Probing {
            // Applications that pause for long look up now.
            for client in 0..self.clients.len() {
                self.app_at(client, self.now_us);
            }
        }
    }

    fn wait_for_apps(&mut self, waited: u64, next: Phase) {
        let waits = (0..self.clients.len()).find_map(|client| self.app_waits_for(client));
        let waits = waits.or_else(|| self.groups_wait_for());
        let waits = waits.or_else(|| self.transactions_wait_for());
        match waits {
            None => {
                self.enter(next);
                if next == Phase::Probing {
                    self.choose_leaver();
                }
            }
            Some(what) if waited > self.phase_limit_us => {
                for (number, client) in self.clients.iter().enumerate() {
                    trace!(self.trace, "c{number} stands so: {:?}", client.core);
                }
                self.check.violate(format!(
                    "{:?} takes longer than {} s: {what}",
                    self.phase,
                    waited / 1_000_000
                ));
            }
            Some(_) => {}
        }
    }

    /// What is still to be done one after the other, at the worst: messages to be sent and records to be read.
    fn work_left(&mut self) -> u64 {
        let logs = self.read_watermarks();
        let records: i64 = logs.values().map(|log| log.high_watermark - log.start).sum();
        let mut work = 0;
        for client in &self.clients {
            work += client.shared.producer.as_ref().map_or(0, |a| a.outstanding() as u64);
            if client.shared.consumer.is_some() {
                work += records.unsigned_abs();
            }
        }
        work
    }

    fn check_quiet(&mut self) {
        let brokers = u64::from(self.plan.cluster.brokers.unsigned_abs());
        // Who never takes what was fetched may still have some to fetch.
        let listening = self
            .clients
            .iter()
            .enumerate()
            .filter(|(_, c)| !c.workload.never_polls());
        // Nobody waits for what a producer that never listens has left to send, and consumers read it.
        let trickles = self
            .clients
            .iter()
            .any(|c| c.workload.never_polls() && c.shared.producer.is_some());
        let listening = listening.filter(|(_, c)| !trickles || c.shared.consumer.is_none());
        for (number, client) in listening {
            let fetches = match client.shared.consumer {
                Some(_) => QUIET_US / 1000 / u64::from(client.shared.conf.fetch_wait_max_ms).max(1),
                None => 0,
            };
            // Some readers are not waited for: what they still read they may have fetched one by one.
            let fetches = fetches + client.counters.taken - client.taken_before;
            let watch = self.turns_of_statistics(QUIET_US);
            let limit = (QUIET_DRIVES + fetches * DRIVES_A_FETCH + watch) * brokers;
            if client.drives > limit {
                let drives = client.drives;
                self.check.violate(format!(
                    "client {number} has nothing to do and takes {drives} turns in {QUIET_US} us"
                ));
                return;
            }
        }
    }

    /// Where the clients' wall clocks are right.
    pub(crate) fn healed_skew_ms(&self) -> i64 {
        self.plan.cluster.wall_clock_ms - WALL_START_MS
    }

    /// Members of groups end by themselves, and so do loops with their clients: they leave before.
    fn end_clients(&mut self) {
        for client in 0..self.clients.len() {
            if matches!(self.clients[client].workload, Workload::Member(_) | Workload::Loop(_)) {
                self.app_at(client, self.now_us);
                continue;
            }
            if self.workers.belongs_to_loop(client) {
                continue;
            }
            self.shared(client).send(ottla::client::Command::Terminate);
        }
    }

    /// Everything has ended: compares the books and looks for what is left.
    fn finish(&mut self) {
        for client in 0..self.clients.len() {
            self.app_turn(client);
            if let Some(what) = self.app_waits_for(client) {
                self.check.violate(what);
            }
        }
        self.coverage.count("connections", self.net.next - 1);
        let pushes = self.cluster.pushed_metrics().len() as u64;
        self.coverage.count("pushes of metrics", pushes);
        if self.workers.exist() {
            self.compare_chain();
        } else {
            let logs = self.read_logs();
            self.check.compare_with_logs(&logs);
        }
        self.check_nothing_is_left();
        self.enter(Phase::Over);
    }

    fn check_nothing_is_left(&mut self) {
        for (number, client) in std::mem::take(&mut self.clients).into_iter().enumerate() {
            let crate::client::SimClient {
                core,
                shared,
                topics,
                workload,
                crashed,
                ..
            } = client;
            let never_polls = workload.never_polls();
            drop((core, workload));
            if crashed {
                continue;
            }
            let held = shared.consumer.as_ref().map_or(0, |r| r.budget().bytes());
            let outstanding = shared.producer.as_ref().map_or(0, |a| a.outstanding());
            if !never_polls && (held > 0 || outstanding > 0) {
                self.check.violate(format!(
                    "client {number} has ended and counts {held} bytes of records, {outstanding} messages"
                ));
            }
            let holders = std::sync::Arc::strong_count(&shared);
            if holders != 1 {
                self.check
                    .violate(format!("client {number} has ended and {} hold on to it", holders - 1));
            }
            drop(shared);
            for topic in topics {
                let holders = std::sync::Arc::strong_count(&topic);
                if holders != 1 {
                    let name = topic.name();
                    self.check.violate(format!(
                        "client {number} has ended and {} hold on to {name}",
                        holders - 1
                    ));
                }
            }
        }
        let (connections, parked) = (self.cluster.connection_count(), self.cluster.purgatory_size());
        if connections > 0 || parked > 0 {
            self.check.violate(format!(
                "the brokers have {connections} connections and {parked} requests left"
            ));
        }
    }
}
