//! SASL extensions (RFC 7628, section 3.1; KIP-342).

use crate::text::shown;
use crate::token::SettingsError;

/// The property of extensions of tokens from an identity provider.
const PROPERTY: &str = "sasl.oauthbearer.extensions";
/// Maximum number of extensions.
const EXTENSIONS_MAX: usize = 1000;

/// Parses `sasl.oauthbearer.extensions`: pairs `key=value`, separated by commas. Spaces around keys and values are dropped.
///
/// # Errors
/// A pair has no `=`, a key occurs twice, or a key or value is not one of RFC 7628.
pub(crate) fn parse(list: &str) -> Result<Vec<(String, String)>, SettingsError> {
    let mut extensions: Vec<(String, String)> = Vec::new();
    for pair in list.split(',').map(str::trim).filter(|pair| !pair.is_empty()) {
        let Some((key, value)) = pair.split_once('=') else {
            let text = format_args!("\"{}\" is not of the form key=value", shown(pair));
            return Err(SettingsError::invalid(PROPERTY, text));
        };
        let (key, value) = (key.trim(), value.trim());
        check(PROPERTY, key, value)?;
        if extensions.iter().any(|(other, _)| other == key) {
            return Err(SettingsError::invalid(PROPERTY, format_args!("{key} occurs twice")));
        }
        if extensions.len() == EXTENSIONS_MAX {
            let text = format_args!("there are more than {EXTENSIONS_MAX} extensions");
            return Err(SettingsError::invalid(PROPERTY, text));
        }
        extensions.push((key.to_owned(), value.to_owned()));
    }
    Ok(extensions)
}

/// Checks an extension of a property. The key: letters from A to Z and a to z, and not `auth`. The value, which may be empty:
/// ASCII characters from space to `~`, tab, CR and LF.
pub(crate) fn check(property: &str, key: &str, value: &str) -> Result<(), SettingsError> {
    if key == "auth" {
        return Err(SettingsError::invalid(
            property,
            "extensions cannot have the key \"auth\": it is the token's",
        ));
    }
    if key.is_empty() || !key.bytes().all(|b| b.is_ascii_alphabetic()) {
        let text = format_args!(
            "keys of extensions must consist of letters from A to Z and a to z: \"{}\" does not",
            shown(key)
        );
        return Err(SettingsError::invalid(property, text));
    }
    let is_valid = |b: u8| matches!(b, 0x20..=0x7e | b'\t' | b'\r' | b'\n');
    match value.bytes().position(|b| !is_valid(b)) {
        None => Ok(()),
        Some(position) => {
            let text = format_args!(
                "the value of extension {key} must consist of ASCII characters from space to ~, tab, CR and LF: byte {} is \
                 another",
                position + 1
            );
            Err(SettingsError::invalid(property, text))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_separated_by_commas() {
        let expected = [("supportFeatureX", "true"), ("organizationId", "sales=emea"), ("e", "")];
        let expected = expected.map(|(key, value)| (key.to_owned(), value.to_owned()));
        let parsed = parse(" supportFeatureX=true , organizationId = sales=emea,e=,").unwrap();
        assert_eq!(parsed, expected);
        assert!(parse("").unwrap().is_empty());
    }

    #[test]
    fn invalid_pairs_are_refused() {
        for (list, text) in [
            ("a", "\"a\" is not of the form key=value"),
            ("a=1,a=2", "a occurs twice"),
            ("=1", "\"\" does not"),
            ("a_b=1", "\"a_b\" does not"),
            ("auth=1", "it is the token's"),
            ("a=b\u{e9}", "byte 2 is another"),
        ] {
            let error = parse(list).unwrap_err().to_string();
            assert!(
                error.starts_with("Invalid sasl.oauthbearer.extensions: ") && error.contains(text),
                "{list}: {error}"
            );
        }
    }
}
