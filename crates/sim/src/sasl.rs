//! Authentication of a world's clients: their passwords and tokens, and the state of each connection's session.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ottla_core::client::TokenSource;
use ottla_core::sasl::{Token, TokenError, TokenProvider};
use ottla_mock::{AcceptedToken, Cluster, SaslMechanism, SaslUser};
use ottla_protocol::ApiKey;

use crate::clock::{Time, WALL_START_MS};
use crate::plan::{SaslPlan, Settings, TokenPlan};
use crate::rng::SeededRng;

/// After the faults, the rest of each client's token is at least this long before the world continues.
const TOKEN_REST_MIN_MS: i64 = 600_000;

/// The source of tokens, which clients' providers share.
#[derive(Debug)]
struct Issuer {
    plan: TokenPlan,
    time: Time,
    rng: SeededRng,
    /// The tokens that are valid, with the ends of their lives.
    accepted: Vec<(AcceptedToken, i64)>,
    /// The number of tokens so far.
    issued: u64,
    /// The end of the last token's life, by client.
    expires_ms: BTreeMap<usize, i64>,
}

impl Issuer {
    fn now_ms(&self) -> i64 {
        WALL_START_MS + i64::try_from(self.time.now_us() / 1000).unwrap_or(i64::MAX)
    }

    fn issue(&mut self, client: usize) -> Result<Token, TokenError> {
        if self.rng.hit(self.plan.fails) {
            return Err(TokenError(format!("outage {}", self.rng.below(3))));
        }
        let (shortest, longest) = self.plan.life_ms;
        let life_ms = self.rng.spread(shortest, longest);
        let now_ms = self.now_ms();
        let expires_ms = now_ms + i64::try_from(life_ms).unwrap_or(i64::MAX);
        self.issued += 1;
        let token = AcceptedToken {
            token: format!("token-{}", self.issued),
            principal: principal(client),
            expires_ms: self.plan.limits_sessions.then_some(expires_ms),
        };
        self.accepted.retain(|(_, end)| *end > now_ms);
        self.accepted.push((token.clone(), expires_ms));
        self.expires_ms.insert(client, expires_ms);
        Ok(Token {
            value: token.token.into(),
            expires_ms,
            principal: token.principal,
            extensions: Vec::new(),
        })
    }
}

/// The provider of a client's tokens.
#[derive(Debug)]
struct Provider {
    client: usize,
    issuer: Arc<Mutex<Issuer>>,
}

impl TokenProvider for Provider {
    fn fetch(&self) -> Result<Token, TokenError> {
        lock(&self.issuer).issue(self.client)
    }
}

fn lock(issuer: &Mutex<Issuer>) -> MutexGuard<'_, Issuer> {
    issuer.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The user name or subject of a client.
fn principal(client: usize) -> String {
    format!("user-{client}")
}

/// The authentication of one client.
#[derive(Debug)]
enum Identity {
    /// PLAIN or SCRAM.
    Login { password: u32 },
    /// OAUTHBEARER with tokens of the application. `answering`: it has a request.
    Application { answering: bool },
    /// OAUTHBEARER with tokens of a provider.
    Provider,
}

/// The session of one connection, as its client knows it.
#[derive(Debug, Default)]
struct Session {
    /// SaslHandshake was sent in version 0, so frames are tokens without headers until the client is authenticated.
    raw: bool,
    /// The time of the last SaslHandshake request.
    began_us: u64,
    /// The correlation id and the version of the last SaslAuthenticate request.
    request: Option<(i32, i16)>,
    /// The broker has authenticated the client, for that time; the client has not received the response.
    accepted: Option<Option<u64>>,
    /// The client is authenticated.
    established: bool,
    /// The end of the session.
    ends_us: Option<u64>,
}

/// The authentication of all clients.
#[derive(Debug)]
pub(crate) struct Sasl {
    plan: Option<SaslPlan>,
    rng: SeededRng,
    issuer: Option<Arc<Mutex<Issuer>>>,
    clients: BTreeMap<usize, Identity>,
    sessions: BTreeMap<u64, Session>,
}

/// A client's part in authentication.
#[derive(Debug, Clone, Default)]
pub(crate) struct ClientSasl {
    /// The settings, without `security.protocol`; none without SASL.
    pub(crate) settings: Settings,
    pub(crate) tokens: TokenSource,
}

impl Sasl {
    pub(crate) fn new(seed: u64, plan: Option<SaslPlan>, time: Time) -> Self {
        let issuer = plan.as_ref().map(|plan| {
            Arc::new(Mutex::new(Issuer {
                plan: plan.tokens,
                time,
                rng: SeededRng::of(seed, 72),
                accepted: Vec::new(),
                issued: 0,
                expires_ms: BTreeMap::new(),
            }))
        });
        Sasl {
            plan,
            rng: SeededRng::of(seed, 71),
            issuer,
            clients: BTreeMap::new(),
            sessions: BTreeMap::new(),
        }
    }

    /// Returns true when clients authenticate.
    pub(crate) fn exists(&self) -> bool {
        self.plan.is_some()
    }

    /// Returns the plan.
    pub(crate) fn plan(&self) -> Option<&SaslPlan> {
        self.plan.as_ref()
    }

    // ---------------------------------------------------------------- clients

    /// Adds a client with a user of its own. Returns its part in authentication.
    pub(crate) fn add_client(&mut self, client: usize, cluster: &mut Cluster) -> ClientSasl {
        let (Some(plan), Some(issuer)) = (&self.plan, &self.issuer) else {
            return ClientSasl::default();
        };
        let mechanism = self.rng.pick(&plan.mechanisms);
        let set = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let mut settings = vec![set("sasl.mechanisms", mechanism.name())];
        let mut tokens = TokenSource::Settings;
        let identity = match mechanism {
            SaslMechanism::OAuthBearer if self.rng.hit(plan.tokens.provider) => {
                tokens = TokenSource::Provider(Arc::new(Provider {
                    client,
                    issuer: issuer.clone(),
                }));
                Identity::Provider
            }
            SaslMechanism::OAuthBearer => {
                // Without a draw: the other half of the clients has the requests in the main queue.
                if client.is_multiple_of(2) {
                    settings.push(set("enable_sasl_queue", "true"));
                }
                tokens = TokenSource::Application;
                Identity::Application { answering: false }
            }
            SaslMechanism::Plain | SaslMechanism::ScramSha256 | SaslMechanism::ScramSha512 => {
                let mut user = SaslUser::new(&principal(client), &password_text(0));
                user.scram_iterations = plan.iterations;
                cluster.set_sasl_user(&user);
                settings.push(set("sasl.username", &user.name));
                settings.push(set("sasl.password", &user.password));
                Identity::Login { password: 0 }
            }
        };
        self.clients.insert(client, identity);
        ClientSasl { settings, tokens }
    }

    /// Forgets a client that has crashed.
    pub(crate) fn remove_client(&mut self, client: usize) {
        self.clients.remove(&client);
        if let Some(issuer) = &self.issuer {
            lock(issuer).expires_ms.remove(&client);
        }
    }

    /// Returns the clients with passwords.
    pub(crate) fn clients_with_passwords(&self) -> Vec<usize> {
        let with = self.clients.iter().filter(|(_, i)| matches!(i, Identity::Login { .. }));
        with.map(|(client, _)| *client).collect()
    }

    /// Returns the clients with tokens of the application.
    pub(crate) fn clients_that_answer(&self) -> Vec<usize> {
        let with = self
            .clients
            .iter()
            .filter(|(_, i)| matches!(i, Identity::Application { .. }));
        with.map(|(client, _)| *client).collect()
    }

    /// Returns true when a client has tokens of the application.
    pub(crate) fn answers(&self, client: usize) -> bool {
        matches!(self.clients.get(&client), Some(Identity::Application { .. }))
    }

    // ---------------------------------------------------------------- passwords

    /// Changes a client's password.
    pub(crate) fn change_password(&mut self, client: usize) {
        if let Some(Identity::Login { password }) = self.clients.get_mut(&client) {
            *password += 1;
        }
    }

    /// Returns a client's user name and password.
    pub(crate) fn login(&self, client: usize) -> Option<(String, String)> {
        match self.clients.get(&client) {
            Some(Identity::Login { password }) => Some((principal(client), password_text(*password))),
            _ => None,
        }
    }

    // ---------------------------------------------------------------- tokens

    /// Draws the time until an application answers a request for a token. Returns `None` when it answers one already.
    pub(crate) fn begin_answer(&mut self, client: usize) -> Option<u64> {
        let issuer = self.issuer.as_ref()?;
        match self.clients.get_mut(&client) {
            Some(Identity::Application { answering }) if !*answering => *answering = true,
            _ => return None,
        }
        let most = lock(issuer).plan.answer_us;
        Some(self.rng.between(0, most))
    }

    /// Ends an answer. Returns the token or the application's error; `None` when it does not answer.
    pub(crate) fn end_answer(&mut self, client: usize) -> Option<Result<Token, TokenError>> {
        match self.clients.get_mut(&client) {
            Some(Identity::Application { answering }) => *answering = false,
            _ => return None,
        }
        let mut issuer = lock(self.issuer.as_ref()?);
        let silent = issuer.plan.silent;
        (!self.rng.hit(silent)).then(|| issuer.issue(client))
    }

    /// Returns the tokens that the brokers accept now.
    pub(crate) fn accepted_tokens(&self) -> Vec<AcceptedToken> {
        let Some(issuer) = self.issuer.as_ref().map(|issuer| lock(issuer)) else {
            return Vec::new();
        };
        let now_ms = issuer.now_ms();
        let alive = issuer.accepted.iter().filter(|(_, end)| *end > now_ms);
        alive.map(|(token, _)| token.clone()).collect()
    }

    /// Revokes one of the valid tokens. Returns false when there is none.
    pub(crate) fn revoke_token(&mut self) -> bool {
        let Some(mut issuer) = self.issuer.as_ref().map(|issuer| lock(issuer)) else {
            return false;
        };
        let count = issuer.accepted.len();
        if count > 0 {
            issuer.accepted.remove(self.rng.below(count));
        }
        count > 0
    }

    /// Ends the faults of identity providers and applications.
    pub(crate) fn heal(&mut self) {
        if let Some(issuer) = &self.issuer {
            let mut issuer = lock(issuer);
            issuer.plan = issuer.plan.calm();
        }
    }

    /// Returns a client whose token ends soon after the faults. `ended`: it needs no more tokens.
    pub(crate) fn waits_for(&self, ended: impl Fn(usize) -> bool) -> Option<String> {
        let issuer = lock(self.issuer.as_ref()?);
        let until_ms = issuer.now_ms() + TOKEN_REST_MIN_MS;
        let with_tokens = self
            .clients
            .iter()
            .filter(|(client, i)| !matches!(i, Identity::Login { .. }) && !ended(**client));
        let mut late =
            with_tokens.filter(|(client, _)| issuer.expires_ms.get(client).is_none_or(|end| *end < until_ms));
        late.next()
            .map(|(client, _)| format!("client {client} has no lasting token"))
    }

    // ---------------------------------------------------------------- work

    /// Draws the duration of work that blocks.
    pub(crate) fn work_us(&mut self) -> u64 {
        let most = self.plan.as_ref().map_or(0, |plan| plan.work_us);
        self.rng.between(0, most)
    }

    /// Draws whether work is not done.
    pub(crate) fn work_fails(&mut self) -> bool {
        let not_done = self.plan.as_ref().map_or(0.0, |plan| plan.not_done);
        self.rng.hit(not_done)
    }

    // ---------------------------------------------------------------- sessions

    /// Returns true when the client's next frame on a connection is a token without a header.
    pub(crate) fn sends_raw_token(&self, number: u64) -> bool {
        self.sessions.get(&number).is_some_and(|s| s.raw)
    }

    /// Returns true when a connection is authenticated, as its client knows.
    pub(crate) fn is_established(&self, number: u64) -> bool {
        self.sessions.get(&number).is_some_and(|s| s.established)
    }

    /// Notes a request of a client. Returns the session's end when the request is sent after it.
    pub(crate) fn on_request(
        &mut self,
        number: u64,
        (api, version, correlation): (ApiKey, i16, i32),
        now_us: u64,
    ) -> Option<u64> {
        if !self.exists() {
            return None;
        }
        let session = self.sessions.entry(number).or_default();
        match api {
            ApiKey::SASL_HANDSHAKE => {
                session.raw = version == 0;
                session.began_us = now_us;
                None
            }
            ApiKey::SASL_AUTHENTICATE => {
                session.request = Some((correlation, version));
                None
            }
            _ => session.ends_us.filter(|ends_us| *ends_us < now_us),
        }
    }

    /// Returns the time at which the client began its last authentication.
    pub(crate) fn began_us(&self, number: u64) -> u64 {
        self.sessions.get(&number).map_or(0, |s| s.began_us)
    }

    /// Notes that a broker has authenticated a client.
    pub(crate) fn on_accepted(&mut self, number: u64, lifetime_ms: Option<u64>) {
        let session = self.sessions.entry(number).or_default();
        session.accepted = Some(lifetime_ms);
        session.raw = false;
    }

    /// Notes a response that reaches a client. Returns the version of a SaslAuthenticate response that completes an
    /// authentication.
    pub(crate) fn on_response(&mut self, number: u64, correlation: i32, now_us: u64) -> Option<i16> {
        let session = self.sessions.get_mut(&number)?;
        let (request, version) = session.request?;
        let lifetime_ms = session.accepted.filter(|_| request == correlation)?;
        session.accepted = None;
        session.established = true;
        // Version 0 has no length of the session.
        session.ends_us = lifetime_ms.filter(|_| version > 0).map(|ms| now_us + ms * 1000);
        Some(version)
    }
}

fn password_text(number: u32) -> String {
    format!("password-{number}")
}
