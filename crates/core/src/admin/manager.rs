//! The manager of admin calls: keeps the calls under way and passes outcomes to them.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::list_groups::{GroupFilters, GroupListing, ListGroups, ListingKind};
use super::request::{Options, Request};
use super::single_request::{Destination, SingleRequest};
use crate::cluster::{Cluster, Router};
use crate::connection::{BrokerKey, Outcome, Owner};
use crate::context::Ctx;
use crate::error::Error;
use crate::event::AdminOp;
use crate::reply::Reply;
use crate::sys::{Instant, earliest};

/// A call of the application. Each delivers exactly one result.
#[derive(Debug)]
pub enum Command {
    /// Lists and describes the groups of every broker.
    ListGroups {
        /// The only group to list, or all.
        group: Option<String>,
        /// When the call fails.
        deadline: Instant,
        /// The reply with the groups.
        reply: Arc<Reply<Result<GroupListing, Error>>>,
    },
    /// Lists the consumer groups of every broker.
    ListConsumerGroups {
        /// The groups to list.
        filters: GroupFilters,
        /// When the call fails.
        deadline: Instant,
        /// The destination of the result.
        destination: Destination,
    },
    /// Sends a request to one broker.
    Ask {
        /// The operation.
        request: Request,
        /// Its options.
        options: Options,
        /// When the call fails.
        deadline: Instant,
        /// The destination of the result.
        destination: Destination,
    },
}

impl Command {
    /// Fails a command that is not executed.
    pub fn refuse(self, error: Error) {
        match self {
            Command::ListGroups { reply, .. } => reply.fill(Err(error)),
            Command::Ask {
                request, destination, ..
            } => destination.deliver(request.op(), Err(error)),
            Command::ListConsumerGroups { destination, .. } => {
                destination.deliver(AdminOp::ListConsumerGroups, Err(error));
            }
        }
    }
}

#[derive(Debug)]
enum Call {
    ListGroups(ListGroups),
    SingleRequest(SingleRequest),
}

/// Calls under way. Order of calls as for every manager: commands, events and outcomes in any order, then
/// [`poll`](Self::poll).
#[derive(Debug)]
pub struct Admin {
    calls: BTreeMap<u64, Call>,
    last_call: u64,
    router: Router,
}

impl Default for Admin {
    fn default() -> Self {
        Admin {
            calls: BTreeMap::new(),
            last_call: 0,
            router: Router::new(Owner::Admin),
        }
    }
}

impl Admin {
    /// Begins a call.
    pub fn on_command(&mut self, ctx: &Ctx<'_>, command: Command) {
        let call = match command {
            Command::ListGroups { group, deadline, reply } => {
                let kind = ListingKind::Descriptions { group, reply };
                Some(Call::ListGroups(ListGroups::new(ctx, kind, deadline)))
            }
            Command::ListConsumerGroups {
                filters,
                deadline,
                destination,
            } => {
                let kind = ListingKind::Listings { filters, destination };
                Some(Call::ListGroups(ListGroups::new(ctx, kind, deadline)))
            }
            Command::Ask {
                request,
                options,
                deadline,
                destination,
            } => SingleRequest::new(ctx, request, options, deadline, destination).map(Call::SingleRequest),
        };
        if let Some(call) = call {
            self.last_call += 1;
            self.calls.insert(self.last_call, call);
        }
    }

    /// Sends what is due. Returns when to be called again if nothing else happens.
    pub fn poll(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster) -> Option<Instant> {
        let mut wake = None;
        let router = &mut self.router;
        self.calls.retain(|_, call| {
            let again = match call {
                Call::ListGroups(call) => call.poll(ctx, cluster, router),
                Call::SingleRequest(call) => call.poll(ctx, cluster, router),
            };
            wake = earliest(wake, again);
            again.is_some()
        });
        if self.calls.is_empty() {
            self.router.forget_coordinators();
        }
        earliest(wake, self.router.wake(ctx.now))
    }

    /// Handles a connection that has failed or was closed.
    pub fn on_connection_down(&mut self, ctx: &mut Ctx<'_>, key: BrokerKey, error: Option<&Error>) {
        self.router.on_connection_down(ctx, key, error);
    }

    /// Handles the outcome of a request of this manager.
    pub fn on_outcome(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster, key: BrokerKey, id: u64, outcome: Outcome) {
        if self.router.on_outcome(ctx, key, id, &outcome) {
            return;
        }
        let sender = self.calls.iter_mut().find(|(_, call)| match call {
            Call::ListGroups(call) => call.is_in_flight(key.node, id),
            Call::SingleRequest(call) => call.is_in_flight(id),
        });
        let Some((&number, call)) = sender else { return };
        let has_ended = match call {
            Call::ListGroups(call) => {
                call.on_outcome(ctx, key, outcome);
                false
            }
            Call::SingleRequest(call) => call.on_outcome(ctx, cluster, &mut self.router, (key, outcome)),
        };
        if has_ended {
            self.calls.remove(&number);
        }
    }

    /// Fails every call.
    pub fn close(&mut self, error: &Error) {
        for (_, call) in std::mem::take(&mut self.calls) {
            match call {
                Call::ListGroups(call) => call.refuse(error.clone()),
                Call::SingleRequest(call) => call.refuse(error.clone()),
            }
        }
    }
}

#[cfg(test)]
mod tests;
