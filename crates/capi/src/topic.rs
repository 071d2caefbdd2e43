//! The functions of `rd_kafka_topic_t`.

use std::ffi::{c_char, c_void};
use std::sync::Arc;

use crate::ffi::{self, AnyProcess, Owned, exports};
use crate::handle::{Handle, TopicHandle};
use crate::topic_conf::TopicConfHandle;

exports! {
    /// Returns a handle of a topic with the settings of `conf`, or with the client's default topic settings if it is NULL.
    /// Frees `conf`, also when the call fails. The caller releases the handle with `rd_kafka_topic_destroy()`.
    fn rd_kafka_topic_new(rk: &Handle, name: &str, conf: Option<Owned<TopicConfHandle>>)
        -> *const TopicHandle, or std::ptr::null();
    {
        match rk.create_topic(name, conf.as_ref().map(|c| &*c.0)) {
            Ok(handle) => {
                handle.topic().acquire();
                if let Some(producer) = handle.client().ok().and_then(|c| c.shared().producer.as_ref()) {
                    producer.announce(handle.topic());
                }
                // The pointer stays valid because the client's table of topics owns the handle.
                Arc::as_ptr(&handle)
            }
            Err(error) => {
                ffi::note(&error);
                std::ptr::null()
            }
        }
    }

    /// Releases one reference of the application to a topic.
    fn rd_kafka_topic_destroy(rkt: &TopicHandle) {
        rkt.topic().release();
    }

    /// Returns the topic's name.
    fn rd_kafka_topic_name(rkt: AnyProcess<'_, TopicHandle>) -> *const c_char, or std::ptr::null(); {
        rkt.0.name().as_ptr()
    }

    /// Returns the opaque pointer that the application set in the topic's settings.
    fn rd_kafka_topic_opaque(rkt: AnyProcess<'_, TopicHandle>) -> *mut c_void, or std::ptr::null_mut(); {
        rkt.0.topic().hooks().opaque as *mut c_void
    }
}
