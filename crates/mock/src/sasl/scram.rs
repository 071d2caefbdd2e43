//! The broker's side of SCRAM-SHA-256 and SCRAM-SHA-512 (RFC 5802), with the refusals of Kafka's `ScramSaslServer`.
//!
//! Differences from Kafka: user names may have any characters but NUL; the channel binding of the final message must be
//! the header of the first one, which Kafka does not compare. Omitted: delegation tokens (`tokenauth`).

#[cfg(test)]
mod tests;

use std::sync::Arc;

use aws_lc_rs::constant_time;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::keys::{ScramHash, ScramKeys};
use super::outcome::{Evaluation, Failure, Identity};
use super::users::Users;
use crate::rng::Rng;

/// The characters of a server's nonce, with Kafka's length and alphabet.
const NONCE_CHARACTERS: usize = 26;
const NONCE_ALPHABET: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";

/// One exchange.
pub(super) struct Scram {
    hash: ScramHash,
    stage: Stage,
}

enum Stage {
    /// The client's first message is next.
    First,
    /// The client's final message is next.
    Final(Box<Proving>),
    /// Completed or failed.
    End,
}

/// A client that has to prove that it knows the password.
struct Proving {
    username: String,
    keys: Arc<ScramKeys>,
    gs2_header: String,
    nonce: String,
    /// `client-first-message-bare,server-first-message`.
    transcript: String,
}

impl Scram {
    pub(super) fn new(hash: ScramHash) -> Self {
        Self {
            hash,
            stage: Stage::First,
        }
    }

    /// Evaluates a token. An exchange cannot continue after a refusal.
    pub(super) fn evaluate(&mut self, users: &mut Users, rng: &mut Rng, token: &[u8]) -> Result<Evaluation, Failure> {
        let text = std::str::from_utf8(token).ok().filter(|text| !text.contains('\0'));
        let text = text.ok_or_else(|| Failure::concealed("Invalid SCRAM message: not text"))?;
        match std::mem::replace(&mut self.stage, Stage::End) {
            Stage::First => {
                let (proving, answer) = first(self.hash, users, rng, text)?;
                self.stage = Stage::Final(Box::new(proving));
                Ok(Evaluation::Continue(answer.into_bytes()))
            }
            Stage::Final(proving) => last(self.hash, &proving, text),
            Stage::End => Err(Failure::concealed("Unexpected challenge after the end of the exchange")),
        }
    }
}

/// Answers the client's first message: `n,[a=ID],n=USER,r=NONCE` with extensions, which are ignored.
fn first(hash: ScramHash, users: &mut Users, rng: &mut Rng, text: &str) -> Result<(Proving, String), Failure> {
    let invalid = || Failure::concealed("Invalid SCRAM client first message format");
    // Clients that support channel binding begin with y or p=, and Kafka refuses them.
    let rest = text.strip_prefix("n,").ok_or_else(invalid)?;
    let (authorization_id, bare) = rest.split_once(',').ok_or_else(invalid)?;
    let gs2_header = format!("n,{authorization_id},");
    let authorization_id = match authorization_id {
        "" => None,
        other => Some(other.strip_prefix("a=").and_then(unescape).ok_or_else(invalid)?),
    };
    let mut attributes = bare.split(',');
    let mut attribute = |name: &str| attributes.next().and_then(|a| a.strip_prefix(name)).ok_or_else(invalid);
    let username = unescape(attribute("n=")?).ok_or_else(invalid)?;
    let client_nonce = attribute("r=")?;
    let is_printable = client_nonce.bytes().all(|b| b.is_ascii_graphic());
    if client_nonce.is_empty() || !is_printable || !attributes.all(is_extension) {
        return Err(invalid());
    }
    let keys = users
        .scram_keys(&username, hash)
        .ok_or_else(|| Failure::concealed("Authentication failed: Invalid user credentials"))?;
    if authorization_id.is_some_and(|id| id != username) {
        return Err(Failure::reported(
            "Authentication failed: Client requested an authorization id that is different from username",
        ));
    }
    let nonce = format!("{client_nonce}{}", server_nonce(rng));
    let salt = STANDARD.encode(&keys.salt);
    let answer = format!("r={nonce},s={salt},i={}", keys.iterations);
    let proving = Proving {
        username,
        keys,
        gs2_header,
        nonce,
        transcript: format!("{bare},{answer}"),
    };
    Ok((proving, answer))
}

/// Verifies the client's final message: `c=HEADER,r=NONCE,p=PROOF`, with extensions before the proof.
fn last(hash: ScramHash, proving: &Proving, text: &str) -> Result<Evaluation, Failure> {
    let invalid = || Failure::concealed("Invalid SCRAM client final message format");
    let (without_proof, proof) = text.rsplit_once(",p=").ok_or_else(invalid)?;
    let proof = STANDARD.decode(proof).map_err(|_| invalid())?;
    let mut attributes = without_proof.split(',');
    let mut attribute = |name: &str| attributes.next().and_then(|a| a.strip_prefix(name)).ok_or_else(invalid);
    let header = attribute("c=")?;
    let nonce = attribute("r=")?;
    if header != STANDARD.encode(&proving.gs2_header) || !attributes.all(is_extension) {
        return Err(invalid());
    }
    if nonce != proving.nonce {
        return Err(Failure::concealed("Invalid client nonce in the final client message."));
    }
    let auth_message = format!("{},{without_proof}", proving.transcript);
    let signature = hash.hmac(&proving.keys.stored_key, auth_message.as_bytes());
    let client_key: Vec<u8> = proof.iter().zip(&signature).map(|(p, s)| p ^ s).collect();
    let is_proven = proof.len() == signature.len()
        && constant_time::verify_slices_are_equal(&hash.digest(&client_key), &proving.keys.stored_key).is_ok();
    if !is_proven {
        return Err(Failure::concealed("Invalid client credentials"));
    }
    let signature = hash.hmac(&proving.keys.server_key, auth_message.as_bytes());
    let identity = Identity {
        principal: proving.username.clone(),
        expires_ms: None,
    };
    Ok(Evaluation::Complete(
        format!("v={}", STANDARD.encode(signature)).into_bytes(),
        identity,
    ))
}

/// Returns true for an optional attribute: a name of letters, and a value.
fn is_extension(attribute: &str) -> bool {
    attribute.split_once('=').is_some_and(|(name, value)| {
        !name.is_empty() && name != "m" && name.bytes().all(|b| b.is_ascii_alphabetic()) && !value.is_empty()
    })
}

/// Decodes a user name. Returns `None` for an empty one, or one with another escape than `=2C` and `=3D`.
fn unescape(name: &str) -> Option<String> {
    let decoded = name.replace("=2C", ",").replace("=3D", "=");
    let escaped = decoded.replace('=', "=3D").replace(',', "=2C");
    (!name.is_empty() && escaped == name).then_some(decoded)
}

fn server_nonce(rng: &mut Rng) -> String {
    let character = |_| {
        let index = rng.next_u64() % NONCE_ALPHABET.len() as u64;
        let byte = usize::try_from(index).ok().and_then(|i| NONCE_ALPHABET.get(i));
        char::from(byte.copied().unwrap_or(b'0'))
    };
    (0..NONCE_CHARACTERS).map(character).collect()
}
