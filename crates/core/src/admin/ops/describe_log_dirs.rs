//! DescribeLogDirs: the log directories of brokers and the replicas in them (KIP-113).

use std::sync::Arc;

use ottla_protocol::DecodeError;
use ottla_protocol::api::describe_log_dirs::{DescribableLogDirTopic, DescribeLogDirsRequest, DescribeLogDirsResult};

use super::partitions::{by_topic, has_duplicate};
use crate::admin::operation::{Answer, Keys, Operation, Options, Rows, To, Verdict, Verdicts, error_of};
use crate::error::{Error, ErrorCode};
use crate::request::Target;
use crate::types::{NodeId, TopicPartition};

/// The log directories of a broker.
#[derive(Debug, Clone)]
pub struct BrokerLogDirs {
    /// The broker.
    pub broker: NodeId,
    /// The error of the broker; `None` on success.
    pub error: Option<Error>,
    /// Its log directories.
    pub log_dirs: Vec<LogDir>,
}

/// A log directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogDir {
    /// Its absolute path.
    pub path: String,
    /// The error of the directory, such as KAFKA_STORAGE_ERROR; `None` on success.
    pub error: Option<ErrorCode>,
    /// The size of its volume in bytes; `None` if it is unknown, and from brokers before Kafka 3.3 (KIP-827).
    pub total_bytes: Option<i64>,
    /// The usable bytes of its volume; `None` like the size.
    pub usable_bytes: Option<i64>,
    /// It receives no new replicas (KIP-1066); false from brokers before Kafka 4.3.
    pub is_cordoned: bool,
    /// The replicas in it.
    pub replicas: Vec<LogDirReplica>,
}

/// A replica in a log directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogDirReplica {
    /// The partition.
    pub tp: TopicPartition,
    /// The size of its log segments in bytes.
    pub size_bytes: i64,
    /// The offsets that it lacks up to the high watermark or, for a future replica, up to the end of the current one.
    pub offset_lag: i64,
    /// The replica is being moved to this directory.
    pub is_future: bool,
}

/// Describes the log directories of brokers, each broker with its own error.
#[derive(Debug, Clone, Default)]
pub struct DescribeLogDirs {
    /// The brokers, each once; empty for all of the cluster.
    pub brokers: Vec<NodeId>,
    /// The partitions whose replicas are returned; `None` for all. Directories without such replicas are returned as well.
    pub partitions: Option<Vec<TopicPartition>>,
}

impl Operation for DescribeLogDirs {
    const NAME: &'static str = "DescribeLogDirs";
    const KEYS_FAIL_ALONE: bool = true;
    type Key = NodeId;
    type Row = Vec<LogDir>;
    type Output = Vec<BrokerLogDirs>;

    fn check(&self, _: &Options) -> Result<(), Error> {
        if has_duplicate(&self.brokers) {
            return Err(Error::invalid_arg("Duplicate brokers not allowed"));
        }
        match has_duplicate(self.partitions.iter().flatten()) {
            true => Err(Error::invalid_arg("Duplicate partitions not allowed")),
            false => Ok(()),
        }
    }

    fn keys(&self) -> Keys<NodeId> {
        match self.brokers.is_empty() {
            true => Keys::EachBroker(|node| node),
            false => Keys::Known(self.brokers.clone()),
        }
    }

    fn target(&self, node: &NodeId) -> Target {
        Target::Broker(*node)
    }

    fn is_repeatable(&self, _: &Options) -> bool {
        true
    }

    fn send(&self, _: &[NodeId], to: &mut To<'_, '_>) -> Result<(), Error> {
        let topic = |(name, partitions): (Arc<str>, Vec<(i32, ())>)| DescribableLogDirTopic {
            topic: name.to_string(),
            partitions: partitions.into_iter().map(|(partition, ())| partition).collect(),
            ..Default::default()
        };
        let topics = self.partitions.as_ref().map(|partitions| {
            let topics = by_topic(partitions.iter().map(|tp| (tp, ())));
            topics.into_iter().map(topic).collect()
        });
        to.send(&DescribeLogDirsRequest {
            topics,
            ..Default::default()
        })
    }

    fn read(&self, keys: &[NodeId], answer: &Answer<'_>) -> Result<Verdicts<Self>, DecodeError> {
        let response = answer.decode::<DescribeLogDirsRequest>()?;
        // Before version 3 an empty response is the only sign of a missing authorization.
        let code = match response.results.is_empty() && response.error_code == 0 {
            true if answer.version() < DescribeLogDirsRequest::ERROR_SINCE => {
                ottla_protocol::ErrorCode::CLUSTER_AUTHORIZATION_FAILED.0
            }
            _ => response.error_code,
        };
        let verdict = match error_of(code, None) {
            Some(error) => Verdict::Failed(error),
            None => Verdict::Done(response.results.into_iter().map(log_dir).collect()),
        };
        Ok(keys.first().map(|key| (*key, verdict)).into_iter().collect())
    }

    fn finish(&self, rows: Rows<Self>) -> Result<Vec<BrokerLogDirs>, Error> {
        let result = |(broker, row): (NodeId, Result<Vec<LogDir>, Error>)| {
            let (log_dirs, error) = match row {
                Ok(log_dirs) => (log_dirs, None),
                Err(error) => (Vec::new(), Some(error)),
            };
            BrokerLogDirs {
                broker,
                error,
                log_dirs,
            }
        };
        let mut results: Vec<BrokerLogDirs> = rows.into_iter().map(result).collect();
        let place = |broker: &NodeId| self.brokers.iter().position(|asked| asked == broker);
        results.sort_by_key(|result| place(&result.broker));
        Ok(results)
    }
}

fn log_dir(row: DescribeLogDirsResult) -> LogDir {
    let code = ErrorCode::from(row.error_code);
    let known = |bytes: i64| (bytes >= 0).then_some(bytes);
    let mut replicas = Vec::new();
    for topic in row.topics {
        let name: Arc<str> = topic.name.into();
        replicas.extend(topic.partitions.into_iter().map(|replica| LogDirReplica {
            tp: TopicPartition::new(name.clone(), replica.partition_index),
            size_bytes: replica.partition_size,
            offset_lag: replica.offset_lag,
            is_future: replica.is_future_key,
        }));
    }
    LogDir {
        path: row.log_dir,
        error: (!code.is_ok()).then_some(code),
        total_bytes: known(row.total_bytes),
        usable_bytes: known(row.usable_bytes),
        is_cordoned: row.is_cordoned,
        replicas,
    }
}

#[cfg(test)]
mod tests {
    use ottla_mock::{ApiKey, BrokerId, ErrorCode as BrokerError, NewTopic};

    use super::*;
    use crate::admin::{AlterReplicaLogDirs, ReplicaMove};
    use crate::test_kit::{World, within_ms};

    /// A topic of two partitions: the first on brokers 1 and 2, the second on broker 3.
    fn world() -> World {
        let mut w = World::producer(&[("retry.backoff.ms", "10")], &[]);
        let topic = NewTopic {
            name: "t".into(),
            assignments: vec![vec![BrokerId(1), BrokerId(2)], vec![BrokerId(3)]],
            ..NewTopic::default()
        };
        w.brokers().create(topic).unwrap();
        w
    }

    fn describe(brokers: &[i32]) -> DescribeLogDirs {
        DescribeLogDirs {
            brokers: brokers.iter().copied().map(NodeId).collect(),
            partitions: None,
        }
    }

    /// Returns the replicas of each directory: partition, and whether it is a future replica.
    fn replicas(broker: &BrokerLogDirs) -> Vec<Vec<(i32, bool)>> {
        let of = |dir: &LogDir| dir.replicas.iter().map(|r| (r.tp.partition, r.is_future)).collect();
        broker.log_dirs.iter().map(of).collect()
    }

    fn move_to(broker: i32, partition: i32, log_dir: &str) -> ReplicaMove {
        ReplicaMove {
            broker: NodeId(broker),
            tp: TopicPartition::new("t", partition),
            log_dir: log_dir.to_owned(),
        }
    }

    #[test]
    fn brokers_are_described_in_the_order_of_the_call_and_all_by_default() {
        let mut w = world();
        let found = w.ask(describe(&[3, 1])).unwrap();
        let rows: Vec<_> = found.iter().map(|b| (b.broker.0, replicas(b))).collect();
        let expected = |partition| vec![vec![(partition, false)], vec![]];
        assert_eq!(rows, [(3, expected(1)), (1, expected(0))]);
        let dir = &found[0].log_dirs[0];
        assert!(dir.error.is_none() && !dir.is_cordoned && dir.total_bytes >= dir.usable_bytes);
        assert!(dir.usable_bytes > Some(0) && !dir.path.is_empty());
        let all = w.ask(describe(&[])).unwrap();
        assert_eq!(all.iter().map(|b| b.broker.0).collect::<Vec<_>>(), [1, 2, 3]);
        let filtered = DescribeLogDirs {
            partitions: Some(vec![TopicPartition::new("t", 1)]),
            ..describe(&[1, 3])
        };
        let found = w.ask(filtered).unwrap();
        assert_eq!(replicas(&found[0]), [vec![], vec![]]);
        assert_eq!(replicas(&found[1]), expected(1));
    }

    #[test]
    fn a_moved_replica_is_in_both_directories_until_it_is_copied() {
        let mut w = world();
        let paths: Vec<String> = w.ask(describe(&[1])).unwrap()[0]
            .log_dirs
            .iter()
            .map(|dir| dir.path.clone())
            .collect();
        let moves = AlterReplicaLogDirs(vec![
            move_to(1, 0, &paths[1]),
            move_to(2, 0, "/nowhere"),
            move_to(1, 1, &paths[1]),
            move_to(2, 9, &paths[1]),
        ]);
        let results = w.ask(moves).unwrap();
        let code = |r: &crate::admin::ReplicaMoveResult| r.error.as_ref().map(|e| e.code);
        let expected = [
            None,
            Some(ErrorCode::LOG_DIR_NOT_FOUND),
            Some(ErrorCode::REPLICA_NOT_AVAILABLE),
            Some(ErrorCode::UNKNOWN_TOPIC_OR_PART),
        ];
        assert_eq!(results.iter().map(code).collect::<Vec<_>>(), expected);
        let found = w.ask(describe(&[1])).unwrap();
        assert_eq!(replicas(&found[0]), [vec![(0, false)], vec![(0, true)]]);
        w.run_ms(1000);
        let found = w.ask(describe(&[1])).unwrap();
        assert_eq!(replicas(&found[0]), [vec![], vec![(0, false)]]);
    }

    #[test]
    fn each_broker_has_its_own_error() {
        let mut w = world();
        w.take_down(&[2]);
        let found = w.ask_with(describe(&[2, 1]), within_ms(500)).unwrap();
        assert_eq!(found[0].error.as_ref().map(|e| e.code), Some(ErrorCode::L_TIMED_OUT));
        assert!(found[0].log_dirs.is_empty() && found[1].error.is_none());
        for versions in [None, Some((1, 2))] {
            if let Some(versions) = versions {
                w.brokers().set_api_versions(ApiKey::DESCRIBE_LOG_DIRS, Some(versions));
                w.disconnect(1);
                w.run_ms(1000);
            }
            let error = BrokerError::CLUSTER_AUTHORIZATION_FAILED;
            w.fail_next(ApiKey::DESCRIBE_LOG_DIRS, &[error]);
            let found = w.ask(describe(&[1])).unwrap();
            let code = found[0].error.as_ref().map(|e| e.code);
            assert_eq!(code, Some(ErrorCode::CLUSTER_AUTHORIZATION_FAILED));
        }
        let found = w.ask(describe(&[1])).unwrap();
        assert_eq!(
            found[0].log_dirs[0].total_bytes, None,
            "version 2 has no sizes of volumes"
        );
    }

    #[test]
    fn duplicates_and_calls_without_replicas_are_refused() {
        let mut w = world();
        assert!(w.ask(describe(&[1, 1])).is_err());
        let tp = TopicPartition::new("t", 0);
        let twice = DescribeLogDirs {
            partitions: Some(vec![tp.clone(), tp]),
            ..describe(&[1])
        };
        assert!(w.ask(twice).is_err());
        assert!(w.ask(AlterReplicaLogDirs(Vec::new())).is_err());
        let moves = vec![move_to(1, 0, "/a"), move_to(1, 0, "/b")];
        let error = w.ask(AlterReplicaLogDirs(moves)).unwrap_err();
        assert_eq!(error.message, "Duplicate replicas not allowed");
    }
}
