//! Delays for the markers of the previous transaction.

use ottla_protocol::ApiKey;

use super::{Answer, asked, begin, call, run, world};
use crate::error::ErrorCode;
use crate::producer::TransactionCall;
use crate::producer::tests::harness::World;

/// After a committed transaction and the beginning of the next one, which has a record to send. The coordinator tells
/// `states`.
fn next_one(level: i16, states: &[&'static str], refused: &[ErrorCode]) -> World {
    let mut w = world(level, &[("linger.ms", "0")]);
    w.coordinating.states.extend(states);
    w.coordinating.refuse(ApiKey::DESCRIBE_TRANSACTIONS, refused);
    assert_eq!(run(&mut w, TransactionCall::Init), Ok(()));
    begin(&mut w);
    w.produce("t", 0, "a").unwrap();
    w.run_ms(1);
    commit(&mut w);
    asked(&mut w);
    go_on(&mut w);
    w
}

/// Has what was sent acknowledged and committed at once.
fn commit(w: &mut World) {
    w.acknowledge(0);
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
fn nothing_is_sent_before_the_coordinator_has_ended_the_transaction_before() {
    let mut w = next_one(2, &["PrepareCommit", "PrepareCommit", "CompleteCommit"], &[]);
    w.run_ms(3);
    assert_eq!(asked(&mut w), ["2: describe tid", "2: describe tid"]);
    assert!(w.sent.is_empty());
    w.run_ms(1);
    assert_eq!(asked(&mut w), ["2: describe tid"]);
    assert_eq!(w.sent.len(), 1);
}

#[test]
fn a_partitions_leader_is_not_outwaited() {
    let mut w = next_one(2, &["PrepareCommit"], &[]);
    w.run_ms(19);
    assert!(w.sent.is_empty());
    w.run_ms(1);
    assert_eq!(w.sent.len(), 1);
    assert_eq!(asked(&mut w).len(), 10);
    w.run_ms(50);
    assert!(asked(&mut w).is_empty());
}

#[test]
fn an_answer_that_does_not_come_holds_nothing_up() {
    let mut w = next_one(2, &["CompleteCommit"], &[]);
    commit(&mut w);
    w.coordinating.silent = Some(ApiKey::DESCRIBE_TRANSACTIONS);
    go_on(&mut w);
    w.run_ms(20);
    assert_eq!(w.sent.len(), 1);
}

#[test]
fn who_may_not_ask_does_so_once() {
    let mut w = next_one(
        2,
        &["CompleteCommit"],
        &[ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED],
    );
    assert_eq!(asked(&mut w), ["2: describe tid"]);
    commit(&mut w);
    go_on(&mut w);
    assert_eq!(w.sent.len(), 1);
    assert_eq!(asked(&mut w), ["2: commit v5 e2"]);
}

#[test]
fn the_coordinator_itself_puts_off_a_transaction_of_the_first_generation() {
    let mut w = next_one(1, &["PrepareCommit"], &[]);
    assert_eq!(w.sent.len(), 1);
    assert_eq!(asked(&mut w), ["2: add t [0]"]);
}

#[test]
fn a_transaction_that_comes_later_waits_for_nothing() {
    let mut w = next_one(2, &["CompleteCommit"], &[]);
    commit(&mut w);
    w.run_ms(20);
    asked(&mut w);
    go_on(&mut w);
    assert_eq!(w.sent.len(), 1);
    assert!(asked(&mut w).is_empty());
}
