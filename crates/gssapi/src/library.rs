//! The GSSAPI library of the system.

use std::error::Error as _;
use std::fmt;
use std::sync::OnceLock;

use crate::abi::Functions;
use crate::status::Error;

/// The names of the library: with its version, as systems install it, and of its development package.
const NAMES: [&str; 2] = ["libgssapi_krb5.so.2", "libgssapi_krb5.so"];

/// The library, once it is loaded. It stays: its threads' data have destructors in it.
static LOADED: OnceLock<Library> = OnceLock::new();

/// MIT's GSSAPI library, loaded into this process. It may be called by several threads at a time.
pub struct Library {
    pub(crate) functions: Functions,
}

/// The GSSAPI library cannot be loaded. The text names the dynamic linker's reason and the package to install.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadError(String);

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for LoadError {}

impl Library {
    /// Returns the library; loads it at the first call. A failure is not remembered.
    ///
    /// # Errors
    /// [`LoadError`] when the library is not installed, or is too old.
    pub fn load() -> Result<&'static Library, LoadError> {
        match LOADED.get() {
            Some(library) => Ok(library),
            None => load_first(&NAMES).map(|library| LOADED.get_or_init(|| library)),
        }
    }

    /// Returns the error of a call with these results, or `Ok` for a success.
    pub(crate) fn check(&self, major: u32, minor: u32) -> Result<(), Error> {
        Error::check(&self.functions, major, minor)
    }
}

impl fmt::Debug for Library {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Library").finish_non_exhaustive()
    }
}

/// Loads the first library of these names that the system has.
fn load_first(names: &[&str]) -> Result<Library, LoadError> {
    let mut reason = None;
    for name in names {
        // SAFETY: loading runs the initializers of MIT's library and of those it depends on, which have no
        // preconditions.
        match unsafe { libloading::Library::new(*name) } {
            Ok(library) => {
                // SAFETY: the name is that of MIT's library alone, and it is never unloaded.
                let functions = unsafe { Functions::load(&library) };
                std::mem::forget(library);
                return functions
                    .map(|functions| Library { functions })
                    .map_err(|e| too_old(name, &linker_text(&e)));
            }
            Err(e) => {
                reason.get_or_insert_with(|| linker_text(&e));
            }
        }
    }
    Err(missing(&reason.unwrap_or_default()))
}

/// Returns the dynamic linker's text, which is the source of the loader's error.
fn linker_text(error: &libloading::Error) -> String {
    match error.source() {
        Some(source) => source.to_string(),
        None => error.to_string(),
    }
}

fn missing(reason: &str) -> LoadError {
    LoadError(format!(
        "Kerberos needs MIT's GSSAPI library {}, which cannot be loaded: {reason}: install the package libgssapi-krb5-2 \
         (Debian, Ubuntu), krb5-libs (Fedora, Red Hat, Alpine) or krb5 (SUSE, Arch)",
        NAMES[0]
    ))
}

fn too_old(name: &str, reason: &str) -> LoadError {
    LoadError(format!(
        "Kerberos needs MIT's GSSAPI library {name} in version 1.11 or later: {reason}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_library_is_an_error_with_the_package() {
        let Err(e) = load_first(&["libottla-no-such-library.so.2"]) else {
            panic!("loaded");
        };
        assert!(e.0.contains("libgssapi-krb5-2"), "{e}");
        assert!(e.0.contains("libottla-no-such-library.so.2"), "{e}");
    }

    #[test]
    fn another_library_of_that_name_is_an_error_with_the_missing_function() {
        let Err(e) = load_first(&["libc.so.6"]) else {
            panic!("loaded");
        };
        assert!(e.0.contains("gss_import_name"), "{e}");
    }
}
