//! Clients that share I/O threads (`io.threads.shared`), over real sockets.
//!
//! One test function: the number of threads is that of the process.

#![allow(clippy::unwrap_used, clippy::panic)] // clippy takes only the test functions themselves for tests

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use ottla_core::client::{Client, ClientHooks, DeliveryMode};
use ottla_core::config::Conf;
use ottla_core::event::{Event, expect_callbacks};
use ottla_core::interceptor::{Interceptor, RequestInfo};
use ottla_core::log::LogLine;
use ottla_core::producer::{Payload, Record};
use ottla_core::types::{ClientKind, PartitionOffset, TopicHooks, TopicPartition, offset};
use ottla_mock::{ClusterConfig, EmbeddedCluster};

const DEADLINE: Duration = Duration::from_secs(60);
const CLIENTS: usize = 20;

fn client_with(kind: ClientKind, settings: &[(&str, &str)], hooks: ClientHooks) -> Client {
    let mut conf = Conf::new();
    for (name, value) in settings {
        conf.set(name, *value).unwrap();
    }
    let (settings, topic) = conf.finalize(kind).unwrap();
    Client::new(kind, settings, topic, hooks).unwrap()
}

fn client(kind: ClientKind, servers: &str, threads: &str) -> Client {
    let settings = [
        ("bootstrap.servers", servers),
        ("group.id", "g"),
        ("io.threads.shared", threads),
        ("linger.ms", "0"),
    ];
    let hooks = ClientHooks {
        delivery: DeliveryMode::All,
        ..ClientHooks::default()
    };
    client_with(kind, &settings, hooks)
}

/// Produces `n` records; returns the number of those that are not delivered in time.
fn produce(client: &Client, topic: &str, n: usize) -> usize {
    let topic = client.topic(topic, None, TopicHooks::default()).unwrap();
    for i in 0..n {
        let value = i.to_string();
        let record = Record {
            value: Payload::Copy(value.as_bytes()),
            ..Record::default()
        };
        client.produce(&topic, 0, record, true).unwrap();
    }
    let end = Instant::now() + DEADLINE;
    let mut left = n;
    while left > 0 && Instant::now() < end {
        if let Some(Event::Delivery(delivery)) = client.main_queue().pop(Some(Duration::from_millis(100))) {
            assert_eq!(delivery.error, None);
            left -= delivery.len();
        }
    }
    left
}

/// Consumes `n` records from the beginning of partition 0, and checks their order.
fn consume(client: &Client, topic: &str, n: usize) {
    let row = PartitionOffset::new(TopicPartition::new(topic, 0), offset::BEGINNING);
    client.assign(Some(vec![row])).unwrap();
    let end = Instant::now() + DEADLINE;
    let mut count = 0;
    while count < n {
        assert!(Instant::now() < end, "only {count} of {n} records came");
        let taken = client
            .consumer_queue()
            .pop_one(Some(Duration::from_millis(100)), |chunk| {
                let record = chunk.next()?;
                Some(String::from_utf8_lossy(record.value.unwrap()).into_owned())
            });
        match taken {
            None => {}
            Some(Ok(value)) => {
                assert_eq!(value, count.to_string());
                count += 1;
            }
            Some(Err(other)) => panic!("{other:?}"),
        }
    }
}

/// Returns the number of I/O threads of the pool, from the names of the process's threads.
#[cfg(target_os = "linux")]
fn pool_threads() -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let name = |task: std::io::Result<std::fs::DirEntry>| std::fs::read_to_string(task.ok()?.path().join("comm")).ok();
    tasks
        .filter_map(name)
        .filter(|name| name.starts_with("ottla-io-"))
        .count()
}

/// Waits until all threads of clients for look-ups have ended.
fn wait_for_threads(expected: usize) {
    let end = Instant::now() + DEADLINE;
    while Client::live_threads() != expected {
        assert!(
            Instant::now() < end,
            "{} threads, not {expected}",
            Client::live_threads()
        );
        thread::sleep(Duration::from_millis(5));
    }
}

/// Twenty producers, then twenty consumers, all active together, on two workers and the watcher.
fn many_clients_share_the_threads(servers: &str) {
    for kind in [ClientKind::Producer, ClientKind::Consumer] {
        let clients: Vec<Client> = (0..CLIENTS).map(|_| client(kind, servers, "2")).collect();
        thread::scope(|scope| {
            for (n, client) in clients.iter().enumerate() {
                scope.spawn(move || {
                    let topic = format!("shared-{n}");
                    match kind {
                        ClientKind::Producer => assert_eq!(produce(client, &topic, 500), 0, "of client {n}"),
                        _ => consume(client, &topic, 500),
                    }
                });
            }
        });
        // A step can be interrupted for 50 ms on a busy machine, so there may be a substitute for a moment.
        wait_for_threads(3);
        #[cfg(target_os = "linux")]
        assert!((2..=3).contains(&pool_threads()), "{} threads", pool_threads());
        for client in clients {
            client.destroy();
        }
        assert_eq!(Client::live_threads(), 0, "after the end of the last client");
    }
}

/// The log callback of one client blocks the only worker; other clients start, work and end meanwhile.
fn blocked_callback_delays_only_its_client(servers: &str) {
    let (block, blocked) = (Arc::new(Mutex::new(())), Arc::new(AtomicUsize::new(0)));
    let log = {
        let (block, blocked) = (block.clone(), blocked.clone());
        move |_: LogLine| {
            blocked.fetch_add(1, Relaxed);
            drop(block.lock());
        }
    };
    expect_callbacks();
    let settings = [("bootstrap.servers", "127.0.0.1:1"), ("io.threads.shared", "1")];
    let before = block.lock().unwrap();
    let hooks = ClientHooks {
        log: Some(Arc::new(log)),
        ..ClientHooks::default()
    };
    let stuck = client_with(ClientKind::Producer, &settings, hooks);
    // The first connection fails, which is logged by the I/O thread.
    let _ = stuck.topic("t", None, TopicHooks::default());
    let end = Instant::now() + DEADLINE;
    while blocked.load(Relaxed) == 0 {
        assert!(Instant::now() < end, "no log line");
        thread::sleep(Duration::from_millis(5));
    }
    let other = client(ClientKind::Producer, servers, "1");
    assert_eq!(produce(&other, "beside-a-blocked-client", 100), 0);
    other.destroy();
    drop(before);
    stuck.destroy();
    assert_eq!(Client::live_threads(), 0);
}

/// Collects the names of the threads that send requests.
#[derive(Debug, Default)]
struct Threads {
    names: Mutex<BTreeSet<String>>,
    starts: AtomicUsize,
    watches: bool,
}

impl Interceptor for Threads {
    fn on_request_sent(&self, _: &RequestInfo<'_>) {
        let name = thread::current().name().unwrap_or_default().to_owned();
        self.names.lock().unwrap().insert(name);
    }

    fn watches_threads(&self) -> bool {
        self.watches
    }

    fn on_thread_start(&self) {
        self.starts.fetch_add(1, Relaxed);
    }
}

/// An interceptor of requests runs on the pool's threads; one of threads has a thread of its own, and a log line says so.
fn interceptors_of_threads_have_their_own(servers: &str) {
    for watches in [false, true] {
        let threads = Arc::new(Threads {
            watches,
            ..Threads::default()
        });
        let lines = Arc::new(Mutex::new(Vec::new()));
        let to = lines.clone();
        let hooks = ClientHooks {
            delivery: DeliveryMode::All,
            interceptor: Some(threads.clone()),
            log: Some(Arc::new(move |line: LogLine| to.lock().unwrap().push(line.message))),
            ..ClientHooks::default()
        };
        let settings = [("bootstrap.servers", servers), ("io.threads.shared", "2")];
        let client = client_with(ClientKind::Producer, &settings, hooks);
        assert_eq!(produce(&client, "intercepted", 10), 0);
        client.destroy();
        let names = threads.names.lock().unwrap();
        let own = names.iter().all(|name| name == "ottla-io");
        assert_eq!((own, names.is_empty()), (watches, false), "{names:?}");
        assert_eq!(threads.starts.load(Relaxed), usize::from(watches));
        let noted = lines
            .lock()
            .unwrap()
            .iter()
            .filter(|text| text.contains("io.threads.shared"))
            .count();
        assert_eq!(noted, usize::from(watches), "{lines:?}");
    }
}

#[test]
fn clients_share_io_threads() {
    let cluster = EmbeddedCluster::start(ClusterConfig::default()).unwrap();
    let servers = cluster.bootstrap_servers();
    many_clients_share_the_threads(&servers);
    blocked_callback_delays_only_its_client(&servers);
    interceptors_of_threads_have_their_own(&servers);
}
