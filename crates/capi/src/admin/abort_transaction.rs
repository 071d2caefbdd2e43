//! AbortTransaction: a transaction of one partition that is aborted.

use ottla_core::admin::{AbortTransaction, Operation};
use ottla_core::error::Error;
use ottla_core::types::TopicPartition;

use super::call::{begin, result_of};
use super::options::AdminOptions;
use crate::event::EventHandle;
use crate::ffi::{FromC, Owned, Tag, Tagged, boxed, exports};
use crate::handle::Handle;
use crate::queue::QueueHandle;

/// `rd_kafka_AbortTransactionSpec_t`
#[repr(C)]
pub struct SpecHandle {
    tag: Tag,
    partition: TopicPartition,
    producer_id: i64,
    producer_epoch: i32,
    coordinator_epoch: i32,
}

// SAFETY: repr(C), tag first.
unsafe impl Tagged for SpecHandle {
    const TAG: u32 = 0x0e44_1104;
}

impl SpecHandle {
    fn to_core(&self) -> Result<AbortTransaction, Error> {
        let epoch = i16::try_from(self.producer_epoch);
        let epoch = epoch.map_err(|_| Error::invalid_arg("The producer epoch is out of range"))?;
        Ok(AbortTransaction {
            partition: self.partition.clone(),
            producer_id: self.producer_id,
            producer_epoch: epoch,
            coordinator_epoch: self.coordinator_epoch,
        })
    }
}

exports! {
    /// Returns a transaction to abort.
    fn rd_kafka_AbortTransactionSpec_new(
        topic: &str, partition: i32, producer_id: i64, producer_epoch: i32, coordinator_epoch: i32,
    ) -> Option<Owned<SpecHandle>>, or None; {
        Some(boxed(SpecHandle {
            tag: Tag::new(SpecHandle::TAG),
            partition: TopicPartition::new(topic, partition),
            producer_id,
            producer_epoch,
            coordinator_epoch,
        }))
    }

    /// Frees a transaction to abort; NULL is fine.
    fn rd_kafka_AbortTransactionSpec_destroy(spec: *mut SpecHandle) {
        // SAFETY: NULL or the application's handle.
        drop(unsafe { <Owned<SpecHandle>>::from_c(spec) });
    }

    /// Aborts a transaction in one partition.
    fn rd_kafka_AbortTransaction(
        rk: &Handle, spec: Option<&SpecHandle>, options: Option<&AdminOptions>, queue: &QueueHandle,
    ) {
        let spec = spec.ok_or_else(|| Error::invalid_arg("The transaction is NULL"));
        begin(rk, spec.and_then(SpecHandle::to_core), options, queue);
    }

    /// Returns the event as the result of AbortTransaction; NULL for other events.
    fn rd_kafka_event_AbortTransaction_result(event: &EventHandle) -> *const EventHandle, or std::ptr::null(); {
        result_of(event, AbortTransaction::NAME)
    }
}
