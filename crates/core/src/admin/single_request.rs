//! A call that is one request to one broker.
//!
//! The call waits for its target until its deadline. If the broker that responds is not the controller any more, the
//! controller is looked up again and the request repeated. A request that a broker may have executed is not repeated,
//! unless it changes nothing.

use std::sync::Arc;
use std::time::Duration;

use ottla_protocol::ApiKey;

use super::request::{Options, Request};
use super::wire;
use crate::cluster::{Cluster, Router};
use crate::connection::{BrokerKey, BrokerVersions, Outcome, Reply as Response};
use crate::context::Ctx;
use crate::error::{Error, ErrorCode};
use crate::event::{AdminOp, AdminOutcome, AdminResult, Event, Queue};
use crate::log::DebugContexts;
use crate::request::{Attempts, PendingRequest, Target, response_timeout};
use crate::sys::Instant;

/// The destination of a call's result.
#[derive(Debug)]
pub struct Destination {
    /// The queue that receives it, as [`Event::Admin`].
    pub queue: Arc<Queue>,
    /// The application's opaque value, part of the event.
    pub opaque: usize,
}

impl Destination {
    /// Delivers the result of a call.
    pub(super) fn deliver(&self, op: AdminOp, outcome: Result<AdminOutcome, Error>) {
        self.queue.push(Event::Admin(Box::new(AdminResult {
            op,
            opaque: self.opaque,
            outcome,
        })));
    }
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

/// A call under way.
#[derive(Debug)]
pub(super) struct SingleRequest {
    request: Request,
    options: Options,
    target: Target,
    destination: Destination,
    pending: PendingRequest,
    /// The schedule of metadata refreshes while the target is not connected.
    lookup: Attempts,
    /// Set if the broker responds before the operation completes, see [`operation_timeout`].
    is_async: bool,
}

impl SingleRequest {
    /// Returns a call that begins now, or `None` for one that fails without a request; its result is delivered then.
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
                destination.deliver(request.op(), Err(error));
                return None;
            }
        };
        Some(SingleRequest {
            request,
            options,
            target,
            destination,
            pending: PendingRequest::new(ctx.now, deadline),
            lookup: Attempts::starting_at(ctx.now),
            is_async: false,
        })
    }

    /// Sends the request when it is due. Returns when to be called again, `None` once the result is delivered.
    pub(super) fn poll(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster, router: &mut Router) -> Option<Instant> {
        if self.pending.is_expired(ctx.now) {
            self.deliver(Err(self.timeout_error(cluster)));
            return None;
        }
        if !self.pending.may_send(ctx.now) {
            return Some(self.pending.wake(ctx.now));
        }
        match self.send(ctx, cluster, router) {
            Ok(true) => Some(self.pending.deadline()),
            Ok(false) => {
                let deadline = self.pending.deadline();
                let lookup = Some(self.lookup.next_at()).filter(|at| *at > ctx.now);
                Some(lookup.map_or(deadline, |at| at.min(deadline)))
            }
            Err(error) => {
                self.deliver(Err(error));
                None
            }
        }
    }

    /// Sends the request; returns false while the connection to its target accepts none.
    fn send(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster, router: &mut Router) -> Result<bool, Error> {
        let Some(broker) = router.connection(ctx, cluster, &self.target, &mut self.lookup)? else {
            return Ok(false);
        };
        let tag = router.next_tag();
        let timeout = response_timeout(ctx, self.pending.deadline());
        let operation_timeout =
            operation_timeout(&broker.versions, self.options.operation_timeout, ctx.socket_timeout());
        self.is_async = operation_timeout.is_zero();
        let name = self.request.op().name();
        ctx.log.debug(DebugContexts::ADMIN, "ADMIN", || {
            format!("{name} to broker {}", broker.key.node)
        });
        let to = wire::Route { broker, tag, timeout };
        wire::send(ctx, &to, &self.request, &self.options, operation_timeout)?;
        self.pending.on_sent(to.broker.key, tag.id);
        Ok(true)
    }

    pub(super) fn is_in_flight(&self, id: u64) -> bool {
        self.pending.is_in_flight(id)
    }

    /// Handles the outcome of the request; returns true once the result is delivered.
    pub(super) fn on_outcome(
        &mut self,
        ctx: &mut Ctx<'_>,
        cluster: &mut Cluster,
        router: &mut Router,
        (key, outcome): (BrokerKey, Outcome),
    ) -> bool {
        self.pending.on_outcome();
        match outcome {
            Outcome::Reply(response) => self.on_response(ctx, cluster, router, (key, &response)),
            Outcome::Failed(failure) if failure.written && !self.request.changes_nothing(&self.options) => {
                let text = format!(
                    "{}; broker {} may have executed the operation",
                    failure.error.message, key.node
                );
                self.deliver(Err(Error::new(failure.error.code, text)));
                true
            }
            Outcome::Failed(failure) => {
                self.retry(ctx, failure.error);
                false
            }
            Outcome::Sent => {
                self.deliver(Err(Error::new(ErrorCode::L_FAIL, "no response")));
                true
            }
        }
    }

    fn on_response(
        &mut self,
        ctx: &mut Ctx<'_>,
        cluster: &mut Cluster,
        router: &mut Router,
        (key, response): (BrokerKey, &Response),
    ) -> bool {
        match wire::read(&self.request, response, self.is_async) {
            Ok(outcome) => match self.moved_error(&outcome) {
                Some(error) => {
                    router.refresh(ctx, cluster, &self.target);
                    self.retry(ctx, error);
                    false
                }
                None => {
                    self.deliver(Ok(outcome));
                    true
                }
            },
            Err(unusable) => {
                let name = self.request.op().name();
                let error = ctx.connections.fail_unreadable(key, name, unusable, ctx.now);
                self.deliver(Err(error));
                true
            }
        }
    }

    /// Returns the error of a broker that is not the controller any more and has not executed the operation.
    fn moved_error(&self, outcome: &AdminOutcome) -> Option<Error> {
        let AdminOutcome::Topics(topics) = outcome else {
            return None;
        };
        let mut errors = topics.iter().filter_map(|t| t.error.as_ref());
        errors.find(|e| self.target.has_moved(e.code)).cloned()
    }

    fn retry(&mut self, ctx: &mut Ctx<'_>, error: Error) {
        let text = error.to_string();
        let pause = self.pending.retry(ctx, error);
        let name = self.request.op().name();
        ctx.log.debug(DebugContexts::ADMIN, "ADMIN", || {
            format!("{name}: {text}: retrying in {}ms", pause.as_millis())
        });
    }

    fn timeout_error(&self, cluster: &Cluster) -> Error {
        let name = self.request.op().name();
        let text = match (self.pending.in_flight(), &self.target) {
            (Some(request), _) if self.request.changes_nothing(&self.options) => {
                format!("broker {} did not respond to {name} in time", request.key.node)
            }
            (Some(request), _) => {
                let node = request.key.node;
                format!("broker {node} did not respond to {name} in time; it may have executed the operation")
            }
            (None, Target::Any) => format!("{name}: no broker was reached in time"),
            (None, Target::Controller) => match cluster.controller() {
                Some(node) => format!("{name}: the controller, broker {node}, was not reached in time"),
                None => format!("{name}: the controller was not found in time"),
            },
            (None, target) => format!("{name}: {target} was not reached in time"),
        };
        self.pending.timeout_error(text)
    }

    fn deliver(&self, outcome: Result<AdminOutcome, Error>) {
        self.destination.deliver(self.request.op(), outcome);
    }

    pub(super) fn refuse(self, error: Error) {
        self.deliver(Err(error));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero_operation_timeout_is_not_sent_to_kraft_controllers() {
        let zookeeper = BrokerVersions::new([(ApiKey::CREATE_TOPICS.0, 0, 7)]);
        let kraft = BrokerVersions::new([(ApiKey::CREATE_TOPICS.0, 2, 7), (ApiKey::DESCRIBE_QUORUM.0, 0, 2)]);
        let (zero, second, minute) = (Duration::ZERO, Duration::from_secs(1), Duration::from_secs(60));
        for (wanted, by_zookeeper, by_kraft) in [
            (None, minute, minute),
            (Some(second), second, second),
            (Some(zero), zero, minute),
        ] {
            assert_eq!(operation_timeout(&zookeeper, wanted, minute), by_zookeeper);
            assert_eq!(operation_timeout(&kraft, wanted, minute), by_kraft);
        }
    }
}
