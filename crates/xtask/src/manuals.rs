//! Generates documents from tables of the crate `ottla-core`.
//!
//! Examples of that crate print the documents. This program runs the examples as separate processes and does not depend on
//! the crate, so that the other checks work even while the client does not compile.

use std::path::Path;
use std::process::{Command, Stdio};

/// A generated document and its source.
struct Manual {
    file: &'static str,
    /// The example of `ottla-core` that prints it.
    example: &'static str,
    /// The name of the table, for errors.
    table: &'static str,
    /// The subcommand of `cargo xtask` that writes the document.
    command: &'static str,
}

/// Generates `docs/CONFIGURATION.md`. With `--check`, compares the file with the generated text instead of writing it.
///
/// # Errors
/// The client does not compile, the file cannot be read or written, or, with `--check`, the file differs.
pub(crate) fn configuration(args: &[String]) -> Result<(), String> {
    Manual {
        file: "docs/CONFIGURATION.md",
        example: "configuration",
        table: "property table",
        command: "gen-config",
    }
    .run(args)
}

/// Generates `docs/STATISTICS.md`. With `--check`, compares the file with the generated text instead of writing it.
///
/// # Errors
/// As for [`configuration`].
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
        let current = std::fs::read_to_string(&path).map_err(|e| format!("{file}: {e}"))?;
        if current == manual {
            return Ok(());
        }
        let different = current.lines().zip(manual.lines()).position(|(old, new)| old != new);
        let line = different.unwrap_or_else(|| current.lines().count().min(manual.lines().count())) + 1;
        let table = self.table;
        Err(format!(
            "{file}:{line}: differs from the {table}; run `cargo xtask {command}`"
        ))
    }

    /// Returns the text that the example prints.
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
