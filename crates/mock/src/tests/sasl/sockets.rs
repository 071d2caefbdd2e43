//! Authentication over TCP and TLS.

use std::io::{ErrorKind, IoSlice, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use ottla_protocol::api::metadata::MetadataRequest;
use ottla_protocol::{ErrorCode, Request, decode_response, encode_request};
use ottla_tls::{ClientTls, Peer, Received, ServerTls, Session, Settings};

use super::{config, handshake, token};
use crate::{ClusterConfig, EmbeddedCluster};

struct Client(TcpStream);

impl Client {
    fn connect(embedded: &EmbeddedCluster) -> Self {
        let servers = embedded.bootstrap_servers();
        let stream = TcpStream::connect(servers.split(',').next().unwrap()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        Self(stream)
    }

    fn send_raw(&mut self, bytes: &[u8]) {
        let length = u32::try_from(bytes.len()).unwrap().to_be_bytes();
        self.0.write_all(&[&length, bytes].concat()).unwrap();
    }

    fn receive_raw(&mut self) -> Vec<u8> {
        let mut length = [0; 4];
        self.0.read_exact(&mut length).unwrap();
        let mut body = vec![0; u32::from_be_bytes(length) as usize];
        self.0.read_exact(&mut body).unwrap();
        body
    }

    fn call<R: Request>(&mut self, request: &R, version: i16) -> R::Response {
        let frame = encode_request(1, Some("test"), request, version).unwrap();
        self.0.write_all(&frame.into_bytes()).unwrap();
        let body = Bytes::from(self.receive_raw());
        decode_response::<R>(body, version).unwrap().1
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
        brokers: 1,
        sasl: Some(config()),
        ..Default::default()
    })
    .unwrap()
}

#[test]
fn tokens_with_and_without_headers_authenticate() {
    let embedded = start();
    let mut client = Client::connect(&embedded);
    client.call(&handshake("PLAIN"), 1);
    assert_eq!(client.call(&token(b"\0alice\0secret"), 2).error_code, 0);
    assert_eq!(client.call(&MetadataRequest::default(), 12).brokers.len(), 1);
    let mut client = Client::connect(&embedded);
    client.call(&handshake("PLAIN"), 0);
    client.send_raw(b"\0bob\0hidden");
    assert_eq!(client.receive_raw(), b"");
    assert_eq!(client.call(&MetadataRequest::default(), 12).brokers.len(), 1);
    assert_eq!(embedded.with(|c| c.sasl_counts()).authentications, 2);
}

#[test]
fn a_refusal_arrives_late_and_before_the_end() {
    let embedded = start();
    let mut client = Client::connect(&embedded);
    client.call(&handshake("PLAIN"), 1);
    let started = Instant::now();
    let refusal = client.call(&token(b"\0alice\0wrong"), 2);
    assert_eq!(refusal.error_code, ErrorCode::SASL_AUTHENTICATION_FAILED.0);
    assert!(started.elapsed() >= Duration::from_millis(300));
    assert!(client.is_closed());
    let mut client = Client::connect(&embedded);
    client.call(&handshake("PLAIN"), 0);
    client.send_raw(b"\0alice\0wrong");
    assert!(client.is_closed());
}

#[test]
fn a_large_frame_is_read_only_after_authentication() {
    let embedded = start();
    let mut client = Client::connect(&embedded);
    // The announced length alone closes the connection.
    client.0.write_all(&524_289u32.to_be_bytes()).unwrap();
    assert!(client.is_closed());
    let mut client = Client::connect(&embedded);
    client.call(&handshake("PLAIN"), 1);
    client.0.write_all(&u32::MAX.to_be_bytes()).unwrap();
    assert!(client.is_closed());
    let mut client = Client::connect(&embedded);
    client.call(&handshake("PLAIN"), 1);
    client.call(&token(b"\0alice\0secret"), 2);
    let mut request = MetadataRequest {
        topics: Some(Vec::new()),
        ..Default::default()
    };
    for index in 0..60_000 {
        let topic = ottla_protocol::api::metadata::MetadataRequestTopic {
            name: Some(format!("not a name {index}")),
            ..Default::default()
        };
        request.topics.get_or_insert_default().push(topic);
    }
    let response = client.call(&request, 12);
    assert_eq!(response.topics.len(), 60_000);
}

/// A client inside of TLS, on a socket that does not block.
struct TlsClient {
    session: Session,
    socket: TcpStream,
}

impl TlsClient {
    /// Repeats `step` until it returns a value.
    fn wait<T>(&mut self, mut step: impl FnMut(&mut Session, &mut TcpStream) -> Option<T>) -> T {
        let deadline = Instant::now() + Duration::from_secs(10);
        loop {
            if let Some(value) = step(&mut self.session, &mut self.socket) {
                return value;
            }
            assert!(Instant::now() < deadline);
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn send(&mut self, frame: &[u8]) {
        let written = self.session.write(&[IoSlice::new(frame)]).unwrap();
        assert_eq!(written, frame.len());
        self.wait(|session, socket| session.flush(socket).unwrap().then_some(()));
    }

    fn receive(&mut self) -> Bytes {
        let mut all: Vec<u8> = Vec::new();
        self.wait(|session, socket| {
            let mut buf = [0; 4096];
            if let Received::Bytes { count, .. } = session.read(socket, &mut buf).unwrap() {
                all.extend(&buf[..count]);
            }
            let length = u32::from_be_bytes(*all.first_chunk::<4>()?) as usize;
            (all.len() == 4 + length).then_some(())
        });
        Bytes::from(all).slice(4..)
    }

    fn call<R: Request>(&mut self, request: &R, version: i16) -> R::Response {
        self.send(&encode_request(1, Some("test"), request, version).unwrap().into_bytes());
        decode_response::<R>(self.receive(), version).unwrap().1
    }
}

#[test]
fn clients_authenticate_inside_tls() {
    let (tls, ca) = ServerTls::generated(&["localhost"]).unwrap();
    let config = ClusterConfig {
        brokers: 1,
        sasl: Some(config()),
        ..Default::default()
    };
    let embedded = EmbeddedCluster::start_with_tls(config, Arc::new(tls)).unwrap();
    let settings = Settings {
        ca: Some(Arc::new(vec![ca])),
        ..Settings::default()
    };
    let (tls, _) = ClientTls::new(settings).unwrap();
    for version in 0..=1 {
        let peer = Peer {
            host: "localhost",
            broker: "localhost:9093/1",
            broker_id: 1,
        };
        let session = tls.connect(peer).unwrap();
        let socket = TcpStream::connect(embedded.bootstrap_servers()).unwrap();
        socket.set_nonblocking(true).unwrap();
        let mut client = TlsClient { session, socket };
        client.wait(|session, socket| session.handshake(socket).unwrap().is_ready().then_some(()));
        assert_eq!(client.call(&handshake("PLAIN"), version).error_code, 0);
        if version == 0 {
            client.send(b"\0\0\0\x0d\0alice\0secret");
            assert_eq!(client.receive().len(), 0);
        } else {
            assert_eq!(client.call(&token(b"\0alice\0secret"), 2).error_code, 0);
        }
        assert_eq!(client.call(&MetadataRequest::default(), 12).brokers.len(), 1);
    }
}
