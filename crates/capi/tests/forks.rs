//! A child process that is forked from one with clients of the Rust crate: its calls are refused, and nothing hangs.
//! The C face has tests of its own (`tests/c/fork.c`).

// A failed expectation ends a test.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use ottla_core::client::{Client, ClientHooks, CommitMode};
use ottla_core::cluster::MetadataScope;
use ottla_core::config::Conf;
use ottla_core::error::{Error, ErrorCode};
use ottla_core::event::DeliveryMode;
use ottla_core::producer::Record;
use ottla_core::records::Payload;
use ottla_core::types::{ClientKind, PARTITION_UA, Topic, TopicHooks, TopicPartition};

/// Timeout of a child process, in seconds.
const CHILD_S: u32 = 20;

fn client(kind: ClientKind, settings: &[(&str, &str)]) -> Client {
    let mut conf = Conf::new();
    for (name, value) in settings {
        conf.set(name, *value).unwrap();
    }
    let (settings, topic_defaults) = conf.finalize(kind).unwrap();
    let hooks = ClientHooks {
        delivery: DeliveryMode::All,
        ..Default::default()
    };
    Client::new(kind, settings, topic_defaults, hooks).unwrap()
}

/// Runs checks in a forked child, which ends without a farewell.
fn in_child(checks: impl FnOnce()) {
    // SAFETY: the child runs on the one thread that it has; the C library lets it allocate.
    let pid = unsafe { libc::fork() };
    assert!(pid >= 0);
    if pid == 0 {
        // SAFETY: plain system calls. A child that hangs is ended by the alarm.
        unsafe { libc::alarm(CHILD_S) };
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(checks));
        let passed = outcome.is_ok();
        if let Err(panic) = outcome {
            let text = panic.downcast_ref::<String>().map_or("no text", String::as_str);
            // The harness captures what is printed, and shows it in the parent only.
            let _ = writeln!(std::io::stderr(), "in the child: {text}");
        }
        // SAFETY: as above.
        unsafe { libc::_exit(i32::from(!passed)) };
    }
    let mut status = 0;
    // SAFETY: a child of this process, and a place for its status.
    assert_eq!(unsafe { libc::waitpid(pid, &raw mut status, 0) }, pid);
    assert!(libc::WIFEXITED(status), "killed by signal {}", libc::WTERMSIG(status));
    assert_eq!(libc::WEXITSTATUS(status), 0, "see the child's panic above");
}

fn produce(client: &Client, topic: &Arc<Topic>, block: bool) -> Result<(), Error> {
    let record = Record {
        value: Payload::Copy(b"x"),
        ..Default::default()
    };
    client.produce(topic, PARTITION_UA, record, block)
}

fn refused<T>(result: Result<T, Error>) {
    let error = result.err().expect("the call is refused");
    assert_eq!(error.code, ErrorCode::L_STATE, "{error}");
    assert!(error.message.contains("fork"), "{error}");
}

/// Waits until nothing is outstanding any more.
fn flush(client: &Client) {
    client.flush_begin().unwrap();
    while client.outq_len() > 0 {
        drop(
            client
                .main_queue()
                .pop(Some(Duration::from_secs(10)))
                .expect("a report"),
        );
    }
    client.flush_end();
}

#[test]
fn a_childs_calls_with_a_producer_are_refused() {
    let p = client(
        ClientKind::Producer,
        &[("test.mock.num.brokers", "1"), ("linger.ms", "200")],
    );
    let topic = p.topic("t", None, TopicHooks::default()).unwrap();
    produce(&p, &topic, false).unwrap();
    let ours = p.clone();
    in_child(|| {
        refused(produce(&p, &topic, false));
        refused(produce(&p, &topic, true));
        refused(p.topic("t", None, TopicHooks::default()));
        assert!(p.find_topic("t").is_none());
        refused(p.flush_begin());
        refused(p.flush_wait(Duration::MAX));
        p.flush_end();
        refused(p.purge(true, true, false));
        refused(p.pause_producing(vec![TopicPartition::new("t", 0)], true));
        refused(p.init_transactions(None));
        refused(p.metadata(MetadataScope::AllTopics, None));
        refused(p.list_groups(None, None));
        refused(p.test_fatal_error(ErrorCode::L_FATAL, "for a test"));
        assert_eq!(p.cluster_id(None), None);
        assert_eq!(p.controller_id(None), None);
        assert_eq!(p.fatal_error(), None);
        assert!(p.with_embedded(|_| ()).is_none());
        assert_eq!(p.add_brokers("localhost:1"), 0);
        assert!(p.main_queue().pop(None).is_none());
        assert_eq!(p.outq_len(), 0);
        let own = client(ClientKind::Producer, &[("test.mock.num.brokers", "1")]);
        let topic = own.topic("t", None, TopicHooks::default()).unwrap();
        produce(&own, &topic, false).unwrap();
        flush(&own);
        drop(own);
        p.destroy();
        drop(p);
    });
    produce(&ours, &ours.find_topic("t").unwrap(), false).unwrap();
    flush(&ours);
}

#[test]
fn a_childs_calls_with_a_consumer_are_refused() {
    let settings = [("test.mock.num.brokers", "1"), ("group.id", "g")];
    let c = client(ClientKind::Consumer, &settings);
    let topic = c.topic("t", None, TopicHooks::default()).unwrap();
    let ours = c.clone();
    in_child(|| {
        refused(c.subscribe(vec!["t".into()]));
        refused(c.assign(None));
        refused(c.assignment());
        refused(c.position(&mut []));
        refused(c.commit(None, CommitMode::Sync));
        refused(c.commit(None, CommitMode::Async));
        refused(c.store_offsets(&mut []));
        refused(c.partition(&topic, 0));
        refused(c.group());
        refused(c.query_watermarks(TopicPartition::new("t", 0), None));
        assert!(c.partition_queue("t", 0).is_none());
        assert!(c.consumer_queue().pop(None).is_none());
        refused(c.close_consumer().map(drop));
        drop(c);
    });
    assert_eq!(ours.assignment(), Ok(Vec::new()));
}

/// Returns the number of this process's threads that compress for clients.
#[cfg(target_os = "linux")]
fn worker_threads() -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap().filter_map(Result::ok);
    let name = |task: std::fs::DirEntry| std::fs::read_to_string(task.path().join("comm")).unwrap_or_default();
    tasks.map(name).filter(|name| name.trim() == "ottla-work").count()
}

/// Produces until worker threads run.
#[cfg(target_os = "linux")]
fn start_workers(client: &Client) {
    let topic = client.topic("compressed", None, TopicHooks::default()).unwrap();
    let value: Vec<u8> = (0..1000_u32).map(|i| (i * i % 251) as u8).collect();
    while worker_threads() == 0 {
        for _ in 0..2000 {
            let record = Record {
                value: Payload::Copy(&value),
                ..Default::default()
            };
            client.produce(&topic, 0, record, true).unwrap();
        }
        while client.outq_len() > 10_000 {
            drop(client.main_queue().pop(Some(Duration::from_secs(1))));
        }
    }
}

/// The parent's worker threads do not exist in the child, and may have held the lock of their jobs at the fork.
#[cfg(target_os = "linux")]
#[test]
fn child_has_worker_threads_of_its_own() {
    let settings = [
        ("test.mock.num.brokers", "1"),
        ("compression.codec", "zstd"),
        ("compression.level", "15"),
        ("worker.threads", "2"),
    ];
    let p = client(ClientKind::Producer, &settings);
    start_workers(&p);
    let ours = p.clone();
    in_child(|| {
        assert_eq!(worker_threads(), 0);
        let own = client(ClientKind::Producer, &settings);
        start_workers(&own);
        flush(&own);
        drop(own);
        assert_eq!(worker_threads(), 0, "the child's last client ends them");
        p.destroy();
        drop(p);
    });
    // The parent's go on, or start again.
    flush(&ours);
    start_workers(&ours);
    flush(&ours);
}
