//! ListShareGroupOffsets: the start offsets of share groups, from their coordinators (DescribeShareGroupOffsets, KIP-932).

use std::collections::HashMap;
use std::sync::Arc;

use ottla_protocol::DecodeError;
use ottla_protocol::api::describe_share_group_offsets::{
    DescribeShareGroupOffsetsRequest, DescribeShareGroupOffsetsRequestGroup, DescribeShareGroupOffsetsRequestTopic,
    DescribeShareGroupOffsetsResponseGroup, DescribeShareGroupOffsetsResponsePartition,
};

use super::group_result::{check_groups_once, check_partitions_once, coordinator};
use super::partitions::by_topic;
use crate::admin::operation::{Answer, Keys, Operation, Options, Rows, To, Verdict, Verdicts, error_of, row_of};
use crate::error::{Error, ErrorCode};
use crate::request::Target;
use crate::types::{PartitionOffset, TopicPartition, offset};

/// The start offsets of a share group.
#[derive(Debug, Clone)]
pub struct ShareGroupOffsets {
    /// The group's id.
    pub group_id: String,
    /// The partitions; in the order of the call if it names them.
    pub partitions: Vec<ShareOffset>,
    /// The group's error; `None` on success.
    pub error: Option<Error>,
}

/// The start offset of a share group in a partition.
#[derive(Debug, Clone)]
pub struct ShareOffset {
    /// The partition, the offset and the leader epoch. The offset is [`offset::INVALID`] if the group has none.
    pub row: PartitionOffset,
    /// The number of records that the group has not processed (KIP-1226, Kafka 4.3); `None` if the broker does not know it.
    pub lag: Option<i64>,
    /// The partition's error with the broker's message; `None` on success.
    pub error: Option<Error>,
}

/// Lists the start offsets of share groups. Requires Kafka 4.1.
#[derive(Debug, Clone)]
pub struct ListShareGroupOffsets(
    /// The groups, each once, and their partitions; `None` for all that have a start offset.
    pub Vec<(String, Option<Vec<TopicPartition>>)>,
);

impl ListShareGroupOffsets {
    fn partitions(&self, group: &str) -> Option<&Vec<TopicPartition>> {
        let row = self.0.iter().find(|(id, _)| id == group);
        row.and_then(|(_, partitions)| partitions.as_ref())
    }

    fn request_row(&self, group: &String) -> DescribeShareGroupOffsetsRequestGroup {
        let topic = |(name, partitions): (Arc<str>, Vec<(i32, ())>)| DescribeShareGroupOffsetsRequestTopic {
            topic_name: name.to_string(),
            partitions: partitions.into_iter().map(|(partition, ())| partition).collect(),
            ..Default::default()
        };
        let topics = self.partitions(group);
        let topics = topics.map(|partitions| by_topic(partitions.iter().map(|tp| (tp, ()))));
        DescribeShareGroupOffsetsRequestGroup {
            group_id: group.clone(),
            topics: topics.map(|topics| topics.into_iter().map(topic).collect()),
            ..Default::default()
        }
    }
}

impl Operation for ListShareGroupOffsets {
    const NAME: &'static str = "ListShareGroupOffsets";
    const KEYS_FAIL_ALONE: bool = true;
    type Key = String;
    type Row = Vec<ShareOffset>;
    type Output = Vec<ShareGroupOffsets>;

    fn check(&self, _: &Options) -> Result<(), Error> {
        check_groups_once(self.0.iter().map(|(id, _)| id))?;
        let mut lists = self.0.iter().filter_map(|(_, partitions)| partitions.as_ref());
        lists.try_for_each(|partitions| check_partitions_once(partitions.iter()))
    }

    fn keys(&self) -> Keys<String> {
        Keys::Known(self.0.iter().map(|(id, _)| id.clone()).collect())
    }

    fn target(&self, key: &String) -> Target {
        coordinator(key)
    }

    fn is_repeatable(&self, _: &Options) -> bool {
        true
    }

    fn send(&self, keys: &[String], to: &mut To<'_, '_>) -> Result<(), Error> {
        to.send(&DescribeShareGroupOffsetsRequest {
            groups: keys.iter().map(|group| self.request_row(group)).collect(),
            ..Default::default()
        })
    }

    fn read(&self, _: &[String], answer: &Answer<'_>) -> Result<Verdicts<Self>, DecodeError> {
        let groups = answer.decode::<DescribeShareGroupOffsetsRequest>()?.groups.into_iter();
        Ok(groups.map(offsets).collect())
    }

    fn finish(&self, rows: Rows<Self>) -> Result<Vec<ShareGroupOffsets>, Error> {
        let result = |(group_id, asked): &(String, Option<Vec<TopicPartition>>)| {
            let (partitions, error) = match (row_of(&rows, group_id), asked) {
                (Err(error), _) => (Vec::new(), Some(error)),
                (Ok(found), Some(asked)) => (in_order(asked, found), None),
                (Ok(mut found), None) => {
                    found.sort_by(|a, b| a.row.tp.cmp(&b.row.tp));
                    (found, None)
                }
            };
            ShareGroupOffsets {
                group_id: group_id.clone(),
                partitions,
                error,
            }
        };
        Ok(self.0.iter().map(result).collect())
    }
}

/// Returns a group's id and its verdict.
fn offsets(group: DescribeShareGroupOffsetsResponseGroup) -> (String, Verdict<String, Vec<ShareOffset>>) {
    if let Some(error) = error_of(group.error_code, group.error_message) {
        return (group.group_id, Verdict::Failed(error));
    }
    let mut rows = Vec::new();
    for topic in group.topics {
        let name: Arc<str> = topic.topic_name.into();
        rows.extend(
            topic
                .partitions
                .into_iter()
                .map(|partition| share_offset(&name, partition)),
        );
    }
    (group.group_id, Verdict::Done(rows))
}

fn share_offset(topic: &Arc<str>, partition: DescribeShareGroupOffsetsResponsePartition) -> ShareOffset {
    let tp = TopicPartition::new(topic.clone(), partition.partition_index);
    let start = Some(partition.start_offset).filter(|start| *start >= 0);
    let error = error_of(partition.error_code, partition.error_message);
    ShareOffset {
        row: PartitionOffset {
            leader_epoch: start.map_or(-1, |_| partition.leader_epoch),
            error: error.as_ref().map_or(ErrorCode::NO_ERROR, |error| error.code),
            ..PartitionOffset::new(tp, start.unwrap_or(offset::INVALID))
        },
        lag: Some(partition.lag).filter(|lag| *lag >= 0),
        error,
    }
}

/// Returns the results of these partitions in their order; partitions that the broker has left out have an error.
fn in_order(asked: &[TopicPartition], found: Vec<ShareOffset>) -> Vec<ShareOffset> {
    let mut found: HashMap<TopicPartition, ShareOffset> =
        found.into_iter().map(|row| (row.row.tp.clone(), row)).collect();
    let row = |tp: &TopicPartition| {
        found.remove(tp).unwrap_or_else(|| ShareOffset {
            row: PartitionOffset {
                error: ErrorCode::L_BAD_MSG,
                ..PartitionOffset::new(tp.clone(), offset::INVALID)
            },
            lag: None,
            error: Some(ErrorCode::L_BAD_MSG.into()),
        })
    };
    asked.iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use ottla_mock::ApiKey;

    use super::*;
    use crate::admin::AlterShareGroupOffsets;
    use crate::test_kit::World;

    /// The group `g` starts at offset 2 in partitions 0 and 1 of `t`, of which the first has 3 records.
    fn world() -> World {
        let mut w = World::producer(&[], &[]);
        w.add_topic("t", &[1, 2]);
        w.append("t", 0, &["a", "b", "c"]);
        let rows = [1, 0].map(|partition| PartitionOffset::new(TopicPartition::new("t", partition), 2));
        w.ask(AlterShareGroupOffsets(vec![("g".into(), rows.to_vec())]))
            .unwrap();
        w
    }

    fn rows(group: &ShareGroupOffsets) -> Vec<(i32, i64, Option<i64>, ErrorCode)> {
        let row = |p: &ShareOffset| (p.row.tp.partition, p.row.offset, p.lag, p.row.error);
        group.partitions.iter().map(row).collect()
    }

    const OK: ErrorCode = ErrorCode::NO_ERROR;

    #[test]
    fn all_offsets_of_a_group_are_listed_by_partition() {
        let mut w = world();
        let groups = w.ask(ListShareGroupOffsets(vec![("none".into(), None), ("g".into(), None)]));
        let groups = groups.unwrap();
        assert_eq!(
            groups[0].error.as_ref().map(|e| e.code),
            Some(ErrorCode::GROUP_ID_NOT_FOUND)
        );
        assert_eq!(rows(&groups[1]), [(0, 2, Some(1), OK), (1, 2, Some(0), OK)]);
        assert!(groups[1].error.is_none());
    }

    #[test]
    fn requested_partitions_are_in_the_order_of_the_call() {
        let mut w = world();
        let asked = [("t", 1), ("u", 0), ("t", 0)].map(|(topic, partition)| TopicPartition::new(topic, partition));
        w.add_topic("v", &[1]);
        let asked = asked.into_iter().chain([TopicPartition::new("v", 0)]).collect();
        let groups = w.ask(ListShareGroupOffsets(vec![("g".into(), Some(asked))])).unwrap();
        let unknown = ErrorCode::UNKNOWN_TOPIC_OR_PART;
        let none = offset::INVALID;
        let expected = [
            (1, 2, Some(0), OK),
            (0, none, None, unknown),
            (0, 2, Some(1), OK),
            (0, none, None, OK),
        ];
        assert_eq!(rows(&groups[0]), expected);
        let error = groups[0].partitions[1].error.as_ref();
        assert_eq!(error.map(|e| &*e.message), Some("The partition does not exist."));
    }

    #[test]
    fn a_broker_without_lags_leaves_them_out() {
        let mut w = world();
        w.brokers()
            .set_api_versions(ApiKey::DESCRIBE_SHARE_GROUP_OFFSETS, Some((0, 0)));
        let groups = w.ask(ListShareGroupOffsets(vec![("g".into(), None)])).unwrap();
        assert_eq!(rows(&groups[0]), [(0, 2, None, OK), (1, 2, None, OK)]);
    }

    #[test]
    fn duplicates_and_empty_lists_are_refused() {
        let mut w = world();
        let tp = TopicPartition::new("t", 0);
        let mut text = |groups| w.ask(ListShareGroupOffsets(groups)).unwrap_err().message;
        let g = || "g".to_owned();
        assert_eq!(text(vec![]), "No groups are named");
        assert_eq!(text(vec![(g(), None), (g(), None)]), "Duplicate groups not allowed");
        assert_eq!(text(vec![(g(), Some(vec![]))]), "No partitions are named");
        let twice = Some(vec![tp.clone(), tp]);
        assert_eq!(text(vec![(g(), twice)]), "Duplicate partitions not allowed");
    }
}
