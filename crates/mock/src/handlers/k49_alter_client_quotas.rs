//! AlterClientQuotas (key 49), versions 0 and 1.
//!
//! Sets and removes quotas, of each entity all or none; with `validate_only` only validates the changes. Error per entity:
//! INVALID_REQUEST for an invalid entity, an unknown quota, a quota that is named twice, and a value outside of its range.
//!
//! Omitted: the quotas' effect; host names as addresses.

use std::collections::BTreeSet;

use ottla_protocol::ErrorCode;
use ottla_protocol::api::alter_client_quotas::{
    AlterClientQuotasRequest, AlterClientQuotasResponse, EntryData, ResponseEntryData,
};

use super::handler::{Answer, AnswerOf, Handler};
use crate::api_error::ApiError;
use crate::cluster::Cluster;
use crate::quotas::Entity;
use crate::request::Context;

pub(crate) struct AlterClientQuotas;

impl Handler for AlterClientQuotas {
    type Request = AlterClientQuotasRequest;

    fn handle(cluster: &mut Cluster, context: &Context, request: AlterClientQuotasRequest) -> AnswerOf<Self> {
        let validate_only = request.validate_only;
        respond(context, request, |entry| alter(cluster, entry, validate_only))
    }

    fn refuse(_: &Cluster, context: &Context, request: AlterClientQuotasRequest, error: ErrorCode) -> AnswerOf<Self> {
        respond(context, request, |_| Err(error.into()))
    }
}

fn alter(cluster: &mut Cluster, entry: &EntryData, validate_only: bool) -> Result<(), ApiError> {
    let invalid = |message: &str| ApiError::new(ErrorCode::INVALID_REQUEST, message);
    let parts = entry.entity.iter();
    let entity: Entity = parts
        .map(|part| (part.entity_type.clone(), part.entity_name.clone()))
        .collect();
    if entity.len() < entry.entity.len() {
        return Err(invalid("Duplicate entity type"));
    }
    let names: BTreeSet<_> = entry.ops.iter().map(|op| &op.key).collect();
    if names.len() < entry.ops.len() {
        return Err(invalid("Duplicate configuration key"));
    }
    let change =
        |op: &ottla_protocol::api::alter_client_quotas::OpData| (op.key.clone(), (!op.remove).then_some(op.value));
    let changes: Vec<_> = entry.ops.iter().map(change).collect();
    cluster.state.quotas.alter(&entity, &changes, validate_only)
}

fn respond(
    context: &Context,
    request: AlterClientQuotasRequest,
    mut alter: impl FnMut(&EntryData) -> Result<(), ApiError>,
) -> Answer<AlterClientQuotasResponse> {
    let entries = request.entries.into_iter().map(|entry| {
        let refusal = alter(&entry).err();
        ResponseEntryData {
            error_code: refusal.as_ref().map_or(ErrorCode::NONE, |r| r.error).0,
            error_message: refusal.map(|r| r.message),
            entity: entry.entity,
            ..Default::default()
        }
    });
    Answer::Respond(AlterClientQuotasResponse {
        throttle_time_ms: context.throttle_time_ms,
        entries: entries.collect(),
        ..Default::default()
    })
}
