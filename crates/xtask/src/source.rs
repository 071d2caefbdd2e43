//! Reading the repository: its files, and Rust source as tokens with line numbers.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, io};

use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};

/// Returns the repository's root: two folders above this crate.
pub(crate) fn root() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.ancestors().nth(2).unwrap_or(manifest).to_path_buf()
}

/// Returns every file that belongs to the project, relative to `root`, sorted: what git
/// tracks or would track; in a tree without git, everything but build output.
pub(crate) fn files(root: &Path) -> Result<Vec<PathBuf>, String> {
    let listed = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(root)
        .output();
    let mut found = Vec::new();
    match listed {
        Ok(output) if output.status.success() => {
            for name in String::from_utf8_lossy(&output.stdout).split('\0') {
                // A file deleted but not yet committed is still listed.
                if !name.is_empty() && root.join(name).is_file() {
                    found.push(PathBuf::from(name));
                }
            }
        }
        _ => walk(root, Path::new(""), &mut found).map_err(|e| format!("{}: {e}", root.display()))?,
    }
    found.sort();
    found.dedup();
    Ok(found)
}

fn walk(root: &Path, folder: &Path, found: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(root.join(folder))? {
        let entry = entry?;
        let path = folder.join(entry.file_name());
        let skipped = ["target", "build", ".cache", ".git"]
            .iter()
            .any(|s| path == Path::new(s));
        if entry.file_type()?.is_dir() {
            if !skipped {
                walk(root, &path, found)?;
            }
        } else {
            found.push(path);
        }
    }
    Ok(())
}

/// The kind of a token, as far as the checks need it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Kind {
    /// An identifier or keyword, without a raw prefix.
    Ident(String),
    /// `::`, joined from its two characters.
    PathSep,
    /// Any other punctuation character.
    Punct(char),
    /// The start of a delimited group: `(`, `[` or `{`.
    Open(char),
    /// The end of a delimited group, named by its opening character.
    Close(char),
    /// A number, string or character literal.
    Literal,
}

/// One token and its line (from 1).
#[derive(Debug, Clone)]
pub(crate) struct Token {
    pub(crate) kind: Kind,
    pub(crate) line: usize,
}

impl Token {
    /// Returns the identifier, if this token is one.
    pub(crate) fn ident(&self) -> Option<&str> {
        match &self.kind {
            Kind::Ident(name) => Some(name),
            _ => None,
        }
    }
}

/// Returns the tokens of a Rust source text, groups flattened into open and close tokens.
pub(crate) fn tokens(text: &str) -> Result<Vec<Token>, String> {
    let stream: TokenStream = text
        .parse()
        .map_err(|e: proc_macro2::LexError| format!("{}: not Rust tokens: {e}", e.span().start().line))?;
    let mut flat = Vec::new();
    flatten(stream, &mut flat);
    Ok(flat)
}

fn flatten(stream: TokenStream, flat: &mut Vec<Token>) {
    let mut trees = stream.into_iter().peekable();
    while let Some(tree) = trees.next() {
        let line = tree.span().start().line;
        match tree {
            TokenTree::Group(group) => {
                let open = match group.delimiter() {
                    Delimiter::Parenthesis => '(',
                    Delimiter::Brace => '{',
                    Delimiter::Bracket | Delimiter::None => '[',
                };
                flat.push(Token {
                    kind: Kind::Open(open),
                    line: group.span_open().start().line,
                });
                flatten(group.stream(), flat);
                flat.push(Token {
                    kind: Kind::Close(open),
                    line: group.span_close().end().line,
                });
            }
            TokenTree::Ident(ident) => {
                let name = ident.to_string();
                let name = name.strip_prefix("r#").unwrap_or(&name).to_owned();
                flat.push(Token {
                    kind: Kind::Ident(name),
                    line,
                });
            }
            TokenTree::Punct(punct) => {
                let joint = punct.as_char() == ':' && punct.spacing() == Spacing::Joint;
                let doubled = joint && matches!(trees.peek(), Some(TokenTree::Punct(next)) if next.as_char() == ':');
                if doubled {
                    trees.next();
                    flat.push(Token {
                        kind: Kind::PathSep,
                        line,
                    });
                } else {
                    flat.push(Token {
                        kind: Kind::Punct(punct.as_char()),
                        line,
                    });
                }
            }
            TokenTree::Literal(_) => flat.push(Token {
                kind: Kind::Literal,
                line,
            }),
        }
    }
}

/// Returns whether a file holds only tests, their kit, or benchmarks, by its name or a folder's.
pub(crate) fn is_test_file(file: &Path) -> bool {
    file.iter().any(|part| {
        let part = part.to_string_lossy();
        let stem = part.strip_suffix(".rs").unwrap_or(&part);
        matches!(stem, "tests" | "test_kit" | "benches") || stem.ends_with("_tests")
    })
}

/// Removes the items and statements under `#[cfg(test)]` or `#[cfg(all(test, ..))]`; returns what is left, and the
/// names of the removed modules that are files.
pub(crate) fn without_tests(tokens: &[Token]) -> (Vec<Token>, Vec<String>) {
    let mut kept = Vec::new();
    let mut modules = Vec::new();
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        let attribute = matches!(token.kind, Kind::Punct('#'));
        let inner = usize::from(matches!(tokens.get(at + 1).map(|t| &t.kind), Some(Kind::Punct('!'))));
        let end = group_end(tokens, at + 1 + inner);
        if attribute && is_test_attribute(tokens.get(at + 1 + inner..end).unwrap_or(&[])) {
            if inner == 1 {
                return (Vec::new(), modules);
            }
            let item = end;
            at = item_end(tokens, item);
            let words: Vec<&str> = tokens[item..at].iter().filter_map(Token::ident).collect();
            if let ([.., "mod", name], Some(Kind::Punct(';'))) = (&words[..], tokens.get(at - 1).map(|t| &t.kind)) {
                modules.push((*name).to_owned());
            }
            continue;
        }
        kept.push(token.clone());
        at += 1;
    }
    (kept, modules)
}

/// Returns whether `attribute`, from its bracket on, compiles an item for tests only.
fn is_test_attribute(attribute: &[Token]) -> bool {
    let words: Vec<&str> = attribute.iter().filter_map(Token::ident).collect();
    let opens = attribute.first().is_some_and(|t| t.kind == Kind::Open('['));
    opens && matches!(words[..], ["cfg", "test"] | ["cfg", "all", "test", ..])
}

/// Returns the position after the group that opens at `at`; `at` where none does.
fn group_end(tokens: &[Token], at: usize) -> usize {
    let mut depth = 0_usize;
    for (offset, token) in tokens.get(at..).unwrap_or(&[]).iter().enumerate() {
        match token.kind {
            Kind::Open(_) => depth += 1,
            Kind::Close(_) => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return if offset == 0 { at } else { at + offset + 1 };
        }
    }
    tokens.len()
}

/// Returns the position after the item, statement, field or match arm at `start`, further attributes included.
fn item_end(tokens: &[Token], start: usize) -> usize {
    let mut at = start;
    while matches!(tokens.get(at).map(|t| &t.kind), Some(Kind::Punct('#'))) {
        at = group_end(tokens, at + 1);
    }
    let mut to_semicolon = false;
    let mut item = false;
    while let Some(token) = tokens.get(at) {
        match &token.kind {
            Kind::Ident(word) => {
                to_semicolon |= !item && matches!(word.as_str(), "use" | "const" | "static" | "type" | "let");
                if matches!(
                    word.as_str(),
                    "fn" | "impl" | "struct" | "enum" | "union" | "trait" | "mod"
                ) {
                    (item, to_semicolon) = (true, false);
                }
            }
            Kind::Punct(';') => return at + 1,
            Kind::Punct(',') if !item && !to_semicolon => return at + 1,
            Kind::Close(_) => return at,
            Kind::Open(c) => {
                at = group_end(tokens, at);
                // The visibility's parenthesis, parameters and types go on.
                if *c == '{' && !to_semicolon {
                    return at;
                }
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    at
}

/// A path that source names, such as `crate::error::Error` or `Instant::now`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NamedPath {
    pub(crate) segments: Vec<String>,
    pub(crate) line: usize,
    /// Inline modules around it, outermost first.
    pub(crate) modules: Vec<String>,
    /// The path is inside a `#[cfg(test)]` inline module.
    pub(crate) in_tests: bool,
}

/// Returns every path in `tokens`, `use` groups spread out: `use a::{b, c::d}` gives
/// `a::b` and `a::c::d`.
pub(crate) fn paths(tokens: &[Token]) -> Vec<NamedPath> {
    let mut scan = Scan {
        tokens,
        found: Vec::new(),
        modules: Vec::new(),
        test_depth: None,
    };
    scan.all();
    scan.found
}

struct Scan<'a> {
    tokens: &'a [Token],
    found: Vec<NamedPath>,
    /// Inline modules that are open, each with the brace depth inside it.
    modules: Vec<(String, usize)>,
    /// Brace depth inside the outermost open test module.
    test_depth: Option<usize>,
}

impl Scan<'_> {
    fn kind(&self, at: usize) -> Option<&Kind> {
        self.tokens.get(at).map(|t| &t.kind)
    }

    fn all(&mut self) {
        let mut at = 0;
        let mut depth = 0;
        while let Some(token) = self.tokens.get(at) {
            match &token.kind {
                Kind::Open(_) => depth += 1,
                Kind::Close(_) => {
                    self.modules.retain(|(_, inside)| *inside < depth);
                    if self.test_depth == Some(depth) {
                        self.test_depth = None;
                    }
                    depth -= 1;
                }
                Kind::Ident(word) if word == "mod" => {
                    if let (Some(Kind::Ident(name)), Some(Kind::Open('{'))) = (self.kind(at + 1), self.kind(at + 2)) {
                        self.modules.push((name.clone(), depth + 1));
                        if self.test_depth.is_none() && self.is_test_module(at) {
                            self.test_depth = Some(depth + 1);
                        }
                    }
                }
                Kind::Ident(_) => {
                    at = self.path(at, &[]);
                    continue;
                }
                _ => {}
            }
            at += 1;
        }
    }

    /// Returns whether `#[cfg(test)]` directly precedes the `mod` at `at`, visibility
    /// and further attributes aside.
    fn is_test_module(&self, at: usize) -> bool {
        let before = self.tokens.get(at.saturating_sub(24)..at).unwrap_or(&[]);
        // Only what belongs to this item: nothing before the last `;` or `}`.
        let start = before
            .iter()
            .rposition(|t| matches!(t.kind, Kind::Punct(';') | Kind::Close('{')))
            .map_or(0, |i| i + 1);
        let words: Vec<&str> = before[start..].iter().filter_map(Token::ident).collect();
        words.windows(2).any(|w| w == ["cfg", "test"])
    }

    /// Reads the path that starts at `at`, which holds an identifier; returns
    /// the place after it.
    fn path(&mut self, mut at: usize, prefix: &[String]) -> usize {
        let line = self.tokens.get(at).map_or(0, |t| t.line);
        let mut segments = prefix.to_vec();
        while let Some(Kind::Ident(name)) = self.kind(at) {
            segments.push(name.clone());
            at += 1;
            if self.kind(at) != Some(&Kind::PathSep) {
                break;
            }
            match self.kind(at + 1) {
                Some(Kind::Ident(_)) => at += 1,
                Some(Kind::Open('{')) => return self.group(at + 2, &segments),
                _ => {
                    at += 1;
                    break;
                }
            }
        }
        self.found.push(NamedPath {
            segments,
            line,
            modules: self.modules.iter().map(|(name, _)| name.clone()).collect(),
            in_tests: self.test_depth.is_some(),
        });
        at
    }

    /// Reads the elements of a `use` group from `at`, just inside its brace;
    /// returns the place after the closing brace.
    fn group(&mut self, mut at: usize, prefix: &[String]) -> usize {
        while let Some(kind) = self.kind(at) {
            match kind {
                Kind::Close('{') => return at + 1,
                // `as name`: the name is new, not a path.
                Kind::Ident(word) if word == "as" => at += 2,
                Kind::Ident(_) => at = self.path(at, prefix),
                _ => at += 1,
            }
        }
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spelled(text: &str) -> Vec<String> {
        paths(&tokens(text).unwrap())
            .iter()
            .map(|p| p.segments.join("::"))
            .collect()
    }

    #[test]
    fn use_groups_are_spread_out() {
        let found = spelled("use crate::{a::B, c::{D, e::F as G}};");
        assert_eq!(found, ["use", "crate::a::B", "crate::c::D", "crate::c::e::F"]);
    }

    #[test]
    fn comments_and_strings_are_not_paths() {
        assert_eq!(spelled("// std::thread\nlet x = \"std::thread\";"), ["let", "x"]);
    }

    #[test]
    fn lines_count_from_one() {
        let found = paths(&tokens("\n\nstd::thread::spawn()").unwrap());
        assert_eq!(found[0].line, 3);
    }

    #[test]
    fn test_modules_are_known() {
        let text = "mod a { x::y(); }\n#[cfg(test)]\nmod tests { mod inner { p::q(); } }\nr::s();";
        let found = paths(&tokens(text).unwrap());
        let of = |name: &str| found.iter().find(|p| p.segments[0] == name).unwrap().clone();
        assert!(!of("x").in_tests);
        assert_eq!(of("x").modules, ["a"]);
        assert!(of("p").in_tests);
        assert_eq!(of("p").modules, ["tests", "inner"]);
        assert!(!of("r").in_tests);
    }

    #[test]
    fn test_code_is_removed_up_to_the_end_of_its_item() {
        let left = |text: &str| {
            let (kept, modules) = without_tests(&tokens(text).unwrap());
            let words: Vec<String> = kept.iter().filter_map(Token::ident).map(str::to_owned).collect();
            (words.join(" "), modules.join(" "))
        };
        let case =
            |text: &str, kept: &str, modules: &str| assert_eq!(left(text), (kept.into(), modules.into()), "{text}");
        case("#[cfg(test)] mod a; mod b;", "mod b", "a");
        case(
            "#[cfg(test)] #[path = \"x\"] pub(crate) mod a { fn x() {} } fn b() {}",
            "fn b",
            "",
        );
        case("#[cfg(test)] use a::{b, c}; use d;", "use d", "");
        case("#[cfg(test)] const A: [u8; 2] = { [1, 2] }; fn b() {}", "fn b", "");
        case("#[cfg(test)] const fn a<T, U>(t: T) -> u8 { 1 } fn b() {}", "fn b", "");
        case("struct S { #[cfg(test)] a: u8, b: u8 }", "struct S b u8", "");
        case("fn f() { #[cfg(test)] { a(); } b(); }", "fn f b", "");
        case("#[cfg(not(test))] fn a() {}", "cfg not test fn a", "");
        case(
            "#[cfg(all(test, not(x)))] mod a { } #[cfg(any(test, x))] mod b { }",
            "cfg any test x mod b",
            "",
        );
        case("#![cfg(test)] fn a() {}", "", "");
    }

    #[test]
    fn the_projects_files_are_listed() {
        let found = files(&root()).unwrap();
        assert!(found.iter().any(|f| f == Path::new("crates/xtask/src/source.rs")));
        assert!(!found.iter().any(|f| f.starts_with(".git")));
    }
}
