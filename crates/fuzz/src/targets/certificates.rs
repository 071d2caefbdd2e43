//! Certificates of brokers. An input is the number of a case of the verification's tests, which selects the trusted CAs, the
//! revocation lists, the host and the time, and the chain that the broker sends.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock};

use ottla_tls::roots::CaStore;
use ottla_tls::verify::{CertificateFault, Policy, RevocationLists, ServerVerifier, VerifyCallback, describe};

use crate::input::Input;
use crate::memory::within;
use crate::{Seen, Verdict};

/// Certificates of a chain; more show nothing new.
const CHAIN_MAX: usize = 8;
/// Longer seeds would be cut.
const SEED_LEN_MAX: usize = 2048;

/// The tests' certificates, revocation lists and cases.
struct Data {
    certificates: BTreeMap<String, Vec<u8>>,
    known: BTreeSet<Vec<u8>>,
    lists: BTreeMap<String, Vec<u8>>,
    cases: Vec<Case>,
}

/// The circumstances of one verification.
struct Case {
    trusted: Vec<String>,
    chain: Vec<String>,
    host: String,
    at: u64,
    lists: Vec<String>,
}

static DATA: LazyLock<Data> = LazyLock::new(|| {
    let certificates = files(include_str!("../../../tls/testdata/verify/certificates.txt"));
    Data {
        known: certificates.values().cloned().collect(),
        certificates,
        lists: files(include_str!("../../../tls/testdata/verify/lists.txt")),
        cases: include_str!("../../../tls/testdata/verify/cases.txt")
            .lines()
            .map(case)
            .collect(),
    }
});

fn files(text: &str) -> BTreeMap<String, Vec<u8>> {
    let rows = text.lines().filter_map(|line| line.split_once(' '));
    rows.map(|(name, base64)| (name.to_owned(), from_base64(base64)))
        .collect()
}

fn from_base64(text: &str) -> Vec<u8> {
    const DIGITS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (mut bytes, mut bits, mut count) = (Vec::new(), 0_u32, 0);
    for digit in text.chars().filter_map(|digit| DIGITS.find(digit)) {
        bits = bits << 6 | u32::try_from(digit).unwrap_or(0);
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push(u8::try_from(bits >> count & 0xff).unwrap_or(0));
        }
    }
    bytes
}

fn case(line: &str) -> Case {
    let field = |name: &str| {
        let value = line
            .split(' ')
            .find_map(|field| field.strip_prefix(name)?.strip_prefix('='));
        value.unwrap_or_default().to_owned()
    };
    let list = |name: &str| {
        field(name)
            .split(',')
            .filter(|item| item.len() > 1)
            .map(str::to_owned)
            .collect()
    };
    Case {
        trusted: list("trusted"),
        chain: list("chain"),
        host: field("host"),
        at: field("at").parse().unwrap_or(0),
        lists: list("lists"),
    }
}

impl Data {
    fn roots(&self, case: &Case) -> CaStore {
        let mut roots = CaStore::new();
        let certificates = case.trusted.iter().filter_map(|name| self.certificates.get(name));
        roots.add("test", certificates.cloned());
        roots
    }

    fn policy(&self, case: &Case, lists: Option<RevocationLists>) -> Policy {
        Policy {
            roots: self.roots(case),
            revocation: lists,
            check_certificate: true,
            check_name: !case.host.is_empty(),
            callback: None,
        }
    }

    fn lists(&self, case: &Case) -> Result<Option<RevocationLists>, String> {
        let lists = case.lists.iter().filter_map(|name| self.lists.get(name)).cloned();
        (!case.lists.is_empty())
            .then(|| RevocationLists::read(lists))
            .transpose()
    }
}

/// A callback with one answer.
#[derive(Debug)]
struct Answer {
    forgive: bool,
}

impl VerifyCallback for Answer {
    fn verify(&self, _: &str, _: i32, _: i32, x509_error: &mut i32, _: &[u8]) -> Result<(), String> {
        if self.forgive {
            *x509_error = 0;
        }
        Ok(())
    }
}

type Outcome = Result<(), Box<CertificateFault>>;

pub(super) fn chains(data: &[u8]) -> Verdict {
    let mut input = Input::new(data);
    let Some(case) = DATA.cases.get(usize::from(input.short()) % DATA.cases.len()) else {
        return Ok(Seen::Refused);
    };
    let mut chain = Vec::new();
    while !input.is_empty() && chain.len() < CHAIN_MAX {
        let len = input.short().into();
        chain.push(input.bytes(len).to_vec());
    }
    if chain.is_empty() {
        return Ok(Seen::Refused);
    }
    let lists = DATA.lists(case)?;
    let verify = |callback: Option<bool>, check_certificate: bool| -> Outcome {
        let callback = callback.map(|forgive| Arc::new(Answer { forgive }) as Arc<dyn VerifyCallback>);
        let policy = Policy {
            check_certificate,
            callback,
            ..DATA.policy(case, lists.clone())
        };
        ServerVerifier::with_all_algorithms(Arc::new(policy)).verify_der(&chain, &case.host, case.at)
    };
    let limit = (256 << 10) + 64 * data.len();
    let outcome = within(limit, || verify(None, true))?;
    let leaf = chain.first().map(Vec::as_slice).unwrap_or_default();
    let described = within(limit, || describe(leaf))?;
    if let Err(fault) = &outcome {
        let text = fault.to_string();
        ensure!(text.len() < 16 << 10, "a text of {} bytes", text.len());
        ensure!(
            !text.contains(char::is_control),
            "a text with control characters: {text:?}"
        );
        ensure!(fault.x509_code != 0, "a fault without a number: {text}");
    }
    // No input can hold a signature that is not in the data already.
    ensure!(
        outcome.is_err() || DATA.known.contains(leaf),
        "accepted a leaf that no CA has signed: {described:?}"
    );
    let kept = verify(Some(false), true);
    ensure!(
        kept == outcome,
        "{outcome:?}, and with a callback that changes nothing {kept:?}"
    );
    let forgiven = verify(Some(true), true);
    ensure!(
        forgiven.is_ok() == described.is_ok(),
        "{forgiven:?} although everything was forgiven; {described:?}"
    );
    ensure!(verify(None, false).is_ok(), "refused without certificate checks");
    Ok(if described.is_ok() {
        Seen::Accepted
    } else {
        Seen::Refused
    })
}

pub(super) fn chain_seeds() -> Vec<Vec<u8>> {
    let seed = |(number, case): (usize, &Case)| {
        let mut seed = u16::try_from(number).unwrap_or(0).to_be_bytes().to_vec();
        for certificate in case.chain.iter().filter_map(|name| DATA.certificates.get(name)) {
            seed.extend(u16::try_from(certificate.len()).unwrap_or(0).to_be_bytes());
            seed.extend(certificate);
        }
        seed
    };
    let readable = |case: &Case| {
        let leaf = case.chain.first().and_then(|name| DATA.certificates.get(name));
        leaf.is_some_and(|leaf| describe(leaf).is_ok())
    };
    let all = DATA
        .cases
        .iter()
        .enumerate()
        .filter(|(_, case)| readable(case))
        .map(seed);
    all.filter(|seed| seed.len() <= SEED_LEN_MAX).collect()
}

/// Revocation lists: an input is one list.
pub(super) fn lists(data: &[u8]) -> Verdict {
    let limit = (64 << 10) + 64 * data.len();
    let Ok(lists) = within(limit, || RevocationLists::read([data.to_vec()]))? else {
        return Ok(Seen::Refused);
    };
    let find = |name: &str| {
        DATA.cases
            .iter()
            .find(|case| case.chain.first().is_some_and(|leaf| leaf == name) && !case.lists.is_empty())
    };
    for leaf in ["leaf", "leaf-revoked", "leaf-point", "v1-root"] {
        let (Some(case), Some(der)) = (find(leaf), DATA.certificates.get(leaf)) else {
            return Err(format!("no case has the leaf {leaf}"));
        };
        let policy = DATA.policy(case, Some(lists.clone()));
        let verifier = ServerVerifier::with_all_algorithms(Arc::new(policy));
        let outcome = within(limit + (256 << 10), || {
            verifier.verify_der(std::slice::from_ref(der), &case.host, case.at)
        })?;
        let known = DATA.lists.values().any(|list| list == data);
        ensure!(
            outcome.is_err() || known,
            "accepted {leaf} by a list that no CA has signed"
        );
    }
    Ok(Seen::Accepted)
}

pub(super) fn list_seeds() -> Vec<Vec<u8>> {
    DATA.lists.values().cloned().collect()
}
