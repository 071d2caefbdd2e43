//! The core's interceptor, which calls those of a client.

use std::fmt;
use std::sync::{Arc, Weak};
use std::time::Duration;

use ottla_core::error::ErrorCode;
use ottla_core::event::{Delivery, expect_callbacks};
use ottla_core::interceptor::{BrokerState, Interceptor, RequestInfo};
use ottla_core::types::PartitionOffset;

use crate::ffi::c_text;
use crate::handle::Handle;
use crate::interceptors::{ClientMethods, ThreadType};
use crate::message::{self, Message};
use crate::topic_partition_list::OwnedList;

/// Calls a client's interceptors.
pub struct CoreInterceptor(Weak<Handle>);

impl fmt::Debug for CoreInterceptor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CoreInterceptor").finish_non_exhaustive()
    }
}

impl CoreInterceptor {
    /// Returns the interceptor for the client's core; `None` if the client's interceptors need no call from there.
    pub fn of(handle: &Arc<Handle>) -> Option<Arc<dyn Interceptor>> {
        let wanted = handle.interceptors().get().is_some_and(ClientMethods::watch);
        wanted.then(|| {
            expect_callbacks();
            Arc::new(CoreInterceptor(Arc::downgrade(handle))) as Arc<dyn Interceptor>
        })
    }

    fn with(&self, call: impl FnOnce(&Handle, &ClientMethods)) {
        if let Some(handle) = self.0.upgrade()
            && let Some(methods) = handle.interceptors().get()
        {
            call(&handle, methods);
        }
    }
}

/// Bootstrap brokers have no id yet.
fn public_id(broker_id: i32) -> i32 {
    broker_id.max(-1)
}

impl Interceptor for CoreInterceptor {
    fn on_request_sent(&self, request: &RequestInfo<'_>) {
        self.with(|handle, methods| {
            let (name, id) = (c_text(request.broker_name), public_id(request.broker_id));
            let rk = handle.as_ptr();
            // SAFETY: the interceptor's function; the name lives during the call.
            methods
                .on_request_sent
                .run(handle, "on_request_sent", |call, opaque| unsafe {
                    call(
                        rk,
                        request.socket,
                        name.as_ptr(),
                        id,
                        request.api_key,
                        request.version,
                        request.correlation_id,
                        request.size,
                        opaque,
                    )
                });
        });
    }

    fn on_response_received(&self, response: &RequestInfo<'_>, rtt: Option<Duration>) {
        self.with(|handle, methods| {
            let (name, id) = (c_text(response.broker_name), public_id(response.broker_id));
            let rk = handle.as_ptr();
            let micros = rtt.map_or(-1, |rtt| i64::try_from(rtt.as_micros()).unwrap_or(i64::MAX));
            let error = rtt.map_or(ErrorCode::L_NOENT, |_| ErrorCode::NO_ERROR).0;
            let name = name.as_ptr();
            // SAFETY: the interceptor's function; the name lives during the call.
            methods
                .on_response_received
                .run(handle, "on_response_received", |call, opaque| unsafe {
                    call(
                        rk,
                        response.socket,
                        name,
                        id,
                        response.api_key,
                        response.version,
                        response.correlation_id,
                        response.size,
                        micros,
                        error,
                        opaque,
                    )
                });
        });
    }

    fn on_broker_state(&self, broker: &BrokerState<'_>) {
        self.with(|handle, methods| {
            let protocol = c_text(handle.conf().conf().get("security.protocol").unwrap_or_default());
            let (host, state) = (c_text(broker.host), c_text(broker.state));
            let (id, port, rk) = (public_id(broker.broker_id), broker.port.into(), handle.as_ptr());
            // SAFETY: the interceptor's function; the strings live during the call.
            methods
                .on_broker_state_change
                .run(handle, "on_broker_state_change", |call, opaque| unsafe {
                    call(rk, id, protocol.as_ptr(), host.as_ptr(), port, state.as_ptr(), opaque)
                });
        });
    }

    fn on_settled(&self, delivery: &Delivery) {
        self.with(|handle, methods| {
            let topic = handle.topic_handle(&delivery.topic);
            let text = message::error_text(delivery);
            let text = text.as_ref().map_or(std::ptr::null(), |t| t.as_ptr());
            for record in delivery.records() {
                // SAFETY: delivery, topic and text outlive the message, which is released below.
                let mut message = unsafe { Message::delivered(delivery, &record, Arc::as_ptr(&topic), text) };
                message.run_interceptors(handle, methods.on_acknowledgement(), "on_acknowledgement");
                message.release();
            }
        });
    }

    fn on_committed(&self, offsets: &[PartitionOffset], error: ErrorCode) {
        self.with(|handle, methods| {
            let Some(list) = OwnedList::from_rows(offsets) else {
                return;
            };
            // SAFETY: the interceptor's function; the list lives during the call.
            methods.on_commit.run(handle, "on_commit", |call, opaque| unsafe {
                call(handle.as_ptr(), list.as_ptr(), error.0, opaque)
            });
        });
    }

    fn watches_threads(&self) -> bool {
        let handle = self.0.upgrade();
        let methods = handle.as_ref().and_then(|handle| handle.interceptors().get());
        methods.is_some_and(ClientMethods::see_threads)
    }

    fn on_thread_start(&self) {
        self.with(|handle, methods| methods.thread_started(handle, ThreadType::Main, c"main"));
    }

    fn on_thread_exit(&self) {
        self.with(|handle, methods| methods.thread_exits(handle, ThreadType::Main, c"main"));
    }
}
