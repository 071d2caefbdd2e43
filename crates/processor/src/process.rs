//! The application's processing of records.

use crate::output::Output;
use ottla_core::error::Error;
use ottla_core::event::RecordRef;
use ottla_core::types::TopicPartition;

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

/// The application's error.
pub type ProcessError = Box<dyn std::error::Error + Send + Sync>;

/// The application's processing of records. Closures that take `(&Input, &mut Output)` implement it. All calls are made on the
/// thread that runs the loop, one at a time.
///
/// State that an application derives from records (counts, windows) is part of their effect: it must be reset to its value at
/// the last [`on_committed`](Self::on_committed) when [`on_rolled_back`](Self::on_rolled_back) is called, and state of a
/// partition must be transferred to the partition's next owner through produced records.
pub trait Process {
    /// Processes one record. Records of a partition are passed in order.
    ///
    /// # Errors
    /// An error ends the loop: uncommitted work is rolled back, and [`Processor::run`](crate::Processor::run) returns the
    /// error.
    fn process(&mut self, input: &Input<'_>, output: &mut Output) -> Result<(), ProcessError>;

    /// These partitions were assigned and are processed from their committed offsets on.
    fn on_assigned(&mut self, _partitions: &[TopicPartition]) {}

    /// These partitions were revoked. The work on their records is committed or rolled back.
    fn on_revoked(&mut self, _partitions: &[TopicPartition]) {}

    /// All work so far was committed.
    fn on_committed(&mut self) {}

    /// The work since the last commit was rolled back. Its records will be processed again, by this or another instance.
    fn on_rolled_back(&mut self) {}

    /// An error occurred from which the loop recovers.
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
