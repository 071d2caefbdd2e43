//! Cases of `testdata/verify`, held against OpenSSL's verdicts.

use std::collections::BTreeMap;

use super::chain::{Event, Examined};
use super::*;

mod callbacks;
mod handshakes;
mod hosts;
mod limits;
mod set;
mod texts;

use set::Set;

/// Returns the calls of a callback that accepts everything, in the form of the file of cases.
fn trace(chain: &Examined<'_>) -> Vec<String> {
    let call = |event: &Event| match event {
        Event::Fault { depth, kind } => format!("{}@{depth}", kind.x509_code()),
        Event::Passed { depth } => format!("@{depth}"),
    };
    chain.events.iter().map(call).collect()
}

/// Returns the number of the first fault among calls.
fn first_fault(calls: &[String]) -> Option<i32> {
    let number = |call: &String| match call.split_once('@') {
        Some((number, _)) => number.parse().ok(),
        // Unreadable.
        None => Some(1),
    };
    calls.iter().find_map(number)
}

/// Returns the listed differences from OpenSSL: the calls by the name of the case.
fn differences() -> BTreeMap<&'static str, Vec<String>> {
    let text = include_str!("../../testdata/verify/differences.txt");
    let rows = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let row = |line: &'static str| {
        let (name, calls) = line.split_once(' ').unwrap();
        (name, calls.split(',').map(str::to_owned).collect())
    };
    rows.map(row).collect()
}

#[test]
fn every_case_ends_as_in_openssl_or_as_in_the_list_of_differences() {
    let (set, differences) = (Set::read(), differences());
    let (mut wrong, mut accepted) = (Vec::new(), 0);
    for (name, case) in &set.cases {
        let own = set.trace(case);
        let expected = differences.get(name.as_str()).unwrap_or(&case.openssl);
        if own != *expected {
            wrong.push(format!("{name}: {} instead of {}", own.join(","), expected.join(",")));
        }
        if differences.get(name.as_str()) == Some(&case.openssl) {
            wrong.push(format!("{name} is listed, but does not differ"));
        }
        // The public function agrees with the trace.
        let result = set.verify(case, set.policy(case));
        accepted += usize::from(result.is_ok());
        if result.as_ref().err().map(|fault| fault.x509_code) != first_fault(&own) {
            wrong.push(format!("{name}: {} and {result:?}", own.join(",")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let unknown: Vec<_> = differences
        .keys()
        .filter(|name| !set.cases.contains_key(**name))
        .collect();
    assert!(unknown.is_empty(), "{unknown:?}");
    assert!(
        set.cases.len() > 500 && accepted > 150,
        "{} cases, {accepted} accepted",
        set.cases.len()
    );
}

#[test]
fn a_changed_bit_in_any_accepted_leaf_refuses_it() {
    let set = Set::read();
    let mut changes = 0;
    for (name, case) in &set.cases {
        if !case.trusted.contains(&case.chain[0]) && set.verify(case, set.policy(case)).is_ok() {
            let verifier = ServerVerifier::new(Arc::new(set.policy(case)), &set::provider());
            let chain = set.chain(&case.chain);
            // A stride that is no multiple of 8 reaches every bit of a byte.
            for bit in (changes % 7..chain[0].len() * 8).step_by(131) {
                let mut changed = chain[0].to_vec();
                changed[bit / 8] ^= 1 << (bit % 8);
                let result = verifier.verify(&changed.into(), &chain[1..], &case.server_name(), case.at);
                assert!(result.is_err(), "{name}: bit {bit}");
                changes += 1;
            }
        }
    }
    assert!(changes > 3000, "{changes}");
}

#[test]
fn every_certificate_can_be_described() {
    let set = Set::read();
    for (name, der) in &set.certificates {
        let cut_or_longer = name.ends_with("-cut") || name.ends_with("-longer");
        assert_eq!(describe(der).is_err(), cut_or_longer, "{name}");
    }
    let leaf = describe(&set.certificate("name-several")).unwrap();
    assert_eq!(
        (leaf.subject.as_str(), leaf.issuer.as_str()),
        ("CN=other,O=Ottla", "CN=Root,O=Ottla")
    );
    assert_eq!(leaf.names, ["a.example.com", "b.example.com", "10.0.0.1", "fd00::1"]);
    assert_eq!(leaf.not_before.to_string(), "2026-02-21 00:00:00 UTC");
    assert_eq!(leaf.not_after.to_string(), "2029-02-25 00:00:00 UTC");
    assert_eq!(describe(b"no certificate").unwrap_err(), "an element is cut off");
}

#[test]
fn subjects_print_as_in_openssl() {
    let set = Set::read();
    let names = include_str!("../../testdata/verify/names.txt");
    assert!(names.lines().count() > 40);
    for line in names.lines() {
        let (name, subject) = line.split_once(' ').unwrap();
        assert_eq!(describe(&set.certificate(name)).unwrap().subject, subject, "{name}");
    }
}
