//! `rd_kafka_topic_t`.

use std::ffi::{CString, c_char, c_void};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use ottla::client::Client;
use ottla::error::{Error, ErrorCode};
use ottla::types::{PARTITION_UA, Topic, TopicHooks};

use crate::callbacks::PartitionerCb;
use crate::cancel_guard::CancelGuard;
use crate::ffi::{self, AnyProcess, Owned, Tag, Tagged, c_text, exports};
use crate::fork_guard;
use crate::handle::Handle;
use crate::topic_conf::TopicConfHandle;

/// `rd_kafka_topic_t`: one for each topic of a client, alive as long as the client and every message of the topic.
#[repr(C)]
pub struct TopicHandle {
    tag: Tag,
    name: CString,
    topic: Arc<Topic>,
    client: Option<Client>,
    owner: Weak<Handle>,
    /// The client was destroyed.
    gone: AtomicBool,
    /// Where it was made.
    process: u32,
    /// Interceptors see what is produced to it.
    intercepted: bool,
}

// SAFETY: repr(C), tag first.
unsafe impl Tagged for TopicHandle {
    const TAG: u32 = 0x0e44_0a04;

    #[inline]
    fn is_own(&self) -> bool {
        self.process == fork_guard::depth()
    }
}

impl TopicHandle {
    /// A handle for a topic of `owner`.
    pub fn new(topic: Arc<Topic>, client: Option<Client>, owner: Weak<Handle>, intercepted: bool) -> Self {
        let name = c_text(topic.name());
        TopicHandle {
            tag: Tag::new(Self::TAG),
            name,
            topic,
            client,
            owner,
            gone: AtomicBool::new(false),
            process: fork_guard::depth(),
            intercepted,
        }
    }

    /// The topic.
    pub fn topic(&self) -> &Arc<Topic> {
        &self.topic
    }

    /// Its client, unless that was destroyed.
    pub fn client(&self) -> Result<&Client, Error> {
        match &self.client {
            Some(client) if !self.gone.load(Ordering::Relaxed) => Ok(client),
            _ => Err(Error::new(ErrorCode::L_DESTROY, "The topic's client was destroyed")),
        }
    }

    /// Whether interceptors see what is produced to it.
    pub fn is_intercepted(&self) -> bool {
        self.intercepted
    }

    /// Refuses every later use: the client is being destroyed.
    pub fn retire(&self) {
        self.gone.store(true, Ordering::Relaxed);
    }

    /// Its client's handle; `None` when that was destroyed.
    pub fn owner(&self) -> Option<Arc<Handle>> {
        self.owner.upgrade()
    }
}

/// Where a partitioner finds the handle that it must be called with; filled when the handle exists.
#[derive(Clone, Default)]
pub struct HandleSlot(Arc<OnceLock<Weak<TopicHandle>>>);

impl HandleSlot {
    /// Fills it, once.
    pub fn fill(&self, handle: &Arc<TopicHandle>) {
        let _ = self.0.set(Arc::downgrade(handle));
    }
}

/// What the core is to carry for a topic, from the application's callbacks.
pub fn hooks(conf: Option<&TopicConfHandle>, owner: &Weak<Handle>, slot: &HandleSlot) -> TopicHooks {
    let Some(conf) = conf else { return TopicHooks::default() };
    TopicHooks {
        partitioner: conf
            .partitioner
            .map(|callback| partitioner(callback, conf.opaque as usize, owner, slot)),
        opaque: conf.opaque as usize,
    }
}

fn partitioner(
    callback: PartitionerCb,
    topic_opaque: usize,
    owner: &Weak<Handle>,
    slot: &HandleSlot,
) -> ottla::types::PartitionerFn {
    let (owner, slot) = (owner.clone(), slot.clone());
    Arc::new(move |_: &Topic, key, partition_count, message_opaque| {
        if slot.0.get().is_none() {
            // Another thread is about to fill the slot: it holds the table of topics meanwhile.
            if let Some(owner) = owner.upgrade() {
                owner.wait_for_topic_table();
            }
        }
        let Some(handle) = slot.0.get().and_then(Weak::upgrade) else {
            return PARTITION_UA;
        };
        let (key, key_len) = key.map_or((std::ptr::null(), 0), |k| (k.as_ptr(), k.len()));
        let _uncancelled = CancelGuard::new();
        // SAFETY: the application's function; key and handle live during the call.
        unsafe {
            callback(
                Arc::as_ptr(&handle),
                key.cast(),
                key_len,
                partition_count,
                topic_opaque as *mut c_void,
                message_opaque as *mut c_void,
            )
        }
    })
}

exports! {
    /// A handle of a topic, created with `conf` (which is taken in any case) or the client's default topic settings.
    fn rd_kafka_topic_new(rk: &Handle, name: &str, conf: Option<Owned<TopicConfHandle>>)
        -> *const TopicHandle, or std::ptr::null();
    {
        match rk.create_topic(name, conf.as_ref().map(|c| &*c.0)) {
            Ok(handle) => {
                handle.topic.acquire();
                if let Some(producer) = handle.client().ok().and_then(|c| c.shared().producer.as_ref()) {
                    producer.announce(&handle.topic);
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
        rkt.topic.release();
    }

    /// The topic's name.
    fn rd_kafka_topic_name(rkt: AnyProcess<'_, TopicHandle>) -> *const c_char, or std::ptr::null(); {
        rkt.0.name.as_ptr()
    }

    /// The application's pointer of the topic's settings.
    fn rd_kafka_topic_opaque(rkt: AnyProcess<'_, TopicHandle>) -> *mut c_void, or std::ptr::null_mut(); {
        rkt.0.topic.hooks().opaque as *mut c_void
    }
}
