//! The CAs that HTTPS servers' certificates are checked by.

use std::path::Path;

use ottla_tls::material;
use ottla_tls::roots::{CaStore, FILE_LEN_MAX};

use crate::file;
use crate::token::SettingsError;

const LOCATION: &str = "https.ca.location";
const PEM: &str = "https.ca.pem";
/// The value for the usual locations of the operating system.
const PROBE: &str = "probe";

/// Trusted CAs of HTTPS servers. Certificates of `ssl.ca.location` are not among them.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct HttpsTrust {
    /// `https.ca.location`: a file, a directory, or `probe`.
    pub ca_location: Option<String>,
    /// `https.ca.pem`: certificates in PEM.
    pub ca_pem: Option<String>,
}

impl HttpsTrust {
    /// Reads the certificates that the properties name. Returns warnings about certificates that cannot be used. The
    /// certificates are read again for each token.
    ///
    /// # Errors
    /// Both properties are set, the location cannot be read, or there is no certificate.
    pub fn check(&self) -> Result<Vec<String>, SettingsError> {
        match self.ca_location.is_none() && self.ca_pem.is_none() {
            true => Ok(Vec::new()),
            false => self.load().map(|(_, warnings)| warnings),
        }
    }

    /// Returns the certificates of the properties, by default those that the system trusts. Also returns warnings.
    pub(super) fn load(&self) -> Result<(CaStore, Vec<String>), SettingsError> {
        let mut store = CaStore::new();
        let warnings = match (&self.ca_location, &self.ca_pem) {
            (Some(_), Some(_)) => {
                return Err(SettingsError::invalid(
                    LOCATION,
                    format_args!("not together with {PEM}"),
                ));
            }
            (Some(location), None) => add_location(&mut store, location)?,
            (None, Some(pem)) => {
                let found = material::certificates_from_pem(pem.as_bytes());
                store.add(PEM, found.map_err(|e| SettingsError::invalid(PEM, e))?)
            }
            (None, None) => store.add_system_default(),
        };
        Ok((store, warnings))
    }
}

fn add_location(store: &mut CaStore, location: &str) -> Result<Vec<String>, SettingsError> {
    let invalid = |text: &dyn std::fmt::Display| SettingsError::invalid(LOCATION, format_args!("{location}: {text}"));
    let source = format!("{LOCATION}={location}");
    let path = Path::new(location);
    match location {
        PROBE => Ok(store.add_probed()),
        _ if path.is_dir() => store
            .add_directory(source, path)
            .map_err(|e| SettingsError::invalid(LOCATION, e)),
        _ => {
            let len_max = usize::try_from(FILE_LEN_MAX).unwrap_or(usize::MAX);
            let bytes = file::read(location, len_max).map_err(|e| SettingsError::invalid(LOCATION, e))?;
            let found = material::certificates_from_pem(&bytes).map_err(|e| invalid(&e))?;
            Ok(store.add(source, found))
        }
    }
}
