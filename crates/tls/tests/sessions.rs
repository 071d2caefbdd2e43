//! Sessions of clients with servers over pipes in memory: handshakes, data, ends, refusals, renewal.

// A failed expectation fails a test.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io::{self, IoSlice, Read, Write};
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::task::Poll;

use ottla_tls::{
    ClientTls, Failure, Peer, Received, Refresh, Replacement, ServerIdentity, ServerTls, Session, SessionError,
    SessionInfo, Settings, VerifyCallback,
};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::pki_types::CertificateDer;

// ---------------------------------------------------------------- sockets

/// One direction of a connection.
#[derive(Default)]
struct Pipe {
    bytes: VecDeque<u8>,
    closed: bool,
}

/// One end of a connection in memory. Each call moves at most `turn` bytes.
struct End {
    input: Rc<RefCell<Pipe>>,
    output: Rc<RefCell<Pipe>>,
    turn: usize,
    /// Bytes that the peer's side holds at most.
    room: usize,
}

fn connection(turn: usize, room: usize) -> (End, End) {
    let (a, b) = (Rc::default(), Rc::default());
    let end = |input: &Rc<_>, output: &Rc<_>| End {
        input: Rc::clone(input),
        output: Rc::clone(output),
        turn,
        room,
    };
    (end(&a, &b), end(&b, &a))
}

impl Read for End {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let mut pipe = self.input.borrow_mut();
        let count = buf.len().min(self.turn).min(pipe.bytes.len());
        if count == 0 {
            return if pipe.closed {
                Ok(0)
            } else {
                Err(io::ErrorKind::WouldBlock.into())
            };
        }
        for (slot, byte) in buf.iter_mut().zip(pipe.bytes.drain(..count)) {
            *slot = byte;
        }
        Ok(count)
    }
}

impl Write for End {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut pipe = self.output.borrow_mut();
        let count = bytes
            .len()
            .min(self.turn)
            .min(self.room.saturating_sub(pipe.bytes.len()));
        if count == 0 {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        pipe.bytes.extend(&bytes[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl End {
    fn close(&self) {
        self.output.borrow_mut().closed = true;
    }
}

// ---------------------------------------------------------------- certificates

struct Ca(CertifiedIssuer<'static, KeyPair>);

fn ca(name: &str) -> Ca {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.distinguished_name.push(rcgen::DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    Ca(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
}

/// A certificate with its key, both in PEM.
struct Issued {
    der: CertificateDer<'static>,
    pem: String,
    key: KeyPair,
}

impl Ca {
    fn pem(&self) -> String {
        self.0.as_ref().pem()
    }

    fn issue(&self, common_name: &str, names: &[&str]) -> Issued {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut params = CertificateParams::new(names).unwrap();
        params.distinguished_name.push(rcgen::DnType::CommonName, common_name);
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.0).unwrap();
        Issued {
            der: certificate.der().clone(),
            pem: certificate.pem(),
            key,
        }
    }
}

fn server(issued: &Issued, client_ca: Option<&Ca>) -> ServerTls {
    ServerTls::new(ServerIdentity {
        chain: vec![issued.der.clone()],
        key: rustls::pki_types::PrivateKeyDer::try_from(issued.key.serialize_der()).unwrap(),
        client_cas: client_ca.map(|ca| ca.0.as_ref().der().clone()).into_iter().collect(),
    })
    .unwrap()
}

fn trusting(ca: &Ca) -> Settings {
    Settings {
        ca_pem: Some(ca.pem()),
        ..Settings::default()
    }
}

fn with_identity(ca: &Ca, own: &Issued) -> Settings {
    Settings {
        certificate_pem: Some(own.pem.clone()),
        key_pem: Some(own.key.serialize_pem().into()),
        ..trusting(ca)
    }
}

fn client(settings: Settings) -> ClientTls {
    ClientTls::new(settings).unwrap().0
}

const LOCALHOST: Peer<'static> = Peer {
    host: "localhost",
    broker: "localhost:9093/1",
    broker_id: 1,
};

// ---------------------------------------------------------------- both sides

/// A client and a server that are connected.
struct Both {
    client: Session,
    client_end: End,
    server: Session,
    server_end: End,
}

/// The outcome of a handshake: that of the client, and that of the server.
type Outcome = (Result<SessionInfo, SessionError>, Result<SessionInfo, SessionError>);

impl Both {
    fn new(client: &ClientTls, server: &ServerTls, peer: Peer<'_>, (turn, room): (usize, usize)) -> Self {
        let (client_end, server_end) = connection(turn, room);
        Both {
            client: client.connect(peer).unwrap(),
            client_end,
            server: server.accept().unwrap(),
            server_end,
        }
    }

    /// Runs both handshakes to their ends.
    fn handshake(&mut self) -> Outcome {
        let (mut client, mut server) = (None, None);
        for _ in 0..10_000 {
            if client.is_none() {
                client = ended(self.client.handshake(&mut self.client_end));
                if let Some(Err(_)) = &client {
                    self.client_end.close();
                }
            }
            if server.is_none() {
                server = ended(self.server.handshake(&mut self.server_end));
                if let Some(Err(_)) = &server {
                    self.server_end.close();
                }
            }
            if client.is_some() && server.is_some() {
                break;
            }
        }
        (
            client.expect("the client's handshake hangs"),
            server.expect("the server's handshake hangs"),
        )
    }

    fn open(client: &ClientTls, server: &ServerTls, limits: (usize, usize)) -> (Self, SessionInfo) {
        let mut both = Both::new(client, server, LOCALHOST, limits);
        let (info, accepted) = both.handshake();
        accepted.unwrap();
        (both, info.unwrap())
    }

    /// Sends `data` from the client, and returns what the server has received.
    fn transfer(&mut self, data: &[u8]) -> Vec<u8> {
        let mut sent = 0;
        let mut received = Vec::new();
        let mut buf = vec![0; 50_000];
        while received.len() < data.len() {
            if self.client.flush(&mut self.client_end).unwrap() && sent < data.len() {
                let rest = &data[sent..];
                let (first, second) = rest.split_at(rest.len() / 3);
                sent += self.client.write(&[IoSlice::new(first), IoSlice::new(second)]).unwrap();
            }
            match self.server.read(&mut self.server_end, &mut buf).unwrap() {
                Received::Bytes { count, .. } => received.extend_from_slice(&buf[..count]),
                Received::WouldBlock => {}
                Received::End => panic!("ended after {} bytes", received.len()),
            }
        }
        received
    }

    /// Reads at the client until there is an end or an error.
    fn read_end(&mut self) -> Result<(), SessionError> {
        let mut buf = [0; 1000];
        for _ in 0..1000 {
            match self.client.read(&mut self.client_end, &mut buf)? {
                Received::End => return Ok(()),
                Received::Bytes { .. } | Received::WouldBlock => {}
            }
        }
        panic!("no end")
    }
}

fn ended(step: Result<Poll<SessionInfo>, SessionError>) -> Option<Result<SessionInfo, SessionError>> {
    match step {
        Ok(Poll::Pending) => None,
        Ok(Poll::Ready(info)) => Some(Ok(info)),
        Err(error) => Some(Err(error)),
    }
}

fn failure<T>(result: Result<T, SessionError>) -> Failure {
    match result {
        Err(SessionError::Tls(failure)) => failure,
        Err(SessionError::Io(error)) => panic!("{error}"),
        Ok(_) => panic!("no failure"),
    }
}

fn refusal<T>(result: Result<T, SessionError>) -> String {
    match failure(result) {
        Failure::Certificate(text) => text,
        other => panic!("{other:?}"),
    }
}

const ALL: (usize, usize) = (usize::MAX, usize::MAX);

// ---------------------------------------------------------------- tests

#[test]
fn data_arrives_whole_and_in_order_however_the_socket_splits_it() {
    let ca = ca("CA");
    let (client, server) = (client(trusting(&ca)), server(&ca.issue("broker", &["localhost"]), None));
    let data: Vec<u8> = (0..700_000_u32).map(|i| (i * 7 % 251) as u8).collect();
    for limits in [ALL, (1_000, 5_000), (17, 300), (100_000, 100_000)] {
        let (mut both, info) = Both::open(&client, &server, limits);
        assert_eq!(info.version, "TLSv1.3");
        assert!(info.cipher_suite.starts_with("TLS_"), "{}", info.cipher_suite);
        let peer = info.peer.unwrap();
        assert!(
            peer.subject.contains("broker") && peer.issuer.contains("CA"),
            "{peer:?}"
        );
        assert!(both.transfer(&data) == data, "{limits:?}");
    }
}

#[test]
fn a_read_that_drained_the_socket_leaves_nothing_behind() {
    let ca = ca("CA");
    let (client, server) = (client(trusting(&ca)), server(&ca.issue("broker", &["localhost"]), None));
    let (mut both, _) = Both::open(&client, &server, ALL);
    let sent = both.server.write(&[IoSlice::new(&[7; 40_000])]).unwrap();
    assert_eq!(sent, 40_000);
    assert!(both.server.flush(&mut both.server_end).unwrap());
    let mut buf = vec![0; 10_000];
    let mut counts = Vec::new();
    loop {
        match both.client.read(&mut both.client_end, &mut buf).unwrap() {
            Received::Bytes { count, drained } => {
                counts.push(count);
                let before = both.client_end.input.borrow().bytes.len();
                assert!(!drained || before == 0);
                if drained {
                    break;
                }
            }
            Received::WouldBlock => break,
            Received::End => panic!("ended"),
        }
    }
    assert_eq!(counts.iter().sum::<usize>(), 40_000, "{counts:?}");
    assert_eq!(
        both.client.read(&mut both.client_end, &mut buf).unwrap(),
        Received::WouldBlock
    );
}

#[test]
fn an_announced_end_and_a_bare_end_of_the_connection_are_both_ends() {
    let ca = ca("CA");
    let (client, server) = (client(trusting(&ca)), server(&ca.issue("broker", &["localhost"]), None));
    let (mut announced, _) = Both::open(&client, &server, ALL);
    announced.server.close(&mut announced.server_end);
    announced.read_end().unwrap();
    let (mut bare, _) = Both::open(&client, &server, ALL);
    bare.server_end.close();
    bare.read_end().unwrap();
}

#[test]
fn bytes_before_an_end_are_returned_first() {
    let ca = ca("CA");
    let (client, server) = (client(trusting(&ca)), server(&ca.issue("broker", &["localhost"]), None));
    let (mut both, _) = Both::open(&client, &server, ALL);
    both.server.write(&[IoSlice::new(b"last")]).unwrap();
    both.server.close(&mut both.server_end);
    both.server_end.close();
    let mut buf = [0; 100];
    let received = both.client.read(&mut both.client_end, &mut buf).unwrap();
    assert_eq!(
        received,
        Received::Bytes {
            count: 4,
            drained: false
        }
    );
    assert_eq!(both.client.read(&mut both.client_end, &mut buf).unwrap(), Received::End);
}

#[test]
fn a_peer_without_tls_is_recognised() {
    let tls = client(trusting(&ca("CA")));
    let (mut end, peer) = connection(usize::MAX, usize::MAX);
    let mut session = tls.connect(LOCALHOST).unwrap();
    assert!(matches!(session.handshake(&mut end), Ok(Poll::Pending)));
    // A plaintext broker takes the first bytes for the length of a request, and closes the connection.
    peer.close();
    assert_eq!(failure(session.handshake(&mut end)), Failure::NotTls);

    let (mut end, mut peer) = connection(usize::MAX, usize::MAX);
    let mut session = tls.connect(LOCALHOST).unwrap();
    peer.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").unwrap();
    assert_eq!(failure(session.handshake(&mut end)), Failure::NotTls);
}

#[test]
fn certificates_of_another_ca_and_for_another_name_are_refused_with_both_sides_named() {
    let (good, other) = (ca("Good CA"), ca("Other CA"));
    let tls = client(trusting(&good));
    let mut foreign = Both::new(&tls, &server(&other.issue("b", &["localhost"]), None), LOCALHOST, ALL);
    let (outcome, server_side) = foreign.handshake();
    let text = refusal(outcome);
    assert!(text.contains("Other CA") && text.contains("ssl.ca.pem"), "{text}");
    assert_eq!(
        failure(server_side),
        Failure::Alert(46),
        "the server learns that it is refused"
    );

    let elsewhere = server(&good.issue("b", &["elsewhere"]), None);
    let text = refusal(Both::new(&tls, &elsewhere, LOCALHOST, ALL).handshake().0);
    assert!(text.contains("elsewhere") && text.contains("localhost"), "{text}");

    let any_name = client(Settings {
        any_name: true,
        ..trusting(&good)
    });
    Both::open(&any_name, &elsewhere, ALL);
    let trust_all = client(Settings {
        trust_all: true,
        ..Settings::default()
    });
    Both::open(&trust_all, &server(&other.issue("b", &["elsewhere"]), None), ALL);
}

#[test]
fn addresses_and_names_with_a_trailing_dot_are_verified() {
    let ca = ca("CA");
    let tls = client(trusting(&ca));
    let server = server(&ca.issue("b", &["localhost", "127.0.0.1"]), None);
    for host in ["127.0.0.1", "localhost.", "LOCALHOST"] {
        let peer = Peer { host, ..LOCALHOST };
        let (outcome, _) = Both::new(&tls, &server, peer, ALL).handshake();
        outcome.unwrap_or_else(|e| panic!("{host}: {e:?}"));
    }
    let peer = Peer {
        host: "127.0.0.2",
        ..LOCALHOST
    };
    let text = refusal(Both::new(&tls, &server, peer, ALL).handshake().0);
    assert!(text.contains("127.0.0.2"), "{text}");
}

#[test]
fn a_client_certificate_is_sent_where_its_issuer_is_accepted() {
    let (brokers, clients, others) = (ca("Broker CA"), ca("Client CA"), ca("Other CA"));
    let server = server(&brokers.issue("b", &["localhost"]), Some(&clients));
    let own = client(with_identity(&brokers, &clients.issue("alice", &[])));
    let (mut both, _) = Both::open(&own, &server, ALL);
    assert_eq!(both.transfer(b"hello"), b"hello");

    for settings in [
        trusting(&brokers),
        with_identity(&brokers, &others.issue("mallory", &[])),
    ] {
        let foreign = client(settings);
        let mut both = Both::new(&foreign, &server, LOCALHOST, ALL);
        let (outcome, server_side) = both.handshake();
        // With TLS 1.3 the client learns of the refusal after its handshake.
        outcome.unwrap();
        failure(server_side);
        assert!(matches!(failure(both.read_end()), Failure::Alert(116 | 42 | 48)));
        let notes = foreign.take_notes();
        if let [note] = &notes[..] {
            assert!(
                note.starts_with("No matching issuer found in server trusted certificate authorities"),
                "{note}"
            );
            assert!(note.contains("Other CA") && note.contains("Client CA"), "{note}");
        } else {
            assert_eq!(notes, Vec::<String>::new());
        }
    }
}

#[test]
fn sessions_are_resumed_but_not_with_a_callback() {
    let ca = ca("CA");
    let server = server(&ca.issue("b", &["localhost"]), None);
    let tls = client(trusting(&ca));
    let (mut first, info) = Both::open(&tls, &server, ALL);
    assert!(!info.resumed);
    // The server's tickets follow its handshake.
    assert_eq!(first.transfer(b"x"), b"x");
    assert_eq!(
        first.client.read(&mut first.client_end, &mut [0; 10]).unwrap(),
        Received::WouldBlock
    );
    let (_, info) = Both::open(&tls, &server, ALL);
    assert!(info.resumed && info.peer.is_some());

    let calls = Arc::new(Calls::default());
    let asked = client(Settings {
        callback: Some(calls.clone()),
        ..trusting(&ca)
    });
    for n in 1..=2 {
        let (mut both, info) = Both::open(&asked, &server, ALL);
        assert!(!info.resumed);
        assert_eq!(both.transfer(b"x"), b"x");
        let _ = both.client.read(&mut both.client_end, &mut [0; 10]);
        let calls = calls.seen.lock().unwrap();
        assert_eq!(calls.len(), 2 * n, "root and leaf: {calls:?}");
        assert!(
            calls.iter().all(|call| call.starts_with("localhost:9093/1 1 ")),
            "{calls:?}"
        );
    }
}

#[derive(Debug, Default)]
struct Calls {
    seen: Mutex<Vec<String>>,
}

impl VerifyCallback for Calls {
    fn verify(&self, broker: &str, id: i32, depth: i32, error: &mut i32, der: &[u8]) -> Result<(), String> {
        let call = format!("{broker} {id} {depth} {error} {}", der.len() > 100);
        self.seen.lock().unwrap().push(call);
        Ok(())
    }
}

#[test]
fn signature_algorithms_restrict_the_handshake() {
    let ca = ca("CA");
    // The key is ECDSA P-256.
    let server = server(&ca.issue("b", &["localhost"]), None);
    let with = |list: &str| {
        client(Settings {
            signature_algorithms: Some(list.to_owned()),
            ..trusting(&ca)
        })
    };
    Both::open(&with("ECDSA+SHA256"), &server, ALL);
    let (outcome, _) = Both::new(&with("RSA-PSS+SHA256"), &server, LOCALHOST, ALL).handshake();
    assert!(matches!(failure(outcome), Failure::Alert(40)));
}

#[test]
fn settings_that_cannot_be_used_name_their_property() {
    let (one, two) = (ca("CA"), ca("Other CA"));
    let (own, other) = (one.issue("alice", &[]), two.issue("bob", &[]));
    let valid = with_identity(&one, &own);
    let error = |settings: Settings| ClientTls::new(settings).unwrap_err().to_string();
    for (settings, start) in [
        (
            Settings {
                ca_location: Some("/no/such".into()),
                ..Settings::default()
            },
            "ssl.ca.location failed: /no/such: No such file",
        ),
        (
            Settings {
                ca_pem: Some("nothing".into()),
                ..Settings::default()
            },
            "ssl.ca.pem failed: ",
        ),
        (
            Settings {
                certificate_pem: Some("nothing".into()),
                ..valid.clone()
            },
            "ssl.certificate.pem failed: ",
        ),
        (
            Settings {
                key_pem: None,
                ..valid.clone()
            },
            "ssl.certificate.pem failed: ",
        ),
        (
            Settings {
                certificate_pem: None,
                ..valid.clone()
            },
            "ssl.key.pem failed: ",
        ),
        (
            Settings {
                key_pem: Some(other.key.serialize_pem().into()),
                ..valid.clone()
            },
            "ssl.key.pem failed: the private key does not belong to the certificate of ssl.certificate.pem",
        ),
        (
            Settings {
                key_location: Some("/no/such".into()),
                ..valid.clone()
            },
            "ssl.key.location failed: /no/such: No such file",
        ),
        (
            Settings {
                crl_location: Some("/".into()),
                ..valid.clone()
            },
            "ssl.crl.location failed: /: ",
        ),
        (
            Settings {
                cipher_suites: Some("NONE".into()),
                ..valid.clone()
            },
            "ssl.cipher.suites failed: ",
        ),
        (
            Settings {
                curves: Some("P-12".into()),
                ..valid.clone()
            },
            "ssl.curves.list failed: ",
        ),
        (
            Settings {
                signature_algorithms: Some("x".into()),
                ..valid.clone()
            },
            "ssl.sigalgs.list failed: ",
        ),
    ] {
        let text = error(settings);
        assert!(text.starts_with(start), "{text}");
    }
    let secret = format!("{:?}", client(valid));
    assert!(!secret.contains("PRIVATE"), "{secret}");
}

#[test]
fn wrong_and_missing_passwords_name_their_property() {
    let key = include_str!("../testdata/keys/leaf.pbes2-aes-256-cbc.pem");
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata");
    let certificate = ca("CA").issue("alice", &[]).pem;
    let own = Settings {
        certificate_pem: Some(certificate),
        ..Settings::default()
    };
    let location = Some(format!("{folder}/keys/leaf.pbes2-aes-256-cbc.pem"));
    let store = Some(format!("{folder}/stores/keytool.p12"));
    for (settings, property) in [
        (
            Settings {
                key_pem: Some(key.to_owned().into()),
                ..own.clone()
            },
            "ssl.key.password",
        ),
        (
            Settings {
                key_location: location.clone(),
                ..own.clone()
            },
            "ssl.key.password",
        ),
        (
            Settings {
                key_location: location,
                key_password: Some("x".to_owned().into()),
                ..own.clone()
            },
            "ssl.key.password",
        ),
        (
            Settings {
                keystore_location: store,
                keystore_password: Some("x".to_owned().into()),
                ..own
            },
            "ssl.keystore.password",
        ),
    ] {
        let text = ClientTls::new(settings).unwrap_err().to_string();
        assert!(text.ends_with(&format!(": check {property}")), "{text}");
    }
}

/// A directory that is removed at the end of a test.
struct Directory(std::path::PathBuf);

impl Directory {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("ottla-tls-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Directory(path)
    }

    fn write(&self, name: &str, text: &str) -> String {
        // A new file each time, since the clock of the file system may be coarse.
        let (path, new) = (self.0.join(name), self.0.join(format!("{name}.new")));
        std::fs::write(&new, text).unwrap();
        std::fs::rename(&new, &path).unwrap();
        path.to_str().unwrap().to_owned()
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn changed_files_are_used_once_they_are_whole() {
    let directory = Directory::new("renewal");
    let (brokers, clients) = (ca("Broker CA"), ca("Client CA"));
    let server = server(&brokers.issue("b", &["localhost"]), Some(&clients));
    let (before, after) = (clients.issue("before", &[]), clients.issue("after", &[]));
    let tls = client(Settings {
        ca_location: Some(directory.write("ca.pem", &brokers.pem())),
        certificate_location: Some(directory.write("own.pem", &before.pem)),
        key_location: Some(directory.write("key.pem", &before.key.serialize_pem())),
        ..Settings::default()
    });
    let subject = |tls: &ClientTls| {
        let mut both = Both::new(tls, &server, LOCALHOST, ALL);
        let (_, accepted) = both.handshake();
        accepted.unwrap().peer.unwrap().subject
    };
    assert_eq!(tls.refresh(), Refresh::Unchanged);
    assert!(subject(&tls).contains("before"));

    directory.write("own.pem", &after.pem[..after.pem.len() / 2]);
    assert!(matches!(tls.refresh(), Refresh::Failed(e) if e.property == "ssl.certificate.location"));
    assert_eq!(tls.refresh(), Refresh::Unchanged, "reported once");
    directory.write("own.pem", &after.pem);
    assert!(matches!(tls.refresh(), Refresh::Failed(e) if e.text.contains("does not belong")));
    assert!(subject(&tls).contains("before"), "the pair before stays in use");
    directory.write("key.pem", &after.key.serialize_pem());
    assert_eq!(tls.refresh(), Refresh::Renewed(Vec::new()));
    assert!(subject(&tls).contains("after"));
}

#[test]
fn certificates_from_memory_replace_those_of_files() {
    let directory = Directory::new("replacement");
    let (brokers, clients) = (ca("Broker CA"), ca("Client CA"));
    let server = server(&brokers.issue("b", &["localhost"]), Some(&clients));
    let (before, after) = (clients.issue("before", &[]), clients.issue("after", &[]));
    let tls = client(Settings {
        certificate_location: Some(directory.write("own.pem", &before.pem)),
        key_location: Some(directory.write("key.pem", &before.key.serialize_pem())),
        ..trusting(&brokers)
    });
    let key =
        |issued: &Issued| Arc::new(rustls::pki_types::PrivateKeyDer::try_from(issued.key.serialize_der()).unwrap());
    let chain = |issued: &Issued| Arc::new(vec![issued.der.clone()]);
    let identity = |chain, key| Replacement {
        identity: Some((chain, key)),
        ..Replacement::default()
    };
    let mismatch = identity(chain(&after), key(&before));
    assert!(tls.replace(mismatch).unwrap_err().text.contains("does not belong"));
    tls.replace(identity(chain(&after), key(&after))).unwrap();
    directory.write("own.pem", "damaged");
    assert_eq!(tls.refresh(), Refresh::Unchanged, "the file is not read any more");
    let mut both = Both::new(&tls, &server, LOCALHOST, ALL);
    let (_, accepted) = both.handshake();
    assert!(accepted.unwrap().peer.unwrap().subject.contains("after"));

    tls.replace(Replacement {
        ca: Some(Arc::new(vec![clients.0.as_ref().der().clone()])),
        ..Replacement::default()
    })
    .unwrap();
    refusal(Both::new(&tls, &server, LOCALHOST, ALL).handshake().0);
}
