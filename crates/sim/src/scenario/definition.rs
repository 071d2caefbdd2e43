//! The definition of a scenario, and its runs.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::logs::Logs;
use super::turn::Turn;
use crate::coverage::Coverage;
use crate::plan::Settings;
use crate::trace::TraceSink;
use crate::{Outcome, run_application};

/// The logic of a running process.
pub(crate) type Logic = Box<dyn FnMut(&mut Turn<'_>)>;

/// The start of a process.
type StartFn = Arc<dyn Fn(&Start) -> Logic + Send + Sync>;

/// An invariant: the reason why it does not hold.
type CheckFn = Arc<dyn Fn(&Logs) -> Result<(), String> + Send + Sync>;

/// The start of a process, first or after a crash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Start {
    /// The number of the start, from 1 on: larger numbers follow crashes.
    pub number: u32,
}

/// The clients of a process.
#[derive(Debug, Clone, Default)]
pub struct Clients {
    pub(crate) consumer: Option<(Vec<String>, Settings)>,
    pub(crate) producer: Option<Settings>,
    pub(crate) is_steady: bool,
}

impl Clients {
    /// Returns the clients of a process without any.
    pub fn new() -> Self {
        Clients::default()
    }

    /// Adds a consumer of a group that subscribes to these topics, with these properties. Without `auto.offset.reset` it
    /// starts with the first record; its other defaults are those of the client.
    #[must_use]
    pub fn consumer(mut self, group: &str, topics: &[&str], settings: &[(&str, &str)]) -> Self {
        let mut all = pairs(&[("group.id", group), ("auto.offset.reset", "earliest")]);
        all.extend(pairs(settings));
        self.consumer = Some((topics.iter().map(|&topic| topic.to_owned()).collect(), all));
        self
    }

    /// Adds an idempotent producer with these properties.
    #[must_use]
    pub fn producer(mut self, settings: &[(&str, &str)]) -> Self {
        let mut all = pairs(&[("enable.idempotence", "true")]);
        all.extend(pairs(settings));
        self.producer = Some(all);
        self
    }

    /// Spares the process the faults of processes: it does not crash, stall or stop. Its connections have all faults.
    #[must_use]
    pub fn steady(mut self) -> Self {
        self.is_steady = true;
        self
    }
}

fn pairs(settings: &[(&str, &str)]) -> Settings {
    let owned = settings
        .iter()
        .map(|&(name, value)| (name.to_owned(), value.to_owned()));
    owned.collect()
}

/// A process of a scenario.
#[derive(Clone)]
pub(crate) struct ProcessDefinition {
    pub(crate) name: String,
    pub(crate) clients: Clients,
    pub(crate) start: StartFn,
}

/// An invariant with its text.
#[derive(Clone)]
struct Invariant {
    text: String,
    check: CheckFn,
}

/// The parts of a scenario.
#[derive(Clone, Default)]
pub(crate) struct Definition {
    pub(crate) topics: Vec<(String, i32)>,
    pub(crate) processes: Vec<ProcessDefinition>,
    always: Vec<Invariant>,
    eventually: Vec<Invariant>,
}

impl Definition {
    /// Returns the groups of all consumers.
    pub(crate) fn groups(&self) -> Vec<String> {
        let consumers = self
            .processes
            .iter()
            .filter_map(|process| process.clients.consumer.as_ref());
        let groups = consumers.filter_map(|(_, settings)| crate::plan::lookup(settings, "group.id"));
        let mut groups: Vec<String> = groups.map(str::to_owned).collect();
        groups.sort_unstable();
        groups.dedup();
        groups
    }

    /// Returns the reason why an invariant that must hold at any time does not.
    pub(crate) fn broken(&self, logs: &Logs) -> Option<String> {
        first_broken(&self.always, logs)
    }

    /// Returns the reason why an invariant that must hold at the end does not hold yet.
    pub(crate) fn pending(&self, logs: &Logs) -> Option<String> {
        first_broken(&self.eventually, logs)
    }
}

fn first_broken(invariants: &[Invariant], logs: &Logs) -> Option<String> {
    let broken = |invariant: &Invariant| {
        let why = (invariant.check)(logs).err()?;
        Some(format!("{}: {why}", invariant.text))
    };
    invariants.iter().find_map(broken)
}

/// An application with its topics and invariants. See the [module](self) for an example.
#[derive(Clone, Default)]
pub struct Scenario {
    definition: Definition,
}

impl fmt::Debug for Scenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let processes: Vec<&str> = self.definition.processes.iter().map(|p| p.name.as_str()).collect();
        f.debug_struct("Scenario")
            .field("topics", &self.definition.topics)
            .field("processes", &processes)
            .finish_non_exhaustive()
    }
}

/// A world in which an invariant does not hold.
#[derive(Debug, Clone)]
pub struct Failure {
    /// The seed, for [`Scenario::trace`].
    pub seed: u64,
    /// The text of the invariant, and the reason.
    pub violation: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "seed {}: {}", self.seed, self.violation)
    }
}

impl std::error::Error for Failure {}

impl Scenario {
    /// Returns a scenario without topics, processes and invariants.
    pub fn new() -> Self {
        Scenario::default()
    }

    /// Adds a topic with this number of partitions. Topics exist from the start.
    #[must_use]
    pub fn topic(mut self, name: &str, partitions: i32) -> Self {
        self.definition.topics.push((name.to_owned(), partitions));
        self
    }

    /// Adds a process that writes one record for each of these values, without a key. It does not crash. A record whose
    /// delivery report has an error is written again, and may then be in the log twice.
    #[must_use]
    pub fn input<V: AsRef<[u8]>>(self, topic: &str, values: impl IntoIterator<Item = V>) -> Self {
        let values: Vec<Vec<u8>> = values.into_iter().map(|value| value.as_ref().to_vec()).collect();
        let topic = topic.to_owned();
        let clients = Clients::new().steady().producer(&[("message.timeout.ms", "0")]);
        self.process(&format!("input of {topic}"), clients, move |_| {
            write_all(topic.clone(), values.clone())
        })
    }

    /// Adds a process. `start` is called when it starts, and again after each crash; it returns the logic of the process,
    /// with an empty memory. Several processes with one name, such as the members of a group, are added by several calls.
    #[must_use]
    pub fn process<L>(
        mut self,
        name: &str,
        clients: Clients,
        start: impl Fn(&Start) -> L + Send + Sync + 'static,
    ) -> Self
    where
        L: FnMut(&mut Turn<'_>) + 'static,
    {
        self.definition.processes.push(ProcessDefinition {
            name: name.to_owned(),
            clients,
            start: Arc::new(move |at| Box::new(start(at))),
        });
        self
    }

    /// Adds an invariant that must hold at any time. It is checked about every second of virtual time and at the end.
    #[must_use]
    pub fn always(mut self, text: &str, check: impl Fn(&Logs) -> Result<(), String> + Send + Sync + 'static) -> Self {
        self.definition.always.push(invariant(text, check));
        self
    }

    /// Adds an invariant that must hold after the faults, within minutes of virtual time, and stay true until the end.
    #[must_use]
    pub fn eventually(
        mut self,
        text: &str,
        check: impl Fn(&Logs) -> Result<(), String> + Send + Sync + 'static,
    ) -> Self {
        self.definition.eventually.push(invariant(text, check));
        self
    }

    /// Runs the world of a seed. A panic of a closure is a violation.
    pub fn run(&self, seed: u64) -> Outcome {
        run_application(seed, Arc::new(self.definition.clone()), None)
    }

    /// Runs the world of a seed, and writes every event as a line: calls of the application, requests, faults.
    pub fn trace(&self, seed: u64, sink: TraceSink) -> Outcome {
        run_application(seed, Arc::new(self.definition.clone()), Some(sink))
    }

    /// Runs the worlds of these seeds, on all cores. Returns the counters of what happened in them.
    ///
    /// # Errors
    /// A world in which an invariant does not hold: the one with the lowest seed of those that have failed until the others
    /// stopped.
    pub fn check(&self, seeds: impl IntoIterator<Item = u64, IntoIter: Send>) -> Result<Coverage, Failure> {
        let seeds = Mutex::new(seeds.into_iter());
        let (total, first) = (Mutex::new(Coverage::default()), Mutex::new(None::<Failure>));
        let has_failed = AtomicBool::new(false);
        let work = || {
            while !has_failed.load(Ordering::Acquire) {
                let Some(seed) = locked(&seeds).next() else { return };
                let outcome = self.run(seed);
                locked(&total).add(&outcome.coverage);
                if let Some(violation) = outcome.violation {
                    has_failed.store(true, Ordering::Release);
                    let mut first = locked(&first);
                    if first.as_ref().is_none_or(|found| seed < found.seed) {
                        *first = Some(Failure { seed, violation });
                    }
                }
            }
        };
        std::thread::scope(|scope| {
            let threads = std::thread::available_parallelism().map_or(1, usize::from);
            for _ in 1..threads {
                scope.spawn(work);
            }
            work();
        });
        let found = locked(&first).take();
        match found {
            Some(failure) => Err(failure),
            None => Ok(locked(&total).clone()),
        }
    }
}

/// Returns the logic that writes these values.
fn write_all(topic: String, values: Vec<Vec<u8>>) -> impl FnMut(&mut Turn<'_>) {
    let mut waiting: VecDeque<Vec<u8>> = values.into();
    let mut sent: BTreeMap<u64, Vec<u8>> = BTreeMap::new();
    move |turn| {
        if let Some(value) = waiting.pop_front() {
            match turn.produce(&topic, b"", &value) {
                Ok(number) => _ = sent.insert(number, value),
                Err(_) => waiting.push_front(value),
            }
        }
        while let Some(report) = turn.report() {
            let value = sent.remove(&report.number);
            match report.error {
                None => {}
                // Its producer refuses all further records.
                Some(error) if error.fatal => return turn.crash(),
                Some(_) => waiting.extend(value),
            }
        }
    }
}

fn invariant(text: &str, check: impl Fn(&Logs) -> Result<(), String> + Send + Sync + 'static) -> Invariant {
    Invariant {
        text: text.to_owned(),
        check: Arc::new(check),
    }
}

/// Locks a value that no panic leaves inconsistent.
fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
