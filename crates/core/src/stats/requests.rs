//! The names of requests in `req`. They are librdkafka's, which programs that read statistics expect, also where they
//! differ from Kafka's names of the APIs.

use std::collections::BTreeMap;

use ottla_protocol::ApiKey;

use crate::types::ClientKind;

/// The clients that show a request's counter while it is 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Shown {
    Always,
    ByProducers,
    ByConsumers,
    /// None: the counter is shown from the first request on.
    WhenUsed,
}

use Shown::{Always, ByConsumers, ByProducers, WhenUsed};

/// Requests shown with a count of 0, and requests with names other than Kafka's. Others are shown by Kafka's name from the
/// first request on.
pub(super) const REQUESTS: &[(ApiKey, &str, Shown)] = &[
    (ApiKey::PRODUCE, "Produce", ByProducers),
    (ApiKey::FETCH, "Fetch", ByConsumers),
    (ApiKey::LIST_OFFSETS, "ListOffsets", Always),
    (ApiKey::METADATA, "Metadata", Always),
    (ApiKey::OFFSET_COMMIT, "OffsetCommit", ByConsumers),
    (ApiKey::OFFSET_FETCH, "OffsetFetch", ByConsumers),
    (ApiKey::FIND_COORDINATOR, "FindCoordinator", Always),
    (ApiKey::JOIN_GROUP, "JoinGroup", ByConsumers),
    (ApiKey::HEARTBEAT, "Heartbeat", ByConsumers),
    (ApiKey::LEAVE_GROUP, "LeaveGroup", ByConsumers),
    (ApiKey::SYNC_GROUP, "SyncGroup", ByConsumers),
    (ApiKey::SASL_HANDSHAKE, "SaslHandshake", Always),
    (ApiKey::API_VERSIONS, "ApiVersion", Always),
    (ApiKey::INIT_PRODUCER_ID, "InitProducerId", ByProducers),
    (ApiKey::ADD_PARTITIONS_TO_TXN, "AddPartitionsToTxn", ByProducers),
    (ApiKey::ADD_OFFSETS_TO_TXN, "AddOffsetsToTxn", ByProducers),
    (ApiKey::END_TXN, "EndTxn", ByProducers),
    (ApiKey::TXN_OFFSET_COMMIT, "TxnOffsetCommit", ByProducers),
    (ApiKey::SASL_AUTHENTICATE, "SaslAuthenticate", Always),
    (ApiKey(43), "ElectLeadersRequest", WhenUsed),
    (ApiKey(44), "IncrementalAlterConfigsRequest", WhenUsed),
    (ApiKey(45), "AlterPartitionReassignmentsRequest", WhenUsed),
    (ApiKey(46), "ListPartitionReassignmentsRequest", WhenUsed),
    (ApiKey(47), "OffsetDeleteRequest", WhenUsed),
    (ApiKey(48), "DescribeClientQuotasRequest", WhenUsed),
    (ApiKey(49), "AlterClientQuotasRequest", WhenUsed),
    (ApiKey(50), "DescribeUserScramCredentialsRequest", WhenUsed),
    (ApiKey(51), "AlterUserScramCredentialsRequest", WhenUsed),
    (ApiKey(55), "DescribeQuorumRequest", WhenUsed),
    (ApiKey(57), "UpdateFeaturesRequest", WhenUsed),
    (ApiKey(60), "DescribeCluster", Always),
    (ApiKey(61), "DescribeProducers", Always),
    (ApiKey::DESCRIBE_TRANSACTIONS, "DescribeTransactions", Always),
    (ApiKey(66), "ListTransactions", Always),
    (ApiKey(71), "GetTelemetrySubscriptions", Always),
    (ApiKey(72), "PushTelemetry", Always),
    (ApiKey(76), "ShareGroupHeartbeat", Always),
    (ApiKey(78), "ShareFetch", Always),
    (ApiKey(79), "ShareAcknowledge", Always),
];

/// Returns a connection's request counts by name, from those by key.
pub fn request_counts(kind: ClientKind, by_key: &BTreeMap<ApiKey, u64>) -> BTreeMap<&'static str, u64> {
    let shown = |shown: Shown| match shown {
        Always => true,
        ByProducers => kind == ClientKind::Producer,
        ByConsumers => kind.is_consumer(),
        WhenUsed => false,
    };
    let zeros = REQUESTS.iter().filter(|r| shown(r.2)).map(|r| (r.1, 0));
    let mut counts: BTreeMap<&'static str, u64> = zeros.collect();
    for (key, count) in by_key {
        let own = REQUESTS.iter().find(|r| r.0 == *key).map(|r| r.1);
        if let Some(name) = own.or_else(|| key.name()) {
            counts.insert(name, *count);
        }
    }
    counts
}
