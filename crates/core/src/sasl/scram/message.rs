//! The messages of a SCRAM server (RFC 5802, section 7).

use std::num::NonZeroU32;
use std::str::Split;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::sasl::mechanism::{SaslError, peer_text};

/// The accepted numbers of PBKDF2 iterations. RFC 7677 sets the minimum, which the Java client enforces as well: fewer make
/// it cheap for a false broker to guess the password from the proof. The maximum bounds the time for which a broker can
/// occupy the client.
const ITERATIONS_MIN: u32 = 4_096;
const ITERATIONS_MAX: u32 = 1_000_000;

/// Maximum number of bytes of a message. Kafka's have about 150.
const MESSAGE_MAX: usize = 8_192;

/// The first message of a server: `r=NONCE,s=SALT,i=ITERATIONS`, with extensions, which are ignored.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ServerFirst<'a> {
    pub(super) text: &'a str,
    pub(super) nonce: &'a str,
    pub(super) salt: Vec<u8>,
    pub(super) iterations: NonZeroU32,
}

impl<'a> ServerFirst<'a> {
    /// Parses the message of a broker that has received `client_nonce`.
    ///
    /// # Errors
    /// [`SaslError`] for a malformed message, a nonce that does not extend the client's, a number of iterations that is
    /// not accepted, a mandatory extension, or an error that the broker reports.
    pub(super) fn parse(bytes: &'a [u8], client_nonce: &str) -> Result<Self, SaslError> {
        let mut attributes = Attributes::new(bytes, "first")?;
        let nonce = attributes.expect('r', "nonce")?;
        if !nonce.bytes().all(|b| b.is_ascii_graphic()) {
            return Err(attributes.malformed("its nonce has characters that are not printable"));
        }
        match nonce.strip_prefix(client_nonce) {
            Some(added) if !added.is_empty() => {}
            Some(_) => return Err(attributes.malformed("its nonce adds nothing to the client's")),
            None => {
                return Err(
                    attributes.malformed("its nonce does not begin with the client's: it answers another exchange")
                );
            }
        }
        let salt = attributes.expect('s', "salt")?;
        let salt = STANDARD
            .decode(salt)
            .ok()
            .filter(|salt| !salt.is_empty())
            .ok_or_else(|| attributes.malformed("its salt is empty or not base64"))?;
        let iterations = attributes.expect('i', "number of iterations")?;
        let iterations = parse_iterations(iterations, &attributes)?;
        attributes.ignore_extensions()?;
        Ok(ServerFirst {
            text: attributes.text,
            nonce,
            salt,
            iterations,
        })
    }
}

/// Parses the final message of a server, `v=SIGNATURE` with extensions, which are ignored. Returns the signature.
///
/// # Errors
/// [`SaslError`] for a malformed message, a mandatory extension, or an error that the broker reports.
pub(super) fn parse_server_final(bytes: &[u8]) -> Result<Vec<u8>, SaslError> {
    let mut attributes = Attributes::new(bytes, "final")?;
    let signature = attributes.expect('v', "signature")?;
    let signature = STANDARD
        .decode(signature)
        .map_err(|_| attributes.malformed("its signature is not base64"))?;
    attributes.ignore_extensions()?;
    Ok(signature)
}

fn parse_iterations(digits: &str, attributes: &Attributes<'_>) -> Result<NonZeroU32, SaslError> {
    let is_number = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) && !digits.starts_with('0');
    if !is_number {
        return Err(attributes.malformed("its number of iterations is not a positive number"));
    }
    digits
        .parse::<u32>()
        .ok()
        .filter(|n| (ITERATIONS_MIN..=ITERATIONS_MAX).contains(n))
        .and_then(NonZeroU32::new)
        .ok_or_else(|| {
            SaslError(format!(
                "the broker demands {} iterations of the password's hash; {ITERATIONS_MIN} to {ITERATIONS_MAX} are accepted: \
                 set the user's SCRAM credentials again, with such a number",
                peer_text(digits.as_bytes())
            ))
        })
}

/// The attributes of a message, from left to right.
struct Attributes<'a> {
    text: &'a str,
    rest: Split<'a, char>,
    /// The message's name in errors.
    message: &'static str,
}

impl<'a> Attributes<'a> {
    fn new(bytes: &'a [u8], message: &'static str) -> Result<Self, SaslError> {
        let mut attributes = Attributes {
            text: "",
            rest: "".split(','),
            message,
        };
        if bytes.len() > MESSAGE_MAX {
            let text = format!("it has {} bytes, and {MESSAGE_MAX} are accepted", bytes.len());
            return Err(attributes.malformed(&text));
        }
        attributes.text = std::str::from_utf8(bytes).map_err(|_| attributes.malformed("it is not UTF-8"))?;
        if attributes.text.contains('\0') {
            return Err(attributes.malformed("it contains NUL"));
        }
        attributes.rest = attributes.text.split(',');
        Ok(attributes)
    }

    /// Returns the value of the next attribute, which must be `name`.
    fn expect(&mut self, name: char, meaning: &str) -> Result<&'a str, SaslError> {
        let attribute = self.rest.next().unwrap_or_default();
        match attribute.split_once('=') {
            Some((found, value)) if found.len() == 1 && found.starts_with(name) => Ok(value),
            Some(("e", value)) => Err(SaslError(format!(
                "the broker reports: {}",
                peer_text(value.as_bytes())
            ))),
            Some(("m", _)) => Err(self.mandatory_extension()),
            _ => Err(self.malformed(&format!("{name}= with the {meaning} is not at its place"))),
        }
    }

    /// Checks the attributes that are left. RFC 5802 requires optional extensions to be ignored, and mandatory ones to fail
    /// the exchange.
    fn ignore_extensions(&mut self) -> Result<(), SaslError> {
        for attribute in self.rest.by_ref() {
            let is_extension = match attribute.split_once('=') {
                Some(("m", _)) => return Err(self.mandatory_extension()),
                Some((name, value)) => {
                    name.len() == 1 && name.bytes().all(|b| b.is_ascii_alphabetic()) && !value.is_empty()
                }
                None => false,
            };
            if !is_extension {
                return Err(self.malformed("it ends with something that is not an extension"));
            }
        }
        Ok(())
    }

    fn mandatory_extension(&self) -> SaslError {
        SaslError("the broker requires an extension of SCRAM (m=), and the client has none".into())
    }

    fn malformed(&self, cause: &str) -> SaslError {
        SaslError(format!(
            "the broker's {} SCRAM message is malformed: {cause}",
            self.message
        ))
    }
}
