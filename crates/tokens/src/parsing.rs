//! The parsers of data from outside, which the fuzz targets call without a server.

use crate::answer::{DEFAULT_SUBJECT_CLAIM, Expected};
use crate::assertion;
use crate::aws;
use crate::token::Token;

/// Reads the body of a token endpoint's answer that was received at a time, in milliseconds since 1970, as
/// [`Oidc`](crate::Oidc) does for `jwt-bearer`.
///
/// # Errors
/// The answer has no token that can be used; the cause.
pub fn token_answer(body: &[u8], now_ms: i64) -> Result<Token, String> {
    let expected = Expected {
        subject_claim: DEFAULT_SUBJECT_CLAIM.to_owned(),
        or_id_token: true,
        opaque_principal: "unknown".to_owned(),
    };
    let issued = expected.read_json(body, now_ms)?;
    Ok(Token {
        value: issued.value,
        expires_ms: issued.expires_ms,
        principal: issued.principal,
        extensions: Vec::new(),
    })
}

/// Reads the file of `sasl.oauthbearer.assertion.jwt.template.file`. Returns the number of members of header and payload.
///
/// # Errors
/// It is not a template; the cause.
pub fn assertion_template(text: &[u8]) -> Result<(usize, usize), String> {
    let (header, payload) = assertion::parse_template(text)?;
    Ok((header.len(), payload.len()))
}

/// Reads the credentials in an answer of AWS. Returns the end of their life, in milliseconds since 1970.
///
/// # Errors
/// They cannot be used; the cause.
pub fn aws_credentials(body: &[u8]) -> Result<Option<i64>, String> {
    aws::expiry_of_credentials(body)
}
