//! Certificates and keys from memory, and the verify callback for brokers' certificates.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::{Arc, Weak};

use ottla_core::client::{Replacement, VerifyCallback};
use ottla_core::error::Error;
use ottla_core::event::expect_callbacks;
use ottla_tls::material::{self, Encoding, MaterialError};

use crate::callbacks::{CertVerifyCb, Opaque};
use crate::conf_result::{INVALID, OK};
use crate::errors::ErrorHandle;
use crate::ffi::{self, Owned, exports};
use crate::handle::Handle;
use crate::settings::ConfHandle;

/// Size of the buffer in which the verify callback returns the reason of a refusal, in bytes.
const REASON_SIZE: usize = 512;

/// The purpose of a certificate or key: `rd_kafka_cert_type_t`.
#[derive(Clone, Copy)]
enum Purpose {
    Certificate,
    PrivateKey,
    Ca,
}

impl Purpose {
    fn from_c(number: c_int) -> Option<Self> {
        match number {
            0 => Some(Purpose::Certificate),
            1 => Some(Purpose::PrivateKey),
            2 => Some(Purpose::Ca),
            _ => None,
        }
    }

    /// Returns librdkafka's name, for error texts.
    fn name(self) -> &'static str {
        match self {
            Purpose::Certificate => "public-key",
            Purpose::PrivateKey => "private-key",
            Purpose::Ca => "CA",
        }
    }

    /// Returns the property whose value shows the address of the stored object.
    fn property(self) -> &'static str {
        match self {
            Purpose::Certificate => "ssl_certificate",
            Purpose::PrivateKey => "ssl_key",
            Purpose::Ca => "ssl_ca",
        }
    }
}

/// Converts `rd_kafka_cert_enc_t`. Also returns librdkafka's name of the encoding, for error texts.
fn encoding_from_c(number: c_int) -> Option<(Encoding, &'static str)> {
    match number {
        0 => Some((Encoding::Pkcs12, "PKCS#12")),
        1 => Some((Encoding::Der, "DER")),
        2 => Some((Encoding::Pem, "PEM")),
        _ => None,
    }
}

/// Parses a certificate or key and stores it in `conf`. Without bytes, removes the stored one. Returns the address of the
/// stored object, 0 for none, which [`Purpose::property`] shows.
fn store(
    conf: &mut ConfHandle,
    purpose: Purpose,
    encoding: Encoding,
    bytes: Option<&[u8]>,
) -> Result<usize, MaterialError> {
    let password = conf.conf().get("ssl.key.password").ok().filter(|p| !p.is_empty());
    let password = password.as_deref();
    let hooks = conf.tls_mut();
    Ok(match purpose {
        Purpose::Certificate => {
            let read = |bytes| material::client_certificate(encoding, bytes, password);
            hooks.certificate = bytes.map(read).transpose()?;
            hooks.certificate.as_ref().map_or(0, |held| Arc::as_ptr(held).addr())
        }
        Purpose::PrivateKey => {
            let read = |bytes| material::private_key(encoding, bytes, password);
            hooks.key = bytes.map(read).transpose()?;
            hooks.key.as_ref().map_or(0, |held| Arc::as_ptr(held).addr())
        }
        Purpose::Ca => {
            let read = |bytes| material::ca_certificates(encoding, bytes, password);
            hooks.ca = bytes.map(read).transpose()?;
            hooks.ca.as_ref().map_or(0, |held| Arc::as_ptr(held).addr())
        }
    })
}

/// Passes brokers' certificates to the application's verify callback.
#[derive(Debug)]
struct Verify {
    client: Weak<Handle>,
    callback: CertVerifyCb,
    opaque: Opaque,
}

// SAFETY: the API requires a thread-safe function; the pointer is never dereferenced here, only passed to it.
unsafe impl Send for Verify {}
// SAFETY: as above.
unsafe impl Sync for Verify {}

impl VerifyCallback for Verify {
    fn verify(&self, broker: &str, broker_id: i32, depth: i32, x509_error: &mut i32, der: &[u8]) -> Result<(), String> {
        let Some(client) = self.client.upgrade() else {
            return Err("the client is being destroyed".to_owned());
        };
        let broker = ffi::c_text(broker);
        let mut reason: [c_char; REASON_SIZE] = [0; REASON_SIZE];
        // SAFETY: the application's function; its arguments are valid during the call, and the buffer has the given size.
        let accepted = unsafe {
            (self.callback)(
                client.as_ptr(),
                broker.as_ptr(),
                broker_id,
                x509_error,
                depth,
                der.as_ptr().cast(),
                der.len(),
                reason.as_mut_ptr(),
                reason.len(),
                self.opaque,
            )
        };
        if accepted != 0 {
            return Ok(());
        }
        reason[REASON_SIZE - 1] = 0;
        // SAFETY: the last byte is NUL.
        let reason = unsafe { CStr::from_ptr(reason.as_ptr()) };
        Err(reason.to_string_lossy().into_owned())
    }
}

/// Returns the core's verify callback, which calls that of the application; `None` if it has none.
pub(crate) fn verify_callback(
    callback: Option<CertVerifyCb>,
    opaque: Opaque,
    client: &Weak<Handle>,
) -> Option<Arc<dyn VerifyCallback>> {
    let callback = callback?;
    expect_callbacks();
    Some(Arc::new(Verify {
        client: client.clone(),
        callback,
        opaque,
    }))
}

fn replace(rk: &Handle, conf: &ConfHandle) -> Result<(), Error> {
    let client = rk.need_client()?;
    let held = conf.tls();
    let identity = match (&held.certificate, &held.key) {
        (Some(certificate), Some(key)) => Some((certificate.clone(), key.clone())),
        (None, None) => None,
        _ => {
            return Err(Error::invalid_arg(
                "a certificate and its private key are replaced together",
            ));
        }
    };
    if identity.is_none() && held.ca.is_none() {
        return Err(Error::invalid_arg(
            "conf holds no certificate of rd_kafka_conf_set_ssl_cert()",
        ));
    }
    let ca = held.ca.clone();
    client.replace_certificates(Replacement { identity, ca })
}

exports! {
    /// Sets a certificate or key from memory. With `buffer` NULL, removes the one that is set.
    fn rd_kafka_conf_set_ssl_cert(
        conf: &mut ConfHandle, cert_type: i32, cert_enc: i32, buffer: *const c_void, size: usize,
        errstr: *mut c_char, errstr_size: usize,
    ) -> i32, or INVALID; {
        let result = match (Purpose::from_c(cert_type), encoding_from_c(cert_enc)) {
            (None, _) => Err(format!("{cert_type} is no certificate type")),
            (_, None) => Err(format!("{cert_enc} is no certificate encoding")),
            (Some(purpose), Some((encoding, name))) => {
                // SAFETY: NULL or `size` bytes, by the API's contract.
                let bytes = unsafe { ffi::bytes(buffer, size) };
                let stored = store(conf, purpose, encoding, bytes);
                stored
                    .map(|address| conf.note_pointer(purpose.property(), address))
                    .map_err(|e| format!("Failed to read {name} {} (encoding {name}): {e}", purpose.name()))
            }
        };
        match result {
            Ok(()) => OK,
            Err(text) => {
                // SAFETY: the caller's buffer.
                unsafe { ffi::put_text(errstr, errstr_size, &text) };
                INVALID
            }
        }
    }

    /// Sets the verify callback for brokers' certificates.
    fn rd_kafka_conf_set_ssl_cert_verify_cb(conf: &mut ConfHandle, callback: Option<CertVerifyCb>) -> i32, or INVALID; {
        conf.callbacks_mut().cert_verify = callback;
        conf.note_pointer("ssl.certificate.verify_cb", callback.map_or(0, |c| c as usize));
        OK
    }

    /// Stores the argument of an OpenSSL engine. No client is created with it, since OpenSSL is not used.
    fn rd_kafka_conf_set_engine_callback_data(conf: &mut ConfHandle, data: *mut c_void) {
        conf.note_pointer("ssl_engine_callback_data", data as usize);
    }

    /// Replaces a running client's certificates.
    fn rd_kafka_ssl_certs_replace(rk: &Handle, conf: &ConfHandle)
        -> Option<Owned<ErrorHandle>>, or ErrorHandle::bad_argument();
    {
        ErrorHandle::from_result(replace(rk, conf))
    }
}
