//! ForceTerminateTransaction: a transactional id whose open transaction is aborted.

use ottla_core::admin::{ForceTerminateTransaction, Operation};
use ottla_core::error::Error;

use super::call::{begin, result_of};
use super::options::AdminOptions;
use crate::event::EventHandle;
use crate::ffi::exports;
use crate::handle::Handle;
use crate::queue::QueueHandle;

exports! {
    /// Aborts the open transaction of a transactional id.
    fn rd_kafka_ForceTerminateTransaction(
        rk: &Handle, transactional_id: Option<&str>, options: Option<&AdminOptions>, queue: &QueueHandle,
    ) {
        let id = transactional_id.ok_or_else(|| Error::invalid_arg("The transactional id is NULL"));
        begin(rk, id.map(|id| ForceTerminateTransaction(id.to_owned())), options, queue);
    }

    /// Returns the event as the result of ForceTerminateTransaction; NULL for other events.
    fn rd_kafka_event_ForceTerminateTransaction_result(event: &EventHandle)
        -> *const EventHandle, or std::ptr::null();
    {
        result_of(event, ForceTerminateTransaction::NAME)
    }
}
