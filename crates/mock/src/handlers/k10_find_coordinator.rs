//! FindCoordinator (key 10), versions 0 to 6.
//!
//! Version 0: groups only; from 1 on also transactional ids (key type 1); from 4 on several keys at once.
//! Errors: COORDINATOR_NOT_AVAILABLE when no broker is up or the coordinator was made unavailable, INVALID_REQUEST for other key types.
//!
//! Left out: share groups (key type 2, version 6).

use ottla_protocol::ErrorCode;
use ottla_protocol::api::find_coordinator::{Coordinator, FindCoordinatorRequest, FindCoordinatorResponse};

use super::handler::{Answer, AnswerOf, Handler};
use crate::cluster::Cluster;
use crate::coordinators::CoordinatorKind;
use crate::request::Context;

pub(crate) struct FindCoordinator;

impl Handler for FindCoordinator {
    type Request = FindCoordinatorRequest;

    fn handle(cluster: &mut Cluster, context: &Context, request: FindCoordinatorRequest) -> AnswerOf<Self> {
        respond(context, &request, |key| locate(cluster, request.key_type, key))
    }

    fn refuse(_: &Cluster, context: &Context, request: FindCoordinatorRequest, error: ErrorCode) -> AnswerOf<Self> {
        let message = error.name().map(str::to_owned);
        respond(context, &request, |key| Coordinator {
            key: key.to_owned(),
            node_id: -1,
            port: -1,
            error_code: error.0,
            error_message: message.clone(),
            ..Default::default()
        })
    }
}

fn respond(
    context: &Context,
    request: &FindCoordinatorRequest,
    locate: impl Fn(&str) -> Coordinator,
) -> Answer<FindCoordinatorResponse> {
    let throttle_time_ms = context.throttle_time_ms;
    if context.version >= 4 {
        let coordinators = request.coordinator_keys.iter().map(|key| locate(key)).collect();
        return Answer::Respond(FindCoordinatorResponse {
            throttle_time_ms,
            coordinators,
            ..Default::default()
        });
    }
    let found = locate(&request.key);
    Answer::Respond(FindCoordinatorResponse {
        throttle_time_ms,
        error_code: found.error_code,
        error_message: found.error_message,
        node_id: found.node_id,
        host: found.host,
        port: found.port,
        ..Default::default()
    })
}

fn locate(cluster: &Cluster, key_type: i8, key: &str) -> Coordinator {
    let fail = |error: ErrorCode, message: &str| Coordinator {
        key: key.to_owned(),
        node_id: -1,
        port: -1,
        error_code: error.0,
        error_message: Some(message.to_owned()),
        ..Default::default()
    };
    let kind = match key_type {
        0 => CoordinatorKind::Group,
        1 => CoordinatorKind::Transaction,
        _ => return fail(ErrorCode::INVALID_REQUEST, "The coordinator type is not supported."),
    };
    let unavailable = cluster.state.coordinators.error(kind, key) == Some(ErrorCode::COORDINATOR_NOT_AVAILABLE);
    let broker = cluster
        .state
        .coordinator(kind, key)
        .filter(|_| !unavailable)
        .and_then(|id| Some((id, cluster.state.brokers.get(id)?)));
    match broker {
        Some((id, broker)) => Coordinator {
            key: key.to_owned(),
            node_id: id.0,
            host: broker.host.clone(),
            port: broker.port.into(),
            ..Default::default()
        },
        None => fail(
            ErrorCode::COORDINATOR_NOT_AVAILABLE,
            "The coordinator is not available.",
        ),
    }
}
