//! DescribeFeatures: the features that brokers support, and those that the cluster uses.

use std::ffi::{CString, c_char};

use ottla_core::admin::{DescribeFeatures, FeatureMetadata, FeatureRange, Operation};

use super::call::{begin, handles_of, result_of};
use super::common::Pointers;
use super::options::AdminOptions;
use crate::event::EventHandle;
use crate::ffi::{Tag, Tagged, c_text, exports};
use crate::handle::Handle;
use crate::queue::QueueHandle;

/// `rd_kafka_FeatureRange_t`
#[repr(C)]
pub struct RangeHandle {
    tag: Tag,
    name: CString,
    min_level: i16,
    max_level: i16,
}

// SAFETY: repr(C), tag first.
unsafe impl Tagged for RangeHandle {
    const TAG: u32 = 0x0e44_1010;
}

impl RangeHandle {
    fn from_core(range: &FeatureRange) -> Self {
        RangeHandle {
            tag: Tag::new(Self::TAG),
            name: c_text(range.name.as_str()),
            min_level: range.min_level,
            max_level: range.max_level,
        }
    }
}

/// The handles of a result.
struct Features {
    finalized: Pointers<RangeHandle>,
    finalized_epoch: i64,
    supported: Pointers<RangeHandle>,
}

impl From<&FeatureMetadata> for Features {
    fn from(features: &FeatureMetadata) -> Self {
        Features {
            finalized: features.finalized.iter().map(RangeHandle::from_core).collect(),
            finalized_epoch: features.finalized_epoch.unwrap_or(-1),
            supported: features.supported.iter().map(RangeHandle::from_core).collect(),
        }
    }
}

fn features(result: Option<&EventHandle>) -> Option<&Features> {
    handles_of::<FeatureMetadata, Features>(result, DescribeFeatures::NAME)
}

exports! {
    /// Describes the features of the cluster.
    fn rd_kafka_DescribeFeatures(rk: &Handle, options: Option<&AdminOptions>, queue: &QueueHandle) {
        begin(rk, Ok(DescribeFeatures), options, queue);
    }

    /// Returns the event as the result of DescribeFeatures; NULL for other events.
    fn rd_kafka_event_DescribeFeatures_result(event: &EventHandle) -> *const EventHandle, or std::ptr::null(); {
        result_of(event, DescribeFeatures::NAME)
    }

    /// Returns the features that the cluster uses.
    fn rd_kafka_DescribeFeatures_result_finalized(result: Option<&EventHandle>, count: *mut usize)
        -> *mut *const RangeHandle, or std::ptr::null_mut();
    {
        // SAFETY: the caller's out-parameter.
        unsafe { Pointers::lend_from(features(result).map(|features| &features.finalized), count) }
    }

    /// Returns the epoch of the features that the cluster uses; -1 if it is unknown.
    fn rd_kafka_DescribeFeatures_result_finalized_epoch(result: Option<&EventHandle>) -> i64, or -1; {
        features(result).map_or(-1, |features| features.finalized_epoch)
    }

    /// Returns the features that the broker supports.
    fn rd_kafka_DescribeFeatures_result_supported(result: Option<&EventHandle>, count: *mut usize)
        -> *mut *const RangeHandle, or std::ptr::null_mut();
    {
        // SAFETY: the caller's out-parameter.
        unsafe { Pointers::lend_from(features(result).map(|features| &features.supported), count) }
    }

    /// Returns the feature's name.
    fn rd_kafka_FeatureRange_name(range: &RangeHandle) -> *const c_char, or std::ptr::null(); {
        range.name.as_ptr()
    }

    /// Returns the lowest level.
    fn rd_kafka_FeatureRange_min_level(range: &RangeHandle) -> i32, or -1; {
        range.min_level.into()
    }

    /// Returns the highest level.
    fn rd_kafka_FeatureRange_max_level(range: &RangeHandle) -> i32, or -1; {
        range.max_level.into()
    }
}
