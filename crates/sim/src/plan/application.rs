//! Worlds of applications: their groups, and the faults of these.

use super::faults::GroupFaultPlan;
use crate::rng::SeededRng;

/// The application of a world.
#[derive(Debug, Clone)]
pub(crate) struct ApplicationPlan {
    /// The consumer groups.
    pub(crate) groups: Vec<String>,
    pub(crate) faults: GroupFaultPlan,
}

impl ApplicationPlan {
    pub(crate) fn draw(c: &mut SeededRng, groups: Vec<String>) -> Self {
        let mut faults = GroupFaultPlan::draw(c);
        faults.fatal_errors = false;
        ApplicationPlan { groups, faults }
    }
}
