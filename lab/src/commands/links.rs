//! Options that the instruments on emulated links share.

use std::sync::Mutex;
use std::time::Duration;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use nowcast_lab::link::{self, units};
use nowcast_lab::peers::Peer;
use nowcast_lab::trial::{Progress, end_on_interrupt};

/// Prepares this process to create hosts, and to clean up when it is interrupted. Must be called before any thread starts.
pub(crate) fn begin() -> anyhow::Result<()> {
    link::become_able()?;
    end_on_interrupt()?;
    Ok(())
}

/// Longest round trip over which every peer can open a connection within its timeout.
const RTT_MAX: Duration = Duration::from_secs(2);
/// Maximum loss. With more loss, some peers cannot open a connection.
const LOSS_MAX: f64 = 0.3;
const INTERVAL_MIN: Duration = Duration::from_millis(1);
const INTERVAL_MAX: Duration = Duration::from_secs(10);

/// Parses a round-trip time over which peers can be measured.
pub(crate) fn rtt(text: &str) -> Result<Duration, String> {
    let rtt = units::duration(text)?;
    let is_possible = rtt <= RTT_MAX;
    is_possible.then_some(rtt).ok_or_else(|| format!("`{text}` is more than {} s", RTT_MAX.as_secs()))
}

/// Parses a share of lost round trips at which peers can be measured.
pub(crate) fn loss(text: &str) -> Result<f64, String> {
    let loss = units::share(text)?;
    let is_possible = loss <= LOSS_MAX;
    is_possible.then_some(loss).ok_or_else(|| {
        format!("`{text}` is more than {} %: not all peers open a connection", LOSS_MAX * 100.0)
    })
}

/// Parses an interval between messages.
pub(crate) fn interval(text: &str) -> Result<Duration, String> {
    let interval = units::duration(text)?;
    let is_possible = (INTERVAL_MIN..=INTERVAL_MAX).contains(&interval);
    is_possible.then_some(interval).ok_or_else(|| {
        format!("`{text}` is not between {} ms and {} s", INTERVAL_MIN.as_millis(), INTERVAL_MAX.as_secs())
    })
}

/// Ends the line of the progress bar.
pub(crate) fn finish(progress: &Mutex<Progress>) {
    progress.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).finish();
}

/// Parses the names of the peers that an instrument measures. The help lists these names.
pub(crate) fn peers(measured: &[Peer]) -> impl TypedValueParser<Value = Peer> + use<> {
    PossibleValuesParser::new(measured.iter().map(|peer| peer.word()))
        .try_map(|word| Peer::from_word(&word).ok_or("no peer of that name can be measured"))
}
