//! AlterReplicaLogDirs (key 34), versions 1 and 2.
//!
//! Moves this broker's replicas to another of its log directories. The copy takes the configured time, during which
//! DescribeLogDirs returns the replica in both directories. The directory of a replica that the broker does not have is
//! noted for the future. Errors per partition: LOG_DIR_NOT_FOUND, UNKNOWN_TOPIC_OR_PARTITION, REPLICA_NOT_AVAILABLE.

use ottla_protocol::ErrorCode;
use ottla_protocol::api::alter_replica_log_dirs::{
    AlterReplicaLogDirPartitionResult, AlterReplicaLogDirTopicResult, AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
};

use super::handler::{Answer, AnswerOf, Handler};
use crate::cluster::Cluster;
use crate::ids::BrokerId;
use crate::request::Context;
use crate::timers::Timer;

pub(crate) struct AlterReplicaLogDirs;

impl Handler for AlterReplicaLogDirs {
    type Request = AlterReplicaLogDirsRequest;

    const MIN_VERSION: i16 = 1;

    fn handle(cluster: &mut Cluster, context: &Context, request: AlterReplicaLogDirsRequest) -> AnswerOf<Self> {
        respond(context, request, |dir, topic, partition| {
            match alter(cluster, context.broker, dir, (topic, partition)) {
                Ok(()) => ErrorCode::NONE,
                Err(error) => error,
            }
        })
    }

    fn refuse(_: &Cluster, context: &Context, request: AlterReplicaLogDirsRequest, error: ErrorCode) -> AnswerOf<Self> {
        respond(context, request, |_, _, _| error)
    }
}

fn alter(cluster: &mut Cluster, broker: BrokerId, dir: &str, (topic, index): (&str, i32)) -> Result<(), ErrorCode> {
    let state = &mut cluster.state;
    let topic = state.topics.by_name_mut(topic);
    let topic = topic.ok_or(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION)?;
    let id = topic.id;
    let partition = topic
        .partition_mut(index)
        .ok_or(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION)?;
    let exists = partition.replicas.contains(&broker);
    if partition.places.set(broker, dir, exists)? {
        let timer = Timer::ReplicaCopied {
            broker,
            topic: id,
            partition: index,
        };
        state
            .timers
            .set(state.now.plus_us(state.config.replica_copy_delay_us), timer);
    }
    match exists {
        true => Ok(()),
        false => Err(ErrorCode::REPLICA_NOT_AVAILABLE),
    }
}

fn respond(
    context: &Context,
    request: AlterReplicaLogDirsRequest,
    mut alter: impl FnMut(&str, &str, i32) -> ErrorCode,
) -> Answer<AlterReplicaLogDirsResponse> {
    let mut results = Vec::new();
    for dir in &request.dirs {
        for topic in &dir.topics {
            let partitions = topic.partitions.iter().map(|index| AlterReplicaLogDirPartitionResult {
                partition_index: *index,
                error_code: alter(&dir.path, &topic.name, *index).0,
                ..Default::default()
            });
            results.push(AlterReplicaLogDirTopicResult {
                partitions: partitions.collect(),
                topic_name: topic.name.clone(),
                ..Default::default()
            });
        }
    }
    Answer::Respond(AlterReplicaLogDirsResponse {
        throttle_time_ms: context.throttle_time_ms,
        results,
        ..Default::default()
    })
}
