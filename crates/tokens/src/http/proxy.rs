//! The proxy of a request, by the environment variables and rules of curl.
//!
//! | variable | use |
//! |---|---|
//! | `http_proxy` | URLs with `http`; only in lower case, because a CGI program's environment may have HTTP_PROXY from a request |
//! | `https_proxy`, `HTTPS_PROXY` | URLs with `https` |
//! | `all_proxy`, `ALL_PROXY` | URLs without one of the above |
//! | `no_proxy`, `NO_PROXY` | hosts without a proxy: `*`, or names with their subdomains, addresses and networks (CIDR) by comma |

use std::net::IpAddr;

use super::Environment;
use super::error::HttpError;
use super::url::{Url, redacted};

/// A proxy.
pub(super) struct Proxy {
    pub(super) inner: ureq::Proxy,
    /// The proxy's URL and variable, without credentials.
    pub(super) shown: String,
    /// The connection to the proxy itself uses TLS.
    pub(super) is_https: bool,
}

/// Returns the proxy for a URL; `None` for a direct connection.
pub(super) fn choose(url: &Url, environment: &Environment) -> Result<Option<Proxy>, HttpError> {
    let names: &[&str] = match url.is_https() {
        true => &["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"],
        false => &["http_proxy", "all_proxy", "ALL_PROXY"],
    };
    let found = names.iter().find_map(|name| Some((*name, environment.get(name)?)));
    let Some((name, value)) = found else {
        return Ok(None);
    };
    let excluded = environment.get("no_proxy").or_else(|| environment.get("NO_PROXY"));
    if excluded.is_some_and(|list| is_excluded(&list, url.host())) {
        return Ok(None);
    }
    let shown = format!("{name}={}", redacted(&value));
    match ureq::Proxy::new(&value) {
        Ok(inner) => Ok(Some(Proxy {
            is_https: inner.protocol() == ureq::ProxyProtocol::Https,
            inner,
            shown,
        })),
        Err(_) => Err(HttpError::new(format!("the proxy {shown} cannot be used"))),
    }
}

/// Returns whether a list of `no_proxy` names a host.
fn is_excluded(list: &str, host: &str) -> bool {
    let host = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
    let address: Option<IpAddr> = host.parse().ok();
    let mut entries = list.split([',', ' ']).filter(|entry| !entry.is_empty());
    entries.any(|entry| {
        if entry == "*" {
            return true;
        }
        let entry = entry.to_ascii_lowercase();
        if let Some(address) = address {
            return contains(&entry, address);
        }
        let entry = entry.strip_suffix('.').unwrap_or(&entry);
        let name = entry.strip_prefix("*.").or(entry.strip_prefix('.')).unwrap_or(entry);
        host == name || host.strip_suffix(name).is_some_and(|rest| rest.ends_with('.'))
    })
}

/// Returns whether an entry, an address or a network, contains an address.
fn contains(entry: &str, address: IpAddr) -> bool {
    let (network, bits) = match entry.split_once('/') {
        Some((network, bits)) => (network, Some(bits)),
        None => (entry, None),
    };
    let network = network.trim_start_matches('[').trim_end_matches(']');
    let (Ok(network), address) = (network.parse::<IpAddr>(), address) else {
        return false;
    };
    let (network, address, len) = match (network, address) {
        (IpAddr::V4(network), IpAddr::V4(address)) => {
            (u128::from(network.to_bits()), u128::from(address.to_bits()), 32)
        }
        (IpAddr::V6(network), IpAddr::V6(address)) => (network.to_bits(), address.to_bits(), 128),
        _ => return false,
    };
    let bits = match bits.map(str::parse::<u32>) {
        None => len,
        Some(Ok(bits)) if bits <= len => bits,
        Some(_) => return false,
    };
    let hidden = len - bits;
    network.checked_shr(hidden) == address.checked_shr(hidden)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(url: &str, variables: &[(&str, &str)]) -> Option<String> {
        let url = Url::parse(url).unwrap();
        let proxy = choose(&url, &Environment::of(variables)).unwrap();
        proxy.map(|proxy| proxy.shown)
    }

    #[test]
    fn the_variable_follows_the_scheme() {
        let variables = [
            ("http_proxy", "http://a:1"),
            ("HTTPS_PROXY", "http://user:secret@b:2"),
            ("ALL_PROXY", "socks5://c:3"),
        ];
        assert_eq!(
            chosen("http://host/", &variables).as_deref(),
            Some("http_proxy=http://a:1")
        );
        let https = chosen("https://host/", &variables);
        assert_eq!(https.as_deref(), Some("HTTPS_PROXY=http://***@b:2"));
        let all = [("ALL_PROXY", "socks5://c:3"), ("http_proxy", "")];
        assert_eq!(chosen("http://host/", &all).as_deref(), Some("ALL_PROXY=socks5://c:3"));
        assert_eq!(chosen("http://host/", &[("HTTP_PROXY", "http://a:1")]), None);
        assert_eq!(chosen("http://host/", &[]), None);
    }

    #[test]
    fn excluded_hosts_have_no_proxy() {
        for (list, host, excluded) in [
            ("*", "host", true),
            ("example.com", "example.com", true),
            ("example.com", "a.EXAMPLE.com", true),
            (".example.com", "example.com", true),
            ("*.example.com", "a.example.com", true),
            ("example.com", "badexample.com", false),
            ("a, b", "b", true),
            ("example.com.", "example.com", true),
            ("", "host", false),
            ("192.168.0.0/16", "192.168.3.4", true),
            ("192.168.0.0/16", "192.169.3.4", false),
            ("10.0.0.1", "10.0.0.1", true),
            ("10.0.0.1", "10.0.0.10", false),
            ("0.0.0.0/0", "10.0.0.10", true),
            ("10.0.0.0/33", "10.0.0.10", false),
            ("::1", "::1", true),
            ("fe80::/10", "fe80::1", true),
            ("::/0", "fe80::1", true),
            ("::/0", "10.0.0.1", false),
        ] {
            assert_eq!(is_excluded(list, host), excluded, "{list:?} {host}");
        }
        let variables = [("https_proxy", "http://a:1"), ("NO_PROXY", "host")];
        assert_eq!(chosen("https://host/", &variables), None);
        assert_eq!(
            chosen("https://[::1]/", &[("all_proxy", "a:1"), ("no_proxy", "::1")]),
            None
        );
    }

    #[test]
    fn a_proxy_that_cannot_be_used_is_an_error_without_credentials() {
        let url = Url::parse("http://host/").unwrap();
        let environment = Environment::of(&[("http_proxy", "gopher://user:secret@host")]);
        let error = choose(&url, &environment).err().unwrap();
        assert_eq!(error.text(), "the proxy http_proxy=gopher://***@host cannot be used");
    }
}
