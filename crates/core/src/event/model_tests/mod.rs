//! Thread models of the state that the application's threads and the client's share, except the producer's batches.

mod buffer_memory;
mod fetching;
mod queues;

use std::sync::Arc;
use std::time::Duration;

use super::test_records::{chunk, partition, topic_conf};
use super::{Event, PartitionState, Queue};
use crate::error::{Error, ErrorCode};
use crate::memory::FetchBudget;
use crate::sys::sync::model_tests;

/// The timeout of a call that does not wait.
const NOW: Option<Duration> = Some(Duration::ZERO);

fn note(text: &str) -> Event {
    Event::Error(Error::new(ErrorCode::L_FAIL, text))
}

fn text(event: Option<Event>) -> String {
    match event {
        Some(Event::Error(error)) => error.message,
        other => format!("{other:?}"),
    }
}

/// Returns the texts of all events in the queue.
fn drain(queue: &Arc<Queue>) -> Vec<String> {
    std::iter::from_fn(|| queue.pop(NOW)).map(|e| text(Some(e))).collect()
}

/// As `model_tests::explore`, for a model that uses [`partition`].
fn explore(name: &str, preemptions: usize, model: impl Fn() + Sync + Send + 'static) {
    // Needs more stack than a thread of a model has.
    topic_conf();
    model_tests::explore(name, preemptions, model);
}
