//! Validation of positions with brokers that do not report truncation in Fetch responses (KIP-320).

use ottla_protocol::api::offset_for_leader_epoch::{
    EpochEndOffset, OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse, OffsetForLeaderTopicResult,
};
use ottla_protocol::compression::Codec;

use super::builders::{batch, data, failed};
use super::harness::{Asked, Got, World};
use crate::error::ErrorCode;

/// The last Fetch version without diverging epochs.
const OLD_FETCH: i16 = 11;

/// A consumer that has received `taken` of `a`, `b` and `c` of epoch 1 when partition 0 gets leader 2 with epoch 2.
fn after_a_change(reset: &str, taken: usize, fetch: i16, epochs: Option<i16>) -> World {
    let mut w = World::new(&[], &[("auto.offset.reset", reset)]);
    w.fetch_versions = (4, fetch);
    w.epochs_version = epochs;
    w.add_topic("t", &[1]);
    w.assign(&[("t", 0, 0)]).unwrap();
    let (asked, _, parts) = w.next_fetch().unwrap();
    assert_eq!((asked.node, parts), (1, vec![(0, 0)]));
    w.answer_fetch(&asked, vec![data(0, 3, &[batch(0, &["a", "b", "c"], Codec::None)])]);
    assert_eq!((0..taken).filter_map(|_| w.take_one()).count(), taken);
    let (asked, _, parts) = w.next_fetch().unwrap();
    assert_eq!((asked.node, parts), (1, vec![(0, 3)]));
    w.model.get_mut("t").unwrap().leaders[0] = (2, 2);
    w.answer_fetch(&asked, vec![failed(0, code_of(ErrorCode::FENCED_LEADER_EPOCH))]);
    w.run_ms(1000);
    w
}

fn code_of(code: ErrorCode) -> i16 {
    i16::try_from(code.0).unwrap()
}

/// Returns the next validation request.
fn question(w: &mut World) -> Asked {
    let (asked, request) = w.expect::<OffsetForLeaderEpochRequest>();
    let partition = &request.topics[0].partitions[0];
    assert_eq!((asked.node, request.topics[0].topic.as_str()), (2, "t"));
    assert!(asked.version < 3 || request.replica_id == -1, "{}", request.replica_id);
    assert_eq!(
        (
            partition.partition,
            partition.current_leader_epoch,
            partition.leader_epoch
        ),
        (0, 2, 1)
    );
    assert!(w.next_fetch().is_none(), "nothing is fetched before the answer");
    asked
}

fn tell(w: &mut World, asked: &Asked, code: ErrorCode, (leader_epoch, end_offset): (i32, i64)) {
    let end = EpochEndOffset {
        error_code: code_of(code),
        partition: 0,
        leader_epoch,
        end_offset,
        ..Default::default()
    };
    let topic = OffsetForLeaderTopicResult {
        topic: "t".into(),
        partitions: vec![end],
        ..Default::default()
    };
    let response = OffsetForLeaderEpochResponse {
        topics: vec![topic],
        ..Default::default()
    };
    w.answer(asked, &response);
}

/// Returns the next fetch offset of partition 0 at leader 2.
fn fetched_from(w: &mut World) -> i64 {
    assert!(
        w.next::<OffsetForLeaderEpochRequest>().is_none(),
        "one question is enough"
    );
    let (asked, _, parts) = w.next_fetch().unwrap();
    assert_eq!((asked.node, parts[0].0), (2, 0));
    parts[0].1
}

#[test]
fn validated_position_continues() {
    let mut w = after_a_change("earliest", 3, OLD_FETCH, Some(4));
    let asked = question(&mut w);
    tell(&mut w, &asked, ErrorCode::NO_ERROR, (1, 3));
    assert_eq!(fetched_from(&mut w), 3);
    assert!(w.take().is_empty());
}

#[test]
fn truncated_position_continues_at_the_epoch_end() {
    let mut w = after_a_change("earliest", 3, OLD_FETCH, Some(2));
    let asked = question(&mut w);
    assert_eq!(asked.version, 2);
    tell(&mut w, &asked, ErrorCode::NO_ERROR, (1, 2));
    assert_eq!(fetched_from(&mut w), 2);
}

#[test]
fn unknown_epoch_is_truncated_as_a_whole() {
    let mut w = after_a_change("earliest", 3, OLD_FETCH, Some(4));
    let asked = question(&mut w);
    tell(&mut w, &asked, ErrorCode::NO_ERROR, (0, 0));
    assert_eq!(fetched_from(&mut w), 0);
}

#[test]
fn undelivered_records_are_dropped_on_truncation() {
    let mut w = after_a_change("error", 1, OLD_FETCH, Some(4));
    let asked = question(&mut w);
    tell(&mut w, &asked, ErrorCode::NO_ERROR, (1, 2));
    assert!(w.take().is_empty());
    assert_eq!(fetched_from(&mut w), 1);
}

#[test]
fn truncation_is_reported_with_auto_offset_reset_error() {
    let mut w = after_a_change("error", 3, OLD_FETCH, Some(4));
    let asked = question(&mut w);
    tell(&mut w, &asked, ErrorCode::NO_ERROR, (1, 2));
    assert_eq!(w.take(), [Got::Error(ErrorCode::L_LOG_TRUNCATION, 3)]);
    w.run_ms(5000);
    assert!(w.next_fetch().is_none());
    w.seek("t", 0, 2);
    assert_eq!(fetched_from(&mut w), 2);
}

#[test]
fn validation_is_retried() {
    for code in [
        ErrorCode::NOT_LEADER_FOR_PARTITION,
        ErrorCode::FENCED_LEADER_EPOCH,
        ErrorCode::UNKNOWN_LEADER_EPOCH,
        ErrorCode::UNKNOWN_TOPIC_OR_PART,
        ErrorCode::REQUEST_TIMED_OUT,
    ] {
        let mut w = after_a_change("earliest", 3, OLD_FETCH, Some(4));
        let asked = question(&mut w);
        tell(&mut w, &asked, code, (-1, -1));
        w.run_ms(2000);
        let asked = question(&mut w);
        assert_eq!(asked.version, 4);
        w.drop_connections(2);
        w.run_ms(2000);
        let asked = question(&mut w);
        tell(&mut w, &asked, ErrorCode::NO_ERROR, (1, 3));
        assert_eq!(fetched_from(&mut w), 3);
    }
}

#[test]
fn validation_is_skipped_if_unsupported_or_unauthorized() {
    let mut w = after_a_change("earliest", 3, OLD_FETCH, Some(2));
    let asked = question(&mut w);
    tell(&mut w, &asked, ErrorCode::CLUSTER_AUTHORIZATION_FAILED, (-1, -1));
    assert_eq!(fetched_from(&mut w), 3);
    for epochs in [None, Some(1)] {
        let mut w = after_a_change("earliest", 3, OLD_FETCH, epochs);
        assert_eq!(fetched_from(&mut w), 3);
    }
    // Those report truncation in Fetch responses.
    let mut w = after_a_change("earliest", 3, OLD_FETCH + 1, Some(4));
    assert_eq!(fetched_from(&mut w), 3);
}

#[test]
fn lasting_validation_error_is_reported() {
    let mut w = after_a_change("earliest", 3, OLD_FETCH, Some(4));
    let asked = question(&mut w);
    tell(&mut w, &asked, ErrorCode::UNKNOWN, (-1, -1));
    assert_eq!(w.take(), [Got::Error(ErrorCode::UNKNOWN, 3)]);
    w.run_ms(2000);
    question(&mut w);
}

#[test]
fn stale_validation_response_is_ignored() {
    let mut w = after_a_change("earliest", 3, OLD_FETCH, Some(4));
    let asked = question(&mut w);
    w.seek("t", 0, 1);
    assert_eq!(fetched_from(&mut w), 1);
    tell(&mut w, &asked, ErrorCode::NO_ERROR, (1, 2));
    w.run_ms(10);
    assert!(w.next_fetch().is_none(), "it is in flight already");
    assert!(w.take().is_empty());
}
