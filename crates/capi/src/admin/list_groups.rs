//! ListGroups: the groups of all types that all brokers list.

use std::ffi::{CString, c_char};

use ottla_core::admin::{GroupListing, GroupListings, ListGroups, Operation};

use super::call::{begin, handles_of, nothing, result_of};
use super::common::{Pointers, texts};
use super::list_consumer_groups::{names, set};
use super::options::AdminOptions;
use crate::admin_op::{GROUP_FILTERS, OptionSet, PROTOCOL_TYPES};
use crate::errors::ErrorHandle;
use crate::event::EventHandle;
use crate::ffi::{Owned, Tag, Tagged, c_text, exports};
use crate::groups::{GROUP_STATES, GROUP_TYPES, number_of};
use crate::handle::Handle;
use crate::queue::QueueHandle;

/// `rd_kafka_GroupListing_t`
#[repr(C)]
pub struct GroupListingHandle {
    tag: Tag,
    group_id: CString,
    protocol_type: CString,
    is_simple: bool,
    state: i32,
    group_type: i32,
}

// SAFETY: repr(C), tag first.
unsafe impl Tagged for GroupListingHandle {
    const TAG: u32 = 0x0e44_1200;
}

impl From<&GroupListing> for GroupListingHandle {
    fn from(group: &GroupListing) -> Self {
        let group_type = number_of(GROUP_TYPES, &group.group_type);
        GroupListingHandle {
            tag: Tag::new(Self::TAG),
            group_id: c_text(group.group_id.as_str()),
            protocol_type: c_text(group.protocol_type.as_str()),
            is_simple: group.protocol_type.is_empty(),
            state: number_of(GROUP_STATES, &group.state),
            group_type,
        }
    }
}

/// The handles of a listing.
struct Groups {
    listings: Pointers<GroupListingHandle>,
    errors: Pointers<ErrorHandle>,
}

impl From<&GroupListings> for Groups {
    fn from(found: &GroupListings) -> Self {
        Groups {
            listings: found.groups.iter().map(GroupListingHandle::from).collect(),
            errors: found.errors.iter().map(|e| *ErrorHandle::from_error(e).0).collect(),
        }
    }
}

fn groups(result: Option<&EventHandle>) -> Option<&Groups> {
    handles_of::<GroupListings, Groups>(result, ListGroups::NAME)
}

/// The options of this operation, and their names in errors.
const FILTERS: (OptionSet, &str) = (GROUP_FILTERS, "match_group");
const PROTOCOLS: (OptionSet, &str) = (PROTOCOL_TYPES, "match_protocol_types");

exports! {
    /// Sets in which states groups are listed.
    fn rd_kafka_AdminOptions_set_match_group_states(options: &mut AdminOptions, states: *const i32, count: usize)
        -> Option<Owned<ErrorHandle>>, or ErrorHandle::bad_argument();
    {
        // SAFETY: the caller's array.
        let names = unsafe { names(GROUP_STATES, states, count, "state of groups") };
        set(options, FILTERS, names, |options| &mut options.states)
    }

    /// Sets of which types groups are listed.
    fn rd_kafka_AdminOptions_set_match_group_types(options: &mut AdminOptions, types: *const i32, count: usize)
        -> Option<Owned<ErrorHandle>>, or ErrorHandle::bad_argument();
    {
        // SAFETY: the caller's array.
        let names = unsafe { names(GROUP_TYPES, types, count, "type of groups") };
        set(options, FILTERS, names, |options| &mut options.types)
    }

    /// Sets of which types of protocols groups are listed.
    fn rd_kafka_AdminOptions_set_match_protocol_types(
        options: &mut AdminOptions, types: *const *const c_char, count: usize,
    ) -> Option<Owned<ErrorHandle>>, or ErrorHandle::bad_argument(); {
        // SAFETY: the caller's array.
        let names = unsafe { texts(types, count, "Protocol type") };
        let names = names.map_err(|error| error.message.to_string());
        set(options, PROTOCOLS, names, |options| &mut options.protocol_types)
    }

    /// Lists groups.
    fn rd_kafka_ListGroups(rk: &Handle, options: Option<&AdminOptions>, queue: &QueueHandle) {
        let operation = ListGroups {
            states: options.map(|o| o.states.clone()).unwrap_or_default(),
            types: options.map(|o| o.types.clone()).unwrap_or_default(),
            protocol_types: options.map(|o| o.protocol_types.clone()).unwrap_or_default(),
        };
        begin(rk, Ok(operation), options, queue);
    }

    /// Returns the event as the result of ListGroups; NULL for other events.
    fn rd_kafka_event_ListGroups_result(event: &EventHandle) -> *const EventHandle, or std::ptr::null(); {
        result_of(event, ListGroups::NAME)
    }

    /// Returns the groups, owned by the result.
    fn rd_kafka_ListGroups_result_groups(result: Option<&EventHandle>, count: *mut usize)
        -> *mut *const GroupListingHandle, or std::ptr::null_mut();
    {
        // SAFETY: the caller's out-parameter.
        unsafe {
            match groups(result) {
                Some(groups) => groups.listings.lend(count),
                None => nothing(count),
            }
        }
    }

    /// Returns the errors of brokers, owned by the result.
    fn rd_kafka_ListGroups_result_errors(result: Option<&EventHandle>, count: *mut usize)
        -> *mut *const ErrorHandle, or std::ptr::null_mut();
    {
        // SAFETY: the caller's out-parameter.
        unsafe {
            match groups(result) {
                Some(groups) => groups.errors.lend(count),
                None => nothing(count),
            }
        }
    }

    /// Returns the group's id.
    fn rd_kafka_GroupListing_group_id(listing: &GroupListingHandle) -> *const c_char, or std::ptr::null(); {
        listing.group_id.as_ptr()
    }

    /// Returns the type of the group's protocol.
    fn rd_kafka_GroupListing_protocol_type(listing: &GroupListingHandle) -> *const c_char, or std::ptr::null(); {
        listing.protocol_type.as_ptr()
    }

    /// Returns whether the group has only committed offsets.
    fn rd_kafka_GroupListing_is_simple_consumer_group(listing: &GroupListingHandle) -> i32, or 0; {
        listing.is_simple.into()
    }

    /// Returns the group's state.
    fn rd_kafka_GroupListing_state(listing: &GroupListingHandle) -> i32, or 0; {
        listing.state
    }

    /// Returns the group's type.
    fn rd_kafka_GroupListing_type(listing: &GroupListingHandle) -> i32, or 0; {
        listing.group_type
    }
}
