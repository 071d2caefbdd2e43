//! The boundary: how arguments come in from C, how results go out, and what happens to panics.
//!
//! Every exported function is written with [`exports!`]. Its parameter types say what is borrowed, owned or optional;
//! [`FromC`] checks NULL, alignment and the tag of a handle before the body runs, so no body repeats it. A bad
//! argument or a panic returns the value after `or`, and sets the thread's last error.

mod handles;

use std::cell::Cell;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use ottla_core::error::{Error, ErrorCode};

pub use handles::{AnyProcess, Lent, Owned, Tag, Tagged, boxed};

thread_local! {
    static LAST_ERROR: Cell<ErrorCode> = const { Cell::new(ErrorCode::NO_ERROR) };
    /// A handle of the parent's was refused.
    static INHERITED: Cell<bool> = const { Cell::new(false) };
}

/// Returns the calling thread's last error of a call that reports none otherwise (`rd_kafka_last_error()`).
pub fn last_error() -> ErrorCode {
    LAST_ERROR.get()
}

/// Sets the calling thread's last error and `errno`.
pub fn set_last_error(code: ErrorCode, errno: c_int) {
    LAST_ERROR.set(code);
    set_errno(errno);
}

/// Sets `errno` alone.
pub fn set_errno(errno: c_int) {
    // SAFETY: __errno_location returns a valid pointer to the calling thread's errno.
    unsafe { *libc::__errno_location() = errno };
}

/// For calls that leave `errno` alone when they succeed.
pub fn forget_last_error() {
    LAST_ERROR.set(ErrorCode::NO_ERROR);
}

/// Returns the `errno` that goes with an error code.
pub fn errno_of(code: ErrorCode) -> c_int {
    match code {
        ErrorCode::NO_ERROR => 0,
        ErrorCode::L_QUEUE_FULL => libc::ENOBUFS,
        ErrorCode::MSG_SIZE_TOO_LARGE => libc::EMSGSIZE,
        ErrorCode::L_UNKNOWN_PARTITION => libc::ESRCH,
        ErrorCode::L_UNKNOWN_TOPIC => libc::ENOENT,
        ErrorCode::L_TIMED_OUT => libc::ETIMEDOUT,
        ErrorCode::L_CONFLICT => libc::EBUSY,
        ErrorCode::L_FATAL => libc::ECANCELED,
        ErrorCode::L_STATE => libc::ENOEXEC,
        _ => libc::EINVAL,
    }
}

/// Notes an error for `rd_kafka_last_error()` and `errno`.
pub fn note(error: &Error) -> ErrorCode {
    let code = public_code(error);
    set_last_error(code, errno_of(code));
    code
}

/// Returns the code that a call returns for an error: `_FATAL` for every fatal one; `rd_kafka_fatal_error()`
/// returns its own code.
pub fn public_code(error: &Error) -> ErrorCode {
    if error.fatal { ErrorCode::L_FATAL } else { error.code }
}

/// Returns a call's outcome as an error code.
pub fn code_of<T>(result: Result<T, Error>) -> ErrorCode {
    match result {
        Ok(_) => ErrorCode::NO_ERROR,
        Err(e) => public_code(&e),
    }
}

/// Runs the body of an exported function. `None` means that an argument was refused; `fallback` receives
/// whether that was a handle of a parent process, before a fork.
pub fn boundary<R>(fallback: impl FnOnce(bool) -> R, body: impl FnOnce() -> Option<R>) -> R {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Some(result)) => result,
        Ok(None) => {
            let inherited = INHERITED.take();
            let code = match inherited {
                true => ErrorCode::L_STATE,
                false => ErrorCode::L_INVALID_ARG,
            };
            set_last_error(code, errno_of(code));
            fallback(inherited)
        }
        Err(_) => {
            set_last_error(ErrorCode::L_FAIL, libc::EFAULT);
            fallback(false)
        }
    }
}

/// Converts the result of a function that has refused an argument.
pub fn returned<R: IntoC>(value: R, inherited: bool) -> R::C {
    match inherited {
        true => value.in_child().into_c(),
        false => value.into_c(),
    }
}

/// Runs a function's body, in which `return` leaves the body only.
#[inline]
pub fn call<R>(body: impl FnOnce() -> R) -> R {
    body()
}

/// A parameter of an exported function: its C type and its checks.
pub trait FromC: Sized {
    /// The C type.
    type C;
    /// Checks and converts; `None` refuses the argument.
    ///
    /// # Safety
    /// `c` is valid by the contract of `rdkafka.h`: a pointer is NULL or points to a live object of the declared
    /// kind, which is not changed meanwhile unless the API is thread-safe for it.
    unsafe fn from_c(c: Self::C) -> Option<Self>;
}

/// The result of an exported function: its C type and conversion.
pub trait IntoC {
    /// The C type.
    type C;
    /// Converts, handing ownership over where the type has any.
    fn into_c(self) -> Self::C;
    /// Returns the result for a forked child, with the reason if the type can have one.
    #[must_use]
    fn in_child(self) -> Self
    where
        Self: Sized,
    {
        self
    }
}

macro_rules! as_is {
    ($($t:ty),*) => {$(
        impl FromC for $t {
            type C = $t;
            unsafe fn from_c(c: $t) -> Option<$t> {
                Some(c)
            }
        }
        impl IntoC for $t {
            type C = $t;
            fn into_c(self) -> $t {
                self
            }
        }
    )*};
}

as_is!(u16, i32, u32, i64, usize, isize, f64, ());

impl<T> FromC for *mut T {
    type C = *mut T;
    unsafe fn from_c(c: *mut T) -> Option<*mut T> {
        Some(c)
    }
}

impl<T> FromC for *const T {
    type C = *const T;
    unsafe fn from_c(c: *const T) -> Option<*const T> {
        Some(c)
    }
}

impl<T> IntoC for *mut T {
    type C = *mut T;
    fn into_c(self) -> *mut T {
        self
    }
}

impl<T> IntoC for *const T {
    type C = *const T;
    fn into_c(self) -> *const T {
        self
    }
}

impl IntoC for ErrorCode {
    type C = c_int;
    fn into_c(self) -> c_int {
        self.0
    }
    fn in_child(self) -> Self {
        ErrorCode::L_STATE
    }
}

impl IntoC for Option<&'static CStr> {
    type C = *const c_char;
    fn into_c(self) -> *const c_char {
        self.map_or(std::ptr::null(), CStr::as_ptr)
    }
}

/// A UTF-8 string; NULL and other bytes are refused.
impl FromC for &str {
    type C = *const c_char;
    unsafe fn from_c(c: *const c_char) -> Option<Self> {
        if c.is_null() {
            return None;
        }
        // SAFETY: not NULL, so a NUL-terminated string by the caller's promise.
        unsafe { CStr::from_ptr(c) }.to_str().ok()
    }
}

/// A UTF-8 string or NULL.
impl FromC for Option<&str> {
    type C = *const c_char;
    unsafe fn from_c(c: *const c_char) -> Option<Self> {
        if c.is_null() {
            return Some(None);
        }
        // SAFETY: as above.
        Some(Some(unsafe { CStr::from_ptr(c) }.to_str().ok()?))
    }
}

/// The timeout of a call: milliseconds, negative without limit.
#[derive(Clone, Copy, Debug)]
pub struct Timeout(pub Option<Duration>);

impl FromC for Timeout {
    type C = c_int;
    unsafe fn from_c(c: c_int) -> Option<Self> {
        Some(Timeout(u64::try_from(c).ok().map(Duration::from_millis)))
    }
}

/// Counts a timeout down over several waits.
pub struct Deadline {
    timeout: Option<Duration>,
    end: Cell<Option<Instant>>,
}

impl Deadline {
    /// Starts counting.
    pub fn new(timeout: Timeout) -> Self {
        let deadline = Self::from_first_look(timeout);
        deadline.begin();
        deadline
    }

    /// Starts at the first request for the remaining time: a call that does not wait never reads the clock.
    pub fn from_first_look(timeout: Timeout) -> Self {
        Deadline {
            timeout: timeout.0,
            end: Cell::new(None),
        }
    }

    /// Starts counting unless that was done already.
    pub fn begin(&self) {
        if let (None, Some(timeout)) = (self.end.get(), self.timeout.filter(|t| !t.is_zero())) {
            self.end.set(Instant::now().checked_add(timeout));
        }
    }

    /// Returns the remaining time; `None` without limit.
    pub fn left(&self) -> Option<Duration> {
        match (self.timeout, self.end.get()) {
            (None, _) => None,
            (Some(Duration::ZERO), _) => Some(Duration::ZERO),
            (Some(_), Some(end)) => Some(end.saturating_duration_since(Instant::now())),
            (Some(timeout), None) => {
                self.begin();
                Some(timeout)
            }
        }
    }

    /// Returns the remaining time, at most `slice`.
    pub fn left_within(&self, slice: Duration) -> Duration {
        self.left().map_or(slice, |left| left.min(slice))
    }

    /// Returns whether the time has passed.
    pub fn is_over(&self) -> bool {
        self.left().is_some_and(|left| left.is_zero())
    }
}

/// Writes through an out-parameter that may be NULL.
///
/// # Safety
/// `to` is NULL or valid for writes.
pub unsafe fn put<T>(to: *mut T, value: T) {
    if !to.is_null() {
        // SAFETY: valid for writes by the caller's promise.
        unsafe { to.write(value) };
    }
}

/// Writes `text` and a NUL into a buffer of `size` bytes, cut where it does not fit (at a character's border).
///
/// # Safety
/// `to` is NULL or valid for writes of `size` bytes.
pub unsafe fn put_text(to: *mut c_char, size: usize, text: &str) {
    let Some(room) = size.checked_sub(1) else { return };
    if to.is_null() {
        return;
    }
    let mut len = text.len().min(room);
    while !text.is_char_boundary(len) {
        len -= 1;
    }
    // SAFETY: len + 1 <= size bytes.
    unsafe {
        std::ptr::copy_nonoverlapping(text.as_ptr().cast(), to, len);
        to.add(len).write(0);
    }
}

/// Returns bytes of the application; `None` for NULL.
///
/// # Safety
/// `ptr` is NULL or valid for reads of `len` bytes during `'a`.
pub unsafe fn bytes<'a>(ptr: *const c_void, len: usize) -> Option<&'a [u8]> {
    if ptr.is_null() || isize::try_from(len).is_err() {
        return None;
    }
    // SAFETY: by the caller's promise; not longer than a Rust object can be.
    Some(unsafe { std::slice::from_raw_parts(ptr.cast(), len) })
}

/// Returns a copy of `text` for the application, to be freed with `free(3)`. NULL when there is no memory or `text` has
/// a NUL.
pub fn malloc_text(text: &str) -> *mut c_char {
    malloc_bytes(text.as_bytes())
}

/// Returns a malloc'ed copy of bytes with a NUL after them.
pub fn malloc_bytes(from: &[u8]) -> *mut c_char {
    // SAFETY: the memory for the bytes and the NUL was allocated; both copies stay within it.
    unsafe {
        let to: *mut c_char = libc::malloc(from.len() + 1).cast();
        if !to.is_null() {
            std::ptr::copy_nonoverlapping(from.as_ptr().cast(), to, from.len());
            to.add(from.len()).write(0);
        }
        to
    }
}

/// Text for C that Rust keeps: NUL bytes inside become spaces.
pub fn c_text(text: impl Into<Vec<u8>>) -> std::ffi::CString {
    let mut text: Vec<u8> = text.into();
    for byte in &mut text {
        if *byte == 0 {
            *byte = b' ';
        }
    }
    // No NUL is left, so this cannot fail.
    std::ffi::CString::new(text).unwrap_or_default()
}

/// Defines exported functions. See the module's text.
macro_rules! exports {
    ($(
        $(#[$doc:meta])*
        fn $name:ident($($arg:ident : $ty:ty),* $(,)?) $(-> $ret:ty, or $err:expr;)? $body:block
    )*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// Pointers are as `rdkafka.h` says of this function.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            $($arg: <$ty as $crate::ffi::FromC>::C),*
        ) $(-> <$ret as $crate::ffi::IntoC>::C)? {
            $crate::ffi::exports!(@run ($($arg: $ty),*) ($($ret, $err)?) $body)
        }
    )*};
    (@run ($($arg:ident : $ty:ty),*) () $body:block) => {
        $crate::ffi::boundary(|_| (), move || {
            // SAFETY: the application's promise, see `FromC::from_c`.
            $(let $arg = unsafe { <$ty as $crate::ffi::FromC>::from_c($arg) }?;)*
            $crate::ffi::call(move || -> () { $body });
            Some(())
        })
    };
    (@run ($($arg:ident : $ty:ty),*) ($ret:ty, $err:expr) $body:block) => {
        $crate::ffi::boundary(|inherited| $crate::ffi::returned::<$ret>($err, inherited), move || {
            // SAFETY: the application's promise, see `FromC::from_c`.
            $(let $arg = unsafe { <$ty as $crate::ffi::FromC>::from_c($arg) }?;)*
            Some(<$ret as $crate::ffi::IntoC>::into_c($crate::ffi::call(move || -> $ret { $body })))
        })
    };
}
pub(crate) use exports;

#[cfg(test)]
#[allow(unreachable_pub, private_interfaces)] // the macro makes public functions
mod tests {
    use super::*;

    /// A handle for these tests.
    #[repr(C)]
    pub(crate) struct Thing {
        tag: Tag,
        value: i32,
    }
    // SAFETY: repr(C), tag first.
    unsafe impl Tagged for Thing {
        const TAG: u32 = 0x7e57_0001;
    }

    exports! {
        /// Returns a test.
        fn ottla_test_value(thing: &Thing, panic: i32) -> i32, or -7; {
            assert_eq!(panic, 0, "asked to");
            thing.value
        }
    }

    #[test]
    fn bad_handles_and_panics_give_the_error_value() {
        let thing = boxed(Thing {
            tag: Tag::new(Thing::TAG),
            value: 5,
        })
        .into_c();
        // SAFETY: live objects of the right kind, or NULL.
        unsafe {
            assert_eq!(ottla_test_value(thing, 0), 5);
            assert_eq!(ottla_test_value(std::ptr::null(), 0), -7);
            assert_eq!(last_error(), ErrorCode::L_INVALID_ARG);
            let hook = std::panic::take_hook();
            std::panic::set_hook(Box::new(|_| ()));
            assert_eq!(ottla_test_value(thing, 1), -7);
            std::panic::set_hook(hook);
            assert_eq!(last_error(), ErrorCode::L_FAIL);
            let owned = Owned::from_c(thing).map(|o| o.0);
            let Some(owned) = owned else { panic!("a live handle") };
            assert_eq!(ottla_test_value(&raw const *owned, 0), -7, "destroyed");
        }
    }

    #[test]
    fn text_is_cut_at_a_character() {
        let mut buffer = [1 as c_char; 4];
        // SAFETY: the buffer's own size.
        unsafe { put_text(buffer.as_mut_ptr(), 4, "aaö") };
        assert_eq!(buffer, [97, 97, 0, 1]);
    }

    #[test]
    fn negative_timeouts_never_end() {
        // SAFETY: an integer.
        let Some(timeout) = (unsafe { Timeout::from_c(-1) }) else {
            panic!("refused")
        };
        assert!(Deadline::new(timeout).left().is_none());
        assert!(Deadline::new(Timeout(Some(Duration::ZERO))).is_over());
    }
}
