//! Certificates, private keys, keystores and revocation lists in the formats that users have.
//!
//! The functions are pure: bytes and a password in, values out. Callers read the files, and add the names of properties and
//! files to errors.
//!
//! Numbers in the data are bounded before they cost anything: iterations of key derivation, memory, nesting. Passwords and
//! derived keys are erased after use. A private key is returned in a type of rustls that does not erase itself; it implements
//! `Zeroize`.

mod block_cipher;
mod certificates;
mod der;
mod error;
mod key_derivation;
mod keys;
mod memory;
mod password_encryption;
mod pem;
mod pkcs12;

pub use certificates::{certificates_from_der, certificates_from_pem, crls_from_pem};
pub use error::{MaterialError, MaterialErrorKind};
pub use keys::{key_fits_certificate, private_key_from_der, private_key_from_pem};
pub use memory::{Certificates, Encoding, PrivateKey, ca_certificates, client_certificate, private_key};
pub use pkcs12::{Keystore, keystore_from_pkcs12};

#[cfg(test)]
mod tests;
