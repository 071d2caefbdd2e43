//! AlterPartitionReassignments: moves partitions to other brokers, and cancels that (KIP-455).

use std::collections::BTreeMap;
use std::sync::Arc;

use ottla_protocol::DecodeError;
use ottla_protocol::api::alter_partition_reassignments::{
    AlterPartitionReassignmentsRequest, ReassignablePartition, ReassignableTopic,
};

use super::partitions::{by_topic, has_duplicate};
use super::topic_result::check_not_empty;
use crate::admin::operation::{Answer, Keys, Operation, Options, Rows, To, Verdict, Verdicts, error_of, row_of};
use crate::error::Error;
use crate::request::{Target, unsupported};
use crate::types::{NodeId, TopicPartition};

/// The replicas that a partition is to have.
#[derive(Debug, Clone)]
pub struct PartitionReassignment {
    /// The partition.
    pub tp: TopicPartition,
    /// The brokers, the preferred leader first; `None` cancels the reassignment under way.
    pub replicas: Option<Vec<NodeId>>,
}

/// The outcome for one partition.
#[derive(Debug, Clone)]
pub struct ReassignmentResult {
    /// The partition.
    pub tp: TopicPartition,
    /// The error, such as NO_REASSIGNMENT_IN_PROGRESS; `None` if the reassignment has begun or is cancelled.
    pub error: Option<Error>,
}

/// Begins and cancels reassignments. They continue after the call; `ListPartitionReassignments` returns those under way.
#[derive(Debug, Clone)]
pub struct AlterPartitionReassignments {
    /// The reassignments, one for each partition.
    pub reassignments: Vec<PartitionReassignment>,
    /// Allows another number of replicas than the partition has. False requires Kafka 4.1 (KIP-860).
    pub allow_replication_factor_change: bool,
}

impl Operation for AlterPartitionReassignments {
    const NAME: &'static str = "AlterPartitionReassignments";
    type Key = TopicPartition;
    type Row = ();
    type Output = Vec<ReassignmentResult>;

    fn check(&self, _: &Options) -> Result<(), Error> {
        check_not_empty(Self::NAME, self.reassignments.is_empty())?;
        match has_duplicate(self.reassignments.iter().map(|r| &r.tp)) {
            true => Err(Error::invalid_arg("Duplicate partitions not allowed")),
            false => Ok(()),
        }
    }

    fn keys(&self) -> Keys<TopicPartition> {
        Keys::Known(self.reassignments.iter().map(|r| r.tp.clone()).collect())
    }

    fn target(&self, _: &TopicPartition) -> Target {
        Target::Controller
    }

    /// A cancellation fails the second time.
    fn is_repeatable(&self, _: &Options) -> bool {
        self.reassignments.iter().all(|r| r.replicas.is_some())
    }

    fn send(&self, keys: &[TopicPartition], to: &mut To<'_, '_>) -> Result<(), Error> {
        let version = to.version::<AlterPartitionReassignmentsRequest>()?;
        let allow = self.allow_replication_factor_change;
        if !allow && version < AlterPartitionReassignmentsRequest::FACTOR_CHECK_SINCE {
            return Err(unsupported(
                "the broker cannot refuse changes of the replication factor (KIP-860): that requires Kafka 4.1",
            ));
        }
        let wanted: BTreeMap<&TopicPartition, &PartitionReassignment> =
            self.reassignments.iter().map(|r| (&r.tp, r)).collect();
        let asked = keys.iter().filter_map(|tp| Some((tp, *wanted.get(tp)?)));
        let partition = |(partition_index, asked): (i32, &PartitionReassignment)| ReassignablePartition {
            partition_index,
            replicas: asked.replicas.as_ref().map(|r| r.iter().map(|node| node.0).collect()),
            ..Default::default()
        };
        let topic = |(name, partitions): (Arc<str>, Vec<(i32, &PartitionReassignment)>)| ReassignableTopic {
            name: name.to_string(),
            partitions: partitions.into_iter().map(partition).collect(),
            ..Default::default()
        };
        let topics = by_topic(asked).into_iter().map(topic).collect();
        to.send(&AlterPartitionReassignmentsRequest {
            timeout_ms: to.operation_timeout_ms(),
            allow_replication_factor_change: allow,
            topics,
            ..Default::default()
        })
    }

    fn read(&self, keys: &[TopicPartition], answer: &Answer<'_>) -> Result<Verdicts<Self>, DecodeError> {
        let response = answer.decode::<AlterPartitionReassignmentsRequest>()?;
        if let Some(error) = error_of(response.error_code, response.error_message) {
            let failed = keys.iter().map(|key| (key.clone(), Verdict::Failed(error.clone())));
            return Ok(failed.collect());
        }
        let mut verdicts = Vec::new();
        for topic in response.responses {
            let name: Arc<str> = topic.name.into();
            verdicts.extend(topic.partitions.into_iter().map(|row| {
                let tp = TopicPartition::new(name.clone(), row.partition_index);
                (tp, Verdict::of(row.error_code, row.error_message, ()))
            }));
        }
        Ok(verdicts)
    }

    fn finish(&self, rows: Rows<Self>) -> Result<Vec<ReassignmentResult>, Error> {
        let result = |asked: &PartitionReassignment| ReassignmentResult {
            tp: asked.tp.clone(),
            error: row_of(&rows, &asked.tp).err(),
        };
        Ok(self.reassignments.iter().map(result).collect())
    }
}
