//! Admin calls on virtual time.

use std::sync::Arc;
use std::time::Duration;

use super::world::World;
use crate::admin::{Command, Destination, Operation, Options};
use crate::error::Error;
use crate::event::Queue;
use crate::reply::Reply;

/// The timeout of calls whose options have none.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

/// Returns options with this timeout of the call.
pub(crate) fn within_ms(ms: u64) -> Options {
    Options {
        request_timeout: Some(Duration::from_millis(ms)),
        ..Options::default()
    }
}

/// Returns options that request authorized operations.
pub(crate) fn with_operations() -> Options {
    Options {
        include_authorized_operations: true,
        ..Options::default()
    }
}

impl World {
    /// Begins an admin call, whose result is a reply.
    pub(crate) fn begin_admin<O: Operation>(
        &mut self,
        operation: O,
        options: Options,
    ) -> Arc<Reply<Result<O::Output, Error>>> {
        let reply = Reply::new();
        self.send_admin(operation, options, Destination::Reply(reply.clone()));
        reply
    }

    /// Begins an admin call, whose result is an event.
    pub(crate) fn queue_admin<O: Operation>(
        &mut self,
        operation: O,
        options: Options,
        queue: &Arc<Queue>,
        opaque: usize,
    ) {
        let queue = queue.clone();
        self.send_admin(operation, options, Destination::Event { queue, opaque });
    }

    fn send_admin<O: Operation>(&mut self, operation: O, options: Options, destination: Destination<O::Output>) {
        let deadline = self.now + options.request_timeout.unwrap_or(REQUEST_TIMEOUT);
        self.admin(Command::new(operation, options, deadline, destination));
    }

    /// Makes an admin call and advances the time until it has its result.
    pub(crate) fn ask_with<O: Operation>(&mut self, operation: O, options: Options) -> Result<O::Output, Error> {
        let longest = options.request_timeout.unwrap_or(REQUEST_TIMEOUT).as_millis();
        let reply = self.begin_admin(operation, options);
        let mut result = None;
        self.run_until(u64::try_from(longest).unwrap(), |_| {
            result = reply.try_take();
            result.is_some()
        });
        result.expect("a result in time")
    }

    /// Makes an admin call with default options.
    pub(crate) fn ask<O: Operation>(&mut self, operation: O) -> Result<O::Output, Error> {
        self.ask_with(operation, Options::default())
    }
}
