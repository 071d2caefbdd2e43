//! WriteTxnMarkers (key 27): the coordinator has partition leaders write the end of a transaction (KIP-98).
//!
//! Clients send it only to abort a hanging transaction (KIP-664).
//!
//! - 0: gone in Kafka 4.x
//! - 1: flexible (KIP-482)
//! - 2: the transaction's version (KIP-1228)

use crate::schema::schema;

schema! {
    api WRITE_TXN_MARKERS, versions 0-2, flexible 1+;

    /// The request.
    request WriteTxnMarkersRequest -> WriteTxnMarkersResponse {
        markers: Vec<WritableTxnMarker> [0+],
    }

    /// The end of one transaction.
    struct WritableTxnMarker {
        producer_id: i64 [0+],
        producer_epoch: i16 [0+],
        /// True for commit, false for abort.
        transaction_result: bool [0+],
        topics: Vec<WritableTxnMarkerTopic> [0+],
        coordinator_epoch: i32 [0+],
        transaction_version: i8 [2+],
    }

    /// Partitions of one topic to write the marker to.
    struct WritableTxnMarkerTopic {
        name: String [0+],
        partition_indexes: Vec<i32> [0+],
    }

    /// The response.
    response WriteTxnMarkersResponse {
        markers: Vec<WritableTxnMarkerResult> [0+],
    }

    /// The outcome for one transaction.
    struct WritableTxnMarkerResult {
        producer_id: i64 [0+],
        topics: Vec<WritableTxnMarkerTopicResult> [0+],
    }

    /// The outcome for one topic.
    struct WritableTxnMarkerTopicResult {
        name: String [0+],
        partitions: Vec<WritableTxnMarkerPartitionResult> [0+],
    }

    /// The outcome for one partition.
    struct WritableTxnMarkerPartitionResult {
        partition_index: i32 [0+],
        error_code: i16 [0+],
    }
}
