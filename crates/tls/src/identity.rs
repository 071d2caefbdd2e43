//! The client's own certificate.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use rustls::client::ResolvesClientCert;
use rustls::crypto::CryptoProvider;
use rustls::sign::CertifiedKey;
use rustls::{DistinguishedName, SignatureScheme};

use crate::notes::Notes;
use crate::settings::{Identity, SettingsError};
use crate::x509::der::{Malformed, Reader};
use crate::x509::time::Timestamp;
use crate::x509::{Certificate, names};

/// Remaining validity below which a warning is logged: one week, in seconds.
const EXPIRES_SOON_S: i64 = 7 * 86_400;

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

/// A client's certificate. It is sent only to brokers that accept one of its issuers and a signature of its key.
#[derive(Debug)]
pub(crate) struct IdentityResolver {
    key: Arc<CertifiedKey>,
    /// The issuers of the chain's certificates, encoded as in a broker's list of accepted issuers.
    issuers: Vec<DistinguishedName>,
    /// The leaf's issuer, for the log.
    issuer: String,
    notes: Arc<Notes>,
}

impl IdentityResolver {
    /// Returns the resolver of a certificate. Adds a warning to `warnings` if the certificate has expired, expires soon
    /// or is not valid yet.
    ///
    /// # Errors
    /// The key cannot be used, or belongs to another certificate.
    pub(crate) fn new(
        identity: Identity,
        provider: &CryptoProvider,
        notes: Arc<Notes>,
        warnings: &mut Vec<String>,
    ) -> Result<Self, SettingsError> {
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
        let unreadable = |e: Malformed| fail(certificate_property, format!("the certificate cannot be read: {}", e.0));
        let certificate = Certificate::read(leaf).map_err(unreadable)?;
        if let Some(of_key) = signing.public_key()
            && of_key.as_ref() != certificate.public_key.info
        {
            let text = format!(
                "the private key does not belong to the certificate of {certificate_property} (subject {}): key values mismatch",
                names::to_text(certificate.subject)
            );
            return Err(fail(key_property, text));
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let now = Timestamp(i64::try_from(now.as_secs()).unwrap_or(i64::MAX));
        warnings.extend(date_warning(&certificate, certificate_property, now));
        let issuer = |c| Some(DistinguishedName::in_sequence(Certificate::read(c).ok()?.issuer));
        Ok(IdentityResolver {
            issuers: chain.iter().filter_map(|c| issuer(c)).collect(),
            issuer: names::to_text(certificate.issuer),
            key: Arc::new(CertifiedKey::new(chain, signing)),
            notes,
        })
    }
}

/// Returns the text of a distinguished name in DER.
fn text_of_name(der: &[u8]) -> String {
    let mut reader = Reader::new(der);
    match reader.next() {
        Ok(element) => names::to_text(element.content),
        Err(_) => "(unreadable)".to_owned(),
    }
}

/// Returns a warning if brokers refuse the certificate now, or will soon, because of its dates.
fn date_warning(certificate: &Certificate<'_>, property: &str, now: Timestamp) -> Option<String> {
    let (from, until) = (certificate.not_before, certificate.not_after);
    let what = match () {
        () if until.0 < now.0 => format!("expired on {until}"),
        () if from.0 > now.0 => format!("is not valid before {from}"),
        () if until.0 - now.0 < EXPIRES_SOON_S => format!("expires on {until}"),
        () => return None,
    };
    let subject = names::to_text(certificate.subject);
    Some(format!("{property}: the client's certificate ({subject}) {what}"))
}

impl ResolvesClientCert for IdentityResolver {
    fn resolve(&self, accepted: &[&[u8]], schemes: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        let fits = accepted.is_empty() || self.issuers.iter().any(|issuer| accepted.contains(&issuer.as_ref()));
        if !fits {
            let accepted: Vec<String> = accepted.iter().map(|name| text_of_name(name)).collect();
            self.notes.add(format!(
                "No matching issuer found in server trusted certificate authorities, not sending any client certificates: \
                 the certificate's issuer is {}, the broker accepts {}",
                self.issuer,
                accepted.join("; ")
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
