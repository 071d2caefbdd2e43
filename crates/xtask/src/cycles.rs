//! The check of module cycles: modules of a crate import one another in one direction.
//!
//! A module is in a cycle if it imports itself through others. That is computed between files, and between the modules of
//! each folder, where a module includes everything below it. `layers.toml` limits the number of such modules per crate.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use crate::modules::{self, CrateModules, Imports, ModulePath};
use crate::source;

/// One set of modules that import one another, with the imports between them.
#[derive(Debug)]
struct Cycle {
    modules: BTreeSet<ModulePath>,
    /// "module -> module (file:line: path)"
    imports: Vec<String>,
}

/// Prints the cycles of every crate, or of the crates that `args` names.
pub(crate) fn run(args: &[String]) -> Result<(), String> {
    let root = source::root();
    let crates = modules::read_crates(&root, &source::files(&root)?)?;
    let mut text = String::new();
    for (name, parsed) in &crates {
        if !args.is_empty() && !args.contains(name) {
            continue;
        }
        let cycles = find(parsed);
        let _ = writeln!(text, "{name}: {} modules in cycles", count(&cycles));
        for cycle in &cycles {
            let members: Vec<String> = cycle.modules.iter().map(|m| modules::display(m)).collect();
            let _ = writeln!(text, "  {}", members.join(", "));
            for import in &cycle.imports {
                let _ = writeln!(text, "    {import}");
            }
        }
    }
    print!("{text}");
    Ok(())
}

/// Returns a finding for each crate with more modules in cycles than `limits` allows; a crate without a limit may have
/// none. A limit for a crate that does not exist is a finding, too.
pub(crate) fn check(crates: &BTreeMap<String, CrateModules>, limits: &BTreeMap<String, usize>) -> Vec<String> {
    let mut findings = Vec::new();
    for (name, parsed) in crates {
        let found = count(&find(parsed));
        let limit = limits.get(name).copied().unwrap_or(0);
        if found > limit {
            findings.push(format!(
                "crates/{name}: {found} modules import one another in cycles, more than {limit} (layers.toml): \
                 see `cargo xtask cycles {name}`"
            ));
        }
    }
    for name in limits.keys().filter(|name| !crates.contains_key(*name)) {
        findings.push(format!("layers.toml:1: [cycles] names {name}, which is no crate"));
    }
    findings
}

fn count(cycles: &[Cycle]) -> usize {
    let all: BTreeSet<&ModulePath> = cycles.iter().flat_map(|cycle| &cycle.modules).collect();
    all.len()
}

/// Finds the cycles between files, then those between the modules of each folder that are not the same set.
fn find(parsed: &CrateModules) -> Vec<Cycle> {
    let imports = parsed.imports();
    let mut folders: BTreeSet<&[String]> = BTreeSet::new();
    for path in parsed.modules.keys() {
        folders.extend(path.split_last().map(|(_, folder)| folder));
    }
    let mut cycles: Vec<Cycle> = Vec::new();
    let between_files = |module: &[String]| Some(module.to_vec());
    cycles.extend(components(parsed, &imports, between_files));
    for folder in folders {
        let in_folder = |module: &[String]| {
            let inside = module.len() > folder.len() && module.starts_with(folder);
            inside.then(|| module[..=folder.len()].to_vec())
        };
        for cycle in components(parsed, &imports, in_folder) {
            if !cycles.iter().any(|known| known.modules == cycle.modules) {
                cycles.push(cycle);
            }
        }
    }
    cycles
}

/// Finds the strongly connected components of more than one node; `node` maps a module to its node, if it has one.
fn components(parsed: &CrateModules, imports: &Imports, node: impl Fn(&[String]) -> Option<ModulePath>) -> Vec<Cycle> {
    let mut edges: BTreeMap<ModulePath, BTreeMap<ModulePath, String>> = BTreeMap::new();
    for (from, targets) in imports {
        for (to, import) in targets {
            let (Some(a), Some(b)) = (node(from), node(to)) else {
                continue;
            };
            if a == b {
                continue;
            }
            let file = parsed.modules.get(from).map(|m| m.file.display().to_string());
            let described = format!(
                "{} -> {} ({}:{}: {})",
                modules::display(&a),
                modules::display(&b),
                file.unwrap_or_default(),
                import.line,
                import.written
            );
            edges.entry(a).or_default().entry(b).or_insert(described);
        }
    }
    let reachable: BTreeMap<&ModulePath, BTreeSet<&ModulePath>> =
        edges.keys().map(|from| (from, reachable(&edges, from))).collect();
    let reaches = |a: &ModulePath, b: &ModulePath| reachable.get(a).is_some_and(|r| r.contains(b));
    let mut cycles = Vec::new();
    let mut done: BTreeSet<&ModulePath> = BTreeSet::new();
    for start in edges.keys().filter(|start| reaches(start, start)) {
        if done.contains(start) {
            continue;
        }
        let members: BTreeSet<&ModulePath> = edges
            .keys()
            .filter(|m| reaches(start, m) && reaches(m, start))
            .collect();
        let inner = |from: &&ModulePath| {
            let targets = edges.get(*from).into_iter().flatten();
            targets
                .filter(|(to, _)| members.contains(to))
                .map(|(_, text)| text.clone())
                .collect::<Vec<_>>()
        };
        cycles.push(Cycle {
            imports: members.iter().flat_map(inner).collect(),
            modules: members.iter().map(|m| (*m).clone()).collect(),
        });
        done.extend(members);
    }
    cycles
}

/// Returns the nodes that at least one edge leads to from `start`.
fn reachable<'a>(
    edges: &'a BTreeMap<ModulePath, BTreeMap<ModulePath, String>>,
    start: &ModulePath,
) -> BTreeSet<&'a ModulePath> {
    let mut found: BTreeSet<&ModulePath> = BTreeSet::new();
    let mut open: Vec<&ModulePath> = edges.get(start).into_iter().flat_map(BTreeMap::keys).collect();
    while let Some(next) = open.pop() {
        if found.insert(next) {
            open.extend(edges.get(next).into_iter().flat_map(BTreeMap::keys));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modules::tests::crate_of;

    fn cycles(files: &[(&str, &str)]) -> Vec<Vec<String>> {
        let names = |cycle: Cycle| cycle.modules.iter().map(|m| modules::display(m)).collect();
        find(&crate_of(files)).into_iter().map(names).collect()
    }

    #[test]
    fn imports_in_one_direction_are_no_cycle() {
        let files = [
            ("lib.rs", "mod a; mod b; pub use a::A; pub use b::B;"),
            ("a.rs", "pub struct A;"),
            ("b.rs", "use crate::a::A; pub struct B(A);"),
        ];
        assert!(cycles(&files).is_empty());
    }

    #[test]
    fn a_cycle_over_three_files_is_found_once() {
        let files = [
            ("lib.rs", "mod a; mod b; mod c; mod d;"),
            ("a.rs", "use crate::b::B; pub struct A;"),
            ("b.rs", "use crate::c::C; pub struct B;"),
            ("c.rs", "use crate::a::A; pub struct C;"),
            ("d.rs", "use crate::a::A;"),
        ];
        assert_eq!(cycles(&files), [["a", "b", "c"]]);
    }

    #[test]
    fn folders_form_a_cycle_where_their_files_form_none() {
        let files = [
            ("lib.rs", "mod a; mod b;"),
            ("a/mod.rs", "mod x; mod y;"),
            ("a/x.rs", "use crate::b::z::Z; pub struct X;"),
            ("a/y.rs", "pub struct Y;"),
            ("b/mod.rs", "mod z; mod w;"),
            ("b/z.rs", "pub struct Z;"),
            ("b/w.rs", "use crate::a::y::Y;"),
        ];
        assert_eq!(cycles(&files), [["a", "b"]]);
    }

    #[test]
    fn more_modules_than_the_limit_are_a_finding() {
        let files = [("lib.rs", "mod a;"), ("a.rs", "use crate::f;")];
        let cyclic = [
            ("lib.rs", "mod a; fn f() { a::g() }"),
            ("a.rs", "pub fn g() { crate::f() }"),
        ];
        let limits = |n: usize| BTreeMap::from([("core".to_owned(), n)]);
        let crates = |files: &[(&str, &str)]| BTreeMap::from([("core".to_owned(), crate_of(files))]);
        assert!(check(&crates(&files), &BTreeMap::new()).is_empty());
        assert_eq!(check(&crates(&cyclic), &BTreeMap::new()).len(), 1);
        assert_eq!(check(&crates(&cyclic), &limits(1)).len(), 1);
        assert!(check(&crates(&cyclic), &limits(2)).is_empty());
        assert_eq!(check(&BTreeMap::new(), &limits(2)).len(), 1);
    }
}
