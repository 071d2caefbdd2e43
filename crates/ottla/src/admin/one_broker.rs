//! A call that is one request to one broker: finding it, asking it, asking again.

use std::sync::Arc;
use std::time::Duration;

use ottla_protocol::ApiKey;

use super::request::{Options, Request, Target};
use super::wire::{self, Way, answer_timeout};
use crate::cluster::Cluster;
use crate::connection::{BrokerKey, BrokerVersions, Outcome, Owner, Ready, Reply as Response, Tag};
use crate::context::Ctx;
use crate::error::{Error, ErrorCode};
use crate::event::{AdminOp, AdminOutcome, AdminResult, Event, Queue};
use crate::log::DebugContexts;
use crate::sys::Instant;
use crate::types::NodeId;

/// Where the result of a call goes.
#[derive(Debug)]
pub struct Destination {
    /// The queue that gets it, as [`Event::Admin`].
    pub queue: Arc<Queue>,
    /// Comes with it.
    pub opaque: usize,
}

impl Destination {
    /// Tells of the end of a call.
    pub(super) fn tell(&self, op: AdminOp, outcome: Result<AdminOutcome, Error>) {
        self.queue.push(Event::Admin(Box::new(AdminResult {
            op,
            opaque: self.opaque,
            outcome,
        })));
    }
}

/// How long the controller is to wait for the end of what it begins.
///
/// Asked not to wait at all, a controller of ZooKeeper's days begins the work and answers REQUEST_TIMED_OUT. One of KRaft
/// answers the same and does nothing: its time counts until it gets to the work, which is then done. A broker of a KRaft
/// cluster is known by its DescribeQuorum (KIP-595).
fn patience(versions: &BrokerVersions, wanted: Option<Duration>, longest: Duration) -> Duration {
    let is_kraft = versions.range(ApiKey::DESCRIBE_QUORUM).is_some();
    match wanted {
        Some(Duration::ZERO) if is_kraft => longest,
        wanted => wanted.unwrap_or(longest),
    }
}

/// A call under way.
#[derive(Debug)]
pub(super) struct OneBroker {
    request: Request,
    options: Options,
    target: Target,
    deadline: Instant,
    destination: Destination,
    /// The request under way.
    asked: Option<(BrokerKey, u64)>,
    retry_at: Instant,
    tries: u32,
    /// Whether the broker is to answer before it is done, see [`patience`].
    begins_only: bool,
    /// The last error after which it is tried again.
    last_error: Option<Error>,
    /// While the broker cannot be asked: when to have the brokers looked up anew, and how often that was done.
    look_up_at: Instant,
    look_ups: u32,
}

impl OneBroker {
    /// A call that begins now, or nothing if there is nothing to ask a broker: then the call is answered.
    pub(super) fn new(
        ctx: &Ctx<'_>,
        request: Request,
        options: Options,
        deadline: Instant,
        destination: Destination,
    ) -> Option<Self> {
        let target = match request.check().and_then(|()| request.target(&options)) {
            Ok(target) => target,
            Err(error) => {
                destination.tell(request.op(), Err(error));
                return None;
            }
        };
        Some(OneBroker {
            request,
            options,
            target,
            deadline,
            destination,
            asked: None,
            begins_only: false,
            retry_at: ctx.now,
            tries: 0,
            last_error: None,
            look_up_at: ctx.now,
            look_ups: 0,
        })
    }

    /// Does what is due; gives when to be called again, `None` once the call is answered.
    pub(super) fn poll(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster, last_id: &mut u64) -> Option<Instant> {
        if self.deadline <= ctx.now {
            let error = self.why_late(cluster);
            self.answer(Err(error));
            return None;
        }
        if self.asked.is_some() {
            return Some(self.deadline);
        }
        if self.retry_at > ctx.now {
            return Some(self.retry_at.min(self.deadline));
        }
        let Some((key, versions)) = self.connection(ctx, cluster) else {
            let look_up = Some(self.look_up_at).filter(|at| *at > ctx.now);
            return Some(look_up.unwrap_or(self.deadline).min(self.deadline));
        };
        *last_id += 1;
        let way = Way {
            key,
            tag: Tag {
                owner: Owner::Admin,
                id: *last_id,
            },
            versions: &versions,
            timeout: answer_timeout(ctx, self.deadline),
        };
        let socket_timeout = Duration::from_millis(ctx.conf.socket_timeout_ms.into());
        let patience = patience(&versions, self.options.operation_timeout, socket_timeout);
        self.begins_only = patience.is_zero();
        let name = self.request.op().name();
        ctx.log.debug(DebugContexts::ADMIN, "ADMIN", || {
            format!("{name} to broker {}", key.node)
        });
        match wire::send(ctx, &way, &self.request, &self.options, patience) {
            Ok(()) => {
                self.asked = Some((key, way.tag.id));
                Some(self.deadline)
            }
            Err(error) => {
                self.answer(Err(error));
                None
            }
        }
    }

    /// The way to the broker, or what leads to one: a connection, or a fresh list of brokers.
    fn connection(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster) -> Option<(BrokerKey, Arc<BrokerVersions>)> {
        let node = match self.target {
            Target::Any => return cluster.any_connection(ctx),
            Target::Broker(node) => Some(node),
            Target::Controller => cluster.controller(),
        };
        let ready = node.map_or(Ready::Unknown, |node| {
            ctx.connections.ready(BrokerKey::general(node), ctx.now)
        });
        match (node, ready) {
            (Some(node), Ready::Yes(versions)) => return Some((BrokerKey::general(node), versions)),
            (_, Ready::Busy) => return None,
            // The connection gets its chance before somebody else is asked whether the broker is still the one.
            (_, Ready::Connecting) if self.look_ups == 0 => {}
            _ if self.look_up_at <= ctx.now => cluster.refresh_brokers(ctx.now),
            _ => return None,
        }
        self.look_up_at = ctx.now + ctx.retry_delay(self.look_ups);
        self.look_ups = self.look_ups.saturating_add(1);
        None
    }

    pub(super) fn is_asking(&self, node: NodeId, id: u64) -> bool {
        self.asked.is_some_and(|(key, asked)| key.node == node && asked == id)
    }

    /// Takes in what became of the request; true once the call is answered.
    pub(super) fn on_outcome(
        &mut self,
        ctx: &mut Ctx<'_>,
        cluster: &mut Cluster,
        key: BrokerKey,
        outcome: Outcome,
    ) -> bool {
        self.asked = None;
        match outcome {
            Outcome::Reply(response) => self.on_response(ctx, cluster, key, &response),
            Outcome::Failed(failure) if failure.written && !self.request.changes_nothing(&self.options) => {
                let text = format!(
                    "{}; broker {} may have done what was asked",
                    failure.error.message, key.node
                );
                self.answer(Err(Error::new(failure.error.code, text)));
                true
            }
            Outcome::Failed(failure) => {
                self.again(ctx, failure.error);
                false
            }
            Outcome::Sent => {
                self.answer(Err(Error::new(ErrorCode::L_FAIL, "no response")));
                true
            }
        }
    }

    fn on_response(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster, key: BrokerKey, response: &Response) -> bool {
        match wire::read(&self.request, response, self.begins_only) {
            Ok(outcome) => match self.elsewhere(&outcome) {
                Some(error) => {
                    cluster.refresh_brokers(ctx.now);
                    self.again(ctx, error);
                    false
                }
                None => {
                    self.answer(Ok(outcome));
                    true
                }
            },
            Err(unusable) => {
                let error = Error::new(ErrorCode::L_BAD_MSG, unusable.to_string());
                ctx.connections.fail(key, error.clone(), ctx.now);
                self.answer(Err(error));
                true
            }
        }
    }

    /// The error of a broker that is not the controller any more, and has done nothing.
    fn elsewhere(&self, outcome: &AdminOutcome) -> Option<Error> {
        let AdminOutcome::Topics(topics) = outcome else {
            return None;
        };
        let mut errors = topics.iter().filter_map(|t| t.error.as_ref());
        let error = errors.find(|e| e.code == ErrorCode::NOT_CONTROLLER);
        error.filter(|_| self.target == Target::Controller).cloned()
    }

    /// Asks once more, later.
    fn again(&mut self, ctx: &mut Ctx<'_>, error: Error) {
        let pause = ctx.retry_delay(self.tries);
        let name = self.request.op().name();
        ctx.log.debug(DebugContexts::ADMIN, "ADMIN", || {
            format!("{name}: {error}: asking again in {}ms", pause.as_millis())
        });
        self.retry_at = ctx.now + pause;
        self.tries = self.tries.saturating_add(1);
        self.last_error = Some(error);
    }

    fn why_late(&self, cluster: &Cluster) -> Error {
        let name = self.request.op().name();
        let why = match (self.asked, self.target) {
            (Some((key, _)), _) if self.request.changes_nothing(&self.options) => {
                format!("broker {} did not answer {name} in time", key.node)
            }
            (Some((key, _)), _) => {
                let node = key.node;
                format!("broker {node} did not answer {name} in time; it may have done what was asked")
            }
            (None, Target::Broker(node)) => format!("{name}: broker {node} could not be asked in time"),
            (None, Target::Any) => format!("{name}: no broker could be asked in time"),
            (None, Target::Controller) => match cluster.controller() {
                Some(node) => format!("{name}: the controller, broker {node}, could not be asked in time"),
                None => format!("{name}: the controller could not be learned in time"),
            },
        };
        let last = self.last_error.as_ref().map(|e| format!("; last error: {}", e.message));
        Error::new(ErrorCode::L_TIMED_OUT, why + &last.unwrap_or_default())
    }

    fn answer(&self, outcome: Result<AdminOutcome, Error>) {
        self.destination.tell(self.request.op(), outcome);
    }

    pub(super) fn refuse(self, error: Error) {
        self.answer(Err(error));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_controller_of_kraft_gets_time_to_begin() {
        let zookeeper = BrokerVersions::new([(ApiKey::CREATE_TOPICS.0, 0, 7)]);
        let kraft = BrokerVersions::new([(ApiKey::CREATE_TOPICS.0, 2, 7), (ApiKey::DESCRIBE_QUORUM.0, 0, 2)]);
        let (zero, second, minute) = (Duration::ZERO, Duration::from_secs(1), Duration::from_secs(60));
        for (wanted, by_zookeeper, by_kraft) in [
            (None, minute, minute),
            (Some(second), second, second),
            (Some(zero), zero, minute),
        ] {
            assert_eq!(patience(&zookeeper, wanted, minute), by_zookeeper);
            assert_eq!(patience(&kraft, wanted, minute), by_kraft);
        }
    }
}
