//! `nowcast watch`

mod source;
mod tally;
mod view;

use std::io::{IsTerminal as _, Write as _};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use tokio::time::{MissedTickBehavior, interval};

use crate::reach::{Reach, milliseconds, runtime};
use crate::send::text;
use crate::serve::asked_to_stop;
use source::{Seen, Source};
use tally::Tally;

/// How often the view in a terminal is drawn.
const FRAME: Duration = Duration::from_millis(200);

/// Show what a service sends: keys, events, rates, freshness, carrier
///
/// A live view in a terminal; elsewhere, or with --lines, a line for each message. It joins as a task of its own, so it
/// shows what the service sends to those who join.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    reach: Reach,

    /// A line for each message instead of the live view
    #[arg(long)]
    lines: bool,

    /// A line of JSON for each message
    #[arg(long)]
    json: bool,

    /// End after so many seconds
    #[arg(long = "for", value_name = "SECONDS")]
    seconds: Option<f64>,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    runtime()?.block_on(async {
        let mut source = Source::open(&args.reach).await?;
        let is_live = !args.lines && !args.json && std::io::stdout().is_terminal();
        let over = async {
            match args.seconds {
                Some(seconds) if seconds.is_finite() => {
                    tokio::time::sleep(Duration::from_secs_f64(seconds.max(0.0))).await
                }
                _ => std::future::pending().await,
            }
        };
        let watching =
            async { if is_live { live(args, &mut source).await } else { lines(args, &mut source).await } };
        let ended = tokio::select! {
            ended = watching => Some(ended),
            () = over => None,
            () = asked_to_stop() => None,
        };
        if is_live {
            view::leave();
        }
        if let Some(error) = ended {
            eprintln!("The channel is over: {error}.");
        }
        source.close().await;
        Ok(ExitCode::SUCCESS)
    })
}

/// Draws a few times a second until the channel ends; gives why it did.
async fn live(args: &Args, source: &mut Source) -> String {
    let mut tally = Tally::new(Instant::now());
    let mut frames = interval(FRAME);
    frames.set_missed_tick_behavior(MissedTickBehavior::Delay);
    view::enter();
    loop {
        tokio::select! {
            seen = source.next() => match seen {
                Ok(seen) => tally.add(&seen),
                Err(ended) => return ended,
            },
            _ = frames.tick() => {
                tally.turn(Instant::now());
                view::draw(&view::page(&source.head(args.reach.name()), &tally, view::size()));
            }
        }
    }
}

/// Prints each message until the channel ends; gives why it did.
async fn lines(args: &Args, source: &mut Source) -> String {
    loop {
        match source.next().await {
            Ok(seen) => {
                let line = if args.json { json(&seen) } else { plain(&seen) };
                if writeln!(std::io::stdout(), "{line}").is_err() {
                    return "nobody reads its output".into();
                }
            }
            Err(ended) => return ended,
        }
    }
}

fn plain(seen: &Seen) -> String {
    let key = seen.key.map(|key| format!(" {key}")).unwrap_or_default();
    let lane = if seen.lane == 0 { String::new() } else { format!(" on lane {}", seen.lane) };
    let age = seen.age().map(|age| format!(", {} old", milliseconds(age))).unwrap_or_default();
    format!("{}{key}{lane}{age}: {}", seen.kind, text(&seen.bytes))
}

fn json(seen: &Seen) -> String {
    serde_json::json!({
        "kind": seen.kind,
        "lane": seen.lane,
        "key": seen.key,
        "age_ms": seen.age().map(|age| age.as_secs_f64() * 1_000.0),
        "bytes": seen.bytes.len(),
        "value": text(&seen.bytes),
    })
    .to_string()
}
