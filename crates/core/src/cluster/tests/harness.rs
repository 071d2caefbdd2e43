//! The metadata manager without a core; the harness responds in place of the brokers.

use std::collections::{BTreeSet, HashMap};
use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use ottla_protocol::api::api_versions::{ApiVersion, ApiVersionsResponse};
use ottla_protocol::api::find_coordinator::{Coordinator, FindCoordinatorRequest, FindCoordinatorResponse};
use ottla_protocol::api::metadata::{
    MetadataRequest, MetadataResponse, MetadataResponseBroker, MetadataResponsePartition, MetadataResponseTopic,
};
use ottla_protocol::{ApiKey, Message, Reader, RequestHeader, Uuid, encode_response};

use crate::cluster::{Change, Cluster, Command, MetadataReply, MetadataScope, Router};
use crate::config::{ClientConfig, Conf};
use crate::connection::{
    CloseReason, ConnId, ConnectionConfig, ConnectionEvent, ConnectionTable, NetAction, NetEvent, Owner,
};
use crate::error::Error;
use crate::log::{DebugContexts, Logger};
use crate::reply::Reply;
use crate::sys::{Instant, Rng, earliest};
use crate::types::ClientKind;

/// A metadata request that a broker has received.
#[derive(Debug, Clone)]
pub(super) struct Asked {
    pub(super) conn: ConnId,
    correlation: i32,
    version: i16,
    /// The name of the broker's host.
    pub(super) host: String,
    /// `None` for all.
    pub(super) topics: Option<Vec<String>>,
    /// `allow_auto_topic_creation`.
    pub(super) creates: bool,
    pub(super) at: Instant,
}

pub(super) struct World {
    pub(super) cluster: Cluster,
    /// A router of another manager's requests.
    pub(super) router: Router,
    /// The broker that coordinates every group.
    pub(super) coordinator: i32,
    /// The groups whose coordinator was looked up.
    pub(super) groups_looked_up: Vec<String>,
    pub(super) connections: ConnectionTable,
    pub(super) rng: Rng,
    pub(super) log: Logger,
    pub(super) conf: ClientConfig,
    pub(super) now: Instant,
    /// Connections opened so far, oldest first.
    pub(super) conns: Vec<ConnId>,
    hosts: Vec<String>,
    host_of: HashMap<ConnId, String>,
    /// Frames written, by connection.
    written: HashMap<ConnId, u64>,
    /// Unanswered metadata requests.
    pub(super) asked: Vec<Asked>,
    /// All metadata requests.
    pub(super) asked_ever: Vec<Asked>,
    pub(super) looked_up: Vec<String>,
    /// Set if names have no addresses.
    pub(super) nameless: bool,
    /// Connections are refused.
    pub(super) refused: bool,
    /// Connections neither open nor fail.
    pub(super) hangs: bool,
    /// Hosts where connections open and requests are not answered.
    pub(super) frozen: BTreeSet<String>,
    /// The immediate response of hosts that are not frozen.
    pub(super) answers: Option<MetadataResponse>,
    /// The newest version of Metadata that brokers support.
    pub(super) version: i16,
}

macro_rules! ctx {
    ($w:ident) => {
        crate::context::Ctx {
            now: $w.now,
            wall_ms: 0,
            connections: &mut $w.connections,
            rng: &mut $w.rng,
            log: &$w.log,
            conf: &$w.conf,
        }
    };
}
pub(super) use ctx;

impl World {
    pub(super) fn new(bootstrap: &str) -> Self {
        World::with(bootstrap, &[])
    }

    pub(super) fn with(bootstrap: &str, settings: &[(&str, &str)]) -> Self {
        World::of(ClientKind::Producer, bootstrap, settings)
    }

    pub(super) fn of(kind: ClientKind, bootstrap: &str, settings: &[(&str, &str)]) -> Self {
        let mut conf = Conf::new();
        conf.set("bootstrap.servers", bootstrap).unwrap();
        for (name, value) in settings {
            conf.set(name, *value).unwrap();
        }
        let (conf, _) = conf.finalize(kind).unwrap();
        let connection_config = ConnectionConfig::new(&conf);
        let mut w = World {
            cluster: Cluster::default(),
            router: Router::new(Owner::Admin),
            coordinator: 1,
            groups_looked_up: Vec::new(),
            connections: ConnectionTable::new(connection_config, Rng::from_seed(3)),
            rng: Rng::from_seed(4),
            log: Logger::new(Arc::new(|_| {}), 7, DebugContexts::default()),
            conf,
            now: Instant::from_micros(1_000_000),
            conns: Vec::new(),
            hosts: Vec::new(),
            host_of: HashMap::new(),
            written: HashMap::new(),
            asked: Vec::new(),
            asked_ever: Vec::new(),
            looked_up: Vec::new(),
            refused: false,
            nameless: false,
            hangs: false,
            frozen: BTreeSet::new(),
            answers: None,
            version: 12,
        };
        let mut ctx = ctx!(w);
        w.cluster.add_bootstrap_list(&mut ctx, bootstrap);
        w
    }

    /// Lets the network do what it can until nothing moves.
    pub(super) fn settle(&mut self) -> Option<Instant> {
        loop {
            self.connections.poll(self.now);
            while let Some(event) = self.connections.next_event() {
                let mut ctx = ctx!(self);
                match event {
                    ConnectionEvent::Up { key } => self.cluster.on_connection_up(&mut ctx, key),
                    ConnectionEvent::Down { key, error, .. } => {
                        self.router.on_connection_down(&mut ctx, key, error.as_ref());
                        self.cluster.on_connection_down(&mut ctx, error.as_ref());
                    }
                    ConnectionEvent::Outcome { key, tag, outcome } if tag.owner == Owner::Admin => {
                        self.router.on_outcome(&mut ctx, key, tag.id, &outcome);
                    }
                    ConnectionEvent::Outcome { key, tag, outcome } => {
                        self.cluster.on_outcome(&mut ctx, key, tag.id, outcome);
                    }
                    ConnectionEvent::Throttled { .. } => {}
                    ConnectionEvent::SendReady { .. } => {}
                    ConnectionEvent::Names { lookup, result } => self.cluster.on_names(&mut ctx, lookup, result),
                }
            }
            let mut ctx = ctx!(self);
            let wake = self.cluster.poll(&mut ctx);
            let actions: Vec<NetAction> = std::iter::from_fn(|| self.connections.next_action()).collect();
            if actions.is_empty() && !self.connections.has_event() {
                return earliest(wake, self.connections.next_wake());
            }
            for action in actions {
                self.perform(action);
            }
        }
    }

    fn perform(&mut self, action: NetAction) {
        match action {
            NetAction::RefreshCertificates => panic!("a plaintext client has no certificates"),
            NetAction::ResolveNames { lookup, host, .. } => {
                self.looked_up.push(host.clone());
                let result = match self.nameless {
                    true => Err("Name or service not known".into()),
                    false => Ok(vec![format!("{host}-a"), format!("{host}-b")]),
                };
                self.connections.on_net(NetEvent::Names { lookup, result }, self.now);
            }
            NetAction::Resolve { lookup, host, port } => {
                self.looked_up.push(host.clone());
                let number = self.hosts.iter().position(|h| *h == host).unwrap_or_else(|| {
                    self.hosts.push(host);
                    self.hosts.len() - 1
                });
                let address = SocketAddr::from(([10, 0, 0, number as u8], port));
                let result = Ok(vec![address]);
                self.connections.on_net(NetEvent::Resolved { lookup, result }, self.now);
            }
            NetAction::Connect { conn, .. } if self.refused => {
                let reason = CloseReason::Io("Connection refused".into());
                self.connections.on_net(NetEvent::Closed { conn, reason }, self.now);
            }
            NetAction::Connect { .. } if self.hangs => {}
            NetAction::Connect { conn, addr, .. } => {
                let SocketAddr::V4(addr) = addr else { return };
                let host = self.hosts[usize::from(addr.ip().octets()[3])].clone();
                self.host_of.insert(conn, host);
                self.conns.push(conn);
                self.connections
                    .on_net(NetEvent::Connected { conn, socket: -1 }, self.now);
            }
            NetAction::Send { conn, frame } => {
                // The kernel takes it at once.
                let written = self.written.entry(conn).or_default();
                *written += 1;
                let (begun, done) = (*written, *written);
                self.connections
                    .on_net(NetEvent::Written { conn, begun, done }, self.now);
                let bytes: Vec<u8> = frame.parts.iter().flat_map(|p| p.to_vec()).collect();
                self.receive(conn, Bytes::from(bytes).slice(4..));
            }
            NetAction::Close { conn } => self.asked.retain(|a| a.conn != conn),
        }
    }

    /// A broker reads a request.
    fn receive(&mut self, conn: ConnId, body: Bytes) {
        let host = self.host_of[&conn].clone();
        let frozen = self.frozen.contains(&host);
        let mut reader = Reader::new(body);
        let header = RequestHeader::decode(&mut reader).unwrap();
        if header.api_key == ApiKey::API_VERSIONS {
            let row = |key: ApiKey, max| ApiVersion {
                api_key: key.0,
                max_version: max,
                ..Default::default()
            };
            let response = ApiVersionsResponse {
                api_keys: vec![
                    row(ApiKey::METADATA, self.version),
                    row(ApiKey::API_VERSIONS, 3),
                    row(ApiKey::FIND_COORDINATOR, 4),
                ],
                ..Default::default()
            };
            if !frozen {
                self.respond(conn, header.correlation_id, &response, header.api_version);
            }
            return;
        }
        if header.api_key == ApiKey::FIND_COORDINATOR {
            let request = FindCoordinatorRequest::decode(&mut reader, header.api_version).unwrap();
            self.groups_looked_up.extend(request.coordinator_keys);
            let coordinator = Coordinator {
                node_id: self.coordinator,
                host: format!("coordinator{}", self.coordinator),
                port: 9092,
                ..Default::default()
            };
            let response = FindCoordinatorResponse {
                coordinators: vec![coordinator],
                ..Default::default()
            };
            return self.respond(conn, header.correlation_id, &response, header.api_version);
        }
        let request = MetadataRequest::decode(&mut reader, header.api_version).unwrap();
        let topics = request.topics.map(|t| t.into_iter().filter_map(|t| t.name).collect());
        self.asked.push(Asked {
            conn,
            correlation: header.correlation_id,
            version: header.api_version,
            host,
            topics,
            creates: request.allow_auto_topic_creation,
            at: self.now,
        });
        self.asked_ever.extend(self.asked.last().cloned());
        if let Some(answer) = self.answers.clone().filter(|_| !frozen) {
            let asked = self.asked.pop().expect("it was just put there");
            self.respond(conn, asked.correlation, &answer, asked.version);
        }
    }

    fn respond<M: Message>(&mut self, conn: ConnId, correlation: i32, message: &M, version: i16) {
        let frame = encode_response(correlation, message, version).unwrap();
        let bytes: Vec<u8> = frame.parts.iter().flat_map(|p| p.to_vec()).collect();
        let body = Bytes::from(bytes).slice(4..);
        self.connections.on_net(NetEvent::Received { conn, body }, self.now);
    }

    /// Answers the latest request. Returns its topics.
    pub(super) fn answer(&mut self, response: &MetadataResponse) -> Option<Vec<String>> {
        let last = self.asked.len().checked_sub(1).expect("metadata was asked for");
        self.answer_at(last, response).topics
    }

    /// Answers the unanswered request at `index`.
    pub(super) fn answer_at(&mut self, index: usize, response: &MetadataResponse) -> Asked {
        let asked = self.asked.remove(index);
        self.respond(asked.conn, asked.correlation, response, asked.version);
        self.settle();
        asked
    }

    /// Ends every connection.
    pub(super) fn reset_all(&mut self) {
        for conn in std::mem::take(&mut self.conns) {
            let reason = CloseReason::Io("reset".into());
            self.connections.on_net(NetEvent::Closed { conn, reason }, self.now);
        }
    }

    pub(super) fn changes(&mut self) -> Vec<String> {
        std::iter::from_fn(|| self.cluster.next_change())
            .filter_map(|c| match c {
                Change::Topic(name) => Some(name.to_string()),
                Change::AllBrokersDown(e) => Some(format!("down: {e}")),
                Change::Brokers => None,
                Change::Answer(answer) => {
                    answer.deliver();
                    None
                }
            })
            .collect()
    }

    /// Advances the time, with a poll at every wake-up time of the manager.
    pub(super) fn run_ms(&mut self, ms: u64) {
        let end = self.now.plus_ms(ms);
        while self.now < end {
            let wake = self.settle().unwrap_or(end);
            assert!(wake > self.now, "the manager spins at {:?}", self.now);
            self.now = wake.min(end);
        }
        self.settle();
    }

    /// Advances the time until `done` or for `longest_ms`. Returns the milliseconds that it took.
    pub(super) fn ms_until(&mut self, longest_ms: u64, done: impl Fn(&mut World) -> bool) -> Option<u64> {
        let begin = self.now;
        for ms in 0..=longest_ms {
            if done(self) {
                return Some(ms);
            }
            let end = begin.plus_ms(ms + 1);
            self.run_ms(u64::try_from(end.since(self.now).as_millis()).unwrap_or(0));
        }
        None
    }

    /// Begins a metadata call of the application.
    pub(super) fn call(&mut self, scope: MetadataScope, timeout_ms: u64) -> Arc<Reply<Result<MetadataReply, Error>>> {
        let reply = Reply::new();
        let mut ctx = ctx!(self);
        let command = Command::Metadata {
            scope,
            deadline: ctx.now.plus_ms(timeout_ms),
            reply: reply.clone(),
        };
        self.cluster.on_command(&mut ctx, command);
        reply
    }
}

pub(super) fn broker(id: i32, host: &str) -> MetadataResponseBroker {
    MetadataResponseBroker {
        node_id: id,
        host: host.into(),
        port: 9092,
        ..Default::default()
    }
}

pub(super) fn topic(name: &str, id: u8, leaders: &[(i32, i32)]) -> MetadataResponseTopic {
    MetadataResponseTopic {
        name: Some(name.into()),
        topic_id: Uuid([id; 16]),
        partitions: leaders
            .iter()
            .enumerate()
            .map(|(i, (leader, epoch))| MetadataResponsePartition {
                partition_index: i as i32,
                leader_id: *leader,
                leader_epoch: *epoch,
                ..Default::default()
            })
            .collect(),
        ..Default::default()
    }
}

pub(super) fn metadata(topics: Vec<MetadataResponseTopic>) -> MetadataResponse {
    MetadataResponse {
        brokers: vec![broker(1, "one"), broker(2, "two")],
        topics,
        ..Default::default()
    }
}

pub(super) fn name(text: &str) -> Arc<str> {
    text.into()
}
