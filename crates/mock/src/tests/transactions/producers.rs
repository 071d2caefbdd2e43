//! Producers, their epochs, and what they may write.

use super::*;

#[test]
fn api_versions_has_the_transaction_version() {
    for (level, version, lowest) in [(2, 4, 0), (1, 4, 0), (0, 3, 1)] {
        let mut test = cluster(level);
        let request = ApiVersionsRequest {
            client_software_name: "test".into(),
            client_software_version: "1".into(),
            ..Default::default()
        };
        let answered = test.call(1, &request, version);
        let name = "transaction.version";
        let supported = answered.supported_features.iter().find(|f| f.name == name).unwrap();
        assert_eq!((supported.min_version, supported.max_version), (lowest, 2));
        let mut finalized = answered.finalized_features.iter();
        let settled = finalized.find(|f| f.name == name).map_or(0, |f| f.max_version_level);
        assert_eq!(settled, level);
    }
}

#[test]
fn produce_requires_partition_in_transaction() {
    let mut test = cluster(1);
    let mut producer = Producer::new(&mut test, "x");
    assert_eq!(producer.send(&mut test, 0, 1, 10), ErrorCode::INVALID_TXN_STATE);
    assert_eq!(producer.send(&mut test, 0, 1, 11), ErrorCode::TRANSACTION_ABORTABLE);
    assert_eq!(producer.write(&mut test, 1, 1), ErrorCode::NONE);
    assert_eq!(producer.send(&mut test, 0, 1, 10), ErrorCode::INVALID_TXN_STATE);
    assert_eq!(producer.write(&mut test, 0, 1), ErrorCode::NONE);
    // One partition does not exist, so none is added.
    let request = producer.add_request(&[0, 9]);
    let answered = test.call(producer.coordinator(&test), &request, 3);
    let codes: Vec<_> = answered.results_by_topic_v3_and_below[0]
        .results_by_partition
        .iter()
        .map(|p| ErrorCode(p.partition_error_code))
        .collect();
    assert_eq!(
        codes,
        [
            ErrorCode::OPERATION_NOT_ATTEMPTED,
            ErrorCode::UNKNOWN_TOPIC_OR_PARTITION
        ]
    );
    // A transactional batch needs a transactional id.
    let mut nameless = produce::request(
        "t",
        0,
        -1,
        batch_with(NOW_MS, 1, |params| {
            params.is_transactional = true;
            (params.producer_id, params.producer_epoch, params.base_sequence) = (producer.id, producer.epoch, 1);
        }),
    );
    nameless.transactional_id = None;
    let leader = test.leader("t", 0);
    // The batch belongs to the open transaction, but the request does not name it.
    let answered = test.call(leader, &nameless, 11);
    let error = ErrorCode(answered.responses[0].partition_responses[0].error_code);
    assert_eq!(error, ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED);
}

#[test]
fn produce_without_partition_verification() {
    let mut test = TestCluster::new(ClusterConfig {
        transaction_version: 0,
        transaction_partition_verification: false,
        ..Default::default()
    });
    test.cluster.create_topic("t", 2, None).unwrap();
    let mut producer = Producer::new(&mut test, "x");
    assert_eq!(producer.send(&mut test, 0, 1, 9), ErrorCode::NONE);
}

#[test]
fn add_partitions_to_txn_verifies_several_transactions() {
    let mut test = cluster(1);
    test.cluster.set_coordinator(KIND, "a", BrokerId(1));
    test.cluster.set_coordinator(KIND, "b", BrokerId(1));
    let (a, b) = (Producer::new(&mut test, "a"), Producer::new(&mut test, "b"));
    assert_eq!(a.add(&mut test, 0), ErrorCode::NONE);
    let asked = |producer: &Producer, verify_only| AddPartitionsToTxnTransaction {
        transactional_id: producer.name.clone(),
        producer_id: producer.id,
        producer_epoch: producer.epoch,
        verify_only,
        topics: producer.add_request(&[0]).v3_and_below_topics,
        ..Default::default()
    };
    let verify = |test: &mut TestCluster, transactions| {
        let request = AddPartitionsToTxnRequest {
            transactions,
            ..Default::default()
        };
        let answered = test.call(1, &request, 5);
        let results = answered.results_by_transaction.into_iter();
        let error = |r: &ottla_protocol::api::add_partitions_to_txn::AddPartitionsToTxnResult| {
            ErrorCode(r.topic_results[0].results_by_partition[0].partition_error_code)
        };
        results.map(|r| error(&r)).collect::<Vec<_>>()
    };
    let both = vec![asked(&a, true), asked(&b, true)];
    let (none, abortable) = (ErrorCode::NONE, ErrorCode::TRANSACTION_ABORTABLE);
    assert_eq!(verify(&mut test, both.clone()), [none, abortable]);
    assert_eq!(verify(&mut test, vec![asked(&b, false)]), [none]);
    assert_eq!(verify(&mut test, both), [none, none]);
}

#[test]
fn second_producer_fences_the_first() {
    for level in [1, 2] {
        let mut test = cluster(level);
        let mut zombie = Producer::new(&mut test, "x");
        assert_eq!(zombie.write(&mut test, 0, 2), ErrorCode::NONE);
        // The open transaction is aborted first.
        let mut next = Producer {
            id: -1,
            epoch: -1,
            ..zombie.clone()
        };
        let answered = test.call(next.coordinator(&test), &next.init_request(), 5);
        assert_eq!(ErrorCode(answered.error_code), ErrorCode::CONCURRENT_TRANSACTIONS);
        assert_eq!(next.init(&mut test), ErrorCode::NONE);
        assert_eq!(next.id, zombie.id);
        assert!(next.epoch > zombie.epoch);

        let producing = match level {
            1 => zombie.send(&mut test, 0, 1, 11),
            _ => zombie.send(&mut test, 0, 1, 12),
        };
        assert_eq!(producing, ErrorCode::INVALID_PRODUCER_EPOCH);
        assert_eq!(zombie.add(&mut test, 0), ErrorCode::PRODUCER_FENCED);
        assert_eq!(zombie.add_offsets(&mut test), ErrorCode::PRODUCER_FENCED);
        assert_eq!(zombie.end(&mut test, true), ErrorCode::PRODUCER_FENCED);
        assert_eq!(zombie.clone().init(&mut test), ErrorCode::PRODUCER_FENCED);
        next.run(&mut test, 0, 1, true);
        assert_eq!(committed(&mut test, 0), [3]);
    }
}

#[test]
fn older_versions_return_invalid_producer_epoch() {
    let mut test = cluster(1);
    let zombie = Producer::new(&mut test, "x");
    let _next = Producer::new(&mut test, "x");
    let coordinator = zombie.coordinator(&test);
    for version in 0..=5 {
        let fenced = |from| match version < from {
            true => ErrorCode::INVALID_PRODUCER_EPOCH,
            false => ErrorCode::PRODUCER_FENCED,
        };
        let ended = test.call(coordinator, &zombie.end_request(true), version);
        assert_eq!(ErrorCode(ended.error_code), fenced(2), "version {version}");
        if version < 4 {
            let added = test.call(coordinator, &zombie.add_request(&[0]), version);
            let added = &added.results_by_topic_v3_and_below[0].results_by_partition[0];
            assert_eq!(ErrorCode(added.partition_error_code), fenced(2), "version {version}");
        }
        if version >= 3 {
            let resumed = test.call(coordinator, &zombie.init_request(), version);
            assert_eq!(ErrorCode(resumed.error_code), fenced(4), "version {version}");
        }
    }
}

#[test]
fn init_producer_id_errors() {
    let mut test = cluster(2);
    let producer = Producer::new(&mut test, "x");
    let coordinator = producer.coordinator(&test);
    let fresh = InitProducerIdRequest {
        producer_id: -1,
        producer_epoch: -1,
        ..producer.init_request()
    };
    let timeout = |transaction_timeout_ms| InitProducerIdRequest {
        transaction_timeout_ms,
        ..fresh.clone()
    };
    let cases = [
        (timeout(0), ErrorCode::INVALID_TRANSACTION_TIMEOUT),
        (timeout(900_001), ErrorCode::INVALID_TRANSACTION_TIMEOUT),
        (timeout(900_000), ErrorCode::NONE),
        (
            InitProducerIdRequest {
                producer_epoch: 3,
                ..fresh.clone()
            },
            ErrorCode::INVALID_REQUEST,
        ),
        (
            InitProducerIdRequest {
                transactional_id: Some(String::new()),
                ..fresh.clone()
            },
            ErrorCode::INVALID_REQUEST,
        ),
        (
            InitProducerIdRequest {
                enable2_pc: true,
                ..fresh.clone()
            },
            ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        ),
        (
            InitProducerIdRequest {
                keep_prepared_txn: true,
                ..fresh.clone()
            },
            ErrorCode::UNSUPPORTED_VERSION,
        ),
    ];
    for (request, expected) in cases {
        let answered = test.call(coordinator, &request, 6);
        assert_eq!(ErrorCode(answered.error_code), expected, "{request:?}");
    }
    let other = coordinator % 3 + 1;
    let answered = test.call(other, &fresh, 5);
    assert_eq!(ErrorCode(answered.error_code), ErrorCode::NOT_COORDINATOR);
}

/// Error, state, producer's epoch and partitions of "t".
fn described(test: &mut TestCluster, broker: i32, name: &str) -> (ErrorCode, String, i16, Vec<i32>) {
    let request = DescribeTransactionsRequest {
        transactional_ids: vec![name.into()],
        ..Default::default()
    };
    let mut states = test.call(broker, &request, 0).transaction_states;
    let state = states.remove(0);
    assert_eq!(state.transactional_id, name);
    let topics = state.topics.into_iter().inspect(|t| assert_eq!(t.topic, "t"));
    (
        ErrorCode(state.error_code),
        state.transaction_state,
        state.producer_epoch,
        topics.flat_map(|t| t.partitions).collect(),
    )
}

#[test]
fn describe_transactions() {
    let mut test = cluster(2);
    let mut producer = Producer::new(&mut test, "x");
    let coordinator = producer.coordinator(&test);
    let epoch = producer.epoch;
    let expected = |state: &str, epoch, partitions| (ErrorCode::NONE, state.to_owned(), epoch, partitions);
    assert_eq!(described(&mut test, coordinator, "x"), expected("Empty", epoch, vec![]));
    assert_eq!(producer.write(&mut test, 1, 1), ErrorCode::NONE);
    assert_eq!(producer.write(&mut test, 0, 1), ErrorCode::NONE);
    assert_eq!(
        described(&mut test, coordinator, "x"),
        expected("Ongoing", epoch, vec![0, 1])
    );
    assert_eq!(producer.end(&mut test, true), ErrorCode::NONE);
    assert_eq!(described(&mut test, coordinator, "x").1, "PrepareCommit");
    test.pass_ms(5);
    assert_eq!(
        described(&mut test, coordinator, "x"),
        expected("CompleteCommit", epoch + 1, vec![])
    );
    let other = coordinator % 3 + 1;
    assert_eq!(described(&mut test, other, "x").0, ErrorCode::NOT_COORDINATOR);
    assert_eq!(described(&mut test, coordinator, "").0, ErrorCode::INVALID_REQUEST);
    let unknown = test.cluster.coordinator(KIND, "nobody").unwrap().0;
    assert_eq!(
        described(&mut test, unknown, "nobody").0,
        ErrorCode::TRANSACTIONAL_ID_NOT_FOUND
    );
}

#[test]
fn late_end_txn_is_fenced_with_version_2() {
    let mut test = cluster(2);
    let mut producer = Producer::new(&mut test, "x");
    assert_eq!(producer.write(&mut test, 0, 1), ErrorCode::NONE);
    let mut late = producer.clone();
    assert_eq!(producer.end(&mut test, true), ErrorCode::NONE);
    // A repetition before the markers fails; a later one returns the same epoch.
    assert_eq!(late.clone().end(&mut test, true), ErrorCode::CONCURRENT_TRANSACTIONS);
    test.pass_ms(5);
    let mut repeated = late.clone();
    assert_eq!(repeated.end(&mut test, true), ErrorCode::NONE);
    assert_eq!(repeated.epoch, producer.epoch);
    assert_eq!(producer.write(&mut test, 0, 1), ErrorCode::NONE);
    assert_eq!(late.clone().end(&mut test, true), ErrorCode::PRODUCER_FENCED);
    assert_eq!(late.end(&mut test, false), ErrorCode::PRODUCER_FENCED);
    assert_eq!(producer.end(&mut test, false), ErrorCode::NONE);
    test.pass_ms(5);
    assert_eq!(committed(&mut test, 0), [0]);
}

#[test]
fn late_end_txn_ends_the_next_transaction_with_version_1() {
    let mut test = cluster(1);
    let mut producer = Producer::new(&mut test, "x");
    producer.run(&mut test, 0, 1, true);
    let mut late = producer.clone();
    assert_eq!(producer.write(&mut test, 0, 1), ErrorCode::NONE);
    // This is the defect that epoch bumps are for.
    assert_eq!(late.end(&mut test, true), ErrorCode::NONE);
    test.pass_ms(5);
    assert_eq!(committed(&mut test, 0), [0, 2]);
}

#[test]
fn next_transaction_waits_for_markers() {
    for level in [1, 2] {
        let mut test = cluster(level);
        test.cluster.set_transaction_marker_delay_us(1_000_000);
        let mut producer = Producer::new(&mut test, "x");
        assert_eq!(producer.write(&mut test, 0, 1), ErrorCode::NONE);
        assert_eq!(producer.end(&mut test, true), ErrorCode::NONE);
        let concurrent = ErrorCode::CONCURRENT_TRANSACTIONS;
        assert_eq!(producer.write(&mut test, 1, 1), concurrent);
        assert_eq!(producer.add_offsets(&mut test), concurrent);
        let answered = test.call(producer.coordinator(&test), &producer.init_request(), 5);
        assert_eq!(ErrorCode(answered.error_code), concurrent);
        assert_eq!(test.cluster.transaction_view("x").unwrap().state, "PrepareCommit");
        test.pass_ms(1001);
        assert_eq!(test.cluster.transaction_view("x").unwrap().state, "CompleteCommit");
        assert_eq!(producer.write(&mut test, 1, 1), ErrorCode::NONE);
    }
}

#[test]
fn end_of_empty_transaction_per_version() {
    let mut test = cluster(1);
    let mut producer = Producer::new(&mut test, "x");
    assert_eq!(producer.end(&mut test, true), ErrorCode::INVALID_TXN_STATE);
    assert_eq!(producer.end(&mut test, false), ErrorCode::INVALID_TXN_STATE);
    let mut test = cluster(2);
    let mut producer = Producer::new(&mut test, "x");
    let epoch = producer.epoch;
    assert_eq!(producer.end(&mut test, true), ErrorCode::INVALID_TXN_STATE);
    assert_eq!(producer.end(&mut test, false), ErrorCode::NONE);
    assert_eq!(producer.epoch, epoch + 1);
    test.pass_ms(5);
    producer.run(&mut test, 0, 1, true);
    assert_eq!(committed(&mut test, 0), [0]);
}

#[test]
fn sequence_numbers_follow_the_epoch() {
    let mut test = cluster(1);
    let mut producer = Producer::new(&mut test, "x");
    producer.run(&mut test, 0, 2, true);
    assert_eq!(producer.sequences[0], 2);
    producer.run(&mut test, 0, 2, true);
    let mut ahead = producer.clone();
    ahead.sequences[0] += 1;
    assert_eq!(ahead.write(&mut test, 0, 1), ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER);

    let mut test = cluster(2);
    let mut producer = Producer::new(&mut test, "x");
    // Without producer state the first sequence number must be 0.
    producer.sequences[0] = 1;
    assert_eq!(producer.write(&mut test, 0, 1), ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER);
    producer.sequences[0] = 0;
    producer.run(&mut test, 0, 2, true);
    producer.sequences[0] = 2;
    assert_eq!(producer.write(&mut test, 0, 1), ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER);
    producer.sequences[0] = 0;
    assert_eq!(producer.write(&mut test, 0, 1), ErrorCode::NONE);
}

#[test]
fn transactional_id_changes_owner_when_served() {
    let mut test = cluster(1);
    test.cluster.log_transaction_steps();
    let mut producer = Producer::new(&mut test, "x");
    let coordinator = producer.coordinator(&test);
    test.cluster.set_throttle_ms(ApiKey::INIT_PRODUCER_ID, 30);
    test.call(coordinator, &producer.init_request(), 5);
    test.cluster.set_throttle_ms(ApiKey::INIT_PRODUCER_ID, 0);
    let fresh = InitProducerIdRequest {
        producer_id: -1,
        producer_epoch: -1,
        ..producer.init_request()
    };
    // A request on a throttled connection waits; a later one on another connection is served first.
    assert!(test.send(coordinator, 0, &fresh, 5).is_later());
    assert_eq!(test.send(coordinator, 1, &fresh, 5).now().producer_epoch, 2);
    test.pass_ms(30);
    // A refused request does not change the owner.
    assert_eq!(producer.init(&mut test), ErrorCode::PRODUCER_FENCED);
    let mut owner = Producer::new(&mut test, "x");
    assert_eq!(owner.write(&mut test, 0, 1), ErrorCode::NONE);
    test.send(coordinator, 1, &fresh, 5).now();
    let taken = |number, resumed| TransactionStep::Initialized {
        connection: ConnectionId(number),
        resumed,
    };
    let steps = test.cluster.take_transaction_steps();
    let steps: Vec<_> = steps.iter().map(|s| (s.step, s.epoch)).collect();
    assert_eq!(
        steps,
        [
            (taken(0, false), 0),
            (taken(0, true), 1),
            (taken(1, false), 2),
            (taken(0, false), 3),
            (taken(0, false), 4),
            (TransactionStep::Begun, 4),
            (taken(1, false), 4),
            (TransactionStep::Fenced, 4),
        ]
    );
}
