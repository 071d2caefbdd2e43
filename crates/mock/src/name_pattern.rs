//! Regular expressions for names: of topics in subscriptions (KIP-848), of transactional ids in filters (KIP-1152).

use ottla_protocol::ErrorCode;
use regex::Regex;

/// Compiles an expression that matches whole names.
///
/// # Errors
/// INVALID_REGULAR_EXPRESSION.
pub(crate) fn compile(pattern: &str) -> Result<Regex, ErrorCode> {
    // The pattern alone must be valid: the added group could close one that the pattern leaves open.
    let compiled = Regex::new(pattern).and_then(|_| Regex::new(&format!("^(?:{pattern})$")));
    compiled.map_err(|_| ErrorCode::INVALID_REGULAR_EXPRESSION)
}
