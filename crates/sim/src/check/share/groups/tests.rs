//! Share groups: each check detects its violation.

use ottla_core::event::ShareSessionId;
use ottla_core::share::{AcknowledgeType, AcknowledgedRange};
use ottla_core::types::NodeId;
use ottla_mock::Time;

use super::*;

const TOPIC: Uuid = Uuid([1; 16]);
const GROUP: &str = "g";
const BROKER: i32 = 1;
const LOCK_US: u64 = 10_000_000;

fn event(at_us: u64, offsets: (i64, i64), change: ShareChange) -> ShareEvent {
    ShareEvent {
        at: Time(at_us),
        group: GROUP.into(),
        topic_id: TOPIC,
        partition: 0,
        first_offset: offsets.0,
        last_offset: offsets.1,
        change,
    }
}

fn acquired(member: &str, delivery_count: i32) -> ShareChange {
    ShareChange::Acquired {
        member: member.into(),
        delivery_count,
    }
}

fn seen(offset: i64, delivery_count: i32, received_us: u64) -> SeenRecord {
    SeenRecord {
        partition: (GROUP.into(), TOPIC, 0),
        offset,
        delivery_count,
        broker: BROKER,
        received_us,
        id: MessageId {
            client: 0,
            number: offset as u32,
        },
    }
}

fn acknowledged(offsets: (i64, i64), ty: AcknowledgeType) -> Vec<PartitionAcknowledgements> {
    let offsets = OffsetRange {
        first: offsets.0,
        last: offsets.1,
    };
    vec![PartitionAcknowledgements {
        session: ShareSessionId {
            node: NodeId(BROKER),
            incarnation: 0,
        },
        acquisition: 1,
        topic_id: TOPIC,
        tp: TopicPartition::new("t", 0),
        ranges: vec![AcknowledgedRange { offsets, ty }],
    }]
}

/// Clients 1 and 2 with member ids "a" and "b". Client 1 has acquired and received offsets 0 to 2.
fn groups() -> ShareGroups {
    let mut groups = ShareGroups::default();
    groups.configure(3, LOCK_US, false);
    groups.add_member(1, true);
    groups.on_member_id(1, "a").unwrap();
    groups.on_member_id(2, "b").unwrap();
    groups.on_event(&event(10, (0, 2), acquired("a", 1))).unwrap();
    let range = WireAcquired {
        topic: TOPIC,
        partition: 0,
        first: 0,
        last: 2,
        delivery_count: 1,
    };
    groups.on_received((1, GROUP, BROKER), &[range], 20);
    groups
}

/// As [`groups`]; the application of client 1 has seen the records and accepts them.
fn groups_after_accept() -> ShareGroups {
    let mut groups = groups();
    for offset in 0..=2 {
        groups.on_seen(1, &seen(offset, 1, 20), 30).unwrap();
    }
    let acks = acknowledged((0, 2), AcknowledgeType::Accept);
    groups.on_acknowledged((1, GROUP), &acks, None, 40).unwrap();
    groups
}

fn report(groups: &mut ShareGroups, code: ErrorCode) -> Result<(), String> {
    let offsets = [OffsetRange { first: 0, last: 2 }];
    groups.on_result(1, (&TopicPartition::new("t", 0), &offsets, code), |_| Some(0))
}

#[test]
fn results_are_those_of_the_leader() {
    let accepted = || ShareChange::Accepted { member: "a".into() };
    let mut groups = groups_after_accept();
    groups.on_event(&event(50, (0, 2), accepted())).unwrap();
    report(&mut groups, ErrorCode::NO_ERROR).unwrap();
    assert!(report(&mut groups, ErrorCode::NO_ERROR).is_err(), "reported twice");
    assert!(groups.on_event(&event(60, (0, 0), acquired("b", 2))).is_err());

    let mut groups = groups_after_accept();
    assert!(
        report(&mut groups, ErrorCode::NO_ERROR).is_err(),
        "the leader has nothing"
    );

    let mut groups = groups_after_accept();
    groups.on_event(&event(50, (0, 2), accepted())).unwrap();
    assert!(report(&mut groups, ErrorCode::INVALID_RECORD_STATE).is_err());

    let mut groups = groups_after_accept();
    groups.on_event(&event(50, (0, 2), accepted())).unwrap();
    report(&mut groups, ErrorCode::L_TRANSPORT).unwrap();
    assert_eq!(groups.take_counts().answers_lost, 3);
}

#[test]
fn leaders_have_the_acknowledgements_of_applications() {
    let change = |member: &str| ShareChange::Released { member: member.into() };
    let mut groups = groups_after_accept();
    assert!(groups.on_event(&event(50, (0, 0), change("a"))).is_err());
    assert!(groups.on_event(&event(50, (0, 0), change("b"))).is_err());
    // Clients release what their applications have not seen.
    groups = self::groups();
    groups.on_event(&event(50, (0, 0), change("a"))).unwrap();
    let gap = ShareChange::Gap { member: "a".into() };
    assert!(groups.on_event(&event(50, (1, 1), gap)).is_err());
}

#[test]
fn records_have_one_holder_and_a_delivery_limit() {
    let mut groups = groups();
    assert!(groups.on_event(&event(50, (0, 0), acquired("b", 2))).is_err());
    for (count, at) in [(2, 60), (3, 80)] {
        let expired = ShareChange::LockExpired { member: "a".into() };
        groups.on_disturbed(1, at);
        groups.on_event(&event(at, (1, 1), expired)).unwrap();
        groups.on_event(&event(at + 10, (1, 1), acquired("a", count))).unwrap();
    }
    let expired = ShareChange::LockExpired { member: "a".into() };
    groups.on_event(&event(100, (1, 1), expired)).unwrap();
    assert!(groups.on_event(&event(110, (1, 1), acquired("b", 4))).is_err());
}

#[test]
fn applications_see_what_was_acquired_once_and_in_time() {
    let mut groups = groups();
    assert!(groups.on_seen(1, &seen(9, 1, 20), 30).is_err(), "not acquired");
    assert!(groups.on_seen(2, &seen(0, 1, 20), 30).is_err(), "another client's");
    assert!(
        groups.on_seen(1, &seen(0, 2, 20), 30).is_err(),
        "another delivery count"
    );
    groups.on_seen(1, &seen(0, 1, 20), 30).unwrap();
    assert!(groups.on_seen(1, &seen(0, 1, 20), 40).is_err(), "seen before");
    assert!(groups.on_seen(1, &seen(1, 1, 20), LOCK_US).is_err(), "late");
    groups.on_session_lost(1, BROKER, 50);
    assert!(
        groups.on_seen(1, &seen(1, 1, 20), 50 + DRIVEN_US + 1).is_err(),
        "the session is lost"
    );
}

#[test]
fn application_does_not_see_a_record_again_after_a_success() {
    let mut groups = groups();
    groups.on_seen(1, &seen(0, 1, 20), 30).unwrap();
    let expired = ShareChange::LockExpired { member: "a".into() };
    groups.on_event(&event(40, (0, 0), expired)).unwrap();
    groups.on_event(&event(50, (0, 0), acquired("a", 2))).unwrap();
    let acks = acknowledged((0, 0), AcknowledgeType::Accept);
    groups.on_acknowledged((1, GROUP), &acks, None, 60).unwrap();
    // The client has let the acknowledgement of the first acquisition apply to the second one.
    let accepted = ShareChange::Accepted { member: "a".into() };
    groups.on_event(&event(70, (0, 0), accepted)).unwrap();
    let offsets = [OffsetRange { first: 0, last: 0 }];
    let tp = TopicPartition::new("t", 0);
    groups
        .on_result(1, (&tp, &offsets, ErrorCode::NO_ERROR), |_| Some(0))
        .unwrap();
    assert!(groups.on_seen(1, &seen(0, 2, 55), 80).is_err());
}

#[test]
fn commit_has_the_results_of_all_its_acknowledgements() {
    let tp = TopicPartition::new("t", 0);
    let commit = || {
        let mut groups = groups();
        for offset in 0..=2 {
            groups.on_seen(1, &seen(offset, 1, 20), 30).unwrap();
        }
        for offsets in [(0, 1), (2, 2)] {
            let acks = acknowledged(offsets, AcknowledgeType::Accept);
            groups.on_acknowledged((1, GROUP), &acks, Some(1), 40).unwrap();
        }
        let offsets = [OffsetRange { first: 0, last: 1 }];
        let accepted = ShareChange::Accepted { member: "a".into() };
        groups.on_event(&event(50, (0, 1), accepted)).unwrap();
        let reported = (&tp, offsets.as_slice(), ErrorCode::NO_ERROR);
        groups.on_result(1, reported, |_| Some(0)).unwrap();
        groups
    };
    let done = vec![(tp.clone(), ErrorCode::NO_ERROR)];
    assert!(
        commit().on_commit_results(1, 1, &done, false).is_err(),
        "offset 2 has no result"
    );
    let late = vec![(tp.clone(), ErrorCode::REQUEST_TIMED_OUT)];
    commit().on_commit_results(1, 1, &late, true).unwrap();
    let mut groups = commit();
    let offsets = [OffsetRange { first: 2, last: 2 }];
    let lost = (&tp, offsets.as_slice(), ErrorCode::INVALID_RECORD_STATE);
    groups.on_result(1, lost, |_| Some(0)).unwrap();
    assert!(groups.on_commit_results(1, 1, &done, false).is_err(), "offset 2 failed");
}

#[test]
fn locks_do_not_run_out_in_the_queues_of_fast_applications() {
    let expired = || ShareChange::LockExpired { member: "a".into() };
    let mut groups = groups();
    assert!(groups.on_event(&event(LOCK_US, (0, 0), expired())).is_err());
    groups.on_disturbed(1, 30);
    groups.on_event(&event(LOCK_US, (1, 1), expired())).unwrap();
    assert_eq!(groups.take_counts().unseen_expired, 2);
}

#[test]
fn clients_acknowledge_what_they_hold_once() {
    let ack = |first, last, ty| WireAck {
        topic: TOPIC,
        partition: 0,
        first,
        last,
        types: vec![ty],
    };
    let mut groups = groups();
    let member = (1, GROUP, BROKER);
    groups.on_request(member, 1, &[ack(0, 1, 4)], 30).unwrap();
    groups.on_request(member, 2, &[ack(0, 1, 1)], 40).unwrap();
    assert!(groups.on_request(member, 3, &[ack(1, 1, 1)], 50).is_err(), "twice");
    assert!(
        groups.on_request(member, 4, &[ack(3, 3, 1)], 50).is_err(),
        "never acquired"
    );
    groups.on_request(member, 0, &[], 60).unwrap();
    assert!(
        groups.on_request(member, 1, &[ack(2, 2, 1)], 70).is_err(),
        "of another session"
    );
}

/// Renews offset 0 at 40 and at 50. The leader has one of both.
fn groups_after_two_renewals() -> ShareGroups {
    let mut groups = groups();
    groups.on_seen(1, &seen(0, 1, 20), 30).unwrap();
    for at_us in [40, 50] {
        let acks = acknowledged((0, 0), AcknowledgeType::Renew);
        groups.on_acknowledged((1, GROUP), &acks, None, at_us).unwrap();
    }
    let renewed = ShareChange::Renewed { member: "a".into() };
    groups.on_event(&event(60, (0, 0), renewed)).unwrap();
    groups
}

#[test]
fn one_of_two_renewals_succeeds() {
    let report = |groups: &mut ShareGroups, code| {
        let offsets = [OffsetRange { first: 0, last: 0 }];
        groups.on_result(1, (&TopicPartition::new("t", 0), &offsets, code), |_| Some(0))
    };
    let (success, refusal) = (ErrorCode::NO_ERROR, ErrorCode::INVALID_RECORD_STATE);
    for codes in [
        [success, refusal],
        [refusal, success],
        [ErrorCode::L_TRANSPORT, success],
        [success, ErrorCode::L_TRANSPORT],
    ] {
        let mut groups = groups_after_two_renewals();
        codes.iter().for_each(|code| report(&mut groups, *code).unwrap());
    }
    let mut groups = groups_after_two_renewals();
    report(&mut groups, success).unwrap();
    assert!(report(&mut groups, success).is_err(), "the leader has one");
}

/// The refusal belongs to a renewal, not to the acceptance that follows.
#[test]
fn refusal_of_one_of_two_renewals_leaves_the_acceptance() {
    let mut groups = groups_after_two_renewals();
    let accepts = acknowledged((0, 0), AcknowledgeType::Accept);
    groups.on_acknowledged((1, GROUP), &accepts, None, 65).unwrap();
    let report = |groups: &mut ShareGroups, code| {
        let offsets = [OffsetRange { first: 0, last: 0 }];
        groups.on_result(1, (&TopicPartition::new("t", 0), &offsets, code), |_| Some(0))
    };
    report(&mut groups, ErrorCode::INVALID_RECORD_STATE).unwrap();
    let accepted = ShareChange::Accepted { member: "a".into() };
    groups.on_event(&event(70, (0, 0), accepted)).unwrap();
    report(&mut groups, ErrorCode::NO_ERROR).unwrap();
    report(&mut groups, ErrorCode::NO_ERROR).unwrap();
}

#[test]
fn records_before_the_start_of_a_loaded_share_partition_have_left_it() {
    let mut groups = groups_after_accept();
    groups.on_event(&event(50, (0, -1), ShareChange::Unloaded)).unwrap();
    groups.on_event(&event(60, (2, 1), ShareChange::Loaded)).unwrap();
    assert!(
        report(&mut groups, ErrorCode::NO_ERROR).is_err(),
        "offset 2 has not left"
    );
    let mut groups = groups_after_accept();
    groups.on_event(&event(50, (0, -1), ShareChange::Unloaded)).unwrap();
    groups.on_event(&event(60, (3, 2), ShareChange::Loaded)).unwrap();
    report(&mut groups, ErrorCode::NO_ERROR).unwrap();
}
