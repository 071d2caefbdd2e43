//! Keeps what runs have found: of all inputs those that reach what neither the seeds nor a smaller input reach.

use std::ffi::OsString;
use std::fs;
use std::path::Path;

use ottla_fuzz::{Seen, Target, check};

use crate::engine::{Engine, option};
use crate::folders;

/// Larger inputs stay out of the source.
const BYTES_MAX: u64 = 2048;
/// Digits of an input's hash in its name.
const NAME_LEN: usize = 12;

pub(crate) fn run(targets: &[&'static Target]) -> Result<(), String> {
    let engine = Engine::build()?;
    println!("{:<18} {:>8} {:>8} {:>8}", "target", "inputs", "kept", "bytes");
    for target in targets {
        let (inputs, kept, bytes) = one(&engine, target)?;
        println!("{:<18} {inputs:>8} {kept:>8} {bytes:>8}", target.name);
    }
    Ok(())
}

/// Inputs whose names were given by people stay, whatever they reach.
fn is_generated(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    name.len() == NAME_LEN && name.bytes().all(|c| c.is_ascii_hexdigit())
}

/// Gives how many inputs there were, how many are kept, and their bytes.
fn one(engine: &Engine, target: &Target) -> Result<(usize, usize, usize), String> {
    let tracked = folders::made(folders::tracked(target))?;
    let work = folders::work(target)?;
    let chosen = folders::seeds(target)?;
    let seeds = folders::files(&chosen);
    let (given, generated): (Vec<_>, Vec<_>) = folders::files(&tracked).into_iter().partition(|p| !is_generated(p));
    for path in &given {
        let name = path.file_name().unwrap_or_default();
        fs::copy(path, chosen.join(name)).map_err(|e| format!("{}: {e}", path.display()))?;
    }
    let inputs = folders::files(&work).len() + generated.len();
    // Edges only: how often each ran would keep ten times as many.
    let args: Vec<OsString> = vec![
        option("merge", "1"),
        option("use_counters", "0"),
        option("max_len", target.len_max.min(BYTES_MAX as usize).to_string()),
        chosen.clone().into(),
        work.into(),
        tracked.clone().into(),
    ];
    let log = folders::logs()?.join(format!("{}-merge.log", target.name));
    if !engine.run(target, &args, &log)? {
        return Err(format!("{}: the merge failed, see {}", target.name, log.display()));
    }
    for path in &generated {
        fs::remove_file(path).map_err(|e| format!("{}: {e}", path.display()))?;
    }
    let (mut kept, mut bytes) = (given.len(), 0);
    for path in folders::files(&chosen) {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let is_old = seeds.contains(&path) || given.iter().any(|g| g.file_name() == path.file_name());
        let data = fs::read(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        let Some(short) = name.get(..NAME_LEN).filter(|_| !is_old) else {
            continue;
        };
        if matches!(check(target, &data), Ok(Seen::Accepted | Seen::Refused)) {
            folders::write(&tracked.join(short), &data)?;
            kept += 1;
            bytes += data.len();
        }
    }
    Ok((inputs, kept, bytes))
}
