//! Models of the hand-over of jobs and results between loops and worker threads. A lost notification is a deadlock.

use std::sync::Arc;
use std::time::Duration;

use super::{WorkClient, WorkPool};
use crate::sys::sync::Flaw;
use crate::sys::sync::model_tests::{ModelWaker, explore, join, must_catch, spawn};
use crate::work::tests::plain_jobs;

/// Threads that wait for further jobs for ever, and threads that end at once without one.
const PATIENT: Duration = Duration::from_secs(5);
const IMPATIENT: Duration = Duration::ZERO;

fn pool(idle_max: Duration) -> Arc<WorkPool> {
    Arc::new(WorkPool::new(idle_max))
}

/// A loop that hands out jobs one after another while results return, then takes all results and ends.
fn run_loop(pool: &Arc<WorkPool>, threads_max: usize, jobs: usize) {
    let waker = Arc::new(ModelWaker::default());
    let mut client = WorkClient::new(pool.clone(), threads_max, waker.clone());
    let mut results = 0;
    for work in plain_jobs(jobs) {
        assert!(client.submit(work).is_ok());
        results += client.take_results().len();
    }
    while results < jobs {
        waker.wait();
        results += client.take_results().len();
    }
}

/// One loop and one thread: the second job may come while the thread runs the first, ends, or waits.
fn one_loop(idle_max: Duration) {
    let pool = pool(idle_max);
    run_loop(&pool, 1, 2);
    // The end of the last client has waited for the thread.
    assert_eq!(pool.state.lock().threads, 0);
}

/// Two threads for two jobs.
fn two_threads() {
    let pool = pool(PATIENT);
    run_loop(&pool, 2, 2);
    assert_eq!(pool.state.lock().threads, 0);
}

/// Two loops share one thread; the loop that ends first must leave the other's job alone.
fn two_loops(idle_max: Duration) {
    let pool = pool(idle_max);
    let loops = [0, 1].map(|_| {
        let pool = pool.clone();
        spawn(move || run_loop(&pool, 1, 1))
    });
    join(loops);
    assert_eq!(pool.state.lock().threads, 0);
}

/// A client ends while its jobs wait or run.
fn client_ends_early() {
    let pool = pool(PATIENT);
    let mut client = WorkClient::new(pool.clone(), 1, Arc::new(ModelWaker::default()));
    for work in plain_jobs(2) {
        assert!(client.submit(work).is_ok());
    }
    drop(client);
    let state = pool.state.lock();
    assert_eq!((state.threads, state.jobs.len()), (0, 0));
}

#[test]
fn every_job_is_run_and_its_result_reaches_the_loop() {
    explore("jobs of one loop", 3, || one_loop(PATIENT));
    explore("jobs of one loop, threads end at once", 3, || one_loop(IMPATIENT));
    explore("jobs on two threads", 2, two_threads);
}

#[test]
fn loops_share_threads_and_end_independently() {
    explore("jobs of two loops", 2, || two_loops(PATIENT));
    explore("jobs of two loops, threads end at once", 2, || two_loops(IMPATIENT));
}

#[test]
fn end_of_the_last_client_waits_for_its_threads() {
    explore("a client ends during its jobs", 3, client_ends_early);
}

#[test]
fn lost_notifications_are_caught() {
    must_catch(Flaw::NoNotify, "jobs of one loop", 2, || one_loop(PATIENT));
}
