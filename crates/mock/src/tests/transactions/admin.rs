//! Transactions as admin clients list, describe and abort them (KIP-664).

use ottla_protocol::api::describe_producers::{DescribeProducersRequest, PartitionResponse, TopicRequest};
use ottla_protocol::api::list_transactions::{ListTransactionsRequest, ListTransactionsResponse};
use ottla_protocol::api::write_txn_markers::{WritableTxnMarker, WritableTxnMarkerTopic, WriteTxnMarkersRequest};

use super::*;

fn list(test: &mut TestCluster, broker: i32, request: &ListTransactionsRequest) -> ListTransactionsResponse {
    test.call(broker, request, 2)
}

fn ids(response: &ListTransactionsResponse) -> Vec<(&str, &str)> {
    let states = response.transaction_states.iter();
    states
        .map(|t| (t.transactional_id.as_str(), t.transaction_state.as_str()))
        .collect()
}

/// Marks partition 0 of "t" as a producer's coordinator, or an admin client, does.
fn marker(producer: &Producer, epoch: i16, coordinator_epoch: i32, transaction_version: i8) -> WriteTxnMarkersRequest {
    WriteTxnMarkersRequest {
        markers: vec![WritableTxnMarker {
            producer_id: producer.id,
            producer_epoch: epoch,
            topics: vec![WritableTxnMarkerTopic {
                name: "t".into(),
                partition_indexes: vec![0],
                ..Default::default()
            }],
            coordinator_epoch,
            transaction_version,
            ..Default::default()
        }],
        ..Default::default()
    }
}

fn write(test: &mut TestCluster, broker: i32, request: &WriteTxnMarkersRequest) -> ErrorCode {
    let mut response = test.call(broker, request, 2);
    ErrorCode(response.markers.remove(0).topics.remove(0).partitions[0].error_code)
}

fn describe(test: &mut TestCluster, broker: i32, partition: i32) -> PartitionResponse {
    let request = DescribeProducersRequest {
        topics: vec![TopicRequest {
            name: "t".into(),
            partition_indexes: vec![partition],
            ..Default::default()
        }],
        ..Default::default()
    };
    test.call(broker, &request, 0).topics.remove(0).partitions.remove(0)
}

#[test]
fn brokers_list_the_transactional_ids_that_they_coordinate() {
    let mut test = cluster(2);
    for (id, broker) in [("a", 1), ("b", 1), ("c", 2)] {
        test.cluster.set_coordinator(KIND, id, BrokerId(broker));
    }
    let mut a = Producer::new(&mut test, "a");
    let b = Producer::new(&mut test, "b");
    Producer::new(&mut test, "c");
    assert_eq!(a.write(&mut test, 0, 1), ErrorCode::NONE);
    test.pass_ms(100);
    let all = ListTransactionsRequest::default;
    let found = list(&mut test, 1, &all());
    assert_eq!(ids(&found), [("a", "Ongoing"), ("b", "Empty")]);
    assert_eq!(found.transaction_states[0].producer_id, a.id);
    assert_eq!(ids(&list(&mut test, 2, &all())), [("c", "Empty")]);
    assert!(list(&mut test, 3, &all()).transaction_states.is_empty());

    let by_state = ListTransactionsRequest {
        state_filters: vec!["Ongoing".into(), "Odd".into()],
        ..all()
    };
    let found = list(&mut test, 1, &by_state);
    assert_eq!(ids(&found), [("a", "Ongoing")]);
    assert_eq!(found.unknown_state_filters, ["Odd"]);
    let by_producer = ListTransactionsRequest {
        producer_id_filters: vec![b.id],
        ..all()
    };
    assert_eq!(ids(&list(&mut test, 1, &by_producer)), [("b", "Empty")]);
    for (duration_filter, expected) in [(99, 2), (100, 1)] {
        let by_duration = ListTransactionsRequest {
            duration_filter,
            ..all()
        };
        // The id without a transaction passes any duration.
        assert_eq!(list(&mut test, 1, &by_duration).transaction_states.len(), expected);
    }
    for (pattern, expected) in [("a|b", 2), ("[b-z]", 1), ("", 2), (".", 2), ("x", 0)] {
        let by_pattern = ListTransactionsRequest {
            transactional_id_pattern: Some(pattern.into()),
            ..all()
        };
        let found = list(&mut test, 1, &by_pattern).transaction_states.len();
        assert_eq!(found, expected, "{pattern}");
    }
    let invalid = ListTransactionsRequest {
        transactional_id_pattern: Some("(".into()),
        ..all()
    };
    let error = ErrorCode(list(&mut test, 1, &invalid).error_code);
    assert_eq!(error, ErrorCode::INVALID_REGULAR_EXPRESSION);
}

#[test]
fn producers_are_described_by_every_replica() {
    let mut test = cluster(2);
    let mut producer = Producer::new(&mut test, "a");
    assert!(describe(&mut test, 1, 0).active_producers.is_empty());
    producer.run(&mut test, 0, 2, true);
    assert_eq!(producer.write(&mut test, 0, 3), ErrorCode::NONE);
    for broker in 1..=3 {
        let found = describe(&mut test, broker, 0);
        let [state] = &found.active_producers[..] else {
            panic!("{found:?}");
        };
        assert_eq!(state.producer_id, producer.id);
        assert_eq!(state.producer_epoch, i32::from(producer.epoch));
        assert_eq!((state.last_sequence, state.last_timestamp), (2, NOW_MS + 2));
        // Two records and a marker come before the open transaction.
        assert_eq!((state.coordinator_epoch, state.current_txn_start_offset), (0, 3));
    }
    let unknown = ErrorCode(describe(&mut test, 1, 9).error_code);
    assert_eq!(unknown, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
    test.cluster.create_topic("u", 1, Some(1)).unwrap();
    let other = (1..=3).find(|broker| *broker != test.leader("u", 0)).unwrap();
    let request = DescribeProducersRequest {
        topics: vec![TopicRequest {
            name: "u".into(),
            partition_indexes: vec![0],
            ..Default::default()
        }],
        ..Default::default()
    };
    let found = test.call(other, &request, 0).topics.remove(0).partitions.remove(0);
    assert_eq!(ErrorCode(found.error_code), ErrorCode::NOT_LEADER_OR_FOLLOWER);
}

#[test]
fn a_marker_aborts_the_open_transaction_of_one_partition() {
    let mut test = cluster(1);
    let mut producer = Producer::new(&mut test, "a");
    for partition in 0..2 {
        assert_eq!(producer.write(&mut test, partition, 2), ErrorCode::NONE);
    }
    assert_eq!(latest(&mut test, 1), 0);
    let leader = test.leader("t", 0);
    let other = leader % 3 + 1;
    let request = marker(&producer, producer.epoch, 4, 0);
    assert_eq!(write(&mut test, other, &request), ErrorCode::NOT_LEADER_OR_FOLLOWER);
    assert_eq!(write(&mut test, leader, &request), ErrorCode::NONE);
    assert_eq!(latest(&mut test, 1), 3, "two records and the marker");
    assert!(committed(&mut test, 0).is_empty());
    let state = describe(&mut test, leader, 0).active_producers.remove(0);
    assert_eq!((state.coordinator_epoch, state.current_txn_start_offset), (4, -1));
    let leader = test.leader("t", 1);
    let open = describe(&mut test, leader, 1).active_producers.remove(0);
    assert_eq!(open.current_txn_start_offset, 0);
    assert_eq!(test.cluster.transaction_view("a").unwrap().state, "Ongoing");
}

#[test]
fn markers_with_old_epochs_are_refused() {
    let mut test = cluster(1);
    let mut producer = Producer::new(&mut test, "a");
    assert_eq!(producer.init(&mut test), ErrorCode::NONE);
    assert_eq!(producer.write(&mut test, 0, 2), ErrorCode::NONE);
    let leader = test.leader("t", 0);
    let mut mark = |epoch: i16, coordinator: i32, version: i8| {
        let request = marker(&producer, epoch, coordinator, version);
        write(&mut test, leader, &request)
    };
    let fenced = ErrorCode::TRANSACTION_COORDINATOR_FENCED;
    assert_eq!(producer.epoch, 1);
    assert_eq!(mark(0, 5, 0), ErrorCode::INVALID_PRODUCER_EPOCH);
    assert_eq!(mark(1, 5, 2), ErrorCode::INVALID_PRODUCER_EPOCH, "the epoch rises");
    assert_eq!(mark(1, 5, 1), ErrorCode::NONE);
    assert_eq!(mark(1, 4, 0), fenced);
    assert_eq!(mark(1, 5, 2), ErrorCode::NONE, "a repetition");
    assert_eq!(mark(2, 6, 2), ErrorCode::NONE);
    assert_eq!(mark(3, 5, 2), fenced);
    let topic = |request: &mut WriteTxnMarkersRequest, name: &str, partition| {
        let topic = &mut request.markers[0].topics[0];
        topic.name = name.into();
        topic.partition_indexes = vec![partition];
    };
    for (name, partition) in [("t", 7), ("none", 0)] {
        let mut request = marker(&producer, 3, 6, 0);
        topic(&mut request, name, partition);
        let error = write(&mut test, leader, &request);
        assert_eq!(error, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
    }
}
