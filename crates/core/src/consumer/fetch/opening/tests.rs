//! Fetched batches that are decompressed by jobs, whose results the test returns when it likes.

use ottla_protocol::ApiKey;
use ottla_protocol::compression::Codec;
use ottla_protocol::record::BatchIter;

use crate::error::ErrorCode;
use crate::sys::Rng;
use crate::test_kit::records::batch;
use crate::test_kit::{Got, World, record};
use crate::work::{Work, WorkDone, WorkOutput, WorkRules};

const JOBS: WorkRules = WorkRules {
    jobs_max: 4,
    bytes_min: 0,
};

/// Creates a consumer that hands out jobs, and topic `t` of two partitions.
fn with_jobs(rules: WorkRules, settings: &[(&str, &str)]) -> World {
    let all = [&[("enable.auto.commit", "false")], settings].concat();
    let mut w = World::consumer_without_sessions(&all, &[]);
    w.core.set_work_rules(rules);
    w.add_topic("t", &[1, 1]);
    w.hold(ApiKey::FETCH);
    w
}

/// Appends a batch of one record for each value.
fn append(w: &mut World, partition: i32, values: &[&str]) {
    for value in values {
        w.append_batch("t", partition, batch(0, &[value], Codec::Lz4));
    }
}

fn serve_all(w: &mut World) {
    while let Some((asked, ..)) = w.next_fetch() {
        w.serve(&asked);
    }
}

fn jobs(w: &mut World) -> Vec<Work> {
    std::iter::from_fn(|| w.core.next_work()).collect()
}

fn finish(w: &mut World, done: WorkDone) {
    w.core.on_work(done);
    w.drive();
}

/// Returns the bytes of the budget that are held or reserved.
fn used(w: &mut World) -> u64 {
    w.core.consumer().unwrap().used_budget()
}

fn offsets(got: &[Got]) -> Vec<i64> {
    let offset = |got: &Got| match got {
        Got::Record(_, offset, _) => *offset,
        other => panic!("{other:?}"),
    };
    got.iter().map(offset).collect()
}

#[test]
fn records_are_delivered_in_their_order_whatever_the_order_of_results() {
    let mut w = with_jobs(JOBS, &[]);
    append(&mut w, 0, &["a", "b", "c"]);
    append(&mut w, 1, &["x"]);
    w.assign(&[("t", 0, 0), ("t", 1, 0)]).unwrap();
    serve_all(&mut w);
    let mut jobs = jobs(&mut w);
    assert_eq!(jobs.len(), 4);
    assert!(w.take().is_empty());
    finish(&mut w, jobs.pop().unwrap().run());
    assert_eq!(w.take(), [record(1, 0, "x")], "the other partition does not wait");
    finish(&mut w, jobs.pop().unwrap().run());
    finish(&mut w, jobs.pop().unwrap().run());
    assert!(w.take().is_empty(), "they are behind the first batch");
    finish(&mut w, jobs.pop().unwrap().run());
    assert_eq!(w.take(), [record(0, 0, "a"), record(0, 1, "b"), record(0, 2, "c")]);
    assert_eq!(w.next_fetch().unwrap().2, [(0, 3), (1, 1)]);
}

/// A request without the partition might wait at the broker.
#[test]
fn next_request_waits_for_jobs_and_names_all_partitions() {
    let mut w = with_jobs(JOBS, &[]);
    append(&mut w, 0, &["a"]);
    w.assign(&[("t", 0, 0), ("t", 1, 0)]).unwrap();
    serve_all(&mut w);
    let mut jobs = jobs(&mut w);
    w.run_ms(100);
    assert!(w.next_fetch().is_none());
    finish(&mut w, jobs.pop().unwrap().run());
    assert_eq!(w.next_fetch().unwrap().2, [(0, 1), (1, 0)]);
}

#[test]
fn next_request_does_not_wait_for_jobs_of_dropped_data() {
    let drops: [fn(&mut World); 3] = [
        |w| assert_eq!(w.seek("t", 0, 0), ErrorCode::NO_ERROR),
        |w| assert_eq!(w.pause("t", 0, true), ErrorCode::NO_ERROR),
        |w| w.assign(&[("t", 1, 0)]).unwrap(),
    ];
    for (i, drop_data) in drops.into_iter().enumerate() {
        let mut w = with_jobs(JOBS, &[]);
        append(&mut w, 0, &["a"]);
        w.assign(&[("t", 0, 0), ("t", 1, 0)]).unwrap();
        serve_all(&mut w);
        let jobs = jobs(&mut w);
        assert_eq!(jobs.len(), 1);
        drop_data(&mut w);
        w.run_ms(1);
        let parts = w.next_fetch().unwrap().2;
        assert!(parts.contains(&(1, 0)), "{i}: {parts:?}");
    }
}

#[test]
fn further_jobs_follow_when_one_ends() {
    let mut w = with_jobs(WorkRules { jobs_max: 2, ..JOBS }, &[]);
    append(&mut w, 0, &["a", "b", "c"]);
    w.assign(&[("t", 0, 0)]).unwrap();
    serve_all(&mut w);
    let mut taken = Vec::new();
    let mut rounds = 0;
    while taken.len() < 3 {
        let jobs = jobs(&mut w);
        assert!((1..=2).contains(&jobs.len()), "{}", jobs.len());
        for work in jobs.into_iter().rev() {
            finish(&mut w, work.run());
        }
        taken.extend(w.take());
        rounds += 1;
    }
    assert_eq!(offsets(&taken), [0, 1, 2]);
    assert!(rounds > 1);
}

#[test]
fn uncompressed_and_small_batches_are_delivered_without_a_job() {
    let large = WorkRules {
        bytes_min: 10_000,
        ..JOBS
    };
    for (rules, codec) in [(large, Codec::Lz4), (JOBS, Codec::None)] {
        let mut w = with_jobs(rules, &[]);
        w.append_batch("t", 0, batch(0, &["a"], codec));
        w.assign(&[("t", 0, 0)]).unwrap();
        serve_all(&mut w);
        assert!(jobs(&mut w).is_empty());
        assert_eq!(w.take(), [record(0, 0, "a")]);
    }
}

#[test]
fn uncompressed_batches_between_jobs_keep_their_place() {
    let mut w = with_jobs(JOBS, &[]);
    append(&mut w, 0, &["a"]);
    w.append("t", 0, &["b"]);
    append(&mut w, 0, &["c"]);
    w.assign(&[("t", 0, 0)]).unwrap();
    serve_all(&mut w);
    let mut jobs = jobs(&mut w);
    assert_eq!(jobs.len(), 2);
    finish(&mut w, jobs.remove(0).run());
    assert_eq!(w.take(), [record(0, 0, "a"), record(0, 1, "b")]);
    finish(&mut w, jobs.remove(0).run());
    assert_eq!(w.take(), [record(0, 2, "c")]);
}

#[test]
fn aborted_and_control_records_between_jobs_are_skipped() {
    let mut w = with_jobs(JOBS, &[]);
    append(&mut w, 0, &["first"]);
    let aborted = w.begin_transaction("a", &[(0, "bad")]);
    let committed = w.begin_transaction("b", &[(0, "good")]);
    w.end_transaction("a", aborted, false);
    append(&mut w, 0, &["between"]);
    let later = w.begin_transaction("a", &[(0, "later")]);
    w.end_transaction("a", later, true);
    w.end_transaction("b", committed, true);
    append(&mut w, 0, &["last"]);
    w.assign(&[("t", 0, 0)]).unwrap();
    serve_all(&mut w);
    let jobs = jobs(&mut w);
    assert_eq!(jobs.len(), 3);
    for work in jobs.into_iter().rev() {
        finish(&mut w, work.run());
    }
    let expected = [(0, "first"), (2, "good"), (4, "between"), (5, "later"), (8, "last")];
    assert_eq!(w.take(), expected.map(|(offset, value)| record(0, offset, value)));
}

#[test]
fn batch_larger_than_its_reservation_is_delivered_in_its_place() {
    let large = "x".repeat(200_000);
    let mut w = with_jobs(JOBS, &[]);
    append(&mut w, 0, &["a", &large, "c"]);
    w.assign(&[("t", 0, 0)]).unwrap();
    serve_all(&mut w);
    for work in jobs(&mut w).into_iter().rev() {
        finish(&mut w, work.run());
    }
    assert_eq!(w.take(), [record(0, 0, "a"), record(0, 1, &large), record(0, 2, "c")]);
}

#[test]
fn results_after_a_seek_are_dropped_and_their_memory_is_held_until_then() {
    let mut w = with_jobs(JOBS, &[]);
    append(&mut w, 0, &["a", "b"]);
    w.assign(&[("t", 0, 0)]).unwrap();
    serve_all(&mut w);
    let old = jobs(&mut w);
    assert_eq!(w.seek("t", 0, 1), ErrorCode::NO_ERROR);
    let held = used(&mut w);
    assert!(held > 2000, "{held} bytes");
    serve_all(&mut w);
    let new = jobs(&mut w);
    for work in old {
        finish(&mut w, work.run());
        assert!(w.take().is_empty());
    }
    for work in new {
        finish(&mut w, work.run());
    }
    serve_all(&mut w);
    assert_eq!(w.take(), [record(0, 1, "b")]);
    w.pause("t", 0, true);
    w.run_ms(1000);
    assert_eq!(used(&mut w), 0);
}

#[test]
fn job_that_panics_skips_its_batch_with_an_error() {
    let mut w = with_jobs(JOBS, &[]);
    append(&mut w, 0, &["a", "b"]);
    w.assign(&[("t", 0, 0)]).unwrap();
    serve_all(&mut w);
    for (i, work) in jobs(&mut w).into_iter().enumerate() {
        let mut done = work.run();
        if i == 0 {
            done.output = WorkOutput::Panicked("overflow".into());
        }
        finish(&mut w, done);
    }
    let got = w.take();
    assert!(
        matches!(&got[0], Got::Error(ErrorCode::L_BAD_COMPRESSION, _)),
        "{got:?}"
    );
    assert_eq!(got[1..], [record(0, 1, "b")]);
}

#[test]
fn close_during_jobs_ends_the_client() {
    let mut w = with_jobs(JOBS, &[]);
    append(&mut w, 0, &["a", "b"]);
    w.assign(&[("t", 0, 0)]).unwrap();
    serve_all(&mut w);
    let jobs = jobs(&mut w);
    w.close();
    assert!(w.core.is_finished());
    for work in jobs {
        w.core.on_work(work.run());
    }
}

/// The memory of a consumer of two partitions while the application reads them, and jobs end at random.
#[derive(Default)]
struct MemoryRun {
    /// The most bytes that were held and reserved at once.
    most: u64,
    /// The most bytes by which a batch is larger than its compressed form.
    growth_max: u64,
    jobs: usize,
}

impl MemoryRun {
    const BUDGET: u64 = 64 * 1024;

    fn new(seed: u64, has_jobs: bool) -> Self {
        let mut run = MemoryRun::default();
        let mut rng = Rng::from_seed(seed);
        let rules = if has_jobs { JOBS } else { WorkRules::NONE };
        let mut w = with_jobs(rules, &[("queued.max.messages.kbytes", "64")]);
        for i in 0..40 {
            // Some batches are much larger than the one before lets expect.
            let letters = if rng.below(5) == 0 { 1 } else { 4 };
            let size = 1000 + rng.below(12_000);
            let text: String = (0..size).map(|_| char::from(b'a' + rng.below(letters) as u8)).collect();
            let batch = batch(0, &[&text], Codec::Zstd);
            let opened = BatchIter::new(batch.clone()).next().unwrap().unwrap();
            let records = opened.decompress(usize::MAX).unwrap().bytes().len();
            run.growth_max = run.growth_max.max((records - batch.len()) as u64);
            w.append_batch("t", i % 2, batch);
        }
        w.assign(&[("t", 0, 0), ("t", 1, 0)]).unwrap();
        let mut running: Vec<Work> = Vec::new();
        let mut taken = [Vec::new(), Vec::new()];
        for _ in 0..10_000 {
            if has_jobs && rng.below(4) == 0 {
                let rules = [WorkRules::NONE, JOBS, JOBS, JOBS][rng.below(4)];
                w.core.set_work_rules(rules);
            }
            serve_all(&mut w);
            running.extend(jobs(&mut w));
            run.most = run.most.max(used(&mut w));
            if !running.is_empty() && rng.below(3) > 0 {
                let work = running.swap_remove(rng.below(running.len()));
                finish(&mut w, work.run());
                run.jobs += 1;
            } else if let Some(Got::Record(partition, offset, _)) = w.take_one() {
                taken[partition as usize].push(offset);
            }
            run.most = run.most.max(used(&mut w));
            w.run_ms(1);
            if taken.iter().map(Vec::len).sum::<usize>() == 40 {
                break;
            }
        }
        assert_eq!(taken, [(0..20).collect::<Vec<_>>(), (0..20).collect()], "seed {seed}");
        run
    }
}

/// While the application holds no record, one batch is delivered whatever its size.
#[test]
fn memory_exceeds_the_budget_by_one_batch_at_most_with_jobs_as_without() {
    for has_jobs in [false, true] {
        let (mut jobs, mut exceeded) = (0, 0);
        for seed in 0..30 {
            let run = MemoryRun::new(seed, has_jobs);
            let most = MemoryRun::BUDGET + run.growth_max;
            assert!(run.most <= most, "seed {seed}: {} of {most} bytes", run.most);
            jobs += run.jobs;
            exceeded += usize::from(run.most > MemoryRun::BUDGET);
        }
        println!("jobs: {jobs}, runs beyond the budget: {exceeded}");
        assert!(exceeded > 0, "the exception must occur for the bound to be tested");
        assert_eq!(jobs > 300, has_jobs, "{jobs} jobs");
    }
}
