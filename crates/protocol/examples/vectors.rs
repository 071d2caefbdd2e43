//! Checks files of test vectors: every message must come back unchanged after decoding and encoding.
//!
//! `vectors FILE...` prints differences and, for each file, how many messages hold. Lines of APIs that have no schema
//! here are counted apart. The exit status is 1 when any message differs, fails or cannot be parsed, or when a file
//! holds no message that could be checked; 2 without arguments.

#[path = "../tests/support/vectors.rs"]
mod vectors;

use std::collections::BTreeMap;
use std::process::ExitCode;

use ottla_protocol::api::Api;
use vectors::Vector;

#[derive(Default)]
struct Totals {
    held: usize,
    failed: usize,
    /// Lines by the name of an API without schema.
    skipped: BTreeMap<String, usize>,
}

fn main() -> ExitCode {
    let files: Vec<String> = std::env::args().skip(1).collect();
    if files.is_empty() {
        eprintln!("usage: vectors FILE...");
        return ExitCode::from(2);
    }
    let mut good = true;
    for file in &files {
        match check_file(file) {
            Ok(totals) => {
                print_totals(file, &totals);
                good &= totals.failed == 0 && totals.held > 0;
            }
            Err(error) => {
                eprintln!("{file}: {error}");
                good = false;
            }
        }
    }
    match good {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}

fn print_totals(file: &str, totals: &Totals) {
    let skipped: usize = totals.skipped.values().sum();
    println!(
        "{file}: {} hold, {} differ, {skipped} skipped (no schema)",
        totals.held, totals.failed
    );
    for (api, count) in &totals.skipped {
        println!("  skipped {api}: {count}");
    }
}

fn check_file(file: &str) -> std::io::Result<Totals> {
    let text = std::fs::read_to_string(file)?;
    let mut totals = Totals::default();
    for (index, line) in text.lines().enumerate() {
        if line.is_empty() {
            continue;
        }
        let result = Vector::parse(line).and_then(|vector| match Api::find(vector.key) {
            Some(api) => check(api, &vector).map(|()| None),
            None => Ok(Some(format!("{} ({})", vector.name, vector.key.0))),
        });
        match result {
            Ok(None) => totals.held += 1,
            Ok(Some(api)) => *totals.skipped.entry(api).or_default() += 1,
            Err(reason) => {
                totals.failed += 1;
                println!("{file}:{}: {reason}", index + 1);
            }
        }
    }
    Ok(totals)
}

fn check(api: &Api, vector: &Vector) -> Result<(), String> {
    let frame = api
        .transcode(vector.direction, vector.version, vector.body.clone())
        .map_err(|error| format!("{vector}: {error}"))?;
    let (expected, written) = (&vector.body, frame.into_bytes());
    if *expected == written {
        return Ok(());
    }
    let same = expected.iter().zip(&written).take_while(|(a, b)| a == b).count();
    Err(format!(
        "{vector}: differs from byte {same} on ({} bytes expected, {} written)",
        expected.len(),
        written.len()
    ))
}
