//! Metrics that clients push (KIP-714).

use ottla_protocol::api::api_versions::ApiVersionsRequest;
use ottla_protocol::api::get_telemetry_subscriptions::{
    GetTelemetrySubscriptionsRequest, GetTelemetrySubscriptionsResponse,
};
use ottla_protocol::api::push_telemetry::PushTelemetryRequest;
use ottla_protocol::compression::{Codec, compress};
use ottla_protocol::{ApiKey, ErrorCode, Uuid};

use crate::tests::util::TestCluster;
use crate::{BrokerId, ClusterConfig, MetricsPush, MetricsSubscription};

fn offered(test: &mut TestCluster) -> usize {
    let response = test.call(1, &ApiVersionsRequest::default(), 0);
    let keys = response.api_keys.iter().map(|row| ApiKey(row.api_key));
    let telemetry = [ApiKey::GET_TELEMETRY_SUBSCRIPTIONS, ApiKey::PUSH_TELEMETRY];
    keys.filter(|key| telemetry.contains(key)).count()
}

fn request_subscription(test: &mut TestCluster, client_instance_id: Uuid) -> GetTelemetrySubscriptionsResponse {
    let request = GetTelemetrySubscriptionsRequest {
        client_instance_id,
        ..Default::default()
    };
    test.call(1, &request, 0)
}

fn push(test: &mut TestCluster, request: PushTelemetryRequest) -> ErrorCode {
    ErrorCode(test.call(1, &request, 0).error_code)
}

#[test]
fn telemetry_apis_are_offered_with_a_subscription() {
    let mut test = TestCluster::new(ClusterConfig::default());
    assert_eq!(offered(&mut test), 0);
    test.cluster.subscribe_to_metrics(Some(MetricsSubscription::default()));
    assert_eq!(offered(&mut test), 2);
    test.cluster.subscribe_to_metrics(None);
    assert_eq!(offered(&mut test), 0);
}

#[test]
fn subscription_assigns_client_instance_id() {
    let mut test = TestCluster::new(ClusterConfig::default());
    test.cluster.subscribe_to_metrics(Some(MetricsSubscription {
        names: vec!["a.".into(), "b.".into()],
        push_interval_ms: 1000,
        codecs: vec![Codec::Lz4, Codec::Gzip],
        max_bytes: 77,
        delta: false,
    }));
    let subscription = request_subscription(&mut test, Uuid::ZERO);
    assert!(!subscription.client_instance_id.is_zero());
    assert_eq!(subscription.accepted_compression_types, [3, 1]);
    assert_eq!(
        (subscription.push_interval_ms, subscription.telemetry_max_bytes),
        (1000, 77)
    );
    assert_eq!(subscription.requested_metrics, ["a.", "b."]);
    assert!(!subscription.delta_temporality);
    let again = request_subscription(&mut test, subscription.client_instance_id);
    assert_eq!(again.client_instance_id, subscription.client_instance_id);
    assert_eq!(again.subscription_id, subscription.subscription_id);
}

#[test]
fn push_telemetry_stores_pushes_and_returns_errors() {
    let mut test = TestCluster::new(ClusterConfig::default());
    let subscription = MetricsSubscription {
        codecs: vec![Codec::Gzip],
        max_bytes: 100,
        ..MetricsSubscription::default()
    };
    test.cluster.subscribe_to_metrics(Some(subscription));
    let subscription = request_subscription(&mut test, Uuid::ZERO);
    let good = PushTelemetryRequest {
        client_instance_id: subscription.client_instance_id,
        subscription_id: subscription.subscription_id,
        terminating: true,
        compression_type: 1,
        metrics: compress(Codec::Gzip, None, b"metrics").unwrap(),
        ..Default::default()
    };
    assert_eq!(push(&mut test, good.clone()), ErrorCode::NONE);
    let kept = MetricsPush {
        broker: BrokerId(1),
        client: subscription.client_instance_id,
        subscription_id: subscription.subscription_id,
        terminating: true,
        codec: Codec::Gzip,
        metrics: b"metrics".as_slice().into(),
    };
    assert_eq!(test.cluster.pushed_metrics(), [kept]);

    type Change = fn(&mut PushTelemetryRequest);
    let cases: [(Change, ErrorCode); 5] = [
        (|r| r.client_instance_id = Uuid::ZERO, ErrorCode::INVALID_REQUEST),
        (|r| r.subscription_id += 1, ErrorCode::UNKNOWN_SUBSCRIPTION_ID),
        (|r| r.compression_type = 4, ErrorCode::UNSUPPORTED_COMPRESSION_TYPE),
        (|r| r.metrics = vec![0; 101].into(), ErrorCode::TELEMETRY_TOO_LARGE),
        (|r| r.metrics = vec![0; 9].into(), ErrorCode::INVALID_RECORD),
    ];
    for (change, error) in cases {
        let mut bad = good.clone();
        change(&mut bad);
        assert_eq!(push(&mut test, bad), error);
    }
    test.cluster.refuse_next_push(ErrorCode::THROTTLING_QUOTA_EXCEEDED);
    assert_eq!(push(&mut test, good.clone()), ErrorCode::THROTTLING_QUOTA_EXCEEDED);
    assert_eq!(push(&mut test, good), ErrorCode::NONE);
    assert_eq!(test.cluster.pushed_metrics().len(), 2);
}
