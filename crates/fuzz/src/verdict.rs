//! The results of targets.

/// The reaction of the code under test to the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seen {
    /// Some of the input was valid.
    Accepted,
    /// The input was refused, as most random bytes should be.
    Refused,
}

/// The reaction of the code under test to the input, or a violated property.
pub type Verdict = Result<Seen, String>;

/// Returns from the function with a finding unless a condition holds.
macro_rules! ensure {
    ($holds:expr, $($what:tt)+) => {
        if !$holds {
            return Err(format!($($what)+));
        }
    };
}
