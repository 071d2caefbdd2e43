//! Where inputs are: those that are kept with the source, and those that runs find, which are not.

use std::fs;
use std::path::{Path, PathBuf};

use ottla_fuzz::{Target, corpus};

/// Returns the project's folder.
pub(crate) fn root() -> PathBuf {
    corpus::folder().join("../../..")
}

fn untracked(kind: &str) -> PathBuf {
    root().join(".cache/fuzz").join(kind)
}

/// Writes the target's tracked corpus to a new folder; returns the folder.
pub(crate) fn tracked(target: &Target) -> Result<PathBuf, String> {
    let folder = fresh(untracked("tracked").join(target.name))?;
    for (number, input) in corpus::found(target)?.iter().enumerate() {
        write(&folder.join(format!("{number:04}")), input)?;
    }
    for (name, input) in corpus::named(target)? {
        write(&folder.join(name), &input)?;
    }
    Ok(folder)
}

/// Returns the folder of the inputs that earlier runs of the target found; each reaches new code.
pub(crate) fn work(target: &Target) -> Result<PathBuf, String> {
    made(untracked("corpus").join(target.name))
}

/// Returns the folder of inputs with findings.
pub(crate) fn findings() -> Result<PathBuf, String> {
    made(untracked("findings"))
}

/// Returns the file of the engine's output.
pub(crate) fn logs() -> Result<PathBuf, String> {
    made(untracked("log"))
}

/// Writes the target's seeds to a new folder; returns the folder.
pub(crate) fn seeds(target: &Target) -> Result<PathBuf, String> {
    let folder = fresh(untracked("seeds").join(target.name))?;
    for (number, seed) in (target.seeds)().iter().enumerate() {
        write(&folder.join(format!("{number:04}")), seed)?;
    }
    Ok(folder)
}

/// Returns the target's words in the engine's form of a dictionary.
pub(crate) fn words(target: &Target) -> Result<Option<PathBuf>, String> {
    let words = (target.words)();
    if words.is_empty() {
        return Ok(None);
    }
    let lines: Vec<String> = words.iter().map(|word| format!("\"{}\"\n", quoted(word))).collect();
    let path = made(untracked("words"))?.join(target.name);
    write(&path, lines.concat().as_bytes())?;
    Ok(Some(path))
}

/// Returns an empty folder.
pub(crate) fn fresh(path: PathBuf) -> Result<PathBuf, String> {
    if path.exists() {
        fs::remove_dir_all(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    }
    made(path)
}

pub(crate) fn made(path: PathBuf) -> Result<PathBuf, String> {
    fs::create_dir_all(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    Ok(path)
}

pub(crate) fn write(path: &Path, data: &[u8]) -> Result<(), String> {
    fs::write(path, data).map_err(|e| format!("{}: {e}", path.display()))
}

/// Returns the files in a folder, by name; none when there is no folder.
pub(crate) fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| path.is_file())
        .collect();
    files.sort();
    files
}

/// Returns a word with the escapes of the engine's dictionaries: a line has one word.
fn quoted(word: &str) -> String {
    let mut text = String::new();
    for byte in word.bytes() {
        match byte {
            b'\\' | b'"' => text.extend(['\\', char::from(byte)]),
            b' '..=b'~' => text.push(char::from(byte)),
            _ => text.push_str(&format!("\\x{byte:02x}")),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_dictionary_fit_one_line() {
        assert_eq!(quoted("a\"b\\c\nd\u{e9}"), "a\\\"b\\\\c\\x0ad\\xc3\\xa9");
    }
}
