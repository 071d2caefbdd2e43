//! One file per API, named like the protocol's. Each opens with what it does, per version, and what it leaves out.

use ottla_protocol::{ApiKey, DecodeError, ErrorCode, Message, Reader, Request};

use crate::CloseReason;
use crate::cluster::Cluster;
use crate::dispatch::{Context, Served};

pub(crate) mod k00_produce;
pub(crate) mod k01_fetch;
mod k02_list_offsets;
pub(crate) mod k03_metadata;
mod k08_offset_commit;
mod k09_offset_fetch;
mod k10_find_coordinator;
pub(crate) mod k11_join_group;
mod k12_heartbeat;
mod k13_leave_group;
pub(crate) mod k14_sync_group;
mod k15_describe_groups;
mod k16_list_groups;
pub(crate) mod k18_api_versions;
mod k19_create_topics;
mod k20_delete_topics;
mod k21_delete_records;
mod k22_init_producer_id;
mod k23_offset_for_leader_epoch;
mod k24_add_partitions_to_txn;
mod k25_add_offsets_to_txn;
mod k26_end_txn;
mod k28_txn_offset_commit;
mod k32_describe_configs;
mod k33_alter_configs;
mod k37_create_partitions;
mod k42_delete_groups;
mod k44_incremental_alter_configs;
mod k60_describe_cluster;
mod k65_describe_transactions;
mod k68_consumer_group_heartbeat;
mod k69_consumer_group_describe;
mod k71_get_telemetry_subscriptions;
mod k72_push_telemetry;

/// What a handler did with a request.
pub(crate) enum Answer<R> {
    Respond(R),
    /// The handler parked it.
    Delayed,
    /// It gets no answer.
    Nothing,
    Close(CloseReason),
}

/// The broker's side of one API.
pub(crate) trait Handler {
    type Request: Request;

    /// The versions that a Kafka 4.x broker serves of those that the schema has.
    const MIN_VERSION: i16 = <Self::Request as Message>::MIN_VERSION;
    const MAX_VERSION: i16 = <Self::Request as Message>::MAX_VERSION;
    /// The oldest version that the broker says it serves.
    const ADVERTISED_MIN_VERSION: i16 = Self::MIN_VERSION;
    /// The oldest version that is served where a version range stands for brokers too old for [`Self::MIN_VERSION`].
    const OLDEST_VERSION: i16 = Self::MIN_VERSION;

    /// Serves a request.
    fn handle(cluster: &mut Cluster, context: &Context, request: Self::Request) -> AnswerOf<Self>;

    /// Answers every part of a request with `error`, without serving it.
    fn refuse(cluster: &Cluster, context: &Context, request: Self::Request, error: ErrorCode) -> AnswerOf<Self>;
}

pub(crate) type AnswerOf<H> = Answer<<<H as Handler>::Request as Request>::Response>;

/// An API that the brokers serve, whatever its types.
pub(crate) struct Api {
    pub(crate) key: ApiKey,
    pub(crate) min_version: i16,
    pub(crate) max_version: i16,
    pub(crate) advertised_min_version: i16,
    pub(crate) oldest_version: i16,
    pub(crate) serve: fn(&mut Cluster, &Context, &mut Reader, Option<ErrorCode>) -> Served,
}

impl Api {
    const fn of<H: Handler>() -> Self {
        Self {
            key: <H::Request as Message>::KEY,
            min_version: H::MIN_VERSION,
            max_version: H::MAX_VERSION,
            advertised_min_version: H::ADVERTISED_MIN_VERSION,
            oldest_version: H::OLDEST_VERSION,
            serve: serve::<H>,
        }
    }
}

/// What the brokers serve, by ascending key. Sasl takes its place here.
pub(crate) static APIS: &[Api] = &[
    Api::of::<k00_produce::Produce>(),
    Api::of::<k01_fetch::Fetch>(),
    Api::of::<k02_list_offsets::ListOffsets>(),
    Api::of::<k03_metadata::Metadata>(),
    Api::of::<k08_offset_commit::OffsetCommit>(),
    Api::of::<k09_offset_fetch::OffsetFetch>(),
    Api::of::<k10_find_coordinator::FindCoordinator>(),
    Api::of::<k11_join_group::JoinGroup>(),
    Api::of::<k12_heartbeat::Heartbeat>(),
    Api::of::<k13_leave_group::LeaveGroup>(),
    Api::of::<k14_sync_group::SyncGroup>(),
    Api::of::<k15_describe_groups::DescribeGroups>(),
    Api::of::<k16_list_groups::ListGroups>(),
    Api::of::<k18_api_versions::ApiVersions>(),
    Api::of::<k19_create_topics::CreateTopics>(),
    Api::of::<k20_delete_topics::DeleteTopics>(),
    Api::of::<k21_delete_records::DeleteRecords>(),
    Api::of::<k22_init_producer_id::InitProducerId>(),
    Api::of::<k23_offset_for_leader_epoch::OffsetForLeaderEpoch>(),
    Api::of::<k24_add_partitions_to_txn::AddPartitionsToTxn>(),
    Api::of::<k25_add_offsets_to_txn::AddOffsetsToTxn>(),
    Api::of::<k26_end_txn::EndTxn>(),
    Api::of::<k28_txn_offset_commit::TxnOffsetCommit>(),
    Api::of::<k32_describe_configs::DescribeConfigs>(),
    Api::of::<k33_alter_configs::AlterConfigs>(),
    Api::of::<k37_create_partitions::CreatePartitions>(),
    Api::of::<k42_delete_groups::DeleteGroups>(),
    Api::of::<k44_incremental_alter_configs::IncrementalAlterConfigs>(),
    Api::of::<k60_describe_cluster::DescribeCluster>(),
    Api::of::<k65_describe_transactions::DescribeTransactions>(),
    Api::of::<k68_consumer_group_heartbeat::ConsumerGroupHeartbeat>(),
    Api::of::<k69_consumer_group_describe::ConsumerGroupDescribe>(),
    Api::of::<k71_get_telemetry_subscriptions::GetTelemetrySubscriptions>(),
    Api::of::<k72_push_telemetry::PushTelemetry>(),
];

/// The handler of an API.
pub(crate) fn find(key: ApiKey) -> Option<&'static Api> {
    APIS.iter().find(|api| api.key == key)
}

fn serve<H: Handler>(
    cluster: &mut Cluster,
    context: &Context,
    reader: &mut Reader,
    refusal: Option<ErrorCode>,
) -> Served {
    let lenient = cluster.config.ignore_trailing_bytes;
    let request = match read::<H::Request>(reader, context.version, lenient) {
        Ok(request) => request,
        Err(error) => return Served::Close(CloseReason::Malformed(error)),
    };
    let answer = match (refusal, context.error_after) {
        (None, None) => H::handle(cluster, context, request),
        (Some(error), _) => H::refuse(cluster, context, request, error),
        (None, Some(error)) => match H::handle(cluster, context, request.clone()) {
            Answer::Respond(_) => H::refuse(cluster, context, request, error),
            // What is parked is given its error when it is done.
            other => other,
        },
    };
    match answer {
        Answer::Respond(response) => match context.encode(&response) {
            Ok(frame) => Served::Frame(frame),
            Err(reason) => Served::Close(reason),
        },
        Answer::Delayed => Served::Delayed,
        Answer::Nothing => Served::Nothing,
        Answer::Close(reason) => Served::Close(reason),
    }
}

/// PRODUCER_FENCED as clients are told whose version does not know it yet.
fn fenced_before(version: i16, context: &Context, error: ErrorCode) -> ErrorCode {
    match error {
        ErrorCode::PRODUCER_FENCED if context.version < version => ErrorCode::INVALID_PRODUCER_EPOCH,
        error => error,
    }
}

fn read<R: Request>(reader: &mut Reader, version: i16, lenient: bool) -> Result<R, DecodeError> {
    let request = R::decode(reader, version)?;
    if !lenient {
        reader.finish()?;
    }
    Ok(request)
}
