//! The header check: the functions that the C headers declare are those that the
//! shared library exports, one for one, and it exports nothing else.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use crate::source;

/// Names that the exported functions begin with.
const PREFIX: &str = "rd_kafka_";

/// The beginnings of the names of headers in C++. The compiler checks them (`tests/cpp`).
const CPP_HEADERS: [&str; 3] = ["include/rdkafkacpp", "include/ottla_adminpp", "include/ottla_sharepp"];

/// Compares headers and library. Argument: the library (default: the one that
/// `make` builds).
pub(crate) fn run(args: &[String]) -> Result<(), String> {
    let root = source::root();
    let library = match args {
        [] => root.join("build/lib/librdkafka.so.1"),
        [path] => Path::new(path).to_path_buf(),
        _ => return Err("usage: header [LIBRARY]".into()),
    };
    let mut declared = BTreeSet::new();
    for file in source::files(&root)? {
        let name = file.to_string_lossy();
        let is_cpp = CPP_HEADERS.iter().any(|beginning| name.starts_with(beginning));
        let is_c = name.starts_with("include/") && name.ends_with(".h") && !is_cpp;
        if is_c {
            let text = output_of("cc", &["-E", "-P", "-x", "c", "-Iinclude", &name], &root)?;
            declared.extend(declared_functions(&text));
        }
    }
    if declared.is_empty() {
        return Err("include/*.h declare no function".into());
    }
    let listing = output_of("nm", &["-D", "--defined-only", &library.to_string_lossy()], &root)?;
    let exported = exported_symbols(&listing);
    let findings = compare(&declared, &exported);
    if findings.is_empty() {
        Ok(())
    } else {
        Err(findings.join("\n"))
    }
}

fn output_of(program: &str, args: &[&str], folder: &Path) -> Result<String, String> {
    let output = Command::new(program).args(args).current_dir(folder).output();
    let output = output.map_err(|e| format!("{program}: {e}"))?;
    if !output.status.success() {
        return Err(format!("{program}: {}", String::from_utf8_lossy(&output.stderr)));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Returns the symbols of `nm -D --defined-only`, versions stripped.
fn exported_symbols(listing: &str) -> BTreeSet<String> {
    let name = |line: &str| line.split_whitespace().nth(2).map(str::to_owned);
    listing
        .lines()
        .filter_map(name)
        .map(|n| n.split('@').next().unwrap_or_default().to_owned())
        .collect()
}

/// Returns the library's functions that preprocessed C text declares: not those defined
/// inline, not types.
fn declared_functions(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for statement in statements(text) {
        let first = statement.split_whitespace().next().unwrap_or_default();
        if matches!(first, "typedef" | "static") {
            continue;
        }
        if let Some(name) = function_name(&statement) {
            found.insert(name);
        }
    }
    found
}

/// Returns the top-level statements, without the contents of braces.
fn statements(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut now = String::new();
    let mut depth = 0_usize;
    for c in text.chars() {
        match c {
            '{' => depth += 1,
            '}' => {
                depth = depth.saturating_sub(1);
                // A function's body ends its statement; a struct's statement ends with `;`.
                if depth == 0 && now.contains('(') {
                    found.push(std::mem::take(&mut now));
                }
            }
            ';' if depth == 0 => found.push(std::mem::take(&mut now)),
            c if depth == 0 => now.push(c),
            _ => {}
        }
    }
    found
}

/// Returns the first name of the library that a parenthesis follows.
fn function_name(statement: &str) -> Option<String> {
    let mut rest = statement;
    while let Some(at) = rest.find(PREFIX) {
        let tail = rest.get(at..)?;
        let end = tail
            .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
            .unwrap_or(tail.len());
        let (name, after) = tail.split_at(end);
        if after.trim_start().starts_with('(') {
            return Some(name.to_owned());
        }
        rest = after;
    }
    None
}

fn compare(declared: &BTreeSet<String>, exported: &BTreeSet<String>) -> Vec<String> {
    let mut findings = Vec::new();
    for name in declared.difference(exported) {
        findings.push(format!("{name}: declared in the headers, not exported by the library"));
    }
    for name in exported.difference(declared) {
        if name.starts_with(PREFIX) {
            findings.push(format!("{name}: exported by the library, not declared in the headers"));
        } else {
            findings.push(format!("{name}: exported, but only {PREFIX}* may be"));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|n| n.to_string()).collect()
    }

    #[test]
    fn declarations_are_found_and_types_are_not() {
        let text = "typedef struct rd_kafka_s rd_kafka_t; typedef int (rd_kafka_cb)(int);\n\
            typedef enum { RD_A = (1), RD_B } rd_kafka_type_t;\n\
            struct rd_kafka_err_desc { rd_kafka_resp_err_t code; };\n\
            int rd_kafka_version(void);\n\
            __attribute__((unused)) const char *\nrd_kafka_version_str (void);\n\
            void (*rd_kafka_conf_get_cb(const rd_kafka_conf_t *conf)) (int);\n\
            struct rd_kafka_topic_partition_s *rd_kafka_part(struct rd_kafka_s *rk);\n\
            static inline int rd_kafka_inline(void) { return rd_kafka_version(); }\n\
            void rd_kafka_set(int (*rd_cb)(rd_kafka_t *rk));";
        assert_eq!(
            declared_functions(text),
            set(&[
                "rd_kafka_conf_get_cb",
                "rd_kafka_part",
                "rd_kafka_set",
                "rd_kafka_version",
                "rd_kafka_version_str"
            ])
        );
    }

    #[test]
    fn every_kind_of_difference_is_found() {
        let found = compare(
            &set(&["rd_kafka_a", "rd_kafka_b"]),
            &set(&["rd_kafka_b", "rd_kafka_c", "rust_x"]),
        );
        assert_eq!(found.len(), 3, "{found:?}");
        assert!(compare(&set(&["rd_kafka_a"]), &set(&["rd_kafka_a"])).is_empty());
    }

    #[test]
    fn nm_lines_are_read() {
        let listing = "0000000000001000 T rd_kafka_a\n0000000000001010 T rd_kafka_b@@V1\n";
        assert_eq!(exported_symbols(listing), set(&["rd_kafka_a", "rd_kafka_b"]));
    }
}
