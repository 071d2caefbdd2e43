//! Models of the fetcher, its budget, and the application that takes records.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::{Event, FetchBudget, NOW, PartitionState, chunk, explore, note, partition, text};
use crate::sys::sync::model_tests::{ModelWaker, must_catch, spawn};
use crate::sys::sync::{AtomicBool, Flaw};
use crate::types::offset::INVALID;

fn with_waker() -> (Arc<PartitionState>, Arc<FetchBudget>, Arc<ModelWaker>) {
    let waker = Arc::new(ModelWaker::default());
    let (state, budget) = partition(waker.clone());
    (state, budget, waker)
}

/// The fetcher finds the budget exhausted, sets the flag and checks again; the application drops the last chunk
/// meanwhile. Either the second check succeeds or the release wakes the fetcher. Without the second check, or with a
/// flag that is stored instead of exchanged, both may miss each other, and nothing is fetched any more.
fn starve() {
    let (p, budget, waker) = with_waker();
    let waiting = chunk(&p);
    let app = spawn(move || drop(waiting));
    while budget.bytes() > 0 {
        budget.set_starved();
        if budget.bytes() > 0 {
            waker.wait();
            assert!(budget.is_relieved());
        }
    }
    app.join().unwrap();
}

#[test]
fn a_starved_fetcher_is_woken() {
    explore("starved fetcher", 3, starve);
    must_catch(Flaw::Relaxed, "starved fetcher", 3, starve);
    must_catch(Flaw::TwoSteps, "starved fetcher", 3, starve);
}

/// The fetcher arms the notification for a low queue while the application takes the last chunks. Either arming fails
/// because the queue is low already, or the fetcher is notified.
fn run_low() {
    let (p, budget, waker) = with_waker();
    let chunks = [chunk(&p), chunk(&p)];
    let app = spawn(move || drop(chunks));
    if p.queued() >= 2 && p.arm(2) {
        while budget.take_drained().is_empty() {
            waker.wait();
        }
    }
    app.join().unwrap();
    assert_eq!((p.queued(), budget.bytes()), (0, 0));
}

#[test]
fn drained_partition_notifies_the_fetcher() {
    explore("partition runs low", 3, run_low);
    must_catch(Flaw::Relaxed, "partition runs low", 3, run_low);
    must_catch(Flaw::TwoSteps, "partition runs low", 3, run_low);
}

/// A seek advances the fetch generation while the application takes records. Once the seek is done, no earlier record
/// comes out, whether the chunk waits in the queue or is half used.
#[test]
fn no_stale_record_is_taken_after_the_fetch_generation_has_advanced() {
    explore("seek and take", 3, || {
        let (p, budget, _) = with_waker();
        p.queue().push(Event::Records(chunk(&p)));
        let sought = Arc::new(AtomicBool::new(false));
        let seeking = spawn({
            let (p, sought) = (p.clone(), sought.clone());
            move || {
                p.advance_fetch_generation();
                sought.store(true, Ordering::Release);
            }
        });
        for _ in 0..2 {
            let before = sought.load(Ordering::Acquire);
            let taken = p.queue().pop_one(NOW, |c| c.next().map(|r| r.offset));
            assert!(!before || taken.is_none(), "a record from before the seek");
        }
        seeking.join().unwrap();
        assert!(p.queue().pop(NOW).is_none());
        assert_eq!(
            (p.queued(), budget.bytes()),
            (0, 0),
            "stale chunks release their budget"
        );
    });
}

/// A thread takes a record while another one seeks: the record may have passed the check of the fetch generation before
/// the seek advances it, and be counted after. It must not undo the seek: the position stays that of the seek, and a
/// partition that is revoked and assigned again has no offset to commit.
#[test]
fn a_record_taken_during_a_seek_does_not_undo_it() {
    explore("position after a seek", 4, || {
        for reassigned in [false, true] {
            let (p, _, _) = with_waker();
            p.queue().push(Event::Records(chunk(&p)));
            let taking = spawn({
                let p = p.clone();
                move || p.queue().pop_one(NOW, |c| c.next().map(|r| r.offset))
            });
            if reassigned {
                p.restart(-1);
            } else {
                p.jump(100);
            }
            let _ = taking.join().unwrap();
            if reassigned {
                assert_eq!((p.position(), p.stored().offset), ((INVALID, -1), INVALID));
            } else {
                assert_eq!(p.position(), (100, -1));
                assert!(p.stored().offset <= 1);
            }
        }
    });
}

/// A partition is revoked while the application takes a record: once the fetch generation is advanced and the queue was
/// swept, the offset to commit is after each delivered record, so the next owner reads none of them again.
#[test]
fn last_commit_covers_every_delivered_record() {
    explore("commit before revocation", 3, || {
        let (p, _, _) = with_waker();
        p.queue().push(Event::Records(chunk(&p)));
        let taking = spawn({
            let p = p.clone();
            move || p.queue().pop_one(NOW, |c| c.next().map(|r| r.offset))
        });
        p.advance_fetch_generation();
        drop(p.queue().target().extract(Event::is_stale));
        let committed = p.stored().offset;
        if let Some(Ok(record)) = taking.join().unwrap() {
            assert_eq!(committed, record + 1);
        }
    });
}

/// The budget is exhausted by chunks that a seek makes stale while the application waits for a record without a timeout.
/// The wait must drop them before it continues: the fetcher fetches nothing while the budget is exhausted.
#[test]
fn waiting_application_drops_stale_chunks() {
    explore("stale chunks and a wait", 3, || {
        let (p, budget, waker) = with_waker();
        p.queue().push(Event::Records(chunk(&p)));
        p.advance_fetch_generation();
        let fetching = spawn({
            let (p, budget) = (p.clone(), budget.clone());
            move || {
                while budget.bytes() > 0 {
                    budget.set_starved();
                    if budget.bytes() > 0 {
                        waker.wait();
                    }
                }
                p.queue().push(note("new"));
            }
        });
        assert_eq!(text(p.queue().pop(None)), "new");
        fetching.join().unwrap();
    });
}
