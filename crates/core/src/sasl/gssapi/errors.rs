//! Errors of Kerberos, with advice. The library's texts come first: programs search for them.

use std::fs::File;
use std::io::{self, Read};

use ottla_gssapi::{Cause, Error};

use super::super::mechanism::SaslError;

/// The prefix of the library's texts in librdkafka's errors.
const PREFIX: &str = "GSSAPI Error: ";

/// The source of tickets, for texts.
#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    /// `sasl.kerberos.keytab`, if it is set.
    pub(super) keytab: Option<&'a str>,
    /// `sasl.kerberos.principal`, if the application has set it.
    pub(super) principal: Option<&'a str>,
}

/// Returns the error of an acquisition of tickets.
pub(super) fn acquisition(error: &Error, source: Source<'_>) -> SaslError {
    let advice = match (error.cause(), source.keytab) {
        (Some(Cause::NoCredentials | Cause::Keytab), Some(keytab)) => keytab_advice(keytab, source.principal),
        (Some(Cause::NoCredentials | Cause::Expired | Cause::Keytab), None) => NO_TICKETS.to_owned(),
        (Some(Cause::WrongKey), keytab) => format!(
            "the key in the keytab{} is not the key of {} in the KDC: export it again (ktadd -norandkey, ktpass)",
            shown(keytab),
            source.principal.unwrap_or("the principal")
        ),
        (Some(Cause::UnknownClient), _) => {
            "the realm has no such client: check sasl.kerberos.principal, its realm and the spelling".to_owned()
        }
        // A ticket that has expired when it is issued.
        (Some(Cause::Expired), Some(_)) => general(Cause::ClockSkew).to_owned(),
        (Some(cause), _) => general(cause).to_owned(),
        (None, _) => String::new(),
    };
    joined(error, &advice)
}

/// Returns the error of an exchange with a broker of the service `service` on `host`.
pub(super) fn exchange(error: &Error, service: &str, host: &str) -> SaslError {
    let advice = match error.cause() {
        Some(Cause::UnknownService) => format!(
            "the realm has no principal {service}/{host}: name brokers in bootstrap.servers and advertised.listeners as their \
             principals are named, not by address; check sasl.kerberos.service.name, and [domain_realm] in krb5.conf if the \
             brokers are in another realm"
        ),
        Some(Cause::NoCredentials) => NO_TICKETS.to_owned(),
        Some(cause) => general(cause).to_owned(),
        None => String::new(),
    };
    joined(error, &advice)
}

const NO_TICKETS: &str = "there are no valid tickets in the cache of KRB5CCNAME or the system's default one: set \
                          sasl.kerberos.keytab, with which the client acquires and renews them itself, or run kinit";

fn general(cause: Cause) -> &'static str {
    match cause {
        Cause::ClockSkew => {
            "the clocks of client, broker and KDC differ by more than krb5.conf's clockskew (5 minutes): synchronize them (NTP)"
        }
        Cause::KdcUnreachable => {
            "no KDC of krb5.conf or DNS answers: check its address, its port (88, TCP and UDP) and the firewall"
        }
        Cause::UnknownRealm => {
            "krb5.conf (KRB5_CONFIG) must have the realm: default_realm, its kdc in [realms], and the brokers' domain in \
             [domain_realm]"
        }
        Cause::Locked => "the principal or its key has expired or is locked in the KDC",
        Cause::EncryptionType => {
            "client, broker and KDC have no encryption type in common: check the keytab's (klist -ke) and permitted_enctypes in \
             krb5.conf"
        }
        Cause::Expired => "the tickets have expired",
        Cause::WrongKey => {
            "the broker cannot decrypt the ticket, or its answer is not from the owner of the service's key: its keytab must have \
             the key that the KDC has"
        }
        Cause::Keytab => "the keytab cannot be used",
        Cause::NoCredentials => "there are no tickets",
        Cause::UnknownClient => "the realm has no such client",
        Cause::UnknownService => "the realm has no such service",
    }
}

/// Returns the advice for a keytab that yields no tickets: the reason if it cannot be read.
fn keytab_advice(keytab: &str, principal: Option<&str>) -> String {
    let path = keytab.strip_prefix("FILE:").unwrap_or(keytab);
    match begins_as_keytab(path) {
        Err(e) => return format!("sasl.kerberos.keytab {path} cannot be read: {e}"),
        Ok(false) => return format!("sasl.kerberos.keytab {path} is not a keytab"),
        Ok(true) => {}
    }
    match principal {
        Some(principal) => format!(
            "sasl.kerberos.keytab {path} must have a key of sasl.kerberos.principal {principal} (klist -k lists them)"
        ),
        None => format!("sasl.kerberos.keytab {path} must have a client's key (klist -k lists them)"),
    }
}

/// Returns true when a file begins as a keytab of either version, or is named by a type other than `FILE`.
fn begins_as_keytab(path: &str) -> io::Result<bool> {
    if !path.starts_with('/') && path.contains(':') {
        return Ok(true);
    }
    let mut start = [0; 2];
    let length = File::open(path)?.read(&mut start)?;
    Ok(length == start.len() && matches!(start, [5, 1 | 2]))
}

fn shown(keytab: Option<&str>) -> String {
    keytab.map_or_else(String::new, |path| format!(" {path}"))
}

fn joined(error: &Error, advice: &str) -> SaslError {
    SaslError(match advice.is_empty() {
        true => format!("{PREFIX}{error}"),
        false => format!("{PREFIX}{error}: {advice}"),
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_keytab_without_tickets_is_described_by_what_is_wrong_with_it() {
        let folder = std::env::temp_dir().join(format!("ottla-keytab-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let file = |name: &str, contents: &[u8]| {
            let path = folder.join(name);
            fs::write(&path, contents).unwrap();
            path.to_str().unwrap().to_owned()
        };
        let empty = file("empty", b"");
        let text = file("text", b"[libdefaults]");
        let keytab = file("keytab", &[5, 2]);
        let missing = folder.join("missing").to_str().unwrap().to_owned();
        let cases = [
            (missing.clone(), "missing cannot be read: No such file"),
            (format!("FILE:{missing}"), "missing cannot be read: No such file"),
            (folder.to_str().unwrap().to_owned(), "cannot be read: Is a directory"),
            (empty, "empty is not a keytab"),
            (text, "text is not a keytab"),
            (keytab, "keytab must have a key of sasl.kerberos.principal client"),
            ("MEMORY:name".to_owned(), "MEMORY:name must have a key"),
        ];
        for (path, expected) in cases {
            let advice = keytab_advice(&path, Some("client"));
            assert!(advice.contains(expected), "{advice}");
        }
        fs::remove_dir_all(folder).unwrap();
    }
}
