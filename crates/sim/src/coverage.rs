//! Counters of the events of worlds.

use std::collections::BTreeMap;
use std::fmt;

/// Counters of events, over one world or many.
#[derive(Debug, Clone, Default)]
pub struct Coverage {
    /// Worlds that were run.
    pub worlds: u64,
    /// Virtual time that passed.
    pub virtual_us: u64,
    /// Events that were handled.
    pub steps: u64,
    counts: BTreeMap<&'static str, u64>,
    faults: BTreeMap<&'static str, u64>,
}

impl Coverage {
    pub(crate) fn count(&mut self, what: &'static str, n: u64) {
        *self.counts.entry(what).or_default() += n;
    }

    pub(crate) fn fault(&mut self, kind: &'static str) {
        *self.faults.entry(kind).or_default() += 1;
    }

    /// Returns the counter of an event that is no fault.
    pub fn counted(&self, what: &str) -> u64 {
        self.counts.get(what).copied().unwrap_or(0)
    }

    /// Returns the kinds of faults that occurred, with their numbers.
    pub fn faults(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        self.faults.iter().map(|(kind, n)| (*kind, *n))
    }

    /// Adds the counters of another world.
    pub fn add(&mut self, other: &Coverage) {
        self.worlds += other.worlds;
        self.virtual_us += other.virtual_us;
        self.steps += other.steps;
        for (what, n) in &other.counts {
            *self.counts.entry(what).or_default() += n;
        }
        for (kind, n) in &other.faults {
            *self.faults.entry(kind).or_default() += n;
        }
    }
}

impl fmt::Display for Coverage {
    /// Writes one line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hours = self.virtual_us as f64 / 3.6e9;
        write!(
            f,
            "{} worlds, {hours:.1} virtual hours, {} steps",
            self.worlds, self.steps
        )?;
        for (what, n) in &self.counts {
            write!(f, ", {n} {what}")?;
        }
        let total: u64 = self.faults.values().sum();
        write!(f, ", {total} faults (")?;
        for (i, (kind, n)) in self.faults.iter().enumerate() {
            let comma = if i == 0 { "" } else { ", " };
            write!(f, "{comma}{n} {kind}")?;
        }
        f.write_str(")")
    }
}
