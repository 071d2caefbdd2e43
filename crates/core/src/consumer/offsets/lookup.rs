//! Look-ups of the offsets at which fetching starts.

use std::sync::Arc;

use crate::error::Error;
use crate::event::PartitionState;

/// A look-up of an offset for the fetcher.
#[derive(Debug, Clone)]
pub(in crate::consumer) struct OffsetLookup {
    pub(in crate::consumer) state: Arc<PartitionState>,
    /// The fetcher's number of this look-up, which the result contains.
    pub(in crate::consumer) lookup_id: u64,
    /// BEGINNING, END or STORED.
    pub(in crate::consumer) offset: i64,
}

/// The result of a look-up.
#[derive(Debug)]
pub(in crate::consumer) struct FoundOffset {
    /// The partition's id in the shared state.
    pub(in crate::consumer) id: u32,
    pub(in crate::consumer) lookup_id: u64,
    /// Offset and leader epoch, or -1 for an unknown epoch; the offset `INVALID` if none is stored.
    pub(in crate::consumer) result: Result<(i64, i32), Error>,
}
