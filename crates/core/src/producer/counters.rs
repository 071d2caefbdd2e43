//! Counters of produced messages and batches.

use crate::records::ProducedRecords;
use crate::stats::{Histogram, Summary};

/// Counters of messages put into requests.
#[derive(Debug, Default, Clone, Copy)]
pub struct Sent {
    /// Messages; each attempt counts.
    pub messages: u64,
    /// Bytes of their record batches as sent.
    pub bytes: u64,
}

impl Sent {
    pub(super) fn add(&mut self, messages: u64, bytes: u64) {
        self.messages += messages;
        self.bytes += bytes;
    }
}

/// The sizes of a topic's batches in the present statistics interval.
#[derive(Debug)]
pub(super) struct BatchWindows {
    bytes: Box<Histogram>,
    messages: Box<Histogram>,
}

impl BatchWindows {
    pub(super) fn new(bytes_max: usize, messages_max: usize) -> Option<Self> {
        Some(BatchWindows {
            bytes: Histogram::new(bytes_max as u64)?,
            messages: Histogram::new(messages_max as u64)?,
        })
    }

    /// Adds a batch of `messages` whose record data has `bytes`.
    pub(super) fn record(&mut self, messages: u64, bytes: u64) {
        self.bytes.record(bytes);
        self.messages.record(messages);
    }

    /// Returns the sizes in bytes and in messages of the batches since the last call.
    pub(super) fn take(&mut self) -> (Summary, Summary) {
        (self.bytes.take(), self.messages.take())
    }
}

/// Returns the messages and payload bytes of batches.
pub(super) fn sum<'a>(batches: impl Iterator<Item = &'a ProducedRecords>) -> (u64, u64) {
    batches.fold((0, 0), |(messages, bytes), records| {
        (messages + records.len() as u64, bytes + records.payload_bytes())
    })
}
