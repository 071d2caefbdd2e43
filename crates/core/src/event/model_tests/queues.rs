//! Models of queues: pushing, waiting, forwarding and closing; and of replies.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize as Count, Ordering};

use super::{Queue, chunk, drain, explore, note, partition, text};
use crate::reply::Reply;
use crate::sys::sync::Flaw;
use crate::sys::sync::model_tests::{ModelWaker, join, must_catch, spawn};

/// Two threads wait, and two events are pushed one after the other. The second push may occur before the thread that the
/// first one woke has taken an event: the other thread must be woken, too.
fn two_wait_for_two() {
    let queue = Queue::new();
    let waiting = [0, 1].map(|_| {
        let queue = queue.clone();
        spawn(move || text(queue.pop(None)))
    });
    queue.push(note("1"));
    queue.push(note("2"));
    let mut got = join(waiting);
    got.sort();
    assert_eq!(got, ["1", "2"]);
}

#[test]
fn every_event_wakes_a_thread() {
    explore("two wait for two", 5, two_wait_for_two);
    must_catch(Flaw::NoNotify, "two wait for two", 1, two_wait_for_two);
}

/// Two threads wait for a record each, and one chunk with both is pushed. Its push wakes one thread, which leaves a
/// record: it must wake the other one, which otherwise waits although the queue has a record.
#[test]
fn a_record_left_in_a_chunk_wakes_the_next_thread() {
    explore("two wait for one chunk", 5, || {
        let (p, _) = partition(Arc::new(ModelWaker::default()));
        let waiting = [0, 1].map(|_| {
            let queue = p.queue().clone();
            spawn(move || {
                let taken = queue.pop_one(None, |c| c.next().map(|r| r.offset));
                taken.unwrap().unwrap()
            })
        });
        p.queue().push(super::Event::Records(chunk(&p)));
        let mut got = join(waiting);
        got.sort_unstable();
        assert_eq!(got, [0, 1]);
    });
}

/// A queue is forwarded while a thread waits on it, and then filled through its new target. The thread waits in the old
/// target; unless it is woken, it waits forever.
#[test]
fn a_waiting_thread_follows_a_forward() {
    explore("wait and forward", 5, || {
        let (queue, target) = (Queue::new(), Queue::new());
        let waiting = spawn({
            let queue = queue.clone();
            move || text(queue.pop(None))
        });
        queue.forward_to(Some(target.clone()));
        target.push(note("1"));
        assert_eq!(waiting.join().unwrap(), "1");
    });
}

/// A queue's forward changes from one target to another, and is removed, while threads wait in the old target, whose own
/// forward does not change.
#[test]
fn a_waiting_thread_follows_from_target_to_target() {
    explore("wait and forward elsewhere", 3, || {
        let (queue, old, new) = (Queue::new(), Queue::new(), Queue::new());
        queue.forward_to(Some(old));
        let waiting = [0, 1].map(|_| {
            let queue = queue.clone();
            spawn(move || text(queue.pop(None)))
        });
        queue.forward_to(Some(new.clone()));
        new.push(note("1"));
        queue.forward_to(None);
        queue.push(note("2"));
        // A thread that has not followed at once finds "1" in `new` only if the queue is forwarded there.
        queue.forward_to(Some(new));
        let mut got = join(waiting);
        got.sort();
        assert_eq!(got, ["1", "2"]);
    });
}

/// Two events are pushed while the queue is being forwarded. A push that has found the queue's end before the change and
/// inserts after it would leave its event in a queue that is not read any more; a push between the change and the move
/// of the queued events would overtake them.
#[test]
fn forwarding_neither_loses_nor_reorders() {
    explore("push and forward", 4, || {
        let (queue, target) = (Queue::new(), Queue::new());
        queue.push(note("0"));
        let pushing = spawn({
            let queue = queue.clone();
            move || {
                queue.push(note("1"));
                queue.push(note("2"));
            }
        });
        queue.forward_to(Some(target.clone()));
        pushing.join().unwrap();
        assert_eq!(drain(&target), ["0", "1", "2"]);
        queue.forward_to(None);
        assert!(queue.is_empty(), "an event was left behind in the forwarded queue");
    });
}

/// Two threads forward two queues to each other while a third one pushes. Without one order of locks they deadlock, and
/// a circle would leave every event in some queue that is not the end of the other's chain.
#[test]
fn a_circle_cannot_be_closed() {
    explore("circle of forwards", 5, || {
        let (a, b) = (Queue::new(), Queue::new());
        let forward = |from: &Arc<Queue>, to: &Arc<Queue>| {
            let (from, to) = (from.clone(), to.clone());
            spawn(move || from.forward_to(Some(to)))
        };
        let threads = [forward(&a, &b), forward(&b, &a)];
        a.push(note("1"));
        join(threads);
        assert_eq!((a.len(), b.len()), (1, 1));
    });
}

/// The application sets a forward while an assignment sets the default one. In either order the application's forward
/// remains: an assignment that checks first and forwards later would undo it.
#[test]
fn forward_by_choice_outlasts_forward_by_default() {
    explore("choice and default", 5, || {
        let (queue, chosen, usual) = (Queue::new(), Queue::new(), Queue::new());
        let assigning = spawn({
            let (queue, usual) = (queue.clone(), usual.clone());
            move || queue.forward_by_default(Some(usual))
        });
        queue.forward_by_choice(Some(chosen.clone()));
        assigning.join().unwrap();
        queue.push(note("1"));
        assert_eq!((chosen.len(), usual.len()), (1, 0));
    });
}

/// The client is destroyed while threads wait, one on the queue, one on another that forwards to it. Both must return.
fn closing_ends_waits() {
    let (queue, forwarding) = (Queue::new(), Queue::new());
    forwarding.forward_to(Some(queue.clone()));
    let waiting = [queue.clone(), forwarding].map(|q| spawn(move || q.pop(None).is_none()));
    queue.purge(true);
    queue.push(note("late"));
    assert!(join(waiting).iter().all(|ended| *ended));
}

#[test]
fn purge_ends_waits_on_a_closed_queue() {
    explore("wait and close", 5, closing_ends_waits);
    must_catch(Flaw::NoNotify, "wait and close", 1, closing_ends_waits);
}

/// An application that waits with `poll()` on a descriptor sets it up while an event comes in. It must be notified
/// at least once, by the second of the two.
#[test]
fn a_notification_is_not_missed() {
    explore("push and notify", 5, || {
        let queue = Queue::new();
        let notified = Arc::new(Count::new(0));
        let pushing = spawn({
            let queue = queue.clone();
            move || queue.push(note("1"))
        });
        let count = notified.clone();
        queue.set_notify(Some(Arc::new(move || {
            count.fetch_add(1, Ordering::Relaxed);
        })));
        pushing.join().unwrap();
        assert!(notified.load(Ordering::Relaxed) > 0);
    });
}

/// A result and a refusal of the same call race: the caller gets the first one, once.
fn answer_once() {
    let reply = Reply::new();
    let answering = [1, 2].map(|n| {
        let reply = reply.clone();
        spawn(move || reply.fill(n))
    });
    assert!(matches!(reply.wait(None), Some(1 | 2)));
    join(answering);
}

#[test]
fn a_call_is_answered() {
    explore("reply", 4, answer_once);
    must_catch(Flaw::NoNotify, "reply", 1, answer_once);
}
