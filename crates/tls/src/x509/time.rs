//! Times of certificates: seconds since 1970, in UTC.

use std::fmt;

use super::der::{GENERALIZED_TIME, Malformed, Reader, UTC_TIME};

/// Seconds since 1970-01-01 00:00:00 UTC; negative before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(pub i64);

const SECONDS_A_DAY: i64 = 86_400;

impl fmt::Display for Timestamp {
    /// Writes `2026-11-24 20:22:37 UTC`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (days, second) = (self.0.div_euclid(SECONDS_A_DAY), self.0.rem_euclid(SECONDS_A_DAY));
        let (year, month, day) = civil_from_days(days);
        let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
        write!(f, "{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02} UTC")
    }
}

/// Reads a UTCTime or a GeneralizedTime with seconds and `Z`, as RFC 5280 demands.
pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Timestamp, Malformed> {
    let element = reader.next()?;
    let (year_digits, digits) = match element.tag {
        UTC_TIME => (2, element.content),
        GENERALIZED_TIME => (4, element.content),
        _ => return Err(Malformed("a date has another type than expected")),
    };
    const BAD: Malformed = Malformed("a date is not written in UTC with seconds");
    let Some((b'Z', digits)) = digits.split_last() else {
        return Err(BAD);
    };
    if digits.len() != year_digits + 10 || !digits.iter().all(u8::is_ascii_digit) {
        return Err(BAD);
    }
    let (year, rest) = digits.split_at_checked(year_digits).ok_or(BAD)?;
    let number = |digits: &[u8]| {
        digits
            .iter()
            .fold(0_i64, |sum, digit| sum * 10 + i64::from(digit - b'0'))
    };
    let year = match (year_digits, number(year)) {
        (2, year @ 0..=49) => 2000 + year,
        (2, year) => 1900 + year,
        (_, year) => year,
    };
    let mut fields = rest.chunks(2).map(number);
    let mut field = |low: i64, high: i64| match fields.next() {
        Some(value) if (low..=high).contains(&value) => Ok(value),
        _ => Err(Malformed("a date does not exist")),
    };
    let (month, day) = (field(1, 12)?, field(1, 31)?);
    let (hour, minute, second) = (field(0, 23)?, field(0, 59)?, field(0, 59)?);
    let days = days_from_civil(year, month, day);
    if civil_from_days(days) != (year, month, day) {
        return Err(Malformed("a date does not exist"));
    }
    Ok(Timestamp(days * SECONDS_A_DAY + hour * 3600 + minute * 60 + second))
}

/// Returns the days since 1970-01-01. Years begin in March, so that the leap day is their last.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

/// Returns year, month and day.
fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let days = days.saturating_add(719_468);
    let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = (shifted_month + 2) % 12 + 1;
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(tag: u8, text: &str) -> Result<String, Malformed> {
        let mut der = vec![tag, u8::try_from(text.len()).unwrap()];
        der.extend_from_slice(text.as_bytes());
        read(&mut Reader::new(&der)).map(|time| time.to_string())
    }

    #[test]
    fn dates_print_as_they_were_written() {
        for (tag, text, printed) in [
            (UTC_TIME, "700101000000Z", "1970-01-01 00:00:00 UTC"),
            (UTC_TIME, "500101000000Z", "1950-01-01 00:00:00 UTC"),
            (UTC_TIME, "491231235959Z", "2049-12-31 23:59:59 UTC"),
            (UTC_TIME, "240229120000Z", "2024-02-29 12:00:00 UTC"),
            (GENERALIZED_TIME, "20000229000000Z", "2000-02-29 00:00:00 UTC"),
            (GENERALIZED_TIME, "99991231235959Z", "9999-12-31 23:59:59 UTC"),
            (GENERALIZED_TIME, "00000101000000Z", "0000-01-01 00:00:00 UTC"),
            (GENERALIZED_TIME, "21000301000000Z", "2100-03-01 00:00:00 UTC"),
        ] {
            assert_eq!(parse(tag, text).as_deref(), Ok(printed), "{text}");
        }
        assert_eq!(Timestamp(1_795_551_757).to_string(), "2026-11-24 20:22:37 UTC");
        assert!(!Timestamp(i64::MAX).to_string().is_empty() && !Timestamp(i64::MIN).to_string().is_empty());
    }

    #[test]
    fn dates_that_do_not_exist_are_refused() {
        for (tag, text) in [
            (UTC_TIME, "230229120000Z"),
            (UTC_TIME, "231301120000Z"),
            (UTC_TIME, "230101240000Z"),
            (UTC_TIME, "2301011200Z"),
            (UTC_TIME, "230101120000+0100"),
            (UTC_TIME, ""),
            (GENERALIZED_TIME, "20230101120000.5Z"),
            (GENERALIZED_TIME, "21000229000000Z"),
            (0x04, "20230101120000Z"),
        ] {
            assert!(parse(tag, text).is_err(), "{text}");
        }
    }
}
