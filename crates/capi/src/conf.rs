//! `rd_kafka_conf_t`: settings by name, and the callbacks.

use std::ffi::{c_char, c_int, c_void};

use ottla_core::config::{ConfError, ConfErrorKind, TopicConf, properties_show};

use crate::callbacks::{
    BackgroundEventCb, CloseSocketCb, ConnectCb, ConsumeCb, DrCb, DrMsgCb, ErrorCb, LogCb, OpenCb, PartitionsCb,
    ResolveCb, SocketCb, StatsCb, ThrottleCb, TokenRefreshCb,
};
use crate::conf_result::{INVALID, conf_result, dump, put_value};
use crate::ffi::{FromC, Lent, Owned, boxed, exports};
use crate::handle::Handle;
use crate::log::{PRINT, print_to};
use crate::plugins;
use crate::settings::ConfHandle;
use crate::topic_conf::TopicConfHandle;

/// Sets a property that no interceptor handles. Loads the plugins of `plugin.library.paths`.
///
/// # Safety
/// A live object to which no reference is held; `errstr` is NULL or has `size` bytes.
unsafe fn set(conf: Lent<ConfHandle>, name: &str, value: Option<&str>, errstr: *mut c_char, size: usize) -> c_int {
    // SAFETY: by the caller's promise; each reference ends before code of the application is called.
    unsafe {
        let interceptors = (*conf.0).shared_interceptors();
        if let Some(result) = interceptors.offer(conf.0.cast(), name, value, errstr, size) {
            return result;
        }
        let loaded = match value {
            Some(paths) if name == plugins::PATHS => plugins::load(conf.0.cast(), paths),
            _ => Ok(()),
        };
        if let Err(message) = loaded {
            let kind = ConfErrorKind::Invalid;
            return conf_result(Err(ConfError { kind, message }), errstr, size);
        }
        conf_result((*conf.0).set(name, value), errstr, size)
    }
}

/// Copies settings without the properties whose names begin with one of `filter`.
///
/// Interceptors are not copied: those of the old object are called first and add themselves to the new one; plugins are
/// loaded for it as for the old one. Then its interceptors are offered the properties that those of the old object were
/// offered.
///
/// # Safety
/// A live object to which no reference is held that could write; strings. `None` when one of them is not UTF-8.
unsafe fn copy(old: Lent<ConfHandle>, filter: &[*const c_char]) -> Option<Owned<ConfHandle>> {
    // SAFETY: by the caller's promise; the new object is this function's until it is returned, and each reference ends
    // before code of the application is called.
    unsafe {
        let prefixes: Vec<&str> = filter.iter().map(|text| <&str>::from_c(*text)).collect::<Option<_>>()?;
        let interceptors = (*old.0).shared_interceptors();
        let new = Box::into_raw(Box::new(ConfHandle::new(PRINT)));
        interceptors.copying(new.cast(), old.0.cast(), filter);
        {
            let new = &mut *new;
            let own = new.replace_settings((*old.0).filtered(&prefixes));
            new.keep_from(&own);
        }
        if let Ok(paths) = (*new).conf().get(plugins::PATHS) {
            // The plugins could be loaded for the old object.
            let _ = plugins::load(new.cast(), &paths);
        }
        for offered in interceptors.offered() {
            let name = offered.name.to_str().unwrap_or_default();
            if prefixes.iter().any(|prefix| name.starts_with(prefix)) {
                continue;
            }
            // The caller of a copy gets no error of an interceptor that now refuses a property.
            if offered.taken {
                let value = offered.value.as_deref().and_then(|v| v.to_str().ok());
                set(Lent(new), name, value, std::ptr::null_mut(), 0);
            } else if let Some(value) = (*new).own_value(name) {
                let added = (*new).shared_interceptors();
                added.offer(new.cast(), name, Some(&value), std::ptr::null_mut(), 0);
            }
        }
        Some(Owned(Box::from_raw(new)))
    }
}

/// Settings of callbacks: stores each in [`Callbacks`] and notes it in the table of properties.
macro_rules! setters {
    ($($(#[$doc:meta])* $name:ident($ty:ty) = $field:ident, $property:literal;)*) => {
        exports! {$(
            $(#[$doc])*
            fn $name(conf: &mut ConfHandle, callback: Option<$ty>) {
                conf.callbacks_mut().$field = callback;
                conf.note_pointer($property, callback.map_or(0, |c| c as usize));
            }
        )*}
    };
}

setters! {
    /// Sets the delivery report callback.
    rd_kafka_conf_set_dr_msg_cb(DrMsgCb) = dr_msg, "dr_msg_cb";
    /// Sets the delivery report callback, older form.
    rd_kafka_conf_set_dr_cb(DrCb) = dr, "dr_cb";
    /// Sets the callback for consumed messages.
    rd_kafka_conf_set_consume_cb(ConsumeCb) = consume, "consume_cb";
    /// Sets the callback that carries out rebalances.
    rd_kafka_conf_set_rebalance_cb(PartitionsCb) = rebalance, "rebalance_cb";
    /// Sets the callback for commit results.
    rd_kafka_conf_set_offset_commit_cb(PartitionsCb) = offset_commit, "offset_commit_cb";
    /// Sets the error callback.
    rd_kafka_conf_set_error_cb(ErrorCb) = error, "error_cb";
    /// Sets the throttle callback.
    rd_kafka_conf_set_throttle_cb(ThrottleCb) = throttle, "throttle_cb";
    /// Sets the log callback; NULL stops logging.
    rd_kafka_conf_set_log_cb(LogCb) = log, "log_cb";
    /// Sets the statistics callback.
    rd_kafka_conf_set_stats_cb(StatsCb) = stats, "stats_cb";
    /// Sets the callback that opens sockets.
    rd_kafka_conf_set_socket_cb(SocketCb) = socket, "socket_cb";
    /// Sets the callback that connects sockets.
    rd_kafka_conf_set_connect_cb(ConnectCb) = connect, "connect_cb";
    /// Sets the callback that closes sockets.
    rd_kafka_conf_set_closesocket_cb(CloseSocketCb) = closesocket, "closesocket_cb";
    /// Sets the callback that opens files.
    rd_kafka_conf_set_open_cb(OpenCb) = open, "open_cb";
    /// Sets the callback that resolves names.
    rd_kafka_conf_set_resolve_cb(ResolveCb) = resolve, "resolve_cb";
    /// Sets the callback of the background queue.
    rd_kafka_conf_set_background_event_cb(BackgroundEventCb) = background_event, "background_event_cb";
    /// Sets the callback that makes tokens.
    rd_kafka_conf_set_oauthbearer_token_refresh_cb(TokenRefreshCb) = token_refresh, "oauthbearer_token_refresh_cb";
}

exports! {
    /// New settings, all at their defaults.
    fn rd_kafka_conf_new() -> Option<Owned<ConfHandle>>, or None; {
        Some(boxed(ConfHandle::new(PRINT)))
    }

    /// Frees settings; NULL is fine.
    fn rd_kafka_conf_destroy(conf: *mut ConfHandle) {
        // SAFETY: NULL or the application's settings.
        if let Some(Owned(conf)) = unsafe { <Owned<ConfHandle>>::from_c(conf) } {
            conf.interceptors().end();
        }
    }

    /// Returns a copy.
    fn rd_kafka_conf_dup(conf: Lent<ConfHandle>) -> Option<Owned<ConfHandle>>, or None; {
        // SAFETY: live settings.
        unsafe { copy(conf, &[]) }
    }

    /// Returns a copy without the properties whose names begin with one of `filter`.
    fn rd_kafka_conf_dup_filter(conf: Lent<ConfHandle>, count: usize, filter: *const *const c_char)
        -> Option<Owned<ConfHandle>>, or None;
    {
        let filter: &[*const c_char] = match filter.is_null() || count == 0 {
            true => &[],
            // SAFETY: an array of `count` strings, by the API's contract.
            false => unsafe { std::slice::from_raw_parts(filter, count) },
        };
        // SAFETY: live settings and strings.
        unsafe { copy(conf, filter) }
    }

    /// Sets a property.
    fn rd_kafka_conf_set(
        conf: Lent<ConfHandle>, name: &str, value: Option<&str>, errstr: *mut c_char, size: usize,
    ) -> i32, or INVALID; {
        // SAFETY: live settings and the caller's buffer.
        unsafe { set(conf, name, value, errstr, size) }
    }

    /// Returns a property's value.
    fn rd_kafka_conf_get(conf: &ConfHandle, name: &str, to: *mut c_char, size: *mut usize) -> i32, or INVALID; {
        // SAFETY: the caller's buffer.
        unsafe { put_value(conf.synced().get(name), to, size) }
    }

    /// Returns names and values of all properties, to be freed with `rd_kafka_conf_dump_free()`.
    fn rd_kafka_conf_dump(conf: &ConfHandle, count: *mut usize) -> *mut *mut c_char, or std::ptr::null_mut(); {
        // SAFETY: the caller's out-parameter.
        unsafe { dump(conf.conf().dump(), count) }
    }

    /// Frees what a dump gave.
    fn rd_kafka_conf_dump_free(array: *mut *mut c_char, count: usize) {
        if array.is_null() {
            return;
        }
        // SAFETY: `dump`'s array of `count` malloc'ed strings.
        unsafe {
            for i in 0..count {
                libc::free((*array.add(i)).cast());
            }
            libc::free(array.cast());
        }
    }

    /// Prints the table of properties.
    fn rd_kafka_conf_properties_show(stream: *mut libc::FILE) {
        let mut text = Vec::new();
        // Writing to a vector cannot fail.
        let _ = properties_show(&mut text);
        // SAFETY: the caller's stream.
        unsafe { print_to(stream, &String::from_utf8_lossy(&text)) };
    }

    /// Sets which events go to queues.
    fn rd_kafka_conf_set_events(conf: &mut ConfHandle, events: i32) {
        conf.set_events(events);
    }

    /// Enables or disables the queue of requests for tokens.
    fn rd_kafka_conf_enable_sasl_queue(conf: &mut ConfHandle, enable: i32) {
        let value = if enable == 0 { "false" } else { "true" };
        let set = conf.set("enable_sasl_queue", Some(value));
        debug_assert!(set.is_ok());
    }

    /// Sets the application's pointer.
    fn rd_kafka_conf_set_opaque(conf: &mut ConfHandle, opaque: *mut c_void) {
        conf.callbacks_mut().opaque = opaque;
        conf.note_pointer("opaque", opaque as usize);
    }

    /// Sets the default topic settings, which are taken.
    fn rd_kafka_conf_set_default_topic_conf(conf: &mut ConfHandle, topic: Option<Owned<TopicConfHandle>>) {
        // Taking a handle clears its tag; the copy has a live one.
        conf.set_default_topic(topic.map(|t| t.0.duplicate()));
    }

    /// Returns a copy of a client's default topic settings.
    fn rd_kafka_default_topic_conf_dup(rk: &Handle) -> Option<Owned<TopicConfHandle>>, or None; {
        let default = rk.conf().default_topic().map(TopicConfHandle::duplicate);
        Some(boxed(default.unwrap_or_else(|| TopicConfHandle::from_conf(TopicConf::new()))))
    }

    /// Returns the default topic settings, which stay the client settings'; NULL when there are none.
    fn rd_kafka_conf_get_default_topic_conf(conf: &mut ConfHandle)
        -> *mut TopicConfHandle, or std::ptr::null_mut();
    {
        conf.default_topic_mut().map_or(std::ptr::null_mut(), |t| t)
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::CStr;

    use super::*;
    use crate::callbacks::Callbacks;
    use crate::conf_result::{OK, UNKNOWN};

    fn set(conf: &mut ConfHandle, name: &CStr, value: &CStr) -> (i32, String) {
        let mut text = [0 as c_char; 256];
        // SAFETY: live settings and a buffer of that size.
        unsafe {
            let result = rd_kafka_conf_set(conf, name.as_ptr(), value.as_ptr(), text.as_mut_ptr(), text.len());
            (result, CStr::from_ptr(text.as_ptr()).to_string_lossy().into_owned())
        }
    }

    fn get(conf: &ConfHandle, name: &CStr) -> Option<String> {
        let (mut text, mut size) = ([0 as c_char; 256], 256);
        // SAFETY: live settings and a buffer of that size.
        unsafe {
            (rd_kafka_conf_get(conf, name.as_ptr(), text.as_mut_ptr(), &raw mut size) == OK)
                .then(|| CStr::from_ptr(text.as_ptr()).to_string_lossy().into_owned())
        }
    }

    #[test]
    fn results_tell_unknown_from_invalid() {
        let mut conf = ConfHandle::new(PRINT);
        assert_eq!(set(&mut conf, c"linger.ms", c"10").0, OK);
        assert_eq!(get(&conf, c"linger.ms").as_deref(), Some("10"));
        assert_eq!(set(&mut conf, c"no.such", c"10").0, UNKNOWN);
        let (result, text) = set(&mut conf, c"acks", c"x");
        assert_eq!(result, INVALID);
        assert!(text.contains("acks"), "{text}");
    }

    #[test]
    fn the_default_topic_pointer_and_the_settings_agree() {
        let mut conf = ConfHandle::new(PRINT);
        // SAFETY: live settings.
        unsafe {
            assert!(rd_kafka_conf_get_default_topic_conf(&raw mut conf).is_null());
            assert_eq!(set(&mut conf, c"acks", c"1").0, OK);
            let topic = rd_kafka_conf_get_default_topic_conf(&raw mut conf);
            let set_topic = crate::topic_conf::rd_kafka_topic_conf_set;
            set_topic(
                topic,
                c"partitioner".as_ptr(),
                c"murmur2".as_ptr(),
                std::ptr::null_mut(),
                0,
            );
            assert_eq!(get(&conf, c"partitioner").as_deref(), Some("murmur2"));
            assert_eq!(set(&mut conf, c"message.timeout.ms", c"7").0, OK);
            assert_eq!(
                rd_kafka_conf_get_default_topic_conf(&raw mut conf),
                topic,
                "the pointer stays"
            );
            assert_eq!(get(&conf, c"partitioner").as_deref(), Some("murmur2"));
        }
    }

    #[test]
    fn copies_keep_callbacks_and_filters_drop_them() {
        unsafe extern "C" fn callback(_: *const crate::abi::RdKafka, _: i32, _: *const c_char, _: *mut c_void) {}
        let mut conf = ConfHandle::new(PRINT);
        // SAFETY: live settings.
        unsafe { rd_kafka_conf_set_error_cb(&raw mut conf, Some(callback)) };
        set(&mut conf, c"client.id", c"me");
        let copy = conf.duplicate();
        assert!(copy.callbacks().error.is_some());
        let filtered = conf.filtered(&["error_"]);
        assert!(filtered.callbacks().error.is_none());
        assert_eq!(get(&filtered, c"client.id").as_deref(), Some("me"));
    }

    #[test]
    fn every_callback_is_a_property() {
        let mut conf = ConfHandle::new(PRINT);
        for name in Callbacks::NAMES {
            conf.note_pointer(name, 1);
        }
    }

    #[test]
    fn a_dump_has_pairs() {
        let conf = ConfHandle::new(PRINT);
        let mut count = 0;
        // SAFETY: live settings.
        unsafe {
            let array = rd_kafka_conf_dump(&raw const conf, &raw mut count);
            assert!(count > 100 && count.is_multiple_of(2));
            rd_kafka_conf_dump_free(array, count);
        }
    }
}
