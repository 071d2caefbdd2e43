//! Joining, heartbeats, and reconciliation.

use super::super::builders::*;
use super::super::harness::*;
use super::*;

#[test]
fn heartbeat_contains_only_changes_after_joining() {
    let mut w = world_of(&[
        ("client.rack", "r1"),
        ("group.remote.assignor", "range"),
        ("max.poll.interval.ms", "70000"),
        ("test.rebalance", ""),
    ]);
    subscribe_to(&mut w, &["t"]);
    let first = heartbeat(&mut w);
    let request = &first.1;
    assert_eq!((request.member_epoch, request.rebalance_timeout_ms), (0, 70_000));
    assert_eq!(request.rack_id.as_deref(), Some("r1"));
    assert_eq!(request.server_assignor.as_deref(), Some("range"));
    assert_eq!(request.subscribed_topic_names, Some(vec!["t".into()]));
    assert_eq!(request.subscribed_topic_regex.as_deref(), Some(""));
    assert_eq!(request.topic_partitions, Some(vec![]));
    assert_eq!(Uuid::parse(&request.member_id).unwrap().0[6] >> 4, 4);
    let gift = topic_partitions(&w, "t", &[1]);
    accept(&mut w, &first, 7, Some(gift.clone()));
    assert_eq!(w.take(), [Got::Rebalance(ErrorCode::L_ASSIGN_PARTITIONS, vec![1])]);
    assert_eq!(w.shared.group().generation, 7);
    assert_eq!(w.shared.group().member_id, request.member_id);
    // The owned partitions are acknowledged at once.
    let second = heartbeat(&mut w);
    assert_eq!((second.1.member_epoch, second.1.rebalance_timeout_ms), (7, -1));
    assert_eq!(second.1.topic_partitions, Some(gift));
    assert_eq!(second.1.subscribed_topic_names, None);
    assert_eq!((&second.1.rack_id, &second.1.server_assignor), (&None, &None));
    accept(&mut w, &second, 7, None);
    w.run_ms(2900);
    no_heartbeat(&mut w);
    w.run_ms(200);
    let third = heartbeat(&mut w);
    assert_eq!(third.1.member_id, request.member_id);
    assert_eq!((third.1.topic_partitions, third.1.subscribed_topic_regex), (None, None));
}

#[test]
fn offsets_are_fetched_and_committed_with_the_member_epoch() {
    let mut w = world_of(&[]);
    let me = join(&mut w, 4, &[0, 1]);
    let request = committed(&mut w, 10);
    assert_eq!(request.groups[0].member_id.as_ref(), Some(&me));
    assert_eq!(request.groups[0].member_epoch, 4);
    let (asked, _, parts) = w.next_fetch().unwrap();
    assert_eq!(parts, [(0, 10), (1, 10)]);
    let one = batch(10, &["a"], Codec::None);
    w.answer_fetch(&asked, vec![data(0, 11, &[one]), data(1, 10, &[])]);
    assert_eq!(w.take(), [record(0, 10, "a")]);
    w.run_ms(3_000);
    let beat = heartbeat(&mut w);
    accept(&mut w, &beat, 5, None);
    w.run_ms(2_500);
    assert_eq!(commit(&mut w, ErrorCode::NO_ERROR), (5, vec![(0, 11)]));
}

#[test]
fn heartbeat_version_0_assigns_the_member_id() {
    let mut w = world_of(&[]);
    w.heartbeat_version = Some(0);
    subscribe_to(&mut w, &["t"]);
    let mut first = heartbeat(&mut w);
    assert_eq!(first.1.member_id, "");
    first.1.member_id = "theirs".into();
    accept(&mut w, &first, 1, Some(vec![]));
    w.run_ms(3000);
    let beat = heartbeat(&mut w);
    assert_eq!(beat.1.member_id, "theirs");
    refuse(&mut w, &beat, ErrorCode::FENCED_MEMBER_EPOCH);
    let again = heartbeat(&mut w);
    assert_eq!((again.1.member_id.as_str(), again.1.member_epoch), ("theirs", 0));
}

#[test]
fn changed_subscription_is_sent_at_once() {
    let mut w = world_of(&[]);
    w.add_topic("u", &[1]);
    join(&mut w, 1, &[0, 1]);
    subscribe_to(&mut w, &["u", "^v.*"]);
    let beat = heartbeat(&mut w);
    assert_eq!(beat.1.subscribed_topic_names, Some(vec!["u".into()]));
    assert_eq!(beat.1.subscribed_topic_regex.as_deref(), Some("^v.*"));
    assert_eq!(
        (
            beat.1.member_epoch,
            beat.1.topic_partitions.as_ref(),
            beat.1.rebalance_timeout_ms
        ),
        (1, None, -1)
    );
    assert_eq!(assignment(&mut w), [0, 1], "the coordinator says what to give up");
    let target = topic_partitions(&w, "u", &[0]);
    accept(&mut w, &beat, 2, Some(target.clone()));
    let told = heartbeat(&mut w);
    assert_eq!(told.1.topic_partitions, Some(target));
    accept(&mut w, &told, 2, None);
    subscribe_to(&mut w, &["u"]);
    let beat = heartbeat(&mut w);
    assert_eq!(beat.1.subscribed_topic_regex.as_deref(), Some(""));
}

#[test]
fn unknown_topic_ids_are_looked_up_at_the_coordinator() {
    let mut w = world_of(&[]);
    subscribe_to(&mut w, &["^t.*", "^u"]);
    let beat = heartbeat(&mut w);
    assert_eq!(beat.1.subscribed_topic_regex.as_deref(), Some("(?:^t.*)|(?:^u)"));
    assert_eq!(beat.1.subscribed_topic_names, Some(vec![]));
    let unknown = Uuid([9; 16]);
    let mut target = topic_partitions(&w, "t", &[0]);
    target.extend(topic_partitions_of(unknown, &[0]));
    accept(&mut w, &beat, 1, Some(target));
    let told = heartbeat(&mut w);
    assert_eq!(told.1.topic_partitions, Some(topic_partitions(&w, "t", &[0])));
    accept(&mut w, &told, 1, None);
    committed(&mut w, 0);
    // Brokers learn of a topic at different times: the remaining partitions follow with its name.
    w.add_topic("t2", &[1]);
    w.model.get_mut("t2").unwrap().id = unknown;
    w.run_ms(1500);
    let told = heartbeat(&mut w);
    assert_eq!(told.1.topic_partitions.unwrap().len(), 2);
    let rows = w.call(|reply| Command::Assignment { reply });
    let rows = rows.try_take().unwrap().unwrap();
    let names: Vec<_> = rows.iter().map(|r| r.tp.to_string()).collect();
    assert_eq!(names, ["t [0]", "t2 [0]"]);
}

#[test]
fn recreated_topic_is_revoked_and_assigned() {
    let mut w = world_of(&[("test.rebalance", "")]);
    join(&mut w, 1, &[0]);
    assert_eq!(w.take(), [Got::Rebalance(ErrorCode::L_ASSIGN_PARTITIONS, vec![0])]);
    add(&mut w, &[0]);
    w.model.get_mut("t").unwrap().id = Uuid([8; 16]);
    w.run_ms(3000);
    let beat = heartbeat(&mut w);
    let target = topic_partitions(&w, "t", &[0]);
    accept(&mut w, &beat, 2, Some(target.clone()));
    assert_eq!(w.take(), [Got::Rebalance(ErrorCode::L_REVOKE_PARTITIONS, vec![0])]);
    remove(&mut w, &[0]);
    assert_eq!(w.take(), [Got::Rebalance(ErrorCode::L_ASSIGN_PARTITIONS, vec![0])]);
    assert_eq!(heartbeat(&mut w).1.topic_partitions, Some(target));
}

#[test]
fn revocation_is_acknowledged_after_its_commit() {
    let mut w = world_of(&[]);
    join(&mut w, 1, &[0, 1]);
    read_two(&mut w);
    w.run_ms(3000);
    let beat = heartbeat(&mut w);
    let kept = topic_partitions(&w, "t", &[1]);
    accept(&mut w, &beat, 1, Some(kept.clone()));
    assert_eq!(assignment(&mut w), [1]);
    w.run_ms(100);
    let asked = w.expect::<OffsetCommitRequest>();
    no_heartbeat(&mut w);
    assert_eq!(
        answer_commit(&mut w, &asked, ErrorCode::COORDINATOR_LOAD_IN_PROGRESS).0,
        1
    );
    no_heartbeat(&mut w);
    w.run_ms(500);
    assert_eq!(commit(&mut w, ErrorCode::NO_ERROR), (1, vec![(0, 2)]));
    assert_eq!(heartbeat(&mut w).1.topic_partitions, Some(kept));
}

#[test]
fn revocation_is_followed_by_an_assignment() {
    let mut w = world_of(&[("test.rebalance", ""), ("enable.auto.commit", "false")]);
    join(&mut w, 1, &[0, 1]);
    assert_eq!(w.take(), [Got::Rebalance(ErrorCode::L_ASSIGN_PARTITIONS, vec![0, 1])]);
    add(&mut w, &[0, 1]);
    w.run_ms(3000);
    let beat = heartbeat(&mut w);
    let kept = topic_partitions(&w, "t", &[1]);
    accept(&mut w, &beat, 2, Some(kept.clone()));
    assert_eq!(w.take(), [Got::Rebalance(ErrorCode::L_REVOKE_PARTITIONS, vec![0])]);
    remove(&mut w, &[0]);
    assert_eq!(w.take(), [Got::Rebalance(ErrorCode::L_ASSIGN_PARTITIONS, vec![])]);
    add(&mut w, &[]);
    assert_eq!(assignment(&mut w), [1]);
    // The assignment is reported once: later heartbeats are no rebalance.
    let told = heartbeat(&mut w);
    accept(&mut w, &told, 2, Some(kept));
    w.run_ms(3000);
    assert!(w.take().is_empty());
}

#[test]
fn second_revocation_precedes_the_assignment() {
    let mut w = world_of(&[("test.rebalance", ""), ("enable.auto.commit", "false")]);
    join(&mut w, 1, &[0, 1]);
    w.take();
    add(&mut w, &[0, 1]);
    w.run_ms(3000);
    let beat = heartbeat(&mut w);
    let kept = topic_partitions(&w, "t", &[1]);
    accept(&mut w, &beat, 2, Some(kept));
    assert_eq!(w.take(), [Got::Rebalance(ErrorCode::L_REVOKE_PARTITIONS, vec![0])]);
    w.run_ms(3000);
    let beat = heartbeat(&mut w);
    accept(&mut w, &beat, 3, Some(vec![]));
    remove(&mut w, &[0]);
    assert_eq!(w.take(), [Got::Rebalance(ErrorCode::L_REVOKE_PARTITIONS, vec![1])]);
    remove(&mut w, &[1]);
    assert_eq!(w.take(), [Got::Rebalance(ErrorCode::L_ASSIGN_PARTITIONS, vec![])]);
}

#[test]
fn heartbeats_continue_during_a_revocation() {
    let mut w = world_of(&[("test.rebalance", ""), ("enable.auto.commit", "false")]);
    join(&mut w, 1, &[0, 1]);
    w.take();
    add(&mut w, &[0, 1]);
    w.run_ms(3000);
    let beat = heartbeat(&mut w);
    let kept = topic_partitions(&w, "t", &[1]);
    accept(&mut w, &beat, 1, Some(kept.clone()));
    assert_eq!(w.take(), [Got::Rebalance(ErrorCode::L_REVOKE_PARTITIONS, vec![0])]);
    for _ in 0..3 {
        w.run_ms(2900);
        no_heartbeat(&mut w);
        w.run_ms(200);
        let beat = heartbeat(&mut w);
        assert_eq!(beat.1.topic_partitions, None);
        accept(&mut w, &beat, 1, None);
    }
    remove(&mut w, &[0]);
    assert_eq!(heartbeat(&mut w).1.topic_partitions, Some(kept));
}

#[test]
fn newest_target_is_reconciled_in_steps() {
    let mut w = world_of(&[("test.rebalance", ""), ("enable.auto.commit", "false")]);
    w.model.get_mut("t").unwrap().leaders = vec![(1, 1); 4];
    join(&mut w, 1, &[0, 1]);
    w.take();
    add(&mut w, &[0, 1]);
    w.run_ms(3000);
    for target in [&[1, 2][..], &[0, 3]] {
        let beat = heartbeat(&mut w);
        let target = topic_partitions(&w, "t", target);
        accept(&mut w, &beat, 1, Some(target));
        w.run_ms(3000);
    }
    assert_eq!(w.take(), [Got::Rebalance(ErrorCode::L_REVOKE_PARTITIONS, vec![0])]);
    remove(&mut w, &[0]);
    // Partition 2 was never assigned; 0 returns as a new one.
    assert_eq!(w.take(), [Got::Rebalance(ErrorCode::L_REVOKE_PARTITIONS, vec![1])]);
    remove(&mut w, &[1]);
    assert_eq!(w.take(), [Got::Rebalance(ErrorCode::L_ASSIGN_PARTITIONS, vec![0, 3])]);
}

#[test]
fn kept_partitions_are_not_interrupted() {
    let mut w = world_of(&[]);
    join(&mut w, 1, &[0]);
    committed(&mut w, 5);
    let (_, _, parts) = w.next_fetch().unwrap();
    assert_eq!(parts, [(0, 5)]);
    w.run_ms(3000);
    let beat = heartbeat(&mut w);
    let more = topic_partitions(&w, "t", &[0, 1]);
    accept(&mut w, &beat, 2, Some(more));
    let request = committed(&mut w, 8);
    assert_eq!(request.groups[0].topics.as_ref().unwrap()[0].partition_indexes, [1]);
    assert_eq!(assignment(&mut w), [0, 1]);
}

#[test]
fn new_pattern_shortens_the_next_heartbeat_interval() {
    let mut w = world_of(&[]);
    subscribe_to(&mut w, &["^t"]);
    let beat = heartbeat(&mut w);
    accept(&mut w, &beat, 1, Some(vec![]));
    w.run_ms(400);
    let beat = heartbeat(&mut w);
    accept(&mut w, &beat, 2, None);
    w.run_ms(2900);
    no_heartbeat(&mut w);
}

/// A member that keeps a dead connection is removed from the group, and cannot leave.
#[test]
fn heartbeat_timeout_closes_the_connection() {
    let mut w = world_of(&[("socket.max.fails", "0")]);
    subscribe_to(&mut w, &["t"]);
    let (silent, _) = heartbeat(&mut w);
    w.run_ms(11_000);
    let (again, _) = heartbeat(&mut w);
    assert_eq!(again.node, silent.node);
    assert_ne!(again.conn, silent.conn);
}
