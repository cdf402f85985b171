//! `cargo xtask lab actions`

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use nowcast_lab::actions::{Load, Plan, StoreKind};
use nowcast_lab::cluster::install_nats;
use nowcast_lab::program;

use super::show::Show;
use crate::output;

/// Measure how many durable actions a second a server confirms, and kill the server under this load
///
/// The server runs as a separate process, with real clients. It stores its world in SQLite, or in three nats-servers on this
/// machine. After each measurement the server is killed by SIGKILL, and the next server has to have every confirmed action
/// exactly once. Takes about eight minutes and two cores.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Store; may be repeated [default: both]
    #[arg(long, value_name = "STORE", value_parser = store)]
    store: Vec<StoreKind>,

    /// Number of clients, and number of actions that each client has under way; may be repeated [default: 1:1, 64:1,
    /// 1000:1 and 1000:4]
    #[arg(long = "load", value_name = "CLIENTS:ACTIONS", value_parser = load)]
    loads: Vec<Load>,

    /// Number of kills of each server, with a measurement before each kill
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    kills: u32,

    /// Duration of each measurement in seconds
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..=600))]
    seconds: u64,

    /// Seed for the times of the kills
    #[arg(long, default_value_t = 1)]
    seed: u64,

    #[command(flatten)]
    show: Show,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    args.show.check("actions")?;
    let stores = if args.store.is_empty() { StoreKind::ALL.to_vec() } else { args.store.clone() };
    let needs_nats = stores.contains(&StoreKind::JetStream);
    let usual =
        [(1, 1), (64, 1), (1_000, 1), (1_000, 4)].map(|(clients, under_way)| Load { clients, under_way });
    let plan = Plan {
        program: program::nowcast()?,
        nats_server: needs_nats.then(|| install_nats(Path::new("target/nats"))).transpose()?,
        stores,
        loads: if args.loads.is_empty() { usual.to_vec() } else { args.loads.clone() },
        kills: args.kills,
        measured: Duration::from_secs(args.seconds),
        seed: args.seed,
        command: super::command_line(),
    };
    let outcome = plan.run(&mut |step| output::note(step))?;
    let shown = args.show.show(&outcome.report, "actions")?;
    Ok(if outcome.is_broken { ExitCode::FAILURE } else { shown })
}

fn store(text: &str) -> Result<StoreKind, String> {
    let found = StoreKind::ALL.into_iter().find(|store| store.name().eq_ignore_ascii_case(text));
    found.ok_or_else(|| "expected sqlite or jetstream".to_owned())
}

/// Parses a number of clients and a number of actions, such as `1000:4`.
fn load(text: &str) -> Result<Load, String> {
    let read = |(clients, actions): (&str, &str)| Some((clients.parse().ok()?, actions.parse().ok()?));
    text.split_once(':')
        .and_then(read)
        .filter(|(clients, actions)| (1..=4_000).contains(clients) && (1..=64).contains(actions))
        .map(|(clients, under_way)| Load { clients, under_way })
        .ok_or_else(|| {
            "expected CLIENTS:ACTIONS with 1 to 4000 clients and 1 to 64 actions, such as 1000:4".to_owned()
        })
}
