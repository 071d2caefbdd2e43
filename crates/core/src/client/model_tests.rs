//! Models of a client's end: calls during the end of its thread, and several threads that end it.
//!
//! The core, the command queue and the managers are the production code. The thread drives the core as `runtime::Loop` does,
//! without a network.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use super::lifecycle::ClientThread;
use crate::cluster::{self, MetadataScope};
use crate::config::{ClientConfig, Conf, TopicConfig};
use crate::consumer;
use crate::core::{ClientHooks, Command, Core, CoreBuilder, Shared};
use crate::credentials::CredentialSource;
use crate::error::ErrorCode;
use crate::producer;
use crate::reply::Reply;
use crate::runtime::IoThread;
use crate::sys::sync::model_tests::{self, ModelWaker, join, must_catch, spawn};
use crate::sys::sync::{Flaw, thread::JoinHandle};
use crate::sys::{Clock, Instant, Rng};
use crate::types::ClientKind;

/// A clock whose time does not pass.
struct Still;

impl Clock for Still {
    fn now(&self) -> Instant {
        Instant::from_micros(1_000_000)
    }

    fn wall_ms(&self) -> i64 {
        1
    }
}

fn settings(kind: ClientKind) -> &'static (ClientConfig, TopicConfig) {
    static PRODUCER: OnceLock<(ClientConfig, TopicConfig)> = OnceLock::new();
    static CONSUMER: OnceLock<(ClientConfig, TopicConfig)> = OnceLock::new();
    let of_kind = match kind {
        ClientKind::Producer => &PRODUCER,
        ClientKind::Consumer | ClientKind::ShareConsumer => &CONSUMER,
    };
    of_kind.get_or_init(|| Conf::new().finalize(kind).unwrap())
}

fn explore(name: &str, preemptions: usize, model: impl Fn() + Sync + Send + 'static) {
    settings(ClientKind::Producer);
    settings(ClientKind::Consumer);
    // The main thread of a model has too little stack for a core.
    let model = Arc::new(model);
    model_tests::explore(name, preemptions, move || {
        let model = model.clone();
        spawn(move || model()).join().unwrap();
    });
}

struct Running {
    shared: Arc<Shared>,
    thread: JoinHandle<()>,
    ended: Arc<AtomicBool>,
}

fn start(kind: ClientKind) -> Running {
    let waker = Arc::new(ModelWaker::default());
    let (conf, topic_defaults) = settings(kind).clone();
    let parts = CoreBuilder {
        kind,
        conf,
        topic_defaults,
        hooks: ClientHooks::default(),
        credentials: CredentialSource::default(),
        clock: Arc::new(Still),
        waker: waker.clone(),
    };
    let core = parts.build(Rng::from_seed(1));
    let shared = core.shared().clone();
    let ended = Arc::new(AtomicBool::new(false));
    let end = ended.clone();
    let thread = spawn(move || {
        run(core, &waker);
        end.store(true, Ordering::Relaxed);
    });
    Running { shared, thread, ended }
}

fn run(mut core: Core, waker: &ModelWaker) {
    loop {
        core.drive(Still.now(), Still.wall_ms());
        while core.next_action().is_some() {}
        if core.is_finished() {
            return;
        }
        waker.wait();
    }
}

/// Requests metadata without a timeout: the cluster manager keeps the command until it can reply.
fn ask_for_metadata(shared: &Arc<Shared>) -> JoinHandle<ErrorCode> {
    let shared = shared.clone();
    spawn(move || {
        let reply = Reply::new();
        shared.send(Command::Cluster(cluster::Command::Metadata {
            scope: MetadataScope::Topics(Vec::new()),
            deadline: Instant::NEVER,
            reply: reply.clone(),
        }));
        reply.wait(None).unwrap().unwrap_err().code
    })
}

/// A call arrives while the client ends: before the last `take_commands`, after `Terminate` in the same batch, between
/// `take_commands` and the closing of the command queue, or after it. Each of these must reply: a queue that is closed
/// without being drained, or drained without being closed, leaves the caller waiting.
fn metadata_while_ending() {
    let client = start(ClientKind::Producer);
    let asking = ask_for_metadata(&client.shared);
    client.shared.send(Command::Terminate);
    assert_eq!(asking.join().unwrap(), ErrorCode::L_DESTROY);
    client.thread.join().unwrap();
}

#[test]
fn metadata_call_during_termination_is_answered() {
    explore("metadata while ending", 4, metadata_while_ending);
    must_catch(Flaw::NoNotify, "metadata while ending", 1, || {
        spawn(metadata_while_ending).join().unwrap();
    });
}

/// The same for commands of the managers of a producer and of a consumer.
#[test]
fn producer_and_consumer_commands_during_termination_are_answered() {
    explore("purge while ending", 4, || {
        let client = start(ClientKind::Producer);
        let purging = spawn({
            let shared = client.shared.clone();
            move || {
                let done = Reply::new();
                shared.send(Command::Producer(producer::Command::Purge {
                    queue: true,
                    in_flight: true,
                    done: done.clone(),
                }));
                done.wait(None).is_some()
            }
        });
        client.shared.send(Command::Terminate);
        assert!(purging.join().unwrap());
        client.thread.join().unwrap();
    });
    explore("assignment while ending", 4, || {
        let client = start(ClientKind::Consumer);
        let asking = spawn({
            let shared = client.shared.clone();
            move || {
                let reply = Reply::new();
                shared.send(Command::Consumer(consumer::Command::Assignment {
                    reply: reply.clone(),
                }));
                match reply.wait(None).unwrap() {
                    Ok(rows) => assert!(rows.is_empty()),
                    Err(error) => assert_eq!(error.code, ErrorCode::L_DESTROY),
                }
            }
        });
        client.shared.send(Command::Terminate);
        asking.join().unwrap();
        client.thread.join().unwrap();
    });
}

/// Two threads end the client, as with a concurrent `destroy` and drop of the last handle. The client's thread has ended when
/// either returns: the second must not return early because the first has taken the join handle.
#[test]
fn concurrent_stops_both_wait_for_the_thread() {
    explore("two threads end the client", 3, || {
        let client = start(ClientKind::Consumer);
        let inner = Arc::new(ClientThread::new(client.shared, IoThread::own(client.thread), None));
        let ending = [0, 1].map(|_| {
            let (inner, ended) = (inner.clone(), client.ended.clone());
            spawn(move || {
                inner.stop();
                assert!(ended.load(Ordering::Relaxed), "the client's thread still runs");
            })
        });
        let _ = join(ending);
    });
}

/// A thread waits on the consumer's queue without a timeout, another one on a queue forwarded to it, while the client is
/// destroyed. Both must return.
#[test]
fn queue_waits_end_with_the_client() {
    explore("poll while ending", 4, || {
        let client = start(ClientKind::Consumer);
        let main = client.shared.main_queue.clone();
        main.forward_to(Some(client.shared.consumer_queue.clone()));
        let inner = ClientThread::new(client.shared, IoThread::own(client.thread), None);
        let polling = spawn(move || main.pop(None).is_none());
        inner.stop();
        assert!(polling.join().unwrap());
    });
}
