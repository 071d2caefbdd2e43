//! CreatePartitions: adds partitions to topics at the controller.

use ottla_protocol::DecodeError;
use ottla_protocol::api::create_partitions::{
    CreatePartitionsAssignment, CreatePartitionsRequest, CreatePartitionsTopic,
};

use super::topic_result::{TopicResult, check_not_empty, in_order};
use crate::admin::operation::{Answer, Keys, Operation, Options, Rows, To, Verdicts};
use crate::error::Error;
use crate::request::Target;

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

/// Adds partitions to topics and waits until they exist. Records with a key may go to another partition from then on.
#[derive(Debug, Clone)]
pub struct CreatePartitions(pub Vec<NewPartitions>);

impl Operation for CreatePartitions {
    const NAME: &'static str = "CreatePartitions";
    type Key = String;
    type Row = ();
    type Output = Vec<TopicResult>;

    fn check(&self, _: &Options) -> Result<(), Error> {
        check_not_empty(Self::NAME, self.0.is_empty())
    }

    fn keys(&self) -> Keys<String> {
        Keys::Known(self.0.iter().map(|topic| topic.topic.clone()).collect())
    }

    fn target(&self, _: &String) -> Target {
        Target::Controller
    }

    fn is_repeatable(&self, options: &Options) -> bool {
        options.validate_only
    }

    fn send(&self, keys: &[String], to: &mut To<'_, '_>) -> Result<(), Error> {
        let topics = self.0.iter().filter(|topic| keys.contains(&topic.topic));
        let request = CreatePartitionsRequest {
            topics: topics.map(row).collect(),
            timeout_ms: to.operation_timeout_ms(),
            validate_only: to.options().validate_only,
            ..Default::default()
        };
        to.send(&request)
    }

    fn read(&self, _: &[String], answer: &Answer<'_>) -> Result<Verdicts<Self>, DecodeError> {
        let rows = answer.decode::<CreatePartitionsRequest>()?.results.into_iter();
        let verdicts = rows.map(|t| (t.name, answer.begun(t.error_code, t.error_message)));
        Ok(verdicts.collect())
    }

    fn finish(&self, rows: Rows<Self>) -> Result<Vec<TopicResult>, Error> {
        Ok(in_order(self.0.iter().map(|topic| &topic.topic), &rows))
    }
}

fn row(topic: &NewPartitions) -> CreatePartitionsTopic {
    let assigned = |brokers: &Vec<i32>| CreatePartitionsAssignment {
        broker_ids: brokers.clone(),
        ..Default::default()
    };
    let assignments = || topic.assignments.iter().map(assigned).collect();
    CreatePartitionsTopic {
        name: topic.topic.clone(),
        count: topic.total,
        assignments: (!topic.assignments.is_empty()).then(assignments),
        ..Default::default()
    }
}
