//! The comments of source files as text.

/// Consecutive comment lines without their markers: the number of each (from 1) and its text.
pub(crate) type Block = Vec<(usize, String)>;

/// Returns the comments of a file in Rust, C or C++ (`rs`, `c`, `h`, `cpp`, `hpp`) or Python (`py`), by its extension;
/// none for other files. A comment behind code is a block of its own.
pub(crate) fn blocks(extension: &str, text: &str) -> Vec<Block> {
    let lines = match extension {
        "rs" | "c" | "h" | "cpp" | "hpp" => c_like(text, extension == "rs"),
        "py" => python(text),
        _ => return Vec::new(),
    };
    let mut blocks: Vec<Block> = Vec::new();
    // The number of the line that would continue the last block; `None` after a comment behind code.
    let mut continuation = None;
    for line in lines {
        let next = line.alone.then_some(line.number + 1);
        match blocks.last_mut() {
            Some(block) if continuation == Some(line.number) && line.alone => block.push((line.number, line.text)),
            _ => blocks.push(vec![(line.number, line.text)]),
        }
        continuation = next;
    }
    blocks
}

/// A line of a comment.
struct Line {
    number: usize,
    text: String,
    /// There is no code before the comment.
    alone: bool,
}

/// A position in a file's text, and the comments found before it.
struct Reader<'a> {
    /// The text from the position on.
    rest: &'a str,
    /// The line number of the position, from 1.
    number: usize,
    /// There is code before the position on its line.
    code: bool,
    lines: Vec<Line>,
}

impl<'a> Reader<'a> {
    fn new(text: &'a str) -> Reader<'a> {
        Reader {
            rest: text,
            number: 1,
            code: false,
            lines: Vec::new(),
        }
    }

    /// Passes over the next `len` bytes as code.
    fn skip(&mut self, len: usize) {
        let (text, rest) = self.rest.split_at(len);
        for c in text.chars() {
            if c == '\n' {
                self.number += 1;
                self.code = false;
            } else if !c.is_whitespace() {
                self.code = true;
            }
        }
        self.rest = rest;
    }

    /// Passes over the next character.
    fn skip_char(&mut self) {
        self.skip(self.rest.chars().next().map_or(0, char::len_utf8));
    }

    /// Passes over the rest of a string, from behind its opening quote to behind its closing `quote`. `escapes`: a backslash
    /// escapes the next character.
    fn skip_string(&mut self, quote: &str, escapes: bool) {
        while !self.rest.is_empty() && !self.rest.starts_with(quote) {
            if escapes && self.rest.starts_with('\\') {
                self.skip_char();
            }
            self.skip_char();
        }
        self.skip(quote.len().min(self.rest.len()));
    }

    /// Adds the next `len` bytes as a comment; `clean` removes the markers from a line of it.
    fn comment(&mut self, len: usize, clean: impl Fn(&str) -> &str) {
        let (text, rest) = self.rest.split_at(len);
        for (offset, line) in text.split('\n').enumerate() {
            self.lines.push(Line {
                number: self.number + offset,
                text: clean(line.trim()).trim().to_owned(),
                alone: !self.code || offset > 0,
            });
        }
        self.number += text.matches('\n').count();
        self.rest = rest;
    }
}

fn c_like(text: &str, rust: bool) -> Vec<Line> {
    let mut reader = Reader::new(text);
    while let Some(c) = reader.rest.chars().next() {
        let rest = reader.rest;
        if rest.starts_with("//") {
            let len = rest.find('\n').unwrap_or(rest.len());
            reader.comment(len, |line| line.trim_start_matches('/').trim_start_matches(['!', '<']));
        } else if rest.starts_with("/*") {
            let len = rest.find("*/").map_or(rest.len(), |at| at + 2);
            reader.comment(len, |line| {
                let line = line.strip_suffix("*/").unwrap_or(line);
                let line = line.strip_prefix('/').unwrap_or(line);
                line.trim_start_matches('*').trim_start_matches(['!', '<'])
            });
        } else if let Some(hashes) = raw_string(rest).filter(|_| rust) {
            reader.skip(hashes + 2);
            reader.skip_string(&format!("\"{}", "#".repeat(hashes)), false);
        } else if c == '"' {
            reader.skip(1);
            reader.skip_string("\"", true);
        } else if let Some(len) = character(rest) {
            reader.skip(len);
        } else if c.is_alphanumeric() || c == '_' {
            // Passes over a word as a whole, so that its last letter does not begin a raw string; of the prefixes `br` and
            // `cr` only the first letter, since the second one does.
            let len = rest
                .find(|c: char| !c.is_alphanumeric() && c != '_')
                .unwrap_or(rest.len());
            reader.skip(if matches!(rest.get(..len), Some("br" | "cr")) {
                1
            } else {
                len
            });
        } else {
            reader.skip_char();
        }
    }
    reader.lines
}

/// Returns the number of `#` of the raw string that `rest` begins with.
fn raw_string(rest: &str) -> Option<usize> {
    let after = rest.strip_prefix('r')?;
    let quoted = after.trim_start_matches('#');
    quoted.starts_with('"').then(|| after.len() - quoted.len())
}

/// Returns the length of the character literal that `rest` begins with; none for a lifetime.
fn character(rest: &str) -> Option<usize> {
    let inner = rest.strip_prefix('\'')?;
    let mut chars = inner.char_indices();
    let (_, first) = chars.next()?;
    if first == '\\' {
        chars.next();
        return chars.find(|(_, c)| *c == '\'').map(|(at, _)| at + 2);
    }
    chars.next().filter(|(_, c)| *c == '\'').map(|(at, _)| at + 2)
}

fn python(text: &str) -> Vec<Line> {
    let mut reader = Reader::new(text);
    while let Some(c) = reader.rest.chars().next() {
        let rest = reader.rest;
        let quote = ["\"\"\"", "'''", "\"", "'"].into_iter().find(|q| rest.starts_with(q));
        match quote {
            _ if c == '#' => {
                let len = rest.find('\n').unwrap_or(rest.len());
                reader.comment(len, |line| line.trim_start_matches(['#', '!']));
            }
            // A docstring: a triple-quoted string at the start of a line.
            Some(quote) if quote.len() == 3 && !reader.code => {
                let end = rest.get(3..).and_then(|inner| inner.find(quote));
                let len = end.map_or(rest.len(), |at| at + 6);
                reader.comment(len, |line| {
                    let line = line.strip_prefix(quote).unwrap_or(line);
                    line.strip_suffix(quote).unwrap_or(line)
                });
            }
            Some(quote) => {
                reader.skip(quote.len());
                reader.skip_string(quote, true);
            }
            None => reader.skip_char(),
        }
    }
    reader.lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(extension: &str, text: &str) -> Vec<String> {
        let join = |block: Block| {
            block
                .into_iter()
                .map(|(n, t)| format!("{n}:{t}"))
                .collect::<Vec<_>>()
                .join("|")
        };
        blocks(extension, text).into_iter().map(join).collect()
    }

    #[test]
    fn rust_comments_are_read_and_strings_are_not() {
        let text = "//! A.\n//!\n//! B.\nlet a = \"// no\"; // C.\n/// D.\nlet b = r#\"\"// no\"#; let c = '\"'; // E.";
        assert_eq!(texts("rs", text), ["1:A.|2:|3:B.", "4:C.", "5:D.", "6:E."]);
        let text = "fn f<'a>(x: &'a u8) { '\\''; b'\"'; br\"//\"; for_r\"//\"; } // F.";
        assert_eq!(texts("rs", text), ["1:F."]);
    }

    #[test]
    fn c_comments_are_read_without_their_stars() {
        let text = "/**\n * A.\n *  B.\n */\nint a; /**< C. */\nchar *b = \"/*\\\"*/\"; // D.\n";
        assert_eq!(texts("c", text), ["1:|2:A.|3:B.|4:", "5:C.", "6:D."]);
    }

    #[test]
    fn python_comments_and_docstrings_are_read() {
        let text = "#!/usr/bin/python\n\"\"\"A.\n\nB.\"\"\"\nx = '# no' # C.\ny = \"\"\"\n# no\n\"\"\"\n# D.\n# E.\n";
        assert_eq!(
            texts("py", text),
            ["1:/usr/bin/python|2:A.|3:|4:B.", "5:C.", "9:D.|10:E."]
        );
    }

    #[test]
    fn other_files_have_no_comments() {
        assert!(blocks("md", "// A.").is_empty());
    }
}
