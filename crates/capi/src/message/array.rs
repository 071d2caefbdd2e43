//! The messages of one poll of a share consumer, in one allocation.

use std::ffi::CString;
use std::mem::ManuallyDrop;
use std::ptr::NonNull;
use std::sync::Arc;

use ottla_core::error::ErrorCode;
use ottla_core::event::{AcquiredPartition, ChunkMemory};

use super::{Message, Place};
use crate::abi::MessageFields;
use crate::ffi;
use crate::handle::TopicHandle;

/// Messages in one allocation, with what they point to.
///
/// Filled with [`push_records`](Self::push_records) and [`push_error`](Self::push_error) up to the capacity; the addresses of
/// messages do not change.
pub struct MessageArray {
    /// The messages, behind which there may be room for more.
    first: NonNull<Message>,
    len: usize,
    capacity: usize,
    topics: Vec<Arc<TopicHandle>>,
    memory: Vec<Arc<ChunkMemory>>,
    texts: Vec<CString>,
}

impl MessageArray {
    /// Returns an array with room for `capacity` messages.
    pub fn new(capacity: usize) -> Self {
        let mut messages = ManuallyDrop::new(Vec::<Message>::with_capacity(capacity));
        MessageArray {
            // SAFETY: a vector's pointer is not NULL.
            first: unsafe { NonNull::new_unchecked(messages.as_mut_ptr()) },
            len: 0,
            capacity: messages.capacity(),
            topics: Vec::new(),
            memory: Vec::new(),
            texts: Vec::new(),
        }
    }

    /// Adds a partition's records; those for which there is no room are left out.
    pub fn push_records(&mut self, topic: &Arc<TopicHandle>, acquired: &AcquiredPartition) {
        let (partition, broker_id) = (acquired.partition(), acquired.broker_id());
        let topic = self.keep(topic);
        self.memory.push(acquired.memory());
        let mut len = self.len;
        for (record, delivery_count) in acquired.records().take(self.capacity - len) {
            // SAFETY: within the capacity, and not in use. The array keeps the topic and the records' memory.
            unsafe {
                let message = Message::acquired(&record, partition, broker_id, topic, delivery_count);
                self.first.add(len).write(message);
            }
            len += 1;
        }
        self.len = len;
    }

    /// Adds an error at an offset of a partition, unless there is no room.
    pub fn push_error(&mut self, topic: &Arc<TopicHandle>, partition: i32, offset: i64, code: ErrorCode, text: &str) {
        if self.len == self.capacity {
            return;
        }
        let topic = self.keep(topic);
        let text = ffi::c_text(text);
        let mut message = Message::empty(Place::Array);
        // SAFETY: within the capacity.
        let at = unsafe { self.first.add(self.len) };
        message.set_error(code, &text, at.as_ptr().cast());
        message.fields.rkt = topic.cast_mut().cast();
        message.fields.partition = partition;
        message.fields.offset = offset;
        // SAFETY: within the capacity, and not in use. The array keeps topic and text, whose address does not change.
        unsafe { at.write(message) };
        self.texts.push(text);
        self.len += 1;
    }

    fn keep(&mut self, topic: &Arc<TopicHandle>) -> *const TopicHandle {
        if !self.topics.last().is_some_and(|last| Arc::ptr_eq(last, topic)) {
            self.topics.push(topic.clone());
        }
        Arc::as_ptr(topic)
    }

    /// Returns the number of messages.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether there is no message.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the address of a message, NULL if there is none of this index.
    pub fn get(&self, index: usize) -> *mut MessageFields {
        match index < self.len {
            // SAFETY: the index of a message.
            true => unsafe { self.first.add(index) }.as_ptr().cast(),
            false => std::ptr::null_mut(),
        }
    }
}

impl Drop for MessageArray {
    fn drop(&mut self) {
        // SAFETY: made from a vector of this capacity, of which `len` elements are initialised; no reference is left.
        let mut messages = unsafe { Vec::from_raw_parts(self.first.as_ptr(), self.len, self.capacity) };
        messages.iter_mut().for_each(Message::release);
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::CStr;
    use std::sync::Weak;

    use ottla_core::config::Conf;
    use ottla_core::types::{ClientKind, Topic, TopicHooks};

    use super::*;
    use crate::message::{rd_kafka_message_delivery_count, rd_kafka_message_destroy, rd_kafka_message_errstr};

    #[test]
    fn errors_have_texts_until_the_array_is_dropped() {
        let (_, conf) = Conf::new().finalize(ClientKind::Consumer).unwrap();
        let topic = Arc::new(Topic::new("t", conf, TopicHooks::default(), 0));
        let topic = Arc::new(TopicHandle::new(topic, None, Weak::new(), false));
        let mut array = MessageArray::new(2);
        for offset in [7, 8, 9] {
            let text = format!("offset {offset} is damaged");
            array.push_error(&topic, 3, offset, ErrorCode::L_BAD_MSG, &text);
        }
        assert_eq!(array.len(), array.capacity.min(3));
        assert!(array.len() >= 2 && array.get(array.len()).is_null());
        assert_eq!(Arc::strong_count(&topic), 2);
        // SAFETY: messages of the array, which lives.
        unsafe {
            let message = array.get(1);
            assert_eq!(
                ((*message).err, (*message).partition, (*message).offset),
                (ErrorCode::L_BAD_MSG.0, 3, 8)
            );
            assert!(std::ptr::eq((*message).rkt.cast(), Arc::as_ptr(&topic)));
            rd_kafka_message_destroy(message);
            let text = CStr::from_ptr(rd_kafka_message_errstr(message));
            assert_eq!(text.to_str(), Ok("offset 8 is damaged"));
            assert_eq!(rd_kafka_message_delivery_count(message), 0);
        }
        drop(array);
        assert_eq!(Arc::strong_count(&topic), 1);
    }
}
