use super::*;
use crate::event::Queue;
use crate::event::ShareSessionId;
use crate::reply::Reply;
use crate::share::command::AcknowledgedRange;
use crate::types::NodeId;

const TOPIC: Uuid = Uuid([7; 16]);

fn range(first: i64, last: i64, ty: i8) -> WireRange {
    WireRange {
        offsets: OffsetRange { first, last },
        ty,
    }
}

fn tp(partition: i32) -> TopicPartition {
    TopicPartition::new("t", partition)
}

fn set(partition: i32, ranges: &[WireRange]) -> AcknowledgementSet {
    AcknowledgementSet::of_client((TOPIC, partition), tp(partition), ranges.to_vec())
}

fn of_application(partition: i32, call: Option<u64>) -> AcknowledgementSet {
    let session = ShareSessionId {
        node: NodeId(1),
        incarnation: 0,
    };
    let ranges = [AcknowledgedRange {
        offsets: OffsetRange { first: 4, last: 5 },
        ty: AcknowledgeType::Accept,
    }];
    let acknowledgements = PartitionAcknowledgements {
        session,
        acquisition: 1,
        topic_id: TOPIC,
        tp: tp(partition),
        ranges: ranges.to_vec(),
    };
    AcknowledgementSet::of_application(acknowledgements, call)
}

#[test]
fn take_leaves_overlapping_acknowledgements_for_the_next_request() {
    let mut waiting = Waiting::default();
    waiting.push(set(0, &[range(0, 9, 1)]));
    waiting.push(set(0, &[range(20, 29, 1), range(9, 9, 2)]));
    waiting.push(set(1, &[range(9, 9, 2)]));
    // It overlaps a set that waits: the order of acknowledgements of an offset stays.
    waiting.push(set(0, &[range(25, 25, 3)]));
    let first: Vec<_> = waiting.take().iter().map(|s| s.id.1).collect();
    assert_eq!(first, [0, 1]);
    let second = waiting.take();
    assert_eq!(second.len(), 1);
    assert_eq!(waiting.take().len(), 1);
    assert!(waiting.is_empty());
}

#[test]
fn wire_batches_are_sorted_and_joined() {
    let sets = [
        set(0, &[range(10, 19, 1)]),
        set(0, &[range(0, 4, 1), range(5, 6, 2), range(7, 7, 1)]),
        set(1, &[range(0, 99, 1), range(100, 199, 2)]),
    ];
    let batches = wire_batches(&sets);
    let batch = |first, last, types: &[i8]| WireBatch {
        offsets: OffsetRange { first, last },
        types: types.to_vec(),
    };
    let of_first = [batch(0, 7, &[1, 1, 1, 1, 1, 2, 2, 1]), batch(10, 19, &[1])];
    assert_eq!(batches.get(&(TOPIC, 0)).map(Vec::as_slice), Some(&of_first[..]));
    let of_second = [batch(0, 99, &[1]), batch(100, 199, &[2])];
    assert_eq!(batches.get(&(TOPIC, 1)).map(Vec::as_slice), Some(&of_second[..]));
}

#[test]
fn wire_batches_with_several_types_have_one_for_each_offset() {
    let ranges: Vec<WireRange> = (0..100).map(|i| range(i * 3, i * 3 + 2, (i % 3) as i8 + 1)).collect();
    for batch in wire_batches(&[set(0, &ranges)]).into_values().flatten() {
        let expected = if batch.types.len() == 1 { 1 } else { batch.offsets.len() };
        assert_eq!(batch.types.len(), expected);
    }
}

fn results() -> (Results, Arc<SharedState>) {
    let shared = Arc::new(SharedState::new(Queue::new()));
    (Results::new(shared.clone()), shared)
}

fn begin(results: &mut Results, partitions: &[i32]) -> (u64, Arc<Reply<Result<CommitResults, Error>>>) {
    let reply = Reply::new();
    let call = CommitCall {
        deadline: Instant::ORIGIN.plus_ms(100),
        reply: reply.clone(),
    };
    (results.begin(call, partitions.iter().map(|p| tp(*p)).collect()), reply)
}

#[test]
fn commit_is_answered_when_each_partition_has_a_result() {
    let (mut results, _) = results();
    let (call, reply) = begin(&mut results, &[0, 1]);
    results.report(of_application(1, Some(call)), ErrorCode::NO_ERROR);
    assert!(!reply.is_filled());
    results.report(of_application(0, Some(call)), ErrorCode::L_TIMED_OUT);
    let expected = vec![(tp(0), ErrorCode::REQUEST_TIMED_OUT), (tp(1), ErrorCode::NO_ERROR)];
    assert_eq!(reply.try_take(), Some(Ok(expected)));
    assert_eq!(results.poll(Instant::ORIGIN), None);
}

#[test]
fn commit_fails_partitions_without_a_result_at_its_deadline() {
    let (mut results, _) = results();
    let (call, reply) = begin(&mut results, &[0, 1]);
    results.report(of_application(1, Some(call)), ErrorCode::INVALID_RECORD_STATE);
    assert_eq!(
        results.poll(Instant::ORIGIN.plus_ms(99)),
        Some(Instant::ORIGIN.plus_ms(100))
    );
    assert_eq!(results.poll(Instant::ORIGIN.plus_ms(100)), None);
    let expected = vec![
        (tp(0), ErrorCode::REQUEST_TIMED_OUT),
        (tp(1), ErrorCode::INVALID_RECORD_STATE),
    ];
    assert_eq!(reply.try_take(), Some(Ok(expected)));
    // The late result has no call any more.
    results.report(of_application(0, Some(call)), ErrorCode::NO_ERROR);
}

#[test]
fn commit_of_several_acquisitions_of_a_partition_waits_for_all_results() {
    let (mut results, _) = results();
    let (call, reply) = begin(&mut results, &[0, 0]);
    results.report(of_application(0, Some(call)), ErrorCode::NO_ERROR);
    assert!(!reply.is_filled());
    results.report(of_application(0, Some(call)), ErrorCode::INVALID_RECORD_STATE);
    assert_eq!(
        reply.try_take(),
        Some(Ok(vec![(tp(0), ErrorCode::INVALID_RECORD_STATE)]))
    );
    let (call, reply) = begin(&mut results, &[0, 0]);
    results.report(of_application(0, Some(call)), ErrorCode::NO_ERROR);
    assert_eq!(results.poll(Instant::ORIGIN.plus_ms(100)), None);
    assert_eq!(reply.try_take(), Some(Ok(vec![(tp(0), ErrorCode::REQUEST_TIMED_OUT)])));
}

#[test]
fn results_become_events_only_on_request_and_never_for_the_clients_own() {
    let (mut results, shared) = results();
    results.report(of_application(0, None), ErrorCode::NO_ERROR);
    assert_eq!(shared.queue().len(), 0);
    shared.set_acknowledgement_events(true);
    results.report(set(0, &[range(0, 0, GAP)]), ErrorCode::NO_ERROR);
    assert_eq!(shared.queue().len(), 0);
    results.report(of_application(0, None), ErrorCode::INVALID_RECORD_STATE);
    let event = shared.queue().pop(Some(std::time::Duration::ZERO));
    let Some(Event::Acknowledged(result)) = event else {
        panic!("no result: {event:?}")
    };
    assert_eq!(result.offsets, [OffsetRange { first: 4, last: 5 }]);
    assert_eq!(result.error, ErrorCode::INVALID_RECORD_STATE);
}

#[test]
fn take_overlapping_takes_the_acknowledgements_of_records_that_were_acquired_again() {
    let mut waiting = Waiting::default();
    waiting.push(set(0, &[range(0, 9, 1), range(20, 29, 2)]));
    waiting.push(set(0, &[range(10, 19, 1)]));
    waiting.push(set(1, &[range(20, 29, 1)]));
    let offsets = |first, last| [OffsetRange { first, last }];
    assert!(waiting.take_overlapping((TOPIC, 0), &offsets(30, 40)).is_empty());
    let taken = waiting.take_overlapping((TOPIC, 0), &offsets(25, 40));
    assert_eq!(taken.iter().map(|s| s.ranges.len()).collect::<Vec<_>>(), [2]);
    assert_eq!(waiting.iter().map(|s| s.id.1).collect::<Vec<_>>(), [0, 1]);
}
