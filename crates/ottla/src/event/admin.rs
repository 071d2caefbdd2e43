//! What admin calls come to.

use crate::error::Error;

/// Which admin call.
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
    /// ListGroups, of the groups that consumers make.
    ListConsumerGroups,
}

impl AdminOp {
    /// The name of the request.
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

/// The end of an admin call.
#[derive(Debug, Clone)]
pub struct AdminResult {
    /// Which call.
    pub op: AdminOp,
    /// What the caller gave with it.
    pub opaque: usize,
    /// What the broker said of each topic or resource, or why the call as a whole failed.
    pub outcome: Result<AdminOutcome, Error>,
}

/// What was answered. What a call names is in the order of the call.
#[derive(Debug, Clone)]
pub enum AdminOutcome {
    /// To CreateTopics, DeleteTopics and CreatePartitions.
    Topics(Vec<TopicResult>),
    /// To DescribeConfigs, AlterConfigs and IncrementalAlterConfigs.
    Resources(Vec<ResourceResult>),
    /// To ListConsumerGroups.
    Groups(ConsumerGroups),
}

/// The groups of all brokers that answered.
#[derive(Debug, Clone, Default)]
pub struct ConsumerGroups {
    /// By broker, in the brokers' order.
    pub groups: Vec<ConsumerGroupListing>,
    /// Why groups may be missing: the error of each broker that did not answer.
    pub errors: Vec<Error>,
}

/// A group that consumers have made, or that has committed offsets only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConsumerGroupListing {
    /// The group's id.
    pub group_id: String,
    /// It has no members that share partitions: offsets were committed to it by somebody else.
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
    /// Why it was not done, in the broker's words; `None` when it was.
    pub error: Option<Error>,
}

/// The outcome for one resource.
#[derive(Debug, Clone)]
pub struct ResourceResult {
    /// What kind of resource.
    pub kind: ResourceType,
    /// Its name: a topic's or group's name, a broker's id in decimal.
    pub name: String,
    /// Its settings; none but in answers to DescribeConfigs.
    pub configs: Vec<ConfigEntry>,
    /// Why it was not done, in the broker's words; `None` when it was.
    pub error: Option<Error>,
}

/// What has settings, by the protocol's numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ResourceType(pub i8);

impl ResourceType {
    /// A topic.
    pub const TOPIC: Self = Self(2);
    /// A broker, named by its id; without a name, what all brokers have in common (KIP-226).
    pub const BROKER: Self = Self(4);
    /// The log levels of a broker (KIP-412).
    pub const BROKER_LOGGER: Self = Self(8);
    /// A subscription to client metrics (KIP-714).
    pub const CLIENT_METRICS: Self = Self(16);
    /// A group (KIP-848).
    pub const GROUP: Self = Self(32);
}

/// Where the value of a setting comes from, by the protocol's numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ConfigSource(pub i8);

impl ConfigSource {
    /// The broker does not tell.
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
    /// Where the value comes from.
    pub source: ConfigSource,
    /// It cannot be changed while the broker runs.
    pub is_read_only: bool,
    /// It was not set.
    pub is_default: bool,
    /// Its value is kept secret.
    pub is_sensitive: bool,
    /// Under which names, in order of precedence, the value is looked for.
    pub synonyms: Vec<ConfigSynonym>,
}

/// A setting from which another one may take its value (KIP-226).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigSynonym {
    /// The setting's name.
    pub name: String,
    /// Its value.
    pub value: Option<String>,
    /// Where that comes from.
    pub source: ConfigSource,
}
