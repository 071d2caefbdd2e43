//! The project's own checks and generators: `cargo xtask NAME`.
//!
//! Each subcommand is one module with `run(args)`, which returns what is wrong
//! as text, one finding a line.

use std::process::ExitCode;

mod comments;
mod cycles;
mod header;
mod impls;
mod layers;
mod licences;
mod manuals;
mod modules;
mod prose;
mod source;
mod tidy;

/// A subcommand: its name, what it does, and the function that does it.
type Command = (&'static str, &'static str, fn(&[String]) -> Result<(), String>);

const COMMANDS: &[Command] = &[
    (
        "layers",
        "check which crate and module imports which (layers.toml)",
        layers::run,
    ),
    (
        "cycles",
        "print the modules that import one another in cycles: [CRATE]...",
        cycles::run,
    ),
    (
        "tidy",
        "check file and function lengths, leftovers, links (tidy.toml)",
        tidy::run,
    ),
    (
        "prose",
        "print how often comments use some phrases; with arguments, where: [AREA]...",
        prose::run,
    ),
    (
        "licences",
        "check the dependencies' licences against deny.toml",
        licences::run,
    ),
    (
        "gen-config",
        "write docs/CONFIGURATION.md from the property table: [--check]",
        manuals::configuration,
    ),
    (
        "gen-stats",
        "write docs/STATISTICS.md from the table of fields: [--check]",
        manuals::statistics,
    ),
    (
        "header",
        "compare the C headers with what the shared library exports",
        header::run,
    ),
];

fn usage() -> String {
    let mut text = String::from("usage: cargo xtask COMMAND [ARGUMENT]...\n");
    for (name, what, _) in COMMANDS {
        text.push_str(&format!("  {name:<12} {what}\n"));
    }
    text
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let Some((name, rest)) = args.split_first() else {
        eprint!("{}", usage());
        return ExitCode::from(2);
    };
    let Some((_, _, run)) = COMMANDS.iter().find(|(known, _, _)| known == name) else {
        eprint!("xtask: no command {name:?}\n{}", usage());
        return ExitCode::from(2);
    };
    match run(rest) {
        Ok(()) => ExitCode::SUCCESS,
        Err(findings) => {
            eprintln!("{}", findings.trim_end());
            ExitCode::FAILURE
        }
    }
}
