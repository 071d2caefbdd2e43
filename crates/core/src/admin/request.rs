//! Operations that are one request to one broker: arguments, options, checks, targets.

use std::time::Duration;

use crate::error::{Error, ErrorCode};
use crate::event::{AdminOp, ResourceType};
use crate::request::Target;
use crate::types::NodeId;

/// An operation of the application.
#[derive(Debug, Clone)]
pub enum Request {
    /// Creates topics.
    CreateTopics(Vec<NewTopic>),
    /// Deletes topics, by name.
    DeleteTopics(Vec<String>),
    /// Adds partitions to topics.
    CreatePartitions(Vec<NewPartitions>),
    /// Describes configurations.
    DescribeConfigs(Vec<ConfigQuery>),
    /// Replaces the configurations of resources: settings that are not listed are reset to their defaults. Since Kafka 2.3
    /// [`IncrementalAlterConfigs`](Self::IncrementalAlterConfigs) replaces it.
    AlterConfigs(Vec<ConfigChanges>),
    /// Changes single settings (KIP-339). Requires Kafka 2.3.
    IncrementalAlterConfigs(Vec<ConfigChanges>),
}

/// A topic to create.
#[derive(Debug, Clone, Default)]
pub struct NewTopic {
    /// The topic's name.
    pub name: String,
    /// Number of partitions; -1 for the broker's default (KIP-464, Kafka 2.4), or with assignments.
    pub partitions: i32,
    /// Replicas of each partition; -1 for the broker's default (KIP-464, Kafka 2.4), or with assignments.
    pub replication_factor: i16,
    /// The brokers of each partition's replicas, the preferred leader first; empty for the controller's choice.
    pub assignments: Vec<Vec<i32>>,
    /// Settings with their values.
    pub configs: Vec<(String, String)>,
}

/// Partitions to add.
#[derive(Debug, Clone, Default)]
pub struct NewPartitions {
    /// The topic.
    pub topic: String,
    /// The new total number of partitions.
    pub total: i32,
    /// The brokers of each new partition's replicas; empty for the controller's choice.
    pub assignments: Vec<Vec<i32>>,
}

/// Settings of a resource to describe.
#[derive(Debug, Clone)]
pub struct ConfigQuery {
    /// The type of the resource.
    pub kind: ResourceType,
    /// The resource's name.
    pub name: String,
    /// The names of the settings; empty for all.
    pub configs: Vec<String>,
}

/// Settings of a resource to change.
#[derive(Debug, Clone)]
pub struct ConfigChanges {
    /// The type of the resource.
    pub kind: ResourceType,
    /// The resource's name.
    pub name: String,
    /// The changes.
    pub changes: Vec<ConfigChange>,
}

/// A change of one setting.
#[derive(Debug, Clone)]
pub struct ConfigChange {
    /// The setting's name.
    pub name: String,
    /// The kind of change; [`Request::AlterConfigs`] supports only [`Set`](AlterOp::Set).
    pub op: AlterOp,
    /// The value; `None` only for [`Delete`](AlterOp::Delete).
    pub value: Option<String>,
}

/// A kind of change of a setting, with the protocol's number (KIP-339).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(i8)]
pub enum AlterOp {
    /// Sets the value.
    Set = 0,
    /// Resets the setting to its default.
    Delete = 1,
    /// Appends the value to the list.
    Append = 2,
    /// Removes the value from the list.
    Subtract = 3,
}

/// Options of an operation.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The timeout of the call, from the search for the broker to its response; `None` is `socket.timeout.ms`.
    pub request_timeout: Option<Duration>,
    /// The controller's timeout for topics or partitions to appear on the brokers, or to disappear; zero does not wait for
    /// that. `None` is `socket.timeout.ms`.
    pub operation_timeout: Option<Duration>,
    /// Validates the request without executing it.
    pub validate_only: bool,
    /// The broker that the request goes to instead of the controller or any broker. A broker's own settings are always
    /// requested from that broker.
    pub broker: Option<NodeId>,
}

impl Request {
    /// Returns the operation's kind.
    pub fn op(&self) -> AdminOp {
        match self {
            Request::CreateTopics(_) => AdminOp::CreateTopics,
            Request::DeleteTopics(_) => AdminOp::DeleteTopics,
            Request::CreatePartitions(_) => AdminOp::CreatePartitions,
            Request::DescribeConfigs(_) => AdminOp::DescribeConfigs,
            Request::AlterConfigs(_) => AdminOp::AlterConfigs,
            Request::IncrementalAlterConfigs(_) => AdminOp::IncrementalAlterConfigs,
        }
    }

    /// Checks what needs no broker.
    ///
    /// # Errors
    /// `_INVALID_ARG`.
    pub(super) fn check(&self) -> Result<(), Error> {
        if self.is_empty() {
            let text = format!("{} names nothing", self.op().name());
            return Err(Error::invalid_arg(text));
        }
        if let Request::CreateTopics(topics) = self {
            let gap = |t: &&NewTopic| {
                let assigned = i32::try_from(t.assignments.len()).unwrap_or(i32::MAX);
                assigned > 0 && t.partitions >= 0 && t.partitions != assigned
            };
            if let Some(NewTopic { name, partitions, .. }) = topics.iter().find(gap) {
                let text = format!("topic {name}: replicas are not assigned to each of its {partitions} partitions");
                return Err(Error::invalid_arg(text));
            }
        }
        let (resources, single) = match self {
            Request::AlterConfigs(resources) => (resources, false),
            Request::IncrementalAlterConfigs(resources) => (resources, true),
            _ => return Ok(()),
        };
        for change in resources.iter().flat_map(|r| &r.changes) {
            if !single && change.op != AlterOp::Set {
                let text = "AlterConfigs replaces all settings: IncrementalAlterConfigs changes single ones";
                return Err(Error::invalid_arg(text));
            }
            if single && change.op != AlterOp::Delete && change.value.is_none() {
                return Err(Error::invalid_arg(format!("{} has no value", change.name)));
            }
        }
        Ok(())
    }

    fn is_empty(&self) -> bool {
        match self {
            Request::CreateTopics(topics) => topics.is_empty(),
            Request::DeleteTopics(topics) => topics.is_empty(),
            Request::CreatePartitions(topics) => topics.is_empty(),
            Request::DescribeConfigs(resources) => resources.is_empty(),
            Request::AlterConfigs(resources) | Request::IncrementalAlterConfigs(resources) => resources.is_empty(),
        }
    }

    /// Returns whether the operation can be repeated without effect.
    pub(super) fn changes_nothing(&self, options: &Options) -> bool {
        matches!(self, Request::DescribeConfigs(_)) || options.validate_only
    }

    /// Returns the broker that the request is for.
    pub(super) fn target(&self, options: &Options) -> Result<Target, Error> {
        let (owner, otherwise) = match self {
            Request::CreateTopics(_) | Request::DeleteTopics(_) | Request::CreatePartitions(_) => {
                (None, Target::Controller)
            }
            Request::DescribeConfigs(resources) => (owner(resources.iter().map(|r| (r.kind, &*r.name)))?, Target::Any),
            Request::AlterConfigs(resources) | Request::IncrementalAlterConfigs(resources) => {
                (owner(resources.iter().map(|r| (r.kind, &*r.name)))?, Target::Any)
            }
        };
        Ok(owner.or(options.broker).map_or(otherwise, Target::Broker))
    }
}

/// Returns the broker whose own settings are among these. Only that broker has them, so a request can contain one broker's
/// settings only.
fn owner<'a>(resources: impl Iterator<Item = (ResourceType, &'a str)>) -> Result<Option<NodeId>, Error> {
    let is_brokers = |kind| matches!(kind, ResourceType::BROKER | ResourceType::BROKER_LOGGER);
    let mut owner = None;
    for (_, name) in resources.filter(|(kind, name)| is_brokers(*kind) && !name.is_empty()) {
        let id = name.parse().ok().filter(|id| *id >= 0).map(NodeId);
        let id = id.ok_or_else(|| Error::invalid_arg(format!("\"{name}\" is not a broker's id")))?;
        if owner.is_some_and(|owner| owner != id) {
            let text = "the settings of only one broker can be in one request";
            return Err(Error::new(ErrorCode::L_CONFLICT, text));
        }
        owner = Some(id);
    }
    Ok(owner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn describe(resources: &[(ResourceType, &str)], broker: Option<i32>) -> Result<Target, ErrorCode> {
        let query = |(kind, name): &(ResourceType, &str)| ConfigQuery {
            kind: *kind,
            name: (*name).into(),
            configs: Vec::new(),
        };
        let options = Options {
            broker: broker.map(NodeId),
            ..Options::default()
        };
        let request = Request::DescribeConfigs(resources.iter().map(query).collect());
        request.target(&options).map_err(|e| e.code)
    }

    #[test]
    fn configs_of_a_broker_are_requested_from_that_broker() {
        let (topic, broker) = (ResourceType::TOPIC, ResourceType::BROKER);
        assert_eq!(describe(&[(topic, "t")], None), Ok(Target::Any));
        assert_eq!(describe(&[(topic, "t")], Some(3)), Ok(Target::Broker(NodeId(3))));
        let both = [(topic, "t"), (broker, "2"), (ResourceType::BROKER_LOGGER, "2")];
        assert_eq!(describe(&both, Some(3)), Ok(Target::Broker(NodeId(2))));
        assert_eq!(describe(&[(broker, "")], None), Ok(Target::Any));
        let two = [(broker, "2"), (broker, "1")];
        assert_eq!(describe(&two, None), Err(ErrorCode::L_CONFLICT));
        for name in ["x", "-1", "2 ", "99999999999"] {
            assert_eq!(
                describe(&[(broker, name)], None),
                Err(ErrorCode::L_INVALID_ARG),
                "{name}"
            );
        }
    }

    #[test]
    fn invalid_operations_are_refused() {
        let change = |op, value: Option<&str>| {
            vec![ConfigChanges {
                kind: ResourceType::TOPIC,
                name: "t".into(),
                changes: vec![ConfigChange {
                    name: "retention.ms".into(),
                    op,
                    value: value.map(str::to_owned),
                }],
            }]
        };
        let code = |request: Request| request.check().err().map(|e| e.code);
        let invalid = Some(ErrorCode::L_INVALID_ARG);
        assert_eq!(code(Request::DescribeConfigs(Vec::new())), invalid);
        let assigned = |partitions, assignments: &[Vec<i32>]| {
            code(Request::CreateTopics(vec![NewTopic {
                partitions,
                assignments: assignments.to_vec(),
                ..NewTopic::default()
            }]))
        };
        assert_eq!(assigned(2, &[vec![1]]), invalid);
        assert_eq!(assigned(1, &[vec![1]]), None);
        assert_eq!(assigned(-1, &[vec![1]]), None);
        assert_eq!(assigned(2, &[]), None);
        assert_eq!(code(Request::AlterConfigs(change(AlterOp::Set, Some("1")))), None);
        assert_eq!(code(Request::AlterConfigs(change(AlterOp::Set, None))), None);
        assert_eq!(code(Request::AlterConfigs(change(AlterOp::Append, Some("1")))), invalid);
        let single = Request::IncrementalAlterConfigs;
        assert_eq!(code(single(change(AlterOp::Append, Some("1")))), None);
        assert_eq!(code(single(change(AlterOp::Delete, None))), None);
        assert_eq!(code(single(change(AlterOp::Set, None))), invalid);
    }

    #[test]
    fn topic_operations_go_to_the_controller_unless_a_broker_is_set() {
        let request = Request::DeleteTopics(vec!["t".into()]);
        let broker = Options {
            broker: Some(NodeId(3)),
            ..Options::default()
        };
        assert_eq!(request.target(&Options::default()), Ok(Target::Controller));
        assert_eq!(request.target(&broker), Ok(Target::Broker(NodeId(3))));
    }
}
