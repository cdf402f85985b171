//! `cargo xtask lab ipc`

use std::process::ExitCode;

use nowcast_lab::ipc::{self, Plan};
use nowcast_lab::local::Carrier;

use super::show::Show;
use crate::output;

/// Measure the paths between two processes: our queue, the limit of the hardware, and the kernel's means
///
/// Measures the one-way latency of messages of 80 bytes in three cases: while both processes are awake, at 1 kHz, and when the
/// receiver is woken from sleep. Also measures the number of messages a second, and the number of system calls for each
/// message. Takes two cores for about a minute.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Number of repetitions; the medians are shown
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..=100))]
    rounds: u16,

    /// A quick run with a tenth of the messages
    #[arg(long)]
    quick: bool,

    /// Measure only this (may be repeated): mailbox, updates, events, futex, pipe, unix, tcp
    #[arg(long, value_name = "CARRIER", value_parser = carrier)]
    through: Vec<Carrier>,

    #[command(flatten)]
    show: Show,
}

fn carrier(word: &str) -> Result<Carrier, String> {
    let found = Carrier::from_word(word).filter(|carrier| ipc::measured().contains(carrier));
    found.ok_or_else(|| {
        let words: Vec<_> =
            ipc::measured().into_iter().map(|carrier| carrier.word().to_lowercase()).collect();
        format!("the carriers that can be measured are: {}", words.join(", "))
    })
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    args.show.check("ipc")?;
    let plan = Plan { rounds: usize::from(args.rounds), quick: args.quick, through: args.through.clone() };
    let report = ipc::run(&plan, &mut |step| output::note(step))?;
    args.show.show(&report, "ipc")
}
