//! Results: events, and what they hold.

use std::ffi::{CStr, CString, c_char};

use ottla::admin::{AdminOp, AdminOutcome, AdminResult, TopicResult};
use ottla::error::ErrorCode;

use super::configs::ConfigResourceHandle;
use super::groups::Groups;
use super::{Pointers, error_of};
use crate::abi::event_type;
use crate::event::EventHandle;
use crate::ffi::{self, Tag, Tagged, c_text, exports};

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

/// What the event of a result holds.
pub struct Content {
    op: AdminOp,
    code: ErrorCode,
    text: Option<CString>,
    topics: Pointers<TopicResultHandle>,
    resources: Pointers<ConfigResourceHandle>,
    groups: Groups,
}

impl Content {
    /// What `result` tells.
    pub fn new(result: &AdminResult) -> Self {
        let (code, text) = error_of(result.outcome.as_ref().err());
        let mut content = Content {
            op: result.op,
            code,
            text,
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

    /// `RD_KAFKA_EVENT_*_RESULT`
    pub fn event_type(&self) -> i32 {
        match self.op {
            AdminOp::CreateTopics => event_type::CREATE_TOPICS_RESULT,
            AdminOp::DeleteTopics => event_type::DELETE_TOPICS_RESULT,
            AdminOp::CreatePartitions => event_type::CREATE_PARTITIONS_RESULT,
            AdminOp::DescribeConfigs => event_type::DESCRIBE_CONFIGS_RESULT,
            AdminOp::AlterConfigs => event_type::ALTER_CONFIGS_RESULT,
            AdminOp::IncrementalAlterConfigs => event_type::INCREMENTAL_ALTER_CONFIGS_RESULT,
            AdminOp::ListConsumerGroups => event_type::LIST_CONSUMER_GROUPS_RESULT,
        }
    }

    /// The name of that type.
    pub fn event_name(&self) -> &'static CStr {
        match self.op {
            AdminOp::CreateTopics => c"CreateTopicsResult",
            AdminOp::DeleteTopics => c"DeleteTopicsResult",
            AdminOp::CreatePartitions => c"CreatePartitionsResult",
            AdminOp::DescribeConfigs => c"DescribeConfigsResult",
            AdminOp::AlterConfigs => c"AlterConfigsResult",
            AdminOp::IncrementalAlterConfigs => c"IncrementalAlterConfigsResult",
            AdminOp::ListConsumerGroups => c"ListConsumerGroupsResult",
        }
    }

    /// The groups of a listing; none in other results.
    pub(super) fn groups(&self) -> &Groups {
        &self.groups
    }

    /// Why the call failed as a whole.
    pub fn error(&self) -> (ErrorCode, Option<&CStr>) {
        (self.code, self.text.as_deref())
    }
}

/// The event itself, if it is the result of this call.
pub(super) fn result_of(event: &EventHandle, op: AdminOp) -> *const EventHandle {
    match event.admin() {
        Some(content) if content.op == op => event,
        _ => std::ptr::null(),
    }
}

/// The topics of a result.
///
/// # Safety
/// `count` is NULL or valid for writes.
unsafe fn topics(result: Option<&EventHandle>, op: AdminOp, count: *mut usize) -> *mut *const TopicResultHandle {
    match result.and_then(EventHandle::admin) {
        // SAFETY: the caller's out-parameter.
        Some(content) if content.op == op => unsafe { content.topics.lend(count) },
        // SAFETY: as above.
        _ => unsafe { nothing(count) },
    }
}

/// The resources of a result.
///
/// # Safety
/// `count` is NULL or valid for writes.
unsafe fn resources(result: Option<&EventHandle>, op: AdminOp, count: *mut usize) -> *mut *const ConfigResourceHandle {
    match result.and_then(EventHandle::admin) {
        // SAFETY: the caller's out-parameter.
        Some(content) if content.op == op => unsafe { content.resources.lend(count) },
        // SAFETY: as above.
        _ => unsafe { nothing(count) },
    }
}

/// An empty array.
///
/// # Safety
/// `count` is NULL or valid for writes.
pub(super) unsafe fn nothing<T>(count: *mut usize) -> *mut *const T {
    // SAFETY: the caller's out-parameter.
    unsafe { ffi::put(count, 0) };
    std::ptr::null_mut()
}

/// For each call: the function that takes an event for its result, and the one that gives what is in it.
macro_rules! results {
    ($($op:ident: $take:ident, $give:ident -> $rows:ident of $row:ty;)*) => {
        exports! {$(
            /// The event as the result of this call; NULL for other events.
            fn $take(event: &EventHandle) -> *const EventHandle, or std::ptr::null(); {
                result_of(event, AdminOp::$op)
            }

            /// What the broker said, in the order of the request; stays the result's.
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
    /// What the broker said of a topic.
    fn rd_kafka_topic_result_error(topic: &TopicResultHandle) -> ErrorCode, or ErrorCode::L_INVALID_ARG; {
        topic.code
    }

    /// That in words; NULL when there is no error.
    fn rd_kafka_topic_result_error_string(topic: &TopicResultHandle) -> *const c_char, or std::ptr::null(); {
        topic.text.as_ref().map_or(std::ptr::null(), |text| text.as_ptr())
    }

    /// The topic's name.
    fn rd_kafka_topic_result_name(topic: &TopicResultHandle) -> *const c_char, or std::ptr::null(); {
        topic.name.as_ptr()
    }
}
