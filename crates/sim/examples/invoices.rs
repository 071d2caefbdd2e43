//! An application in simulated worlds, whose planted bug is found.
//!
//! A billing service reads orders and writes an invoice for each. It commits the offsets of the orders, so that after a crash
//! another instance continues where it stopped. When is an order done? The first version commits an order when its invoice
//! is produced, the second one when the invoice is acknowledged.
//!
//! ```text
//! cargo run --profile sim -p ottla-sim --example invoices
//! ```

use std::collections::BTreeMap;

use ottla_sim::TraceSink;
use ottla_sim::scenario::{Clients, Input, Logs, Record, Scenario, Turn};

const ORDERS: u64 = 100;

/// Writes an invoice for each order.
fn billing(commits_early: bool) -> impl FnMut(&mut Turn<'_>) {
    // The orders whose invoices are not acknowledged, by the number of the invoice.
    let mut open: BTreeMap<u64, Record> = BTreeMap::new();
    let mut done: Vec<Record> = Vec::new();
    move |turn| {
        while let Some(input) = turn.poll() {
            match input {
                Input::Record(order) => match turn.produce("invoices", b"", order.value.as_deref().unwrap_or_default())
                {
                    Ok(_) if commits_early => done.push(order),
                    Ok(number) => _ = open.insert(number, order),
                    // A crash is safe: nothing that is not committed is forgotten.
                    Err(_) => return turn.crash(),
                },
                // Another instance continues at the committed offset, and writes these invoices again.
                Input::Revoked { .. } => {
                    open.clear();
                    done.clear();
                }
                _ => {}
            }
        }
        while let Some(report) = turn.report() {
            match report.error {
                None => done.extend(open.remove(&report.number)),
                Some(error) => {
                    turn.note(&format!("invoice {}: {error}", report.number));
                    return turn.crash();
                }
            }
        }
        // An offset covers all orders before it: it is committed when nothing is open.
        if open.is_empty() && !done.is_empty() {
            if let Err(error) = turn.commit(&done) {
                turn.fail(&error.to_string());
            }
            done.clear();
        }
    }
}

/// Returns an error if an order has no invoice.
fn all_have_invoices(logs: &Logs) -> Result<(), String> {
    let invoices = logs.texts("invoices");
    for order in 0..ORDERS {
        if !invoices.contains(&order.to_string()) {
            return Err(format!("order {order} has none"));
        }
    }
    Ok(())
}

/// Returns the application with its invariant.
pub(crate) fn scenario(commits_early: bool) -> Scenario {
    let clients = || {
        Clients::new()
            .consumer("billing", &["orders"], &[("enable.auto.commit", "false")])
            .producer(&[])
    };
    Scenario::new()
        .topic("orders", 3)
        .topic("invoices", 2)
        .input("orders", (0..ORDERS).map(|order| order.to_string()))
        .process("billing", clients(), move |_| billing(commits_early))
        .process("billing", clients(), move |_| billing(commits_early))
        .eventually("every order has an invoice", all_have_invoices)
}

fn main() {
    let Err(failure) = scenario(true).check(1..=500) else {
        return println!("the first version holds");
    };
    println!("the first version fails. {failure}");
    let mut lines: Vec<String> = Vec::new();
    let (send, receive) = std::sync::mpsc::channel();
    let sink: TraceSink = Box::new(move |line| _ = send.send(line.to_string()));
    scenario(true).trace(failure.seed, sink);
    lines.extend(
        receive
            .try_iter()
            .filter(|line| line.contains("crashes") || line.contains("app commits")),
    );
    println!("its crashes and commits:\n  {}", lines.join("\n  "));

    match scenario(false).check(1..=500) {
        Ok(coverage) => println!("the second version holds in\n{coverage}"),
        Err(failure) => println!("the second version fails, too. {failure}"),
    }
}
