//! `rd_kafka_group_result_t`: the outcome for one group.

use std::ffi::{CString, c_char};

use ottla_core::admin::GroupResult;

use super::common::{address, error_handle, list_address};
use crate::abi::PartitionList;
use crate::errors::ErrorHandle;
use crate::ffi::{Tag, Tagged, c_text, exports};
use crate::topic_partition_list::OwnedList;

/// `rd_kafka_group_result_t`
#[repr(C)]
pub struct GroupResultHandle {
    tag: Tag,
    group_id: CString,
    error: Option<Box<ErrorHandle>>,
    partitions: Option<OwnedList>,
}

// SAFETY: repr(C), tag first.
unsafe impl Tagged for GroupResultHandle {
    const TAG: u32 = 0x0e44_0a15;
}

impl From<&GroupResult> for GroupResultHandle {
    fn from(result: &GroupResult) -> Self {
        GroupResultHandle {
            tag: Tag::new(Self::TAG),
            group_id: c_text(result.group_id.as_str()),
            error: error_handle(result.error.as_ref()),
            partitions: result.partitions.as_deref().and_then(OwnedList::from_rows),
        }
    }
}

exports! {
    /// Returns the group's error; NULL for none.
    fn rd_kafka_group_result_error(group: &GroupResultHandle) -> *const ErrorHandle, or std::ptr::null(); {
        address(group.error.as_deref())
    }

    /// Returns the group's id.
    fn rd_kafka_group_result_name(group: &GroupResultHandle) -> *const c_char, or std::ptr::null(); {
        group.group_id.as_ptr()
    }

    /// Returns the group's partitions; NULL if the operation has none or the group has an error.
    fn rd_kafka_group_result_partitions(group: &GroupResultHandle) -> *const PartitionList, or std::ptr::null(); {
        list_address(group.partitions.as_ref())
    }
}
