//! AddRaftVoter (key 80): makes a controller a voter of the metadata quorum (KIP-853).
//!
//! - 1: may be answered before the new voters are committed (KIP-1186)

use crate::Uuid;
use crate::schema::schema;

schema! {
    api ADD_RAFT_VOTER, versions 0-1, flexible 0+;

    /// The request.
    request AddRaftVoterRequest -> AddRaftVoterResponse {
        /// Null for any cluster.
        cluster_id: Option<String> [0+],
        timeout_ms: i32 [0+],
        voter_id: i32 [0+],
        /// Of the voter's metadata directory.
        voter_directory_id: Uuid [0+],
        listeners: Vec<Listener> [0+],
        /// The response waits until the new voters are committed.
        ack_when_committed: bool [1+] = true,
    }

    /// An address of the voter.
    struct Listener {
        name: String [0+],
        host: String [0+],
        port: u16 [0+],
    }

    /// The response.
    response AddRaftVoterResponse {
        throttle_time_ms: i32 [0+],
        error_code: i16 [0+],
        error_message: Option<String> [0+],
    }
}
