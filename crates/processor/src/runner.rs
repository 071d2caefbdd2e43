//! The loop on the caller's thread, with its clients.

use std::sync::Arc;
use std::time::Duration;

use crate::process::{Process, ProcessError};
use crate::settings::ProcessorConf;
use crate::worker::{Turn, Worker};
use ottla_core::client::{Client, ClientHooks};
use ottla_core::error::Error;
use ottla_core::event::{DeliveryMode, Queue};
use ottla_core::log::LogSink;
use ottla_core::sys::Rng;
use ottla_core::types::ClientKind;
use std::sync::atomic::AtomicBool;

/// Maximum wait of a turn.
const TURN_WAIT_MAX: Duration = Duration::from_secs(1);

/// A read-process-write loop with its own consumer and producer. See the [crate](crate) for its guarantees.
///
/// ```no_run
/// use ottla_processor::{Input, Output, ProcessError, Processor, ProcessorConf};
/// use ottla_core::producer::{Payload, Record};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
/// let mut conf = ProcessorConf::new("shout", &["words"]);
/// conf.set("bootstrap.servers", "localhost:9092")?;
/// conf.set("processing.guarantee", "exactly_once")?;
/// let mut processor = Processor::new(conf, |input: &Input<'_>, output: &mut Output| -> Result<(), ProcessError> {
///     let word = input.record.value.unwrap_or_default().to_ascii_uppercase();
///     let record = Record { key: input.record.key, value: Payload::Copy(&word), ..Record::default() };
///     output.send("shouts", record)?;
///     Ok(())
/// })?;
/// processor.run()?;
/// # Ok(())
/// # }
/// ```
pub struct Processor<P> {
    worker: Worker<P>,
    conf: ProcessorConf,
    hooks: ClientHooks,
    consumer: Client,
    producer: Client,
    stopper: Stopper,
}

impl<P> std::fmt::Debug for Processor<P> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Processor")
            .field("consumer", &self.consumer)
            .field("producer", &self.producer)
            .finish_non_exhaustive()
    }
}

/// Stops a [`Processor`]. Thread-safe; takes a lock.
#[derive(Clone)]
pub struct Stopper {
    wanted: Arc<AtomicBool>,
    queue: Arc<Queue>,
}

impl std::fmt::Debug for Stopper {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stopper").finish_non_exhaustive()
    }
}

impl Stopper {
    /// Causes [`Processor::run`] to commit the processed records, leave the group and return. Does not wait for that.
    pub fn stop(&self) {
        self.wanted.store(true, std::sync::atomic::Ordering::Release);
        self.queue.wake();
    }

    fn is_wanted(&self) -> bool {
        self.wanted.load(std::sync::atomic::Ordering::Acquire)
    }
}

impl<P: Process> Processor<P> {
    /// Creates the clients. Nothing is read before [`run`](Self::run). The clients' log lines are dropped.
    ///
    /// # Errors
    /// `L_INVALID_ARG` for settings that contradict each other or the guarantee, and the errors of [`Client::new`].
    pub fn new(conf: ProcessorConf, process: P) -> Result<Self, Error> {
        Self::with_log(conf, process, None)
    }

    /// Like [`new`](Self::new); log lines of the clients go to `log`.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_log(mut conf: ProcessorConf, process: P, log: Option<LogSink>) -> Result<Self, Error> {
        conf.name_instance(&mut Rng::from_entropy());
        let hooks = ClientHooks {
            log,
            delivery: DeliveryMode::ErrorsOnly,
            rebalance_event: true,
            error_event: true,
            ..ClientHooks::default()
        };
        let consumer = make(&conf, ClientKind::Consumer, &hooks)?;
        let producer = make(&conf, ClientKind::Producer, &hooks)?;
        let stopper = Stopper {
            wanted: Arc::new(AtomicBool::new(false)),
            queue: consumer.consumer_queue().clone(),
        };
        let worker = Worker::new(
            conf.loop_settings(),
            consumer.shared().clone(),
            producer.shared().clone(),
            process,
        );
        Ok(Processor {
            worker,
            conf,
            hooks,
            consumer,
            producer,
            stopper,
        })
    }

    /// Returns a handle that stops the loop from any thread.
    pub fn stopper(&self) -> Stopper {
        self.stopper.clone()
    }

    /// Returns the application's process.
    pub fn process(&self) -> &P {
        self.worker.process()
    }

    /// Runs the loop on this thread until it is stopped or fails.
    ///
    /// # Errors
    /// The application's error, or a permanent [`struct@Error`]: settings or permissions that brokers reject, an offset out of
    /// range with `auto.offset.reset=error`, `L_FENCED` if another process has the same `instance.id` (only with
    /// `exactly_once`). Uncommitted work is rolled back.
    pub fn run(&mut self) -> Result<(), ProcessError> {
        loop {
            if self.stopper.is_wanted() {
                self.worker.stop();
            }
            match self.worker.turn(TURN_WAIT_MAX) {
                Turn::Busy | Turn::Idle => {}
                Turn::NeedsProducer => {
                    // Remaining events of the old producer are irrelevant and must not be processed.
                    self.producer.destroy();
                    self.producer = make(&self.conf, ClientKind::Producer, &self.hooks)?;
                    self.worker.replace_producer(self.producer.shared().clone());
                }
                Turn::Ended(result) => {
                    self.producer.destroy();
                    self.consumer.destroy();
                    return result;
                }
            }
        }
    }
}

fn make(conf: &ProcessorConf, kind: ClientKind, hooks: &ClientHooks) -> Result<Client, Error> {
    let conf = match kind {
        ClientKind::Consumer => conf.consumer()?,
        _ => conf.producer()?,
    };
    let (client, topic) = conf.finalize(kind)?;
    Client::new(kind, client, topic, hooks.clone())
}
