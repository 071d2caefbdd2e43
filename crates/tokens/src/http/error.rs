//! Causes of failed requests, without secrets.

use std::io;
use std::time::Duration;

use crate::text::shown;

/// The cause of a failed request: one line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct HttpError(String);

impl HttpError {
    pub(super) fn new(text: impl Into<String>) -> Self {
        HttpError(text.into())
    }

    pub(super) fn timeout(limit: Duration) -> Self {
        HttpError(format!("no answer within {} s", limit.as_secs()))
    }

    pub(super) fn header(name: &str) -> Self {
        HttpError(format!(
            "the header {name} would have characters that HTTP does not allow"
        ))
    }

    /// Returns the text.
    pub(crate) fn text(&self) -> &str {
        &self.0
    }

    /// Returns the cause of ureq's error. `limit` is the time that the attempt had, `proxy` the description of the proxy.
    pub(super) fn of(error: &ureq::Error, limit: Duration, proxy: Option<&str>) -> Self {
        use ureq::Error as E;
        let text = match error {
            E::Timeout(ureq::Timeout::Connect) => "the connection could not be established in time".to_owned(),
            E::Timeout(ureq::Timeout::Resolve) => "the host's name could not be resolved in time".to_owned(),
            E::Timeout(_) => return with_proxy(HttpError::timeout(limit).0, proxy),
            E::HostNotFound => "the host's name cannot be resolved".to_owned(),
            E::Io(error) => io_text(error),
            E::Other(cause) => cause.to_string(),
            E::BodyExceedsLimit(bytes) => format!("the answer has more than {bytes} bytes"),
            E::LargeResponseHeader(_, limit) => format!("the answer's header has more than {limit} bytes"),
            E::ConnectProxyFailed(text) => format!("the proxy refused the connection: {}", shown(text)),
            E::ConnectionFailed => "the connection failed".to_owned(),
            E::Protocol(cause) => format!("the answer is not HTTP: {}", shown(&cause.to_string())),
            // Texts of other errors may contain parts of the request.
            E::BadUri(_) | E::Http(_) => "the request is not valid HTTP".to_owned(),
            other => shown(&other.to_string()),
        };
        with_proxy(text, proxy)
    }
}

fn with_proxy(text: String, proxy: Option<&str>) -> HttpError {
    match proxy {
        Some(proxy) => HttpError(format!("{text} (through the proxy {proxy})")),
        None => HttpError(text),
    }
}

fn io_text(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => "the server closed the connection before the answer was complete".to_owned(),
        _ => shown(&error.to_string()),
    }
}
