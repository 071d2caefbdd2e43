//! When to ask what is wanted, when to push, and what the answers mean.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use ottla_protocol::api::get_telemetry_subscriptions::{
    GetTelemetrySubscriptionsRequest, GetTelemetrySubscriptionsResponse,
};
use ottla_protocol::api::push_telemetry::{PushTelemetryRequest, PushTelemetryResponse};
use ottla_protocol::compression::{Codec, compress};
use ottla_protocol::{ApiKey, Request, Uuid};

use super::measures::Measures;
use super::metrics::{Facts, metrics};
use super::otlp::{Document, Metric};
use crate::connection::{BrokerKey, BrokerVersions, FailureKind, Outcome, Owner, Ready, Reply, Tag};
use crate::context::Ctx;
use crate::error::{Error, ErrorCode};
use crate::log::{DebugContexts, level};
use crate::sys::Instant;

/// How long to rest where no broker has said how often it wants metrics.
const DEFAULT_INTERVAL: Duration = Duration::from_secs(300);
/// Brokers do not take less time between pushes; one that asks for less made a mistake.
const SHORTEST_INTERVAL: Duration = Duration::from_millis(100);
/// How long a client that is being destroyed waits for its last push to be answered.
const LAST_PUSH_WAIT: Duration = Duration::from_millis(250);

/// What the cluster wants from this client.
#[derive(Debug, Clone)]
struct Subscription {
    id: i32,
    /// By the broker's preference; empty for none.
    codecs: Vec<Codec>,
    interval: Duration,
    max_bytes: usize,
    delta: bool,
    /// Beginnings of names; `*` and an empty one stand for all.
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

    fn wants(&self, name: &str) -> bool {
        self.names
            .iter()
            .any(|prefix| prefix == "*" || name.starts_with(prefix.as_str()))
    }
}

/// Where the exchange with the cluster stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// What is wanted is asked for as soon as there is a broker to ask, and then.
    Idle { until: Instant },
    /// That was asked.
    Asking { id: u64 },
    /// Metrics are pushed then.
    Collecting { due: Instant },
    /// They were pushed.
    Pushing { id: u64 },
    /// The last ones were pushed.
    Ending { id: u64 },
    /// Nothing more is done: the setting, the end, or a broker that cannot be agreed with.
    Off,
}

/// The manager. Order of calls: [`on_connection_up`](Self::on_connection_up), [`on_outcome`](Self::on_outcome) and what is measured
/// in any order, then [`poll`](Self::poll).
#[derive(Debug)]
pub struct Telemetry {
    state: State,
    /// Given by the cluster.
    instance: Uuid,
    subscription: Option<Subscription>,
    /// A connection may have come up, or become free, since they were looked at.
    look: bool,
    /// A broker that speaks of metrics takes no requests for now.
    awaits_room: bool,
    /// The broker that was talked to last.
    broker: Option<BrokerKey>,
    last_id: u64,
    /// What was measured since the last push.
    pub measures: Measures,
    said_too_large: bool,
}

impl Telemetry {
    /// `enable.metrics.push`.
    pub fn new(enabled: bool) -> Self {
        Telemetry {
            state: match enabled {
                true => State::Idle { until: Instant::ORIGIN },
                false => State::Off,
            },
            instance: Uuid::ZERO,
            subscription: None,
            look: false,
            awaits_room: false,
            broker: None,
            last_id: 0,
            measures: Measures::default(),
            said_too_large: false,
        }
    }

    /// Whether the cluster wants metrics, so that there is something to measure.
    pub fn collects(&self) -> bool {
        matches!(self.state, State::Collecting { .. } | State::Pushing { .. })
    }

    /// A connection takes requests.
    pub fn on_connection_up(&mut self) {
        self.look = true;
    }

    /// A connection takes requests again.
    pub fn on_unthrottled(&mut self) {
        self.look |= self.awaits_room;
    }

    /// Does what is due; gives when to be called again if nothing else happens. `facts` is called when metrics are due.
    pub fn poll(&mut self, ctx: &mut Ctx<'_>, facts: impl FnOnce() -> Facts) -> Option<Instant> {
        self.measures.note_origin(ctx.wall_ms);
        match self.state {
            State::Idle { until } | State::Collecting { due: until } if until > ctx.now => return Some(until),
            State::Idle { .. } => self.ask(ctx),
            State::Collecting { .. } => {
                if let Some((key, versions)) = self.find_broker(ctx) {
                    let id = self.push(ctx, (key, &versions), facts(), false);
                    self.state = id.map_or(
                        State::Collecting {
                            due: self.next_push(ctx),
                        },
                        |id| State::Pushing { id },
                    );
                }
            }
            State::Asking { .. } | State::Pushing { .. } | State::Ending { .. } | State::Off => {}
        }
        match self.state {
            State::Idle { until } | State::Collecting { due: until } if until > ctx.now => Some(until),
            _ => None,
        }
    }

    /// The client ends: pushes what there is, for the last time. Gives how long to wait for the answer at most, until
    /// [`has_ended`](Self::has_ended).
    pub fn end(&mut self, ctx: &mut Ctx<'_>, facts: impl FnOnce() -> Facts) -> Option<Duration> {
        // Behind a push under way, too: brokers take a last one however soon it follows.
        let wanted = self.collects();
        self.state = State::Off;
        self.look = true;
        if wanted
            && let Some((key, versions)) = self.find_broker(ctx)
            && let Some(id) = self.push(ctx, (key, &versions), facts(), true)
        {
            self.state = State::Ending { id };
        }
        (!self.has_ended()).then_some(LAST_PUSH_WAIT)
    }

    /// Whether there is nothing to wait for any more.
    pub fn has_ended(&self) -> bool {
        self.state == State::Off
    }

    /// A broker that takes requests now and speaks of metrics, one that waits for nothing if possible: what is asked
    /// behind a long poll is answered after it. No connection is made for it.
    fn find_broker(&mut self, ctx: &mut Ctx<'_>) -> Option<(BrokerKey, Arc<BrokerVersions>)> {
        if !std::mem::take(&mut self.look) && self.broker.is_none() {
            return None;
        }
        self.awaits_room = false;
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
                .is_some_and(|versions| speaks_of_metrics(&versions))
            {
                continue;
            }
            match ctx.connections.ready(key, ctx.now) {
                Ready::Yes(versions) => {
                    self.broker = Some(key);
                    return Some((key, versions));
                }
                Ready::Busy => self.awaits_room = true,
                Ready::Connecting | Ready::Unknown => {}
            }
        }
        self.broker = None;
        None
    }

    fn send<R: Request>(
        &mut self,
        ctx: &mut Ctx<'_>,
        (key, versions): (BrokerKey, &BrokerVersions),
        request: &R,
    ) -> Option<u64> {
        self.last_id += 1;
        let tag = Tag {
            owner: Owner::Telemetry,
            id: self.last_id,
        };
        let timeout = Duration::from_millis(ctx.conf.socket_timeout_ms.into());
        let version = versions.pick::<R>()?;
        let sent = ctx.connections.send(key, ctx.now, tag, request, version, timeout);
        sent.is_ok().then_some(tag.id)
    }

    fn ask(&mut self, ctx: &mut Ctx<'_>) {
        let Some((key, versions)) = self.find_broker(ctx) else {
            return;
        };
        let request = GetTelemetrySubscriptionsRequest {
            client_instance_id: self.instance,
            ..Default::default()
        };
        ctx.log.debug(DebugContexts::TELEMETRY, "GETSUBS", || {
            format!("asking broker {} which metrics are wanted", key.node)
        });
        if let Some(id) = self.send(ctx, (key, &versions), &request) {
            self.state = State::Asking { id };
        }
    }

    /// Takes what was measured and sends it; `None` when there is no way to.
    fn push(
        &mut self,
        ctx: &mut Ctx<'_>,
        to: (BrokerKey, &BrokerVersions),
        mut facts: Facts,
        terminating: bool,
    ) -> Option<u64> {
        facts.totals.connections = ctx.connections.totals().connections;
        let wanted = self.subscription.clone()?;
        let taken = self.measures.take(ctx.now, ctx.wall_ms, facts.totals);
        let mut list = metrics(&taken, &facts, wanted.delta);
        list.retain(|metric| wanted.wants(&metric.name));
        let start_ns = if wanted.delta { taken.since_ns } else { taken.origin_ns };
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
        let (mut codec, mut bytes) = pack(&wanted.codecs, encode(&list));
        if bytes.len() > wanted.max_bytes {
            // Values of single brokers are what there can be many of.
            list.retain(|metric| metric.points.iter().all(|point| point.node_id.is_none()));
            (codec, bytes) = pack(&wanted.codecs, encode(&list));
        }
        if bytes.len() > wanted.max_bytes {
            self.say_too_large(ctx);
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
                to.0.node
            )
        });
        let request = PushTelemetryRequest {
            client_instance_id: self.instance,
            subscription_id: wanted.id,
            terminating,
            compression_type: codec.id().cast_signed(),
            metrics: bytes,
            ..Default::default()
        };
        self.send(ctx, to, &request)
    }

    fn say_too_large(&mut self, ctx: &Ctx<'_>) {
        if !std::mem::replace(&mut self.said_too_large, true) {
            ctx.log.log(level::WARNING, "TELEMETRY", || {
                let most = self.subscription.as_ref().map_or(0, |s| s.max_bytes);
                format!("metrics are not pushed: they are larger than the {most} bytes that the cluster takes")
            });
        }
    }

    fn interval(&self) -> Duration {
        self.subscription.as_ref().map_or(DEFAULT_INTERVAL, |s| s.interval)
    }

    fn next_push(&self, ctx: &Ctx<'_>) -> Instant {
        ctx.now + self.interval()
    }

    /// What became of a request.
    pub fn on_outcome(&mut self, ctx: &mut Ctx<'_>, key: BrokerKey, id: u64, outcome: Outcome) {
        self.look = true;
        match (self.state, outcome) {
            (State::Asking { id: asked }, outcome) if asked == id => match outcome {
                Outcome::Reply(reply) => self.on_subscription(ctx, key, &reply),
                Outcome::Sent => self.rest(ctx),
                Outcome::Failed(failure) => self.on_failed(ctx, failure.kind, &failure.error),
            },
            (State::Pushing { id: pushed }, outcome) if pushed == id => match outcome {
                Outcome::Reply(reply) => self.on_pushed(ctx, key, &reply),
                Outcome::Sent => self.rest(ctx),
                // What these metrics told is lost; counts that are not deltas are told again.
                Outcome::Failed(_) => {
                    self.state = State::Collecting {
                        due: self.next_push(ctx),
                    }
                }
            },
            // Nobody minds how it went.
            (State::Ending { id: pushed }, _) if pushed == id => self.state = State::Off,
            _ => {}
        }
    }

    fn rest(&mut self, ctx: &Ctx<'_>) {
        self.state = State::Idle {
            until: ctx.now + self.interval(),
        };
    }

    /// Nobody answered. A broker that is gone takes nothing along: the next one is asked when there is one.
    fn on_failed(&mut self, ctx: &mut Ctx<'_>, kind: FailureKind, error: &Error) {
        ctx.log
            .debug(DebugContexts::TELEMETRY, "GETSUBS", || format!("no answer: {error}"));
        match kind {
            FailureKind::Disconnected => {
                let pause = ctx.retry_delay(3);
                self.state = State::Idle { until: ctx.now + pause };
            }
            FailureKind::TimedOut => self.rest(ctx),
        }
    }

    /// A pause that the broker asked for.
    fn obey(&self, ctx: &mut Ctx<'_>, key: BrokerKey, throttle_ms: i32) -> Instant {
        let pause = Duration::from_millis(u64::try_from(throttle_ms).unwrap_or(0));
        ctx.connections.throttle(key, pause, ctx.now);
        ctx.now + pause
    }

    fn cannot_read<R>(
        &mut self,
        ctx: &mut Ctx<'_>,
        key: BrokerKey,
        api: ApiKey,
        e: impl std::fmt::Display,
    ) -> Option<R> {
        ctx.connections.fail_unreadable(key, api, e, ctx.now);
        self.rest(ctx);
        None
    }

    fn on_subscription(&mut self, ctx: &mut Ctx<'_>, key: BrokerKey, reply: &Reply) {
        let response = match reply.decode::<GetTelemetrySubscriptionsRequest>() {
            Ok(response) => Some(response),
            Err(e) => self.cannot_read(ctx, key, ApiKey::GET_TELEMETRY_SUBSCRIPTIONS, e),
        };
        let Some(response) = response else { return };
        let not_before = self.obey(ctx, key, response.throttle_time_ms);
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
                "the cluster wants [{}] every {}ms, at most {} bytes, {}; subscription {}, client instance {instance}",
                subscription.names.join(", "),
                subscription.interval.as_millis(),
                subscription.max_bytes,
                if subscription.delta { "deltas" } else { "sums" },
                subscription.id
            )
        });
        let (interval, wanted) = (subscription.interval, !subscription.names.is_empty());
        self.subscription = Some(subscription);
        if !wanted {
            self.measures.stop();
            self.state = State::Idle {
                until: not_before.max(ctx.now + interval),
            };
            return;
        }
        let connections = ctx.connections.totals().connections;
        self.measures.begin(ctx.now, ctx.wall_ms, connections);
        // Clients that were told at the same time must not push at the same time.
        let due = ctx.now + ctx.rng.jitter(interval, 0.5, 0.5);
        self.state = State::Collecting {
            due: not_before.max(due),
        };
    }

    fn on_pushed(&mut self, ctx: &mut Ctx<'_>, key: BrokerKey, reply: &Reply) {
        let response: Option<PushTelemetryResponse> = match reply.decode::<PushTelemetryRequest>() {
            Ok(response) => Some(response),
            Err(e) => self.cannot_read(ctx, key, ApiKey::PUSH_TELEMETRY, e),
        };
        let Some(response) = response else { return };
        let not_before = self.obey(ctx, key, response.throttle_time_ms);
        let code = ErrorCode::from(response.error_code);
        match code {
            ErrorCode::NO_ERROR => {
                let due = self.next_push(ctx).max(not_before);
                self.state = State::Collecting { due };
            }
            _ => self.on_error(ctx, code, "PushTelemetry", not_before),
        }
    }

    /// The broker refused. What to do stands in KIP-714.
    fn on_error(&mut self, ctx: &mut Ctx<'_>, code: ErrorCode, what: &str, not_before: Instant) {
        ctx.log.debug(DebugContexts::TELEMETRY, "REFUSED", || {
            format!("{what} was refused: {}", code.description())
        });
        let later = ctx.now + self.interval();
        match code {
            // What the cluster wants has changed, or what it takes.
            ErrorCode::UNKNOWN_SUBSCRIPTION_ID | ErrorCode::UNSUPPORTED_COMPRESSION_TYPE => {
                self.state = State::Idle { until: not_before };
            }
            ErrorCode::TELEMETRY_TOO_LARGE => {
                self.say_too_large(ctx);
                self.state = State::Idle { until: later };
            }
            // They find fault with what this client says, which it will not say better next time.
            ErrorCode::INVALID_REQUEST | ErrorCode::INVALID_RECORD | ErrorCode::UNSUPPORTED_VERSION => {
                ctx.log.log(level::WARNING, "TELEMETRY", || {
                    format!(
                        "{what} was refused: {}: no metrics are pushed any more",
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

fn speaks_of_metrics(versions: &BrokerVersions) -> bool {
    versions.pick::<GetTelemetrySubscriptionsRequest>().is_some() && versions.pick::<PushTelemetryRequest>().is_some()
}

/// The bytes in the first form that the broker takes and this client can make.
fn pack(codecs: &[Codec], plain: Vec<u8>) -> (Codec, Bytes) {
    for codec in codecs {
        if let Ok(packed) = compress(*codec, None, &plain) {
            return (*codec, packed);
        }
    }
    (Codec::None, plain.into())
}
