//! FenceProducers: transactional ids whose producers are fenced.

use std::ffi::{CString, c_char};

use ottla_core::admin::{FenceProducers, FencedProducer};

use super::call::{begin, results};
use super::common::{address, error_handle, texts};
use super::options::AdminOptions;
use crate::errors::ErrorHandle;
use crate::ffi::{Tag, Tagged, c_text, exports};
use crate::handle::Handle;
use crate::queue::QueueHandle;

/// `rd_kafka_FencedProducer_t`
#[repr(C)]
pub struct FencedHandle {
    tag: Tag,
    transactional_id: CString,
    error: Option<Box<ErrorHandle>>,
    producer_id: i64,
    producer_epoch: i32,
}

// SAFETY: repr(C), tag first.
unsafe impl Tagged for FencedHandle {
    const TAG: u32 = 0x0e44_1103;
}

impl From<&FencedProducer> for FencedHandle {
    fn from(fenced: &FencedProducer) -> Self {
        let (producer_id, epoch) = fenced.result.clone().unwrap_or((-1, -1));
        FencedHandle {
            tag: Tag::new(Self::TAG),
            transactional_id: c_text(fenced.transactional_id.as_str()),
            error: error_handle(fenced.result.as_ref().err()),
            producer_id,
            producer_epoch: epoch.into(),
        }
    }
}

exports! {
    /// Fences producers.
    fn rd_kafka_FenceProducers(
        rk: &Handle, transactional_ids: *const *const c_char, count: usize, options: Option<&AdminOptions>,
        queue: &QueueHandle,
    ) {
        // SAFETY: the caller's array.
        let ids = unsafe { texts(transactional_ids, count, "Transactional id") };
        begin(rk, ids.map(FenceProducers), options, queue);
    }

    /// Returns the transactional id.
    fn rd_kafka_FencedProducer_transactional_id(producer: &FencedHandle) -> *const c_char, or std::ptr::null(); {
        producer.transactional_id.as_ptr()
    }

    /// Returns its error; NULL for none.
    fn rd_kafka_FencedProducer_error(producer: &FencedHandle) -> *const ErrorHandle, or std::ptr::null(); {
        address(producer.error.as_deref())
    }

    /// Returns the assigned producer id.
    fn rd_kafka_FencedProducer_producer_id(producer: &FencedHandle) -> i64, or -1; {
        producer.producer_id
    }

    /// Returns the assigned epoch.
    fn rd_kafka_FencedProducer_producer_epoch(producer: &FencedHandle) -> i32, or -1; {
        producer.producer_epoch
    }
}

results! {
    FenceProducers: rd_kafka_event_FenceProducers_result,
        rd_kafka_FenceProducers_result_producers: FencedProducer => FencedHandle;
}
