use super::*;
use crate::error::{Error, ErrorCode};
use crate::event::test_records::{chunk, partition};
use crate::event::{PartitionNotice, PartitionState, Rebalance};
use crate::sys::Waker;
use crate::types::offset;

const NOW: Option<Duration> = Some(Duration::ZERO);

struct NoWaker;

impl Waker for NoWaker {
    fn wake(&self) {}
}

fn note(text: &str) -> Event {
    Event::Error(Error::new(ErrorCode::L_FAIL, text))
}

fn text(event: Option<Event>) -> String {
    match event {
        Some(Event::Error(e)) => e.to_string(),
        other => format!("{other:?}"),
    }
}

#[test]
fn forwarding_moves_queued_events() {
    let (a, b) = (Queue::new(), Queue::new());
    a.push(note("1"));
    a.forward_to(Some(b.clone()));
    a.push(note("2"));
    assert_eq!(b.len(), 2);
    assert!(text(a.pop(Some(Duration::ZERO))).contains('1'));
    assert!(text(b.pop(Some(Duration::ZERO))).contains('2'));
}

#[test]
fn default_forward_does_not_replace_the_applications_choice() {
    let (own, default) = (Queue::new(), Queue::new());
    own.forward_by_default(Some(default.clone()));
    own.push(note("1"));
    own.forward_by_choice(None);
    own.forward_by_default(Some(default.clone()));
    own.push(note("2"));
    assert_eq!((default.len(), own.len()), (1, 1));
}

#[test]
fn a_cycle_of_forwards_ends() {
    let (a, b) = (Queue::new(), Queue::new());
    a.forward_to(Some(b.clone()));
    b.forward_to(Some(a.clone()));
    a.push(note("x"));
    assert_eq!(
        (a.len(), b.len()),
        (1, 1),
        "a forward that would close the cycle removes forwarding instead"
    );
}

#[test]
fn yield_ends_a_wait() {
    let q = Queue::new();
    q.wake();
    assert!(q.pop(None).is_none());
}

#[test]
fn wake_forwarded_ends_a_wait_at_another_queue_after_its_events() {
    let (q, other) = (Queue::new(), Queue::new());
    q.push(note("1"));
    q.wake_forwarded();
    assert_eq!(q.len(), 1, "a queue without a forward is left alone");
    q.forward_to(Some(other.clone()));
    q.wake_forwarded();
    assert!(other.pop(None).is_some());
    assert!(other.pop(None).is_none());
}

#[test]
fn wake_all_ends_a_wait_whose_reason_is_gone() {
    use std::sync::atomic::{AtomicBool, Ordering};
    let (q, gone) = (Queue::new(), AtomicBool::new(false));
    std::thread::scope(|threads| {
        let waiting = threads.spawn(|| q.pop_unless(None, || gone.load(Ordering::Relaxed)));
        q.wake_all();
        gone.store(true, Ordering::Relaxed);
        q.wake_all();
        assert!(waiting.join().is_ok_and(|e| e.is_none()));
    });
    q.push(note("1"));
    assert!(
        q.pop_unless(None, || true).is_some(),
        "a queued event is returned although the condition holds"
    );
}

#[test]
fn notify_fires_at_the_first_item_only() {
    use std::sync::atomic::{AtomicUsize, Ordering};
    let n = Arc::new(AtomicUsize::new(0));
    let q = Queue::new();
    let m = n.clone();
    q.set_notify(Some(Arc::new(move || {
        m.fetch_add(1, Ordering::Relaxed);
    })));
    q.push(note("1"));
    q.push(note("2"));
    assert_eq!(n.load(Ordering::Relaxed), 1);
}

#[test]
fn a_disabled_queue_drops() {
    let q = Queue::new();
    q.purge(true);
    q.push(note("1"));
    assert!(q.is_empty());
}

/// Takes one record or event without waiting and names it.
fn next(queue: &Queue) -> String {
    match queue.pop_one(NOW, |c| c.next().map(|r| r.offset)) {
        Some(Ok(offset)) => format!("record {offset}"),
        Some(Err(event)) => name(&event),
        None => "nothing".into(),
    }
}

fn name(event: &Event) -> String {
    match event {
        Event::Records(c) => format!("{} records", c.remaining()),
        Event::Partition(notice) => notice.error.code.name().into_owned(),
        Event::Rebalance(change) => change.code.name().into_owned(),
        Event::Error(error) => error.message.clone(),
        other => format!("{other:?}"),
    }
}

fn notice(partition: Option<&Arc<PartitionState>>, code: ErrorCode) -> Event {
    Event::Partition(PartitionNotice {
        partition: partition.cloned(),
        tp: None,
        fetch_generation: partition.map_or(0, |p| p.fetch_generation()),
        error: Error::new(code, "notice"),
        offset: offset::INVALID,
    })
}

fn revocation() -> Event {
    Event::Rebalance(Rebalance {
        code: ErrorCode::L_REVOKE_PARTITIONS,
        partitions: Vec::new(),
    })
}

#[test]
fn events_are_served_before_records_and_positional_notices() {
    let (p, _budget) = partition(Arc::new(NoWaker));
    let q = p.queue();
    q.push(Event::Records(chunk(&p)));
    q.push(notice(Some(&p), ErrorCode::L_PARTITION_EOF));
    q.push(note("first"));
    assert_eq!(next(q), "first");
    assert_eq!(next(q), "record 0");
    // An event that arrives within a chunk does not wait for the rest of it.
    q.push(revocation());
    q.push(notice(None, ErrorCode::L_MAX_POLL_EXCEEDED));
    assert_eq!(next(q), "_REVOKE_PARTITIONS");
    assert_eq!(next(q), "_MAX_POLL_EXCEEDED");
    assert_eq!(next(q), "record 1");
    assert_eq!(next(q), "_PARTITION_EOF");
    assert_eq!(next(q), "nothing");
}

#[test]
fn whole_events_are_served_in_the_same_order() {
    let (p, _budget) = partition(Arc::new(NoWaker));
    let q = p.queue();
    q.push(Event::Records(chunk(&p)));
    q.push(revocation());
    let served: Vec<_> = std::iter::from_fn(|| q.pop(NOW)).map(|e| name(&e)).collect();
    assert_eq!(served, ["_REVOKE_PARTITIONS", "2 records"]);
}

#[test]
fn forwarded_events_keep_their_precedence() {
    let (p, _budget) = partition(Arc::new(NoWaker));
    let main = Queue::new();
    main.push(Event::Records(chunk(&p)));
    let own = Queue::new();
    own.push(revocation());
    own.push(Event::Records(chunk(&p)));
    own.forward_to(Some(main.clone()));
    let served: Vec<_> = std::iter::from_fn(|| main.pop(NOW)).map(|e| name(&e)).collect();
    assert_eq!(served, ["_REVOKE_PARTITIONS", "2 records", "2 records"]);
}

#[test]
fn extract_removes_from_both_parts() {
    let (p, _budget) = partition(Arc::new(NoWaker));
    let q = p.queue();
    q.push(Event::Records(chunk(&p)));
    q.push(revocation());
    assert_eq!(q.len(), 3);
    p.advance_fetch_generation();
    q.push(notice(Some(&p), ErrorCode::L_PARTITION_EOF));
    assert_eq!(q.extract(Event::is_stale).len(), 1);
    assert_eq!(q.len(), 2);
    assert_eq!(q.extract(|_| true).len(), 2);
    assert!(q.is_empty());
}
