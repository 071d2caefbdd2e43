//! The check of inherent `impl` blocks: those of one type are in at most two files.

use std::collections::{BTreeMap, BTreeSet};

use crate::modules::{self, CrateModules};

/// Number of files that a type's inherent `impl` blocks may be in without a reason.
pub(crate) const FILES_MAX: usize = 2;

/// Crate, and the type's path in it → number of files.
pub(crate) type Allowances = BTreeMap<(String, String), usize>;

/// Returns a finding for each type whose `impl` blocks are in more files than allowed, and for each allowance that is not
/// needed.
pub(crate) fn check(crates: &BTreeMap<String, CrateModules>, allowed: &Allowances) -> Vec<String> {
    let mut findings = Vec::new();
    let mut needed: BTreeSet<(String, String)> = BTreeSet::new();
    for (name, parsed) in crates {
        for (defined, files) in impl_files(parsed) {
            let key = (name.clone(), defined.clone());
            let max = allowed.get(&key).copied().unwrap_or(FILES_MAX);
            if files.len() > FILES_MAX {
                needed.insert(key);
            }
            if files.len() > max {
                let list: Vec<&str> = files.iter().map(String::as_str).collect();
                findings.push(format!(
                    "crates/{name}: inherent impls of {defined} in {} files, more than {max}: merge them or split its \
                     state, or give the reason in tidy.toml ({})",
                    list.len(),
                    list.join(", ")
                ));
            }
        }
    }
    for (name, defined) in allowed.keys().filter(|key| !needed.contains(*key)) {
        findings.push(format!(
            "tidy.toml:1: [[impl]] {defined} of {name} needs no allowance: remove its entry"
        ));
    }
    findings
}

/// Returns the files with inherent `impl` blocks of each type, by the type's path in the crate.
fn impl_files(parsed: &CrateModules) -> BTreeMap<String, BTreeSet<String>> {
    let mut files: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (path, module) in &parsed.modules {
        for block in &module.impls {
            let (defined_in, name) = parsed.impl_type(path, block);
            let defined = format!("{}::{name}", modules::display(&defined_in));
            files
                .entry(defined)
                .or_default()
                .insert(module.file.display().to_string());
        }
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modules::tests::crate_of;

    fn spread(third: &str) -> BTreeMap<String, CrateModules> {
        let files = [
            ("lib.rs", "mod a; mod b; mod c;"),
            ("a.rs", "pub struct A; impl A {} impl A {}"),
            ("b.rs", "use crate::a::A; impl A {}"),
            ("c.rs", third),
        ];
        BTreeMap::from([("core".to_owned(), crate_of(&files))])
    }

    fn allow(defined: &str, files: usize) -> Allowances {
        BTreeMap::from([(("core".to_owned(), defined.to_owned()), files)])
    }

    #[test]
    fn impls_in_a_third_file_need_an_allowance() {
        let crates = spread("use super::a::*; impl A {}");
        let found = check(&crates, &Allowances::new());
        assert_eq!(found.len(), 1);
        assert!(found[0].contains("a::A in 3 files"), "{found:?}");
        assert!(check(&crates, &allow("a::A", 3)).is_empty());
        assert_eq!(check(&spread("struct A; impl A {}"), &allow("a::A", 3)).len(), 1);
    }

    #[test]
    fn traits_test_code_and_types_of_the_same_name_do_not_count() {
        for third in [
            "use super::a::A; impl Clone for A {}",
            "use super::a::A; #[cfg(test)] impl A {}",
            "struct A; impl A {}",
        ] {
            assert_eq!(
                check(&spread(third), &Allowances::new()),
                Vec::<String>::new(),
                "{third}"
            );
        }
    }
}
