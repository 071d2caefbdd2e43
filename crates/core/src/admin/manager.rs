//! The manager of admin calls: keeps the calls under way and passes outcomes to them.

use std::collections::BTreeMap;

use super::call::{AnyCall, Call, Destination};
use super::operation::{Operation, Options};
use crate::cluster::{Cluster, Router};
use crate::connection::{BrokerKey, Outcome, Owner};
use crate::context::Ctx;
use crate::error::Error;
use crate::sys::{Instant, earliest};

/// A call of the application. Each delivers exactly one result.
#[derive(Debug)]
pub struct Command(Box<dyn AnyCall>);

impl Command {
    /// Returns a call that fails at `deadline`.
    pub fn new<O: Operation>(
        operation: O,
        options: Options,
        deadline: Instant,
        destination: Destination<O::Output>,
    ) -> Self {
        Command(Box::new(Call::new(operation, options, deadline, destination)))
    }

    /// Fails a command that is not executed.
    pub fn refuse(mut self, error: Error) {
        self.0.refuse(error);
    }
}

/// Calls under way. Order of calls as for every manager: commands, events and outcomes in any order, then
/// [`poll`](Self::poll).
#[derive(Debug)]
pub struct Admin {
    calls: BTreeMap<u64, Box<dyn AnyCall>>,
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
    pub fn on_command(&mut self, ctx: &Ctx<'_>, Command(mut call): Command) {
        call.begin(ctx);
        self.last_call += 1;
        self.calls.insert(self.last_call, call);
    }

    /// Sends what is due. Returns when to be called again if nothing else happens.
    pub fn poll(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster) -> Option<Instant> {
        let mut wake = None;
        let router = &mut self.router;
        self.calls.retain(|_, call| {
            let again = call.poll(ctx, cluster, router);
            wake = earliest(wake, again);
            again.is_some()
        });
        wake
    }

    /// Handles the outcome of a request of this manager.
    pub fn on_outcome(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster, key: BrokerKey, id: u64, outcome: Outcome) {
        if let Some(call) = self.calls.values_mut().find(|call| call.is_in_flight(id)) {
            call.on_outcome(ctx, cluster, &mut self.router, (key, id, outcome));
        }
    }

    /// Fails every call.
    pub fn close(&mut self, error: &Error) {
        for call in std::mem::take(&mut self.calls).values_mut() {
            call.refuse(error.clone());
        }
    }
}

#[cfg(test)]
mod tests;
