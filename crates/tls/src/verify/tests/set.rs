//! Reads the test cases in `testdata/verify`: chains of certificates, and the verdicts of OpenSSL on them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, CertificateRevocationListDer, ServerName, UnixTime};

use super::super::*;
use super::trace;
use crate::roots::CaStore;

/// Contents of files by name.
pub(super) type Files = BTreeMap<String, Vec<u8>>;

/// One verification of a chain: its inputs and OpenSSL's result.
#[derive(Debug, Clone)]
pub(super) struct Case {
    /// Names of the trusted certificates.
    pub(super) trusted: Vec<String>,
    /// Names of the certificates that the broker sends, the leaf first.
    pub(super) chain: Vec<String>,
    /// The expected host name; empty if names are not checked.
    pub(super) host: String,
    /// The time of the verification.
    pub(super) at: UnixTime,
    /// Names of the revocation lists; `None` without revocation checks.
    pub(super) lists: Option<Vec<String>>,
    /// The calls of OpenSSL's verify callback, in order.
    pub(super) openssl: Vec<String>,
}

/// The test cases and the files that they name.
pub(super) struct Set {
    pub(super) cases: BTreeMap<String, Case>,
    pub(super) certificates: Files,
    pub(super) lists: Files,
    pub(super) keys: Files,
}

impl Set {
    pub(super) fn read() -> Self {
        let cases = include_str!("../../../testdata/verify/cases.txt")
            .lines()
            .map(case)
            .collect();
        Set {
            cases,
            certificates: files(include_str!("../../../testdata/verify/certificates.txt")),
            lists: files(include_str!("../../../testdata/verify/lists.txt")),
            keys: files(include_str!("../../../testdata/verify/keys.txt")),
        }
    }

    pub(super) fn certificate(&self, name: &str) -> CertificateDer<'static> {
        CertificateDer::from(self.certificates[name].clone())
    }

    pub(super) fn chain(&self, names: &[String]) -> Vec<CertificateDer<'static>> {
        names.iter().map(|name| self.certificate(name)).collect()
    }

    pub(super) fn policy(&self, case: &Case) -> Policy {
        let mut roots = CaStore::new();
        let warnings = roots.add("ssl.ca.location=/ca.pem", self.chain(&case.trusted));
        assert!(warnings.is_empty(), "{warnings:?}");
        let list = |name: &String| CertificateRevocationListDer::from(self.lists[name].clone());
        let revocation = case
            .lists
            .as_ref()
            .map(|names| RevocationLists::read(names.iter().map(list)).unwrap());
        Policy {
            roots,
            revocation,
            check_certificate: true,
            check_name: !case.host.is_empty(),
            callback: None,
        }
    }

    pub(super) fn verify(&self, case: &Case, policy: Policy) -> Result<(), Box<CertificateFault>> {
        let verifier = ServerVerifier::new(Arc::new(policy), &provider());
        let chain = self.chain(&case.chain);
        verifier.verify(&chain[0], &chain[1..], &case.server_name(), case.at)
    }

    /// Returns the calls that the application's verify callback would receive, in the notation of [`Case::openssl`].
    pub(super) fn trace(&self, case: &Case) -> Vec<String> {
        let policy = self.policy(case);
        let chain = self.chain(&case.chain);
        let Ok(leaf) = Certificate::read(&chain[0]) else {
            return vec!["unreadable".to_owned()];
        };
        let wanted = Wanted::of(&case.server_name());
        let algorithms = provider().signature_verification_algorithms.all;
        let now = Timestamp(i64::try_from(case.at.as_secs()).unwrap());
        let examination = Examination {
            policy: &policy,
            algorithms,
            now,
            wanted: wanted.as_ref(),
        };
        let authority = Authority {
            policy: &policy,
            algorithms,
            now: case.at,
        };
        trace(&authority.examine(&examination, leaf, &chain[0], &chain[1..]))
    }
}

impl Case {
    pub(super) fn server_name(&self) -> ServerName<'static> {
        let host = if self.host.is_empty() {
            "unchecked.example"
        } else {
            &self.host
        };
        server_name(host).unwrap_or_else(|| server_name("not-a-host-name.invalid").unwrap())
    }
}

pub(super) fn provider() -> CryptoProvider {
    rustls::crypto::aws_lc_rs::default_provider()
}

fn case(line: &str) -> (String, Case) {
    let mut fields = line.split(' ');
    let name = fields.next().unwrap().to_owned();
    let field = |field: &str| {
        let (_, after) = line.split_once(&format!(" {field}=")).unwrap();
        after.split(' ').next().unwrap().to_owned()
    };
    let list = |text: &str| {
        text.split(',')
            .filter(|item| !item.is_empty())
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let lists = match field("lists").as_str() {
        "" => None,
        "-" => Some(Vec::new()),
        names => Some(list(names)),
    };
    let case = Case {
        trusted: list(&field("trusted")),
        chain: list(&field("chain")),
        host: field("host"),
        at: UnixTime::since_unix_epoch(Duration::from_secs(field("at").parse().unwrap())),
        lists,
        openssl: list(&field("openssl")),
    };
    (name, case)
}

fn files(text: &str) -> Files {
    let file = |line: &str| {
        let (name, base64) = line.split_once(' ').unwrap();
        (name.to_owned(), decode(base64))
    };
    text.lines().map(file).collect()
}

fn decode(base64: &str) -> Vec<u8> {
    let digit = |byte: u8| match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let mut bytes = Vec::new();
    for group in base64.as_bytes().chunks(4) {
        let digits: Vec<u8> = group.iter().copied().filter(|byte| *byte != b'=').map(digit).collect();
        let number = digits
            .iter()
            .enumerate()
            .fold(0_u32, |sum, (at, digit)| sum | u32::from(*digit) << (18 - 6 * at));
        bytes.extend(&number.to_be_bytes()[1..digits.len()]);
    }
    bytes
}
