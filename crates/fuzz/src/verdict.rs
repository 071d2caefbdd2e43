//! What a target says of an input.

/// Whether the code under test took the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seen {
    /// Some of it was taken for what it should be.
    Accepted,
    /// It was refused, as most random bytes should be.
    Refused,
}

/// What the code under test did with the input, or what is wrong with that.
pub type Verdict = Result<Seen, String>;

/// Leaves with a finding unless a condition holds.
macro_rules! ensure {
    ($holds:expr, $($what:tt)+) => {
        if !$holds {
            return Err(format!($($what)+));
        }
    };
}
