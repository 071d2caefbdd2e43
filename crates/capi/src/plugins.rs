//! Plugins: shared libraries that `plugin.library.paths` names, whose `conf_init` adds interceptors to the settings.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::Path;

use ottla_core::error::ErrorCode;

use crate::abi::RdKafkaConf;
use crate::cancel_guard::CancelGuard;
use crate::ffi::c_text;

/// The property.
pub const PATHS: &str = "plugin.library.paths";

/// The exported function of a plugin: settings, out-parameter for its pointer, buffer for an error text.
type ConfInit = unsafe extern "C" fn(*mut RdKafkaConf, *mut *mut c_void, *mut c_char, usize) -> c_int;

/// Room for an error of a plugin.
const ERROR_ROOM: usize = 512;

/// Returns the path with the platform's extension when it has none.
fn with_extension(path: &str) -> CString {
    match Path::new(path).extension() {
        Some(_) => c_text(path),
        None => c_text(format!("{path}.so")),
    }
}

/// Returns the dynamic linker's text for the last failure.
fn linker_error() -> String {
    // SAFETY: NULL or a string that stays until this thread's next call of the linker.
    unsafe {
        let text = libc::dlerror();
        match text.is_null() {
            true => "unknown error".into(),
            false => CStr::from_ptr(text).to_string_lossy().into_owned(),
        }
    }
}

/// Loads the libraries of a list with `;` between them, and has each set the configuration up. A library stays loaded
/// as long as the process lives: clients may call what is in it at any time.
///
/// # Errors
/// The first library that cannot be loaded, or does not want to be. Those before it have done their work.
///
/// # Safety
/// `conf` is a live object to which no reference is held.
pub unsafe fn load(conf: *mut RdKafkaConf, paths: &str) -> Result<(), String> {
    let mut seen: Vec<&str> = Vec::new();
    for path in paths.split(';').filter(|path| !path.is_empty()) {
        if !seen.contains(&path) {
            seen.push(path);
            // SAFETY: by the caller's promise.
            unsafe { load_one(conf, path) }.map_err(|why| format!("Plugin \"{path}\" {why}"))?;
        }
    }
    Ok(())
}

/// # Safety
/// As for [`load`].
unsafe fn load_one(conf: *mut RdKafkaConf, path: &str) -> Result<(), String> {
    let _uncancelled = CancelGuard::new();
    let file = with_extension(path);
    // SAFETY: loading runs the library's constructors, as the application requests.
    let library = unsafe { libc::dlopen(file.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    if library.is_null() {
        return Err(format!("cannot be loaded: {}", linker_error()));
    }
    // SAFETY: the library that was just loaded.
    let symbol = unsafe { libc::dlsym(library, c"conf_init".as_ptr()) };
    if symbol.is_null() {
        let why = linker_error();
        // SAFETY: nothing of the library is used.
        unsafe { libc::dlclose(library) };
        return Err(format!("has no conf_init(): {why}"));
    }
    // SAFETY: plugins declare `conf_init` as the header says.
    let conf_init = unsafe { std::mem::transmute::<*mut c_void, ConfInit>(symbol) };
    let mut errstr: [c_char; ERROR_ROOM] = [0; ERROR_ROOM];
    let mut plugin_opaque: *mut c_void = std::ptr::null_mut();
    // SAFETY: the buffer's own size, and by the caller's promise.
    let code = ErrorCode(unsafe { conf_init(conf, &raw mut plugin_opaque, errstr.as_mut_ptr(), ERROR_ROOM) });
    if code.is_ok() {
        return Ok(());
    }
    if let Some(last) = errstr.last_mut() {
        *last = 0;
    }
    // SAFETY: ends with a NUL.
    let said = unsafe { CStr::from_ptr(errstr.as_ptr()) }.to_string_lossy();
    Err(format!("failed in conf_init(): {}: {said}", code.description()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_extension_is_added_where_there_is_none() {
        assert_eq!(with_extension("/lib/monitor").as_c_str(), c"/lib/monitor.so");
        assert_eq!(with_extension("./monitor.so").as_c_str(), c"./monitor.so");
        assert_eq!(with_extension("libm.so.6").as_c_str(), c"libm.so.6");
        assert_eq!(with_extension("/a.b/monitor").as_c_str(), c"/a.b/monitor.so");
    }

    #[test]
    fn what_cannot_be_loaded_is_named() {
        // None of these libraries has a conf_init() that would use it.
        let conf = std::ptr::null_mut();
        for (paths, why) in [
            ("/nowhere/plugin", "cannot be loaded"),
            ("libc.so.6", "has no conf_init()"),
        ] {
            // SAFETY: the object is not used.
            let error = unsafe { load(conf, paths) }.expect_err("no plugin");
            assert!(error.contains(why) && error.contains(paths), "{error}");
        }
        // SAFETY: as above.
        assert_eq!(unsafe { load(conf, ";;") }, Ok(()));
    }
}
