//! JSON Web Tokens (RFC 7519) in their compact form (RFC 7515): claims of tokens, and creation of signed ones.

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::KeyPair as RsaKeyPair;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, RSA_PKCS1_SHA256};
use base64::Engine as _;
use base64::alphabet::URL_SAFE;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use rustls::pki_types::PrivateKeyDer;
use serde_json::{Map, Value};
use zeroize::Zeroizing;

use crate::json;

/// Decodes with or without padding: some servers send it, against the standard.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &URL_SAFE,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// The claims of a token. The signature is not verified: that is the brokers' task.
pub(crate) struct Claims(Map<String, Value>);

impl Claims {
    /// Reads a token of three parts; `None` if it has another number of parts.
    ///
    /// # Errors
    /// A cause without parts of the token.
    pub(crate) fn of(token: &str) -> Option<Result<Self, String>> {
        let mut parts = token.split('.');
        let (Some(_header), Some(claims), Some(_signature), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return None;
        };
        let decoded = LENIENT
            .decode(claims)
            .map_err(|_| "its claims are not in Base64".to_owned());
        let claims = decoded.and_then(|bytes| {
            let bytes = Zeroizing::new(bytes);
            json::object(&bytes).map_err(|cause| format!("its claims cannot be read: {cause}"))
        });
        Some(claims.map(Claims))
    }

    /// Returns the time of the claim `exp`, in milliseconds since 1970.
    pub(crate) fn expires_ms(&self) -> Option<i64> {
        self.0.get("exp").and_then(json::seconds_as_ms)
    }

    /// Returns a claim that is a text and not empty.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        json::text(&self.0, name)
    }
}

/// An algorithm that signs assertions (RFC 7518, section 3.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Algorithm {
    /// RSASSA-PKCS1-v1_5 with SHA-256; for RSA keys of 2048 to 8192 bits.
    #[default]
    Rs256,
    /// ECDSA with P-256 and SHA-256; for keys of that curve.
    Es256,
}

impl Algorithm {
    /// Returns the registered name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Algorithm::Rs256 => "RS256",
            Algorithm::Es256 => "ES256",
        }
    }
}

/// A private key that signs tokens.
pub(crate) enum Signer {
    Rsa(RsaKeyPair),
    Ecdsa(EcdsaKeyPair),
}

impl Signer {
    /// Creates a signer from a private key.
    ///
    /// # Errors
    /// The key is not for the algorithm.
    pub(crate) fn new(algorithm: Algorithm, key: &PrivateKeyDer<'_>) -> Result<Self, &'static str> {
        match algorithm {
            Algorithm::Rs256 => {
                let pair = match key {
                    PrivateKeyDer::Pkcs8(der) => RsaKeyPair::from_pkcs8(der.secret_pkcs8_der()).ok(),
                    PrivateKeyDer::Pkcs1(der) => RsaKeyPair::from_der(der.secret_pkcs1_der()).ok(),
                    _ => None,
                };
                pair.map(Signer::Rsa)
                    .ok_or("RS256 needs an RSA key of 2048 to 8192 bits, and this key is another")
            }
            Algorithm::Es256 => {
                let algorithm = &ECDSA_P256_SHA256_FIXED_SIGNING;
                let pair = match key {
                    PrivateKeyDer::Pkcs8(der) => EcdsaKeyPair::from_pkcs8(algorithm, der.secret_pkcs8_der()).ok(),
                    PrivateKeyDer::Sec1(der) => {
                        EcdsaKeyPair::from_private_key_der(algorithm, der.secret_sec1_der()).ok()
                    }
                    _ => None,
                };
                pair.map(Signer::Ecdsa)
                    .ok_or("ES256 needs an EC key of the curve P-256, and this key is another")
            }
        }
    }

    /// Returns the signature as JSON Web Signatures have it: for ES256 64 bytes, not DER.
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, &'static str> {
        const FAILED: &str = "the assertion cannot be signed";
        let random = SystemRandom::new();
        match self {
            Signer::Rsa(pair) => {
                let mut signature = vec![0; pair.public_modulus_len()];
                pair.sign(&RSA_PKCS1_SHA256, &random, message, &mut signature)
                    .map_err(|_| FAILED)?;
                Ok(signature)
            }
            Signer::Ecdsa(pair) => {
                let signature = pair.sign(&random, message).map_err(|_| FAILED)?;
                Ok(signature.as_ref().to_vec())
            }
        }
    }

    /// Returns a signed token.
    pub(crate) fn token(
        &self,
        header: Map<String, Value>,
        claims: Map<String, Value>,
    ) -> Result<Zeroizing<String>, &'static str> {
        let encode = |part: Map<String, Value>| {
            let text = Zeroizing::new(Value::Object(part).to_string());
            BASE64_URL_SAFE_NO_PAD.encode(text.as_bytes())
        };
        let mut token = Zeroizing::new(format!("{}.{}", encode(header), encode(claims)));
        let signature = self.sign(token.as_bytes())?;
        token.push('.');
        token.push_str(&BASE64_URL_SAFE_NO_PAD.encode(signature));
        Ok(token)
    }
}
