//! The jobs that clients hand out: the rules for each client, and when each job ends.

use std::collections::BTreeMap;

use ottla_core::work::WorkRules;

use crate::plan::JobsPlan;
use crate::rng::SeededRng;

/// The jobs of all clients.
#[derive(Debug)]
pub(crate) struct Jobs {
    plan: Option<JobsPlan>,
    rng: SeededRng,
    rules: BTreeMap<usize, WorkRules>,
}

impl Jobs {
    pub(crate) fn new(plan: Option<JobsPlan>, rng: SeededRng) -> Self {
        Jobs {
            plan,
            rng,
            rules: BTreeMap::new(),
        }
    }

    /// Returns true when clients hand out jobs.
    pub(crate) fn exist(&self) -> bool {
        self.plan.is_some()
    }

    /// Returns the rules for a client's next turn.
    pub(crate) fn rules(&mut self, client: usize) -> WorkRules {
        let Some(plan) = &self.plan else {
            return WorkRules::NONE;
        };
        let rng = &mut self.rng;
        let changes = rng.between(1, plan.turns_per_change) == 1;
        let mut draw = || WorkRules {
            jobs_max: rng.pick(&[0, 1, 2, 8, 32]),
            bytes_min: rng.pick(&[0, 0, 300]),
        };
        let rules = self.rules.entry(client).or_insert_with(&mut draw);
        if changes {
            *rules = draw();
        }
        *rules
    }

    /// Draws the time that a job takes.
    pub(crate) fn duration_us(&mut self, faults_enabled: bool) -> u64 {
        let Some(plan) = &self.plan else { return 0 };
        if !faults_enabled {
            return self.rng.between(0, JobsPlan::CALM_US);
        }
        let factor = match self.rng.hit(plan.late) {
            true => JobsPlan::LATE_FACTOR,
            false => 1,
        };
        factor * self.rng.between(0, plan.takes_us)
    }
}
