//! The TLS context of a server, for mock clusters.

use std::fmt;
use std::sync::Arc;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, ExtendedKeyUsagePurpose, IsCa, KeyPair, KeyUsagePurpose,
};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ServerConfig, ServerConnection, WebPkiClientVerifier};
use rustls::{RootCertStore, crypto};

use crate::session::Session;

/// The certificate of a server, and the CAs of client certificates that it requires.
pub struct ServerIdentity {
    /// The certificate, followed by its issuers.
    pub chain: Vec<CertificateDer<'static>>,
    /// The private key.
    pub key: PrivateKeyDer<'static>,
    /// The CAs of client certificates. If there are none, clients need no certificate.
    pub client_cas: Vec<CertificateDer<'static>>,
}

/// The TLS context of a server. Thread-safe.
pub struct ServerTls {
    config: Arc<ServerConfig>,
}

impl fmt::Debug for ServerTls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerTls").finish_non_exhaustive()
    }
}

impl ServerTls {
    /// Creates the context of a server with this certificate.
    ///
    /// # Errors
    /// The key cannot be used or does not belong to the certificate, or a CA cannot be read.
    pub fn new(identity: ServerIdentity) -> Result<Self, String> {
        let provider = Arc::new(crypto::aws_lc_rs::default_provider());
        let text = |e: rustls::Error| e.to_string();
        let builder = ServerConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .map_err(text)?;
        let builder = if identity.client_cas.is_empty() {
            builder.with_no_client_auth()
        } else {
            let mut roots = RootCertStore::empty();
            for ca in identity.client_cas {
                roots.add(ca).map_err(text)?;
            }
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build();
            builder.with_client_cert_verifier(verifier.map_err(|e| e.to_string())?)
        };
        let config = builder.with_single_cert(identity.chain, identity.key).map_err(text)?;
        Ok(ServerTls {
            config: Arc::new(config),
        })
    }

    /// Generates a CA and a certificate for `names` (host names or addresses). Returns the context of a server with that
    /// certificate, and the certificate of the CA.
    ///
    /// # Errors
    /// One of the names cannot be in a certificate, or a key cannot be generated.
    pub fn generated(names: &[&str]) -> Result<(Self, CertificateDer<'static>), String> {
        let text = |e: rcgen::Error| e.to_string();
        let mut ca = CertificateParams::new(Vec::new()).map_err(text)?;
        ca.distinguished_name
            .push(rcgen::DnType::CommonName, "Embedded cluster CA");
        ca.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        ca.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let ca = CertifiedIssuer::self_signed(ca, KeyPair::generate().map_err(text)?).map_err(text)?;
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut leaf = CertificateParams::new(names).map_err(text)?;
        leaf.distinguished_name
            .push(rcgen::DnType::CommonName, "Embedded cluster");
        leaf.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        let key = KeyPair::generate().map_err(text)?;
        let leaf = leaf.signed_by(&key, &ca).map_err(text)?;
        let identity = ServerIdentity {
            chain: vec![leaf.der().clone()],
            key: key.into(),
            client_cas: Vec::new(),
        };
        Ok((ServerTls::new(identity)?, ca.as_ref().der().clone()))
    }

    /// Creates the session of an accepted connection. The caller performs the handshake.
    ///
    /// # Errors
    /// The error of rustls.
    pub fn accept(&self) -> Result<Session, String> {
        let conn = ServerConnection::new(self.config.clone()).map_err(|e| e.to_string())?;
        Ok(Session::new(conn.into()))
    }
}
