//! The functions of `rd_kafka_topic_t`.

use std::ffi::{c_char, c_void};
use std::sync::Arc;

use crate::ffi::{self, AnyProcess, Owned, exports};
use crate::handle::{Handle, TopicHandle};
use crate::topic_conf::TopicConfHandle;

exports! {
    /// Returns a handle of a topic, created with `conf` (which is taken in any case) or the client's default topic
    /// settings.
    fn rd_kafka_topic_new(rk: &Handle, name: &str, conf: Option<Owned<TopicConfHandle>>)
        -> *const TopicHandle, or std::ptr::null();
    {
        match rk.create_topic(name, conf.as_ref().map(|c| &*c.0)) {
            Ok(handle) => {
                handle.topic().acquire();
                if let Some(producer) = handle.client().ok().and_then(|c| c.shared().producer.as_ref()) {
                    producer.announce(handle.topic());
                }
                // The client's table keeps it alive.
                Arc::as_ptr(&handle)
            }
            Err(error) => {
                ffi::note(&error);
                std::ptr::null()
            }
        }
    }

    /// Gives a handle back.
    fn rd_kafka_topic_destroy(rkt: &TopicHandle) {
        rkt.topic().release();
    }

    /// Returns the topic's name.
    fn rd_kafka_topic_name(rkt: AnyProcess<'_, TopicHandle>) -> *const c_char, or std::ptr::null(); {
        rkt.0.name().as_ptr()
    }

    /// Returns the application's pointer of the topic's settings.
    fn rd_kafka_topic_opaque(rkt: AnyProcess<'_, TopicHandle>) -> *mut c_void, or std::ptr::null_mut(); {
        rkt.0.topic().hooks().opaque as *mut c_void
    }
}
