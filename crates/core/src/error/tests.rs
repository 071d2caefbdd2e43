use std::collections::HashMap;

use super::kinds::Action;
use super::table::{LISTED, UNLISTED};
use super::{Error, ErrorCode, Fault};

/// Returns number and name of every code of librdkafka's interface.
fn reference() -> Vec<(i32, &'static str)> {
    include_str!("testdata/codes.tsv")
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split_once('\t'))
        .map(|(code, name)| (code.parse().unwrap(), name))
        .collect()
}

#[test]
fn names_match_librdkafka() {
    let reference = reference();
    assert_eq!(reference.len(), 191);
    for (code, name) in &reference {
        assert_eq!(ErrorCode(*code).name(), *name);
    }
    let by_code: HashMap<i32, &str> = reference.into_iter().collect();
    for code in -1000..1000 {
        let expected = match by_code.get(&code) {
            Some(name) => (*name).to_owned(),
            None => format!("ERR_{code}?"),
        };
        assert_eq!(ErrorCode(code).name(), expected);
        let c_name = ErrorCode(code).c_name();
        assert_eq!(
            c_name.map(|n| n.to_str().unwrap().to_owned()),
            (!expected.starts_with("ERR_")).then_some(expected)
        );
    }
}

#[test]
fn rows_ascend_and_descriptions_name_their_origin() {
    for rows in [LISTED, UNLISTED] {
        assert!(rows.windows(2).all(|w| w[0].code < w[1].code));
        for row in rows {
            let code = ErrorCode(row.code);
            let text = code.description();
            assert_eq!(code.c_description().unwrap().to_str().unwrap(), text);
            let expected = match row.code {
                -1 | 0 => "",
                -191 => "Broker: ",
                c if c < 0 => "Local: ",
                _ => "Broker: ",
            };
            assert!(text.starts_with(expected), "{}: {text}", row.code);
        }
    }
    assert_eq!(ErrorCode(12345).description(), "Err-12345?");
    assert_eq!(ErrorCode(-136).description(), "Err--136?");
    assert_eq!(ErrorCode(-136).c_description(), None);
}

#[test]
fn every_protocol_code_has_a_row() {
    for protocol in ottla_protocol::ErrorCode::known() {
        let code = ErrorCode::from(protocol);
        assert!(!code.description().starts_with("Err-"), "{protocol}");
        assert_eq!(code.action().is_retriable(), protocol.is_retriable(), "{protocol}");
        assert_eq!(
            code.action().refreshes_metadata(),
            protocol.refreshes_metadata(),
            "{protocol}"
        );
        if !code.is_ok() {
            assert_eq!(code.to_protocol(), Some(protocol));
            assert_ne!(code.fault(), Fault::NoOne);
            assert_ne!(code.fault(), Fault::Ourselves);
        }
    }
}

#[test]
fn actions_of_selected_codes() {
    let not_leader = ErrorCode::NOT_LEADER_FOR_PARTITION.action();
    assert_eq!(not_leader, Action::RETRY.or(Action::REFRESH));
    assert_eq!(ErrorCode::MSG_SIZE_TOO_LARGE.action(), Action::NONE);
    assert!(ErrorCode::PRODUCER_FENCED.action().is_fatal());
    assert!(ErrorCode::TRANSACTION_ABORTABLE.action().requires_abort());
    assert!(ErrorCode::L_TRANSPORT.action().is_retriable());
    assert!(!ErrorCode::L_MSG_TIMED_OUT.action().is_retriable());
    assert_eq!(ErrorCode::L_QUEUE_FULL.fault(), Fault::Caller);
    assert_eq!(ErrorCode(9999).fault(), Fault::Peer);
    assert_eq!(ErrorCode(-999).fault(), Fault::Ourselves);
    assert_eq!(ErrorCode(9999).action(), Action::NONE);
    // A local code does not inherit the actions of the broker's code of the same number.
    assert_eq!(ErrorCode(-60).to_protocol(), None);
    assert_eq!(ErrorCode(70_000).to_protocol(), None);
}

#[test]
fn errors_have_messages_and_flags() {
    let error = Error::new(ErrorCode::L_QUEUE_FULL, "");
    assert_eq!(error.message, "Local: Queue full");
    assert_eq!(error.to_string(), "_QUEUE_FULL: Local: Queue full");
    assert!(!error.retriable);
    assert!(Error::from(ErrorCode::L_QUEUE_FULL).retriable);
    let error = Error::new(ErrorCode::L_FATAL, "lost")
        .into_fatal()
        .into_retriable()
        .into_abortable();
    assert!(error.fatal && error.retriable && error.txn_requires_abort);
    assert_eq!(ErrorCode::NO_ERROR.ok(), Ok(()));
    assert_eq!(ErrorCode::UNKNOWN.ok(), Err(ErrorCode::UNKNOWN));
}
