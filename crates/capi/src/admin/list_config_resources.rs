//! ListConfigResources: the resources that have settings.

use std::ffi::{CString, c_char};

use ottla_core::admin::{ListConfigResources, ResourceType};
use ottla_core::error::Error;

use super::call::{begin, results};
use super::common::numbers;
use super::options::AdminOptions;
use crate::ffi::{Tag, Tagged, c_text, exports};
use crate::handle::Handle;
use crate::queue::QueueHandle;

/// `rd_kafka_ConfigResourceListing_t`
#[repr(C)]
pub struct ListingHandle {
    tag: Tag,
    kind: i32,
    name: CString,
}

// SAFETY: repr(C), tag first.
unsafe impl Tagged for ListingHandle {
    const TAG: u32 = 0x0e44_100c;
}

impl From<&(ResourceType, String)> for ListingHandle {
    fn from((kind, name): &(ResourceType, String)) -> Self {
        ListingHandle {
            tag: Tag::new(Self::TAG),
            kind: kind.0.into(),
            name: c_text(name.as_str()),
        }
    }
}

exports! {
    /// Lists resources of these types, `rd_kafka_ConfigResourceType_t`; of all types without any.
    fn rd_kafka_ListConfigResources(
        rk: &Handle, types: *const i32, count: usize, options: Option<&AdminOptions>, queue: &QueueHandle,
    ) {
        // SAFETY: the caller's array.
        let types: Result<Vec<ResourceType>, Error> = unsafe { numbers(types, count) }.into_iter().map(|number| {
            let known = i8::try_from(number).ok().filter(|number| *number > 0);
            let invalid = || Error::invalid_arg(format!("{number} is no type of resources with settings"));
            known.map(ResourceType).ok_or_else(invalid)
        }).collect();
        begin(rk, types.map(|types| ListConfigResources { types }), options, queue);
    }

    /// Returns the type of a resource.
    fn rd_kafka_ConfigResourceListing_type(listing: &ListingHandle) -> i32, or 0; {
        listing.kind
    }

    /// Returns the name of a resource.
    fn rd_kafka_ConfigResourceListing_name(listing: &ListingHandle) -> *const c_char, or std::ptr::null(); {
        listing.name.as_ptr()
    }
}

results! {
    ListConfigResources: rd_kafka_event_ListConfigResources_result,
        rd_kafka_ListConfigResources_result_resources: (ResourceType, String) => ListingHandle;
}
