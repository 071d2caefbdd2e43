//! AlterShareGroupOffsets: sets the start offsets of share groups without members, at their coordinators (KIP-932).

use std::sync::Arc;

use ottla_protocol::DecodeError;
use ottla_protocol::api::alter_share_group_offsets::{
    AlterShareGroupOffsetsRequest, AlterShareGroupOffsetsRequestPartition, AlterShareGroupOffsetsRequestTopic,
};

use super::group_result::{
    GroupResult, check_groups_once, check_partitions_once, coordinator, in_order, partitions_in_order,
};
use super::partitions::by_topic;
use crate::admin::operation::{Answer, Keys, Operation, Options, Rows, To, Verdict, Verdicts, error_of};
use crate::error::{Error, ErrorCode};
use crate::request::{ReadyBroker, Target};
use crate::types::{PartitionOffset, TopicPartition};

/// Sets start offsets: the first records that groups receive. Creates groups that do not exist. Each partition has its
/// error. A group with members has the error NON_EMPTY_GROUP. Requires Kafka 4.1.
#[derive(Debug, Clone)]
pub struct AlterShareGroupOffsets(pub Vec<(String, Vec<PartitionOffset>)>);

impl AlterShareGroupOffsets {
    fn offsets(&self, group: &str) -> &[PartitionOffset] {
        let row = self.0.iter().find(|(id, _)| id == group);
        row.map_or(&[], |(_, offsets)| offsets)
    }
}

impl Operation for AlterShareGroupOffsets {
    const NAME: &'static str = "AlterShareGroupOffsets";
    const KEYS_FAIL_ALONE: bool = true;
    type Key = String;
    type Row = Vec<PartitionOffset>;
    type Output = Vec<GroupResult>;

    fn check(&self, _: &Options) -> Result<(), Error> {
        check_groups_once(self.0.iter().map(|(id, _)| id))?;
        for (_, offsets) in &self.0 {
            check_partitions_once(offsets.iter().map(|row| &row.tp))?;
            if offsets.iter().any(|row| row.offset < 0) {
                return Err(Error::invalid_arg("All topic-partition offsets must be >= 0"));
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

    fn send(&self, keys: &[String], to: &mut To<'_, '_>) -> Result<(), Error> {
        let Some(group) = keys.first() else { return Ok(()) };
        let topics = by_topic(self.offsets(group).iter().map(|row| (&row.tp, row.offset)));
        let partition = |(partition_index, start_offset)| AlterShareGroupOffsetsRequestPartition {
            partition_index,
            start_offset,
            ..Default::default()
        };
        let topic = |(name, partitions): (Arc<str>, Vec<(i32, i64)>)| AlterShareGroupOffsetsRequestTopic {
            topic_name: name.to_string(),
            partitions: partitions.into_iter().map(partition).collect(),
            ..Default::default()
        };
        to.send(&AlterShareGroupOffsetsRequest {
            group_id: group.clone(),
            topics: topics.into_iter().map(topic).collect(),
            ..Default::default()
        })
    }

    fn read(&self, keys: &[String], answer: &Answer<'_>) -> Result<Verdicts<Self>, DecodeError> {
        let response = answer.decode::<AlterShareGroupOffsetsRequest>()?;
        let verdict = match error_of(response.error_code, response.error_message) {
            Some(error) => Verdict::Failed(error),
            None => {
                let mut rows = Vec::new();
                for topic in response.responses {
                    let name: Arc<str> = topic.topic_name.into();
                    rows.extend(topic.partitions.into_iter().map(|p| PartitionOffset {
                        error: ErrorCode::from(p.error_code),
                        ..PartitionOffset::new(TopicPartition::new(name.clone(), p.partition_index), 0)
                    }));
                }
                Verdict::Done(rows)
            }
        };
        Ok(keys.iter().cloned().zip([verdict]).collect())
    }

    fn finish(&self, mut rows: Rows<Self>) -> Result<Vec<GroupResult>, Error> {
        for (group, row) in &mut rows {
            let Ok(found) = row else { continue };
            let asked = self.offsets(group);
            let mut results = partitions_in_order(asked.iter().map(|row| &row.tp), std::mem::take(found));
            for (result, asked) in results.iter_mut().zip(asked) {
                result.offset = asked.offset;
            }
            *found = results;
        }
        Ok(in_order(self.0.iter().map(|(id, _)| id), &rows, Some))
    }
}

#[cfg(test)]
mod tests {
    use ottla_mock::{ApiKey, ErrorCode as BrokerError, FaultAction};

    use super::*;
    use crate::test_kit::World;

    fn offsets(rows: &[(&str, i32, i64)]) -> Vec<PartitionOffset> {
        let row = |(topic, partition, offset): &(&str, i32, i64)| {
            PartitionOffset::new(TopicPartition::new(*topic, *partition), *offset)
        };
        rows.iter().map(row).collect()
    }

    fn world() -> World {
        let mut w = World::producer(&[("retry.backoff.ms", "10")], &[]);
        w.add_topic("t", &[1, 2]);
        w
    }

    #[test]
    fn partitions_have_their_offsets_and_errors_in_the_order_of_the_call() {
        let mut w = world();
        w.commit_offset_of("consumers", "t", 0, 1);
        let call = AlterShareGroupOffsets(vec![
            (
                "g".into(),
                offsets(&[("u", 0, 1), ("t", 1, 7), ("t", 0, 0), ("t", 2, 1)]),
            ),
            ("consumers".into(), offsets(&[("t", 0, 1)])),
        ]);
        let groups = w.ask(call).unwrap();
        let rows: Vec<(i32, i64, ErrorCode)> = groups[0]
            .partitions
            .iter()
            .flatten()
            .map(|row| (row.tp.partition, row.offset, row.error))
            .collect();
        let (ok, unknown) = (ErrorCode::NO_ERROR, ErrorCode::UNKNOWN_TOPIC_OR_PART);
        assert_eq!(rows, [(0, 1, unknown), (1, 7, ok), (0, 0, ok), (2, 1, unknown)]);
        assert_eq!(w.brokers().share_start_offset("g", "t", 1), Some(7));
        assert_eq!(w.brokers().share_start_offset("g", "t", 2), None);
        let error = groups[1].error.as_ref().map(|error| &*error.message);
        assert_eq!(error, Some("Group consumers is not a share group."));
        assert!(groups[1].partitions.is_none());
    }

    #[test]
    fn a_lost_response_and_a_moved_coordinator_are_followed_by_another_request() {
        let mut w = world();
        w.fault_next(ApiKey::ALTER_SHARE_GROUP_OFFSETS, FaultAction::DisconnectAfter);
        let call = || AlterShareGroupOffsets(vec![("g".into(), offsets(&[("t", 0, 4)]))]);
        assert!(w.ask(call()).unwrap()[0].error.is_none());
        assert_eq!(w.count(ApiKey::ALTER_SHARE_GROUP_OFFSETS), 2);
        w.fail_next(ApiKey::ALTER_SHARE_GROUP_OFFSETS, &[BrokerError::NOT_COORDINATOR]);
        assert!(w.ask(call()).unwrap()[0].error.is_none());
        assert_eq!(w.count(ApiKey::ALTER_SHARE_GROUP_OFFSETS), 4);
    }

    #[test]
    fn a_group_with_members_has_the_brokers_error() {
        let mut w = world();
        w.fail_next(ApiKey::ALTER_SHARE_GROUP_OFFSETS, &[BrokerError::NON_EMPTY_GROUP]);
        let groups = w.ask(AlterShareGroupOffsets(vec![("g".into(), offsets(&[("t", 0, 4)]))]));
        let code = groups.unwrap()[0].error.as_ref().map(|error| error.code);
        assert_eq!(code, Some(ErrorCode::NON_EMPTY_GROUP));
    }

    #[test]
    fn bad_calls_are_refused() {
        let mut w = world();
        let mut text = |rows: &[(&str, i32, i64)]| {
            let call = AlterShareGroupOffsets(vec![("g".into(), offsets(rows))]);
            w.ask(call).unwrap_err().message
        };
        assert_eq!(text(&[]), "No partitions are named");
        assert_eq!(text(&[("t", 0, -1)]), "All topic-partition offsets must be >= 0");
        assert_eq!(text(&[("t", 0, 1), ("t", 0, 2)]), "Duplicate partitions not allowed");
    }
}
