//! The cluster behind real sockets.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use bytes::Bytes;
use ottla_protocol::api::api_versions::ApiVersionsRequest;
use ottla_protocol::api::fetch::{FetchPartition, FetchRequest, FetchTopic};
use ottla_protocol::api::metadata::{MetadataRequest, MetadataRequestTopic};
use ottla_protocol::api::produce::ProduceRequest;
use ottla_protocol::{Request, decode_response, encode_request};

use super::produce;
use crate::tests::util::batch_with;
use crate::{AddBrokerError, BrokerId, ClusterConfig, EmbeddedCluster, NewRecord};

struct Client(TcpStream);

impl Client {
    fn connect(embedded: &EmbeddedCluster, broker: usize) -> Self {
        let servers = embedded.bootstrap_servers();
        let address = servers.split(',').nth(broker - 1).unwrap();
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        Self(stream)
    }

    fn send<R: Request>(&mut self, request: &R, version: i16) {
        let frame = encode_request(1, Some("test"), request, version).unwrap();
        self.0.write_all(&frame.into_bytes()).unwrap();
    }

    fn receive<R: Request>(&mut self, version: i16) -> R::Response {
        let mut length = [0; 4];
        self.0.read_exact(&mut length).unwrap();
        let mut body = vec![0; u32::from_be_bytes(length) as usize];
        self.0.read_exact(&mut body).unwrap();
        decode_response::<R>(Bytes::from(body), version).unwrap().1
    }

    fn is_closed(&mut self) -> bool {
        match self.0.read(&mut [0; 16]) {
            Ok(0) => true,
            Err(e) => e.kind() == ErrorKind::ConnectionReset,
            Ok(_) => false,
        }
    }
}

fn start() -> EmbeddedCluster {
    EmbeddedCluster::start(ClusterConfig {
        brokers: 2,
        ..Default::default()
    })
    .unwrap()
}

fn fetch(offset: i64, max_wait_ms: i32) -> FetchRequest {
    FetchRequest {
        max_wait_ms,
        min_bytes: 1,
        topics: vec![FetchTopic {
            topic: "t".into(),
            partitions: vec![FetchPartition {
                fetch_offset: offset,
                partition_max_bytes: 10 << 20,
                ..Default::default()
            }],
            ..Default::default()
        }],
        ..Default::default()
    }
}

fn now_ms() -> i64 {
    let now = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap();
    i64::try_from(now.as_millis()).unwrap()
}

#[test]
fn produce_and_fetch_over_sockets() {
    let embedded = start();
    embedded.with(|cluster| cluster.create_topic("t", 1, None)).unwrap();
    let leader = embedded.with(|cluster| cluster.partition_leader("t", 0)).unwrap();
    let mut client = Client::connect(&embedded, usize::try_from(leader.0).unwrap());
    let name = MetadataRequestTopic {
        name: Some("t".into()),
        ..Default::default()
    };
    client.send(
        &MetadataRequest {
            topics: Some(vec![name]),
            ..Default::default()
        },
        12,
    );
    let metadata = client.receive::<MetadataRequest>(12);
    let addresses = metadata.brokers.iter().map(|b| format!("{}:{}", b.host, b.port));
    assert_eq!(addresses.collect::<Vec<_>>().join(","), embedded.bootstrap_servers());
    // A waiting fetch on one connection, woken by a produce on another; several requests in flight.
    let mut consumer = Client::connect(&embedded, usize::try_from(leader.0).unwrap());
    consumer.send(&fetch(0, 10_000), 12);
    for _ in 0..20 {
        client.send(&produce::request("t", 0, -1, batch_with(now_ms(), 2000, |_| {})), 9);
    }
    let woken = consumer.receive::<FetchRequest>(12);
    assert!(!woken.responses[0].partitions[0].records.as_ref().unwrap().is_empty());
    for index in 0..20 {
        let response = client.receive::<ProduceRequest>(9);
        let partition = &response.responses[0].partition_responses[0];
        assert_eq!((partition.error_code, partition.base_offset), (0, index * 2000));
    }
    consumer.send(&fetch(0, 0), 12);
    let all = consumer.receive::<FetchRequest>(12);
    let records = all.responses[0].partitions[0].records.clone().unwrap();
    let batches = ottla_protocol::record::BatchIter::new(records.into_bytes());
    assert_eq!(batches.map(|b| b.unwrap().verify_crc().unwrap()).count(), 20);
}

#[test]
fn delayed_fetch_completes_after_max_wait() {
    let embedded = start();
    embedded.with(|cluster| cluster.create_topic("t", 1, None)).unwrap();
    let leader = embedded.with(|cluster| cluster.partition_leader("t", 0)).unwrap();
    let mut client = Client::connect(&embedded, usize::try_from(leader.0).unwrap());
    let started = Instant::now();
    client.send(&fetch(0, 100), 12);
    client.receive::<FetchRequest>(12);
    assert!(started.elapsed() >= Duration::from_millis(100));
}

#[test]
fn garbage_and_oversized_frames_close_the_connection() {
    let config = ClusterConfig {
        socket_request_max_bytes: 1000,
        ..Default::default()
    };
    let embedded = EmbeddedCluster::start(config).unwrap();
    for bytes in [
        &b"GET / HTTP/1.1\r\n\r\n"[..],
        &[0, 0, 3, 0xe9, 0],
        &[0xff; 8],
        &[0, 0, 0, 2, 0, 0],
    ] {
        let mut client = Client::connect(&embedded, 1);
        client.0.write_all(bytes).unwrap();
        assert!(client.is_closed(), "{bytes:?}");
    }
    let mut client = Client::connect(&embedded, 1);
    client.send(&ApiVersionsRequest::default(), 0);
    assert_eq!(client.receive::<ApiVersionsRequest>(0).error_code, 0);
}

#[test]
fn stopped_broker_refuses_connections_until_restart() {
    let embedded = start();
    let mut client = Client::connect(&embedded, 2);
    client.send(&ApiVersionsRequest::default(), 0);
    client.receive::<ApiVersionsRequest>(0);
    let address = embedded.bootstrap_servers().split(',').nth(1).unwrap().to_owned();
    // A client that sends nothing. The broker has accepted it as soon as the cluster counts the connection.
    let mut silent = Client::connect(&embedded, 2);
    while embedded.with(|cluster| cluster.connection_count()) < 2 {
        std::thread::yield_now();
    }
    embedded.with(|cluster| cluster.stop_broker(BrokerId(2)));
    assert!(client.is_closed());
    assert!(silent.is_closed());
    let deadline = Instant::now() + Duration::from_secs(10);
    while TcpStream::connect(&address).is_ok() {
        assert!(Instant::now() < deadline, "the port is still open");
    }
    embedded.with(|cluster| cluster.start_broker(BrokerId(2)));
    let deadline = Instant::now() + Duration::from_secs(10);
    let mut client = loop {
        let servers = embedded.bootstrap_servers();
        match TcpStream::connect(servers.split(',').nth(1).unwrap()) {
            Ok(stream) => break Client(stream),
            Err(error) => assert!(Instant::now() < deadline, "{error}"),
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    client.send(&ApiVersionsRequest::default(), 0);
    assert_eq!(client.receive::<ApiVersionsRequest>(0).error_code, 0);
}

#[test]
fn drop_closes_all_sockets() {
    let embedded = start();
    let mut client = Client::connect(&embedded, 1);
    let started = Instant::now();
    drop(embedded);
    assert!(client.is_closed());
    assert!(started.elapsed() < Duration::from_secs(1));
}

#[test]
fn requests_queued_behind_a_delayed_fetch_are_all_answered() {
    let embedded = start();
    embedded.with(|cluster| cluster.create_topic("t", 1, None)).unwrap();
    let leader = embedded.with(|cluster| cluster.partition_leader("t", 0)).unwrap();
    let mut client = Client::connect(&embedded, usize::try_from(leader.0).unwrap());
    // More requests than the server reads ahead, some of them without a response.
    client.send(&fetch(0, 100), 12);
    for _ in 0..600 {
        client.send(&produce::request("t", 0, 0, batch_with(now_ms(), 1, |_| {})), 9);
        client.send(&ApiVersionsRequest::default(), 0);
    }
    client.receive::<FetchRequest>(12);
    for _ in 0..600 {
        assert_eq!(client.receive::<ApiVersionsRequest>(0).error_code, 0);
    }
    let marks = embedded.with(|cluster| cluster.watermarks("t", 0)).unwrap();
    assert_eq!(marks.high_watermark, 600);
}

/// The port of a broker, as an index into `bootstrap_servers`.
fn address(embedded: &EmbeddedCluster, index: usize) -> String {
    embedded.bootstrap_servers().split(',').nth(index).unwrap().to_owned()
}

/// Returns whether another program may receive the port: whether it can be bound without `SO_REUSEADDR`.
fn is_free(address: &str) -> bool {
    let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
    socket.bind(&address.parse::<SocketAddr>().unwrap().into()).is_ok()
}

#[test]
fn broker_that_is_down_refuses_connections_and_returns_on_its_port() {
    let embedded = start();
    let first = address(&embedded, 0);
    let mut client = Client::connect(&embedded, 1);
    client.send(&MetadataRequest::default(), 9);
    client.receive::<MetadataRequest>(9);
    for _ in 0..20 {
        embedded.with_sockets(|c| c.set_broker_down(BrokerId(1), true));
        assert!(TcpStream::connect(&first).is_err());
        embedded.with_sockets(|c| c.set_broker_down(BrokerId(1), false));
        assert_eq!(address(&embedded, 0), first);
        TcpStream::connect(&first).unwrap();
    }
    assert!(client.is_closed());
}

#[test]
fn broker_that_is_down_keeps_its_port() {
    let embedded = start();
    // Never connected to: connections would keep the port as well.
    let first = address(&embedded, 0);
    assert!(!is_free(&first));
    embedded.with_sockets(|c| c.set_broker_down(BrokerId(1), true));
    assert!(!is_free(&first));
}

#[test]
fn added_broker_serves_and_removed_broker_does_not() {
    let embedded = start();
    for id in [7, 0, 16_777_214] {
        embedded.add_broker(BrokerId(id)).unwrap();
    }
    for id in [7, 1, -1, 16_777_215] {
        let error = embedded.add_broker(BrokerId(id)).unwrap_err();
        assert!(matches!(error, AddBrokerError::InvalidId), "{id}: {error}");
    }
    // In the order of the ids: 0, 1, 2, 7, 16777214.
    for index in [1, 4, 5] {
        let mut client = Client::connect(&embedded, index);
        client.send(&MetadataRequest::default(), 9);
        assert_eq!(client.receive::<MetadataRequest>(9).brokers.len(), 5);
    }
    let seventh = address(&embedded, 3);
    let mut client = Client::connect(&embedded, 4);
    client.send(&MetadataRequest::default(), 9);
    client.receive::<MetadataRequest>(9);
    embedded.with_sockets(|c| c.remove_broker(BrokerId(7))).unwrap();
    assert!(TcpStream::connect(&seventh).is_err());
    assert!(client.is_closed());
    embedded.add_broker(BrokerId(7)).unwrap();
    let mut client = Client::connect(&embedded, 4);
    client.send(&MetadataRequest::default(), 9);
    client.receive::<MetadataRequest>(9);
}

#[test]
fn appended_records_reach_a_waiting_consumer() {
    let embedded = start();
    embedded.with(|cluster| cluster.create_topic("t", 1, None)).unwrap();
    let leader = embedded.with(|cluster| cluster.partition_leader("t", 0)).unwrap();
    let mut consumer = Client::connect(&embedded, usize::try_from(leader.0).unwrap());
    consumer.send(&fetch(0, 10_000), 12);
    embedded
        .with(|cluster| cluster.append("t", 0, &[NewRecord::value("v")]))
        .unwrap();
    let woken = consumer.receive::<FetchRequest>(12);
    assert!(!woken.responses[0].partitions[0].records.as_ref().unwrap().is_empty());
}

#[test]
fn waiting_ends_with_the_change_or_the_limit() {
    let embedded = start();
    embedded.with(|cluster| cluster.create_topic("t", 1, None)).unwrap();
    let end = |cluster: &crate::Cluster| cluster.watermarks("t", 0).map(|w| w.high_watermark).filter(|w| *w > 0);
    let started = Instant::now();
    assert_eq!(embedded.wait_for(Duration::from_millis(50), end), None);
    assert!(started.elapsed() >= Duration::from_millis(50));
    let leader = embedded.with(|cluster| cluster.partition_leader("t", 0)).unwrap();
    let mut client = Client::connect(&embedded, usize::try_from(leader.0).unwrap());
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| embedded.wait_for(Duration::from_secs(10), end));
        client.send(&produce::request("t", 0, -1, batch_with(now_ms(), 7, |_| {})), 9);
        assert_eq!(waiting.join().unwrap(), Some(7));
    });
    // An earlier change is seen at once.
    assert_eq!(embedded.wait_for(Duration::ZERO, end), Some(7));
}
