//! The results of admin calls, read from their events.

use std::ffi::{CString, c_char};

use ottla_core::admin::{AdminOp, AdminOutcome, AdminResult, TopicResult};
use ottla_core::error::ErrorCode;

use super::common::{Pointers, error_of, nothing, result_of};
use super::configs::ConfigResourceHandle;
use super::listing::Groups;
use crate::event::EventHandle;
use crate::ffi::{Tag, Tagged, c_text, exports};

/// `rd_kafka_topic_result_t`
#[repr(C)]
pub struct TopicResultHandle {
    tag: Tag,
    name: CString,
    code: ErrorCode,
    text: Option<CString>,
}

// SAFETY: repr(C), tag first.
unsafe impl Tagged for TopicResultHandle {
    const TAG: u32 = 0x0e44_0a12;
}

impl TopicResultHandle {
    fn from_core(result: &TopicResult) -> Self {
        let (code, text) = error_of(result.error.as_ref());
        TopicResultHandle {
            tag: Tag::new(Self::TAG),
            name: c_text(result.name.as_str()),
            code,
            text,
        }
    }
}

/// The handles of a result's event.
struct Content {
    op: AdminOp,
    topics: Pointers<TopicResultHandle>,
    resources: Pointers<ConfigResourceHandle>,
    groups: Groups,
}

impl Content {
    fn new(result: &AdminResult) -> Self {
        let mut content = Content {
            op: result.op,
            topics: Pointers::default(),
            resources: Pointers::default(),
            groups: Groups::default(),
        };
        match &result.outcome {
            Ok(AdminOutcome::Topics(topics)) => {
                content.topics = topics.iter().map(TopicResultHandle::from_core).collect()
            }
            Ok(AdminOutcome::Resources(resources)) => {
                content.resources = resources.iter().map(ConfigResourceHandle::from_core).collect();
            }
            Ok(listing @ AdminOutcome::Groups(_)) => content.groups = Groups::from_core(listing),
            Err(_) => {}
        }
        content
    }
}

/// Returns the handles of a result, made when they are first requested.
fn content(event: Option<&EventHandle>) -> Option<&Content> {
    event?.admin_handles(Content::new)
}

/// Returns the groups of a listing; none of another result.
pub(super) fn groups(event: Option<&EventHandle>) -> Option<&Groups> {
    content(event).map(|content| &content.groups)
}

/// Returns the topics of a result.
///
/// # Safety
/// `count` is NULL or valid for writes.
unsafe fn topics(result: Option<&EventHandle>, op: AdminOp, count: *mut usize) -> *mut *const TopicResultHandle {
    match content(result) {
        // SAFETY: the caller's out-parameter.
        Some(content) if content.op == op => unsafe { content.topics.lend(count) },
        // SAFETY: as above.
        _ => unsafe { nothing(count) },
    }
}

/// Returns the resources of a result.
///
/// # Safety
/// `count` is NULL or valid for writes.
unsafe fn resources(result: Option<&EventHandle>, op: AdminOp, count: *mut usize) -> *mut *const ConfigResourceHandle {
    match content(result) {
        // SAFETY: the caller's out-parameter.
        Some(content) if content.op == op => unsafe { content.resources.lend(count) },
        // SAFETY: as above.
        _ => unsafe { nothing(count) },
    }
}

/// Declares two functions per call: one that checks that an event is its result, and one that returns the contents.
macro_rules! results {
    ($($op:ident: $take:ident, $give:ident -> $rows:ident of $row:ty;)*) => {
        exports! {$(
            /// Returns the event as the result of this call; NULL for other events.
            fn $take(event: &EventHandle) -> *const EventHandle, or std::ptr::null(); {
                result_of(event, AdminOp::$op)
            }

            /// Returns the broker's results in the order of the request, owned by the event.
            fn $give(result: Option<&EventHandle>, count: *mut usize) -> *mut *const $row, or std::ptr::null_mut(); {
                // SAFETY: the caller's out-parameter.
                unsafe { $rows(result, AdminOp::$op, count) }
            }
        )*}
    };
}

results! {
    CreateTopics: rd_kafka_event_CreateTopics_result,
        rd_kafka_CreateTopics_result_topics -> topics of TopicResultHandle;
    DeleteTopics: rd_kafka_event_DeleteTopics_result,
        rd_kafka_DeleteTopics_result_topics -> topics of TopicResultHandle;
    CreatePartitions: rd_kafka_event_CreatePartitions_result,
        rd_kafka_CreatePartitions_result_topics -> topics of TopicResultHandle;
    DescribeConfigs: rd_kafka_event_DescribeConfigs_result,
        rd_kafka_DescribeConfigs_result_resources -> resources of ConfigResourceHandle;
    AlterConfigs: rd_kafka_event_AlterConfigs_result,
        rd_kafka_AlterConfigs_result_resources -> resources of ConfigResourceHandle;
    IncrementalAlterConfigs: rd_kafka_event_IncrementalAlterConfigs_result,
        rd_kafka_IncrementalAlterConfigs_result_resources -> resources of ConfigResourceHandle;
}

exports! {
    /// Returns the broker's error code for a topic.
    fn rd_kafka_topic_result_error(topic: &TopicResultHandle) -> ErrorCode, or ErrorCode::L_INVALID_ARG; {
        topic.code
    }

    /// Returns the text of that error; NULL if there is none.
    fn rd_kafka_topic_result_error_string(topic: &TopicResultHandle) -> *const c_char, or std::ptr::null(); {
        topic.text.as_ref().map_or(std::ptr::null(), |text| text.as_ptr())
    }

    /// Returns the topic's name.
    fn rd_kafka_topic_result_name(topic: &TopicResultHandle) -> *const c_char, or std::ptr::null(); {
        topic.name.as_ptr()
    }
}
