//! AlterConsumerGroupOffsets: commits offsets for groups without members, at their coordinators (OffsetCommit).

use std::sync::Arc;

use ottla_protocol::DecodeError;
use ottla_protocol::api::offset_commit::{OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic};

use super::group_result::{GroupResult, coordinator, in_order, is_of_group, partitions_in_order};
use super::partitions::{by_topic, has_duplicate};
use crate::admin::operation::{Answer, Keys, Operation, Options, Rows, To, Verdict, Verdicts};
use crate::error::{Error, ErrorCode};
use crate::request::{ReadyBroker, Target};
use crate::types::{PartitionOffset, TopicPartition};

/// Commits offsets with their leader epochs and metadata, as no member of the group. Each partition has its error:
/// UNKNOWN_MEMBER_ID while the group has members.
#[derive(Debug, Clone)]
pub struct AlterConsumerGroupOffsets(pub Vec<(String, Vec<PartitionOffset>)>);

impl AlterConsumerGroupOffsets {
    fn offsets(&self, group: &str) -> &[PartitionOffset] {
        let row = self.0.iter().find(|(id, _)| id == group);
        row.map_or(&[], |(_, offsets)| offsets)
    }
}

impl Operation for AlterConsumerGroupOffsets {
    const NAME: &'static str = "AlterConsumerGroupOffsets";
    type Key = String;
    type Row = Vec<(TopicPartition, ErrorCode)>;
    type Output = Vec<GroupResult>;

    fn check(&self, _: &Options) -> Result<(), Error> {
        if has_duplicate(self.0.iter().map(|(id, _)| id)) {
            return Err(Error::invalid_arg("Duplicate groups not allowed"));
        }
        for (_, offsets) in &self.0 {
            if offsets.is_empty() {
                return Err(Error::invalid_arg("Non-empty topic partition list must be present"));
            }
            if offsets.iter().any(|row| row.offset < 0) {
                return Err(Error::invalid_arg("All topic-partition offsets must be >= 0"));
            }
            if has_duplicate(offsets.iter().map(|row| &row.tp)) {
                return Err(Error::invalid_arg("Duplicate partitions not allowed"));
            }
        }
        Ok(())
    }

    fn keys(&self) -> Keys<String> {
        Keys::Known(self.0.iter().map(|(id, _)| id.clone()).collect())
    }

    fn target(&self, key: &String) -> Target {
        coordinator(key)
    }

    /// The offsets are the same the second time.
    fn is_repeatable(&self, _: &Options) -> bool {
        true
    }

    fn batch_max(&self, _: &ReadyBroker) -> usize {
        1
    }

    /// Later versions have topic ids instead of names.
    fn send(&self, keys: &[String], to: &mut To<'_, '_>) -> Result<(), Error> {
        let Some(group) = keys.first() else { return Ok(()) };
        let topics = by_topic(self.offsets(group).iter().map(|row| (&row.tp, row)));
        let topic = |(name, rows): (Arc<str>, Vec<(i32, &PartitionOffset)>)| OffsetCommitRequestTopic {
            name: name.to_string(),
            partitions: rows.into_iter().map(|(_, row)| partition(row)).collect(),
            ..Default::default()
        };
        let request = OffsetCommitRequest {
            group_id: group.clone(),
            topics: topics.into_iter().map(topic).collect(),
            ..Default::default()
        };
        to.send_up_to(&request, OffsetCommitRequest::TOPIC_NAMES_UNTIL)
    }

    /// The error of a coordinator that has moved is that of every partition. A rebalance ends.
    fn read(&self, keys: &[String], answer: &Answer<'_>) -> Result<Verdicts<Self>, DecodeError> {
        let mut rows = Vec::new();
        for topic in answer.decode::<OffsetCommitRequest>()?.topics {
            let name: Arc<str> = topic.name.into();
            let partitions = topic.partitions.into_iter();
            rows.extend(partitions.map(|p| {
                let tp = TopicPartition::new(name.clone(), p.partition_index);
                (tp, ErrorCode::from(p.error_code))
            }));
        }
        let passing = rows.iter().map(|(_, code)| *code);
        let passing = passing
            .filter(|code| is_of_group(*code) || *code == ErrorCode::REBALANCE_IN_PROGRESS)
            .min();
        let verdict = match passing {
            Some(code @ ErrorCode::REBALANCE_IN_PROGRESS) => Verdict::Retry(code.into()),
            Some(code) => Verdict::Failed(code.into()),
            None => Verdict::Done(rows),
        };
        Ok(keys.iter().cloned().zip([verdict]).collect())
    }

    fn finish(&self, rows: Rows<Self>) -> Result<Vec<GroupResult>, Error> {
        let mut results = in_order(self.0.iter().map(|(id, _)| id), &rows, |found| {
            let row = |(tp, error)| PartitionOffset {
                error,
                ..PartitionOffset::new(tp, 0)
            };
            Some(found.into_iter().map(row).collect())
        });
        for result in &mut results {
            let Some(found) = result.partitions.take() else {
                continue;
            };
            let asked = self.offsets(&result.group_id);
            let found = partitions_in_order(asked.iter().map(|row| &row.tp), found);
            let with_offset = |(asked, found): (&PartitionOffset, PartitionOffset)| PartitionOffset {
                error: found.error,
                ..asked.clone()
            };
            result.partitions = Some(asked.iter().zip(found).map(with_offset).collect());
        }
        Ok(results)
    }
}

fn partition(row: &PartitionOffset) -> OffsetCommitRequestPartition {
    let metadata = row.metadata.as_ref().map(|m| String::from_utf8_lossy(m).into_owned());
    OffsetCommitRequestPartition {
        partition_index: row.tp.partition,
        committed_offset: row.offset,
        committed_leader_epoch: row.leader_epoch,
        committed_metadata: Some(metadata.unwrap_or_default()),
        ..Default::default()
    }
}
