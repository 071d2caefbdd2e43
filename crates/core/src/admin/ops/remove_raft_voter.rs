//! RemoveRaftVoter: removes a voter from the metadata quorum (KIP-853).

use ottla_protocol::api::remove_raft_voter::RemoveRaftVoterRequest;
use ottla_protocol::{DecodeError, Uuid};

use super::add_raft_voter::check_voter;
use crate::admin::operation::{Answer, Keys, Operation, Options, Rows, To, Verdict, Verdicts, row_of};
use crate::error::Error;
use crate::request::Target;
use crate::types::NodeId;

/// Removes a voter, which remains an observer if it runs. Requires Kafka 3.9.
#[derive(Debug, Clone)]
pub struct RemoveRaftVoter {
    /// The voter's node id.
    pub voter_id: NodeId,
    /// The id of its metadata directory.
    pub directory_id: Uuid,
    /// The id of the cluster, which the controller compares with its own; `None` for no comparison.
    pub cluster_id: Option<String>,
}

impl Operation for RemoveRaftVoter {
    const NAME: &'static str = "RemoveRaftVoter";
    type Key = ();
    type Row = ();
    type Output = ();

    fn check(&self, _: &Options) -> Result<(), Error> {
        check_voter(self.voter_id)
    }

    fn keys(&self) -> Keys<()> {
        Keys::Known(vec![()])
    }

    fn target(&self, (): &()) -> Target {
        Target::Any
    }

    /// The second time the voter does not exist.
    fn is_repeatable(&self, _: &Options) -> bool {
        false
    }

    fn send(&self, _: &[()], to: &mut To<'_, '_>) -> Result<(), Error> {
        to.send(&RemoveRaftVoterRequest {
            cluster_id: self.cluster_id.clone(),
            voter_id: self.voter_id.0,
            voter_directory_id: self.directory_id,
            ..Default::default()
        })
    }

    fn read(&self, _: &[()], answer: &Answer<'_>) -> Result<Verdicts<Self>, DecodeError> {
        let response = answer.decode::<RemoveRaftVoterRequest>()?;
        Ok(vec![((), Verdict::of(response.error_code, response.error_message, ()))])
    }

    fn finish(&self, rows: Rows<Self>) -> Result<(), Error> {
        row_of(&rows, &())
    }
}
