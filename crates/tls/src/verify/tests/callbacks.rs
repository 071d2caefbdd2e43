//! The application's callback.

use std::fmt::{self, Debug};
use std::sync::Arc;

use parking_lot::Mutex;

use super::super::*;
use super::set::{Case, Set, provider};
use super::{differences, first_fault};

/// Depths, numbers and certificates.
type Calls = Vec<(i32, i32, Vec<u8>)>;
/// The answer to a call: the new number, or a refusal.
type Answer = fn(depth: i32, x509_error: i32) -> Result<i32, String>;

/// A callback that records its calls.
struct Recorder {
    calls: Mutex<Calls>,
    answer: Answer,
}

impl Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Recorder")
    }
}

impl VerifyCallback for Recorder {
    fn verify(&self, broker: &str, broker_id: i32, depth: i32, x509_error: &mut i32, der: &[u8]) -> Result<(), String> {
        assert_eq!((broker, broker_id), ("kafka1.example.com:9093", 7));
        self.calls.lock().push((depth, *x509_error, der.to_vec()));
        *x509_error = (self.answer)(depth, *x509_error)?;
        Ok(())
    }
}

const KEEP: Answer = |_, x509_error| Ok(x509_error);
const FORGIVE: Answer = |_, _| Ok(0);

/// Verifies a case with a callback; returns its calls, too.
fn verify(
    set: &Set,
    case: &Case,
    answer: Answer,
    check_certificate: bool,
) -> (Result<(), Box<CertificateFault>>, Calls) {
    let recorder = Arc::new(Recorder {
        calls: Mutex::default(),
        answer,
    });
    let policy = Policy {
        callback: Some(recorder.clone()),
        check_certificate,
        ..set.policy(case)
    };
    let verifier = ServerVerifier::new(Arc::new(policy), &provider()).for_broker("kafka1.example.com:9093", 7);
    let chain = set.chain(&case.chain);
    let result = verifier.verify(&chain[0], &chain[1..], &case.server_name(), case.at);
    let calls = std::mem::take(&mut *recorder.calls.lock());
    (result, calls)
}

fn numbers(calls: &[(i32, i32, Vec<u8>)]) -> Vec<(i32, i32)> {
    calls.iter().map(|(depth, number, _)| (*depth, *number)).collect()
}

#[test]
fn a_callback_that_keeps_all_numbers_changes_no_verdict_and_sees_the_calls_of_openssl() {
    let (set, differences) = (Set::read(), differences());
    for (name, case) in &set.cases {
        let (result, calls) = verify(&set, case, KEEP, true);
        assert_eq!(result, set.verify(case, set.policy(case)), "{name}");
        let expected = differences.get(name.as_str()).unwrap_or(&case.openssl);
        if expected == &["unreadable"] {
            assert!(calls.is_empty(), "{name}");
            continue;
        }
        // The last number persists in calls for certificates without a fault.
        let mut number = 0;
        let expected: Vec<(i32, i32)> = expected
            .iter()
            .map(|call| {
                let (fault, depth) = call.split_once('@').unwrap();
                number = fault.parse().unwrap_or(number);
                (depth.parse().unwrap(), number)
            })
            .collect();
        assert_eq!(numbers(&calls), expected, "{name}");
    }
}

#[test]
fn a_callback_that_forgives_everything_accepts_every_readable_chain() {
    let set = Set::read();
    for (name, case) in &set.cases {
        let (result, calls) = verify(&set, case, FORGIVE, true);
        match describe(&set.certificate(&case.chain[0])) {
            Ok(_) => assert_eq!(result, Ok(()), "{name}"),
            Err(_) => assert!(result.is_err() && calls.is_empty(), "{name}"),
        }
    }
}

#[test]
fn a_callback_that_forgives_one_number_accepts_chains_with_only_this_fault() {
    let set = Set::read();
    const FORGIVE_EXPIRED: Answer = |_, number| Ok(if number == 10 { 0 } else { number });
    let mut accepted = 0;
    for (name, case) in &set.cases {
        let faults: Vec<String> = set
            .trace(case)
            .into_iter()
            .filter(|call| !call.starts_with('@'))
            .collect();
        // OpenSSL's variable holds only the last fault, so that a forgiven one can hide others before it.
        if faults.iter().any(|fault| fault.starts_with("10@")) && first_fault(&faults) == Some(10) {
            let only_expired = faults.iter().all(|fault| fault.starts_with("10@"));
            let (result, _) = verify(&set, case, FORGIVE_EXPIRED, true);
            assert_eq!(result.is_ok(), only_expired, "{name}: {faults:?}, {result:?}");
            accepted += usize::from(result.is_ok());
        }
    }
    assert!(accepted > 5, "{accepted}");
}

#[test]
fn a_callback_that_forgives_an_expired_leaf_still_refuses_a_revoked_one() {
    let set = Set::read();
    const FORGIVE_EXPIRED: Answer = |_, number| if number == 23 { Err("revoked".into()) } else { Ok(0) };
    let (result, _) = verify(&set, &set.cases["list-revoked-and-expired"], FORGIVE_EXPIRED, true);
    assert_eq!(
        result.unwrap_err().kind,
        FaultKind::RefusedByApplication("revoked".into())
    );
}

#[test]
fn a_refusal_ends_the_calls_and_its_text_reaches_the_error() {
    let set = Set::read();
    const REFUSE_INTERMEDIATE: Answer = |depth, number| if depth == 1 { Err("not mine".into()) } else { Ok(number) };
    let (result, calls) = verify(&set, &set.cases["shape-two-intermediates"], REFUSE_INTERMEDIATE, true);
    assert_eq!(numbers(&calls), [(3, 0), (2, 0), (1, 0)]);
    assert_eq!(calls[0].2, set.certificates["root"]);
    assert_eq!(calls[2].2, set.certificates["sub"]);
    let fault = result.unwrap_err();
    assert_eq!((fault.depth, fault.x509_code), (1, 0));
    let text = fault.to_string();
    assert!(
        text.contains("the application's callback refused it: not mine (subject: CN=Sub,O=Ottla"),
        "{text}"
    );
    assert!(text.ends_with("check ssl.certificate.verify_cb"), "{text}");
}

#[test]
fn a_number_that_the_callback_sets_without_a_fault_is_no_fault() {
    let set = Set::read();
    let (result, _) = verify(&set, &set.cases["shape-direct"], |_, _| Ok(99), true);
    assert_eq!(result, Ok(()));
}

#[test]
fn without_certificate_checks_the_callback_is_called_and_its_answer_ignored() {
    let set = Set::read();
    for (name, case) in &set.cases {
        let (result, calls) = verify(&set, case, |_, _| Err("no".into()), false);
        assert_eq!(result, Ok(()), "{name}");
        assert_eq!(
            calls.len(),
            usize::from(describe(&set.certificate(&case.chain[0])).is_ok()),
            "{name}"
        );
        let policy = Policy {
            check_certificate: false,
            ..set.policy(case)
        };
        assert_eq!(set.verify(case, policy), Ok(()), "{name}");
    }
}
