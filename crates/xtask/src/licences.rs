//! The licence check: the licences that `deny.toml` allows must satisfy the SPDX expression of every dependency, and every
//! dependency must come from crates.io. It is quick enough for every test run; `make deny` checks the rest of the policy.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use crate::source;

/// Checks all packages that `cargo metadata` lists.
pub(crate) fn run(args: &[String]) -> Result<(), String> {
    if !args.is_empty() {
        return Err("licences takes no arguments".into());
    }
    let root = source::root();
    let text = fs::read_to_string(root.join("deny.toml")).map_err(|e| format!("deny.toml: {e}"))?;
    let allowed = allowed(&text)?;
    let output = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["metadata", "--format-version", "1", "--locked"])
        .current_dir(&root)
        .output()
        .map_err(|e| format!("cargo metadata: {e}"))?;
    if !output.status.success() {
        return Err(format!("cargo metadata: {}", String::from_utf8_lossy(&output.stderr)));
    }
    let metadata: serde_json::Value =
        serde_json::from_slice(&output.stdout).map_err(|e| format!("cargo metadata: {e}"))?;
    let mut findings = Vec::new();
    for package in metadata["packages"].as_array().into_iter().flatten() {
        let name = package["name"].as_str().unwrap_or("?");
        let version = package["version"].as_str().unwrap_or("?");
        match package["license"].as_str() {
            None => findings.push(format!("{name} {version}: names no licence")),
            Some(expression) => match is_met(expression, &allowed) {
                Ok(true) => {}
                Ok(false) => findings.push(format!("{name} {version}: {expression}: not allowed by deny.toml")),
                Err(error) => findings.push(format!("{name} {version}: {expression}: {error}")),
            },
        }
        // No source: a crate of this workspace. Everything else is from crates.io.
        let from = package["source"].as_str();
        if from.is_some_and(|s| s != "registry+https://github.com/rust-lang/crates.io-index") {
            findings.push(format!("{name} {version}: comes from {}", from.unwrap_or_default()));
        }
    }
    if findings.is_empty() {
        Ok(())
    } else {
        Err(findings.join("\n"))
    }
}

/// Returns the list `licenses.allow` of the text of `deny.toml`.
fn allowed(text: &str) -> Result<BTreeSet<String>, String> {
    let table: toml::Table = text.parse().map_err(|e| format!("deny.toml: {e}"))?;
    let list = table
        .get("licenses")
        .and_then(|l| l.get("allow"))
        .and_then(|a| a.as_array());
    let list = list.ok_or("deny.toml: [licenses] allow is missing")?;
    Ok(list.iter().filter_map(|v| v.as_str()).map(str::to_owned).collect())
}

/// Returns whether the licences in `allowed` satisfy an SPDX expression: OR needs one side, AND both. `/` means OR in old
/// manifests.
///
/// # Errors
/// The expression is malformed.
fn is_met(expression: &str, allowed: &BTreeSet<String>) -> Result<bool, String> {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut at = 0;
    let met = any(&words, &mut at, allowed)?;
    match words.get(at) {
        None => Ok(met),
        Some(word) => Err(format!("{word:?} is out of place")),
    }
}

/// Parses and evaluates a list of operands of OR, which binds weaker than AND.
fn any(words: &[&str], at: &mut usize, allowed: &BTreeSet<String>) -> Result<bool, String> {
    let mut met = all(words, at, allowed)?;
    while words.get(*at) == Some(&"OR") {
        *at += 1;
        met |= all(words, at, allowed)?;
    }
    Ok(met)
}

/// Parses and evaluates a list of operands of AND.
fn all(words: &[&str], at: &mut usize, allowed: &BTreeSet<String>) -> Result<bool, String> {
    let mut met = one(words, at, allowed)?;
    while words.get(*at) == Some(&"AND") {
        *at += 1;
        met &= one(words, at, allowed)?;
    }
    Ok(met)
}

/// Parses and evaluates a licence, with its exception, or an expression in parentheses.
fn one(words: &[&str], at: &mut usize, allowed: &BTreeSet<String>) -> Result<bool, String> {
    let word = *words.get(*at).ok_or("ends too early")?;
    *at += 1;
    if word == "(" {
        let met = any(words, at, allowed)?;
        if words.get(*at) != Some(&")") {
            return Err("a parenthesis is not closed".into());
        }
        *at += 1;
        return Ok(met);
    }
    if matches!(word, "OR" | "AND" | "WITH" | ")") {
        return Err(format!("{word:?} is out of place"));
    }
    if words.get(*at) == Some(&"WITH") {
        let exception = words.get(*at + 1).ok_or("ends after WITH")?;
        *at += 2;
        // An exception only adds permissions to those of the licence.
        return Ok(allowed.contains(&format!("{word} WITH {exception}")) || allowed.contains(word));
    }
    Ok(allowed.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn met(expression: &str) -> Result<bool, String> {
        is_met(expression, &["MIT", "Apache-2.0", "Zlib"].map(str::to_owned).into())
    }

    #[test]
    fn expressions_are_evaluated() {
        for yes in [
            "MIT",
            "MIT OR GPL-3.0",
            "MIT/GPL-3.0",
            "(MIT OR X) AND Zlib",
            "Apache-2.0 WITH LLVM-exception",
        ] {
            assert_eq!(met(yes), Ok(true), "{yes}");
        }
        for no in ["GPL-3.0", "MIT AND GPL-3.0", "(X OR Y) AND MIT", "GPL-3.0 WITH MIT"] {
            assert_eq!(met(no), Ok(false), "{no}");
        }
        for wrong in ["", "MIT OR", "(MIT", "MIT Zlib", "AND MIT"] {
            assert!(met(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn deny_toml_allows_mit_and_not_gpl() {
        let text = fs::read_to_string(source::root().join("deny.toml")).unwrap();
        let allowed = allowed(&text).unwrap();
        assert!(allowed.contains("MIT") && !allowed.contains("GPL-3.0-only"));
    }
}
