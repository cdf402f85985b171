//! `nowcast lab cluster` lets servers of a cluster live through random faults, and checks the promises.

use std::process::ExitCode;
use std::time::Duration;

use nowcast_lab::cluster::Lives;

use crate::output;
use crate::show::Show;

/// Let the servers of a cluster live through random faults in virtual time, and check the promises of docs/CLUSTER.md
///
/// A seed determines each life: stopped and killed servers, lost links, lost acknowledgements, reads of the past, clocks with errors,
/// moves and drains. If a promise is broken, the seed is printed, and the shortest script that still breaks the promise.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Use models of NATS, links and clocks
    #[arg(long, required = true)]
    simulate: bool,
    /// Number of lives
    #[arg(long, default_value_t = 10_000)]
    lives: u64,
    /// The first seed
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Stop after this number of minutes, even if lives remain
    #[arg(long)]
    minutes: Option<f64>,
    #[command(flatten)]
    show: Show,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    args.show.check(None)?;
    let time_max = match args.minutes {
        Some(minutes) => Some(
            Duration::try_from_secs_f64(minutes * 60.0)
                .map_err(|_| anyhow::anyhow!("--minutes {minutes} is not a time"))?,
        ),
        None => None,
    };
    let command = std::env::args().skip(1).collect::<Vec<_>>().join(" ");
    let mut shown = u64::MAX;
    let lives = Lives { first: args.seed, lives: args.lives, time_max };
    let outcome = lives.run(format!("nowcast {command}"), |done| {
        let percent = done * 100 / args.lives.max(1);
        if percent != shown {
            shown = percent;
            let bar = "█".repeat(percent as usize / 4);
            output::note_part(&format!("\r{bar:<25} {percent:>3} %  {done} of {} lives", args.lives));
        }
    });
    output::note("");
    let shown = args.show.show(&outcome.report, None)?;
    Ok(if outcome.failure.is_some() { ExitCode::FAILURE } else { shown })
}
