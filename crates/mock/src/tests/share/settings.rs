//! Settings of groups, by IncrementalAlterConfigs and DescribeConfigs.

use ottla_protocol::api::api_versions::ApiVersionsRequest;
use ottla_protocol::api::describe_configs::{DescribeConfigsRequest, DescribeConfigsResource};
use ottla_protocol::api::incremental_alter_configs::{
    AlterConfigsResource, AlterableConfig, IncrementalAlterConfigsRequest,
};

use super::*;
use crate::ApiKey;

const GROUP: i8 = 32;

impl Share {
    fn alter(&mut self, operation: i8, name: &str, value: Option<&str>) -> ErrorCode {
        let request = IncrementalAlterConfigsRequest {
            resources: vec![AlterConfigsResource {
                resource_type: GROUP,
                resource_name: "g".into(),
                configs: vec![AlterableConfig {
                    name: name.into(),
                    config_operation: operation,
                    value: value.map(str::to_owned),
                    ..Default::default()
                }],
                ..Default::default()
            }],
            ..Default::default()
        };
        ErrorCode(self.test.call(1, &request, 1).responses[0].error_code)
    }

    /// Returns the value and the source of a setting.
    fn described(&mut self, name: &str) -> (String, i8) {
        let request = DescribeConfigsRequest {
            resources: vec![DescribeConfigsResource {
                resource_type: GROUP,
                resource_name: "g".into(),
                configuration_keys: Some(vec![name.into()]),
                ..Default::default()
            }],
            ..Default::default()
        };
        let mut results = self.test.call(1, &request, 4).results;
        let config = results.remove(0).configs.remove(0);
        (config.value.unwrap(), config.config_source)
    }
}

#[test]
fn settings_of_a_group_take_effect() {
    let mut share = Share::new();
    share.produce(&[2]);
    assert_eq!(share.described("share.record.lock.duration.ms"), ("30000".into(), 5));
    assert_eq!(
        share.alter(0, "share.record.lock.duration.ms", Some("15000")),
        ErrorCode::NONE
    );
    assert_eq!(share.described("share.record.lock.duration.ms"), ("15000".into(), 8));
    let request = share.request("a", 0);
    assert_eq!(share.send(&request).acquisition_lock_timeout_ms, 15_000);
    share.test.pass_ms(15_000);
    assert_eq!(share.state(), (0, vec![(0, 1, DeliveryState::Available, 1)]));
    assert_eq!(share.alter(0, "share.delivery.count.limit", Some("2")), ErrorCode::NONE);
    assert_eq!(share.acquire("a", 1), [(0, 1, 2)]);
    assert_eq!(
        share.alter(0, "share.renew.acknowledge.enable", Some("false")),
        ErrorCode::NONE
    );
    assert_eq!(
        share.acknowledge("a", 2, &[(0, 0, &[RENEW])]),
        ErrorCode::INVALID_RECORD_STATE
    );
    assert_eq!(share.alter(1, "share.record.lock.duration.ms", None), ErrorCode::NONE);
    assert_eq!(share.described("share.record.lock.duration.ms"), ("30000".into(), 5));
    assert_eq!(
        share.alter(0, "share.auto.offset.reset", Some("by_duration:PT1H")),
        ErrorCode::NONE
    );
    assert_eq!(share.described("share.auto.offset.reset").0, "by_duration:PT3600.000S");
}

#[test]
fn invalid_settings_of_a_group_are_refused() {
    let mut share = Share::new();
    let invalid = ErrorCode::INVALID_CONFIG;
    assert_eq!(share.alter(0, "share.delivery.count.limit", Some("11")), invalid);
    assert_eq!(share.alter(0, "share.auto.offset.reset", Some("none")), invalid);
    assert_eq!(share.alter(0, "share.unknown", Some("1")), invalid);
    assert_eq!(share.alter(2, "share.delivery.count.limit", Some("3")), invalid);
    assert_eq!(
        share.alter(0, "share.delivery.count.limit", None),
        ErrorCode::INVALID_REQUEST
    );
    assert_eq!(
        share.alter(9, "share.delivery.count.limit", Some("3")),
        ErrorCode::INVALID_REQUEST
    );
}

#[test]
fn brokers_advertise_share_groups_from_version_1_on() {
    let mut share = Share::new();
    let versions = |share: &mut Share| -> Vec<(i16, i16, i16)> {
        let request = ApiVersionsRequest {
            client_software_name: "test".into(),
            client_software_version: "1".into(),
            ..Default::default()
        };
        let keys = share.test.call(1, &request, 4).api_keys.into_iter();
        let keys = keys.map(|k| (k.api_key, k.min_version, k.max_version));
        keys.filter(|(key, ..)| (76..=79).contains(key)).collect()
    };
    assert_eq!(versions(&mut share), [(76, 1, 1), (77, 1, 1), (78, 1, 2), (79, 1, 2)]);
    // Kafka 4.1.
    share.test.cluster.set_api_versions(ApiKey::SHARE_FETCH, Some((1, 1)));
    share.test.cluster.set_api_versions(ApiKey::SHARE_GROUP_HEARTBEAT, None);
    assert_eq!(versions(&mut share), [(77, 1, 1), (78, 1, 1), (79, 1, 2)]);
}
