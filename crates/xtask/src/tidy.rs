//! Style as a test: leftovers, long files and functions, white space, large files, dead links, types whose `impl` is
//! spread over files, and the comments' wording. `tidy.toml` lists the exceptions, each with its reason; the list may
//! only shrink.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::source::{self, Kind, Token};
use crate::{impls, modules, prose};

/// Lines that a file may have without a reason.
const FILE_LINES_MAX: usize = 1000;
/// Lines that a Rust function may have without a reason, signature included.
const FUNCTION_LINES_MAX: usize = 100;
/// Bytes that a file may have without a reason.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// Extensions of files that people write, whose text is checked.
const TEXT: &[&str] = &[
    "rs", "c", "h", "cpp", "hpp", "py", "sh", "toml", "md", "mk", "in", "map", "yml", "yaml",
];
/// Extensions of source files, whose length is checked.
const SOURCE: &[&str] = &["rs", "c", "h", "cpp", "hpp", "py", "sh", "mk"];

/// Words that a source file must not contain, in lower case. Written in two parts, so
/// that this list does not find itself.
const BANNED: &[(&str, &str)] = &[
    (concat!("todo", "!"), "unfinished"),
    (concat!("unimplemented", "!"), "unfinished"),
    (concat!("fix", "me"), "unfinished"),
    (concat!("xx", "x"), "unfinished"),
    (concat!("dbg", "!"), "left from debugging"),
    (concat!("#[ign", "ore"), "a test that is switched off"),
];

/// `tidy.toml`: what may be longer than the rule, and by how much.
#[derive(Debug, Default)]
struct Allowed {
    /// File → lines.
    files: BTreeMap<String, usize>,
    /// File and function → lines.
    functions: BTreeMap<(String, String), usize>,
    /// File → bytes.
    blobs: BTreeMap<String, u64>,
    /// Files whose words are not checked.
    words: Vec<String>,
    /// Types whose inherent `impl` blocks may be in more files.
    impls: impls::Allowances,
    prose: prose::Limits,
}

/// Checks the whole repository.
pub(crate) fn run(args: &[String]) -> Result<(), String> {
    if !args.is_empty() {
        return Err("tidy takes no arguments".into());
    }
    let root = source::root();
    let text = fs::read_to_string(root.join("tidy.toml")).map_err(|e| format!("tidy.toml: {e}"))?;
    let allowed = Allowed::parse(&text).map_err(|e| format!("tidy.toml: {e}"))?;
    let mut findings = Vec::new();
    let mut ratchet = Ratchet::default();
    let files = source::files(&root)?;
    for file in &files {
        check_file(&root, file, &allowed, &mut ratchet, &mut findings)?;
    }
    findings.extend(ratchet.stale(&allowed));
    findings.extend(impls::check(&modules::read_crates(&root, &files)?, &allowed.impls));
    findings.extend(prose::check(&root, &files, &allowed.prose)?);
    if findings.is_empty() {
        Ok(())
    } else {
        Err(findings.join("\n"))
    }
}

fn check_file(
    root: &Path,
    file: &Path,
    allowed: &Allowed,
    ratchet: &mut Ratchet,
    findings: &mut Vec<String>,
) -> Result<(), String> {
    let name = file.to_string_lossy().into_owned();
    let fail = |e: std::io::Error| format!("{name}: {e}");
    let bytes = fs::metadata(root.join(file)).map_err(fail)?.len();
    if bytes > allowed.blobs.get(&name).copied().unwrap_or(FILE_BYTES_MAX) {
        findings.push(format!(
            "{name}:1: {bytes} bytes: too large for the repository (tidy.toml)"
        ));
        return Ok(());
    }
    let extension = file
        .extension()
        .map(|e| e.to_string_lossy().into_owned())
        .unwrap_or_default();
    let makefile = file.file_name().is_some_and(|n| n == "Makefile");
    if !makefile && !TEXT.contains(&extension.as_str()) {
        return Ok(());
    }
    let text = match String::from_utf8(fs::read(root.join(file)).map_err(fail)?) {
        Ok(text) => text,
        Err(_) => {
            findings.push(format!("{name}:1: not UTF-8"));
            return Ok(());
        }
    };
    let tabs = makefile || extension == "mk";
    check_white_space(&name, &text, tabs, findings);
    if !allowed.words.contains(&name) {
        check_words(&name, &text, findings);
    }
    if makefile || SOURCE.contains(&extension.as_str()) {
        ratchet.file(&name, text.lines().count(), allowed, findings);
    }
    if extension == "rs" {
        check_test_place(file, findings);
        let tokens = source::tokens(&text).map_err(|e| format!("{name}:{e}"))?;
        for (function, line, lines) in functions(&tokens) {
            ratchet.function(&name, &function, line, lines, allowed, findings);
        }
    }
    if extension == "md" {
        check_links(root, file, &text, findings);
    }
    Ok(())
}

/// Requires that tests are a module `tests` of the module that they test: `foo/tests.rs` or the folder `foo/tests`. Thread
/// models, which another build runs, are in `model_tests`.
fn check_test_place(file: &Path, findings: &mut Vec<String>) {
    let stem = file.file_stem().map(|s| s.to_string_lossy()).unwrap_or_default();
    let Some(tested) = stem.strip_suffix("_tests").filter(|tested| *tested != "model") else {
        return;
    };
    findings.push(format!(
        "{}:1: tests of `{tested}` belong to {tested}/tests.rs",
        file.display()
    ));
}

fn check_white_space(name: &str, text: &str, tabs: bool, findings: &mut Vec<String>) {
    for (number, line) in text.split('\n').enumerate() {
        let number = number + 1;
        if line.ends_with([' ', '\t', '\r']) {
            findings.push(format!("{name}:{number}: white space at the end of the line"));
        }
        if !tabs && line.contains('\t') {
            findings.push(format!("{name}:{number}: tab"));
        }
    }
    if !text.is_empty() && !text.ends_with('\n') {
        findings.push(format!("{name}:{}: no newline at the end", text.lines().count()));
    }
    if text.ends_with("\n\n") {
        findings.push(format!("{name}:{}: empty line at the end", text.lines().count()));
    }
}

fn check_words(name: &str, text: &str, findings: &mut Vec<String>) {
    for (number, line) in text.lines().enumerate() {
        let lower = line.to_ascii_lowercase();
        for (word, why) in BANNED {
            if contains_word(&lower, word) {
                findings.push(format!("{name}:{}: {word:?}: {why}", number + 1));
            }
        }
    }
}

/// Returns whether `line` contains `word` with no letter or digit right before it or,
/// where it ends in one, right after it.
fn contains_word(line: &str, word: &str) -> bool {
    let part_of_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    line.match_indices(word).any(|(at, _)| {
        let before = line.get(..at).and_then(|s| s.chars().next_back());
        let after = line.get(at + word.len()..).and_then(|s| s.chars().next());
        let open_end = word.chars().next_back().is_some_and(char::is_alphanumeric);
        !(part_of_word(before) || open_end && part_of_word(after))
    })
}

/// Returns the functions with a body: name, first line, number of lines.
fn functions(tokens: &[Token]) -> Vec<(String, usize, usize)> {
    let mut found = Vec::new();
    for (at, pair) in tokens.windows(2).enumerate() {
        let [keyword, name] = pair else { continue };
        let (Some("fn"), Some(name)) = (keyword.ident(), name.ident()) else {
            continue;
        };
        if let Some(end) = body_end(tokens.get(at + 2..).unwrap_or(&[])) {
            found.push((name.to_owned(), keyword.line, end.saturating_sub(keyword.line) + 1));
        }
    }
    found
}

/// Returns the line of the brace that closes the body of the function whose signature
/// continues in `rest`; none for a declaration.
fn body_end(rest: &[Token]) -> Option<usize> {
    let mut depth = 0_usize;
    let mut in_body = false;
    for token in rest {
        match token.kind {
            Kind::Punct(';') if depth == 0 => return None,
            Kind::Open(c) => {
                in_body |= depth == 0 && c == '{';
                depth += 1;
            }
            Kind::Close(_) => {
                depth = depth.checked_sub(1)?;
                if in_body && depth == 0 {
                    return Some(token.line);
                }
            }
            _ => {}
        }
    }
    None
}

/// Relative links of a Markdown file must lead to a file or folder.
fn check_links(root: &Path, file: &Path, text: &str, findings: &mut Vec<String>) {
    let folder = file.parent().unwrap_or(Path::new(""));
    let mut in_code = false;
    for (number, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        }
        if in_code {
            continue;
        }
        for target in links(line) {
            let outside = ["http://", "https://", "mailto:", "#"]
                .iter()
                .any(|p| target.starts_with(p));
            let path = target.split('#').next().unwrap_or_default();
            if outside || path.is_empty() {
                continue;
            }
            let place: PathBuf = root.join(folder).join(path);
            if !place.exists() {
                findings.push(format!(
                    "{}:{}: link to {path}, which is not there",
                    file.display(),
                    number + 1
                ));
            }
        }
    }
}

/// Returns the targets of `[text](target)` and `[text](target "title")` in a line.
fn links(line: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = line;
    while let Some((_, after)) = rest.split_once("](") {
        let Some((inside, tail)) = after.split_once(')') else {
            break;
        };
        found.extend(inside.split_whitespace().next());
        rest = tail;
    }
    found
}

/// Compares lengths with the rule and remembers which allowances were needed.
#[derive(Debug, Default)]
struct Ratchet {
    files: Vec<String>,
    functions: Vec<(String, String)>,
}

impl Ratchet {
    fn file(&mut self, name: &str, lines: usize, allowed: &Allowed, findings: &mut Vec<String>) {
        if lines <= FILE_LINES_MAX {
            return;
        }
        self.files.push(name.to_owned());
        let max = allowed.files.get(name).copied().unwrap_or(FILE_LINES_MAX);
        if lines > max {
            findings.push(format!(
                "{name}:1: {lines} lines, more than {max}: split it, or give the reason in tidy.toml"
            ));
        }
    }

    fn function(
        &mut self,
        name: &str,
        function: &str,
        line: usize,
        lines: usize,
        allowed: &Allowed,
        findings: &mut Vec<String>,
    ) {
        if lines <= FUNCTION_LINES_MAX {
            return;
        }
        let key = (name.to_owned(), function.to_owned());
        let max = allowed.functions.get(&key).copied().unwrap_or(FUNCTION_LINES_MAX);
        self.functions.push(key);
        if lines > max {
            findings.push(format!(
                "{name}:{line}: fn {function} has {lines} lines, more than {max}: split it, \
                 or give the reason in tidy.toml"
            ));
        }
    }

    /// Allowances that nothing needs any more.
    fn stale(&self, allowed: &Allowed) -> Vec<String> {
        let mut findings = Vec::new();
        for name in allowed.files.keys().filter(|name| !self.files.contains(name)) {
            findings.push(format!("tidy.toml:1: {name} needs no allowance: remove its entry"));
        }
        for key in allowed.functions.keys().filter(|key| !self.functions.contains(key)) {
            let (name, function) = key;
            findings.push(format!(
                "tidy.toml:1: {name} fn {function} needs no allowance: remove its entry"
            ));
        }
        findings
    }
}

impl Allowed {
    fn parse(text: &str) -> Result<Allowed, String> {
        let table: toml::Table = text.parse().map_err(|e| format!("{e}"))?;
        let mut allowed = Allowed::default();
        for (section, entries) in &table {
            if section == "prose" {
                allowed.prose = prose::limits(entries)?;
                continue;
            }
            let entries = entries
                .as_array()
                .ok_or(format!("{section}: must be an array of tables"))?;
            for entry in entries {
                allowed
                    .entry(section, entry)
                    .map_err(|e| format!("[[{section}]]: {e}"))?;
            }
        }
        Ok(allowed)
    }

    fn entry(&mut self, section: &str, entry: &toml::Value) -> Result<(), String> {
        let text = |key: &str| {
            let value = entry.get(key).and_then(toml::Value::as_str).unwrap_or_default();
            if value.is_empty() {
                Err(format!("`{key}` is missing"))
            } else {
                Ok(value.to_owned())
            }
        };
        let number = |key: &str| {
            let value = entry.get(key).and_then(toml::Value::as_integer);
            value
                .and_then(|n| usize::try_from(n).ok())
                .ok_or(format!("`{key}` is missing"))
        };
        text("reason")?;
        if section == "impl" {
            self.impls.insert((text("crate")?, text("type")?), number("files")?);
            return Ok(());
        }
        let path = text("path")?;
        match section {
            "file" => {
                self.files.insert(path, number("lines")?);
            }
            "function" => {
                self.functions.insert((path, text("name")?), number("lines")?);
            }
            "blob" => {
                self.blobs.insert(path, number("bytes")? as u64);
            }
            "words" => self.words.push(path),
            _ => return Err("no such section".into()),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> usize {
        let mut findings = Vec::new();
        check_words("f.rs", text, &mut findings);
        findings.len()
    }

    #[test]
    fn leftovers_are_found_in_any_case_and_innocent_words_are_not() {
        assert_eq!(words(concat!("    to", "do!(\"later\")")), 1);
        assert_eq!(words(concat!("// FIX", "ME: later")), 1);
        assert_eq!(words(concat!("#[ign", "ore = \"slow\"]")), 1);
        assert_eq!(words(concat!("// X", "XX")), 1);
        assert_eq!(words(concat!("// fix", "mexico, pref", "ix", "xx", "xy")), 0);
    }

    #[test]
    fn tests_beside_their_module_are_found() {
        let found = |file: &str| {
            let mut findings = Vec::new();
            check_test_place(Path::new(file), &mut findings);
            findings.len()
        };
        assert_eq!(found("crates/core/src/foo_tests.rs"), 1);
        for file in [
            "crates/core/src/foo/tests.rs",
            "crates/core/src/model_tests.rs",
            "crates/core/src/tests/foo.rs",
        ] {
            assert_eq!(found(file), 0, "{file}");
        }
    }

    #[test]
    fn function_lengths_are_measured() {
        let text = "fn a() {\n  b();\n}\ntrait T { fn c();\n fn d(x: [u8; 2]) -> u8\n {\n 1 } }";
        let found = functions(&source::tokens(text).unwrap());
        assert_eq!(found, [("a".to_owned(), 1, 3), ("d".to_owned(), 5, 3)]);
    }

    #[test]
    fn long_files_and_functions_need_an_entry_that_is_needed() {
        let allowed = Allowed::parse(
            "[[file]]\npath = \"a.rs\"\nlines = 1100\nreason = \"a table\"\n\
             [[function]]\npath = \"a.rs\"\nname = \"f\"\nlines = 120\nreason = \"one match\"",
        )
        .unwrap();
        let mut findings = Vec::new();
        let mut ratchet = Ratchet::default();
        assert_eq!(ratchet.stale(&allowed).len(), 2);
        ratchet.file("a.rs", 1100, &allowed, &mut findings);
        ratchet.function("a.rs", "f", 1, 120, &allowed, &mut findings);
        assert!(findings.is_empty() && ratchet.stale(&allowed).is_empty());
        ratchet.file("a.rs", 1101, &allowed, &mut findings);
        ratchet.function("a.rs", "g", 1, 101, &allowed, &mut findings);
        ratchet.file("b.rs", 1001, &allowed, &mut findings);
        assert_eq!(findings.len(), 3);
        assert!(Allowed::parse("[[file]]\npath = \"a.rs\"\nlines = 1100").is_err());
    }

    #[test]
    fn white_space_is_checked() {
        let count = |text: &str, tabs: bool| {
            let mut findings = Vec::new();
            check_white_space("f", text, tabs, &mut findings);
            findings.len()
        };
        assert_eq!(count("a\nb\n", false), 0);
        assert_eq!(count("a \n", false), 1);
        assert_eq!(count("\ta\n", false), 1);
        assert_eq!(count("\ta\n", true), 0);
        assert_eq!(count("a", false), 1);
        assert_eq!(count("a\n\n", false), 1);
    }

    #[test]
    fn dead_links_are_found() {
        let text = "[a](Cargo.toml) [b](none.md#x) [c](https://x.y)\n```\n[d](none2.md)\n```\n";
        let mut findings = Vec::new();
        check_links(&source::root(), Path::new("README.md"), text, &mut findings);
        assert_eq!(findings.len(), 1, "{findings:?}");
    }
}
