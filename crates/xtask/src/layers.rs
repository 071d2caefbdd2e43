//! Checks the layering: crates and modules import only from lower layers, and only files that `layers.toml` permits name the
//! clock, threads and sockets. The C++ face includes only the public C header.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::modules::CrateModules;
use crate::source::{self, NamedPath};
use crate::{cycles, modules};

/// Modules with code that a crate's unit tests share. They are in no row of `layers.toml`; only tests may import them.
const TESTS: [&str; 2] = ["tests", "test_kit"];

/// The contents of `layers.toml`.
#[derive(Debug, Default)]
struct Rules {
    /// Crate folder → crate folders it may depend on.
    crates: BTreeMap<String, BTreeSet<String>>,
    /// Crate folder → its modules' rules.
    modules: BTreeMap<String, ModuleRules>,
    /// Crate folder → maximum number of its modules that are in import cycles.
    cycles: BTreeMap<String, usize>,
    forbidden: Vec<Forbidden>,
}

/// The modules that each top-level module of one crate may import besides itself.
#[derive(Debug, Default)]
struct ModuleRules {
    may_import: BTreeMap<String, BTreeSet<String>>,
}

/// Paths that only some files may name.
#[derive(Debug)]
struct Forbidden {
    /// A name for the paths, for findings.
    what: String,
    /// The reason, for findings.
    why: String,
    /// The paths by their segments.
    paths: Vec<Vec<String>>,
    /// Files and folders in which the paths are forbidden.
    within: Vec<String>,
    /// Exceptions from `within`.
    except: Vec<String>,
}

/// Checks the whole repository.
///
/// # Errors
/// The findings, or a file that cannot be read.
pub(crate) fn run(args: &[String]) -> Result<(), String> {
    if !args.is_empty() {
        return Err("layers takes no arguments".into());
    }
    let root = source::root();
    let text = read(&root.join("layers.toml"))?;
    let rules = Rules::parse(&text).map_err(|e| format!("layers.toml: {e}"))?;
    let mut findings = Vec::new();
    let files = source::files(&root)?;
    check_crates(&root, &rules, &files, &mut findings)?;
    let crates = modules::read_crates(&root, &files)?;
    findings.extend(cycles::check(&crates, &rules.cycles));
    findings.extend(rules.check_re_exports(&crates));
    for file in files.iter().filter(|f| f.extension().is_some_and(|e| e == "rs")) {
        let text = read(&root.join(file))?;
        findings.extend(rules.check_file(file, &text)?);
    }
    for file in files.iter().filter(|f| f.starts_with(CPP_FACE)) {
        let text = read(&root.join(file))?;
        findings.extend(check_includes(file, &text, &files));
    }
    if findings.is_empty() {
        Ok(())
    } else {
        Err(findings.join("\n"))
    }
}

/// The C++ face, and the headers outside its folder that it may include besides the standard library's.
const CPP_FACE: &str = "cpp";
const CPP_INCLUDES: &[&str] = &["rdkafka.h", "rdkafkacpp.h"];

/// Returns a finding for each include of a C++ source that is not a header of the C++ library, a public header or a header
/// in the same folder.
fn check_includes(file: &Path, text: &str, files: &[PathBuf]) -> Vec<String> {
    let mut findings = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let Some(name) = line.strip_prefix("#include ") else {
            continue;
        };
        let name = name.trim();
        let fine = match name.strip_prefix('<').and_then(|n| n.strip_suffix('>')) {
            // The headers of C++ have no extension.
            Some(name) => CPP_INCLUDES.contains(&name) || !name.contains(['.', '/']),
            None => files.contains(&Path::new(CPP_FACE).join(name.trim_matches('"'))),
        };
        if !fine {
            let place = format!("{}:{}", file.display(), number + 1);
            findings.push(format!(
                "{place}: includes {name}: the C++ face may include only C++ and the public C header"
            ));
        }
    }
    findings
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))
}

impl Rules {
    fn parse(text: &str) -> Result<Rules, String> {
        let table: toml::Table = text.parse().map_err(|e| format!("{e}"))?;
        let mut rules = Rules::default();
        for (name, allowed) in sub_table(&table, "crates")? {
            rules
                .crates
                .insert(name.clone(), strings(allowed)?.into_iter().collect());
        }
        for (name, rows) in sub_table(&table, "modules")? {
            let rows = rows.as_array().ok_or("modules: must be an array of tables")?;
            rules.modules.insert(name.clone(), ModuleRules::parse(rows)?);
        }
        for (name, limit) in sub_table(&table, "cycles").into_iter().flatten() {
            let limit = limit.as_integer().and_then(|n| usize::try_from(n).ok());
            let limit = limit.ok_or(format!("cycles: {name}: must be a number"))?;
            rules.cycles.insert(name.clone(), limit);
        }
        for entry in table
            .get("forbid")
            .and_then(toml::Value::as_array)
            .into_iter()
            .flatten()
        {
            rules.forbidden.push(Forbidden::parse(entry)?);
        }
        Ok(rules)
    }

    /// Returns the findings of one source file, given by its path from the root.
    fn check_file(&self, file: &Path, text: &str) -> Result<Vec<String>, String> {
        let tokens = source::tokens(text).map_err(|e| format!("{}:{e}", file.display()))?;
        let paths = source::paths(&tokens);
        let mut findings = Vec::new();
        self.check_forbidden(file, &paths, &mut findings);
        self.check_modules(file, &paths, &mut findings);
        Ok(findings)
    }

    /// Returns a finding for each import that reaches, through a re-export, a module that is not below the importing one.
    fn check_re_exports(&self, crates: &BTreeMap<String, CrateModules>) -> Vec<String> {
        let mut findings = Vec::new();
        for (name, rules) in &self.modules {
            let Some(parsed) = crates.get(name) else { continue };
            for (from, targets) in parsed.imports() {
                let file = parsed.modules.get(&from).map(|m| m.file.display().to_string());
                let Some(allowed) = from.first().and_then(|own| rules.may_import.get(own)) else {
                    continue;
                };
                for (to, import) in targets {
                    let outside = to
                        .first()
                        .is_some_and(|top| Some(top) != from.first() && !allowed.contains(top));
                    let by_module = to
                        .first()
                        .is_some_and(|top| import.written.split("::").any(|part| part == top));
                    if outside && !by_module {
                        findings.push(format!(
                            "{}:{}: {} imports {} as {}, which is not below it (layers.toml)",
                            file.clone().unwrap_or_default(),
                            import.line,
                            modules::display(&from),
                            modules::display(&to),
                            import.written,
                        ));
                    }
                }
            }
        }
        findings
    }

    fn check_forbidden(&self, file: &Path, paths: &[NamedPath], findings: &mut Vec<String>) {
        if source::is_test_file(file) {
            return;
        }
        for rule in self.forbidden.iter().filter(|rule| rule.holds_in(file)) {
            for path in paths.iter().filter(|path| !path.in_tests) {
                if rule.paths.iter().any(|p| names(&path.segments, p)) {
                    let Forbidden { what, why, .. } = rule;
                    findings.push(format!(
                        "{}:{}: names {what} ({}): {why}",
                        file.display(),
                        path.line,
                        path.segments.join("::"),
                    ));
                }
            }
        }
    }

    fn check_modules(&self, file: &Path, paths: &[NamedPath], findings: &mut Vec<String>) {
        let Some((name, module)) = crate_and_module(file) else {
            return;
        };
        let Some(rules) = self.modules.get(&name) else {
            return;
        };
        // The crate's root may import every module, because it declares and re-exports them.
        let Some(own) = module.first() else { return };
        if TESTS.contains(&own.as_str()) || own.ends_with("_tests") {
            return;
        }
        let Some(allowed) = rules.may_import.get(own) else {
            findings.push(format!(
                "{}:1: module {own} is in no row of layers.toml",
                file.display()
            ));
            return;
        };
        for path in paths {
            let Some(target) = imported_module(&module, path) else {
                continue;
            };
            // An item that the root re-exports; `check_re_exports` checks it.
            if target.starts_with(char::is_uppercase) {
                continue;
            }
            let for_tests = TESTS.contains(&target.as_str()) && (path.in_tests || source::is_test_file(file));
            if target != *own && !for_tests && !allowed.contains(&target) {
                let rule = if rules.may_import.contains_key(&target) {
                    "which is not below it (layers.toml)"
                } else {
                    "which is no module of layers.toml: import from the module that defines it"
                };
                findings.push(format!(
                    "{}:{}: {own} imports crate::{target}, {rule}",
                    file.display(),
                    path.line
                ));
            }
        }
    }
}

impl ModuleRules {
    fn parse(rows: &[toml::Value]) -> Result<ModuleRules, String> {
        let mut rules = ModuleRules::default();
        let mut below: BTreeSet<String> = BTreeSet::new();
        for row in rows {
            let modules = strings(row.get("modules").ok_or("a row without `modules`")?)?;
            for module in &modules {
                let mut allowed = below.clone();
                if let Some(peers) = row.get("within").and_then(|w| w.get(module)) {
                    for peer in strings(peers)? {
                        if !modules.contains(&peer) {
                            return Err(format!("within: {peer} is not in the row of {module}"));
                        }
                        allowed.insert(peer);
                    }
                }
                if rules.may_import.insert(module.clone(), allowed).is_some() {
                    return Err(format!("{module} is in two rows"));
                }
            }
            below.extend(modules);
        }
        Ok(rules)
    }
}

impl Forbidden {
    fn parse(entry: &toml::Value) -> Result<Forbidden, String> {
        let text = |key: &str| {
            let value = entry.get(key).and_then(toml::Value::as_str);
            value.map(str::to_owned).ok_or(format!("forbid: `{key}` is missing"))
        };
        let list = |key: &str| match entry.get(key) {
            Some(value) => strings(value),
            None => Ok(Vec::new()),
        };
        let paths: Vec<Vec<String>> = list("paths")?
            .iter()
            .map(|path| path.split("::").map(str::to_owned).collect())
            .collect();
        if paths.is_empty() {
            return Err("forbid: `paths` is missing".into());
        }
        Ok(Forbidden {
            what: text("what")?,
            why: text("why")?,
            paths,
            within: list("in")?,
            except: list("except")?,
        })
    }

    fn holds_in(&self, file: &Path) -> bool {
        let under = |place: &String| file.starts_with(place) || file == Path::new(&format!("{place}.rs"));
        self.within.iter().any(under) && !self.except.iter().any(under)
    }
}

fn sub_table<'a>(table: &'a toml::Table, key: &str) -> Result<&'a toml::Table, String> {
    table
        .get(key)
        .and_then(toml::Value::as_table)
        .ok_or(format!("[{key}] is missing"))
}

fn strings(value: &toml::Value) -> Result<Vec<String>, String> {
    let array = value.as_array().ok_or(format!("{value}: must be an array"))?;
    let one = |v: &toml::Value| v.as_str().map(str::to_owned).ok_or(format!("{v}: not a string"));
    array.iter().map(one).collect()
}

/// Returns whether `segments` contains the segments of `pattern` one after another.
fn names(segments: &[String], pattern: &[String]) -> bool {
    segments.windows(pattern.len()).any(|window| window == pattern)
}

/// Returns the crate folder of a file in `crates/NAME/src` and its module path in the
/// crate; the path is empty for the crate's root.
fn crate_and_module(file: &Path) -> Option<(String, Vec<String>)> {
    let parts: Vec<String> = file.iter().map(|p| p.to_string_lossy().into_owned()).collect();
    let [crates, name, src, inner @ ..] = parts.as_slice() else {
        return None;
    };
    if crates != "crates" || src != "src" {
        return None;
    }
    let mut module: Vec<String> = inner.to_vec();
    let last = module.pop()?;
    let stem = last.strip_suffix(".rs")?;
    let root = module.is_empty() && (stem == "lib" || stem == "main");
    if stem != "mod" && !root {
        module.push(stem.to_owned());
    }
    Some((name.clone(), module))
}

/// Returns the top-level module of this crate that `path`, written in `module`, leads to; `None` for a path into another
/// crate, or to the crate's root.
fn imported_module(module: &[String], path: &NamedPath) -> Option<String> {
    let (first, rest) = path.segments.split_first()?;
    if first == "crate" {
        return rest.first().cloned();
    }
    if first != "super" {
        return None;
    }
    let mut here: Vec<&String> = module.iter().chain(&path.modules).collect();
    let mut rest = path.segments.as_slice();
    while let Some((step, further)) = rest.split_first() {
        if step != "super" {
            break;
        }
        here.pop()?;
        rest = further;
    }
    match here.first() {
        Some(top) => Some((*top).clone()),
        // `super::*` from a top-level module brings in the root's names only.
        None => rest.first().cloned(),
    }
}

/// Adds a finding for each dependency between crates that `layers.toml` does not allow.
fn check_crates(root: &Path, rules: &Rules, files: &[PathBuf], findings: &mut Vec<String>) -> Result<(), String> {
    let mut manifests = BTreeMap::new();
    let mut folder_of = BTreeMap::new();
    for file in files {
        let parts: Vec<_> = file.iter().map(|p| p.to_string_lossy()).collect();
        let [crates, folder, manifest] = parts.as_slice() else {
            continue;
        };
        if crates != "crates" || manifest != "Cargo.toml" {
            continue;
        }
        let table: toml::Table = read(&root.join(file))?
            .parse()
            .map_err(|e| format!("{}: {e}", file.display()))?;
        let package = table
            .get("package")
            .and_then(|p| p.get("name"))
            .and_then(|n| n.as_str());
        folder_of.insert(package.unwrap_or(folder).to_owned(), folder.to_string());
        manifests.insert(folder.to_string(), table);
    }
    for (folder, table) in &manifests {
        let Some(allowed) = rules.crates.get(folder) else {
            findings.push(format!("crates/{folder}/Cargo.toml:1: crate not named in layers.toml"));
            continue;
        };
        for section in ["dependencies", "dev-dependencies", "build-dependencies"] {
            let Some(dependencies) = table.get(section).and_then(toml::Value::as_table) else {
                continue;
            };
            for target in dependencies.keys().filter_map(|name| folder_of.get(name)) {
                if !allowed.contains(target) {
                    findings.push(format!(
                        "crates/{folder}/Cargo.toml:1: [{section}] {folder} depends on {target}, \
                         which layers.toml does not allow"
                    ));
                }
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: &str = r#"
        [crates]
        core = []
        [[modules.core]]
        modules = ["types", "error"]
        within = { error = ["types"] }
        [[modules.core]]
        modules = ["producer", "consumer"]
        [[modules.core]]
        modules = ["client"]
        [[forbid]]
        what = "the clock"
        why = "virtual time"
        paths = ["Instant::now", "std::thread"]
        in = ["crates/core/src"]
        except = ["crates/core/src/client"]
    "#;

    fn findings(file: &str, text: &str) -> Vec<String> {
        Rules::parse(RULES).unwrap().check_file(Path::new(file), text).unwrap()
    }

    #[test]
    fn imports_from_below_pass() {
        let text = "use crate::types::Offset;\nuse crate::error::{Error, Result};\nuse std::fmt;";
        assert_eq!(
            findings("crates/core/src/producer/sender.rs", text),
            Vec::<String>::new()
        );
    }

    #[test]
    fn an_import_from_above_is_caught_with_its_line() {
        let found = findings("crates/core/src/producer/sender.rs", "\nuse crate::client::Client;");
        assert_eq!(found.len(), 1);
        assert!(found[0].starts_with("crates/core/src/producer/sender.rs:2: producer imports"));
    }

    #[test]
    fn a_peer_is_caught_unless_allowed() {
        let text = "fn f() { crate::consumer::poll(); }";
        assert_eq!(findings("crates/core/src/producer.rs", text).len(), 1);
        assert!(findings("crates/core/src/error.rs", "use crate::types::Offset;").is_empty());
        assert_eq!(
            findings("crates/core/src/types.rs", "use crate::error::Error;").len(),
            1
        );
    }

    #[test]
    fn an_import_through_a_re_export_is_caught() {
        let files = [
            (
                "lib.rs",
                "mod types; mod client; pub use client::Client; pub use types::Offset;",
            ),
            ("types.rs", "use crate::Client; pub struct Offset;"),
            ("client.rs", "use crate::Offset; pub struct Client;"),
        ];
        let crates = BTreeMap::from([("core".to_owned(), modules::tests::crate_of(&files))]);
        let found = Rules::parse(RULES).unwrap().check_re_exports(&crates);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("crates/core/src/types.rs:1: types imports client as crate::Client"));
    }

    #[test]
    fn an_import_inside_a_group_or_a_macro_is_caught() {
        let text = "use crate::{types::Offset, consumer::{Fetcher, Position}};";
        assert_eq!(findings("crates/core/src/producer/mod.rs", text).len(), 2);
        let text = "fn f() { log!(crate::client::name()); }";
        assert_eq!(findings("crates/core/src/producer/mod.rs", text).len(), 1);
    }

    #[test]
    fn super_is_followed_to_the_top() {
        let inside = "use super::batch::Batch;";
        assert!(findings("crates/core/src/producer/sender.rs", inside).is_empty());
        let outside = "use super::super::consumer::Fetcher;";
        assert_eq!(findings("crates/core/src/producer/sender.rs", outside).len(), 1);
        let peer = "use super::consumer::Fetcher;";
        assert_eq!(findings("crates/core/src/producer.rs", peer).len(), 1);
        let from_tests = "#[cfg(test)] mod tests { use super::*; use super::super::client::C; }";
        assert_eq!(findings("crates/core/src/producer.rs", from_tests).len(), 1);
    }

    #[test]
    fn a_module_in_no_row_is_caught() {
        assert_eq!(findings("crates/core/src/newcomer.rs", "fn f() {}").len(), 1);
        assert!(findings("crates/core/src/lib.rs", "pub mod client;").is_empty());
    }

    #[test]
    fn only_tests_may_import_shared_test_modules() {
        for text in ["use crate::tests::world;", "use crate::test_kit::World;"] {
            assert_eq!(findings("crates/core/src/producer/sender.rs", text).len(), 1);
            assert!(findings("crates/core/src/producer/sender/tests.rs", text).is_empty());
        }
        for file in ["crates/core/src/tests.rs", "crates/core/src/test_kit/world.rs"] {
            assert!(findings(file, "use crate::client::C;").is_empty());
        }
    }

    #[test]
    fn forbidden_paths_are_caught_outside_their_places_and_tests() {
        let text = "use std::time::Instant;\nfn f() { Instant::now(); }\nuse std::{fmt, thread};";
        let found = findings("crates/core/src/producer.rs", text);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].starts_with("crates/core/src/producer.rs:2: names the clock"));
        assert!(findings("crates/core/src/client/mod.rs", text).is_empty());
        assert!(findings("crates/core/src/client.rs", text).is_empty());
        let tests = "#[cfg(test)]\nmod tests { fn f() { std::thread::spawn(g); } }";
        assert!(findings("crates/core/src/producer.rs", tests).is_empty());
    }

    #[test]
    fn the_cpp_face_includes_the_public_header_only() {
        let files = [PathBuf::from("cpp/conf.h")];
        let check = |text: &str| check_includes(Path::new("cpp/conf.cpp"), text, &files).len();
        let fine = "#include \"conf.h\"\n#include <memory>\n#include <rdkafka.h>\n#include <rdkafkacpp.h>\n";
        assert_eq!(check(fine), 0);
        assert_eq!(
            check("#include <rdkafka_mock.h>\n#include <sys/socket.h>\n#include \"other.h\"\n"),
            3
        );
    }

    #[test]
    fn wrong_rules_are_refused() {
        assert!(Rules::parse("").is_err());
        let twice = "[crates]\n[[modules.a]]\nmodules=[\"x\"]\n[[modules.a]]\nmodules=[\"x\"]";
        assert!(Rules::parse(twice).unwrap_err().contains("two rows"));
    }
}
