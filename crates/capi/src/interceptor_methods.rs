//! The functions that add interceptors' methods to settings and clients.

use std::ffi::c_void;

use ottla_core::error::ErrorCode;
use ottla_core::types::ClientKind;

use crate::ffi::exports;
use crate::handle::Handle;
use crate::interceptors::{
    OnBrokerStateChange, OnCommit, OnConfDestroy, OnConfDup, OnConfSet, OnDestroy, OnMessage, OnNew, OnRequestSent,
    OnResponseReceived, OnThread,
};
use crate::settings::ConfHandle;

macro_rules! on_conf {
    ($($(#[$doc:meta])* $name:ident($ty:ty) = $add:ident;)*) => {
        exports! {$(
            $(#[$doc])*
            fn $name(conf: &ConfHandle, ic_name: &str, method: Option<$ty>, opaque: *mut c_void)
                -> ErrorCode, or ErrorCode::L_INVALID_ARG;
            {
                match method {
                    Some(method) => conf.interceptors().$add(ic_name, method, opaque),
                    None => ErrorCode::L_INVALID_ARG,
                }
            }
        )*}
    };
}

on_conf! {
    /// Adds a method that is offered every property that is set.
    rd_kafka_conf_interceptor_add_on_conf_set(OnConfSet) = add_on_conf_set;
    /// Adds a method for copies.
    rd_kafka_conf_interceptor_add_on_conf_dup(OnConfDup) = add_on_conf_dup;
    /// Adds a method for the end of the object; it may be added several times, to free several things.
    rd_kafka_conf_interceptor_add_on_conf_destroy(OnConfDestroy) = add_on_conf_destroy;
    /// Adds a method for the creation of a client from the object.
    rd_kafka_conf_interceptor_add_on_new(OnNew) = add_on_new;
}

macro_rules! on_client {
    ($($(#[$doc:meta])* $name:ident($ty:ty) = $list:ident;)*) => {
        exports! {$(
            $(#[$doc])*
            fn $name(rk: &Handle, ic_name: &str, method: Option<$ty>, opaque: *mut c_void)
                -> ErrorCode, or ErrorCode::L_INVALID_ARG;
            {
                let Some(method) = method else { return ErrorCode::L_INVALID_ARG };
                if rk.kind() == ClientKind::ShareConsumer {
                    return ErrorCode::L_NOT_IMPLEMENTED;
                }
                rk.interceptors().add(|methods| &mut methods.$list, ic_name, (method, method as usize), opaque)
            }
        )*}
    };
}

on_client! {
    /// Adds a method for the client's end.
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
