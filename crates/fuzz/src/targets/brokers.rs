//! The mock cluster among clients that send anything. An input is requests on some connections, time, and ends of
//! connections.

use std::collections::BTreeMap;

use bytes::Bytes;
use ottla_mock::{BrokerId, Cluster, ClusterConfig, ConnectionId, Delivery, Reply, Time};
use ottla_protocol::api::{Api, Direction};
use ottla_protocol::{ApiKey, Reader, RequestHeader, Writer};

use crate::input::Input;
use crate::memory::within;
use crate::{Seen, Verdict, vectors};

const BROKERS: i32 = 2;
const CONNECTIONS: usize = 3;
/// What a cluster may take for each byte of a request. CreateTopics asks for ten thousand partitions in a few bytes.
const BYTES_PER_REQUEST: usize = 16 << 20;
/// Requests of one input.
const REQUESTS_MAX: u32 = 60;

/// A request that was handed in.
#[derive(Clone, Copy)]
struct Asked {
    key: ApiKey,
    version: i16,
}

struct Clients {
    cluster: Cluster,
    now_us: u64,
    requests: u32,
    /// Requests without an answer, by connection and correlation id.
    asked: BTreeMap<(ConnectionId, i32), Asked>,
    answers: usize,
}

pub(super) fn run(data: &[u8]) -> Verdict {
    let mut input = Input::new(data);
    let config = ClusterConfig {
        brokers: BROKERS,
        auto_create_topics: input.flag(),
        ..ClusterConfig::default()
    };
    let mut clients = Clients {
        cluster: Cluster::new(config),
        now_us: 1,
        requests: 0,
        asked: BTreeMap::new(),
        answers: 0,
    };
    let made = clients.cluster.create_topic("one", 2, None);
    ensure!(made.is_ok(), "no topic: {made:?}");
    while !input.is_empty() && clients.requests < REQUESTS_MAX {
        clients.operation(&mut input)?;
    }
    for broker in 1..=BROKERS {
        for connection in 0..CONNECTIONS {
            clients
                .cluster
                .disconnected(BrokerId(broker), ConnectionId(connection as u64));
        }
    }
    let (connections, parked) = (clients.cluster.connection_count(), clients.cluster.purgatory_size());
    ensure!(connections == 0, "{connections} connections are left");
    ensure!(parked == 0, "{parked} requests are left");
    match clients.answers {
        0 => Ok(Seen::Refused),
        _ => Ok(Seen::Accepted),
    }
}

impl Clients {
    fn operation(&mut self, input: &mut Input) -> Result<(), String> {
        let what = input.byte();
        let connection = ConnectionId(input.below(CONNECTIONS) as u64);
        // A connection belongs to one broker.
        let broker = BrokerId(1 + connection.0 as i32 % BROKERS);
        match what {
            0..200 => {
                let (key, version) = (ApiKey(input.byte().into()), i16::from(input.byte()));
                let length = input.short().into();
                self.request(broker, connection, (key, version), input.bytes(length))?;
            }
            200..220 => {
                let frame = Bytes::copy_from_slice(input.chunk());
                self.hand_in(broker, connection, frame)?;
            }
            220..240 => self.now_us += u64::from(input.byte()) * 100_000,
            _ => self.end(broker, connection),
        }
        self.poll()
    }

    fn end(&mut self, broker: BrokerId, connection: ConnectionId) {
        self.cluster.disconnected(broker, connection);
        self.asked.retain(|(of, _), _| *of != connection);
    }

    fn request(
        &mut self,
        broker: BrokerId,
        connection: ConnectionId,
        (key, version): (ApiKey, i16),
        body: &[u8],
    ) -> Result<(), String> {
        self.requests += 1;
        let header = RequestHeader {
            api_key: key,
            api_version: version,
            correlation_id: self.requests as i32,
            client_id: Some("fuzz".into()),
            ..RequestHeader::default()
        };
        let mut w = Writer::new();
        header
            .encode(&mut w, key.request_header_version(version).unwrap_or(1))
            .map_err(|e| e.to_string())?;
        w.put_slice(body);
        let id = (connection, header.correlation_id);
        self.asked.insert(id, Asked { key, version });
        self.hand_in(broker, connection, w.finish().into_bytes())
    }

    fn hand_in(&mut self, broker: BrokerId, connection: ConnectionId, frame: Bytes) -> Result<(), String> {
        let now = Time(self.now_us);
        let limit = BYTES_PER_REQUEST + 100 * frame.len();
        match within(limit, || self.cluster.handle(broker, connection, frame, now))? {
            Reply::Now(answer) => self.answer(connection, answer.into_bytes()),
            Reply::Later | Reply::None => Ok(()),
            Reply::Close(_) => {
                self.end(broker, connection);
                Ok(())
            }
        }
    }

    /// What is answered later.
    fn poll(&mut self) -> Result<(), String> {
        for _ in 0..1000 {
            if self.cluster.next_wake().is_none_or(|Time(at)| at > self.now_us) {
                return Ok(());
            }
            for out in self.cluster.poll(Time(self.now_us)) {
                match out.delivery {
                    Delivery::Frame(frame) => self.answer(out.connection, frame.into_bytes())?,
                    Delivery::Close(_) => self.end(out.broker, out.connection),
                }
            }
        }
        Err("the cluster wants to be polled at once for ever".into())
    }

    /// An answer belongs to a request, and can be read in its version.
    fn answer(&mut self, connection: ConnectionId, frame: Bytes) -> Result<(), String> {
        let mut reader = Reader::new(frame.clone());
        let length = reader.read_i32().map_err(|e| e.to_string())?;
        let id = reader.read_i32().map_err(|e| e.to_string())?;
        ensure!(
            length as usize + 4 == frame.len(),
            "{length} is not the length of {}",
            frame.len()
        );
        let Some(Asked { key, version }) = self.asked.remove(&(connection, id)) else {
            // Bytes of the input made a request.
            return Ok(());
        };
        let api = Api::find(key).ok_or_else(|| format!("{key} was answered"))?;
        // Clients learn the versions from an answer in the oldest one.
        let known = api.versions().contains(&version);
        let version = if known { version } else { 0 };
        ensure!(
            known || key == ApiKey::API_VERSIONS,
            "{key} version {version} was answered"
        );
        if api.header_version(Direction::Response, version) > 0 {
            reader.read_unsigned_varint().map_err(|e| e.to_string())?;
        }
        let body = frame.slice(reader.position()..);
        let read = api.transcode(Direction::Response, version, body);
        ensure!(
            read.is_ok(),
            "{key} version {version}: the answer cannot be read: {read:?}"
        );
        self.answers += 1;
        Ok(())
    }
}

/// One request of each API and version that is answered, and a group of clients that do something together.
pub(super) fn seeds() -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for vector in vectors::all().filter(|vector| vector.direction == Direction::Request) {
        let (key, version) = (vector.key.to_be_bytes()[1], vector.version.to_be_bytes()[1]);
        let mut seed = vec![1];
        for connection in 0..2 {
            seed.extend([0, connection, key, version]);
            seed.extend((vector.body.len() as u16).to_be_bytes());
            seed.extend_from_slice(&vector.body);
        }
        seed.extend([220, 0, 255]);
        seeds.push(seed);
    }
    seeds.retain(|seed| run(seed) != Ok(Seen::Refused));
    seeds
}
