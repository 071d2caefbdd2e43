//! The manager of credentials.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use zeroize::Zeroizing;

use super::settings::login;
use super::source::{CredentialSource, PeriodicCommand};
use super::token_refresh::TokenRefresh;
use crate::connection::WorkId;
use crate::context::Ctx;
use crate::error::{Error, ErrorCode};
use crate::event::TokenRequest;
use crate::log::{DebugContexts, level};
use crate::sasl::{BearerToken, Credentials, SaslWork, SaslWorkResult};
use crate::sys::Instant;

/// A command of an application thread.
pub enum Command {
    /// Use another user name and password from the next authentication on.
    SetLogin {
        /// The user name.
        username: String,
        /// The password.
        password: Zeroizing<String>,
    },
    /// Use this token of OAUTHBEARER.
    SetToken {
        /// The token.
        token: BearerToken,
        /// End of its life, in milliseconds since 1970.
        expires_ms: i64,
        /// The principal's name, for the log.
        principal: String,
    },
    /// The application has no token, for the cause in the text.
    SetTokenFailure(String),
}

/// Prints no secret.
impl std::fmt::Debug for Command {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Command::SetLogin { .. } => "SetLogin",
            Command::SetToken { .. } => "SetToken",
            Command::SetTokenFailure(_) => "SetTokenFailure",
        })
    }
}

/// A notice for the application.
#[derive(Debug)]
pub enum Notice {
    /// A token is needed.
    Request(Arc<TokenRequest>),
    /// Connections wait for the first credentials. The error is for calls that end meanwhile.
    Awaited(Error),
    /// There are no new credentials, for the cause in the error. Reported once for each cause.
    Failed(Error),
}

/// Passes credentials to the connections, and renews them.
#[derive(Debug)]
pub struct CredentialManager {
    kind: Kind,
    started: bool,
    notices: VecDeque<Notice>,
}

#[derive(Debug)]
enum Kind {
    None,
    Login(Credentials),
    Ambient {
        credentials: Credentials,
        command: Option<CommandRuns>,
    },
    Token(TokenRefresh),
}

/// The runs of a command.
#[derive(Debug)]
struct CommandRuns {
    command: PeriodicCommand,
    /// The run in progress.
    running: Option<WorkId>,
    next_at: Instant,
    /// The cause of the last failure, unless a success followed.
    failure: Option<String>,
}

impl CredentialManager {
    /// Returns a manager of credentials from `source`.
    pub fn new(source: CredentialSource) -> Self {
        let kind = match source {
            CredentialSource::None => Kind::None,
            CredentialSource::Login(credentials) => Kind::Login(credentials),
            CredentialSource::Ambient(credentials, command) => Kind::Ambient {
                credentials,
                command: command.map(|command| CommandRuns {
                    command,
                    running: None,
                    next_at: Instant::ORIGIN,
                    failure: None,
                }),
            },
            CredentialSource::Application(config) => Kind::Token(TokenRefresh::by_application(config)),
            CredentialSource::Provider(provider) => Kind::Token(TokenRefresh::by_provider(provider)),
        };
        CredentialManager {
            kind,
            started: false,
            notices: VecDeque::new(),
        }
    }

    /// Returns the next notice for the application.
    pub fn next_notice(&mut self) -> Option<Notice> {
        self.notices.pop_front()
    }

    /// Handles a command.
    pub fn on_command(&mut self, ctx: &mut Ctx<'_>, command: Command) {
        match (&mut self.kind, command) {
            (Kind::Login(credentials), Command::SetLogin { username, password }) => {
                // The client has a mechanism with user name and password.
                if let Ok(changed) = login(ctx.conf, &username, &password) {
                    *credentials = changed.clone();
                    ctx.log.debug(DebugContexts::SECURITY, "SASLCREDS", || {
                        "user name and password were replaced: the next authentications use the new ones".to_owned()
                    });
                    ctx.connections.set_credentials(Some(changed), ctx.now);
                }
            }
            (_, Command::SetLogin { .. }) => ctx.log.log(level::WARNING, "SASLCREDS", || {
                "user name and password were set but have no effect: only PLAIN and SCRAM use them (security.protocol, \
                 sasl.mechanisms)"
                    .to_owned()
            }),
            (
                Kind::Token(refresh),
                Command::SetToken {
                    token,
                    expires_ms,
                    principal,
                },
            ) => refresh.on_token(ctx, token, expires_ms, &principal),
            (Kind::Token(refresh), Command::SetTokenFailure(cause)) => {
                let notice = refresh.on_application_failure(ctx, &cause);
                self.notices.extend(notice.map(Notice::Failed));
            }
            // The application's call fails before it sends the command.
            (_, Command::SetToken { .. } | Command::SetTokenFailure(_)) => {}
        }
    }

    /// Handles an authentication that a broker has refused.
    pub fn on_refused(&mut self, now: Instant) {
        if let Kind::Token(refresh) = &mut self.kind {
            refresh.on_refused(now);
        }
    }

    /// Handles the end of a provider's or a command's run.
    pub fn on_work_done(&mut self, ctx: &mut Ctx<'_>, work: WorkId, result: SaslWorkResult) {
        let notice = match &mut self.kind {
            Kind::Token(refresh) => refresh.on_work_done(ctx, work, result),
            Kind::Ambient {
                credentials,
                command: Some(runs),
            } if runs.running == Some(work) => {
                let first = runs.running.take().is_some() && ctx.connections.credentials().is_none();
                let notice = runs.on_end(ctx, result);
                if first {
                    // Connections do not depend on the result: other credentials may be there.
                    ctx.connections.set_credentials(Some(credentials.clone()), ctx.now);
                }
                notice
            }
            Kind::None | Kind::Login(_) | Kind::Ambient { .. } => None,
        };
        self.notices.extend(notice.map(Notice::Failed));
    }

    /// Requests what is due. Returns when to call it again.
    pub fn poll(&mut self, ctx: &mut Ctx<'_>) -> Option<Instant> {
        let starts = !std::mem::replace(&mut self.started, true);
        match &mut self.kind {
            Kind::None => None,
            Kind::Login(credentials)
            | Kind::Ambient {
                credentials,
                command: None,
            } => {
                if starts {
                    ctx.connections.set_credentials(Some(credentials.clone()), ctx.now);
                }
                None
            }
            Kind::Ambient {
                command: Some(runs), ..
            } => runs.poll(ctx),
            Kind::Token(refresh) => {
                if starts {
                    let text = format!(
                        "connections wait for the first OAUTHBEARER token: {}",
                        refresh.awaited()
                    );
                    self.notices
                        .push_back(Notice::Awaited(Error::new(ErrorCode::L_AUTHENTICATION, text)));
                }
                let request = refresh.poll(ctx);
                self.notices.extend(request.map(Notice::Request));
                refresh.next_wake()
            }
        }
    }
}

impl CommandRuns {
    fn poll(&mut self, ctx: &mut Ctx<'_>) -> Option<Instant> {
        if self.running.is_some() {
            return None;
        }
        if self.next_at > ctx.now {
            return Some(self.next_at);
        }
        self.next_at = ctx.now + self.command.interval.max(Duration::from_millis(1));
        let work = SaslWork::Command(self.command.command.clone());
        self.running = Some(ctx.connections.start_sasl_work(work));
        None
    }

    /// Handles the end of a run. Returns the error for the application.
    fn on_end(&mut self, ctx: &Ctx<'_>, result: SaslWorkResult) -> Option<Error> {
        let cause = match result {
            SaslWorkResult::Command(Ok(())) => {
                ctx.log.debug(DebugContexts::SECURITY, "SASLREFRESH", || {
                    "the command that prepares credentials has ended".to_owned()
                });
                self.failure = None;
                return None;
            }
            SaslWorkResult::Command(Err(cause)) | SaslWorkResult::NotDone(cause) => cause,
            SaslWorkResult::Step(..) | SaslWorkResult::Token(_) => return None,
        };
        ctx.log.log(level::ERROR, "SASLREFRESH", || cause.clone());
        if self.failure.as_ref() == Some(&cause) {
            return None;
        }
        let error = Error::new(ErrorCode::L_AUTHENTICATION, cause.clone());
        self.failure = Some(cause);
        Some(error)
    }
}
