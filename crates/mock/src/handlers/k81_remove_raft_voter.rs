//! RemoveRaftVoter (key 81), version 0.
//!
//! Makes a voter an observer. Errors: INCONSISTENT_CLUSTER_ID, UNSUPPORTED_VERSION while `kraft.version` is 0,
//! VOTER_NOT_FOUND, INVALID_REQUEST for the last voter.

use ottla_protocol::ErrorCode;
use ottla_protocol::api::remove_raft_voter::{RemoveRaftVoterRequest, RemoveRaftVoterResponse};

use super::handler::{Answer, AnswerOf, Handler};
use super::k80_add_raft_voter::check;
use crate::cluster::Cluster;
use crate::ids::BrokerId;
use crate::request::Context;

pub(crate) struct RemoveRaftVoter;

impl Handler for RemoveRaftVoter {
    type Request = RemoveRaftVoterRequest;

    fn handle(cluster: &mut Cluster, context: &Context, request: RemoveRaftVoterRequest) -> AnswerOf<Self> {
        let removed = check(cluster, request.cluster_id.as_deref()).and_then(|()| {
            let voter = BrokerId(request.voter_id);
            cluster.state.quorum.remove(voter, request.voter_directory_id)
        });
        respond(context, removed.err())
    }

    fn refuse(_: &Cluster, context: &Context, _: RemoveRaftVoterRequest, error: ErrorCode) -> AnswerOf<Self> {
        respond(context, Some(error))
    }
}

fn respond(context: &Context, error: Option<ErrorCode>) -> Answer<RemoveRaftVoterResponse> {
    Answer::Respond(RemoveRaftVoterResponse {
        throttle_time_ms: context.throttle_time_ms,
        error_code: error.unwrap_or(ErrorCode::NONE).0,
        error_message: error.and_then(ErrorCode::name).map(str::to_owned),
        ..Default::default()
    })
}
