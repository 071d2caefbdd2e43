//! The texts of TLS failures, with the properties to look at.

use super::net::TlsFailure;
use crate::error::ErrorCode;

/// librdkafka's words before the cause of a failed handshake.
pub(super) const HANDSHAKE_FAILED: &str = "SSL handshake failed: ";

/// Returns code and text of a TLS failure. `context` precedes the cause: [`HANDSHAKE_FAILED`], or nothing afterwards.
pub(super) fn tls_error(failure: &TlsFailure, context: &str) -> (ErrorCode, String) {
    let (code, cause) = match failure {
        TlsFailure::Alert(number) => (ErrorCode::L_SSL, alert_text(*number)),
        TlsFailure::NotTls => {
            let text = "Disconnected: connecting to a PLAINTEXT broker listener?";
            (ErrorCode::L_TRANSPORT, text.to_owned())
        }
        TlsFailure::Certificate(cause) => (ErrorCode::L_SSL, format!("certificate verify failed: {cause}")),
        TlsFailure::Other(cause) => (ErrorCode::L_SSL, cause.clone()),
    };
    (code, format!("{context}{cause}"))
}

/// Returns the text of an alert from the broker (RFC 8446, section 6), with the properties to look at.
fn alert_text(number: u8) -> String {
    let (name, hint) = match number {
        40 => (
            "handshake failure",
            ": no cipher suite, curve or signature algorithm in common (ssl.cipher.suites, ssl.curves.list, \
             ssl.sigalgs.list), or the broker requires a client certificate (ssl.certificate.location)",
        ),
        42 => (
            "bad certificate",
            ": the broker requires a client certificate that it accepts (ssl.certificate.location)",
        ),
        43 => ("unsupported certificate", CLIENT_CERTIFICATE_REFUSED),
        44 => ("certificate revoked", CLIENT_CERTIFICATE_REFUSED),
        45 => ("certificate expired", CLIENT_CERTIFICATE_REFUSED),
        46 => ("certificate unknown", CLIENT_CERTIFICATE_REFUSED),
        48 => ("unknown ca", CLIENT_CERTIFICATE_REFUSED),
        70 => (
            "protocol version",
            ": the broker offers neither TLSv1.2 nor TLSv1.3 (the broker's ssl.enabled.protocols)",
        ),
        71 => (
            "insufficient security",
            ": the broker requires stronger ciphers (ssl.cipher.suites)",
        ),
        112 => (
            "unrecognized name",
            ": the broker has no certificate for the name that was connected to",
        ),
        116 => (
            "certificate required",
            ": the broker requires a client certificate that it accepts (ssl.certificate.location)",
        ),
        _ => ("", ""),
    };
    match name {
        "" => format!("SSL alert number {number} from the broker"),
        name => format!("{name}: SSL alert number {number} from the broker{hint}"),
    }
}

const CLIENT_CERTIFICATE_REFUSED: &str = ": the broker refuses the client's certificate (ssl.certificate.location)";
