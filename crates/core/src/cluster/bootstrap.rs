//! Broker addresses of `bootstrap.servers`.

use std::fmt;
use std::net::Ipv6Addr;

/// The port of a broker address without one.
const DEFAULT_PORT: u16 = 9092;

/// Host and port.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Endpoint {
    /// A name, or an IPv4 or IPv6 address without brackets.
    pub host: String,
    /// The TCP port.
    pub port: u16,
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

/// Parses a comma-separated list of `[PROTOCOL://]host[:port]`, IPv6 addresses in brackets or, without a port, bare.
/// Returns the addresses and, for each malformed entry, an error text.
pub fn parse_endpoints(list: &str) -> (Vec<Endpoint>, Vec<String>) {
    let mut good: Vec<Endpoint> = Vec::new();
    let mut bad = Vec::new();
    for entry in list.split(',').map(str::trim).filter(|e| !e.is_empty()) {
        match parse_endpoint(entry) {
            Ok(e) if good.contains(&e) => {}
            Ok(e) => good.push(e),
            Err(why) => bad.push(format!("broker address \"{entry}\": {why}")),
        }
    }
    (good, bad)
}

fn parse_endpoint(entry: &str) -> Result<Endpoint, String> {
    let rest = match entry.split_once("://") {
        Some((protocol, _)) if !protocol.eq_ignore_ascii_case("plaintext") => {
            return Err(format!(
                "protocol {protocol}:// does not match security.protocol=plaintext"
            ));
        }
        Some((_, rest)) => rest,
        None => entry,
    };
    let (host, port) = if let Some(bracketed) = rest.strip_prefix('[') {
        let (host, after) = bracketed.split_once(']').ok_or("missing ]")?;
        match after.strip_prefix(':') {
            Some(port) => (host, Some(port)),
            None if after.is_empty() => (host, None),
            None => return Err(format!("\"{after}\" after ]")),
        }
    } else if rest.matches(':').count() > 1 {
        (rest, None)
    } else {
        match rest.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (rest, None),
        }
    };
    let port = match port {
        Some(port) => port
            .parse::<u16>()
            .ok()
            .filter(|p| *p > 0)
            .ok_or("the port must be a number from 1 to 65535")?,
        None => DEFAULT_PORT,
    };
    let host = host.trim();
    if host.contains(':') && !is_ipv6(host) {
        return Err(format!(
            "\"{host}\" is not an IPv6 address; one with a port needs brackets, as in [::1]:9092"
        ));
    }
    if host.contains(['[', ']', '/', '?', '#', '@']) || host.contains(char::is_whitespace) {
        return Err(format!("\"{host}\" is not the name of a host"));
    }
    // An empty host is this machine, as in a broker's listeners.
    let host = if host.is_empty() { "localhost" } else { host };
    Ok(Endpoint {
        host: host.to_owned(),
        port,
    })
}

/// Returns whether this is an IPv6 address, optionally with an interface as in `fe80::1%eth0`.
fn is_ipv6(host: &str) -> bool {
    let (address, interface) = host.split_once('%').unwrap_or((host, "lo"));
    let in_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    address.parse::<Ipv6Addr>().is_ok() && !interface.is_empty() && interface.chars().all(in_name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(entry: &str) -> Option<(String, u16)> {
        let (good, _) = parse_endpoints(entry);
        good.into_iter().next().map(|e| (e.host, e.port))
    }

    #[test]
    fn endpoints_of_every_form_are_parsed() {
        assert_eq!(one("a"), Some(("a".into(), 9092)));
        assert_eq!(one("a:1"), Some(("a".into(), 1)));
        assert_eq!(one("PLAINTEXT://a:1"), Some(("a".into(), 1)));
        assert_eq!(one("[::1]:5"), Some(("::1".into(), 5)));
        assert_eq!(one("[::1]"), Some(("::1".into(), 9092)));
        assert_eq!(one("fe80::1"), Some(("fe80::1".into(), 9092)));
        assert_eq!(one("[fe80::1%eth0]:5"), Some(("fe80::1%eth0".into(), 5)));
        assert_eq!(one("PLAINTEXT:// a :1"), Some(("a".into(), 1)));
        for bad in [
            "a:0", "a:70000", "a:x", "SSL://a", "[::1", "[::1]x", "a:1:2", "x::1]:1", "[a:1]", "::%a]:1",
        ] {
            assert_eq!(one(bad), None, "{bad}");
            assert_eq!(parse_endpoints(bad).1.len(), 1);
        }
    }

    #[test]
    fn duplicates_and_blanks_are_dropped() {
        assert_eq!(parse_endpoints(" a:1, ,a:1,b").0.len(), 2);
    }
}
