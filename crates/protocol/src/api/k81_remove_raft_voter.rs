//! RemoveRaftVoter (key 81): removes a voter from the metadata quorum (KIP-853).

use crate::Uuid;
use crate::schema::schema;

schema! {
    api REMOVE_RAFT_VOTER, versions 0-0, flexible 0+;

    /// The request.
    request RemoveRaftVoterRequest -> RemoveRaftVoterResponse {
        /// Null for any cluster.
        cluster_id: Option<String> [0+],
        voter_id: i32 [0+],
        /// Of the voter's metadata directory.
        voter_directory_id: Uuid [0+],
    }

    /// The response.
    response RemoveRaftVoterResponse {
        throttle_time_ms: i32 [0+],
        error_code: i16 [0+],
        error_message: Option<String> [0+],
    }
}
