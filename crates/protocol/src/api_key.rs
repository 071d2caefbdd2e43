//! API keys: the number of a request's kind.

/// The number of an API. Numbers that this crate has no name or schema for are kept as they are.
///
/// The table of APIs in [`crate::api`] defines the constants and names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct ApiKey(pub i16);
