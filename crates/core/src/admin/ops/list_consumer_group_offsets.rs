//! ListConsumerGroupOffsets: the committed offsets of groups, from their coordinators (OffsetFetch).

use std::sync::Arc;

use ottla_protocol::DecodeError;
use ottla_protocol::api::offset_fetch::{
    OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchRequestTopic, OffsetFetchRequestTopics,
};

use super::group_result::{GroupResult, coordinator, in_order, is_of_group, partitions_in_order};
use super::partitions::{by_topic, has_duplicate};
use crate::admin::operation::{Answer, Keys, Operation, Options, Rows, To, Verdict, Verdicts, error_of};
use crate::error::{Error, ErrorCode};
use crate::request::{ReadyBroker, Target, unsupported};
use crate::types::{PartitionOffset, TopicPartition};

/// Lists committed offsets. A partition without one has the offset [`offset::INVALID`](crate::types::offset::INVALID).
#[derive(Debug, Clone, Default)]
pub struct ListConsumerGroupOffsets {
    /// The groups, each once, and their partitions; `None` for all that have a committed offset.
    pub groups: Vec<(String, Option<Vec<TopicPartition>>)>,
}

/// A topic of a response, of either form.
type Topic = (String, Vec<(i32, i64, i32, Option<String>, i16)>);

impl ListConsumerGroupOffsets {
    fn partitions(&self, group: &str) -> Option<&Vec<TopicPartition>> {
        let row = self.groups.iter().find(|(id, _)| id == group);
        row.and_then(|(_, partitions)| partitions.as_ref())
    }

    /// Returns the verdict about a group. A transaction whose offsets are pending ends soon: the group is asked again.
    fn verdict(&self, code: i16, topics: impl Iterator<Item = Topic>) -> Verdict<String, Vec<PartitionOffset>> {
        if let Some(error) = error_of(code, None) {
            return Verdict::Failed(error);
        }
        let mut rows = Vec::new();
        for (name, partitions) in topics {
            let name: Arc<str> = name.into();
            for (partition, offset, leader_epoch, metadata, code) in partitions {
                let error = ErrorCode::from(code);
                if error == ErrorCode::UNSTABLE_OFFSET_COMMIT {
                    return Verdict::Retry(error.into());
                }
                if is_of_group(error) {
                    return Verdict::Failed(error.into());
                }
                rows.push(PartitionOffset {
                    tp: TopicPartition::new(name.clone(), partition),
                    offset: if offset < 0 {
                        crate::types::offset::INVALID
                    } else {
                        offset
                    },
                    leader_epoch,
                    metadata: metadata.map(String::into_bytes),
                    error,
                });
            }
        }
        Verdict::Done(rows)
    }

    fn group_row(&self, group: &str) -> OffsetFetchRequestGroup {
        let topic = |(name, partitions): (Arc<str>, Vec<(i32, ())>)| OffsetFetchRequestTopics {
            name: name.to_string(),
            partition_indexes: partitions.into_iter().map(|(partition, ())| partition).collect(),
            ..Default::default()
        };
        let topics = self
            .partitions(group)
            .map(|partitions| by_topic(partitions.iter().map(|tp| (tp, ()))));
        OffsetFetchRequestGroup {
            group_id: group.to_owned(),
            topics: topics.map(|topics| topics.into_iter().map(topic).collect()),
            ..Default::default()
        }
    }
}

impl Operation for ListConsumerGroupOffsets {
    const NAME: &'static str = "ListConsumerGroupOffsets";
    type Key = String;
    type Row = Vec<PartitionOffset>;
    type Output = Vec<GroupResult>;

    fn check(&self, _: &Options) -> Result<(), Error> {
        if has_duplicate(self.groups.iter().map(|(id, _)| id)) {
            return Err(Error::invalid_arg("Duplicate groups not allowed"));
        }
        for partitions in self.groups.iter().filter_map(|(_, partitions)| partitions.as_ref()) {
            if partitions.is_empty() {
                let text = "NULL or non-empty topic partition list must be passed";
                return Err(Error::invalid_arg(text));
            }
            if has_duplicate(partitions) {
                return Err(Error::invalid_arg("Duplicate partitions not allowed"));
            }
        }
        Ok(())
    }

    fn keys(&self) -> Keys<String> {
        Keys::Known(self.groups.iter().map(|(id, _)| id.clone()).collect())
    }

    fn target(&self, key: &String) -> Target {
        coordinator(key)
    }

    fn is_repeatable(&self, _: &Options) -> bool {
        true
    }

    fn batch_max(&self, broker: &ReadyBroker) -> usize {
        match broker.version::<OffsetFetchRequest>() {
            Ok(OffsetFetchRequest::GROUP_LIST_SINCE..) => usize::MAX,
            _ => 1,
        }
    }

    /// Later versions have topic ids instead of names.
    fn send(&self, keys: &[String], to: &mut To<'_, '_>) -> Result<(), Error> {
        let version = to.version::<OffsetFetchRequest>()?;
        let require_stable = to.options().require_stable;
        if require_stable && version < OffsetFetchRequest::STABLE_OFFSETS_SINCE {
            return Err(unsupported(
                "the broker cannot require stable offsets (KIP-447): that requires Kafka 2.5",
            ));
        }
        let lists_all = keys.iter().any(|group| self.partitions(group).is_none());
        if lists_all && version < OffsetFetchRequest::ALL_PARTITIONS_SINCE {
            return Err(unsupported(
                "the broker cannot list all offsets of a group (KIP-88): that requires Kafka 0.10.2",
            ));
        }
        let mut request = OffsetFetchRequest {
            require_stable,
            ..Default::default()
        };
        let mut groups: Vec<OffsetFetchRequestGroup> = keys.iter().map(|group| self.group_row(group)).collect();
        if version >= OffsetFetchRequest::GROUP_LIST_SINCE {
            request.groups = groups;
        } else if let Some(group) = groups.pop() {
            let topic = |topic: OffsetFetchRequestTopics| OffsetFetchRequestTopic {
                name: topic.name,
                partition_indexes: topic.partition_indexes,
                ..Default::default()
            };
            request.group_id = group.group_id;
            request.topics = group.topics.map(|topics| topics.into_iter().map(topic).collect());
        }
        to.send_up_to(&request, OffsetFetchRequest::TOPIC_NAMES_UNTIL)
    }

    fn read(&self, keys: &[String], answer: &Answer<'_>) -> Result<Verdicts<Self>, DecodeError> {
        let response = answer.decode::<OffsetFetchRequest>()?;
        if answer.version() < OffsetFetchRequest::GROUP_LIST_SINCE {
            let topics = response.topics.into_iter().map(|topic| {
                let rows = topic.partitions.into_iter();
                let row = |p: ottla_protocol::api::offset_fetch::OffsetFetchResponsePartition| {
                    (
                        p.partition_index,
                        p.committed_offset,
                        p.committed_leader_epoch,
                        p.metadata,
                        p.error_code,
                    )
                };
                (topic.name, rows.map(row).collect())
            });
            let verdict = self.verdict(response.error_code, topics);
            return Ok(keys.iter().cloned().zip([verdict]).collect());
        }
        let verdict = |group: ottla_protocol::api::offset_fetch::OffsetFetchResponseGroup| {
            let topics = group.topics.into_iter().map(|topic| {
                let rows = topic.partitions.into_iter();
                let row = |p: ottla_protocol::api::offset_fetch::OffsetFetchResponsePartitions| {
                    (
                        p.partition_index,
                        p.committed_offset,
                        p.committed_leader_epoch,
                        p.metadata,
                        p.error_code,
                    )
                };
                (topic.name, rows.map(row).collect())
            });
            (group.group_id, self.verdict(group.error_code, topics))
        };
        Ok(response.groups.into_iter().map(verdict).collect())
    }

    fn finish(&self, mut rows: Rows<Self>) -> Result<Vec<GroupResult>, Error> {
        for (group, row) in &mut rows {
            if let (Ok(found), Some(asked)) = (row, self.partitions(group)) {
                *found = partitions_in_order(asked.iter(), std::mem::take(found));
            }
        }
        Ok(in_order(self.groups.iter().map(|(id, _)| id), &rows, Some))
    }
}
