//! `cargo xtask lab crash`

use std::process::ExitCode;

use nowcast_lab::crash::{self, FailPoint, Plan};
use nowcast_lab::program;

use super::show::Show;
use crate::output;

/// Cut the power and kill servers: count lost and doubled actions, and measure the time until clients move again
///
/// Power cuts are simulated at writes and syncs of a store, on a disk that also fails at random. Kills are SIGKILL of `nowcast
/// serve`; every second kill happens at a named step of writing in the server's store. Clients over WebTransport and WebSocket
/// walk, and increment counters by durable actions, in the state of the world and in the saved data of their accounts. Fails if
/// a confirmed action is lost, doubled or damaged in either. Takes about ten minutes.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Number of kills [default: 100; with --quick: 5]
    #[arg(long)]
    kills: Option<usize>,

    /// Kill only at this step of the store's writing, such as after-commit (may be repeated)
    #[arg(long = "at", value_name = "STEP", value_parser = step)]
    steps: Vec<FailPoint>,

    /// Number of power cuts [default: 1000; with --quick: 100]
    #[arg(long)]
    cuts: Option<usize>,

    /// Number of clients of the server that is killed
    #[arg(long, default_value_t = Plan::CLIENTS, value_parser = clap::value_parser!(u8).range(1..=200))]
    clients: u8,

    /// A quick run, in about a minute
    #[arg(long)]
    quick: bool,

    /// Seed of the kills, the cuts and the clients
    #[arg(long, default_value_t = 1)]
    seed: u64,

    #[command(flatten)]
    show: Show,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    args.show.check("crash")?;
    let (kills, cuts) =
        if args.quick { (Plan::KILLS_QUICK, Plan::CUTS_QUICK) } else { (Plan::KILLS, Plan::CUTS) };
    let plan = Plan {
        program: program::nowcast()?,
        kills: args.kills.unwrap_or(kills),
        cuts: args.cuts.unwrap_or(cuts),
        clients: args.clients,
        steps: args.steps.clone(),
        seed: args.seed,
    };
    let outcome = crash::run(&plan, super::command_line(), &mut |step| output::note(step))?;
    let shown = args.show.show(&outcome.report, "crash")?;
    Ok(if outcome.is_broken { ExitCode::FAILURE } else { shown })
}

/// Returns the step with this name.
fn step(name: &str) -> Result<FailPoint, String> {
    crash::steps().find(|step| step.name() == name).ok_or_else(|| {
        let names: Vec<&str> = crash::steps().map(FailPoint::name).collect();
        format!("the steps are {}", names.join(", "))
    })
}
