//! `cargo xtask lab load` measures the cost of clients for a server.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use nowcast_lab::link;
use nowcast_lab::load::{COLYSEUS, Plan};
use nowcast_lab::program;

use super::links;
use super::show::Show;
use crate::output;

/// Measure the cost of clients for a server, compared with Colyseus: processor time, packets, bytes, memory, and the
/// clients' delays
///
/// Runs `nowcast serve` on one core, with a world of avatars that walk at random. Readers run in processes on another core, over
/// WebTransport, WebSocket, and the plain protocol. Measures clients that see all avatars, 300 clients that see a fifth of them,
/// and crowds among up to 100,000 things. If a trial fails, the run continues, the report lists the trial with its cause, and the
/// command ends with exit code 1. `cargo xtask peers` installs Colyseus, which is measured in the same run. Compare the
/// figures of two servers only within one run on an otherwise idle machine.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// A quick run, in about five minutes: 100 and 200 clients, once
    #[arg(long)]
    quick: bool,

    /// Numbers of clients that see all avatars [default: 25,50,100,200; with --quick: 100,200]
    #[arg(long, value_name = "COUNT", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(2..=4_000))]
    clients: Vec<u32>,

    /// Number of clients, and number of avatars, in the runs in which each client sees a fifth of the avatars; 0 for no such runs
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(0..=4_000))]
    near: Option<u32>,

    /// Numbers of clients and of the things around them: CLIENTS:THINGS, several separated by commas; 0:0 for none [default:
    /// 100:1000,100:10000,100:100000,1000:9000; with --quick: 1000:9000]
    #[arg(long, value_name = "CLIENTS:THINGS", value_delimiter = ',', value_parser = crowd)]
    crowds: Vec<(u32, u32)>,

    /// Updates a second
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(5..=60))]
    hz: u32,

    /// Inputs a second of each client; 0 for none
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(0..=60))]
    controls_hz: u32,

    /// Seconds of each measurement, after all clients have joined [default: 20; with --quick: 8]
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=3_600))]
    seconds: Option<u64>,

    /// Number of repetitions [default: 3; with --quick: 1]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=100))]
    repeats: Option<u32>,

    /// Number of reader processes
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=64))]
    processes: u32,

    /// Measure the server's memory again this many seconds after all clients have left; 120 shows the memory that the server
    /// keeps
    #[arg(long, value_name = "SECONDS", default_value_t = 0)]
    linger: u64,

    /// Sample our servers with perf during each measurement, and show the shares of processor time by crate and function
    #[arg(long)]
    profile: bool,

    /// Omit Colyseus
    #[arg(long)]
    no_peers: bool,

    /// Folder of the packages of Colyseus
    #[arg(long, value_name = "DIR", default_value = COLYSEUS)]
    colyseus: PathBuf,

    /// Measure instead one client of worlds/asteroids, at 0, 1 and 5 % of loss: the bytes with all headers, and the errors of
    /// the positions that the client shows. Needs a checkout, and root or user namespaces
    #[arg(long, conflicts_with_all = ["clients", "near", "crowds", "hz", "controls_hz", "repeats", "processes", "linger", "profile", "no_peers", "colyseus"])]
    asteroids: bool,

    /// The world of --asteroids
    #[arg(long, value_name = "DIR", default_value = "worlds/asteroids", requires = "asteroids")]
    world: PathBuf,

    /// Seed for the walks, and for the loss and delay of packets
    #[arg(long, default_value_t = 1)]
    seed: u64,

    #[command(flatten)]
    show: Show,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let page = if args.asteroids { "asteroids" } else { "load" };
    args.show.check(page)?;
    let plan = plan(args)?;
    let mut progress = |step: &str| output::note(step);
    let outcome = if args.asteroids {
        links::begin()?;
        plan.run_asteroids(&args.world, &mut progress)?
    } else {
        // Without a separate network namespace, this instrument counts the packets of all programs, and the report states that.
        let _ = link::become_able();
        plan.run(&mut progress)?
    };
    let shown = args.show.show(&outcome.report, page)?;
    if outcome.failed.is_empty() {
        return Ok(shown);
    }
    output::note(format_args!(
        "trials that failed: {}. The report names each with its cause.",
        outcome.failed.len()
    ));
    Ok(ExitCode::FAILURE)
}

fn plan(args: &Args) -> anyhow::Result<Plan> {
    let program = program::nowcast()?;
    let usual = if args.quick { Plan::quick } else { Plan::full };
    let usual = usual(program, super::command_line());
    Ok(Plan {
        all: if args.clients.is_empty() { usual.all } else { args.clients.clone() },
        near: args.near.unwrap_or(usual.near),
        crowds: if args.crowds.is_empty() {
            usual.crowds
        } else {
            args.crowds.iter().copied().filter(|(clients, _)| *clients > 0).collect()
        },
        hz: args.hz,
        controls_hz: args.controls_hz,
        measured: args.seconds.map_or(usual.measured, Duration::from_secs),
        repeats: args.repeats.unwrap_or(usual.repeats),
        processes: args.processes,
        linger: Duration::from_secs(args.linger),
        profile: args.profile,
        peers: !args.no_peers,
        colyseus: args.colyseus.clone(),
        seed: args.seed,
        ..usual
    })
}

/// Parses a number of clients and a number of things, such as `1000:9000`.
fn crowd(text: &str) -> Result<(u32, u32), String> {
    let read = |(clients, things): (&str, &str)| Some((clients.parse().ok()?, things.parse().ok()?));
    let crowd = text
        .split_once(':')
        .and_then(read)
        .filter(|&(clients, things)| clients <= 4_000 && things <= 100_000);
    crowd.ok_or_else(|| {
        "expected CLIENTS:THINGS with at most 4000 clients and 100000 things, such as 1000:9000".to_owned()
    })
}
