//! Random mutations of real messages and record batches through the decoders:
//! they may refuse, never panic, and what they accept must survive another turn.
//!
//! Needs no fuzzing engine, so it runs wherever the project builds; it has no
//! coverage feedback either. The seed is printed first and replays the run.

use std::fs;
use std::panic::{self, AssertUnwindSafe};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use ottla_protocol::ApiKey;
use ottla_protocol::api::{Api, Direction};
use ottla_protocol::compression::Codec;
use ottla_protocol::record::{BatchIter, BatchParams, RecordEncoder, seal_batch};

use crate::source;

/// Where the messages to start from stand.
const VECTORS: &[&str] = &[
    "crates/protocol/tests/vectors/kafka-4.3.tsv",
    "crates/protocol/tests/vectors/kafka-3.9-removed.tsv",
];

/// What a decompressed batch may come to here, in bytes.
const DECOMPRESSED_BYTES_MAX: usize = 1 << 20;

/// Something to mutate.
#[derive(Clone)]
enum Subject {
    Message {
        key: ApiKey,
        direction: Direction,
        version: i16,
        body: Bytes,
    },
    Records(Bytes),
}

/// Runs for some time. Options: `--seconds N` (60), `--seed N` (from the clock).
pub(crate) fn run(args: &[String]) -> Result<(), String> {
    let mut seconds = 60;
    let mut seed = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(1, |d| d.as_nanos() as u64);
    let mut rest = args.iter();
    while let Some(option) = rest.next() {
        let value = rest.next().and_then(|v| v.parse::<u64>().ok());
        match (option.as_str(), value) {
            ("--seconds", Some(value)) => seconds = value,
            ("--seed", Some(value)) => seed = value,
            _ => return Err("usage: fuzz [--seconds N] [--seed N]".into()),
        }
    }
    let subjects = subjects()?;
    println!("seed {seed}: {} messages to start from", subjects.len());
    let mut rng = fastrand::Rng::with_seed(seed);
    let until = Instant::now() + Duration::from_secs(seconds);
    let (mut runs, mut accepted) = (0_u64, 0_u64);
    // A panic is reported below with what led to it.
    panic::set_hook(Box::new(|_| {}));
    while Instant::now() < until {
        for _ in 0..256 {
            let subject = mutate(&rng.choice(&subjects).cloned().ok_or("no messages")?, &mut rng);
            runs += 1;
            match panic::catch_unwind(AssertUnwindSafe(|| try_one(&subject))) {
                Ok(Ok(true)) => accepted += 1,
                Ok(Ok(false)) => {}
                Ok(Err(problem)) => return Err(describe(seed, &subject, &problem)),
                Err(payload) => {
                    let text = payload.downcast_ref::<String>().cloned();
                    let text = text.or(payload.downcast_ref::<&str>().map(|s| s.to_string()));
                    let problem = format!("panic: {}", text.unwrap_or_default());
                    return Err(describe(seed, &subject, &problem));
                }
            }
        }
    }
    println!("{runs} mutations, {accepted} of them accepted and stable, 0 failures");
    if accepted == 0 {
        Err("nothing was ever accepted: the mutations are too wild".into())
    } else {
        Ok(())
    }
}

/// What is to be done with one subject; whether it was accepted, or what is wrong.
fn try_one(subject: &Subject) -> Result<bool, String> {
    match subject {
        Subject::Message {
            key,
            direction,
            version,
            body,
        } => {
            let api = Api::find(*key).ok_or("no such API")?;
            let Ok(frame) = api.transcode(*direction, *version, body.clone()) else {
                return Ok(false);
            };
            // Another encoding of the same message may be shorter, but not change again.
            let once = frame.into_bytes();
            match api
                .transcode(*direction, *version, once.clone())
                .map(|f| f.into_bytes())
            {
                Ok(twice) if twice == once => Ok(true),
                Ok(_) => Err("what was written is written differently again".into()),
                Err(e) => Err(format!("what was written is refused: {e}")),
            }
        }
        Subject::Records(data) => read_records(data),
    }
}

fn read_records(data: &Bytes) -> Result<bool, String> {
    let mut count = 0;
    for batch in BatchIter::new(data.clone()) {
        let Ok(batch) = batch else { break };
        let Ok(records) = batch.decompress(DECOMPRESSED_BYTES_MAX) else {
            continue;
        };
        if records.bytes().len() > DECOMPRESSED_BYTES_MAX.max(data.len()) {
            return Err(format!("{} bytes: more than the bound", records.bytes().len()));
        }
        for record in &records {
            let Ok(record) = record else { break };
            count += 1 + record.headers.iter().count();
        }
    }
    Ok(count > 0)
}

fn describe(seed: u64, subject: &Subject, problem: &str) -> String {
    let hex = |body: &Bytes| body.iter().map(|b| format!("{b:02x}")).collect::<String>();
    match subject {
        Subject::Message {
            key,
            direction,
            version,
            body,
        } => {
            format!(
                "seed {seed}: API {} {direction:?} version {version}: {problem}\n{}",
                key.0,
                hex(body)
            )
        }
        Subject::Records(data) => format!("seed {seed}: record data: {problem}\n{}", hex(data)),
    }
}

/// Changes a few bytes: cut, flipped, set to an edge, removed, doubled, spliced.
fn mutate(subject: &Subject, rng: &mut fastrand::Rng) -> Subject {
    let mut subject = subject.clone();
    let body = match &mut subject {
        Subject::Message { body, version, .. } => {
            if rng.u8(..16) == 0 {
                *version = rng.i16(0..20);
            }
            body
        }
        Subject::Records(data) => data,
    };
    let mut bytes = body.to_vec();
    for _ in 0..rng.usize(1..4) {
        if bytes.is_empty() {
            bytes.push(rng.u8(..));
        }
        let at = rng.usize(..bytes.len());
        match rng.u8(..7) {
            0 => bytes.truncate(at),
            1 => bytes[at] ^= 1 << rng.u8(..8),
            2 => bytes[at] = rng.choice([0, 1, 0x7f, 0x80, 0xff]).unwrap_or(0),
            3 => drop(bytes.remove(at)),
            4 => bytes.insert(at, rng.u8(..)),
            5 => bytes[at] = rng.u8(..),
            _ => {
                let end = (at + rng.usize(1..16)).min(bytes.len());
                let piece = bytes[at..end].to_vec();
                bytes.splice(at..at, piece);
            }
        }
    }
    *body = bytes.into();
    subject
}

fn subjects() -> Result<Vec<Subject>, String> {
    let mut found = Vec::new();
    for file in VECTORS {
        let text = fs::read_to_string(source::root().join(file)).map_err(|e| format!("{file}: {e}"))?;
        found.extend(text.lines().filter_map(message));
    }
    if found.is_empty() {
        return Err("no message in the test vectors".into());
    }
    // As many record batches as messages: they are read more than anything else.
    for index in 0..found.len() {
        let codec = Codec::ALL[index % Codec::ALL.len()];
        found.push(Subject::Records(batch(codec, index)?));
    }
    Ok(found)
}

/// A line of a vector file: key, name, direction, version, body in hexadecimal.
fn message(line: &str) -> Option<Subject> {
    let mut fields = line.split('\t');
    let key = ApiKey(fields.next()?.parse().ok()?);
    Api::find(key)?;
    let direction = match fields.nth(1)? {
        "request" => Direction::Request,
        _ => Direction::Response,
    };
    let version = fields.next()?.parse().ok()?;
    let hex = fields.next()?;
    let byte = |at| u8::from_str_radix(hex.get(at..at + 2)?, 16).ok();
    let body: Option<Vec<u8>> = (0..hex.len()).step_by(2).map(byte).collect();
    Some(Subject::Message {
        key,
        direction,
        version,
        body: body?.into(),
    })
}

fn batch(codec: Codec, index: usize) -> Result<Bytes, String> {
    let count = 1 + index % 7;
    let mut records = Vec::new();
    for n in 0..count {
        let value = vec![b'v'; (index * 7 + n * 13) % 200];
        RecordEncoder::append(
            &mut records,
            n as i32,
            10,
            Some(b"key"),
            Some(&value),
            std::iter::empty(),
        );
    }
    let params = BatchParams {
        last_offset_delta: count as i32 - 1,
        records_count: count as i32,
        ..BatchParams::default()
    };
    let sealed = seal_batch(&params, &[records.into()], codec, None);
    Ok(sealed
        .map_err(|e| format!("a batch could not be made: {e}"))?
        .into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unchanged_subjects_are_accepted() {
        for subject in subjects().unwrap() {
            assert_eq!(try_one(&subject), Ok(true), "{}", describe(0, &subject, "not accepted"));
        }
    }

    #[test]
    fn a_short_run_finds_nothing() {
        run(&["--seconds".into(), "1".into(), "--seed".into(), "7".into()]).unwrap();
    }
}
