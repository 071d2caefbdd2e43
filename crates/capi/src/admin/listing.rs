//! The groups of a listing.

use std::ffi::CString;

use ottla_core::admin::{AdminOutcome, ConsumerGroupListing};

use super::common::Pointers;
use crate::errors::ErrorHandle;
use crate::ffi::{Tag, Tagged, c_text};
use crate::groups::{STATES, TYPES, number_of};

/// `rd_kafka_ConsumerGroupListing_t`
#[repr(C)]
pub struct ListingHandle {
    tag: Tag,
    pub(super) group_id: CString,
    pub(super) is_simple: bool,
    pub(super) state: i32,
    pub(super) group_type: i32,
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
#[derive(Default)]
pub struct Groups {
    pub(super) listings: Pointers<ListingHandle>,
    pub(super) errors: Pointers<ErrorHandle>,
}

impl Groups {
    /// Builds the handles of a listing; none for other outcomes.
    pub(super) fn from_core(outcome: &AdminOutcome) -> Self {
        let AdminOutcome::Groups(found) = outcome else {
            return Groups::default();
        };
        Groups {
            listings: found.groups.iter().map(ListingHandle::from_core).collect(),
            errors: found.errors.iter().map(|e| *ErrorHandle::from_error(e).0).collect(),
        }
    }
}
