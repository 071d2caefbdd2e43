//! Subscriptions, pushes, and their errors (KIP-714).

use std::time::Duration;

use ottla_mock::{ApiKey, ErrorCode as BrokerError, MetricsPush, MetricsSubscription};
use ottla_protocol::compression::Codec;

use crate::test_kit::World;

/// A subscription to all metrics.
fn often() -> MetricsSubscription {
    MetricsSubscription {
        push_interval_ms: 100,
        ..MetricsSubscription::default()
    }
}

/// A producer of topic `t` on a cluster with this subscription.
fn producer(subscription: Option<MetricsSubscription>, settings: &[(&str, &str)]) -> World {
    let mut w = World::producer_with(settings, &[], |config| config.brokers = 1);
    // Before the client connects: brokers without a subscription do not offer the APIs.
    w.brokers().subscribe_to_metrics(subscription);
    w.release(ApiKey::PRODUCE);
    w.add_topic("t", &[1]);
    w
}

fn pushes(w: &World) -> &[MetricsPush] {
    w.net.cluster.pushed_metrics()
}

/// Advances the time until there is this number of pushes.
fn await_pushes(w: &mut World, n: usize) {
    w.run_until(30_000, |w| pushes(w).len() >= n).expect("a push");
}

fn says(push: &MetricsPush, text: &str) -> bool {
    push.metrics.windows(text.len()).any(|part| part == text.as_bytes())
}

/// Produces a record, which the broker acknowledges.
fn produce(w: &mut World) {
    w.produce("t", 0, "value").unwrap();
    w.run_ms(20);
    assert_eq!(w.reports().len(), 1);
}

/// Ends the client; returns the milliseconds that its last push takes.
fn end(w: &mut World) -> u64 {
    w.close();
    w.run_until(30_000, |w| w.core.is_finished())
        .expect("the end of the client")
}

const SUBSCRIPTIONS: ApiKey = ApiKey::GET_TELEMETRY_SUBSCRIPTIONS;
const PUSH: ApiKey = ApiKey::PUSH_TELEMETRY;

#[test]
fn producer_pushes_subscribed_metrics_and_a_terminating_push() {
    let subscription = MetricsSubscription {
        push_interval_ms: 500,
        ..often()
    };
    let mut w = producer(Some(subscription), &[]);
    for _ in 0..100 {
        produce(&mut w);
    }
    end(&mut w);
    let pushes = pushes(&w);
    for name in [
        "connection.creation.total",
        "node.request.latency.avg",
        "request.latency.max",
        "record.queue.time.max",
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
    assert_eq!(w.count(SUBSCRIPTIONS), 1);
}

#[test]
fn pushes_follow_the_interval() {
    let mut w = producer(Some(often()), &[]);
    await_pushes(&mut w, 1);
    w.run_ms(10_000);
    let n = pushes(&w).len();
    assert!((95..=101).contains(&n), "{n} pushes in 10 s");
}

/// The broker processes the push in flight immediately, and its response is delayed.
#[test]
fn termination_during_a_push_sends_a_last_push() {
    let mut w = producer(Some(often()), &[]);
    w.delay_next(PUSH, 150);
    await_pushes(&mut w, 1);
    let took_ms = end(&mut w);
    assert!(took_ms < 2000, "{took_ms}");
    assert!(pushes(&w).last().is_some_and(|push| push.terminating));
    assert_eq!(pushes(&w).iter().filter(|push| push.terminating).count(), 1);
}

#[test]
fn consumer_pushes_group_metrics() {
    let settings = [("group.id", "readers"), ("client.rack", "r1")];
    let mut w = World::consumer(&settings, &[("auto.offset.reset", "earliest")]);
    w.brokers().subscribe_to_metrics(Some(often()));
    w.add_topic("t", &[1]);
    w.append("t", 0, &["value"]);
    w.subscribe(&["t"]).unwrap();
    let names = [
        "coordinator.assigned.partitions",
        "coordinator.rebalance.latency.total",
        "fetch.manager.fetch.latency.avg",
        "poll.idle.ratio.avg",
    ];
    w.run_until(30_000, |w| {
        drop(w.shared.consumer_queue.pop(Some(Duration::ZERO)));
        let is_pushed = |name: &&str| {
            let name = format!("org.apache.kafka.consumer.{name}");
            pushes(w).iter().any(|p| says(p, &name))
        };
        names.iter().all(is_pushed)
    })
    .expect("a push of each metric");
    let last = pushes(&w).last().unwrap();
    for attribute in ["group_id", "readers", "group_member_id", "client_rack", "r1"] {
        assert!(says(last, attribute), "{attribute}");
    }
}

#[test]
fn no_subscription_means_no_push() {
    for (subscription, settings) in [(None, &[][..]), (Some(often()), &[("enable.metrics.push", "false")])] {
        let mut w = producer(subscription, settings);
        produce(&mut w);
        w.run_ms(1000);
        end(&mut w);
        assert_eq!((w.count(SUBSCRIPTIONS), w.count(PUSH)), (0, 0));
    }
    let none = MetricsSubscription {
        names: Vec::new(),
        ..often()
    };
    let mut w = producer(Some(none), &[]);
    w.run_until(30_000, |w| w.count(SUBSCRIPTIONS) == 2)
        .expect("the subscription is requested again");
    assert_eq!(end(&mut w), 0, "there is nothing to push");
    assert_eq!(w.count(PUSH), 0);
}

#[test]
fn only_metrics_with_a_subscribed_prefix_are_pushed() {
    let some = MetricsSubscription {
        names: vec!["org.apache.kafka.producer.connection.".into()],
        ..often()
    };
    let mut w = producer(Some(some), &[]);
    produce(&mut w);
    await_pushes(&mut w, 1);
    let push = &pushes(&w)[0];
    assert!(says(push, "org.apache.kafka.producer.connection.creation.total"));
    assert!(!says(push, "latency"));
}

#[test]
fn push_uses_the_preferred_codec() {
    for codec in [Codec::Gzip, Codec::Snappy, Codec::Lz4, Codec::None] {
        let subscription = MetricsSubscription {
            codecs: vec![codec, Codec::Zstd],
            ..often()
        };
        let mut w = producer(Some(subscription), &[]);
        await_pushes(&mut w, 1);
        let push = &pushes(&w)[0];
        assert_eq!(push.codec, codec);
        assert!(says(push, "org.apache.kafka.producer.connection.creation.rate"));
    }
}

#[test]
fn push_errors_are_handled_by_code() {
    let mut w = producer(Some(often()), &[]);
    await_pushes(&mut w, 1);
    // UNKNOWN_SUBSCRIPTION_ID: the client requests the new subscription immediately and pushes for it.
    w.brokers().subscribe_to_metrics(Some(often()));
    w.run_until(30_000, |w| {
        pushes(w).last().is_some_and(|push| push.subscription_id == 2)
    })
    .expect("a push for the new subscription");
    assert_eq!(w.count(SUBSCRIPTIONS), 2);
    for (error, asked) in [
        (BrokerError::UNSUPPORTED_COMPRESSION_TYPE, 3),
        (BrokerError::TELEMETRY_TOO_LARGE, 4),
        (BrokerError::THROTTLING_QUOTA_EXCEEDED, 5),
    ] {
        w.brokers().refuse_next_push(error);
        w.run_until(30_000, |w| w.count(SUBSCRIPTIONS) == asked)
            .expect("the subscription is requested again");
        let n = pushes(&w).len();
        await_pushes(&mut w, n + 1);
    }
    // A permanent error ends the pushes.
    w.brokers().refuse_next_push(BrokerError::INVALID_RECORD);
    let n = w.count(PUSH);
    w.run_until(30_000, |w| w.count(PUSH) > n).expect("a push");
    w.run_ms(10_000);
    assert_eq!(w.count(PUSH), n + 1);
    end(&mut w);
    assert_eq!(w.count(PUSH), n + 1);
}

#[test]
fn push_above_the_clusters_limit_is_skipped() {
    let tiny = MetricsSubscription {
        max_bytes: 10,
        ..often()
    };
    let mut w = producer(Some(tiny), &[]);
    w.run_ms(1000);
    assert_eq!(w.count(SUBSCRIPTIONS), 1);
    end(&mut w);
    assert_eq!(w.count(PUSH), 0);
}
