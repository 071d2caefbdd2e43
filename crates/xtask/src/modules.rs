//! The modules of a crate: their imports, definitions and inherent `impl` blocks, without test code.
//!
//! A name is resolved through `use` declarations, re-exports and globs to the module that defines it. The parser does not
//! expand macros: a name that a macro generates resolves to the module that its path names. Code under `#[cfg(test)]` and
//! test files are ignored.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::source::{self, Kind, Token};

/// A module's path from the crate's `src` folder; empty for the crate's root.
pub(crate) type ModulePath = Vec<String>;

/// Maximum number of re-exports that the resolution of a name follows.
const HOPS_MAX: usize = 12;

/// The modules of one crate.
#[derive(Debug, Default)]
pub(crate) struct CrateModules {
    pub(crate) modules: BTreeMap<ModulePath, Module>,
}

/// One module of a crate, which is one file.
#[derive(Debug, Default)]
pub(crate) struct Module {
    pub(crate) file: PathBuf,
    pub(crate) impls: Vec<Impl>,
    /// Number of leading segments of the module's path that name the root of its library or program.
    root: usize,
    uses: Vec<Use>,
    paths: Vec<PathUse>,
    /// Names that the module defines, including those of inline modules in its file.
    items: BTreeSet<String>,
    /// Identifiers outside of `use` declarations, except fields and methods, each with the line of its first use.
    idents: BTreeMap<String, usize>,
    /// Child modules that exist only in tests.
    test_children: Vec<String>,
}

/// An inherent `impl` block.
#[derive(Debug)]
pub(crate) struct Impl {
    /// The path of the type.
    path: Vec<String>,
    /// The inline modules around the block.
    modules: Vec<String>,
}

/// One name that a `use` declaration binds.
#[derive(Debug)]
struct Use {
    path: Vec<String>,
    /// The bound name; none for a glob.
    name: Option<String>,
    public: bool,
    line: usize,
    /// The inline modules around the declaration.
    modules: Vec<String>,
}

/// A path of several segments in an expression or a type.
#[derive(Debug)]
struct PathUse {
    path: Vec<String>,
    line: usize,
    /// The inline modules around the path.
    modules: Vec<String>,
}

/// The result of resolving a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Target {
    Module(ModulePath),
    Item(ModulePath, String),
}

/// An import: the line in the importing file, and the imported path as it is written there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Import {
    pub(crate) line: usize,
    pub(crate) written: String,
}

/// Importing module → imported module → first import.
pub(crate) type Imports = BTreeMap<ModulePath, BTreeMap<ModulePath, Import>>;

/// Reads the modules of every crate under `crates/`, keyed by the crate's folder.
///
/// # Errors
/// A file cannot be read or does not consist of Rust tokens.
pub(crate) fn read_crates(root: &Path, files: &[PathBuf]) -> Result<BTreeMap<String, CrateModules>, String> {
    let mut sources: BTreeMap<String, Vec<(PathBuf, String)>> = BTreeMap::new();
    for file in files.iter().filter(|f| f.extension().is_some_and(|e| e == "rs")) {
        let parts: Vec<_> = file.iter().map(|p| p.to_string_lossy()).collect();
        let ["crates", name, "src", ..] = parts.iter().map(AsRef::as_ref).collect::<Vec<&str>>()[..] else {
            continue;
        };
        let text = std::fs::read_to_string(root.join(file)).map_err(|e| format!("{}: {e}", file.display()))?;
        sources.entry(name.to_owned()).or_default().push((file.clone(), text));
    }
    let parse = |(name, sources): (String, Vec<(PathBuf, String)>)| Ok((name, CrateModules::parse(&sources)?));
    sources.into_iter().map(parse).collect()
}

/// Formats a module's path; the crate's root is `crate`.
pub(crate) fn display(module: &[String]) -> String {
    if module.is_empty() {
        "crate".into()
    } else {
        module.join("::")
    }
}

impl CrateModules {
    /// Parses the files of one crate, given by their paths from the repository's root.
    pub(crate) fn parse(sources: &[(PathBuf, String)]) -> Result<CrateModules, String> {
        let inner: Vec<(Vec<String>, &PathBuf, &String)> = sources
            .iter()
            .filter(|(file, _)| !source::is_test_file(file))
            .map(|(file, text)| (path_in_src(file), file, text))
            .collect();
        let has_lib = inner.iter().any(|(path, ..)| *path == ["lib.rs"]);
        // Roots of programs: folders with a main.rs, and each file in bin/.
        let mut roots: Vec<ModulePath> = Vec::new();
        for (path, ..) in &inner {
            match path.as_slice() {
                [folder @ .., last] if last == "main.rs" && !(folder.is_empty() && has_lib) => {
                    roots.push(folder.to_vec());
                }
                [bin, file] if bin == "bin" => roots.push(vec![bin.clone(), stem(file)]),
                _ => {}
            }
        }
        let mut crate_modules = CrateModules::default();
        for (path, file, text) in inner {
            let Some((last, folders)) = path.split_last() else {
                continue;
            };
            let mut module = folders.to_vec();
            let stem = stem(last);
            if stem != "mod" && stem != "main" && !(stem == "lib" && module.is_empty()) {
                module.push(stem);
            }
            let root = roots.iter().filter(|root| module.starts_with(root)).map(Vec::len).max();
            let tokens = source::tokens(text).map_err(|e| format!("{}:{e}", file.display()))?;
            let mut parsed = Module::parse(&tokens);
            parsed.file = file.clone();
            parsed.root = root.unwrap_or(0);
            // lib.rs and main.rs in one folder have the same module path.
            match crate_modules.modules.get_mut(&module) {
                Some(other) => other.merge(parsed),
                None => {
                    crate_modules.modules.insert(module, parsed);
                }
            }
        }
        crate_modules.remove_tests();
        Ok(crate_modules)
    }

    fn remove_tests(&mut self) {
        let mut tests: Vec<ModulePath> = Vec::new();
        for (path, module) in &self.modules {
            for child in &module.test_children {
                tests.push(path.iter().chain([child]).cloned().collect());
            }
        }
        self.modules
            .retain(|path, _| !tests.iter().any(|test| path.starts_with(test)));
    }

    /// Returns the imports between the modules. A re-export counts as an import only if its own file uses the name.
    pub(crate) fn imports(&self) -> Imports {
        let mut imports = Imports::new();
        for (path, module) in &self.modules {
            let mut add = |target: Option<Target>, line: usize, written: &[String]| {
                let Some(Target::Item(target, _)) = target else { return };
                if target != *path {
                    let written = written.join("::");
                    let import = Import { line, written };
                    imports.entry(path.clone()).or_default().entry(target).or_insert(import);
                }
            };
            for declared in &module.uses {
                let Some(name) = &declared.name else {
                    self.glob_imports(path, module, declared, &mut add);
                    continue;
                };
                if !declared.public || module.idents.contains_key(name) {
                    add(
                        self.resolve(path, &declared.modules, &declared.path),
                        declared.line,
                        &declared.path,
                    );
                }
            }
            for used in &module.paths {
                add(self.resolve(path, &used.modules, &used.path), used.line, &used.path);
            }
        }
        imports
    }

    /// Calls `add` for each identifier in `module` that the glob import `declared` binds.
    fn glob_imports(
        &self,
        path: &[String],
        module: &Module,
        declared: &Use,
        add: &mut impl FnMut(Option<Target>, usize, &[String]),
    ) {
        let Some(Target::Module(from)) = self.resolve(path, &declared.modules, &declared.path) else {
            // The glob imports the variants of an enum, or names of another crate.
            add(
                self.resolve(path, &declared.modules, &declared.path),
                declared.line,
                &declared.path,
            );
            return;
        };
        for (ident, line) in &module.idents {
            let bound = module.items.contains(ident) || module.uses.iter().any(|u| u.name.as_ref() == Some(ident));
            if !bound {
                let mut written = declared.path.clone();
                written.push(ident.clone());
                add(self.lookup(&from, ident, 0), *line, &written);
            }
        }
    }

    /// Resolves the type of an inherent `impl` block of `module` to the module that defines it and its name.
    pub(crate) fn impl_type(&self, module: &[String], block: &Impl) -> (ModulePath, String) {
        let written = || (module.to_vec(), block.path.join("::"));
        let found = match block.path.as_slice() {
            [name] => self.lookup(module, name, 0),
            path => self.resolve(module, &block.modules, path),
        };
        match found {
            Some(Target::Item(module, name)) => (module, name),
            _ => written(),
        }
    }

    /// Resolves `path`, written in `module` inside its inline modules `inline`. Returns `None` for a path into another
    /// crate.
    fn resolve(&self, module: &[String], inline: &[String], path: &[String]) -> Option<Target> {
        self.resolve_after(module, inline, path, 0)
    }

    /// As [`resolve`](Self::resolve), after `hops` re-exports.
    fn resolve_after(&self, module: &[String], inline: &[String], path: &[String], hops: usize) -> Option<Target> {
        let (first, mut rest) = path.split_first()?;
        let root = self.modules.get(module)?.root;
        let mut here: ModulePath = match first.as_str() {
            "crate" => module.get(..root)?.to_vec(),
            "self" => module.to_vec(),
            "super" => {
                let mut all: ModulePath = module.iter().chain(inline).cloned().collect();
                rest = path;
                while let Some((step, further)) = rest.split_first() {
                    if step != "super" {
                        break;
                    }
                    all.pop()?;
                    rest = further;
                }
                // Inline modules that `super` has not left are part of the file's module.
                all.truncate(module.len());
                all
            }
            _ => match self.lookup(module, first, hops)? {
                Target::Module(found) => found,
                item @ Target::Item(..) => return Some(item),
            },
        };
        for segment in rest {
            match self.lookup(&here, segment, hops) {
                Some(Target::Module(found)) => here = found,
                Some(item) => return Some(item),
                None if segment == "self" => {}
                None => return Some(Target::Item(here, segment.clone())),
            }
        }
        Some(Target::Module(here))
    }

    /// Finds `name` in the scope of `module`, after `hops` re-exports.
    fn lookup(&self, module: &[String], name: &str, hops: usize) -> Option<Target> {
        let child: ModulePath = module
            .iter()
            .map(String::as_str)
            .chain([name])
            .map(str::to_owned)
            .collect();
        if self.modules.contains_key(&child) {
            return Some(Target::Module(child));
        }
        let scope = self.modules.get(module)?;
        if scope.items.contains(name) {
            return Some(Target::Item(module.to_vec(), name.to_owned()));
        }
        if hops >= HOPS_MAX {
            return None;
        }
        for declared in scope.uses.iter().filter(|u| u.name.as_deref() == Some(name)) {
            // `use name;` imports another crate, and would lead back here.
            if declared.path.len() > 1 {
                return self.resolve_after(module, &declared.modules, &declared.path, hops + 1);
            }
        }
        for glob in scope.uses.iter().filter(|u| u.name.is_none()) {
            let from = self.resolve_after(module, &glob.modules, &glob.path, hops + 1);
            if let Some(Target::Module(from)) = from
                && from != module
                && let Some(found) = self.lookup(&from, name, hops + 1)
            {
                return Some(found);
            }
        }
        None
    }
}

fn path_in_src(file: &Path) -> Vec<String> {
    file.iter().skip(3).map(|p| p.to_string_lossy().into_owned()).collect()
}

fn stem(file: &str) -> String {
    file.strip_suffix(".rs").unwrap_or(file).to_owned()
}

impl Module {
    fn parse(tokens: &[Token]) -> Module {
        let (tokens, test_children) = source::without_tests(tokens);
        let mut scan = Scan {
            tokens: &tokens,
            module: Module {
                test_children,
                ..Module::default()
            },
            inline: Vec::new(),
        };
        scan.all();
        scan.module
    }

    fn merge(&mut self, other: Module) {
        self.uses.extend(other.uses);
        self.paths.extend(other.paths);
        self.items.extend(other.items);
        self.idents.extend(other.idents);
        self.impls.extend(other.impls);
        self.test_children.extend(other.test_children);
    }
}

/// A pass over the tokens of one file.
struct Scan<'a> {
    tokens: &'a [Token],
    module: Module,
    /// The inline modules around the current token.
    inline: Vec<String>,
}

impl Scan<'_> {
    fn kind(&self, at: usize) -> Option<&Kind> {
        self.tokens.get(at).map(|t| &t.kind)
    }

    fn ident(&self, at: usize) -> Option<&str> {
        self.tokens.get(at).and_then(Token::ident)
    }

    fn line(&self, at: usize) -> usize {
        self.tokens.get(at).map_or(0, |t| t.line)
    }

    fn all(&mut self) {
        let mut at = 0;
        let mut depth = 0;
        while let Some(kind) = self.kind(at).cloned() {
            match kind {
                Kind::Open(_) => depth += 1,
                Kind::Close(_) => {
                    depth -= 1;
                    self.inline.truncate(depth);
                }
                Kind::Ident(word) => {
                    let at_top = depth == self.inline.len();
                    at = self.word(at, &word, at_top);
                    if word == "mod" && at_top && self.kind(at) == Some(&Kind::Open('{')) {
                        self.inline.extend(self.ident(at - 1).map(str::to_owned));
                    }
                    continue;
                }
                _ => {}
            }
            at += 1;
        }
    }

    /// Reads the declaration or path that begins with the identifier at `at`. Returns the position after it.
    fn word(&mut self, at: usize, word: &str, at_top: bool) -> usize {
        let next = self.ident(at + 1).map(str::to_owned);
        match (word, next) {
            // `use<..>` in a type is a capture list, not a declaration.
            ("use", _) if self.kind(at + 1) != Some(&Kind::Punct('<')) => return self.use_declaration(at),
            ("fn" | "struct" | "enum" | "union" | "trait" | "type" | "const" | "static" | "mod", Some(name))
                if at_top && name != "fn" =>
            {
                self.module.items.insert(name);
                return at + 2;
            }
            ("macro_rules", None) => {
                let name = self.ident(at + 2).map(str::to_owned);
                self.module.items.extend(name);
                return at + 3;
            }
            ("impl", _) if at_top => self.impl_block(at),
            _ => {}
        }
        self.path(at)
    }

    /// Reads a path in an expression or a type. Returns the position after it.
    fn path(&mut self, at: usize) -> usize {
        let after_dot = at > 0 && self.kind(at - 1) == Some(&Kind::Punct('.'));
        let (path, end) = self.segments(at);
        let line = self.line(at);
        if let [name] = path.as_slice() {
            if !after_dot {
                self.module.idents.entry(name.clone()).or_insert(line);
            }
        } else {
            for name in &path {
                self.module.idents.entry(name.clone()).or_insert(line);
            }
            let modules = self.inline.clone();
            self.module.paths.push(PathUse { path, line, modules });
        }
        end
    }

    /// Reads identifiers joined by `::`. Returns them and the position after them.
    fn segments(&self, mut at: usize) -> (Vec<String>, usize) {
        let mut path = Vec::new();
        while let Some(name) = self.ident(at) {
            path.push(name.to_owned());
            at += 1;
            if self.kind(at) != Some(&Kind::PathSep) || self.ident(at + 1).is_none() {
                break;
            }
            at += 1;
        }
        (path, at)
    }

    /// Reads the `use` declaration at `at`; returns the position after its `;`.
    fn use_declaration(&mut self, at: usize) -> usize {
        let before = |back: usize| at.checked_sub(back).and_then(|at| self.tokens.get(at));
        let public = before(1).is_some_and(|t| t.ident() == Some("pub") || t.kind == Kind::Close('('));
        let mut end = at;
        while self.kind(end).is_some_and(|kind| *kind != Kind::Punct(';')) {
            end += 1;
        }
        self.use_tree(at + 1, &[], public);
        end + 1
    }

    /// Reads one tree of a `use` declaration; returns the position after it.
    fn use_tree(&mut self, mut at: usize, prefix: &[String], public: bool) -> usize {
        let line = self.line(at);
        let mut path = prefix.to_vec();
        let mut name = None;
        loop {
            match self.kind(at) {
                Some(Kind::Ident(word)) if word == "as" => {
                    name = self.ident(at + 1).map(str::to_owned);
                    at += 2;
                }
                Some(Kind::Ident(word)) => {
                    if word != "self" || path.is_empty() {
                        path.push(word.clone());
                    }
                    at += 1;
                }
                Some(Kind::PathSep) => at += 1,
                Some(Kind::Punct('*')) => {
                    let modules = self.inline.clone();
                    let name = None;
                    self.module.uses.push(Use {
                        path,
                        name,
                        public,
                        line,
                        modules,
                    });
                    return at + 1;
                }
                Some(Kind::Open('{')) => {
                    at += 1;
                    loop {
                        match self.kind(at) {
                            None => return at,
                            Some(Kind::Close(_)) => return at + 1,
                            Some(Kind::Punct(',')) => at += 1,
                            Some(_) => at = self.use_tree(at, &path, public).max(at + 1),
                        }
                    }
                }
                _ => break,
            }
        }
        let name = name.or_else(|| path.last().cloned());
        let modules = self.inline.clone();
        self.module.uses.push(Use {
            path,
            name,
            public,
            line,
            modules,
        });
        at
    }

    /// Records the `impl` block at `at` unless it implements a trait.
    fn impl_block(&mut self, at: usize) {
        let mut at = self.after_generics(at + 1);
        let (path, end) = self.segments(at);
        if path.is_empty() {
            return;
        }
        at = end;
        while let Some(kind) = self.kind(at) {
            match kind {
                Kind::Open('{') => break,
                Kind::Ident(word) if word == "where" => break,
                // `for<'a>` binds a lifetime.
                Kind::Ident(word) if word == "for" && self.kind(at + 1) != Some(&Kind::Punct('<')) => return,
                _ => at += 1,
            }
        }
        let modules = self.inline.clone();
        self.module.impls.push(Impl { path, modules });
    }

    /// Returns the position after the generics at `at`, if there are any.
    fn after_generics(&self, mut at: usize) -> usize {
        if self.kind(at) != Some(&Kind::Punct('<')) {
            return at;
        }
        let mut depth = 0_usize;
        while let Some(kind) = self.kind(at) {
            match kind {
                Kind::Punct('<') => depth += 1,
                // The arrow of a function type.
                Kind::Punct('>') if self.kind(at - 1) != Some(&Kind::Punct('-')) => depth -= 1,
                _ => {}
            }
            at += 1;
            if depth == 0 {
                break;
            }
        }
        at
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Parses a crate from its files' paths below `src` and their texts.
    pub(crate) fn crate_of(files: &[(&str, &str)]) -> CrateModules {
        let sources: Vec<_> = files
            .iter()
            .map(|(file, text)| (Path::new("crates/core/src").join(file), (*text).to_owned()))
            .collect();
        CrateModules::parse(&sources).unwrap()
    }

    fn edges(files: &[(&str, &str)]) -> Vec<String> {
        let mut found = Vec::new();
        for (from, targets) in crate_of(files).imports() {
            for to in targets.keys() {
                found.push(format!("{} -> {}", display(&from), display(to)));
            }
        }
        found
    }

    #[test]
    fn imports_resolve_to_the_defining_module() {
        let files = [
            ("lib.rs", "mod a; mod b; pub use a::inner::Thing;"),
            (
                "a/mod.rs",
                "mod inner; pub(crate) use inner::{Thing, other as renamed};",
            ),
            ("a/inner.rs", "pub struct Thing; pub fn other() {}"),
            ("b.rs", "use crate::Thing; fn f() { crate::a::renamed(); }"),
        ];
        assert_eq!(edges(&files), ["b -> a::inner"]);
    }

    #[test]
    fn a_re_export_that_its_file_uses_is_an_import() {
        let files = [
            ("lib.rs", "mod a;"),
            ("a.rs", "mod inner; pub use inner::Thing; fn f(thing: Thing) {}"),
            ("a/inner.rs", "pub struct Thing; fn g() { super::f() }"),
        ];
        assert_eq!(edges(&files), ["a -> a::inner", "a::inner -> a"]);
    }

    #[test]
    fn globs_import_the_names_that_are_used() {
        let files = [
            ("lib.rs", "mod a; mod b; mod c;"),
            ("a.rs", "pub struct A; pub fn len() {}"),
            ("b.rs", "use crate::a::*; fn f(a: A) {}"),
            ("c.rs", "use crate::a::*; fn f(x: &[u8]) { x.len(); }"),
        ];
        assert_eq!(edges(&files), ["b -> a"]);
    }

    #[test]
    fn a_path_through_an_imported_module_is_an_import_of_the_target() {
        let files = [
            ("lib.rs", "mod a; mod b;"),
            ("a/mod.rs", "pub mod inner;"),
            ("a/inner.rs", "pub fn f() {}"),
            ("b.rs", "use crate::a; fn g() { a::inner::f() }"),
        ];
        assert_eq!(edges(&files), ["b -> a::inner"]);
    }

    #[test]
    fn test_code_imports_nothing() {
        let files = [
            ("lib.rs", "mod a; mod b;"),
            ("a.rs", "pub fn f() {}\n#[cfg(test)] mod world;"),
            ("a/world.rs", "use crate::b::B;"),
            (
                "b.rs",
                "pub struct B;\n#[cfg(test)] use crate::a::f;\n#[cfg(all(test, not(x)))] mod t { use crate::a::f; }",
            ),
            ("b/tests.rs", "use crate::a::f;"),
        ];
        assert_eq!(edges(&files), Vec::<String>::new());
    }

    #[test]
    fn programs_beside_a_library_have_their_own_root() {
        let files = [
            ("lib.rs", "pub fn f() {}"),
            ("cli/main.rs", "mod args; mod run; fn main() { run::g() }"),
            ("cli/args.rs", "pub struct Args;"),
            ("cli/run.rs", "use crate::args::Args; pub fn g() {}"),
        ];
        assert_eq!(edges(&files), ["cli -> cli::run", "cli::run -> cli::args"]);
    }

    #[test]
    fn super_leaves_inline_modules_first() {
        let files = [
            ("lib.rs", "mod a; mod b;"),
            (
                "a.rs",
                "fn f() {} mod m { fn g() { super::f(); super::super::b::h(); } }",
            ),
            ("b.rs", "pub fn h() {}"),
        ];
        assert_eq!(edges(&files), ["a -> b"]);
    }

    #[test]
    fn inherent_impls_are_resolved_and_those_of_traits_left_out() {
        let files = [
            ("lib.rs", "mod a; mod b;"),
            (
                "a.rs",
                "pub struct A<T>(T); impl<T: Fn() -> u8> A<T> {} impl<T> Clone for A<T> {}",
            ),
            (
                "b.rs",
                "use super::a::A; impl<F: for<'x> Fn(&'x u8)> A<F> {} impl crate::a::A<u8> {}",
            ),
        ];
        let parsed = crate_of(&files);
        let mut found = Vec::new();
        for (path, module) in &parsed.modules {
            for block in &module.impls {
                found.push((display(path), parsed.impl_type(path, block)));
            }
        }
        let a = (vec!["a".to_owned()], "A".to_owned());
        let (b, of_a) = ("b".to_owned(), "a".to_owned());
        assert_eq!(found, [(of_a, a.clone()), (b.clone(), a.clone()), (b, a)]);
    }
}
