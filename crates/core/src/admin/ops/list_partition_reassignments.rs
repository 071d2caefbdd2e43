//! ListPartitionReassignments: the reassignments under way (KIP-455).

use std::sync::Arc;

use ottla_protocol::DecodeError;
use ottla_protocol::api::list_partition_reassignments::{
    ListPartitionReassignmentsRequest, ListPartitionReassignmentsTopics,
};

use super::partitions::{by_topic, has_duplicate};
use crate::admin::operation::{Answer, Keys, Operation, Options, Rows, To, Verdict, Verdicts, error_of, row_of};
use crate::error::Error;
use crate::request::Target;
use crate::types::{NodeId, TopicPartition};

/// A reassignment under way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OngoingReassignment {
    /// The partition.
    pub tp: TopicPartition,
    /// The present replicas: those of before and those that are added.
    pub replicas: Vec<NodeId>,
    /// The replicas that are not in sync yet.
    pub adding_replicas: Vec<NodeId>,
    /// The replicas that are removed at the end.
    pub removing_replicas: Vec<NodeId>,
}

/// Lists the reassignments under way.
#[derive(Debug, Clone, Default)]
pub struct ListPartitionReassignments {
    /// The partitions, each once, of which those with a reassignment are listed; `None` for all.
    pub partitions: Option<Vec<TopicPartition>>,
}

impl Operation for ListPartitionReassignments {
    const NAME: &'static str = "ListPartitionReassignments";
    type Key = ();
    type Row = Vec<OngoingReassignment>;
    type Output = Vec<OngoingReassignment>;

    fn check(&self, _: &Options) -> Result<(), Error> {
        match has_duplicate(self.partitions.iter().flatten()) {
            true => Err(Error::invalid_arg("Duplicate partitions not allowed")),
            false => Ok(()),
        }
    }

    fn keys(&self) -> Keys<()> {
        Keys::Known(vec![()])
    }

    fn target(&self, (): &()) -> Target {
        Target::Controller
    }

    fn is_repeatable(&self, _: &Options) -> bool {
        true
    }

    fn send(&self, _: &[()], to: &mut To<'_, '_>) -> Result<(), Error> {
        let topic = |(name, partitions): (Arc<str>, Vec<(i32, ())>)| ListPartitionReassignmentsTopics {
            name: name.to_string(),
            partition_indexes: partitions.into_iter().map(|(partition, ())| partition).collect(),
            ..Default::default()
        };
        let topics = self.partitions.as_ref().map(|partitions| {
            let topics = by_topic(partitions.iter().map(|tp| (tp, ())));
            topics.into_iter().map(topic).collect()
        });
        to.send(&ListPartitionReassignmentsRequest {
            timeout_ms: to.operation_timeout_ms(),
            topics,
            ..Default::default()
        })
    }

    fn read(&self, _: &[()], answer: &Answer<'_>) -> Result<Verdicts<Self>, DecodeError> {
        let response = answer.decode::<ListPartitionReassignmentsRequest>()?;
        if let Some(error) = error_of(response.error_code, response.error_message) {
            return Ok(vec![((), Verdict::Failed(error))]);
        }
        let nodes = |ids: Vec<i32>| ids.into_iter().map(NodeId).collect();
        let mut rows = Vec::new();
        for topic in response.topics {
            let name: Arc<str> = topic.name.into();
            rows.extend(topic.partitions.into_iter().map(|row| OngoingReassignment {
                tp: TopicPartition::new(name.clone(), row.partition_index),
                replicas: nodes(row.replicas),
                adding_replicas: nodes(row.adding_replicas),
                removing_replicas: nodes(row.removing_replicas),
            }));
        }
        rows.sort_by(|a, b| a.tp.cmp(&b.tp));
        Ok(vec![((), Verdict::Done(rows))])
    }

    fn finish(&self, rows: Rows<Self>) -> Result<Vec<OngoingReassignment>, Error> {
        row_of(&rows, &())
    }
}
