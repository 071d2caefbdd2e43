//! Checks files of test vectors: every message must come back unchanged after decoding and encoding.
//!
//! A line holds, tab separated: API key, API name, `request` or `response`, version, the body in hexadecimal without
//! header, and the message in JSON, which is not looked at. Lines of APIs that have no schema here are counted apart.
//! The exit status is 1 when any message differs, fails or cannot be parsed, or when a file holds no message at all.

use std::collections::BTreeMap;
use std::process::ExitCode;

use bytes::Bytes;
use ottla_protocol::ApiKey;
use ottla_protocol::api::{Api, Direction};

/// What came of one line.
enum Outcome {
    Held,
    Skipped { api: String },
    Failed(String),
}

#[derive(Default)]
struct Totals {
    held: usize,
    failed: usize,
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
    if good {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
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
    for (index, line) in text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.is_empty())
    {
        match check_line(line) {
            Outcome::Held => totals.held += 1,
            Outcome::Skipped { api } => *totals.skipped.entry(api).or_default() += 1,
            Outcome::Failed(reason) => {
                totals.failed += 1;
                println!("{file}:{}: {reason}", index + 1);
            }
        }
    }
    Ok(totals)
}

fn check_line(line: &str) -> Outcome {
    let mut fields = line.split('\t');
    let mut field = || fields.next().unwrap_or_default();
    let (key, name, direction, version, hex) = (field(), field(), field(), field(), field());
    let what = format!("{name} {direction} v{version}");
    let (Ok(key), Ok(version)) = (key.parse(), version.parse()) else {
        return Outcome::Failed(format!("{what}: key or version is not a number"));
    };
    let direction = match direction {
        "request" => Direction::Request,
        "response" => Direction::Response,
        _ => return Outcome::Failed(format!("{what}: neither request nor response")),
    };
    let Some(body) = parse_hex(hex) else {
        return Outcome::Failed(format!("{what}: body is not hexadecimal"));
    };
    let Some(api) = Api::find(ApiKey(key)) else {
        return Outcome::Skipped {
            api: format!("{name} ({key})"),
        };
    };
    match api.transcode(direction, version, body.clone()) {
        Err(error) => Outcome::Failed(format!("{what}: {error}")),
        Ok(frame) => compare(&what, &body, &frame.into_bytes()),
    }
}

fn compare(what: &str, expected: &[u8], actual: &[u8]) -> Outcome {
    if expected == actual {
        return Outcome::Held;
    }
    let same = expected
        .iter()
        .zip(actual)
        .take_while(|(a, b)| a == b)
        .count();
    Outcome::Failed(format!(
        "{what}: differs from byte {same} on ({} bytes expected, {} written)",
        expected.len(),
        actual.len()
    ))
}

fn parse_hex(text: &str) -> Option<Bytes> {
    let digits: Option<Vec<u8>> = text
        .chars()
        .map(|c| c.to_digit(16).map(|digit| digit as u8))
        .collect();
    let digits = digits?;
    let (pairs, rest) = digits.as_chunks::<2>();
    rest.is_empty()
        .then(|| pairs.iter().map(|[high, low]| high << 4 | low).collect())
}
