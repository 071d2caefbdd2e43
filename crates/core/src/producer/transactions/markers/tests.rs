//! Delays for the markers of the previous transaction.

use ottla_mock::{ApiKey, ErrorCode as BrokerError};

use crate::producer::TransactionCall;
use crate::producer::transactions::tests::{Answer, asked, begin, call, run, world_with};
use crate::test_kit::World;

/// Returns a producer after one committed transaction, whose markers are written `markers_us` after the commit, and in the
/// next one, which has a record to send. The coordinator refuses the first DescribeTransactions with `refused`.
fn next_one(level: i16, markers_us: u64, refused: &[BrokerError]) -> World {
    let mut w = world_with(level, &[("linger.ms", "0")], &[], |config| {
        config.transaction_marker_delay_us = markers_us;
    });
    w.brokers().reset_api_versions(ApiKey::DESCRIBE_TRANSACTIONS);
    w.fail_next(ApiKey::DESCRIBE_TRANSACTIONS, refused);
    assert_eq!(run(&mut w, TransactionCall::Init), Ok(()));
    begin(&mut w);
    w.produce("t", 0, "a").unwrap();
    w.run_ms(1);
    commit(&mut w);
    asked(&mut w);
    go_on(&mut w);
    w
}

/// Acknowledges the sent records and commits; the commit succeeds immediately.
fn commit(w: &mut World) {
    w.acknowledge();
    let commit: Answer = call(w, TransactionCall::Commit).try_take();
    assert_eq!(commit, Some(Ok(())));
}

fn go_on(w: &mut World) {
    let begun: Answer = call(w, TransactionCall::Begin).try_take();
    assert_eq!(begun, Some(Ok(())));
    w.produce("t", 0, "b").unwrap();
    w.drive();
}

#[test]
fn records_wait_until_the_previous_transaction_is_complete() {
    let mut w = next_one(2, 3_500, &[]);
    w.run_ms(3);
    assert_eq!(asked(&mut w), ["2: describe tid", "2: describe tid"]);
    assert!(w.sent().is_empty());
    w.run_ms(1);
    assert_eq!(asked(&mut w), ["2: describe tid"]);
    assert_eq!(w.sent().len(), 1);
}

#[test]
fn wait_for_markers_is_limited_to_20_ms() {
    let mut w = next_one(2, 60_000_000, &[]);
    w.run_ms(19);
    assert!(w.sent().is_empty());
    w.run_ms(1);
    assert_eq!(w.sent().len(), 1);
    assert_eq!(asked(&mut w).len(), 10);
    w.run_ms(50);
    assert!(asked(&mut w).is_empty());
}

#[test]
fn unanswered_describe_transactions_delays_nothing() {
    let mut w = next_one(2, 0, &[]);
    commit(&mut w);
    w.hold(ApiKey::DESCRIBE_TRANSACTIONS);
    go_on(&mut w);
    w.run_ms(20);
    assert_eq!(w.sent().len(), 1);
}

#[test]
fn unauthorized_describe_transactions_is_not_repeated() {
    let mut w = next_one(2, 0, &[BrokerError::TRANSACTIONAL_ID_AUTHORIZATION_FAILED]);
    assert_eq!(asked(&mut w), ["2: describe tid"]);
    commit(&mut w);
    go_on(&mut w);
    assert_eq!(w.sent().len(), 1);
    assert_eq!(asked(&mut w), ["2: commit v5 e2"]);
}

#[test]
fn transaction_version_1_does_not_describe_transactions() {
    let mut w = next_one(1, 0, &[]);
    assert_eq!(w.sent().len(), 1);
    assert_eq!(asked(&mut w), ["2: add t [0]"]);
}

#[test]
fn later_transaction_does_not_wait_for_markers() {
    let mut w = next_one(2, 0, &[]);
    commit(&mut w);
    w.run_ms(20);
    asked(&mut w);
    go_on(&mut w);
    assert_eq!(w.sent().len(), 1);
    assert!(asked(&mut w).is_empty());
}
