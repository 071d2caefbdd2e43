//! The environment of the tests: a consumer, virtual time, and brokers whose responses the test provides.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use ottla_protocol::api::api_versions::{ApiVersion, ApiVersionsResponse};
use ottla_protocol::api::fetch::{FetchRequest, FetchResponse, FetchableTopicResponse, PartitionData};
use ottla_protocol::api::find_coordinator::{Coordinator, FindCoordinatorRequest, FindCoordinatorResponse};
use ottla_protocol::api::metadata::{
    MetadataRequest, MetadataResponse, MetadataResponseBroker, MetadataResponsePartition, MetadataResponseTopic,
};
use ottla_protocol::{ApiKey, Frame, Message, Reader, Request, RequestHeader, Uuid, encode_response};
use parking_lot::Mutex;

pub(super) use super::asked::Asked;
use super::builders::data;
use crate::cluster::{Change, Cluster, parse_endpoints};
use crate::config::{ClientConfig, Conf, TopicConf, TopicConfig};
use crate::connection::{
    CloseReason, ConnId, ConnectionConfig, ConnectionEvent, ConnectionTable, NetAction, NetEvent, Owner,
};
use crate::consumer::{Command, Consumer, Setup, SharedState};
use crate::context::Ctx;
use crate::error::{Error, ErrorCode};
use crate::event::{Event, Queue};
use crate::log::{DebugContexts, Logger};
use crate::reply::Reply;
use crate::sys::{Instant, Rng, Waker, earliest};
use crate::types::{ClientKind, NodeId, PartitionOffset, Topic, TopicHooks, TopicPartition};

#[derive(Debug, Default)]
pub(super) struct Wakes(pub(super) AtomicUsize);

impl Waker for Wakes {
    fn wake(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[derive(Clone, Debug)]
pub(super) struct Model {
    pub(super) id: Uuid,
    /// Leader and leader epoch by partition.
    pub(super) leaders: Vec<(i32, i32)>,
}

/// A decoded Fetch request, with its partitions and offsets.
pub(super) type AskedFetch = (Asked, FetchRequest, Vec<(i32, i64)>);

/// An event of the application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Got {
    Record(i32, i64, String),
    Error(ErrorCode, i64),
    Rebalance(ErrorCode, Vec<i32>),
    Commit(ErrorCode),
}

pub(super) struct World {
    pub(super) consumer: Consumer,
    pub(super) shared: Arc<SharedState>,
    pub(super) cluster: Cluster,
    pub(super) connections: ConnectionTable,
    pub(super) queue: Arc<Queue>,
    pub(super) wakes: Arc<Wakes>,
    pub(super) conf: ClientConfig,
    rng: Rng,
    log: Logger,
    pub(super) now: Instant,
    topics: Arc<Mutex<HashMap<String, Arc<Topic>>>>,
    topic_conf: TopicConfig,
    pub(super) model: HashMap<String, Model>,
    conns: HashMap<ConnId, i32>,
    /// Frames written, by connection.
    written: HashMap<ConnId, u64>,
    pub(super) asked: Vec<Asked>,
    /// Metadata requests behind an unanswered request: a broker answers a connection's requests in their order.
    behind: Vec<Asked>,
    /// Unanswered requests by connection.
    open: HashMap<ConnId, usize>,
    pub(super) fetch_versions: (i16, i16),
    /// The newest version of OffsetForLeaderEpoch; `None` if brokers do not support it.
    pub(super) epochs_version: Option<i16>,
    /// The newest version of ConsumerGroupHeartbeat; `None` if brokers do not support it.
    pub(super) heartbeat_version: Option<i16>,
    pub(super) coordinator: i32,
    pub(super) down: Vec<i32>,
    /// Brokers that keep their connections and do not respond.
    pub(super) frozen: Vec<i32>,
}

macro_rules! ctx {
    ($w:expr) => {
        Ctx {
            now: $w.now,
            wall_ms: 0,
            connections: &mut $w.connections,
            rng: &mut $w.rng,
            log: &$w.log,
            conf: &$w.conf,
        }
    };
}

const BROKERS: [i32; 3] = [1, 2, 3];

fn topic_of(all: &Mutex<HashMap<String, Arc<Topic>>>, conf: &TopicConfig, name: &str) -> Arc<Topic> {
    let mut all = all.lock();
    let index = u32::try_from(all.len()).unwrap();
    let make = || Arc::new(Topic::new(name, conf.clone(), TopicHooks::default(), index));
    all.entry(name.to_owned()).or_insert_with(make).clone()
}

impl World {
    pub(super) fn new(settings: &[(&str, &str)], topic: &[(&str, &str)]) -> Self {
        let mut conf = Conf::new();
        conf.set("bootstrap.servers", "broker1:9001").unwrap();
        conf.set("group.id", "g").unwrap();
        let mut rebalance_event = false;
        for (name, value) in settings {
            match *name {
                "test.rebalance" => rebalance_event = true,
                name => conf.set(name, *value).unwrap(),
            }
        }
        let mut topic_conf = TopicConf::new();
        for (name, value) in topic {
            topic_conf.set(name, *value).unwrap();
        }
        conf.set_topic_defaults(Some(topic_conf));
        let (conf, topic_conf) = conf.finalize(ClientKind::Consumer).unwrap();
        let wakes = Arc::new(Wakes::default());
        let queue = Queue::new();
        let shared = Arc::new(SharedState::new(&conf, queue.clone(), wakes.clone()));
        let topics = Arc::new(Mutex::new(HashMap::new()));
        let (all, topic_settings) = (topics.clone(), topic_conf.clone());
        let setup = Setup {
            topics: Arc::new(move |name| Ok(topic_of(&all, &topic_settings, name))),
            rebalance_event,
            commit_event: true,
            interceptor: None,
        };
        let mut w = World {
            consumer: Consumer::new(shared.clone(), &conf, setup),
            shared,
            cluster: Cluster::default(),
            connections: ConnectionTable::new(ConnectionConfig::new(&conf), Rng::from_seed(1)),
            queue,
            wakes,
            conf,
            rng: Rng::from_seed(2),
            log: Logger::new(Arc::new(|_| {}), 7, DebugContexts::default()),
            now: Instant::from_micros(1_000_000),
            topics,
            topic_conf,
            model: HashMap::new(),
            conns: HashMap::new(),
            written: HashMap::new(),
            asked: Vec::new(),
            behind: Vec::new(),
            open: HashMap::new(),
            fetch_versions: (0, 17),
            epochs_version: Some(4),
            heartbeat_version: Some(1),
            coordinator: 1,
            down: Vec::new(),
            frozen: Vec::new(),
        };
        let (endpoints, _) = parse_endpoints("broker1:9001");
        let mut ctx = ctx!(w);
        w.cluster.add_bootstrap(&mut ctx, &endpoints);
        w
    }

    pub(super) fn add_topic(&mut self, name: &str, leaders: &[i32]) {
        let mut id = [7; 16];
        id[0] = u8::try_from(self.model.len()).unwrap() + 1;
        let leaders = leaders.iter().map(|l| (*l, 1)).collect();
        self.model.insert(name.into(), Model { id: Uuid(id), leaders });
    }

    pub(super) fn topic(&self, name: &str) -> Arc<Topic> {
        topic_of(&self.topics, &self.topic_conf, name)
    }

    // ---------------------------------------------------------------- commands

    pub(super) fn command(&mut self, command: Command) {
        let mut ctx = ctx!(self);
        self.consumer.on_command(&mut ctx, &mut self.cluster, command);
        self.drive();
    }

    pub(super) fn call<T>(&mut self, make: impl FnOnce(Arc<Reply<T>>) -> Command) -> Arc<Reply<T>> {
        let reply = Reply::new();
        self.command(make(reply.clone()));
        reply
    }

    pub(super) fn assign(&mut self, rows: &[(&str, i32, i64)]) -> Result<(), Error> {
        let partitions: Vec<PartitionOffset> = rows
            .iter()
            .map(|(t, p, o)| PartitionOffset::new(TopicPartition::new(*t, *p), *o))
            .collect();
        self.call(|reply| Command::Assign { partitions, reply })
            .try_take()
            .unwrap()
    }

    pub(super) fn seek(&mut self, topic: &str, partition: i32, offset: i64) -> ErrorCode {
        let partitions = vec![PartitionOffset::new(TopicPartition::new(topic, partition), offset)];
        let rows = self
            .call(|reply| Command::Seek { partitions, reply })
            .try_take()
            .unwrap()
            .unwrap();
        rows[0].error
    }

    pub(super) fn pause(&mut self, topic: &str, partition: i32, on: bool) -> ErrorCode {
        let partitions = vec![TopicPartition::new(topic, partition)];
        let reply = match on {
            true => self.call(|reply| Command::Pause { partitions, reply }),
            false => self.call(|reply| Command::Resume { partitions, reply }),
        };
        reply.try_take().unwrap().unwrap()[0].error
    }

    /// Returns every event that is ready for the application.
    pub(super) fn take(&mut self) -> Vec<Got> {
        let queue = self.queue.clone();
        take_from(&queue)
    }

    pub(super) fn take_one(&mut self) -> Option<Got> {
        let queue = self.queue.clone();
        take_one_from(&queue)
    }

    // ---------------------------------------------------------------- time and network

    pub(super) fn drive(&mut self) -> Option<Instant> {
        for _ in 0..10_000 {
            self.connections.poll(self.now);
            let mut moved = self.dispatch();
            let mut ctx = ctx!(self);
            let cluster_wake = self.cluster.poll(&mut ctx);
            let wake = self.consumer.poll(&mut ctx, &mut self.cluster);
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
            let mut ctx = ctx!(self);
            if let Some(event) = ctx.connections.next_event() {
                match event {
                    ConnectionEvent::Up { key } => {
                        self.cluster.on_connection_up(&mut ctx, key);
                        self.consumer.on_connection_up(&mut ctx, &mut self.cluster, key);
                    }
                    ConnectionEvent::Down { key, error, .. } => {
                        let error = error.as_ref();
                        self.consumer
                            .on_connection_down(&mut ctx, &mut self.cluster, key, error);
                        self.cluster.on_connection_down(&mut ctx, error);
                    }
                    ConnectionEvent::Throttled { .. } => {}
                    ConnectionEvent::Names { .. } => {}
                    ConnectionEvent::SendReady { key } => self.consumer.on_unthrottled(key),
                    ConnectionEvent::Outcome { key, tag, outcome } => match tag.owner {
                        Owner::Cluster => self.cluster.on_outcome(&mut ctx, key, tag.id, outcome),
                        _ => self.consumer.on_outcome(&mut ctx, &mut self.cluster, key, tag, outcome),
                    },
                }
            } else if let Some(change) = self.cluster.next_change() {
                if let Change::Topic(name) = change {
                    self.consumer.on_topic_changed(&mut ctx, &mut self.cluster, &name);
                }
            } else {
                return moved;
            }
            moved = true;
        }
    }

    pub(super) fn run_ms(&mut self, ms: u64) {
        let end = self.now.plus_ms(ms);
        loop {
            let wake = self.drive();
            self.now = wake.filter(|at| *at < end).unwrap_or(end);
            if self.now == end {
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
                let event = match self.down.contains(&node) {
                    true => NetEvent::Closed {
                        conn,
                        reason: CloseReason::Io("Connection refused".into()),
                    },
                    false => {
                        self.conns.insert(conn, node);
                        NetEvent::Connected { conn, socket: -1 }
                    }
                };
                self.connections.on_net(event, self.now);
            }
            NetAction::Send { conn, frame } => {
                // The kernel accepts all bytes at once.
                let written = self.written.entry(conn).or_default();
                *written += 1;
                let (begun, done) = (*written, *written);
                self.connections
                    .on_net(NetEvent::Written { conn, begun, done }, self.now);
                self.receive(conn, frame);
            }
            NetAction::Close { conn } => {
                self.conns.remove(&conn);
                self.asked.retain(|a| a.conn != conn);
            }
        }
    }

    fn receive(&mut self, conn: ConnId, frame: Frame) {
        let Some(&node) = self.conns.get(&conn).filter(|n| !self.frozen.contains(n)) else {
            return;
        };
        let mut body = Reader::new(frame.into_bytes().slice(4..));
        let header = RequestHeader::decode(&mut body).unwrap();
        let asked = Asked {
            conn,
            node,
            key: header.api_key,
            correlation: header.correlation_id,
            version: header.api_version,
            body,
        };
        match header.api_key {
            ApiKey::API_VERSIONS => {
                let mut ranges = vec![
                    (ApiKey::METADATA, (0, 12)),
                    (ApiKey::API_VERSIONS, (0, 3)),
                    (ApiKey::FETCH, self.fetch_versions),
                ];
                for (key, max) in [
                    (ApiKey::LIST_OFFSETS, 10),
                    (ApiKey::OFFSET_COMMIT, 10),
                    (ApiKey::OFFSET_FETCH, 10),
                    (ApiKey::FIND_COORDINATOR, 6),
                    (ApiKey::JOIN_GROUP, 9),
                    (ApiKey::HEARTBEAT, 4),
                    (ApiKey::LEAVE_GROUP, 5),
                    (ApiKey::SYNC_GROUP, 5),
                ] {
                    ranges.push((key, (0, max)));
                }
                let mut add = |key, max: Option<i16>| ranges.extend(max.map(|max| (key, (0, max))));
                add(ApiKey::CONSUMER_GROUP_HEARTBEAT, self.heartbeat_version);
                add(ApiKey::OFFSET_FOR_LEADER_EPOCH, self.epochs_version);
                let rows = ranges.into_iter().map(|(key, (min_version, max_version))| ApiVersion {
                    api_key: key.0,
                    min_version,
                    max_version,
                    ..Default::default()
                });
                let response = ApiVersionsResponse {
                    api_keys: rows.collect(),
                    ..Default::default()
                };
                self.respond(&asked, &response);
            }
            ApiKey::METADATA if self.open.contains_key(&conn) => self.behind.push(asked),
            ApiKey::METADATA => {
                let response = self.metadata(&asked.decode::<MetadataRequest>());
                self.respond(&asked, &response);
            }
            ApiKey::FIND_COORDINATOR => {
                let request = asked.decode::<FindCoordinatorRequest>();
                let coordinator = Coordinator {
                    key: request.coordinator_keys[0].clone(),
                    node_id: self.coordinator,
                    host: format!("broker{}", self.coordinator),
                    port: 9000 + self.coordinator,
                    ..Default::default()
                };
                let response = FindCoordinatorResponse {
                    coordinators: vec![coordinator],
                    ..Default::default()
                };
                self.respond(&asked, &response);
            }
            _ => {
                *self.open.entry(conn).or_default() += 1;
                self.asked.push(asked);
            }
        }
    }

    fn metadata(&self, request: &MetadataRequest) -> MetadataResponse {
        let by_id = |id: Uuid| {
            self.model
                .iter()
                .find(|(_, m)| m.id == id)
                .map(|(name, _)| name.clone())
        };
        let mut all: Vec<String> = self.model.keys().cloned().collect();
        all.sort();
        let asked: Vec<(Uuid, Option<String>)> = match &request.topics {
            Some(topics) => topics
                .iter()
                .map(|t| (t.topic_id, t.name.clone().or_else(|| by_id(t.topic_id))))
                .collect(),
            None => all.into_iter().map(|name| (self.model[&name].id, Some(name))).collect(),
        };
        let asked = asked.into_iter();
        let topics = asked.map(|(id, name)| match name.as_ref().and_then(|n| self.model.get(n)) {
            None => MetadataResponseTopic {
                error_code: super::builders::why_unknown(name.as_deref()),
                topic_id: id,
                name,
                ..Default::default()
            },
            Some(model) => MetadataResponseTopic {
                topic_id: model.id,
                name,
                partitions: model
                    .leaders
                    .iter()
                    .enumerate()
                    .map(|(i, (leader_id, leader_epoch))| MetadataResponsePartition {
                        partition_index: i32::try_from(i).unwrap(),
                        leader_id: *leader_id,
                        leader_epoch: *leader_epoch,
                        ..Default::default()
                    })
                    .collect(),
                ..Default::default()
            },
        });
        MetadataResponse {
            brokers: BROKERS
                .iter()
                .map(|id| MetadataResponseBroker {
                    node_id: *id,
                    host: format!("broker{id}"),
                    port: 9000 + id,
                    ..Default::default()
                })
                .collect(),
            topics: topics.collect(),
            controller_id: 1,
            ..Default::default()
        }
    }

    fn respond<M: Message>(&mut self, asked: &Asked, response: &M) {
        let frame = encode_response(asked.correlation, response, asked.version).unwrap();
        let body = frame.into_bytes().slice(4..);
        self.connections
            .on_net(NetEvent::Received { conn: asked.conn, body }, self.now);
    }

    /// Answers a request and drives the client.
    pub(super) fn answer<M: Message>(&mut self, asked: &Asked, response: &M) {
        self.respond(asked, response);
        let open = self.open.entry(asked.conn).or_default();
        *open = open.saturating_sub(1);
        if *open == 0 {
            self.open.remove(&asked.conn);
            let (free, behind) = std::mem::take(&mut self.behind)
                .into_iter()
                .partition(|a| a.conn == asked.conn);
            self.behind = behind;
            let free: Vec<Asked> = free;
            for asked in free {
                let response = self.metadata(&asked.decode::<MetadataRequest>());
                self.respond(&asked, &response);
            }
        }
        self.drive();
    }

    /// Names a new leader in an error response (KIP-951).
    pub(super) fn hint_leader(&mut self, topic: &str, partition: i32, leader: i32, epoch: i32) {
        let mut ctx = ctx!(self);
        assert!(
            self.cluster
                .update_leader(&mut ctx, topic, partition, NodeId(leader), epoch, None)
        );
        self.drive();
    }

    /// Returns the oldest unanswered request of an API.
    pub(super) fn next<R: Request>(&mut self) -> Option<(Asked, R)> {
        let index = self.asked.iter().position(|a| a.key == R::KEY)?;
        let asked = self.asked.remove(index);
        let request = asked.decode::<R>();
        Some((asked, request))
    }

    pub(super) fn expect<R: Request>(&mut self) -> (Asked, R) {
        let all: Vec<ApiKey> = self.asked.iter().map(|a| a.key).collect();
        self.next::<R>()
            .unwrap_or_else(|| panic!("no {} among {all:?}", R::NAME))
    }

    /// Closes a broker's connections.
    pub(super) fn drop_connections(&mut self, node: i32) {
        let conns: Vec<ConnId> = self
            .conns
            .iter()
            .filter(|(_, n)| **n == node)
            .map(|(c, _)| *c)
            .collect();
        for conn in conns {
            self.conns.remove(&conn);
            self.asked.retain(|a| a.conn != conn);
            let reason = CloseReason::PeerClosed;
            self.connections.on_net(NetEvent::Closed { conn, reason }, self.now);
        }
        self.drive();
    }

    // ---------------------------------------------------------------- Fetch

    /// Returns the next Fetch request with its partitions and offsets.
    pub(super) fn next_fetch(&mut self) -> Option<AskedFetch> {
        let (asked, request) = self.next::<FetchRequest>()?;
        let parts = request.topics.iter().flat_map(|t| &t.partitions);
        let mut parts: Vec<(i32, i64)> = parts.map(|p| (p.partition, p.fetch_offset)).collect();
        parts.sort_unstable();
        Some((asked, request, parts))
    }

    /// Advances the time, with empty responses to the long polls of topic `t` in time.
    pub(super) fn idle_ms(&mut self, ms: u64) {
        for _ in 0..ms / 500 {
            self.run_ms(500);
            while let Some((asked, _, parts)) = self.next_fetch() {
                self.answer_fetch(&asked, parts.into_iter().map(|(p, at)| data(p, at, &[])).collect());
                if self.asked.iter().all(|a| a.conn == asked.conn) {
                    break;
                }
            }
        }
    }

    /// Answers a Fetch request for topic `t` with the topic id in the request.
    pub(super) fn answer_fetch(&mut self, asked: &Asked, partitions: Vec<PartitionData>) {
        let named = asked.version >= 13;
        let topic_id = asked.decode::<FetchRequest>().topics[0].topic_id;
        let response = FetchResponse {
            responses: vec![FetchableTopicResponse {
                topic: if named { String::new() } else { "t".into() },
                topic_id,
                partitions,
                ..Default::default()
            }],
            ..Default::default()
        };
        self.answer(asked, &response);
    }
}

pub(super) fn take_one_from(queue: &Arc<Queue>) -> Option<Got> {
    let taken = queue.pop_one(Some(Duration::ZERO), |chunk| {
        let partition = chunk.partition().partition();
        let record = chunk.next()?;
        let value = String::from_utf8_lossy(record.value.unwrap_or_default()).into_owned();
        Some(Got::Record(partition, record.offset, value))
    })?;
    Some(match taken {
        Ok(record) => record,
        Err(Event::Partition(n)) => Got::Error(n.error.code, n.offset),
        Err(Event::Rebalance(r)) => Got::Rebalance(r.code, r.partitions.iter().map(|p| p.tp.partition).collect()),
        Err(Event::Commit(c)) => Got::Commit(c.error),
        Err(other) => panic!("{other:?}"),
    })
}

pub(super) fn take_from(queue: &Arc<Queue>) -> Vec<Got> {
    std::iter::from_fn(|| take_one_from(queue)).collect()
}
