//! `nowcast ping`

use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::bail;
use nowcast::{Channel, Phase};
use tokio::time::{MissedTickBehavior, interval, sleep};

use crate::output::{self, OutputLost, printable};
use crate::reach::{Reach, Stop, interrupted, milliseconds, runtime};

/// Interval at which the command checks for an answer.
const LOOK: Duration = Duration::from_micros(500);

/// Measure the round trip to a service, and print the carrier
///
/// The service's endpoint answers, on a channel that is separate from the application's channels. Prints a summary after
/// --count pings, or at Ctrl-C.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    reach: Reach,

    /// Stop after this many pings
    #[arg(long, short)]
    count: Option<u64>,

    /// Milliseconds between two pings
    #[arg(long, short, value_name = "MS", default_value_t = 1_000, value_parser = clap::value_parser!(u64).range(10..=60_000))]
    interval: u64,

    /// Milliseconds until a ping counts as lost
    #[arg(long, value_name = "MS", default_value_t = 2_000, value_parser = clap::value_parser!(u64).range(10..=60_000))]
    timeout: u64,

    /// Print a JSON line for each ping, and one for the summary
    #[arg(long)]
    json: bool,
}

/// The replies received so far.
#[derive(Default)]
struct Tally {
    sent: u64,
    round_trips: Vec<Duration>,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    runtime()?.block_on(async {
        let begin = Instant::now();
        let mut stop = Stop::new();
        let Some(channel) = stop.before(args.reach.connect()).await else { return Ok(interrupted()) };
        let channel = channel?;
        let opened = milliseconds(begin.elapsed());
        let outcome = measure(args, &channel, &opened, &mut stop).await;
        channel.leave(0, "").await;
        outcome
    })
}

/// Sends pings until the count is reached or Ctrl-C is pressed. Then prints a summary.
async fn measure(args: &Args, channel: &Channel, opened: &str, stop: &mut Stop) -> anyhow::Result<ExitCode> {
    if let Some(carrier) = channel.status().carrier.filter(|carrier| carrier.is_local()) {
        bail!(
            "{0} runs on this machine, and {carrier} uses no network. To measure a network, use --carrier webtransport, \
             --carrier websocket, or HOST:PORT/{0}. `cargo xtask lab ipc` measures {carrier}.",
            args.reach.name()
        );
    }
    if !args.json {
        let name = args.reach.name();
        output::line(format_args!("PING {name} over {}, opened in {opened}.", carrier(channel)))?;
    }
    let mut tally = Tally::default();
    stop.before(ping(args, channel, &mut tally)).await.unwrap_or(Ok(()))?;
    summarise(args, channel, &tally)?;
    Ok(if tally.round_trips.is_empty() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

async fn ping(args: &Args, channel: &Channel, tally: &mut Tally) -> Result<(), OutputLost> {
    let mut turns = interval(Duration::from_millis(args.interval));
    turns.set_missed_tick_behavior(MissedTickBehavior::Delay);
    while args.count.is_none_or(|count| tally.sent < count) {
        turns.tick().await;
        tally.sent += 1;
        let answer = once(channel, Duration::from_millis(args.timeout)).await;
        tally.round_trips.extend(answer);
        print(args, channel, tally.sent, answer)?;
        if let Phase::Closed(closed) = channel.status().phase {
            output::note(format_args!("The channel has ended: {}.", printable(&closed.to_string())));
            break;
        }
    }
    Ok(())
}

/// Measures one round trip. Returns `None` if no answer arrives within the timeout.
async fn once(channel: &Channel, patience: Duration) -> Option<Duration> {
    let before = channel.status().stats.packets_acknowledged;
    channel.ping();
    let begin = Instant::now();
    while begin.elapsed() < patience {
        sleep(LOOK).await;
        let status = channel.status();
        if status.stats.packets_acknowledged > before {
            return status.gauges.round_trip_latest;
        }
    }
    None
}

fn print(args: &Args, channel: &Channel, number: u64, answer: Option<Duration>) -> Result<(), OutputLost> {
    let line = if args.json {
        let rtt_ms = answer.map(|answer| answer.as_secs_f64() * 1_000.0);
        serde_json::json!({ "seq": number, "rtt_ms": rtt_ms, "carrier": carrier(channel) }).to_string()
    } else {
        match answer {
            Some(answer) => format!("{}: seq={number} time={}", carrier(channel), milliseconds(answer)),
            None => format!("{}: seq={number} no answer within {} ms", carrier(channel), args.timeout),
        }
    };
    output::line(line)
}

fn summarise(args: &Args, channel: &Channel, tally: &Tally) -> Result<(), OutputLost> {
    let received = tally.round_trips.len();
    let lost = tally.sent - received as u64;
    let loss = if tally.sent == 0 { 0.0 } else { lost as f64 / tally.sent as f64 };
    let [least, mean, most, jitter] = spread(&tally.round_trips);
    let status = channel.status();
    if args.json {
        let ms = |time: Duration| time.as_secs_f64() * 1_000.0;
        let summary = serde_json::json!({
            "sent": tally.sent, "received": received, "loss": loss, "packet_loss": status.loss,
            "rtt_min_ms": ms(least), "rtt_avg_ms": ms(mean), "rtt_max_ms": ms(most), "jitter_ms": ms(jitter),
            "carrier": carrier(channel), "resumed": status.resumed,
        });
        return output::line(summary);
    }
    output::line(format_args!("\n--- {} over {} ---", args.reach.name(), carrier(channel)))?;
    output::line(format_args!("{} sent, {received} answered, {:.0} % lost", tally.sent, 100.0 * loss))?;
    if received > 0 {
        let [least, mean, most, jitter] = [least, mean, most, jitter].map(milliseconds);
        output::line(format_args!("round trip min {least}, avg {mean}, max {most}, jitter {jitter}"))?;
    }
    if status.resumed > 0 {
        output::line(format_args!("the session continued over another carrier {} times", status.resumed))?;
    }
    Ok(())
}

/// Returns the minimum, mean and maximum, and the jitter. The jitter is the mean difference between consecutive times, as in RFC
/// 3550.
fn spread(times: &[Duration]) -> [Duration; 4] {
    let mean = |sum: Duration, count: usize| sum / u32::try_from(count.max(1)).unwrap_or(u32::MAX);
    let least = times.iter().min().copied().unwrap_or_default();
    let most = times.iter().max().copied().unwrap_or_default();
    let steps: Duration = times.windows(2).map(|pair| pair[0].abs_diff(pair[1])).sum();
    [least, mean(times.iter().sum(), times.len()), most, mean(steps, times.len().saturating_sub(1))]
}

fn carrier(channel: &Channel) -> String {
    channel.status().carrier.map_or_else(|| "no carrier".to_owned(), |carrier| carrier.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_has_minimum_mean_maximum_and_jitter() {
        let times = [10, 14, 12].map(Duration::from_millis);
        assert_eq!(spread(&times), [10, 12, 14, 3].map(Duration::from_millis));
        assert_eq!(spread(&[]), [Duration::ZERO; 4]);
        assert_eq!(spread(&times[..1])[3], Duration::ZERO);
    }
}
