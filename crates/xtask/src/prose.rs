//! Counts of discouraged phrases in comments, per 1,000 comment lines. `tidy.toml` has a limit for each kind and area.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::comments::{self, Block};
use crate::source;

/// The counted kinds of phrases: the key in `tidy.toml`, and what is counted.
const KINDS: [(&str, &str); 4] = [
    (
        "openings",
        "sentences that open with What, Who, Whether, How much/long/many/often",
    ),
    ("tell", "tell, tells, told"),
    ("persons", "nobody, somebody"),
    ("phrases", "anew, stands, goes on"),
];

/// The name under which the whole tree is counted.
const ALL: &str = "all";

/// Area → maximum count per 1,000 comment lines, for each kind.
pub(crate) type Limits = BTreeMap<String, [u64; KINDS.len()]>;

/// The counts of one area: a crate under `crates/` or another folder, or the whole tree.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Counts {
    lines: u64,
    hits: [u64; KINDS.len()],
}

/// A counted phrase: index of its kind, line number, and the phrase.
type Hit = (usize, usize, String);

/// Prints the counts of every area. Arguments are names of areas: then it prints the phrases found in these.
pub(crate) fn run(args: &[String]) -> Result<(), String> {
    let root = source::root();
    let files = source::files(&root)?;
    if !args.is_empty() {
        return each_comment(&root, &files, |area, file, block| {
            if args.iter().any(|arg| arg == area) {
                for (kind, line, phrase) in hits(block) {
                    println!("{}:{line}: {}: {phrase}", file.display(), KINDS[kind].0);
                }
            }
        });
    }
    let areas = count(&root, &files)?;
    print!("{:<12}{:>9}", "area", "lines");
    for (name, _) in KINDS {
        print!("{name:>10}");
    }
    println!("   per 1,000 comment lines");
    for (area, counts) in &areas {
        print!("{area:<12}{:>9}", counts.lines);
        for hits in counts.hits {
            print!("{:>10.1}", hits as f64 * 1000.0 / counts.lines.max(1) as f64);
        }
        println!();
    }
    for (name, counted) in KINDS {
        println!("{name}: {counted}");
    }
    Ok(())
}

/// Returns a finding for each count above its limit.
///
/// # Errors
/// A file cannot be read.
pub(crate) fn check(root: &Path, files: &[PathBuf], limits: &Limits) -> Result<Vec<String>, String> {
    Ok(compare(&count(root, files)?, limits))
}

/// Compares counts with their limits; an area without limits may have none of the phrases.
fn compare(areas: &BTreeMap<String, Counts>, limits: &Limits) -> Vec<String> {
    let mut findings = Vec::new();
    for (area, counts) in areas {
        let limits = limits.get(area).copied().unwrap_or_default();
        for ((hits, limit), (name, counted)) in counts.hits.iter().zip(limits).zip(KINDS) {
            // hits / lines > limit / 1000, without rounding.
            if hits * 1000 > limit * counts.lines {
                findings.push(format!(
                    "prose of {area}: {name} {:.1} per 1,000 comment lines, more than {limit} (tidy.toml): {counted}: \
                     see `cargo xtask prose {area}`",
                    *hits as f64 * 1000.0 / counts.lines.max(1) as f64
                ));
            }
        }
    }
    for area in limits.keys().filter(|area| !areas.contains_key(*area)) {
        findings.push(format!("tidy.toml:1: [prose.{area}]: there is no such area"));
    }
    findings
}

/// Reads the table `[prose]` of `tidy.toml`.
pub(crate) fn limits(table: &toml::Value) -> Result<Limits, String> {
    let mut limits = Limits::new();
    for (area, entries) in table.as_table().ok_or("prose: must be a table")? {
        let mut of_area = [0; KINDS.len()];
        for (name, limit) in entries.as_table().ok_or(format!("prose.{area}: must be a table"))? {
            let kind = KINDS.iter().position(|(known, _)| known == name);
            let kind = kind.ok_or(format!("prose.{area}: {name} is not counted"))?;
            let limit = limit.as_integer().and_then(|n| u64::try_from(n).ok());
            of_area[kind] = limit.ok_or(format!("prose.{area}.{name}: must be a number"))?;
        }
        limits.insert(area.clone(), of_area);
    }
    Ok(limits)
}

fn count(root: &Path, files: &[PathBuf]) -> Result<BTreeMap<String, Counts>, String> {
    let mut areas: BTreeMap<String, Counts> = BTreeMap::new();
    each_comment(root, files, |area, _, block| {
        let counts = counts(block);
        for area in [area, ALL] {
            let sum = areas.entry(area.to_owned()).or_default();
            sum.lines += counts.lines;
            for (sum, hits) in sum.hits.iter_mut().zip(counts.hits) {
                *sum += hits;
            }
        }
    })?;
    Ok(areas)
}

/// Calls `each` with area, file and comment for every comment of the tree.
fn each_comment(root: &Path, files: &[PathBuf], mut each: impl FnMut(&str, &Path, &Block)) -> Result<(), String> {
    for file in files {
        let extension = file.extension().map(|e| e.to_string_lossy().into_owned());
        let extension = extension.unwrap_or_default();
        // Skips files in languages without known comments: the text has a comment in each known language.
        if comments::blocks(&extension, "// a\n# b").is_empty() {
            continue;
        }
        let text = fs::read_to_string(root.join(file)).map_err(|e| format!("{}: {e}", file.display()))?;
        let area = area(file);
        for block in comments::blocks(&extension, &text) {
            each(&area, file, &block);
        }
    }
    Ok(())
}

/// Returns the area of a file: the crate, or the folder at the top of the tree.
fn area(file: &Path) -> String {
    let mut parts = file.iter().map(|p| p.to_string_lossy().into_owned());
    let first = parts.next().unwrap_or_default();
    if first == "crates" {
        parts.next().unwrap_or_default()
    } else {
        first
    }
}

fn counts(block: &Block) -> Counts {
    let mut counts = Counts {
        lines: block.iter().filter(|(_, text)| !text.is_empty()).count() as u64,
        ..Counts::default()
    };
    for (kind, ..) in hits(block) {
        counts.hits[kind] += 1;
    }
    counts
}

/// A word of a comment, without punctuation.
struct Word<'a> {
    text: &'a str,
    line: usize,
    /// It is the first word of a sentence.
    opens: bool,
}

/// Finds the counted phrases of a comment.
fn hits(block: &Block) -> Vec<Hit> {
    let words = words(block);
    let mut found = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let next = words.get(at + 1).map_or("", |w| w.text);
        let lower = word.text.to_ascii_lowercase();
        let kind = match lower.as_str() {
            "tell" | "tells" | "told" => "tell",
            "nobody" | "somebody" => "persons",
            "anew" | "stands" => "phrases",
            "goes" if next == "on" => "phrases",
            _ if !word.opens => continue,
            _ => match (word.text, next) {
                ("What" | "Who" | "Whether", _) | ("How", "much" | "long" | "many" | "often") => "openings",
                _ => continue,
            },
        };
        if let Some(kind) = KINDS.iter().position(|(name, _)| *name == kind) {
            found.push((kind, word.line, format!("{} {next}", word.text)));
        }
    }
    found
}

/// Splits a comment into words; code between backticks is left out.
fn words(block: &Block) -> Vec<Word<'_>> {
    let mut found = Vec::new();
    let mut opens = true;
    let mut in_code = false;
    for (line, text) in block {
        opens |= text.is_empty();
        for (at, raw) in text.split_whitespace().enumerate() {
            let marker = at == 0 && matches!(raw, "-" | "*" | "#" | "##" | "###" | "|");
            if marker {
                opens = true;
                continue;
            }
            let ticks = raw.matches('`').count();
            let code = in_code || ticks > 0;
            in_code ^= ticks % 2 == 1;
            let word = raw.trim_matches(|c: char| !c.is_alphanumeric());
            if !code && !word.is_empty() {
                found.push(Word {
                    text: word,
                    line: *line,
                    opens,
                });
            }
            opens = raw
                .trim_end_matches([')', '"', '*', '_'])
                .ends_with(['.', '?', '!', ':']);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> String {
        let blocks = comments::blocks("rs", text);
        let hits = blocks
            .iter()
            .flat_map(hits)
            .map(|(kind, line, _)| format!("{}:{line}", KINDS[kind].0));
        hits.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn openings_count_at_the_start_of_a_comment_and_of_a_sentence() {
        assert_eq!(
            found("/// What is sent.\nfn f() {} // Whether it is."),
            "openings:1 openings:2"
        );
        assert_eq!(
            found("// A sum. How\n// often it changed.\n// Who reads it."),
            "openings:1 openings:3"
        );
        assert_eq!(
            found("// - What is listed\n//\n// What follows"),
            "openings:1 openings:3"
        );
        assert_eq!(
            found("// Sends what is ready, How much or not. `What` is code. However."),
            ""
        );
    }

    #[test]
    fn words_and_phrases_count_anywhere_but_in_code() {
        assert_eq!(
            found("// It tells (nobody), and goes\n// on."),
            "tell:1 persons:1 phrases:1"
        );
        assert_eq!(found("// Told anew: it stands."), "tell:1 phrases:1 phrases:1");
        assert_eq!(
            found("// `told` and `a nobody b`, retell, understands.\nlet told = \"told\";"),
            ""
        );
    }

    #[test]
    fn counts_above_a_limit_are_findings() {
        let counted = Counts {
            lines: 100,
            hits: [1, 0, 0, 0],
        };
        let areas = BTreeMap::from([("core".to_owned(), counted)]);
        let limits_of = |text: &str| limits(&text.parse::<toml::Table>().unwrap()["prose"]).unwrap();
        assert_eq!(compare(&areas, &Limits::new()).len(), 1);
        assert_eq!(compare(&areas, &limits_of("[prose.core]\nopenings = 9")).len(), 1);
        assert!(compare(&areas, &limits_of("[prose.core]\nopenings = 10")).is_empty());
        let unknown = limits_of("[prose.core]\nopenings = 10\n[prose.gone]\ntell = 1");
        assert_eq!(compare(&areas, &unknown).len(), 1);
        let wrong = "[prose.core]\nasked = 1".parse::<toml::Table>().unwrap();
        assert!(limits(&wrong["prose"]).is_err());
    }

    #[test]
    fn empty_lines_are_no_comment_lines() {
        let blocks = comments::blocks("rs", "/// A.\n///\n/// B.");
        assert_eq!(counts(&blocks[0]).lines, 2);
        assert_eq!(area(Path::new("crates/capi/src/lib.rs")), "capi");
        assert_eq!(area(Path::new("include/rdkafka.h")), "include");
    }
}
