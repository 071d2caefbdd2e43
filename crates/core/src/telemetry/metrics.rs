//! The table of metrics: those of KIP-714 that this client can measure.

use super::measures::{Interval, Totals};
use super::otlp::{Kind, Metric, Number, Point};
use crate::stats::DurationSum;
use crate::types::ClientKind;

/// The prefix of every name.
const PREFIX: &str = "org.apache.kafka";

/// The managers' contributions to a push.
#[derive(Debug, Default, Clone)]
pub struct Facts {
    /// The kind of client; no metrics for `None`.
    pub kind: Option<ClientKind>,
    /// Attributes that identify the client (KIP-714, *resource labels*).
    pub resource: Vec<(&'static str, String)>,
    /// Counters.
    pub totals: Totals,
    /// Queue times of records in the producer since the last push.
    pub queue: DurationSum,
    /// Durations of the rebalances that ended since the last push.
    pub rebalances: DurationSum,
    /// The number of assigned partitions.
    pub assigned: usize,
    /// The fraction of time in which the application waited for messages.
    pub idle: Option<f64>,
}

/// The computation of a metric's value.
#[derive(Clone, Copy)]
enum Value {
    /// Average or maximum in milliseconds; no value without measurements.
    Avg(fn(&Input<'_>) -> DurationSum),
    Max(fn(&Input<'_>) -> DurationSum),
    /// The same per broker.
    AvgOfNodes,
    MaxOfNodes,
    Ratio(fn(&Input<'_>) -> Option<f64>),
    Count(fn(&Input<'_>) -> u64),
    /// A counter.
    Total(fn(&Totals) -> u64),
}

/// The input of the computations.
struct Input<'a> {
    interval: &'a Interval,
    facts: &'a Facts,
}

/// A metric. `of` is the kind of client that has it, `None` for both.
struct MetricRow {
    of: Option<ClientKind>,
    name: &'static str,
    unit: &'static str,
    description: &'static str,
    value: Value,
}

const fn row(
    of: Option<ClientKind>,
    name: &'static str,
    unit: &'static str,
    description: &'static str,
    value: Value,
) -> MetricRow {
    MetricRow {
        of,
        name,
        unit,
        description,
        value,
    }
}

const PRODUCER: Option<ClientKind> = Some(ClientKind::Producer);
const CONSUMER: Option<ClientKind> = Some(ClientKind::Consumer);

/// Returns the throttle times averaged over all Produce responses.
fn throttle(input: &Input<'_>) -> DurationSum {
    let spans = &input.interval.spans;
    spans.throttle.among(spans.produce.count())
}

#[rustfmt::skip]
const METRICS: &[MetricRow] = &[
    row(None, "connection.creation.rate", "1", "Connections that were made, a second", Value::Ratio(|t| {
        let new = t.facts.totals.connections.saturating_sub(t.interval.before.connections);
        let seconds = t.interval.length.as_secs_f64();
        (seconds > 0.0).then(|| new as f64 / seconds)
    })),
    row(None, "connection.creation.total", "1", "Connections that were made", Value::Total(|t| t.connections)),
    row(None, "node.request.latency.avg", "ms", "Average time from sending a request to the answer, by broker",
        Value::AvgOfNodes),
    row(None, "node.request.latency.max", "ms", "Longest time from sending a request to the answer, by broker",
        Value::MaxOfNodes),
    row(PRODUCER, "produce.throttle.time.avg", "ms", "Average throttle time in responses to Produce requests",
        Value::Avg(throttle)),
    row(PRODUCER, "produce.throttle.time.max", "ms", "Maximum throttle time in responses to Produce requests",
        Value::Max(throttle)),
    row(PRODUCER, "record.queue.time.avg", "ms", "Average time that records waited in the producer before they were sent",
        Value::Avg(|t| t.facts.queue)),
    row(PRODUCER, "record.queue.time.max", "ms", "Longest time that a record waited in the producer before it was sent",
        Value::Max(|t| t.facts.queue)),
    row(PRODUCER, "request.latency.avg", "ms", "Average time from sending a Produce request to the answer",
        Value::Avg(|t| t.interval.spans.produce)),
    row(PRODUCER, "request.latency.max", "ms", "Longest time from sending a Produce request to the answer",
        Value::Max(|t| t.interval.spans.produce)),
    row(CONSUMER, "poll.idle.ratio.avg", "1", "Part of the time in which the application waited for messages",
        Value::Ratio(|t| t.facts.idle)),
    row(CONSUMER, "coordinator.assigned.partitions", "1", "Partitions that are assigned",
        Value::Count(|t| t.facts.assigned as u64)),
    row(CONSUMER, "coordinator.commit.latency.avg", "ms", "Average time from sending an OffsetCommit request to the answer",
        Value::Avg(|t| t.interval.spans.commit)),
    row(CONSUMER, "coordinator.commit.latency.max", "ms", "Longest time from sending an OffsetCommit request to the answer",
        Value::Max(|t| t.interval.spans.commit)),
    row(CONSUMER, "coordinator.rebalance.latency.avg", "ms", "Average time from the beginning of a rebalance to its end",
        Value::Avg(|t| t.facts.rebalances)),
    row(CONSUMER, "coordinator.rebalance.latency.max", "ms", "Longest time from the beginning of a rebalance to its end",
        Value::Max(|t| t.facts.rebalances)),
    row(CONSUMER, "coordinator.rebalance.latency.total", "ms", "Time spent in rebalances",
        Value::Total(|t| t.rebalance_ms)),
    row(CONSUMER, "fetch.manager.fetch.latency.avg", "ms", "Average time from sending a Fetch request to the answer",
        Value::Avg(|t| t.interval.spans.fetch)),
    row(CONSUMER, "fetch.manager.fetch.latency.max", "ms", "Longest time from sending a Fetch request to the answer",
        Value::Max(|t| t.interval.spans.fetch)),
];

/// Returns the names of all metrics without their prefix.
#[cfg(test)]
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    METRICS.iter().map(|row| row.name)
}

fn int(value: u64) -> Number {
    Number::Int(i64::try_from(value).unwrap_or(i64::MAX))
}

/// Returns the metrics of an interval. A metric without measurements is omitted, since 0 would be wrong.
pub(super) fn metrics(interval: &Interval, facts: &Facts, delta: bool) -> Vec<Metric> {
    let input = Input { interval, facts };
    let Some(kind) = facts.kind else { return Vec::new() };
    let rows = METRICS.iter().filter(|row| row.of.is_none_or(|of| of == kind));
    let metrics = rows.map(|row| Metric {
        name: format!("{PREFIX}.{kind}.{}", row.name),
        description: row.description,
        unit: row.unit,
        kind: match row.value {
            Value::Total(_) => Kind::Sum { delta },
            _ => Kind::Gauge,
        },
        points: points(row.value, &input, delta),
    });
    metrics.filter(|metric| !metric.points.is_empty()).collect()
}

fn points(value: Value, input: &Input<'_>, delta: bool) -> Vec<Point> {
    let of_client = |value: Option<Number>| {
        let point = value.map(|value| Point { value, node_id: None });
        point.into_iter().collect()
    };
    let of_nodes = |read: fn(&DurationSum) -> Option<Number>| {
        let nodes = input.interval.spans.round_trips.iter();
        let points = nodes.filter_map(|(node, span)| {
            let value = read(span)?;
            let node_id = Some(node.0);
            Some(Point { value, node_id })
        });
        points.collect()
    };
    match value {
        Value::Avg(span) => of_client(avg(&span(input))),
        Value::Max(span) => of_client(max(&span(input))),
        Value::AvgOfNodes => of_nodes(avg),
        Value::MaxOfNodes => of_nodes(max),
        Value::Ratio(ratio) => of_client(ratio(input).map(Number::Double)),
        Value::Count(count) => of_client(Some(int(count(input)))),
        Value::Total(total) => {
            let before = if delta { total(&input.interval.before) } else { 0 };
            of_client(Some(int(total(&input.facts.totals).saturating_sub(before))))
        }
    }
}

fn avg(span: &DurationSum) -> Option<Number> {
    span.avg().map(|avg| Number::Double(avg.as_secs_f64() * 1000.0))
}

fn max(span: &DurationSum) -> Option<Number> {
    let max = (span.count() > 0).then(|| span.max());
    max.map(|max| int(u64::try_from(max.as_millis()).unwrap_or(u64::MAX)))
}
