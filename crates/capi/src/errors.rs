//! Error codes, their texts, and `rd_kafka_error_t`.

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_int};
use std::sync::OnceLock;

use ottla_core::error::{Error, ErrorCode};

use crate::abi::ErrDesc;
use crate::ffi::{self, Owned, Tag, Tagged, boxed, c_text, exports};
use crate::fork_guard;

/// `rd_kafka_error_t`
#[repr(C)]
pub struct ErrorHandle {
    tag: Tag,
    code: ErrorCode,
    text: CString,
    fatal: bool,
    retriable: bool,
    txn_requires_abort: bool,
}

// SAFETY: repr(C), tag first.
unsafe impl Tagged for ErrorHandle {
    const TAG: u32 = 0x0e44_0a01;

    fn refusal() -> Option<Self> {
        Some(Self::of(&Error::new(ErrorCode::L_STATE, fork_guard::REFUSAL)))
    }
}

impl ErrorHandle {
    /// Returns a handle for an error. The code is the underlying one, also of a fatal error.
    pub fn from_error(error: &Error) -> Owned<ErrorHandle> {
        boxed(Self::of(error))
    }

    fn of(error: &Error) -> ErrorHandle {
        ErrorHandle {
            tag: Tag::new(Self::TAG),
            code: error.code,
            text: c_text(error.message.clone()),
            fatal: error.fatal,
            retriable: error.retriable,
            txn_requires_abort: error.txn_requires_abort,
        }
    }

    /// Returns a handle for a code and a text.
    pub fn new(code: ErrorCode, text: impl Into<String>) -> Owned<ErrorHandle> {
        Self::from_error(&Error::new(code, text))
    }

    /// Returns the handle of an error, none for success.
    pub fn from_result(result: Result<(), Error>) -> Option<Owned<ErrorHandle>> {
        result.err().map(|e| Self::from_error(&e))
    }

    /// Returns the handle for an argument that a call refuses.
    pub fn bad_argument() -> Option<Owned<ErrorHandle>> {
        Some(Self::new(
            ErrorCode::L_INVALID_ARG,
            "An argument is NULL, not valid UTF-8 or not a live handle",
        ))
    }
}

/// Number of texts of unknown codes that a thread keeps: a pointer is valid until this many more were requested.
const KEPT_TEXTS: usize = 8;

thread_local! {
    static UNKNOWN_TEXTS: RefCell<(usize, [CString; KEPT_TEXTS])> = RefCell::default();
}

fn keep_for_a_while(text: String) -> *const c_char {
    UNKNOWN_TEXTS.with_borrow_mut(|(next, texts)| {
        *next = (*next + 1) % KEPT_TEXTS;
        match texts.get_mut(*next) {
            Some(slot) => {
                *slot = c_text(text);
                slot.as_ptr()
            }
            None => c"".as_ptr(),
        }
    })
}

/// Returns the description of a code, for C.
pub fn description(code: ErrorCode) -> *const c_char {
    code.c_description()
        .map_or_else(|| keep_for_a_while(code.description().into_owned()), CStr::as_ptr)
}

/// Returns the name of a code, for C.
pub fn name(code: ErrorCode) -> *const c_char {
    code.c_name()
        .map_or_else(|| keep_for_a_while(code.name().into_owned()), CStr::as_ptr)
}

struct Descriptions(Vec<ErrDesc>);

// SAFETY: the pointers are to constants.
unsafe impl Send for Descriptions {}
// SAFETY: as above.
unsafe impl Sync for Descriptions {}

/// One entry for every number from the first to the last code, with NULL texts where there is no code.
fn descriptions() -> &'static [ErrDesc] {
    static ALL: OnceLock<Descriptions> = OnceLock::new();
    let all = ALL.get_or_init(|| {
        let entry = |number| {
            let code = ErrorCode(number);
            ErrDesc {
                code: number,
                name: match number {
                    ErrorCode::FIRST => c"_BEGIN".as_ptr(),
                    LOCAL_END => c"_END".as_ptr(),
                    _ => code.c_name().map_or(std::ptr::null(), CStr::as_ptr),
                },
                desc: code
                    .c_name()
                    .and(code.c_description())
                    .map_or(std::ptr::null(), CStr::as_ptr),
            }
        };
        Descriptions((ErrorCode::FIRST..ErrorCode::END).map(entry).collect())
    });
    &all.0
}

/// `RD_KAFKA_RESP_ERR__END`
const LOCAL_END: i32 = -100;

/// Called by the shim of `rd_kafka_error_new()` with the formatted text, or NULL for the code's description.
#[unsafe(no_mangle)]
extern "C" fn ottla_error_new(code: c_int, text: *const c_char) -> *mut ErrorHandle {
    ffi::boundary(
        |_| std::ptr::null_mut(),
        || {
            // SAFETY: the shim passes NULL or a NUL-terminated string.
            let text = (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_string_lossy());
            let error = ErrorHandle::new(ErrorCode(code), text.unwrap_or_default());
            Some(ffi::IntoC::into_c(error))
        },
    )
}

exports! {
    /// The table of all error codes.
    fn rd_kafka_get_err_descs(descs: *mut *const ErrDesc, count: *mut usize) {
        let all = descriptions();
        // SAFETY: out-parameters of the caller.
        unsafe {
            ffi::put(descs, all.as_ptr());
            ffi::put(count, all.len());
        }
    }

    /// Returns the description of a code.
    fn rd_kafka_err2str(code: i32) -> *const c_char, or std::ptr::null(); {
        description(ErrorCode(code))
    }

    /// Returns a code's name.
    fn rd_kafka_err2name(code: i32) -> *const c_char, or std::ptr::null(); {
        name(ErrorCode(code))
    }

    /// Returns the calling thread's last error.
    fn rd_kafka_last_error() -> ErrorCode, or ErrorCode::L_FAIL; {
        ffi::last_error()
    }

    /// Returns the error code for an `errno` that a legacy call left behind.
    fn rd_kafka_errno2err(errno: i32) -> ErrorCode, or ErrorCode::L_FAIL; {
        match errno {
            libc::EINVAL => ErrorCode::L_INVALID_ARG,
            libc::EBUSY => ErrorCode::L_CONFLICT,
            libc::ENOENT => ErrorCode::L_UNKNOWN_TOPIC,
            libc::ESRCH => ErrorCode::L_UNKNOWN_PARTITION,
            libc::ETIMEDOUT => ErrorCode::L_TIMED_OUT,
            libc::EMSGSIZE => ErrorCode::MSG_SIZE_TOO_LARGE,
            libc::ENOBUFS => ErrorCode::L_QUEUE_FULL,
            libc::ECANCELED => ErrorCode::L_FATAL,
            _ => ErrorCode::L_FAIL,
        }
    }

    /// Returns the calling thread's `errno`.
    fn rd_kafka_errno() -> i32, or 0; {
        // SAFETY: always there.
        unsafe { *libc::__errno_location() }
    }

    /// Returns the error's code; no error for NULL.
    fn rd_kafka_error_code(error: Option<&ErrorHandle>) -> ErrorCode, or ErrorCode::L_INVALID_ARG; {
        error.map_or(ErrorCode::NO_ERROR, |e| e.code)
    }

    /// Returns the name of the error's code; empty for NULL.
    fn rd_kafka_error_name(error: Option<&ErrorHandle>) -> *const c_char, or name(ErrorCode::L_INVALID_ARG); {
        error.map_or(c"".as_ptr(), |e| name(e.code))
    }

    /// Returns the error's text; empty for NULL.
    fn rd_kafka_error_string(error: Option<&ErrorHandle>) -> *const c_char, or c"".as_ptr(); {
        error.map_or(c"".as_ptr(), |e| e.text.as_ptr())
    }

    /// Returns whether the client cannot go on.
    fn rd_kafka_error_is_fatal(error: Option<&ErrorHandle>) -> i32, or 0; {
        error.is_some_and(|e| e.fatal).into()
    }

    /// Returns whether the call may be repeated.
    fn rd_kafka_error_is_retriable(error: Option<&ErrorHandle>) -> i32, or 0; {
        error.is_some_and(|e| e.retriable).into()
    }

    /// Returns whether the transaction can only be aborted.
    fn rd_kafka_error_txn_requires_abort(error: Option<&ErrorHandle>) -> i32, or 0; {
        error.is_some_and(|e| e.txn_requires_abort).into()
    }

    /// Frees an error; NULL is fine.
    fn rd_kafka_error_destroy(error: *mut ErrorHandle) {
        // SAFETY: NULL or a handle that the application owns.
        drop(unsafe { <Owned<ErrorHandle> as ffi::FromC>::from_c(error) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(c: *const c_char) -> String {
        // SAFETY: a string of this module.
        unsafe { CStr::from_ptr(c) }.to_string_lossy().into_owned()
    }

    #[test]
    fn every_number_has_an_entry() {
        let all = descriptions();
        assert_eq!(all.len(), 334);
        assert_eq!(all.iter().filter(|d| !d.name.is_null()).count(), 190);
        assert_eq!(text(all[0].name), "_BEGIN");
        assert!(all[0].desc.is_null());
        assert_eq!(text(all[200].name), "NO_ERROR");
    }

    #[test]
    fn unknown_codes_have_a_text_that_stays() {
        let (a, b) = (name(ErrorCode(-1234)), name(ErrorCode(-1235)));
        assert_eq!((text(a), text(b)), ("ERR_-1234?".into(), "ERR_-1235?".into()));
        assert_eq!(text(description(ErrorCode(777))), "Err-777?");
    }

    #[test]
    fn error_handles_tell_everything_and_null_is_no_error() {
        let handle = ffi::IntoC::into_c(ErrorHandle::from_error(
            &Error::new(ErrorCode::L_STATE, "not now").into_fatal().into_retriable(),
        ));
        // SAFETY: a live handle, then NULL.
        unsafe {
            assert_eq!(rd_kafka_error_code(handle), ErrorCode::L_STATE.0);
            assert_eq!(text(rd_kafka_error_string(handle)), "not now");
            assert_eq!(rd_kafka_error_is_fatal(handle) + rd_kafka_error_is_retriable(handle), 2);
            assert_eq!(rd_kafka_error_txn_requires_abort(handle), 0);
            rd_kafka_error_destroy(handle);
            assert_eq!(rd_kafka_error_code(std::ptr::null()), 0);
            assert_eq!(text(rd_kafka_error_string(std::ptr::null())), "");
            rd_kafka_error_destroy(std::ptr::null_mut());
        }
    }

    #[test]
    fn the_shim_entry_falls_back_to_the_description() {
        let handle = ottla_error_new(ErrorCode::L_NOENT.0, std::ptr::null());
        // SAFETY: a live handle.
        unsafe {
            assert_eq!(text(rd_kafka_error_string(handle)), ErrorCode::L_NOENT.description());
            rd_kafka_error_destroy(handle);
        }
    }
}
