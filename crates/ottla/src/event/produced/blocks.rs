//! The memory that records are encoded into.

use std::sync::Arc;

use bytes::Bytes;

use crate::env::sync::Mutex;

/// Bytes of a block. Large enough for hundreds of small records, small enough that one started block a partition does
/// not matter, and below the size from which `malloc` asks the kernel for fresh pages each time.
pub(crate) const BLOCK: usize = 32 * 1024;

/// A block that holds less is copied to memory of its size when its batch is closed.
const WORTH_A_BLOCK: usize = BLOCK / 4;

/// Blocks that were used and can be used again. Memory that goes back to the system and comes again must be cleared by
/// the kernel page by page, which costs more than all else that is done with a record.
///
/// Thread-safe. Its lock is a leaf.
#[derive(Debug, Default)]
pub(crate) struct BlockPool {
    free: Mutex<Free>,
}

#[derive(Debug, Default)]
struct Free {
    blocks: Vec<Vec<u8>>,
    /// The fewest that were free since the last trimming: that many were not needed.
    low: usize,
}

impl BlockPool {
    /// An empty block.
    pub(crate) fn take(&self) -> Vec<u8> {
        let mut free = self.free.lock();
        let block = free.blocks.pop();
        free.low = free.low.min(free.blocks.len());
        drop(free);
        block.unwrap_or_else(|| Vec::with_capacity(BLOCK))
    }

    fn give(&self, mut block: Vec<u8>) {
        block.clear();
        self.free.lock().blocks.push(block);
    }

    /// Gives the blocks that were not needed since the last call back to the system. Says whether any are left.
    pub(crate) fn trim(&self) -> bool {
        let mut free = self.free.lock();
        let keep = free.blocks.len() - free.low.min(free.blocks.len());
        let surplus = free.blocks.split_off(keep);
        free.low = keep;
        drop(free);
        drop(surplus);
        keep > 0
    }

    /// Makes a block, or a smaller or larger piece of memory, readable. Blocks come back when nobody reads them.
    pub(crate) fn freeze(self: &Arc<Self>, bytes: Vec<u8>) -> Bytes {
        if bytes.capacity() != BLOCK {
            return Bytes::from(bytes);
        }
        if bytes.len() < WORTH_A_BLOCK {
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
        self.free.lock().blocks.len()
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
