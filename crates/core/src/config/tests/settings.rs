//! Tests of setting, reading, copying and dumping properties.

use crate::config::property::{Kind, Property, TextCheck};
use crate::config::tables::{GLOBAL, TOPIC};
use crate::config::{Conf, ConfErrorKind, TopicConf, manual, properties_show};

/// Names, texts, and the text that is read afterwards; `Err` where the text is refused. Applied to one configuration in this
/// order.
const CASES: &[(&str, &str, Result<&str, ConfErrorKind>)] = &[
    ("nosuch", "1", Err(ConfErrorKind::Unknown)),
    ("CLIENT.ID", "x", Err(ConfErrorKind::Unknown)),
    ("socket.timeout.ms ", "100", Err(ConfErrorKind::Unknown)),
    ("topic.socket.timeout.ms", "100", Err(ConfErrorKind::Unknown)),
    ("socket.timeout.ms", "9", Err(ConfErrorKind::Invalid)),
    ("socket.timeout.ms", "10", Ok("10")),
    ("socket.timeout.ms", "300000", Ok("300000")),
    ("socket.timeout.ms", "300001", Err(ConfErrorKind::Invalid)),
    ("socket.timeout.ms", "4294967396", Err(ConfErrorKind::Invalid)),
    ("socket.timeout.ms", "99999999999999999999", Err(ConfErrorKind::Invalid)),
    ("socket.timeout.ms", "-5", Err(ConfErrorKind::Invalid)),
    ("socket.timeout.ms", "abc", Err(ConfErrorKind::Invalid)),
    ("socket.timeout.ms", "", Err(ConfErrorKind::Invalid)),
    ("socket.timeout.ms", "0x100", Ok("256")),
    ("socket.timeout.ms", "0400", Ok("256")),
    ("socket.timeout.ms", " 20", Ok("20")),
    ("socket.timeout.ms", "100ms", Ok("100")),
    ("enable.idempotence", "TRUE", Ok("true")),
    ("enable.idempotence", "f", Ok("false")),
    ("enable.idempotence", "1", Ok("true")),
    ("enable.idempotence", "0", Ok("false")),
    ("enable.idempotence", "yes", Err(ConfErrorKind::Invalid)),
    ("enable.idempotence", "", Err(ConfErrorKind::Invalid)),
    ("linger.ms", "7.35", Ok("7.35")),
    ("queue.buffering.max.ms", "1e3", Ok("1000")),
    ("linger.ms", "123456.7", Ok("123457")),
    ("linger.ms", "0", Ok("0")),
    ("linger.ms", "900000", Ok("900000")),
    ("linger.ms", "900000.1", Err(ConfErrorKind::Invalid)),
    ("linger.ms", "nan", Err(ConfErrorKind::Invalid)),
    ("linger.ms", "inf", Err(ConfErrorKind::Invalid)),
    ("linger.ms", "", Err(ConfErrorKind::Invalid)),
    ("debug", "msg,broker", Ok("broker,msg")),
    ("debug", "+cgrp", Ok("broker,msg,cgrp")),
    ("debug", " -msg , TOPIC ", Ok("broker,topic,cgrp")),
    ("debug", "bogus,msg", Err(ConfErrorKind::Invalid)),
    ("debug", "", Err(ConfErrorKind::Invalid)),
    ("compression.codec", "GZIP", Ok("gzip")),
    ("compression.type", " zstd ", Ok("zstd")),
    ("compression.codec", "inherit", Err(ConfErrorKind::Invalid)),
    ("compression.codec", "", Err(ConfErrorKind::Invalid)),
    ("compression.codec", "1", Err(ConfErrorKind::Invalid)),
    ("client.id", "  abc ", Ok("abc ")),
    ("client.id", "", Ok("rdkafka")),
    ("group.id", "g", Ok("g")),
    ("client.rack", "  r ", Ok("  r ")),
    ("group.protocol.type", " z", Ok(" z")),
    ("acks", "all", Ok("-1")),
    ("acks", "1", Ok("1")),
    ("acks", "ALL", Ok("-1")),
    ("acks", "allx", Err(ConfErrorKind::Invalid)),
    ("acks", "-2", Err(ConfErrorKind::Invalid)),
    ("acks", "1001", Err(ConfErrorKind::Invalid)),
    ("auto.offset.reset", "beginning", Ok("smallest")),
    ("auto.offset.reset", "end", Ok("largest")),
    ("topic.blacklist", "^foo,bar$", Ok("^foo,bar$")),
    ("topic.blacklist", "foo(,x", Err(ConfErrorKind::Invalid)),
    ("partitioner", "foo", Err(ConfErrorKind::Invalid)),
    ("partitioner", "", Err(ConfErrorKind::Invalid)),
    ("partitioner", "murmur2", Ok("murmur2")),
    ("sasl.mechanism", "A,B", Err(ConfErrorKind::Invalid)),
    ("sasl.mechanism", "PLAIN", Ok("PLAIN")),
    ("broker.version.fallback", "0.7.2", Err(ConfErrorKind::Invalid)),
    ("broker.version.fallback", "0.9.0.1", Ok("0.9.0.1")),
    ("error_cb", "1", Err(ConfErrorKind::Invalid)),
    ("opaque", "0x10", Err(ConfErrorKind::Invalid)),
    ("ssl_key", "x", Err(ConfErrorKind::Invalid)),
    ("ssl.truststore.location", "x", Err(ConfErrorKind::Invalid)),
    ("sasl.jaas.config", "x", Err(ConfErrorKind::Invalid)),
    ("security.protocol", "SSL", Ok("ssl")),
    ("bootstrap.servers", "a:1,b", Ok("a:1,b")),
    // The client's own, not the topics' of the same name.
    ("offset.store.method", "none", Ok("none")),
    ("auto.commit.interval.ms", "5", Ok("5")),
];

#[test]
fn texts_are_read_and_printed() {
    let mut conf = Conf::new();
    for (name, text, expected) in CASES {
        let before = conf.clone();
        match (conf.set(name, *text), expected) {
            (Ok(()), Ok(value)) => {
                assert_eq!(conf.get(name).as_deref(), Ok(*value), "{name}={text}")
            }
            (Err(e), Err(kind)) => {
                assert_eq!(e.kind, *kind, "{name}={text}");
                assert!(e.message.contains(name), "{}", e.message);
                assert_eq!(conf, before, "{name}={text}");
            }
            (outcome, _) => panic!("{name}={text}: {outcome:?}"),
        }
    }
    assert_eq!(conf.get("metadata.broker.list").as_deref(), Ok("a:1,b"));
    conf.set("bootstrap.servers", None).unwrap();
    assert_eq!(conf.get("bootstrap.servers").unwrap_err().kind, ConfErrorKind::Unknown);
    assert!(!conf.is_modified("bootstrap.servers"));
}

#[test]
fn messages_name_property_value_and_what_is_allowed() {
    let mut conf = Conf::new();
    for (name, text, words) in [
        (
            "socket.timeout.ms",
            "1",
            vec!["socket.timeout.ms", "\"1\"", "10..300000"],
        ),
        ("acks", "most", vec!["acks", "\"most\"", "-1 to 1000", "all"]),
        ("enable.idempotence", "yes", vec!["\"yes\"", "true or false"]),
        (
            "compression.codec",
            "rar",
            vec!["\"rar\"", "none, gzip, snappy, lz4, zstd"],
        ),
        ("debug", "msg,x", vec!["\"x\"", "generic", "telemetry"]),
        ("linger.ms", "", vec!["linger.ms", "empty", "0 to 900000"]),
        ("error_cb", "x", vec!["rd_kafka_conf_set_error_cb()"]),
        ("topic.blacklist", "a(", vec!["\"a(\"", "unclosed group"]),
        ("sasl.jaas.config", "x", vec!["sasl.username"]),
    ] {
        let message = conf.set(name, text).unwrap_err().message;
        for word in words {
            assert!(message.contains(word), "{message} has no {word}");
        }
    }
}

/// A text for every property that can be set, other than its default.
fn another(property: &Property) -> Option<String> {
    Some(match property.kind {
        Kind::Int { min, max, default, .. } => if default == max { min } else { max }.to_string(),
        Kind::Float { max, .. } => max.to_string(),
        Kind::Bool { default } => (!default).to_string(),
        Kind::Text {
            check: TextCheck::OneOf(values),
            ..
        } => values.first()?.to_string(),
        Kind::Text { .. } => "0.9.1".to_owned(),
        Kind::Patterns => "a.*".to_owned(),
        Kind::Choice { values, default } => values.iter().find(|(_, n)| *n != default)?.0.to_owned(),
        Kind::Flags { values, .. } => values.first()?.0.to_owned(),
        Kind::Pointer { .. } => return None,
    })
}

#[test]
fn set_values_are_read_under_every_name() {
    let mut conf = Conf::new();
    let mut topic = TopicConf::new();
    for property in GLOBAL {
        let names = || std::iter::once(&property.name).chain(property.aliases);
        let Some(text) = another(property) else {
            conf.set_pointer(property.name, 0x10).unwrap();
            assert_eq!(conf.get(property.name).as_deref(), Ok("0x10"));
            continue;
        };
        for name in names() {
            if property.windows_only && !cfg!(windows) {
                assert_eq!(conf.set(name, &text).unwrap_err().kind, ConfErrorKind::Invalid);
                continue;
            }
            conf.set(name, &text).unwrap();
            assert!(conf.is_modified(name));
            for other in names().filter(|_| !matches!(property.kind, Kind::Flags { .. })) {
                assert_eq!(conf.get(other).as_ref(), Ok(&text));
            }
        }
    }
    for property in TOPIC {
        let Some(text) = another(property) else {
            topic.set_pointer(property.name, 0x10).unwrap();
            continue;
        };
        for name in std::iter::once(&property.name).chain(property.aliases) {
            topic.set(name, &text).unwrap();
            topic.set(&format!("topic.{name}"), &text).unwrap();
            assert_eq!(topic.get(name).as_ref(), Ok(&text));
        }
    }
    // All of it is in the dump, in the order of the table, and survives being set again from there.
    let mut copy = Conf::new();
    for (name, value) in conf.dump() {
        if let Err(e) = copy.set(&name, &value) {
            assert!(value.starts_with("0x") || name == "ssl.ca.certificate.stores", "{e}");
            if value.starts_with("0x") {
                copy.set_pointer(&name, 0x10).unwrap();
            }
        }
    }
    assert_eq!(copy.dump(), conf.dump());
    let names: Vec<String> = conf.dump().into_iter().map(|(name, _)| name).collect();
    let table: Vec<&str> = GLOBAL.iter().map(|p| p.name).collect();
    assert_eq!(names, table);
}

#[test]
fn values_outside_the_range_are_refused() {
    for property in GLOBAL.iter().filter(|p| matches!(p.kind, Kind::Int { .. })) {
        let Kind::Int { min, max, .. } = property.kind else {
            continue;
        };
        let mut conf = Conf::new();
        for (number, ok) in [
            (i64::from(min), true),
            (i64::from(max), true),
            (i64::from(min) - 1, false),
            (i64::from(max) + 1, false),
        ] {
            let outcome = conf.set(property.name, &number.to_string());
            assert_eq!(outcome.is_ok(), ok, "{}={number}", property.name);
        }
    }
}

#[test]
fn defaults_for_topics_are_made_on_demand() {
    let mut conf = Conf::new();
    assert!(conf.topic_defaults().is_none());
    assert_eq!(conf.get("acks").unwrap_err().kind, ConfErrorKind::Unknown);
    assert!(conf.set("topic.acks", "nonsense").is_err());
    assert!(conf.topic_defaults().is_none());
    conf.set("topic.acks", "1").unwrap();
    assert_eq!(conf.get("request.required.acks").as_deref(), Ok("1"));
    assert_eq!(conf.topic_config().request_required_acks, 1);
    assert!(conf.is_modified("acks") && !conf.is_modified("partitioner"));
    // A copy is independent.
    let mut copy = conf.clone();
    copy.set("acks", "0").unwrap();
    assert_eq!(conf.get("acks").as_deref(), Ok("1"));
    conf.set_topic_defaults(None);
    assert!(conf.get("acks").is_err());
}

#[test]
fn filtered_copies_leave_prefixes_out() {
    let mut conf = Conf::new();
    for (name, value) in [
        ("sasl.username", "u"),
        ("sasl.password", "p"),
        ("client.id", "me"),
        ("acks", "1"),
        ("message.timeout.ms", "5"),
    ] {
        conf.set(name, value).unwrap();
    }
    let copy = conf.dup_filter(&["sasl.", "message."]);
    assert!(copy.get("sasl.username").is_err() && copy.get("sasl.password").is_err());
    assert_eq!(copy.get("client.id").as_deref(), Ok("me"));
    assert_eq!(copy.get("acks").as_deref(), Ok("1"));
    assert_eq!(copy.get("message.timeout.ms").as_deref(), Ok("300000"));
    assert!(!copy.is_modified("message.timeout.ms"));
}

#[test]
fn patterns_match_anywhere_unless_anchored() {
    let mut conf = Conf::new();
    conf.set("topic.blacklist", "^_,tmp$,a\\,b,,x{2\\,3}").unwrap();
    let list = conf.client_config().topic_blacklist;
    for (name, matches) in [
        ("_internal", true),
        ("my_topic", false),
        ("some.tmp", true),
        ("tmp.some", false),
        ("1a,b2", true),
        ("wxxy", true),
        ("wxy", false),
    ] {
        assert_eq!(list.is_match(name), matches, "{name}");
    }
    assert!(Conf::new().client_config().topic_blacklist.is_empty());
}

#[test]
fn typed_settings_have_what_was_set() {
    let mut conf = Conf::new();
    for (name, value) in [
        ("linger.ms", "0.5"),
        ("broker.address.family", "v6"),
        ("debug", "broker,msg"),
        ("topic.metadata.refresh.interval.ms", "-1"),
        ("auto.offset.reset", "earliest"),
    ] {
        conf.set(name, value).unwrap();
    }
    let client = conf.client_config();
    assert_eq!(client.linger_ms, 0.5);
    assert_eq!(client.broker_address_family, "v6");
    assert_eq!(client.broker_address_family.number(), 10);
    assert_eq!(client.debug, 0x42);
    assert_eq!(client.topic_metadata_refresh_interval_ms, -1);
    assert_eq!(client.client_id, "rdkafka");
    assert_eq!(client.group_id, "");
    let topic = conf.topic_config();
    assert_eq!(topic.auto_offset_reset, "smallest");
    assert_eq!(topic.auto_offset_reset.number(), -2);
}

#[test]
fn the_shown_table_has_every_name_that_is_not_hidden() {
    let mut out = Vec::new();
    properties_show(&mut out).unwrap();
    let shown = String::from_utf8(out).unwrap();
    for property in GLOBAL.iter().chain(TOPIC) {
        for name in std::iter::once(&property.name).chain(property.aliases) {
            let begins = |line: &&str| line.split(" | ").next().map(str::trim) == Some(name);
            let lines = shown.lines().filter(begins).count();
            assert_eq!(lines > 0, !property.hidden, "{name}");
        }
    }
    assert!(shown.contains(
        "linger.ms                                |  P  | 0 .. 900000     |             5 | high       | Alias of"
    ));
}

#[test]
fn the_manual_in_the_repository_is_this_table() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/CONFIGURATION.md");
    let there = std::fs::read_to_string(file).unwrap();
    assert!(
        there == manual(),
        "docs/CONFIGURATION.md is old: run `cargo xtask gen-config`"
    );
}

#[test]
fn the_manual_has_whole_tables() {
    for (number, line) in manual().lines().enumerate().filter(|(_, l)| l.starts_with('|')) {
        let cells = line.replace("\\|", "").matches('|').count();
        assert!(cells == 7 || cells == 4 || cells == 3, "{}: {line}", number + 1);
    }
}

#[test]
fn typed_settings_are_found_by_name_and_alias_as_text() {
    let mut conf = Conf::new();
    for (name, value) in [
        ("sasl.username", "alice"),
        ("sasl.kerberos.keytab", "/a b"),
        ("socket.timeout.ms", "1234"),
        ("security.protocol", "sasl_ssl"),
        ("enable.sasl.oauthbearer.unsecure.jwt", "true"),
        ("topic.blacklist", "^a,b"),
        ("sasl.mechanism", "PLAIN"),
    ] {
        conf.set(name, value).unwrap();
        assert_eq!(conf.client_config().get(name).as_deref(), Some(value), "{name}");
    }
    assert_eq!(conf.client_config().get("sasl.mechanisms").as_deref(), Some("PLAIN"));
    assert_eq!(conf.client_config().get("no.such.property"), None);
}
