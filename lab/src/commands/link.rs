//! `cargo xtask lab link` runs programs on emulated hosts that are joined by a link with delay, loss and outages.

use std::ops::Range;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context as _;
use nowcast_lab::link::{self, EmulatedLink, Jitter, LinkConfig, Loss, Policer, Variation, units};
use nowcast_lab::report::Report;

use crate::output;

/// Run programs on emulated hosts, joined by a link with delay, loss and outages
///
/// Every host is a network namespace with a real kernel network stack. Host N has the address 10.77.0.N. Programs find the
/// addresses in the variables NOWCAST_HOST_1, NOWCAST_HOST_2, … Every setting applies to each direction. So a round trip takes
/// twice the delay, and is lost about twice as often as a packet.
///
/// Example, a world behind 50 ms of round trip and 1 % of loss:
///   cargo xtask lab link --delay 25ms --loss 0.5 --host 'nowcast serve --anonymous --host 10.77.0.2' -- nowcast ping nowcast://10.77.0.2:7777/lab
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Args {
    /// One-way delay of a packet: 25ms, 1.5s
    #[arg(long, default_value = "0ms", value_parser = units::duration)]
    delay: Duration,
    /// Additional delay of single packets. 10ms: up to this delay. normal:3ms: normally distributed with this standard
    /// deviation, and a mean of 3.5 times this value. spikes:0.5: 20 to 60 ms for this percentage of packets, as on Wi-Fi and
    /// mobile links
    #[arg(long, default_value = "0ms", value_parser = units::jitter)]
    jitter: Jitter,
    /// Let packets with less jitter overtake others [default: packets keep their order]
    #[arg(long)]
    overtake: bool,
    /// Percentage of packets lost
    #[arg(long, default_value = "0", value_parser = units::share)]
    loss: f64,
    /// Lose packets in bursts of this mean length (Gilbert model) instead of independently
    #[arg(long, value_name = "PACKETS", value_parser = burst, requires = "loss")]
    burst: Option<f64>,
    /// Percentage of packets that are overtaken by later ones
    #[arg(long, default_value = "0", value_parser = units::share)]
    reorder: f64,
    /// Percentage of packets that arrive twice
    #[arg(long, default_value = "0", value_parser = units::share)]
    duplicate: f64,
    /// A policer, which drops packets above a rate at once, as RATE/BUCKET: 2Mbit/20KB
    #[arg(long, value_parser = units::policer)]
    policer: Option<Policer>,
    /// Capacity of the narrowest hop a second: 10Mbit, 512kbit (default: unlimited)
    #[arg(long, value_parser = units::rate)]
    rate: Option<u64>,
    /// Size of the buffer in front of the narrowest hop: 64KB, 1MB
    #[arg(long, default_value = "64KiB", value_parser = units::bytes, requires = "rate")]
    queue: usize,
    /// An outage, as START+LENGTH: 10s+2s (may be repeated)
    #[arg(long, value_parser = units::outage)]
    outage: Vec<Range<Duration>>,
    /// Seed for the loss and delay of packets
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// A shell line to run on the next host, from host 2 on (may be repeated)
    #[arg(long = "host", value_name = "LINE")]
    hosts: Vec<String>,
    /// Measure on the hosts whether links have the configured properties, and run nothing else
    #[arg(long, conflicts_with_all = ["hosts", "command"])]
    check: bool,
    /// The program to run on host 1; when it ends, all other programs are ended
    #[arg(last = true, required_unless_present = "check")]
    command: Vec<String>,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    if args.check {
        return check(args.seed);
    }
    link::become_able()?;
    let hosts = (args.hosts.len() + 1).max(2);
    let link = EmulatedLink::new(&config(args), hosts, args.seed)?;
    let outcome = link::run(&link, &args.command, &args.hosts);
    output::note(format_args!("\nseed {}\n{}", args.seed, link.finish()));
    let status = outcome.context("the programs on the link did not finish")?;
    Ok(ExitCode::from(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1)))
}

fn check(seed: u64) -> anyhow::Result<ExitCode> {
    super::links::begin()?;
    let findings = link::check::check(seed)?;
    let mut report = Report::new("The link itself", super::command_line()).seed(seed);
    report.section(link::check::section(&findings));
    output::text(&report.to_terminal())?;
    let agrees = findings.iter().all(link::check::Finding::agrees);
    Ok(if agrees { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn config(args: &Args) -> LinkConfig {
    let loss = match (args.loss, args.burst) {
        (share, _) if share <= 0.0 => Loss::None,
        (share, Some(length)) => Loss::Bursts { share, length },
        (share, None) => Loss::Random(share),
    };
    LinkConfig {
        delay: args.delay,
        jitter: args.jitter,
        overtakes: args.overtake,
        loss,
        reorder: args.reorder,
        duplicate: args.duplicate,
        policer: args.policer,
        rate_bits: args.rate,
        variation: Variation::Constant,
        queue_bytes: args.queue,
        header_bytes: 0,
        outages: args.outage.clone(),
    }
}

fn burst(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|length| (1.0..=1000.0).contains(length))
        .ok_or(format!("`{text}` is not between 1 and 1000"))
}
