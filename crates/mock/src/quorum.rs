//! The voters of the metadata quorum (KIP-595, KIP-853). All brokers are controllers as well, and are voters at first.

use std::collections::BTreeMap;

use ottla_protocol::{ErrorCode, Uuid};

use crate::brokers::Brokers;
use crate::ids::BrokerId;

/// An address of a controller: listener, host and port.
pub(crate) type Endpoint = (String, String, u16);

/// The prefix of the ids of metadata directories; the id of the broker follows.
const DIRECTORY_PREFIX: u128 = 0x6d6f_636b_6d65_7461_6461_7461;

/// Returns the id of a broker's metadata directory.
pub(crate) fn directory_id(broker: BrokerId) -> Uuid {
    Uuid((DIRECTORY_PREFIX << 32 | u128::from(broker.0.cast_unsigned())).to_be_bytes())
}

/// The voters and the leader.
#[derive(Debug)]
pub(crate) struct Quorum {
    /// The listeners of voters that were added; `None` for those of the start.
    voters: BTreeMap<BrokerId, Option<Vec<Endpoint>>>,
    leader: Option<BrokerId>,
    leader_epoch: i32,
}

impl Quorum {
    /// Makes all brokers voters.
    pub(crate) fn new(brokers: impl Iterator<Item = BrokerId>) -> Self {
        Self {
            voters: brokers.map(|broker| (broker, None)).collect(),
            leader: None,
            leader_epoch: 0,
        }
    }

    /// Returns the voters by ascending id.
    pub(crate) fn voters(&self) -> impl Iterator<Item = BrokerId> + '_ {
        self.voters.keys().copied()
    }

    /// Returns whether the broker is a voter.
    pub(crate) fn is_voter(&self, broker: BrokerId) -> bool {
        self.voters.contains_key(&broker)
    }

    /// Returns the listeners of a voter.
    pub(crate) fn endpoints(&self, voter: BrokerId, brokers: &Brokers) -> Vec<Endpoint> {
        let added = self.voters.get(&voter).and_then(Option::as_ref);
        let own = || {
            let broker = brokers.get(voter)?;
            Some(vec![("CONTROLLER".to_owned(), broker.host.clone(), broker.port)])
        };
        added.cloned().or_else(own).unwrap_or_default()
    }

    /// Returns the leader and its epoch: the controller if it is a voter, otherwise the first voter that is up.
    pub(crate) fn leader(&mut self, brokers: &Brokers) -> Option<(BrokerId, i32)> {
        let is_eligible = |broker: &BrokerId| self.is_voter(*broker) && brokers.is_alive(*broker);
        let leader = Some(brokers.controller())
            .filter(is_eligible)
            .or_else(|| self.voters().find(is_eligible));
        if leader.is_some() && leader != self.leader {
            self.leader = leader;
            self.leader_epoch += 1;
        }
        Some((leader?, self.leader_epoch))
    }

    /// Makes a broker a voter.
    ///
    /// # Errors
    /// DUPLICATE_VOTER; INVALID_REQUEST without listeners; REQUEST_TIMED_OUT for a directory that no running broker has, as
    /// it does not catch up.
    pub(crate) fn add(
        &mut self,
        brokers: &Brokers,
        voter: BrokerId,
        directory: Uuid,
        endpoints: Vec<Endpoint>,
    ) -> Result<(), ErrorCode> {
        if endpoints.is_empty() {
            return Err(ErrorCode::INVALID_REQUEST);
        }
        if self.is_voter(voter) {
            return Err(ErrorCode::DUPLICATE_VOTER);
        }
        if !brokers.is_alive(voter) || directory != directory_id(voter) {
            return Err(ErrorCode::REQUEST_TIMED_OUT);
        }
        self.voters.insert(voter, Some(endpoints));
        Ok(())
    }

    /// Removes a voter.
    ///
    /// # Errors
    /// VOTER_NOT_FOUND, and INVALID_REQUEST for the last one.
    pub(crate) fn remove(&mut self, voter: BrokerId, directory: Uuid) -> Result<(), ErrorCode> {
        if !self.is_voter(voter) || directory != directory_id(voter) {
            return Err(ErrorCode::VOTER_NOT_FOUND);
        }
        if self.voters.len() == 1 {
            return Err(ErrorCode::INVALID_REQUEST);
        }
        self.voters.remove(&voter);
        Ok(())
    }
}
