//! Texts of others in error messages.

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_and_control_characters_are_cut() {
        assert_eq!(shown("a b\u{e9}"), "a b\u{e9}");
        assert_eq!(shown("a\nb\u{1b}[1m\u{202e}"), "a?b?[1m?");
        assert_eq!(shown(&"\u{e9}".repeat(200)), "\u{e9}".repeat(200));
        assert_eq!(shown(&"\u{e9}".repeat(201)), "\u{e9}".repeat(200) + "...");
    }
}
