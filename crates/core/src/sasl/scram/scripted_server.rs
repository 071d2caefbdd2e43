//! A SCRAM server for tests, which stores what a broker stores: salt, iterations, `StoredKey` and `ServerKey`.

use std::num::NonZeroU32;

use aws_lc_rs::{digest, hmac, pbkdf2};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::ScramHash;

const SALT: &[u8] = b"salt of the user";
const ITERATIONS: u32 = 4_096;

/// One exchange of a server with a user that it knows.
pub(crate) struct ScriptedServer {
    hmac: hmac::Algorithm,
    digest: &'static digest::Algorithm,
    username: &'static str,
    stored_key: Vec<u8>,
    server_key: Vec<u8>,
    /// `client-first-message-bare,server-first-message`.
    transcript: String,
    nonce: String,
}

impl ScriptedServer {
    /// Returns a server of the user with that escaped name.
    pub(crate) fn new(hash: ScramHash, username: &'static str, password: &str) -> Self {
        let (hmac, pbkdf2) = match hash {
            ScramHash::Sha256 => (hmac::HMAC_SHA256, pbkdf2::PBKDF2_HMAC_SHA256),
            ScramHash::Sha512 => (hmac::HMAC_SHA512, pbkdf2::PBKDF2_HMAC_SHA512),
        };
        let mut salted = vec![0; hmac.tag_len()];
        let iterations = NonZeroU32::new(ITERATIONS).unwrap();
        pbkdf2::derive(pbkdf2, iterations, SALT, password.as_bytes(), &mut salted);
        let key = |name: &[u8]| hmac::sign(&hmac::Key::new(hmac, &salted), name).as_ref().to_vec();
        let digest = hmac.digest_algorithm();
        ScriptedServer {
            hmac,
            digest,
            username,
            stored_key: digest::digest(digest, &key(b"Client Key")).as_ref().to_vec(),
            server_key: key(b"Server Key"),
            transcript: String::new(),
            nonce: String::new(),
        }
    }

    /// Answers the client's first message.
    pub(crate) fn first(&mut self, client_first: &[u8]) -> Vec<u8> {
        let text = std::str::from_utf8(client_first).unwrap();
        let bare = text.strip_prefix("n,,").unwrap();
        let prefix = format!("n={},r=", self.username);
        let client_nonce = bare.strip_prefix(&*prefix).unwrap();
        assert!(!client_nonce.is_empty() && client_nonce.bytes().all(|b| b.is_ascii_graphic() && b != b','));
        self.nonce = format!("{client_nonce}3rfcNHYJY1ZVvWVs7j");
        let answer = format!("r={},s={},i={ITERATIONS}", self.nonce, STANDARD.encode(SALT));
        self.transcript = format!("{bare},{answer}");
        answer.into_bytes()
    }

    /// Verifies the client's proof and returns the final message; `None` when the proof is wrong.
    pub(crate) fn last(&self, client_final: &[u8]) -> Option<Vec<u8>> {
        let text = std::str::from_utf8(client_final).unwrap();
        let (without_proof, proof) = text.split_once(",p=").unwrap();
        assert_eq!(without_proof, format!("c=biws,r={}", self.nonce));
        let auth_message = format!("{},{without_proof}", self.transcript);
        let sign = |key: &[u8]| hmac::sign(&hmac::Key::new(self.hmac, key), auth_message.as_bytes());
        let proof = STANDARD.decode(proof).unwrap();
        let signature = sign(&self.stored_key);
        assert_eq!(proof.len(), signature.as_ref().len());
        let client_key: Vec<u8> = proof.iter().zip(signature.as_ref()).map(|(p, s)| p ^ s).collect();
        let is_proven = digest::digest(self.digest, &client_key).as_ref() == self.stored_key;
        is_proven.then(|| format!("v={}", STANDARD.encode(sign(&self.server_key))).into_bytes())
    }
}
