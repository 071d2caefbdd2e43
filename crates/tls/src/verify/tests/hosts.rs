//! Names of brokers.

use rustls::pki_types::ServerName;

use super::super::host_name::Wanted;
use super::super::server_name;

#[test]
fn hosts_become_names_without_a_trailing_dot_or_addresses_without_brackets_and_zone() {
    let wanted = |host: &str| {
        server_name(host)
            .and_then(|name| Wanted::of(&name))
            .map(|wanted| wanted.to_string())
    };
    for (host, expected) in [
        ("Kafka1.Example.com", Some("kafka1.example.com")),
        ("kafka1.example.com.", Some("kafka1.example.com")),
        ("kafka1.example.com..", None),
        ("kafka_1", Some("kafka_1")),
        ("10.0.0.1", Some("10.0.0.1")),
        ("[fd00::1]", Some("fd00::1")),
        ("fd00:0::1", Some("fd00::1")),
        ("fe80::1%eth0", Some("fe80::1")),
        ("[fe80::1%eth0]", Some("fe80::1")),
        ("", None),
        (".", None),
        (".example.com", None),
        ("a b", None),
        ("käfka", None),
    ] {
        assert_eq!(wanted(host).as_deref(), expected, "{host}");
    }
    let too_long = "a".repeat(64);
    assert_eq!(wanted(&too_long), None);
    // A name that did not come from here has its dot cut, too.
    let dotted = ServerName::try_from("kafka1.example.com.").unwrap();
    assert_eq!(Wanted::of(&dotted).unwrap().to_string(), "kafka1.example.com");
}
