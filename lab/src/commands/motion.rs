//! `cargo xtask lab motion` measures the accuracy of the motion that players see.

use std::path::PathBuf;
use std::process::ExitCode;

use nowcast_lab::motion::{ALL, COURSE, Client, FEW, FOOTBALL, Ground, HANDS, Plan};

use super::links;
use super::show::Show;
use crate::output;

/// Measure the errors of the motion that players see over links with delay and loss: of their own predicted avatar, and of
/// other avatars
///
/// Runs `nowcast serve` on one emulated host, and the SDK on another: in Node over WebSocket, and in Chromium over WebTransport
/// and WebSocket. Players walk on a free floor, and among blocks that they push. Needs a checkout of Nowcast with its npm
/// packages and the SDK built, Node, Chromium for its part, and root or user namespaces.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// A quick run over three links with Node only, in about a minute; the full run takes an hour
    #[arg(long)]
    quick: bool,
    /// Seconds of walking over each link
    #[arg(long, value_parser = clap::value_parser!(u32).range(2..=600))]
    seconds: Option<u32>,
    /// Seed for the walks, and for the loss and delay of packets
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Measure only this client (may be repeated)
    #[arg(long, value_enum)]
    client: Vec<Which>,
    /// Measure only on the free floor
    #[arg(long)]
    free: bool,
    /// Let two bots play worlds/football instead, at 100 ms and 5 % of loss. Records for each kick whether the server judged it
    /// by the picture that the player saw
    #[arg(long, conflicts_with = "free")]
    football: bool,
    /// Let a player with a headset wave its hands instead. Measures how others see the hands, and the cost of sending them
    #[arg(long, conflicts_with_all = ["free", "football"])]
    hands: bool,
    /// Let a player ride platforms, walk over hills and leap instead, with an entity on its avatar
    #[arg(long, conflicts_with_all = ["free", "football", "hands"])]
    course: bool,
    /// The browser's program
    #[arg(long, value_name = "PROGRAM", default_value = "/usr/bin/chromium")]
    browser: PathBuf,
    #[command(flatten)]
    show: Show,
}

/// The platform of the SDK, and its carrier.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Which {
    /// Node, over WebSocket
    Node,
    /// Chromium, over WebTransport
    Webtransport,
    /// Chromium, over WebSocket
    Websocket,
}

impl Which {
    fn client(self) -> Client {
        match self {
            Self::Node => Client::Node,
            Self::Webtransport => Client::WebTransport,
            Self::Websocket => Client::WebSocket,
        }
    }
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    args.show.check("motion")?;
    links::begin()?;
    let (conditions, seconds) = match args {
        Args { football: true, quick, .. } => (FOOTBALL.to_vec(), if *quick { 20 } else { 150 }),
        Args { hands: true, quick, .. } => (HANDS.to_vec(), if *quick { 10 } else { 40 }),
        Args { course: true, quick, .. } => (COURSE.to_vec(), if *quick { 16 } else { 48 }),
        Args { quick: true, .. } => (FEW.to_vec(), 10),
        _ => (ALL.to_vec(), 40),
    };
    let clients: Vec<Client> = match args.client.as_slice() {
        [] if args.quick => vec![Client::Node],
        [] => vec![Client::Node, Client::WebTransport, Client::WebSocket],
        named => named.iter().map(|which| which.client()).collect(),
    };
    let grounds = match args {
        Args { quick: false, free: false, football: false, hands: false, course: false, .. } => {
            vec![Ground::Free, Ground::Blocks]
        }
        _ => vec![Ground::Free],
    };
    let plan = Plan {
        conditions,
        clients,
        grounds,
        browser: args.browser.clone(),
        seconds: args.seconds.unwrap_or(seconds),
        seed: args.seed,
        command: super::command_line(),
    };
    output::note(format_args!("about {} s", plan.expected_seconds()));
    let progress = &mut |link: &str| output::note(link);
    let report = match args {
        Args { football: true, .. } => plan.run_football(progress)?,
        Args { course: true, .. } => plan.run_course(progress)?,
        Args { hands: true, .. } => plan.run_hands(progress)?,
        _ => plan.run(progress)?,
    };
    args.show.show(&report, "motion")
}
