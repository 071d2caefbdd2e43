//! The engine's binary: built with coverage, run as a process for each target.

use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use ottla_fuzz::Target;

use crate::folders;

/// LLVM's pass that counts the executed edges and reports compared values to the engine.
const FLAGS: &[&str] = &[
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
];

/// The built engine.
pub(crate) struct Engine(PathBuf);

impl Engine {
    /// Builds it where it does not disturb other builds.
    pub(crate) fn build() -> Result<Self, String> {
        let compiler = std::env::var_os("CXX").unwrap_or_else(|| "c++".into());
        let found = Command::new(&compiler).arg("--version").output();
        if !found.is_ok_and(|out| out.status.success()) {
            let compiler = compiler.display();
            return Err(format!(
                "the engine needs a C++ compiler, and {compiler} does not run: apt-get install g++"
            ));
        }
        let host = host()?;
        let target_dir = match std::env::var_os("CARGO_TARGET_DIR") {
            Some(folder) => PathBuf::from(folder),
            None => folders::root().join("target"),
        };
        let target_dir = target_dir.join("fuzz-engine");
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        // With a target named, build scripts and macros are built without the flags.
        let status = Command::new(cargo)
            .args([
                "build",
                "-q",
                "-p",
                "ottla-fuzz",
                "--bin",
                "ottla-fuzz-engine",
                "--features",
                "engine",
            ])
            .args(["--profile", "sim", "--target", &host, "--target-dir"])
            .arg(&target_dir)
            .env("CARGO_ENCODED_RUSTFLAGS", FLAGS.join("\u{1f}"))
            .current_dir(folders::root())
            .status()
            .map_err(|e| format!("cargo does not run: {e}"))?;
        match status.success() {
            true => Ok(Engine(target_dir.join(host).join("sim/ottla-fuzz-engine"))),
            false => Err("the engine does not build".into()),
        }
    }

    /// Runs it with its output in a file; true when it ended well.
    pub(crate) fn run(&self, target: &Target, args: &[OsString], log: &Path) -> Result<bool, String> {
        let file = || File::create(log).map_err(|e| format!("{}: {e}", log.display()));
        let status = Command::new(&self.0)
            .args(args)
            .env("OTTLA_FUZZ_TARGET", target.name)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(file()?)
            .status()
            .map_err(|e| format!("{}: {e}", self.0.display()))?;
        Ok(status.success())
    }
}

/// Returns the compiler's default target triple.
fn host() -> Result<String, String> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc)
        .arg("-vV")
        .current_dir(folders::root())
        .output()
        .map_err(|e| format!("rustc does not run: {e}"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = text.lines().find_map(|line| line.strip_prefix("host: "));
    line.map(str::to_owned)
        .ok_or_else(|| "rustc does not name its host".into())
}

/// `-name=value`, as the engine takes its options.
pub(crate) fn option(name: &str, value: impl Into<OsString>) -> OsString {
    let mut option = OsString::from(format!("-{name}="));
    option.push(value.into());
    option
}
