//! Listing groups: ListGroups to every broker, since each knows only those that it coordinates, then DescribeGroups
//! for what it named.

use std::collections::BTreeMap;
use std::sync::Arc;

use ottla_protocol::DecodeError;
use ottla_protocol::api::describe_groups::{DescribeGroupsRequest, DescribedGroup};
use ottla_protocol::api::list_groups::ListGroupsRequest;

use super::wire::Way;
use crate::cluster::{Cluster, Ctx};
use crate::connection::{LinkKey, Outcome, Owner, Ready, Reply as Response, Tag};
use crate::env::Instant;
use crate::error::{Error, ErrorCode};
use crate::event::{DebugContexts, Reply};
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

/// Where one broker's part stands.
#[derive(Debug)]
enum Step {
    /// ListGroups is to be sent.
    List,
    /// These groups are to be described.
    Describe(Vec<String>),
    /// All is known, or why it is not.
    Done(Result<Vec<DescribedGroup>, Error>),
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
    group: Option<String>,
    deadline: Instant,
    reply: Arc<Reply<Result<GroupListing, Error>>>,
    /// Filled once the brokers are known.
    parts: BTreeMap<NodeId, Part>,
}

impl ListGroups {
    /// The call ends after `socket.timeout.ms` at the latest, also when `deadline` is never.
    pub(super) fn new(
        ctx: &Ctx<'_>,
        group: Option<String>,
        deadline: Instant,
        reply: Arc<Reply<Result<GroupListing, Error>>>,
    ) -> Self {
        ListGroups {
            group,
            deadline: deadline.min(ctx.now.plus_ms(ctx.conf.socket_timeout_ms.into())),
            reply,
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
            part.send(ctx, *node, self.deadline, last_id);
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

    pub(super) fn on_outcome(&mut self, ctx: &mut Ctx<'_>, key: LinkKey, outcome: Outcome) {
        let Some(part) = self.parts.get_mut(&key.node) else {
            return;
        };
        part.asked = None;
        let response = match outcome {
            Outcome::Reply(response) => response,
            Outcome::Failed(failure) => return part.again(ctx, failure.error.into_retriable()),
            Outcome::Sent => return part.again(ctx, Error::new(ErrorCode::L_FAIL, "no response")),
        };
        if let Err(e) = part.take(ctx, &response, self.group.as_deref()) {
            let error = Error::new(ErrorCode::L_BAD_MSG, format!("the broker's answer cannot be read: {e}"));
            ctx.links.fail(key, error.clone(), ctx.now);
            part.step = Step::Done(Err(error));
        }
    }

    fn answer(&mut self, cluster: &Cluster) {
        let none_known = self.parts.is_empty();
        let mut listing = GroupListing::default();
        for (node, part) in std::mem::take(&mut self.parts) {
            match part.result() {
                Ok(groups) => {
                    let info = cluster.node(node);
                    listing.groups.extend(groups.into_iter().map(|described| Group {
                        node,
                        host: info.map(|i| i.host.clone()).unwrap_or_default(),
                        port: info.map_or(0, |i| i.port),
                        described,
                    }));
                }
                Err(error) => {
                    listing.error.get_or_insert(error);
                }
            }
        }
        let result = match listing.error.take() {
            _ if none_known => Err(Error::new(
                ErrorCode::L_TIMED_OUT,
                "the brokers could not be learned in time",
            )),
            Some(error) if listing.groups.is_empty() => Err(error),
            error => Ok(GroupListing { error, ..listing }),
        };
        self.reply.fill(result);
    }

    pub(super) fn refuse(self, error: Error) {
        self.reply.fill(Err(error));
    }
}

impl Part {
    fn send(&mut self, ctx: &mut Ctx<'_>, node: NodeId, deadline: Instant, last_id: &mut u64) {
        if self.asked.is_some() || self.retry_at > ctx.now || matches!(self.step, Step::Done(_)) {
            return;
        }
        let key = LinkKey::general(node);
        let versions = match ctx.links.ready(key, ctx.now) {
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
            timeout: deadline.since(ctx.now),
        };
        let sent = match &self.step {
            Step::List => way.send(ctx, &ListGroupsRequest::default()),
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
    fn take(&mut self, ctx: &mut Ctx<'_>, response: &Response, only: Option<&str>) -> Result<(), DecodeError> {
        match &self.step {
            Step::List => {
                let answer = response.decode::<ListGroupsRequest>()?;
                let code: ErrorCode = answer.error_code.into();
                if !code.is_ok() {
                    self.again(ctx, Error::from(code));
                    return Ok(());
                }
                let names = answer.groups.into_iter().map(|g| g.group_id);
                let names: Vec<String> = names.filter(|id| only.is_none_or(|only| only == id)).collect();
                self.tries = 0;
                self.step = match names.is_empty() {
                    true => Step::Done(Ok(Vec::new())),
                    false => Step::Describe(names),
                };
            }
            Step::Describe(_) => {
                self.step = Step::Done(Ok(response.decode::<DescribeGroupsRequest>()?.groups));
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
    fn result(self) -> Result<Vec<DescribedGroup>, Error> {
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
