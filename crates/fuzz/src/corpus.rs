//! The inputs that are kept with the source.
//!
//! `corpus/TARGET/` holds files that people named, each an input that once showed a defect, and [`FOUND`]: inputs that
//! runs have found, one a line in hexadecimal, so that some hundred of them are one file.

use std::fs;
use std::path::PathBuf;

use crate::Target;

/// The file of inputs that were found by runs.
pub const FOUND: &str = "found.hex";

/// Returns the folder of all corpora.
pub fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("corpus")
}

/// Returns the inputs that people named, by name.
///
/// # Errors
/// A file that cannot be read.
pub fn named(target: &Target) -> Result<Vec<(String, Vec<u8>)>, String> {
    let folder = folder().join(target.name);
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name != FOUND {
            let data = fs::read(entry.path()).map_err(|e| format!("{}: {e}", entry.path().display()))?;
            all.push((name, data));
        }
    }
    all.sort();
    Ok(all)
}

/// Returns the inputs that runs have found.
///
/// # Errors
/// A line that is not hexadecimal.
pub fn found(target: &Target) -> Result<Vec<Vec<u8>>, String> {
    let path = folder().join(target.name).join(FOUND);
    let text = fs::read_to_string(&path).unwrap_or_default();
    let read = |line: &str| from_hex(line).ok_or_else(|| format!("{}: not hexadecimal: {line}", path.display()));
    text.lines().map(read).collect()
}

/// Replaces the inputs that runs have found.
///
/// # Errors
/// The file cannot be written.
pub fn write_found(target: &Target, inputs: &[Vec<u8>]) -> Result<(), String> {
    let hex = |input: &Vec<u8>| -> String {
        input
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .chain(["\n".into()])
            .collect()
    };
    let text: String = inputs.iter().map(hex).collect();
    let path = folder().join(target.name).join(FOUND);
    let made = path.parent().map_or(Ok(()), fs::create_dir_all);
    made.and_then(|()| fs::write(&path, text))
        .map_err(|e| format!("{}: {e}", path.display()))
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    let byte = |at| u8::from_str_radix(text.get(at..at + 2)?, 16).ok();
    (0..text.len()).step_by(2).map(byte).collect()
}
