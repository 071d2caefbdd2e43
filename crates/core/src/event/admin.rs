//! The results of admin calls.

use std::any::Any;

use crate::error::Error;

/// The result of an admin call.
#[derive(Debug)]
pub struct AdminResult {
    /// The name of the operation, such as `CreateTopics`.
    pub operation: &'static str,
    /// The application's pointer given with the call.
    pub opaque: usize,
    /// The operation's output, see [`output`](Self::output), or the error of the call as a whole.
    pub outcome: Result<Box<dyn Any + Send + Sync>, Error>,
}

impl AdminResult {
    /// Returns the output of an operation whose output has this type; `None` for a failed call.
    pub fn output<T: 'static>(&self) -> Option<&T> {
        self.outcome.as_ref().ok()?.downcast_ref()
    }
}
