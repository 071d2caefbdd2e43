//! Memory for fetched messages.
//!
//! A [`Block`] has room for many messages, all of one chunk. Handing one out costs no allocation and destroying it no more
//! than a count. When all that were handed out are back, the block starts over: an application that destroys each
//! message before it takes the next gets the same memory each time, which the processor has at hand.

use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ottla::event::{Chunk, ChunkMemory, RecordRef};

use crate::message::Message;
use crate::topic::TopicHandle;

/// Messages in a chunk's first block; each further one has twice as many, up to [`SLOTS_MAX`].
const SLOTS_MIN: usize = 16;
const SLOTS_MAX: usize = 256;

/// More than are ever handed out from one block.
const CLOSED: usize = usize::MAX / 2;

/// Memory for messages, with what they point into.
///
/// Belongs to a [`Slots`] and to its messages, and goes with the last of them. `given_back` counts messages that were
/// destroyed; when the `Slots` lets go of the block it adds what is missing between those handed out and `CLOSED`.
/// Whoever brings the count to `CLOSED` was the last.
pub struct Block {
    given_back: AtomicUsize,
    slots: Box<[MaybeUninit<Message>]>,
    topic: Arc<TopicHandle>,
    _memory: Arc<ChunkMemory>,
}

impl Block {
    /// A message that was handed out is destroyed.
    ///
    /// # Safety
    /// `block` is the message's own, and this is called once for it, after its last use.
    #[inline]
    pub unsafe fn give_back(block: *const Block) {
        // SAFETY: the block lives until all messages are back.
        unsafe { Self::count(block, 1) };
    }

    /// # Safety
    /// `block` is not used by the caller any more if this was the last.
    unsafe fn count(block: *const Block, n: usize) {
        // SAFETY: by the caller's promise the block is alive; it was made by `Box`, and nobody is left.
        unsafe {
            // Release: the messages were used before. Acquire: all of them.
            if (*block).given_back.fetch_add(n, Ordering::AcqRel) + n == CLOSED {
                drop(Box::from_raw(block.cast_mut()));
            }
        }
    }
}

/// Where the messages of one chunk are put.
pub struct Slots {
    topic: Arc<TopicHandle>,
    memory: Arc<ChunkMemory>,
    partition: i32,
    broker_id: i32,
    remaining: usize,
    block: Option<Open>,
}

/// The block that messages are put into now.
struct Open {
    block: NonNull<Block>,
    /// The block's slots. Apart from it, since messages are written to while the block is shared.
    first: *mut Message,
    len: usize,
    used: usize,
    handed_out: usize,
}

// SAFETY: a block is used by one `Slots`, which one thread has at a time, and by its messages, which may be used by one
// thread after the other. What they share is counted atomically.
unsafe impl Send for Slots {}

impl Slots {
    /// For the messages of a chunk; `topic` is the chunk's.
    pub fn new(topic: Arc<TopicHandle>, chunk: &Chunk) -> Self {
        Slots {
            topic,
            memory: chunk.memory(),
            partition: chunk.partition().partition(),
            broker_id: chunk.broker_id(),
            remaining: chunk.remaining(),
            block: None,
        }
    }

    /// Makes a message of a record of the chunk. The caller owns it.
    #[inline]
    pub fn put(&mut self, record: &RecordRef<'_>) -> *mut Message {
        self.remaining = self.remaining.saturating_sub(1);
        let (partition, broker_id) = (self.partition, self.broker_id);
        let (slot, block) = self.slot();
        // SAFETY: the slot is not in use. The block holds the topic and the memory that the chunk's records point into.
        unsafe {
            let topic = Arc::as_ptr(&(*block).topic);
            slot.write(Message::fetched(record, partition, broker_id, topic, block));
        }
        slot
    }

    #[inline]
    fn slot(&mut self) -> (*mut Message, *const Block) {
        if let Some(open) = &mut self.block {
            // SAFETY: alive as long as it is open.
            if unsafe { open.block.as_ref() }.given_back.load(Ordering::Acquire) == open.handed_out {
                open.used = 0;
            }
            if open.used < open.len {
                return open.hand_out();
            }
        }
        self.next_block()
    }

    #[cold]
    fn next_block(&mut self) -> (*mut Message, *const Block) {
        let len = self.block.as_ref().map_or(SLOTS_MIN, |open| open.len * 2);
        self.close();
        // One is for the record that is being put.
        let len = len.min(SLOTS_MAX).min(self.remaining + 1);
        let mut block = Box::new(Block {
            given_back: AtomicUsize::new(0),
            slots: Box::new_uninit_slice(len),
            topic: self.topic.clone(),
            _memory: self.memory.clone(),
        });
        let first = block.slots.as_mut_ptr().cast();
        let open = self.block.insert(Open {
            block: NonNull::from(Box::leak(block)),
            first,
            len,
            used: 0,
            handed_out: 0,
        });
        open.hand_out()
    }

    fn close(&mut self) {
        if let Some(open) = self.block.take() {
            // SAFETY: alive until now, and not used here any more.
            unsafe { Block::count(open.block.as_ptr(), CLOSED - open.handed_out) };
        }
    }
}

impl Open {
    /// The next slot. There is one.
    #[inline]
    fn hand_out(&mut self) -> (*mut Message, *const Block) {
        // SAFETY: `used` is less than `len`.
        let slot = unsafe { self.first.add(self.used) };
        self.used += 1;
        self.handed_out += 1;
        (slot, self.block.as_ptr())
    }
}

impl Drop for Slots {
    fn drop(&mut self) {
        self.close();
    }
}
