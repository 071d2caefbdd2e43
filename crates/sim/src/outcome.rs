//! The result of a world.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::coverage::Coverage;

/// The result of a world.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// Counters of the events that occurred.
    pub coverage: Coverage,
    /// The first violation of an invariant; `None` for a world without one.
    pub violation: Option<String>,
}

impl Outcome {
    /// Runs a world. A panic is a violation.
    pub(crate) fn of(run: impl FnOnce() -> Outcome) -> Outcome {
        // Unwind safety: a panic drops the world, so that its inconsistent state is not observable.
        catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|payload| {
            let text = payload.downcast_ref::<&str>().copied();
            let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
            let mut coverage = Coverage::default();
            coverage.worlds = 1;
            Outcome {
                coverage,
                violation: Some(format!("a panic: {}", text.unwrap_or("of unknown kind"))),
            }
        })
    }
}
