//! `docs/CONFIGURATION.md`, generated from the property table.
//!
//! The table lives in the crate `ottla`, whose example `configuration` prints the manual; running it, rather than
//! depending on the crate, keeps the other checks independent of whether the client compiles.

use std::path::Path;
use std::process::{Command, Stdio};

const MANUAL: &str = "docs/CONFIGURATION.md";

/// Writes the manual; with `--check`, compares it with the file instead.
///
/// # Errors
/// The client does not compile, the file cannot be read or written, or, with `--check`, it differs.
pub(crate) fn run(args: &[String]) -> Result<(), String> {
    let check = match args {
        [] => false,
        [arg] if arg == "--check" => true,
        _ => return Err("usage: cargo xtask gen-config [--check]".to_owned()),
    };
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let path = root.join(MANUAL);
    let manual = print_manual(&root)?;
    if !check {
        return std::fs::write(&path, manual).map_err(|e| format!("{MANUAL}: {e}"));
    }
    let there = std::fs::read_to_string(&path).map_err(|e| format!("{MANUAL}: {e}"))?;
    if there == manual {
        return Ok(());
    }
    let different = there.lines().zip(manual.lines()).position(|(old, new)| old != new);
    let line = different.unwrap_or_else(|| there.lines().count().min(manual.lines().count())) + 1;
    Err(format!(
        "{MANUAL}:{line}: differs from the property table; run `cargo xtask gen-config`"
    ))
}

fn print_manual(root: &Path) -> Result<String, String> {
    let output = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["run", "-q", "-p", "ottla", "--example", "configuration"])
        .current_dir(root)
        .stderr(Stdio::inherit())
        .output()
        .map_err(|e| format!("cargo: {e}"))?;
    if !output.status.success() {
        return Err("the manual could not be printed: ottla's example `configuration` failed".to_owned());
    }
    String::from_utf8(output.stdout).map_err(|e| format!("the manual is not UTF-8: {e}"))
}
