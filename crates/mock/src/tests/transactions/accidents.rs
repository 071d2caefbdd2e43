//! Time, moves of coordinators and leaders, lost tails, faults.

use super::*;

#[test]
fn transactions_time_out() {
    for level in [1, 2] {
        let mut test = cluster(level);
        let mut producer = Producer::new(&mut test, "x");
        test.cluster.log_transaction_steps();
        assert_eq!(producer.write(&mut test, 0, 1), ErrorCode::NONE);
        test.pass_ms(9_999);
        assert_eq!(test.cluster.transaction_view("x").unwrap().state, "Ongoing");
        test.pass_ms(1);
        test.pass_ms(5);
        let view = test.cluster.transaction_view("x").unwrap();
        assert_eq!((view.state, view.epoch), ("CompleteAbort", producer.epoch + 1));
        let steps: Vec<_> = test.cluster.take_transaction_steps().iter().map(|s| s.step).collect();
        let completed = TransactionStep::Completed { commits: false };
        assert_eq!(steps, [TransactionStep::Begun, TransactionStep::TimedOut, completed]);
        let version = if level == 2 { 12 } else { 11 };
        assert_eq!(
            producer.send(&mut test, 0, 1, version),
            ErrorCode::INVALID_PRODUCER_EPOCH
        );
        let ended = producer.clone().end(&mut test, true);
        match level {
            1 => assert_eq!(ended, ErrorCode::PRODUCER_FENCED),
            _ => assert_eq!(ended, ErrorCode::INVALID_TXN_STATE),
        }
        // With version 2 the producer may go on; before, it has been fenced for good.
        match level {
            1 => assert_eq!(producer.init(&mut test), ErrorCode::PRODUCER_FENCED),
            _ => assert_eq!(producer.init(&mut test), ErrorCode::NONE),
        }
        // One that ends in time is left alone afterwards.
        let mut next = Producer::new(&mut test, "x");
        next.run(&mut test, 0, 1, true);
        test.pass_ms(20_000);
        assert_eq!(test.cluster.transaction_view("x").unwrap().state, "CompleteCommit");
        assert_eq!(test.cluster.timer_count(), 0);
    }
}

#[test]
fn coordinators_move_with_all_that_they_know() {
    for level in [1, 2] {
        let mut test = cluster(level);
        test.cluster.set_transaction_marker_delay_us(50_000);
        let mut producer = Producer::new(&mut test, "x");
        let first = producer.coordinator(&test);
        assert_eq!(producer.write(&mut test, 0, 1), ErrorCode::NONE);
        test.cluster.crash_broker(BrokerId(first));
        let second = producer.coordinator(&test);
        assert_ne!(first, second);
        let request = FindCoordinatorRequest {
            key_type: 1,
            coordinator_keys: vec!["x".into()],
            ..Default::default()
        };
        let found = test.call(second, &request, 5);
        assert_eq!(found.coordinators[0].node_id, second);
        assert_eq!(producer.write(&mut test, 0, 1), ErrorCode::NONE);
        let loading = ErrorCode::COORDINATOR_LOAD_IN_PROGRESS;
        test.cluster.set_coordinator_error(KIND, "x", Some(loading));
        assert_eq!(producer.clone().end(&mut test, true), loading);
        // Leaders cannot ask either.
        assert_eq!(
            producer.clone().send(&mut test, 1, 1, 12),
            ErrorCode::NOT_ENOUGH_REPLICAS
        );
        test.cluster.set_coordinator_error(KIND, "x", None);
        assert_eq!(producer.end(&mut test, true), ErrorCode::NONE);
        test.cluster.start_broker(BrokerId(first));
        assert_eq!(producer.coordinator(&test), first);
        test.cluster.set_coordinator_error(KIND, "x", Some(loading));
        test.pass_ms(200);
        assert_eq!(committed(&mut test, 0), [] as [i64; 0]);
        test.cluster.set_coordinator_error(KIND, "x", None);
        test.pass_ms(50);
        assert_eq!(committed(&mut test, 0), [0, 1]);
    }
}

#[test]
fn markers_outlive_leaders() {
    let mut test = TestCluster::new(ClusterConfig {
        replication_delay_us: 100_000,
        ..Default::default()
    });
    test.cluster.create_topic("t", 2, None).unwrap();
    let mut producer = Producer::new(&mut test, "x");
    let at = test.leader("t", 0);
    test.cluster.set_coordinator(KIND, "x", BrokerId(at % 3 + 1));
    let waiting = {
        let records = batch_with(NOW_MS, 1, |params| {
            params.is_transactional = true;
            (params.producer_id, params.producer_epoch, params.base_sequence) = (producer.id, producer.epoch, 0);
        });
        let mut request = produce::request("t", 0, -1, records);
        request.transactional_id = Some("x".into());
        test.send(at, 7, &request, 12)
    };
    assert!(waiting.is_later());
    assert_eq!(test.pass_ms(101).len(), 1);
    assert_eq!(producer.end(&mut test, true), ErrorCode::NONE);
    test.pass_ms(5);
    // The leader alone has the marker, and dies.
    assert_eq!(test.cluster.watermarks("t", 0).unwrap().log_end_offset, 2);
    test.cluster.crash_broker(BrokerId(at));
    assert_eq!(test.cluster.watermarks("t", 0).unwrap().log_end_offset, 1);
    test.pass_ms(150);
    test.pass_ms(150);
    assert_eq!(committed(&mut test, 0), [0]);
    assert_eq!(test.cluster.transaction_view("x").unwrap().state, "CompleteCommit");
}

#[test]
fn markers_wait_for_a_leader_and_are_spared_deleted_topics() {
    let mut test = cluster(2);
    let mut producer = Producer::new(&mut test, "x");
    assert_eq!(producer.write(&mut test, 0, 1), ErrorCode::NONE);
    assert_eq!(producer.write(&mut test, 1, 1), ErrorCode::NONE);
    test.cluster.set_leader("t", 0, None).unwrap();
    assert_eq!(producer.end(&mut test, true), ErrorCode::NONE);
    test.pass_ms(100);
    let view = test.cluster.transaction_view("x").unwrap();
    assert_eq!(
        (view.state, view.partitions),
        ("PrepareCommit", vec![("t".to_owned(), 0)])
    );
    assert_eq!(committed(&mut test, 1), [0]);
    test.cluster.delete_topic("t").unwrap();
    test.pass_ms(100);
    assert!(!test.cluster.has_open_transactions());
}

#[test]
fn lost_markers_are_written_again_after_an_unclean_election() {
    for level in [1, 2] {
        let mut test = cluster(level);
        let mut producer = Producer::new(&mut test, "x");
        producer.run(&mut test, 0, 2, false);
        producer.run(&mut test, 0, 2, true);
        producer.run(&mut test, 0, 2, true);
        // The marker of the second transaction is lost, and all of the third.
        let leader = BrokerId(test.leader("t", 0));
        let (end, _) = test.cluster.elect_unclean_leader("t", 0, leader, 5).unwrap();
        assert_eq!(end, 6);
        assert_eq!(committed(&mut test, 0), [3, 4]);
        assert_eq!(fetch(&mut test, 0, 0, 1).last_stable_offset, 6);
        // All of the second but not the abort before it.
        test.cluster.elect_unclean_leader("t", 0, leader, 3).unwrap();
        assert_eq!(committed(&mut test, 0), [] as [i64; 0]);
        assert_eq!(fetch(&mut test, 0, 0, 1).last_stable_offset, 3);
        let mut next = Producer::new(&mut test, "x");
        next.run(&mut test, 0, 1, true);
        assert_eq!(committed(&mut test, 0), [3]);
    }
}

#[test]
fn faults_reach_transactions() {
    let mut test = cluster(2);
    let mut producer = Producer::new(&mut test, "x");
    let unavailable = ErrorCode::COORDINATOR_NOT_AVAILABLE;
    for api in [ApiKey::INIT_PRODUCER_ID, ApiKey::END_TXN, ApiKey::ADD_OFFSETS_TO_TXN] {
        test.cluster.push_request_errors(api, &[unavailable]);
    }
    assert_eq!(producer.clone().init(&mut test), unavailable);
    assert_eq!(producer.end(&mut test, true), unavailable);
    assert_eq!(producer.add_offsets(&mut test), unavailable);
    test.cluster
        .push_request_errors(ApiKey::ADD_PARTITIONS_TO_TXN, &[unavailable]);
    assert_eq!(producer.add(&mut test, 0), unavailable);
    let api = ApiKey::TXN_OFFSET_COMMIT;
    test.cluster.push_request_errors(api, &[unavailable]);
    assert_eq!(producer.send_offsets(&mut test, 1, 5), unavailable);
    let broken = ErrorCode::NOT_ENOUGH_REPLICAS;
    test.cluster.set_partition_error(api, "in", 0, Some(broken));
    assert_eq!(producer.send_offsets(&mut test, 1, 5), broken);
}

/// Below the producers' timeout.
const EXPIRATION_MS: u64 = 4_000;

fn forgetful(transaction_version: i16) -> TestCluster {
    let mut test = TestCluster::new(ClusterConfig {
        transaction_version,
        transactional_id_expiration_ms: EXPIRATION_MS,
        ..Default::default()
    });
    test.cluster.create_topic("t", 2, None).unwrap();
    test
}

#[test]
fn transactional_ids_expire() {
    for level in [1, 2] {
        let mut test = forgetful(level);
        test.cluster.log_transaction_steps();
        let mut producer = Producer::new(&mut test, "x");
        producer.run(&mut test, 0, 1, true);
        test.pass_ms(EXPIRATION_MS - 10);
        producer.run(&mut test, 0, 1, true);
        let (id, mut late) = (producer.id, producer.clone());
        test.pass_ms(EXPIRATION_MS + 5);
        let unknown = ErrorCode::INVALID_PRODUCER_ID_MAPPING;
        assert_eq!(producer.add(&mut test, 0), unknown);
        assert_eq!(producer.clone().end(&mut test, false), unknown);
        let version = if level == 2 { 12 } else { 11 };
        assert_eq!(producer.clone().send(&mut test, 1, 1, version), unknown);
        assert_eq!(test.cluster.transaction_view("x"), None);
        let steps = test.cluster.take_transaction_steps();
        assert_eq!(steps.iter().filter(|s| s.step == TransactionStep::Expired).count(), 1);
        // Who asks for an epoch gets an id that nobody has had (KIP-360).
        assert_eq!(producer.init(&mut test), ErrorCode::NONE);
        assert_ne!(producer.id, id);
        assert_eq!(producer.epoch, 0);
        producer.run(&mut test, 0, 1, true);
        assert_eq!(late.init(&mut test), ErrorCode::PRODUCER_FENCED);
    }
}

#[test]
fn open_transactions_do_not_expire() {
    let mut test = forgetful(2);
    let mut producer = Producer::new(&mut test, "x");
    assert_eq!(producer.write(&mut test, 0, 1), ErrorCode::NONE);
    test.pass_ms(2 * EXPIRATION_MS);
    assert_eq!(producer.end(&mut test, true), ErrorCode::NONE);
}
