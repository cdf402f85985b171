//! `lab browser` runs a real Chromium and a real server on two hosts of an emulated link. It uses the server's own lab page.

use std::collections::BTreeMap;
use std::io::{self, BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde::Deserialize;

use crate::link::{EmulatedLink, HostError, HostProcess, LinkConfig, Summary, loss_each_way};
use crate::program;
use crate::report::{Axis, Cell, Chart, Column, HistogramChart, Report, Section, Series, Table};

const PORT: u16 = 7_777;
/// Folder of the script that drives the browser. Node searches for its packages from there.
const FOLDER: &str = "lab/javascript";
const SCRIPT: &str = "browse.mjs";
/// Maximum number of attempts if the relay is late.
const TRIES: u32 = 3;

/// The options of a run.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The round-trip time of the link.
    pub rtt: Duration,
    /// The share of round trips that are lost.
    pub loss: f64,
    /// Messages over each carrier.
    pub samples: u32,
    /// Interval between two messages.
    pub interval: Duration,
    /// Seed for the loss and delay of packets.
    pub seed: u64,
    /// The browser's program.
    pub browser: PathBuf,
    /// The file for a picture of the page.
    pub picture: Option<PathBuf>,
    /// The command line that repeats the run.
    pub command: String,
}

/// The reason why there are no figures.
#[derive(Debug, thiserror::Error)]
pub enum BrowserError {
    /// Emulated hosts are not available.
    #[error(transparent)]
    Host(#[from] HostError),
    /// The program contains no web client.
    #[error("this program contains no web client; `cargo xtask build` builds one with it")]
    NoClient,
    /// The browser is not installed.
    #[error("{} is not there: install Chromium, or name another one with `cargo xtask lab browser --browser PROGRAM`", .0.display())]
    NoBrowser(PathBuf),
    /// Node is not installed, or does not run.
    #[error("node does not start: install Node 20 or newer")]
    NoNode,
    /// The npm packages that drive the browser are not installed.
    #[error("the npm packages are not installed: `npm ci` in the checkout installs them")]
    NoPackages,
    /// This program does not run in a checkout.
    #[error("{} is not there: run this at the top of a checkout of Nowcast", .0.display())]
    NoScript(PathBuf),
    /// A program did not start.
    #[error("cannot start {program}: {cause}")]
    Start {
        /// The program.
        program: &'static str,
        /// The system's error.
        cause: io::Error,
    },
    /// The browser's program failed. It printed the reason on the standard error.
    #[error(
        "the browser returned no figures; it needs Node, playwright-core and Chromium (--browser PROGRAM)"
    )]
    NoFigures,
    /// The figures are malformed.
    #[error("the page's figures cannot be read: {0}")]
    Figures(#[from] serde_json::Error),
}

/// The findings of the page, in the form in which the page writes them.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Found {
    browser: String,
    carriers: BTreeMap<String, Carrier>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Carrier {
    Measured { summary: Trips, verdict: Verdict, age: Age, trips: Vec<Option<f64>> },
    Impossible { problem: String },
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Trips {
    sent: usize,
    back: usize,
    p50_ms: Option<f64>,
    p99_ms: Option<f64>,
    max_ms: Option<f64>,
    late: usize,
    on_time_percent: f64,
}

#[derive(Debug, Deserialize)]
struct Verdict {
    words: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Age {
    p50_ms: Option<f64>,
    p99_ms: Option<f64>,
}

impl Plan {
    /// Returns the expected duration in seconds.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        (self.interval * self.samples).as_secs_f64() + 20.0
    }

    /// Checks that everything that a run needs is available.
    ///
    /// # Errors
    /// [`BrowserError`] names the missing program.
    pub fn check(&self) -> Result<(), BrowserError> {
        if !nowcast_server::has_web_client() {
            return Err(BrowserError::NoClient);
        }
        let script = Path::new(FOLDER).join(SCRIPT);
        if !script.is_file() {
            return Err(BrowserError::NoScript(script));
        }
        if self.browser.is_absolute() && !self.browser.is_file() {
            return Err(BrowserError::NoBrowser(self.browser.clone()));
        }
        let node = |script: &str| {
            let mut node = Command::new("node");
            node.current_dir(FOLDER).args(["--eval", script]).stdout(Stdio::null()).stderr(Stdio::null());
            node.status().is_ok_and(|status| status.success())
        };
        if !node("") {
            return Err(BrowserError::NoNode);
        }
        if !node("require.resolve('playwright-core')") {
            return Err(BrowserError::NoPackages);
        }
        Ok(())
    }

    /// Runs the measurement. Repeats it if the relay was late.
    ///
    /// # Errors
    /// [`BrowserError`]
    pub fn run(&self) -> Result<Report, BrowserError> {
        self.check()?;
        let mut tries = 1;
        loop {
            let (found, summary) = self.once()?;
            if summary.lateness.is_trustworthy() || tries == TRIES {
                return Ok(self.report(&found, &summary));
            }
            tries += 1;
        }
    }

    fn once(&self) -> Result<(Found, Summary), BrowserError> {
        let config =
            LinkConfig { delay: self.rtt / 2, loss: loss_each_way(self.loss), ..LinkConfig::default() };
        let link = EmulatedLink::new(&config, 2, self.seed)?;
        let address = link.host(2).address();
        let failed = |program| move |cause| BrowserError::Start { program, cause };
        let mut serve = Command::new(program::nowcast().map_err(failed("the server"))?);
        serve.args(["serve", "--no-data", "--anonymous", "--insecure", "--expose", "lab"]);
        serve.args(["--host", &address.to_string(), "--port", &PORT.to_string()]);
        let _server = HostProcess::start(link.host(2), serve).map_err(failed("the server"))?;
        let mut browse = Command::new("node");
        let page = format!(
            "http://{address}:{PORT}/lab?samples={}&interval={}",
            self.samples,
            self.interval.as_millis()
        );
        browse.arg(Path::new(FOLDER).join(SCRIPT)).arg(page).arg(&self.browser).args(&self.picture);
        let mut browser = HostProcess::start(link.host(1), browse).map_err(failed("node"))?;
        let output = browser.output().ok_or(BrowserError::NoFigures)?;
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line).map_err(failed("node"))?;
        if line.is_empty() {
            return Err(BrowserError::NoFigures);
        }
        Ok((serde_json::from_str(&line)?, link.finish()))
    }

    fn report(&self, found: &Found, summary: &Summary) -> Report {
        let mut report = Report::new("In the browser", self.command.clone()).seed(self.seed);
        report.note(format!(
            "{} on one emulated host, `nowcast serve` on the other; {} ms round trip, {} % of round trips lost. {} messages of 64 bytes, one every {} ms, over both carriers at the same time. A message is late if it takes 15 ms more than the fastest tenth.",
            found.browser,
            self.rtt.as_millis(),
            self.loss * 100.0,
            self.samples,
            self.interval.as_millis(),
        ));
        if !summary.lateness.is_trustworthy() {
            report.note("† The relay was late in all repetitions: do not trust these figures.");
        }
        report.section(round_trips(found, self.rtt));
        report.section(ages(found));
        report
    }
}

fn name(word: &str) -> &str {
    match word {
        "webtransport" => "Nowcast, WebTransport",
        "websocket" => "Nowcast, WebSocket",
        other => other,
    }
}

fn figure(value: Option<f64>) -> Cell {
    value.map_or(Cell::Missing, |value| Cell::number(value, 1))
}

/// Counts the messages that waited for a retransmission. These took a round trip more than the fastest tenth, on this carrier
/// only. If messages at the same times were also late on the other carrier, the machine delayed them.
fn stalls(trips: &[Option<f64>], others: &[Option<f64>], rtt: Duration) -> usize {
    let late = |trips: &[Option<f64>]| -> Vec<bool> {
        let mut back: Vec<f64> = trips.iter().flatten().copied().collect();
        back.sort_unstable_by(f64::total_cmp);
        let usual = back.get(back.len() / 10).copied().unwrap_or(f64::INFINITY);
        let limit = usual + rtt.as_secs_f64() * 1e3;
        trips.iter().map(|trip| trip.is_none_or(|trip| trip > limit)).collect()
    };
    let others = late(others);
    let near = |index: usize| others.get(index.saturating_sub(1)..(index + 2).min(others.len()));
    let is_alone = |index: usize| near(index).is_none_or(|near| !near.contains(&true));
    late(trips).iter().enumerate().filter(|&(index, is_late)| *is_late && is_alone(index)).count()
}

/// Returns whether the two histograms show the expected difference.
fn verdict(found: &Found, rtt: Duration) -> Option<String> {
    let trips = |word: &str| match found.carriers.get(word) {
        Some(Carrier::Measured { trips, .. }) => Some(trips),
        _ => None,
    };
    let (datagrams, stream) = (trips("webtransport")?, trips("websocket")?);
    let (few, many) = (stalls(datagrams, stream, rtt), stalls(stream, datagrams, rtt));
    let (is_kept, which) = match (few, many) {
        (0, 1..) => ("PASS", "WebSocket's histogram shows the stalls, WebTransport's does not"),
        (0, 0) => (
            "FAIL",
            "neither histogram shows a stall, perhaps because too few packets were lost; take more samples",
        ),
        _ => ("FAIL", "WebTransport's histogram shows stalls"),
    };
    Some(format!(
        "{is_kept}: {which}. Messages that took a round trip longer than the fastest tenth, while the other carrier was in time: {many} over WebSocket, {few} over WebTransport."
    ))
}

fn round_trips(found: &Found, rtt: Duration) -> Section {
    let mut section = Section::new("There and back");
    if let Some(verdict) = verdict(found, rtt) {
        section.text(verdict);
    }
    let mut table = Table::new(vec![
        Column::text("over"),
        Column::number("on time", "%"),
        Column::number("p50", "ms"),
        Column::number("p99", "ms"),
        Column::number("max", "ms"),
        Column::number("late", ""),
        Column::number("back", ""),
        Column::number("sent", ""),
    ]);
    let mut rows = Vec::new();
    for (word, carrier) in &found.carriers {
        let (summary, trips) = match carrier {
            Carrier::Measured { summary, verdict, trips, .. } => {
                section.text(format!("{}: {}", name(word), verdict.words));
                (summary, trips)
            }
            Carrier::Impossible { problem } => {
                section.text(format!("{}: not possible here: {problem}", name(word)));
                continue;
            }
        };
        table.row(vec![
            Cell::text(name(word)),
            Cell::number(summary.on_time_percent, 1),
            figure(summary.p50_ms),
            figure(summary.p99_ms),
            figure(summary.max_ms),
            Cell::count(summary.late),
            Cell::count(summary.back),
            Cell::count(summary.sent),
        ]);
        rows.push(Series { name: name(word).into(), values: trips.iter().flatten().copied().collect() });
    }
    section.chart(Chart::Histograms(HistogramChart {
        title: "There and back in the browser".into(),
        x: Axis::log("round trip", "ms"),
        mark: None,
        rows,
    }));
    section.table(table);
    section
}

fn ages(found: &Found) -> Section {
    let mut section = Section::new("Age of the values that the page would show");
    section
        .text("The page sends twenty values at 60 Hz and receives their echoes, sampled with every frame.");
    let mut table =
        Table::new(vec![Column::text("over"), Column::number("p50", "ms"), Column::number("p99", "ms")]);
    for (word, carrier) in &found.carriers {
        if let Carrier::Measured { age, .. } = carrier {
            table.row(vec![Cell::text(name(word)), figure(age.p50_ms), figure(age.p99_ms)]);
        }
    }
    section.table(table);
    section
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stall_is_a_late_trip_on_one_carrier_only() {
        let rtt = Duration::from_millis(50);
        let quick = vec![Some(52.0); 40];
        let mut stalled = quick.clone();
        stalled[7] = Some(190.0);
        stalled[9] = Some(80.0);
        assert_eq!((stalls(&stalled, &quick, rtt), stalls(&quick, &stalled, rtt)), (1, 0));
        let mut held_up = quick.clone();
        held_up[8] = Some(150.0);
        assert_eq!((stalls(&stalled, &held_up, rtt), stalls(&held_up, &stalled, rtt)), (0, 0));
        let mut lost = quick.clone();
        lost[20] = None;
        assert_eq!(stalls(&lost, &quick, rtt), 1);
    }
}
