//! Commits of the application, of members, and at `auto.commit.interval.ms`.

use std::sync::Arc;

use ottla_mock::FaultAction;
use ottla_protocol::api::heartbeat::HeartbeatRequest;
use ottla_protocol::api::leave_group::LeaveGroupRequest;
use ottla_protocol::api::offset_commit::OffsetCommitRequest;
use ottla_protocol::api::offset_fetch::OffsetFetchRequest;
use ottla_protocol::{ApiKey, ErrorCode as BrokerError};

use crate::consumer::{Command, CommitTarget, OffsetsResult};
use crate::error::ErrorCode;
use crate::reply::Reply;
use crate::test_kit::{Arrival, Got, World};
use crate::types::{PartitionOffset, TopicPartition};

fn world(settings: &[(&str, &str)]) -> World {
    let mut w = World::consumer_without_sessions(settings, &[("auto.offset.reset", "earliest")]);
    w.add_topic("t", &[1, 1]);
    w
}

/// A world with held commits and without automatic ones.
fn world_of_calls() -> World {
    let mut w = world(&[("enable.auto.commit", "false")]);
    w.hold(ApiKey::OFFSET_COMMIT);
    w
}

fn subscribe(w: &mut World) {
    w.subscribe(&["t"]).unwrap();
    w.run_ms(200);
}

fn ask_commit(w: &mut World, rows: &[(i32, i64)]) -> Arc<Reply<OffsetsResult>> {
    let rows = rows.iter();
    let rows = rows.map(|(p, at)| PartitionOffset::new(TopicPartition::new("t", *p), *at));
    let offsets = Some(rows.collect());
    w.call(|reply| Command::Commit {
        offsets,
        target: CommitTarget::Reply(reply),
    })
}

/// Returns the next commit with its generation and rows.
fn next_commit(w: &mut World) -> (Arrival, i32, Vec<(i32, i64)>) {
    let (asked, request) = w.expect::<OffsetCommitRequest>();
    let rows = request.topics.iter().flat_map(|t| &t.partitions);
    let mut rows: Vec<_> = rows.map(|p| (p.partition_index, p.committed_offset)).collect();
    rows.sort_unstable();
    (asked, request.generation_id_or_member_epoch, rows)
}

/// Fails the next commit; returns its generation and rows.
fn fail_commit(w: &mut World, error: BrokerError) -> (i32, Vec<(i32, i64)>) {
    let (asked, generation, rows) = next_commit(w);
    w.fail(&asked, FaultAction::Error(error));
    (generation, rows)
}

/// Passes on the next commit; returns its generation and rows.
fn serve_commit(w: &mut World) -> (i32, Vec<(i32, i64)>) {
    let (asked, generation, rows) = next_commit(w);
    w.serve(&asked);
    (generation, rows)
}

#[test]
fn commit_is_retried_and_answered_per_partition() {
    let mut w = world_of_calls();
    let reply = ask_commit(&mut w, &[(1, 7)]);
    w.run_ms(200);
    let failed = fail_commit(&mut w, BrokerError::COORDINATOR_LOAD_IN_PROGRESS);
    assert_eq!(failed, (-1, vec![(1, 7)]));
    assert!(reply.try_take().is_none());
    w.run_ms(1000);
    fail_commit(&mut w, BrokerError::OFFSET_METADATA_TOO_LARGE);
    let rows = reply.try_take().unwrap().unwrap();
    assert_eq!(rows[0].error, ErrorCode::OFFSET_METADATA_TOO_LARGE);
    let nothing = w.call(|reply| Command::Commit {
        offsets: None,
        target: CommitTarget::Reply(reply),
    });
    assert_eq!(nothing.try_take().unwrap().unwrap_err().code, ErrorCode::L_NO_OFFSET);
}

#[test]
fn retried_commit_does_not_overwrite_a_newer_one() {
    let mut w = world_of_calls();
    let first = ask_commit(&mut w, &[(0, 3), (1, 7)]);
    w.run_ms(200);
    let second = ask_commit(&mut w, &[(1, 9)]);
    let failed = fail_commit(&mut w, BrokerError::COORDINATOR_LOAD_IN_PROGRESS);
    assert_eq!(failed, (-1, vec![(0, 3), (1, 7)]));
    assert!(w.next::<OffsetCommitRequest>().is_none(), "the first one waits");
    w.run_ms(1000);
    assert_eq!(serve_commit(&mut w), (-1, vec![(0, 3), (1, 9)]));
    for reply in [first, second] {
        let rows = reply.try_take().unwrap().unwrap();
        assert!(rows.iter().all(|r| r.error.is_ok()));
    }
    w.run_ms(1000);
    assert!(w.next::<OffsetCommitRequest>().is_none());
    assert_eq!(w.brokers().committed_offset("g", "t", 1), Some(9));
}

#[test]
fn member_commits_only_owned_partitions() {
    let mut w = world_of_calls();
    w.hold(ApiKey::JOIN_GROUP);
    subscribe(&mut w);
    let reply = ask_commit(&mut w, &[(0, 1)]);
    let error = reply.try_take().unwrap().unwrap_err();
    assert_eq!(error.code, ErrorCode::REBALANCE_IN_PROGRESS, "in no generation yet");
    w.release(ApiKey::JOIN_GROUP);
    let reply = ask_commit(&mut w, &[(0, 1), (5, 1)]);
    assert_eq!(serve_commit(&mut w), (1, vec![(0, 1)]));
    let rows = reply.try_take().unwrap().unwrap();
    let errors: Vec<_> = rows.iter().map(|r| r.error).collect();
    assert_eq!(errors, [ErrorCode::NO_ERROR, ErrorCode::L_ASSIGNMENT_LOST]);
}

#[test]
fn commit_keeps_its_generation() {
    let mut w = world_of_calls();
    subscribe(&mut w);
    let reply = ask_commit(&mut w, &[(0, 1)]);
    let failed = fail_commit(&mut w, BrokerError::COORDINATOR_LOAD_IN_PROGRESS);
    assert_eq!(failed, (1, vec![(0, 1)]));
    // The coordinator fails the repetitions until the group has rebalanced.
    w.fail_next(ApiKey::HEARTBEAT, &[BrokerError::REBALANCE_IN_PROGRESS]);
    while w.state().group().generation < 2 {
        w.run_ms(100);
        if w.has(ApiKey::OFFSET_COMMIT) && w.state().group().generation < 2 {
            let failed = fail_commit(&mut w, BrokerError::COORDINATOR_LOAD_IN_PROGRESS);
            assert_eq!(failed, (1, vec![(0, 1)]));
        }
    }
    w.run_ms(1000);
    // The coordinator has another generation now.
    assert_eq!(serve_commit(&mut w), (1, vec![(0, 1)]));
    assert_eq!(
        reply.try_take().unwrap().unwrap()[0].error,
        ErrorCode::ILLEGAL_GENERATION
    );
}

#[test]
fn committed_times_out_with_a_silent_coordinator() {
    let mut w = world(&[]);
    w.hold(ApiKey::OFFSET_FETCH);
    let deadline = w.now.plus_ms(1500);
    let partitions = vec![TopicPartition::new("t", 0)];
    let reply = w.call(|reply| Command::Committed {
        partitions,
        deadline,
        reply,
    });
    w.run_ms(1400);
    w.expect::<OffsetFetchRequest>();
    assert!(reply.try_take().is_none());
    w.run_ms(101);
    assert_eq!(reply.try_take().unwrap().unwrap_err().code, ErrorCode::L_TIMED_OUT);
}

#[test]
fn unanswered_commit_is_repeated_on_revocation() {
    let mut w = world(&[("heartbeat.interval.ms", "20000")]);
    w.hold(ApiKey::OFFSET_COMMIT);
    w.append("t", 0, &["a", "b"]);
    subscribe(&mut w);
    assert_eq!(w.take().len(), 2);
    w.run_ms(5500);
    // The broker may still execute it, after the next one.
    let _ = w.expect::<OffsetCommitRequest>();
    w.disconnect(1);
    w.run_ms(2000);
    assert_eq!(serve_commit(&mut w), (1, vec![(0, 2)]));
    w.run_ms(6000);
    assert!(w.next::<OffsetCommitRequest>().is_none());
    w.call(|reply| Command::Close { reply });
    assert_eq!(serve_commit(&mut w), (1, vec![(0, 2)]));
    w.expect::<LeaveGroupRequest>();
}

// ---------------------------------------------------------------- automatic commits

/// A member with two partitions, which wakes up only for commits.
fn member() -> World {
    let calm = ("heartbeat.interval.ms", "100000");
    let mut w = world(&[calm, ("session.timeout.ms", "300000")]);
    w.hold(ApiKey::FETCH);
    subscribe(&mut w);
    assert_eq!(w.state().group().generation, 1);
    w
}

/// Takes two records, from offset `base` on.
fn read_two(w: &mut World, base: i64) {
    let (asked, _, parts) = w.next_fetch().unwrap();
    assert_eq!(parts[0], (0, base));
    w.append("t", 0, &["a", "b"]);
    w.serve(&asked);
    assert_eq!(w.take().iter().filter(|got| !matches!(got, Got::Commit(_))).count(), 2);
}

/// Sleeps as long as the client does, until it commits or until `until_ms`; returns the time of the commit.
fn committed_at(w: &mut World, until_ms: u64) -> Option<u64> {
    loop {
        let wake = w.drive();
        let now_ms = w.now.as_micros() / 1000;
        if !w.drain::<OffsetCommitRequest>().is_empty() {
            return Some(now_ms);
        }
        if now_ms >= until_ms {
            return None;
        }
        let end = crate::sys::Instant::from_micros(until_ms * 1000);
        w.run_to(wake.filter(|at| *at < end).unwrap_or(end));
        assert!(w.next::<HeartbeatRequest>().is_none(), "it wakes up for commits only");
    }
}

#[test]
fn auto_commit_commits_stored_offsets_at_every_tick() {
    let mut w = member();
    read_two(&mut w, 0);
    assert_eq!(committed_at(&mut w, 9_000), Some(5_000));
    read_two(&mut w, 2);
    assert_eq!(committed_at(&mut w, 14_000), Some(10_000));
}

#[test]
fn empty_auto_commit_delays_the_next_wake_up() {
    let mut w = member();
    read_two(&mut w, 0);
    assert_eq!(committed_at(&mut w, 9_000), Some(5_000));
    assert_eq!(committed_at(&mut w, 11_000), None);
    read_two(&mut w, 2);
    assert_eq!(
        committed_at(&mut w, 19_000),
        Some(15_500),
        "a tenth of the interval late at most"
    );
    read_two(&mut w, 4);
    assert_eq!(
        committed_at(&mut w, 24_000),
        Some(20_000),
        "in time once there was something"
    );
}

#[test]
fn awake_client_commits_at_a_delayed_tick() {
    let mut w = member();
    assert_eq!(committed_at(&mut w, 11_000), None);
    read_two(&mut w, 0);
    // The test wakes it there.
    assert_eq!(committed_at(&mut w, 15_100), Some(15_100));
}
