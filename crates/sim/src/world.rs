//! The state of a world: clients, brokers and the network between them, on one line of virtual time.
//!
//! The parts keep their own invariants; the modules above this one (transport, checks, applications, faults) work on
//! several parts at once.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::sync::Arc;

use bytes::Bytes;
use ottla_core::client::{Core, Shared};
use ottla_core::connection::{CertificateRefresh, NetEvent};
use ottla_core::sys::Instant;
use ottla_core::work::Work;
use ottla_mock::Cluster;
use ottla_protocol::api::sasl_authenticate::SaslAuthenticateRequest;
use ottla_protocol::{ApiKey, decode_response, encode_response, peek_correlation_id};

use crate::canary::{Canary, CanaryState};
use crate::check::{AppCounters, Checker};
use crate::client::{Common, SimClient};
use crate::clock::WALL_START_MS;
use crate::coverage::Coverage;
use crate::event::WorldEvent;
use crate::group_members::GroupMembers;
use crate::jobs::Jobs;
use crate::net::Net;
use crate::plan::{MemberPlan, Plan};
use crate::produce_acks::ProduceAcks;
use crate::rng::SeededRng;
use crate::sasl::Sasl;
use crate::schedule::Schedule;
use crate::share_members::ShareMembers;
use crate::tls::Tls;
use crate::trace::{Trace, trace};
use crate::txn_workers::TxnWorkers;

/// The phases of a world.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Phase {
    /// Faults happen.
    Hostile,
    /// No faults any more; everything must settle.
    Settling,
    /// Everything must work at the first attempt.
    Probing,
    /// Applications are idle; clients must be quiet.
    Quiet,
    /// Clients end.
    Closing,
    Over,
}

/// The application of a client.
pub(crate) trait Application: Debug {
    /// Runs the application once. Returns the time to its next turn in microseconds, `None` for no other turn.
    fn turn(&mut self, world: &mut World, client: usize) -> Option<u64>;

    /// Returns the reason why the application is not done with the phase; `None` when it is.
    fn waits_for(&mut self, _world: &mut World, _client: usize) -> Option<String> {
        None
    }

    /// Returns true when the application leaves the events of its queues where they are.
    fn never_polls(&self) -> bool {
        false
    }

    /// Returns true when the application ends its clients itself once the world closes.
    fn ends_its_clients(&self) -> bool {
        false
    }

    /// Acts right before the clients end.
    fn before_end(&mut self, _world: &mut World) -> Option<()> {
        None
    }

    /// Returns the application as a member of a group, where it is one.
    fn as_member(&self) -> Option<&dyn Member> {
        None
    }
}

/// An application as a member of a group.
pub(crate) trait Member {
    fn plan(&self) -> &MemberPlan;

    /// Returns the topics of the last subscription.
    fn subscription(&self) -> &BTreeSet<String>;

    /// Returns true when it is a member of its group, or wants to be.
    fn is_member(&self) -> bool;

    /// Returns the name under which the partitions of the client are recorded. A static member that returns has another
    /// member id, and the same partitions in the same generation.
    fn owner(&self, member: &str) -> String;
}

/// A client's admin caller.
struct Caller {
    /// `None` during its turn.
    app: Option<Box<dyn Application>>,
    /// The time of its next turn; `u64::MAX` for never.
    at_us: u64,
}

/// The state of a world.
pub(crate) struct World {
    pub(crate) seed: u64,
    pub(crate) canary: CanaryState,
    pub(crate) plan: Plan,
    schedule: Schedule<WorldEvent>,
    pub(crate) cluster: Cluster,
    pub(crate) clients: Vec<SimClient>,
    /// The clients' applications. `None` during its turn, and for a client that serves another one's application.
    apps: Vec<Option<Box<dyn Application>>>,
    /// The clients' admin callers, which run beside their applications.
    callers: BTreeMap<usize, Caller>,
    /// The calls before the clients' end have begun.
    pub(crate) has_last_calls: bool,
    pub(crate) net: Net,
    pub(crate) tls: Tls,
    pub(crate) sasl: Sasl,
    pub(crate) jobs: Jobs,
    pub(crate) group_members: GroupMembers,
    pub(crate) share_members: ShareMembers,
    pub(crate) txn_workers: TxnWorkers,
    pub(crate) check: Checker,
    pub(crate) trace: Trace,
    pub(crate) coverage: Coverage,
    pub(crate) phase: Phase,
    pub(crate) phase_began_us: u64,
    /// The longest time that the phase may take.
    pub(crate) phase_limit_us: u64,
    /// The end of the faults.
    pub(crate) healed_at_us: u64,
    /// The time at which everything had settled.
    pub(crate) settled_at_us: u64,
    pub(crate) app_rng: SeededRng,
    pub(crate) produce_acks: ProduceAcks,
    /// The APIs of the requests that clients have sent.
    pub(crate) requested_apis: BTreeSet<ApiKey>,
    /// The API of each unanswered request, for the trace.
    pub(crate) traced_requests: BTreeMap<(u64, i32), (ApiKey, i16)>,
}

/// The start of virtual time. It is not zero, which production code may take for "never".
pub(crate) const START_US: u64 = 1_000_000;

impl World {
    pub(crate) fn new(seed: u64, plan: Plan, canary: Option<Canary>, trace: Trace) -> Self {
        let schedule = Schedule::new(START_US);
        World {
            seed,
            canary: CanaryState::new(canary),
            sasl: Sasl::new(seed, plan.sasl.clone(), schedule.time()),
            schedule,
            cluster: Cluster::new(plan.cluster.clone()),
            clients: Vec::new(),
            apps: Vec::new(),
            callers: BTreeMap::new(),
            has_last_calls: false,
            net: Net::new(plan.net.clone(), SeededRng::of(seed, 2)),
            tls: Tls::new(plan.tls.clone(), SeededRng::of(seed, 61)),
            jobs: Jobs::new(plan.jobs.clone(), SeededRng::of(seed, 96)),
            group_members: GroupMembers::new(seed, plan.groups.clone()),
            share_members: ShareMembers::new(seed, plan.share.clone()),
            txn_workers: TxnWorkers::new(seed, plan.transactions.clone()),
            check: Checker::default(),
            trace,
            coverage: Coverage::default(),
            phase: Phase::Hostile,
            phase_began_us: START_US,
            phase_limit_us: 0,
            healed_at_us: u64::MAX,
            settled_at_us: u64::MAX,
            app_rng: SeededRng::of(seed, 4),
            produce_acks: ProduceAcks::default(),
            requested_apis: BTreeSet::from([ApiKey::API_VERSIONS, ApiKey::METADATA]),
            traced_requests: BTreeMap::new(),
            plan,
        }
    }

    // ---------------------------------------------------------------- time

    pub(crate) fn now_us(&self) -> u64 {
        self.schedule.now_us()
    }

    pub(crate) fn set_now(&mut self, now_us: u64) {
        if self.schedule.set_now(now_us) {
            for client in &mut self.clients {
                client.spins = 0;
            }
        }
        self.trace.set_now(now_us);
    }

    pub(crate) fn at_us(&mut self, at_us: u64, event: WorldEvent) {
        self.schedule.add(at_us, event);
    }

    pub(crate) fn after_us(&mut self, delay_us: u64, event: WorldEvent) {
        self.schedule.add(self.schedule.now_us() + delay_us, event);
    }

    /// Removes the next event; returns it with its time.
    pub(crate) fn next_event(&mut self) -> Option<(u64, WorldEvent)> {
        self.schedule.pop()
    }

    // ---------------------------------------------------------------- clients

    /// Returns the properties of the next client that do not depend on its kind.
    pub(crate) fn common(&mut self) -> Common {
        Common {
            tls: self.tls.add_client(self.clients.len(), self.schedule.now_us()),
            sasl: self.sasl.add_client(self.clients.len(), &mut self.cluster),
            bootstrap: self.net.names.bootstrap(),
            time: self.schedule.time(),
            tracing: self.trace.is_on(),
            statistics_ms: self.plan.statistics.statistics_ms,
        }
    }

    /// Adds a client with its application, which gets its first turn now.
    pub(crate) fn add_client(&mut self, built: Result<SimClient, String>, app: Option<Box<dyn Application>>) {
        match built {
            Ok(client) => {
                let number = self.clients.len();
                trace!(self.trace, "c{number} {}", client.describe());
                self.clients.push(client);
                self.apps.push(app);
                self.after_us(0, WorldEvent::Drive(number));
                self.clients[number].drive_at_us = self.now_us();
                self.app_at(number, self.now_us());
            }
            Err(what) => self.check.violate(format!("a client cannot be built: {what}")),
        }
    }

    pub(crate) fn app(&self, client: usize) -> Option<&dyn Application> {
        self.apps.get(client)?.as_deref()
    }

    pub(crate) fn set_app(&mut self, client: usize, app: Box<dyn Application>) {
        self.apps[client] = Some(app);
    }

    /// Calls the application of a client, which has no application meanwhile.
    pub(crate) fn with_app<T>(
        &mut self,
        client: usize,
        call: impl FnOnce(&mut dyn Application, &mut World) -> Option<T>,
    ) -> Option<T> {
        let mut app = self.apps.get_mut(client)?.take()?;
        let result = call(app.as_mut(), self);
        self.apps[client] = Some(app);
        result
    }

    /// Returns the application of a client as a member of a group, where it is one.
    pub(crate) fn member(&self, client: usize) -> Option<&dyn Member> {
        self.app(client)?.as_member()
    }

    /// Removes all clients with their applications.
    pub(crate) fn take_clients(&mut self) -> Vec<(SimClient, Option<Box<dyn Application>>)> {
        let apps = std::mem::take(&mut self.apps);
        std::mem::take(&mut self.clients).into_iter().zip(apps).collect()
    }

    /// Schedules a turn of a client's thread.
    pub(crate) fn wake(&mut self, client: usize) {
        let delay = self.net.thread_delay_us();
        self.drive_at(client, self.now_us() + delay);
    }

    pub(crate) fn drive_at(&mut self, client: usize, at_us: u64) {
        let slot = &mut self.clients[client].drive_at_us;
        if at_us < *slot {
            *slot = at_us;
            self.at_us(at_us, WorldEvent::Drive(client));
        }
    }

    /// Schedules the next turn of an application, unless it has an earlier one.
    pub(crate) fn app_at(&mut self, client: usize, at_us: u64) {
        let slot = &mut self.clients[client].app_at_us;
        if at_us < *slot {
            *slot = at_us;
            self.at_us(at_us, WorldEvent::App(client));
        }
    }

    /// Adds an admin caller to a client.
    pub(crate) fn add_caller(&mut self, client: usize, caller: Box<dyn Application>) {
        let app = Some(caller);
        self.callers.insert(client, Caller { app, at_us: u64::MAX });
        self.caller_at(client, self.now_us());
    }

    /// Returns the clients with an admin caller.
    pub(crate) fn callers(&self) -> Vec<usize> {
        self.callers.keys().copied().collect()
    }

    /// Schedules the next turn of an admin caller, unless it has an earlier one.
    pub(crate) fn caller_at(&mut self, client: usize, at_us: u64) {
        if let Some(caller) = self.callers.get_mut(&client).filter(|caller| at_us < caller.at_us) {
            caller.at_us = at_us;
            self.at_us(at_us, WorldEvent::Caller(client));
        }
    }

    /// Returns true when the turn of an admin caller is due, and removes it from the schedule.
    pub(crate) fn take_caller_turn(&mut self, client: usize) -> bool {
        let now_us = self.now_us();
        let due = self.callers.get_mut(&client).filter(|caller| caller.at_us == now_us);
        due.map(|caller| caller.at_us = u64::MAX).is_some()
    }

    /// Calls the admin caller of a client.
    pub(crate) fn with_caller<T>(
        &mut self,
        client: usize,
        call: impl FnOnce(&mut dyn Application, &mut World) -> Option<T>,
    ) -> Option<T> {
        let mut app = self.callers.get_mut(&client)?.app.take()?;
        let result = call(app.as_mut(), self);
        if let Some(caller) = self.callers.get_mut(&client) {
            caller.app = Some(app);
        }
        result
    }

    /// Passes an event of the network to a client's core.
    pub(crate) fn deliver_net_event(&mut self, client: usize, mut event: NetEvent) {
        let now = Instant::from_micros(self.now_us());
        let state = &mut self.clients[client];
        if state.frozen_until_us > 0 {
            return state.held.push(event);
        }
        if let NetEvent::CertificatesRefreshed(result @ CertificateRefresh::Renewed(_)) = &mut event {
            self.tls.on_notified(client, now.as_micros());
            if self.canary.is(Canary::KeptCertificates) {
                *result = CertificateRefresh::Unchanged;
            }
        }
        if self.sasl.exists() {
            self.on_received(client, &mut event);
        }
        if let Some(core) = &mut self.clients[client].core {
            core.on_net(event, now);
            self.wake(client);
        }
    }

    /// Ends a job that a client has handed out. A process that is stopped continues it later.
    pub(crate) fn end_job(&mut self, client: usize, work: Work) {
        let state = &self.clients[client];
        if state.frozen_until_us > self.now_us() {
            let at_us = state.frozen_until_us;
            return self.at_us(at_us, WorldEvent::JobEnds { client, work });
        }
        if state.crashed {
            return;
        }
        self.coverage.count("jobs", 1);
        self.coverage
            .count("jobs that decompress", u64::from(work.is_decompression()));
        for done in self.canary.exchange(client, work.run()) {
            if let Some(core) = &mut self.clients[client].core {
                core.on_work(done);
                self.wake(client);
            }
        }
    }

    /// Notes a response that reaches a client which authenticates.
    fn on_received(&mut self, client: usize, event: &mut NetEvent) {
        let NetEvent::Received { conn, body } = event else {
            return;
        };
        let number = self.net.number(client, *conn);
        let Some((number, correlation)) = number.zip(peek_correlation_id(body).ok()) else {
            return;
        };
        let now_us = self.now_us();
        let completed = self.sasl.on_response(number, correlation, now_us);
        if let Some(version) = completed.filter(|_| self.canary.is(Canary::KeptSession))
            && let Some(endless) = without_lifetime(body, version)
        {
            *body = endless;
        }
    }

    /// Stops processes, as SIGSTOP does: their clients do nothing, and events of the network are held.
    pub(crate) fn freeze(&mut self, clients: &[usize], until_us: u64) {
        for client in clients {
            trace!(self.trace, "c{client} is frozen until {until_us}");
            self.clients[*client].frozen_until_us = until_us;
            self.at_us(until_us, WorldEvent::Thaw(*client));
        }
    }

    /// Continues a process whose stop is over.
    pub(crate) fn thaw_client(&mut self, client: usize) {
        let now_us = self.now_us();
        let state = &mut self.clients[client];
        if state.frozen_until_us > now_us && self.net.has_faults_enabled() {
            return;
        }
        if std::mem::take(&mut state.frozen_until_us) > 0 {
            self.wake(client);
        }
        for event in std::mem::take(&mut self.clients[client].held) {
            self.deliver_net_event(client, event);
        }
    }

    /// Returns the core of a client that has one.
    pub(crate) fn core(&self, client: usize) -> Option<&Core> {
        self.clients.get(client)?.core.as_ref()
    }

    /// Returns true when a client has ended.
    pub(crate) fn is_finished(&self, client: usize) -> bool {
        self.core(client).is_none_or(Core::is_finished)
    }

    /// Returns the shared state of a client's threads.
    pub(crate) fn shared(&self, client: usize) -> Arc<Shared> {
        self.clients[client].shared.clone()
    }

    /// Returns the counters of a client's application.
    pub(crate) fn counters(&mut self, client: usize) -> &mut AppCounters {
        &mut self.clients[client].counters
    }

    /// Sets the wall clocks of clients from `first` on, which have started after the faults.
    pub(crate) fn set_right_clocks(&self, first: usize) {
        let skew = self.healed_skew_ms();
        for client in self.clients.iter().skip(first).filter(|_| self.phase != Phase::Hostile) {
            client.clock.set_skew_ms(skew);
        }
    }

    /// Returns the skew of a right wall clock.
    pub(crate) fn healed_skew_ms(&self) -> i64 {
        self.plan.cluster.wall_clock_ms - WALL_START_MS
    }
}

/// Removes the session's length from a SaslAuthenticate response, for a canary.
fn without_lifetime(body: &Bytes, version: i16) -> Option<Bytes> {
    let (correlation, mut response) = decode_response::<SaslAuthenticateRequest>(body.clone(), version).ok()?;
    response.session_lifetime_ms = 0;
    let frame = encode_response(correlation, &response, version).ok()?;
    Some(frame.into_bytes().slice(4..))
}
