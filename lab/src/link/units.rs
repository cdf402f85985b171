//! Parses quantities in command-line notation: `25ms`, `0.5%`, `1Mbit`, `64KB`, `2Mbit/20KB`, `10s+2s`.

use std::ops::Range;
use std::time::Duration;

use super::{Jitter, Policer, Variation};

/// Maximum time that a setting may have.
const DURATION_MAX_S: f64 = 86_400.0;

/// Parses a time: `25ms`, `1.5s`, `800us`. A number without a unit is in milliseconds.
///
/// # Errors
/// One line with the expected form.
pub fn duration(text: &str) -> Result<Duration, String> {
    let units = [("us", 1e-6), ("µs", 1e-6), ("ms", 1e-3), ("s", 1.0), ("", 1e-3)];
    let seconds =
        scaled(text, &units).ok_or_else(|| format!("`{text}` is not a time; write 25ms or 1.5s"))?;
    if !(0.0..=DURATION_MAX_S).contains(&seconds) {
        return Err(format!("`{text}` is not between 0 and one day"));
    }
    Ok(Duration::from_secs_f64(seconds))
}

/// Parses jitter: `10ms` (up to this delay, evenly distributed), `normal:3ms` (this standard deviation), or `spikes:0.5` (this
/// percentage of packets takes much longer).
///
/// # Errors
/// One line with the expected form.
pub fn jitter(text: &str) -> Result<Jitter, String> {
    if let Some(deviation) = text.strip_prefix("normal:") {
        return duration(deviation).map(Jitter::Normal);
    }
    if let Some(percent) = text.strip_prefix("spikes:") {
        return share(percent).map(|share| Jitter::Spikes { per_10_000: (share * 1e4).round() as u16 });
    }
    duration(text).map(Jitter::up_to)
}

/// Parses a share of packets in percent, with or without the sign. The result is 0 to 1.
///
/// # Errors
/// One line with the expected form.
pub fn share(text: &str) -> Result<f64, String> {
    let percent = scaled(text, &[("%", 1.0), ("", 1.0)])
        .ok_or_else(|| format!("`{text}` is not a percentage; write 0.5 or 0.5%"))?;
    if !(0.0..=100.0).contains(&percent) {
        return Err(format!("`{text}` is not between 0 and 100 percent"));
    }
    Ok(percent / 100.0)
}

/// Parses a rate in bits a second: `10Mbit`, `512kbit`, `1Gbit`, or a number of bits without a unit.
///
/// # Errors
/// One line with the expected form.
pub fn rate(text: &str) -> Result<u64, String> {
    let bits = scaled(text, &[("kbit", 1e3), ("Mbit", 1e6), ("Gbit", 1e9), ("bit", 1.0), ("", 1.0)])
        .ok_or_else(|| format!("`{text}` is not a rate; write 10Mbit or 512kbit"))?;
    if !(1_000.0..=1e12).contains(&bits) {
        return Err(format!("`{text}` is not between 1kbit and 1000Gbit"));
    }
    Ok(bits as u64)
}

/// Parses a size in bytes: `64KB` (of 1,000), `64KiB` (of 1,024), `1MB`, or a number without a unit.
///
/// # Errors
/// One line with the expected form.
pub fn bytes(text: &str) -> Result<usize, String> {
    let units =
        [("KiB", 1024.0), ("MiB", 1_048_576.0), ("KB", 1e3), ("kB", 1e3), ("MB", 1e6), ("B", 1.0), ("", 1.0)];
    let bytes = scaled(text, &units).ok_or_else(|| format!("`{text}` is not a size; write 64KB or 65536"))?;
    if !(1.0..=1e10).contains(&bytes) {
        return Err(format!("`{text}` is not between 1 byte and 10 GB"));
    }
    Ok(bytes as usize)
}

/// Parses a policer as its rate and the size of its bucket: `2Mbit/20KB`.
///
/// # Errors
/// One line with the expected form.
pub fn policer(text: &str) -> Result<Policer, String> {
    let (rate_bits, bucket_bytes) = text
        .split_once('/')
        .ok_or_else(|| format!("`{text}` is not a policer; write RATE/BUCKET, as in 2Mbit/20KB"))?;
    Ok(Policer {
        rate_bits: rate(rate_bits)?,
        variation: Variation::Constant,
        bucket_bytes: bytes(bucket_bytes)?,
    })
}

/// Parses an outage as its start and its length: `10s+2s`.
///
/// # Errors
/// One line with the expected form.
pub fn outage(text: &str) -> Result<Range<Duration>, String> {
    let (start, length) = text
        .split_once('+')
        .ok_or_else(|| format!("`{text}` is not an outage; write START+LENGTH, as in 10s+2s"))?;
    let start = duration(start)?;
    Ok(start..start + duration(length)?)
}

fn scaled(text: &str, units: &[(&str, f64)]) -> Option<f64> {
    let digits = text.trim_end_matches(|c: char| c.is_alphabetic() || c == '%');
    let unit = text[digits.len()..].to_owned();
    let factor = units.iter().find(|(name, _)| name.eq_ignore_ascii_case(&unit))?.1;
    let number: f64 = digits.trim().parse().ok()?;
    number.is_finite().then_some(number * factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_parsed_in_their_usual_notation() {
        assert_eq!(duration("25ms").unwrap(), Duration::from_millis(25));
        assert_eq!(duration("25").unwrap(), Duration::from_millis(25));
        assert_eq!(duration("1.5s").unwrap(), Duration::from_millis(1500));
        assert_eq!(share("0.5%").unwrap(), 0.005);
        assert_eq!(jitter("10ms").unwrap(), Jitter::Uniform(Duration::from_millis(10)));
        assert_eq!(jitter("normal:3ms").unwrap(), Jitter::Normal(Duration::from_millis(3)));
        assert_eq!(jitter("spikes:0.5").unwrap(), Jitter::Spikes { per_10_000: 50 });
        assert_eq!(rate("10mbit").unwrap(), 10_000_000);
        assert_eq!(bytes("64KiB").unwrap(), 65_536);
        let policer = policer("2Mbit/20KB").unwrap();
        assert_eq!((policer.rate_bits, policer.bucket_bytes), (2_000_000, 20_000));
        assert_eq!(outage("10s+2s").unwrap(), Duration::from_secs(10)..Duration::from_secs(12));
    }

    #[test]
    fn impossible_values_are_refused_with_an_example() {
        for text in ["", "ms", "-1ms", "nan", "inf", "1e300s", "3 parsecs"] {
            assert!(duration(text).is_err(), "{text}");
        }
        assert!(share("101").is_err() && share("-1%").is_err());
        assert!(rate("0").is_err() && rate("fast").is_err());
        assert!(outage("10s").unwrap_err().contains("10s+2s"));
        assert!(policer("2Mbit").unwrap_err().contains("2Mbit/20KB"));
    }
}
