//! Interceptors of a client.

use std::ffi::{CStr, c_void};
use std::sync::OnceLock;

use ottla::error::ErrorCode;
use parking_lot::Mutex;

use super::{
    Methods, OnBrokerStateChange, OnCommit, OnDestroy, OnMessage, OnRequestSent, OnResponseReceived, OnThread,
    ThreadType,
};
use crate::callbacks::Opaque;
use crate::ffi::exports;
use crate::handle::Handle;
use crate::message::Message;

/// The interceptors of a client.
pub struct Interceptors {
    /// While the client is being made.
    adding: Mutex<Option<Box<ClientMethods>>>,
    /// Afterwards, when there are any.
    fixed: OnceLock<Box<ClientMethods>>,
}

impl Default for Interceptors {
    fn default() -> Self {
        Interceptors {
            adding: Mutex::new(Some(Box::default())),
            fixed: OnceLock::new(),
        }
    }
}

impl Interceptors {
    /// The interceptors' methods; `None` when there are none.
    #[inline]
    pub fn get(&self) -> Option<&ClientMethods> {
        self.fixed.get().map(|methods| &**methods)
    }

    /// Takes no more.
    pub fn fix(&self) {
        if let Some(methods) = self.adding.lock().take().filter(|m| !m.is_empty()) {
            let _ = self.fixed.set(methods);
        }
    }

    fn add<F: Copy>(
        &self,
        list: impl FnOnce(&mut ClientMethods) -> &mut Methods<F>,
        name: &str,
        (call, address): (F, usize),
        opaque: Opaque,
    ) -> ErrorCode {
        match self.adding.lock().as_mut() {
            Some(methods) => list(methods).add(name, call, address, opaque),
            None => ErrorCode::L_STATE,
        }
    }
}

/// The lists, and the functions that add to them.
macro_rules! methods {
    ($($(#[$doc:meta])* $name:ident($ty:ty) = $list:ident;)*) => {
        /// The methods of all interceptors of a client.
        #[derive(Default)]
        pub struct ClientMethods {
            $(pub(super) $list: Methods<$ty>,)*
        }

        impl ClientMethods {
            fn is_empty(&self) -> bool {
                true $(&& self.$list.is_empty())*
            }
        }

        exports! {$(
            $(#[$doc])*
            fn $name(rk: &Handle, ic_name: &str, method: Option<$ty>, opaque: *mut c_void)
                -> ErrorCode, or ErrorCode::L_INVALID_ARG;
            {
                let Some(method) = method else { return ErrorCode::L_INVALID_ARG };
                rk.interceptors().add(|methods| &mut methods.$list, ic_name, (method, method as usize), opaque)
            }
        )*}
    };
}

methods! {
    /// Adds a method that hears of the client's end.
    rd_kafka_interceptor_add_on_destroy(OnDestroy) = on_destroy;
    /// Adds a method for messages that are produced.
    rd_kafka_interceptor_add_on_send(OnMessage) = on_send;
    /// Adds a method for messages that were delivered or have failed.
    rd_kafka_interceptor_add_on_acknowledgement(OnMessage) = on_acknowledgement;
    /// Adds a method for messages that the application is about to get.
    rd_kafka_interceptor_add_on_consume(OnMessage) = on_consume;
    /// Adds a method for results of commits.
    rd_kafka_interceptor_add_on_commit(OnCommit) = on_commit;
    /// Adds a method for requests.
    rd_kafka_interceptor_add_on_request_sent(OnRequestSent) = on_request_sent;
    /// Adds a method for responses.
    rd_kafka_interceptor_add_on_response_received(OnResponseReceived) = on_response_received;
    /// Adds a method that each thread of the client calls first.
    rd_kafka_interceptor_add_on_thread_start(OnThread) = on_thread_start;
    /// Adds a method that each thread of the client calls last.
    rd_kafka_interceptor_add_on_thread_exit(OnThread) = on_thread_exit;
    /// Adds a method for the states of connections.
    rd_kafka_interceptor_add_on_broker_state_change(OnBrokerStateChange) = on_broker_state_change;
}

impl ClientMethods {
    /// Whether any is called where the core works, so that the core must tell of it.
    pub fn watch(&self) -> bool {
        !(self.on_acknowledgement.is_empty()
            && self.on_commit.is_empty()
            && self.on_request_sent.is_empty()
            && self.on_response_received.is_empty()
            && self.on_thread_start.is_empty()
            && self.on_thread_exit.is_empty()
            && self.on_broker_state_change.is_empty())
    }

    /// Whether any wants to see messages before they are sent, or those that could not be.
    pub fn see_messages_sent(&self) -> bool {
        !(self.on_send.is_empty() && self.on_acknowledgement.is_empty())
    }

    /// The client has ended.
    pub fn ended(&self, handle: &Handle) {
        // SAFETY: the interceptor's function.
        self.on_destroy.run(handle, "on_destroy", |call, opaque| unsafe {
            call(handle.as_ptr(), opaque)
        });
    }

    /// A message is about to be produced; its headers may change.
    pub fn sending(&self, handle: &Handle, message: &mut Message) {
        with_message(&self.on_send, handle, "on_send", message);
    }

    /// It is known what became of a message.
    pub fn acknowledged(&self, handle: &Handle, message: &mut Message) {
        with_message(&self.on_acknowledgement, handle, "on_acknowledgement", message);
    }

    /// The application gets a message.
    pub fn consumed(&self, handle: &Handle, message: &mut Message) {
        with_message(&self.on_consume, handle, "on_consume", message);
    }

    /// A thread begins.
    pub fn thread_started(&self, handle: &Handle, kind: ThreadType, name: &CStr) {
        on_thread(&self.on_thread_start, handle, "on_thread_start", kind, name);
    }

    /// A thread ends.
    pub fn thread_exits(&self, handle: &Handle, kind: ThreadType, name: &CStr) {
        on_thread(&self.on_thread_exit, handle, "on_thread_exit", kind, name);
    }
}

fn with_message(methods: &Methods<OnMessage>, handle: &Handle, occasion: &str, message: &mut Message) {
    let fields = message.fields_mut();
    let about = || {
        // SAFETY: the message above.
        let fields = unsafe { &*fields };
        // SAFETY: NULL, or alive as long as the message.
        let topic = unsafe { fields.rkt.as_ref() }.map_or("", |topic| topic.topic().name());
        format!(
            " for the message of {topic} [{}] at offset {}",
            fields.partition, fields.offset
        )
    };
    // SAFETY: the interceptor's function; the message lives during the call.
    methods.run_about(handle, occasion, about, |call, opaque| unsafe {
        call(handle.as_ptr(), fields, opaque)
    });
}

fn on_thread(methods: &Methods<OnThread>, handle: &Handle, occasion: &str, kind: ThreadType, name: &CStr) {
    // SAFETY: the interceptor's function; the name lives during the call.
    methods.run(handle, occasion, |call, opaque| unsafe {
        call(handle.as_ptr(), kind as i32, name.as_ptr(), opaque)
    });
}
