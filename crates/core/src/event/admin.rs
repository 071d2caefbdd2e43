//! The results of admin calls.

use crate::error::Error;

/// The kind of an admin call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AdminOp {
    /// CreateTopics.
    CreateTopics,
    /// DeleteTopics.
    DeleteTopics,
    /// CreatePartitions.
    CreatePartitions,
    /// DescribeConfigs.
    DescribeConfigs,
    /// AlterConfigs.
    AlterConfigs,
    /// IncrementalAlterConfigs (KIP-339).
    IncrementalAlterConfigs,
    /// ListGroups, for consumer groups.
    ListConsumerGroups,
}

impl AdminOp {
    /// Returns the name of the request.
    pub fn name(self) -> &'static str {
        match self {
            AdminOp::CreateTopics => "CreateTopics",
            AdminOp::DeleteTopics => "DeleteTopics",
            AdminOp::CreatePartitions => "CreatePartitions",
            AdminOp::DescribeConfigs => "DescribeConfigs",
            AdminOp::AlterConfigs => "AlterConfigs",
            AdminOp::IncrementalAlterConfigs => "IncrementalAlterConfigs",
            AdminOp::ListConsumerGroups => "ListConsumerGroups",
        }
    }
}

/// The result of an admin call.
#[derive(Debug, Clone)]
pub struct AdminResult {
    /// The kind of the call.
    pub op: AdminOp,
    /// The application's pointer given with the call.
    pub opaque: usize,
    /// The result for each topic or resource, or the error of the call as a whole.
    pub outcome: Result<AdminOutcome, Error>,
}

/// The responses. Topics and resources are in the order of the call.
#[derive(Debug, Clone)]
pub enum AdminOutcome {
    /// Results of CreateTopics, DeleteTopics and CreatePartitions.
    Topics(Vec<TopicResult>),
    /// Results of DescribeConfigs, AlterConfigs and IncrementalAlterConfigs.
    Resources(Vec<ResourceResult>),
    /// The result of ListConsumerGroups.
    Groups(ConsumerGroups),
}

/// The groups of all brokers that answered.
#[derive(Debug, Clone, Default)]
pub struct ConsumerGroups {
    /// The groups, by broker and in each broker's order.
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

/// The outcome for one topic.
#[derive(Debug, Clone)]
pub struct TopicResult {
    /// The topic's name.
    pub name: String,
    /// The error with the broker's message; `None` on success.
    pub error: Option<Error>,
}

/// The outcome for one resource.
#[derive(Debug, Clone)]
pub struct ResourceResult {
    /// The type of the resource.
    pub kind: ResourceType,
    /// Its name: a topic's or group's name, a broker's id in decimal.
    pub name: String,
    /// The settings; only in results of DescribeConfigs.
    pub configs: Vec<ConfigEntry>,
    /// The error with the broker's message; `None` on success.
    pub error: Option<Error>,
}

/// The types of resources with settings, by the protocol's numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ResourceType(pub i8);

impl ResourceType {
    /// A topic.
    pub const TOPIC: Self = Self(2);
    /// A broker, named by its id; without a name, the default of all brokers (KIP-226).
    pub const BROKER: Self = Self(4);
    /// The log levels of a broker (KIP-412).
    pub const BROKER_LOGGER: Self = Self(8);
    /// A subscription to client metrics (KIP-714).
    pub const CLIENT_METRICS: Self = Self(16);
    /// A group (KIP-848).
    pub const GROUP: Self = Self(32);
}

/// The source of a setting's value, by the protocol's numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ConfigSource(pub i8);

impl ConfigSource {
    /// Not reported by the broker.
    pub const UNKNOWN: Self = Self(0);
    /// Set for the topic.
    pub const TOPIC: Self = Self(1);
    /// Set for this broker while it ran.
    pub const DYNAMIC_BROKER: Self = Self(2);
    /// Set for all brokers while they ran.
    pub const DYNAMIC_DEFAULT_BROKER: Self = Self(3);
    /// Set in the broker's configuration file.
    pub const STATIC_BROKER: Self = Self(4);
    /// Kafka's default.
    pub const DEFAULT: Self = Self(5);
    /// Set for the broker's log levels.
    pub const BROKER_LOGGER: Self = Self(6);
    /// Set for the subscription to client metrics.
    pub const CLIENT_METRICS: Self = Self(7);
    /// Set for the group.
    pub const GROUP: Self = Self(8);
}

/// A setting as a broker describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigEntry {
    /// The setting's name.
    pub name: String,
    /// Its value; `None` for one that is sensitive, or not set.
    pub value: Option<String>,
    /// The source of the value.
    pub source: ConfigSource,
    /// It cannot be changed while the broker runs.
    pub is_read_only: bool,
    /// It was not set.
    pub is_default: bool,
    /// Its value is kept secret.
    pub is_sensitive: bool,
    /// The settings that determine the value, in order of precedence.
    pub synonyms: Vec<ConfigSynonym>,
}

/// A setting from which another one may take its value (KIP-226).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigSynonym {
    /// The setting's name.
    pub name: String,
    /// Its value.
    pub value: Option<String>,
    /// The source of the value.
    pub source: ConfigSource,
}
