//! Clients with TLS on the embedded cluster, over real sockets.

// A failed expectation fails a test.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use ottla_core::client::{Client, ClientHooks, DeliveryMode};
use ottla_core::cluster::MetadataScope;
use ottla_core::config::Conf;
use ottla_core::error::{Error, ErrorCode};
use ottla_core::event::Event;
use ottla_core::log::LogLine;
use ottla_core::producer::{Payload, Record};
use ottla_core::types::{ClientKind, TopicHooks};
use parking_lot::Mutex;

const DEADLINE: Duration = Duration::from_secs(60);
/// Certificates that the C tests have, too.
const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/c/certificates");

type Lines = Arc<Mutex<Vec<String>>>;

fn client_with_log(settings: &[(&str, &str)]) -> (Client, Lines) {
    let mut conf = Conf::new();
    for (name, value) in settings {
        conf.set(name, *value).unwrap();
    }
    let (client, topic) = conf.finalize(ClientKind::Producer).unwrap();
    let lines = Lines::default();
    let log = lines.clone();
    let hooks = ClientHooks {
        delivery: DeliveryMode::All,
        error_event: true,
        log: Some(Arc::new(move |line: LogLine| log.lock().push(line.message))),
        ..ClientHooks::default()
    };
    (Client::new(ClientKind::Producer, client, topic, hooks).unwrap(), lines)
}

fn client(settings: &[(&str, &str)]) -> Client {
    client_with_log(settings).0
}

fn connect(client: &Client) -> Result<(), Error> {
    client.metadata(MetadataScope::AllTopics, Some(DEADLINE)).map(|_| ())
}

/// Returns the first error of a client that is not about all brokers.
fn first_error(client: &Client) -> Error {
    let end = Instant::now() + DEADLINE;
    loop {
        assert!(Instant::now() < end, "no error");
        match client.main_queue().pop(Some(Duration::from_millis(100))) {
            Some(Event::Error(e)) if e.code != ErrorCode::L_ALL_BROKERS_DOWN => return e,
            _ => {}
        }
    }
}

fn servers(client: &Client) -> String {
    client.with_embedded(|cluster| cluster.bootstrap_servers()).unwrap()
}

#[test]
fn the_security_log_describes_the_session_and_its_resumption() {
    let (p, lines) = client_with_log(&[
        ("test.mock.num.brokers", "1"),
        ("test.mock.ssl", "true"),
        ("debug", "security"),
        ("reconnect.backoff.ms", "1"),
    ]);
    connect(&p).unwrap();
    let described = |line: &String| line.contains("over TLSv1.3 with TLS_") && line.contains("Embedded cluster CA");
    assert!(lines.lock().iter().any(described), "{:?}", lines.lock());
    p.with_embedded(|cluster| {
        cluster.with(|cluster| {
            for broker in cluster.broker_ids().collect::<Vec<_>>() {
                cluster.close_connections(broker);
            }
        });
    });
    let end = Instant::now() + DEADLINE;
    while !lines.lock().iter().any(|line| line.contains("session resumed")) {
        assert!(Instant::now() < end, "{:?}", lines.lock());
        let _ = connect(&p);
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_plaintext_listener_behind_ssl_and_the_reverse_are_recognised() {
    let plaintext = client(&[("test.mock.num.brokers", "1")]);
    let p = client(&[
        ("bootstrap.servers", &servers(&plaintext)),
        ("security.protocol", "ssl"),
        ("enable.ssl.certificate.verification", "false"),
    ]);
    let error = first_error(&p);
    assert!(
        error.message.contains("connecting to a PLAINTEXT broker listener?"),
        "{error}"
    );

    let encrypted = client(&[("test.mock.num.brokers", "1"), ("test.mock.ssl", "true")]);
    let p = client(&[("bootstrap.servers", &servers(&encrypted))]);
    let error = first_error(&p);
    assert!(error.message.contains("ssl"), "{error}");
}

/// Copies a certificate or key of the C tests to another name, as a whole.
fn install(from: &str, to: &std::path::Path) {
    let new = to.with_extension("new");
    std::fs::copy(format!("{FOLDER}/{from}"), &new).unwrap();
    std::fs::rename(&new, to).unwrap();
}

/// Waits for a delivery report for a few milliseconds; appends opaque and offset of its records.
fn take_reports(client: &Client, offsets: &mut Vec<(usize, i64)>) {
    if let Some(Event::Delivery(d)) = client.main_queue().pop(Some(Duration::from_millis(5))) {
        assert!(d.error.is_none(), "{:?}", d.error);
        offsets.extend(d.records().map(|r| (r.opaque, r.offset)));
    }
}

#[test]
fn certificates_are_renewed_under_load_and_connections_replaced_without_a_loss() {
    let folder = std::env::temp_dir().join(format!("ottla-renewal-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let ca = folder.join("ca.pem");
    install("ca.pem", &ca);
    let path = |name: &str| format!("{FOLDER}/{name}");
    let (p, lines) = client_with_log(&[
        ("test.mock.num.brokers", "1"),
        ("test.mock.ssl", "true"),
        ("test.mock.ssl.certificate.location", &path("broker.pem")),
        ("test.mock.ssl.key.location", &path("broker.key")),
        ("ssl.ca.location", ca.to_str().unwrap()),
        ("ssl.certificate.refresh.interval.ms", "20"),
        ("ssl.certificate.refresh.reconnect.ms", "30"),
        ("enable.idempotence", "true"),
        ("linger.ms", "0"),
        ("debug", "security"),
    ]);
    // A renewal before the first connection replaces none.
    connect(&p).unwrap();
    let topic = p.topic("t", None, TopicHooks::default()).unwrap();
    let stop = AtomicBool::new(false);
    let mut offsets = Vec::new();
    let produced = std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let mut count = 0_usize;
            while !stop.load(Ordering::Relaxed) {
                let value = count.to_string();
                let record = Record {
                    value: Payload::Copy(value.as_bytes()),
                    opaque: count,
                    ..Record::default()
                };
                p.produce(&topic, 0, record, true).unwrap();
                count += 1;
                if count.is_multiple_of(50) {
                    std::thread::sleep(Duration::from_millis(1));
                }
            }
            count
        });
        let replaced = |lines: &Lines| lines.lock().iter().filter(|l| l.contains("is replaced")).count();
        for round in 1..=5 {
            install("ca.pem", &ca);
            let end = Instant::now() + DEADLINE;
            // The attempt that follows a replacement looks at the file, too: a connection that used the changed file from
            // its start is not replaced.
            let mut changed_at = Instant::now();
            while replaced(&lines) < round {
                if changed_at.elapsed() > Duration::from_secs(1) {
                    changed_at = Instant::now();
                    install("ca.pem", &ca);
                }
                if Instant::now() >= end {
                    // The writer must end before the test fails.
                    stop.store(true, Ordering::Relaxed);
                    panic!("round {round}: {:?}", lines.lock());
                }
                take_reports(&p, &mut offsets);
            }
        }
        stop.store(true, Ordering::Relaxed);
        writer.join().unwrap()
    });
    let end = Instant::now() + DEADLINE;
    while offsets.len() < produced {
        assert!(Instant::now() < end, "{} of {produced}", offsets.len());
        take_reports(&p, &mut offsets);
    }
    offsets.sort_unstable();
    let in_order = offsets
        .iter()
        .enumerate()
        .all(|(n, (opaque, offset))| *opaque == n && *offset == n as i64);
    assert!(in_order, "a record is lost, doubled or out of order");
    let _ = std::fs::remove_dir_all(&folder);
}
