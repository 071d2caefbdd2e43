//! Listing groups: ListGroups to every broker, since each knows only those that it coordinates, and where descriptions are
//! wanted DescribeGroups for what it named.

use std::collections::BTreeMap;
use std::sync::Arc;

use ottla_protocol::DecodeError;
use ottla_protocol::api::describe_groups::{DescribeGroupsRequest, DescribedGroup};
use ottla_protocol::api::list_groups::{ListGroupsRequest, ListedGroup};

use super::one_broker::Destination;
use super::wire::{Way, answer_timeout, unsupported};
use crate::cluster::Cluster;
use crate::connection::{BrokerKey, Outcome, Owner, Ready, Reply as Response, Tag};
use crate::context::Ctx;
use crate::error::{Error, ErrorCode};
use crate::event::{AdminOp, AdminOutcome, ConsumerGroupListing, ConsumerGroups};
use crate::log::DebugContexts;
use crate::reply::Reply;
use crate::sys::Instant;
use crate::types::NodeId;

/// A group as its coordinator described it.
#[derive(Debug, Clone)]
pub struct Group {
    /// The broker that told of it.
    pub node: NodeId,
    /// The broker's host.
    pub host: String,
    /// The broker's port.
    pub port: u16,
    /// What it told.
    pub described: DescribedGroup,
}

/// Groups of all brokers that answered.
#[derive(Debug, Clone, Default)]
pub struct GroupListing {
    /// By broker, in the brokers' order.
    pub groups: Vec<Group>,
    /// Why groups may be missing: the first error of a broker that did not answer both questions.
    pub error: Option<Error>,
}

/// Which groups are listed.
#[derive(Debug, Clone, Default)]
pub struct GroupFilters {
    /// In these states, by their names; empty for all (KIP-518, Kafka 2.6).
    pub states: Vec<String>,
    /// Of these types, by their names; empty for all (KIP-848, Kafka 3.8).
    pub types: Vec<String>,
}

/// What is asked for, and where it goes.
#[derive(Debug)]
pub(super) enum Wanted {
    /// Groups with their members.
    Descriptions {
        /// Only this group.
        group: Option<String>,
        reply: Arc<Reply<Result<GroupListing, Error>>>,
    },
    /// Groups that consumers have made, without their members.
    Listings {
        filters: GroupFilters,
        destination: Destination,
    },
}

/// What one broker told.
#[derive(Debug)]
enum Told {
    Listed(Vec<ListedGroup>),
    Described(Vec<DescribedGroup>),
}

/// The first version of ListGroups that can be asked for groups in some states only.
const FIRST_WITH_STATES: i16 = 4;
/// The first version of ListGroups that can be asked for groups of some types only.
const FIRST_WITH_TYPES: i16 = 5;
/// The protocol type of groups that consumers make.
const OF_CONSUMERS: &str = "consumer";

/// Where one broker's part stands.
#[derive(Debug)]
enum Step {
    /// ListGroups is to be sent.
    List,
    /// These groups are to be described.
    Describe(Vec<String>),
    /// All is known, or why it is not.
    Done(Result<Told, Error>),
}

#[derive(Debug)]
struct Part {
    step: Step,
    /// The request under way.
    asked: Option<u64>,
    retry_at: Instant,
    tries: u32,
    /// The last error after which it was tried again.
    last_error: Option<Error>,
}

/// A call under way.
#[derive(Debug)]
pub(super) struct ListGroups {
    wanted: Wanted,
    deadline: Instant,
    /// Filled once the brokers are known.
    parts: BTreeMap<NodeId, Part>,
}

impl ListGroups {
    /// Descriptions are waited for `socket.timeout.ms` at the most, also when `deadline` is never.
    pub(super) fn new(ctx: &Ctx<'_>, wanted: Wanted, deadline: Instant) -> Self {
        let longest = match wanted {
            Wanted::Descriptions { .. } => ctx.now.plus_ms(ctx.conf.socket_timeout_ms.into()),
            Wanted::Listings { .. } => Instant::NEVER,
        };
        ListGroups {
            wanted,
            deadline: deadline.min(longest),
            parts: BTreeMap::new(),
        }
    }

    /// Does what is due; gives when to be called again, `None` once the call is answered.
    pub(super) fn poll(&mut self, ctx: &mut Ctx<'_>, cluster: &Cluster, last_id: &mut u64) -> Option<Instant> {
        if self.parts.is_empty() {
            let part = || Part {
                step: Step::List,
                asked: None,
                retry_at: ctx.now,
                tries: 0,
                last_error: None,
            };
            self.parts = cluster.nodes().map(|(node, _)| (node, part())).collect();
        }
        for (node, part) in &mut self.parts {
            part.send(ctx, *node, &self.wanted, self.deadline, last_id);
        }
        let done = |part: &Part| matches!(part.step, Step::Done(_));
        if self.deadline <= ctx.now || !self.parts.is_empty() && self.parts.values().all(done) {
            self.answer(cluster);
            return None;
        }
        let retries = self.parts.values().filter(|p| p.asked.is_none() && !done(p));
        let retry = retries.map(|p| p.retry_at).filter(|at| *at > ctx.now).min();
        Some(retry.map_or(self.deadline, |at| at.min(self.deadline)))
    }

    pub(super) fn is_asking(&self, node: NodeId, id: u64) -> bool {
        self.parts.get(&node).is_some_and(|p| p.asked == Some(id))
    }

    pub(super) fn on_outcome(&mut self, ctx: &mut Ctx<'_>, key: BrokerKey, outcome: Outcome) {
        let Some(part) = self.parts.get_mut(&key.node) else {
            return;
        };
        part.asked = None;
        let response = match outcome {
            Outcome::Reply(response) => response,
            Outcome::Failed(failure) => return part.again(ctx, failure.error.into_retriable()),
            Outcome::Sent => return part.again(ctx, Error::new(ErrorCode::L_FAIL, "no response")),
        };
        if let Err(e) = part.take(ctx, &response, &self.wanted) {
            let error = Error::new(ErrorCode::L_BAD_MSG, format!("the broker's answer cannot be read: {e}"));
            ctx.connections.fail(key, error.clone(), ctx.now);
            part.step = Step::Done(Err(error));
        }
    }

    fn answer(&mut self, cluster: &Cluster) {
        let parts = std::mem::take(&mut self.parts);
        if parts.is_empty() {
            let text = "the brokers could not be learned in time";
            return self.wanted.fail(Error::new(ErrorCode::L_TIMED_OUT, text));
        }
        match &self.wanted {
            Wanted::Descriptions { reply, .. } => reply.fill(descriptions(parts, cluster)),
            Wanted::Listings { destination, .. } => {
                let groups = AdminOutcome::Groups(listings(parts));
                destination.tell(AdminOp::ListConsumerGroups, Ok(groups));
            }
        }
    }

    pub(super) fn refuse(self, error: Error) {
        self.wanted.fail(error);
    }
}

impl Wanted {
    fn request(&self, version: i16) -> Result<ListGroupsRequest, Error> {
        let Wanted::Listings { filters, .. } = self else {
            return Ok(ListGroupsRequest::default());
        };
        if version < FIRST_WITH_STATES && !filters.states.is_empty() {
            return Err(unsupported(
                "the broker does not tell groups by state (KIP-518): that needs Kafka 2.6",
            ));
        }
        if version < FIRST_WITH_TYPES && !filters.types.is_empty() {
            return Err(unsupported(
                "the broker does not tell groups by type (KIP-848): that needs Kafka 3.8",
            ));
        }
        Ok(ListGroupsRequest {
            states_filter: filters.states.clone(),
            types_filter: filters.types.clone(),
            ..Default::default()
        })
    }

    /// What follows when a broker has named its groups.
    fn next(&self, groups: Vec<ListedGroup>) -> Step {
        let Wanted::Descriptions { group: only, .. } = self else {
            return Step::Done(Ok(Told::Listed(groups)));
        };
        let names = groups.into_iter().map(|g| g.group_id);
        let names: Vec<String> = names.filter(|id| only.as_ref().is_none_or(|only| only == id)).collect();
        match names.is_empty() {
            true => Step::Done(Ok(Told::Described(Vec::new()))),
            false => Step::Describe(names),
        }
    }

    fn fail(&self, error: Error) {
        match self {
            Wanted::Descriptions { reply, .. } => reply.fill(Err(error)),
            Wanted::Listings { destination, .. } => destination.tell(AdminOp::ListConsumerGroups, Err(error)),
        }
    }
}

fn descriptions(parts: BTreeMap<NodeId, Part>, cluster: &Cluster) -> Result<GroupListing, Error> {
    let mut listing = GroupListing::default();
    for (node, part) in parts {
        match part.result() {
            Ok(Told::Described(groups)) => {
                let info = cluster.node(node);
                listing.groups.extend(groups.into_iter().map(|described| Group {
                    node,
                    host: info.map(|i| i.host.clone()).unwrap_or_default(),
                    port: info.map_or(0, |i| i.port),
                    described,
                }));
            }
            Ok(Told::Listed(_)) => {}
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

/// The groups of consumers, and those that have committed offsets only.
fn listings(parts: BTreeMap<NodeId, Part>) -> ConsumerGroups {
    let mut told = ConsumerGroups::default();
    for part in parts.into_values() {
        match part.result() {
            Ok(Told::Listed(groups)) => {
                let of_consumers = groups
                    .into_iter()
                    .filter(|g| g.protocol_type.is_empty() || g.protocol_type == OF_CONSUMERS);
                told.groups.extend(of_consumers.map(|g| ConsumerGroupListing {
                    group_id: g.group_id,
                    is_simple: g.protocol_type.is_empty(),
                    state: g.group_state,
                    group_type: g.group_type,
                }));
            }
            Ok(Told::Described(_)) => {}
            Err(error) => told.errors.push(error),
        }
    }
    told
}

impl Part {
    fn send(&mut self, ctx: &mut Ctx<'_>, node: NodeId, wanted: &Wanted, deadline: Instant, last_id: &mut u64) {
        if self.asked.is_some() || self.retry_at > ctx.now || matches!(self.step, Step::Done(_)) {
            return;
        }
        let key = BrokerKey::general(node);
        let versions = match ctx.connections.ready(key, ctx.now) {
            Ready::Yes(versions) => versions,
            Ready::Busy | Ready::Connecting => return,
            Ready::Unknown => {
                let error = Error::new(ErrorCode::L_TRANSPORT, format!("broker {node} is gone"));
                self.step = Step::Done(Err(error));
                return;
            }
        };
        *last_id += 1;
        let tag = Tag {
            owner: Owner::Admin,
            id: *last_id,
        };
        let way = Way {
            key,
            tag,
            versions: &versions,
            timeout: answer_timeout(ctx, deadline),
        };
        let sent = match &self.step {
            Step::List => {
                let request = way.version::<ListGroupsRequest>().and_then(|v| wanted.request(v));
                request.and_then(|request| way.send(ctx, &request))
            }
            Step::Describe(groups) => {
                let request = DescribeGroupsRequest {
                    groups: groups.clone(),
                    ..Default::default()
                };
                way.send(ctx, &request)
            }
            Step::Done(_) => return,
        };
        ctx.log.debug(DebugContexts::ADMIN, "LISTGROUPS", || match &self.step {
            Step::Describe(groups) => format!("asking broker {node} to describe {} group(s)", groups.len()),
            _ => format!("asking broker {node} for its groups"),
        });
        match sent {
            Ok(()) => self.asked = Some(tag.id),
            Err(error) => self.step = Step::Done(Err(error)),
        }
    }

    /// Takes a response in.
    fn take(&mut self, ctx: &mut Ctx<'_>, response: &Response, wanted: &Wanted) -> Result<(), DecodeError> {
        match &self.step {
            Step::List => {
                let answer = response.decode::<ListGroupsRequest>()?;
                let code: ErrorCode = answer.error_code.into();
                if !code.is_ok() {
                    self.again(ctx, Error::from(code));
                    return Ok(());
                }
                self.tries = 0;
                self.step = wanted.next(answer.groups);
            }
            Step::Describe(_) => {
                self.step = Step::Done(Ok(Told::Described(response.decode::<DescribeGroupsRequest>()?.groups)));
            }
            Step::Done(_) => {}
        }
        Ok(())
    }

    /// Asks once more, later, after an error that may pass.
    fn again(&mut self, ctx: &mut Ctx<'_>, error: Error) {
        if !(error.retriable || error.code.action().is_retriable()) {
            self.step = Step::Done(Err(error));
            return;
        }
        let pause = ctx.retry_delay(self.tries);
        ctx.log.debug(DebugContexts::ADMIN, "LISTGROUPS", || {
            format!("{error}: asking again in {}ms", pause.as_millis())
        });
        self.retry_at = ctx.now + pause;
        self.tries = self.tries.saturating_add(1);
        self.last_error = Some(error);
    }

    /// What the broker told; a broker that did not get that far was not in time.
    fn result(self) -> Result<Told, Error> {
        match self.step {
            Step::Done(result) => result,
            Step::List | Step::Describe(_) => {
                let why = self.last_error.map(|e| format!("; last error: {}", e.message));
                let text = format!("a broker did not tell of its groups in time{}", why.unwrap_or_default());
                Err(Error::new(ErrorCode::L_TIMED_OUT, text))
            }
        }
    }
}
