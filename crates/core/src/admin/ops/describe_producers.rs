//! DescribeProducers: the producers of partitions with their open transactions, at each partition's leader (KIP-664).

use std::sync::Arc;

use ottla_protocol::DecodeError;
use ottla_protocol::api::describe_producers::{DescribeProducersRequest, ProducerState, TopicRequest};

use super::partitions::{by_topic, has_duplicate};
use crate::admin::operation::{Answer, Keys, Operation, Options, Rows, To, Verdict, Verdicts, row_of};
use crate::error::Error;
use crate::request::Target;
use crate::types::TopicPartition;

/// An idempotent or transactional producer with state in a partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActiveProducer {
    /// The producer's id.
    pub producer_id: i64,
    /// The producer's epoch.
    pub producer_epoch: i32,
    /// The sequence number of the last record in this epoch; `None` without one.
    pub last_sequence: Option<i32>,
    /// The timestamp of the last batch or transaction marker, in milliseconds since 1970; `None` without one.
    pub last_timestamp: Option<i64>,
    /// The coordinator's epoch in the last transaction marker; `None` without one.
    pub coordinator_epoch: Option<i32>,
    /// The first offset of the open transaction; `None` without one.
    pub transaction_start_offset: Option<i64>,
}

/// The producers of one partition, or its error.
#[derive(Debug, Clone)]
pub struct PartitionProducers {
    /// The partition.
    pub tp: TopicPartition,
    /// The producers, by ascending id.
    pub result: Result<Vec<ActiveProducer>, Error>,
}

/// Describes the producers of partitions, each with its error. The leaders are asked, or the broker of the options if it has
/// a replica. Requires Kafka 2.8.
#[derive(Debug, Clone)]
pub struct DescribeProducers(pub Vec<TopicPartition>);

impl Operation for DescribeProducers {
    const NAME: &'static str = "DescribeProducers";
    const KEYS_FAIL_ALONE: bool = true;
    type Key = TopicPartition;
    type Row = Vec<ActiveProducer>;
    type Output = Vec<PartitionProducers>;

    fn check(&self, _: &Options) -> Result<(), Error> {
        if self.0.is_empty() {
            return Err(Error::invalid_arg("No partitions to describe"));
        }
        match has_duplicate(&self.0) {
            true => Err(Error::invalid_arg("Duplicate partitions not allowed")),
            false => Ok(()),
        }
    }

    fn keys(&self) -> Keys<TopicPartition> {
        Keys::Known(self.0.clone())
    }

    fn target(&self, key: &TopicPartition) -> Target {
        Target::Leader(key.clone())
    }

    fn is_repeatable(&self, _: &Options) -> bool {
        true
    }

    fn send(&self, keys: &[TopicPartition], to: &mut To<'_, '_>) -> Result<(), Error> {
        let topic = |(name, partitions): (Arc<str>, Vec<(i32, ())>)| TopicRequest {
            name: name.to_string(),
            partition_indexes: partitions.into_iter().map(|(partition, ())| partition).collect(),
            ..Default::default()
        };
        let topics = by_topic(keys.iter().map(|tp| (tp, ())));
        to.send(&DescribeProducersRequest {
            topics: topics.into_iter().map(topic).collect(),
            ..Default::default()
        })
    }

    fn read(&self, _: &[TopicPartition], answer: &Answer<'_>) -> Result<Verdicts<Self>, DecodeError> {
        let mut verdicts = Vec::new();
        for topic in answer.decode::<DescribeProducersRequest>()?.topics {
            let name: Arc<str> = topic.name.into();
            for row in topic.partitions {
                let key = TopicPartition::new(name.clone(), row.partition_index);
                let mut producers: Vec<ActiveProducer> = row.active_producers.iter().map(producer).collect();
                producers.sort_by_key(|producer| producer.producer_id);
                verdicts.push((key, Verdict::of(row.error_code, row.error_message, producers)));
            }
        }
        Ok(verdicts)
    }

    fn finish(&self, rows: Rows<Self>) -> Result<Vec<PartitionProducers>, Error> {
        let described = |tp: &TopicPartition| PartitionProducers {
            tp: tp.clone(),
            result: row_of(&rows, tp),
        };
        Ok(self.0.iter().map(described).collect())
    }
}

fn producer(state: &ProducerState) -> ActiveProducer {
    ActiveProducer {
        producer_id: state.producer_id,
        producer_epoch: state.producer_epoch,
        last_sequence: Some(state.last_sequence).filter(|sequence| *sequence >= 0),
        last_timestamp: Some(state.last_timestamp).filter(|ms| *ms >= 0),
        coordinator_epoch: Some(state.coordinator_epoch).filter(|epoch| *epoch >= 0),
        transaction_start_offset: Some(state.current_txn_start_offset).filter(|offset| *offset >= 0),
    }
}

#[cfg(test)]
mod tests {
    use ottla_mock::{ApiKey, ErrorCode as BrokerError};

    use super::*;
    use crate::error::ErrorCode;
    use crate::test_kit::{World, within_ms};
    use crate::types::NodeId;

    fn tp(topic: &str, partition: i32) -> TopicPartition {
        TopicPartition::new(topic, partition)
    }

    fn world() -> World {
        let mut w = World::producer(&[("retry.backoff.ms", "10")], &[]);
        w.add_topic("t", &[1, 2]);
        w
    }

    #[test]
    fn producers_are_described_by_the_leaders_in_the_order_of_the_call() {
        let mut w = world();
        w.fill_log("t", 0, 5);
        let (id, epoch) = w.begin_transaction("a", &[(0, "x")]);
        let asked = vec![tp("t", 1), tp("none", 0), tp("t", 0), tp("t", 9)];
        let found = w.ask(DescribeProducers(asked.clone())).unwrap();
        assert_eq!(found.iter().map(|row| row.tp.clone()).collect::<Vec<_>>(), asked);
        assert_eq!(found[0].result, Ok(Vec::new()));
        let code = |at: usize| found[at].result.as_ref().unwrap_err().code;
        assert_eq!(code(1), ErrorCode::UNKNOWN_TOPIC_OR_PART);
        assert_eq!(code(3), ErrorCode::L_UNKNOWN_PARTITION);
        let [producer] = &found[2].result.as_ref().unwrap()[..] else {
            panic!("{found:?}");
        };
        assert_eq!((producer.producer_id, producer.producer_epoch), (id, epoch.into()));
        assert_eq!((producer.last_sequence, producer.coordinator_epoch), (Some(0), None));
        assert_eq!(producer.transaction_start_offset, Some(5));
        assert!(producer.last_timestamp.is_some());
        w.end_transaction("a", (id, epoch), true);
        let found = w.ask(DescribeProducers(vec![tp("t", 0)])).unwrap();
        let ended = found[0].result.as_ref().unwrap();
        assert_eq!(
            (ended[0].coordinator_epoch, ended[0].transaction_start_offset),
            (Some(0), None)
        );
    }

    #[test]
    fn a_moved_leader_is_asked_again_and_a_broker_of_the_options_is_not() {
        let mut w = world();
        w.fail_next(ApiKey::DESCRIBE_PRODUCERS, &[BrokerError::NOT_LEADER_OR_FOLLOWER]);
        let found = w.ask(DescribeProducers(vec![tp("t", 0)])).unwrap();
        assert!(found[0].result.is_ok());
        assert_eq!(w.count(ApiKey::DESCRIBE_PRODUCERS), 2);
        let at = |broker| crate::admin::Options {
            broker: Some(NodeId(broker)),
            ..within_ms(5000)
        };
        let both = DescribeProducers(vec![tp("t", 0), tp("t", 1)]);
        let found = w.ask_with(both, at(2)).unwrap();
        let error = found[0].result.as_ref().unwrap_err();
        assert_eq!(error.code, ErrorCode::NOT_LEADER_FOR_PARTITION);
        assert!(found[1].result.is_ok());
        assert_eq!(w.count(ApiKey::DESCRIBE_PRODUCERS), 3);
    }

    #[test]
    fn nothing_and_duplicates_are_refused_and_without_a_broker_each_partition_has_a_timeout() {
        let mut w = world();
        let text = |w: &mut World, asked| w.ask(DescribeProducers(asked)).unwrap_err().message;
        assert_eq!(text(&mut w, Vec::new()), "No partitions to describe");
        assert_eq!(
            text(&mut w, vec![tp("t", 0), tp("t", 0)]),
            "Duplicate partitions not allowed"
        );
        w.take_down(&[1, 2, 3]);
        let call = DescribeProducers(vec![tp("t", 0), tp("t", 1)]);
        let late = w.ask_with(call, within_ms(500)).unwrap();
        assert!(
            late.iter()
                .all(|row| row.result.as_ref().is_err_and(|e| e.code == ErrorCode::L_TIMED_OUT))
        );
    }
}
