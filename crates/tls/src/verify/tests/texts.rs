//! Texts of faults and notes.

use super::super::*;
use super::set::{Set, provider};

fn text(set: &Set, case: &str) -> String {
    let case = &set.cases[case];
    set.verify(case, set.policy(case)).unwrap_err().to_string()
}

#[test]
fn faults_name_rule_certificate_dates_names_source_and_property() {
    let set = Set::read();
    let leaf = "subject: CN=broker,O=Ottla, issuer: CN=Root,O=Ottla, valid from 2026-02-21 00:00:00 UTC until";
    for (case, expected) in [
        (
            "shape-nothing-trusted",
            format!(
                "The broker's certificate is refused: its issuer is not a trusted CA, and the broker sent no chain to one \
                 ({leaf} 2029-02-25 00:00:00 UTC; names presented: \
                 kafka1.example.com, name wanted: kafka1.example.com; 0 trusted CA certificates from \
                 ssl.ca.location=/ca.pem): check ssl.ca.location or ssl.ca.pem"
            ),
        ),
        (
            "date-leaf-expired",
            format!(
                "The broker's certificate is refused: it has expired ({leaf} 2026-05-31 00:00:00 UTC; names presented: \
                 kafka1.example.com, name wanted: kafka1.example.com; 1 trusted CA certificate from \
                 ssl.ca.location=/ca.pem): check this machine's clock and the broker's ssl.keystore.location"
            ),
        ),
        (
            "name-several-10.0.0.2",
            "The broker's certificate is refused: it is not for the broker's address (subject: CN=other,O=Ottla, issuer: \
             CN=Root,O=Ottla, valid from 2026-02-21 00:00:00 UTC until 2029-02-25 00:00:00 UTC; names presented: \
             a.example.com, b.example.com, 10.0.0.1, fd00::1, name wanted: 10.0.0.2; 1 trusted CA certificate from \
             ssl.ca.location=/ca.pem): check bootstrap.servers, the broker's advertised.listeners or \
             ssl.endpoint.identification.algorithm"
                .to_owned(),
        ),
    ] {
        assert_eq!(text(&set, case), expected, "{case}");
    }
    for (case, part) in [
        (
            "algorithm-sha1-rsa",
            "refused: it is signed with SHA-1 with RSA, which is broken",
        ),
        (
            "algorithm-leaf-rsa1024",
            "refused: its RSA key has 1024 bits, fewer than 2048",
        ),
        (
            "algorithm-root-rsa1024",
            "A CA certificate in the broker's chain is refused: its RSA key has 1024 bits",
        ),
        (
            "algorithm-root-P-224",
            "its signature algorithm 1.2.840.10045.4.3.2 does not fit",
        ),
        (
            "extension-leaf-unknown-critical",
            "its critical extension 1.2.3.4 is not supported",
        ),
        (
            "name-cn-kafka2.example.com",
            "names presented: kafka1.example.com (common name), name wanted: kafka2.example.com",
        ),
        ("list-expired-leaf", "its issuer's revocation list has expired"),
        ("list-current-leaf-revoked", "its issuer has revoked it"),
        (
            "v1-intermediate-sent",
            "X.509 version 1 or is a CA's, which is supported only if its issuer itself is trusted",
        ),
        (
            "damaged-leaf-cut",
            "it cannot be read: an element is cut off (no names presented",
        ),
    ] {
        let text = text(&set, case);
        assert!(text.contains(part), "{case}: {text}");
    }
}

#[test]
fn every_fault_of_the_cases_has_one_line_without_control_characters() {
    let set = Set::read();
    for (name, case) in &set.cases {
        if let Err(fault) = set.verify(case, set.policy(case)) {
            let text = fault.to_string();
            assert!(text.len() < 2000 && !text.contains(char::is_control), "{name}: {text}");
        }
    }
}

#[test]
fn notes_on_accepted_certificates_are_returned_once() {
    let set = Set::read();
    let case = &set.cases["v1-direct"];
    let verifier = ServerVerifier::new(Arc::new(set.policy(case)), &provider());
    let other = verifier.for_broker("b", 2);
    for verifier in [&verifier, &other] {
        let chain = set.chain(&case.chain);
        verifier
            .verify(&chain[0], &chain[1..], &case.server_name(), case.at)
            .unwrap();
    }
    let notes: Vec<String> = verifier.take_notes().iter().map(Note::to_string).collect();
    assert_eq!(notes.len(), 2, "{notes:?}");
    assert!(
        notes[0].starts_with("The broker's certificate (CN=kafka1.example.com) has X.509 version 1"),
        "{notes:?}"
    );
    assert!(
        notes[1].contains("it is accepted for kafka1.example.com by its common name"),
        "{notes:?}"
    );
    assert!(other.take_notes().is_empty());

    let case = &set.cases["shape-direct"];
    let verifier = ServerVerifier::new(Arc::new(set.policy(case)), &provider());
    verifier
        .verify(&set.chain(&case.chain)[0], &[], &case.server_name(), case.at)
        .unwrap();
    assert!(verifier.take_notes().is_empty());
}
