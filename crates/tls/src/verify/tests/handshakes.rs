//! Complete handshakes, with a rustls server as the broker.

use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::time_provider::TimeProvider;
use rustls::{ClientConfig, ClientConnection, ServerConfig, ServerConnection, SupportedProtocolVersion, version};

use super::super::*;
use super::set::{Case, Set, provider};

#[derive(Debug)]
struct FixedTime(UnixTime);

impl TimeProvider for FixedTime {
    fn current_time(&self) -> Option<UnixTime> {
        Some(self.0)
    }
}

/// Performs a handshake in memory between a client with `policy` and a broker with the case's chain and the key named
/// `key`. Returns the client's error.
fn handshake(
    set: &Set,
    case: &Case,
    key: &str,
    policy: Policy,
    version: &'static SupportedProtocolVersion,
) -> Result<(), rustls::Error> {
    let provider = Arc::new(provider());
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(set.keys[key].clone()));
    let key = CertifiedKey::new(
        set.chain(&case.chain),
        provider.key_provider.load_private_key(key).unwrap(),
    );
    let server = ServerConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(&[version])
        .unwrap()
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(SingleCertAndKey::from(key)));
    let verifier = ServerVerifier::new(Arc::new(policy), &provider);
    let client = ClientConfig::builder_with_details(provider, Arc::new(FixedTime(case.at)))
        .with_protocol_versions(&[version])
        .unwrap()
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    let mut client = ClientConnection::new(Arc::new(client), case.server_name()).unwrap();
    let mut server = ServerConnection::new(Arc::new(server)).unwrap();
    while client.is_handshaking() || server.is_handshaking() {
        let mut bytes = Vec::new();
        while client.wants_write() {
            client.write_tls(&mut bytes).unwrap();
        }
        server.read_tls(&mut &bytes[..]).unwrap();
        server.process_new_packets().unwrap();
        let mut bytes = Vec::new();
        while server.wants_write() {
            server.write_tls(&mut bytes).unwrap();
        }
        client.read_tls(&mut &bytes[..]).unwrap();
        client.process_new_packets()?;
    }
    Ok(())
}

const VERSIONS: [&SupportedProtocolVersion; 2] = [&version::TLS12, &version::TLS13];

#[test]
fn handshakes_with_accepted_chains_complete_in_both_versions() {
    let set = Set::read();
    for (case, key) in [
        ("shape-two-intermediates", "leaf"),
        ("v1-direct", "v1-root"),
        ("v1-rsa", "v1-rsa"),
        ("self-default-trusted", "self-default"),
        ("algorithm-leaf-rsa2048", "leaf-with-rsa2048"),
        ("algorithm-leaf-P-384", "leaf-with-P-384"),
    ] {
        let case_of = &set.cases[case];
        for version in VERSIONS {
            let result = handshake(&set, case_of, key, set.policy(case_of), version);
            assert_eq!(result, Ok(()), "{case} in {version:?}");
        }
    }
}

#[test]
fn the_fault_of_a_refused_chain_is_in_the_error_of_rustls() {
    let set = Set::read();
    for (case, kind) in [
        ("shape-nothing-trusted", FaultKind::UnknownIssuer),
        ("v1-other-host", FaultKind::WrongName),
        ("date-leaf-expired", FaultKind::Expired),
    ] {
        let case_of = &set.cases[case];
        let key = if case.starts_with("v1") { "v1-root" } else { "leaf" };
        for version in VERSIONS {
            let error = handshake(&set, case_of, key, set.policy(case_of), version).unwrap_err();
            assert_eq!(
                fault_of(&error).map(|fault| &fault.kind),
                Some(&kind),
                "{case} in {version:?}: {error}"
            );
        }
    }
    assert_eq!(fault_of(&rustls::Error::DecryptError), None);
    assert_eq!(fault_of(&rustls::CertificateError::Expired.into()), None);
}

#[test]
fn a_broker_without_the_key_of_its_certificate_is_refused_even_without_certificate_checks() {
    let set = Set::read();
    for (case, key) in [
        ("shape-direct", "v1-root"),
        ("v1-direct", "leaf"),
        ("v1-rsa", "leaf-with-rsa2048"),
    ] {
        let case_of = &set.cases[case];
        for (version, check_certificate) in VERSIONS
            .into_iter()
            .flat_map(|version| [(version, true), (version, false)])
        {
            let policy = Policy {
                check_certificate,
                ..set.policy(case_of)
            };
            let error = handshake(&set, case_of, key, policy, version).unwrap_err();
            let bad = rustls::Error::from(rustls::CertificateError::BadSignature);
            assert_eq!(error, bad, "{case} in {version:?}");
        }
    }
}

#[test]
fn without_certificate_checks_every_chain_with_its_key_is_accepted() {
    let set = Set::read();
    for (case, key) in [
        ("shape-nothing-trusted", "leaf"),
        ("v1-nothing-trusted", "v1-root"),
        ("date-leaf-expired", "leaf"),
        ("self-default-untrusted", "self-default"),
        ("v1-sha1", "v1-root"),
    ] {
        let case_of = &set.cases[case];
        for version in VERSIONS {
            let policy = Policy {
                check_certificate: false,
                ..set.policy(case_of)
            };
            assert_eq!(
                handshake(&set, case_of, key, policy, version),
                Ok(()),
                "{case} in {version:?}"
            );
        }
    }
}

#[test]
fn the_time_of_the_connection_decides_about_dates() {
    let set = Set::read();
    let case = &set.cases["shape-direct"];
    let later = Case {
        at: UnixTime::since_unix_epoch(Duration::from_secs(case.at.as_secs() + 2000 * 86_400)),
        ..case.clone()
    };
    let error = handshake(&set, &later, "leaf", set.policy(&later), &version::TLS13).unwrap_err();
    assert_eq!(fault_of(&error).map(|fault| &fault.kind), Some(&FaultKind::Expired));
}
