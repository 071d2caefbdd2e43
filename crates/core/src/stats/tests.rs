use std::collections::{BTreeMap, BTreeSet};

use ottla_protocol::ApiKey;
use serde_json::Value;

use super::table::SECTIONS;
use super::*;
use crate::types::ClientKind;

/// Returns a document with all sections.
fn full() -> Statistics {
    let topic = Topic {
        topic: "t".into(),
        partitions: BTreeMap::from([(-1, Partition::numbered(-1))]),
        ..Default::default()
    };
    let broker = Broker {
        toppars: BTreeMap::from([("t-0".into(), Toppar::default())]),
        ..Broker::named("b".into())
    };
    Statistics {
        brokers: BTreeMap::from([("b".into(), broker)]),
        topics: BTreeMap::from([("t".into(), topic)]),
        cgrp: Some(Group::default()),
        eos: Some(Eos::default()),
        fatal: Some(Fatal::default()),
        ..Default::default()
    }
}

fn parse(statistics: &Statistics) -> Value {
    serde_json::from_str(&statistics.to_json()).unwrap()
}

/// Collects the paths of a document; keys of objects are `*`.
fn paths(at: &str, value: &Value, out: &mut BTreeSet<String>) {
    for (key, member) in value.as_object().into_iter().flatten() {
        let keyed = SECTIONS
            .iter()
            .flat_map(|s| s.places)
            .any(|p| p.strip_suffix(".*") == Some(at));
        let key = if keyed { "*" } else { key };
        let path = if at.is_empty() {
            key.to_owned()
        } else {
            format!("{at}.{key}")
        };
        paths(&path, member, out);
        out.insert(path);
    }
}

#[test]
fn counters_have_their_paths() {
    let mut document = full();
    document.tx = 3;
    let topic = document.topics.get_mut("t").unwrap();
    let partition = Partition {
        rxmsgs: 5,
        fetchq_cnt: 2,
        ..Partition::numbered(1)
    };
    topic.partitions.insert(1, partition);
    document.cgrp.as_mut().unwrap().rebalance_cnt = 7;
    let counters = document.counters();
    let counted: Vec<(&str, u64)> = counters
        .iter()
        .map(|(k, n)| (k.as_str(), *n))
        .filter(|(_, n)| *n > 0)
        .collect();
    assert_eq!(
        counted,
        [
            ("cgrp.rebalance_cnt", 7),
            ("topics.t.partitions.1.rxmsgs", 5),
            ("tx", 3)
        ]
    );
    let (mut later, mut without) = (document.clone(), document.clone());
    later.tx += 1;
    assert_eq!(later.gone_back_since(&document), None);
    assert_eq!(document.gone_back_since(&later), Some(("tx".to_owned(), 4, 3)));
    without.topics.get_mut("t").unwrap().partitions.remove(&1);
    let lost = without.gone_back_since(&document);
    assert_eq!(lost, Some(("topics.t.partitions.1.rxmsgs".to_owned(), 5, 0)));
    let parsed = parse(&document);
    for (place, count) in &counters {
        let value = place.split('.').fold(&parsed, |at, key| &at[key]);
        assert_eq!(value.as_u64(), Some(*count), "{place}");
    }
    let is_gauge_or_pending = |place: &String| place.ends_with("fetchq_cnt") || place.contains("partitions.-1.");
    assert!(!counters.keys().any(is_gauge_or_pending), "{counters:?}");
}

#[test]
fn document_has_exactly_the_tables_fields() {
    let mut present = BTreeSet::new();
    paths("", &parse(&full()), &mut present);
    let mut documented = BTreeSet::new();
    for section in SECTIONS {
        for place in section.places {
            for field in section.fields {
                for name in std::iter::once(&field.name).chain(field.also) {
                    documented.insert(if place.is_empty() {
                        (*name).to_owned()
                    } else {
                        format!("{place}.{name}")
                    });
                }
            }
            if place.ends_with('*') {
                documented.insert((*place).to_owned());
            }
        }
    }
    assert_eq!(present, documented);
}

#[test]
fn missing_sections_are_omitted() {
    let text = Statistics::default().to_json();
    for name in ["cgrp", "eos", "fatal"] {
        assert!(!text.contains(&format!("\"{name}\"")), "{text}");
    }
}

#[test]
fn any_name_makes_valid_json() {
    let name = "quote \" backslash \\ newline \n nul \0 bell \x07 del \x7f é \u{2028} 😀";
    let mut statistics = full();
    statistics.client_id = name.into();
    statistics.brokers.insert(name.into(), Broker::named(name.into()));
    let text = statistics.to_json();
    assert!(!text.contains('\n') && !text.contains('\0'), "one line: {text}");
    let value = parse(&statistics);
    assert_eq!(value["client_id"], name);
    assert_eq!(value["brokers"][name]["name"], name);
    assert_eq!(value["topics"]["t"]["partitions"]["-1"]["leader"], -1);
    assert_eq!(value["topics"]["t"]["partitions"]["-1"]["commited_offset"], -1001);
}

#[test]
fn requests_have_librdkafkas_names() {
    let counts = BTreeMap::from([
        (ApiKey::API_VERSIONS, 3),
        (ApiKey(48), 2),
        (ApiKey::FETCH, 5),
        (ApiKey(68), 1),
    ]);
    let producer = request_counts(ClientKind::Producer, &counts);
    assert_eq!(producer["ApiVersion"], 3);
    assert_eq!(producer["DescribeClientQuotasRequest"], 2);
    assert_eq!((producer["Produce"], producer["Fetch"]), (0, 5));
    assert_eq!(producer["ConsumerGroupHeartbeat"], 1);
    let consumer = request_counts(ClientKind::Consumer, &BTreeMap::new());
    assert_eq!(consumer["Fetch"], 0);
    assert!(!consumer.contains_key("Produce") && !consumer.contains_key("DescribeClientQuotasRequest"));
}

#[test]
fn histogram_take_returns_each_value_once() {
    let mut window = Histogram::new(100_000).unwrap();
    let empty = window.take();
    assert_eq!((empty.cnt, empty.max, empty.p99), (0, 0, 0));
    assert!(empty.hdrsize > 1000);
    for value in 1..=1000 {
        window.record(value);
    }
    let summary = window.take();
    assert_eq!((summary.cnt, summary.sum, summary.avg), (1000, 500_500, 500));
    assert_eq!((summary.min, summary.max, summary.outofrange), (1, 1000, 0));
    for (got, want) in [
        (summary.p50, 500),
        (summary.p75, 750),
        (summary.p90, 900),
        (summary.p99, 990),
    ] {
        assert!((got - want).abs() <= want / 100, "{got} for {want}");
    }
    assert!((summary.stddev - 288).abs() <= 4, "{}", summary.stddev);
    assert_eq!(window.take(), empty);
}

#[test]
fn record_all_equals_single_records() {
    let values = [0, 0, 7, 7, 7, 0, 9, 2000, 2000];
    let (mut all, mut each) = (Histogram::new(1000).unwrap(), Histogram::new(1000).unwrap());
    all.record_all(values);
    values.iter().for_each(|v| each.record(*v));
    let summary = all.take();
    assert_eq!((summary.cnt, summary.sum, summary.outofrange), (9, 4030, 2));
    assert_eq!(summary, each.take());
    all.record_all([]);
    assert_eq!(all.take().cnt, 0);
}

#[test]
fn values_above_the_range_are_counted_in_outofrange() {
    let mut window = Histogram::new(1000).unwrap();
    window.record(0);
    window.record(7);
    window.record(1_000_000);
    let summary = window.take();
    assert_eq!((summary.cnt, summary.outofrange), (3, 1));
    assert_eq!((summary.min, summary.max, summary.p99_99), (0, 1_000_000, 7));
    assert_eq!(window.take().outofrange, 0);
}

#[test]
fn manual_is_current() {
    let present = include_str!("../../../../docs/STATISTICS.md");
    assert_eq!(
        manual(),
        present,
        "docs/STATISTICS.md is old: run `cargo xtask gen-stats`"
    );
}
