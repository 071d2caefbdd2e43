//! The types of `rd_kafka_t` and `rd_kafka_topic_t`.

use std::any::Any;
use std::cell::Cell;
use std::collections::{HashMap, VecDeque};
use std::ffi::{CStr, CString, c_void};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use ottla_core::client::Client;
use ottla_core::error::{Error, ErrorCode};
use ottla_core::event::{Delivery, Queue};
use ottla_core::log::{DebugContexts, LogLine, level};
use ottla_core::reply::Reply;
use ottla_core::types::{ClientKind, NameMap, PARTITION_UA, Topic, TopicHooks};
use parking_lot::{Mutex, RwLock};

use crate::abi::RdKafka;
use crate::background_thread::Background;
use crate::callbacks::{Callbacks, Opaque, PartitionerCb, PartitionsCb};
use crate::cancel_guard::CancelGuard;
use crate::ffi::{Tag, Tagged, c_text};
use crate::fork_guard;
use crate::interceptors::{ClientMethods, Intercepted, Interceptors};
use crate::log_state::LogState;
use crate::mock_cluster::MockCluster;
use crate::settings::ConfHandle;
use crate::topic_conf::TopicConfHandle;

/// `rd_kafka_t`
#[repr(C)]
pub struct Handle {
    tag: Tag,
    /// The process that created it, see [`fork_guard::depth`].
    process: u32,
    kind: ClientKind,
    client: OnceLock<Client>,
    name: OnceLock<CString>,
    conf: ConfHandle,
    callbacks: Callbacks,
    interceptors: Interceptors,
    topics: RwLock<TopicTable>,
    /// The log.
    pub log: LogState,
    /// Delivery reports whose callbacks were interrupted by `rd_kafka_yield()`, with the index of the next record.
    pub(crate) half_served: Mutex<VecDeque<(Delivery, usize)>>,
    /// `rd_kafka_destroy()` was called. The last callbacks still use the handle.
    destroying: AtomicBool,
    consumer_closed: AtomicBool,
    /// The pending close of `rd_kafka_consumer_close_queue()`.
    closing: Mutex<Option<CloseReply>>,
    commit_callbacks: Mutex<CommitCallbacks>,
    background: Mutex<Option<Background>>,
    /// The cluster of `test.mock.num.brokers`, once the application has asked for it.
    embedded: OnceLock<MockCluster>,
    this: Weak<Handle>,
}

/// The result of closing a consumer.
pub type CloseReply = Arc<Reply<Result<(), Error>>>;

/// Callbacks given with `rd_kafka_commit_queue()`, by the token that travels with the commit.
#[derive(Default)]
struct CommitCallbacks {
    by_token: HashMap<usize, CommitCallback>,
    last: usize,
}

/// A callback with its pointer.
struct CommitCallback(Option<PartitionsCb>, Opaque);

// SAFETY: a function and a pointer that is only passed to it.
unsafe impl Send for CommitCallback {}

// SAFETY: repr(C), tag first.
unsafe impl Tagged for Handle {
    const TAG: u32 = 0x0e44_0a05;

    #[inline]
    fn is_own(&self) -> bool {
        self.process == fork_guard::depth()
    }
}

#[derive(Default)]
struct TopicTable {
    by_index: Vec<Option<Arc<TopicHandle>>>,
    by_name: NameMap<Arc<TopicHandle>>,
}

impl TopicTable {
    fn insert(&mut self, handle: &Arc<TopicHandle>) {
        let index = handle.topic().index();
        if self.by_index.len() <= index {
            self.by_index.resize(index + 1, None);
        }
        if let Some(slot) = self.by_index.get_mut(index) {
            *slot = Some(handle.clone());
        }
        self.by_name.insert(handle.topic().shared_name(), handle.clone());
    }
}

thread_local! {
    static YIELD: Cell<bool> = const { Cell::new(false) };
}

/// Sets the flag of `rd_kafka_yield()` for this thread.
pub fn set_yield() {
    YIELD.set(true);
}

/// Returns whether a callback called `rd_kafka_yield()` on this thread, and clears the flag.
pub fn take_yield() -> bool {
    YIELD.replace(false)
}

impl Intercepted for Handle {
    fn client_ptr(&self) -> *const RdKafka {
        self.as_ptr()
    }

    fn warn_of_failure(&self, text: &dyn Fn() -> String) {
        self.warn("ICFAIL", text);
    }
}

impl Handle {
    /// Makes the handle of a client that is still to be created; see [`start`](Self::start).
    pub(crate) fn new(kind: ClientKind, conf: ConfHandle, log: LogState) -> Arc<Handle> {
        Arc::new_cyclic(|this| Handle {
            tag: Tag::new(Handle::TAG),
            process: fork_guard::depth(),
            kind,
            client: OnceLock::new(),
            name: OnceLock::new(),
            callbacks: *conf.callbacks(),
            interceptors: Interceptors::default(),
            topics: RwLock::default(),
            log,
            half_served: Mutex::default(),
            destroying: AtomicBool::new(false),
            consumer_closed: AtomicBool::new(false),
            closing: Mutex::default(),
            commit_callbacks: Mutex::default(),
            background: Mutex::default(),
            embedded: OnceLock::new(),
            this: this.clone(),
            conf,
        })
    }

    /// Sets the client, once.
    pub(crate) fn start(&self, client: Client) -> &Client {
        self.client.get_or_init(|| client)
    }

    /// Sets the client's name, once.
    pub(crate) fn set_name(&self, name: &str) {
        let _ = self.name.set(c_text(name));
    }

    /// Marks the client as being destroyed; false if it was marked before.
    pub(crate) fn begin_destroy(&self) -> bool {
        !self.destroying.swap(true, Ordering::AcqRel)
    }

    /// Makes every later call with the handle fail.
    pub(crate) fn invalidate(&self) {
        self.tag.clear();
        if let Some(cluster) = self.embedded.get() {
            cluster.invalidate();
        }
    }

    /// Returns the cluster of `test.mock.num.brokers`.
    pub(crate) fn embedded_cluster(&self) -> Option<&MockCluster> {
        let cluster = self.client()?.embedded()?;
        let handle: Weak<dyn Any + Send + Sync> = self.this.clone();
        Some(self.embedded.get_or_init(|| MockCluster::of_client(&cluster, handle)))
    }

    /// Ends the background thread; returns when the callback that it is in has returned.
    pub(crate) fn stop_background(&self) {
        let background = self.background.lock().take();
        if let Some(background) = background {
            background.stop();
        }
    }

    /// Drops topics and callbacks of commits.
    pub(crate) fn clear_tables(&self) {
        drop(std::mem::take(&mut *self.topics.write()));
        drop(std::mem::take(&mut *self.commit_callbacks.lock()));
    }

    /// Returns the client; `None` while it is being created and after it was destroyed.
    pub fn client(&self) -> Option<&Client> {
        self.client.get()
    }

    /// Returns the client, or an error if it was destroyed.
    pub fn need_client(&self) -> Result<&Client, Error> {
        self.client()
            .ok_or_else(|| Error::new(ErrorCode::L_DESTROY, "The client was destroyed"))
    }

    /// Returns the client of a consumer.
    pub fn need_consumer(&self) -> Result<&Client, Error> {
        match self.kind {
            ClientKind::Consumer => self.need_client(),
            ClientKind::Producer => Err(Error::new(
                ErrorCode::L_UNKNOWN_GROUP,
                "The client is a producer, not a consumer",
            )),
            ClientKind::ShareConsumer => Err(Error::new(
                ErrorCode::L_UNKNOWN_GROUP,
                "The client is a share consumer, which has functions of its own",
            )),
        }
    }

    /// Returns the client of a consumer that can be a member of a group.
    pub fn need_group(&self) -> Result<&Client, Error> {
        let client = self.need_consumer()?;
        if client.conf().group_id.is_empty() {
            return Err(Error::new(ErrorCode::L_UNKNOWN_GROUP, "group.id is not set"));
        }
        Ok(client)
    }

    /// Producer or consumer.
    pub fn kind(&self) -> ClientKind {
        self.kind
    }

    /// `client.id#type-N`, known before the client's first log line.
    pub fn name(&self) -> &std::ffi::CStr {
        self.name.get().map_or(c"", CString::as_c_str)
    }

    /// Returns the application's callbacks.
    pub fn callbacks(&self) -> &Callbacks {
        &self.callbacks
    }

    /// Returns the interceptors.
    #[inline]
    pub fn interceptors(&self) -> &Interceptors {
        &self.interceptors
    }

    /// Logs a warning, also before the client is there and after it was destroyed.
    pub fn warn(&self, facility: &'static str, message: impl FnOnce() -> String) {
        match self.client() {
            Some(client) => client.shared().log.log(level::WARNING, facility, message),
            None => self.log.write(
                self.as_ptr(),
                LogLine {
                    level: level::WARNING,
                    facility,
                    message: message(),
                    contexts: DebugContexts::default(),
                },
            ),
        }
    }

    fn intercepts_sending(&self) -> bool {
        self.interceptors.get().is_some_and(ClientMethods::see_messages_sent)
    }

    /// Returns the settings it was created with.
    pub fn conf(&self) -> &ConfHandle {
        &self.conf
    }

    /// Counted reference to this handle.
    pub fn shared(&self) -> Option<Arc<Handle>> {
        self.this.upgrade()
    }

    /// Returns the pointer that callbacks receive as the client.
    pub fn as_ptr(&self) -> *const RdKafka {
        (&raw const *self).cast()
    }

    /// Returns whether `queue` is forwarded to the background thread.
    pub fn serves_in_background(&self, queue: &Arc<Queue>) -> bool {
        self.background.lock().as_ref().is_some_and(|b| b.serves(queue))
    }

    /// Marks the consumer as closed.
    pub fn set_consumer_closed(&self) {
        self.consumer_closed.store(true, Ordering::Release);
    }

    /// Returns whether the consumer was closed.
    pub fn is_consumer_closed(&self) -> bool {
        self.consumer_closed.load(Ordering::Acquire)
    }

    /// Starts to close the consumer, once.
    pub fn begin_close(&self, client: &Client) -> Result<(), Error> {
        let mut closing = self.closing.lock();
        if closing.is_none() && !self.is_consumer_closed() {
            *closing = Some(client.close_consumer()?);
        }
        Ok(())
    }

    /// Returns whether a close that was begun is done.
    pub fn poll_closed(&self) -> bool {
        let mut closing = self.closing.lock();
        if closing.as_ref().is_some_and(|reply| reply.try_take().is_some()) {
            *closing = None;
            self.set_consumer_closed();
        }
        self.is_consumer_closed()
    }

    /// Waits until a close that was begun is done, or until the timeout.
    pub fn wait_for_close(&self, timeout: Duration) {
        let closing = self.closing.lock().clone();
        if let Some(reply) = closing {
            reply.wait_until_filled(Some(timeout));
        }
    }

    /// Keeps the callback of a commit until its result is served; returns the token for
    /// [`take_commit_callback`](Self::take_commit_callback).
    pub fn keep_commit_callback(&self, callback: Option<PartitionsCb>, opaque: Opaque) -> usize {
        let mut callbacks = self.commit_callbacks.lock();
        callbacks.last += 1;
        let token = callbacks.last;
        callbacks.by_token.insert(token, CommitCallback(callback, opaque));
        token
    }

    /// Returns the callback of a commit; `None` for a commit without its own callback.
    pub fn take_commit_callback(&self, token: usize) -> Option<(Option<PartitionsCb>, Opaque)> {
        self.commit_callbacks.lock().by_token.remove(&token).map(|c| (c.0, c.1))
    }

    /// Returns the background queue. The first call starts the thread that runs `serve`, which returns when the flag is
    /// set.
    ///
    /// # Errors
    /// The client was destroyed, or the operating system starts no thread.
    pub fn background_queue(&self, serve: fn(&Handle, &Arc<Queue>, &AtomicBool)) -> Result<Arc<Queue>, Error> {
        let destroyed = || Error::new(ErrorCode::L_DESTROY, "The client was destroyed");
        let mut background = self.background.lock();
        if self.destroying.load(Ordering::Acquire) {
            return Err(destroyed());
        }
        if background.is_none() {
            let handle = self.shared().ok_or_else(destroyed)?;
            *background = Some(Background::start(move |queue, ending| serve(&handle, queue, ending))?);
        }
        background.as_ref().map(|b| b.queue().clone()).ok_or_else(destroyed)
    }

    /// Returns when no topic is being created by another thread.
    pub fn wait_for_topic_table(&self) {
        drop(self.topics.read());
    }

    /// Returns the handle of a topic of the core.
    pub fn topic_handle(&self, topic: &Arc<Topic>) -> Arc<TopicHandle> {
        if let Some(Some(handle)) = self.topics.read().by_index.get(topic.index()) {
            return handle.clone();
        }
        let mut topics = self.topics.write();
        if let Some(Some(handle)) = topics.by_index.get(topic.index()) {
            return handle.clone();
        }
        // The topic is from the core, so there is a client.
        let client = self.client().cloned();
        let handle = TopicHandle::new(topic.clone(), client, self.this.clone(), self.intercepts_sending());
        let handle = Arc::new(handle);
        topics.insert(&handle);
        handle
    }

    /// Returns the handle of the topic of that name, which is created with the default topic settings when it is new.
    pub fn topic_named(&self, name: &str) -> Result<Arc<TopicHandle>, Error> {
        if let Some(handle) = self.topics.read().by_name.get(name) {
            return Ok(handle.clone());
        }
        self.create_topic(name, None)
    }

    /// Returns the handle of the topic of that name, which is created with these settings when it is new.
    pub fn create_topic(&self, name: &str, given: Option<&TopicConfHandle>) -> Result<Arc<TopicHandle>, Error> {
        let client = self.need_client()?;
        let settings = given.map(|c| c.settings(self.conf.conf(), self.kind)).transpose()?;
        let conf = given.or(self.conf.default_topic());
        let mut topics = self.topics.write();
        if let Some(handle) = topics.by_name.get(name) {
            return Ok(handle.clone());
        }
        // The slot must be filled before the table is unlocked: the partitioner waits for the lock.
        let slot = HandleSlot::default();
        let topic = client.topic(name, settings, hooks(conf, &self.this, &slot))?;
        let (client_too, owner) = (Some(client.clone()), self.this.clone());
        let handle = Arc::new(TopicHandle::new(topic, client_too, owner, self.intercepts_sending()));
        slot.fill(&handle);
        topics.insert(&handle);
        drop(topics);
        // Those of the default topic settings were logged with the client's.
        for warning in given.into_iter().flat_map(|c| c.conf().warnings(self.kind)) {
            client.shared().log.log(level::WARNING, "CONFWARN", || warning);
        }
        Ok(handle)
    }

    /// Returns the handles of all topics.
    pub fn topic_handles(&self) -> Vec<Arc<TopicHandle>> {
        self.topics.read().by_index.iter().flatten().cloned().collect()
    }
}

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
    /// The process that created it, see [`fork_guard::depth`].
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
    /// Returns a handle for a topic of `owner`.
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

    /// Returns its name.
    pub fn name(&self) -> &CStr {
        &self.name
    }

    /// Returns the topic.
    pub fn topic(&self) -> &Arc<Topic> {
        &self.topic
    }

    /// Returns its client, unless that was destroyed.
    pub fn client(&self) -> Result<&Client, Error> {
        match &self.client {
            Some(client) if !self.gone.load(Ordering::Relaxed) => Ok(client),
            _ => Err(Error::new(ErrorCode::L_DESTROY, "The topic's client was destroyed")),
        }
    }

    /// Returns whether interceptors see what is produced to it.
    pub fn is_intercepted(&self) -> bool {
        self.intercepted
    }

    /// Refuses every later use: the client is being destroyed.
    pub fn retire(&self) {
        self.gone.store(true, Ordering::Relaxed);
    }

    /// Returns its client's handle; `None` when that was destroyed.
    pub fn owner(&self) -> Option<Arc<Handle>> {
        self.owner.upgrade()
    }
}

/// The topic handle that a partitioner is called with; filled once the handle exists.
#[derive(Clone, Default)]
struct HandleSlot(Arc<OnceLock<Weak<TopicHandle>>>);

impl HandleSlot {
    /// Fills it, once.
    fn fill(&self, handle: &Arc<TopicHandle>) {
        let _ = self.0.set(Arc::downgrade(handle));
    }
}

/// Builds the hooks of a topic from the application's callbacks.
fn hooks(conf: Option<&TopicConfHandle>, owner: &Weak<Handle>, slot: &HandleSlot) -> TopicHooks {
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
) -> ottla_core::types::PartitionerFn {
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
                Arc::as_ptr(&handle).cast(),
                key.cast(),
                key_len,
                partition_count,
                topic_opaque as *mut c_void,
                message_opaque as *mut c_void,
            )
        }
    })
}
