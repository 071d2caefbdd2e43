//! The transactional producer: its requests to the coordinators and their order, and the results of calls.

mod fencing;

use std::sync::Arc;

use ottla_mock::{ApiKey, BrokerId, ClusterConfig, CoordinatorKind, ErrorCode as BrokerError, FaultAction};
use ottla_protocol::api::add_offsets_to_txn::AddOffsetsToTxnRequest;
use ottla_protocol::api::add_partitions_to_txn::AddPartitionsToTxnRequest;
use ottla_protocol::api::describe_transactions::DescribeTransactionsRequest;
use ottla_protocol::api::end_txn::EndTxnRequest;
use ottla_protocol::api::find_coordinator::FindCoordinatorRequest;
use ottla_protocol::api::init_producer_id::InitProducerIdRequest;
use ottla_protocol::api::txn_offset_commit::TxnOffsetCommitRequest;
use ottla_protocol::record::BatchIter;

use crate::error::{Error, ErrorCode};
use crate::producer::{Command, TransactionCall, TransactionReply};
use crate::reply::Reply;
use crate::test_kit::{Arrival, World};
use crate::types::{GroupMetadata, PartitionOffset, TopicPartition};

pub(super) type Answer = Option<Result<(), Error>>;

pub(super) fn world(level: i16, settings: &[(&str, &str)]) -> World {
    world_with(level, settings, &[], |_| {})
}

/// A producer with transactional id `tid`, which another one has used in epoch 0. Broker 2 coordinates it, and group `g`
/// with one member. `level` is that of the feature `transaction.version`.
pub(super) fn world_with(
    level: i16,
    settings: &[(&str, &str)],
    topic: &[(&str, &str)],
    change: impl FnOnce(&mut ClusterConfig),
) -> World {
    let fixed = [
        ("transactional.id", "tid"),
        ("linger.ms", "5"),
        ("retry.backoff.ms", "100"),
    ];
    let settings: Vec<_> = fixed.iter().chain(settings).copied().collect();
    let mut w = World::producer_with(&settings, topic, |config| {
        config.transaction_version = level;
        change(config);
    });
    w.brokers()
        .set_coordinator(CoordinatorKind::Transaction, "tid", BrokerId(2));
    w.brokers().set_coordinator(CoordinatorKind::Group, "g", BrokerId(2));
    w.brokers().set_api_versions(ApiKey::DESCRIBE_TRANSACTIONS, None);
    w.add_topic("t", &[1, 1]);
    w.add_topic("in", &[1; 4]);
    w.init_transactions_of("tid");
    w.join_as_only_member(2);
    w.announce("t");
    w
}

/// As [`world`], after `init_transactions()`.
pub(super) fn ready(level: i16) -> World {
    let mut w = world(level, &[]);
    assert_eq!(run(&mut w, TransactionCall::Init), Ok(()));
    asked(&mut w);
    w
}

pub(super) fn call_for(w: &mut World, call: TransactionCall, ms: u64) -> TransactionReply {
    let reply: TransactionReply = Reply::new();
    let deadline = w.now.plus_ms(ms);
    w.command(Command::Transaction {
        call,
        deadline,
        reply: reply.clone(),
    });
    reply
}

pub(super) fn call(w: &mut World, call: TransactionCall) -> TransactionReply {
    call_for(w, call, 60_000)
}

/// A call that ends by itself within a second.
pub(super) fn run(w: &mut World, what: TransactionCall) -> Result<(), Error> {
    let reply = call(w, what);
    w.run_ms(1000);
    reply.try_take().expect("the call has ended")
}

pub(super) fn begin(w: &mut World) {
    assert_eq!(run(w, TransactionCall::Begin), Ok(()));
}

/// Begins a transaction and produces a record, which is sent where its partition can be.
pub(super) fn begin_with(w: &mut World, value: &str) {
    begin(w);
    w.produce("t", 0, value).unwrap();
    w.run_ms(10);
}

/// As [`ready`], with a transaction that was begun with a record.
pub(super) fn begun(level: i16) -> World {
    let mut w = ready(level);
    begin_with(&mut w, "a");
    w
}

/// As [`begun`], and the record has been written.
pub(super) fn written(level: i16) -> World {
    let mut w = begun(level);
    w.acknowledge_all();
    w
}

pub(super) fn code(answer: &Answer) -> Option<ErrorCode> {
    answer.as_ref().and_then(|a| a.as_ref().err()).map(|e| e.code)
}

/// Returns the requests to coordinators since the last call in short form, each after the broker's id.
pub(super) fn asked(w: &mut World) -> Vec<String> {
    let new = w.net.take_new();
    let asked = new.iter().filter_map(|a| Some(format!("{}: {}", a.node, describe(a)?)));
    asked.collect()
}

fn describe(asked: &Arrival) -> Option<String> {
    let version = asked.version;
    Some(match asked.key {
        ApiKey::FIND_COORDINATOR => {
            let request: FindCoordinatorRequest = asked.decode();
            let kind = ["group", "transactions"][request.key_type as usize];
            format!("find {kind}")
        }
        ApiKey::INIT_PRODUCER_ID => {
            let request: InitProducerIdRequest = asked.decode();
            assert_eq!(request.transactional_id.as_deref(), Some("tid"));
            format!("init e{}", request.producer_epoch)
        }
        ApiKey::ADD_PARTITIONS_TO_TXN => {
            let request: AddPartitionsToTxnRequest = asked.decode();
            let topics = request.v3_and_below_topics.iter();
            let parts: Vec<String> = topics.map(|t| format!("{} {:?}", t.name, t.partitions)).collect();
            format!("add {}", parts.join(" "))
        }
        ApiKey::ADD_OFFSETS_TO_TXN => format!("add group {}", asked.decode::<AddOffsetsToTxnRequest>().group_id),
        ApiKey::TXN_OFFSET_COMMIT => {
            let request: TxnOffsetCommitRequest = asked.decode();
            let mut rows = Vec::new();
            for topic in &request.topics {
                let partitions = topic.partitions.iter();
                rows.extend(
                    partitions.map(|p| format!("{}[{}]@{}", topic.name, p.partition_index, p.committed_offset)),
                );
            }
            let (group, generation) = (&request.group_id, request.generation_id);
            format!("offsets v{version} {group} g{generation} {}", rows.join(" "))
        }
        ApiKey::DESCRIBE_TRANSACTIONS => {
            let request: DescribeTransactionsRequest = asked.decode();
            format!("describe {}", request.transactional_ids.join(" "))
        }
        ApiKey::END_TXN => {
            let request: EndTxnRequest = asked.decode();
            let what = if request.committed { "commit" } else { "abort" };
            format!("{what} v{version} e{}", request.producer_epoch)
        }
        _ => return None,
    })
}

/// Breaks the coordinator's connections, and with them the held requests of an API, which the coordinator never receives.
pub(super) fn lose(w: &mut World, api: ApiKey) {
    w.disconnect(2);
    w.release(api);
}

/// Sends the offsets of [`offsets`]; the call ends by itself within a second.
pub(super) fn send_offsets(w: &mut World) -> Result<(), Error> {
    let offsets = offsets(w);
    run(w, offsets)
}

/// Returns the offsets of the only member of group `g`, in its generation.
pub(super) fn offsets(w: &World) -> TransactionCall {
    offsets_at(w, 17)
}

fn offsets_at(w: &World, offset: i64) -> TransactionCall {
    let row = |offset| PartitionOffset::new(TopicPartition::new(Arc::from("in"), 3), offset);
    TransactionCall::SendOffsets {
        offsets: vec![row(offset), row(crate::types::offset::INVALID)],
        group: GroupMetadata {
            group_id: "g".into(),
            generation: 1,
            member_id: w.net.cluster.group_members("g").remove(0),
            group_instance_id: None,
        },
    }
}

/// Producer epoch, base sequence, transactional.
pub(super) fn header(w: &World) -> (i16, i32, bool) {
    let sent = &w.sent()[0];
    assert_eq!(sent.request.transactional_id.as_deref(), Some("tid"));
    let records = sent.request.topic_data[0].partition_data[0].records.clone().unwrap();
    let batch = BatchIter::new(records.into_bytes()).next().unwrap().unwrap();
    let h = batch.header();
    (h.producer_epoch, h.base_sequence, h.is_transactional())
}

#[test]
fn before_transaction_version_2_partitions_are_added_first() {
    let mut w = ready(0);
    assert_eq!(
        code(&w.produce("t", 0, "early").map_or_else(|e| Some(Err(e)), |()| None)),
        Some(ErrorCode::L_STATE)
    );
    for sequence in [0, 1] {
        begin(&mut w);
        w.produce("t", 0, "a").unwrap();
        w.produce("t", 1, "b").unwrap();
        assert!(w.sent().is_empty());
        w.run_ms(10);
        assert_eq!(asked(&mut w), ["2: add t [0, 1]"]);
        assert_eq!(header(&w), (1, sequence, true));
        assert_eq!(w.sent()[0].version, 11);
        let commit = call(&mut w, TransactionCall::Commit);
        assert!(w.produce("t", 0, "late").is_err());
        assert_eq!(
            asked(&mut w),
            Vec::<String>::new(),
            "EndTxn before all records are acknowledged"
        );
        w.acknowledge_all();
        assert_eq!(commit.try_take(), Some(Ok(())));
        assert_eq!(asked(&mut w), ["2: commit v4 e1"]);
    }
    assert!(w.reports().iter().all(|r| r.error.is_ok()));
}

#[test]
fn transaction_version_2_sends_at_once_and_raises_the_epoch_per_transaction() {
    let mut w = ready(2);
    for epoch in [1, 2] {
        begin_with(&mut w, "a");
        assert_eq!(header(&w), (epoch, 0, true));
        assert_eq!(w.sent()[0].version, 13);
        let commit = call(&mut w, TransactionCall::Commit);
        w.acknowledge_all();
        assert_eq!(commit.try_take(), Some(Ok(())));
        assert_eq!(asked(&mut w), [format!("2: commit v5 e{epoch}")]);
    }
}

#[test]
fn commit_ignores_linger_and_an_empty_transaction_sends_no_request() {
    for level in [0, 2] {
        let mut w = world(level, &[("linger.ms", "5000")]);
        assert_eq!(run(&mut w, TransactionCall::Init), Ok(()));
        asked(&mut w);
        for end in [TransactionCall::Commit, TransactionCall::Abort] {
            begin(&mut w);
            assert_eq!(run(&mut w, end), Ok(()));
        }
        assert_eq!(asked(&mut w), Vec::<String>::new());
        begin(&mut w);
        w.produce("t", 0, "a").unwrap();
        let commit = call(&mut w, TransactionCall::Commit);
        assert_eq!(w.sent().len(), 1, "level {level}");
        w.acknowledge_all();
        assert_eq!(commit.try_take(), Some(Ok(())));
        begin(&mut w);
        w.produce("t", 0, "b").unwrap();
        w.run_ms(100);
        assert!(w.sent().is_empty(), "the next transaction lingers again");
    }
}

#[test]
fn txn_offset_commit_goes_to_the_group_coordinator_with_the_generation() {
    for (level, expected) in [
        (
            0,
            &[
                "2: add group g",
                "1: find group",
                "2: offsets v4 g g1 in[3]@17",
                "2: commit v4 e1",
            ][..],
        ),
        (2, &["1: find group", "2: offsets v5 g g1 in[3]@17", "2: commit v5 e1"]),
    ] {
        let mut w = ready(level);
        begin(&mut w);
        assert_eq!(send_offsets(&mut w), Ok(()));
        assert_eq!(run(&mut w, TransactionCall::Commit), Ok(()));
        let got = asked(&mut w);
        // FindCoordinator may go to any broker.
        let got: Vec<String> = got
            .iter()
            .map(|s| s.replace("2: find", "1: find").replace("3: find", "1: find"))
            .collect();
        assert_eq!(got, expected, "level {level}");
    }
}

#[test]
fn abort_purges_queued_records_and_waits_for_those_in_flight() {
    for level in [0, 2] {
        let mut w = ready(level);
        begin_with(&mut w, "sent");
        w.produce("t", 0, "waits").unwrap();
        asked(&mut w);
        let abort = call(&mut w, TransactionCall::Abort);
        let reports = w.reports();
        assert_eq!(reports.len(), 1);
        assert_eq!(
            (reports[0].value.as_str(), reports[0].error),
            ("waits", ErrorCode::L_PURGE_QUEUE)
        );
        assert_eq!(abort.try_take(), None);
        assert_eq!(asked(&mut w), Vec::<String>::new());
        w.acknowledge_all();
        assert_eq!(abort.try_take(), Some(Ok(())));
        let version = if level == 2 { 5 } else { 4 };
        assert_eq!(asked(&mut w), [format!("2: abort v{version} e1")]);
        begin_with(&mut w, "next");
        assert_eq!(header(&w), if level == 2 { (2, 0, true) } else { (1, 1, true) });
    }
}

#[test]
fn failed_record_requires_an_abort_which_raises_the_epoch() {
    for (level, ends) in [(0, &["2: abort v4 e1", "2: init e1"][..]), (2, &["2: abort v5 e1"])] {
        let mut w = begun(level);
        w.refuse(ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER);
        assert_eq!(w.reports().len(), 1);
        assert!(w.produce("t", 0, "b").is_err());
        let offsets = offsets(&w);
        for refused in [TransactionCall::Commit, offsets] {
            let error = run(&mut w, refused).unwrap_err();
            assert!(error.txn_requires_abort && !error.fatal && !error.retriable, "{error}");
            assert_eq!(error.code, ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER);
        }
        asked(&mut w);
        assert_eq!(run(&mut w, TransactionCall::Abort), Ok(()));
        assert_eq!(asked(&mut w), ends, "level {level}");
        begin_with(&mut w, "c");
        assert_eq!(header(&w), (2, 0, true));
        let commit = call(&mut w, TransactionCall::Commit);
        w.acknowledge_all();
        assert_eq!(commit.try_take(), Some(Ok(())));
    }
}

#[test]
fn requests_to_a_moved_or_busy_coordinator_are_repeated() {
    let mut w = world(0, &[]);
    w.fail_next(ApiKey::FIND_COORDINATOR, &[BrokerError::COORDINATOR_NOT_AVAILABLE]);
    w.fail_next(
        ApiKey::INIT_PRODUCER_ID,
        &[
            BrokerError::COORDINATOR_LOAD_IN_PROGRESS,
            BrokerError::CONCURRENT_TRANSACTIONS,
        ],
    );
    assert_eq!(run(&mut w, TransactionCall::Init), Ok(()));
    begin(&mut w);
    w.produce("t", 0, "a").unwrap();
    w.fail_next(ApiKey::ADD_PARTITIONS_TO_TXN, &[BrokerError::CONCURRENT_TRANSACTIONS]);
    w.run_ms(30);
    assert_eq!(w.sent().len(), 1, "a few milliseconds later");
    w.acknowledge_all();
    asked(&mut w);
    w.fail_next(ApiKey::END_TXN, &[BrokerError::NOT_COORDINATOR]);
    w.brokers()
        .set_coordinator(CoordinatorKind::Transaction, "tid", BrokerId(3));
    assert_eq!(run(&mut w, TransactionCall::Commit), Ok(()));
    let asked = asked(&mut w);
    assert_eq!(
        (asked[0].as_str(), asked[2].as_str()),
        ("2: commit v4 e1", "3: commit v4 e1"),
        "{asked:?}"
    );
}

#[test]
fn end_txn_is_repeated_after_the_coordinators_disconnect() {
    let mut w = written(2);
    // The coordinator executes the request, and recognizes its repetition.
    w.fault_next(ApiKey::END_TXN, FaultAction::DisconnectAfter);
    let commit = call(&mut w, TransactionCall::Commit);
    assert_eq!(commit.try_take(), None);
    asked(&mut w);
    w.run_ms(2000);
    assert_eq!(commit.try_take(), Some(Ok(())));
    assert_eq!(asked(&mut w).last().map(String::as_str), Some("2: commit v5 e1"));
}

#[test]
fn timed_out_call_continues_and_a_repeated_call_gets_its_result() {
    let mut w = begun(0);
    let first = call_for(&mut w, TransactionCall::Commit, 50);
    let concurrent_call = call(&mut w, TransactionCall::Commit).try_take().unwrap().unwrap_err();
    assert_eq!(
        (concurrent_call.code, concurrent_call.retriable),
        (ErrorCode::L_PREV_IN_PROGRESS, true)
    );
    w.run_ms(100);
    let late = first.try_take().unwrap().unwrap_err();
    assert_eq!(
        (late.code, late.retriable, late.txn_requires_abort),
        (ErrorCode::L_TIMED_OUT, true, false)
    );
    let other = call(&mut w, TransactionCall::Abort).try_take().unwrap().unwrap_err();
    assert_eq!((other.code, other.retriable), (ErrorCode::L_CONFLICT, true));
    let second = call(&mut w, TransactionCall::Commit);
    assert_eq!(second.try_take(), None);
    w.acknowledge_all();
    assert_eq!(second.try_take(), Some(Ok(())));
    // The result of a call that ended without a waiting thread goes to its repetition.
    begin_with(&mut w, "b");
    let first = call_for(&mut w, TransactionCall::Commit, 0);
    assert_eq!(code(&first.try_take()), Some(ErrorCode::L_TIMED_OUT));
    w.acknowledge_all();
    assert_eq!(run(&mut w, TransactionCall::Commit), Ok(()));
    begin(&mut w);
}

#[test]
fn timed_out_send_offsets_may_be_repeated_with_other_offsets() {
    let mut w = ready(0);
    begin(&mut w);
    w.hold(ApiKey::TXN_OFFSET_COMMIT);
    let first = {
        let offsets = offsets(&w);
        call_for(&mut w, offsets, 50)
    };
    w.run_ms(100);
    assert_eq!(code(&first.try_take()), Some(ErrorCode::L_TIMED_OUT));
    let other = offsets_at(&w, 18);
    let second = call(&mut w, other);
    lose(&mut w, ApiKey::TXN_OFFSET_COMMIT);
    w.run_ms(3000);
    assert_eq!(second.try_take(), Some(Ok(())));
    assert_eq!(run(&mut w, TransactionCall::Commit), Ok(()));
}

#[test]
fn late_txn_offset_commit_response_does_not_end_the_abort() {
    let mut w = ready(2);
    begin(&mut w);
    w.hold(ApiKey::TXN_OFFSET_COMMIT);
    let sending = {
        let offsets = offsets(&w);
        call(&mut w, offsets)
    };
    w.run_ms(1000);
    assert!(asked(&mut w).iter().any(|a| a.contains("offsets")));
    w.produce("t", 0, "a").unwrap();
    w.run_ms(10);
    w.refuse(ErrorCode::INVALID_TIMESTAMP);
    assert_eq!(code(&sending.try_take()), Some(ErrorCode::INVALID_TIMESTAMP));
    let abort = call(&mut w, TransactionCall::Abort);
    w.hold(ApiKey::END_TXN);
    w.release(ApiKey::TXN_OFFSET_COMMIT);
    w.run_ms(100);
    assert_eq!(abort.try_take(), None);
    w.release(ApiKey::END_TXN);
    w.run_ms(100);
    assert_eq!(abort.try_take(), Some(Ok(())));
}

#[test]
fn late_find_coordinator_error_for_dropped_offsets_does_not_abort_the_transaction() {
    let mut w = written(2);
    w.fail_next(ApiKey::FIND_COORDINATOR, &[BrokerError::GROUP_AUTHORIZATION_FAILED]);
    w.hold(ApiKey::FIND_COORDINATOR);
    let sending = {
        let offsets = offsets(&w);
        call_for(&mut w, offsets, 50)
    };
    w.run_ms(100);
    assert_eq!(code(&sending.try_take()), Some(ErrorCode::L_TIMED_OUT));
    assert!(w.has(ApiKey::FIND_COORDINATOR));
    w.release(ApiKey::FIND_COORDINATOR);
    w.run_ms(100);
    assert_eq!(run(&mut w, TransactionCall::Commit), Ok(()));
}

#[test]
fn abort_of_a_transaction_without_added_partitions_sends_no_end_txn() {
    let mut w = ready(0);
    w.fail_all(ApiKey::ADD_PARTITIONS_TO_TXN, BrokerError::CONCURRENT_TRANSACTIONS);
    begin_with(&mut w, "a");
    assert!(asked(&mut w).iter().any(|a| a.contains("add")));
    assert_eq!(run(&mut w, TransactionCall::Abort), Ok(()));
    assert_eq!(asked(&mut w), [] as [String; 0]);
}

#[test]
fn concurrent_transactions_from_a_leader_is_retried_with_growing_pauses() {
    let mut w = begun(2);
    for pause in [5, 10, 20] {
        w.refuse(ErrorCode::CONCURRENT_TRANSACTIONS);
        w.run_ms(pause - 1);
        assert!(w.sent().is_empty(), "{pause}");
        w.run_ms(1);
        assert_eq!(w.sent().len(), 1, "{pause}");
    }
    let commit = call(&mut w, TransactionCall::Commit);
    w.acknowledge_all();
    assert_eq!(commit.try_take(), Some(Ok(())));
}

#[test]
fn commit_of_unknown_outcome_is_repeated_despite_a_purged_record() {
    let mut w = written(0);
    w.hold(ApiKey::END_TXN);
    let commit = call_for(&mut w, TransactionCall::Commit, 100);
    // A record of another thread that had passed the check before the transaction ended fails.
    w.accumulator().set_in_transaction(true);
    w.produce("t", 1, "late").unwrap();
    w.accumulator().set_in_transaction(false);
    w.purge(true, false);
    assert_eq!(w.reports().last().map(|r| r.error), Some(ErrorCode::L_PURGE_QUEUE));
    w.run_ms(200);
    assert_eq!(code(&commit.try_take()), Some(ErrorCode::L_TIMED_OUT));
    asked(&mut w);
    lose(&mut w, ApiKey::END_TXN);
    w.run_ms(1000);
    assert!(asked(&mut w).contains(&"2: commit v4 e1".to_owned()));
    assert_eq!(run(&mut w, TransactionCall::Commit), Ok(()));
}

#[test]
fn record_produced_while_a_transaction_ends_waits_for_the_next_one() {
    let mut w = written(2);
    assert_eq!(run(&mut w, TransactionCall::Commit), Ok(()));
    w.accumulator().set_in_transaction(true);
    w.produce("t", 0, "stray").unwrap();
    w.accumulator().set_in_transaction(false);
    w.run_ms(500);
    assert!(w.sent().is_empty());
    begin(&mut w);
    w.run_ms(10);
    assert_eq!(header(&w), (2, 0, true));
}

#[test]
fn illegal_generation_on_txn_offset_commit_is_abortable() {
    let mut w = ready(2);
    begin(&mut w);
    w.fail_next(ApiKey::TXN_OFFSET_COMMIT, &[BrokerError::ILLEGAL_GENERATION]);
    let error = send_offsets(&mut w).unwrap_err();
    assert_eq!(
        (error.code, error.txn_requires_abort),
        (ErrorCode::ILLEGAL_GENERATION, true)
    );
    assert_eq!(run(&mut w, TransactionCall::Abort), Ok(()));
}

#[test]
fn calls_in_the_wrong_state_are_refused() {
    let mut w = world(2, &[]);
    let refused = |w: &mut World, what| run(w, what).unwrap_err().code;
    for early in [
        TransactionCall::Begin,
        TransactionCall::Commit,
        TransactionCall::Abort,
        offsets(&w),
    ] {
        assert_eq!(refused(&mut w, early), ErrorCode::L_STATE);
    }
    assert_eq!(run(&mut w, TransactionCall::Init), Ok(()));
    for early in [
        TransactionCall::Init,
        TransactionCall::Commit,
        TransactionCall::Abort,
        offsets(&w),
    ] {
        assert_eq!(refused(&mut w, early), ErrorCode::L_STATE);
    }
    begin(&mut w);
    for late in [TransactionCall::Init, TransactionCall::Begin] {
        assert_eq!(refused(&mut w, late), ErrorCode::L_STATE);
    }
}

#[test]
fn record_timeout_requires_an_abort() {
    let mut w = world_with(0, &[], &[("message.timeout.ms", "1000")], |_| {});
    assert_eq!(run(&mut w, TransactionCall::Init), Ok(()));
    begin_with(&mut w, "a");
    let commit = call(&mut w, TransactionCall::Commit);
    w.run_ms(1500);
    let error = commit.try_take().unwrap().unwrap_err();
    assert_eq!(
        (error.code, error.txn_requires_abort),
        (ErrorCode::L_INCONSISTENT, true)
    );
    asked(&mut w);
    assert!(w.sent().is_empty(), "the request failed with its record");
    let abort = call(&mut w, TransactionCall::Abort);
    w.run_ms(1000);
    assert_eq!(abort.try_take(), Some(Ok(())));
    assert_eq!(asked(&mut w), ["2: abort v4 e1", "2: init e1"]);
}

#[test]
fn close_fails_the_call_in_progress() {
    let mut w = begun(0);
    let commit = call(&mut w, TransactionCall::Commit);
    w.close();
    assert_eq!(code(&commit.try_take()), Some(ErrorCode::L_DESTROY));
}
