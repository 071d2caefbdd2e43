//! UnregisterBroker: the removal of a broker's registration.

use ottla_core::admin::{Operation, UnregisterBroker};
use ottla_core::types::NodeId;

use super::call::{begin, result_of};
use super::options::AdminOptions;
use crate::event::EventHandle;
use crate::ffi::exports;
use crate::handle::Handle;
use crate::queue::QueueHandle;

exports! {
    /// Removes the registration of a broker.
    fn rd_kafka_UnregisterBroker(rk: &Handle, broker_id: i32, options: Option<&AdminOptions>, queue: &QueueHandle) {
        begin(rk, Ok(UnregisterBroker(NodeId(broker_id))), options, queue);
    }

    /// Returns the event as the result of UnregisterBroker; NULL for other events.
    fn rd_kafka_event_UnregisterBroker_result(event: &EventHandle) -> *const EventHandle, or std::ptr::null(); {
        result_of(event, UnregisterBroker::NAME)
    }
}
