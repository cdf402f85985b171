//! Moments of a world's past, as people write them.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use nowcast_server::store::Moment;

/// A moment that somebody asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum At {
    /// So long ago.
    Ago(Duration),
    /// After so many steps of the world.
    Tick(u64),
}

impl At {
    /// `-90s`, `-5m`, `-2h`, `-1d`, or the number of a step.
    pub(crate) fn parse(text: &str) -> Result<At, String> {
        let wrong =
            || "expected how long ago, such as -5m (s, m, h or d), or the number of a step".to_owned();
        let Some(ago) = text.strip_prefix('-') else {
            return text.parse().map(At::Tick).map_err(|_| wrong());
        };
        let unit = ago.chars().last().ok_or_else(wrong)?;
        let seconds: u64 = match unit {
            's' => 1,
            'm' => 60,
            'h' => 3_600,
            'd' => 86_400,
            _ => return Err(wrong()),
        };
        let number: u64 = ago[..ago.len() - 1].parse().map_err(|_| wrong())?;
        Ok(At::Ago(Duration::from_secs(number.saturating_mul(seconds))))
    }

    /// The moment, seen from now.
    pub(crate) fn moment(self, now_ms: u64) -> Moment {
        match self {
            At::Ago(ago) => {
                Moment::TimeMs(now_ms.saturating_sub(u64::try_from(ago.as_millis()).unwrap_or(u64::MAX)))
            }
            At::Tick(tick) => Moment::Tick(tick),
        }
    }
}

/// The moment that was asked for, or the newest.
pub(crate) fn moment(at: Option<At>) -> Moment {
    at.map_or(Moment::Last, |at| at.moment(now_ms()))
}

/// Milliseconds since 1970.
pub(crate) fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_so_long_ago_or_a_step_and_nothing_else() {
        for (text, seconds) in [("-90s", 90), ("-5m", 300), ("-2h", 7_200), ("-1d", 86_400), ("-0s", 0)] {
            assert_eq!(At::parse(text), Ok(At::Ago(Duration::from_secs(seconds))), "{text}");
        }
        assert_eq!(At::parse("3600"), Ok(At::Tick(3_600)));
        for wrong in ["", "-", "-5", "-m", "5m", "--5m", "-5ä", "-5 m", "-99999999999999999999d", "x"] {
            assert!(At::parse(wrong).is_err(), "{wrong}");
        }
        assert_eq!(At::Ago(Duration::from_secs(2)).moment(5_000), Moment::TimeMs(3_000));
        assert_eq!(At::Ago(Duration::MAX).moment(5_000), Moment::TimeMs(0));
    }
}
