//! The table of metrics and their encoding.

use std::collections::BTreeSet;
use std::time::Duration;

use ottla_protocol::ApiKey;

use super::measures::{Interval, Measures, Totals};
use super::metrics::{Facts, metrics, names};
use super::otlp::{Document, Kind, Metric, Number, Point};
use crate::stats::DurationSum;
use crate::sys::Instant;
use crate::types::{ClientKind, NodeId};

/// A field of a protocol buffer: its number and its content.
#[derive(Debug, Clone, PartialEq)]
enum Field {
    Number(u64, u64),
    Fixed(u64, u64),
    Bytes(u64, Vec<u8>),
}

fn varint(bytes: &mut &[u8]) -> u64 {
    let (mut value, mut shift) = (0, 0);
    loop {
        let byte = bytes[0];
        *bytes = &bytes[1..];
        value |= u64::from(byte & 0x7f) << shift;
        shift += 7;
        if byte & 0x80 == 0 {
            return value;
        }
    }
}

fn take<'a>(bytes: &mut &'a [u8], n: usize) -> &'a [u8] {
    let (head, rest) = bytes.split_at(n);
    *bytes = rest;
    head
}

fn fields(mut bytes: &[u8]) -> Vec<Field> {
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let tag = varint(&mut bytes);
        fields.push(match tag & 7 {
            0 => Field::Number(tag >> 3, varint(&mut bytes)),
            1 => Field::Fixed(tag >> 3, u64::from_le_bytes(take(&mut bytes, 8).try_into().unwrap())),
            2 => {
                let n = varint(&mut bytes) as usize;
                Field::Bytes(tag >> 3, take(&mut bytes, n).to_vec())
            }
            wire => panic!("wire type {wire}"),
        });
    }
    fields
}

/// Returns the messages in a field.
fn inside(fields: &[Field], number: u64) -> Vec<Vec<Field>> {
    let of = |f: &Field| match f {
        Field::Bytes(n, bytes) if *n == number => Some(self::fields(bytes)),
        _ => None,
    };
    fields.iter().filter_map(of).collect()
}

fn text(number: u64, text: &str) -> Field {
    Field::Bytes(number, text.as_bytes().to_vec())
}

#[test]
fn documents_have_the_fields_of_opentelemetry() {
    let point = |value, node_id| Point { value, node_id };
    let metric = |name: &str, kind, points| Metric {
        name: name.into(),
        description: "d",
        unit: "ms",
        kind,
        points,
    };
    let list = [
        metric(
            "gauge",
            Kind::Gauge,
            vec![point(Number::Double(1.5), Some(7)), point(Number::Int(-1), None)],
        ),
        metric("sum", Kind::Sum { delta: true }, vec![point(Number::Int(300), None)]),
        metric("all", Kind::Sum { delta: false }, vec![point(Number::Int(2), None)]),
    ];
    let document = Document {
        resource: &[("group_id", "g".into())],
        scope: ("name", "1.0"),
        start_ns: 10,
        time_ns: 20,
        metrics: &list,
    };
    let data = fields(&document.encode());
    let resource_metrics = &inside(&data, 1)[0];
    let attribute = &inside(&inside(resource_metrics, 1)[0], 1)[0];
    assert_eq!(attribute[0], text(1, "group_id"));
    assert_eq!(inside(attribute, 2)[0], [text(1, "g")]);
    let scope_metrics = &inside(resource_metrics, 2)[0];
    assert_eq!(inside(scope_metrics, 1)[0], [text(1, "name"), text(2, "1.0")]);
    let actual = inside(scope_metrics, 2);
    assert_eq!(actual[0][..3], [text(1, "gauge"), text(2, "d"), text(3, "ms")]);
    let points = inside(&inside(&actual[0], 5)[0], 1);
    let times = [Field::Fixed(2, 10), Field::Fixed(3, 20)];
    assert_eq!(points[0][..2], times);
    assert_eq!(points[0][2], Field::Fixed(4, 1.5f64.to_bits()));
    let node = &inside(&points[0], 7)[0];
    assert_eq!(node[0], text(1, "node.id"));
    assert_eq!(inside(node, 2)[0], [Field::Number(3, 7)]);
    assert_eq!(points[1][2..], [Field::Fixed(6, u64::MAX)]);
    for (metric, temporality) in [(&actual[1], 1), (&actual[2], 2)] {
        let sum = &inside(metric, 7)[0];
        assert_eq!(sum[1..], [Field::Number(2, temporality), Field::Number(3, 1)]);
    }
}

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// Returns an interval of two seconds in which a broker has answered three requests.
fn measured() -> Interval {
    let mut measures = Measures::default();
    measures.note_origin(1000);
    measures.on_reply(NodeId(1), ApiKey::PRODUCE, ms(500)); // before the subscription
    measures.begin(Instant::ORIGIN, 5000, 3);
    for (api, took) in [(ApiKey::PRODUCE, 10), (ApiKey::PRODUCE, 30), (ApiKey::OFFSET_COMMIT, 8)] {
        measures.on_reply(NodeId(1), api, ms(took));
    }
    measures.on_throttle(0);
    measures.on_throttle(100);
    let now = Totals {
        connections: 5,
        rebalance_ms: 70,
    };
    measures.take(Instant::ORIGIN + ms(2000), 7000, now)
}

/// A name and its values with their brokers.
type NamedValues = (String, Vec<(Number, Option<i32>)>);

fn values(kind: ClientKind, interval: &Interval, delta: bool) -> Vec<NamedValues> {
    let mut queue = DurationSum::default();
    queue.record(ms(4));
    let facts = Facts {
        kind: Some(kind),
        totals: Totals {
            connections: 5,
            rebalance_ms: 70,
        },
        queue,
        assigned: 2,
        idle: Some(0.25),
        ..Facts::default()
    };
    let list = metrics(interval, &facts, delta);
    let short = |m: &Metric| m.name.strip_prefix("org.apache.kafka.").map(str::to_owned);
    let points = |m: &Metric| m.points.iter().map(|p| (p.value, p.node_id)).collect();
    list.iter().map(|m| (short(m).unwrap(), points(m))).collect()
}

#[test]
fn the_manual_lists_exactly_the_metrics_of_the_table() {
    let manual = include_str!("../../../../docs/CLIENT_METRICS.md");
    let rows = manual
        .lines()
        .filter(|line| line.contains("| ms |") || line.contains("| 1 |"));
    let cells = rows.filter_map(|line| line.split('|').nth(1));
    let actual: BTreeSet<&str> = cells.flat_map(|cell| cell.split('`').skip(1).step_by(2)).collect();
    assert_eq!(actual, names().collect());
}

#[test]
fn metrics_of_a_producer_are_its_measurements() {
    let interval = measured();
    assert_eq!(
        (interval.origin_ns, interval.since_ns, interval.until_ns),
        (1_000_000_000, 5_000_000_000, 7_000_000_000)
    );
    let actual = values(ClientKind::Producer, &interval, false);
    let one = |name: &str, value| (format!("producer.{name}"), vec![(value, None)]);
    let node = |name: &str, value| (format!("producer.{name}"), vec![(value, Some(1))]);
    use Number::{Double, Int};
    assert_eq!(
        actual,
        [
            one("connection.creation.rate", Double(1.0)),
            one("connection.creation.total", Int(5)),
            node("node.request.latency.avg", Double(16.0)),
            node("node.request.latency.max", Int(30)),
            one("produce.throttle.time.avg", Double(50.0)),
            one("produce.throttle.time.max", Int(100)),
            one("record.queue.time.avg", Double(4.0)),
            one("record.queue.time.max", Int(4)),
            one("request.latency.avg", Double(20.0)),
            one("request.latency.max", Int(30)),
        ]
    );
}

#[test]
fn metrics_without_measurements_are_omitted() {
    let actual = values(ClientKind::Consumer, &measured(), true);
    let one = |name: &str, value| (format!("consumer.{name}"), vec![(value, None)]);
    use Number::{Double, Int};
    assert_eq!(actual[1], one("connection.creation.total", Int(2)));
    assert_eq!(
        actual[4..],
        [
            one("poll.idle.ratio.avg", Double(0.25)),
            one("coordinator.assigned.partitions", Int(2)),
            one("coordinator.commit.latency.avg", Double(8.0)),
            one("coordinator.commit.latency.max", Int(8)),
            one("coordinator.rebalance.latency.total", Int(70)),
        ]
    );
}
