//! The TLS settings of a client, and the certificates, keys and revocation lists that they name.

use std::fmt;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use rustls::SignatureScheme;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use zeroize::Zeroizing;

use crate::material::{self, Certificates, MaterialError, MaterialErrorKind, PrivateKey};
use crate::names;
use crate::roots::CaStore;
use crate::verify::{RevocationLists, VerifyCallback};

/// Maximum size of a file that is read, in bytes.
const MAX_FILE: u64 = 16 << 20;

/// The TLS settings of a client. Each field is the property in its comment; `None` if the property is not set.
#[derive(Clone, Default)]
pub struct Settings {
    /// `ssl.ca.location`: a file, a directory, or `probe`.
    pub ca_location: Option<String>,
    /// `ssl.ca.pem`.
    pub ca_pem: Option<String>,
    /// Certificates of CAs from memory. The configuration does not permit it together with the two properties above.
    pub ca: Option<Certificates>,
    /// `ssl.crl.location`.
    pub crl_location: Option<String>,
    /// `ssl.certificate.location`.
    pub certificate_location: Option<String>,
    /// `ssl.certificate.pem`.
    pub certificate_pem: Option<String>,
    /// The client's certificate chain from memory.
    pub certificate: Option<Certificates>,
    /// `ssl.key.location`.
    pub key_location: Option<String>,
    /// `ssl.key.pem`.
    pub key_pem: Option<Zeroizing<String>>,
    /// The client's private key from memory.
    pub key: Option<PrivateKey>,
    /// `ssl.key.password`.
    pub key_password: Option<Zeroizing<String>>,
    /// `ssl.keystore.location`.
    pub keystore_location: Option<String>,
    /// `ssl.keystore.password`.
    pub keystore_password: Option<Zeroizing<String>>,
    /// `ssl.cipher.suites`.
    pub cipher_suites: Option<String>,
    /// `ssl.curves.list`.
    pub curves: Option<String>,
    /// `ssl.sigalgs.list`.
    pub signature_algorithms: Option<String>,
    /// `enable.ssl.certificate.verification=false`: neither chain nor name is checked.
    pub trust_all: bool,
    /// `ssl.endpoint.identification.algorithm=none`: the chain is checked, the name is not.
    pub any_name: bool,
    /// `ssl.certificate.verify_cb`.
    pub callback: Option<Arc<dyn VerifyCallback>>,
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Keys and passwords are left out.
        f.debug_struct("Settings")
            .field("ca_location", &self.ca_location)
            .field("certificate_location", &self.certificate_location)
            .field("keystore_location", &self.keystore_location)
            .finish_non_exhaustive()
    }
}

/// A setting that cannot be used.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SettingsError {
    /// The property.
    pub property: &'static str,
    /// The cause.
    pub text: String,
}

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The text before the colon is librdkafka's: programs search for it.
        write!(f, "{} failed: {}", self.property, self.text)
    }
}

impl std::error::Error for SettingsError {}

fn error(property: &'static str, text: impl fmt::Display) -> SettingsError {
    SettingsError {
        property,
        text: text.to_string(),
    }
}

/// The client's certificate chain, its leaf first, and the leaf's private key.
pub(crate) struct Identity {
    pub(crate) chain: Vec<CertificateDer<'static>>,
    pub(crate) key: PrivateKeyDer<'static>,
    /// The property that named the certificate, for errors.
    pub(crate) certificate_property: &'static str,
    /// The property that named the key, for errors.
    pub(crate) key_property: &'static str,
}

/// The certificates, keys and revocation lists that were loaded from the sources in the settings.
pub(crate) struct Material {
    pub(crate) roots: CaStore,
    pub(crate) revocation: Option<RevocationLists>,
    pub(crate) identity: Option<Identity>,
    /// Texts for the log.
    pub(crate) warnings: Vec<String>,
}

impl Settings {
    /// Loads everything that the settings name.
    pub(crate) fn load(&self) -> Result<Material, SettingsError> {
        let mut warnings = Vec::new();
        Ok(Material {
            roots: self.load_roots(&mut warnings)?,
            revocation: self.load_revocation_lists()?,
            identity: self.load_identity()?,
            warnings,
        })
    }

    /// Returns the files and directories whose contents [`load`](Self::load) depends on.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &str> {
        let all = [
            &self.ca_location,
            &self.crl_location,
            &self.certificate_location,
            &self.key_location,
            &self.keystore_location,
        ];
        all.into_iter()
            .flatten()
            .map(String::as_str)
            .filter(|path| *path != PROBE)
    }

    /// Removes every source of the client's certificate and key.
    pub(crate) fn clear_identity(&mut self) {
        self.certificate_location = None;
        self.certificate_pem = None;
        self.certificate = None;
        self.key_location = None;
        self.key_pem = None;
        self.key = None;
        self.keystore_location = None;
    }

    fn load_roots(&self, warnings: &mut Vec<String>) -> Result<CaStore, SettingsError> {
        const LOCATION: &str = "ssl.ca.location";
        let mut roots = CaStore::default();
        if let Some(certificates) = &self.ca {
            warnings.extend(roots.add("certificates in memory", certificates.iter().cloned()));
        }
        if let Some(location) = self.ca_location.as_deref() {
            let source = format!("{LOCATION}={location}");
            warnings.extend(match location {
                PROBE => roots.add_probed(),
                directory if Path::new(directory).is_dir() => roots
                    .add_directory(source, Path::new(directory))
                    .map_err(|e| error(LOCATION, e))?,
                file => {
                    let bytes = read(LOCATION, file)?;
                    let found = material::certificates_from_pem(&bytes).map_err(|e| in_file(LOCATION, file, &e))?;
                    roots.add(source, found)
                }
            });
        }
        if let Some(pem) = &self.ca_pem {
            let found = material::certificates_from_pem(pem.as_bytes()).map_err(|e| error("ssl.ca.pem", e))?;
            warnings.extend(roots.add("ssl.ca.pem", found));
        }
        let none_named = self.ca.is_none() && self.ca_location.is_none() && self.ca_pem.is_none();
        if none_named && !self.trust_all {
            warnings.extend(roots.add_system_default());
        }
        Ok(roots)
    }

    fn load_revocation_lists(&self) -> Result<Option<RevocationLists>, SettingsError> {
        const LOCATION: &str = "ssl.crl.location";
        let Some(location) = &self.crl_location else {
            return Ok(None);
        };
        let bytes = read(LOCATION, location)?;
        let lists = material::crls_from_pem(&bytes).map_err(|e| in_file(LOCATION, location, &e))?;
        let lists = RevocationLists::read(lists).map_err(|e| error(LOCATION, format_args!("{location}: {e}")))?;
        Ok(Some(lists))
    }

    /// Returns the client's certificate and key. If several sources are set, uses the last in the order memory, location,
    /// pem, keystore, as librdkafka does. All sources that are set must be readable.
    fn load_identity(&self) -> Result<Option<Identity>, SettingsError> {
        let mut chain = self.certificate.as_ref().map(|c| (CERTIFICATE, c.to_vec()));
        let mut key = self.key.as_ref().map(|k| (KEY, k.clone_key()));
        if let Some(location) = &self.certificate_location {
            const NAME: &str = "ssl.certificate.location";
            let bytes = read(NAME, location)?;
            chain = Some((
                NAME,
                material::certificates_from_pem(&bytes).map_err(|e| in_file(NAME, location, &e))?,
            ));
        }
        if let Some(pem) = &self.certificate_pem {
            const NAME: &str = "ssl.certificate.pem";
            chain = Some((
                NAME,
                material::certificates_from_pem(pem.as_bytes()).map_err(|e| error(NAME, e))?,
            ));
        }
        let password = self.key_password.as_ref().map(|p| p.as_bytes());
        if let Some(location) = &self.key_location {
            const NAME: &str = "ssl.key.location";
            let bytes = Zeroizing::new(read(NAME, location)?);
            let parsed = material::private_key_from_pem(&bytes, password);
            let fail =
                |e: MaterialError| error(NAME, format_args!("{location}: {e}{}", password_hint(&e, KEY_PASSWORD)));
            key = Some((NAME, parsed.map_err(fail)?));
        }
        if let Some(pem) = &self.key_pem {
            const NAME: &str = "ssl.key.pem";
            let parsed = material::private_key_from_pem(pem.as_bytes(), password);
            let fail = |e: MaterialError| error(NAME, format_args!("{e}{}", password_hint(&e, KEY_PASSWORD)));
            key = Some((NAME, parsed.map_err(fail)?));
        }
        if let Some(location) = &self.keystore_location {
            const NAME: &str = "ssl.keystore.location";
            let bytes = Zeroizing::new(read(NAME, location)?);
            let password = self.keystore_password.as_ref().map_or("", |p| p.as_str());
            let fail = |e: MaterialError| {
                let hint = password_hint(&e, "ssl.keystore.password");
                error(NAME, format_args!("{location}: {e}{hint}"))
            };
            let store = material::keystore_from_pkcs12(&bytes, password).map_err(fail)?;
            let Some(own) = store.key else {
                return Err(error(
                    NAME,
                    format_args!("{location}: the keystore contains no private key"),
                ));
            };
            chain = Some((NAME, store.chain));
            key = Some((NAME, own));
        }
        match (chain, key) {
            (None, None) => Ok(None),
            (Some((certificate_property, chain)), Some((key_property, key))) => Ok(Some(Identity {
                chain,
                key,
                certificate_property,
                key_property,
            })),
            (Some((property, _)), None) => Err(error(
                property,
                "the client's certificate has no private key: set ssl.key.location or ssl.key.pem",
            )),
            (None, Some((property, _))) => Err(error(
                property,
                "the private key has no certificate: set ssl.certificate.location or ssl.certificate.pem",
            )),
        }
    }

    /// Returns a provider of cryptography with the cipher suites and curves of the settings. Adds texts for the log to
    /// `warnings`.
    pub(crate) fn provider(&self, warnings: &mut Vec<String>) -> Result<CryptoProvider, SettingsError> {
        let mut provider = rustls::crypto::aws_lc_rs::default_provider();
        if let Some(list) = &self.cipher_suites {
            const NAME: &str = "ssl.cipher.suites";
            let selection = names::cipher_suites(list).map_err(|e| error(NAME, e))?;
            if !selection.ignored.is_empty() {
                let ignored = selection.ignored.join(", ");
                warnings.push(format!("{NAME}: unknown or unsupported names are ignored: {ignored}"));
            }
            provider.cipher_suites = selection.suites;
        }
        if let Some(list) = &self.curves {
            provider.kx_groups = names::curves(list).map_err(|e| error("ssl.curves.list", e))?;
        }
        Ok(provider)
    }

    /// Returns the signature schemes of `ssl.sigalgs.list`; `None` for all.
    pub(crate) fn schemes(&self) -> Result<Option<Vec<SignatureScheme>>, SettingsError> {
        let list = self.signature_algorithms.as_deref();
        list.map(names::signature_algorithms)
            .transpose()
            .map_err(|e| error("ssl.sigalgs.list", e))
    }
}

const PROBE: &str = "probe";
const CERTIFICATE: &str = "ssl_certificate";
const KEY: &str = "ssl_key";
const KEY_PASSWORD: &str = "ssl.key.password";

/// Reads a file of at most [`MAX_FILE`] bytes.
fn read(property: &'static str, path: &str) -> Result<Vec<u8>, SettingsError> {
    let fail = |e: std::io::Error| {
        let text = e.to_string();
        let text = text.split(" (os error").next().unwrap_or_default();
        error(property, format_args!("{path}: {text}"))
    };
    let size = fs::metadata(path).map_err(fail)?.len();
    if size > MAX_FILE {
        return Err(error(
            property,
            format_args!("{path}: the file has {size} bytes, more than {MAX_FILE}"),
        ));
    }
    fs::read(path).map_err(fail)
}

/// Returns a hint that names the password's property if the password is the cause of the error, otherwise an empty text.
fn password_hint(cause: &MaterialError, property: &str) -> String {
    match cause.kind() {
        MaterialErrorKind::PasswordNeeded | MaterialErrorKind::WrongPassword => format!(": check {property}"),
        _ => String::new(),
    }
}

fn in_file(property: &'static str, path: &str, cause: &MaterialError) -> SettingsError {
    error(property, format_args!("{path}: {cause}"))
}
