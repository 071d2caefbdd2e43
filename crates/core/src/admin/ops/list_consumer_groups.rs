//! ListConsumerGroups: the consumer groups of every broker, because each lists only the groups that it coordinates.

use ottla_protocol::DecodeError;
use ottla_protocol::api::list_groups::ListedGroup;

use super::listed_groups;
use crate::admin::operation::{Answer, Keys, Operation, Options, Rows, To, Verdicts};
use crate::error::Error;
use crate::request::Target;
use crate::types::NodeId;

/// The groups of all brokers that answered.
#[derive(Debug, Clone, Default)]
pub struct ConsumerGroups {
    /// The groups, each once, ordered by id.
    pub groups: Vec<ConsumerGroupListing>,
    /// The errors of the brokers that did not answer: their groups are missing.
    pub errors: Vec<Error>,
}

/// A consumer group, or a group that has only committed offsets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConsumerGroupListing {
    /// The group's id.
    pub group_id: String,
    /// It has no member assignment: its offsets were committed without group membership.
    pub is_simple: bool,
    /// Its state in the broker's words; empty from brokers before 2.6 (KIP-518).
    pub state: String,
    /// Its type in the broker's words; empty from brokers before 3.8 (KIP-848).
    pub group_type: String,
}

/// Lists the groups that consumers have created, of all brokers that answered in time, with the errors of the others.
#[derive(Debug, Clone, Default)]
pub struct ListConsumerGroups {
    /// Names of the states of groups to list; empty for all (KIP-518, Kafka 2.6).
    pub states: Vec<String>,
    /// Names of the types of groups to list; empty for all (KIP-848, Kafka 3.8).
    pub types: Vec<String>,
}

/// The protocol type of consumer groups.
const CONSUMER_PROTOCOL: &str = "consumer";

impl Operation for ListConsumerGroups {
    const NAME: &'static str = "ListConsumerGroups";
    const KEYS_FAIL_ALONE: bool = true;
    type Key = NodeId;
    type Row = Vec<ListedGroup>;
    type Output = ConsumerGroups;

    fn keys(&self) -> Keys<NodeId> {
        Keys::EachBroker(|node| node)
    }

    fn target(&self, node: &NodeId) -> Target {
        Target::Broker(*node)
    }

    fn is_repeatable(&self, _: &Options) -> bool {
        true
    }

    fn send(&self, _: &[NodeId], to: &mut To<'_, '_>) -> Result<(), Error> {
        listed_groups::send(&self.states, &self.types, to)
    }

    fn read(&self, keys: &[NodeId], answer: &Answer<'_>) -> Result<Verdicts<Self>, DecodeError> {
        Ok(keys.iter().copied().zip([listed_groups::read(answer)?]).collect())
    }

    /// Returns the consumer groups, and the groups that consist of committed offsets only.
    fn finish(&self, rows: Rows<Self>) -> Result<ConsumerGroups, Error> {
        let is_of_consumers =
            |group: &ListedGroup| group.protocol_type.is_empty() || group.protocol_type == CONSUMER_PROTOCOL;
        let (groups, errors) = listed_groups::merge(rows, is_of_consumers);
        let listing = |group: ListedGroup| ConsumerGroupListing {
            group_id: group.group_id,
            is_simple: group.protocol_type.is_empty(),
            state: group.group_state,
            group_type: group.group_type,
        };
        Ok(ConsumerGroups {
            groups: groups.into_iter().map(listing).collect(),
            errors,
        })
    }
}

#[cfg(test)]
mod tests;
