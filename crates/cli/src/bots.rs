//! `nowcast bots`

use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::bail;
use nowcast::Channel;
use nowcast_wire::Value;
use nowcast_world::Input;
use nowcast_world_client::{ClientError, Join, Update, WorldClient};
use tokio::task::JoinSet;
use tokio::time::timeout_at;

use crate::output::{self, printable};
use crate::reach::{Reach, Stop, interrupted, milliseconds, runtime};

/// Time between two decisions of a bot.
const DECISION: Duration = Duration::from_secs(1);
/// Maximum wait for the server's welcome.
const WELCOME_TIME_MAX: Duration = Duration::from_secs(30);
/// A bot tries one of the world's actions once in this many decisions.
const ACTION_ODDS: u64 = 4;

/// Let bots play in a room, and print what they received
///
/// The bots walk about and try the world's actions. Prints join times, and each bot's movement rounds and bytes.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    reach: Reach,

    /// Number of bots
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..=1_000))]
    count: u16,

    /// Seconds of play
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    seconds: u64,

    /// Seed of the bots' decisions
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// The measurements of one bot.
struct Played {
    /// Time from the connection to the welcome.
    joined: Option<Duration>,
    rounds: u64,
    bytes: u64,
    /// The reason why the bot ended too early.
    end: Option<String>,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    runtime()?.block_on(async {
        let mut stop = Stop::new();
        let time = Duration::from_secs(args.seconds);
        let mut bots = JoinSet::new();
        for number in 0..args.count {
            let begin = Instant::now();
            let Some(channel) = stop.before(args.reach.connect()).await else { return Ok(interrupted()) };
            let seed = args.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ u64::from(number) << 32 | 1;
            bots.spawn(play(channel?, format!("Bot {}", number + 1), begin, time, Dice(seed)));
        }
        match stop.before(bots.join_all()).await {
            None => Ok(interrupted()),
            Some(played) => report(&played, args.seconds),
        }
    })
}

async fn play(channel: Channel, name: String, begin: Instant, time: Duration, mut dice: Dice) -> Played {
    let mut played = Played { joined: None, rounds: 0, bytes: 0, end: None };
    let outcome = match WorldClient::join(channel.clone(), Join::new(name)) {
        Ok(mut client) => take_part(&mut client, begin, time, &mut dice, &mut played).await,
        Err(error) => Err(error.into()),
    };
    played.end = outcome.err().map(|error| error.to_string());
    played.bytes = channel.status().stats.bytes_received;
    channel.leave(0, "").await;
    played
}

async fn take_part(
    client: &mut WorldClient,
    begin: Instant,
    time: Duration,
    dice: &mut Dice,
    played: &mut Played,
) -> Result<(), ClientError> {
    let mut until = begin + WELCOME_TIME_MAX;
    let mut decision = until;
    while Instant::now() < until {
        match timeout_at(decision.min(until).into(), client.receive()).await {
            Ok(update) => match update? {
                Update::Welcome => {
                    played.joined = Some(begin.elapsed());
                    decision = Instant::now() + DECISION;
                    until = Instant::now() + time;
                }
                Update::Moved(_) => played.rounds += 1,
                _ => {}
            },
            Err(_) => {
                decision += DECISION;
                decide(client, dice)?;
            }
        }
    }
    Ok(())
}

/// Walks in another direction, or tries an action. The server refuses an action whose arguments do not fit.
fn decide(client: &mut WorldClient, dice: &mut Dice) -> Result<(), nowcast::Error> {
    let actions: Vec<String> = client
        .view()
        .definition()
        .map(|definition| definition.actions.iter().map(|action| action.name.clone()).collect())
        .unwrap_or_default();
    if dice.throw(ACTION_ODDS) == 0 && !actions.is_empty() {
        let action = &actions[dice.throw(actions.len() as u64) as usize];
        return client.act(action, Value::Map(Vec::new()));
    }
    let yaw = dice.throw(628) as f32 / 100.0;
    let jump = dice.throw(8) == 0;
    client.set_input(&Input { forward: 1.0, yaw, jump, ..Input::default() })
}

fn report(played: &[Played], seconds: u64) -> anyhow::Result<ExitCode> {
    let mut joined: Vec<_> = played.iter().filter_map(|bot| bot.joined).collect();
    joined.sort_unstable();
    let end = played.iter().find_map(|bot| bot.end.as_deref());
    let [Some(median), Some(longest)] = [joined.get(joined.len() / 2), joined.last()] else {
        bail!("no bot joined: {}", printable(end.unwrap_or("the server did not welcome it")));
    };
    let per_second = |of: fn(&Played) -> u64| {
        played.iter().map(of).sum::<u64>() as f64 / (played.len() as u64 * seconds) as f64
    };
    output::line(format_args!(
        "{} of {} bots joined, in {} (median) to {}. A bot received {:.1} rounds of movement and {:.1} kB a second.",
        joined.len(),
        played.len(),
        milliseconds(*median),
        milliseconds(*longest),
        per_second(|bot| bot.rounds),
        per_second(|bot| bot.bytes) / 1_000.0,
    ))?;
    if let Some(end) = end {
        bail!(
            "{} bots ended early: {}",
            played.iter().filter(|bot| bot.end.is_some()).count(),
            printable(end)
        );
    }
    Ok(ExitCode::SUCCESS)
}

/// Random decisions that a seed repeats (xorshift).
struct Dice(u64);

impl Dice {
    /// Returns a number below `sides`.
    fn throw(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }
}
