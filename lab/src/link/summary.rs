//! The behaviour of a link in a run, and whether the relay was too late for valid figures.

use std::fmt;
use std::time::Duration;

use nowcast_sim::link::LinkCounters;
use serde::Serialize;

use super::relay::State;

/// Maximum 99.9th percentile of the lateness. Above it, a figure shows the machine more than the link.
const LATENESS_P999_MAX: Duration = Duration::from_millis(2);
/// Maximum lateness of a single packet.
const LATENESS_MAX: Duration = Duration::from_millis(20);

/// The behaviour of a link.
#[derive(Debug, Clone)]
pub struct Summary {
    /// The counters of the links towards each host, in order.
    pub toward: Vec<LinkCounters>,
    /// The lateness of the relay.
    pub lateness: Lateness,
    /// Packets that no host should receive: the kernel's own announcements.
    pub strays: u64,
    /// Packets that a host's device did not accept.
    pub refused: u64,
}

/// Delay of forwarding packets after they were due.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Lateness {
    /// Median, in microseconds.
    pub p50_us: u64,
    /// 99th percentile, in microseconds.
    pub p99_us: u64,
    /// 99.9th percentile, in microseconds.
    pub p999_us: u64,
    /// Maximum, in microseconds.
    pub max_us: u64,
}

impl Lateness {
    /// Whether figures that were measured over this link are valid.
    pub fn is_trustworthy(&self) -> bool {
        Duration::from_micros(self.p999_us) <= LATENESS_P999_MAX
            && Duration::from_micros(self.max_us) <= LATENESS_MAX
    }
}

impl Summary {
    pub(super) fn of(state: &State) -> Self {
        let late = &state.lateness_us;
        Self {
            toward: state.links.iter().map(nowcast_sim::link::Link::counters).collect(),
            lateness: Lateness {
                p50_us: late.value_at_quantile(0.5),
                p99_us: late.value_at_quantile(0.99),
                p999_us: late.value_at_quantile(0.999),
                max_us: late.max(),
            },
            strays: state.strays,
            refused: state.refused,
        }
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, c) in self.toward.iter().enumerate() {
            writeln!(
                f,
                "toward host {}: {} packets sent, {} delivered ({} bytes), {} lost, {} policed, {} overflowed, {} in outages, \
                 {} reordered, {} doubled; at most {} bytes queued",
                index + 1,
                c.sent,
                c.delivered,
                c.delivered_bytes,
                c.lost,
                c.policed,
                c.overflowed,
                c.cut,
                c.reordered,
                c.duplicated,
                c.queue_bytes_max
            )?;
        }
        let Lateness { p50_us, p99_us, p999_us, max_us } = self.lateness;
        write!(f, "relay lateness: p50 {p50_us} µs, p99 {p99_us} µs, p99.9 {p999_us} µs, max {max_us} µs")?;
        if !self.lateness.is_trustworthy() {
            write!(
                f,
                "\nWARNING: the relay itself was late; do not trust latency figures of this run, repeat it"
            )?;
        }
        Ok(())
    }
}
