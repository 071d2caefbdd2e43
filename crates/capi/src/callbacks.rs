//! The application's callbacks.

use std::ffi::{c_char, c_int, c_void};

use crate::abi::{MessageFields, PartitionList, RdKafka, RdKafkaEvent, RdKafkaTopic, event_type};

/// `void *opaque`
pub type Opaque = *mut c_void;

macro_rules! callbacks {
    ($($(#[$doc:meta])* $name:ident = fn($($arg:ty),*) $(-> $ret:ty)?;)*) => {$(
        $(#[$doc])*
        pub type $name = unsafe extern "C" fn($($arg),*) $(-> $ret)?;

        impl $crate::ffi::FromC for Option<$name> {
            type C = Option<$name>;
            unsafe fn from_c(c: Option<$name>) -> Option<Self> {
                Some(c)
            }
        }
    )*};
}

pub(crate) use callbacks;

callbacks! {
    /// `dr_cb`: client, payload, length, error, client's opaque, message's opaque.
    DrCb = fn(*const RdKafka, *mut c_void, usize, c_int, Opaque, Opaque);
    /// `dr_msg_cb`
    DrMsgCb = fn(*const RdKafka, *const MessageFields, Opaque);
    /// `consume_cb`
    ConsumeCb = fn(*mut MessageFields, Opaque);
    /// `rebalance_cb` and `offset_commit_cb`
    PartitionsCb = fn(*const RdKafka, c_int, *mut PartitionList, Opaque);
    /// `error_cb`
    ErrorCb = fn(*const RdKafka, c_int, *const c_char, Opaque);
    /// `throttle_cb`
    ThrottleCb = fn(*const RdKafka, *const c_char, i32, c_int, Opaque);
    /// `log_cb`
    LogCb = fn(*const RdKafka, c_int, *const c_char, *const c_char);
    /// `stats_cb`: returns 1 to keep the text.
    StatsCb = fn(*const RdKafka, *mut c_char, usize, Opaque) -> c_int;
    /// `socket_cb`
    SocketCb = fn(c_int, c_int, c_int, Opaque) -> c_int;
    /// `connect_cb`
    ConnectCb = fn(c_int, *const libc::sockaddr, c_int, *const c_char, Opaque) -> c_int;
    /// `closesocket_cb`
    CloseSocketCb = fn(c_int, Opaque) -> c_int;
    /// `open_cb`
    OpenCb = fn(*const c_char, c_int, libc::mode_t, Opaque) -> c_int;
    /// `resolve_cb`
    ResolveCb = fn(*const c_char, *const c_char, *const libc::addrinfo, *mut *mut libc::addrinfo, Opaque) -> c_int;
    /// `oauthbearer_token_refresh_cb`: client, `sasl.oauthbearer.config`, client's opaque.
    TokenRefreshCb = fn(*const RdKafka, *const c_char, Opaque);
    /// `ssl.certificate.verify_cb`: client, broker's name and id, error, depth, certificate, its size, buffer for the reason,
    /// its size, client's opaque. Returns whether the certificate is accepted.
    CertVerifyCb = fn(
        *const RdKafka, *const c_char, i32, *mut c_int, c_int, *const c_char, usize, *mut c_char, usize, Opaque
    ) -> c_int;
    /// `background_event_cb`
    BackgroundEventCb = fn(*const RdKafka, *mut RdKafkaEvent, Opaque);
    /// The callback of `rd_kafka_queue_cb_event_enable()`
    QueueCb = fn(*const RdKafka, Opaque);
    /// A topic's partitioner: topic, key, its length, partition count, topic's opaque, message's opaque.
    PartitionerCb = fn(*const RdKafkaTopic, *const c_void, usize, i32, Opaque, Opaque) -> i32;
    /// A topic's `msg_order_cmp`
    MessageOrderCb = fn(*const MessageFields, *const MessageFields) -> c_int;
}

/// The properties of the callbacks and their fields.
macro_rules! for_each_callback {
    ($macro:ident) => {
        $macro! {
            "dr_cb" dr;
            "dr_msg_cb" dr_msg;
            "consume_cb" consume;
            "rebalance_cb" rebalance;
            "offset_commit_cb" offset_commit;
            "error_cb" error;
            "throttle_cb" throttle;
            "log_cb" log;
            "stats_cb" stats;
            "socket_cb" socket;
            "connect_cb" connect;
            "closesocket_cb" closesocket;
            "open_cb" open;
            "resolve_cb" resolve;
            "background_event_cb" background_event;
            "oauthbearer_token_refresh_cb" token_refresh;
            "ssl.certificate.verify_cb" cert_verify;
        }
    };
}

macro_rules! names {
    ($($name:literal $field:ident;)*) => {
        &[$($name),*]
    };
}

/// The application's callbacks.
#[derive(Clone, Copy)]
#[allow(missing_docs)]
pub struct Callbacks {
    pub dr: Option<DrCb>,
    pub dr_msg: Option<DrMsgCb>,
    pub consume: Option<ConsumeCb>,
    pub rebalance: Option<PartitionsCb>,
    pub offset_commit: Option<PartitionsCb>,
    pub error: Option<ErrorCb>,
    pub throttle: Option<ThrottleCb>,
    pub log: Option<LogCb>,
    pub stats: Option<StatsCb>,
    pub socket: Option<SocketCb>,
    pub connect: Option<ConnectCb>,
    pub closesocket: Option<CloseSocketCb>,
    pub open: Option<OpenCb>,
    pub resolve: Option<ResolveCb>,
    pub background_event: Option<BackgroundEventCb>,
    pub token_refresh: Option<TokenRefreshCb>,
    pub cert_verify: Option<CertVerifyCb>,
    /// The events that go to queues, `RD_KAFKA_EVENT_*`.
    pub events: i32,
    /// The application's pointer for all callbacks.
    pub opaque: Opaque,
}

// SAFETY: functions and a pointer that is only handed back.
unsafe impl Send for Callbacks {}
// SAFETY: as above.
unsafe impl Sync for Callbacks {}

impl Default for Callbacks {
    fn default() -> Self {
        Callbacks {
            dr: None,
            dr_msg: None,
            consume: None,
            rebalance: None,
            offset_commit: None,
            error: None,
            throttle: None,
            log: None,
            stats: None,
            socket: None,
            connect: None,
            closesocket: None,
            open: None,
            resolve: None,
            background_event: None,
            token_refresh: None,
            cert_verify: None,
            events: 0,
            opaque: std::ptr::null_mut(),
        }
    }
}

impl Callbacks {
    /// The properties of the callbacks.
    pub const NAMES: &[&str] = for_each_callback!(names);

    /// Returns whether an event type is wanted on queues.
    pub fn wants(&self, event_type: i32) -> bool {
        self.events & event_type != 0
    }

    /// Returns whether the application takes delivery reports as events, from a queue of its own.
    pub fn takes_reports_as_events(&self) -> bool {
        self.wants(event_type::DR) && self.dr.is_none() && self.dr_msg.is_none()
    }

    /// Removes the callbacks for whose property `keep` returns false; `log_cb` becomes `default_log`.
    pub fn retain(&mut self, default_log: Option<LogCb>, keep: impl Fn(&str) -> bool) {
        let Callbacks {
            opaque, events, log, ..
        } = *self;
        let kept = *self;
        *self = Callbacks::default();
        macro_rules! keep_if {
            ($($name:literal $field:ident;)*) => {$(
                if keep($name) {
                    self.$field = kept.$field;
                }
            )*};
        }
        for_each_callback!(keep_if);
        self.log = if keep("log_cb") { log } else { default_log };
        self.opaque = if keep("opaque") { opaque } else { std::ptr::null_mut() };
        self.events = if keep("enabled_events") { events } else { 0 };
    }
}
