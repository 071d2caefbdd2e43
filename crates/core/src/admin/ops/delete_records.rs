//! DeleteRecords: deletes the records before an offset at each partition's leader (KIP-107).

use ottla_protocol::DecodeError;
use ottla_protocol::api::delete_records::{DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic};

use super::partitions::{by_topic, has_duplicate};
use crate::admin::operation::{Answer, Keys, Operation, Options, Rows, To, Verdict, Verdicts, row_of};
use crate::error::Error;
use crate::request::Target;
use crate::types::{PartitionOffset, TopicPartition, offset};

/// Deletes the records before an offset in each partition, before the high watermark with [`offset::END`]. The results
/// contain the new low watermarks.
#[derive(Debug, Clone)]
pub struct DeleteRecords(pub Vec<(TopicPartition, i64)>);

impl Operation for DeleteRecords {
    const NAME: &'static str = "DeleteRecords";
    type Key = TopicPartition;
    type Row = i64;
    type Output = Vec<PartitionOffset>;

    fn check(&self, _: &Options) -> Result<(), Error> {
        if self.0.is_empty() {
            return Err(Error::invalid_arg("No records to delete"));
        }
        match has_duplicate(self.0.iter().map(|(tp, _)| tp)) {
            true => Err(Error::invalid_arg("Duplicate partitions not allowed")),
            false => Ok(()),
        }
    }

    fn keys(&self) -> Keys<TopicPartition> {
        Keys::Known(self.0.iter().map(|(tp, _)| tp.clone()).collect())
    }

    fn target(&self, key: &TopicPartition) -> Target {
        Target::Leader(key.clone())
    }

    /// The high watermark may be another one the second time.
    fn is_repeatable(&self, _: &Options) -> bool {
        self.0.iter().all(|(_, before)| *before != offset::END)
    }

    fn send(&self, keys: &[TopicPartition], to: &mut To<'_, '_>) -> Result<(), Error> {
        let asked = self.0.iter().filter(|(tp, _)| keys.binary_search(tp).is_ok());
        let topics = by_topic(asked.map(|(tp, before)| (tp, *before)));
        let topic = |(name, partitions): (std::sync::Arc<str>, Vec<(i32, i64)>)| DeleteRecordsTopic {
            name: name.to_string(),
            partitions: partitions
                .into_iter()
                .map(|(partition_index, offset)| DeleteRecordsPartition {
                    partition_index,
                    offset,
                    ..Default::default()
                })
                .collect(),
            ..Default::default()
        };
        let request = DeleteRecordsRequest {
            topics: topics.into_iter().map(topic).collect(),
            timeout_ms: to.operation_timeout_ms(),
            ..Default::default()
        };
        to.send(&request)
    }

    fn read(&self, _: &[TopicPartition], answer: &Answer<'_>) -> Result<Verdicts<Self>, DecodeError> {
        let mut verdicts = Vec::new();
        for topic in answer.decode::<DeleteRecordsRequest>()?.topics {
            let name: std::sync::Arc<str> = topic.name.into();
            for row in topic.partitions {
                let key = TopicPartition::new(name.clone(), row.partition_index);
                verdicts.push((key, Verdict::of(row.error_code, None, row.low_watermark)));
            }
        }
        Ok(verdicts)
    }

    fn finish(&self, rows: Rows<Self>) -> Result<Vec<PartitionOffset>, Error> {
        let result = |(tp, _): &(TopicPartition, i64)| match row_of(&rows, tp) {
            Ok(low_watermark) => PartitionOffset::new(tp.clone(), low_watermark),
            Err(error) => PartitionOffset {
                error: error.code,
                ..PartitionOffset::new(tp.clone(), offset::INVALID)
            },
        };
        Ok(self.0.iter().map(result).collect())
    }
}

#[cfg(test)]
mod tests {
    use ottla_mock::{ApiKey, ErrorCode as BrokerError, FaultAction};

    use super::*;
    use crate::error::ErrorCode;
    use crate::test_kit::{World, within_ms};

    fn tp(topic: &str, partition: i32) -> TopicPartition {
        TopicPartition::new(topic, partition)
    }

    /// Three partitions with ten records each, one for each broker.
    fn world() -> World {
        let mut w = World::producer(&[("retry.backoff.ms", "10")], &[]);
        w.add_topic("t", &[1, 2, 3]);
        for partition in 0..3 {
            w.fill_log("t", partition, 10);
        }
        w
    }

    fn rows(rows: Vec<PartitionOffset>) -> Vec<(i32, i64, ErrorCode)> {
        rows.into_iter().map(|r| (r.tp.partition, r.offset, r.error)).collect()
    }

    const OK: ErrorCode = ErrorCode::NO_ERROR;

    #[test]
    fn records_are_deleted_at_each_leader_and_results_are_in_the_order_of_the_call() {
        let mut w = world();
        let before = vec![(tp("t", 2), offset::END), (tp("t", 0), 4), (tp("t", 1), 11)];
        let deleted = w.ask(DeleteRecords(before)).unwrap();
        let out_of_range = (1, offset::INVALID, ErrorCode::OFFSET_OUT_OF_RANGE);
        assert_eq!(rows(deleted), [(2, 10, OK), (0, 4, OK), out_of_range]);
        assert_eq!(w.brokers().watermarks("t", 0).unwrap().log_start_offset, 4);
        assert_eq!(w.count(ApiKey::DELETE_RECORDS), 3);
    }

    #[test]
    fn missing_topics_and_partitions_fail_beside_others_and_are_not_created() {
        let mut w = World::producer_with(&[], &[], |config| config.auto_create_topics = true);
        w.add_topic("t", &[1]);
        w.fill_log("t", 0, 10);
        let before = vec![(tp("nowhere", 0), 1), (tp("t", 0), 1), (tp("t", 7), 1)];
        let deleted = w.ask(DeleteRecords(before)).unwrap();
        let errors: Vec<_> = deleted.iter().map(|row| row.error).collect();
        assert_eq!(
            errors,
            [ErrorCode::UNKNOWN_TOPIC_OR_PART, OK, ErrorCode::L_UNKNOWN_PARTITION]
        );
        assert_eq!(w.brokers().partition_count("nowhere"), None);
    }

    #[test]
    fn a_moved_leader_is_asked_again() {
        let mut w = world();
        w.ask(DeleteRecords(vec![(tp("t", 0), 1)])).unwrap();
        w.hold(ApiKey::DELETE_RECORDS);
        let reply = w.begin_admin(DeleteRecords(vec![(tp("t", 0), 5), (tp("t", 1), 5)]), within_ms(5000));
        w.run_ms(10);
        w.move_leader("t", 0, 2);
        w.release(ApiKey::DELETE_RECORDS);
        w.run_ms(1000);
        let deleted = reply.try_take().expect("a result").unwrap();
        assert_eq!(rows(deleted), [(0, 5, OK), (1, 5, OK)]);
        let requests = w.drain::<DeleteRecordsRequest>();
        let (arrival, last) = requests.last().unwrap();
        assert_eq!(arrival.node, 2);
        assert_eq!(last.topics[0].partitions.len(), 1, "only the open partition");
    }

    #[test]
    fn a_partition_without_a_leader_is_awaited_until_the_deadline() {
        let mut w = world();
        w.move_leader("t", 0, -1);
        let delete = || DeleteRecords(vec![(tp("t", 0), 1), (tp("t", 1), 1)]);
        let deleted = w.ask_with(delete(), within_ms(2000)).unwrap();
        assert_eq!(
            rows(deleted),
            [(0, offset::INVALID, ErrorCode::L_TIMED_OUT), (1, 1, OK)]
        );
        let reply = w.begin_admin(delete(), within_ms(5000));
        w.run_ms(500);
        w.move_leader("t", 0, 3);
        w.run_ms(2000);
        assert_eq!(
            rows(reply.try_take().expect("a result").unwrap()),
            [(0, 1, OK), (1, 1, OK)]
        );
    }

    #[test]
    fn a_request_with_unknown_outcome_is_repeated_unless_it_deletes_to_the_end() {
        let mut w = world();
        w.fault_next(ApiKey::DELETE_RECORDS, FaultAction::DisconnectAfter);
        assert_eq!(rows(w.ask(DeleteRecords(vec![(tp("t", 0), 2)])).unwrap()), [(0, 2, OK)]);
        w.fault_next(ApiKey::DELETE_RECORDS, FaultAction::DisconnectAfter);
        let error = w.ask(DeleteRecords(vec![(tp("t", 0), offset::END)])).unwrap_err();
        assert_eq!(error.code, ErrorCode::L_TRANSPORT, "{error}");
        assert!(error.message.contains("may have executed"), "{error}");
        w.fail_next(ApiKey::DELETE_RECORDS, &[BrokerError::TOPIC_AUTHORIZATION_FAILED]);
        let refused = w.ask(DeleteRecords(vec![(tp("t", 0), 5)])).unwrap();
        assert_eq!(refused[0].error, ErrorCode::TOPIC_AUTHORIZATION_FAILED);
    }

    #[test]
    fn nothing_and_duplicates_are_refused() {
        let mut w = world();
        let text = |w: &mut World, before| w.ask(DeleteRecords(before)).unwrap_err().message;
        assert_eq!(text(&mut w, Vec::new()), "No records to delete");
        let twice = vec![(tp("t", 0), 1), (tp("t", 0), 2)];
        assert_eq!(text(&mut w, twice), "Duplicate partitions not allowed");
    }

    #[test]
    fn a_call_without_a_broker_fails_as_a_whole() {
        let mut w = world();
        w.take_down(&[1, 2, 3]);
        let error = w
            .ask_with(DeleteRecords(vec![(tp("t", 0), 1)]), within_ms(500))
            .unwrap_err();
        assert_eq!(error.code, ErrorCode::L_TIMED_OUT, "{error}");
    }
}
