//! Trusted CA certificates and their sources.

use std::fs;
use std::io::Read as _;
use std::path::Path;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, TrustAnchor};

use crate::x509::Certificate;

/// Usual locations of CA certificates in operating systems, in the order in which they are tried.
pub const PROBE_LIST: &[&str] = &[
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/certs/ca-bundle.crt",
    "/etc/pki/tls/certs/ca-bundle.trust.crt",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/ssl/ca-bundle.pem",
    "/etc/pki/tls/cacert.pem",
    "/etc/ssl/cert.pem",
    "/etc/ssl/cacert.pem",
    "/etc/certs/ca-certificates.crt",
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/ssl/certs",
    "/usr/local/etc/ssl/cert.pem",
    "/usr/local/etc/ssl/cacert.pem",
    "/usr/local/etc/ssl/certs/cert.pem",
    "/usr/local/etc/ssl/certs/cacert.pem",
    "/usr/local/share/certs/ca-root-nss.crt",
    "/etc/openssl/certs/ca-certificates.crt",
];

/// Maximum number of trusted certificates. Operating systems trust some 150.
pub const CERTIFICATES_MAX: usize = 10_000;
/// Maximum size of a file of certificates, in bytes.
pub const FILE_LEN_MAX: u64 = 32 << 20;
/// Maximum number of entries that are read from a directory.
const DIRECTORY_MAX: usize = 20_000;
/// Maximum number of warnings of one source.
const WARNINGS_MAX: usize = 20;

/// Trusted CA certificates.
///
/// A trusted certificate need not be self-signed: an intermediate CA in the store is trusted without its root. A
/// broker's own certificate in the store is trusted for that broker. It cannot issue others unless it is the
/// certificate of a CA.
#[derive(Debug, Clone, Default)]
pub struct CaStore {
    sources: Vec<String>,
    certificates: Vec<CertificateDer<'static>>,
    anchors: Vec<TrustAnchor<'static>>,
    /// The index in `certificates` of each anchor.
    anchor_certificates: Vec<usize>,
}

impl CaStore {
    /// Creates a store without certificates, which trusts no broker.
    pub fn new() -> Self {
        CaStore::default()
    }

    /// Returns a description of the sources for error texts, such as `ssl.ca.location=/etc/kafka/ca.pem`.
    pub fn source(&self) -> String {
        match self.sources.is_empty() {
            true => "no source".to_owned(),
            false => self.sources.join(" and "),
        }
    }

    /// Returns the number of certificates. Duplicates count once.
    pub fn len(&self) -> usize {
        self.certificates.len()
    }

    /// Returns whether there is no certificate.
    pub fn is_empty(&self) -> bool {
        self.certificates.is_empty()
    }

    /// Returns the certificates in the order in which they were added.
    pub fn certificates(&self) -> &[CertificateDer<'static>] {
        &self.certificates
    }

    /// Adds certificates in DER, and ignores duplicates. Returns warnings about certificates that cannot be used.
    pub fn add(
        &mut self,
        source: impl Into<String>,
        certificates: impl IntoIterator<Item = impl Into<CertificateDer<'static>>>,
    ) -> Vec<String> {
        let source = source.into();
        let mut warnings = Warnings::default();
        for (index, certificate) in certificates.into_iter().enumerate() {
            if let Err(problem) = self.add_one(certificate.into()) {
                warnings.push(format!("{source}: certificate {} is not used: {problem}", index + 1));
            }
        }
        self.sources.push(source);
        warnings.into_texts()
    }

    fn add_one(&mut self, certificate: CertificateDer<'static>) -> Result<(), String> {
        if self.certificates.contains(&certificate) {
            return Ok(());
        }
        if self.certificates.len() >= CERTIFICATES_MAX {
            return Err(format!("there are more than {CERTIFICATES_MAX} trusted certificates"));
        }
        Certificate::read(&certificate).map_err(|problem| format!("it cannot be read: {}", problem.0))?;
        // rustls-webpki cannot use some self-signed certificates that brokers have as anchors. These are still accepted
        // if the broker's certificate is the same byte for byte.
        if let Ok(anchor) = webpki::anchor_from_trusted_cert(&certificate) {
            self.anchors.push(anchor.to_owned());
            self.anchor_certificates.push(self.certificates.len());
        }
        self.certificates.push(certificate);
        Ok(())
    }

    /// Adds the certificates of all files of a directory that have a hash name of `openssl rehash` (`3387b84d.0`) or end in
    /// `.pem`, `.crt`, `.cer` or `.der`. OpenSSL itself uses only files with hash names. Returns warnings about files that
    /// cannot be read or used.
    ///
    /// # Errors
    /// The directory cannot be read.
    pub fn add_directory(&mut self, source: impl Into<String>, directory: &Path) -> Result<Vec<String>, String> {
        let (certificates, warnings) = read_directory(directory)?;
        let mut all = Warnings(warnings);
        self.add(source, certificates)
            .into_iter()
            .for_each(|warning| all.push(warning));
        Ok(all.into_texts())
    }

    /// Adds the certificates of the first location of [`PROBE_LIST`] that has any. Returns warnings.
    pub fn add_probed(&mut self) -> Vec<String> {
        self.add_first_of(PROBE_LIST)
    }

    fn add_first_of(&mut self, locations: &[&str]) -> Vec<String> {
        let mut warnings = Warnings::default();
        for location in locations {
            let path = Path::new(location);
            let found = match fs::metadata(path) {
                Ok(metadata) if metadata.is_dir() => read_directory(path),
                Ok(_) => read_file(path).map(|certificates| (certificates, Vec::new())),
                Err(_) => continue,
            };
            match found {
                Ok((certificates, more)) if !certificates.is_empty() => {
                    more.into_iter().for_each(|warning| warnings.push(warning));
                    self.add(*location, certificates)
                        .into_iter()
                        .for_each(|warning| warnings.push(warning));
                    return warnings.into_texts();
                }
                Ok(_) => {}
                Err(warning) => warnings.push(warning),
            }
        }
        self.sources
            .push("the system's locations, which hold no certificates".to_owned());
        warnings.into_texts()
    }

    /// Adds the CA certificates that the system trusts: those of `SSL_CERT_FILE` and `SSL_CERT_DIR` if one is set, else the
    /// system's own store, else the first location of [`PROBE_LIST`] that has any. Returns warnings.
    pub fn add_system_default(&mut self) -> Vec<String> {
        let variables = ["SSL_CERT_FILE", "SSL_CERT_DIR"];
        let set = variables.iter().filter_map(|name| {
            let value = std::env::var_os(name)?;
            Some(format!("{name}={}", value.to_string_lossy()))
        });
        let found = rustls_native_certs::load_native_certs();
        let warnings = found.errors.iter().map(ToString::to_string).collect();
        self.add_native(found.certs, warnings, &set.collect::<Vec<_>>())
    }

    /// Adds the certificates that rustls-native-certs has found. `set` are the environment variables that are set. If
    /// there is one, no other location is probed, even if the variables lead to no certificate.
    fn add_native(
        &mut self,
        certificates: Vec<CertificateDer<'static>>,
        warnings: Vec<String>,
        set: &[String],
    ) -> Vec<String> {
        let mut all = Warnings::default();
        warnings.into_iter().for_each(|warning| all.push(warning));
        let more = match (set.is_empty(), certificates.is_empty()) {
            (true, true) => self.add_probed(),
            (true, false) => self.add("the system's CA certificates", certificates),
            (false, _) => self.add(set.join(" and "), certificates),
        };
        more.into_iter().for_each(|warning| all.push(warning));
        all.into_texts()
    }

    pub(crate) fn anchors(&self) -> &[TrustAnchor<'static>] {
        &self.anchors
    }

    /// Returns the certificate of an anchor, which must be a reference into [`anchors`](Self::anchors): anchors are compared
    /// by address.
    pub(crate) fn certificate_of(&self, anchor: &TrustAnchor<'_>) -> Option<&CertificateDer<'static>> {
        let same = |candidate: &TrustAnchor<'_>| std::ptr::addr_eq(candidate, anchor);
        let index = self.anchors.iter().position(same)?;
        self.certificates.get(*self.anchor_certificates.get(index)?)
    }

    /// Returns whether the store has exactly this certificate.
    pub(crate) fn contains(&self, der: &[u8]) -> bool {
        self.certificates.iter().any(|certificate| certificate.as_ref() == der)
    }
}

/// A list of at most [`WARNINGS_MAX`] texts; further ones are dropped.
#[derive(Debug, Default)]
struct Warnings(Vec<String>);

impl Warnings {
    fn push(&mut self, warning: String) {
        if self.0.len() < WARNINGS_MAX {
            self.0.push(warning);
        }
    }

    fn into_texts(self) -> Vec<String> {
        self.0
    }
}

/// Reads the certificates of all files of a directory with suitable names. Also returns warnings.
fn read_directory(directory: &Path) -> Result<(Vec<CertificateDer<'static>>, Vec<String>), String> {
    let problem = |error: std::io::Error| format!("{}: {error}", directory.display());
    let mut paths = Vec::new();
    for entry in fs::read_dir(directory).map_err(problem)?.take(DIRECTORY_MAX) {
        let path = entry.map_err(problem)?.path();
        if path
            .file_name()
            .and_then(|name| name.to_str())
            .is_some_and(is_certificate_name)
        {
            paths.push(path);
        }
    }
    paths.sort();
    let mut warnings = Warnings::default();
    let mut all = Vec::new();
    for path in paths {
        match read_file(&path) {
            Ok(certificates) => all.extend(certificates),
            Err(warning) => warnings.push(warning),
        }
        if all.len() > CERTIFICATES_MAX {
            break;
        }
    }
    Ok((all, warnings.into_texts()))
}

fn is_certificate_name(name: &str) -> bool {
    let Some((stem, extension)) = name.rsplit_once('.') else {
        return false;
    };
    let hash = stem.len() == 8 && stem.bytes().all(|byte| byte.is_ascii_hexdigit());
    let number = !extension.is_empty() && extension.bytes().all(|byte| byte.is_ascii_digit());
    hash && number
        || ["pem", "crt", "cer", "der"]
            .iter()
            .any(|known| extension.eq_ignore_ascii_case(known))
}

/// Reads the certificates of a file in PEM, or its one certificate in DER. Other PEM blocks are ignored.
fn read_file(path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let problem = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    // Opening a named pipe would block.
    if !fs::metadata(path).map_err(|error| problem(&error))?.is_file() {
        return Err(problem(&"it is not a regular file"));
    }
    let file = fs::File::open(path).map_err(|error| problem(&error))?;
    let mut bytes = Vec::new();
    file.take(FILE_LEN_MAX + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| problem(&error))?;
    if u64::try_from(bytes.len()).is_ok_and(|len| len > FILE_LEN_MAX) {
        return Err(problem(&format_args!("it has more than {FILE_LEN_MAX} bytes")));
    }
    if Certificate::read(&bytes).is_ok() {
        return Ok(vec![CertificateDer::from(bytes)]);
    }
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&bytes)
        .take(CERTIFICATES_MAX + 1)
        .collect();
    certificates.map_err(|error| problem(&error))
}

#[cfg(test)]
mod tests;
