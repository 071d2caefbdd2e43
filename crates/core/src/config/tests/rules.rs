//! The rules between properties, and the refusal of settings that need unavailable features.

use crate::config::ClientKind;
use crate::config::{Conf, TopicConf};
use crate::error::{Error, ErrorCode};

/// Creates a configuration from `name=value;...`.
fn conf(pairs: &str) -> Conf {
    let mut conf = Conf::new();
    for (name, value) in pairs.split(';').filter_map(|pair| pair.split_once('=')) {
        conf.set(name, value).unwrap();
    }
    conf
}

fn topic_conf(pairs: &str) -> TopicConf {
    let mut conf = TopicConf::new();
    for (name, value) in pairs.split(';').filter_map(|pair| pair.split_once('=')) {
        conf.set(name, value).unwrap();
    }
    conf
}

fn kind(name: &str) -> ClientKind {
    match name {
        "producer" => ClientKind::Producer,
        "share" => ClientKind::ShareConsumer,
        _ => ClientKind::Consumer,
    }
}

/// Asserts that the message contains property and value, and what is allowed.
fn assert_tells(error: &Error, settings: &str) {
    assert_eq!(error.code, ErrorCode::L_INVALID_ARG, "{settings}");
    let names_one = settings
        .split(';')
        .filter_map(|pair| pair.split_once('='))
        .any(|(name, value)| {
            let canonical = match name {
                "max.in.flight" => "max.in.flight.requests.per.connection",
                "retries" => "message.send.max.retries",
                "acks" => "request.required.acks",
                other => other,
            };
            error.message.contains(&format!("{canonical}={value}"))
        });
    assert!(
        names_one && error.message.contains(": "),
        "{settings}: {}",
        error.message
    );
}

#[test]
fn rules_hold_as_in_the_interface() {
    let rules = include_str!("../testdata/rules.tsv")
        .lines()
        .filter(|line| !line.starts_with('#'));
    let mut count = 0;
    for line in rules {
        count += 1;
        let fields: Vec<&str> = line.split('\t').collect();
        let [client, settings, topic_settings, pointer, outcome] = fields[..] else {
            panic!("{line}");
        };
        let mut conf = conf(settings);
        if pointer != "-" {
            conf.set_pointer(pointer, 1).unwrap();
        }
        let kind = kind(client);
        let resolved = conf.resolve(kind);
        match outcome.split_once('=') {
            Some((name, value)) => {
                let resolved = resolved.unwrap_or_else(|e| panic!("{line}: {e}"));
                assert_eq!(resolved.get(name).as_deref(), Ok(value), "{line}");
            }
            None if outcome == "refused topic" => {
                let client = resolved.unwrap_or_else(|e| panic!("{line}: {e}"));
                let error = topic_conf(topic_settings).resolve(&client, kind).unwrap_err();
                assert_tells(&error, topic_settings);
            }
            None if client == "share" && pointer != "-" => {
                let error = resolved.unwrap_err();
                assert_eq!(error.code, ErrorCode::L_INVALID_ARG, "{line}");
                assert!(error.message.contains(pointer), "{line}: {}", error.message);
            }
            None => assert_tells(&resolved.unwrap_err(), settings),
        }
    }
    assert_eq!(count, 89);
}

#[test]
fn values_at_the_limits_are_accepted() {
    for (client, settings) in [
        ("producer", ""),
        ("consumer", ""),
        (
            "producer",
            "enable.idempotence=true;max.in.flight=5;retries=1;acks=all;queuing.strategy=fifo",
        ),
        ("producer", "enable.idempotence=true;enable.gapless.guarantee=true"),
        (
            "producer",
            "transactional.id=t;transaction.timeout.ms=10000;socket.timeout.ms=10100",
        ),
        (
            "producer",
            "transactional.id=t;transaction.timeout.ms=10000;message.timeout.ms=10000",
        ),
        ("producer", "linger.ms=1000;message.timeout.ms=1001"),
        ("producer", "linger.ms=1000;message.timeout.ms=0"),
        ("producer", "reconnect.backoff.ms=100;reconnect.backoff.max.ms=100"),
        ("producer", "security.protocol=sasl_plaintext;sasl.mechanisms=GSSAPI"),
        (
            "producer",
            "security.protocol=sasl_ssl;sasl.mechanisms=PLAIN;sasl.username=u;sasl.password=p",
        ),
        ("consumer", "partition.assignment.strategy=cooperative-sticky"),
        ("consumer", "max.poll.interval.ms=2000;session.timeout.ms=2000"),
        ("consumer", "group.protocol=consumer;group.remote.assignor=uniform"),
        ("consumer", "fetch.max.bytes=2000000;message.max.bytes=2000000"),
        ("consumer", "fetch.max.bytes=2000000;receive.message.max.bytes=2000512"),
        (
            "share",
            "group.id=g;client.rack=r;max.poll.records=1;share.acknowledgement.mode=explicit;max.poll.interval.ms=1000",
        ),
        // Rules of producers are not for consumers, and the other way round.
        ("consumer", "enable.idempotence=true;acks=1;max.in.flight=6"),
        ("producer", "fetch.min.bytes=0;receive.message.max.bytes=1000"),
    ] {
        if let Err(e) = conf(settings).resolve(kind(client)) {
            panic!("{client} {settings}: {e}");
        }
    }
}

#[test]
fn rules_of_tokens() {
    const OIDC: &str = "security.protocol=sasl_ssl;sasl.mechanisms=OAUTHBEARER;sasl.oauthbearer.method=oidc;";
    const URL: &str = "sasl.oauthbearer.token.endpoint.url=https://x;";
    const JWT: &str = "sasl.oauthbearer.grant.type=urn:ietf:params:oauth:grant-type:jwt-bearer;";
    for (settings, word) in [
        (format!("{OIDC}enable.sasl.oauthbearer.unsecure.jwt=true"), "unsecure"),
        (OIDC.to_owned(), "token.endpoint.url"),
        (
            format!("{OIDC}sasl.oauthbearer.metadata.authentication.type=azure_imds"),
            "query=",
        ),
        (format!("{OIDC}{URL}"), "client.id"),
        (format!("{OIDC}{URL}sasl.oauthbearer.client.id=c"), "client.secret"),
        (format!("{OIDC}{URL}{JWT}"), "private key"),
        (
            format!(
                "{OIDC}{URL}{JWT}sasl.oauthbearer.assertion.private.key.file=f;\
                 sasl.oauthbearer.assertion.private.key.pem=p"
            ),
            "together",
        ),
        (
            format!("{OIDC}{URL}{JWT}sasl.oauthbearer.assertion.file=f;sasl.oauthbearer.assertion.claim.sub=s"),
            "claim.sub",
        ),
        ("https.ca.location=f;https.ca.pem=p".to_owned(), "https.ca.pem"),
    ] {
        let error = conf(&settings).resolve(ClientKind::Producer).unwrap_err();
        assert!(error.message.contains(word), "{settings}: {}", error.message);
    }
    for settings in [
        format!("{OIDC}{URL}sasl.oauthbearer.client.id=c;sasl.oauthbearer.client.secret=s"),
        format!("{OIDC}{URL}{JWT}sasl.oauthbearer.assertion.file=f"),
        format!("{OIDC}{URL}{JWT}sasl.oauthbearer.assertion.private.key.pem=p;sasl.oauthbearer.assertion.claim.sub=s"),
    ] {
        conf(&settings).resolve(ClientKind::Producer).unwrap();
    }
    let mut conf = conf("ssl.ca.location=f");
    conf.set_pointer("ssl_ca", 1).unwrap();
    assert!(conf.resolve(ClientKind::Producer).is_err());
}

#[test]
fn software_name_and_version_are_what_brokers_accept() {
    let resolved = conf("client.software.version=-1.0+a_b.")
        .resolve(ClientKind::Producer)
        .unwrap();
    assert_eq!(resolved.get("client.software.version").as_deref(), Ok("1.0-a-b"));
    let resolved = conf("client.software.name=__").resolve(ClientKind::Producer).unwrap();
    assert_eq!(resolved.get("client.software.name").as_deref(), Ok("librdkafka"));
    assert!(resolved.get("client.software.version").is_ok());
}

#[test]
fn api_version_request_false_is_ignored_from_fallback_0_10_on() {
    for (release, expected) in [
        ("0.8.2.2", "false"),
        ("0.9.0.1", "false"),
        ("0.10.0", "true"),
        ("2.0", "true"),
    ] {
        let settings = format!("api.version.request=false;broker.version.fallback={release}");
        let resolved = conf(&settings).resolve(ClientKind::Producer).unwrap();
        assert_eq!(
            resolved.get("api.version.request").as_deref(),
            Ok(expected),
            "{release}"
        );
    }
}

#[test]
fn unavailable_features_are_refused_by_name() {
    let settings = "queuing.strategy=lifo";
    let conf_of_topic = conf(settings);
    conf_of_topic.resolve(ClientKind::Producer).unwrap();
    let error = conf_of_topic.finalize(ClientKind::Producer).unwrap_err();
    assert_eq!(error.code, ErrorCode::L_UNSUPPORTED_FEATURE);
    assert!(error.message.starts_with(settings), "{}", error.message);
    assert!(error.message.contains("not supported by this version of Ottla"));
    let plugins = conf("plugin.library.paths=x")
        .finalize(ClientKind::Producer)
        .unwrap_err();
    assert_eq!(plugins.code, ErrorCode::L_UNSUPPORTED_FEATURE);
}

#[test]
fn extensions_of_openssl_are_refused_with_tls_and_mean_nothing_without() {
    for (settings, property) in [
        ("ssl.engine.location=/e.so", "ssl.engine.location"),
        ("ssl.engine.id=pkcs11", "ssl.engine.id"),
        ("ssl.providers=default,fips", "ssl.providers"),
    ] {
        conf(settings).finalize(ClientKind::Producer).unwrap();
        let with_tls = conf(&format!("security.protocol=ssl;{settings}"));
        let error = with_tls.finalize(ClientKind::Producer).unwrap_err();
        assert_eq!(error.code, ErrorCode::L_INVALID_ARG, "{settings}");
        assert!(error.message.starts_with(property), "{}", error.message);
        assert!(error.message.contains("OpenSSL"), "{}", error.message);
    }
    let accepted = conf("security.protocol=ssl;ssl.providers=default,legacy");
    accepted.finalize(ClientKind::Producer).unwrap();
}

#[test]
fn settings_without_unavailable_features_are_accepted() {
    for (client, settings) in [
        ("producer", ""),
        ("consumer", ""),
        (
            "producer",
            "security.protocol=plaintext;enable.idempotence=false;statistics.interval.ms=1000",
        ),
        ("producer", "enable.metrics.push=false"),
        ("producer", "enable.idempotence=true;enable.gapless.guarantee=true"),
        (
            "producer",
            "ssl.endpoint.identification.algorithm=https;sasl.mechanisms=GSSAPI",
        ),
        ("producer", "security.protocol=ssl;ssl.ca.location=/nowhere"),
        (
            "consumer",
            "ssl.ca.location=/nowhere;sasl.username=u;sasl.oauthbearer.method=oidc",
        ),
        ("producer", "test.mock.num.brokers=3;test.mock.ssl=true"),
        (
            "consumer",
            "partition.assignment.strategy=roundrobin, range;group.protocol=classic",
        ),
        ("consumer", "group.protocol=consumer;group.remote.assignor=range"),
        ("consumer", "transactional.id=t;enable.idempotence=true"),
        ("producer", "partition.assignment.strategy=cooperative-sticky"),
        ("producer", "test.mock.num.brokers=3;security.protocol=ssl"),
        ("producer", "transactional.id="),
        ("producer", "transactional.id=t"),
    ] {
        if let Err(e) = conf(settings).finalize(kind(client)) {
            panic!("{client} {settings}: {e}");
        }
    }
}

#[test]
fn secrets_are_not_in_messages() {
    let error = conf("security.protocol=sasl_ssl;sasl.mechanisms=PLAIN;sasl.username=hunter2")
        .finalize(ClientKind::Producer)
        .unwrap_err();
    assert!(!error.message.contains("hunter2"), "{}", error.message);
    assert!(error.message.contains("sasl.password"));
}

#[test]
fn topic_configurations_are_checked_too() {
    let client = Conf::new().resolve(ClientKind::Consumer).unwrap();
    let producer = Conf::new().resolve(ClientKind::Producer).unwrap();
    let topic = topic_conf("queuing.strategy=lifo");
    let error = topic.finalize(&producer, ClientKind::Producer).unwrap_err();
    assert_eq!(error.code, ErrorCode::L_UNSUPPORTED_FEATURE);
    let config = topic_conf("auto.offset.reset=error")
        .finalize(&client, ClientKind::Consumer)
        .unwrap();
    assert_eq!(config.auto_offset_reset.number(), -1001);
}

#[test]
fn offset_store_method_of_the_topic_precedes_the_clients() {
    let client = conf("offset.store.method=file").resolve(ClientKind::Consumer).unwrap();
    for (topic, method) in [("", "file"), ("offset.store.method=broker", "broker")] {
        let topic = topic_conf(topic).finalize(&client, ClientKind::Consumer).unwrap();
        assert!(topic.offset_store_method == method, "{method}");
    }
    assert!(client.topic_config().offset_store_method == "file");
    let client = Conf::new().resolve(ClientKind::Consumer).unwrap();
    let topic = topic_conf("offset.store.method=file").finalize(&client, ClientKind::Consumer);
    assert!(topic.unwrap().offset_store_method == "file");
}

#[test]
fn security_settings_have_an_effect_where_the_embedded_cluster_needs_them() {
    let warnings = |settings| conf(settings).warnings(ClientKind::Producer);
    let none = Vec::<String>::new();
    let sasl =
        "test.mock.num.brokers=1;test.mock.sasl.mechanisms=PLAIN;sasl.mechanisms=PLAIN;sasl.username=a;sasl.password=b";
    assert_eq!(warnings(sasl), none);
    assert_eq!(
        warnings("test.mock.num.brokers=1;test.mock.ssl=true;enable.ssl.certificate.verification=false"),
        none
    );
    let plain = warnings("test.mock.num.brokers=1;security.protocol=ssl;enable.ssl.certificate.verification=false");
    assert!(
        plain
            .join("")
            .contains("has no effect with security.protocol=plaintext"),
        "{plain:?}"
    );
}

#[test]
fn settings_without_effect_are_warned_about() {
    let settings =
        conf("linger.ms=7;socket.blocking.max.ms=10;queuing.strategy=lifo;client.id=x;api.version.fallback.ms=1");
    let warnings = settings.warnings(ClientKind::Consumer);
    let all = warnings.join("\n");
    assert_eq!(warnings.len(), 4, "{all}");
    assert!(all.contains("queue.buffering.max.ms is a producer property"));
    assert!(all.contains("socket.blocking.max.ms has no effect"));
    assert!(all.contains("queuing.strategy is a producer property"));
    assert!(all.contains("api.version.fallback.ms is deprecated"));
    assert_eq!(Conf::new().warnings(ClientKind::Producer), Vec::<String>::new());
    let share = conf("max.poll.records=5;share.acquire.mode=record_limit;auto.commit.interval.ms=5");
    assert_eq!(share.warnings(ClientKind::Consumer).len(), 2);
    let of_share = share.warnings(ClientKind::ShareConsumer);
    assert_eq!(of_share.len(), 1, "{of_share:?}");
    assert!(
        of_share
            .join("")
            .contains("auto.commit.interval.ms has no effect on a share consumer")
    );
    for (settings, count) in [
        ("group.remote.assignor=range", 1),
        ("group.remote.assignor=range;group.protocol=consumer", 0),
    ] {
        assert_eq!(conf(settings).warnings(ClientKind::Consumer).len(), count, "{settings}");
    }
    assert_eq!(
        topic_conf("acks=1").warnings(ClientKind::Producer),
        Vec::<String>::new()
    );
}
