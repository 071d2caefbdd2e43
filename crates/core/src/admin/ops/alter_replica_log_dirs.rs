//! AlterReplicaLogDirs: moves replicas to other log directories of their brokers (KIP-113).

use std::collections::BTreeMap;
use std::sync::Arc;

use ottla_protocol::DecodeError;
use ottla_protocol::api::alter_replica_log_dirs::{
    AlterReplicaLogDir, AlterReplicaLogDirTopic, AlterReplicaLogDirsRequest,
};

use super::partitions::{by_topic, has_duplicate};
use super::topic_result::check_not_empty;
use crate::admin::operation::{Answer, Keys, Operation, Options, Rows, To, Verdict, Verdicts, row_of};
use crate::error::Error;
use crate::request::Target;
use crate::types::{NodeId, TopicPartition};

/// A replica and the log directory that it is moved to.
#[derive(Debug, Clone)]
pub struct ReplicaMove {
    /// The broker of the replica.
    pub broker: NodeId,
    /// The partition.
    pub tp: TopicPartition,
    /// The absolute path of the log directory.
    pub log_dir: String,
}

impl ReplicaMove {
    fn key(&self) -> ReplicaKey {
        (self.broker, self.tp.clone())
    }
}

/// The outcome for one replica.
#[derive(Debug, Clone)]
pub struct ReplicaMoveResult {
    /// The broker of the replica.
    pub broker: NodeId,
    /// The partition.
    pub tp: TopicPartition,
    /// The error, such as LOG_DIR_NOT_FOUND; `None` if the move has begun.
    pub error: Option<Error>,
}

type ReplicaKey = (NodeId, TopicPartition);

/// Begins moves of replicas. A replica that the broker does not have yet is created in the directory later.
#[derive(Debug, Clone)]
pub struct AlterReplicaLogDirs(pub Vec<ReplicaMove>);

impl Operation for AlterReplicaLogDirs {
    const NAME: &'static str = "AlterReplicaLogDirs";
    const KEYS_FAIL_ALONE: bool = true;
    type Key = ReplicaKey;
    type Row = ();
    type Output = Vec<ReplicaMoveResult>;

    fn check(&self, _: &Options) -> Result<(), Error> {
        check_not_empty(Self::NAME, self.0.is_empty())?;
        match has_duplicate(self.0.iter().map(ReplicaMove::key)) {
            true => Err(Error::invalid_arg("Duplicate replicas not allowed")),
            false => Ok(()),
        }
    }

    fn keys(&self) -> Keys<ReplicaKey> {
        Keys::Known(self.0.iter().map(ReplicaMove::key).collect())
    }

    fn target(&self, (broker, _): &ReplicaKey) -> Target {
        Target::Broker(*broker)
    }

    /// The second move to the same directory has no effect.
    fn is_repeatable(&self, _: &Options) -> bool {
        true
    }

    fn send(&self, keys: &[ReplicaKey], to: &mut To<'_, '_>) -> Result<(), Error> {
        let asked = |replica: &&ReplicaMove| keys.binary_search(&replica.key()).is_ok();
        let mut by_dir: BTreeMap<&str, Vec<&TopicPartition>> = BTreeMap::new();
        for replica in self.0.iter().filter(asked) {
            by_dir.entry(&replica.log_dir).or_default().push(&replica.tp);
        }
        let topic = |(name, partitions): (Arc<str>, Vec<(i32, ())>)| AlterReplicaLogDirTopic {
            name: name.to_string(),
            partitions: partitions.into_iter().map(|(partition, ())| partition).collect(),
            ..Default::default()
        };
        let dir = |(path, partitions): (&str, Vec<&TopicPartition>)| AlterReplicaLogDir {
            path: path.to_owned(),
            topics: by_topic(partitions.into_iter().map(|tp| (tp, ())))
                .into_iter()
                .map(topic)
                .collect(),
            ..Default::default()
        };
        to.send(&AlterReplicaLogDirsRequest {
            dirs: by_dir.into_iter().map(dir).collect(),
            ..Default::default()
        })
    }

    fn read(&self, keys: &[ReplicaKey], answer: &Answer<'_>) -> Result<Verdicts<Self>, DecodeError> {
        let response = answer.decode::<AlterReplicaLogDirsRequest>()?;
        let broker = keys.first().map_or(answer.broker().id, |(broker, _)| *broker);
        let mut verdicts = Vec::new();
        for topic in response.results {
            let name: Arc<str> = topic.topic_name.into();
            verdicts.extend(topic.partitions.into_iter().map(|row| {
                let tp = TopicPartition::new(name.clone(), row.partition_index);
                ((broker, tp), Verdict::of(row.error_code, None, ()))
            }));
        }
        Ok(verdicts)
    }

    fn finish(&self, rows: Rows<Self>) -> Result<Vec<ReplicaMoveResult>, Error> {
        let result = |replica: &ReplicaMove| ReplicaMoveResult {
            broker: replica.broker,
            tp: replica.tp.clone(),
            error: row_of(&rows, &replica.key()).err(),
        };
        Ok(self.0.iter().map(result).collect())
    }
}
