//! A call of any operation: its expected rows, and the reading of its output.

use std::any::Any;
use std::fmt::{self, Debug};
use std::sync::Arc;

use ottla_core::admin::{self, Destination, Operation, Options};
use ottla_core::client::{Command, Shared};
use ottla_core::error::Error;
use ottla_core::event::Queue;
use ottla_core::reply::Reply;
use ottla_core::sys::Instant;

use crate::check::{Claim, Row};
use crate::world::World;

/// The contents of a result.
#[derive(Debug, Default)]
pub(super) struct Answer {
    /// The names of the rows with their errors.
    pub(super) rows: Vec<(String, Option<Error>)>,
    /// The states of resources that were returned.
    pub(super) claims: Vec<Claim>,
    /// Contradictions in the output.
    pub(super) problems: Vec<String>,
    /// The longest time for which brokers return an older state.
    pub(super) lag_us: u64,
}

impl Answer {
    /// Returns the result of a call that has failed as a whole.
    pub(super) fn failed(rows: &[Row], error: &Error) -> Self {
        Answer {
            rows: rows.iter().map(|row| (row.key.clone(), Some(error.clone()))).collect(),
            ..Answer::default()
        }
    }

    /// Returns the result of a call without rows.
    pub(super) fn of_claims(claims: Vec<Claim>) -> Self {
        Answer {
            rows: vec![(String::new(), None)],
            claims,
            ..Answer::default()
        }
    }
}

/// The way of a call's result.
#[derive(Clone)]
pub(super) enum Way {
    Reply,
    /// An event with this opaque number.
    Queue(Arc<Queue>, usize),
}

impl Debug for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Way::Reply => "reply",
            Way::Queue(..) => "event",
        })
    }
}

/// A call of whichever operation.
pub(super) trait Asked: Debug {
    fn name(&self) -> &'static str;
    fn rows(&self) -> &[Row];

    /// Returns true when the client may repeat requests that a broker may have executed. To be called before [`Self::send`].
    fn is_repeatable(&self, options: &Options) -> bool;

    /// Makes the call.
    fn send(&mut self, shared: &Shared, options: Options, deadline: Instant, way: Way);

    /// Takes the result from the reply, if there is one.
    fn try_reply(&self, world: &World) -> Option<Result<Answer, Error>>;

    /// Reads the output of an event; `None` for one of another type.
    fn read(&self, output: &(dyn Any + Send + Sync), world: &World) -> Option<Answer>;

    /// Returns true when the result comes by this queue.
    fn uses(&self, queue: &Arc<Queue>) -> bool;
}

/// Reads an output.
type Reader<O> = Box<dyn Fn(&<O as Operation>::Output, &World) -> Answer>;

/// The slot of a result.
type Slot<O> = Arc<Reply<Result<<O as Operation>::Output, Error>>>;

/// A call of one operation.
pub(super) struct Ask<O: Operation> {
    operation: Option<O>,
    text: String,
    rows: Vec<Row>,
    reader: Reader<O>,
    reply: Option<Slot<O>>,
    queue: Option<Arc<Queue>>,
}

impl<O: Operation> Debug for Ask<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?}", self.text, self.rows)
    }
}

impl<O: Operation> Ask<O> {
    /// Returns a call with its rows. A call without rows has one without a name.
    pub(super) fn boxed(
        operation: O,
        mut rows: Vec<Row>,
        reader: impl Fn(&O::Output, &World) -> Answer + 'static,
    ) -> Option<Box<dyn Asked>> {
        if rows.is_empty() {
            rows.push(Row::default());
        }
        Some(Box::new(Ask {
            text: format!("{operation:?}"),
            operation: Some(operation),
            rows,
            reader: Box::new(reader),
            reply: None,
            queue: None,
        }))
    }
}

impl<O: Operation> Asked for Ask<O> {
    fn name(&self) -> &'static str {
        O::NAME
    }

    fn rows(&self) -> &[Row] {
        &self.rows
    }

    fn is_repeatable(&self, options: &Options) -> bool {
        self.operation
            .as_ref()
            .is_some_and(|operation| operation.is_repeatable(options))
    }

    fn send(&mut self, shared: &Shared, options: Options, deadline: Instant, way: Way) {
        let Some(operation) = self.operation.take() else {
            return;
        };
        let destination = match way {
            Way::Reply => Destination::Reply(self.reply.insert(Reply::new()).clone()),
            Way::Queue(queue, opaque) => {
                self.queue = Some(queue.clone());
                Destination::Event { queue, opaque }
            }
        };
        let command = admin::Command::new(operation, options, deadline, destination);
        shared.send(Command::Admin(command));
    }

    fn try_reply(&self, world: &World) -> Option<Result<Answer, Error>> {
        let result = self.reply.as_ref()?.try_take()?;
        Some(result.map(|output| (self.reader)(&output, world)))
    }

    fn read(&self, output: &(dyn Any + Send + Sync), world: &World) -> Option<Answer> {
        Some((self.reader)(output.downcast_ref()?, world))
    }

    fn uses(&self, queue: &Arc<Queue>) -> bool {
        self.queue.as_ref().is_some_and(|own| Arc::ptr_eq(own, queue))
    }
}
