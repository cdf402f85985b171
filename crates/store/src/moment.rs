//! Moments of a world's past, and their notation as text.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use time::{Date, Month, OffsetDateTime, PrimitiveDateTime, Time};

use crate::saved::Moment;

/// A requested moment.
///
/// ```
/// use nowcast_store::{At, Moment};
///
/// let at: At = "2026-11-23T10:00Z".parse()?;
/// assert_eq!(at.moment(0), Moment::TimeMs(1_795_428_000_000));
/// assert_eq!("-5m".parse::<At>()?.moment(1_795_428_300_000), at.moment(0));
/// # Ok::<(), nowcast_store::AtError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// The moment this long ago.
    Ago(Duration),
    /// The moment at this time, in milliseconds since 1970.
    TimeMs(u64),
    /// The moment after this many steps of the world.
    Tick(u64),
}

/// A text that is not a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "expected how long ago, such as -5m (s, m, h or d), a time such as 2026-11-23T10:00Z, or the number of a step"
)]
pub struct AtError;

impl FromStr for At {
    type Err = AtError;

    /// `-90s`, `-5m`, `-2h`, `-1d`; a time of ISO 8601 in UTC, with hyphens and colons or without; the number of a step.
    fn from_str(text: &str) -> Result<At, AtError> {
        if let Some(ago) = text.strip_prefix('-') {
            return read_duration(ago).map(At::Ago).ok_or(AtError);
        }
        if text.contains('T') {
            return read_time(text).map(At::TimeMs).ok_or(AtError);
        }
        if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(AtError);
        }
        text.parse().map(At::Tick).map_err(|_| AtError)
    }
}

impl At {
    /// Returns the moment relative to now.
    pub fn moment(self, now_ms: u64) -> Moment {
        match self {
            At::Ago(ago) => {
                Moment::TimeMs(now_ms.saturating_sub(u64::try_from(ago.as_millis()).unwrap_or(u64::MAX)))
            }
            At::TimeMs(time_ms) => Moment::TimeMs(time_ms),
            At::Tick(tick) => Moment::Tick(tick),
        }
    }
}

/// Parses a duration: `90s`, `5m`, `2h` or `1d`.
pub fn read_duration(text: &str) -> Option<Duration> {
    let unit = text.chars().last()?;
    let seconds: u64 = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3_600,
        'd' => 86_400,
        _ => return None,
    };
    let digits = &text[..text.len() - unit.len_utf8()];
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    Some(Duration::from_secs(digits.parse::<u64>().ok()?.saturating_mul(seconds)))
}

/// A time in UTC as text, to the second: `2026-11-23T10:00:00Z`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UtcTime(
    /// In milliseconds since 1970.
    pub u64,
);

impl fmt::Display for UtcTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = i64::try_from(self.0 / 1_000).unwrap_or(i64::MAX);
        // A time after the year 9999 is shown as the last one before.
        let time =
            OffsetDateTime::from_unix_timestamp(seconds).unwrap_or(PrimitiveDateTime::MAX.assume_utc());
        let (hour, minute, second) = time.to_hms();
        write!(f, "{}T{hour:02}:{minute:02}:{second:02}Z", time.date())
    }
}

/// `2026-11-23T10:00Z`, `2026-11-23T10:00:05Z` and `…:05.250Z`, and the same without hyphens and colons.
fn read_time(text: &str) -> Option<u64> {
    let (date, time) = text.strip_suffix('Z')?.split_once('T')?;
    let date = without(date, '-', &[4, 7])?;
    let (time, fraction) = time.split_once('.').map_or((time, None), |(time, rest)| (time, Some(rest)));
    let time = without(time, ':', &[2, 5])?;
    if date.len() != 8 || !matches!(time.len(), 4 | 6) || (fraction.is_some() && time.len() != 6) {
        return None;
    }
    let number = |digits: &str| digits.parse::<u8>().ok();
    let month = Month::try_from(number(&date[4..6])?).ok()?;
    let date = Date::from_calendar_date(date[..4].parse().ok()?, month, number(&date[6..])?).ok()?;
    let second = if time.len() == 6 { number(&time[4..])? } else { 0 };
    let milliseconds = match fraction {
        None => 0,
        Some(digits) if (1..=3).contains(&digits.len()) && is_digits(digits) => {
            digits.parse::<u16>().ok()? * 10u16.pow(3 - digits.len() as u32)
        }
        Some(_) => return None,
    };
    let time = Time::from_hms_milli(number(&time[..2])?, number(&time[2..4])?, second, milliseconds).ok()?;
    let since_1970 = PrimitiveDateTime::new(date, time).assume_utc() - OffsetDateTime::UNIX_EPOCH;
    u64::try_from(since_1970.whole_milliseconds()).ok()
}

/// Returns the digits of a text. The text has separators at exactly these places, or no separators.
fn without(text: &str, separator: char, places: &[usize]) -> Option<String> {
    let digits: String = text.chars().filter(|c| *c != separator).collect();
    let is_placed = text
        .char_indices()
        .filter(|(_, c)| *c == separator)
        .map(|(at, _)| at)
        .eq(places.iter().copied().filter(|at| *at < text.len()));
    (is_digits(&digits) && (digits.len() == text.len() || is_placed)).then_some(digits)
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_moment_is_a_time_ago_a_time_or_a_step_only() {
        for (text, seconds) in [("-90s", 90), ("-5m", 300), ("-2h", 7_200), ("-1d", 86_400), ("-0s", 0)] {
            assert_eq!(text.parse(), Ok(At::Ago(Duration::from_secs(seconds))), "{text}");
        }
        assert_eq!("3600".parse(), Ok(At::Tick(3_600)));
        for wrong in [
            "",
            "-",
            "-5",
            "-m",
            "5m",
            "--5m",
            "-5ä",
            "-5 m",
            "-+5m",
            "+5",
            "-99999999999999999999d",
            "x",
            "T",
            "2026-11-23T10:00",
            "2026-11-23T10Z",
            "2026-1123T10:00Z",
            "2026-11-23T1000:05Z",
            "2026-13-01T00:00Z",
            "2026-02-29T00:00Z",
            "2026-11-00T00:00Z",
            "1969-12-31T23:59Z",
            "2026-11-23T24:00Z",
            "2026-11-23T10:60Z",
            "2026-11-23T10:00.5Z",
            "2026-11-23T10:00:00.Z",
            "2026-11-23T10:00:00.1234Z",
            "2026-11-23T10:00:+1Z",
            "२०२६-११-२३T१०:००Z",
        ] {
            assert_eq!(wrong.parse::<At>(), Err(AtError), "{wrong}");
        }
        assert_eq!(At::Ago(Duration::from_secs(2)).moment(5_000), Moment::TimeMs(3_000));
        assert_eq!(At::Ago(Duration::MAX).moment(5_000), Moment::TimeMs(0));
    }

    #[test]
    fn a_time_is_read_with_and_without_its_separators() {
        for (text, time_ms) in [
            ("1970-01-01T00:00Z", 0),
            ("2000-02-29T12:30:15Z", 951_827_415_000),
            ("20000229T123015Z", 951_827_415_000),
            ("20000229T1230Z", 951_827_400_000),
            ("2026-11-23T10:00:05.25Z", 1_795_428_005_250),
            ("9999-12-31T23:59:59.999Z", 253_402_300_799_999),
        ] {
            assert_eq!(text.parse(), Ok(At::TimeMs(time_ms)), "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_time_that_is_written_is_read_again(seconds in 0u64..253_402_300_800) {
            let text = UtcTime(seconds * 1_000).to_string();
            prop_assert_eq!(text.parse::<At>(), Ok(At::TimeMs(seconds * 1_000)));
            prop_assert_eq!(text.replace(['-', ':'], "").parse::<At>(), Ok(At::TimeMs(seconds * 1_000)));
        }
    }
}
