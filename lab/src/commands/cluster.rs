//! `cargo xtask lab cluster` causes random faults in clusters, checks the promises, and measures moves.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context as _;
use nowcast_lab::cluster::{Faults, Lives, Moves, install_nats};
use nowcast_lab::{link, program};

use super::show::Show;
use crate::output;

/// Cause random faults in clusters, check the promises of docs/reference/cluster.md, and measure moves
///
/// With --simulate, the sans-IO core of crates/cluster, which decides in servers, runs in virtual time, with models of NATS, clocks and
/// rooms. With --faults, the program itself is tested: servers (nowcast serve --cluster) and nats-servers are killed, stopped, slowed and
/// separated from each other, and one disk is filled, while rooms move. A seed determines each life. If a promise is broken, the command
/// prints the seed, and the shortest script that still breaks the promise. With --moves, a room moves between two servers without
/// faults, and the command measures how long people in it receive no movement.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Drive the core of crates/cluster in virtual time, with models of NATS, clocks and rooms
    #[arg(long, required_unless_present_any = ["faults", "script", "moves"], conflicts_with_all = ["faults", "script", "moves"])]
    simulate: bool,
    /// Number of lives in virtual time
    #[arg(long, default_value_t = 10_000)]
    lives: u64,
    /// Begin this number of faults of real processes. nats-server is built with Go below target/nats, once
    #[arg(long)]
    faults: Option<usize>,
    /// Number of faults in one life of real processes, within 10 s
    #[arg(long, default_value_t = 40)]
    faults_a_life: usize,
    /// Carry out the faults of this file, with a line for each: AT_MS FOR_MS FAULT NUMBERS
    #[arg(long, value_name = "FILE", conflicts_with = "faults")]
    script: Option<PathBuf>,
    /// Move a room between two servers this many times, and measure how long it is closed and people receive no movement
    #[arg(long, conflicts_with_all = ["faults", "script"])]
    moves: Option<usize>,
    /// Number of people in the room that moves
    #[arg(long, default_value_t = 2)]
    people: usize,
    /// Number of bodies in the room that moves
    #[arg(long, default_value_t = 200)]
    bodies: usize,
    /// Percentage of packets that are lost between the people and the servers, in each direction
    #[arg(long, default_value_t = 0.0)]
    loss_percent: f64,
    /// The first seed
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Stop after this number of minutes, even if lives remain
    #[arg(long)]
    minutes: Option<f64>,
    #[command(flatten)]
    show: Show,
}

/// Time for the search for a shorter script.
const SHRINK_MAX: Duration = Duration::from_secs(1_200);

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    args.show.check("cluster")?;
    let time_max = match args.minutes {
        Some(minutes) => Some(
            Duration::try_from_secs_f64(minutes * 60.0)
                .map_err(|_| anyhow::anyhow!("--minutes {minutes} is not a time"))?,
        ),
        None => None,
    };
    let command = super::command_line();
    let nats_server = || install_nats(Path::new("target/nats"));
    if let Some(moves) = args.moves {
        link::become_able()?;
        let moves = Moves {
            program: program::nowcast()?,
            nats_server: nats_server()?,
            moves,
            people: args.people,
            bodies: args.bodies,
            loss: args.loss_percent / 100.0,
            seed: args.seed,
        };
        let report = moves.run(command, &mut |step| output::note(step))?;
        return args.show.show(&report, "cluster");
    }
    let outcome = if args.simulate {
        let mut shown = u64::MAX;
        let lives = Lives { first: args.seed, lives: args.lives, time_max };
        let outcome = lives.run(command, |done| {
            let percent = done * 100 / args.lives.max(1);
            if percent != shown {
                shown = percent;
                let bar = "█".repeat(percent as usize / 4);
                output::note_part(&format!("\r{bar:<25} {percent:>3} %  {done} of {} lives", args.lives));
            }
        });
        output::note("");
        outcome
    } else {
        let script = match &args.script {
            Some(file) => {
                let text = std::fs::read_to_string(file);
                Some(text.with_context(|| format!("cannot read {}", file.display()))?.parse()?)
            }
            None => None,
        };
        let faults = Faults {
            program: program::nowcast()?,
            nats_server: nats_server()?,
            faults: args.faults.unwrap_or(1),
            faults_a_life: args.faults_a_life,
            seed: args.seed,
            script,
            time_max,
            shrink_max: SHRINK_MAX,
        };
        faults.run(command, &mut |step| output::note(step))?
    };
    let shown = args.show.show(&outcome.report, "cluster")?;
    if let Some(failure) = &outcome.failure {
        output::note(failure);
        return Ok(ExitCode::FAILURE);
    }
    Ok(shown)
}
