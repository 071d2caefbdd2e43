//! Forms in `application/x-www-form-urlencoded` (RFC 6749, appendix B).

use std::fmt::Write as _;

use zeroize::Zeroizing;

/// The media type of forms.
pub(crate) const MEDIA_TYPE: &str = "application/x-www-form-urlencoded";

/// Returns a form with these fields. Names and values are encoded.
pub(crate) fn form(fields: &[(&str, &str)]) -> Zeroizing<String> {
    let mut out = Zeroizing::new(String::new());
    for (index, (name, value)) in fields.iter().enumerate() {
        if index > 0 {
            out.push('&');
        }
        push_encoded(&mut out, name);
        out.push('=');
        push_encoded(&mut out, value);
    }
    out
}

/// Returns an encoded text.
pub(crate) fn encoded(text: &str) -> Zeroizing<String> {
    let mut out = Zeroizing::new(String::new());
    push_encoded(&mut out, text);
    out
}

/// Appends a text: letters, digits and `*-._` as they are, spaces as `+`, other bytes of UTF-8 as `%XX`.
fn push_encoded(out: &mut String, text: &str) {
    out.reserve(text.len() * 3);
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'*' | b'-' | b'.' | b'_' => out.push(char::from(byte)),
            b' ' => out.push('+'),
            // A String accepts every write.
            _ => {
                let _ = write!(out, "%{byte:02X}");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_rfc_6749_is_encoded() {
        // Appendix B: space, percent sign, ampersand, plus, pound sign, euro sign.
        assert_eq!(encoded(" %&+\u{a3}\u{20ac}").as_str(), "+%25%26%2B%C2%A3%E2%82%AC");
    }

    #[test]
    fn fields_are_separated() {
        assert_eq!(form(&[("scope", "a b&c"), ("x", "")]).as_str(), "scope=a+b%26c&x=");
        assert_eq!(form(&[]).as_str(), "");
    }
}
