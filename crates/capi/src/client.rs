//! `rd_kafka_t`: creating, naming, destroying a client.

use std::collections::VecDeque;
use std::ffi::{c_char, c_int, c_void};
use std::sync::{Arc, Weak};

use ottla_core::client::{CallerPolling, Client, ClientHooks, DeliveryMode, SaslHooks, TlsHooks, TokenSource};
use ottla_core::config::{ClientConfig, TopicConfig};
use ottla_core::error::{Error, ErrorCode};
use ottla_core::log::{DebugContexts, LogLine, level};
use ottla_core::types::ClientKind;
use parking_lot::Mutex;

use crate::abi::{DESTROY_NO_CONSUMER_CLOSE, event_type};
use crate::callbacks::Callbacks;
use crate::cancel_guard::CancelGuard;
use crate::core_interceptor::CoreInterceptor;
use crate::ffi::{self, AnyProcess, Deadline, FromC, Owned, Tagged, Timeout, exports};
use crate::handle::{Handle, set_yield};
use crate::log::{self, PRINT};
use crate::log_state::LogState;
use crate::settings::ConfHandle;
use crate::{background, certificates, fork_guard, live_clients, os_callbacks, serve};

/// The handles destroyed last are kept as empty shells, so that a call with one of them returns an error instead of
/// reading freed memory.
static DESTROYED: Mutex<VecDeque<Arc<Handle>>> = Mutex::new(VecDeque::new());
const SHELLS_KEPT: usize = 8;

fn client_hooks(callbacks: &Callbacks, tls: TlsHooks, only_error: bool, this: &Weak<Handle>) -> ClientHooks {
    let tls = TlsHooks {
        verify: certificates::verify_callback(callbacks.cert_verify, callbacks.opaque, this),
        ..tls
    };
    let reports = callbacks.dr.is_some() || callbacks.dr_msg.is_some() || callbacks.wants(event_type::DR);
    let (this, to_name) = (this.clone(), this.clone());
    ClientHooks {
        named: Some(Arc::new(move |name: &str| {
            if let Some(handle) = to_name.upgrade() {
                handle.set_name(name);
            }
        })),
        log: Some(Arc::new(move |line: LogLine| {
            if let Some(handle) = this.upgrade() {
                handle.log.write(handle.as_ptr(), line);
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
        tls,
        sasl: SaslHooks {
            // The callback precedes `sasl.oauthbearer.method=oidc`.
            token: match callbacks.token_refresh {
                Some(_) => TokenSource::Application,
                None => TokenSource::Settings,
            },
        },
        caller_polling: CallerPolling::Enabled,
    }
}

fn end_interceptors(handle: &Handle) {
    if let Some(methods) = handle.interceptors().get() {
        methods.ended(handle);
    }
}

fn create(kind: c_int, conf: ConfHandle) -> Result<Arc<Handle>, Error> {
    let kind = match kind {
        0 => ClientKind::Producer,
        1 => ClientKind::Consumer,
        other => {
            return Err(Error::invalid_arg(format!(
                "{other} is no client type: 0 is a producer, 1 a consumer"
            )));
        }
    };
    let start = |settings, topic_settings, hooks| {
        let client = Client::new(kind, settings, topic_settings, hooks)?;
        Ok((client, ()))
    };
    create_with(kind, conf, start).map(|(handle, ())| handle)
}

/// Creates a handle and its client, which `start` creates together with another object.
pub(crate) fn create_with<T>(
    kind: ClientKind,
    mut conf: ConfHandle,
    start: impl FnOnce(ClientConfig, TopicConfig, ClientHooks) -> Result<(Client, T), Error>,
) -> Result<(Arc<Handle>, T), Error> {
    let _uncancelled = CancelGuard::new();
    fork_guard::watch();
    let callbacks = *conf.callbacks();
    let warnings = conf.conf().warnings(kind);
    let (settings, topic_settings) = conf.resolve(kind)?;
    let log = LogState::new(callbacks.log, settings.log_queue, settings.log_thread_name);
    let only_error = settings.delivery_report_only_error;
    log::expect(callbacks.log);
    let handle = Handle::new(kind, conf, log);
    handle
        .conf()
        .interceptors()
        .client_made(&*handle, (&raw const *handle.conf()).cast());
    handle.interceptors().fix();
    let hooks = ClientHooks {
        interceptor: CoreInterceptor::of(&handle),
        ..client_hooks(
            &callbacks,
            handle.conf().tls().clone(),
            only_error,
            &Arc::downgrade(&handle),
        )
    };
    let (client, other) = start(settings, topic_settings, hooks).inspect_err(|_| end_interceptors(&handle))?;
    let client = handle.start(client);
    if callbacks.background_event.is_some() {
        background::queue(&handle)?;
    }
    for line in handle.conf().conf().shown() {
        client.shared().log.debug(DebugContexts::CONF, "CONF", || line);
    }
    for warning in warnings {
        client.shared().log.log(level::WARNING, "CONFWARN", || warning);
    }
    live_clients::add();
    Ok((handle, other))
}

/// Destroys a client in a child of its process: memory stays, since threads that are not here may have been at it.
pub(crate) fn abandon(handle: &Handle) {
    handle.invalidate();
    if let Some(client) = handle.client() {
        client.destroy();
    }
}

/// Closes a client's consumer, and ends the client.
fn destroy(handle: &Arc<Handle>, flags: c_int) {
    let Some(client) = handle.client() else { return };
    log_end(client);
    if handle.need_group().is_ok() && !handle.is_consumer_closed() {
        if flags & DESTROY_NO_CONSUMER_CLOSE == 0 {
            // Whatever went wrong, the client ends now.
            let _ = serve::close_consumer(handle);
        }
        handle.set_consumer_closed();
    }
    end(handle, client);
}

/// Logs that a client is being destroyed.
pub(crate) fn log_end(client: &Client) {
    let text = || format!("destroying {}", client.name());
    client.shared().log.debug(DebugContexts::GENERIC, "DESTROY", text);
}

/// Ends a client whose consumer is closed: its thread, its queues, what was not delivered.
pub(crate) fn end(handle: &Handle, client: &Client) {
    handle.stop_background();
    handle.topic_handles().iter().for_each(|t| t.retire());
    handle.half_served.lock().clear();
    client.destroy();
    // The client logs until its thread has ended, and `log_cb` reads name and opaque from the handle.
    handle.invalidate();
    // The shell that stays behind keeps none of it.
    handle.clear_tables();
    handle.log.close();
    end_interceptors(handle);
    handle.conf().interceptors().end();
    live_clients::remove();
}

exports! {
    /// Creates a client. `conf` is taken when that succeeds.
    fn rd_kafka_new(kind: i32, conf: *mut ConfHandle, errstr: *mut c_char, size: usize)
        -> *const Handle, or std::ptr::null();
    {
        // SAFETY: NULL or the application's settings.
        let given = match unsafe { <Option<&ConfHandle>>::from_c(conf) } {
            Some(given) => given.map_or_else(|| ConfHandle::new(PRINT), ConfHandle::for_client),
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
        if handle.kind() == ClientKind::ShareConsumer {
            return handle.warn("DESTROY", || "a share consumer is destroyed with rd_kafka_share_destroy()".into());
        }
        if !handle.begin_destroy() {
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

    /// Returns the client's name.
    fn rd_kafka_name(rk: AnyProcess<'_, Handle>) -> *const c_char, or std::ptr::null(); {
        rk.0.name().as_ptr()
    }

    /// Producer or consumer.
    fn rd_kafka_type(rk: AnyProcess<'_, Handle>) -> i32, or -1; {
        match rk.0.kind() {
            ClientKind::Producer => 0,
            ClientKind::Consumer | ClientKind::ShareConsumer => 1,
        }
    }

    /// Returns the application's pointer.
    fn rd_kafka_opaque(rk: AnyProcess<'_, Handle>) -> *mut c_void, or std::ptr::null_mut(); {
        rk.0.callbacks().opaque
    }

    /// Returns the client's settings, which stay the client's.
    fn rd_kafka_conf(rk: AnyProcess<'_, Handle>) -> *const ConfHandle, or std::ptr::null(); {
        rk.0.conf()
    }

    /// Serves the main queue's callbacks.
    fn rd_kafka_poll(rk: &Handle, timeout: Timeout) -> i32, or 0; {
        match rk.client() {
            // Its queue holds acquired records, too: rd_kafka_share_poll() serves it.
            Some(_) if rk.kind() == ClientKind::ShareConsumer => 0,
            Some(client) => serve::poll(rk, client.main_queue(), &Deadline::new(timeout)),
            None => 0,
        }
    }

    /// Lets the call that is serving callbacks on this thread return.
    fn rd_kafka_yield(rk: *const Handle) {
        let _ = rk;
        set_yield();
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

    /// Returns the member id in the consumer's group, malloc'ed; NULL without one.
    fn rd_kafka_memberid(rk: &Handle) -> *mut c_char, or std::ptr::null_mut(); {
        let id = rk.need_group().and_then(Client::member_id).ok();
        id.map_or(std::ptr::null_mut(), |id| ffi::malloc_text(&id))
    }

    /// Returns the client's fatal error.
    fn rd_kafka_fatal_error(rk: &Handle, errstr: *mut c_char, size: usize) -> ErrorCode, or ErrorCode::L_INVALID_ARG; {
        let Some(error) = rk.client().and_then(|c| c.fatal_error()) else {
            return ErrorCode::NO_ERROR;
        };
        // SAFETY: the caller's buffer.
        unsafe { ffi::put_text(errstr, size, &error.message) };
        error.code
    }

    /// Raises a fatal error, for tests of the application.
    fn rd_kafka_test_fatal_error(rk: &Handle, code: i32, reason: Option<&str>)
        -> ErrorCode, or ErrorCode::L_INVALID_ARG;
    {
        let reason = reason.unwrap_or("no reason given");
        ffi::code_of(rk.need_client().and_then(|c| c.test_fatal_error(ErrorCode(code), reason)))
    }
}
