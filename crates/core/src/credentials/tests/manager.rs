//! The manager over a table of connections: when credentials are set, requested, repeated and dropped.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use zeroize::Zeroizing;

use super::super::*;
use crate::config::{ClientConfig, Conf};
use crate::connection::{BrokerKey, ConnectionConfig, ConnectionTable, NetAction, NetEvent, Ready, WorkId};
use crate::context::Ctx;
use crate::error::ErrorCode;
use crate::log::{DebugContexts, LogLine, Logger};
use crate::sasl::{
    BearerToken, CredentialCommand, Credentials, SaslWork, SaslWorkResult, Token, TokenError, TokenProvider,
};
use crate::sys::{Instant, Rng};
use crate::types::{ClientKind, NodeId};

/// The wall clock at [`Instant::ORIGIN`].
const WALL_MS: i64 = 1_700_000_000_000;

struct World {
    manager: CredentialManager,
    connections: ConnectionTable,
    conf: ClientConfig,
    rng: Rng,
    log: Logger,
    lines: Arc<Mutex<Vec<LogLine>>>,
    now: Instant,
    wake: Option<Instant>,
}

fn settings(mechanism: &str) -> ClientConfig {
    let mut conf = Conf::new();
    for (name, value) in [
        ("security.protocol", "sasl_plaintext"),
        ("sasl.mechanisms", mechanism),
        ("sasl.username", "alice"),
        ("sasl.password", "first"),
        ("sasl.oauthbearer.config", "for the application"),
    ] {
        conf.set(name, value).unwrap();
    }
    conf.finalize(ClientKind::Producer).unwrap().0
}

impl World {
    fn new(conf: ClientConfig, source: CredentialSource) -> Self {
        let mut connections = ConnectionTable::new(ConnectionConfig::new(&conf), Rng::from_seed(1));
        connections.set_address(BrokerKey::general(NodeId(1)), "broker", 9092, Instant::ORIGIN);
        let lines = Arc::new(Mutex::new(Vec::new()));
        let sink = lines.clone();
        let log = Logger::new(
            Arc::new(move |line| sink.lock().unwrap().push(line)),
            7,
            DebugContexts(u32::MAX),
        );
        World {
            manager: CredentialManager::new(source),
            connections,
            conf,
            rng: Rng::from_seed(2),
            log,
            lines,
            now: Instant::ORIGIN,
            wake: None,
        }
    }

    fn with<T>(&mut self, f: impl FnOnce(&mut CredentialManager, &mut Ctx<'_>) -> T) -> T {
        let mut ctx = Ctx {
            now: self.now,
            wall_ms: self.wall_ms(),
            connections: &mut self.connections,
            rng: &mut self.rng,
            log: &self.log,
            conf: &self.conf,
        };
        f(&mut self.manager, &mut ctx)
    }

    fn wall_ms(&self) -> i64 {
        WALL_MS + i64::try_from(self.now.since(Instant::ORIGIN).as_millis()).unwrap()
    }

    fn poll(&mut self) {
        self.wake = self.with(|manager, ctx| manager.poll(ctx));
    }

    fn advance(&mut self, ms: u64) {
        self.now += Duration::from_millis(ms);
        self.poll();
    }

    fn notices(&mut self) -> Vec<Notice> {
        std::iter::from_fn(|| self.manager.next_notice()).collect()
    }

    /// Returns the application's only notice, a request.
    fn request(&mut self) -> Option<Arc<TokenRequest>> {
        match self.notices().pop()? {
            Notice::Request(request) => Some(request),
            Notice::Awaited(_) => None,
            Notice::Failed(error) => panic!("{error}"),
        }
    }

    /// Returns the texts of the application's errors.
    fn errors(&mut self) -> Vec<String> {
        let notices = self.notices().into_iter();
        let errors = notices.filter_map(|notice| match notice {
            Notice::Failed(error) => {
                assert_eq!(error.code, ErrorCode::L_AUTHENTICATION);
                Some(error.message)
            }
            Notice::Request(_) | Notice::Awaited(_) => None,
        });
        errors.collect()
    }

    /// Returns the work that the driver has to do.
    fn work(&mut self) -> Option<(WorkId, SaslWork)> {
        std::iter::from_fn(|| self.connections.next_action()).find_map(|action| match action {
            NetAction::SaslWork { work, job } => Some((work, job)),
            _ => None,
        })
    }

    fn end_work(&mut self, work: WorkId, result: SaslWorkResult) {
        self.with(|manager, ctx| manager.on_work_done(ctx, work, result));
        self.poll();
    }

    /// Carries out the work that is due. Returns false when there is none.
    fn do_work(&mut self) -> bool {
        let Some((work, job)) = self.work() else { return false };
        self.end_work(work, job.run());
        true
    }

    fn set_token(&mut self, life_ms: i64) {
        let command = Command::SetToken {
            token: BearerToken::new("token", &[]).unwrap(),
            expires_ms: self.wall_ms() + life_ms,
            principal: "alice".into(),
        };
        self.with(|manager, ctx| manager.on_command(ctx, command));
        self.poll();
    }

    fn set_failure(&mut self, text: &str) {
        let command = Command::SetTokenFailure(text.into());
        self.with(|manager, ctx| manager.on_command(ctx, command));
        self.poll();
    }

    fn has_credentials(&self) -> bool {
        self.connections.credentials().is_some()
    }

    fn log_contains(&self, text: &str) -> bool {
        let lines = self.lines.lock().unwrap();
        lines.iter().any(|line| line.message.contains(text))
    }
}

fn by_application() -> World {
    let conf = settings("OAUTHBEARER");
    let source = CredentialSource::new(&conf, &SaslHooks::default()).unwrap();
    let mut w = World::new(conf, source);
    w.poll();
    w
}

/// A provider that returns what the test sets.
#[derive(Debug)]
struct Scripted(Mutex<Result<Token, TokenError>>);

impl TokenProvider for Scripted {
    fn fetch(&self) -> Result<Token, TokenError> {
        self.0.lock().unwrap().clone()
    }
}

fn token(expires_ms: i64) -> Token {
    Token {
        value: Zeroizing::new("token".into()),
        expires_ms,
        principal: "alice".into(),
        extensions: Vec::new(),
    }
}

fn by_provider(answer: Result<Token, TokenError>) -> (World, Arc<Scripted>) {
    let provider = Arc::new(Scripted(Mutex::new(answer)));
    let hooks = SaslHooks {
        token: TokenSource::Provider(provider.clone()),
    };
    let conf = settings("OAUTHBEARER");
    let source = CredentialSource::new(&conf, &hooks).unwrap();
    let mut w = World::new(conf, source);
    w.poll();
    (w, provider)
}

#[test]
fn user_name_and_password_are_there_from_the_start_and_can_be_replaced() {
    for mechanism in ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] {
        let conf = settings(mechanism);
        let source = CredentialSource::new(&conf, &SaslHooks::default()).unwrap();
        let CredentialSource::Login(credentials) = &source else {
            panic!("{source:?}")
        };
        assert_eq!(credentials.mechanism_name(), mechanism);
        let mut w = World::new(conf, source);
        assert!(!w.has_credentials());
        w.poll();
        assert!(w.has_credentials() && w.wake.is_none());
        let command = Command::SetLogin {
            username: "bob".into(),
            password: Zeroizing::new("second".into()),
        };
        assert!(!format!("{command:?}").contains("second"));
        w.with(|manager, ctx| manager.on_command(ctx, command));
        assert!(w.has_credentials() && w.log_contains("were replaced"));
        assert!(!w.log_contains("second") && !w.log_contains("bob"));
    }
}

#[test]
fn replaced_credentials_are_those_of_the_next_exchange() {
    let conf = settings("PLAIN");
    let source = CredentialSource::new(&conf, &SaslHooks::default()).unwrap();
    let mut w = World::new(conf, source);
    w.poll();
    w.with(|manager, ctx| {
        let (username, password) = ("bob".into(), Zeroizing::new("second".into()));
        manager.on_command(ctx, Command::SetLogin { username, password });
    });
    let Some(Credentials::Plain { username, password }) = w.connections.credentials() else {
        panic!("no credentials of PLAIN")
    };
    assert_eq!((&**username, &***password), ("bob", "second"));
}

#[test]
fn credentials_that_the_mechanism_does_not_use_are_warned_about() {
    let mut w = by_application();
    w.with(|manager, ctx| {
        let (username, password) = ("bob".into(), Zeroizing::new("second".into()));
        manager.on_command(ctx, Command::SetLogin { username, password });
    });
    assert!(!w.has_credentials() && w.log_contains("have no effect"));
}

#[test]
fn a_plaintext_client_has_no_credentials() {
    let conf = Conf::new().finalize(ClientKind::Producer).unwrap().0;
    let source = CredentialSource::new(&conf, &SaslHooks::default()).unwrap();
    let mut w = World::new(conf, source);
    w.poll();
    assert!(!w.has_credentials() && w.wake.is_none() && w.notices().is_empty());
    assert!(matches!(
        w.connections.ready(BrokerKey::general(NodeId(1)), w.now),
        Ready::Connecting
    ));
    assert!(w.connections.next_action().is_some(), "it connects");
}

#[test]
fn connections_wait_for_the_first_token() {
    let mut w = by_application();
    let key = BrokerKey::general(NodeId(1));
    assert_eq!(&*w.request().unwrap().config, "for the application");
    assert!(matches!(w.connections.ready(key, w.now), Ready::Connecting));
    assert!(w.connections.next_action().is_none(), "no attempt without a token");
    assert!(w.connections.next_wake().is_none());
    w.set_token(1000);
    assert!(matches!(w.connections.next_action(), Some(NetAction::Resolve { .. })));
}

#[test]
fn a_first_token_that_does_not_come_is_logged_once() {
    for (mut w, cause) in [
        (by_application(), "the application has not set one"),
        (
            by_provider(Ok(token(WALL_MS + 1000))).0,
            "its provider has not returned one",
        ),
    ] {
        w.advance(9_999);
        assert!(!w.log_contains("connections have waited"));
        for _ in 0..100 {
            w.advance(1_000);
        }
        assert!(w.log_contains(&format!("connections have waited 10 s for the first token: {cause}")));
        let lines = w.lines.lock().unwrap();
        assert_eq!(
            lines.iter().filter(|line| line.message.contains("have waited")).count(),
            1
        );
    }
    let mut w = by_application();
    w.set_token(100_000);
    w.advance(60_000);
    assert!(!w.log_contains("connections have waited"));
}

#[test]
fn the_application_is_asked_again_after_80_percent_of_the_tokens_life() {
    let mut w = by_application();
    drop(w.request().unwrap());
    w.set_token(100_000);
    assert!(w.has_credentials() && w.request().is_none());
    assert_eq!(w.wake, Some(w.now + Duration::from_millis(80_000)));
    w.advance(79_999);
    assert!(w.request().is_none());
    w.advance(1);
    drop(w.request().unwrap());
    // The token stays in use until it expires.
    w.advance(19_999);
    assert!(w.has_credentials());
    w.advance(1);
    assert!(!w.has_credentials() && w.log_contains("the token has expired"));
    w.set_token(100_000);
    assert!(w.has_credentials());
}

#[test]
fn a_request_that_the_application_dropped_is_repeated_and_one_in_the_queue_is_not() {
    let mut w = by_application();
    let queued = w.request().unwrap();
    for _ in 0..10 {
        w.advance(30_000);
        assert!(w.request().is_none());
    }
    drop(queued);
    w.advance(30_000);
    assert!(w.request().is_some(), "asked again");
}

#[test]
fn a_token_that_a_broker_refuses_is_replaced_if_it_is_not_new() {
    let mut w = by_application();
    drop(w.request().unwrap());
    w.set_token(100_000);
    w.advance(9_999);
    w.manager.on_refused(w.now);
    w.poll();
    assert!(w.request().is_none(), "a new token");
    w.advance(1);
    w.manager.on_refused(w.now);
    w.poll();
    drop(w.request().unwrap());
    w.manager.on_refused(w.now);
    w.poll();
    assert!(w.request().is_none(), "once");
    // A failure has a pause of its own.
    w.set_failure("none");
    w.notices();
    w.manager.on_refused(w.now);
    w.poll();
    assert!(w.request().is_none());
    w.advance(10_000);
    assert!(w.request().is_some());
}

#[test]
fn a_failure_of_the_application_is_reported_once_for_each_text_and_retried_after_10_seconds() {
    let mut w = by_application();
    drop(w.request());
    w.set_failure("no such user");
    let text = "Failed to acquire SASL OAUTHBEARER token: no such user";
    assert_eq!(w.errors(), [text]);
    w.advance(9_999);
    assert!(w.request().is_none());
    w.advance(1);
    drop(w.request().unwrap());
    w.set_failure("no such user");
    assert!(w.errors().is_empty());
    w.set_failure("another");
    assert_eq!(w.errors().len(), 1);
    w.set_token(1000);
    w.set_failure("another");
    assert_eq!(w.errors().len(), 1, "a token ends the outage");
    assert!(w.has_credentials(), "the token before stays");
}

#[test]
fn a_provider_is_called_by_the_driver_and_again_after_80_percent() {
    let (mut w, provider) = by_provider(Ok(token(WALL_MS + 100_000)));
    assert!(w.do_work() && w.has_credentials());
    w.advance(79_999);
    assert!(!w.do_work());
    *provider.0.lock().unwrap() = Ok(token(WALL_MS + 300_000));
    w.advance(1);
    assert!(w.do_work());
    w.advance(20_000);
    assert!(w.has_credentials(), "the second token");
}

#[test]
fn a_failing_provider_is_called_with_increasing_pauses_of_at_most_12_seconds() {
    let (mut w, provider) = by_provider(Err(TokenError("status 503".into())));
    let mut calls = Vec::new();
    for _ in 0..600 {
        if w.do_work() {
            calls.push(w.now);
        }
        w.advance(100);
    }
    let pauses: Vec<u128> = calls.windows(2).map(|c| c[1].since(c[0]).as_millis()).collect();
    assert!((700..=1300).contains(&pauses[0]), "{pauses:?}");
    assert!(pauses.iter().all(|p| *p <= 12_100) && pauses.len() >= 6, "{pauses:?}");
    assert_eq!(w.errors(), ["Failed to acquire SASL OAUTHBEARER token: status 503"]);
    *provider.0.lock().unwrap() = Ok(token(w.wall_ms() + 100_000));
    w.advance(12_000);
    assert!(w.do_work() && w.has_credentials());
}

#[test]
fn tokens_of_a_provider_that_cannot_be_used_are_failures() {
    let unusable = |value: &str| Token {
        value: Zeroizing::new(value.to_owned()),
        ..token(WALL_MS + 1000)
    };
    for (answer, expected) in [
        (token(WALL_MS), "has expired already"),
        (unusable(""), "is empty"),
        (unusable("a\0"), "must consist of"),
    ] {
        let (mut w, _) = by_provider(Ok(answer));
        assert!(w.do_work() && !w.has_credentials());
        let errors = w.errors();
        assert!(errors.len() == 1 && errors[0].contains(expected), "{errors:?}");
    }
}

#[test]
fn a_provider_that_panics_is_a_failure() {
    #[derive(Debug)]
    struct Panics;
    impl TokenProvider for Panics {
        fn fetch(&self) -> Result<Token, TokenError> {
            panic!("a defect of the application")
        }
    }
    let hooks = SaslHooks {
        token: TokenSource::Provider(Arc::new(Panics)),
    };
    let conf = settings("OAUTHBEARER");
    let source = CredentialSource::new(&conf, &hooks).unwrap();
    let mut w = World::new(conf, source);
    w.poll();
    assert!(w.do_work());
    assert!(w.errors()[0].contains("it panicked"));
    w.advance(2_000);
    assert!(w.do_work(), "it is called again");
}

#[test]
fn an_answer_to_other_work_changes_nothing() {
    let (mut w, _) = by_provider(Ok(token(WALL_MS + 1000)));
    let (work, job) = w.work().unwrap();
    w.end_work(WorkId(work.0 + 1), SaslWorkResult::Token(Ok(token(WALL_MS + 1000))));
    assert!(!w.has_credentials());
    w.end_work(work, job.run());
    assert!(w.has_credentials());
}

/// A command that counts its runs and fails while it has a cause.
#[derive(Debug, Default)]
struct Counted {
    runs: Mutex<u32>,
    cause: Mutex<Option<String>>,
}

impl CredentialCommand for Counted {
    fn run(&self) -> Result<(), String> {
        *self.runs.lock().unwrap() += 1;
        self.cause.lock().unwrap().clone().map_or(Ok(()), Err)
    }
}

#[test]
fn connections_wait_for_a_commands_first_run_whatever_its_result() {
    for cause in [None, Some("kinit failed".to_owned())] {
        let command = Arc::new(Counted::default());
        *command.cause.lock().unwrap() = cause.clone();
        let periodic = PeriodicCommand {
            command: command.clone(),
            interval: Duration::from_secs(60),
        };
        let ambient = Credentials::plain("alice", "first");
        let source = CredentialSource::Ambient(ambient, Some(periodic));
        let mut w = World::new(settings("PLAIN"), source);
        w.poll();
        assert!(!w.has_credentials());
        assert!(w.do_work() && w.has_credentials());
        assert_eq!(w.errors(), Vec::from_iter(cause));
        w.advance(59_999);
        assert!(!w.do_work());
        w.advance(1);
        assert!(w.do_work() && w.errors().is_empty(), "once for each cause");
        assert_eq!(*command.runs.lock().unwrap(), 2);
    }
}

#[test]
fn the_drivers_events_of_steps_are_not_the_managers() {
    let (mut w, _) = by_provider(Ok(token(WALL_MS + 1000)));
    let (work, job) = w.work().unwrap();
    let result = job.run();
    w.connections.on_net(NetEvent::SaslWorkDone { work, result }, w.now);
    assert!(
        w.connections.next_event().is_some(),
        "work of no connection is reported"
    );
}
