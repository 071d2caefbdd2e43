//! HTTP requests: one at a time, by blocking calls, with limits on time and size.
//!
//! Redirects are not followed, because they would carry credentials elsewhere. Connections are not kept.

mod connector;
mod environment;
mod error;
mod proxy;
mod trust;
mod url;

use std::time::{Duration, Instant};

use ureq::http;
use ureq::unversioned::resolver::DefaultResolver;
use ureq::unversioned::transport::{ConnectProxyConnector, Connector as _, SocksConnector, TcpConnector};
use zeroize::Zeroizing;

use connector::TlsConnector;

pub(crate) use environment::Environment;
pub(crate) use error::HttpError;
pub use trust::HttpsTrust;
pub(crate) use url::Url;

/// Maximum duration of all requests of an attempt.
pub(crate) const ATTEMPT_MAX: Duration = Duration::from_secs(20);
/// Maximum duration until a connection is established.
const CONNECT_MAX: Duration = Duration::from_secs(10);
/// Maximum size of an answer's body, in bytes. Brokers accept authentication messages of 512 KiB by default.
pub(crate) const BODY_MAX: usize = 256 << 10;
/// Maximum size of an answer's header, in bytes.
const HEADER_MAX: usize = 32 << 10;

/// The end of the time for an attempt.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadline {
    end: Instant,
    limit: Duration,
}

impl Deadline {
    /// Returns the deadline of an attempt that begins now and may last for `limit`.
    pub(crate) fn after(limit: Duration) -> Self {
        let end = Instant::now() + limit;
        Deadline { end, limit }
    }

    /// Returns the earlier of this deadline and the one `limit` from now.
    pub(crate) fn at_most(self, limit: Duration) -> Self {
        let other = Deadline::after(limit);
        if other.end < self.end { other } else { self }
    }

    fn remaining(&self) -> Duration {
        self.end.saturating_duration_since(Instant::now())
    }
}

/// A request.
pub(crate) struct Request<'r> {
    /// `GET`, `POST` or `PUT`.
    pub(crate) method: &'static str,
    pub(crate) url: &'r Url,
    /// Names in lower case, and values.
    pub(crate) headers: &'r [(&'static str, &'r str)],
    pub(crate) body: &'r [u8],
}

/// An answer, of any status.
pub(crate) struct Response {
    pub(crate) status: u16,
    /// The media type without parameters, in lower case.
    pub(crate) content_type: String,
    pub(crate) body: Zeroizing<Vec<u8>>,
}

impl Response {
    /// Returns whether the request succeeded.
    pub(crate) fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// Returns the status with its usual name, such as `401 Unauthorized`.
    pub(crate) fn status_text(&self) -> String {
        let known = http::StatusCode::from_u16(self.status).ok();
        match known.and_then(|status| status.canonical_reason()) {
            Some(reason) => format!("{} {reason}", self.status),
            None => self.status.to_string(),
        }
    }
}

/// Sends requests.
#[derive(Clone, Debug)]
pub(crate) struct HttpClient {
    trust: HttpsTrust,
    /// Proxies come from this environment; without one, none is used.
    proxies: Option<Environment>,
}

impl HttpClient {
    /// Returns a client that uses the proxies that the environment names.
    pub(crate) fn new(trust: HttpsTrust, environment: Environment) -> Self {
        HttpClient {
            trust,
            proxies: Some(environment),
        }
    }

    /// Returns a client that uses no proxy, for services of the machine itself.
    pub(crate) fn without_proxy(trust: HttpsTrust) -> Self {
        HttpClient { trust, proxies: None }
    }

    /// Sends a request and returns the answer.
    pub(crate) fn send(&self, request: &Request<'_>, deadline: Deadline) -> Result<Response, HttpError> {
        let proxy = match &self.proxies {
            Some(environment) => proxy::choose(request.url, environment)?,
            None => None,
        };
        let connector =
            ().chain(SocksConnector::default())
                .chain(ConnectProxyConnector::default())
                .chain(TcpConnector::default())
                .chain(TlsConnector::new(&self.trust, request.url, proxy.as_ref())?);
        let remaining = deadline.remaining();
        if remaining.is_zero() {
            return Err(HttpError::timeout(deadline.limit));
        }
        let config = ureq::Agent::config_builder()
            .proxy(proxy.as_ref().map(|proxy| proxy.inner.clone()))
            .timeout_global(Some(remaining))
            .timeout_connect(Some(CONNECT_MAX.min(remaining)))
            .max_redirects(0)
            .max_redirects_will_error(false)
            .http_status_as_error(false)
            .max_response_header_size(HEADER_MAX)
            .max_idle_connections(0)
            .user_agent(concat!("ottla/", env!("CARGO_PKG_VERSION")))
            .build();
        let agent = ureq::Agent::with_parts(config, connector, DefaultResolver::default());
        let failed = |error: ureq::Error| {
            let proxy = proxy.as_ref().map(|proxy| proxy.shown.as_str());
            HttpError::of(&error, deadline.limit, proxy)
        };
        let mut head = http::Request::builder()
            .method(request.method)
            .uri(request.url.uri().clone());
        for (name, value) in request.headers {
            let mut value = http::HeaderValue::from_str(value).map_err(|_| HttpError::header(name))?;
            value.set_sensitive(*name == "authorization" || name.contains("token"));
            head = head.header(*name, value);
        }
        let result = match request.method {
            "GET" => agent.run(head.body(()).map_err(|e| failed(e.into()))?),
            _ => agent.run(head.body(request.body).map_err(|e| failed(e.into()))?),
        };
        let mut answer = result.map_err(failed)?;
        let limit = u64::try_from(BODY_MAX).unwrap_or(u64::MAX);
        let body = answer.body_mut().with_config().limit(limit).read_to_vec();
        let body = Zeroizing::new(body.map_err(failed)?);
        let content_type = answer.headers().get(http::header::CONTENT_TYPE);
        let content_type = content_type.and_then(|value| value.to_str().ok()).unwrap_or_default();
        let media_type = content_type.split(';').next().unwrap_or_default().trim();
        Ok(Response {
            status: answer.status().as_u16(),
            content_type: media_type.to_ascii_lowercase(),
            body,
        })
    }
}

#[cfg(test)]
mod tests;
