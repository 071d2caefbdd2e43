//! Kerberos over the system's GSSAPI library (RFC 2743, RFC 2744): the initiator's part of a security context.
//!
//! The library is MIT's `libgssapi_krb5.so.2`, loaded at run time by [`Library::load`]. Calls of the Key Distribution
//! Center (KDC) are made by [`Credential::from_keytab`] and [`Context::step`]: both block, up to a minute or longer when
//! the KDC does not answer.
//!
//! | module | contents |
//! |---|---|
//! | `abi` | the C types, constants and functions of the library |
//! | `library` | the loaded library |
//! | `status` | errors: the library's texts, and the causes that users can remove |
//! | `buffer`, `name` | owned buffers and names |
//! | `cache` | credentials caches in memory |
//! | `credential` | tickets, from a keytab or from the default cache |
//! | `context` | the exchange with an acceptor |
//! | `kinit` | the command of programs that fill the default cache themselves |
//!
//! The pointers and calls of C are `unsafe`; this crate wraps them in safe types.

mod abi;
mod buffer;
mod cache;
mod context;
mod credential;
mod kinit;
mod library;
mod name;
mod status;

pub use context::{Context, Progress};
pub use credential::Credential;
pub use kinit::{KinitCommand, TemplateError};
pub use library::{Library, LoadError};
pub use status::{Cause, Error};
