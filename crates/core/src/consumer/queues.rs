//! The queues in which fetched records wait for the application.

use std::sync::Arc;

use crate::event::{Event, PartitionState, Queue};

/// Drops stale events of partitions, so that they use no budget until the application polls.
///
/// Waits for a thread that is taking a record from one of the queues: afterwards positions and stored offsets include
/// every delivered record.
pub(super) fn drop_stale(states: &[Arc<PartitionState>]) {
    for queue in target_queues(states) {
        drop(queue.extract(Event::is_stale));
    }
}

/// Returns the queues that the partitions' events are forwarded to, each once.
pub(super) fn target_queues(states: &[Arc<PartitionState>]) -> Vec<Arc<Queue>> {
    let mut queues: Vec<Arc<Queue>> = Vec::new();
    for state in states {
        let target = state.queue().target();
        if !queues.iter().any(|q| Arc::ptr_eq(q, &target)) {
            queues.push(target);
        }
    }
    queues
}
