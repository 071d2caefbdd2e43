//! AddRaftVoter (key 80), versions 0 and 1.
//!
//! Makes a broker that is up and no voter a voter. Errors: INCONSISTENT_CLUSTER_ID, UNSUPPORTED_VERSION while
//! `kraft.version` is 0, INVALID_REQUEST without listeners, DUPLICATE_VOTER, and REQUEST_TIMED_OUT at once for a node or
//! directory that does not exist, which never catches up.
//!
//! Omitted: `ack_when_committed` (version 1), as voters are committed at once.

use ottla_protocol::ErrorCode;
use ottla_protocol::api::add_raft_voter::{AddRaftVoterRequest, AddRaftVoterResponse};

use super::handler::{Answer, AnswerOf, Handler};
use crate::cluster::Cluster;
use crate::features::KRAFT_VERSION;
use crate::ids::BrokerId;
use crate::request::Context;

pub(crate) struct AddRaftVoter;

impl Handler for AddRaftVoter {
    type Request = AddRaftVoterRequest;

    fn handle(cluster: &mut Cluster, context: &Context, request: AddRaftVoterRequest) -> AnswerOf<Self> {
        let added = check(cluster, request.cluster_id.as_deref()).and_then(|()| {
            let listeners = request.listeners.into_iter();
            let endpoints = listeners.map(|l| (l.name, l.host, l.port)).collect();
            let state = &mut cluster.state;
            let voter = BrokerId(request.voter_id);
            state
                .quorum
                .add(&state.brokers, voter, request.voter_directory_id, endpoints)
        });
        respond(context, added.err())
    }

    fn refuse(_: &Cluster, context: &Context, _: AddRaftVoterRequest, error: ErrorCode) -> AnswerOf<Self> {
        respond(context, Some(error))
    }
}

/// Checks that voters of this cluster can be changed.
///
/// # Errors
/// INCONSISTENT_CLUSTER_ID, UNSUPPORTED_VERSION.
pub(super) fn check(cluster: &Cluster, cluster_id: Option<&str>) -> Result<(), ErrorCode> {
    let state = &cluster.state;
    if cluster_id.is_some_and(|id| id != state.cluster_id) {
        return Err(ErrorCode::INCONSISTENT_CLUSTER_ID);
    }
    match state.features.level(KRAFT_VERSION, state.config.transaction_version) {
        0 => Err(ErrorCode::UNSUPPORTED_VERSION),
        _ => Ok(()),
    }
}

fn respond(context: &Context, error: Option<ErrorCode>) -> Answer<AddRaftVoterResponse> {
    Answer::Respond(AddRaftVoterResponse {
        throttle_time_ms: context.throttle_time_ms,
        error_code: error.unwrap_or(ErrorCode::NONE).0,
        error_message: error.and_then(ErrorCode::name).map(str::to_owned),
        ..Default::default()
    })
}
