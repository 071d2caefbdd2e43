//! The receivers of results of acknowledgements, by share consumer.
//!
//! The queue of a share consumer that is being closed may be forwarded to a queue that was created with another client. The
//! result therefore finds its receiver by the number of the share consumer, and not by the client of the queue.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use ottla_core::event::AcknowledgementResult;
use parking_lot::Mutex;

/// Receives results.
pub(crate) type Receiver = Arc<dyn Fn(&AcknowledgementResult) + Send + Sync>;

static RECEIVERS: LazyLock<Mutex<HashMap<u64, Receiver>>> = LazyLock::new(Mutex::default);

/// Adds the receiver of a share consumer's results.
pub(crate) fn add(consumer: u64, receiver: Receiver) {
    RECEIVERS.lock().insert(consumer, receiver);
}

/// Removes the receiver of a share consumer's results.
pub(crate) fn remove(consumer: u64) {
    let removed = RECEIVERS.lock().remove(&consumer);
    drop(removed);
}

/// Passes a result to its receiver, if there is one.
pub(crate) fn receive(result: &AcknowledgementResult) {
    let receiver = RECEIVERS.lock().get(&result.consumer).cloned();
    if let Some(receiver) = receiver {
        receiver(result);
    }
}
