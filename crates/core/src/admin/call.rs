//! The engine: runs one call of any operation.

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use ottla_protocol::ApiKey;

use super::coordinators::{self, Coordinators};
use super::leaders::{self, Leaders};
use super::lookups::Place;
use super::node::Node;
use super::operation::{Answer, Keys, Operation, Options, Rows, To, Verdict};
use super::retry::{Consequence, consequence};
use crate::cluster::{Cluster, Router};
use crate::connection::{BrokerKey, BrokerVersions, Outcome, Ready, Reply as Response};
use crate::context::Ctx;
use crate::error::{Error, ErrorCode};
use crate::event::{AdminResult, Event, Queue};
use crate::log::DebugContexts;
use crate::reply::Reply;
use crate::request::{Attempts, CoordinatorType, PendingRequest, ReadyBroker, Target, response_timeout};
use crate::sys::{Instant, earliest};
use crate::types::NodeId;

/// The destination of a call's result.
#[derive(Debug)]
pub enum Destination<T> {
    /// An [`Event::Admin`].
    Event {
        /// The queue that receives it.
        queue: Arc<Queue>,
        /// The application's opaque value, part of the event.
        opaque: usize,
    },
    /// A reply.
    Reply(Arc<Reply<Result<T, Error>>>),
}

impl<T: Send + Sync + 'static> Destination<T> {
    fn deliver(&self, operation: &'static str, outcome: Result<T, Error>) {
        match self {
            Destination::Event { queue, opaque } => queue.push(Event::Admin(Box::new(AdminResult {
                operation,
                opaque: *opaque,
                outcome: outcome.map(|output| Box::new(output) as Box<dyn Any + Send + Sync>),
            }))),
            Destination::Reply(reply) => reply.fill(outcome),
        }
    }
}

/// A call under way, of whichever operation. It delivers exactly one result.
pub(super) trait AnyCall: Debug + Send {
    /// Begins the call.
    fn begin(&mut self, ctx: &Ctx<'_>);

    /// Sends what is due. Returns when to be called again, `None` once the result is delivered.
    fn poll(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster, router: &mut Router) -> Option<Instant>;

    /// Returns whether a request of the call has this id.
    fn is_in_flight(&self, id: u64) -> bool;

    /// Handles the outcome of a request.
    fn on_outcome(
        &mut self,
        ctx: &mut Ctx<'_>,
        cluster: &mut Cluster,
        router: &mut Router,
        of: (BrokerKey, u64, Outcome),
    );

    /// Delivers an error as the result.
    fn refuse(&mut self, error: Error);
}

/// Returns the timeout to send to a controller, within which it completes the operation before it responds.
///
/// With timeout 0, a controller of a ZooKeeper cluster starts the operation and responds REQUEST_TIMED_OUT. A KRaft
/// controller responds the same and does nothing, because its timeout covers the time until it starts the operation,
/// which then completes. A broker that supports DescribeQuorum (KIP-595) belongs to a KRaft cluster.
fn operation_timeout(versions: &BrokerVersions, requested: Option<Duration>, default: Duration) -> Duration {
    let is_kraft = versions.range(ApiKey::DESCRIBE_QUORUM).is_some();
    match requested {
        Some(Duration::ZERO) if is_kraft => default,
        requested => requested.unwrap_or(default),
    }
}

/// A key without a result that is in no request.
#[derive(Debug)]
struct Open {
    target: Target,
    pending: PendingRequest,
    /// The schedule of look-ups while the target is not connected.
    lookup: Attempts,
}

/// A request in flight.
#[derive(Debug)]
struct Asked<K> {
    broker: BrokerKey,
    keys: Vec<K>,
    open: Vec<Open>,
    /// Set if the broker responds before the operation completes, see [`operation_timeout`].
    is_async: bool,
}

/// The result of a key.
#[derive(Debug)]
enum Ending<R> {
    /// From a broker.
    Row(Result<R, Error>),
    /// No broker has answered for the key.
    Unanswered(Error),
    /// No broker has answered, and one may have executed the request, which is not repeatable.
    Uncertain(Error),
}

/// A call of one operation.
#[derive(Debug)]
pub(super) struct Call<O: Operation> {
    operation: O,
    options: Options,
    destination: Destination<O::Output>,
    deadline: Instant,
    /// The error of the arguments.
    refused: Option<Error>,
    /// The key of each broker, until the brokers are known.
    each_broker: Option<fn(NodeId) -> O::Key>,
    open: BTreeMap<O::Key, Open>,
    in_flight: BTreeMap<u64, Asked<O::Key>>,
    done: BTreeMap<O::Key, Ending<O::Row>>,
    leaders: Leaders,
    groups: Coordinators,
    transactional_ids: Coordinators,
}

/// The keys that can be sent on a connection now, in one kind of request.
type Batches<K> = BTreeMap<(BrokerKey, u8), (ReadyBroker, Vec<K>)>;

impl<O: Operation> Call<O> {
    pub(super) fn new(operation: O, options: Options, deadline: Instant, destination: Destination<O::Output>) -> Self {
        Call {
            operation,
            options,
            destination,
            deadline,
            refused: None,
            each_broker: None,
            open: BTreeMap::new(),
            in_flight: BTreeMap::new(),
            done: BTreeMap::new(),
            leaders: Leaders::default(),
            groups: Coordinators::new(CoordinatorType::Group),
            transactional_ids: Coordinators::new(CoordinatorType::Transaction),
        }
    }

    /// Adds a key, which is asked for at once. A broker's own data is requested from that broker; for other targets the
    /// options may name another one.
    fn add(&mut self, now: Instant, key: O::Key) {
        let target = match (self.operation.target(&key), self.options.broker) {
            (target @ Target::Broker(_), _) | (target, None) => target,
            (_, Some(broker)) => Target::Broker(broker),
        };
        let open = Open {
            target,
            pending: PendingRequest::new(now, self.deadline),
            lookup: Attempts::starting_at(now),
        };
        self.open.insert(key, open);
    }

    /// Adds the keys of the brokers as soon as they are known.
    fn add_brokers(&mut self, ctx: &Ctx<'_>, cluster: &Cluster) {
        let Some(key_of) = self.each_broker else { return };
        let nodes: Vec<NodeId> = match self.options.broker {
            Some(broker) => vec![broker],
            None => cluster.nodes().map(|(node, _)| node).collect(),
        };
        if !nodes.is_empty() {
            self.each_broker = None;
        }
        for node in nodes {
            self.add(ctx.now, key_of(node));
        }
    }

    // ---------------------------------------------------------------- sending

    /// Returns the keys that can be sent now, by connection, and starts what others need.
    fn ready(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster, router: &mut Router) -> Batches<O::Key> {
        let mut batches: Batches<O::Key> = BTreeMap::new();
        let mut failed = Vec::new();
        for (key, open) in &mut self.open {
            if !open.pending.may_send(ctx.now) {
                continue;
            }
            let broker = match &open.target {
                Target::Leader(partition) => {
                    let leader = self.leaders.leader(partition);
                    let want = || self.leaders.want(partition);
                    Ok(node_connection(ctx, leader, want, &mut open.lookup))
                }
                Target::Coordinator(kind, name) => {
                    let coordinators = match kind {
                        CoordinatorType::Group => &mut self.groups,
                        CoordinatorType::Transaction => &mut self.transactional_ids,
                    };
                    let node = coordinators.coordinator(name);
                    Ok(node_connection(ctx, node, || coordinators.want(name), &mut open.lookup))
                }
                target => router.connection(ctx, cluster, target, &mut open.lookup),
            };
            match broker {
                Ok(Some(broker)) => {
                    let kind = self.operation.kind(key);
                    let batch = batches
                        .entry((broker.key, kind))
                        .or_insert_with(|| (broker, Vec::new()));
                    batch.1.push(key.clone());
                }
                Ok(None) => {}
                Err(error) => failed.push((key.clone(), error)),
            }
        }
        for (key, error) in failed {
            self.end(key, Ending::Row(Err(error)));
        }
        batches
    }

    /// Sends these keys to a broker, in as many requests as the operation needs and the connection accepts.
    fn send(&mut self, ctx: &mut Ctx<'_>, router: &mut Router, broker: &ReadyBroker, keys: &[O::Key]) {
        for keys in keys.chunks(self.operation.batch_max(broker).max(1)) {
            if !matches!(ctx.connections.ready(broker.key, ctx.now), Ready::Yes(_)) {
                return;
            }
            let tag = router.next_tag();
            let requested = self.options.operation_timeout;
            let operation_timeout = operation_timeout(&broker.versions, requested, ctx.socket_timeout());
            ctx.log.debug(DebugContexts::ADMIN, "ADMIN", || {
                format!("{}: {} key(s) to broker {}", O::NAME, keys.len(), broker.key.node)
            });
            let mut to = To {
                timeout: response_timeout(ctx, self.deadline),
                ctx,
                broker,
                tag,
                options: &self.options,
                operation_timeout,
            };
            match self.operation.send(keys, &mut to) {
                Ok(()) => {
                    let asked = Asked {
                        broker: broker.key,
                        keys: keys.to_vec(),
                        open: keys.iter().filter_map(|key| self.open.remove(key)).collect(),
                        is_async: operation_timeout.is_zero(),
                    };
                    self.in_flight.insert(tag.id, asked);
                }
                Err(error) => {
                    for key in keys {
                        self.end(key.clone(), Ending::Unanswered(error.clone()));
                    }
                }
            }
        }
    }

    // ---------------------------------------------------------------- results

    fn end(&mut self, key: O::Key, ending: Ending<O::Row>) {
        self.open.remove(&key);
        self.done.insert(key, ending);
    }

    /// Schedules another request for a key after an error.
    fn retry(&mut self, ctx: &mut Ctx<'_>, key: O::Key, mut open: Open, error: Error) {
        let text = error.to_string();
        let pause = open.pending.retry(ctx, error);
        ctx.log.debug(DebugContexts::ADMIN, "ADMIN", || {
            format!("{}: {key:?}: {text}: retrying in {}ms", O::NAME, pause.as_millis())
        });
        self.open.insert(key, open);
    }

    fn on_response(
        &mut self,
        ctx: &mut Ctx<'_>,
        cluster: &mut Cluster,
        router: &mut Router,
        (asked, response): (Asked<O::Key>, &Response),
    ) {
        let answer = Answer {
            reply: response,
            broker: node(ctx, cluster, asked.broker),
            is_async: asked.is_async,
        };
        let verdicts = match self.operation.read(&asked.keys, &answer) {
            Ok(verdicts) => verdicts,
            Err(cause) => {
                let name = response.api.name().unwrap_or(O::NAME);
                let error = ctx.connections.fail_unreadable(asked.broker, name, cause, ctx.now);
                for key in asked.keys {
                    self.end(key, Ending::Unanswered(error.clone()));
                }
                return;
            }
        };
        let mut open: BTreeMap<O::Key, Open> = asked.keys.into_iter().zip(asked.open).collect();
        for (key, verdict) in verdicts {
            if let Some(open) = open.remove(&key) {
                self.judge(ctx, cluster, router, (key, open), verdict);
            }
        }
        for key in open.into_keys() {
            let text = format!("broker {} has not answered for {key:?}", asked.broker.node);
            self.end(key, Ending::Row(Err(Error::new(ErrorCode::L_BAD_MSG, text))));
        }
    }

    fn judge(
        &mut self,
        ctx: &mut Ctx<'_>,
        cluster: &mut Cluster,
        router: &mut Router,
        (key, open): (O::Key, Open),
        verdict: Verdict<O::Key, O::Row>,
    ) {
        match verdict {
            Verdict::Done(row) => self.end(key, Ending::Row(Ok(row))),
            Verdict::Refused(error) => self.end(key, Ending::Row(Err(error))),
            Verdict::Retry(error) => self.retry(ctx, key, open, error),
            Verdict::Become(keys) => {
                for key in keys {
                    self.add(ctx.now, key);
                }
            }
            Verdict::Failed(error) => match consequence(&open.target, error.code) {
                Consequence::Final => self.end(key, Ending::Row(Err(error))),
                Consequence::Again => self.retry(ctx, key, open, error),
                Consequence::Elsewhere => {
                    match &open.target {
                        Target::Leader(partition) => self.leaders.forget(partition),
                        Target::Coordinator(CoordinatorType::Group, name) => self.groups.forget(name),
                        Target::Coordinator(_, name) => self.transactional_ids.forget(name),
                        target => router.refresh(ctx, cluster, target),
                    }
                    self.retry(ctx, key, open, error);
                }
            },
        }
    }

    /// Handles the outcome of a look-up.
    fn on_lookup(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster, of: (BrokerKey, u64, Outcome)) {
        let id = of.1;
        if self.leaders.is_in_flight(id) {
            if let Some(found) = self.leaders.on_outcome(ctx, cluster, of) {
                self.on_leaders(ctx, &found);
            }
        } else if self.groups.is_in_flight(id) {
            if let Some(found) = self.groups.on_outcome(ctx, cluster, of) {
                self.on_coordinators(ctx, CoordinatorType::Group, &found);
            }
        } else if let Some(found) = self.transactional_ids.on_outcome(ctx, cluster, of) {
            self.on_coordinators(ctx, CoordinatorType::Transaction, &found);
        }
    }

    /// Applies a response about leaders to the keys that wait for one.
    fn on_leaders(&mut self, ctx: &mut Ctx<'_>, found: &leaders::Found) {
        let now = ctx.now;
        let places = self.open.iter().filter_map(|(key, open)| match &open.target {
            Target::Leader(partition) => Some((key.clone(), self.leaders.take(now, found, partition))),
            _ => None,
        });
        let places = places.collect();
        self.on_places(ctx, places);
    }

    /// Applies a response about coordinators to the keys that wait for one.
    fn on_coordinators(&mut self, ctx: &mut Ctx<'_>, of: CoordinatorType, found: &coordinators::Found) {
        let places = self.open.iter().filter_map(|(key, open)| match &open.target {
            Target::Coordinator(kind, name) if *kind == of => Some((key.clone(), found.place(name))),
            _ => None,
        });
        let places = places.collect();
        self.on_places(ctx, places);
    }

    fn on_places(&mut self, ctx: &mut Ctx<'_>, places: Vec<(O::Key, Place)>) {
        for (key, place) in places {
            match place {
                Place::Other | Place::Found => {}
                Place::Pending(error) => {
                    if let Some(open) = self.open.get_mut(&key) {
                        open.pending.retry(ctx, error);
                    }
                }
                Place::Refused(error) => self.end(key, Ending::Row(Err(error))),
            }
        }
    }

    /// Ends every key without a result.
    fn expire(&mut self) {
        if let Some(key_of) = self.each_broker.take() {
            let error = Error::new(ErrorCode::L_TIMED_OUT, timeout_text(None));
            self.end(key_of(NodeId(-1)), Ending::Unanswered(error));
        }
        for (key, open) in std::mem::take(&mut self.open) {
            let error = open.pending.timeout_error(timeout_text(Some(&open.target)));
            self.end(key, Ending::Unanswered(error));
        }
        let is_repeatable = self.operation.is_repeatable(&self.options);
        for (_, asked) in std::mem::take(&mut self.in_flight) {
            let mut text = RESPONSE_TIMEOUT.to_owned();
            if !is_repeatable {
                text += &format!("; broker {} may have executed the operation", asked.broker.node);
            }
            for (key, open) in asked.keys.into_iter().zip(asked.open) {
                let error = open.pending.timeout_error(text.clone());
                let ending = match is_repeatable {
                    true => Ending::Unanswered(error),
                    false => Ending::Uncertain(error),
                };
                self.end(key, ending);
            }
        }
    }

    /// Delivers the results of all keys. If no broker has answered for any key, the call fails as a whole, unless keys of
    /// the operation fail alone; the error of a request that may have been executed precedes the others.
    fn deliver(&mut self) {
        let done = std::mem::take(&mut self.done);
        let is_answered = |ending: &Ending<O::Row>| matches!(ending, Ending::Row(_));
        let fails_whole = !O::KEYS_FAIL_ALONE && !done.is_empty() && !done.values().any(is_answered);
        let (mut first, mut uncertain) = (None, None);
        let mut rows = Rows::<O>::new();
        for (key, ending) in done {
            let row = match ending {
                Ending::Row(row) => row,
                Ending::Unanswered(error) => {
                    first.get_or_insert_with(|| error.clone());
                    Err(error)
                }
                Ending::Uncertain(error) => {
                    uncertain.get_or_insert_with(|| error.clone());
                    Err(error)
                }
            };
            rows.insert(key, row);
        }
        let outcome = match uncertain.or(first).filter(|_| fails_whole) {
            Some(error) => Err(error),
            None => self.operation.finish(rows),
        };
        self.destination.deliver(O::NAME, outcome);
    }
}

/// Returns the connection to a leader or coordinator if it accepts a request. Otherwise starts what is missing: the look-up,
/// by `want`, or the connection. While the broker is not connected, look-ups follow at the intervals of `lookup`.
fn node_connection(
    ctx: &mut Ctx<'_>,
    node: Option<NodeId>,
    mut want: impl FnMut(),
    lookup: &mut Attempts,
) -> Option<ReadyBroker> {
    let Some(node) = node else {
        want();
        return None;
    };
    let key = BrokerKey::general(node);
    match ctx.connections.ready(key, ctx.now) {
        Ready::Yes(versions) => return Some(ReadyBroker { key, versions }),
        Ready::Busy => return None,
        // The first attempt to connect precedes another look-up.
        Ready::Connecting if lookup.failed() == 0 => {}
        Ready::Connecting | Ready::Unknown if lookup.is_due(ctx.now) => want(),
        Ready::Connecting | Ready::Unknown => return None,
    }
    lookup.back_off(ctx);
    None
}

/// Returns a connection's broker with its address.
fn node(ctx: &Ctx<'_>, cluster: &Cluster, key: BrokerKey) -> Node {
    let known = cluster.node(key.node);
    let connected = ctx.connections.address(key);
    Node {
        id: key.node,
        host: known
            .map(|info| info.host.clone())
            .or(connected.map(|(host, _)| host.to_owned()))
            .unwrap_or_default(),
        port: known
            .map(|info| info.port)
            .or(connected.map(|(_, port)| port))
            .unwrap_or(0),
        rack: known.and_then(|info| info.rack.clone()),
    }
}

const RESPONSE_TIMEOUT: &str = "Failed while waiting for response from broker: Local: Timed out";

/// Returns the text of a timeout before a request was sent, as librdkafka words it; `None` while no broker is known.
fn timeout_text(target: Option<&Target>) -> String {
    let text = match target {
        Some(Target::Controller | Target::Any) => "Failed while waiting for controller: Local: Timed out",
        Some(Target::Broker(node)) => return format!("Failed while waiting for broker {node}: Local: Timed out"),
        Some(Target::Leader(_)) => "Failed to query partition leaders: Local: Timed out",
        Some(Target::Coordinator(..)) => RESPONSE_TIMEOUT,
        None => "Failed while waiting for broker list: Local: Timed out",
    };
    text.to_owned()
}

impl<O: Operation> AnyCall for Call<O> {
    fn begin(&mut self, ctx: &Ctx<'_>) {
        if let Err(error) = self.operation.check(&self.options) {
            self.refused = Some(error);
            return;
        }
        match self.operation.keys() {
            Keys::Known(keys) => {
                for key in keys {
                    self.add(ctx.now, key);
                }
            }
            Keys::EachBroker(key_of) => self.each_broker = Some(key_of),
        }
    }

    fn poll(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster, router: &mut Router) -> Option<Instant> {
        if let Some(error) = self.refused.take() {
            self.refuse(error);
            return None;
        }
        if self.deadline <= ctx.now {
            self.expire();
            self.deliver();
            return None;
        }
        self.add_brokers(ctx, cluster);
        for (broker, keys) in self.ready(ctx, cluster, router).into_values() {
            self.send(ctx, router, &broker, &keys);
        }
        self.leaders.poll(ctx, cluster, router);
        self.groups.poll(ctx, cluster, router);
        self.transactional_ids.poll(ctx, cluster, router);
        if self.open.is_empty() && self.in_flight.is_empty() && self.each_broker.is_none() {
            self.deliver();
            return None;
        }
        let attempts = self.open.values().map(|open| {
            let lookup = Some(open.lookup.next_at()).filter(|at| *at > ctx.now);
            lookup.map_or(open.pending.wake(ctx.now), |at| at.min(open.pending.wake(ctx.now)))
        });
        let wake = attempts.min().unwrap_or(self.deadline).min(self.deadline);
        let coordinators = earliest(self.groups.wake(ctx.now), self.transactional_ids.wake(ctx.now));
        earliest(Some(wake), earliest(self.leaders.wake(ctx.now), coordinators))
    }

    fn is_in_flight(&self, id: u64) -> bool {
        self.in_flight.contains_key(&id)
            || self.leaders.is_in_flight(id)
            || self.groups.is_in_flight(id)
            || self.transactional_ids.is_in_flight(id)
    }

    fn on_outcome(
        &mut self,
        ctx: &mut Ctx<'_>,
        cluster: &mut Cluster,
        router: &mut Router,
        (key, id, outcome): (BrokerKey, u64, Outcome),
    ) {
        let Some(asked) = self.in_flight.remove(&id) else {
            return self.on_lookup(ctx, cluster, (key, id, outcome));
        };
        let is_repeatable = self.operation.is_repeatable(&self.options);
        match outcome {
            Outcome::Reply(response) => self.on_response(ctx, cluster, router, (asked, &response)),
            Outcome::Failed(failure) if failure.written && !is_repeatable => {
                let text = format!(
                    "{}; broker {} may have executed the operation",
                    failure.error.message, key.node
                );
                for key in asked.keys {
                    let error = Error::new(failure.error.code, text.clone());
                    self.end(key, Ending::Uncertain(error));
                }
            }
            Outcome::Failed(failure) => {
                for (key, open) in asked.keys.into_iter().zip(asked.open) {
                    self.retry(ctx, key, open, failure.error.clone());
                }
            }
            Outcome::Sent => {
                for key in asked.keys {
                    self.end(key, Ending::Unanswered(Error::new(ErrorCode::L_FAIL, "no response")));
                }
            }
        }
    }

    fn refuse(&mut self, error: Error) {
        self.destination.deliver(O::NAME, Err(error));
    }
}

#[cfg(test)]
mod tests;
