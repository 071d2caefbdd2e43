//! The manager that the core drives: keeps calls and brings them what they wait for.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::list_groups::{GroupFilters, GroupListing, ListGroups, Wanted};
use super::one_broker::{Destination, OneBroker};
use super::request::{Options, Request};
use crate::cluster::Cluster;
use crate::connection::{BrokerKey, Outcome};
use crate::context::Ctx;
use crate::error::Error;
use crate::event::AdminOp;
use crate::reply::Reply;
use crate::sys::{Instant, earliest};

/// A request of the application. Every one is answered exactly once.
#[derive(Debug)]
pub enum Command {
    /// Asks every broker for its groups and describes them.
    ListGroups {
        /// Only this group.
        group: Option<String>,
        /// When the call gives up.
        deadline: Instant,
        /// The groups.
        reply: Arc<Reply<Result<GroupListing, Error>>>,
    },
    /// Asks every broker for the groups that consumers have made.
    ListConsumerGroups {
        /// Which groups.
        filters: GroupFilters,
        /// When the call gives up.
        deadline: Instant,
        /// Where the answer goes.
        destination: Destination,
    },
    /// Asks one broker.
    Ask {
        /// For what.
        request: Request,
        /// How.
        options: Options,
        /// When the call gives up.
        deadline: Instant,
        /// Where the answer goes.
        destination: Destination,
    },
}

impl Command {
    /// Answers a command that nobody will carry out.
    pub fn refuse(self, error: Error) {
        match self {
            Command::ListGroups { reply, .. } => reply.fill(Err(error)),
            Command::Ask {
                request, destination, ..
            } => destination.tell(request.op(), Err(error)),
            Command::ListConsumerGroups { destination, .. } => {
                destination.tell(AdminOp::ListConsumerGroups, Err(error));
            }
        }
    }
}

#[derive(Debug)]
enum Call {
    ListGroups(ListGroups),
    OneBroker(OneBroker),
}

/// Calls under way. Order of calls as for every manager: commands and outcomes in any order, then
/// [`poll`](Self::poll).
#[derive(Debug, Default)]
pub struct Admin {
    calls: BTreeMap<u64, Call>,
    /// Numbers calls and requests.
    last_id: u64,
}

impl Admin {
    /// Carries out a command.
    pub fn on_command(&mut self, ctx: &Ctx<'_>, command: Command) {
        let call = match command {
            Command::ListGroups { group, deadline, reply } => {
                let wanted = Wanted::Descriptions { group, reply };
                Some(Call::ListGroups(ListGroups::new(ctx, wanted, deadline)))
            }
            Command::ListConsumerGroups {
                filters,
                deadline,
                destination,
            } => {
                let wanted = Wanted::Listings { filters, destination };
                Some(Call::ListGroups(ListGroups::new(ctx, wanted, deadline)))
            }
            Command::Ask {
                request,
                options,
                deadline,
                destination,
            } => OneBroker::new(ctx, request, options, deadline, destination).map(Call::OneBroker),
        };
        if let Some(call) = call {
            self.last_id += 1;
            self.calls.insert(self.last_id, call);
        }
    }

    /// Does what is due; gives when to be called again if nothing else happens.
    pub fn poll(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster) -> Option<Instant> {
        let mut wake = None;
        let last_id = &mut self.last_id;
        self.calls.retain(|_, call| {
            let again = match call {
                Call::ListGroups(call) => call.poll(ctx, cluster, last_id),
                Call::OneBroker(call) => call.poll(ctx, cluster, last_id),
            };
            wake = earliest(wake, again);
            again.is_some()
        });
        wake
    }

    /// What became of a request.
    pub fn on_outcome(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster, key: BrokerKey, id: u64, outcome: Outcome) {
        let asked_by = self.calls.iter_mut().find(|(_, call)| match call {
            Call::ListGroups(call) => call.is_asking(key.node, id),
            Call::OneBroker(call) => call.is_asking(key.node, id),
        });
        let Some((&number, call)) = asked_by else { return };
        let ended = match call {
            Call::ListGroups(call) => {
                call.on_outcome(ctx, key, outcome);
                false
            }
            Call::OneBroker(call) => call.on_outcome(ctx, cluster, key, outcome),
        };
        if ended {
            self.calls.remove(&number);
        }
    }

    /// Fails every call.
    pub fn close(&mut self, error: &Error) {
        for (_, call) in std::mem::take(&mut self.calls) {
            match call {
                Call::ListGroups(call) => call.refuse(error.clone()),
                Call::OneBroker(call) => call.refuse(error.clone()),
            }
        }
    }
}
