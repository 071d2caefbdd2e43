//! The results of fuzz targets.

/// The reaction of the code under test to the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seen {
    /// Some of the input was valid.
    Accepted,
    /// The input was rejected, as most random bytes should be.
    Refused,
}

/// The reaction of the code under test to the input, or a violated property.
pub type Verdict = Result<Seen, String>;

/// Returns an error with this text from the calling function when a property does not hold.
macro_rules! ensure {
    ($holds:expr, $($what:tt)+) => {
        if !$holds {
            return Err(format!($($what)+));
        }
    };
}
