//! Client metrics (KIP-714) on the embedded cluster, over real sockets. Errors and settings are tested on virtual time, beside
//! the manager.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a failed expectation ends a test

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use ottla_core::client::{Client, ClientHooks};
use ottla_core::config::Conf;
use ottla_core::producer::{Payload, Record};
use ottla_core::types::{ClientKind, TopicHooks};
use ottla_mock::{ClusterConfig, EmbeddedCluster, MetricsPush, MetricsSubscription};
use ottla_protocol::compression::Codec;

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
