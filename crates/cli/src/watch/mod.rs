//! `nowcast watch`

mod source;
mod tally;
mod view;

use std::io::IsTerminal as _;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use tokio::time::{MissedTickBehavior, interval};

use crate::output::{self, OutputLost, printable, printable_json};
use crate::reach::{Reach, Stop, interrupted, milliseconds, runtime};
use crate::screen;
use crate::send::raw_text;
use source::{Seen, Source};
use tally::Tally;

/// Interval at which the view in a terminal is drawn.
const FRAME: Duration = Duration::from_millis(200);

/// Show what a service sends: keys, events, rates, ages, carrier
///
/// Shows a live view in a terminal. If the output is not a terminal, or with --lines, prints a line for each message. The command
/// connects as a new client, so it shows the messages that a new client receives. A world sends nothing to clients that do not
/// join it: see --join.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    reach: Reach,

    /// Print a line for each message instead of the live view
    #[arg(long)]
    lines: bool,

    /// Print a line of JSON for each message
    #[arg(long)]
    json: bool,

    /// Join the world at this address under this name, and describe its messages in words
    #[arg(long, value_name = "NAME")]
    join: Option<String>,

    /// End after this many seconds
    #[arg(long = "for", value_name = "SECONDS", value_parser = seconds)]
    seconds: Option<Duration>,
}

/// Reads a number of seconds.
pub(crate) fn seconds(text: &str) -> Result<Duration, String> {
    let read = text.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    read.ok_or_else(|| "it is not a number of seconds from 0 on".into())
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    runtime()?.block_on(async {
        let mut stop = Stop::new();
        let Some(source) = stop.before(Source::open(&args.reach, args.join.as_deref())).await else {
            return Ok(interrupted());
        };
        let mut source = source?;
        let is_live = !args.lines && !args.json && std::io::stdout().is_terminal();
        let over = async {
            match args.seconds {
                Some(time) => tokio::time::sleep(time).await,
                None => std::future::pending().await,
            }
        };
        let watching =
            async { if is_live { live(args, &mut source).await } else { lines(args, &mut source).await } };
        let ended = stop.before(async {
            tokio::select! {
                ended = watching => ended.map(Some),
                () = over => Ok(None),
            }
        });
        let ended = ended.await.unwrap_or(Ok(None));
        source.close().await;
        if is_live {
            screen::leave()?;
        }
        if let Some(error) = ended? {
            output::note(format_args!("The channel has ended: {}.", printable(&error)));
        }
        Ok(ExitCode::SUCCESS)
    })
}

/// Draws at intervals until the channel ends. Returns the reason of the end.
async fn live(args: &Args, source: &mut Source) -> Result<String, OutputLost> {
    let mut tally = Tally::new(Instant::now());
    let mut frames = interval(FRAME);
    frames.set_missed_tick_behavior(MissedTickBehavior::Delay);
    screen::enter()?;
    loop {
        tokio::select! {
            seen = source.next() => match seen {
                Ok(seen) => tally.add(&seen),
                Err(ended) => return Ok(ended),
            },
            _ = frames.tick() => {
                tally.turn(Instant::now());
                screen::draw(&view::page(&source.head(args.reach.name()), &tally, screen::size()))?;
            }
        }
    }
}

/// Prints each message until the channel ends. Returns the reason of the end.
async fn lines(args: &Args, source: &mut Source) -> Result<String, OutputLost> {
    loop {
        match source.next().await {
            Ok(seen) => {
                output::line(if args.json { json(&seen) } else { plain(&seen) })?;
            }
            Err(ended) => return Ok(ended),
        }
    }
}

fn plain(seen: &Seen) -> String {
    let key = seen.key.map(|key| format!(" {key}")).unwrap_or_default();
    let lane = if seen.lane == 0 { String::new() } else { format!(" on lane {}", seen.lane) };
    let age = seen.age().map(|age| format!(", {} old", milliseconds(age))).unwrap_or_default();
    format!("{}{key}{lane}{age}: {}", seen.kind, seen.shown(usize::MAX))
}

fn json(seen: &Seen) -> String {
    printable_json(&serde_json::json!({
        "kind": seen.kind,
        "lane": seen.lane,
        "key": seen.key,
        "age_ms": seen.age().map(|age| age.as_secs_f64() * 1_000.0),
        "bytes": seen.bytes.len(),
        "value": raw_text(&seen.bytes),
        "words": seen.words,
    }))
}
