//! `cargo xtask lab browser`: Chromium and a server on two hosts of an emulated link.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use nowcast_lab::browser::Plan;

use super::links;
use super::show::Show;
use crate::output;

/// Compare WebTransport and WebSocket in a real browser while the link loses packets
///
/// Runs `nowcast serve` on one emulated host and Chromium on another. Opens the server's /lab page and reports its figures. Needs
/// a checkout of Nowcast with its npm packages, Node, Chromium, and root or user namespaces.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Round-trip time of the link
    #[arg(long, default_value = "50ms", value_parser = links::rtt)]
    rtt: Duration,
    /// Percentage of round trips that are lost
    #[arg(long, default_value = "1", value_parser = links::loss)]
    loss: f64,
    /// Messages over each carrier
    #[arg(long, default_value_t = 250, value_parser = clap::value_parser!(u32).range(10..=5_000))]
    samples: u32,
    /// Interval between two messages
    #[arg(long, default_value = "100ms", value_parser = links::interval)]
    interval: Duration,
    /// Seed for the loss and delay of packets
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The browser's program
    #[arg(long, value_name = "PROGRAM", default_value = "/usr/bin/chromium")]
    browser: PathBuf,
    /// Write a picture of the page to this file
    #[arg(long, value_name = "FILE")]
    picture: Option<PathBuf>,
    #[command(flatten)]
    show: Show,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    args.show.check("browser")?;
    links::begin()?;
    let plan = Plan {
        rtt: args.rtt,
        loss: args.loss,
        samples: args.samples,
        interval: args.interval,
        seed: args.seed,
        browser: args.browser.clone(),
        picture: args.picture.clone(),
        command: super::command_line(),
    };
    output::note(format_args!("about {:.0} s", plan.seconds()));
    args.show.show(&plan.run()?, "browser")
}
