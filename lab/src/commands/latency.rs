//! `cargo xtask lab latency` measures echoes under delay and loss, through our channel and others.

use std::process::ExitCode;
use std::time::Duration;

use nowcast_lab::latency::Plan;
use nowcast_lab::peers::Peer;
use nowcast_lab::trial::Progress;

use super::links::{self, peers};
use super::show::Show;

/// Measure the latency of small messages while the link loses packets
///
/// The sender sends 64 bytes every 100 ms, and every 20 ms, without waiting for earlier echoes. Two emulated hosts run real
/// kernels and real protocol stacks. Needs root, or unprivileged user namespaces, like `cargo xtask lab link`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Messages of each run at the longest interval
    #[arg(long, default_value_t = 250, value_parser = clap::value_parser!(u32).range(10..=100_000))]
    samples: u32,
    /// Number of runs, each with another seed
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    seeds: u32,
    /// First seed for the loss and delay of packets
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Round-trip times
    #[arg(long, value_delimiter = ',', default_value = "50ms,100ms", value_parser = links::rtt)]
    rtt: Vec<Duration>,
    /// Percentages of round trips that are lost
    #[arg(long, value_delimiter = ',', default_value = "0.1,1,5", value_parser = links::loss)]
    loss: Vec<f64>,
    /// Intervals between messages
    #[arg(long, value_delimiter = ',', default_value = "100ms,20ms", value_parser = links::interval)]
    interval: Vec<Duration>,
    /// Measure only these peers [default: all that this program has]
    #[arg(long, visible_alias = "peers", value_name = "PEER", value_delimiter = ',', value_parser = peers(&Plan::measured()))]
    through: Vec<Peer>,
    /// Number of simultaneous runs, each over its own link
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u8).range(1..=32))]
    at_once: u8,
    #[command(flatten)]
    show: Show,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    args.show.check("latency")?;
    links::begin()?;
    let plan = Plan {
        rtts: args.rtt.clone(),
        losses: args.loss.clone(),
        intervals: args.interval.clone(),
        samples: args.samples,
        seeds: args.seeds,
        seed: args.seed,
        at_once: args.at_once.into(),
        peers: args.through.clone(),
        command: super::command_line(),
    };
    let progress = Progress::shown(plan.seconds());
    let report = plan.run(&progress);
    links::finish(&progress);
    args.show.show(&report?, "latency")
}
