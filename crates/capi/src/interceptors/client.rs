//! The interceptors of a client: lists of methods, which grow until the client is created and are read-only then.

use std::ffi::CStr;
use std::sync::OnceLock;

use ottla_core::error::ErrorCode;
use parking_lot::Mutex;

use super::{
    Intercepted, Methods, OnBrokerStateChange, OnCommit, OnDestroy, OnMessage, OnRequestSent, OnResponseReceived,
    OnThread, ThreadType,
};
use crate::callbacks::Opaque;

/// The interceptors of a client.
pub struct Interceptors {
    /// The methods while the client is being created; `None` afterwards.
    adding: Mutex<Option<Box<ClientMethods>>>,
    /// The methods after the client's creation; unset when there are none.
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
    /// Returns the interceptors' methods; `None` when there are none.
    #[inline]
    pub fn get(&self) -> Option<&ClientMethods> {
        self.fixed.get().map(|methods| &**methods)
    }

    /// Makes the lists read-only, at the end of the client's creation.
    pub fn fix(&self) {
        if let Some(methods) = self.adding.lock().take().filter(|m| !m.is_empty()) {
            let _ = self.fixed.set(methods);
        }
    }

    /// Adds a method, with the address of its function, to the list that `list` selects. Returns `_STATE` after the
    /// client's creation, and `_CONFLICT` for a function that the list has under the same name.
    pub(crate) fn add<F: Copy>(
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

/// Declares the lists of methods.
macro_rules! methods {
    ($($list:ident: $ty:ty;)*) => {
        /// The methods of all interceptors of a client.
        #[derive(Default)]
        pub struct ClientMethods {
            $(pub(crate) $list: Methods<$ty>,)*
        }

        impl ClientMethods {
            fn is_empty(&self) -> bool {
                true $(&& self.$list.is_empty())*
            }
        }
    };
}

methods! {
    on_destroy: OnDestroy;
    on_send: OnMessage;
    on_acknowledgement: OnMessage;
    on_consume: OnMessage;
    on_commit: OnCommit;
    on_request_sent: OnRequestSent;
    on_response_received: OnResponseReceived;
    on_thread_start: OnThread;
    on_thread_exit: OnThread;
    on_broker_state_change: OnBrokerStateChange;
}

impl ClientMethods {
    /// Returns whether any method needs events that the core reports only to an installed interceptor.
    pub fn watch(&self) -> bool {
        !(self.on_acknowledgement.is_empty()
            && self.on_commit.is_empty()
            && self.on_request_sent.is_empty()
            && self.on_response_received.is_empty()
            && self.on_thread_start.is_empty()
            && self.on_thread_exit.is_empty()
            && self.on_broker_state_change.is_empty())
    }

    /// Returns whether any method is called at the start or the end of a thread.
    pub fn see_threads(&self) -> bool {
        !(self.on_thread_start.is_empty() && self.on_thread_exit.is_empty())
    }

    /// Returns whether any method is called when a message is produced, delivered or has failed.
    pub fn see_messages_sent(&self) -> bool {
        !(self.on_send.is_empty() && self.on_acknowledgement.is_empty())
    }

    /// Calls `on_destroy` of all interceptors.
    pub fn ended(&self, client: &dyn Intercepted) {
        // SAFETY: the interceptor's function.
        self.on_destroy.run(client, "on_destroy", |call, opaque| unsafe {
            call(client.client_ptr(), opaque)
        });
    }

    /// Returns the methods for messages that are about to be produced.
    pub fn on_send(&self) -> &Methods<OnMessage> {
        &self.on_send
    }

    /// Returns the methods for messages that were delivered or have failed.
    pub fn on_acknowledgement(&self) -> &Methods<OnMessage> {
        &self.on_acknowledgement
    }

    /// Returns the methods for messages that the application is about to receive.
    pub fn on_consume(&self) -> &Methods<OnMessage> {
        &self.on_consume
    }

    /// Calls `on_thread_start` of all interceptors, on the thread that has started.
    pub fn thread_started(&self, client: &dyn Intercepted, kind: ThreadType, name: &CStr) {
        on_thread(&self.on_thread_start, client, "on_thread_start", kind, name);
    }

    /// Calls `on_thread_exit` of all interceptors, on the thread that ends.
    pub fn thread_exits(&self, client: &dyn Intercepted, kind: ThreadType, name: &CStr) {
        on_thread(&self.on_thread_exit, client, "on_thread_exit", kind, name);
    }
}

fn on_thread(methods: &Methods<OnThread>, client: &dyn Intercepted, occasion: &str, kind: ThreadType, name: &CStr) {
    // SAFETY: the interceptor's function; the name lives during the call.
    methods.run(client, occasion, |call, opaque| unsafe {
        call(client.client_ptr(), kind as i32, name.as_ptr(), opaque)
    });
}
