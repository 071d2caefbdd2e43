//! Texts of others in error messages.

use zeroize::Zeroizing;

/// Maximum number of characters of a text that is shown.
const SHOWN_MAX: usize = 200;

/// Returns a text for an error message: one line, at most [`SHOWN_MAX`] characters. Control characters, and those that change
/// the direction of writing, become question marks.
pub(crate) fn shown(text: &str) -> String {
    let mut out = String::new();
    for (index, c) in text.chars().enumerate() {
        if index == SHOWN_MAX {
            out.push_str("...");
            break;
        }
        let hidden = c.is_control()
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}');
        out.push(if hidden { '?' } else { c });
    }
    out
}

/// Secrets of a request. A careless server may repeat them in its answer.
#[derive(Default)]
pub(crate) struct Secrets(Vec<Zeroizing<String>>);

impl Secrets {
    /// Adds a secret. Empty ones are ignored.
    pub(crate) fn add(&mut self, secret: &str) {
        if !secret.is_empty() {
            self.0.push(Zeroizing::new(secret.to_owned()));
        }
    }

    /// Returns a server's text for an error message, with `***` for each secret.
    pub(crate) fn hidden_in(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for secret in &self.0 {
            text = text.replace(secret.as_str(), "***");
        }
        shown(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_hidden() {
        let mut secrets = Secrets::default();
        secrets.add("");
        secrets.add("se\ncret");
        assert_eq!(secrets.hidden_in("a se\ncret\nb se\ncret"), "a ***?b ***");
    }

    #[test]
    fn long_texts_and_control_characters_are_cut() {
        assert_eq!(shown("a b\u{e9}"), "a b\u{e9}");
        assert_eq!(shown("a\nb\u{1b}[1m\u{202e}"), "a?b?[1m?");
        assert_eq!(shown(&"\u{e9}".repeat(200)), "\u{e9}".repeat(200));
        assert_eq!(shown(&"\u{e9}".repeat(201)), "\u{e9}".repeat(200) + "...");
    }
}
