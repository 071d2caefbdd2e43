//! Joining, heartbeats, and reconciliation.

use ottla_mock::BrokerId;
use ottla_protocol::api::offset_fetch::OffsetFetchRequest;

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
    let (asked, request) = heartbeat(&mut w);
    assert_eq!((request.member_epoch, request.rebalance_timeout_ms), (0, 70_000));
    assert_eq!(request.rack_id.as_deref(), Some("r1"));
    assert_eq!(request.server_assignor.as_deref(), Some("range"));
    assert_eq!(request.subscribed_topic_names, Some(vec!["t".into()]));
    assert_eq!(request.subscribed_topic_regex.as_deref(), Some(""));
    assert_eq!(request.topic_partitions, Some(vec![]));
    assert_eq!(Uuid::parse(&request.member_id).unwrap().0[6] >> 4, 4);
    w.serve(&asked);
    assert_eq!(w.take(), [assigned(&[0, 1])]);
    assert_eq!(w.state().group().generation, 1);
    assert_eq!(w.state().group().member_id, request.member_id);
    // The owned partitions are acknowledged at once.
    let second = accept_next(&mut w);
    assert_eq!((second.1.member_epoch, second.1.rebalance_timeout_ms), (1, -1));
    assert_eq!(second.1.topic_partitions, Some(topic_partitions(&mut w, "t", &[0, 1])));
    assert_eq!(second.1.subscribed_topic_names, None);
    assert_eq!((&second.1.rack_id, &second.1.server_assignor), (&None, &None));
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
    w.hold(ApiKey::OFFSET_COMMIT);
    for partition in [0, 1] {
        w.fill_log("t", partition, 10);
        w.commit_offset("t", partition, 10);
    }
    w.append("t", 0, &["a"]);
    let me = join(&mut w);
    let (_, request) = w.expect::<OffsetFetchRequest>();
    assert_eq!(request.groups[0].member_id.as_ref(), Some(&me));
    assert_eq!(request.groups[0].member_epoch, 1);
    assert_eq!(w.next_fetch().unwrap().2, [(0, 10), (1, 10)]);
    assert_eq!(w.take(), [record(0, 10, "a")]);
    w.run_ms(3_000);
    raise_epoch(&mut w);
    w.run_ms(2_500);
    assert_eq!(serve_commit(&mut w), (2, vec![(0, 11)]));
    assert_eq!(w.brokers().committed_offset("g", "t", 0), Some(11));
}

#[test]
fn heartbeat_version_0_assigns_the_member_id() {
    let mut w = world_of(&[]);
    w.brokers()
        .set_api_versions(ApiKey::CONSUMER_GROUP_HEARTBEAT, Some((0, 0)));
    subscribe_to(&mut w, &["t"]);
    let first = accept_next(&mut w);
    assert_eq!(first.1.member_id, "");
    let theirs = w.brokers().group_members("g").remove(0);
    accept_next(&mut w);
    w.run_ms(3000);
    let beat = heartbeat(&mut w);
    assert_eq!(beat.1.member_id, theirs);
    refuse(&mut w, &beat, BrokerError::FENCED_MEMBER_EPOCH);
    let again = heartbeat(&mut w);
    assert_eq!((again.1.member_id, again.1.member_epoch), (theirs, 0));
}

#[test]
fn changed_subscription_is_sent_at_once() {
    let mut w = world_of(&[]);
    w.add_topic("u", &[1]);
    join(&mut w);
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
    assert_eq!(w.assignment(), [0, 1], "the coordinator says what to give up");
    accept(&mut w, &beat);
    let given_up = accept_next(&mut w);
    assert_eq!(given_up.1.topic_partitions, Some(vec![]));
    let told = accept_next(&mut w);
    assert_eq!(told.1.topic_partitions, Some(topic_partitions(&mut w, "u", &[0])));
    assert_eq!(w.assignment(), [0]);
    subscribe_to(&mut w, &["u"]);
    let beat = heartbeat(&mut w);
    assert_eq!(beat.1.subscribed_topic_regex.as_deref(), Some(""));
}

#[test]
fn unknown_topic_ids_are_looked_up_at_the_coordinator() {
    let mut w = world_with(&[], &[1]);
    // Brokers learn of a topic at different times.
    for broker in 1..=3 {
        w.brokers().hold_metadata(BrokerId(broker), true);
    }
    w.add_topic("t2", &[1]);
    subscribe_to(&mut w, &["^t.*", "^u"]);
    let beat = accept_next(&mut w);
    assert_eq!(beat.1.subscribed_topic_regex.as_deref(), Some("(?:^t.*)|(?:^u)"));
    assert_eq!(beat.1.subscribed_topic_names, Some(vec![]));
    while w.assignment().is_empty() {
        w.run_ms(100);
        if w.has(ApiKey::CONSUMER_GROUP_HEARTBEAT) {
            accept_next(&mut w);
        }
    }
    w.run_ms(1);
    let told = accept_next(&mut w);
    assert_eq!(told.1.topic_partitions, Some(topic_partitions(&mut w, "t", &[0])));
    // The remaining partitions follow with their name.
    for broker in 1..=3 {
        w.brokers().hold_metadata(BrokerId(broker), false);
    }
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
    // The coordinator assigns the new topic with the revocation of the old one, or in a second step.
    for steps in [1, 2] {
        let mut w = world_with(&[("test.rebalance", ""), ("enable.auto.commit", "false")], &[1]);
        join_listening(&mut w, &[0]);
        w.recreate_topic("t", &[1]);
        let target = topic_partitions(&mut w, "t", &[0]);
        w.run_ms(3000);
        let beat = heartbeat(&mut w);
        match steps {
            1 => assign_instead(&mut w, &beat, 2, target.clone()),
            _ => accept(&mut w, &beat),
        }
        assert_eq!(w.take(), [revoked(&[0])]);
        remove(&mut w, &[0]);
        if steps == 2 {
            assert_eq!(w.take(), [assigned(&[])]);
            add(&mut w, &[]);
            accept_next(&mut w);
        }
        assert_eq!(w.take(), [assigned(&[0])]);
        assert_eq!(heartbeat(&mut w).1.topic_partitions, Some(target));
    }
}

#[test]
fn revocation_is_acknowledged_after_its_commit() {
    let mut w = world_of(&[]);
    w.hold(ApiKey::OFFSET_COMMIT);
    join(&mut w);
    read_two(&mut w, 1);
    join_another(&mut w, "other");
    w.run_ms(3000);
    accept_next(&mut w);
    assert_eq!(w.assignment(), [0]);
    w.run_ms(100);
    no_heartbeat(&mut w);
    let failed = fail_commit(&mut w, BrokerError::COORDINATOR_LOAD_IN_PROGRESS);
    assert_eq!(failed.0, 1);
    no_heartbeat(&mut w);
    w.run_ms(500);
    assert_eq!(serve_commit(&mut w), (1, vec![(1, 2)]));
    let kept = topic_partitions(&mut w, "t", &[0]);
    assert_eq!(heartbeat(&mut w).1.topic_partitions, Some(kept));
}

#[test]
fn revocation_is_followed_by_an_assignment() {
    let mut w = world_of(&[("test.rebalance", ""), ("enable.auto.commit", "false")]);
    join_listening(&mut w, &[0, 1]);
    join_another(&mut w, "other");
    w.run_ms(3000);
    accept_next(&mut w);
    assert_eq!(w.take(), [revoked(&[1])]);
    remove(&mut w, &[1]);
    assert_eq!(w.take(), [assigned(&[])]);
    add(&mut w, &[]);
    assert_eq!(w.assignment(), [0]);
    // The assignment is reported once: later heartbeats are no rebalance.
    accept_next(&mut w);
    w.run_ms(3000);
    accept_next(&mut w);
    assert!(w.take().is_empty());
}

#[test]
fn second_revocation_precedes_the_assignment() {
    let settings = [("test.rebalance", ""), ("enable.auto.commit", "false")];
    let mut w = world_with(&settings, &[1, 1, 1, 1]);
    join_listening(&mut w, &[0, 1, 2, 3]);
    join_another(&mut w, "other");
    w.run_ms(3000);
    accept_next(&mut w);
    assert_eq!(w.take(), [revoked(&[2, 3])]);
    w.run_ms(3000);
    let beat = heartbeat(&mut w);
    let target = topic_partitions(&mut w, "t", &[0]);
    assign_instead(&mut w, &beat, 1, target);
    remove(&mut w, &[2, 3]);
    assert_eq!(w.take(), [revoked(&[1])]);
    remove(&mut w, &[1]);
    assert_eq!(w.take(), [assigned(&[])]);
}

#[test]
fn heartbeats_continue_during_a_revocation() {
    let mut w = world_of(&[("test.rebalance", ""), ("enable.auto.commit", "false")]);
    join_listening(&mut w, &[0, 1]);
    join_another(&mut w, "other");
    w.run_ms(3000);
    accept_next(&mut w);
    assert_eq!(w.take(), [revoked(&[1])]);
    for _ in 0..3 {
        w.run_ms(2900);
        no_heartbeat(&mut w);
        w.run_ms(200);
        let beat = accept_next(&mut w);
        assert_eq!(beat.1.topic_partitions, None);
    }
    remove(&mut w, &[1]);
    let kept = topic_partitions(&mut w, "t", &[0]);
    assert_eq!(heartbeat(&mut w).1.topic_partitions, Some(kept));
}

#[test]
fn newest_target_is_reconciled_in_steps() {
    let settings = [("test.rebalance", ""), ("enable.auto.commit", "false")];
    let mut w = world_with(&settings, &[1, 1, 1, 1]);
    subscribe_to(&mut w, &["t"]);
    let mut beat = heartbeat(&mut w);
    for target in [&[0, 1][..], &[0, 1], &[1, 2], &[0, 3]] {
        let partitions = topic_partitions(&mut w, "t", target);
        assign_instead(&mut w, &beat, 1, partitions);
        if w.take() == [assigned(&[0, 1])] {
            add(&mut w, &[0, 1]);
        } else {
            w.run_ms(3000);
        }
        beat = heartbeat(&mut w);
    }
    // Partition 2 was never assigned; 0 returns as a new one.
    remove(&mut w, &[0]);
    assert_eq!(w.take(), [revoked(&[1])]);
    remove(&mut w, &[1]);
    // The heartbeat in flight says that the member owns neither of them: the coordinator may have assigned them to another.
    assert_eq!(w.take(), []);
    let partitions = topic_partitions(&mut w, "t", &[0, 3]);
    assign_instead(&mut w, &beat, 1, partitions);
    assert_eq!(w.take(), [assigned(&[0, 3])]);
}

#[test]
fn kept_partitions_are_not_interrupted() {
    let mut w = world_with(&[], &[1]);
    w.fill_log("t", 0, 5);
    w.commit_offset("t", 0, 5);
    w.hold(ApiKey::FETCH);
    join(&mut w);
    let (asked, _, parts) = w.next_fetch().unwrap();
    assert_eq!(parts, [(0, 5)]);
    w.drain::<OffsetFetchRequest>();
    w.add_partition("t", 2);
    w.run_ms(3000);
    accept_next(&mut w);
    w.run_ms(1000);
    let (_, request) = w.expect::<OffsetFetchRequest>();
    assert_eq!(request.groups[0].topics.as_ref().unwrap()[0].partition_indexes, [1]);
    assert_eq!(w.assignment(), [0, 1]);
    w.append("t", 0, &["a"]);
    w.serve(&asked);
    assert_eq!(w.take(), [record(0, 5, "a")]);
}

#[test]
fn new_pattern_shortens_the_next_heartbeat_interval() {
    let mut w = world_of(&[]);
    subscribe_to(&mut w, &["^x"]);
    accept_next(&mut w);
    w.run_ms(400);
    accept_next(&mut w);
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
