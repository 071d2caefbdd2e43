//! DeleteConsumerGroupOffsets: removes committed offsets of groups, at their coordinators (OffsetDelete, KIP-496).

use std::sync::Arc;

use ottla_protocol::DecodeError;
use ottla_protocol::api::offset_delete::{OffsetDeleteRequest, OffsetDeleteRequestPartition, OffsetDeleteRequestTopic};

use super::group_result::{GroupResult, coordinator, in_order, partitions_in_order};
use super::partitions::{by_topic, has_duplicate};
use crate::admin::operation::{Answer, Keys, Operation, Options, Rows, To, Verdict, Verdicts, error_of};
use crate::error::{Error, ErrorCode};
use crate::request::{ReadyBroker, Target};
use crate::types::{PartitionOffset, TopicPartition, offset};

/// Deletes committed offsets. Each partition has its error: GROUP_SUBSCRIBED_TO_TOPIC while members consume it. Requires
/// Kafka 2.4.
#[derive(Debug, Clone)]
pub struct DeleteConsumerGroupOffsets(pub Vec<(String, Vec<TopicPartition>)>);

impl DeleteConsumerGroupOffsets {
    fn partitions(&self, group: &str) -> &[TopicPartition] {
        let row = self.0.iter().find(|(id, _)| id == group);
        row.map_or(&[], |(_, partitions)| partitions)
    }
}

impl Operation for DeleteConsumerGroupOffsets {
    const NAME: &'static str = "DeleteConsumerGroupOffsets";
    type Key = String;
    type Row = Vec<PartitionOffset>;
    type Output = Vec<GroupResult>;

    fn check(&self, _: &Options) -> Result<(), Error> {
        match has_duplicate(self.0.iter().map(|(id, _)| id)) {
            true => Err(Error::invalid_arg("Duplicate groups not allowed")),
            false => Ok(()),
        }
    }

    fn keys(&self) -> Keys<String> {
        Keys::Known(self.0.iter().map(|(id, _)| id.clone()).collect())
    }

    fn target(&self, key: &String) -> Target {
        coordinator(key)
    }

    /// The second time the group may not exist any more.
    fn is_repeatable(&self, _: &Options) -> bool {
        false
    }

    fn batch_max(&self, _: &ReadyBroker) -> usize {
        1
    }

    fn send(&self, keys: &[String], to: &mut To<'_, '_>) -> Result<(), Error> {
        let Some(group) = keys.first() else { return Ok(()) };
        let topics = by_topic(self.partitions(group).iter().map(|tp| (tp, ())));
        let partition = |(partition_index, ()): (i32, ())| OffsetDeleteRequestPartition {
            partition_index,
            ..Default::default()
        };
        let topic = |(name, partitions): (Arc<str>, Vec<(i32, ())>)| OffsetDeleteRequestTopic {
            name: name.to_string(),
            partitions: partitions.into_iter().map(partition).collect(),
            ..Default::default()
        };
        to.send(&OffsetDeleteRequest {
            group_id: group.clone(),
            topics: topics.into_iter().map(topic).collect(),
            ..Default::default()
        })
    }

    fn read(&self, keys: &[String], answer: &Answer<'_>) -> Result<Verdicts<Self>, DecodeError> {
        let response = answer.decode::<OffsetDeleteRequest>()?;
        let verdict = match error_of(response.error_code, None) {
            Some(error) => Verdict::Failed(error),
            None => {
                let mut rows = Vec::new();
                for topic in response.topics {
                    let name: Arc<str> = topic.name.into();
                    let partitions = topic.partitions.into_iter();
                    rows.extend(partitions.map(|p| PartitionOffset {
                        error: ErrorCode::from(p.error_code),
                        ..PartitionOffset::new(TopicPartition::new(name.clone(), p.partition_index), offset::INVALID)
                    }));
                }
                Verdict::Done(rows)
            }
        };
        Ok(keys.iter().cloned().zip([verdict]).collect())
    }

    /// Returns the results of the groups. The error of the only group is that of the call.
    fn finish(&self, mut rows: Rows<Self>) -> Result<Vec<GroupResult>, Error> {
        for (group, row) in &mut rows {
            if let Ok(found) = row {
                *found = partitions_in_order(self.partitions(group).iter(), std::mem::take(found));
            }
        }
        let mut results = in_order(self.0.iter().map(|(id, _)| id), &rows, Some);
        match results.as_mut_slice() {
            [
                GroupResult {
                    error: error @ Some(_), ..
                },
            ] => error.take().map_or(Ok(Vec::new()), Err),
            _ => Ok(results),
        }
    }
}
