//! ApiVersions (key 18), versions 0 to 4.
//!
//! Any version: the APIs that the broker serves, with their versions. Produce is advertised from version 0 on although
//! only 3 and later are served, as by Kafka 4.x for clients that derive a feature from the lower bound (KIP-896).
//! Version 3 and later: the client's software name and version are checked as by Kafka; INVALID_REQUEST otherwise. A
//! version that the broker does not support is answered in version 0 with UNSUPPORTED_VERSION and the range of
//! ApiVersions itself (KIP-511).
//!
//! From version 3 on also the features (KIP-584): the levels that brokers support, the finalized levels of the cluster
//! unless they are 0, and their epoch.
//!
//! GetTelemetrySubscriptions and PushTelemetry only with a subscription.

use ottla_protocol::api::api_versions::{
    ApiVersion, ApiVersionsRequest, ApiVersionsResponse, FinalizedFeatureKey, SupportedFeatureKey,
};
use ottla_protocol::{ApiKey, ErrorCode};

use super::APIS;
use super::handler::{Answer, AnswerOf, Api, Handler, Served};
use crate::cluster::Cluster;
use crate::features::FEATURES;
use crate::request::Context;

pub(crate) struct ApiVersions;

impl Handler for ApiVersions {
    type Request = ApiVersionsRequest;

    fn handle(cluster: &mut Cluster, context: &Context, request: ApiVersionsRequest) -> AnswerOf<Self> {
        let named =
            is_software_name(&request.client_software_name) && is_software_name(&request.client_software_version);
        if context.version >= 3 && !named {
            return Self::refuse(cluster, context, request, ErrorCode::INVALID_REQUEST);
        }
        let mut response = ApiVersionsResponse {
            api_keys: APIS.iter().filter_map(|api| advertised(cluster, api)).collect(),
            throttle_time_ms: context.throttle_time_ms,
            ..Default::default()
        };
        if context.version >= 3 {
            add_features(cluster, context, &mut response);
        }
        cluster.sasl.versions_answered(context.key());
        Answer::Respond(response)
    }

    fn refuse(_: &Cluster, context: &Context, _: ApiVersionsRequest, error: ErrorCode) -> AnswerOf<Self> {
        Answer::Respond(ApiVersionsResponse {
            error_code: error.0,
            throttle_time_ms: context.throttle_time_ms,
            ..Default::default()
        })
    }
}

fn add_features(cluster: &Cluster, context: &Context, response: &mut ApiVersionsResponse) {
    let supported = FEATURES.iter().map(|feature| SupportedFeatureKey {
        name: feature.name.into(),
        // Older clients cannot decode a minimum level of 0 (KIP-1022).
        min_version: match context.version {
            ..4 => feature.min_level.max(1),
            _ => feature.min_level,
        },
        max_version: feature.max_level,
        ..Default::default()
    });
    response.supported_features = supported.collect();
    let (features, transaction_version) = (&cluster.state.features, cluster.state.config.transaction_version);
    response.finalized_features_epoch = features.epoch();
    for feature in FEATURES {
        let level = features.level(feature.name, transaction_version).min(feature.max_level);
        if level > 0 {
            response.finalized_features.push(FinalizedFeatureKey {
                name: feature.name.into(),
                min_version_level: level,
                max_version_level: level,
                ..Default::default()
            });
        }
    }
}

fn advertised(cluster: &Cluster, api: &Api) -> Option<ApiVersion> {
    // Like a broker without a telemetry receiver (KIP-714).
    let is_telemetry = matches!(api.key, ApiKey::GET_TELEMETRY_SUBSCRIPTIONS | ApiKey::PUSH_TELEMETRY);
    if is_telemetry && cluster.telemetry.subscription().is_none() {
        return None;
    }
    let (min, max) = match cluster.state.faults.versions(api.key) {
        None => (api.advertised_min_version, api.max_version),
        Some(None) => return None,
        Some(Some((min, max))) => (min.max(api.advertised_min_version), max.min(api.max_version)),
    };
    (min <= max).then(|| ApiVersion {
        api_key: api.key.0,
        min_version: min,
        max_version: max,
        ..Default::default()
    })
}

/// Returns true for a name of letters and digits, with `-` and `.` between them.
fn is_software_name(name: &str) -> bool {
    let alphanumeric = |c: Option<&u8>| c.is_some_and(u8::is_ascii_alphanumeric);
    let bytes = name.as_bytes();
    alphanumeric(bytes.first())
        && alphanumeric(bytes.last())
        && bytes
            .iter()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, b'-' | b'.'))
}

/// Returns the version 0 response to a request in an unsupported version.
pub(crate) fn unsupported_version(cluster: &Cluster, context: &Context) -> Served {
    let own = super::find(ApiKey::API_VERSIONS).and_then(|api| advertised(cluster, api));
    let response = ApiVersionsResponse {
        error_code: ErrorCode::UNSUPPORTED_VERSION.0,
        api_keys: own.into_iter().collect(),
        ..Default::default()
    };
    let context = Context {
        version: 0,
        ..context.clone()
    };
    match context.encode(&response) {
        Ok(frame) => Served::Frame(frame),
        Err(reason) => Served::Close(reason),
    }
}
