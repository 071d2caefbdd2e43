//! Names of brokers, and their comparison with the names of certificates: the rules of OpenSSL with
//! `X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use rustls::pki_types::ServerName;

use crate::x509::der::Reader;
use crate::x509::{Certificate, names};

const DNS_NAME: u8 = 0x82;
const IP_ADDRESS: u8 = 0x87;

/// Maximum number of names in a list for people; the number of the others follows.
const PRINTED_MAX: usize = 20;
/// Maximum length of a printed name with its escapes.
const PRINTED_LEN_MAX: usize = 253;

/// Returns the name that rustls needs for a broker's host, as configured or advertised: one trailing dot is cut, as are
/// the brackets and the zone of an IPv6 address. Returns `None` if the text is neither a host name nor an address.
pub fn server_name(host: &str) -> Option<ServerName<'static>> {
    let host = host
        .strip_prefix('[')
        .and_then(|inner| inner.strip_suffix(']'))
        .unwrap_or(host);
    if let Ok(address) = host.parse::<IpAddr>() {
        return Some(ServerName::from(address));
    }
    if let Some((Ok(address), _zone)) = host
        .split_once('%')
        .map(|(address, zone)| (address.parse::<Ipv6Addr>(), zone))
    {
        return Some(ServerName::from(IpAddr::V6(address)));
    }
    let host = host.strip_suffix('.').unwrap_or(host);
    if host.ends_with('.') {
        return None;
    }
    ServerName::try_from(host.to_owned()).ok()
}

/// A host name in lower case without a trailing dot, or an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Wanted {
    Name(String),
    Address(IpAddr),
}

impl Wanted {
    /// Returns `None` for kinds of names that rustls may add.
    pub(crate) fn of(name: &ServerName<'_>) -> Option<Self> {
        match name {
            ServerName::DnsName(name) => {
                let name = name.as_ref();
                Some(Wanted::Name(
                    name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase(),
                ))
            }
            ServerName::IpAddress(address) => Some(Wanted::Address(IpAddr::from(*address))),
            _ => None,
        }
    }
}

impl std::fmt::Display for Wanted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Wanted::Name(name) => f.write_str(name),
            Wanted::Address(address) => write!(f, "{address}"),
        }
    }
}

/// The name of a certificate that a broker's name equals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Match {
    /// A subject alternative name.
    AlternativeName,
    /// The common name, which counts only without any DNS name.
    CommonName,
}

/// Compares a broker's name with those of its certificate. An address equals iPAddress names only, never a common name,
/// as in OpenSSL since 3.0.
pub(crate) fn compare(certificate: &Certificate<'_>, wanted: &Wanted) -> Option<Match> {
    let mut any_dns_name = false;
    for (tag, value) in alternative_names(certificate) {
        match (wanted, tag) {
            (Wanted::Name(wanted), DNS_NAME) => {
                any_dns_name = true;
                if pattern_fits(value, wanted) {
                    return Some(Match::AlternativeName);
                }
            }
            (Wanted::Address(wanted), IP_ADDRESS) if address(value) == Some(*wanted) => {
                return Some(Match::AlternativeName);
            }
            _ => {}
        }
    }
    match wanted {
        Wanted::Name(wanted) if !any_dns_name => {
            let common = names::common_names(certificate.subject);
            common
                .iter()
                .any(|name| pattern_fits(name.as_bytes(), wanted))
                .then_some(Match::CommonName)
        }
        _ => None,
    }
}

/// Returns whether a presented name is the wanted one, or has `*` for the whole first label and at least two more labels.
fn pattern_fits(pattern: &[u8], wanted: &str) -> bool {
    if pattern.eq_ignore_ascii_case(wanted.as_bytes()) {
        return !pattern.is_empty();
    }
    let Some(parent) = pattern.strip_prefix(b"*.") else {
        return false;
    };
    let Some((label, wanted_parent)) = wanted.split_once('.') else {
        return false;
    };
    let labels = parent.split(|byte| *byte == b'.');
    let host_labels = labels.clone().all(|label| {
        let inner = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'-';
        label.iter().all(inner) && label.first().is_some_and(|b| *b != b'-') && label.last().is_some_and(|b| *b != b'-')
    });
    host_labels
        && labels.count() >= 2
        && !label.is_empty()
        && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
        && parent.eq_ignore_ascii_case(wanted_parent.as_bytes())
}

/// Yields tags and contents of the alternative names up to the first that cannot be read. The size of a certificate
/// bounds their number.
fn alternative_names<'a>(certificate: &Certificate<'a>) -> impl Iterator<Item = (u8, &'a [u8])> + use<'a> {
    let mut list = Reader::new(certificate.extensions.subject_alt_names.unwrap_or_default());
    std::iter::from_fn(move || match list.is_empty() {
        true => None,
        false => list.next().ok().map(|name| (name.tag, name.content)),
    })
}

fn address(value: &[u8]) -> Option<IpAddr> {
    if let Ok(bytes) = <[u8; 4]>::try_from(value) {
        return Some(Ipv4Addr::from(bytes).into());
    }
    <[u8; 16]>::try_from(value)
        .ok()
        .map(|bytes| Ipv6Addr::from(bytes).into())
}

/// Returns the host names and addresses of a certificate for people; the common names if there are none.
pub(crate) fn presented(certificate: &Certificate<'_>) -> Vec<String> {
    let mut more = 0_usize;
    let mut list = Vec::new();
    for (tag, value) in alternative_names(certificate) {
        let name = match tag {
            DNS_NAME => printable(value),
            IP_ADDRESS => address(value).map_or_else(|| "(a malformed address)".to_owned(), |ip| ip.to_string()),
            _ => continue,
        };
        match list.len() < PRINTED_MAX {
            true => list.push(name),
            false => more += 1,
        }
    }
    if list.is_empty() {
        let common = names::common_names(certificate.subject);
        list.extend(
            common
                .iter()
                .take(PRINTED_MAX)
                .map(|name| format!("{} (common name)", printable(name.as_bytes()))),
        );
    }
    if more > 0 {
        list.push(format!("{more} more"));
    }
    list
}

fn printable(name: &[u8]) -> String {
    let escaped = name.iter().flat_map(|byte| byte.escape_ascii()).map(char::from);
    escaped.take(PRINTED_LEN_MAX).collect()
}
