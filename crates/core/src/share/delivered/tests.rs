use super::*;
use crate::event::test_records::topic;
use crate::event::{AcquiredPartitionBuilder, WaitingBatches};
use crate::sys::Instant;
use crate::types::NodeId;

const SESSION: ShareSessionId = ShareSessionId {
    node: NodeId(1),
    incarnation: 0,
};

fn range(first: i64, last: i64) -> OffsetRange {
    OffsetRange { first, last }
}

/// Records at these offsets of partition `partition` of topic `t`.
fn batch(partition: i32, offsets: &[OffsetRange]) -> ShareBatch {
    let mut builder = AcquiredPartitionBuilder::default();
    for offsets in offsets {
        builder.push_range(*offsets, 1);
    }
    let partition = builder.finish(topic("t"), Uuid([1; 16]), partition, NodeId(1));
    let partitions = partition.into_iter().collect();
    ShareBatch::new(
        (SESSION, 1),
        partitions,
        Instant::ORIGIN,
        Instant::NEVER,
        &WaitingBatches::default(),
    )
}

fn ranges(taken: &[PartitionAcknowledgements]) -> Vec<(i32, i64, i64, AcknowledgeType)> {
    let rows = taken.iter().flat_map(|p| {
        let partition = p.tp.partition;
        p.ranges
            .iter()
            .map(move |r| (partition, r.offsets.first, r.offsets.last, r.ty))
    });
    rows.collect()
}

#[test]
fn take_accepts_the_rest_in_implicit_mode() {
    let mut delivered = Delivered::default();
    delivered.add(&batch(3, &[range(5, 9), range(12, 12)]));
    assert_eq!(delivered.unacknowledged(), 6);
    assert_eq!(delivered.take(None), []);
    let taken = delivered.take(Some(AcknowledgeType::Accept));
    let accept = AcknowledgeType::Accept;
    assert_eq!(ranges(&taken), [(3, 5, 9, accept), (3, 12, 12, accept)]);
    assert_eq!(taken.first().map(|p| p.session), Some(SESSION));
    assert_eq!(delivered.unacknowledged(), 0);
    assert_eq!(delivered.take(Some(AcknowledgeType::Accept)), []);
}

#[test]
fn acknowledgements_may_change_until_they_are_taken() {
    let mut delivered = Delivered::default();
    delivered.add(&batch(0, &[range(0, 3)]));
    let mut acknowledge = |offset, ty| delivered.acknowledge("t", 0, offset, ty).map_err(|e| e.code);
    assert_eq!(acknowledge(0, AcknowledgeType::Accept), Ok(()));
    assert_eq!(acknowledge(1, AcknowledgeType::Release), Ok(()));
    assert_eq!(acknowledge(1, AcknowledgeType::Reject), Ok(()));
    assert_eq!(acknowledge(4, AcknowledgeType::Accept), Err(ErrorCode::L_STATE));
    assert_eq!(delivered.unacknowledged(), 2);
    let taken = delivered.take(None);
    assert_eq!(
        ranges(&taken),
        [(0, 0, 0, AcknowledgeType::Accept), (0, 1, 1, AcknowledgeType::Reject)]
    );
    let mut acknowledge = |offset, ty| delivered.acknowledge("t", 0, offset, ty).map_err(|e| e.code);
    assert_eq!(
        acknowledge(1, AcknowledgeType::Accept),
        Err(ErrorCode::L_STATE),
        "committed"
    );
    assert_eq!(acknowledge(2, AcknowledgeType::Accept), Ok(()));
    assert_eq!(acknowledge(3, AcknowledgeType::Accept), Ok(()));
    assert_eq!(ranges(&delivered.take(None)), [(0, 2, 3, AcknowledgeType::Accept)]);
    assert!(delivered.partitions.is_empty());
}

#[test]
fn acknowledge_finds_partitions_by_name_and_number() {
    let mut delivered = Delivered::default();
    delivered.add(&batch(0, &[range(0, 0)]));
    delivered.add(&batch(1, &[range(0, 0)]));
    let mut acknowledge = |topic: &str, partition| {
        let result = delivered.acknowledge(topic, partition, 0, AcknowledgeType::Accept);
        result.map_err(|e| e.code)
    };
    assert_eq!(acknowledge("u", 0), Err(ErrorCode::L_STATE));
    assert_eq!(acknowledge("t", 2), Err(ErrorCode::L_STATE));
    assert_eq!(acknowledge("t", 1), Ok(()));
    assert_eq!(ranges(&delivered.take(None)), [(1, 0, 0, AcknowledgeType::Accept)]);
    assert_eq!(delivered.unacknowledged(), 1);
}

#[test]
fn renewed_records_can_be_acknowledged_after_the_next_poll() {
    let mut delivered = Delivered::default();
    delivered.add(&batch(0, &[range(0, 1)]));
    delivered.acknowledge("t", 0, 0, AcknowledgeType::Renew).unwrap();
    delivered.acknowledge("t", 0, 1, AcknowledgeType::Accept).unwrap();
    assert_eq!(
        ranges(&delivered.take(None)),
        [(0, 0, 0, AcknowledgeType::Renew), (0, 1, 1, AcknowledgeType::Accept)]
    );
    assert_eq!(delivered.unacknowledged(), 0, "the next poll is allowed");
    delivered.add(&batch(0, &[range(7, 7)]));
    delivered.acknowledge("t", 0, 0, AcknowledgeType::Accept).unwrap();
    assert_eq!(ranges(&delivered.take(None)), [(0, 0, 0, AcknowledgeType::Accept)]);
    assert_eq!(delivered.unacknowledged(), 1);
}

#[test]
fn a_renewed_record_that_is_delivered_again_replaces_the_earlier_delivery() {
    let mut delivered = Delivered::default();
    delivered.add(&batch(0, &[range(0, 1)]));
    delivered.acknowledge("t", 0, 0, AcknowledgeType::Renew).unwrap();
    delivered.acknowledge("t", 0, 1, AcknowledgeType::Renew).unwrap();
    assert_eq!(ranges(&delivered.take(None)), [(0, 0, 1, AcknowledgeType::Renew)]);
    delivered.add(&batch(0, &[range(1, 1)]));
    assert_eq!(delivered.unacknowledged(), 1);
    delivered.acknowledge("t", 0, 1, AcknowledgeType::Accept).unwrap();
    assert_eq!(delivered.unacknowledged(), 0);
    delivered.acknowledge("t", 0, 0, AcknowledgeType::Accept).unwrap();
    let accept = AcknowledgeType::Accept;
    assert_eq!(ranges(&delivered.take(None)), [(0, 0, 0, accept), (0, 1, 1, accept)]);
    assert!(delivered.partitions.is_empty());
}

#[test]
fn the_latest_delivery_of_an_offset_is_acknowledged() {
    let mut delivered = Delivered::default();
    delivered.add(&batch(0, &[range(1, 1)]));
    delivered.acknowledge("t", 0, 1, AcknowledgeType::Renew).unwrap();
    delivered.take(None);
    // The topic was deleted and created again.
    let mut builder = AcquiredPartitionBuilder::default();
    builder.push_range(range(1, 1), 1);
    let partition = builder.finish(topic("t"), Uuid([2; 16]), 0, NodeId(1));
    let waiting = WaitingBatches::default();
    let partitions = partition.into_iter().collect();
    delivered.add(&ShareBatch::new(
        (SESSION, 2),
        partitions,
        Instant::ORIGIN,
        Instant::NEVER,
        &waiting,
    ));
    delivered.acknowledge("t", 0, 1, AcknowledgeType::Accept).unwrap();
    assert_eq!(delivered.unacknowledged(), 0);
}
