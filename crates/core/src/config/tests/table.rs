//! Comparison of the table with the properties of librdkafka's interface.

use std::collections::BTreeSet;

use crate::config::property::{Applies, Importance, Kind, Named, Property, TextCheck};
use crate::config::rules_share;
use crate::config::tables::{ClientConfig, GLOBAL, NOT_PROPERTIES, TOPIC, TopicConfig};
use crate::config::unavailable::{MISSING, WITHOUT_EFFECT};
use crate::config::value::Value;

/// Properties that librdkafka does not have.
const OWN: &[&str] = &[
    "io.threads.shared",
    "ssl.certificate.refresh.interval.ms",
    "ssl.certificate.refresh.reconnect.ms",
    "share.acquire.mode",
    "worker.threads",
    "test.mock.ssl",
    "test.mock.ssl.certificate.location",
    "test.mock.ssl.key.location",
    "test.mock.ssl.client.ca.location",
    "test.mock.sasl.mechanisms",
    "test.mock.sasl.users",
    "test.mock.sasl.max.reauth.ms",
];

/// One property as the interface has it.
struct Fact {
    scope: &'static str,
    name: &'static str,
    alias_of: Option<&'static str>,
    kind: &'static str,
    default: Option<&'static str>,
    min: Option<&'static str>,
    max: Option<&'static str>,
    values: Option<&'static str>,
    applies: &'static str,
    importance: &'static str,
    unit: Option<&'static str>,
    deprecated: bool,
    hidden: bool,
    experimental: bool,
    sensitive: bool,
}

fn facts() -> Vec<Fact> {
    let lines = include_str!("../testdata/properties.tsv").lines();
    lines
        .filter(|line| !line.starts_with('#'))
        .map(|line| {
            let c: Vec<&str> = line.split('\t').collect();
            let some = |i: usize| (c[i] != "-").then_some(c[i]);
            Fact {
                scope: c[0],
                name: c[1],
                alias_of: some(2),
                kind: c[3],
                default: some(4).map(|d| if d == "''" { "" } else { d }),
                min: some(5),
                max: some(6),
                values: some(7),
                applies: c[8],
                importance: c[9],
                unit: some(10),
                deprecated: c[11] == "yes",
                hidden: c[12] == "yes",
                experimental: c[13] == "yes",
                sensitive: c[14] == "yes",
            }
        })
        .collect()
}

fn table(scope: &str) -> &'static [Property] {
    if scope == "topic" { TOPIC } else { GLOBAL }
}

fn named(values: &[Named]) -> String {
    let pairs: Vec<String> = values.iter().map(|(name, n)| format!("{name}={n}")).collect();
    pairs.join(",")
}

fn compare_kind(fact: &Fact, property: &Property) {
    let at = fact.name;
    match property.kind {
        Kind::Int { min, max, .. } => {
            assert_eq!(fact.kind, "integer", "{at}");
            assert_eq!(fact.min, Some(min.to_string().as_str()), "{at}");
            assert_eq!(fact.max, Some(max.to_string().as_str()), "{at}");
        }
        Kind::Float { min, max, .. } => {
            assert_eq!(fact.kind, "float", "{at}");
            assert_eq!(fact.min, Some(min.to_string().as_str()), "{at}");
            assert_eq!(fact.max, Some(max.to_string().as_str()), "{at}");
        }
        Kind::Bool { .. } => assert_eq!(fact.kind, "boolean", "{at}"),
        Kind::Text { check, .. } => {
            assert_eq!(fact.kind, "string", "{at}");
            if let TextCheck::OneOf(values) = check {
                assert_eq!(fact.values, Some(values.join(",").as_str()), "{at}");
            }
        }
        Kind::Patterns => assert_eq!(fact.kind, "pattern_list", "{at}"),
        Kind::Choice { values, .. } => {
            assert_eq!(fact.kind, "enum", "{at}");
            assert_eq!(fact.values, Some(named(values).as_str()), "{at}");
        }
        Kind::Flags { values, .. } => {
            assert_eq!(fact.kind, "flags", "{at}");
            assert_eq!(fact.values, Some(named(values).as_str()), "{at}");
        }
        Kind::Pointer { .. } => assert!(matches!(fact.kind, "pointer" | "internal"), "{at}"),
    }
}

#[test]
fn every_property_is_there_with_its_facts() {
    let facts = facts();
    assert_eq!(facts.len(), 209);
    let mut seen = BTreeSet::new();
    for fact in &facts {
        let at = fact.name;
        if fact.kind == "invalid" {
            assert!(NOT_PROPERTIES.iter().any(|(name, _)| *name == at), "{at}");
            continue;
        }
        let canonical = fact.alias_of.unwrap_or(at);
        let property = table(fact.scope).iter().find(|p| p.name == canonical);
        let property = property.unwrap_or_else(|| panic!("no {canonical}"));
        assert!(fact.alias_of.is_none() || property.aliases.contains(&at), "{at}");
        assert!(seen.insert((fact.scope, at)), "{at}");
        compare_kind(fact, property);
        if fact.default != Some("*") {
            let default = Value::default_of(&property.kind).print(&property.kind);
            assert_eq!(default.as_deref(), fact.default, "{at}");
        }
        let applies = match property.applies {
            Applies::Both => "*",
            Applies::Producer => "P",
            Applies::Consumer => "C",
        };
        assert_eq!(applies, fact.applies, "{at}");
        let importance = match property.importance {
            Importance::High => "high",
            Importance::Medium => "medium",
            Importance::Low => "low",
        };
        assert_eq!(importance, fact.importance, "{at}");
        assert_eq!(property.unit, fact.unit.unwrap_or(""), "{at}");
        assert_eq!(property.deprecated, fact.deprecated, "{at}");
        assert_eq!(property.hidden, fact.hidden, "{at}");
        assert_eq!(property.experimental, fact.experimental, "{at}");
        assert_eq!(property.sensitive, fact.sensitive, "{at}");
    }
    let ours = [("global", GLOBAL), ("topic", TOPIC)];
    let ours = ours.iter().flat_map(|(scope, table)| {
        let names = table.iter().flat_map(|p| std::iter::once(&p.name).chain(p.aliases));
        names.map(move |name| (*scope, *name))
    });
    let ours = ours.filter(|(_, name)| !OWN.contains(name));
    assert_eq!(ours.collect::<BTreeSet<_>>(), seen);
}

#[test]
fn the_order_is_that_of_the_interface() {
    for (scope, table) in [("global", GLOBAL), ("topic", TOPIC)] {
        let expected: Vec<&str> = facts()
            .iter()
            .filter(|f| f.scope == scope && f.alias_of.is_none() && f.kind != "invalid")
            .map(|f| f.name)
            .collect();
        let ours = table.iter().map(|p| p.name).filter(|name| !OWN.contains(name));
        assert_eq!(ours.collect::<Vec<_>>(), expected);
    }
}

#[test]
fn own_properties_are_marked_in_their_descriptions() {
    for name in OWN {
        let property = GLOBAL.iter().find(|p| p.name == *name).unwrap();
        assert!(property.description.ends_with("Not in librdkafka."), "{name}");
    }
}

#[test]
fn fields_are_names_with_underscores() {
    for (table, fields) in [(GLOBAL, ClientConfig::FIELDS), (TOPIC, TopicConfig::FIELDS)] {
        assert_eq!(table.len(), fields.len());
        for (property, field) in table.iter().zip(fields) {
            let mut names = std::iter::once(&property.name).chain(property.aliases);
            assert!(
                names
                    .any(|name| name.replace('.', "_").eq_ignore_ascii_case(field)
                        || *name == "ut_handle_ProduceResponse"),
                "{} is {field}",
                property.name
            );
        }
    }
}

#[test]
fn typed_settings_take_every_value_in_range() {
    for (table, takes) in [
        (GLOBAL, ClientConfig::takes as fn(&[Value]) -> Vec<bool>),
        (TOPIC, TopicConfig::takes),
    ] {
        let defaults = |p: &Property| Value::default_of(&p.kind);
        let smallest = |p: &Property| match p.kind {
            Kind::Int { min, .. } => Value::Int(min),
            _ => defaults(p),
        };
        let largest = |p: &Property| match p.kind {
            Kind::Int { max, .. } => Value::Int(max),
            _ => defaults(p),
        };
        for values in [
            table.iter().map(defaults).collect::<Vec<_>>(),
            table.iter().map(smallest).collect(),
            table.iter().map(largest).collect(),
        ] {
            for (property, taken) in table.iter().zip(takes(&values)) {
                assert!(taken, "{}", property.name);
            }
        }
    }
}

#[test]
fn descriptions_are_sentences() {
    for property in GLOBAL.iter().chain(TOPIC) {
        let text = property.description;
        assert!(text.len() > 20 && text.ends_with('.'), "{}: {text}", property.name);
        assert!(
            !text.contains("  ") && !text.contains('\n'),
            "{}: {text}",
            property.name
        );
    }
}

#[test]
fn rows_of_what_is_missing_speak_of_properties() {
    for row in MISSING {
        assert!(TOPIC.iter().any(|p| p.name == row.property), "{}", row.property);
    }
    let without_effect = WITHOUT_EFFECT.iter().map(|(name, _)| name);
    for name in without_effect.copied().chain(rules_share::all_names()) {
        assert!(GLOBAL.iter().chain(TOPIC).any(|p| p.name == name), "{name}");
    }
}
