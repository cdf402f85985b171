//! `cargo xtask lab bots`

use std::process::ExitCode;

use clap::ValueEnum;
use nowcast_lab::bots::{self, Plan, Protocol};
use nowcast_world_protocol::plain::Encoding;

use super::show::Show;

/// Let bots play in a room, and show the measurements of clients and server
///
/// The bots stroll, chat, and use the actions of the world. In the playground, they fetch, pile up and throw blocks. They use
/// sessions, as our own clients do, or the plain protocol, as stock WebSocket clients do. The report shows connect times,
/// intervals between updates, bytes, and the server's ticks and memory from its /metrics.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Number of bots
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u16).range(1..=2000))]
    count: u16,

    /// Seconds of play after all bots have joined
    #[arg(long, default_value_t = 30)]
    seconds: u64,

    /// Snapshots a second for each bot
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(5..=60))]
    hz: u32,

    /// The room: ws://HOST:PORT/ws/ROOM
    #[arg(long, default_value = "ws://127.0.0.1:7777/ws/bots")]
    url: String,

    /// Protocol of the bots: sessions over the best available carrier, or the plain protocol of stock clients
    #[arg(long, value_enum, default_value_t = BotProtocol::Session)]
    protocol: BotProtocol,

    /// Encoding of movement in the plain protocol
    #[arg(long, value_enum, default_value_t = Movement::Custom16)]
    encoding: Movement,

    /// Seed of the bots' decisions
    #[arg(long, default_value_t = 1)]
    seed: u64,

    #[command(flatten)]
    show: Show,
}

#[derive(Clone, Copy, ValueEnum)]
enum BotProtocol {
    Session,
    Plain,
}

#[derive(Clone, Copy, ValueEnum)]
enum Movement {
    Json,
    Msgpack,
    Custom,
    Custom16,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let plan = Plan {
        count: usize::from(args.count),
        seconds: args.seconds,
        hz: args.hz,
        url: args.url.clone(),
        protocol: match (args.protocol, args.encoding) {
            (BotProtocol::Session, _) => Protocol::Session,
            (BotProtocol::Plain, Movement::Json) => Protocol::Plain(Encoding::Json),
            (BotProtocol::Plain, Movement::Msgpack) => Protocol::Plain(Encoding::MsgPack),
            (BotProtocol::Plain, Movement::Custom) => Protocol::Plain(Encoding::Custom),
            (BotProtocol::Plain, Movement::Custom16) => Protocol::Plain(Encoding::Custom16),
        },
        seed: args.seed,
    };
    args.show.show(&bots::run(&plan)?, None)
}
