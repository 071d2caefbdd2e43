//! A producer that the test drives step by step: with the real connection table and cluster manager, and simulated brokers.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use ottla_protocol::api::api_versions::{ApiVersion, ApiVersionsResponse};
use ottla_protocol::api::init_producer_id::InitProducerIdResponse;
use ottla_protocol::api::metadata::{
    MetadataRequest, MetadataResponse, MetadataResponseBroker, MetadataResponsePartition, MetadataResponseTopic,
};
use ottla_protocol::api::produce::{PartitionProduceResponse, ProduceRequest, ProduceResponse, TopicProduceResponse};
use ottla_protocol::{ApiKey, Frame, Message, Reader, RequestHeader, Uuid, encode_response};

use super::coordinator::Coordinating;
use super::fake_brokers::{FakeClock, Model, Report, Sent};
use crate::cluster::{Change, Cluster, parse_endpoints};
use crate::config::{ClientConfig, Conf, TopicConf, TopicConfig};
use crate::connection::{CloseReason, ConnId, ConnectionEvent, ConnectionTable, NetAction, NetEvent, Owner};
use crate::context::Ctx;
use crate::error::{Error, ErrorCode};
use crate::event::{Delivery, DeliveryMode, Event, Queue};
use crate::log::{DebugContexts, Logger};
use crate::producer::{Accumulator, Command, Record, Sender};
use crate::records::Payload;
use crate::sys::{Clock, Instant, Rng, earliest};
use crate::types::{ClientKind, Topic, TopicHooks};

#[derive(Debug, Default)]
pub(in crate::producer) struct Conn {
    pub(in crate::producer) node: i32,
    frames: u64,
    begun: u64,
    /// Requests without a response yet, and responses that wait for those of earlier requests.
    unanswered: VecDeque<i32>,
    held: HashMap<i32, Bytes>,
}

pub(in crate::producer) struct World {
    pub(in crate::producer) accumulator: Arc<Accumulator>,
    pub(in crate::producer) sender: Sender,
    pub(in crate::producer) cluster: Cluster,
    pub(in crate::producer) connections: ConnectionTable,
    pub(in crate::producer) queue: Arc<Queue>,
    pub(in crate::producer) hand: Arc<FakeClock>,
    pub(in crate::producer) conf: ClientConfig,
    rng: Rng,
    log: Logger,
    pub(in crate::producer) now: Instant,
    topic_conf: TopicConfig,
    topics: HashMap<String, Arc<Topic>>,
    pub(in crate::producer) model: HashMap<String, Model>,
    pub(in crate::producer) conns: HashMap<ConnId, Conn>,
    /// Produce requests that wait for the test's response, oldest first.
    pub(in crate::producer) sent: Vec<Sent>,
    pub(in crate::producer) produce_versions: (i16, i16),
    /// Sockets accept written bytes.
    pub(in crate::producer) kernel_takes: bool,
    /// Brokers that refuse connections.
    pub(in crate::producer) down: Vec<i32>,
    pub(in crate::producer) metadata_requests: usize,
    /// Throttle times that were reported since the test last read them.
    pub(in crate::producer) pauses: Vec<i32>,
    pub(in crate::producer) producer_id_requests: usize,
    /// The error code in responses to InitProducerId.
    pub(in crate::producer) producer_id_error: i16,
    /// The coordinators of transactions and groups.
    pub(in crate::producer) coordinating: Coordinating,
    /// The last request without a response of a coordinator.
    unanswered: Option<(ConnId, i32)>,
}

const BROKERS: [i32; 3] = [1, 2, 3];

macro_rules! ctx {
    ($w:expr) => {
        Ctx {
            now: $w.now,
            wall_ms: $w.hand.wall_ms(),
            connections: &mut $w.connections,
            rng: &mut $w.rng,
            log: &$w.log,
            conf: &$w.conf,
        }
    };
}

impl World {
    pub(in crate::producer) fn new(settings: &[(&str, &str)]) -> Self {
        Self::with_topic(settings, &[])
    }

    /// Client and topic settings.
    pub(in crate::producer) fn with_topic(settings: &[(&str, &str)], topic: &[(&str, &str)]) -> Self {
        let mut conf = Conf::new();
        conf.set("bootstrap.servers", "broker1:9001").unwrap();
        for (name, value) in settings {
            conf.set(name, *value).unwrap();
        }
        let mut topic_conf = TopicConf::new();
        for (name, value) in topic {
            topic_conf.set(name, *value).unwrap();
        }
        conf.set_topic_defaults(Some(topic_conf));
        let (conf, topic_conf) = conf.finalize(ClientKind::Producer).unwrap();
        let hand = Arc::new(FakeClock::default());
        let now = Instant::from_micros(1_000_000);
        hand.set(now);
        let accumulator = Arc::new(Accumulator::new(&conf, DeliveryMode::All, hand.clone(), hand.clone()));
        accumulator.seed(5);
        let queue = Queue::new();
        let sender = Sender::new(accumulator.clone(), &conf, queue.clone());
        let mut w = World {
            accumulator,
            sender,
            cluster: Cluster::default(),
            connections: ConnectionTable::new(crate::connection::ConnectionConfig::new(&conf), Rng::from_seed(1)),
            queue,
            hand,
            conf,
            rng: Rng::from_seed(2),
            log: Logger::new(Arc::new(|_| {}), 7, DebugContexts::default()),
            now,
            topic_conf,
            topics: HashMap::new(),
            model: HashMap::new(),
            conns: HashMap::new(),
            sent: Vec::new(),
            produce_versions: (3, 12),
            kernel_takes: true,
            down: Vec::new(),
            metadata_requests: 0,
            pauses: Vec::new(),
            producer_id_requests: 0,
            producer_id_error: 0,
            coordinating: Coordinating::default(),
            unanswered: None,
        };
        let (endpoints, _) = parse_endpoints("broker1:9001");
        let mut ctx = ctx!(w);
        w.cluster.add_bootstrap(&mut ctx, &endpoints);
        w
    }

    /// Adds a topic with these leaders to the brokers.
    pub(in crate::producer) fn add_topic(&mut self, name: &str, leaders: &[i32]) {
        let mut id = [0; 16];
        id[0] = self.model.len() as u8 + 1;
        let leaders = leaders.iter().map(|l| (*l, 1)).collect();
        self.model.insert(
            name.into(),
            Model {
                id: Uuid(id),
                error: 0,
                leaders,
            },
        );
    }

    /// Moves a partition to another leader.
    pub(in crate::producer) fn move_leader(&mut self, topic: &str, partition: usize, leader: i32) {
        let slot = &mut self.model.get_mut(topic).unwrap().leaders[partition];
        *slot = (leader, slot.1 + 1);
    }

    pub(in crate::producer) fn topic(&mut self, name: &str) -> Arc<Topic> {
        self.topic_with(name, TopicHooks::default())
    }

    pub(in crate::producer) fn topic_with(&mut self, name: &str, hooks: TopicHooks) -> Arc<Topic> {
        let index = self.topics.len() as u32;
        let conf = self.topic_conf.clone();
        let make = || Arc::new(Topic::new(name, conf, hooks, index));
        self.topics.entry(name.into()).or_insert_with(make).clone()
    }

    pub(in crate::producer) fn produce(&mut self, topic: &str, partition: i32, value: &str) -> Result<(), Error> {
        let topic = self.topic(topic);
        let record = Record {
            value: Payload::Copy(value.as_bytes()),
            ..Default::default()
        };
        self.accumulator.produce(&topic, partition, record)
    }

    // ---------------------------------------------------------------- time and network

    /// Drives the client until it has no more events; returns the time of its next wake-up.
    pub(in crate::producer) fn drive(&mut self) -> Option<Instant> {
        for _ in 0..10_000 {
            self.connections.poll(self.now);
            let mut moved = self.dispatch();
            let mut ctx = ctx!(self);
            let cluster_wake = self.cluster.poll(&mut ctx);
            let wake = self.sender.poll(&mut ctx, &mut self.cluster);
            while let Some(action) = self.connections.next_action() {
                moved = true;
                self.perform(action);
            }
            let wake = earliest(earliest(cluster_wake, wake), self.connections.next_wake());
            if !moved && wake.is_none_or(|at| at > self.now) {
                return wake;
            }
        }
        panic!("the client spins");
    }

    fn dispatch(&mut self) -> bool {
        let mut moved = false;
        loop {
            if let Some(event) = self.connections.next_event() {
                let mut ctx = ctx!(self);
                match event {
                    ConnectionEvent::Up { key } => {
                        self.cluster.on_connection_up(&mut ctx, key);
                        self.sender.on_connection_up(&mut ctx, &mut self.cluster, key);
                    }
                    ConnectionEvent::Down { key, error, .. } => {
                        let error = error.as_ref();
                        self.sender.on_connection_down(&mut ctx, &mut self.cluster, key, error);
                        self.cluster.on_connection_down(&mut ctx, error);
                    }
                    ConnectionEvent::Throttled { throttle_ms, .. } => self.pauses.push(throttle_ms),
                    ConnectionEvent::Names { .. } => {}
                    ConnectionEvent::SendReady { key } => self.sender.on_unthrottled(key),
                    ConnectionEvent::Outcome { key, tag, outcome } => match tag.owner {
                        Owner::Cluster => self.cluster.on_outcome(&mut ctx, key, tag.id, outcome),
                        _ => self
                            .sender
                            .on_outcome(&mut ctx, &mut self.cluster, key, tag.id, outcome),
                    },
                }
            } else if let Some(change) = self.cluster.next_change() {
                if let Change::Topic(name) = change {
                    let mut ctx = ctx!(self);
                    self.sender.on_topic_changed(&mut ctx, &mut self.cluster, &name);
                }
            } else {
                return moved;
            }
            moved = true;
        }
    }

    /// Advances the time and drives the client at each wake-up it has requested.
    pub(in crate::producer) fn run_ms(&mut self, ms: u64) {
        self.run_to(self.now.plus_ms(ms));
    }

    pub(in crate::producer) fn run_to(&mut self, end: Instant) {
        loop {
            let wake = self.drive();
            let next = wake.filter(|at| *at < end).unwrap_or(end);
            self.now = next;
            self.hand.set(next);
            if next == end {
                self.drive();
                return;
            }
        }
    }

    fn perform(&mut self, action: NetAction) {
        match action {
            NetAction::ResolveNames { .. } | NetAction::RefreshCertificates => {}
            NetAction::Resolve { lookup, port, .. } => {
                let result = Ok(vec![([127, 0, 0, 1], port).into()]);
                self.connections.on_net(NetEvent::Resolved { lookup, result }, self.now);
            }
            NetAction::Connect { conn, addr, .. } => {
                let node = i32::from(addr.port()) - 9000;
                let event = if self.down.contains(&node) {
                    let reason = CloseReason::Io("Connection refused".into());
                    NetEvent::Closed { conn, reason }
                } else {
                    self.conns.insert(
                        conn,
                        Conn {
                            node,
                            ..Default::default()
                        },
                    );
                    NetEvent::Connected { conn, socket: -1 }
                };
                self.connections.on_net(event, self.now);
            }
            NetAction::Send { conn, frame } => self.receive(conn, frame),
            NetAction::Close { conn } => {
                self.conns.remove(&conn);
                self.sent.retain(|s| s.conn != conn);
            }
        }
    }

    fn receive(&mut self, conn: ConnId, frame: Frame) {
        let Some(c) = self.conns.get_mut(&conn) else { return };
        let node = c.node;
        c.frames += 1;
        let mut reader = Reader::new(frame.into_bytes().slice(4..));
        let header = RequestHeader::decode(&mut reader).unwrap();
        let (correlation, version) = (header.correlation_id, header.api_version);
        if let Some(c) = self.conns.get_mut(&conn) {
            c.unanswered.push_back(correlation);
        }
        match header.api_key {
            ApiKey::API_VERSIONS => {
                self.write(conn);
                let row = |key: ApiKey, (min_version, max_version)| ApiVersion {
                    api_key: key.0,
                    min_version,
                    max_version,
                    ..Default::default()
                };
                let coordinated = self.coordinating.versions();
                let keys = [
                    row(ApiKey::METADATA, (0, 12)),
                    row(ApiKey::API_VERSIONS, (0, 3)),
                    row(ApiKey::PRODUCE, self.produce_versions),
                    row(ApiKey::INIT_PRODUCER_ID, (0, 5)),
                ];
                let coordinated = coordinated.into_iter().map(|(key, range)| row(key, range));
                let response = ApiVersionsResponse {
                    api_keys: keys.into_iter().chain(coordinated).collect(),
                    finalized_features: self.coordinating.features(),
                    ..Default::default()
                };
                self.respond(conn, correlation, &response, version);
            }
            ApiKey::METADATA => {
                self.write(conn);
                self.metadata_requests += 1;
                let request = MetadataRequest::decode(&mut reader, version).unwrap();
                let response = self.metadata(&request);
                self.respond(conn, correlation, &response, version);
            }
            key if self.coordinating.takes(key, &self.conf) => {
                self.write(conn);
                let body = self.coordinating.answer(node, key, correlation, version, &mut reader);
                match body {
                    Some(body) => self.respond_with(conn, correlation, body),
                    None => self.unanswered = Some((conn, correlation)),
                }
            }
            ApiKey::INIT_PRODUCER_ID => {
                self.write(conn);
                self.producer_id_requests += 1;
                let response = InitProducerIdResponse {
                    error_code: self.producer_id_error,
                    producer_id: 77,
                    ..Default::default()
                };
                self.respond(conn, correlation, &response, version);
            }
            _ => {
                let request = ProduceRequest::decode(&mut reader, version).unwrap();
                if request.acks == 0
                    && let Some(c) = self.conns.get_mut(&conn)
                {
                    c.unanswered.pop_back();
                }
                self.sent.push(Sent {
                    conn,
                    node,
                    correlation,
                    version,
                    request,
                });
                if self.kernel_takes {
                    self.write(conn);
                }
            }
        }
    }

    pub(in crate::producer) fn is_open(&self, conn: ConnId) -> bool {
        self.conns.contains_key(&conn)
    }

    /// Simulates that the kernel takes all frames of a connection.
    pub(in crate::producer) fn write(&mut self, conn: ConnId) {
        let Some(c) = self.conns.get_mut(&conn) else { return };
        c.begun = c.frames;
        let event = NetEvent::Written {
            conn,
            begun: c.begun,
            done: c.frames,
        };
        self.connections.on_net(event, self.now);
    }

    fn metadata(&self, request: &MetadataRequest) -> MetadataResponse {
        let names: Vec<String> = request.topics.iter().flatten().filter_map(|t| t.name.clone()).collect();
        let topic = |name: String| {
            let base = MetadataResponseTopic {
                name: Some(name.clone()),
                ..Default::default()
            };
            let Some(model) = self.model.get(&name) else {
                return MetadataResponseTopic { error_code: 3, ..base };
            };
            let partition = |(i, (leader, epoch)): (usize, &(i32, i32))| MetadataResponsePartition {
                partition_index: i as i32,
                leader_id: *leader,
                leader_epoch: *epoch,
                error_code: if *leader < 0 { 5 } else { 0 },
                ..Default::default()
            };
            MetadataResponseTopic {
                error_code: model.error,
                topic_id: model.id,
                partitions: model.leaders.iter().enumerate().map(partition).collect(),
                ..base
            }
        };
        let broker = |id: i32| MetadataResponseBroker {
            node_id: id,
            host: format!("broker{id}"),
            port: 9000 + id,
            ..Default::default()
        };
        MetadataResponse {
            brokers: BROKERS.into_iter().map(broker).collect(),
            topics: names.into_iter().map(topic).collect(),
            controller_id: 1,
            ..Default::default()
        }
    }

    fn respond<M: Message>(&mut self, conn: ConnId, correlation: i32, message: &M, version: i16) {
        let body = encode_response(correlation, message, version)
            .unwrap()
            .into_bytes()
            .slice(4..);
        self.respond_with(conn, correlation, body);
    }

    /// Sends the response that a coordinator has held back.
    pub(in crate::producer) fn answer_late(&mut self) {
        let held = self.coordinating.held.take().zip(self.unanswered.take());
        let (body, (conn, correlation)) = held.expect("a request without answer");
        self.respond_with(conn, correlation, body);
    }

    /// Sends a response as soon as the earlier requests of its connection have theirs, as brokers do.
    fn respond_with(&mut self, conn: ConnId, correlation: i32, body: Bytes) {
        let Some(c) = self.conns.get_mut(&conn) else { return };
        c.held.insert(correlation, body);
        let mut ready = Vec::new();
        while let Some(body) = c.unanswered.front().and_then(|first| c.held.remove(first)) {
            c.unanswered.pop_front();
            ready.push(body);
        }
        for body in ready {
            self.connections.on_net(NetEvent::Received { conn, body }, self.now);
        }
    }

    /// Responds with a malformed body.
    pub(in crate::producer) fn respond_garbage(&mut self, sent: &Sent) {
        let mut body = sent.correlation.to_be_bytes().to_vec();
        body.extend([0xff; 20]);
        self.respond_with(sent.conn, sent.correlation, Bytes::from(body));
        self.drive();
    }

    // ---------------------------------------------------------------- brokers' responses

    /// Removes and returns the oldest unanswered request.
    pub(in crate::producer) fn take_sent(&mut self) -> Sent {
        assert!(!self.sent.is_empty(), "a produce request was sent");
        self.sent.remove(0)
    }

    /// Values of every partition of the requests that wait, in order.
    pub(in crate::producer) fn sent_values(&self) -> Vec<(String, Vec<String>)> {
        let names = self.names();
        self.sent.iter().flat_map(|s| s.values(&names)).collect()
    }

    pub(in crate::producer) fn names(&self) -> HashMap<Uuid, String> {
        self.model.iter().map(|(n, m)| (m.id, n.clone())).collect()
    }

    /// Responds to a request; `part` fills in the response of each partition.
    pub(in crate::producer) fn answer(&mut self, sent: &Sent, part: impl Fn(&str, &mut PartitionProduceResponse)) {
        self.answer_with(sent, ProduceResponse::default(), part);
    }

    pub(in crate::producer) fn answer_with(
        &mut self,
        sent: &Sent,
        base: ProduceResponse,
        part: impl Fn(&str, &mut PartitionProduceResponse),
    ) {
        let responses = sent.request.topic_data.iter().map(|t| TopicProduceResponse {
            name: t.name.clone(),
            topic_id: t.topic_id,
            partition_responses: t
                .partition_data
                .iter()
                .map(|p| {
                    let mut answer = PartitionProduceResponse {
                        index: p.index,
                        ..Default::default()
                    };
                    part(&t.name, &mut answer);
                    answer
                })
                .collect(),
            ..Default::default()
        });
        let response = ProduceResponse {
            responses: responses.collect(),
            ..base
        };
        self.respond(sent.conn, sent.correlation, &response, sent.version);
        self.drive();
    }

    /// Acknowledges the oldest request with this base offset for every partition.
    pub(in crate::producer) fn acknowledge(&mut self, base_offset: i64) {
        let sent = self.take_sent();
        self.answer(&sent, |_, p| p.base_offset = base_offset);
    }

    /// Refuses every partition of the oldest request.
    pub(in crate::producer) fn refuse(&mut self, code: ErrorCode) {
        let sent = self.take_sent();
        self.answer(&sent, |_, p| {
            p.error_code = code.0 as i16;
            p.base_offset = -1;
        });
    }

    /// The broker's connections break.
    pub(in crate::producer) fn disconnect(&mut self, node: i32) {
        let conns: Vec<ConnId> = self
            .conns
            .iter()
            .filter(|(_, c)| c.node == node)
            .map(|(id, _)| *id)
            .collect();
        for conn in conns {
            self.conns.remove(&conn);
            self.sent.retain(|s| s.conn != conn);
            let reason = CloseReason::Io("Connection reset by peer".into());
            self.connections.on_net(NetEvent::Closed { conn, reason }, self.now);
        }
        self.drive();
    }

    // ---------------------------------------------------------------- the application's view

    pub(in crate::producer) fn deliveries(&mut self) -> Vec<Delivery> {
        let mut out = Vec::new();
        while let Some(event) = self.queue.pop(Some(Duration::ZERO)) {
            if let Event::Delivery(delivery) = event {
                out.push(delivery);
            }
        }
        out
    }

    /// Returns the reports since the last call, record by record.
    pub(in crate::producer) fn reports(&mut self) -> Vec<Report> {
        let mut out = Vec::new();
        for d in self.deliveries() {
            assert_eq!(d.records().count(), d.len());
            for r in d.records() {
                out.push(Report {
                    value: String::from_utf8_lossy(r.value.unwrap_or_default()).into_owned(),
                    partition: d.partition,
                    error: d.error.as_ref().map_or(ErrorCode::NO_ERROR, |e| e.code),
                    status: d.status,
                    offset: r.offset,
                });
            }
        }
        out
    }

    pub(in crate::producer) fn command(&mut self, command: Command) {
        let mut ctx = ctx!(self);
        self.sender.on_command(&mut ctx, &mut self.cluster, command);
        self.drive();
    }

    pub(in crate::producer) fn close(&mut self) {
        let mut ctx = ctx!(self);
        self.sender.close(&mut ctx, &mut self.cluster);
    }
}
