//! ListTransactions: the transactional ids of all brokers.

use std::ffi::{CString, c_char};
use std::time::Duration;

use ottla_core::admin::{ListTransactions, Operation, TransactionListing, TransactionListings};
use ottla_core::error::ErrorCode;

use super::call::{begin, handles_of, nothing, result_of};
use super::common::{Pointers, text_of};
use super::options::AdminOptions;
use super::transaction_state;
use crate::errors::ErrorHandle;
use crate::event::EventHandle;
use crate::ffi::{FromC, Owned, Tag, Tagged, boxed, c_text, exports};
use crate::handle::Handle;
use crate::queue::QueueHandle;

/// `rd_kafka_TransactionFilter_t`
#[repr(C)]
pub struct FilterHandle {
    tag: Tag,
    filter: ListTransactions,
}

// SAFETY: repr(C), tag first.
unsafe impl Tagged for FilterHandle {
    const TAG: u32 = 0x0e44_1100;
}

/// `rd_kafka_TransactionListing_t`
#[repr(C)]
pub struct ListingHandle {
    tag: Tag,
    transactional_id: CString,
    producer_id: i64,
    state: i32,
    coordinator: i32,
}

// SAFETY: repr(C), tag first.
unsafe impl Tagged for ListingHandle {
    const TAG: u32 = 0x0e44_1101;
}

impl From<&TransactionListing> for ListingHandle {
    fn from(listing: &TransactionListing) -> Self {
        ListingHandle {
            tag: Tag::new(Self::TAG),
            transactional_id: c_text(listing.transactional_id.as_str()),
            producer_id: listing.producer_id,
            state: transaction_state::number(&listing.state),
            coordinator: listing.coordinator.0,
        }
    }
}

/// The handles of a listing.
struct Transactions {
    listings: Pointers<ListingHandle>,
    errors: Pointers<ErrorHandle>,
}

impl From<&TransactionListings> for Transactions {
    fn from(found: &TransactionListings) -> Self {
        Transactions {
            listings: found.transactions.iter().map(ListingHandle::from).collect(),
            errors: found.errors.iter().map(|e| *ErrorHandle::from_error(e).0).collect(),
        }
    }
}

fn transactions(result: Option<&EventHandle>) -> Option<&Transactions> {
    handles_of::<TransactionListings, Transactions>(result, ListTransactions::NAME)
}

exports! {
    /// Returns a filter that lists all transactional ids.
    fn rd_kafka_TransactionFilter_new() -> Option<Owned<FilterHandle>>, or None; {
        Some(boxed(FilterHandle { tag: Tag::new(FilterHandle::TAG), filter: ListTransactions::default() }))
    }

    /// Adds a state to list.
    fn rd_kafka_TransactionFilter_add_state(filter: &mut FilterHandle, state: i32)
        -> ErrorCode, or ErrorCode::L_INVALID_ARG;
    {
        let Some(name) = transaction_state::name(state) else { return ErrorCode::L_INVALID_ARG };
        filter.filter.states.push(text_of(name));
        ErrorCode::NO_ERROR
    }

    /// Adds a producer to list.
    fn rd_kafka_TransactionFilter_add_producer_id(filter: &mut FilterHandle, producer_id: i64)
        -> ErrorCode, or ErrorCode::L_INVALID_ARG;
    {
        if producer_id < 0 {
            return ErrorCode::L_INVALID_ARG;
        }
        filter.filter.producer_ids.push(producer_id);
        ErrorCode::NO_ERROR
    }

    /// Sets the time after which a transaction is listed.
    fn rd_kafka_TransactionFilter_set_duration(filter: &mut FilterHandle, longer_than_ms: i64)
        -> ErrorCode, or ErrorCode::L_INVALID_ARG;
    {
        let Ok(millis) = u64::try_from(longer_than_ms) else { return ErrorCode::L_INVALID_ARG };
        filter.filter.longer_than = Some(Duration::from_millis(millis));
        ErrorCode::NO_ERROR
    }

    /// Sets the pattern of the transactional ids to list.
    fn rd_kafka_TransactionFilter_set_transactional_id_pattern(filter: &mut FilterHandle, pattern: &str)
        -> ErrorCode, or ErrorCode::L_INVALID_ARG;
    {
        filter.filter.pattern = Some(pattern.to_owned()).filter(|pattern| !pattern.is_empty());
        ErrorCode::NO_ERROR
    }

    /// Frees a filter; NULL is fine.
    fn rd_kafka_TransactionFilter_destroy(filter: *mut FilterHandle) {
        // SAFETY: NULL or the application's handle.
        drop(unsafe { <Owned<FilterHandle>>::from_c(filter) });
    }

    /// Lists transactional ids.
    fn rd_kafka_ListTransactions(
        rk: &Handle, filter: Option<&FilterHandle>, options: Option<&AdminOptions>, queue: &QueueHandle,
    ) {
        let operation = filter.map(|filter| filter.filter.clone()).unwrap_or_default();
        begin(rk, Ok(operation), options, queue);
    }

    /// Returns the event as the result of ListTransactions; NULL for other events.
    fn rd_kafka_event_ListTransactions_result(event: &EventHandle) -> *const EventHandle, or std::ptr::null(); {
        result_of(event, ListTransactions::NAME)
    }

    /// Returns the transactional ids, owned by the result.
    fn rd_kafka_ListTransactions_result_transactions(result: Option<&EventHandle>, count: *mut usize)
        -> *mut *const ListingHandle, or std::ptr::null_mut();
    {
        // SAFETY: the caller's out-parameter.
        unsafe {
            match transactions(result) {
                Some(transactions) => transactions.listings.lend(count),
                None => nothing(count),
            }
        }
    }

    /// Returns the errors of the brokers that did not answer, owned by the result.
    fn rd_kafka_ListTransactions_result_errors(result: Option<&EventHandle>, count: *mut usize)
        -> *mut *const ErrorHandle, or std::ptr::null_mut();
    {
        // SAFETY: the caller's out-parameter.
        unsafe {
            match transactions(result) {
                Some(transactions) => transactions.errors.lend(count),
                None => nothing(count),
            }
        }
    }

    /// Returns the transactional id.
    fn rd_kafka_TransactionListing_transactional_id(listing: &ListingHandle)
        -> *const c_char, or std::ptr::null();
    {
        listing.transactional_id.as_ptr()
    }

    /// Returns the id of its producer.
    fn rd_kafka_TransactionListing_producer_id(listing: &ListingHandle) -> i64, or -1; {
        listing.producer_id
    }

    /// Returns the state of its last transaction.
    fn rd_kafka_TransactionListing_state(listing: &ListingHandle) -> i32, or 0; {
        listing.state
    }

    /// Returns the id of the broker that coordinates it.
    fn rd_kafka_TransactionListing_coordinator(listing: &ListingHandle) -> i32, or -1; {
        listing.coordinator
    }
}
