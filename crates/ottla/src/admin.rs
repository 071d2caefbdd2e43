//! Administration of topics, settings, groups, access control and the cluster.
//!
//! [`Admin`] has one method for each operation. It is created from a [`Conf`](crate::config::Conf), as a client of its own, or
//! from an existing producer or consumer, which can make admin calls as well.
//!
//! ```
//! use ottla::admin::{Admin, ConfigChange, ConfigChanges, NewTopic, Options, ResourceType};
//! use ottla::config::Conf;
//! use ottla::error::ErrorCode;
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let mut conf = Conf::new();
//!     // Runs an embedded cluster in this process, instead of `bootstrap.servers`.
//!     conf.set("test.mock.num.brokers", "3")?;
//!     let admin = Admin::new(&conf)?;
//!     let options = Options::default();
//!
//!     let topics = [NewTopic::new("orders", 3, 2), NewTopic::new("refunds", 1, 2)];
//!     admin.create_topics(topics, &options).wait()?.all()?;
//!
//!     // Each topic has its own result: one exists, the other is created.
//!     let again = [NewTopic::new("orders", 3, 2), NewTopic::new("returns", 1, 2)];
//!     let created = admin.create_topics(again, &options).wait()?;
//!     for (name, error) in created.errors() {
//!         println!("{name}: {error}");
//!         assert_eq!(error.code, ErrorCode::TOPIC_ALREADY_EXISTS);
//!     }
//!     assert_eq!(created.get("returns"), Some(&Ok(())));
//!
//!     let retention = ConfigChanges {
//!         kind: ResourceType::TOPIC,
//!         name: "orders".into(),
//!         changes: vec![ConfigChange::set("retention.ms", "86400000")],
//!     };
//!     admin.incremental_alter_configs([retention], &options).wait()?.all()?;
//!
//!     // Calls that are begun before the first wait() run at the same time.
//!     let topics = admin.describe_topics(["orders", "returns"], &options);
//!     let cluster = admin.describe_cluster(&options);
//!     for (name, topic) in topics.wait()?.all()? {
//!         println!("{name} has {} partitions", topic.partitions.len());
//!     }
//!     println!("brokers: {}", cluster.wait()?.nodes.len());
//!     Ok(())
//! }
//! ```
//!
//! # Results
//!
//! An operation on several keys (topics, partitions, resources, groups, users, entries, filters) has [`Results`]: each key
//! with its own `Result`, in the order of the call. Where a value has a field `error`, as [`TopicDescription`] has, it is
//! `None`: the error is that of the key.
//!
//! # Errors
//!
//! [`Call::wait`] returns the error of the call as a whole:
//!
//! - [`L_TIMED_OUT`](crate::error::ErrorCode::L_TIMED_OUT) without a response in time, or without a broker to ask;
//! - [`L_TRANSPORT`](crate::error::ErrorCode::L_TRANSPORT) and the like when the connection was lost before the response to a
//!   request that cannot be repeated: the text says that the broker may have executed it;
//! - [`L_INVALID_ARG`](crate::error::ErrorCode::L_INVALID_ARG) for arguments that name nothing, or something twice, and
//!   [`L_CONFLICT`](crate::error::ErrorCode::L_CONFLICT) for the settings of two brokers in one call;
//! - [`L_UNSUPPORTED_FEATURE`](crate::error::ErrorCode::L_UNSUPPORTED_FEATURE) for brokers that are too old, with a text that
//!   names the KIP or the version;
//! - [`L_BAD_MSG`](crate::error::ErrorCode::L_BAD_MSG) for a malformed response;
//! - [`L_DESTROY`](crate::error::ErrorCode::L_DESTROY) after [`Client::destroy`](crate::client::Client::destroy).
//!
//! If brokers have answered for some keys, these errors are those of the other keys. The methods name the errors of keys.
//!
//! # Deadlines
//!
//! [`Options::request_timeout`] limits the whole call, from the search for brokers to the last response; its default is
//! `socket.timeout.ms`. [`Options::operation_timeout`] is the broker's limit for what it begins: after it the broker responds
//! `REQUEST_TIMED_OUT` for topics or partitions that do not exist everywhere yet, which continue to be created.
//!
//! # Repetition
//!
//! Within the deadline the client repeats requests that brokers have refused because they are not responsible (a new
//! controller, leader or coordinator), or not ready, for the keys that are open only. A request whose response was lost is
//! repeated if a second execution changes nothing; the methods say which are. Others are never sent twice: what happened to
//! them is not known, and the error says so.
//!
//! # Brokers
//!
//! The controller, leaders and coordinators are looked up by each call. [`Options::broker`] asks one broker instead, once.

mod call;
mod client;
mod convert;
mod groups;
mod results;
mod types;

pub use call::Call;
pub use client::Admin;
pub use ottla_core::admin::{
    AclBinding, AclFilter, AclOperation, AclResourceType, AdminResult, AlterConfigs, AlterConsumerGroupOffsets,
    AlterOp, AlterUserScramCredentials, ClusterDescription, ConfigChange, ConfigChanges, ConfigEntry, ConfigQuery,
    ConfigSource, ConfigSynonym, ConsumerGroupListing, ConsumerGroups, CreateAcls, CreatePartitions, CreateTopics,
    DeleteAcls, DeleteAclsResult, DeleteConsumerGroupOffsets, DeleteGroups, DeleteRecords, DeleteTopics, DeletedAcl,
    DescribeAcls, DescribeCluster, DescribeConfigs, DescribeConsumerGroups, DescribeTopics,
    DescribeUserScramCredentials, DescribedGroups, ElectLeaders, ElectionResult, ElectionType, Group, GroupDescription,
    GroupResult, IncrementalAlterConfigs, ListAndDescribeGroups, ListConsumerGroupOffsets, ListConsumerGroups,
    ListOffsets, ListTopics, ListedOffset, MemberDescription, NewPartitions, NewTopic, Node, OffsetSpec, Operation,
    Options, PartitionDescription, PatternType, PermissionType, ResourceResult, ResourceType, ScramAlteration,
    ScramCredentialInfo, ScramMechanism, ScramUpsertion, TopicDescription, TopicListing, TopicResult,
    UserScramCredentials, UserScramResult,
};
// Groups of all types.
pub use ottla_core::admin::{
    AlterShareGroupOffsets, ClassicGroupDescription, DeleteShareGroupOffsets, DeletedShareGroupOffsets,
    DescribeClassicGroups, DescribeGroups, DescribeShareGroups, DescribeStreamsGroups, DescribedGroup, GroupListing,
    GroupListings, ListGroups, ListShareGroupOffsets, MemberToRemove, RemoveMembersFromConsumerGroup, RemovedMember,
    ShareGroupDescription, ShareGroupOffsets, ShareMember, ShareOffset, StreamsGroupDescription, StreamsMember,
    StreamsTasks, Subtopology, SubtopologyTopic, TaskOffset, Tasks,
};
// Transactions and delegation tokens.
pub use ottla_core::admin::{
    AbortTransaction, ActiveProducer, CreateDelegationToken, DelegationToken, DescribeDelegationToken,
    DescribeProducers, DescribeTransactions, DescribedTransaction, ExpireDelegationToken, FenceProducers,
    FencedProducer, ForceTerminateTransaction, ListTransactions, PartitionProducers, Principal, RenewDelegationToken,
    TokenHmac, TransactionDescription, TransactionListing, TransactionListings,
};
// The cluster.
pub use ottla_core::admin::{
    AddRaftVoter, AlterClientQuotas, AlterPartitionReassignments, AlterReplicaLogDirs, BrokerLogDirs,
    ClientQuotaAlteration, ClientQuotaEntity, ClientQuotaEntry, ClientQuotaResult, DescribeClientQuotas,
    DescribeFeatures, DescribeLogDirs, DescribeMetadataQuorum, FeatureMetadata, FeatureRange, FeatureResult,
    FeatureUpdate, FeatureUpgradeType, ListConfigResources, ListPartitionReassignments, LogDir, LogDirReplica,
    OngoingReassignment, PartitionReassignment, QuorumInfo, QuorumNode, QuorumReplica, QuotaMatch, RaftEndpoint,
    ReassignmentResult, RemoveRaftVoter, ReplicaMove, ReplicaMoveResult, UnregisterBroker, UpdateFeatures,
};
pub use results::Results;
pub use types::{ConfigResource, OffsetAndMetadata, StartOffset};
