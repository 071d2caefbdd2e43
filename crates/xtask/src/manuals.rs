//! Documents that are generated from tables.
//!
//! The tables live in the crate `ottla-core`, whose examples print them; running those, rather than depending on the crate,
//! keeps the other checks independent of whether the client compiles.

use std::path::Path;
use std::process::{Command, Stdio};

/// A document, and what it comes from.
struct Manual {
    file: &'static str,
    /// The example of `ottla-core` that prints it.
    example: &'static str,
    table: &'static str,
    command: &'static str,
}

/// Writes `docs/CONFIGURATION.md`; with `--check`, compares it with the file instead.
///
/// # Errors
/// The client does not compile, the file cannot be read or written, or, with `--check`, it differs.
pub(crate) fn configuration(args: &[String]) -> Result<(), String> {
    Manual {
        file: "docs/CONFIGURATION.md",
        example: "configuration",
        table: "property table",
        command: "gen-config",
    }
    .run(args)
}

/// Writes `docs/STATISTICS.md`; with `--check`, compares it with the file instead.
///
/// # Errors
/// As of [`configuration`].
pub(crate) fn statistics(args: &[String]) -> Result<(), String> {
    Manual {
        file: "docs/STATISTICS.md",
        example: "statistics",
        table: "table of fields",
        command: "gen-stats",
    }
    .run(args)
}

impl Manual {
    fn run(&self, args: &[String]) -> Result<(), String> {
        let (file, command) = (self.file, self.command);
        let check = match args {
            [] => false,
            [arg] if arg == "--check" => true,
            _ => return Err(format!("usage: cargo xtask {command} [--check]")),
        };
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let path = root.join(file);
        let manual = self.print(&root)?;
        if !check {
            return std::fs::write(&path, manual).map_err(|e| format!("{file}: {e}"));
        }
        let there = std::fs::read_to_string(&path).map_err(|e| format!("{file}: {e}"))?;
        if there == manual {
            return Ok(());
        }
        let different = there.lines().zip(manual.lines()).position(|(old, new)| old != new);
        let line = different.unwrap_or_else(|| there.lines().count().min(manual.lines().count())) + 1;
        let table = self.table;
        Err(format!(
            "{file}:{line}: differs from the {table}; run `cargo xtask {command}`"
        ))
    }

    fn print(&self, root: &Path) -> Result<String, String> {
        let output = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
            .args(["run", "-q", "-p", "ottla-core", "--example", self.example])
            .current_dir(root)
            .stderr(Stdio::inherit())
            .output()
            .map_err(|e| format!("cargo: {e}"))?;
        if !output.status.success() {
            return Err(format!(
                "the manual could not be printed: ottla-core's example `{}` failed",
                self.example
            ));
        }
        String::from_utf8(output.stdout).map_err(|e| format!("the manual is not UTF-8: {e}"))
    }
}
