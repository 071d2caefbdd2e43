//! ApiVersions (key 18), versions 0 to 4.
//!
//! Any version: the APIs that the broker serves, with their versions. Produce is advertised from version 0 on although
//! only 3 and later are served, as Kafka 4.x does for clients that take the lower bound for a feature (KIP-896).
//! Version 3 and later: the client's software name and version are checked as Kafka checks them, else INVALID_REQUEST.
//! A version that the broker does not have is answered in version 0 with UNSUPPORTED_VERSION and the range of
//! ApiVersions itself (KIP-511).
//!
//! Left out: feature levels, of which the cluster has none to speak of.

use ottla_protocol::api::api_versions::{ApiVersion, ApiVersionsRequest, ApiVersionsResponse};
use ottla_protocol::{ApiKey, ErrorCode};

use super::{APIS, Answer, AnswerOf, Api, Handler};
use crate::cluster::Cluster;
use crate::dispatch::{Context, Served};

pub(crate) struct ApiVersions;

impl Handler for ApiVersions {
    type Request = ApiVersionsRequest;

    fn handle(cluster: &mut Cluster, context: &Context, request: ApiVersionsRequest) -> AnswerOf<Self> {
        let named =
            is_software_name(&request.client_software_name) && is_software_name(&request.client_software_version);
        if context.version >= 3 && !named {
            return Self::refuse(cluster, context, request, ErrorCode::INVALID_REQUEST);
        }
        Answer::Respond(ApiVersionsResponse {
            api_keys: APIS.iter().filter_map(|api| advertised(cluster, api)).collect(),
            throttle_time_ms: context.throttle_time_ms,
            ..Default::default()
        })
    }

    fn refuse(_: &Cluster, context: &Context, _: ApiVersionsRequest, error: ErrorCode) -> AnswerOf<Self> {
        Answer::Respond(ApiVersionsResponse {
            error_code: error.0,
            throttle_time_ms: context.throttle_time_ms,
            ..Default::default()
        })
    }
}

fn advertised(cluster: &Cluster, api: &Api) -> Option<ApiVersion> {
    let (min, max) = match cluster.faults.versions(api.key) {
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

/// Letters and digits, with `-` and `.` between them.
fn is_software_name(name: &str) -> bool {
    let alphanumeric = |c: Option<&u8>| c.is_some_and(u8::is_ascii_alphanumeric);
    let bytes = name.as_bytes();
    alphanumeric(bytes.first())
        && alphanumeric(bytes.last())
        && bytes
            .iter()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, b'-' | b'.'))
}

/// The answer to a request in a version that the broker does not have, in version 0.
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
