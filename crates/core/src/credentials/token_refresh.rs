//! The renewal of tokens (KIP-255).

use std::sync::{Arc, Weak};
use std::time::Duration;

use crate::config::Secret;
use crate::connection::WorkId;
use crate::context::Ctx;
use crate::error::{Error, ErrorCode};
use crate::event::TokenRequest;
use crate::log::{DebugContexts, level};
use crate::sasl::{BearerToken, Credentials, SaslWork, SaslWorkResult, Token, TokenProvider};
use crate::sys::{Instant, earliest};

/// The part of a token's life after which the next one is requested, as librdkafka does.
const REFRESH_AFTER: f64 = 0.8;

/// Pause after a failure that the application reports, as in librdkafka.
const APPLICATION_RETRY: Duration = Duration::from_secs(10);

/// Time for which an application that has received a request may answer it before it is repeated.
const APPLICATION_TIME: Duration = Duration::from_secs(30);

/// Time without a first token after which that is logged.
const FIRST_TOKEN_TIME: Duration = Duration::from_secs(10);

/// Pause after a provider's first failure; it doubles with each further one.
const PROVIDER_RETRY: Duration = Duration::from_secs(1);

/// Maximum pause after a provider's failure.
const PROVIDER_RETRY_MAX: Duration = Duration::from_secs(10);

/// Minimum age of a token that is replaced because a broker has refused it.
const REFUSED_AGE: Duration = Duration::from_secs(10);

/// Maximum life of a token that timers consider.
const LIFE_MAX: Duration = Duration::from_secs(10 * 365 * 24 * 3600);

/// The origin of tokens.
#[derive(Debug)]
enum Origin {
    /// The application, with the value of `sasl.oauthbearer.config`.
    Application { config: Secret },
    /// A provider, which the driver calls.
    Provider(Arc<dyn TokenProvider>),
}

/// A request without an answer.
#[derive(Debug)]
enum Pending {
    /// The application has, or will receive, this request.
    Application {
        request: Weak<TokenRequest>,
        repeat_at: Instant,
    },
    /// The driver calls the provider.
    Provider(WorkId),
}

/// The current token's renewal.
#[derive(Debug)]
pub(super) struct TokenRefresh {
    origin: Origin,
    /// The time at which the current token was set.
    set_at: Instant,
    /// The end of the current token's life.
    expires_at: Option<Instant>,
    /// Time at which the absence of a first token is logged.
    warn_at: Option<Instant>,
    /// Time of the next request.
    request_at: Option<Instant>,
    pending: Option<Pending>,
    /// Failures since the last token.
    failures: u32,
    /// The cause of the last failure since the last token.
    cause: Option<String>,
}

impl TokenRefresh {
    pub(super) fn by_application(config: Secret) -> Self {
        Self::new(Origin::Application { config })
    }

    pub(super) fn by_provider(provider: Arc<dyn TokenProvider>) -> Self {
        Self::new(Origin::Provider(provider))
    }

    fn new(origin: Origin) -> Self {
        TokenRefresh {
            origin,
            set_at: Instant::ORIGIN,
            expires_at: None,
            warn_at: None,
            request_at: Some(Instant::ORIGIN),
            pending: None,
            failures: 0,
            cause: None,
        }
    }

    /// Returns the time at which [`poll`](Self::poll) has something to do.
    pub(super) fn next_wake(&self) -> Option<Instant> {
        let repeat_at = match &self.pending {
            Some(Pending::Application { repeat_at, .. }) => Some(*repeat_at),
            _ => None,
        };
        earliest(
            earliest(self.expires_at, self.request_at),
            earliest(self.warn_at, repeat_at),
        )
    }

    /// Returns true before the first request.
    fn is_first(&self) -> bool {
        self.request_at == Some(Instant::ORIGIN)
    }

    /// Requests a token if one is due. Returns the request for the application.
    pub(super) fn poll(&mut self, ctx: &mut Ctx<'_>) -> Option<Arc<TokenRequest>> {
        if self.expires_at.is_some_and(|at| at <= ctx.now) {
            self.on_expired(ctx);
        }
        if self.warn_at.is_some_and(|at| at <= ctx.now) {
            self.warn_at = None;
            ctx.log.log(level::WARNING, "OAUTHBEARER", || {
                let pause = FIRST_TOKEN_TIME.as_secs();
                format!(
                    "connections have waited {pause} s for the first token: {}",
                    self.awaited()
                )
            });
        }
        if let Some(Pending::Application { request, repeat_at }) = &mut self.pending
            && *repeat_at <= ctx.now
        {
            match request.strong_count() {
                // The application has taken the request and has not answered it.
                0 => self.request_at = Some(ctx.now),
                _ => *repeat_at = ctx.now + APPLICATION_TIME,
            }
        }
        if self.request_at.is_none_or(|at| at > ctx.now) {
            return None;
        }
        if self.is_first() {
            self.warn_at = Some(ctx.now + FIRST_TOKEN_TIME);
        }
        self.request_at = None;
        match &self.origin {
            Origin::Application { config } => {
                let request = Arc::new(TokenRequest { config: config.clone() });
                self.pending = Some(Pending::Application {
                    request: Arc::downgrade(&request),
                    repeat_at: ctx.now + APPLICATION_TIME,
                });
                ctx.log.debug(DebugContexts::SECURITY, "OAUTHBEARER", || {
                    "the application is requested to set a token".to_owned()
                });
                Some(request)
            }
            Origin::Provider(provider) => {
                let work = SaslWork::Token(provider.clone());
                self.pending = Some(Pending::Provider(ctx.connections.start_sasl_work(work)));
                ctx.log.debug(DebugContexts::SECURITY, "OAUTHBEARER", || {
                    "a token is requested from the provider".to_owned()
                });
                None
            }
        }
    }

    /// Returns the answer that a pending request waits for.
    pub(super) fn awaited(&self) -> &'static str {
        match self.origin {
            Origin::Application { .. } => {
                "the application has not set one (the request for it is a callback or an event of the client's queue, which \
                 the application must serve)"
            }
            Origin::Provider(_) => "its provider has not returned one",
        }
    }

    fn on_expired(&mut self, ctx: &mut Ctx<'_>) {
        self.expires_at = None;
        let cause = self.cause.as_deref();
        ctx.log.log(level::WARNING, "OAUTHBEARER", || {
            let cause = cause.map_or(String::new(), |cause| format!(": {cause}"));
            format!("the token has expired, and connections wait for another one{cause}")
        });
        ctx.connections.set_credentials(None, ctx.now);
    }

    /// Uses a token from now on.
    pub(super) fn on_token(&mut self, ctx: &mut Ctx<'_>, token: BearerToken, expires_ms: i64, principal: &str) {
        let life_ms = u64::try_from(expires_ms.saturating_sub(ctx.wall_ms)).unwrap_or(0);
        let life = Duration::from_millis(life_ms).min(LIFE_MAX);
        let refresh = life.mul_f64(REFRESH_AFTER);
        ctx.log.debug(DebugContexts::SECURITY, "OAUTHBEARER", || {
            let (life, refresh) = (life.as_secs_f64(), refresh.as_secs_f64());
            format!("token of principal \"{principal}\" for {life:.1} s: the next one is requested in {refresh:.1} s")
        });
        self.set_at = ctx.now;
        self.expires_at = Some(ctx.now + life);
        self.request_at = Some(ctx.now + refresh);
        self.pending = None;
        self.warn_at = None;
        self.failures = 0;
        self.cause = None;
        let credentials = Credentials::OAuthBearer(Arc::new(token));
        ctx.connections.set_credentials(Some(credentials), ctx.now);
    }

    /// Handles a refusal by a broker: the token may have been revoked, so that another one is requested.
    pub(super) fn on_refused(&mut self, now: Instant) {
        let is_old = self.expires_at.is_some() && now.since(self.set_at) >= REFUSED_AGE;
        if is_old && self.pending.is_none() && self.cause.is_none() {
            self.request_at = self.request_at.map(|at| at.min(now));
        }
    }

    /// Handles a failure that the application reports. Returns the error for it.
    pub(super) fn on_application_failure(&mut self, ctx: &mut Ctx<'_>, cause: &str) -> Option<Error> {
        self.pending = None;
        self.on_failure(ctx, cause, APPLICATION_RETRY)
    }

    /// Handles a provider's answer. Returns the error for the application.
    pub(super) fn on_work_done(&mut self, ctx: &mut Ctx<'_>, work: WorkId, result: SaslWorkResult) -> Option<Error> {
        match self.pending {
            Some(Pending::Provider(pending)) if pending == work => self.pending = None,
            _ => return None,
        }
        let cause = match result {
            SaslWorkResult::Token(Ok(token)) => match self.on_provided(ctx, &token) {
                Ok(()) => return None,
                Err(cause) => cause,
            },
            SaslWorkResult::Token(Err(error)) => error.0,
            SaslWorkResult::NotDone(cause) => format!("the provider of tokens was not called to its end: {cause}"),
            SaslWorkResult::Step(..) | SaslWorkResult::Command(_) => return None,
        };
        let doubled = PROVIDER_RETRY.saturating_mul(1 << self.failures.min(10));
        let pause = ctx.rng.jitter(doubled.min(PROVIDER_RETRY_MAX), 0.2, 0.2);
        self.on_failure(ctx, &cause, pause)
    }

    fn on_provided(&mut self, ctx: &mut Ctx<'_>, token: &Token) -> Result<(), String> {
        if token.expires_ms <= ctx.wall_ms {
            let (now, end) = (ctx.wall_ms, token.expires_ms);
            return Err(format!(
                "the provider's token has expired already, at {end} ms since 1970, and the time is {now} ms: is the clock right?"
            ));
        }
        let bearer = BearerToken::new(&token.value, &token.extensions).map_err(|e| e.0)?;
        self.on_token(ctx, bearer, token.expires_ms, &token.principal);
        Ok(())
    }

    /// Schedules another request. Returns the error for the application if the cause differs from the last one.
    fn on_failure(&mut self, ctx: &mut Ctx<'_>, cause: &str, pause: Duration) -> Option<Error> {
        // The cause is logged below.
        self.warn_at = None;
        self.failures = self.failures.saturating_add(1);
        self.request_at = Some(ctx.now + pause);
        let text = format!("Failed to acquire SASL OAUTHBEARER token: {cause}");
        let line = || format!("{text}; the next attempt is in {:.1} s", pause.as_secs_f64());
        if self.cause.as_deref() == Some(cause) {
            ctx.log.debug(DebugContexts::SECURITY, "OAUTHBEARER", line);
            return None;
        }
        ctx.log.log(level::ERROR, "OAUTHBEARER", line);
        self.cause = Some(cause.to_owned());
        Some(Error::new(ErrorCode::L_AUTHENTICATION, text))
    }
}
