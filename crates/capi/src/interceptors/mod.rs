//! Interceptors: functions of the application or of a plugin that are called at a client's operations.
//!
//! Those of settings ([`ConfInterceptors`]) go with a configuration object into the client that is made of it. There
//! `on_new` adds those of the client ([`Interceptors`]), whose lists are fixed before its first thread starts: from
//! then on they are read without a lock.

pub mod client;
pub mod conf;

use std::ffi::{c_char, c_int};
use std::sync::Arc;

use ottla_core::error::ErrorCode;

pub use client::{ClientMethods, Interceptors};
pub use conf::ConfInterceptors;

use crate::abi::{MessageFields, PartitionList, RdKafka, RdKafkaConf};
use crate::callbacks::{Opaque, callbacks};
use crate::cancel_guard::CancelGuard;

callbacks! {
    /// `on_conf_set`: settings, name, value, room for an error.
    OnConfSet = fn(*mut RdKafkaConf, *const c_char, *const c_char, *mut c_char, usize, Opaque) -> c_int;
    /// `on_conf_dup`: the new settings, the old ones, prefixes of what is left out.
    OnConfDup = fn(*mut RdKafkaConf, *const RdKafkaConf, usize, *const *const c_char, Opaque) -> c_int;
    /// `on_conf_destroy`
    OnConfDestroy = fn(Opaque) -> c_int;
    /// `on_new`
    OnNew = fn(*const RdKafka, *const RdKafkaConf, Opaque, *mut c_char, usize) -> c_int;
    /// `on_destroy`
    OnDestroy = fn(*const RdKafka, Opaque) -> c_int;
    /// `on_send`, `on_acknowledgement` and `on_consume`
    OnMessage = fn(*const RdKafka, *mut MessageFields, Opaque) -> c_int;
    /// `on_commit`
    OnCommit = fn(*const RdKafka, *const PartitionList, c_int, Opaque) -> c_int;
    /// `on_request_sent`: socket, broker's name and id, API key and version, correlation id, size.
    OnRequestSent = fn(*const RdKafka, c_int, *const c_char, i32, i16, i16, i32, usize, Opaque) -> c_int;
    /// `on_response_received`: as above, round-trip time in microseconds, error.
    OnResponseReceived =
        fn(*const RdKafka, c_int, *const c_char, i32, i16, i16, i32, usize, i64, c_int, Opaque) -> c_int;
    /// `on_thread_start` and `on_thread_exit`: type and name of the thread.
    OnThread = fn(*const RdKafka, c_int, *const c_char, Opaque) -> c_int;
    /// `on_broker_state_change`: broker's id, protocol, host, port, state.
    OnBrokerStateChange =
        fn(*const RdKafka, i32, *const c_char, *const c_char, c_int, *const c_char, Opaque) -> c_int;
}

/// A client whose interceptors are called.
pub trait Intercepted {
    /// Returns the pointer that methods receive as the client.
    fn client_ptr(&self) -> *const RdKafka;

    /// Logs the failure of a method.
    fn warn_of_failure(&self, text: &dyn Fn() -> String);
}

/// `rd_kafka_thread_type_t`
#[derive(Clone, Copy)]
pub enum ThreadType {
    /// The client's own.
    Main = 0,
    /// That of the background queue.
    Background = 1,
}

/// One method of an interceptor.
#[derive(Clone)]
pub(crate) struct Method<F> {
    /// The interceptor's name.
    name: Arc<str>,
    call: F,
    /// The address of `call`, to compare functions.
    address: usize,
    opaque: Opaque,
}

// SAFETY: a function and a pointer that is only handed back to it.
unsafe impl<F> Send for Method<F> {}
// SAFETY: as above.
unsafe impl<F> Sync for Method<F> {}

/// The methods of all interceptors for one occasion, in the order in which they were added.
pub struct Methods<F>(Vec<Method<F>>);

impl<F> Default for Methods<F> {
    fn default() -> Self {
        Methods(Vec::new())
    }
}

impl<F: Copy> Methods<F> {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds a method. The same function under the same name is refused: settings that are copied, or for which a plugin
    /// is loaded twice, would have it called twice.
    fn add(&mut self, name: &str, call: F, address: usize, opaque: Opaque) -> ErrorCode {
        if self.0.iter().any(|m| m.address == address && *m.name == *name) {
            return ErrorCode::L_CONFLICT;
        }
        self.add_again(name, call, address, opaque)
    }

    /// Adds a method that may be there already.
    fn add_again(&mut self, name: &str, call: F, address: usize, opaque: Opaque) -> ErrorCode {
        self.0.push(Method {
            name: name.into(),
            call,
            address,
            opaque,
        });
        ErrorCode::NO_ERROR
    }

    /// Calls all; what one answers is logged, and the others are called all the same.
    pub fn run(&self, client: &dyn Intercepted, occasion: &str, call: impl Fn(F, Opaque) -> c_int) {
        self.run_about(client, occasion, String::new, call);
    }

    /// Like [`run`](Self::run); `about` says in the log what it was called with.
    pub fn run_about(
        &self,
        client: &dyn Intercepted,
        occasion: &str,
        about: impl Fn() -> String,
        call: impl Fn(F, Opaque) -> c_int,
    ) {
        let _uncancelled = CancelGuard::new();
        for method in &self.0 {
            let code = ErrorCode(call(method.call, method.opaque));
            if !code.is_ok() {
                client.warn_of_failure(&|| {
                    let (name, about, why) = (&method.name, about(), code.description());
                    format!("Interceptor {name} failed in {occasion}{about}: {why}")
                });
            }
        }
    }
}
