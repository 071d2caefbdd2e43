//! `rd_kafka_t`: creating, naming, destroying a client.

use std::cell::Cell;
use std::collections::{HashMap, VecDeque};
use std::ffi::{CString, c_char, c_int, c_void};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use ottla::client::{CallerPolling, Client, ClientHooks, DeliveryMode};
use ottla::error::{Error, ErrorCode};
use ottla::event::{Delivery, Queue};
use ottla::log::{DebugContexts, LogLine, level};
use ottla::reply::Reply;
use ottla::types::{ClientKind, NameMap, Topic};
use parking_lot::{Mutex, RwLock};

use crate::abi::{DESTROY_NO_CONSUMER_CLOSE, event_type};
use crate::background::Background;
use crate::callbacks::{Callbacks, Opaque, PartitionsCb};
use crate::cancel_guard::CancelGuard;
use crate::conf::ConfHandle;
use crate::ffi::{self, AnyProcess, Deadline, FromC, Owned, Tag, Tagged, Timeout, c_text, exports};
use crate::fork_guard;
use crate::interceptors::{ClientMethods, Interceptors, Watch};
use crate::live_clients;
use crate::log::LogState;
use crate::os_callbacks;
use crate::serve;
use crate::topic::{HandleSlot, TopicHandle, hooks};
use crate::topic_conf::TopicConfHandle;

/// `rd_kafka_t`
#[repr(C)]
pub struct Handle {
    tag: Tag,
    /// Where it was made.
    process: u32,
    kind: ClientKind,
    client: OnceLock<Client>,
    name: OnceLock<CString>,
    conf: ConfHandle,
    callbacks: Callbacks,
    interceptors: Interceptors,
    topics: RwLock<TopicTable>,
    /// Where log lines go.
    pub log: LogState,
    /// Delivery reports whose callbacks were interrupted by `rd_kafka_yield()`, with the place to go on.
    pub(crate) half_served: Mutex<VecDeque<(Delivery, usize)>>,
    /// Somebody has given the client back. Its last callbacks still use the handle.
    destroying: AtomicBool,
    consumer_closed: AtomicBool,
    /// A close that `rd_kafka_consumer_close_queue()` began.
    closing: Mutex<Option<CloseReply>>,
    commit_callbacks: Mutex<CommitCallbacks>,
    background: Mutex<Option<Background>>,
    this: Weak<Handle>,
}

/// The answer to closing a consumer.
pub type CloseReply = Arc<Reply<Result<(), Error>>>;

/// Callbacks given with `rd_kafka_commit_queue()`, by the token that travels with the commit.
#[derive(Default)]
struct CommitCallbacks {
    by_token: HashMap<usize, CommitCallback>,
    last: usize,
}

/// A callback with its pointer.
struct CommitCallback(Option<PartitionsCb>, Opaque);

// SAFETY: a function and a pointer that is only handed back to it.
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

/// The handles destroyed last are kept as empty shells, so that a call with one of them gives an error instead of
/// reading freed memory.
static DESTROYED: Mutex<VecDeque<Arc<Handle>>> = Mutex::new(VecDeque::new());
const SHELLS_KEPT: usize = 8;

thread_local! {
    static YIELD: Cell<bool> = const { Cell::new(false) };
}

/// Whether a callback called `rd_kafka_yield()`; forgets it.
pub fn take_yield() -> bool {
    YIELD.replace(false)
}

impl Handle {
    /// The client; `None` while it is being created and after it was destroyed.
    pub fn client(&self) -> Option<&Client> {
        self.client.get()
    }

    /// The client, or the error that tells why there is none.
    pub fn need_client(&self) -> Result<&Client, Error> {
        self.client()
            .ok_or_else(|| Error::new(ErrorCode::L_DESTROY, "The client was destroyed"))
    }

    /// The client of a consumer.
    pub fn need_consumer(&self) -> Result<&Client, Error> {
        match self.kind {
            ClientKind::Consumer => self.need_client(),
            ClientKind::Producer => Err(Error::new(
                ErrorCode::L_UNKNOWN_GROUP,
                "The client is a producer, not a consumer",
            )),
        }
    }

    /// The client of a consumer that can be a member of a group.
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

    /// The application's callbacks.
    pub fn callbacks(&self) -> &Callbacks {
        &self.callbacks
    }

    /// The interceptors.
    #[inline]
    pub fn interceptors(&self) -> &Interceptors {
        &self.interceptors
    }

    /// Logs a warning, also before the client is there and after it was destroyed.
    pub fn warn(&self, facility: &'static str, message: impl FnOnce() -> String) {
        match self.client() {
            Some(client) => client.shared().log.log(level::WARNING, facility, message),
            None => self.log.write(
                self,
                LogLine {
                    level: level::WARNING,
                    facility,
                    message: message(),
                    contexts: DebugContexts::default(),
                },
            ),
        }
    }

    fn end_interceptors(&self) {
        if let Some(methods) = self.interceptors.get() {
            methods.ended(self);
        }
    }

    fn intercepts_sending(&self) -> bool {
        self.interceptors.get().is_some_and(ClientMethods::see_messages_sent)
    }

    /// The settings it was created with.
    pub fn conf(&self) -> &ConfHandle {
        &self.conf
    }

    /// Counted reference to this handle.
    pub fn shared(&self) -> Option<Arc<Handle>> {
        self.this.upgrade()
    }

    /// What callbacks are given as the client.
    pub fn as_ptr(&self) -> *const Handle {
        self
    }

    /// Whether what comes to `queue` is forwarded to the background thread.
    pub fn serves_in_background(&self, queue: &Arc<Queue>) -> bool {
        self.background.lock().as_ref().is_some_and(|b| b.serves(queue))
    }

    /// Marks the consumer as closed.
    pub fn set_consumer_closed(&self) {
        self.consumer_closed.store(true, Ordering::Release);
    }

    /// Whether the consumer was closed.
    pub fn is_consumer_closed(&self) -> bool {
        self.consumer_closed.load(Ordering::Acquire)
    }

    /// Begins to close the consumer, once.
    pub fn begin_close(&self, client: &Client) -> Result<(), Error> {
        let mut closing = self.closing.lock();
        if closing.is_none() && !self.is_consumer_closed() {
            *closing = Some(client.close_consumer()?);
        }
        Ok(())
    }

    /// Whether a close that was begun is done.
    pub fn poll_closed(&self) -> bool {
        let mut closing = self.closing.lock();
        if closing.as_ref().is_some_and(|reply| reply.try_take().is_some()) {
            *closing = None;
            self.set_consumer_closed();
        }
        self.is_consumer_closed()
    }

    /// Keeps the callback of a commit until its result is served; gives the token that finds it.
    pub fn keep_commit_callback(&self, callback: Option<PartitionsCb>, opaque: Opaque) -> usize {
        let mut callbacks = self.commit_callbacks.lock();
        callbacks.last += 1;
        let token = callbacks.last;
        callbacks.by_token.insert(token, CommitCallback(callback, opaque));
        token
    }

    /// The callback of a commit; `None` for a commit without one of its own.
    pub fn take_commit_callback(&self, token: usize) -> Option<(Option<PartitionsCb>, Opaque)> {
        self.commit_callbacks.lock().by_token.remove(&token).map(|c| (c.0, c.1))
    }

    /// The background queue. Its thread is started with it.
    pub fn background_queue(&self) -> Result<Arc<Queue>, Error> {
        let destroyed = || Error::new(ErrorCode::L_DESTROY, "The client was destroyed");
        let mut background = self.background.lock();
        if self.destroying.load(Ordering::Acquire) {
            return Err(destroyed());
        }
        if background.is_none() {
            *background = Some(Background::start(self.shared().ok_or_else(destroyed)?)?);
        }
        background.as_ref().map(|b| b.queue().clone()).ok_or_else(destroyed)
    }

    /// Returns when no topic is being created by another thread.
    pub fn wait_for_topic_table(&self) {
        drop(self.topics.read());
    }

    /// The handle of a topic that the core knows.
    pub fn topic_handle(&self, topic: &Arc<Topic>) -> Arc<TopicHandle> {
        if let Some(Some(handle)) = self.topics.read().by_index.get(topic.index()) {
            return handle.clone();
        }
        let mut topics = self.topics.write();
        if let Some(Some(handle)) = topics.by_index.get(topic.index()) {
            return handle.clone();
        }
        // The core gave the topic, so there is a client.
        let client = self.client().cloned();
        let handle = TopicHandle::new(topic.clone(), client, self.this.clone(), self.intercepts_sending());
        let handle = Arc::new(handle);
        topics.insert(&handle);
        handle
    }

    /// The handle of the topic of that name, which is created with the default topic settings when it is new.
    pub fn topic_named(&self, name: &str) -> Result<Arc<TopicHandle>, Error> {
        if let Some(handle) = self.topics.read().by_name.get(name) {
            return Ok(handle.clone());
        }
        self.create_topic(name, None)
    }

    /// The handle of the topic of that name, which is created with these settings when it is new.
    pub fn create_topic(&self, name: &str, given: Option<&TopicConfHandle>) -> Result<Arc<TopicHandle>, Error> {
        let client = self.need_client()?;
        let settings = given.map(|c| c.settings(self.conf.conf(), self.kind)).transpose()?;
        let conf = given.or(self.conf.default_topic());
        let mut topics = self.topics.write();
        if let Some(handle) = topics.by_name.get(name) {
            return Ok(handle.clone());
        }
        // The slot is filled before the table is unlocked: the partitioner waits for that.
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

    /// The handles of all topics.
    pub fn topic_handles(&self) -> Vec<Arc<TopicHandle>> {
        self.topics.read().by_index.iter().flatten().cloned().collect()
    }
}

fn client_hooks(callbacks: &Callbacks, only_error: bool, this: &Weak<Handle>) -> ClientHooks {
    let reports = callbacks.dr.is_some() || callbacks.dr_msg.is_some() || callbacks.wants(event_type::DR);
    let (this, to_name) = (this.clone(), this.clone());
    ClientHooks {
        named: Some(Arc::new(move |name: &str| {
            if let Some(handle) = to_name.upgrade() {
                let _ = handle.name.set(c_text(name));
            }
        })),
        log: Some(Arc::new(move |line: LogLine| {
            if let Some(handle) = this.upgrade() {
                handle.log.write(&handle, line);
            }
        })),
        // The face has its own log queue, see `LogState`.
        log_to_queue: false,
        delivery: match (reports, only_error) {
            (false, _) => DeliveryMode::None,
            (true, true) => DeliveryMode::ErrorsOnly,
            (true, false) => DeliveryMode::All,
        },
        rebalance_event: callbacks.rebalance.is_some() || callbacks.wants(event_type::REBALANCE),
        commit_event: callbacks.offset_commit.is_some() || callbacks.wants(event_type::OFFSET_COMMIT),
        commit_callback: callbacks.offset_commit.is_some(),
        error_event: callbacks.error.is_some() || callbacks.wants(event_type::ERROR),
        throttle_event: callbacks.throttle.is_some(),
        interceptor: None,
        stats_event: callbacks.stats.is_some() || callbacks.wants(event_type::STATS),
        system: os_callbacks::hooks(callbacks),
        caller_polling: CallerPolling::Enabled,
    }
}

fn create(kind: c_int, mut conf: ConfHandle) -> Result<Arc<Handle>, Error> {
    let _uncancelled = CancelGuard::new();
    let kind = match kind {
        0 => ClientKind::Producer,
        1 => ClientKind::Consumer,
        other => {
            return Err(Error::invalid_arg(format!(
                "{other} is no client type: 0 is a producer, 1 a consumer"
            )));
        }
    };
    fork_guard::watch();
    let callbacks = *conf.callbacks();
    let warnings = conf.conf().warnings(kind);
    let (settings, topic_settings) = conf.resolve(kind)?;
    let log = LogState::new(callbacks.log, settings.log_queue, settings.log_thread_name);
    let only_error = settings.delivery_report_only_error;
    let handle = Arc::new_cyclic(|this| Handle {
        tag: Tag::new(Handle::TAG),
        process: fork_guard::depth(),
        kind,
        client: OnceLock::new(),
        name: OnceLock::new(),
        callbacks,
        interceptors: Interceptors::default(),
        topics: RwLock::default(),
        log,
        half_served: Mutex::default(),
        destroying: AtomicBool::new(false),
        consumer_closed: AtomicBool::new(false),
        closing: Mutex::default(),
        commit_callbacks: Mutex::default(),
        background: Mutex::default(),
        this: this.clone(),
        conf,
    });
    handle.conf.interceptors().client_made(&handle, &handle.conf);
    handle.interceptors.fix();
    let hooks = ClientHooks {
        interceptor: Watch::of(&handle),
        ..client_hooks(&callbacks, only_error, &handle.this)
    };
    let client = Client::new(kind, settings, topic_settings, hooks).inspect_err(|_| handle.end_interceptors())?;
    let client = handle.client.get_or_init(|| client);
    if callbacks.background_event.is_some() {
        handle.background_queue()?;
    }
    for line in handle.conf.conf().shown() {
        client.shared().log.debug(DebugContexts::CONF, "CONF", || line);
    }
    for warning in warnings {
        client.shared().log.log(level::WARNING, "CONFWARN", || warning);
    }
    live_clients::add();
    Ok(handle)
}

/// Destroys a client in a child of its process: memory stays, since threads that are not here may have been at it.
fn abandon(handle: &Handle) {
    handle.tag.clear();
    if let Some(client) = handle.client() {
        client.destroy();
    }
}

/// Ends a client: its thread, its queues, what was not delivered.
fn destroy(handle: &Arc<Handle>, flags: c_int) {
    let Some(client) = handle.client() else { return };
    let told = || format!("destroying {}", client.name());
    client.shared().log.debug(DebugContexts::GENERIC, "DESTROY", told);
    if handle.need_group().is_ok() && !handle.is_consumer_closed() {
        if flags & DESTROY_NO_CONSUMER_CLOSE == 0 {
            // Whatever went wrong, the client ends now.
            let _ = serve::close_consumer(handle);
        }
        handle.set_consumer_closed();
    }
    let background = handle.background.lock().take();
    if let Some(background) = background {
        background.stop();
    }
    handle.topic_handles().iter().for_each(|t| t.retire());
    handle.half_served.lock().clear();
    client.destroy();
    // Until its thread has ended the client logs, and `log_cb` asks the handle for its name and its opaque.
    handle.tag.clear();
    // The shell that stays behind keeps none of it.
    drop(std::mem::take(&mut *handle.topics.write()));
    drop(std::mem::take(&mut *handle.commit_callbacks.lock()));
    handle.log.close();
    handle.end_interceptors();
    handle.conf.interceptors().end();
    live_clients::remove();
}

exports! {
    /// Creates a client. `conf` is taken when that succeeds.
    fn rd_kafka_new(kind: i32, conf: *mut ConfHandle, errstr: *mut c_char, size: usize)
        -> *const Handle, or std::ptr::null();
    {
        // SAFETY: NULL or the application's settings.
        let given = match unsafe { <Option<&ConfHandle>>::from_c(conf) } {
            Some(given) => given.map_or_else(ConfHandle::new, ConfHandle::for_client),
            None => {
                // SAFETY: the caller's buffer.
                unsafe { ffi::put_text(errstr, size, "conf is not a live configuration object") };
                ffi::set_last_error(ErrorCode::L_INVALID_ARG, libc::EINVAL);
                return std::ptr::null();
            }
        };
        match create(kind, given) {
            Ok(handle) => {
                // SAFETY: the settings belong to the client now.
                drop(unsafe { <Owned<ConfHandle>>::from_c(conf) });
                ffi::set_last_error(ErrorCode::NO_ERROR, 0);
                Arc::into_raw(handle)
            }
            Err(error) => {
                // SAFETY: the caller's buffer.
                unsafe { ffi::put_text(errstr, size, &error.message) };
                ffi::note(&error);
                std::ptr::null()
            }
        }
    }

    /// Destroys a client.
    fn rd_kafka_destroy(rk: *const Handle) {
        // SAFETY: as for the other function.
        unsafe { rd_kafka_destroy_flags(rk.cast_mut(), 0) };
    }

    /// Destroys a client, as flags say.
    fn rd_kafka_destroy_flags(rk: *mut Handle, flags: i32) {
        // SAFETY: NULL or a handle.
        let Some(AnyProcess(handle)) = (unsafe { AnyProcess::from_c(rk.cast_const()) }) else {
            return;
        };
        if handle.destroying.swap(true, Ordering::AcqRel) {
            return;
        }
        let _uncancelled = CancelGuard::new();
        if !handle.is_own() {
            return abandon(handle);
        }
        // SAFETY: made by `rd_kafka_new` and given back once: only one caller finds the flag unset.
        let handle = unsafe { Arc::from_raw(rk.cast_const()) };
        destroy(&handle, flags);
        let mut destroyed = DESTROYED.lock();
        destroyed.push_back(handle);
        let oldest = (destroyed.len() > SHELLS_KEPT).then(|| destroyed.pop_front());
        drop(destroyed);
        drop(oldest);
    }

    /// The client's name.
    fn rd_kafka_name(rk: AnyProcess<'_, Handle>) -> *const c_char, or std::ptr::null(); {
        rk.0.name().as_ptr()
    }

    /// Producer or consumer.
    fn rd_kafka_type(rk: AnyProcess<'_, Handle>) -> i32, or -1; {
        match rk.0.kind {
            ClientKind::Producer => 0,
            ClientKind::Consumer => 1,
        }
    }

    /// The application's pointer.
    fn rd_kafka_opaque(rk: AnyProcess<'_, Handle>) -> *mut c_void, or std::ptr::null_mut(); {
        rk.0.callbacks.opaque
    }

    /// The client's settings, which stay the client's.
    fn rd_kafka_conf(rk: AnyProcess<'_, Handle>) -> *const ConfHandle, or std::ptr::null(); {
        &raw const rk.0.conf
    }

    /// Serves the main queue's callbacks.
    fn rd_kafka_poll(rk: &Handle, timeout: Timeout) -> i32, or 0; {
        match rk.client() {
            Some(client) => serve::poll(rk, client.main_queue(), &Deadline::new(timeout)),
            None => 0,
        }
    }

    /// Lets the call that is serving callbacks on this thread return.
    fn rd_kafka_yield(rk: *const Handle) {
        let _ = rk;
        YIELD.set(true);
    }

    /// Adds bootstrap brokers.
    fn rd_kafka_brokers_add(rk: &Handle, list: &str) -> i32, or 0; {
        rk.client().map_or(0, |c| i32::try_from(c.add_brokers(list)).unwrap_or(i32::MAX))
    }

    /// Threads that clients of this process run.
    fn rd_kafka_thread_cnt() -> i32, or 0; {
        i32::try_from(fork_guard::threads()).unwrap_or(i32::MAX)
    }

    /// Waits until every client is destroyed; -1 when the time is up.
    fn rd_kafka_wait_destroyed(timeout: Timeout) -> i32, or -1; {
        if live_clients::wait_for_none(&Deadline::new(timeout)) {
            return 0;
        }
        ffi::set_last_error(ErrorCode::L_TIMED_OUT, libc::ETIMEDOUT);
        -1
    }

    /// The member id in the consumer's group, malloc'ed; NULL without one.
    fn rd_kafka_memberid(rk: &Handle) -> *mut c_char, or std::ptr::null_mut(); {
        let id = rk.need_group().and_then(Client::member_id).ok();
        id.map_or(std::ptr::null_mut(), |id| ffi::malloc_text(&id))
    }
}
