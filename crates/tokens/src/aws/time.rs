//! Dates of AWS.

const DAY_S: i64 = 86_400;

/// Returns a time as `YYYYMMDDTHHMMSSZ`.
pub(super) fn amz_date(ms: i64) -> String {
    let seconds = ms.div_euclid(1000);
    let (year, month, day) = civil(seconds.div_euclid(DAY_S));
    let of_day = seconds.rem_euclid(DAY_S);
    let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
    format!("{year:04}{month:02}{day:02}T{hour:02}{minute:02}{second:02}Z")
}

/// Returns the date of a number of days since 1970, by Howard Hinnant's algorithm.
fn civil(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let of_era = shifted.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month_shifted + 2) / 5 + 1;
    let month = if month_shifted < 10 {
        month_shifted + 3
    } else {
        month_shifted - 9
    };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

/// Returns the number of days from 1970 to a date.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * (if month > 2 { month - 3 } else { month + 9 }) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// Parses `YYYY-MM-DDTHH:MM:SS[.fraction]Z`, and returns milliseconds since 1970 without the fraction.
pub(super) fn parse(text: &str) -> Option<i64> {
    let text = text.strip_suffix('Z').or_else(|| text.strip_suffix("+00:00"))?;
    let text = text.split_once('.').map_or(text, |(whole, _fraction)| whole);
    let (date, time) = text.split_once('T')?;
    let [year, month, day] = numbers(date, '-')?;
    let [hour, minute, second] = numbers(time, ':')?;
    let in_range = (1970..=9999).contains(&year)
        && (1..=12).contains(&month)
        && (1..=31).contains(&day)
        && hour < 24
        && minute < 60
        && second <= 60;
    let seconds = days(year, month, day) * DAY_S + hour * 3600 + minute * 60 + second;
    in_range.then_some(seconds * 1000)
}

fn numbers(text: &str, separator: char) -> Option<[i64; 3]> {
    let mut parts = text.split(separator).map(|part| match part.len() {
        1..=4 if part.bytes().all(|b| b.is_ascii_digit()) => part.parse().ok(),
        _ => None,
    });
    let numbers = [parts.next()??, parts.next()??, parts.next()??];
    parts.next().is_none().then_some(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_of_any_day_are_written_and_read() {
        for (ms, text) in [
            (0, "19700101T000000Z"),
            (1_440_938_160_000, "20150830T123600Z"),
            (951_782_399_999, "20000228T235959Z"),
            (951_782_400_000, "20000229T000000Z"),
            (4_107_542_400_000, "21000301T000000Z"),
        ] {
            assert_eq!(amz_date(ms), text);
        }
        for day in 0..200_000 {
            let (year, month, date) = civil(day);
            assert_eq!(days(year, month, date), day);
            let text = format!("{year:04}-{month:02}-{date:02}T01:02:03Z");
            assert_eq!(parse(&text), Some((day * DAY_S + 3723) * 1000), "{text}");
        }
    }

    #[test]
    fn other_texts_are_no_dates() {
        assert_eq!(parse("2015-08-30T12:36:00.123Z"), Some(1_440_938_160_000));
        assert_eq!(parse("2015-08-30T12:36:00+00:00"), Some(1_440_938_160_000));
        for text in [
            "",
            "Z",
            "2015-08-30T12:36:00",
            "2015-13-30T12:36:00Z",
            "2015-08-30T12:36Z",
            "1-1-1-1T1:1:1Z",
            "2015-08-30 12:36:00Z",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
