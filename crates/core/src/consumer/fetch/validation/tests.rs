//! Validation of positions with brokers that do not report truncation in Fetch responses (KIP-320). Fetch and
//! OffsetForLeaderEpoch requests are held.

use ottla_mock::{BrokerId, FaultAction};
use ottla_protocol::ApiKey;
use ottla_protocol::ErrorCode as BrokerError;
use ottla_protocol::api::offset_for_leader_epoch::OffsetForLeaderEpochRequest;

use crate::error::ErrorCode;
use crate::test_kit::{Arrival, Got, World};

/// The last Fetch version without diverging epochs.
const OLD_FETCH: i16 = 11;

/// The end of the log that a new leader has.
#[derive(Clone, Copy)]
enum NewLog {
    Complete,
    /// The new leader lacks the records from this offset on.
    EndsAt(i64),
}

/// A consumer that has received `taken` of `a`, `b` and `c` of epoch 0 when partition 0 gets leader 2 with epoch 1.
fn after_a_change(reset: &str, taken: usize, fetch: i16, epochs: Option<i16>, log: NewLog) -> World {
    let mut w = World::consumer_without_sessions(&[], &[("auto.offset.reset", reset)]);
    w.brokers().set_api_versions(ApiKey::FETCH, Some((4, fetch)));
    let epochs = epochs.map(|max| (0, max));
    w.brokers().set_api_versions(ApiKey::OFFSET_FOR_LEADER_EPOCH, epochs);
    w.hold(ApiKey::FETCH);
    w.hold(ApiKey::OFFSET_FOR_LEADER_EPOCH);
    w.add_topic("t", &[1]);
    for value in ["a", "b", "c"] {
        w.append("t", 0, &[value]);
    }
    w.assign(&[("t", 0, 0)]).unwrap();
    let (asked, _, parts) = w.next_fetch().unwrap();
    assert_eq!((asked.node, parts), (1, vec![(0, 0)]));
    w.serve(&asked);
    assert_eq!((0..taken).filter_map(|_| w.take_one()).count(), taken);
    let (asked, _, parts) = w.next_fetch().unwrap();
    assert_eq!((asked.node, parts), (1, vec![(0, 3)]));
    match log {
        NewLog::Complete => w.move_leader("t", 0, 2),
        NewLog::EndsAt(offset) => {
            w.brokers().elect_unclean_leader("t", 0, BrokerId(2), offset).unwrap();
        }
    }
    w.serve(&asked);
    w.run_ms(1000);
    w
}

/// Returns the next validation request.
fn question(w: &mut World) -> Arrival {
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
        (0, 1, 0)
    );
    assert!(w.next_fetch().is_none(), "nothing is fetched before the answer");
    asked
}

/// Passes on the next validation request.
fn validate(w: &mut World) {
    let asked = question(w);
    w.serve(&asked);
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
    let mut w = after_a_change("earliest", 3, OLD_FETCH, Some(4), NewLog::Complete);
    validate(&mut w);
    assert_eq!(fetched_from(&mut w), 3);
    assert!(w.take().is_empty());
}

#[test]
fn truncated_position_continues_at_the_epoch_end() {
    let mut w = after_a_change("earliest", 3, OLD_FETCH, Some(2), NewLog::EndsAt(2));
    let asked = question(&mut w);
    assert_eq!(asked.version, 2);
    w.serve(&asked);
    assert_eq!(fetched_from(&mut w), 2);
}

#[test]
fn unknown_epoch_is_truncated_as_a_whole() {
    let mut w = after_a_change("earliest", 3, OLD_FETCH, Some(4), NewLog::EndsAt(0));
    validate(&mut w);
    assert_eq!(fetched_from(&mut w), 0);
}

#[test]
fn undelivered_records_are_dropped_on_truncation() {
    let mut w = after_a_change("error", 1, OLD_FETCH, Some(4), NewLog::EndsAt(2));
    validate(&mut w);
    assert!(w.take().is_empty());
    assert_eq!(fetched_from(&mut w), 1);
}

#[test]
fn truncation_is_reported_with_auto_offset_reset_error() {
    let mut w = after_a_change("error", 3, OLD_FETCH, Some(4), NewLog::EndsAt(2));
    validate(&mut w);
    assert_eq!(w.take(), [Got::Error(ErrorCode::L_LOG_TRUNCATION, 3)]);
    w.run_ms(5000);
    assert!(w.next_fetch().is_none());
    w.seek("t", 0, 2);
    assert_eq!(fetched_from(&mut w), 2);
}

#[test]
fn validation_is_retried() {
    for code in [
        BrokerError::NOT_LEADER_OR_FOLLOWER,
        BrokerError::FENCED_LEADER_EPOCH,
        BrokerError::UNKNOWN_LEADER_EPOCH,
        BrokerError::UNKNOWN_TOPIC_OR_PARTITION,
        BrokerError::REQUEST_TIMED_OUT,
    ] {
        let mut w = after_a_change("earliest", 3, OLD_FETCH, Some(4), NewLog::Complete);
        let asked = question(&mut w);
        w.fail(&asked, FaultAction::Error(code));
        w.run_ms(2000);
        let asked = question(&mut w);
        assert_eq!(asked.version, 4);
        w.disconnect(2);
        w.run_ms(2000);
        validate(&mut w);
        assert_eq!(fetched_from(&mut w), 3);
    }
}

#[test]
fn validation_is_skipped_if_unsupported_or_unauthorized() {
    let mut w = after_a_change("earliest", 3, OLD_FETCH, Some(2), NewLog::Complete);
    let asked = question(&mut w);
    w.fail(&asked, FaultAction::Error(BrokerError::CLUSTER_AUTHORIZATION_FAILED));
    assert_eq!(fetched_from(&mut w), 3);
    for epochs in [None, Some(1)] {
        let mut w = after_a_change("earliest", 3, OLD_FETCH, epochs, NewLog::Complete);
        assert_eq!(fetched_from(&mut w), 3);
    }
    // Those report truncation in Fetch responses.
    let mut w = after_a_change("earliest", 3, OLD_FETCH + 1, Some(4), NewLog::Complete);
    assert_eq!(fetched_from(&mut w), 3);
}

#[test]
fn lasting_validation_error_is_reported() {
    let mut w = after_a_change("earliest", 3, OLD_FETCH, Some(4), NewLog::Complete);
    let asked = question(&mut w);
    w.fail(&asked, FaultAction::Error(BrokerError::UNKNOWN_SERVER_ERROR));
    assert_eq!(w.take(), [Got::Error(ErrorCode::UNKNOWN, 3)]);
    w.run_ms(2000);
    question(&mut w);
}

#[test]
fn stale_validation_response_is_ignored() {
    let mut w = after_a_change("earliest", 3, OLD_FETCH, Some(4), NewLog::EndsAt(2));
    let asked = question(&mut w);
    w.seek("t", 0, 1);
    assert_eq!(fetched_from(&mut w), 1);
    w.serve(&asked);
    w.run_ms(10);
    assert!(w.next_fetch().is_none(), "it is in flight already");
    assert!(w.take().is_empty());
}
