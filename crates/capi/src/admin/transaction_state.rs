//! The states of transactions.

use std::ffi::CStr;

use crate::ffi::exports;
use crate::groups::{name_of, number_of};

/// `rd_kafka_transaction_state_t` by its numbers, from 0.
const STATES: &[&CStr] = &[
    c"Unknown",
    c"Empty",
    c"Ongoing",
    c"PrepareCommit",
    c"PrepareAbort",
    c"CompleteCommit",
    c"CompleteAbort",
    c"PrepareEpochFence",
];

/// Returns the number of a state in the broker's words; 0 for other words.
pub(super) fn number(state: &str) -> i32 {
    number_of(STATES, state)
}

/// Returns the name of a state that transactions can have.
pub(super) fn name(state: i32) -> Option<&'static CStr> {
    name_of(STATES, state).filter(|_| state > 0)
}

exports! {
    /// Returns the name of a state; NULL for a number that is none.
    fn rd_kafka_transaction_state_name(state: i32) -> Option<&'static CStr>, or None; {
        name_of(STATES, state)
    }
}
