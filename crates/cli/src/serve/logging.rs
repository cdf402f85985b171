//! The log of the server.

use std::io::IsTerminal;
use std::time::Duration;

use anyhow::Context;
use clap::ValueEnum;
use nowcast_server::{LogWriter, log_panics};
use tracing::warn;
use tracing_subscriber::Layer as _;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

#[derive(Clone, Copy, ValueEnum)]
pub(super) enum LogFormat {
    Text,
    Json,
}

/// Maximum time for which the end of the program waits until the last log lines are written.
const LOGS_PATIENCE: Duration = Duration::from_millis(300);

/// The log. Dropping it writes the waiting lines, within a time limit.
pub(super) struct Logs(pub(super) LogWriter);

impl Drop for Logs {
    fn drop(&mut self) {
        self.0.flush(LOGS_PATIENCE);
    }
}

pub(super) fn start_logging(format: LogFormat) -> anyhow::Result<Logs> {
    let asked = std::env::var("RUST_LOG").unwrap_or_else(|_| "info".to_owned());
    let filter = asked.parse::<Targets>();
    let is_misread = filter.is_err();
    let filter = filter.unwrap_or_else(|_| Targets::new().with_default(LevelFilter::INFO));
    let filter = quiet_nats(filter, &asked);
    let writer = LogWriter::spawn(std::io::stderr()).context("cannot start the thread that writes logs")?;
    let lines = writer.clone();
    let layer =
        tracing_subscriber::fmt::layer().with_writer(move || lines.clone()).log_internal_errors(false);
    let layer = match format {
        LogFormat::Text => layer.with_target(false).with_ansi(std::io::stderr().is_terminal()).boxed(),
        LogFormat::Json => layer.json().flatten_event(true).boxed(),
    };
    tracing_subscriber::registry().with(layer.with_filter(filter)).init();
    if is_misread {
        warn!(asked, "RUST_LOG is neither a level nor a list such as `info,nowcast=debug`: logging `info`");
    }
    log_panics();
    Ok(Logs(writer))
}

/// Limits the lines of the NATS client to warnings, unless the setting names the client. At INFO it writes several lines for
/// each connection and loss of a nats-server.
fn quiet_nats(filter: Targets, asked: &str) -> Targets {
    const CLIENT: &str = "async_nats";
    if asked.contains(CLIENT) {
        return filter;
    }
    let level = filter.default_level().unwrap_or(LevelFilter::OFF).min(LevelFilter::WARN);
    filter.with_target(CLIENT, level)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tracing::Level;

    #[test]
    fn the_nats_client_writes_only_warnings_unless_it_is_named() {
        let shows = |asked: &str, level: Level| {
            quiet_nats(asked.parse().expect("the setting is valid"), asked)
                .would_enable("async_nats::connector", &level)
        };
        assert!(!shows("info", Level::INFO) && shows("info", Level::WARN));
        assert!(!shows("debug,nowcast=trace", Level::INFO));
        assert!(!shows("error", Level::WARN) && shows("error", Level::ERROR));
        assert!(shows("info,async_nats=info", Level::INFO));
    }
}
