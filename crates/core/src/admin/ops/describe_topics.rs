//! DescribeTopics: topics with their partitions, replicas and leaders (Metadata).

use std::collections::HashMap;
use std::sync::Arc;

use ottla_protocol::api::metadata::{
    MetadataRequest, MetadataRequestTopic, MetadataResponsePartition, MetadataResponseTopic,
};
use ottla_protocol::{DecodeError, Uuid};

use super::acl_operation::{AclOperation, authorized_operations};
use super::partitions::has_duplicate;
use crate::admin::node::Node;
use crate::admin::operation::{Answer, Keys, Operation, Options, Rows, To, Verdict, Verdicts, row_of};
use crate::error::{Error, ErrorCode};
use crate::request::{Target, unsupported};

/// A topic.
#[derive(Debug, Clone)]
pub struct TopicDescription {
    /// The topic's name.
    pub name: String,
    /// Its id (KIP-516); zero from brokers before Kafka 2.8 and for a topic with an error.
    pub topic_id: Uuid,
    /// The error, such as UNKNOWN_TOPIC_OR_PART; `None` on success.
    pub error: Option<Error>,
    /// The topic belongs to Kafka itself.
    pub is_internal: bool,
    /// The partitions, by number.
    pub partitions: Vec<PartitionDescription>,
    /// The operations on the topic that the client may perform; `None` if they were not requested.
    pub authorized_operations: Option<Vec<AclOperation>>,
}

/// A partition.
#[derive(Debug, Clone)]
pub struct PartitionDescription {
    /// The partition's number.
    pub partition: i32,
    /// The leader, if there is one.
    pub leader: Option<Arc<Node>>,
    /// The replicas in sync.
    pub isr: Vec<Arc<Node>>,
    /// All replicas.
    pub replicas: Vec<Arc<Node>>,
}

/// Describes topics, which are not created. The results are in the order of the call.
#[derive(Debug, Clone, Default)]
pub struct DescribeTopics {
    /// The topics, each once.
    pub topics: Vec<String>,
}

impl Operation for DescribeTopics {
    const NAME: &'static str = "DescribeTopics";
    type Key = String;
    type Row = TopicDescription;
    type Output = Vec<TopicDescription>;

    fn check(&self, _: &Options) -> Result<(), Error> {
        if let Some(index) = self.topics.iter().position(String::is_empty) {
            return Err(Error::invalid_arg(format!(
                "Empty topic name at index {index} isn't allowed"
            )));
        }
        match has_duplicate(&self.topics) {
            true => Err(Error::invalid_arg("Duplicate topics not allowed")),
            false => Ok(()),
        }
    }

    fn keys(&self) -> Keys<String> {
        Keys::Known(self.topics.clone())
    }

    fn target(&self, _: &String) -> Target {
        Target::Any
    }

    fn is_repeatable(&self, _: &Options) -> bool {
        true
    }

    fn send(&self, keys: &[String], to: &mut To<'_, '_>) -> Result<(), Error> {
        let version = to.version::<MetadataRequest>()?;
        let include_authorized_operations = to.options().include_authorized_operations;
        if include_authorized_operations && version < MetadataRequest::AUTHORIZED_OPERATIONS_SINCE {
            return Err(unsupported(
                "the broker has no authorized operations of topics (KIP-430): that requires Kafka 2.3",
            ));
        }
        let topic = |name: &String| MetadataRequestTopic {
            name: Some(name.clone()),
            ..Default::default()
        };
        to.send(&MetadataRequest {
            topics: Some(keys.iter().map(topic).collect()),
            allow_auto_topic_creation: version < MetadataRequest::AUTO_CREATION_FLAG_SINCE,
            include_topic_authorized_operations: include_authorized_operations,
            ..Default::default()
        })
    }

    fn read(&self, _: &[String], answer: &Answer<'_>) -> Result<Verdicts<Self>, DecodeError> {
        let response = answer.decode::<MetadataRequest>()?;
        let nodes = response
            .brokers
            .into_iter()
            .map(|broker| (broker.node_id, Arc::new(Node::from(broker))));
        let nodes: HashMap<i32, Arc<Node>> = nodes.collect();
        let verdict = |topic: MetadataResponseTopic| {
            let name = topic.name.clone()?;
            // A topic that is being created has this error for a moment.
            let verdict = match ErrorCode::from(topic.error_code) {
                ErrorCode::LEADER_NOT_AVAILABLE if topic.partitions.is_empty() => {
                    Verdict::Retry(ErrorCode::LEADER_NOT_AVAILABLE.into())
                }
                _ => Verdict::of(topic.error_code, None, description(topic, &nodes)),
            };
            Some((name, verdict))
        };
        Ok(response.topics.into_iter().filter_map(verdict).collect())
    }

    fn finish(&self, rows: Rows<Self>) -> Result<Vec<TopicDescription>, Error> {
        let topic = |name: &String| {
            row_of(&rows, name).unwrap_or_else(|error| TopicDescription {
                name: name.clone(),
                topic_id: Uuid::ZERO,
                error: Some(error),
                is_internal: false,
                partitions: Vec::new(),
                authorized_operations: None,
            })
        };
        Ok(self.topics.iter().map(topic).collect())
    }
}

fn description(topic: MetadataResponseTopic, nodes: &HashMap<i32, Arc<Node>>) -> TopicDescription {
    // A broker that the response does not list is known by its id only.
    let node = |id: &i32| {
        let unknown = || Arc::new(Node::new(*id, String::new(), 0, None));
        nodes.get(id).cloned().unwrap_or_else(unknown)
    };
    let partition = |row: MetadataResponsePartition| PartitionDescription {
        partition: row.partition_index,
        leader: Some(row.leader_id).filter(|id| *id >= 0).as_ref().map(node),
        isr: row.isr_nodes.iter().map(node).collect(),
        replicas: row.replica_nodes.iter().map(node).collect(),
    };
    let mut partitions: Vec<PartitionDescription> = topic.partitions.into_iter().map(partition).collect();
    partitions.sort_by_key(|partition| partition.partition);
    TopicDescription {
        name: topic.name.unwrap_or_default(),
        topic_id: topic.topic_id,
        error: None,
        is_internal: topic.is_internal,
        partitions,
        authorized_operations: authorized_operations(topic.topic_authorized_operations),
    }
}

#[cfg(test)]
mod tests {
    use ottla_mock::{ApiKey, ErrorCode as BrokerError};

    use super::*;
    use crate::test_kit::{World, with_operations, within_ms};

    fn describe(names: &[&str]) -> DescribeTopics {
        DescribeTopics {
            topics: names.iter().map(|name| (*name).to_owned()).collect(),
        }
    }

    #[test]
    fn topics_are_described_in_the_order_of_the_call_and_not_created() {
        let mut w = World::producer_with(&[], &[], |config| config.auto_create_topics = true);
        w.add_topic("t", &[2, -1]);
        w.add_topic("a", &[1]);
        let topics = w.ask(describe(&["t", "nowhere", "a"])).unwrap();
        let names: Vec<&str> = topics.iter().map(|t| &*t.name).collect();
        assert_eq!(names, ["t", "nowhere", "a"]);
        let [t, nowhere, a] = topics.try_into().unwrap();
        assert!(t.error.is_none() && !t.topic_id.is_zero() && !t.is_internal);
        let leaders: Vec<Option<(i32, u16)>> = t
            .partitions
            .iter()
            .map(|p| p.leader.as_ref().map(|n| (n.id.0, n.port)))
            .collect();
        assert_eq!(leaders, [Some((2, 9002)), None]);
        assert_eq!(t.partitions[0].replicas.len(), 1);
        assert_eq!(nowhere.error.map(|e| e.code), Some(ErrorCode::UNKNOWN_TOPIC_OR_PART));
        assert!(a.authorized_operations.is_none());
        assert_eq!(w.brokers().partition_count("nowhere"), None);
        assert!(w.ask(describe(&[])).unwrap().is_empty());
    }

    #[test]
    fn authorized_operations_are_returned_if_requested() {
        let mut w = World::producer(&[], &[]);
        w.add_topic("t", &[1]);
        let call = describe(&["t", "nowhere"]);
        let topics = w.ask_with(call.clone(), with_operations()).unwrap();
        let operations = topics[0].authorized_operations.as_ref();
        let operations: Option<Vec<i8>> = operations.map(|list| list.iter().map(|o| o.0).collect());
        assert_eq!(operations, Some(vec![3, 4, 5, 6, 7, 8, 10, 11]));
        assert!(topics[1].authorized_operations.is_none());
        w.brokers().set_api_versions(ApiKey::METADATA, Some((0, 7)));
        w.disconnect(1);
        w.run_ms(1000);
        let error = w.ask_with(call, with_operations()).unwrap_err();
        assert_eq!(error.code, ErrorCode::L_UNSUPPORTED_FEATURE, "{error}");
    }

    #[test]
    fn a_lost_response_and_a_topic_without_leaders_yet_are_asked_again() {
        let mut w = World::producer(&[("retry.backoff.ms", "10")], &[]);
        w.add_topic("t", &[1]);
        w.ask(describe(&["t"])).unwrap();
        w.fail_next(ApiKey::METADATA, &[BrokerError::LEADER_NOT_AVAILABLE]);
        let topics = w.ask(describe(&["t"])).unwrap();
        assert!(topics[0].error.is_none(), "{topics:?}");
    }

    #[test]
    fn invalid_names_are_refused_and_a_call_without_a_broker_times_out() {
        let mut w = World::producer(&[], &[]);
        let text = |w: &mut World, names: &[&str]| w.ask(describe(names)).unwrap_err().message;
        assert_eq!(text(&mut w, &["a", ""]), "Empty topic name at index 1 isn't allowed");
        assert_eq!(text(&mut w, &["a", "b", "a"]), "Duplicate topics not allowed");
        w.take_down(&[1, 2, 3]);
        let error = w.ask_with(describe(&["a"]), within_ms(500)).unwrap_err();
        assert_eq!(error.message, "Failed while waiting for controller: Local: Timed out");
    }
}
