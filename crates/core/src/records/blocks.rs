//! The memory that records are encoded into. Its blocks return to the pool with the delivery report.

use std::sync::Arc;

use bytes::Bytes;

use crate::sys::sync::Mutex;

/// Bytes of a block of a large batch: below the size from which `malloc` maps new pages from the kernel each time.
pub(crate) const BLOCK: usize = 32 * 1024;

/// Bytes of a block that a batch begins with. With many partitions, the unused rest of larger blocks would occupy the
/// processor's caches.
pub(crate) const SMALL_BLOCK: usize = 4 * 1024;

/// A pool of reusable blocks. Memory that is returned to the system and allocated again must be cleared by the kernel
/// page by page, which costs more than all other work for a record.
///
/// Thread-safe. Its locks are leaves.
#[derive(Debug, Default)]
pub(crate) struct BlockPool {
    small: Mutex<Free>,
    large: Mutex<Free>,
}

/// Blocks of one size.
#[derive(Debug, Default)]
struct Free {
    blocks: Vec<Vec<u8>>,
    /// The minimum number of free blocks since the last trimming: that many were not needed.
    low: usize,
}

impl Free {
    fn take(&mut self) -> Option<Vec<u8>> {
        let block = self.blocks.pop();
        self.low = self.low.min(self.blocks.len());
        block
    }

    /// Removes the blocks that were not needed since the last call.
    fn trim(&mut self) -> Vec<Vec<u8>> {
        let keep = self.blocks.len() - self.low.min(self.blocks.len());
        self.low = keep;
        self.blocks.split_off(keep)
    }
}

impl BlockPool {
    /// Returns an empty block of [`BLOCK`] bytes.
    pub(crate) fn take(&self) -> Vec<u8> {
        let block = self.large.lock().take();
        block.unwrap_or_else(|| Vec::with_capacity(BLOCK))
    }

    /// Returns an empty block of [`SMALL_BLOCK`] bytes.
    pub(crate) fn take_small(&self) -> Vec<u8> {
        let block = self.small.lock().take();
        block.unwrap_or_else(|| Vec::with_capacity(SMALL_BLOCK))
    }

    fn shelf(&self, capacity: usize) -> Option<&Mutex<Free>> {
        match capacity {
            SMALL_BLOCK => Some(&self.small),
            BLOCK => Some(&self.large),
            _ => None,
        }
    }

    fn give(&self, mut block: Vec<u8>) {
        block.clear();
        if let Some(shelf) = self.shelf(block.capacity()) {
            shelf.lock().blocks.push(block);
        }
    }

    /// Returns the blocks that were not needed since the last call to the system. Returns whether free blocks are left.
    pub(crate) fn trim(&self) -> bool {
        let surplus = [&self.small, &self.large].map(|shelf| {
            let mut free = shelf.lock();
            (free.trim(), free.blocks.is_empty())
        });
        surplus.iter().any(|(_, none_left)| !none_left)
    }

    /// Converts a block, or memory of another size, to shared bytes. A block returns to the pool with its last
    /// reference. The contents of a mostly empty block are copied, and the block returns at once.
    pub(crate) fn freeze(self: &Arc<Self>, bytes: Vec<u8>) -> Bytes {
        if self.shelf(bytes.capacity()).is_none() {
            return Bytes::from(bytes);
        }
        if bytes.len() < bytes.capacity() / 4 {
            let copy = Bytes::copy_from_slice(&bytes);
            self.give(bytes);
            return copy;
        }
        Bytes::from_owner(Lent {
            bytes,
            pool: self.clone(),
        })
    }

    /// Returns the number of free blocks.
    #[cfg(test)]
    pub(crate) fn free(&self) -> usize {
        [&self.small, &self.large]
            .iter()
            .map(|shelf| shelf.lock().blocks.len())
            .sum()
    }
}

/// A block that is being read.
struct Lent {
    bytes: Vec<u8>,
    pool: Arc<BlockPool>,
}

impl AsRef<[u8]> for Lent {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        self.pool.give(std::mem::take(&mut self.bytes));
    }
}
