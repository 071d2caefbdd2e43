//! The definition of an application: its topics, processes and invariants.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use super::logs::Logs;
use super::turn::Turn;
use crate::plan::Settings;

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

/// A process of an application.
#[derive(Clone)]
pub(crate) struct ProcessDefinition {
    pub(crate) name: String,
    pub(crate) clients: Clients,
    start: StartFn,
}

impl ProcessDefinition {
    /// Returns a process whose logic `start` returns, with an empty memory.
    pub(crate) fn new<L>(name: &str, clients: Clients, start: impl Fn(&Start) -> L + Send + Sync + 'static) -> Self
    where
        L: FnMut(&mut Turn<'_>) + 'static,
    {
        ProcessDefinition {
            name: name.to_owned(),
            clients,
            start: Arc::new(move |at| Box::new(start(at))),
        }
    }

    /// Starts the process.
    pub(crate) fn start(&self, number: u32) -> Logic {
        (self.start)(&Start { number })
    }
}

/// An invariant with its text.
#[derive(Clone)]
pub(crate) struct Invariant {
    text: String,
    check: CheckFn,
}

impl Invariant {
    pub(crate) fn new(text: &str, check: impl Fn(&Logs) -> Result<(), String> + Send + Sync + 'static) -> Self {
        Invariant {
            text: text.to_owned(),
            check: Arc::new(check),
        }
    }
}

/// The parts of an application.
#[derive(Clone, Default)]
pub(crate) struct Definition {
    pub(crate) topics: Vec<(String, i32)>,
    pub(crate) processes: Vec<ProcessDefinition>,
    pub(crate) always: Vec<Invariant>,
    pub(crate) eventually: Vec<Invariant>,
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

/// Returns the logic that writes these values.
pub(crate) fn write_all(topic: String, values: Vec<Vec<u8>>) -> impl FnMut(&mut Turn<'_>) {
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
