//! Keeps what runs have found: of all inputs those that reach what neither the seeds nor a smaller input reach.

use std::ffi::OsString;
use std::fs;

use ottla_fuzz::{Seen, Target, check, corpus};

use crate::engine::{Engine, option};
use crate::folders;

/// Larger inputs stay out of the source.
const INPUT_BYTES_MAX: usize = 1024;
/// All inputs of a target together. The smallest are kept.
const BYTES_MAX: usize = 32 * 1024;

pub(crate) fn run(targets: &[&'static Target]) -> Result<(), String> {
    let engine = Engine::build()?;
    println!("{:<18} {:>8} {:>8} {:>8}", "target", "inputs", "kept", "bytes");
    for target in targets {
        let (inputs, kept, bytes) = one(&engine, target)?;
        println!("{:<18} {inputs:>8} {kept:>8} {bytes:>8}", target.name);
    }
    Ok(())
}

/// Returns the number of inputs before, the number of kept ones, and their bytes.
fn one(engine: &Engine, target: &Target) -> Result<(usize, usize, usize), String> {
    let (work, tracked) = (folders::work(target)?, folders::tracked(target)?);
    // The engine adds to this folder what reaches more.
    let chosen = folders::seeds(target)?;
    for (name, input) in corpus::named(target)? {
        folders::write(&chosen.join(name), &input)?;
    }
    let before = folders::files(&chosen);
    let inputs = folders::files(&work).len() + corpus::found(target)?.len();
    let args: Vec<OsString> = vec![
        option("merge", "1"),
        // Edges only: how often each ran would keep ten times as many.
        option("use_counters", "0"),
        option("max_len", target.len_max.min(INPUT_BYTES_MAX).to_string()),
        chosen.clone().into(),
        work.into(),
        tracked.into(),
    ];
    let log = folders::logs()?.join(format!("{}-merge.log", target.name));
    if !engine.run(target, &args, &log)? {
        return Err(format!("{}: the merge failed, see {}", target.name, log.display()));
    }
    let mut found = Vec::new();
    for path in folders::files(&chosen).iter().filter(|path| !before.contains(path)) {
        let data = fs::read(path).map_err(|e| format!("{}: {e}", path.display()))?;
        if matches!(check(target, &data), Ok(Seen::Accepted | Seen::Refused)) {
            found.push(data);
        }
    }
    found.sort_by(|a, b| a.len().cmp(&b.len()).then_with(|| a.cmp(b)));
    let mut bytes = 0;
    found.retain(|input| {
        bytes += input.len();
        bytes <= BYTES_MAX
    });
    corpus::write_found(target, &found)?;
    Ok((inputs, found.len(), found.iter().map(Vec::len).sum()))
}
