//! `lab motion`: how far off what a player sees is, of itself and of others, with the real SDK, a real server and an emulated link.
//!
//! Node or Chromium runs the SDK on one host and the program serves a world on the other. Two people are in it: one walks about and
//! predicts, one watches. What was shown is compared with what the server later said of the same moment.

use std::io::{self, BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde::Deserialize;

use crate::link::{EmulatedLink, HostError, HostProcess, Jitter, LinkConfig, Loss};
use crate::report::{Axis, Cell, Chart, Column, HistogramChart, Report, Section, Series, Table};

const PORT: u16 = 7_777;
/// What walks and watches; Node finds the SDK from there.
const SCRIPT: &str = "packages/lab/motion.mjs";
const SDK: &str = "packages/nowcast/dist/world/index.js";
/// How far the worlds' ground reaches from its middle at least, in metres.
const EXTENT_M: u32 = 20;
/// How often a run is repeated when the relay was late.
const TRIES: u32 = 2;

/// What a link does to the packets of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Conditions {
    /// There and back.
    pub rtt: Duration,
    /// The share of packets that each direction loses, 0 to 1.
    pub loss: f64,
    /// So many are lost in a row, on average.
    pub burst: f64,
    /// What is added to the delay of single packets, at most.
    pub jitter: Duration,
}

impl Conditions {
    const fn new(rtt_ms: u64, loss: f64, burst: f64, jitter_ms: u64) -> Self {
        Self { rtt: Duration::from_millis(rtt_ms), loss, burst, jitter: Duration::from_millis(jitter_ms) }
    }

    fn link(&self) -> LinkConfig {
        let loss = match self {
            Self { loss, .. } if *loss <= 0.0 => Loss::None,
            Self { loss, burst, .. } if *burst <= 1.0 => Loss::Random(*loss),
            Self { loss, burst, .. } => Loss::Bursts { share: *loss, length: *burst },
        };
        LinkConfig { delay: self.rtt / 2, jitter: Jitter::up_to(self.jitter), loss, ..LinkConfig::default() }
    }

    fn name(&self) -> String {
        let mut name = format!("{} ms, {} % lost", self.rtt.as_millis(), self.loss * 100.0);
        if self.burst > 1.0 {
            name += &format!(", {} in a row", self.burst);
        }
        if !self.jitter.is_zero() {
            name += &format!(", jitter {} ms", self.jitter.as_millis());
        }
        name
    }
}

/// The links of a full run.
pub const ALL: [Conditions; 12] = [
    Conditions::new(50, 0.0, 1.0, 0),
    Conditions::new(50, 0.01, 1.0, 0),
    Conditions::new(50, 0.05, 1.0, 0),
    Conditions::new(100, 0.0, 1.0, 0),
    Conditions::new(100, 0.01, 1.0, 0),
    Conditions::new(100, 0.05, 1.0, 0),
    Conditions::new(150, 0.0, 1.0, 0),
    Conditions::new(150, 0.01, 1.0, 0),
    Conditions::new(150, 0.05, 1.0, 0),
    Conditions::new(100, 0.05, 3.0, 0),
    Conditions::new(100, 0.0, 1.0, 20),
    Conditions::new(100, 0.05, 1.0, 20),
];

/// The links of a first look.
pub const FEW: [Conditions; 3] = [
    Conditions::new(50, 0.0, 1.0, 0),
    Conditions::new(100, 0.01, 1.0, 5),
    Conditions::new(100, 0.05, 1.0, 5),
];

/// Where somebody walks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ground {
    /// On a floor with a ball on it.
    Free,
    /// Among three hundred blocks that can be pushed, and stood upon.
    Blocks,
}

impl Ground {
    /// The folder of the world, and its room.
    const fn world(self) -> (&'static str, &'static str) {
        match self {
            Self::Free => ("worlds/minimal", "minimal"),
            Self::Blocks => ("worlds/playground", "playground"),
        }
    }
}

/// Where the SDK runs, and what carries its messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Client {
    /// Node, over WebSocket.
    Node,
    /// Chromium, over WebTransport.
    WebTransport,
    /// Chromium, over WebSocket.
    WebSocket,
}

impl Client {
    /// The SDK's word for the carrier, if there is a choice.
    const fn carrier(self) -> Option<&'static str> {
        match self {
            Self::Node => None,
            Self::WebTransport => Some("webtransport"),
            Self::WebSocket => Some("websocket"),
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Node => "Node, WebSocket",
            Self::WebTransport => "Chromium, WebTransport",
            Self::WebSocket => "Chromium, WebSocket",
        }
    }
}

/// What to run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// One run each, for each client on each ground.
    pub conditions: Vec<Conditions>,
    /// Where the SDK runs.
    pub clients: Vec<Client>,
    /// Where somebody walks.
    pub grounds: Vec<Ground>,
    /// The browser's program, where a client needs one.
    pub browser: PathBuf,
    /// For how long somebody walks about in each.
    pub seconds: u32,
    /// Draws the walks and the fate of packets.
    pub seed: u64,
    /// The program that serves: this one, unless a test says otherwise.
    pub server: Option<PathBuf>,
    /// The command line that repeats the run.
    pub command: String,
}

/// Why there are no figures.
#[derive(Debug, thiserror::Error)]
pub enum MotionError {
    /// No hosts.
    #[error(transparent)]
    Host(#[from] HostError),
    /// The checkout is not there.
    #[error("{} is not there: run this at the top of a checkout of Nowcast", .0.display())]
    NoScript(PathBuf),
    /// The SDK is not built.
    #[error("the SDK is not built: `npm ci && npm run build --workspace nowcast` builds it")]
    NoSdk,
    /// No browser.
    #[error("{} is not there: install Chromium, or name another one with `nowcast lab motion --browser PROGRAM`", .0.display())]
    NoBrowser(PathBuf),
    /// No Node, or one that does not run.
    #[error("node does not start: install Node 20 or newer")]
    NoNode,
    /// A program did not start.
    #[error("cannot start {program}: {cause}")]
    Start {
        /// Which.
        program: &'static str,
        /// What the system says.
        cause: io::Error,
    },
    /// Node said why on the standard error.
    #[error("nobody walked over the link of {of}; Node or the server said why")]
    NoFigures {
        /// Which link.
        of: String,
    },
    /// The figures are not what they should be.
    #[error("the figures of the walk cannot be read: {0}")]
    Figures(#[from] serde_json::Error),
}

/// What a run found, as the script writes it: metres, frames, milliseconds, microseconds.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Found {
    own_errors: Vec<f64>,
    others_errors: Vec<f64>,
    jumps: Vec<f64>,
    key_frames: Vec<f64>,
    key_ms: Vec<f64>,
    delays: Vec<f64>,
    cost_us: Vec<f64>,
    corrections: usize,
    skipped_steps: usize,
    carrier: String,
    program: String,
}

/// One run.
struct Run {
    of: Conditions,
    client: Client,
    ground: Ground,
    found: Found,
    is_trustworthy: bool,
}

impl Plan {
    /// Expected seconds.
    pub fn expected_seconds(&self) -> u32 {
        (self.seconds + 6) * (self.conditions.len() * self.clients.len() * self.grounds.len()) as u32
    }

    /// Whether all is there that it needs.
    ///
    /// # Errors
    /// [`MotionError`] for what is missing.
    pub fn check(&self) -> Result<(), MotionError> {
        for path in [SCRIPT, Ground::Free.world().0, Ground::Blocks.world().0] {
            if !Path::new(path).exists() {
                return Err(MotionError::NoScript(path.into()));
            }
        }
        if !Path::new(SDK).is_file() {
            return Err(MotionError::NoSdk);
        }
        let needs_browser = self.clients.iter().any(|client| *client != Client::Node);
        if needs_browser && self.browser.is_absolute() && !self.browser.is_file() {
            return Err(MotionError::NoBrowser(self.browser.clone()));
        }
        let mut node = Command::new("node");
        node.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
        if node.status().is_ok_and(|status| status.success()) { Ok(()) } else { Err(MotionError::NoNode) }
    }

    /// Runs it.
    ///
    /// # Errors
    /// [`MotionError`]
    pub fn run(&self, progress: &mut dyn FnMut(&str)) -> Result<Report, MotionError> {
        self.check()?;
        let mut runs = Vec::new();
        for ground in &self.grounds {
            for of in &self.conditions {
                for client in &self.clients {
                    progress(&format!("{}: {}, {}", ground.world().1, of.name(), client.name()));
                    let mut run = self.once(of, *client, *ground)?;
                    for _ in 1..TRIES {
                        if !run.is_trustworthy {
                            run = self.once(of, *client, *ground)?;
                        }
                    }
                    runs.push(run);
                }
            }
        }
        Ok(self.report(&runs))
    }

    fn once(&self, of: &Conditions, client: Client, ground: Ground) -> Result<Run, MotionError> {
        let (folder, room) = ground.world();
        let link = EmulatedLink::new(&of.link(), 2, self.seed)?;
        let address = link.host(2).address();
        let failed = |program| move |cause| MotionError::Start { program, cause };
        let program = match &self.server {
            Some(program) => program.clone(),
            None => std::env::current_exe().map_err(failed("the server"))?,
        };
        let mut serve = Command::new(program);
        serve.args(["serve", folder, "--no-data", "--anonymous", "--insecure"]);
        serve.args(["--host", &address.to_string(), "--port", &PORT.to_string()]);
        let _server = HostProcess::start(link.host(2), serve).map_err(failed("the server"))?;
        let mut walk = Command::new("node");
        walk.arg(SCRIPT).arg(format!("nowcast://{address}:{PORT}/{room}"));
        walk.args([self.seconds.to_string(), self.seed.to_string(), EXTENT_M.to_string()]);
        if let Some(carrier) = client.carrier() {
            walk.arg(&self.browser).arg(carrier);
        }
        let mut walk = HostProcess::start(link.host(1), walk).map_err(failed("node"))?;
        let nothing = || MotionError::NoFigures { of: of.name() };
        let output = walk.output().ok_or_else(nothing)?;
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line).map_err(failed("node"))?;
        if line.is_empty() {
            return Err(nothing());
        }
        let found = serde_json::from_str(&line)?;
        Ok(Run { of: *of, client, ground, found, is_trustworthy: link.finish().lateness.is_trustworthy() })
    }

    fn report(&self, runs: &[Run]) -> Report {
        let mut report = Report::new("What players see", self.command.clone()).seed(self.seed);
        let mut programs: Vec<String> =
            runs.iter().map(|run| format!("{} over {}", run.found.program, run.found.carrier)).collect();
        programs.sort_unstable();
        programs.dedup();
        report.note(format!(
            "The SDK in {} on one emulated host, `nowcast serve` on the other; somebody walks, runs, jumps and stands for {} s at \
             each link, drawn at 60 frames a second, and somebody else watches at 20 snapshots a second. What is lost is lost in \
             each direction.",
            programs.join("; "),
            self.seconds
        ));
        if runs.iter().any(|run| !run.is_trustworthy) {
            report.note(
                "† The relay was late even when everything was done again: do not trust these figures.",
            );
        }
        let on = |ground: Ground| runs.iter().filter(move |run| run.ground == ground).collect::<Vec<_>>();
        for ground in &self.grounds {
            report.section(own(*ground, &on(*ground)));
        }
        // Others and keys are the same matter on every ground.
        let ground = self.grounds.first().copied().unwrap_or(Ground::Free);
        report.section(others(&on(ground)));
        report.section(keys(&on(ground)));
        report
    }
}

/// The value below which this share of all lies; `None` without any.
fn percentile(values: &[f64], share: f64) -> Option<f64> {
    let mut sorted: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    let last = sorted.len().checked_sub(1)?;
    Some(sorted[((sorted.len() as f64 * share) as usize).min(last)])
}

fn cell(values: &[f64], share: f64, scale: f64, decimals: usize) -> Cell {
    percentile(values, share).map_or(Cell::Missing, |value| Cell::number(value * scale, decimals))
}

fn label(run: &Run) -> [Cell; 2] {
    let doubt = if run.is_trustworthy { "" } else { " †" };
    [Cell::text(format!("{}{doubt}", run.of.name())), Cell::text(run.client.name())]
}

fn histogram(title: &str, runs: &[&Run], values: impl Fn(&Found) -> &[f64]) -> Chart {
    let rows = runs.iter().map(|run| Series {
        name: format!("{} · {}", run.of.name(), run.client.name()),
        // On an axis of powers nothing is nothing: what is below what can be told apart counts as that.
        values: values(&run.found).iter().map(|metres| (metres * 100.0).max(0.01)).collect(),
    });
    Chart::Histograms(HistogramChart {
        title: title.into(),
        x: Axis::log("off", "cm"),
        mark: None,
        rows: rows.collect(),
    })
}

fn own(ground: Ground, runs: &[&Run]) -> Section {
    let mut section = Section::new(match ground {
        Ground::Free => "Oneself",
        Ground::Blocks => "Oneself, pushing blocks",
    });
    section.text(
        "How far what is shown of oneself is from where the server has one after the same input; and how far what is shown jumps from a \
         frame to the next beside what it walks. The server tells places to a thousandth of a metre.",
    );
    let title = match ground {
        Ground::Free => "Error of oneself",
        Ground::Blocks => "Error of oneself among blocks",
    };
    section.chart(histogram(title, runs, |found| &found.own_errors));
    let mut table = Table::new(vec![
        Column::text("link"),
        Column::text("client"),
        Column::number("p50", "cm"),
        Column::number("p95", "cm"),
        Column::number("p99", "cm"),
        Column::number("max", "cm"),
        Column::number("jump p99", "cm"),
        Column::number("jump max", "cm"),
        Column::number("corrections", ""),
        Column::number("frames", ""),
    ]);
    for run in runs {
        let Found { own_errors, jumps, corrections, .. } = &run.found;
        let [link, client] = label(run);
        table.row(vec![
            link,
            client,
            cell(own_errors, 0.5, 100.0, 2),
            cell(own_errors, 0.95, 100.0, 2),
            cell(own_errors, 0.99, 100.0, 2),
            cell(own_errors, 1.0, 100.0, 1),
            cell(jumps, 0.99, 100.0, 2),
            cell(jumps, 1.0, 100.0, 1),
            Cell::count(*corrections),
            Cell::count(own_errors.len()),
        ]);
    }
    section.table(table);
    section
}

fn others(runs: &[&Run]) -> Section {
    let mut section = Section::new("Others");
    section.text("How far what is shown of somebody else is from where that one was at the moment that is shown, and how old that moment is.");
    section.chart(histogram("Error of others", runs, |found| &found.others_errors));
    let mut table = Table::new(vec![
        Column::text("link"),
        Column::text("client"),
        Column::number("p50", "cm"),
        Column::number("p95", "cm"),
        Column::number("p99", "cm"),
        Column::number("delay p50", "ms"),
        Column::number("delay p99", "ms"),
        Column::number("frames", ""),
    ]);
    for run in runs {
        let Found { others_errors, delays, .. } = &run.found;
        let [link, client] = label(run);
        table.row(vec![
            link,
            client,
            cell(others_errors, 0.5, 100.0, 2),
            cell(others_errors, 0.95, 100.0, 2),
            cell(others_errors, 0.99, 100.0, 2),
            cell(delays, 0.5, 1.0, 0),
            cell(delays, 0.99, 1.0, 0),
            Cell::count(others_errors.len()),
        ]);
    }
    section.table(table);
    section
}

fn keys(runs: &[&Run]) -> Section {
    let mut section = Section::new("From a key to the first frame that is different");
    section.text(
        "Frames counted from the one that read the key, which is 1; and what prediction costs a frame.",
    );
    let mut table = Table::new(vec![
        Column::text("link"),
        Column::text("client"),
        Column::number("p50", "frames"),
        Column::number("max", "frames"),
        Column::number("max", "ms"),
        Column::number("keys", ""),
        Column::number("cost p50", "µs"),
        Column::number("cost p99", "µs"),
        Column::number("steps left out", ""),
    ]);
    for run in runs {
        let Found { key_frames, key_ms, cost_us, skipped_steps, .. } = &run.found;
        let [link, client] = label(run);
        table.row(vec![
            link,
            client,
            cell(key_frames, 0.5, 1.0, 0),
            cell(key_frames, 1.0, 1.0, 0),
            cell(key_ms, 1.0, 1.0, 1),
            Cell::count(key_frames.len()),
            cell(cost_us, 0.5, 1.0, 0),
            cell(cost_us, 0.99, 1.0, 0),
            Cell::count(*skipped_steps),
        ]);
    }
    section.table(table);
    section
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_values_that_were_found() {
        let values: Vec<f64> = (0..100).map(f64::from).collect();
        assert_eq!(percentile(&values, 0.5), Some(50.0));
        assert_eq!(percentile(&values, 1.0), Some(99.0));
        assert_eq!(percentile(&[], 0.5), None);
    }

    #[test]
    fn a_report_has_a_row_for_each_link_whatever_was_found() {
        let found = || Found {
            own_errors: vec![0.0, 0.001],
            others_errors: vec![],
            jumps: vec![0.0],
            key_frames: vec![1.0],
            key_ms: vec![0.4],
            delays: vec![60.0],
            cost_us: vec![12.0],
            corrections: 1,
            skipped_steps: 0,
            carrier: "WebSocket".into(),
            program: "Node v20".into(),
        };
        let plan = Plan {
            conditions: ALL.to_vec(),
            clients: vec![Client::Node, Client::WebTransport, Client::WebSocket],
            grounds: vec![Ground::Free, Ground::Blocks],
            browser: "/usr/bin/chromium".into(),
            seconds: 1,
            seed: 7,
            server: None,
            command: "nowcast".into(),
        };
        let mut runs = Vec::new();
        for ground in &plan.grounds {
            for of in &plan.conditions {
                for client in &plan.clients {
                    let (of, client, ground) = (*of, *client, *ground);
                    runs.push(Run { of, client, ground, found: found(), is_trustworthy: false });
                }
            }
        }
        let report = plan.report(&runs);
        assert_eq!(report.notes.len(), 2);
        assert_eq!(report.sections.len(), 4);
        for section in &report.sections {
            assert_eq!(section.tables[0].rows.len(), 3 * ALL.len());
        }
        assert!(report.to_html().contains("100 ms, 5 % lost, 3 in a row"));
    }
}
