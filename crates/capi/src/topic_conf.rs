//! `rd_kafka_topic_conf_t`.

use std::ffi::{c_char, c_void};

use ottla_core::config::{Conf, TopicConf, TopicConfig};
use ottla_core::error::Error;
use ottla_core::types::ClientKind;

use crate::callbacks::{MessageOrderCb, Opaque, PartitionerCb};
use crate::conf_result::{conf_result, dump, put_value};
use crate::ffi::{FromC, Owned, Tag, Tagged, boxed, exports};

/// `rd_kafka_topic_conf_t`
#[repr(C)]
pub struct TopicConfHandle {
    tag: Tag,
    conf: TopicConf,
    /// The application's partitioner.
    pub partitioner: Option<PartitionerCb>,
    /// The application's pointer for it.
    pub opaque: Opaque,
}

// SAFETY: repr(C), tag first.
unsafe impl Tagged for TopicConfHandle {
    const TAG: u32 = 0x0e44_0a0a;
}

// SAFETY: the pointer is only handed back to the application.
unsafe impl Send for TopicConfHandle {}
// SAFETY: as above; settings of a client are not changed any more.
unsafe impl Sync for TopicConfHandle {}

impl TopicConfHandle {
    /// Returns a handle for settings.
    pub fn from_conf(conf: TopicConf) -> Self {
        TopicConfHandle {
            tag: Tag::new(Self::TAG),
            conf,
            partitioner: None,
            opaque: std::ptr::null_mut(),
        }
    }

    /// Returns a copy.
    pub fn duplicate(&self) -> Self {
        TopicConfHandle {
            partitioner: self.partitioner,
            opaque: self.opaque,
            ..Self::from_conf(self.conf.clone())
        }
    }

    /// Returns the settings.
    pub fn conf(&self) -> &TopicConf {
        &self.conf
    }

    /// Replaces the settings; what is not among them any more is forgotten.
    pub fn replace(&mut self, conf: TopicConf) {
        if !conf.is_modified("partitioner_cb") {
            self.partitioner = None;
        }
        if !conf.is_modified("opaque") {
            self.opaque = std::ptr::null_mut();
        }
        self.conf = conf;
    }

    /// Returns the settings for a topic of a client, whose resolved settings are `client`.
    ///
    /// # Errors
    /// Inconsistent settings, or settings for features that this build does not have.
    pub fn settings(&self, client: &Conf, kind: ClientKind) -> Result<TopicConfig, Error> {
        self.conf.finalize(client, kind)
    }

    fn note_pointer(&mut self, name: &str, address: usize) {
        let set = self.conf.set_pointer(name, address);
        debug_assert!(set.is_ok(), "{name}");
    }
}

exports! {
    /// New settings, all at their defaults.
    fn rd_kafka_topic_conf_new() -> Option<Owned<TopicConfHandle>>, or None; {
        Some(boxed(TopicConfHandle::from_conf(TopicConf::new())))
    }

    /// Returns a copy.
    fn rd_kafka_topic_conf_dup(conf: &TopicConfHandle) -> Option<Owned<TopicConfHandle>>, or None; {
        Some(boxed(conf.duplicate()))
    }

    /// Frees settings; NULL is fine.
    fn rd_kafka_topic_conf_destroy(conf: *mut TopicConfHandle) {
        // SAFETY: NULL or the application's settings.
        drop(unsafe { <Owned<TopicConfHandle>>::from_c(conf) });
    }

    /// Sets a property.
    fn rd_kafka_topic_conf_set(
        conf: &mut TopicConfHandle, name: &str, value: Option<&str>, errstr: *mut c_char, size: usize,
    ) -> i32, or -1; {
        // SAFETY: the caller's buffer.
        unsafe { conf_result(conf.conf.set(name, value), errstr, size) }
    }

    /// Returns a property's value.
    fn rd_kafka_topic_conf_get(conf: &TopicConfHandle, name: &str, to: *mut c_char, size: *mut usize)
        -> i32, or -1;
    {
        // SAFETY: the caller's buffer.
        unsafe { put_value(conf.conf.get(name), to, size) }
    }

    /// Returns names and values of all properties, to be freed with `rd_kafka_conf_dump_free()`.
    fn rd_kafka_topic_conf_dump(conf: &TopicConfHandle, count: *mut usize)
        -> *mut *mut c_char, or std::ptr::null_mut();
    {
        // SAFETY: the caller's out-parameter.
        unsafe { dump(conf.conf.dump(), count) }
    }

    /// Sets the application's pointer.
    fn rd_kafka_topic_conf_set_opaque(conf: &mut TopicConfHandle, opaque: *mut c_void) {
        conf.opaque = opaque;
        conf.note_pointer("opaque", opaque as usize);
    }

    /// Sets the application's partitioner.
    fn rd_kafka_topic_conf_set_partitioner_cb(conf: &mut TopicConfHandle, callback: Option<PartitionerCb>) {
        conf.partitioner = callback;
        conf.note_pointer("partitioner_cb", callback.map_or(0, |c| c as usize));
    }

    /// Sets the order of messages in the queue; creating the client or the topic refuses it.
    fn rd_kafka_topic_conf_set_msg_order_cmp(conf: &mut TopicConfHandle, callback: Option<MessageOrderCb>) {
        conf.note_pointer("msg_order_cmp", callback.map_or(0, |c| c as usize));
    }
}
