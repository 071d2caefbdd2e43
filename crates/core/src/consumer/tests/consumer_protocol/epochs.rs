//! Member epochs: commits and look-ups with a past epoch, and fencing.

use super::super::harness::*;
use super::*;

#[test]
fn stale_member_epoch_on_commit_retries_with_the_new_epoch() {
    let mut w = world_of(&[("enable.auto.commit", "false")]);
    join(&mut w, 1, &[0, 1]);
    read_two(&mut w);
    let offsets = Some(vec![PartitionOffset::new(TopicPartition::new("t", 0), 2)]);
    let reply = w.call(|reply| Command::Commit {
        offsets,
        target: CommitTarget::Reply(reply),
    });
    assert_eq!(commit(&mut w, ErrorCode::STALE_MEMBER_EPOCH), (1, vec![(0, 2)]));
    // It sends a heartbeat at once.
    let beat = heartbeat(&mut w);
    accept(&mut w, &beat, 2, None);
    w.run_ms(300);
    assert_eq!(commit(&mut w, ErrorCode::NO_ERROR), (2, vec![(0, 2)]));
    let rows = reply.try_take().unwrap().unwrap();
    assert_eq!(rows[0].error, ErrorCode::NO_ERROR);
}

#[test]
fn stale_member_epoch_on_commit_times_out() {
    let mut w = world_of(&[("enable.auto.commit", "false"), ("socket.timeout.ms", "5000")]);
    join(&mut w, 1, &[0, 1]);
    read_two(&mut w);
    let offsets = Some(vec![PartitionOffset::new(TopicPartition::new("t", 0), 2)]);
    let reply = w.call(|reply| Command::Commit {
        offsets,
        target: CommitTarget::Reply(reply),
    });
    for _ in 0..60 {
        if let Some((asked, request)) = w.next::<OffsetCommitRequest>() {
            answer_commit(&mut w, &(asked, request), ErrorCode::STALE_MEMBER_EPOCH);
        }
        if let Some(beat) = w.next::<ConsumerGroupHeartbeatRequest>() {
            accept(&mut w, &beat, 1, None);
        }
        w.run_ms(100);
    }
    assert_eq!(
        reply.try_take().unwrap().map_err(|e: Error| e.code),
        Err(ErrorCode::STALE_MEMBER_EPOCH)
    );
}

#[test]
fn fenced_member_drops_its_commits() {
    let mut w = world_of(&[("enable.auto.commit", "false")]);
    join(&mut w, 1, &[0, 1]);
    read_two(&mut w);
    let offsets = Some(vec![PartitionOffset::new(TopicPartition::new("t", 0), 2)]);
    let reply = w.call(|reply| Command::Commit {
        offsets,
        target: CommitTarget::Reply(reply),
    });
    commit(&mut w, ErrorCode::STALE_MEMBER_EPOCH);
    let beat = heartbeat(&mut w);
    refuse(&mut w, &beat, ErrorCode::FENCED_MEMBER_EPOCH);
    let joining = heartbeat(&mut w);
    let target = topic_partitions(&w, "t", &[0, 1]);
    accept(&mut w, &joining, 2, Some(target));
    w.run_ms(1000);
    assert!(w.next::<OffsetCommitRequest>().is_none());
    assert_eq!(
        reply.try_take().unwrap().map_err(|e: Error| e.code),
        Err(ErrorCode::L_ASSIGNMENT_LOST)
    );
}

#[test]
fn unknown_member_id_on_commit_sends_a_heartbeat() {
    let mut w = world_of(&[("enable.auto.commit", "false")]);
    join(&mut w, 1, &[0, 1]);
    read_two(&mut w);
    let offsets = Some(vec![PartitionOffset::new(TopicPartition::new("t", 0), 2)]);
    let reply = w.call(|reply| Command::Commit {
        offsets,
        target: CommitTarget::Reply(reply),
    });
    commit(&mut w, ErrorCode::UNKNOWN_MEMBER_ID);
    let rows = reply.try_take().unwrap().unwrap();
    assert_eq!(rows[0].error, ErrorCode::UNKNOWN_MEMBER_ID);
    assert_eq!(heartbeat(&mut w).1.member_epoch, 1);
}

#[test]
fn stale_member_epoch_on_offset_fetch_retries() {
    let mut w = world_of(&[]);
    join(&mut w, 1, &[0, 1]);
    let (asked, _) = w.expect::<OffsetFetchRequest>();
    answer_offsets(&mut w, &asked, vec![], ErrorCode::STALE_MEMBER_EPOCH);
    let beat = heartbeat(&mut w);
    accept(&mut w, &beat, 2, None);
    w.run_ms(300);
    assert_eq!(committed(&mut w, 4).groups[0].member_epoch, 2);
    assert!(w.next_fetch().is_some());
}

#[test]
fn fenced_member_epoch_revokes_and_rejoins() {
    for code in [
        ErrorCode::FENCED_MEMBER_EPOCH,
        ErrorCode::UNKNOWN_MEMBER_ID,
        ErrorCode::GROUP_ID_NOT_FOUND,
    ] {
        let mut w = world_of(&[("test.rebalance", "")]);
        let me = join(&mut w, 3, &[0, 1]);
        w.take();
        add(&mut w, &[0, 1]);
        w.run_ms(3000);
        let beat = heartbeat(&mut w);
        refuse(&mut w, &beat, code);
        assert!(w.shared.is_assignment_lost());
        assert_eq!(w.take(), [Got::Rebalance(ErrorCode::L_REVOKE_PARTITIONS, vec![0, 1])]);
        w.run_ms(10_000);
        no_heartbeat(&mut w);
        remove(&mut w, &[0, 1]);
        assert!(w.next::<OffsetCommitRequest>().is_none());
        let again = heartbeat(&mut w);
        assert_eq!((again.1.member_epoch, &again.1.member_id), (0, &me));
        assert_eq!(again.1.topic_partitions, Some(vec![]));
        assert!(again.1.subscribed_topic_names.is_some());
        let target = topic_partitions(&w, "t", &[1]);
        accept(&mut w, &again, 5, Some(target));
        assert_eq!(w.take(), [Got::Rebalance(ErrorCode::L_ASSIGN_PARTITIONS, vec![1])]);
        assert!(!w.shared.is_assignment_lost());
    }
}

#[test]
fn fenced_member_epoch_during_a_revocation_revokes_everything() {
    let mut w = world_of(&[("test.rebalance", ""), ("enable.auto.commit", "false")]);
    join(&mut w, 1, &[0, 1]);
    w.take();
    add(&mut w, &[0, 1]);
    w.run_ms(3000);
    let beat = heartbeat(&mut w);
    let kept = topic_partitions(&w, "t", &[1]);
    accept(&mut w, &beat, 1, Some(kept));
    w.run_ms(3000);
    let beat = heartbeat(&mut w);
    refuse(&mut w, &beat, ErrorCode::FENCED_MEMBER_EPOCH);
    assert!(w.shared.is_assignment_lost());
    assert_eq!(w.take(), [Got::Rebalance(ErrorCode::L_REVOKE_PARTITIONS, vec![0])]);
    remove(&mut w, &[0]);
    assert_eq!(w.take(), [Got::Rebalance(ErrorCode::L_REVOKE_PARTITIONS, vec![1])]);
    no_heartbeat(&mut w);
    remove(&mut w, &[1]);
    assert_eq!(heartbeat(&mut w).1.member_epoch, 0);
}
