//! Member epochs: commits and look-ups with a past epoch, and fencing.

use ottla_protocol::api::offset_fetch::OffsetFetchRequest;

use super::*;

/// A member that has records to commit, by calls; commits are held.
fn member(settings: &[(&str, &str)]) -> World {
    let mut all = vec![("enable.auto.commit", "false")];
    all.extend_from_slice(settings);
    let mut w = world_of(&all);
    w.hold(ApiKey::OFFSET_COMMIT);
    join(&mut w);
    read_two(&mut w, 0);
    w
}

#[test]
fn stale_member_epoch_on_commit_retries_with_the_new_epoch() {
    let mut w = member(&[]);
    let reply = begin_commit(&mut w);
    let failed = fail_commit(&mut w, BrokerError::STALE_MEMBER_EPOCH);
    assert_eq!(failed, (1, vec![(0, 2)]));
    // It sends a heartbeat at once.
    raise_epoch(&mut w);
    w.run_ms(300);
    assert_eq!(serve_commit(&mut w), (2, vec![(0, 2)]));
    let rows = reply.try_take().unwrap().unwrap();
    assert_eq!(rows[0].error, ErrorCode::NO_ERROR);
}

#[test]
fn stale_member_epoch_on_commit_times_out() {
    let mut w = member(&[("socket.timeout.ms", "5000")]);
    let reply = begin_commit(&mut w);
    w.release(ApiKey::CONSUMER_GROUP_HEARTBEAT);
    for _ in 0..60 {
        if w.has(ApiKey::OFFSET_COMMIT) {
            fail_commit(&mut w, BrokerError::STALE_MEMBER_EPOCH);
        }
        w.run_ms(100);
    }
    assert_eq!(
        reply.try_take().unwrap().map_err(|e| e.code),
        Err(ErrorCode::STALE_MEMBER_EPOCH)
    );
}

#[test]
fn fenced_member_drops_its_commits() {
    let mut w = member(&[]);
    let reply = begin_commit(&mut w);
    fail_commit(&mut w, BrokerError::STALE_MEMBER_EPOCH);
    let beat = heartbeat(&mut w);
    refuse(&mut w, &beat, BrokerError::FENCED_MEMBER_EPOCH);
    let joining = accept_next(&mut w);
    assert_eq!(joining.1.member_epoch, 0);
    w.run_ms(1000);
    assert!(w.next::<OffsetCommitRequest>().is_none());
    assert_eq!(
        reply.try_take().unwrap().map_err(|e| e.code),
        Err(ErrorCode::L_ASSIGNMENT_LOST)
    );
}

#[test]
fn unknown_member_id_on_commit_sends_a_heartbeat() {
    let mut w = member(&[]);
    let reply = begin_commit(&mut w);
    fail_commit(&mut w, BrokerError::UNKNOWN_MEMBER_ID);
    let rows = reply.try_take().unwrap().unwrap();
    assert_eq!(rows[0].error, ErrorCode::UNKNOWN_MEMBER_ID);
    assert_eq!(heartbeat(&mut w).1.member_epoch, 1);
}

#[test]
fn stale_member_epoch_on_offset_fetch_retries() {
    let mut w = world_of(&[]);
    w.fail_next(ApiKey::OFFSET_FETCH, &[BrokerError::STALE_MEMBER_EPOCH]);
    join(&mut w);
    assert_eq!(w.expect::<OffsetFetchRequest>().1.groups[0].member_epoch, 1);
    assert!(w.next_fetch().is_none());
    raise_epoch(&mut w);
    w.run_ms(300);
    let again = w.drain::<OffsetFetchRequest>();
    assert!(again.iter().all(|(_, request)| request.groups[0].member_epoch == 2));
    assert!(w.next_fetch().is_some());
}

#[test]
fn fenced_member_epoch_revokes_and_rejoins() {
    for code in [
        BrokerError::FENCED_MEMBER_EPOCH,
        BrokerError::UNKNOWN_MEMBER_ID,
        BrokerError::GROUP_ID_NOT_FOUND,
    ] {
        let mut w = world_of(&[("test.rebalance", "")]);
        let me = join_listening(&mut w, &[0, 1]);
        w.run_ms(3000);
        let beat = heartbeat(&mut w);
        refuse(&mut w, &beat, code);
        assert!(w.state().is_assignment_lost());
        assert_eq!(w.take(), [revoked(&[0, 1])]);
        w.run_ms(10_000);
        no_heartbeat(&mut w);
        remove(&mut w, &[0, 1]);
        assert!(w.next::<OffsetCommitRequest>().is_none());
        let again = accept_next(&mut w);
        assert_eq!((again.1.member_epoch, &again.1.member_id), (0, &me));
        assert_eq!(again.1.topic_partitions, Some(vec![]));
        assert!(again.1.subscribed_topic_names.is_some());
        assert_eq!(w.take(), [assigned(&[0, 1])]);
        assert!(!w.state().is_assignment_lost());
    }
}

#[test]
fn fenced_member_epoch_during_a_revocation_revokes_everything() {
    let mut w = world_of(&[("test.rebalance", ""), ("enable.auto.commit", "false")]);
    join_listening(&mut w, &[0, 1]);
    join_another(&mut w, "other");
    w.run_ms(3000);
    accept_next(&mut w);
    w.run_ms(3000);
    let beat = heartbeat(&mut w);
    refuse(&mut w, &beat, BrokerError::FENCED_MEMBER_EPOCH);
    assert!(w.state().is_assignment_lost());
    assert_eq!(w.take(), [revoked(&[1])]);
    remove(&mut w, &[1]);
    assert_eq!(w.take(), [revoked(&[0])]);
    no_heartbeat(&mut w);
    remove(&mut w, &[0]);
    assert_eq!(heartbeat(&mut w).1.member_epoch, 0);
}
