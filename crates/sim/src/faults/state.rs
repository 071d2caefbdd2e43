//! The state of fault injection.

use ottla_protocol::ApiKey;

use crate::rng::SeededRng;
use crate::world::World;

/// The state of fault injection.
#[derive(Debug)]
pub(crate) struct Faults {
    pub(super) rng: SeededRng,
    pub(super) throttled: Vec<ApiKey>,
    pub(super) partition_errors: Vec<(ApiKey, String, i32)>,
}

impl Faults {
    pub(crate) fn new(rng: SeededRng) -> Self {
        Faults {
            rng,
            throttled: Vec::new(),
            partition_errors: Vec::new(),
        }
    }

    /// Draws the duration of an outage.
    pub(super) fn outage_us(&mut self, world: &World) -> u64 {
        let longest = world.plan.faults.outage_us;
        self.rng.between(longest / 20, longest)
    }
}
