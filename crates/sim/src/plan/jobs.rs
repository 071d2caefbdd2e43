//! Worlds in which clients hand out jobs.

use super::seeds::has_jobs;
use crate::rng::SeededRng;

/// The jobs of a world's clients.
#[derive(Debug, Clone)]
pub(crate) struct JobsPlan {
    /// Mean number of turns of a client between two changes of its rules for jobs.
    pub(crate) turns_per_change: u64,
    /// The longest time that a job takes.
    pub(crate) takes_us: u64,
    /// Probability that a job takes [`LATE_FACTOR`](Self::LATE_FACTOR) times as long.
    pub(crate) late: f64,
}

impl JobsPlan {
    /// The factor of the longest time for late jobs.
    pub(crate) const LATE_FACTOR: u64 = 20;
    /// The longest time of a job once faults are over: applications must then see no delay.
    pub(crate) const CALM_US: u64 = 300;

    /// Draws the jobs of some worlds.
    pub(crate) fn draw(seed: u64) -> Option<Self> {
        if !has_jobs(seed) {
            return None;
        }
        let mut c = SeededRng::of(seed, 95);
        Some(JobsPlan {
            turns_per_change: c.spread(3, 1000),
            takes_us: c.spread(10, 200_000),
            late: c.rate(0.3, 0.001, 0.2),
        })
    }
}
