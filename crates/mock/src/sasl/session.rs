//! The state of one connection.

use super::exchange::Exchange;
use crate::sasl_config::SaslMechanism;
use crate::time::Time;

/// The minimum interval of two re-authentications of a connection.
const REAUTHENTICATION_INTERVAL_US: u64 = 1_000_000;

/// The position in an authentication.
#[derive(Default)]
pub(super) enum Stage {
    /// Nothing was served yet.
    #[default]
    Initial,
    /// ApiVersions was answered.
    Versions,
    /// SaslHandshake was answered. `framed` is true when SaslAuthenticate carries the tokens.
    Exchange { exchange: Box<Exchange>, framed: bool },
    /// SaslHandshake of a re-authentication was answered, and its mechanism is another one than before.
    WrongMechanism,
    /// The client is authenticated.
    Complete,
    /// The connection ends.
    Failed,
}

/// A successful authentication.
#[derive(Debug)]
pub(super) struct Established {
    pub(super) mechanism: SaslMechanism,
    pub(super) principal: String,
    /// The end of the session.
    pub(super) ends_at: Option<Time>,
}

/// The authentication of one connection.
#[derive(Default)]
pub(super) struct Session {
    pub(super) stage: Stage,
    /// The last successful authentication.
    pub(super) established: Option<Established>,
    /// The begin of the last re-authentication.
    pub(super) reauthenticated_at: Option<Time>,
}

impl Session {
    /// Returns true when a re-authentication may begin.
    pub(super) fn may_reauthenticate(&self, now: Time) -> bool {
        self.reauthenticated_at
            .is_none_or(|last| now >= last.plus_us(REAUTHENTICATION_INTERVAL_US))
    }

    /// Returns true when the session has ended.
    pub(super) fn is_expired(&self, now: Time) -> bool {
        let end = self.established.as_ref().and_then(|e| e.ends_at);
        end.is_some_and(|end| now > end)
    }

    /// Returns true when this principal may be authenticated: any, or the one of the authentication before.
    pub(super) fn keeps_principal(&self, principal: &str) -> bool {
        self.established.as_ref().is_none_or(|e| e.principal == principal)
    }
}

/// Prints the stage's name only.
impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let stage = match self.stage {
            Stage::Initial => "Initial",
            Stage::Versions => "Versions",
            Stage::Exchange { .. } => "Exchange",
            Stage::WrongMechanism => "WrongMechanism",
            Stage::Complete => "Complete",
            Stage::Failed => "Failed",
        };
        f.debug_struct("Session")
            .field("stage", &stage)
            .field("established", &self.established)
            .finish_non_exhaustive()
    }
}
