//! DeleteTopics: topics to delete.

use std::ffi::CString;

use ottla_core::admin::{DeleteTopics, TopicResult};

use super::call::{begin, results};
use super::common::{copy_array, destroy_array, text_of};
use super::options::AdminOptions;
use super::topic_result::TopicResultHandle;
use crate::ffi::{FromC, Owned, Tag, Tagged, boxed, c_text, exports};
use crate::handle::Handle;
use crate::queue::QueueHandle;

/// `rd_kafka_DeleteTopic_t`
#[repr(C)]
pub struct DeleteTopicHandle {
    tag: Tag,
    name: CString,
}

// SAFETY: repr(C), tag first.
unsafe impl Tagged for DeleteTopicHandle {
    const TAG: u32 = 0x0e44_0a0e;
}

exports! {
    /// Returns a topic to delete.
    fn rd_kafka_DeleteTopic_new(name: &str) -> Option<Owned<DeleteTopicHandle>>, or None; {
        Some(boxed(DeleteTopicHandle { tag: Tag::new(DeleteTopicHandle::TAG), name: c_text(name) }))
    }

    /// Frees a topic to delete; NULL is fine.
    fn rd_kafka_DeleteTopic_destroy(topic: *mut DeleteTopicHandle) {
        // SAFETY: NULL or the application's handle.
        drop(unsafe { <Owned<DeleteTopicHandle>>::from_c(topic) });
    }

    /// Frees each of an array.
    fn rd_kafka_DeleteTopic_destroy_array(topics: *mut *mut DeleteTopicHandle, count: usize) {
        // SAFETY: the caller's array.
        unsafe { destroy_array(topics, count) };
    }

    /// Deletes topics.
    fn rd_kafka_DeleteTopics(
        rk: &Handle, topics: *mut *mut DeleteTopicHandle, count: usize, options: Option<&AdminOptions>,
        queue: &QueueHandle,
    ) {
        // SAFETY: the caller's array.
        let names = unsafe { copy_array(topics, count, |t: &DeleteTopicHandle| text_of(&t.name)) };
        begin(rk, names.map(DeleteTopics), options, queue);
    }
}

results! {
    DeleteTopics: rd_kafka_event_DeleteTopics_result, rd_kafka_DeleteTopics_result_topics: TopicResult => TopicResultHandle;
}
