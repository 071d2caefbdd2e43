//! The loop against clients that nobody drives: what it asks of them, and in which order.

use std::sync::Arc;
use std::time::Duration;

use super::worker::Undoing;
use super::{Input, Output, Process, ProcessError, ProcessorConf, Worker};
use crate::client::{ClientHooks, Command, Parts, Shared};
use crate::config::Conf;
use crate::consumer::Command as Consuming;
use crate::env::{Rng, SystemClock, Waker};
use crate::error::ErrorCode;
use crate::event::Rebalance;
use crate::types::{ClientKind, PartitionOffset, TopicPartition, offset};

struct Asleep;

impl Waker for Asleep {
    fn wake(&self) {}
}

struct Nothing;

impl Process for Nothing {
    fn process(&mut self, _: &Input<'_>, _: &mut Output) -> Result<(), ProcessError> {
        Ok(())
    }
}

fn shared(kind: ClientKind, conf: &Conf) -> Arc<Shared> {
    let (conf, topic_defaults) = conf.finalize(kind).unwrap();
    let parts = Parts {
        kind,
        conf,
        topic_defaults,
        hooks: ClientHooks {
            rebalance_event: true,
            ..ClientHooks::default()
        },
        clock: Arc::new(SystemClock::new()),
        waker: Arc::new(Asleep),
    };
    parts.assemble(Rng::from_seed(1)).shared().clone()
}

fn worker(settings: &[(&str, &str)]) -> Worker<Nothing> {
    let mut conf = ProcessorConf::new("app", &["in"]);
    for (name, value) in settings {
        conf.set(name, value).unwrap();
    }
    let consumer = shared(ClientKind::Consumer, &conf.consumer().unwrap());
    let producer = shared(ClientKind::Producer, &conf.producer().unwrap());
    Worker::new(conf.loop_settings(), consumer, producer, Nothing)
}

fn revocation() -> Rebalance {
    let tp = TopicPartition::new("in", 0);
    Rebalance {
        code: ErrorCode::L_REVOKE_PARTITIONS,
        partitions: vec![PartitionOffset::new(tp, offset::INVALID)],
    }
}

#[test]
fn a_loop_that_ends_gives_up_what_the_group_wants_back_before_it_leaves() {
    let mut worker = worker(&[]);
    worker.undoing = Undoing::Input;
    worker.revocation = Some(revocation());
    worker.stop();
    worker.turn(Duration::ZERO);
    let asked = worker.calls.consumer.take_commands();
    // The consumer leaves only when it has been answered.
    assert!(
        matches!(
            asked[..],
            [
                Command::Consumer(Consuming::Unassign { .. } | Consuming::IncrementalUnassign { .. }),
                Command::Consumer(Consuming::Close { .. })
            ]
        ),
        "{asked:?}"
    );
}

#[test]
fn a_loop_goes_on_with_another_producer_as_often_as_its_own_late_requests_may_fence_it() {
    for unanswered in 0..3 {
        let named = [("processing.guarantee", "exactly_once"), ("instance.id", "one")];
        let mut worker = worker(&named);
        let mut conf = ProcessorConf::new("app", &["in"]);
        for (name, value) in named {
            conf.set(name, value).unwrap();
        }
        let mut replaced = 0;
        let ended = loop {
            let producer = worker.calls.producer.clone();
            let of_this_one = if replaced == 0 { unanswered } else { 0 };
            for _ in 0..of_this_one {
                producer.producer.as_ref().unwrap().add_doubtful_init();
            }
            producer.set_fatal(ErrorCode::L_FENCED, "fenced");
            worker.hear_producer();
            if let Some(failure) = &worker.failure {
                break failure.to_string();
            }
            worker.replace_producer(shared(ClientKind::Producer, &conf.producer().unwrap()));
            replaced += 1;
        };
        assert_eq!(replaced, unanswered);
        assert!(ended.contains("another process has taken the instance.id"), "{ended}");
    }
}
