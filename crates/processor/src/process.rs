//! What an application does with records.

use crate::output::Output;
use ottla::error::Error;
use ottla::event::RecordRef;
use ottla::types::TopicPartition;

/// A record to be processed.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a> {
    /// The topic that it was read from.
    pub topic: &'a str,
    /// The partition that it was read from.
    pub partition: i32,
    /// The record.
    pub record: RecordRef<'a>,
}

/// Why processing failed, in the application's own terms.
pub type ProcessError = Box<dyn std::error::Error + Send + Sync>;

/// What an application does with records; a closure that takes `(&Input, &mut Output)` is one. All calls come from the thread
/// that runs the loop, one at a time.
///
/// What an application keeps in memory of the records that it has seen (counts, windows) is part of their effect: it has to
/// go back to where it was at the last [`on_committed`](Self::on_committed) when [`on_rolled_back`](Self::on_rolled_back) is
/// called, and what belongs to a partition goes to its next owner by way of what was produced.
pub trait Process {
    /// Processes one record. Those of a partition come in order.
    ///
    /// # Errors
    /// An error ends the loop: what is not committed is rolled back, and [`Processor::run`](crate::Processor::run) gives it.
    fn process(&mut self, input: &Input<'_>, output: &mut Output) -> Result<(), ProcessError>;

    /// These partitions are processed from now on, each from its committed offset.
    fn on_assigned(&mut self, _partitions: &[TopicPartition]) {}

    /// These partitions are another's from now on. What was done with their records is committed, or rolled back.
    fn on_revoked(&mut self, _partitions: &[TopicPartition]) {}

    /// Everything so far is committed.
    fn on_committed(&mut self) {}

    /// Everything since the last commit is discardable. Its records come again, here or elsewhere.
    fn on_rolled_back(&mut self) {}

    /// Something went wrong that the loop gets over by itself.
    fn on_error(&mut self, _error: &Error) {}
}

impl<F> Process for F
where
    F: FnMut(&Input<'_>, &mut Output) -> Result<(), ProcessError>,
{
    fn process(&mut self, input: &Input<'_>, output: &mut Output) -> Result<(), ProcessError> {
        self(input, output)
    }
}
