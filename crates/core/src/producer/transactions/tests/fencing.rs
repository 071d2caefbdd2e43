//! Producers that are fenced by another one or seem to be, and producers whose state the coordinator has lost.

use ottla_protocol::api::init_producer_id::InitProducerIdResponse;

use super::*;

#[test]
fn producer_fenced_during_concurrent_transactions_is_not_fatal_on_abort() {
    for newer in [None, Some(BrokerError::PRODUCER_FENCED)] {
        let mut w = begun(2);
        let abort = call(&mut w, TransactionCall::Abort);
        w.fail_next(ApiKey::END_TXN, &[BrokerError::PRODUCER_FENCED]);
        w.fail_next(ApiKey::INIT_PRODUCER_ID, &[BrokerError::CONCURRENT_TRANSACTIONS]);
        w.fail_next(ApiKey::INIT_PRODUCER_ID, newer.as_slice());
        // No leader has accepted a batch.
        w.refuse(ErrorCode::CONCURRENT_TRANSACTIONS);
        w.run_ms(100);
        assert_eq!(asked(&mut w), ["2: abort v5 e1", "2: init e1", "2: init e1"]);
        let fatal = w.fatal();
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
        (BrokerError::REQUEST_TIMED_OUT, 1),
        (BrokerError::COORDINATOR_NOT_AVAILABLE, 1),
        (BrokerError::CONCURRENT_TRANSACTIONS, 0),
    ] {
        let mut w = begun(2);
        call(&mut w, TransactionCall::Abort);
        w.fail_next(ApiKey::END_TXN, &[BrokerError::PRODUCER_FENCED]);
        w.fail_next(ApiKey::INIT_PRODUCER_ID, &[response]);
        w.fail_next(ApiKey::INIT_PRODUCER_ID, &[BrokerError::PRODUCER_FENCED]);
        w.refuse(ErrorCode::CONCURRENT_TRANSACTIONS);
        w.run_ms(1000);
        assert_eq!(w.fatal(), Some(ErrorCode::L_FENCED));
        assert_eq!(w.accumulator().unanswered_inits(), uncertain, "{response:?}");
    }
}

#[test]
fn abort_with_invalid_txn_state_raises_the_epoch() {
    let mut w = ready(0);
    w.hold(ApiKey::ADD_PARTITIONS_TO_TXN);
    begin_with(&mut w, "a");
    let abort = call(&mut w, TransactionCall::Abort);
    w.fail_next(ApiKey::END_TXN, &[BrokerError::INVALID_TXN_STATE]);
    lose(&mut w, ApiKey::ADD_PARTITIONS_TO_TXN);
    w.run_ms(1000);
    assert_eq!(abort.try_take(), Some(Ok(())));
    let asked = asked(&mut w);
    let ends: Vec<_> = asked.iter().filter(|a| !a.contains("find")).collect();
    assert_eq!(ends, ["2: add t [0]", "2: abort v4 e1", "2: init e1"]);
    begin(&mut w);
}

#[test]
fn lost_request_before_transaction_version_2_raises_the_epoch_before_the_next_transaction() {
    let lost = [ApiKey::TXN_OFFSET_COMMIT, ApiKey::END_TXN];
    for (key, level) in [(lost[0], 0), (lost[1], 0), (lost[0], 2), (lost[1], 2)] {
        let mut w = ready(level);
        begin(&mut w);
        w.hold(key);
        let sent = {
            let offsets = offsets(&w);
            call(&mut w, offsets)
        };
        w.run_ms(100);
        let commit = (key == ApiKey::END_TXN).then(|| call(&mut w, TransactionCall::Commit));
        lose(&mut w, key);
        w.run_ms(1000);
        assert_eq!(sent.try_take(), Some(Ok(())));
        let ended = commit.map_or_else(|| run(&mut w, TransactionCall::Commit), |c| c.try_take().unwrap());
        assert_eq!(ended, Ok(()));
        // A late request has the previous epoch: the epoch is raised before the next transaction sends anything.
        begin_with(&mut w, "a");
        let raised = asked(&mut w).iter().filter(|a| *a == "2: init e1").count();
        assert_eq!(raised, usize::from(level == 0), "{key:?} at level {level}");
        assert_ne!(header(&w).0, 1);
        w.acknowledge_all();
        assert_eq!(run(&mut w, TransactionCall::Commit), Ok(()));
        // The epoch is raised only once.
        begin(&mut w);
        assert!(!asked(&mut w).iter().any(|a| a.contains("init")));
    }
}

#[test]
fn producer_fenced_by_the_coordinator_is_fatal() {
    for (key, code) in [
        (ApiKey::ADD_PARTITIONS_TO_TXN, BrokerError::PRODUCER_FENCED),
        (ApiKey::END_TXN, BrokerError::INVALID_PRODUCER_EPOCH),
    ] {
        let mut w = ready(0);
        w.fail_next(key, &[code]);
        begin_with(&mut w, "a");
        w.acknowledge_all();
        let commit = call(&mut w, TransactionCall::Commit);
        assert_eq!(w.fatal(), Some(ErrorCode::L_FENCED));
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
    assert_eq!(run(&mut w, TransactionCall::Abort), Ok(()));
    begin(&mut w);
}

#[test]
fn invalid_producer_id_mapping_is_abortable_and_reinitializes() {
    let mut w = ready(0);
    w.fail_next(
        ApiKey::ADD_PARTITIONS_TO_TXN,
        &[BrokerError::INVALID_PRODUCER_ID_MAPPING],
    );
    begin_with(&mut w, "a");
    asked(&mut w);
    let error = run(&mut w, TransactionCall::Commit).unwrap_err();
    assert_eq!(
        (error.code, error.txn_requires_abort),
        (ErrorCode::INVALID_PRODUCER_ID_MAPPING, true)
    );
    assert_eq!(run(&mut w, TransactionCall::Abort), Ok(()));
    assert_eq!(asked(&mut w), ["2: init e1"]);
}

#[test]
fn invalid_producer_id_mapping_is_fatal_after_a_commit_of_unknown_outcome() {
    // The response to the first EndTxn; none if it is lost.
    for (response, uncertain) in [
        (None, true),
        (Some(BrokerError::REQUEST_TIMED_OUT), true),
        (Some(BrokerError::COORDINATOR_NOT_AVAILABLE), true),
        (Some(BrokerError::NOT_COORDINATOR), true),
        (Some(BrokerError::CONCURRENT_TRANSACTIONS), false),
    ] {
        let mut w = written(2);
        let first = response.map_or(FaultAction::DisconnectBefore, FaultAction::Error);
        w.fault_next(ApiKey::END_TXN, first);
        w.fail_next(ApiKey::END_TXN, &[BrokerError::INVALID_PRODUCER_ID_MAPPING]);
        let unknown = ErrorCode::INVALID_PRODUCER_ID_MAPPING;
        let commit = call(&mut w, TransactionCall::Commit);
        w.run_ms(1100);
        let fatal = w.fatal();
        assert_eq!(fatal, uncertain.then_some(unknown), "{response:?}");
        let error = commit.try_take().unwrap().unwrap_err();
        assert_eq!((error.code, error.fatal), (unknown, uncertain));
        assert_ne!(error.txn_requires_abort, uncertain);
    }
}

#[test]
fn another_producer_id_between_transactions_is_fatal() {
    let mut w = ready(0);
    begin(&mut w);
    w.hold(ApiKey::TXN_OFFSET_COMMIT);
    let sent = {
        let offsets = offsets(&w);
        call(&mut w, offsets)
    };
    w.run_ms(100);
    lose(&mut w, ApiKey::TXN_OFFSET_COMMIT);
    w.run_ms(1000);
    assert_eq!(sent.try_take(), Some(Ok(())));
    w.drain::<InitProducerIdRequest>();
    w.hold(ApiKey::INIT_PRODUCER_ID);
    assert_eq!(run(&mut w, TransactionCall::Commit), Ok(()));
    assert!(asked(&mut w).iter().any(|a| a == "2: init e1"));
    let (init, request) = w.expect::<InitProducerIdRequest>();
    let response = InitProducerIdResponse {
        producer_id: request.producer_id + 1,
        ..Default::default()
    };
    w.answer(&init, &response);
    let fatal = w.fatal();
    assert_eq!(fatal, Some(ErrorCode::INVALID_PRODUCER_ID_MAPPING));
}
