//! Memory for received and decompressed data.
//!
//! A consumer goes through megabytes of it. Memory that goes back to the system and comes again must be cleared by the
//! kernel page by page, which costs as much as decompressing into it. So large pieces are kept for the next use, in one
//! place for the whole process, as they are let go of by whatever thread used them last.

use std::sync::{Mutex, PoisonError};

use bytes::Bytes;

/// Smaller pieces are left to `malloc`, which has them at hand.
const LARGE_BYTES: usize = 64 * 1024;

/// Maximum number of unused bytes that are kept: responses of some brokers and a few decompressed batches of 1 MB.
const KEPT_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Large unused pieces of memory; their contents are not cleared.
static KEPT: Mutex<Vec<Vec<u8>>> = Mutex::new(Vec::new());

/// Memory that is being filled. Its lock, taken to get it and to let go of it, is a leaf.
#[derive(Debug, Default)]
pub struct Buffer {
    /// Initialised, so that it can be lent for writing; the data is what lies below `len`.
    memory: Vec<u8>,
    len: usize,
}

impl Buffer {
    /// Returns an empty buffer with room for `bytes` at least. Reused memory is not cleared.
    pub fn with_capacity(bytes: usize) -> Self {
        Buffer {
            memory: kept(bytes).unwrap_or_else(|| Vec::with_capacity(bytes)),
            len: 0,
        }
    }

    /// Returns the data.
    pub fn data(&self) -> &[u8] {
        self.memory.get(..self.len).unwrap_or_default()
    }

    /// Bytes of data.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether there is no data.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bytes for which there is room without another allocation, data included.
    pub fn capacity(&self) -> usize {
        self.memory.capacity()
    }

    /// Lends `bytes` bytes behind the data to be written to.
    pub fn spare(&mut self, bytes: usize) -> &mut [u8] {
        let end = self.len + bytes;
        if self.memory.len() < end {
            self.memory.resize(end, 0);
        }
        self.memory.get_mut(self.len..end).unwrap_or_default()
    }

    /// Says that the first `bytes` of [`spare`](Self::spare) are data now.
    pub fn advance(&mut self, bytes: usize) {
        self.len = (self.len + bytes).min(self.memory.len());
    }

    /// Appends a copy.
    pub fn extend_from_slice(&mut self, data: &[u8]) {
        self.spare(data.len()).copy_from_slice(data);
        self.len += data.len();
    }

    /// Returns the data, to be read only. When the last reader is gone, large memory is kept for another buffer. No
    /// more memory than twice the data is held for it.
    pub fn freeze(mut self) -> Bytes {
        let wasteful = self.memory.capacity() / 2 > self.len;
        match (self.memory.capacity() >= LARGE_BYTES, wasteful) {
            (_, true) => Bytes::copy_from_slice(self.data()),
            (true, false) => {
                let len = self.len;
                Bytes::from_owner(self).slice(..len)
            }
            (false, false) => {
                self.memory.truncate(self.len);
                Bytes::from(std::mem::take(&mut self.memory))
            }
        }
    }
}

impl From<Vec<u8>> for Buffer {
    fn from(data: Vec<u8>) -> Self {
        Buffer {
            len: data.len(),
            memory: data,
        }
    }
}

impl AsRef<[u8]> for Buffer {
    fn as_ref(&self) -> &[u8] {
        self.data()
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if self.memory.capacity() >= LARGE_BYTES {
            keep(std::mem::take(&mut self.memory));
        }
    }
}

/// Returns the smallest piece that is large enough.
fn kept(bytes: usize) -> Option<Vec<u8>> {
    if bytes < LARGE_BYTES {
        return None;
    }
    let mut all = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    let fitting = all.iter().enumerate().filter(|(_, m)| m.capacity() >= bytes);
    let (at, _) = fitting.min_by_key(|(_, m)| m.capacity())?;
    Some(all.swap_remove(at))
}

fn keep(memory: Vec<u8>) {
    // Dropped when the lock is not held any more.
    let _surplus = {
        let mut all = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
        let held: usize = all.iter().map(Vec::capacity).sum();
        if held + memory.capacity() > KEPT_BYTES_MAX {
            Some(memory)
        } else {
            all.push(memory);
            None
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_is_what_was_written_whatever_the_memory_held_before() {
        for round in 0..3u8 {
            let mut buffer = Buffer::with_capacity(2 * LARGE_BYTES);
            buffer.extend_from_slice(&[round; 10]);
            buffer.spare(LARGE_BYTES).fill(round);
            buffer.advance(LARGE_BYTES);
            assert_eq!(buffer.len(), LARGE_BYTES + 10);
            let frozen = buffer.freeze();
            assert_eq!(frozen.len(), LARGE_BYTES + 10);
            assert!(frozen.iter().all(|b| *b == round));
        }
    }

    #[test]
    fn large_memory_is_used_again() {
        // A size of this test's own: others run at the same time.
        let bytes = 3 * 1024 * 1024 + 17;
        let again = (0..100).any(|_| {
            let mut buffer = Buffer::with_capacity(bytes);
            buffer.spare(bytes);
            buffer.advance(bytes);
            let frozen = buffer.freeze();
            let at = frozen.as_ptr();
            drop(frozen.slice(5..));
            drop(frozen);
            let all = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
            let held: usize = all.iter().map(Vec::capacity).sum();
            assert!(held <= KEPT_BYTES_MAX);
            all.iter().any(|m| m.as_ptr() == at)
        });
        assert!(again);
    }

    #[test]
    fn little_data_does_not_hold_much_memory() {
        let mut buffer = Buffer::with_capacity(8 * LARGE_BYTES);
        let at = buffer.spare(1).as_ptr();
        buffer.extend_from_slice(b"little");
        let frozen = buffer.freeze();
        assert_ne!(frozen.as_ptr(), at);
        assert_eq!(&frozen[..], b"little");
    }
}
