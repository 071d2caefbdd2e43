//! ListConsumerGroups: the consumer groups of every broker, because each lists only the groups that it coordinates.

use std::collections::BTreeMap;

use ottla_protocol::DecodeError;
use ottla_protocol::api::list_groups::{ListGroupsRequest, ListedGroup};

use crate::admin::operation::{Answer, Keys, Operation, Options, Rows, To, Verdict, Verdicts, error_of};
use crate::error::Error;
use crate::request::{Target, unsupported};
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
        let version = to.version::<ListGroupsRequest>()?;
        if version < ListGroupsRequest::STATES_FILTER_SINCE && !self.states.is_empty() {
            return Err(unsupported(
                "the broker cannot filter groups by state (KIP-518): that requires Kafka 2.6",
            ));
        }
        if version < ListGroupsRequest::TYPES_FILTER_SINCE && !self.types.is_empty() {
            return Err(unsupported(
                "the broker cannot filter groups by type (KIP-848): that requires Kafka 3.8",
            ));
        }
        let request = ListGroupsRequest {
            states_filter: self.states.clone(),
            types_filter: self.types.clone(),
            ..Default::default()
        };
        to.send(&request)
    }

    fn read(&self, keys: &[NodeId], answer: &Answer<'_>) -> Result<Verdicts<Self>, DecodeError> {
        let response = answer.decode::<ListGroupsRequest>()?;
        let verdict = match error_of(response.error_code, None) {
            None => Verdict::Done(response.groups),
            Some(error) if error.retriable => Verdict::Retry(error),
            Some(error) => Verdict::Refused(error),
        };
        Ok(keys.iter().copied().zip([verdict]).collect())
    }

    /// Returns the consumer groups, and the groups that consist of committed offsets only. While a group's coordinator moves
    /// two brokers may list it.
    fn finish(&self, rows: Rows<Self>) -> Result<ConsumerGroups, Error> {
        let mut groups = BTreeMap::new();
        let mut errors = Vec::new();
        for row in rows.into_values() {
            match row {
                Err(error) => errors.push(error),
                Ok(listed) => {
                    let of_consumers = listed
                        .into_iter()
                        .filter(|g| g.protocol_type.is_empty() || g.protocol_type == CONSUMER_PROTOCOL);
                    for g in of_consumers {
                        groups
                            .entry(g.group_id)
                            .or_insert((g.protocol_type, g.group_state, g.group_type));
                    }
                }
            }
        }
        let listing =
            |(group_id, (protocol_type, state, group_type)): (String, (String, String, String))| ConsumerGroupListing {
                group_id,
                is_simple: protocol_type.is_empty(),
                state,
                group_type,
            };
        Ok(ConsumerGroups {
            groups: groups.into_iter().map(listing).collect(),
            errors,
        })
    }
}

#[cfg(test)]
mod tests;
