//! The texts of TLS alerts from brokers (RFC 8446, section 6).

use super::security::secured;
use super::*;

/// Returns code and text of a handshake that ends with the alert.
fn alert_error(number: u8) -> Error {
    let mut w = World::new(secured(true, false));
    let _ = w.ready();
    let conn = w.resolve(1);
    w.net(NetEvent::Connected { conn, socket: -1 });
    let reason = CloseReason::Tls(TlsFailure::Alert(number));
    w.net(NetEvent::Closed { conn, reason });
    let events = w.events();
    let error = events.into_iter().find_map(|event| match event {
        ConnectionEvent::Down { error, .. } => error,
        _ => None,
    });
    error.expect("not down with an error")
}

#[test]
fn alerts_have_their_names_and_the_properties_to_look_at() {
    let client_certificate = [
        "the broker refuses the client's certificate",
        "ssl.certificate.location",
    ]
    .as_slice();
    let cases: &[(u8, &str, &[&str])] = &[
        (
            40,
            "handshake failure",
            &[
                "ssl.cipher.suites",
                "ssl.curves.list",
                "ssl.sigalgs.list",
                "ssl.certificate.location",
            ],
        ),
        (
            42,
            "bad certificate",
            &["requires a client certificate", "ssl.certificate.location"],
        ),
        (43, "unsupported certificate", client_certificate),
        (44, "certificate revoked", client_certificate),
        (45, "certificate expired", client_certificate),
        (46, "certificate unknown", client_certificate),
        (48, "unknown ca", client_certificate),
        (70, "protocol version", &["TLSv1.2", "TLSv1.3", "ssl.enabled.protocols"]),
        (71, "insufficient security", &["ssl.cipher.suites"]),
        (112, "unrecognized name", &["no certificate for the name"]),
        (
            116,
            "certificate required",
            &["requires a client certificate", "ssl.certificate.location"],
        ),
    ];
    for (number, name, hints) in cases {
        let Error { code, message, .. } = alert_error(*number);
        assert_eq!(code, ErrorCode::L_SSL);
        let phrase = format!("SSL handshake failed: {name}: SSL alert number {number} from the broker: ");
        assert!(message.contains(&phrase), "{message}");
        for hint in *hints {
            assert!(message.contains(hint), "{message} lacks {hint}");
        }
    }
}

#[test]
fn an_alert_without_a_hint_has_its_number() {
    for number in [0, 10, 80, 255] {
        let message = alert_error(number).message;
        let phrase = format!("SSL handshake failed: SSL alert number {number} from the broker (after 0ms in state");
        assert!(message.contains(&phrase), "{message}");
    }
}
