//! DescribeLogDirs (key 35), versions 1 to 5.
//!
//! This broker's log directories with its replicas, all or those of the requested partitions. The size of a replica is that
//! of the partition's log; a replica that is being copied is empty, and lags behind by the whole log. From version 4 on the
//! size of the volume and its usable bytes.
//!
//! Omitted: directories that failed or are cordoned (version 5).

use ottla_protocol::ErrorCode;
use ottla_protocol::api::describe_log_dirs::{
    DescribableLogDirTopic, DescribeLogDirsPartition, DescribeLogDirsRequest, DescribeLogDirsResponse,
    DescribeLogDirsResult, DescribeLogDirsTopic,
};

use super::handler::{Answer, AnswerOf, Handler};
use crate::cluster::Cluster;
use crate::ids::BrokerId;
use crate::log_dirs::{LOG_DIRS, VOLUME_BYTES};
use crate::request::Context;
use crate::topics::Partition;

pub(crate) struct DescribeLogDirs;

impl Handler for DescribeLogDirs {
    type Request = DescribeLogDirsRequest;

    const MIN_VERSION: i16 = 1;

    fn handle(cluster: &mut Cluster, context: &Context, request: DescribeLogDirsRequest) -> AnswerOf<Self> {
        let dirs = (0..).zip(LOG_DIRS).map(|(dir, path)| {
            let all = replicas(cluster, context.broker, dir, None);
            let used: i64 = all.iter().flat_map(|t| &t.partitions).map(|p| p.partition_size).sum();
            DescribeLogDirsResult {
                log_dir: path.into(),
                topics: match &request.topics {
                    None => all,
                    Some(topics) => replicas(cluster, context.broker, dir, Some(topics)),
                },
                total_bytes: VOLUME_BYTES,
                usable_bytes: (VOLUME_BYTES - used).max(0),
                ..Default::default()
            }
        });
        Answer::Respond(DescribeLogDirsResponse {
            throttle_time_ms: context.throttle_time_ms,
            results: dirs.collect(),
            ..Default::default()
        })
    }

    fn refuse(_: &Cluster, context: &Context, _: DescribeLogDirsRequest, error: ErrorCode) -> AnswerOf<Self> {
        Answer::Respond(DescribeLogDirsResponse {
            throttle_time_ms: context.throttle_time_ms,
            error_code: error.0,
            ..Default::default()
        })
    }
}

/// Returns a broker's replicas in a directory.
fn replicas(
    cluster: &Cluster,
    broker: BrokerId,
    dir: usize,
    wanted: Option<&Vec<DescribableLogDirTopic>>,
) -> Vec<DescribeLogDirsTopic> {
    let is_wanted = |topic: &str, index: i32| {
        let is_it = |t: &DescribableLogDirTopic| t.topic == topic && t.partitions.contains(&index);
        wanted.is_none_or(|topics| topics.iter().any(is_it))
    };
    let topics = cluster.state.topics.iter().map(|topic| {
        let rows = topic.indexed().filter(|(index, _)| is_wanted(&topic.name, *index));
        DescribeLogDirsTopic {
            name: topic.name.clone(),
            partitions: rows.filter_map(|(index, p)| replica(p, index, broker, dir)).collect(),
            ..Default::default()
        }
    });
    topics.filter(|topic| !topic.partitions.is_empty()).collect()
}

fn replica(partition: &Partition, index: i32, broker: BrokerId, dir: usize) -> Option<DescribeLogDirsPartition> {
    if !partition.replicas.contains(&broker) {
        return None;
    }
    let place = partition.places.of(broker);
    let is_future = place.future == Some(dir);
    if place.current != dir && !is_future {
        return None;
    }
    let is_copied = partition.isr.contains(&broker) && !is_future;
    let size = i64::try_from(partition.log.size_bytes()).unwrap_or(i64::MAX);
    Some(DescribeLogDirsPartition {
        partition_index: index,
        partition_size: if is_copied { size } else { 0 },
        offset_lag: match is_copied {
            true => 0,
            false => partition.log.high_watermark() - partition.log.start_offset(),
        },
        is_future_key: is_future,
        ..Default::default()
    })
}
