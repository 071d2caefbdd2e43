//! WriteTxnMarkers (key 27).

use crate::schema::schema;

schema! {
    api WRITE_TXN_MARKERS, versions 0-2, flexible 1+;

    /// The request.
    request WriteTxnMarkersRequest -> WriteTxnMarkersResponse {
        markers: Vec<WritableTxnMarker> [0+],
    }

    /// Part of the request.
    struct WritableTxnMarker {
        producer_id: i64 [0+],
        producer_epoch: i16 [0+],
        transaction_result: bool [0+],
        topics: Vec<WritableTxnMarkerTopic> [0+],
        coordinator_epoch: i32 [0+],
        transaction_version: i8 [2+],
    }

    /// Part of the request.
    struct WritableTxnMarkerTopic {
        name: String [0+],
        partition_indexes: Vec<i32> [0+],
    }

    /// The response.
    response WriteTxnMarkersResponse {
        markers: Vec<WritableTxnMarkerResult> [0+],
    }

    /// Part of the response.
    struct WritableTxnMarkerResult {
        producer_id: i64 [0+],
        topics: Vec<WritableTxnMarkerTopicResult> [0+],
    }

    /// Part of the response.
    struct WritableTxnMarkerTopicResult {
        name: String [0+],
        partitions: Vec<WritableTxnMarkerPartitionResult> [0+],
    }

    /// Part of the response.
    struct WritableTxnMarkerPartitionResult {
        partition_index: i32 [0+],
        error_code: i16 [0+],
    }
}
