//! Numbers as C programs write and print them.

/// Reads a whole number the way `strtol(text, …, 0)` does: spaces, a sign, then decimal, `0x` hexadecimal or `0` octal
/// digits; text after the digits is ignored. A number too large for `i64` becomes the nearest. `None` without digits.
pub(super) fn parse_int(text: &str) -> Option<i64> {
    let (negative, rest) = sign(text.trim_start());
    let (radix, digits) = match rest.strip_prefix("0x").or_else(|| rest.strip_prefix("0X")) {
        Some(hex) if hex.starts_with(|c: char| c.is_ascii_hexdigit()) => (16, hex),
        _ if rest.starts_with('0') => (8, rest),
        _ => (10, rest),
    };
    let mut value: Option<i64> = None;
    for digit in digits.chars().map_while(|c| c.to_digit(radix)) {
        let so_far = value.unwrap_or(0).saturating_mul(i64::from(radix));
        value = Some(so_far.saturating_add(i64::from(digit)));
    }
    value.map(|v| if negative { -v } else { v })
}

/// Reads a number the way `strtod` does: the longest prefix that is one. `None` without digits and for NaN; infinity is
/// read, so that the error of the range check can name it.
pub(super) fn parse_float(text: &str) -> Option<f64> {
    let text = text.trim_start();
    let (negative, rest) = sign(text);
    if rest.starts_with("0x") || rest.starts_with("0X") {
        #[allow(clippy::cast_precision_loss)] // far beyond every range
        return parse_int(text).map(|v| v as f64);
    }
    let bytes = rest.as_bytes();
    let digits = |from: usize| bytes.iter().skip(from).take_while(|b| b.is_ascii_digit()).count();
    let mut end = digits(0);
    let mut seen = end > 0;
    if bytes.get(end) == Some(&b'.') {
        let fraction = digits(end + 1);
        seen |= fraction > 0;
        end += 1 + fraction;
    }
    if !seen {
        let infinite = rest.get(..3).is_some_and(|s| s.eq_ignore_ascii_case("inf"));
        return infinite.then_some(if negative { f64::NEG_INFINITY } else { f64::INFINITY });
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let signed = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        let exponent = digits(end + 1 + signed);
        if exponent > 0 {
            end += 1 + signed + exponent;
        }
    }
    let value: f64 = rest.get(..end)?.parse().ok()?;
    Some(if negative { -value } else { value })
}

fn sign(text: &str) -> (bool, &str) {
    match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    }
}

/// Prints a number the way `printf("%g")` does: six significant digits, no trailing zeros.
pub(super) fn print_float(value: f64) -> String {
    let scientific = format!("{value:.5e}");
    let Some((mantissa, exponent)) = scientific.split_once('e') else {
        return scientific; // inf and NaN
    };
    let Ok(exponent) = exponent.parse::<i32>() else {
        return scientific;
    };
    if (-4..6).contains(&exponent) {
        let decimals = usize::try_from(5 - exponent).unwrap_or(0);
        return without_trailing_zeros(&format!("{value:.decimals$}")).to_owned();
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    let mantissa = without_trailing_zeros(mantissa);
    format!("{mantissa}e{sign}{:02}", exponent.abs())
}

fn without_trailing_zeros(text: &str) -> &str {
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.'),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::{parse_float, parse_int, print_float};

    #[test]
    fn whole_numbers() {
        for (text, expected) in [
            ("100", Some(100)),
            (" 20", Some(20)),
            ("-5", Some(-5)),
            ("+5", Some(5)),
            ("0x100", Some(256)),
            ("0XfF", Some(255)),
            ("0400", Some(256)),
            ("0", Some(0)),
            ("0x", Some(0)),
            ("08", Some(0)),
            ("100ms", Some(100)),
            ("99999999999999999999", Some(i64::MAX)),
            ("-99999999999999999999", Some(-i64::MAX)),
            ("abc", None),
            ("", None),
            ("-", None),
            ("- 5", None),
        ] {
            assert_eq!(parse_int(text), expected, "{text:?}");
        }
    }

    #[test]
    fn fractions() {
        for (text, expected) in [
            ("7.35", Some(7.35)),
            ("1e3", Some(1000.0)),
            ("1e", Some(1.0)),
            ("1e+", Some(1.0)),
            ("2.5e-1x", Some(0.25)),
            (".5", Some(0.5)),
            ("5.", Some(5.0)),
            ("5x", Some(5.0)),
            ("0x10", Some(16.0)),
            ("-1", Some(-1.0)),
            ("inf", Some(f64::INFINITY)),
            ("nan", None),
            (".", None),
            ("", None),
            ("abc", None),
        ] {
            assert_eq!(parse_float(text), expected, "{text:?}");
        }
    }

    #[test]
    fn printed_as_c_prints() {
        for (value, expected) in [
            (0.0, "0"),
            (5.0, "5"),
            (2.9, "2.9"),
            (7.35, "7.35"),
            (123_456.7, "123457"),
            (900_000.0, "900000"),
            (1_000_000.0, "1e+06"),
            (0.0001, "0.0001"),
            (0.000_012_5, "1.25e-05"),
            (0.1 + 0.2, "0.3"),
            (-1.5, "-1.5"),
            (f64::INFINITY, "inf"),
        ] {
            assert_eq!(print_float(value), expected);
        }
    }
}
