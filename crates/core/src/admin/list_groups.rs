//! Listing groups: ListGroups to every broker, because each lists only the groups that it coordinates, and for
//! descriptions DescribeGroups for the groups that it has listed.

use std::collections::BTreeMap;
use std::sync::Arc;

use ottla_protocol::api::describe_groups::{DescribeGroupsRequest, DescribedGroup};
use ottla_protocol::api::list_groups::{ListGroupsRequest, ListedGroup};

use super::single_request::Destination;
use super::wire::Route;
use crate::cluster::{Cluster, Router};
use crate::connection::{BrokerKey, Outcome, Ready, Reply as Response};
use crate::context::Ctx;
use crate::error::{Error, ErrorCode};
use crate::event::{AdminOp, AdminOutcome, ConsumerGroupListing, ConsumerGroups};
use crate::log::DebugContexts;
use crate::reply::Reply;
use crate::request::{PendingRequest, ReadyBroker, decode, reply_of, response_timeout, unsupported};
use crate::sys::Instant;
use crate::types::NodeId;

/// A group as its coordinator described it.
#[derive(Debug, Clone)]
pub struct Group {
    /// The coordinator.
    pub node: NodeId,
    /// The broker's host.
    pub host: String,
    /// The broker's port.
    pub port: u16,
    /// The description.
    pub described: DescribedGroup,
}

/// Groups of all brokers that answered.
#[derive(Debug, Clone, Default)]
pub struct GroupListing {
    /// By broker, in the brokers' order.
    pub groups: Vec<Group>,
    /// The first error of a broker whose groups are missing.
    pub error: Option<Error>,
}

/// The groups to list.
#[derive(Debug, Clone, Default)]
pub struct GroupFilters {
    /// Names of states; empty for all (KIP-518, Kafka 2.6).
    pub states: Vec<String>,
    /// Names of types; empty for all (KIP-848, Kafka 3.8).
    pub types: Vec<String>,
}

/// The kind of a listing and the destination of its result.
#[derive(Debug)]
pub(super) enum ListingKind {
    /// Groups with their members.
    Descriptions {
        /// The only group to list, or all.
        group: Option<String>,
        reply: Arc<Reply<Result<GroupListing, Error>>>,
    },
    /// Consumer groups without their members.
    Listings {
        filters: GroupFilters,
        destination: Destination,
    },
}

/// The result of one broker.
#[derive(Debug)]
enum BrokerResult {
    Listed(Vec<ListedGroup>),
    Described(Vec<DescribedGroup>),
}

/// The protocol type of consumer groups.
const CONSUMER_PROTOCOL: &str = "consumer";

/// The next step of one broker's part.
#[derive(Debug)]
enum Step {
    /// ListGroups is to be sent.
    List,
    /// These groups are to be described.
    Describe(Vec<String>),
    /// None: the result is known.
    Done(Result<BrokerResult, Error>),
}

/// One broker's part of a listing.
#[derive(Debug)]
struct Part {
    step: Step,
    pending: PendingRequest,
}

/// A call under way.
#[derive(Debug)]
pub(super) struct ListGroups {
    kind: ListingKind,
    deadline: Instant,
    /// Empty until the brokers are known.
    parts: BTreeMap<NodeId, Part>,
}

impl ListGroups {
    /// Returns a call that begins now. The deadline of descriptions is `socket.timeout.ms` from now at the latest.
    pub(super) fn new(ctx: &Ctx<'_>, kind: ListingKind, deadline: Instant) -> Self {
        let longest = match kind {
            ListingKind::Descriptions { .. } => ctx.now.plus_ms(ctx.conf.socket_timeout_ms.into()),
            ListingKind::Listings { .. } => Instant::NEVER,
        };
        ListGroups {
            kind,
            deadline: deadline.min(longest),
            parts: BTreeMap::new(),
        }
    }

    /// Sends what is due. Returns when to be called again, `None` once the result is delivered.
    pub(super) fn poll(&mut self, ctx: &mut Ctx<'_>, cluster: &Cluster, router: &mut Router) -> Option<Instant> {
        if self.parts.is_empty() {
            let part = || Part {
                step: Step::List,
                pending: PendingRequest::new(ctx.now, self.deadline),
            };
            self.parts = cluster.nodes().map(|(node, _)| (node, part())).collect();
        }
        for (node, part) in &mut self.parts {
            part.send(ctx, *node, &self.kind, router);
        }
        let done = |part: &Part| matches!(part.step, Step::Done(_));
        if self.deadline <= ctx.now || !self.parts.is_empty() && self.parts.values().all(done) {
            self.deliver(cluster);
            return None;
        }
        let unfinished = self.parts.values().filter(|part| !done(part));
        let wake = unfinished.map(|part| part.pending.wake(ctx.now)).min();
        Some(wake.unwrap_or(self.deadline))
    }

    pub(super) fn is_in_flight(&self, node: NodeId, id: u64) -> bool {
        self.parts.get(&node).is_some_and(|part| part.pending.is_in_flight(id))
    }

    pub(super) fn on_outcome(&mut self, ctx: &mut Ctx<'_>, key: BrokerKey, outcome: Outcome) {
        let Some(part) = self.parts.get_mut(&key.node) else {
            return;
        };
        part.pending.on_outcome();
        let has_failed = matches!(outcome, Outcome::Failed(_));
        let response = match reply_of(outcome) {
            Ok(response) => response,
            Err(error) if has_failed => return part.retry(ctx, error.into_retriable()),
            Err(error) => return part.retry(ctx, error),
        };
        if let Err(error) = part.on_response(ctx, key, &response, &self.kind) {
            part.step = Step::Done(Err(error));
        }
    }

    fn deliver(&mut self, cluster: &Cluster) {
        let parts = std::mem::take(&mut self.parts);
        if parts.is_empty() {
            let text = "no broker was found in time";
            return self.kind.fail(Error::new(ErrorCode::L_TIMED_OUT, text));
        }
        match &self.kind {
            ListingKind::Descriptions { reply, .. } => reply.fill(descriptions(parts, cluster)),
            ListingKind::Listings { destination, .. } => {
                let groups = AdminOutcome::Groups(listings(parts));
                destination.deliver(AdminOp::ListConsumerGroups, Ok(groups));
            }
        }
    }

    pub(super) fn refuse(self, error: Error) {
        self.kind.fail(error);
    }
}

impl ListingKind {
    fn request(&self, version: i16) -> Result<ListGroupsRequest, Error> {
        let ListingKind::Listings { filters, .. } = self else {
            return Ok(ListGroupsRequest::default());
        };
        if version < ListGroupsRequest::STATES_FILTER_SINCE && !filters.states.is_empty() {
            return Err(unsupported(
                "the broker cannot filter groups by state (KIP-518): that requires Kafka 2.6",
            ));
        }
        if version < ListGroupsRequest::TYPES_FILTER_SINCE && !filters.types.is_empty() {
            return Err(unsupported(
                "the broker cannot filter groups by type (KIP-848): that requires Kafka 3.8",
            ));
        }
        Ok(ListGroupsRequest {
            states_filter: filters.states.clone(),
            types_filter: filters.types.clone(),
            ..Default::default()
        })
    }

    /// Returns the step after a broker has listed its groups.
    fn next(&self, groups: Vec<ListedGroup>) -> Step {
        let ListingKind::Descriptions { group: only, .. } = self else {
            return Step::Done(Ok(BrokerResult::Listed(groups)));
        };
        let names = groups.into_iter().map(|g| g.group_id);
        let names: Vec<String> = names.filter(|id| only.as_ref().is_none_or(|only| only == id)).collect();
        match names.is_empty() {
            true => Step::Done(Ok(BrokerResult::Described(Vec::new()))),
            false => Step::Describe(names),
        }
    }

    fn fail(&self, error: Error) {
        match self {
            ListingKind::Descriptions { reply, .. } => reply.fill(Err(error)),
            ListingKind::Listings { destination, .. } => destination.deliver(AdminOp::ListConsumerGroups, Err(error)),
        }
    }
}

fn descriptions(parts: BTreeMap<NodeId, Part>, cluster: &Cluster) -> Result<GroupListing, Error> {
    let mut listing = GroupListing::default();
    for (node, part) in parts {
        match part.result() {
            Ok(BrokerResult::Described(groups)) => {
                let info = cluster.node(node);
                listing.groups.extend(groups.into_iter().map(|described| Group {
                    node,
                    host: info.map(|i| i.host.clone()).unwrap_or_default(),
                    port: info.map_or(0, |i| i.port),
                    described,
                }));
            }
            Ok(BrokerResult::Listed(_)) => {}
            Err(error) => {
                listing.error.get_or_insert(error);
            }
        }
    }
    match listing.error.take() {
        Some(error) if listing.groups.is_empty() => Err(error),
        error => Ok(GroupListing { error, ..listing }),
    }
}

/// Returns the consumer groups, and the groups that consist of committed offsets only.
fn listings(parts: BTreeMap<NodeId, Part>) -> ConsumerGroups {
    let mut listing = ConsumerGroups::default();
    for part in parts.into_values() {
        match part.result() {
            Ok(BrokerResult::Listed(groups)) => {
                let of_consumers = groups
                    .into_iter()
                    .filter(|g| g.protocol_type.is_empty() || g.protocol_type == CONSUMER_PROTOCOL);
                listing.groups.extend(of_consumers.map(|g| ConsumerGroupListing {
                    group_id: g.group_id,
                    is_simple: g.protocol_type.is_empty(),
                    state: g.group_state,
                    group_type: g.group_type,
                }));
            }
            Ok(BrokerResult::Described(_)) => {}
            Err(error) => listing.errors.push(error),
        }
    }
    listing
}

impl Part {
    fn send(&mut self, ctx: &mut Ctx<'_>, node: NodeId, kind: &ListingKind, router: &mut Router) {
        if !self.pending.may_send(ctx.now) || matches!(self.step, Step::Done(_)) {
            return;
        }
        let key = BrokerKey::general(node);
        let versions = match ctx.connections.ready(key, ctx.now) {
            Ready::Yes(versions) => versions,
            Ready::Busy | Ready::Connecting => return,
            Ready::Unknown => {
                let error = Error::new(ErrorCode::L_TRANSPORT, format!("broker {node} has left the cluster"));
                self.step = Step::Done(Err(error));
                return;
            }
        };
        let to = Route {
            broker: ReadyBroker { key, versions },
            tag: router.next_tag(),
            timeout: response_timeout(ctx, self.pending.deadline()),
        };
        let sent = match &self.step {
            Step::List => {
                let request = to.broker.version::<ListGroupsRequest>().and_then(|v| kind.request(v));
                request.and_then(|request| to.send(ctx, &request))
            }
            Step::Describe(groups) => {
                let request = DescribeGroupsRequest {
                    groups: groups.clone(),
                    ..Default::default()
                };
                to.send(ctx, &request)
            }
            Step::Done(_) => return,
        };
        ctx.log.debug(DebugContexts::ADMIN, "LISTGROUPS", || match &self.step {
            Step::Describe(groups) => format!("describing {} group(s) of broker {node}", groups.len()),
            _ => format!("listing the groups of broker {node}"),
        });
        match sent {
            Ok(()) => self.pending.on_sent(key, to.tag.id),
            Err(error) => self.step = Step::Done(Err(error)),
        }
    }

    fn on_response(
        &mut self,
        ctx: &mut Ctx<'_>,
        key: BrokerKey,
        response: &Response,
        kind: &ListingKind,
    ) -> Result<(), Error> {
        match &self.step {
            Step::List => {
                let response = decode::<ListGroupsRequest>(ctx, key, response)?;
                let code: ErrorCode = response.error_code.into();
                if !code.is_ok() {
                    self.retry(ctx, Error::from(code));
                    return Ok(());
                }
                self.pending.on_answer();
                self.step = kind.next(response.groups);
            }
            Step::Describe(_) => {
                let response = decode::<DescribeGroupsRequest>(ctx, key, response)?;
                self.step = Step::Done(Ok(BrokerResult::Described(response.groups)));
            }
            Step::Done(_) => {}
        }
        Ok(())
    }

    /// Schedules a retry after a retriable error; any other one is the result.
    fn retry(&mut self, ctx: &mut Ctx<'_>, error: Error) {
        if !(error.retriable || error.code.action().is_retriable()) {
            self.step = Step::Done(Err(error));
            return;
        }
        let text = error.to_string();
        let pause = self.pending.retry(ctx, error);
        ctx.log.debug(DebugContexts::ADMIN, "LISTGROUPS", || {
            format!("{text}: retrying in {}ms", pause.as_millis())
        });
    }

    /// Returns the result, a timeout for a broker that has not responded yet.
    fn result(self) -> Result<BrokerResult, Error> {
        match self.step {
            Step::Done(result) => result,
            Step::List | Step::Describe(_) => {
                Err(self.pending.timeout_error("a broker did not list its groups in time"))
            }
        }
    }
}

#[cfg(test)]
mod tests;
