//! Tests of the commands that the loop sends to its clients, and of their order. The clients' cores do not run: the tests
//! read the commands and fill the replies.

use std::sync::Arc;
use std::time::Duration;

use super::{Rollback, Turn, Worker};
use crate::{Input, Output, Process, ProcessError, ProcessorConf};
use ottla_core::client::{ClientHooks, Command, CoreBuilder, CredentialSource, Shared};
use ottla_core::config::Conf;
use ottla_core::consumer::{Command as ConsumerCommand, CommitTarget};
use ottla_core::error::{Error, ErrorCode};
use ottla_core::event::{PartitionState, Queue, Rebalance};
use ottla_core::memory::FetchBudget;
use ottla_core::producer::Command as ProducerCommand;
use ottla_core::sys::{Rng, SystemClock, Waker};
use ottla_core::types::{ClientKind, PartitionOffset, TopicHooks, TopicPartition, offset};

struct NoopWaker;

impl Waker for NoopWaker {
    fn wake(&self) {}
}

/// An application that records its callbacks in order.
#[derive(Default)]
struct CallbackLog(Vec<&'static str>);

impl Process for CallbackLog {
    fn process(&mut self, _: &Input<'_>, _: &mut Output) -> Result<(), ProcessError> {
        Ok(())
    }

    fn on_revoked(&mut self, _: &[TopicPartition]) {
        self.0.push("revoked");
    }

    fn on_committed(&mut self) {
        self.0.push("committed");
    }

    fn on_rolled_back(&mut self) {
        self.0.push("rolled back");
    }
}

/// Creates a client whose core does not run.
fn shared(kind: ClientKind, conf: &Conf) -> Arc<Shared> {
    let (conf, topic_defaults) = conf.finalize(kind).unwrap();
    let builder = CoreBuilder {
        kind,
        conf,
        topic_defaults,
        hooks: ClientHooks {
            rebalance_event: true,
            ..ClientHooks::default()
        },
        credentials: CredentialSource::default(),
        clock: Arc::new(SystemClock::new()),
        waker: Arc::new(NoopWaker),
    };
    builder.build(Rng::from_seed(1)).shared().clone()
}

fn worker(settings: &[(&str, &str)]) -> Worker<CallbackLog> {
    let mut conf = ProcessorConf::new("app", &["in"]);
    for (name, value) in settings {
        conf.set(name, value).unwrap();
    }
    let consumer = shared(ClientKind::Consumer, &conf.consumer().unwrap());
    let producer = shared(ClientKind::Producer, &conf.producer().unwrap());
    Worker::new(conf.loop_settings(), consumer, producer, CallbackLog::default())
}

fn revocation() -> Rebalance {
    let tp = TopicPartition::new("in", 0);
    Rebalance {
        code: ErrorCode::L_REVOKE_PARTITIONS,
        partitions: vec![PartitionOffset::new(tp, offset::INVALID)],
    }
}

#[test]
fn stop_revokes_pending_partitions_before_the_close() {
    let mut worker = worker(&[]);
    worker.rollback = Rollback::Input;
    worker.revocation = Some(revocation());
    worker.stop();
    worker.turn(Duration::ZERO);
    let commands = worker.calls.consumer.take_commands();
    // The consumer leaves only after the reply to its revocation.
    assert!(
        matches!(
            commands[..],
            [
                Command::Consumer(ConsumerCommand::Unassign { .. } | ConsumerCommand::IncrementalUnassign { .. }),
                Command::Consumer(ConsumerCommand::Close { .. })
            ]
        ),
        "{commands:?}"
    );
}

#[test]
fn fenced_producer_is_replaced_once_per_init_with_unknown_outcome() {
    for unanswered in 0..3 {
        let settings = [("processing.guarantee", "exactly_once"), ("instance.id", "one")];
        let mut worker = worker(&settings);
        let mut conf = ProcessorConf::new("app", &["in"]);
        for (name, value) in settings {
            conf.set(name, value).unwrap();
        }
        let mut replaced = 0;
        let failure = loop {
            let producer = worker.calls.producer.clone();
            // Only the first producer has InitProducerId requests without a response.
            let unanswered_inits = if replaced == 0 { unanswered } else { 0 };
            for _ in 0..unanswered_inits {
                producer.producer.as_ref().unwrap().count_unanswered_init();
            }
            producer.set_fatal(ErrorCode::L_FENCED, "fenced");
            worker.poll_producer();
            if let Some(failure) = &worker.failure {
                break failure.to_string();
            }
            worker.replace_producer(shared(ClientKind::Producer, &conf.producer().unwrap()));
            replaced += 1;
        };
        assert_eq!(replaced, unanswered);
        assert!(
            failure.contains("another process has taken the instance.id"),
            "{failure}"
        );
    }
}

/// Creates an at-least-once loop with one processed record and a pending revocation of its partition.
fn worker_with_uncommitted_record() -> Worker<CallbackLog> {
    let mut worker = worker(&[("processing.guarantee", "at_least_once")]);
    worker.is_subscribed = true;
    let topic = worker.calls.consumer.topic("in", None, TopicHooks::default()).unwrap();
    let budget = Arc::new(FetchBudget::new(Arc::new(NoopWaker)));
    let partition = Arc::new(PartitionState::new(0, topic, 0, Queue::new(), budget, false));
    let now = worker.calls.now();
    worker.assigned.insert(partition.tp());
    worker.uncommitted.note(&partition, 7, 0, now);
    worker.revocation = Some(revocation());
    worker
}

/// Takes turns until no work is pending. Commits get this reply, other commands succeed.
fn run_until_idle(worker: &mut Worker<CallbackLog>, committed: Result<(), ErrorCode>) {
    while !matches!(worker.turn(Duration::ZERO), Turn::Idle | Turn::Ended(_)) {
        for command in worker.calls.consumer.take_commands() {
            match command {
                Command::Consumer(ConsumerCommand::Commit {
                    offsets,
                    target: CommitTarget::Reply(reply),
                }) => reply.fill(committed.map(|()| offsets.unwrap()).map_err(Error::from)),
                Command::Consumer(
                    ConsumerCommand::IncrementalUnassign { reply, .. }
                    | ConsumerCommand::Unassign { reply }
                    | ConsumerCommand::Close { reply },
                ) => reply.fill(Ok(())),
                other => panic!("{other:?}"),
            }
        }
        for command in worker.calls.producer.take_commands() {
            match command {
                Command::Producer(ProducerCommand::Purge { done, .. }) => done.fill(()),
                other => panic!("{other:?}"),
            }
        }
    }
}

#[test]
fn revocation_commits_or_rolls_back_first() {
    let mut worker = worker_with_uncommitted_record();
    run_until_idle(&mut worker, Ok(()));
    assert_eq!(worker.process.0, ["committed", "revoked"]);
    let mut worker = worker_with_uncommitted_record();
    run_until_idle(&mut worker, Err(ErrorCode::L_TIMED_OUT));
    assert_eq!(worker.process.0, ["rolled back", "revoked"]);
    // The deadline of the last commit has passed.
    let mut worker = worker_with_uncommitted_record();
    worker.stop_by = Some(worker.calls.now());
    run_until_idle(&mut worker, Ok(()));
    assert_eq!(worker.process.0, ["rolled back", "revoked"]);
    assert!(worker.has_ended);
}
