//! `rd_kafka_messages_t`: the messages of one poll.

use ottla_core::event::ShareBatch;

use crate::abi::MessageFields;
use crate::ffi::{FromC, Owned, Tag, Tagged, boxed, exports};
use crate::handle::Handle;
use crate::message::MessageArray;

/// `rd_kafka_messages_t`
#[repr(C)]
pub struct Messages {
    tag: Tag,
    messages: MessageArray,
}

// SAFETY: repr(C), tag first.
unsafe impl Tagged for Messages {
    const TAG: u32 = 0x0e44_0a23;
}

impl Messages {
    /// Returns the messages of a batch: for each partition its records and then one error for each range that could not be
    /// read.
    pub fn of(handle: &Handle, batch: &ShareBatch) -> Owned<Messages> {
        let unreadable: usize = batch.partitions().iter().map(|p| p.unreadable().len()).sum();
        let mut messages = MessageArray::new(batch.len() + unreadable);
        for acquired in batch.partitions() {
            let topic = handle.topic_handle(acquired.topic());
            messages.push_records(&topic, acquired);
            for range in acquired.unreadable() {
                let (first, error) = (range.offsets.first, &range.error);
                messages.push_error(&topic, acquired.partition(), first, error.code, &error.message);
            }
        }
        boxed(Messages {
            tag: Tag::new(Self::TAG),
            messages,
        })
    }
}

exports! {
    /// Returns the number of messages.
    fn rd_kafka_messages_count(messages: Option<&Messages>) -> usize, or 0; {
        messages.map_or(0, |messages| messages.messages.len())
    }

    /// Returns a message, NULL if there is none of this index.
    fn rd_kafka_messages_get(messages: &Messages, index: usize) -> *mut MessageFields, or std::ptr::null_mut(); {
        messages.messages.get(index)
    }

    /// Frees the messages.
    fn rd_kafka_messages_destroy(messages: *mut Messages) {
        // SAFETY: NULL or a batch that the application owns.
        drop(unsafe { <Owned<Messages>>::from_c(messages) });
    }
}
