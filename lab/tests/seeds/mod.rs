//! The number of seeds of a test.

use std::ops::RangeInclusive;

/// Returns the first seed, or all with the variable `NOWCAST_LONG`, which `cargo xtask test --long` sets.
pub(crate) fn seeds(all: RangeInclusive<u64>) -> impl Iterator<Item = u64> {
    let count = if std::env::var_os("NOWCAST_LONG").is_some() { usize::MAX } else { 1 };
    all.take(count)
}
