//! Reduces the inputs that runs have found to those that reach code that neither the seeds nor a smaller input reaches, and
//! writes them to the source tree.

use std::ffi::OsString;
use std::fs;

use ottla_fuzz::{Seen, Target, check, corpus};

use crate::engine::{Engine, option};
use crate::folders;

/// The maximum size of a kept input.
const INPUT_BYTES_MAX: usize = 1024;
/// The maximum size of all kept inputs of a target; the smallest inputs have priority.
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

/// Reduces the inputs of one target. Returns the number of inputs before, the number of kept ones, and their bytes.
fn one(engine: &Engine, target: &Target) -> Result<(usize, usize, usize), String> {
    let (work, tracked) = (folders::work(target)?, folders::tracked(target)?);
    // libFuzzer merges into the first folder: it adds the inputs of the others that reach more code than the seeds.
    let chosen = folders::seeds(target)?;
    for (name, input) in corpus::named(target)? {
        folders::write(&chosen.join(name), &input)?;
    }
    let before = folders::files(&chosen);
    let inputs = folders::files(&work).len() + corpus::found(target)?.len();
    let args: Vec<OsString> = vec![
        option("merge", "1"),
        // Compares the edges reached only: with the counts of each edge, ten times as many inputs would be kept.
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
