//! The brokers and the network of a driven client: answers to Produce and Fetch without a log, the mock cluster's to others.

use std::collections::{HashMap, VecDeque};
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use bytes::Bytes;
use ottla_core::connection::{ConnId, NetAction, NetEvent};
use ottla_core::sys::Instant;
use ottla_mock::{BrokerId, Cluster, ClusterConfig, ConnectionId, Reply, Time};
use ottla_protocol::api::fetch::FetchRequest;
use ottla_protocol::api::produce::{PartitionProduceResponse, ProduceResponse, TopicProduceResponse};
use ottla_protocol::{ApiKey, Frame, Message, Reader, RequestHeader, encode_response};

use crate::fetch_session::{FetchSession, Logs};
use crate::produce_request::{self, TopicRecords};

pub(crate) const TOPIC: &str = "benchmark";
pub(crate) const BOOTSTRAP: &str = "127.0.0.1:9092";
const FIRST_PORT: u16 = 9092;
/// The time from a request to its answer. It is the same for all, so that no broker appears busy.
const ROUND_TRIP: Duration = Duration::from_micros(500);

/// The counts of the brokers.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Served {
    /// Produce or Fetch requests that were answered.
    pub(crate) requests: u64,
    /// Batches in them, or in the answers.
    pub(crate) batches: u64,
    /// Records of Produce requests.
    pub(crate) records: u64,
}

#[derive(Debug)]
struct Connection {
    broker: BrokerId,
    /// Frames written so far.
    written: u64,
}

/// A Fetch request that waits for records.
#[derive(Debug)]
struct WaitingFetch {
    conn: ConnId,
    correlation_id: i32,
    version: i16,
    bytes_max: usize,
}

/// All brokers, and the network.
#[derive(Debug)]
pub(crate) struct Brokers {
    cluster: Cluster,
    connections: HashMap<ConnId, Connection>,
    /// Events on their way to the client, in the order of their times.
    coming: VecDeque<(Instant, NetEvent)>,
    /// Writes that were completed.
    written: Vec<NetEvent>,
    /// By partition: the offset of the next produced record.
    ends: Vec<i64>,
    pub(crate) logs: Logs,
    sessions: HashMap<BrokerId, FetchSession>,
    waiting: Vec<(BrokerId, WaitingFetch)>,
    pub(crate) served: Served,
}

impl Brokers {
    /// Creates brokers with [`TOPIC`]. `logs` are those that consumers read.
    pub(crate) fn new(brokers: i32, partitions: i32, logs: Logs) -> Self {
        let mut cluster = Cluster::new(ClusterConfig {
            brokers,
            host: Ipv4Addr::LOCALHOST.to_string(),
            first_port: FIRST_PORT,
            ..ClusterConfig::default()
        });
        cluster.create_topic(TOPIC, partitions, Some(1)).unwrap();
        Brokers {
            cluster,
            connections: HashMap::new(),
            coming: VecDeque::new(),
            written: Vec::new(),
            ends: vec![0; partitions as usize],
            logs,
            sessions: HashMap::new(),
            waiting: Vec::new(),
            served: Served::default(),
        }
    }

    /// Returns the number of records produced to a partition.
    pub(crate) fn end(&self, partition: usize) -> i64 {
        self.ends[partition]
    }

    // ---------------------------------------------------------------- events for the client

    /// Returns the next event that has arrived.
    pub(crate) fn next_event(&mut self, now: Instant) -> Option<NetEvent> {
        self.has_event(now)
            .then(|| self.coming.pop_front().map(|(_, event)| event))?
    }

    /// Returns true if an event has arrived.
    pub(crate) fn has_event(&self, now: Instant) -> bool {
        self.next_arrival().is_some_and(|at| at <= now)
    }

    /// Returns the time of the next event.
    pub(crate) fn next_arrival(&self) -> Option<Instant> {
        self.coming.front().map(|(at, _)| *at)
    }

    /// Returns the completed writes since the last call.
    pub(crate) fn take_written(&mut self, into: &mut Vec<NetEvent>) {
        into.append(&mut self.written);
    }

    fn push(&mut self, now: Instant, event: NetEvent) {
        self.coming.push_back((now + ROUND_TRIP, event));
    }

    fn respond<M: Message>(&mut self, now: Instant, conn: ConnId, correlation_id: i32, response: &M, version: i16) {
        let frame = encode_response(correlation_id, response, version).unwrap();
        let body = frame.into_bytes().slice(4..);
        self.push(now, NetEvent::Received { conn, body });
    }

    // ---------------------------------------------------------------- actions of the client

    /// Carries out an action of the core.
    pub(crate) fn perform(&mut self, action: NetAction, now: Instant) {
        match action {
            NetAction::Resolve { lookup, port, .. } => {
                let result = Ok(vec![SocketAddr::from((Ipv4Addr::LOCALHOST, port))]);
                self.push(now, NetEvent::Resolved { lookup, result });
            }
            // Only look-ups of canonical names, TLS and SASL request them.
            NetAction::ResolveNames { .. } | NetAction::RefreshCertificates | NetAction::SaslWork { .. } => {}
            NetAction::Connect { conn, addr, .. } => {
                let broker = BrokerId(i32::from(addr.port() - FIRST_PORT) + 1);
                self.connections.insert(conn, Connection { broker, written: 0 });
                self.push(now, NetEvent::Connected { conn, socket: -1 });
            }
            NetAction::Send { conn, frame } => self.serve(conn, frame, now),
            NetAction::Close { conn, .. } => {
                if let Some(connection) = self.connections.remove(&conn) {
                    self.cluster.disconnected(connection.broker, ConnectionId(conn.0));
                }
            }
        }
    }

    fn serve(&mut self, conn: ConnId, frame: Frame, now: Instant) {
        let connection = self.connections.get_mut(&conn).unwrap();
        connection.written += 1;
        let (broker, count) = (connection.broker, connection.written);
        self.written.push(NetEvent::Written {
            conn,
            begun: count,
            done: count,
        });
        let header = &frame.parts[0];
        match ApiKey(i16::from_be_bytes([header[4], header[5]])) {
            ApiKey::PRODUCE => self.serve_produce(conn, &frame, now),
            ApiKey::FETCH => self.serve_fetch(conn, broker, frame.into_bytes().slice(4..), now),
            _ => self.serve_other(conn, broker, frame.into_bytes().slice(4..), now),
        }
    }

    fn serve_other(&mut self, conn: ConnId, broker: BrokerId, request: Bytes, now: Instant) {
        let reply = self
            .cluster
            .handle(broker, ConnectionId(conn.0), request, Time(now.as_micros()));
        let Reply::Now(answer) = reply else {
            panic!("the mock cluster did not answer at once: {reply:?}");
        };
        let body = answer.into_bytes().slice(4..);
        self.push(now, NetEvent::Received { conn, body });
    }

    fn serve_produce(&mut self, conn: ConnId, frame: &Frame, now: Instant) {
        let header = &frame.parts[0];
        let version = i16::from_be_bytes([header[6], header[7]]);
        assert_eq!(version, produce_request::VERSION, "the version of a Produce request");
        let correlation_id = i32::from_be_bytes([header[8], header[9], header[10], header[11]]);
        let topics = produce_request::read(frame);
        let responses = topics.iter().map(|topic| self.append(topic)).collect();
        self.served.requests += 1;
        let response = ProduceResponse {
            responses,
            ..ProduceResponse::default()
        };
        self.respond(now, conn, correlation_id, &response, version);
    }

    fn append(&mut self, topic: &TopicRecords) -> TopicProduceResponse {
        let mut partition_responses = Vec::with_capacity(topic.partitions.len());
        for part in &topic.partitions {
            let end = &mut self.ends[part.partition as usize];
            partition_responses.push(PartitionProduceResponse {
                index: part.partition,
                base_offset: *end,
                log_start_offset: 0,
                ..PartitionProduceResponse::default()
            });
            *end += i64::from(part.records);
            self.served.batches += 1;
            self.served.records += u64::from(part.records.unsigned_abs());
        }
        TopicProduceResponse {
            topic_id: topic.topic_id,
            partition_responses,
            ..TopicProduceResponse::default()
        }
    }

    // ---------------------------------------------------------------- fetching

    fn serve_fetch(&mut self, conn: ConnId, broker: BrokerId, request: Bytes, now: Instant) {
        let mut reader = Reader::new(request);
        let header = RequestHeader::decode(&mut reader).unwrap();
        let request = FetchRequest::decode(&mut reader, header.api_version).unwrap();
        let begins = self.sessions.entry(broker).or_default().update(&request);
        let fetch = WaitingFetch {
            conn,
            correlation_id: header.correlation_id,
            version: header.api_version,
            bytes_max: request.max_bytes.unsigned_abs() as usize,
        };
        if !self.answer_fetch(broker, &fetch, begins, now) {
            self.waiting.push((broker, fetch));
        }
    }

    /// Answers a Fetch request if there are records, or if it begins a session.
    fn answer_fetch(&mut self, broker: BrokerId, fetch: &WaitingFetch, begins: bool, now: Instant) -> bool {
        let session = self.sessions.entry(broker).or_default();
        let Some(response) = session.respond(&self.logs, fetch.bytes_max, begins) else {
            return false;
        };
        let partitions = response.responses.iter().flat_map(|topic| &topic.partitions);
        let parts: usize = partitions
            .map(|p| p.records.as_ref().map_or(0, |r| r.parts().len()))
            .sum();
        self.served.requests += 1;
        // A batch has two parts.
        self.served.batches += parts as u64 / 2;
        self.respond(now, fetch.conn, fetch.correlation_id, &response, fetch.version);
        true
    }

    /// Answers the Fetch requests for which there are records now.
    pub(crate) fn answer_waiting(&mut self, now: Instant) {
        for (broker, fetch) in std::mem::take(&mut self.waiting) {
            if !self.answer_fetch(broker, &fetch, false, now) {
                self.waiting.push((broker, fetch));
            }
        }
    }
}
