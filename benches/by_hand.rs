//! A producer without threads or sockets: the production core on the mock cluster, driven by explicit calls.
//!
//! Work other than a benchmark's subject happens between its measurements, when the benchmark calls for it, so that the
//! figures contain no work of other threads.

use std::collections::VecDeque;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use ottla_core::client::{ClientHooks, Command, Core, CoreBuilder, CredentialSource, DeliveryMode, Shared};
use ottla_core::config::Conf;
use ottla_core::connection::{ConnId, NetAction, NetEvent};
use ottla_core::producer::{self, Accumulator};
use ottla_core::reply::Reply;
use ottla_core::sys::{Clock, Rng, SystemClock, Waker};
use ottla_core::types::{ClientKind, Topic, TopicHooks};
use ottla_mock::{BrokerId, Cluster, ClusterConfig, ConnectionId, Reply as BrokerReply, Time};

const BROKER: BrokerId = BrokerId(1);
/// Maximum number of turns until the producer has its topic's metadata.
const TURNS_MAX: u32 = 1000;

/// A waker without effect: the core is driven explicitly.
#[derive(Debug)]
struct NoWaker;

impl Waker for NoWaker {
    fn wake(&self) {}
}

pub(crate) struct ProducerByHand {
    pub(crate) accumulator: Arc<Accumulator>,
    pub(crate) topic: Arc<Topic>,
    shared: Arc<Shared>,
    core: Core,
    cluster: Cluster,
    clock: Arc<SystemClock>,
    /// The number of frames written and connections opened.
    written: u64,
    connected: u64,
    news: VecDeque<NetEvent>,
}

impl ProducerByHand {
    /// Creates a producer with the metadata of its topic, which has this number of partitions.
    pub(crate) fn new(partitions: i32, settings: &[(&str, &str)]) -> Self {
        let mut cluster = Cluster::new(ClusterConfig {
            brokers: 1,
            ..ClusterConfig::default()
        });
        cluster.set_address(BROKER, "127.0.0.1", 9092);
        cluster.create_topic("benchmark", partitions, None).unwrap();
        let mut conf = Conf::new();
        conf.set("bootstrap.servers", "127.0.0.1:9092").unwrap();
        for (name, value) in settings {
            conf.set(name, *value).unwrap();
        }
        let (conf, topic_defaults) = conf.finalize(ClientKind::Producer).unwrap();
        let clock = Arc::new(SystemClock::new());
        let hooks = ClientHooks {
            delivery: DeliveryMode::All,
            ..ClientHooks::default()
        };
        let parts = CoreBuilder {
            kind: ClientKind::Producer,
            conf,
            topic_defaults,
            hooks,
            credentials: CredentialSource::default(),
            clock: clock.clone(),
            waker: Arc::new(NoWaker),
        };
        let core = parts.build(Rng::from_seed(1));
        let shared = core.shared().clone();
        let accumulator = shared.producer.clone().unwrap();
        let topic = shared.topic("benchmark", None, TopicHooks::default()).unwrap();
        accumulator.announce(&topic);
        let mut made = ProducerByHand {
            accumulator,
            topic,
            shared,
            core,
            cluster,
            clock,
            written: 0,
            connected: 0,
            news: VecDeque::new(),
        };
        made.find_topic(partitions);
        made
    }

    fn find_topic(&mut self, partitions: i32) {
        let known = |p: &Self| p.accumulator.is_partition_available(&p.topic, partitions - 1);
        for _ in 0..TURNS_MAX {
            if known(self) {
                return;
            }
            self.turn();
            std::thread::sleep(Duration::from_millis(1));
        }
        panic!("the producer did not find its topic in {TURNS_MAX} turns");
    }

    /// Delivers all frames in flight.
    fn turn(&mut self) {
        loop {
            let now = self.clock.now();
            while let Some(event) = self.news.pop_front() {
                self.core.on_net(event, now);
            }
            self.core.drive(now, self.clock.wall_ms());
            while let Some(action) = self.core.next_action() {
                self.perform(action);
            }
            if self.news.is_empty() {
                return;
            }
        }
    }

    fn perform(&mut self, action: NetAction) {
        match action {
            NetAction::Resolve { lookup, port, .. } => {
                let result = Ok(vec![SocketAddr::from((Ipv4Addr::LOCALHOST, port))]);
                self.news.push_back(NetEvent::Resolved { lookup, result });
            }
            // Only look-ups of canonical names and TLS request them.
            NetAction::ResolveNames { .. } | NetAction::RefreshCertificates | NetAction::SaslWork { .. } => {}
            NetAction::Connect { conn, .. } => {
                self.written = 0;
                self.connected += 1;
                self.news.push_back(NetEvent::Connected { conn, socket: -1 });
            }
            NetAction::Send { conn, frame } => self.serve(conn, frame),
            NetAction::Close { .. } => self.cluster.disconnected(BROKER, ConnectionId(self.connected)),
        }
    }

    fn serve(&mut self, conn: ConnId, frame: ottla_protocol::Frame) {
        self.written += 1;
        let (begun, done) = (self.written, self.written);
        self.news.push_back(NetEvent::Written { conn, begun, done });
        let request = frame.into_bytes().slice(4..);
        let now = Time(self.clock.now().as_micros());
        if let BrokerReply::Now(answer) = self.cluster.handle(BROKER, ConnectionId(self.connected), request, now) {
            let body = answer.into_bytes().slice(4..);
            self.news.push_back(NetEvent::Received { conn, body });
        }
    }

    /// Purges all records and serves their delivery reports, so that the producer is empty again.
    pub(crate) fn drain(&mut self) {
        let done = Reply::new();
        self.shared.send(Command::Producer(producer::Command::Purge {
            queue: true,
            in_flight: true,
            done,
        }));
        self.turn();
        while self.shared.main_queue.pop(Some(Duration::ZERO)).is_some() {}
        assert_eq!(self.accumulator.outstanding(), 0, "the producer is empty");
    }
}
