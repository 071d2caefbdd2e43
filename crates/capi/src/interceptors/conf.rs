//! Interceptors of settings.

use std::ffi::{CString, c_char, c_int};

use ottla_core::error::ErrorCode;
use parking_lot::Mutex;

use super::{Intercepted, Method, Methods, OnConfDestroy, OnConfDup, OnConfSet, OnNew};
use crate::abi::RdKafkaConf;
use crate::callbacks::Opaque;
use crate::cancel_guard::CancelGuard;
use crate::conf_result::{OK, UNKNOWN};
use crate::ffi::{c_text, put_text};

/// Room for an error of `on_new`.
const ERROR_ROOM: usize = 512;

/// The interceptors of a configuration object. A client that is created from it shares them.
///
/// None of the lists is locked while a method runs: methods may add others, and set properties of the same object.
#[derive(Default)]
pub struct ConfInterceptors(Mutex<Lists>);

#[derive(Default)]
struct Lists {
    on_conf_set: Methods<OnConfSet>,
    on_conf_dup: Methods<OnConfDup>,
    on_conf_destroy: Methods<OnConfDestroy>,
    on_new: Methods<OnNew>,
    /// Properties that were offered to interceptors, for copies of the object: in the order in which they were set,
    /// once each if none has taken it.
    offered: Vec<Offered>,
}

/// A property that was offered to the interceptors.
#[derive(Clone)]
pub struct Offered {
    /// Its name.
    pub name: CString,
    /// The value of the property; `None` for NULL.
    pub value: Option<CString>,
    /// An interceptor has handled it: it is not one of the library's properties.
    pub taken: bool,
}

impl ConfInterceptors {
    fn methods<F: Clone>(&self, list: impl FnOnce(&Lists) -> &Methods<F>) -> Vec<Method<F>> {
        list(&self.0.lock()).0.clone()
    }

    /// Offers a property to the interceptors; returns `None` if none of them handles it.
    ///
    /// # Safety
    /// `conf` is the live object of these interceptors, to which no reference is held; `errstr` is NULL or has `size`
    /// bytes.
    pub unsafe fn offer(
        &self,
        conf: *mut RdKafkaConf,
        name: &str,
        value: Option<&str>,
        errstr: *mut c_char,
        size: usize,
    ) -> Option<c_int> {
        let methods = self.methods(|lists| &lists.on_conf_set);
        if methods.is_empty() {
            return None;
        }
        let _uncancelled = CancelGuard::new();
        let (name, value) = (c_text(name), value.map(c_text));
        let text = value.as_ref().map_or(std::ptr::null(), |v| v.as_ptr());
        for method in methods {
            // SAFETY: the interceptor's function; by the caller's promise.
            let result = unsafe { (method.call)(conf, name.as_ptr(), text, errstr, size, method.opaque) };
            if result == OK {
                self.note(name, value, true);
                return Some(OK);
            }
            if result != UNKNOWN {
                return Some(result);
            }
        }
        self.note(name, value, false);
        None
    }

    fn note(&self, name: CString, value: Option<CString>, taken: bool) {
        let offered = &mut self.0.lock().offered;
        if !taken {
            offered.retain(|other| other.taken || other.name != name);
        }
        offered.push(Offered { name, value, taken });
    }

    /// Calls the methods for a copy, before anything is copied. Their results are ignored: settings have no log.
    ///
    /// # Safety
    /// Both are live objects to which no reference is held that could write; `filter` has as many strings as it says.
    pub unsafe fn copying(&self, new: *mut RdKafkaConf, old: *const RdKafkaConf, filter: &[*const c_char]) {
        let _uncancelled = CancelGuard::new();
        for method in self.methods(|lists| &lists.on_conf_dup) {
            // SAFETY: the interceptor's function; by the caller's promise.
            unsafe { (method.call)(new, old, filter.len(), filter.as_ptr(), method.opaque) };
        }
    }

    /// Returns the properties that were offered, in the order in which they were set.
    pub fn offered(&self) -> Vec<Offered> {
        self.0.lock().offered.clone()
    }

    /// Calls the methods for the end of the object, once.
    pub fn end(&self) {
        let methods = std::mem::take(&mut self.0.lock().on_conf_destroy);
        let _uncancelled = CancelGuard::new();
        for method in methods.0 {
            // SAFETY: the interceptor's function.
            unsafe { (method.call)(method.opaque) };
        }
    }

    /// Calls the methods for a new client, which has no threads yet.
    pub(crate) fn client_made(&self, client: &dyn Intercepted, conf: *const RdKafkaConf) {
        let methods = Methods(self.methods(|lists| &lists.on_new));
        let mut errstr: [c_char; ERROR_ROOM] = [0; ERROR_ROOM];
        let at = errstr.as_mut_ptr();
        let text = || {
            // SAFETY: the array above; the last byte ends whatever was written.
            let text = unsafe {
                at.add(ERROR_ROOM - 1).write(0);
                std::ffi::CStr::from_ptr(at).to_string_lossy()
            };
            if text.is_empty() {
                String::new()
            } else {
                format!(" ({text})")
            }
        };
        methods.run_about(client, "on_new", text, |call, opaque| {
            // SAFETY: the array above; the interceptor's function.
            unsafe {
                put_text(at, ERROR_ROOM, "");
                call(client.client_ptr(), conf, opaque, at, ERROR_ROOM)
            }
        });
    }
}

/// Declares the functions that add to a list.
macro_rules! additions {
    ($($name:ident($ty:ty) = $list:ident, $add:ident;)*) => {
        impl ConfInterceptors {$(
            /// Adds a method of the interceptor `name`.
            pub(crate) fn $name(&self, name: &str, method: $ty, opaque: Opaque) -> ErrorCode {
                self.0.lock().$list.$add(name, method, method as usize, opaque)
            }
        )*}
    };
}

additions! {
    add_on_conf_set(OnConfSet) = on_conf_set, add;
    add_on_conf_dup(OnConfDup) = on_conf_dup, add;
    // May be added several times, to free several things.
    add_on_conf_destroy(OnConfDestroy) = on_conf_destroy, add_again;
    add_on_new(OnNew) = on_new, add;
}
