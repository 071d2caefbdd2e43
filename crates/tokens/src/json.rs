//! JSON from others, within limits.

use serde_json::{Map, Value};

/// Maximum length of a text, in bytes.
pub(crate) const LEN_MAX: usize = 256 << 10;

/// Parses a JSON object of at most [`LEN_MAX`] bytes. serde_json itself limits nesting to 128 levels.
///
/// # Errors
/// A cause without parts of the text.
pub(crate) fn object(text: &[u8]) -> Result<Map<String, Value>, String> {
    if text.len() > LEN_MAX {
        return Err(format!("it has more than {LEN_MAX} bytes"));
    }
    match serde_json::from_slice(text) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err("it is not a JSON object".to_owned()),
        Err(error) => Err(format!(
            "it is not JSON: the error is in line {}, column {}",
            error.line(),
            error.column()
        )),
    }
}

/// Returns a member that is a text and not empty.
pub(crate) fn text<'o>(object: &'o Map<String, Value>, name: &str) -> Option<&'o str> {
    object.get(name)?.as_str().filter(|text| !text.is_empty())
}

/// Returns seconds, which may be a number with or without a fraction, as milliseconds.
pub(crate) fn seconds_as_ms(value: &Value) -> Option<i64> {
    if let Some(seconds) = value.as_i64() {
        return Some(seconds.saturating_mul(1000));
    }
    let ms = value.as_f64()? * 1000.0;
    // The conversion saturates; JSON has no NaN.
    #[expect(clippy::cast_possible_truncation, reason = "saturates")]
    Some(ms as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_objects_within_the_limits_are_read() {
        assert_eq!(object(br#"{"a":1}"#).unwrap().len(), 1);
        assert_eq!(object(b"[]").unwrap_err(), "it is not a JSON object");
        let error = object(b"{\n\"a\": hidden}").unwrap_err();
        assert!(
            error.starts_with("it is not JSON") && error.contains("line 2"),
            "{error}"
        );
        let nested = format!("{{\"a\":{}", "[".repeat(100_000));
        assert!(object(nested.as_bytes()).unwrap_err().starts_with("it is not JSON"));
        let long = format!("{{\"a\":\"{}\"}}", "x".repeat(LEN_MAX));
        assert!(object(long.as_bytes()).unwrap_err().contains("more than"));
    }

    #[test]
    fn seconds_may_have_fractions_and_any_size() {
        for (text, ms) in [
            ("1", Some(1000)),
            ("1.5", Some(1500)),
            ("-1", Some(-1000)),
            ("1e300", Some(i64::MAX)),
            ("9223372036854775807", Some(i64::MAX)),
            ("18446744073709551615", Some(i64::MAX)),
            ("\"1\"", None),
            ("null", None),
        ] {
            let value: Value = serde_json::from_str(text).unwrap();
            assert_eq!(seconds_as_ms(&value), ms, "{text}");
        }
    }
}
