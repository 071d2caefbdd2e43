//! The only source of chance: generators that a world's seed determines.

/// A stream of random numbers. Each subject has its own, so that a change to one leaves the others' draws alone.
#[derive(Debug, Clone)]
pub(crate) struct SeededRng(fastrand::Rng);

impl SeededRng {
    /// The stream of a world's seed that belongs to `subject`.
    pub(crate) fn of(seed: u64, subject: u64) -> Self {
        let mixed = seed ^ subject.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        SeededRng(fastrand::Rng::with_seed(mixed))
    }

    /// A stream of its own that leaves this one's draws as they are.
    pub(crate) fn fork(&self, subject: u64) -> Self {
        SeededRng::of(self.0.clone().u64(..), subject)
    }

    pub(crate) fn u64(&mut self) -> u64 {
        self.0.u64(..)
    }

    /// A number from 0 to below 1.
    pub(crate) fn f64(&mut self) -> f64 {
        self.0.f64()
    }

    /// True with probability `p`.
    pub(crate) fn hit(&mut self, p: f64) -> bool {
        p > 0.0 && self.0.f64() < p
    }

    /// A number in `0..n`; 0 when `n` is 0.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        if n == 0 { 0 } else { self.0.usize(0..n) }
    }

    /// A number in `low..=high`, each as likely as the others.
    pub(crate) fn between(&mut self, low: u64, high: u64) -> u64 {
        if high <= low { low } else { self.0.u64(low..=high) }
    }

    /// A number in `low..=high` whose order of magnitude is uniformly distributed.
    pub(crate) fn spread(&mut self, low: u64, high: u64) -> u64 {
        let (a, b) = ((low.max(1) as f64).ln(), (high.max(1) as f64).ln());
        let drawn = (a + self.0.f64() * (b - a)).exp();
        (drawn.round() as u64).clamp(low, high.max(low))
    }

    /// A probability whose order of magnitude is uniformly distributed, or none at all with probability `never`.
    pub(crate) fn rate(&mut self, never: f64, low: f64, high: f64) -> f64 {
        if self.hit(never) {
            return 0.0;
        }
        (low.ln() + self.0.f64() * (high.ln() - low.ln())).exp()
    }

    /// One of `choices`, which are not empty.
    pub(crate) fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }
}
