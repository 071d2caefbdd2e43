//! The command that replays findings.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;
use std::process::{Command, Output};

use ottla_fuzz::corpus;

fn fuzz(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_ottla-fuzz"))
        .args(args)
        .env("RUST_BACKTRACE", "0")
        .output()
        .unwrap()
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn a_finding_can_be_replayed() {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("finding");
    std::fs::write(&file, [0, 9, 1]).unwrap();
    let output = fuzz(&["replay", "canary_panic", file.to_str().unwrap()]);
    assert!(!output.status.success());
    assert!(text(&output).contains("FINDING: panic"), "{output:?}");
}

#[test]
fn what_was_mended_stays_mended() {
    let file = corpus::folder().join("endpoints/two-ports");
    let output = fuzz(&["replay", "endpoints", file.to_str().unwrap()]);
    assert!(output.status.success());
    assert!(text(&output).contains("refused"), "{output:?}");
}

#[test]
fn targets_are_listed() {
    let output = fuzz(&["list"]);
    for target in ottla_fuzz::TARGETS {
        assert!(text(&output).contains(target.name));
    }
    assert!(!fuzz(&["replay", "nothing", "x"]).status.success());
}
