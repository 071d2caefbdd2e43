//! ListConsumerGroups: the groups that all brokers list.

use std::ffi::c_char;

use ottla_core::admin::{AdminOp, GroupFilters};
use ottla_core::error::ErrorCode;

use super::common::{nothing, result_of};
use super::listing::ListingHandle;
use super::options::{AdminOptions, admin_op};
use super::results::groups;
use crate::errors::ErrorHandle;
use crate::event::EventHandle;
use crate::ffi::{self, Owned, exports};
use crate::groups::{STATES, TYPES, name_of};
use crate::handle::Handle;
use crate::queue::QueueHandle;

/// Converts numbers to names; each may occur once.
///
/// # Safety
/// `numbers` is NULL or valid for reads of `count` numbers.
unsafe fn names(
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

fn set(
    options: &mut AdminOptions,
    names: Result<Vec<String>, String>,
    to: impl FnOnce(&mut GroupFilters) -> &mut Vec<String>,
) -> Option<Owned<ErrorHandle>> {
    let why = match names {
        Ok(_) if !options.is_for(&[admin_op::ANY, admin_op::LIST_CONSUMER_GROUPS]) => {
            "The request does not have this option".to_owned()
        }
        Ok(names) => {
            *to(&mut options.filters) = names;
            return None;
        }
        Err(why) => why,
    };
    Some(ErrorHandle::new(ErrorCode::L_INVALID_ARG, why))
}

exports! {
    /// Sets in which states groups are listed.
    fn rd_kafka_AdminOptions_set_match_consumer_group_states(
        options: &mut AdminOptions, states: *const i32, count: usize,
    ) -> Option<Owned<ErrorHandle>>, or ErrorHandle::bad_argument(); {
        // SAFETY: the caller's array.
        let names = unsafe { names(STATES, states, count, "state of groups") };
        set(options, names, |filters| &mut filters.states)
    }

    /// Sets of which types groups are listed.
    fn rd_kafka_AdminOptions_set_match_consumer_group_types(
        options: &mut AdminOptions, types: *const i32, count: usize,
    ) -> Option<Owned<ErrorHandle>>, or ErrorHandle::bad_argument(); {
        // SAFETY: the caller's array.
        let names = unsafe { names(TYPES, types, count, "type of groups") };
        set(options, names, |filters| &mut filters.types)
    }

    /// Lists groups.
    fn rd_kafka_ListConsumerGroups(rk: &Handle, options: Option<&AdminOptions>, queue: &QueueHandle) {
        let filters = options.map(|o| o.filters.clone()).unwrap_or_default();
        let (options, opaque) = options.map(AdminOptions::to_core).unwrap_or_default();
        match rk.need_client() {
            Ok(client) => client.send_group_listing(filters, &options, queue.queue().clone(), opaque),
            Err(error) => {
                ffi::note(&error);
            }
        }
    }

    /// Returns the event as the result of ListConsumerGroups; NULL for other events.
    fn rd_kafka_event_ListConsumerGroups_result(event: &EventHandle) -> *const EventHandle, or std::ptr::null(); {
        result_of(event, AdminOp::ListConsumerGroups)
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
