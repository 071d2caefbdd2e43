//! Client metrics (KIP-714) on the embedded cluster, over real sockets.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a failed expectation ends a test

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use ottla_core::client::{Client, ClientHooks};
use ottla_core::config::Conf;
use ottla_core::producer::{Payload, Record};
use ottla_core::types::{ClientKind, TopicHooks};
use ottla_mock::{ClusterConfig, EmbeddedCluster, Fault, FaultAction, MetricsPush, MetricsSubscription};
use ottla_protocol::compression::Codec;
use ottla_protocol::{ApiKey, ErrorCode};

/// A cluster that subscribes to metrics, with the telemetry requests that it received.
struct World {
    cluster: EmbeddedCluster,
    requests: Arc<Mutex<Vec<String>>>,
}

fn often() -> MetricsSubscription {
    MetricsSubscription {
        push_interval_ms: 100,
        ..MetricsSubscription::default()
    }
}

impl World {
    fn new(subscription: Option<MetricsSubscription>) -> Self {
        let config = ClusterConfig {
            brokers: 1,
            ..ClusterConfig::default()
        };
        let cluster = EmbeddedCluster::start(config).unwrap();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let to = requests.clone();
        cluster.with(|c| {
            c.create_topic("t", 1, Some(1)).unwrap();
            c.subscribe_to_metrics(subscription);
            c.observe(move |line| {
                if line.contains("Telemetry") {
                    to.lock().unwrap().push(line);
                }
            });
        });
        World { cluster, requests }
    }

    fn client(&self, kind: ClientKind, settings: &[(&str, &str)]) -> Client {
        let mut conf = Conf::new();
        conf.set("bootstrap.servers", self.cluster.bootstrap_servers().as_str())
            .unwrap();
        for (name, value) in settings {
            conf.set(name, *value).unwrap();
        }
        let (client, topic) = conf.finalize(kind).unwrap();
        Client::new(kind, client, topic, ClientHooks::default()).unwrap()
    }

    fn pushes(&self) -> Vec<MetricsPush> {
        self.cluster.with(|c| c.pushed_metrics().to_vec())
    }

    /// Waits for this number of pushes.
    fn await_pushes(&self, n: usize) -> Vec<MetricsPush> {
        wait(|| self.pushes().len() >= n);
        self.pushes()
    }

    fn count(&self, request: &str) -> usize {
        let requests = self.requests.lock().unwrap();
        requests.iter().filter(|line| line.contains(request)).count()
    }
}

fn wait(mut done: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(30);
    while !done() {
        assert!(Instant::now() < end, "timeout");
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn says(push: &MetricsPush, text: &str) -> bool {
    push.metrics.windows(text.len()).any(|part| part == text.as_bytes())
}

fn produce(client: &Client) {
    let topic = client.topic("t", None, TopicHooks::default()).unwrap();
    let record = Record {
        value: Payload::Copy(b"value"),
        ..Record::default()
    };
    client.produce(&topic, 0, record, true).unwrap();
}

#[test]
fn producer_pushes_subscribed_metrics_and_a_terminating_push() {
    let w = World::new(Some(MetricsSubscription {
        push_interval_ms: 500,
        ..often()
    }));
    let p = w.client(ClientKind::Producer, &[]);
    produce(&p);
    wait(|| {
        produce(&p);
        let pushes = w.pushes();
        pushes
            .iter()
            .any(|push| says(push, "org.apache.kafka.producer.record.queue.time.max"))
    });
    drop(p);
    let pushes = w.pushes();
    for name in [
        "connection.creation.total",
        "node.request.latency.avg",
        "request.latency.max",
    ] {
        let name = format!("org.apache.kafka.producer.{name}");
        assert!(pushes.iter().any(|push| says(push, &name)), "{name}");
    }
    let (last, before) = pushes.split_last().unwrap();
    assert!(last.terminating && before.iter().all(|push| !push.terminating));
    assert!(
        pushes
            .iter()
            .all(|push| push.client == last.client && push.codec == Codec::Zstd)
    );
    assert_eq!(w.count("GetTelemetrySubscriptions"), 1);
}

/// The broker processes the push in flight immediately, and its response is delayed.
#[test]
fn termination_during_a_push_sends_a_last_push() {
    let w = World::new(Some(often()));
    let p = w.client(ClientKind::Producer, &[]);
    let late = Fault {
        action: FaultAction::Serve,
        delay_us: 150_000,
    };
    w.cluster.with(|c| c.push_fault(None, ApiKey::PUSH_TELEMETRY, late));
    w.await_pushes(1);
    let begun = Instant::now();
    drop(p);
    assert!(begun.elapsed() < Duration::from_secs(2));
    let pushes = w.pushes();
    assert!(pushes.last().is_some_and(|push| push.terminating));
    assert_eq!(pushes.iter().filter(|push| push.terminating).count(), 1);
}

#[test]
fn consumer_pushes_group_metrics() {
    let w = World::new(Some(often()));
    produce(&w.client(ClientKind::Producer, &[("enable.metrics.push", "false")]));
    let settings = [
        ("group.id", "readers"),
        ("client.rack", "r1"),
        ("auto.offset.reset", "earliest"),
    ];
    let c = w.client(ClientKind::Consumer, &settings);
    c.subscribe(vec!["t".to_owned()]).unwrap();
    wait(|| {
        drop(c.consumer_queue().pop(Some(Duration::from_millis(10))));
        let names = [
            "coordinator.assigned.partitions",
            "coordinator.rebalance.latency.total",
            "fetch.manager.fetch.latency.avg",
            "poll.idle.ratio.avg",
        ];
        let pushes = w.pushes();
        let is_pushed = |name: &&str| {
            pushes
                .iter()
                .any(|p| says(p, &format!("org.apache.kafka.consumer.{name}")))
        };
        names.iter().all(is_pushed)
    });
    let last = w.pushes().pop().unwrap();
    for attribute in ["group_id", "readers", "group_member_id", "client_rack", "r1"] {
        assert!(says(&last, attribute), "{attribute}");
    }
}

#[test]
fn no_subscription_means_no_push() {
    let unaware = World::new(None);
    let p = unaware.client(ClientKind::Producer, &[]);
    produce(&p);
    wait(|| p.outq_len() == 0);
    drop(p);
    assert_eq!(unaware.count("Telemetry"), 0);

    let off = World::new(Some(often()));
    let p = off.client(ClientKind::Producer, &[("enable.metrics.push", "false")]);
    produce(&p);
    wait(|| p.outq_len() == 0);
    drop(p);
    assert_eq!(off.count("Telemetry"), 0);

    let none = MetricsSubscription {
        names: Vec::new(),
        ..often()
    };
    let patient = World::new(Some(none));
    let p = patient.client(ClientKind::Producer, &[]);
    wait(|| patient.count("GetTelemetrySubscriptions") == 2);
    let begun = Instant::now();
    drop(p);
    assert!(begun.elapsed() < Duration::from_secs(1));
    assert_eq!(patient.count("PushTelemetry"), 0);
}

#[test]
fn only_metrics_with_a_subscribed_prefix_are_pushed() {
    let some = MetricsSubscription {
        names: vec!["org.apache.kafka.producer.connection.".into()],
        ..often()
    };
    let w = World::new(Some(some));
    let p = w.client(ClientKind::Producer, &[]);
    produce(&p);
    let push = w.await_pushes(1).remove(0);
    assert!(says(&push, "org.apache.kafka.producer.connection.creation.total"));
    assert!(!says(&push, "latency"));
    drop(p);
}

#[test]
fn push_uses_the_preferred_codec() {
    for codec in [Codec::Gzip, Codec::Snappy, Codec::Lz4, Codec::None] {
        let subscription = MetricsSubscription {
            codecs: vec![codec, Codec::Zstd],
            ..often()
        };
        let w = World::new(Some(subscription));
        let p = w.client(ClientKind::Producer, &[]);
        let push = w.await_pushes(1).remove(0);
        assert_eq!(push.codec, codec);
        assert!(says(&push, "org.apache.kafka.producer.connection.creation.rate"));
        drop(p);
    }
}

#[test]
fn push_errors_are_handled_by_code() {
    let w = World::new(Some(often()));
    let p = w.client(ClientKind::Producer, &[]);
    w.await_pushes(1);
    // UNKNOWN_SUBSCRIPTION_ID: the client requests the new subscription immediately and pushes for it.
    w.cluster.with(|c| c.subscribe_to_metrics(Some(often())));
    wait(|| w.pushes().last().is_some_and(|push| push.subscription_id == 2));
    assert_eq!(w.count("GetTelemetrySubscriptions"), 2);
    let refuse = |error| w.cluster.with(|c| c.refuse_next_push(error));
    for (error, asked) in [
        (ErrorCode::UNSUPPORTED_COMPRESSION_TYPE, 3),
        (ErrorCode::TELEMETRY_TOO_LARGE, 4),
        (ErrorCode::THROTTLING_QUOTA_EXCEEDED, 5),
    ] {
        refuse(error);
        wait(|| w.count("GetTelemetrySubscriptions") == asked);
        let n = w.pushes().len();
        w.await_pushes(n + 1);
    }
    // A permanent error ends the pushes.
    refuse(ErrorCode::INVALID_RECORD);
    let n = w.count("PushTelemetry");
    wait(|| w.count("PushTelemetry") > n);
    std::thread::sleep(Duration::from_millis(250));
    assert_eq!(w.count("PushTelemetry"), n + 1);
    drop(p);
    assert_eq!(w.count("PushTelemetry"), n + 1);
}

#[test]
fn push_above_the_clusters_limit_is_skipped() {
    let tiny = MetricsSubscription {
        max_bytes: 10,
        ..often()
    };
    let w = World::new(Some(tiny));
    let p = w.client(ClientKind::Producer, &[]);
    wait(|| w.count("GetTelemetrySubscriptions") == 1);
    std::thread::sleep(Duration::from_millis(250));
    drop(p);
    assert_eq!(w.count("PushTelemetry"), 0);
}
