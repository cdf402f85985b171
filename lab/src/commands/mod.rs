//! The command line: a subcommand for each instrument.

mod actions;
mod browser;
mod cluster;
mod codec;
mod crash;
mod freshness;
mod ipc;
mod lag;
mod latency;
mod link;
mod links;
mod load;
mod motion;
mod report;
mod script;
mod show;
mod soak;
mod store;
mod studio;

use std::process::ExitCode;

use clap::Parser;

/// Measure Nowcast and other programs on this machine
#[derive(Parser)]
#[command(name = "cargo xtask lab", bin_name = "cargo xtask lab", disable_version_flag = true, after_help = AFTER_HELP)]
struct Args {
    #[command(subcommand)]
    instrument: Instrument,
}

const AFTER_HELP: &str = "\
Begin with `cargo xtask lab report --quick`. It runs all instruments in less than ten minutes, and writes one page.

The instruments over emulated links (report, latency, freshness, lag --where remote, browser, motion, load --asteroids, link) run real \
programs on the network stacks of real kernels. They need Linux, and root or unprivileged user namespaces. `freshness --simulated`, \
`soak`, `cluster`, `crash`, `store`, `actions`, `studio`, `load`, `lag`, `ipc`, `codec` and `script` need neither. Every \
instrument with figures also writes a page with charts below target/lab/.";

/// The instruments, in the order that helps a new user.
#[derive(clap::Subcommand)]
enum Instrument {
    Report(report::Args),
    Latency(latency::Args),
    Freshness(freshness::Args),
    Lag(lag::Args),
    Browser(browser::Args),
    Motion(motion::Args),
    Ipc(ipc::Args),
    Codec(codec::Args),
    Script(script::Args),
    Link(link::Args),
    Load(load::Args),
    Soak(soak::Args),
    Cluster(cluster::Args),
    Crash(crash::Args),
    Store(store::Args),
    Actions(actions::Args),
    Studio(studio::Args),
    /// The other process of an instrument; the instruments start it themselves
    #[command(hide = true)]
    Child {
        orders: String,
    },
    /// Clients that load a server; `load` starts them itself
    #[command(hide = true)]
    Readers {
        orders: String,
    },
    /// One end of a measurement over a link; the instruments start it on the hosts themselves
    #[command(hide = true)]
    Host {
        orders: String,
    },
}

/// Returns the command line that repeats this run.
fn command_line() -> String {
    format!("cargo xtask lab {}", std::env::args().skip(1).collect::<Vec<_>>().join(" "))
}

/// Runs the instrument that the command line names.
pub(crate) fn run() -> anyhow::Result<ExitCode> {
    match Args::parse().instrument {
        Instrument::Ipc(args) => ipc::run(&args),
        Instrument::Lag(args) => lag::run(&args),
        Instrument::Child { orders } => {
            nowcast_lab::local::child::main(&orders)?;
            Ok(ExitCode::SUCCESS)
        }
        Instrument::Host { orders } => {
            nowcast_lab::trial::main(&orders).map_err(anyhow::Error::from_boxed)?;
            Ok(ExitCode::SUCCESS)
        }
        Instrument::Readers { orders } => {
            nowcast_lab::load::read(&orders).map_err(anyhow::Error::from_boxed)?;
            Ok(ExitCode::SUCCESS)
        }
        Instrument::Latency(args) => latency::run(&args),
        Instrument::Codec(args) => codec::run(&args),
        Instrument::Script(args) => script::run(&args),
        Instrument::Link(args) => link::run(&args),
        Instrument::Freshness(args) => freshness::run(&args),
        Instrument::Browser(args) => browser::run(&args),
        Instrument::Motion(args) => motion::run(&args),
        Instrument::Report(args) => report::run(&args),
        Instrument::Load(args) => load::run(&args),
        Instrument::Soak(args) => soak::run(&args),
        Instrument::Cluster(args) => cluster::run(&args),
        Instrument::Crash(args) => crash::run(&args),
        Instrument::Store(args) => store::run(&args),
        Instrument::Actions(args) => actions::run(&args),
        Instrument::Studio(args) => studio::run(&args),
    }
}
