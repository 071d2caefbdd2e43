//! DescribeClientQuotas (key 48), versions 0 and 1.
//!
//! The entities that match all components, with their quotas. Errors of the response: UNSUPPORTED_VERSION for an unknown
//! type of entities, INVALID_REQUEST for a type that is named twice, for addresses together with another type, and for
//! a match without or with a superfluous name.

use std::collections::BTreeMap;

use ottla_protocol::ErrorCode;
use ottla_protocol::api::describe_client_quotas::{
    ComponentData, DescribeClientQuotasRequest, DescribeClientQuotasResponse, EntityData, EntryData, ValueData,
};

use super::handler::{Answer, AnswerOf, Handler};
use crate::api_error::ApiError;
use crate::cluster::Cluster;
use crate::quotas::Match;
use crate::request::Context;

pub(crate) struct DescribeClientQuotas;

const EXACT: i8 = 0;
const DEFAULT: i8 = 1;
const ANY: i8 = 2;

impl Handler for DescribeClientQuotas {
    type Request = DescribeClientQuotasRequest;

    fn handle(cluster: &mut Cluster, context: &Context, request: DescribeClientQuotasRequest) -> AnswerOf<Self> {
        let strict = request.strict;
        let found = components(request.components);
        let found = found.and_then(|components| cluster.state.quotas.describe(&components, strict));
        match found {
            Err(refusal) => failed(context, refusal),
            Ok(entries) => Answer::Respond(DescribeClientQuotasResponse {
                throttle_time_ms: context.throttle_time_ms,
                entries: Some(
                    entries
                        .into_iter()
                        .map(|(entity, quotas)| entry(entity, quotas))
                        .collect(),
                ),
                ..Default::default()
            }),
        }
    }

    fn refuse(_: &Cluster, context: &Context, _: DescribeClientQuotasRequest, error: ErrorCode) -> AnswerOf<Self> {
        failed(context, error.into())
    }
}

fn failed(context: &Context, refusal: ApiError) -> Answer<DescribeClientQuotasResponse> {
    Answer::Respond(DescribeClientQuotasResponse {
        throttle_time_ms: context.throttle_time_ms,
        error_code: refusal.error.0,
        error_message: Some(refusal.message),
        entries: None,
        ..Default::default()
    })
}

fn components(asked: Vec<ComponentData>) -> Result<BTreeMap<String, Match>, ApiError> {
    let invalid = |message: String| ApiError::new(ErrorCode::INVALID_REQUEST, message);
    let mut components = BTreeMap::new();
    for component in asked {
        let expected = match (component.match_type, component.r#match) {
            (EXACT, Some(name)) => Match::Exact(Some(name)),
            (DEFAULT, None) => Match::Exact(None),
            (ANY, None) => Match::Any,
            (EXACT, None) => {
                return Err(invalid(
                    "Request specified MATCH_TYPE_EXACT, but match string is null".into(),
                ));
            }
            (DEFAULT | ANY, Some(_)) => return Err(invalid("Request specified a superfluous match string".into())),
            (other, _) => return Err(invalid(format!("Unexpected match type: {other}"))),
        };
        let kind = component.entity_type;
        if components.insert(kind.clone(), expected).is_some() {
            return Err(invalid(format!("Duplicate {kind} filter component entity type")));
        }
    }
    Ok(components)
}

fn entry(entity: &BTreeMap<String, Option<String>>, quotas: &BTreeMap<String, f64>) -> EntryData {
    let part = |(kind, name): (&String, &Option<String>)| EntityData {
        entity_type: kind.clone(),
        entity_name: name.clone(),
        ..Default::default()
    };
    let value = |(key, value): (&String, &f64)| ValueData {
        key: key.clone(),
        value: *value,
        ..Default::default()
    };
    EntryData {
        entity: entity.iter().map(part).collect(),
        values: quotas.iter().map(value).collect(),
        ..Default::default()
    }
}
