//! `nowcast top`

mod keys;
mod overview;
mod view;

use std::convert::Infallible;
use std::io::IsTerminal as _;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{anyhow, bail};
use nowcast_server::figures::Figures;
use tokio::time::{MissedTickBehavior, interval, sleep};

use crate::output::{self, printable_json};
use crate::reach::{Stop, interrupted, runtime};
use crate::screen;
use keys::Keys;
use overview::Overview;

/// Time between the two scrapes from which the rates of a single output are computed.
const ONCE: Duration = Duration::from_secs(1);

/// Show a server's activity: rooms, clients, ticks, scripts, bytes, ages
///
/// Shows a live view in a terminal, from the server's /metrics, until q or Ctrl-C is pressed. If the output is not a terminal,
/// or with --once, prints a single sample. A server shows metrics to programs on the same machine. Other machines need a token
/// with the role operator, or a server that was started with --expose metrics.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The server: HOST:PORT or http://HOST:PORT
    #[arg(value_name = "URL", default_value = "127.0.0.1:7777")]
    server: String,

    /// A token with the role operator [default: the environment variable NOWCAST_TOKEN]
    #[arg(long)]
    token: Option<String>,

    /// Print one sample, which takes a second, as text
    #[arg(long)]
    once: bool,

    /// Print a JSON object on one line; without --once, print one after each interval
    #[arg(long)]
    json: bool,

    /// Seconds between two samples
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = seconds)]
    interval: Duration,
}

fn seconds(text: &str) -> Result<Duration, String> {
    let read = text.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    let is_possible =
        |interval: &Duration| (Duration::from_millis(100)..=Duration::from_secs(3_600)).contains(interval);
    read.filter(is_possible).ok_or_else(|| "it is not a number of seconds from 0.1 to 3600".into())
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let server = Server { host: host(&args.server)?, token: token(args) };
    let runtime = runtime()?;
    let ended = runtime.block_on(async {
        let mut stop = Stop::new();
        let is_live = !args.json && !args.once && std::io::stdout().is_terminal();
        if is_live {
            return live(args, &server, &mut stop).await;
        }
        let looking = async {
            if args.json && !args.once { lines(args, &server).await } else { once(args, &server).await }
        };
        match stop.before(looking).await {
            Some(done) => done.map(|()| ExitCode::SUCCESS),
            // Repeated output ends only by an interruption. A single sample was interrupted before it was complete.
            None => Ok(if args.once { interrupted() } else { ExitCode::SUCCESS }),
        }
    });
    // A name lookup may still be running, and the program does not wait for it.
    runtime.shutdown_background();
    ended
}

/// The address of the metrics, and the token.
struct Server {
    host: String,
    token: Option<String>,
}

impl Server {
    async fn look(&self) -> anyhow::Result<(Instant, Figures)> {
        let figures = Figures::fetch(&self.host, self.token.as_deref()).await;
        let figures = figures.map_err(|error| {
            let host = &self.host;
            anyhow!(
                "no metrics from {host} ({error}): check the address, or start a server with `nowcast serve`"
            )
        })?;
        Ok((Instant::now(), figures))
    }
}

/// Parses the address of a server.
fn host(server: &str) -> anyhow::Result<String> {
    let rest = match server.split_once("://") {
        None => server,
        Some(("http", rest)) => rest,
        Some((scheme, _)) => {
            bail!("metrics are read over http, not {scheme}: ask on the server's own machine")
        }
    };
    let host = rest.split(['/', '?']).next().unwrap_or_default();
    if host.is_empty() || host.contains(|sign: char| sign.is_whitespace() || sign.is_control() || sign == '@')
    {
        bail!("'{server}' is not the address of a server; example: 127.0.0.1:7777");
    }
    let has_port = host.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    Ok(if has_port { host.to_owned() } else { format!("{host}:7777") })
}

/// Returns the token for the server. A text with a line end is not a token.
fn token(args: &Args) -> Option<String> {
    let token = args.token.clone().or_else(|| std::env::var("NOWCAST_TOKEN").ok());
    token.filter(|token| !token.is_empty() && token.chars().all(|sign| sign.is_ascii_graphic()))
}

async fn once(args: &Args, server: &Server) -> anyhow::Result<()> {
    let before = server.look().await?;
    sleep(ONCE).await;
    let overview = Overview::between(&before, &server.look().await?);
    if args.json {
        output::line(printable_json(&overview.to_json()))?;
    } else {
        output::text(&(view::lines(&server.host, &overview).join("\n") + "\n"))?;
    }
    Ok(())
}

async fn lines(args: &Args, server: &Server) -> anyhow::Result<()> {
    let mut before = server.look().await?;
    let mut looks = looks(args);
    loop {
        looks.tick().await;
        let now = server.look().await?;
        output::line(printable_json(&Overview::between(&before, &now).to_json()))?;
        before = now;
    }
}

/// Shows the view until the user ends it.
async fn live(args: &Args, server: &Server, stop: &mut Stop) -> anyhow::Result<ExitCode> {
    let Some(first) = stop.before(server.look()).await else { return Ok(interrupted()) };
    let first = first?;
    let mut keys = Keys::listen();
    screen::enter()?;
    let leaving = async {
        tokio::select! {
            drawn = draw(args, server, first) => drawn.map(|never| match never {}),
            () = keys.quit() => Ok(()),
        }
    };
    let ended = stop.before(leaving).await;
    drop(keys);
    screen::leave()?;
    ended.unwrap_or(Ok(())).map(|()| ExitCode::SUCCESS)
}

/// Draws the view after each sample. If the server does not answer, retries at the next interval.
async fn draw(args: &Args, server: &Server, first: (Instant, Figures)) -> anyhow::Result<Infallible> {
    let mut looks = looks(args);
    let mut overview = Overview::between(&first, &first);
    let (mut before, mut trouble) = (first, None);
    loop {
        let lines = view::page(&server.host, &overview, trouble.as_deref());
        screen::draw(&screen::size().page(&lines))?;
        looks.tick().await;
        trouble = match server.look().await {
            Ok(now) => {
                overview = Overview::between(&before, &now);
                before = now;
                None
            }
            Err(error) => Some(format!("{error:#}")),
        };
    }
}

fn looks(args: &Args) -> tokio::time::Interval {
    let mut looks = interval(args.interval);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    looks.reset();
    looks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_may_be_named_in_short_form() {
        assert_eq!(host("127.0.0.1:7777").unwrap(), "127.0.0.1:7777");
        assert_eq!(host("http://box:80/metrics?x").unwrap(), "box:80");
        assert_eq!(host("box").unwrap(), "box:7777");
        assert_eq!(host("[::1]:99").unwrap(), "[::1]:99");
        for wrong in ["https://box", "", "http://", "a\r\nx: y", "me@box"] {
            assert!(host(wrong).is_err(), "{wrong}");
        }
    }
}
