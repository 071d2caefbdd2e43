//! Causes of failed TLS sessions.

use std::fmt;
use std::io;

use rustls::{AlertDescription, CertificateError, InvalidMessage, PeerIncompatible};

use crate::verify;

/// The cause of a failed session.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Failure {
    /// The peer sent a fatal alert with this number (RFC 8446, section 6).
    Alert(u8),
    /// The peer sent bytes that are not TLS, or closed the connection before the handshake was complete.
    NotTls,
    /// The peer's certificate was refused; the text gives the cause.
    Certificate(String),
    /// Another failure; the text describes it.
    Other(String),
}

/// An error of a session: the socket's, or a failure of TLS.
#[derive(Debug)]
pub enum SessionError {
    /// The operating system's error.
    Io(io::Error),
    /// TLS failed.
    Tls(Failure),
}

impl From<io::Error> for SessionError {
    fn from(error: io::Error) -> Self {
        SessionError::Io(error)
    }
}

impl From<rustls::Error> for SessionError {
    fn from(error: rustls::Error) -> Self {
        SessionError::Tls(Failure::from(error))
    }
}

impl From<rustls::Error> for Failure {
    fn from(error: rustls::Error) -> Self {
        match &error {
            rustls::Error::AlertReceived(alert) => Failure::Alert(u8::from(*alert)),
            rustls::Error::InvalidMessage(
                InvalidMessage::InvalidContentType
                | InvalidMessage::UnknownProtocolVersion
                | InvalidMessage::InvalidEmptyPayload,
            ) => Failure::NotTls,
            rustls::Error::InvalidCertificate(cause) => Failure::Certificate(match verify::fault_of(&error) {
                Some(fault) => fault.to_string(),
                None => certificate_text(cause),
            }),
            rustls::Error::PeerIncompatible(cause) => Failure::Other(incompatible_text(cause)),
            _ => Failure::Other(error.to_string()),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Alert(number) => write!(f, "alert {number} ({})", alert_name(*number)),
            Failure::NotTls => f.write_str("the peer does not speak TLS"),
            Failure::Certificate(text) => write!(f, "certificate verify failed: {text}"),
            Failure::Other(text) => f.write_str(text),
        }
    }
}

/// Returns the text for a certificate error of rustls itself, without a
/// [`CertificateFault`](crate::verify::CertificateFault).
fn certificate_text(cause: &CertificateError) -> String {
    match cause {
        CertificateError::BadSignature => "the handshake's signature does not match the certificate".to_owned(),
        other => rustls::Error::InvalidCertificate(other.clone()).to_string(),
    }
}

fn incompatible_text(cause: &PeerIncompatible) -> String {
    match cause {
        PeerIncompatible::ServerTlsVersionIsDisabledByOurConfig
        | PeerIncompatible::ServerDoesNotSupportTls12Or13
        | PeerIncompatible::Tls12NotOffered => "the broker offers nothing newer than TLS 1.1, which is not supported: \
             enable TLSv1.2 or TLSv1.3 on the broker (ssl.enabled.protocols)"
            .to_owned(),
        other => format!("no common parameters with the broker: {other:?}"),
    }
}

/// Returns the name of an alert (RFC 8446, section 6; RFC 5246, section 7.2).
pub fn alert_name(number: u8) -> String {
    match AlertDescription::from(number) {
        AlertDescription::Unknown(_) => "unknown alert".to_owned(),
        known => spaced(&format!("{known:?}")),
    }
}

/// Converts `BadCertificate` to `bad certificate`, `UnknownCA` to `unknown ca`.
fn spaced(camel: &str) -> String {
    let mut out = String::new();
    let mut after_lower = false;
    for c in camel.chars() {
        if c.is_ascii_uppercase() && after_lower {
            out.push(' ');
        }
        after_lower = c.is_ascii_lowercase();
        out.push(c.to_ascii_lowercase());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alerts_have_their_names_of_the_rfc() {
        assert_eq!(alert_name(42), "bad certificate");
        assert_eq!(alert_name(48), "unknown ca");
        assert_eq!(alert_name(116), "certificate required");
        assert_eq!(alert_name(200), "unknown alert");
    }

    #[test]
    fn rustls_errors_become_causes() {
        let alert = rustls::Error::AlertReceived(AlertDescription::HandshakeFailure);
        assert_eq!(Failure::from(alert), Failure::Alert(40));
        let message = rustls::Error::InvalidMessage(InvalidMessage::InvalidContentType);
        assert_eq!(Failure::from(message), Failure::NotTls);
        let old = rustls::Error::PeerIncompatible(PeerIncompatible::ServerDoesNotSupportTls12Or13);
        assert!(Failure::from(old).to_string().contains("ssl.enabled.protocols"));
    }
}
