//! The manager that the core drives: keeps calls and brings them what they wait for.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::list_groups::{GroupListing, ListGroups};
use crate::cluster::{Cluster, Ctx};
use crate::connection::{LinkKey, Outcome};
use crate::env::{Instant, earliest};
use crate::error::Error;
use crate::event::Reply;

/// A request of the application. Every `reply` is filled exactly once.
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
}

impl Command {
    /// Answers a command that nobody will carry out.
    pub fn refuse(self, error: Error) {
        let Command::ListGroups { reply, .. } = self;
        reply.fill(Err(error));
    }
}

/// Calls under way. Order of calls as for every manager: commands and outcomes in any order, then
/// [`poll`](Self::poll).
#[derive(Debug, Default)]
pub struct Admin {
    calls: BTreeMap<u64, ListGroups>,
    /// Numbers calls and requests.
    last_id: u64,
}

impl Admin {
    /// Carries out a command.
    pub fn on_command(&mut self, ctx: &Ctx<'_>, command: Command) {
        let Command::ListGroups { group, deadline, reply } = command;
        self.last_id += 1;
        self.calls
            .insert(self.last_id, ListGroups::new(ctx, group, deadline, reply));
    }

    /// Does what is due; gives when to be called again if nothing else happens.
    pub fn poll(&mut self, ctx: &mut Ctx<'_>, cluster: &Cluster) -> Option<Instant> {
        let mut wake = None;
        let last_id = &mut self.last_id;
        self.calls.retain(|_, call| match call.poll(ctx, cluster, last_id) {
            Some(at) => {
                wake = earliest(wake, Some(at));
                true
            }
            None => false,
        });
        wake
    }

    /// What became of a request.
    pub fn on_outcome(&mut self, ctx: &mut Ctx<'_>, key: LinkKey, id: u64, outcome: Outcome) {
        if let Some(call) = self.calls.values_mut().find(|call| call.is_asking(key.node, id)) {
            call.on_outcome(ctx, key, outcome);
        }
    }

    /// Fails every call.
    pub fn close(&mut self, error: &Error) {
        for (_, call) in std::mem::take(&mut self.calls) {
            call.refuse(error.clone());
        }
    }
}
