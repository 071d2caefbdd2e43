//! Producers that are fenced by another one or seem to be, and producers whose state the coordinator has lost.

use ottla_protocol::ApiKey;

use super::{acknowledge_all, asked, begin, begin_with, begun, call, header, offsets, ready, run, written};
use crate::error::ErrorCode;
use crate::producer::TransactionCall;

#[test]
fn producer_fenced_during_concurrent_transactions_is_not_fatal_on_abort() {
    for newer in [None, Some(ErrorCode::PRODUCER_FENCED)] {
        let mut w = begun(2);
        let abort = call(&mut w, TransactionCall::Abort);
        w.coordinating.refuse(ApiKey::END_TXN, &[ErrorCode::PRODUCER_FENCED]);
        w.coordinating
            .refuse(ApiKey::INIT_PRODUCER_ID, &[ErrorCode::CONCURRENT_TRANSACTIONS]);
        w.coordinating.refuse(ApiKey::INIT_PRODUCER_ID, newer.as_slice());
        // No leader has accepted a batch.
        w.refuse(ErrorCode::CONCURRENT_TRANSACTIONS);
        w.run_ms(100);
        assert_eq!(asked(&mut w), ["2: abort v5 e1", "2: init 500/1", "2: init 500/1"]);
        let fatal = w.sender.take_fatal().map(|e| e.code);
        assert_eq!(fatal, newer.map(|_| ErrorCode::L_FENCED));
        if fatal.is_none() {
            assert_eq!(abort.try_take(), Some(Ok(())));
            begin_with(&mut w, "b");
            assert_eq!(header(&w), (2, 0, true));
        }
    }
}

#[test]
fn init_producer_id_of_unknown_outcome_is_counted_as_unanswered() {
    for (response, uncertain) in [
        (ErrorCode::REQUEST_TIMED_OUT, 1),
        (ErrorCode::COORDINATOR_NOT_AVAILABLE, 1),
        (ErrorCode::CONCURRENT_TRANSACTIONS, 0),
    ] {
        let mut w = begun(2);
        call(&mut w, TransactionCall::Abort);
        w.coordinating.refuse(ApiKey::END_TXN, &[ErrorCode::PRODUCER_FENCED]);
        w.coordinating.refuse(ApiKey::INIT_PRODUCER_ID, &[response]);
        w.coordinating
            .refuse(ApiKey::INIT_PRODUCER_ID, &[ErrorCode::PRODUCER_FENCED]);
        w.refuse(ErrorCode::CONCURRENT_TRANSACTIONS);
        w.run_ms(1000);
        assert_eq!(w.sender.take_fatal().map(|e| e.code), Some(ErrorCode::L_FENCED));
        assert_eq!(w.accumulator.unanswered_inits(), uncertain, "{response:?}");
    }
}

#[test]
fn abort_with_invalid_txn_state_raises_the_epoch() {
    let mut w = ready(0);
    w.coordinating.silent = Some(ApiKey::ADD_PARTITIONS_TO_TXN);
    begin_with(&mut w, "a");
    let abort = call(&mut w, TransactionCall::Abort);
    w.disconnect(2);
    w.coordinating.refuse(ApiKey::END_TXN, &[ErrorCode::INVALID_TXN_STATE]);
    w.run_ms(1000);
    assert_eq!(abort.try_take(), Some(Ok(())));
    let asked = asked(&mut w);
    let ends: Vec<_> = asked.iter().filter(|a| !a.contains("find")).collect();
    assert_eq!(ends, ["2: add t [0]", "2: abort v4 e1", "2: init 500/1"]);
    begin(&mut w);
}

#[test]
fn lost_request_before_transaction_version_2_raises_the_epoch_before_the_next_transaction() {
    let lost = [ApiKey::TXN_OFFSET_COMMIT, ApiKey::END_TXN];
    for (key, level) in [(lost[0], 0), (lost[1], 0), (lost[0], 2), (lost[1], 2)] {
        let mut w = ready(level);
        begin(&mut w);
        w.coordinating.silent = Some(key);
        let sent = call(&mut w, offsets(5));
        w.run_ms(100);
        let commit = (key == ApiKey::END_TXN).then(|| call(&mut w, TransactionCall::Commit));
        w.coordinating.silent = None;
        w.disconnect(2);
        w.run_ms(1000);
        assert_eq!(sent.try_take(), Some(Ok(())));
        let ended = commit.map_or_else(|| run(&mut w, TransactionCall::Commit), |c| c.try_take().unwrap());
        assert_eq!(ended, Ok(()));
        // A late request has the previous epoch: the epoch is raised before the next transaction sends anything.
        begin_with(&mut w, "a");
        let raised = asked(&mut w).iter().filter(|a| *a == "2: init 500/1").count();
        assert_eq!(raised, usize::from(level == 0), "{key:?} at level {level}");
        assert_ne!(header(&w).0, 1);
        acknowledge_all(&mut w);
        assert_eq!(run(&mut w, TransactionCall::Commit), Ok(()));
        // The epoch is raised only once.
        begin(&mut w);
        assert!(!asked(&mut w).iter().any(|a| a.contains("init")));
    }
}

#[test]
fn producer_fenced_by_the_coordinator_is_fatal() {
    for (key, code) in [
        (ApiKey::ADD_PARTITIONS_TO_TXN, ErrorCode::PRODUCER_FENCED),
        (ApiKey::END_TXN, ErrorCode::INVALID_PRODUCER_EPOCH),
    ] {
        let mut w = ready(0);
        w.coordinating.refuse(key, &[code]);
        begin_with(&mut w, "a");
        acknowledge_all(&mut w);
        let commit = call(&mut w, TransactionCall::Commit);
        let fatal = w.sender.take_fatal().expect("a fatal error");
        assert_eq!(fatal.code, ErrorCode::L_FENCED);
        w.sender.on_fatal_recorded();
        let error = commit.try_take().unwrap().unwrap_err();
        assert_eq!(
            (error.code, error.fatal, error.txn_requires_abort),
            (ErrorCode::L_FENCED, true, false)
        );
        let again = run(&mut w, TransactionCall::Abort).unwrap_err();
        assert!(again.fatal);
    }
}

#[test]
fn invalid_producer_epoch_from_a_leader_is_abortable() {
    let mut w = begun(2);
    w.refuse(ErrorCode::INVALID_PRODUCER_EPOCH);
    let error = run(&mut w, TransactionCall::Commit).unwrap_err();
    assert!(error.txn_requires_abort && !error.fatal);
    // The coordinator had aborted the transaction after its timeout.
    w.coordinating.epoch = 1;
    assert_eq!(run(&mut w, TransactionCall::Abort), Ok(()));
    begin(&mut w);
}

#[test]
fn invalid_producer_id_mapping_is_abortable_and_reinitializes() {
    let mut w = ready(0);
    w.coordinating
        .refuse(ApiKey::ADD_PARTITIONS_TO_TXN, &[ErrorCode::INVALID_PRODUCER_ID_MAPPING]);
    begin_with(&mut w, "a");
    asked(&mut w);
    let error = run(&mut w, TransactionCall::Commit).unwrap_err();
    assert_eq!(
        (error.code, error.txn_requires_abort),
        (ErrorCode::INVALID_PRODUCER_ID_MAPPING, true)
    );
    assert_eq!(run(&mut w, TransactionCall::Abort), Ok(()));
    assert_eq!(asked(&mut w), ["2: init 500/1"]);
}

#[test]
fn invalid_producer_id_mapping_is_fatal_after_a_commit_of_unknown_outcome() {
    // The response to the first EndTxn; none if it is lost.
    for (response, uncertain) in [
        (None, true),
        (Some(ErrorCode::REQUEST_TIMED_OUT), true),
        (Some(ErrorCode::COORDINATOR_NOT_AVAILABLE), true),
        (Some(ErrorCode::NOT_COORDINATOR), true),
        (Some(ErrorCode::CONCURRENT_TRANSACTIONS), false),
    ] {
        let mut w = written(2);
        w.coordinating.silent = response.is_none().then_some(ApiKey::END_TXN);
        let unknown = ErrorCode::INVALID_PRODUCER_ID_MAPPING;
        let first = response.unwrap_or(ErrorCode::NO_ERROR);
        w.coordinating.refuse(ApiKey::END_TXN, &[first, unknown]);
        let commit = call(&mut w, TransactionCall::Commit);
        w.run_ms(100);
        if w.coordinating.silent.take().is_some() {
            w.disconnect(2);
        }
        w.run_ms(1000);
        let fatal = w.sender.take_fatal().map(|e| e.code);
        assert_eq!(fatal, uncertain.then_some(unknown), "{response:?}");
        w.sender.on_fatal_recorded();
        let error = commit.try_take().unwrap().unwrap_err();
        assert_eq!((error.code, error.fatal), (unknown, uncertain));
        assert_ne!(error.txn_requires_abort, uncertain);
    }
}

#[test]
fn another_producer_id_between_transactions_is_fatal() {
    let mut w = ready(0);
    begin(&mut w);
    w.coordinating.silent = Some(ApiKey::TXN_OFFSET_COMMIT);
    let sent = call(&mut w, offsets(5));
    w.run_ms(100);
    w.coordinating.silent = None;
    w.disconnect(2);
    w.run_ms(1000);
    assert_eq!(sent.try_take(), Some(Ok(())));
    w.coordinating.id += 1;
    assert_eq!(run(&mut w, TransactionCall::Commit), Ok(()));
    assert!(asked(&mut w).iter().any(|a| a == "2: init 500/1"));
    let fatal = w.sender.take_fatal().map(|e| e.code);
    assert_eq!(fatal, Some(ErrorCode::INVALID_PRODUCER_ID_MAPPING));
}
