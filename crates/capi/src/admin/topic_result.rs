//! `rd_kafka_topic_result_t`: the outcome for one topic.

use std::ffi::{CString, c_char};

use ottla_core::admin::TopicResult;
use ottla_core::error::ErrorCode;

use super::common::error_of;
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

impl From<&TopicResult> for TopicResultHandle {
    fn from(result: &TopicResult) -> Self {
        let (code, text) = error_of(result.error.as_ref());
        TopicResultHandle {
            tag: Tag::new(Self::TAG),
            name: c_text(result.name.as_str()),
            code,
            text,
        }
    }
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
