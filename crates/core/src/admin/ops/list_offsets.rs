//! ListOffsets: the first or last offset, or the one that belongs to a timestamp, from each partition's leader.

use std::sync::Arc;

use ottla_protocol::DecodeError;
use ottla_protocol::api::list_offsets::{ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic};

use super::partitions::{by_topic, has_duplicate};
use crate::admin::operation::{Answer, Keys, Operation, Options, Rows, To, Verdict, Verdicts, row_of};
use crate::error::Error;
use crate::request::{Target, unsupported};
use crate::types::TopicPartition;

/// The offset to look up, by the protocol's numbers: not negative for the first record at that timestamp in milliseconds or
/// later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct OffsetSpec(pub i64);

impl OffsetSpec {
    /// The high watermark, or the last stable offset.
    pub const LATEST: Self = Self(-1);
    /// The first offset of the log.
    pub const EARLIEST: Self = Self(-2);
    /// The record with the greatest timestamp (KIP-734, Kafka 3.0).
    pub const MAX_TIMESTAMP: Self = Self(-3);
    /// The first offset on the leader's own disk (KIP-405, Kafka 3.4).
    pub const EARLIEST_LOCAL: Self = Self(-4);
    /// The last offset in tiered storage (KIP-1005, Kafka 3.9).
    pub const LATEST_TIERED: Self = Self(-5);

    /// Returns the lowest version of ListOffsets that has this.
    fn since(self) -> i16 {
        match self {
            Self::MAX_TIMESTAMP => 7,
            Self::EARLIEST_LOCAL => 8,
            Self::LATEST_TIERED => 9,
            _ => ListOffsetsRequest::TIMESTAMPS_SINCE,
        }
    }
}

/// The offset of a partition.
#[derive(Debug, Clone)]
pub struct ListedOffset {
    /// The partition.
    pub tp: TopicPartition,
    /// The offset; -1 if there is no record at the timestamp or later.
    pub offset: i64,
    /// The record's timestamp in milliseconds; -1 for the ends of the log.
    pub timestamp: i64,
    /// The leader epoch of the record, or -1.
    pub leader_epoch: i32,
    /// The error; `None` on success.
    pub error: Option<Error>,
}

/// Looks up offsets. The results are in the order of the call.
#[derive(Debug, Clone, Default)]
pub struct ListOffsets {
    /// The partitions, each once.
    pub partitions: Vec<(TopicPartition, OffsetSpec)>,
}

impl Default for OffsetSpec {
    fn default() -> Self {
        OffsetSpec::LATEST
    }
}

/// The offset, timestamp and leader epoch in a response.
type Row = (i64, i64, i32);

impl Operation for ListOffsets {
    const NAME: &'static str = "ListOffsets";
    type Key = (TopicPartition, OffsetSpec);
    type Row = Row;
    type Output = Vec<ListedOffset>;

    fn check(&self, _: &Options) -> Result<(), Error> {
        match has_duplicate(self.partitions.iter().map(|(tp, _)| tp)) {
            true => Err(Error::invalid_arg("Partitions must not contain duplicates")),
            false => Ok(()),
        }
    }

    fn keys(&self) -> Keys<Self::Key> {
        Keys::Known(self.partitions.clone())
    }

    fn target(&self, (tp, _): &Self::Key) -> Target {
        Target::Leader(tp.clone())
    }

    fn is_repeatable(&self, _: &Options) -> bool {
        true
    }

    /// A kind of offset that an old broker does not support must not fail the other partitions.
    fn kind(&self, (_, spec): &Self::Key) -> u8 {
        u8::try_from(spec.since()).unwrap_or(0)
    }

    fn send(&self, keys: &[Self::Key], to: &mut To<'_, '_>) -> Result<(), Error> {
        let since = keys.iter().map(|(_, spec)| spec.since()).max().unwrap_or(0);
        let version = to.version::<ListOffsetsRequest>()?;
        if version < since {
            return Err(unsupported(format!(
                "the broker does not support ListOffsets for this kind of offset: that requires version {since}, it has {version}"
            )));
        }
        let read_committed = to.options().read_committed;
        if read_committed && version < ListOffsetsRequest::ISOLATION_LEVEL_SINCE {
            return Err(unsupported(
                "the broker has no isolation levels (KIP-98): that requires Kafka 0.11",
            ));
        }
        let topic = |(name, partitions): (Arc<str>, Vec<(i32, OffsetSpec)>)| ListOffsetsTopic {
            name: name.to_string(),
            partitions: partitions
                .into_iter()
                .map(|(partition_index, spec)| ListOffsetsPartition {
                    partition_index,
                    timestamp: spec.0,
                    ..Default::default()
                })
                .collect(),
            ..Default::default()
        };
        let topics = by_topic(keys.iter().map(|(tp, spec)| (tp, *spec)));
        let request = ListOffsetsRequest {
            replica_id: -1,
            isolation_level: read_committed.into(),
            topics: topics.into_iter().map(topic).collect(),
            timeout_ms: to.operation_timeout_ms(),
            ..Default::default()
        };
        to.send(&request)
    }

    fn read(&self, keys: &[Self::Key], answer: &Answer<'_>) -> Result<Verdicts<Self>, DecodeError> {
        let mut verdicts = Vec::new();
        for topic in answer.decode::<ListOffsetsRequest>()?.topics {
            let name: Arc<str> = topic.name.into();
            for row in topic.partitions {
                let tp = TopicPartition::new(name.clone(), row.partition_index);
                let asked = keys.binary_search_by(|(asked, _)| asked.cmp(&tp));
                if let Some(key) = asked.ok().and_then(|at| keys.get(at)) {
                    let found = (row.offset, row.timestamp, row.leader_epoch);
                    verdicts.push((key.clone(), Verdict::of(row.error_code, None, found)));
                }
            }
        }
        Ok(verdicts)
    }

    fn finish(&self, rows: Rows<Self>) -> Result<Vec<ListedOffset>, Error> {
        let result = |key: &Self::Key| {
            let row = row_of(&rows, key);
            let (offset, timestamp, leader_epoch) = *row.as_ref().unwrap_or(&(-1, -1, -1));
            ListedOffset {
                tp: key.0.clone(),
                offset,
                timestamp,
                leader_epoch,
                error: row.err(),
            }
        };
        Ok(self.partitions.iter().map(result).collect())
    }
}

#[cfg(test)]
mod tests {
    use ottla_mock::{ApiKey, ErrorCode as BrokerError};

    use super::*;
    use crate::error::ErrorCode;
    use crate::test_kit::{World, within_ms};

    fn world() -> World {
        let mut w = World::producer(&[("retry.backoff.ms", "10")], &[]);
        w.add_topic("t", &[1, 2]);
        w.start_log_at("t", 0, 3);
        w.fill_log("t", 0, 8);
        w
    }

    fn list(partitions: &[(i32, OffsetSpec)]) -> ListOffsets {
        let row = |(partition, spec): &(i32, OffsetSpec)| (TopicPartition::new("t", *partition), *spec);
        ListOffsets {
            partitions: partitions.iter().map(row).collect(),
        }
    }

    fn offsets(rows: &[ListedOffset]) -> Vec<(i32, i64, Option<ErrorCode>)> {
        let row = |r: &ListedOffset| (r.tp.partition, r.offset, r.error.as_ref().map(|e| e.code));
        rows.iter().map(row).collect()
    }

    #[test]
    fn ends_of_logs_come_from_their_leaders_in_the_order_of_the_call() {
        let mut w = world();
        let found = w
            .ask(list(&[(1, OffsetSpec::LATEST), (0, OffsetSpec::LATEST)]))
            .unwrap();
        assert_eq!(offsets(&found), [(1, 0, None), (0, 8, None)]);
        let found = w.ask(list(&[(0, OffsetSpec::EARLIEST)])).unwrap();
        assert_eq!(offsets(&found), [(0, 3, None)]);
        assert!(w.ask(ListOffsets::default()).unwrap().is_empty());
    }

    #[test]
    fn the_greatest_timestamp_requires_a_version_and_fails_only_its_partitions() {
        let mut w = world();
        w.brokers().set_api_versions(ApiKey::LIST_OFFSETS, Some((1, 6)));
        let found = w
            .ask(list(&[(0, OffsetSpec::MAX_TIMESTAMP), (1, OffsetSpec::LATEST)]))
            .unwrap();
        let unsupported = Some(ErrorCode::L_UNSUPPORTED_FEATURE);
        assert_eq!(offsets(&found), [(0, -1, unsupported), (1, 0, None)]);
    }

    #[test]
    fn errors_that_pass_are_asked_again_and_others_are_results() {
        let mut w = world();
        let passing = [BrokerError::OFFSET_NOT_AVAILABLE, BrokerError::NOT_LEADER_OR_FOLLOWER];
        w.fail_next(ApiKey::LIST_OFFSETS, &passing);
        let found = w.ask(list(&[(0, OffsetSpec::LATEST)])).unwrap();
        assert_eq!(offsets(&found), [(0, 8, None)]);
        assert_eq!(w.count(ApiKey::LIST_OFFSETS), 3);
        w.fail_next(ApiKey::LIST_OFFSETS, &[BrokerError::TOPIC_AUTHORIZATION_FAILED]);
        let found = w.ask(list(&[(0, OffsetSpec::LATEST)])).unwrap();
        assert_eq!(offsets(&found), [(0, -1, Some(ErrorCode::TOPIC_AUTHORIZATION_FAILED))]);
    }

    #[test]
    fn a_leader_that_is_down_fails_its_partitions_only() {
        let mut w = world();
        w.ask(list(&[(0, OffsetSpec::LATEST), (1, OffsetSpec::LATEST)]))
            .unwrap();
        w.take_down(&[2]);
        let found = w
            .ask_with(
                list(&[(1, OffsetSpec::LATEST), (0, OffsetSpec::LATEST)]),
                within_ms(1000),
            )
            .unwrap();
        assert_eq!(offsets(&found), [(1, -1, Some(ErrorCode::L_TIMED_OUT)), (0, 8, None)]);
    }

    #[test]
    fn many_partitions_take_one_look_up_and_one_request_for_each_leader() {
        let mut w = World::producer(&[], &[]);
        let leaders: Vec<i32> = (0..3000).map(|i| 1 + i % 3).collect();
        w.add_topic("t", &leaders);
        let all: Vec<(i32, OffsetSpec)> = (0..3000).rev().map(|p| (p, OffsetSpec::LATEST)).collect();
        let before = w.count(ApiKey::METADATA);
        let found = w.ask(list(&all)).unwrap();
        assert!(found.iter().all(|row| row.error.is_none() && row.offset == 0));
        let numbers: Vec<i32> = found.iter().map(|row| row.tp.partition).collect();
        assert!(numbers.into_iter().eq((0..3000).rev()));
        assert_eq!(w.count(ApiKey::LIST_OFFSETS), 3);
        // One of them is the client's own.
        assert!(w.count(ApiKey::METADATA) - before <= 2);
    }

    #[test]
    fn duplicates_are_refused() {
        let mut w = world();
        let error = w
            .ask(list(&[(0, OffsetSpec::LATEST), (0, OffsetSpec::EARLIEST)]))
            .unwrap_err();
        assert_eq!(error.message, "Partitions must not contain duplicates");
    }
}
