//! Names of cipher suites, key exchange groups and signature algorithms, as configurations for OpenSSL have them.

mod ciphers;
mod curves;
mod error;
mod signatures;

pub use ciphers::{CipherSelection, cipher_suites};
pub use curves::curves;
pub use error::NamesError;
pub use signatures::signature_algorithms;
