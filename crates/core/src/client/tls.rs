//! The TLS of a client's settings.

use std::sync::Arc;

use ottla_tls::{ClientTls, Settings, SettingsError};
use zeroize::Zeroizing;

use crate::config::{ClientConfig, Secret};
use crate::core::TlsHooks;
use crate::error::{Error, ErrorCode};

/// The TLS of a client, and texts for the log.
type Started = (Arc<ClientTls>, Vec<String>);

/// Returns the TLS of the settings, with texts for the log; `None` for a plaintext client, to which `ssl.*` does not matter.
///
/// # Errors
/// `_INVALID_ARG`: a certificate, key or name in the settings that cannot be used.
pub(super) fn start(conf: &ClientConfig, hooks: &TlsHooks) -> Result<Option<Started>, Error> {
    if !conf.security_protocol.as_str().ends_with("ssl") {
        return Ok(None);
    }
    let (tls, warnings) = ClientTls::new(settings(conf, hooks)).map_err(|e| invalid(&e))?;
    Ok(Some((Arc::new(tls), warnings)))
}

/// Returns the client's error for settings that cannot be used.
pub(super) fn invalid(error: &SettingsError) -> Error {
    Error::new(ErrorCode::L_INVALID_ARG, error.to_string())
}

fn settings(conf: &ClientConfig, hooks: &TlsHooks) -> Settings {
    let set = |text: &String| (!text.is_empty()).then(|| text.clone());
    let secret = |text: &Secret| (!text.is_empty()).then(|| Zeroizing::new(text.to_string()));
    Settings {
        ca_location: set(&conf.ssl_ca_location),
        ca_pem: (!conf.ssl_ca_pem.is_empty()).then(|| conf.ssl_ca_pem.to_string()),
        ca: hooks.ca.clone(),
        crl_location: set(&conf.ssl_crl_location),
        certificate_location: set(&conf.ssl_certificate_location),
        certificate_pem: set(&conf.ssl_certificate_pem),
        certificate: hooks.certificate.clone(),
        key_location: (!conf.ssl_key_location.is_empty()).then(|| conf.ssl_key_location.to_string()),
        key_pem: secret(&conf.ssl_key_pem),
        key: hooks.key.clone(),
        key_password: secret(&conf.ssl_key_password),
        keystore_location: set(&conf.ssl_keystore_location),
        keystore_password: secret(&conf.ssl_keystore_password),
        cipher_suites: set(&conf.ssl_cipher_suites),
        curves: set(&conf.ssl_curves_list),
        signature_algorithms: set(&conf.ssl_sigalgs_list),
        trust_all: !conf.enable_ssl_certificate_verification,
        any_name: conf.ssl_endpoint_identification_algorithm == "none",
        callback: hooks.verify.clone(),
    }
}
