//! The memory that records are encoded into.

use std::sync::Arc;

use bytes::Bytes;

use crate::sys::sync::Mutex;

/// Bytes of a block of a large batch: below the size from which `malloc` asks the kernel for fresh pages each time.
pub(crate) const BLOCK: usize = 32 * 1024;

/// Bytes of a block that a batch begins with. Where records go to many partitions, what is left empty of their blocks is
/// memory that the processor's caches lack.
pub(crate) const SMALL_BLOCK: usize = 4 * 1024;

/// Blocks that were used and can be used again. Memory that goes back to the system and comes again must be cleared by
/// the kernel page by page, which costs more than all else that is done with a record.
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
    /// The fewest that were free since the last trimming: that many were not needed.
    low: usize,
}

impl Free {
    fn take(&mut self) -> Option<Vec<u8>> {
        let block = self.blocks.pop();
        self.low = self.low.min(self.blocks.len());
        block
    }

    /// Takes out what was not needed since the last call.
    fn trim(&mut self) -> Vec<Vec<u8>> {
        let keep = self.blocks.len() - self.low.min(self.blocks.len());
        self.low = keep;
        self.blocks.split_off(keep)
    }
}

impl BlockPool {
    /// An empty block of [`BLOCK`] bytes.
    pub(crate) fn take(&self) -> Vec<u8> {
        let block = self.large.lock().take();
        block.unwrap_or_else(|| Vec::with_capacity(BLOCK))
    }

    /// An empty block of [`SMALL_BLOCK`] bytes.
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

    /// Gives the blocks that were not needed since the last call back to the system. Says whether any are left.
    pub(crate) fn trim(&self) -> bool {
        let surplus = [&self.small, &self.large].map(|shelf| {
            let mut free = shelf.lock();
            (free.trim(), free.blocks.is_empty())
        });
        surplus.iter().any(|(_, none_left)| !none_left)
    }

    /// Makes a block, or a smaller or larger piece of memory, readable. Blocks come back when nobody reads them; one that
    /// holds little comes back at once, and what it holds gets memory of its size.
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

    /// Blocks that could be taken without asking the system.
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
