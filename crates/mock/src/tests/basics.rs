//! Headers, versions, metadata, coordinators, delays, and bytes that are no request.

use bytes::Bytes;
use ottla_protocol::api::api_versions::{ApiVersionsRequest, ApiVersionsResponse};
use ottla_protocol::api::find_coordinator::FindCoordinatorRequest;
use ottla_protocol::api::init_producer_id::InitProducerIdRequest;
use ottla_protocol::api::metadata::{MetadataRequest, MetadataRequestTopic, MetadataResponseTopic};
use ottla_protocol::{ApiKey, ErrorCode, Message, Reader, RequestHeader, Uuid, Writer};

use crate::handlers::APIS;
use crate::rng::Rng;
use crate::test_util::{Answer, TestCluster, response_of};
use crate::{BrokerId, ClusterConfig, ConnectionId, Reply, Time};

fn versions_request() -> ApiVersionsRequest {
    ApiVersionsRequest {
        client_software_name: "ottla".into(),
        client_software_version: "0.1".into(),
        ..Default::default()
    }
}

fn metadata(names: &[&str]) -> MetadataRequest {
    MetadataRequest {
        topics: Some(
            names
                .iter()
                .map(|n| MetadataRequestTopic {
                    name: Some((*n).into()),
                    ..Default::default()
                })
                .collect(),
        ),
        ..Default::default()
    }
}

#[test]
fn api_versions_lists_what_is_served() {
    let mut test = TestCluster::new(ClusterConfig::default());
    test.cluster
        .subscribe_to_metrics(Some(crate::MetricsSubscription::default()));
    for version in 0..=4 {
        let response = test.call(1, &versions_request(), version);
        assert_eq!(response.error_code, 0);
        assert_eq!(response.api_keys.len(), APIS.len());
        let produce = &response.api_keys[0];
        assert_eq!((produce.api_key, produce.min_version, produce.max_version), (0, 0, 13));
    }
    let nameless = ApiVersionsRequest::default();
    assert_eq!(test.call(1, &nameless, 3).error_code, ErrorCode::INVALID_REQUEST.0);
    assert!(APIS.windows(2).all(|pair| pair[0].key < pair[1].key));
    test.cluster.set_api_versions(ApiKey::FETCH, Some((4, 11)));
    test.cluster.set_api_versions(ApiKey::METADATA, None);
    let response = test.call(1, &versions_request(), 3);
    assert!(response.api_keys.iter().any(|a| (a.api_key, a.max_version) == (1, 11)));
    assert!(response.api_keys.iter().all(|a| a.api_key != 3));
    assert!(matches!(test.send(1, 5, &metadata(&[]), 9), Answer::Closed));
}

#[test]
fn unknown_api_versions_are_answered_in_version_0() {
    let mut test = TestCluster::new(ClusterConfig::default());
    let header = RequestHeader {
        api_key: ApiKey::API_VERSIONS,
        api_version: 99,
        correlation_id: 4711,
        ..Default::default()
    };
    let mut w = Writer::new();
    header.encode(&mut w, 2).unwrap();
    w.put_slice(&[1, 2, 3]);
    let frame = w.finish().into_bytes();
    let reply = test.cluster.handle(BrokerId(1), ConnectionId(1), frame, Time::ZERO);
    let Reply::Now(frame) = reply else {
        panic!("{reply:?}");
    };
    let mut r = Reader::new(frame.into_bytes().slice(4..));
    assert_eq!(r.read_i32().unwrap(), 4711);
    let response = ApiVersionsResponse::decode(&mut r, 0).unwrap();
    r.finish().unwrap();
    assert_eq!(response.error_code, ErrorCode::UNSUPPORTED_VERSION.0);
    let own = &response.api_keys[0];
    assert_eq!((response.api_keys.len(), own.api_key, own.max_version), (1, 18, 4));
}

#[test]
fn metadata_creates_topics_and_tells_all_versions() {
    let mut test = TestCluster::new(ClusterConfig::default());
    for version in 0..=13 {
        let response = test.call(2, &metadata(&["a"]), version);
        assert_eq!(response.brokers.len(), 3);
        let topic = &response.topics[0];
        assert_eq!((topic.error_code, topic.partitions.len()), (0, 4), "version {version}");
        assert!(topic.partitions.iter().all(|p| p.replica_nodes.len() == 3));
        let leaders: Vec<_> = topic.partitions.iter().map(|p| p.leader_id).collect();
        assert_eq!(leaders, [1, 2, 3, 1]);
        assert_eq!(topic.topic_id.is_zero(), version < 10);
    }
    let all = MetadataRequest {
        topics: None,
        ..Default::default()
    };
    assert_eq!(test.call(1, &all, 12).topics.len(), 1);
    assert_eq!(test.call(1, &metadata(&[]), 0).topics.len(), 1);
    assert_eq!(test.call(1, &metadata(&[]), 1).topics.len(), 0);
}

fn topic(test: &mut TestCluster, request: &MetadataRequest, version: i16) -> MetadataResponseTopic {
    test.call(1, request, version).topics.remove(0)
}

#[test]
fn metadata_says_what_it_cannot_give() {
    let mut test = TestCluster::new(ClusterConfig {
        topic_creation_delay_us: 5000,
        ..Default::default()
    });
    let unknown = ErrorCode::UNKNOWN_TOPIC_OR_PARTITION.0;
    let mut request = metadata(&["a"]);
    request.allow_auto_topic_creation = false;
    assert_eq!(topic(&mut test, &request, 9).error_code, unknown);
    assert_eq!(test.cluster.topic_names().count(), 0);
    let invalid = topic(&mut test, &metadata(&["a b"]), 9);
    assert_eq!(invalid.error_code, ErrorCode::INVALID_TOPIC_EXCEPTION.0);
    // Created, but the news takes its time.
    assert_eq!(topic(&mut test, &metadata(&["a"]), 9).error_code, unknown);
    test.pass_ms(5);
    let there = topic(&mut test, &metadata(&["a"]), 12);
    assert_eq!(there.error_code, 0);
    let mut by_id = metadata(&["a"]);
    by_id.topics.as_mut().unwrap()[0] = MetadataRequestTopic {
        topic_id: there.topic_id,
        name: None,
        ..Default::default()
    };
    assert_eq!(topic(&mut test, &by_id, 12).name.as_deref(), Some("a"));
    by_id.topics.as_mut().unwrap()[0].topic_id = Uuid([9; 16]);
    assert_eq!(topic(&mut test, &by_id, 12).error_code, ErrorCode::UNKNOWN_TOPIC_ID.0);
    // Made again, a topic has another id.
    test.cluster.delete_topic("a").unwrap();
    test.cluster.create_topic("a", 1, None).unwrap();
    assert_ne!(test.cluster.topic_id("a"), Some(there.topic_id));
}

#[test]
fn leaders_move_away_from_brokers_that_stop() {
    let mut test = TestCluster::with_topic("t", 1);
    let first = test.leader("t", 0);
    for down in 0..2 {
        test.cluster.stop_broker(BrokerId((first + down - 1) % 3 + 1));
    }
    let last = (first + 1) % 3 + 1;
    assert_eq!(
        (test.leader("t", 0), test.cluster.leader_epoch("t", 0)),
        (last, Some(2))
    );
    let response = test.call(last, &metadata(&["t"]), 9);
    assert_eq!((response.brokers.len(), response.controller_id), (1, last));
    assert_eq!(response.topics[0].partitions[0].offline_replicas.len(), 2);
    test.cluster.stop_broker(BrokerId(last));
    assert_eq!(test.cluster.partition_leader("t", 0), None);
    // Only the last in-sync replica has everything, so nobody else may lead.
    test.cluster.start_broker(BrokerId(first));
    let partition = &test.call(first, &metadata(&["t"]), 9).topics[0].partitions[0];
    assert_eq!(
        (partition.error_code, partition.leader_id),
        (ErrorCode::LEADER_NOT_AVAILABLE.0, -1)
    );
    test.cluster.start_broker(BrokerId(last));
    assert_eq!(test.leader("t", 0), last);
}

#[test]
fn coordinators_are_found_in_all_versions() {
    let mut test = TestCluster::new(ClusterConfig::default());
    for version in 0..=6 {
        let request = match version {
            0..4 => FindCoordinatorRequest {
                key: "g".into(),
                ..Default::default()
            },
            _ => FindCoordinatorRequest {
                coordinator_keys: vec!["g".into(), "h".into()],
                ..Default::default()
            },
        };
        let response = test.call(1, &request, version);
        let node = response.coordinators.first().map_or(response.node_id, |c| c.node_id);
        assert!((1..=3).contains(&node), "version {version}");
        assert_eq!(response.coordinators.len(), if version >= 4 { 2 } else { 0 });
    }
    let share = FindCoordinatorRequest {
        key: "g".into(),
        key_type: 2,
        ..Default::default()
    };
    assert_eq!(test.call(1, &share, 3).error_code, ErrorCode::INVALID_REQUEST.0);
}

#[test]
fn producer_ids_differ() {
    let mut test = TestCluster::new(ClusterConfig::default());
    let request = InitProducerIdRequest {
        transactional_id: None,
        ..Default::default()
    };
    let first = test.call(1, &request, 4);
    let second = test.call(2, &request, 6);
    assert_ne!(first.producer_id, second.producer_id);
    assert_eq!((first.producer_epoch, second.producer_epoch), (0, 0));
    let transactional = InitProducerIdRequest {
        transactional_id: Some("x".into()),
        ..Default::default()
    };
    assert_eq!(
        test.call(1, &transactional, 4).error_code,
        ErrorCode::INVALID_TRANSACTION_TIMEOUT.0
    );
}

#[test]
fn round_trip_time_holds_answers_back_in_order() {
    let mut test = TestCluster::new(ClusterConfig::default());
    test.cluster.set_round_trip_us(BrokerId(1), 20_000);
    assert!(test.send(1, 1, &metadata(&[]), 9).is_later());
    test.pass_ms(10);
    test.cluster.set_round_trip_us(BrokerId(1), 0);
    // The second could leave at once but must not overtake.
    assert!(test.send(1, 1, &versions_request(), 3).is_later());
    assert!(test.pass_ms(9).is_empty());
    let out = test.pass_ms(1);
    assert_eq!(out.len(), 2);
    let mut out = out.into_iter();
    response_of::<MetadataRequest>(out.next().unwrap(), 9);
    response_of::<ApiVersionsRequest>(out.next().unwrap(), 3);
    assert_eq!(test.call(1, &versions_request(), 3).error_code, 0);
}

#[test]
fn throttled_connections_are_muted() {
    let mut test = TestCluster::new(ClusterConfig::default());
    test.cluster.set_throttle_ms(ApiKey::METADATA, 30);
    let response = test.call(1, &metadata(&[]), 9);
    assert_eq!(response.throttle_time_ms, 30);
    assert!(test.send(1, 0, &versions_request(), 3).is_later());
    assert!(test.pass_ms(29).is_empty());
    assert_eq!(test.pass_ms(1).len(), 1);
}

#[test]
fn brokers_that_go_down_close_their_connections() {
    let mut test = TestCluster::new(ClusterConfig::default());
    test.call(1, &versions_request(), 3);
    test.cluster.set_reachable(BrokerId(1), false);
    assert!(!test.cluster.is_accepting(BrokerId(1)));
    let out = test.cluster.poll(test.now);
    assert!(matches!(out[0].delivery, crate::Delivery::Close(_)));
    assert!(matches!(test.send(1, 1, &versions_request(), 3), Answer::Closed));
}

/// Random frames, half of them with a header that names a served API and version so that bodies are reached.
#[test]
fn garbage_never_panics() {
    let mut test = TestCluster::with_topic("t", 2);
    let mut rng = Rng::new(42);
    let mut closed = 0;
    for round in 0..30_000u64 {
        let mut frame = Vec::new();
        if round % 2 == 0 {
            let api = &APIS[rng.next_u64() as usize % APIS.len()];
            let span = u64::from(api.max_version.abs_diff(api.min_version)) + 1;
            let version = api.min_version + i16::try_from(rng.next_u64() % span).unwrap();
            frame.extend(api.key.0.to_be_bytes());
            frame.extend(version.to_be_bytes());
            frame.extend([0, 0, 0, 1, 0xff, 0xff, 0]);
        }
        let length = rng.next_u64() % 80;
        // Small numbers make plausible lengths.
        frame.extend((0..length).map(|_| match rng.next_u64() {
            r if r % 3 == 0 => (r >> 8) as u8,
            r => (r >> 8) as u8 % 4,
        }));
        let connection = ConnectionId(round);
        let reply = test
            .cluster
            .handle(BrokerId(1), connection, Bytes::from(frame), Time(round));
        closed += u32::from(matches!(reply, Reply::Close(_)));
        test.cluster.poll(Time(round));
        test.cluster.disconnected(BrokerId(1), connection);
    }
    assert!(closed > 15_000, "{closed}");
    assert_eq!((test.cluster.connection_count(), test.cluster.purgatory_size()), (0, 0));
    test.now = Time(30_000);
    assert_eq!(test.call(1, &versions_request(), 3).error_code, 0);
}

#[test]
fn the_same_seed_gives_the_same_answers() {
    let run = |seed| {
        let mut test = TestCluster::new(ClusterConfig {
            seed,
            ..Default::default()
        });
        format!("{:?}", test.call(1, &metadata(&["a", "b"]), 13))
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}
