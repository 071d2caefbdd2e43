//! Tickets of a client, and contexts over them.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use ottla_gssapi::{Context, Credential, Library};
use parking_lot::Mutex;

use super::super::mechanism::SaslError;
use super::context::{Progress, SecurityContext};
use super::errors::{self, Source};

/// Part of the tickets' life, in percent, after which new ones are acquired.
const RENEWAL_PERCENT: u32 = 80;

/// Shortest time between two attempts to renew tickets that are still valid.
const RETRY: Duration = Duration::from_secs(60);

/// The source of a client's tickets.
///
/// With a keytab, the client acquires tickets itself, keeps them in its memory, and renews them. Without one, it uses those
/// of the default cache, which the environment variable `KRB5CCNAME` or `krb5.conf` names, as they are at each
/// authentication.
pub struct GssapiCredentials {
    library: &'static Library,
    service: String,
    principal: Option<String>,
    keytab: Option<String>,
    /// The tickets of the keytab, after the first authentication.
    held: Mutex<Option<Held>>,
}

/// Tickets that are used until they are replaced.
struct Held {
    credential: Arc<Credential>,
    renewal: Renewal,
}

/// Decides when tickets are replaced.
#[derive(Debug, Default)]
struct Renewal {
    /// A broker refused the tickets.
    refused: bool,
    /// The tickets' remaining life when an attempt to replace them failed.
    failed_at: Option<Duration>,
}

impl Renewal {
    /// Returns true when tickets with that life and that rest of it must be replaced.
    fn is_due(&self, life: Duration, remaining: Duration) -> bool {
        if remaining.is_zero() {
            return true;
        }
        let wanted = self.refused || remaining <= life * (100 - RENEWAL_PERCENT) / 100;
        let rested = self
            .failed_at
            .is_none_or(|then| then.saturating_sub(remaining) >= RETRY);
        wanted && rested
    }
}

impl GssapiCredentials {
    /// Returns a source of tickets, which acquires none yet. `service`: `sasl.kerberos.service.name`. `principal`:
    /// `sasl.kerberos.principal` if the application has set it; otherwise the keytab's first one is used. It has no effect
    /// without a keytab. `keytab`: `sasl.kerberos.keytab`, as kinit(1) accepts it.
    ///
    /// # Errors
    /// [`SaslError`] when the system's GSSAPI library cannot be loaded.
    pub fn new(service: &str, principal: Option<&str>, keytab: Option<&str>) -> Result<Self, SaslError> {
        let library = Library::load().map_err(|e| SaslError(e.to_string()))?;
        Ok(GssapiCredentials {
            library,
            service: service.to_owned(),
            principal: principal.map(str::to_owned),
            keytab: keytab.map(str::to_owned),
            held: Mutex::new(None),
        })
    }

    /// Returns tickets that are valid now. Blocks while they are acquired.
    fn tickets(&self) -> Result<Arc<Credential>, SaslError> {
        let source = Source {
            keytab: self.keytab.as_deref(),
            principal: self.principal.as_deref(),
        };
        let failed = |e: ottla_gssapi::Error| errors::acquisition(&e, source);
        let Some(keytab) = &self.keytab else {
            return Credential::from_default_cache(self.library)
                .map(Arc::new)
                .map_err(failed);
        };
        let mut held = self.held.lock();
        let valid = held.as_ref().and_then(|held| {
            let remaining = held.credential.remaining().ok()?;
            let due = held.renewal.is_due(held.credential.life(), remaining);
            (!remaining.is_zero()).then_some((remaining, due))
        });
        if let (Some(held), Some((_, false))) = (&*held, valid) {
            return Ok(held.credential.clone());
        }
        match (Credential::from_keytab(self.library, keytab, source.principal), valid) {
            (Ok(credential), _) => {
                let credential = Arc::new(credential);
                *held = Some(Held {
                    credential: credential.clone(),
                    renewal: Renewal::default(),
                });
                Ok(credential)
            }
            // The tickets are still valid: the KDC may answer the next time.
            (Err(e), Some((remaining, _))) => match &mut *held {
                Some(held) => {
                    held.renewal.failed_at = Some(remaining);
                    Ok(held.credential.clone())
                }
                None => Err(failed(e)),
            },
            (Err(e), None) => Err(failed(e)),
        }
    }

    /// Notes that a broker has refused tickets: they may be older than the broker's or the client's key.
    fn on_refused(&self, credential: &Arc<Credential>) {
        if let Some(held) = &mut *self.held.lock()
            && Arc::ptr_eq(&held.credential, credential)
        {
            held.renewal.refused = true;
        }
    }
}

/// Prints no tickets.
impl fmt::Debug for GssapiCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GssapiCredentials")
            .field("service", &self.service)
            .field("principal", &self.principal)
            .field("keytab", &self.keytab)
            .finish_non_exhaustive()
    }
}

/// A context with one broker, which acquires tickets at its first step.
pub(super) struct BrokerContext {
    credentials: Arc<GssapiCredentials>,
    host: String,
    open: Option<Open>,
}

/// A context that has begun.
struct Open {
    tickets: Arc<Credential>,
    context: Context,
    /// The broker has the ticket, and has not proven that it accepts it.
    undecided: bool,
}

impl BrokerContext {
    /// Returns a context with the broker of that name. A dot at its end is not part of a principal's name.
    pub(super) fn new(credentials: Arc<GssapiCredentials>, host: &str) -> Self {
        BrokerContext {
            credentials,
            host: host.strip_suffix('.').unwrap_or(host).to_owned(),
            open: None,
        }
    }

    fn failed(&self, error: &ottla_gssapi::Error) -> SaslError {
        errors::exchange(error, &self.credentials.service, &self.host)
    }

    fn open(&mut self) -> Result<&mut Open, SaslError> {
        self.open
            .as_mut()
            .ok_or_else(|| SaslError("the security context has not begun".into()))
    }
}

impl SecurityContext for BrokerContext {
    fn step(&mut self, token: Option<&[u8]>) -> Result<Progress, SaslError> {
        if self.open.is_none() {
            let tickets = self.credentials.tickets()?;
            let context = Context::new(self.credentials.library, &self.credentials.service, &self.host)
                .map_err(|e| self.failed(&e))?;
            self.open = Some(Open {
                tickets,
                context,
                undecided: false,
            });
        }
        let open = self.open()?;
        let progress = open.context.step(&open.tickets, token);
        let progress = match progress {
            Ok(progress) => progress,
            Err(e) => return Err(self.failed(&e)),
        };
        open.undecided = !progress.complete;
        Ok(Progress {
            token: progress.token,
            complete: progress.complete,
        })
    }

    fn wrap(&mut self, message: &[u8]) -> Result<Vec<u8>, SaslError> {
        let wrapped = self.open()?.context.wrap(message);
        wrapped.map_err(|e| self.failed(&e))
    }

    fn unwrap(&mut self, token: &[u8]) -> Result<Vec<u8>, SaslError> {
        let message = self.open()?.context.unwrap(token);
        message.map_err(|e| self.failed(&e))
    }
}

/// An exchange that ends before the broker accepts the ticket makes the next one acquire new tickets.
impl Drop for BrokerContext {
    fn drop(&mut self) {
        if let Some(open) = &self.open
            && open.undecided
        {
            self.credentials.on_refused(&open.tickets);
        }
    }
}

impl fmt::Debug for BrokerContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BrokerContext")
            .field("host", &self.host)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);

    fn minutes(n: u64) -> Duration {
        Duration::from_secs(60 * n)
    }

    #[test]
    fn tickets_are_replaced_after_four_fifths_of_their_life() {
        let renewal = Renewal::default();
        assert!(!renewal.is_due(HOUR, minutes(60)));
        assert!(!renewal.is_due(HOUR, minutes(13)));
        assert!(renewal.is_due(HOUR, minutes(12)));
        assert!(renewal.is_due(HOUR, Duration::ZERO));
    }

    #[test]
    fn refused_tickets_are_replaced_at_once() {
        let renewal = Renewal {
            refused: true,
            failed_at: None,
        };
        assert!(renewal.is_due(HOUR, minutes(60)));
    }

    #[test]
    fn a_failed_renewal_is_repeated_after_a_minute_while_the_tickets_are_valid() {
        let renewal = Renewal {
            refused: false,
            failed_at: Some(minutes(10)),
        };
        assert!(!renewal.is_due(HOUR, minutes(10)));
        assert!(!renewal.is_due(HOUR, Duration::from_secs(9 * 60 + 1)));
        assert!(renewal.is_due(HOUR, minutes(9)));
        assert!(renewal.is_due(HOUR, Duration::ZERO));
    }
}
