//! Clients that authenticate on the embedded cluster, over real sockets and with real threads.

// A failed expectation fails a test.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use ottla_core::client::{Client, ClientHooks, SaslHooks, ShareConsumer, TokenSource};
use ottla_core::cluster::MetadataScope;
use ottla_core::config::Conf;
use ottla_core::error::{Error, ErrorCode};
use ottla_core::event::Event;
use ottla_core::sasl::{Token, TokenError, TokenProvider};
use ottla_core::types::ClientKind;
use ottla_mock::{BrokerId, NewRecord, ShareOffsetReset};
use parking_lot::{Condvar, Mutex};

const DEADLINE: Duration = Duration::from_secs(60);

/// The settings of an embedded cluster with every mechanism, and of a client with user alice.
const CLUSTER: &[(&str, &str)] = &[
    ("test.mock.num.brokers", "1"),
    (
        "test.mock.sasl.mechanisms",
        "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER",
    ),
    ("test.mock.sasl.users", "alice:right"),
    ("sasl.username", "alice"),
    ("sasl.password", "right"),
    ("security.protocol", "sasl_plaintext"),
    ("reconnect.backoff.ms", "1"),
];

/// A token of user alice that the embedded cluster accepts for ever: `{"alg":"none"}` and `{"sub":"alice","iat":0,
/// "exp":9999999999}`.
const TOKEN: &str = "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhbGljZSIsImlhdCI6MCwiZXhwIjo5OTk5OTk5OTk5fQ.";

fn try_client(settings: &[(&str, &str)], token: TokenSource) -> Result<Client, Error> {
    let mut conf = Conf::new();
    for (name, value) in CLUSTER.iter().chain(settings) {
        conf.set(name, *value).unwrap();
    }
    let (client, topic) = conf.finalize(ClientKind::Producer)?;
    let hooks = ClientHooks {
        error_event: true,
        sasl: SaslHooks { token },
        ..ClientHooks::default()
    };
    Client::new(ClientKind::Producer, client, topic, hooks)
}

fn client(settings: &[(&str, &str)]) -> Client {
    try_client(settings, TokenSource::Settings).unwrap()
}

fn connect_within(client: &Client, timeout: Duration) -> Result<(), Error> {
    client.metadata(MetadataScope::AllTopics, Some(timeout)).map(|_| ())
}

fn connect(client: &Client) {
    connect_within(client, DEADLINE).unwrap();
}

fn in_an_hour_ms() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    i64::try_from((now + Duration::from_secs(3600)).as_millis()).unwrap()
}

/// Returns the next event of the main queue for which `wanted` returns true.
fn next_event(client: &Client, wanted: impl Fn(&Event) -> bool) -> Event {
    let end = Instant::now() + DEADLINE;
    loop {
        assert!(Instant::now() < end, "no such event");
        match client.main_queue().pop(Some(Duration::from_millis(100))) {
            Some(event) if wanted(&event) => return event,
            _ => {}
        }
    }
}

/// A provider whose calls wait until the test opens a gate.
#[derive(Debug, Default)]
struct Gate {
    open: Mutex<bool>,
    opened: Condvar,
}

impl TokenProvider for Gate {
    fn fetch(&self) -> Result<Token, TokenError> {
        let mut open = self.open.lock();
        self.opened.wait_while(&mut open, |open| !*open);
        Ok(Token {
            value: TOKEN.to_owned().into(),
            expires_ms: in_an_hour_ms(),
            principal: "alice".into(),
            extensions: Vec::new(),
        })
    }
}

impl Gate {
    fn open(&self) {
        *self.open.lock() = true;
        self.opened.notify_all();
    }
}

#[test]
fn every_mechanism_authenticates_with_tls_and_without() {
    for mechanism in ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER"] {
        for security in [
            &[("security.protocol", "sasl_plaintext")][..],
            &[("security.protocol", "sasl_ssl"), ("test.mock.ssl", "true")],
        ] {
            let mechanism = [
                ("sasl.mechanisms", mechanism),
                ("enable.sasl.oauthbearer.unsecure.jwt", "true"),
                ("sasl.oauthbearer.config", "principal=alice"),
            ];
            let client = client(&[security, &mechanism].concat());
            connect(&client);
            let counts = client.with_embedded(|embedded| embedded.with(|cluster| cluster.sasl_counts()));
            assert!(counts.unwrap().authentications >= 1);
        }
    }
}

#[test]
fn a_wrong_password_is_an_authentication_error_and_the_right_one_recovers() {
    for mechanism in ["PLAIN", "SCRAM-SHA-512"] {
        let client = client(&[("sasl.mechanisms", mechanism), ("sasl.password", "wrong")]);
        let is_refusal = |event: &Event| matches!(event, Event::Error(e) if e.code == ErrorCode::L_AUTHENTICATION);
        let event = next_event(&client, is_refusal);
        assert!(
            format!("{event:?}").contains("SASL authentication error: Authentication failed"),
            "{event:?}"
        );
        client.set_sasl_credentials("alice", "right").unwrap();
        connect(&client);
    }
}

#[test]
fn sessions_are_renewed_over_sockets() {
    let client = client(&[
        ("sasl.mechanisms", "SCRAM-SHA-256"),
        // A session is renewed a tenth of this time before its end, which a pause of the machine may exceed.
        ("test.mock.sasl.max.reauth.ms", "3000"),
    ]);
    let counts = || {
        let counts = client.with_embedded(|embedded| embedded.with(|cluster| cluster.sasl_counts()));
        counts.unwrap()
    };
    let end = Instant::now() + DEADLINE;
    while counts().reauthentications < 3 && Instant::now() < end {
        connect(&client);
        std::thread::sleep(Duration::from_millis(5));
    }
    let counts = counts();
    assert!(counts.reauthentications >= 3, "{counts:?}");
    assert_eq!(
        (counts.refusals, counts.unexpected_requests, counts.expired_sessions),
        (0, 0, 0),
        "{counts:?}"
    );
}

#[test]
fn the_application_answers_a_request_for_a_token() {
    let settings = [
        ("sasl.mechanisms", "OAUTHBEARER"),
        ("sasl.oauthbearer.config", "secret settings"),
    ];
    for own_queue in ["false", "true"] {
        let client = client(&[&settings[..], &[("enable_sasl_queue", own_queue)]].concat());
        let error = connect_within(&client, Duration::from_millis(100)).unwrap_err();
        assert!(
            error.message.contains("wait for the first OAUTHBEARER token"),
            "{error}"
        );
        let queue = client.sasl_queue();
        assert_eq!(queue.is_some(), own_queue == "true");
        let queue = queue.unwrap_or_else(|| client.main_queue().clone());
        let Some(Event::TokenRefresh(request)) = queue.pop(Some(DEADLINE)) else {
            panic!("no request for a token")
        };
        assert_eq!(&*request.config, "secret settings");
        assert!(!format!("{request:?}").contains("settings"));
        client.set_token(TOKEN, in_an_hour_ms(), "alice", &[]).unwrap();
        connect(&client);
    }
}

fn in_2_s_ms() -> i64 {
    in_an_hour_ms() - 3_598_000
}

/// Creates a member of a share group on a cluster with one record in topic t.
fn share_member() -> ShareConsumer {
    let mut conf = Conf::new();
    let group = [("group.id", "g"), ("sasl.mechanisms", "OAUTHBEARER")];
    for (name, value) in CLUSTER.iter().chain(&group) {
        conf.set(name, *value).unwrap();
    }
    let (client, topic) = conf.finalize(ClientKind::ShareConsumer).unwrap();
    let mut member = ShareConsumer::new(client, topic, ClientHooks::default()).unwrap();
    member.client().with_embedded(|embedded| {
        embedded.with(|cluster| {
            cluster.configure_share_groups(|groups| groups.offset_reset = ShareOffsetReset::Earliest);
            cluster.create_topic("t", 1, None).unwrap();
            cluster.append("t", 0, &[NewRecord::value("1")]).unwrap();
        });
    });
    member.subscribe(&["t".to_owned()]).unwrap();
    member
}

/// Tokens are requested once four fifths of their lifetime are over.
#[test]
fn commits_and_closes_of_share_consumers_serve_requests_for_tokens() {
    let mut member = share_member();
    let client = member.client().clone();
    let mut requests = 0;
    let mut serve = |event: Event| {
        if let Event::TokenRefresh(_) = event {
            requests += 1;
            client.set_token(TOKEN, in_2_s_ms(), "alice", &[])?;
        }
        Ok(())
    };
    let end = Instant::now() + DEADLINE;
    while member
        .poll(Some(Duration::from_millis(100)), &mut serve)
        .unwrap()
        .is_none()
    {
        assert!(Instant::now() < end, "no record");
    }
    client.with_embedded(|embedded| embedded.with(|cluster| cluster.set_round_trip_us(BrokerId(1), 4_000_000)));
    for call in ["commit", "close"] {
        let before = requests;
        let mut serve = |event: Event| {
            requests += usize::from(matches!(event, Event::TokenRefresh(_)));
            client.set_token(TOKEN, in_2_s_ms(), "alice", &[])
        };
        match call {
            "commit" => assert_eq!(member.commit_sync(Some(DEADLINE), &mut serve).unwrap().len(), 1),
            _ => member.close(&mut serve).unwrap(),
        }
        assert!(requests > before, "no request for a token during {call}");
    }
}

#[test]
fn unusable_tokens_and_calls_of_other_clients_are_refused() {
    let bearer = client(&[("sasl.mechanisms", "OAUTHBEARER")]);
    let extension = |key: &str, value: &str| [(key.to_owned(), value.to_owned())];
    for (token, expires_ms, extensions) in [
        ("", in_an_hour_ms(), &[][..]),
        ("a\0", in_an_hour_ms(), &[]),
        ("a", 1, &[]),
        ("a", in_an_hour_ms(), &extension("auth", "x")),
        ("a", in_an_hour_ms(), &extension("a1", "x")),
        ("a", in_an_hour_ms(), &extension("a", "\u{1}")),
    ] {
        let error = bearer.set_token(token, expires_ms, "alice", extensions).unwrap_err();
        assert_eq!(error.code, ErrorCode::L_INVALID_ARG, "{error}");
    }
    assert_eq!(bearer.set_token_failure("").unwrap_err().code, ErrorCode::L_INVALID_ARG);
    assert_eq!(
        bearer.set_sasl_credentials("", "x").unwrap_err().code,
        ErrorCode::L_INVALID_ARG
    );
    let plain = client(&[("sasl.mechanisms", "PLAIN"), ("enable_sasl_queue", "true")]);
    assert!(plain.sasl_queue().is_none());
    let error = plain.set_token(TOKEN, in_an_hour_ms(), "alice", &[]).unwrap_err();
    assert_eq!(error.code, ErrorCode::L_STATE);
    assert_eq!(plain.set_token_failure("text").unwrap_err().code, ErrorCode::L_STATE);
}

#[test]
fn a_provider_that_blocks_holds_up_neither_the_client_nor_its_end() {
    let gate = Arc::new(Gate::default());
    let settings = [("sasl.mechanisms", "OAUTHBEARER")];
    let blocked = try_client(&settings, TokenSource::Provider(gate.clone())).unwrap();
    let begun = Instant::now();
    connect_within(&blocked, Duration::from_millis(50)).unwrap_err();
    drop(blocked);
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    let served = try_client(&settings, TokenSource::Provider(gate.clone())).unwrap();
    gate.open();
    connect(&served);
}

#[test]
fn settings_of_a_mechanism_that_cannot_be_used_fail_the_clients_creation() {
    for (settings, expected) in [
        (
            vec![("sasl.mechanisms", "PLAIN"), ("sasl.password", "")],
            "sasl.username and sasl.password",
        ),
        (
            vec![("sasl.mechanisms", "SCRAM-SHA-1")],
            "only GSSAPI, PLAIN, SCRAM-SHA-256",
        ),
        (
            vec![("sasl.mechanisms", "OAUTHBEARER"), ("sasl.oauthbearer.method", "oidc")],
            "sasl.oauthbearer.token.endpoint.url",
        ),
        (
            vec![
                ("sasl.mechanisms", "OAUTHBEARER"),
                ("enable.sasl.oauthbearer.unsecure.jwt", "true"),
                ("sasl.oauthbearer.config", "scope=a"),
            ],
            "sasl.oauthbearer.config",
        ),
    ] {
        let error = try_client(&settings, TokenSource::Settings).unwrap_err();
        assert_eq!(error.code, ErrorCode::L_INVALID_ARG, "{error}");
        assert!(error.message.contains(expected), "{error}");
    }
}
