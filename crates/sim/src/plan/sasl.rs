//! Worlds in which clients authenticate (SASL).

use ottla_mock::{SaslConfig, SaslMechanism};
use ottla_protocol::ApiKey;

use super::seeds::has_sasl;
use crate::rng::SeededRng;

/// Brokers refuse a re-authentication within a second of the one before, so shorter sessions end by errors.
const SESSION_MIN_MS: u64 = 1_500;
/// After the faults, sessions are as long as several round trips and turns of applications.
const CALM_SESSION_MIN_MS: u64 = 10_000;
/// After the faults, a token outlives the world.
const CALM_TOKEN_LIFE_MS: u64 = 3_600_000;

/// The kinds of faults of authentication.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SaslFault {
    /// The next authentications are refused.
    Refuse,
    /// A user's password changes at the brokers, and later at the client.
    RotatePassword,
    /// A user's password changes at the client, and later at the brokers.
    RotateEarly,
    /// A user does not exist for a while.
    RemoveUser,
    /// A token is revoked before its end.
    RevokeToken,
    /// The maximum length of sessions changes.
    ChangeSessions,
    /// Requests of authentication are answered with an error.
    RequestError,
    /// Connections break, before or after a request of authentication is served, or hang.
    RequestDisconnect,
    /// Requests of authentication are answered late.
    RequestDelay,
}

const KINDS: &[(SaslFault, &str)] = &[
    (SaslFault::Refuse, "refused authentications"),
    (SaslFault::RotatePassword, "password changes at brokers first"),
    (SaslFault::RotateEarly, "password changes at clients first"),
    (SaslFault::RemoveUser, "users removed"),
    (SaslFault::RevokeToken, "tokens revoked"),
    (SaslFault::ChangeSessions, "changes of session lengths"),
    (SaslFault::RequestError, "authentication errors"),
    (SaslFault::RequestDisconnect, "authentication disconnects"),
    (SaslFault::RequestDelay, "authentication delays"),
];

impl SaslFault {
    /// Returns the name under which faults of this kind are counted.
    pub(crate) fn name(self) -> &'static str {
        let row = KINDS.iter().find(|(kind, _)| *kind == self);
        row.map_or("faults", |(_, name)| name)
    }
}

/// The source of a world's tokens.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TokenPlan {
    /// The shortest and the longest life of a token.
    pub(crate) life_ms: (u64, u64),
    /// A session ends with its token. Otherwise clients would not know its end, where SaslAuthenticate does not have it.
    pub(crate) limits_sessions: bool,
    /// The longest time until an application answers a request.
    pub(crate) answer_us: u64,
    /// Probability that there is no token.
    pub(crate) fails: f64,
    /// Probability that an application does not answer.
    pub(crate) silent: f64,
    /// Probability that a client has a provider instead of asking its application.
    pub(crate) provider: f64,
}

/// Authentication in a world.
#[derive(Debug, Clone)]
pub(crate) struct SaslPlan {
    /// The mechanisms of the brokers; each client draws one of them.
    pub(crate) mechanisms: Vec<SaslMechanism>,
    /// `connections.max.reauth.ms` during the faults, and after them.
    pub(crate) session_ms: u64,
    pub(crate) calm_session_ms: u64,
    /// The delay of refusals.
    refusal_ms: u64,
    /// The iterations of SCRAM.
    pub(crate) iterations: u32,
    pub(crate) tokens: TokenPlan,
    /// The longest time of work that blocks, and the probability that it is not done.
    pub(crate) work_us: u64,
    pub(crate) not_done: f64,
    /// The longest time between the change of a password at the brokers and at the client.
    pub(crate) rotation_us: u64,
    /// The latest versions of SaslHandshake and SaslAuthenticate; -1 for none.
    pub(crate) versions: Option<(i16, i16)>,
    /// Kinds of faults with the mean time between two of them.
    pub(crate) faults: Vec<(SaslFault, u64)>,
}

impl SaslPlan {
    /// Draws the authentication of some worlds.
    pub(crate) fn draw(seed: u64) -> Option<Self> {
        use SaslMechanism::{OAuthBearer, Plain, ScramSha256, ScramSha512};
        if !has_sasl(seed) {
            return None;
        }
        let mut c = SeededRng::of(seed, 70);
        let mechanisms = c.pick(&[
            &SaslMechanism::ALL[..],
            &[Plain],
            &[ScramSha256],
            &[ScramSha512, Plain],
            &[OAuthBearer],
            &[OAuthBearer, ScramSha256],
        ]);
        let session_ms = if c.hit(0.25) {
            0
        } else {
            c.spread(SESSION_MIN_MS, 60_000)
        };
        let versions = match c.f64() {
            p if p < 0.12 => Some((0, -1)),
            p if p < 0.25 => Some((1, c.pick(&[0, 1]))),
            _ => None,
        };
        let knows_sessions = versions.is_none_or(|(_, authenticate)| authenticate > 0);
        let calm_session_ms = match session_ms > 0 && knows_sessions {
            true => session_ms.max(CALM_SESSION_MIN_MS),
            false => 0,
        };
        let shortest = c.spread(2_000, 20_000);
        let frequency = c.pick(&[0.0, 0.2, 0.4]);
        let kinds = KINDS.iter().filter(|_| c.hit(frequency)).collect::<Vec<_>>();
        Some(SaslPlan {
            mechanisms: mechanisms.to_vec(),
            session_ms,
            calm_session_ms,
            refusal_ms: c.pick(&[0, 100, 300, 300, 2000]),
            iterations: c.pick(&[4096, 4096, 4096, 8192, 10_000]),
            tokens: TokenPlan {
                life_ms: (shortest, c.spread(shortest, 60_000)),
                limits_sessions: knows_sessions,
                answer_us: c.spread(1000, 20_000_000),
                fails: c.rate(0.4, 0.05, 0.5),
                silent: c.rate(0.6, 0.05, 0.3),
                provider: c.pick(&[0.0, 0.5, 1.0]),
            },
            work_us: c.spread(1000, 20_000_000),
            not_done: c.rate(0.7, 0.01, 0.3),
            rotation_us: c.spread(10_000, 30_000_000),
            versions,
            faults: kinds
                .into_iter()
                .map(|(kind, _)| (*kind, c.spread(300_000, 20_000_000)))
                .collect(),
        })
    }

    /// Returns true when clients have tokens, whose life brokers and clients measure by their wall clocks.
    pub(crate) fn has_tokens(&self) -> bool {
        self.mechanisms.contains(&SaslMechanism::OAuthBearer)
    }

    /// Returns the settings of the brokers. Users and tokens are added with the clients.
    pub(crate) fn config(&self) -> SaslConfig {
        SaslConfig {
            mechanisms: self.mechanisms.clone(),
            accepted_tokens: Some(Vec::new()),
            max_reauth_ms: self.session_ms,
            failed_authentication_delay_ms: self.refusal_ms,
            ..SaslConfig::default()
        }
    }

    /// Returns the latest versions of the APIs of older brokers.
    pub(crate) fn api_versions(&self) -> impl Iterator<Item = (ApiKey, i16)> {
        let of = |(handshake, authenticate)| {
            [
                (ApiKey::SASL_HANDSHAKE, handshake),
                (ApiKey::SASL_AUTHENTICATE, authenticate),
            ]
        };
        self.versions.map(of).into_iter().flatten()
    }
}

impl TokenPlan {
    /// Returns the tokens of an identity provider without faults.
    pub(crate) fn calm(self) -> Self {
        TokenPlan {
            life_ms: (CALM_TOKEN_LIFE_MS, CALM_TOKEN_LIFE_MS),
            answer_us: self.answer_us.min(50_000),
            fails: 0.0,
            silent: 0.0,
            ..self
        }
    }
}
