//! Scenarios: the definition of an application by its users, and runs of its worlds.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::coverage::Coverage;
use crate::outcome::Outcome;
use crate::plan::Plan;
use crate::processes::{Clients, Definition, Invariant, Logs, ProcessDefinition, Start, Turn, write_all};
use crate::run::run;
use crate::trace::{Trace, TraceSink};

/// An application with its topics and invariants. See the [module](crate::scenario) for an example.
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
        let process = ProcessDefinition::new(name, clients, start);
        self.definition.processes.push(process);
        self
    }

    /// Adds an invariant that must hold at any time. It is checked about every second of virtual time and at the end.
    #[must_use]
    pub fn always(mut self, text: &str, check: impl Fn(&Logs) -> Result<(), String> + Send + Sync + 'static) -> Self {
        self.definition.always.push(Invariant::new(text, check));
        self
    }

    /// Adds an invariant that must hold after the faults, within minutes of virtual time, and stay true until the end.
    #[must_use]
    pub fn eventually(
        mut self,
        text: &str,
        check: impl Fn(&Logs) -> Result<(), String> + Send + Sync + 'static,
    ) -> Self {
        self.definition.eventually.push(Invariant::new(text, check));
        self
    }

    /// Runs the world of a seed. A panic of a closure is a violation.
    pub fn run(&self, seed: u64) -> Outcome {
        self.run_with(seed, None)
    }

    /// Runs the world of a seed, and writes every event as a line: calls of the application, requests, faults.
    pub fn trace(&self, seed: u64, sink: TraceSink) -> Outcome {
        self.run_with(seed, Some(sink))
    }

    fn run_with(&self, seed: u64, sink: Option<TraceSink>) -> Outcome {
        let plan = Plan::of_application(seed, &self.definition.topics, self.definition.groups());
        let application = Some(Arc::new(self.definition.clone()));
        run(seed, plan, None, application, Trace::new(sink))
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

/// Locks a value that no panic leaves inconsistent.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
