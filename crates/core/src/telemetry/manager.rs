//! Client metrics (KIP-714): the schedule of subscription requests and pushes, and the handling of their responses.

use std::time::Duration;

use bytes::Bytes;
use ottla_protocol::api::get_telemetry_subscriptions::{
    GetTelemetrySubscriptionsRequest, GetTelemetrySubscriptionsResponse,
};
use ottla_protocol::api::push_telemetry::PushTelemetryRequest;
use ottla_protocol::compression::{Codec, compress};
use ottla_protocol::{Request, Uuid};

use super::measures::Measures;
use super::metrics::{Facts, metrics};
use super::otlp::{Document, Metric};
use crate::connection::{BrokerKey, BrokerVersions, FailureKind, Outcome, Owner, Ready, Reply};
use crate::context::Ctx;
use crate::error::{Error, ErrorCode};
use crate::log::{DebugContexts, level};
use crate::request::{ReadyBroker, RequestIds, decode};
use crate::sys::Instant;

/// The push interval until a broker has sent one.
const DEFAULT_INTERVAL: Duration = Duration::from_secs(300);
/// The shortest push interval that brokers accept; a shorter one in a response is raised to it.
const SHORTEST_INTERVAL: Duration = Duration::from_millis(100);
/// Maximum wait of a terminating client for the response to its last push.
const LAST_PUSH_WAIT: Duration = Duration::from_millis(250);

/// The cluster's subscription to this client's metrics.
#[derive(Debug, Clone)]
struct Subscription {
    id: i32,
    /// Accepted codecs in the broker's order of preference; empty for none.
    codecs: Vec<Codec>,
    interval: Duration,
    max_bytes: usize,
    delta: bool,
    /// Prefixes of metric names; `*` and the empty prefix match all.
    names: Vec<String>,
}

impl Subscription {
    fn read(response: GetTelemetrySubscriptionsResponse) -> Self {
        let codec = |id: &i8| u8::try_from(*id).ok().and_then(Codec::from_id);
        let interval = Duration::from_millis(u64::try_from(response.push_interval_ms).unwrap_or(0));
        Subscription {
            id: response.subscription_id,
            codecs: response.accepted_compression_types.iter().filter_map(codec).collect(),
            interval: match interval.is_zero() {
                true => DEFAULT_INTERVAL,
                false => interval.max(SHORTEST_INTERVAL),
            },
            max_bytes: usize::try_from(response.telemetry_max_bytes).unwrap_or(usize::MAX),
            delta: response.delta_temporality,
            names: response.requested_metrics,
        }
    }

    fn matches(&self, name: &str) -> bool {
        self.names
            .iter()
            .any(|prefix| prefix == "*" || name.starts_with(prefix.as_str()))
    }
}

/// The state of the exchange with the cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// The subscription is requested after `until`, as soon as a broker is connected.
    Idle { until: Instant },
    /// The subscription request is in flight.
    Subscribing { id: u64 },
    /// Metrics are pushed at `due`.
    Collecting { due: Instant },
    /// A push is in flight.
    Pushing { id: u64 },
    /// The last push is in flight.
    Terminating { id: u64 },
    /// Nothing is sent any more: `enable.metrics.push` is off, the client terminates, or a broker refuses its requests.
    Off,
}

/// The manager of client metrics. Order of calls: [`on_connection_up`](Self::on_connection_up),
/// [`on_outcome`](Self::on_outcome) and measurements in any order, then [`poll`](Self::poll).
#[derive(Debug)]
pub struct Telemetry {
    state: State,
    /// The client instance id that the cluster has assigned.
    instance: Uuid,
    subscription: Option<Subscription>,
    /// A connection may have come up, or accept requests again, since the last search for a broker.
    connections_changed: bool,
    /// A broker that supports metrics has too many requests in flight.
    is_blocked: bool,
    /// The broker of the last request.
    broker: Option<BrokerKey>,
    ids: RequestIds,
    /// Measurements since the last push.
    pub measures: Measures,
    warned_too_large: bool,
}

impl Telemetry {
    /// Returns a manager; `enabled` is `enable.metrics.push`.
    pub fn new(enabled: bool) -> Self {
        Telemetry {
            state: match enabled {
                true => State::Idle { until: Instant::ORIGIN },
                false => State::Off,
            },
            instance: Uuid::ZERO,
            subscription: None,
            connections_changed: false,
            is_blocked: false,
            broker: None,
            ids: RequestIds::default(),
            measures: Measures::default(),
            warned_too_large: false,
        }
    }

    /// Returns whether the cluster has subscribed to metrics, so that measurements are needed.
    pub fn collects(&self) -> bool {
        matches!(self.state, State::Collecting { .. } | State::Pushing { .. })
    }

    /// Handles a connection that has come up.
    pub fn on_connection_up(&mut self) {
        self.connections_changed = true;
    }

    /// Handles a connection that accepts requests again.
    pub fn on_unthrottled(&mut self) {
        self.connections_changed |= self.is_blocked;
    }

    /// Sends the request that is due. Returns the time of the next call if no event occurs before. `facts` is called when a push
    /// is due.
    pub fn poll(&mut self, ctx: &mut Ctx<'_>, facts: impl FnOnce() -> Facts) -> Option<Instant> {
        self.measures.note_origin(ctx.wall_ms);
        match self.state {
            State::Idle { until } | State::Collecting { due: until } if until > ctx.now => return Some(until),
            State::Idle { .. } => self.subscribe(ctx),
            State::Collecting { .. } => {
                if let Some(broker) = self.find_broker(ctx) {
                    let id = self.push(ctx, &broker, facts(), false);
                    self.state = id.map_or(
                        State::Collecting {
                            due: self.next_push(ctx),
                        },
                        |id| State::Pushing { id },
                    );
                }
            }
            State::Subscribing { .. } | State::Pushing { .. } | State::Terminating { .. } | State::Off => {}
        }
        match self.state {
            State::Idle { until } | State::Collecting { due: until } if until > ctx.now => Some(until),
            _ => None,
        }
    }

    /// Pushes the remaining metrics because the client terminates. Returns the maximum wait for the response, until
    /// [`has_ended`](Self::has_ended).
    pub fn end(&mut self, ctx: &mut Ctx<'_>, facts: impl FnOnce() -> Facts) -> Option<Duration> {
        // Also while a push is in flight: brokers accept a terminating push regardless of the interval.
        let collected = self.collects();
        self.state = State::Off;
        self.connections_changed = true;
        if collected
            && let Some(broker) = self.find_broker(ctx)
            && let Some(id) = self.push(ctx, &broker, facts(), true)
        {
            self.state = State::Terminating { id };
        }
        (!self.has_ended()).then_some(LAST_PUSH_WAIT)
    }

    /// Returns whether the manager has ended: it waits for no response.
    pub fn has_ended(&self) -> bool {
        self.state == State::Off
    }

    /// Returns a connected broker that accepts a request and supports metrics, preferably one without requests in flight:
    /// a request behind a long poll is answered after it. No connection is opened for metrics.
    fn find_broker(&mut self, ctx: &mut Ctx<'_>) -> Option<ReadyBroker> {
        if !std::mem::take(&mut self.connections_changed) && self.broker.is_none() {
            return None;
        }
        self.is_blocked = false;
        let mut keys: Vec<BrokerKey> = ctx
            .connections
            .keys()
            .filter(|key| ctx.connections.is_up(*key))
            .collect();
        keys.sort_by_key(|key| (ctx.connections.in_flight(*key), self.broker != Some(*key)));
        for key in keys {
            if !ctx
                .connections
                .versions(key)
                .is_some_and(|versions| supports_metrics(&versions))
            {
                continue;
            }
            match ctx.connections.ready(key, ctx.now) {
                Ready::Yes(versions) => {
                    self.broker = Some(key);
                    return Some(ReadyBroker { key, versions });
                }
                Ready::Busy => self.is_blocked = true,
                Ready::Connecting | Ready::Unknown => {}
            }
        }
        self.broker = None;
        None
    }

    fn send<R: Request>(&mut self, ctx: &mut Ctx<'_>, broker: &ReadyBroker, request: &R) -> Option<u64> {
        let tag = self.ids.next_tag(Owner::Telemetry);
        let version = broker.version::<R>().ok()?;
        let timeout = ctx.socket_timeout();
        let sent = broker.send(ctx, tag, request, version, timeout);
        sent.is_ok().then_some(tag.id)
    }

    fn subscribe(&mut self, ctx: &mut Ctx<'_>) {
        let Some(broker) = self.find_broker(ctx) else {
            return;
        };
        let request = GetTelemetrySubscriptionsRequest {
            client_instance_id: self.instance,
            ..Default::default()
        };
        ctx.log.debug(DebugContexts::TELEMETRY, "GETSUBS", || {
            format!("requesting the metrics subscription from broker {}", broker.key.node)
        });
        if let Some(id) = self.send(ctx, &broker, &request) {
            self.state = State::Subscribing { id };
        }
    }

    /// Sends the measurements since the last push. Returns the request's id, `None` if it cannot be sent.
    fn push(&mut self, ctx: &mut Ctx<'_>, broker: &ReadyBroker, mut facts: Facts, terminating: bool) -> Option<u64> {
        facts.totals.connections = ctx.connections.totals().connections;
        let subscription = self.subscription.clone()?;
        let taken = self.measures.take(ctx.now, ctx.wall_ms, facts.totals);
        let mut list = metrics(&taken, &facts, subscription.delta);
        list.retain(|metric| subscription.matches(&metric.name));
        let start_ns = if subscription.delta {
            taken.since_ns
        } else {
            taken.origin_ns
        };
        let scope = (
            ctx.conf.client_software_name.as_str(),
            ctx.conf.client_software_version.as_str(),
        );
        let encode = |metrics: &[Metric]| {
            Document {
                resource: &facts.resource,
                scope,
                start_ns,
                time_ns: taken.until_ns,
                metrics,
            }
            .encode()
        };
        let (mut codec, mut bytes) = pack(&subscription.codecs, encode(&list));
        if bytes.len() > subscription.max_bytes {
            // Metrics per broker are the largest part.
            list.retain(|metric| metric.points.iter().all(|point| point.node_id.is_none()));
            (codec, bytes) = pack(&subscription.codecs, encode(&list));
        }
        if bytes.len() > subscription.max_bytes {
            self.warn_too_large(ctx);
            return None;
        }
        ctx.log.debug(DebugContexts::TELEMETRY, "PUSH", || {
            let (n, size, last) = (
                list.len(),
                bytes.len(),
                if terminating { ", the last ones" } else { "" },
            );
            format!(
                "pushing {n} metrics to broker {}: {size} bytes, {codec}{last}",
                broker.key.node
            )
        });
        let request = PushTelemetryRequest {
            client_instance_id: self.instance,
            subscription_id: subscription.id,
            terminating,
            compression_type: codec.id().cast_signed(),
            metrics: bytes,
            ..Default::default()
        };
        self.send(ctx, broker, &request)
    }

    fn warn_too_large(&mut self, ctx: &Ctx<'_>) {
        if !std::mem::replace(&mut self.warned_too_large, true) {
            ctx.log.log(level::WARNING, "TELEMETRY", || {
                let max_bytes = self.subscription.as_ref().map_or(0, |s| s.max_bytes);
                format!("metrics are not pushed: they exceed the cluster's maximum of {max_bytes} bytes")
            });
        }
    }

    fn interval(&self) -> Duration {
        self.subscription.as_ref().map_or(DEFAULT_INTERVAL, |s| s.interval)
    }

    fn next_push(&self, ctx: &Ctx<'_>) -> Instant {
        ctx.now + self.interval()
    }

    /// Handles the outcome of a request of this manager.
    pub fn on_outcome(&mut self, ctx: &mut Ctx<'_>, key: BrokerKey, id: u64, outcome: Outcome) {
        self.connections_changed = true;
        match (self.state, outcome) {
            (State::Subscribing { id: in_flight }, outcome) if in_flight == id => match outcome {
                Outcome::Reply(reply) => self.on_subscription(ctx, key, &reply),
                Outcome::Sent => self.wait_interval(ctx),
                Outcome::Failed(failure) => self.on_failed(ctx, failure.kind, &failure.error),
            },
            (State::Pushing { id: in_flight }, outcome) if in_flight == id => match outcome {
                Outcome::Reply(reply) => self.on_pushed(ctx, key, &reply),
                Outcome::Sent => self.wait_interval(ctx),
                // Gauges and deltas of this interval are lost; cumulative sums are part of the next push.
                Outcome::Failed(_) => {
                    self.state = State::Collecting {
                        due: self.next_push(ctx),
                    }
                }
            },
            // The result of the last push is not used.
            (State::Terminating { id: in_flight }, _) if in_flight == id => self.state = State::Off,
            _ => {}
        }
    }

    fn wait_interval(&mut self, ctx: &Ctx<'_>) {
        self.state = State::Idle {
            until: ctx.now + self.interval(),
        };
    }

    /// Handles a subscription request without a response. After a disconnect another broker is tried soon.
    fn on_failed(&mut self, ctx: &mut Ctx<'_>, kind: FailureKind, error: &Error) {
        ctx.log
            .debug(DebugContexts::TELEMETRY, "GETSUBS", || format!("no response: {error}"));
        match kind {
            FailureKind::Disconnected => {
                let pause = ctx.retry_delay(3);
                self.state = State::Idle { until: ctx.now + pause };
            }
            FailureKind::TimedOut => self.wait_interval(ctx),
        }
    }

    /// Throttles a connection as its broker requests. Returns the end of the pause.
    fn throttle(&self, ctx: &mut Ctx<'_>, key: BrokerKey, throttle_ms: i32) -> Instant {
        let pause = Duration::from_millis(u64::try_from(throttle_ms).unwrap_or(0));
        ctx.connections.throttle(key, pause, ctx.now);
        ctx.now + pause
    }

    fn on_subscription(&mut self, ctx: &mut Ctx<'_>, key: BrokerKey, reply: &Reply) {
        let Ok(response) = decode::<GetTelemetrySubscriptionsRequest>(ctx, key, reply) else {
            return self.wait_interval(ctx);
        };
        let not_before = self.throttle(ctx, key, response.throttle_time_ms);
        let code = ErrorCode::from(response.error_code);
        if !code.is_ok() {
            return self.on_error(ctx, code, "GetTelemetrySubscriptions", not_before);
        }
        if !response.client_instance_id.is_zero() {
            self.instance = response.client_instance_id;
        }
        let (instance, subscription) = (self.instance, Subscription::read(response));
        ctx.log.debug(DebugContexts::TELEMETRY, "GETSUBS", || {
            format!(
                "the cluster subscribes to [{}] every {}ms, at most {} bytes, {}; subscription {}, client instance {instance}",
                subscription.names.join(", "),
                subscription.interval.as_millis(),
                subscription.max_bytes,
                if subscription.delta { "deltas" } else { "sums" },
                subscription.id
            )
        });
        let (interval, any_metric) = (subscription.interval, !subscription.names.is_empty());
        self.subscription = Some(subscription);
        if !any_metric {
            self.measures.stop();
            self.state = State::Idle {
                until: not_before.max(ctx.now + interval),
            };
            return;
        }
        let connections = ctx.connections.totals().connections;
        self.measures.begin(ctx.now, ctx.wall_ms, connections);
        // Spreads the first pushes of clients that have subscribed at the same time.
        let due = ctx.now + ctx.rng.jitter(interval, 0.5, 0.5);
        self.state = State::Collecting {
            due: not_before.max(due),
        };
    }

    fn on_pushed(&mut self, ctx: &mut Ctx<'_>, key: BrokerKey, reply: &Reply) {
        let Ok(response) = decode::<PushTelemetryRequest>(ctx, key, reply) else {
            return self.wait_interval(ctx);
        };
        let not_before = self.throttle(ctx, key, response.throttle_time_ms);
        let code = ErrorCode::from(response.error_code);
        match code {
            ErrorCode::NO_ERROR => {
                let due = self.next_push(ctx).max(not_before);
                self.state = State::Collecting { due };
            }
            _ => self.on_error(ctx, code, "PushTelemetry", not_before),
        }
    }

    /// Handles an error code as KIP-714 specifies.
    fn on_error(&mut self, ctx: &mut Ctx<'_>, code: ErrorCode, what: &str, not_before: Instant) {
        ctx.log.debug(DebugContexts::TELEMETRY, "REFUSED", || {
            format!("{what} was refused: {}", code.description())
        });
        let later = ctx.now + self.interval();
        match code {
            // The subscription or the accepted codecs have changed.
            ErrorCode::UNKNOWN_SUBSCRIPTION_ID | ErrorCode::UNSUPPORTED_COMPRESSION_TYPE => {
                self.state = State::Idle { until: not_before };
            }
            ErrorCode::TELEMETRY_TOO_LARGE => {
                self.warn_too_large(ctx);
                self.state = State::Idle { until: later };
            }
            // The broker rejects the content of this client's requests, which a retry would not change.
            ErrorCode::INVALID_REQUEST | ErrorCode::INVALID_RECORD | ErrorCode::UNSUPPORTED_VERSION => {
                ctx.log.log(level::WARNING, "TELEMETRY", || {
                    format!(
                        "{what} was refused: {}: metrics are not pushed any more",
                        code.description()
                    )
                });
                self.measures.stop();
                self.state = State::Off;
            }
            _ => {
                self.state = State::Idle {
                    until: later.max(not_before),
                }
            }
        }
    }
}

fn supports_metrics(versions: &BrokerVersions) -> bool {
    versions.pick::<GetTelemetrySubscriptionsRequest>().is_some() && versions.pick::<PushTelemetryRequest>().is_some()
}

/// Compresses the bytes with the first accepted codec that this client supports.
fn pack(codecs: &[Codec], plain: Vec<u8>) -> (Codec, Bytes) {
    for codec in codecs {
        if let Ok(packed) = compress(*codec, None, &plain) {
            return (*codec, packed);
        }
    }
    (Codec::None, plain.into())
}

#[cfg(test)]
mod tests;
