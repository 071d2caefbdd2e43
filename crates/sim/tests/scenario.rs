//! Scenarios: what they find, and what they repeat.

#[allow(dead_code)] // its main function
#[path = "../examples/invoices.rs"]
mod invoices;

use std::sync::{Arc, Mutex};

use ottla_sim::TraceSink;
use ottla_sim::scenario::{Clients, Input, Scenario, Turn};

/// A scenario with 20 records in the topic `in`.
fn with_input() -> Scenario {
    let values = (0..20).map(|number| number.to_string());
    Scenario::new().topic("in", 2).input("in", values)
}

fn traced(scenario: &Scenario, seed: u64) -> String {
    let text = Arc::new(Mutex::new(String::new()));
    let lines = text.clone();
    let sink: TraceSink = Box::new(move |line| {
        if let Ok(mut text) = lines.lock() {
            text.push_str(line);
            text.push('\n');
        }
    });
    scenario.trace(seed, sink);
    text.lock().map(|text| text.clone()).unwrap_or_default()
}

#[test]
fn a_commit_before_the_acknowledgement_is_found() {
    let failure = invoices::scenario(true).check(1..=200).unwrap_err();
    assert!(
        failure.violation.contains("every order has an invoice: order"),
        "{failure}"
    );
    assert_eq!(
        invoices::scenario(true).run(failure.seed).violation,
        Some(failure.violation)
    );
}

#[test]
fn a_commit_after_the_acknowledgement_holds_in_all_worlds() {
    let coverage = invoices::scenario(false).check(1..=100).unwrap();
    assert_eq!(coverage.worlds, 100);
    for what in [
        "processes crashed",
        "processes stopped for a while",
        "commits",
        "reports to processes",
    ] {
        assert!(coverage.counted(what) > 0, "{what}");
    }
    assert!(coverage.faults().count() > 10, "kinds of faults of brokers and groups");
}

#[test]
fn a_seed_has_one_trace() {
    let scenario = invoices::scenario(false);
    let first = traced(&scenario, 7);
    assert!(first.lines().count() > 100);
    assert!(first == traced(&scenario, 7));
    assert!(first != traced(&scenario, 8));
}

#[test]
fn what_never_happens_is_a_violation() {
    let idle = with_input().eventually("there are 21 numbers", |logs| {
        match logs.texts("in").contains(&"20".into()) {
            true => Ok(()),
            false => Err("20 is missing".into()),
        }
    });
    let violation = idle.run(1).violation.unwrap();
    assert!(
        violation.ends_with("there are 21 numbers: 20 is missing"),
        "{violation}"
    );
}

#[test]
fn an_invariant_of_all_times_ends_the_world() {
    let full = with_input().always("there are at most 5 records", |logs| match logs.records("in").len() {
        ..=5 => Ok(()),
        _ => Err("there are more".into()),
    });
    assert_eq!(
        full.run(1).violation.as_deref(),
        Some("there are at most 5 records: there are more")
    );
}

#[test]
fn a_process_can_fail_a_world_and_panic() {
    let reader = || Clients::new().consumer("readers", &["in"], &[]);
    let failing = with_input().process("reader", reader(), |_| {
        |turn: &mut Turn<'_>| {
            if let Some(Input::Record(record)) = turn.poll() {
                turn.fail(&format!("{} is read", record.topic));
            }
        }
    });
    assert_eq!(failing.run(3).violation.as_deref(), Some("reader: in is read"));
    let panicking = with_input().process("reader", reader(), |_| |_: &mut Turn<'_>| panic!("a defect"));
    assert_eq!(panicking.run(3).violation.as_deref(), Some("a panic: a defect"));
}

#[test]
fn a_wrong_property_is_told() {
    let wrong = Scenario::new().process("p", Clients::new().producer(&[("acks", "seven")]), |_| {
        |_: &mut Turn<'_>| {}
    });
    let violation = wrong.run(1).violation.unwrap();
    assert!(violation.contains("acks"), "{violation}");
}
