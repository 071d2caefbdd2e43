//! ListGroups: the groups of every broker, of all types, because each lists only the groups that it coordinates (KIP-1043).

use ottla_protocol::DecodeError;
use ottla_protocol::api::list_groups::ListedGroup;

use super::listed_groups;
use crate::admin::operation::{Answer, Keys, Operation, Options, Rows, To, Verdicts};
use crate::error::Error;
use crate::request::Target;
use crate::types::NodeId;

/// The groups of all brokers that answered.
#[derive(Debug, Clone, Default)]
pub struct GroupListings {
    /// The groups, each once, ordered by id.
    pub groups: Vec<GroupListing>,
    /// The errors of the brokers that did not answer: their groups are missing.
    pub errors: Vec<Error>,
}

/// A group of any type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupListing {
    /// The group's id.
    pub group_id: String,
    /// The type of its protocol, such as `consumer`, `connect`, `share` or `streams`; empty for a group that has only
    /// committed offsets.
    pub protocol_type: String,
    /// Its state in the broker's words; empty from brokers before 2.6 (KIP-518).
    pub state: String,
    /// Its type in the broker's words; empty from brokers before 3.8 (KIP-848).
    pub group_type: String,
}

/// Lists the groups of all types, of all brokers that answered in time, with the errors of the others.
#[derive(Debug, Clone, Default)]
pub struct ListGroups {
    /// Names of the states of groups to list; empty for all (KIP-518, Kafka 2.6).
    pub states: Vec<String>,
    /// Names of the types of groups to list; empty for all (KIP-848, Kafka 3.8). Earlier brokers have classic groups only.
    pub types: Vec<String>,
    /// The types of the protocols of groups to list; empty for all. The client selects them.
    pub protocol_types: Vec<String>,
}

impl Operation for ListGroups {
    const NAME: &'static str = "ListGroups";
    const KEYS_FAIL_ALONE: bool = true;
    type Key = NodeId;
    type Row = Vec<ListedGroup>;
    type Output = GroupListings;

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

    fn finish(&self, rows: Rows<Self>) -> Result<GroupListings, Error> {
        let is_wanted =
            |group: &ListedGroup| self.protocol_types.is_empty() || self.protocol_types.contains(&group.protocol_type);
        let (groups, errors) = listed_groups::merge(rows, is_wanted);
        let listing = |group: ListedGroup| GroupListing {
            group_id: group.group_id,
            protocol_type: group.protocol_type,
            state: group.group_state,
            group_type: group.group_type,
        };
        Ok(GroupListings {
            groups: groups.into_iter().map(listing).collect(),
            errors,
        })
    }
}

#[cfg(test)]
mod tests {
    use ottla_mock::{ApiKey, BrokerId, CoordinatorKind};

    use super::*;
    use crate::admin::AlterShareGroupOffsets;
    use crate::error::ErrorCode;
    use crate::test_kit::{World, within_ms};
    use crate::types::{PartitionOffset, TopicPartition};

    /// Three brokers, each of which coordinates one group: `c` has a member, `o` only offsets, `s` is a share group.
    fn world() -> World {
        let mut w = World::producer(&[], &[]);
        w.add_topic("t", &[1]);
        for (group, broker) in [("s", 1), ("o", 2), ("c", 3)] {
            w.brokers()
                .set_coordinator(CoordinatorKind::Group, group, BrokerId(broker));
        }
        w.peer_member("c", "t");
        w.commit_offset_of("o", "t", 0, 1);
        let offsets = vec![PartitionOffset::new(TopicPartition::new("t", 0), 3)];
        w.ask(AlterShareGroupOffsets(vec![("s".into(), offsets)])).unwrap();
        w
    }

    fn ids(listings: &GroupListings) -> Vec<&str> {
        listings.groups.iter().map(|group| &*group.group_id).collect()
    }

    #[test]
    fn groups_of_all_types_are_listed_by_id() {
        let mut w = world();
        let all = w.ask(ListGroups::default()).unwrap();
        assert!(all.errors.is_empty(), "{:?}", all.errors);
        let row = |id: &str, protocol_type: &str, state: &str, group_type: &str| GroupListing {
            group_id: id.into(),
            protocol_type: protocol_type.into(),
            state: state.into(),
            group_type: group_type.into(),
        };
        let expected = [
            row("c", "consumer", "Stable", "classic"),
            row("o", "", "Empty", "classic"),
            row("s", "share", "Empty", "share"),
        ];
        assert_eq!(all.groups, expected);
    }

    #[test]
    fn filters_select_by_state_type_and_protocol_type() {
        let mut w = world();
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let mut list = |states: &[&str], types: &[&str], protocol_types: &[&str]| {
            let operation = ListGroups {
                states: names(states),
                types: names(types),
                protocol_types: names(protocol_types),
            };
            ids(&w.ask(operation).unwrap()).join(" ")
        };
        assert_eq!(list(&["Empty"], &[], &[]), "o s");
        assert_eq!(list(&[], &["Share", "Streams"], &[]), "s");
        assert_eq!(list(&[], &[], &["consumer", ""]), "c o");
        assert_eq!(list(&["Empty"], &["Classic"], &["consumer"]), "");
    }

    #[test]
    fn brokers_that_do_not_answer_are_errors_beside_the_groups_of_the_others() {
        let mut w = world();
        w.ask(ListGroups::default()).unwrap();
        w.take_down(&[1]);
        let some = w.ask_with(ListGroups::default(), within_ms(2000)).unwrap();
        assert_eq!(ids(&some), ["c", "o"]);
        let codes: Vec<ErrorCode> = some.errors.iter().map(|error| error.code).collect();
        assert_eq!(codes, [ErrorCode::L_TIMED_OUT]);
    }

    #[test]
    fn types_that_old_brokers_have_are_listed_and_others_are_refused() {
        let mut w = world();
        w.brokers().set_api_versions(ApiKey::LIST_GROUPS, Some((0, 4)));
        let of_types = |types: &[&str]| ListGroups {
            types: types.iter().map(|name| (*name).to_owned()).collect(),
            ..ListGroups::default()
        };
        let classic = w.ask(of_types(&["Classic"])).unwrap();
        assert!(classic.errors.is_empty() && !classic.groups.is_empty());
        let share = w.ask(of_types(&["Share"])).unwrap();
        let codes: Vec<ErrorCode> = share.errors.iter().map(|error| error.code).collect();
        assert_eq!(codes, [ErrorCode::L_UNSUPPORTED_FEATURE; 3]);
        assert!(share.groups.is_empty());
    }
}
