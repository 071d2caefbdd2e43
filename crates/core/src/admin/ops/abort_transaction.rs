//! AbortTransaction: writes an ABORT marker to a partition whose transaction hangs: its coordinator does not know of it and
//! never ends it, so that read-committed consumers get stuck (KIP-664).

use ottla_protocol::DecodeError;
use ottla_protocol::api::write_txn_markers::{WritableTxnMarker, WritableTxnMarkerTopic, WriteTxnMarkersRequest};

use crate::admin::operation::{Answer, Keys, Operation, Options, Rows, To, Verdict, Verdicts, error_of, row_of};
use crate::error::{Error, ErrorCode};
use crate::request::Target;
use crate::types::TopicPartition;

/// Aborts a producer's open transaction in one partition, at its leader. The values are those of
/// [`DescribeProducers`](super::DescribeProducers). Requires Kafka 2.8, and the permission to change the cluster.
///
/// The marker is one of transaction version 1, whose epoch may be that of the producer's last batch.
#[derive(Debug, Clone)]
pub struct AbortTransaction {
    /// The partition.
    pub partition: TopicPartition,
    /// The producer's id.
    pub producer_id: i64,
    /// The producer's epoch. Later records of older epochs fail.
    pub producer_epoch: i16,
    /// The epoch of the producer's coordinator. It must not be older than that of the producer's last marker in the
    /// partition. Later markers with older epochs fail.
    pub coordinator_epoch: i32,
}

impl Operation for AbortTransaction {
    const NAME: &'static str = "AbortTransaction";
    type Key = TopicPartition;
    type Row = ();
    type Output = ();

    fn check(&self, _: &Options) -> Result<(), Error> {
        let negative = |name: &str| Err(Error::invalid_arg(format!("The {name} is negative")));
        match () {
            () if self.producer_id < 0 => negative("producer id"),
            () if self.producer_epoch < 0 => negative("producer epoch"),
            // A producer without markers has none: the first coordinator has epoch 0.
            () if self.coordinator_epoch < 0 => negative("coordinator epoch"),
            () => Ok(()),
        }
    }

    fn keys(&self) -> Keys<TopicPartition> {
        Keys::Known(vec![self.partition.clone()])
    }

    fn target(&self, key: &TopicPartition) -> Target {
        Target::Leader(key.clone())
    }

    /// The second marker could abort the producer's next transaction, whose epoch may be the same.
    fn is_repeatable(&self, _: &Options) -> bool {
        false
    }

    fn send(&self, keys: &[TopicPartition], to: &mut To<'_, '_>) -> Result<(), Error> {
        let topic = |tp: &TopicPartition| WritableTxnMarkerTopic {
            name: tp.topic.to_string(),
            partition_indexes: vec![tp.partition],
            ..Default::default()
        };
        to.send(&WriteTxnMarkersRequest {
            markers: vec![WritableTxnMarker {
                producer_id: self.producer_id,
                producer_epoch: self.producer_epoch,
                transaction_result: false,
                topics: keys.iter().map(topic).collect(),
                coordinator_epoch: self.coordinator_epoch,
                ..Default::default()
            }],
            ..Default::default()
        })
    }

    fn read(&self, _: &[TopicPartition], answer: &Answer<'_>) -> Result<Verdicts<Self>, DecodeError> {
        let markers = answer.decode::<WriteTxnMarkersRequest>()?.markers.into_iter();
        let mut verdicts = Vec::new();
        for topic in markers
            .filter(|m| m.producer_id == self.producer_id)
            .flat_map(|m| m.topics)
        {
            let name: std::sync::Arc<str> = topic.name.into();
            for row in topic.partitions {
                let key = TopicPartition::new(name.clone(), row.partition_index);
                verdicts.push((key, verdict(row.error_code)));
            }
        }
        Ok(verdicts)
    }

    fn finish(&self, rows: Rows<Self>) -> Result<(), Error> {
        row_of(&rows, &self.partition)
    }
}

fn verdict<K>(code: i16) -> Verdict<K, ()> {
    match error_of(code, None) {
        None => Verdict::Done(()),
        // The broker starts.
        Some(error)
            if matches!(
                error.code,
                ErrorCode::REPLICA_NOT_AVAILABLE | ErrorCode::BROKER_NOT_AVAILABLE
            ) =>
        {
            Verdict::Retry(error)
        }
        Some(error) => Verdict::Failed(error),
    }
}

#[cfg(test)]
mod tests {
    use ottla_mock::{ApiKey, ErrorCode as BrokerError, FaultAction};

    use super::*;
    use crate::test_kit::{World, within_ms};

    /// Three partitions, led by the brokers 1 to 3, two of which have an open transaction.
    fn world() -> (World, AbortTransaction) {
        let mut w = World::producer(&[("retry.backoff.ms", "10")], &[]);
        w.add_topic("t", &[1, 2, 3]);
        let (producer_id, producer_epoch) = w.begin_transaction("a", &[(0, "x"), (1, "y")]);
        let abort = AbortTransaction {
            partition: TopicPartition::new("t", 1),
            producer_id,
            producer_epoch,
            coordinator_epoch: 0,
        };
        (w, abort)
    }

    fn last_stable(w: &mut World, partition: i32) -> i64 {
        w.brokers().watermarks("t", partition).unwrap().last_stable_offset
    }

    #[test]
    fn the_transaction_of_one_partition_is_aborted_at_its_leader() {
        let (mut w, abort) = world();
        w.ask(abort.clone()).unwrap();
        assert_eq!((last_stable(&mut w, 0), last_stable(&mut w, 1)), (0, 2));
        let (arrival, request) = w.expect::<WriteTxnMarkersRequest>();
        assert_eq!(arrival.node, 2);
        assert_eq!(request.markers[0].transaction_version, 0);
    }

    #[test]
    fn old_epochs_are_refused() {
        let (mut w, abort) = world();
        w.ask(AbortTransaction {
            producer_epoch: 3,
            coordinator_epoch: 7,
            ..abort.clone()
        })
        .unwrap();
        let error = w.ask(abort.clone()).unwrap_err();
        assert_eq!(error.code, ErrorCode::INVALID_PRODUCER_EPOCH);
        let fenced = AbortTransaction {
            producer_epoch: 3,
            ..abort
        };
        let error = w.ask(fenced).unwrap_err();
        assert_eq!(error.code, ErrorCode::TRANSACTION_COORDINATOR_FENCED);
    }

    #[test]
    fn a_moved_leader_is_asked_again() {
        let (mut w, abort) = world();
        let errors = [
            BrokerError::NOT_LEADER_OR_FOLLOWER,
            BrokerError::UNKNOWN_TOPIC_OR_PARTITION,
            BrokerError::REPLICA_NOT_AVAILABLE,
            BrokerError::BROKER_NOT_AVAILABLE,
        ];
        w.fail_next(ApiKey::WRITE_TXN_MARKERS, &errors);
        w.ask(abort).unwrap();
        assert_eq!(w.count(ApiKey::WRITE_TXN_MARKERS), 5);
        assert_eq!(last_stable(&mut w, 1), 2);
    }

    #[test]
    fn a_lost_response_is_an_error_and_the_marker_is_not_repeated() {
        let (mut w, abort) = world();
        w.fault_next(ApiKey::WRITE_TXN_MARKERS, FaultAction::DisconnectAfter);
        let error = w.ask(abort).unwrap_err();
        assert!(error.message.contains("may have executed"), "{error}");
        assert_eq!(w.count(ApiKey::WRITE_TXN_MARKERS), 1);
    }

    #[test]
    fn missing_partitions_negative_values_and_timeouts_are_errors_of_the_call() {
        let (mut w, abort) = world();
        let missing = AbortTransaction {
            partition: TopicPartition::new("none", 0),
            ..abort.clone()
        };
        assert_eq!(w.ask(missing).unwrap_err().code, ErrorCode::UNKNOWN_TOPIC_OR_PART);
        let refused = [
            AbortTransaction {
                producer_id: -1,
                ..abort.clone()
            },
            AbortTransaction {
                producer_epoch: -1,
                ..abort.clone()
            },
            AbortTransaction {
                coordinator_epoch: -1,
                ..abort.clone()
            },
        ];
        for (call, name) in refused
            .into_iter()
            .zip(["producer id", "producer epoch", "coordinator epoch"])
        {
            let error = w.ask(call).unwrap_err();
            assert_eq!(
                (error.code, error.message),
                (ErrorCode::L_INVALID_ARG, format!("The {name} is negative"))
            );
        }
        w.take_down(&[1, 2, 3]);
        let error = w.ask_with(abort, within_ms(500)).unwrap_err();
        assert_eq!(error.code, ErrorCode::L_TIMED_OUT);
    }
}
