//! The TLS context of a client: creates sessions with brokers, and renews certificates while the client runs.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustls::SignatureScheme;
use rustls::client::{ClientConfig, ClientConnection, ResolvesClientCert, Resumption};
use rustls::pki_types::ServerName;

use crate::failure::Failure;
use crate::identity::{Anonymous, IdentityResolver};
use crate::material::{Certificates, PrivateKey};
use crate::notes::Notes;
use crate::schemes::OfferedSchemes;
use crate::session::Session;
use crate::settings::{Settings, SettingsError};
use crate::stamps::Stamps;
use crate::verify::{self, Policy, ServerVerifier};

/// The broker at the other end of a session.
#[derive(Clone, Copy, Debug)]
pub struct Peer<'a> {
    /// The host name or address that the broker's certificate must have; also the server name indication (SNI).
    pub host: &'a str,
    /// The broker's name for the verify callback, `host:port/id`.
    pub broker: &'a str,
    /// The broker's id for the verify callback; -1 while it is unknown.
    pub broker_id: i32,
}

/// Certificates and keys from memory that replace those in use, all at once.
#[derive(Clone, Debug, Default)]
pub struct Replacement {
    /// The client's certificate chain and private key.
    pub identity: Option<(Certificates, PrivateKey)>,
    /// The certificates of CAs.
    pub ca: Option<Certificates>,
}

/// The result of [`ClientTls::refresh`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Refresh {
    /// No file has changed since the last call.
    Unchanged,
    /// New sessions use the changed files. Contains warnings about them.
    Renewed(Vec<String>),
    /// The changed files cannot be used, and the previous ones stay in use. Returned once for each change.
    Failed(SettingsError),
}

/// The TLS context of a client. Thread-safe.
pub struct ClientTls {
    state: Mutex<State>,
    notes: Arc<Notes>,
}

struct State {
    settings: Settings,
    engine: Engine,
    stamps: Stamps,
    /// The number of calls of [`ClientTls::replace`] that succeeded.
    generation: u64,
}

/// The state that new sessions are created from. Existing sessions keep the one that they began with.
#[derive(Clone)]
struct Engine {
    config: Arc<ClientConfig>,
    verifier: Arc<ServerVerifier>,
    schemes: Option<Vec<SignatureScheme>>,
    policy: Arc<Policy>,
}

impl fmt::Debug for ClientTls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientTls")
            .field("settings", &self.lock().settings)
            .finish_non_exhaustive()
    }
}

impl ClientTls {
    /// Creates a context with these settings. Reads the files that they name. Also returns warnings for the log.
    ///
    /// # Errors
    /// The first setting that cannot be used.
    pub fn new(settings: Settings) -> Result<(Self, Vec<String>), SettingsError> {
        let notes = Arc::new(Notes::default());
        let stamps = Stamps::of(settings.paths());
        let (engine, warnings) = Engine::build(&settings, &notes)?;
        let state = Mutex::new(State {
            settings,
            engine,
            stamps,
            generation: 0,
        });
        Ok((ClientTls { state, notes }, warnings))
    }

    /// Creates a session with a broker. The caller performs the handshake.
    ///
    /// # Errors
    /// Names are checked, and the host is not a name that a certificate can have; or rustls cannot create the session.
    pub fn connect(&self, peer: Peer<'_>) -> Result<Session, Failure> {
        let engine = self.lock().engine.clone();
        let checks_name = engine.policy.check_name && engine.policy.check_certificate;
        let name = verify::server_name(peer.host);
        let known = name.is_some();
        let name = match name {
            Some(name) => name,
            None if checks_name => {
                let text = format!("{} is not a host name that a certificate can have", peer.host);
                return Err(Failure::Certificate(text));
            }
            // Without a check of names, the name serves only as the key under which sessions are resumed.
            None => ServerName::try_from("broker.invalid").map_err(|e| Failure::Other(e.to_string()))?,
        };
        let mut config = engine.config;
        if engine.policy.callback.is_some() || !known {
            let mut own = ClientConfig::clone(&config);
            own.enable_sni = known;
            if engine.policy.callback.is_some() {
                // The callback must check each connection, so sessions are not resumed. It receives the broker's name,
                // so each connection has a verifier of its own.
                own.resumption = Resumption::disabled();
                let verifier = engine.verifier.for_broker(peer.broker, peer.broker_id);
                let verifier = OfferedSchemes::restrict(Arc::new(verifier), engine.schemes.as_deref());
                own.dangerous().set_certificate_verifier(verifier);
            }
            config = Arc::new(own);
        }
        let conn = ClientConnection::new(config, name).map_err(Failure::from)?;
        Ok(Session::new(conn.into()))
    }

    /// Checks whether the files of the settings have changed, and loads changed files for new sessions. Blocks: reads files,
    /// and may derive keys from passwords.
    pub fn refresh(&self) -> Refresh {
        let (settings, generation) = {
            let state = self.lock();
            (state.settings.clone(), state.generation)
        };
        // Taken before the files are read. A change during or after the reading is found by the next call, because it has
        // another stamp.
        let stamps = Stamps::of(settings.paths());
        if self.lock().stamps == stamps {
            return Refresh::Unchanged;
        }
        let built = Engine::build(&settings, &self.notes);
        let mut state = self.lock();
        if state.generation != generation {
            // The application has replaced certificates meanwhile. The next call checks the files that are still in use.
            return Refresh::Unchanged;
        }
        state.stamps = stamps;
        match built {
            Ok((engine, warnings)) => {
                state.engine = engine;
                Refresh::Renewed(warnings)
            }
            Err(error) => Refresh::Failed(error),
        }
    }

    /// Replaces certificates for new sessions. Files of the settings for the same purpose are no longer used. Returns
    /// warnings for the log.
    ///
    /// # Errors
    /// The replacement cannot be used; the previous certificates stay in use.
    pub fn replace(&self, replacement: Replacement) -> Result<Vec<String>, SettingsError> {
        let mut settings = self.lock().settings.clone();
        if let Some((certificate, key)) = replacement.identity {
            settings.clear_identity();
            settings.certificate = Some(certificate);
            settings.key = Some(key);
        }
        if let Some(certificates) = replacement.ca {
            settings.ca_location = None;
            settings.ca_pem = None;
            settings.ca = Some(certificates);
        }
        let stamps = Stamps::of(settings.paths());
        let (engine, warnings) = Engine::build(&settings, &self.notes)?;
        let mut state = self.lock();
        let generation = state.generation + 1;
        *state = State {
            settings,
            engine,
            stamps,
            generation,
        };
        Ok(warnings)
    }

    /// Removes and returns the notes for the log that sessions have added.
    pub fn take_notes(&self) -> Vec<String> {
        let verifier = self.lock().engine.verifier.clone();
        let of_certificates = verifier.take_notes();
        let mut texts = self.notes.take();
        texts.extend(of_certificates.iter().map(ToString::to_string));
        texts
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Engine {
    fn build(settings: &Settings, notes: &Arc<Notes>) -> Result<(Self, Vec<String>), SettingsError> {
        let material = settings.load()?;
        let mut warnings = material.warnings;
        let schemes = settings.schemes()?;
        let provider = Arc::new(settings.provider(&mut warnings)?);
        let policy = Arc::new(Policy {
            roots: material.roots,
            revocation: material.revocation,
            check_certificate: !settings.trust_all,
            check_name: !settings.any_name,
            callback: settings.callback.clone(),
        });
        let resolver: Arc<dyn ResolvesClientCert> = match material.identity {
            Some(own) => Arc::new(IdentityResolver::new(own, &provider, notes.clone(), &mut warnings)?),
            None => Arc::new(Anonymous),
        };
        let verifier = Arc::new(ServerVerifier::new(policy.clone(), &provider));
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|e| SettingsError {
                property: "ssl.cipher.suites",
                text: e.to_string(),
            })?
            .dangerous()
            .with_custom_certificate_verifier(OfferedSchemes::restrict(verifier.clone(), schemes.as_deref()))
            .with_client_cert_resolver(resolver);
        let engine = Engine {
            config: Arc::new(config),
            verifier,
            schemes,
            policy,
        };
        Ok((engine, warnings))
    }
}
