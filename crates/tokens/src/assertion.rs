//! Assertions, by which a client proves its identity to a token endpoint (RFC 7523).

use aws_lc_rs::rand;
use ottla_tls::material::{self, MaterialErrorKind};
use serde_json::{Map, Value};
use zeroize::{Zeroize as _, Zeroizing};

use crate::file;
use crate::json;
use crate::jwt::{Algorithm, Signer};
use crate::token::SettingsError;

const KEY_FILE: &str = "sasl.oauthbearer.assertion.private.key.file";
const KEY_PEM: &str = "sasl.oauthbearer.assertion.private.key.pem";
const PASSPHRASE: &str = "sasl.oauthbearer.assertion.private.key.passphrase";
const FILE: &str = "sasl.oauthbearer.assertion.file";
const TEMPLATE: &str = "sasl.oauthbearer.assertion.jwt.template.file";
/// Maximum size of the files, in bytes.
const FILE_MAX: usize = 128 << 10;

/// The properties `sasl.oauthbearer.assertion.*`: a signed assertion that is created for each token, or a file with one.
#[derive(Clone)]
pub struct AssertionSettings {
    /// `algorithm`.
    pub algorithm: Algorithm,
    /// `private.key.file`: a file with the private key in PEM. Read for each assertion.
    pub private_key_file: Option<String>,
    /// `private.key.pem`: the private key in PEM.
    pub private_key_pem: Option<Zeroizing<String>>,
    /// `private.key.passphrase`: the passphrase of an encrypted private key.
    pub private_key_passphrase: Option<Zeroizing<String>>,
    /// `file`: a file with a complete assertion. Read for each token.
    pub file: Option<String>,
    /// `jwt.template.file`: a JSON file with the members `header` and `payload`, whose members the assertion has. Read for
    /// each assertion.
    pub template_file: Option<String>,
    /// `claim.aud`.
    pub aud: Option<String>,
    /// `claim.iss`.
    pub iss: Option<String>,
    /// `claim.sub`.
    pub sub: Option<String>,
    /// `claim.exp.seconds`: the life of an assertion in seconds.
    pub exp_seconds: u32,
    /// `claim.nbf.seconds`: seconds before its creation from which an assertion is valid, for clocks that differ.
    pub nbf_seconds: u32,
    /// `claim.jti.include`: each assertion has a random identifier.
    pub jti: bool,
}

/// Returns the properties' defaults: no source, RS256, a life of 300 seconds, valid from 60 seconds before.
impl Default for AssertionSettings {
    fn default() -> Self {
        AssertionSettings {
            algorithm: Algorithm::default(),
            private_key_file: None,
            private_key_pem: None,
            private_key_passphrase: None,
            file: None,
            template_file: None,
            aud: None,
            iss: None,
            sub: None,
            exp_seconds: 300,
            nbf_seconds: 60,
            jti: false,
        }
    }
}

/// Prints no key and no passphrase.
impl std::fmt::Debug for AssertionSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AssertionSettings")
            .field("algorithm", &self.algorithm)
            .field("private_key_file", &self.private_key_file)
            .field("file", &self.file)
            .field("template_file", &self.template_file)
            .finish_non_exhaustive()
    }
}

/// Claims that an assertion has if neither its settings nor its template have them.
#[derive(Clone, Debug, Default)]
pub(crate) struct DefaultClaims {
    pub(crate) iss: Option<String>,
    pub(crate) sub: Option<String>,
    pub(crate) aud: Option<String>,
}

/// A source of assertions.
#[derive(Clone, Debug)]
pub(crate) struct Assertions {
    settings: AssertionSettings,
    defaults: DefaultClaims,
}

impl AssertionSettings {
    /// Returns whether there is a source of assertions.
    pub(crate) fn is_set(&self) -> bool {
        self.private_key_file.is_some() || self.private_key_pem.is_some() || self.file.is_some()
    }
}

impl Assertions {
    /// Checks the settings and reads the files that they name.
    pub(crate) fn new(settings: AssertionSettings, defaults: DefaultClaims) -> Result<Self, SettingsError> {
        if settings.private_key_file.is_some() && settings.private_key_pem.is_some() {
            return Err(SettingsError::invalid(
                KEY_FILE,
                format_args!("not together with {KEY_PEM}"),
            ));
        }
        if settings.file.is_some() {
            let others = [
                (settings.private_key_file.is_some(), KEY_FILE),
                (settings.private_key_pem.is_some(), KEY_PEM),
                (settings.private_key_passphrase.is_some(), PASSPHRASE),
                (settings.template_file.is_some(), TEMPLATE),
                (settings.aud.is_some(), "sasl.oauthbearer.assertion.claim.aud"),
                (settings.iss.is_some(), "sasl.oauthbearer.assertion.claim.iss"),
                (settings.sub.is_some(), "sasl.oauthbearer.assertion.claim.sub"),
            ];
            if let Some((_, name)) = others.iter().find(|(set, _)| *set) {
                return Err(SettingsError::invalid(FILE, format_args!("not together with {name}")));
            }
        }
        let assertions = Assertions { settings, defaults };
        // A file that is written later by another program is not an error yet.
        if assertions.settings.file.is_none() {
            assertions.create(0)?;
        }
        Ok(assertions)
    }

    /// Returns an assertion that is created at a time, in milliseconds since 1970, or the one of the file.
    pub(crate) fn at(&self, now_ms: i64) -> Result<Zeroizing<String>, SettingsError> {
        match &self.settings.file {
            Some(path) => from_file(path),
            None => self.create(now_ms),
        }
    }

    fn create(&self, now_ms: i64) -> Result<Zeroizing<String>, SettingsError> {
        let settings = &self.settings;
        let (mut header, mut claims) = match &settings.template_file {
            Some(path) => template(path)?,
            None => (Map::new(), Map::new()),
        };
        header.insert("alg".to_owned(), settings.algorithm.name().into());
        header.insert("typ".to_owned(), "JWT".into());
        let now = now_ms.div_euclid(1000);
        claims.insert("iat".to_owned(), now.into());
        claims.insert(
            "exp".to_owned(),
            now.saturating_add(i64::from(settings.exp_seconds)).into(),
        );
        claims.insert(
            "nbf".to_owned(),
            now.saturating_sub(i64::from(settings.nbf_seconds)).into(),
        );
        for (name, set, default) in [
            ("iss", &settings.iss, &self.defaults.iss),
            ("sub", &settings.sub, &self.defaults.sub),
            ("aud", &settings.aud, &self.defaults.aud),
        ] {
            if let Some(value) = set {
                claims.insert(name.to_owned(), value.as_str().into());
            } else if let Some(value) = default {
                claims.entry(name).or_insert_with(|| value.as_str().into());
            }
        }
        if settings.jti {
            claims.insert("jti".to_owned(), random_identifier()?.into());
        }
        let (signer, property) = self.signer()?;
        let token = signer.token(header, claims);
        token.map_err(|cause| SettingsError::invalid(property, cause))
    }

    /// Reads the private key. Also returns its property.
    fn signer(&self) -> Result<(Signer, &'static str), SettingsError> {
        let settings = &self.settings;
        let (pem, property) = match (&settings.private_key_file, &settings.private_key_pem) {
            (Some(path), _) => {
                let read = file::read(path, FILE_MAX);
                (read.map_err(|cause| SettingsError::invalid(KEY_FILE, cause))?, KEY_FILE)
            }
            (None, Some(pem)) => (Zeroizing::new(pem.as_bytes().to_vec()), KEY_PEM),
            (None, None) => {
                let text = format_args!("neither {FILE}, {KEY_FILE} nor {KEY_PEM} is set");
                return Err(SettingsError::invalid("sasl.oauthbearer.assertion", text));
            }
        };
        let passphrase = settings.private_key_passphrase.as_ref();
        let key = material::private_key_from_pem(&pem, passphrase.map(|text| text.as_bytes()));
        let mut key = key.map_err(|error| {
            let hint = match error.kind() {
                MaterialErrorKind::PasswordNeeded | MaterialErrorKind::WrongPassword => format!(": check {PASSPHRASE}"),
                _ => String::new(),
            };
            let path = settings.private_key_file.as_ref();
            let path = path.map_or_else(String::new, |path| format!("{path}: "));
            SettingsError::invalid(property, format_args!("{path}{error}{hint}"))
        })?;
        let signer = Signer::new(settings.algorithm, &key);
        key.zeroize();
        match signer {
            Ok(signer) => Ok((signer, property)),
            Err(cause) => {
                let hint = "check sasl.oauthbearer.assertion.algorithm";
                Err(SettingsError::invalid(property, format_args!("{cause}: {hint}")))
            }
        }
    }
}

/// Returns the assertion of a file, without white space around it, such as a line end.
fn from_file(path: &str) -> Result<Zeroizing<String>, SettingsError> {
    let invalid = |cause: String| SettingsError::invalid(FILE, cause);
    let bytes = file::read(path, FILE_MAX).map_err(invalid)?;
    let text = bytes.trim_ascii();
    let is_valid = |b: &u8| b.is_ascii_alphanumeric() || b"-._~+/=".contains(b);
    match std::str::from_utf8(text) {
        Ok(text) if !text.is_empty() && text.bytes().all(|b| is_valid(&b)) => Ok(Zeroizing::new(text.to_owned())),
        _ => Err(invalid(format!("{path}: it does not contain one assertion"))),
    }
}

/// The header and the claims of an assertion.
type Parts = (Map<String, Value>, Map<String, Value>);

/// Returns the parts of a template. Both members may be missing.
fn template(path: &str) -> Result<Parts, SettingsError> {
    let invalid = |cause: String| SettingsError::invalid(TEMPLATE, cause);
    let bytes = file::read(path, FILE_MAX).map_err(invalid)?;
    parse_template(&bytes).map_err(|cause| invalid(format!("{path}: {cause}")))
}

/// Parses a template.
pub(crate) fn parse_template(text: &[u8]) -> Result<Parts, String> {
    let mut all = json::object(text)?;
    let mut part = |name: &str| match all.remove(name) {
        None => Ok(Map::new()),
        Some(Value::Object(part)) => Ok(part),
        Some(_) => Err(format!("its member {name} is not an object")),
    };
    let (header, payload) = (part("header")?, part("payload")?);
    match all.keys().next() {
        None => Ok((header, payload)),
        Some(other) => Err(format!(
            "it has the member {}: only header and payload are known",
            crate::text::shown(other)
        )),
    }
}

/// Returns a random UUID of version 4 (RFC 9562).
fn random_identifier() -> Result<String, SettingsError> {
    let mut bytes = [0u8; 16];
    rand::fill(&mut bytes).map_err(|_| SettingsError("no random numbers".to_owned()))?;
    let number = u128::from_be_bytes(bytes);
    let number = number & !(0xf << 76) | (0x4 << 76);
    let number = number & !(0x3 << 62) | (0x2 << 62);
    let hex = format!("{number:032x}");
    let part = |from: usize, to: usize| hex.get(from..to).unwrap_or_default();
    Ok(format!(
        "{}-{}-{}-{}-{}",
        part(0, 8),
        part(8, 12),
        part(12, 16),
        part(16, 20),
        part(20, 32)
    ))
}
