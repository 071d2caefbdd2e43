//! Fetching into the processor's cache what a walk through a batch comes to next.

/// How many records ahead: a record is handed to a callback in less time than memory needs to answer.
const RECORDS: usize = 4;

/// A larger distance between values is not that of neighbours.
const DISTANCE_MAX: usize = 16 * 1024;

/// Follows the values of a walk.
///
/// A record is read at its head and at its end, and both are behind its neighbour's value. Where records are larger than a
/// cache line, and the batch has left the cache since it was written, each would be waited for; how far the next are is
/// guessed from the last two. A wrong guess costs nothing that can be measured.
#[derive(Debug, Default)]
pub struct Ahead {
    /// The address behind the last value.
    last: usize,
}

impl Ahead {
    /// The walk has come to a record with this value.
    #[inline]
    pub fn pass(&mut self, value: Option<&[u8]>) {
        let Some(value) = value else {
            return;
        };
        let end = value.as_ptr_range().end;
        let distance = end.addr().wrapping_sub(self.last);
        self.last = end.addr();
        if distance <= DISTANCE_MAX {
            ottla_cache::will_read(end.wrapping_add(RECORDS * distance));
        }
    }
}
