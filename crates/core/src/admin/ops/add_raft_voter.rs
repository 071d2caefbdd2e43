//! AddRaftVoter: makes a controller a voter of the metadata quorum (KIP-853).

use ottla_protocol::api::add_raft_voter::{AddRaftVoterRequest, Listener};
use ottla_protocol::{DecodeError, Uuid};

use super::describe_metadata_quorum::RaftEndpoint;
use super::partitions::has_duplicate;
use crate::admin::operation::{Answer, Keys, Operation, Options, Rows, To, Verdict, Verdicts, row_of};
use crate::error::Error;
use crate::request::Target;
use crate::types::NodeId;

/// Adds a voter, which must have caught up as an observer. Requires Kafka 3.9.
#[derive(Debug, Clone)]
pub struct AddRaftVoter {
    /// The voter's node id.
    pub voter_id: NodeId,
    /// The id of its metadata directory.
    pub directory_id: Uuid,
    /// Its listeners for controllers, one for each name.
    pub endpoints: Vec<RaftEndpoint>,
    /// The id of the cluster, which the controller compares with its own; `None` for no comparison.
    pub cluster_id: Option<String>,
}

impl Operation for AddRaftVoter {
    const NAME: &'static str = "AddRaftVoter";
    type Key = ();
    type Row = ();
    type Output = ();

    fn check(&self, _: &Options) -> Result<(), Error> {
        check_voter(self.voter_id)?;
        if self.endpoints.is_empty() {
            return Err(Error::invalid_arg("The voter has no listener"));
        }
        match has_duplicate(self.endpoints.iter().map(|endpoint| &endpoint.listener)) {
            true => Err(Error::invalid_arg("Duplicate listeners not allowed")),
            false => Ok(()),
        }
    }

    fn keys(&self) -> Keys<()> {
        Keys::Known(vec![()])
    }

    fn target(&self, (): &()) -> Target {
        Target::Any
    }

    /// The second time the voter exists.
    fn is_repeatable(&self, _: &Options) -> bool {
        false
    }

    fn send(&self, _: &[()], to: &mut To<'_, '_>) -> Result<(), Error> {
        let listener = |endpoint: &RaftEndpoint| Listener {
            name: endpoint.listener.clone(),
            host: endpoint.host.clone(),
            port: endpoint.port,
            ..Default::default()
        };
        to.send(&AddRaftVoterRequest {
            cluster_id: self.cluster_id.clone(),
            timeout_ms: to.operation_timeout_ms(),
            voter_id: self.voter_id.0,
            voter_directory_id: self.directory_id,
            listeners: self.endpoints.iter().map(listener).collect(),
            ..Default::default()
        })
    }

    fn read(&self, _: &[()], answer: &Answer<'_>) -> Result<Verdicts<Self>, DecodeError> {
        let response = answer.decode::<AddRaftVoterRequest>()?;
        Ok(vec![((), Verdict::of(response.error_code, response.error_message, ()))])
    }

    fn finish(&self, rows: Rows<Self>) -> Result<(), Error> {
        row_of(&rows, &())
    }
}

/// Checks the id of a voter.
///
/// # Errors
/// `_INVALID_ARG` for a negative one.
pub(super) fn check_voter(voter: NodeId) -> Result<(), Error> {
    match voter.0 {
        ..0 => Err(Error::invalid_arg(format!("The voter id {voter} is negative"))),
        _ => Ok(()),
    }
}
