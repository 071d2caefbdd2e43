//! The table of layers in `ARCHITECTURE.md`, generated from `layers.toml`.

use std::fmt::Write as _;

use crate::source;

const DOCUMENT: &str = "ARCHITECTURE.md";
const BEGIN: &str = "<!-- layers: generated from layers.toml by `cargo xtask gen-architecture` -->\n";
const END: &str = "<!-- end -->";

/// Writes the table into `ARCHITECTURE.md`; with `--check`, compares it with the file instead.
///
/// # Errors
/// A file cannot be read or written, the document has no place for the table, a row has no description, or, with
/// `--check`, the table differs.
pub(crate) fn run(args: &[String]) -> Result<(), String> {
    let check = match args {
        [] => false,
        [arg] if arg == "--check" => true,
        _ => return Err("usage: cargo xtask gen-architecture [--check]".into()),
    };
    let root = source::root();
    let read = |name: &str| std::fs::read_to_string(root.join(name)).map_err(|e| format!("{name}: {e}"));
    let document = read(DOCUMENT)?;
    let written = replaced(&document, &table(&read("layers.toml")?)?)?;
    if !check {
        return std::fs::write(root.join(DOCUMENT), written).map_err(|e| format!("{DOCUMENT}: {e}"));
    }
    match written == document {
        true => Ok(()),
        false => Err(format!(
            "{DOCUMENT}: the table of layers differs from layers.toml; run `cargo xtask gen-architecture`"
        )),
    }
}

/// Returns the document with the table in its place.
fn replaced(document: &str, table: &str) -> Result<String, String> {
    let missing = || format!("{DOCUMENT}: no line {:?} with {END:?} after it", BEGIN.trim_end());
    let begin = document.find(BEGIN).ok_or_else(missing)? + BEGIN.len();
    let end = begin + document[begin..].find(END).ok_or_else(missing)?;
    Ok(format!("{}{table}{}", &document[..begin], &document[end..]))
}

/// Returns the table of all crates with rows, lowest row first.
fn table(layers: &str) -> Result<String, String> {
    let toml: toml::Table = layers.parse().map_err(|e| format!("layers.toml: {e}"))?;
    let crates = toml.get("modules").and_then(toml::Value::as_table);
    let mut out = String::from("| crate | row | modules | contents |\n|---|---|---|---|\n");
    for (name, rows) in crates.into_iter().flatten() {
        for row in rows.as_array().into_iter().flatten() {
            let text = |key: &str| {
                let value = row.get(key).and_then(toml::Value::as_str);
                value.ok_or(format!("layers.toml: a row of {name} has no `{key}`"))
            };
            let modules = row.get("modules").and_then(toml::Value::as_array);
            let modules: Vec<String> = modules
                .into_iter()
                .flatten()
                .filter_map(|m| Some(format!("`{}`", m.as_str()?)))
                .collect();
            let (title, contents) = (text("row")?, text("contents")?);
            let _ = writeln!(out, "| `{name}` | {title} | {} | {contents} |", modules.join(", "));
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAYERS: &str = r#"
        [[modules.core]]
        row = "bottom"
        contents = "types"
        modules = ["a", "b"]
        [[modules.core]]
        row = "top"
        contents = "the rest"
        modules = ["c"]
    "#;

    #[test]
    fn each_row_of_each_crate_is_a_row_of_the_table() {
        let table = table(LAYERS).unwrap();
        let lines: Vec<&str> = table.lines().skip(2).collect();
        let expected = [
            "| `core` | bottom | `a`, `b` | types |",
            "| `core` | top | `c` | the rest |",
        ];
        assert_eq!(lines, expected);
    }

    #[test]
    fn a_row_without_contents_is_an_error() {
        let error = table("[[modules.core]]\nrow = \"x\"\nmodules = []").unwrap_err();
        assert!(error.contains("`contents`"), "{error}");
    }

    #[test]
    fn the_table_replaces_the_text_between_the_marks() {
        let document = format!("before\n{BEGIN}old\n{END}\nafter\n");
        let expected = format!("before\n{BEGIN}new\n{END}\nafter\n");
        assert_eq!(replaced(&document, "new\n"), Ok(expected));
        assert!(replaced("no marks", "new\n").is_err());
    }
}
