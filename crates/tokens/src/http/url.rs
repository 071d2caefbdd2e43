//! URLs of requests, and their form in error messages.

use std::fmt;

use ureq::http::Uri;

use crate::text::shown;
use crate::token::SettingsError;

/// Maximum length of a URL, in bytes.
const URL_MAX: usize = 8192;

/// A URL with the scheme `http` or `https`.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Url {
    uri: Uri,
}

impl Url {
    /// Parses a property's value.
    pub(crate) fn new(property: &str, text: &str) -> Result<Self, SettingsError> {
        Url::parse(text).map_err(|problem| {
            let text = format_args!("\"{}\" is not a URL that can be used: {problem}", redacted(text));
            SettingsError::invalid(property, text)
        })
    }

    /// Parses a URL. The error is a cause without any part of the URL.
    pub(crate) fn parse(text: &str) -> Result<Self, &'static str> {
        if text.len() > URL_MAX {
            return Err("it is too long");
        }
        if text.contains('#') {
            return Err("it has a fragment (#)");
        }
        let uri: Uri = text
            .parse()
            .map_err(|_| "it has characters or parts that URLs cannot have")?;
        match uri.scheme_str() {
            Some("http" | "https") => {}
            _ => return Err("it does not begin with http:// or https://"),
        }
        match uri.host() {
            None | Some("") => Err("it has no host"),
            Some(_) => Ok(Url { uri }),
        }
    }

    pub(crate) fn uri(&self) -> &Uri {
        &self.uri
    }

    /// Returns the host without port; an IPv6 address without brackets.
    pub(crate) fn host(&self) -> &str {
        let host = self.uri.host().unwrap_or_default();
        let address = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        address.unwrap_or(host)
    }

    pub(crate) fn is_https(&self) -> bool {
        self.uri.scheme_str() == Some("https")
    }
}

/// Prints the URL without user, password and values of the query.
impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&redacted(&self.uri.to_string()))
    }
}

impl fmt::Debug for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Returns any text, which may be a URL, for an error message: without user, password, values of the query and fragment.
pub(crate) fn redacted(text: &str) -> String {
    let (text, _fragment) = text.split_once('#').unwrap_or((text, ""));
    let (base, query) = match text.split_once('?') {
        Some((base, query)) => (base, Some(query)),
        None => (text, None),
    };
    let (scheme, rest) = match base.split_once("://") {
        Some((scheme, rest)) => (format!("{scheme}://"), rest),
        None => (String::new(), base),
    };
    // A password may contain an unescaped slash.
    let rest = match rest.rsplit_once('@') {
        Some((_user, host)) => format!("***@{host}"),
        None => rest.to_owned(),
    };
    let mut out = format!("{scheme}{rest}");
    if let Some(query) = query {
        let names = query.split('&').map(|pair| match pair.split_once('=') {
            Some((name, _value)) => format!("{name}=***"),
            None => "***".to_owned(),
        });
        out.push('?');
        out.push_str(&names.collect::<Vec<_>>().join("&"));
    }
    shown(&out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_shown_without_credentials() {
        for (url, shown) in [
            ("http://localhost:8080/token", "http://localhost:8080/token"),
            ("https://user:secret@host/t", "https://***@host/t"),
            ("https://host/t?code=secret&x", "https://host/t?code=***&***"),
            ("user:sec/ret@host", "***@host"),
            ("https://host/t#secret", "https://host/t"),
            ("", ""),
        ] {
            assert_eq!(redacted(url), shown);
        }
        let url = Url::new("p", "https://user:secret@[::1]:8080/t?a=secret").unwrap();
        assert_eq!(url.to_string(), "https://***@[::1]:8080/t?a=***");
        assert_eq!(format!("{url:?}"), url.to_string());
        assert_eq!(url.host(), "::1");
    }

    #[test]
    fn urls_that_cannot_be_used_are_refused() {
        for (url, cause) in [
            ("", "characters or parts"),
            ("localhost", "begin with http://"),
            ("/token", "begin with http://"),
            ("ftp://host/", "begin with http://"),
            ("http://", "characters or parts"),
            ("http://host/a b", "characters or parts"),
            ("http://host/a#b", "fragment"),
        ] {
            let error = Url::new("sasl.oauthbearer.token.endpoint.url", url)
                .unwrap_err()
                .to_string();
            let start = "Invalid sasl.oauthbearer.token.endpoint.url: \"";
            assert!(error.starts_with(start) && error.contains(cause), "{url}: {error}");
        }
        let error = Url::new("p", "http://user:secret@host/a b?c=secret")
            .unwrap_err()
            .to_string();
        assert!(!error.contains("secret"), "{error}");
    }
}
