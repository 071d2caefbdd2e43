//! ListConsumerGroups: the groups that all brokers list.

use std::ffi::{CString, c_char};

use ottla_core::admin::{ConsumerGroupListing, ConsumerGroups, ListConsumerGroups, Operation};
use ottla_core::error::ErrorCode;

use super::call::{begin, handles_of, nothing, result_of};
use super::common::Pointers;
use super::options::AdminOptions;
use crate::admin_op::{GROUP_FILTERS, OptionSet};
use crate::errors::ErrorHandle;
use crate::event::EventHandle;
use crate::ffi::{Owned, Tag, Tagged, c_text, exports};
use crate::groups::{STATES, TYPES, name_of, number_of};
use crate::handle::Handle;
use crate::queue::QueueHandle;

/// `rd_kafka_ConsumerGroupListing_t`
#[repr(C)]
pub struct ListingHandle {
    tag: Tag,
    group_id: CString,
    is_simple: bool,
    state: i32,
    group_type: i32,
}

// SAFETY: repr(C), tag first.
unsafe impl Tagged for ListingHandle {
    const TAG: u32 = 0x0e44_0a13;
}

impl ListingHandle {
    fn from_core(group: &ConsumerGroupListing) -> Self {
        ListingHandle {
            tag: Tag::new(Self::TAG),
            group_id: c_text(group.group_id.as_str()),
            is_simple: group.is_simple,
            state: number_of(STATES, &group.state),
            group_type: number_of(TYPES, &group.group_type),
        }
    }
}

/// The handles of a listing.
struct Groups {
    listings: Pointers<ListingHandle>,
    errors: Pointers<ErrorHandle>,
}

impl From<&ConsumerGroups> for Groups {
    fn from(found: &ConsumerGroups) -> Self {
        Groups {
            listings: found.groups.iter().map(ListingHandle::from_core).collect(),
            errors: found.errors.iter().map(|e| *ErrorHandle::from_error(e).0).collect(),
        }
    }
}

fn groups(result: Option<&EventHandle>) -> Option<&Groups> {
    handles_of::<ConsumerGroups, Groups>(result, ListConsumerGroups::NAME)
}

/// Converts numbers to names; each may occur once.
///
/// # Safety
/// `numbers` is NULL or valid for reads of `count` numbers.
pub(super) unsafe fn names(
    known: &[&'static std::ffi::CStr],
    numbers: *const i32,
    count: usize,
    what: &str,
) -> Result<Vec<String>, String> {
    let mut names = Vec::new();
    for i in 0..if numbers.is_null() { 0 } else { count } {
        // SAFETY: within the caller's array.
        let number = unsafe { *numbers.add(i) };
        // The first name means "unknown".
        let name = name_of(known, number).filter(|_| number > 0);
        let name = name.ok_or_else(|| format!("{number} is no {what}"))?;
        let name = name.to_string_lossy().into_owned();
        if names.contains(&name) {
            return Err(format!("The {what} {name} is named twice"));
        }
        names.push(name);
    }
    Ok(names)
}

/// Sets a filter, or returns the reason for refusing it.
pub(super) fn set(
    options: &mut AdminOptions,
    (option, name): (OptionSet, &str),
    names: Result<Vec<String>, String>,
    to: impl FnOnce(&mut AdminOptions) -> &mut Vec<String>,
) -> Option<Owned<ErrorHandle>> {
    let names = names.and_then(|names| options.check(option, name).map(|()| names));
    match names {
        Ok(names) => {
            *to(options) = names;
            None
        }
        Err(why) => Some(ErrorHandle::new(ErrorCode::L_INVALID_ARG, why)),
    }
}

/// The options of this operation, and their name in errors.
const CONSUMER_GROUP_FILTERS: (OptionSet, &str) = (GROUP_FILTERS, "match_consumer_group");

exports! {
    /// Sets in which states groups are listed.
    fn rd_kafka_AdminOptions_set_match_consumer_group_states(
        options: &mut AdminOptions, states: *const i32, count: usize,
    ) -> Option<Owned<ErrorHandle>>, or ErrorHandle::bad_argument(); {
        // SAFETY: the caller's array.
        let names = unsafe { names(STATES, states, count, "state of groups") };
        set(options, CONSUMER_GROUP_FILTERS, names, |options| &mut options.states)
    }

    /// Sets of which types groups are listed.
    fn rd_kafka_AdminOptions_set_match_consumer_group_types(
        options: &mut AdminOptions, types: *const i32, count: usize,
    ) -> Option<Owned<ErrorHandle>>, or ErrorHandle::bad_argument(); {
        // SAFETY: the caller's array.
        let names = unsafe { names(TYPES, types, count, "type of groups") };
        set(options, CONSUMER_GROUP_FILTERS, names, |options| &mut options.types)
    }

    /// Lists groups.
    fn rd_kafka_ListConsumerGroups(rk: &Handle, options: Option<&AdminOptions>, queue: &QueueHandle) {
        let operation = ListConsumerGroups {
            states: options.map(|o| o.states.clone()).unwrap_or_default(),
            types: options.map(|o| o.types.clone()).unwrap_or_default(),
        };
        begin(rk, Ok(operation), options, queue);
    }

    /// Returns the event as the result of ListConsumerGroups; NULL for other events.
    fn rd_kafka_event_ListConsumerGroups_result(event: &EventHandle) -> *const EventHandle, or std::ptr::null(); {
        result_of(event, ListConsumerGroups::NAME)
    }

    /// Returns the groups, owned by the result.
    fn rd_kafka_ListConsumerGroups_result_valid(result: Option<&EventHandle>, count: *mut usize)
        -> *mut *const ListingHandle, or std::ptr::null_mut();
    {
        // SAFETY: the caller's out-parameter.
        unsafe {
            match groups(result) {
                Some(groups) => groups.listings.lend(count),
                None => nothing(count),
            }
        }
    }

    /// Returns why groups may be missing, owned by the result.
    fn rd_kafka_ListConsumerGroups_result_errors(result: Option<&EventHandle>, count: *mut usize)
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
    fn rd_kafka_ConsumerGroupListing_group_id(listing: &ListingHandle) -> *const c_char, or std::ptr::null(); {
        listing.group_id.as_ptr()
    }

    /// Returns whether the group has only committed offsets, and no members.
    fn rd_kafka_ConsumerGroupListing_is_simple_consumer_group(listing: &ListingHandle) -> i32, or 0; {
        listing.is_simple.into()
    }

    /// Returns its state.
    fn rd_kafka_ConsumerGroupListing_state(listing: &ListingHandle) -> i32, or 0; {
        listing.state
    }

    /// Returns its type.
    fn rd_kafka_ConsumerGroupListing_type(listing: &ListingHandle) -> i32, or 0; {
        listing.group_type
    }
}
