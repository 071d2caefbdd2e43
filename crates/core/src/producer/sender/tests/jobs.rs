//! Batches that are compressed by jobs, whose results the test returns when it likes.

use super::*;
use crate::sys::Rng;
use crate::work::{Work, WorkDone, WorkOutput, WorkRules};

const JOBS: WorkRules = WorkRules {
    jobs_max: 4,
    bytes_min: 0,
};

/// Creates a producer of compressed batches of two records with these rules for jobs.
fn with_jobs(rules: WorkRules, settings: &[(&str, &str)]) -> World {
    with_jobs_and_topic(rules, settings, &[])
}

fn with_jobs_and_topic(rules: WorkRules, settings: &[(&str, &str)], topic: &[(&str, &str)]) -> World {
    let all = [
        &[
            ("compression.codec", "zstd"),
            ("batch.num.messages", "2"),
            ("linger.ms", "1000"),
        ],
        settings,
    ]
    .concat();
    let mut w = World::producer(&all, topic);
    w.core.set_work_rules(rules);
    w.add_topic("t", &[1, 1]);
    w.announce("t");
    w
}

/// Produces records that compression makes smaller, named by the letters.
fn produce(w: &mut World, partition: i32, letters: &str) {
    for letter in letters.chars() {
        w.produce("t", partition, &value(letter)).unwrap();
    }
    w.drive();
}

fn value(letter: char) -> String {
    letter.to_string().repeat(300)
}

/// Returns the first letters of the records in the held requests: one word per partition and request.
fn sent(w: &World) -> Vec<String> {
    let first = |values: &Vec<String>| values.iter().map(|v| &v[..1]).collect();
    w.sent_values().iter().map(|(_, values)| first(values)).collect()
}

fn jobs(w: &mut World) -> Vec<Work> {
    std::iter::from_fn(|| w.core.next_work()).collect()
}

fn finish(w: &mut World, done: WorkDone) {
    w.core.on_work(done);
    w.drive();
}

/// Returns the first letter, the error and the status of each report.
fn reports(w: &mut World) -> Vec<(String, ErrorCode, PersistStatus)> {
    let reports = w.reports().into_iter();
    reports.map(|r| (r.value[..1].to_owned(), r.error, r.status)).collect()
}

#[test]
fn batches_are_sent_in_their_order_whatever_the_order_of_results() {
    for idempotent in ["false", "true"] {
        let mut w = with_jobs(JOBS, &[("enable.idempotence", idempotent)]);
        // The producer's first batch confirms its epoch.
        produce(&mut w, 0, "ab");
        for work in jobs(&mut w) {
            finish(&mut w, work.run());
        }
        w.acknowledge();
        produce(&mut w, 0, "cdefgh");
        let mut jobs = jobs(&mut w);
        assert_eq!(jobs.len(), 3);
        finish(&mut w, jobs.pop().unwrap().run());
        finish(&mut w, jobs.pop().unwrap().run());
        assert!(sent(&w).is_empty(), "they are behind the first batch");
        finish(&mut w, jobs.pop().unwrap().run());
        assert_eq!(sent(&w), ["cd", "ef", "gh"]);
        let records = w.sent()[0].request.topic_data[0].partition_data[0].records.clone();
        let batch = BatchIter::new(records.unwrap().into_bytes()).next().unwrap().unwrap();
        assert!(batch.header().is_compressed());
        w.acknowledge_all();
        assert_eq!(w.log_of("t", 0), "abcdefgh".chars().map(value).collect::<Vec<_>>());
    }
}

#[test]
fn partitions_do_not_wait_for_each_others_jobs() {
    let mut w = with_jobs(JOBS, &[]);
    produce(&mut w, 0, "ab");
    produce(&mut w, 1, "cd");
    let mut jobs = jobs(&mut w);
    finish(&mut w, jobs.pop().unwrap().run());
    assert_eq!(sent(&w), ["cd"]);
    finish(&mut w, jobs.pop().unwrap().run());
    assert_eq!(sent(&w), ["cd", "ab"]);
}

#[test]
fn jobs_are_limited_and_the_next_one_follows_when_one_ends() {
    let mut w = with_jobs(WorkRules { jobs_max: 1, ..JOBS }, &[]);
    produce(&mut w, 0, "abcd");
    produce(&mut w, 1, "ef");
    for expected in ["ab", "ef", "cd"] {
        let mut one = jobs(&mut w);
        assert_eq!(one.len(), 1, "{expected}");
        assert!(sent(&w).is_empty());
        finish(&mut w, one.pop().unwrap().run());
        assert_eq!(sent(&w), [expected]);
        w.acknowledge();
    }
    assert!(jobs(&mut w).is_empty());
}

#[test]
fn batches_compressed_ahead_are_limited_in_number_and_none_is_larger_than_its_records() {
    let rules = WorkRules { jobs_max: 3, ..JOBS };
    let settings = [("compression.codec", "lz4"), ("max.in.flight", "1")];
    let mut w = with_jobs(rules, &settings);
    let mut rng = Rng::from_seed(1);
    let mut most = 0;
    for (i, letter) in "abcdefghijklmnop".chars().enumerate() {
        // Half of the batches cannot be compressed.
        let noise: String = (0..300).map(|_| char::from(33 + rng.below(94) as u8)).collect();
        let text = if i % 2 == 0 { noise } else { value(letter) };
        for _ in 0..2 {
            w.produce("t", 0, &format!("{letter}{text}")).unwrap();
        }
        w.drive();
        for work in jobs(&mut w) {
            finish(&mut w, work.run());
        }
        let ahead = w.core.sender().unwrap().compressed_ahead();
        assert!(ahead.iter().all(|(body, records)| body <= records), "{ahead:?}");
        most = most.max(ahead.len());
        assert!(most <= 3, "{ahead:?}");
    }
    assert_eq!(most, 3);
    w.acknowledge_all();
    while let Some(work) = w.core.next_work() {
        finish(&mut w, work.run());
        w.acknowledge_all();
    }
    let first = |value: &String| value.chars().next().unwrap();
    let log: String = w.log_of("t", 0).iter().map(first).collect();
    assert_eq!(log, "aabbccddeeffgghhiijjkkllmmnnoopp");
}

#[test]
fn batches_that_wait_for_a_job_are_sent_without_one_when_work_is_no_longer_handed_out() {
    let mut w = with_jobs(WorkRules { jobs_max: 1, ..JOBS }, &[]);
    produce(&mut w, 0, "ab");
    produce(&mut w, 1, "cd");
    let one = jobs(&mut w).pop().unwrap();
    w.core.set_work_rules(WorkRules::NONE);
    finish(&mut w, one.run());
    let mut all = sent(&w);
    all.sort();
    assert_eq!(all, ["ab", "cd"]);
}

#[test]
fn small_and_uncompressed_batches_are_sent_without_a_job() {
    let large = WorkRules {
        bytes_min: 10_000,
        ..JOBS
    };
    for (rules, codec) in [(large, "zstd"), (JOBS, "none")] {
        let mut w = with_jobs(rules, &[("compression.codec", codec)]);
        produce(&mut w, 0, "ab");
        assert!(w.core.next_work().is_none());
        assert_eq!(sent(&w), ["ab"]);
    }
}

#[test]
fn records_that_expire_during_their_job_are_reported_and_the_result_is_ignored() {
    let mut w = with_jobs_and_topic(JOBS, &[], &[("message.timeout.ms", "1100")]);
    produce(&mut w, 0, "ab");
    let work = jobs(&mut w).pop().unwrap();
    w.run_ms(600);
    produce(&mut w, 0, "cd");
    let next = jobs(&mut w).pop().unwrap();
    w.run_ms(510);
    let expired = |letter: &str| (letter.to_owned(), ErrorCode::L_MSG_TIMED_OUT, NotPersisted);
    assert_eq!(reports(&mut w), ["a", "b"].map(expired));
    finish(&mut w, next.run());
    assert_eq!(sent(&w), ["cd"]);
    finish(&mut w, work.run());
    assert_eq!(sent(&w), ["cd"]);
    assert_eq!(w.accumulator().outstanding(), 2);
}

#[test]
fn purged_records_are_reported_during_their_job() {
    let mut w = with_jobs(JOBS, &[]);
    produce(&mut w, 0, "ab");
    let work = jobs(&mut w).pop().unwrap();
    w.purge(true, false);
    let purged = |letter: &str| (letter.to_owned(), ErrorCode::L_PURGE_QUEUE, NotPersisted);
    assert_eq!(reports(&mut w), ["a", "b"].map(purged));
    produce(&mut w, 0, "cd");
    finish(&mut w, work.run());
    assert!(sent(&w).is_empty());
    let work = jobs(&mut w).pop().unwrap();
    finish(&mut w, work.run());
    assert_eq!(sent(&w), ["cd"]);
}

#[test]
fn close_during_a_job_reports_its_records() {
    let mut w = with_jobs(JOBS, &[]);
    produce(&mut w, 0, "ab");
    let work = jobs(&mut w).pop().unwrap();
    w.close();
    let closed = |letter: &str| (letter.to_owned(), ErrorCode::L_DESTROY, NotPersisted);
    assert_eq!(reports(&mut w), ["a", "b"].map(closed));
    assert!(w.core.is_finished());
    w.core.on_work(work.run());
    assert!(w.core.next_work().is_none());
}

#[test]
fn job_that_panics_fails_its_batch_only() {
    let mut w = with_jobs(JOBS, &[]);
    produce(&mut w, 0, "abcd");
    let mut jobs = jobs(&mut w);
    finish(&mut w, jobs.pop().unwrap().run());
    let mut done = jobs.pop().unwrap().run();
    done.output = WorkOutput::Panicked("overflow".into());
    finish(&mut w, done);
    let failed = |letter: &str| (letter.to_owned(), ErrorCode::L_BAD_COMPRESSION, NotPersisted);
    assert_eq!(reports(&mut w), ["a", "b"].map(failed));
    assert_eq!(sent(&w), ["cd"]);
}

#[test]
fn split_and_reencoded_batches_are_prepared_again() {
    for (code, parts) in [
        (ErrorCode::MSG_SIZE_TOO_LARGE, ["a", "b"].as_slice()),
        (ErrorCode::INVALID_MSG, ["ab"].as_slice()),
    ] {
        let mut w = with_jobs(JOBS, &[("retry.backoff.ms", "1")]);
        produce(&mut w, 0, "ab");
        let work = jobs(&mut w).pop().unwrap();
        finish(&mut w, work.run());
        w.refuse(code);
        w.run_ms(10);
        let jobs = jobs(&mut w);
        assert_eq!(jobs.len(), parts.len(), "{code}");
        for work in jobs.into_iter().rev() {
            finish(&mut w, work.run());
        }
        assert_eq!(sent(&w), parts);
        w.acknowledge_all();
        assert_eq!(w.log_of("t", 0), ["a", "b"].map(|v| v.repeat(300)));
    }
}
