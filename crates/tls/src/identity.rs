//! The client's own certificate.

use std::sync::Arc;

use rustls::SignatureScheme;
use rustls::client::ResolvesClientCert;
use rustls::crypto::CryptoProvider;
use rustls::sign::CertifiedKey;

use crate::notes::Notes;
use crate::settings::{Identity, SettingsError};
use crate::verify;

/// A client without a certificate.
#[derive(Debug)]
pub(crate) struct Anonymous;

impl ResolvesClientCert for Anonymous {
    fn resolve(&self, _: &[&[u8]], _: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        None
    }

    fn has_certs(&self) -> bool {
        false
    }
}

/// A client's certificate, sent to brokers that accept one of its issuers.
#[derive(Debug)]
pub(crate) struct IdentityResolver {
    key: Arc<CertifiedKey>,
    /// The issuers of the chain's certificates, in DER.
    issuers: Vec<Vec<u8>>,
    /// The leaf's issuer, for the log.
    issuer: String,
    notes: Arc<Notes>,
}

impl IdentityResolver {
    /// Returns the resolver of a certificate.
    ///
    /// # Errors
    /// The key cannot be used, or belongs to another certificate.
    pub(crate) fn new(identity: Identity, provider: &CryptoProvider, notes: Arc<Notes>) -> Result<Self, SettingsError> {
        let Identity {
            chain,
            key,
            certificate_property,
            key_property,
        } = identity;
        let fail = |property, text: String| SettingsError { property, text };
        let signing = provider
            .key_provider
            .load_private_key(key)
            .map_err(|e| fail(key_property, format!("the private key cannot be used: {e}")))?;
        let leaf = chain
            .first()
            .ok_or_else(|| fail(certificate_property, "there is no certificate".to_owned()))?;
        let facts = verify::describe(leaf).map_err(|e| fail(certificate_property, e.to_string()))?;
        let of_certificate = verify::public_key_info(leaf).map_err(|e| fail(certificate_property, e.to_string()))?;
        if let Some(of_key) = signing.public_key()
            && of_key.as_ref() != of_certificate
        {
            let text = format!(
                "the private key does not belong to the certificate of {certificate_property} (subject {}): key values mismatch",
                facts.subject
            );
            return Err(fail(key_property, text));
        }
        let issuers = chain.iter().filter_map(|c| verify::issuer_name(c).ok()).collect();
        Ok(IdentityResolver {
            key: Arc::new(CertifiedKey::new(chain, signing)),
            issuers,
            issuer: facts.issuer,
            notes,
        })
    }
}

impl ResolvesClientCert for IdentityResolver {
    fn resolve(&self, accepted: &[&[u8]], schemes: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        let fits = accepted.is_empty() || self.issuers.iter().any(|issuer| accepted.contains(&issuer.as_slice()));
        if !fits {
            let names: Vec<String> = accepted.iter().map(|name| verify::name_text(name)).collect();
            self.notes.add(format!(
                "No matching issuer found in server trusted certificate authorities, not sending any client certificates: \
                 the certificate's issuer is {}, the broker accepts {}",
                self.issuer,
                names.join("; ")
            ));
            return None;
        }
        if self.key.key.choose_scheme(schemes).is_none() {
            self.notes.add(format!(
                "The broker accepts no signature of the client's {:?} key: not sending any client certificate",
                self.key.key.algorithm()
            ));
            return None;
        }
        Some(self.key.clone())
    }

    fn has_certs(&self) -> bool {
        true
    }
}
