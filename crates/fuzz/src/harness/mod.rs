//! A harness for one client's core: a virtual clock, a network that the input controls, and the mock brokers.
//!
//! Pending look-ups, connections, requests and responses wait until the input selects their outcome, and virtual time
//! advances only by the input. [`Harness::run_without_faults`] delivers everything. A turn is one call of `Core::drive`.

mod statistics;

use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use bytes::Bytes;
use ottla_core::client::{ClientHooks, Command, Core, CoreBuilder, CredentialSource, Shared};
use ottla_core::config::Conf;
use ottla_core::connection::{CloseReason, ConnId, LookupId, NetAction, NetEvent};
use ottla_core::event::Event;
use ottla_core::stats::Statistics;
use ottla_core::sys::{Clock, Instant, Rng, Waker};
use ottla_core::types::{ClientKind, Topic, TopicHooks};
use ottla_mock::{BrokerId, Cluster, ClusterConfig, ConnectionId, Delivery, Fault, FaultAction, Outgoing, Reply, Time};
use ottla_protocol::api::produce::{PartitionProduceData, ProduceRequest, TopicProduceData};
use ottla_protocol::compression::Codec;
use ottla_protocol::record::{BatchParams, RecordEncoder, seal_batch};
use ottla_protocol::{ApiKey, ErrorCode, encode_request};

use crate::input::Input;

/// Start of virtual time; not zero, which production code may interpret as "never".
const START_US: u64 = 1_000_000;
/// The wall clock at the start, in milliseconds since 1970.
const WALL_START_MS: i64 = 1_700_000_000_000;
/// Maximum number of turns of a client at one point of virtual time; each turn sends some requests.
const TURNS_AT_ONCE_MAX: u32 = 300;
/// Maximum number of turns per second of virtual time without input; allows a few timers in each millisecond.
const TURNS_PER_SECOND_MAX: u64 = 3000;
pub(crate) const BROKERS: i32 = 2;
/// The topics that exist at the start, and one that does not.
pub(crate) const TOPICS: [&str; 3] = ["one", "two", "none"];
/// Partitions of each existing topic.
pub(crate) const PARTITIONS: i32 = 2;

const PORT: u16 = 9092;

/// An open connection of the client.
struct Conn {
    broker: BrokerId,
    /// Number of the connection at the broker.
    number: u64,
    /// Requests of which the first bytes were written.
    begun: u64,
    /// Requests that were written as a whole.
    done: u64,
}

/// A pending step of the network.
#[derive(Debug)]
enum Pending {
    Lookup {
        lookup: LookupId,
        host: String,
        port: u16,
    },
    Connect {
        conn: ConnId,
        addr: SocketAddr,
    },
    /// A frame with its length prefix.
    Request {
        conn: ConnId,
        frame: Bytes,
    },
    /// A frame without its length prefix.
    Response {
        conn: ConnId,
        body: Bytes,
    },
    /// The broker closes the connection.
    Close {
        conn: ConnId,
    },
}

impl Pending {
    fn conn(&self) -> Option<ConnId> {
        match self {
            Pending::Lookup { .. } => None,
            Pending::Connect { conn, .. }
            | Pending::Request { conn, .. }
            | Pending::Response { conn, .. }
            | Pending::Close { conn } => Some(*conn),
        }
    }

    /// Returns true for bytes from the client to the broker.
    fn goes_up(&self) -> bool {
        matches!(self, Pending::Request { .. })
    }
}

/// The outcome of a pending step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum NetFault {
    #[default]
    None,
    /// The response has an error; connecting and look-ups fail.
    Error,
    /// The step never completes.
    Lost,
    /// The connection breaks.
    Break,
    /// Some bytes of the response are changed.
    Changed,
    /// The response consists of random bytes after the right correlation id.
    Invented,
    /// The response consists of random bytes.
    Noise,
    /// The response is delivered twice.
    Duplicate,
}

const NET_FAULTS: &[NetFault] = &[
    NetFault::None,
    NetFault::Error,
    NetFault::Lost,
    NetFault::Break,
    NetFault::Changed,
    NetFault::Invented,
    NetFault::Noise,
    NetFault::Duplicate,
];

/// APIs whose older versions a broker may be limited to.
const APIS: &[ApiKey] = &[
    ApiKey::PRODUCE,
    ApiKey::FETCH,
    ApiKey::LIST_OFFSETS,
    ApiKey::METADATA,
    ApiKey::OFFSET_COMMIT,
    ApiKey::OFFSET_FETCH,
    ApiKey::FIND_COORDINATOR,
    ApiKey::JOIN_GROUP,
];

#[derive(Debug, Default)]
struct VirtualClock(AtomicU64);

impl Clock for VirtualClock {
    fn now(&self) -> Instant {
        Instant::from_micros(self.0.load(Ordering::Relaxed))
    }

    fn wall_ms(&self) -> i64 {
        WALL_START_MS + i64::try_from(self.0.load(Ordering::Relaxed) / 1000).unwrap_or(0)
    }
}

#[derive(Debug, Default)]
struct WakeFlag(AtomicBool);

impl Waker for WakeFlag {
    fn wake(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

pub(crate) struct Harness {
    core: Core,
    pub(crate) shared: Arc<Shared>,
    pub(crate) cluster: Cluster,
    pub(crate) now_us: u64,
    clock: Arc<VirtualClock>,
    waker: Arc<WakeFlag>,
    /// The core was notified of an event since its last turn.
    notified: bool,
    /// Time of the next turn that the core requested.
    wake_us: u64,
    /// Turns since virtual time advanced or the input was read.
    turns: u32,
    pending: VecDeque<Pending>,
    conns: BTreeMap<ConnId, Conn>,
    next_number: u64,
    /// The client's last statistics document.
    statistics: Option<Box<Statistics>>,
    /// The first violated property.
    violation: Option<String>,
}

impl Harness {
    /// Creates a client with these settings; `None` if they are inconsistent.
    pub(crate) fn new(kind: ClientKind, settings: &[(&str, String)], mut hooks: ClientHooks, seed: u8) -> Option<Self> {
        let mut cluster = Cluster::new(ClusterConfig {
            brokers: BROKERS,
            seed: seed.into(),
            auto_create_topics: seed & 1 == 1,
            ..ClusterConfig::default()
        });
        for broker in 1..=BROKERS {
            cluster.set_address(BrokerId(broker), &format!("broker-{broker}"), PORT);
        }
        for topic in TOPICS.iter().take(2) {
            cluster.create_topic(topic, PARTITIONS, None).ok()?;
        }
        let mut conf = Conf::new();
        conf.set("bootstrap.servers", "broker-1:9092,broker-2:9092").ok()?;
        for (name, value) in settings {
            conf.set(name, value.as_str()).ok()?;
        }
        conf.set("statistics.interval.ms", statistics::INTERVAL_MS).ok()?;
        hooks.stats_event = true;
        let (conf, topic_defaults) = conf.finalize(kind).ok()?;
        let credentials = CredentialSource::new(&conf, &hooks.sasl).ok()?;
        let clock = Arc::new(VirtualClock(AtomicU64::new(START_US)));
        let waker = Arc::new(WakeFlag::default());
        let builder = CoreBuilder {
            kind,
            conf,
            topic_defaults,
            hooks,
            credentials,
            clock: clock.clone(),
            waker: waker.clone(),
        };
        let core = builder.build(Rng::from_seed(seed.into()));
        let shared = core.shared().clone();
        if let Some(accumulator) = &shared.producer {
            accumulator.seed(seed.into());
        }
        Some(Harness {
            core,
            shared,
            cluster,
            now_us: START_US,
            clock,
            waker,
            notified: true,
            wake_us: u64::MAX,
            turns: 0,
            pending: VecDeque::new(),
            conns: BTreeMap::new(),
            next_number: 1,
            statistics: None,
            violation: None,
        })
    }

    pub(crate) fn topic(&self, index: usize) -> Option<Arc<Topic>> {
        let name = TOPICS.get(index)?;
        self.shared.topic(name, None, TopicHooks::default()).ok()
    }

    pub(crate) fn now(&self) -> Instant {
        Instant::from_micros(self.now_us)
    }

    pub(crate) fn is_finished(&self) -> bool {
        self.core.is_finished()
    }

    /// Records a violated property; only the first is kept.
    pub(crate) fn violate(&mut self, what: impl Into<String>) {
        self.violation.get_or_insert_with(|| what.into());
    }

    /// Returns the violated property, if there is one.
    pub(crate) fn result(&mut self) -> Result<(), String> {
        match self.violation.take() {
            Some(what) => Err(format!("after {} ms: {what}", (self.now_us - START_US) / 1000)),
            None => Ok(()),
        }
    }

    pub(crate) fn send(&mut self, command: Command) {
        self.shared.send(command);
    }

    fn notify(&mut self, event: NetEvent) {
        self.core.on_net(event, Instant::from_micros(self.now_us));
        self.notified = true;
    }

    /// Runs the cluster and the core until nothing is due at the current time.
    pub(crate) fn settle(&mut self) {
        self.turns = 0;
        self.settle_on();
    }

    fn settle_on(&mut self) {
        while self.violation.is_none() {
            while self.cluster.next_wake().is_some_and(|Time(at)| at <= self.now_us) {
                for out in self.cluster.poll(Time(self.now_us)) {
                    self.outgoing(out);
                }
            }
            let woken = self.waker.0.swap(false, Ordering::Relaxed);
            if !woken && !self.notified && self.wake_us > self.now_us {
                return;
            }
            self.turn();
        }
    }

    fn turn(&mut self) {
        self.notified = false;
        self.turns += 1;
        let now = Instant::from_micros(self.now_us);
        let wake = self.core.drive(now, self.clock.wall_ms());
        self.wake_us = wake.map_or(u64::MAX, Instant::as_micros);
        while let Some(action) = self.core.next_action() {
            self.perform(action);
        }
        self.read_statistics();
        if self.turns > TURNS_AT_ONCE_MAX {
            let wake = self.wake_us;
            self.violate(format!("{} turns while no time passed (next at {wake} us)", self.turns));
        }
    }

    fn read_statistics(&mut self) {
        let is_one = |event: &Event| matches!(event, Event::Stats(_));
        if self.shared.main_queue.len_where(is_one) == 0 {
            return;
        }
        for event in self.shared.main_queue.extract(is_one) {
            let Event::Stats(document) = event else { continue };
            if let Err(what) = statistics::check(self.statistics.as_deref(), &document) {
                self.violate(what);
            }
            self.statistics = Some(document);
        }
    }

    /// Advances time; only timers run.
    pub(crate) fn wait_ms(&mut self, millis: u64) {
        let until = self.now_us + millis * 1000;
        let mut turns = 0;
        while self.now_us < until && self.violation.is_none() {
            turns += u64::from(self.turns);
            if turns > TURNS_PER_SECOND_MAX * (1 + millis / 1000) {
                self.violate(format!("{turns} turns in less than {millis} ms without input"));
            }
            self.step(until);
        }
    }

    /// Advances to the next time at which something is due, at most to `until`.
    fn step(&mut self, until: u64) {
        let cluster = self.cluster.next_wake().map_or(u64::MAX, |Time(at)| at);
        let next = self.wake_us.min(cluster).min(until).max(self.now_us + 1);
        self.now_us = next;
        self.clock.0.store(next, Ordering::Relaxed);
        self.settle();
    }

    /// Delivers everything until `done` returns true or the time has passed; returns false in the latter case.
    pub(crate) fn run_without_faults(&mut self, millis: u64, mut done: impl FnMut(&mut Self) -> bool) -> bool {
        let until = self.now_us + millis * 1000;
        while self.violation.is_none() {
            self.deliver(usize::MAX);
            if done(self) {
                return true;
            }
            if self.now_us >= until {
                return false;
            }
            self.step(until);
        }
        true
    }

    /// Destroys the client and checks that nothing is left.
    pub(crate) fn end(mut self, topics: Vec<Arc<Topic>>) -> Result<(), String> {
        self.send(Command::Terminate);
        self.settle();
        self.result()?;
        ensure!(self.core.is_finished(), "the client has not ended");
        ensure!(self.conns.is_empty(), "{} connections are left", self.conns.len());
        let (connections, delayed) = (self.cluster.connection_count(), self.cluster.purgatory_size());
        ensure!(connections == 0, "the brokers have {connections} connections left");
        ensure!(delayed == 0, "the brokers have {delayed} requests left");
        for queue in [&self.shared.main_queue, &self.shared.consumer_queue] {
            queue.purge(true);
        }
        if let Some(accumulator) = &self.shared.producer {
            let outstanding = accumulator.outstanding();
            ensure!(outstanding == 0, "{outstanding} records are still counted");
        }
        if let Some(consumer) = &self.shared.consumer {
            let bytes = consumer.budget().bytes();
            ensure!(bytes == 0, "{bytes} fetched bytes are still counted");
        }
        let Harness { core, shared, .. } = self;
        drop(core);
        let references = Arc::strong_count(&shared) - 1;
        ensure!(references == 0, "{references} references to the client are left");
        drop(shared);
        for topic in topics {
            let references = Arc::strong_count(&topic) - 1;
            ensure!(
                references == 0,
                "{references} references to topic {} are left",
                topic.name()
            );
        }
        Ok(())
    }

    /// Queues an action that the core requests from the network.
    fn perform(&mut self, action: NetAction) {
        let pending = match action {
            NetAction::Resolve { lookup, host, port } => Pending::Lookup { lookup, host, port },
            NetAction::ResolveNames { .. } | NetAction::RefreshCertificates => return,
            NetAction::SaslWork { work, job } => {
                let result = job.run();
                return self.notify(NetEvent::SaslWorkDone { work, result });
            }
            NetAction::Connect { conn, addr, .. } => Pending::Connect { conn, addr },
            NetAction::Send { conn, frame } if self.conns.contains_key(&conn) => Pending::Request {
                conn,
                frame: frame.into_bytes(),
            },
            NetAction::Send { .. } => return,
            NetAction::Close { conn, acknowledge } => {
                self.forget(conn);
                if acknowledge {
                    self.notify(NetEvent::Released { conn });
                }
                return;
            }
        };
        self.pending.push_back(pending);
    }

    /// Removes a connection on both sides, with its pending steps.
    fn forget(&mut self, conn: ConnId) {
        self.pending.retain(|pending| pending.conn() != Some(conn));
        if let Some(state) = self.conns.remove(&conn) {
            self.cluster.disconnected(state.broker, ConnectionId(state.number));
        }
    }

    fn close(&mut self, conn: ConnId, reason: CloseReason) {
        self.forget(conn);
        self.notify(NetEvent::Closed { conn, reason });
    }

    /// Queues a delayed response of a broker, or its close of a connection.
    fn outgoing(&mut self, out: Outgoing) {
        let of_number = |(_, state): &(&ConnId, &Conn)| state.number == out.connection.0;
        let Some((&conn, _)) = self.conns.iter().find(of_number) else {
            return;
        };
        self.pending.push_back(match out.delivery {
            Delivery::Frame(frame) => response(conn, frame.into_bytes()),
            Delivery::Close(_) => Pending::Close { conn },
        });
    }

    /// Completes up to `count` pending steps without faults, oldest first.
    pub(crate) fn deliver(&mut self, count: usize) {
        self.settle();
        for _ in 0..count.min(100_000) {
            let Some(pending) = self.pending.pop_front() else {
                return;
            };
            self.complete(pending);
            self.settle();
        }
    }

    /// Applies a fault to a pending step; the input selects both.
    pub(crate) fn net_fault(&mut self, input: &mut Input) {
        let (which, fault) = (input.byte(), input.pick(NET_FAULTS));
        let Some(pending) = self.take(which.into()) else {
            return;
        };
        match fault {
            NetFault::None => self.complete(pending),
            NetFault::Error => self.fail(pending, input),
            NetFault::Lost => {}
            NetFault::Break => self.cut(pending, input),
            NetFault::Changed | NetFault::Invented | NetFault::Noise | NetFault::Duplicate => {
                self.corrupt(pending, fault, input)
            }
        }
        self.settle();
    }

    /// Removes a pending step: the one at `which` (modulo their number), or the oldest of the same connection and direction,
    /// whose bytes keep their order.
    fn take(&mut self, which: usize) -> Option<Pending> {
        let at = which.checked_rem(self.pending.len())?;
        let wanted = self.pending.get(at)?;
        let (conn, up) = (wanted.conn(), wanted.goes_up());
        let first = self
            .pending
            .iter()
            .position(|p| conn.is_some() && p.conn() == conn && p.goes_up() == up);
        self.pending.remove(first.unwrap_or(at))
    }

    /// Completes a step without a fault.
    fn complete(&mut self, pending: Pending) {
        match pending {
            Pending::Lookup { lookup, host, port } => {
                let number: Option<u8> = host.strip_prefix("broker-").and_then(|n| n.parse().ok());
                let address = |n| SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, n)), port);
                let result = number
                    .map(|n| vec![address(n)])
                    .ok_or_else(|| "no such host".to_owned());
                self.notify(NetEvent::Resolved { lookup, result });
            }
            Pending::Connect { conn, addr } => self.connect(conn, addr),
            Pending::Request { conn, frame } => self.serve(conn, &frame),
            Pending::Response { conn, body } => self.notify(NetEvent::Received { conn, body }),
            Pending::Close { conn } => self.close(conn, CloseReason::PeerClosed),
        }
    }

    fn connect(&mut self, conn: ConnId, addr: SocketAddr) {
        let broker = match addr.ip() {
            IpAddr::V4(ip) => BrokerId(ip.octets()[3].into()),
            IpAddr::V6(_) => BrokerId(0),
        };
        let listens = addr.port() == PORT && (1..=BROKERS).contains(&broker.0) && self.cluster.is_accepting(broker);
        if !listens {
            let reason = CloseReason::Io("Connection refused".into());
            return self.notify(NetEvent::Closed { conn, reason });
        }
        let number = self.next_number;
        self.next_number += 1;
        let (begun, done) = (0, 0);
        self.conns.insert(
            conn,
            Conn {
                broker,
                number,
                begun,
                done,
            },
        );
        self.notify(NetEvent::Connected { conn, socket: -1 });
    }

    /// Reports a request as written, completely or in part; returns its broker and connection.
    fn written(&mut self, conn: ConnId, whole: bool) -> Option<(BrokerId, u64)> {
        let state = self.conns.get_mut(&conn)?;
        state.begun += 1;
        state.done += u64::from(whole);
        let (begun, done) = (state.begun, state.done);
        let found = (state.broker, state.number);
        self.notify(NetEvent::Written { conn, begun, done });
        Some(found)
    }

    /// Passes a request to its broker.
    fn serve(&mut self, conn: ConnId, frame: &Bytes) {
        let Some((broker, number)) = self.written(conn, true) else {
            return;
        };
        let reply = self
            .cluster
            .handle(broker, ConnectionId(number), frame.slice(4..), Time(self.now_us));
        match reply {
            Reply::Now(answer) => self.pending.push_back(response(conn, answer.into_bytes())),
            Reply::Later | Reply::None => {}
            Reply::Close(_) => self.pending.push_back(Pending::Close { conn }),
        }
    }

    /// Completes a step with an error (`NetFault::Error`).
    fn fail(&mut self, pending: Pending, input: &mut Input) {
        match pending {
            Pending::Lookup { lookup, .. } => {
                let result = match input.flag() {
                    true => Err("Temporary failure in name resolution".into()),
                    false => Ok(Vec::new()),
                };
                self.notify(NetEvent::Resolved { lookup, result });
            }
            Pending::Connect { conn, .. } => {
                let reason = CloseReason::Io("Connection refused".into());
                self.notify(NetEvent::Closed { conn, reason });
            }
            Pending::Request { conn, frame } => {
                let code = match input.byte() {
                    255 => input.short().cast_signed(),
                    byte => i16::from(byte) % 130 - 1,
                };
                let broker = self.conns.get(&conn).map(|state| state.broker);
                if let Some(&[high, low]) = frame.get(4..).and_then(|key| key.first_chunk::<2>()) {
                    let fault = Fault {
                        action: FaultAction::Error(ErrorCode(code)),
                        delay_us: 0,
                    };
                    let api = ApiKey(i16::from_be_bytes([high, low]));
                    self.cluster.push_fault(broker, api, fault);
                }
                self.serve(conn, &frame);
            }
            other => self.complete(other),
        }
    }

    /// Breaks the connection: before or after the first bytes of a request were written, or within a response.
    fn cut(&mut self, pending: Pending, input: &mut Input) {
        let Some(conn) = pending.conn() else {
            return self.fail(pending, input);
        };
        if matches!(pending, Pending::Request { .. }) && input.flag() {
            self.written(conn, false);
        }
        let reason = match input.below(3) {
            0 => CloseReason::PeerClosed,
            1 => CloseReason::CutShort { got: 3, of: None },
            _ => CloseReason::Io("Connection reset by peer".into()),
        };
        self.close(conn, reason);
    }

    /// Delivers a changed, invented or repeated response in place of the broker's. Other steps complete without a fault.
    fn corrupt(&mut self, pending: Pending, fault: NetFault, input: &mut Input) {
        let (conn, body) = match pending {
            Pending::Response { conn, body } => (conn, body),
            other => return self.complete(other),
        };
        let mut bytes = body.to_vec();
        match fault {
            NetFault::Changed => {
                for _ in 0..1 + input.below(4) {
                    // The correlation id stays, so that the response belongs to a request.
                    let at = usize::from(input.short())
                        .checked_rem(bytes.len().saturating_sub(4))
                        .unwrap_or(0);
                    let change = input.byte();
                    if let Some(byte) = bytes.get_mut(4 + at) {
                        *byte ^= change.max(1);
                    }
                }
                if input.flag() {
                    bytes.truncate(usize::from(input.short()));
                }
            }
            NetFault::Invented => {
                bytes.truncate(4);
                bytes.extend_from_slice(input.chunk());
            }
            NetFault::Noise => bytes = input.chunk().to_vec(),
            _ => self.notify(NetEvent::Received { conn, body }),
        }
        if self.conns.contains_key(&conn) {
            let body = bytes.into();
            self.notify(NetEvent::Received { conn, body });
        }
    }

    /// Applies a fault to the cluster; does nothing if the fault is not possible now.
    pub(crate) fn cluster_fault(&mut self, input: &mut Input) {
        let topic = TOPICS.get(input.below(TOPICS.len())).copied().unwrap_or_default();
        let partition = input.below(3) as i32;
        let broker = BrokerId(1 + input.below(BROKERS as usize) as i32);
        match input.below(10) {
            0 => drop(self.cluster.set_leader(topic, partition, Some(broker))),
            1 => drop(self.cluster.set_leader(topic, partition, None)),
            2 => drop(self.cluster.delete_topic(topic)),
            3 => drop(self.cluster.create_topic(topic, 1 + partition, None)),
            4 => self.cluster.stop_broker(broker),
            5 => self.cluster.start_broker(broker),
            6 => self.cluster.close_connections(broker),
            7 => self.cluster.set_controller(broker),
            8 => self
                .cluster
                .set_throttle_ms(ApiKey(partition as i16), i32::from(input.byte()) * 10),
            _ => self.cluster.set_replication_delay_us(u64::from(input.byte()) * 1000),
        }
        self.settle();
    }

    /// Starts all brokers, creates missing topics, elects missing leaders and removes throttling.
    pub(crate) fn restore_cluster(&mut self) {
        for broker in 1..=BROKERS {
            self.cluster.start_broker(BrokerId(broker));
        }
        for topic in TOPICS.iter().take(2) {
            let _ = self.cluster.create_topic(topic, PARTITIONS, None);
            for partition in 0..3 {
                if self.cluster.partition_leader(topic, partition).is_none() {
                    let _ = self.cluster.set_leader(topic, partition, Some(BrokerId(1)));
                }
            }
        }
        for api in 0..3 {
            self.cluster.set_throttle_ms(ApiKey(api), 0);
        }
        self.cluster.set_replication_delay_us(0);
        self.settle();
    }

    /// Limits brokers to older versions of some APIs.
    pub(crate) fn limit_versions(&mut self, input: &mut Input) {
        for api in APIS {
            let byte = input.byte();
            if byte >= 128 {
                self.cluster.set_api_versions(*api, Some((0, i16::from(byte & 15))));
            }
        }
    }

    /// Appends a batch in every codec to each partition.
    pub(crate) fn fill_logs(&mut self) {
        let number = self.next_number;
        self.next_number += 1;
        for (topic, name) in TOPICS.iter().take(2).enumerate() {
            for partition in 0..PARTITIONS {
                let Some(leader) = self.cluster.partition_leader(name, partition) else {
                    continue;
                };
                for codec in Codec::ALL {
                    let Some(frame) = produce_request(name, partition, codec, topic + 2) else {
                        continue;
                    };
                    let connection = ConnectionId(number);
                    let _ = self.cluster.handle(leader, connection, frame, Time(self.now_us));
                    self.cluster.disconnected(leader, connection);
                }
            }
        }
    }
}

/// Returns one of a setting's values, which the input selects.
pub(crate) fn one_of(input: &mut Input, choices: &[&str]) -> String {
    input.pick(choices).to_owned()
}

/// Returns a time in milliseconds up to 63 s, mostly a short one, which the input selects.
pub(crate) fn pause_ms(input: &mut Input) -> u64 {
    let byte = input.byte();
    match byte >> 6 {
        0 => u64::from(byte),
        1 => u64::from(byte & 63) * 10,
        2 => u64::from(byte & 63) * 100,
        _ => u64::from(byte & 63) * 1000,
    }
}

fn response(conn: ConnId, frame: Bytes) -> Pending {
    let body = frame.slice(4.min(frame.len())..);
    Pending::Response { conn, body }
}

fn produce_request(topic: &str, partition: i32, codec: Codec, count: usize) -> Option<Bytes> {
    let count = i32::try_from(count).ok()?;
    let mut records = Vec::new();
    for n in 0..count {
        RecordEncoder::append(
            &mut records,
            n,
            0,
            Some(b"key"),
            Some(b"some value"),
            std::iter::empty(),
        );
    }
    let params = BatchParams {
        last_offset_delta: count - 1,
        base_timestamp: WALL_START_MS,
        max_timestamp: WALL_START_MS,
        records_count: count,
        ..BatchParams::default()
    };
    let request = ProduceRequest {
        acks: 1,
        timeout_ms: 1000,
        topic_data: vec![TopicProduceData {
            name: topic.to_owned(),
            partition_data: vec![PartitionProduceData {
                index: partition,
                records: seal_batch(&params, &[records.into()], codec, None).ok(),
                ..PartitionProduceData::default()
            }],
            ..TopicProduceData::default()
        }],
        ..ProduceRequest::default()
    };
    // Version 9 identifies topics by name.
    let frame = encode_request(1, Some("filler"), &request, 9).ok()?;
    Some(frame.into_bytes().slice(4..))
}
