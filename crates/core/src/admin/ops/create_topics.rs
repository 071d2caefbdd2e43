//! CreateTopics: creates topics at the controller.

use ottla_protocol::DecodeError;
use ottla_protocol::api::create_topics::{
    CreatableReplicaAssignment, CreatableTopic, CreatableTopicConfig, CreateTopicsRequest,
};

use super::topic_result::{TopicResult, check_not_empty, in_order};
use crate::admin::operation::{Answer, Keys, Operation, Options, Rows, To, Verdicts};
use crate::error::Error;
use crate::request::{Target, unsupported};

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

impl NewTopic {
    /// Returns a topic with the broker's settings, whose replicas the controller places; -1 for the broker's default.
    pub fn new(name: impl Into<String>, partitions: i32, replication_factor: i16) -> Self {
        NewTopic {
            name: name.into(),
            partitions,
            replication_factor,
            ..NewTopic::default()
        }
    }
}

/// Creates topics and waits until they exist. Each has its result, in the order of the call: TOPIC_ALREADY_EXISTS,
/// INVALID_TOPIC_EXCEPTION, INVALID_PARTITIONS, INVALID_REPLICATION_FACTOR, INVALID_CONFIG and so on.
#[derive(Debug, Clone)]
pub struct CreateTopics(pub Vec<NewTopic>);

impl Operation for CreateTopics {
    const NAME: &'static str = "CreateTopics";
    type Key = String;
    type Row = ();
    type Output = Vec<TopicResult>;

    fn check(&self, _: &Options) -> Result<(), Error> {
        check_not_empty(Self::NAME, self.0.is_empty())?;
        let gap = |t: &&NewTopic| {
            let assigned = i32::try_from(t.assignments.len()).unwrap_or(i32::MAX);
            assigned > 0 && t.partitions >= 0 && t.partitions != assigned
        };
        match self.0.iter().find(gap) {
            None => Ok(()),
            Some(NewTopic { name, partitions, .. }) => Err(Error::invalid_arg(format!(
                "topic {name}: replicas are not assigned to each of its {partitions} partitions"
            ))),
        }
    }

    fn keys(&self) -> Keys<String> {
        Keys::Known(self.0.iter().map(|topic| topic.name.clone()).collect())
    }

    fn target(&self, _: &String) -> Target {
        Target::Controller
    }

    fn is_repeatable(&self, options: &Options) -> bool {
        options.validate_only
    }

    fn send(&self, keys: &[String], to: &mut To<'_, '_>) -> Result<(), Error> {
        let topics = || self.0.iter().filter(|topic| keys.contains(&topic.name));
        let validate_only = to.options().validate_only;
        check_version(topics(), validate_only, to.version::<CreateTopicsRequest>()?)?;
        let request = CreateTopicsRequest {
            topics: topics().map(row).collect(),
            timeout_ms: to.operation_timeout_ms(),
            validate_only,
            ..Default::default()
        };
        to.send(&request)
    }

    fn read(&self, _: &[String], answer: &Answer<'_>) -> Result<Verdicts<Self>, DecodeError> {
        let rows = answer.decode::<CreateTopicsRequest>()?.topics.into_iter();
        let verdicts = rows.map(|t| (t.name, answer.begun(t.error_code, t.error_message)));
        Ok(verdicts.collect())
    }

    fn finish(&self, rows: Rows<Self>) -> Result<Vec<TopicResult>, Error> {
        Ok(in_order(self.0.iter().map(|topic| &topic.name), &rows))
    }
}

fn check_version<'a>(
    mut topics: impl Iterator<Item = &'a NewTopic>,
    validate_only: bool,
    version: i16,
) -> Result<(), Error> {
    if validate_only && version < CreateTopicsRequest::VALIDATE_ONLY_SINCE {
        return Err(unsupported(
            "the broker cannot validate without creating: that requires Kafka 0.10.2",
        ));
    }
    let leaves_to_broker = |t: &&NewTopic| t.assignments.is_empty() && (t.partitions < 0 || t.replication_factor < 0);
    match topics.find(leaves_to_broker) {
        Some(topic) if version < CreateTopicsRequest::BROKER_DEFAULTS_SINCE => Err(unsupported(format!(
            "topic {}: the broker has no default for partitions and replicas (KIP-464): that requires Kafka 2.4",
            topic.name
        ))),
        _ => Ok(()),
    }
}

fn row(topic: &NewTopic) -> CreatableTopic {
    let assigned = |(index, brokers): (i32, &Vec<i32>)| CreatableReplicaAssignment {
        partition_index: index,
        broker_ids: brokers.clone(),
        ..Default::default()
    };
    let config = |(name, value): &(String, String)| CreatableTopicConfig {
        name: name.clone(),
        value: Some(value.clone()),
        ..Default::default()
    };
    let by_controller = topic.assignments.is_empty();
    CreatableTopic {
        name: topic.name.clone(),
        num_partitions: if by_controller { topic.partitions } else { -1 },
        replication_factor: if by_controller { topic.replication_factor } else { -1 },
        assignments: (0..).zip(&topic.assignments).map(assigned).collect(),
        configs: topic.configs.iter().map(config).collect(),
        ..Default::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorCode;

    #[test]
    fn nothing_and_incomplete_assignments_are_refused() {
        let code = |topics| CreateTopics(topics).check(&Options::default()).err().map(|e| e.code);
        let invalid = Some(ErrorCode::L_INVALID_ARG);
        assert_eq!(code(Vec::new()), invalid);
        let assigned = |partitions, assignments: &[Vec<i32>]| {
            code(vec![NewTopic {
                partitions,
                assignments: assignments.to_vec(),
                ..NewTopic::default()
            }])
        };
        assert_eq!(assigned(2, &[vec![1]]), invalid);
        assert_eq!(assigned(1, &[vec![1]]), None);
        assert_eq!(assigned(-1, &[vec![1]]), None);
        assert_eq!(assigned(2, &[]), None);
    }
}
