//! Automatic commits at `auto.commit.interval.ms`.

use ottla_protocol::Message;
use ottla_protocol::api::offset_commit::OffsetCommitRequest;
use ottla_protocol::compression::Codec;

use super::builders::*;
use super::groups::{commit, committed, join, subscribe, world};
use super::harness::*;

/// A member with two partitions, which wakes up only for commits.
fn member() -> World {
    let calm = ("heartbeat.interval.ms", "100000");
    let mut w = world(&[calm, ("session.timeout.ms", "300000")]);
    subscribe(&mut w);
    join(&mut w, 1);
    committed(&mut w, 0);
    w
}

/// Takes two records, from offset `base` on.
fn read_two(w: &mut World, base: i64) {
    let (asked, _, parts) = w.next_fetch().unwrap();
    assert_eq!(parts[0], (0, base));
    let one = batch(base, &["a", "b"], Codec::None);
    w.answer_fetch(&asked, vec![data(0, base + 2, &[one])]);
    assert_eq!(w.take().iter().filter(|got| !matches!(got, Got::Commit(_))).count(), 2);
}

/// Sleeps as long as the client does, until it commits or until `until_ms`; returns the time of the commit.
fn committed_at(w: &mut World, until_ms: u64) -> Option<u128> {
    loop {
        let wake = w.drive();
        let now_ms = w.now.as_micros() / 1000;
        if w.asked.iter().any(|asked| asked.key == OffsetCommitRequest::KEY) {
            commit(w, 0);
            return Some(now_ms.into());
        }
        if now_ms >= until_ms {
            return None;
        }
        let end = crate::sys::Instant::from_micros(until_ms * 1000);
        w.now = wake.filter(|at| *at < end).unwrap_or(end);
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
